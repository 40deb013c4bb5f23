/* share_core.h - the parts of the price solver, private to the files share*.c:
 *
 *   share.c         the solver object, its entry points, the search over a curve
 *   share_level.c   the largest common level, by prices and a small master: read this one first
 *   share_oracle.c  its inner loop: what every job answers to a vector of prices, also when its
 *                   time has a value
 *   share_sum.c     the largest sum with floors
 *   share_keep.c    which floors to keep
 *   share_fill.c    water filling through a tree, in stages
 *   share_game.c    the best prices of a budget, and how it runs down a tree of entities
 *
 * The inner loops are one text (share_oracle_body.inc), compiled once per instruction set by the
 * names of lanes.inc. Tests: tests/unit/num/test_share_*.c. */
#ifndef NUM_SHARE_CORE_H
#define NUM_SHARE_CORE_H

#include "base/room.h"
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

/* ---- ways: what a job does when its time has a value (share_oracle.c, share_sum.c, share_keep.c) ----
 *
 * At prices p a job maximises (value - gpus p).x over x >= 0, sum x <= 1, speed.x >= floor. Some
 * best point is a corner of that set, one of these ways:
 *
 *   edge    the floor, just reached: enough of one kind and idling, or a mix of a kind below the
 *           floor with one above it (codes of num_share_edges); only where there is a floor
 *   full    all its time on one kind at least as fast as the floor
 *   idle    nothing; only without a floor
 *   bought  nothing, and the floor is paid off with the ransom
 *
 * Which ways a job has and what shares they take does not depend on prices, so each one's gain is
 * linear in them: a way that is best at p by more than prices can move is best all around p. */

/* Jobs by column. Rows up to stride are padding that idles for nothing. */
struct share_ways {
    uint32_t kinds;
    size_t count, stride;
    double *value, *speed; /* (kinds, stride) of all its time there; speed 0: cannot run there */
    double *gpus, *floor;  /* (stride) >= 0 */
    double *ransom;        /* (stride) INFINITY: the floor is not for sale */
    double *cells;         /* what the above point into */
};

SHOAL_MUST_USE shoal_status num_share_ways_reserve(struct base_room *room, struct share_ways *ways,
                                                   uint32_t kinds, size_t count);

/* Codes of the ways, after the edges: full_0, .. full_(K-1), idle, bought. */
static inline uint32_t share_way_full(uint32_t kinds)
{
    return kinds * (kinds + 1) / 2;
}
static inline uint32_t share_way_idle(uint32_t kinds)
{
    return share_way_full(kinds) + kinds;
}
static inline uint32_t share_way_bought(uint32_t kinds)
{
    return share_way_idle(kinds) + 1;
}

/* A way spelled out: part of the time on kind `one`, the rest on kind `two` or idling. */
struct share_way {
    double gain; /* (value - gpus price).x */
    uint32_t code;
    uint32_t one, two; /* SHARE_ORIGIN: none */
    double x_one, x_two;
    bool bought;
};

/* The specification: the first of the best ways in the order of codes, but full ones first. */
struct share_way num_share_ways_choose(const struct share_ways *ways, size_t row,
                                       const double *price);
/* The shares of a way by its code; `gain` is not set. */
struct share_way num_share_ways_spell(const struct share_ways *ways,
                                      const struct share_edges *edges, size_t row, uint8_t code);

/* A question to rows: the best way at these prices. `move` (kinds) NULL: no sorting. Else rows are
 * sorted: one is settled when its way stays the best as each price moves by up to move_j. */
struct share_ways_query {
    const double *price, *move;
};

struct share_ways_answer {
    double gain;               /* of all rows */
    double value;              /* of all rows; with sorting, of settled ones only; less ransoms */
    double use[NUM_KINDS_MAX]; /* the same; GPUs */
    size_t open;               /* with sorting: rows in open_row */
};

/* Asks rows [at, at + count), both multiples of SHARE_LANES. code (rows; may be NULL) gets the way
 * of each; open_row the open ones (with sorting only). */
typedef void share_ways_fn(const struct share_ways *ways, size_t at, size_t count,
                           const struct share_ways_query *query, uint8_t *code, uint32_t *open_row,
                           struct share_ways_answer *out);
