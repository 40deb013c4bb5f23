/* svm.c - loading LIBSVM text: blocks of whole lines, cut at line ends into a piece per thread,
 * parsed side by side into arrays of their own and appended in the order of the file.
 *
 * Nothing is allocated while threads run: a piece gets arrays for the most its bytes can hold
 * (pages that are never touched cost nothing). While all values are 1 none are kept. Workspace:
 * about 9 bytes per byte of a block. Tests: tests/unit/data/test_svm.c. */
#include "data/svm.h"

#include "base/assert.h"
#include "base/err.h"
#include "data/blocks.h"
#include "data/own.h"
#include "data/svm_parse.h"
#include "env/table.h"
#include <string.h>

enum { PIECE = 1 << 20, PIECES_PER_THREAD = 2, PIECES_MAX = 256 };

struct data_svm_reader {
    shoal_env *env;
    const struct base_alloc *alloc;
    struct data_svm_opts opts;
    struct data_blocks blocks;
    struct data_svm_part *part; /* (part_count) */
    size_t *part_size;          /* bytes of text that its arrays are for */
    size_t part_count, part_used;
    uint32_t base;
    bool zero_seen;
};

/* ---- the rows in memory ---- */

void data_svm_init(struct data_svm *svm, const struct base_alloc *alloc)
{
    *svm = (struct data_svm){.alloc = alloc};
}

void data_svm_fini(struct data_svm *svm)
{
    if (svm->alloc == NULL)
        return;
    base_free(svm->alloc, data_own(svm->x.start));
    base_free(svm->alloc, data_own(svm->x.index));
    base_free(svm->alloc, data_own(svm->x.value));
    base_free(svm->alloc, svm->label);
    *svm = (struct data_svm){0};
}

/* Room for more rows and entries. With `valued`, values are kept from now on: those so far were
 * 1. */
static bool make_room(struct data_svm *svm, size_t rows, size_t entries, bool valued)
{
    struct num_csr *x = &svm->x;
    const void *label = svm->label, *start = x->start, *index = x->index, *value = x->value;
    bool first = start == NULL, was_valued = value != NULL;
    size_t row_count = (size_t)x->rows + rows, entry_count = (size_t)svm->entries + entries;

    bool good =
        data_own_reserve(svm->alloc, &label, &svm->label_cap, row_count, sizeof *svm->label);
    svm->label = data_own(label);
    good = good &&
           data_own_reserve(svm->alloc, &start, &svm->row_cap, row_count + 1, sizeof *x->start);
    x->start = start;
    if (first && start != NULL)
        *(uint64_t *)data_own(start) = 0;
    good = good &&
           data_own_reserve(svm->alloc, &index, &svm->entry_cap, entry_count + 1, sizeof *x->index);
    x->index = index;
    if (!valued && !was_valued)
        return good;
    good = good &&
           data_own_reserve(svm->alloc, &value, &svm->value_cap, entry_count + 1, sizeof *x->value);
    x->value = value;
    if (good && !was_valued) {
        float *v = data_own(value);
        for (uint64_t i = 0; i < svm->entries; i++)
            v[i] = 1.0f;
    }
    return good;
}

static void append(struct data_svm *svm, const struct data_svm_part *part)
{
    struct num_csr *x = &svm->x;
    uint64_t *start = data_own(x->start), at = svm->entries;

    if (part->entries > 0) {
        memcpy((uint32_t *)data_own(x->index) + at, part->index, part->entries * sizeof *x->index);
        if (x->value != NULL)
            memcpy((float *)data_own(x->value) + at, part->value, part->entries * sizeof *x->value);
    }
    if (part->rows > 0)
        memcpy(svm->label + x->rows, part->label, part->rows * sizeof *svm->label);
    for (size_t i = 0; i < part->rows; i++)
        start[x->rows + i + 1] = at += part->length[i];
    x->rows += part->rows;
    svm->entries = at;
    if (part->columns_seen > x->columns)
        x->columns = part->columns_seen;
    svm->sorted += part->sorted;
    svm->left_out += part->left_out;
    svm->qids += part->qids;
}

