/* predict.c - from the models of a fit to seconds, and to how sure they are (fit.h). */
#include "advise/fit_parts.h"

#include <math.h>

static const double FLOOR = 0.02;    /* of a logarithm of seconds: no run repeats more exactly */
static const double WORST = 3.4;     /* an estimate by which it never arrives says 30 times later */
static const double ODDS_POINTS = 8; /* as many losses of a curve say something of their own */
static const double REACH_MIN = 0.3; /* odds of getting there at all, for a prediction */
static const double NEVER_MAX = 0.05; /* and below these it is said that it never does */
static const size_t NEVER_POINTS = 8;
static const double NOT_YET = 1.1; /* a run that is not there has at least so much more to go */
static const double HALF = 0.5;    /* of a run: what its pace is taken from */
static const double AHEAD_MOST = 4;
static const double AHEAD_LEAST = 0.25; /* doublings: the first step into the unknown */
static const double HALF_STEP = 0.5;    /* losses are known at whole iterations */
static const double NOT_YET_S = 1.02;
static const double LEAST_S = 1e-9; /* a time that has a logarithm */
static const double WAY_MIN = 0.25;
static const double SIZE_OFF = 0.2;   /* of a logarithm, for each doubling of size not measured */
static const double ANCHOR_MAX = 0.7; /* of a logarithm: what a curve moves the model by */
static const double NORMAL_95 = 1.6448536269514722;

const double advise_slow_odds = 0.2, advise_slow_by = 0.8, advise_slow_sd = 0.5;

/* A curve of few points says little about where it will end. */
void advise_odds(const double *badness, uint32_t count, size_t points, double *odds)
{
    double sum = 0, n = fmin(fmax(((double)points - 2) / 2, 0.5), ODDS_POINTS);

    for (uint32_t i = 0; i < count; i++)
        sum += odds[i] = exp(-n * (badness[i] - badness[0]));
    for (uint32_t i = 0; i < count; i++)
        odds[i] /= sum;
}

static double raw_steps(const struct advise_model *m, uint32_t which, double machines, double loss)
{
    return m->form == ADVISE_STRETCHED ? advise_stretch_steps(m, which, machines, loss)
                                       : advise_few_steps(m, which, machines, loss);
}

/* The deepest curve on so many machines that ends above a loss, or NULL. */
static const struct advise_curve *deepest(const struct advise_algorithm *a, double machines,
                                          double above)
{
    const struct advise_curve *best = NULL;

    for (size_t i = 0; i < a->curve_count; i++) {
        const struct advise_curve *c = &a->curves[i];
        if (c->run->machines == machines && c->loss[c->count - 1] > above &&
            (best == NULL || c->loss[c->count - 1] < best->loss[best->count - 1]))
            best = c;
    }
    return best;
}

/* Where this run begins it was below `loss` already, since when is not known. */
static bool begins_below(const struct advise_curve *c, double machines, double loss)
{
    return c->run->machines == machines && c->run->late && c->loss[0] < loss;
}

/* At most so many iterations, and seconds, it takes to `loss` on so many machines: where runs begin
 * that were below it by then. INFINITY: there are none. */
static double at_most(const struct advise_algorithm *a, double machines, double loss,
                      double *seconds)
{
    double steps = (double)INFINITY;

    *seconds = (double)INFINITY;
    for (size_t i = 0; i < a->curve_count; i++) {
        const struct advise_curve *c = &a->curves[i];
        if (!begins_below(c, machines, loss))
            continue;
        steps = fmin(steps, c->iteration[0]);
        *seconds = fmin(*seconds, c->time_s[0]);
    }
    return steps;
}

/* Mean logarithm of iterations of the runs on so many machines that were seen to get to `loss`, and
 * of their seconds; false: none was. */
static bool measured(const struct advise_algorithm *a, double machines, double loss, double *steps,
                     double *seconds)
{
    double sum = 0, time_sum = 0, n = 0;

    for (size_t i = 0; i < a->curve_count; i++) {
        const struct advise_curve *c = &a->curves[i];
        double at = c->run->machines == machines ? advise_curve_at(c, loss) : (double)INFINITY;
        if (!isfinite(at) || begins_below(c, machines, loss))
            continue;
        size_t k = 0;
        while (c->loss[k] > loss)
            k++;
        sum += log(fmax(at, 1e-9));
        time_sum += log(fmax(c->time_s[k], 1e-9));
        n++;
    }
    if (n == 0)
        return false;
    *steps = exp(sum / n);
    *seconds = exp(time_sum / n);
    return true;
}

/* Curves fall ever more slowly: at the pace of a run's later half, its stalls counted, a loss is
 * not reached before so many iterations, whatever other machine counts say. 0: the run has no
 * pace. */
