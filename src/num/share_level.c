/* share_level.c - the largest t at which every job can run at speed t (rates scaled by its need).
 *
 * Problem. x_mj >= 0, sum_j x_mj <= 1, a_m.x_m >= t for all m, sum_m g_m x_mj <= N_j: as a linear
 * program it has thousands of rows, but only the K capacities couple jobs.
 *
 * Prices. Give each kind a price p_j >= 0, scaled so that the cluster costs p.N = 1. At speed t job
 * m spends at least g_m h_m(t; p), a look-up on its hull (share_oracle.c). If all together cannot
 * pay, cost(t; p) = sum_m g_m h_m(t; p) > 1, then t is out of reach, whatever the shares. cost is
 * convex in t, so one evaluation at any (t, p) proves
 *
 *     t* <= t - (cost(t; p) - 1) / slope(t; p).                                  (certificate)
 *
 * Master. For fixed t the best prices maximise cost(t; p), a concave function, and their value is
 * the capacity, as a multiple of N, that speed t takes. That is a matrix game between prices and
 * the answers of the jobs (columns: GPUs in use / N): maximise sum w, sum_i w_i column_i <= 1, w >=
 * 0, with value 1 / sum w. Each solve proposes prices; the jobs' answer to them, or to a point
 * between them and the best prices so far, is the next column, until bound and value meet. The
 * bound on t from the certificate is a Newton step for t; columns are made again at the new t. At
 * the end the shares are the mix w of the answers.
 *
 * Sifting. Near the right prices nearly all jobs have made up their minds: their second best edge
 * is dearer by more than the prices can still move. One pass over all jobs sums up the settled ones
 * (their use is linear in t) and leaves the open ones, some per cent, for the steps above; one more
 * pass at the resulting prices proves the result or settles the jobs anew. A cold start solves a
 * sample of the jobs first.
 *
 * Cost: two to five passes of O(jobs K^2) without branches, some dozens over the open jobs.
 * Reference: Dantzig and Wolfe, "Decomposition principle for linear programs", 1960; smoothing of
 * prices: Wentges, 1997. The problem: Narayanan et al., "Heterogeneity-aware cluster scheduling
 * policies for deep learning workloads", OSDI 2020. */
#include "base/assert.h"
#include "num/share_core.h"

#include <math.h>
#include <string.h>

enum {
    SAMPLE = 512,       /* jobs; up to twice as many are solved whole */
    STEPS_MAX = 100,    /* Newton steps of one instance; a handful is usual */
    COLUMNS_MAX = 2000, /* of the master, at one t */
    ROUNDS_MAX = 40,    /* passes that settle rows; two to five are usual */
    IDLE_MAX = 10,      /* questions in a row, per kind, that moved neither value nor bound */
    PIVOTS_MAX = 300    /* of one solve of the master */
};

static const double SAMPLE_TOLERANCE = 1e-3; /* a sample is not nearer to the truth than that */
/* How far prices and speed may still move when rows are settled, relative. */
static const double DELTA_COLD = 0.02, DELTA_WARM = 0.003, DELTA_MIN = 1e-4, DELTA_MAX = 0.999999;

/* A problem for the inner steps: open rows, and the use of the settled ones. */
struct instance {
    const struct share_rows *rows;
    struct share_answer settled;
};

/* What one evaluation proves: no level above this. Where all can pay, cost grows at least in
 * proportion to t, as it is convex and 0 at 0. */
static double bound_from(const struct share_answer *sums, double t)
{
    if (sums->cost <= 0)
        return INFINITY;
    return sums->cost > 1 ? t - (sums->cost - 1) / sums->slope : t / sums->cost;
}

struct pass {
    struct num_share *s;
    const struct share_query *query;
    uint8_t *code;
    uint32_t *open_row;
};

static void pass_chunk(void *arg, size_t index)
{
    const struct pass *a = arg;
    struct num_share *s = a->s;
    size_t at = index * SHARE_CHUNK, left = share_padded(s->rows.count) - at;

    s->ask(&s->rows, at, left < SHARE_CHUNK ? left : SHARE_CHUNK, a->query, a->code, s->opened,
           a->open_row == NULL ? NULL : a->open_row + at, &s->chunks[index]);
}

