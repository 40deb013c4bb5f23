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
 * lie between two kinds at once.
 *
 * What fits. Answers at the prices over-fill some kinds and leave some of others. First, while a kind is
 * over-full, jobs change to what loses least for what it frees. Then changes that gain and fit are
 * made, the largest gain for what they take first, until there is none: nothing is left that any job
 * could use. Last come exchanges, as long as the gap is not small: of each kind the changes by a few
 * units that are least dear at its price are added up in all ways (a knapsack of REACH units either
 * way), which lets one job take from another, or two from a third.
 *
 * Value falls short of the bound by what these jobs lost and by what is left over times its price,
 * which for hundreds of jobs is some hundredths of a percent.
 *
 * Cost: one pass over all options for the hulls, and a handful for the choice; 5 to 60 over the hulls. */
#include "num/choose.h"

#include "base/room.h"
#include "num/lp.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    KINDS = NUM_CHOOSE_KINDS_MAX,
    PASSES_MAX = 200,
    MIXED_MAX = KINDS + 2,
    REACH = 32, /* of exchanges within a kind, alone and together */
    SPAN = 2 * REACH + 1,
    EACH = 3, /* candidates for each amount */
    ROUNDS_MAX = 10
};
static const double MIX = 0.4; /* of the best prices in the next ones */
static const double WORTH = 0.9;

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

/* What a job may change to. */
struct move {
    uint32_t job, to; /* an option, or NUM_CHOOSE_NONE */
    double score;     /* smallest first */
};

/* A job takes `more` (or less) of the kind it has. */
struct exchange {
    uint32_t job, to;
    int more;
    double gain; /* of value */
};

/* Exchanges that may be made together, those of one job side by side; and the best sums of them. */
struct exchanges {
    struct exchange best[SPAN][EACH]; /* by `more`, the least dear */
    struct exchange list[SPAN * EACH];
    uint32_t count;
    /* after some of the list: by how much more is taken; and which of the list came last, -1: none */
    double sum[SPAN * EACH + 1][SPAN];
    int16_t taken[SPAN * EACH + 1][SPAN];
};

struct num_choose {
    const struct base_alloc *alloc;
    struct base_room room;  /* of its arrays */
    uint32_t *pick, *order; /* order: options of one job by kind and amount */
    struct point *points;
    struct hull *hulls;
    size_t point_count, hull_count;
    size_t *hulls_of; /* (jobs + 1) */
    struct move *moves;
    double price[KINDS]; /* of the last call */
    uint32_t kinds;      /* it had; 0: none yet */
    struct num_lp *master;
    double asked[PASSES_MAX][KINDS]; /* prices behind the master's columns */
    struct exchanges exchanges;
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
    BASE_ROOM(&c->room, c->order, most + 1);
    BASE_ROOM(&c->room, c->points, options + 1);
    BASE_ROOM(&c->room, c->hulls, hulls + 1);
    BASE_ROOM(&c->room, c->hulls_of, p->job_count + 1);
    BASE_ROOM(&c->room, c->moves, p->job_count + 1);
    return base_room_status(&c->room);
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

    memcpy(b, p->capacity, p->kind_count * sizeof *b);
    b[p->kind_count] = 1;
    return num_lp_ready(c->alloc, p->kind_count + 1, b, NULL, &c->master);
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

/* ---- from the mix to a choice that fits ---- */

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

/* By score, then job: the same everywhere. */
static int by_score(const void *a, const void *b)
{
    const struct move *x = a, *y = b;

    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return (x->job > y->job) - (x->job < y->job);
}

/* ---- what is over-full ---- */

static uint32_t most_over(const struct num_choose_problem *p, const struct num_choose_result *r)
{
    uint32_t over = NUM_CHOOSE_NONE;

    for (uint32_t k = 0; k < p->kind_count; k++)
        if (r->left[k] < 0 && (over == NUM_CHOOSE_NONE || r->left[k] < r->left[over]))
            over = k;
    return over;
}

/* What frees some of the kind, without over-filling another, and loses least for that. */
static struct move least_loss(const struct num_choose_problem *p, const struct num_choose_result *r,
                              const uint32_t *pick, uint32_t job, uint32_t kind)
{
    double have = amount_of(p, pick[job], kind), value = value_of(p, pick[job]);
    struct move best = {job, NUM_CHOOSE_NONE, value / fmin(have, -r->left[kind])};

    for (size_t o = p->first[job]; o < p->first[job + 1]; o++) {
        const struct num_choose_option *opt = &p->options[o];
        double freed = have - (opt->kind == kind ? opt->amount : 0);
        if (freed <= 0 || opt->value <= 0 ||
            (opt->kind != kind && opt->amount > r->left[opt->kind]))
            continue;
        double loss = (value - (double)opt->value) / fmin(freed, -r->left[kind]);
        if (loss < best.score)
            best = (struct move){job, (uint32_t)o, loss};
    }
    return best;
}

/* One change a job at most, as long as the kind is over-full. */
static void relieve(const struct num_choose_problem *p, struct num_choose_result *r, uint32_t *pick,
                    struct move *moves, uint32_t kind)
{
    uint32_t count = 0;

