/* Tests of src/sim/profile.c: folders of profiles, whole, broken, and with memory running out. */
#include "unit/sim/run_world.h"

#include "base/assert.h"
#include "sim/profile.h"

#define PLACEMENTS                              \
    "placement,local_bsz,step_time,sync_time\n" \
    "1,32,1,0\n1,64,2,0\n2,32,1.2,0.2\n2,64,2.2,0.2\n11,32,1.5,0.5\n11,64,2.5,0.5\n4,32,1.4,0.4\n"
#define SCALING                                              \
    "num_replicas,num_nodes,local_bsz,step_time,sync_time\n" \
    "8,2,32,3,1\n8,4,32,5,3\n1,1,32,99,99\n" /* one replica is measured above, and wins */
#define VALIDATION \
    "progress,iteration,metric,grad_sqr,grad_var\n100,100,0,1,3\n200,200,0,1,3\n300,300,0,1,3\n"
#define VALIDATION4 \
    "metric,grad_var,grad_sqr,progress,iteration\n0,3,1,110,50\n0,3,1,200,60\n0,3,1,310,90\n"

static void put_app(shoal_env *env)
{
    world_put(env, "p/net/placements.csv", PLACEMENTS);
    world_put(env, "p/net/scalability.csv", SCALING);
    world_put(env, "p/net/validation-32.csv", VALIDATION);
    world_put(env, "p/net/validation-128.csv", VALIDATION4);
    world_put(env, "p/net/notes.txt", "not a profile\n");
}

struct bound {
    struct run_world w;
    struct sim_profiles *profiles;
};

static void bound_init(struct bound *b, const char *spec)
{
    run_world_init(&b->w, spec);
    put_app(b->w.env);
    assert_int_equal(sim_profiles_open(b->w.env, "p", &b->w.cluster, &b->profiles, NULL), SHOAL_OK);
}

static void bound_fini(struct bound *b)
{
    sim_profiles_free(b->profiles);
    run_world_fini(&b->w);
}

static struct sched_model model_of(struct bound *b, uint32_t gpus, uint32_t batch,
                                   uint32_t *out_kinds)
{
    struct sched_model m;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = sim_profiles_bind(b->profiles, "net", gpus, batch, &m, out_kinds, &err);

    if (st != SHOAL_OK)
        fail_msg("%s", err.message);
    return m;
}

/* Step time on places, one digit per node. */
static double step_on(const struct sched_model *m, const char *digits, double local)
{
    const struct sched_profile *p = m->data;
    struct sched_place places[16];
    uint32_t count = 0;
    double step, sync;

    for (; digits[count] != '\0'; count++)
        places[count] = (struct sched_place){count, (uint32_t)(digits[count] - '0')};
    return sched_profile_step(&p->kinds[0], places, count, local, &step, &sync) ? step : -1;
}

static void measured_points_are_given_back(void **state)
{
    struct bound b;
    uint32_t kinds;

    (void)state;
    bound_init(&b, "4x4:t4");
    struct sched_model m = model_of(&b, 1, 32, &kinds);
    assert_int_equal(kinds, 1);
    run_near(step_on(&m, "1", 32), 1, 0);
    run_near(step_on(&m, "1", 48), 1.5, 1e-12);
    run_near(step_on(&m, "2", 64), 2.2, 0);
    run_near(step_on(&m, "11", 64), 2.5, 0);
    run_near(step_on(&m, "44", 32), 3, 0);      /* from the scaling runs: 8 on 2 nodes */
    run_near(step_on(&m, "332", 32), 4, 1e-12); /* between 2 and 4 nodes */
    run_near(step_on(&m, "3", 32), 1.3, 1e-12); /* a number nobody measured: between 2 and 4 */
    assert_true(step_on(&m, "4441", 32) < 0);   /* more than anybody measured */
    bound_fini(&b);
}