/* ---- the reader ---- */

static shoal_status check_opts(const struct data_svm_opts *opts, shoal_err *err)
{
    if (opts->columns > DATA_SVM_INDEX_MAX)
        return base_err(err, SHOAL_E_INVAL, "columns: expected at most %u", DATA_SVM_INDEX_MAX);
    if (opts->columns > 0 && opts->base == DATA_SVM_FROM_EITHER)
        return base_err(err, SHOAL_E_INVAL,
                        "with known columns it must be known whether indices count from 0 or 1");
    return SHOAL_OK;
}

shoal_status data_svm_open(shoal_env *env, const char *path, const struct data_svm_opts *opts,
                           struct data_svm_reader **out_reader, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    struct data_svm_opts defaults = {0};
    struct data_svm_reader *reader = NULL;

    opts = opts != NULL ? opts : &defaults;
    shoal_status st = check_opts(opts, err);
    if (st != SHOAL_OK)
        return st;
    uint32_t threads = opts->threads != 0 ? opts->threads : env_cpu_count(env);
    size_t pieces = (size_t)threads * PIECES_PER_THREAD;
    if (threads == 1)
        pieces = 1;
    if (pieces > PIECES_MAX)
        pieces = PIECES_MAX;
    reader = base_calloc(alloc, 1, sizeof *reader);
    if (reader == NULL)
        return base_err_nomem(err, "reading data");
    *reader = (struct data_svm_reader){.env = env, .alloc = alloc, .opts = *opts};
    reader->base = opts->base == DATA_SVM_FROM_ONE;
    reader->part_count = pieces;
    reader->part = base_calloc(alloc, pieces, sizeof *reader->part);
    reader->part_size = base_calloc(alloc, pieces, sizeof *reader->part_size);
    if (reader->part == NULL || reader->part_size == NULL)
        st = base_err_nomem(err, "reading data");
    else
        st = data_blocks_open(env, "data", path, pieces * PIECE, opts->bytes_done, &reader->blocks,
                              err);
    if (st != SHOAL_OK) {
        data_svm_close(reader);
        return st;
    }
    *out_reader = reader;
    return SHOAL_OK;
}

static void free_arrays(const struct base_alloc *alloc, struct data_svm_part *part)
{
    base_free(alloc, part->label);
    base_free(alloc, part->length);
    base_free(alloc, part->index);
    base_free(alloc, part->value);
    *part = (struct data_svm_part){0};
}

void data_svm_close(struct data_svm_reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->blocks.alloc != NULL)
        data_blocks_close(&reader->blocks);
    for (size_t i = 0; reader->part != NULL && i < reader->part_count; i++)
        free_arrays(reader->alloc, &reader->part[i]);
    base_free(reader->alloc, reader->part);
    base_free(reader->alloc, reader->part_size);
    base_free(reader->alloc, reader);
}

/* Arrays for the most that `size` bytes can hold. */
static bool size_part(struct data_svm_reader *reader, size_t i, size_t size)
{
    struct data_svm_part *part = &reader->part[i];
    const struct base_alloc *alloc = reader->alloc;

    if (size <= reader->part_size[i])
        return true;
    free_arrays(alloc, part);
    reader->part_size[i] = 0;
    part->label = base_malloc(alloc, data_svm_part_rows(size) * sizeof *part->label);
    part->length = base_malloc(alloc, data_svm_part_rows(size) * sizeof *part->length);
    part->index = base_malloc(alloc, data_svm_part_entries(size) * sizeof *part->index);
    part->value = base_malloc(alloc, data_svm_part_entries(size) * sizeof *part->value);
    if (part->label == NULL || part->length == NULL || part->index == NULL || part->value == NULL)
        return false;
    reader->part_size[i] = size;
    return true;
}

