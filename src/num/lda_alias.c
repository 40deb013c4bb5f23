/* lda_alias.c - Metropolis-Hastings for topic models with counts that change at once.
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
 * from the document's topics when asked for. */
#include "num/lda_alias.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/rand.h"
#include <string.h>

enum { BLOCKS = 4, DENSE_TOKEN = 64, AHEAD = 8 };

struct num_lda_alias {
    struct base_alloc alloc;
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

void num_alias_build(uint32_t count, const double *weight, float *keep, uint32_t *other,
                     double *work)
{
    double *scaled = work, sum = 0;
    uint32_t *stack = (uint32_t *)(void *)(work + count); /* small from below, large from above */
    uint32_t small = 0, large = count;

    for (uint32_t i = 0; i < count; i++)
        sum += weight[i];
    for (uint32_t i = 0; i < count; i++) {
        scaled[i] = weight[i] * count / sum;
        if (scaled[i] < 1)
            stack[small++] = i;
        else
            stack[--large] = i;
    }
    while (small > 0 && large < count) {
        uint32_t low = stack[--small], high = stack[large];
        keep[low] = (float)scaled[low];
        other[low] = high;
        scaled[high] -= 1 - scaled[low];
        if (scaled[high] < 1) {
            large++;
            stack[small++] = high;
        }
    }
    /* What rounding left over is 1 but for rounding. */
    while (small > 0) {
        uint32_t i = stack[--small];
        keep[i] = 1;
        other[i] = i;
    }
    for (; large < count; large++) {
        keep[stack[large]] = 1;
        other[stack[large]] = stack[large];
    }
}

static uint32_t draw(struct base_rand *rand, uint32_t count, const float *keep,
                     const uint32_t *other)
{
    double u = base_rand_unit(rand) * count;
    uint32_t i = (uint32_t)u;

    return u - i < (double)keep[i] ? i : other[i];
}

/* ---- set-up ---- */

static uint32_t times_of(const struct num_corpus *corpus, uint64_t entry)
{
    return corpus->count != NULL ? corpus->count[entry] : 1;
}

static shoal_status count_tokens(const struct num_corpus *corpus, uint64_t *out_tokens,
                                 shoal_err *err)
{
    uint64_t sum = 0;

    for (uint32_t d = 0; d < corpus->documents; d++) {
        for (uint64_t e = corpus->start[d]; e < corpus->start[d + 1]; e++) {
            if (corpus->word[e] >= corpus->words)
                return base_err(err, SHOAL_E_INVAL, "document %u: word %u, but there are %u", d,
                                corpus->word[e], corpus->words);
            sum += times_of(corpus, e);
        }
    }
    if (sum >= UINT32_MAX)
        return base_err(err, SHOAL_E_LIMIT, "a corpus of 2^32 tokens or more");
    *out_tokens = sum;
    return SHOAL_OK;
}

static bool take_memory(struct num_lda_alias *a)
{
    const struct base_alloc *alloc = &a->alloc;
    size_t topics = a->topics, tokens = (size_t)a->tokens + 1;

    a->alpha = base_calloc(alloc, topics, sizeof *a->alpha);
    a->start = base_calloc(alloc, (size_t)a->documents + 1, sizeof *a->start);
    a->z = base_calloc(alloc, tokens, sizeof *a->z);
    a->of_topic = base_calloc(alloc, topics, sizeof *a->of_topic);
    a->word_start = base_calloc(alloc, (size_t)a->words + 2, sizeof *a->word_start);
    a->at = base_calloc(alloc, tokens, sizeof *a->at);
    a->document = base_calloc(alloc, tokens, sizeof *a->document);
    a->of_word = base_calloc(alloc, topics, sizeof *a->of_word);
    a->proposed = base_calloc(alloc, topics, sizeof *a->proposed);
    a->prior_keep = base_calloc(alloc, topics, sizeof *a->prior_keep);
    a->prior_other = base_calloc(alloc, topics, sizeof *a->prior_other);
    a->kind = base_calloc(alloc, topics, sizeof *a->kind);
    a->keep = base_calloc(alloc, topics, sizeof *a->keep);
    a->other = base_calloc(alloc, topics, sizeof *a->other);
    a->weight = base_calloc(alloc, topics, sizeof *a->weight);
    a->work = base_calloc(alloc, 2 * topics, sizeof *a->work);
    if ((uint64_t)a->documents * topics * sizeof *a->of_document <=
        (uint64_t)a->tokens * DENSE_TOKEN) {
        a->of_document = base_calloc(alloc, a->documents * topics + 1, sizeof *a->of_document);
        if (a->of_document == NULL)
            return false;
    }
    return a->alpha != NULL && a->start != NULL && a->z != NULL && a->of_topic != NULL &&
           a->word_start != NULL && a->at != NULL && a->document != NULL && a->of_word != NULL &&
           a->proposed != NULL && a->prior_keep != NULL && a->prior_other != NULL &&
           a->kind != NULL && a->keep != NULL && a->other != NULL && a->weight != NULL &&
           a->work != NULL;
}

/* Tokens by document, and where each word has its own. */
static void list_tokens(struct num_lda_alias *a, const struct num_corpus *corpus)
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

shoal_status num_lda_alias_new(const struct base_alloc *alloc, const struct num_corpus *corpus,
                               const struct num_lda_alias_opts *opts,
                               struct num_lda_alias **out_alias, shoal_err *err)
{
    uint64_t tokens = 0;
    shoal_status st =
        corpus->documents <= UINT32_MAX
            ? count_tokens(corpus, &tokens, err)
            : base_err(err, SHOAL_E_LIMIT, "a corpus of more than %u documents", UINT32_MAX);
    struct num_lda_alias *a = st == SHOAL_OK ? base_calloc(alloc, 1, sizeof *a) : NULL;

