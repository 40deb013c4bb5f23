/* draft.c - a price history while it is read, and settled when all is read (draft.h). Tests:
 * tests/unit/market/test_prices.c. */
#include "market/draft.h"

#include "base/assert.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

/* ---- from a draft to a history (prices.h) ----
 *
 * Which offers stay, their points sorted, the rules applied, names numbered.
 *
 * Points of an offer are brought together first: nothing moves where each offer has one run, else
 * all are copied once, run by run, which keeps the order in which they were read. Sorting is a
 * merge of the stretches that are in order already (there is one in most files, and one more for
 * each overlapping download), stable, so that of one instant the price read last comes last. The
 * rest is one pass that only ever moves points down. Cost: linear, and n log(stretches) where
 * sorting is needed. */

/* ---- what instances hold ----
 *
 * A row is a kind, or a family with '*' at its end; the first that fits
 * counts, so exceptions stand before their family. */

struct row {
    const char *cloud, *kind, *accelerator;
    double count;
};

static const struct row ROWS[] = {
    {"aws", "p2.xlarge", "K80", 1},
    {"aws", "p2.8xlarge", "K80", 8},
    {"aws", "p2.16xlarge", "K80", 16},
    {"aws", "p3.2xlarge", "V100", 1},
    {"aws", "p3.8xlarge", "V100", 4},
    {"aws", "p3.16xlarge", "V100", 8},
    {"aws", "p3dn.24xlarge", "V100-32GB", 8},
    {"aws", "p4d.24xlarge", "A100", 8},
    {"aws", "p4de.24xlarge", "A100-80GB", 8},
    {"aws", "p5.4xlarge", "H100", 1},
    {"aws", "p5.48xlarge", "H100", 8},
    {"aws", "p5e.48xlarge", "H200", 8},
    {"aws", "p5en.48xlarge", "H200", 8},
    {"aws", "p6-b200.48xlarge", "B200", 8},
    {"aws", "p6-b300.48xlarge", "B300", 8},
    {"aws", "g3s.xlarge", "M60", 1},
    {"aws", "g3.4xlarge", "M60", 1},
    {"aws", "g3.8xlarge", "M60", 2},
    {"aws", "g3.16xlarge", "M60", 4},
    {"aws", "g4dn.12xlarge", "T4", 4},
    {"aws", "g4dn.metal", "T4", 8},
    {"aws", "g4dn.*", "T4", 1},
    {"aws", "g5.12xlarge", "A10G", 4},
    {"aws", "g5.24xlarge", "A10G", 4},
    {"aws", "g5.48xlarge", "A10G", 8},
    {"aws", "g5.*", "A10G", 1},
    {"aws", "g6.12xlarge", "L4", 4},
    {"aws", "g6.24xlarge", "L4", 4},
    {"aws", "g6.48xlarge", "L4", 8},
    {"aws", "g6.*", "L4", 1},
    {"aws", "gr6.*", "L4", 1},
    {"aws", "g6e.12xlarge", "L40S", 4},
    {"aws", "g6e.24xlarge", "L40S", 4},
    {"aws", "g6e.48xlarge", "L40S", 8},
    {"aws", "g6e.*", "L40S", 1},
    {"azure", "Standard_NC6", "K80", 1},
    {"azure", "Standard_NC12", "K80", 2},
    {"azure", "Standard_NC24", "K80", 4},
    {"azure", "Standard_NC24r", "K80", 4},
    {"azure", "Standard_NC6s_v2", "P100", 1},
    {"azure", "Standard_NC12s_v2", "P100", 2},
    {"azure", "Standard_NC24s_v2", "P100", 4},
    {"azure", "Standard_NC24rs_v2", "P100", 4},
    {"azure", "Standard_NC6s_v3", "V100", 1},
    {"azure", "Standard_NC12s_v3", "V100", 2},
    {"azure", "Standard_NC24s_v3", "V100", 4},
    {"azure", "Standard_NC24rs_v3", "V100", 4},
};

static bool fits(const char *pattern, const char *kind)
{
    size_t length = strlen(pattern);

    if (pattern[length - 1] == '*')
        return strncmp(pattern, kind, length - 1) == 0;
    return strcmp(pattern, kind) == 0;
}

bool market_kinds_find(const char *cloud, const char *kind, const char **out_accelerator,
                       double *out_count)
{
    for (size_t i = 0; i < BASE_COUNT(ROWS); i++) {
        if (strcmp(ROWS[i].cloud, cloud) != 0 || !fits(ROWS[i].kind, kind))
            continue;
        *out_accelerator = ROWS[i].accelerator;
        *out_count = ROWS[i].count;
        return true;
    }
    return false;
}