/* Cuts the block at line ends into at most part_count pieces of about equal size. */
static bool cut(struct data_svm_reader *reader, const char *text, size_t size)
{
    const char *end = text + size;

    reader->part_used = 0;
    while (text < end) {
        size_t i = reader->part_used++;
        size_t left = (size_t)(end - text), share = left / (reader->part_count - i);
        const char *stop = end;
        if (i + 1 < reader->part_count && share < left)
            stop = (const char *)memchr(text + share, '\n', left - share) + 1;
        if (!size_part(reader, i, (size_t)(stop - text)))
            return false;
        reader->part[i].text = text;
        reader->part[i].end = stop;
        reader->part[i].base = reader->base;
        reader->part[i].columns = reader->opts.columns > 0 ? reader->opts.columns : UINT32_MAX;
        text = stop;
    }
    return true;
}

static void parse_one(void *ctx, size_t index)
{
    struct data_svm_reader *reader = ctx;

    data_svm_parse(&reader->part[index]);
}

static shoal_status report(const struct data_blocks *blocks, const struct data_svm_part *part,
                           shoal_err *err)
{
    const char *const expected[] = {
        [DATA_SVM_LABEL] = "a number as label",
        [DATA_SVM_LABELS] = "one label",
        [DATA_SVM_PAIR] = "INDEX:VALUE",
        [DATA_SVM_INDEX] =
            part->base == 1 ? "an index of at most 2147483647" : "an index of at most 2147483646",
        [DATA_SVM_INDEX_ZERO] = "an index from 1",
        [DATA_SVM_INDEX_TWICE] = "each index once in a row",
        [DATA_SVM_VALUE] = "a finite number after the colon",
        [DATA_SVM_VALUE_LARGE] = "a value that a float can hold",
    };
    char shown[ENV_SHOWN_MAX];
    const char *at = part->bad_at;
    size_t size = strcspn(at, " \t\r\n"); /* a block ends with a newline */

    data_blocks_bad(blocks, blocks->line + part->lines + 1, (uint64_t)(at - part->bad_line) + 1,
                    err, "expected %s, found '%s'", expected[part->bad],
                    env_lines_show(at, size, shown));
    if (part->bad == DATA_SVM_INDEX_ZERO)
        base_err_hint(err, "if columns count from 0 in this file: --set index=zero");
    if (part->bad == DATA_SVM_LABELS)
        base_err_hint(err, "data with several labels a row is not supported");
    return SHOAL_E_FORMAT;
}

/* Counts lines up to the first mistake, and tells it. */
static shoal_status check_parts(struct data_svm_reader *reader, shoal_err *err)
{
    for (size_t i = 0; i < reader->part_used; i++) {
        if (reader->part[i].bad != DATA_SVM_GOOD)
            return report(&reader->blocks, &reader->part[i], err);
        reader->blocks.line += reader->part[i].lines;
    }
    return SHOAL_OK;
}

shoal_status data_svm_next(struct data_svm_reader *reader, struct data_svm *svm, shoal_err *err)
{
    const char *text = NULL;
    size_t size = 0, rows = 0, entries = 0;
    bool ones = true;

    shoal_status st = data_blocks_next(&reader->blocks, &text, &size, err);
    if (st != SHOAL_OK)
        return st;
    if (!cut(reader, text, size))
        return base_err_nomem(err, "reading data");
    st = env_parallel(reader->env, reader->part_used, reader->opts.threads, parse_one, reader, err);
    if (st == SHOAL_OK)
        st = check_parts(reader, err);
    if (st != SHOAL_OK)
        return st;
    for (size_t i = 0; i < reader->part_used; i++) {
        rows += reader->part[i].rows;
        entries += reader->part[i].entries;
        ones &= reader->part[i].ones;
        reader->zero_seen |= reader->part[i].zero_seen;
    }
    if (!make_room(svm, rows, entries, !ones || reader->opts.keep_ones))
        return base_err_nomem(err, "reading data");
    for (size_t i = 0; i < reader->part_used; i++)
        append(svm, &reader->part[i]);
    if (reader->opts.columns > 0)
        svm->x.columns = reader->opts.columns;
    return SHOAL_OK;
}

