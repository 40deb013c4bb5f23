/* gen_regression.c - rows whose neighbouring columns are correlated and whose labels a few columns
 * explain.
 *
 * Along the columns of a row, whether an entry is there is a chain of two states with correlation c
 * at lag 1 and the wanted density d; the values that are there come from a normal process along the
 * columns with correlation c / (d + c (1 - d)) at lag 1. Together columns j and j + l, as vectors
 * with their zeros, are correlated by c^l when dense and by about as much when sparse, and columns
 * that a fresh start separates by nothing. The label is a sum over `truly` columns, spread over all,
 * with coefficients of either sign scaled so that the sum has deviation about 1 were the columns not
 * correlated, plus noise.
 *
 * Runs of absent entries are drawn at once, so the cost is about 25 ns an entry and 60 ns a run,
 * whatever the columns. A row has at most its mean of entries and 12 deviations. Row i comes from a
 * stream of its own. Memory: 4 bytes a column. Tests: tests/unit/data/test_gen_regression.c. */
#include "data/gen.h"

#include "base/assert.h"
#include "base/err.h"
#include "data/format.h"
#include "data/gen_draw.h"
#include "data/gen_run.h"
#include <math.h>
#include <stdio.h>

enum {
    UNIT = 10000, /* values are whole numbers of 1 / UNIT */
    PLACES = 4,
    LABEL_UNIT = 1000000,
    BLOCK_ENTRIES = 1 << 16,
    ENTRY_TEXT_MAX = 24, /* " 2147483647:-4.8990" */
    LINE_MAX = 64
};
#define ROWS_MAX ((uint64_t)1 << 48)

struct data_gen_regression {
    const struct base_alloc *alloc;
    struct data_gen_regression_opts opts;
    uint64_t row_key;
    float *coefficient;     /* (columns) */
    double leave, enter;    /* log2 of 1 / the chance to stay present, to stay absent */
    double near, near_rest; /* correlation of values next to one another, sqrt(1 - its square) */
    double decay;           /* log2(1 / near) */
    uint32_t count_max;     /* entries of a row */
    uint64_t block_rows;
};

/* One row. */
struct made_row {
    uint32_t count;
    uint32_t *index;
    int32_t *units;
    double label;
};

/* ---- set-up ---- */

static shoal_status check(const struct data_gen_regression_opts *o, shoal_err *err)
{
    if (o->rows < 1 || o->rows > ROWS_MAX)
        return base_err(err, SHOAL_E_INVAL, "rows: expected 1 to 2^48");
    if (o->columns < 1 || o->columns > DATA_SVM_INDEX_MAX)
        return base_err(err, SHOAL_E_INVAL, "columns: expected 1 to %u", DATA_SVM_INDEX_MAX);
    if (!(o->density >= 1e-9 && o->density <= 1))
        return base_err(err, SHOAL_E_INVAL, "density: expected a share above 0, at most 1");
    if (!(o->correlation >= 0 && o->correlation <= 0.999))
        return base_err(err, SHOAL_E_INVAL, "correlation: expected 0 to 0.999");
    if (o->truly > o->columns)
        return base_err(err, SHOAL_E_INVAL,
                        "true coefficients: expected at most the number of columns, %u, found %u",
                        o->columns, o->truly);
    if (!(o->noise >= 0 && o->noise <= 1e6))
        return base_err(err, SHOAL_E_INVAL, "noise: expected 0 to 1e6");
    return SHOAL_OK;
}

static void draw_coefficients(struct data_gen_regression *gen)
{
    const struct data_gen_regression_opts *o = &gen->opts;
    uint64_t key = data_draw_key(o->seed, "gen.regression.coefficient");
    struct data_scatter scatter;
    double sum = 0;

    data_scatter_init(&scatter, o->columns, key);
    for (uint32_t i = 0; i < o->truly; i++) {
        struct data_draw draw = data_draw_of(key, i);
        double size = 0.5 + data_draw_unit(&draw);
        sum += size * size;
        gen->coefficient[data_scatter_at(&scatter, i)] =
            (float)(data_draw_below(&draw, 2) != 0 ? size : -size);
    }
    double scale = sum > 0 ? 1 / sqrt(sum * o->density) : 0;
    for (uint32_t i = 0; i < o->truly; i++) {
        uint32_t c = data_scatter_at(&scatter, i);
        gen->coefficient[c] = (float)((double)gen->coefficient[c] * scale);
    }
}

