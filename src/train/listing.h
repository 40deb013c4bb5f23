/* listing.h - the jobs of this user that run on this machine: one listing each, in a folder of the
 * user's alone.
 *
 * A job NAME has two files there: NAME.job is its listing, which holds its key; NAME.lock is locked by the
 * driver for as long as it lives, so that a listing whose lock can be had is known to be stale, whatever became
 * of its process's number. Stale ones are removed by whoever looks. While a driver reads its data its listing
 * has no address ("-"). Real env only. Owner thread only, except train_jobs_ask.
 * Tests: tests/unit/train/test_job.c, tests/cli/test_train.py. */
#ifndef TRAIN_LISTING_H
#define TRAIN_LISTING_H

#include "env/env.h"
#include "wire/auth.h"
#include <jansson.h>

struct train_listing {
    char name[64], app[64], address[128], data[256];
    int64_t pid;
    struct wire_key key;
};
SHOAL_MUST_USE shoal_status train_listing_load(shoal_env *env, const char *path,
                                               struct train_listing *out, shoal_err *err);
/* Asks a running job (see answer.h) and appends its JSON answer. Gives up after timeout_ms. */
SHOAL_MUST_USE shoal_status train_listing_ask(shoal_env *env, const struct train_listing *job,
                                              const char *line, uint64_t timeout_ms,
                                              struct base_buf *out, shoal_err *err);

/* A name that is ours. */
struct train_claim {
    char listing[600], lock_path[600];
    int lock; /* descriptor; -1: none */
};
/* Takes the name for this process and lists the job as one that reads its data. SHOAL_E_EXISTS: a
 * job of that name runs. */
SHOAL_MUST_USE shoal_status train_claim_take(shoal_env *env, const char *name, const char *app,
                                             const char *data, int64_t pid, struct train_claim *out,
                                             shoal_err *err);
void train_claim_drop(struct train_claim *claim); /* removes both files; lock -1 is allowed */

/* The listing that a word means: a name, `last`, the number of the driver's process, or the
 * beginning of one name only. A job whose driver is gone is not found. */
SHOAL_MUST_USE shoal_status train_jobs_find(shoal_env *env, const char *word,
                                            struct train_listing *out, shoal_err *err);

/* All of them, newest first; *out is the caller's (base_free with env_alloc). */
SHOAL_MUST_USE shoal_status train_jobs_all(shoal_env *env, struct train_listing **out,
                                           size_t *out_count, shoal_err *err);

bool train_jobs_loading(const struct train_listing *job); /* it still reads its data */

/* Asks one job. The answer's text is left in `text`, the object is the caller's (json_decref); NULL with err
 * set when it does not answer or refuses. Any thread. */
json_t *train_jobs_ask(shoal_env *env, const struct train_listing *job, const char *line,
                       struct base_buf *text, shoal_err *err);

/* The status of every job, all asked at once. */
struct train_job_answer {
    struct base_buf text;
    json_t *status; /* NULL: loading, or did not answer */
    shoal_err err;
};
SHOAL_MUST_USE shoal_status train_jobs_ask_all(shoal_env *env, const struct train_listing *jobs,
                                               size_t count, struct train_job_answer **out,
                                               shoal_err *err);
void train_jobs_answers_free(shoal_env *env, struct train_job_answer *answers, size_t count);
/* "running", "loading" or "silent". */
const char *train_jobs_state(const struct train_listing *job,
                             const struct train_job_answer *answer);

/* A number of an answer; NAN when it has none. */
double train_jobs_number(const json_t *object, const char *key);

#endif
