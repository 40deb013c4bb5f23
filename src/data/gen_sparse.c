/* gen_sparse.c - sparse rows with labels that a linear model explains.
 *
 * A row draws its number of entries, then that many different columns by a power law: rank r with
 * probability about 1 / (r + shift), as words are used, and ranks are scattered over the columns. A
 * value is a word count times the rarity of the column, rows have length 1 (tf-idf), to five
 * decimal places; or all values are 1. The truth is a weight per column, drawn from the column's
 * number alone: the margin of a row is normal with deviation `signal`, and its label is 1 with the
 * probability that the logistic function gives. With more than two classes there are weights for
 * each, of rank at most 16 (a column and a class have a vector each), and the label is drawn from
 * the softmax. Without classes the margin plus noise is the label.
 *
 * Row i and its label come from streams of their own, so blocks of rows can be made in any order.
 * Cost: about 30 ns an entry as text for two classes; a softmax costs about 20 ns a class and row
 * besides. Memory: 64 bytes a column and class with more than two classes, else none that grows.
 * Tests: tests/unit/data/test_gen.c. */
#include "data/gen.h"

#include "base/assert.h"
#include "base/err.h"
#include "data/format.h"
#include "data/gen_draw.h"
#include "data/gen_run.h"
#include "data/number.h"
#include <math.h>

enum {
    RANK = 16,     /* of the weights of many classes */
    UNIT = 100000, /* values are whole numbers of 1 / UNIT */
    PLACES = 5,
    LABEL_PLACES = 4, /* of labels that are numbers */
    BLOCK_ENTRIES = 1 << 16,
    ENTRY_TEXT_MAX = 20, /* " 2147483647:0.12345" */
    INSERTION_MAX = 24,
    CLASSES_MAX = 1 << 24
};
#define ROWS_MAX ((uint64_t)1 << 48)

struct data_gen_sparse {
    const struct base_alloc *alloc;
    struct data_gen_sparse_opts opts;
    uint64_t row_key, label_key, weight_key;
    struct data_zipf zipf;
    struct data_scatter scatter;
    uint32_t rank;      /* 1, or that of the weights of many classes */
    float *column_part; /* (columns, rank), only with many classes */
    float *class_part;  /* (rank, classes) */
    uint64_t block_rows;
};

/* One row. */
struct made_row {
    uint32_t count;
    uint32_t *index;
    uint32_t *units; /* values times UNIT; with `ones` not used */
    double label;
};

struct scratch {
    struct data_rank_set set;
    uint64_t *entry, *sorted; /* column << 32 | weight as float */
    uint32_t *bucket;
    uint32_t *index, *units;
    float *score; /* (classes) */
};

/* ---- set-up ---- */

static shoal_status check(const struct data_gen_sparse_opts *o, shoal_err *err)
{
    if (o->rows < 1 || o->rows > ROWS_MAX)
        return base_err(err, SHOAL_E_INVAL, "rows: expected 1 to 2^48");
    if (o->columns < 1 || o->columns > DATA_SVM_INDEX_MAX)
        return base_err(err, SHOAL_E_INVAL, "columns: expected 1 to %u", DATA_SVM_INDEX_MAX);
    if (o->nonzeros < 1 || o->nonzeros > o->columns)
        return base_err(err, SHOAL_E_INVAL,
                        "nonzeros: expected 1 to the number of columns, %u, found %u", o->columns,
                        o->nonzeros);
    if (o->classes == 1 || o->classes > CLASSES_MAX)
        return base_err(err, SHOAL_E_INVAL, "classes: expected 0 or 2 to %d", (int)CLASSES_MAX);
    if (!(o->noise >= 0) || (o->classes > 0 && o->noise > 1) || o->noise > 1e6)
        return base_err(err, SHOAL_E_INVAL,
                        "noise: expected a share of labels, 0 to 1, or with "
                        "numbers as labels a deviation up to 1e6");
    if (!(o->signal >= 0 && o->signal <= 1e6))
        return base_err(err, SHOAL_E_INVAL, "signal: expected 0 to 1e6");
    return SHOAL_OK;
}

