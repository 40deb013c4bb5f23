/* test_cmd_study.c - the command and the library function say the same of a trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "world.h"

#include "base/buf.h"
#include "shoal/study.h"
#include <jansson.h>

static bool put(void *ctx, const char *text, size_t size)
{
    base_buf_append(ctx, text, size);
    return true;
}

/* Without what another run may tell otherwise. */
static json_t *comparable(const char *text)
{
    size_t index;
    json_t *run, *json = json_loads(text, 0, NULL);

    assert_non_null(json);
    assert_int_equal(json_object_del(json, "wall_s"), 0);
    json_array_foreach(json_object_get(json, "runs"), index, run)
        assert_int_equal(json_object_del(run, "cpu_s"), 0);
    return json;
}

static void the_function_and_the_command_say_the_same(void **state)
{
    struct world *w = *state;
    char path[100];
    const char *traces[] = {path};
    shoal_env *env = NULL;
    const shoal_result *result = NULL;
    shoal_study_opts opts;
    shoal_err err = SHOAL_ERR_INIT;
    struct base_buf out;

    snprintf(path, sizeof path, "%s/day.csv", w->folder);
    FILE *file = fopen(path, "w");
    fputs("name,submit_s,gpus,duration_s,group\n", file);
    for (unsigned i = 0; i < 60; i++)
        fprintf(file, "j%u,%u,%u,%u,g%u\n", i, i * 97 % 4000, 1 + i * 7 % 9, 60 + i * i, i % 3);
    fclose(file);
    assert_int_equal(WORLD_RUN(w, "study", path, "--cluster", "3x8:v100,2x2:t4", "--seed", "9",
                               "--set", "migrate=true", "--quotas", "g0=9,g1=9", "--draws", "2",
                               "--trial", "90s", "--json"),
                     0);

    shoal_study_opts_init(&opts);
    opts.traces = traces;
    opts.trace_count = 1;
    opts.cluster = "3x8:v100,2x2:t4";
    opts.seed = 9;
    opts.sets = (shoal_opt_list){{"migrate=true"}, 1};
    opts.quotas = "g0=9,g1=9";
    opts.draws = 2;
    opts.trial_s = 90;
    assert_int_equal(shoal_env_real_new(&env, &err), SHOAL_OK);
    if (shoal_study_run(env, &opts, NULL, &result, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    base_buf_init(&out, &base_alloc_libc, 1 << 24);
    assert_int_equal(shoal_result_json(result, put, &out, NULL), SHOAL_OK);
    json_t *said = comparable(w->out), *made = comparable(out.data);
    assert_true(json_equal(said, made));
    assert_int_equal(json_integer_value(json_object_get(made, "draws")), 2);

    assert_int_equal(WORLD_RUN(w, "study", path, "--cluster", "3x8:v100,2x2:t4", "--seed", "9",
                               "--set", "migrate=true", "--quotas", "g0=9,g1=9", "--draws", "2",
                               "--trial", "90s"),
                     0);
    for (size_t i = 0; i < result->note_count; i++)
        assert_non_null(strstr(w->err, result->notes[i].text));
    assert_non_null(strstr(w->out, result->heading));
    assert_non_null(strstr(w->out, result->verdict));
    json_decref(said);
    json_decref(made);
    base_buf_fini(&out);
    shoal_result_free(result);
    shoal_env_free(env);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_function_and_the_command_say_the_same, world_open,
                                        world_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