/* The one with most lanes, at most lanes_max (1, 4, 8), that this machine runs. Rows are answered
 * equally by all; totals agree up to rounding. */
share_ways_fn *num_share_ways_find(uint32_t lanes_max);

/* ---- the solver ---- */

/* Memory of the largest sum, kept from call to call: num_share.sum. */
struct share_sum {
    share_ways_fn *ask;
    struct share_ways all, open; /* all jobs; those whose way is open, or a sample */
    uint8_t *code, *open_code;   /* ways */
    uint32_t *open_row;
    struct share_ways_answer *chunks;
    struct num_lp *master;
};

/* How a budget runs down a tree of entities. */
struct share_tree {
    const struct num_tree *shape;
    struct share_member *members; /* grouped by node, fair ones in order of cap / weight */
    size_t *first;                /* (nodes + 1) first member of each node */
    double *node_cap, *budget;    /* (nodes) */
    bool *leaf;                   /* (nodes) its members are jobs */
    double *cap, *level; /* (jobs) the most each can have; what it has at the budget poured last */
};

/* At a corner of its hull, or at its cap, but for rounding: relative. */
#define SHARE_AT_CAP 1e-9
/* Of 1: a cost this near to it is it. */
#define SHARE_FINE 1e-12

enum {
    SHARE_MIX_MAX = NUM_KINDS_MAX + 2, /* columns in a basis of the master */
    SHARE_NO_ROW = UINT32_MAX
};

/* One of the ways in which a stopped job may reach its level: shares of time on an edge. */
struct share_route {
    uint32_t job;
    struct share_edge edge;
    double low, high;
};

/* Memory of water filling, kept from call to call: num_share.fill. Rows: jobs that may still rise. */
struct share_fill {
    struct share_tree tree;
    uint32_t *job;           /* (rows) its index in the problem */
    double *top, *speed;     /* (rows) the fastest on the kinds left; at the budget tried */
    bool *stopped;           /* (jobs) */
    struct share_route *way; /* grouped by job */
    uint8_t *code;           /* (mix, padded rows) edge of each in each column of the mix */
};

struct num_share {
    const struct base_alloc *alloc;
    struct base_room room; /* of its arrays */
    const struct num_team *team;
    double tolerance;
    share_ask_fn *ask;
    struct share_edges edges;

    /* The problem as prepared: kinds with capacity only. */
    uint32_t kinds;
    uint32_t kind_of[NUM_KINDS_MAX]; /* index in the caller's problem */
    double capacity[NUM_KINDS_MAX];
    struct share_rows rows;
    struct share_top *chunk_top;
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
    uint32_t *active_row[2];
    bool *opened; /* (rows) open in this solve */
    uint8_t *code[2], *active_code;
    struct share_answer *chunks;
    struct num_lp *master;
    double *col_price; /* (columns, kinds) that the columns of a master answer */

    double *x, *slope;    /* of the result */
    double *need, *floor; /* (jobs) what is put to num_share_level, to the relaxed floors */
    double *first; /* share_sum.c: a feasible point; share_keep.c: part of each floor bought off */
    bool *kept;    /* (jobs) share_keep.c */
    uint32_t sum_kinds; /* share_sum.c: last prices; 0: none */
    double sum_price[NUM_KINDS_MAX];
    struct share_sum sum;
    struct share_fill fill;
};

