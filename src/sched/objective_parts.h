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
    const double *usd_h;        /* (kinds) where the objective is of money; else NULL */
};

static inline double sched_objective_weight(const struct sched_objective_work *w, size_t m)
{
    return w->in->weight == NULL ? 1 : w->in->weight[m];
}

/* An array in the call's arena; NULL when memory is short. */
double *sched_objective_array(struct sched_objective_solver *s, size_t count);

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

/* objective_pairs.c: turns the answer without sharing in `r` into one with it. */
SHOAL_MUST_USE shoal_status sched_objective_share_gpus(struct sched_objective_solver *s,
                                                       enum sched_objective objective,
                                                       const struct sched_objective_work *w,
                                                       struct sched_objective_result *r,
                                                       shoal_err *err);

/* ---- objective_groups.c: jobs gathered into groups for num/pairs.h, and the answer for groups handed out to
 * jobs. Memory is the arena of the call ---- */

struct sched_objective_groups {
    uint32_t count;
    uint32_t *member;     /* jobs that can run, group by group, targets rising */
    uint32_t *start;      /* (groups + 1) into member */
    const double *target; /* (jobs) > 0 where the job can run */
    const double *usd_h;  /* (kinds) divides all speeds; NULL: 1 */
    double *job_value;    /* (jobs) weight / fastest speed */
    double *part;         /* (jobs) scratch of the handing out */
    bool mixed;           /* some group is of unlike targets */
    /* need is all 0, floor and value are NULL until the caller sets them; need and value are
     * writable below. */
    struct num_pairs_problem p;
    double *need, *floor;
    double *value; /* mean of job_value */
};

/* What groups were given, by job. */
struct sched_objective_shares {
    double *x;     /* (jobs, kinds) alone */
    double *speed; /* (jobs) by the groups' rates */
    struct sched_pair_share *pairs;
    size_t pair_count;
};

/* Groups of jobs of one class and like targets (jobs). usd_h (kinds) divides all speeds; NULL:
 * 1. */
SHOAL_MUST_USE shoal_status sched_objective_groups_make(struct sched_objective_solver *s,
                                                        const struct sched_objective_work *w,
                                                        const double *target, const double *usd_h,
                                                        struct sched_objective_groups *out);
/* (groups) the mean of a value (jobs); NULL when memory is short. */
double *sched_objective_groups_mean(struct sched_objective_solver *s,
                                    const struct sched_objective_groups *g, const double *of);
/* (jobs) the fastest that a job can be, alone or with another: some run faster beside another than
 * alone, by what is said of them. Jobs that can run nowhere are left as they are. */
void sched_objective_groups_fastest(const struct sched_objective_groups *g, double *out);
/* Splits groups in which a job's speed is below scale x wanted. SHOAL_END: none could be. */
SHOAL_MUST_USE shoal_status sched_objective_groups_split(struct sched_objective_solver *s,
                                                         const struct sched_objective_work *w,
                                                         struct sched_objective_groups *g,
                                                         const double *speed, const double *wanted,
                                                         double scale);
SHOAL_MUST_USE shoal_status sched_objective_groups_hand_out(struct sched_objective_solver *s,
                                                            const struct sched_objective_work *w,
                                                            struct sched_objective_groups *g,
                                                            const struct num_pairs_result *from,
                                                            struct sched_objective_shares *out);

#endif
