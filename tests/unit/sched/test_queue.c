/* test_queue.c - sorting ranks, and turning an order of preference into a plan. */
#include "unit/sched/world.h"

#include "base/assert.h"
#include "sched/queue.h"

static struct world world; /* large */

/* ---- sorting ---- */

static int compare(const void *a, const void *b)
{
    const struct sched_rank *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->job > y->job) - (x->job < y->job);
}

enum shape { RANDOM, FEW_KEYS, SORTED, REVERSED, SAWTOOTH, ONE_OUT_OF_PLACE, INFINITE, SHAPES };

static double key_of(enum shape shape, size_t i, size_t count, struct base_rand *rand)
{
    switch (shape) {
    case FEW_KEYS: return (double)base_rand_below(rand, 3);
    case SORTED: return (double)i;
    case REVERSED: return (double)(count - i);
    case SAWTOOTH: return (double)(i % 17);
    case ONE_OUT_OF_PLACE: return i + 1 == count ? -1 : (double)i;
    case INFINITE: return base_rand_below(rand, 2) != 0 ? INFINITY : -INFINITY;
    case RANDOM:
    case SHAPES: break;
    }
    return base_rand_normal(rand, 0, 1e6);
}

static void sorting_agrees_with_qsort_on_any_input(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "ranks");
    for (int n = 0; n < property_count(400); n++) {
        size_t count = n < 70 ? (size_t)n : base_rand_below(&rand, 1500);
        struct sched_rank *ranks = calloc(3 * count + 1, sizeof *ranks);
        struct sched_rank *scratch = ranks + count, *expected = scratch + count;
        for (size_t i = 0; i < count; i++)
            ranks[i] = (struct sched_rank){key_of((enum shape)(n % SHAPES), i, count, &rand),
                                           (uint32_t)base_rand_below(&rand, 2 * count)};
        memcpy(expected, ranks, count * sizeof *ranks);
        qsort(expected, count, sizeof *ranks, compare);
        sched_rank_sort(ranks, scratch, count);
        for (size_t i = 0; i < count; i++) {
            assert_true(ranks[i].key == expected[i].key);
            assert_int_equal(ranks[i].job, expected[i].job);
        }
        free(ranks);
    }
}

/* ---- deciding ---- */

/* Decides with the jobs in the order of their ids, or the reverse, or shuffled. */
static struct sched_plan *decide(struct world *w, struct sched_queue_opts opts,
                                 const uint32_t *order)
{
    struct sched_plan *plan = world_plan(w);
    struct sched_rank *ranks = sched_rank_alloc(plan, &w->snap);

    for (uint32_t i = 0; i < w->job_count; i++)
        ranks[i] = (struct sched_rank){.key = i, .job = order != NULL ? order[i] : i};
    opts.waiting = SCHED_WHY_FAIR_SHARE;
    assert_int_equal(sched_queue_decide(plan, &w->snap, ranks, &opts), SHOAL_OK);
    return plan;
}

static void shuffle(struct world *w, uint32_t *order)
{
    for (uint32_t i = 0; i < w->job_count; i++)
        order[i] = i;
    for (uint32_t i = (uint32_t)w->job_count; i > 1; i--) {
        uint32_t other = (uint32_t)base_rand_below(&w->rand, i), x = order[i - 1];
        order[i - 1] = order[other];
        order[other] = x;
    }
}

static void random_world(struct world *w, uint64_t seed, bool running)
{
    world_open(w, NULL, seed, seed % 2 != 0 ? "4x4:t4" : "2x4:t4,2x8:a100,1x2:k80");
    world_begin(w);
    for (uint64_t n = 5 + base_rand_below(&w->rand, 20); n > 0; n--) {
        uint32_t kinds, gpus = world_random_gang(w, &kinds);
        world_add(w, gpus, kinds, sched_model_duration(600));
    }
    world_plan(w);
    for (size_t i = 0; running && i < w->job_count; i++)
        if (base_rand_below(&w->rand, 2) != 0)
            sched_plan_place(w->plan, i, SCHED_KIND_BEST, SCHED_FIT_MOST_FREE);
    world_apply(w);
}

static void nobody_is_overtaken_unless_the_queue_skips(void **state)
{
    uint32_t order[WORLD_JOBS_MAX];

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(200); seed++) {
        struct world *w = &world;
        bool waiting = false;
        random_world(w, seed, false);
        shuffle(w, order);
        decide(w, (struct sched_queue_opts){.skip = false}, order);
        for (uint32_t r = 0; r < w->job_count; r++) {
            bool has = sched_plan_has(w->plan, order[r]);
            WORLD_CLAIM(w, !(has && waiting), "job %u overtakes", order[r]);
            waiting = waiting || !has;
        }
        world_close(w);
    }
}

static uint32_t live_gpus(const struct world *w, uint32_t kind)
{
    return w->cluster.kinds[kind].gpus;
}

