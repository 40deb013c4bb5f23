/* share_sum.c - the largest sum of value x share, with floors under the speeds of jobs: prices and a
 * mix of ways.
 *
 * At prices p job m maximises (value_m - g_m p).x_m on its own, with rate_m.x_m >= floor_m, by one
 * of a few ways (share_core.h). The sum over jobs plus p.N bounds the best total from above. The
 * answers are columns of a master with one row per kind and one that makes them a mix; its duals
 * are the next prices, taken half-way from the best ones so far (share_level.c explains the
 * method). The first column is a feasible point: nothing at all, all floors bought off, or the
 * answer of the level solver.
 *
 * Sifting. Thousands of jobs are solved in a box of prices (boxstep: Marsten, Hogan, Blankenship,
 * 1975). One pass over all jobs at its centre tells which have one best way in all of the box: they
 * are settled and summed up once. The others, some per cent, answer the prices of the master, which
 * the box confines: it may buy capacity at the highest price and sell at the lowest. A mix without
 * such trades is best everywhere, not just in the box, as the bound is convex in the prices; with
 * trades the box moves to the best prices found and grows. Wide boxes are solved roughly and find
 * the place of a narrow one, which is solved exactly, with few open jobs. One last pass over all
 * jobs at the final prices proves the result. The first centre is the last call's prices, or those
 * of a sample. Where boxes do not end, all jobs are left open.
 *
 * Cost: three to ten passes of O(jobs K^2) without branches, some dozens over the open jobs. */
#include "num/share_core.h"

#include <math.h>
#include <string.h>

enum {
    SAMPLE = 512, /* jobs, or one in SAMPLE_PART of more */
    SAMPLE_PART = 16,
    COLUMNS_MAX = 700, /* of one master */
    COLUMNS_KEPT = 32, /* asked again when a master lost its footing */
    TRIES_MAX = 4,     /* of climb_again */
    PIVOTS_MAX = 300,  /* of one solve of the master */
    IDLE_MAX = 12,     /* questions in a row, per kind, that closed nothing of the gap */
    ROUNDS_MAX = 20    /* boxes; half a dozen is usual */
};

/* Gap at which prices are near enough to go on around them, relative; and at which trades at the
 * sides of a box are there to stay. */
static const double LOOSE = 1e-4, LOOSE_AT_SIDE = 1e-6;
/* Half the width of a box, relative to the price; around those of s jobs WIDTH_SAMPLE / sqrt(s). */
static const double WIDTH_SAMPLE = 2, WIDTH_NARROW = 0.01, WIDTH_GROWTH = 2, WIDTH_MAX = 0.9;
/* Price of a kind, relative to the average, below which the width no longer shrinks. */
static const double WIDTH_LEAST = 0.1;
/* Price of room for sale, relative to what the cluster and its dearest kind are worth. */
static const double ROOM_PRICE = 10;
/* Part of a capacity that counts as traded at the side of a box. */
static const double TRADED = 1e-11;

/* ---- the problem by columns ---- */

static shoal_status reserve(struct num_share *s, size_t count)
{
    struct share_sum *mem = &s->sum;
    size_t chunks = share_chunks(count + 1), rows = chunks * SHARE_CHUNK;

    BASE_ROOM(&s->room, mem->code, rows);
    BASE_ROOM(&s->room, mem->open_code, rows);
    BASE_ROOM(&s->room, mem->open_row, rows);
    BASE_ROOM(&s->room, mem->chunks, chunks);
    num_share_edges(s->kinds, &s->edges);
    return num_share_ways_reserve(&s->room, &mem->all, s->kinds, count);
}

/* Equal jobs whose floors are for sale are told apart by up to this part of the weight, the first
 * ones dearest: else they would all be split alike. */
static const double HAIR = 1e-5;

struct transpose {
    const struct share_sum_call *q;
    const double *value, *floor, *weight;
};

