/* cmd_corpus.c - `shoal corpus build`: documents as a binary corpus.
 *
 * It reads block by block: memory grows with the vocabulary, not with the documents. The file takes
 * its name when it is whole; Ctrl-C leaves nothing. Tests: tests/cli/transcripts/corpus.txt. */
#include "base/assert.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/text.h"
#include "cli/corpus_totals.h"
#include "cli/gen_make.h"
#include "cli/interrupt.h"
#include "cli/memory.h"
#include "cli/output.h"
#include "cli/progress.h"
#include <stddef.h>
#include <string.h>

enum { TEXT_MAX = 1 << 20, PATH_SIZE = 4096 };

struct build_values {
    const char *stop_words, *vocab;
    uint64_t min_count, min_length, threads;
    double max_share;
    uint32_t format;
};

struct build {
    struct cli_corpus_totals totals;
    uint32_t words;
    enum data_corpus_format resembles;
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
        cli_corpus_add(&b->totals, &corpus);
        b->words = corpus.x.words;
        b->resembles = corpus.resembles;
        st = data_corpus_commit(writer, corpus.x.words, &corpus.names, err);
    } else {
        data_corpus_discard(writer);
    }
    data_corpus_fini(&corpus);
    return st;
}

static shoal_status copy_blocks(const struct cli_context *cx, struct data_corpus_reader *reader,
                                struct data_corpus_writer *writer, struct cli_corpus_totals *totals,
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
            cli_corpus_add(totals, &part);
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
        st = data_corpus_check(reader, b->totals.documents, b->words, b->totals.left_out, err);
    if (st == SHOAL_OK)
        st = data_corpus_commit(writer, b->words, &names, err);
    else
        data_corpus_discard(writer);
    if (st == SHOAL_OK)
        b->resembles = data_corpus_resembles(reader);
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
    const struct cli_corpus_totals *t = &b->totals;
    uint64_t bytes = cli_corpus_size(path);
    char documents[64], words[64], tokens[64];

    if (cx->json) {
        struct base_buf out;
        base_buf_init(&out, env_alloc(cx->env), TEXT_MAX);
        base_buf_puts(&out, "{\"v\":1,");
        cli_corpus_put(&out, t, b->words);
        base_buf_printf(&out, ",\"bytes\":%llu,\"path\":", (unsigned long long)bytes);
        base_buf_json_string(&out, path);
        base_buf_puts(&out, "}\n");
        int rc = cli_print(cx, &out);
        base_buf_fini(&out);
        return rc;
    }
    cli_corpus_tell_doubt(cx, b->resembles);
    tell_note(cx, t->empty, "document", "without words, kept as empty");
    tell_note(cx, t->left_out, "token", "of words that are left out");
    tell_note(cx, t->sorted, "document", "whose words were not in order, sorted");
    tell_note(cx, t->repeated, "pair",
              "of a document and a word that was there already: counts added");
    base_log(&cx->log, BASE_LOG_INFO, "%s of %s with %s, %.1f MB: %s",
             cli_gen_count(t->documents, "document", documents, sizeof documents),
             cli_gen_count(b->words, "word", words, sizeof words),
             cli_gen_count(t->tokens, "token", tokens, sizeof tokens), (double)bytes * 1e-6, path);
    base_log(&cx->log, BASE_LOG_INFO, "next: shoal train lda %s", path);
    return 0;
}

static int run_build(struct cli_context *cx, const void *values, const char *const *args,
                     size_t arg_count)
{
    const struct build_values *v = values;
    const char *in = args[0], *out = args[1];
    char beside[PATH_SIZE];
    const char *const inputs[] = {in, v->vocab, v->stop_words, beside};
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
    data_corpus_vocab_beside(in, beside, sizeof beside);
    shoal_status st = cli_output_check(cx, out, inputs, BASE_COUNT(inputs), &err);
    if (st == SHOAL_OK)
        st = cli_memory_start(cx, NULL, in, 0, &err);
    if (st != SHOAL_OK)
        return cli_fail(cx, st, &err);
    uint64_t size = cli_corpus_size(in);
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
     .help = "words to leave out: 'english', 'none' or a file of them; english for text",
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
