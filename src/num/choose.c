/* choose.c - one option for each job under a few capacities: prices and the bound they prove.
 *
 * Bound. At prices p >= 0 each job takes the option with the largest value - p amount, or none. The
 * sum of what they gain plus p . capacity is never below the best choice: that is the bound, a convex
 * function of p, and the least of it is looked for by cutting planes. A master program (num/lp.h) has
 * a column for every answer so far, its amounts and value; its duals are the next prices, mixed with
 * the best ones known so that early ones do not jump about (Wentges, "Weighted Dantzig-Wolfe
 * decomposition for linear mixed-integer programming", 1997). It ends when master and bound meet.
 *
 * Answers. No price makes a job take an option that lies below a line between two others of its kind,
 * so the options of each job and kind are reduced to their upper hull once: points of falling slope,
 * of which the price picks the last that is steeper. As prices settle that point stays the same or
 * moves to a neighbour, so a price costs a look at two points a job and kind, however many options
 * there were.
 *
 * Choice. The master's solution is a mix of a few answers that fits exactly and is worth the bound. Of
 * jobs whose answers differ among these, each is given one in such a way that what is taken so far
 * follows the mix (error diffusion); jobs of one application often answer alike, so that hundreds may
 * lie between two kinds at once. What is then over-full or left by a few is for choose_fit.c.
 *
 * Cost: one pass over all options for the hulls and some for the choice; 5 to 60 over the hulls. */
#include "num/choose.h"

#include "num/choose_parts.h"
#include "num/lp.h"
#include <math.h>
#include <string.h>

enum { KINDS = CHOOSE_KINDS, PASSES_MAX = 200, MIXED_MAX = KINDS + 2 };
static const double MIX = 0.4; /* of the best prices in the next ones */

struct point {
    double slope; /* from the point before, or from nothing */
    float value;
    uint32_t amount, option;
};

/* The points of one job and kind. */
struct hull {
    size_t first;
    uint32_t count, taken; /* by the last answer */
    uint32_t kind;
};

struct num_choose {
    const struct base_alloc *alloc;
    uint32_t *pick, *order; /* order: options of one job by kind and amount */
    size_t pick_cap, order_cap;
    struct point *points;
    size_t point_cap, point_count;
    struct hull *hulls;
    size_t hull_cap, hull_count;
    size_t *hulls_of; /* (jobs + 1) */
    size_t hulls_of_cap;
    struct choose_move *moves;
    size_t move_cap;
    double price[KINDS]; /* of the last call */
    uint32_t kinds;      /* it had; 0: none yet */
    struct num_lp *master;
    uint32_t master_rows;
    double asked[PASSES_MAX][KINDS]; /* prices behind the master's columns */
    struct choose_exchanges *exchanges;
};

struct answer {
    double value, gain; /* sums of values, and of values less prices */
    double used[KINDS];
};

/* ---- hulls ---- */

static bool comes_before(const struct num_choose_option *a, const struct num_choose_option *b)
{
    return a->kind != b->kind ? a->kind < b->kind : a->amount < b->amount;
}

/* The options of a job by kind and amount; they mostly come so. */
static void put_in_order(const struct num_choose_problem *p, uint32_t job, uint32_t *order)
{
    uint32_t count = 0;

    for (size_t o = p->first[job]; o < p->first[job + 1]; o++) {
        uint32_t at = count++;
        for (; at > 0 && comes_before(&p->options[o], &p->options[order[at - 1]]); at--)
            order[at] = order[at - 1];
        order[at] = (uint32_t)o;
    }
}

/* Adds an option, of larger or equal amount than those before, to the hull that ends the points. */
static void add_point(struct num_choose *c, struct hull *h, const struct num_choose_option *opt,
                      uint32_t index)
{
    struct point *base = c->points + h->first;
    double slope;

    if (h->count > 0 && opt->value <= base[h->count - 1].value)
        return;
    for (;; h->count--) {
        const struct point *last = h->count > 0 ? &base[h->count - 1] : NULL;
        double amount = opt->amount - (last != NULL ? (double)last->amount : 0);
        double value = (double)opt->value - (last != NULL ? (double)last->value : 0);
        slope = amount > 0 ? value / amount : INFINITY;
        if (last == NULL || slope < last->slope)
            break;
    }
    base[h->count++] = (struct point){slope, opt->value, opt->amount, index};
}

