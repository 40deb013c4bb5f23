/* adapt.c - goodput of a job by kind and number of GPUs (see adapt.h). */
#include "sched/adapt.h"

#include "sched/model_fitted.h"

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

void sched_adapt_fitted(const struct sched_fitted *fitted, uint32_t level, uint32_t kind_count,
                        struct sched_adapt_kind *kind, struct sched_adapt *out)
{
    uint32_t most = fitted->machines[fitted->machine_count - 1];

    for (uint32_t k = 0; k < kind_count; k++)
        kind[k] = (struct sched_adapt_kind){.local_max = 1, .gpus_seen = most};
    *out = (struct sched_adapt){.gpus_max = most,
                                .batch_initial = 1,
                                .batch_max = 1,
                                .local_min = 1,
                                .grad_sqr = 1,
                                .version = level + UINT64_C(1),
                                .kind = kind,
                                .fitted = fitted,
                                .level = level};
}

/* Nothing to choose: iterations are what they were in the runs it was fitted from. */
static struct shoal_goodput_choice fitted_choice(const struct sched_adapt *a, uint32_t gpus)
{
    const struct sched_fitted *f = a->fitted;
    double step_s = sched_fitted_step_s(f, gpus);
    double progress = f->level[a->level + 1] - f->level[a->level];

    return (struct shoal_goodput_choice){
        .goodput = progress / (step_s * sched_fitted_steps(f, gpus, a->level)),
        .step_s = step_s,
        .gain = 1,
        .local = 1,
        .passes = 1};
}

struct shoal_goodput_choice sched_adapt_choose(const struct sched_adapt *a, uint32_t kind_count,
                                               uint32_t kind, uint32_t nodes, uint32_t gpus)
{
    struct shoal_goodput job = SHOAL_GOODPUT_INIT;

    const struct sched_adapt_kind *k = &a->kind[kind];
    uint32_t most = k->gpus_max > 0 && k->gpus_max < a->gpus_max ? k->gpus_max : a->gpus_max;

    if (k->local_max == 0 || gpus == 0 || gpus > most)
        return (struct shoal_goodput_choice){0};
    if (a->fitted != NULL)
        return fitted_choice(a, gpus);
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
