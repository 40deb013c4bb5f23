/* corpus.c - documents with planted topics.
 *
 * A document draws its length (log-normal), how many topics it has, which (few are popular, by a
 * power law with a blunt head) and their weights (exponential, so evenly over the simplex). Each of
 * its tokens comes from the background with a fixed chance, else from one of the topics by weight. A
 * topic draws rank r of its words with probability about 1 / (r + 5) among a twentieth of the
 * vocabulary; which word has which rank is a one-to-one map of its own. The background draws from
 * the whole vocabulary by 1 / (r + 10), as words that are everywhere do.
 *
 * So the probability of every word in every topic is known in closed form and takes no memory. Document d
 * comes from a stream of its own, so blocks can be made in any order. Cost: about 30 ns a token as text or binary, 70 as UCI (made twice and sorted).
 * Memory: 4 bytes a topic, and per thread a block. Tests: tests/unit/gen/test_corpus.c. */
#include "gen/gen.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/watch.h"
#include "data/corpus_parts.h"
#include "data/format.h"
#include "gen/draw.h"
#include <stdio.h>

enum {
    BLOCK_TOKENS = 1 << 15,
    LENGTH_FACTOR = 10, /* no document is longer than as many times the mean */
    TOPICS_MAX = 1 << 24,
    MIXED_MAX = 256,
    TRUTH_WORDS = 100 /* of a topic in the list of truth */
};
#define DOCUMENTS_MAX ((uint64_t)1 << 40)
#define LOG2_E        1.4426950408889634

struct gen_corpus {
    shoal_gen_corpus_opts opts;
    uint32_t words, topics, mixed; /* of the options, as they are used */
    uint64_t document_key;
    struct gen_zipf word_zipf, background_zipf, topic_zipf;
    struct gen_scatter scatter;        /* of the background; topics have another offset */
    uint32_t *offset;                  /* (topics) */
    double length_mean, length_spread; /* of its log2 */
    uint64_t length_max, block_documents;
};

struct scratch {
    uint32_t *token, *spare; /* (length_max) */
    uint32_t *word, *count;  /* of a block: (block_documents * length_max); only for binary */
    uint64_t *start;         /* (block_documents + 1) */
};

/* ---- set-up ---- */

static shoal_status check(const shoal_gen_corpus_opts *o, shoal_err *err)
{
    if (o->documents < 1 || o->documents > DOCUMENTS_MAX)
        return base_err(err, SHOAL_E_INVAL, "documents: expected 1 to 2^40");
    if (o->words < 1 || o->words > DATA_CORPUS_WORDS_MAX)
        return base_err(err, SHOAL_E_INVAL, "words: expected 1 to %u", DATA_CORPUS_WORDS_MAX);
    if (o->topics < 1 || o->topics > TOPICS_MAX)
        return base_err(err, SHOAL_E_INVAL, "topics: expected 1 to %d", (int)TOPICS_MAX);
    if (o->mixed < 1 || o->mixed > MIXED_MAX)
        return base_err(err, SHOAL_E_INVAL, "topics a document: expected 1 to %d", (int)MIXED_MAX);
    if (!(o->length >= 1 && o->length <= 1e7))
        return base_err(err, SHOAL_E_INVAL, "length: expected 1 to 10000000 tokens");
    if (!(o->spread >= 0 && o->spread <= 2))
        return base_err(err, SHOAL_E_INVAL, "spread: expected 0 to 2");
    if (!(o->background >= 0 && o->background <= 1))
        return base_err(err, SHOAL_E_INVAL, "background: expected a share, 0 to 1");
    if (o->format == SHOAL_GEN_BINARY && !gen_to_file(&o->to))
        return base_err(err, SHOAL_E_INVAL, "a binary corpus needs a file: -o FILE");
    return SHOAL_OK;
}

static uint32_t topic_words(uint32_t all)
{
    uint32_t words = all / 20 > 50 ? all / 20 : 50;

    return words < all ? words : all;
}

