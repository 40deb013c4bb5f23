/* work.h - what a cluster is given to run: the jobs of a trace, changed by guidelines before they
 * are simulated.
 *
 * Two guidelines change the work and not the scheduler:
 *   retry only what can succeed: a job whose failure comes back is stopped after its first attempt;
 *   a trial pool: a job of several GPUs runs on one GPU of a few servers set apart first, for at
 *   most `trial_s`. An error that comes back and shows within that time is found there, and the
 *   gang is never asked for. Every other job is submitted when its trial ends, and runs as if there
 *   had been none. An attempt is taken to fail after the same time on one GPU as on all of them.
 *
 * Books are exact: recorded = useful + lost + saved, in GPU-seconds, whatever the change; what
 * trials cost comes on top (trial). Any thread, on caller-owned memory. Tests:
 * tests/unit/study/test_work.c, test_failures.c. */
#ifndef STUDY_WORK_H
#define STUDY_WORK_H

#include "shoal/study.h"
#include "study/load.h"

/* ---- which jobs failed, of what, in how many attempts: a model ----
 *
 * No trace that Shoal reads says how its jobs ended, so it is drawn. The recorded time of a job
 * stays what it is; the model says what that time was: one run that passed, or attempts of which
 * all, or all but the last, were lost. So the GPU time of the trace is never more or less than
 * recorded: useful + lost = recorded.
 *
 * The classes are rows of one table (failures.c) in the shape of the Philly study (Jeon et al.,
 * arXiv 1901.05758): errors of users come early and are most of the count, failures of the
 * infrastructure come late and cost GPU time, larger jobs fail more often. Drawn from a stream per
 * seed and job name: the same job has the same luck whatever other jobs there are. */

enum { STUDY_CLASSES = 11, STUDY_PASSED = 255, STUDY_ATTEMPTS_MAX = 6 };

enum study_cause { STUDY_USER, STUDY_INFRASTRUCTURE, STUDY_UNKNOWN };

struct study_class {
    const char *name, *meaning;
    double share[STUDY_SIZES]; /* of the jobs of that size that meet it */
    double median_s, p90_s;    /* of the time one attempt takes to fail */
    double attempts;           /* mean number of attempts of such a job, 1 or more */
    double passes;             /* share of such jobs whose last attempt passes; 0 where it cannot */
    enum study_cause cause;
    bool retry; /* a further attempt can pass */
};

extern const struct study_class study_classes[STUDY_CLASSES];
const char *study_cause_name(enum study_cause cause); /* "user", "infrastructure", "unknown" */

/* How one job went. */
struct study_fate {
    uint8_t fail_class; /* index into study_classes, STUDY_PASSED: met none */
    uint8_t attempts;   /* 1 or more */
    bool passes;        /* its last attempt did */
    double first_s;     /* its first attempt; the run where there is one only */
    double useful_s;    /* of its recorded time: all, the last attempt, or none */
};

/* One fate per job, into `fates`; `how` is one of SHOAL_STUDY_FAILURES. */
void study_failures_draw(const struct study_jobs *jobs, uint32_t how, uint64_t seed,
                         struct study_fate *fates);

/* ---- what is run ---- */

enum study_change { STUDY_RETRY_ONLY = 1, STUDY_TRIALS = 2 }; /* bits */

struct study_books {
    double recorded_gpu_s, useful_gpu_s, lost_gpu_s, saved_gpu_s;
    double trial_gpu_s; /* spent in trials */
    uint64_t caught;    /* jobs that never got past their trial */
    uint64_t cut;       /* jobs stopped after their first attempt */
};

/* One job to be run. */
struct study_part {
    uint32_t job; /* index into the study's jobs */
    double submit_s, run_s;
};

struct study_work {
    const struct base_alloc *alloc;
    struct study_part *parts; /* by (submit_s, job) */
    size_t count;
    struct study_books books;
};

/* `trial_end_s`: per job when its trial ends, NAN for jobs without one; NULL unless STUDY_TRIALS.
 * On failure *out is untouched; SHOAL_E_NOMEM. */
SHOAL_MUST_USE shoal_status study_work_init(struct study_work *work, const struct base_alloc *alloc,
                                            const struct study_jobs *jobs,
                                            const struct study_fate *fates, uint32_t changes,
                                            double trial_s, const double *trial_end_s);
/* The trials alone, each a job of one GPU; a job without a trial has no part. */
SHOAL_MUST_USE shoal_status study_work_init_trials(struct study_work *work,
                                                   const struct base_alloc *alloc,
                                                   const struct study_jobs *jobs,
                                                   const struct study_fate *fates, double trial_s);
void study_work_fini(struct study_work *work);
/* Every part comes later by a draw from [0, most_s): the same work on another day. */
void study_work_shift(struct study_work *work, uint64_t seed, double most_s);

/* Whether the job has a trial, and how long that takes. */
bool study_trial_has(const struct study_job *job);
double study_trial_runs_s(const struct study_fate *fate, double trial_s);

/* The work as a trace bound to `cluster`, its i-th job the i-th part. `gpus` is the size of every
 * job, 0: its own. Groups are named "g0", "g1", ... by their index in the study's trace. */
SHOAL_MUST_USE shoal_status study_work_trace(shoal_env *env, const struct study_work *work,
                                             const struct study_jobs *jobs, uint32_t gpus,
                                             const struct sched_cluster *cluster,
                                             struct sim_trace **out_trace, shoal_err *err);

#endif
