/* fixed.c - `static`: the offer that is cheapest per step when the job starts, can be had then and
 * would meet the deadline if it were never interrupted, is kept for good; after an interruption the job waits for it to come back, and the guard
 * sends it on demand when there is no more time to wait. What most people do. */
#include "market/replay_pace.h"
#include "market/strategy.h"

#include <math.h>

struct note {
    bool chosen;
    uint32_t offer;
};

/* Whether the job would be in time there if it were never interrupted. */
static bool in_time(const struct market_view *v, uint32_t offer)
{
    double speed = v->job->speed[v->prices->offers[offer].kind];
    double move_s = market_move_s(v->prices, v->job, v->costs, v->checkpoint, offer);

    return v->now_s + move_s +
               market_pace_s(market_pace(v->costs, speed), v->job->work - v->steps) <=
           v->job->deadline_s;
}

/* The cheapest, of those that can be had or of all, that are fast enough or whatever they are;
 * MARKET_NONE: none is sold. */
static uint32_t cheapest(const struct market_view *v, bool had, bool fast)
{
    uint32_t best = MARKET_NONE;

    for (size_t i = 0; i < v->candidate_count; i++) {
        uint32_t o = v->candidates[i];
        if (isnan(v->usd_h[o]) || (had && v->up[o] < v->job->instances))
            continue;
        if (fast && !in_time(v, o))
            continue;
        if (best == MARKET_NONE || market_per_step(v, o) < market_per_step(v, best))
            best = o;
    }
    return best;
}

static void score(const void *knobs, void *memory, const struct market_view *v, double *out,
                  double *idle)
{
    struct note *note = memory;

    (void)knobs;
    if (!note->chosen) {
        note->offer = MARKET_NONE;
        for (int i = 0; i < 4 && note->offer == MARKET_NONE; i++)
            note->offer = cheapest(v, i % 2 == 0, i < 2);
        note->chosen = note->offer != MARKET_NONE;
    }
    *idle = 1;
    for (size_t i = 0; i < v->candidate_count; i++) {
        uint32_t o = v->candidates[i];
        bool here = note->chosen && o == note->offer && v->up[o] >= v->job->instances;
        out[i] = here ? 0 : INFINITY;
    }
}

const struct market_strategy market_strategy_fixed = {
    .name = "static",
    .summary = "the offer cheapest per step at the start, kept; waits when it is interrupted",
    .note_size = sizeof(struct note),
    .score = score,
};
