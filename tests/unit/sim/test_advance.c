/* Tests of src/sim/advance.c: progress between two instants, on states made by hand. */
#include "unit/sim/run_world.h"

#include "base/assert.h"
#include "sched/model_table.h"
#include "sim/state.h"
#include <stdlib.h>

/* A state with up to four running jobs of one GPU each; what sim_advance reads of it, and nothing
 * more. */
struct bench {
    struct sched_cluster cluster;
    struct sim_opts opts;
    struct sim_result result;
    struct sched_job *list[4];
    struct sim_held running[4];
    struct sim_active actives[4];
    struct sched_table table;
    struct sim_state s;
};

static void bench_init(struct bench *b)
{
    const uint32_t gangs[2] = {1, 1};

    memset(b, 0, sizeof *b);
    assert_int_equal(sched_cluster_parse(&base_alloc_libc, "4x1:t4:usd=3.6", &b->cluster, NULL),
                     SHOAL_OK);
    assert_int_equal(sched_table_init(&b->table, &base_alloc_libc, &b->cluster, gangs, 2),
                     SHOAL_OK);
    for (uint32_t r = 0; r < 2; r++) {
        assert_int_equal(sched_table_set(&b->table, &b->table.packed[0], r, 8), SHOAL_OK);
        assert_int_equal(
            sched_table_set_pair(&b->table, &b->table.packed[0], r, 1 - r, r == 0 ? 4 : 2),
            SHOAL_OK);
    }
    sim_opts_init(&b->opts);
    b->s = (struct sim_state){.alloc = &base_alloc_libc,
                              .cluster = &b->cluster,
                              .opts = &b->opts,
                              .last_submit_s = INFINITY,
                              .result = &b->result,
                              .jobs = b->list,
                              .running = b->running};
}

static void bench_fini(struct bench *b)
{
    base_free(&base_alloc_libc, b->s.ended);
    sched_table_fini(&b->table);
    sched_cluster_fini(&b->cluster);
}

static struct sim_active *bench_add(struct bench *b, struct sched_model model, double restart_s)
{
    uint32_t id = (uint32_t)b->s.job_count;
    struct sim_active *a = &b->actives[id];

    *a = (struct sim_active){.near = {{.node = id, .gpus = 1}},
                             .restart_left_s = restart_s,
                             .slow = 1,
                             .end_s = NAN,
                             .fail_at_run_s = INFINITY};
    a->job = (struct sched_job){.id = id, .gpus = 1, .kinds = 1, .weight = 1, .model = model};
    a->job.partner = SCHED_JOB_NONE;
    a->job.alloc = (struct sched_alloc){.places = a->near, .place_count = 1, .gpus = 1};
    b->list[b->s.job_count++] = &a->job;
    b->running[b->s.running_count++] = (struct sim_held){.active = a, .index = id};
    sim_refresh_rate(&b->s, a);
    return a;
}

static void bench_pair(struct bench *bench, struct sim_active *a, struct sim_active *b)
{
    a->partner = b;
    b->partner = a;
    a->job.partner = b->job.id;
    b->job.partner = a->job.id;
    sim_refresh_rate(&bench->s, a);
    sim_refresh_rate(&bench->s, b);
}

static void work_begins_when_the_restart_is_over(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    struct sim_active *a = bench_add(&b, sched_model_duration(100), 30);
    assert_int_equal(sim_advance(&b.s, 20), SHOAL_OK);
    assert_true(a->job.progress == 0 && a->restart_left_s == 10);
    b.s.now_s = 20;
    assert_int_equal(sim_advance(&b.s, 60), SHOAL_OK);
    assert_true(a->job.progress == 30 && a->job.run_s == 60 && a->job.attained_gpu_s == 60);
    assert_true(b.result.metrics.lost_gpu_s == 0); /* somebody has to start it once */
    assert_true(b.s.busy_gpu_s == 60);
    run_near(a->usd, 60 * 3.6 / 3600, 1e-12);
    assert_int_equal(b.s.ended_count, 0);
    bench_fini(&b);
}

static void a_second_start_is_lost_and_half_of_it_when_shared(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    struct sim_active *a = bench_add(&b, sched_model_table(&b.table, 0, 1000), 20);
    struct sim_active *c = bench_add(&b, sched_model_table(&b.table, 1, 1000), 0);
    struct sim_active *d = bench_add(&b, sched_model_duration(1000), 30);
    bench_pair(&b, a, c);
    a->job.starts = d->job.starts = 2;
    c->job.starts = 1;
    assert_int_equal(sim_advance(&b.s, 60), SHOAL_OK);
    run_near(b.result.metrics.lost_gpu_s, 20 * 0.5 + 30, 1e-12);
    run_near(a->worked_gpu_s + c->worked_gpu_s + d->worked_gpu_s, 40 * 0.5 + 60 * 0.5 + 30, 1e-9);
    bench_fini(&b);
}

