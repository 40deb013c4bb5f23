/* lasso_score.c - models of `lasso`: the whole path, and predictions from one of its solutions.
 *
 *   shape       struct lasso_shape
 *   lambdas     struct lasso_told for each penalty, descending
 *   starts      (lambdas + 1) uint64_t: solution k is entries starts[k] .. starts[k + 1] - 1
 *   path        struct lasso_entry: column (from 0, ascending in a solution) and coefficient
 *
 * Little-endian, as it lies in memory. Everything read is checked.
 *
 * Tests: tests/unit/app/test_lasso.c, tests/cli/test_train_lasso.py. */
#include "app/lasso.h"

#include "app/parts.h"
#include "base/assert.h"
#include "base/err.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* With more columns coefficients are searched for, not listed by column. */
enum { LISTED_MAX = 1 << 24 };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "models are written as they lie");

/* Of a penalty; held-out mean loss and its standard error, NAN without folds. */
struct lasso_told {
    double lambda, intercept, objective, gap, loss, held_mean, held_error;
};

/* ---- folds ---- */

void lasso_folds(const struct lasso_driver *d, uint32_t count, double *out_mean, double *out_error)
{
    for (uint32_t k = 0; k < count; k++) {
        double sum = 0, square = 0, n = d->folds;
        for (uint32_t f = 0; f < d->folds; f++)
            sum += d->of[k].held[f];
        for (uint32_t f = 0; f < d->folds; f++)
            square += (d->of[k].held[f] - sum / n) * (d->of[k].held[f] - sum / n);
        out_mean[k] = d->folds > 0 ? sum / n : (double)NAN;
        out_error[k] = d->folds > 1 ? sqrt(square / (n - 1) / n) : (double)NAN;
    }
}

uint32_t lasso_choose(const struct lasso_driver *d, uint32_t count, enum lasso_pick pick,
                      const double *mean, const double *error)
{
    uint32_t best = 0, simple = 0;

    if (d->folds == 0 || pick == LASSO_PICK_LAST)
        return count - 1;
    for (uint32_t k = 1; k < count; k++)
        if (mean[k] < mean[best])
            best = k;
    while (simple < best && mean[simple] > mean[best] + error[best])
        simple++;
    return pick == LASSO_PICK_SIMPLE ? simple : best;
}

/* ---- saving ---- */

static shoal_status put_path(shoal_driver *driver, shoal_model *model, struct lasso_told *told,
                             uint64_t *starts, shoal_err *err)
{
    const struct lasso_driver *d = shoal_driver_state(driver);
    const struct app_part parts[] = {
        {"lambdas", d->lambdas, sizeof *told, .data = told},
        {"starts", d->lambdas + 1, sizeof *starts, .data = starts},
        {"path", d->of[d->lambdas - 1].end, sizeof(struct lasso_entry),
         .data = shoal_driver_rows_read(driver, LASSO_PATH)},
    };

    for (uint32_t k = 0; k < d->lambdas; k++) {
        const struct lasso_step *of = &d->of[k];
        told[k].lambda = of->lambda;
        told[k].intercept = of->intercept;
        told[k].objective = of->objective;
        told[k].gap = of->gap;
        told[k].loss = of->loss;
        starts[k + 1] = of->end;
    }
    return app_parts_put(model, parts, BASE_COUNT(parts), err);
}

shoal_status lasso_save(shoal_driver *driver, shoal_model *model, shoal_err *err)
{
    static const size_t MAX = LASSO_LAMBDAS_MAX;
    const struct lasso_options *o = shoal_driver_options(driver);
    const struct lasso_driver *d = shoal_driver_state(driver);
    const struct base_alloc *alloc = env_alloc(shoal_driver_env(driver));
    const struct lasso_data *data = (const void *)shoal_driver_rows_read(driver, LASSO_DATA);
    double *held = base_calloc(alloc, 2 * MAX, sizeof *held);
    struct lasso_told *told = base_calloc(alloc, MAX, sizeof *told);
    uint64_t *starts = base_calloc(alloc, MAX + 1, sizeof *starts);
    shoal_status st = SHOAL_E_NOMEM;

    if (held != NULL && told != NULL && starts != NULL) {
        lasso_folds(d, d->lambdas, held, held + MAX);
        for (uint32_t k = 0; k < d->lambdas; k++) {
            told[k].held_mean = held[k];
            told[k].held_error = held[MAX + k];
        }
        struct lasso_shape shape = {
            .version = LASSO_VERSION,
            .loss = o->loss,
            .columns = d->all_columns,
            .index = o->index,
            .lambdas = d->lambdas,
            .folds = d->folds,
            .chosen = lasso_choose(d, d->lambdas, (enum lasso_pick)o->pick, held, held + MAX),
            .intercept = o->intercept,
            .mix = o->mix,
            .label = {data->label[0], data->label[1]}};
        st = shoal_model_put(model, "shape", &shape, sizeof shape, err);
        if (st == SHOAL_OK)
            st = put_path(driver, model, told, starts, err);
    } else {
        st = base_err_nomem(err, "writing a model");
    }
    base_free(alloc, held);
    base_free(alloc, told);
    base_free(alloc, starts);
    return st;
}

