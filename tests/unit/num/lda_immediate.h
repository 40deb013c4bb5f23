/* lda_immediate.h - topic models with counts that change at once, for tests and benches: what
 * src/num/lda.c, which freezes counts for a pass, is measured against.
 *
 * Problem: draw topic z of a token of word w in document d from
 *     p(k) ~ (c_dk + alpha_k) (c_wk + beta) / (c_k + words beta),   itself not counted,
 * in a time that does not grow with K. Method: LightLDA's cycle (Yuan et al. 2015), a proposal by word
 * and one by document in turn, each accepted with min(1, p(t) q(s) / (p(s) q(t))).
 *
 * By document: q(k) ~ c_dk + alpha_k, drawn as the topic of a random other token of the document or
 * from the prior. It is a factor of p and cancels.
 *
 * By word: q(k) ~ c_wk / (c_k + words beta) + a constant, from an alias table. LightLDA's table holds
 * counts of some time ago; those contain the token's own topic, or topics that were drawn knowing it, so
 * q depends on where the token is, and the ratio above no longer balances: the chain stays near the
 * posterior, not at it. Here the tokens of a word are cut into up to BLOCKS blocks, and the table for
 * a block is made from the tokens of the *other* blocks and from c_k less the block: nothing that
 * changes while the block is gone through. q is then a function of the other tokens as they are, and
 * the ratio is exact. Words of few tokens have blocks of one.
 *
 * Cost: a token a few random numbers and loads; a table the distinct topics of a word, at most BLOCKS
 * times. Words are gone through one by one, so c_w is one array, made from the word's tokens; counts of
 * documents are kept where they take no more than DENSE_TOKEN bytes a token, and else counted
 * from the document's topics when asked for.
 *
 * One thread; the whole corpus in memory, 12 bytes a token, 72 a topic, and 4 bytes for each pair of
 * document and topic where those are few. Memory that is short ends the program.
 * Tests: tests/unit/num/test_lda_immediate.c; figures: docs/design/0010-topics-in-tiles.md. */
#ifndef TESTS_LDA_IMMEDIATE_H
#define TESTS_LDA_IMMEDIATE_H

#include "base/alloc.h"
#include "base/assert.h"
#include "base/rand.h"
#include "num/alias.h"
#include "num/corpus.h"
#include <stdlib.h>
#include <string.h>

struct lda_immediate_opts {
    uint32_t topics;
    const double *alpha; /* (topics), above 0 */
    double beta;
    uint32_t steps; /* of each kind of proposal a token and sweep, 1 and more */
    uint64_t seed;
};

enum { BLOCKS = 4, DENSE_TOKEN = 64, AHEAD = 8 };

struct lda_immediate {
    uint32_t topics, documents, words, steps;
    uint32_t tokens;
    double *alpha, alpha_sum, beta, beta_sum;
    struct base_rand rand;
    uint32_t *start;       /* (documents + 1) */
    uint32_t *z;           /* (tokens) documents, their entries, .. */
    uint32_t *of_document; /* (documents, topics), or NULL */
    int64_t *of_topic;
    uint32_t *word_start;    /* (words + 1) in the next two */
    uint32_t *at, *document; /* (tokens): a word's tokens: place in z, document */
    uint32_t *of_word;       /* (topics): 0 between words */
    double *proposed;        /* (topics): by the table, 0 between blocks */
    float *prior_keep;       /* (topics): an alias table of alpha */
    uint32_t *prior_other;
    /* the table of a block */
    uint32_t kinds;
    uint32_t *kind; /* (topics) topics of the table */
    float *keep;
    uint32_t *other;
    double *weight, *work; /* (topics), (2, topics) */
    double mass;           /* of the table */
    double rest;           /* q of every topic beside the table */
};

static inline uint32_t draw(struct base_rand *rand, uint32_t count, const float *keep,
                            const uint32_t *other)
{
    double u = base_rand_unit(rand) * count;
    uint32_t i = (uint32_t)u;

    return u - i < (double)keep[i] ? i : other[i];
}

