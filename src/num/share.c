/* share.c - the solver object, its entry points, and the search along a curve of needs.
 *
 * The method is in share_level.c, share_sum.c and share_fill.c. A curve is searched by what the
 * level solver says about one point: scale t such that t need(theta) is just feasible; theta is
 * right when t is 1. log t is a monotone function of log theta, close to a line, so regula falsi
 * with the Illinois rule takes a handful of warm solves. */
#include "num/share.h"

#include "base/assert.h"
#include "num/share_core.h"

#include <math.h>
#include <string.h>

enum {
    TEAM_CHUNKS_MIN = 4,  /* fewer are done before the threads are awake */
    CURVE_STEPS_MAX = 200 /* solves along a curve; a handful is usual */
};

shoal_status num_share_new(const struct base_alloc *alloc, const struct num_team *team,
                           struct num_share **out)
{
    struct num_share *s = base_calloc(alloc, 1, sizeof *s);

    if (s == NULL)
        return SHOAL_E_NOMEM;
    s->alloc = s->room.alloc = alloc;
    s->team = team;
    s->tolerance = 1e-9;
    s->ask = num_share_ask_find(SHARE_LANES);
    s->sum.ask = num_share_ways_find(SHARE_LANES);
    *out = s;
    return SHOAL_OK;
}

void num_share_free(struct num_share *s)
{
    if (s == NULL)
        return;
    num_lp_free(s->master);
    num_lp_free(s->sum.master);
    base_room_fini(&s->room);
    base_free(s->alloc, s);
}

void num_share_cold(struct num_share *s)
{
    s->warm = false;
    s->sum_kinds = 0;
}

void num_share_set_tolerance(struct num_share *s, double tolerance)
{
    s->tolerance = tolerance;
}

/* a is one block for all kinds. */
shoal_status num_share_rows_reserve(struct base_room *room, struct share_rows *rows, uint32_t kinds,
                                    size_t count)
{
    size_t stride = (count + SHARE_BLOCK) / SHARE_LANES * SHARE_LANES;

    BASE_ROOM(room, rows->a, stride * kinds);
    BASE_ROOM(room, rows->g, stride);
    if (base_room_status(room) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    rows->kinds = kinds;
    rows->count = count;
    rows->stride = stride;
    for (size_t i = count; i < stride; i++) {
        rows->g[i] = 0;
        for (uint32_t j = 0; j < kinds; j++)
            rows->a[j * stride + i] = j == 0 ? 1e300 : 0; /* any speed for nothing */
    }
    return SHOAL_OK;
}

shoal_status num_share_each(const struct num_share *s, size_t chunks,
                            void (*fn)(void *arg, size_t index), void *arg)
{
    if (s->team != NULL && s->team->threads > 1 && chunks >= TEAM_CHUNKS_MIN)
        return s->team->run(s->team->ctx, chunks, fn, arg);
    for (size_t i = 0; i < chunks; i++)
        fn(arg, i);
    return SHOAL_OK;
}

shoal_status num_share_col(struct num_share *s, struct num_lp *master, uint32_t *columns,
                           double worth, const double *column, const double *price)
{
    size_t kinds = s->kinds;
    uint32_t index;

    BASE_ROOM(&s->room, s->col_price, (*columns + (size_t)1) * kinds);
    if (base_room_status(&s->room) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    memcpy(s->col_price + *columns * kinds, price, kinds * sizeof *price);
    ++*columns;
    return num_lp_add(master, worth, column, &index);
}

uint32_t num_share_col_keep(struct num_share *s, uint32_t columns)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < columns; i++)
        if (num_lp_value(s->master, i) > 0)
            memmove(s->col_price + (size_t)s->kinds * kept++, s->col_price + (size_t)s->kinds * i,
                    s->kinds * sizeof *s->col_price);
    return kept;
}

static bool in_range(double v)
{
    return v >= 0 && v <= 1e300; /* false for NaN */
}

struct prepare {
    struct num_share *s;
    const struct num_share_problem *p;
    const double *need;
};

