/* lp_store.c - the linear program's memory: columns as they come, and their scaling (see lp.c). */
#include "num/lp_core.h"

#include "base/assert.h"
#include <math.h>
#include <string.h>

enum { COLUMNS_MAX = 1 << 22 };

/* The power of two that brings v > 0 into [1/2, 1). */
static double unit_scale(double v)
{
    int exponent;
    (void)frexp(v, &exponent);
    return ldexp(1, -exponent);
}

static size_t padded(size_t n)
{
    return (n + LP_LANES - 1) / LP_LANES * LP_LANES;
}

shoal_status num_lp_new(const struct base_alloc *alloc, uint32_t row_count, const double *b,
                        const bool *equal, struct num_lp **out_lp)
{
    enum { VECTORS = 11 };
    if (row_count == 0)
        return SHOAL_E_INVAL;
    if (row_count > NUM_LP_ROWS_MAX)
        return SHOAL_E_LIMIT;
    for (uint32_t i = 0; i < row_count; i++) {
        if (!isfinite(b[i]))
            return SHOAL_E_INVAL;
    }
    struct num_lp *lp = base_calloc(alloc, 1, sizeof *lp);
    if (lp == NULL)
        return SHOAL_E_NOMEM;
    lp->alloc = alloc;
    lp->rows = row_count;
    size_t pitch = padded(row_count);
    lp->pitch = (uint32_t)pitch;
    size_t doubles = pitch * row_count + VECTORS * pitch;
    size_t rest = pitch * (3 * sizeof(int32_t) + 2 * sizeof(bool));
    lp->memory = base_calloc(alloc, 1, doubles * sizeof(double) + rest);
    if (lp->memory == NULL) {
        num_lp_free(lp);
        return SHOAL_E_NOMEM;
    }
    double *next = lp->memory;
    double **vectors[VECTORS] = {&lp->b,          &lp->row_scale, &lp->x,        &lp->w,
                                 &lp->basic_cost, &lp->y,         &lp->dual,     &lp->alpha,
                                 &lp->work,       &lp->gap,       &lp->logical_d};
    for (size_t k = 0; k < VECTORS; k++, next += pitch)
        *vectors[k] = next;
    lp->inverse = next;
    next += pitch * row_count;
    void *integers = next;
    lp->head = integers;
    lp->where = lp->head + pitch;
    lp->todo = lp->where + pitch;
    void *flags = lp->todo + pitch;
    lp->equal = flags;
    lp->open = lp->equal + pitch;
    if (equal != NULL)
        memcpy(lp->equal, equal, row_count * sizeof *equal);
    num_lp_reset(lp, b);
    *out_lp = lp;
    return SHOAL_OK;
}

void num_lp_free(struct num_lp *lp)
{
    if (lp == NULL)
        return;
    base_free(lp->alloc, lp->memory);
    base_free(lp->alloc, lp->columns);
    base_free(lp->alloc, lp->d);
    base_free(lp->alloc, lp->block);
    base_free(lp->alloc, lp->start);
    base_free(lp->alloc, lp->value);
    base_free(lp->alloc, lp->row);
    base_free(lp->alloc, lp);
}

static void measure_bounds(struct num_lp *lp)
{
    double most = 0;
    for (size_t i = 0; i < lp->rows; i++)
        most = lp_larger(most, fabs(lp->b[i]));
    lp->bound_scale = most > 0 ? most : 1;
}

void num_lp_reset(struct num_lp *lp, const double *b)
{
    size_t m = lp->rows;
    for (size_t i = 0; i < m; i++) {
        shoal_assert(isfinite(b[i]));
        lp->b[i] = b[i];
        lp->x[i] = b[i];
        lp->row_scale[i] = 1;
        lp->dual[i] = 0;
        lp->y[i] = 0;
    }
    lp->count = 0;
    lp->scaled = false;
    lp->pivots = 0;
    lp->draws = 0;
    measure_bounds(lp);
    num_lp_unit_basis(lp);
}

