/* objective_pairs.c - objectives when two jobs may share the same GPUs.
 *
 * The answer without sharing is known. Jobs are gathered into groups that num/pairs.h can solve,
 * and what it says of groups is handed out to jobs:
 *
 *   max-min, makespan   the largest common level of the groups, then the rest goes to speed
 *   ftf                 the smallest rho at which that level reaches 1, then the same
 *   throughput, cost    the largest sum; for cost speeds are divided by the price of their kind
 *   cost-slo,           level, bound and price stay those without sharing; the speeds reached there
 *   hierarchical        are floors, and sharing raises the sum of speeds above them. So nobody is
 *                       slower than without sharing, no entity loses, no deadline is missed.
 *   fifo                whole gangs: a job that waits joins the running one with which it runs
 *                       best, if together they do 1.5 times the work of one; the first that finds
 *                       none ends it, as nobody overtakes
 *
 * An answer that is worse than the one without sharing is dropped: sharing never costs.
 *
 * Groups and the handing out are in objective_groups.c. Where a group is of unlike jobs the level
 * is what its worst job got, and `exact` says whether that is the bound. Tests:
 * test_objective_pairs.c. */
#include "sched/objective_parts.h"

#include "base/err.h"

#include <math.h>
#include <string.h>

enum {
    RHO_STEPS_MAX = 24, /* solves in search of rho; about five are usual */
    SPLITS_MAX = 8      /* times that groups are split and solved again */
};

static const double SLACK = 1e-9, SLACK_MORE = 1e-7; /* as in objective.c */
static const double CLOSE = 1e-6; /* relative: value and bound this close have met */
static const double FIFO_GAIN =
    1.5; /* work of a pair, in jobs alone, for which fifo lets one join */

struct call {
    struct sched_objective_solver *s;
    const struct sched_objective_work *w;
    struct sched_objective_result *r;
    enum sched_objective objective;
};

/* ---- solving for groups ---- */

/* The largest t at which every job has t times what it needs. */
static shoal_status solve_level(struct call *c, struct sched_objective_groups *g,
                                const double *need, struct num_pairs_result *out)
{
    double *mean = sched_objective_groups_mean(c->s, g, need);
    if (mean == NULL)
        return SHOAL_E_NOMEM;
    memcpy(g->need, mean, g->count * sizeof *mean);
    g->p.floor = NULL;
    g->p.value = NULL;
    return num_pairs_solve(c->s->pairs, &g->p, out);
}

/* The largest sum of speeds with floors (jobs, NULL: none), which are lowered a little where
 * rounding makes them impossible. */
static shoal_status solve_sum(struct call *c, struct sched_objective_groups *g, const double *floor,
                              struct num_pairs_result *out)
{
    memset(g->need, 0, g->count * sizeof *g->need);
    g->p.value = g->value;
    g->p.floor = NULL;
    if (floor == NULL)
        return num_pairs_solve(c->s->pairs, &g->p, out);
    double *mean = sched_objective_groups_mean(c->s, g, floor);
    if (mean == NULL)
        return SHOAL_E_NOMEM;
    g->p.floor = g->floor;
    shoal_status st = SHOAL_E_IMPOSSIBLE;
    for (int step = 0; step < 2 && st == SHOAL_E_IMPOSSIBLE; step++) {
        for (uint32_t i = 0; i < g->count; i++)
            g->floor[i] = mean[i] * (1 - (step == 0 ? SLACK : SLACK_MORE));
        st = num_pairs_solve(c->s->pairs, &g->p, out);
    }
    return st;
}

/* Either of the two (floor NULL: the level), handed out to jobs; groups whose jobs fall short are
 * split, and it is solved again. */
static shoal_status solve(struct call *c, struct sched_objective_groups *g, const double *need,
                          const double *floor, struct num_pairs_result *out,
                          struct sched_objective_shares *shares)
{
    for (int round = 0;; round++) {
        shoal_status st =
            floor == NULL ? solve_level(c, g, need, out) : solve_sum(c, g, floor, out);
        if (st == SHOAL_OK)
            st = sched_objective_groups_hand_out(c->s, c->w, g, out, shares);
        if (st != SHOAL_OK || !g->mixed || round == SPLITS_MAX)
            return st;
        st =
            sched_objective_groups_split(c->s, c->w, g, shares->speed, floor == NULL ? need : floor,
                                         floor == NULL ? out->level : 1 - SLACK_MORE);
        if (st != SHOAL_OK)
            return st == SHOAL_END ? SHOAL_OK : st;
    }
}