static void build_hulls(struct num_choose *c, const struct num_choose_problem *p, uint32_t job)
{
    size_t count = p->first[job + 1] - p->first[job];
    struct hull *h = NULL;

    put_in_order(p, job, c->order);
    for (size_t i = 0; i < count; i++) {
        const struct num_choose_option *opt = &p->options[c->order[i]];
        if (!(opt->value > 0) || opt->amount > p->capacity[opt->kind])
            continue;
        if (h == NULL || h->kind != opt->kind) {
            if (h != NULL)
                c->point_count += h->count;
            h = &c->hulls[c->hull_count++];
            *h = (struct hull){.first = c->point_count, .kind = opt->kind};
        }
        add_point(c, h, opt, c->order[i]);
    }
    if (h != NULL)
        c->point_count += h->count;
}

static bool sound_options(const struct num_choose_problem *p, uint32_t job)
{
    bool sound = true;

    for (size_t o = p->first[job]; o < p->first[job + 1]; o++) {
        const struct num_choose_option *opt = &p->options[o];
        sound &= isfinite(opt->value) && opt->amount > 0 && opt->kind < p->kind_count;
    }
    return sound;
}

static bool sound_kinds(const struct num_choose_problem *p)
{
    bool sound = p->kind_count > 0 && p->kind_count <= KINDS;

    for (uint32_t k = 0; sound && k < p->kind_count; k++)
        sound = p->capacity[k] >= 0 && isfinite(p->capacity[k]);
    return sound;
}

static shoal_status reserve(struct num_choose *c, const struct num_choose_problem *p)
{
    size_t options = p->first[p->job_count] - p->first[0], most = 0, hulls = 0;

    for (uint32_t m = 0; m < p->job_count; m++) {
        size_t count = p->first[m + 1] - p->first[m];
        most = count > most ? count : most;
        hulls += count < p->kind_count ? count : p->kind_count;
    }
    if (base_reserve(c->alloc, (void **)&c->order, &c->order_cap, most + 1, sizeof *c->order) !=
            0 ||
        base_reserve(c->alloc, (void **)&c->points, &c->point_cap, options + 1,
                     sizeof *c->points) != 0 ||
        base_reserve(c->alloc, (void **)&c->hulls, &c->hull_cap, hulls + 1, sizeof *c->hulls) !=
            0 ||
        base_reserve(c->alloc, (void **)&c->hulls_of, &c->hulls_of_cap, p->job_count + 1,
                     sizeof *c->hulls_of) != 0 ||
        base_reserve(c->alloc, (void **)&c->moves, &c->move_cap, p->job_count + 1,
                     sizeof *c->moves) != 0)
        return SHOAL_E_NOMEM;
    return SHOAL_OK;
}

static shoal_status prepare(struct num_choose *c, const struct num_choose_problem *p)
{
    shoal_status st = reserve(c, p);

    if (st != SHOAL_OK)
        return st;
    c->point_count = c->hull_count = 0;
    for (uint32_t m = 0; m < p->job_count; m++) {
        if (!sound_options(p, m))
            return SHOAL_E_INVAL;
        c->hulls_of[m] = c->hull_count;
        build_hulls(c, p, m);
    }
    c->hulls_of[p->job_count] = c->hull_count;
    return SHOAL_OK;
}

/* ---- answers to prices ---- */

/* The point that gains most at this price, NULL: none gains. */
static const struct point *best_point(const struct num_choose *c, struct hull *h, double price)
{
    const struct point *points = c->points + h->first;

    while (h->taken > 0 && points[h->taken - 1].slope <= price)
        h->taken--;
    while (h->taken < h->count && points[h->taken].slope > price)
        h->taken++;
    return h->taken > 0 ? &points[h->taken - 1] : NULL;
}

/* What a job answers; NULL: nothing. */
static const struct point *best_of_job(struct num_choose *c, uint32_t job, const double *price,
                                       uint32_t *out_kind, double *out_gain)
{
    const struct point *best = NULL;

    *out_gain = 0;
    for (size_t i = c->hulls_of[job]; i < c->hulls_of[job + 1]; i++) {
        struct hull *h = &c->hulls[i];
        const struct point *at = best_point(c, h, price[h->kind]);
        double gain = at != NULL ? (double)at->value - price[h->kind] * at->amount : 0;
        if (gain > *out_gain)
            *out_gain = gain, best = at, *out_kind = h->kind;
    }
    return best;
}

static struct answer ask(struct num_choose *c, const struct num_choose_problem *p,
                         const double *price)
{
    struct answer a = {0};

    for (uint32_t m = 0; m < p->job_count; m++) {
        double gain;
        uint32_t kind = 0;
        const struct point *best = best_of_job(c, m, price, &kind, &gain);
        if (best == NULL)
            continue;
        a.gain += gain;
        a.value += (double)best->value;
        a.used[kind] += best->amount;
    }
    return a;
}

