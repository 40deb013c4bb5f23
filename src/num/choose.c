/* choose.c - one option for each job under a few capacities: prices, a bound, a choice that fits.
 *
 * Bound. At prices p >= 0 each job takes the option with the largest value - p amount, or none. The
 * sum of what they gain plus p . capacity is never below the best choice: that is the bound, a convex
 * function of p, and the least of it is looked for by cutting planes. A master program (num/lp.h) has
 * a column for every answer so far, its amounts and value; its duals are the next prices, mixed with
 * the best ones known so that early ones do not jump about (Wentges, "Weighted Dantzig-Wolfe
 * decomposition for linear mixed-integer programming", 1997). It ends when master and bound meet.
 *
 * Choice. At the end as many jobs as there are kinds may sit between two options; all others have
 * theirs. Answers at the best prices are brought to fit: while a kind is over-full the change that
 * loses least for what it frees is made; then changes that gain and fit, the largest gain for what
 * they take first, also those that take from one job what another gains more by. Value falls short
 * of the bound by what a few jobs lost and by what is left over times its price, which for hundreds
 * of jobs is some hundredths of a percent.
 *
 * Cost: a pass over all options for each price tried (10 to 60 of them) and each change made. */
#include "num/choose.h"

#include "num/lp.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    KINDS = NUM_CHOOSE_KINDS_MAX,
    PASSES_MAX = 200,
    CHANGES_MAX = 10000,
    REACH = 32, /* of exchanges within a kind, alone and together */
    SPAN = 2 * REACH + 1,
    EACH = 3, /* candidates for each amount */
    ROUNDS_MAX = 10
};
static const double MIX = 0.4; /* of the best prices in the next ones */

struct exchanges;

struct num_choose {
    const struct base_alloc *alloc;
    uint32_t *pick;
    size_t pick_cap;
    double price[KINDS]; /* of the last call */
    uint32_t kinds;      /* it had; 0: none yet */
    struct exchanges *exchanges;
};

struct answer {
    double value, gain; /* sums of values, and of values less prices */
    double used[KINDS];
};

static bool sound(const struct num_choose_problem *p)
{
    if (p->kind_count == 0 || p->kind_count > KINDS)
        return false;
    for (uint32_t k = 0; k < p->kind_count; k++)
        if (!(p->capacity[k] >= 0) || !isfinite(p->capacity[k]))
            return false;
    for (size_t o = p->job_count > 0 ? p->first[0] : 0;
         p->job_count > 0 && o < p->first[p->job_count]; o++) {
        const struct num_choose_option *opt = &p->options[o];
        if (!isfinite(opt->value) || opt->amount == 0 || opt->kind >= p->kind_count)
            return false;
    }
    return true;
}

/* ---- answers to prices ---- */

static uint32_t best_option(const struct num_choose_problem *p, uint32_t job, const double *price,
                            double *out_gain)
{
    uint32_t best = NUM_CHOOSE_NONE;
    double gain = 0;

    for (size_t o = p->first[job]; o < p->first[job + 1]; o++) {
        const struct num_choose_option *opt = &p->options[o];
        double g = (double)opt->value - price[opt->kind] * opt->amount;
        if (g > gain && opt->amount <= p->capacity[opt->kind])
            gain = g, best = (uint32_t)o;
    }
    *out_gain = gain;
    return best;
}

static struct answer ask(const struct num_choose_problem *p, const double *price, uint32_t *pick)
{
    struct answer a = {0};