/* ---- using ---- */

struct predictor {
    struct lasso_shape shape;
    struct lasso_told told;
    double gap;                      /* the largest of the path, against its objective */
    const struct lasso_entry *entry; /* of the chosen solution */
    uint64_t count;
    double *b; /* (columns); NULL: too many */
};

static bool shape_good(const struct lasso_shape *s)
{
    return s->version == LASSO_VERSION && s->loss <= NUM_LASSO_LOGISTIC && s->columns > 0 &&
           s->columns <= DATA_SVM_INDEX_MAX && s->index <= DATA_SVM_FROM_ZERO && s->lambdas > 0 &&
           s->lambdas <= LASSO_LAMBDAS_MAX && s->folds <= LASSO_FOLDS_MAX &&
           s->chosen < s->lambdas && s->intercept <= 1 && s->mix > 0 && s->mix <= 1;
}

static bool solution_good(const struct predictor *p, uint64_t from, uint64_t end, uint64_t size)
{
    if (from > end || end > size / sizeof *p->entry)
        return false;
    for (uint64_t e = from; e < end; e++)
        if (p->entry[e].column >= p->shape.columns || !isfinite(p->entry[e].value) ||
            (e > from && p->entry[e].column <= p->entry[e - 1].column))
            return false;
    return isfinite(p->told.intercept) && p->told.lambda > 0;
}

static shoal_status find_solution(struct predictor *p, const shoal_model *model, shoal_err *err)
{
    const struct lasso_shape *s = &p->shape;
    const void *tolds = NULL, *starts = NULL, *path;
    uint64_t range[2];
    size_t size = 0;
    const struct app_part parts[] = {
        {"lambdas", s->lambdas, sizeof p->told, .at = &tolds},
        {"starts", s->lambdas + 1ull, sizeof range[0], .at = &starts},
    };
    shoal_status st = app_parts_get(model, parts, BASE_COUNT(parts), err);

    if (st != SHOAL_OK || tolds == NULL || starts == NULL)
        return st;
    for (uint32_t k = 0; k < s->lambdas; k++) {
        struct lasso_told told;
        memcpy(&told, (const char *)tolds + k * sizeof told, sizeof told);
        p->gap = fmax(p->gap, told.objective > 0 ? told.gap / told.objective : 0);
        if (k == s->chosen)
            p->told = told;
    }
    memcpy(range, (const char *)starts + s->chosen * sizeof range[0], sizeof range);
    st = shoal_model_get(model, "path", &path, &size, err);
    if (st != SHOAL_OK)
        return st;
    p->entry = path;
    if (!solution_good(p, range[0], range[1], size))
        return base_err(err, SHOAL_E_FORMAT, "the model's path makes no sense");
    p->entry += range[0];
    p->count = range[1] - range[0];
    return SHOAL_OK;
}

static shoal_status predictor_init(struct predictor *p, const struct base_alloc *alloc,
                                   const shoal_model *model, shoal_err *err)
{
    shoal_status st = app_parts_shape(model, &p->shape, sizeof p->shape, err);

    if (st != SHOAL_OK)
        return st;
    if (!shape_good(&p->shape))
        return base_err(err, SHOAL_E_FORMAT, "the model's shape makes no sense");
    st = find_solution(p, model, err);
    if (st != SHOAL_OK)
        return st;
    if (p->shape.columns > LISTED_MAX)
        return SHOAL_OK;
    p->b = base_calloc(alloc, p->shape.columns, sizeof *p->b);
    if (p->b == NULL)
        return base_err_nomem(err, "using a model");
    for (uint64_t e = 0; e < p->count; e++)
        p->b[p->entry[e].column] = (double)p->entry[e].value;
    return SHOAL_OK;
}