shoal_status num_share_pass(struct num_share *s, const struct share_query *query, uint8_t *code,
                            uint32_t *open_row, struct share_answer *out)
{
    struct pass a = {.s = s, .query = query, .code = code, .open_row = open_row};
    size_t chunks = share_chunks(s->rows.count);
    shoal_status st = num_share_each(s, chunks, pass_chunk, &a);

    if (st != SHOAL_OK)
        return st;
    *out = (struct share_answer){.high = INFINITY};
    for (size_t i = 0; i < chunks; i++) {
        const struct share_answer *c = &s->chunks[i];
        out->cost += c->cost;
        out->slope += c->slope;
        for (uint32_t j = 0; j < s->kinds; j++) {
            out->use[j] += c->use[j];
            out->fixed0[j] += c->fixed0[j];
            out->fixed1[j] += c->fixed1[j];
        }
        out->low = fmax(out->low, c->low);
        out->high = fmin(out->high, c->high);
        if (open_row != NULL)
            memmove(open_row + out->open, open_row + i * SHARE_CHUNK, c->open * sizeof *open_row);
        out->open += c->open;
    }
    return SHOAL_OK;
}

/* Copies the open rows together. `weight` multiplies their GPUs: a sample stands for the others. */
static shoal_status gather(struct num_share *s, const uint32_t *open_row, size_t open,
                           double weight)
{
    shoal_status st = num_share_rows_reserve(&s->room, &s->active, s->kinds, open);

    if (st != SHOAL_OK)
        return st;
    for (size_t i = 0; i < open; i++)
        s->active.g[i] = weight * s->rows.g[open_row[i]];
    for (uint32_t j = 0; j < s->kinds; j++)
        for (size_t i = 0; i < open; i++)
            s->active.a[j * s->active.stride + i] = s->rows.a[j * s->rows.stride + open_row[i]];
    return SHOAL_OK;
}

/* What the inner steps know at the end. */
struct core {
    double price[NUM_KINDS_MAX]; /* the best ones: they give the highest bound */
    double t;                    /* speed of the columns */
    double value;                /* capacity that t takes, by the master */
    double reach;                /* level its mix of columns attains */
    double bound;                /* no level above this, for the instance */
    uint32_t columns;            /* in the master */
    bool valid;                  /* t is in the instance's range, and bound meets reach */
};

/* Evaluates prices at core->t and adds the jobs' answer as a column. */
static shoal_status ask(struct num_share *s, const struct instance *in, const double *price,
                        struct core *c, struct share_answer *out)
{
    double column[NUM_KINDS_MAX];
    struct share_query query = {.price = price, .t = c->t, .delta = 1};

    s->ask(in->rows, 0, share_padded(in->rows->count), &query, NULL, NULL, NULL, out);
    for (uint32_t j = 0; j < s->kinds; j++) {
        double settled = in->settled.fixed0[j] + in->settled.fixed1[j] * c->t;
        out->use[j] += settled;
        out->cost += price[j] * settled;
        out->slope += price[j] * in->settled.fixed1[j];
        column[j] = fmax(out->use[j] / s->capacity[j], 0);
    }
    return num_share_col(s, s->master, &c->columns, 1, column, price);
}

/* Prices the master proposes, scaled so that the cluster costs 1. */
static void proposed(const struct num_share *s, double *out_price)
{
    const double *dual = num_lp_dual(s->master);
    double sum = 0;

    for (uint32_t j = 0; j < s->kinds; j++)
        sum += fmax(dual[j], 0);
    for (uint32_t j = 0; j < s->kinds; j++)
        out_price[j] = fmax(dual[j], 0) / sum / s->capacity[j];
}

/* At fixed c->t: columns until value and bound are within `slack` of each other, or far enough from
 * 1 to know where t must go. best: highest bound so far and where. */
