/* model_profile.c - the truth of Pollux's simulator: throughput x statistical efficiency from
 * measured tables.
 *
 * Step time of a placement. Rotations of the GPUs-per-node sequence are one placement. If it was
 * measured: linear in the per-GPU batch. Otherwise from (nodes, gpus) columns, the mean over
 * placements of that shape and the separate scaling measurements: linear in the batch when the
 * column exists; else between the columns with the same number of GPUs on fewer and on more nodes.
 * There the published simulator interpolates over a Delaunay triangulation of the points, whose
 * cells are (two node counts) x (two batch sizes) rectangles cut by a diagonal; which diagonal is
 * an accident of its geometry code. We always cut from (fewer nodes, larger batch) to (more nodes,
 * smaller batch): that gives every published average, and 4796 of the 4800 published per-job times
 * exactly, the other four within 0.2 %. A number of GPUs nobody measured is interpolated between
 * its neighbours. Batches outside a column's range continue its first or last stretch.
 *
 * Efficiency. With gradient square norm q and variance v at the initial batch, a step with S times
 * that batch counts as (v + q) / (v / S + q) steps. q and v are read per epoch, linear between the
 * validated batch sizes.
 *
 * Reference: Qiao et al., "Pollux: Co-adaptive Cluster Scheduling for Goodput-Optimized Deep
 * Learning", OSDI 2021. */
#include "sched/model_profile.h"

#include "base/assert.h"
#include <math.h>

struct times {
    double step_s, sync_s;
};

static struct times mix(double wa, struct times a, double wb, struct times b)
{
    return (struct times){wa * a.step_s + wb * b.step_s, wa * a.sync_s + wb * b.sync_s};
}

/* Position i of the stretch [local[i], local[i+1]] to use for `local`. */
static uint32_t stretch(const struct sched_profile_column *c, double local)
{
    uint32_t i = 0;

    while (i + 2 < c->count && local > c->local[i + 1])
        i++;
    return i;
}

static struct times at(const struct sched_profile_column *c, uint32_t i)
{
    return (struct times){c->step_s[i], c->sync_s[i]};
}

static struct times column_at(const struct sched_profile_column *c, double local)
{
    if (c->count == 1)
        return at(c, 0);
    uint32_t i = stretch(c, local);
    double x0 = c->local[i], dx = c->local[i + 1] - x0;
    struct times a = at(c, i), b = at(c, i + 1);
    struct times t = {(b.step_s - a.step_s) / dx * (local - x0) + a.step_s,
                      (b.sync_s - a.sync_s) / dx * (local - x0) + a.sync_s};
    double least = 1e-3 * (a.step_s < b.step_s ? a.step_s : b.step_s);
    if (t.sync_s > t.step_s)
        t.sync_s = t.step_s; /* outside the range: all of it is synchronisation, never more */
    return t.step_s > least ? t : (struct times){least, 0}; /* far outside the range */
}

/* Between two columns of the same gpus, s in (0, 1) of the way from the fewer nodes to the more. */
static struct times between(const struct sched_profile_column *few,
                            const struct sched_profile_column *many, double s, double local)
{
    if (few->count == 1 || many->count == 1)
        return mix(1 - s, column_at(few, local), s, column_at(many, local));
    uint32_t i = stretch(few, local);
    double b0 = few->local[i], b1 = few->local[i + 1], t = (local - b0) / (b1 - b0);
    if (t < 0 || t > 1)
        return mix(1 - s, column_at(few, local), s, column_at(many, local));
    if (s + t <= 1) {
        struct times p00 = column_at(few, b0), p10 = column_at(many, b0), p01 = column_at(few, b1);
        return mix(1, mix(1 - s - t, p00, s, p10), t, p01);
    }
    struct times p11 = column_at(many, b1), p10 = column_at(many, b0), p01 = column_at(few, b1);
    return mix(1, mix(s + t - 1, p11, 1 - t, p10), 1 - s, p01);
}

