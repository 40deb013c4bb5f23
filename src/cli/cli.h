/* cli.h - what a command is: one file cmd_<name>.c with a `const struct cli_command`, one row in
 * table.h.
 *
 * Results go to cx->out, talk to cx->err. run returns the exit status: 0 done, 1 failed, 2 usage;
 * whether the results could be written is checked once, after run. The rows give help, completion,
 * the man page, the configuration keys and `config show`. A command that fails says so through
 * cli_fail or cli_usage and returns what they return:
 *
 *     st = sim_trace_load(cx->env, args[0], &trace, &err);
 *     if (st != SHOAL_OK)
 *         return cli_fail(cx, st, &err);
 *
 * Owner thread only: the thread that called cli_main. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/log.h"
#include "base/opt.h"
#include "env/env.h"
#include <stdio.h>

struct cli_command;
struct cli_config;

struct cli_context {
    shoal_env *env;
    const struct cli_command *command; /* NULL until it is known */
    const char *topic;                 /* what messages and hints name: "sim", "policy", or "" */
    const struct cli_config *config; /* the configuration file, NULL for commands that ignore it */
    FILE *out, *err;
    struct base_log log; /* talk, to err: --log says how much */
    bool json;           /* --json was given: errors are JSON too */
    bool color, ascii;   /* for out */
    bool terminal;       /* err is a terminal: progress may be shown */
    bool out_terminal;   /* out is a terminal: names may be cut to its width */
    int *out_errno;      /* why out failed first; 0: not known. Told when the command ends */
    unsigned width;      /* of the terminal, 80 when piped */
};

struct cli_command {
    const char *name;        /* "sim" or, for a command with verbs, "trace info" */
    const char *usage;       /* "[options] TRACE..." */
    const char *summary;     /* one sentence, with full stop */
    const char *description; /* paragraphs for the man page, blank line between; may be NULL */
    const char *example;     /* a line that works, without "shoal " */
    const struct base_opt *opts;
    size_t opt_count;
    size_t values_size;       /* of the struct the rows write into */
    size_t arg_min, arg_max;  /* positional arguments; SIZE_MAX: any number */
    const char *arg_complete; /* what completes positional arguments: "file" "dir" "policy"
                                 "command", words with spaces between ("bash zsh fish"), or NULL */
    bool json; /* it reports: --json is accepted (no row of its own), cx->json says whether given */
    bool no_config; /* it must work with a broken configuration file, and does not read it */
    int (*run)(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count);
};

/* The options every command has, before or after its name. --json only where the command reports.
 */
struct cli_common {
    bool json, ascii, help, version;
    uint32_t color; /* auto, always, never */
    uint32_t log;   /* enum base_log_level */
};
extern const struct base_opt cli_common_rows[];
extern const size_t cli_common_row_count;
/* Whether a common row is shown and taken by `command` (NULL: by shoal itself). */
bool cli_common_has(const struct cli_command *command, const struct base_opt *row);

/* The whole program but for the process: argv[0] is ignored, results go to `out`, talk to `err`,
 * the environment is the process's. Returns the exit status; flushes `out` and fails when that
 * fails. */
int cli_main(int argc, const char *const *argv, FILE *out, FILE *err);

/* Prints a failure once, in words (or as one JSON object under --json), and returns 1; a
 * SHOAL_E_INVAL is a mistake in the call: it is reported as cli_usage does and returns 2. `err` may
 * be NULL or empty. */
int cli_fail(const struct cli_context *cx, shoal_status status, const shoal_err *err);
/* The object that is `error` in JSON, for a result that has one as a member. */
void cli_fail_json(struct base_buf *out, const shoal_err *err);
/* Prints "shoal sim: MESSAGE; see 'shoal sim --help'" and returns 2. */
int cli_usage(const struct cli_context *cx, const char *format, ...) SHOAL_PRINTF(2, 3);
/* The same from an err that was filled by somebody else, whatever its code. */
int cli_usage_err(const struct cli_context *cx, const shoal_err *err);
/* Writes to cx->out, or writes out what it holds back. False when it has failed, then or before:
 * cx->out_errno keeps why, which is told when the command ends. */
bool cli_put(const struct cli_context *cx, const void *bytes, size_t size);
bool cli_flush(const struct cli_context *cx);
/* Writes the bytes of `buf` to cx->out and returns 0, or fails when the buffer could not hold them.
 */
int cli_print(const struct cli_context *cx, const struct base_buf *buf);

#endif
