/* choose.h - which algorithm on how many machines, and when to change on the way.
 *
 * A question names a loss to reach (or a time by which the loss shall be as low as can be) and what
 * machines cost; candidates are every algorithm on every machine count asked about. The advice for
 * a loss is the candidate of the smallest prediction, a little to the disadvantage of those that
 * are less sure, or one within 2 % of it that was measured and is surer. "How sure" is the
 * probability that it is within 5 % of the best one: the share of DRAWS draws in which it is. A
 * draw is one way in which all predictions may be wrong together: an estimate of the best loss of
 * each algorithm by its odds, whether what was not seen is slower, and standard normal numbers for
 * what is a candidate's own (fit.h), which neighbouring machine counts share.
 *
 * A path may change algorithm or machines at any of LEVELS losses between the start and the target;
 * what is carried over is the loss alone: the next goes on from where its own curve has that loss.
 * Any thread. Tests: tests/unit/advise/test_choose.c. */
#ifndef ADVISE_CHOOSE_H
#define ADVISE_CHOOSE_H

#include "advise/fit.h"
#include "base/watch.h"

enum {
    ADVISE_CANDIDATES_MAX = 4096,
    ADVISE_ASKED_MAX = 1024, /* machine counts */
    ADVISE_LEGS_MAX = 8,
    ADVISE_DRAWS = 1000,
    ADVISE_LEVELS = 48
};
extern const double advise_near; /* 1.05: within so much of the best is as good */

struct advise_question {
    double target;            /* loss; NAN: the lowest by the deadline */
    double lower, higher;     /* it rests on an estimate: by so much it may be lower or higher */
    double deadline_s;        /* INFINITY: none */
    const uint32_t *machines; /* rising */
    size_t machine_count;
    double usd_h;    /* of a machine; 0: not known, cost is machine-hours */
    double start_s;  /* every machine is paid for so long before training */
    double change_s; /* a change of algorithm or machines takes so long, all paid */
    uint64_t seed;
    shoal_watch *watch; /* counts candidates; NULL: nobody looks */
};

struct advise_candidate {
    uint32_t algorithm, machines;
    struct advise_prediction p;    /* of the target; of the deadline when there is no target */
    double seconds, low_s, high_s; /* with start_s; the deadline when there is no target */
    double at_most_s;              /* with start_s, as in p; INFINITY when there is no target */
    double cost, low_cost, high_cost;
    double near_fastest, near_cheapest; /* probability of being within 5 % of the best */
    double in_time;                     /* probability of being done by the deadline */
    double loss, low_loss, high_loss;   /* by the deadline, 5 % and 95 %; NAN without one */
};

struct advise_leg {
    uint32_t candidate;
    double from_loss, to_loss;
    double seconds, cost;
};

struct advise_path {
    uint32_t leg_count;
    struct advise_leg legs[ADVISE_LEGS_MAX];
    double seconds, low_s, high_s, cost;
    double gain; /* 1 - seconds (or cost) / that of the best candidate without a change */
};

struct advise_choice {
    struct advise_candidate *candidates; /* by algorithm, then machines */
    uint32_t count, good;
    uint32_t fastest, cheapest;     /* indices; UINT32_MAX: none, as without a target */
    uint32_t by_deadline;           /* the lowest loss by then, or the cheapest done by then */
    struct advise_path fast, cheap; /* leg_count below 2: no change is worth it */
    const struct base_alloc *alloc;
};

/* SHOAL_E_IMPOSSIBLE when no candidate is good: err says why and what would help. SHOAL_E_CANCELLED: the watch was
 * stopped. */
SHOAL_MUST_USE shoal_status advise_choose(const struct base_alloc *alloc,
                                          const struct advise_fit *fit,
                                          const struct advise_question *question,
                                          struct advise_choice *out, shoal_err *err);
void advise_choice_fini(struct advise_choice *choice);

/* Seconds to a loss by the likeliest model alone, without start_s; INFINITY: not reached. */
double advise_seconds(const struct advise_fit *fit, uint32_t algorithm, uint32_t machines,
                      double loss);
/* The loss that is reached by then. */
double advise_loss_by(const struct advise_fit *fit, uint32_t algorithm, uint32_t machines,
                      double seconds);

/* The path behind advise_choose: by cost or by time. `table` (count, ADVISE_LEVELS + 1) holds the
 * seconds at which each candidate passes each of the losses in `levels`. */
void advise_path_find(const struct advise_choice *choice, const struct advise_question *question,
                      const double *levels, const double *table, bool by_cost, uint32_t *work,
                      double *best, struct advise_path *out);

/* ---- the one run that would help most now ----
 *
 * For those who measure, ask, and measure again. Among candidates that no run has seen reach the
 * loss, the one whose chance of being near the best is largest for what finding out costs is run,
 * or its run goes on: to where the loss is predicted, but not past the time of the best one
 * measured (by then it has lost), and to at most twice the iterations it has (predictions get
 * better on the way). An algorithm that is not far enough to say anything is given as much as the
 * best one needs. When no candidate has a chance above one in twenty there is nothing left worth
 * measuring. */
struct advise_next {
    uint32_t algorithm, machines;
    double from, to;      /* iterations: those it has, and those it should have */
    double seconds, cost; /* of the way from one to the other: machine-seconds */
    double chance;        /* of being near the best; NAN: too little is known to say */
};

/* False: nothing more is worth measuring. `choice` may have no good candidate. */
bool advise_next(const struct advise_fit *fit, const struct advise_question *question,
                 const struct advise_choice *choice, bool cheapest, struct advise_next *out);

#endif
