/* jobs.h - training jobs that run on this machine, whoever of this user started them: a look, and a hand on them.
 *
 *     if (shoal_jobs(env, NULL, &result, &err) == SHOAL_OK)       all of them, newest first
 *         ...
 *     shoal_result_free(result);
 *
 * JOB is a name or the beginning of one, a process number, or "last". SHOAL_E_NOTFOUND where none runs,
 * SHOAL_E_INVAL where several are meant, SHOAL_E_IO where it does not answer. Real env only, owner thread only. */
#ifndef SHOAL_JOBS_H
#define SHOAL_JOBS_H

#include "shoal/env.h"
#include "shoal/result.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SHOAL_JOB_KEY_SIZE = 65 };

/* What its results have: one field after the other, with unit and meaning. Any thread. */
SHOAL_API const shoal_schema *shoal_jobs_schema(void);

/* One record with a list, "jobs": what each is, whether it answers, and its status. NULL for `job`: all. On success
 * *out_result is the caller's, freed by shoal_result_free. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_jobs(shoal_env *env, const char *job,
                                                 const shoal_result **out_result, shoal_err *err);

/* Changes the number of workers on the job's own machine, while it runs; those that joined from others are not
 * counted. The record is the job's status after that. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_jobs_scale(shoal_env *env, const char *job,
                                                       uint32_t workers,
                                                       const shoal_result **out_result,
                                                       shoal_err *err);
/* Lets a worker finish its tasks and leave; asked again while it leaves, it is ended at once. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_jobs_drain(shoal_env *env, const char *job,
                                                       uint32_t worker,
                                                       const shoal_result **out_result,
                                                       shoal_err *err);
/* The key with which workers of other machines join it, as text. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_jobs_key(shoal_env *env, const char *job,
                                                     char out[SHOAL_JOB_KEY_SIZE], shoal_err *err);

#ifdef __cplusplus
}
#endif
#endif