static void jobs_end_inside_a_stretch_in_order_of_time(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    bench_add(&b, sched_model_duration(50), 0);
    bench_add(&b, sched_model_duration(10), 0);
    bench_add(&b, sched_model_duration(50), 0);
    bench_add(&b, sched_model_duration(60.5), 0);
    b.s.now_s = 1000;
    assert_int_equal(sim_advance(&b.s, 1060), SHOAL_OK);
    assert_int_equal(b.s.ended_count, 3);
    assert_true(b.s.ended[0]->job.id == 1 && b.s.ended[0]->end_s == 1010);
    assert_true(b.s.ended[1]->job.id == 0 && b.s.ended[2]->job.id == 2 &&
                b.s.ended[1]->end_s == 1050);
    assert_true(isnan(b.actives[3].end_s) && b.actives[3].job.progress == 60);
    assert_true(b.s.busy_gpu_s == 170); /* nobody holds GPUs after the end */
    bench_fini(&b);
}

static void any_number_of_ends_is_in_order(void **state)
{
    enum { COUNT = 100000 }; /* in the worst order for a sort by insertion */
    struct bench b;

    (void)state;
    bench_init(&b);
    struct sim_active *all = calloc(COUNT, sizeof *all);
    struct sched_job **list = calloc(COUNT, sizeof *list);
    struct sim_held *running = calloc(COUNT, sizeof *running);
    assert_non_null(all);
    assert_non_null(list);
    assert_non_null(running);
    bench_add(&b, sched_model_duration(1), 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        all[i] = b.actives[0];
        all[i].job.id = i;
        all[i].job.alloc.places = all[i].near;
        all[i].job.model = sched_model_duration(COUNT - i / 2 * 2); /* two at a time */
        all[i].until = all[i].job.model.work;
        list[i] = &all[i].job;
        running[i] = (struct sim_held){.active = &all[i], .index = i};
    }
    b.s.jobs = list;
    b.s.running = running;
    b.s.job_count = b.s.running_count = COUNT;
    assert_int_equal(sim_advance(&b.s, 2 * COUNT), SHOAL_OK);
    assert_int_equal(b.s.ended_count, COUNT);
    for (size_t i = 1; i < COUNT; i++) {
        const struct sim_active *x = b.s.ended[i - 1], *y = b.s.ended[i];
        assert_true(x->end_s < y->end_s || (x->end_s == y->end_s && x->job.id < y->job.id));
    }
    free(running);
    free(list);
    free(all);
    bench_fini(&b);
}

static void no_time_means_no_change(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    struct sim_active *a = bench_add(&b, sched_model_duration(50), 0);
    b.s.ended_count = 1;
    assert_int_equal(sim_advance(&b.s, 0), SHOAL_OK);
    assert_true(a->job.run_s == 0 && b.s.ended_count == 0);
    bench_fini(&b);
}

static void a_drawn_failure_ends_the_attempt_at_its_run_time(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    struct sim_active *a = bench_add(&b, sched_model_duration(100), 10);
    struct sim_active *c = bench_add(&b, sched_model_duration(15), 0);
    a->fail_at_run_s = 25;
    c->fail_at_run_s = 25; /* it ends before */
    assert_int_equal(sim_advance(&b.s, 60), SHOAL_OK);
    assert_true(a->failed && a->end_s == 25 && a->job.progress == 15);
    assert_true(!c->failed && c->end_s == 15);
    bench_fini(&b);
}

static void checkpoints_are_never_older_than_asked_for(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    b.opts.how.checkpoint_s = 100;
    struct sim_active *a = bench_add(&b, sched_model_duration(1e6), 0);
    for (int i = 0; i < 200; i++) {
        double to = b.s.now_s + 7 + i % 60;
        assert_int_equal(sim_advance(&b.s, to), SHOAL_OK);
        b.s.now_s = to;
        assert_true(a->job.progress - a->checkpoint <= 100);
        assert_true(a->checkpoint <= a->job.progress);
    }
    bench_fini(&b);
}

