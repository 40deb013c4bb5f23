/* shoal.c - Shoal's own strategy of buying: the price of a step, learnt as the job goes.
 *
 * Somebody who knew everything would give each step a price, lambda, and run wherever a step costs
 * less (bound.h). We do not know the future, but we see every price and which offers are up; so we
 * keep a fading record of what speed could have been had at each price of a step, and take as
 * lambda the lowest price at which the work that is left would be done in the time that is left,
 * if the future were like the record. When progress falls behind, lambda rises by itself, up to
 * the price on demand; when there is slack, it falls, and the job waits out what is dear. The
 * record begins before the job does, and fades the faster the shorter the job is: that of the last
 * days says more of the next hours than the present price, and than that of the last month.
 *
 * With lambda, every offer that is up has a rate of gain in US dollars a second:
 *     lambda x speed - price - (work an interruption costs) / left - (going there) / lasts
 * where left is how long it will stay up: what has been up long stays up long (strategy_age.c),
 * and some offers are interrupted more often than others. Going there (checkpoint, start-up,
 * transfer, egress) is spread over the time the difference lasts: a share of left, for half of all
 * stays are far shorter than the mean, and not longer than prices keep their order, nor than the
 * work that is left. The held offer pays no going. The largest gain wins.
 *
 * The job that holds nothing must go somewhere in the end, so that the last start-up is no reason
 * against going now: the least that going costs is counted as if there were work without end, by
 * the gain and by the record alike, and only what a place costs beyond that is spread over the work
 * left. Otherwise a job that is shorter than its start-up would never begin.
 *
 * Holding nothing gains nothing, but the job that holds nothing may wait: what is down may come
 * back, and where that would be preferred to the best that is up (the checkpoint's own zone, which
 * needs no egress, above all), waiting saves going twice. It waits while that, at the rate at
 * which such offers come back, is more than the best gains now. What has just gone comes back
 * soonest: the rate is that of the best time to wait, not one over the mean, which a few long
 * outages make large; as that time passes without a return, the rate falls, and the job goes. A
 * job that is late does not wait.
 *
 * Cost of a decision: offers + distinct speeds + bins. The figures are in
 * docs/design/0014-buying.md. */
#include "market/strategy.h"

#include "base/assert.h"
#include "market/replay_pace.h"
#include <math.h>
#include <stddef.h>

enum { BINS = 400, RUNGS_MAX = 8, SPEEDS_MAX = 64 };
#define BIN_STEP       0.012 /* of the logarithm of a step's price: bins cover a factor of 120 */
#define TABLE_S        3600.0
#define LEAST_MEMORY_S (12 * 3600.0) /* of jobs however short */
#define PRIOR_ENDS     3.0 /* interruptions of an average offer that every offer is born with */
/* However often an offer is interrupted, interruptions are counted as half of the time there at
 * most, and going there as a quarter: so that every offer has a price at which it is gone to. */
#define LOST_MOST 0.5
#define GO_MOST   0.25

struct knobs {
    double memory_s, horizon_s, wait_s, reserve, trust, patience, band, keep_s, price_usd;
    bool hope, ages;
};

#define AT(member) offsetof(struct knobs, member)

static const shoal_opt rows[] = {
    {AT(memory_s), SHOAL_OPT_DURATION, "memory", 0, "TIME", "30d",
     "what was seen so long ago counts a third; less for short jobs", .min = 60,
     .max = 3660 * 86400.0},
    {AT(horizon_s), SHOAL_OPT_DURATION, "horizon", 0, "TIME", "72h",
     "how long prices are taken to keep their order", .min = 60, .max = 3660 * 86400.0},
    {AT(wait_s), SHOAL_OPT_DURATION, "wait", 0, "TIME", "2h",
     "how long a pause for lower prices is taken to last", .min = 60, .max = 3660 * 86400.0},
    {AT(keep_s), SHOAL_OPT_DURATION, "keep", 0, "TIME", "30m",
     "time before the deadline that is never waited away", .min = 60, .max = 3660 * 86400.0},
    {AT(reserve), SHOAL_OPT_F64, "reserve", 0, "SHARE", "0.08",
     "share of the time left that is not planned with", .max = 0.9},
    {AT(trust), SHOAL_OPT_F64, "trust", 0, "SHARE", "0.3",
     "share of the time an offer should stay up that is counted on", .min = 0.01, .max = 1},
    {AT(patience), SHOAL_OPT_F64, "patience", 0, "SHARE", "0.1",
     "share of the time to wait out when there is no deadline", .max = 0.9},
    {AT(band), SHOAL_OPT_F64, "band", 0, "SHARE", "0.03",
     "share by which progress must be ahead before it pauses", .max = 1},
    {AT(price_usd), SHOAL_OPT_F64, "price", 0, "USD", "0",
     "US dollars for a step to pay at most while there is time; 0: learnt", .max = 1e9},
    {AT(hope), SHOAL_OPT_FLAG, "hope", 0, NULL, "true", .help = "wait for what may come back"},
    {AT(ages), SHOAL_OPT_FLAG, "ages", 0, NULL, "true",
     .help = "reckon with how long an offer has been up"},
};

