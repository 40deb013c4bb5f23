/* logreg_plan.c - rows with labels become executors' data, their first states and tables.
 *
 * Rows are dealt out like cards, since data is often sorted by class. A bias is a column of ones,
 * the last one. Where executors keep private copies of the weights (dual, sgd), columns are numbered
 * by executor and a map leads back to the table, unless most executors have most columns anyway.
 * Where rows have more than half of the columns on average, Newton's method gets them whole, with
 * zeros: dense rows need no gathers.
 * For the lasso the matrix is turned, and cut into ranges of columns with as many entries each.
 * While planning, memory holds what was read and the cuts.
 * Tests: tests/unit/app/test_logreg.c, tests/cli/transcripts/logreg_bad_input.txt. */
#include "app/logreg.h"

#include "app/parts.h"
#include "base/err.h"
#include <math.h>
#include <string.h>

enum { ALIGN = 64, CLASSES_MAX = 100000, FACTOR_COLUMNS_MAX = 1 << 20 };
static const double VALUE_MAX = 1e15;
/* Work of a task, in entries x lanes, below which more executors cost more than they bring. Dual ascent
 * takes far more: passes over blocks of the rows, one after the other, need more epochs the more blocks
 * there are, and each copies the weights of its columns. The lasso takes one block up to LASSO_FLOATS,
 * as a few run into each other (docs/design/0009-bars-not-reached.md), and then many. */
static const uint64_t TASK_FLOATS = 1 << 16, DUAL_FLOATS = 1 << 22, LASSO_FLOATS = 1 << 23;
static const uint64_t MANY_ROWS = 500000;

struct planning {
    shoal_driver *driver;
    const struct base_alloc *alloc;
    const struct logreg_options *o;
    const struct data_svm *svm;
    const uint32_t *name; /* of columns (data_svm_compact); NULL: as in the file */
    struct data_classes classes;
    uint32_t *label;              /* class by row */
    uint32_t columns, lanes, way; /* columns with the bias */
    uint32_t executors;
    uint32_t constant; /* columns that never vary */
    uint64_t entries;  /* with the bias */
    double cost;
    bool mapped;
    bool filled; /* rows are stored dense, with zeros */
    struct logreg_data *data[LOGREG_EXECUTORS_MAX];
    /* of columns */
    uint32_t *local; /* dual: number in the executor's map, stamped by `seen` */
    uint32_t *seen;  /* executor + 1 */
    uint64_t *count; /* lasso: entries, with the bias */
    uint32_t owner_end[LOGREG_EXECUTORS_MAX]; /* lasso: first column of the next */
};

/* ---- what can be wrong ---- */

static shoal_status check_options(const struct logreg_options *o, shoal_err *err)
{
    if (o->penalty == NUM_LINEAR_ABSOLUTE && o->loss != NUM_LINEAR_LOGISTIC)
        return base_err(err, SHOAL_E_INVAL, "penalty l1 goes with loss logistic only");
    if (o->penalty == NUM_LINEAR_ABSOLUTE && o->algorithm != LOGREG_AUTO)
        return base_err(err, SHOAL_E_INVAL, "penalty l1 has one algorithm: leave it at auto");
    if (o->loss == NUM_LINEAR_SOFTMAX && o->algorithm == LOGREG_SDCA)
        return base_err(err, SHOAL_E_INVAL, "loss softmax has no algorithm sdca");
    if (o->probabilities && o->loss != NUM_LINEAR_LOGISTIC && o->loss != NUM_LINEAR_SOFTMAX)
        return base_err(err, SHOAL_E_INVAL,
                        "probabilities need loss logistic or softmax: others have none");
    return SHOAL_OK;
}

