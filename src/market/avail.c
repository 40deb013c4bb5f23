/* avail.c - see avail.h.
 *
 * Here: asking, and what is drawn. Every source becomes the same thing: an offer follows a pattern,
 * a list of levels over time, which happens once at a given time or repeats with a period. Cuts
 * share patterns. A repeating pattern begins at cycle * period - shift counted from 1970, so
 * neither the beginning of prices nor other offers move it.
 *
 * Times of levels are compared as the caller sees them, after rounding (begin + at), never by
 * subtracting: so the time that is given as the next change is always later than the time asked
 * for. Tests: tests/unit/market/test_avail.c compares with plain expansion. */
#include "market/avail_state.h"

#include "base/assert.h"
#include "base/err.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Nothing is known of times beyond: there doubles no longer tell one cycle from the next. */
static const double FAR_S = 1e13;

shoal_status market_avail_nomem(shoal_err *err)
{
    return base_err_nomem(err, "preparing availability");
}

void market_avail_free(struct market_avail *avail)
{
    if (avail == NULL)
        return;
    base_free(avail->alloc, avail->levels);
    base_free(avail->alloc, avail->patterns);
    base_free(avail->alloc, avail->follows);
    base_free(avail->alloc, avail);
}

/* Nothing to be had but on demand. */
struct market_avail *market_avail_new(const struct base_alloc *alloc,
                                      const struct market_prices *prices)
{
    struct market_avail *avail = base_calloc(alloc, 1, sizeof *avail);

    if (avail == NULL)
        return NULL;
    avail->alloc = alloc;
    avail->offer_count = prices->offer_count;
    avail->follows = base_calloc(alloc, prices->offer_count, sizeof *avail->follows);
    if (avail->follows == NULL) {
        market_avail_free(avail);
        return NULL;
    }
    for (size_t i = 0; i < prices->offer_count; i++)
        avail->follows[i] = (struct market_follow){
            .pattern = MARKET_NONE, .always = prices->offers[i].how == MARKET_ON_DEMAND};
    return avail;
}

void market_avail_facts_get(const struct market_avail *avail, struct market_avail_facts *out)
{
    *out = avail->facts;
}

/* --- asking ---------------------------------------------------------------------------------- */

/* How many levels begin at or before at_s, when the pattern begins at begin_s; *cursor is where to
 * look first. */
static size_t count_before(const struct market_level *levels, size_t count, double begin_s,
                           double at_s, size_t *cursor)
{
    size_t from = 0, to = count;
    size_t guess = cursor != NULL && *cursor <= count ? *cursor : 0;

    for (int step = 0; step < 4 && guess < count && begin_s + levels[guess].at_s <= at_s; step++)
        guess++;
    if (guess == 0 || begin_s + levels[guess - 1].at_s <= at_s)
        from = guess;
    else
        to = guess;
    if (from == guess && (guess == count || begin_s + levels[guess].at_s > at_s))
        to = guess;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (begin_s + levels[middle].at_s <= at_s)
            from = middle + 1;
        else
            to = middle;
    }
    if (cursor != NULL)
        *cursor = from;
    return from;
}

static uint32_t at_once(const struct market_level *levels, size_t count, double begin_s,
                        double at_s, size_t *cursor, double *until_s)
{
    size_t before = count_before(levels, count, begin_s, at_s, cursor);

    *until_s = before < count ? begin_s + levels[before].at_s : INFINITY;
    return before > 0 ? levels[before - 1].count : 0;
}

static double cycle_begin(double cycle, double period_s, double shift_s)
{
    return cycle * period_s - shift_s;
}

