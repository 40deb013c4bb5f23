/* fit.h - what a few measured runs say about all the others.
 *
 * Two models for each algorithm, one of time and one of convergence:
 *   - time (Ernest): an iteration on m machines over data of a size takes
 *     th0 + th1 size/m + th2 log m + th3 m seconds, th >= 0 (num_nnls, relative errors), times what
 *     measurements at counts near m differ from that by;
 *   - convergence (Hemingway): how many iterations it takes on m machines to reach a loss, in one
 *     of two forms, the one that predicts machine counts left out of the fit better:
 *       "stretched": the curve of one machine count is that of another with its iterations
 *         multiplied by r(m), which may drift on the way. r is measured where curves pass the same
 *         losses, all having begun at one loss, no lower than the highest seen; log r is linear in
 *         log m in between and beyond. Past the lowest loss seen log(loss - best) falls as a mix of
 *         i, sqrt i and log i, none of them rising;
 *       "features": log(loss - best) is linear in few (num_few) of i, i/m, i/m^2, i/sqrt m, sqrt i,
 *         sqrt(i/m), log i, log(i/m), m, 1/m, log m.
 *     The best loss that can be reached is estimated with them, never above the lowest loss seen.
 * Curves are those of the lowest loss so far, predictions never rise with iterations, and no run is
 * expected to fall faster from its end on than it did in its later half. A run that begins late
 * (runs.h) has not measured when it passed losses above its first: at most, it took until there.
 *
 * How far off this may be: every machine count is left out once, and how far off the fit of the
 * others (a `part`) is there says how well a count that was not measured is foreseen, nearer or
 * farther from those that were; a fit of the first half of the curves says how well their second
 * half was foreseen; estimates of the best loss that fit nearly as well say how much depends on it.
 * See advise_predict.
 *
 * A fit borrows its runs. Immutable once made, any thread. Tests: tests/unit/advise/test_fit.c. */
#ifndef ADVISE_FIT_H
#define ADVISE_FIT_H

#include "advise/runs.h"

enum {
    ADVISE_COUNTS_MAX = 64,     /* different machine counts of an algorithm */
    ADVISE_PARTS_MAX = 16,      /* fits without one machine count */
    ADVISE_BESTS_MAX = 16,      /* estimates of the best loss */
    ADVISE_EVIDENCE_POINTS = 3, /* falling losses of a run before it is continued */
    ADVISE_BEST_POINTS = 5,     /* and before it says how low the loss can get (or it is flat) */
    ADVISE_BEYOND = 16 /* times the largest count measured: no advice is given for more machines */
};

/* Why an algorithm, or a machine count of it, is not advised. */
enum advise_verdict {
    ADVISE_GOOD,
    ADVISE_NO_CURVE,  /* no run with enough losses that go down */
    ADVISE_DIVERGED,  /* it diverged there, or at fewer machines and never converged at more */
    ADVISE_ONE_COUNT, /* measured at one machine count only: nothing can be said about others */
    ADVISE_TOO_FAR,   /* more than ADVISE_BEYOND times the largest count measured */
    ADVISE_NEVER,     /* the loss is not reached, as far as can be seen */
    ADVISE_UNREACHED, /* no run came near enough to say when the loss is reached */
};
const char *advise_verdict_name(enum advise_verdict verdict);

enum advise_form { ADVISE_STRETCHED, ADVISE_FEATURES };

struct advise_time {
    double theta[4];
    double size_unit; /* sizes are divided by it */
    uint32_t counts;
    double machines[ADVISE_COUNTS_MAX], log_ratio[ADVISE_COUNTS_MAX]; /* measured / model */
    double start_s;                                                   /* before iteration 0 */
};

struct advise_tail { /* log(loss - best) = a0 - sum a_k term_k(u / unit), beyond what was seen */
    double best, unit;
    double a[6];
    double badness; /* of this estimate of the best loss; smaller is better */
};

struct advise_few {
    double best, intercept, x[12];
    double unit; /* iterations are divided by it */
    double badness;
};

struct advise_curve { /* of one run: losses lower than all before */
    const struct advise_run *run;
    const double *iteration, *loss, *time_s;
    size_t count;
};

/* A run of the form "stretched": how much later it passes losses than the deepest one. */
struct advise_stretched {
    struct advise_curve curve;
    double u, log_r, drift; /* where the deepest has its last loss, r there, and by how much log r
                               grows from there on with log u */
};

struct advise_model {
    enum advise_form form;
    struct advise_time time;
    /* stretched */
    struct advise_curve deep;      /* the deepest curve; count 0: none */
    double start;                  /* the loss at iteration 0, as in advise_algorithm */
    struct advise_stretched *runs; /* by machines */
    size_t run_count;
    struct advise_tail tails[ADVISE_BESTS_MAX]; /* the likeliest first */
    uint32_t tail_count;
    /* features */
    struct advise_few few[ADVISE_BESTS_MAX];
    uint32_t few_count;
    double i_max; /* of all runs */
};