static void transpose_chunk(void *arg, size_t index)
{
    const struct transpose *a = arg;
    const struct num_share_problem *p = a->q->p;
    const struct num_share *s = a->q->s;
    struct share_ways *all = &a->q->mem->all;
    size_t n = p->job_count, from = index * SHARE_CHUNK;
    size_t to = from + SHARE_CHUNK < n ? from + SHARE_CHUNK : n;

    for (size_t m = from; m < to; m++) {
        double count = share_count(p, m), fastest = 0;
        double floor = a->floor == NULL ? 0 : a->floor[m];
        bool idles = a->weight != NULL && floor == 0; /* nothing to gain for it */
        for (uint32_t k = 0; k < s->kinds; k++) {
            size_t cell = m * p->kind_count + s->kind_of[k], to_cell = k * all->stride + m;
            double speed = idles ? 0 : p->rate[cell];
            all->speed[to_cell] = speed;
            all->value[to_cell] = a->value == NULL ? 0 : count * a->value[cell];
            fastest = fastest < speed ? speed : fastest;
        }
        all->gpus[m] = count * p->gpus[m];
        all->floor[m] = floor < fastest ? floor : fastest; /* above by rounding only */
        all->ransom[m] = INFINITY;
        if (a->weight != NULL && floor > 0)
            all->ransom[m] = count * a->weight[m] * (1 - HAIR * (double)m / (double)n);
    }
}

shoal_status num_share_sum_begin(struct num_share *s, const struct num_share_problem *p,
                                 const double *value, const double *floor, const double *weight,
                                 struct share_sum_call *out)
{
    shoal_status st = reserve(s, p->job_count);

    if (st != SHOAL_OK)
        return st;
    *out = (struct share_sum_call){
        .s = s, .mem = &s->sum, .p = p, .tolerance = s->tolerance, .bound = INFINITY};
    struct transpose a = {.q = out, .value = value, .floor = floor, .weight = weight};
    return num_share_each(s, share_chunks(p->job_count), transpose_chunk, &a);
}

/* Copies rows together; `scale` multiplies what they are and take: a sample stands for the
 * others. */
static shoal_status gather(struct share_sum_call *q, size_t count, double scale)
{
    struct share_sum *mem = q->mem;
    const uint32_t *row = mem->open_row;
    uint32_t kinds = mem->all.kinds;
    shoal_status st = num_share_ways_reserve(&q->s->room, &mem->open, kinds, count);

    if (st != SHOAL_OK)
        return st;
    for (uint32_t k = 0; k < kinds; k++) {
        const double *value = mem->all.value + k * mem->all.stride;
        const double *speed = mem->all.speed + k * mem->all.stride;
        for (size_t i = 0; i < count; i++) {
            mem->open.value[k * mem->open.stride + i] = scale * value[row[i]];
            mem->open.speed[k * mem->open.stride + i] = speed[row[i]];
        }
    }
    for (size_t i = 0; i < count; i++) {
        mem->open.gpus[i] = scale * mem->all.gpus[row[i]];
        mem->open.floor[i] = mem->all.floor[row[i]];
        mem->open.ransom[i] = scale * mem->all.ransom[row[i]];
    }
    return SHOAL_OK;
}

/* ---- questions and columns ---- */

struct pass {
    const struct share_sum_call *q;
    const struct share_ways *rows;
    struct share_ways_query query;
    uint8_t *code;
};

static void pass_chunk(void *arg, size_t index)
{
    const struct pass *a = arg;
    struct share_sum *mem = a->q->mem;
    size_t at = index * SHARE_CHUNK, left = share_padded(a->rows->count) - at;

    mem->ask(a->rows, at, left < SHARE_CHUNK ? left : SHARE_CHUNK, &a->query, a->code,
             mem->open_row + at, &mem->chunks[index]);
}

/* What rows answer to prices; with `move` the open ones are listed in mem->open_row. */
static shoal_status pass(const struct share_sum_call *q, const struct share_ways *rows,
                         const double *price, const double *move, uint8_t *code,
                         struct share_ways_answer *out)
{
    struct share_sum *mem = q->mem;
    struct pass a = {.q = q, .rows = rows, .query = {price, move}, .code = code};
    size_t chunks = share_chunks(rows->count);
    shoal_status st = num_share_each(q->s, chunks, pass_chunk, &a);

    if (st != SHOAL_OK)
        return st;
    *out = (struct share_ways_answer){0};
    for (size_t i = 0; i < chunks; i++) {
        const struct share_ways_answer *c = &mem->chunks[i];
        out->gain += c->gain;
        out->value += c->value;
        for (uint32_t k = 0; k < rows->kinds; k++)
            out->use[k] += c->use[k];
        memmove(mem->open_row + out->open, mem->open_row + i * SHARE_CHUNK,
                c->open * sizeof *mem->open_row);
        out->open += c->open;
    }
    while (out->open > 0 && mem->open_row[out->open - 1] >= rows->count)
        out->open--; /* padding */
    return SHOAL_OK;
}