/* ---- the whole file ---- */

/* Indices were kept as they stand in the file; without a 0 among them they count from 1. */
static void rebase(struct data_svm *svm)
{
    uint32_t *index = data_own(svm->x.index);

    for (uint64_t i = 0; i < svm->entries; i++)
        index[i]--;
    svm->x.columns -= svm->x.columns > 0;
}

/* Gives back what growing took too much; where that fails nothing is lost. */
static void shrink(const struct base_alloc *alloc, const void **array, size_t *cap, size_t count,
                   size_t size)
{
    void *less =
        *array != NULL && count > 0 ? base_realloc(alloc, data_own(*array), count * size) : NULL;

    if (less == NULL)
        return;
    *array = less;
    *cap = count;
}

static void shrink_all(struct data_svm *svm)
{
    const void *label = svm->label, *start = svm->x.start, *index = svm->x.index;
    const void *value = svm->x.value;
    size_t rows = (size_t)svm->x.rows, entries = (size_t)svm->entries;

    shrink(svm->alloc, &label, &svm->label_cap, rows, sizeof *svm->label);
    shrink(svm->alloc, &start, &svm->row_cap, rows + 1, sizeof *svm->x.start);
    shrink(svm->alloc, &index, &svm->entry_cap, entries, sizeof *svm->x.index);
    shrink(svm->alloc, &value, &svm->value_cap, entries, sizeof *svm->x.value);
    svm->label = data_own(label);
    svm->x.start = start;
    svm->x.index = index;
    svm->x.value = value;
}

shoal_status data_svm_load(shoal_env *env, const char *path, const struct data_svm_opts *opts,
                           struct data_svm *out, shoal_err *err)
{
    struct data_svm_reader *reader = NULL;
    struct data_svm svm;

    data_svm_init(&svm, env_alloc(env));
    shoal_status st = data_svm_open(env, path, opts, &reader, err);
    while (st == SHOAL_OK)
        st = data_svm_next(reader, &svm, err);
    if (st == SHOAL_END)
        st = svm.x.rows > 0
                 ? SHOAL_OK
                 : base_err(err, SHOAL_E_FORMAT, "cannot read data '%s': no rows in it", path);
    if (st == SHOAL_OK) {
        if (reader->opts.base == DATA_SVM_FROM_EITHER && !reader->zero_seen)
            rebase(&svm);
        shrink_all(&svm);
        *out = svm;
        svm = (struct data_svm){0};
    }
    data_svm_close(reader);
    data_svm_fini(&svm);
    return st;
}

/* ---- columns that have entries ----
 *
 * Columns by what is there: where a file has larger column numbers than it has
 * entries (hashed names, or a hostile file), columns without an entry get no number, so that what is
 * made by column stays as small as the file.
 *
 * Entries are sorted by column (radix sort, so time is linear in entries); workspace: 16 bytes an
 * entry. */

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* One pass of the sort: from `key` to `to`, by the digit at `shift`. */
static void sort_by_digit(const uint64_t *key, uint64_t *to, uint64_t count, uint32_t shift)
{
    uint64_t at[DIGITS] = {0}, before = 0;

    for (uint64_t i = 0; i < count; i++)
        at[key[i] >> shift & (DIGITS - 1)]++;
    for (size_t d = 0; d < DIGITS; d++) {
        uint64_t here = at[d];
        at[d] = before;
        before += here;
    }
    for (uint64_t i = 0; i < count; i++)
        to[at[key[i] >> shift & (DIGITS - 1)]++] = key[i];
}

/* Keys hold the column above and the entry below; returns the sorted array, one of the two. */
static uint64_t *sort_entries(const struct data_svm *svm, uint64_t *key, uint64_t *spare)
{
    for (uint64_t e = 0; e < svm->entries; e++)
        key[e] = (uint64_t)svm->x.index[e] << 32 | e;
    for (uint32_t shift = 0; shift < 32 && svm->x.columns >> shift != 0; shift += DIGIT_BITS) {
        sort_by_digit(key, spare, svm->entries, 32 + shift);
        uint64_t *sorted = spare;
        spare = key;
        key = sorted;
    }
    return key;
}

