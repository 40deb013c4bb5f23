/* test_policy_las.c - least attained service first. */
#include "unit/sched/world.h"

#include "base/assert.h"

static struct world world; /* large */

static struct world *open_las(uint64_t seed, const char *spec, const char *quantum)
{
    world_open(&world, sched_policy_find("las", NULL), seed, spec);
    world_set(&world, quantum);
    world_begin(&world);
    return &world;
}

/* Levels end at 1, 3, 7, ... quanta. */
static double level_of(const struct sched_job *j, double quantum_s)
{
    double service = j->attained_gpu_s / j->weight, end = quantum_s, level = 0;

    if (quantum_s == 0)
        return service;
    for (double width = quantum_s; service >= end; level++) {
        width *= 2;
        end += width;
    }
    return level;
}

/* Jobs of one GPU each: nobody waits while one of a higher level, or a younger one of the same
 * level, runs. */
static void claim_least_served_run(const struct world *w, double quantum_s)
{
    for (size_t a = 0; a < w->job_count; a++)
        for (size_t b = 0; !sched_plan_has(w->plan, a) && b < w->job_count; b++) {
            double la = level_of(w->jobs[a], quantum_s), lb = level_of(w->jobs[b], quantum_s);
            WORLD_CLAIM(w, !sched_plan_has(w->plan, b) || lb < la || (lb == la && b < a),
                        "job %u (level %g) waits while job %u (level %g) runs", w->jobs[a]->id, la,
                        w->jobs[b]->id, lb);
        }
}

static void whoever_had_least_service_by_weight_runs(void **state)
{
    static const struct {
        const char *knob;
        double seconds;
    } quanta[] = {{"quantum=0s", 0}, {"quantum=5m", 300}, {"quantum=1h", 3600}};

    (void)state;
    for (int seed = 1; seed <= property_count(60); seed++) {
        double quantum_s = quanta[seed % 3].seconds;
        struct world *w = open_las((uint64_t)seed, "2x4:t4", quanta[seed % 3].knob);
        for (int r = 0; r < 80; r++) {
            for (uint64_t n = base_rand_below(&w->rand, 3); n > 0; n--)
                world_add_seconds(w, 1, base_rand_exp(&w->rand, 3000) + 1)->job.weight =
                    base_rand_below(&w->rand, 2) != 0 ? 1 : 4;
            world_decide(w);
            claim_least_served_run(w, quantum_s);
            world_apply(w);
            world_pass(w, w->round_s);
        }
        world_close(w);
    }
}

static void a_newcomer_takes_over_when_the_first_level_is_used_up(void **state)
{
    struct world *w = open_las(1, "1x1:t4", "quantum=5m");

    (void)state;
    struct world_job *old = world_add_seconds(w, 1, 1e5), *new;
    for (int r = 0; r < 4; r++)
        world_round(w);
    new = world_add_seconds(w, 1, 1e5);
    world_round(w); /* 240 s: the older one of the level goes on */
    assert_int_equal(old->job.starts, 1);
    assert_int_equal(new->job.starts, 0);
    world_round(w); /* 300 s */
    assert_int_equal(new->job.starts, 1);
    assert_int_equal(old->job.alloc.place_count, 0);
    world_close(w);
}

/* Levels grow, so two long jobs change hands less and less often, and stay within a factor. */
static void two_long_jobs_change_hands_a_logarithmic_number_of_times(void **state)
{
    struct world *w = open_las(1, "1x1:t4", "quantum=1m");

    (void)state;
    struct world_job *a = world_add_seconds(w, 1, 1e9), *b = world_add_seconds(w, 1, 1e9);
    for (int r = 0; r < 4000; r++) {
        world_round(w);
        double least = fmin(a->job.attained_gpu_s, b->job.attained_gpu_s);
        double most = fmax(a->job.attained_gpu_s, b->job.attained_gpu_s);
        assert_true(most <= 2 * least + 3 * 60);
    }
    assert_in_range(a->job.starts + b->job.starts, 12, 30); /* about 2 log2(2000) */
    world_close(w);
}

static void a_heavier_job_gets_service_in_proportion(void **state)
{
    struct world *w = open_las(1, "1x1:t4", "quantum=0s");

    (void)state;
    struct world_job *light = world_add_seconds(w, 1, 1e9), *heavy = world_add_seconds(w, 1, 1e9);
    heavy->job.weight = 3;
    for (int r = 0; r < 400; r++)
        world_round(w);
    assert_true(fabs(heavy->job.attained_gpu_s - 3 * light->job.attained_gpu_s) <= 4 * w->round_s);
    world_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_had_least_service_by_weight_runs),
        cmocka_unit_test(a_newcomer_takes_over_when_the_first_level_is_used_up),
        cmocka_unit_test(two_long_jobs_change_hands_a_logarithmic_number_of_times),
        cmocka_unit_test(a_heavier_job_gets_service_in_proportion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