static double at_own_pace(const struct advise_curve *c, double loss)
{
    size_t last = c->count - 1, k = last;
    double end = c->run->points[c->run->count - 1].iteration;

    if (last == 0)
        return 0;
    do
        k--;
    while (k > 0 && c->iteration[k] > HALF * end);
    double pace = (c->loss[k] - c->loss[last]) / (end - c->iteration[k]);
    return end + (c->loss[last] - loss) / pace;
}

/* The model's iterations, moved to agree with a run on so many machines that has not got there. */
static double moved(const struct advise_model *m, uint32_t which, const struct advise_curve *c,
                    double loss, double steps)
{
    double machines = c->run->machines, end = c->iteration[c->count - 1];
    double at_end = raw_steps(m, which, machines, c->loss[c->count - 1]);
    double least = fmax(NOT_YET * end, at_own_pace(c, loss));

    if (!(isfinite(at_end) && at_end > 0 && end > 0))
        return fmax(steps, least);
    double by = fmin(fmax(log(end / at_end), -ANCHOR_MAX), ANCHOR_MAX);
    return fmax(steps * exp(by), least);
}

/* The model's iterations, made to agree with what was measured on so many machines. */
static double steps_of(const struct advise_algorithm *a, const struct advise_model *m,
                       uint32_t which, double machines, double loss)
{
    const struct advise_curve *c = deepest(a, machines, loss);
    double steps, seconds;

    if (measured(a, machines, loss, &steps, &seconds))
        return steps;
    steps = raw_steps(m, which, machines, loss);
    if (c != NULL && isfinite(steps))
        steps = moved(m, which, c, loss, steps);
    return fmin(steps, at_most(a, machines, loss, &seconds));
}

/* What each estimate of the best loss says, and its odds. One entry where all say the same. */
struct says {
    uint32_t count;
    double steps[ADVISE_BESTS_MAX], odds[ADVISE_BESTS_MAX];
    double reach, median; /* odds of those that get there at all; the middle one of these */
};

static void find_median(struct says *s)
{
    double order[ADVISE_BESTS_MAX], weight[ADVISE_BESTS_MAX], below = 0;
    uint32_t n = 0;

    s->reach = 0;
    s->median = (double)INFINITY;
    for (uint32_t k = 0; k < s->count; k++) {
        uint32_t at = n;
        if (!isfinite(s->steps[k]))
            continue;
        for (; at > 0 && order[at - 1] > s->steps[k]; at--) {
            order[at] = order[at - 1];
            weight[at] = weight[at - 1];
        }
        order[at] = s->steps[k];
        weight[at] = s->odds[k];
        s->reach += s->odds[k];
        n++;
    }
    for (uint32_t k = 0; k < n; k++) {
        below += weight[k];
        if (below >= 0.5 * s->reach || k + 1 == n) {
            s->median = order[k];
            return;
        }
    }
}

static void ask_all(const struct advise_algorithm *a, double machines, double loss, struct says *s)
{
    const struct advise_model *m = &a->model;
    bool stretched = m->form == ADVISE_STRETCHED;
    double badness[ADVISE_BESTS_MAX];

    s->count = stretched ? m->tail_count : m->few_count;
    if (s->count == 0 || (stretched && loss >= a->lowest)) {
        s->count = 1;
        s->odds[0] = 1;
        s->steps[0] = steps_of(a, m, 0, machines, loss);
        find_median(s);
        return;
    }
    for (uint32_t k = 0; k < s->count; k++) {
        badness[k] = stretched ? m->tails[k].badness : m->few[k].badness;
        s->steps[k] = steps_of(a, m, k, machines, loss);
    }
    advise_odds(badness, s->count, m->deep.count, s->odds);
    find_median(s);
}

double advise_step_s(const struct advise_fit *fit, uint32_t algorithm, double machines)
{
    return advise_time_step_s(&fit->algorithms[algorithm].model.time, machines, fit->size);
}

double advise_steps(const struct advise_fit *fit, uint32_t algorithm, double machines, double loss)
{
    const struct advise_algorithm *a = &fit->algorithms[algorithm];
    struct says s;

    if (a->curve_count == 0)
        return (double)INFINITY;
    ask_all(a, machines, loss, &s);
    return s.reach >= REACH_MIN ? s.median : (double)INFINITY;
}

/* How long runs on so many machines went on without getting there. */
static double not_before(const struct advise_fit *fit, uint32_t algorithm, uint32_t machines,
                         double loss)
{
    const struct advise_algorithm *a = &fit->algorithms[algorithm];
    double seconds = 0;

    for (size_t i = 0; i < a->curve_count && fit->size == fit->size_curves; i++) {
        const struct advise_curve *c = &a->curves[i];
        if (c->run->machines == machines && c->loss[c->count - 1] > loss)
            seconds = fmax(seconds, c->run->points[c->run->count - 1].time_s);
    }
    return seconds;
}