static shoal_status check_values(const struct planning *p, shoal_err *err)
{
    const struct num_csr *x = &p->svm->x;

    for (uint64_t e = 0; x->value != NULL && e < p->svm->entries; e++)
        if (!(fabs((double)x->value[e]) <= VALUE_MAX)) {
            base_err(err, SHOAL_E_FORMAT, "a value of %g; at most %g", (double)x->value[e],
                     VALUE_MAX);
            base_err_where(err, "%s", shoal_driver_path(p->driver));
            base_err_hint(err, "scale the columns");
            return SHOAL_E_FORMAT;
        }
    return SHOAL_OK;
}

/* ---- shape ---- */

static shoal_status find_classes(struct planning *p, shoal_err *err)
{
    uint64_t rows = p->svm->x.rows;
    shoal_status st =
        data_classes_find(p->alloc, p->svm->label, rows, CLASSES_MAX, &p->classes, err);

    if (st != SHOAL_OK) {
        base_err_where(err, "%s", shoal_driver_path(p->driver));
        return st;
    }
    p->label = base_calloc(p->alloc, rows, sizeof *p->label);
    if (p->label == NULL)
        return base_err_nomem(err, "reading labels");
    data_classes_map(&p->classes, p->svm->label, rows, p->label);
    return SHOAL_OK;
}

static shoal_status choose_way(struct planning *p, shoal_err *err)
{
    struct num_csr shape = {.rows = p->svm->x.rows, .columns = p->columns};
    bool newton;

    switch (p->o->algorithm) {
    case LOGREG_SDCA: p->way = NUM_LINEAR_DUAL; break;
    case LOGREG_SGD: p->way = LOGREG_BY_SGD; break;
    default:
        p->way = num_linear_choose(&shape, p->entries, p->lanes, p->o->loss, p->o->penalty);
        if (p->way == NUM_LINEAR_DUAL && p->o->algorithm == LOGREG_NEWTON)
            p->way = NUM_LINEAR_NEWTON;
    }
    newton = p->way == NUM_LINEAR_NEWTON || p->way == NUM_LINEAR_GRAM;
    shoal_driver_set_staleness(p->driver, newton ? 0 : 1);
    if (!newton || shoal_driver_staleness(p->driver) == 0)
        return SHOAL_OK;
    p->way = p->o->penalty == NUM_LINEAR_ABSOLUTE ? NUM_LINEAR_LASSO : NUM_LINEAR_DUAL;
    if (p->o->algorithm == LOGREG_AUTO && p->o->loss != NUM_LINEAR_SOFTMAX)
        return SHOAL_OK;
    base_err(err, SHOAL_E_INVAL, "Newton's method is bulk synchronous: it has no staleness");
    base_err_hint(err, "--staleness 0, or another algorithm");
    return SHOAL_E_INVAL;
}

/* By the data and never by workers. */
static uint32_t choose_executors(const struct planning *p)
{
    uint64_t rows = p->svm->x.rows, own = p->way == NUM_LINEAR_LASSO ? p->columns : rows;
    uint64_t count = rows > MANY_ROWS ? LOGREG_EXECUTORS_MAX : LOGREG_EXECUTORS_MAX / 2;
    bool newton = p->way == NUM_LINEAR_NEWTON || p->way == NUM_LINEAR_GRAM;
    uint64_t task = p->way == NUM_LINEAR_DUAL ? DUAL_FLOATS : TASK_FLOATS;
    uint64_t worth = p->entries * p->lanes / task + 1;

    while (p->way == NUM_LINEAR_LASSO && count > 8 && rows * count > p->entries)
        count /= 2; /* each copies all margins */
    if (p->way == NUM_LINEAR_DUAL && shoal_driver_staleness(p->driver) == 0)
        count /= 2; /* as many pauses as passes cost more than they bring */
    if (p->way == NUM_LINEAR_LASSO && p->entries * p->lanes <= LASSO_FLOATS)
        worth = 1; /* few blocks run into each other, many cost more than they bring */
    if (newton)
        worth = (worth + 1) / 2; /* more clocks, each with less to do */
    count = count < worth ? count : worth;
    if (p->o->executors > 0)
        count = p->o->executors;
    return (uint32_t)(count < own ? count : own);
}