/* ---- set-up ---- */

static inline void *lda_immediate_take(size_t count, size_t size)
{
    void *p = calloc(count + 1, size);

    if (p == NULL)
        abort();
    return p;
}

static inline uint32_t times_of(const struct num_corpus *corpus, uint64_t entry)
{
    return corpus->count != NULL ? corpus->count[entry] : 1;
}

static inline void take_memory(struct lda_immediate *a)
{
    size_t topics = a->topics, tokens = a->tokens;

    a->alpha = lda_immediate_take(topics, sizeof *a->alpha);
    a->start = lda_immediate_take(a->documents, sizeof *a->start);
    a->z = lda_immediate_take(tokens, sizeof *a->z);
    a->of_topic = lda_immediate_take(topics, sizeof *a->of_topic);
    a->word_start = lda_immediate_take((size_t)a->words + 1, sizeof *a->word_start);
    a->at = lda_immediate_take(tokens, sizeof *a->at);
    a->document = lda_immediate_take(tokens, sizeof *a->document);
    a->of_word = lda_immediate_take(topics, sizeof *a->of_word);
    a->proposed = lda_immediate_take(topics, sizeof *a->proposed);
    a->prior_keep = lda_immediate_take(topics, sizeof *a->prior_keep);
    a->prior_other = lda_immediate_take(topics, sizeof *a->prior_other);
    a->kind = lda_immediate_take(topics, sizeof *a->kind);
    a->keep = lda_immediate_take(topics, sizeof *a->keep);
    a->other = lda_immediate_take(topics, sizeof *a->other);
    a->weight = lda_immediate_take(topics, sizeof *a->weight);
    a->work = lda_immediate_take(2 * topics, sizeof *a->work);
    if ((uint64_t)a->documents * topics * sizeof *a->of_document <=
        (uint64_t)a->tokens * DENSE_TOKEN)
        a->of_document = lda_immediate_take(a->documents * topics, sizeof *a->of_document);
}

/* Tokens by document, and where each word has its own. */
static inline void list_tokens(struct lda_immediate *a, const struct num_corpus *corpus)
{
    uint32_t at = 0;

    for (uint32_t d = 0; d < a->documents; d++)
        for (uint64_t e = corpus->start[d]; e < corpus->start[d + 1]; e++)
            a->word_start[corpus->word[e] + 2] += times_of(corpus, e);
    for (uint32_t w = 0; w < a->words; w++)
        a->word_start[w + 2] += a->word_start[w + 1];
    for (uint32_t d = 0; d < a->documents; d++) {
        for (uint64_t e = corpus->start[d]; e < corpus->start[d + 1]; e++)
            for (uint32_t i = 0; i < times_of(corpus, e); i++) {
                uint32_t to = a->word_start[corpus->word[e] + 1]++;
                a->at[to] = at++;
                a->document[to] = d;
            }
        a->start[d + 1] = at;
    }
}

static inline void lda_immediate_set(struct lda_immediate *a, const uint32_t *z)
{
    size_t topics = a->topics;

    if (z != a->z)
        memcpy(a->z, z, a->tokens * sizeof *z);
    memset(a->of_topic, 0, topics * sizeof *a->of_topic);
    for (uint32_t i = 0; i < a->tokens; i++)
        a->of_topic[a->z[i]]++;
    if (a->of_document == NULL)
        return;
    memset(a->of_document, 0, a->documents * topics * sizeof *a->of_document);
    for (uint32_t d = 0; d < a->documents; d++)
        for (uint32_t i = a->start[d]; i < a->start[d + 1]; i++)
            a->of_document[d * topics + a->z[i]]++;
}

