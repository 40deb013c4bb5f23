/* retire.c - kinds that a cloud gave up. A list of changes does not say that an instance is gone:
 * its last price would hold for ever, and a plan would buy what nobody sells. (AWS ended its p2
 * instances in April 2025; a history of changes to March 2026 has 73 such series.)
 *
 * One offer may be calm for most of a year. So the rule looks at all spot offers of a kind of a
 * cloud together: where none of them changed for MARKET_RETIRE_S before the end of the history,
 * though they had changed MARKET_RETIRE_CHANGES times and at least daily before, the kind is taken
 * to have ended a day after the last change of any of them. Prices on demand rarely change and are
 * left alone. */
#include "market/draft.h"

#include <math.h>
#include <string.h>

struct life { /* of a kind */
    double first_s, last_s;
    size_t changes;
};

static bool is_spot(const struct market_draft_offer *o)
{
    return o->count > 0 && o->key.how == MARKET_SPOT;
}

static const struct market_point *last_of(const struct market_draft *draft,
                                          const struct market_draft_offer *o)
{
    return &draft->points[o->first + o->count - 1];
}

static struct base_map_entry *find_kind(const struct base_map *kinds,
                                        const struct market_draft_offer *o)
{
    const char *key[2] = {o->key.cloud, o->key.kind};

    return base_map_find(kinds, (const char *)key, sizeof key);
}

/* Numbers the kinds and adds up their lives. */
static shoal_status live(const struct market_draft *draft, struct base_map *kinds,
                         struct life *lives, double *out_end_s)
{
    *out_end_s = -INFINITY;
    for (size_t i = 0; i < draft->offer_count; i++) {
        const struct market_draft_offer *o = &draft->offers[i];
        const char *key[2] = {o->key.cloud, o->key.kind};
        struct base_map_entry *entry = NULL;
        if (o->count > 0)
            *out_end_s = fmax(*out_end_s, last_of(draft, o)->at_s);
        if (!is_spot(o))
            continue;
        shoal_status st = base_map_add(kinds, (const char *)key, sizeof key, kinds->count, &entry);
        if (st == SHOAL_OK)
            lives[entry->value] = (struct life){INFINITY, -INFINITY, 0};
        else if (st != SHOAL_E_EXISTS)
            return SHOAL_E_NOMEM;
        struct life *life = &lives[entry->value];
        life->first_s = fmin(life->first_s, draft->points[o->first].at_s);
        life->last_s = fmax(life->last_s, last_of(draft, o)->at_s);
        life->changes += o->count;
    }
    return SHOAL_OK;
}

static bool ended(const struct life *life, double end_s)
{
    return end_s - life->last_s > MARKET_RETIRE_S && life->changes >= MARKET_RETIRE_CHANGES &&
           (double)life->changes * 86400 >= life->last_s - life->first_s;
}

/* Makes room behind the points of each offer that ends, from the back, and writes its end there. */
static shoal_status write_ends(struct market_draft *draft, const uint32_t *order, size_t count,
                               const struct base_map *kinds, const struct life *lives,
                               const bool *ends, size_t end_count)
{
    void *points = draft->points;
    size_t shift = end_count;

    if (base_reserve(draft->alloc, &points, &draft->point_cap, draft->point_count + end_count,
                     sizeof *draft->points) != 0)
        return SHOAL_E_NOMEM;
    draft->points = points;
    draft->point_count += end_count;
    for (size_t i = count; i > 0 && shift > 0; i--) {
        struct market_draft_offer *o = &draft->offers[order[i - 1]];
        struct market_point *from = draft->points + o->first;
        bool end = ends[order[i - 1]];
        shift -= end;
        memmove(from + shift, from, o->count * sizeof *from);
        o->first += shift;
        if (end)
            draft->points[o->first + o->count++] =
                (struct market_point){lives[find_kind(kinds, o)->value].last_s + 86400, NAN};
    }
    return SHOAL_OK;
}

shoal_status market_draft_retire(struct market_draft *draft, const uint32_t *order, size_t count)
{
    struct base_map kinds;
    struct life *lives = base_calloc(draft->alloc, draft->offer_count, sizeof *lives);
    bool *ends = base_calloc(draft->alloc, draft->offer_count, sizeof *ends);
    size_t end_count = 0;
    double end_s = 0;

    base_map_init(&kinds, draft->alloc);
    shoal_status st =
        lives != NULL && ends != NULL ? live(draft, &kinds, lives, &end_s) : SHOAL_E_NOMEM;
    for (size_t i = 0; st == SHOAL_OK && i < draft->offer_count; i++) {
        const struct market_draft_offer *o = &draft->offers[i];
        ends[i] = is_spot(o) && !isnan(last_of(draft, o)->usd_h) &&
                  ended(&lives[find_kind(&kinds, o)->value], end_s);
        end_count += ends[i];
    }
    if (st == SHOAL_OK && end_count > 0)
        st = write_ends(draft, order, count, &kinds, lives, ends, end_count);
    if (st == SHOAL_OK)
        draft->odd.retired = end_count;
    base_map_fini(&kinds);
    base_free(draft->alloc, lives);
    base_free(draft->alloc, ends);
    return st;
}