static shoal_status find_shape(struct planning *p, shoal_err *err)
{
    const struct num_csr *x = &p->svm->x;
    bool softmax = p->o->loss == NUM_LINEAR_SOFTMAX;

    p->columns = x->columns + p->o->bias;
    if (p->columns == 0)
        p->columns = 1; /* all rows are empty */
    p->entries = p->svm->entries + (p->o->bias ? x->rows : 0);
    p->lanes = p->classes.count <= 2 && !softmax ? 1 : p->classes.count;
    p->cost = p->o->lambda > 0 ? 1 / (p->o->lambda * (double)x->rows) : p->o->cost;
    uint64_t there = p->entries;
    p->filled = p->lanes == 1 && there / p->columns >= x->rows / 2 + 1;
    if (p->filled)
        p->entries = x->rows * p->columns;
    shoal_status st = choose_way(p, err);
    if (p->way != NUM_LINEAR_NEWTON && p->way != NUM_LINEAR_GRAM) {
        p->filled = false;
        p->entries = there;
    }
    p->executors = choose_executors(p);
    return st;
}

/* ---- rows ---- */

static uint64_t take(uint64_t *size, uint64_t bytes)
{
    uint64_t at = *size;

    *size += (bytes + 2 * ALIGN - 1) / ALIGN * ALIGN; /* passes may look a little past an end */
    return at;
}

static struct logreg_data head_of(const struct planning *p)
{
    return (struct logreg_data){.all_rows = p->svm->x.rows,
                                .columns = p->columns,
                                .all_columns = p->columns,
                                .lanes = p->lanes,
                                .loss = p->o->loss,
                                .way = p->way,
                                .l1 = p->o->penalty == NUM_LINEAR_ABSOLUTE,
                                .cost = (float)p->cost};
}

static shoal_status make_block(struct planning *p, uint32_t executor, struct logreg_data *head,
                               uint64_t map_count, shoal_err *err)
{
    uint64_t size = (sizeof *head + ALIGN - 1) / ALIGN * ALIGN;

    head->start_at = take(&size, (head->rows + 1) * sizeof(uint64_t));
    head->index_at = take(&size, head->entries * sizeof(uint32_t));
    if (p->svm->x.value != NULL || p->filled)
        head->value_at = take(&size, head->entries * sizeof(float));
    if (p->way == NUM_LINEAR_LASSO) {
        head->aim_at = take(&size, head->rows * p->lanes * sizeof(float));
        head->label_at = take(&size, head->judged * sizeof(uint32_t));
    } else {
        head->label_at = take(&size, head->rows * sizeof(uint32_t));
    }
    if (p->way == NUM_LINEAR_LASSO || p->way == NUM_LINEAR_DUAL)
        head->norm_at = take(&size, head->rows * sizeof(float));
    if (map_count > 0)
        head->map_at = take(&size, map_count * sizeof(uint32_t));
    struct logreg_data *data = shoal_driver_block(p->driver, executor, size);
    if (data == NULL)
        return base_err_nomem(err, "dealing out rows");
    *data = *head;
    p->data[executor] = data;
    return SHOAL_OK;
}

static void *part(struct logreg_data *data, uint64_t at)
{
    return (char *)data + at;
}

static struct num_csr matrix(struct logreg_data *data)
{
    return (struct num_csr){.rows = data->rows,
                            .columns = data->columns,
                            .start = part(data, data->start_at),
                            .index = part(data, data->index_at),
                            .value = data->value_at > 0 ? part(data, data->value_at) : NULL};
}

/* Rows and entries of an executor; with `columns` its columns are stamped and counted. */
static uint32_t survey(struct planning *p, uint32_t executor, bool columns,
                       struct logreg_data *head)
{
    const struct num_csr *x = &p->svm->x;
    uint32_t count = p->o->bias;

