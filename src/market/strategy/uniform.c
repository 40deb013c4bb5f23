/* uniform.c - Uniform Progress: the job should have made the share of its work that has passed of
 * its time. Its rules, as published for one place of each sort:
 *   - spot whenever it can be had, also when behind ("taking risks"), and kept until it is
 *     interrupted ("exploitation");
 *   - holding nothing and behind: on demand;
 *   - on demand and no spot: stay until the progress is what it should be two change-overs later
 *     ("hysteresis"), then wait for spot;
 *   - the safety net at the end is the replay's guard.
 * With many places spot is the cheapest per step that can be had when one is looked for. Without a
 * deadline there is nothing to be behind of, and it waits for spot.
 *
 * Wu and others, Can't Be Late: Optimizing Spot Instance Savings under Deadlines, NSDI 2024. */
#include "market/strategy.h"

#include <math.h>

/* Steps that should be done at a time. */
static double expected(const struct market_view *v, double at_s)
{
    if (v->job->deadline_s == INFINITY)
        return -INFINITY;
    double span = v->job->deadline_s - v->job->start_s;
    return span > 0 ? v->job->work * (at_s - v->job->start_s) / span : INFINITY;
}

static uint32_t cheapest(const struct market_view *v, enum market_how how)
{
    uint32_t best = MARKET_NONE;

    for (size_t i = 0; i < v->candidate_count; i++) {
        uint32_t o = v->candidates[i];
        if (v->prices->offers[o].how != how || !market_had(v, o))
            continue;
        if (best == MARKET_NONE || market_per_step(v, o) < market_per_step(v, best))
            best = o;
    }
    return best;
}

static bool has_spot(const struct market_view *v)
{
    for (size_t i = 0; i < v->candidate_count; i++) {
        if (v->prices->offers[v->candidates[i]].how == MARKET_SPOT)
            return true;
    }
    return false;
}

static uint32_t choose(const struct market_view *v)
{
    bool held = v->held != MARKET_NONE && market_had(v, v->held);
    bool held_spot = held && v->prices->offers[v->held].how == MARKET_SPOT;
    double change_s = v->costs->startup_s + v->costs->checkpoint_s;

    if (held_spot)
        return v->held;
    uint32_t spot = cheapest(v, MARKET_SPOT);
    if (spot != MARKET_NONE)
        return spot;
    if (!has_spot(v))
        return held ? v->held : cheapest(v, MARKET_ON_DEMAND);
    if (held)
        return v->steps >= expected(v, v->now_s + 2 * change_s) ? MARKET_NONE : v->held;
    return v->steps < expected(v, v->now_s) ? cheapest(v, MARKET_ON_DEMAND) : MARKET_NONE;
}

static void score(const void *knobs, void *memory, const struct market_view *v, double *out,
                  double *idle)
{
    uint32_t to = choose(v);

    (void)knobs;
    (void)memory;
    *idle = 1;
    for (size_t i = 0; i < v->candidate_count; i++)
        out[i] = v->candidates[i] == to ? 0 : INFINITY;
}

const struct market_strategy market_strategy_uniform = {
    .name = "uniform",
    .summary = "spot where it can be had, on demand when progress falls behind the clock",
    .paper = "Wu and others, Can't Be Late: Optimizing Spot Instance Savings under Deadlines, "
             "NSDI 2024",
    .score = score,
};
