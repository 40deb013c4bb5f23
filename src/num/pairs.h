/* pairs.h - shares of time when two jobs may run on the same GPUs, by column generation over
 * groups.
 *
 * Jobs are gathered into groups of count_g jobs that are alike (same row of rates, gang size,
 * need). A column is a group alone on a kind, or two groups of equal gang size z together on it (a
 * group with itself when it has two jobs or more). Its variable y is how many of them run on
 * average: y jobs alone, or y pairs. y pairs of (g, h) use z y GPUs of the kind, y job-time of g
 * and y of h, and give y pair[g|h] speed to g and y pair[h|g] to h; with g = h that is 2 y job-time
 * and 2 y pair[g|g] speed of g. Rows: K capacities, one time row per group (its job-time <= count),
 * one speed row per group. Maximise
 *
 *     t + sum_g value_g U_g     with    U_g >= count_g (floor_g + t need_g),
 *
 * U_g the total speed of the group. Only pairs that beat running in turns on that kind are priced
 * (both can run there alone, both speeds are known, and the speeds relative to alone sum to more
 * than 1): the others cannot better the optimum. Groups up to NUM_PAIRS_GROUPS_MAX; columns up to
 * groups^2 x kinds / 2, never formed: priced in place. Owner thread only. */
#ifndef NUM_PAIRS_H
#define NUM_PAIRS_H

#include "num/share.h"

enum { NUM_PAIRS_GROUPS_MAX = 256, NUM_PAIRS_ALONE = UINT32_MAX };

struct num_pairs_problem {
    uint32_t kind_count;            /* 1 .. NUM_KINDS_MAX */
    double capacity[NUM_KINDS_MAX]; /* >= 0 */
    uint32_t group_count;
    const double *rate; /* (groups, kinds) alone */
    const float *pair; /* (kinds, groups, groups) speed of the first while the second shares; 0: not
                            known; NULL: no sharing */
    const double *gpus;  /* (groups) */
    const double *count; /* (groups) > 0 */
    const double *need;  /* (groups) >= 0; all 0: t is left out */
    const double *floor; /* (groups) >= 0, or NULL */
    const double *value; /* (groups) >= 0, or NULL */
};

struct num_pairs_column {
    uint32_t group, with; /* with: NUM_PAIRS_ALONE, or >= group */
    uint32_t kind;
    double y;
};

struct num_pairs_result {
    double level;                     /* t; 0 where it is left out */
    double total;                     /* the objective */
    double bound;                     /* no solution is better than this */
    double price[NUM_KINDS_MAX];      /* what one more GPU of the kind adds to `total` */
    const double *speed_price;        /* (groups) what a unit of speed that a group were content
                                         without would add; owned by the solver, as columns are */
    struct num_pairs_column *columns; /* y > 0; owned by the solver until its next call */
    uint32_t column_count;
    bool exact; /* bound - total is within 1e-9 of total, or nothing but rounding */
};

struct num_pairs;
SHOAL_MUST_USE shoal_status num_pairs_new(const struct base_alloc *alloc, struct num_pairs **out);
void num_pairs_free(struct num_pairs *s);
/* SHOAL_E_IMPOSSIBLE when the floors cannot be kept together; SHOAL_E_INVAL on bad values,
 * SHOAL_E_LIMIT on too many groups, SHOAL_E_INTERNAL when rounding leaves no solution that keeps
 * the rows. Starts from the last call's columns when groups and kinds are the same in number. */
SHOAL_MUST_USE shoal_status num_pairs_solve(struct num_pairs *s, const struct num_pairs_problem *p,
                                            struct num_pairs_result *out);

#endif
