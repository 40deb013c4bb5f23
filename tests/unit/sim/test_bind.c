/* Tests of src/sim/bind.c. */
#include "unit/sim/public_data.h"
#include "unit/sim/sim_world.h"

#include "sim/bind.h"
#include <math.h>

static const char table_json[] =
    "{\"V100\": {\"('ResNet-18 (batch size 32)', 1)\": {\"null\": 30, \"('A3C', 1)\": [20, 4]},"
    "            \"('ResNet-18 (batch size 32)', 4)\": {\"null\": 100},"
    "            \"('A3C', 1)\": {\"null\": 7.5, \"('ResNet-18 (batch size 32)', 1)\": [4, 20]}},"
    " \"v100_unconsolidated\": {\"('ResNet-18 (batch size 32)', 4)\": {\"null\": 60}},"
    " \"k80\": {\"('A3C', 1)\": {\"null\": 10}, \"(\\\"it's\\\", 2)\": {\"null\": 0}},"
    " \"tpu\": {\"('A3C', 1)\": {\"null\": 99}}}";

static shoal_status bind_text(shoal_env *env, const char *text, const char *spec,
                              const char *profiles, struct sched_cluster *c,
                              struct sim_trace **out_trace, shoal_err *err)
{
    world_put(env, "t.csv", text);
    *out_trace = world_load(env, "t.csv", SIM_FORMAT_AUTO);
    assert_int_equal(sched_cluster_parse(&base_alloc_libc, spec, c, err), SHOAL_OK);
    return sim_trace_bind(env, *out_trace, c, profiles, err);
}

static void durations_run_on_every_kind_with_enough_gpus_that_the_job_accepts(void **state)
{
    shoal_env *env = world_new();
    struct sim_trace *trace;
    struct sched_cluster c;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(bind_text(env,
                               "name,submit_s,gpus,duration_s,kinds,slo\n"
                               "a,10,1,60,,2\nb,10,9,60,,\nc,10,17,60,,\nd,10,1,60,A100,\n"
                               "e,10,9,60,T4,\nf,10,1,60,tpu|t4,\ng,10,1,60,tpu,\nh,10,8,60,,\n",
                               "2x4:t4,2x8:a100", NULL, &c, &trace, &err),
                     SHOAL_OK);
    const uint32_t expected[] = {3, 2, 0, 2, 0, 1, 0, 3};
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(trace->jobs[i].kinds, expected[i]);
        assert_true(trace->jobs[i].speed.work == 60);
    }
    assert_true(trace->jobs[0].deadline_s == 130); /* 10 + 2 x 60 */
    assert_true(isinf(trace->jobs[1].deadline_s));
    assert_int_equal(sim_trace_bind(env, trace, &c, NULL, &err), SHOAL_E_INVAL); /* once only */
    sim_trace_free(trace);
    sched_cluster_fini(&c);
    shoal_env_free(env);
}

#define STEPS "name,submit_s,gpus,model,steps,slo\n"

static void steps_run_where_the_table_has_a_rate(void **state)
{
    shoal_env *env = world_new();
    struct sim_trace *trace;
    struct sched_cluster c;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    world_put(env, "t.json", table_json);
    shoal_status st = bind_text(env,
                                STEPS "a,10,1,A3C,75,2\nb,10,4,ResNet-18 (batch size 32),1000,\n"
                                      "c,10,2,it's,5,\n",
                                "2x4:v100,2x1:K80,1x8:t4", "t.json", &c, &trace, &err);
    if (st != SHOAL_OK)
        fail_msg("%s", err.message);
    const struct sim_job *job = trace->jobs;
    assert_int_equal(job[0].kinds, 3);
    assert_int_equal(job[1].kinds, 1);
    assert_int_equal(job[2].kinds, 0); /* a rate of 0: it does not fit */
    assert_true(sched_model_ideal_s(&job[0].speed, &c, 1, 1, 0) == 7.5);
    assert_int_equal(sched_model_best_kind(&job[0].speed, &c, job[0].kinds, 1), 1);
    assert_true(job[0].deadline_s == 10 + 2 * 10); /* Gavel's duration: steps at the V100's rate */
    struct sched_place places[2] = {{0, 2}, {1, 2}};
    struct sched_alloc spread = {places, 2, 4, 0};
    double until;
    assert_true(fabs(sched_model_rate(&job[1].speed, &spread, NULL, 0, &until) - 60) < 1e-9);
    struct sched_alloc one = {places, 1, 1, 0};
    struct sched_model resnet = job[0].speed; /* row 0 is ResNet-18 on one GPU */
    resnet.row = 0;
    assert_true(fabs(sched_model_rate(&job[0].speed, &one, &resnet, 0, &until) - 4) < 1e-6);
    assert_true(fabs(sched_model_rate(&resnet, &one, &job[0].speed, 0, &until) - 20) < 1e-6);
    sim_trace_free(trace);
    sched_cluster_fini(&c);
    shoal_env_free(env);
}

