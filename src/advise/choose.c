/* choose.c - see choose.h: candidates, draws, and who is best in how many of them. */
#include "advise/choose.h"

#include "base/err.h"
#include "base/rand.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OCTAVES = 19 }; /* up to 2^17 machines */
_Static_assert(ADVISE_MACHINES_MAX < 1 << (OCTAVES - 2), "an octave above the largest count");

const double advise_near = 1.05;

static const double LATER = 0.5;
static const double TIE = 1.02;
static const double CAUTION = 0.35;
static const double GAIN_MIN = 0.03; /* a change of plan must save more */

double advise_seconds(const struct advise_fit *fit, uint32_t algorithm, uint32_t machines,
                      double loss)
{
    return fit->algorithms[algorithm].model.time.start_s +
           advise_steps(fit, algorithm, machines, loss) * advise_step_s(fit, algorithm, machines);
}

double advise_loss_by(const struct advise_fit *fit, uint32_t algorithm, uint32_t machines,
                      double seconds)
{
    const struct advise_algorithm *a = &fit->algorithms[algorithm];
    double lo = a->best, hi = a->first; /* never there; there at once */
    double most = (seconds - a->model.time.start_s) / advise_step_s(fit, algorithm, machines);

    if (fit->whole) /* an iteration that is not done by then says nothing */
        most = floor(most + 1e-9);
    if (!(advise_steps(fit, algorithm, machines, hi) <= most))
        return (double)NAN;
    for (int k = 0; k < 50; k++) {
        double mid = 0.5 * (lo + hi);
        if (advise_steps(fit, algorithm, machines, mid) <= most)
            hi = mid;
        else
            lo = mid;
    }
    return hi;
}

/* ---- candidates ---- */

static double cost_of(const struct advise_question *q, uint32_t machines, double seconds)
{
    return seconds / 3600 * machines * (q->usd_h > 0 ? q->usd_h : 1);
}

/* Losses by the deadline: likely, and where the interval of times to them ends at the deadline. */
static void find_losses(const struct advise_fit *fit, const struct advise_question *q,
                        struct advise_candidate *c)
{
    double left = q->deadline_s - q->start_s;
    struct advise_prediction p;

    c->loss = advise_loss_by(fit, c->algorithm, c->machines, left);
    c->low_loss = c->high_loss = c->loss;
    if (isnan(c->loss))
        return;
    advise_predict(fit, c->algorithm, c->machines, c->loss, &p);
    if (p.verdict != ADVISE_GOOD || !(p.steps > 0))
        return;
    double low = advise_loss_by(fit, c->algorithm, c->machines, left * p.seconds / p.low_s);
    double high = advise_loss_by(fit, c->algorithm, c->machines, left * p.seconds / p.high_s);
    c->low_loss = isnan(low) ? c->loss : fmin(low, c->loss);
    c->high_loss = isnan(high) ? fit->algorithms[c->algorithm].first : fmax(high, c->loss);
    if (fit->best_by == UINT32_MAX)
        return;
    /* an algorithm that was cut short may foresee less than the best loss of the problem */
    c->loss = fmax(c->loss, fit->best);
    c->high_loss = fmax(c->high_loss, c->loss);
}

/* A target made of an estimate of the best loss: the interval takes in what the middle of the
 * prediction is where that estimate is too high or too low. */
static void widen(const struct advise_fit *fit, const struct advise_question *q,
                  struct advise_candidate *c)
{
    struct advise_prediction p;

    if (isnan(q->target) || c->p.verdict != ADVISE_GOOD)
        return;
    if (q->higher > 0) {
        advise_predict(fit, c->algorithm, c->machines, q->target + q->higher, &p);
        if (p.verdict == ADVISE_GOOD)
            c->p.low_s = fmin(c->p.low_s, p.seconds);
    }
    if (q->lower > 0) {
        advise_predict(fit, c->algorithm, c->machines, q->target - q->lower, &p);
        if (p.verdict == ADVISE_GOOD)
            c->p.high_s = fmax(c->p.high_s, p.seconds);
    }
}

static void make_candidate(const struct advise_fit *fit, const struct advise_question *q,
                           struct advise_candidate *c)
{
    double target = q->target;

