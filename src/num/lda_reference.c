/* lda_reference.c - topic models sampled and judged slowly and plainly, for tests of the fast ways.
 *
 * Collapsed Gibbs sampling (Griffiths and Steyvers 2004): a token of word w in document d goes to topic
 * k with probability proportional to (c_dk + alpha_k) (c_wk + beta) / (c_k + words beta), itself not
 * counted. Each token costs K, and the posterior is exactly where the chain stays. */
#include "num/lda_reference.h"

#include "base/err.h"
#include <math.h>
#include <string.h>

static uint32_t times_of(const struct num_corpus *corpus, uint64_t entry)
{
    return corpus->count != NULL ? corpus->count[entry] : 1;
}

static uint64_t tokens_of(const struct num_corpus *corpus)
{
    uint64_t sum = 0;

    for (uint64_t e = 0; e < corpus->start[corpus->documents]; e++)
        sum += times_of(corpus, e);
    return sum;
}

static void list_tokens(const struct num_corpus *corpus, struct num_lda_exact *exact)
{
    uint64_t at = 0;

    for (uint32_t d = 0; d < corpus->documents; d++) {
        for (uint64_t e = corpus->start[d]; e < corpus->start[d + 1]; e++)
            for (uint32_t i = 0; i < times_of(corpus, e); i++)
                exact->word[at++] = corpus->word[e];
        exact->start[d + 1] = at;
    }
}

shoal_status num_lda_exact_new(const struct base_alloc *alloc, const struct num_corpus *corpus,
                               uint32_t topics, const double *alpha, double beta,
                               struct num_lda_exact **out_exact, shoal_err *err)
{
    struct num_lda_exact *x = base_calloc(alloc, 1, sizeof *x);

    if (x == NULL)
        return base_err_nomem(err, "sampling topics");
    x->alloc = *alloc;
    x->topics = topics;
    x->documents = (uint32_t)corpus->documents;
    x->words = corpus->words;
    x->tokens = tokens_of(corpus);
    x->beta = beta;
    x->room.alloc = &x->alloc;
    BASE_ROOM(&x->room, x->alpha, topics);
    BASE_ROOM_ZERO(&x->room, x->start, (size_t)x->documents + 1);
    BASE_ROOM(&x->room, x->word, (size_t)x->tokens + 1);
    BASE_ROOM_ZERO(&x->room, x->z, (size_t)x->tokens + 1);
    BASE_ROOM(&x->room, x->of_document, ((size_t)x->documents + 1) * topics);
    BASE_ROOM(&x->room, x->of_word, ((size_t)x->words + 1) * topics);
    BASE_ROOM(&x->room, x->of_topic, topics);
    BASE_ROOM(&x->room, x->weight, topics);
    if (base_room_status(&x->room) != SHOAL_OK) {
        num_lda_exact_free(x);
        return base_err_nomem(err, "sampling topics");
    }
    for (uint32_t k = 0; k < topics; k++)
        x->alpha_sum += x->alpha[k] = alpha[k];
    list_tokens(corpus, x);
    num_lda_exact_set(x, x->z);
    *out_exact = x;
    return SHOAL_OK;
}

void num_lda_exact_free(struct num_lda_exact *exact)
{
    if (exact == NULL)
        return;
    struct base_alloc alloc = exact->alloc;
    base_room_fini(&exact->room);
    base_free(&alloc, exact);
}

/* The token's topic is counted, or with -1 not counted. */
static void count(struct num_lda_exact *x, uint32_t document, uint64_t token, int by)
{
    uint32_t k = x->z[token];

    x->of_document[(size_t)document * x->topics + k] += (uint32_t)by;
    x->of_word[(size_t)x->word[token] * x->topics + k] += (uint32_t)by;
    x->of_topic[k] += by;
}

void num_lda_exact_set(struct num_lda_exact *exact, const uint32_t *z)
{
    size_t topics = exact->topics;

    memset(exact->of_document, 0, exact->documents * topics * sizeof *exact->of_document);
    memset(exact->of_word, 0, exact->words * topics * sizeof *exact->of_word);
    memset(exact->of_topic, 0, topics * sizeof *exact->of_topic);
    if (z != exact->z)
        memcpy(exact->z, z, exact->tokens * sizeof *z);
    for (uint32_t d = 0; d < exact->documents; d++)
        for (uint64_t i = exact->start[d]; i < exact->start[d + 1]; i++)
            count(exact, d, i, 1);
}

void num_lda_exact_sweep(struct num_lda_exact *exact, struct base_rand *rand)
{
    double beta_sum = exact->beta * exact->words;

    for (uint32_t d = 0; d < exact->documents; d++) {
        for (uint64_t i = exact->start[d]; i < exact->start[d + 1]; i++) {
            const uint32_t *of_document = exact->of_document + (size_t)d * exact->topics;
            const uint32_t *of_word = exact->of_word + (size_t)exact->word[i] * exact->topics;
            count(exact, d, i, -1);
            for (uint32_t k = 0; k < exact->topics; k++)
                exact->weight[k] = (of_document[k] + exact->alpha[k]) * (of_word[k] + exact->beta) /
                                   ((double)exact->of_topic[k] + beta_sum);
            exact->z[i] = base_rand_weighted(rand, exact->weight, exact->topics);
            count(exact, d, i, 1);
        }
    }
}

