/* logreg_score.c - models of `logreg`: what training leaves, and predictions from it.
 *
 *   shape    struct logreg_shape
 *   labels   what the data calls the classes, ascending: double each
 *   weights  (columns + bias, lanes) floats
 *   columns  what the data calls each column, from 0, ascending: uint32_t each. Only of version
 *            LOGREG_NAMED; else they are 0, 1, 2 and so on
 *
 * With one lane a margin above 0 speaks for the first class, else for the second; with more the
 * largest margin wins. Probabilities of one class against the rest are scaled to add up to 1.
 * Little-endian, as it lies in memory. Everything read is checked.
 * Tests: tests/unit/app/test_logreg.c, tests/cli/test_train_logreg.py. */
#include "app/logreg.h"

#include "app/parts.h"
#include "base/assert.h"
#include "base/buf.h"
#include "base/err.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "models are written as they lie");

enum { CLASSES_MAX = 1 << 24, LINE_MAX_BYTES = 1 << 30 };

/* ---- saving ---- */

/* The lasso's weights are in the states of its executors. */
static void gather(shoal_driver *driver, float *out)
{
    const struct logreg_driver *d = shoal_driver_state(driver);
    size_t size;

    for (uint32_t e = 0; e < d->executors; e++) {
        const struct logreg_data *data = shoal_driver_block_read(driver, e, &size);
        const float *weight = shoal_driver_executor_read(driver, e, &size);
        size_t floats = data->rows * d->lanes;
        memcpy(out, weight, floats * sizeof *out);
        out += floats;
    }
}

static void turn_back(shoal_driver *driver, float *out)
{
    const struct logreg_driver *d = shoal_driver_state(driver);
    const float *table = shoal_driver_rows_read(driver, LOGREG_W);

    for (size_t c = 0; c < d->columns; c++)
        for (size_t k = 0; k < d->lanes; k++)
            out[c * d->lanes + k] = (float)(d->scale * (double)table[k * d->columns + c]);
}

void logreg_weights(shoal_driver *driver, float *out)
{
    const struct logreg_driver *d = shoal_driver_state(driver);
    bool newton = d->way == NUM_LINEAR_NEWTON || d->way == NUM_LINEAR_GRAM;

    if (d->way == NUM_LINEAR_LASSO)
        gather(driver, out);
    else if (d->way == LOGREG_BY_FACTORS)
        turn_back(driver, out);
    else
        memcpy(out, shoal_driver_rows_read(driver, newton ? LOGREG_KEPT : LOGREG_W),
               logreg_size(d) * sizeof *out);
}

shoal_status logreg_save(shoal_driver *driver, shoal_model *model, shoal_err *err)
{
    const struct logreg_options *o = shoal_driver_options(driver);
    const struct logreg_driver *d = shoal_driver_state(driver);
    const struct base_alloc *alloc = env_alloc(shoal_driver_env(driver));
    struct logreg_shape shape = {.version = d->named ? LOGREG_NAMED : LOGREG_VERSION,
                                 .loss = o->loss,
                                 .penalty = o->penalty,
                                 .classes = d->classes,
                                 .lanes = d->lanes,
                                 .columns = d->columns - o->bias,
                                 .bias = o->bias,
                                 .index = o->index,
                                 .cost = d->cost};
    float *weights = base_calloc(alloc, logreg_size(d), sizeof *weights);

    if (weights == NULL)
        return base_err_nomem(err, "writing a model");
    logreg_weights(driver, weights);
    const char *labels = (const void *)shoal_driver_rows_read(driver, LOGREG_LABEL);
    size_t labels_size = d->classes * sizeof(double);
    shoal_status st = shoal_model_put(model, "shape", &shape, sizeof shape, err);
    if (st == SHOAL_OK)
        st = shoal_model_put(model, "labels", labels, labels_size, err);
    if (st == SHOAL_OK && d->named)
        st = shoal_model_put(model, "columns", labels + labels_size,
                             shape.columns * sizeof(uint32_t), err);
    if (st == SHOAL_OK)
        st = shoal_model_put(model, "weights", weights, logreg_size(d) * sizeof *weights, err);
    base_free(alloc, weights);
    return st;
}

/* ---- telling ---- */

static void tell_setting(shoal_driver *driver, bool open, const char *key, double value)
{
    char text[32];

    snprintf(text, sizeof text, "%g", value);
    if (open)
        shoal_driver_setting(driver, key, text);
}

