/* avail_load.c - market_avail_load: traces given to the offers they are of, by zone and kind. */
#include "market/avail_state.h"

#include "base/err.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

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
            return market_avail_nomem(err);
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
    shoal_status st = market_avail_pattern(avail, 0, out);

    for (size_t i = t->first; st == SHOAL_OK && i < t->first + t->count; i++)
        st = market_avail_level(avail, traces->levels[i].at_s, traces->levels[i].count);
    if (st == SHOAL_OK && t->ticks)
        st = market_avail_level(avail, t->end_s, 0);
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
        st = market_avail_nomem(err);
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
    avail = market_avail_new(env_alloc(env), prices);
    st = avail != NULL ? load(prices, &traces, path, from_s, avail, err) : market_avail_nomem(err);
    if (st == SHOAL_OK) {
        market_avail_finish(avail, &traces);
        *out = avail;
        avail = NULL;
    }
    market_avail_free(avail);
    market_traces_fini(&traces);
    return st;
}
