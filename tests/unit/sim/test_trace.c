/* Tests of src/sim/trace.c, reader.c, trace_shoal.c and row.c: traces as values, and our own CSV.
 */
#include "unit/sim/sim_world.h"

#include "base/rand.h"
#include "property.h"
#include "sim/reader.h"
#include <math.h>
#include <stdio.h>

#define HEAD "#shoal-trace v1\nname,submit_s,gpus,duration_s\n"

static void same_number(double a, double b)
{
    if (!(a == b || (isnan(a) && isnan(b))))
        fail_msg("%.17g is not %.17g", a, b);
}

static const char *name_or_nothing(const struct sim_names *names, uint32_t index)
{
    return index == SIM_NONE ? "" : sim_names_get(names, index);
}

static void same_kinds(const struct sim_trace *a, uint64_t ka, const struct sim_trace *b,
                       uint64_t kb)
{
    assert_int_equal(__builtin_popcountll(ka), __builtin_popcountll(kb));
    for (uint32_t i = 0; i < 64; i++) {
        if ((ka >> i & 1) == 0)
            continue;
        const char *name = sim_names_get(&a->kinds, i);
        struct base_map_entry *e = base_map_find(&b->kinds.map, name, strlen(name));
        assert_non_null(e);
        assert_true(kb >> e->value & 1);
    }
}

static void same_traces(const struct sim_trace *a, const struct sim_trace *b)
{
    assert_int_equal(a->job_count, b->job_count);
    for (size_t i = 0; i < a->job_count; i++) {
        const struct sim_job *x = &a->jobs[i], *y = &b->jobs[i];
        assert_string_equal(x->name, y->name);
        same_number(x->submit_s, y->submit_s);
        same_number(x->duration_s, y->duration_s);
        same_number(x->steps, y->steps);
        same_number(x->weight, y->weight);
        same_number(x->deadline_s, y->deadline_s);
        same_number((double)x->slo, (double)y->slo);
        assert_int_equal(x->gpus, y->gpus);
        assert_int_equal(x->batch, y->batch);
        assert_int_equal(x->work, y->work);
        assert_int_equal(x->adapt, y->adapt);
        same_number(x->score, y->score);
        assert_string_equal(name_or_nothing(&a->apps, x->app), name_or_nothing(&b->apps, y->app));
        assert_string_equal(name_or_nothing(&a->models, x->model),
                            name_or_nothing(&b->models, y->model));
        assert_string_equal(sim_names_get(&a->groups, x->group),
                            sim_names_get(&b->groups, y->group));
        same_kinds(a, x->want_kinds, b, y->want_kinds);
    }
}

/* --- load(format(x)) == x ----------------------------------------------------------------------
 */

static double random_number(struct base_rand *r)
{
    switch (base_rand_below(r, 4)) {
    case 0: return (double)base_rand_below(r, 10);
    case 1: return (double)base_rand_below(r, 1000000);
    case 2: return base_rand_unit(r) * 1e-3;
    default: return base_rand_unit(r) * 4e11;
    }
}

static struct sim_trace *random_trace(struct base_rand *r)
{
    static const char *const texts[] = {"a",     "b c", "with,comma", "say \"hi\"",
                                        "#hash", "\"",  "é|x"};
    static const char *const kinds[] = {"v100", "T4", "A100", "k.80-x"};
    struct sim_trace *trace = NULL;
    size_t count = 1 + base_rand_below(r, 40);