static shoal_status play(struct num_share *s, const struct instance *in, double slack,
                         bool straight, struct core *c, struct share_answer *best)
{
    double last = INFINITY;
    uint32_t idle = 0; /* questions in a row that moved neither value nor bound */

    /* Near the end rounding hides what is left: a few idle questions are enough there. */
    while (c->columns < COLUMNS_MAX && idle < (last < 4e-11 ? 3 : IDLE_MAX * (s->kinds + 1))) {
        enum num_lp_outcome outcome;
        double price[NUM_KINDS_MAX], ask_at[NUM_KINDS_MAX];
        struct share_answer sums;
        shoal_status st = num_lp_solve(s->master, PIVOTS_MAX, &outcome);
        if (st != SHOAL_OK)
            return st;
        c->value = 1 / num_lp_objective(s->master);
        double gap = c->value - best->cost, off = fmax(best->cost - 1, 1 - c->value);
        if (outcome != NUM_LP_OPTIMAL || gap <= slack || gap <= SHARE_DECIDED * off)
            return SHOAL_OK;
        proposed(s, price);
        for (uint32_t j = 0; j < s->kinds; j++)
            ask_at[j] = straight ? price[j] : 0.5 * (price[j] + c->price[j]);
        st = ask(s, in, ask_at, c, &sums);
        if (st != SHOAL_OK)
            return st;
        idle = gap < last ? 0 : idle + 1;
        if (sums.cost > best->cost) {
            *best = sums;
            memcpy(c->price, ask_at, sizeof ask_at);
            idle = 0;
        }
        /* A point between that did not move the bound: the next question is the master's own. */
        straight = !straight && gap > SHARE_STALLED * last;
        last = gap;
    }
    return SHOAL_OK;
}

/* The master's own prices, where they prove as much as the best ones: kinds with room to spare then
 * cost nothing at all, and who holds nobody back has no slope. */
static shoal_status end_at_corner(struct num_share *s, const struct instance *in, double slack,
                                  double cost, struct core *c)
{
    struct share_answer sums;
    double price[NUM_KINDS_MAX] = {0};

    proposed(s, price);
    shoal_status st = ask(s, in, price, c, &sums);
    c->columns--; /* only a question: the mix is as it was */
    if (st == SHOAL_OK && sums.cost >= cost - fmax(slack, 1e-12) &&
        fmin(bound_from(&sums, c->t), s->top) <= c->reach * (1 + 0.1 * s->tolerance))
        memcpy(c->price, price, sizeof price);
    return st;
}

/* Solves an instance from c->price and c->t. */
static shoal_status core_solve(struct num_share *s, const struct instance *in, struct core *c)
{
    double ones[NUM_KINDS_MAX], slack = SHARE_SLACK * s->tolerance;
    uint32_t kept = 0;

    for (uint32_t j = 0; j < s->kinds; j++)
        ones[j] = 1;
    c->bound = INFINITY;
    c->valid = false;
    for (uint32_t step = 0; step < STEPS_MAX; step++) {
        struct share_answer best = {.cost = -1}, sums;
        double price[NUM_KINDS_MAX];
        shoal_status st = num_lp_ready(s->alloc, s->kinds, ones, NULL, &s->master);
        if (st != SHOAL_OK)
            return st;
        c->columns = 0;
        memcpy(price, c->price, sizeof price);
        for (uint32_t i = 0; i <= kept; i++) { /* the kept ones first: they are where they were */
            double at[NUM_KINDS_MAX];
            memcpy(at, i < kept ? s->col_price + (size_t)s->kinds * i : price,
                   s->kinds * sizeof *at);
            st = ask(s, in, at, c, &sums);
            if (st != SHOAL_OK)
                return st;
            if (sums.cost > best.cost) {
                best = sums;
                memcpy(c->price, at, s->kinds * sizeof *at);
            }
        }
        st = play(s, in, slack, step > 0, c, &best);
        if (st != SHOAL_OK)
            return st;
        double next = fmin(bound_from(&best, c->t), s->top);
        c->bound = fmin(c->bound, next);
        c->reach = c->t / fmax(c->value, 1);
        if (c->bound <= c->reach * (1 + 0.1 * s->tolerance)) {
            c->valid = true;
            return end_at_corner(s, in, slack, best.cost, c);
        }
        if (next < in->settled.low || next > in->settled.high || next == c->t) {
            if (next != c->t) /* the settled rows do not hold there */
                c->t = next;
            return SHOAL_OK;
        }
        c->t = next;
        kept = num_share_col_keep(s, c->columns);
    }
    return SHOAL_OK;
}

