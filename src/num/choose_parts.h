/* choose_parts.h - what the files of the choice share; private to them.
 *
 *   choose.c      the solver: hulls of each job's options, prices, the bound
 *   choose_fit.c  from the answers at the best prices to a choice that fits
 */
#ifndef NUM_CHOOSE_PARTS_H
#define NUM_CHOOSE_PARTS_H

#include "num/choose.h"
#include <stdbool.h>

enum {
    CHOOSE_KINDS = NUM_CHOOSE_KINDS_MAX,
    CHOOSE_REACH = 32, /* of exchanges within a kind, alone and together */
    CHOOSE_SPAN = 2 * CHOOSE_REACH + 1,
    CHOOSE_EACH = 3 /* candidates for each amount */
};

/* What a job may change to. */
struct choose_move {
    uint32_t job, to; /* an option, or NUM_CHOOSE_NONE */
    double score;     /* smallest first */
};

/* A job takes `more` (or less) of the kind it has. */
struct choose_exchange {
    uint32_t job, to;
    int more;
    double gain; /* of value */
};

/* Exchanges that may be made together, those of one job side by side; and the best sums of them. */
struct choose_exchanges {
    struct choose_exchange best[CHOOSE_SPAN][CHOOSE_EACH]; /* by `more`, the least dear */
    struct choose_exchange list[CHOOSE_SPAN * CHOOSE_EACH];
    uint32_t count;
    /* after some of the list: by how much more is taken; and which of the list came last, -1: none */
    double sum[CHOOSE_SPAN * CHOOSE_EACH + 1][CHOOSE_SPAN];
    int16_t taken[CHOOSE_SPAN * CHOOSE_EACH + 1][CHOOSE_SPAN];
};

/* From the answers `pick` at r->price, with r->left as they leave it (below 0: over-full), to a choice
 * that fits. `moves` has room for a move a job. r->bound is known. */
void choose_fit(const struct num_choose_problem *p, struct num_choose_result *r, uint32_t *pick,
                struct choose_move *moves, struct choose_exchanges *x);

#endif