static uint32_t count_columns(const uint64_t *key, uint64_t count)
{
    uint32_t columns = 0;

    for (uint64_t i = 0; i < count; i++)
        columns += i == 0 || key[i] >> 32 != key[i - 1] >> 32;
    return columns;
}

static void number_columns(struct data_svm *svm, const uint64_t *key, uint32_t *name)
{
    uint32_t *index = data_own(svm->x.index), column = 0;

    for (uint64_t i = 0; i < svm->entries; i++) {
        column += i > 0 && key[i] >> 32 != key[i - 1] >> 32;
        name[column] = (uint32_t)(key[i] >> 32);
        index[(uint32_t)key[i]] = column;
    }
}

shoal_status data_svm_compact(struct data_svm *svm, uint32_t **out_name, shoal_err *err)
{
    uint32_t *name = NULL;

    if (svm->x.columns <= DATA_SVM_FEW || svm->x.columns <= svm->entries) {
        *out_name = NULL;
        return SHOAL_OK;
    }
    uint64_t *key = base_calloc(svm->alloc, svm->entries + 1, sizeof *key);
    uint64_t *spare = base_calloc(svm->alloc, svm->entries + 1, sizeof *spare);
    if (key != NULL && spare != NULL) {
        const uint64_t *sorted = sort_entries(svm, key, spare);
        uint32_t columns = count_columns(sorted, svm->entries);
        name = base_calloc(svm->alloc, columns + (size_t)1, sizeof *name);
        if (name != NULL) {
            number_columns(svm, sorted, name);
            svm->x.columns = columns;
        }
    }
    base_free(svm->alloc, key);
    base_free(svm->alloc, spare);
    if (name == NULL)
        return base_err_nomem(err, "numbering columns");
    *out_name = name;
    return SHOAL_OK;
}

uint32_t data_svm_column(const uint32_t *name, uint32_t count, uint32_t column)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (name[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && name[low] == column ? low : DATA_SVM_NO_COLUMN;
}

void data_svm_renumber(struct data_svm *svm, const uint32_t *name, uint32_t count)
{
    uint32_t *index = data_own(svm->x.index);
    uint64_t *start = data_own(svm->x.start), to = 0, from = 0;
    float *value = data_own(svm->x.value);

    for (uint64_t i = 0; i < svm->x.rows; i++) {
        for (uint64_t end = start[i + 1]; from < end; from++) {
            uint32_t column = data_svm_column(name, count, index[from]);
            if (column == DATA_SVM_NO_COLUMN) {
                svm->left_out++;
                continue;
            }
            index[to] = column;
            if (value != NULL)
                value[to] = value[from];
            to++;
        }
        start[i + 1] = to;
    }
    svm->entries = to;
    svm->x.columns = count;
}

/* ---- columns that never vary ---- */

struct seen {
    uint64_t entries;
    float value;
    bool varies;
};

shoal_status data_svm_constant(const struct data_svm *svm, uint32_t *out, shoal_err *err)
{
    const struct num_csr *x = &svm->x;
    struct seen *seen = base_calloc(svm->alloc, x->columns + (size_t)1, sizeof *seen);
    uint32_t constant = 0;

    if (seen == NULL)
        return base_err_nomem(err, "looking at columns");
    for (uint64_t e = 0; e < svm->entries; e++) {
        struct seen *column = &seen[x->index[e]];
        float value = x->value != NULL ? x->value[e] : 1;
        column->varies |= column->entries > 0 && value != column->value;
        column->value = value;
        column->entries++;
    }
    for (uint32_t c = 0; c < x->columns; c++)
        constant += seen[c].entries > 0 && !seen[c].varies &&
                    (seen[c].entries == x->rows || seen[c].value == 0);
    base_free(svm->alloc, seen);
    *out = constant;
    return SHOAL_OK;
}