    for (uint64_t i = executor; i < x->rows; i += p->executors) {
        head->rows++;
        head->entries += p->filled ? p->columns : x->start[i + 1] - x->start[i] + p->o->bias;
        for (uint64_t e = x->start[i]; columns && e < x->start[i + 1]; e++) {
            count += p->seen[x->index[e]] != executor + 1;
            p->seen[x->index[e]] = executor + 1;
        }
    }
    return count;
}

/* The executor's map, ascending, and numbers of its columns. */
static void number_columns(struct planning *p, uint32_t executor, uint32_t *map)
{
    uint32_t next = 0;

    for (uint32_t c = 0; c < p->svm->x.columns; c++)
        if (p->seen[c] == executor + 1) {
            p->local[c] = next;
            map[next++] = c;
        }
    if (p->o->bias) {
        p->local[p->columns - 1] = next;
        map[next] = p->columns - 1;
    }
}

/* Row `i` as all columns; returns how many entries that is. */
static uint64_t fill_row(const struct planning *p, uint64_t i, uint32_t *index, float *value)
{
    const struct num_csr *x = &p->svm->x;

    for (uint32_t c = 0; c < p->columns; c++) {
        index[c] = c;
        value[c] = 0;
    }
    for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
        value[x->index[e]] = x->value != NULL ? x->value[e] : 1;
    if (p->o->bias)
        value[p->columns - 1] = 1;
    return p->columns;
}

/* Row `i` as it is, by the numbers of the executor's columns. */
static uint64_t copy_row(const struct planning *p, uint64_t i, uint32_t *index, float *value)
{
    const struct num_csr *x = &p->svm->x;
    uint32_t bias = p->columns - 1;
    uint64_t to = 0;

    for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++, to++) {
        index[to] = p->mapped ? p->local[x->index[e]] : x->index[e];
        if (value != NULL)
            value[to] = x->value[e];
    }
    if (!p->o->bias)
        return to;
    if (value != NULL)
        value[to] = 1;
    index[to++] = p->mapped ? p->local[bias] : bias;
    return to;
}

static void fill_rows(struct planning *p, uint32_t executor)
{
    struct logreg_data *data = p->data[executor];
    uint64_t *start = part(data, data->start_at), to = 0, row = 0;
    uint32_t *index = part(data, data->index_at), *label = part(data, data->label_at);
    float *value = data->value_at > 0 ? part(data, data->value_at) : NULL;

    for (uint64_t i = executor; i < p->svm->x.rows; i += p->executors, row++) {
        float *to_value = value != NULL ? value + to : NULL;
        start[row] = to;
        label[row] = p->label[i];
        to +=
            p->filled ? fill_row(p, i, index + to, to_value) : copy_row(p, i, index + to, to_value);
    }
    start[row] = to;
    if (p->way == NUM_LINEAR_DUAL) {
        struct num_csr own = matrix(data);
        num_linear_norms(&own, part(data, data->norm_at));
    }
}

/* A step of the multinomial model adds u x' to the weights, with u a number a class. Sent as u and x
 * (Xie and others, "Distributed machine learning via sufficient factor broadcasting", 2015) it takes
 * lanes + 2 entries floats a row; what it has touched in all takes lanes + 1 floats a column. */
static void choose_factors(struct planning *p, uint64_t touched)
{
    uint64_t factors = p->svm->x.rows * p->lanes + 2 * p->entries, all = p->executors;

    all *= (uint64_t)p->columns * p->lanes;
    touched *= p->lanes + 1;
    if (p->way == LOGREG_BY_SGD && p->o->loss == NUM_LINEAR_SOFTMAX &&
        p->columns <= FACTOR_COLUMNS_MAX && factors < (touched < all ? touched : all))
        p->way = LOGREG_BY_FACTORS;
}

