/* jobs.h - the jobs of a trace as the study sees them: when they came, how many GPUs, how long.
 *
 * A job runs for its recorded time; one that states a model instead of a duration runs for as long
 * as its model takes on the fastest kind it accepts. Jobs that can never run on the cluster are
 * left out, counted and remembered. Immutable once made; borrows the names of the trace, which must
 * outlive it. Any thread. Tests: tests/unit/study/test_jobs.c. */
#ifndef STUDY_JOBS_H
#define STUDY_JOBS_H

#include "sim/trace.h"

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
    /* The busy span: when 5 % and 95 % of the GPU time would have been used if nobody had
     * waited. */
    double busy_from_s, busy_to_s;
    uint64_t too_large; /* left out */
    uint32_t named_count;
    struct study_job named[STUDY_NAMED]; /* the first of those; kinds 0, run_s NAN */
};

/* The trace is bound to the cluster. No job is left: SHOAL_E_IMPOSSIBLE, in words. */
SHOAL_MUST_USE shoal_status study_jobs_init(struct study_jobs *jobs, const struct base_alloc *alloc,
                                            const struct sim_trace *trace,
                                            const struct sched_cluster *cluster, shoal_err *err);
void study_jobs_fini(struct study_jobs *jobs);

#endif