/* Fails with gen->offset to be freed. */
static shoal_status init_gen(struct gen_corpus *gen, const struct base_alloc *alloc,
                             const shoal_gen_corpus_opts *opts, shoal_err *err)
{
    shoal_status st = check(opts, err);

    *gen = (struct gen_corpus){.opts = *opts};
    if (st != SHOAL_OK)
        return st;
    gen->words = (uint32_t)opts->words;
    gen->topics = (uint32_t)opts->topics;
    gen->mixed = (uint32_t)opts->mixed;
    gen->offset = base_malloc(alloc, gen->topics * sizeof *gen->offset);
    if (gen->offset == NULL)
        return base_err_nomem(err, "making a corpus");
    uint64_t topic_key = gen_draw_key(opts->seed, "gen.corpus.topic");
    gen->document_key = gen_draw_key(opts->seed, "gen.corpus.document");
    gen_zipf_init(&gen->word_zipf, topic_words(gen->words), 5);
    gen_zipf_init(&gen->background_zipf, gen->words, 10);
    gen_zipf_init(&gen->topic_zipf, gen->topics, 1 + gen->topics * 0.25);
    gen_scatter_init(&gen->scatter, gen->words, gen_draw_key(opts->seed, "gen.corpus.words"));
    for (uint32_t k = 0; k < gen->topics; k++)
        gen->offset[k] = (uint32_t)(gen_draw_of(topic_key, k).state % gen->words);
    gen->length_spread = opts->spread * LOG2_E;
    gen->length_mean = gen_draw_log2(opts->length) - opts->spread * opts->spread * 0.5 * LOG2_E;
    gen->length_max = (uint64_t)(opts->length * LENGTH_FACTOR);
    gen->block_documents = (uint64_t)(BLOCK_TOKENS / opts->length) + 1;
    return SHOAL_OK;
}

static void scratch_free(void *p, const struct base_alloc *alloc)
{
    struct scratch *s = p;

    base_free(alloc, s->token);
    base_free(alloc, s->spare);
    base_free(alloc, s->word);
    base_free(alloc, s->count);
    base_free(alloc, s->start);
    base_free(alloc, s);
}

static void *scratch_for(const struct gen_corpus *gen, const struct base_alloc *alloc, bool whole)
{
    struct scratch *s = base_calloc(alloc, 1, sizeof *s);
    size_t length = (size_t)gen->length_max, block = whole ? (size_t)gen->block_documents : 1;

    if (s == NULL)
        return NULL;
    s->token = base_malloc(alloc, length * sizeof *s->token);
    s->spare = base_malloc(alloc, length * sizeof *s->spare);
    s->count = base_malloc(alloc, block * length * sizeof *s->count);
    s->word = base_malloc(alloc, block * length * sizeof *s->word);
    s->start = base_malloc(alloc, (block + 1) * sizeof *s->start);
    if (s->token != NULL && s->spare != NULL && s->count != NULL && s->word != NULL &&
        s->start != NULL)
        return s;
    scratch_free(s, alloc);
    return NULL;
}

static void *line_scratch(const void *ctx, const struct base_alloc *alloc)
{
    return scratch_for(ctx, alloc, false);
}

static void *block_scratch(const void *ctx, const struct base_alloc *alloc)
{
    return scratch_for(ctx, alloc, true);
}

/* ---- one document ---- */

struct mixture {
    uint64_t length;
    uint32_t count;
    uint32_t topic[2 * MIXED_MAX];
    double weight[2 * MIXED_MAX];
};

static void draw_mixture(const struct gen_corpus *gen, struct gen_draw *draw, struct mixture *mix)
{
    double sum = 0;
    double length =
        gen_draw_exp2(gen->length_mean + gen->length_spread * gen_draw_normal(draw)) + 0.5;

    mix->length = length < 1 ? 1 : (uint64_t)length;
    mix->length = mix->length < gen->length_max ? mix->length : gen->length_max;
    mix->count = 1 + (uint32_t)gen_draw_below(draw, 2 * (uint64_t)gen->mixed - 1);
    for (uint32_t i = 0; i < mix->count; i++) {
        mix->topic[i] = gen_zipf_rank(&gen->topic_zipf, gen_draw_u64(draw));
        mix->weight[i] = gen_draw_log2(1 / (1 - gen_draw_unit(draw))) + 0x1p-40;
        sum += mix->weight[i];
    }
    for (uint32_t i = 0; i < mix->count; i++)
        mix->weight[i] /= sum;
}

static uint32_t word_at(const struct gen_corpus *gen, uint64_t offset, uint32_t rank)
{
    struct gen_scatter scatter = gen->scatter;

    scatter.offset = offset;
    return gen_scatter_at(&scatter, rank);
}