static void work_is_the_least_progress_of_the_validated_batches(void **state)
{
    struct bound b;
    uint32_t kinds;

    (void)state;
    bound_init(&b, "4x4:t4");
    struct sched_model m = model_of(&b, 1, 32, &kinds);
    const struct sched_profile *p = m.data;
    assert_true(m.work == 300);
    assert_int_equal(p->epochs, 3);
    assert_true(p->progress_end[0] == 100 && p->progress_end[1] == 200);
    assert_true(p->batch_initial == 32 && p->batch_max == 128 && p->validated_count == 2);
    run_near(sched_model_ideal_s(&m, &b.w.cluster, 0, 1, 0), 300,
             1e-9); /* a step a second, each counts 1 */
    m = model_of(&b, 2, 64, &kinds);
    /* 32 each on one node: 1.2 s; twice the batch counts (3 + 1) / (3 / 2 + 1) = 1.6 */
    run_near(sched_model_ideal_s(&m, &b.w.cluster, 0, 2, 0), 300 / 1.6 * 1.2, 1e-9);
    bound_fini(&b);
}

static void a_size_without_measurements_runs_nowhere(void **state)
{
    struct bound b;
    uint32_t kinds = 7;

    (void)state;
    bound_init(&b, "8x4:t4");
    model_of(&b, 8, 64, &kinds);
    assert_int_equal(kinds, 1);
    model_of(&b, 16, 64, &kinds);
    assert_int_equal(kinds, 0);
    model_of(&b, 33, 64, &kinds); /* nor on fewer GPUs than it wants */
    assert_int_equal(kinds, 0);
    bound_fini(&b);
}

static void a_job_of_such_a_size_is_rejected_by_the_run(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "8x4:t4");
    put_app(w.env);
    run_world_csv(
        &w, "#shoal-trace v1\nname,submit_s,gpus,model,batch\na,0,16,net,64\nb,0,2,net,64\n", "p");
    struct sim_result *r = run_world_policy(&w, "tiresias");
    assert_int_equal(r->metrics.rejected, 1);
    run_near(r->jobs[1].finish_s, 30 + 225, 1.5); /* whole seconds per epoch */
    sim_result_free(r);
    run_world_fini(&w);
}

static void kinds_have_profiles_of_their_own(void **state)
{
    struct bound b;
    uint32_t kinds;

    (void)state;
    bound_init(&b, "1x4:rtx,1x4:t4,1x4:k80,1x4:A100");
    world_put(b.w.env, "p/net/placements-rtx.csv",
              "placement,local_bsz,step_time,sync_time\n1,32,0.5,0\n");
    world_put(b.w.env, "p/net/placements-dgx-ext.csv",
              "placement,local_bsz,step_time,sync_time\n1,32,0.1,0\n");
    struct sched_model m = model_of(&b, 1, 32, &kinds);
    assert_int_equal(kinds, 1u << 0 | 1u << 1 | 1u << 3);
    assert_int_equal(sched_model_best_kind(&m, &b.w.cluster, kinds, 1), 3);
    bound_fini(&b);
}

/* Replaces one file of the folder; binding must fail with these words. */
static void refuses(const char *file, const char *text, shoal_status status, const char *words)
{
    struct bound b;
    struct sched_model m = {.work = 17};
    uint32_t kinds = 17;
    shoal_err err = SHOAL_ERR_INIT;
    char path[64];

    bound_init(&b, "4x4:t4");
    snprintf(path, sizeof path, "p/net/%s", file);
    world_put(b.w.env, path, text);
    assert_int_equal(sim_profiles_bind(b.profiles, "net", 1, 32, &m, &kinds, &err), status);
    assert_int_equal(err.code, status);
    assert_true(m.work == 17 && kinds == 17);
    if (strstr(err.message, words) == NULL)
        fail_msg("expected '%s' in '%s'", words, err.message);
    bound_fini(&b);
}