/* An empty master: capacities and the row that makes columns a mix. */
static shoal_status restart(struct share_sum_call *q)
{
    double b[NUM_KINDS_MAX + 1];
    bool equal[NUM_KINDS_MAX + 1] = {false};
    uint32_t rows = q->s->kinds + 1;

    for (uint32_t k = 0; k < rows; k++)
        b[k] = 1;
    equal[rows - 1] = true;
    q->bound = INFINITY;
    q->columns = q->mix_at = q->answers_at = 0;
    return num_lp_ready(q->s->alloc, rows, b, equal, &q->mem->master);
}

static shoal_status add_column(struct share_sum_call *q, const double *price, double value,
                               const double *use)
{
    double column[NUM_KINDS_MAX + 1];
    uint32_t kinds = q->s->kinds;

    for (uint32_t k = 0; k < kinds; k++)
        column[k] = use[k] / q->capacity[k];
    column[kinds] = 1;
    return num_share_col(q->s, q->mem->master, &q->columns, value, column, price);
}

/* A trade at the side of the box: part +1 sells the capacity of a kind at this price, -1 buys as
 * much again. */
static shoal_status add_trade(struct share_sum_call *q, uint32_t kind, double part, double price)
{
    double column[NUM_KINDS_MAX + 1] = {0};
    double worth = part * price * q->capacity[kind];

    column[kind] = part;
    q->trade_kind[q->columns] = kind;
    shoal_status st = num_share_col(q->s, q->mem->master, &q->columns, worth, column, q->best);
    q->mix_at = q->answers_at = q->columns;
    return st;
}

/* All answers to `price`: a bound and a column. */
static shoal_status ask(struct share_sum_call *q, const double *price)
{
    struct share_ways_answer a;
    double bound = q->fixed_value;
    shoal_status st = pass(q, q->rows, price, NULL, NULL, &a);

    if (st != SHOAL_OK)
        return st;
    for (uint32_t k = 0; k < q->s->kinds; k++) {
        bound += price[k] * (q->capacity[k] - q->fixed_use[k]);
        a.use[k] += q->fixed_use[k];
    }
    bound += a.gain;
    if (bound < q->bound) {
        q->bound = bound;
        memmove(q->best, price, q->s->kinds * sizeof *price);
    }
    q->passes += q->rows == &q->mem->all;
    return add_column(q, price, q->fixed_value + a.value, a.use);
}

/* The parts of the mix sum to 1 but for what rounding does to a nearly singular master. */
static double sum_of_parts(const struct share_sum_call *q)
{
    double sum = 0;

    for (uint32_t c = q->mix_at; c < q->columns; c++)
        sum += num_lp_value(q->mem->master, c);
    return sum;
}

/* Part of the capacity of kind k that is traded. */
static double traded(const struct share_sum_call *q, uint32_t k)
{
    double sum = 0;

    for (uint32_t c = 0; c < q->mix_at; c++)
        sum += q->trade_kind[c] == k ? num_lp_value(q->mem->master, c) : 0;
    return sum;
}

static bool trades(const struct share_sum_call *q)
{
    for (uint32_t k = 0; k < q->s->kinds; k++)
        if (traded(q, k) > TRADED)
            return true;
    return false;
}

/* The best price of kind k is at a side of the box, as far as is known before the end. */
static bool at_side(const struct share_sum_call *q, uint32_t k)
{
    return fabs(q->best[k] - q->centre[k]) > 0.5 * q->move[k] && traded(q, k) > TRADED;
}

static bool at_sides(const struct share_sum_call *q)
{
    for (uint32_t k = 0; k < q->s->kinds; k++)
        if (at_side(q, k))
            return true;
    return false;
}

/* Prices and a mix of columns whose value meets the bound; in a box, until it is clear that the
 * best prices are at its sides. */