/* Its tokens as they are drawn; returns how many. */
static uint64_t draw_tokens(const struct gen_corpus *gen, uint64_t document, uint32_t *token)
{
    struct gen_draw draw = gen_draw_of(gen->document_key, document);
    struct mixture mix;
    double upto[2 * MIXED_MAX], sum = gen->opts.background, rest = 1 - sum;

    draw_mixture(gen, &draw, &mix);
    shoal_assert(mix.count > 0);
    for (uint32_t i = 0; i < mix.count; i++)
        upto[i] = sum += mix.weight[i] * rest;
    for (uint64_t t = 0; t < mix.length; t++) {
        double unit = gen_draw_unit(&draw);
        uint64_t bits = gen_draw_u64(&draw);
        uint32_t i = 0;
        if (unit < gen->opts.background) {
            token[t] = gen_scatter_at(&gen->scatter, gen_zipf_rank(&gen->background_zipf, bits));
            continue;
        }
        while (i + 1 < mix.count && unit >= upto[i])
            i++;
        token[t] = word_at(gen, gen->offset[mix.topic[i]], gen_zipf_rank(&gen->word_zipf, bits));
    }
    return mix.length;
}

static struct gen_plan plan_for(const struct gen_corpus *gen)
{
    return (struct gen_plan){
        .gen = gen,
        .blocks = gen_block_count(gen->opts.documents, gen->block_documents),
        .scratch_new = line_scratch,
        .scratch_free = scratch_free,
    };
}

static uint64_t block_end(const struct gen_corpus *gen, uint64_t block)
{
    return gen_block_end(gen->opts.documents, gen->block_documents, block);
}

/* ---- as text ---- */

static void make_text(const void *ctx, void *scratch, uint64_t block, char *text,
                      struct gen_block *made)
{
    const struct gen_corpus *gen = ctx;
    struct scratch *s = scratch;
    uint64_t first = block * gen->block_documents, last = block_end(gen, block);
    char *to = text;

    for (uint64_t d = first; d < last; d++) {
        uint64_t length = draw_tokens(gen, d, s->token);
        for (uint64_t t = 0; t < length; t++) {
            *to++ = 'w';
            to = data_format_u64(to, (uint64_t)s->token[t] + 1);
            *to++ = t + 1 < length ? ' ' : '\n';
        }
        made->entries += length;
    }
    made->units = last - first;
    made->size = (size_t)(to - text);
}

/* ---- as UCI bag of words: counted first, because the header has the number of lines ---- */

static void make_count(const void *ctx, void *scratch, uint64_t block, char *text,
                       struct gen_block *made)
{
    const struct gen_corpus *gen = ctx;
    struct scratch *s = scratch;
    uint64_t first = block * gen->block_documents, last = block_end(gen, block);

    (void)text;
    for (uint64_t d = first; d < last; d++) {
        uint64_t length = draw_tokens(gen, d, s->token);
        made->entries += data_corpus_merge_words(s->token, s->count, (size_t)length, s->spare);
    }
    made->units = last - first;
}

static void make_uci(const void *ctx, void *scratch, uint64_t block, char *text,
                     struct gen_block *made)
{
    const struct gen_corpus *gen = ctx;
    struct scratch *s = scratch;
    uint64_t first = block * gen->block_documents, last = block_end(gen, block);
    char *to = text;

    for (uint64_t d = first; d < last; d++) {
        uint64_t length = draw_tokens(gen, d, s->token);
        size_t entries = data_corpus_merge_words(s->token, s->count, (size_t)length, s->spare);
        for (size_t i = 0; i < entries; i++) {
            to = data_format_u64(to, d + 1);
            *to++ = ' ';
            to = data_format_u64(to, (uint64_t)s->token[i] + 1);
            *to++ = ' ';
            to = data_format_u64(to, s->count[i]);
            *to++ = '\n';
        }
        made->entries += length;
    }
    made->units = last - first;
    made->size = (size_t)(to - text);
}

static shoal_status put_header(struct gen_call *call, const struct gen_corpus *gen, shoal_err *err)
{
    struct gen_plan plan = plan_for(gen);
    uint64_t lines = 0;
    char text[3 * DATA_FORMAT_MAX];

    plan.make = make_count;
    shoal_status st = gen_blocks(call, &plan, &lines, err);
    if (st != SHOAL_OK)
        return st;
    int size =
        snprintf(text, sizeof text, "%llu\n%u\n%llu\n", (unsigned long long)gen->opts.documents,
                 gen->words, (unsigned long long)lines);
    return gen_put(call, text, (size_t)size, err);
}

static size_t digits(uint64_t n)
{
    return (size_t)data_format_count(n);
}