    c->loss = c->low_loss = c->high_loss = (double)NAN;
    if (isfinite(q->deadline_s)) {
        advise_predict(fit, c->algorithm, c->machines, fit->algorithms[c->algorithm].first, &c->p);
        if (c->p.verdict == ADVISE_GOOD)
            find_losses(fit, q, c);
        if (isnan(target))
            target = isnan(c->loss) ? -(double)INFINITY : c->loss;
    }
    advise_predict(fit, c->algorithm, c->machines, target, &c->p);
    widen(fit, q, c);
    if (isnan(q->target) && c->p.verdict == ADVISE_GOOD) /* machines run until the deadline */
        c->seconds = c->low_s = c->high_s = q->deadline_s;
    else {
        c->seconds = c->p.seconds + q->start_s;
        c->low_s = c->p.low_s + q->start_s;
        c->high_s = c->p.high_s + q->start_s;
    }
    c->at_most_s = isnan(q->target) ? (double)INFINITY : c->p.at_most_s + q->start_s;
    c->cost = cost_of(q, c->machines, c->seconds);
    c->low_cost = cost_of(q, c->machines, c->low_s);
    c->high_cost = cost_of(q, c->machines, c->high_s);
}

/* Every algorithm on every machine count. */
static shoal_status make_candidates(const struct advise_fit *fit, const struct advise_question *q,
                                    struct advise_choice *ch, shoal_err *err)
{
    atomic_uint_fast64_t *done = base_watch_done(q->watch);

    for (uint32_t a = 0; a < fit->algorithm_count; a++)
        for (size_t m = 0; m < q->machine_count; m++) {
            struct advise_candidate *c = &ch->candidates[ch->count++];
            c->algorithm = a;
            c->machines = q->machines[m];
            make_candidate(fit, q, c);
            ch->good += c->p.verdict == ADVISE_GOOD;
            if (base_watch_stopped(q->watch))
                return base_err(err, SHOAL_E_CANCELLED, "stopped");
            if (done != NULL)
                atomic_fetch_add_explicit(done, 1, memory_order_relaxed);
        }
    return SHOAL_OK;
}

/* ---- draws ---- */

/* By how much a candidate's logarithm of seconds is off in a draw: `tail` is a share of the
 * odds. */
static double draw_one(const struct advise_candidate *c, double tail, double own)
{
    const struct advise_prediction *p = &c->p;
    double share = 0;

    for (uint32_t k = 0; k < p->tail_count; k++) {
        share += p->odds[k];
        if (tail < share || k + 1 == p->tail_count)
            return own * p->own + p->tail[k];
    }
    return own * p->own;
}

/* A run that went on longer than a draw says shows that draw to be wrong: it is later, then. Nor is
 * it later than a run that was there. */
static double draw_seconds(const struct advise_candidate *c, double tail, double own, bool slow)
{
    double seconds = c->p.seconds * exp(draw_one(c, tail, own));

    if (slow && !c->p.measured)
        seconds *= exp(advise_slow_by + advise_slow_sd * own);

    if (!(seconds > c->p.at_least_s))
        seconds = c->p.at_least_s * (1 + LATER * fabs(own) * c->p.own);
    return fmin(seconds, c->p.at_most_s);
}

/* Standard normal numbers of one algorithm at 1, 2, 4, 8, ... machines. Counts in between lie
 * between those: neighbours are wrong together. */
static double draw_own(const double *octaves, double machines)
{
    double at = log2(machines), share = at - floor(at);
    size_t k = (size_t)floor(at);

    return ((1 - share) * octaves[k] + share * octaves[k + 1]) / hypot(1 - share, share);
}

/* Fills the probabilities. `seconds` has room for all candidates. */
static void draw_all(const struct advise_fit *fit, const struct advise_question *q,
                     struct advise_choice *ch, double *seconds)
{
    struct base_rand rand;
    double tail[ADVISE_ALGORITHMS_MAX], octaves[ADVISE_ALGORITHMS_MAX][OCTAVES];
    bool slow[ADVISE_ALGORITHMS_MAX];