static shoal_status climb(struct share_sum_call *q)
{
    double last = INFINITY, least = INFINITY;
    uint32_t kinds = q->s->kinds, idle = 0; /* questions in a row that closed nothing of the gap */
    bool straight = true;

    while (q->columns < COLUMNS_MAX && idle < IDLE_MAX * (kinds + 1)) {
        enum num_lp_outcome outcome;
        double at[NUM_KINDS_MAX] = {0};
        shoal_status st = num_lp_solve(q->mem->master, PIVOTS_MAX, &outcome);
        if (st != SHOAL_OK)
            return st;
        const double *dual = num_lp_dual(q->mem->master);
        q->parts = sum_of_parts(q);
        q->total = num_lp_objective(q->mem->master) / q->parts;
        double gap = q->bound - q->total;
        q->stuck = outcome != NUM_LP_OPTIMAL;
        if (q->stuck || (isfinite(gap) && gap <= 0.2 * q->tolerance * fabs(q->bound)))
            return SHOAL_OK;
        if (q->sifted && gap <= LOOSE_AT_SIDE * fabs(q->bound) && at_sides(q))
            return SHOAL_OK; /* the box must move: near enough */
        for (uint32_t k = 0; k < kinds; k++) {
            double price = fmax(dual[k], 0) / q->capacity[k];
            at[k] = straight || isinf(q->bound) ? price : 0.5 * (price + q->best[k]);
        }
        st = ask(q, at);
        if (st != SHOAL_OK)
            return st;
        idle = gap < least * (1 - 1e-6) || isinf(gap) ? 0 : idle + 1;
        least = fmin(least, gap);
        straight = !straight && gap > SHARE_STALLED * last;
        last = gap;
    }
    return SHOAL_OK;
}

/* ---- many jobs ---- */

/* Adds job m's part of the feasible point to a column. */
static void add_first(const struct share_sum_call *q, size_t m, double *value, double *use)
{
    const struct share_ways *all = &q->mem->all;

    if (q->first == NULL) {
        *value -= isfinite(all->ransom[m]) ? all->ransom[m] : 0;
        return;
    }
    for (uint32_t k = 0; k < all->kinds; k++) {
        double x = q->first[m * q->p->kind_count + q->s->kind_of[k]];
        *value += x * all->value[k * all->stride + m];
        use[k] += x * all->gpus[m];
    }
}

/* Adds the feasible point to the master and its basis; every later step can only improve on it. */
static shoal_status add_point(struct share_sum_call *q, double value, const double *use)
{
    enum num_lp_outcome outcome;
    shoal_status st = add_column(q, q->best, value, use);

    q->answers_at = q->columns;
    return st == SHOAL_OK ? num_lp_solve(q->mem->master, PIVOTS_MAX, &outcome) : st;
}

/* Solves again with the answers to the last few prices and with room for sale. */
static shoal_status climb_with_room(struct share_sum_call *q, double value, const double *use,
                                    bool *out_sold)
{
    uint32_t kinds = q->s->kinds, count = q->columns - q->answers_at;
    double kept[COLUMNS_KEPT * NUM_KINDS_MAX], best[NUM_KINDS_MAX];
    double worth = isfinite(q->bound) ? fabs(q->bound) : fabs(value); /* may be unproven */

    count = count < COLUMNS_KEPT ? count : COLUMNS_KEPT;
    memcpy(kept, q->s->col_price + (size_t)kinds * (q->columns - count),
           (size_t)count * kinds * sizeof *kept);
    memcpy(best, q->best, sizeof best);
    for (uint32_t k = 0; k < kinds; k++)
        worth = fmax(worth, best[k] * q->capacity[k]);
    shoal_status st = restart(q);
    for (uint32_t k = 0; st == SHOAL_OK && k < kinds; k++)
        st = add_trade(q, k, -1, ROOM_PRICE * worth / q->capacity[k]);
    if (st == SHOAL_OK)
        st = add_point(q, value, use);
    if (st == SHOAL_OK)
        st = ask(q, best);
    for (uint32_t i = 0; st == SHOAL_OK && i < count; i++)
        st = ask(q, kept + (size_t)kinds * i);
    if (st == SHOAL_OK)
        st = climb(q);
    *out_sold = st == SHOAL_OK && trades(q);
    return st;
}

/* Where floors leave next to no room, the master can lose its footing, as few mixes or one alone
 * are feasible. With room for sale there are more; at the right prices it is too dear to be bought.
 * If it is bought all the same, the feasible point is the answer. */
