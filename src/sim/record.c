/* record.c - what pictures need, in bounded memory: means over equal steps of time, and who sat on
 * which GPU rows.
 *
 * Series: SAMPLES steps; when time runs past the last one, neighbours are averaged and the step
 * doubles, so a run of any length keeps between half and all of the resolution. Segments: a job on
 * a node gets the lowest free rows of that node; jobs that share GPUs share rows, and a job whose
 * partner changes is seated anew. Recording of segments stops at SEGMENTS_MAX, and the result says
 * so. Prices have series too once a policy names some; they hold until it names others, and are 0
 * while no job is live. */
#include "sim/state.h"

#include "base/assert.h"
#include "base/err.h"
#include <math.h>
#include <string.h>

enum { SAMPLES = 2048, SEGMENTS_MAX = 200000 };

struct sim_recorder {
    const struct base_alloc *alloc;
    double origin_s, step_s;
    uint32_t kinds;
    /* Value x seconds, per step: busy per kind, waiting, running, prices per kind, next prices. */
    double *sums[3 * SCHED_KINDS_MAX + 2];
    uint32_t series_count; /* without the prices until some are named */
    double price[SCHED_KINDS_MAX];
    bool next; /* they are of what comes next */
    const char *unit[2];
    double held_s[2];
    uint64_t *node_rows, *node_shared; /* rows in use, and in use by two jobs, per node */
    struct sim_segment *segments;
    size_t segment_count, segment_cap;
    bool cut;
};

shoal_status sim_recorder_new(struct sim_state *s, struct sim_recorder **out)
{
    struct sim_recorder *r = base_calloc(s->alloc, 1, sizeof *r);

    if (r == NULL)
        return SHOAL_E_NOMEM;
    r->alloc = s->alloc;
    r->origin_s = s->origin_s;
    r->step_s = s->opts->how.round_s;
    r->kinds = s->cluster->kind_count;
    r->series_count = r->kinds + 2;
    r->node_rows = base_calloc(s->alloc, s->cluster->node_count, sizeof *r->node_rows);
    r->node_shared = base_calloc(s->alloc, s->cluster->node_count, sizeof *r->node_shared);
    bool ok = r->node_rows != NULL && r->node_shared != NULL;
    for (uint32_t i = 0; i < r->series_count; i++) {
        r->sums[i] = base_calloc(s->alloc, SAMPLES, sizeof *r->sums[i]);
        ok = ok && r->sums[i] != NULL;
    }
    if (!ok) {
        sim_recorder_free(r);
        return SHOAL_E_NOMEM;
    }
    *out = r;
    return SHOAL_OK;
}

void sim_recorder_free(struct sim_recorder *r)
{
    if (r == NULL)
        return;
    for (uint32_t i = 0; i < r->series_count; i++)
        base_free(r->alloc, r->sums[i]);
    base_free(r->alloc, r->node_rows);
    base_free(r->alloc, r->node_shared);
    base_free(r->alloc, r->segments);
    base_free(r->alloc, r);
}

static void halve(struct sim_recorder *r)
{
    for (uint32_t i = 0; i < r->series_count; i++) {
        for (size_t k = 0; k < SAMPLES / 2; k++)
            r->sums[i][k] = r->sums[i][2 * k] + r->sums[i][2 * k + 1];
        memset(r->sums[i] + SAMPLES / 2, 0, SAMPLES / 2 * sizeof *r->sums[i]);
    }
    r->step_s *= 2;
}

/* Adds value x seconds of [from, to) to the steps it covers. */
static void spread(struct sim_recorder *r, uint32_t series, double value, double from_s,
                   double to_s)
{
    if (value == 0)
        return;
    from_s -= r->origin_s;
    to_s -= r->origin_s;
    for (size_t k = (size_t)(from_s / r->step_s); k < SAMPLES && from_s < to_s; k++) {
        double end = (double)(k + 1) * r->step_s;
        end = end < to_s ? end : to_s;
        if (end > from_s)
            r->sums[series][k] += value * (end - from_s);
        from_s = end;
    }
}

/* GPUs counted once when two jobs share them. */
static bool counted(const struct sim_active *a)
{
    return a->partner == NULL || a->job.id < a->partner->job.id;
}

/* The GPUs of an ended job are free from its end on, unless a partner goes on with them. */
static bool last_holder(const struct sim_active *a)
{
    const struct sim_active *b = a->partner;

    if (b == NULL)
        return true;
    return !isnan(b->end_s) &&
           (a->end_s > b->end_s || (a->end_s == b->end_s && a->job.id > b->job.id));
}

shoal_status sim_record_prices(struct sim_state *s, const struct sched_plan *plan)
{
    struct sim_recorder *r = s->recorder;
    const double *prices = sched_plan_prices(plan);

    if (r == NULL || prices == NULL)
        return SHOAL_OK;
    const char *unit = sched_plan_price_unit(plan, &r->next);
    r->unit[r->next] = unit != NULL ? unit : r->unit[r->next];
    for (; r->series_count < 3 * r->kinds + 2; r->series_count++) {
        double *sums = base_calloc(s->alloc, SAMPLES, sizeof *sums);
        if (sums == NULL)
            return base_err_nomem(s->err, "recording the run");
        r->sums[r->series_count] = sums;
    }
    for (uint32_t k = 0; k < r->kinds; k++)
        if (isfinite(prices[k]))
            r->price[k] = prices[k];
    return SHOAL_OK;
}

