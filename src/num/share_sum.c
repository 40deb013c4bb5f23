/* share_sum.c - the largest sum of value x share, with floors under the speeds of jobs; and which
 * floors to keep when not all can be.
 *
 * At prices p job m maximises (value_m - g_m p).x_m on its own, with rate_m.x_m >= floor_m: all its
 * time on one kind, or just enough of one, or a mix of two that just reaches the floor. The sum over
 * jobs plus p.N bounds the best total from above. The answers are columns of a master with one row
 * per kind and one that makes them a mix; its duals are the next prices, taken half-way from the best
 * ones so far (share_level.c explains the method). The first column is a feasible point: nothing at
 * all, or with floors the answer of the level solver.
 *
 * Keeping floors. Every floor may be bought off at its weight: one more kind on which a job reaches
 * its floor, without capacity, valued at minus the weight. A basic solution splits at most K jobs;
 * answers that tie (equal jobs) may split more. Split ones are given up, then as many as fit are
 * taken back in order of weight, by bisection with the level solver. */
#include "base/assert.h"
#include "num/share_core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS_MAX = 700,
    PIVOTS_MAX = 300,
    IDLE_MAX = 12,
    SLOTS = NUM_KINDS_MAX + 1,
    IDLE = NUM_KINDS_MAX + 1
};

struct sum {
    struct num_share *s;
    const struct num_share_problem *p;
    const double *value;  /* (jobs, kinds); NULL: 0 */
    const double *floor;  /* (jobs); NULL: none */
    const double *weight; /* (jobs) price of a floor; NULL: they are kept */
    double price[NUM_KINDS_MAX], best[NUM_KINDS_MAX];
    double bound;
    uint32_t columns;
};

/* What a job does: shares x of up to two slots. Slot k is s->kind_of[k], slot s->kinds buys the floor
 * off. */
struct choice {
    double gain; /* (value - price).x */
    uint32_t one, two;
    double x_one, x_two;
};

static void consider(struct choice *c, double gain, uint32_t one, double x_one, uint32_t two,
                     double x_two)
{
    if (gain > c->gain)
        *c = (struct choice){gain, one, two, x_one, x_two};
}

/* Equal jobs are told apart by a hair, the first ones dearest: else they would all be split alike. */
static double price_of_floor(const struct sum *q, size_t m)
{
    double count = q->p->count == NULL ? 1 : q->p->count[m];

    return count * q->weight[m] * (1 - 1e-5 * (double)m / (double)q->p->job_count);
}

static struct choice choose(const struct sum *q, size_t m, const double *price)
{
    const struct num_share *s = q->s;
    const double *rate = q->p->rate + m * q->p->kind_count;
    double floor = q->floor == NULL ? 0 : q->floor[m], gain[SLOTS], speed[SLOTS], fastest = 0;
    double count = q->p->count == NULL ? 1 : q->p->count[m], gpus = count * q->p->gpus[m];
    uint32_t slots = s->kinds;
    struct choice c = {.gain = -INFINITY, .one = IDLE, .two = IDLE};

    for (uint32_t k = 0; k < s->kinds; k++) {
        uint32_t j = s->kind_of[k];
        speed[k] = rate[j];
        fastest = fmax(fastest, rate[j]);
        gain[k] =
            (q->value == NULL ? 0 : count * q->value[m * q->p->kind_count + j]) - gpus * price[k];
    }
    if (q->weight != NULL && floor > 0) {
        gain[slots] = -price_of_floor(q, m);
        speed[slots++] = floor;
    } else {
        floor = fmin(floor, fastest); /* above by rounding only: the level solver has checked */
    }
    if (floor == 0)
        consider(&c, 0, IDLE, 0, IDLE, 0);
    for (uint32_t k = 0; k < slots; k++) {
        if (speed[k] <= 0 || speed[k] < floor)
            continue;
        consider(&c, gain[k], k, 1, IDLE, 0);
        if (floor == 0)
            continue;
        consider(&c, gain[k] * (floor / speed[k]), k, floor / speed[k], IDLE, 0);
        for (uint32_t i = 0; i < slots; i++) {
            if (speed[i] <= 0 || speed[i] >= floor)
                continue;
            double part = (floor - speed[i]) / (speed[k] - speed[i]);
            consider(&c, part * gain[k] + (1 - part) * gain[i], k, part, i, 1 - part);
        }
    }
    return c;
}

