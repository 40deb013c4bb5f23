/* cmd_corpus_info.c - `shoal corpus info`: what is in a corpus.
 *
 * It reads block by block: memory grows with the vocabulary, not with the documents. Tests:
 * tests/cli/transcripts/corpus.txt. */
#include "base/assert.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/text.h"
#include "cli/columns.h"
#include "cli/corpus_totals.h"
#include "cli/gen_make.h"
#include "cli/interrupt.h"
#include "cli/memory.h"
#include "cli/progress.h"
#include <stddef.h>
#include <string.h>

enum { TEXT_MAX = 1 << 24, TOP_MAX = 10000, LENGTH_BINS = 1 << 20, QUANTILES = 7 };

struct info_values {
    uint64_t top, threads;
    const char *vocab;
    uint32_t format;
};

static const double quantile_at[QUANTILES] = {0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1};
static const char *const quantile_names[QUANTILES] = {"p10", "p25", "p50", "p75",
                                                      "p90", "p99", "max"};

struct info {
    struct cli_corpus_totals totals;
    struct data_tally tally;
    struct data_ids names;
    uint32_t words;
    enum data_corpus_format format, resembles;
    uint64_t *bin; /* (LENGTH_BINS) documents by length; the last has all longer ones */
    uint64_t longest;
    uint64_t length[QUANTILES];
    uint32_t *top; /* (top_count) words by tokens, then by number */
    uint32_t top_count;
};

static void count_lengths(struct info *info, const struct num_corpus *x)
{
    for (uint64_t d = 0; d < x->documents; d++) {
        uint64_t length = 0;
        for (uint64_t i = x->start[d]; i < x->start[d + 1]; i++)
            length += x->count[i];
        info->bin[length < LENGTH_BINS ? length : LENGTH_BINS - 1]++;
        info->longest = length > info->longest ? length : info->longest;
    }
}

static void find_quantiles(struct info *info)
{
    uint64_t seen = 0, length = 0;

    for (size_t q = 0; q < QUANTILES; q++) {
        double want = quantile_at[q] * (double)info->totals.documents;
        while (length + 1 < LENGTH_BINS && (double)(seen + info->bin[length]) < want)
            seen += info->bin[length++];
        info->length[q] = length + 1 < LENGTH_BINS ? length : info->longest;
    }
    info->length[QUANTILES - 1] = info->longest;
}

/* The `count` most frequent words, by insertion: few are wanted. */
static void find_top(struct info *info, uint32_t count)
{
    const uint64_t *tokens = info->tally.tokens;

    for (uint32_t w = 0; w < info->tally.words; w++) {
        uint32_t at = info->top_count;
        if (tokens[w] == 0 || (at == count && tokens[w] <= tokens[info->top[at - 1]]))
            continue;
        at -= at == count;
        for (; at > 0 && tokens[info->top[at - 1]] < tokens[w]; at--)
            info->top[at] = info->top[at - 1];
        info->top[at] = w;
        info->top_count += info->top_count < count;
    }
}

static shoal_status read_blocks(const struct cli_context *cx, struct data_corpus_reader *reader,
                                struct info *info, shoal_err *err)
{
    struct data_corpus part;
    shoal_status st = SHOAL_OK;

    data_corpus_init(&part, env_alloc(cx->env));
    while (st == SHOAL_OK) {
        data_corpus_clear(&part);
        st = data_corpus_next(reader, &part, err);
        if (st == SHOAL_OK && data_tally_add(&info->tally, &part.x) != SHOAL_OK)
            st = base_err_nomem(err, "counting words");
        if (st == SHOAL_OK) {
            cli_corpus_add(&info->totals, &part);
            count_lengths(info, &part.x);
        }
    }
    data_corpus_fini(&part);
    return st == SHOAL_END ? SHOAL_OK : st;
}

