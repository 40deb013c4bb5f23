/* gen_corpus.c - documents with planted topics.
 *
 * A document draws its length (log-normal), how many topics it has, which (few are popular, by a
 * power law with a blunt head) and their weights (exponential, so evenly over the simplex). Each of
 * its tokens comes from the background with a fixed chance, else from one of the topics by weight. A
 * topic draws rank r of its words with probability about 1 / (r + 5) among a twentieth of the
 * vocabulary; which word has which rank is a one-to-one map of its own. The background draws from
 * the whole vocabulary by 1 / (r + 10), as words that are everywhere do.
 *
 * So the probability of every word in every topic is known in closed form, takes no memory, and is
 * what data_gen_corpus_share gives. Document d comes from a stream of its own, so blocks can be made
 * in any order. Cost: about 30 ns a token as text or binary, 70 as UCI (made twice and sorted).
 * Memory: 4 bytes a topic, and per thread a block. Tests: tests/unit/data/test_gen_corpus.c. */
#include "data/gen.h"

#include "base/assert.h"
#include "base/err.h"
#include "data/corpus_parts.h"
#include "data/format.h"
#include "data/gen_draw.h"
#include "data/gen_run.h"
#include <stdio.h>

enum {
    BLOCK_TOKENS = 1 << 15,
    LENGTH_FACTOR = 10, /* no document is longer than as many times the mean */
    MIXED_MAX = DATA_GEN_MIXED_MAX * 2,
    TRUTH_ROOM = 64 /* bytes of a word in the list of truth */
};
#define DOCUMENTS_MAX ((uint64_t)1 << 40)
#define LOG2_E        1.4426950408889634

