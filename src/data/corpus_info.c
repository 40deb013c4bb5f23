/* corpus_info.c - the public face of corpora (shoal/corpus.h): documents as a binary corpus, and what is in one.
 *
 * Both read block by block: memory grows with the vocabulary, not with the documents.
 * Tests: tests/cli/transcripts/corpus.txt. */
#include "shoal/corpus.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/text.h"
#include "base/watch.h"
#include "data/corpus.h"
#include "data/own.h"
#include "env/system.h"
#include "page/make.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TOP_MAX = 10000, LENGTH_BINS = 1 << 20, QUANTILES = 7, PATH_SIZE = 4096 };

/* ---- options ---- */

#define AT(member) offsetof(shoal_corpus_opts, member)

static const shoal_opt rows[] = {
    {AT(top), SHOAL_OPT_U64, "top", 'n', "N", "10", "show so many of the most frequent words",
     .max = TOP_MAX},
    {AT(vocab), SHOAL_OPT_STR, "vocab", 0, "FILE", NULL,
     "names of words, one a line; for text: the words to keep", .complete = "file"},
    {AT(format), SHOAL_OPT_CHOICE, "format", 'f', "FORMAT", "auto", "format of what is read",
     .choices = data_corpus_format_names},
    {AT(threads), SHOAL_OPT_U64, "threads", 't', "N", "0", "threads to use; 0: one per core",
     .max = 1024},
    {AT(stop_words), SHOAL_OPT_STR, "stop-words", 0, "FILE", NULL,
     "words to leave out: 'english', 'none' or a file of them; english for text",
     .complete = "file"},
    {AT(min_count), SHOAL_OPT_U64, "min-count", 0, "N", "1",
     "leave out words that occur less often in all", .min = 1, .max = 1e15},
    {AT(max_share), SHOAL_OPT_F64, "max-share", 0, "X", "1",
     "leave out words in more than this share of documents", .min = 1e-9, .max = 1},
    {AT(min_length), SHOAL_OPT_U64, "min-length", 0, "N", "2",
     "text: leave out words of fewer characters", .min = 1, .max = 255},
};
#undef AT
enum { INFO_ROWS = 4 }; /* the first; to build, all but the first are there */

const shoal_opt *shoal_corpus_build_opt_rows(size_t *out_count)
{
    *out_count = BASE_COUNT(rows) - 1;
    return &rows[1];
}

const shoal_opt *shoal_corpus_info_opt_rows(size_t *out_count)
{
    *out_count = INFO_ROWS;
    return rows;
}

void shoal_corpus_opts_init(shoal_corpus_opts *opts)
{
    *opts = (shoal_corpus_opts){.struct_size = sizeof *opts};
    base_opt_defaults(rows, BASE_COUNT(rows), opts);
}

/* ---- what is counted ---- */

static const double quantile_at[QUANTILES] = {0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1};
static const char *const quantile_names[QUANTILES] = {"p10", "p25", "p50", "p75",
                                                      "p90", "p99", "max"};

/* A word, and in how many documents it is. */
struct top {
    const char *word;
    uint64_t tokens, documents;
    double share;
};

struct lengths { /* a table of its own for people */
    const char *what;
    shoal_numbers quantiles;
};

struct record {
    uint32_t format, words;
    uint64_t documents, entries, tokens, empty, sorted, repeated, left_out;
    bool names;
    double bytes; /* of what was built; NAN: nothing was */
    const char *path;
    shoal_numbers length;
    shoal_records lengths, top;
};

struct call {
    shoal_env *env;
    const char *in;
    shoal_corpus_opts opts;
    shoal_watch *watch;
    struct record made;
    enum data_corpus_format resembles;
    bool surveys; /* info: what follows is counted, too */
    struct data_tally tally;
    struct data_ids names;
    uint64_t *bin; /* (LENGTH_BINS) documents by length; the last has all longer ones */
    uint64_t longest;
};

static shoal_status begin(struct call *call, shoal_env *env, const char *in,
                          const shoal_corpus_opts *given, shoal_watch *watch, shoal_err *err)
{
    *call = (struct call){.env = env, .in = in, .watch = watch};
    call->made.bytes = (double)NAN;
    data_tally_init(&call->tally, env_alloc(env));
    shoal_corpus_opts_init(&call->opts);
    if (given != NULL && given->struct_size >= sizeof given->struct_size)
        memcpy(&call->opts, given,
               given->struct_size < sizeof call->opts ? given->struct_size : sizeof call->opts);
    if (in == NULL)
        return base_err(err, SHOAL_E_INVAL, "a corpus needs the path of a file");
    return SHOAL_OK;
}

