/* load.h - what a study is made from: the jobs of a trace, machines, quotas. Any thread, on caller-owned memory.
 * Tests: tests/unit/study/test_jobs.c, test_machines.c, test_quotas.c. */
#ifndef STUDY_LOAD_H
#define STUDY_LOAD_H

#include "sim/trace.h"

/* ---- jobs ----
 *
 * A job runs for its recorded time; one that states a model instead of a duration runs for as long
 * as its model takes on the fastest kind it accepts. Jobs that can never run on the cluster are
 * left out, counted and remembered. Immutable once made; borrows the names of the trace, which must
 * outlive it. */

enum {
    STUDY_SIZES = 4, /* classes of jobs: 1, 2-4, 5-8 and more GPUs */
    STUDY_NAMED = 5  /* jobs too large that are remembered by name */
};

/* The class of a job, and what it is called: "1", "2-4", "5-8", ">8". */
uint32_t study_size_of(uint32_t gpus);
extern const char *const study_size_names[STUDY_SIZES];

struct study_job {
    const char *name;
    double submit_s, run_s; /* run_s > 0 */
    uint32_t gpus;
    uint32_t group; /* of the trace */
    uint32_t kinds; /* of the cluster that it accepts, not 0 */
};

struct study_jobs {
    const struct base_alloc *alloc;
    struct study_job *jobs; /* by submission, as in the trace */
    size_t count;
    uint64_t sizes[STUDY_SIZES];
    double gpu_s;        /* of all, as recorded */
    double from_s, to_s; /* first submission; last end if nobody had waited. to_s > from_s */
    double use_until_s;  /* use is measured from from_s to here: sim_use_until_s, with to_s as the
                            last end */
    uint64_t too_large;  /* left out */
    uint32_t named_count;
    struct study_job named[STUDY_NAMED]; /* the first of those; kinds 0, run_s NAN */
};

/* The trace is bound to the cluster. No job is left: SHOAL_E_IMPOSSIBLE, in words. */
SHOAL_MUST_USE shoal_status study_jobs_init(struct study_jobs *jobs, const struct base_alloc *alloc,
                                            const struct sim_trace *trace,
                                            const struct sched_cluster *cluster, shoal_err *err);
void study_jobs_fini(struct study_jobs *jobs);

/* ---- machines ----
 *
 * Of a trace that comes without a cluster. Server sizes are mixed as in the Philly cluster (321 servers of 2
 * GPUs and 231 of 8, by the published trace); there are so many that demand is STUDY_DEMAND of the GPUs, and
 * never fewer than the largest job asks for. Demand is what the average GPU-hour of the trace meets
 * if nobody waits: the mean of GPUs in use over time, weighted by themselves, so that thin weeks
 * before and after the busy ones do not make the cluster too small for those. Servers of one size
 * stand in racks of up to STUDY_RACK. */

#define STUDY_DEMAND     0.65 /* of the GPUs of a chosen cluster */
#define STUDY_POOL_LOAD  0.3  /* most that trials keep their pool busy on average */
#define STUDY_POOL_MOST  0.02 /* of the GPUs, up to which a pool grows while trials wait */
#define STUDY_POOL_SHARE 0.25 /* most of the GPUs that the pool may take */
enum { STUDY_RACK = 16, STUDY_SMALL = 2, STUDY_LARGE = 8 };

/* The spec of the cluster for a trace whose jobs all state durations, appended to `out`. Other
 * traces are SHOAL_E_INVAL, in words; one without jobs is SHOAL_E_IMPOSSIBLE. */
SHOAL_MUST_USE shoal_status study_machines_choose(const struct sim_trace *trace,
                                                  struct base_buf *out, shoal_err *err);

/* GPUs that the average GPU-hour of such a trace meets in use if nobody waits. */
SHOAL_MUST_USE shoal_status study_machines_demand(const struct sim_trace *trace, double *out_gpus,
                                                  shoal_err *err);

/* Splits the cluster: `pool` gets the fewest servers, small ones first, that have `gpus` GPUs,
 * `rest` the others; both keep all kinds. SHOAL_E_IMPOSSIBLE (no words: there is nothing to mend)
 * when the pool would take more than STUDY_POOL_SHARE of the GPUs, or all of a kind; outputs are
 * untouched. */
SHOAL_MUST_USE shoal_status study_machines_split(const struct sched_cluster *cluster, uint32_t gpus,
                                                 struct sched_cluster *pool,
                                                 struct sched_cluster *rest);

/* ---- quotas ----
 *
 * Given as "vision=64,speech=32" or in a file of such lines (`#` starts a comment); groups that are
 * not named have none. Not given: the GPUs of the cluster by the groups' shares of the GPU time in
 * the trace, in whole GPUs (largest remainder), one at least where there are as many GPUs as
 * groups. A trace with one group has no quotas: there is nobody to share with; "none" asks for
 * none. */

struct study_quotas {
    const struct base_alloc *alloc;
    uint32_t *gpus; /* by group of the trace */
    double *gpu_s;  /* their GPU time */
    size_t count;
    bool none;  /* no quotas: one group, or asked for */
    bool given; /* and not by share */
    uint64_t sum;
    struct base_buf knob; /* "quota=g0=64+g1=32" for the policy; empty: no quotas */
};

/* `text`: a spec, the name of a file, or "none"; NULL: by share. */
SHOAL_MUST_USE shoal_status study_quotas_init(struct study_quotas *quotas, shoal_env *env,
                                              const char *text, const struct sim_trace *trace,
                                              const struct study_jobs *jobs, uint32_t gpus,
                                              shoal_err *err);
void study_quotas_fini(struct study_quotas *quotas);

#endif
