/* draft.c - see draft.h. What happens to the points afterwards is settle.c. */
#include "market/draft.h"

#include "base/assert.h"
#include <math.h>
#include <string.h>

void market_draft_init(struct market_draft *draft, const struct base_alloc *alloc)
{
    *draft = (struct market_draft){.alloc = alloc};
    base_map_init(&draft->names, alloc);
    base_map_init(&draft->index, alloc);
    base_map_init(&draft->kinds, alloc);
}

void market_draft_fini(struct market_draft *draft)
{
    base_map_fini(&draft->names);
    base_map_fini(&draft->index);
    base_map_fini(&draft->kinds);
    base_free(draft->alloc, draft->offers);
    base_free(draft->alloc, draft->points);
    base_free(draft->alloc, draft->runs);
}

void market_draft_file(struct market_draft *draft, bool newest_first)
{
    draft->file++;
    draft->newest_first = newest_first;
    draft->file_point = draft->point_count;
    draft->file_run = draft->run_count;
}

/* Turns the points of the file round, and with them the runs. */
void market_draft_file_end(struct market_draft *draft)
{
    size_t runs = draft->run_count - draft->file_run;

    if (!draft->newest_first || runs == 0)
        return;
    struct market_draft_run *run = draft->runs + draft->file_run;
    for (size_t i = draft->file_point, j = draft->point_count; i + 1 < j; i++) {
        struct market_point swap = draft->points[i];
        draft->points[i] = draft->points[--j];
        draft->points[j] = swap;
    }
    /* a run ends where the next begins: its end is where the turned one begins */
    for (size_t i = 0; i < runs; i++) {
        size_t end = i + 1 < runs ? run[i + 1].first : draft->point_count;
        run[i].first = draft->file_point + (draft->point_count - end);
    }
    for (size_t i = 0, j = runs; i + 1 < j; i++) {
        struct market_draft_run swap = run[i];
        run[i] = run[--j];
        run[j] = swap;
    }
}

const char *market_draft_name(struct market_draft *draft, const char *name, size_t size)
{
    struct base_map_entry *entry = NULL;
    shoal_status st = base_map_add(&draft->names, name, size, 0, &entry);

    return st == SHOAL_OK || st == SHOAL_E_EXISTS ? entry->key : NULL;
}

shoal_status market_draft_offer(struct market_draft *draft, const struct market_draft_key *key,
                                uint32_t *out_offer)
{
    void *offers = draft->offers;
    struct base_map_entry *entry = base_map_find(&draft->index, (const char *)key, sizeof *key);

    if (entry != NULL) {
        *out_offer = (uint32_t)entry->value;
        return SHOAL_OK;
    }
    if (draft->offer_count >= MARKET_OFFERS_MAX)
        return SHOAL_E_LIMIT;
    if (base_reserve(draft->alloc, &offers, &draft->offer_cap, draft->offer_count + 1,
                     sizeof *draft->offers) != 0)
        return SHOAL_E_NOMEM;
    draft->offers = offers;
    shoal_status st =
        base_map_add(&draft->index, (const char *)key, sizeof *key, draft->offer_count, NULL);
    if (st != SHOAL_OK)
        return st;
    *out_offer = (uint32_t)draft->offer_count;
    draft->offers[draft->offer_count++] = (struct market_draft_offer){.key = *key, .last_s = NAN};
    return SHOAL_OK;
}

shoal_status market_draft_holds(struct market_draft *draft, uint32_t offer, const char *accelerator,
                                double accelerators)
{
    struct market_draft_offer *o = &draft->offers[offer];
    const char *kind[2] = {o->key.cloud, o->key.kind};
    struct base_map_entry *entry = NULL;

    if (accelerator == NULL)
        return SHOAL_OK;
    if (o->accelerator == accelerator && (accelerators == 0 || o->accelerators == accelerators))
        return SHOAL_OK;
    o->accelerator = accelerator;
    if (accelerators > 0)
        o->accelerators = accelerators;
    if (o->accelerators == 0)
        return SHOAL_OK;
    shoal_status st = base_map_add(&draft->kinds, (const char *)kind, sizeof kind, offer, &entry);
    if (st == SHOAL_E_EXISTS)
        entry->value = offer;
    return st == SHOAL_E_EXISTS ? SHOAL_OK : st;
}

/* Where the run of this offer ended and another one's begins. */
static shoal_status begin_run(struct market_draft *draft, uint32_t offer)
{
    void *runs = draft->runs;

    if (base_reserve(draft->alloc, &runs, &draft->run_cap, draft->run_count + 1,
                     sizeof *draft->runs) != 0)
        return SHOAL_E_NOMEM;
    draft->runs = runs;
    draft->runs[draft->run_count++] = (struct market_draft_run){draft->point_count, offer};
    draft->offers[offer].run_count++;
    return SHOAL_OK;
}

shoal_status market_draft_point(struct market_draft *draft, uint32_t offer, double at_s,
                                double usd_h)
{
    struct market_draft_offer *o = &draft->offers[offer];

    shoal_dassert(offer < draft->offer_count && isfinite(at_s) && !(usd_h <= 0));
    if (draft->point_count >= MARKET_POINTS_MAX)
        return SHOAL_E_LIMIT;
    if (draft->point_count == draft->point_cap) {
        void *points = draft->points;
        if (base_reserve(draft->alloc, &points, &draft->point_cap, draft->point_count + 1,
                         sizeof *draft->points) != 0)
            return SHOAL_E_NOMEM;
        draft->points = points;
    }
    if (draft->run_count == draft->file_run || draft->runs[draft->run_count - 1].offer != offer) {
        shoal_status st = begin_run(draft, offer);
        if (st != SHOAL_OK)
            return st;
    }
    if (o->file == draft->file)
        draft->odd.backwards += draft->newest_first ? at_s > o->last_s : at_s < o->last_s;
    o->file = draft->file;
    o->last_s = at_s;
    o->count++;
    draft->points[draft->point_count++] = (struct market_point){at_s, usd_h};
    return SHOAL_OK;
}