struct note {
    bool begun;
    double step_usd;    /* lambda at the last decision */
    bool late;          /* no price was high enough then */
    double base_usd;    /* a step's price in the middle bin */
    double last_s;      /* the record is complete up to here */
    double weight;      /* of a second now: grows, instead of all bins fading */
    double seconds;     /* weighted */
    double cheap;       /* weighted: the speed of the cheapest step */
    double speed[BINS]; /* weighted: more speed to be had from this price of a step on */
    /* what was to be had at the last look: so much more speed from this bin on */
    double rung_speed[RUNGS_MAX];
    double least_usd; /* the cheapest step of them, with all it costs */
    uint32_t rung_bin[RUNGS_MAX], rungs;
    double table_s;                /* when the tables were made */
    double up_left_s[MARKET_AGES]; /* by age: how long it will stay up */
    double back_rate[MARKET_AGES]; /* by age of being down: returns a second */
};

/* --- what an offer is --- */

static double speed_of(const struct market_view *v, uint32_t offer)
{
    return market_pace_mean(market_pace(v->costs, v->job->speed[v->prices->offers[offer].kind]));
}

static bool spot(const struct market_view *v, uint32_t offer)
{
    return v->prices->offers[offer].how == MARKET_SPOT;
}

static double usd_s(const struct market_view *v, uint32_t offer)
{
    return v->usd_h[offer] * v->job->instances / 3600;
}

/* How much more often than others an offer is interrupted. */
static double times(const struct market_view *v, uint32_t offer)
{
    const struct market_seen *seen = &v->seen[offer];

    return (seen->interruptions + PRIOR_ENDS) / (seen->ends_expected + PRIOR_ENDS);
}

/* One over the time that an offer will stay up when it has been up for so long. */
static double risk_at(const struct knobs *k, const struct market_view *v, const struct note *note,
                      uint32_t offer, double age_s)
{
    const struct market_seen *seen = &v->seen[offer];

    if (!spot(v, offer))
        return 0;
    if (!k->ages)
        return (seen->interruptions + 1) / (seen->up_s + 6 * 3600);
    return times(v, offer) / market_age_left_s(note->up_left_s, age_s);
}

static double risk_now(const struct knobs *k, const struct market_view *v, const struct note *note,
                       uint32_t offer)
{
    return risk_at(k, v, note, offer, v->now_s - v->seen[offer].since_s);
}

/* What interruptions cost a second, where a second of work is worth `value`. */
static double loss_of(const struct market_view *v, double risk, double value)
{
    const struct market_costs *c = v->costs;
    double lost_s = c->notice_s >= c->checkpoint_s ? c->checkpoint_s : c->checkpoint_every_s / 2;

    return value * fmin(LOST_MOST, risk * (c->startup_s + lost_s));
}

/* A move at its slowest: checkpoint, start-up and transfer. */
static double slow_move_s(const struct market_view *v)
{
    const struct market_costs *c = v->costs;
    double slowest = fmin(c->zone_gb_s, fmin(c->region_gb_s, c->cloud_gb_s));

    return c->startup_s + c->checkpoint_s + v->job->checkpoint_gb / slowest;
}

/* How long an advantage of an offer is taken to last, if there is work for so long. */
static double stays_s(const struct knobs *k, const struct market_view *v, double risk)
{
    return fmax(slow_move_s(v) / GO_MOST,
                1 / ((k->ages ? risk / k->trust : risk) + 1 / k->horizon_s));
}

/* The same, not beyond the work itself. */
static double lasts_s(const struct knobs *k, const struct market_view *v, uint32_t offer,
                      double risk)
{
    return fmin(1 + (v->job->work - v->steps) / speed_of(v, offer), stays_s(k, v, risk));
}

/* --- the price of a step --- */

