/* cmd_gen.c - `shoal gen sparse|ratings`: made-up training data of any size.
 *
 * Text goes out as it is made. A file takes its name when it is whole; Ctrl-C leaves nothing.
 * Tests: tests/cli/transcripts/gen.txt. */
#include "cli/gen_make.h"

#include "base/assert.h"
#include <stddef.h>

/* ---- gen sparse ---- */

struct sparse_values {
    uint64_t rows, columns, nonzeros, classes, seed, threads;
    double noise, signal;
    bool ones;
    const char *output;
};

static shoal_status write_sparse(struct cli_context *cx, const void *values,
                                 const struct data_gen_run *run, const struct data_sink *sink,
                                 uint64_t *out_entries, shoal_err *err)
{
    const struct sparse_values *v = values;
    struct data_gen_sparse_opts opts = {
        .rows = v->rows,
        .columns = (uint32_t)v->columns,
        .nonzeros = (uint32_t)cli_gen_usual(v->nonzeros, 20, v->columns),
        .classes = (uint32_t)v->classes,
        .noise = v->noise,
        .signal = v->signal,
        .ones = v->ones,
        .seed = v->seed,
    };
    struct data_gen_sparse *gen = NULL;
    shoal_status st = data_gen_sparse_new(env_alloc(cx->env), &opts, &gen, err);

    if (st == SHOAL_OK)
        st = data_gen_sparse_write(cx->env, gen, run, sink, out_entries, err);
    data_gen_sparse_free(gen);
    return st;
}

static int run_sparse(struct cli_context *cx, const void *values, const char *const *args,
                      size_t arg_count)
{
    const struct sparse_values *v = values;
    struct cli_gen_task task = {write_sparse, v, v->output, "rows", v->rows, v->threads};
    uint64_t entries = 0, bytes = 0;
    char rows[64], entry_text[64];

    (void)args, (void)arg_count;
    int rc = cli_gen_make(cx, &task, &entries, &bytes);
    if (rc == 0 && bytes > 0) {
        base_log(&cx->log, BASE_LOG_INFO, "%s with %s, %.1f MB: %s",
                 cli_gen_count(v->rows, "row", rows, sizeof rows),
                 cli_gen_count(entries, "value", entry_text, sizeof entry_text),
                 (double)bytes * 1e-6, v->output);
        base_log(&cx->log, BASE_LOG_INFO, "next: shoal train %s %s",
                 v->classes != 0 ? "logreg" : "lasso", v->output);
    }
    return rc;
}

static const struct base_opt sparse_rows[] = {
    {.name = "rows",
     .letter = 'n',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "1000",
     .help = "rows to make",
     .min = 1,
     .max = 281474976710656,
     .offset = offsetof(struct sparse_values, rows)},
    {.name = "columns",
     .letter = 'd',
     .type = BASE_OPT_U64,
     .meta = "D",
     .fallback = "1000",
     .help = "columns (features)",
     .min = 1,
     .max = DATA_SVM_INDEX_MAX,
     .offset = offsetof(struct sparse_values, columns)},
    {.name = "nonzeros",
     .letter = 'k',
     .type = BASE_OPT_U64,
     .meta = "K",
     .help = "values in a row on average; rows have 1 to 2K-1 [20, or the columns there are]",
     .min = 1,
     .max = DATA_SVM_INDEX_MAX,
     .offset = offsetof(struct sparse_values, nonzeros)},
    {.name = "classes",
     .letter = 'c',
     .type = BASE_OPT_U64,
     .meta = "C",
     .fallback = "2",
     .help = "2: labels -1 and 1; more: 1 to C; 0: numbers, for regression",
     .max = 1 << 24,
     .offset = offsetof(struct sparse_values, classes)},
    {.name = "noise",
     .type = BASE_OPT_F64,
     .meta = "X",
     .fallback = "0.05",
     .help = "share of labels drawn blindly; for numbers the standard deviation",
     .max = 1e6,
     .offset = offsetof(struct sparse_values, noise)},
    {.name = "signal",
     .type = BASE_OPT_F64,
     .meta = "X",
     .fallback = "4",
     .help = "standard deviation of the margin: the larger, the surer the labels",
     .max = 1e6,
     .offset = offsetof(struct sparse_values, signal)},
    {.name = "ones",
     .type = BASE_OPT_FLAG,
     .help = "every value is 1, not word counts times rarity",
     .offset = offsetof(struct sparse_values, ones)},
    {.name = "seed",
     .letter = 's',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "1",
     .help = "same seed, same bytes",
     .offset = offsetof(struct sparse_values, seed)},
    {.name = "threads",
     .letter = 't',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "0",
     .help = "threads to use; 0: one per core",
     .max = 1024,
     .offset = offsetof(struct sparse_values, threads)},
    {.name = "output",
     .letter = 'o',
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .fallback = "-",
     .help = "where to write",
     .complete = "file",
     .offset = offsetof(struct sparse_values, output)},
};

const struct cli_command cli_cmd_gen_sparse = {
    .name = "gen sparse",
    .usage = "[options]",
    .summary = "Make up sparse rows with labels, as LIBSVM text.",
    .description =
        "Columns are used by a power law, as words are; values are word counts times rarity, and "
        "each row has length 1. Labels come from a planted linear model through the logistic "
        "function (softmax with more than two classes), so that a linear model can learn them and "
        "none can be perfect.\n\n"
        "The same options and seed give the same bytes on every machine, whatever the number of "
        "threads. The text goes out as it is made: memory does not grow with the rows.",
    .example = "gen sparse --rows 100000 --columns 10000 --nonzeros 50 -o data.svm",
    .opts = sparse_rows,
    .opt_count = BASE_COUNT(sparse_rows),
    .values_size = sizeof(struct sparse_values),
    .run = run_sparse,
};

