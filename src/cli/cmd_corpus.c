/* cmd_corpus.c - `shoal corpus build|info`: documents as a binary corpus, and what is in one.
 *
 * Both read block by block: memory grows with the vocabulary, not with the documents. The file of
 * `build` takes its name when it is whole; Ctrl-C leaves nothing. */
#include "base/assert.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/text.h"
#include "cli/columns.h"
#include "cli/gen_make.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "data/corpus.h"
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

enum { TEXT_MAX = 1 << 24, TOP_MAX = 10000, LENGTH_BINS = 1 << 20, QUANTILES = 7 };

/* ---- reading, for both ---- */

/* The size of a plain file, or 0; what else there is must not be opened twice. */
static uint64_t size_of(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
}

/* What came by, of all blocks. */
struct totals {
    uint64_t documents, entries, tokens, empty, sorted, repeated, left_out;
};

static void add_totals(struct totals *t, const struct data_corpus *part)
{
    t->documents += part->x.documents;
    t->entries += part->entries;
    t->tokens += part->tokens;
    t->empty += part->empty;
    t->sorted += part->sorted;
    t->repeated += part->repeated;
    t->left_out += part->left_out;
}

static shoal_status check_totals(const struct totals *t, uint32_t words, const char *path,
                                 shoal_err *err)
{
    if (t->documents == 0)
        return base_err(err, SHOAL_E_FORMAT, "cannot read corpus '%s': no documents in it", path);
    if (words == 0)
        return base_err(err, SHOAL_E_FORMAT, "cannot read corpus '%s': no words in it%s", path,
                        t->left_out > 0 ? ", all were left out" : "");
    return SHOAL_OK;
}

static void put_totals(struct base_buf *out, const struct totals *t, uint32_t words)
{
    base_buf_printf(out,
                    "\"documents\":%llu,\"words\":%u,\"tokens\":%llu,\"entries\":%llu,"
                    "\"empty\":%llu,\"sorted\":%llu,\"repeated\":%llu,\"left_out\":%llu",
                    (unsigned long long)t->documents, words, (unsigned long long)t->tokens,
                    (unsigned long long)t->entries, (unsigned long long)t->empty,
                    (unsigned long long)t->sorted, (unsigned long long)t->repeated,
                    (unsigned long long)t->left_out);
}

/* ---- corpus build ---- */

struct build_values {
    const char *stop_words, *vocab;
    uint64_t min_count, min_length, threads;
    double max_share;
    uint32_t format;
};

struct build {
    struct totals totals;
    uint32_t words;
};

static bool chooses(const struct data_corpus_opts *opts)
{
    return opts->min_count > 1 || (opts->max_share > 0 && opts->max_share < 1);
}

/* A pipe cannot be read twice: where words are chosen by their counts, memory holds it. */
static shoal_status build_loaded(struct cli_context *cx, const char *in, const char *out,
                                 const struct data_corpus_opts *opts, struct build *b,
                                 shoal_err *err)
{
    struct data_corpus corpus = {0};
    struct data_corpus_writer *writer = NULL;
    shoal_status st = data_corpus_load(cx->env, in, opts, &corpus, err);

    if (st == SHOAL_OK)
        st = data_corpus_create(cx->env, out, &writer, err);
    if (st == SHOAL_OK)
        st = data_corpus_append(writer, &corpus.x, err);
    if (st == SHOAL_OK) {
        add_totals(&b->totals, &corpus);
        b->words = corpus.x.words;
        st = data_corpus_commit(writer, corpus.x.words, &corpus.names, err);
    } else {
        data_corpus_discard(writer);
    }
    data_corpus_fini(&corpus);
    return st;
}

static shoal_status copy_blocks(const struct cli_context *cx, struct data_corpus_reader *reader,
                                struct data_corpus_writer *writer, struct totals *totals,
                                shoal_err *err)
{
    struct data_corpus part;
    shoal_status st = SHOAL_OK;

    data_corpus_init(&part, env_alloc(cx->env));
    while (st == SHOAL_OK) {
        data_corpus_clear(&part);
        st = data_corpus_next(reader, &part, err);
        if (st == SHOAL_OK)
            st = data_corpus_append(writer, &part.x, err);
        if (st == SHOAL_OK)
            add_totals(totals, &part);
    }
    data_corpus_fini(&part);
    return st == SHOAL_END ? SHOAL_OK : st;
}

