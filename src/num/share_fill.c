/* share_fill.c - water filling: levels rise together until something stops a job, then the others
 * go on, through a tree of entities.
 *
 * Budgets. The levels of all jobs follow from the budget B of the root (share_tree.c). A stage
 * finds the largest feasible B. At prices p, with p.N = 1, the jobs' cheapest ways to their levels
 * cost cost(B; p) together; where that is above 1, B is out of reach. cost rises with B, so every p
 * bounds B by the root of cost(B; p) = 1. Best prices at a given B come from the matrix game of
 * share_level.c. So: at a B that is too large play for prices, go down to their root, play again,
 * until the game's value is 1. B never has to be guessed from below, and nothing needs to be convex
 * in it: a queue's levels are not.
 *
 * Who stops. At the end some kinds have a price: they are exhausted. A job that cannot reach its
 * level on the others alone pays something; by complementary slackness all such jobs together use
 * up the exhausted kinds in every plan that gives them their levels. They stop. The others use none
 * of these kinds, now or later. So each stage takes at least one kind away from the jobs that go
 * on, and there are at most K + 1 stages, whatever the number of jobs. (Gavel finds out who stops
 * with a mixed-integer program per stage.)
 *
 * Stopped jobs. In any later plan they use only ways that were cheapest at their stage's prices.
 * Nearly all have a single one: their use is subtracted from the capacity, and they are out of the
 * problem. The few with several ways that tie keep these ways as a choice, and the exhausted kinds
 * become equations: used exactly. One equation per stage follows from the others, since all choices
 * cost the same; it is left out. So no later stage has to measure its small rise against capacities
 * that earlier ones have filled to the last bit.
 *
 * Reference: Narayanan et al., OSDI 2020, section 4.3 for the objective; decomposition as in
 * share_level.c. Cost: O(jobs K^2) per question, a few dozen questions per stage. */
#include "num/share_fill.h"

#include <math.h>
#include <string.h>

enum {
    DOWN_MAX = 80, /* games on the way down from a budget that is too large */
    ROOT_MAX = 80  /* evaluations of a cost in search of its root: halving alone takes 60 */
};

static const double PRICED = 1e-9; /* price x capacity, of 1: the kind is exhausted */
/* A budget is taken for the root of the cost when that is within SHARE_FINE of 1, or within this
 * part of where the search began: prices change before it would matter. */
static const double ROOT_PART = 1e-3;
/* Rounding of the stages adds up: tolerances by which all shares together may be too large. */
static const double ADDS_UP = 20;
/* Relative step of a difference quotient over the budget. */
static const double BUDGET_STEP = 1e-6;

void num_share_fill_free(struct num_share *s)
{
    struct share_fill *mem = s->fill;

    if (mem == NULL)
        return;
    num_share_tree_free(s->alloc, &mem->tree);
    base_free(s->alloc, mem->job);
    base_free(s->alloc, mem->top);
    base_free(s->alloc, mem->speed);
    base_free(s->alloc, mem->stopped);
    base_free(s->alloc, mem->way);
    base_free(s->alloc, mem->code);
    base_free(s->alloc, mem);
}

static shoal_status reserve(struct num_share *s, size_t n)
{
    if (s->fill == NULL)
        s->fill = base_calloc(s->alloc, 1, sizeof *s->fill);
    if (s->fill == NULL)
        return SHOAL_E_NOMEM;
    struct share_fill *mem = s->fill;
    const struct base_alloc *a = s->alloc;
    size_t chunks = share_chunks(n);

    if (base_reserve(a, (void **)&mem->job, &mem->job_cap, n + 1, sizeof *mem->job) != 0 ||
        base_reserve(a, (void **)&mem->top, &mem->top_cap, n + 1, sizeof *mem->top) != 0 ||
        base_reserve(a, (void **)&mem->speed, &mem->speed_cap, n + 1, sizeof *mem->speed) != 0 ||
        base_reserve(a, (void **)&mem->stopped, &mem->stopped_cap, n + 1, sizeof *mem->stopped) !=
            0 ||
        base_reserve(a, (void **)&mem->code, &mem->code_cap,
                     (share_padded(n) + SHARE_LANES) * SHARE_MIX_MAX, 1) != 0 ||
        base_reserve(a, (void **)&s->need, &s->need_cap, n + 1, sizeof *s->need) != 0 ||
        base_reserve(a, (void **)&s->chunks, &s->chunk_cap, chunks + 1, sizeof *s->chunks) != 0)
        return SHOAL_E_NOMEM;
    return SHOAL_OK;
}