struct advise_algorithm {
    const char *name;
    enum advise_verdict verdict; /* GOOD, NO_CURVE, DIVERGED, or ONE_COUNT */
    struct advise_curve *curves;
    size_t curve_count;
    uint32_t counts; /* machine counts with a curve, rising; and with a time */
    uint32_t machines[ADVISE_COUNTS_MAX];
    uint32_t time_counts;
    uint32_t diverged[ADVISE_COUNTS_MAX], diverged_count;
    uint32_t diverged_from;     /* this many machines and more diverge; UINT32_MAX: none */
    double lowest, first;       /* losses seen */
    double start;               /* the loss before iteration 1, one for all algorithms */
    double best;                /* the likeliest estimate of the lowest that can be reached */
    double best_low, best_high; /* 5 % and 95 % of those estimates, to the next of them */
    size_t most_points;         /* falling losses of the curve that has most of them */
    bool says_best;             /* a curve is long or flat enough for an estimate of the best */
    struct advise_model model;
    struct advise_model *part; /* each without one of `machines` */
    uint32_t part_count;
    /* How far off the fits are where they have seen nothing, as logarithms: of iterations and of
     * step times at other machine counts, for each doubling of machines (see predict.c) inside the
     * counts measured and outside; and further on, for each doubling of iterations. */
    double off_steps[2], off_time[2], off_ahead;
    double off_forms[2]; /* errors of both forms at counts left out; NAN: not known */
};

struct advise_fit {
    struct base_arena arena;
    const struct advise_runs *runs;
    struct advise_algorithm *algorithms; /* as in runs */
    uint32_t algorithm_count;
    double size;          /* of the job that advice is for */
    double size_curves;   /* of the runs whose losses count: the largest */
    double lowest, first; /* losses seen at all */
    /* The best loss is one number of the problem: the estimate of the algorithm whose curve went
     * lowest, of those that say one; UINT32_MAX: none does, it is a guess. */
    double best;
    uint32_t best_by;
    double best_least; /* the lowest estimate of all */
    double size_way;   /* doublings from `size` to the nearest size that was measured */
    uint32_t sizes;    /* that were measured, two for any more */
    bool whole;        /* iterations are whole numbers */
};

struct advise_fit_opts {
    double best; /* the lowest loss that can be reached, if that is known; NAN: estimated */
    double size; /* of the data of the job; NAN: that of the largest runs */
};

/* SHOAL_E_NOMEM, or SHOAL_E_IMPOSSIBLE when no algorithm has a curve (err says what would help). */
SHOAL_MUST_USE shoal_status advise_fit_new(const struct base_alloc *alloc,
                                           const struct advise_runs *runs,
                                           const struct advise_fit_opts *opts,
                                           struct advise_fit **out, shoal_err *err);
void advise_fit_free(struct advise_fit *fit);

/* Whether it is enough for advice: SHOAL_E_IMPOSSIBLE (err says what would help) when no run has
 * ADVISE_EVIDENCE_POINTS, no time is above 0, or the job's size is more than ADVISE_BEYOND times
 * away from those measured; with `best` also when no run says how low the loss can get: that takes
 * ADVISE_BEST_POINTS, or ADVISE_EVIDENCE_POINTS the last of which falls by less than a twentieth of
 * what all fell. Runs may be planned from less. */
SHOAL_MUST_USE shoal_status advise_fit_enough(const struct advise_fit *fit, bool best,
                                              shoal_err *err);

/* Seconds of an iteration. */
double advise_step_s(const struct advise_fit *fit, uint32_t algorithm, double machines);
/* Iterations from the start to a loss at or below `loss`; INFINITY: never, or beyond what the model
 * can say. */
double advise_steps(const struct advise_fit *fit, uint32_t algorithm, double machines, double loss);

/* A prediction: seconds to the loss, with all that its doubt is made of, as logarithms. */
struct advise_prediction {
    enum advise_verdict verdict;
    double steps, step_s, seconds; /* of the likeliest model */
    double low_s, high_s;          /* 5 % and 95 % */
    bool measured;                 /* a run on so many machines got there: this is its time */
    uint32_t tail_count;
    double tail[ADVISE_BESTS_MAX]; /* by how much other estimates of the best loss say something
                                      else: shared by all counts of the algorithm */
    double odds[ADVISE_BESTS_MAX]; /* of those estimates, sum 1 */
    double own;                    /* standard deviation of what is its own doubt */
    double at_least_s; /* a run on so many machines took so long and was not there yet */
    double at_most_s;  /* one that begins late was there by then, nobody knows since when, and none
                          was measured: the interval ends there; INFINITY: that is not so */
};

/* Curves that were cut short hide slower parts of the way: with these odds what was not measured
 * takes so much longer (a mean and a standard deviation more, of logarithms). Chosen on runs of our
 * own applications other than those that bench/advise.py reports apart; docs/advise.md. */
extern const double advise_slow_odds, advise_slow_by, advise_slow_sd;

void advise_predict(const struct advise_fit *fit, uint32_t algorithm, uint32_t machines,
                    double loss, struct advise_prediction *out);

#endif
