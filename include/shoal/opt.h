/* opt.h - options as rows: where a value lies, its type, name, default, range and help.
 *
 * A table of rows describes a struct of values. The same rows read a command line, a configuration
 * file and `--set key=value`, and print help, man pages and completion. Rows are constant; strings
 * in values are borrowed. A row is written in the order of its members, and the last of them by
 * name, so that compilers do not ask for those that it does not have:
 *
 *     struct options { double wait_s; const char *data; bool fast; };
 *     #define AT(member) offsetof(struct options, member)
 *     static const shoal_opt OPTS[] = {
 *         {AT(wait_s), SHOAL_OPT_DURATION, "wait", 'w', "TIME", "30s", "before it begins", .max = 1e7},
 *         {AT(data), SHOAL_OPT_STR, "data", 0, "FILE", NULL, "what to read", .complete = "file"},
 *         {AT(fast), SHOAL_OPT_FLAG, "fast", .help = "less exact"},
 *     };
 */
#ifndef SHOAL_OPT_H
#define SHOAL_OPT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum shoal_opt_type {
    SHOAL_OPT_FLAG,     /* bool; no argument on the command line, true or false in --set */
    SHOAL_OPT_U64,      /* uint64_t */
    SHOAL_OPT_F64,      /* double */
    SHOAL_OPT_DURATION, /* double, seconds; written as 90s, 5m or 2h30m */
    SHOAL_OPT_SIZE,     /* uint64_t, bytes; written as 512M or 4G */
    SHOAL_OPT_STR,      /* const char *, NULL when unset */
    SHOAL_OPT_CHOICE,   /* uint32_t, which of `choices` */
    SHOAL_OPT_LIST      /* shoal_opt_list; may be given again */
} shoal_opt_type;

enum { SHOAL_OPT_LIST_MAX = 32 };

typedef struct shoal_opt_list {
    const char *items[SHOAL_OPT_LIST_MAX];
    size_t count;
} shoal_opt_list;

typedef struct shoal_opt {
    size_t offset; /* of the value in the struct that the rows describe */
    shoal_opt_type type;
    const char *name;           /* "policy" */
    char letter;                /* 'p', or 0 */
    const char *meta;           /* "NAME" in the help; NULL: none for flags, else "VALUE" */
    const char *fallback;       /* default as text; NULL: unset, false */
    const char *help;           /* one sentence without a full stop */
    double min, max;            /* of numbers; both 0: any */
    const char *const *choices; /* NULL-terminated, of SHOAL_OPT_CHOICE */
    const char *complete;       /* what completes it: "file" "dir" "policy" ..., or NULL */
} shoal_opt;

#ifdef __cplusplus
}
#endif
#endif
