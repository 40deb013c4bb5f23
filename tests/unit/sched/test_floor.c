/* test_floor.c - places by rules of locality, against a plain count of what is free. */
#include "world.h"

#include "base/assert.h"
#include "sched/floor.h"

enum { HELD_MAX = 24 };

struct held {
    struct sched_place places[WORLD_NODES_MAX];
    struct sched_alloc alloc;
};

struct ledger {
    struct world w;
    struct sched_floor floor;
    struct held held[HELD_MAX];
    size_t count;
};

static struct ledger ledger; /* large */

static struct ledger *open_random(uint64_t seed)
{
    struct ledger *l = &ledger;
    struct base_rand rand;
    char spec[256];

    base_rand_init(&rand, seed, "spec");
    world_random_spec(&rand, spec, sizeof spec);
    world_open(&l->w, NULL, seed, spec);
    for (uint32_t n = 0; n < l->w.cluster.node_count; n++)
        l->w.node_up[n] = base_rand_below(&l->w.rand, 8) != 0;
    l->count = 0;
    assert_int_equal(sched_floor_init(&l->floor, &base_alloc_libc, &l->w.cluster), SHOAL_OK);
    sched_floor_begin(&l->floor, world_snapshot(&l->w));
    return l;
}

static void close_random(struct ledger *l)
{
    sched_floor_fini(&l->floor);
    world_close(&l->w);
}

static uint32_t room_on(const struct ledger *l, uint32_t node)
{
    uint32_t room = l->w.node_up[node] ? l->w.cluster.nodes[node].gpus : 0;

    for (size_t i = 0; i < l->count; i++)
        for (uint32_t p = 0; p < l->held[i].alloc.place_count; p++)
            room -= l->held[i].places[p].node == node ? l->held[i].places[p].gpus : 0;
    return room;
}

static void hold(struct ledger *l, const struct sched_alloc *a)
{
    struct held *h = &l->held[l->count++];

    memcpy(h->places, a->places, a->place_count * sizeof *h->places);
    h->alloc = *a;
    h->alloc.places = h->places;
}

static void give(struct ledger *l, size_t i)
{
    sched_floor_give(&l->floor, &l->held[i].alloc);
    l->held[i] = l->held[--l->count];
    l->held[i].alloc.places = l->held[i].places;
}

static int most_first(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x < y) - (x > y);
}

/* Fewest nodes of the kind in a rack (UINT32_MAX: anywhere) that hold the gang, by what is free or,
 * with `empty`, by size; 0: none do. */
static uint32_t slow_fewest(const struct ledger *l, uint32_t kind, uint32_t rack, uint32_t gpus,
                            bool empty)
{
    uint32_t rooms[WORLD_NODES_MAX], count = 0, used = 0;

    for (uint32_t n = 0; n < l->w.cluster.node_count; n++) {
        const struct sched_node *node = &l->w.cluster.nodes[n];
        if (node->kind == kind && l->w.node_up[n] && (rack == UINT32_MAX || node->rack == rack))
            rooms[count++] = empty ? node->gpus : room_on(l, n);
    }
    qsort(rooms, count, sizeof *rooms, most_first);
    while (gpus > 0 && used < count && rooms[used] > 0) {
        gpus -= gpus < rooms[used] ? gpus : rooms[used];
        used++;
    }
    return gpus == 0 ? used : 0;
}

/* Of all racks, then anywhere when none can. */
static uint32_t slow_strict(const struct ledger *l, uint32_t kind, uint32_t gpus, bool *one_rack)
{
    uint32_t best = 0;

    for (uint32_t r = 0; r < l->w.cluster.rack_count; r++) {
        uint32_t n = slow_fewest(l, kind, r, gpus, true);
        best = n > 0 && (best == 0 || n < best) ? n : best;
    }
    *one_rack = best > 0;
    return best > 0 ? best : slow_fewest(l, kind, UINT32_MAX, gpus, true);
}

/* Whether the rules leave a place at all. */
static bool slow_can(const struct ledger *l, uint32_t kind, uint32_t gpus,
                     enum sched_locality level)
{
    bool one_rack, any = slow_fewest(l, kind, UINT32_MAX, gpus, false) > 0;
    uint32_t strict = slow_strict(l, kind, gpus, &one_rack);

    if (level == SCHED_LOCALITY_ANYWHERE)
        return any;
    if (!one_rack) {
        uint32_t n = slow_fewest(l, kind, UINT32_MAX, gpus, false);
        return n > 0 && (level == SCHED_LOCALITY_RACK || n <= strict);
    }
    for (uint32_t r = 0; r < l->w.cluster.rack_count; r++) {
        uint32_t n = slow_fewest(l, kind, r, gpus, false);
        if (n > 0 && (level == SCHED_LOCALITY_RACK || n <= strict))
            return true;
    }
    return false;
}

static void check_places(const struct ledger *l, const struct sched_alloc *a,
                         enum sched_locality level)
{
    uint32_t gpus = 0;
    bool one_rack;
    uint32_t strict = slow_strict(l, a->kind, a->gpus, &one_rack);

    for (uint32_t p = 0; p < a->place_count; p++) {
        uint32_t node = a->places[p].node;
        gpus += a->places[p].gpus;
        assert_true(a->places[p].gpus > 0 && a->places[p].gpus <= room_on(l, node));
        assert_int_equal(l->w.cluster.nodes[node].kind, a->kind);
        assert_true(p == 0 || a->places[p - 1].node < node);
        if (one_rack && level != SCHED_LOCALITY_ANYWHERE)
            assert_int_equal(l->w.cluster.nodes[node].rack,
                             l->w.cluster.nodes[a->places[0].node].rack);
    }
    assert_int_equal(gpus, a->gpus);
    if (level == SCHED_LOCALITY_STRICT)
        assert_true(a->place_count <= strict);
}

