/* share_fill.c - water filling: levels rise together until something stops a job, then the others
 * go on, through a tree of entities.
 *
 * Budgets. The levels of all jobs follow from the budget B of the root (share_game.c). A stage
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
#include "num/share_core.h"

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

static shoal_status reserve(struct num_share *s, size_t n)
{
    struct share_fill *mem = &s->fill;

    BASE_ROOM(&s->room, mem->job, n + 1);
    BASE_ROOM(&s->room, mem->top, n + 1);
    BASE_ROOM(&s->room, mem->speed, n + 1);
    BASE_ROOM(&s->room, mem->stopped, n + 1);
    BASE_ROOM(&s->room, mem->code, (share_padded(n) + SHARE_LANES) * SHARE_MIX_MAX);
    BASE_ROOM(&s->room, s->need, n + 1);
    BASE_ROOM(&s->room, s->chunks, share_chunks(n) + 1);
    return base_room_status(&s->room);
}

/* ---- a stage: the highest feasible budget ---- */

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

/* ---- the end of a stage: who stops ----
 *
 * A stopped job's ways are the edges that reach its speed at least cost. One way: its shares are
 * final. Several: they stay a choice for later stages, which may need the swap, and the kinds they
 * touch are used exactly. */

enum { EDGES_MAX = NUM_KINDS_MAX * (NUM_KINDS_MAX + 1) / 2 };

static const double TIE = 1e-9;         /* relative: ways this close cost the same */
static const double CRUMB = 2e-10;      /* smaller parts of a mix are rounding */
static const double EMPTY = 1e-8;       /* of the capacity: nothing is left of a kind */
static const double INDEPENDENT = 1e-7; /* relative: prices of stages differ by more */

/* Way of a row along an edge; false: the edge does not reach the row's speed, but for rounding. */
static bool way_of(const struct share_fill_call *f, size_t row, struct share_edge e,
                   struct share_route *out)
{
    const struct share_rows *rows = &f->s->rows;
    double high = rows->a[(size_t)e.high * rows->stride + row];
    double low = e.low == SHARE_ORIGIN ? 0 : rows->a[(size_t)e.low * rows->stride + row];

    if (e.low == SHARE_ORIGIN ? high < 1 - SHARE_AT_CAP
                              : low <= 0 || high <= 0 || (low < 1) == (high < 1))
        return false;
    *out = (struct share_route){.job = f->mem->job[row], .edge = e};
    share_mix(rows, row, e, 1, &out->low, &out->high);
    out->high = out->high < 1 ? out->high : 1;
    return true;
}

static void add_shares(const struct share_fill_call *f, const struct share_route *w, double part)
{
    const struct num_share *s = f->s;
    double *x = s->x + w->job * (size_t)f->p->kind_count;

    x[s->kind_of[w->edge.high]] += part * w->high;
    if (w->edge.low != SHARE_ORIGIN)
        x[s->kind_of[w->edge.low]] += part * w->low;
}

/* The job has one way: its shares are final. */
static void settle(struct share_fill_call *f, const struct share_route *w)
{
    double use[NUM_KINDS_MAX] = {0};

    add_shares(f, w, 1);
    num_share_route_use(f, w, 1, use);
    for (uint32_t k = 0; k < f->s->kinds; k++)
        f->left[k] -= use[k];
}

/* Columns of the mix that is the answer. */
struct mix {
    uint32_t count, column[SHARE_MIX_MAX];
    double part[SHARE_MIX_MAX];
};

static void mix_of(const struct share_fill_call *f, struct mix *out)
{
    double sum = 0;

    out->count = 0;
    for (uint32_t i = 0; i < f->columns && out->count < SHARE_MIX_MAX; i++)
        if (num_lp_value(f->s->master, i) > 0) {
            out->column[out->count] = i;
            out->part[out->count] = num_lp_value(f->s->master, i);
            sum += out->part[out->count++];
        }
    if (out->count == 0 && f->columns > 0) /* the master failed: the last question's answer */
        *out = (struct mix){.count = 1, .column = {f->columns - 1}, .part = {sum = 1}};
    for (uint32_t i = 0; i < out->count; i++)
        out->part[i] /= sum;
}

static const double *column_price(const struct share_fill_call *f, uint32_t column)
{
    return f->s->col_price + (size_t)f->s->kinds * column;
}