static enum advise_verdict judge(const struct advise_algorithm *a, uint32_t machines)
{
    if (a->verdict == ADVISE_DIVERGED || a->verdict == ADVISE_NO_CURVE)
        return a->verdict;
    for (uint32_t k = 0; k < a->diverged_count; k++)
        if (a->diverged[k] == machines)
            return ADVISE_DIVERGED;
    if (machines >= a->diverged_from)
        return ADVISE_DIVERGED;
    if (a->verdict == ADVISE_ONE_COUNT && machines != a->machines[0])
        return ADVISE_ONE_COUNT;
    if (machines > ADVISE_BEYOND * (uint64_t)a->machines[a->counts - 1] ||
        machines * (uint64_t)ADVISE_BEYOND < a->machines[0])
        return ADVISE_TOO_FAR;
    return ADVISE_GOOD;
}

static double whole(const struct advise_fit *fit, double steps)
{
    return fit->whole && isfinite(steps) ? ceil(steps - 1e-9) : steps;
}

static double bounded(double v)
{
    return isfinite(v) ? fmin(fmax(v, -WORST), WORST) : WORST;
}

/* What estimates of the best loss say, beside the middle one. */
static void find_doubts(const struct advise_algorithm *a, const struct says *s,
                        struct advise_prediction *p)
{
    double start_s = a->model.time.start_s;

    p->tail_count = p->measured || s->count < 2 ? 0 : s->count;
    for (uint32_t k = 0; k < p->tail_count; k++) {
        p->odds[k] = s->odds[k];
        p->tail[k] = bounded(log((start_s + s->steps[k] * p->step_s) / p->seconds));
    }
}

double advise_way(const uint32_t *machines, uint32_t counts, uint32_t without, double at)
{
    double below = (double)NAN, above = (double)NAN, nearest = (double)INFINITY;

    for (uint32_t k = 0; k < counts; k++) {
        if (k == without)
            continue;
        double d = log2(at / machines[k]);
        if (d >= 0)
            below = isnan(below) ? d : fmin(below, d);
        if (d <= 0)
            above = isnan(above) ? -d : fmin(above, -d);
        nearest = fmin(nearest, fabs(d));
    }
    if (nearest == 0 || !isfinite(nearest))
        return WAY_MIN;
    return fmax(isnan(below) || isnan(above) ? nearest * nearest : below * above / (below + above),
                WAY_MIN);
}

/* The index of a count among those measured; how many those are when it is none. */
static uint32_t without(const struct advise_algorithm *a, uint32_t machines)
{
    uint32_t k = 0;

    while (k < a->counts && a->machines[k] != machines)
        k++;
    return k;
}

/* What no other prediction shares: measurements repeat only so well, counts that were not measured
 * are foreseen only so well, and so is what lies beyond the end of curves. */
static double own_doubt(const struct advise_algorithm *a, uint32_t machines, double loss,
                        const struct advise_prediction *p)
{
    const struct advise_curve *c = deepest(a, machines, -(double)INFINITY);
    double var = FLOOR * FLOOR,
           way = advise_way(a->machines, a->counts, without(a, machines), machines);
    int out = machines < a->machines[0] || machines > a->machines[a->counts - 1];

    if (p->measured)
        return FLOOR;
    double steps = a->off_steps[out], time = c == NULL ? a->off_time[out] : 0;
    double between = way * steps * steps;
    /* the way beyond what was seen, in doublings: on so many machines, or anywhere */
    double own = AHEAD_LEAST, any = AHEAD_LEAST;
    if (c != NULL)
        own += log2(fmax(p->steps / fmax(c->iteration[c->count - 1], 1e-9), 1));
    if (loss < a->lowest)
        any += log2(fmax(p->steps / fmax(raw_steps(&a->model, 0, machines, a->lowest), 1e-9), 1));
    own = a->off_ahead * fmin(own, AHEAD_MOST);
    any = loss < a->lowest ? a->off_ahead * fmin(any, AHEAD_MOST) : 0;
    /* its own curve and those of other counts both foresee it: in between, where
     * those are surer */
    double others = between + any * any;
    var += c != NULL ? own * fmin(own, sqrt(others)) : others;
    double one = HALF_STEP / fmax(p->steps, 1);
    return sqrt(var + way * time * time + one * one);
}

/* Data of another size: how long an iteration takes is foreseen from the sizes that were measured,
 * and that as many of them are needed as where losses were measured is a guess. */