/* Vectors for columns and classes, each number from its own place. */
static bool draw_parts(struct data_gen_sparse *gen)
{
    size_t columns = gen->opts.columns, classes = gen->opts.classes;
    uint64_t key = data_draw_key(gen->opts.seed, "gen.sparse.class");

    gen->column_part = base_malloc(gen->alloc, columns * gen->rank * sizeof *gen->column_part);
    gen->class_part = base_malloc(gen->alloc, classes * gen->rank * sizeof *gen->class_part);
    if (gen->column_part == NULL || gen->class_part == NULL)
        return false;
    for (size_t c = 0; c < columns; c++) {
        struct data_draw draw = data_draw_of(gen->weight_key, c);
        for (uint32_t k = 0; k < gen->rank; k++)
            gen->column_part[c * gen->rank + k] =
                (float)data_draw_rough_normal(data_draw_u64(&draw));
    }
    for (size_t c = 0; c < classes; c++) {
        struct data_draw draw = data_draw_of(key, c);
        for (uint32_t k = 0; k < gen->rank; k++)
            gen->class_part[k * classes + c] = (float)data_draw_normal(&draw);
    }
    return true;
}

shoal_status data_gen_sparse_new(const struct base_alloc *alloc,
                                 const struct data_gen_sparse_opts *opts,
                                 struct data_gen_sparse **out, shoal_err *err)
{
    shoal_status st = check(opts, err);
    if (st != SHOAL_OK)
        return st;
    struct data_gen_sparse *gen = base_calloc(alloc, 1, sizeof *gen);
    if (gen == NULL)
        return base_err_nomem(err, "making data");
    gen->alloc = alloc;
    gen->opts = *opts;
    gen->row_key = data_draw_key(opts->seed, "gen.sparse.row");
    gen->label_key = data_draw_key(opts->seed, "gen.sparse.label");
    gen->weight_key = data_draw_key(opts->seed, "gen.sparse.weight");
    data_zipf_init(&gen->zipf, opts->columns,
                   opts->columns >= 300 ? 30.0 : 1 + opts->columns / 10.0);
    data_scatter_init(&gen->scatter, opts->columns,
                      data_draw_key(opts->seed, "gen.sparse.scatter"));
    gen->block_rows = BLOCK_ENTRIES / opts->nonzeros + 1;
    gen->rank = opts->classes > 2 ? opts->classes < RANK ? opts->classes : RANK : 1;
    if (opts->classes > 2 && !draw_parts(gen)) {
        data_gen_sparse_free(gen);
        return base_err_nomem(err, "making data");
    }
    *out = gen;
    return SHOAL_OK;
}

void data_gen_sparse_free(struct data_gen_sparse *gen)
{
    if (gen == NULL)
        return;
    base_free(gen->alloc, gen->column_part);
    base_free(gen->alloc, gen->class_part);
    base_free(gen->alloc, gen);
}

/* The most entries a row can have. */
static uint32_t count_max(const struct data_gen_sparse *gen)
{
    uint64_t most = 2 * (uint64_t)gen->opts.nonzeros - 1;

    return most < gen->opts.columns ? (uint32_t)most : gen->opts.columns;
}

static void scratch_free(void *p, const struct base_alloc *alloc)
{
    struct scratch *s = p;

    base_free(alloc, s->set.slot);
    base_free(alloc, s->entry);
    base_free(alloc, s->sorted);
    base_free(alloc, s->bucket);
    base_free(alloc, s->index);
    base_free(alloc, s->units);
    base_free(alloc, s->score);
    base_free(alloc, s);
}

static void *scratch_for(const struct data_gen_sparse *gen, const struct base_alloc *alloc)
{
    struct scratch *s = base_calloc(alloc, 1, sizeof *s);
    size_t count = count_max(gen);

    if (s == NULL)
        return NULL;
    bool good = data_rank_set_init(&s->set, alloc, count_max(gen)) == 0;
    s->entry = base_malloc(alloc, count * sizeof *s->entry);
    s->sorted = base_malloc(alloc, count * sizeof *s->sorted);
    s->bucket = base_malloc(alloc, (count + 1) * sizeof *s->bucket);
    s->index = base_malloc(alloc, count * sizeof *s->index);
    s->units = base_malloc(alloc, count * sizeof *s->units);
    s->score = base_malloc(alloc, ((size_t)gen->opts.classes + 1) * sizeof *s->score);
    if (good && s->entry != NULL && s->sorted != NULL && s->bucket != NULL && s->index != NULL &&
        s->units != NULL && s->score != NULL)
        return s;
    scratch_free(s, alloc);
    return NULL;
}

/* ---- columns ---- */

static uint32_t draw_count(const struct data_gen_sparse *gen, struct data_draw *draw)
{
    uint64_t count = 1 + data_draw_below(draw, 2 * (uint64_t)gen->opts.nonzeros - 1);

    return count < gen->opts.columns ? (uint32_t)count : gen->opts.columns;
}