/* What options that were left open came to. */
static void tell_settings(shoal_driver *driver)
{
    static const char *const WAYS[] = {[NUM_LINEAR_GRAM] = "newton, by the whole Hessian",
                                       [NUM_LINEAR_NEWTON] = "newton",
                                       [NUM_LINEAR_DUAL] = "sdca",
                                       [NUM_LINEAR_LASSO] = "coordinate descent by columns",
                                       [LOGREG_BY_SGD] = "sgd",
                                       [LOGREG_BY_FACTORS] = "sgd"};
    const struct logreg_options *o = shoal_driver_options(driver);
    const struct logreg_driver *d = shoal_driver_state(driver);
    bool newton = d->way == NUM_LINEAR_NEWTON || d->way == NUM_LINEAR_GRAM;
    bool waves = d->bulk && !newton;

    tell_setting(driver, o->lambda > 0, "cost", d->cost);
    tell_setting(driver, o->lambda <= 0, "lambda", 1 / (d->cost * (double)d->rows));
    if (o->algorithm == LOGREG_AUTO)
        shoal_driver_setting(driver, "algorithm", WAYS[d->way]);
    if (logreg_is_sgd(d->way))
        shoal_driver_setting(driver, "tol", "not used");
    else
        tell_setting(driver, o->tol <= 0, "tol", d->tol);
    tell_setting(driver, o->epochs == 0, "epochs", (double)logreg_epochs(o, d->way));
    tell_setting(driver, o->executors == 0, "executors", d->executors);
    tell_setting(driver, waves && o->wave == 0, "wave", fmin(LOGREG_WAVE, d->executors));
    if (!waves)
        shoal_driver_setting(driver, "wave", "not used");
    if (o->judge == 0)
        shoal_driver_setting(driver, "judge", newton ? "not used" : "when it pays");
    if (!logreg_is_sgd(d->way))
        shoal_driver_setting(driver, "rate", "not used");
}

shoal_status logreg_tell(shoal_driver *driver, shoal_err *err)
{
    const struct logreg_options *o = shoal_driver_options(driver);
    const struct logreg_driver *d = shoal_driver_state(driver);
    char line[120];

    (void)err;
    tell_settings(driver);
    if (d->classes == 1) {
        double label;
        memcpy(&label, shoal_driver_rows_read(driver, LOGREG_LABEL), sizeof label);
        snprintf(line, sizeof line,
                 "every row has the label %.10g: the model predicts nothing else", label);
        shoal_driver_say(driver, line);
    }
    if (d->constant > 0 && d->rows > 1) {
        snprintf(line, sizeof line, "%u of %u columns never vary", d->constant,
                 d->columns - o->bias);
        shoal_driver_say(driver, line);
    }
    return SHOAL_OK;
}

/* ---- using ---- */

struct predictor {
    struct logreg_shape shape;
    struct data_classes classes;
    const float *weights;
    const uint32_t *name;   /* of columns; NULL: their numbers */
    double *margin, *share; /* (lanes), (classes) */
    const struct base_alloc *alloc;
};

static bool shape_good(const struct logreg_shape *s)
{
    bool softmax = s->loss == NUM_LINEAR_SOFTMAX;
    uint32_t lanes = s->classes <= 2 && !softmax ? 1 : s->classes;

    return (s->version == LOGREG_VERSION || (s->version == LOGREG_NAMED && s->columns > 0)) &&
           s->loss <= NUM_LINEAR_SOFTMAX && s->penalty <= NUM_LINEAR_ABSOLUTE && s->classes > 0 &&
           s->classes <= CLASSES_MAX && s->lanes == lanes && s->bias <= 1 &&
           s->columns <= DATA_SVM_INDEX_MAX && s->columns + s->bias > 0 &&
           s->index <= DATA_SVM_FROM_ZERO && s->cost > 0 && isfinite(s->cost);
}

static shoal_status find_names(struct predictor *p, const shoal_model *model, shoal_err *err)
{
    uint32_t columns = p->shape.columns;
    const void *bytes = NULL;
    const struct app_part part = {"columns", columns, sizeof *p->name, .at = &bytes};

    if (p->shape.version != LOGREG_NAMED)
        return SHOAL_OK;
    shoal_status st = app_parts_get(model, &part, 1, err);
    if (st != SHOAL_OK)
        return st;
    p->name = bytes;
    for (uint32_t c = 1; c < columns; c++)
        if (p->name[c] <= p->name[c - 1])
            return base_err(err, SHOAL_E_FORMAT, "the model's columns do not ascend");
    return SHOAL_OK;
}