/* Room for `count` rows of `kinds` kinds, with the padding rows set. */
SHOAL_MUST_USE shoal_status num_share_rows_reserve(struct base_room *room, struct share_rows *rows,
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
/* One pass over all rows: what they answer together. `code` (rows; may be NULL) gets the edge of each, and
 * open_row (rows; NULL with delta 1) the open ones. */
SHOAL_MUST_USE shoal_status num_share_pass(struct num_share *s, const struct share_query *query,
                                           uint8_t *code, uint32_t *open_row,
                                           struct share_answer *out);
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
/* Adds a column to a master, and keeps the prices that it answers, to ask again at another speed and
 * at the end. *columns counts them. */
SHOAL_MUST_USE shoal_status num_share_col(struct num_share *s, struct num_lp *master,
                                          uint32_t *columns, double worth, const double *column,
                                          const double *price);
/* Prices whose answers are worth having again: those in the mix of s->master, moved to the front.
 * Returns how many. */
uint32_t num_share_col_keep(struct num_share *s, uint32_t columns);

/* ---- share_sum.c: the largest sum, also for share_keep.c. One call ---- */

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

/* Makes mem->all from the problem as num_share_prepare left it. value (jobs, kinds),
 * floor (jobs), weight (jobs) of floors that may be bought off: each may be NULL. */
SHOAL_MUST_USE shoal_status num_share_sum_begin(struct num_share *s,
                                                const struct num_share_problem *p,
                                                const double *value, const double *floor,
                                                const double *weight, struct share_sum_call *out);
/* Prices and a mix that meet. `warm`: start at q->best. */
SHOAL_MUST_USE shoal_status num_share_sum_solve(struct share_sum_call *q, bool warm);
/* The shares of the mix, and of each floor how much is bought off; either may be NULL. */
SHOAL_MUST_USE shoal_status num_share_sum_emit(const struct share_sum_call *q, double *out_x,
                                               double *out_bought);

/* ---- water filling, for share_fill.c and share_game.c. One call ---- */

struct share_fill_call {
    struct num_share *s;
    struct share_fill *mem;
    const struct num_share_problem *p;
    const double *unit;
    size_t ways;                 /* in mem->way */
    double left[NUM_KINDS_MAX];  /* capacity without the use of stopped jobs that have one way */
    bool gone[NUM_KINDS_MAX];    /* exhausted: for stopped jobs only */
    bool implied[NUM_KINDS_MAX]; /* gone, and exactly used if the other kinds are */
    double paid[NUM_KINDS_MAX + 1][NUM_KINDS_MAX]; /* prices of each stage */
    uint32_t row_of[NUM_KINDS_MAX], row_count;     /* of the master */
    uint32_t columns, kept;      /* in the master; prices of the last mix, at the front */
    double value;                /* of the game at the budget tried: part of `left` it takes */
    double price[NUM_KINDS_MAX]; /* the best found for it */
    double cost;                 /* at these prices: value is at least this */
    uint32_t passes;
    bool exact;
};

/* What the jobs answer to prices. */
struct share_reply {
    double use[NUM_KINDS_MAX];
    double worth; /* of what is left */
    double bound; /* the game's value is at least this */
};

/* All that a row's jobs hold when they run. */
static inline double share_gpus(const struct share_fill_call *f, size_t m)
{
    return f->p->gpus[m] * share_count(f->p, m);
}

/* ---- share_game.c ---- */

/* The jobs that may rise, with their speeds on the kinds that are left, and everybody's cap.
 * Returns the budget at which all are at their caps. */
SHOAL_MUST_USE shoal_status num_share_game_rows(struct share_fill_call *f, double *out_total);
/* A new master, for the kinds as they are now; the prices of the last one's mix are kept. */
SHOAL_MUST_USE shoal_status num_share_game_begin(struct share_fill_call *f);
/* Rows as they are at budget B: scaled so that speed 1 is what each asks for. */
SHOAL_MUST_USE shoal_status num_share_game_pour(struct share_fill_call *f, double budget);
/* Asks everybody; `code` (padded rows; may be NULL) gets the edges of the rows. */
SHOAL_MUST_USE shoal_status num_share_game_ask(struct share_fill_call *f, const double *price,
                                               uint8_t *code, struct share_reply *out);
/* The game at budget B: sets value, price and cost. */
SHOAL_MUST_USE shoal_status num_share_game_play(struct share_fill_call *f, double budget);
/* Prices the master proposes, scaled so that what is left costs 1; false: nothing has a price. */
bool num_share_game_prices(const struct share_fill_call *f, double *out_price);
double num_share_route_cost(const struct share_route *w, const double *price);
/* The cheapest of the ways [at, *out_end) of one job: the first of several. */
size_t num_share_route_cheapest(const struct share_fill_call *f, size_t at, const double *price,
                                size_t *out_end);
void num_share_route_use(const struct share_fill_call *f, const struct share_route *w, double part,
                         double *use);
/* SHOAL_E_INVAL on a bad tree; levels are 0. */
SHOAL_MUST_USE shoal_status num_share_tree_set(struct num_share *s, const struct num_tree *shape,
                                               size_t jobs, const double *unit);

#endif