static uint32_t at_repeating(const struct market_level *levels, size_t count, double period_s,
                             double shift_s, double at_s, size_t *cursor, double *until_s)
{
    double cycle = floor((at_s + shift_s) / period_s);

    /* the largest cycle that begins at or before at_s, also where the division rounded */
    while (cycle_begin(cycle, period_s, shift_s) > at_s)
        cycle--;
    while (cycle_begin(cycle + 1, period_s, shift_s) <= at_s)
        cycle++;
    double begin_s = cycle_begin(cycle, period_s, shift_s);
    size_t before = count_before(levels, count, begin_s, at_s, cursor);
    shoal_dassert(before > 0);
    *until_s = INFINITY;
    if (before < count) {
        *until_s = begin_s + levels[before].at_s;
    } else if (count > 1) {
        bool same = levels[0].count == levels[count - 1].count;
        *until_s = cycle_begin(cycle + 1, period_s, shift_s) + levels[same].at_s;
    }
    return levels[before - 1].count;
}

uint32_t market_avail_at(const struct market_avail *avail, uint32_t offer, double at_s,
                         size_t *cursor, double *out_until_s)
{
    double until_s = INFINITY;
    uint32_t count = 0;

    shoal_dassert(avail == NULL || offer < avail->offer_count);
    const struct market_follow *f = avail != NULL ? &avail->follows[offer] : NULL;
    const struct market_pattern *p =
        f != NULL && f->pattern != MARKET_NONE ? &avail->patterns[f->pattern] : NULL;
    if (f == NULL || f->always) {
        count = MARKET_UNLIMITED;
    } else if (p != NULL && p->count > 0 && fabs(at_s) < FAR_S) {
        const struct market_level *levels = avail->levels + p->first;
        count = p->period_s == 0 ? at_once(levels, p->count, f->shift_s, at_s, cursor, &until_s)
                                 : at_repeating(levels, p->count, p->period_s, f->shift_s, at_s,
                                                cursor, &until_s);
    }
    if (out_until_s != NULL)
        *out_until_s = until_s;
    return count;
}

double market_avail_from_s(const struct market_avail *avail)
{
    double from_s = INFINITY;

    for (size_t i = 0; avail != NULL && i < avail->offer_count; i++) {
        const struct market_follow *f = &avail->follows[i];
        const struct market_pattern *p =
            f->pattern != MARKET_NONE ? &avail->patterns[f->pattern] : NULL;
        if (p == NULL || p->count == 0)
            continue;
        if (p->period_s > 0)
            return -INFINITY;
        from_s = fmin(from_s, f->shift_s + avail->levels[p->first].at_s);
    }
    return avail == NULL ? -INFINITY : from_s;
}

/* --- making patterns ------------------------------------------------------------------------- */

shoal_status market_avail_pattern(struct market_avail *avail, double period_s, uint32_t *out)
{
    void *patterns = avail->patterns;

    if (base_reserve(avail->alloc, &patterns, &avail->pattern_cap, avail->pattern_count + 1,
                     sizeof *avail->patterns) != 0)
        return SHOAL_E_NOMEM;
    avail->patterns = patterns;
    *out = (uint32_t)avail->pattern_count;
    avail->patterns[avail->pattern_count++] =
        (struct market_pattern){.first = avail->level_count, .period_s = period_s};
    return SHOAL_OK;
}

/* A level of the pattern begun last; one like the level before it (nothing, at first) is none. */
shoal_status market_avail_level(struct market_avail *avail, double at_s, uint32_t count)
{
    struct market_pattern *p = &avail->patterns[avail->pattern_count - 1];
    void *levels = avail->levels;
    uint32_t last = p->count > 0 ? avail->levels[avail->level_count - 1].count : 0;

    if (count == last && (p->count > 0 || p->period_s == 0))
        return SHOAL_OK;
    if (base_reserve(avail->alloc, &levels, &avail->level_cap, avail->level_count + 1,
                     sizeof *avail->levels) != 0)
        return SHOAL_E_NOMEM;
    avail->levels = levels;
    avail->levels[avail->level_count++] = (struct market_level){at_s, count};
    p->count++;
    return SHOAL_OK;
}