static shoal_status put_lines(struct gen_call *call, const struct gen_corpus *gen, uint64_t *tokens,
                              shoal_err *err)
{
    bool uci = gen->opts.format == SHOAL_GEN_UCI;
    struct gen_plan plan = plan_for(gen);
    size_t most = (size_t)gen->block_documents * (size_t)gen->length_max;
    shoal_status st = SHOAL_OK;

    plan.make = uci ? make_uci : make_text;
    plan.text_max = most * (digits(gen->words) + 2);
    if (uci)
        plan.text_max += most * (digits(gen->opts.documents) + digits(gen->length_max) + 1);
    if (uci)
        st = put_header(call, gen, err);
    return st == SHOAL_OK ? gen_blocks(call, &plan, tokens, err) : st;
}

/* ---- the truth ---- */

/* The share of ranks below `rank`. */
static double zipf_below(const struct gen_zipf *zipf, uint32_t rank)
{
    size_t low = 0, high = GEN_ZIPF_PIECES;

    if (rank >= zipf->count)
        return 1;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (zipf->from[middle] <= rank)
            low = middle;
        else
            high = middle;
    }
    double part = (rank - zipf->from[low]) / (zipf->from[low + 1] - zipf->from[low]);
    return ((double)low + part) / GEN_ZIPF_PIECES;
}

static double zipf_share(const struct gen_zipf *zipf, uint32_t rank)
{
    return rank < zipf->count ? zipf_below(zipf, rank + 1) - zipf_below(zipf, rank) : 0;
}

/* A topic a line: number, share of documents' topics, then WORD:PROBABILITY of its most frequent words. Topics
 * and words count from 1. */
static bool put_truth(const void *ctx, uint64_t topic, struct base_buf *out)
{
    const struct gen_corpus *gen = ctx;

    if (topic >= gen->topics)
        return false;
    base_buf_printf(out, "%u %.6g", (uint32_t)topic + 1,
                    zipf_share(&gen->topic_zipf, (uint32_t)topic));
    for (uint32_t r = 0; r < gen->word_zipf.count && r < TRUTH_WORDS; r++)
        base_buf_printf(out, " %u:%.6g", word_at(gen, gen->offset[topic], r) + 1,
                        zipf_share(&gen->word_zipf, r));
    base_buf_puts(out, "\n");
    return true;
}

/* ---- as binary corpus ---- */

/* A block of documents in the scratch's arrays. */
static struct num_corpus make_block(const struct gen_corpus *gen, struct scratch *s, uint64_t block,
                                    uint64_t *tokens)
{
    uint64_t first = block * gen->block_documents, last = block_end(gen, block);

    s->start[0] = 0;
    for (uint64_t d = first; d < last; d++) {
        uint64_t at = s->start[d - first], length = draw_tokens(gen, d, s->word + at);
        s->start[d - first + 1] =
            at + data_corpus_merge_words(s->word + at, s->count + at, (size_t)length, s->spare);
        *tokens += length;
    }
    return (struct num_corpus){last - first, gen->words, s->start, s->word, s->count};
}

static void make_chunk(const void *ctx, void *scratch, uint64_t block, char *text,
                       struct gen_block *made)
{
    struct num_corpus x = make_block(ctx, scratch, block, &made->entries);

    made->units = x.documents;
    made->size = data_corpus_encode(&x, text);
}

static shoal_status put_chunk(void *ctx, const char *text, size_t size, shoal_err *err)
{
    return data_corpus_append_chunk(ctx, text, size, err);
}

/* It is no stream of text, and writes its own file. */
static shoal_status save(struct gen_call *call, const struct gen_corpus *gen, uint64_t *tokens,
                         shoal_err *err)
{
    struct gen_plan plan = plan_for(gen);
    struct data_corpus_writer *writer = NULL;
    size_t most = (size_t)gen->block_documents * (size_t)gen->length_max;

    plan.make = make_chunk;
    plan.scratch_new = block_scratch;
    plan.text_max = CORPUS_CHUNK_HEAD + most * CORPUS_ENTRY_BYTES_MAX +
                    (size_t)gen->block_documents * CORPUS_DOCUMENT_BYTES_MAX;
    shoal_status st = data_corpus_create(call->env, call->to->output, &writer, err);
    if (st != SHOAL_OK)
        return st;
    plan.put = put_chunk;
    plan.ctx = writer;
    st = gen_blocks(call, &plan, tokens, err);
    if (st == SHOAL_OK)
        st = gen_truth(call, put_truth, gen, err);
    if (st != SHOAL_OK) {
        data_corpus_discard(writer);
        return st;
    }
    call->made.bytes = (double)data_corpus_written(writer);
    return data_corpus_commit(writer, gen->words, NULL, err);
}

