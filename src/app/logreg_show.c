/* logreg_show.c - what a linear classifier has learnt, as lists: how well it fits the rows it was trained on, and the
 * largest weights by the names that the data has for columns and classes.
 * Tests: tests/unit/app/test_logreg.c, tests/cli/test_train_report.py. */
#include "app/logreg.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/top.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum {
    WEIGHTS = 30,      /* of two classes */
    WEIGHTS_EACH = 10, /* of each of more */
    CLASSES_MAX = 20,  /* that are listed */
    ROWS_MAX = WEIGHTS_EACH * CLASSES_MAX,
    LABEL_SIZE = 32
};

struct fit {
    double accuracy, loss, weight;
    uint64_t rows, columns, used;
    uint32_t classes;
};

#define AT(member) offsetof(struct fit, member)
static const shoal_field fit_fields[] = {
    {AT(accuracy), SHOAL_FIELD_F64, SHOAL_UNIT_PERCENT, 0, 1, "accuracy", "Accuracy on these rows",
     .help = "share of the rows trained on whose class it predicts; on others it may be less: "
             "shoal eval"},
    {AT(loss), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "loss", "Loss a row",
     .help = "mean over the rows trained on, without the penalty"},
    {AT(rows), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 1, "rows", "Rows", .help = "of the data"},
    {AT(classes), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 1, "classes", "Classes",
     .help = "labels that differ"},
    {AT(columns), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 1, "columns", "Columns",
     .help = "of the data, with the bias if there is one"},
    {AT(used), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 1, "used", "Columns with a weight",
     .help = "columns that have a weight which is not 0"},
    {AT(weight), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "norm", "Norm of weights",
     .help = "the root of the sum of their squares"},
};
#undef AT
static const shoal_schema fit_schema = {"fit", "Fit to the data trained on", "The model",
                                        fit_fields, BASE_COUNT(fit_fields)};

struct weight {
    char column[LABEL_SIZE], class[LABEL_SIZE];
    const char *column_text, *class_text;
    double weight;
};

#define AT(member) offsetof(struct weight, member)
#define FIELDS(title, help_text)                                           \
    {AT(column_text),                                                      \
     SHOAL_FIELD_TEXT,                                                     \
     SHOAL_UNIT_NONE,                                                      \
     0,                                                                    \
     1,                                                                    \
     "column",                                                             \
     "COLUMN",                                                             \
     .help = "as the data calls it"},                                      \
        {AT(class_text), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "class", \
         title,          .help = help_text},                               \
        {AT(weight), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0,                 \
         1,          "weight",        "WEIGHT",         .help = "of the column"},
static const shoal_field two_fields[] = {FIELDS("SPEAKS FOR", "the class of a large value")};
static const shoal_field many_fields[] = {FIELDS("CLASS", "whose weight it is")};
#undef FIELDS
#undef AT
static const shoal_schema two_schema = {"weights", "Largest weights", "A weight", two_fields,
                                        BASE_COUNT(two_fields)};
static const shoal_schema many_schema = {"weights", "Largest weights of each class", "A weight",
                                         many_fields, BASE_COUNT(many_fields)};

/* ---- how well it fits ---- */

static const void *part(const struct logreg_data *data, uint64_t at)
{
    return (const char *)data + at;
}

struct tally {
    uint64_t right;
    double loss;
};

static void count_row(shoal_driver *driver, const double *margin, uint32_t class, struct tally *t)
{
    const struct logreg_options *o = shoal_driver_options(driver);
    const struct logreg_driver *d = shoal_driver_state(driver);

    t->right += app_logreg_class(d->classes, d->lanes, margin) == class;
    t->loss += app_logreg_loss(o->loss, d->lanes, margin, class);
}

static void count_rows(shoal_driver *driver, const struct logreg_data *data, const float *weight,
                       double *margin, struct tally *t)
{
    const uint64_t *start = part(data, data->start_at);
    const uint32_t *index = part(data, data->index_at), *label = part(data, data->label_at);
    const uint32_t *map = data->map_at > 0 ? part(data, data->map_at) : NULL;
    const float *value = data->value_at > 0 ? part(data, data->value_at) : NULL;

    for (uint64_t i = 0; i < data->rows; i++) {
        memset(margin, 0, data->lanes * sizeof *margin);
        for (uint64_t e = start[i]; e < start[i + 1]; e++) {
            const float *w =
                weight + (size_t)(map != NULL ? map[index[e]] : index[e]) * data->lanes;
            double x = value != NULL ? (double)value[e] : 1;
            for (uint32_t k = 0; k < data->lanes; k++)
                margin[k] += x * (double)w[k];
        }
        count_row(driver, margin, label[i], t);
    }
}

/* Its executors have columns; margins of all rows are in a table. */
static void count_margins(shoal_driver *driver, const struct logreg_data *data, double *margin,
                          struct tally *t)
{
    const float *z = shoal_driver_rows_read(driver, LOGREG_Z);
    const uint32_t *label = part(data, data->label_at);

    for (uint64_t i = 0; i < data->judged; i++) {
        for (uint32_t k = 0; k < data->lanes; k++)
            margin[k] = (double)z[(data->judged_at + i) * data->lanes + k];
        count_row(driver, margin, label[i], t);
    }
}

