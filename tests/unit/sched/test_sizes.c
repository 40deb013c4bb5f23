/* Tests of src/sched/sizes.c. The specification is sched_adapt_choose, asked for each size. */
#include "unit/sched/world.h"

#include "sched/sizes.h"

static struct world w;

static void open_jobs(uint64_t seed, const char *spec, int count)
{
    world_open(&w, NULL, seed, spec);
    uint32_t all = (1u << w.cluster.kind_count) - 1;
    for (int i = 0; i < count; i++) {
        struct world_job *j = world_add_adaptive(&w, 2, 16, all, 600);
        j->adapt.known.grad_var = exp(base_rand_range(&w.rand, -6, 10));
    }
}

static void close_jobs(struct sched_sizes *s)
{
    sched_sizes_free(s);
    world_close(&w);
}

static struct sched_sizes *new_sizes(double explore)
{
    struct sched_sizes *s = NULL;

    assert_int_equal(sched_sizes_new(&base_alloc_libc, &w.cluster, explore, &s), SHOAL_OK);
    return s;
}

/* Looks at all jobs, as a decision would; `check` compares with the specification. */
static void look_at_all(struct sched_sizes *s, bool check)
{
    struct sched_sizes_view v;

    sched_sizes_begin(s);
    for (size_t i = 0; i < w.job_count; i++) {
        assert_int_equal(sched_sizes_of(s, w.jobs[i], &v), SHOAL_OK);
        for (uint32_t n = 0; check && n < v.count; n++) {
            double exact = sched_adapt_choose(w.jobs[i]->adapt, w.cluster.kind_count,
                                              v.size[n].kind, v.size[n].nodes, v.size[n].gpus)
                               .goodput;
            /* one GPU: the best batch jumps from one pass to two, between points of the grid */
            double off = v.size[n].gpus > 1 ? 2e-3 : 1e-2;
            assert_true(fabs(sched_sizes_goodput(&v, n) - exact) <= off * exact);
        }
    }
    sched_sizes_end(s);
}

static void goodput_by_size_is_what_the_model_says_within_thousandths(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(20); seed++) {
        open_jobs(seed, "4x4:t4,2x8:a100", 20);
        struct sched_sizes *s = new_sizes(4);
        look_at_all(s, true);
        close_jobs(s);
    }
}

static void sizes_are_powers_of_two_then_whole_nodes_as_far_as_may_be_explored(void **state)
{
    static const uint32_t want[] = {1, 2, 4, 8, 12};
    struct sched_sizes_view v;

    (void)state;
    open_jobs(1, "8x4:t4", 1);
    w.all[0]->adapt.kind[0].gpus_seen = 3;
    struct sched_sizes *s = new_sizes(4);
    sched_sizes_begin(s);
    assert_int_equal(sched_sizes_of(s, w.jobs[0], &v), SHOAL_OK);
    assert_int_equal(v.count, 5);
    for (uint32_t i = 0; i < v.count; i++)
        assert_int_equal(v.size[i].gpus, want[i]);
    sched_sizes_end(s);
    w.all[0]->adapt.kind[0].gpus_seen = 0; /* nothing is known: one GPU */
    w.all[0]->adapt.known.version++;
    sched_sizes_begin(s);
    assert_int_equal(sched_sizes_of(s, w.jobs[0], &v), SHOAL_OK);
    assert_true(v.count == 1 && v.size[0].gpus == 1 && v.seen == 0);
    sched_sizes_end(s);
    close_jobs(s);
}

static void nothing_is_worked_out_twice(void **state)
{
    (void)state;
    open_jobs(1, "4x4:t4,2x8:a100", 50);
    struct sched_sizes *s = new_sizes(4);
    look_at_all(s, false);
    uint64_t worked = sched_sizes_worked(s);
    look_at_all(s, true);
    assert_int_equal(sched_sizes_worked(s), worked);
    world_end(&w, 7, 0);
    world_end(&w, 20, 0); /* others keep their rows */
    look_at_all(s, true);
    assert_int_equal(sched_sizes_worked(s), worked);
    close_jobs(s);
}

