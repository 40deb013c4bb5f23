/* gen_make.h - what the `shoal gen` commands share: where the data goes, progress and Ctrl-C.
 *
 * Text goes out as it is made. A file takes its name when it is whole; Ctrl-C leaves nothing. Owner
 * thread only. */
#ifndef CLI_GEN_MAKE_H
#define CLI_GEN_MAKE_H

#include "cli/cli.h"
#include "data/gen.h"

/* What is made: `write` calls the generator with the run and the sink it is given. */
struct cli_gen_task {
    shoal_status (*write)(struct cli_context *cx, const void *values,
                          const struct data_gen_run *run, const struct data_sink *sink,
                          uint64_t *out_entries, shoal_err *err);
    const void *values;
    const char *path, *label;
    uint64_t total, threads;
};

/* Makes the data and returns the exit status; *out_bytes is 0 when it did not go to a file. */
int cli_gen_make(struct cli_context *cx, const struct cli_gen_task *task, uint64_t *out_entries,
                 uint64_t *out_bytes);
/* The exit status of work that ended so, once told; an interruption ends the process. */
int cli_gen_finish(struct cli_context *cx, shoal_status st, const shoal_err *err);

/* What was asked for; 0, which is not given: `usual`, or `most` where that is less. */
uint64_t cli_gen_usual(uint64_t asked, uint64_t usual, uint64_t most);

/* "1,000 rows" */
const char *cli_gen_count(uint64_t count, const char *what, char *buf, size_t size);

/* Writes what was planted to a file, by `write`. */
SHOAL_MUST_USE shoal_status cli_gen_truth(struct cli_context *cx, const char *path,
                                          shoal_status (*write)(const void *gen,
                                                                const struct data_sink *sink,
                                                                shoal_err *err),
                                          const void *gen, shoal_err *err);

#endif
