/* test_policy_allox.c - the matching against brute force: every way to give single-GPU jobs to
 * kinds.
 *
 * For n jobs on M alike machines the least sum of completion times is that of shortest first: sort
 * by time, longest first; job i (from 0) delays 1 + i / M jobs, itself included. */
#include "unit/sched/world.h"

#include "base/assert.h"

enum { JOBS_MAX = 6 };

static struct world world; /* large */

struct instance {
    uint32_t jobs, kinds;
    uint32_t machines[SCHED_KINDS_MAX];
    double seconds[JOBS_MAX][SCHED_KINDS_MAX]; /* INFINITY: may not run there */
};

/* The jobs given to a kind, longest first. Returns how many. */
static uint32_t jobs_of(const struct instance *in, const uint32_t *kind_of, uint32_t kind,
                        uint32_t *jobs)
{
    uint32_t count = 0;

    for (uint32_t j = 0; j < in->jobs; j++) {
        if (kind_of[j] != kind)
            continue;
        uint32_t at = count++;
        for (; at > 0 && in->seconds[jobs[at - 1]][kind] < in->seconds[j][kind]; at--)
            jobs[at] = jobs[at - 1];
        jobs[at] = j;
    }
    return count;
}

static double sum_of_completions(const struct instance *in, const uint32_t *kind_of)
{
    double sum = 0;

    for (uint32_t k = 0; k < in->kinds; k++) {
        uint32_t jobs[JOBS_MAX], count = jobs_of(in, kind_of, k, jobs);
        for (uint32_t i = 0; i < count; i++)
            sum += in->seconds[jobs[i]][k] * (1 + i / in->machines[k]);
    }
    return sum;
}

/* The best assignment; times are random, so it is the only one. */
static double brute_force(const struct instance *in, uint32_t *best_of)
{
    uint32_t kind_of[JOBS_MAX] = {0}, j = 0;
    double best = INFINITY;

    while (j < in->jobs) {
        double sum = sum_of_completions(in, kind_of);
        if (sum < best) {
            best = sum;
            memcpy(best_of, kind_of, sizeof kind_of);
        }
        for (j = 0; j < in->jobs && ++kind_of[j] == in->kinds; j++)
            kind_of[j] = 0;
    }
    return best;
}

/* On idle machines, those start that come first on theirs: with p full rows of positions and c jobs
 * in row p + 1, the c shortest, and as many of the row before as there are machines left. */
static void claim_first_ones_start(const struct world *w, const struct instance *in,
                                   const uint32_t *kind_of)
{
    for (uint32_t k = 0; k < in->kinds; k++) {
        uint32_t jobs[JOBS_MAX], count = jobs_of(in, kind_of, k, jobs), m = in->machines[k];
        uint32_t started = 0, over = count % m;
        for (uint32_t i = 0; i < count; i++) {
            bool has = sched_plan_has(w->plan, jobs[i]);
            started += has;
            WORLD_CLAIM(w, !has || sched_plan_grant(w->plan, jobs[i])->alloc.kind == k,
                        "job %u starts on another kind than its best", jobs[i]);
            WORLD_CLAIM(w, i + over < count || has, "job %u is first on its machine and waits",
                        jobs[i]);
            WORLD_CLAIM(w, i + over + m >= count || !has, "job %u starts before its turn", jobs[i]);
        }
        WORLD_CLAIM(w, started == (count < m ? count : m), "kind %u: %u of %u machines start", k,
                    started, m);
    }
}

static void started_jobs_are_part_of_the_best_assignment(void **state)
{
    static const char *const specs[] = {"1x1:k80,1x1:v100", "1x2:k80,1x1:v100", "3x1:k80,1x2:v100",
                                        "1x1:k80,1x1:p100,1x2:v100"};

    (void)state;
    for (int seed = 1; seed <= property_count(400); seed++) {
        struct world *w = &world;
        struct instance in = {.jobs = 0};
        struct sched_table table;
        uint32_t gangs[JOBS_MAX], best_of[JOBS_MAX];
        world_open(w, sched_policy_find("allox", NULL), (uint64_t)seed, specs[seed % 4]);
        world_begin(w);
        in.jobs = 1 + (uint32_t)base_rand_below(&w->rand, JOBS_MAX);
        in.kinds = w->cluster.kind_count;
        for (uint32_t j = 0; j < in.jobs; j++)
            gangs[j] = 1;
        assert_int_equal(sched_table_init(&table, &base_alloc_libc, &w->cluster, gangs, in.jobs),
                         SHOAL_OK);
        for (uint32_t j = 0; j < in.jobs; j++) {
            double work = base_rand_range(&w->rand, 10, 1000);
            uint32_t mask = 1 + (uint32_t)base_rand_below(&w->rand, (1u << in.kinds) - 1);
            for (uint32_t k = 0; k < in.kinds; k++) {
                double rate = base_rand_range(&w->rand, 0.5, 5);
                in.machines[k] = w->cluster.kinds[k].gpus;
                in.seconds[j][k] = (mask >> k & 1) != 0 ? work / rate : 1e15;
                assert_int_equal(sched_table_set(&table, &table.packed[k], j, rate), SHOAL_OK);
            }
            world_add(w, 1, mask, sched_model_table(&table, j, work));
        }
        assert_true(brute_force(&in, best_of) < 1e15);
        world_decide(w);
        claim_first_ones_start(w, &in, best_of);
        world_close(w);
        sched_table_fini(&table);
    }
}

static void jobs_stay_until_they_end_and_the_window_bounds_who_is_matched(void **state)
{
    struct world *w = &world;

    (void)state;
    world_open(w, sched_policy_find("allox", NULL), 1, "1x2:t4");
    world_set(w, "window=2");
    world_begin(w);
    for (int i = 0; i < 6; i++)
        world_add_seconds(w, 1, 600 - 60 * i); /* the shortest come last, outside the window */
    world_round(w);
    assert_int_equal(w->all[0]->job.starts + w->all[1]->job.starts, 2);
    world_add_seconds(w, 1, 1);
    while (w->job_count > 0)
        world_round(w);
    for (int i = 0; i < 7; i++)
        assert_int_equal(w->all[i]->job.starts, 1);
    world_close(w);
}

static void a_wide_gang_is_charged_for_the_gpus_it_takes_from_others(void **state)
{
    struct world *w = &world;

    (void)state;
    world_open(w, sched_policy_find("allox", NULL), 1, "1x4:t4");
    world_begin(w);
    struct world_job *wide = world_add_seconds(w, 4, 100);
    for (int i = 0; i < 4; i++)
        world_add_seconds(w, 1, 120); /* longer, but less GPU-time each */
    world_round(w);
    assert_int_equal(wide->job.starts, 0);
    assert_int_equal(world_running(w), 4);
    world_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(started_jobs_are_part_of_the_best_assignment),
        cmocka_unit_test(jobs_stay_until_they_end_and_the_window_bounds_who_is_matched),
        cmocka_unit_test(a_wide_gang_is_charged_for_the_gpus_it_takes_from_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