static void jobs_like_one_another_share_what_was_worked_out(void **state)
{
    (void)state;
    open_jobs(1, "4x4:t4,2x8:a100", 30);
    for (int i = 0; i < 30; i++)
        w.all[i]->adapt.known.grad_var = 10;
    struct sched_sizes *s = new_sizes(4);
    look_at_all(s, true);
    uint64_t thirty = sched_sizes_worked(s);
    close_jobs(s);
    open_jobs(1, "4x4:t4,2x8:a100", 1);
    w.all[0]->adapt.known.grad_var = 10;
    s = new_sizes(4);
    look_at_all(s, true);
    assert_int_equal(sched_sizes_worked(s), thirty);
    close_jobs(s);
}

static void what_ended_jobs_needed_is_dropped(void **state)
{
    struct base_alloc_track track;
    struct sched_sizes *s = NULL;

    (void)state;
    open_jobs(1, "4x4:t4,2x8:a100", 40);
    for (int i = 0; i < 40; i++)
        w.all[i]->adapt.kind[0].speed.grad_s *= 1 + 0.01 * i; /* each is a family */
    base_alloc_track_init(&track, &base_alloc_libc);
    assert_int_equal(sched_sizes_new(&track.alloc, &w.cluster, 4, &s), SHOAL_OK);
    look_at_all(s, true);
    uint64_t all = track.live_bytes;
    while (w.job_count > 1)
        world_end(&w, 0, 0);
    look_at_all(s, true);
    assert_true(track.live_bytes < all / 2);
    close_jobs(s);
    assert_int_equal(track.live_bytes, 0);
}

static void new_knowledge_is_used_at_once(void **state)
{
    (void)state;
    open_jobs(1, "4x4:t4,2x8:a100", 10);
    struct sched_sizes *s = new_sizes(4);
    for (int round = 0; round < 50; round++) {
        struct world_job *j = w.all[base_rand_below(&w.rand, 10)];
        j->adapt.known.grad_var = exp(base_rand_range(&w.rand, -20, 20));
        j->adapt.kind[0].speed.grad_each_s *= base_rand_range(&w.rand, 0.9, 1.1);
        j->adapt.known.version++;
        look_at_all(s, true);
    }
    close_jobs(s);
}

static shoal_status look_with(const struct base_alloc *alloc, void *ctx)
{
    struct sched_sizes *s = NULL;
    struct sched_sizes_view v;
    shoal_status st = sched_sizes_new(alloc, &w.cluster, 4, &s);

    (void)ctx;
    for (int round = 0; st == SHOAL_OK && round < 2; round++) {
        sched_sizes_begin(s);
        for (size_t i = 0; st == SHOAL_OK && i < w.job_count; i++)
            st = sched_sizes_of(s, w.jobs[i], &v);
        if (st == SHOAL_OK)
            sched_sizes_end(s);
    }
    sched_sizes_free(s);
    return st;
}

static void failing_allocations_end_cleanly(void **state)
{
    (void)state;
    open_jobs(1, "2x4:t4", 5);
    torture_run(look_with, NULL);
    world_close(&w);
}

static void sizes_that_nest_are_those_that_follow_one_another(void **state)
{
    (void)state;
    for (uint32_t node = 1; node <= 17; node++) {
        uint32_t next = 1;
        for (uint32_t gpus = 1; gpus <= 10 * node; gpus++) {
            assert_int_equal(sched_size_nests(gpus, node), gpus == next);
            if (gpus == next)
                next = sched_size_next(gpus, node, UINT32_MAX);
        }
        for (uint32_t gpus = node; gpus < 1000 * node;
             gpus = next) { /* thinned out they still nest */
            next = sched_size_next(gpus, node, 8);
            assert_true(next > gpus && next <= gpus + (gpus / 8 > node ? gpus / 8 : node));
            assert_true(sched_size_nests(next, node));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goodput_by_size_is_what_the_model_says_within_thousandths),
        cmocka_unit_test(sizes_that_nest_are_those_that_follow_one_another),
        cmocka_unit_test(sizes_are_powers_of_two_then_whole_nodes_as_far_as_may_be_explored),
        cmocka_unit_test(nothing_is_worked_out_twice),
        cmocka_unit_test(jobs_like_one_another_share_what_was_worked_out),
        cmocka_unit_test(what_ended_jobs_needed_is_dropped),
        cmocka_unit_test(new_knowledge_is_used_at_once),
        cmocka_unit_test(failing_allocations_end_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
