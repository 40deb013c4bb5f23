/* Tests of src/num/lda_alias.c: the chain stays at the posterior, which is enumerated. */
#include "num/lda_alias.h"

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
    struct num_lda_alias *alias;
    double *p, *sums, *seen;
    size_t states;
};

static struct num_lda_alias *alias_of(const struct lda_text *text, const struct tiny *t,
                                      uint64_t seed)
{
    struct num_lda_alias_opts opts = {t->topics, t->alpha, t->beta, t->steps, seed};
    struct num_lda_alias *alias = NULL;

    assert_int_equal(num_lda_alias_new(&base_alloc_libc, &text->corpus, &opts, &alias, NULL),
                     SHOAL_OK);
    return alias;
}

static struct bench bench_of(const struct tiny *t)
{
    struct bench b = {.text = lda_text_of(t->text, t->words)};

    assert_int_equal(num_lda_exact_new(&base_alloc_libc, &b.text.corpus, t->topics, t->alpha,
                                       t->beta, &b.exact, NULL),
                     SHOAL_OK);
    b.alias = alias_of(&b.text, t, 7);
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
    num_lda_alias_free(b->alias);
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
            num_lda_alias_set(b.alias, z);
            num_lda_alias_sweep(b.alias);
            b.seen[lda_state_of(num_lda_alias_topics(b.alias), b.text.tokens, t->topics)]++;
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
        num_lda_alias_set(b.alias, z);
        for (int sweep = 0; sweep < 100; sweep++)
            num_lda_alias_sweep(b.alias);
        b.seen[lda_state_of(num_lda_alias_topics(b.alias), b.text.tokens, t->topics)]++;
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

static void an_alias_table_gives_each_its_weight(void **state)
{
    struct base_rand rand;
    enum { MAX = 200 };
    double weight[MAX], share[MAX], work[2 * MAX];
    float keep[MAX];
    uint32_t other[MAX];

    (void)state;
    base_rand_init(&rand, 3, "weights");
    for (uint32_t n = 1; n <= MAX; n++) {
        double sum = 0;
        for (uint32_t i = 0; i < n; i++)
            sum += weight[i] = i % 3 == 1 ? 0 : exp(base_rand_normal(&rand, 0, 3));
        num_alias_build(n, weight, keep, other, work);
        memset(share, 0, sizeof share);
        for (uint32_t i = 0; i < n; i++) {
            assert_true(keep[i] >= 0 && keep[i] <= 1 && other[i] < n);
            share[i] += (double)keep[i] / n;
            share[other[i]] += (1 - (double)keep[i]) / n;
        }
        for (uint32_t i = 0; i < n; i++) /* floats keep seven digits of a share of at most 1 / n */
            assert_true(fabs(share[i] - weight[i] / sum) < 1e-7);
    }
}

static void planted_topics_are_found_and_counts_kept(void **state)
{
    struct lda_text text = lda_planted(300, 60, 200, 5, 5);
    double alpha[5] = {0.2, 0.2, 0.2, 0.2, 0.2};
    struct num_lda_alias_opts opts = {5, alpha, 0.05, 1, 9};
    struct num_lda_alias *alias = NULL;
    struct num_lda_exact *exact = NULL;

    (void)state;
    assert_int_equal(num_lda_alias_new(&base_alloc_libc, &text.corpus, &opts, &alias, NULL),
                     SHOAL_OK);
    assert_int_equal(
        num_lda_exact_new(&base_alloc_libc, &text.corpus, 5, alpha, 0.05, &exact, NULL), SHOAL_OK);
    for (int sweep = 0; sweep < 150; sweep++)
        num_lda_alias_sweep(alias);
    num_lda_exact_set(exact, num_lda_alias_topics(alias));
    assert_memory_equal(exact->of_topic, num_lda_alias_totals(alias), 5 * sizeof(int64_t));
    /* A tenth of tokens are of any word, a fifth of which fall on the topic's own; of the best
     * assignment more than nine tenths of a topic are its own words. */
    assert_true(lda_recovered(exact->of_word, 200, 5, 5) > 0.9);
    num_lda_alias_free(alias);
    num_lda_exact_free(exact);
    lda_text_fini(&text);
}

static void equal_seeds_give_equal_topics(void **state)
{
    struct lda_text text = lda_planted(20, 30, 50, 5, 5);
    struct tiny t = {"", 3, 50, {0.1, 0.1, 0.1}, 0.1, 2, {0}};
    struct num_lda_alias *a = alias_of(&text, &t, 4), *b = alias_of(&text, &t, 4);

    (void)state;
    for (int sweep = 0; sweep < 3; sweep++) {
        num_lda_alias_sweep(a);
        num_lda_alias_sweep(b);
    }
    assert_memory_equal(num_lda_alias_topics(a), num_lda_alias_topics(b),
                        text.tokens * sizeof(uint32_t));
    num_lda_alias_free(a);
    num_lda_alias_free(b);
    lda_text_fini(&text);
}

static void a_word_out_of_range_and_short_memory_are_refused(void **state)
{
    static const int words[] = {0, 3, -1, -2}, good[] = {0, 1, -1, 1, -1, -2}, empty[] = {-1, -2};
    struct lda_text bad = lda_text_of(words, 3), fine = lda_text_of(good, 2);
    struct lda_text none = lda_text_of(empty, 2);
    struct num_lda_alias_opts opts = {2, (double[]){1, 1}, 0.1, 1, 1};
    struct num_lda_alias *alias = NULL;
    shoal_err err = {0};

    (void)state;
    assert_int_equal(num_lda_alias_new(&base_alloc_libc, &bad.corpus, &opts, &alias, &err),
                     SHOAL_E_INVAL);
    assert_null(alias);
    for (uint64_t at = 1;; at++) {
        struct base_alloc_track track;
        base_alloc_track_init(&track, &base_alloc_libc);
        track.fail_at = at;
        shoal_status st = num_lda_alias_new(&track.alloc, &fine.corpus, &opts, &alias, &err);
        num_lda_alias_free(alias);
        alias = NULL;
        assert_int_equal(track.live_count, 0);
        if (st == SHOAL_OK)
            break;
        assert_int_equal(st, SHOAL_E_NOMEM);
    }
    assert_int_equal(num_lda_alias_new(&base_alloc_libc, &none.corpus, &opts, &alias, &err),
                     SHOAL_OK);
    num_lda_alias_sweep(alias);
    num_lda_alias_free(alias);
    lda_text_fini(&bad);
    lda_text_fini(&fine);
    lda_text_fini(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sweep_leaves_the_posterior_as_it_is),
        cmocka_unit_test(every_start_ends_at_the_posterior),
        cmocka_unit_test(a_wrong_prior_would_be_seen),
        cmocka_unit_test(an_alias_table_gives_each_its_weight),
        cmocka_unit_test(planted_topics_are_found_and_counts_kept),
        cmocka_unit_test(equal_seeds_give_equal_topics),
        cmocka_unit_test(a_word_out_of_range_and_short_memory_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