static void end(struct call *call)
{
    data_tally_fini(&call->tally);
    data_ids_fini(&call->names);
    base_free(env_alloc(call->env), call->bin);
}

static bool chooses(const shoal_corpus_opts *opts)
{
    return opts->min_count > 1 || (opts->max_share > 0 && opts->max_share < 1);
}

static double bytes_of(const char *path)
{
    double bytes = env_file_bytes(path);

    return bytes > 0 ? bytes : 0;
}

static shoal_status start_reading(struct call *call, struct data_corpus_opts *out, shoal_err *err)
{
    const shoal_corpus_opts *o = &call->opts;

    *out = (struct data_corpus_opts){
        .format = (enum data_corpus_format)o->format,
        .vocab = o->vocab,
        .stop_words = o->stop_words,
        .min_count = o->min_count,
        .max_share = o->max_share,
        .min_length = (uint32_t)o->min_length,
        .threads = (uint32_t)o->threads,
        .stop = base_watch_flag(call->watch),
        .bytes_done = base_watch_done(call->watch),
    };
    base_watch_begin(call->watch, "bytes", (uint64_t)bytes_of(call->in) * (chooses(o) ? 2 : 1));
    return env_memory_start(call->env, NULL, call->in, 0, err);
}

static void count_lengths(struct call *call, const struct num_corpus *x)
{
    for (uint64_t d = 0; d < x->documents; d++) {
        uint64_t length = 0;
        for (uint64_t i = x->start[d]; i < x->start[d + 1]; i++)
            length += x->count[i];
        call->bin[length < LENGTH_BINS ? length : LENGTH_BINS - 1]++;
        call->longest = length > call->longest ? length : call->longest;
    }
}

static shoal_status count_part(struct call *call, const struct data_corpus *part, shoal_err *err)
{
    struct record *made = &call->made;

    made->documents += part->x.documents;
    made->entries += part->entries;
    made->tokens += part->tokens;
    made->empty += part->empty;
    made->sorted += part->sorted;
    made->repeated += part->repeated;
    made->left_out += part->left_out;
    if (!call->surveys)
        return SHOAL_OK;
    count_lengths(call, &part->x);
    return data_tally_add(&call->tally, &part->x) == SHOAL_OK
               ? SHOAL_OK
               : base_err_nomem(err, "counting words");
}

/* All blocks, into `writer` where there is one. */
static shoal_status read_blocks(struct call *call, struct data_corpus_reader *reader,
                                struct data_corpus_writer *writer, shoal_err *err)
{
    struct data_corpus part;
    shoal_status st = SHOAL_OK;

    data_corpus_init(&part, env_alloc(call->env));
    while (st == SHOAL_OK) {
        data_corpus_clear(&part);
        st = data_corpus_next(reader, &part, err);
        if (st == SHOAL_OK && writer != NULL)
            st = data_corpus_append(writer, &part.x, err);
        if (st == SHOAL_OK)
            st = count_part(call, &part, err);
    }
    data_corpus_fini(&part);
    if (st != SHOAL_END)
        return st;
    st = data_corpus_names(reader, &call->made.words, &call->names, err);
    if (st == SHOAL_OK)
        st = data_corpus_check(reader, call->made.documents, call->made.words, call->made.left_out,
                               err);
    call->made.format = (uint32_t)data_corpus_format_of(reader);
    call->made.names = call->names.count > 0;
    call->resembles = data_corpus_resembles(reader);
    return st;
}

/* ---- building ---- */

static shoal_status build_blocks(struct call *call, const struct data_corpus_opts *opts,
                                 const char *out, shoal_err *err)
{
    struct data_corpus_reader *reader = NULL;
    struct data_corpus_writer *writer = NULL;
    shoal_status st = data_corpus_open(call->env, call->in, opts, &reader, err);

    if (st == SHOAL_OK)
        st = data_corpus_create(call->env, out, &writer, err);
    if (st == SHOAL_OK)
        st = read_blocks(call, reader, writer, err);
    if (st == SHOAL_OK)
        st = data_corpus_commit(writer, call->made.words, &call->names, err);
    else
        data_corpus_discard(writer);
    data_corpus_close(reader);
    return st;
}