/* Cost at the best prices and another budget, less 1 and a hair: while some jobs rise, others may
 * stand at their caps and need all there is of a kind, exactly. */
static shoal_status excess(struct share_fill_call *f, double budget, double *out)
{
    struct share_reply r;
    shoal_status st = num_share_game_pour(f, budget);

    if (st == SHOAL_OK)
        st = num_share_game_ask(f, f->price, NULL, &r);
    *out = st == SHOAL_OK ? r.bound - 1 - SHARE_FINE : 0;
    return st;
}

/* A search between a feasible budget and one that is not. */
struct bracket {
    double low, at_low;   /* excess <= 0 there */
    double high, at_high; /* > 0 */
};

/* Where to look next: costs are close to a power of the budget, so on the line through both ends in
 * logarithms. From below the step is twice as long, as the search ends from above. */
static double propose(const struct bracket *b, bool from_low)
{
    double c_low = log1p(b->at_low), c_high = log1p(b->at_high);

    if (!(b->low > 0) || !isfinite(c_low))
        return b->high / (1 + b->at_high); /* exactly the root where cost is proportional */
    double step = -c_low / (c_high - c_low) * log(b->high / b->low);
    double far = b->low * exp(2 * step);
    return from_low && far < b->high ? far : b->low * exp(step);
}

/* The largest budget, or a little more, at which the best prices do not cost more than there is;
 * between `low`, which is feasible, and `high`, where they do. Regula falsi with the Illinois rule,
 * and halving where that is slow. */
static shoal_status root(struct share_fill_call *f, double low, double high, double *out)
{
    struct bracket b = {low, -1, high, f->cost - 1 - SHARE_FINE};
    double now = b.at_high, fine = fmax(SHARE_FINE, ROOT_PART * now), width = 2 * (high - low);
    int side = 0;
    shoal_status st = low > 0 ? excess(f, low, &b.at_low) : SHOAL_OK;

    for (uint32_t step = 0; st == SHOAL_OK && step < ROOT_MAX && !(now > 0 && now <= fine);
         step++) {
        double at = propose(&b, side > 0);
        if ((step > 3 && b.high - b.low > 0.5 * width) || !(at > b.low && at < b.high))
            at = 0.5 * (b.low + b.high);
        width = b.high - b.low;
        if (!(at > b.low && at < b.high))
            break;
        st = excess(f, at, &now);
        if (now > 0) {
            b.at_low *= side < 0 ? 0.5 : 1;
            b.high = at;
            b.at_high = now;
            side = -1;
        } else {
            b.at_high *= side > 0 ? 0.5 : 1;
            b.low = at;
            b.at_low = now;
            side = 1;
            if (now > -0.5 * SHARE_FINE) {
                b.high = at;
                break;
            }
        }
    }
    *out = b.high;
    return st;
}

/* Plays at the highest feasible budget up to `total`, given that `low` is feasible; `guess`, if
 * between them, is looked at first. */
static shoal_status climb(struct share_fill_call *f, double low, double total, double guess,
                          double *out_budget)
{
    double enough = 1 + 0.1 * f->s->tolerance, next;
    double budget = guess > low && guess < total ? guess : total;

    for (uint32_t step = 0;; step++) {
        shoal_status st = num_share_game_play(f, budget);
        *out_budget = budget;
        if (st != SHOAL_OK)
            return st;
        if (f->value <= enough) {
            if (step > 0 || budget == total)
                return SHOAL_OK;
            low = budget; /* the guess was too low */
            budget = total;
            continue;
        }
        if (step == DOWN_MAX || f->cost <= 1 + SHARE_FINE)
            break;
        st = root(f, low, budget, &next);
        if (st != SHOAL_OK)
            return st;
        if (next >= budget)
            break;
        budget = next;
    }
    shoal_status st = num_share_game_pour(f, budget); /* as near as rounding allows */
    f->exact = f->exact && f->value <= 1 + f->s->tolerance;
    return st;
}