/* ---- the result ---- */

/* Shares and pairs into the result; level, bound and price are the caller's. */
static void keep(struct call *c, const struct sched_objective_shares *h)
{
    const struct sched_objective_work *w = c->w;
    struct sched_objective_result *r = c->r;
    r->x = h->x;
    r->pairs = h->pairs;
    r->pair_count = h->pair_count;
    memset(r->used, 0, sizeof r->used);
    for (size_t i = 0; i < w->p.job_count * w->p.kind_count; i++)
        r->used[i % w->p.kind_count] += h->x[i] * w->p.gpus[i / w->p.kind_count];
    for (size_t i = 0; i < h->pair_count; i++)
        r->used[h->pairs[i].kind] += h->pairs[i].share * w->p.gpus[h->pairs[i].job];
}

/* A named objective solved with sharing. `less_is_better` as for a time or rho. Bound and prices
 * hold for all answers, so they do where the answer without sharing is the better one. */
static void keep_if_better(struct call *c, const struct sched_objective_shares *h, double level,
                           double bound, const double *price, bool less_is_better)
{
    struct sched_objective_result *r = c->r;
    double gain = less_is_better ? r->level - level : level - r->level;
    if (gain >= -SLACK_MORE * r->level) {
        keep(c, h);
        r->level = level;
    }
    r->bound = bound;
    memcpy(r->price, price, sizeof r->price);
    r->priced = r->level;
    r->slope = NULL;
    r->exact = fabs(r->level - bound) <= CLOSE * fabs(bound);
}

/* (jobs) what it is worth to the level that a group were content with less; the groups' prices are
 * gone with the solver's next call. NULL when memory is short. */
static double *slopes(struct call *c, const struct sched_objective_groups *g,
                      const struct num_pairs_result *level)
{
    double *slope = sched_objective_array(c->s, c->w->p.job_count);
    double most = 0;
    for (uint32_t i = 0; i < g->count; i++)
        most = fmax(most, level->speed_price[i] * g->need[i]);
    for (uint32_t i = 0; slope != NULL && i < g->count; i++) {
        double part = level->speed_price[i] * g->need[i];
        for (uint32_t j = g->start[i]; part > SLACK * most && j < g->start[i + 1]; j++)
            slope[g->member[j]] = part;
    }
    return slope;
}

/* Who has more than the level holds nobody back, whatever rounding left of its price. */
static void clear_slopes(const struct call *c, const double *need, double level,
                         const double *speed, double *slope)
{
    for (size_t m = 0; m < c->w->p.job_count; m++) {
        if (c->w->fastest[m] > 0 && speed[m] > need[m] * level * (1 + CLOSE))
            slope[m] = 0;
    }
}

/* Prices of what was decided next, where the level is not short of GPUs; `rest` is the largest sum
 * of speeds that keeps it. */
static void price_rest(struct call *c, const struct num_pairs_result *rest)
{
    struct sched_objective_result *r = c->r;
    r->priced_unit = sched_objectives[c->objective].unit;
    if (!sched_objective_nothing_short(c->w, r->price, r->level))
        return;
    memcpy(r->price, rest->price, sizeof r->price);
    r->priced = rest->total;
    r->priced_unit = sched_objectives[SCHED_OBJECTIVE_THROUGHPUT].unit;
}

/* ---- objectives ---- */

/* The smallest speed / need. */
static double smallest_level(const struct call *c, const double *need, const double *speed)
{
    double smallest = INFINITY;
    for (size_t m = 0; m < c->w->p.job_count; m++) {
        if (c->w->fastest[m] > 0 && speed[m] / need[m] < smallest)
            smallest = speed[m] / need[m];
    }
    return smallest;
}

/* `shares` keep everyone at `level` times need; what else there is goes to speed. They stay as they
 * are where rounding, or groups of unlike jobs, forbid that. *rest is the sum, 0 where there is
 * none. */