/* By counts, in order: a job gets GPUs exactly if those before it leave enough. */
static void a_queue_that_skips_and_preempts_admits_whoever_fits_in_order(void **state)
{
    uint32_t order[WORLD_JOBS_MAX];

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(200); seed += 2) { /* one kind */
        struct world *w = &world;
        random_world(w, seed, true);
        shuffle(w, order);
        decide(w, (struct sched_queue_opts){.skip = true, .preempt = true}, order);
        uint32_t left = live_gpus(w, 0);
        for (uint32_t r = 0; r < w->job_count; r++) {
            const struct sched_job *j = w->jobs[order[r]];
            bool fits = j->gpus <= left;
            WORLD_CLAIM(w, sched_plan_has(w->plan, order[r]) == fits, "job %u %s", j->id,
                        fits ? "was left out" : "was let in");
            left -= fits ? j->gpus : 0;
        }
        world_close(w);
    }
}

static void jobs_that_stay_admitted_stay_where_they_are(void **state)
{
    uint32_t order[WORLD_JOBS_MAX];

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(200); seed++) {
        struct world *w = &world;
        random_world(w, seed, true);
        for (int round = 0; round < 4; round++) {
            shuffle(w, order);
            decide(w, (struct sched_queue_opts){.skip = true, .preempt = true}, order);
            for (size_t i = 0; i < w->job_count; i++) {
                const struct sched_grant *g = sched_plan_grant(w->plan, i);
                if (g != NULL && w->jobs[i]->alloc.place_count > 0 &&
                    g->alloc.kind == w->jobs[i]->alloc.kind)
                    WORLD_CLAIM(w, g->kept, "job %zu was moved for nothing", i);
            }
            world_apply(w);
        }
        world_close(w);
    }
}

static void running_jobs_come_first_where_nobody_is_preempted(void **state)
{
    uint32_t order[WORLD_JOBS_MAX];

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(100); seed++) {
        struct world *w = &world;
        random_world(w, seed, true);
        shuffle(w, order);
        decide(w, (struct sched_queue_opts){.skip = seed % 3 == 0}, order);
        for (size_t i = 0; i < w->job_count; i++)
            if (w->jobs[i]->alloc.place_count > 0)
                WORLD_CLAIM(w, sched_plan_has(w->plan, i) && sched_plan_grant(w->plan, i)->kept,
                            "job %zu lost its GPUs", i);
        world_close(w);
    }
}

static void the_last_in_order_is_preempted_first(void **state)
{
    struct world *w = &world;
    static const uint32_t reversed[] = {4, 3, 2, 1, 0};

    (void)state;
    world_open(w, NULL, 1, "1x4:t4");
    world_begin(w);
    for (int i = 0; i < 4; i++)
        world_add_seconds(w, 1, 600);
    decide(w, (struct sched_queue_opts){.skip = true, .preempt = true}, NULL);
    world_apply(w);
    world_add_seconds(w, 2, 600);
    decide(w, (struct sched_queue_opts){.skip = true, .preempt = true}, reversed);
    assert_true(sched_plan_has(w->plan, 4));
    assert_true(sched_plan_has(w->plan, 3) && sched_plan_has(w->plan, 2));
    assert_false(sched_plan_has(w->plan, 1) || sched_plan_has(w->plan, 0));
    assert_int_equal(sched_plan_reason(w->plan, 0), SCHED_WHY_FAIR_SHARE);
    world_close(w);
}

/* What running jobs leave when they move to a faster kind is given away in the same round. */
static void gpus_left_by_an_upgrade_are_offered_again(void **state)
{
    struct world *w = &world;
    struct sched_table table;
    uint32_t gangs[] = {4};

    (void)state;
    world_open(w, NULL, 1, "1x4:k80,1x4:v100");
    world_begin(w);
    assert_int_equal(sched_table_init(&table, &base_alloc_libc, &w->cluster, gangs, 1), SHOAL_OK);
    assert_int_equal(sched_table_set(&table, &table.packed[0], 0, 1), SHOAL_OK);
    assert_int_equal(sched_table_set(&table, &table.packed[1], 0, 4), SHOAL_OK);
    world_add(w, 4, 3, sched_model_table(&table, 0, 1e4));
    assert_true(sched_plan_place(world_plan(w), 0, 0, SCHED_FIT_PACK));
    world_apply(w);
    world_add(w, 4, 1, sched_model_table(&table, 0, 1e4)); /* the slow kind only */
    for (int hold = 1; hold >= 0; hold--) {
        decide(w, (struct sched_queue_opts){.skip = true, .preempt = true, .hold = hold != 0},
               NULL);
        assert_int_equal(sched_plan_grant(w->plan, 0)->alloc.kind, hold != 0 ? 0 : 1);
        assert_int_equal(sched_plan_has(w->plan, 1), hold == 0);
    }
    world_close(w);
    sched_table_fini(&table);
}

