/* predict.c - the public face of models at work (shoal/predict.h): lines to a file, measures to a result.
 *
 * Which measures there are is the application's; the schema of a result is made of them.
 * Tests: tests/cli/test_train_*.py, tests/cli/transcripts/{train,lda_words}.txt, tests/unit/train/test_predict.c. */
#include "shoal/predict.h"

#include "app/app.h"
#include "base/assert.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/text.h"
#include "base/watch.h"
#include "env/system.h"
#include "page/make.h"
#include "train/model.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { METRICS_MAX = 32 };

#define AT(member) offsetof(shoal_predict_opts, member)

static const shoal_opt rows[] = {
    {AT(output), SHOAL_OPT_STR, "output", 'o', "FILE", "-", "write the predictions there",
     .complete = "file"},
    {AT(spill), SHOAL_OPT_STR, "spill", 0, "DIR", NULL,
     "keep data in files of this folder, for data larger than memory", .complete = "dir"},
};

const shoal_opt *shoal_predict_opt_rows(size_t *out_count)
{
    *out_count = sizeof rows / sizeof rows[0];
    return rows;
}

const shoal_opt *shoal_eval_opt_rows(size_t *out_count)
{
    *out_count = sizeof rows / sizeof rows[0] - 1;
    return &rows[1];
}

void shoal_predict_opts_init(shoal_predict_opts *opts)
{
    *opts = (shoal_predict_opts){.struct_size = sizeof *opts};
    base_opt_defaults(rows, sizeof rows / sizeof rows[0], opts);
}

/* ---- measures ---- */

/* Of Shoal's own applications; what others have is told without a unit. Each field is the only one of its record. */
static const shoal_field measures[] = {
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 1, 1, "accuracy", "accuracy",
     .help = "share of the rows whose class is predicted"},
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, -1, 1, "log_loss", "log_loss",
     .help = "mean of -log of the probability of the right class"},
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, -1, 1, "rmse", "rmse",
     .help = "root of the mean squared error"},
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, -1, 1, "mae", "mae",
     .help = "mean of the errors' sizes"},
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 1, 1, "r2", "r2",
     .help = "share of the variance that is predicted"},
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, -1, 1, "objective", "objective",
     .help = "what training minimises, of this data"},
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "lambda", "lambda",
     .help = "penalty of the solution that predicts"},
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 1, "coefficients", "coefficients",
     .help = "that are not 0"},
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, -1, 1, "path_gap", "path_gap",
     .help = "largest gap of any solution, as a share of its objective"},
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, -1, 1, "perplexity", "perplexity",
     .help = "of the half of each document that topics were not inferred from"},
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 1, "scored", "scored",
     .help = "tokens that perplexity is of"},
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 1, 1, "npmi", "npmi",
     .help = "coherence of topics: normalised pointwise mutual information, mean"},
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 1, 1, "umass", "umass",
     .help = "coherence of topics: log of conditional shares, mean"},
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 1, "rows", "rows", .help = "of the data"},
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 1, "count", "count", .help = "ratings of the data"},
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 1, "documents", "documents", .help = "of the data"},
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 1, "unknown", "unknown",
     .help = "ratings of users or items, or tokens, that the model does not know"},
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 1, "unknown_labels", "unknown_labels",
     .help = "rows whose label was not trained on, which cannot be judged"},
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 1, "unknown_entries", "unknown_entries",
     .help = "entries in columns that the model does not know"},
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 1, "unknown_documents", "unknown_documents",
     .help = "documents without a word that the model knows"},
};

static const shoal_schema measures_schema = {
    "eval", NULL,
    "How well a model predicts what is known of data: the measures of its application", measures,
    BASE_COUNT(measures)};

const shoal_schema *shoal_eval_schema(void)
{
    return &measures_schema;
}

/* The field of a measure, whose name lives as long as the result. */
static shoal_field field_of(const char *name, size_t offset)
{
    shoal_field field = {.type = SHOAL_FIELD_F64, .unit = SHOAL_UNIT_VALUE, .show = 1};

    for (size_t i = 0; i < BASE_COUNT(measures); i++)
        if (strcmp(measures[i].name, name) == 0)
            field = measures[i];
    field.offset = offset;
    field.name = field.title = name;
    return field;
}

/* ---- a model at work ---- */

struct score {
    shoal_env *env;
    shoal_predict_opts opts;
    const char *model, *data;
    shoal_watch *watch;
    struct env_out *out;
    const char *name[METRICS_MAX];
    double value[METRICS_MAX];
    size_t count;
};

static shoal_status put_line(void *ctx, const char *line, shoal_err *err)
{
    struct score *s = ctx;
    shoal_status st = env_append(s->out, line, strlen(line), err);

    return st == SHOAL_OK ? env_append(s->out, "\n", 1, err) : st;
}

static void put_metric(void *ctx, const char *name, double value)
{
    struct score *s = ctx;

    if (s->count < METRICS_MAX) {
        s->name[s->count] = name;
        s->value[s->count++] = value;
    }
}

static shoal_status count(void *ctx, uint64_t done, uint64_t total, shoal_err *err)
{
    struct score *s = ctx;

    if (s->watch == NULL)
        return SHOAL_OK;
    if (atomic_load_explicit(&s->watch->total, memory_order_relaxed) != total)
        base_watch_begin(s->watch, "rows", total);
    atomic_store_explicit(&s->watch->done, done, memory_order_relaxed);
    return base_watch_stopped(s->watch) ? base_err(err, SHOAL_E_CANCELLED, "interrupted")
                                        : SHOAL_OK;
}