static shoal_status deal_rows(struct planning *p, shoal_err *err)
{
    bool copies = p->way == NUM_LINEAR_DUAL || p->way == LOGREG_BY_SGD;
    struct logreg_data head = head_of(p);
    uint64_t touched = 0;
    shoal_status st = SHOAL_OK;

    for (uint32_t e = 0; e < p->executors && copies; e++)
        touched += survey(p, e, true, &head);
    memset(p->seen, 0, p->columns * sizeof *p->seen);
    choose_factors(p, touched);
    p->mapped = p->way == LOGREG_BY_FACTORS ||
                (copies && touched * (p->lanes + 1) < /* floats and numbers of an outbox */
                               (uint64_t)p->executors * p->columns * p->lanes);
    for (uint32_t e = 0; e < p->executors && st == SHOAL_OK; e++) {
        head = head_of(p);
        uint32_t columns = survey(p, e, p->mapped, &head);
        if (p->mapped)
            head.columns = columns > 0 ? columns : 1;
        st = make_block(p, e, &head, p->mapped ? head.columns : 0, err);
        if (st == SHOAL_OK && p->mapped)
            number_columns(p, e, part(p->data[e], p->data[e]->map_at));
        if (st == SHOAL_OK)
            fill_rows(p, e);
    }
    return st;
}

/* ---- columns ---- */

static void cut_columns(struct planning *p)
{
    const struct num_csr *x = &p->svm->x;
    uint64_t before = 0;
    uint32_t c = 0;

    for (uint64_t e = 0; e < p->svm->entries; e++)
        p->count[x->index[e]]++;
    if (p->o->bias)
        p->count[p->columns - 1] = x->rows;
    for (uint32_t e = 0; e < p->executors; e++) {
        uint32_t left = p->executors - e - 1; /* each of them shall have one */
        uint64_t end = p->entries / p->executors * (e + 1);
        do
            before += p->count[c++];
        while (c + left < p->columns && (before < end || left == 0));
        p->owner_end[e] = c;
    }
}

static shoal_status make_column_blocks(struct planning *p, shoal_err *err)
{
    uint64_t rows = p->svm->x.rows;
    uint32_t c = 0;
    shoal_status st = SHOAL_OK;

    for (uint32_t e = 0; e < p->executors && st == SHOAL_OK; e++) {
        struct logreg_data head = head_of(p);
        head.columns = (uint32_t)rows;
        head.first = c;
        head.rows = p->owner_end[e] - c;
        head.judged_at = rows / p->executors * e;
        head.judged =
            (e + 1 < p->executors ? rows / p->executors * (e + 1) : rows) - head.judged_at;
        for (; c < p->owner_end[e]; c++)
            head.entries += p->count[c];
        st = make_block(p, e, &head, 0, err);
        if (st != SHOAL_OK)
            break;
        uint64_t *start = part(p->data[e], p->data[e]->start_at);
        for (uint64_t k = 0; k < head.rows; k++) {
            start[k + 1] = start[k] + p->count[head.first + k];
            p->count[head.first + k] = start[k]; /* where the next entry goes */
            for (uint64_t i = 0; k == 0 && i < head.judged; i++)
                ((uint32_t *)part(p->data[e], head.label_at))[i] = p->label[head.judged_at + i];
        }
    }
    return st;
}

static void put_entry(struct planning *p, struct logreg_data *data, uint64_t row, uint32_t column,
                      float value)
{
    uint64_t to = p->count[column]++;
    float *aim = part(data, data->aim_at);

    ((uint32_t *)part(data, data->index_at))[to] = (uint32_t)row;
    if (data->value_at > 0)
        ((float *)part(data, data->value_at))[to] = value;
    if (p->label[row] < p->lanes)
        aim[(size_t)(column - data->first) * p->lanes + p->label[row]] += value;
}

