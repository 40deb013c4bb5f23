/* test_policy_fifo.c - first come first served: who may overtake whom, and what that may cost. */
#include "unit/sched/world.h"

#include "base/assert.h"

enum { JOBS = 60 };

struct instance {
    double submit_s[JOBS], seconds[JOBS];
    uint32_t gpus[JOBS];
};

static struct world world; /* large */

static void random_instance(struct instance *in, uint64_t seed, uint32_t gpus_max)
{
    struct base_rand rand;
    double now = 0;

    base_rand_init(&rand, seed, "instance");
    for (int i = 0; i < JOBS; i++) {
        now += base_rand_exp(&rand, 100);
        in->submit_s[i] = now;
        in->seconds[i] = base_rand_exp(&rand, 500) + 1;
        in->gpus[i] =
            1 + (uint32_t)base_rand_below(&rand, base_rand_below(&rand, 3) ? 4 : gpus_max);
    }
}

/* What the oldest waiting job is promised: the round at which enough GPUs of a kind are free, when
 * those that run now, but for younger ones that started this round, end when they say. */
static double promise_on(const struct world *w, size_t head, uint32_t kind)
{
    for (double t = w->now_s;; t += w->round_s) {
        uint32_t free = w->cluster.kinds[kind].gpus;
        for (size_t i = 0; i < w->job_count; i++) {
            const struct sched_job *j = w->jobs[i];
            bool younger = i > head && world_job_of(w->jobs[i])->start_s == w->now_s;
            double end_s = w->now_s + j->model.work - j->progress;
            if (j->alloc.place_count > 0 && j->alloc.kind == kind && !younger && end_s > t + 1e-6)
                free -= j->gpus;
        }
        if (free >= w->jobs[head]->gpus)
            return t;
    }
}

static double promise_s(const struct world *w, size_t head)
{
    double first = INFINITY;

    for (uint32_t k = 0; k < w->cluster.kind_count; k++)
        if ((w->jobs[head]->kinds >> k & 1) != 0)
            first = fmin(first, promise_on(w, head, k));
    return first;
}

static size_t first_waiting(const struct world *w)
{
    size_t i = 0;

    while (i < w->job_count && w->jobs[i]->alloc.place_count > 0)
        i++;
    return i;
}

/* Runs the instance to its end. Returns the mean completion time; each head's promise is checked.
 */
static double run(const struct instance *in, const char *knob, const char *spec)
{
    struct world *w = &world;
    double promised[JOBS], sum = 0;
    int next = 0;

    world_open(w, sched_policy_find("fifo", NULL), 1, spec);
    world_set(w, knob);
    world_begin(w);
    for (int i = 0; i < JOBS; i++)
        promised[i] = INFINITY;
    while (next < JOBS || w->job_count > 0) {
        while (next < JOBS && in->submit_s[next] <= w->now_s) {
            world_add_seconds(w, in->gpus[next], in->seconds[next])->job.submit_s =
                in->submit_s[next];
            next++;
        }
        world_decide(w);
        world_apply(w);
        for (size_t i = 0; i < w->job_count; i++) {
            struct world_job *j = world_job_of(w->jobs[i]);
            if (j->start_s == w->now_s)
                WORLD_CLAIM(w, w->now_s <= promised[j->job.id],
                            "job %u starts at %g, and was promised %g", j->job.id, w->now_s,
                            promised[j->job.id]);
        }
        size_t head = first_waiting(w);
        if (head < w->job_count && strcmp(knob, "backfill=any") != 0)
            promised[w->jobs[head]->id] = fmin(promised[w->jobs[head]->id], promise_s(w, head));
        world_pass(w, w->round_s);
    }
    for (uint32_t i = 0; i < JOBS; i++)
        sum += w->all[i]->end_s - w->all[i]->job.submit_s;
    return sum / JOBS;
}

static void strict_never_lets_anyone_overtake(void **state)
{
    static const char *const specs[] = {"4x4:t4", "2x8:a100,3x4:t4"};

    (void)state;
    for (int seed = 1; seed <= property_count(60); seed++) {
        struct instance in;
        random_instance(&in, (uint64_t)seed, 12);
        run(&in, "backfill=none", specs[seed % 2]);
        for (uint32_t i = 1; i < JOBS; i++)
            assert_true(world.all[i - 1]->start_s <= world.all[i]->start_s);
        world_close(&world);
    }
}

/* With exact durations and free restarts: the promise holds for every head (checked in
 * run), and waiting is shorter on average than under strict order. */
static void easy_backfill_keeps_every_promise_and_helps_on_average(void **state)
{
    static const char *const specs[] = {"4x4:t4", "2x8:a100,3x4:t4"};
    double strict = 0, easy = 0, any = 0;
    uint32_t overtakes = 0;

    (void)state;
    for (int seed = 1; seed <= property_count(100); seed++) {
        struct instance in;
        const char *spec = specs[seed % 2];
        random_instance(&in, (uint64_t)seed, 16);
        strict += run(&in, "backfill=none", spec);
        world_close(&world);
        easy += run(&in, "backfill=easy", spec);
        for (uint32_t i = 1; i < JOBS; i++)
            overtakes += world.all[i - 1]->start_s > world.all[i]->start_s;
        world_close(&world);
        any += run(&in, "backfill=any", spec);
        world_close(&world);
    }
    assert_true(overtakes > 100);
    assert_true(easy < 0.9 * strict);
    assert_true(any < 0.9 * strict);
}

