/* choose_fit.c - from the answers at the best prices to a choice that fits.
 *
 * Answers at the prices over-fill some kinds and leave some of others. First, while a kind is
 * over-full, jobs change to what loses least for what it frees. Then changes that gain and fit are
 * made, the largest gain for what they take first, until there is none: nothing is left that any job
 * could use. Last come exchanges, as long as the gap is not small: of each kind the changes by a few
 * units that are least dear at its price are added up in all ways (a knapsack of REACH units either
 * way), which lets one job take from another, or two from a third.
 *
 * Value falls short of the bound by what these jobs lost and by what is left over times its price,
 * which for hundreds of jobs is some hundredths of a percent.
 *
 * Cost: a pass over all options finds the best change of every job, and as many as are needed are
 * made in order; a handful of passes. */
#include "num/choose_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double WORTH = 0.9;

enum { REACH = CHOOSE_REACH, SPAN = CHOOSE_SPAN, EACH = CHOOSE_EACH, ROUNDS_MAX = 10 };

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
    const struct choose_move *x = a, *y = b;

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
static struct choose_move least_loss(const struct num_choose_problem *p,
                                     const struct num_choose_result *r, const uint32_t *pick,
                                     uint32_t job, uint32_t kind)
{
    double have = amount_of(p, pick[job], kind), value = value_of(p, pick[job]);
    struct choose_move best = {job, NUM_CHOOSE_NONE, value / fmin(have, -r->left[kind])};

    for (size_t o = p->first[job]; o < p->first[job + 1]; o++) {
        const struct num_choose_option *opt = &p->options[o];
        double freed = have - (opt->kind == kind ? opt->amount : 0);
        if (freed <= 0 || opt->value <= 0 ||
            (opt->kind != kind && opt->amount > r->left[opt->kind]))
            continue;
        double loss = (value - (double)opt->value) / fmin(freed, -r->left[kind]);
        if (loss < best.score)
            best = (struct choose_move){job, (uint32_t)o, loss};
    }
    return best;
}

/* One change a job at most, as long as the kind is over-full. */
static void relieve(const struct num_choose_problem *p, struct num_choose_result *r, uint32_t *pick,
                    struct choose_move *moves, uint32_t kind)
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
static struct choose_move most_gain(const struct num_choose_problem *p,
                                    const struct num_choose_result *r, const uint32_t *pick,
                                    uint32_t job)
{
    struct choose_move best = {job, NUM_CHOOSE_NONE, 0};
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
            best = (struct choose_move){job, (uint32_t)o, score};
    }
    return best;
}

/* Whether anything fitted. */
static bool fill(const struct num_choose_problem *p, struct num_choose_result *r, uint32_t *pick,
                 struct choose_move *moves)
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
                struct choose_move *moves)
{
    uint32_t over;

    while ((over = most_over(p, r)) != NUM_CHOOSE_NONE)
        relieve(p, r, pick, moves, over);
    while (fill(p, r, pick, moves))
        ;
}

/* ---- exchanges within a kind ---- */

static double dearness(const struct choose_exchange *e, double price)
{
    return price * e->more - e->gain;
}

static void offer(struct choose_exchanges *x, const struct choose_exchange *e, double price)
{
    struct choose_exchange *best = x->best[e->more + REACH];
    int rank = EACH;

    while (rank > 0 && (best[rank - 1].job == NUM_CHOOSE_NONE ||
                        dearness(e, price) < dearness(&best[rank - 1], price)))
        rank--;
    if (rank == EACH)
        return;
    memmove(best + rank + 1, best + rank, (size_t)(EACH - 1 - rank) * sizeof *best);
    best[rank] = *e;
}

static void collect_of(struct choose_exchanges *x, const struct num_choose_problem *p,
                       const uint32_t *pick, uint32_t job, uint32_t kind, double price)
{
    double have = amount_of(p, pick[job], kind), value = value_of(p, pick[job]);

    if (have > 0 && have <= REACH)
        offer(x, &(struct choose_exchange){job, NUM_CHOOSE_NONE, -(int)have, -value}, price);
    for (size_t o = p->first[job]; o < p->first[job + 1]; o++) {
        const struct num_choose_option *opt = &p->options[o];
        double more = opt->amount - have;
        if (opt->kind != kind || more == 0 || fabs(more) > REACH || opt->value <= 0)
            continue;
        offer(x, &(struct choose_exchange){job, (uint32_t)o, (int)more, (double)opt->value - value},
              price);
    }
}

static void collect(struct choose_exchanges *x, const struct num_choose_problem *p,
                    const uint32_t *pick, uint32_t kind, double price)
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
    const struct choose_exchange *x = a, *y = b;

    if (x->job != y->job)
        return x->job < y->job ? -1 : 1;
    return (x->more > y->more) - (x->more < y->more);
}

static void list_exchanges(struct choose_exchanges *x)
{
    x->count = 0;
    for (int i = 0; i < SPAN; i++)
        for (int e = 0; e < EACH; e++)
            if (x->best[i][e].job != NUM_CHOOSE_NONE)
                x->list[x->count++] = x->best[i][e];
    qsort(x->list, x->count, sizeof *x->list, by_job);
}

/* sum[j] after the exchanges of the first j of the list, of which each job makes one at most. */
static void add_up(struct choose_exchanges *x)
{
    for (int t = 0; t < SPAN; t++)
        x->sum[0][t] = t == REACH ? 0 : -INFINITY;
    for (uint32_t j = 0, before = 0; j < x->count; j++) {
        const struct choose_exchange *e = &x->list[j];
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
                     uint32_t *pick, uint32_t kind, struct choose_exchanges *x)
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

void choose_fit(const struct num_choose_problem *p, struct num_choose_result *r, uint32_t *pick,
                struct choose_move *moves, struct choose_exchanges *x)
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