/* A word count of 1, sometimes 2 to 4, damped, times the rarity of the word. */
static float weigh(const struct data_gen_sparse *gen, uint64_t bits)
{
    static const double counts[4] = {1, 1.6931471805599454, 2.0986122886681098, 2.386294361119891};
    uint32_t low = (uint32_t)bits & 2047;
    uint32_t count = (uint32_t)(low < 512) + (uint32_t)(low < 128) + (uint32_t)(low < 32);

    return (float)(counts[count] * (1 + data_zipf_depth(&gen->zipf, bits) * 0.6931471805599453));
}

static uint64_t pack(uint32_t column, float weight)
{
    uint32_t bits = 0;

    memcpy(&bits, &weight, sizeof bits);
    return (uint64_t)column << 32 | bits;
}

static float weight_of(uint64_t entry)
{
    uint32_t bits = (uint32_t)entry;
    float weight = 0;

    memcpy(&weight, &bits, sizeof weight);
    return weight;
}

static void insertion_sort(uint64_t *entry, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint64_t x = entry[i];
        uint32_t at = i;
        for (; at > 0 && entry[at - 1] > x; at--)
            entry[at] = entry[at - 1];
        entry[at] = x;
    }
}

/* Scattered columns are spread evenly, so buckets of one column on average nearly sort them. */
static uint64_t *sort_entries(const struct data_gen_sparse *gen, struct scratch *s, uint32_t count)
{
    uint32_t sum = 0;

    shoal_assert(gen->opts.columns > 0);
    uint64_t factor = ((uint64_t)count << 32) / gen->opts.columns;
    if (count <= INSERTION_MAX) {
        insertion_sort(s->entry, count);
        return s->entry;
    }
    memset(s->bucket, 0, count * sizeof *s->bucket);
    for (uint32_t i = 0; i < count; i++)
        s->bucket[(s->entry[i] >> 32) * factor >> 32]++;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size = s->bucket[i];
        s->bucket[i] = sum;
        sum += size;
    }
    for (uint32_t i = 0; i < count; i++)
        s->sorted[s->bucket[(s->entry[i] >> 32) * factor >> 32]++] = s->entry[i];
    insertion_sort(s->sorted, count);
    return s->sorted;
}

/* Every column in turn, with the chance that leaves exactly `count` (selection sampling): for rows
 * that hold most columns. */
static uint64_t *draw_dense(const struct data_gen_sparse *gen, struct scratch *s,
                            struct data_draw *draw, uint32_t count)
{
    uint32_t at = 0;

    for (uint32_t c = 0; at < count; c++)
        if (data_draw_below(draw, gen->opts.columns - c) < count - at) {
            uint64_t bits = data_draw_u64(draw);
            s->entry[at++] = pack(c, weigh(gen, bits));
        }
    return s->entry;
}

static uint64_t *draw_sparse(const struct data_gen_sparse *gen, struct scratch *s,
                             struct data_draw *draw, uint32_t count)
{
    data_rank_set_clear(&s->set);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bits = 0;
        uint32_t rank = data_rank_set_draw(&s->set, &gen->zipf, draw, &bits);
        s->entry[i] = pack(data_scatter_at(&gen->scatter, rank), weigh(gen, bits));
    }
    return sort_entries(gen, s, count);
}

/* ---- labels ---- */

static double value_at(const struct made_row *row, uint32_t i, double even)
{
    return row->units != NULL ? (double)row->units[i] * (1.0 / UNIT) : even;
}

static double margin_of(const struct data_gen_sparse *gen, const struct made_row *row, double even)
{
    double sum = 0;

    for (uint32_t i = 0; i < row->count; i++) {
        uint64_t bits = data_draw_mix(gen->weight_key + row->index[i] * 0x9E3779B97F4A7C15u);
        sum += data_draw_rough_normal(bits) * value_at(row, i, even);
    }
    return sum * gen->opts.signal;
}

static void score_classes(const struct data_gen_sparse *gen, const struct made_row *row,
                          double even, float *score)
{
    uint32_t rank = gen->rank, classes = gen->opts.classes;
    float z[RANK] = {0};

    for (uint32_t i = 0; i < row->count; i++) {
        const float *part = gen->column_part + (size_t)row->index[i] * rank;
        float value = (float)value_at(row, i, even);
        for (uint32_t k = 0; k < rank; k++)
            z[k] += part[k] * value;
    }
    for (uint32_t c = 0; c < classes; c++)
        score[c] = 0;
    float scale = (float)(gen->opts.signal / sqrt((double)rank));
    for (uint32_t k = 0; k < rank; k++) {
        const float *part = gen->class_part + (size_t)k * classes;
        for (uint32_t c = 0; c < classes; c++)
            score[c] += part[c] * (z[k] * scale);
    }
}

