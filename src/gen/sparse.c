/* sparse.c - sparse rows with labels that a linear model explains.
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
 * Tests: tests/unit/gen/test_rows.c. */
#include "gen/gen.h"

#include "base/assert.h"
#include "base/err.h"
#include "data/format.h"
#include "data/svm.h"
#include "gen/draw.h"
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

struct gen_sparse {
    const struct base_alloc *alloc;
    shoal_gen_sparse_opts opts;
    uint32_t columns, nonzeros, classes; /* of the options, as they are used */
    uint64_t row_key, label_key, weight_key;
    struct gen_zipf zipf;
    struct gen_scatter scatter;
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
    struct gen_rank_set set;
    uint64_t *entry, *sorted; /* column << 32 | weight as float */
    uint32_t *bucket;
    uint32_t *index, *units;
    float *score; /* (classes) */
};

/* ---- set-up ---- */

static shoal_status check(const shoal_gen_sparse_opts *o, shoal_err *err)
{
    if (o->rows < 1 || o->rows > ROWS_MAX)
        return base_err(err, SHOAL_E_INVAL, "rows: expected 1 to 2^48");
    if (o->columns < 1 || o->columns > DATA_SVM_INDEX_MAX)
        return base_err(err, SHOAL_E_INVAL, "columns: expected 1 to %u", DATA_SVM_INDEX_MAX);
    if (o->nonzeros < 1 || o->nonzeros > o->columns)
        return base_err(err, SHOAL_E_INVAL,
                        "nonzeros: expected 1 to the number of columns, %llu, found %llu",
                        (unsigned long long)o->columns, (unsigned long long)o->nonzeros);
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
static bool draw_parts(struct gen_sparse *gen)
{
    size_t columns = gen->columns, classes = gen->classes;
    uint64_t key = gen_draw_key(gen->opts.seed, "gen.sparse.class");

    gen->column_part = base_malloc(gen->alloc, columns * gen->rank * sizeof *gen->column_part);
    gen->class_part = base_malloc(gen->alloc, classes * gen->rank * sizeof *gen->class_part);
    if (gen->column_part == NULL || gen->class_part == NULL)
        return false;
    for (size_t c = 0; c < columns; c++) {
        struct gen_draw draw = gen_draw_of(gen->weight_key, c);
        for (uint32_t k = 0; k < gen->rank; k++)
            gen->column_part[c * gen->rank + k] = (float)gen_draw_rough_normal(gen_draw_u64(&draw));
    }
    for (size_t c = 0; c < classes; c++) {
        struct gen_draw draw = gen_draw_of(key, c);
        for (uint32_t k = 0; k < gen->rank; k++)
            gen->class_part[k * classes + c] = (float)gen_draw_normal(&draw);
    }
    return true;
}

static void free_gen(struct gen_sparse *gen)
{
    base_free(gen->alloc, gen->column_part);
    base_free(gen->alloc, gen->class_part);
}

/* Fails with `gen` to be freed. */
static shoal_status init_gen(struct gen_sparse *gen, const struct base_alloc *alloc,
                             const shoal_gen_sparse_opts *opts, shoal_err *err)
{
    shoal_status st = check(opts, err);

    *gen = (struct gen_sparse){.alloc = alloc, .opts = *opts};
    if (st != SHOAL_OK)
        return st;
    gen->columns = (uint32_t)opts->columns;
    gen->nonzeros = (uint32_t)opts->nonzeros;
    gen->classes = (uint32_t)opts->classes;
    gen->row_key = gen_draw_key(opts->seed, "gen.sparse.row");
    gen->label_key = gen_draw_key(opts->seed, "gen.sparse.label");
    gen->weight_key = gen_draw_key(opts->seed, "gen.sparse.weight");
    gen_zipf_init(&gen->zipf, gen->columns, gen->columns >= 300 ? 30.0 : 1 + gen->columns / 10.0);
    gen_scatter_init(&gen->scatter, gen->columns, gen_draw_key(opts->seed, "gen.sparse.scatter"));
    gen->block_rows = BLOCK_ENTRIES / gen->nonzeros + 1;
    gen->rank = gen->classes > 2 ? gen->classes < RANK ? gen->classes : RANK : 1;
    if (gen->classes > 2 && !draw_parts(gen))
        return base_err_nomem(err, "making data");
    return SHOAL_OK;
}

/* The most entries a row can have. */
static uint32_t count_max(const struct gen_sparse *gen)
{
    uint64_t most = 2 * (uint64_t)gen->nonzeros - 1;

    return most < gen->columns ? (uint32_t)most : gen->columns;
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

static void *scratch_new(const void *ctx, const struct base_alloc *alloc)
{
    const struct gen_sparse *gen = ctx;
    struct scratch *s = base_calloc(alloc, 1, sizeof *s);
    size_t count = count_max(gen);

    if (s == NULL)
        return NULL;
    bool good = gen_rank_set_init(&s->set, alloc, count_max(gen)) == 0;
    s->entry = base_malloc(alloc, count * sizeof *s->entry);
    s->sorted = base_malloc(alloc, count * sizeof *s->sorted);
    s->bucket = base_malloc(alloc, (count + 1) * sizeof *s->bucket);
    s->index = base_malloc(alloc, count * sizeof *s->index);
    s->units = base_malloc(alloc, count * sizeof *s->units);
    s->score = base_malloc(alloc, ((size_t)gen->classes + 1) * sizeof *s->score);
    if (good && s->entry != NULL && s->sorted != NULL && s->bucket != NULL && s->index != NULL &&
        s->units != NULL && s->score != NULL)
        return s;
    scratch_free(s, alloc);
    return NULL;
}

/* ---- columns ---- */

static uint32_t draw_count(const struct gen_sparse *gen, struct gen_draw *draw)
{
    uint64_t count = 1 + gen_draw_below(draw, 2 * (uint64_t)gen->nonzeros - 1);

    return count < gen->columns ? (uint32_t)count : gen->columns;
}

/* A word count of 1, sometimes 2 to 4, damped, times the rarity of the word. */
static float weigh(const struct gen_sparse *gen, uint64_t bits)
{
    static const double counts[4] = {1, 1.6931471805599454, 2.0986122886681098, 2.386294361119891};
    uint32_t low = (uint32_t)bits & 2047;
    uint32_t count = (uint32_t)(low < 512) + (uint32_t)(low < 128) + (uint32_t)(low < 32);

    return (float)(counts[count] * (1 + gen_zipf_depth(&gen->zipf, bits) * 0.6931471805599453));
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
static uint64_t *sort_entries(const struct gen_sparse *gen, struct scratch *s, uint32_t count)
{
    uint32_t sum = 0;

    shoal_assert(gen->columns > 0);
    uint64_t factor = ((uint64_t)count << 32) / gen->columns;
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
static uint64_t *draw_dense(const struct gen_sparse *gen, struct scratch *s, struct gen_draw *draw,
                            uint32_t count)
{
    uint32_t at = 0;

    for (uint32_t c = 0; at < count; c++)
        if (gen_draw_below(draw, gen->columns - c) < count - at) {
            uint64_t bits = gen_draw_u64(draw);
            s->entry[at++] = pack(c, weigh(gen, bits));
        }
    return s->entry;
}

static uint64_t *draw_sparse(const struct gen_sparse *gen, struct scratch *s, struct gen_draw *draw,
                             uint32_t count)
{
    gen_rank_set_clear(&s->set);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bits = 0;
        uint32_t rank = gen_rank_set_draw(&s->set, &gen->zipf, draw, &bits);
        s->entry[i] = pack(gen_scatter_at(&gen->scatter, rank), weigh(gen, bits));
    }
    return sort_entries(gen, s, count);
}

/* ---- labels ---- */

static double value_at(const struct made_row *row, uint32_t i, double even)
{
    return row->units != NULL ? (double)row->units[i] * (1.0 / UNIT) : even;
}

static double margin_of(const struct gen_sparse *gen, const struct made_row *row, double even)
{
    double sum = 0;

    for (uint32_t i = 0; i < row->count; i++) {
        uint64_t bits = gen_draw_mix(gen->weight_key + row->index[i] * 0x9E3779B97F4A7C15u);
        sum += gen_draw_rough_normal(bits) * value_at(row, i, even);
    }
    return sum * gen->opts.signal;
}

static void score_classes(const struct gen_sparse *gen, const struct made_row *row, double even,
                          float *score)
{
    uint32_t rank = gen->rank, classes = gen->classes;
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

    return gen_draw_exp2(y < -limit ? -limit : y > limit ? limit : y);
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

static double draw_label(const struct gen_sparse *gen, struct scratch *s, uint64_t number,
                         const struct made_row *row)
{
    struct gen_draw draw = gen_draw_of(gen->label_key, number);
    uint32_t classes = gen->classes;
    double even = 1 / sqrt((double)row->count); /* the value, when all are equal */

    if (classes == 0) {
        double y = margin_of(gen, row, even) + gen->opts.noise * gen_draw_normal(&draw);
        double scaled = y * data_number_powers[LABEL_PLACES];
        int64_t units = (int64_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
        return (double)units / data_number_powers[LABEL_PLACES];
    }
    bool blind = gen_draw_unit(&draw) < gen->opts.noise;
    double unit = gen_draw_unit(&draw);
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
static void make_row(const struct gen_sparse *gen, struct scratch *s, uint64_t number,
                     struct made_row *row)
{
    struct gen_draw draw = gen_draw_of(gen->row_key, number);

    row->count = draw_count(gen, &draw);
    const uint64_t *entry = row->count > gen->columns / 2 ? draw_dense(gen, s, &draw, row->count)
                                                          : draw_sparse(gen, s, &draw, row->count);
    for (uint32_t i = 0; i < row->count; i++)
        row->index[i] = (uint32_t)(entry[i] >> 32);
    if (row->units != NULL)
        quantise(entry, row);
    row->label = draw_label(gen, s, number, row);
}

/* ---- as text ---- */

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
                      struct gen_block *made)
{
    const struct gen_sparse *gen = ctx;
    struct scratch *s = scratch;
    uint64_t first = block * gen->block_rows;
    uint64_t last = gen_block_end(gen->opts.rows, gen->block_rows, block);
    char *to = text;

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

/* ---- the call ---- */

#define AT(member) offsetof(shoal_gen_sparse_opts, member)

static const shoal_opt rows[] = {
    {AT(rows), SHOAL_OPT_U64, "rows", 'n', "N", "1000", "rows to make", .min = 1,
     .max = 281474976710656},
    {AT(columns), SHOAL_OPT_U64, "columns", 'd', "D", "1000", "columns (features)", .min = 1,
     .max = DATA_SVM_INDEX_MAX},
    {AT(nonzeros), SHOAL_OPT_U64, "nonzeros", 0, "K", NULL,
     "values in a row on average; rows have 1 to 2K-1 [20, or the columns there are]", .min = 1,
     .max = DATA_SVM_INDEX_MAX},
    {AT(classes), SHOAL_OPT_U64, "classes", 0, "C", "2",
     "2: labels -1 and 1; more: 1 to C; 0: numbers, for regression", .max = 1 << 24},
    {AT(noise), SHOAL_OPT_F64, "noise", 0, "X", "0.05",
     "share of labels drawn blindly; for numbers the standard deviation", .max = 1e6},
    {AT(signal), SHOAL_OPT_F64, "signal", 0, "X", "4",
     "standard deviation of the margin: the larger, the surer the labels", .max = 1e6},
    {AT(ones), SHOAL_OPT_FLAG, "ones", .help = "every value is 1, not word counts times rarity"},
    GEN_ROW_SEED,
    GEN_ROW_THREADS,
    GEN_ROW_OUTPUT,
};
#undef AT

BASE_OPT_PUBLIC(gen_sparse, rows)

static shoal_status make(struct gen_call *call, const struct gen_sparse *gen, shoal_watch *watch,
                         shoal_err *err)
{
    struct gen_plan plan = {
        .gen = gen,
        .blocks = gen_block_count(gen->opts.rows, gen->block_rows),
        .text_max =
            (size_t)gen->block_rows * (DATA_FORMAT_MAX + (size_t)count_max(gen) * ENTRY_TEXT_MAX),
        .scratch_new = scratch_new,
        .scratch_free = scratch_free,
        .make = make_text,
    };
    uint64_t entries = 0;

    call->threads = (uint32_t)gen->opts.threads;
    shoal_status st = gen_open(call, watch, "rows", gen->opts.rows, err);
    if (st == SHOAL_OK)
        st = gen_blocks(call, &plan, &entries, err);
    call->made.rows = (double)gen->opts.rows;
    call->made.columns = gen->columns;
    call->made.values = (double)entries;
    return gen_end(call, st, err);
}

shoal_status shoal_gen_sparse(shoal_env *env, const shoal_gen_sparse_opts *given,
                              shoal_watch *watch, const shoal_result **out_result, shoal_err *err)
{
    shoal_gen_sparse_opts opts;
    struct gen_sparse gen;
    struct gen_call call;

    shoal_status st = gen_take(rows, BASE_COUNT(rows), &opts, sizeof opts, given, out_result, err);
    if (st != SHOAL_OK)
        return st;
    opts.nonzeros = gen_usual(opts.nonzeros, 20, opts.columns);
    st = init_gen(&gen, env_alloc(env), &opts, err);
    if (st == SHOAL_OK)
        st = gen_begin(&call, env, "sparse", &opts.to, err);
    if (st == SHOAL_OK)
        st = make(&call, &gen, watch, err);
    free_gen(&gen);
    if (st != SHOAL_OK)
        return st;
    struct page_made *made = gen_made(&call);
    gen_say(&call, made, "%s with %s", gen_count(made, call.made.rows, "row"),
            gen_count(made, call.made.values, "value"));
    return gen_finish(&call, made, opts.classes != 0 ? "train logreg" : "train lasso", "",
                      out_result, err);
}
