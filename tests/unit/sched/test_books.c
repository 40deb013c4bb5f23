/* test_books.c - free GPUs and the search for places, against a plain count kept beside them. */
#include "world.h"

#include "sched/books.h"

enum { HELD_MAX = 32 };

struct held {
    struct sched_place places[WORLD_NODES_MAX];
    struct sched_alloc alloc;
};

/* A random cluster with some nodes down, its books, and who holds what of it. */
struct ledger {
    struct world w;
    struct sched_books books;
    struct held held[HELD_MAX];
    size_t held_count;
};

static void ledger_open(struct ledger *l, uint64_t seed, bool exclusive)
{
    struct base_rand rand;
    char spec[256];

    base_rand_init(&rand, seed, "spec");
    world_random_spec(&rand, spec, sizeof spec);
    world_open(&l->w, NULL, seed, spec);
    for (uint32_t n = 0; n < l->w.cluster.node_count; n++)
        l->w.node_up[n] = base_rand_below(&l->w.rand, 8) != 0;
    l->held_count = 0;
    assert_int_equal(sched_books_init(&l->books, &base_alloc_libc, &l->w.cluster, exclusive),
                     SHOAL_OK);
    sched_books_begin(&l->books, world_snapshot(&l->w));
}

static void ledger_close(struct ledger *l)
{
    sched_books_fini(&l->books);
    world_close(&l->w);
}

static uint32_t node_room(const struct ledger *l, uint32_t node)
{
    uint32_t room = l->w.node_up[node] ? l->w.cluster.nodes[node].gpus : 0;

    for (size_t i = 0; i < l->held_count; i++)
        for (uint32_t p = 0; p < l->held[i].alloc.place_count; p++)
            if (l->held[i].places[p].node == node)
                room -= l->held[i].places[p].gpus;
    return room;
}

static uint32_t spanning_on(const struct ledger *l, uint32_t node)
{
    uint32_t count = 0;

    for (size_t i = 0; i < l->held_count; i++)
        for (uint32_t p = 0; l->held[i].alloc.place_count > 1 && p < l->held[i].alloc.place_count;
             p++)
            count += l->held[i].places[p].node == node;
    return count;
}

/* Nodes, bitsets and sums all say what the plain count says. */
static void assert_true_books(const struct ledger *l)
{
    uint32_t free[SCHED_KINDS_MAX] = {0};

    for (uint32_t n = 0; n < l->w.cluster.node_count; n++) {
        const struct sched_kind_books *kb = &l->books.kinds[l->w.cluster.nodes[n].kind];
        uint32_t room = node_room(l, n), position = l->books.position[n];
        WORLD_CLAIM(&l->w, l->books.node_free[n] == room, "node %u: %u free, expected %u", n,
                    l->books.node_free[n], room);
        for (uint32_t f = 0; f <= kb->gpus_max; f++) {
            const uint64_t *bits = kb->bits + (size_t)f * kb->word_count;
            bool set = (bits[position / 64] >> position % 64 & 1) != 0;
            WORLD_CLAIM(&l->w, set == (f == room), "node %u with %u free: bit of %u", n, room, f);
        }
        WORLD_CLAIM(&l->w, l->books.node_span[n] == spanning_on(l, n), "node %u: span", n);
        free[l->w.cluster.nodes[n].kind] += room;
    }
    for (uint32_t k = 0; k < l->w.cluster.kind_count; k++)
        assert_int_equal(l->books.kinds[k].free, free[k]);
}

static bool find(struct ledger *l, uint32_t kind, uint32_t gpus, enum sched_locality level,
                 enum sched_fit fit)
{
    struct held *h = &l->held[l->held_count];

    if (l->held_count == HELD_MAX ||
        !sched_books_find(&l->books, kind, gpus, level, fit, &h->alloc))
        return false;
    memcpy(h->places, h->alloc.places, h->alloc.place_count * sizeof *h->places);
    h->alloc.places = h->places;
    l->held_count++;
    return true;
}

