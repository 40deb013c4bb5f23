/* Tests of lda_immediate.h: the chain stays at the posterior, which is enumerated. */
#include "lda_immediate.h"

#include "lda_world.h"

enum { REPLICATES = 200000, REPLICATES_FIXED = 20000 };

struct tiny {
    const char *name;
    uint32_t topics, words;
    double alpha[3], beta;
    uint32_t steps;
    int text[64];
};

/* Empty documents in the last make the sampler count documents' topics instead of keeping counts. */
static const struct tiny TINY[] = {
    {"two topics", 2, 3, {0.5, 0.5}, 0.3, 1, {0, 1, 0, -1, 2, 1, 2, 0, -1, -2}},
    {"three topics, priors that differ",
     3,
     3,
     {0.2, 1.5, 0.6},
     0.1,
     1,
     {0, 0, 1, -1, 0, 2, 0, -1, -2}},
    {"sparse priors, two steps", 3, 2, {0.05, 0.05, 0.05}, 0.05, 2, {0, 0, -1, 0, 1, 0, 0, -1, -2}},
    {"one word", 2, 1, {0.3, 0.1}, 0.5, 1, {0, 0, 0, 0, -1, 0, 0, -1, 0, -1, -2}},
    {"many empty documents", 2, 2, {0.4, 0.4}, 0.2, 1, {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                                        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                                        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                                        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                                        0,  1,  0,  -1, 1,  1,  -1, -2}},
};

struct bench {
    struct lda_text text;
    struct num_lda_exact *exact;
    struct lda_immediate *sampler;
    double *p, *sums, *seen;
    size_t states;
};

static struct lda_immediate *sampler_of(const struct lda_text *text, const struct tiny *t,
                                        uint64_t seed)
{
    struct lda_immediate_opts opts = {t->topics, t->alpha, t->beta, t->steps, seed};

    return lda_immediate_new(&text->corpus, &opts);
}

static struct bench bench_of(const struct tiny *t)
{
    struct bench b = {.text = lda_text_of(t->text, t->words)};

    assert_int_equal(num_lda_exact_new(&base_alloc_libc, &b.text.corpus, t->topics, t->alpha,
                                       t->beta, &b.exact, NULL),
                     SHOAL_OK);
    b.sampler = sampler_of(&b.text, t, 7);
    b.p = lda_posterior(b.exact, &b.states);
    b.sums = lda_sums(b.p, b.states);
    b.seen = lda_take(b.states, sizeof *b.seen);
    return b;
}

static void bench_fini(struct bench *b)
{
    free(b->seen);
    free(b->sums);
    free(b->p);
    lda_immediate_free(b->sampler);
    num_lda_exact_free(b->exact);
    lda_text_fini(&b->text);
}

/* A state drawn from the posterior is, a sweep later, still a draw from the posterior. This sees any
 * error of a ratio at once: chains of many sweeps would forgive some. */
static void a_sweep_leaves_the_posterior_as_it_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(TINY); i++) {
        const struct tiny *t = &TINY[i];
        struct bench b = bench_of(t);
        struct base_rand rand;
        uint32_t z[32];
        base_rand_init(&rand, 11, t->name);
        for (int r = 0; r < REPLICATES; r++) {
            lda_state_topics(lda_draw(&rand, b.sums, b.states), b.text.tokens, t->topics, z);
            lda_immediate_set(b.sampler, z);
            lda_immediate_sweep(b.sampler);
            b.seen[lda_state_of(b.sampler->z, b.text.tokens, t->topics)]++;
        }
        double p = lda_chi_square(b.seen, b.p, b.states, REPLICATES, 1);
        print_message("%s: p %.3g\n", t->name, p);
        assert_true(p > LDA_P_MIN);
        bench_fini(&b);
    }
}

/* 100 sweeps from all tokens in one topic: far more than these chains need to forget it. */
static void every_start_ends_at_the_posterior(void **state)
{
    const struct tiny *t = &TINY[1];
    struct bench b = bench_of(t);
    uint32_t z[32] = {0};

    (void)state;
    for (int r = 0; r < REPLICATES_FIXED; r++) {
        lda_immediate_set(b.sampler, z);
        for (int sweep = 0; sweep < 100; sweep++)
            lda_immediate_sweep(b.sampler);
        b.seen[lda_state_of(b.sampler->z, b.text.tokens, t->topics)]++;
    }
    assert_true(lda_chi_square(b.seen, b.p, b.states, REPLICATES_FIXED, 1) > LDA_P_MIN);
    bench_fini(&b);
}