static shoal_status list_fit(shoal_driver *driver, const float *weight, double *margin,
                             shoal_err *err)
{
    const struct logreg_driver *d = shoal_driver_state(driver);
    struct fit row = {.rows = d->rows, .columns = d->columns, .classes = d->classes};
    shoal_records all = {.first = &row, .stride = sizeof row, .count = 1};
    struct tally t = {0};
    size_t size;

    for (uint32_t e = 0; e < d->executors; e++) {
        const struct logreg_data *data = shoal_driver_block_read(driver, e, &size);
        if (d->way == NUM_LINEAR_LASSO)
            count_margins(driver, data, margin, &t);
        else
            count_rows(driver, data, weight, margin, &t);
    }
    for (uint32_t c = 0; c < d->columns; c++) {
        bool used = false;
        for (uint32_t k = 0; k < d->lanes; k++)
            used = used || weight[(size_t)c * d->lanes + k] != 0;
        row.used += used;
    }
    row.weight = sqrt(logreg_dot(weight, weight, logreg_size(d)));
    row.loss = t.loss / (double)d->rows;
    row.accuracy = (double)t.right / (double)d->rows;
    return shoal_driver_records(driver, &fit_schema, &all, err);
}

/* ---- weights ---- */

static void name_column(shoal_driver *driver, uint32_t column, char *out)
{
    const struct logreg_options *o = shoal_driver_options(driver);
    const struct logreg_driver *d = shoal_driver_state(driver);
    const char *labels = (const void *)shoal_driver_rows_read(driver, LOGREG_LABEL);
    uint32_t name = column;

    if (o->bias && column == d->columns - 1) {
        snprintf(out, LABEL_SIZE, "bias");
        return;
    }
    if (d->named)
        memcpy(&name, labels + d->classes * sizeof(double) + column * sizeof name, sizeof name);
    snprintf(out, LABEL_SIZE, "%u", name + (o->index == DATA_SVM_FROM_ZERO ? 0 : 1));
}

static void name_class(shoal_driver *driver, uint32_t class, char *out)
{
    const struct logreg_driver *d = shoal_driver_state(driver);
    double label;

    if (class >= d->classes) {
        snprintf(out, LABEL_SIZE, "none");
        return;
    }
    memcpy(&label,
           (const char *)(const void *)shoal_driver_rows_read(driver, LOGREG_LABEL) +
               class * sizeof label,
           sizeof label);
    snprintf(out, LABEL_SIZE, "%.10g", label);
}

/* The largest of a lane, whatever their sign. */
static size_t add_weights(shoal_driver *driver, const float *weight, uint32_t lane, size_t max,
                          struct weight *out)
{
    const struct logreg_driver *d = shoal_driver_state(driver);
    struct base_top top[WEIGHTS];
    size_t count = 0;

    for (uint32_t c = 0; c < d->columns; c++)
        if (weight[(size_t)c * d->lanes + lane] != 0)
            count = base_top_offer(top, count, max, c,
                                   fabs((double)weight[(size_t)c * d->lanes + lane]));
    for (size_t i = 0; i < count; i++) {
        struct weight *w = &out[i];
        w->weight = (double)weight[top[i].item * d->lanes + lane];
        name_column(driver, (uint32_t)top[i].item, w->column);
        name_class(driver, d->lanes == 1 ? w->weight < 0 : lane, w->class);
        w->column_text = w->column;
        w->class_text = w->class;
    }
    return count;
}

static shoal_status list_weights(shoal_driver *driver, const float *weight, struct weight *rows,
                                 shoal_err *err)
{
    const struct logreg_driver *d = shoal_driver_state(driver);
    shoal_records all = {.first = rows, .stride = sizeof *rows};

    for (uint32_t k = 0; k < d->lanes && k < CLASSES_MAX; k++)
        all.count += add_weights(driver, weight, k, d->lanes == 1 ? WEIGHTS : WEIGHTS_EACH,
                                 rows + all.count);
    return shoal_driver_records(driver, d->lanes == 1 ? &two_schema : &many_schema, &all, err);
}

shoal_status app_logreg_show(shoal_driver *driver, shoal_err *err)
{
    const struct logreg_driver *d = shoal_driver_state(driver);
    const struct base_alloc *alloc = env_alloc(shoal_driver_env(driver));
    float *weight = base_calloc(alloc, logreg_size(d), sizeof *weight);
    double *margin = base_calloc(alloc, d->lanes, sizeof *margin);
    struct weight *rows = base_calloc(alloc, ROWS_MAX, sizeof *rows);
    shoal_status st = SHOAL_E_NOMEM;

    if (weight != NULL && margin != NULL && rows != NULL) {
        logreg_weights(driver, weight);
        st = list_fit(driver, weight, margin, err);
        if (st == SHOAL_OK)
            st = list_weights(driver, weight, rows, err);
    } else {
        base_err_nomem(err, "showing weights");
    }
    base_free(alloc, weight);
    base_free(alloc, margin);
    base_free(alloc, rows);
    return st;
}
