/* jobs.h - the jobs of this user that run on this machine: one listing each, in a folder of the
 * user's alone.
 *
 * A job NAME has two files there: NAME.job is its listing (see train/job.h), NAME.lock is locked by
 * the driver for as long as it lives, so that a listing whose lock can be had is known to be stale,
 * whatever became of its process's number. Stale ones are removed by whoever looks. While a driver
 * reads its data its listing has no address ("-"). Owner thread only, except cli_jobs_ask. */
#ifndef CLI_JOBS_H
#define CLI_JOBS_H

#include "cli/cli.h"
#include "train/job.h"
#include <jansson.h>

/* The folder, made when it is missing: $XDG_RUNTIME_DIR/shoal/jobs, else
 * $HOME/.local/state/shoal/jobs. SHOAL_E_DENIED when it is not this user's alone. */
SHOAL_MUST_USE shoal_status cli_jobs_dir(char *out, size_t size, shoal_err *err);

/* A name that is ours. */
struct cli_claim {
    char listing[600], lock_path[600];
    int lock; /* descriptor; -1: none */
};
/* Takes the name for this process and lists the job as one that reads its data. SHOAL_E_EXISTS: a
 * job of that name runs. */
SHOAL_MUST_USE shoal_status cli_jobs_claim(const struct cli_context *cx, const char *name,
                                           const char *app, const char *data, struct cli_claim *out,
                                           shoal_err *err);
void cli_jobs_disclaim(struct cli_claim *claim); /* removes both files; lock -1 is allowed */

/* The listing that a word means: a name, `last`, the number of the driver's process, or the
 * beginning of one name only. A job whose driver is gone is not found. */
SHOAL_MUST_USE shoal_status cli_jobs_find(const struct cli_context *cx, const char *word,
                                          struct train_listing *out, shoal_err *err);

/* All of them, newest first; *out is the caller's (base_free with env_alloc). */
SHOAL_MUST_USE shoal_status cli_jobs_all(const struct cli_context *cx, struct train_listing **out,
                                         size_t *out_count, shoal_err *err);

bool cli_jobs_loading(const struct train_listing *job); /* it still reads its data */

/* Asks one job (see train/answer.h). The answer's text is left in `text`, the object is the
 * caller's (json_decref); NULL with err set when it does not answer or refuses. Any thread. */
json_t *cli_jobs_ask(shoal_env *env, const struct train_listing *job, const char *line,
                     struct base_buf *text, shoal_err *err);

/* The status of every job, all asked at once. */
struct cli_job_answer {
    struct base_buf text;
    json_t *status; /* NULL: loading, or did not answer */
    shoal_err err;
};
SHOAL_MUST_USE shoal_status cli_jobs_ask_all(const struct cli_context *cx,
                                             const struct train_listing *jobs, size_t count,
                                             struct cli_job_answer **out, shoal_err *err);
void cli_jobs_answers_free(const struct cli_context *cx, struct cli_job_answer *answers,
                           size_t count);
/* {"v":1,"jobs":[...]} and a line break: what `shoal jobs --json` and `shoal top --json` print. */
void cli_jobs_json(struct base_buf *out, const struct train_listing *jobs,
                   const struct cli_job_answer *answers, size_t count);
/* "running", "loading" or "silent". */
const char *cli_jobs_state(const struct train_listing *job, const struct cli_job_answer *answer);

/* A number of an answer; NAN when it has none. */
double cli_jobs_number(const json_t *object, const char *key);

#endif