static void backfill_any_leaves_nothing_idle_that_a_waiting_job_could_use(void **state)
{
    (void)state;
    for (int seed = 1; seed <= property_count(40); seed++) {
        struct world *w = &world;
        world_open(w, sched_policy_find("fifo", NULL), (uint64_t)seed, "2x4:t4,2x2:k80");
        world_set(w, "backfill=any");
        world_begin(w);
        for (int r = 0; r < 40; r++) {
            for (uint64_t n = base_rand_below(&w->rand, 4); n > 0; n--)
                world_add_seconds(w, 1 + (uint32_t)base_rand_below(&w->rand, 8),
                                  base_rand_exp(&w->rand, 300) + 1);
            world_decide(w);
            for (size_t i = 0; i < w->job_count; i++)
                for (uint32_t k = 0; !sched_plan_has(w->plan, i) && k < 2; k++)
                    WORLD_CLAIM(w,
                                (w->jobs[i]->kinds >> k & 1) == 0 ||
                                    sched_plan_free_gpus(w->plan, k) < w->jobs[i]->gpus,
                                "job %u could start", w->jobs[i]->id);
            world_apply(w);
            world_pass(w, w->round_s);
        }
        world_close(w);
    }
}

/* Jobs that run on the slow kind would be faster on the one the head waits for: they must not slip
 * in before it. */
static void backfill_does_not_pass_the_head_by_way_of_another_kind(void **state)
{
    struct world *w = &world;
    struct sched_table table;
    uint32_t gangs[] = {1, 4};

    (void)state;
    world_open(w, sched_policy_find("fifo", NULL), 1, "1x4:v100,2x4:k80");
    world_set(w, "backfill=easy");
    world_begin(w);
    assert_int_equal(sched_table_init(&table, &base_alloc_libc, &w->cluster, gangs, 2), SHOAL_OK);
    for (uint32_t r = 0; r < 2; r++) {
        assert_int_equal(sched_table_set(&table, &table.packed[0], r, 10), SHOAL_OK);
        assert_int_equal(sched_table_set(&table, &table.packed[1], r, 1), SHOAL_OK);
    }
    for (int i = 0; i < 12; i++)
        world_add(w, 1, 3, sched_model_table(&table, 0, 600.0 * (1 + i % 5)));
    world_round(w);
    struct world_job *head = world_add(w, 4, 1, sched_model_table(&table, 1, 6000));
    for (int r = 0; r < 100 && isnan(head->start_s); r++) {
        while (w->job_count < 20)
            world_add(w, 1, 3, sched_model_table(&table, 0, 3000));
        world_round(w);
    }
    WORLD_CLAIM(w, !isnan(head->start_s), "the head never starts");
    world_close(w);
    sched_table_fini(&table);
}

static void a_job_overtakes_if_it_ends_in_time_or_uses_gpus_the_head_leaves(void **state)
{
    static const struct {
        uint32_t gpus;
        double seconds;
        bool starts;
    } cases[] = {{2, 540, true}, {2, 541, false}, {1, 541, false}, {3, 60, false}, {1, 60, true}};

    (void)state;
    for (size_t c = 0; c < BASE_COUNT(cases); c++) {
        struct world *w = &world;
        world_open(w, sched_policy_find("fifo", NULL), 1, "2x4:t4");
        world_set(w, "backfill=easy");
        world_begin(w);
        world_add_seconds(w, 6, 600);
        world_round(w);
        world_add_seconds(w, 8, 600); /* the head: it can start 540 s from now, with all GPUs */
        struct world_job *j = world_add_seconds(w, cases[c].gpus, cases[c].seconds);
        world_round(w);
        assert_int_equal(j->job.starts, cases[c].starts);
        world_close(w);

        world_open(w, sched_policy_find("fifo", NULL), 1, "2x4:t4");
        world_set(w, "backfill=easy");
        world_begin(w);
        world_add_seconds(w, 6, 600);
        world_add_seconds(w, 7, 600); /* the head leaves one GPU */
        j = world_add_seconds(w, 1, 1e6);
        struct world_job *next = world_add_seconds(w, 1, 1e6);
        world_round(w);
        assert_int_equal(j->job.starts, 1);
        assert_int_equal(next->job.starts, 0); /* it was only one */
        world_close(w);
    }
}

static void jobs_behind_the_head_say_so(void **state)
{
    struct world *w = &world;

    (void)state;
    world_open(w, sched_policy_find("fifo", NULL), 1, "1x4:t4");
    world_begin(w);
    world_add_seconds(w, 3, 600);
    world_add_seconds(w, 2, 600);
    world_add_seconds(w, 1, 600);
    world_decide(w);
    assert_true(sched_plan_has(w->plan, 0));
    assert_int_equal(sched_plan_reason(w->plan, 1), SCHED_WHY_GANG);
    assert_false(sched_plan_has(w->plan, 2));
    struct sched_why why = sched_plan_why(w->plan, 2, true);
    assert_int_equal(why.behind, 1);
    assert_int_equal(why.reason, SCHED_WHY_QUEUE);
    assert_int_equal(sched_plan_why(w->plan, 1, true).behind, UINT32_MAX);
    world_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict_never_lets_anyone_overtake),
        cmocka_unit_test(easy_backfill_keeps_every_promise_and_helps_on_average),
        cmocka_unit_test(backfill_any_leaves_nothing_idle_that_a_waiting_job_could_use),
        cmocka_unit_test(backfill_does_not_pass_the_head_by_way_of_another_kind),
        cmocka_unit_test(a_job_overtakes_if_it_ends_in_time_or_uses_gpus_the_head_leaves),
        cmocka_unit_test(jobs_behind_the_head_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