static shoal_status predictor_init(struct predictor *p, const shoal_model *model, shoal_err *err)
{
    const struct logreg_shape *s = &p->shape;
    const void *weights, *labels;
    shoal_status st = app_parts_shape(model, &p->shape, sizeof *s, err);

    if (st != SHOAL_OK)
        return st;
    if (!shape_good(s))
        return base_err(err, SHOAL_E_FORMAT, "the model's shape makes no sense");
    const struct app_part parts[] = {
        {"weights", ((uint64_t)s->columns + s->bias) * s->lanes, sizeof(float), .at = &weights},
        {"labels", s->classes, sizeof(double), .at = &labels},
    };
    st = app_parts_get(model, parts, BASE_COUNT(parts), err);
    if (st != SHOAL_OK)
        return st;
    p->weights = weights;
    st = find_names(p, model, err);
    if (st == SHOAL_OK)
        st = data_classes_find(p->alloc, labels, s->classes, s->classes, &p->classes, err);
    if (st == SHOAL_OK && p->classes.count != s->classes)
        st = base_err(err, SHOAL_E_FORMAT, "the model has a class twice");
    if (st != SHOAL_OK)
        return st;
    p->margin = base_calloc(p->alloc, s->lanes, sizeof *p->margin);
    p->share = base_calloc(p->alloc, s->classes, sizeof *p->share);
    return p->margin != NULL && p->share != NULL ? SHOAL_OK : base_err_nomem(err, "using a model");
}

static void predictor_fini(struct predictor *p)
{
    data_classes_fini(&p->classes);
    base_free(p->alloc, p->margin);
    base_free(p->alloc, p->share);
}

/* Margins of a row; the class that they speak for. */
static uint32_t predict(struct predictor *p, const struct num_csr *x, uint64_t row)
{
    size_t lanes = p->shape.lanes;

    for (size_t k = 0; k < lanes; k++)
        p->margin[k] = p->shape.bias ? (double)p->weights[p->shape.columns * lanes + k] : 0;
    for (uint64_t e = x->start[row]; e < x->start[row + 1]; e++) {
        if (x->index[e] >= p->shape.columns)
            break; /* there were no columns to learn from */
        const float *w = p->weights + x->index[e] * lanes;
        double value = x->value != NULL ? (double)x->value[e] : 1;
        for (size_t k = 0; k < lanes; k++)
            p->margin[k] += value * (double)w[k];
    }
    return app_logreg_class(p->shape.classes, p->shape.lanes, p->margin);
}

static double sigmoid(double z)
{
    return z > 0 ? 1 / (1 + exp(-z)) : exp(z) / (1 + exp(z));
}

/* Probabilities of the classes, from the margins. */
static void find_shares(struct predictor *p)
{
    size_t classes = p->shape.classes;
    double sum = 0, most = p->margin[0];

    if (p->shape.lanes == 1 && classes <= 2) {
        p->share[0] = sigmoid(p->margin[0]);
        if (classes == 1)
            p->share[0] = 1;
        else
            p->share[1] = sigmoid(-p->margin[0]);
        return;
    }
    for (size_t k = 0; k < classes; k++)
        most = fmax(most, p->margin[k]);
    for (size_t k = 0; k < classes; k++) {
        p->share[k] =
            p->shape.loss == NUM_LINEAR_SOFTMAX ? exp(p->margin[k] - most) : sigmoid(p->margin[k]);
        sum += p->share[k];
    }
    for (size_t k = 0; k < classes; k++)
        p->share[k] = sum > 0 ? p->share[k] / sum : 1 / (double)classes;
}

/* log(sum of exp(margins)) - margin of the class */
static double softmax_loss(uint32_t lanes, const double *margin, uint32_t class)
{
    double most = margin[0], sum;

    for (size_t k = 1; k < lanes; k++)
        most = fmax(most, margin[k]);
    sum = exp(margin[0] - most);
    for (size_t k = 1; k < lanes; k++)
        sum += exp(margin[k] - most);
    return log(sum) + most - margin[class];
}

double app_logreg_loss(uint32_t loss, uint32_t lanes, const double *margin, uint32_t class)
{
    double sum = 0;

    if (loss == NUM_LINEAR_SOFTMAX)
        return softmax_loss(lanes, margin, class);
    for (size_t k = 0; k < lanes; k++) {
        double m = class == k ? margin[k] : -margin[k], miss = fmax(1 - m, 0);
        if (loss == NUM_LINEAR_LOGISTIC)
            sum += m > 0 ? log1p(exp(-m)) : log1p(exp(m)) - m;
        else
            sum += loss == NUM_LINEAR_HINGE ? miss : miss * miss;
    }
    return sum;
}