static shoal_status climb_again(struct share_sum_call *q, double value, const double *use)
{
    bool sold = true;
    shoal_status st = SHOAL_OK;

    for (uint32_t tries = 0; tries < TRIES_MAX && st == SHOAL_OK && sold; tries++)
        st = climb_with_room(q, value, use, &sold);
    if (st == SHOAL_OK && (q->stuck || sold)) {
        q->total = value;
        q->point_only = true;
    }
    return st;
}

/* All jobs open, from a feasible point. `warm`: q->best is asked first. */
static shoal_status solve_all(struct share_sum_call *q, bool warm)
{
    double value = 0, use[NUM_KINDS_MAX] = {0}, start[NUM_KINDS_MAX];

    q->rows = &q->mem->all;
    q->sifted = false;
    q->fixed_value = 0;
    memset(q->fixed_use, 0, sizeof q->fixed_use);
    memcpy(q->capacity, q->s->capacity, sizeof q->capacity);
    memcpy(start, q->best, sizeof start);
    for (size_t m = 0; m < q->p->job_count; m++)
        add_first(q, m, &value, use);
    shoal_status st = restart(q);
    if (st == SHOAL_OK)
        st = add_point(q, value, use);
    if (st == SHOAL_OK && warm)
        st = ask(q, start);
    if (st == SHOAL_OK)
        st = climb(q);
    return st == SHOAL_OK && q->stuck ? climb_again(q, value, use) : st;
}

/* Prices of a sample, in q->best. Its capacities are what it takes at the feasible point and all
 * that is left by the others there: so it can keep its floors, however tight they are. */
static shoal_status solve_sample(struct share_sum_call *q, size_t count)
{
    size_t n = q->p->job_count;
    double scale = (double)n / (double)count, value = 0, use[NUM_KINDS_MAX] = {0};
    double all_value = 0, all_use[NUM_KINDS_MAX] = {0};

    for (size_t i = 0; i < count; i++) {
        q->mem->open_row[i] = (uint32_t)(i * n / count);
        add_first(q, q->mem->open_row[i], &value, use);
    }
    for (size_t m = 0; m < n && q->first != NULL; m++)
        add_first(q, m, &all_value, all_use);
    for (uint32_t k = 0; k < q->s->kinds; k++) {
        use[k] *= scale;
        q->capacity[k] = fmax(q->s->capacity[k] - all_use[k] + use[k], 1e-6 * q->s->capacity[k]);
    }
    shoal_status st = gather(q, count, scale);
    if (st == SHOAL_OK)
        st = restart(q);
    if (st == SHOAL_OK)
        st = add_point(q, value * scale, use);
    q->sifted = false;
    q->rows = &q->mem->open;
    q->tolerance = LOOSE;
    if (st == SHOAL_OK)
        st = climb(q);
    q->tolerance = q->s->tolerance;
    return st;
}

/* The box: how far each price may move from q->best. Where all are about 0, what is known of the
 * sum says what prices may be like. */
static void box_around(struct share_sum_call *q, double width)
{
    double worth = 0, gpus = 0;

    memcpy(q->centre, q->best, sizeof q->centre);
    for (uint32_t k = 0; k < q->s->kinds; k++) {
        worth += q->best[k] * q->s->capacity[k];
        gpus += q->s->capacity[k];
    }
    if (isfinite(q->bound))
        worth = fmax(worth, WIDTH_LEAST * fabs(q->bound));
    for (uint32_t k = 0; k < q->s->kinds; k++)
        q->move[k] = width * fmax(q->best[k], WIDTH_LEAST * worth / gpus);
}

/* Solves in the box: settled ways of all jobs in mem->code, the mix of the open ones in the
 * master. */
static shoal_status solve_box(struct share_sum_call *q)
{
    struct share_ways_answer settled;
    shoal_status st = pass(q, &q->mem->all, q->centre, q->move, q->mem->code, &settled);

    if (st != SHOAL_OK)
        return st;
    q->passes++;
    st = gather(q, settled.open, 1);
    if (st == SHOAL_OK)
        st = restart(q);
    q->rows = &q->mem->open;
    q->sifted = true;
    q->fixed_value = settled.value;
    memcpy(q->fixed_use, settled.use, sizeof q->fixed_use);
    memcpy(q->capacity, q->s->capacity, sizeof q->capacity);
    for (uint32_t k = 0; st == SHOAL_OK && k < q->s->kinds; k++) {
        st = add_trade(q, k, -1, q->centre[k] + q->move[k]);
        if (st == SHOAL_OK && q->centre[k] > q->move[k])
            st = add_trade(q, k, 1, q->centre[k] - q->move[k]);
    }
    if (st == SHOAL_OK)
        st = ask(q, q->centre);
    return st == SHOAL_OK ? climb(q) : st;
}