    for (uint32_t m = 0; m < p->job_count; m++)
        if (amount_of(p, pick[m], kind) > 0)
            moves[count++] = least_loss(p, r, pick, m, kind);
    r->passes++;
    qsort(moves, count, sizeof *moves, by_score);
    for (uint32_t i = 0; i < count && r->left[kind] < 0; i++) {
        uint32_t to = moves[i].to;
        if (to == NUM_CHOOSE_NONE || p->options[to].kind == kind ||
            p->options[to].amount <= r->left[p->options[to].kind])
            make(p, r, pick, moves[i].job, to);
    }
}

/* ---- what is left ---- */

static bool fits(const struct num_choose_problem *p, const struct num_choose_result *r,
                 uint32_t from, const struct num_choose_option *to)
{
    return to->amount <= r->left[to->kind] + amount_of(p, from, to->kind);
}

/* The change that fits and gains most for what it takes at the prices. */
static struct move most_gain(const struct num_choose_problem *p, const struct num_choose_result *r,
                             const uint32_t *pick, uint32_t job)
{
    struct move best = {job, NUM_CHOOSE_NONE, 0};
    uint32_t from = pick[job];
    double value = value_of(p, from);
    double held =
        from == NUM_CHOOSE_NONE ? 0 : r->price[p->options[from].kind] * p->options[from].amount;

    for (size_t o = p->first[job]; o < p->first[job + 1]; o++) {
        const struct num_choose_option *opt = &p->options[o];
        double gain = (double)opt->value - value;
        if (gain <= 0 || !fits(p, r, from, opt))
            continue;
        double taken = r->price[opt->kind] * opt->amount - held;
        double score = -gain / fmax(taken, 1e-3 * gain);
        if (score < best.score)
            best = (struct move){job, (uint32_t)o, score};
    }
    return best;
}

/* Whether anything fitted. */
static bool fill(const struct num_choose_problem *p, struct num_choose_result *r, uint32_t *pick,
                 struct move *moves)
{
    uint32_t count = 0;
    bool room = false;

    for (uint32_t k = 0; k < p->kind_count; k++)
        room |= r->left[k] >= 1;
    for (uint32_t m = 0; room && m < p->job_count; m++) {
        moves[count] = most_gain(p, r, pick, m);
        count += moves[count].to != NUM_CHOOSE_NONE;
    }
    r->passes++;
    qsort(moves, count, sizeof *moves, by_score);
    for (uint32_t i = 0; i < count; i++)
        if (fits(p, r, pick[moves[i].job], &p->options[moves[i].to]))
            make(p, r, pick, moves[i].job, moves[i].to);
    return count > 0;
}

static void fit(const struct num_choose_problem *p, struct num_choose_result *r, uint32_t *pick,
                struct move *moves)
{
    uint32_t over;

    while ((over = most_over(p, r)) != NUM_CHOOSE_NONE)
        relieve(p, r, pick, moves, over);
    while (fill(p, r, pick, moves))
        ;
}

/* ---- exchanges within a kind ---- */

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

static void collect_of(struct exchanges *x, const struct num_choose_problem *p,
                       const uint32_t *pick, uint32_t job, uint32_t kind, double price)
{
    double have = amount_of(p, pick[job], kind), value = value_of(p, pick[job]);

    if (have > 0 && have <= REACH)
        offer(x, &(struct exchange){job, NUM_CHOOSE_NONE, -(int)have, -value}, price);
    for (size_t o = p->first[job]; o < p->first[job + 1]; o++) {
        const struct num_choose_option *opt = &p->options[o];
        double more = opt->amount - have;
        if (opt->kind != kind || more == 0 || fabs(more) > REACH || opt->value <= 0)
            continue;
        offer(x, &(struct exchange){job, (uint32_t)o, (int)more, (double)opt->value - value},
              price);
    }
}

static void collect(struct exchanges *x, const struct num_choose_problem *p, const uint32_t *pick,
                    uint32_t kind, double price)
{
    for (int i = 0; i < SPAN; i++)
        for (int e = 0; e < EACH; e++)
            x->best[i][e].job = NUM_CHOOSE_NONE;
    for (uint32_t m = 0; m < p->job_count; m++)
        if (pick[m] == NUM_CHOOSE_NONE || p->options[pick[m]].kind == kind)
            collect_of(x, p, pick, m, kind, price);
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
    r->passes++;
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

static void fit_best(const struct num_choose_problem *p, struct num_choose_result *r,
                     uint32_t *pick, struct move *moves, struct exchanges *x)
{
    double before = INFINITY; /* gap; rounds go on while they close a good part of it */

    fit(p, r, pick, moves);
    for (int round = 0; round < ROUNDS_MAX && r->bound - r->value < WORTH * before; round++) {
        bool any = false;
        before = r->bound - r->value;
        for (uint32_t k = 0; k < p->kind_count && r->bound - r->value > p->gap / 4 * r->bound; k++)
            any |= exchange(p, r, pick, k, x);
        if (!any)
            return;
        fit(p, r, pick, moves);
    }
}

/* ---- the solver ---- */

shoal_status num_choose_new(const struct base_alloc *alloc, struct num_choose **out)
{
    struct num_choose *c = base_calloc(alloc, 1, sizeof *c);

    if (c == NULL)
        return SHOAL_E_NOMEM;
    c->alloc = c->room.alloc = alloc;
    *out = c;
    return SHOAL_OK;
}

void num_choose_free(struct num_choose *c)
{
    if (c == NULL)
        return;
    num_lp_free(c->master);
    base_room_fini(&c->room);
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
    BASE_ROOM(&c->room, c->pick, p->job_count + 1);
    if (base_room_status(&c->room) != SHOAL_OK)
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
        fit_best(p, &r, c->pick, c->moves, &c->exchanges);
        r.bound = fmax(r.bound, r.value); /* rounding */
        memcpy(c->price, r.price, sizeof r.price);
        c->kinds = p->kind_count;
    }
    r.pick = c->pick;
    *out = r;
    return SHOAL_OK;
}