static shoal_status deal_columns(struct planning *p, shoal_err *err)
{
    const struct num_csr *x = &p->svm->x;
    shoal_status st;

    if (x->rows > UINT32_MAX)
        return base_err(err, SHOAL_E_LIMIT, "penalty l1 takes at most %u rows", UINT32_MAX);
    cut_columns(p);
    st = make_column_blocks(p, err);
    for (uint64_t i = 0; i < x->rows && st == SHOAL_OK; i++) {
        uint32_t owner = 0;
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            while (x->index[e] >= p->owner_end[owner])
                owner++; /* indices ascend */
            put_entry(p, p->data[owner], i, x->index[e], x->value != NULL ? x->value[e] : 1);
        }
        if (p->o->bias)
            put_entry(p, p->data[p->executors - 1], i, p->columns - 1, 1);
    }
    for (uint32_t e = 0; e < p->executors && st == SHOAL_OK; e++) {
        struct num_csr own = matrix(p->data[e]);
        num_linear_peaks(&own, part(p->data[e], p->data[e]->norm_at));
    }
    return st;
}

/* ---- states and tables ---- */

static shoal_status make_states(struct planning *p, shoal_err *err)
{
    bool by_newton = p->way == NUM_LINEAR_NEWTON || p->way == NUM_LINEAR_GRAM;

    for (uint32_t e = 0; e < p->executors && !logreg_is_sgd(p->way); e++) {
        uint64_t rows = p->data[e]->rows, floats = rows * p->lanes;
        size_t size = floats * sizeof(float);
        if (p->way == NUM_LINEAR_DUAL)
            size += rows;
        else if (by_newton && p->o->loss == NUM_LINEAR_HINGE)
            size *= 4; /* see logreg_task.c */
        else if (by_newton && p->o->penalty == NUM_LINEAR_ABSOLUTE)
            size *= 2; /* margins */
        if (p->way == NUM_LINEAR_LASSO)
            size += (floats + LOGREG_LOOKS * p->lanes) * sizeof(float) + rows;
        float *state = shoal_driver_executor_state(p->driver, e, size > 0 ? size : 1);
        if (state == NULL)
            return base_err_nomem(err, "making states");
        for (uint64_t i = 0; p->way == NUM_LINEAR_LASSO && i < floats; i++)
            state[floats + i] = 1; /* reach */
        for (uint64_t i = 0; by_newton && p->o->loss == NUM_LINEAR_HINGE && i < floats; i++)
            state[2 * floats + i] = 0.5f; /* centers */
    }
    return SHOAL_OK;
}

static shoal_status make_tables(const struct planning *p, shoal_err *err)
{
    bool lasso = p->way == NUM_LINEAR_LASSO;
    uint64_t d = p->columns, names = p->name != NULL ? p->svm->x.columns : 0;
    shoal_status st;

    if (p->way == LOGREG_BY_FACTORS)
        st = app_parts_table(p->driver, "weight", p->lanes, p->columns, err);
    else
        st = app_parts_table(p->driver, lasso ? "margin" : "weight", lasso ? p->svm->x.rows : d,
                             p->lanes, err);

    if (st == SHOAL_OK)
        st = app_parts_table(p->driver, "label", p->classes.count + (names + 1) / 2,
                             sizeof(double) / sizeof(float), err);
    if (st == SHOAL_OK) {
        char *label = (void *)shoal_driver_rows(p->driver, LOGREG_LABEL);
        size_t size = p->classes.count * sizeof(double);
        memcpy(label, p->classes.label, size);
        if (names > 0)
            memcpy(label + size, p->name, names * sizeof *p->name);
    }
    if (st == SHOAL_OK && lasso)
        st = app_parts_table(p->driver, "look", (uint64_t)p->executors * LOGREG_LOOKS, p->lanes,
                             err);
    if (st != SHOAL_OK || (p->way != NUM_LINEAR_NEWTON && p->way != NUM_LINEAR_GRAM))
        return st;
    st = app_parts_table(p->driver, "sum", d, p->lanes, err);
    if (st == SHOAL_OK)
        st = app_parts_table(p->driver, "kept", LOGREG_VECTORS * d, p->lanes, err);
    if (st == SHOAL_OK && p->way == NUM_LINEAR_GRAM)
        st = app_parts_table(p->driver, "gram", d, p->columns, err);
    return st;
}

