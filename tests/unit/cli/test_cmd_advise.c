/* test_cmd_advise.c - the command and the library function say the same of runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "world.h"

#include "base/buf.h"
#include "shoal/advise.h"
#include <jansson.h>
#include <math.h>

static bool put(void *ctx, const char *text, size_t size)
{
    base_buf_append(ctx, text, size);
    return true;
}

static void write_runs(const char *path)
{
    FILE *file = fopen(path, "w");

    fputs("algorithm,machines,iteration,time_s,loss\n", file);
    for (int m = 1; m <= 16; m *= 4)
        for (int i = 0; i < 50; i++) {
            double at = i * (0.02 + 1.0 / m + 0.002 * m);
            fprintf(file, "sdca,%d,%d,%.9g,%.9g\n", m, i, at, 0.2 + 0.5 * exp(-0.1 / sqrt(m) * i));
            fprintf(file, "sgd,%d,%d,%.9g,%.9g\n", m, i, at, 0.2 + 0.5 * exp(-0.05 * i));
        }
    fclose(file);
}

/* What a call printed is the result of the same options: JSON and CSV byte for byte, words and notes in full. */
static void assert_same(struct world *w, const char *path, const shoal_advise_opts *opts,
                        const char *const *words, size_t count)
{
    static const char *const forms[] = {"--json", "--csv", NULL};
    const shoal_result *result = NULL;
    const char *argv[24] = {"advise", path};
    shoal_env *env = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    assert_int_equal(shoal_env_real_new(&env, &err), SHOAL_OK);
    if (shoal_advise_run(env, opts, NULL, &result, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    memcpy(argv + 2, words, count * sizeof *words);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct base_buf out;
        argv[2 + count] = forms[i];
        assert_int_equal(world_run(w, argv), 0);
        base_buf_init(&out, &base_alloc_libc, 1 << 24);
        if (i == 0)
            assert_int_equal(shoal_result_json(result, put, &out, NULL), SHOAL_OK);
        else if (i == 1)
            assert_int_equal(shoal_result_csv(result, put, &out, NULL), SHOAL_OK);
        if (forms[i] != NULL)
            assert_string_equal(w->out, out.data);
        base_buf_fini(&out);
    }
    assert_non_null(strstr(w->out, result->heading));
    assert_non_null(strstr(w->out, result->verdict));
    for (size_t i = 0; i < result->note_count; i++)
        assert_non_null(strstr(w->err, result->notes[i].text));
    shoal_result_free(result);
    shoal_env_free(env);
}

static void the_function_and_the_command_say_the_same(void **state)
{
    static const char *const to_loss[] = {"--target", "0.22", "--machines", "1,2,4,8", "--price",
                                          "0.4",      "-d",   "20s",        "-s",      "7"};
    static const char *const to_best[] = {"--within", "2%", "--best", "0.199", "--start", "3s"};
    static const char *const plan[] = {"--plan", "--budget", "40", "-m", "1-8"};
    struct world *w = *state;
    char path[100];
    const char *runs[] = {path};
    shoal_advise_opts opts;

    snprintf(path, sizeof path, "%s/runs.csv", w->folder);
    write_runs(path);
    shoal_advise_opts_init(&opts);
    opts.runs = runs;
    opts.run_count = 1;
    opts.target = "0.22";
    opts.machines = "1,2,4,8";
    opts.price = 0.4;
    opts.deadline = "20s";
    opts.seed = 7;
    assert_same(w, path, &opts, to_loss, sizeof to_loss / sizeof to_loss[0]);

    shoal_advise_opts_init(&opts);
    opts.runs = runs;
    opts.run_count = 1;
    opts.within = "2%";
    opts.best = "0.199";
    opts.start_s = 3;
    assert_same(w, path, &opts, to_best, sizeof to_best / sizeof to_best[0]);

    shoal_advise_opts_init(&opts);
    opts.runs = runs;
    opts.run_count = 1;
    opts.plan = true;
    opts.budget = 40;
    opts.machines = "1-8";
    assert_same(w, path, &opts, plan, sizeof plan / sizeof plan[0]);
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
