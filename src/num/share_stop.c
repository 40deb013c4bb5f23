/* share_stop.c - water filling: the end of a stage.
 *
 * Who pays something at the final prices stops (share_fill.c says why). A stopped job's ways are
 * the edges that reach its speed at least cost. One way: its shares are final. Several: they stay a
 * choice for later stages, which may need the swap, and the kinds they touch are used exactly. */
#include "num/share_fill.h"

#include <math.h>
#include <string.h>

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
    if (base_reserve(s->alloc, (void **)&f->mem->way, &f->mem->way_cap, f->ways + kept,
                     sizeof *f->mem->way) != 0)
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

shoal_status num_share_stop_at(struct share_fill_call *f, uint32_t stage, const double *price)
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

shoal_status num_share_stop_all(struct share_fill_call *f)
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
