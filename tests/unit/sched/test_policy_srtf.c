/* test_policy_srtf.c - shortest remaining time first. */
#include "unit/sched/world.h"

#include "base/assert.h"

static struct world world; /* large */

static double remaining_s(const struct sched_job *j)
{
    return j->model.work - j->progress;
}

/* By counts, shortest first, ties by arrival: who should run on one kind. */
static void claim_shortest_run(const struct world *w)
{
    bool seen[WORLD_JOBS_MAX] = {false};
    uint32_t left = w->cluster.gpus;

    for (size_t n = 0; n < w->job_count; n++) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < w->job_count; i++)
            if (!seen[i] &&
                (best == SIZE_MAX || remaining_s(w->jobs[i]) < remaining_s(w->jobs[best])))
                best = i;
        seen[best] = true;
        bool fits = w->jobs[best]->gpus <= left;
        WORLD_CLAIM(w, sched_plan_has(w->plan, best) == fits, "job %u with %g s left %s",
                    w->jobs[best]->id, remaining_s(w->jobs[best]),
                    fits ? "should run" : "should wait");
        left -= fits ? w->jobs[best]->gpus : 0;
    }
}

static void the_jobs_nearest_their_end_run(void **state)
{
    (void)state;
    for (int seed = 1; seed <= property_count(60); seed++) {
        struct world *w = &world;
        world_open(w, sched_policy_find("srtf", NULL), (uint64_t)seed, "3x4:t4");
        world_begin(w);
        for (int r = 0; r < 60; r++) {
            for (uint64_t n = base_rand_below(&w->rand, 4); n > 0; n--)
                world_add_seconds(w, 1 + (uint32_t)base_rand_below(&w->rand, 8),
                                  base_rand_exp(&w->rand, 400) + 1);
            if (w->job_count > 0 && base_rand_below(&w->rand, 4) == 0) { /* back to a checkpoint */
                struct sched_job *j = w->jobs[base_rand_below(&w->rand, w->job_count)];
                j->progress *= base_rand_unit(&w->rand);
            }
            world_decide(w);
            claim_shortest_run(w);
            world_apply(w);
            world_pass(w, w->round_s);
        }
        world_close(w);
    }
}

/* On one GPU, all there from the start, every order has the same last end; this one has the least
 * sum of completion times, found here by trying all orders. */
static double least_sum(const double *seconds, bool *used, int count, double now)
{
    double best = INFINITY;
    bool any = false;

    for (int i = 0; i < count; i++)
        if (!used[i]) {
            used[i] = any = true;
            double end = now + seconds[i];
            best = fmin(best, end + least_sum(seconds, used, count, end));
            used[i] = false;
        }
    return any ? best : 0;
}

static void the_sum_of_completion_times_is_the_least_possible_on_one_gpu(void **state)
{
    enum { COUNT = 6 };

    (void)state;
    for (int seed = 1; seed <= property_count(40); seed++) {
        struct world *w = &world;
        double seconds[COUNT], sum = 0;
        bool used[COUNT] = {false};
        world_open(w, sched_policy_find("srtf", NULL), (uint64_t)seed, "1x1:t4");
        world_begin(w);
        for (int i = 0; i < COUNT; i++) { /* whole rounds: decisions come when jobs end */
            seconds[i] = w->round_s * (double)(1 + base_rand_below(&w->rand, 9));
            world_add_seconds(w, 1, seconds[i]);
        }
        while (w->job_count > 0)
            world_round(w);
        for (int i = 0; i < COUNT; i++)
            sum += w->all[i]->end_s;
        WORLD_CLAIM(w, fabs(sum - least_sum(seconds, used, COUNT, 0)) < 1e-6, "the sum is %g", sum);
        world_close(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_jobs_nearest_their_end_run),
        cmocka_unit_test(the_sum_of_completion_times_is_the_least_possible_on_one_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
