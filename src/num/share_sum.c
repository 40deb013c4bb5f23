/* share_sum.c - the largest sum of value x share, with floors under the speeds of jobs: the problem
 * as columns of numbers, and the answer from the mix of ways that share_climb.c ends with. */
#include "num/share_sum.h"

#include <math.h>
#include <string.h>

void num_share_sum_free(struct num_share *s)
{
    if (s->sum == NULL)
        return;
    num_lp_free(s->sum->master);
    base_free(s->alloc, s->sum->all.cells);
    base_free(s->alloc, s->sum->open.cells);
    base_free(s->alloc, s->sum->code);
    base_free(s->alloc, s->sum->open_code);
    base_free(s->alloc, s->sum->open_row);
    base_free(s->alloc, s->sum->chunks);
    base_free(s->alloc, s->sum);
    s->sum = NULL;
}

/* ---- the problem by columns ---- */

static shoal_status reserve(struct num_share *s, size_t count)
{
    size_t rows = share_chunks(count + 1) * SHARE_CHUNK;

    if (s->sum == NULL) {
        s->sum = base_calloc(s->alloc, 1, sizeof *s->sum);
        if (s->sum == NULL)
            return SHOAL_E_NOMEM;
        s->sum->ask = num_share_ways_find(SHARE_LANES);
    }
    struct share_sum *mem = s->sum;
    if (base_reserve(s->alloc, (void **)&mem->code, &mem->code_cap, rows, sizeof *mem->code) != 0 ||
        base_reserve(s->alloc, (void **)&mem->open_code, &mem->open_code_cap, rows,
                     sizeof *mem->open_code) != 0 ||
        base_reserve(s->alloc, (void **)&mem->open_row, &mem->open_row_cap, rows,
                     sizeof *mem->open_row) != 0 ||
        base_reserve(s->alloc, (void **)&mem->chunks, &mem->chunks_cap, share_chunks(count + 1),
                     sizeof *mem->chunks) != 0)
        return SHOAL_E_NOMEM;
    num_share_edges(s->kinds, &mem->edges);
    return num_share_ways_reserve(s->alloc, &mem->all, s->kinds, count);
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
        .s = s, .mem = s->sum, .p = p, .tolerance = s->tolerance, .bound = INFINITY};
    struct transpose a = {.q = out, .value = value, .floor = floor, .weight = weight};
    return num_share_each(s, share_chunks(p->job_count), transpose_chunk, &a);
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
        struct share_way way = num_share_ways_spell(&mem->all, &mem->edges, row, mem->code[row]);
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
        shoal_status st = num_share_sum_pass(q, q->rows, price, NULL, mem->open_code, &unused);
        if (st != SHOAL_OK)
            return st;
        for (size_t i = 0; i < q->rows->count; i++) {
            struct share_way way = num_share_ways_spell(q->rows, &mem->edges, i, mem->open_code[i]);
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

    if (base_reserve(s->alloc, (void **)&s->need, &s->need_cap, n + 1, sizeof *s->need) != 0)
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
    if (base_reserve(s->alloc, (void **)&s->first, &s->first_cap, cells + 1, sizeof *s->first) != 0)
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
    if (base_reserve(s->alloc, (void **)&s->x, &s->x_cap, p->job_count * p->kind_count,
                     sizeof *s->x) != 0)
        return SHOAL_E_NOMEM;
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