/* A pipe cannot be read twice: where words are chosen by their counts, memory holds it. */
static shoal_status build_loaded(struct call *call, const struct data_corpus_opts *opts,
                                 const char *out, shoal_err *err)
{
    struct data_corpus corpus = {0};
    struct data_corpus_writer *writer = NULL;
    shoal_status st = data_corpus_load(call->env, call->in, opts, &corpus, err);

    if (st == SHOAL_OK)
        st = data_corpus_create(call->env, out, &writer, err);
    if (st == SHOAL_OK)
        st = data_corpus_append(writer, &corpus.x, err);
    if (st == SHOAL_OK)
        st = count_part(call, &corpus, err);
    call->made.format = UINT32_MAX; /* nobody says */
    call->made.words = corpus.x.words;
    call->made.names = corpus.names.count > 0;
    call->resembles = corpus.resembles;
    if (st == SHOAL_OK)
        st = data_corpus_commit(writer, corpus.x.words, &corpus.names, err);
    else
        data_corpus_discard(writer);
    data_corpus_fini(&corpus);
    return st;
}

/* Not over what is read. */
static shoal_status check_output(const struct call *call, const char *out, shoal_err *err)
{
    char beside[PATH_SIZE];
    const char *const inputs[] = {call->in, call->opts.vocab, call->opts.stop_words, beside};

    if (out == NULL || strcmp(out, "-") == 0)
        return base_err(err, SHOAL_E_INVAL, "a binary corpus needs a file to be written to");
    data_corpus_vocab_beside(call->in, beside, sizeof beside);
    for (size_t i = 0; i < BASE_COUNT(inputs); i++)
        if (inputs[i] != NULL && env_same(call->env, inputs[i], out))
            return base_err(err, SHOAL_E_INVAL, "cannot write '%s': it is also an input", out);
    return SHOAL_OK;
}

/* ---- results ---- */

#define AT(member) offsetof(struct record, member)
#define COUNT(member, text)                                                        \
    {                                                                              \
        AT(member), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, #member, .help = text \
    }

static const shoal_field length_fields[] = {
    {offsetof(struct lengths, what), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "", .flags = 0},
    {offsetof(struct lengths, quantiles), SHOAL_FIELD_MAP, SHOAL_UNIT_COUNT, 0, 1, .flags = 0},
};
static const shoal_schema length_schema = {NULL, NULL, "Lengths of documents", length_fields,
                                           BASE_COUNT(length_fields)};

static const shoal_field top_fields[] = {
    {offsetof(struct top, word), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "word", "word",
     .help = "the word, or its number", .flags = SHOAL_FIELD_CUT},
    {offsetof(struct top, tokens), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 1, "tokens", "tokens",
     .help = "how often it occurs"},
    {offsetof(struct top, documents), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "documents",
     .help = "documents it is in"},
    {offsetof(struct top, share), SHOAL_FIELD_F64, SHOAL_UNIT_PERCENT, 0, 1, NULL, "documents",
     .flags = 0},
};
static const shoal_schema top_schema = {"top", NULL, "A frequent word", top_fields,
                                        BASE_COUNT(top_fields)};

static const shoal_field fields[] = {
    {AT(format), SHOAL_FIELD_CHOICE, SHOAL_UNIT_NONE, 0, 0, "format",
     .help = "what was read was recognised as", .flags = SHOAL_FIELD_OPTIONAL,
     .choices = data_corpus_format_names},
    COUNT(documents, "documents"),
    {AT(words), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 0, "words", .help = "different words"},
    COUNT(tokens, "words of all documents"),
    COUNT(entries, "different words of documents"),
    COUNT(empty, "documents without words"),
    COUNT(sorted, "documents whose words were not in order"),
    COUNT(repeated, "entries whose counts were added"),
    COUNT(left_out, "tokens of words that are left out"),
    {AT(names), SHOAL_FIELD_BOOL, SHOAL_UNIT_NONE, 0, 0, "names",
     .help = "whether words have names"},
    {AT(bytes), SHOAL_FIELD_F64, SHOAL_UNIT_BYTES, 0, 0, "bytes", .help = "size of what was built",
     .flags = SHOAL_FIELD_OPTIONAL},
    {AT(path), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "path", .help = "where it was written",
     .flags = SHOAL_FIELD_OPTIONAL},
    {AT(length), SHOAL_FIELD_MAP, SHOAL_UNIT_COUNT, 0, 0, "length",
     .help = "tokens of a document that this share of documents has at most",
     .flags = SHOAL_FIELD_OPTIONAL},
    {AT(lengths), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, NULL, .of = &length_schema},
    {AT(top), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, "top", .help = "the most frequent words",
     .flags = SHOAL_FIELD_OPTIONAL, .of = &top_schema},
};
#undef AT

