/* adapt.c - goodput of a job by kind and number of GPUs (see adapt.h). */
#include "sched/adapt.h"

enum { PASSES_MAX = 16 };

/* The kind tried with the most GPUs. */
static const struct sched_adapt_kind *best_known(const struct sched_adapt *a, uint32_t kind_count)
{
    const struct sched_adapt_kind *best = &a->kind[0];

    for (uint32_t k = 1; k < kind_count; k++)
        if (a->kind[k].gpus_seen > best->gpus_seen)
            best = &a->kind[k];
    return best;
}

uint32_t sched_adapt_seen(const struct sched_adapt *a, uint32_t kind_count)
{
    return best_known(a, kind_count)->gpus_seen;
}

static struct shoal_goodput_speed speed_on(const struct sched_adapt *a, uint32_t kind_count,
                                           uint32_t kind)
{
    const struct sched_adapt_kind *k = &a->kind[kind], *known = best_known(a, kind_count);
    struct shoal_goodput_speed s = k->gpus_seen > 0 ? k->speed : known->speed;

    if (k->gpus_seen == 1 && known->gpus_seen > 1) {
        s = known->speed;
        s.grad_s = k->speed.grad_s;
        s.grad_each_s = k->speed.grad_each_s;
    }
    return s;
}

struct shoal_goodput_choice sched_adapt_choose(const struct sched_adapt *a, uint32_t kind_count,
                                               uint32_t kind, uint32_t nodes, uint32_t gpus)
{
    struct shoal_goodput job = SHOAL_GOODPUT_INIT;

    const struct sched_adapt_kind *k = &a->kind[kind];
    uint32_t most = k->gpus_max > 0 && k->gpus_max < a->gpus_max ? k->gpus_max : a->gpus_max;

    if (k->local_max == 0 || gpus == 0 || gpus > most)
        return (struct shoal_goodput_choice){0};
    job.batch_initial = a->batch_initial;
    job.batch_max = a->batch_max;
    job.local_min = a->local_min;
    job.local_max = a->kind[kind].local_max;
    job.passes_max = PASSES_MAX;
    job.grad_sqr = a->grad_sqr;
    job.grad_var = a->grad_var;
    job.speed = speed_on(a, kind_count, kind);
    if (sched_adapt_seen(a, kind_count) == 0) { /* all noise, no synchronisation */
        job.speed = (struct shoal_goodput_speed){1e-8, 1, 1e-8, 1e-8, 1e-8, 1e-8, 1};
        job.grad_sqr = 1e-8, job.grad_var = 1;
    }
    struct shoal_goodput_choice c = shoal_goodput_best(&job, nodes, gpus);
    double one = gpus > 1 ? shoal_goodput_best(&job, 1, 1).goodput : 0;
    if (one > 0 && c.goodput > gpus * one)
        c.goodput = gpus * one;
    c.goodput /= a->batch_initial;
    return c;
}