    assert_int_equal(sim_trace_new(&base_alloc_libc, &trace), SHOAL_OK);
    for (size_t i = 0; i < count; i++) {
        struct sim_job job = sim_read_job();
        const char *text = texts[base_rand_below(r, 7)];
        char name[64];
        uint32_t index;
        snprintf(name, sizeof name, "%s%zu", text, i);
        job.name = name;
        job.submit_s = random_number(r);
        job.gpus = 1 + (uint32_t)base_rand_below(r, SIM_JOB_GPUS_MAX);
        job.work = (uint8_t)base_rand_below(r, 3);
        if (job.work != SIM_WORK_DURATION || base_rand_below(r, 3) == 0)
            assert_int_equal(sim_names_add(&trace->models, text, strlen(text), &job.model),
                             SHOAL_OK);
        if (job.work == SIM_WORK_DURATION)
            job.duration_s = random_number(r) + 1e-9;
        if (job.work == SIM_WORK_STEPS)
            job.steps = random_number(r) + 1e-9;
        if (base_rand_below(r, 2) == 0)
            job.batch = 1 + (uint32_t)base_rand_below(r, INT32_MAX);
        if (base_rand_below(r, 2) == 0)
            assert_int_equal(sim_names_add(&trace->groups, text, strlen(text), &job.group),
                             SHOAL_OK);
        if (base_rand_below(r, 2) == 0)
            job.weight = base_rand_unit(r) + 1e-3;
        if (base_rand_below(r, 3) == 0)
            job.deadline_s = job.submit_s + random_number(r);
        else if (base_rand_below(r, 2) == 0)
            job.slo = (float)(base_rand_unit(r) * 10 + 0.001);
        job.adapt = job.work == SIM_WORK_PROFILE ? (uint8_t)base_rand_below(r, SIM_ADAPT_COUNT)
                                                 : SIM_ADAPT_BATCH;
        if (base_rand_below(r, 2) == 0)
            assert_int_equal(sim_names_add(&trace->apps, text, strlen(text), &job.app), SHOAL_OK);
        if (job.app != SIM_NONE && base_rand_below(r, 2) == 0)
            job.score = random_number(r) - random_number(r);
        for (size_t k = 0; k < 4; k++) {
            if (base_rand_below(r, 3) != 0)
                continue;
            assert_int_equal(sim_names_add(&trace->kinds, kinds[k], strlen(kinds[k]), &index),
                             SHOAL_OK);
            job.want_kinds |= UINT64_C(1) << index;
        }
        assert_int_equal(sim_trace_add(trace, &job), SHOAL_OK);
    }
    sim_trace_finish(trace);
    return trace;
}

static void loading_what_was_written_gives_the_same_trace(void **state)
{
    struct base_rand r;

    (void)state;
    base_rand_init(&r, 1, "test.trace");
    for (int round = 0; round < property_count(200); round++) {
        shoal_env *env = world_new();
        struct sim_trace *trace = random_trace(&r);
        struct base_buf once, twice;
        base_buf_init(&once, &base_alloc_libc, 1 << 20);
        base_buf_init(&twice, &base_alloc_libc, 1 << 20);
        sim_trace_format(trace, &once);
        assert_int_equal(base_buf_status(&once), SHOAL_OK);
        world_put(env, "t.csv", once.data);
        struct sim_trace *back = world_load(env, "t.csv", SIM_FORMAT_AUTO);
        same_traces(trace, back);
        sim_trace_format(back, &twice);
        assert_int_equal(once.size, twice.size);
        sim_trace_free(back);
        sim_trace_free(trace);
        base_buf_fini(&once);
        base_buf_fini(&twice);
        shoal_env_free(env);
    }
}

/* --- our own CSV -------------------------------------------------------------------------------
 */

static void columns_may_stand_in_any_order_and_the_magic_line_may_be_missing(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "a.csv",
              "# a comment\r\n\r\ngpus,kinds,duration_s,submit_s,name\r\n"
              "2,v100|T4,90,5.5,\"one, two\"\r\n# more\r\n1,,1e3,0,#2");
    world_put(env, "b.csv", "gpus,kinds,duration_s,submit_s,name\n2,v100|T4,90,5.5,b\n1,,1e3,0,c");
    struct sim_trace *trace = world_load(env, "b.csv", SIM_FORMAT_AUTO);
    assert_string_equal(trace->format, "shoal");
    assert_int_equal(trace->job_count, 2);
    assert_string_equal(trace->jobs[0].name, "c"); /* sorted by submission */
    assert_int_equal(trace->jobs[1].want_kinds, 3);
    assert_string_equal(sim_names_get(&trace->groups, trace->jobs[0].group), "default");
    sim_trace_free(trace);
    trace = world_load(env, "a.csv", SIM_FORMAT_SHOAL);
    assert_string_equal(trace->jobs[1].name, "one, two");
    sim_trace_free(trace);
    shoal_env_free(env);
}

