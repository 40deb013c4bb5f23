/* status.h - how every Shoal function says what happened.
 *
 * SHOAL_OK is 0, errors are negative, positive values mean "not an error, not done". The table
 * below is the only list: names, texts and what to do about each come from it. Any thread. */
#ifndef SHOAL_STATUS_H
#define SHOAL_STATUS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SHOAL_API               __attribute__((visibility("default")))
#define SHOAL_MUST_USE          __attribute__((warn_unused_result))
#define SHOAL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define SHOAL_API
#define SHOAL_MUST_USE
#define SHOAL_PRINTF(fmt, args)
#endif

/* What helps after a status: the question an elastic system asks most. */
typedef enum shoal_action {
    SHOAL_ACTION_NONE,            /* nothing is wrong */
    SHOAL_ACTION_RETRY_HERE,      /* the same call may succeed later */
    SHOAL_ACTION_RETRY_ELSEWHERE, /* another machine or store may do it */
    SHOAL_ACTION_GIVE_UP,         /* it will not work; free what you hold */
    SHOAL_ACTION_FIX_CALL         /* the caller passed something wrong */
} shoal_action;

/* name, value, action, text */
#define SHOAL_STATUS_MAP(X)                                                     \
    X(SHOAL_OK, 0, SHOAL_ACTION_NONE, "done")                                   \
    X(SHOAL_AGAIN, 1, SHOAL_ACTION_RETRY_HERE, "not ready yet")                 \
    X(SHOAL_END, 2, SHOAL_ACTION_NONE, "end of input")                          \
    X(SHOAL_E_NOMEM, -1, SHOAL_ACTION_RETRY_ELSEWHERE, "out of memory")         \
    X(SHOAL_E_INVAL, -2, SHOAL_ACTION_FIX_CALL, "invalid argument")             \
    X(SHOAL_E_FORMAT, -3, SHOAL_ACTION_FIX_CALL, "malformed input")             \
    X(SHOAL_E_NOTFOUND, -4, SHOAL_ACTION_FIX_CALL, "not found")                 \
    X(SHOAL_E_EXISTS, -5, SHOAL_ACTION_FIX_CALL, "already exists")              \
    X(SHOAL_E_LIMIT, -6, SHOAL_ACTION_FIX_CALL, "larger than a limit allows")   \
    X(SHOAL_E_IO, -7, SHOAL_ACTION_RETRY_ELSEWHERE, "input or output failed")   \
    X(SHOAL_E_DENIED, -8, SHOAL_ACTION_FIX_CALL, "permission denied")           \
    X(SHOAL_E_CANCELLED, -9, SHOAL_ACTION_GIVE_UP, "cancelled")                 \
    X(SHOAL_E_IMPOSSIBLE, -10, SHOAL_ACTION_FIX_CALL, "can never be satisfied") \
    X(SHOAL_E_INTERNAL, -11, SHOAL_ACTION_GIVE_UP, "a mistake in Shoal")

typedef enum shoal_status {
#define SHOAL_STATUS_ROW(name, value, action, text) name = (value),
    SHOAL_STATUS_MAP(SHOAL_STATUS_ROW)
#undef SHOAL_STATUS_ROW
} shoal_status;

/* Detail for people. Optional everywhere: pass NULL when the status is enough. Filled by the
 * function that first decides what went wrong, never by its callers; `where` and `hint` may be
 * empty. */
typedef struct shoal_err {
    shoal_status code;
    char message[400]; /* what failed, lower case, user strings quoted */
    char where[200];   /* place in the input, such as "a.csv, line 41, column 3" */
    char hint[200];    /* what to do about it */
} shoal_err;

#define SHOAL_ERR_INIT       \
    {                        \
        SHOAL_OK, "", "", "" \
    }

/* Never NULL; an unknown value gives "SHOAL_E_UNKNOWN", "unknown status" and SHOAL_ACTION_GIVE_UP.
 */
SHOAL_API const char *shoal_status_name(shoal_status status);
SHOAL_API const char *shoal_status_text(shoal_status status);
SHOAL_API shoal_action shoal_status_action(shoal_status status);
/* "retry here", "retry elsewhere", "give up", "fix the call", "none" */
SHOAL_API const char *shoal_action_text(shoal_action action);

/* Fills err (NULL is allowed) and returns `status`: for hooks that programs give to Shoal. */
SHOAL_API shoal_status shoal_fail(shoal_err *err, shoal_status status, const char *format, ...)
    SHOAL_PRINTF(3, 4);

#ifdef __cplusplus
}
#endif
#endif