static shoal_status rest_to_speed(struct call *c, struct sched_objective_groups *g,
                                  const double *need, double level,
                                  struct sched_objective_shares *shares,
                                  struct num_pairs_result *rest)
{
    struct num_pairs_result sum;
    struct sched_objective_shares more;
    memset(rest, 0, sizeof *rest);
    double *floor = sched_objective_array(c->s, c->w->p.job_count);
    if (floor == NULL)
        return SHOAL_E_NOMEM;
    for (size_t m = 0; m < c->w->p.job_count; m++)
        floor[m] = need[m] * level;
    shoal_status st = solve(c, g, NULL, floor, &sum, &more);
    if (st == SHOAL_E_IMPOSSIBLE || st == SHOAL_E_INTERNAL)
        return SHOAL_OK;
    if (st != SHOAL_OK)
        return st;
    *rest = sum;
    if (smallest_level(c, need, more.speed) >= level * (1 - 2 * SLACK_MORE))
        *shares = more;
    return SHOAL_OK;
}

/* max-min (need: weight x reference speed) and makespan (steps left, the level is 1/time). */
static shoal_status share_level(struct call *c)
{
    const struct sched_objective_work *w = c->w;
    bool is_time = c->objective == SCHED_OBJECTIVE_MAKESPAN;
    double *need = sched_objective_array(c->s, w->p.job_count);
    struct sched_objective_groups g;
    struct num_pairs_result level, rest;
    struct sched_objective_shares h;
    if (need == NULL)
        return SHOAL_E_NOMEM;
    for (size_t m = 0; m < w->p.job_count; m++)
        need[m] =
            is_time ? w->in->left[m] : sched_objective_weight(w, m) * w->prop[m] / w->p.gpus[m];
    shoal_status st = sched_objective_groups_make(c->s, c->w, need, NULL, &g);
    if (st == SHOAL_OK)
        st = solve(c, &g, need, NULL, &level, &h);
    if (st != SHOAL_OK)
        return st;
    double *slope = slopes(c, &g, &level);
    if (slope == NULL)
        return SHOAL_E_NOMEM;
    st = rest_to_speed(c, &g, need, smallest_level(c, need, h.speed), &h, &rest);
    if (st != SHOAL_OK)
        return st;
    double reached = smallest_level(c, need, h.speed);
    for (uint32_t k = 0; is_time && k < w->p.kind_count; k++)
        level.price[k] /= level.level * level.level;
    if (is_time)
        keep_if_better(c, &h, 1 / reached, 1 / level.bound, level.price, true);
    else
        keep_if_better(c, &h, reached, level.bound, level.price, false);
    clear_slopes(c, need, reached, h.speed, slope);
    c->r->slope = slope;
    price_rest(c, &rest);
    return SHOAL_OK;
}

/* The rho at which nobody needs more than `scale` times `need`, and at which everybody does. */
static void rho_range(const struct call *c, const double *need, double scale, double *out_low,
                      double *out_high)
{
    *out_low = INFINITY;
    *out_high = 0;
    for (size_t m = 0; m < c->w->p.job_count; m++) {
        if (c->w->fastest[m] == 0)
            continue;
        double rho = sched_objective_ftf_rho(c->w, m, scale * need[m]);
        *out_low = rho < *out_low ? rho : *out_low;
        *out_high = rho > *out_high ? rho : *out_high;
    }
}

static void rho_needs(const struct call *c, double rho, double *need)
{
    for (size_t m = 0; m < c->w->p.job_count; m++)
        need[m] = c->w->fastest[m] > 0 ? sched_objective_ftf_need(c->w, m, rho) : 0;
}

/* Where between low and high to look next: where the line through the last two answers, in
 * logarithms, says that the level is 1. */
static double next_rho(double low, double high, const double *rho, const double *level, int steps)
{
    double middle = sqrt(low * high);
    if (steps < 2 || level[0] == level[1])
        return middle;
    double slope = log(level[1] / level[0]) / log(rho[1] / rho[0]);
    double next = rho[1] * exp(-log(level[1]) / slope);
    return next > low && next < high ? next : middle;
}

/* The search for rho. Every answer at some rho proves a range: when everyone can have t times its
 * need and not all can have more, the rho sought is between the least and the largest at which one
 * job needs just that. The range closes on the rho at which t is 1. */
