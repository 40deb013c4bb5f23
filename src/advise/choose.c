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

/* ---- changes on the way ----
 *
 * A dynamic program over losses: the least time (or cost) at which level k is passed with candidate
 * c at work is that of level k - 1 with c, or the least of all there and a change. Cost LEVELS x
 * candidates; exact for the table given. Tests, with the slow search of all paths:
 * tests/unit/advise/test_choose.c. */

enum { NONE = UINT32_MAX };

static double price(const struct advise_candidate *c, bool by_cost)
{
    return by_cost ? c->machines : 1;
}

/* best[k][c], from[k][c]: who was at work before level k. */
static void forward(const struct advise_choice *ch, const struct advise_question *q,
                    const double *table, bool by_cost, uint32_t *from, double *best)
{
    const uint32_t n = ch->count;

    for (uint32_t c = 0; c < n; c++) {
        from[c] = c;
        best[c] = (q->start_s + table[(size_t)c * (ADVISE_LEVELS + 1)]) *
                  price(&ch->candidates[c], by_cost);
    }
    for (int k = 1; k <= ADVISE_LEVELS; k++) {
        const double *was = best + (size_t)(k - 1) * n;
        uint32_t least = 0;
        for (uint32_t c = 1; c < n; c++)
            least = was[c] < was[least] ? c : least;
        for (uint32_t c = 0; c < n; c++) {
            const double *row = table + (size_t)c * (ADVISE_LEVELS + 1);
            double rate = price(&ch->candidates[c], by_cost);
            double step = isfinite(row[k]) ? (row[k] - row[k - 1]) * rate : (double)INFINITY;
            double change = was[least] + q->change_s * rate;
            bool stay = was[c] <= change;
            from[(size_t)k * n + c] = stay ? c : least;
            best[(size_t)k * n + c] = (stay ? was[c] : change) + step;
        }
    }
}

/* Legs from the levels at which the one at work changes; from the end to the start. */
static void trace(const struct advise_choice *ch, const struct advise_question *q,
                  const double *levels, const double *table, const uint32_t *from, uint32_t last,
                  struct advise_path *out)
{
    struct advise_leg legs[ADVISE_LEVELS + 1];
    uint32_t count = 0, c = last;
    int end = ADVISE_LEVELS;

    for (int k = ADVISE_LEVELS; k >= 0; k--) {
        uint32_t before = k > 0 ? from[(size_t)k * ch->count + c] : NONE;
        if (before == c)
            continue;
        /* c was at work from level k - 1 on, or from the start */
        const double *row = table + (size_t)c * (ADVISE_LEVELS + 1);
        int begin = k > 0 ? k - 1 : 0;
        double seconds = row[end] - (k > 0 ? row[begin] : 0) + (k > 0 ? q->change_s : q->start_s);
        legs[count++] = (struct advise_leg){.candidate = c,
                                            .from_loss = levels[begin],
                                            .to_loss = levels[end],
                                            .seconds = seconds,
                                            .cost = seconds / 3600 * ch->candidates[c].machines *
                                                    (q->usd_h > 0 ? q->usd_h : 1)};
        end = begin;
        if (k == 0)
            break;
        c = before;
    }
    out->leg_count = count <= ADVISE_LEGS_MAX ? count : 0;
    for (uint32_t i = 0; i < out->leg_count; i++)
        out->legs[i] = legs[count - 1 - i];
}

void advise_path_find(const struct advise_choice *ch, const struct advise_question *q,
                      const double *levels, const double *table, bool by_cost, uint32_t *work,
                      double *best, struct advise_path *out)
{
    const double *end = best + (size_t)ADVISE_LEVELS * ch->count;
    double single = (double)INFINITY, low = 0, high = 0;
    uint32_t last = 0;

    forward(ch, q, table, by_cost, work, best);
    for (uint32_t c = 0; c < ch->count; c++) {
        last = end[c] < end[last] ? c : last;
        single =
            fmin(single, (q->start_s + table[(size_t)c * (ADVISE_LEVELS + 1) + ADVISE_LEVELS]) *
                             price(&ch->candidates[c], by_cost));
    }
    *out = (struct advise_path){.leg_count = 0};
    if (!isfinite(end[last]))
        return;
    trace(ch, q, levels, table, work, last, out);
    for (uint32_t i = 0; i < out->leg_count; i++) {
        const struct advise_leg *leg = &out->legs[i];
        const struct advise_candidate *c = &ch->candidates[leg->candidate];
        out->seconds += leg->seconds;
        out->cost += leg->cost;
        low += leg->seconds * c->p.low_s / c->p.seconds;
        high += leg->seconds * c->p.high_s / c->p.seconds;
    }
    out->low_s = low;
    out->high_s = high;
    out->gain = 1 - end[last] / single;
}

/* ---- the run to make next ---- */

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