/* What these chi-squares are worth: a prior that is a fifth too large, in one sweep, is caught. */
static void a_wrong_prior_would_be_seen(void **state)
{
    const struct tiny *t = &TINY[0];
    struct bench b = bench_of(t);
    struct base_rand rand;
    uint32_t z[32];

    (void)state;
    base_rand_init(&rand, 12, "wrong");
    for (int r = 0; r < REPLICATES; r++) {
        lda_state_topics(lda_draw(&rand, b.sums, b.states), b.text.tokens, t->topics, z);
        num_lda_exact_set(b.exact, z);
        b.exact->beta = 1.2 * t->beta;
        num_lda_exact_sweep(b.exact, &rand);
        b.seen[lda_state_of(b.exact->z, b.text.tokens, t->topics)]++;
    }
    assert_true(lda_chi_square(b.seen, b.p, b.states, REPLICATES, 1) < LDA_P_MIN);
    bench_fini(&b);
}

static void planted_topics_are_found_and_counts_kept(void **state)
{
    struct lda_text text = lda_planted(300, 60, 200, 5, 5);
    double alpha[5] = {0.2, 0.2, 0.2, 0.2, 0.2};
    struct lda_immediate_opts opts = {5, alpha, 0.05, 1, 9};
    struct lda_immediate *sampler = lda_immediate_new(&text.corpus, &opts);
    struct num_lda_exact *exact = NULL;

    (void)state;
    assert_int_equal(
        num_lda_exact_new(&base_alloc_libc, &text.corpus, 5, alpha, 0.05, &exact, NULL), SHOAL_OK);
    for (int sweep = 0; sweep < 150; sweep++)
        lda_immediate_sweep(sampler);
    num_lda_exact_set(exact, sampler->z);
    assert_memory_equal(exact->of_topic, sampler->of_topic, 5 * sizeof(int64_t));
    /* A tenth of tokens are of any word, a fifth of which fall on the topic's own; of the best
     * assignment more than nine tenths of a topic are its own words. */
    assert_true(lda_recovered(exact->of_word, 200, 5, 5) > 0.9);
    lda_immediate_free(sampler);
    num_lda_exact_free(exact);
    lda_text_fini(&text);
}

static void equal_seeds_give_equal_topics(void **state)
{
    struct lda_text text = lda_planted(20, 30, 50, 5, 5);
    struct tiny t = {"", 3, 50, {0.1, 0.1, 0.1}, 0.1, 2, {0}};
    struct lda_immediate *a = sampler_of(&text, &t, 4), *b = sampler_of(&text, &t, 4);

    (void)state;
    for (int sweep = 0; sweep < 3; sweep++) {
        lda_immediate_sweep(a);
        lda_immediate_sweep(b);
    }
    assert_memory_equal(a->z, b->z, text.tokens * sizeof(uint32_t));
    lda_immediate_free(a);
    lda_immediate_free(b);
    lda_text_fini(&text);
}

static void empty_documents_are_gone_through(void **state)
{
    static const int empty[] = {-1, -2};
    struct lda_text none = lda_text_of(empty, 2);
    struct lda_immediate *x = lda_immediate_new(
        &none.corpus, &(struct lda_immediate_opts){2, (double[]){1, 1}, 0.1, 1, 1});

    (void)state;
    lda_immediate_sweep(x);
    lda_immediate_free(x);
    lda_text_fini(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sweep_leaves_the_posterior_as_it_is),
        cmocka_unit_test(every_start_ends_at_the_posterior),
        cmocka_unit_test(a_wrong_prior_would_be_seen),
        cmocka_unit_test(planted_topics_are_found_and_counts_kept),
        cmocka_unit_test(equal_seeds_give_equal_topics),
        cmocka_unit_test(empty_documents_are_gone_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