static double exp_of(double x)
{
    const double limit = 600;
    double y = x * 1.4426950408889634;

    return data_draw_exp2(y < -limit ? -limit : y > limit ? limit : y);
}

static uint32_t draw_softmax(const float *score, uint32_t classes, double unit)
{
    float most = score[0];
    double sum = 0;

    for (uint32_t c = 1; c < classes; c++)
        most = score[c] > most ? score[c] : most;
    for (uint32_t c = 0; c < classes; c++)
        sum += exp_of((double)(score[c] - most));
    double left = unit * sum;
    for (uint32_t c = 0; c + 1 < classes; c++) {
        left -= exp_of((double)(score[c] - most));
        if (left < 0)
            return c;
    }
    return classes - 1;
}

static double draw_label(const struct data_gen_sparse *gen, struct scratch *s, uint64_t number,
                         const struct made_row *row)
{
    struct data_draw draw = data_draw_of(gen->label_key, number);
    uint32_t classes = gen->opts.classes;
    double even = 1 / sqrt((double)row->count); /* the value, when all are equal */

    if (classes == 0) {
        double y = margin_of(gen, row, even) + gen->opts.noise * data_draw_normal(&draw);
        double scaled = y * data_number_powers[LABEL_PLACES];
        int64_t units = (int64_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
        return (double)units / data_number_powers[LABEL_PLACES];
    }
    bool blind = data_draw_unit(&draw) < gen->opts.noise;
    double unit = data_draw_unit(&draw);
    if (classes == 2) {
        double sure = blind ? 0.5 : 1 / (1 + exp_of(-margin_of(gen, row, even)));
        return unit < sure ? 1 : -1;
    }
    if (blind)
        return 1 + (double)(uint32_t)(unit * classes);
    score_classes(gen, row, even, s->score);
    return 1 + (double)draw_softmax(s->score, classes, unit);
}

/* ---- rows ---- */

static void quantise(const uint64_t *entry, struct made_row *row)
{
    double sum = 0;

    for (uint32_t i = 0; i < row->count; i++)
        sum += (double)weight_of(entry[i]) * (double)weight_of(entry[i]);
    double scale = UNIT / sqrt(sum);
    for (uint32_t i = 0; i < row->count; i++) {
        uint32_t units = (uint32_t)((double)weight_of(entry[i]) * scale + 0.5);
        row->units[i] = units > 0 ? units : 1;
    }
}

/* Row `number` into the arrays of *row (units NULL: all ones). */
static void make_row(const struct data_gen_sparse *gen, struct scratch *s, uint64_t number,
                     struct made_row *row)
{
    struct data_draw draw = data_draw_of(gen->row_key, number);

    row->count = draw_count(gen, &draw);
    const uint64_t *entry = row->count > gen->opts.columns / 2
                                ? draw_dense(gen, s, &draw, row->count)
                                : draw_sparse(gen, s, &draw, row->count);
    for (uint32_t i = 0; i < row->count; i++)
        row->index[i] = (uint32_t)(entry[i] >> 32);
    if (row->units != NULL)
        quantise(entry, row);
    row->label = draw_label(gen, s, number, row);
}

static void block_range(const struct data_gen_sparse *gen, uint64_t block, uint64_t *first,
                        uint64_t *last)
{
    *first = block * gen->block_rows;
    *last = *first + gen->block_rows;
    if (*last > gen->opts.rows)
        *last = gen->opts.rows;
}

static uint64_t block_count(const struct data_gen_sparse *gen)
{
    return (gen->opts.rows + gen->block_rows - 1) / gen->block_rows;
}

/* ---- as text ---- */

static void *text_scratch(const void *ctx, const struct base_alloc *alloc)
{
    return scratch_for(ctx, alloc);
}

static char *put_entry(char *to, uint32_t index, uint32_t units)
{
    *to++ = ' ';
    to = data_format_u64(to, (uint64_t)index + 1);
    *to++ = ':';
    if (units >= UNIT) {
        *to++ = '1';
        return to;
    }
    *to++ = '0';
    *to++ = '.';
    to = data_format_digits(to, units, PLACES);
    while (to[-1] == '0')
        to--;
    return to;
}

static void make_text(const void *ctx, void *scratch, uint64_t block, char *text,
                      struct data_gen_made *made)
{
    const struct data_gen_sparse *gen = ctx;
    struct scratch *s = scratch;
    uint64_t first, last;
    char *to = text;

    block_range(gen, block, &first, &last);
    for (uint64_t r = first; r < last; r++) {
        struct made_row row = {.index = s->index, .units = gen->opts.ones ? NULL : s->units};
        make_row(gen, s, r, &row);
        to = data_format_f64(to, row.label);
        for (uint32_t i = 0; i < row.count; i++)
            to = put_entry(to, row.index[i], row.units != NULL ? row.units[i] : UNIT);
        *to++ = '\n';
        made->entries += row.count;
    }
    made->units = last - first;
    made->size = (size_t)(to - text);
}

shoal_status data_gen_sparse_write(shoal_env *env, const struct data_gen_sparse *gen,
                                   const struct data_gen_run *run, const struct data_sink *sink,
                                   uint64_t *out_entries, shoal_err *err)
{
    struct data_gen_plan plan = {
        .ctx = gen,
        .blocks = block_count(gen),
        .text_max =
            (size_t)gen->block_rows * (DATA_FORMAT_MAX + (size_t)count_max(gen) * ENTRY_TEXT_MAX),
        .scratch_new = text_scratch,
        .scratch_free = scratch_free,
        .make = make_text,
    };

    return data_gen_make(env, &plan, run, sink, out_entries, err);
}

/* ---- in memory ---- */

struct filling {
    const struct data_gen_sparse *gen;
    const uint64_t *start;
    uint32_t *index;
    float *value;
    double *label;
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
    struct scratch *s = scratch;
    uint64_t first, last;

    (void)text;
    block_range(f->gen, block, &first, &last);
    for (uint64_t r = first; r < last; r++) {
        struct made_row row = {.index = f->index + f->start[r],
                               .units = f->value != NULL ? s->units : NULL};
        make_row(f->gen, s, r, &row);
        f->label[r] = row.label;
        for (uint32_t i = 0; row.units != NULL && i < row.count; i++)
            f->value[f->start[r] + i] = (float)((double)row.units[i] / UNIT);
        made->entries += row.count;
    }
    made->units = last - first;
}

static uint64_t *count_rows(const struct data_gen_sparse *gen, const struct base_alloc *alloc)
{
    uint64_t *start = base_malloc(alloc, ((size_t)gen->opts.rows + 1) * sizeof *start);

    if (start == NULL)
        return NULL;
    start[0] = 0;
    for (uint64_t r = 0; r < gen->opts.rows; r++) {
        struct data_draw draw = data_draw_of(gen->row_key, r);
        start[r + 1] = start[r] + draw_count(gen, &draw);
    }
    return start;
}

shoal_status data_gen_sparse_fill(shoal_env *env, const struct data_gen_sparse *gen,
                                  const struct data_gen_run *run, struct data_svm *out,
                                  shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    size_t rows = (size_t)gen->opts.rows;
    struct data_svm svm;

    data_svm_init(&svm, alloc);
    uint64_t *start = count_rows(gen, alloc);
    size_t entries = start != NULL ? (size_t)start[rows] : 0;
    uint32_t *index = base_malloc(alloc, entries * sizeof *index);
    float *value = gen->opts.ones ? NULL : base_malloc(alloc, entries * sizeof *value);
    svm.label = base_malloc(alloc, rows * sizeof *svm.label);
    svm.x = (struct num_csr){rows, gen->opts.columns, start, index, value};
    svm.entries = entries;
    svm.row_cap = rows + 1;
    svm.label_cap = rows;
    svm.entry_cap = entries;
    svm.value_cap = value != NULL ? entries : 0;
    shoal_status st = SHOAL_OK;
    if (start == NULL || index == NULL || svm.label == NULL || (value == NULL && !gen->opts.ones))
        st = base_err_nomem(err, "making data");
    struct filling f = {gen, start, index, value, svm.label};
    struct data_gen_plan plan = {.ctx = &f,
                                 .blocks = block_count(gen),
                                 .scratch_new = fill_scratch,
                                 .scratch_free = scratch_free,
                                 .make = make_fill};
    if (st == SHOAL_OK)
        st = data_gen_make(env, &plan, run, NULL, NULL, err);
    if (st == SHOAL_OK) {
        *out = svm;
        return SHOAL_OK;
    }
    data_svm_fini(&svm);
    return st;
}