static void bad_files_are_refused_with_line_and_column(void **state)
{
    (void)state;
    refuses("placements.csv", "", SHOAL_E_FORMAT, "placements.csv': it is empty");
    refuses("placements.csv", "placement,local_bsz,step_time,sync_time\n", SHOAL_E_FORMAT,
            "expected rows");
    refuses("placements.csv", "placement,local_bsz,step_time\n1,32,1\n", SHOAL_E_FORMAT,
            "'sync_time'");
    refuses("placements.csv", "placement,local_bsz,step_time,sync_time,Step_Time\n1,32,1,0,1\n",
            SHOAL_E_FORMAT, "line 1, column 5: column 'step_time' is there twice");
    refuses("placements.csv", "placement,local_bsz,step_time,sync_time\n1,32,,0\n", SHOAL_E_FORMAT,
            "line 2, column 3: expected step_time above 0, found nothing");
    refuses("placements.csv", "placement,local_bsz,step_time,sync_time\n1,32,fast,0\n",
            SHOAL_E_FORMAT, "line 2, column 3: expected step_time above 0, found 'fast'");
    refuses("placements.csv", "placement,local_bsz,step_time,sync_time\n1,32,0,0\n", SHOAL_E_FORMAT,
            "'0'");
    refuses("placements.csv", "placement,local_bsz,step_time,sync_time\n1,32,nan,0\n",
            SHOAL_E_FORMAT, "'nan'");
    refuses("placements.csv", "placement,local_bsz,step_time,sync_time\n1,32,-1,0\n",
            SHOAL_E_FORMAT, "'-1'");
    refuses("placements.csv", "placement,local_bsz,step_time,sync_time\n1,0,1,0\n", SHOAL_E_FORMAT,
            "expected local_bsz, a whole number from 1");
    refuses("placements.csv", "placement,local_bsz,step_time,sync_time\n1,1e300,1,0\n",
            SHOAL_E_FORMAT, "1e300");
    refuses("placements.csv", "placement,local_bsz,step_time,sync_time\n1.5,1,1,0\n",
            SHOAL_E_FORMAT, "1.5");
    refuses("placements.csv", "placement,local_bsz,step_time,sync_time\n101,1,1,0\n",
            SHOAL_E_FORMAT, "digits from 1 to 9");
    refuses("placements.csv", "placement,local_bsz,step_time,sync_time\n1,1\n", SHOAL_E_FORMAT,
            "line 2");
    refuses("scalability.csv",
            "num_nodes,num_replicas,local_bsz,step_time,sync_time\n1e30,1,1,1,1\n", SHOAL_E_FORMAT,
            "scalability.csv");
    refuses("validation-64.csv", "progress,grad_sqr,grad_var\n1,0,0\n", SHOAL_E_FORMAT, "all 0");
    refuses("validation-64.csv", "progress,grad_sqr,grad_var\n0,1,1\n", SHOAL_E_FORMAT, "progress");
    refuses("validation-64.csv", "progress,grad_sqr,grad_var\n5,1,1\n4,1,1\n", SHOAL_E_FORMAT,
            "progress must grow");
}

static void unknown_applications_are_named(void **state)
{
    static const char *const wrong[] = {"nett", "", ".", "..", "../p/net", "net/", "/"};
    struct bound b;
    struct sched_model m;
    uint32_t kinds;

    (void)state;
    bound_init(&b, "4x4:t4");
    for (size_t i = 0; i < BASE_COUNT(wrong); i++) {
        shoal_err err = SHOAL_ERR_INIT;
        assert_int_equal(sim_profiles_bind(b.profiles, wrong[i], 1, 32, &m, &kinds, &err),
                         SHOAL_E_NOTFOUND);
        assert_non_null(strstr(err.message, "unknown model"));
    }
    bound_fini(&b);

    shoal_err err = SHOAL_ERR_INIT;
    bound_init(&b, "4x4:h100");
    assert_int_equal(sim_profiles_bind(b.profiles, "net", 1, 32, &m, &kinds, &err),
                     SHOAL_E_NOTFOUND);
    assert_non_null(strstr(err.message, "no step times for a GPU kind of this cluster"));
    assert_non_null(strstr(err.hint, "t4"));
    bound_fini(&b);
}