/* Columns of exactly `gpus` around `nodes`. False when none has that many GPUs. */
static bool same_gpus(const struct sched_profile_kind *kind, uint32_t nodes, uint32_t gpus,
                      double local, struct times *out)
{
    const struct sched_profile_column *few = NULL, *many = NULL;

    for (uint32_t i = 0; i < kind->column_count; i++) {
        const struct sched_profile_column *c = &kind->columns[i];
        if (c->gpus != gpus)
            continue;
        if (c->nodes <= nodes)
            few = c;
        if (c->nodes >= nodes && many == NULL)
            many = c;
    }
    if (few == NULL && many == NULL)
        return false;
    if (few == NULL || many == NULL || few == many)
        *out = column_at(few != NULL ? few : many, local);
    else
        *out = between(few, many, (double)(nodes - few->nodes) / (double)(many->nodes - few->nodes),
                       local);
    return true;
}

static bool shape_times(const struct sched_profile_kind *kind, uint32_t nodes, uint32_t gpus,
                        double local, struct times *out)
{
    uint32_t less = 0, more = 0;

    if (same_gpus(kind, nodes, gpus, local, out))
        return true;
    for (uint32_t i = 0; i < kind->column_count; i++) {
        uint32_t g = kind->columns[i].gpus;
        if (g < gpus && g > less)
            less = g;
        if (g > gpus && (more == 0 || g < more))
            more = g;
    }
    if (less == 0 || more == 0)
        return false; /* more GPUs than ever measured: nothing to go by */
    struct times a, b;
    same_gpus(kind, nodes, less, local, &a);
    same_gpus(kind, nodes, more, local, &b);
    double s = (double)(gpus - less) / (double)(more - less);
    *out = mix(1 - s, a, s, b);
    return true;
}

enum { PLACEMENT_NODES_MAX = 18 };

/* Digits of the smallest rotation, or 0 when the placement cannot be written so. */
static uint64_t placement_key(const struct sched_place *places, uint32_t count)
{
    uint64_t best = 0;

    if (count > PLACEMENT_NODES_MAX)
        return 0;
    for (uint32_t r = 0; r < count; r++) {
        uint64_t key = 0;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t gpus = places[(r + i) % count].gpus;
            if (gpus > 9)
                return 0;
            key = key * 10 + gpus;
        }
        if (r == 0 || key < best)
            best = key;
    }
    return best;
}