static shoal_status survey(struct cli_context *cx, const char *path,
                           const struct data_corpus_opts *opts, uint32_t top, struct info *info,
                           shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(cx->env);
    struct data_corpus_reader *reader = NULL;

    data_tally_init(&info->tally, alloc);
    info->bin = base_calloc(alloc, LENGTH_BINS, sizeof *info->bin);
    info->top = base_malloc(alloc, ((size_t)top + 1) * sizeof *info->top);
    if (info->bin == NULL || info->top == NULL)
        return base_err_nomem(err, "counting words");
    shoal_status st = data_corpus_open(cx->env, path, opts, &reader, err);
    if (st == SHOAL_OK)
        st = read_blocks(cx, reader, info, err);
    if (st == SHOAL_OK)
        st = data_corpus_names(reader, &info->words, &info->names, err);
    if (st == SHOAL_OK)
        st = data_corpus_check(reader, info->totals.documents, info->words, info->totals.left_out,
                               err);
    if (st == SHOAL_OK) {
        info->format = data_corpus_format_of(reader);
        info->resembles = data_corpus_resembles(reader);
        find_quantiles(info);
        if (top > 0)
            find_top(info, top);
    }
    data_corpus_close(reader);
    return st;
}

static const char *word_text(const struct info *info, uint32_t word,
                             char text[DATA_ID_SIZE_MAX + 1])
{
    char buf[DATA_ID_BUF];
    size_t size = 0;
    const char *name = data_corpus_name(&info->names, word, buf, &size);

    memcpy(text, name, size);
    text[size] = '\0';
    return text;
}

static int print_json(const struct cli_context *cx, const struct info *info)
{
    char text[DATA_ID_SIZE_MAX + 1];
    struct base_buf out;

    base_buf_init(&out, env_alloc(cx->env), TEXT_MAX);
    base_buf_printf(&out, "{\"v\":1,\"format\":\"%s\",", data_corpus_format_names[info->format]);
    cli_corpus_put(&out, &info->totals, info->words);
    base_buf_printf(&out, ",\"names\":%s,\"length\":{", info->names.count > 0 ? "true" : "false");
    for (size_t q = 0; q < QUANTILES; q++)
        base_buf_printf(&out, "%s\"%s\":%llu", q > 0 ? "," : "", quantile_names[q],
                        (unsigned long long)info->length[q]);
    base_buf_puts(&out, "},\"top\":[");
    for (uint32_t i = 0; i < info->top_count; i++) {
        uint32_t w = info->top[i];
        base_buf_printf(&out, "%s{\"word\":", i > 0 ? "," : "");
        base_buf_json_string(&out, word_text(info, w, text));
        base_buf_printf(&out, ",\"tokens\":%llu,\"documents\":%llu}",
                        (unsigned long long)info->tally.tokens[w],
                        (unsigned long long)info->tally.documents[w]);
    }
    base_buf_puts(&out, "]}\n");
    int rc = cli_print(cx, &out);
    base_buf_fini(&out);
    return rc;
}

static int print_lengths(const struct cli_context *cx, const struct info *info)
{
    struct cli_columns table;
    char text[32];

    cli_columns_init(&table, cx, "lrrrrrrr");
    cli_columns_cell(&table, CLI_DIM, "%s", "");
    for (size_t q = 0; q < QUANTILES; q++)
        cli_columns_cell(&table, CLI_DIM, "%s", quantile_names[q]);
    cli_columns_cell(&table, CLI_PLAIN, "tokens");
    for (size_t q = 0; q < QUANTILES; q++)
        cli_columns_cell(&table, CLI_PLAIN, "%s",
                         base_format_count(info->length[q], text, sizeof text));
    int rc = cli_columns_print(&table);
    cli_columns_fini(&table);
    return rc;
}

static int print_top(const struct cli_context *cx, const struct info *info)
{
    char text[DATA_ID_SIZE_MAX + 1], number[32];
    struct cli_columns table;

    cli_columns_init(&table, cx, "xrr");
    cli_columns_cell(&table, CLI_DIM, "word");
    cli_columns_cell(&table, CLI_DIM, "tokens");
    cli_columns_cell(&table, CLI_DIM, "documents");
    for (uint32_t i = 0; i < info->top_count; i++) {
        uint32_t w = info->top[i];
        cli_columns_cell(&table, CLI_PLAIN, "%s", word_text(info, w, text));
        cli_columns_cell(&table, CLI_PLAIN, "%s",
                         base_format_count(info->tally.tokens[w], number, sizeof number));
        cli_columns_cell(&table, CLI_PLAIN, "%.1f %%",
                         100 * (double)info->tally.documents[w] / (double)info->totals.documents);
    }
    int rc = cli_columns_print(&table);
    cli_columns_fini(&table);
    return rc;
}