/* Value and use of a choice, added to a column. */
static void tally(const struct sum *q, size_t m, uint32_t slot, double x, double *value,
                  double *use)
{
    const struct num_share *s = q->s;
    double count = q->p->count == NULL ? 1 : q->p->count[m];

    if (slot == IDLE || x == 0)
        return;
    if (slot == s->kinds) {
        *value -= x * price_of_floor(q, m);
        return;
    }
    use[slot] += x * count * q->p->gpus[m];
    if (q->value != NULL)
        *value += x * count * q->value[m * q->p->kind_count + s->kind_of[slot]];
}

static shoal_status add_column(struct sum *q, const double *price, double value, const double *use)
{
    struct num_share *s = q->s;
    double column[NUM_KINDS_MAX + 1];
    uint32_t index;
    shoal_status st = num_share_col(s, q->columns, s->kinds, price);

    if (st != SHOAL_OK)
        return st;
    for (uint32_t k = 0; k < s->kinds; k++)
        column[k] = use[k] / s->capacity[k];
    column[s->kinds] = 1;
    q->columns++;
    return num_lp_add(s->master, value, column, &index);
}

/* All jobs' answers to `price`: a bound and a column. */
static shoal_status ask(struct sum *q, const double *price)
{
    struct num_share *s = q->s;
    double value = 0, bound = 0, use[NUM_KINDS_MAX] = {0};

    for (uint32_t k = 0; k < s->kinds; k++)
        bound += price[k] * s->capacity[k];
    for (size_t m = 0; m < q->p->job_count; m++) {
        struct choice c = choose(q, m, price);
        bound += c.gain;
        tally(q, m, c.one, c.x_one, &value, use);
        tally(q, m, c.two, c.x_two, &value, use);
    }
    if (bound < q->bound) {
        q->bound = bound;
        memcpy(q->best, price, sizeof q->best);
    }
    return add_column(q, price, value, use);
}

/* Prices and a mix of columns whose value meets the bound. */
static shoal_status climb(struct sum *q, uint32_t *out_passes, double *out_value)
{
    struct num_share *s = q->s;
    double last = INFINITY, least = INFINITY;
    bool straight = true;
    uint32_t idle = 0; /* questions in a row that closed nothing of the gap */

    while (q->columns < COLUMNS_MAX && idle < IDLE_MAX * (s->kinds + 1)) {
        enum num_lp_outcome outcome;
        double at[NUM_KINDS_MAX];
        shoal_status st = num_lp_solve(s->master, PIVOTS_MAX, &outcome);
        if (st != SHOAL_OK)
            return st;
        const double *dual = num_lp_dual(s->master);
        *out_value = num_lp_objective(s->master);
        double gap = q->bound - *out_value;
        if (outcome != NUM_LP_OPTIMAL ||
            (isfinite(gap) && gap <= 0.2 * s->tolerance * fabs(q->bound)))
            return SHOAL_OK;
        for (uint32_t k = 0; k < s->kinds; k++) {
            q->price[k] = fmax(dual[k], 0) / s->capacity[k];
            at[k] = straight || isinf(q->bound) ? q->price[k] : 0.5 * (q->price[k] + q->best[k]);
        }
        st = ask(q, at);
        if (st != SHOAL_OK)
            return st;
        ++*out_passes;
        idle = gap < least * (1 - 1e-6) || isinf(gap) ? 0 : idle + 1;
        least = fmin(least, gap);
        straight = !straight && gap > 0.7 * last;
        last = gap;
    }
    return SHOAL_OK;
}

/* Shares of the mix. The first column, when `first` is given, is that point. out_bought (jobs; may be
 * NULL): share of each floor bought off. */
