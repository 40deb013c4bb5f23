/* Tests of src/sim/live.c: jobs that share, part, move and wait run at the speeds of their model.
 */
#include "unit/sim/run_world.h"

#include "property.h"

static void two_jobs_on_the_same_gpus_run_at_the_speeds_of_the_pair(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x1:v100:usd=3.6");
    struct sim_opts o = run_world_pair(&w);
    o.how.restart_s = 30;
    o.record = true;
    struct sim_result *r = run_world_run(&w, &o);
    run_near(r->jobs[0].finish_s, 130, 1e-4); /* 30 + 600 / 6; the pair's speeds are floats */
    run_near(r->jobs[1].finish_s, 130 + (1200 - 700) / 10.0, 1e-4); /* alone again at full speed */
    /* the GPU is held once, whoever holds it */
    run_near(r->metrics.utilization, 1, 1e-9);
    run_near(r->metrics.cost_usd, 0.180, 1e-6);
    double busy = 0;
    for (size_t i = 0; i < r->series.count; i++)
        busy += (double)r->series.busy[0][i] * r->series.step_s;
    run_near(busy, 180, 1e-3);
    assert_int_equal(r->segment_count, 2);
    assert_true(r->segments[0].rows == 1 && r->segments[1].rows == 1);
    assert_true(r->segments[0].to_s == r->jobs[0].finish_s &&
                r->segments[1].to_s == r->jobs[1].finish_s);
    sim_result_free(r);
    run_world_fini(&w);
}

/* Pairs job 1 with job 0 in the first round; later job 1 stays, and job 0 moves or waits. */
static shoal_status part(const struct sched_snapshot *snap, struct sched_plan *plan, bool moves)
{
    if (snap->round == 0) {
        assert_true(sched_plan_place(plan, 0, SCHED_KIND_BEST, SCHED_FIT_PACK));
        assert_true(sched_plan_share(plan, 1, 0));
        return SHOAL_OK;
    }
    for (size_t i = snap->job_count; i-- > 0;) {
        if (snap->jobs[i]->id == 1)
            assert_true(sched_plan_keep(plan, i));
        else if ((snap->round > 1 || moves) && !sched_plan_keep(plan, i))
            assert_true(sched_plan_place(plan, i, SCHED_KIND_BEST, SCHED_FIT_PACK));
    }
    return SHOAL_OK;
}

static shoal_status part_by_moving(void *memory, const struct sched_snapshot *snap,
                                   struct sched_plan *plan)
{
    (void)memory;
    return part(snap, plan, true);
}

static shoal_status part_by_stopping(void *memory, const struct sched_snapshot *snap,
                                     struct sched_plan *plan)
{
    (void)memory;
    return part(snap, plan, false);
}

static void the_one_of_a_pair_that_stays_runs_at_full_speed(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "2x1:v100");
    world_put(w.env, "t.json", RUN_PAIRS);
    run_world_csv(&w,
                  "#shoal-trace v1\nname,submit_s,gpus,model,steps\na,0,1,A,6000\nb,0,1,B,1200\n",
                  "t.json");
    for (int stops = 0; stops < 2; stops++) {
        const struct sched_policy policy = {.name = "parting",
                                            .decide = stops ? part_by_stopping : part_by_moving};
        struct sim_opts o = run_world_opts("fifo");
        o.policy = &policy;
        o.record = true;
        struct sim_result *r = run_world_run(&w, &o);
        /* together for 30 s of work, 180 and 210 steps, then 10 steps/s each */
        run_near(r->jobs[1].finish_s, 60 + (1200 - 210) / 10.0, 1e-4);
        run_near(r->jobs[0].finish_s, (stops ? 120 : 60) + 30 + (6000 - 180) / 10.0, 1e-4);
        sim_result_free(r);
    }
    run_world_fini(&w);
}

/* Every round each job may stay, move, join another or wait, by chance. */
static shoal_status shuffle(void *memory, const struct sched_snapshot *snap,
                            struct sched_plan *plan)
{
    struct base_rand r;
    char name[32];