static void give(struct ledger *l, size_t index)
{
    sched_books_give(&l->books, &l->held[index].alloc);
    l->held[index] = l->held[--l->held_count];
    l->held[index].alloc.places = l->held[index].places;
}

static uint32_t fewest_nodes(const struct sched_cluster *c, uint32_t kind, uint32_t gpus)
{
    uint32_t nodes = 0;

    for (uint32_t size = SCHED_NODE_GPUS_MAX; size > 0; size--)
        for (uint32_t n = 0; n < c->node_count && gpus > 0; n++)
            if (c->nodes[n].kind == kind && c->nodes[n].gpus == size) {
                gpus -= gpus < size ? gpus : size;
                nodes++;
            }
    return nodes;
}

/* What the last find took is the whole gang, on one kind, and as close together as was asked. */
static void assert_sound(const struct ledger *l, uint32_t kind, uint32_t gpus,
                         enum sched_locality level)
{
    const struct sched_alloc *a = &l->held[l->held_count - 1].alloc;
    const struct sched_cluster *c = &l->w.cluster;
    uint32_t sum = 0;

    assert_int_equal(a->gpus, gpus);
    assert_int_equal(a->kind, kind);
    for (uint32_t p = 0; p < a->place_count; p++) {
        assert_int_equal(c->nodes[a->places[p].node].kind, kind);
        assert_true(a->places[p].gpus > 0);
        sum += a->places[p].gpus;
        for (uint32_t q = 0; q < p; q++)
            assert_int_not_equal(a->places[p].node, a->places[q].node);
        if (level == SCHED_LOCALITY_RACK && a->place_count > 1)
            assert_int_equal(c->nodes[a->places[p].node].rack, c->nodes[a->places[0].node].rack);
        if (l->books.exclusive && a->place_count > 1)
            assert_int_equal(spanning_on(l, a->places[p].node), 1);
    }
    assert_int_equal(sum, gpus);
    if (level == SCHED_LOCALITY_STRICT)
        WORLD_CLAIM(&l->w, a->place_count <= fewest_nodes(c, kind, gpus), "on %u nodes, not fewest",
                    a->place_count);
}

/* The largest hole, and all holes together, before a search. */
static void assert_refusal_is_true(const struct ledger *l, uint32_t kind, uint32_t gpus,
                                   enum sched_locality level)
{
    uint32_t most = 0, all = 0;

    for (uint32_t n = 0; n < l->w.cluster.node_count; n++)
        if (l->w.cluster.nodes[n].kind == kind) {
            uint32_t room = node_room(l, n);
            most = room > most ? room : most;
            all += room;
        }
    WORLD_CLAIM(&l->w, most < gpus, "refused %u GPUs, a node has %u", gpus, most);
    if (level == SCHED_LOCALITY_ANYWHERE && !l->books.exclusive)
        WORLD_CLAIM(&l->w, all < gpus, "refused %u GPUs, %u are free", gpus, all);
}

static void books_stay_true_under_any_finds_and_gives(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(300); seed++) {
        struct ledger l;
        ledger_open(&l, seed, seed % 3 == 0);
        assert_true_books(&l);
        for (int step = 0; step < 60; step++) {
            uint32_t kind = (uint32_t)base_rand_below(&l.w.rand, l.w.cluster.kind_count);
            uint32_t gpus = 1 + (uint32_t)base_rand_below(&l.w.rand, 12);
            enum sched_locality level = (enum sched_locality)base_rand_below(&l.w.rand, 3);
            enum sched_fit fit = (enum sched_fit)base_rand_below(&l.w.rand, 2);
            if (l.held_count > 0 && base_rand_below(&l.w.rand, 3) == 0)
                give(&l, (size_t)base_rand_below(&l.w.rand, l.held_count));
            else if (l.held_count == HELD_MAX)
                continue;
            else if (find(&l, kind, gpus, level, fit))
                assert_sound(&l, kind, gpus, level);
            else
                assert_refusal_is_true(&l, kind, gpus, level);
            assert_true_books(&l);
        }
        ledger_close(&l);
    }
}