/* ---- gen ratings ---- */

struct ratings_values {
    uint64_t users, items, ratings, rank, seed, threads;
    double noise;
    bool unrounded;
    const char *output;
};

static uint64_t ratings_of(const struct ratings_values *v)
{
    return cli_gen_usual(v->ratings, 20000, v->users * v->items);
}

static shoal_status write_ratings(struct cli_context *cx, const void *values,
                                  const struct data_gen_run *run, const struct data_sink *sink,
                                  uint64_t *out_entries, shoal_err *err)
{
    const struct ratings_values *v = values;
    struct data_gen_ratings_opts opts = {
        .users = (uint32_t)v->users,
        .items = (uint32_t)v->items,
        .ratings = ratings_of(v),
        .rank = (uint32_t)v->rank,
        .noise = v->noise,
        .unrounded = v->unrounded,
        .seed = v->seed,
    };
    struct data_gen_ratings *gen = NULL;
    shoal_status st = data_gen_ratings_new(env_alloc(cx->env), &opts, &gen, err);

    if (st == SHOAL_OK)
        st = data_gen_ratings_write(cx->env, gen, run, sink, err);
    *out_entries = ratings_of(v);
    data_gen_ratings_free(gen);
    return st;
}

static int run_ratings(struct cli_context *cx, const void *values, const char *const *args,
                       size_t arg_count)
{
    const struct ratings_values *v = values;
    struct cli_gen_task task = {write_ratings, v, v->output, "ratings", ratings_of(v), v->threads};
    uint64_t entries = 0, bytes = 0;
    char ratings[64], users[64], items[64];

    (void)args, (void)arg_count;
    int rc = cli_gen_make(cx, &task, &entries, &bytes);
    if (rc == 0 && bytes > 0) {
        base_log(&cx->log, BASE_LOG_INFO, "%s of %s by %s, %.1f MB: %s",
                 cli_gen_count(entries, "rating", ratings, sizeof ratings),
                 cli_gen_count(v->items, "item", items, sizeof items),
                 cli_gen_count(v->users, "user", users, sizeof users), (double)bytes * 1e-6,
                 v->output);
        base_log(&cx->log, BASE_LOG_INFO, "next: shoal train mf %s", v->output);
    }
    return rc;
}

static const struct base_opt ratings_rows[] = {
    {.name = "users",
     .letter = 'u',
     .type = BASE_OPT_U64,
     .meta = "U",
     .fallback = "1000",
     .help = "users",
     .min = 1,
     .max = INT32_MAX,
     .offset = offsetof(struct ratings_values, users)},
    {.name = "items",
     .letter = 'i',
     .type = BASE_OPT_U64,
     .meta = "I",
     .fallback = "500",
     .help = "items",
     .min = 1,
     .max = INT32_MAX,
     .offset = offsetof(struct ratings_values, items)},
    {.name = "ratings",
     .letter = 'n',
     .type = BASE_OPT_U64,
     .meta = "N",
     .help = "ratings in all, at most users times items [20000, or all]",
     .min = 1,
     .max = 281474976710656,
     .offset = offsetof(struct ratings_values, ratings)},
    {.name = "rank",
     .letter = 'r',
     .type = BASE_OPT_U64,
     .meta = "R",
     .fallback = "8",
     .help = "rank of the planted matrix, besides biases",
     .max = DATA_GEN_RANK_MAX,
     .offset = offsetof(struct ratings_values, rank)},
    {.name = "noise",
     .type = BASE_OPT_F64,
     .meta = "X",
     .fallback = "0.75",
     .help = "standard deviation of what nothing explains",
     .max = 100,
     .offset = offsetof(struct ratings_values, noise)},
    {.name = "unrounded",
     .type = BASE_OPT_FLAG,
     .help = "values to four places, not half stars from 0.5 to 5",
     .offset = offsetof(struct ratings_values, unrounded)},
    {.name = "seed",
     .letter = 's',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "1",
     .help = "same seed, same bytes",
     .offset = offsetof(struct ratings_values, seed)},
    {.name = "threads",
     .letter = 't',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "0",
     .help = "threads to use; 0: one per core",
     .max = 1024,
     .offset = offsetof(struct ratings_values, threads)},
    {.name = "output",
     .letter = 'o',
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .fallback = "-",
     .help = "where to write",
     .complete = "file",
     .offset = offsetof(struct ratings_values, output)},
};

const struct cli_command cli_cmd_gen_ratings = {
    .name = "gen ratings",
    .usage = "[options]",
    .summary = "Make up ratings with a planted low rank, as CSV.",
    .description =
        "A value is a mean, the biases of the user and of the item, a product of rank R, and "
        "noise; it is rounded to half stars. Few users are busy and few items popular, by power "
        "laws; no user rates an item twice. The rows come in order of users: user,item,rating.\n\n"
        "The same options and seed give the same bytes on every machine, whatever the number of "
        "threads. The text goes out as it is made: memory grows with users and items only.",
    .example = "gen ratings --users 69878 --items 10677 --ratings 10000054 -o r.csv",
    .opts = ratings_rows,
    .opt_count = BASE_COUNT(ratings_rows),
    .values_size = sizeof(struct ratings_values),
    .run = run_ratings,
};