/* What one chunk found goes into its slot: the top level and its row; NAN: bad values. */
static void prepare_chunk(void *arg, size_t index)
{
    const struct prepare *in = arg;
    struct num_share *s = in->s;
    const struct num_share_problem *p = in->p;
    size_t end =
        (index + 1) * SHARE_CHUNK < p->job_count ? (index + 1) * SHARE_CHUNK : p->job_count;
    double top = INFINITY;
    size_t top_row = 0;
    bool ok = true;

    for (size_t m = index * SHARE_CHUNK; m < end; m++) {
        double need = in->need[m], per = 1 / need, fastest = 0;
        double count = share_count(p, m);
        ok = ok && in_range(need) && in_range(p->gpus[m]) && p->gpus[m] > 0 && in_range(count) &&
             count > 0;
        for (uint32_t j = 0; j < p->kind_count; j++)
            ok = ok && in_range(p->rate[m * p->kind_count + j]);
        for (uint32_t j = 0; j < s->kinds; j++) {
            double a = p->rate[m * p->kind_count + s->kind_of[j]] * per;
            if (need == 0)
                a = j == 0 ? 1e300 : 0;
            s->rows.a[j * s->rows.stride + m] = a;
            fastest = fmax(fastest, a);
        }
        s->rows.g[m] = need == 0 ? 0 : p->gpus[m] * count;
        if (need > 0 && fastest < top) {
            top = fastest;
            top_row = m;
        }
    }
    s->chunk_top[index] = (struct share_top){.level = ok ? top : NAN, .row = top_row};
}

shoal_status num_share_prepare(struct num_share *s, const struct num_share_problem *p,
                               const double *need)
{
    size_t chunks = share_chunks(p->job_count);

    if (p->kind_count < 1 || p->kind_count > NUM_KINDS_MAX || p->job_count > UINT32_MAX / 2)
        return SHOAL_E_INVAL;
    s->kinds = 0;
    for (uint32_t j = 0; j < p->kind_count; j++) {
        if (!in_range(p->capacity[j]))
            return SHOAL_E_INVAL;
        if (p->capacity[j] > 0) {
            s->kind_of[s->kinds] = j;
            s->capacity[s->kinds++] = p->capacity[j];
        }
    }
    BASE_ROOM(&s->room, s->chunk_top, chunks + 1);
    shoal_status st =
        num_share_rows_reserve(&s->room, &s->rows, s->kinds > 0 ? s->kinds : 1, p->job_count);
    if (st != SHOAL_OK)
        return st;
    struct prepare in = {.s = s, .p = p, .need = need};
    st = num_share_each(s, chunks, prepare_chunk, &in);
    if (st != SHOAL_OK)
        return st;
    s->top = INFINITY;
    for (size_t i = 0; i < chunks; i++) {
        if (isnan(s->chunk_top[i].level))
            return SHOAL_E_INVAL;
        if (s->chunk_top[i].level < s->top) {
            s->top = s->chunk_top[i].level;
            s->top_row = s->chunk_top[i].row;
        }
    }
    return SHOAL_OK;
}

shoal_status num_share_nothing(struct num_share *s, const struct num_share_problem *p, double level,
                               struct num_share_result *out)
{
    size_t n = p->job_count;