static uint32_t bin_of(const struct note *note, double usd_step)
{
    double at = BINS / 2.0 + log(usd_step / note->base_usd) / BIN_STEP;

    return at <= 0 ? 0 : at >= BINS - 1 ? BINS - 1 : (uint32_t)at;
}

/* What a second there costs, with interruptions and with going there, most often from another
 * region: at that price the job would begin there (least_go_usd), however little is left. */
static double full_usd_s(const struct knobs *k, const struct market_view *v,
                         const struct note *note, uint32_t offer)
{
    double value = note->step_usd * speed_of(v, offer), risk = risk_now(k, v, note, offer);
    double go = value * v->costs->startup_s + v->job->checkpoint_gb * v->costs->region_usd_gb;

    return usd_s(v, offer) + loss_of(v, risk, value) + go / stays_s(k, v, risk);
}

/* What a second costs at one speed, where that is cheapest now. */
struct pace {
    double speed, usd_s;
};

/* The speeds that can be had now, each where it is cheapest; how many. Offers of one kind have one
 * speed, so there are few; more than SPEEDS_MAX are left out. */
static uint32_t list_paces(const struct knobs *k, const struct market_view *v,
                           const struct note *note, struct pace paces[SPEEDS_MAX])
{
    uint32_t count = 0;

    for (size_t i = 0; i < v->candidate_count; i++) {
        uint32_t o = v->candidates[i], at = 0;
        double speed = v->speed[i];
        if (!market_had(v, o))
            continue;
        while (at < count && paces[at].speed != speed)
            at++;
        if (at == SPEEDS_MAX || (at < count && usd_s(v, o) >= paces[at].usd_s))
            continue; /* the rest of what it costs is not negative */
        double full = full_usd_s(k, v, note, o);
        if (at == count)
            paces[count++] = (struct pace){speed, full};
        else
            paces[at].usd_s = fmin(paces[at].usd_s, full);
    }
    return count;
}

/* The speed that pays first, beyond what the last one costs already, as the price of a step rises.
 */
static const struct pace *next_rung(const struct pace *paces, uint32_t count,
                                    const struct pace *last, double *out_at)
{
    const struct pace *best = NULL;

    for (uint32_t i = 0; i < count; i++) {
        if (paces[i].speed <= last->speed * (1 + 1e-9))
            continue;
        double at = (paces[i].usd_s - last->usd_s) / (paces[i].speed - last->speed);
        if (best == NULL || at < *out_at) {
            best = &paces[i];
            *out_at = at;
        }
    }
    return best;
}

/* The ladder of what can be had now: from which price of a step on which speed is worth having. The
 * lowest rung is the cheapest step, each next one a faster offer. */
static void look(const struct knobs *k, const struct market_view *v, struct note *note)
{
    static const struct pace nothing = {0, 0};
    struct pace paces[SPEEDS_MAX];
    const struct pace *last = &nothing;
    uint32_t count = list_paces(k, v, note, paces);
    double from = 0;

    note->least_usd = 0;
    for (note->rungs = 0; note->rungs < RUNGS_MAX; note->rungs++) {
        double at = 0;
        const struct pace *rung = next_rung(paces, count, last, &at);
        if (rung == NULL)
            return;
        from = fmax(from, at);
        if (note->rungs == 0)
            note->least_usd = from;
        if (!note->begun) {
            note->begun = true;
            note->base_usd = from > 0 ? from : 1;
            note->weight = 1;
        }
        note->rung_bin[note->rungs] = bin_of(note, from);
        note->rung_speed[note->rungs] = rung->speed - last->speed;
        last = rung;
    }
}

/* How fast the record fades: not so slowly that a short job reckons with what was long ago. */
static double memory_s(const struct knobs *k, const struct market_view *v)
{
    double span_s = v->job->deadline_s - v->job->start_s;

    return fmin(k->memory_s, fmax(LEAST_MEMORY_S, span_s / 10));
}

/* Adds the time since the last look to the record, with what could be had then. */
static void record(const struct knobs *k, const struct market_view *v, struct note *note)
{
    double dt = note->begun ? v->now_s - note->last_s : 0;

    if (dt > 0) {
        note->weight *= exp(dt / memory_s(k, v));
        note->seconds += note->weight * dt;
        for (uint32_t i = 0; i < note->rungs; i++)
            note->speed[note->rung_bin[i]] += note->weight * dt * note->rung_speed[i];
        if (note->rungs > 0)
            note->cheap += note->weight * dt * note->rung_speed[0];
        if (note->weight > 1e12) { /* keep numbers small */
            note->seconds /= note->weight;
            note->cheap /= note->weight;
            for (size_t b = 0; b < BINS; b++)
                note->speed[b] /= note->weight;
            note->weight = 1;
        }
    }
    note->last_s = v->now_s;
    look(k, v, note);
    if (note->begun && note->seconds <= 0) { /* better than nothing: what is there now */
        note->seconds = 1;
        for (uint32_t i = 0; i < note->rungs; i++)
            note->speed[note->rung_bin[i]] += note->rung_speed[i];
        note->cheap = note->rung_speed[0];
    }
}