/* The master's own prices where they prove as much as the best ones: kinds with room to spare then
 * cost nothing at all. Very small ones are rounding. */
static shoal_status final_prices(struct share_fill_call *f, double *out)
{
    struct num_share *s = f->s;
    struct share_reply r;

    if (!num_share_game_prices(f, out))
        memcpy(out, f->price, sizeof f->price);
    shoal_status st = num_share_game_ask(f, out, NULL, &r);
    if (st == SHOAL_OK && r.bound < f->cost - s->tolerance)
        memcpy(out, f->price, sizeof f->price);
    for (uint32_t k = 0; k < s->kinds; k++)
        if (fabs(out[k]) * (f->gone[k] ? s->capacity[k] : f->left[k]) <= PRICED)
            out[k] = 0;
    return st;
}

/* What a first GPU would be worth of kinds that have none. `per`: how fast the cost grows with the
 * budget, in which a unit of a row's speed is worth its edge's slope. */
static shoal_status price_absent(struct share_fill_call *f, const double *price, double per,
                                 struct num_share_result *out)
{
    const struct num_share *s = f->s;
    const struct num_share_problem *p = f->p;
    struct share_reply unused;
    shoal_status st = num_share_game_ask(f, price, f->mem->code, &unused);

    for (size_t i = 0; st == SHOAL_OK && i < s->rows.count; i++) {
        struct share_edge e = s->edges.edge[f->mem->code[i]];
        const double *rate = p->rate + f->mem->job[i] * (size_t)p->kind_count;
        double low = e.low == SHARE_ORIGIN ? 0 : rate[s->kind_of[e.low]];
        double slope = (price[e.high] - (e.low == SHARE_ORIGIN ? 0 : price[e.low])) /
                       (rate[s->kind_of[e.high]] - low) * s->rows.g[i] / per;
        for (uint32_t j = 0; slope > 0 && j < p->kind_count; j++)
            if (p->capacity[j] == 0)
                out->price[j] = fmax(out->price[j],
                                     num_share_worth(s, rate, s->rows.g[i], slope, out->price, j));
    }
    return st;
}

/* What a kind's GPU adds to the budget: its price over how fast the cost grows with the budget. */
static shoal_status price_budget(struct share_fill_call *f, const double *price, double budget,
                                 double total, struct num_share_result *out)
{
    struct num_share *s = f->s;
    double step = BUDGET_STEP * budget, keep[NUM_KINDS_MAX], base, moved;

    if (!(budget * (1 + BUDGET_STEP) < total))
        step = -step;
    memcpy(keep, f->price, sizeof keep);
    memcpy(f->price, price, sizeof keep);
    shoal_status st = excess(f, budget + step, &moved);
    if (st == SHOAL_OK)
        st = excess(f, budget, &base);
    memcpy(f->price, keep, sizeof keep);
    if (st != SHOAL_OK)
        return st;
    double per = (moved - base) / step;
    for (uint32_t k = 0; k < s->kinds; k++)
        out->price[s->kind_of[k]] = per > 0 ? price[k] / per : 0;
    if (!(per > 0) || s->kinds == f->p->kind_count)
        return SHOAL_OK;
    return price_absent(f, price, per, out);
}

/* Where the next call begins, whatever it asks for. */
static void remember_prices(const struct share_fill_call *f, const double *price)
{
    struct num_share *s = f->s;

    if (!s->warm || s->warm_kinds != f->p->kind_count)
        s->warm_level = INFINITY; /* share_level.c begins at the top */
    s->warm = true;
    s->warm_kinds = f->p->kind_count;
    for (uint32_t k = 0; k < s->kinds; k++)
        s->warm_price[s->kind_of[k]] = price[k];
}

/* Stage by stage, until all are at their top speed or every kind is exhausted. `guess`: about the
 * budget at which the first ends, 0: not known. */