static void emit(const struct sum *q, const double *first, double *out_bought)
{
    struct num_share *s = q->s;
    uint32_t kinds = q->p->kind_count;

    memset(s->x, 0, q->p->job_count * kinds * sizeof *s->x);
    for (uint32_t i = 0; i < q->columns; i++) {
        double part = num_lp_value(s->master, i);
        if (part <= 0)
            continue;
        if (i == 0 && out_bought == NULL) {
            for (size_t k = 0; first != NULL && k < q->p->job_count * kinds; k++)
                s->x[k] += part * first[k];
            continue;
        }
        for (size_t m = 0; m < q->p->job_count; m++) {
            struct choice c = choose(q, m, s->col_price + (size_t)s->kinds * i);
            double *x = s->x + m * kinds;
            if (c.one < s->kinds)
                x[s->kind_of[c.one]] += part * c.x_one;
            if (c.two < s->kinds)
                x[s->kind_of[c.two]] += part * c.x_two;
            if (out_bought != NULL && c.one == s->kinds)
                out_bought[m] += part * c.x_one;
            if (out_bought != NULL && c.two == s->kinds)
                out_bought[m] += part * c.x_two;
        }
    }
}

/* An empty master: capacities and the row that makes columns a mix. */
static shoal_status begin(struct sum *q)
{
    double b[NUM_KINDS_MAX + 1];
    bool equal[NUM_KINDS_MAX + 1] = {false};

    for (uint32_t k = 0; k <= q->s->kinds; k++)
        b[k] = 1;
    equal[q->s->kinds] = true;
    q->bound = INFINITY;
    return num_share_master(q->s, q->s->kinds + 1, b, equal);
}

static bool finite_all(const double *v, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(v[i]))
            return false;
    return true;
}

/* What one GPU of a kind that has none would be worth: the highest price at which some job would still
 * use it, by the ways of `choose`. */
static double price_of_none(const struct sum *q, uint32_t kind)
{
    const struct num_share_problem *p = q->p;
    double most = 0;

    for (size_t m = 0; m < p->job_count; m++) {
        const double *rate = p->rate + m * p->kind_count, *value = q->value + m * p->kind_count;
        double count = p->count == NULL ? 1 : p->count[m], gpus = count * p->gpus[m];
        double floor = q->floor == NULL ? 0 : q->floor[m], best = choose(q, m, q->best).gain;
        double speed = rate[kind], worth = count * value[kind];
        if (speed <= 0)
            continue;
        if (speed >= floor)
            most = fmax(most, (worth - best) / gpus);
        if (speed >= floor && floor > 0)
            most = fmax(most, (worth - best * speed / floor) / gpus);
        for (uint32_t k = 0; k < q->s->kinds; k++) {
            double other = rate[q->s->kind_of[k]];
            double gain = count * value[q->s->kind_of[k]] - gpus * q->best[k];
            if (other <= 0 || (speed < floor) == (other < floor))
                continue;
            double part = (floor - other) / (speed - other); /* on the new kind */
            if (part > 0)
                most = fmax(most, (worth - (best - (1 - part) * gain) / part) / gpus);
        }
    }
    return most;
}