static double size_doubt(const struct advise_fit *fit)
{
    double steps = log2(fit->size / fit->size_curves);

    return fit->size == fit->size_curves ? 0 : SIZE_OFF * hypot(fit->size_way, steps);
}

static double normal_below(double v, double sd)
{
    return 0.5 * erfc(-v / (sd * sqrt(2)));
}

/* The share of one estimate's doubt below v, v from its own prediction: mostly as far off as fits
 * were before, but what was not seen may also be a later, slower part of the way. */
static double one_below(double sd, double v)
{
    return (1 - advise_slow_odds) * normal_below(v, sd) +
           advise_slow_odds * normal_below(v - advise_slow_by, sd + advise_slow_sd);
}

/* The share of the mixture below v. */
static double share_below(const struct advise_prediction *p, double sd, double v)
{
    double sum = 0;

    if (p->measured)
        return normal_below(v, sd);
    if (p->tail_count == 0)
        return one_below(sd, v);
    for (uint32_t k = 0; k < p->tail_count; k++)
        sum += p->odds[k] * one_below(sd, v - p->tail[k]);
    return sum;
}

static double quantile(const struct advise_prediction *p, double sd, double q)
{
    double lo = -WORST - 8 * sd, hi = WORST + 8 * sd;

    for (int k = 0; k < 60; k++) {
        double mid = 0.5 * (lo + hi);
        if (share_below(p, sd, mid) < q)
            lo = mid;
        else
            hi = mid;
    }
    return hi;
}

/* It took at most so long, and at least an iteration: how curves fall before they are seen was never
 * put to the test, so nothing in between is ruled out. */
static void bound(const struct advise_time *time, struct advise_prediction *p)
{
    double first_s = fmax(fmax(time->start_s + p->step_s, p->at_least_s), LEAST_S);

    p->low_s = fmin(first_s, p->seconds);
    p->high_s = p->at_most_s;
    p->own = fmax(log(p->high_s / p->low_s) / (2 * NORMAL_95), FLOOR);
    p->tail_count = 0;
}

void advise_predict(const struct advise_fit *fit, uint32_t algorithm, uint32_t machines,
                    double loss, struct advise_prediction *out)
{
    const struct advise_algorithm *a = &fit->algorithms[algorithm];
    const struct advise_time *time = &a->model.time;
    double steps, seconds;
    struct says said = {.count = 0};
    struct advise_prediction p = {.verdict = judge(a, machines),
                                  .steps = (double)INFINITY,
                                  .step_s = (double)NAN,
                                  .seconds = (double)INFINITY,
                                  .low_s = (double)INFINITY,
                                  .high_s = (double)INFINITY,
                                  .at_most_s = (double)INFINITY};

    if (p.verdict == ADVISE_GOOD) {
        p.step_s = advise_time_step_s(time, machines, fit->size);
        p.measured = measured(a, machines, loss, &steps, &seconds) &&
                     fit->size == fit->size_curves; /* over other data it was not */
        ask_all(a, machines, loss, &said);
        p.steps = said.reach >= REACH_MIN ? whole(fit, said.median) : (double)INFINITY;
        p.seconds = time->start_s + p.steps * p.step_s;
        if (p.measured)
            p.seconds = seconds;
        else if (fit->size == fit->size_curves &&
                 isfinite(at_most(a, machines, loss, &p.at_most_s)))
            p.at_most_s = fmax(p.at_most_s, LEAST_S);
        if (!isfinite(p.seconds))
            p.verdict = said.reach < NEVER_MAX && a->model.deep.count >= NEVER_POINTS
                            ? ADVISE_NEVER
                            : ADVISE_UNREACHED;
    }
    if (p.verdict == ADVISE_GOOD) {
        p.at_least_s = p.measured ? 0 : not_before(fit, algorithm, machines, loss);
        p.at_least_s = fmin(p.at_least_s, p.at_most_s);
        p.seconds = fmax(fmax(p.seconds, NOT_YET_S * p.at_least_s), LEAST_S);
        p.seconds = fmin(p.seconds, p.at_most_s);
        find_doubts(a, &said, &p);
        p.own = hypot(own_doubt(a, machines, loss, &p), size_doubt(fit));
        p.low_s = p.seconds * exp(fmin(quantile(&p, p.own, 0.05), -NORMAL_95 * FLOOR));
        p.low_s = fmax(p.low_s, p.at_least_s);
        p.high_s = p.seconds * exp(fmax(quantile(&p, p.own, 0.95), NORMAL_95 * FLOOR));
        if (isfinite(p.at_most_s))
            bound(time, &p);
    }
    *out = p;
}