static shoal_status stages(struct share_fill_call *f, double guess, struct num_share_result *out)
{
    struct num_share *s = f->s;
    double budget = 0;

    for (uint32_t stage = 0; stage <= s->kinds; stage++) {
        double total = 0, price[NUM_KINDS_MAX], low = budget, worth = 0;
        shoal_status st = num_share_game_rows(f, &total);
        if (st == SHOAL_OK)
            st = num_share_game_begin(f);
        if (st != SHOAL_OK)
            return st;
        for (uint32_t k = 0; k < s->kinds; k++)
            worth += f->gone[k] ? 0 : f->left[k];
        for (uint32_t k = 0; stage > 0 && k < s->kinds; k++)
            f->price[k] = f->gone[k] ? 0 : 1 / worth;
        st = climb(f, fmin(low, total), total, stage == 0 ? guess : 0, &budget);
        if (st != SHOAL_OK)
            return st;
        if (stage == 0)
            out->level = budget;
        if (budget == total)
            return num_share_stop_all(f);
        st = final_prices(f, price);
        if (st == SHOAL_OK && stage == 0) {
            remember_prices(f, price);
            st = price_budget(f, price, budget, total, out);
        }
        if (st == SHOAL_OK)
            st = num_share_stop_at(f, stage, price);
        if (st != SHOAL_OK)
            return st;
    }
    f->exact = false;
    return num_share_stop_all(f);
}

/* Shares in use, and everything a hair smaller where rounding has gone over a capacity. */
static void trim(struct share_fill_call *f, struct num_share_result *out)
{
    const struct num_share *s = f->s;
    uint32_t kinds = f->p->kind_count;
    double scale = 1;

    for (size_t m = 0; m < f->p->job_count; m++)
        for (uint32_t k = 0; k < s->kinds; k++)
            out->used[s->kind_of[k]] += share_gpus(f, m) * s->x[m * kinds + s->kind_of[k]];
    for (uint32_t k = 0; k < s->kinds; k++)
        if (out->used[s->kind_of[k]] > s->capacity[k])
            scale = fmin(scale, s->capacity[k] / out->used[s->kind_of[k]]);
    f->exact = f->exact && scale >= 1 - ADDS_UP * s->tolerance;
    for (size_t i = 0; scale < 1 && i < f->p->job_count * kinds; i++)
        s->x[i] *= scale;
    for (uint32_t j = 0; j < kinds; j++)
        out->used[j] *= scale;
}

/* The fastest that a job can be on the kinds there are; 0: it can run nowhere. */
static double fastest_of(const struct share_fill_call *f, size_t m)
{
    double fastest = 0;

    for (uint32_t k = 0; k < f->s->kinds; k++)
        fastest = fmax(fastest, f->p->rate[m * f->p->kind_count + f->s->kind_of[k]]);
    return fastest;
}

/* One fair node: the first stage is a common level, which share_level.c finds quickly. Where that
 * exhausts every kind, nobody can go on, and it is the answer. Else the budget it takes is a guess
 * for the first stage. */
static shoal_status common_level(struct share_fill_call *f, double *out_guess, bool *out_done,
                                 struct num_share_result *out)
{
    struct num_share *s = f->s;
    const double *weight = f->mem->tree.shape->job_weight;
    double weights = 0, worth = 0;
    bool exhausted = true;

    for (size_t m = 0; m < f->p->job_count; m++) {
        double w = weight == NULL ? 1 : weight[m];
        bool runs = false;
        for (uint32_t j = 0; j < f->p->kind_count; j++)
            runs = runs || (f->p->capacity[j] > 0 && f->p->rate[m * f->p->kind_count + j] > 0);
        s->need[m] = runs ? w * f->unit[m] : 0;
        weights += runs ? w * share_count(f->p, m) : 0;
    }
    *out_guess = 0;
    *out_done = false;
    shoal_status st = num_share_level(s, f->p, s->need, out);
    if (st != SHOAL_OK || !out->exact || !(out->level < s->top * (1 - SHARE_AT_CAP)))
        return st;
    f->passes += out->passes;
    *out_guess = out->level * weights * (1 + SHARE_AT_CAP);
    for (uint32_t k = 0; k < s->kinds; k++)
        worth += out->price[s->kind_of[k]] * s->capacity[k];
    for (uint32_t k = 0; k < s->kinds; k++)
        exhausted = exhausted && out->price[s->kind_of[k]] * s->capacity[k] > PRICED * worth;
    *out_done = exhausted;
    out->level *= weights;
    for (uint32_t j = 0; j < f->p->kind_count; j++)
        out->price[j] *= weights;
    for (size_t m = 0; m < f->p->job_count; m++)
        s->slope[m] = s->need[m] > 0 ? 1 : 0;
    return SHOAL_OK;
}