    base_rand_init(&rand, q->seed, "advise.draws");
    for (int n = 0; n < ADVISE_DRAWS; n++) {
        double least_s = (double)INFINITY, least_cost = (double)INFINITY;
        for (uint32_t a = 0; a < fit->algorithm_count; a++) {
            tail[a] = base_rand_unit(&rand);
            slow[a] = base_rand_unit(&rand) < advise_slow_odds;
            for (int k = 0; k < OCTAVES; k++)
                octaves[a][k] = base_rand_normal(&rand, 0, 1);
        }
        for (uint32_t i = 0; i < ch->count; i++) {
            const struct advise_candidate *c = &ch->candidates[i];
            double own = draw_own(octaves[c->algorithm], c->machines);
            seconds[i] = (double)INFINITY;
            if (c->p.verdict != ADVISE_GOOD)
                continue;
            seconds[i] = q->start_s + draw_seconds(c, tail[c->algorithm], own, slow[c->algorithm]);
            least_s = fmin(least_s, seconds[i]);
            least_cost = fmin(least_cost, seconds[i] * c->machines);
        }
        for (uint32_t i = 0; i < ch->count; i++) {
            struct advise_candidate *c = &ch->candidates[i];
            if (c->p.verdict != ADVISE_GOOD)
                continue;
            c->near_fastest += (seconds[i] <= advise_near * least_s) * (1.0 / ADVISE_DRAWS);
            c->near_cheapest +=
                (seconds[i] * c->machines <= advise_near * least_cost) * (1.0 / ADVISE_DRAWS);
            c->in_time += (seconds[i] <= q->deadline_s) * (1.0 / ADVISE_DRAWS);
        }
    }
}

/* ---- choosing ---- */

/* Predictions that are all but equal: one that was measured, the surest of those. */
static void settle_ties(struct advise_choice *ch)
{
    double fast = TIE, cheap = TIE;

    if (ch->fastest != UINT32_MAX) {
        fast *= ch->candidates[ch->fastest].seconds;
        cheap *= ch->candidates[ch->cheapest].cost;
    }
    for (uint32_t i = 0; i < ch->count; i++) {
        const struct advise_candidate *c = &ch->candidates[i];
        if (c->p.verdict != ADVISE_GOOD || !c->p.measured)
            continue;
        if (c->seconds <= fast && c->near_fastest > ch->candidates[ch->fastest].near_fastest)
            ch->fastest = i;
        if (c->cost <= cheap && c->near_cheapest > ch->candidates[ch->cheapest].near_cheapest)
            ch->cheapest = i;
    }
}

/* Of two predictions that are equal the surer one is better: the mean is above the middle. */
static double doubted(const struct advise_candidate *c)
{
    return c->p.measured ? 1 : exp(CAUTION * c->p.own);
}

static void choose_best(const struct advise_question *q, struct advise_choice *ch)
{
    ch->fastest = ch->cheapest = ch->by_deadline = UINT32_MAX;
    for (uint32_t i = 0; i < ch->count; i++) {
        const struct advise_candidate *c = &ch->candidates[i];
        if (c->p.verdict != ADVISE_GOOD)
            continue;
        if (ch->fastest == UINT32_MAX ||
            c->seconds * doubted(c) <
                ch->candidates[ch->fastest].seconds * doubted(&ch->candidates[ch->fastest]))
            ch->fastest = i;
        if (ch->cheapest == UINT32_MAX ||
            c->cost * doubted(c) <
                ch->candidates[ch->cheapest].cost * doubted(&ch->candidates[ch->cheapest]))
            ch->cheapest = i;
    }
    settle_ties(ch);
    if (isnan(q->target)) /* of a question that was not asked */
        ch->fastest = ch->cheapest = UINT32_MAX;
    if (!isfinite(q->deadline_s))
        return;
    for (uint32_t i = 0; i < ch->count; i++) {
        const struct advise_candidate *c = &ch->candidates[i];
        const struct advise_candidate *was =
            ch->by_deadline == UINT32_MAX ? NULL : &ch->candidates[ch->by_deadline];
        if (c->p.verdict != ADVISE_GOOD)
            continue;
        if (isnan(q->target) ? was == NULL || c->loss < was->loss
                             : c->in_time >= 0.9 && (was == NULL || c->cost < was->cost))
            ch->by_deadline = i;
    }
}