static void beginning_again_is_as_good_as_new(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(100); seed++) {
        struct ledger l;
        ledger_open(&l, seed, false);
        for (int round = 0; round < 4; round++) {
            for (int i = 0; i < 10; i++)
                find(&l, (uint32_t)base_rand_below(&l.w.rand, l.w.cluster.kind_count),
                     1 + (uint32_t)base_rand_below(&l.w.rand, 8), SCHED_LOCALITY_ANYWHERE,
                     SCHED_FIT_PACK);
            if (round % 2 == 1) { /* and with a node that changed */
                uint32_t node = (uint32_t)base_rand_below(&l.w.rand, l.w.cluster.node_count);
                l.w.node_up[node] = !l.w.node_up[node];
                l.w.node_changes++;
            }
            sched_books_begin(&l.books, world_snapshot(&l.w));
            l.held_count = 0;
            assert_true_books(&l);
        }
        ledger_close(&l);
    }
}

static void places_that_were_given_back_fit_again(void **state)
{
    (void)state;
    struct ledger l;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(100); seed++) {
        ledger_open(&l, seed, false);
        while (l.held_count < HELD_MAX - 1 &&
               find(&l, 0, 1 + (uint32_t)base_rand_below(&l.w.rand, 4), SCHED_LOCALITY_ANYWHERE,
                    SCHED_FIT_MOST_FREE)) {
        }
        if (l.held_count > 0) {
            struct held first = l.held[0];
            first.alloc.places = first.places;
            give(&l, 0);
            assert_true(sched_books_fit(&l.books, &first.alloc));
            sched_books_take(&l.books, &first.alloc);
            l.held[l.held_count] = first;
            l.held[l.held_count].alloc.places = l.held[l.held_count].places;
            l.held_count++;
            assert_true_books(&l);
            for (uint32_t p = 0; p < first.alloc.place_count; p++)
                first.places[p].gpus = SCHED_NODE_GPUS_MAX + 1;
            assert_false(sched_books_fit(&l.books, &first.alloc));
        }
        ledger_close(&l);
    }
}

static void packing_takes_the_fullest_node_and_spreading_the_emptiest(void **state)
{
    (void)state;
    struct ledger l = {0};
    world_open(&l.w, NULL, 1, "3x4:t4");
    assert_int_equal(sched_books_init(&l.books, &base_alloc_libc, &l.w.cluster, false), SHOAL_OK);
    sched_books_begin(&l.books, world_snapshot(&l.w));
    assert_true(find(&l, 0, 2, SCHED_LOCALITY_ANYWHERE, SCHED_FIT_PACK));
    assert_int_equal(l.held[0].places[0].node, 0); /* ties: the lowest index */
    assert_true(find(&l, 0, 1, SCHED_LOCALITY_ANYWHERE, SCHED_FIT_PACK));
    assert_int_equal(l.held[1].places[0].node, 0);
    assert_true(find(&l, 0, 1, SCHED_LOCALITY_ANYWHERE, SCHED_FIT_MOST_FREE));
    assert_int_equal(l.held[2].places[0].node, 1);
    ledger_close(&l);
}

static shoal_status make_books(const struct base_alloc *alloc, void *ctx)
{
    struct sched_books books;
    shoal_status st = sched_books_init(&books, alloc, ctx, true);

    if (st == SHOAL_OK)
        sched_books_fini(&books);
    return st;
}

static void every_failed_allocation_is_a_clean_error(void **state)
{
    (void)state;
    struct sched_cluster cluster;
    assert_int_equal(
        sched_cluster_parse(&base_alloc_libc, "70x4:t4,2x8:a100,1x1:k80", &cluster, NULL),
        SHOAL_OK);
    torture_run(make_books, &cluster);
    sched_cluster_fini(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(books_stay_true_under_any_finds_and_gives),
        cmocka_unit_test(beginning_again_is_as_good_as_new),
        cmocka_unit_test(places_that_were_given_back_fit_again),
        cmocka_unit_test(packing_takes_the_fullest_node_and_spreading_the_emptiest),
        cmocka_unit_test(every_failed_allocation_is_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
