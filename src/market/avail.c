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
#include "market/avail.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/rand.h"
#include "market/avail_trace.h"
#include "market/reader.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

struct market_pattern {
    size_t first, count; /* of levels; those of a repeating pattern begin at 0 */
    double period_s;     /* 0: it happens once, before it there is nothing */
};

struct market_follow {
    uint32_t pattern; /* MARKET_NONE: never to be had */
    bool always;      /* on demand */
    double shift_s;   /* once: added to the times; repeating: taken from them */
};

struct market_avail {
    const struct base_alloc *alloc;
    struct market_level *levels;
    size_t level_count, level_cap;
    struct market_pattern *patterns;
    size_t pattern_count, pattern_cap;
    struct market_follow *follows; /* by offer */
    size_t offer_count;
    struct market_avail_facts facts;
};

/* Nothing is known of times beyond: there doubles no longer tell one cycle from the next. */
static const double FAR_S = 1e13;

static shoal_status nomem(shoal_err *err)
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
static struct market_avail *new_avail(const struct base_alloc *alloc,
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

/* ---- asking ---- */

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

/* ---- making patterns ---- */

static shoal_status add_pattern(struct market_avail *avail, double period_s, uint32_t *out)
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
static shoal_status add_level(struct market_avail *avail, double at_s, uint32_t count)
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

static void finish_facts(struct market_avail *avail, const struct market_traces *traces)
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

static void stream_of(const struct market_prices *prices, const struct market_offer *o,
                      const char *what, const char *place, uint64_t seed, struct base_rand *out)
{
    char name[4 * MARKET_NAME_MAX];

    snprintf(name, sizeof name, "market.avail.%s\t%s\t%s\t%s", what,
             market_names_get(&prices->clouds, o->cloud), place,
             market_names_get(&prices->kinds, o->kind));
    base_rand_init(out, seed, name);
}

/* ---- draw ---- */

/* Levels of one offer from the start of prices to their end, in whole seconds. */
static shoal_status draw_offer(struct market_avail *avail, const struct market_prices *prices,
                               double up_s, double down_s, uint32_t count, struct base_rand *rand)
{
    double at_s = floor(prices->from_s);
    bool up = base_rand_unit(rand) * (up_s + down_s) < up_s; /* as at any instant of a long time */
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && at_s <= prices->to_s) {
        st = add_level(avail, at_s, up ? count : 0);
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
    struct market_avail *avail = new_avail(prices->alloc, prices);
    if (avail == NULL)
        return nomem(err);
    for (size_t i = 0; st == SHOAL_OK && i < prices->offer_count; i++) {
        const struct market_offer *o = &prices->offers[i];
        struct base_rand rand;
        if (avail->follows[i].always)
            continue;
        stream_of(prices, o, "draw", market_names_get(&prices->zones, o->zone), seed, &rand);
        st = add_pattern(avail, 0, &avail->follows[i].pattern);
        if (st == SHOAL_OK)
            st = draw_offer(avail, prices, up_s, down_s, count, &rand);
    }
    if (st != SHOAL_OK) {
        market_avail_free(avail);
        return nomem(err);
    }
    avail->facts.traces = avail->pattern_count;
    finish_facts(avail, NULL);
    *out = avail;
    return SHOAL_OK;
}

/* ---- traces given to the offers they are of, by zone and kind ---- */

/* zone, NUL, kind. */
static size_t trace_key(const char *zone, const char *kind, char *key, size_t size)
{
    int length = snprintf(key, size, "%s%c%s", zone, 0, kind);

    return length > 0 && (size_t)length < size ? (size_t)length : 0;
}

enum { KEY_SIZE = 4096 + MARKET_NAME_MAX };

/* The folder of its file, for messages. */
static const char *folder_of(const struct market_trace *t)
{
    if (!t->ticks)
        return "lines of CSV";
    return t->folder[0] != '\0' ? t->folder : ".";
}

static shoal_status index_traces(const struct market_traces *traces, struct base_map *index,
                                 shoal_err *err)
{
    char key[KEY_SIZE];

    for (size_t i = 0; i < traces->trace_count; i++) {
        const struct market_trace *t = &traces->traces[i];
        struct base_map_entry *entry = NULL;
        size_t size = trace_key(t->zone, t->kind, key, sizeof key);
        shoal_status st = base_map_add(index, key, size, i, &entry);
        if (st == SHOAL_E_EXISTS) {
            base_err(err, SHOAL_E_FORMAT,
                     "cannot use availability: zone '%.127s' with kind '%.127s' is in '%.100s' and "
                     "in '%.100s'",
                     t->zone, t->kind, folder_of(&traces->traces[entry->value]), folder_of(t));
            base_err_hint(err, "name one of the folders, or use the traces as patterns");
            return SHOAL_E_FORMAT;
        }
        if (st != SHOAL_OK)
            return nomem(err);
    }
    return SHOAL_OK;
}

static void lower(const char *from, char *to, size_t size)
{
    size_t i = 0;

    for (; from[i] != '\0' && i + 1 < size; i++)
        to[i] = from[i] >= 'A' && from[i] <= 'Z' ? (char)(from[i] + 32)
                : from[i] == ':'                 ? '_'
                                                 : from[i];
    to[i] = '\0';
}

/* The trace of an offer, by its kind, else by its accelerator and their number. */
static const struct base_map_entry *find_trace(const struct market_prices *prices,
                                               const struct market_offer *o,
                                               const struct base_map *index)
{
    char kind[MARKET_NAME_MAX + 32], key[KEY_SIZE];
    const char *zone = market_names_get(&prices->zones, o->zone);

    lower(market_names_get(&prices->kinds, o->kind), kind, sizeof kind);
    const struct base_map_entry *entry =
        base_map_find(index, key, trace_key(zone, kind, key, sizeof key));
    if (entry != NULL || o->accelerator == MARKET_NONE || !(o->accelerators > 0))
        return entry;
    lower(market_names_get(&prices->accelerators, o->accelerator), kind, MARKET_NAME_MAX + 1);
    size_t used = strlen(kind);
    snprintf(kind + used, sizeof kind - used, "_%g", o->accelerators);
    return base_map_find(index, key, trace_key(zone, kind, key, sizeof key));
}

/* A trace as a pattern that happens once. */
static shoal_status copy_once(struct market_avail *avail, const struct market_traces *traces,
                              const struct market_trace *t, uint32_t *out)
{
    shoal_status st = add_pattern(avail, 0, out);

    for (size_t i = t->first; st == SHOAL_OK && i < t->first + t->count; i++)
        st = add_level(avail, traces->levels[i].at_s, traces->levels[i].count);
    if (st == SHOAL_OK && t->ticks)
        st = add_level(avail, t->end_s, 0);
    return st;
}

static shoal_status follow_traces(struct market_avail *avail, const struct market_prices *prices,
                                  const struct market_traces *traces, const struct base_map *index,
                                  double from_s)
{
    uint32_t *patterns = base_malloc(avail->alloc, traces->trace_count * sizeof *patterns);
    shoal_status st = patterns != NULL ? SHOAL_OK : SHOAL_E_NOMEM;

    for (size_t i = 0; st == SHOAL_OK && i < traces->trace_count; i++)
        patterns[i] = MARKET_NONE;
    for (size_t i = 0; st == SHOAL_OK && i < prices->offer_count; i++) {
        if (avail->follows[i].always)
            continue;
        const struct base_map_entry *entry = find_trace(prices, &prices->offers[i], index);
        if (entry == NULL)
            continue;
        const struct market_trace *t = &traces->traces[entry->value];
        if (patterns[entry->value] == MARKET_NONE)
            st = copy_once(avail, traces, t, &patterns[entry->value]);
        avail->follows[i].pattern = patterns[entry->value];
        avail->follows[i].shift_s = t->ticks ? from_s : 0;
    }
    base_free(avail->alloc, patterns);
    return st;
}

static shoal_status no_match(const struct market_traces *traces, const char *path, shoal_err *err)
{
    const struct market_trace *t = &traces->traces[0];

    base_err(err, SHOAL_E_INVAL,
             "cannot use availability '%s': none of its %zu traces is of a spot offer that has "
             "prices; the first is of zone '%.127s' and kind '%.127s'",
             path, traces->trace_count, t->zone, t->kind);
    base_err_hint(err, "use the traces as patterns, or name zones and kinds as the prices do");
    return SHOAL_E_INVAL;
}

static shoal_status load(const struct market_prices *prices, const struct market_traces *traces,
                         const char *path, double from_s, struct market_avail *avail,
                         shoal_err *err)
{
    struct base_map index;

    base_map_init(&index, avail->alloc);
    shoal_status st = index_traces(traces, &index, err);
    if (st == SHOAL_OK && (st = follow_traces(avail, prices, traces, &index, from_s)) != SHOAL_OK)
        st = nomem(err);
    base_map_fini(&index);
    if (st == SHOAL_OK && avail->pattern_count == 0)
        st = no_match(traces, path, err);
    avail->facts.unused = traces->trace_count - avail->pattern_count;
    return st;
}

shoal_status market_avail_load(shoal_env *env, const struct market_prices *prices, const char *path,
                               double from_s, struct market_avail **out, shoal_err *err)
{
    struct market_traces traces;
    struct market_avail *avail = NULL;

    if (!isfinite(from_s))
        return base_err(err, SHOAL_E_INVAL, "cannot use availability '%s' from no time", path);
    shoal_status st = market_traces_load(env, path, &traces, err);
    if (st != SHOAL_OK)
        return st;
    avail = new_avail(env_alloc(env), prices);
    st = avail != NULL ? load(prices, &traces, path, from_s, avail, err) : nomem(err);
    if (st == SHOAL_OK) {
        finish_facts(avail, &traces);
        *out = avail;
        avail = NULL;
    }
    market_avail_free(avail);
    market_traces_fini(&traces);
    return st;
}

/* ---- traces of other places as patterns that repeat ----
 *
 * What falls together is kept together. In the public traces of 2022 and 2023 zones of one region
 * have correlations of 0.25 to 0.6 for the same GPU, one zone's kinds with different GPUs about 0,
 * regions about 0.1. So the draw is made for a region and kind: a group of traces that differ in
 * the zone alone, and one offset for all of them; each zone of the region follows another trace of
 * the group. Where the region has more zones than the group has traces, those that are left over
 * follow a trace again, at an offset of their own. */

/* Every trace as a pattern that repeats, with the same number. */
static shoal_status copy_repeating(struct market_avail *avail, const struct market_traces *traces)
{
    for (size_t k = 0; k < traces->trace_count; k++) {
        const struct market_trace *t = &traces->traces[k];
        const struct market_level *levels = traces->levels + t->first;
        double from_s = t->ticks ? 0 : levels[0].at_s;
        double period_s = fmax(t->end_s - from_s, 1); /* a CSV of one line never changes */
        uint32_t pattern;
        shoal_status st = add_pattern(avail, period_s, &pattern);
        for (size_t i = 0; st == SHOAL_OK && i < t->count; i++)
            if (levels[i].at_s - from_s < period_s) /* the last line of a CSV is the end */
                st = add_level(avail, levels[i].at_s - from_s, levels[i].count);
        if (st != SHOAL_OK)
            return st;
    }
    return SHOAL_OK;
}

/* Traces that differ in the zone alone (of one folder, kind and region) are a group. */
struct groups {
    const struct base_alloc *alloc;
    uint32_t *of;      /* by trace: its group */
    uint32_t *first;   /* by group, and one more: where its members begin */
    uint32_t *members; /* traces, by group, in their order */
    uint32_t *place;   /* by trace: where it is in members */
};

static void groups_fini(struct groups *g)
{
    base_free(g->alloc, g->of);
    base_free(g->alloc, g->first);
    base_free(g->alloc, g->members);
    base_free(g->alloc, g->place);
}

static shoal_status number_groups(const struct market_traces *traces, struct groups *g,
                                  struct base_map *index, struct base_buf *key)
{
    for (size_t k = 0; k < traces->trace_count; k++) {
        const struct market_trace *t = &traces->traces[k];
        struct env_cell region = market_region_of(env_cell_of(t->zone));
        struct base_map_entry *entry = NULL;
        base_buf_clear(key);
        base_buf_append(key, t->folder, strlen(t->folder) + 1);
        base_buf_append(key, t->kind, strlen(t->kind) + 1);
        base_buf_append(key, region.text, region.length);
        if (base_buf_status(key) != SHOAL_OK)
            return SHOAL_E_NOMEM;
        shoal_status st = base_map_add(index, key->data, key->size, index->count, &entry);
        if (st != SHOAL_OK && st != SHOAL_E_EXISTS)
            return SHOAL_E_NOMEM;
        g->of[k] = (uint32_t)entry->value;
        g->first[g->of[k] + 1]++;
    }
    return SHOAL_OK;
}

static shoal_status groups_init(const struct market_traces *traces, struct groups *g)
{
    size_t count = traces->trace_count;
    const struct base_alloc *alloc = traces->alloc;
    struct base_map index;
    struct base_buf key;

    *g = (struct groups){.alloc = alloc,
                         .of = base_calloc(alloc, count, sizeof *g->of),
                         .first = base_calloc(alloc, count + 2, sizeof *g->first),
                         .members = base_calloc(alloc, count, sizeof *g->members),
                         .place = base_calloc(alloc, count, sizeof *g->place)};
    base_map_init(&index, alloc);
    base_buf_init(&key, alloc, 1 << 16);
    shoal_status st = g->of != NULL && g->first != NULL && g->members != NULL && g->place != NULL
                          ? number_groups(traces, g, &index, &key)
                          : SHOAL_E_NOMEM;
    for (size_t i = 0; st == SHOAL_OK && i < index.count; i++)
        g->first[i + 1] += g->first[i];
    for (uint32_t k = 0; st == SHOAL_OK && k < count; k++) {
        g->place[k] = g->first[g->of[k]]++; /* now the end of what is placed; put back below */
        g->members[g->place[k]] = k;
    }
    for (size_t i = index.count; st == SHOAL_OK && i > 0; i--)
        g->first[i] = g->first[i - 1];
    if (st == SHOAL_OK)
        g->first[0] = 0;
    base_map_fini(&index);
    base_buf_fini(&key);
    if (st != SHOAL_OK)
        groups_fini(g);
    return st;
}

/* A zone's place in its region by the last letter of its name: b of us-east-1b is 1. */
static size_t zone_rank(const char *zone)
{
    size_t length = strlen(zone);
    char last = length > 0 ? zone[length - 1] : 'a';

    if (last >= 'a' && last <= 'z')
        return (size_t)(last - 'a');
    return last >= '0' && last <= '9' ? (size_t)(last - '0') : 0;
}

/* How far into the pattern it begins: a whole number of ticks, where it has ticks. */
static double offset(const struct market_trace *t, const struct market_pattern *p, double part)
{
    double at = part * p->period_s;

    return t->ticks ? floor(at / t->gap_s) * t->gap_s : floor(at);
}

/* The region draws a trace and an offset; its zones take the traces of its group in turn, with that
 * offset until each has been taken once, and with one of their own afterwards. */
static void cut_offer(struct market_avail *avail, const struct market_prices *prices,
                      const struct market_traces *traces, const struct groups *g, uint64_t seed,
                      size_t offer)
{
    const struct market_offer *o = &prices->offers[offer];
    const char *zone = market_names_get(&prices->zones, o->zone);
    struct base_rand rand;
    size_t rank = zone_rank(zone);

    stream_of(prices, o, "region", market_names_get(&prices->regions, o->region), seed, &rand);
    size_t drawn = (size_t)base_rand_below(&rand, traces->trace_count);
    double part = base_rand_unit(&rand);
    size_t first = g->first[g->of[drawn]], count = g->first[g->of[drawn] + 1] - first;
    uint32_t pattern = g->members[first + (g->place[drawn] - first + rank) % count];
    if (rank >= count) {
        stream_of(prices, o, "zone", zone, seed, &rand);
        part = base_rand_unit(&rand);
    }
    avail->follows[offer].pattern = pattern;
    avail->follows[offer].shift_s =
        offset(&traces->traces[pattern], &avail->patterns[pattern], part);
}

static shoal_status cut(const struct market_prices *prices, const struct market_traces *traces,
                        uint64_t seed, struct market_avail *avail)
{
    struct groups groups;
    shoal_status st = copy_repeating(avail, traces);

    if (st == SHOAL_OK)
        st = groups_init(traces, &groups);
    if (st != SHOAL_OK)
        return st;
    for (size_t i = 0; i < prices->offer_count; i++)
        if (!avail->follows[i].always)
            cut_offer(avail, prices, traces, &groups, seed, i);
    groups_fini(&groups);
    return SHOAL_OK;
}

shoal_status market_avail_cut(shoal_env *env, const struct market_prices *prices, const char *path,
                              uint64_t seed, struct market_avail **out, shoal_err *err)
{
    struct market_traces traces;
    shoal_status st = market_traces_load(env, path, &traces, err);

    if (st != SHOAL_OK)
        return st;
    struct market_avail *avail = new_avail(env_alloc(env), prices);
    if (avail == NULL || cut(prices, &traces, seed, avail) != SHOAL_OK) {
        st = nomem(err);
    } else {
        finish_facts(avail, &traces);
        *out = avail;
        avail = NULL;
    }
    market_avail_free(avail);
    market_traces_fini(&traces);
    return st;
}