static const shoal_schema schema = {"corpus", NULL, "What is in a corpus", fields,
                                    BASE_COUNT(fields)};

const shoal_schema *shoal_corpus_info_schema(void)
{
    return &schema;
}

static struct page_made *make_result(const struct call *call)
{
    struct page_made *made = page_made_new(env_alloc(call->env));
    struct record *record = page_made_alloc(made, 1, sizeof *record);

    if (record == NULL)
        return made;
    *record = call->made;
    if (record->path != NULL)
        record->path = page_made_text(made, "%s", record->path);
    made->result.schema = &schema;
    made->result.records = (shoal_records){.first = record, .stride = sizeof *record, .count = 1};
    return made;
}

static const char *count_text(struct page_made *made, uint64_t count, const char *what)
{
    char number[32];

    return page_made_text(made, "%s %s%s", base_format_count(count, number, sizeof number), what,
                          count == 1 ? "" : "s");
}

/* Text that was read as such, though it may be meant as something else. */
static void note_doubt(struct page_made *made, const struct call *call)
{
    const char *name = data_corpus_format_names[call->resembles];

    if (call->resembles != DATA_CORPUS_AUTO)
        page_made_note(made, SHOAL_NOTE_INFO,
                       "read as text; if it is %s, --format %s tells its mistake", name, name);
}

static void note_built(struct page_made *made, const struct call *call)
{
    const struct record *r = &call->made;
    const struct {
        uint64_t count;
        const char *what, *rule;
    } odd[] = {
        {r->empty, "document", "without words, kept as empty"},
        {r->left_out, "token", "of words that are left out"},
        {r->sorted, "document", "whose words were not in order, sorted"},
        {r->repeated, "pair", "of a document and a word that was there already: counts added"},
    };

    note_doubt(made, call);
    for (size_t i = 0; i < BASE_COUNT(odd); i++)
        if (odd[i].count > 0)
            page_made_note(made, SHOAL_NOTE_HINT, "%s %s",
                           count_text(made, odd[i].count, odd[i].what), odd[i].rule);
    page_made_note(made, SHOAL_NOTE_HINT, "%s of %s with %s, %.1f MB: %s",
                   count_text(made, r->documents, "document"), count_text(made, r->words, "word"),
                   count_text(made, r->tokens, "token"), r->bytes * 1e-6, r->path);
    page_made_note(made, SHOAL_NOTE_HINT, "next: shoal train lda %s", r->path);
}

shoal_status shoal_corpus_build(shoal_env *env, const char *in, const char *out,
                                const shoal_corpus_opts *opts, shoal_watch *watch,
                                const shoal_result **out_result, shoal_err *err)
{
    struct data_corpus_opts how;
    struct call call;

    shoal_status st = begin(&call, env, in, opts, watch, err);
    if (st == SHOAL_OK)
        st = check_output(&call, out, err);
    if (st == SHOAL_OK)
        st = start_reading(&call, &how, err);
    if (st == SHOAL_OK)
        st = bytes_of(in) <= 0 && chooses(&call.opts) ? build_loaded(&call, &how, out, err)
                                                      : build_blocks(&call, &how, out, err);
    if (st == SHOAL_OK) {
        call.made.bytes = bytes_of(out);
        call.made.path = out;
        struct page_made *made = make_result(&call);
        note_built(made, &call);
        st = page_made_finish(made, out_result, err);
    }
    end(&call);
    return st;
}

/* ---- what is in a corpus ---- */

static void put_quantiles(struct page_made *made, struct record *record, const struct call *call)
{
    double *values = page_made_alloc(made, QUANTILES, sizeof *values);
    struct lengths *lengths = page_made_alloc(made, 1, sizeof *lengths);
    uint64_t seen = 0, length = 0;

    if (values == NULL || lengths == NULL)
        return;
    for (size_t q = 0; q < QUANTILES; q++) {
        double want = quantile_at[q] * (double)call->made.documents;
        while (length + 1 < LENGTH_BINS && (double)(seen + call->bin[length]) < want)
            seen += call->bin[length++];
        values[q] = (double)(length + 1 < LENGTH_BINS ? length : call->longest);
    }
    values[QUANTILES - 1] = (double)call->longest;
    record->length = (shoal_numbers){values, QUANTILES, quantile_names};
    *lengths = (struct lengths){"tokens", record->length};
    record->lengths = (shoal_records){.first = lengths, .stride = sizeof *lengths, .count = 1};
}