static void jobs_of_one_second_keep_the_order_of_the_file(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "a.csv", HEAD "z,5,1,1\ny,0,1,1\nx,5,1,1\nw,0,1,1\nv,5,1,1\n");
    struct sim_trace *trace = world_load(env, "a.csv", SIM_FORMAT_AUTO);
    char order[6] = "";
    for (size_t i = 0; i < 5; i++)
        order[i] = trace->jobs[i].name[0];
    assert_string_equal(order, "ywzxv");
    sim_trace_free(trace);
    shoal_env_free(env);
}

static void a_bad_line_says_file_line_column_and_what_was_expected(void **state)
{
    (void)state;
    world_refuses_text(HEAD "a,0,1,1h\n",
                       "cannot read trace 'a.csv', line 3, column 4: expected seconds, found '1h'",
                       "write 3600");
    world_refuses_text(HEAD "a,0,1,60\nb,-1,1,60\n",
                       "line 4, column 2: expected seconds of 0 or more", "");
    world_refuses_text(HEAD "a,nan,1,60\n", "column 2: expected seconds, found 'nan'", "");
    world_refuses_text(HEAD "a,inf,1,60\n", "column 2: expected seconds", "");
    world_refuses_text(HEAD "a,1e12,1,60\n", "column 2: expected seconds below 1e12", "");
    world_refuses_text(HEAD "a,0,0,60\n", "column 3: expected GPUs, a whole number from 1", "");
    world_refuses_text(HEAD "a,0,1.5,60\n", "column 3: expected GPUs", "");
    world_refuses_text(HEAD "a,0,100001,60\n", "column 3: expected GPUs", "");
    world_refuses_text(HEAD "a,0,1,0\n", "column 4: expected seconds above 0, found '0'", "");
    world_refuses_text(HEAD "a,0,1\n", "line 3: expected 4 fields, found 3", "");
    world_refuses_text(HEAD "a,0,1,6 0\n", "column 4: expected seconds, found '6 0'", "");
    world_refuses_text(HEAD ",0,1,60\n", "column 1: expected a job name, found nothing", "");
    world_refuses_text(HEAD "a,0,1,60\nb,0,1,5\na,9,1,60\n",
                       "line 5, column 1: expected a name of its own, but job 'a' is already in "
                       "'a.csv', line 3",
                       "");
}

static void a_bad_header_is_named(void **state)
{
    (void)state;
    world_refuses_text("#shoal-trace v2\nname,submit_s,gpus\n",
                       "line 1: expected '#shoal-trace v1'", "");
    world_refuses_text("#shoal-trace v1\nname,submit_s,gpu,duration_s\n",
                       "line 2: expected a header with a column 'gpus'", "is its 'gpu' meant?");
    world_refuses_text("#shoal-trace v1\nname,submit_s,duration_s\n", "with a column 'gpus'",
                       "must have name, submit_s, gpus");
    world_refuses_text("name,submit_s,gpus,name\n", "column 4: column 'name' is there twice", "");
    world_refuses_text("hello world\n", "expected a trace in a known format", "--format");
}

