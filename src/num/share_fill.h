/* share_fill.h - the parts of water filling, private to them:
 *
 *   share_fill.c  the stages: the highest feasible budget, then who stops
 *   share_game.c  the best prices at a budget
 *   share_stop.c  the end of a stage: who stops, and in which ways it may still use what it has
 */
#ifndef NUM_SHARE_FILL_H
#define NUM_SHARE_FILL_H

#include "num/share_core.h"

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

/* Memory kept from call to call: num_share.fill. Rows: jobs that may still rise. */
struct share_fill {
    struct share_tree tree;
    uint32_t *job; /* (rows) its index in the problem */
    size_t job_cap;
    double *top, *speed; /* (rows) the fastest on the kinds left; at the budget tried */
    size_t top_cap, speed_cap;
    bool *stopped; /* (jobs) */
    size_t stopped_cap;
    struct share_route *way; /* grouped by job */
    size_t way_cap;
    uint8_t *code; /* (mix, padded rows) edge of each in each column of the mix */
    size_t code_cap;
};

/* One call. */
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

/* ---- share_stop.c ---- */

/* At the highest feasible budget: stops whoever pays anything at these prices. */
SHOAL_MUST_USE shoal_status num_share_stop_at(struct share_fill_call *f, uint32_t stage,
                                              const double *price);
/* Everybody has what they get: the mix gives shares to those that did not settle. */
SHOAL_MUST_USE shoal_status num_share_stop_all(struct share_fill_call *f);

#endif
