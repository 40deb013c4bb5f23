/* lda_world.h - small corpora for tests of topic models, and how likely an outcome is.
 *
 * Samplers are judged by chi-square against probabilities that were enumerated. Replicates are
 * independent: each starts from its own draw and gives one outcome. */
#ifndef TESTS_LDA_WORLD_H
#define TESTS_LDA_WORLD_H

#include "base/assert.h"
#include "base/rand.h"
#include "num/lda.h"
#include "num/lda_reference.h"
#include "torture.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A chi-square of lower probability than this fails: with fewer than twenty of them in a file, all
 * taken together raise a false alarm for less than one seed in a million. */
#define LDA_P_MIN 5e-8

struct lda_text {
    struct num_corpus corpus;
    uint64_t *start;
    uint32_t *word, *count;
    uint32_t tokens;
};

static inline void *lda_take(size_t count, size_t size)
{
    void *p = calloc(count + 1, size);

    assert_non_null(p);
    return p;
}

/* Words of documents, document after document, each ended by -1; the last by -2. */
static inline struct lda_text lda_text_of(const int *words, uint32_t vocabulary)
{
    struct lda_text t = {0};
    size_t n = 0;

    while (words[n] != -2)
        n++;
    t.start = lda_take(n, sizeof *t.start);
    t.word = lda_take(n, sizeof *t.word);
    t.count = lda_take(n, sizeof *t.count);
    for (size_t i = 0; i < n; i++) {
        if (words[i] < 0) {
            t.start[++t.corpus.documents] = t.tokens;
        } else {
            t.count[t.tokens] = 1;
            t.word[t.tokens++] = (uint32_t)words[i];
        }
    }
    t.corpus.words = vocabulary;
    t.corpus.start = t.start;
    t.corpus.word = t.word;
    t.corpus.count = t.count;
    return t;
}

static inline void lda_text_fini(struct lda_text *t)
{
    free(t->start);
    free(t->word);
    free(t->count);
}

/* Documents of a few planted topics: topic k's words are k * words / topics and the next ones (so they
 * overlap by none), falling as 1 / (rank + 2); a tenth of the tokens are any word. A document has two
 * topics, the first three times as often. */
static inline struct lda_text lda_planted(uint32_t documents, uint32_t length, uint32_t words,
                                          uint32_t topics, uint64_t seed)
{
    struct lda_text t = {0};
    struct base_rand rand;
    uint32_t wide = words / topics;
    double *weight = lda_take(wide, sizeof *weight);

    base_rand_init(&rand, seed, "planted");
    for (uint32_t i = 0; i < wide; i++)
        weight[i] = 1.0 / (i + 2);
    t.start = lda_take(documents, sizeof *t.start);
    t.word = lda_take((size_t)documents * length, sizeof *t.word);
    t.count = lda_take((size_t)documents * length, sizeof *t.count);
    for (uint32_t d = 0; d < documents; d++) {
        uint32_t a = (uint32_t)base_rand_below(&rand, topics);
        uint32_t b = (uint32_t)base_rand_below(&rand, topics);
        for (uint32_t i = 0; i < length; i++) {
            uint32_t k = base_rand_below(&rand, 4) < 3 ? a : b;
            uint32_t w = k * wide + base_rand_weighted(&rand, weight, wide);
            if (base_rand_below(&rand, 10) == 0)
                w = (uint32_t)base_rand_below(&rand, words);
            t.count[t.tokens] = 1;
            t.word[t.tokens++] = w;
        }
        t.start[d + 1] = t.tokens;
    }
    t.corpus = (struct num_corpus){documents, words, t.start, t.word, t.count};
    free(weight);
    return t;
}

/* How well learned topics match the planted ones: the smallest, over planted topics, of the largest
 * share that the words of that topic have in any learned one. of_word (words, topics). */
