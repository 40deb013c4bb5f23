/* share_core.h - the parts of the price solver, private to the files share*.c:
 *
 *   share.c         the solver object, its entry points, the search over a curve
 *   share_level.c   the largest common level, by prices and a small master: read this one first
 *   share_oracle.c  its inner loop: what every job answers to a vector of prices, also when its
 *                   time has a value (share_ways.h)
 *   share_sum.c     the largest sum with floors; share_climb.c finds its prices and its mix
 *   share_keep.c    which floors to keep
 *   share_fill.c    water filling through a tree, in stages; share_game.c finds the prices of a
 *                   budget, share_stop.c says who stops at the end of a stage
 *   share_tree.c    how a budget runs down a tree of entities
 *
 * The inner loops are one text (share_oracle_body.inc), compiled once per instruction set by the
 * names of lanes.inc. What the parts of the sum and of the filling share is in share_sum.h and
 * share_fill.h. Tests: tests/unit/num/test_share_*.c. */
#ifndef NUM_SHARE_CORE_H
#define NUM_SHARE_CORE_H

#include "num/lp.h"
#include "num/share.h"

/* Kernels handle up to SHARE_LANES rows at once, so arrays are padded with rows that ask for
 * nothing, at most SHARE_BLOCK of them. A chunk is what one thread is handed at a time; sums are
 * added in the order of chunks, so they do not depend on the number of threads. SHARE_ORIGIN stands
 * in place of a kind for idling. */
enum { SHARE_LANES = 8, SHARE_BLOCK = 64, SHARE_CHUNK = 8192, SHARE_ORIGIN = 255 };

/* Where a game between prices and answers stands (share_level.c). Value and bound have met when
 * they differ by this part of the tolerance; */
#define SHARE_SLACK 0.02
/* it is clear on which side of 1 they will when the gap is this part of the distance from there; */
#define SHARE_DECIDED 0.02
/* a question between two prices has not helped when more than this part of the gap is left. */
#define SHARE_STALLED 0.7

/* Rows with their padding: what kernels are asked about. */
static inline size_t share_padded(size_t count)
{
    return (count + SHARE_LANES - 1) / SHARE_LANES * SHARE_LANES;
}

static inline size_t share_chunks(size_t rows)
{
    return (rows + SHARE_CHUNK - 1) / SHARE_CHUNK;
}

/* How many jobs a row of the problem stands for. */
static inline double share_count(const struct num_share_problem *p, size_t m)
{
    return p->count == NULL ? 1 : p->count[m];
}

/* Jobs scaled so that each needs the same speed t. a: (kinds, stride) speed, 0 where it cannot run;
 * g: (stride) GPUs it holds when it runs. */
struct share_rows {
    uint32_t kinds;
    size_t count, stride;
    double *a, *g;
};

/* The cheapest way for a job to reach speed t at given prices: a mix of two neighbours on the lower
 * hull of the points (0, 0), (a_j, price_j). `low` is SHARE_ORIGIN where one of them is idling. */
struct share_edge {
    uint8_t low, high;
};

/* A question to rows: the cheapest way to speed t at these prices. */
struct share_query {
    const double *price;
    double t;
    double delta; /* below 1: rows are sorted into settled and open, see share_level.c */
};

/* What rows answer together. */
struct share_answer {
    double cost, slope;        /* total, and its derivative in t */
    double use[NUM_KINDS_MAX]; /* GPUs in use */
    /* With delta below 1: use of settled rows is fixed0 + fixed1 t for t in [low, high]. */
    double fixed0[NUM_KINDS_MAX], fixed1[NUM_KINDS_MAX];
    double low, high;
    size_t open; /* rows in open_row */
};

/* Asks rows [at, at + count), with `at` a multiple of SHARE_LANES. `code` (rows; may be NULL) gets
 * the edge of each; `opened` (rows) and `open_row` are used with delta below 1 only: rows whose
 * edge may change are marked in opened, as are those marked before, and listed in open_row.
 * INFINITY where t is out of reach of some row. */
typedef void share_ask_fn(const struct share_rows *rows, size_t at, size_t count,
                          const struct share_query *query, uint8_t *code, bool *opened,
                          uint32_t *open_row, struct share_answer *out);
/* The one with most lanes, at most lanes_max (1: the specification, 4, 8), that this machine runs.
 * Rows are answered equally by all; totals agree up to rounding. */
share_ask_fn *num_share_ask_find(uint32_t lanes_max);

/* Edges by code. */
struct share_edges {
    struct share_edge edge[NUM_KINDS_MAX * (NUM_KINDS_MAX + 1) / 2];
};
void num_share_edges(uint32_t kinds, struct share_edges *out);

/* x of a job at speed t on an edge: share on low and on high. */
static inline void share_mix(const struct share_rows *rows, size_t row, struct share_edge e,
                             double t, double *out_low, double *out_high)
{
    double high = rows->a[(size_t)e.high * rows->stride + row];

    if (e.low == SHARE_ORIGIN) {
        *out_low = 0;
        *out_high = t / high;
        return;
    }
    double low = rows->a[(size_t)e.low * rows->stride + row];
    *out_high = (t - low) / (high - low);
    *out_low = 1 - *out_high;
}

/* The first job to be at its top speed, and the level at which it is. */
struct share_top {
    double level;
    size_t row;
};

struct num_share {
    const struct base_alloc *alloc;
    const struct num_team *team;
    double tolerance;
    share_ask_fn *ask;
    struct share_edges edges;