shoal_status data_gen_regression_new(const struct base_alloc *alloc,
                                     const struct data_gen_regression_opts *opts,
                                     struct data_gen_regression **out, shoal_err *err)
{
    shoal_status st = check(opts, err);
    if (st != SHOAL_OK)
        return st;
    struct data_gen_regression *gen = base_calloc(alloc, 1, sizeof *gen);
    float *coefficient = base_calloc(alloc, opts->columns, sizeof *coefficient);
    if (gen == NULL || coefficient == NULL) {
        base_free(alloc, gen);
        base_free(alloc, coefficient);
        return base_err_nomem(err, "making data");
    }
    double d = opts->density, c = opts->correlation, mean = d * opts->columns;
    gen->alloc = alloc;
    gen->opts = *opts;
    gen->coefficient = coefficient;
    gen->row_key = data_draw_key(opts->seed, "gen.regression.row");
    gen->leave = data_draw_log2(1 / (1 - (1 - d) * (1 - c)));
    gen->enter = d < 1 ? data_draw_log2(1 / (1 - d * (1 - c))) : 0;
    gen->near = c / (d + c * (1 - d));
    gen->near_rest = sqrt(1 - gen->near * gen->near);
    gen->decay = c > 0 ? data_draw_log2(1 / gen->near) : 0;
    double most = mean + 12 * sqrt(mean * (1 + c) / (1 - c)) + 64;
    gen->count_max = most < opts->columns ? (uint32_t)most : opts->columns;
    gen->block_rows = (uint64_t)(BLOCK_ENTRIES / (mean + 1)) + 1;
    draw_coefficients(gen);
    *out = gen;
    return SHOAL_OK;
}

void data_gen_regression_free(struct data_gen_regression *gen)
{
    if (gen == NULL)
        return;
    base_free(gen->alloc, gen->coefficient);
    base_free(gen->alloc, gen);
}

const float *data_gen_regression_coefficients(const struct data_gen_regression *gen)
{
    return gen->coefficient;
}

static void scratch_free(void *p, const struct base_alloc *alloc)
{
    struct made_row *row = p;

    base_free(alloc, row->index);
    base_free(alloc, row->units);
    base_free(alloc, row);
}

static void *scratch_for(const struct data_gen_regression *gen, const struct base_alloc *alloc)
{
    struct made_row *row = base_calloc(alloc, 1, sizeof *row);

    if (row == NULL)
        return NULL;
    row->index = base_malloc(alloc, gen->count_max * sizeof *row->index);
    row->units = base_malloc(alloc, gen->count_max * sizeof *row->units);
    if (row->index != NULL && row->units != NULL)
        return row;
    scratch_free(row, alloc);
    return NULL;
}

static void *text_scratch(const void *ctx, const struct base_alloc *alloc)
{
    return scratch_for(ctx, alloc);
}

/* ---- one row ---- */

/* How many columns a state lasts, at least 1; `stay` is log2 of 1 / the chance to stay. */
static uint64_t draw_run(struct data_draw *draw, double stay, uint64_t most)
{
    double run = stay > 0 ? data_draw_log2(1 / (1 - data_draw_unit(draw))) / stay : 1e18;

    return run >= (double)most ? most : 1 + (uint64_t)run;
}

/* The value `gap` columns after one of value z (0: it is the first). */
static double draw_value(const struct data_gen_regression *gen, struct data_draw *draw, double z,
                         uint64_t gap)
{
    double normal = data_draw_normal(draw), far = gen->decay * (double)gap;

    if (gap == 0 || gen->near <= 0 || far > 60)
        return normal;
    if (gap == 1)
        return gen->near * z + gen->near_rest * normal;
    double near = data_draw_exp2(-far);
    near = near < 1 ? near : 1;
    return near * z + sqrt(1 - near * near) * normal;
}

