/* lda_world.h - jobs of `lda` in simulation, on documents with planted topics. */
#ifndef TESTS_LDA_WORLD_H
#define TESTS_LDA_WORLD_H

#include "app/app.h"
#include "app/lda.h"
#include "property.h"
#include "torture.h"
#include "unit/train/cluster.h"
#include <math.h>

/* Topic t is WORDS_OF words of its own, all as likely; a document has two topics. */
enum { TOPICS = 5, WORDS_OF = 12, VOCABULARY = TOPICS * WORDS_OF };

struct world {
    uint32_t documents, length;
    const double
        *alpha; /* (TOPICS), below 1: of the Dirichlet that documents come from; NULL: two topics */
};
static const struct world WORLD = {.documents = 300, .length = 40};

/* Gamma(a) for a < 1 by Johnk: a beta variable times an exponential one. */
static double draw_gamma(struct base_rand *rand, double a)
{
    for (;;) {
        double x = pow(base_rand_unit(rand), 1 / a), y = pow(base_rand_unit(rand), 1 / (1 - a));
        if (x + y <= 1 && x + y > 0)
            return x / (x + y) * base_rand_exp(rand, 1);
    }
}

/* Shares of topics in a document. */
static void draw_shares(struct base_rand *rand, const struct world *w, double *share)
{
    for (uint32_t t = 0; t < TOPICS; t++)
        share[t] = w->alpha != NULL ? draw_gamma(rand, w->alpha[t]) : 0;
    for (uint32_t i = 0; i < 2 && w->alpha == NULL; i++)
        share[base_rand_below(rand, TOPICS)] += 1;
}

/* The job's data: cluster.h calls it "". Bag of words, every third document in one piece less. */
static void put_corpus(shoal_env *env, const struct world *w)
{
    uint32_t *count = calloc((size_t)w->documents * VOCABULARY, sizeof *count), entries = 0;
    struct base_rand rand;
    struct base_buf text;

    base_rand_init(&rand, 5, "planted");
    base_buf_init(&text, env_alloc(env), 1 << 24);
    for (uint32_t d = 0; d < w->documents; d++) {
        double share[TOPICS];
        draw_shares(&rand, w, share);
        uint32_t length = d % 17 == 5 ? 0 : 1 + (uint32_t)base_rand_below(&rand, 2 * w->length);
        for (uint32_t i = 0; i < length; i++)
            count[d * VOCABULARY + base_rand_weighted(&rand, share, TOPICS) * WORDS_OF +
                  base_rand_below(&rand, WORDS_OF)]++;
    }
    for (uint32_t i = 0; i < w->documents * VOCABULARY; i++)
        entries += count[i] > 0;
    base_buf_printf(&text, "%u\n%d\n%u\n", w->documents, VOCABULARY, entries);
    for (uint32_t i = 0; i < w->documents * VOCABULARY; i++)
        if (count[i] > 0)
            base_buf_printf(&text, "%u %u %u\n", i / VOCABULARY + 1, i % VOCABULARY + 1, count[i]);
    assert_int_equal(env_sim_put(env, "", text.data, text.size), SHOAL_OK);
    base_buf_fini(&text);
    free(count);
}

/* A world with these documents as its data; what shall happen in it is set before. */
static void make_cluster(struct cluster *c, uint64_t seed, const struct world *w)
{
    c->threads = 1 + (uint32_t)(seed % 2);
    cluster_begin(c, seed);
    put_corpus(c->env, w);
}

static void run(struct cluster *c, uint64_t seed, const char *settings)
{
    cluster_run(c, app_find("lda"), settings, 10000);
    if (!c->over || c->status != SHOAL_OK)
        fail_msg("seed %llu, %s: %s", (unsigned long long)seed, settings,
                 c->over ? c->err.message : "did not end");
    assert_int_equal(train_master_stats(c->master).violations, 0);
}

/* What happened is added to `sum`; NULL: forgotten. */
static void end(struct cluster *c, struct cluster_count *sum)
{
    if (sum != NULL)
        cluster_add(sum, &c->count);
    cluster_free(c);
}

#endif