static void fill_driver(const struct planning *p)
{
    static const double SMOOTH_TOL = 1e-4, HINGE_TOL = 2e-4, L1_TOL = 1e-3;
    struct logreg_driver *d = shoal_driver_state(p->driver);
    bool hinge = p->o->loss == NUM_LINEAR_HINGE;
    bool newton = p->way == NUM_LINEAR_NEWTON || p->way == NUM_LINEAR_GRAM;
    double tol = hinge ? HINGE_TOL : SMOOTH_TOL;

    if (p->o->penalty == NUM_LINEAR_ABSOLUTE)
        tol = L1_TOL;
    *d = (struct logreg_driver){.executors = p->executors,
                                .lanes = p->lanes,
                                .columns = p->columns,
                                .way = p->way,
                                .classes = p->classes.count,
                                .named = p->name != NULL,
                                .constant = p->constant,
                                .bulk = shoal_driver_staleness(p->driver) == 0,
                                .rows = p->svm->x.rows,
                                .cost = p->cost,
                                .tol = p->o->tol > 0 ? p->o->tol : tol,
                                .scale = 1,
                                .expect = INFINITY};
    if (hinge && newton)
        logreg_hinge_begin(d);
}

/* ---- all of it ---- */

static shoal_status deal(struct planning *p, shoal_err *err)
{
    p->seen = base_calloc(p->alloc, p->columns, sizeof *p->seen);
    p->local = base_calloc(p->alloc, p->columns, sizeof *p->local);
    p->count = base_calloc(p->alloc, p->columns, sizeof *p->count);
    if (p->seen == NULL || p->local == NULL || p->count == NULL)
        return base_err_nomem(err, "dealing out rows");
    return p->way == NUM_LINEAR_LASSO ? deal_columns(p, err) : deal_rows(p, err);
}

static shoal_status plan_rows(shoal_driver *driver, const struct data_svm *svm,
                              const uint32_t *name, shoal_err *err)
{
    struct planning p = {.driver = driver,
                         .alloc = env_alloc(shoal_driver_env(driver)),
                         .o = shoal_driver_options(driver),
                         .svm = svm,
                         .name = name};
    shoal_status st = check_values(&p, err);

    if (st == SHOAL_OK)
        st = data_svm_constant(svm, &p.constant, err);
    if (st == SHOAL_OK)
        st = find_classes(&p, err);
    if (st == SHOAL_OK)
        st = find_shape(&p, err);
    if (st == SHOAL_OK)
        st = shoal_driver_executors(driver, p.executors, err);
    if (st == SHOAL_OK)
        st = deal(&p, err);
    if (st == SHOAL_OK)
        st = make_states(&p, err);
    if (st == SHOAL_OK)
        st = make_tables(&p, err);
    if (st == SHOAL_OK)
        fill_driver(&p);
    base_free(p.alloc, p.seen);
    base_free(p.alloc, p.local);
    base_free(p.alloc, p.count);
    base_free(p.alloc, p.label);
    data_classes_fini(&p.classes);
    return st;
}

shoal_status logreg_plan(shoal_driver *driver, shoal_err *err)
{
    const struct logreg_options *o = shoal_driver_options(driver);
    struct data_svm_opts opts = {.base = (enum data_svm_base)o->index};
    struct data_svm svm = {0};
    uint32_t *name = NULL;
    shoal_status st = check_options(o, err);

    if (st == SHOAL_OK)
        st = data_svm_load(shoal_driver_env(driver), shoal_driver_path(driver), &opts, &svm, err);
    if (st == SHOAL_OK)
        st = data_svm_compact(&svm, &name, err);
    if (st == SHOAL_OK)
        st = plan_rows(driver, &svm, name, err);
    base_free(env_alloc(shoal_driver_env(driver)), name);
    data_svm_fini(&svm);
    return st;
}