static inline double lda_recovered(const uint32_t *of_word, uint32_t words, uint32_t topics,
                                   uint32_t planted)
{
    double worst = 1;

    for (uint32_t p = 0; p < planted; p++) {
        double best = 0;
        for (uint32_t k = 0; k < topics; k++) {
            double in = 0, all = 0;
            for (uint32_t w = 0; w < words; w++) {
                double c = of_word[(size_t)w * topics + k];
                all += c;
                in += w / (words / planted) == p ? c : 0;
            }
            best = fmax(best, all > 0 ? in / all : 0);
        }
        worst = fmin(worst, best);
    }
    return worst;
}

/* ---- chi-square ---- */

/* Q(a, x), the probability of more than 2x where chi-square has 2a degrees of freedom: its continued
 * fraction for x > a + 1, else 1 minus the series. */
static inline double lda_gamma_upper(double a, double x)
{
    double factor = exp(a * log(x) - x - lgamma(a));

    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (int n = 1; term > sum * 1e-15; n++)
            sum += term *= x / (a + n);
        return 1 - factor * sum;
    }
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (int i = 1; i < 10000; i++) {
        double an = -i * (i - a);
        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-14)
            break;
    }
    return factor * h;
}

/* Probability of counts this far from p (states; sums to 1). States that are expected less than ten
 * times are taken together; one that cannot be must not have been. fixed: sums of counts that could not
 * come out otherwise, 1 where only n is. */
static inline double lda_chi_square(const double *seen, const double *p, size_t states, double n,
                                    uint32_t fixed)
{
    double sum = 0, rare = 0, rare_seen = 0, degrees = -(double)fixed;

    for (size_t s = 0; s < states; s++) {
        if (p[s] <= 0 && seen[s] > 0)
            return 0;
        if (n * p[s] < 10) {
            rare += n * p[s];
            rare_seen += seen[s];
            continue;
        }
        sum += (seen[s] - n * p[s]) * (seen[s] - n * p[s]) / (n * p[s]);
        degrees++;
    }
    if (rare >= 1) {
        sum += (rare_seen - rare) * (rare_seen - rare) / rare;
        degrees++;
    }
    assert_true(degrees > 0);
    return sum > 0 ? lda_gamma_upper(degrees / 2, sum / 2) : 1;
}

/* ---- the posterior ---- */

static inline size_t lda_state_of(const uint32_t *z, uint32_t tokens, uint32_t topics)
{
    size_t state = 0;

    for (uint32_t i = 0; i < tokens; i++)
        state = state * topics + z[i];
    return state;
}

static inline void lda_state_topics(size_t state, uint32_t tokens, uint32_t topics, uint32_t *z)
{
    for (uint32_t i = tokens; i-- > 0; state /= topics)
        z[i] = (uint32_t)(state % topics);
}

/* p(topics | words) of all topics^tokens states, by enumeration. */
static inline double *lda_posterior(struct num_lda_exact *x, size_t *out_states)
{
    size_t states = (size_t)pow(x->topics, (double)x->tokens);
    double *p = lda_take(states, sizeof *p), top = -INFINITY, sum = 0;
    uint32_t z[32];

    for (size_t s = 0; s < states; s++) {
        lda_state_topics(s, (uint32_t)x->tokens, x->topics, z);
        num_lda_exact_set(x, z);
        p[s] = num_lda_exact_joint(x);
        top = fmax(top, p[s]);
    }
    for (size_t s = 0; s < states; s++)
        sum += p[s] = exp(p[s] - top);
    for (size_t s = 0; s < states; s++)
        p[s] /= sum;
    *out_states = states;
    return p;
}

/* A draw from p by its running sums. */
static inline size_t lda_draw(struct base_rand *rand, const double *sums, size_t states)
{
    double u = base_rand_unit(rand) * sums[states - 1];
    size_t low = 0, high = states - 1;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (sums[middle] > u)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static inline double *lda_sums(const double *p, size_t states)
{
    double *sums = lda_take(states, sizeof *sums), sum = 0;

    for (size_t s = 0; s < states; s++)
        sums[s] = sum += p[s];
    return sums;
}

#endif
