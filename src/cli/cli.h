/* cli.h - what a command is: one file cmd_<name>.c with a `const struct cli_command`, one row in
 * table.h.
 *
 * Most make a result: they hand the options, which are the library's and filled by the rows, to a function of it,
 * and cli_finish does the rest:
 *
 *     static shoal_status make(struct cli_call *call, shoal_err *err)
 *     {
 *         shoal_study_opts *opts = call->values;
 *
 *         opts->traces = call->args;
 *         opts->trace_count = call->arg_count;
 *         return shoal_study_run(call->cx->env, opts, cli_watch(call->cx), call->result, err);
 *     }
 *
 * Others `run` by themselves and return the exit status: 0 done, 1 failed, 2 usage. Those that fail say so through
 * cli_fail or cli_usage and return what they return. Results go to cx->out, talk to cx->err; whether the results
 * could be written is checked once, after that. The rows give help, completion, the man page, the configuration keys
 * and `config show`.
 *
 * Owner thread only: the thread that called cli_main. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/log.h"
#include "base/opt.h"
#include "env/env.h"
#include "page/columns.h"
#include "shoal/watch.h"
#include <stdio.h>

struct cli_call;
struct cli_command;
struct cli_config;
struct cli_progress;

struct cli_context {
    shoal_env *env;
    const struct cli_command *command; /* NULL until it is known */
    const char *topic;                 /* what messages and hints name: "sim", "policy", or "" */
    const struct cli_config *config; /* the configuration file, NULL for commands that ignore it */
    FILE *out, *err;
    struct base_log log; /* talk, to err: --log says how much */
    bool json;           /* --json was given: errors are JSON too */
    bool csv;            /* --csv was given */
    const char *report;  /* of --report; NULL: it was not given */
    const char *output;  /* of a command that can write its result to a file; "-" or NULL: to out */
    bool streams;        /* data goes to out while it is made: nothing else is shown there */
    bool terminal;       /* err is a terminal: progress may be shown */
    struct page_screen screen; /* out as tables are drawn on it; 80 columns wide when piped */
    int *out_errno;            /* why out failed first; 0: not known. Told when the command ends */
    struct cli_progress *progress; /* of cli_watch */
    bool watched;                  /* cli_watch was called */
};

struct cli_command {
    const char *name;        /* "sim" or, for a command with verbs, "trace info" */
    const char *usage;       /* "[options] TRACE..." */
    const char *summary;     /* one sentence, with full stop */
    const char *description; /* paragraphs for the man page, blank line between; may be NULL */
    const char *example;     /* a line that works, without "shoal " */
    const shoal_opt *opts;
    size_t opt_count;
    /* In place of opts: the rows of a library function, whose options are the values. NULL: opts. */
    const shoal_opt *(*opts_of)(size_t *out_count);
    const shoal_schema *(*schema_of)(void);       /* what --json has; NULL: not said */
    const shoal_schema *(*other_schema_of)(void); /* and with an option, which its name tells */
    size_t values_size;                           /* of the struct the rows write into */
    size_t arg_min, arg_max;                      /* positional arguments; SIZE_MAX: any number */
    const char *arg_complete; /* what completes positional arguments: "file" "dir" "policy"
                                 "command", words with spaces between ("bash zsh fish"), or NULL */
    bool json; /* it reports: --json is accepted (no row of its own), cx->json says whether given */
    bool csv;  /* it shows a result by cli_show: --csv likewise */
    bool page; /* its result has a page: --report likewise, which cli_finish writes */
    bool no_config; /* it must work with a broken configuration file, and does not read it */
    /* One of the two. SHOAL_E_INVAL of `make` is a mistake in the call; with no result nothing is shown. */
    shoal_status (*make)(struct cli_call *call, shoal_err *err);
    int (*run)(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count);
};

struct cli_call {
    struct cli_context *cx;
    void *values; /* with opts_of, its struct_size is set */
    const char *const *args;
    size_t arg_count;
    const shoal_result **result;
    /* for `make` to set */
    const char *hint; /* said where tables are shown and no page is written */
    bool unsure;      /* exit status 1, though the result is shown */
};

/* The rows of a command's options; none of NULL. */
const shoal_opt *cli_command_opts(const struct cli_command *command, size_t *out_count);

/* Option `index` of those that a command takes, its own and then the common ones; NULL past the last. *out_common,
 * unless NULL, says which of the two it is. */
const shoal_opt *cli_option_at(const struct cli_command *command, size_t index, bool *out_common);

/* The options every command has, before or after its name. --json and --csv only where the command
 * reports. */
struct cli_common {
    const char *report;
    bool json, csv, ascii, help, version;
    uint32_t color; /* auto, always, never */
    uint32_t log;   /* enum base_log_level */
};
extern const shoal_opt cli_common_rows[];
extern const size_t cli_common_row_count;
/* Whether a common row is shown and taken by `command` (NULL: by shoal itself). */
bool cli_common_has(const struct cli_command *command, const shoal_opt *row);

/* The whole program but for the process: argv[0] is ignored, results go to `out`, talk to `err`,
 * the environment is the process's. Returns the exit status; flushes `out` and fails when that
 * fails. */
int cli_main(int argc, const char *const *argv, FILE *out, FILE *err);

/* Prints a failure once, in words (or as one JSON object under --json), and returns 1; a
 * SHOAL_E_INVAL is a mistake in the call: it is reported as cli_usage does and returns 2. `err` may
 * be NULL or empty. */
int cli_fail(const struct cli_context *cx, shoal_status status, const shoal_err *err);
/* Prints "shoal sim: MESSAGE; see 'shoal sim --help'" and returns 2. */
int cli_usage(const struct cli_context *cx, const char *format, ...) SHOAL_PRINTF(2, 3);
/* The same from an err that was filled by somebody else, whatever its code. */
int cli_usage_err(const struct cli_context *cx, const shoal_err *err);
/* Writes to cx->out, or writes out what it holds back. False when it has failed, then or before:
 * cx->out_errno keeps why, which is told when the command ends. */
bool cli_put(const struct cli_context *cx, const void *bytes, size_t size);
bool cli_flush(const struct cli_context *cx);
/* The first as a shoal_put_fn; ctx is the context. */
bool cli_put_out(void *ctx, const char *text, size_t size);
/* Writes the bytes of `buf` to cx->out and returns 0, or fails when the buffer could not hold them.
 */
int cli_print(const struct cli_context *cx, const struct base_buf *buf);
/* Shows a result: as JSON or CSV, or heading, tables and verdict, and its notes on stderr. Returns 0,
 * or 1 with a word about it. */
int cli_show(const struct cli_context *cx, const shoal_result *result);
/* What the command's work counts in and looks at: from the first call until cli_finish the line of progress is
 * shown and ^C asks for a tidy end. */
shoal_watch *cli_watch(struct cli_context *cx);
/* All that a command does with what its work came to. Where `st` is SHOAL_OK: shows `result`, writes the page of
 * --report, whose command is told from `values` and `args`, and tells the notes; else says what failed (`err`),
 * or ends the process where ^C stopped the work. Frees `result`, NULL is allowed. Returns the exit status. */
int cli_finish(struct cli_context *cx, shoal_status st, const shoal_result *result,
               const void *values, const char *const *args, size_t arg_count, const shoal_err *err);
/* Its notes alone; returns 0. */
int cli_notes(const struct cli_context *cx, const shoal_result *result);
/* Ties cx->screen to cx->out, once there is an env. */
void cli_screen_attach(struct cli_context *cx);

#endif