/* Equal prices, or with `sample` those that a sample of the rows ends with. */
static shoal_status start_cold(struct num_share *s, bool sample, struct core *c)
{
    struct instance in = {.rows = &s->active, .settled = {.high = INFINITY}};
    double gpus = 0, tolerance = s->tolerance;

    for (uint32_t j = 0; j < s->kinds; j++)
        gpus += s->capacity[j];
    for (uint32_t j = 0; j < s->kinds; j++)
        c->price[j] = 1 / gpus;
    c->t = s->top;
    if (!sample)
        return SHOAL_OK;
    for (size_t i = 0; i < SAMPLE; i++)
        s->active_row[0][i] = (uint32_t)(i * s->rows.count / SAMPLE);
    shoal_status st = gather(s, s->active_row[0], SAMPLE, (double)s->rows.count / SAMPLE);
    s->tolerance = SAMPLE_TOLERANCE;
    if (st == SHOAL_OK)
        st = core_solve(s, &in, c);
    s->tolerance = tolerance;
    c->valid = false; /* for all rows nothing is known yet */
    return st;
}

static double price_move(const struct num_share *s, const double *from, const double *to)
{
    double move = 0;

    for (uint32_t j = 0; j < s->kinds; j++)
        move = fmax(move, fabs(from[j] - to[j]) / (from[j] + to[j] + 1e-300));
    return move;
}

/* Writes shares from the settled codes and the mix of columns over the open rows. */
struct emit {
    struct num_share *s;
    const double *need;
    const uint8_t *code;
    double t, scale;
    uint32_t out_kinds;
};

static void emit_chunk(void *arg, size_t index)
{
    const struct emit *e = arg;
    struct num_share *s = e->s;
    size_t end =
        (index + 1) * SHARE_CHUNK < s->rows.count ? (index + 1) * SHARE_CHUNK : s->rows.count;

    for (size_t r = index * SHARE_CHUNK; r < end; r++) {
        double *x = s->x + r * e->out_kinds, low, high;
        memset(x, 0, e->out_kinds * sizeof *x);
        if (e->need[r] == 0)
            continue;
        struct share_edge edge = s->edges.edge[e->code[r]];
        share_mix(&s->rows, r, edge, e->t, &low, &high);
        x[s->kind_of[edge.high]] = high * e->scale;
        if (edge.low != SHARE_ORIGIN)
            x[s->kind_of[edge.low]] = low * e->scale;
    }
}

/* `map` names the row of each open one; NULL: they are all rows. */
static void emit_open(const struct emit *e, const struct core *c, const struct share_rows *open,
                      const uint32_t *map, size_t count)
{
    struct num_share *s = e->s;
    struct share_answer unused;

    for (size_t i = 0; i < count; i++)
        memset(s->x + (map == NULL ? i : map[i]) * e->out_kinds, 0, e->out_kinds * sizeof *s->x);
    for (uint32_t k = 0; k < c->columns; k++) {
        double part = num_lp_value(s->master, k) * c->value * e->scale;
        if (part <= 0)
            continue;
        struct share_query query = {
            .price = s->col_price + (size_t)s->kinds * k, .t = c->t, .delta = 1};
        s->ask(open, 0, share_padded(count), &query, s->active_code, NULL, NULL, &unused);
        for (size_t i = 0; i < count; i++) {
            size_t row = map == NULL ? i : map[i];
            struct share_edge edge = s->edges.edge[s->active_code[i]];
            double *x = s->x + row * e->out_kinds, low, high;
            if (e->need[row] == 0)
                continue;
            share_mix(open, i, edge, c->t, &low, &high);
            x[s->kind_of[edge.high]] += part * high;
            if (edge.low != SHARE_ORIGIN)
                x[s->kind_of[edge.low]] += part * low;
        }
    }
}

/* Part of each job in the shortage at (price, t), from the edges in `code`. */
static void emit_slope(struct num_share *s, const double *need, const double *price,
                       const uint8_t *code)
{
    double sum = 0;

    for (size_t r = 0; r < s->rows.count; r++) {
        struct share_edge e = s->edges.edge[code[r]];
        double high = s->rows.a[(size_t)e.high * s->rows.stride + r];
        double per = e.low == SHARE_ORIGIN
                         ? price[e.high] / high
                         : (price[e.high] - price[e.low]) /
                               (high - s->rows.a[(size_t)e.low * s->rows.stride + r]);
        s->slope[r] = need[r] == 0 ? 0 : s->rows.g[r] * per;
        sum += s->slope[r];
    }
    for (size_t r = 0; r < s->rows.count && sum > 0; r++)
        s->slope[r] /= sum;
}