    /* The problem as prepared: kinds with capacity only. */
    uint32_t kinds;
    uint32_t kind_of[NUM_KINDS_MAX]; /* index in the caller's problem */
    double capacity[NUM_KINDS_MAX];
    struct share_rows rows;
    size_t rows_cap;
    struct share_top *chunk_top;
    size_t chunk_top_cap;
    double top;     /* level at which the first job is at its top speed */
    size_t top_row; /* that job */

    /* Last prices, by the caller's kinds, scaled so that they buy the cluster for 1; warm:
     * known. */
    uint32_t warm_kinds;
    double warm_price[NUM_KINDS_MAX], warm_level;
    bool warm;

    /* share_level.c: rows whose choice is open, and the settled choices (two sets: one being tried,
     * one being made). */
    struct share_rows active;
    size_t active_cap;
    uint32_t *active_row[2];
    size_t active_row_cap[2];
    bool *opened; /* (rows) open in this solve */
    size_t opened_cap;
    uint8_t *code[2], *active_code;
    size_t code_cap[2], active_code_cap;
    struct share_answer *chunks;
    size_t chunk_cap;
    struct num_lp *master;
    uint32_t master_rows;
    double *col_price; /* (columns, kinds) */
    size_t col_cap;

    double *x, *slope;    /* of the result */
    double *need, *floor; /* (jobs) what is put to num_share_level, to the relaxed floors */
    double *first; /* share_sum.c: a feasible point; share_keep.c: part of each floor bought off */
    bool *kept;    /* (jobs) share_keep.c */
    size_t x_cap, slope_cap, need_cap, floor_cap, first_cap, kept_cap;
    uint32_t sum_kinds; /* share_sum.c: last prices; 0: none */
    double sum_price[NUM_KINDS_MAX];
    struct share_sum *sum;
    struct share_fill *fill;
};

/* Room for `count` rows of `kinds` kinds, with the padding rows set. */
SHOAL_MUST_USE shoal_status num_share_rows_reserve(const struct base_alloc *alloc,
                                                   struct share_rows *rows, size_t *cap,
                                                   uint32_t kinds, size_t count);
/* Calls fn(arg, 0..chunks-1), one call for SHARE_CHUNK rows, on the team where that is enough to
 * do. */
SHOAL_MUST_USE shoal_status num_share_each(const struct num_share *s, size_t chunks,
                                           void (*fn)(void *arg, size_t index), void *arg);
/* Copies capacity, kinds and scaled rates into s; SHOAL_E_INVAL on values out of range. */
SHOAL_MUST_USE shoal_status num_share_prepare(struct num_share *s,
                                              const struct num_share_problem *p,
                                              const double *need);
/* An answer that holds nothing: level, no shares. */
SHOAL_MUST_USE shoal_status num_share_nothing(struct num_share *s,
                                              const struct num_share_problem *p, double level,
                                              struct num_share_result *out);
/* The largest level of the prepared problem. */
SHOAL_MUST_USE shoal_status num_share_level_solve(struct num_share *s,
                                                  const struct num_share_problem *p,
                                                  const double *need, struct num_share_result *out);
/* What one GPU of a kind that has none would be worth: the most that a job would pay for it. A job
 * with part s->slope in the shortage values speed at slope / need per unit, and its own time at
 * what is left of that on the kinds it could use at `price` (the caller's kinds). */
double num_share_price_of_none(const struct num_share *s, const struct num_share_problem *p,
                               const double *need, const double *price, uint32_t kind);
/* The same for one job that values speed at `per`. */
double num_share_worth(const struct num_share *s, const double *rate, double gpus, double per,
                       const double *price, uint32_t kind);
/* An empty master in s->master: `row_count` rows with right-hand sides b; equal as in lp.h. */
SHOAL_MUST_USE shoal_status num_share_master(struct num_share *s, uint32_t row_count,
                                             const double *b, const bool *equal);
/* Keeps the prices that a column of the master answers, to ask again at another speed and at the
 * end. */
SHOAL_MUST_USE shoal_status num_share_col(struct num_share *s, size_t index, uint32_t kinds,
                                          const double *price);
/* What s->sum and s->fill hold; NULL is fine. */
void num_share_sum_free(struct num_share *s);
void num_share_fill_free(struct num_share *s);

/* share_tree.c: zeroed at first, then set for each problem. */
struct share_tree {
    const struct num_tree *shape;
    struct share_member *members; /* grouped by node, fair ones in order of cap / weight */
    size_t member_cap;
    size_t *first; /* (nodes + 1) first member of each node */
    size_t first_cap;
    double *node_cap, *budget; /* (nodes) */
    size_t node_cap_cap, budget_cap;
    bool *leaf; /* (nodes) its members are jobs */
    size_t leaf_cap;
    double *cap, *level; /* (jobs) the most each can have; what it has at the budget poured last */
    size_t cap_cap, level_cap;
};

/* Frees what it holds. */
void num_share_tree_free(const struct base_alloc *alloc, struct share_tree *t);
/* SHOAL_E_INVAL on a bad tree; levels are 0. */
SHOAL_MUST_USE shoal_status num_share_tree_set(const struct base_alloc *alloc, struct share_tree *t,
                                               const struct num_tree *shape, size_t jobs,
                                               const double *unit);
/* Takes over the caps; returns the budget at which everybody is at their cap. */
double num_share_tree_gather(struct share_tree *t, const struct num_share_problem *p);
/* Levels at a budget. */
void num_share_tree_pour(struct share_tree *t, const struct num_share_problem *p, double budget);

#endif
