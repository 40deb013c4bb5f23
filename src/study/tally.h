/* tally.h - what one simulated run of a study comes to: waiting by size and reason, locality, use.
 *
 * Utilisation is useful GPU time over the GPUs of the whole cluster (those of a trial pool
 * included) from the first submission to the last, or to the last end (jobs.h): as the use that the simulator reports,
 * with the same span and GPUs for every run of a study, so that runs compare, and work that is put
 * off shows. The useful time of a job counts
 * evenly from its first start to its end (which is exact for jobs that are not stopped in between).
 * Completion times are of the jobs whose work passes, which are the same in every run, from their
 * submission in the trace, so that trials count.
 *
 * Any thread, on caller-owned memory. Tests: tests/unit/study/test_tally.c. */
#ifndef STUDY_TALLY_H
#define STUDY_TALLY_H

#include "sim/result.h"
#include "study/work.h"

enum {
    STUDY_ALL = STUDY_SIZES,      /* index of "all sizes" */
    STUDY_WAITS = SIM_WAIT_COUNT, /* index of "all reasons" */
    STUDY_POINTS = 201            /* of a distribution: shares 0, 1/200, ..., 1 */
};

/* Reasons to wait, in the order in which they are told. */
struct study_reason {
    enum sim_wait why;
    uint32_t colour;
    const char *name, *meaning;
};
extern const struct study_reason study_reasons[SIM_WAIT_COUNT];

/* Jobs that waited for a reason, for how long together; median and tails over those that did. For
 * all reasons together the quantiles are over all jobs. */
struct study_delay {
    uint64_t jobs;
    double total_s, p50_s, p95_s, p99_s;
};

struct study_tally {
    struct study_delay delays[STUDY_SIZES + 1][SIM_WAIT_COUNT + 1];
    float waits_s[STUDY_SIZES][STUDY_POINTS]; /* quantiles of waiting, over all jobs of the size */
    double servers_gpu_s[STUDY_SIZES][SIM_SERVERS_COUNT]; /* held, by number of servers */
    double spread_gpu_s[STUDY_SIZES];                     /* of that on more servers than needed */
    double beside_gpu_s[STUDY_SIZES];                     /* of that beside other gangs */
    double slow_gpu_s[STUDY_SIZES];                       /* lost to slow-down */
    double held_gpu_s, slow_all_gpu_s;
    double utilization;                     /* useful, see above */
    double occupancy;                       /* held in the same span over the same GPUs */
    double avg_jct_s, p50_jct_s, p99_jct_s; /* NAN: no job passed */
    double trial_s; /* from submission to the end of the trial, all jobs that went on after it */
    uint64_t moves, preempted, restarts, rejected;
    double cpu_s;
};

/* `result` is of study_work_trace's trace of `work`; `gpus` those of the whole cluster. */
SHOAL_MUST_USE shoal_status study_tally_make(const struct base_alloc *alloc,
                                             const struct study_jobs *jobs,
                                             const struct study_fate *fates,
                                             const struct study_work *work,
                                             const struct sim_result *result, uint32_t gpus,
                                             struct study_tally *out);

#endif