static shoal_status reserve(struct num_share *s, uint32_t out_kinds)
{
    size_t n = s->rows.count, chunks = share_chunks(n), rows = chunks * SHARE_CHUNK;

    BASE_ROOM(&s->room, s->chunks, chunks);
    for (uint32_t set = 0; set < 2; set++) {
        BASE_ROOM(&s->room, s->active_row[set], rows);
        BASE_ROOM(&s->room, s->code[set], rows);
    }
    BASE_ROOM(&s->room, s->active_code, rows);
    BASE_ROOM(&s->room, s->opened, rows);
    BASE_ROOM(&s->room, s->x, n * out_kinds);
    BASE_ROOM(&s->room, s->slope, n);
    return base_room_status(&s->room);
}

static void start_warm(const struct num_share *s, struct core *c)
{
    double cost = 0;

    for (uint32_t j = 0; j < s->kinds; j++) {
        c->price[j] = s->warm_price[s->kind_of[j]];
        cost += c->price[j] * s->capacity[j];
    }
    for (uint32_t j = 0; j < s->kinds; j++)
        c->price[j] = cost > 0 ? c->price[j] / cost : 1 / (s->capacity[j] * s->kinds);
    c->t = fmin(s->warm_level, s->top);
}

/* The state of one solve. */
struct solve {
    struct core core;
    size_t open;  /* rows of s->active */
    uint32_t set; /* codes and active rows of the last split; the other set is tried next */
    bool all;     /* no split: every row is open, s->rows itself is the instance */
    uint32_t passes;
    double bound; /* proven for all rows */
    double slope; /* of the cost at the core's prices and speed */
    bool proven;
};

/* Few rows: all stay open. */
static shoal_status solve_small(struct num_share *s, struct solve *v)
{
    struct instance in = {.rows = &s->rows, .settled = {.high = INFINITY}};
    struct share_answer sums;
    shoal_status st = core_solve(s, &in, &v->core);
    struct share_query query = {.price = v->core.price, .t = v->core.t, .delta = 1};

    v->all = true;
    if (st == SHOAL_OK)
        st = num_share_pass(s, &query, s->code[0], NULL, &sums);
    v->passes = 1;
    v->set = 1; /* codes of the last pass are in the other set */
    if (st != SHOAL_OK)
        return st;
    v->slope = sums.slope;
    v->bound = fmin(s->top, bound_from(&sums, v->core.t));
    v->proven = v->bound <= v->core.reach * (1 + s->tolerance);
    return SHOAL_OK;
}

/* Many rows: settle most, solve for the rest, prove or repeat. */
static shoal_status solve_large(struct num_share *s, struct solve *v, double delta)
{
    struct core *c = &v->core;

    v->bound = s->top;
    v->set = 1;
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        struct instance in = {.rows = &s->active};
        double before[NUM_KINDS_MAX];
        uint32_t next = 1 - v->set;
        struct share_query query = {.price = c->price, .t = c->t, .delta = delta};
        /* What is proven by the last prices; the same pass settles rows for the next try. */
        shoal_status st =
            num_share_pass(s, &query, s->code[next], s->active_row[next], &in.settled);
        v->passes++;
        if (st != SHOAL_OK)
            return st;
        v->bound = fmin(v->bound, bound_from(&in.settled, c->t));
        v->slope = in.settled.slope;
        if (c->valid && v->bound <= c->reach * (1 + s->tolerance)) {
            v->proven = true;
            return SHOAL_OK;
        }
        c->t = v->bound;
        c->valid = false;
        if (c->t < in.settled.low ||
            c->t > in.settled.high) { /* the bound moved far: settle again around it */
            delta = fmin(2 * delta, DELTA_MAX);
            continue;
        }
        /* A row that changes its mind from pass to pass is open from the next one on, however sure
         * it looks: so the tries cannot go round in circles. */
        for (size_t i = 0; round > 0 && i < s->rows.count; i++)
            s->opened[i] = s->opened[i] | (s->code[0][i] != s->code[1][i]);
        memcpy(before, c->price, sizeof before);
        v->set = next;
        v->open = in.settled.open;
        st = gather(s, s->active_row[next], v->open, 1);
        if (st == SHOAL_OK)
            st = core_solve(s, &in, c);
        if (st != SHOAL_OK)
            return st;
        delta = fmin(fmax(0.5 * price_move(s, before, c->price), DELTA_MIN), DELTA_MAX);
        if (!c->valid || round > 6)
            delta = fmax(delta, round > 6 ? DELTA_MAX : DELTA_COLD);
    }
    return SHOAL_OK;
}