/* Topics are drawn evenly at first. */
static inline struct lda_immediate *lda_immediate_new(const struct num_corpus *corpus,
                                                      const struct lda_immediate_opts *opts)
{
    struct lda_immediate *a = lda_immediate_take(1, sizeof *a);
    uint64_t tokens = 0;

    for (uint64_t e = 0; e < corpus->start[corpus->documents]; e++)
        tokens += times_of(corpus, e);
    if (tokens >= UINT32_MAX)
        abort();
    *a = (struct lda_immediate){.topics = opts->topics,
                                .documents = (uint32_t)corpus->documents,
                                .words = corpus->words,
                                .steps = opts->steps,
                                .tokens = (uint32_t)tokens,
                                .beta = opts->beta,
                                .beta_sum = opts->beta * corpus->words};
    take_memory(a);
    base_rand_init(&a->rand, opts->seed, "lda_immediate");
    for (uint32_t k = 0; k < a->topics; k++)
        a->alpha_sum += a->alpha[k] = opts->alpha[k];
    num_alias_build(a->topics, a->alpha, a->prior_keep, a->prior_other, a->work);
    a->rest = a->beta / ((double)a->tokens / a->topics + a->beta_sum);
    list_tokens(a, corpus);
    for (uint32_t i = 0; i < a->tokens; i++)
        a->z[i] = (uint32_t)base_rand_below(&a->rand, a->topics);
    lda_immediate_set(a, a->z);
    return a;
}

static inline void lda_immediate_free(struct lda_immediate *a)
{
    void *all[] = {a->alpha, a->start,    a->z,       a->of_document, a->of_topic,   a->word_start,
                   a->at,    a->document, a->of_word, a->proposed,    a->prior_keep, a->prior_other,
                   a->kind,  a->keep,     a->other,   a->weight,      a->work,       a};

    for (size_t i = 0; i < BASE_COUNT(all); i++)
        free(all[i]);
}

/* ---- a word ---- */

/* Takes the tokens [first, end) of the word's list out of c_w and c_k, or puts them back. */
static inline void count_block(struct lda_immediate *a, uint32_t first, uint32_t end, int by)
{
    for (uint32_t i = first; i < end; i++) {
        uint32_t k = a->z[a->at[i]];
        a->of_word[k] += (uint32_t)by;
        a->of_topic[k] += by;
    }
}

/* Topics of tokens [first, end) that the table does not have yet. */
static inline void add_kinds(struct lda_immediate *a, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        uint32_t k = a->z[a->at[i]];
        if (a->proposed[k] != 0)
            continue;
        a->proposed[k] = a->of_word[k] / ((double)a->of_topic[k] + a->beta_sum);
        a->weight[a->kinds] = a->proposed[k];
        a->mass += a->proposed[k];
        a->kind[a->kinds++] = k;
    }
}

/* Table for tokens [first, end) of a word whose tokens are [low, high). */
static inline void make_table(struct lda_immediate *a, uint32_t low, uint32_t first, uint32_t end,
                              uint32_t high)
{
    a->kinds = 0;
    a->mass = 0;
    count_block(a, first, end, -1);
    add_kinds(a, low, first);
    add_kinds(a, end, high);
    count_block(a, first, end, 1);
    if (a->kinds > 0)
        num_alias_build(a->kinds, a->weight, a->keep, a->other, a->work);
}

static inline void drop_table(struct lda_immediate *a)
{
    for (uint32_t i = 0; i < a->kinds; i++)
        a->proposed[a->kind[i]] = 0;
}

static inline uint32_t propose_by_word(struct lda_immediate *a)
{
    double spread = a->rest * a->topics;

    if (base_rand_unit(&a->rand) * (a->mass + spread) >= a->mass || a->kinds == 0)
        return (uint32_t)base_rand_below(&a->rand, a->topics);
    return a->kind[draw(&a->rand, a->kinds, a->keep, a->other)];
}

/* The token at z[own] is not drawn. */
static inline uint32_t propose_by_document(struct lda_immediate *a, uint32_t document, uint32_t own)
{
    uint32_t others = a->start[document + 1] - a->start[document] - 1;
    double u = base_rand_unit(&a->rand) * (others + a->alpha_sum);

    if (u >= others)
        return draw(&a->rand, a->topics, a->prior_keep, a->prior_other);
    uint32_t at = a->start[document] + (uint32_t)u;
    return a->z[at < own ? at : at + 1];
}