static void check_counts(const struct ledger *l)
{
    uint32_t free[SCHED_KINDS_MAX] = {0}, all = 0;

    for (uint32_t n = 0; n < l->w.cluster.node_count; n++) {
        assert_int_equal(l->floor.free[n], room_on(l, n));
        free[l->w.cluster.nodes[n].kind] += room_on(l, n);
        all += room_on(l, n);
    }
    for (uint32_t k = 0; k < l->w.cluster.kind_count; k++)
        assert_int_equal(l->floor.kind_free[k], free[k]);
    assert_int_equal(l->floor.gpus_free, all);
}

static void places_are_found_exactly_where_the_rules_leave_one(void **state)
{
    (void)state;
    for (int seed = 1; seed <= property_count(300); seed++) {
        struct ledger *l = open_random((uint64_t)seed);
        for (int step = 0; step < 60; step++) {
            uint32_t kinds, gpus = world_random_gang(&l->w, &kinds);
            uint32_t kind = (uint32_t)base_rand_below(&l->w.rand, l->w.cluster.kind_count);
            struct sched_floor_rules rules = {
                .level = (enum sched_locality)base_rand_below(&l->w.rand, 3),
                .apart = base_rand_below(&l->w.rand, 2) != 0};
            struct sched_alloc a;
            bool can = slow_can(l, kind, gpus, rules.level);
            bool found = sched_floor_find(&l->floor, kind, gpus, rules, &a);
            if (found != can)
                fail_msg("seed %d: %u GPUs at level %d: %sfound", seed, gpus, (int)rules.level,
                         found ? "" : "not ");
            if (found) {
                check_places(l, &a, rules.level);
                hold(l, &a);
            }
            if (l->count == HELD_MAX || (l->count > 0 && base_rand_below(&l->w.rand, 3) == 0))
                give(l, base_rand_below(&l->w.rand, l->count));
            check_counts(l);
        }
        close_random(l);
    }
}

static void the_fewest_nodes_are_those_of_an_empty_cluster_in_one_rack_where_one_can(void **state)
{
    (void)state;
    for (int seed = 1; seed <= property_count(300); seed++) {
        struct ledger *l = open_random((uint64_t)seed);
        for (uint32_t gpus = 1; gpus < 40; gpus++)
            for (uint32_t k = 0; k < l->w.cluster.kind_count; k++) {
                bool one_rack;
                assert_int_equal(sched_floor_fewest(&l->floor, k, gpus),
                                 slow_strict(l, k, gpus, &one_rack));
                assert_int_equal(sched_floor_one_rack(&l->floor, k, gpus), one_rack);
            }
        close_random(l);
    }
}

static struct ledger *open_empty(const char *spec)
{
    world_open(&ledger.w, NULL, 1, spec);
    ledger.count = 0;
    assert_int_equal(sched_floor_init(&ledger.floor, &base_alloc_libc, &ledger.w.cluster),
                     SHOAL_OK);
    sched_floor_begin(&ledger.floor, world_snapshot(&ledger.w));
    return &ledger;
}

static struct sched_alloc find(struct ledger *l, uint32_t gpus, bool apart)
{
    struct sched_alloc a;

    assert_true(sched_floor_find(
        &l->floor, 0, gpus,
        (struct sched_floor_rules){.level = SCHED_LOCALITY_STRICT, .apart = apart}, &a));
    hold(l, &a);
    return l->held[l->count - 1].alloc;
}

static void a_small_gang_goes_to_the_fullest_node_with_room(void **state)
{
    struct ledger *l = open_empty("2x8:p100,2x2:p100");

    (void)state;
    assert_int_equal(find(l, 5, false).places[0].node, 0);
    assert_int_equal(find(l, 1, false).places[0].node, 2); /* 2 free there, 3 on the first */
    assert_int_equal(find(l, 1, false).places[0].node, 2);
    assert_int_equal(find(l, 3, false).places[0].node, 0);
    close_random(l);
}

static void kept_apart_gangs_avoid_each_other_and_fill_small_nodes_first(void **state)
{
    struct ledger *l = open_empty("2x8:p100,1x2:p100");

    (void)state;
    assert_int_equal(find(l, 4, true).places[0].node, 0);
    assert_int_equal(find(l, 4, true).places[0].node, 1); /* and not beside the first */
    assert_int_equal(find(l, 1, true).places[0].node, 2);
    assert_int_equal(find(l, 4, true).places[0].node, 0); /* nowhere else: a wish, no rule */
    close_random(l);
}

static shoal_status make_one(const struct base_alloc *alloc, void *ctx)
{
    struct sched_floor floor;
    shoal_status st = sched_floor_init(&floor, alloc, ctx);

    if (st == SHOAL_OK)
        sched_floor_fini(&floor);
    return st;
}

static void failed_allocations_end_in_a_clean_error(void **state)
{
    struct ledger *l = open_empty("3x4:t4,2x8:a100");

    (void)state;
    torture_run(make_one, &l->w.cluster);
    close_random(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_found_exactly_where_the_rules_leave_one),
        cmocka_unit_test(the_fewest_nodes_are_those_of_an_empty_cluster_in_one_rack_where_one_can),
        cmocka_unit_test(a_small_gang_goes_to_the_fullest_node_with_room),
        cmocka_unit_test(kept_apart_gangs_avoid_each_other_and_fill_small_nodes_first),
        cmocka_unit_test(failed_allocations_end_in_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
