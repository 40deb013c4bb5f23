/* err.c - filling a shoal_err, the table of statuses, and the end of a failed assertion. Text is formatted beside the err
 * first, so a message may quote the one it replaces. Tests: tests/unit/base/test_err.c. */
#include "base/err.h"

#include "base/assert.h"
#include "base/log.h"
#include "shoal/status.h"
#include "shoal/version.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where text cut at `size` bytes may end without splitting a UTF-8 character. */
static size_t utf8_cut(const char *text, size_t size)
{
    size_t end = size;
    while (end > 0 && size - end < 4 && ((unsigned char)text[end - 1] & 0xC0) == 0x80)
        end--;
    if (end == 0 || (unsigned char)text[end - 1] < 0xC0)
        return size; /* plain text, or not UTF-8 at all */
    unsigned char lead = (unsigned char)text[end - 1];
    size_t whole = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    return size - (end - 1) >= whole ? size : end - 1;
}

SHOAL_PRINTF(3, 0)
static void format_into(char *out, size_t size, const char *format, va_list args)
{
    char text[sizeof((shoal_err *)0)->message];
    if (size > sizeof text)
        size = sizeof text;
    int length = vsnprintf(text, size, format, args);
    size_t end = length < 0 ? 0 : (size_t)length;
    if (end >= size)
        end = utf8_cut(text, size - 1);
    memcpy(out, text, end);
    out[end] = '\0';
}

SHOAL_PRINTF(3, 0)
static shoal_status fill(shoal_err *err, shoal_status code, const char *format, va_list args)
{
    if (err == NULL)
        return code;
    format_into(err->message, sizeof err->message, format, args);
    err->code = code;
    err->where[0] = '\0';
    err->hint[0] = '\0';
    return code;
}

shoal_status base_err(shoal_err *err, shoal_status code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fill(err, code, format, args);
    va_end(args);
    return code;
}

shoal_status shoal_fail(shoal_err *err, shoal_status status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fill(err, status, format, args);
    va_end(args);
    return status;
}

void base_err_where(shoal_err *err, const char *format, ...)
{
    if (err == NULL)
        return;
    va_list args;
    va_start(args, format);
    format_into(err->where, sizeof err->where, format, args);
    va_end(args);
}

void base_err_hint(shoal_err *err, const char *format, ...)
{
    if (err == NULL)
        return;
    va_list args;
    va_start(args, format);
    format_into(err->hint, sizeof err->hint, format, args);
    va_end(args);
}

shoal_status base_err_nomem(shoal_err *err, const char *what)
{
    return base_err(err, SHOAL_E_NOMEM, "out of memory while %s", what);
}

_Noreturn void base_assert_failed(const char *expression, const char *file, int line)
{
    (void)fprintf(stderr, "shoal: a mistake in Shoal: '%s' does not hold at %s:%d\n", expression,
                  file, line);
    abort();
}

/* ---- statuses ---- */

const char *shoal_status_name(shoal_status status)
{
    switch (status) {
#define ROW(name, value, action, text) \
    case name: return #name;
        SHOAL_STATUS_MAP(ROW)
#undef ROW
    }
    return "SHOAL_E_UNKNOWN";
}

const char *shoal_status_text(shoal_status status)
{
    switch (status) {
#define ROW(name, value, action, text) \
    case name: return text;
        SHOAL_STATUS_MAP(ROW)
#undef ROW
    }
    return "unknown status";
}

shoal_action shoal_status_action(shoal_status status)
{
    switch (status) {
#define ROW(name, value, action, text) \
    case name: return action;
        SHOAL_STATUS_MAP(ROW)
#undef ROW
    }
    return SHOAL_ACTION_GIVE_UP;
}

const char *shoal_action_text(shoal_action action)
{
    switch (action) {
    case SHOAL_ACTION_NONE: return "none";
    case SHOAL_ACTION_RETRY_HERE: return "retry here";
    case SHOAL_ACTION_RETRY_ELSEWHERE: return "retry elsewhere";
    case SHOAL_ACTION_GIVE_UP: return "give up";
    case SHOAL_ACTION_FIX_CALL: return "fix the call";
    }
    return "give up";
}

const char *shoal_version(void)
{
    return SHOAL_VERSION;
}

/* ---- a line of talk, where its level is on ---- */

const char *const base_log_names[] = {
#define ROW(level, name) name,
    BASE_LOG_MAP(ROW)
#undef ROW
        NULL};

void base_log(const struct base_log *log, enum base_log_level level, const char *format, ...)
{
    char line[1024];
    va_list args;

    if (log->write == NULL || level > log->level)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    log->write(log->ctx, level, line);
}
