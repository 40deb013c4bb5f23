/* cmd_gen_corpus.c - `shoal gen corpus|regression`: made-up documents with planted topics, and rows
 * for regression with planted coefficients. --truth keeps what was planted.
 * Tests: tests/cli/transcripts/gen_corpus.txt. */
#include "cli/gen_make.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include <stddef.h>
#include <string.h>

enum { TRUTH_WORDS = 100 };

static bool to_file(const char *path)
{
    return strcmp(path, "-") != 0;
}

/* Both files in one place would leave the later one. */
static shoal_status check_truth(const struct cli_context *cx, const char *truth, const char *output,
                                shoal_err *err)
{
    if (truth != NULL && to_file(output) && cli_output_same(cx, truth, output))
        return base_err(err, SHOAL_E_INVAL, "--truth and --output are the same file, '%s'", truth);
    return SHOAL_OK;
}

/* ---- gen corpus ---- */

enum format { UCI, TEXT, BINARY };
static const char *const format_names[] = {"uci", "text", "binary", NULL};

struct corpus_values {
    uint64_t documents, words, topics, mixed, seed, threads;
    double length, spread, background;
    uint32_t format;
    const char *truth, *output;
};

static shoal_status new_corpus(const struct cli_context *cx, const struct corpus_values *v,
                               struct data_gen_corpus **out, shoal_err *err)
{
    struct data_gen_corpus_opts opts = {
        .documents = v->documents,
        .words = (uint32_t)v->words,
        .topics = (uint32_t)v->topics,
        .mixed = (uint32_t)v->mixed,
        .length = v->length,
        .spread = v->spread,
        .background = v->background,
        .seed = v->seed,
    };

    return data_gen_corpus_new(env_alloc(cx->env), &opts, out, err);
}

static shoal_status put_topics(const void *gen, const struct data_sink *sink, shoal_err *err)
{
    return data_gen_corpus_truth(gen, TRUTH_WORDS, sink, err);
}

static shoal_status write_corpus(struct cli_context *cx, const void *values,
                                 const struct data_gen_run *run, const struct data_sink *sink,
                                 uint64_t *out_entries, shoal_err *err)
{
    const struct corpus_values *v = values;
    struct data_gen_corpus *gen = NULL;
    shoal_status st = new_corpus(cx, v, &gen, err);

    if (st == SHOAL_OK)
        st = data_gen_corpus_write(cx->env, gen, v->format == UCI, run, sink, out_entries, err);
    if (st == SHOAL_OK && v->truth != NULL)
        st = cli_gen_truth(cx, v->truth, put_topics, gen, err);
    data_gen_corpus_free(gen);
    return st;
}

/* A binary corpus is no stream of text: it writes its own file. */
static int save_corpus(struct cli_context *cx, const struct corpus_values *v, uint64_t *out_tokens,
                       uint64_t *out_bytes)
{
    atomic_uint_fast64_t done = 0;
    struct data_gen_run run = {
        .threads = (uint32_t)v->threads, .stop = cli_interrupt_flag(), .done = &done};
    struct data_gen_corpus *gen = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = new_corpus(cx, v, &gen, &err);

    if (st == SHOAL_OK && v->truth != NULL)
        st = cli_gen_truth(cx, v->truth, put_topics, gen, &err);
    if (st == SHOAL_OK) {
        struct cli_progress *progress = cli_progress_start(cx, "documents", &done, v->documents);
        cli_interrupt_start();
        st = data_gen_corpus_save(cx->env, gen, &run, v->output, out_tokens, out_bytes, &err);
        cli_interrupt_stop();
        cli_progress_stop(progress);
    }
    data_gen_corpus_free(gen);
    return cli_gen_finish(cx, st, &err);
}