void market_avail_finish(struct market_avail *avail, const struct market_traces *traces)
{
    if (traces != NULL) {
        memcpy(avail->facts.ignored, traces->ignored, sizeof avail->facts.ignored);
        avail->facts.files = traces->files;
        avail->facts.skipped = traces->skipped;
        avail->facts.traces = traces->trace_count;
    }
    for (size_t i = 0; i < avail->offer_count; i++) {
        uint32_t pattern = avail->follows[i].pattern;
        if (pattern == MARKET_NONE)
            continue;
        const struct market_pattern *p = &avail->patterns[pattern];
        avail->facts.covered +=
            p->count > 1 || (p->count == 1 && avail->levels[p->first].count > 0);
    }
}

void market_avail_stream(const struct market_prices *prices, const struct market_offer *o,
                         const char *what, const char *place, uint64_t seed, struct base_rand *out)
{
    char name[4 * MARKET_NAME_MAX];

    snprintf(name, sizeof name, "market.avail.%s\t%s\t%s\t%s", what,
             market_names_get(&prices->clouds, o->cloud), place,
             market_names_get(&prices->kinds, o->kind));
    base_rand_init(out, seed, name);
}

/* --- draw ------------------------------------------------------------------------------------ */

/* Levels of one offer from the start of prices to their end, in whole seconds. */
static shoal_status draw_offer(struct market_avail *avail, const struct market_prices *prices,
                               double up_s, double down_s, uint32_t count, struct base_rand *rand)
{
    double at_s = floor(prices->from_s);
    bool up = base_rand_unit(rand) * (up_s + down_s) < up_s; /* as at any instant of a long time */
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && at_s <= prices->to_s) {
        st = market_avail_level(avail, at_s, up ? count : 0);
        if (down_s == 0)
            break;
        at_s += fmax(1, round(base_rand_exp(rand, up ? up_s : down_s)));
        up = !up;
    }
    return st;
}

static shoal_status check_draw(const struct market_prices *prices, double up_s, double down_s,
                               uint32_t count, shoal_err *err)
{
    double changes = 0;

    if (!(up_s >= 1 && up_s <= 1e12) || !(down_s == 0 || (down_s >= 1 && down_s <= 1e12)) ||
        count == 0 || count == MARKET_UNLIMITED)
        return base_err(err, SHOAL_E_INVAL,
                        "cannot draw availability: expected up of 1 second or more, down of 0 or "
                        "of 1 second or more, and at least one instance");
    for (size_t i = 0; i < prices->offer_count; i++)
        changes += prices->offers[i].how == MARKET_SPOT;
    changes *= (prices->to_s - prices->from_s) / (up_s + down_s) * 2;
    if (down_s > 0 && changes > MARKET_POINTS_MAX)
        return base_err(err, SHOAL_E_LIMIT,
                        "cannot draw availability: about %.2g changes in all, more than %d; draw "
                        "longer times, or read fewer prices",
                        changes, MARKET_POINTS_MAX);
    return SHOAL_OK;
}

shoal_status market_avail_draw(const struct market_prices *prices, double up_s, double down_s,
                               uint32_t count, uint64_t seed, struct market_avail **out,
                               shoal_err *err)
{
    shoal_status st = check_draw(prices, up_s, down_s, count, err);

    if (st != SHOAL_OK)
        return st;
    struct market_avail *avail = market_avail_new(prices->alloc, prices);
    if (avail == NULL)
        return market_avail_nomem(err);
    for (size_t i = 0; st == SHOAL_OK && i < prices->offer_count; i++) {
        const struct market_offer *o = &prices->offers[i];
        struct base_rand rand;
        if (avail->follows[i].always)
            continue;
        market_avail_stream(prices, o, "draw", market_names_get(&prices->zones, o->zone), seed,
                            &rand);
        st = market_avail_pattern(avail, 0, &avail->follows[i].pattern);
        if (st == SHOAL_OK)
            st = draw_offer(avail, prices, up_s, down_s, count, &rand);
    }
    if (st != SHOAL_OK) {
        market_avail_free(avail);
        return market_avail_nomem(err);
    }
    avail->facts.traces = avail->pattern_count;
    market_avail_finish(avail, NULL);
    *out = avail;
    return SHOAL_OK;
}