static int32_t quantise(double z)
{
    int32_t units = (int32_t)(z < 0 ? z * UNIT - 0.5 : z * UNIT + 0.5);

    return units != 0 ? units : 1;
}

/* The entries of columns [first, last), which are correlated with one another only. */
static void draw_block(const struct data_gen_regression *gen, struct data_draw *draw,
                       uint64_t first, uint64_t last, struct made_row *row)
{
    bool here = data_draw_unit(draw) < gen->opts.density;
    uint64_t before = first;
    double z = 0;
    bool begun = false;

    for (uint64_t c = first; c < last; here = !here) {
        uint64_t end = c + draw_run(draw, here ? gen->leave : gen->enter, last - c);
        for (; here && c < end && row->count < gen->count_max; c++) {
            z = draw_value(gen, draw, z, begun ? c - before : 0);
            begun = true;
            before = c;
            row->index[row->count] = (uint32_t)c;
            row->units[row->count++] = quantise(z);
        }
        c = end;
    }
}

/* Row `number` into the arrays of *row. */
static void make_row(const struct data_gen_regression *gen, uint64_t number, struct made_row *row)
{
    struct data_draw draw = data_draw_of(gen->row_key, number);
    uint64_t columns = gen->opts.columns, block = gen->opts.block > 0 ? gen->opts.block : columns;
    double sum = 0;

    row->count = 0;
    for (uint64_t first = 0; first < columns; first += block)
        draw_block(gen, &draw, first, first + block < columns ? first + block : columns, row);
    for (uint32_t i = 0; i < row->count; i++)
        sum += (double)gen->coefficient[row->index[i]] * ((double)row->units[i] / UNIT);
    sum = (sum + gen->opts.noise * data_draw_normal(&draw)) * LABEL_UNIT;
    row->label = (double)(int64_t)(sum < 0 ? sum - 0.5 : sum + 0.5) / LABEL_UNIT;
}

static void block_range(const struct data_gen_regression *gen, uint64_t block, uint64_t *first,
                        uint64_t *last)
{
    *first = block * gen->block_rows;
    *last = *first + gen->block_rows;
    if (*last > gen->opts.rows)
        *last = gen->opts.rows;
}

static uint64_t block_count(const struct data_gen_regression *gen)
{
    return (gen->opts.rows + gen->block_rows - 1) / gen->block_rows;
}

/* ---- as text ---- */

static char *put_entry(char *to, uint32_t index, int32_t units)
{
    *to++ = ' ';
    to = data_format_u64(to, (uint64_t)index + 1);
    *to++ = ':';
    if (units < 0)
        *to++ = '-';
    return data_format_fixed(to, (uint64_t)(units < 0 ? -(int64_t)units : units), PLACES);
}

static void make_text(const void *ctx, void *scratch, uint64_t block, char *text,
                      struct data_gen_made *made)
{
    const struct data_gen_regression *gen = ctx;
    struct made_row *row = scratch;
    uint64_t first, last;
    char *to = text;

    block_range(gen, block, &first, &last);
    for (uint64_t r = first; r < last; r++) {
        make_row(gen, r, row);
        to = data_format_f64(to, row->label);
        for (uint32_t i = 0; i < row->count; i++)
            to = put_entry(to, row->index[i], row->units[i]);
        *to++ = '\n';
        made->entries += row->count;
    }
    made->units = last - first;
    made->size = (size_t)(to - text);
}

shoal_status data_gen_regression_write(shoal_env *env, const struct data_gen_regression *gen,
                                       const struct data_gen_run *run, const struct data_sink *sink,
                                       uint64_t *out_entries, shoal_err *err)
{
    struct data_gen_plan plan = {
        .ctx = gen,
        .blocks = block_count(gen),
        .text_max =
            (size_t)gen->block_rows * (DATA_FORMAT_MAX + (size_t)gen->count_max * ENTRY_TEXT_MAX),
        .scratch_new = text_scratch,
        .scratch_free = scratch_free,
        .make = make_text,
    };

    return data_gen_make(env, &plan, run, sink, out_entries, err);
}