static void the_work_of_a_job_is_stated_exactly_once(void **state)
{
    (void)state;
    const char *head = "name,submit_s,gpus,duration_s,model,steps,batch,deadline_s,slo\n";
    static const struct {
        const char *row, *message;
    } cases[] = {
        {"a,0,1,,,,,,", "expected the work of the job"},
        {"a,0,1,60,m,5,,,", "column 6: expected duration_s or steps, found both"},
        {"a,0,1,,,5,,,", "expected the work of the job"},
        {"a,0,1,,m,0,,,", "column 6: expected steps above 0"},
        {"a,0,1,,m,,0,,", "column 7: expected a total batch"},
        {"a,5,1,60,,,,4,", "column 8: expected a deadline at or after submit_s"},
        {"a,5,1,60,,,,40,2", "column 9: expected deadline_s or slo, found both"},
        {"a,5,1,60,,,,,0", "column 9: expected a multiple"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s%s\n", head, cases[i].row);
        world_refuses_text(text, cases[i].message, "");
    }
}

static void only_trained_models_adapt_and_only_sweeps_have_scores(void **state)
{
    (void)state;
    const char *head = "name,submit_s,gpus,duration_s,model,steps,adapt,app,score\n";
    static const struct {
        const char *row, *message;
    } cases[] = {
        {"a,0,1,,m,,all,,", "column 7: expected what may be chosen for it: batch, size or none"},
        {"a,0,1,60,,,size,,", "column 7: only jobs with a model"},
        {"a,0,1,,m,5,batch,,", "column 7: only jobs with a model"},
        {"a,0,1,60,,,none,,1", "column 9: expected a score only beside the app"},
        {"a,0,1,60,,,,s,good", "column 9: expected a score, any number, found 'good'"},
        {"a,0,1,60,,,,s,inf", "column 9: expected a score, any number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s%s\n", head, cases[i].row);
        world_refuses_text(text, cases[i].message, "");
    }
}

static void an_empty_trace_is_an_error(void **state)
{
    (void)state;
    world_refuses_text("", "no jobs in it", "");
    world_refuses_text("\n\n", "no jobs in it", "");
    world_refuses_text(HEAD, "no jobs in it", "");
}

static void more_kinds_than_a_mask_holds_are_refused(void **state)
{
    char text[4096];
    size_t used = (size_t)snprintf(text, sizeof text, "name,submit_s,gpus,duration_s,kinds\n");

    (void)state;
    for (int i = 0; i < 65; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "j%d,0,1,1,k%d\n", i, i);
    world_refuses_text(text, "line 66, column 5: expected at most 64 different kinds", "");
    world_refuses_text("name,submit_s,gpus,duration_s,kinds\na,0,1,1,x|\n",
                       "column 5: expected kinds", "");
    world_refuses_text("name,submit_s,gpus,duration_s,kinds\na,0,1,1,x||y\n",
                       "column 5: expected the name of a kind, found nothing", "");
}

/* --- files -------------------------------------------------------------------------------------
 */

static void several_files_become_one_trace_and_clashing_names_say_where(void **state)
{
    shoal_env *env = world_new();
    struct sim_trace *trace = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    const char *paths[] = {"x/a.csv", "b.csv"};

    (void)state;
    world_put(env, "x/a.csv", HEAD "a,9,1,60\nb,1,1,60\n");
    world_put(env, "b.csv", HEAD "c,5,1,60\n");
    assert_int_equal(sim_trace_load(env, paths, 2, SIM_FORMAT_AUTO, &trace, &err), SHOAL_OK);
    assert_int_equal(trace->job_count, 3);
    assert_string_equal(trace->jobs[1].name, "c");
    sim_trace_free(trace);
    trace = NULL;
    world_put(env, "b.csv", HEAD "c,5,1,60\nb,5,1,60\n");
    assert_int_equal(sim_trace_load(env, paths, 2, SIM_FORMAT_AUTO, &trace, &err), SHOAL_E_FORMAT);
    assert_non_null(strstr(err.message, "'b.csv', line 4, column 1"));
    assert_non_null(strstr(err.message, "already in 'x/a.csv', line 4"));
    assert_null(trace);
    const char *twice[] = {"-", "-"};
    assert_int_equal(sim_trace_load(env, twice, 2, SIM_FORMAT_AUTO, &trace, &err), SHOAL_E_INVAL);
    const char *missing = "nowhere.csv";
    assert_int_equal(sim_trace_load(env, &missing, 1, SIM_FORMAT_AUTO, &trace, &err),
                     SHOAL_E_NOTFOUND);
    assert_null(trace);
    shoal_env_free(env);
}

static void the_hash_depends_on_every_byte(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "a.csv", HEAD "a,9,1,60\n");
    world_put(env, "b.csv", HEAD "a,9,1,61\n");
    struct sim_trace *a = world_load(env, "a.csv", SIM_FORMAT_AUTO);
    struct sim_trace *again = world_load(env, "a.csv", SIM_FORMAT_AUTO);
    struct sim_trace *b = world_load(env, "b.csv", SIM_FORMAT_AUTO);
    assert_int_equal(a->input_hash, again->input_hash);
    assert_int_not_equal(a->input_hash, b->input_hash);
    sim_trace_free(a);
    sim_trace_free(again);
    sim_trace_free(b);
    shoal_env_free(env);
}