/* Checks the tree and makes room. */
static shoal_status begin(struct share_fill_call *f, const struct num_tree *tree)
{
    struct num_share *s = f->s;
    shoal_status st = reserve(s, f->p->job_count);

    if (st != SHOAL_OK)
        return st;
    f->mem = s->fill;
    return num_share_tree_set(s->alloc, &f->mem->tree, tree, f->p->job_count, f->unit);
}

/* Checks the problem. */
static shoal_status prepare(struct share_fill_call *f)
{
    for (size_t m = 0; m < f->p->job_count; m++)
        f->s->need[m] = 1; /* any need: rows are scaled anew for each budget */
    return num_share_prepare(f->s, f->p, f->s->need);
}

/* The first game starts from the last call's prices, or from equal ones; nothing is used yet. */
static void start(struct share_fill_call *f)
{
    struct num_share *s = f->s;
    bool warm = s->warm && s->warm_kinds == f->p->kind_count;
    double worth = 0;

    num_share_edges(s->kinds, &s->edges);
    memset(f->mem->stopped, 0, f->p->job_count * sizeof *f->mem->stopped);
    for (uint32_t k = 0; k < s->kinds; k++) {
        f->left[k] = s->capacity[k];
        f->price[k] = warm ? s->warm_price[s->kind_of[k]] : 1;
        worth += f->price[k] * f->left[k];
    }
    for (uint32_t k = 0; k < s->kinds; k++)
        f->price[k] = worth > 0 ? f->price[k] / worth : 1 / (f->left[k] * s->kinds);
}

/* Stage by stage, from levels of 0. */
static shoal_status fill(struct share_fill_call *f, double guess, struct num_share_result *out)
{
    struct num_share *s = f->s;
    const double *level = f->mem->tree.level;
    shoal_status st = num_share_nothing(s, f->p, 0, out);

    if (st != SHOAL_OK)
        return st;
    start(f);
    st = stages(f, guess, out);
    if (st != SHOAL_OK)
        return st;
    trim(f, out);
    for (size_t m = 0; m < f->p->job_count; m++)
        s->slope[m] = level[m] * f->unit[m] < fastest_of(f, m) * (1 - s->tolerance) ? 1 : 0;
    out->exact = f->exact;
    return SHOAL_OK;
}

shoal_status num_share_fill(struct num_share *s, const struct num_share_problem *p,
                            const double *unit, const struct num_tree *tree,
                            struct num_share_result *out)
{
    struct share_fill_call f = {.s = s, .p = p, .unit = unit, .exact = true};
    struct num_share_result found = {0};
    double guess = 0;
    bool done = false;
    shoal_status st = begin(&f, tree);

    if (st == SHOAL_OK && (p->kind_count < 1 || p->kind_count > NUM_KINDS_MAX))
        st = SHOAL_E_INVAL;
    if (st == SHOAL_OK && tree->node_count == 1 && !tree->nodes[0].fifo)
        st = common_level(&f, &guess, &done, &found);
    if (st == SHOAL_OK && !done)
        st = prepare(&f);
    if (st == SHOAL_OK && !done)
        st = s->kinds > 0 ? fill(&f, guess, &found) : num_share_nothing(s, p, 0, &found);
    if (st != SHOAL_OK)
        return st;
    found.bound = found.level;
    found.passes = f.passes;
    *out = found;
    return SHOAL_OK;
}