void sim_record_stretch(struct sim_state *s, double to_s)
{
    struct sim_recorder *r = s->recorder;

    if (r == NULL || to_s <= s->now_s)
        return;
    while (to_s - r->origin_s > SAMPLES * r->step_s)
        halve(r);
    double running = 0;
    double busy[SCHED_KINDS_MAX] = {0};
    for (size_t i = 0; i < s->job_count; i++) {
        const struct sim_active *a = sim_active_of(s->jobs[i]);
        if (!sim_running(a))
            continue;
        running++;
        if (counted(a))
            busy[a->job.alloc.kind] += a->job.alloc.gpus;
    }
    for (uint32_t k = 0; k < r->kinds; k++)
        spread(r, k, busy[k], s->now_s, to_s);
    spread(r, r->kinds, (double)s->job_count - running, s->now_s, to_s);
    spread(r, r->kinds + 1, running, s->now_s, to_s);
    if (r->series_count > r->kinds + 2 && s->job_count > 0) {
        uint32_t first = r->kinds + 2 + (r->next ? r->kinds : 0);
        for (uint32_t k = 0; k < r->kinds; k++)
            spread(r, first + k, r->price[k], s->now_s, to_s);
        r->held_s[r->next] += to_s - s->now_s;
    }
    /* Jobs that ended inside the stretch are taken off again for its rest. */
    for (size_t e = 0; e < s->ended_count; e++) {
        const struct sim_active *a = s->ended[e];
        if (last_holder(a))
            spread(r, a->job.alloc.kind, -(double)a->job.alloc.gpus, a->end_s, to_s);
        spread(r, r->kinds + 1, -1, a->end_s, to_s);
    }
    /* Jobs that arrive inside it wait for the next round. */
    for (size_t i = s->next_arrival; i < s->trace->job_count && s->trace->jobs[i].submit_s < to_s;
         i++)
        if (s->trace->jobs[i].kinds != 0)
            spread(r, r->kinds, 1, s->trace->jobs[i].submit_s, to_s);
}

static uint64_t lowest_rows(uint64_t used, uint32_t count)
{
    uint64_t rows = 0;

    for (uint32_t i = 0; i < 64 && count > 0; i++)
        if ((used >> i & 1) == 0) {
            rows |= UINT64_C(1) << i;
            count--;
        }
    return rows;
}

void sim_record_start(struct sim_state *s, struct sim_active *a)
{
    struct sim_recorder *r = s->recorder;
    const struct sched_alloc *al = &a->job.alloc;

    a->segment = 0;
    if (r == NULL || r->cut)
        return;
    if (r->segment_count + al->place_count > SEGMENTS_MAX ||
        base_reserve(r->alloc, (void **)&r->segments, &r->segment_cap,
                     r->segment_count + al->place_count, sizeof *r->segments) != 0) {
        r->cut = true;
        return;
    }
    a->segment = (uint32_t)r->segment_count + 1;
    uint32_t shared = a->partner != NULL ? a->partner->segment : 0;
    for (uint32_t i = 0; i < al->place_count; i++) {
        uint32_t node = al->places[i].node;
        uint64_t rows = shared != 0 ? r->segments[shared - 1 + i].rows
                                    : lowest_rows(r->node_rows[node], al->places[i].gpus);
        r->node_shared[node] |= rows & r->node_rows[node];
        r->node_rows[node] |= rows;
        r->segments[r->segment_count++] = (struct sim_segment){.from_s = s->now_s - r->origin_s,
                                                               .to_s = -1,
                                                               .rows = rows,
                                                               .job = a->job.id,
                                                               .node = node};
    }
}

void sim_record_stop(struct sim_state *s, struct sim_active *a, double when_s)
{
    struct sim_recorder *r = s->recorder;

    if (r == NULL || a->segment == 0)
        return;
    for (uint32_t i = 0; i < a->job.alloc.place_count; i++) {
        struct sim_segment *g = &r->segments[a->segment - 1 + i];
        uint64_t *rows = &r->node_rows[g->node], *shared = &r->node_shared[g->node];
        g->to_s = when_s - r->origin_s;
        *rows &= ~(g->rows & ~*shared);
        *shared &= ~g->rows;
    }
    a->segment = 0;
}

static float *take_series(struct sim_state *s, const double *sums, size_t count)
{
    float *out = base_malloc(s->alloc, count * sizeof *out);

    for (size_t i = 0; out != NULL && i < count; i++)
        out[i] = (float)(sums[i] / s->recorder->step_s);
    return out;
}

shoal_status sim_record_finish(struct sim_state *s)
{
    struct sim_recorder *r = s->recorder;
    struct sim_series *out = &s->result->series;
    size_t count = (size_t)(s->result->metrics.makespan_s / r->step_s) + 1;

    count = count < SAMPLES ? count : SAMPLES;
    out->step_s = r->step_s;
    out->count = count;
    bool ok = true;
    bool priced = r->series_count > r->kinds + 2;
    for (uint32_t k = 0; k < r->kinds; k++) {
        out->busy[k] = take_series(s, r->sums[k], count);
        ok = ok && out->busy[k] != NULL;
        if (priced) {
            out->price[k] = take_series(s, r->sums[r->kinds + 2 + k], count);
            out->next[k] = take_series(s, r->sums[2 * r->kinds + 2 + k], count);
            ok = ok && out->price[k] != NULL && out->next[k] != NULL;
        }
    }
    out->price_unit = r->unit[false];
    out->next_unit = r->unit[true];
    out->price_s = r->held_s[false];
    out->next_s = r->held_s[true];
    out->waiting = take_series(s, r->sums[r->kinds], count);
    out->running = take_series(s, r->sums[r->kinds + 1], count);
    if (!ok || out->waiting == NULL || out->running == NULL)
        return base_err_nomem(s->err, "recording the run");
    s->result->segments = r->segments;
    s->result->segment_count = r->segment_count;
    s->result->segments_cut = r->cut;
    r->segments = NULL;
    return SHOAL_OK;
}