/* c_dk without the token at z[own]. */
static inline uint32_t count_others(const struct lda_immediate *a, uint32_t document, uint32_t own,
                                    uint32_t topic)
{
    uint32_t sum = 0;

    if (a->of_document != NULL)
        return a->of_document[(size_t)document * a->topics + topic] - (a->z[own] == topic);
    for (uint32_t i = a->start[document]; i < a->start[document + 1]; i++)
        sum += a->z[i] == topic;
    return sum - (a->z[own] == topic);
}

/* p without its factor of the document; the token is not counted. */
static inline double word_factor(const struct lda_immediate *a, uint32_t topic)
{
    return (a->of_word[topic] + a->beta) / ((double)a->of_topic[topic] + a->beta_sum);
}

static inline uint32_t step_by_word(struct lda_immediate *a, uint32_t document, uint32_t own,
                                    uint32_t s)
{
    uint32_t t = propose_by_word(a);

    if (t == s)
        return s;
    double to = (count_others(a, document, own, t) + a->alpha[t]) * word_factor(a, t) *
                (a->proposed[s] + a->rest);
    double from = (count_others(a, document, own, s) + a->alpha[s]) * word_factor(a, s) *
                  (a->proposed[t] + a->rest);
    return base_rand_unit(&a->rand) * from < to ? t : s;
}

static inline uint32_t step_by_document(struct lda_immediate *a, uint32_t document, uint32_t own,
                                        uint32_t s)
{
    uint32_t t = propose_by_document(a, document, own);

    if (t == s)
        return s;
    return base_rand_unit(&a->rand) * word_factor(a, s) < word_factor(a, t) ? t : s;
}

static inline void sample_token(struct lda_immediate *a, uint32_t document, uint32_t own)
{
    uint32_t before = a->z[own], topic = before;

    a->of_word[before]--;
    a->of_topic[before]--;
    for (uint32_t i = 0; i < a->steps; i++) {
        topic = step_by_word(a, document, own, topic);
        topic = step_by_document(a, document, own, topic);
    }
    a->of_word[topic]++;
    a->of_topic[topic]++;
    if (a->of_document != NULL) {
        a->of_document[(size_t)document * a->topics + before]--;
        a->of_document[(size_t)document * a->topics + topic]++;
    }
    a->z[own] = topic;
}

/* Documents of a word's tokens lie anywhere. */
static inline void fetch_token(const struct lda_immediate *a, uint32_t document, uint32_t own)
{
    __builtin_prefetch(a->z + own);
    __builtin_prefetch(a->start + document);
    if (a->of_document != NULL)
        __builtin_prefetch(a->of_document + (size_t)document * a->topics);
}

static inline void sweep_word(struct lda_immediate *a, uint32_t low, uint32_t high)
{
    uint32_t n = high - low, blocks = n < BLOCKS ? n : BLOCKS;

    for (uint32_t i = low; i < high; i++)
        a->of_word[a->z[a->at[i]]]++;
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t first = low + (uint32_t)((uint64_t)n * b / blocks);
        uint32_t end = low + (uint32_t)((uint64_t)n * (b + 1) / blocks);
        make_table(a, low, first, end, high);
        for (uint32_t i = first; i < end; i++) {
            if (i + AHEAD < end)
                fetch_token(a, a->document[i + AHEAD], a->at[i + AHEAD]);
            sample_token(a, a->document[i], a->at[i]);
        }
        drop_table(a);
    }
    for (uint32_t i = low; i < high; i++)
        a->of_word[a->z[a->at[i]]] = 0;
}

/* Every token once. */
static inline void lda_immediate_sweep(struct lda_immediate *a)
{
    for (uint32_t w = 0; w < a->words; w++)
        if (a->word_start[w + 1] > a->word_start[w])
            sweep_word(a, a->word_start[w], a->word_start[w + 1]);
}

#endif