/* Widens the box for the next try where prices are at its sides, or, at the end of an exact one,
 * where the mix trades all the same. As a rule prices move together, so all sides are widened.
 * False: the box is good as it is. */
static bool widen(const struct share_sum_call *q, bool exact, double *width)
{
    if (!at_sides(q) && !(exact && trades(q)))
        return false;
    *width = fmin(WIDTH_GROWTH * *width, WIDTH_MAX);
    return true;
}

/* One pass over all jobs at q->best. *out_proven: the mix meets the bound. */
static shoal_status prove(struct share_sum_call *q, bool *out_proven)
{
    struct share_ways_answer proof;
    shoal_status st = pass(q, &q->mem->all, q->best, NULL, NULL, &proof);

    if (st != SHOAL_OK)
        return st;
    q->passes++;
    q->bound = proof.gain;
    for (uint32_t k = 0; k < q->s->kinds; k++)
        q->bound += q->best[k] * q->s->capacity[k];
    *out_proven = q->bound - q->total <= q->tolerance * fabs(q->bound);
    return SHOAL_OK;
}

/* Box by box from q->best: about right in wide ones, then exactly in narrow ones. *out_done:
 * proven. */
static shoal_status sift(struct share_sum_call *q, double width, bool *out_done)
{
    bool narrow = width <= WIDTH_NARROW;
    shoal_status st = SHOAL_OK;

    *out_done = false;
    for (uint32_t round = 0; st == SHOAL_OK && round < ROUNDS_MAX; round++) {
        box_around(q, width);
        q->tolerance = narrow ? q->s->tolerance : LOOSE;
        st = solve_box(q);
        q->tolerance = q->s->tolerance;
        if (st != SHOAL_OK || widen(q, narrow, &width))
            continue;
        if (narrow)
            return prove(q, out_done);
        narrow = true;
        width = WIDTH_NARROW;
    }
    return st;
}

shoal_status num_share_sum_solve(struct share_sum_call *q, bool warm)
{
    size_t n = q->p->job_count, sample = n / SAMPLE_PART > SAMPLE ? n / SAMPLE_PART : SAMPLE;
    double width = warm ? WIDTH_NARROW : WIDTH_SAMPLE / sqrt((double)sample);
    shoal_status st = SHOAL_OK;
    bool done = false;

    if (n <= 2 * SAMPLE)
        return solve_all(q, warm);
    if (!warm)
        st = solve_sample(q, sample);
    if (st == SHOAL_OK)
        st = sift(q, width, &done);
    return st == SHOAL_OK && !done ? solve_all(q, true) : st;
}

/* ---- answers ---- */

struct emit {
    const struct share_sum_call *q;
    double *x, *bought;
};

static void emit_way(const struct emit *e, size_t job, const struct share_way *way, double part)
{
    if (e->bought != NULL && way->bought)
        e->bought[job] += part;
    if (e->x == NULL)
        return;
    double *x = e->x + job * e->q->p->kind_count;
    if (way->one != SHARE_ORIGIN)
        x[e->q->s->kind_of[way->one]] += part * way->x_one;
    if (way->two != SHARE_ORIGIN)
        x[e->q->s->kind_of[way->two]] += part * way->x_two;
}

static void emit_chunk(void *arg, size_t index)
{
    const struct emit *e = arg;
    const struct share_sum *mem = e->q->mem;
    size_t n = e->q->p->job_count, kinds = e->q->p->kind_count, from = index * SHARE_CHUNK;
    size_t to = from + SHARE_CHUNK < n ? from + SHARE_CHUNK : n;

    if (e->x != NULL)
        memset(e->x + from * kinds, 0, (to - from) * kinds * sizeof *e->x);
    if (e->bought != NULL)
        memset(e->bought + from, 0, (to - from) * sizeof *e->bought);
    for (size_t row = from; row < to && e->q->sifted; row++) {
        struct share_way way =
            num_share_ways_spell(&mem->all, &e->q->s->edges, row, mem->code[row]);
        emit_way(e, row, &way, 1);
    }
}

