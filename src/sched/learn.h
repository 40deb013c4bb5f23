/* learn.h - what jobs report about themselves, taken in safely.
 *
 * A job that adapts reports now and then how long its passes and steps take and what its gradient is
 * like. From that follows what policies know of it (sched_adapt): the speed on each kind of GPU,
 * fitted (shoal/goodput.h), and the noise of its gradient. The simulator and the daemon take reports
 * in through the same functions.
 *
 * A report is judged before it is believed: what cannot be is refused, and counted by reason. Times of
 * the same shape (nodes, GPUs, batch a pass) are averaged. Jobs of one application share what they
 * measured; a job's own measurements come before those of others, and those of one other are believed
 * only as far as is plausible. docs/design/0011-reports.md has the rules and their bounds.
 *
 *     sched_learn_job_begin(job, app, id, &limits, gpus);        a job arrives
 *     sched_learn_report(job, &report, &alloc);              each time it reports
 *     adapt = sched_learn_known(job);                        before a decision
 *
 * An application is made by the driver and outlives its jobs. A job's memory is one block of fixed
 * size, made once and begun again for another job: no report needs memory. Owner thread only.
 * Deterministic. Tests: tests/unit/sched/test_learn.c. */
#ifndef SCHED_LEARN_H
#define SCHED_LEARN_H

#include "base/alloc.h"
#include "sched/adapt.h"
#include "sched/model.h"

/* id, what the refused reports had: the closed list */
#define SCHED_REFUSAL_MAP(X)                                                 \
    X(SCHED_REFUSED_COUNTS, "GPUs, nodes or batches that cannot be")         \
    X(SCHED_REFUSED_PLACES, "places that are not the job's")                 \
    X(SCHED_REFUSED_STEPS, "step counts that shrink or are no numbers")      \
    X(SCHED_REFUSED_TIMES, "step times that are not above 0, or not finite") \
    X(SCHED_REFUSED_PASS, "passes much longer than their steps")             \
    X(SCHED_REFUSED_FAR, "times far from all reported before, or from any")  \
    X(SCHED_REFUSED_GRADIENT, "gradients that are negative or no numbers")
enum sched_refusal {
#define SCHED_REFUSAL_ROW(id, text) id,
    SCHED_REFUSAL_MAP(SCHED_REFUSAL_ROW)
#undef SCHED_REFUSAL_ROW
        SCHED_REFUSED_COUNT,
    SCHED_REFUSED_NOT = SCHED_REFUSED_COUNT
};

struct sched_report {
    uint32_t kind, nodes, gpus;
    uint32_t local, passes; /* examples of one GPU a pass, and passes a step */
    double pass_s;          /* mean of a pass without synchronisation */
    double step_s;          /* mean of the last pass of a step, with its synchronisation */
    double grad_sqr, grad_var;
    double steps; /* done so far */
    /* What the driver has seen itself: progress per second and GPU; 0: nothing yet. */
    double seen_rate;
};

struct sched_tally {
    uint64_t reports; /* that came */
    uint64_t refused[SCHED_REFUSED_COUNT];
};

struct sched_learn_app;
struct sched_learn_job;

SHOAL_MUST_USE shoal_status sched_learn_app_new(const struct base_alloc *alloc, uint32_t kind_count,
                                                struct sched_learn_app **out);
void sched_learn_app_free(struct sched_learn_app *app);

SHOAL_MUST_USE shoal_status sched_learn_job_new(const struct base_alloc *alloc, uint32_t kind_count,
                                                struct sched_learn_job **out);
void sched_learn_job_free(struct sched_learn_job *job);
/* Forgets everything and begins as another job. app NULL: it shares with nobody. `id` is the job's
 * own among those of the application; `gpus` what it asked for. */
void sched_learn_job_begin(struct sched_learn_job *job, struct sched_learn_app *app, uint32_t id,
                           const struct sched_limits *limits, uint32_t gpus);
/* It was started again, from a checkpoint maybe: its step count may have gone back. */
void sched_learn_job_restarted(struct sched_learn_job *job);

/* Takes a report in; `held` (or NULL: not known) is what the job really holds. Returns why it was
 * refused, or SCHED_REFUSED_NOT. When just its gradient is refused, its times are taken. */
enum sched_refusal sched_learn_report(struct sched_learn_job *job,
                                      const struct sched_report *report,
                                      const struct sched_alloc *held);

/* What is known now, the job's until it begins again; brought up to date by this call. */
const struct sched_adapt *sched_learn_known(struct sched_learn_job *job);
const struct sched_tally *sched_learn_tally(const struct sched_learn_job *job);
/* Of all reasons. */
uint64_t sched_tally_refused(const struct sched_tally *tally);
const char *sched_refusal_text(enum sched_refusal refusal);

#endif