static int run_corpus(struct cli_context *cx, const void *values, const char *const *args,
                      size_t arg_count)
{
    const struct corpus_values *v = values;
    struct cli_gen_task task = {
        write_corpus, v, v->output, "documents", v->documents * (v->format == UCI ? 2 : 1),
        v->threads};
    uint64_t tokens = 0, bytes = 0;
    char documents[64], token_text[64];
    shoal_err err = SHOAL_ERR_INIT;

    (void)args, (void)arg_count;
    shoal_status st = check_truth(cx, v->truth, v->output, &err);
    if (st == SHOAL_OK && v->format == BINARY && !to_file(v->output))
        st = base_err(&err, SHOAL_E_INVAL, "a binary corpus needs a file: -o FILE");
    if (st != SHOAL_OK)
        return cli_fail(cx, st, &err);
    int rc = v->format == BINARY ? save_corpus(cx, v, &tokens, &bytes)
                                 : cli_gen_make(cx, &task, &tokens, &bytes);
    if (rc == 0 && bytes > 0) {
        base_log(&cx->log, BASE_LOG_INFO, "%s with %s, %.1f MB: %s",
                 cli_gen_count(v->documents, "document", documents, sizeof documents),
                 cli_gen_count(tokens, "token", token_text, sizeof token_text),
                 (double)bytes * 1e-6, v->output);
        base_log(&cx->log, BASE_LOG_INFO, "next: shoal train lda %s --set topics=%llu", v->output,
                 v->topics < 2 ? 2ULL : (unsigned long long)v->topics);
    }
    return rc;
}

static const struct base_opt corpus_rows[] = {
    {.name = "documents",
     .letter = 'n',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "1000",
     .help = "documents to make",
     .min = 1,
     .max = 1099511627776,
     .offset = offsetof(struct corpus_values, documents)},
    {.name = "words",
     .letter = 'w',
     .type = BASE_OPT_U64,
     .meta = "W",
     .fallback = "5000",
     .help = "words of the vocabulary",
     .min = 1,
     .max = DATA_CORPUS_WORDS_MAX,
     .offset = offsetof(struct corpus_values, words)},
    {.name = "topics",
     .letter = 'k',
     .type = BASE_OPT_U64,
     .meta = "K",
     .fallback = "20",
     .help = "topics that are planted",
     .min = 1,
     .max = DATA_GEN_TOPICS_MAX,
     .offset = offsetof(struct corpus_values, topics)},
    {.name = "mixed",
     .letter = 'm',
     .type = BASE_OPT_U64,
     .meta = "M",
     .fallback = "3",
     .help = "topics of a document on average; it has 1 to 2M-1",
     .min = 1,
     .max = DATA_GEN_MIXED_MAX,
     .offset = offsetof(struct corpus_values, mixed)},
    {.name = "length",
     .letter = 'l',
     .type = BASE_OPT_F64,
     .meta = "L",
     .fallback = "100",
     .help = "tokens of a document on average",
     .min = 1,
     .max = 1e7,
     .offset = offsetof(struct corpus_values, length)},
    {.name = "spread",
     .type = BASE_OPT_F64,
     .meta = "X",
     .fallback = "0.6",
     .help = "of lengths: standard deviation of their logarithm",
     .max = 2,
     .offset = offsetof(struct corpus_values, spread)},
    {.name = "background",
     .type = BASE_OPT_F64,
     .meta = "X",
     .fallback = "0.2",
     .help = "share of tokens from words that are everywhere",
     .max = 1,
     .offset = offsetof(struct corpus_values, background)},
    {.name = "format",
     .letter = 'f',
     .type = BASE_OPT_CHOICE,
     .meta = "FORMAT",
     .fallback = "uci",
     .help = "format to write",
     .choices = format_names,
     .offset = offsetof(struct corpus_values, format)},
    {.name = "truth",
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .help = "write the planted topics there: their 100 most frequent words",
     .complete = "file",
     .offset = offsetof(struct corpus_values, truth)},
    {.name = "seed",
     .letter = 's',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "1",
     .help = "same seed, same bytes",
     .offset = offsetof(struct corpus_values, seed)},
    {.name = "threads",
     .letter = 't',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "0",
     .help = "threads to use; 0: one per core",
     .max = 1024,
     .offset = offsetof(struct corpus_values, threads)},
    {.name = "output",
     .letter = 'o',
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .fallback = "-",
     .help = "where to write",
     .complete = "file",
     .offset = offsetof(struct corpus_values, output)},
};

