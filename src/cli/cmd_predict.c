/* cmd_predict.c - `shoal predict MODEL DATA` and `shoal eval MODEL DATA`: a model at work.
 * Tests: tests/cli/test_train_*.py, tests/cli/transcripts/lda_words.txt. */
#include "cli/cli.h"

#include "cli/report.h"
#include "shoal/predict.h"

static int run_predict(struct cli_context *cx, const void *values, const char *const *args,
                       size_t arg_count)
{
    shoal_predict_opts opts = *(const shoal_predict_opts *)values;
    const shoal_result *result = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    opts.struct_size = sizeof opts;
    cli_memory_watch(cx, opts.spill);
    cx->streams = cli_report_to_stdout(opts.output);
    shoal_watch *watch = cli_watch(cx);
    cx->streams = true; /* nothing but the predictions is shown */
    shoal_status st = shoal_predict(cx->env, args[0], args[1], &opts, watch, &result, &err);
    return cli_finish(cx, st, result, values, args, arg_count, &err);
}

static int run_eval(struct cli_context *cx, const void *values, const char *const *args,
                    size_t arg_count)
{
    shoal_predict_opts opts = *(const shoal_predict_opts *)values;
    const shoal_result *result = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    opts.struct_size = sizeof opts;
    cli_memory_watch(cx, opts.spill);
    shoal_status st = shoal_eval(cx->env, args[0], args[1], &opts, cli_watch(cx), &result, &err);
    return cli_finish(cx, st, result, values, args, arg_count, &err);
}

const struct cli_command cli_cmd_predict = {
    .name = "predict",
    .usage = "[options] MODEL DATA",
    .summary = "Predict with a model, a line for each row of DATA.",
    .description =
        "DATA has the form that the model was trained on; labels or ratings in it are ignored.\n\n"
        "A line of 'lda' is a document's topics by falling share, TOPIC:SHARE, down to 0.01, and "
        "other:SHARE for all the rest; '-' for a document without a word that the model knows.",
    .example = "predict model.shoal data.svm",
    .opts_of = shoal_predict_opt_rows,
    .values_size = sizeof(shoal_predict_opts),
    .arg_min = 2,
    .arg_max = 2,
    .arg_complete = "file",
    .run = run_predict,
};

const struct cli_command cli_cmd_eval = {
    .name = "eval",
    .usage = "[options] MODEL DATA",
    .summary = "Say how well a model predicts what is known of DATA.",
    .description =
        "A line for each measure. What nothing in DATA tells, such as the accuracy where the model "
        "has seen no label of it, is 'unknown', and null with --json.",
    .example = "eval model.shoal test.svm",
    .opts_of = shoal_eval_opt_rows,
    .schema_of = shoal_eval_schema,
    .values_size = sizeof(shoal_predict_opts),
    .arg_min = 2,
    .arg_max = 2,
    .arg_complete = "file",
    .json = true,
    .run = run_eval,
};