static double bound_of(const struct num_choose_problem *p, const struct answer *a,
                       const double *price)
{
    double bound = a->gain;

    for (uint32_t k = 0; k < p->kind_count; k++)
        bound += price[k] * p->capacity[k];
    return bound;
}

/* ---- the best prices ---- */

/* Prices at which nothing is taken are the largest that can matter. */
static void first_prices(const struct num_choose *c, const struct num_choose_problem *p,
                         double *price)
{
    memset(price, 0, KINDS * sizeof *price);
    if (c->kinds == p->kind_count) {
        memcpy(price, c->price, KINDS * sizeof *price);
        return;
    }
    for (size_t i = 0; i < c->hull_count; i++)
        price[c->hulls[i].kind] =
            fmax(price[c->hulls[i].kind], c->points[c->hulls[i].first].slope / 4);
}

static shoal_status start_master(struct num_choose *c, const struct num_choose_problem *p)
{
    double b[KINDS + 1];
    bool equal[KINDS + 1] = {false};

    memcpy(b, p->capacity, p->kind_count * sizeof *b);
    b[p->kind_count] = 1;
    if (c->master_rows == p->kind_count + 1) {
        num_lp_reset(c->master, b);
        return SHOAL_OK;
    }
    num_lp_free(c->master);
    c->master = NULL;
    c->master_rows = 0;
    shoal_status st = num_lp_new(c->alloc, p->kind_count + 1, b, equal, &c->master);
    if (st == SHOAL_OK)
        c->master_rows = p->kind_count + 1;
    return st;
}

/* Another answer for the master, and what it says now. */
static shoal_status tell_master(struct num_choose *c, const struct num_choose_problem *p,
                                const struct answer *a, bool *out_optimal)
{
    double column[KINDS + 1];
    enum num_lp_outcome outcome = NUM_LP_UNBOUNDED;
    uint32_t index;

    memcpy(column, a->used, p->kind_count * sizeof *column);
    column[p->kind_count] = 1;
    shoal_status st = num_lp_add(c->master, a->value, column, &index);
    if (st == SHOAL_OK)
        st = num_lp_solve(c->master, 0, &outcome);
    *out_optimal = st == SHOAL_OK && outcome == NUM_LP_OPTIMAL;
    return st;
}

/* Finds prices with a low bound. */
static shoal_status find_prices(struct num_choose *c, const struct num_choose_problem *p,
                                struct num_choose_result *r)
{
    double price[KINDS];
    bool optimal = true;
    shoal_status st = start_master(c, p);

    first_prices(c, p, price);
    r->bound = INFINITY;
    while (st == SHOAL_OK && r->passes < PASSES_MAX) {
        struct answer a = ask(c, p, price);
        double bound = bound_of(p, &a, price);
        memcpy(c->asked[r->passes++], price, sizeof price);
        if (bound < r->bound) {
            r->bound = bound;
            memcpy(r->price, price, sizeof price);
        }
        st = tell_master(c, p, &a, &optimal);
        if (!optimal || r->bound - num_lp_objective(c->master) <= p->gap / 10 * r->bound)
            break;
        const double *dual = num_lp_dual(c->master);
        for (uint32_t k = 0; k < p->kind_count; k++)
            price[k] = MIX * r->price[k] + (1 - MIX) * fmax(dual[k], 0);
    }
    return st;
}

/* ---- the mix of answers ---- */

/* Answers in the master's solution, by how much. */
struct mix {
    uint32_t count;
    double part[MIXED_MAX];
    const double *price[MIXED_MAX];
    double owed[KINDS]; /* what the mix took so far, less what was given */
};

static void read_mix(const struct num_choose *c, const struct num_choose_result *r, struct mix *mix)
{
    uint32_t columns = num_lp_column_count(c->master);

    *mix = (struct mix){0};
    for (uint32_t i = 0; i < columns && i < r->passes && mix->count < MIXED_MAX; i++) {
        double part = num_lp_value(c->master, i);
        if (!(part > 1e-9))
            continue;
        mix->price[mix->count] = c->asked[i];
        mix->part[mix->count++] = part;
    }
    if (mix->count == 0) { /* rounding: the best prices alone */
        mix->price[mix->count] = r->price;
        mix->part[mix->count++] = 1;
    }
}