struct search {
    double low, high;            /* proven, reached */
    double least;                /* with everybody at top speed: less asks for the impossible */
    double rho[2], t[2];         /* the last two answers */
    double price[NUM_KINDS_MAX]; /* of the last: what a GPU adds to t */
    double growth;               /* of the last: what a larger rho adds to t */
    double *slope;               /* of the last: who holds back */
    int steps;
};

/* A larger rho lowers each need by its own part; prices of speed say what that is worth. */
static double growth_of(const struct call *c, const struct sched_objective_groups *g,
                        const double *need, const struct num_pairs_result *at)
{
    const struct sched_objective_work *w = c->w;
    double growth = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        for (uint32_t j = g->start[i]; j < g->start[i + 1]; j++) {
            uint32_t m = g->member[j];
            growth += at->speed_price[i] * need[m] * need[m] / w->in->left[m] * w->fair_s[m] /
                      sched_objective_weight(w, m);
        }
    }
    return growth * at->level;
}

static shoal_status search_rho(struct call *c, struct sched_objective_groups *g, double *need,
                               struct search *f, struct sched_objective_shares *best)
{
    double at = f->high;
    while (f->steps < RHO_STEPS_MAX && !(f->high <= f->low * (1 + CLOSE / 4))) {
        struct num_pairs_result level;
        struct sched_objective_shares h;
        double low = 0, high = 0, unused = 0;
        rho_needs(c, at, need);
        shoal_status st = solve(c, g, need, NULL, &level, &h);
        if (st != SHOAL_OK)
            return st;
        double reached = smallest_level(c, need, h.speed);
        rho_range(c, need, level.bound, &low, &unused);
        f->low = low > f->low ? low : f->low;
        if (!(reached > 0))
            return SHOAL_OK;
        rho_range(c, need, reached, &unused, &high);
        if (high < f->high || f->steps == 0) {
            f->high = high < f->high ? high : f->high;
            *best = h;
        }
        f->rho[0] = f->rho[1];
        f->t[0] = f->t[1];
        f->rho[1] = at;
        f->t[1] = reached;
        memcpy(f->price, level.price, sizeof f->price);
        f->growth = growth_of(c, g, need, &level);
        f->slope = slopes(c, g, &level);
        if (f->slope == NULL)
            return SHOAL_E_NOMEM;
        f->steps++;
        double next = fmax(next_rho(f->low, f->high, f->rho, f->t, f->steps), f->least);
        if (next == at)
            break;
        at = next;
    }
    return SHOAL_OK;
}

static shoal_status share_ftf(struct call *c)
{
    const struct sched_objective_work *w = c->w;
    double *need = sched_objective_array(c->s, w->p.job_count);
    double *target = sched_objective_array(c->s, w->p.job_count);
    struct search f = {.high = c->r->level};
    struct sched_objective_groups g;
    struct sched_objective_shares h = {0};
    struct num_pairs_result rest;
    if (need == NULL || target == NULL)
        return SHOAL_E_NOMEM;
    rho_needs(c, f.high, target);
    shoal_status st = sched_objective_groups_make(c->s, w, target, NULL, &g);
    if (st != SHOAL_OK)
        return st;
    double unused = 0;
    sched_objective_groups_fastest(&g, need);
    rho_range(c, need, 1, &unused, &f.least);
    st = search_rho(c, &g, need, &f, &h);
    if (st != SHOAL_OK)
        return st;
    /* Rounding left somebody with nothing: the answer without sharing stands. */
    if (h.speed == NULL) {
        c->r->bound = f.low;
        c->r->exact = fabs(c->r->level - f.low) <= CLOSE * f.low;
        return SHOAL_OK;
    }
    rho_needs(c, f.high, need);
    st = rest_to_speed(c, &g, need, smallest_level(c, need, h.speed), &h, &rest);
    if (st != SHOAL_OK)
        return st;
    for (uint32_t k = 0; k < w->p.kind_count; k++)
        f.price[k] = f.growth > 0 ? f.price[k] / f.growth : 0;
    double worst = 0;
    rho_range(c, h.speed, 1, &unused, &worst);
    keep_if_better(c, &h, worst, f.low < worst ? f.low : worst, f.price, true);
    rho_needs(c, worst, need);
    clear_slopes(c, need, 1, h.speed, f.slope);
    c->r->slope = f.slope;
    price_rest(c, &rest);
    return SHOAL_OK;
}