/* What the end of a stage works with. */
struct ending {
    const double *price;
    struct mix mix;
    double use[NUM_KINDS_MAX]; /* by the mix, of jobs that keep several ways */
};

/* Whether a way costs no more than `least`, but for this part of what it pays, or of everything. */
static bool cheap(const struct share_fill_call *f, const struct ending *e,
                  const struct share_route *w, double least, double part)
{
    double over = num_share_route_cost(w, e->price) - least;
    double paid = fabs(e->price[w->edge.high]) * w->high +
                  (w->edge.low == SHARE_ORIGIN ? 0 : fabs(e->price[w->edge.low]) * w->low);

    return over <= part * paid || over * share_gpus(f, w->job) <= CRUMB;
}

/* Of the `count` ways of one stopped job keeps those that are cheapest, and those in the mix:
 * in_mix names the way in each of its columns, `count` or more: none. A way that is dearer by a
 * larger part than it has in the mix is there by rounding: to leave it out is the lesser error, and
 * the cheapest takes its place. Returns how many are left, at the front; a single one is settled
 * and gone. */
static size_t choose_ways(struct share_fill_call *f, struct ending *e, struct share_route *way,
                          size_t count, const size_t *in_mix)
{
    size_t best = 0, kept = 0;
    double part[EDGES_MAX] = {0};

    for (size_t w = 1; w < count; w++)
        if (num_share_route_cost(&way[w], e->price) < num_share_route_cost(&way[best], e->price))
            best = w;
    double least = num_share_route_cost(&way[best], e->price);
    for (uint32_t c = 0; c < e->mix.count; c++)
        part[in_mix[c] < count ? in_mix[c] : best] += e->mix.part[c];
    for (size_t w = 0; w < count; w++)
        if (part[w] < CRUMB || !cheap(f, e, &way[w], least, part[w])) {
            part[best] += w == best ? 0 : part[w];
            part[w] = w == best ? part[w] : 0;
        }
    for (size_t w = 0; w < count; w++) {
        if (part[w] <= 0 && !cheap(f, e, &way[w], least, TIE))
            continue;
        part[kept] = part[w];
        way[kept++] = way[w];
    }
    if (kept == 1) {
        settle(f, &way[0]);
        return 0;
    }
    for (size_t w = 0; w < kept; w++)
        num_share_route_use(f, &way[w], part[w], e->use);
    return kept;
}

/* Jobs that stopped before have fewer ways now. */
static void narrow(struct share_fill_call *f, struct ending *e)
{
    struct share_route *way = f->mem->way;
    size_t kept = 0, end;

    for (size_t i = 0; i < f->ways; i = end) {
        size_t in_mix[SHARE_MIX_MAX];
        struct share_route own[EDGES_MAX];
        (void)num_share_route_cheapest(f, i, e->price, &end);
        for (uint32_t c = 0; c < e->mix.count; c++)
            in_mix[c] = num_share_route_cheapest(f, i, column_price(f, e->mix.column[c]), &end) - i;
        memcpy(own, way + i, (end - i) * sizeof *own);
        size_t count = choose_ways(f, e, own, end - i, in_mix);
        memcpy(way + kept, own, count * sizeof *own);
        kept += count;
    }
    f->ways = kept;
}

/* The kind that a way is on alone, but for rounding; SHARE_ORIGIN: on two. */
static uint8_t alone_on(const struct share_route *w)
{
    if (w->edge.low == SHARE_ORIGIN)
        return SHARE_ORIGIN;
    return w->low <= SHARE_AT_CAP    ? w->edge.high
           : w->high <= SHARE_AT_CAP ? w->edge.low
                                     : SHARE_ORIGIN;
}

