/* fixed.c - `static`: the offer that is cheapest per step when the job starts, and can be had
 * then, is kept for good; after an interruption the job waits for it to come back, and the guard
 * sends it on demand when there is no more time to wait. What most people do. */
#include "market/strategy.h"

#include <math.h>

struct note {
    bool chosen;
    uint32_t offer;
};

static double per_step(const struct market_view *v, uint32_t offer)
{
    return v->usd_h[offer] / v->job->speed[v->prices->offers[offer].kind];
}

/* The cheapest, of those that can be had or of all; MARKET_NONE: none is sold. */
static uint32_t cheapest(const struct market_view *v, bool had)
{
    uint32_t best = MARKET_NONE;

    for (size_t i = 0; i < v->candidate_count; i++) {
        uint32_t o = v->candidates[i];
        if (isnan(v->usd_h[o]) || (had && v->up[o] < v->job->instances))
            continue;
        if (best == MARKET_NONE || per_step(v, o) < per_step(v, best))
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
        note->offer = cheapest(v, true);
        if (note->offer == MARKET_NONE)
            note->offer = cheapest(v, false);
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