static shoal_status build_blocks(struct cli_context *cx, const char *in, const char *out,
                                 const struct data_corpus_opts *opts, struct build *b,
                                 shoal_err *err)
{
    struct data_corpus_reader *reader = NULL;
    struct data_corpus_writer *writer = NULL;
    struct data_ids names = {0};
    shoal_status st = data_corpus_open(cx->env, in, opts, &reader, err);

    if (st == SHOAL_OK)
        st = data_corpus_create(cx->env, out, &writer, err);
    if (st == SHOAL_OK)
        st = copy_blocks(cx, reader, writer, &b->totals, err);
    if (st == SHOAL_OK)
        st = data_corpus_names(reader, &b->words, &names, err);
    if (st == SHOAL_OK)
        st = check_totals(&b->totals, b->words, in, err);
    if (st == SHOAL_OK)
        st = data_corpus_commit(writer, b->words, &names, err);
    else
        data_corpus_discard(writer);
    data_ids_fini(&names);
    data_corpus_close(reader);
    return st;
}

static void tell_note(const struct cli_context *cx, uint64_t count, const char *what,
                      const char *rule)
{
    char text[64];

    if (count > 0)
        base_log(&cx->log, BASE_LOG_INFO, "%s %s", cli_gen_count(count, what, text, sizeof text),
                 rule);
}

static int tell_build(const struct cli_context *cx, const struct build *b, const char *path)
{
    const struct totals *t = &b->totals;
    uint64_t bytes = size_of(path);
    char documents[64], words[64], tokens[64];

    if (cx->json) {
        struct base_buf out;
        base_buf_init(&out, env_alloc(cx->env), TEXT_MAX);
        base_buf_puts(&out, "{\"v\":1,");
        put_totals(&out, t, b->words);
        base_buf_printf(&out, ",\"bytes\":%llu,\"path\":", (unsigned long long)bytes);
        base_buf_json_string(&out, path);
        base_buf_puts(&out, "}\n");
        int rc = cli_print(cx, &out);
        base_buf_fini(&out);
        return rc;
    }
    tell_note(cx, t->empty, "document", "without words, kept as empty");
    tell_note(cx, t->left_out, "token", "of words that are left out");
    tell_note(cx, t->sorted, "document", "whose words were not in order, sorted");
    tell_note(cx, t->repeated, "pair",
              "of a document and a word that was there already: counts added");
    base_log(&cx->log, BASE_LOG_INFO, "%s of %s with %s, %.1f MB: %s",
             cli_gen_count(t->documents, "document", documents, sizeof documents),
             cli_gen_count(b->words, "word", words, sizeof words),
             cli_gen_count(t->tokens, "token", tokens, sizeof tokens), (double)bytes * 1e-6, path);
    base_log(&cx->log, BASE_LOG_INFO, "next: shoal corpus info %s", path);
    return 0;
}

static int run_build(struct cli_context *cx, const void *values, const char *const *args,
                     size_t arg_count)
{
    const struct build_values *v = values;
    const char *in = args[0], *out = args[1];
    const char *const inputs[] = {in, v->vocab, v->stop_words};
    atomic_uint_fast64_t done = 0;
    struct data_corpus_opts opts = {
        .format = (enum data_corpus_format)v->format,
        .vocab = v->vocab,
        .stop_words = v->stop_words,
        .min_count = v->min_count,
        .max_share = v->max_share,
        .min_length = (uint32_t)v->min_length,
        .threads = (uint32_t)v->threads,
        .stop = cli_interrupt_flag(),
        .bytes_done = &done,
    };
    struct build b = {0};
    shoal_err err = SHOAL_ERR_INIT;

    (void)arg_count;
    if (strcmp(out, "-") == 0)
        return cli_usage(cx, "a binary corpus needs a file to be written to");
    shoal_status st = cli_output_check(cx, out, inputs, BASE_COUNT(inputs), &err);
    if (st != SHOAL_OK)
        return cli_fail(cx, st, &err);
    uint64_t size = size_of(in);
    struct cli_progress *progress =
        cli_progress_start(cx, "bytes", &done, size * (chooses(&opts) ? 2 : 1));
    cli_interrupt_start();
    st = size == 0 && chooses(&opts) ? build_loaded(cx, in, out, &opts, &b, &err)
                                     : build_blocks(cx, in, out, &opts, &b, &err);
    cli_interrupt_stop();
    cli_progress_stop(progress);
    return st == SHOAL_OK ? tell_build(cx, &b, out) : cli_gen_finish(cx, st, &err);
}