static shoal_status score(struct score *s, bool lines, shoal_err *err)
{
    struct train_score_opts opts = {s->data, lines, put_line, put_metric, count, s};
    const shoal_app *app = NULL;
    shoal_model *model = NULL;
    shoal_status st = env_memory_start(s->env, s->opts.spill, s->data, 1, err);

    base_watch_begin(s->watch, "rows", 0); /* how many says who has read them */
    env_watch(s->env, s->watch);
    if (st == SHOAL_OK)
        st = shoal_model_open(s->env, s->model, &model, err);
    if (st == SHOAL_OK) {
        app = app_open(shoal_model_app(model), err);
        st = app != NULL ? train_score(s->env, app, model, &opts, err) : SHOAL_E_NOTFOUND;
    }
    shoal_model_free(model);
    env_watch(s->env, NULL);
    env_memory_explain(s->env, s->opts.spill, st, err);
    return st;
}

/* ---- the result ---- */

/* Counts are counted out. */
static void say_metric(struct page_made *made, const char *name, double value)
{
    bool whole = value == floor(value) && fabs(value) < 1e15;

    if (isnan(value))
        page_made_say(made, "%s unknown\n", name);
    else
        page_made_say(made, whole ? "%s %.0f\n" : "%s %.6g\n", name, value);
}

/* Lines that say nothing: of documents of another form than the model's nearly all are. */
static void note_unknown(struct page_made *made, const struct score *s)
{
    double all = 0, unknown = 0;
    char text[32], other[32];

    for (size_t i = 0; i < s->count; i++) {
        if (strcmp(s->name[i], "documents") == 0)
            all = s->value[i];
        if (strcmp(s->name[i], "unknown_documents") == 0)
            unknown = s->value[i];
    }
    if (unknown > 0 && unknown == all)
        page_made_note(made, SHOAL_NOTE_WARNING,
                       "no document of '%s' has a word that the model knows: is it the kind of "
                       "data that the model was trained on?",
                       s->data);
    else if (unknown > 0)
        page_made_note(made, SHOAL_NOTE_WARNING,
                       "%s of %s documents without a word that the model knows: '-'",
                       base_format_count((uint64_t)unknown, text, sizeof text),
                       base_format_count((uint64_t)all, other, sizeof other));
}

static shoal_status make_result(const struct score *s, bool lines, const shoal_result **out_result,
                                shoal_err *err)
{
    struct page_made *made = page_made_new(env_alloc(s->env));
    struct made {
        shoal_schema schema;
        shoal_field field[METRICS_MAX];
        double value[METRICS_MAX];
    } *m = page_made_alloc(made, 1, sizeof *m);

    if (m == NULL)
        return page_made_finish(made, out_result, err);
    for (size_t i = 0; i < s->count; i++) {
        const char *name = page_made_text(made, "%s", s->name[i]);
        m->value[i] = s->value[i];
        m->field[i] = field_of(name, i * sizeof m->value[0]);
        if (!lines)
            say_metric(made, name, m->value[i]);
    }
    m->schema = (shoal_schema){.name = lines ? "predict" : "eval",
                               .help = "the measures of an application",
                               .fields = m->field,
                               .field_count = s->count};
    made->result.title = page_made_text(made, "%s on %s", s->model, s->data);
    made->result.schema = &m->schema;
    made->result.records =
        (shoal_records){.first = m->value, .stride = sizeof m->value, .count = 1};
    if (lines)
        note_unknown(made, s);
    return page_made_finish(made, out_result, err);
}

static shoal_status prepare(struct score *s, const shoal_predict_opts *given,
                            const shoal_result **out_result, shoal_err *err)
{
    shoal_predict_opts_init(&s->opts);
    if (given != NULL && given->struct_size >= sizeof given->struct_size)
        memcpy(&s->opts, given,
               given->struct_size < sizeof s->opts ? given->struct_size : sizeof s->opts);
    if (s->env == NULL || s->model == NULL || s->data == NULL || out_result == NULL)
        return base_err(err, SHOAL_E_INVAL,
                        "predictions need a model, data and a place for the "
                        "result");
    return SHOAL_OK;
}

/* Not over what is read. */
static shoal_status open_output(struct score *s, shoal_err *err)
{
    const char *path = s->opts.output;

    if (path == NULL)
        return base_err(err, SHOAL_E_INVAL, "predictions need an output");
    if (strcmp(path, "-") != 0 &&
        (env_same(s->env, s->model, path) || env_same(s->env, s->data, path)))
        return base_err(err, SHOAL_E_INVAL, "cannot write '%s': it is also an input", path);
    return env_create(s->env, path, &s->out, err);
}

shoal_status shoal_predict(shoal_env *env, const char *model, const char *data,
                           const shoal_predict_opts *opts, shoal_watch *watch,
                           const shoal_result **out_result, shoal_err *err)
{
    struct score s = {.env = env, .model = model, .data = data, .watch = watch};
    const shoal_result *result = NULL;
    shoal_status st = prepare(&s, opts, out_result, err);

    if (st == SHOAL_OK)
        st = open_output(&s, err);
    if (st != SHOAL_OK)
        return st;
    st = score(&s, true, err);
    if (st == SHOAL_OK)
        st = make_result(&s, true, &result, err);
    if (st == SHOAL_OK)
        st = env_commit(s.out, err);
    else
        env_discard(s.out);
    if (st == SHOAL_OK)
        *out_result = result;
    else
        shoal_result_free(result);
    return st;
}

shoal_status shoal_eval(shoal_env *env, const char *model, const char *data,
                        const shoal_predict_opts *opts, shoal_watch *watch,
                        const shoal_result **out_result, shoal_err *err)
{
    struct score s = {.env = env, .model = model, .data = data, .watch = watch};
    shoal_status st = prepare(&s, opts, out_result, err);

    if (st == SHOAL_OK)
        st = score(&s, false, err);
    return st == SHOAL_OK ? make_result(&s, false, out_result, err) : st;
}