shoal_status data_gen_regression_truth(const struct data_gen_regression *gen,
                                       const struct data_sink *sink, shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    for (uint32_t c = 0; c < gen->opts.columns && st == SHOAL_OK; c++) {
        char line[LINE_MAX];
        if (gen->coefficient[c] == 0)
            continue;
        int size = snprintf(line, sizeof line, "%u %.6g\n", c + 1, (double)gen->coefficient[c]);
        st = sink->put(sink->ctx, line, (size_t)size, err);
    }
    return st;
}

/* ---- in memory ---- */

struct filling {
    const struct data_gen_regression *gen;
    uint64_t *start; /* counted: entries of row r at r + 1; then where they begin */
    uint32_t *index;
    float *value;
    double *label;
    bool counted;
};

static void *fill_scratch(const void *ctx, const struct base_alloc *alloc)
{
    const struct filling *f = ctx;

    return scratch_for(f->gen, alloc);
}

static void make_fill(const void *ctx, void *scratch, uint64_t block, char *text,
                      struct data_gen_made *made)
{
    const struct filling *f = ctx;
    struct made_row *row = scratch;
    uint64_t first, last;

    (void)text;
    block_range(f->gen, block, &first, &last);
    for (uint64_t r = first; r < last; r++) {
        make_row(f->gen, r, row);
        if (!f->counted) {
            f->start[r + 1] = row->count;
            continue;
        }
        f->label[r] = row->label;
        for (uint32_t i = 0; i < row->count; i++) {
            f->index[f->start[r] + i] = row->index[i];
            f->value[f->start[r] + i] = (float)((double)row->units[i] / UNIT);
        }
    }
    made->units = f->counted ? last - first : 0;
}

/* The arrays once it is known how many entries there are. */
static shoal_status make_arrays(const struct base_alloc *alloc, struct filling *f, size_t rows,
                                size_t *entries, shoal_err *err)
{
    f->start[0] = 0;
    for (size_t r = 0; r < rows; r++)
        f->start[r + 1] += f->start[r];
    *entries = (size_t)f->start[rows];
    f->index = base_malloc(alloc, (*entries + 1) * sizeof *f->index);
    f->value = base_malloc(alloc, (*entries + 1) * sizeof *f->value);
    f->label = base_malloc(alloc, rows * sizeof *f->label);
    f->counted = true;
    return f->index != NULL && f->value != NULL && f->label != NULL
               ? SHOAL_OK
               : base_err_nomem(err, "making data");
}

shoal_status data_gen_regression_fill(shoal_env *env, const struct data_gen_regression *gen,
                                      const struct data_gen_run *run, struct data_svm *out,
                                      shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    size_t rows = (size_t)gen->opts.rows, entries = 0;
    struct filling f = {.gen = gen};
    struct data_gen_plan plan = {.ctx = &f,
                                 .blocks = block_count(gen),
                                 .scratch_new = fill_scratch,
                                 .scratch_free = scratch_free,
                                 .make = make_fill};
    struct data_svm svm;

    data_svm_init(&svm, alloc);
    f.start = base_malloc(alloc, (rows + 1) * sizeof *f.start);
    shoal_status st = f.start != NULL ? data_gen_make(env, &plan, run, NULL, NULL, err)
                                      : base_err_nomem(err, "making data");
    if (st == SHOAL_OK)
        st = make_arrays(alloc, &f, rows, &entries, err);
    if (st == SHOAL_OK)
        st = data_gen_make(env, &plan, run, NULL, NULL, err);
    svm.x = (struct num_csr){rows, gen->opts.columns, f.start, f.index, f.value};
    svm.label = f.label;
    svm.entries = entries;
    svm.row_cap = rows + 1;
    svm.label_cap = rows;
    svm.entry_cap = svm.value_cap = entries + 1;
    if (st == SHOAL_OK) {
        *out = svm;
        return SHOAL_OK;
    }
    data_svm_fini(&svm);
    return st;
}