    if (st != SHOAL_OK)
        return st;
    if (a == NULL)
        return base_err_nomem(err, "sampling topics");
    *a = (struct num_lda_alias){.alloc = *alloc,
                                .topics = opts->topics,
                                .documents = (uint32_t)corpus->documents,
                                .words = corpus->words,
                                .steps = opts->steps,
                                .tokens = (uint32_t)tokens,
                                .beta = opts->beta,
                                .beta_sum = opts->beta * corpus->words};
    if (!take_memory(a)) {
        num_lda_alias_free(a);
        return base_err_nomem(err, "sampling topics");
    }
    base_rand_init(&a->rand, opts->seed, "lda_alias");
    for (uint32_t k = 0; k < a->topics; k++)
        a->alpha_sum += a->alpha[k] = opts->alpha[k];
    num_alias_build(a->topics, a->alpha, a->prior_keep, a->prior_other, a->work);
    a->rest = a->beta / ((double)a->tokens / a->topics + a->beta_sum);
    list_tokens(a, corpus);
    for (uint32_t i = 0; i < a->tokens; i++)
        a->z[i] = (uint32_t)base_rand_below(&a->rand, a->topics);
    num_lda_alias_set(a, a->z);
    *out_alias = a;
    return SHOAL_OK;
}

void num_lda_alias_free(struct num_lda_alias *alias)
{
    if (alias == NULL)
        return;
    struct base_alloc alloc = alias->alloc;
    void *all[] = {alias->alpha,       alias->start,      alias->z,
                   alias->of_document, alias->of_topic,   alias->word_start,
                   alias->at,          alias->document,   alias->of_word,
                   alias->proposed,    alias->prior_keep, alias->prior_other,
                   alias->kind,        alias->keep,       alias->other,
                   alias->weight,      alias->work,       alias};

    for (size_t i = 0; i < BASE_COUNT(all); i++)
        base_free(&alloc, all[i]);
}

const uint32_t *num_lda_alias_topics(const struct num_lda_alias *alias)
{
    return alias->z;
}

const int64_t *num_lda_alias_totals(const struct num_lda_alias *alias)
{
    return alias->of_topic;
}

void num_lda_alias_set(struct num_lda_alias *alias, const uint32_t *z)
{
    size_t topics = alias->topics;

    if (z != alias->z)
        memcpy(alias->z, z, alias->tokens * sizeof *z);
    memset(alias->of_topic, 0, topics * sizeof *alias->of_topic);
    for (uint32_t i = 0; i < alias->tokens; i++)
        alias->of_topic[alias->z[i]]++;
    if (alias->of_document == NULL)
        return;
    memset(alias->of_document, 0, alias->documents * topics * sizeof *alias->of_document);
    for (uint32_t d = 0; d < alias->documents; d++)
        for (uint32_t i = alias->start[d]; i < alias->start[d + 1]; i++)
            alias->of_document[d * topics + alias->z[i]]++;
}

/* ---- a word ---- */

/* Takes the tokens [first, end) of the word's list out of c_w and c_k, or puts them back. */
static void count_block(struct num_lda_alias *a, uint32_t first, uint32_t end, int by)
{
    for (uint32_t i = first; i < end; i++) {
        uint32_t k = a->z[a->at[i]];
        a->of_word[k] += (uint32_t)by;
        a->of_topic[k] += by;
    }
}

/* Topics of tokens [first, end) that the table does not have yet. */
static void add_kinds(struct num_lda_alias *a, uint32_t first, uint32_t end)
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
static void make_table(struct num_lda_alias *a, uint32_t low, uint32_t first, uint32_t end,
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

static void drop_table(struct num_lda_alias *a)
{
    for (uint32_t i = 0; i < a->kinds; i++)
        a->proposed[a->kind[i]] = 0;
}

static uint32_t propose_by_word(struct num_lda_alias *a)
{
    double spread = a->rest * a->topics;

    if (base_rand_unit(&a->rand) * (a->mass + spread) >= a->mass || a->kinds == 0)
        return (uint32_t)base_rand_below(&a->rand, a->topics);
    return a->kind[draw(&a->rand, a->kinds, a->keep, a->other)];
}

/* The token at z[own] is not drawn. */
static uint32_t propose_by_document(struct num_lda_alias *a, uint32_t document, uint32_t own)
{
    uint32_t others = a->start[document + 1] - a->start[document] - 1;
    double u = base_rand_unit(&a->rand) * (others + a->alpha_sum);

    if (u >= others)
        return draw(&a->rand, a->topics, a->prior_keep, a->prior_other);
    uint32_t at = a->start[document] + (uint32_t)u;
    return a->z[at < own ? at : at + 1];
}

/* c_dk without the token at z[own]. */
static uint32_t count_others(const struct num_lda_alias *a, uint32_t document, uint32_t own,
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
static double word_factor(const struct num_lda_alias *a, uint32_t topic)
{
    return (a->of_word[topic] + a->beta) / ((double)a->of_topic[topic] + a->beta_sum);
}

static uint32_t step_by_word(struct num_lda_alias *a, uint32_t document, uint32_t own, uint32_t s)
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

static uint32_t step_by_document(struct num_lda_alias *a, uint32_t document, uint32_t own,
                                 uint32_t s)
{
    uint32_t t = propose_by_document(a, document, own);

    if (t == s)
        return s;
    return base_rand_unit(&a->rand) * word_factor(a, s) < word_factor(a, t) ? t : s;
}

static void sample_token(struct num_lda_alias *a, uint32_t document, uint32_t own)
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
static void fetch_token(const struct num_lda_alias *a, uint32_t document, uint32_t own)
{
    __builtin_prefetch(a->z + own);
    __builtin_prefetch(a->start + document);
    if (a->of_document != NULL)
        __builtin_prefetch(a->of_document + (size_t)document * a->topics);
}

static void sweep_word(struct num_lda_alias *a, uint32_t low, uint32_t high)
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

void num_lda_alias_sweep(struct num_lda_alias *alias)
{
    for (uint32_t w = 0; w < alias->words; w++)
        if (alias->word_start[w + 1] > alias->word_start[w])
            sweep_word(alias, alias->word_start[w], alias->word_start[w + 1]);
}