/* The `most` most frequent words, by tokens, then by number: by insertion, since few are wanted. */
static void put_top(struct page_made *made, struct record *record, const struct call *call)
{
    const struct data_tally *tally = &call->tally;
    size_t count = 0, most = call->opts.top < TOP_MAX ? (size_t)call->opts.top : TOP_MAX;
    struct top *top = page_made_alloc(made, most + 1, sizeof *top);
    uint32_t *word = page_made_alloc(made, most + 1, sizeof *word);

    if (top == NULL || word == NULL)
        return;
    for (uint32_t w = 0; w < tally->words && most > 0; w++) {
        size_t at = count;
        if (tally->tokens[w] == 0 ||
            (at == most && tally->tokens[w] <= tally->tokens[word[at - 1]]))
            continue;
        at -= at == most;
        for (; at > 0 && tally->tokens[word[at - 1]] < tally->tokens[w]; at--)
            word[at] = word[at - 1];
        word[at] = w;
        count += count < most;
    }
    for (size_t i = 0; i < count; i++) {
        char buf[DATA_ID_BUF];
        size_t size = 0;
        const char *name = data_corpus_name(&call->names, word[i], buf, &size);
        top[i] = (struct top){page_made_text(made, "%.*s", (int)size, name), tally->tokens[word[i]],
                              tally->documents[word[i]],
                              (double)tally->documents[word[i]] / (double)call->made.documents};
    }
    record->top = (shoal_records){.first = top, .stride = sizeof *top, .count = count};
}

static void head_fact(struct page_made *made, const char *name, uint64_t count, const char *what)
{
    char text[32];

    if (count > 0)
        page_made_head(made, "%-10s%s %s\n", name, base_format_count(count, text, sizeof text),
                       what);
}

static shoal_status describe(const struct call *call, const shoal_result **out_result,
                             shoal_err *err)
{
    const struct record *r = &call->made;
    struct page_made *made = make_result(call);

    if (made != NULL && made->result.records.count > 0) {
        struct record *record = data_own(made->result.records.first);
        put_quantiles(made, record, call);
        put_top(made, record, call);
    }
    page_made_head(made, "%s with %s, format %s\n", count_text(made, r->documents, "document"),
                   count_text(made, r->tokens, "token"), data_corpus_format_names[r->format]);
    head_fact(made, "words", r->words, r->names ? "with names" : "without names");
    head_fact(made, "entries", r->entries, "different words of documents");
    head_fact(made, "empty", r->empty, r->empty == 1 ? "document" : "documents");
    head_fact(made, "left out", r->left_out, "tokens of words that are left out");
    head_fact(made, "sorted", r->sorted, "documents whose words were not in order");
    head_fact(made, "repeated", r->repeated, "entries whose counts were added");
    note_doubt(made, call);
    return page_made_finish(made, out_result, err);
}

shoal_status shoal_corpus_info(shoal_env *env, const char *path, const shoal_corpus_opts *given,
                               shoal_watch *watch, const shoal_result **out_result, shoal_err *err)
{
    struct data_corpus_reader *reader = NULL;
    struct data_corpus_opts how;
    struct call call;

    shoal_status st = begin(&call, env, path, given, watch, err);
    call.opts.stop_words = NULL; /* those by default, as the words that are kept are */
    call.opts.min_count = call.opts.min_length = 0;
    call.opts.max_share = 0;
    call.surveys = true;
    call.bin = base_calloc(env_alloc(env), LENGTH_BINS, sizeof *call.bin);
    if (st == SHOAL_OK && call.bin == NULL)
        st = base_err_nomem(err, "counting words");
    if (st == SHOAL_OK)
        st = start_reading(&call, &how, err);
    if (st == SHOAL_OK)
        st = data_corpus_open(env, path, &how, &reader, err);
    if (st == SHOAL_OK)
        st = read_blocks(&call, reader, NULL, err);
    data_corpus_close(reader);
    if (st == SHOAL_OK)
        st = describe(&call, out_result, err);
    end(&call);
    return st;
}