/* The lowest price of a step at which the record would have done `want` steps a second. */
static double price_for(const struct note *note, double want)
{
    double sum = 0, have = note->seconds * want;

    for (size_t b = 0; b < BINS; b++) {
        sum += note->speed[b];
        if (sum >= have)
            return note->base_usd * exp(((double)b + 1 - BINS / 2.0) * BIN_STEP);
    }
    return INFINITY;
}

/* Time to plan with. Not all there is: at the end of its slack the guard would send the job on
 * demand for all that is left, so what a last move and a few interruptions need is never waited
 * away. */
static double plan_s(const struct knobs *k, const struct market_view *v)
{
    double from_s = fmax(v->now_s, v->job->start_s);

    return (v->job->deadline_s - from_s - 3 * slow_move_s(v) - k->keep_s) * (1 - k->reserve);
}

/* A price of a step, but not more than half as much again as the dearest step that is sold now,
 * unless all that can be had costs more by interruptions and by going there. */
static double at_most_dearest(const struct market_view *v, const struct note *note, double usd_step)
{
    double scale = 1.5 * v->job->instances / 3600, dearest = 0;

    for (size_t i = 0; i < v->candidate_count && dearest * scale < usd_step; i++) {
        double usd = v->usd_h[v->candidates[i]] / v->speed[i];
        if (usd > dearest) /* not where it is not sold: NAN */
            dearest = usd;
    }
    return fmin(usd_step, fmax(dearest * scale, note->least_usd * exp(BIN_STEP)));
}

/* US dollars a step: what the job should pay at most now. */
static double lambda(const struct knobs *k, const struct market_view *v, struct note *note)
{
    double left = v->job->work - v->steps;

    if (note->seconds <= 0)
        return at_most_dearest(v, note, INFINITY);
    double want = (1 - k->patience) * note->cheap / note->seconds;
    if (v->job->deadline_s < INFINITY)
        want = left / fmax(1, plan_s(k, v));
    if (v->held != MARKET_NONE) /* what runs goes on until it is well ahead: no to and fro */
        want *= 1 + k->band;
    double learnt = price_for(note, want);
    note->late = learnt == INFINITY; /* all that was ever to be had would not do */
    return at_most_dearest(v, note, k->price_usd > 0 && !note->late ? k->price_usd : learnt);
}

/* --- where to --- */

static double gain_of(const struct market_view *v, const struct note *note, uint32_t offer,
                      double risk)
{
    double value = note->step_usd * speed_of(v, offer);

    return value - usd_s(v, offer) - loss_of(v, risk, value);
}

static double go_usd(const struct market_view *v, const struct note *note, uint32_t offer)
{
    return note->step_usd * speed_of(v, offer) *
               market_move_s(v->prices, v->job, v->costs, v->checkpoint, offer) +
           market_move_usd(v->prices, v->job, v->costs, v->checkpoint, offer);
}

/* What every way of going on costs: of all that is worth going to when there is work without end,
 * the least that going there costs. The job that holds nothing pays it sooner or later, so that it
 * is no reason against going now, however little work is left. 0: nothing is worth it. */
static double least_go_usd(const struct knobs *k, const struct market_view *v,
                           const struct note *note)
{
    double least = INFINITY;

    for (size_t i = 0; i < v->candidate_count; i++) {
        uint32_t o = v->candidates[i];
        if (!market_had(v, o) || usd_s(v, o) > note->step_usd * v->speed[i])
            continue;
        double risk = risk_now(k, v, note, o), go = go_usd(v, note, o);
        if (go < least && gain_of(v, note, o, risk) * stays_s(k, v, risk) > go)
            least = go;
    }
    return least < INFINITY ? least : 0;
}

/* US dollars a second that going there costs: what cannot be spared (`least`) as for work without
 * end, the rest over the work that is left. */
static double go_usd_s(const struct knobs *k, const struct market_view *v, const struct note *note,
                       uint32_t offer, double risk, double least)
{
    return least / stays_s(k, v, risk) +
           (go_usd(v, note, offer) - least) / lasts_s(k, v, offer, risk);
}