/* ---- the call ---- */

static const char *const format_names[] = {"uci", "text", "binary", NULL};

#define AT(member) offsetof(shoal_gen_corpus_opts, member)

static const shoal_opt rows[] = {
    {AT(documents), SHOAL_OPT_U64, "documents", 'n', "N", "1000", "documents to make", .min = 1,
     .max = 1099511627776},
    {AT(words), SHOAL_OPT_U64, "words", 0, "W", "5000", "words of the vocabulary", .min = 1,
     .max = DATA_CORPUS_WORDS_MAX},
    {AT(topics), SHOAL_OPT_U64, "topics", 0, "K", "20", "topics that are planted", .min = 1,
     .max = TOPICS_MAX},
    {AT(mixed), SHOAL_OPT_U64, "mixed", 0, "M", "3",
     "topics of a document on average; it has 1 to 2M-1", .min = 1, .max = MIXED_MAX},
    {AT(length), SHOAL_OPT_F64, "length", 'l', "L", "100", "tokens of a document on average",
     .min = 1, .max = 1e7},
    {AT(spread), SHOAL_OPT_F64, "length-spread", 0, "X", "0.6",
     "of lengths: standard deviation of their logarithm", .max = 2},
    {AT(background), SHOAL_OPT_F64, "background", 0, "X", "0.2",
     "share of tokens from words that are everywhere", .max = 1},
    {AT(format), SHOAL_OPT_CHOICE, "format", 'f', "FORMAT", "uci", "format to write",
     .choices = format_names},
    {AT(to.truth), SHOAL_OPT_STR, "truth", 0, "FILE", NULL,
     "write the planted topics there: their 100 most frequent words", .complete = "file"},
    GEN_ROW_SEED,
    GEN_ROW_THREADS,
    GEN_ROW_OUTPUT,
};
#undef AT

BASE_OPT_PUBLIC(gen_corpus, rows)

static shoal_status make(struct gen_call *call, const struct gen_corpus *gen, shoal_watch *watch,
                         shoal_err *err)
{
    uint64_t tokens = 0, passes = gen->opts.format == SHOAL_GEN_UCI ? 2 : 1;
    shoal_status st = SHOAL_OK;

    call->threads = (uint32_t)gen->opts.threads;
    if (gen->opts.format == SHOAL_GEN_BINARY) {
        call->watch = watch;
        base_watch_begin(watch, "documents", gen->opts.documents);
        st = save(call, gen, &tokens, err);
    } else {
        st = gen_open(call, watch, "documents", gen->opts.documents * passes, err);
        if (st == SHOAL_OK)
            st = put_lines(call, gen, &tokens, err);
        if (st == SHOAL_OK)
            st = gen_truth(call, put_truth, gen, err);
        st = gen_end(call, st, err);
    }
    call->made.documents = (double)gen->opts.documents;
    call->made.words = gen->words;
    call->made.topics = gen->topics;
    call->made.tokens = (double)tokens;
    return st;
}

shoal_status shoal_gen_corpus(shoal_env *env, const shoal_gen_corpus_opts *given,
                              shoal_watch *watch, const shoal_result **out_result, shoal_err *err)
{
    shoal_gen_corpus_opts opts;
    struct gen_corpus gen;
    struct gen_call call;
    char topics[40];

    shoal_status st = gen_take(rows, BASE_COUNT(rows), &opts, sizeof opts, given, out_result, err);
    if (st != SHOAL_OK)
        return st;
    st = init_gen(&gen, env_alloc(env), &opts, err);
    if (st == SHOAL_OK)
        st = gen_begin(&call, env, "corpus", &opts.to, err);
    if (st == SHOAL_OK)
        st = make(&call, &gen, watch, err);
    base_free(env_alloc(env), gen.offset);
    if (st != SHOAL_OK)
        return st;
    struct page_made *made = gen_made(&call);
    gen_say(&call, made, "%s with %s", gen_count(made, call.made.documents, "document"),
            gen_count(made, call.made.tokens, "token"));
    (void)snprintf(topics, sizeof topics, " --set topics=%u", gen.topics < 2 ? 2 : gen.topics);
    return gen_finish(&call, made, "train lda", topics, out_result, err);
}
