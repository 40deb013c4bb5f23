/* path.c - when to change algorithm or machines on the way down (choose.h).
 *
 * A dynamic program over losses: the least time (or cost) at which level k is passed with candidate
 * c at work is that of level k - 1 with c, or the least of all there and a change. Cost LEVELS x
 * candidates; exact for the table given. Tests, with the slow search of all paths:
 * tests/unit/advise/test_choose.c. */
#include "advise/choose.h"

#include <math.h>

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