/* ---- kinds that a cloud gave up ----
 *
 * A list of changes does not say that an instance is gone: its last price would hold for ever, and a plan would buy what nobody sells. (AWS ended its p2
 * instances in April 2025; a history of changes to March 2026 has 73 such series.)
 *
 * One offer may be calm for most of a year. So the rule looks at all spot offers of a kind of a
 * cloud together: where none of them changed for RETIRE_S before the end of the history,
 * though they had changed RETIRE_CHANGES times and at least daily before, the kind is taken
 * to have ended a day after the last change of any of them. Prices on demand rarely change and are
 * left alone. */

#define RETIRE_S (60.0 * 86400)
enum { RETIRE_CHANGES = 100 };

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
    return end_s - life->last_s > RETIRE_S && life->changes >= RETIRE_CHANGES &&
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

/* `order`: the `count` offers with points in the order of these, which follow each other without gaps. */
static shoal_status retire(struct market_draft *draft, const uint32_t *order, size_t count)
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

/* ---- which products ---- */

/* Of one place and kind Linux stays; without it, the product whose name comes first. */
static shoal_status choose_products(struct market_draft *draft)
{
    for (uint32_t i = 0; i < draft->offer_count; i++) {
        struct market_draft_offer *o = &draft->offers[i];
        struct market_draft_key key = o->key;
        struct base_map_entry *entry = NULL;
        if (o->key.product == NULL || o->count == 0)
            continue;
        key.product = NULL;
        shoal_status st = base_map_add(&draft->index, (const char *)&key, sizeof key, i, &entry);
        if (st == SHOAL_OK)
            continue;
        if (st != SHOAL_E_EXISTS)
            return st;
        struct market_draft_offer *other = &draft->offers[entry->value];
        if (other->count == 0 ||
            (other->key.product != NULL && strcmp(o->key.product, other->key.product) < 0)) {
            entry->value = i;
            other->dropped = true;
        } else {
            o->dropped = true;
        }
    }
    for (size_t i = 0; i < draft->offer_count; i++)
        if (draft->offers[i].dropped)
            draft->odd.products += draft->offers[i].count;
    return SHOAL_OK;
}

/* ---- points together ---- */

static size_t run_size(const struct market_draft *draft, size_t run)
{
    size_t end = run + 1 < draft->run_count ? draft->runs[run + 1].first : draft->point_count;

    return end - draft->runs[run].first;
}

/* Copies the runs of each offer behind each other; offers in order of their index. */
static shoal_status gather(struct market_draft *draft)
{
    struct market_point *to = base_malloc(draft->alloc, draft->point_count * sizeof *to);
    size_t at = 0;

    if (to == NULL)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < draft->offer_count; i++) {
        draft->offers[i].first = at;
        at += draft->offers[i].count;
    }
    for (size_t r = 0; r < draft->run_count; r++) {
        struct market_draft_offer *o = &draft->offers[draft->runs[r].offer];
        size_t size = run_size(draft, r);
        memcpy(to + o->first, draft->points + draft->runs[r].first, size * sizeof *to);
        o->first += size;
    }
    for (size_t i = 0; i < draft->offer_count; i++)
        draft->offers[i].first -= draft->offers[i].count;
    base_free(draft->alloc, draft->points);
    draft->points = to;
    draft->point_cap = draft->point_count;
    return SHOAL_OK;
}

/* Gives every offer its `first`, and the offers that have points in the order of these. */
static shoal_status bring_together(struct market_draft *draft, uint32_t *order, size_t *out_count)
{
    bool whole = true;
    size_t count = 0;

    for (size_t i = 0; i < draft->offer_count; i++)
        whole &= draft->offers[i].run_count <= 1;
    if (whole) {
        for (size_t r = 0; r < draft->run_count; r++) {
            draft->offers[draft->runs[r].offer].first = draft->runs[r].first;
            order[count++] = draft->runs[r].offer;
        }
    } else {
        shoal_status st = gather(draft);
        if (st != SHOAL_OK)
            return st;
        for (uint32_t i = 0; i < draft->offer_count; i++)
            if (draft->offers[i].count > 0)
                order[count++] = i;
    }
    *out_count = count;
    return SHOAL_OK;
}

/* ---- sorting ---- */

/* Where the stretch in order that begins at `from` ends. */
static size_t stretch(const struct market_point *p, size_t count, size_t from)
{
    size_t to = from + 1;

    while (to < count && p[to - 1].at_s <= p[to].at_s)
        to++;
    return to;
}