static void refuses(const char *rows, const char *json, const char *profiles, shoal_status expected,
                    const char *message, const char *hint)
{
    shoal_env *env = world_new();
    struct sim_trace *trace;
    struct sched_cluster c;
    shoal_err err = SHOAL_ERR_INIT;

    if (json != NULL)
        world_put(env, "t.json", json);
    assert_int_equal(bind_text(env, rows, "2x4:v100,2x1:k80", profiles, &c, &trace, &err),
                     expected);
    if (strstr(err.message, message) == NULL || strstr(err.hint, hint) == NULL)
        fail_msg("expected '%s' and '%s' in '%s' and '%s'", message, hint, err.message, err.hint);
    sim_trace_free(trace);
    sched_cluster_fini(&c);
    shoal_env_free(env);
}

static void what_the_tables_do_not_know_is_named(void **state)
{
    (void)state;
    refuses(STEPS "a,0,1,A3,75,\n", table_json, "t.json", SHOAL_E_NOTFOUND,
            "cannot run job 'a': model 'A3' is not in 't.json'", "did you mean 'A3C'?");
    refuses(STEPS "a,0,2,ResNet-18 (batch size 32),75,\n", table_json, "t.json", SHOAL_E_NOTFOUND,
            "has no row for 2 GPUs", "rows for 1, 4 GPUs");
    refuses(STEPS "a,0,1,A3C,75,\n", NULL, NULL, SHOAL_E_INVAL, "needs a throughput table",
            "--profiles FILE.json");
    refuses("name,submit_s,gpus,model,batch\na,0,1,ncf,5\n", table_json, "t.json", SHOAL_E_INVAL,
            "needs a folder of profiles", "--profiles DIR");
    refuses(STEPS "a,0,1,A3C,75,\n", NULL, "t.json", SHOAL_E_NOTFOUND, "t.json", "");
}

static void a_job_of_centuries_is_refused(void **state)
{
    shoal_env *env = world_new();
    struct sim_trace *trace;
    struct sched_cluster c;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(bind_text(env, "name,submit_s,gpus,duration_s\na,0,1,60\nslow,0,1,2e9\n",
                               "1x1:t4", NULL, &c, &trace, &err),
                     SHOAL_E_LIMIT);
    assert_non_null(strstr(err.message, "'slow'"));
    sim_trace_free(trace);
    sched_cluster_fini(&c);
    shoal_env_free(env);
}

