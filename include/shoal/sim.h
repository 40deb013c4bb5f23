/* sim.h - replay a job trace against scheduling policies in virtual time.
 *
 * A simulation reads its traces and cluster once and may then run any number of policies on them.
 * It borrows `env`, which must outlive it, and copies everything else. Same traces, options and
 * seed give the same result. Owner thread only, except shoal_sim_stop (any thread). Structs begin
 * with their size as the caller knows it, so programs built against an older header go on working.
 *
 *     shoal_sim_opts opts = SHOAL_SIM_OPTS_INIT;
 *     const char *traces[] = {"jobs.csv"};
 *     opts.traces = traces;
 *     opts.trace_count = 1;
 *     opts.cluster = "6x4:t4,2x8:a100";
 *     if (shoal_sim_new(env, &opts, &sim, &err) == SHOAL_OK &&
 *         shoal_sim_run(sim, "las:quantum=30m", &result, &err) == SHOAL_OK)
 *         printf("%.0f s\n", result.avg_jct_s);
 *     shoal_sim_free(sim);
 */
#ifndef SHOAL_SIM_H
#define SHOAL_SIM_H

#include "shoal/env.h"
#include "shoal/status.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shoal_sim shoal_sim;

typedef struct shoal_sim_opts {
    size_t struct_size;        /* set by SHOAL_SIM_OPTS_INIT; lets the struct grow */
    const char *const *traces; /* paths; "-" is standard input */
    size_t trace_count;
    const char *cluster;  /* nodes x GPUs : kind, such as "6x4:t4,2x8:a100" */
    const char *profiles; /* throughput table, fitted models or folder of profiles; NULL: none */
    double round_s;       /* a decision so often; 60 */
    double restart_s;     /* what a start or a move costs a job; 30 */
    double lease_s;       /* a job that was placed is not moved for this long; 0 */
    double node_mtbf_s;   /* mean time between failures of a node; 0: nodes do not fail */
    double node_repair_s; /* mean time until a failed node is back; 7200 */
    uint64_t seed;        /* of everything drawn; 1 */
    /* Decisions also when a job comes or ends and when a node fails or is back, at once but never
     * two within this time; at most round_s. 0: at rounds only; 0 */
    double react_s;
    double
        halving; /* at each rung of a sweep with scores the best 1 in so many go on; 0: all do; 0 */
} shoal_sim_opts;

#define SHOAL_SIM_OPTS_INIT                                                           \
    {                                                                                 \
        sizeof(shoal_sim_opts), NULL, 0, "16x4:t4", NULL, 60, 30, 0, 0, 7200, 1, 0, 0 \
    }

typedef struct shoal_sim_result {
    size_t struct_size; /* set by SHOAL_SIM_RESULT_INIT */
    uint64_t jobs, finished, failed, rejected;
    double avg_jct_s, p50_jct_s, p99_jct_s; /* completion time, from submission to end */
    double makespan_s; /* from the round of the first submission to the last end */
    double avg_wait_s;
    double avg_rho, worst_rho,
        unfair_share;             /* completion time against a 1/n share; share of jobs above 1 */
    double utilization, cost_usd; /* cost_usd is NAN when a kind has no price */
    uint64_t rounds, restarts;    /* rounds: decisions */
    double decision_ms_p50, decision_ms_p99;
    /* How far jobs were from the time promised on each kind: 0 not at all, 1 wholly. NAN when the
     * policy promises no shares. */
    double share_error;
    uint64_t unproven; /* decisions whose shares are not proven optimal: rounding won; normally 0 */
    uint64_t solves;   /* decisions at which the policy solved for shares */
    /* Jobs with a deadline, without the rejected ones, and those that did not finish by it. */
    uint64_t deadlines, missed;
    uint64_t stopped; /* by the halving of their sweep */
    double node_h; /* node-hours that the policy wanted; of all nodes up, where it says nothing */
} shoal_sim_result;

#define SHOAL_SIM_RESULT_INIT                                                                    \
    {                                                                                            \
        sizeof(shoal_sim_result), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0                                                                           \
    }

typedef struct shoal_sim_job {
    size_t struct_size; /* set by SHOAL_SIM_JOB_INIT */
    const char *name;   /* owned by the simulation */
    uint32_t gpus;
    uint32_t starts;
    double submit_s, start_s, finish_s; /* NAN: never */
    double rho;                         /* NAN: did not finish */
    double wait_s, gpu_s;
} shoal_sim_job;

#define SHOAL_SIM_JOB_INIT                               \
    {                                                    \
        sizeof(shoal_sim_job), 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/* On success *out_sim is the caller's, freed by shoal_sim_free. On failure it is untouched. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_sim_new(shoal_env *env, const shoal_sim_opts *opts,
                                                    shoal_sim **out_sim, shoal_err *err);

/* NULL is allowed. */
SHOAL_API void shoal_sim_free(shoal_sim *sim);

/* Runs one policy, named as in `shoal policy list` with knobs after colons ("fifo:backfill=easy").
 * *out_result changes only on success. SHOAL_E_NOTFOUND for an unknown policy, SHOAL_E_INVAL for an
 * unknown knob and for a policy that cannot work here, such as cost where a kind has no price,
 * SHOAL_E_CANCELLED after shoal_sim_stop. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_sim_run(shoal_sim *sim, const char *policy,
                                                    shoal_sim_result *out_result, shoal_err *err);

/* Makes the run in progress, or the next one, end soon. Any thread. */
SHOAL_API void shoal_sim_stop(shoal_sim *sim);

/* Jobs of the trace, in order of submission, with what the last successful run did to them (NAN
 * before one). */
SHOAL_API size_t shoal_sim_job_count(const shoal_sim *sim);
SHOAL_API SHOAL_MUST_USE shoal_status shoal_sim_job_get(const shoal_sim *sim, size_t index,
                                                        shoal_sim_job *out_job, shoal_err *err);

#ifdef __cplusplus
}
#endif
#endif