shoal_status num_share_sum(struct num_share *s, const struct num_share_problem *p,
                           const double *value, const double *floor, struct num_share_result *out)
{
    struct sum q = {.s = s, .p = p, .value = value, .floor = floor};
    size_t cells = p->job_count * p->kind_count;
    struct num_share_result start = {0};
    double used[NUM_KINDS_MAX] = {0}, first = 0, total = 0;
    uint32_t passes = 0;

    if (base_reserve(s->alloc, (void **)&s->need, &s->need_cap, p->job_count + 1,
                     sizeof *s->need) != 0 ||
        base_reserve(s->alloc, (void **)&s->first, &s->first_cap, cells + 1, sizeof *s->first) != 0)
        return SHOAL_E_NOMEM;
    for (size_t m = 0; m < p->job_count; m++)
        s->need[m] = floor == NULL ? 0 : floor[m];
    shoal_status st = num_share_level(s, p, s->need, &start); /* checks all values but `value` */
    if (st != SHOAL_OK)
        return st;
    if (!finite_all(value, cells))
        return SHOAL_E_INVAL;
    if (start.level < 1 - s->tolerance)
        return SHOAL_E_IMPOSSIBLE;
    /* More than the floors in the start is left as it is: it is feasible, and only a start. */
    memcpy(s->first, start.x, cells * sizeof *s->first);
    for (size_t m = 0; m < p->job_count; m++)
        for (uint32_t k = 0; k < s->kinds; k++)
            tally(&q, m, k, s->first[m * p->kind_count + s->kind_of[k]], &first, used);
    if (s->kinds == 0) {
        st = num_share_nothing(s, p, 0, out);
        for (uint32_t j = 0; st == SHOAL_OK && j < p->kind_count; j++)
            out->price[j] = price_of_none(&q, j);
        if (st == SHOAL_OK)
            out->slope = NULL;
        return st;
    }
    st = begin(&q);
    if (st == SHOAL_OK)
        st = add_column(&q, q.price, first, used);
    if (st == SHOAL_OK && s->sum_kinds == p->kind_count) { /* warm: the last prices first */
        for (uint32_t k = 0; k < s->kinds; k++)
            q.price[k] = s->sum_price[s->kind_of[k]];
        st = ask(&q, q.price);
        passes++;
    }
    if (st == SHOAL_OK)
        st = climb(&q, &passes, &total);
    if (st != SHOAL_OK)
        return st;
    emit(&q, s->first, NULL);
    *out = (struct num_share_result){.level = total,
                                     .bound = fmax(q.bound, total),
                                     .x = s->x,
                                     .passes = start.passes + passes,
                                     .exact = isfinite(q.bound) &&
                                              q.bound - total <= s->tolerance * fabs(q.bound)};
    for (uint32_t j = 0; j < p->kind_count; j++)
        if (p->capacity[j] == 0)
            out->price[j] = price_of_none(&q, j);
    s->sum_kinds = p->kind_count;
    for (uint32_t k = 0; k < s->kinds; k++) {
        uint32_t j = s->kind_of[k];
        out->price[j] = s->sum_price[j] = q.best[k];
        for (size_t m = 0; m < p->job_count; m++)
            out->used[j] +=
                s->x[m * p->kind_count + j] * p->gpus[m] * (p->count == NULL ? 1 : p->count[m]);
    }
    return SHOAL_OK;
}

/* Whether the floors marked in kept are feasible together. */
static shoal_status feasible(struct num_share *s, const struct num_share_problem *p,
                             const double *floor, const bool *kept, bool *out)
{
    struct num_share_result r;

    for (size_t m = 0; m < p->job_count; m++)
        s->need[m] = kept[m] ? floor[m] : 0;
    shoal_status st = num_share_level(s, p, s->need, &r);
    *out = st == SHOAL_OK && r.level >= 1 - s->tolerance;
    return st;
}

struct split_job {
    double weight;
    uint32_t job;
};

static int heavier_first(const void *a, const void *b)
{
    const struct split_job *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->job < y->job ? -1 : x->job > y->job;
}

/* The longest head of `jobs` that can be kept besides those in `kept`; then, past the one that does
 * not fit, the next ones, a few times over. */
static shoal_status take_back(struct num_share *s, const struct num_share_problem *p,
                              const double *floor, const struct split_job *jobs, size_t count,
                              bool *kept)
{
    for (uint32_t tries = 0; tries <= s->kinds && count > 0; tries++) {
        size_t good = 0, bad = count + 1;
        while (good + 1 < bad) {
            size_t middle = bad == count + 1 ? count : (good + bad) / 2;
            bool ok;
            for (size_t i = 0; i < count; i++)
                kept[jobs[i].job] = i < middle;
            shoal_status st = feasible(s, p, floor, kept, &ok);
            if (st != SHOAL_OK)
                return st;
            if (ok)
                good = middle;
            else
                bad = middle;
        }
        for (size_t i = 0; i < count; i++)
            kept[jobs[i].job] = i < good;
        good = good < count ? good + 1 : count;
        jobs += good;
        count -= good;
    }
    return SHOAL_OK;
}