static shoal_status share_sum(struct call *c)
{
    const struct sched_objective_work *w = c->w;
    double *target = sched_objective_array(c->s, w->p.job_count);
    struct sched_objective_groups g;
    struct num_pairs_result sum;
    struct sched_objective_shares h;
    if (target == NULL)
        return SHOAL_E_NOMEM;
    for (size_t m = 0; m < w->p.job_count; m++)
        target[m] = sched_objective_weight(w, m);
    shoal_status st = sched_objective_groups_make(c->s, c->w, target, w->usd_h, &g);
    if (st == SHOAL_OK)
        st = solve_sum(c, &g, NULL, &sum);
    if (st == SHOAL_OK)
        st = sched_objective_groups_hand_out(c->s, c->w, &g, &sum, &h);
    if (st != SHOAL_OK)
        return st;
    double total = 0;
    for (size_t m = 0; m < w->p.job_count; m++) {
        if (w->fastest[m] > 0)
            total += sched_objective_weight(w, m) * h.speed[m] / w->fastest[m];
    }
    keep_if_better(c, &h, total, sum.bound, sum.price, false);
    return SHOAL_OK;
}

/* Speeds without sharing are floors. Groups of unlike targets may leave a job short of its own:
 * then the answer without sharing stays. */
static shoal_status share_above(struct call *c)
{
    const struct sched_objective_work *w = c->w;
    uint32_t kinds = w->p.kind_count;
    double *floor = sched_objective_array(c->s, w->p.job_count);
    double *target = sched_objective_array(c->s, w->p.job_count);
    struct sched_objective_groups g;
    struct num_pairs_result sum;
    struct sched_objective_shares h;
    if (floor == NULL || target == NULL)
        return SHOAL_E_NOMEM;
    for (size_t m = 0; m < w->p.job_count; m++) {
        for (uint32_t k = 0; k < kinds; k++)
            floor[m] += w->p.rate[m * kinds + k] * c->r->x[m * kinds + k];
        /* those with nothing so far are alike, and must be given something to have a part */
        target[m] = floor[m] > CLOSE * w->fastest[m] ? floor[m] : CLOSE * w->fastest[m];
    }
    shoal_status st = sched_objective_groups_make(c->s, c->w, target, NULL, &g);
    if (st == SHOAL_OK)
        st = solve(c, &g, NULL, floor, &sum, &h);
    if (st == SHOAL_E_IMPOSSIBLE)
        return SHOAL_OK;
    if (st != SHOAL_OK)
        return st;
    for (size_t m = 0; m < w->p.job_count; m++) {
        if (h.speed[m] < floor[m] * (1 - CLOSE) - CLOSE * CLOSE * w->fastest[m])
            return SHOAL_OK;
    }
    keep(c, &h);
    return SHOAL_OK;
}

/* ---- fifo ---- */

enum { NOBODY = UINT32_MAX };

/* Work that jobs of two classes do together on a kind, in jobs running alone. */
static double together(const struct sched_objective_work *w, uint32_t kind, uint32_t a, uint32_t b)
{
    size_t kinds = w->p.kind_count, n = w->in->class_count;
    size_t ca = w->in->class_of[a], cb = w->in->class_of[b];
    double alone_a = w->in->problem.rate[a * kinds + kind];
    double alone_b = w->in->problem.rate[b * kinds + kind];
    if (w->p.gpus[a] != w->p.gpus[b] || alone_a == 0 || alone_b == 0)
        return 0;
    double with_b = (double)w->in->pair[(kind * n + ca) * n + cb];
    double with_a = (double)w->in->pair[(kind * n + cb) * n + ca];
    return with_a > 0 && with_b > 0 ? with_b / alone_a + with_a / alone_b : 0;
}

/* Running jobs without a partner, listed by (class, kind), first come first. */
struct running {
    uint32_t *head; /* (classes, kinds) */
    uint32_t *next; /* (jobs) */
};

static uint32_t best_partner(const struct sched_objective_work *w, const struct running *run,
                             uint32_t m, uint32_t *out_slot)
{
    uint32_t kinds = w->p.kind_count, best = NOBODY;
    double gain = FIFO_GAIN;
    for (uint32_t slot = 0; slot < w->in->class_count * kinds; slot++) {
        uint32_t other = run->head[slot];
        double both = other == NOBODY ? 0 : together(w, slot % kinds, m, other);
        if (both > gain) {
            gain = both;
            best = other;
            *out_slot = slot;
        }
    }
    return best;
}