static const struct sched_profile_column *find_placement(const struct sched_profile_kind *kind,
                                                         uint64_t key)
{
    uint32_t lo = 0, hi = kind->placement_count;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (kind->placements[mid].placement < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < kind->placement_count && kind->placements[lo].placement == key
               ? &kind->placements[lo]
               : NULL;
}

bool sched_profile_step(const struct sched_profile_kind *kind, const struct sched_place *places,
                        uint32_t place_count, double local, double *out_step_s, double *out_sync_s)
{
    uint64_t key = placement_key(places, place_count);
    const struct sched_profile_column *measured = key != 0 ? find_placement(kind, key) : NULL;
    struct times t;

    if (measured != NULL) {
        t = column_at(measured, local);
    } else {
        uint32_t gpus = 0, nodes = place_count < kind->nodes_max ? place_count : kind->nodes_max;
        for (uint32_t i = 0; i < place_count; i++)
            gpus += places[i].gpus;
        if (!shape_times(kind, nodes, gpus, local, &t))
            return false;
    }
    *out_step_s = t.step_s;
    *out_sync_s = t.sync_s;
    return true;
}

/* ---- the model ---- */

static struct sched_batch choose_batch(const struct sched_model *m, const struct sched_alloc *a)
{
    const struct sched_profile *p = m->data;
    double gpus = a->gpus, total = m->batch != 0 ? m->batch : p->batch_initial;

    if (p->kinds[a->kind].local_max == 0)
        return (struct sched_batch){.local = 1,
                                    .passes = 1}; /* not profiled there: time_per_step says so */
    double local = ceil(total / gpus - 1e-8);
    double extra = ceil(local / p->kinds[a->kind].local_max - 1e-8) - 1; /* accumulation steps */

    if (a->gpus == 1 && total > p->batch_initial && extra < 1)
        extra = 1;
    double each = ceil(local / (extra + 1) - 1e-8);
    double most = floor(p->batch_max / (gpus * (extra + 1)));
    if (each > most)
        each = most;
    return (struct sched_batch){.local = each < 1 ? 1 : (uint32_t)each,
                                .passes = (uint32_t)extra + 1};
}

static double time_per_step(const struct sched_model *m, const struct sched_alloc *a,
                            struct sched_batch batch, const struct sched_model *partner)
{
    const struct sched_profile *p = m->data;
    const struct sched_profile_kind *kind = &p->kinds[a->kind];
    double step, sync;

    if (partner != NULL || kind->column_count == 0 ||
        !sched_profile_step(kind, a->places, a->place_count, batch.local, &step, &sync))
        return INFINITY;
    return step + (step - sync) * (batch.passes - 1);
}

static uint32_t epoch_of(const struct sched_profile *p, double progress)
{
    uint32_t lo = 0, hi = p->epochs - 1;

    while (lo < hi) { /* the first epoch that ends after `progress` */
        uint32_t mid = lo + (hi - lo) / 2;
        if (p->progress_end[mid] > progress)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* Gradient statistics in an epoch with this total batch. */
static void grad_stats(const struct sched_profile *p, uint32_t epoch, double total, double *out_sqr,
                       double *out_var)
{
    uint32_t lo = 0, hi = p->validated_count - 1;

    while (lo + 1 < p->validated_count && p->validated[lo + 1] <= total)
        lo++;
    while (hi > 0 && p->validated[hi - 1] >= total)
        hi--;
    double blo = p->validated[lo], bhi = p->validated[hi];
    double q = p->grad_sqr[(size_t)lo * p->epochs + epoch];
    double v = p->grad_var[(size_t)lo * p->epochs + epoch];
    if (blo < bhi) {
        double q1 = p->grad_sqr[(size_t)hi * p->epochs + epoch];
        double v1 = p->grad_var[(size_t)hi * p->epochs + epoch];
        q = ((total - blo) * q1 + (bhi - total) * q) / (bhi - blo);
        v = ((total - blo) * v1 + (bhi - total) * v) / (bhi - blo);
    }
    *out_sqr = q;
    *out_var = v;
}

static double progress_per_step(const struct sched_model *m, const struct sched_alloc *a,
                                struct sched_batch batch, double progress, double *out_until)
{
    const struct sched_profile *p = m->data;
    uint32_t epoch = epoch_of(p, progress);
    double total = (double)a->gpus * batch.local * batch.passes, scale = total / p->batch_initial;
    double q, v;

    *out_until = p->progress_end[epoch];
    grad_stats(p, epoch, total, &q, &v);
    return (v + q) / (v / scale + q);
}

static void limits(const struct sched_model *m, struct sched_limits *out)
{
    const struct sched_profile *p = m->data;

    *out = (struct sched_limits){.batch_initial = p->batch_initial,
                                 .batch_max = p->batch_max,
                                 .local_min = p->local_min,
                                 .gpus_max = p->gpus_max};
    for (uint32_t k = 0; k < SCHED_KINDS_MAX; k++) {
        const struct sched_profile_kind *kind = &p->kinds[k];
        out->local_max[k] = kind->local_max;
        if (kind->column_count > 0)
            out->kind_gpus_max[k] = kind->columns[kind->column_count - 1].gpus; /* sorted by them */
    }
}

static bool observe(const struct sched_model *m, const struct sched_alloc *a,
                    struct sched_batch batch, double progress, struct sched_observed *out)
{
    const struct sched_profile *p = m->data;
    double step, sync, total = (double)a->gpus * batch.local * batch.passes;

    if (!sched_profile_step(&p->kinds[a->kind], a->places, a->place_count, batch.local, &step,
                            &sync))
        return false;
    /* between measured batches the line through them may leave synchronisation below nothing */
    *out = (struct sched_observed){.pass_s = step - fmax(sync, 0), .step_s = step};
    grad_stats(p, epoch_of(p, progress), total, &out->grad_sqr, &out->grad_var);
    return true;
}

static const struct sched_model_ops profile_ops = {
    .name = "profile",
    .tick_s = 1,
    .choose_batch = choose_batch,
    .time_per_step = time_per_step,
    .progress_per_step = progress_per_step,
    .limits = limits,
    .observe = observe,
};

struct sched_model sched_model_profile(const struct sched_profile *profile, uint32_t batch)
{
    return (struct sched_model){.ops = &profile_ops,
                                .data = profile,
                                .work = profile->progress_end[profile->epochs - 1],
                                .batch = batch};
}
