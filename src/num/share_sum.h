/* share_sum.h - the largest sum, in parts: the problem and the answer (share_sum.c), the solver
 * (share_climb.c); which floors to keep (share_keep.c) uses them, too. */
#ifndef NUM_SHARE_SUM_H
#define NUM_SHARE_SUM_H

#include "num/share_ways.h"

/* Memory kept from call to call: num_share.sum. */
struct share_sum {
    share_ways_fn *ask;
    struct share_edges edges;
    struct share_ways all, open; /* all jobs; those whose way is open, or a sample */
    uint8_t *code, *open_code;   /* ways */
    uint32_t *open_row;
    struct share_ways_answer *chunks;
    size_t code_cap, open_code_cap, open_row_cap, chunks_cap;
    struct num_lp *master;
    uint32_t master_rows;
};

/* One call. */
struct share_sum_call {
    struct num_share *s;
    struct share_sum *mem;
    const struct num_share_problem *p;
    const double *first; /* (jobs, kinds) shares that keep the floors; NULL: idle or buy off */

    /* What is being solved: rows with an open way, what the others take, capacities. */
    const struct share_ways *rows;
    double fixed_value, fixed_use[NUM_KINDS_MAX], capacity[NUM_KINDS_MAX];
    double tolerance;
    /* Columns of the master: trades, from mix_at on the feasible point (where all are open), from
     * answers_at on answers. */
    uint32_t columns, mix_at, answers_at;
    uint32_t trade_kind[2 * NUM_KINDS_MAX];
    double centre[NUM_KINDS_MAX], move[NUM_KINDS_MAX]; /* the box of prices */
    bool sifted;     /* rows are mem->open, the other jobs' ways are in mem->code */
    bool stuck;      /* the master did not end at an optimum */
    bool point_only; /* the answer is the feasible point, not the mix */

    double best[NUM_KINDS_MAX], bound; /* the best prices and what they prove */
    double total, parts;               /* of the mix: its value; what its parts sum to, about 1 */
    uint32_t passes;
};

/* Makes s->sum and mem->all from the problem as num_share_prepare left it. value (jobs, kinds),
 * floor (jobs), weight (jobs) of floors that may be bought off: each may be NULL. */
SHOAL_MUST_USE shoal_status num_share_sum_begin(struct num_share *s,
                                                const struct num_share_problem *p,
                                                const double *value, const double *floor,
                                                const double *weight, struct share_sum_call *out);
/* What rows answer to prices; with `move` the open ones are listed in mem->open_row. */
SHOAL_MUST_USE shoal_status num_share_sum_pass(const struct share_sum_call *q,
                                               const struct share_ways *rows, const double *price,
                                               const double *move, uint8_t *code,
                                               struct share_ways_answer *out);
/* Prices and a mix that meet. `warm`: start at q->best. */
SHOAL_MUST_USE shoal_status num_share_sum_solve(struct share_sum_call *q, bool warm);
/* The shares of the mix, and of each floor how much is bought off; either may be NULL. */
SHOAL_MUST_USE shoal_status num_share_sum_emit(const struct share_sum_call *q, double *out_x,
                                               double *out_bought);

#endif