uint32_t app_logreg_class(uint32_t classes, uint32_t lanes, const double *margin)
{
    uint32_t best = 0;

    if (lanes == 1)
        return margin[0] > 0 || classes == 1 ? 0 : 1;
    for (uint32_t k = 1; k < lanes; k++)
        best = margin[k] > margin[best] ? k : best;
    return best;
}

static double penalty_of(const struct predictor *p)
{
    size_t count = ((size_t)p->shape.columns + p->shape.bias) * p->shape.lanes;
    double sum = 0;

    if (p->shape.penalty == NUM_LINEAR_SQUARES)
        return 0.5 * logreg_dot(p->weights, p->weights, count);
    for (size_t i = 0; i < count; i++)
        sum += fabs((double)p->weights[i]);
    return sum;
}

static shoal_status put_line(shoal_score *score, struct predictor *p, uint32_t class,
                             struct base_buf *line, shoal_err *err)
{
    const struct logreg_options *o = shoal_score_options(score);

    base_buf_clear(line);
    base_buf_printf(line, "%.10g", p->classes.label[class]);
    if (o->probabilities)
        for (uint32_t c = 0; c < p->shape.classes; c++)
            base_buf_printf(line, " %.6g", p->share[c]);
    if (base_buf_status(line) != SHOAL_OK)
        return base_err_nomem(err, "telling probabilities");
    return shoal_score_line(score, line->data, err);
}

/* Sums over rows whose label the model knows; where it knows none there is nothing to judge by. */
struct tally {
    uint64_t right, unknown;
    double loss, log_loss;
};

static void count_row(const struct predictor *p, uint32_t class, uint32_t said, bool shares,
                      struct tally *t)
{
    if (class == DATA_CLASS_NONE) {
        t->unknown++;
        return;
    }
    t->right += said == class;
    t->loss += app_logreg_loss(p->shape.loss, p->shape.lanes, p->margin, class);
    if (shares)
        t->log_loss -= log(fmax(p->share[class], 1e-300));
}

static shoal_status score_rows(shoal_score *score, struct predictor *p, const struct data_svm *svm,
                               shoal_err *err)
{
    bool lines = shoal_score_wants_lines(score);
    bool shares = p->shape.loss == NUM_LINEAR_LOGISTIC || p->shape.loss == NUM_LINEAR_SOFTMAX;
    struct tally t = {0};
    double rows = (double)svm->x.rows;
    struct base_buf line;
    shoal_status st = SHOAL_OK;

    shoal_assert(p->weights != NULL && p->margin != NULL && p->share != NULL &&
                 p->classes.label != NULL);
    base_buf_init(&line, p->alloc, LINE_MAX_BYTES);
    for (uint64_t i = 0; i < svm->x.rows && st == SHOAL_OK; i++) {
        uint32_t class = data_classes_index(&p->classes, svm->label[i]);
        uint32_t said = predict(p, &svm->x, i);
        if (shares)
            find_shares(p);
        count_row(p, class, said, shares, &t);
        if (lines)
            st = put_line(score, p, said, &line, err);
        if (st == SHOAL_OK)
            st = shoal_score_count(score, i + 1, svm->x.rows, err);
    }
    base_buf_fini(&line);
    double known = t.unknown < svm->x.rows ? rows - (double)t.unknown : (double)NAN;
    shoal_score_metric(score, "accuracy", (double)t.right / known);
    if (shares)
        shoal_score_metric(score, "log_loss", t.log_loss / known);
    shoal_score_metric(score, "objective",
                       isnan(known) ? known : penalty_of(p) + p->shape.cost * t.loss);
    shoal_score_metric(score, "rows", rows);
    if (t.unknown > 0)
        shoal_score_metric(score, "unknown_labels", (double)t.unknown);
    if (svm->left_out > 0)
        shoal_score_metric(score, "unknown_entries", (double)svm->left_out);
    return st;
}

shoal_status logreg_score(shoal_score *score, shoal_err *err)
{
    shoal_env *env = shoal_score_env(score);
    struct predictor p = {.alloc = env_alloc(env)};
    struct data_svm svm = {0};
    shoal_status st = predictor_init(&p, shoal_score_model(score), err);
    struct data_svm_opts opts = {.base = (enum data_svm_base)p.shape.index,
                                 .columns = p.name == NULL ? p.shape.columns : 0};

    if (st == SHOAL_OK)
        st = data_svm_load(env, shoal_score_path(score), &opts, &svm, err);
    if (st == SHOAL_OK && p.name != NULL)
        data_svm_renumber(&svm, p.name, p.shape.columns);
    if (st == SHOAL_OK)
        st = score_rows(score, &p, &svm, err);
    data_svm_fini(&svm);
    predictor_fini(&p);
    return st;
}
