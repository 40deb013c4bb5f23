/* ctest: timeout=300 */
/* Models at work (shoal/predict.h): what is counted on the way, and that a stop ends it, in every application. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/app.h"
#include "shoal/gen.h"
#include "shoal/job.h"
#include "shoal/predict.h"
#include "train/model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *app, *data, *model, *set;
    uint64_t rows;
} MODELS[] = {
    {"logreg", "data.svm", "logreg.shoal", "epochs=3", 300},
    {"lasso", "data.svm", "lasso.shoal", "lambdas=5", 300},
    {"mf", "ratings.csv", "mf.shoal", "epochs=2", 2000},
    {"lda", "docword.txt", "lda.shoal", "iterations=2", 60},
};
enum { COUNT = sizeof MODELS / sizeof MODELS[0] };

static char folder[] = "/tmp/shoal-test-XXXXXX", home[600];
static shoal_env *env;

static int make_data(void)
{
    const shoal_result *made[3] = {NULL, NULL, NULL};
    shoal_gen_sparse_opts sparse;
    shoal_gen_ratings_opts ratings;
    shoal_gen_corpus_opts corpus;

    shoal_gen_sparse_opts_init(&sparse);
    sparse.rows = 300;
    sparse.columns = 40;
    sparse.to.output = "data.svm";
    shoal_gen_ratings_opts_init(&ratings);
    ratings.users = 50;
    ratings.items = 100;
    ratings.ratings = 2000;
    ratings.to.output = "ratings.csv";
    shoal_gen_corpus_opts_init(&corpus);
    corpus.documents = 60;
    corpus.words = 300;
    corpus.to.output = "docword.txt";
    int rc = shoal_gen_sparse(env, &sparse, NULL, &made[0], NULL) == SHOAL_OK &&
                     shoal_gen_ratings(env, &ratings, NULL, &made[1], NULL) == SHOAL_OK &&
                     shoal_gen_corpus(env, &corpus, NULL, &made[2], NULL) == SHOAL_OK
                 ? 0
                 : -1;
    for (int i = 0; i < 3; i++)
        shoal_result_free(made[i]);
    return rc;
}

static int make_models(void)
{
    shoal_err err = SHOAL_ERR_INIT;

    for (size_t i = 0; i < COUNT && err.code == SHOAL_OK; i++) {
        shoal_job *job = NULL;
        shoal_job_opts opts;
        shoal_job_opts_init(&opts);
        opts.program = getenv("SHOAL_BIN");
        opts.threads = 1;
        opts.model = MODELS[i].model;
        opts.sets = (shoal_opt_list){{MODELS[i].set}, 1};
        if (shoal_job_start(env, MODELS[i].app, MODELS[i].data, &opts, NULL, &job, &err) ==
                SHOAL_OK &&
            shoal_job_wait(job, (double)INFINITY, &err) != SHOAL_OK)
            print_error("%s: %s; %s\n", MODELS[i].app, err.message, err.hint);
        shoal_job_free(job);
    }
    return err.code == SHOAL_OK ? 0 : -1;
}

static int open_world(void **state)
{
    (void)state;
    if (getcwd(home, sizeof home) == NULL || mkdtemp(folder) == NULL || chdir(folder) != 0)
        return -1;
    setenv("XDG_RUNTIME_DIR", folder, 1);
    if (shoal_env_real_new(&env, NULL) != SHOAL_OK || make_data() != 0)
        return -1;
    return make_models();
}

static int close_world(void **state)
{
    char command[128];

    (void)state;
    shoal_env_free(env);
    if (chdir(home) != 0)
        return -1;
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

static uint64_t lines_of(const char *path)
{
    FILE *file = fopen(path, "r");
    uint64_t lines = 0;

    assert_non_null(file);
    for (int c = getc(file); c != EOF; c = getc(file))
        lines += c == '\n';
    (void)fclose(file);
    return lines;
}

static void rows_are_counted_to_the_last(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        shoal_watch *watch = shoal_watch_new();
        const shoal_result *result = NULL;
        shoal_predict_opts opts;
        shoal_err err = SHOAL_ERR_INIT;

        shoal_predict_opts_init(&opts);
        opts.output = "said";
        if (shoal_predict(env, MODELS[i].model, MODELS[i].data, &opts, watch, &result, &err) !=
            SHOAL_OK)
            fail_msg("%s: %s", MODELS[i].app, err.message);
        shoal_progress seen = shoal_watch_look(watch);
        assert_string_equal(seen.what, "rows");
        assert_int_equal(seen.total, MODELS[i].rows);
        assert_int_equal(seen.done, MODELS[i].rows);
        assert_int_equal(lines_of("said"), MODELS[i].rows);
        shoal_result_free(result);
        result = NULL;
        if (shoal_eval(env, MODELS[i].model, MODELS[i].data, NULL, watch, &result, &err) !=
            SHOAL_OK)
            fail_msg("%s: %s", MODELS[i].app, err.message);
        assert_int_equal(shoal_watch_look(watch).done, MODELS[i].rows);
        shoal_result_free(result);
        shoal_watch_free(watch);
        assert_int_equal(unlink("said"), 0);
    }
}

static void a_stopped_watch_leaves_no_predictions(void **state)
{
    const shoal_result *result = NULL;
    shoal_watch *watch = shoal_watch_new();
    shoal_predict_opts opts;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    shoal_watch_stop(watch);
    shoal_predict_opts_init(&opts);
    opts.output = "said";
    assert_int_equal(
        shoal_predict(env, MODELS[0].model, MODELS[0].data, &opts, watch, &result, &err),
        SHOAL_E_CANCELLED);
    assert_int_equal(access("said", F_OK), -1);
    assert_int_equal(shoal_eval(env, MODELS[0].model, MODELS[0].data, &opts, watch, &result, &err),
                     SHOAL_E_CANCELLED);
    assert_null(result);
    shoal_watch_free(watch);

    /* The env reads on for others. */
    assert_int_equal(shoal_eval(env, MODELS[0].model, MODELS[0].data, NULL, NULL, &result, &err),
                     SHOAL_OK);
    shoal_result_free(result);
}

