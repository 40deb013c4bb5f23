/* Tests of src/sched/model.c. */
#include "torture.h"

#include "sched/model.h"
#include <math.h>
#include <string.h>

static struct sched_cluster cluster_of(const char *spec)
{
    struct sched_cluster cluster;
    shoal_err err = SHOAL_ERR_INIT;

    if (sched_cluster_parse(&base_alloc_libc, spec, &cluster, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    return cluster;
}

static void same(double a, double b)
{
    if (!(fabs(a - b) <= 1e-12 * fabs(b) || a == b))
        fail_msg("%.17g is not %.17g", a, b);
}

/* --- a model made for the tests: speed depends on kind and places, progress slows half way ------
 */

struct seen {
    uint32_t places, gpus, largest;
};

static double probe_time(const struct sched_model *m, const struct sched_alloc *a,
                         struct sched_batch batch, const struct sched_model *partner)
{
    struct seen *seen = (struct seen *)(uintptr_t)m->data;

    (void)partner;
    assert_int_equal(batch.local, 1);
    if (seen != NULL) {
        *seen = (struct seen){.places = a->place_count};
        for (uint32_t i = 0; i < a->place_count; i++) {
            seen->gpus += a->places[i].gpus;
            if (a->places[i].gpus > seen->largest)
                seen->largest = a->places[i].gpus;
            assert_true(a->places[i].gpus > 0);
        }
    }
    return a->kind == 1 ? (double)INFINITY : 2.0 * a->place_count;
}

static double probe_progress(const struct sched_model *m, const struct sched_alloc *a,
                             struct sched_batch batch, double progress, double *out_until)
{
    (void)a, (void)batch;
    *out_until = progress < m->work / 2 ? m->work / 2 : m->work;
    return progress < m->work / 2 ? 1 : 0.25;
}

static const struct sched_model_ops probe_ops = {
    .name = "probe", .time_per_step = probe_time, .progress_per_step = probe_progress};

static void a_duration_takes_its_seconds_on_every_kind(void **state)
{
    struct sched_cluster c = cluster_of("2x4:t4,1x8:a100");
    struct sched_model m = sched_model_duration(90);

    (void)state;
    for (uint32_t kind = 0; kind < 2; kind++) {
        same(sched_model_ideal_s(&m, &c, kind, 4, 0), 90);
        same(sched_model_ideal_s(&m, &c, kind, 4, 60), 30);
        same(sched_model_ideal_s(&m, &c, kind, 8, 90), 0);
    }
    struct sched_place place = {0, 4};
    struct sched_alloc a = {&place, 1, 4, 0};
    double until = 0;
    same(sched_model_rate(&m, &a, NULL, 10, &until), 1);
    same(until, 90);
    same(sched_model_rate(&m, &a, &m, 10, &until), 0); /* nothing is known of sharing */
    a.place_count = 0;
    same(sched_model_rate(&m, &a, NULL, 10, &until), 0);
    sched_cluster_fini(&c);
}

static void more_gpus_than_the_kind_has_take_forever(void **state)
{
    struct sched_cluster c = cluster_of("2x4:t4,1x8:a100");
    struct sched_model m = sched_model_duration(90);

    (void)state;
    assert_true(isinf(sched_model_ideal_s(&m, &c, 0, 9, 0)));
    assert_true(isinf(sched_model_ideal_s(&m, &c, 0, 0, 0)));
    assert_true(isinf(sched_model_ideal_s(&m, &c, 2, 1, 0)));
    sched_cluster_fini(&c);
}

static void ideal_time_adds_up_the_stretches_of_constant_rate(void **state)
{
    struct sched_cluster c = cluster_of("4x4:t4");
    struct sched_model m = {.ops = &probe_ops, .work = 100};

    (void)state;
    /* one node: 2 s a step; 50 steps at 1, then 200 steps for the other 50 */
    same(sched_model_ideal_s(&m, &c, 0, 4, 0), 100 + 400);
    same(sched_model_ideal_s(&m, &c, 0, 4, 25), 50 + 400);
    same(sched_model_ideal_s(&m, &c, 0, 4, 75), 200);
    same(sched_model_ideal_s(&m, &c, 0, 8, 0), 2 * 500); /* two nodes */
    sched_cluster_fini(&c);
}

static void the_ideal_gang_lies_on_the_fewest_nodes(void **state)
{
    static const struct {
        const char *spec;
        uint32_t gpus, places, largest;
    } cases[] = {
        {"4x4:t4", 1, 1, 1},         {"4x4:t4", 4, 1, 4},
        {"4x4:t4", 5, 2, 4},         {"4x4:t4", 16, 4, 4},
        {"3x2:t4,1x8:t4", 8, 1, 8},  {"3x2:t4,1x8:t4", 9, 2, 8},
        {"3x2:t4,1x8:t4", 14, 4, 8}, {"2000x1:t4", 1500, 1024, 477},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sched_cluster c = cluster_of(cases[i].spec);
        struct seen seen = {0};
        struct sched_model m = {.ops = &probe_ops, .data = &seen, .work = 1};
        assert_true(isfinite(sched_model_ideal_s(&m, &c, 0, cases[i].gpus, 0)));
        assert_int_equal(seen.places, cases[i].places);
        assert_int_equal(seen.gpus, cases[i].gpus);
        assert_int_equal(seen.largest, cases[i].largest);
        sched_cluster_fini(&c);
    }
}

static void ideal_steps_are_timed_on_the_places_of_ideal_time(void **state)
{
    struct sched_cluster c = cluster_of("4x4:t4,1x8:a100");
    struct sched_model m = {.ops = &probe_ops, .work = 100}, d = sched_model_duration(9);

    (void)state;
    same(sched_model_ideal_step_s(&m, &c, 0, 4, NULL), 2);
    same(sched_model_ideal_step_s(&m, &c, 0, 9, NULL), 6); /* three nodes */
    assert_true(isinf(sched_model_ideal_step_s(&m, &c, 1, 4, NULL)));
    assert_true(isinf(sched_model_ideal_step_s(&m, &c, 0, 17, NULL)));
    assert_true(isinf(sched_model_ideal_step_s(&m, &c, 0, 0, NULL)));
    assert_true(isinf(sched_model_ideal_step_s(&m, &c, 2, 1, NULL)));
    same(sched_model_ideal_step_s(&d, &c, 0, 4, NULL), 1);
    assert_true(isinf(sched_model_ideal_step_s(&d, &c, 0, 4, &m))); /* shares with nobody */
    sched_cluster_fini(&c);
}

static void the_best_kind_ends_first_and_ties_go_to_the_first_kind(void **state)
{
    struct sched_cluster c = cluster_of("4x1:t4,1x8:a100,1x4:v100,1x4:h100");
    struct sched_model m = {.ops = &probe_ops, .work = 100};

    (void)state;
    assert_int_equal(sched_model_best_kind(&m, &c, 0xf, 4), 2); /* t4 needs 4 nodes, a100 cannot */
    assert_int_equal(sched_model_best_kind(&m, &c, 0x9, 4), 3);
    assert_int_equal(sched_model_best_kind(&m, &c, 0x2, 4), -1);
    assert_int_equal(sched_model_best_kind(&m, &c, 0, 4), -1);
    assert_int_equal(sched_model_best_kind(&m, &c, 0xf, 1), 0);
    sched_cluster_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_duration_takes_its_seconds_on_every_kind),
        cmocka_unit_test(more_gpus_than_the_kind_has_take_forever),
        cmocka_unit_test(ideal_time_adds_up_the_stretches_of_constant_rate),
        cmocka_unit_test(the_ideal_gang_lies_on_the_fewest_nodes),
        cmocka_unit_test(ideal_steps_are_timed_on_the_places_of_ideal_time),
        cmocka_unit_test(the_best_kind_ends_first_and_ties_go_to_the_first_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
