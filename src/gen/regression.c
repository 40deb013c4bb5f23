/* regression.c - rows whose neighbouring columns are correlated and whose labels a few columns
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
 * stream of its own. Memory: 4 bytes a column. Tests: tests/unit/gen/test_regression.c. */
#include "gen/gen.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "data/format.h"
#include "data/svm.h"
#include "gen/draw.h"
#include <math.h>
#include <string.h>

enum {
    UNIT = 10000, /* values are whole numbers of 1 / UNIT */
    PLACES = 4,
    LABEL_UNIT = 1000000,
    BLOCK_ENTRIES = 1 << 16,
    ENTRY_TEXT_MAX = 24, /* " 2147483647:-4.8990" */
    LINE_MAX = 64
};
#define ROWS_MAX ((uint64_t)1 << 48)

struct gen_regression {
    const struct base_alloc *alloc;
    shoal_gen_regression_opts opts;
    uint32_t columns, truly; /* of the options, as they are used */
    double density;
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

static shoal_status check_contradictions(const shoal_gen_regression_opts *o, shoal_err *err)
{
    if (o->dense && (o->nonzeros > 0 || o->density > 0))
        return base_err(err, SHOAL_E_INVAL, "--dense and --%s contradict each other",
                        o->nonzeros > 0 ? "nonzeros" : "density");
    if (o->nonzeros > 0 && o->density > 0)
        return base_err(err, SHOAL_E_INVAL, "--nonzeros and --density contradict each other");
    if (o->nonzeros > o->rows)
        return base_err(err, SHOAL_E_INVAL,
                        "a column has at most as many values as there are rows");
    return SHOAL_OK;
}

static shoal_status check(const shoal_gen_regression_opts *o, shoal_err *err)
{
    if (o->rows < 1 || o->rows > ROWS_MAX)
        return base_err(err, SHOAL_E_INVAL, "rows: expected 1 to 2^48");
    if (o->columns < 1 || o->columns > DATA_SVM_INDEX_MAX)
        return base_err(err, SHOAL_E_INVAL, "columns: expected 1 to %u", DATA_SVM_INDEX_MAX);
    if (o->density != 0 && !(o->density >= 1e-9 && o->density <= 1))
        return base_err(err, SHOAL_E_INVAL, "density: expected a share above 0, at most 1");
    if (!(o->correlation >= 0 && o->correlation <= 0.999))
        return base_err(err, SHOAL_E_INVAL, "correlation: expected 0 to 0.999");
    if (!(o->noise >= 0 && o->noise <= 1e6))
        return base_err(err, SHOAL_E_INVAL, "noise: expected 0 to 1e6");
    return check_contradictions(o, err);
}

/* opts->truly, of which 0 is a number like others. */
static shoal_status parse_truly(const shoal_gen_regression_opts *o, uint32_t *out, shoal_err *err)
{
    uint64_t truly = gen_usual(0, 20, o->columns);

    if (o->truly != NULL &&
        (!base_parse_u64(o->truly, strlen(o->truly), &truly) || truly > DATA_SVM_INDEX_MAX))
        return base_err(err, SHOAL_E_INVAL, "bad value for 'true': expected 0 to %u, found '%.40s'",
                        DATA_SVM_INDEX_MAX, o->truly);
    if (truly > o->columns)
        return base_err(err, SHOAL_E_INVAL,
                        "true coefficients: expected at most the number of columns, %llu, found "
                        "%llu",
                        (unsigned long long)o->columns, (unsigned long long)truly);
    *out = (uint32_t)truly;
    return SHOAL_OK;
}

static void draw_coefficients(struct gen_regression *gen)
{
    uint64_t key = gen_draw_key(gen->opts.seed, "gen.regression.coefficient");
    struct gen_scatter scatter;
    double sum = 0;

    gen_scatter_init(&scatter, gen->columns, key);
    for (uint32_t i = 0; i < gen->truly; i++) {
        struct gen_draw draw = gen_draw_of(key, i);
        double size = 0.5 + gen_draw_unit(&draw);
        sum += size * size;
        gen->coefficient[gen_scatter_at(&scatter, i)] =
            (float)(gen_draw_below(&draw, 2) != 0 ? size : -size);
    }
    double scale = sum > 0 ? 1 / sqrt(sum * gen->density) : 0;
    for (uint32_t i = 0; i < gen->truly; i++) {
        uint32_t c = gen_scatter_at(&scatter, i);
        gen->coefficient[c] = (float)((double)gen->coefficient[c] * scale);
    }
}

/* Fails with gen->coefficient to be freed. */
static shoal_status init_gen(struct gen_regression *gen, const struct base_alloc *alloc,
                             const shoal_gen_regression_opts *opts, shoal_err *err)
{
    shoal_status st = check(opts, err);

    *gen = (struct gen_regression){.alloc = alloc, .opts = *opts};
    if (st == SHOAL_OK)
        st = parse_truly(opts, &gen->truly, err);
    if (st != SHOAL_OK)
        return st;
    gen->columns = (uint32_t)opts->columns;
    gen->density = opts->nonzeros > 0  ? (double)opts->nonzeros / (double)opts->rows
                   : opts->dense       ? 1
                   : opts->density > 0 ? opts->density
                                       : 0.05;
    gen->coefficient = base_calloc(alloc, gen->columns, sizeof *gen->coefficient);
    if (gen->coefficient == NULL)
        return base_err_nomem(err, "making data");
    double d = gen->density, c = opts->correlation, mean = d * gen->columns;
    gen->row_key = gen_draw_key(opts->seed, "gen.regression.row");
    gen->leave = gen_draw_log2(1 / (1 - (1 - d) * (1 - c)));
    gen->enter = d < 1 ? gen_draw_log2(1 / (1 - d * (1 - c))) : 0;
    gen->near = c / (d + c * (1 - d));
    gen->near_rest = sqrt(1 - gen->near * gen->near);
    gen->decay = c > 0 ? gen_draw_log2(1 / gen->near) : 0;
    double most = mean + 12 * sqrt(mean * (1 + c) / (1 - c)) + 64;
    gen->count_max = most < gen->columns ? (uint32_t)most : gen->columns;
    gen->block_rows = (uint64_t)(BLOCK_ENTRIES / (mean + 1)) + 1;
    draw_coefficients(gen);
    return SHOAL_OK;
}

static void scratch_free(void *p, const struct base_alloc *alloc)
{
    struct made_row *row = p;

    base_free(alloc, row->index);
    base_free(alloc, row->units);
    base_free(alloc, row);
}

static void *scratch_new(const void *ctx, const struct base_alloc *alloc)
{
    const struct gen_regression *gen = ctx;
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

/* ---- one row ---- */

/* How many columns a state lasts, at least 1; `stay` is log2 of 1 / the chance to stay. */
static uint64_t draw_run(struct gen_draw *draw, double stay, uint64_t most)
{
    double run = stay > 0 ? gen_draw_log2(1 / (1 - gen_draw_unit(draw))) / stay : 1e18;

    return run >= (double)most ? most : 1 + (uint64_t)run;
}

/* The value `gap` columns after one of value z (0: it is the first). */
static double draw_value(const struct gen_regression *gen, struct gen_draw *draw, double z,
                         uint64_t gap)
{
    double normal = gen_draw_normal(draw), far = gen->decay * (double)gap;

    if (gap == 0 || gen->near <= 0 || far > 60)
        return normal;
    if (gap == 1)
        return gen->near * z + gen->near_rest * normal;
    double near = gen_draw_exp2(-far);
    near = near < 1 ? near : 1;
    return near * z + sqrt(1 - near * near) * normal;
}

static int32_t quantise(double z)
{
    int32_t units = (int32_t)(z < 0 ? z * UNIT - 0.5 : z * UNIT + 0.5);

    return units != 0 ? units : 1;
}

/* The entries of columns [first, last), which are correlated with one another only. */
static void draw_block(const struct gen_regression *gen, struct gen_draw *draw, uint64_t first,
                       uint64_t last, struct made_row *row)
{
    bool here = gen_draw_unit(draw) < gen->density;
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
static void make_row(const struct gen_regression *gen, uint64_t number, struct made_row *row)
{
    struct gen_draw draw = gen_draw_of(gen->row_key, number);
    uint64_t columns = gen->columns, block = gen->opts.block > 0 ? gen->opts.block : columns;
    double sum = 0;

    row->count = 0;
    for (uint64_t first = 0; first < columns; first += block)
        draw_block(gen, &draw, first, first + block < columns ? first + block : columns, row);
    for (uint32_t i = 0; i < row->count; i++)
        sum += (double)gen->coefficient[row->index[i]] * ((double)row->units[i] / UNIT);
    sum = (sum + gen->opts.noise * gen_draw_normal(&draw)) * LABEL_UNIT;
    row->label = (double)(int64_t)(sum < 0 ? sum - 0.5 : sum + 0.5) / LABEL_UNIT;
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
                      struct gen_block *made)
{
    const struct gen_regression *gen = ctx;
    struct made_row *row = scratch;
    uint64_t first = block * gen->block_rows;
    uint64_t last = gen_block_end(gen->opts.rows, gen->block_rows, block);
    char *to = text;

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

static bool put_truth(const void *ctx, uint64_t column, struct base_buf *out)
{
    const struct gen_regression *gen = ctx;

    if (column >= gen->columns)
        return false;
    if (gen->coefficient[column] != 0)
        base_buf_printf(out, "%u %.6g\n", (uint32_t)column + 1, (double)gen->coefficient[column]);
    return true;
}

/* ---- the call ---- */

#define AT(member) offsetof(shoal_gen_regression_opts, member)

static const shoal_opt rows[] = {
    {AT(rows), SHOAL_OPT_U64, "rows", 'n', "N", "1000", "rows to make", .min = 1,
     .max = 281474976710656},
    {AT(columns), SHOAL_OPT_U64, "columns", 'd', "D", "1000", "columns (features)", .min = 1,
     .max = DATA_SVM_INDEX_MAX},
    {AT(density), SHOAL_OPT_F64, "density", 0, "X", NULL, "share of values that are not 0 [0.05]",
     .min = 1e-9, .max = 1},
    {AT(nonzeros), SHOAL_OPT_U64, "nonzeros", 0, "K", "0",
     "in place of a density: values in a column on average", .max = 281474976710656},
    {AT(dense), SHOAL_OPT_FLAG, "dense", .help = "every value is there"},
    {AT(correlation), SHOAL_OPT_F64, "correlation", 0, "X", "0.5",
     "of neighbouring columns; farther ones have its powers", .max = 0.999},
    {AT(block), SHOAL_OPT_U64, "block", 0, "B", "0",
     "columns that are correlated before a fresh start; 0: all", .max = DATA_SVM_INDEX_MAX},
    {AT(truly), SHOAL_OPT_STR, "true", 0, "T",
     .help = "columns that have a coefficient [20, or the columns there are]"},
    {AT(noise), SHOAL_OPT_F64, "noise", 0, "X", "0.5",
     "its standard deviation; what the columns explain has about 1", .max = 1e6},
    {AT(to.truth), SHOAL_OPT_STR, "truth", 0, "FILE", NULL, "write the planted coefficients there",
     .complete = "file"},
    GEN_ROW_SEED,
    GEN_ROW_THREADS,
    GEN_ROW_OUTPUT,
};
#undef AT

BASE_OPT_PUBLIC(gen_regression, rows)

static shoal_status make(struct gen_call *call, const struct gen_regression *gen,
                         shoal_watch *watch, shoal_err *err)
{
    struct gen_plan plan = {
        .gen = gen,
        .blocks = gen_block_count(gen->opts.rows, gen->block_rows),
        .text_max =
            (size_t)gen->block_rows * (DATA_FORMAT_MAX + (size_t)gen->count_max * ENTRY_TEXT_MAX),
        .scratch_new = scratch_new,
        .scratch_free = scratch_free,
        .make = make_text,
    };
    uint64_t entries = 0;

    call->threads = (uint32_t)gen->opts.threads;
    shoal_status st = gen_open(call, watch, "rows", gen->opts.rows, err);
    if (st == SHOAL_OK)
        st = gen_blocks(call, &plan, &entries, err);
    if (st == SHOAL_OK)
        st = gen_truth(call, put_truth, gen, err);
    call->made.rows = (double)gen->opts.rows;
    call->made.columns = gen->columns;
    call->made.values = (double)entries;
    return gen_end(call, st, err);
}

shoal_status shoal_gen_regression(shoal_env *env, const shoal_gen_regression_opts *given,
                                  shoal_watch *watch, const shoal_result **out_result,
                                  shoal_err *err)
{
    shoal_gen_regression_opts opts;
    struct gen_regression gen;
    struct gen_call call;

    shoal_status st = gen_take(rows, BASE_COUNT(rows), &opts, sizeof opts, given, out_result, err);
    if (st != SHOAL_OK)
        return st;
    st = init_gen(&gen, env_alloc(env), &opts, err);
    if (st == SHOAL_OK)
        st = gen_begin(&call, env, "regression", &opts.to, err);
    if (st == SHOAL_OK)
        st = make(&call, &gen, watch, err);
    base_free(env_alloc(env), gen.coefficient);
    if (st != SHOAL_OK)
        return st;
    struct page_made *made = gen_made(&call);
    gen_say(&call, made, "%s with %s", gen_count(made, call.made.rows, "row"),
            gen_count(made, call.made.values, "value"));
    return gen_finish(&call, made, "train lasso", "", out_result, err);
}
