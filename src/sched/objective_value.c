/* objective_value.c - what shares are worth by the true speeds of the jobs, whatever was believed when
 * they were made. One pass over the jobs. Tests: test_objective.c, test_objective_pairs.c. */
#include "sched/objective_parts.h"

#include <math.h>

/* (jobs) speeds of the shares; with usd_h (kinds) each divided by the price of its kind. NULL when
 * memory is short. */
static double *speeds(struct sched_objective_solver *s, const struct sched_objective_input *in,
                      const struct sched_objective_result *r, const double *usd_h)
{
    size_t kinds = in->problem.kind_count, classes = in->class_count;
    double *speed = sched_objective_array(s, in->problem.job_count);

    for (size_t m = 0; speed != NULL && m < in->problem.job_count; m++)
        for (size_t k = 0; k < kinds; k++)
            speed[m] += in->problem.rate[m * kinds + k] * r->x[m * kinds + k] /
                        (usd_h == NULL ? 1 : usd_h[k]);
    for (size_t i = 0; speed != NULL && i < r->pair_count; i++) {
        const struct sched_pair_share *pair = &r->pairs[i];
        const float *rate = in->pair + pair->kind * classes * classes;
        size_t a = in->class_of[pair->job], b = in->class_of[pair->with];
        double share = pair->share / (usd_h == NULL ? 1 : usd_h[pair->kind]);
        speed[pair->job] += share * (double)rate[a * classes + b];
        speed[pair->with] += share * (double)rate[b * classes + a];
    }
    return speed;
}

/* How job m does by itself, of which the objective takes the worst or the sum. */
static double value_of(const struct sched_objective_work *w, enum sched_objective objective,
                       size_t m, double speed)
{
    double weight = sched_objective_weight(w, m);

    switch (objective) {
    case SCHED_OBJECTIVE_MAX_MIN: return speed / w->prop[m] * w->p.gpus[m] / weight;
    case SCHED_OBJECTIVE_FTF: return sched_objective_ftf_rho(w, m, speed);
    case SCHED_OBJECTIVE_MAKESPAN: return w->in->left[m] / speed;
    default: return weight * speed / w->fastest[m] * (w->p.count == NULL ? 1 : w->p.count[m]);
    }
}

shoal_status sched_objective_value(struct sched_objective_solver *s, enum sched_objective objective,
                                   const struct sched_objective_input *in,
                                   const struct sched_objective_result *r, double *out)
{
    struct sched_objective_input truth = *in;
    struct sched_objective_work w;
    double least = INFINITY, most = 0, sum = 0;
    bool money = objective == SCHED_OBJECTIVE_COST || objective == SCHED_OBJECTIVE_COST_SLO;

    truth.aware = true;
    double *speed = speeds(s, &truth, r, money ? in->usd_h : NULL);
    if (speed == NULL || sched_objective_prepare(s, &truth, &w) != SHOAL_OK ||
        (objective == SCHED_OBJECTIVE_FTF && sched_objective_fair_times(s, &w) != SHOAL_OK))
        return SHOAL_E_NOMEM;
    for (size_t m = 0; m < w.p.job_count; m++) {
        if (w.fastest[m] == 0)
            continue;
        double value = value_of(&w, objective, m, speed[m]);
        least = fmin(least, value);
        most = fmax(most, value);
        sum += value;
    }
    switch (objective) {
    case SCHED_OBJECTIVE_MAX_MIN: *out = least; break;
    case SCHED_OBJECTIVE_FTF:
    case SCHED_OBJECTIVE_MAKESPAN: *out = most; break;
    case SCHED_OBJECTIVE_THROUGHPUT:
    case SCHED_OBJECTIVE_COST:
    case SCHED_OBJECTIVE_COST_SLO: *out = sum; break;
    case SCHED_OBJECTIVE_FIFO:
    case SCHED_OBJECTIVE_HIERARCHICAL:
    case SCHED_OBJECTIVE_COUNT: *out = r->level; break;
    }
    return SHOAL_OK;
}