/* Returns a second of what has been down for so long, when it is waited for as long as is best: the
 * largest, over times to wait, of the chance that it comes back by then over the time waited. */
static double back_rate(const struct market_ages *ages, size_t from)
{
    double down = 1, waited_s = 0, best = 0;

    for (size_t b = from; b < MARKET_AGES; b++) {
        double rate = market_age_rate(ages->down_s, ages->down_ends, b);
        double bin_s = market_age_to_s[b == 0 ? 0 : b - 1]; /* its width */
        double still = down * exp(-rate * bin_s);
        waited_s += (down - still) / rate;
        down = still;
        best = fmax(best, (1 - down) / waited_s);
    }
    return best;
}

/* US dollars a second that waiting for what is down gains over going to `best` now: what may come
 * back and would be preferred saves, at most, going to the best first. */
static double wait_gain(const struct knobs *k, const struct market_view *v, const struct note *note,
                        uint32_t best)
{
    double go_best = go_usd(v, note, best), risk = risk_now(k, v, note, best), sum = 0;
    double gain_best = gain_of(v, note, best, risk);

    for (size_t i = 0; i < v->candidate_count; i++) {
        uint32_t o = v->candidates[i];
        if (!spot(v, o) || isnan(v->usd_h[o]) || market_had(v, o))
            continue;
        double risk_new = risk_at(k, v, note, o, 0);
        double better =
            go_best - go_usd(v, note, o) +
            (gain_of(v, note, o, risk_new) - gain_best) * lasts_s(k, v, o, fmax(risk, risk_new));
        if (better > 0)
            sum += fmin(better, go_best) *
                   note->back_rate[market_age_bin(v->now_s - v->seen[o].since_s)];
    }
    return sum;
}

/* One look: what is there now, and lambda. */
static void watch(const void *knobs, void *memory, const struct market_view *v)
{
    const struct knobs *k = knobs;
    struct note *note = memory;

    if (!note->begun || v->now_s >= note->table_s + TABLE_S) {
        market_age_table(v->ages->up_s, v->ages->up_ends, note->up_left_s);
        for (size_t b = 0; b < MARKET_AGES; b++)
            note->back_rate[b] = back_rate(v->ages, b);
        note->table_s = v->now_s;
    }
    record(k, v, note);
    note->step_usd = lambda(k, v, note);
}

static void score(const void *knobs, void *memory, const struct market_view *v, double *out,
                  double *idle)
{
    const struct knobs *k = knobs;
    struct note *note = memory;
    size_t best = v->candidate_count;
    double leave_usd = 0, held_value = 0, least = 0;

    *idle = 0;
    watch(knobs, memory, v);
    if (v->held == MARKET_NONE)
        least = least_go_usd(k, v, note);
    if (v->held != MARKET_NONE)
        held_value = note->step_usd * speed_of(v, v->held);
    if (v->held != MARKET_NONE && v->checkpoint == v->held) /* it runs: there is work to save */
        leave_usd = held_value * v->costs->checkpoint_s;
    if (held_value > 0) /* a pause costs starting again, over at most the work that is left */
        *idle = (leave_usd + held_value * v->costs->startup_s) /
                fmin(k->wait_s, 1 + (v->job->work - v->steps) / speed_of(v, v->held));
    for (size_t i = 0; i < v->candidate_count; i++) {
        uint32_t o = v->candidates[i];
        out[i] = INFINITY;
        if (!market_had(v, o))
            continue;
        if (o != v->held && usd_s(v, o) - note->step_usd * v->speed[i] > *idle)
            continue; /* holding nothing is better, before risks and going are counted */
        double risk = risk_now(k, v, note, o), gain = gain_of(v, note, o, risk);
        if (o != v->held)
            gain -= leave_usd / lasts_s(k, v, o, risk) + go_usd_s(k, v, note, o, risk, least);
        out[i] = -gain;
        if (best == v->candidate_count || out[i] < out[best])
            best = i;
    }
    if (v->held == MARKET_NONE && best < v->candidate_count && k->hope && !note->late)
        *idle = -wait_gain(k, v, note, v->candidates[best]);
}

const struct market_strategy market_strategy_shoal = {
    .name = "shoal",
    .summary = "a price for each step, learnt from what could be had; waits, moves and flees by it",
    .opts = rows,
    .opt_count = BASE_COUNT(rows),
    .knobs_size = sizeof(struct knobs),
    .note_size = sizeof(struct note),
    .watch = watch,
    .score = score,
};