static void a_checkpoint_is_taken_when_it_is_due_inside_a_stretch(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    b.opts.how.checkpoint_s = 25;
    struct sim_active *a = bench_add(&b, sched_model_duration(1000), 10);
    a->checkpoint_due_s = 25;
    struct sim_active *c = bench_add(&b, sched_model_duration(1000), 10);
    c->checkpoint_due_s = 25;
    c->fail_at_run_s = 49;
    struct sim_active *d = bench_add(&b, sched_model_duration(30), 0); /* ends before the second */
    d->checkpoint_due_s = 25;
    assert_int_equal(sim_advance(&b.s, 60), SHOAL_OK);
    assert_true(a->job.progress == 50 && a->checkpoint == 40 && a->at_risk_gpu_s == 10);
    assert_true(a->checkpoint_due_s == 75);
    assert_true(c->failed && c->end_s == 49 && c->job.progress == 39 && c->checkpoint == 15);
    assert_true(c->at_risk_gpu_s == 24 && c->worked_gpu_s == 39);
    assert_true(d->end_s == 30 && !d->failed && d->job.run_s == 30);
    bench_fini(&b);
}

static void a_partner_that_ends_leaves_the_other_at_full_speed(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    struct sim_active *a =
        bench_add(&b, sched_model_table(&b.table, 0, 40), 0); /* 4 steps/s in the pair */
    struct sim_active *c = bench_add(&b, sched_model_table(&b.table, 1, 1000), 0); /* 2 */
    bench_pair(&b, a, c);
    assert_int_equal(sim_advance(&b.s, 60), SHOAL_OK);
    run_near(a->end_s, 10, 1e-12);
    run_near(c->job.progress, 10 * 2 + 50 * 8, 1e-9);
    run_near(b.s.busy_gpu_s, 60, 1e-9); /* shared GPUs are held once */
    run_near(a->usd + c->usd, 60 * 3.6 / 3600, 1e-12);
    assert_true(a->job.run_s == 10 && c->job.run_s == 60);
    assert_ptr_equal(c->partner, a); /* until a is released */
    bench_fini(&b);
}

static void both_of_a_pair_may_end_in_one_stretch(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    struct sim_active *a = bench_add(&b, sched_model_table(&b.table, 0, 40), 0);
    struct sim_active *c = bench_add(&b, sched_model_table(&b.table, 1, 60), 0);
    struct sim_active *d = bench_add(&b, sched_model_table(&b.table, 0, 40), 0);
    struct sim_active *e = bench_add(&b, sched_model_table(&b.table, 1, 20), 0);
    bench_pair(&b, a, c);
    bench_pair(&b, d, e);
    assert_int_equal(sim_advance(&b.s, 60), SHOAL_OK);
    run_near(a->end_s, 10, 1e-12);
    run_near(c->end_s, 15, 1e-12); /* 20 steps together, 40 alone */
    run_near(d->end_s, 10, 1e-12); /* at the same time as e */
    run_near(e->end_s, 10, 1e-12);
    assert_int_equal(b.s.ended_count, 4);
    run_near(b.s.busy_gpu_s, 25, 1e-9);
    bench_fini(&b);
}

static void a_failure_in_a_pair_is_a_failure(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    struct sim_active *a = bench_add(&b, sched_model_table(&b.table, 0, 1000), 0);
    struct sim_active *c = bench_add(&b, sched_model_table(&b.table, 1, 1000), 0);
    bench_pair(&b, a, c);
    c->job.run_s = 0.1; /* so that sums are rounded */
    c->fail_at_run_s = 12.7;
    assert_int_equal(sim_advance(&b.s, 60), SHOAL_OK);
    assert_true(c->failed);
    run_near(c->end_s, 12.6, 1e-9);
    run_near(c->job.progress, 25.2, 1e-6); /* not its whole work */
    assert_true(!a->failed && isnan(a->end_s));
    run_near(a->job.progress, 12.6 * 4 + (60 - 12.6) * 8, 1e-6);
    assert_int_equal(b.s.ended_count, 1);
    bench_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_begins_when_the_restart_is_over),
        cmocka_unit_test(a_second_start_is_lost_and_half_of_it_when_shared),
        cmocka_unit_test(jobs_end_inside_a_stretch_in_order_of_time),
        cmocka_unit_test(any_number_of_ends_is_in_order),
        cmocka_unit_test(no_time_means_no_change),
        cmocka_unit_test(a_drawn_failure_ends_the_attempt_at_its_run_time),
        cmocka_unit_test(checkpoints_are_never_older_than_asked_for),
        cmocka_unit_test(a_checkpoint_is_taken_when_it_is_due_inside_a_stretch),
        cmocka_unit_test(a_partner_that_ends_leaves_the_other_at_full_speed),
        cmocka_unit_test(both_of_a_pair_may_end_in_one_stretch),
        cmocka_unit_test(a_failure_in_a_pair_is_a_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