static void broken_tables_say_where(void **state)
{
    static const char job[] = STEPS "a,0,1,A3C,75,\n";
    static const struct {
        const char *json, *message;
    } cases[] = {
        {"", "empty file"},
        {"[1]", "expected an object of GPU types"},
        {"{\"v100\": {", "line 1, column"},
        {"{}", "expected at least one row"},
        {"{\"v100\": 5}", "expected an object of rows"},
        {"{\"v100\": {\"A3C\": {\"null\": 1}}}", "at \"A3C\": expected a row such as"},
        {"{\"v100\": {\"('A3C', 0)\": {\"null\": 1}}}", "expected a row such as"},
        {"{\"v100\": {\"('A3C', 1)\": {\"null\": -1}}}", "expected steps per second"},
        {"{\"v100\": {\"('A3C', 1)\": {\"null\": \"x\"}}}", "expected steps per second"},
        {"{\"v100\": {\"('A3C', 1)\": {\"('A3C', 1)\": [1]}}}", "expected two rates"},
        {"{\"v100\": {\"('A3C', 1)\": {\"('B', 1)\": [1, 2]}}}", "a row that has rates of its own"},
        {"{\"v100\": {\"('A3C', 1)\": {\"x\": [1, 2]}}}", "expected \"null\" or a row"},
        {"{\"v100\": {}, \"v100\": {}}", "duplicate"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refuses(job, cases[i].json, "t.json", SHOAL_E_FORMAT, cases[i].message, "");
    refuses(job, "{\"tpu\": {\"('A3C', 1)\": {\"null\": 1}}}", "t.json", SHOAL_E_INVAL,
            "none of the cluster's GPU kinds", "it knows tpu");
}

static shoal_status load_table(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    const struct base_alloc *own = env->alloc;
    struct sim_trace *trace = NULL;
    struct sched_cluster c;
    const char *path = "t.csv";

    env->alloc = alloc;
    shoal_status st = sched_cluster_parse(alloc, "2x4:v100,2x1:k80", &c, NULL);
    if (st == SHOAL_OK) {
        st = sim_trace_load(env, &path, 1, SIM_FORMAT_AUTO, &trace, NULL);
        if (st == SHOAL_OK)
            st = sim_trace_bind(env, trace, &c, "t.json", NULL);
        sim_trace_free(trace);
        sched_cluster_fini(&c);
    }
    env->alloc = own;
    return st;
}

static void every_failed_allocation_leaves_a_clean_error(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "t.csv", STEPS "a,10,1,A3C,75,2\n");
    world_put(env, "t.json", table_json);
    torture_run(load_table, env);
    shoal_env_free(env);
}

static void the_published_table_has_83_rows_and_binds_the_published_traces(void **state)
{
    struct public_data data;
    shoal_env *env = NULL;
    struct sched_cluster c;
    struct sim_throughput *tp = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    public_data_init(&data);
    const char *path = public_data_file(&data, "gavel/simulation_throughputs.json.xz", NULL);
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    assert_int_equal(sched_cluster_parse(&base_alloc_libc, "2x4:v100,4x4:p100,6x4:k80", &c, &err),
                     SHOAL_OK);
    if (sim_throughput_load(env, path, &c, &tp, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    assert_int_equal(tp->table.row_count, 83);
    assert_int_equal(tp->models.count, 26);
    int row = sim_throughput_row(tp, "ResNet-50 (batch size 128)", 4);
    assert_true(row >= 0);
    assert_true(sched_table_rate(&tp->table, (uint32_t)row, 0) == 7.029294087316617);
    assert_true(sched_table_rate(&tp->table, (uint32_t)row, 2) == 0); /* does not fit a K80 */
    for (uint32_t k = 0; k < 3; k++)
        assert_true(tp->table.spread[k].alone != NULL && tp->table.packed[k].pair != NULL);
    sim_throughput_free(tp);

    char table[512];
    strcpy(table, path);
    struct sim_trace *trace = world_load(
        env, public_data_file(&data, "gavel/max_min_fairness.trace", NULL), SIM_FORMAT_AUTO);
    assert_int_equal(sim_trace_bind(env, trace, &c, table, &err), SHOAL_OK);
    for (size_t i = 0; i < trace->job_count; i++)
        assert_true(trace->jobs[i].kinds != 0);
    sim_trace_free(trace);
    sched_cluster_fini(&c);
    shoal_env_free(env);
    public_data_fini(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_run_on_every_kind_with_enough_gpus_that_the_job_accepts),
        cmocka_unit_test(steps_run_where_the_table_has_a_rate),
        cmocka_unit_test(what_the_tables_do_not_know_is_named),
        cmocka_unit_test(a_job_of_centuries_is_refused),
        cmocka_unit_test(broken_tables_say_where),
        cmocka_unit_test(every_failed_allocation_leaves_a_clean_error),
        cmocka_unit_test(the_published_table_has_83_rows_and_binds_the_published_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
