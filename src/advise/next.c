/* next.c - see next.h. */
#include "advise/next.h"

#include <math.h>

static const double CHANCE_MIN = 0.05;
static const double MORE = 3;     /* times the iterations that a run has */
static const double MORE_MIN = 3; /* iterations at least */
static const double OTHER_DOUBLINGS = 3, OTHER_STEPS = 4;
static const double MORE_LEAST = 0.5; /* of what it has, also where little seems missing */

/* How far the runs of an algorithm on so many machines got. */
static double run_so_far(const struct advise_fit *fit, uint32_t algorithm, uint32_t machines,
                         double *seconds)
{
    double most = 0;

    *seconds = 0;
    for (size_t i = 0; i < fit->runs->count; i++) {
        const struct advise_run *r = &fit->runs->runs[i];
        if (r->algorithm != algorithm || r->machines != machines || r->count == 0)
            continue;
        most = fmax(most, r->points[r->count - 1].iteration);
        *seconds = fmax(*seconds, r->points[r->count - 1].time_s);
    }
    return most;
}

/* Seconds (or machine-seconds) of the best candidate that was measured. */
static double best_known(const struct advise_choice *ch, bool cheapest)
{
    double best = (double)INFINITY;

    for (uint32_t i = 0; i < ch->count; i++) {
        const struct advise_candidate *c = &ch->candidates[i];
        if (c->p.verdict == ADVISE_GOOD && c->p.measured)
            best = fmin(best, c->p.seconds * (cheapest ? c->machines : 1));
    }
    return best;
}

static bool plan_run(const struct advise_fit *fit, uint32_t algorithm, uint32_t machines,
                     double known, double goal, struct advise_next *out)
{
    double seconds, step_s = advise_step_s(fit, algorithm, machines);
    double from = run_so_far(fit, algorithm, machines, &seconds);
    double to = fmax(MORE * from, from + MORE_MIN);

    to = fmin(to, fmax(ceil(goal), from + ceil(MORE_LEAST * from) + 1));
    if (!(step_s > 0) || seconds >= known)
        return false;
    to = fmin(to, fmax(from + 1, from + ceil((known - seconds) / step_s)));
    *out = (struct advise_next){.algorithm = algorithm,
                                .machines = machines,
                                .from = from,
                                .to = to,
                                .seconds = (to - from) * step_s,
                                .cost = (to - from) * step_s * machines,
                                .chance = (double)NAN};
    return true;
}

/* Nothing is known about other counts: one far enough from the one measured, as long as that. */
static bool plan_other(const struct advise_fit *fit, const struct advise_question *q,
                       uint32_t algorithm, struct advise_next *out)
{
    const struct advise_algorithm *a = &fit->algorithms[algorithm];
    uint32_t is = a->machines[0], best = is;
    double seconds, steps = run_so_far(fit, algorithm, is, &seconds), nearest = (double)INFINITY;

    for (size_t i = 0; i < q->machine_count; i++) {
        double far = fabs(fabs(log2((double)q->machines[i] / is)) - OTHER_DOUBLINGS);
        if (q->machines[i] != is && far < nearest) {
            nearest = far;
            best = q->machines[i];
        }
    }
    double step_s = seconds / fmax(steps, 1);
    if (best == is || run_so_far(fit, algorithm, best, &seconds) > 0)
        return false;
    steps = fmin(fmax(steps, MORE_MIN), OTHER_STEPS);
    *out = (struct advise_next){.algorithm = algorithm,
                                .machines = best,
                                .to = steps,
                                .seconds = steps * step_s,
                                .cost = steps * step_s * best,
                                .chance = (double)NAN};
    return true;
}

/* The run of an algorithm that says too little to foresee the loss: its deepest one goes on. */
static bool plan_unknown(const struct advise_fit *fit, uint32_t algorithm, double known,
                         bool cheapest, struct advise_next *out)
{
    const struct advise_algorithm *a = &fit->algorithms[algorithm];
    const struct advise_curve *deep = NULL;

    for (size_t i = 0; i < a->curve_count; i++)
        if (deep == NULL || a->curves[i].loss[a->curves[i].count - 1] < deep->loss[deep->count - 1])
            deep = &a->curves[i];
    return deep != NULL &&
           plan_run(fit, algorithm, deep->run->machines,
                    cheapest ? known / deep->run->machines : known, (double)INFINITY, out);
}

/* Machine-seconds of a run when it has gone on as planned. */
static double so_far_s(const struct advise_fit *fit, const struct advise_next *next)
{
    double seconds;

    (void)run_so_far(fit, next->algorithm, next->machines, &seconds);
    return seconds * next->machines + next->cost;
}

/* A run that begins late says nothing about what came before, however long it goes on: one from the
 * start to this loss. */
static void plan_anew(const struct advise_candidate *c, struct advise_next *out)
{
    double to = fmax(ceil(c->p.steps), MORE_MIN);

    *out = (struct advise_next){.algorithm = c->algorithm,
                                .machines = c->machines,
                                .to = to,
                                .seconds = to * c->p.step_s,
                                .cost = to * c->p.step_s * c->machines,
                                .chance = (double)NAN};
}

bool advise_next(const struct advise_fit *fit, const struct advise_question *q,
                 const struct advise_choice *ch, bool cheapest, struct advise_next *out)
{
    double known = best_known(ch, cheapest), best = 0, least = (double)INFINITY;
    bool good[ADVISE_ALGORITHMS_MAX] = {false}, found = false;

    for (uint32_t i = 0; i < ch->count; i++) {
        const struct advise_candidate *c = &ch->candidates[i];
        double chance = cheapest ? c->near_cheapest : c->near_fastest;
        struct advise_next next;
        if (c->p.verdict != ADVISE_UNREACHED && c->p.verdict != ADVISE_ONE_COUNT &&
            c->p.verdict != ADVISE_TOO_FAR)
            good[c->algorithm] = true; /* or hopeless: known, at any rate */
        if (c->p.verdict == ADVISE_GOOD)
            least = fmin(least, c->p.seconds * c->machines);
        if (c->p.verdict != ADVISE_GOOD || c->p.measured || chance < CHANCE_MIN)
            continue;
        if (isfinite(c->p.at_most_s))
            plan_anew(c, &next);
        else if (!plan_run(fit, c->algorithm, c->machines, cheapest ? known / c->machines : known,
                           c->p.steps, &next))
            continue;
        double worth = chance / sqrt(next.cost);
        if (worth > best) {
            best = worth;
            next.chance = chance;
            *out = next;
            found = true;
        }
    }
    for (uint32_t a = 0; a < fit->algorithm_count && a < ADVISE_ALGORITHMS_MAX; a++) {
        struct advise_next next;
        bool one = fit->algorithms[a].verdict == ADVISE_ONE_COUNT;
        if ((one ? plan_other(fit, q, a, &next)
                 : !good[a] && plan_unknown(fit, a, known, cheapest, &next)) &&
            (!found || next.cost < out->cost || so_far_s(fit, &next) < least)) {
            *out = next;
            found = true;
        }
    }
    return found;
}
