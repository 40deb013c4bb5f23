/* model_fitted.c - see model_fitted.h.
 *
 * Between two counts of the table lines in log-log: a time that falls as a power of the count does
 * so exactly, and what is between two numbers stays between them. Kinds of GPUs and how a gang lies
 * on nodes make no difference: the runs it was fitted from say nothing about them. Nor do they say
 * how it would share a GPU, so it does not. */
#include "sched/model_fitted.h"

#include "base/assert.h"
#include <math.h>

static bool within(double v, double least, double most)
{
    return v >= least && v <= most; /* false for what is no number */
}

bool sched_fitted_valid(const struct sched_fitted *f)
{
    if (f->machine_count == 0 || f->machine_count > SCHED_FITTED_MACHINES_MAX ||
        f->level_count == 0 || f->level_count > SCHED_FITTED_LEVELS_MAX || f->level[0] != 0)
        return false;
    for (uint32_t i = 0; i < f->machine_count; i++) {
        if (f->machines[i] == 0 || f->machines[i] > SCHED_FITTED_COUNT_MAX ||
            (i > 0 && f->machines[i] <= f->machines[i - 1]) ||
            !within(f->step_s[i], SCHED_FITTED_STEP_MIN_S, SCHED_FITTED_STEP_MAX_S))
            return false;
        for (uint32_t l = 0; l < f->level_count; l++)
            if (!within(f->steps[i * f->level_count + l], SCHED_FITTED_STEPS_MIN,
                        SCHED_FITTED_STEPS_MAX))
                return false;
    }
    for (uint32_t l = 0; l < f->level_count; l++)
        if (!within(f->level[l + 1] - f->level[l], SCHED_FITTED_LEVEL_MIN,
                    SCHED_FITTED_LEVEL_MAX) ||
            f->level[l + 1] > SCHED_FITTED_LEVEL_MAX)
            return false;
    return true;
}

/* The last count of the table at or below `machines`, and how far towards the next it is, in
 * logarithms; false outside the table. */
static bool find_count(const struct sched_fitted *f, uint32_t machines, uint32_t *out_at,
                       double *out_part)
{
    uint32_t lo = 0, hi = f->machine_count - 1;

    if (machines < f->machines[lo] || machines > f->machines[hi])
        return false;
    while (lo < hi) {
        uint32_t mid = hi - (hi - lo) / 2;
        if (f->machines[mid] <= machines)
            lo = mid;
        else
            hi = mid - 1;
    }
    *out_at = lo;
    *out_part = 0;
    if (f->machines[lo] < machines)
        *out_part = log((double)machines / f->machines[lo]) /
                    log((double)f->machines[lo + 1] / f->machines[lo]);
    return true;
}

static double between(double a, double b, double part)
{
    return part > 0 ? a * exp(part * log(b / a)) : a;
}

double sched_fitted_step_s(const struct sched_fitted *f, uint32_t machines)
{
    uint32_t at;
    double part;

    if (!find_count(f, machines, &at, &part))
        return INFINITY;
    return between(f->step_s[at], part > 0 ? f->step_s[at + 1] : 0, part);
}

double sched_fitted_steps(const struct sched_fitted *f, uint32_t machines, uint32_t level)
{
    uint32_t at, n = f->level_count;
    double part;

    shoal_dassert(level < n);
    if (!find_count(f, machines, &at, &part))
        return INFINITY;
    const double *steps = &f->steps[at * n + level];
    return between(steps[0], part > 0 ? steps[n] : 0, part);
}

uint32_t sched_fitted_level(const struct sched_fitted *f, double progress)
{
    uint32_t lo = 0, hi = f->level_count - 1;

    while (lo < hi) { /* the first level that ends after `progress` */
        uint32_t mid = lo + (hi - lo) / 2;
        if (f->level[mid + 1] > progress)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static double fitted_time(const struct sched_model *m, const struct sched_alloc *a,
                          struct sched_batch batch, const struct sched_model *partner)
{
    (void)batch;
    return partner == NULL ? sched_fitted_step_s(m->data, a->gpus) : INFINITY;
}

static double fitted_progress(const struct sched_model *m, const struct sched_alloc *a,
                              struct sched_batch batch, double progress, double *out_until)
{
    const struct sched_fitted *f = m->data;
    uint32_t level = sched_fitted_level(f, progress);

    (void)batch;
    *out_until = f->level[level + 1];
    return (f->level[level + 1] - f->level[level]) / sched_fitted_steps(f, a->gpus, level);
}

static const struct sched_model_ops fitted_ops = {
    .name = "fitted",
    .time_per_step = fitted_time,
    .progress_per_step = fitted_progress,
};

struct sched_model sched_model_fitted(const struct sched_fitted *fitted)
{
    shoal_assert(sched_fitted_valid(fitted));
    return (struct sched_model){
        .ops = &fitted_ops, .data = fitted, .work = fitted->level[fitted->level_count]};
}

const struct sched_fitted *sched_model_fitted_of(const struct sched_model *m)
{
    return m->ops == &fitted_ops ? m->data : NULL;
}
