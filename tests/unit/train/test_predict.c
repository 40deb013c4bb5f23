/* test_predict.c - models at work through the public functions: what is written and measured is what the model says,
 * and a failure leaves no output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shoal/predict.h"
#include "train/model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The parts of a model of mf, as src/app/mf_score.c lists them. */
struct shape {
    uint32_t version, algorithm, users, items, rank, unused;
    double mean;
};

struct world {
    char folder[40], model[64], data[64], output[64];
    shoal_env *env;
};

static const char *text_of(const char *path)
{
    static char text[400];
    FILE *in = fopen(path, "r");
    size_t size = in != NULL ? fread(text, 1, sizeof text - 1, in) : 0;

    if (in == NULL)
        return NULL;
    text[size] = '\0';
    fclose(in);
    return text;
}

static void write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");

    assert_non_null(out);
    assert_true(fputs(text, out) >= 0 && fclose(out) == 0);
}

/* Two users, two items, one factor: ann likes what has much of it, bob what has little. */
static void write_model(const struct world *w)
{
    static const struct shape shape = {.version = 1, .users = 2, .items = 2, .rank = 1, .mean = 3};
    static const float user_bias[] = {0.5F, 0}, item_bias[] = {0, -0.25F};
    static const float user_factors[] = {1, -1}, item_factors[] = {0.5F, 2};
    static const struct {
        const char *name;
        const void *bytes;
        size_t size;
    } parts[] = {{"shape", &shape, sizeof shape},
                 {"users", "ann\nbob\n", 8},
                 {"items", "x\ny\n", 4},
                 {"user_bias", user_bias, sizeof user_bias},
                 {"item_bias", item_bias, sizeof item_bias},
                 {"user_factors", user_factors, sizeof user_factors},
                 {"item_factors", item_factors, sizeof item_factors}};
    shoal_model *model = NULL;

    assert_int_equal(train_model_create(w->env, w->model, "mf", "rank=1\n", &model, NULL),
                     SHOAL_OK);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        assert_int_equal(shoal_model_put(model, parts[i].name, parts[i].bytes, parts[i].size, NULL),
                         SHOAL_OK);
    assert_int_equal(train_model_commit(model, NULL), SHOAL_OK);
}

static int set_up(void **state)
{
    static struct world w;

    strcpy(w.folder, "/tmp/shoal-predict-XXXXXX");
    assert_non_null(mkdtemp(w.folder));
    snprintf(w.model, sizeof w.model, "%s/model", w.folder);
    snprintf(w.data, sizeof w.data, "%s/data.csv", w.folder);
    snprintf(w.output, sizeof w.output, "%s/output", w.folder);
    assert_int_equal(shoal_env_real_new(&w.env, NULL), SHOAL_OK);
    write_model(&w);
    write_text(w.data, "ann,x,4\nann,y,5.5\nbob,y,1\n");
    *state = &w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    unlink(w->model);
    unlink(w->data);
    unlink(w->output);
    rmdir(w->folder);
    shoal_env_free(w->env);
    return 0;
}

static void predictions_are_lines_in_the_order_of_the_data(void **state)
{
    struct world *w = *state;
    const shoal_result *result = NULL;
    shoal_predict_opts opts;

    shoal_predict_opts_init(&opts);
    assert_string_equal(opts.output, "-");
    opts.output = w->output;
    assert_int_equal(shoal_predict(w->env, w->model, w->data, &opts, &result, NULL), SHOAL_OK);
    char *text = strdup(text_of(w->output)), *at = text;
    static const double expected[] = {3 + 0.5 + 0.5, 3 + 0.5 - 0.25 + 2, 3 - 0.25 - 2};
    for (size_t i = 0; i < 3; i++)
        assert_true(fabs(strtod(at, &at) - expected[i]) < 1e-6);
    assert_string_equal(at, "\n");
    free(text);
    shoal_result_free(result);
}

static void measures_are_those_of_the_predictions(void **state)
{
    struct world *w = *state;
    const shoal_result *result = NULL;

    assert_int_equal(shoal_eval(w->env, w->model, w->data, NULL, &result, NULL), SHOAL_OK);
    assert_string_equal(result->schema->name, "eval");
    assert_int_equal(result->records.count, 1);
    double rmse = shoal_result_number(result, 0, "rmse");
    assert_true(fabs(rmse - sqrt((0 + 0.25 * 0.25 + 0.25 * 0.25) / 3)) < 1e-6);
    assert_true(shoal_result_number(result, 0, "count") == 3);
    assert_non_null(strstr(result->verdict, "rmse "));
    shoal_result_free(result);
}

/* Whatever is wrong: the model, the data, or half-way in it; what was there before stays. */
static void a_failure_leaves_no_output(void **state)
{
    struct world *w = *state;
    const shoal_result *result = NULL;
    shoal_predict_opts opts;
    shoal_err err = SHOAL_ERR_INIT;

    shoal_predict_opts_init(&opts);
    opts.output = w->output;
    assert_int_equal(shoal_predict(w->env, "/nowhere", w->data, &opts, &result, &err),
                     SHOAL_E_NOTFOUND);
    assert_int_equal(shoal_predict(w->env, w->data, w->data, &opts, &result, &err), SHOAL_E_FORMAT);
    assert_null(text_of(w->output));
    write_text(w->output, "as before\n");
    write_text(w->data, "ann,x,4\nann\n");
    assert_int_equal(shoal_predict(w->env, w->model, w->data, &opts, &result, &err),
                     SHOAL_E_FORMAT);
    assert_non_null(strstr(err.message, w->data));
    assert_string_equal(text_of(w->output), "as before\n");
    assert_null(result);
}

static void an_input_is_not_written_over(void **state)
{
    struct world *w = *state;
    const shoal_result *result = NULL;
    shoal_predict_opts opts;
    shoal_err err = SHOAL_ERR_INIT;

    shoal_predict_opts_init(&opts);
    opts.output = w->data;
    assert_int_equal(shoal_predict(w->env, w->model, w->data, &opts, &result, &err), SHOAL_E_INVAL);
    assert_non_null(strstr(err.message, "it is also an input"));
    opts.output = NULL;
    assert_int_equal(shoal_predict(w->env, w->model, w->data, &opts, &result, &err), SHOAL_E_INVAL);
    assert_int_equal(shoal_predict(w->env, NULL, w->data, NULL, &result, &err), SHOAL_E_INVAL);
    assert_int_equal(shoal_eval(w->env, w->model, w->data, NULL, NULL, &err), SHOAL_E_INVAL);
}

/* Evaluation has the rows of prediction, but for the output. */
static void evaluation_has_no_output(void **state)
{
    size_t predict, eval;
    const shoal_opt *rows = shoal_predict_opt_rows(&predict), *fewer = shoal_eval_opt_rows(&eval);

    (void)state;
    assert_int_equal(predict, eval + 1);
    assert_string_equal(rows[0].name, "output");
    assert_ptr_equal(fewer, &rows[1]);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(predictions_are_lines_in_the_order_of_the_data),
        CASE(measures_are_those_of_the_predictions),
        CASE(a_failure_leaves_no_output),
        CASE(an_input_is_not_written_over),
        cmocka_unit_test(evaluation_has_no_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
