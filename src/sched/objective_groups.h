/* objective_groups.h - jobs gathered into groups for num/pairs.h, and the answer for groups handed
 * out to jobs. Memory is the arena of the call (objective_parts.h). */
#ifndef SCHED_OBJECTIVE_GROUPS_H
#define SCHED_OBJECTIVE_GROUPS_H

#include "sched/objective_parts.h"

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