    for (uint32_t m = 0; m < p->job_count; m++) {
        double gain;
        uint32_t o = best_option(p, m, price, &gain);
        if (pick != NULL)
            pick[m] = o;
        if (o == NUM_CHOOSE_NONE)
            continue;
        a.gain += gain;
        a.value += (double)p->options[o].value;
        a.used[p->options[o].kind] += p->options[o].amount;
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
static double price_max(const struct num_choose_problem *p, uint32_t k)
{
    double most = 0;

    for (size_t o = p->first[0]; o < p->first[p->job_count]; o++)
        if (p->options[o].kind == k)
            most = fmax(most, (double)p->options[o].value / p->options[o].amount);
    return most;
}

static shoal_status start_master(struct num_choose *c, const struct num_choose_problem *p,
                                 struct num_lp **out)
{
    double b[KINDS + 1];
    bool equal[KINDS + 1] = {false};

    memcpy(b, p->capacity, p->kind_count * sizeof *b);
    b[p->kind_count] = 1;
    return num_lp_new(c->alloc, p->kind_count + 1, b, equal, out);
}

static shoal_status add_column(struct num_lp *lp, const struct num_choose_problem *p,
                               const struct answer *a)
{
    double column[KINDS + 1];
    uint32_t index;

    memcpy(column, a->used, p->kind_count * sizeof *column);
    column[p->kind_count] = 1;
    return num_lp_add(lp, a->value, column, &index);
}

/* Finds prices with a low bound, in c->price. */
static shoal_status find_prices(struct num_choose *c, const struct num_choose_problem *p,
                                struct num_choose_result *out)
{
    double price[KINDS], best[KINDS];
    struct num_lp *lp;
    shoal_status st = start_master(c, p, &lp);

    if (st != SHOAL_OK)
        return st;
    for (uint32_t k = 0; k < p->kind_count; k++)
        price[k] = c->kinds == p->kind_count ? c->price[k] : price_max(p, k) / 4;
    memcpy(best, price, sizeof best);
    out->bound = INFINITY;
    for (out->passes = 0; out->passes < PASSES_MAX && st == SHOAL_OK;) {
        struct answer a = ask(p, price, NULL);
        double bound = bound_of(p, &a, price);
        out->passes++;
        if (bound < out->bound) {
            out->bound = bound;
            memcpy(best, price, sizeof best);
        }
        enum num_lp_outcome outcome = NUM_LP_STUCK;
        st = add_column(lp, p, &a);
        if (st == SHOAL_OK)
            st = num_lp_solve(lp, 0, &outcome);
        if (st != SHOAL_OK || outcome != NUM_LP_OPTIMAL)
            break;
        if (out->bound - num_lp_objective(lp) <= p->gap / 10 * out->bound)
            break;
        const double *dual = num_lp_dual(lp);
        for (uint32_t k = 0; k < p->kind_count; k++)
            price[k] = MIX * best[k] + (1 - MIX) * fmax(dual[k], 0);
    }
    num_lp_free(lp);
    memcpy(c->price, best, sizeof best);
    c->kinds = p->kind_count;
    return st;
}

/* ---- a choice that fits ---- */

struct change {
    uint32_t job, to;
    double score;
};

static double value_of(const struct num_choose_problem *p, uint32_t o)
{
    return o == NUM_CHOOSE_NONE ? 0 : (double)p->options[o].value;
}

static double amount_of(const struct num_choose_problem *p, uint32_t o, uint32_t kind)
{
    return o == NUM_CHOOSE_NONE || p->options[o].kind != kind ? 0 : p->options[o].amount;
}

static void make(const struct num_choose_problem *p, struct num_choose_result *r, uint32_t *pick,
                 uint32_t job, uint32_t to)
{
    uint32_t from = pick[job];

    if (from != NUM_CHOOSE_NONE)
        r->left[p->options[from].kind] += p->options[from].amount;
    if (to != NUM_CHOOSE_NONE)
        r->left[p->options[to].kind] -= p->options[to].amount;
    r->value += value_of(p, to) - value_of(p, from);
    pick[job] = to;
}

/* Of all changes that free some of an over-full kind, without over-filling another, the one that
 * loses least for what it frees. */
static struct change least_loss(const struct num_choose_problem *p,
                                const struct num_choose_result *r, const uint32_t *pick,
                                uint32_t kind)
{
    struct change best = {NUM_CHOOSE_NONE, NUM_CHOOSE_NONE, INFINITY};

    for (uint32_t m = 0; m < p->job_count; m++) {
        double have = amount_of(p, pick[m], kind);
        if (have <= 0)
            continue;
        for (size_t o = p->first[m]; o <= p->first[m + 1]; o++) {
            uint32_t to = o < p->first[m + 1] ? (uint32_t)o : NUM_CHOOSE_NONE;
            double freed = have - amount_of(p, to, kind);
            if (freed <= 0 || (to != NUM_CHOOSE_NONE && p->options[to].kind != kind &&
                               p->options[to].amount > r->left[p->options[to].kind]))
                continue;
            double loss = (value_of(p, pick[m]) - value_of(p, to)) / fmin(freed, -r->left[kind]);
            if (loss < best.score)
                best = (struct change){m, to, loss};
        }
    }
    return best;
}

/* Of all changes that fit, the one that gains most for what it takes at these prices. */
static struct change most_gain(const struct num_choose_problem *p,
                               const struct num_choose_result *r, const uint32_t *pick)
{
    struct change best = {NUM_CHOOSE_NONE, NUM_CHOOSE_NONE, 0};

    for (uint32_t m = 0; m < p->job_count; m++)
        for (size_t o = p->first[m]; o < p->first[m + 1]; o++) {
            const struct num_choose_option *opt = &p->options[o];
            double gain = (double)opt->value - value_of(p, pick[m]);
            if (gain <= 0 || opt->amount > r->left[opt->kind] + amount_of(p, pick[m], opt->kind))
                continue;
            double taken = r->price[opt->kind] * opt->amount;
            if (pick[m] != NUM_CHOOSE_NONE)
                taken -= r->price[p->options[pick[m]].kind] * p->options[pick[m]].amount;
            double score = gain / fmax(taken, 1e-3 * gain);
            if (score > best.score)
                best = (struct change){m, (uint32_t)o, score};
        }
    return best;
}

static uint32_t most_over(const struct num_choose_problem *p, const struct num_choose_result *r)
{
    uint32_t over = NUM_CHOOSE_NONE;

    for (uint32_t k = 0; k < p->kind_count; k++)
        if (r->left[k] < 0 && (over == NUM_CHOOSE_NONE || r->left[k] < r->left[over]))
            over = k;
    return over;
}

static void fit(const struct num_choose_problem *p, struct num_choose_result *r, uint32_t *pick)
{
    for (int i = 0; i < CHANGES_MAX; i++) {
        uint32_t over = most_over(p, r);
        struct change c =
            over != NUM_CHOOSE_NONE ? least_loss(p, r, pick, over) : most_gain(p, r, pick);
        r->passes++;
        if (c.job == NUM_CHOOSE_NONE)
            return;
        make(p, r, pick, c.job, c.to);
    }
}

/* ---- exchanges within a kind ---- */

/* A job takes `more` (or less) of the kind it has. */
struct exchange {
    uint32_t job, to;
    int more;
    double gain; /* of value */
};

/* Exchanges that may be made together, those of one job side by side; and the best sums of them. */
struct exchanges {
    struct exchange best[SPAN][EACH]; /* by `more`, those least dear at the prices */
    struct exchange list[SPAN * EACH];
    uint32_t count;
    double sum[SPAN * EACH + 1][SPAN];    /* after some of the list: by how much more is taken */
    int16_t taken[SPAN * EACH + 1][SPAN]; /* which of the list came last; -1: none */
};

static double dearness(const struct exchange *e, double price)
{
    return price * e->more - e->gain;
}

static void offer(struct exchanges *x, const struct exchange *e, double price)
{
    struct exchange *best = x->best[e->more + REACH];
    int rank = EACH;

    while (rank > 0 && (best[rank - 1].job == NUM_CHOOSE_NONE ||
                        dearness(e, price) < dearness(&best[rank - 1], price)))
        rank--;
    if (rank == EACH)
        return;
    memmove(best + rank + 1, best + rank, (size_t)(EACH - 1 - rank) * sizeof *best);
    best[rank] = *e;
}

static void collect(struct exchanges *x, const struct num_choose_problem *p, const uint32_t *pick,
                    uint32_t kind, double price)
{
    for (int i = 0; i < SPAN; i++)
        for (int e = 0; e < EACH; e++)
            x->best[i][e].job = NUM_CHOOSE_NONE;
    for (uint32_t m = 0; m < p->job_count; m++) {
        double have = amount_of(p, pick[m], kind);
        if (pick[m] != NUM_CHOOSE_NONE && have <= 0)
            continue; /* it is on another kind */
        for (size_t o = p->first[m]; o <= p->first[m + 1]; o++) {
            uint32_t to = o < p->first[m + 1] ? (uint32_t)o : NUM_CHOOSE_NONE;
            double more = amount_of(p, to, kind) - have;
            if ((to != NUM_CHOOSE_NONE && p->options[to].kind != kind) || more == 0 ||
                fabs(more) > REACH)
                continue;
            offer(x, &(struct exchange){m, to, (int)more, value_of(p, to) - value_of(p, pick[m])},
                  price);
        }
    }
}

static int by_job(const void *a, const void *b)
{
    const struct exchange *x = a, *y = b;

    if (x->job != y->job)
        return x->job < y->job ? -1 : 1;
    return (x->more > y->more) - (x->more < y->more);
}

static void list_exchanges(struct exchanges *x)
{
    x->count = 0;
    for (int i = 0; i < SPAN; i++)
        for (int e = 0; e < EACH; e++)
            if (x->best[i][e].job != NUM_CHOOSE_NONE)
                x->list[x->count++] = x->best[i][e];
    qsort(x->list, x->count, sizeof *x->list, by_job);
}

/* sum[j] after the exchanges of the first j of the list, of which each job makes one at most. */
static void add_up(struct exchanges *x)
{
    for (int t = 0; t < SPAN; t++)
        x->sum[0][t] = t == REACH ? 0 : -INFINITY;
    for (uint32_t j = 0, before = 0; j < x->count; j++) {
        const struct exchange *e = &x->list[j];
        if (j > 0 && e->job != x->list[j - 1].job)
            before = j;
        for (int t = 0; t < SPAN; t++) {
            int from = t - e->more;
            double with = from >= 0 && from < SPAN ? x->sum[before][from] + e->gain : -INFINITY;
            x->sum[j + 1][t] = fmax(x->sum[j][t], with);
            x->taken[j + 1][t] = (int16_t)(with > x->sum[j][t] ? (int)before : -1);
        }
    }
}

/* Makes the exchanges that gain most and fit into what is left; whether there were any. */
static bool exchange(const struct num_choose_problem *p, struct num_choose_result *r,
                     uint32_t *pick, uint32_t kind, struct exchanges *x)
{
    int best = REACH, room = (int)fmin(r->left[kind], REACH);

    collect(x, p, pick, kind, r->price[kind]);
    list_exchanges(x);
    add_up(x);
    for (int t = 0; t <= REACH + room; t++)
        if (x->sum[x->count][t] > x->sum[x->count][best])
            best = t;
    if (!(x->sum[x->count][best] > 1e-9 * fabs(r->value)))
        return false;
    for (uint32_t j = x->count; j > 0;) {
        int before = x->taken[j][best];
        if (before < 0) {
            j--;
            continue;
        }
        make(p, r, pick, x->list[j - 1].job, x->list[j - 1].to);
        best -= x->list[j - 1].more;
        j = (uint32_t)before;
    }
    return true;
}

static void improve(const struct num_choose_problem *p, struct num_choose_result *r, uint32_t *pick,
                    struct exchanges *x)
{
    for (int round = 0; round < ROUNDS_MAX; round++) {
        bool any = false;
        for (uint32_t k = 0; k < p->kind_count && r->bound - r->value > p->gap / 4 * r->bound;
             k++) {
            any |= exchange(p, r, pick, k, x);
            r->passes++;
        }
        if (!any)
            return;
        fit(p, r, pick);
    }
}

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
    base_free(c->alloc, c->pick);
    base_free(c->alloc, c->exchanges);
    base_free(c->alloc, c);
}

shoal_status num_choose_solve(struct num_choose *c, const struct num_choose_problem *p,
                              struct num_choose_result *out)
{
    struct num_choose_result r = {0};

    if (!sound(p))
        return SHOAL_E_INVAL;
    if (base_reserve(c->alloc, (void **)&c->pick, &c->pick_cap, p->job_count + 1,
                     sizeof *c->pick) != 0)
        return SHOAL_E_NOMEM;
    if (p->job_count == 0 || p->first[p->job_count] == p->first[0]) {
        for (uint32_t m = 0; m < p->job_count; m++)
            c->pick[m] = NUM_CHOOSE_NONE;
        memcpy(r.left, p->capacity, sizeof r.left);
        r.pick = c->pick;
        *out = r;
        return SHOAL_OK;
    }
    shoal_status st = find_prices(c, p, &r);
    if (st != SHOAL_OK)
        return st;
    memcpy(r.price, c->price, sizeof r.price);
    struct answer a = ask(p, r.price, c->pick);
    r.passes++;
    r.value = a.value;
    for (uint32_t k = 0; k < p->kind_count; k++)
        r.left[k] = p->capacity[k] - a.used[k];
    fit(p, &r, c->pick);
    improve(p, &r, c->pick, c->exchanges);
    r.bound = fmax(r.bound, r.value); /* rounding */
    r.pick = c->pick;
    *out = r;
    return SHOAL_OK;
}
