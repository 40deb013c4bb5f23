/* test_defrag.c - room by moves: valid, as cheap as can be, and nothing changed where there is
 * none. */
#include "world.h"

#include "base/assert.h"
#include "sched/defrag.h"

static struct world world; /* large */
static struct sched_floor before, after;
static struct sched_defrag defrag;
static bool movable[WORLD_JOBS_MAX];

/* Jobs on one node each, of one GPU or, with `sizes`, up to 4, until about `full` of the GPUs are
 * taken. */
static struct world *open_random(uint64_t seed, bool sizes, double full)
{
    static const char *const specs[] = {"6x8:p100,6x2:p100", "4x4:p100:rack=a,4x4:p100:rack=b",
                                        "8x8:p100", "3x8:p100,3x4:p100,3x2:p100"};
    struct world *w = &world;

    world_open(w, NULL, seed, specs[seed % 4]);
    assert_int_equal(sched_floor_init(&after, &base_alloc_libc, &w->cluster), SHOAL_OK);
    sched_floor_begin(&after, world_snapshot(w));
    while (after.gpus_free > (1 - full) * w->cluster.gpus) {
        uint32_t gpus = sizes ? 1 + (uint32_t)base_rand_below(&w->rand, 4) : 1;
        uint32_t node = (uint32_t)base_rand_below(&w->rand, w->cluster.node_count);
        if (after.free[node] < gpus)
            continue;
        struct world_job *j = world_add(w, gpus, 1, sched_model_duration(1000));
        j->places[0] = (struct sched_place){.node = node, .gpus = gpus};
        j->job.alloc = (struct sched_alloc){.places = j->places, .place_count = 1, .gpus = gpus};
        sched_floor_take(&after, &j->job.alloc);
        movable[j->job.id] = base_rand_below(&w->rand, 5) != 0;
    }
    assert_int_equal(sched_defrag_begin(&defrag, &after, world_snapshot(w), movable), SHOAL_OK);
    return w;
}

static void close_random(struct world *w)
{
    sched_defrag_fini(&defrag);
    sched_floor_fini(&after);
    world_close(w);
}

/* The floor as it should be: everybody where they are, or were moved to, and the gang. */
static void check_floor(struct world *w, uint32_t gpus, bool done)
{
    uint32_t gang = 0, moved = 0;

    assert_int_equal(sched_floor_init(&before, &base_alloc_libc, &w->cluster), SHOAL_OK);
    sched_floor_begin(&before, &w->snap);
    for (size_t i = 0; i < w->job_count; i++) {
        struct sched_alloc at = w->jobs[i]->alloc;
        for (uint32_t m = 0; done && m < defrag.move_count; m++)
            if (defrag.moves[m].job == i) {
                at.places = &defrag.moves[m].to;
                assert_int_equal(at.places->gpus, at.gpus);
                assert_true(at.places->node != w->jobs[i]->alloc.places[0].node);
                assert_false(movable[i]); /* any more */
                moved++;
            }
        sched_floor_take(&before, &at); /* asserts that it fits */
    }
    for (uint32_t p = 0; done && p < defrag.place_count; p++) {
        struct sched_alloc part = {
            .places = &defrag.places[p], .place_count = 1, .gpus = defrag.places[p].gpus};
        sched_floor_take(&before, &part);
        gang += part.gpus;
    }
    for (uint32_t n = 0; n < w->cluster.node_count; n++)
        assert_int_equal(after.free[n], before.free[n]);
    if (done) {
        assert_int_equal(gang, gpus);
        assert_int_equal(moved, defrag.move_count);
        assert_int_equal(defrag.place_count, sched_floor_fewest(&after, 0, gpus));
    }
    sched_floor_fini(&before);
}

static void moves_leave_everybody_with_a_place_and_failures_change_nothing(void **state)
{
    size_t made = 0, failed = 0;

    (void)state;
    for (int seed = 1; seed <= property_count(1000); seed++) {
        struct world *w = open_random((uint64_t)seed, true, seed % 3 == 0 ? 0.85 : 0.6);
        uint32_t gpus = 2 + (uint32_t)base_rand_below(&w->rand, 15);
        bool was[WORLD_JOBS_MAX];
        memcpy(was, movable, sizeof was);
        bool done = sched_defrag_make_room(&defrag, 0, gpus, (struct sched_floor_rules){0});
        check_floor(w, gpus, done);
        for (uint32_t m = 0; done && m < defrag.move_count; m++)
            assert_true(was[defrag.moves[m].job]);
        made += done;
        failed += !done;
        close_random(w);
    }
    assert_true(made > 100 && failed > 100); /* else nothing was tested */
}

static void undone_moves_leave_everybody_where_they_were(void **state)
{
    (void)state;
    for (int seed = 1; seed <= property_count(300); seed++) {
        struct world *w = open_random((uint64_t)seed, true, 0.6);
        if (sched_defrag_make_room(&defrag, 0, 8, (struct sched_floor_rules){0}))
            sched_defrag_undo(&defrag, 0);
        check_floor(w, 8, false);
        close_random(w);
    }
}

/* With jobs of one GPU any hole takes any job: a node can be cleared when as many of its jobs may
 * move as it lacks, and as many GPUs are free elsewhere. */
static void the_fewest_gpus_are_moved(void **state)
{
    (void)state;
    for (int seed = 1; seed <= property_count(1000); seed++) {
        struct world *w = open_random((uint64_t)seed, false, 0.7);
        uint32_t gpus = 2 + (uint32_t)base_rand_below(&w->rand, 7), least = UINT32_MAX;
        uint32_t on[WORLD_NODES_MAX] = {0};
        for (size_t i = 0; i < w->job_count; i++)
            on[w->jobs[i]->alloc.places[0].node] += movable[i];
        for (uint32_t n = 0; n < w->cluster.node_count; n++) {
            uint32_t need = after.free[n] < gpus ? gpus - after.free[n] : 0;
            if (w->cluster.nodes[n].gpus >= gpus && on[n] >= need &&
                after.gpus_free - after.free[n] >= need && need < least)
                least = need;
        }
        if (sched_floor_fewest(&after, 0, gpus) == 1) {
            bool done = sched_defrag_make_room(&defrag, 0, gpus, (struct sched_floor_rules){0});
            if (done != (least != UINT32_MAX))
                fail_msg("seed %d: room for %u is %smade, by moving %u", seed, gpus,
                         done ? "" : "not ", least);
            if (done)
                assert_int_equal(defrag.move_count, least);
        }
        close_random(w);
    }
}

static shoal_status begin_one(const struct base_alloc *alloc, void *ctx)
{
    struct sched_defrag d = {0};
    struct sched_snapshot snap = *(const struct sched_snapshot *)ctx;

    snap.alloc = alloc;
    shoal_status st = sched_defrag_begin(&d, &after, &snap, movable);
    sched_defrag_fini(&d);
    return st;
}

static void failed_allocations_end_in_a_clean_error(void **state)
{
    struct world *w = open_random(1, true, 0.5);

    (void)state;
    torture_run(begin_one, &w->snap);
    close_random(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_leave_everybody_with_a_place_and_failures_change_nothing),
        cmocka_unit_test(undone_moves_leave_everybody_where_they_were),
        cmocka_unit_test(the_fewest_gpus_are_moved),
        cmocka_unit_test(failed_allocations_end_in_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
