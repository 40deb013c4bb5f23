/* lda_score.c - first topics, and the likelihood of a state.
 *
 * ln p(words, topics) is a sum over segments of ln Gamma(p_k + c_k) - ln Gamma(p_k), and a rising
 * factorial is a product: the token that raises a count from c to c + 1 brings ln(p_k + c). So tokens
 * are gone through once, and a table of logarithms does for all but the longest segments. */
#include "num/lda.h"

#include "num/lda_work.h"
#include <math.h>
#include <string.h>

enum { LOGS = 1024 };

static double log_rise(const struct num_lda_pass *pass, const double *logs, uint32_t topic,
                       uint32_t count)
{
    if (pass->priors != NULL)
        return log((double)pass->priors->value[topic] + count);
    return count < LOGS ? logs[count] : log((double)pass->prior + count);
}

double num_lda_likelihood(const struct num_lda_pass *pass, const struct num_lda_strip *strip,
                          const struct num_lda_tile *tiles, uint32_t tile_count,
                          struct num_lda_work *work)
{
    size_t size = num_lda_format(pass->topics).size;
    double prior_sum =
        pass->priors != NULL ? pass->priors->sum : (double)pass->prior * pass->topics;
    double logs[LOGS], sum = 0;
    uint32_t *count = work->count[0];
    uint8_t *to = work->records;

    for (uint32_t c = 0; c < LOGS; c++)
        logs[c] = log((double)pass->prior + c);
    for (uint32_t i = 0; i < tile_count; i++, to += tiles[i - 1].tokens * size)
        memcpy(to, tiles[i].before, tiles[i].tokens * size);
    for (uint32_t s = 0; s < strip->segments; s++) {
        uint32_t n = strip->start[s + 1] - strip->start[s];
        for (uint32_t i = 0; i < n; i++) {
            uint32_t place = num_lda_place(strip, strip->start[s] + i);
            uint32_t k = num_lda_part(pass->topics, work->records, place, 0);
            work->next[i] = k;
            sum += log_rise(pass, logs, k, count[k]++);
        }
        for (uint32_t i = 0; i < n; i++)
            count[work->next[i]] = 0;
        if (strip->side == NUM_LDA_DOCUMENTS && n > 0)
            sum += lgamma(prior_sum) - lgamma(prior_sum + n);
    }
    return sum;
}

/* Of (seed, strip, position in the strip): all parts of a record evenly from all topics. */
void num_lda_start(const struct num_lda_pass *pass, const struct num_lda_strip *strip,
                   const struct num_lda_tile *tiles, uint32_t tile_count, int32_t *change)
{
    uint32_t steps = num_lda_format(pass->topics).steps, position = 0;
    uint64_t task = num_lda_mixed(num_lda_mixed(pass->seed) ^ strip->index);

    for (uint32_t i = 0; i < tile_count; i++)
        for (uint32_t t = 0; t < tiles[i].tokens; t++, position++) {
            uint32_t parts[NUM_LDA_STEPS_MAX + 1];
            for (uint32_t m = 0; m <= steps; m++) {
                uint64_t x = num_lda_mixed(task + position * (steps + 1ULL) + m);
                parts[m] = (uint32_t)((x >> 32) * pass->topics >> 32);
            }
            num_lda_put(pass->topics, tiles[i].after, t, parts);
            change[parts[0]]++;
        }
}

double num_lda_likelihood_topics(uint32_t topics, const int64_t *c, double beta_sum)
{
    double sum = 0;

    for (uint32_t k = 0; k < topics; k++)
        sum += lgamma(beta_sum) - lgamma(beta_sum + (double)c[k]);
    return sum;
}
