/* cmd_predict.c - `shoal predict MODEL DATA` and `shoal eval MODEL DATA`: a model at work.
 * Tests: tests/cli/test_train_*.py, tests/cli/transcripts/lda_words.txt. */
#include "cli/cli.h"

#include "base/err.h"
#include "base/event.h"
#include "base/text.h"
#include "cli/apps.h"
#include "cli/memory.h"
#include "cli/output.h"
#include "train/model.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { METRICS_MAX = 32 };

struct values {
    const char *output; /* of predict */
    const char *spill;
};

#define SPILL_ROW                                                                 \
    {                                                                             \
        .name = "spill", .type = BASE_OPT_STR, .meta = "DIR",                     \
        .help = "keep data in files of this folder, for data larger than memory", \
        .complete = "dir", .offset = offsetof(struct values, spill)               \
    }

static const struct base_opt predict_rows[] = {
    {.name = "output",
     .letter = 'o',
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .fallback = "-",
     .help = "write the predictions there",
     .complete = "file",
     .offset = offsetof(struct values, output)},
    SPILL_ROW,
};

static const struct base_opt eval_rows[] = {SPILL_ROW};

struct sink {
    struct env_out *out;
    const char *name[METRICS_MAX];
    double value[METRICS_MAX];
    size_t count;
};

static shoal_status put_line(void *ctx, const char *line, shoal_err *err)
{
    struct sink *sink = ctx;
    shoal_status st = env_append(sink->out, line, strlen(line), err);

    return st == SHOAL_OK ? env_append(sink->out, "\n", 1, err) : st;
}

static void put_metric(void *ctx, const char *name, double value)
{
    struct sink *sink = ctx;

    if (sink->count < METRICS_MAX) {
        sink->name[sink->count] = name;
        sink->value[sink->count++] = value;
    }
}

/* args: the model and the data. */
static shoal_status score(const struct cli_context *cx, const struct values *v,
                          const char *const *args, bool lines, struct sink *sink, shoal_err *err)
{
    struct train_score_opts opts = {args[1], lines, put_line, put_metric, sink};
    const shoal_app *app = NULL;
    shoal_model *model = NULL;
    shoal_status st = cli_memory_start(cx, v->spill, args[1], 1, err);

    if (st == SHOAL_OK)
        st = shoal_model_open(cx->env, args[0], &model, err);
    if (st == SHOAL_OK) {
        app = cli_app_find(shoal_model_app(model), err);
        st = app != NULL ? train_score(cx->env, app, model, &opts, err) : SHOAL_E_NOTFOUND;
    }
    shoal_model_free(model);
    cli_memory_explain(cx, v->spill, st, err);
    return st;
}

/* Lines that say nothing: of documents of another form than the model's nearly all are. */
static void warn_of_unknown(const struct cli_context *cx, const char *data, const struct sink *sink)
{
    double all = 0, unknown = 0;
    char text[32], other[32];

    for (size_t i = 0; i < sink->count; i++) {
        if (strcmp(sink->name[i], "documents") == 0)
            all = sink->value[i];
        if (strcmp(sink->name[i], "unknown_documents") == 0)
            unknown = sink->value[i];
    }
    if (unknown > 0 && unknown == all)
        base_log(
            &cx->log, BASE_LOG_WARN,
            "no document of '%s' has a word that the model knows: is it the kind of data that the "
            "model was trained on?",
            data);
    else if (unknown > 0)
        base_log(&cx->log, BASE_LOG_WARN,
                 "%s of %s documents without a word that the model knows: '-'",
                 base_format_count((uint64_t)unknown, text, sizeof text),
                 base_format_count((uint64_t)all, other, sizeof other));
}

static int run_predict(struct cli_context *cx, const void *values, const char *const *args,
                       size_t arg_count)
{
    const struct values *v = values;
    struct sink sink = {.out = NULL};
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = cli_output_check(cx, v->output, args, arg_count, &err);

    if (st == SHOAL_OK)
        st = env_create(cx->env, v->output, &sink.out, &err);
    if (st != SHOAL_OK)
        return cli_fail(cx, st, &err);
    st = score(cx, v, args, true, &sink, &err);
    if (st == SHOAL_OK)
        st = env_commit(sink.out, &err);
    else
        env_discard(sink.out);
    if (st == SHOAL_E_IO && strcmp(v->output, "-") == 0 && cli_output_unread(cx->out))
        return 1;
    if (st == SHOAL_OK)
        warn_of_unknown(cx, args[1], &sink);
    return st == SHOAL_OK ? 0 : cli_fail(cx, st, &err);
}

/* Counts are counted out. */
static const char *format_metric(double value, char *text, size_t size)
{
    bool whole = value == floor(value) && fabs(value) < 1e15;

    snprintf(text, size, isnan(value) ? "unknown" : whole ? "%.0f" : "%.6g", value);
    return text;
}

static int run_eval(struct cli_context *cx, const void *values, const char *const *args,
                    size_t arg_count)
{
    struct sink sink = {.out = NULL};
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = score(cx, values, args, false, &sink, &err);
    struct base_buf out;
    char text[32];
    int rc;

    (void)arg_count;
    if (st != SHOAL_OK)
        return cli_fail(cx, st, &err);
    base_buf_init(&out, env_alloc(cx->env), 1 << 16);
    if (cx->json)
        base_buf_puts(&out, "{\"v\":1");
    for (size_t i = 0; i < sink.count; i++) {
        if (cx->json) {
            base_buf_printf(&out, ",\"%s\":", sink.name[i]);
            base_json_f64(&out, sink.value[i]);
        } else {
            base_buf_printf(&out, "%s %s\n", sink.name[i],
                            format_metric(sink.value[i], text, sizeof text));
        }
    }
    if (cx->json)
        base_buf_puts(&out, "}\n");
    rc = cli_print(cx, &out);
    base_buf_fini(&out);
    return rc;
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
    .opts = predict_rows,
    .opt_count = sizeof predict_rows / sizeof predict_rows[0],
    .values_size = sizeof(struct values),
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
    .opts = eval_rows,
    .opt_count = sizeof eval_rows / sizeof eval_rows[0],
    .values_size = sizeof(struct values),
    .arg_min = 2,
    .arg_max = 2,
    .arg_complete = "file",
    .json = true,
    .run = run_eval,
};
