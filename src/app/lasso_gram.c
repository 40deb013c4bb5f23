/* lasso_gram.c - the path from products of columns (num/lasso_gram.c): the tasks, and what the driver
 * does between them.
 *
 * In the first clock each executor makes the products of all columns over its range of rows (MAKE); the
 * driver adds them up in order, into the table `products`. Then a clock per penalty finds its solution
 * (WALK), with its gap over all columns; rows are not looked at again.
 *
 * When it pays. Products cost rows x columns^2 / 2, at some twenty a nanosecond. Without them each
 * penalty costs a scan of rows x columns entries and visits of about as many, at two or three a
 * nanosecond where they come from memory. So products are made where columns / 2 is at most PRODUCTS
 * times the passes they save, of matrices that are kept dense and have more rows than columns.
 * Tests: tests/unit/app/test_lasso.c, tests/cli/test_train_lasso.py. */
#include "app/lasso.h"

#include "base/err.h"
#include <math.h>
#include <string.h>

enum {
    COLUMNS_MAX = 4096, /* 128 MiB of products */
    PRODUCTS = 8,       /* in the time in which an entry is looked at */
    PASSES_MIN = 10     /* of a path, however short */
};
static const double STRICT = 0.1; /* epochs are cheap here: better than was asked for */
static const uint64_t PART_PRODUCTS = 1 << 30; /* of a range of rows: 50 ms */

/* The table `products`: this, then (stride, stride) doubles, then (columns) what was taken off columns
 * beside their means. */
struct lasso_products {
    double yy, rounding, y_mean, unused[5];
};

static struct num_lasso_gram gram_of(const void *table, uint32_t columns)
{
    const struct lasso_products *head = table;
    size_t stride = num_lasso_gram_stride(columns);
    double *sum = (double *)(uintptr_t)(head + 1);

    return (struct num_lasso_gram){columns,  stride,        sum, sum + columns * stride,
                                   head->yy, head->rounding};
}

static const double *center_of(const struct num_lasso_gram *m)
{
    return m->g + m->stride * m->stride;
}

shoal_status lasso_gram_plan(const struct lasso_options *o, uint64_t rows, uint64_t columns,
                             bool dense, uint32_t *out_parts, shoal_err *err)
{
    bool can = o->loss == NUM_LASSO_SQUARED && o->folds == 0 && o->groups == 0 &&
               o->schedule == NUM_LASSO_PRIORITY && dense && columns <= COLUMNS_MAX;
    bool pays = rows >= columns && columns / 2 <= PRODUCTS * (PASSES_MIN + o->lambdas);

    *out_parts = 0;
    if (o->gram == LASSO_GRAM_YES && !can) {
        base_err(err, SHOAL_E_INVAL,
                 "gram is for the squared loss by priority, without folds and "
                 "groups, and at most %d columns, most values not 0",
                 COLUMNS_MAX);
        base_err_hint(err, "leave gram as it is: auto");
        return SHOAL_E_INVAL;
    }
    if (!can || o->gram == LASSO_GRAM_NO || (o->gram == LASSO_GRAM_AUTO && !pays))
        return SHOAL_OK;
    uint64_t parts = rows * columns * columns / 2 / PART_PRODUCTS + 1;
    uint64_t room = rows / columns / 2 + 1; /* parts take no more memory than the data */
    parts = parts < room ? parts : room;
    *out_parts = (uint32_t)(parts < LASSO_PARTS_MAX ? parts : LASSO_PARTS_MAX);
    return SHOAL_OK;
}

size_t lasso_gram_part_size(const struct lasso_data *data)
{
    size_t stride = num_lasso_gram_stride(data->columns);

    return stride * stride * sizeof(double);
}

size_t lasso_gram_table_size(const struct lasso_data *data)
{
    return sizeof(struct lasso_products) + lasso_gram_part_size(data) +
           data->columns * sizeof(double);
}

static const double *means_of(const struct lasso_data *data)
{
    return (const void *)((const char *)data + data->mean_at);
}

/* ---- tasks ---- */

shoal_status lasso_run_make(struct lasso_desk *d, uint32_t which)
{
    uint64_t rows = d->data->rows, parts = d->data->gram_parts;
    uint32_t first = (uint32_t)(rows * which / parts);
    uint32_t count = (uint32_t)(rows * (which + 1) / parts) - first;
    double *work =
        shoal_task_scratch(d->task, num_lasso_gram_work_size(d->data->columns) * sizeof *work);
    double *sum = shoal_task_new_state(d->task, false);

    if (work == NULL || sum == NULL)
        return SHOAL_E_NOMEM;
    memset(sum, 0, lasso_gram_part_size(d->data));
    num_lasso_gram_add(d->ops, &d->p, means_of(d->data), first, count, work, sum);
    return SHOAL_OK;
}

shoal_status lasso_run_walk(struct lasso_desk *d, struct lasso_solved *result)
{
    const struct lasso_products *head = (const void *)shoal_task_rows(d->task, LASSO_PRODUCTS);
    struct num_lasso_gram m = gram_of(head, d->data->columns);
    const double *center = center_of(&m), *mean = means_of(d->data);
    double *slope = shoal_task_scratch(d->task, m.stride * sizeof *slope);
    void *state = shoal_task_new_state(d->task, true);
    struct num_lasso_work work = {0};

    if (slope == NULL || state == NULL)
        return SHOAL_E_NOMEM;
    struct lasso_view v = lasso_view_of(state, 0, m.columns);
    double tol = d->o->tol * STRICT, null = d->o->tol_of == LASSO_TOL_NULL ? m.yy / 2 : 0;
    struct num_lasso_gram_found found =
        num_lasso_gram_solve(d->ops, &m, d->p.lambda, d->p.mix, tol, null, v.b, slope, &work);
    v.head->intercept = head->y_mean;
    for (uint32_t j = 0; j < m.columns; j++)
        if (v.b[j] != 0) {
            result->nonzero++;
            v.head->intercept -= d->data->intercept ? v.b[j] * (mean[j] + center[j]) : 0;
        }
    result->objective = found.objective;
    result->loss = found.loss;
    result->gap = found.gap;
    result->stuck = found.stuck;
    result->updates = work.updates;
    result->set = m.columns;
    return SHOAL_OK;
}

/* ---- the driver ---- */

double lasso_gram_join(shoal_driver *driver, double *out_loss)
{
    const struct lasso_data *data = (const void *)shoal_driver_rows_read(driver, LASSO_DATA);
    struct lasso_products *head = (void *)shoal_driver_rows(driver, LASSO_PRODUCTS);
    struct num_lasso p = lasso_problem(data, shoal_driver_options(driver), 0);
    struct num_lasso_gram m = gram_of(head, data->columns);
    double most = 0, *center = m.g + m.stride * m.stride;

    for (uint32_t part = 0; part < data->gram_parts; part++) {
        size_t size;
        const double *sum = shoal_driver_executor_read(driver, data->chains + part, &size);
        for (size_t i = 0; i < m.stride * m.stride; i++)
            m.g[i] += sum[i];
    }
    m = num_lasso_gram_make(&p, m.g, center, &head->y_mean);
    head->yy = m.yy;
    head->rounding = m.rounding;
    for (uint32_t j = 0; j < m.columns; j++)
        if (m.g[j * m.stride + j] > 0)
            most = fmax(most, fabs(m.q[j]));
    *out_loss = m.yy / 2;
    return most;
}