static shoal_status load_and_format(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    const struct base_alloc *own = env->alloc;
    const char *paths[] = {"a.csv", "b.csv"};
    struct sim_trace *trace = NULL;
    struct base_buf out;

    env->alloc = alloc;
    base_buf_init(&out, alloc, 1 << 20);
    shoal_status st = sim_trace_load(env, paths, 2, SIM_FORMAT_AUTO, &trace, NULL);
    if (st == SHOAL_OK) {
        sim_trace_format(trace, &out);
        st = base_buf_status(&out);
    } else if (trace != NULL) {
        st = SHOAL_E_INTERNAL;
    }
    base_buf_fini(&out);
    sim_trace_free(trace);
    env->alloc = own;
    return st;
}

static void every_failed_allocation_leaves_a_clean_error(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "a.csv",
              "name,submit_s,gpus,duration_s,model,group,kinds\n"
              "a,9,1,60,m,g,k1|k2\nb,1,1,60,,,\nc,2,1,7,n,h,k3\n");
    world_put(env, "b.csv",
              "timestamp,duration,num_gpus,gpu_time,cluster\n"
              "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n");
    torture_run(load_and_format, env);
    shoal_env_free(env);
}

static void a_header_may_have_spaces_and_capitals(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "a.csv", "Name, Submit_S ,GPUS,Duration_s\na,5,2,60\n");
    struct sim_trace *trace = world_load(env, "a.csv", SIM_FORMAT_AUTO);
    assert_int_equal(trace->job_count, 1);
    assert_true(trace->jobs[0].submit_s == 5 && trace->jobs[0].duration_s == 60);
    assert_int_equal(trace->jobs[0].gpus, 2);
    sim_trace_free(trace);
    shoal_env_free(env);
}

static void a_header_of_no_format_is_shown_our_columns(void **state)
{
    (void)state;
    world_refuses_text("id,start,gpus,runtime\n1,2,3,4\n", "a known format",
                       "name,submit_s,gpus and duration_s");
    world_refuses_text("1,2,3,4\n", "a known format", "--format");
    world_refuses_text("name;submit_s;gpus;duration_s\na;0;1;5\n", "a known format",
                       "commas, not semicolons");
    world_refuses_text("name\tsubmit_s\tgpus\tduration_s\na\t0\t1\t5\n", "a known format",
                       "commas, not tabs");
    world_refuses_text("name,submit_s,gpus,length\na,0,1,5\n",
                       "expected the work of the job: duration_s",
                       "unknown columns are ignored: 'length' of 'a.csv'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loading_what_was_written_gives_the_same_trace),
        cmocka_unit_test(columns_may_stand_in_any_order_and_the_magic_line_may_be_missing),
        cmocka_unit_test(jobs_of_one_second_keep_the_order_of_the_file),
        cmocka_unit_test(a_bad_line_says_file_line_column_and_what_was_expected),
        cmocka_unit_test(a_bad_header_is_named),
        cmocka_unit_test(a_header_may_have_spaces_and_capitals),
        cmocka_unit_test(a_header_of_no_format_is_shown_our_columns),
        cmocka_unit_test(the_work_of_a_job_is_stated_exactly_once),
        cmocka_unit_test(only_trained_models_adapt_and_only_sweeps_have_scores),
        cmocka_unit_test(an_empty_trace_is_an_error),
        cmocka_unit_test(more_kinds_than_a_mask_holds_are_refused),
        cmocka_unit_test(several_files_become_one_trace_and_clashing_names_say_where),
        cmocka_unit_test(the_hash_depends_on_every_byte),
        cmocka_unit_test(every_failed_allocation_leaves_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
