/* books.c - free GPUs in bitsets, and the search for places (see books.h). */
#include "sched/books.h"

#include "base/assert.h"
#include <string.h>

enum { NO_NODE = UINT32_MAX };

/* ---- free GPUs ---- */

static uint64_t *bucket(struct sched_kind_books *kb, uint32_t free)
{
    return kb->bits + (size_t)free * kb->word_count;
}

static void bucket_add(struct sched_kind_books *kb, uint32_t free, uint32_t position)
{
    uint32_t word = position / 64;

    bucket(kb, free)[word] |= UINT64_C(1) << position % 64;
    kb->bucket_count[free]++;
    if (word < kb->hint[free])
        kb->hint[free] = word;
}

static void set_free(struct sched_books *books, uint32_t node, uint32_t free)
{
    struct sched_kind_books *kb = &books->kinds[books->cluster->nodes[node].kind];
    uint32_t position = books->position[node], old = books->node_free[node];

    if (!books->is_touched[node]) {
        books->is_touched[node] = true;
        books->touched[books->touched_count++] = node;
    }
    bucket(kb, old)[position / 64] &= ~(UINT64_C(1) << position % 64);
    kb->bucket_count[old]--;
    bucket_add(kb, free, position);
    kb->free = kb->free - old + free;
    kb->rack_free[books->cluster->nodes[node].rack] += free - old;
    books->node_free[node] = (uint16_t)free;
}

/* The first node of the bucket, or NO_NODE. */
static uint32_t bucket_first(struct sched_kind_books *kb, uint32_t free)
{
    if (kb->bucket_count[free] == 0)
        return NO_NODE;
    const uint64_t *bits = bucket(kb, free);
    uint32_t word = kb->hint[free];
    while (bits[word] == 0)
        word++;
    kb->hint[free] = word;
    return kb->nodes[word * 64 + (uint32_t)__builtin_ctzll(bits[word])];
}

static uint32_t tightest_node(struct sched_kind_books *kb, uint32_t gpus)
{
    for (uint32_t f = gpus; f <= kb->gpus_max; f++)
        if (kb->bucket_count[f] > 0)
            return bucket_first(kb, f);
    return NO_NODE;
}

static uint32_t emptiest_node(struct sched_kind_books *kb)
{
    for (uint32_t f = kb->gpus_max; f > 0; f--)
        if (kb->bucket_count[f] > 0)
            return bucket_first(kb, f);
    return NO_NODE;
}

/* ---- life ---- */

static shoal_status kind_init(struct sched_books *books, uint32_t k)
{
    struct sched_kind_books *kb = &books->kinds[k];
    const struct sched_cluster *c = books->cluster;

    kb->gpus_max = c->kinds[k].node_gpus_max;
    kb->word_count = (c->kinds[k].nodes + 63) / 64;
    kb->nodes = base_calloc(books->alloc, c->kinds[k].nodes, sizeof *kb->nodes);
    kb->bits =
        base_calloc(books->alloc, (size_t)(kb->gpus_max + 1) * kb->word_count, sizeof *kb->bits);
    kb->rack_free = base_calloc(books->alloc, c->rack_count, sizeof *kb->rack_free);
    if (kb->nodes == NULL || kb->bits == NULL || kb->rack_free == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t n = 0; n < c->node_count; n++) {
        if (c->nodes[n].kind != k)
            continue;
        books->position[n] = kb->node_count;
        kb->nodes[kb->node_count++] = n;
        kb->size_count[c->nodes[n].gpus]++;
    }
    return SHOAL_OK;
}

shoal_status sched_books_init(struct sched_books *books, const struct base_alloc *alloc,
                              const struct sched_cluster *cluster, bool exclusive)
{
    uint32_t n = cluster->node_count;

    *books = (struct sched_books){.alloc = alloc, .cluster = cluster, .exclusive = exclusive};
    books->position = base_calloc(alloc, n, sizeof *books->position);
    books->node_free = base_calloc(alloc, n, sizeof *books->node_free);
    books->node_span = base_calloc(alloc, n, sizeof *books->node_span);
    books->places = base_calloc(alloc, n, sizeof *books->places);
    books->touched = base_calloc(alloc, n, sizeof *books->touched);
    books->is_touched = base_calloc(alloc, n, sizeof *books->is_touched);
    bool ok = books->position != NULL && books->node_free != NULL && books->node_span != NULL &&
              books->places != NULL && books->touched != NULL && books->is_touched != NULL;
    for (uint32_t k = 0; ok && k < cluster->kind_count; k++)
        ok = kind_init(books, k) == SHOAL_OK;
    if (ok)
        return SHOAL_OK;
    sched_books_fini(books);
    return SHOAL_E_NOMEM;
}