/* How far what is given would be from the mix, by worth, if this were given. */
static double distance(const struct num_choose_problem *p, const struct num_choose_result *r,
                       const struct mix *mix, uint32_t kind, double amount)
{
    double far = 0;

    for (uint32_t k = 0; k < p->kind_count; k++)
        far += (r->price[k] + 1e-9) * fabs(mix->owed[k] - (k == kind ? amount : 0));
    return far;
}

/* One of the answers of a job, so that what is given follows the mix. */
static void pick_of_mix(struct num_choose *c, const struct num_choose_problem *p,
                        struct num_choose_result *r, struct mix *mix, uint32_t job)
{
    const struct point *answer[MIXED_MAX], *best = NULL;
    uint32_t kind[MIXED_MAX] = {0}, best_kind = 0;
    double gain, nearest = INFINITY;

    for (uint32_t i = 0; i < mix->count; i++) {
        answer[i] = best_of_job(c, job, mix->price[i], &kind[i], &gain);
        if (answer[i] != NULL)
            mix->owed[kind[i]] += mix->part[i] * answer[i]->amount;
    }
    for (uint32_t i = 0; i < mix->count; i++) {
        double far = distance(p, r, mix, kind[i], answer[i] != NULL ? answer[i]->amount : 0);
        if (far < nearest)
            nearest = far, best = answer[i], best_kind = kind[i];
    }
    c->pick[job] = best != NULL ? best->option : NUM_CHOOSE_NONE;
    if (best == NULL)
        return;
    mix->owed[best_kind] -= best->amount;
    r->left[best_kind] -= best->amount;
    r->value += (double)best->value;
}

static void pick_all(struct num_choose *c, const struct num_choose_problem *p,
                     struct num_choose_result *r)
{
    struct mix mix;

    read_mix(c, r, &mix);
    memcpy(r->left, p->capacity, p->kind_count * sizeof *r->left);
    for (uint32_t m = 0; m < p->job_count; m++)
        pick_of_mix(c, p, r, &mix, m);
    r->passes += mix.count;
}

/* ---- the solver ---- */

shoal_status num_choose_new(const struct base_alloc *alloc, struct num_choose **out)
{
    struct num_choose *c = base_calloc(alloc, 1, sizeof *c);

    if (c == NULL)
        return SHOAL_E_NOMEM;
    c->alloc = alloc;
    c->exchanges = base_calloc(alloc, 1, sizeof *c->exchanges);
    if (c->exchanges == NULL) {
        base_free(alloc, c);
        return SHOAL_E_NOMEM;
    }
    *out = c;
    return SHOAL_OK;
}

void num_choose_free(struct num_choose *c)
{
    if (c == NULL)
        return;
    num_lp_free(c->master);
    base_free(c->alloc, c->pick);
    base_free(c->alloc, c->order);
    base_free(c->alloc, c->points);
    base_free(c->alloc, c->hulls);
    base_free(c->alloc, c->hulls_of);
    base_free(c->alloc, c->moves);
    base_free(c->alloc, c->exchanges);
    base_free(c->alloc, c);
}

/* Nobody gets anything: there are no options. */
static void choose_nothing(const struct num_choose *c, const struct num_choose_problem *p,
                           struct num_choose_result *r)
{
    for (uint32_t m = 0; m < p->job_count; m++)
        c->pick[m] = NUM_CHOOSE_NONE;
    memcpy(r->left, p->capacity, p->kind_count * sizeof *r->left);
}

shoal_status num_choose_solve(struct num_choose *c, const struct num_choose_problem *p,
                              struct num_choose_result *out)
{
    struct num_choose_result r = {0};
    shoal_status st = SHOAL_OK;

    if (!sound_kinds(p))
        return SHOAL_E_INVAL;
    if (base_reserve(c->alloc, (void **)&c->pick, &c->pick_cap, p->job_count + 1,
                     sizeof *c->pick) != 0)
        return SHOAL_E_NOMEM;
    if (p->job_count == 0 || p->first[p->job_count] == p->first[0]) {
        choose_nothing(c, p, &r);
    } else {
        st = prepare(c, p);
        if (st == SHOAL_OK)
            st = find_prices(c, p, &r);
        if (st != SHOAL_OK)
            return st;
        pick_all(c, p, &r);
        choose_fit(p, &r, c->pick, c->moves, c->exchanges);
        r.bound = fmax(r.bound, r.value); /* rounding */
        memcpy(c->price, r.price, sizeof r.price);
        c->kinds = p->kind_count;
    }
    r.pick = c->pick;
    *out = r;
    return SHOAL_OK;
}
