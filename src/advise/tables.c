/* tables.c - see tables.h. */
#include "advise/tables.h"

#include <math.h>

enum { LEVELS = 32 };

static const double STEPS_MIN = 1e-6;

/* Counts to keep: all when they fit, else evenly over their logarithms. */
static uint32_t pick_counts(const struct advise_choice *choice, uint32_t algorithm, uint32_t *out)
{
    uint32_t n = 0, good = 0, kept = 0;

    for (uint32_t i = 0; i < choice->count; i++)
        good += choice->candidates[i].algorithm == algorithm &&
                choice->candidates[i].p.verdict == ADVISE_GOOD;
    for (uint32_t i = 0; i < choice->count; i++) {
        const struct advise_candidate *c = &choice->candidates[i];
        if (c->algorithm != algorithm || c->p.verdict != ADVISE_GOOD)
            continue;
        n++;
        bool wanted = good <= SCHED_FITTED_MACHINES_MAX || kept == 0 || n == good ||
                      (c->machines >= 1.1 * out[kept - 1] && kept + 1 < SCHED_FITTED_MACHINES_MAX);
        if (wanted && kept < SCHED_FITTED_MACHINES_MAX)
            out[kept++] = c->machines;
    }
    return kept;
}

shoal_status advise_tables_make(const struct advise_fit *fit, const struct advise_choice *choice,
                                uint32_t algorithm, double target, struct base_arena *arena,
                                struct sched_fitted *out)
{
    const struct advise_algorithm *a = &fit->algorithms[algorithm];
    uint32_t *machines = base_arena_calloc(arena, SCHED_FITTED_MACHINES_MAX, sizeof *machines);

    if (machines == NULL)
        return SHOAL_E_NOMEM;
    uint32_t count = a->curve_count > 0 ? pick_counts(choice, algorithm, machines) : 0;
    double best = fmin(a->best, target - 1e-9 * fabs(target) - 1e-300);
    if (count == 0 || !(a->first > target) || !(target > best))
        return SHOAL_E_IMPOSSIBLE;
    double *step_s = base_arena_calloc(arena, count, sizeof *step_s);
    double *level = base_arena_calloc(arena, LEVELS + 1, sizeof *level);
    double *steps = base_arena_calloc(arena, (size_t)count * LEVELS, sizeof *steps);
    if (step_s == NULL || level == NULL || steps == NULL)
        return SHOAL_E_NOMEM;
    double goal = log((a->first - best) / (target - best));
    for (int k = 0; k <= LEVELS; k++)
        level[k] = goal * k / LEVELS;
    for (uint32_t i = 0; i < count; i++) {
        double before = 0;
        step_s[i] = advise_step_s(fit, algorithm, machines[i]);
        for (int k = 1; k <= LEVELS; k++) {
            double loss = k == LEVELS ? target : best + (a->first - best) * exp(-level[k]);
            double at = fmax(advise_steps(fit, algorithm, machines[i], loss), before);
            steps[(size_t)i * LEVELS + (size_t)k - 1] = fmax(at - before, STEPS_MIN);
            before = at;
        }
    }
    *out = (struct sched_fitted){.machine_count = count,
                                 .level_count = LEVELS,
                                 .machines = machines,
                                 .step_s = step_s,
                                 .level = level,
                                 .steps = steps};
    return SHOAL_OK;
}
