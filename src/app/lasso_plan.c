/* lasso_plan.c - rows with targets become the table of columns, executors' states and tables.
 *
 * Where the data has more columns than values, as with hashed names, those without a value are left out:
 * what is kept and scanned depends on values, not on how large the numbers of columns are. The matrix
 * is turned, and kept dense where more than half of it is not 0. With an intercept the
 * mean is taken off squared targets, so that floats hold what is left. A column that is constant but
 * for rounding counts as one of zeros, and equal ones share one coefficient (num/lasso.c). Folds are
 * dealt out at random by the job's seed. Ranges of columns to scan have as many entries each, enough for
 * a millisecond. While planning, memory holds what was read and the table.
 *
 * Tests: tests/unit/app/test_lasso.c, tests/cli/test_train_lasso.py. */
#include "app/lasso.h"

#include "base/err.h"
#include "base/rand.h"
#include <math.h>
#include <string.h>

enum { ALIGN = 64, PART_ENTRIES = 1 << 18, PATH_SHARE = 2, GROUPS = 4, SET_MIN = 4096 };
static const uint64_t CUT_MIN = 8 << 20; /* entries of a set whose epoch is worth a clock */
static const double VALUE_MAX = 1e15;
static const double CONSTANT = 1e-6; /* deviation against the mean; floats are rounded by 6e-8 */

struct planning {
    shoal_driver *driver;
    const struct base_alloc *alloc;
    const struct lasso_options *o;
    const struct data_svm *svm;
    struct lasso_data head;
    struct lasso_data *data; /* in its table */
    uint64_t *count;         /* entries by column, then where the next one goes */
    uint32_t all_columns;    /* of the data, as it is */
    uint32_t constant;       /* columns that never vary */
    uint32_t *name;          /* of columns that are kept; NULL: all are */
    bool dense;
};

static shoal_status bad(const struct planning *p, shoal_err *err, const char *what)
{
    base_err(err, SHOAL_E_FORMAT, "%s", what);
    base_err_where(err, "%s", shoal_driver_path(p->driver));
    return SHOAL_E_FORMAT;
}

static void *part(const struct planning *p, uint64_t at)
{
    return (char *)p->data + at;
}

/* ---- what can be wrong ---- */

static shoal_status check_values(const struct planning *p, shoal_err *err)
{
    const struct num_csr *x = &p->svm->x;

    for (uint64_t e = 0; x->value != NULL && e < p->svm->entries; e++)
        if (!(fabs((double)x->value[e]) <= VALUE_MAX))
            return bad(p, err, "a value above 1e15: scale the columns");
    for (uint64_t i = 0; i < x->rows; i++)
        if (!(fabs(p->svm->label[i]) <= VALUE_MAX))
            return bad(p, err, "a target above 1e15: scale the targets");
    if (x->rows >= INT32_MAX)
        return base_err(err, SHOAL_E_LIMIT, "at most %d rows", INT32_MAX - 1);
    if (x->columns == 0)
        return bad(p, err, "no row has a value");
    if (p->o->folds == 1)
        return base_err(err, SHOAL_E_INVAL, "one fold leaves no rows to learn from: 0, or 2 to 10");
    if (p->o->folds > x->rows)
        return bad(p, err, "more folds than rows");
    return SHOAL_OK;
}

/* The two labels of a logistic loss, and the mean of others. */
static shoal_status check_targets(struct planning *p, shoal_err *err)
{
    const double *y = p->svm->label;
    double least = y[0], most = y[0], sum = 0;

    for (uint64_t i = 0; i < p->svm->x.rows; i++) {
        least = fmin(least, y[i]);
        most = fmax(most, y[i]);
        sum += y[i] / (double)p->svm->x.rows;
    }
    if (least == most)
        return bad(p, err, "the target is the same in every row");
    for (uint64_t i = 0; p->o->loss == NUM_LASSO_LOGISTIC && i < p->svm->x.rows; i++)
        if (y[i] != least && y[i] != most)
            return bad(p, err, "loss logistic takes two different targets; there are more");
    p->head.label[0] = least;
    p->head.label[1] = most;
    p->head.y_mean = p->o->loss == NUM_LASSO_SQUARED && p->o->intercept ? sum : 0;
    return SHOAL_OK;
}