/* A row that stops: its ways are all edges that reach its speed, then the cheap ones of them. */
static shoal_status stop_row(struct share_fill_call *f, struct ending *e, size_t row)
{
    struct num_share *s = f->s;
    uint32_t edges = s->kinds * (s->kinds + 1) / 2, count = 0;
    struct share_route way[EDGES_MAX];
    size_t at[EDGES_MAX] = {0}, in_mix[SHARE_MIX_MAX];

    for (uint32_t i = 0; i < edges; i++) { /* those from the origin, by kind, come first */
        at[i] = SIZE_MAX;
        if (!way_of(f, row, s->edges.edge[i], &way[count]))
            continue;
        /* At a corner the edges that meet there are the same: the first stands for all. */
        uint8_t kind = alone_on(&way[count]);
        at[i] = kind != SHARE_ORIGIN && at[kind] != SIZE_MAX ? at[kind] : count++;
    }
    for (uint32_t c = 0; c < e->mix.count; c++)
        in_mix[c] = at[f->mem->code[c * share_padded(s->rows.count) + row]];
    f->mem->stopped[f->mem->job[row]] = true;
    if (count == 0)
        return SHOAL_OK;
    size_t kept = choose_ways(f, e, way, count, in_mix);
    BASE_ROOM(&s->room, f->mem->way, f->ways + kept);
    if (base_room_status(&s->room) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    for (size_t w = 0; w < kept; w++)
        f->mem->way[f->ways++] = way[w];
    return SHOAL_OK;
}

/* Whether a way needs a kind of which nothing is left. */
static bool barred(const struct share_fill_call *f, const struct share_route *w)
{
    return (f->gone[w->edge.high] && f->left[w->edge.high] <= 0) ||
           (w->edge.low != SHARE_ORIGIN && f->gone[w->edge.low] && f->left[w->edge.low] <= 0);
}

/* Drops barred ways, and settles who has a single one left; that may bar others. */
static void prune(struct share_fill_call *f)
{
    struct share_route *way = f->mem->way;
    size_t before;

    do {
        size_t kept = 0, end;
        before = f->ways;
        for (uint32_t k = 0; k < f->s->kinds; k++)
            if (f->left[k] < EMPTY * f->s->capacity[k]) {
                f->gone[k] = true;
                f->left[k] = 0;
            }
        for (size_t i = 0; i < before; i = end) {
            size_t from = kept;
            uint32_t job = way[i].job;
            for (end = i; end < before && way[end].job == job; end++)
                if (!barred(f, &way[end]))
                    way[kept++] = way[end];
            if (kept - from == 1) {
                settle(f, &way[from]);
                kept = from;
            }
        }
        f->ways = kept;
    } while (f->ways < before);
}

/* Kinds that some job with several ways can swap for each other: `group` gets the first kind of
 * each one's group, or SHARE_NO_ROW where nobody has it among several ways. Only exhausted kinds
 * count. */
static void group_kinds(const struct share_fill_call *f, uint32_t *group)
{
    const struct share_route *way = f->mem->way;

    for (uint32_t k = 0; k < f->s->kinds; k++)
        group[k] = SHARE_NO_ROW;
    for (size_t i = 0, end; i < f->ways; i = end) {
        bool in[NUM_KINDS_MAX] = {false};
        uint32_t first = SHARE_NO_ROW;
        for (end = i; end < f->ways && way[end].job == way[i].job; end++) {
            in[way[end].edge.high] = true;
            if (way[end].edge.low != SHARE_ORIGIN)
                in[way[end].edge.low] = true;
        }
        for (uint32_t k = 0; k < f->s->kinds; k++)
            if (in[k] && f->gone[k] && group[k] == SHARE_NO_ROW)
                group[k] = k;
        for (uint32_t k = 0; k < f->s->kinds; k++)
            if (in[k] && f->gone[k] && group[k] < first)
                first = group[k];
        for (uint32_t k = 0; k < f->s->kinds; k++)
            if (in[k] && f->gone[k])
                for (uint32_t j = 0, old = group[k]; j < f->s->kinds; j++)
                    group[j] = group[j] == old ? first : group[j];
    }
}

/* Which equations follow from the others. At the prices of each stage so far all ways of a job cost
 * the same, so in each group of kinds what is used costs a constant: one equation less per group
 * and stage, as far as the stages' prices are independent there (Gauss, largest pivots). */
static void mark_implied(struct share_fill_call *f, uint32_t stage)
{
    uint32_t kinds = f->s->kinds, group[NUM_KINDS_MAX];

    group_kinds(f, group);
    for (uint32_t k = 0; k < kinds; k++)
        f->implied[k] = f->gone[k] && group[k] == SHARE_NO_ROW;
    for (uint32_t g = 0; g < kinds; g++) {
        double row[NUM_KINDS_MAX][NUM_KINDS_MAX];
        for (uint32_t r = 0; r <= stage; r++)
            for (uint32_t k = 0; k < kinds; k++)
                row[r][k] = group[k] == g ? f->paid[r][k] * f->s->capacity[k] : 0;
        for (uint32_t r = 0; r <= stage; r++) {
            uint32_t best = 0;
            double scale = 0;
            for (uint32_t k = 0; k < kinds; k++) {
                scale = fmax(scale, fabs(f->paid[r][k]) * f->s->capacity[k]);
                best = fabs(row[r][k]) > fabs(row[r][best]) ? k : best;
            }
            if (fabs(row[r][best]) <= INDEPENDENT * scale)
                continue;
            f->implied[best] = true;
            for (uint32_t q = r + 1; q <= stage; q++)
                for (uint32_t k = 0; k < kinds; k++)
                    if (k != best)
                        row[q][k] -= row[q][best] / row[r][best] * row[r][k];
            for (uint32_t q = r + 1; q <= stage; q++)
                row[q][best] = 0;
        }
    }
}

/* The kinds that the stage exhausted, and what is left: of exhausted kinds what the mix has those
 * use who keep several ways. */
static void take_kinds(struct share_fill_call *f, const bool *priced, const double *use)
{
    for (uint32_t k = 0; k < f->s->kinds; k++) {
        f->gone[k] = f->gone[k] || priced[k];
        f->left[k] = f->gone[k] ? use[k] : f->left[k];
    }
    prune(f);
}

/* At the highest feasible budget: stops whoever pays anything at these prices. */
static shoal_status stop_at(struct share_fill_call *f, uint32_t stage, const double *price)
{
    struct num_share *s = f->s;
    struct ending e = {.price = price};
    struct share_reply unused;
    bool priced[NUM_KINDS_MAX] = {false};
    size_t rows = s->rows.count;
    shoal_status st = SHOAL_OK;

    mix_of(f, &e.mix);
    for (uint32_t c = 0; st == SHOAL_OK && c < e.mix.count; c++)
        st = num_share_game_ask(f, column_price(f, e.mix.column[c]),
                                f->mem->code + c * share_padded(rows), &unused);
    for (uint32_t k = 0; k < s->kinds; k++) {
        priced[k] = !f->gone[k] && price[k] > 0;
        f->paid[stage][k] = price[k];
    }
    narrow(f, &e);
    for (size_t i = 0; st == SHOAL_OK && i < rows; i++) {
        double reach = 0;
        for (uint32_t k = 0; k < s->kinds; k++)
            if (!priced[k] && s->rows.a[k * s->rows.stride + i] > reach)
                reach = s->rows.a[k * s->rows.stride + i];
        if (s->rows.g[i] > 0 && reach < 1 - SHARE_AT_CAP)
            st = stop_row(f, &e, i);
    }
    take_kinds(f, priced, e.use);
    mark_implied(f, stage);
    return st;
}

/* Everybody has what they get: the mix gives shares to those that did not settle. */
static shoal_status stop_all(struct share_fill_call *f)
{
    struct num_share *s = f->s;
    struct mix mix;
    struct share_reply unused;
    shoal_status st = SHOAL_OK;

    mix_of(f, &mix);
    for (uint32_t c = 0; st == SHOAL_OK && c < mix.count; c++) {
        const double *price = column_price(f, mix.column[c]);
        size_t end;
        struct share_route w;
        st = num_share_game_ask(f, price, f->mem->code, &unused);
        for (size_t i = 0; st == SHOAL_OK && i < s->rows.count; i++)
            if (s->rows.g[i] > 0 && way_of(f, i, s->edges.edge[f->mem->code[i]], &w))
                add_shares(f, &w, mix.part[c]);
        for (size_t i = 0; i < f->ways; i = end)
            add_shares(f, &f->mem->way[num_share_route_cheapest(f, i, price, &end)], mix.part[c]);
    }
    return st;
}

/* ---- the call ---- */

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
            return stop_all(f);
        st = final_prices(f, price);
        if (st == SHOAL_OK && stage == 0) {
            remember_prices(f, price);
            st = price_budget(f, price, budget, total, out);
        }
        if (st == SHOAL_OK)
            st = stop_at(f, stage, price);
        if (st != SHOAL_OK)
            return st;
    }
    f->exact = false;
    return stop_all(f);
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
    f->mem = &s->fill;
    return num_share_tree_set(s, tree, f->p->job_count, f->unit);
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