const struct cli_command cli_cmd_gen_corpus = {
    .name = "gen corpus",
    .usage = "[options]",
    .summary = "Make up documents with planted topics.",
    .description =
        "Each document draws a length, a few topics and their weights; each token comes from one "
        "of them, or from words that are everywhere. A topic draws its words by a power law among "
        "a twentieth of the vocabulary. Formats: UCI bag of words, text with a document a line, or "
        "Shoal's binary corpus.\n\n"
        "The same options and seed give the same bytes on every machine, whatever the number of "
        "threads. Documents go out as they are made: memory does not grow with them.",
    .example = "gen corpus --documents 10000 --topics 50 -o docword.made.txt",
    .opts = corpus_rows,
    .opt_count = BASE_COUNT(corpus_rows),
    .values_size = sizeof(struct corpus_values),
    .run = run_corpus,
};

/* ---- gen regression ---- */

struct regression_values {
    uint64_t rows, columns, nonzeros, block, seed, threads;
    const char *truly;
    double density, correlation, noise;
    bool dense;
    const char *truth, *output;
};

/* --true, of which 0 is a number like others. */
static shoal_status parse_true(const struct regression_values *v, uint64_t *out, shoal_err *err)
{
    *out = cli_gen_usual(0, 20, v->columns);
    if (v->truly == NULL)
        return SHOAL_OK;
    if (!base_parse_u64(v->truly, strlen(v->truly), out) || *out > DATA_SVM_INDEX_MAX)
        return base_err(err, SHOAL_E_INVAL, "bad value for 'true': expected 0 to %u, found '%.40s'",
                        DATA_SVM_INDEX_MAX, v->truly);
    return SHOAL_OK;
}

static shoal_status put_coefficients(const void *gen, const struct data_sink *sink, shoal_err *err)
{
    return data_gen_regression_truth(gen, sink, err);
}

static shoal_status write_regression(struct cli_context *cx, const void *values,
                                     const struct data_gen_run *run, const struct data_sink *sink,
                                     uint64_t *out_entries, shoal_err *err)
{
    const struct regression_values *v = values;
    struct data_gen_regression_opts opts = {
        .rows = v->rows,
        .columns = (uint32_t)v->columns,
        .density = v->dense         ? 1
                   : v->density > 0 ? v->density
                                    : 0.05,
        .correlation = v->correlation,
        .block = (uint32_t)v->block,
        .noise = v->noise,
        .seed = v->seed,
    };
    struct data_gen_regression *gen = NULL;
    uint64_t truly = 0;
    shoal_status st = parse_true(v, &truly, err);

    opts.truly = (uint32_t)truly;
    if (v->nonzeros > 0)
        opts.density = (double)v->nonzeros / (double)v->rows;
    if (st == SHOAL_OK)
        st = data_gen_regression_new(env_alloc(cx->env), &opts, &gen, err);
    if (st == SHOAL_OK)
        st = data_gen_regression_write(cx->env, gen, run, sink, out_entries, err);
    if (st == SHOAL_OK && v->truth != NULL)
        st = cli_gen_truth(cx, v->truth, put_coefficients, gen, err);
    data_gen_regression_free(gen);
    return st;
}

static int run_regression(struct cli_context *cx, const void *values, const char *const *args,
                          size_t arg_count)
{
    const struct regression_values *v = values;
    struct cli_gen_task task = {write_regression, v, v->output, "rows", v->rows, v->threads};
    uint64_t entries = 0, bytes = 0;
    char rows[64], entry_text[64];
    shoal_err err = SHOAL_ERR_INIT;

    (void)args, (void)arg_count;
    if (v->dense && (v->nonzeros > 0 || v->density > 0))
        return cli_usage(cx, "--dense and --%s contradict each other",
                         v->nonzeros > 0 ? "nonzeros" : "density");
    if (v->nonzeros > 0 && v->density > 0)
        return cli_usage(cx, "--nonzeros and --density contradict each other");
    if (v->nonzeros > v->rows)
        return cli_usage(cx, "a column has at most as many values as there are rows");
    shoal_status st = check_truth(cx, v->truth, v->output, &err);
    if (st != SHOAL_OK)
        return cli_fail(cx, st, &err);
    int rc = cli_gen_make(cx, &task, &entries, &bytes);
    if (rc == 0 && bytes > 0) {
        base_log(&cx->log, BASE_LOG_INFO, "%s with %s, %.1f MB: %s",
                 cli_gen_count(v->rows, "row", rows, sizeof rows),
                 cli_gen_count(entries, "value", entry_text, sizeof entry_text),
                 (double)bytes * 1e-6, v->output);
        base_log(&cx->log, BASE_LOG_INFO, "next: shoal train lasso %s", v->output);
    }
    return rc;
}

