/* Tests of src/sim/journal.c: the event log and the story of one job. */
#include "unit/sim/run_world.h"

static void the_log_by_hand(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x2:t4");
    run_world_csv(&w, RUN_HEAD "a,0,2,60.5\nb,7,1,5\nbig,8,3,5\n", NULL);
    sim_result_free(run_world_policy(&w, "fifo"));
    assert_string_equal(
        w.log.data,
        "{\"v\":1,\"t\":0,\"type\":\"job.arrived\",\"job\":\"a\",\"gpus\":2,\"progress\":0}\n"
        "{\"v\":1,\"t\":0,\"type\":\"job.started\",\"job\":\"a\",\"gpus\":2,\"places\":\"n0:2\","
        "\"kind\":\"t4\","
        "\"progress\":0}\n"
        "{\"v\":1,\"t\":7,\"type\":\"job.arrived\",\"job\":\"b\",\"gpus\":1,\"progress\":0}\n"
        "{\"v\":1,\"t\":8,\"type\":\"job.rejected\",\"job\":\"big\",\"gpus\":3,\"detail\":"
        "\"impossible\"}\n"
        "{\"v\":1,\"t\":60,\"type\":\"job.waiting\",\"job\":\"b\",\"reason\":\"capacity\","
        "\"text\":\"asks for 1 t4; 0 free; a holds 2\","
        "\"blockers\":[{\"job\":\"a\",\"gpus\":2}]}\n"
        "{\"v\":1,\"t\":90.5,\"type\":\"job.finished\",\"job\":\"a\",\"gpus\":2,\"progress\":1,"
        "\"received_s\":{\"t4\":90.5}}\n"
        "{\"v\":1,\"t\":120,\"type\":\"job.started\",\"job\":\"b\",\"gpus\":1,\"places\":\"n0:1\","
        "\"kind\":\"t4\","
        "\"progress\":0}\n"
        "{\"v\":1,\"t\":155,\"type\":\"job.finished\",\"job\":\"b\",\"gpus\":1,\"progress\":1,"
        "\"received_s\":{\"t4\":35}}\n");
    run_world_fini(&w);
}

static void names_are_escaped(void **state)
{
    struct run_world w;
    struct run_event e;
    size_t at = 0;

    (void)state;
    run_world_init(&w, "1x2:t4");
    assert_int_equal(sim_trace_new(&base_alloc_libc, &w.trace), SHOAL_OK);
    run_world_add(w.trace, "say \"hi\"\\\n\xc3\xa9", 0, 1, 10);
    sim_trace_finish(w.trace);
    run_world_bind(&w, NULL);
    sim_result_free(run_world_policy(&w, "fifo"));
    assert_true(run_event_next(&w.log, &at, &e));
    assert_string_equal(e.job, "say \"hi\"\\\n\xc3\xa9");
    run_event_fini(&e);
    run_world_fini(&w);
}

static void the_largest_gang_has_all_its_places_in_the_log(void **state)
{
    struct run_world w;
    struct run_event e;

    (void)state;
    run_world_init(&w, "100000x1:t4");
    run_world_csv(&w, RUN_HEAD "all,0,100000,10\n", NULL);
    struct sim_opts o = run_world_opts("fifo");
    o.story_job = 0;
    struct sim_result *r = run_world_run(&w, &o);
    size_t seen = 0;
    for (size_t at = 0; run_event_next(&w.log, &at, &e); run_event_fini(&e))
        if (run_event_is(&e, "job.started")) {
            assert_true(run_event_on(&e, 0));
            assert_true(run_event_on(&e, 99999));
            seen++;
        }
    assert_int_equal(seen, 1);
    sim_result_free(r);
    run_world_fini(&w);
}

struct full {
    size_t left;
};

static shoal_status until_full(void *ctx, const char *line, size_t size, shoal_err *err)
{
    struct full *f = ctx;

    (void)line;
    (void)size;
    (void)err;
    return f->left-- > 0 ? SHOAL_OK : SHOAL_E_IO;
}

static void a_log_that_cannot_be_written_stops_the_run(void **state)
{
    struct run_world w;
    size_t events = 0;

    (void)state;
    run_world_init(&w, "2x4:t4");
    run_world_generate(&w, 1, 20, 8, 600);
    struct sim_opts o = run_world_opts("las");
    o.on_event = until_full;
    o.record = true;
    o.how.node_mtbf_s = 2000;
    for (;; events++) {
        struct full f = {.left = events};
        struct sim_result *r = NULL;
        o.event_ctx = &f;
        shoal_status st = sim_run(w.env, w.trace, &w.cluster, &o, &r, NULL);
        sim_result_free(r);
        if (st == SHOAL_OK)
            break;
        assert_int_equal(st, SHOAL_E_IO);
        assert_null(r);
    }
    assert_true(events >= 60); /* each job arrives, starts and ends */
    run_world_fini(&w);
}

static void told(const struct sim_result *r, const char *words)
{
    if (strstr(r->story.data, words) == NULL)
        fail_msg("expected '%s' in:\n%s", words, r->story.data);
}

