/* lda_prior.c - priors of largest likelihood, by Minka's fixed point.
 *
 * Documents with counts c_dk are drawn from a Dirichlet-multinomial; its likelihood rises with
 *     alpha_k <- alpha_k sum_d (psi(alpha_k + c_dk) - psi(alpha_k))
 *                      / sum_d (psi(sum alpha + n_d) - psi(sum alpha)),
 * which needs no more than how many documents have which count. beta is the same with words in the
 * place of topics and topics in that of documents, and one value for all words.
 * T. Minka, "Estimating a Dirichlet distribution" (2000), eq. 55. */
#include "num/lda_judge.h"

#include <math.h>

enum { PLAIN = 16 /* counts below have a bin each */, PARTS = 8 /* of an octave above */ };

uint32_t num_lda_bin(uint32_t count)
{
    if (count < PLAIN)
        return count;
    uint32_t octave = 31 - (uint32_t)__builtin_clz(count); /* 4 and more */
    return PLAIN + (octave - 4) * PARTS + ((count >> (octave - 3)) & (PARTS - 1));
}

uint32_t num_lda_bins(uint32_t count_max)
{
    return num_lda_bin(count_max) + 1;
}

/* The middle of a bin's counts. */
static double middle(uint32_t bin)
{
    if (bin < PLAIN)
        return bin;
    uint32_t octave = 4 + (bin - PLAIN) / PARTS, part = (bin - PLAIN) % PARTS;
    double width = ldexp(1, (int)octave - 3);
    return (PARTS + part) * width + (width - 1) / 2;
}

/* psi(x), x > 0: up to 6 by psi(x) = psi(x + 1) - 1 / x, then the asymptotic series, whose first term
 * left out is below 2e-10. */
static double digamma(double x)
{
    double sum = 0;

    while (x < 6) {
        sum -= 1 / x;
        x += 1;
    }
    double y = 1 / (x * x);
    return sum + log(x) - 0.5 / x -
           y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y / 132))));
}

/* psi(prior + count) - psi(prior); below a bin each exactly, so that tiny priors lose nothing. */
static double rise(double prior, uint32_t bin)
{
    double sum = 0;

    if (bin >= PLAIN)
        return digamma(prior + middle(bin)) - digamma(prior);
    for (uint32_t c = 0; c < bin; c++)
        sum += 1 / (prior + c);
    return sum;
}

double num_lda_step_alpha(uint32_t topics, uint32_t bins, const uint64_t *of_topic,
                          const uint64_t *lengths, double *alpha)
{
    double sum = 0, below = 0, change = 0;

    for (uint32_t k = 0; k < topics; k++)
        sum += alpha[k];
    for (uint32_t b = 1; b < bins; b++)
        if (lengths[b] != 0)
            below += (double)lengths[b] * rise(sum, b);
    if (below <= 0)
        return 0;
    for (uint32_t k = 0; k < topics; k++) {
        double above = 0, before = alpha[k];
        for (uint32_t b = 1; b < bins; b++)
            if (of_topic[(size_t)k * bins + b] != 0)
                above += (double)of_topic[(size_t)k * bins + b] * rise(before, b);
        alpha[k] = fmax(NUM_LDA_ALPHA_MIN, before * above / below);
        change = fmax(change, fabs(alpha[k] - before) / before);
    }
    return change;
}

double num_lda_step_beta(uint32_t words, uint32_t bins, const uint64_t *pairs, uint32_t topics,
                         const int64_t *total, double *beta)
{
    double before = *beta, sum = before * words, above = 0, below = 0;

    for (uint32_t b = 1; b < bins; b++)
        if (pairs[b] != 0)
            above += (double)pairs[b] * rise(before, b);
    for (uint32_t k = 0; k < topics; k++)
        if (total[k] > 0)
            below += digamma(sum + (double)total[k]) - digamma(sum);
    if (below <= 0 || above <= 0)
        return 0;
    *beta = fmax(NUM_LDA_ALPHA_MIN, before * above / (words * below));
    return fabs(*beta - before) / before;
}
