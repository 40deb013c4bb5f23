/* avail_cut.c - market_avail_cut: traces of other places as patterns that repeat.
 *
 * What falls together is kept together. In the public traces of 2022 and 2023 zones of one region
 * have correlations of 0.25 to 0.6 for the same GPU, one zone's kinds with different GPUs about 0,
 * regions about 0.1. So the draw is made for a region and kind: a group of traces that differ in
 * the zone alone, and one offset for all of them; each zone of the region follows another trace of
 * the group. Where the region has more zones than the group has traces, those that are left over
 * follow a trace again, at an offset of their own. */
#include "market/avail_state.h"
#include "market/reader.h"

#include "base/err.h"
#include <math.h>
#include <string.h>

/* Every trace as a pattern that repeats, with the same number. */
static shoal_status copy_repeating(struct market_avail *avail, const struct market_traces *traces)
{
    for (size_t k = 0; k < traces->trace_count; k++) {
        const struct market_trace *t = &traces->traces[k];
        const struct market_level *levels = traces->levels + t->first;
        double from_s = t->ticks ? 0 : levels[0].at_s;
        double period_s = fmax(t->end_s - from_s, 1); /* a CSV of one line never changes */
        uint32_t pattern;
        shoal_status st = market_avail_pattern(avail, period_s, &pattern);
        for (size_t i = 0; st == SHOAL_OK && i < t->count; i++)
            if (levels[i].at_s - from_s < period_s) /* the last line of a CSV is the end */
                st = market_avail_level(avail, levels[i].at_s - from_s, levels[i].count);
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

    market_avail_stream(prices, o, "region", market_names_get(&prices->regions, o->region), seed,
                        &rand);
    size_t drawn = (size_t)base_rand_below(&rand, traces->trace_count);
    double part = base_rand_unit(&rand);
    size_t first = g->first[g->of[drawn]], count = g->first[g->of[drawn] + 1] - first;
    uint32_t pattern = g->members[first + (g->place[drawn] - first + rank) % count];
    if (rank >= count) {
        market_avail_stream(prices, o, "zone", zone, seed, &rand);
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
    struct market_avail *avail = market_avail_new(env_alloc(env), prices);
    if (avail == NULL || cut(prices, &traces, seed, avail) != SHOAL_OK) {
        st = market_avail_nomem(err);
    } else {
        market_avail_finish(avail, &traces);
        *out = avail;
        avail = NULL;
    }
    market_avail_free(avail);
    market_traces_fini(&traces);
    return st;
}