    BASE_ROOM(&s->room, s->x, n * p->kind_count + 1);
    BASE_ROOM(&s->room, s->slope, n + 1);
    if (base_room_status(&s->room) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    memset(s->x, 0, n * p->kind_count * sizeof *s->x);
    memset(s->slope, 0, n * sizeof *s->slope);
    *out = (struct num_share_result){
        .level = level, .bound = level, .x = s->x, .slope = s->slope, .exact = true};
    return SHOAL_OK;
}

shoal_status num_share_level(struct num_share *s, const struct num_share_problem *p,
                             const double *need, struct num_share_result *out)
{
    shoal_status st = num_share_prepare(s, p, need);

    if (st != SHOAL_OK)
        return st;
    if (s->top == 0 || s->top == INFINITY) { /* somebody can run nowhere; nobody needs anything */
        st = num_share_nothing(s, p, s->top, out);
        if (st != SHOAL_OK || s->top > 0)
            return st;
        s->slope[s->top_row] = 1;
        for (uint32_t j = 0; j < p->kind_count; j++)
            if (p->capacity[j] == 0)
                out->price[j] = num_share_price_of_none(s, p, need, out->price, j);
        return SHOAL_OK;
    }
    return num_share_level_solve(s, p, need, out);
}

/* One point of a curve: log of the scale at which its needs are just feasible. */
struct point {
    double theta, log_t;
};

static shoal_status try_point(struct num_share *s, const struct num_share_problem *p, double theta,
                              num_share_need_fn *need, void *ctx, struct num_share_result *out,
                              double *out_log_t)
{
    need(ctx, theta, s->need);
    *out_log_t = -INFINITY;
    for (size_t m = 0; m < p->job_count; m++)
        if (s->need[m] == INFINITY)
            return SHOAL_OK;
    shoal_status st = num_share_level(s, p, s->need, out);
    if (st == SHOAL_OK)
        *out_log_t = log(out->level);
    return st;
}

/* Where to look next between an infeasible and a feasible point: on the line through both, in
 * log theta where both are positive, kept off the ends. */
static double between(struct point low, struct point high)
{
    bool logs = low.theta > 0;
    double a = logs ? log(low.theta) : low.theta, b = logs ? log(high.theta) : high.theta;
    double part = 0.5;

    if (isfinite(low.log_t) && isfinite(high.log_t))
        part = -low.log_t / (high.log_t - low.log_t);
    part = fmin(fmax(part, 1e-9), 1 - 1e-9);
    double at = a + part * (b - a);
    return logs ? exp(at) : at;
}

/* Even the highest theta is: nobody gets anything, and the prices prove it. */
static shoal_status out_of_reach(struct num_share *s, const struct num_share_problem *p,
                                 const double *price, struct num_share_result *out)
{
    shoal_status st = num_share_nothing(s, p, INFINITY, out);

    if (st == SHOAL_OK)
        memcpy(out->price, price, sizeof out->price);
    return st;
}

shoal_status num_share_curve(struct num_share *s, const struct num_share_problem *p, double low,
                             double high, num_share_need_fn *need, void *ctx,
                             struct num_share_result *out)
{
    struct point bad = {.theta = low, .log_t = -INFINITY}, good = {.theta = high};
    struct num_share_result found = {0};
    uint32_t passes = 0;
    int side = 0;

    if (!(low <= high) || !isfinite(low) || !isfinite(high))
        return SHOAL_E_INVAL;
    BASE_ROOM(&s->room, s->need, p->job_count + 1);
    shoal_status st = base_room_status(&s->room);
    if (st == SHOAL_OK)
        st = try_point(s, p, high, need, ctx, &found, &good.log_t);
    if (st != SHOAL_OK)
        return st;
    double slack = 0.5 * s->tolerance; /* a point is feasible when its scale is 1 but for this */
    if (good.log_t < -slack)
        return out_of_reach(s, p, found.price, out);
    passes += found.passes;
    for (uint32_t step = 0; step < CURVE_STEPS_MAX && good.log_t > slack &&
                            good.theta - bad.theta > 0.1 * s->tolerance * fabs(good.theta);
         step++) {
        double at = step == 0 ? low : between(bad, good), log_t;
        struct num_share_result tried = {0};
        st = try_point(s, p, at, need, ctx, &tried, &log_t);
        if (st != SHOAL_OK)
            return st;
        passes += tried.passes;
        if (log_t >= -slack) {
            good = (struct point){.theta = at, .log_t = log_t};
            if (side > 0)
                bad.log_t /= 2;
            side = 1;
        } else {
            bad = (struct point){.theta = at, .log_t = log_t};
            if (side < 0)
                good.log_t /= 2;
            side = -1;
        }
        if (step == 0 && log_t >= -slack)
            break; /* even the lowest is feasible */
    }
    double log_t;
    st = try_point(s, p, good.theta, need, ctx, out, &log_t);
    if (st != SHOAL_OK)
        return st;
    out->passes += passes;
    out->level = good.theta;
    out->bound = good.theta;
    return SHOAL_OK;
}