/* ---- the path ---- */

static void path_levels(const struct advise_fit *fit, const struct advise_choice *ch, double target,
                        double *levels)
{
    double first = -(double)INFINITY, best = fmin(fit->best_least, target);

    for (uint32_t i = 0; i < ch->count; i++)
        if (ch->candidates[i].p.verdict == ADVISE_GOOD)
            first = fmax(first, fit->algorithms[ch->candidates[i].algorithm].first);
    /* evenly in the logarithm of the distance to the best */
    double low = log(fmax(target - best, 1e-12 * (first - target))), high = log(first - best);
    for (int k = 0; k <= ADVISE_LEVELS; k++)
        levels[k] = best + exp(high + (low - high) * k / ADVISE_LEVELS);
    levels[0] = first;
    levels[ADVISE_LEVELS] = target;
}

static shoal_status find_paths(const struct advise_fit *fit, const struct advise_question *q,
                               struct advise_choice *ch)
{
    size_t cells = (size_t)ch->count * (ADVISE_LEVELS + 1);
    double levels[ADVISE_LEVELS + 1];
    double *table = base_calloc(ch->alloc, cells, 2 * sizeof *table);
    uint32_t *work = base_calloc(ch->alloc, cells, sizeof *work);

    if (table == NULL || work == NULL) {
        base_free(ch->alloc, table);
        base_free(ch->alloc, work);
        return SHOAL_E_NOMEM;
    }
    path_levels(fit, ch, q->target, levels);
    for (uint32_t i = 0; i < ch->count; i++) {
        const struct advise_candidate *c = &ch->candidates[i];
        double *row = table + (size_t)i * (ADVISE_LEVELS + 1);
        for (int k = 0; k <= ADVISE_LEVELS; k++)
            row[k] =
                c->p.verdict != ADVISE_GOOD
                    ? (double)INFINITY
                    : fmin(advise_seconds(fit, c->algorithm, c->machines, levels[k]), c->p.seconds);
        if (c->p.verdict == ADVISE_GOOD)
            row[ADVISE_LEVELS] = c->p.seconds;
        for (int k = 1; k <= ADVISE_LEVELS; k++)
            row[k] = fmax(row[k], row[k - 1]);
    }
    advise_path_find(ch, q, levels, table, false, work, table + cells, &ch->fast);
    advise_path_find(ch, q, levels, table, true, work, table + cells, &ch->cheap);
    if (ch->fast.gain < GAIN_MIN)
        ch->fast.leg_count = 0;
    if (ch->cheap.gain < GAIN_MIN)
        ch->cheap.leg_count = 0;
    base_free(ch->alloc, table);
    base_free(ch->alloc, work);
    return SHOAL_OK;
}

/* ---- all of it ---- */

/* A loss that some run has before its first iteration needs no advice. */
static shoal_status check_start(const struct advise_fit *fit, const struct advise_question *q,
                                shoal_err *err)
{
    for (uint32_t a = 0; a < fit->algorithm_count; a++)
        for (size_t i = 0; i < fit->algorithms[a].curve_count; i++) {
            const struct advise_curve *c = &fit->algorithms[a].curves[i];
            if (!(c->loss[0] <= q->target) || c->iteration[0] > 0)
                continue;
            base_err(err, SHOAL_E_IMPOSSIBLE,
                     "a loss of %.6g is there before the first iteration: %.63s begins at %.6g",
                     q->target, fit->algorithms[a].name, c->loss[0]);
            base_err_hint(err, "ask for a lower --target");
            return SHOAL_E_IMPOSSIBLE;
        }
    return SHOAL_OK;
}

/* Whether any candidate has done an iteration by the deadline. */
static bool any_learns(const struct advise_fit *fit, const struct advise_question *q,
                       const struct advise_choice *ch)
{
    double left = q->deadline_s - q->start_s;

    for (uint32_t i = 0; i < ch->count; i++) {
        const struct advise_candidate *c = &ch->candidates[i];
        if (c->p.verdict == ADVISE_GOOD && c->p.steps > 0 &&
            fit->algorithms[c->algorithm].model.time.start_s + c->p.step_s <= left)
            return true;
    }
    return false;
}

