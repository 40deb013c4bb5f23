/* run.h - replay a trace under one policy in virtual time.
 *
 * Same trace, cluster, options and seed: same events, byte for byte. Reads the trace and cluster,
 * writes only its own memory; any number of runs may go on in parallel on different threads.
 *
 * When the policy decides. At every round while a job is live; rounds begin at multiples of
 * round_s. With react_s also between them, once something happened: a job arrived, ended or failed,
 * a node went or came back. Such a decision is made then and there, but never sooner than react_s
 * after the round or decision before it, nor when a round is less than react_s away: the round is
 * enough then. So no two decisions are closer together than react_s, and what happens is decided on
 * within react_s, or at a round less than 2 react_s away. With react_s = round_s all is as with 0. */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "sched/plan.h"
#include "shoal/sim.h"
#include "sim/prices.h"
#include "sim/result.h"
#include <stdatomic.h>

/* Receives the event log as it is made, in time order, as JSON lines; returns an error to stop the
 * run. */
typedef shoal_status (*sim_event_fn)(void *ctx, const char *json_line, size_t size, shoal_err *err);

struct sim_opts {
    const struct sched_policy *policy;
    const char *const *sets; /* "key=value" knobs: the policy's and the placement's */
    size_t set_count;
    shoal_sim_opts
        how; /* what the rows say of times, speeds, failures and reports, and the seed; of it policies,
                           files and threads do not count here. work_error INFINITY: nothing is told of work */
    const struct sim_prices *prices; /* of the cluster's kinds over time; NULL: the cluster's own */
    bool record;                     /* fill series and segments, and keep shares */
    bool shares;                     /* keep what each job wanted and received of each kind */
    bool details;                    /* fill sim_result.details */
    uint32_t story_job;              /* index of the job whose story is wanted, or SIM_NONE */
    sim_event_fn on_event;           /* NULL: no log */
    void *event_ctx;
    atomic_uint_fast64_t *done; /* jobs ended or rejected so far, for progress; NULL: not wanted */
    const atomic_bool *stop;    /* set by another thread to cancel; NULL: never */
};

void sim_opts_init(struct sim_opts *opts);

SHOAL_MUST_USE shoal_status sim_run(shoal_env *env, const struct sim_trace *trace,
                                    const struct sched_cluster *cluster,
                                    const struct sim_opts *opts, struct sim_result **out_result,
                                    shoal_err *err);

#endif
