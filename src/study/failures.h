/* failures.h - which jobs of a trace failed, of what, in how many attempts: a model.
 *
 * No trace that Shoal reads says how its jobs ended, so it is drawn. The recorded time of a job
 * stays what it is; the model says what that time was: one run that passed, or attempts of which
 * all, or all but the last, were lost. So the GPU time of the trace is never more or less than
 * recorded: useful + lost = recorded.
 *
 * The classes are rows of one table (failures.c) in the shape of the Philly study (Jeon et al.,
 * arXiv 1901.05758): errors of users come early and are most of the count, failures of the
 * infrastructure come late and cost GPU time, larger jobs fail more often. Drawn from a stream per
 * seed and job name: the same job has the same luck whatever other jobs there are. Any thread, on
 * caller-owned memory. Tests: tests/unit/study/test_failures.c. */
#ifndef STUDY_FAILURES_H
#define STUDY_FAILURES_H

#include "study/jobs.h"

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

enum study_failures { STUDY_FAILURES_MODEL, STUDY_FAILURES_NONE };

/* One fate per job, into `fates`. */
void study_failures_draw(const struct study_jobs *jobs, enum study_failures how, uint64_t seed,
                         struct study_fate *fates);

#endif