static const struct base_opt regression_rows[] = {
    {.name = "rows",
     .letter = 'n',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "1000",
     .help = "rows to make",
     .min = 1,
     .max = 281474976710656,
     .offset = offsetof(struct regression_values, rows)},
    {.name = "columns",
     .letter = 'd',
     .type = BASE_OPT_U64,
     .meta = "D",
     .fallback = "1000",
     .help = "columns (features)",
     .min = 1,
     .max = DATA_SVM_INDEX_MAX,
     .offset = offsetof(struct regression_values, columns)},
    {.name = "density",
     .type = BASE_OPT_F64,
     .meta = "X",
     .help = "share of values that are not 0 [0.05]",
     .min = 1e-9,
     .max = 1,
     .offset = offsetof(struct regression_values, density)},
    {.name = "nonzeros",
     .letter = 'k',
     .type = BASE_OPT_U64,
     .meta = "K",
     .fallback = "0",
     .help = "in place of a density: values in a column on average",
     .max = 281474976710656,
     .offset = offsetof(struct regression_values, nonzeros)},
    {.name = "dense",
     .type = BASE_OPT_FLAG,
     .help = "every value is there",
     .offset = offsetof(struct regression_values, dense)},
    {.name = "correlation",
     .letter = 'c',
     .type = BASE_OPT_F64,
     .meta = "X",
     .fallback = "0.5",
     .help = "of neighbouring columns; farther ones have its powers",
     .max = 0.999,
     .offset = offsetof(struct regression_values, correlation)},
    {.name = "block",
     .type = BASE_OPT_U64,
     .meta = "B",
     .fallback = "0",
     .help = "columns that are correlated before a fresh start; 0: all",
     .max = DATA_SVM_INDEX_MAX,
     .offset = offsetof(struct regression_values, block)},
    {.name = "true",
     .type = BASE_OPT_STR,
     .meta = "T",
     .help = "columns that have a coefficient [20, or the columns there are]",
     .offset = offsetof(struct regression_values, truly)},
    {.name = "noise",
     .type = BASE_OPT_F64,
     .meta = "X",
     .fallback = "0.5",
     .help = "its standard deviation; what the columns explain has about 1",
     .max = 1e6,
     .offset = offsetof(struct regression_values, noise)},
    {.name = "truth",
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .help = "write the planted coefficients there",
     .complete = "file",
     .offset = offsetof(struct regression_values, truth)},
    {.name = "seed",
     .letter = 's',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "1",
     .help = "same seed, same bytes",
     .offset = offsetof(struct regression_values, seed)},
    {.name = "threads",
     .letter = 't',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "0",
     .help = "threads to use; 0: one per core",
     .max = 1024,
     .offset = offsetof(struct regression_values, threads)},
    {.name = "output",
     .letter = 'o',
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .fallback = "-",
     .help = "where to write",
     .complete = "file",
     .offset = offsetof(struct regression_values, output)},
};

const struct cli_command cli_cmd_gen_regression = {
    .name = "gen regression",
    .usage = "[options]",
    .summary = "Make up rows with correlated columns and labels that few explain.",
    .description =
        "Neighbouring columns are correlated, as vectors with their zeros; the label is a sum over "
        "a few columns, spread over all, plus noise. The output is LIBSVM text with numbers as "
        "labels.\n\n"
        "The same options and seed give the same bytes on every machine, whatever the number of "
        "threads. Rows go out as they are made: memory grows with the columns only.",
    .example = "gen regression --rows 20000 --columns 100000 --nonzeros 40 -o r.svm",
    .opts = regression_rows,
    .opt_count = BASE_COUNT(regression_rows),
    .values_size = sizeof(struct regression_values),
    .run = run_regression,
};