static void the_story_says_when_where_and_why(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x4:t4:usd=3.6");
    run_world_csv(&w, RUN_HEAD "first,0,4,570\nmine,0,2,570\n", NULL);
    struct sim_opts o = run_world_opts("fifo");
    o.story_job = 1;
    struct sim_result *r = run_world_run(&w, &o);
    told(r, "arrived, asks for 2 GPUs\n");
    told(r, "waits (capacity): ");
    told(r, "first");
    told(r, "started on 2 t4 on 1 node (n0:2) after waiting 10m");
    told(r, "finished\n");
    told(r, "mine took 20m"); /* 600 s each */
    told(r, "1 start, 0.33 GPU-hours, $1.20, rho ");
    sim_result_free(r);
    run_world_fini(&w);
}

static void the_story_tells_of_preemption_and_failure(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x1:t4");
    run_world_csv(&w, RUN_HEAD "mine,0,1,4000\nshort,100,1,60\n", NULL);
    struct sim_opts o = run_world_opts("srtf");
    o.story_job = 0;
    struct sim_result *r = run_world_run(&w, &o);
    told(r, "gave up its GPUs at 2 %\n"); /* 90 s of 4,000 */
    told(r, "resumed on 1 t4 on 1 node (n0:1)");
    told(r, "2 starts");
    sim_result_free(r);
    o.how.node_mtbf_s = 1500;
    o.how.node_repair_s = 100;
    r = run_world_run(&w, &o);
    told(r, "stopped: node failure, back to ");
    sim_result_free(r);
    run_world_fini(&w);
}

static void the_story_names_the_partner_and_the_failure(void **state)
{
    struct run_world w;
    char words[64];

    (void)state;
    run_world_init(&w, "1x1:v100");
    struct sim_opts o = run_world_pair(&w);
    for (uint32_t i = 0; i < 2; i++) {
        o.story_job = i;
        struct sim_result *r = run_world_run(&w, &o);
        snprintf(words, sizeof words, "(n0:1), shared with %s", i == 0 ? "b" : "a");
        told(r, words);
        sim_result_free(r);
    }
    run_world_fini(&w);

    run_world_init(&w, "1x1:v100");
    run_world_csv(&w, RUN_HEAD "mine,0,1,1000000\nbig,0,2,10\n", NULL);
    o = run_world_opts("fifo");
    o.how.job_failures = true;
    o.story_job = 0;
    for (o.how.seed = 1;; o.how.seed++) {
        struct sim_result *r = run_world_run(&w, &o);
        bool failed = r->metrics.failed > 0 && strstr(w.log.data, "user error") != NULL;
        if (failed) {
            told(r, " %: user error\n");
            told(r, "failed at ");
        }
        sim_result_free(r);
        if (failed)
            break;
    }
    run_world_fini(&w);
}

static void waiting_is_told_to_programs_too(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x4:t4");
    run_world_csv(&w, RUN_HEAD "first,0,4,570\nsay \"hi\",0,2,570\nlast,0,4,60\n", NULL);
    struct sim_opts o = run_world_opts("fifo");
    o.story_job = 2;
    struct sim_result *r = run_world_run(&w, &o);
    json_t *why = json_loads(r->why.data, 0, NULL);
    assert_true(json_array_size(why) >= 1);
    size_t lines = 0;
    for (const char *p = r->story.data; (p = strstr(p, "waits (")) != NULL; p++)
        lines++;
    assert_int_equal(json_array_size(why), lines);
    const json_t *entry = json_array_get(why, 0);
    const json_t *blocker = json_array_get(json_object_get(entry, "blockers"), 0);
    assert_true(json_number_value(json_object_get(entry, "t")) == 0);
    assert_non_null(strstr(r->story.data, json_string_value(json_object_get(entry, "text"))));
    assert_non_null(strstr(r->story.data, json_string_value(json_object_get(entry, "reason"))));
    assert_string_equal(json_string_value(json_object_get(blocker, "job")), "first");
    assert_int_equal(json_integer_value(json_object_get(blocker, "gpus")), 4);
    json_decref(why);
    sim_result_free(r);
    o.story_job = 0; /* it never waits */
    r = run_world_run(&w, &o);
    assert_string_equal(r->why.data, "[]");
    sim_result_free(r);
    run_world_fini(&w);
}

static void no_story_is_told_unasked(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x1:t4");
    run_world_csv(&w, RUN_HEAD "a,0,1,40\n", NULL);
    struct sim_result *r = run_world_policy(&w, "las");
    assert_int_equal(r->story.size, 0);
    assert_int_equal(r->why.size, 0);
    sim_result_free(r);
    run_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_log_by_hand),
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(the_largest_gang_has_all_its_places_in_the_log),
        cmocka_unit_test(a_log_that_cannot_be_written_stops_the_run),
        cmocka_unit_test(the_story_says_when_where_and_why),
        cmocka_unit_test(the_story_tells_of_preemption_and_failure),
        cmocka_unit_test(the_story_names_the_partner_and_the_failure),
        cmocka_unit_test(waiting_is_told_to_programs_too),
        cmocka_unit_test(no_story_is_told_unasked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
