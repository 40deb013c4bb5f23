/* model.c - the parts of job models that do not depend on their source, and plain durations.
 *
 * ideal_s integrates the rate of progress over the places a job would get on an empty cluster: the
 * fewest nodes, largest first. Models see how many GPUs there are and how they divide into places,
 * never which node a place is on, so places here are numbered 0, 1, 2... Tests:
 * tests/unit/sched/test_model.c. */
#include "sched/model.h"

#include "base/assert.h"
#include <math.h>

/* --- plain durations ---------------------------------------------------------------------------
 */

/* Nothing is known of how such a job shares a GPU, so it does not. */
static double duration_time(const struct sched_model *m, const struct sched_alloc *a,
                            struct sched_batch batch, const struct sched_model *partner)
{
    (void)m;
    (void)a;
    (void)batch;
    return partner == NULL ? 1 : INFINITY;
}

static double one_per_step(const struct sched_model *m, const struct sched_alloc *a,
                           struct sched_batch batch, double progress, double *out_until)
{
    (void)a;
    (void)batch;
    (void)progress;
    *out_until = m->work;
    return 1;
}

static const struct sched_model_ops duration_ops = {
    .name = "duration",
    .time_per_step = duration_time,
    .progress_per_step = one_per_step,
};

struct sched_model sched_model_duration(double seconds)
{
    shoal_assert(seconds > 0);
    return (struct sched_model){.ops = &duration_ops, .work = seconds};
}

/* --- any model ---------------------------------------------------------------------------------
 */

double sched_model_rate(const struct sched_model *m, const struct sched_alloc *a,
                        const struct sched_model *partner, double progress, double *out_until)
{
    struct sched_batch batch = {1, 1};

    *out_until = m->work;
    if (a->place_count == 0)
        return 0;
    if (m->ops->choose_batch != NULL)
        batch = m->ops->choose_batch(m, a);
    double step_s = m->ops->time_per_step(m, a, batch, partner);
    if (!(step_s > 0) || isinf(step_s))
        return 0;
    return m->ops->progress_per_step(m, a, batch, progress, out_until) / step_s;
}

enum { PLACES_MAX = 1024 };

/* Divides `gpus` over nodes of the kind, largest first. A gang on more than PLACES_MAX nodes is
 * shown to the model as that many places, the last holding the rest: no model distinguishes such
 * sizes. */
static uint32_t pack(const struct sched_cluster *c, uint32_t kind, uint32_t gpus,
                     struct sched_place *places)
{
    uint32_t nodes_of_size[SCHED_NODE_GPUS_MAX + 1] = {0};
    const struct sched_kind *k = &c->kinds[kind];
    uint32_t count = 0, left = gpus;

    if (gpus <= k->node_gpus_max) {
        places[0] = (struct sched_place){0, gpus};
        return 1;
    }
    if (k->gpus == k->nodes * k->node_gpus_max)
        nodes_of_size[k->node_gpus_max] = k->nodes;
    else
        for (uint32_t n = 0; n < c->node_count; n++)
            nodes_of_size[c->nodes[n].gpus] += c->nodes[n].kind == kind;
    for (uint32_t size = k->node_gpus_max; size > 0 && left > 0; size--) {
        for (uint32_t n = 0; n < nodes_of_size[size] && left > 0; n++) {
            uint32_t take = left < size || count + 1 == PLACES_MAX ? left : size;
            places[count] = (struct sched_place){count, take};
            count++;
            left -= take;
        }
    }
    return count;
}

double sched_model_ideal_s(const struct sched_model *m, const struct sched_cluster *c,
                           uint32_t kind, uint32_t gpus, double progress)
{
    struct sched_place places[PLACES_MAX];
    double seconds = 0;

    if (kind >= c->kind_count || gpus == 0 || gpus > c->kinds[kind].gpus)
        return INFINITY;
    if (m->ops == &duration_ops)
        return fmax(m->work - progress, 0);
    struct sched_alloc a = {places, pack(c, kind, gpus, places), gpus, (uint16_t)kind};
    while (progress < m->work) {
        double until = m->work;
        double rate = sched_model_rate(m, &a, NULL, progress, &until);
        if (!(rate > 0))
            return INFINITY;
        until = fmin(until, m->work);
        if (!(until > progress)) /* a model that stands still would never end */
            return INFINITY;
        seconds += (until - progress) / rate;
        progress = until;
    }
    return seconds;
}

double sched_model_ideal_step_s(const struct sched_model *m, const struct sched_cluster *c,
                                uint32_t kind, uint32_t gpus, const struct sched_model *partner)
{
    struct sched_place places[PLACES_MAX];
    struct sched_batch batch = {1, 1};

    if (kind >= c->kind_count || gpus == 0 || gpus > c->kinds[kind].gpus)
        return INFINITY;
    struct sched_alloc a = {places, pack(c, kind, gpus, places), gpus, (uint16_t)kind};
    if (m->ops->choose_batch != NULL)
        batch = m->ops->choose_batch(m, &a);
    double step_s = m->ops->time_per_step(m, &a, batch, partner);
    return step_s > 0 ? step_s : INFINITY;
}

int sched_model_best_kind(const struct sched_model *m, const struct sched_cluster *c, uint32_t mask,
                          uint32_t gpus)
{
    double best_s = INFINITY;
    int best = -1;

    for (uint32_t kind = 0; kind < c->kind_count; kind++) {
        if ((mask >> kind & 1) == 0)
            continue;
        double s = sched_model_ideal_s(m, c, kind, gpus, 0);
        if (s < best_s) {
            best_s = s;
            best = (int)kind;
        }
    }
    return best;
}
