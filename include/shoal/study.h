/* study.h - what is wrong with a cluster, from the trace of its jobs, and what to do first.
 *
 * The trace is replayed as it is, once for each guideline of the Philly study and once with all of them, all that
 * again for each further draw of failures. docs/study.md says what is read, simulated and modelled. As `shoal
 * study`:
 *
 *     const char *traces[] = {"jobs.csv"};
 *     shoal_study_opts opts;
 *     shoal_study_opts_init(&opts);
 *     opts.traces = traces;
 *     opts.trace_count = 1;
 *     if (shoal_study_run(env, &opts, NULL, &result, &err) == SHOAL_OK)
 *         puts(result->verdict);
 *     shoal_result_free(result);
 *
 * Same traces, options and seed give the same study, whatever the number of threads. */
#ifndef SHOAL_STUDY_H
#define SHOAL_STUDY_H

#include "shoal/env.h"
#include "shoal/opt.h"
#include "shoal/result.h"
#include "shoal/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What each member means, its range and its default say the rows: `shoal study --help`. */
typedef struct shoal_study_opts {
    size_t struct_size;        /* set by shoal_study_opts_init; lets the struct grow */
    const char *const *traces; /* paths; "-" is standard input */
    size_t trace_count;
    const char *cluster;  /* nodes x GPUs : kind, or a file; NULL: chosen for the trace */
    const char *quotas;   /* "vision=64,speech=32", or a file; NULL: by share of GPU time */
    const char *profiles; /* throughput table, fitted models or folder of profiles; NULL: none */
    shoal_opt_list sets;  /* knobs of the policy, for every run */
    uint32_t format;      /* of the trace; 0: recognised */
    uint32_t failures;    /* SHOAL_STUDY_FAILURES_MODEL or _NONE */
    double round_s, restart_s, trial_s;
    uint64_t seed, draws, threads;
} shoal_study_opts;

enum { SHOAL_STUDY_FAILURES_MODEL, SHOAL_STUDY_FAILURES_NONE };

/* The options as rows; their offsets are those of shoal_study_opts. Any thread. */
SHOAL_API const shoal_opt *shoal_study_opt_rows(size_t *out_count);
/* What its results have: one field after the other, with unit and meaning. Any thread. */
SHOAL_API const shoal_schema *shoal_study_schema(void);
SHOAL_API void shoal_study_opts_init(shoal_study_opts *opts);

/* Reads the traces and studies them. On success *out_result is the caller's, freed by shoal_result_free before
 * `env`: one record, with a list of runs, one for each guideline. SHOAL_E_IMPOSSIBLE where no job can run,
 * SHOAL_E_CANCELLED after the watch (NULL is allowed) was stopped. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_study_run(shoal_env *env, const shoal_study_opts *opts,
                                                      shoal_watch *watch,
                                                      const shoal_result **out_result,
                                                      shoal_err *err);

#ifdef __cplusplus
}
#endif
#endif
