/* objective_parts.h - what the files of objective.h share. */
#ifndef SCHED_OBJECTIVE_PARTS_H
#define SCHED_OBJECTIVE_PARTS_H

#include "base/arena.h"
#include "sched/objective.h"

/* Which arrays an objective reads. */
enum {
    SCHED_OBJECTIVE_USES_LEFT = 1,
    SCHED_OBJECTIVE_USES_SINCE = 2, /* and alone_s */
    SCHED_OBJECTIVE_USES_DEADLINE = 4,
    SCHED_OBJECTIVE_USES_USD = 8,
    SCHED_OBJECTIVE_USES_TREE = 16,
};

struct sched_objective_solver {
    const struct base_alloc *alloc;
    struct num_share *first; /* the named objective */
    struct num_share *rest;  /* what is left over: other prices, so another solver */
    struct num_pairs *pairs; /* NULL until a call asks for sharing */
    struct base_arena arena; /* of one call, and of its result */
};

/* One call. Job arrays are (jobs). */
struct sched_objective_work {
    const struct sched_objective_input *in;
    struct num_share_problem p; /* speeds as believed: `aware` applied */
    double gpus;                /* of all kinds */
    double jobs;                /* that can run somewhere, identical ones counted */
    double *fastest;            /* speed on the best kind that exists; 0: runs nowhere */
    double *prop;               /* T_prop */
    double *fair_s;             /* ftf: time in all on a 1/n share; else NULL */
};

static inline double sched_objective_weight(const struct sched_objective_work *w, size_t m)
{
    return w->in->weight == NULL ? 1 : w->in->weight[m];
}

/* An array in the call's arena; NULL when memory is short. */
double *sched_objective_array(struct sched_objective_solver *s, size_t count);

/* What is known of the jobs before anything is solved. */
SHOAL_MUST_USE shoal_status sched_objective_prepare(struct sched_objective_solver *s,
                                                    const struct sched_objective_input *in,
                                                    struct sched_objective_work *out);
/* ftf: fills fair_s. */
SHOAL_MUST_USE shoal_status sched_objective_fair_times(struct sched_objective_solver *s,
                                                       struct sched_objective_work *w);

/* Whether these prices say that no GPUs there are make a difference to `level`. */
bool sched_objective_nothing_short(const struct sched_objective_work *w, const double *price,
                                   double level);

/* ftf: the speed with which job m keeps to rho; INFINITY: none does. And the rho of a speed. */
double sched_objective_ftf_need(const struct sched_objective_work *w, size_t m, double rho);
double sched_objective_ftf_rho(const struct sched_objective_work *w, size_t m, double speed);

/* objective_check.c: SHOAL_E_INVAL with a reason that names the job or kind and the field. */
SHOAL_MUST_USE shoal_status sched_objective_check(const struct sched_objective_input *in,
                                                  unsigned uses, struct base_arena *arena,
                                                  shoal_err *err);

/* objective_value.c: the objective's value of the shares in `r`, by the true speeds. What hierarchical
 * and fifo count is not known from shares: r->level. */
SHOAL_MUST_USE shoal_status sched_objective_value(struct sched_objective_solver *s,
                                                  enum sched_objective objective,
                                                  const struct sched_objective_input *in,
                                                  const struct sched_objective_result *r,
                                                  double *out);

/* objective_pairs.c: turns the answer without sharing in `r` into one with it. */
SHOAL_MUST_USE shoal_status sched_objective_share_gpus(struct sched_objective_solver *s,
                                                       enum sched_objective objective,
                                                       const struct sched_objective_work *w,
                                                       struct sched_objective_result *r,
                                                       shoal_err *err);

#endif
