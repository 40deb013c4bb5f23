/* sim.h - replay a job trace against scheduling policies in virtual time.
 *
 * A simulation reads its traces and cluster once and may then run any number of policies on them.
 * It borrows `env`, which must outlive it, and copies everything else. Same traces, options and
 * seed give the same result. Owner thread only; a watch: any thread.
 *
 *     const char *traces[] = {"jobs.csv"};
 *     shoal_sim_opts opts;
 *     shoal_sim_opts_init(&opts);
 *     opts.traces = traces;
 *     opts.trace_count = 1;
 *     opts.cluster = "6x4:t4,2x8:a100";
 *     if (shoal_sim_new(env, &opts, &sim, &err) == SHOAL_OK &&
 *         shoal_sim_run(sim, "fifo,las:quantum=30m", NULL, &result, &err) == SHOAL_OK)
 *         printf("%.0f s\n", shoal_result_number(result, 1, "avg_jct_s"));
 *     shoal_result_free(result);
 *     shoal_sim_free(sim);
 */
#ifndef SHOAL_SIM_H
#define SHOAL_SIM_H

#include "shoal/env.h"
#include "shoal/opt.h"
#include "shoal/result.h"
#include "shoal/watch.h"
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shoal_sim shoal_sim;

/* What each member means, its range and its default say the rows: `shoal sim --help`. */
typedef struct shoal_sim_opts {
    size_t struct_size;        /* set by shoal_sim_opts_init; lets the struct grow */
    const char *const *traces; /* paths; "-" is standard input */
    size_t trace_count;
    const char *cluster;     /* nodes x GPUs : kind, such as "6x4:t4,2x8:a100", or a file */
    const char *policy;      /* what shoal_sim_run compares where it is not told */
    const char *profiles;    /* throughput table, fitted models or folder of profiles; NULL: none */
    const char *prices;      /* a price history; NULL: prices of the cluster */
    const char *prices_from; /* date in it at which the trace begins; NULL: its first */
    const char *job;         /* whose story is told; NULL: none */
    const char *events;      /* a file for the event log; one policy then; NULL: none */
    shoal_opt_list sets;     /* knobs for every policy that has them */
    uint32_t format;         /* of the trace; 0: recognised */
    bool spread, neighbours, job_failures;
    bool pictures; /* keep what the pages of results show */
    double round_s, react_s, restart_s, lease_s;
    double node_mtbf_s, node_repair_s, checkpoint_s;
    double interference, report_noise, work_error, halving;
    uint64_t seed, threads, report_bad;
} shoal_sim_opts;

/* The options as rows; their offsets are those of shoal_sim_opts. */
SHOAL_API const shoal_opt *shoal_sim_opt_rows(size_t *out_count);
/* What its results have: one field after the other, with unit and meaning. Any thread. */
SHOAL_API const shoal_schema *shoal_sim_schema(void);
SHOAL_API void shoal_sim_opts_init(shoal_sim_opts *opts);

typedef struct shoal_sim_job {
    size_t struct_size; /* set by the caller: sizeof(shoal_sim_job) */
    const char *name;   /* owned by the simulation */
    uint32_t gpus;
    uint32_t starts;
    double submit_s, start_s, finish_s; /* NAN: never */
    double rho;                         /* NAN: did not finish */
    double wait_s, gpu_s;
} shoal_sim_job;

/* On success *out_sim is the caller's, freed by shoal_sim_free. On failure it is untouched. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_sim_new(shoal_env *env, const shoal_sim_opts *opts,
                                                    shoal_sim **out_sim, shoal_err *err);

/* NULL is allowed. */
SHOAL_API void shoal_sim_free(shoal_sim *sim);

/* Runs policies, side by side, named as in `shoal policy list` with commas between them and knobs after colons
 * ("fifo,fifo:backfill=easy"); NULL: those of the options. On success *out_result is the caller's, freed by
 * shoal_result_free before or after the simulation: a record for each policy. SHOAL_E_INVAL for a policy or
 * knob that is not known and for a policy that cannot work here, such as cost where a kind has no price,
 * SHOAL_E_IMPOSSIBLE where no job can run, SHOAL_E_CANCELLED after the watch (NULL is allowed) was stopped. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_sim_run(shoal_sim *sim, const char *policies,
                                                    shoal_watch *watch,
                                                    const shoal_result **out_result,
                                                    shoal_err *err);

/* Jobs of the trace, in order of submission, with what the last policy of the last successful run did
 * to them (NAN before one). */
SHOAL_API size_t shoal_sim_job_count(const shoal_sim *sim);
SHOAL_API SHOAL_MUST_USE shoal_status shoal_sim_job_get(const shoal_sim *sim, size_t index,
                                                        shoal_sim_job *out_job, shoal_err *err);

#ifdef __cplusplus
}
#endif
#endif