/* ---- in the middle ---- */

struct stopped {
    uint64_t counted, lines;
};

static shoal_status hear_line(void *ctx, const char *line, shoal_err *err)
{
    struct stopped *s = ctx;

    (void)line, (void)err;
    s->lines++;
    return SHOAL_OK;
}

static void hear_metric(void *ctx, const char *name, double value)
{
    (void)ctx, (void)name, (void)value;
}

static shoal_status stop_at_once(void *ctx, uint64_t done, uint64_t total, shoal_err *err)
{
    struct stopped *s = ctx;

    (void)total, (void)err;
    s->counted = done;
    return SHOAL_E_CANCELLED;
}

static void every_application_ends_between_two_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * COUNT; i++) {
        const char *model_path = MODELS[i / 2].model;
        struct stopped seen = {.counted = UINT64_MAX};
        struct train_score_opts opts = {.path = MODELS[i / 2].data,
                                        .wants_lines = i % 2 == 0,
                                        .line = hear_line,
                                        .metric = hear_metric,
                                        .count = stop_at_once,
                                        .ctx = &seen};
        shoal_model *model = NULL;
        shoal_err err = SHOAL_ERR_INIT;

        assert_int_equal(shoal_model_open(env, model_path, &model, &err), SHOAL_OK);
        assert_int_equal(train_score(env, app_find(MODELS[i / 2].app), model, &opts, &err),
                         SHOAL_E_CANCELLED);
        assert_true(seen.counted < MODELS[i / 2].rows && seen.lines < MODELS[i / 2].rows);
        shoal_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_counted_to_the_last),
        cmocka_unit_test(a_stopped_watch_leaves_no_predictions),
        cmocka_unit_test(every_application_ends_between_two_rows),
    };
    return cmocka_run_group_tests(tests, open_world, close_world);
}