/* The open rows: a mix of their answers. */
static shoal_status emit_open(const struct emit *e)
{
    const struct share_sum_call *q = e->q;
    struct share_sum *mem = q->mem;
    size_t kinds = q->p->kind_count;

    for (size_t i = 0; q->sifted && i < q->rows->count; i++) {
        if (e->x != NULL)
            memset(e->x + mem->open_row[i] * kinds, 0, kinds * sizeof *e->x);
        if (e->bought != NULL)
            e->bought[mem->open_row[i]] = 0;
    }
    for (uint32_t c = q->answers_at; c < q->columns; c++) {
        double part = num_lp_value(mem->master, c) / q->parts;
        struct share_ways_answer unused;
        if (part <= 0)
            continue;
        const double *price = q->s->col_price + (size_t)q->s->kinds * c;
        shoal_status st = pass(q, q->rows, price, NULL, mem->open_code, &unused);
        if (st != SHOAL_OK)
            return st;
        for (size_t i = 0; i < q->rows->count; i++) {
            struct share_way way =
                num_share_ways_spell(q->rows, &q->s->edges, i, mem->open_code[i]);
            emit_way(e, q->sifted ? mem->open_row[i] : i, &way, part);
        }
    }
    return SHOAL_OK;
}

/* Where all are open, the feasible point may be part of the mix. */
static void emit_first(const struct emit *e, double part)
{
    const struct share_sum_call *q = e->q;
    size_t cells = q->p->job_count * q->p->kind_count;

    for (size_t i = 0; e->x != NULL && q->first != NULL && i < cells; i++)
        e->x[i] += part * q->first[i];
    for (size_t m = 0; e->bought != NULL && q->first == NULL && m < q->p->job_count; m++)
        e->bought[m] += isfinite(q->mem->all.ransom[m]) ? part : 0;
}

shoal_status num_share_sum_emit(const struct share_sum_call *q, double *out_x, double *out_bought)
{
    struct emit e = {.q = q, .x = out_x, .bought = out_bought};
    shoal_status st = num_share_each(q->s, share_chunks(q->p->job_count), emit_chunk, &e);

    if (st != SHOAL_OK)
        return st;
    if (q->sifted)
        return emit_open(&e);
    double part = q->point_only ? 1 : num_lp_value(q->mem->master, q->mix_at) / q->parts;
    if (part > 0)
        emit_first(&e, part);
    return q->point_only ? SHOAL_OK : emit_open(&e);
}

static bool finite_all(const double *v, size_t count)
{
    bool finite = true;

    for (size_t i = 0; i < count; i++)
        finite &= isfinite(v[i]) != 0;
    return finite;
}

/* What one GPU of a kind that has none would be worth: the highest price at which some job would
 * still use it, by the ways it would open. */
static double price_of_none(const struct share_sum_call *q, const double *value,
                            const double *floors, uint32_t kind)
{
    const struct num_share_problem *p = q->p;
    double most = 0;

    for (size_t m = 0; m < p->job_count; m++) {
        const double *rate = p->rate + m * p->kind_count, *worths = value + m * p->kind_count;
        double count = share_count(p, m), gpus = count * p->gpus[m];
        double floor = floors == NULL ? 0 : floors[m];
        double best = q->s->kinds == 0 ? 0 : num_share_ways_choose(&q->mem->all, m, q->best).gain;
        double speed = rate[kind], worth = count * worths[kind];
        if (speed <= 0)
            continue;
        if (speed >= floor)
            most = fmax(most, (worth - best) / gpus);
        if (speed >= floor && floor > 0)
            most = fmax(most, (worth - best * speed / floor) / gpus);
        for (uint32_t k = 0; k < q->s->kinds; k++) {
            double other = rate[q->s->kind_of[k]];
            double gain = count * worths[q->s->kind_of[k]] - gpus * q->best[k];
            if (other <= 0 || (speed < floor) == (other < floor))
                continue;
            double part = (floor - other) / (speed - other); /* on the new kind */
            if (part > 0)
                most = fmax(most, (worth - (best - (1 - part) * gain) / part) / gpus);
        }
    }
    return most;
}