static double coefficient_of(const struct predictor *p, uint32_t column)
{
    uint64_t low = 0, high = p->count;

    if (p->b != NULL)
        return p->b[column];
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (p->entry[middle].column < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low < p->count && p->entry[low].column == column ? (double)p->entry[low].value : 0;
}

static double predict(const struct predictor *p, const struct num_csr *x, uint64_t row)
{
    double z = p->told.intercept;

    for (uint64_t e = x->start[row]; e < x->start[row + 1]; e++)
        z += coefficient_of(p, x->index[e]) * (x->value != NULL ? (double)x->value[e] : 1);
    return z;
}

static shoal_status put_line(shoal_score *score, const struct predictor *p, double z,
                             shoal_err *err)
{
    const struct lasso_options *o = shoal_score_options(score);
    char line[80];

    if (p->shape.loss == NUM_LASSO_SQUARED)
        snprintf(line, sizeof line, "%.9g", z);
    else if (o->probabilities)
        snprintf(line, sizeof line, "%.10g %.6g", p->shape.label[z > 0], 1 / (1 + exp(-z)));
    else
        snprintf(line, sizeof line, "%.10g", p->shape.label[z > 0]);
    return shoal_score_line(score, line, err);
}

/* Sums over rows. */
struct tally {
    double loss, off, right, y, yy, unknown;
};

static void count_row(const struct predictor *p, double label, double z, struct tally *t)
{
    double y = label == p->shape.label[1];

    if (p->shape.loss == NUM_LASSO_SQUARED) {
        t->loss += (label - z) * (label - z) / 2;
        t->off += fabs(label - z);
        t->y += label;
        t->yy += label * label;
    } else if (label == p->shape.label[0] || label == p->shape.label[1]) {
        t->loss += fmax(z, 0) - y * z + log1p(exp(-fabs(z)));
        t->right += label == p->shape.label[z > 0];
    } else {
        t->unknown++;
    }
}

static void tell(shoal_score *score, const struct predictor *p, const struct tally *t, double rows)
{
    const struct lasso_options *o = shoal_score_options(score);
    /* where no label is known there is nothing to judge by */
    double one = 0, two = 0, known = t->unknown < rows ? rows - t->unknown : (double)NAN;

    for (uint64_t e = 0; e < p->count; e++) {
        double b = (double)p->entry[e].value;
        one += fabs(b);
        two += b * b;
    }
    if (p->shape.loss == NUM_LASSO_SQUARED) {
        double spread = t->yy - t->y * t->y / rows;
        shoal_score_metric(score, "rmse", sqrt(2 * t->loss / rows));
        shoal_score_metric(score, "mae", t->off / rows);
        if (spread > 0)
            shoal_score_metric(score, "r2", 1 - 2 * t->loss / spread);
    } else {
        shoal_score_metric(score, "accuracy", t->right / known);
        shoal_score_metric(score, "log_loss", t->loss / known);
    }
    if (!o->scale) /* the penalty is on scaled coefficients */
        shoal_score_metric(
            score, "objective",
            t->loss / known + p->told.lambda * (p->shape.mix * one + (1 - p->shape.mix) * two / 2));
    shoal_score_metric(score, "lambda", p->told.lambda);
    shoal_score_metric(score, "coefficients", (double)p->count);
    shoal_score_metric(score, "path_gap", p->gap);
    shoal_score_metric(score, "rows", rows);
    if (t->unknown > 0)
        shoal_score_metric(score, "unknown_labels", t->unknown);
}

shoal_status lasso_score(shoal_score *score, shoal_err *err)
{
    shoal_env *env = shoal_score_env(score);
    struct predictor p = {.b = NULL};
    struct data_svm svm = {0};
    struct tally tally = {.loss = 0};
    shoal_status st = predictor_init(&p, env_alloc(env), shoal_score_model(score), err);
    struct data_svm_opts opts = {.base = (enum data_svm_base)p.shape.index,
                                 .columns = p.shape.columns};

    if (st == SHOAL_OK)
        st = data_svm_load(env, shoal_score_path(score), &opts, &svm, err);
    for (uint64_t i = 0; st == SHOAL_OK && i < svm.x.rows; i++) {
        double z = predict(&p, &svm.x, i);
        count_row(&p, svm.label[i], z, &tally);
        if (shoal_score_wants_lines(score))
            st = put_line(score, &p, z, err);
        if (st == SHOAL_OK)
            st = shoal_score_count(score, i + 1, svm.x.rows, err);
    }
    if (st == SHOAL_OK) {
        tell(score, &p, &tally, (double)svm.x.rows);
        if (svm.left_out > 0)
            shoal_score_metric(score, "unknown_entries", (double)svm.left_out);
    }
    data_svm_fini(&svm);
    base_free(env_alloc(env), p.b);
    return st;
}