struct data_gen_corpus {
    const struct base_alloc *alloc;
    struct data_gen_corpus_opts opts;
    uint64_t document_key;
    struct data_zipf word_zipf, background_zipf, topic_zipf;
    struct data_scatter scatter;       /* of the background; topics have another offset */
    uint64_t inverse;                  /* of scatter.factor, modulo the words */
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

static shoal_status check(const struct data_gen_corpus_opts *o, shoal_err *err)
{
    if (o->documents < 1 || o->documents > DOCUMENTS_MAX)
        return base_err(err, SHOAL_E_INVAL, "documents: expected 1 to 2^40");
    if (o->words < 1 || o->words > DATA_CORPUS_WORDS_MAX)
        return base_err(err, SHOAL_E_INVAL, "words: expected 1 to %u", DATA_CORPUS_WORDS_MAX);
    if (o->topics < 1 || o->topics > DATA_GEN_TOPICS_MAX)
        return base_err(err, SHOAL_E_INVAL, "topics: expected 1 to %d", (int)DATA_GEN_TOPICS_MAX);
    if (o->mixed < 1 || o->mixed > DATA_GEN_MIXED_MAX)
        return base_err(err, SHOAL_E_INVAL, "topics a document: expected 1 to %d",
                        (int)DATA_GEN_MIXED_MAX);
    if (!(o->length >= 1 && o->length <= 1e7))
        return base_err(err, SHOAL_E_INVAL, "length: expected 1 to 10000000 tokens");
    if (!(o->spread >= 0 && o->spread <= 2))
        return base_err(err, SHOAL_E_INVAL, "spread: expected 0 to 2");
    if (!(o->background >= 0 && o->background <= 1))
        return base_err(err, SHOAL_E_INVAL, "background: expected a share, 0 to 1");
    return SHOAL_OK;
}

/* x with a x = 1 modulo n, which has no divisor in common with a. */
static uint64_t invert(uint64_t a, uint64_t n)
{
    int64_t x = 0, next = 1;
    uint64_t rest = n, other = a % n;

    while (other != 0) {
        uint64_t times = rest / other, r = rest % other;
        int64_t y = x - (int64_t)times * next;
        rest = other;
        other = r;
        x = next;
        next = y;
    }
    return (uint64_t)(x < 0 ? x + (int64_t)n : x);
}

static uint32_t topic_words(const struct data_gen_corpus_opts *o)
{
    uint32_t words = o->words / 20 > 50 ? o->words / 20 : 50;

    return words < o->words ? words : o->words;
}

shoal_status data_gen_corpus_new(const struct base_alloc *alloc,
                                 const struct data_gen_corpus_opts *opts,
                                 struct data_gen_corpus **out, shoal_err *err)
{
    shoal_status st = check(opts, err);
    if (st != SHOAL_OK)
        return st;
    struct data_gen_corpus *gen = base_calloc(alloc, 1, sizeof *gen);
    uint32_t *offset = base_malloc(alloc, opts->topics * sizeof *offset);
    if (gen == NULL || offset == NULL) {
        base_free(alloc, gen);
        base_free(alloc, offset);
        return base_err_nomem(err, "making a corpus");
    }
    uint64_t topic_key = data_draw_key(opts->seed, "gen.corpus.topic");
    gen->alloc = alloc;
    gen->opts = *opts;
    gen->document_key = data_draw_key(opts->seed, "gen.corpus.document");
    data_zipf_init(&gen->word_zipf, topic_words(opts), 5);
    data_zipf_init(&gen->background_zipf, opts->words, 10);
    data_zipf_init(&gen->topic_zipf, opts->topics, 1 + opts->topics * 0.25);
    data_scatter_init(&gen->scatter, opts->words, data_draw_key(opts->seed, "gen.corpus.words"));
    gen->inverse = invert(gen->scatter.factor, opts->words);
    gen->offset = offset;
    for (uint32_t k = 0; k < opts->topics; k++)
        offset[k] = (uint32_t)(data_draw_of(topic_key, k).state % opts->words);
    gen->length_spread = opts->spread * LOG2_E;
    gen->length_mean = data_draw_log2(opts->length) - opts->spread * opts->spread * 0.5 * LOG2_E;
    gen->length_max = (uint64_t)(opts->length * LENGTH_FACTOR);
    gen->block_documents = (uint64_t)(BLOCK_TOKENS / opts->length) + 1;
    *out = gen;
    return SHOAL_OK;
}

void data_gen_corpus_free(struct data_gen_corpus *gen)
{
    if (gen == NULL)
        return;
    base_free(gen->alloc, gen->offset);
    base_free(gen->alloc, gen);
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

static void *scratch_for(const struct data_gen_corpus *gen, const struct base_alloc *alloc,
                         bool whole)
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
    uint32_t topic[MIXED_MAX];
    double weight[MIXED_MAX];
};

static void draw_mixture(const struct data_gen_corpus *gen, struct data_draw *draw,
                         struct mixture *mix)
{
    double sum = 0;
    double length =
        data_draw_exp2(gen->length_mean + gen->length_spread * data_draw_normal(draw)) + 0.5;

    mix->length = length < 1 ? 1 : (uint64_t)length;
    mix->length = mix->length < gen->length_max ? mix->length : gen->length_max;
    mix->count = 1 + (uint32_t)data_draw_below(draw, 2 * (uint64_t)gen->opts.mixed - 1);
    for (uint32_t i = 0; i < mix->count; i++) {
        mix->topic[i] = data_zipf_rank(&gen->topic_zipf, data_draw_u64(draw));
        mix->weight[i] = data_draw_log2(1 / (1 - data_draw_unit(draw))) + 0x1p-40;
        sum += mix->weight[i];
    }
    for (uint32_t i = 0; i < mix->count; i++)
        mix->weight[i] /= sum;
}

static uint32_t word_at(const struct data_gen_corpus *gen, uint64_t offset, uint32_t rank)
{
    struct data_scatter scatter = gen->scatter;

    scatter.offset = offset;
    return data_scatter_at(&scatter, rank);
}

/* Its tokens as they are drawn; returns how many. */
static uint64_t draw_tokens(const struct data_gen_corpus *gen, uint64_t document, uint32_t *token)
{
    struct data_draw draw = data_draw_of(gen->document_key, document);
    struct mixture mix;
    double upto[MIXED_MAX], sum = gen->opts.background, rest = 1 - sum;

    draw_mixture(gen, &draw, &mix);
    for (uint32_t i = 0; i < mix.count; i++)
        upto[i] = sum += mix.weight[i] * rest;
    for (uint64_t t = 0; t < mix.length; t++) {
        double unit = data_draw_unit(&draw);
        uint64_t bits = data_draw_u64(&draw);
        uint32_t i = 0;
        if (unit < gen->opts.background) {
            token[t] = data_scatter_at(&gen->scatter, data_zipf_rank(&gen->background_zipf, bits));
            continue;
        }
        while (i + 1 < mix.count && unit >= upto[i])
            i++;
        token[t] = word_at(gen, gen->offset[mix.topic[i]], data_zipf_rank(&gen->word_zipf, bits));
    }
    return mix.length;
}

static void block_range(const struct data_gen_corpus *gen, uint64_t block, uint64_t *first,
                        uint64_t *last)
{
    *first = block * gen->block_documents;
    *last = *first + gen->block_documents;
    if (*last > gen->opts.documents)
        *last = gen->opts.documents;
}

static struct data_gen_plan plan_for(const struct data_gen_corpus *gen, const void *ctx)
{
    return (struct data_gen_plan){
        .ctx = ctx,
        .blocks = (gen->opts.documents + gen->block_documents - 1) / gen->block_documents,
        .scratch_new = line_scratch,
        .scratch_free = scratch_free,
    };
}

/* ---- as text ---- */

static void make_text(const void *ctx, void *scratch, uint64_t block, char *text,
                      struct data_gen_made *made)
{
    const struct data_gen_corpus *gen = ctx;
    struct scratch *s = scratch;
    uint64_t first, last;
    char *to = text;