/* Prepares the problem and sees whether floors can be kept together: then s->first has shares that
 * do, and *out_first points there; NULL where there are no floors. */
static shoal_status check_floors(struct num_share *s, const struct num_share_problem *p,
                                 const double *floor, const double **out_first,
                                 uint32_t *out_passes)
{
    size_t n = p->job_count, cells = n * p->kind_count;
    struct num_share_result start = {0};
    bool any = false;

    BASE_ROOM(&s->room, s->need, n + 1);
    if (base_room_status(&s->room) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    for (size_t m = 0; m < n; m++) {
        s->need[m] = floor == NULL ? 0 : floor[m];
        any |= s->need[m] != 0;
    }
    if (!any)
        return num_share_prepare(s, p, s->need);
    shoal_status st = num_share_level(s, p, s->need, &start);
    if (st != SHOAL_OK)
        return st;
    if (start.level < 1 - s->tolerance)
        return SHOAL_E_IMPOSSIBLE;
    BASE_ROOM(&s->room, s->first, cells + 1);
    if (base_room_status(&s->room) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    /* More than the floors in the start is left as it is: it is feasible, and only a start. */
    memcpy(s->first, start.x, cells * sizeof *s->first);
    *out_first = s->first;
    *out_passes = start.passes;
    return SHOAL_OK;
}

static shoal_status answer(struct share_sum_call *q, struct num_share_result *out)
{
    struct num_share *s = q->s;
    const struct num_share_problem *p = q->p;
    double used[NUM_KINDS_MAX] = {0};
    shoal_status st = num_share_sum_emit(q, s->x, NULL);

    if (st != SHOAL_OK)
        return st;
    for (size_t m = 0; m < p->job_count; m++)
        for (uint32_t k = 0; k < s->kinds; k++)
            used[k] += s->x[m * p->kind_count + s->kind_of[k]] * q->mem->all.gpus[m];
    *out = (struct num_share_result){.level = q->total,
                                     .bound = fmax(q->bound, q->total),
                                     .x = s->x,
                                     .passes = q->passes,
                                     .exact = isfinite(q->bound) &&
                                              q->bound - q->total <= s->tolerance * fabs(q->bound)};
    for (uint32_t k = 0; k < s->kinds; k++) {
        out->price[s->kind_of[k]] = s->sum_price[s->kind_of[k]] = q->best[k];
        out->used[s->kind_of[k]] = used[k];
    }
    s->sum_kinds = p->kind_count;
    return SHOAL_OK;
}

shoal_status num_share_sum(struct num_share *s, const struct num_share_problem *p,
                           const double *value, const double *floor, struct num_share_result *out)
{
    struct share_sum_call q = {.s = s, .p = p};
    const double *first = NULL;
    uint32_t passes = 0;
    bool warm = s->sum_kinds == p->kind_count;
    shoal_status st = check_floors(s, p, floor, &first, &passes); /* and all values but `value` */

    if (st != SHOAL_OK && st != SHOAL_E_IMPOSSIBLE)
        return st;
    if (!finite_all(value, p->job_count * p->kind_count))
        return SHOAL_E_INVAL;
    if (st != SHOAL_OK)
        return st;
    if (s->kinds == 0 || p->job_count == 0) {
        st = num_share_nothing(s, p, 0, out);
        for (uint32_t j = 0; st == SHOAL_OK && j < p->kind_count; j++)
            out->price[j] = p->capacity[j] == 0 ? price_of_none(&q, value, floor, j) : 0;
        if (st == SHOAL_OK)
            out->slope = NULL;
        return st;
    }
    BASE_ROOM(&s->room, s->x, p->job_count * p->kind_count);
    st = num_share_sum_begin(s, p, value, floor, NULL, &q);
    q.first = first;
    q.passes = passes;
    for (uint32_t k = 0; warm && k < s->kinds; k++)
        q.best[k] = s->sum_price[s->kind_of[k]];
    if (st == SHOAL_OK)
        st = num_share_sum_solve(&q, warm);
    if (st == SHOAL_OK)
        st = answer(&q, out);
    for (uint32_t j = 0; st == SHOAL_OK && j < p->kind_count; j++)
        if (p->capacity[j] == 0)
            out->price[j] = price_of_none(&q, value, floor, j);
    return st;
}