void sched_books_fini(struct sched_books *books)
{
    for (uint32_t k = 0; k < SCHED_KINDS_MAX; k++) {
        base_free(books->alloc, books->kinds[k].nodes);
        base_free(books->alloc, books->kinds[k].bits);
        base_free(books->alloc, books->kinds[k].rack_free);
    }
    base_free(books->alloc, books->position);
    base_free(books->alloc, books->node_free);
    base_free(books->alloc, books->node_span);
    base_free(books->alloc, books->places);
    base_free(books->alloc, books->touched);
    base_free(books->alloc, books->is_touched);
    *books = (struct sched_books){0};
}

/* Everything free, from nothing: at the first begin, and when nodes went down or came back. */
static void free_all(struct sched_books *books, const struct sched_snapshot *snap)
{
    const struct sched_cluster *c = books->cluster;

    for (uint32_t k = 0; k < c->kind_count; k++) {
        struct sched_kind_books *kb = &books->kinds[k];
        memset(kb->bits, 0, (size_t)(kb->gpus_max + 1) * kb->word_count * sizeof *kb->bits);
        memset(kb->bucket_count, 0, sizeof kb->bucket_count);
        memset(kb->rack_free, 0, c->rack_count * sizeof *kb->rack_free);
        for (uint32_t f = 0; f < SCHED_BUCKETS; f++)
            kb->hint[f] = kb->word_count - 1;
        kb->free = 0;
    }
    for (uint32_t n = 0; n < c->node_count; n++) {
        struct sched_kind_books *kb = &books->kinds[c->nodes[n].kind];
        uint32_t free = snap->node_up[n] ? c->nodes[n].gpus : 0;
        books->node_free[n] = (uint16_t)free;
        books->node_span[n] = 0;
        books->is_touched[n] = false;
        bucket_add(kb, free, books->position[n]);
        kb->free += free;
        kb->rack_free[c->nodes[n].rack] += free;
    }
    books->touched_count = 0;
}

/* Everything free, by undoing the last plan. */
static void free_touched(struct sched_books *books, const struct sched_snapshot *snap)
{
    for (uint32_t i = 0; i < books->touched_count; i++) {
        uint32_t node = books->touched[i];
        set_free(books, node, snap->node_up[node] ? books->cluster->nodes[node].gpus : 0);
        books->node_span[node] = 0;
        books->is_touched[node] = false;
    }
    books->touched_count = 0;
}

void sched_books_begin(struct sched_books *books, const struct sched_snapshot *snap)
{
    if (books->begun && books->node_changes == snap->node_changes)
        free_touched(books, snap);
    else
        free_all(books, snap);
    books->begun = true;
    books->node_changes = snap->node_changes;
}

/* ---- places that are known ---- */

bool sched_books_alone(const struct sched_books *books, const struct sched_alloc *alloc)
{
    for (uint32_t i = 0; books->exclusive && alloc->place_count > 1 && i < alloc->place_count; i++)
        if (books->node_span[alloc->places[i].node] > 0)
            return false;
    return true;
}

bool sched_books_fit(const struct sched_books *books, const struct sched_alloc *alloc)
{
    for (uint32_t i = 0; i < alloc->place_count; i++)
        if (books->node_free[alloc->places[i].node] < alloc->places[i].gpus)
            return false; /* a node that is down has nothing free */
    return sched_books_alone(books, alloc);
}

static void mark_span(struct sched_books *books, const struct sched_alloc *alloc, int by)
{
    for (uint32_t i = 0; alloc->place_count > 1 && i < alloc->place_count; i++)
        books->node_span[alloc->places[i].node] =
            (uint16_t)(books->node_span[alloc->places[i].node] + by);
}

void sched_books_take(struct sched_books *books, const struct sched_alloc *alloc)
{
    for (uint32_t i = 0; i < alloc->place_count; i++)
        set_free(books, alloc->places[i].node,
                 books->node_free[alloc->places[i].node] - alloc->places[i].gpus);
    mark_span(books, alloc, 1);
}

void sched_books_give(struct sched_books *books, const struct sched_alloc *alloc)
{
    for (uint32_t i = 0; i < alloc->place_count; i++)
        set_free(books, alloc->places[i].node,
                 books->node_free[alloc->places[i].node] + alloc->places[i].gpus);
    mark_span(books, alloc, -1);
}

/* ---- places to be found ---- */

/* Fewest nodes of a kind that can hold `gpus` on an empty cluster. */
static uint32_t fewest_nodes(const struct sched_kind_books *kb, uint32_t gpus)
{
    uint32_t nodes = 0;

    for (uint32_t size = kb->gpus_max; size > 0 && gpus > 0; size--)
        for (uint32_t i = 0; i < kb->size_count[size] && gpus > 0; i++) {
            gpus -= gpus < size ? gpus : size;
            nodes++;
        }
    return nodes;
}