static void a_folder_without_validation_or_with_too_much_is_refused(void **state)
{
    struct run_world w;
    struct sim_profiles *profiles = NULL;
    struct sched_model m;
    uint32_t kinds;
    shoal_err err = SHOAL_ERR_INIT;
    char path[1100];

    (void)state;
    run_world_init(&w, "4x4:t4");
    world_put(w.env, "p/bare/placements.csv", PLACEMENTS);
    assert_int_equal(sim_profiles_open(w.env, "p", &w.cluster, &profiles, NULL), SHOAL_OK);
    assert_int_equal(sim_profiles_bind(profiles, "bare", 1, 32, &m, &kinds, &err), SHOAL_E_FORMAT);
    assert_non_null(strstr(err.message, "no validation-BATCH.csv"));
    for (int i = 1; i <= 65; i++) {
        snprintf(path, sizeof path, "p/many/validation-%d.csv", i);
        world_put(w.env, path, VALIDATION);
    }
    assert_int_equal(sim_profiles_bind(profiles, "many", 1, 32, &m, &kinds, &err), SHOAL_E_LIMIT);
    sim_profiles_free(profiles);
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_equal(sim_profiles_open(w.env, path, &w.cluster, &profiles, &err), SHOAL_E_LIMIT);
    run_world_fini(&w);
}

/* --- memory --- */

static shoal_status load_and_bind(const struct base_alloc *alloc, void *ctx)
{
    struct run_world *w = ctx;
    const struct base_alloc *own = w->env->alloc;
    struct sim_trace *trace = NULL;
    const char *path = "t.csv";

    w->env->alloc = alloc;
    shoal_status st = sim_trace_load(w->env, &path, 1, SIM_FORMAT_SHOAL, &trace, NULL);
    if (st == SHOAL_OK)
        st = sim_trace_bind(w->env, trace, &w->cluster, "p", NULL);
    if (st == SHOAL_OK && (trace->jobs[0].kinds == 0 || trace->jobs[2].kinds == 0))
        st = SHOAL_E_INTERNAL;
    sim_trace_free(trace);
    w->env->alloc = own;
    return st;
}

static void every_failed_allocation_ends_binding_cleanly(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "2x4:t4,1x4:rtx");
    put_app(w.env);
    world_put(w.env, "p/net/placements-rtx.csv",
              "placement,local_bsz,step_time,sync_time\n1,32,0.5,0\n");
    world_put(w.env, "p/other/placements.csv", PLACEMENTS);
    world_put(w.env, "p/other/validation-8.csv", VALIDATION);
    world_put(
        w.env, "t.csv",
        "#shoal-trace v1\nname,submit_s,gpus,model,batch,duration_s\na,0,1,net,32,\nb,0,2,net,,\n"
        "c,1,4,other,8,\nd,2,1,,,40\n");
    torture_run(load_and_bind, &w);
    run_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_points_are_given_back),
        cmocka_unit_test(work_is_the_least_progress_of_the_validated_batches),
        cmocka_unit_test(a_size_without_measurements_runs_nowhere),
        cmocka_unit_test(a_job_of_such_a_size_is_rejected_by_the_run),
        cmocka_unit_test(kinds_have_profiles_of_their_own),
        cmocka_unit_test(bad_files_are_refused_with_line_and_column),
        cmocka_unit_test(unknown_applications_are_named),
        cmocka_unit_test(a_folder_without_validation_or_with_too_much_is_refused),
        cmocka_unit_test(every_failed_allocation_ends_binding_cleanly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