static void merge(struct market_point *p, size_t middle, size_t end, struct market_point *temp)
{
    size_t i = 0, j = middle, k = 0;

    memcpy(temp, p, middle * sizeof *p);
    while (i < middle)
        p[k++] = j < end && p[j].at_s < temp[i].at_s ? p[j++] : temp[i++];
}

/* Stable. `temp` has room for `count`. Stretches are merged two by two until there is one. */
static void sort_points(struct market_point *p, size_t count, struct market_point *temp)
{
    for (;;) {
        size_t from = 0;
        while (from < count) {
            size_t middle = stretch(p, count, from);
            if (middle == count) {
                if (from == 0)
                    return;
                break;
            }
            size_t end = stretch(p, count, middle);
            merge(p + from, middle - from, end - from, temp);
            from = end;
        }
    }
}

static shoal_status sort_offers_points(struct market_draft *draft)
{
    struct market_point *temp = NULL;
    size_t most = 0;

    for (size_t i = 0; i < draft->offer_count; i++) {
        const struct market_draft_offer *o = &draft->offers[i];
        if (!o->dropped && o->count > most &&
            stretch(draft->points + o->first, o->count, 0) < o->count)
            most = o->count;
    }
    if (most == 0)
        return SHOAL_OK;
    temp = base_malloc(draft->alloc, most * sizeof *temp);
    if (temp == NULL)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < draft->offer_count; i++) {
        struct market_draft_offer *o = &draft->offers[i];
        if (!o->dropped && o->count > 0)
            sort_points(draft->points + o->first, o->count, temp);
    }
    base_free(draft->alloc, temp);
    return SHOAL_OK;
}

/* ---- the rules ---- */

