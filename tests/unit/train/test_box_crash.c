/* Tests of src/train/box.c, fold*.c and task.c together: random jobs under random deaths. */
#include "property.h"

#include "box_world.h"

struct both {
    shoal_env *env;
    struct env_shared segment;
};

static int open_segment(void **state)
{
    static struct both both;

    *state = &both;
    if (shoal_env_sim_new(1, &both.env, NULL) != SHOAL_OK ||
        env_shared_new(both.env, WORLD_SEGMENT, &both.segment, NULL) != SHOAL_OK)
        return -1;
    return 0;
}

static int clean_segment(void **state)
{
    struct both *both = *state;

    env_shared_drop(both->env, &both->segment, 0, WORLD_SEGMENT);
    return 0;
}

static int close_segment(void **state)
{
    struct both *both = *state;

    env_shared_close(both->env, &both->segment);
    shoal_env_free(both->env);
    return 0;
}

static const double CRASH[] = {0, 0.001, 0.01, 0.05};

static void every_increment_counts_once_whatever_dies(void **state)
{
    const struct both *both = *state;
    static struct world w;
    uint64_t crashes = 0, redone = 0, reads = 0;

    for (int seed = 1; seed <= property_count(1500); seed++) {
        struct world_opts opts = {.seed = (uint64_t)seed,
                                  .staleness = 1 + (uint32_t)seed % 4,
                                  .workers = 1 + (uint32_t)seed % 7,
                                  .crash = CRASH[seed % 4],
                                  .nest = seed % 3 == 0 ? 0 : 0.1};
        world_begin(&w, both->env, &both->segment, &opts);
        world_run(&w);
        if (w.wrong == NULL)
            world_compare(&w);
        if (w.wrong != NULL)
            fail_msg("seed %d: %s", seed, w.wrong);
        crashes += w.crashes;
        redone += w.redone;
        reads += w.witness.reads;
        world_end(&w);
    }
    print_message("%llu deaths, %llu tasks run again, %llu entries read\n",
                  (unsigned long long)crashes, (unsigned long long)redone,
                  (unsigned long long)reads);
    assert_true(crashes > 1000 && redone > 100);
}

static void bulk_synchronous_results_are_equal_bit_for_bit_for_any_workers(void **state)
{
    static const uint32_t workers[] = {1, 1, 2, 4, 7};
    const struct both *both = *state;
    static struct world w;
    uint64_t crashes = 0;

    for (int seed = 1; seed <= property_count(300); seed++) {
        uint64_t first = 0;
        for (size_t i = 0; i < sizeof workers / sizeof workers[0]; i++) {
            struct world_opts opts = {.seed = (uint64_t)seed,
                                      .workers = workers[i],
                                      .crash = i == 0 ? 0 : CRASH[((size_t)seed + i) % 4],
                                      .nest = i == 0 ? 0 : 0.1,
                                      .reals = true};
            world_begin(&w, both->env, &both->segment, &opts);
            world_run(&w);
            if (w.wrong != NULL)
                fail_msg("seed %d, %u workers: %s", seed, workers[i], w.wrong);
            uint64_t hash = world_hash(&w);
            if (i == 0)
                first = hash;
            if (hash != first)
                fail_msg("seed %d: %u workers leave other bits", seed, workers[i]);
            crashes += w.crashes;
            world_end(&w);
        }
    }
    assert_true(crashes > 300);
}

static void bulk_synchronous_sums_are_those_of_the_reference(void **state)
{
    const struct both *both = *state;
    static struct world w;

    for (int seed = 1; seed <= property_count(300); seed++) {
        struct world_opts opts = {.seed = (uint64_t)seed,
                                  .workers = 1 + (uint32_t)seed % 5,
                                  .crash = CRASH[seed % 4],
                                  .nest = 0.1};
        world_begin(&w, both->env, &both->segment, &opts);
        world_run(&w);
        if (w.wrong == NULL)
            world_compare(&w);
        if (w.wrong != NULL)
            fail_msg("seed %d: %s", seed, w.wrong);
        world_end(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_increment_counts_once_whatever_dies, clean_segment),
        cmocka_unit_test_setup(bulk_synchronous_results_are_equal_bit_for_bit_for_any_workers,
                               clean_segment),
        cmocka_unit_test_setup(bulk_synchronous_sums_are_those_of_the_reference, clean_segment),
    };
    return cmocka_run_group_tests(tests, open_segment, close_segment);
}