    (void)memory;
    snprintf(name, sizeof name, "round-%llu", (unsigned long long)snap->round);
    base_rand_init(&r, snap->seed, name);
    size_t first = snap->job_count > 0 ? base_rand_below(&r, snap->job_count) : 0;
    for (size_t n = 0; n < snap->job_count; n++) {
        size_t i = (first + n) % snap->job_count, with = base_rand_below(&r, snap->job_count);
        uint64_t luck = base_rand_below(&r, 10);
        if (luck < 7 && (sched_plan_keep(plan, i) || sched_plan_keep_shared(plan, i)))
            continue;
        if (luck % 2 == 0 && with != i && sched_plan_has(plan, with) &&
            snap->jobs[with]->model.row != snap->jobs[i]->model.row &&
            sched_plan_share(plan, i, with))
            continue;
        if (luck < 9 || n == 0) /* an idle cluster is an error */
            sched_plan_place(plan, i, SCHED_KIND_BEST, SCHED_FIT_PACK);
    }
    return SHOAL_OK;
}

enum { SHUFFLED = 12 };

struct shuffled {
    char places[16]; /* empty: waits */
    double ready_s, steps;
};

/* Steps made between two events, by the table: nodes have one GPU, so who is on one shares it. */
static void work_by_the_table(const struct run_world *w, struct shuffled *jobs, double from_s,
                              double to_s, size_t *out_shared)
{
    for (size_t i = 0; i < SHUFFLED; i++) {
        double rate = 10;
        if (jobs[i].places[0] == '\0')
            continue;
        for (size_t k = 0; k < SHUFFLED; k++)
            if (k != i && strcmp(jobs[k].places, jobs[i].places) == 0) {
                const char *model = sim_names_get(&w->trace->models, w->trace->jobs[i].model);
                rate = strcmp(model, "A") == 0 ? 6 : 7;
                *out_shared += 1;
            }
        jobs[i].steps += rate * fmax(0, to_s - fmax(from_s, jobs[i].ready_s));
    }
}

static void progress_is_the_integral_of_the_rates_of_the_model(void **state)
{
    const struct sched_policy policy = {.name = "shuffle", .decide = shuffle};

    (void)state;
    for (int seed = 1; seed <= property_count(10); seed++) {
        struct run_world w;
        struct base_buf csv;
        struct shuffled jobs[SHUFFLED] = {0};
        struct run_event e;
        double now = 0;
        size_t shared = 0;

        base_buf_init(&csv, &base_alloc_libc, 1 << 16);
        base_buf_puts(&csv, "#shoal-trace v1\nname,submit_s,gpus,model,steps\n");
        for (int i = 0; i < SHUFFLED; i++)
            base_buf_printf(&csv, "j%d,%d,1,%s,%d\n", i, 50 * i, i % 2 == 0 ? "A" : "B",
                            3000 + 500 * i);
        run_world_init(&w, "4x1:v100");
        world_put(w.env, "t.json", RUN_PAIRS);
        run_world_csv(&w, csv.data, "t.json");
        base_buf_fini(&csv);
        struct sim_opts o = run_world_opts("fifo");
        o.policy = &policy;
        o.how.seed = (uint64_t)seed;
        o.how.restart_s = 10;
        sim_result_free(run_world_run(&w, &o));
        for (size_t at = 0; run_event_next(&w.log, &at, &e); run_event_fini(&e)) {
            work_by_the_table(&w, jobs, now, e.t, &shared);
            now = e.t;
            size_t i = run_event_job(&w, &e);
            if (run_event_is(&e, "job.waiting"))
                continue;
            double steps = w.trace->jobs[i].steps;
            run_near(e.progress * steps, jobs[i].steps, 1e-2); /* pairs' speeds are floats */
            if (e.places != NULL) /* started or moved, maybe to where it was */
                jobs[i].ready_s = e.t + o.how.restart_s;
            snprintf(jobs[i].places, sizeof jobs[i].places, "%s", e.places != NULL ? e.places : "");
        }
        assert_true(shared > 10);
        run_world_fini(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_jobs_on_the_same_gpus_run_at_the_speeds_of_the_pair),
        cmocka_unit_test(the_one_of_a_pair_that_stays_runs_at_full_speed),
        cmocka_unit_test(progress_is_the_integral_of_the_rates_of_the_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