double num_lda_exact_joint(const struct num_lda_exact *exact)
{
    double beta_sum = exact->beta * exact->words, sum = 0;

    for (uint32_t d = 0; d < exact->documents; d++) {
        double n = (double)(exact->start[d + 1] - exact->start[d]);
        sum += lgamma(exact->alpha_sum) - lgamma(exact->alpha_sum + n);
        for (uint32_t k = 0; k < exact->topics; k++)
            sum += lgamma(exact->alpha[k] + exact->of_document[(size_t)d * exact->topics + k]) -
                   lgamma(exact->alpha[k]);
    }
    for (uint32_t k = 0; k < exact->topics; k++) {
        sum += lgamma(beta_sum) - lgamma(beta_sum + (double)exact->of_topic[k]);
        for (uint32_t w = 0; w < exact->words; w++)
            sum += lgamma(exact->beta + exact->of_word[(size_t)w * exact->topics + k]) -
                   lgamma(exact->beta);
    }
    return sum;
}

/* ---- completion ---- */

/* One token's shares are added to `next` (topics). */
static void share_token(const double *phi, const double *alpha, uint32_t topics, uint32_t words,
                        uint32_t word, const double *n, double *next)
{
    double sum = 0;

    for (uint32_t k = 0; k < topics; k++)
        sum += (n[k] + alpha[k]) * phi[(size_t)k * words + word];
    for (uint32_t k = 0; k < topics; k++)
        next[k] += (n[k] + alpha[k]) * phi[(size_t)k * words + word] / sum;
}

/* The document's seen tokens, folded in: n (topics). Returns how many. */
static uint64_t fold(const double *phi, const double *alpha, uint32_t topics,
                     const struct num_corpus *held, uint32_t document, double *n, double *next)
{
    uint64_t seen = 0;

    memset(n, 0, topics * sizeof *n);
    for (uint32_t round = 0; round < NUM_LDA_ROUNDS; round++) {
        uint64_t at = 0;
        seen = 0;
        memset(next, 0, topics * sizeof *next);
        for (uint64_t e = held->start[document]; e < held->start[document + 1]; e++)
            for (uint32_t i = 0; i < times_of(held, e); i++, at++)
                if (at % 2 == 0) {
                    share_token(phi, alpha, topics, held->words, held->word[e], n, next);
                    seen++;
                }
        memcpy(n, next, topics * sizeof *n);
    }
    return seen;
}

void num_lda_exact_complete(const double *phi, const double *alpha, uint32_t topics,
                            const struct num_corpus *held, double *work,
                            struct num_lda_held *out_held)
{
    double alpha_sum = 0, *n = work;

    *out_held = (struct num_lda_held){0, 0};
    for (uint32_t k = 0; k < topics; k++)
        alpha_sum += alpha[k];
    for (uint32_t d = 0; d < held->documents; d++) {
        uint64_t seen = fold(phi, alpha, topics, held, d, n, work + topics), at = 0;
        for (uint64_t e = held->start[d]; e < held->start[d + 1]; e++)
            for (uint32_t i = 0; i < times_of(held, e); i++, at++) {
                double p = 0;
                if (at % 2 == 0)
                    continue;
                for (uint32_t k = 0; k < topics; k++)
                    p += (n[k] + alpha[k]) / ((double)seen + alpha_sum) *
                         phi[(size_t)k * held->words + held->word[e]];
                out_held->log_sum += log(p);
                out_held->scored++;
            }
    }
}

/* ---- coherence ---- */

static int has(const struct num_corpus *corpus, uint32_t document, uint32_t word)
{
    for (uint64_t e = corpus->start[document]; e < corpus->start[document + 1]; e++)
        if (corpus->word[e] == word && times_of(corpus, e) > 0)
            return 1;
    return 0;
}

static double both_of(const struct num_corpus *corpus, uint32_t a, uint32_t b)
{
    double sum = 0;

    for (uint32_t d = 0; d < corpus->documents; d++)
        sum += has(corpus, d, a) && has(corpus, d, b);
    return sum;
}

struct num_lda_coherence num_lda_exact_coherence(const struct num_corpus *corpus,
                                                 const uint32_t *word, uint32_t count_of)
{
    struct num_lda_coherence sum = {0, 0, 0};
    double documents = (double)corpus->documents;

    for (uint32_t m = 0; m < count_of; m++) {
        for (uint32_t l = 0; l < m; l++) {
            double with_l = both_of(corpus, word[l], word[l]);
            double with_m = both_of(corpus, word[m], word[m]);
            double both = both_of(corpus, word[l], word[m]);
            if (with_l == 0 || with_m == 0)
                continue;
            sum.pairs++;
            sum.umass += log((both + 1) / with_l);
            if (both == 0 || both == documents)
                sum.npmi += both == 0 ? -1 : 1;
            else
                sum.npmi += log(both * documents / (with_l * with_m)) / log(documents / both);
        }
    }
    if (sum.pairs > 0) {
        sum.umass /= sum.pairs;
        sum.npmi /= sum.pairs;
    }
    return sum;
}
