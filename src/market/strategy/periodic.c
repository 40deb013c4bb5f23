/* periodic.c - `periodic`: every so many hours, and whenever its place is gone, the job goes to the
 * offer that is cheapest per step now, whatever moving costs. Deshpande and others found once a day
 * enough on the prices of 2020. */
#include "market/strategy.h"

#include "base/assert.h"
#include <math.h>
#include <stddef.h>

struct knobs {
    double every_s;
};

static const shoal_opt rows[] = {
    {offsetof(struct knobs, every_s), SHOAL_OPT_DURATION, "every", 0, "TIME", "24h",
     "choose again so often", .min = 60, .max = 366 * 86400.0},
};

struct note {
    bool chosen;
    uint32_t offer;
    double next_s;
};

static void choose(const struct market_view *v, struct note *note)
{
    uint32_t best = v->held != MARKET_NONE && market_had(v, v->held) ? v->held : MARKET_NONE;

    for (size_t i = 0; i < v->candidate_count; i++) {
        uint32_t o = v->candidates[i];
        if (market_had(v, o) &&
            (best == MARKET_NONE || market_per_step(v, o) < market_per_step(v, best)))
            best = o;
    }
    note->chosen = best != MARKET_NONE;
    note->offer = best;
}

static void score(const void *knobs, void *memory, const struct market_view *v, double *out,
                  double *idle)
{
    const struct knobs *k = knobs;
    struct note *note = memory;

    if (v->now_s >= note->next_s) {
        choose(v, note);
        note->next_s = v->now_s + k->every_s;
    } else if (!note->chosen || !market_had(v, note->offer)) {
        choose(v, note);
    }
    *idle = 1;
    for (size_t i = 0; i < v->candidate_count; i++)
        out[i] = note->chosen && v->candidates[i] == note->offer ? 0 : INFINITY;
}

const struct market_strategy market_strategy_periodic = {
    .name = "periodic",
    .summary = "every day to the offer cheapest per step now",
    .paper = "Deshpande and others, Analysis and Exploitation of Dynamic Pricing in the Public "
             "Cloud for ML Training, DISPA 2020",
    .opts = rows,
    .opt_count = BASE_COUNT(rows),
    .knobs_size = sizeof(struct knobs),
    .note_size = sizeof(struct note),
    .score = score,
};
