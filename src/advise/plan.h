/* plan.h - which short runs are worth making before advice is asked for.
 *
 * In: what may be run (algorithms, machine counts, fractions of the data, iterations), what is
 * believed of their speed so far, the runs already made, and a budget. Out: the runs to make, in
 * their order, with what each costs and how sure the prediction at the machine counts that matter
 * is before them, after each, and after all. Numbers in, numbers out: nothing is read or run.
 *
 * The model is linear: seconds of an iteration on m machines over the fraction s of the data are
 * theta . features(m, s), for Ernest's model {1, s/m, log m, m}, one theta for each algorithm. A
 * run's mean time of an iteration has a standard deviation of step_s * sqrt(noise_run^2 +
 * noise_step^2 / iterations). Before any run theta is believed to be as given, give or take the
 * whole time: each term, at the largest machine count that matters, has a standard deviation of
 * `doubt` times the predicted time. Where theta leaves an iteration less than a thousandth of the
 * longest time wanted, it is believed to take that. Any thread. Tests:
 * tests/unit/advise/test_plan.c. */
#ifndef ADVISE_PLAN_H
#define ADVISE_PLAN_H

#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ADVISE_PLAN_TERMS_MAX = 8,
    ADVISE_PLAN_ALGORITHMS_MAX = 8, /* terms * algorithms at most 32 */
    ADVISE_PLAN_MACHINES_MAX = 64,
    ADVISE_PLAN_WANT_MAX = 64,
    ADVISE_PLAN_RUNS_MAX = 256,
    ADVISE_PLAN_COMMAND_MAX = 512,
};

struct advise_plan_algorithm {
    const char *name;
    double theta[ADVISE_PLAN_TERMS_MAX]; /* believed so far, >= 0, not all 0 */
    /* How it is run, where it is an application of ours: `APP` of `shoal train APP DATA`, its data,
     * its options as they follow ("--set algorithm=sgd"; quoted already) and which option bounds
     * the iterations ("epochs"). app NULL: not ours; options, limit: may be NULL. */
    const char *app, *data, *options, *limit;
};

struct advise_plan_made { /* a run that was made */
    uint32_t algorithm, machines;
    double fraction; /* of the data, in (0, 1] */
    double iterations;
};

struct advise_plan_problem {
    /* The model; terms 0: Ernest's four. */
    size_t terms;
    void (*features)(double machines, double fraction, double *out);
    const struct advise_plan_algorithm *algorithms;
    size_t algorithm_count;
    /* Candidates: every combination of these. */
    const uint32_t *machines;
    size_t machine_count;
    const double *fractions;
    size_t fraction_count;
    const uint32_t *iterations;
    size_t iteration_count;
    uint32_t repeats; /* how often one may be made; 0: once */
    /* What a run costs: machines * (start_s + iterations * step_s) * price. */
    double start_s; /* of a run, before its first iteration */
    double price;   /* of a machine for a second; 0: the budget is in machine-seconds */
    double budget;
    /* What it is for: an iteration at full size on so many machines. */
    const uint32_t *want;
    size_t want_count;
    const struct advise_plan_made *made;
    size_t made_count;
    double noise_run, noise_step; /* relative; 0: 0.03 and 0.10 */
    double doubt;                 /* 0: 1 */
    double enough;       /* no more runs once the widest relative interval (half) is this; 0: all */
    bool by_determinant; /* all coefficients (D) rather than the predictions wanted (A) */
};

struct advise_plan_run {
    uint32_t algorithm, machines, iterations;
    double fraction;
    double seconds, cost; /* expected */
    double sure;          /* the widest relative interval (half, 90 %) once it is made */
};

struct advise_plan_sure {
    uint32_t algorithm, machines;
    double step_s;        /* believed now */
    double before, after; /* half the 90 % interval, in seconds */
};

struct advise_plan {
    size_t run_count, sure_count;
    struct advise_plan_run runs[ADVISE_PLAN_RUNS_MAX]; /* what gains most for its cost first */
    struct advise_plan_sure sure[ADVISE_PLAN_ALGORITHMS_MAX * ADVISE_PLAN_WANT_MAX];
    double cost;          /* of all runs */
    double before, after; /* widest relative interval (half) over `sure` */
    bool more; /* the budget would pay for runs that `enough` or ADVISE_PLAN_RUNS_MAX leaves out */
    /* Proven: how much the best of all choices within the budget could be better, in shares of the
     * sum of (relative) variances; of D in the mean logarithm of a coefficient's variance. */
    double gap;
};

/* SHOAL_E_INVAL: numbers out of range; SHOAL_E_LIMIT: more candidates or coefficients than a plan
 * can hold; SHOAL_E_IMPOSSIBLE: a budget that pays for no run (err says what the cheapest costs).
 * *out changes only on success. */
SHOAL_MUST_USE shoal_status advise_plan(const struct base_alloc *alloc,
                                        const struct advise_plan_problem *problem,
                                        struct advise_plan *out, shoal_err *err);

/* The line for a shell that makes a run and prints its figures, as `shoal advise` reads them: of a
 * fraction of the data, a part drawn from its lines first. Nothing where the algorithm is not ours. Appended to
 * `out`, which fails where the line is longer than it may be. */
void advise_plan_command(const struct advise_plan_problem *problem,
                         const struct advise_plan_run *run, struct base_buf *out);

#endif