static shoal_status none_good(const struct advise_fit *fit, const struct advise_question *q,
                              const struct advise_choice *ch, shoal_err *err)
{
    uint32_t seen[ADVISE_UNREACHED + 1] = {0};

    for (uint32_t i = 0; i < ch->count; i++)
        seen[ch->candidates[i].p.verdict]++;
    if (seen[ADVISE_NEVER] + seen[ADVISE_UNREACHED] == 0 && seen[ADVISE_ONE_COUNT] > 0) {
        base_err(
            err, SHOAL_E_IMPOSSIBLE,
            "nothing can be said about these machine counts: runs were made on one count only");
        base_err_hint(err, "make a run on another machine count; --plan says which");
    } else if (seen[ADVISE_NEVER] + seen[ADVISE_UNREACHED] == 0 && seen[ADVISE_TOO_FAR] > 0) {
        base_err(err, SHOAL_E_IMPOSSIBLE,
                 "these machine counts are more than %d times those measured: no advice is given "
                 "that far",
                 ADVISE_BEYOND);
        base_err_hint(err, "measure a larger count; --plan says which");
    } else if (seen[ADVISE_NEVER] + seen[ADVISE_UNREACHED] == 0) {
        base_err(err, SHOAL_E_IMPOSSIBLE, "every algorithm diverged: nothing to advise");
        base_err_hint(err, "smaller steps may converge");
    } else if (isnan(q->target)) {
        base_err(err, SHOAL_E_IMPOSSIBLE,
                 "nothing is learnt by the deadline, as far as can be seen: no iteration is done "
                 "by then");
        base_err_hint(err, "give more time");
    } else if (q->target <= fit->best) {
        base_err(err, SHOAL_E_IMPOSSIBLE,
                 "a loss of %.6g is not reached, as far as can be seen: the lowest measured is "
                 "%.6g, and the lowest that can be reached is probably near %.6g",
                 q->target, fit->lowest, fit->best);
        base_err_hint(err, "ask for a higher --target, or make a longer run");
    } else {
        base_err(
            err, SHOAL_E_IMPOSSIBLE,
            "too little was measured to say when a loss of %.6g is reached: the lowest seen is "
            "%.6g",
            q->target, fit->lowest);
        base_err_hint(err, "make one run longer, on the machines where it is cheapest");
    }
    return SHOAL_E_IMPOSSIBLE;
}

void advise_choice_fini(struct advise_choice *choice)
{
    base_free(choice->alloc, choice->candidates);
    choice->candidates = NULL;
    choice->count = 0;
}

shoal_status advise_choose(const struct base_alloc *alloc, const struct advise_fit *fit,
                           const struct advise_question *q, struct advise_choice *out,
                           shoal_err *err)
{
    struct advise_choice ch = {.alloc = alloc};
    size_t count = (size_t)fit->algorithm_count * q->machine_count;
    shoal_status st = check_start(fit, q, err);

    if (st != SHOAL_OK)
        return st;
    if (count == 0 || count > ADVISE_CANDIDATES_MAX)
        return base_err(err, SHOAL_E_LIMIT, "more than %d combinations of algorithm and machines",
                        ADVISE_CANDIDATES_MAX);
    ch.candidates = base_calloc(alloc, count, sizeof *ch.candidates);
    double *seconds = base_calloc(alloc, count, sizeof *seconds);
    if (ch.candidates == NULL || seconds == NULL)
        st = base_err_nomem(err, "choosing");
    if (st == SHOAL_OK)
        st = make_candidates(fit, q, &ch, err);
    if (st == SHOAL_OK && (ch.good == 0 || (isnan(q->target) && !any_learns(fit, q, &ch))))
        st = none_good(fit, q, &ch, err);
    if (st == SHOAL_OK) {
        draw_all(fit, q, &ch, seconds);
        choose_best(q, &ch);
        if (!isnan(q->target) && find_paths(fit, q, &ch) != SHOAL_OK)
            st = base_err_nomem(err, "choosing");
    }
    base_free(alloc, seconds);
    if (st != SHOAL_OK)
        advise_choice_fini(&ch);
    else
        *out = ch;
    return st;
}