static bool same_price(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Writes what stays of the offer's points to `to`, at or before where they are; returns how
 * many. */
static size_t apply_rules(struct market_draft *draft, const struct market_draft_offer *o,
                          double end_s, struct market_point *to)
{
    const struct market_point *p = draft->points + o->first;
    double holds = NAN; /* before the first price nothing is offered */
    size_t kept = 0;

    for (size_t i = 0; i < o->count; i++) {
        if (i + 1 < o->count && p[i].at_s == p[i + 1].at_s) {
            if (same_price(p[i].usd_h, p[i + 1].usd_h))
                draft->odd.repeated++;
            else
                draft->odd.same_instant++;
            continue;
        }
        if (same_price(p[i].usd_h, holds) && !(p[i].at_s == end_s && kept > 0))
            continue;
        holds = p[i].usd_h;
        to[kept++] = p[i];
    }
    return kept;
}

static double end_of(const struct market_draft *draft)
{
    double end_s = -INFINITY;

    for (size_t i = 0; i < draft->offer_count; i++) {
        const struct market_draft_offer *o = &draft->offers[i];
        if (!o->dropped && o->count > 0)
            end_s = fmax(end_s, draft->points[o->first + o->count - 1].at_s);
    }
    return end_s;
}

static shoal_status settle_points(struct market_draft *draft)
{
    uint32_t *order = base_malloc(draft->alloc, draft->offer_count * sizeof *order);
    size_t count = 0, used = 0;
    shoal_status st = order != NULL ? bring_together(draft, order, &count) : SHOAL_E_NOMEM;

    if (st == SHOAL_OK)
        st = sort_offers_points(draft);
    double end_s = st == SHOAL_OK ? end_of(draft) : 0;
    for (size_t i = 0; st == SHOAL_OK && i < count; i++) {
        struct market_draft_offer *o = &draft->offers[order[i]];
        shoal_assert(used <= o->first);
        o->count = o->dropped ? 0 : apply_rules(draft, o, end_s, draft->points + used);
        o->first = used;
        used += o->count;
    }
    if (st == SHOAL_OK) {
        draft->point_count = used;
        st = retire(draft, order, count);
    }
    base_free(draft->alloc, order);
    return st;
}

/* ---- names ---- */

static int by_text(const void *pa, const void *pb)
{
    const struct market_draft_key *a = pa, *b = pb; /* the first member of an offer */
    int order = strcmp(a->cloud, b->cloud);

    if (order == 0)
        order = strcmp(a->region, b->region);
    if (order == 0)
        order = strcmp(a->zone, b->zone);
    if (order == 0)
        order = strcmp(a->kind, b->kind);
    return order != 0 ? order : (a->how > b->how) - (a->how < b->how);
}

static shoal_status number_name(struct market_names *names, const char *name, uint32_t *out)
{
    struct base_map_entry *entry = NULL;
    shoal_status st = base_map_add(&names->map, name, strlen(name), names->map.count, &entry);

    if (st != SHOAL_OK && st != SHOAL_E_EXISTS)
        return st;
    *out = (uint32_t)entry->value;
    return SHOAL_OK;
}

/* What a kind holds: what its own lines said, what was said of the kind elsewhere, what is
 * known. */
static void learn_holds(struct market_draft *draft)
{
    for (size_t i = 0; i < draft->offer_count; i++) {
        struct market_draft_offer *o = &draft->offers[i];
        const char *kind[2] = {o->key.cloud, o->key.kind};
        if (o->accelerator != NULL && o->accelerators > 0)
            continue;
        const struct base_map_entry *entry =
            base_map_find(&draft->kinds, (const char *)kind, sizeof kind);
        if (entry != NULL) {
            const struct market_draft_offer *other = &draft->offers[entry->value];
            if (o->accelerator == NULL || strcmp(o->accelerator, other->accelerator) == 0) {
                o->accelerator = other->accelerator;
                o->accelerators = other->accelerators;
            }
        } else if (o->accelerator == NULL) {
            market_kinds_find(o->key.cloud, o->key.kind, &o->accelerator, &o->accelerators);
        }
    }
}

static shoal_status number_offer(struct market_prices *prices, const struct market_draft_offer *o,
                                 struct market_offer *out)
{
    *out = (struct market_offer){.accelerator = MARKET_NONE,
                                 .accelerators = o->accelerators,
                                 .how = (uint8_t)o->key.how,
                                 .first = o->first,
                                 .count = o->count};
    shoal_status st = number_name(&prices->clouds, o->key.cloud, &out->cloud);
    if (st == SHOAL_OK)
        st = number_name(&prices->regions, o->key.region, &out->region);
    if (st == SHOAL_OK)
        st = number_name(&prices->zones, o->key.zone, &out->zone);
    if (st == SHOAL_OK)
        st = number_name(&prices->kinds, o->key.kind, &out->kind);
    if (st == SHOAL_OK && o->accelerator != NULL)
        st = number_name(&prices->accelerators, o->accelerator, &out->accelerator);
    return st;
}

/* "A100:8": a kind that is called by its accelerators is nothing but them. */
static bool is_bare(const struct market_draft_offer *o)
{
    char name[2 * MARKET_NAME_MAX];

    if (o->accelerator == NULL || o->accelerators == 0)
        return false;
    snprintf(name, sizeof name, "%s:%g", o->accelerator, o->accelerators);
    return strcmp(name, o->key.kind) == 0;
}

static shoal_status settle_offers(struct market_draft *draft, struct market_prices *prices)
{
    size_t count = 0;

    learn_holds(draft);
    base_map_fini(&draft->index); /* sorting makes its numbers wrong */
    base_map_fini(&draft->kinds);
    qsort(draft->offers, draft->offer_count, sizeof *draft->offers, by_text);
    for (size_t i = 0; i < draft->offer_count; i++)
        count += draft->offers[i].count > 0;
    if (count == 0)
        return SHOAL_OK;
    prices->offers = base_malloc(prices->alloc, count * sizeof *prices->offers);
    if (prices->offers == NULL)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < draft->offer_count; i++) {
        const struct market_draft_offer *o = &draft->offers[i];
        if (o->count == 0)
            continue;
        shoal_status st = number_offer(prices, o, &prices->offers[prices->offer_count]);
        if (st != SHOAL_OK)
            return st;
        prices->offer_count++;
        draft->odd.bare += is_bare(o);
    }
    return SHOAL_OK;
}

shoal_status market_draft_settle(struct market_draft *draft, struct market_prices *prices)
{
    if (draft->point_count == 0)
        return SHOAL_OK;
    shoal_status st = choose_products(draft);
    if (st == SHOAL_OK)
        st = settle_points(draft);
    if (st == SHOAL_OK)
        st = settle_offers(draft, prices);
    if (st != SHOAL_OK)
        return st;
    prices->odd = draft->odd;
    if (draft->point_count == 0)
        return SHOAL_OK;
    struct market_point *points =
        base_realloc(draft->alloc, draft->points, draft->point_count * sizeof *points);
    prices->points = points != NULL ? points : draft->points;
    prices->point_count = draft->point_count;
    draft->points = NULL;
    prices->from_s = INFINITY;
    prices->to_s = -INFINITY;
    for (size_t i = 0; i < prices->offer_count; i++) {
        const struct market_offer *o = &prices->offers[i];
        prices->from_s = fmin(prices->from_s, prices->points[o->first].at_s);
        prices->to_s = fmax(prices->to_s, prices->points[o->first + o->count - 1].at_s);
    }
    return SHOAL_OK;
}