static const struct base_opt build_rows[] = {
    {.name = "stop-words",
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .help = "leave out its words, or 'english', or 'none'; english for text",
     .complete = "file",
     .offset = offsetof(struct build_values, stop_words)},
    {.name = "min-count",
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "1",
     .help = "leave out words that occur less often in all",
     .min = 1,
     .max = 1e15,
     .offset = offsetof(struct build_values, min_count)},
    {.name = "max-share",
     .type = BASE_OPT_F64,
     .meta = "X",
     .fallback = "1",
     .help = "leave out words in more than this share of documents",
     .min = 1e-9,
     .max = 1,
     .offset = offsetof(struct build_values, max_share)},
    {.name = "min-length",
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "2",
     .help = "text: leave out words of fewer characters",
     .min = 1,
     .max = 255,
     .offset = offsetof(struct build_values, min_length)},
    {.name = "vocab",
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .help = "names of words, one a line; for text: the words to keep",
     .complete = "file",
     .offset = offsetof(struct build_values, vocab)},
    {.name = "format",
     .letter = 'f',
     .type = BASE_OPT_CHOICE,
     .meta = "FORMAT",
     .fallback = "auto",
     .help = "format of IN",
     .choices = data_corpus_format_names,
     .offset = offsetof(struct build_values, format)},
    {.name = "threads",
     .letter = 't',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "0",
     .help = "threads to use; 0: one per core",
     .max = 1024,
     .offset = offsetof(struct build_values, threads)},
};

const struct cli_command cli_cmd_corpus_build = {
    .name = "corpus build",
    .usage = "[options] IN OUT",
    .summary = "Make a binary corpus of text or bags of words.",
    .description =
        "Reads UCI bag of words (docword.X.txt; names from vocab.X.txt beside it), LDA-C, plain "
        "text with a document a line, or a binary corpus; the format is recognised by content. "
        "'-' is standard input.\n\n"
        "Text is cut into words of letters, digits and apostrophes in lower case. A document "
        "without words is kept as empty. The result is a fraction of the size, is read several "
        "times as fast and in ranges of documents, and every byte of it is under a checksum.\n\n"
        "The file takes its name when it is whole. With --min-count or --max-share a file is read "
        "twice; memory grows with the vocabulary only.",
    .example = "corpus build docword.news.txt news.corpus --min-count 5",
    .opts = build_rows,
    .opt_count = BASE_COUNT(build_rows),
    .values_size = sizeof(struct build_values),
    .arg_min = 2,
    .arg_max = 2,
    .arg_complete = "file",
    .json = true,
    .run = run_build,
};

/* ---- corpus info ---- */

struct info_values {
    uint64_t top, threads;
    const char *vocab;
    uint32_t format;
};

static const double quantile_at[QUANTILES] = {0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1};
static const char *const quantile_names[QUANTILES] = {"p10", "p25", "p50", "p75",
                                                      "p90", "p99", "max"};

struct info {
    struct totals totals;
    struct data_tally tally;
    struct data_ids names;
    uint32_t words;
    enum data_corpus_format format;
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
            add_totals(&info->totals, &part);
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
        st = check_totals(&info->totals, info->words, path, err);
    if (st == SHOAL_OK) {
        info->format = data_corpus_format_of(reader);
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
    put_totals(&out, &info->totals, info->words);
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
    const struct totals *t = &info->totals;
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
    struct cli_progress *progress = cli_progress_start(cx, "bytes", &done, size_of(args[0]));
    cli_interrupt_start();
    shoal_status st = survey(cx, args[0], &opts, (uint32_t)v->top, &info, &err);
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