static shoal_status share_fifo(struct call *c)
{
    const struct sched_objective_work *w = c->w;
    size_t jobs = w->p.job_count, kinds = w->p.kind_count, slots = w->in->class_count * kinds;
    struct sched_objective_shares h = {.x = sched_objective_array(c->s, jobs * kinds)};
    struct running run = {base_arena_alloc(&c->s->arena, slots * sizeof *run.head),
                          base_arena_alloc(&c->s->arena, jobs * sizeof *run.next)};
    h.pairs = base_arena_alloc(&c->s->arena, jobs * sizeof *h.pairs);
    if (h.x == NULL || run.head == NULL || run.next == NULL || h.pairs == NULL)
        return SHOAL_E_NOMEM;
    memcpy(h.x, c->r->x, jobs * kinds * sizeof *h.x);
    memset(run.head, 0xff, slots * sizeof *run.head);
    for (uint32_t m = (uint32_t)jobs; m-- > 0;) {
        for (size_t k = 0; k < kinds; k++) {
            if (h.x[m * kinds + k] > 0) {
                uint32_t *head = &run.head[w->in->class_of[m] * kinds + k];
                run.next[m] = *head;
                *head = m;
            }
        }
    }
    for (uint32_t m = 0; m < jobs; m++) {
        bool waits = w->fastest[m] > 0;
        for (size_t k = 0; k < kinds; k++)
            waits = waits && c->r->x[m * kinds + k] == 0;
        if (!waits)
            continue;
        uint32_t slot = 0, other = best_partner(w, &run, m, &slot);
        if (other == NOBODY)
            break;
        uint32_t kind = slot % (uint32_t)kinds;
        run.head[slot] = run.next[other];
        h.x[other * kinds + kind] = 0;
        h.pairs[h.pair_count++] =
            (struct sched_pair_share){.job = other, .with = m, .kind = kind, .share = 1};
    }
    keep(c, &h);
    c->r->level += (double)h.pair_count;
    c->r->bound = c->r->priced = c->r->level;
    return SHOAL_OK;
}

/* Rounding left the solver of pairs without an answer: the one without sharing stands, and nothing
 * is known of how much better one with it would be. */
static void give_up(struct call *c)
{
    enum sched_objective o = c->objective;
    c->r->exact = false;
    if (o == SCHED_OBJECTIVE_FTF || o == SCHED_OBJECTIVE_MAKESPAN)
        c->r->bound = 0;
    else if (o != SCHED_OBJECTIVE_COST_SLO && o != SCHED_OBJECTIVE_HIERARCHICAL)
        c->r->bound = INFINITY;
}

shoal_status sched_objective_share_gpus(struct sched_objective_solver *s,
                                        enum sched_objective objective,
                                        const struct sched_objective_work *w,
                                        struct sched_objective_result *r, shoal_err *err)
{
    struct call c = {.s = s, .w = w, .r = r, .objective = objective};
    shoal_status st = SHOAL_OK;
    if (s->pairs == NULL)
        st = num_pairs_new(s->alloc, &s->pairs);
    if (st == SHOAL_OK) {
        switch (objective) {
        case SCHED_OBJECTIVE_MAX_MIN:
        case SCHED_OBJECTIVE_MAKESPAN: st = share_level(&c); break;
        case SCHED_OBJECTIVE_FTF: st = share_ftf(&c); break;
        case SCHED_OBJECTIVE_THROUGHPUT:
        case SCHED_OBJECTIVE_COST: st = share_sum(&c); break;
        case SCHED_OBJECTIVE_COST_SLO:
        case SCHED_OBJECTIVE_HIERARCHICAL: st = share_above(&c); break;
        case SCHED_OBJECTIVE_FIFO: st = share_fifo(&c); break;
        case SCHED_OBJECTIVE_COUNT: break;
        }
    }
    if (st == SHOAL_E_INTERNAL) {
        give_up(&c);
        return SHOAL_OK;
    }
    if (st == SHOAL_E_NOMEM)
        return base_err_nomem(err, "solving for pairs");
    if (st != SHOAL_OK)
        return base_err(err, st, "the solver for pairs gave up: %s", shoal_status_text(st));
    return SHOAL_OK;
}