/* Room for the next column with `entry_count` non-zeros. */
static shoal_status reserve(struct num_lp *lp, size_t entry_count)
{
    size_t n = lp->count + 1;
    if (n > COLUMNS_MAX)
        return SHOAL_E_LIMIT;
    void *columns = lp->columns, *d = lp->d, *block = lp->block, *start = lp->start;
    void *value = lp->value, *row = lp->row;
    int failed = base_reserve(lp->alloc, &columns, &lp->column_cap, n, sizeof *lp->columns);
    failed |= base_reserve(lp->alloc, &d, &lp->d_cap, n, sizeof *lp->d);
    if (lp_is_dense(lp)) {
        size_t doubles = (n + LP_BLOCK - 1) / LP_BLOCK * LP_BLOCK * lp->rows;
        failed |= base_reserve(lp->alloc, &block, &lp->block_cap, doubles, sizeof *lp->block);
    } else {
        size_t used = lp->count == 0 ? 0 : lp->start[lp->count];
        failed |= base_reserve(lp->alloc, &start, &lp->start_cap, n + 1, sizeof *lp->start);
        failed |= base_reserve(lp->alloc, &value, &lp->value_cap, used + entry_count + 1,
                               sizeof *lp->value);
        failed |=
            base_reserve(lp->alloc, &row, &lp->row_cap, used + entry_count + 1, sizeof *lp->row);
    }
    lp->columns = columns;
    lp->d = d;
    lp->block = block;
    lp->start = start;
    lp->value = value;
    lp->row = row;
    return failed ? SHOAL_E_NOMEM : SHOAL_OK;
}

static double length_weight(const struct lp_entries *e)
{
    double sum = 1;
    for (size_t k = 0; k < e->count; k++) {
        double v = e->value[k * e->stride];
        sum += v * v;
    }
    return 1 / sqrt(sum);
}

shoal_status num_lp_add(struct num_lp *lp, double cost, const double *column, uint32_t *out_index)
{
    size_t m = lp->rows, nonzero = 0;
    double most = 0, finite = cost * 0;
    for (size_t i = 0; i < m; i++) {
        double v = fabs(column[i] * lp->row_scale[i]);
        finite += v * 0;
        most = v > most ? v : most;
        nonzero += column[i] != 0;
    }
    if (finite != 0) /* NaN or an infinity somewhere */
        return SHOAL_E_INVAL;
    shoal_status st = reserve(lp, nonzero);
    if (st != SHOAL_OK)
        return st;

    size_t j = lp->count;
    double scale = most > 0 ? unit_scale(most) : 1;
    if (lp_is_dense(lp)) {
        if (j % LP_BLOCK == 0)
            memset(lp->block + j * m, 0, m * LP_BLOCK * sizeof(double));
    } else {
        if (j == 0)
            lp->start[0] = 0;
        lp->start[j + 1] = lp->start[j] + nonzero;
    }
    struct lp_entries e = lp_column_entries(lp, j);
    uint16_t *row = lp_is_dense(lp) ? NULL : lp->row + lp->start[j];
    for (size_t i = 0, k = 0; i < m; i++) {
        double v = column[i] * lp->row_scale[i] * scale;
        if (row == NULL) {
            e.value[i * LP_BLOCK] = v;
        } else if (column[i] != 0) {
            row[k] = (uint16_t)i;
            e.value[k++] = v;
        }
    }
    lp->columns[j] = (struct lp_column){cost * scale, scale, length_weight(&e), LP_NOWHERE};
    lp->d[j] = 0;
    lp->count++;
    *out_index = (uint32_t)j;
    return SHOAL_OK;
}

/* Rows of small entries are scaled up, but not so far that a right-hand side that can hardly bind
 * dwarfs the others and, with them, the tolerances. */
void num_lp_scale_rows(struct num_lp *lp)
{
    size_t m = lp->rows;
    lp->scaled = lp->count > 0;
    memset(lp->work, 0, m * sizeof(double));
    for (size_t j = 0; j < lp->count; j++) {
        struct lp_entries e = lp_column_entries(lp, j);
        for (size_t k = 0; k < e.count; k++) {
            size_t i = lp_entry_row(&e, k);
            double v = fabs(e.value[k * e.stride]);
            lp->work[i] = v > lp->work[i] ? v : lp->work[i];
        }
    }
    double b_max = 0;
    for (size_t i = 0; i < m; i++)
        b_max = lp->work[i] >= 0.25 ? lp_larger(b_max, fabs(lp->b[i])) : b_max;
    if (b_max == 0)
        b_max = lp->bound_scale;
    bool any = false;
    for (size_t i = 0; i < m; i++) {
        if (lp->work[i] == 0 || lp->work[i] >= 0.25 || fabs(lp->b[i]) >= b_max)
            continue;
        any = true;
        lp->row_scale[i] = unit_scale(lp->work[i]);
        if (lp->b[i] != 0)
            lp->row_scale[i] = lp_smaller(lp->row_scale[i], unit_scale(fabs(lp->b[i]) / b_max));
        lp->b[i] *= lp->row_scale[i];
        lp->x[i] = lp->b[i];
    }
    if (!any)
        return;
    for (size_t j = 0; j < lp->count; j++) {
        struct lp_entries e = lp_column_entries(lp, j);
        for (size_t k = 0; k < e.count; k++)
            e.value[k * e.stride] *= lp->row_scale[lp_entry_row(&e, k)];
        lp->columns[j].weight = length_weight(&e);
    }
    measure_bounds(lp);
}