static void print_fact(const struct cli_context *cx, const char *name, uint64_t count,
                       const char *what)
{
    char text[32];

    if (count > 0)
        fprintf(cx->out, "%-10s%s %s\n", name, base_format_count(count, text, sizeof text), what);
}

static int print_info(const struct cli_context *cx, const struct info *info)
{
    const struct cli_corpus_totals *t = &info->totals;
    char documents[64], tokens[64];

    fprintf(cx->out, "%s with %s, format %s\n",
            cli_gen_count(t->documents, "document", documents, sizeof documents),
            cli_gen_count(t->tokens, "token", tokens, sizeof tokens),
            data_corpus_format_names[info->format]);
    print_fact(cx, "words", info->words, info->names.count > 0 ? "with names" : "without names");
    print_fact(cx, "entries", t->entries, "different words of documents");
    print_fact(cx, "empty", t->empty, t->empty == 1 ? "document" : "documents");
    print_fact(cx, "left out", t->left_out, "tokens of words that are left out");
    print_fact(cx, "sorted", t->sorted, "documents whose words were not in order");
    print_fact(cx, "repeated", t->repeated, "entries whose counts were added");
    cli_corpus_tell_doubt(cx, info->resembles);
    putc('\n', cx->out);
    int rc = print_lengths(cx, info);
    if (rc == 0 && info->top_count > 0) {
        putc('\n', cx->out);
        rc = print_top(cx, info);
    }
    return rc;
}

static int run_info(struct cli_context *cx, const void *values, const char *const *args,
                    size_t arg_count)
{
    const struct info_values *v = values;
    const struct base_alloc *alloc = env_alloc(cx->env);
    atomic_uint_fast64_t done = 0;
    struct data_corpus_opts opts = {
        .format = (enum data_corpus_format)v->format,
        .vocab = v->vocab,
        .threads = (uint32_t)v->threads,
        .stop = cli_interrupt_flag(),
        .bytes_done = &done,
    };
    struct info info = {0};
    shoal_err err = SHOAL_ERR_INIT;

    (void)arg_count;
    struct cli_progress *progress =
        cli_progress_start(cx, "bytes", &done, cli_corpus_size(args[0]));
    cli_interrupt_start();
    shoal_status st = cli_memory_start(cx, NULL, args[0], 0, &err);
    if (st == SHOAL_OK)
        st = survey(cx, args[0], &opts, (uint32_t)v->top, &info, &err);
    cli_interrupt_stop();
    cli_progress_stop(progress);
    int rc;
    if (st != SHOAL_OK)
        rc = cli_gen_finish(cx, st, &err);
    else
        rc = cx->json ? print_json(cx, &info) : print_info(cx, &info);
    data_tally_fini(&info.tally);
    data_ids_fini(&info.names);
    base_free(alloc, info.bin);
    base_free(alloc, info.top);
    return rc;
}

static const struct base_opt info_rows[] = {
    {.name = "top",
     .letter = 'n',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "10",
     .help = "show so many of the most frequent words",
     .max = TOP_MAX,
     .offset = offsetof(struct info_values, top)},
    {.name = "vocab",
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .help = "names of words, one a line; for text: the words to keep",
     .complete = "file",
     .offset = offsetof(struct info_values, vocab)},
    {.name = "format",
     .letter = 'f',
     .type = BASE_OPT_CHOICE,
     .meta = "FORMAT",
     .fallback = "auto",
     .help = "format of the file",
     .choices = data_corpus_format_names,
     .offset = offsetof(struct info_values, format)},
    {.name = "threads",
     .letter = 't',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "0",
     .help = "threads to use; 0: one per core",
     .max = 1024,
     .offset = offsetof(struct info_values, threads)},
};

const struct cli_command cli_cmd_corpus_info = {
    .name = "corpus info",
    .usage = "[options] FILE",
    .summary = "Describe a corpus: documents, words, lengths, most frequent words.",
    .description =
        "Reads what 'shoal corpus build' reads, text with the same words left out as by default. "
        "Memory grows with the vocabulary only.",
    .example = "corpus info news.corpus --top 20",
    .opts = info_rows,
    .opt_count = BASE_COUNT(info_rows),
    .values_size = sizeof(struct info_values),
    .arg_min = 1,
    .arg_max = 1,
    .arg_complete = "file",
    .json = true,
    .run = run_info,
};