bool sched_books_close(const struct sched_books *books, const struct sched_alloc *alloc,
                       enum sched_locality level)
{
    const struct sched_node *nodes = books->cluster->nodes;

    if (alloc->place_count <= 1 || level == SCHED_LOCALITY_ANYWHERE)
        return true;
    if (level == SCHED_LOCALITY_STRICT)
        return alloc->place_count <= fewest_nodes(&books->kinds[alloc->kind], alloc->gpus);
    for (uint32_t i = 1; i < alloc->place_count; i++)
        if (nodes[alloc->places[i].node].rack != nodes[alloc->places[0].node].rack)
            return false;
    return true;
}

static uint32_t take(struct sched_books *books, uint32_t count, uint32_t node, uint32_t gpus)
{
    books->places[count] = (struct sched_place){.node = node, .gpus = gpus};
    set_free(books, node, books->node_free[node] - gpus);
    return count + 1;
}

static void give_back(struct sched_books *books, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        set_free(books, books->places[i].node,
                 books->node_free[books->places[i].node] + books->places[i].gpus);
}

/* Spans any nodes of the kind, which has enough free. Returns the number of places in scratch. */
static uint32_t span_anywhere(struct sched_books *books, struct sched_kind_books *kb, uint32_t gpus,
                              enum sched_fit fit)
{
    uint32_t count = 0;

    while (gpus > 0) {
        uint32_t node = fit == SCHED_FIT_PACK ? tightest_node(kb, gpus) : NO_NODE;
        if (node == NO_NODE)
            node = emptiest_node(kb);
        shoal_assert(node != NO_NODE);
        uint32_t n = books->node_free[node] < gpus ? books->node_free[node] : gpus;
        count = take(books, count, node, n);
        gpus -= n;
    }
    return count;
}

/* As span_anywhere, but on nodes of one rack (or any: rack NO_NODE) that no spanning job uses when
 * the rule asks so. One pass per free count, from the emptiest down. Returns 0 when it does not
 * fit. */
static uint32_t span_filtered(struct sched_books *books, struct sched_kind_books *kb, uint32_t gpus,
                              uint32_t rack)
{
    uint32_t count = 0;

    for (uint32_t f = kb->gpus_max; f > 0 && gpus > 0; f--) {
        if (kb->bucket_count[f] == 0)
            continue;
        for (uint32_t i = 0; i < kb->node_count && gpus > 0; i++) {
            uint32_t node = kb->nodes[i];
            if (books->node_free[node] != f ||
                (rack != NO_NODE && books->cluster->nodes[node].rack != rack) ||
                (books->exclusive && books->node_span[node] > 0))
                continue;
            uint32_t n = f < gpus ? f : gpus;
            count = take(books, count, node, n);
            gpus -= n;
        }
    }
    if (gpus == 0)
        return count;
    give_back(books, count);
    return 0;
}

static uint32_t span_one_rack(struct sched_books *books, struct sched_kind_books *kb, uint32_t gpus)
{
    uint32_t best = NO_NODE, best_count = UINT32_MAX;

    for (uint32_t r = 0; r < books->cluster->rack_count; r++) {
        if (kb->rack_free[r] < gpus)
            continue;
        uint32_t count = span_filtered(books, kb, gpus, r);
        give_back(books, count);
        if (count > 0 && count < best_count) {
            best = r;
            best_count = count;
        }
    }
    return best == NO_NODE ? 0 : span_filtered(books, kb, gpus, best);
}

bool sched_books_find(struct sched_books *books, uint32_t kind, uint32_t gpus,
                      enum sched_locality level, enum sched_fit fit, struct sched_alloc *out)
{
    struct sched_kind_books *kb = &books->kinds[kind];
    uint32_t count;

    if (kb->free < gpus)
        return false;
    uint32_t node = fit == SCHED_FIT_PACK ? tightest_node(kb, gpus) : emptiest_node(kb);
    if (node != NO_NODE && books->node_free[node] >= gpus)
        count = take(books, 0, node, gpus);
    else if (level == SCHED_LOCALITY_RACK)
        count = span_one_rack(books, kb, gpus);
    else if (books->exclusive)
        count = span_filtered(books, kb, gpus, NO_NODE);
    else
        count = span_anywhere(books, kb, gpus, fit);
    if (count > 1 && level == SCHED_LOCALITY_STRICT && count > fewest_nodes(kb, gpus)) {
        give_back(books, count);
        count = 0;
    }
    *out = (struct sched_alloc){
        .places = books->places, .place_count = count, .gpus = gpus, .kind = (uint16_t)kind};
    mark_span(books, out, 1);
    return count > 0;
}