/* Decides by the relaxation. s->first holds the share of each floor bought off. */
static shoal_status relax(struct num_share *s, const struct num_share_problem *p,
                          const double *floor, const double *weight, const bool *kept)
{
    struct sum q = {.s = s, .p = p, .floor = s->floor, .weight = weight};
    uint32_t passes = 0;
    double value;

    for (size_t m = 0; m < p->job_count; m++)
        s->floor[m] = kept[m] ? floor[m] : 0;
    shoal_status st = begin(&q);
    double dear[NUM_KINDS_MAX];
    for (uint32_t k = 0; k < s->kinds; k++)
        dear[k] = 1e250; /* everybody buys off: a feasible first column */
    if (st == SHOAL_OK)
        st = ask(&q, dear);
    q.bound = INFINITY;
    if (st == SHOAL_OK)
        st = climb(&q, &passes, &value);
    if (st != SHOAL_OK)
        return st;
    memset(s->first, 0, p->job_count * sizeof *s->first);
    emit(&q, NULL, s->first);
    return SHOAL_OK;
}

/* Not all in `kept` fit together: takes out the ones to give up. */
static shoal_status keep_some(struct num_share *s, const struct num_share_problem *p,
                              const double *floor, const double *weight, bool *kept)
{
    size_t n = p->job_count, split = 0;
    shoal_status st = relax(s, p, floor, weight, kept);

    if (st != SHOAL_OK)
        return st;
    struct split_job *jobs = base_malloc(s->alloc, (n + 1) * sizeof *jobs);
    if (jobs == NULL)
        return SHOAL_E_NOMEM;
    for (size_t m = 0; m < n; m++) {
        bool wanted = kept[m] && floor[m] > 0;
        if (wanted && s->first[m] > 1e-7 && s->first[m] < 1 - 1e-7)
            jobs[split++] = (struct split_job){.weight = weight[m], .job = (uint32_t)m};
        if (wanted && s->first[m] > 1e-7)
            kept[m] = false;
    }
    qsort(jobs, split, sizeof *jobs, heavier_first);
    st = take_back(s, p, floor, jobs, split, kept);
    bool ok = true;
    if (st == SHOAL_OK)
        st = feasible(s, p, floor, kept, &ok);
    if (st == SHOAL_OK && !ok) { /* rounding: give up the lightest until it fits */
        split = 0;
        for (size_t m = 0; m < n; m++)
            if (kept[m] && floor[m] > 0)
                jobs[split++] = (struct split_job){.weight = weight[m], .job = (uint32_t)m};
        qsort(jobs, split, sizeof *jobs, heavier_first);
        st = take_back(s, p, floor, jobs, split, kept);
    }
    base_free(s->alloc, jobs);
    return st;
}

shoal_status num_share_keep(struct num_share *s, const struct num_share_problem *p,
                            const double *floor, const double *weight, bool *out_kept)
{
    size_t n = p->job_count;
    bool all = false;

    if (base_reserve(s->alloc, (void **)&s->need, &s->need_cap, n + 1, sizeof *s->need) != 0 ||
        base_reserve(s->alloc, (void **)&s->floor, &s->floor_cap, n + 1, sizeof *s->floor) != 0 ||
        base_reserve(s->alloc, (void **)&s->kept, &s->kept_cap, n + 1, sizeof *s->kept) != 0 ||
        base_reserve(s->alloc, (void **)&s->first, &s->first_cap, n * p->kind_count + 1,
                     sizeof *s->first) != 0)
        return SHOAL_E_NOMEM;
    bool *kept = s->kept;
    for (size_t m = 0; m < n; m++) {
        double fastest = 0;
        if (!(floor[m] >= 0) || !isfinite(floor[m]) || !(weight[m] > 0) || !isfinite(weight[m]))
            return SHOAL_E_INVAL;
        for (uint32_t j = 0; j < p->kind_count && j < NUM_KINDS_MAX; j++)
            if (p->capacity[j] > 0)
                fastest = fmax(fastest, p->rate[m * p->kind_count + j]);
        kept[m] = floor[m] <= fastest * (1 + s->tolerance); /* alone it could */
    }
    shoal_status st = feasible(s, p, floor, kept, &all);
    if (st == SHOAL_OK && !all)
        st = keep_some(s, p, floor, weight, kept);
    if (st == SHOAL_OK)
        memcpy(out_kept, kept, n * sizeof *kept);
    return st;
}