uint32_t lasso_column_of(const struct lasso_data *data, uint32_t name)
{
    const char *names = (const char *)data + data->name_at;

    return data->name_at == 0 ? name : data_svm_column((const void *)names, data->columns, name);
}

/* ---- the table of columns ---- */

static uint64_t take(uint64_t *size, uint64_t bytes)
{
    uint64_t at = *size;

    *size += (bytes + 2 * ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

static shoal_status make_table(const struct planning *p, const char *name, uint64_t bytes,
                               shoal_err *err)
{
    uint64_t row = LASSO_WIDTH * sizeof(float);
    shoal_table_opts table = {.struct_size = sizeof table,
                              .name = name,
                              .rows = (bytes + row - 1) / row,
                              .width = LASSO_WIDTH};

    return shoal_driver_table(p->driver, &table, err);
}

/* Into how many groups working sets are cut. Folds are at work beside each other as it is. */
static shoal_status plan_groups(struct planning *p, shoal_err *err)
{
    struct lasso_data *h = &p->head;
    bool can =
        p->o->loss == NUM_LASSO_SQUARED && p->o->folds == 0 && p->o->schedule == NUM_LASSO_PRIORITY;

    if (!can && p->o->groups > 1)
        return base_err(err, SHOAL_E_INVAL,
                        "groups are for the squared loss by priority, without folds");
    h->groups = p->o->groups > 0 ? (uint32_t)p->o->groups : GROUPS;
    h->cut_min = p->o->groups > 0 ? 1 : CUT_MIN;
    if (!can || h->gram_parts > 0 || (p->o->groups == 0 && h->parts < GROUPS))
        h->groups = 1;
    h->set_max = h->rows > SET_MIN ? h->rows : SET_MIN;
    h->set_max = h->set_max < h->columns ? h->set_max : h->columns;
    return SHOAL_OK;
}

static shoal_status make_data(struct planning *p, shoal_err *err)
{
    const struct num_csr *x = &p->svm->x;
    struct lasso_data *h = &p->head;
    uint64_t size = (sizeof *h + ALIGN - 1) / ALIGN * ALIGN, all = x->rows * x->columns;
    bool dense = p->dense;

    h->entries = p->svm->entries;
    h->loss = p->o->loss;
    h->intercept = p->o->intercept;
    h->chains = (uint32_t)p->o->folds + 1;
    h->start_at = take(&size, dense ? 0 : (x->columns + 1ull) * sizeof(uint64_t));
    h->index_at = dense ? 0 : take(&size, h->entries * sizeof(uint32_t));
    h->value_at = take(&size, (dense ? all : h->entries) * sizeof(float));
    h->y_at = take(&size, h->rows * sizeof(float));
    h->fold_at = take(&size, h->rows);
    h->scale_at = p->o->scale ? take(&size, h->columns * sizeof(float)) : 0;
    h->name_at = p->name != NULL ? take(&size, h->columns * sizeof *p->name) : 0;
    h->mean_at = h->gram_parts > 0 ? take(&size, h->columns * sizeof(double)) : 0;
    shoal_status st = make_table(p, "data", size, err);
    if (st != SHOAL_OK)
        return st;
    p->data = (void *)shoal_driver_rows(p->driver, LASSO_DATA);
    *p->data = *h;
    if (p->name != NULL)
        memcpy(part(p, h->name_at), p->name, h->columns * sizeof *p->name);
    return SHOAL_OK;
}

static void turn_matrix(struct planning *p)
{
    const struct num_csr *x = &p->svm->x;
    float *value = part(p, p->data->value_at);
    uint32_t *index = p->data->index_at > 0 ? part(p, p->data->index_at) : NULL;
    uint64_t *start = part(p, p->data->start_at), before = 0;

    for (uint32_t j = 0; j < x->columns; j++) {
        uint64_t count = p->count[j];
        if (index != NULL)
            start[j] = before;
        p->count[j] = before;
        before += count;
    }
    if (index != NULL)
        start[x->columns] = before;
    for (uint64_t i = 0; i < x->rows; i++)
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            float a = x->value != NULL ? x->value[e] : 1;
            uint64_t to = p->count[x->index[e]]++;
            if (index != NULL)
                index[to] = (uint32_t)i;
            else
                to = x->index[e] * x->rows + i;
            value[to] = a;
        }
}

/* Where the values of a column are in the table. */
static float *column_of(const struct planning *p, uint32_t column, uint64_t *out_count)
{
    const uint64_t *start = part(p, p->data->start_at);
    float *value = part(p, p->data->value_at);

    *out_count = p->data->rows;
    if (p->data->index_at == 0)
        return value + (uint64_t)column * p->data->rows;
    *out_count = start[column + 1] - start[column];
    return value + start[column];
}

/* Mean and standard deviation over all rows, in two passes: what is lost to rounding is little. */
static double deviation(const float *value, uint64_t count, double rows, double *out_mean)
{
    double sum = 0, square = 0, mean;

    for (uint64_t e = 0; e < count; e++)
        sum += (double)value[e];
    mean = sum / rows;
    for (uint64_t e = 0; e < count; e++)
        square += ((double)value[e] - mean) * ((double)value[e] - mean);
    square += (rows - (double)count) * mean * mean;
    *out_mean = mean;
    return sqrt(square / rows);
}

/* With an intercept a constant column says nothing, and what its rounding seems to say is noise. */
static void drop_constants(struct planning *p)
{
    for (uint32_t j = 0; p->o->intercept && j < p->data->columns; j++) {
        uint64_t count;
        float *value = column_of(p, j, &count);
        double mean, sd = deviation(value, count, p->data->rows, &mean);
        if (sd > CONSTANT * fabs(mean))
            continue;
        memset(value, 0, count * sizeof *value);
    }
}

static void find_means(struct planning *p)
{
    double *mean = part(p, p->data->mean_at);

    for (uint32_t j = 0; p->o->intercept && j < p->data->columns; j++) {
        uint64_t count;
        float *value = column_of(p, j, &count);
        deviation(value, count, p->data->rows, &mean[j]);
    }
}

/* Divides each column by its standard deviation, without an intercept by its root mean square; one
 * that has none stays as it is. */
static void scale_columns(struct planning *p)
{
    float *scale = part(p, p->data->scale_at);

    for (uint32_t j = 0; j < p->data->columns; j++) {
        uint64_t count;
        float *value = column_of(p, j, &count);
        double mean, sd = deviation(value, count, p->data->rows, &mean);
        if (!p->o->intercept)
            sd = sqrt(sd * sd + mean * mean);
        scale[j] = sd > 0 ? (float)sd : 1;
        for (uint64_t e = 0; e < count; e++)
            value[e] /= scale[j];
    }
}

/* ---- targets and folds ---- */

static void fill_targets(struct planning *p)
{
    float *y = part(p, p->data->y_at);

    for (uint32_t i = 0; i < p->data->rows; i++) {
        double label = p->svm->label[i];
        y[i] = p->o->loss == NUM_LASSO_LOGISTIC ? (float)(label == p->head.label[1])
                                                : (float)(label - p->head.y_mean);
    }
}

/* Whether a chain's rows have both labels. */
static bool has_both(const struct planning *p, uint32_t chain)
{
    const uint8_t *fold = part(p, p->data->fold_at);
    const float *y = part(p, p->data->y_at);
    uint32_t ones = 0, rows = 0;

    for (uint32_t i = 0; i < p->data->rows; i++)
        if (fold[i] != chain) {
            rows++;
            ones += y[i] > 0;
        }
    return ones > 0 && ones < rows;
}

static shoal_status deal_folds(struct planning *p, shoal_err *err)
{
    uint8_t *fold = part(p, p->data->fold_at);
    uint32_t n = p->data->rows, folds = p->data->chains - 1;
    struct base_rand rand;

    base_rand_init(&rand, shoal_driver_seed(p->driver), "lasso.folds");
    for (uint32_t c = 0; c < p->data->chains; c++)
        p->data->total[c] = n;
    for (uint32_t i = 0; i < n && folds > 0; i++)
        fold[i] = (uint8_t)(1 + i % folds);
    for (uint32_t i = n; i > 1 && folds > 0; i--) {
        uint32_t other = (uint32_t)base_rand_below(&rand, i);
        uint8_t kept = fold[i - 1];
        fold[i - 1] = fold[other];
        fold[other] = kept;
    }
    for (uint32_t i = 0; i < n && folds > 0; i++)
        p->data->total[fold[i]]--;
    for (uint32_t c = 1; c <= folds && p->o->loss == NUM_LASSO_LOGISTIC; c++)
        if (!has_both(p, c))
            return bad(p, err, "without one of the folds all targets are the same: use fewer");
    return SHOAL_OK;
}

/* ---- executors ---- */

static void cut_parts(struct planning *p)
{
    struct lasso_data *h = &p->head;
    uint64_t parts = p->svm->entries / PART_ENTRIES + 1, before = 0;
    uint32_t next = 1;

    parts = parts < LASSO_PARTS_MAX ? parts : LASSO_PARTS_MAX;
    parts = parts < p->svm->x.columns ? parts : p->svm->x.columns;
    for (uint32_t j = 0; j < p->svm->x.columns && next < parts; j++) {
        before += p->count[j];
        if (before >= p->svm->entries / parts * next || p->svm->x.columns - j - 1 == parts - next)
            h->part_first[next++] = j + 1;
    }
    h->parts = next;
    h->part_first[next] = p->svm->x.columns;
}

/* Executors that scan, visit groups or make products. */
static uint32_t hands_of(const struct lasso_data *h)
{
    if (h->gram_parts > 0)
        return h->gram_parts;
    return h->groups > h->parts ? h->groups : h->parts;
}

/* Of the hand's scan and of its group. */
static size_t hand_size(const struct lasso_data *h, uint32_t hand)
{
    size_t size = 0, group = h->groups > 1 && hand < h->groups ? lasso_hand_size(h) : 0;

    if (h->gram_parts > 0)
        return lasso_gram_part_size(h);
    if (hand < h->parts)
        size = (h->part_first[hand + 1] - h->part_first[hand]) * (size_t)h->chains * sizeof(float);
    return size > group ? size : group;
}

static shoal_status make_states(struct planning *p, shoal_err *err)
{
    const struct lasso_data *h = p->data;

    for (uint32_t e = 0; e < h->chains + hands_of(h); e++) {
        size_t size = e < h->chains ? lasso_chain_size(h->gram_parts > 0 ? 0 : h->rows, h->columns)
                                    : hand_size(h, e - h->chains);
        if (shoal_driver_executor_state(p->driver, e, size) == NULL)
            return base_err_nomem(err, "making states");
    }
    return SHOAL_OK;
}

static shoal_status make_tables(struct planning *p, shoal_err *err)
{
    const struct lasso_data *h = &p->head;
    struct lasso_driver *d = shoal_driver_state(p->driver);
    uint64_t each = h->columns;

    if (p->o->mix == 1 && h->rows < h->columns / PATH_SHARE)
        each = (uint64_t)h->rows * PATH_SHARE; /* a minimum of the lasso has at most `rows` */
    *d = (struct lasso_driver){.chains = h->chains,
                               .parts = h->parts,
                               .hands = hands_of(h),
                               .rows = h->rows,
                               .columns = h->columns,
                               .all_columns = p->all_columns,
                               .constant = p->constant,
                               .lambdas = (uint32_t)p->o->lambdas,
                               .folds = h->chains - 1,
                               .open = (1u << h->chains) - 1,
                               .path_max = each * p->o->lambdas};
    uint64_t rows = h->gram_parts > 0 ? 1 : h->rows;
    shoal_status st = make_table(p, "slope", h->chains * rows * sizeof(double), err);
    if (st == SHOAL_OK)
        st = make_table(p, "gradient", (uint64_t)h->chains * h->columns * sizeof(float), err);
    if (st == SHOAL_OK)
        st = make_table(p, "path", d->path_max * sizeof(struct lasso_entry), err);
    if (st == SHOAL_OK && h->groups > 1)
        st = make_table(p, "set", lasso_set_size(h), err);
    if (st == SHOAL_OK && h->groups > 1)
        st = make_table(p, "joint", lasso_joint_size(h), err);
    if (st == SHOAL_OK && h->gram_parts > 0)
        st = make_table(p, "products", lasso_gram_table_size(h), err);
    return st;
}

static shoal_status plan_columns(struct planning *p, shoal_err *err)
{
    shoal_status st;

    for (uint64_t e = 0; e < p->svm->entries; e++)
        p->count[p->svm->x.index[e]]++;
    cut_parts(p);
    p->head.rows = (uint32_t)p->svm->x.rows;
    p->head.columns = p->svm->x.columns;
    p->dense = p->svm->entries > p->svm->x.rows * p->svm->x.columns / 2;
    st = lasso_gram_plan(p->o, p->svm->x.rows, p->svm->x.columns, p->dense, &p->head.gram_parts,
                         err);
    if (st == SHOAL_OK)
        st = plan_groups(p, err);
    if (st == SHOAL_OK)
        st = shoal_driver_executors(p->driver, (uint32_t)p->o->folds + 1 + hands_of(&p->head), err);
    if (st == SHOAL_OK)
        st = make_data(p, err);
    if (st != SHOAL_OK)
        return st;
    turn_matrix(p);
    drop_constants(p);
    if (p->o->scale)
        scale_columns(p);
    if (p->data->gram_parts > 0)
        find_means(p);
    fill_targets(p);
    st = deal_folds(p, err);
    if (st == SHOAL_OK)
        st = make_states(p, err);
    if (st == SHOAL_OK)
        st = make_tables(p, err);
    return st;
}

shoal_status lasso_plan(shoal_driver *driver, shoal_err *err)
{
    shoal_env *env = shoal_driver_env(driver);
    struct data_svm svm = {0};
    struct planning p = {
        .driver = driver, .alloc = env_alloc(env), .o = shoal_driver_options(driver), .svm = &svm};
    struct data_svm_opts opts = {.base = (enum data_svm_base)p.o->index};
    shoal_status st = SHOAL_OK;

    if (shoal_driver_staleness(driver) > 0)
        return base_err(err, SHOAL_E_INVAL, "lasso is bulk synchronous: it has no staleness");
    st = data_svm_load(env, shoal_driver_path(driver), &opts, &svm, err);
    if (st == SHOAL_OK)
        st = check_values(&p, err);
    if (st == SHOAL_OK)
        st = check_targets(&p, err);
    p.all_columns = svm.x.columns;
    if (st == SHOAL_OK)
        st = data_svm_compact(&svm, &p.name, err);
    if (st == SHOAL_OK)
        st = data_svm_constant(&svm, &p.constant, err);
    if (st == SHOAL_OK) {
        p.count = base_calloc(p.alloc, svm.x.columns, sizeof *p.count);
        st = p.count != NULL ? plan_columns(&p, err) : base_err_nomem(err, "turning the matrix");
    }
    base_free(p.alloc, p.count);
    base_free(p.alloc, p.name);
    data_svm_fini(&svm);
    return st;
}