    block_range(gen, block, &first, &last);
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
                       struct data_gen_made *made)
{
    const struct data_gen_corpus *gen = ctx;
    struct scratch *s = scratch;
    uint64_t first, last;

    (void)text;
    block_range(gen, block, &first, &last);
    for (uint64_t d = first; d < last; d++) {
        uint64_t length = draw_tokens(gen, d, s->token);
        made->entries += corpus_merge_words(s->token, s->count, (size_t)length, s->spare);
    }
    made->units = last - first;
}

static void make_uci(const void *ctx, void *scratch, uint64_t block, char *text,
                     struct data_gen_made *made)
{
    const struct data_gen_corpus *gen = ctx;
    struct scratch *s = scratch;
    uint64_t first, last;
    char *to = text;

    block_range(gen, block, &first, &last);
    for (uint64_t d = first; d < last; d++) {
        uint64_t length = draw_tokens(gen, d, s->token);
        size_t entries = corpus_merge_words(s->token, s->count, (size_t)length, s->spare);
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

static shoal_status write_header(shoal_env *env, const struct data_gen_corpus *gen,
                                 const struct data_gen_run *run, const struct data_sink *sink,
                                 shoal_err *err)
{
    struct data_gen_plan plan = plan_for(gen, gen);
    uint64_t numbers[3] = {gen->opts.documents, gen->opts.words, 0};
    char text[3 * DATA_FORMAT_MAX], *to = text;

    plan.make = make_count;
    shoal_status st = data_gen_make(env, &plan, run, NULL, &numbers[2], err);
    if (st != SHOAL_OK)
        return st;
    for (int i = 0; i < 3; i++) {
        to = data_format_u64(to, numbers[i]);
        *to++ = '\n';
    }
    return sink->put(sink->ctx, text, (size_t)(to - text), err);
}

static size_t digits(uint64_t n)
{
    return (size_t)data_format_count(n);
}

shoal_status data_gen_corpus_write(shoal_env *env, const struct data_gen_corpus *gen, bool uci,
                                   const struct data_gen_run *run, const struct data_sink *sink,
                                   uint64_t *out_tokens, shoal_err *err)
{
    struct data_gen_plan plan = plan_for(gen, gen);
    size_t tokens = (size_t)gen->block_documents * (size_t)gen->length_max;
    shoal_status st = SHOAL_OK;

    plan.make = uci ? make_uci : make_text;
    plan.text_max = tokens * (digits(gen->opts.words) + 2);
    if (uci)
        plan.text_max += tokens * (digits(gen->opts.documents) + digits(gen->length_max) + 1);
    if (uci)
        st = write_header(env, gen, run, sink, err);
    return st == SHOAL_OK ? data_gen_make(env, &plan, run, sink, out_tokens, err) : st;
}

/* ---- as binary corpus ---- */

/* A block of documents in the scratch's arrays. */
static struct num_corpus make_block(const struct data_gen_corpus *gen, struct scratch *s,
                                    uint64_t block, uint64_t *tokens)
{
    uint64_t first, last;

    block_range(gen, block, &first, &last);
    s->start[0] = 0;
    for (uint64_t d = first; d < last; d++) {
        uint64_t at = s->start[d - first], length = draw_tokens(gen, d, s->word + at);
        s->start[d - first + 1] =
            at + corpus_merge_words(s->word + at, s->count + at, (size_t)length, s->spare);
        *tokens += length;
    }
    return (struct num_corpus){last - first, gen->opts.words, s->start, s->word, s->count};
}

static void make_chunk(const void *ctx, void *scratch, uint64_t block, char *text,
                       struct data_gen_made *made)
{
    struct num_corpus x = make_block(ctx, scratch, block, &made->entries);

    made->units = x.documents;
    made->size = corpus_encode(&x, text);
}

static shoal_status put_chunk(void *ctx, const char *text, size_t size, shoal_err *err)
{
    return corpus_append_chunk(ctx, text, size, err);
}

shoal_status data_gen_corpus_save(shoal_env *env, const struct data_gen_corpus *gen,
                                  const struct data_gen_run *run, const char *path,
                                  uint64_t *out_tokens, uint64_t *out_bytes, shoal_err *err)
{
    struct data_gen_plan plan = plan_for(gen, gen);
    struct data_corpus_writer *writer = NULL;
    size_t tokens = (size_t)gen->block_documents * (size_t)gen->length_max;

    plan.make = make_chunk;
    plan.scratch_new = block_scratch;
    plan.text_max = CORPUS_CHUNK_HEAD + tokens * CORPUS_ENTRY_BYTES_MAX +
                    (size_t)gen->block_documents * CORPUS_DOCUMENT_BYTES_MAX;
    shoal_status st = data_corpus_create(env, path, &writer, err);
    if (st != SHOAL_OK)
        return st;
    struct data_sink sink = {put_chunk, writer};
    st = data_gen_make(env, &plan, run, &sink, out_tokens, err);
    if (st != SHOAL_OK) {
        data_corpus_discard(writer);
        return st;
    }
    *out_bytes = data_corpus_written(writer);
    return data_corpus_commit(writer, gen->opts.words, NULL, err);
}

/* ---- in memory ---- */

struct filling {
    const struct data_gen_corpus *gen;
    uint64_t *start; /* counted: entries of document d at d + 1; then where they begin */
    uint32_t *word, *count;
    bool counted;
};

static void *fill_scratch(const void *ctx, const struct base_alloc *alloc)
{
    const struct filling *f = ctx;

    return scratch_for(f->gen, alloc, true);
}

static void make_fill(const void *ctx, void *scratch, uint64_t block, char *text,
                      struct data_gen_made *made)
{
    const struct filling *f = ctx;
    uint64_t first = block * f->gen->block_documents;
    struct num_corpus x = make_block(f->gen, scratch, block, &made->entries);
    size_t entries = (size_t)x.start[x.documents];

    (void)text;
    if (f->counted) {
        memcpy(f->word + f->start[first], x.word, entries * sizeof *x.word);
        memcpy(f->count + f->start[first], x.count, entries * sizeof *x.count);
        made->units = x.documents;
        return;
    }
    for (uint64_t d = 0; d < x.documents; d++)
        f->start[first + d + 1] = x.start[d + 1] - x.start[d];
}

shoal_status data_gen_corpus_fill(shoal_env *env, const struct data_gen_corpus *gen,
                                  const struct data_gen_run *run, struct data_corpus *out,
                                  shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    size_t documents = (size_t)gen->opts.documents;
    struct filling f = {.gen = gen};
    struct data_gen_plan plan = plan_for(gen, &f);
    struct data_corpus corpus;

    data_corpus_init(&corpus, alloc);
    plan.make = make_fill;
    plan.scratch_new = fill_scratch;
    f.start = base_malloc(alloc, (documents + 1) * sizeof *f.start);
    shoal_status st = f.start != NULL ? data_gen_make(env, &plan, run, NULL, &corpus.tokens, err)
                                      : base_err_nomem(err, "making a corpus");
    if (st == SHOAL_OK) {
        f.start[0] = 0;
        for (size_t d = 0; d < documents; d++)
            f.start[d + 1] += f.start[d];
        corpus.entries = f.start[documents];
        f.word = base_malloc(alloc, (size_t)corpus.entries * sizeof *f.word);
        f.count = base_malloc(alloc, (size_t)corpus.entries * sizeof *f.count);
        f.counted = true;
        st = f.word != NULL && f.count != NULL ? data_gen_make(env, &plan, run, NULL, NULL, err)
                                               : base_err_nomem(err, "making a corpus");
    }
    corpus.x = (struct num_corpus){documents, gen->opts.words, f.start, f.word, f.count};
    corpus.start_cap = documents + 1;
    corpus.word_cap = corpus.count_cap = (size_t)corpus.entries;
    if (st == SHOAL_OK) {
        *out = corpus;
        return SHOAL_OK;
    }
    data_corpus_fini(&corpus);
    return st;
}

/* ---- the truth ---- */

/* The share of ranks below `rank`. */
static double zipf_below(const struct data_zipf *zipf, uint32_t rank)
{
    size_t low = 0, high = DATA_ZIPF_PIECES;

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
    return ((double)low + part) / DATA_ZIPF_PIECES;
}

static double zipf_share(const struct data_zipf *zipf, uint32_t rank)
{
    return rank < zipf->count ? zipf_below(zipf, rank + 1) - zipf_below(zipf, rank) : 0;
}

uint32_t data_gen_corpus_word(const struct data_gen_corpus *gen, uint32_t topic, uint32_t rank)
{
    shoal_assert(topic < gen->opts.topics && rank < gen->opts.words);
    return word_at(gen, gen->offset[topic], rank);
}

double data_gen_corpus_share(const struct data_gen_corpus *gen, uint32_t topic, uint32_t word)
{
    uint64_t words = gen->opts.words;
    bool background = topic == DATA_GEN_BACKGROUND;

    shoal_assert((background || topic < gen->opts.topics) && word < words);
    uint64_t offset = background ? gen->scatter.offset : gen->offset[topic];
    uint64_t step = (word + words - offset % words) % words;
    uint32_t rank = (uint32_t)((unsigned __int128)step * gen->inverse % words);
    return zipf_share(background ? &gen->background_zipf : &gen->word_zipf, rank);
}

uint32_t data_gen_corpus_mixture(const struct data_gen_corpus *gen, uint64_t document,
                                 uint32_t *out_topic, double *out_weight)
{
    struct data_draw draw = data_draw_of(gen->document_key, document);
    struct mixture mix;

    draw_mixture(gen, &draw, &mix);
    memcpy(out_topic, mix.topic, mix.count * sizeof *out_topic);
    memcpy(out_weight, mix.weight, mix.count * sizeof *out_weight);
    return mix.count;
}

shoal_status data_gen_corpus_truth(const struct data_gen_corpus *gen, uint32_t words,
                                   const struct data_sink *sink, shoal_err *err)
{
    uint32_t most = gen->word_zipf.count < words ? gen->word_zipf.count : words;
    char *line = base_malloc(gen->alloc, ((size_t)most + 1) * TRUTH_ROOM);
    shoal_status st = SHOAL_OK;

    if (line == NULL)
        return base_err_nomem(err, "writing topics");
    for (uint32_t k = 0; k < gen->opts.topics && st == SHOAL_OK; k++) {
        char *to = line;
        to += snprintf(to, TRUTH_ROOM, "%u %.6g", k + 1, zipf_share(&gen->topic_zipf, k));
        for (uint32_t r = 0; r < most; r++)
            to += snprintf(to, TRUTH_ROOM, " %u:%.6g", data_gen_corpus_word(gen, k, r) + 1,
                           zipf_share(&gen->word_zipf, r));
        *to++ = '\n';
        st = sink->put(sink->ctx, line, (size_t)(to - line), err);
    }
    base_free(gen->alloc, line);
    return st;
}
