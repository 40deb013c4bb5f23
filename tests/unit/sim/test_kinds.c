/* Tests of src/sim/info.c. */
#include "unit/sim/run_world.h"

#include "sim/info.h"

#define KINDS_HEAD "#shoal-trace v1\nname,submit_s,gpus,duration_s,kinds\n"

static shoal_status check(const char *spec, const char *csv, shoal_err *err)
{
    struct run_world w;

    run_world_init(&w, spec);
    run_world_csv(&w, csv, NULL);
    shoal_status st = sim_kinds_check(w.trace, &w.cluster, err);
    run_world_fini(&w);
    return st;
}

static void says(const char *spec, const char *csv, const char *message, const char *hint)
{
    shoal_err err = SHOAL_ERR_INIT;

    assert_int_equal(check(spec, csv, &err), SHOAL_E_IMPOSSIBLE);
    if (strstr(err.message, message) == NULL || strstr(err.hint, hint) == NULL)
        fail_msg("'%s; %s' does not say '%s' and '%s'", err.message, err.hint, message, hint);
}

static void a_trace_of_which_nothing_runs_is_told_what_is_missing(void **state)
{
    (void)state;
    says("2x4:t4,1x8:a100", KINDS_HEAD "a,0,1,300,v100\nb,0,2,300,p100|k80\n",
         "no job can run on this cluster: the first of 2, 'a', asks for 1 GPU of kind v100, "
         "and there are 8 t4, 8 a100",
         "kind 'v100' is missing");
    says("2x4:t4", KINDS_HEAD "a,0,2,300,p100|t4x\n",
         "asks for 2 GPUs of kind p100 or t4x, and there are 8 t4", "kind 'p100' is missing");
    says("2x4:v100", KINDS_HEAD "a,0,2,300,v1000\n", "of kind v1000", "is it 'v100'?");
    says("2x4:t4", RUN_HEAD "a,0,9,300\nb,0,16,300\n",
         "asks for 9 GPUs of one kind, and there are 8 t4", "--cluster");
}

static void a_job_without_a_speed_there_is_told_so(void **state)
{
    struct run_world w;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    run_world_init(&w, "1x2:k80,1x2:v100");
    world_put(w.env, "t.json",
              "{\"v100\": {\"('A', 1)\": {\"null\": 0}}, \"k80\": {\"('A', 1)\": {\"null\": 0}}}");
    run_world_csv(&w, "#shoal-trace v1\nname,submit_s,gpus,model,steps\na,0,1,A,600\n", "t.json");
    assert_int_equal(sim_kinds_check(w.trace, &w.cluster, &err), SHOAL_E_IMPOSSIBLE);
    assert_non_null(strstr(err.message, "on which its model has no speed"));
    run_world_fini(&w);
}

static void one_job_that_runs_is_enough(void **state)
{
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(check("2x4:t4", KINDS_HEAD "a,0,1,300,v100\nb,0,1,300,\n", &err), SHOAL_OK);
}

static void unknown(const char *spec, const char *csv, const char *want)
{
    struct run_world w;
    struct base_buf text;

    run_world_init(&w, spec);
    run_world_csv(&w, csv, NULL);
    base_buf_init(&text, &base_alloc_libc, 1 << 14);
    sim_kinds_tell_unknown(w.trace, &w.cluster, NULL, &text);
    const char *got = text.size > 0 ? text.data : "";
    if (want == NULL ? text.size > 0 : strstr(got, want) == NULL)
        fail_msg("%s: '%s', not '%s'", spec, got, want != NULL ? want : "");
    base_buf_fini(&text);
    run_world_fini(&w);
}

static void kinds_that_nobody_knows_are_told_with_what_may_be_meant(void **state)
{
    (void)state;
    unknown("1x4:v1000", RUN_HEAD "a,0,1,300\n", "unknown GPU kind 'v1000'");
    unknown("1x4:v1000", RUN_HEAD "a,0,1,300\n", "did you mean 'v100'?");
    unknown("1x4:t4,1x4:quantum", RUN_HEAD "a,0,1,300\n",
            "unknown GPU kind 'quantum': no job, model or price mentions it; known kinds: k80, "
            "p100, v100, t4, a10g, l4, a100, h100\n");
    unknown("1x4:quantum", KINDS_HEAD "a,0,1,300,tpu\n", "h100, tpu\n");
}

static void kinds_with_a_price_or_a_job_are_known(void **state)
{
    (void)state;
    unknown("1x4:T4,1x4:a100", RUN_HEAD "a,0,1,300\n", NULL);
    unknown("1x4:gpu", RUN_HEAD "a,0,1,300\n", NULL);
    unknown("1x4:mine:usd=2", RUN_HEAD "a,0,1,300\n", NULL);
    unknown("1x4:TPU,1x4:t4", KINDS_HEAD "a,0,1,300,tpu\n", NULL);
}

static void kinds_on_which_a_model_has_a_speed_are_known(void **state)
{
    struct run_world w;
    struct base_buf text;

    (void)state;
    run_world_init(&w, "1x2:mine,1x2:other");
    world_put(w.env, "t.json", "{\"mine\": {\"('A', 1)\": {\"null\": 3}}}");
    run_world_csv(&w, "#shoal-trace v1\nname,submit_s,gpus,model,steps\na,0,1,A,600\n", "t.json");
    base_buf_init(&text, &base_alloc_libc, 1 << 14);
    sim_kinds_tell_unknown(w.trace, &w.cluster, NULL, &text);
    assert_null(strstr(text.data, "'mine'"));
    assert_non_null(strstr(text.data, "'other'"));
    base_buf_fini(&text);
    run_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_of_which_nothing_runs_is_told_what_is_missing),
        cmocka_unit_test(a_job_without_a_speed_there_is_told_so),
        cmocka_unit_test(one_job_that_runs_is_enough),
        cmocka_unit_test(kinds_that_nobody_knows_are_told_with_what_may_be_meant),
        cmocka_unit_test(kinds_with_a_price_or_a_job_are_known),
        cmocka_unit_test(kinds_on_which_a_model_has_a_speed_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