double num_share_worth(const struct num_share *s, const double *rate, double gpus, double per,
                       const double *price, uint32_t kind)
{
    double own = 0;

    for (uint32_t j = 0; j < s->kinds; j++)
        own = fmax(own, per * rate[s->kind_of[j]] - gpus * price[s->kind_of[j]]);
    return (per * rate[kind] - own) / gpus;
}

double num_share_price_of_none(const struct num_share *s, const struct num_share_problem *p,
                               const double *need, const double *price, uint32_t kind)
{
    double most = 0;

    for (size_t m = 0; m < p->job_count; m++) {
        const double *rate = p->rate + m * p->kind_count;
        if (need[m] > 0 && s->slope[m] > 0 && rate[kind] > 0)
            most = fmax(most,
                        num_share_worth(s, rate, s->rows.g[m], s->slope[m] / need[m], price, kind));
    }
    return most;
}

/* Turns the end of a solve into shares, prices and slopes. */
static shoal_status answer(struct num_share *s, const struct num_share_problem *p,
                           const double *need, const struct solve *v, struct num_share_result *out)
{
    const struct core *c = &v->core;
    struct emit e = {.s = s,
                     .need = need,
                     .code = s->code[v->set],
                     .t = c->t,
                     .scale = 1 / fmax(c->value, 1),
                     .out_kinds = p->kind_count};
    size_t chunks = share_chunks(s->rows.count);
    /* Where capacity and a top speed set the level together, one more GPU adds nothing. */
    bool topped = c->reach >= s->top * (1 - 0.5 * s->tolerance);
    shoal_status st = v->all ? SHOAL_OK : num_share_each(s, chunks, emit_chunk, &e);

    if (st != SHOAL_OK)
        return st;
    if (v->all)
        emit_open(&e, c, &s->rows, NULL, s->rows.count);
    else
        emit_open(&e, c, &s->active, s->active_row[v->set], v->open);
    if (topped) {
        memset(s->slope, 0, s->rows.count * sizeof *s->slope);
        s->slope[s->top_row] = 1;
    } else {
        emit_slope(s, need, c->price, s->code[1 - v->set]);
    }
    *out = (struct num_share_result){.level = c->reach,
                                     .bound = fmax(v->bound, c->reach),
                                     .x = s->x,
                                     .slope = s->slope,
                                     .passes = v->passes,
                                     .exact = v->proven};
    for (uint32_t j = 0; j < s->kinds; j++) {
        double used = 0;
        for (size_t r = 0; r < s->rows.count; r++)
            used += s->rows.g[r] * s->x[r * p->kind_count + s->kind_of[j]];
        out->used[s->kind_of[j]] = used;
        out->price[s->kind_of[j]] = topped || v->slope <= 0 ? 0 : c->price[j] / v->slope;
    }
    for (uint32_t j = 0; j < p->kind_count; j++)
        if (p->capacity[j] == 0)
            out->price[j] = num_share_price_of_none(s, p, need, out->price, j);
    return SHOAL_OK;
}

shoal_status num_share_level_solve(struct num_share *s, const struct num_share_problem *p,
                                   const double *need, struct num_share_result *out)
{
    struct solve v = {.core = {.t = s->top}};
    bool warm = s->warm && s->warm_kinds == p->kind_count, small = s->rows.count <= 2 * SAMPLE;
    shoal_status st = reserve(s, p->kind_count);

    if (st != SHOAL_OK)
        return st;
    num_share_edges(s->kinds, &s->edges);
    memset(s->opened, 0, share_padded(s->rows.count) * sizeof *s->opened);
    if (warm)
        start_warm(s, &v.core);
    else
        st = start_cold(s, !small, &v.core);
    if (st == SHOAL_OK)
        st = small ? solve_small(s, &v) : solve_large(s, &v, warm ? DELTA_WARM : DELTA_COLD);
    if (st == SHOAL_OK)
        st = answer(s, p, need, &v, out);
    if (st != SHOAL_OK)
        return st;
    s->warm = true;
    s->warm_kinds = p->kind_count;
    s->warm_level = v.core.reach;
    memset(s->warm_price, 0, sizeof s->warm_price);
    for (uint32_t j = 0; j < s->kinds; j++)
        s->warm_price[s->kind_of[j]] = v.core.price[j];
    return SHOAL_OK;
}