/* Two kinds of one GPU; a job on each kind's row runs at the given speeds. */
static void two_kinds(struct world *w, struct sched_table *t, double first, double second)
{
    uint32_t gangs[] = {1};

    world_open(w, NULL, 1, "1x1:a,1x1:b");
    world_begin(w);
    assert_int_equal(sched_table_init(t, &base_alloc_libc, &w->cluster, gangs, 1), SHOAL_OK);
    assert_int_equal(sched_table_set(t, &t->packed[0], 0, first), SHOAL_OK);
    assert_int_equal(sched_table_set(t, &t->packed[1], 0, second), SHOAL_OK);
}

static void nobody_gives_way_where_a_kind_about_as_fast_is_idle(void **state)
{
    static const uint32_t newest_first[] = {1, 0};
    static const struct {
        double speed; /* of the second kind; the first has 1 */
        uint32_t newcomer;
    } cases[] = {{1, 1}, {0.97, 1}, {0.9, 0}};

    (void)state;
    for (size_t c = 0; c < BASE_COUNT(cases); c++) {
        struct world *w = &world;
        struct sched_table table;
        two_kinds(w, &table, 1, cases[c].speed);
        world_add(w, 1, 3, sched_model_table(&table, 0, 1e4));
        decide(w, (struct sched_queue_opts){.preempt = true, .skip = true}, NULL);
        assert_int_equal(sched_plan_grant(w->plan, 0)->alloc.kind, 0);
        world_apply(w);
        world_add(w, 1, 3, sched_model_table(&table, 0, 1e4));
        decide(w, (struct sched_queue_opts){.preempt = true, .skip = true}, newest_first);
        assert_int_equal(sched_plan_grant(w->plan, 1)->alloc.kind, cases[c].newcomer);
        assert_int_equal(sched_plan_grant(w->plan, 0)->kept, cases[c].newcomer == 1);
        world_close(w);
        sched_table_fini(&table);
    }
}

static void a_job_that_may_choose_anew_stays_unless_another_kind_is_clearly_faster(void **state)
{
    static const bool rechoose[] = {true};
    static const struct {
        double speed; /* of the first kind; it runs on the second, at 1 */
        bool stays;
    } cases[] = {{1, true}, {1.03, true}, {1.2, false}, {0.5, true}};

    (void)state;
    for (size_t c = 0; c < BASE_COUNT(cases); c++) {
        struct world *w = &world;
        struct sched_table table;
        two_kinds(w, &table, cases[c].speed, 1);
        world_add(w, 1, 3, sched_model_table(&table, 0, 1e4));
        assert_true(sched_plan_place(world_plan(w), 0, 1, SCHED_FIT_PACK));
        world_apply(w);
        w->jobs[0]->lease_until_s = w->now_s;
        w->restart_s = 1e6; /* so that upgrading does not interfere */
        decide(w, (struct sched_queue_opts){.preempt = true, .skip = true, .rechoose = rechoose},
               NULL);
        assert_int_equal(sched_plan_grant(w->plan, 0)->kept, cases[c].stays);
        world_close(w);
        sched_table_fini(&table);
    }
}

static void a_job_turned_down_names_a_kind_only_when_it_may_use_no_other(void **state)
{
    struct world *w = &world;

    (void)state;
    world_open(w, NULL, 1, "1x8:a,1x8:b,1x8:c");
    world_begin(w);
    world_add(w, 7, 1, sched_model_duration(60));
    world_add(w, 3, 2, sched_model_duration(60));
    world_add(w, 8, 4, sched_model_duration(60));
    world_add(w, 6, 7, sched_model_duration(60));
    decide(w, (struct sched_queue_opts){.skip = true}, NULL);
    struct sched_why why = sched_plan_why(w->plan, 3, true);
    assert_int_equal(why.reason, SCHED_WHY_GANG);
    assert_int_equal(why.kind, UINT16_MAX);
    assert_int_equal(why.free, 5); /* of the kind that came closest */
    assert_int_equal(why.blocker_count, 3);
    assert_int_equal(why.blockers[0].job, 2); /* the largest holder */
    world_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorting_agrees_with_qsort_on_any_input),
        cmocka_unit_test(nobody_is_overtaken_unless_the_queue_skips),
        cmocka_unit_test(a_queue_that_skips_and_preempts_admits_whoever_fits_in_order),
        cmocka_unit_test(jobs_that_stay_admitted_stay_where_they_are),
        cmocka_unit_test(running_jobs_come_first_where_nobody_is_preempted),
        cmocka_unit_test(the_last_in_order_is_preempted_first),
        cmocka_unit_test(gpus_left_by_an_upgrade_are_offered_again),
        cmocka_unit_test(a_job_turned_down_names_a_kind_only_when_it_may_use_no_other),
        cmocka_unit_test(nobody_gives_way_where_a_kind_about_as_fast_is_idle),
        cmocka_unit_test(a_job_that_may_choose_anew_stays_unless_another_kind_is_clearly_faster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
