/* Tests of src/num/lda_judge.c, lda_coherence.c and lda_prior.c, against src/num/lda_reference.c. */
#include "num/lda_judge.h"

#include "lda_world.h"

/* A model by hand: random counts, sparse, by word. */
struct sketch {
    struct num_lda_model model;
    uint64_t *start;
    uint32_t *topic, *count;
    int64_t *total;
    double *alpha, *phi; /* phi (topics, words) */
};

static struct sketch sketch_of(uint32_t topics, uint32_t words, uint32_t per_word, uint64_t seed)
{
    struct sketch s = {0};
    struct base_rand rand;
    uint64_t at = 0;
    double beta = 0.02;

    base_rand_init(&rand, seed, "sketch");
    s.start = lda_take((size_t)words + 1, sizeof *s.start);
    s.topic = lda_take((size_t)words * per_word, sizeof *s.topic);
    s.count = lda_take((size_t)words * per_word, sizeof *s.count);
    s.total = lda_take(topics, sizeof *s.total);
    s.alpha = lda_take(topics, sizeof *s.alpha);
    s.phi = lda_take((size_t)topics * words, sizeof *s.phi);
    for (uint32_t w = 0; w < words; w++) {
        uint32_t first = (uint32_t)base_rand_below(&rand, topics);
        for (uint32_t i = 0; i < per_word && i < topics; i++, at++) {
            s.topic[at] = (first + i * (topics / per_word)) % topics;
            s.count[at] = 1 + (uint32_t)base_rand_below(&rand, 40);
            s.total[s.topic[at]] += s.count[at];
            s.phi[(size_t)s.topic[at] * words + w] = s.count[at];
        }
        s.start[w + 1] = at;
    }
    for (uint32_t k = 0; k < topics; k++) {
        s.alpha[k] = base_rand_range(&rand, 0.01, 0.3);
        for (uint32_t w = 0; w < words; w++)
            s.phi[(size_t)k * words + w] =
                (s.phi[(size_t)k * words + w] + beta) / ((double)s.total[k] + beta * words);
    }
    s.model =
        (struct num_lda_model){topics, words, s.start, s.topic, s.count, s.total, s.alpha, beta};
    return s;
}

static void sketch_fini(struct sketch *s)
{
    free(s->start);
    free(s->topic);
    free(s->count);
    free(s->total);
    free(s->alpha);
    free(s->phi);
}

static struct num_lda_judge *judge_of(const struct sketch *s)
{
    struct num_lda_judge *judge = NULL;

    assert_int_equal(num_lda_judge_new(&base_alloc_libc, &s->model, &judge, NULL), SHOAL_OK);
    return judge;
}

/* ---- perplexity ---- */

/* Few topics, all of them in every document; and many, most of them in none. */
static void completion_equals_the_dense_reference(void **state)
{
    static const struct {
        uint32_t topics, per_word;
    } kinds[] = {{1, 1}, {4, 4}, {30, 5}, {700, 3}};
    struct lda_text held = lda_planted(25, 31, 60, 5, 31);

    (void)state;
    for (uint32_t e = 0; e < held.tokens; e++)
        held.count[e] = e % 7 == 0 ? 3 : e % 11 != 0; /* also none */
    for (size_t i = 0; i < BASE_COUNT(kinds); i++) {
        struct sketch s = sketch_of(kinds[i].topics, 60, kinds[i].per_word, i);
        struct num_lda_judge *judge = judge_of(&s);
        struct num_lda_held fast = {0, 0}, slow;
        double *work = lda_take(2 * (size_t)kinds[i].topics, sizeof *work);
        assert_int_equal(num_lda_complete(judge, &held.corpus, 0, 10, &fast, NULL), SHOAL_OK);
        assert_int_equal(num_lda_complete(judge, &held.corpus, 10, 25, &fast, NULL), SHOAL_OK);
        num_lda_exact_complete(s.phi, s.alpha, kinds[i].topics, &held.corpus, work, &slow);
        assert_int_equal(fast.scored, slow.scored);
        /* 50 rounds of sums of some hundred doubles; counts are exact in floats. */
        assert_true(fabs(fast.log_sum - slow.log_sum) < 1e-9 * fabs(slow.log_sum));
        assert_true(num_lda_perplexity(&fast) > 1);
        free(work);
        num_lda_judge_free(judge);
        sketch_fini(&s);
    }
    lda_text_fini(&held);
}

static void a_model_without_tokens_guesses_evenly(void **state)
{
    struct lda_text held = lda_planted(5, 20, 50, 5, 32);
    struct sketch s = sketch_of(6, 50, 2, 1);
    struct num_lda_held sum = {0, 0};

    (void)state;
    memset(s.start, 0, 51 * sizeof *s.start);
    memset(s.total, 0, 6 * sizeof *s.total);
    struct num_lda_judge *judge = judge_of(&s);
    assert_int_equal(num_lda_complete(judge, &held.corpus, 0, 5, &sum, NULL), SHOAL_OK);
    assert_true(fabs(num_lda_perplexity(&sum) - 50) < 1e-9);
    assert_true(num_lda_perplexity(&(struct num_lda_held){0, 0}) == 1);
    num_lda_judge_free(judge);
    sketch_fini(&s);
    lda_text_fini(&held);
}

static void a_folded_document_leans_to_the_topics_of_its_words(void **state)
{
    struct sketch s = sketch_of(40, 60, 1, 5); /* every word has one topic */
    struct num_lda_judge *judge = judge_of(&s);
    uint32_t word[] = {7, 1000, 7, 12}, times[] = {20, 5, 10, 1};
    struct num_lda_mixture m, empty;
    double sum = 0;

    (void)state;
    assert_int_equal(num_lda_fold(judge, word, times, 4, &m, NULL), SHOAL_OK);
    assert_true(m.count >= 1 && m.count <= 2);
    assert_int_equal(m.topic[0], s.topic[7]);
    assert_true(m.share[0] > 0.7);
    for (uint32_t i = 0; i < m.count; i++) {
        assert_true(i == 0 || m.share[i] <= m.share[i - 1]);
        sum += m.share[i];
    }
    assert_true(sum < 1);
    assert_int_equal(num_lda_fold(judge, NULL, NULL, 0, &empty, NULL), SHOAL_OK);
    assert_int_equal(empty.count, 0);
    num_lda_judge_free(judge);
    sketch_fini(&s);
}

/* ---- topics ---- */

static void top_words_fall_and_ties_go_to_the_smaller(void **state)
{
    uint64_t start[] = {0, 2, 4, 5, 7, 8};
    uint32_t topic[] = {0, 1, 0, 2, 0, 0, 1, 0}, count[] = {5, 1, 9, 4, 5, 2, 8, 9};
    int64_t total[] = {30, 9, 4, 0};
    double alpha[] = {1, 1, 1, 1};
    struct num_lda_model model = {4, 5, start, topic, count, total, alpha, 0.1};
    uint32_t word[12], counts[12];
    static const uint32_t wanted[] = {1, 4, 0, 3, 0, ~0U, 1, ~0U, ~0U, ~0U, ~0U, ~0U};

    (void)state;
    num_lda_top_words(&model, 3, word, counts);
    assert_memory_equal(word, wanted, sizeof wanted);
    assert_int_equal(counts[0], 9);
    assert_int_equal(counts[2], 5);
    assert_int_equal(counts[4], 1);
}

static void coherence_equals_counting_documents(void **state)
{
    struct lda_text text = lda_planted(80, 25, 40, 4, 33);
    enum { TOPICS = 6, TOP = 7 };
    uint32_t word[TOPICS * TOP];
    struct num_lda_coherence fast[TOPICS];
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 8, "tops");
    for (uint32_t i = 0; i < TOPICS * TOP; i++)
        word[i] = i / TOP < 4 ? i / TOP * 10 + i % TOP : (uint32_t)base_rand_below(&rand, 40);
    word[5] = (uint32_t)NUM_LDA_NONE;
    memset(word + (TOPICS - 1) * TOP, 0xff, TOP * sizeof *word); /* a topic without words */
    for (uint32_t e = 0; e < text.tokens; e++)
        text.count[e] = text.word[e] != 11; /* a word that is in no document */
    assert_int_equal(
        num_lda_coherence(&base_alloc_libc, &text.corpus, word, TOPICS, TOP, fast, NULL), SHOAL_OK);
    for (uint32_t k = 0; k < TOPICS; k++) {
        struct num_lda_coherence slow =
            num_lda_exact_coherence(&text.corpus, word + (size_t)k * TOP, TOP);
        assert_true(fabs(fast[k].umass - slow.umass) < 1e-12);
        assert_true(fabs(fast[k].npmi - slow.npmi) < 1e-12);
        assert_int_equal(fast[k].pairs, slow.pairs);
    }
    assert_true(fast[0].npmi > 0.1 && fast[0].npmi > fast[4].npmi); /* planted against mixed */
    assert_true(fast[TOPICS - 1].npmi == 0 && fast[TOPICS - 1].umass == 0 &&
                fast[TOPICS - 1].pairs == 0 && fast[0].pairs == (TOP - 1) * (TOP - 2) / 2);
    lda_text_fini(&text);
}

/* ---- priors ---- */

static void bins_are_in_order_and_narrow(void **state)
{
    (void)state;
    for (uint32_t c = 1; c < 100000; c++) {
        uint32_t step = num_lda_bin(c) - num_lda_bin(c - 1);
        assert_true(step <= 1 && (step == 1 || c > 16));
    }
    assert_int_equal(num_lda_bins(0), 1);
    assert_int_equal(num_lda_bin(UINT32_MAX) + 1, num_lda_bins(UINT32_MAX));
    assert_true(num_lda_bins(UINT32_MAX) == 16 + 28 * 8);
}

/* Gamma(a) for a <= 1 by Johnk's way of sums: a beta variable times an exponential one. */
static double draw_gamma(struct base_rand *rand, double a)
{
    for (;;) {
        double x = pow(base_rand_unit(rand), 1 / a), y = pow(base_rand_unit(rand), 1 / (1 - a));
        if (x + y <= 1 && x + y > 0)
            return x / (x + y) * base_rand_exp(rand, 1);
    }
}

/* Documents of `length` tokens from Dirichlet(truth); histograms are filled. */
static void draw_documents(uint32_t documents, uint32_t length, const double *truth,
                           uint32_t topics, uint32_t bins, uint64_t *of_topic, uint64_t *lengths)
{
    struct base_rand rand;
    double theta[8];

    base_rand_init(&rand, 17, "priors");
    for (uint32_t d = 0; d < documents; d++) {
        uint32_t count[8] = {0};
        for (uint32_t k = 0; k < topics; k++)
            theta[k] = draw_gamma(&rand, truth[k]);
        for (uint32_t i = 0; i < length; i++)
            count[base_rand_weighted(&rand, theta, topics)]++;
        for (uint32_t k = 0; k < topics; k++)
            of_topic[k * bins + num_lda_bin(count[k])]++;
        lengths[num_lda_bin(length)]++;
    }
}

static void alpha_is_found_again(void **state)
{
    static const double truth[] = {0.05, 0.4, 0.9};
    double alpha[] = {0.3, 0.3, 0.3, 0.3};
    uint32_t bins = num_lda_bins(60);
    uint64_t of_topic[4 * 64] = {0}, lengths[64] = {0};

    (void)state;
    assert_true(bins <= 64);
    draw_documents(20000, 60, truth, 3, bins, of_topic, lengths);
    of_topic[3 * bins] = 20000; /* a fourth topic that no document has */
    double change = 1;
    for (int step = 0; step < 2000 && change > 1e-7; step++)
        change = num_lda_step_alpha(4, bins, of_topic, lengths, alpha);
    assert_true(change <= 1e-7);
    /* 20,000 documents tell an alpha to about 1.5 %, and bins take a thousandth: 6 % is four of it. */
    for (uint32_t k = 0; k < 3; k++)
        assert_true(fabs(alpha[k] - truth[k]) < 0.06 * truth[k]);
    assert_true(alpha[3] == NUM_LDA_ALPHA_MIN);
    assert_true(num_lda_step_alpha(4, bins, of_topic, (uint64_t[64]){0}, alpha) == 0);
}

/* Words by topics as a Dirichlet-multinomial; its likelihood by beta. */
static double beta_likelihood(const uint32_t *count, uint32_t words, uint32_t topics, double beta)
{
    double sum = 0;

    for (uint32_t k = 0; k < topics; k++) {
        double total = 0;
        for (uint32_t w = 0; w < words; w++) {
            total += count[k * words + w];
            sum += lgamma(beta + count[k * words + w]) - lgamma(beta);
        }
        sum += lgamma(beta * words) - lgamma(beta * words + total);
    }
    return sum;
}

static void beta_climbs_to_the_top_of_the_likelihood(void **state)
{
    enum { WORDS = 50, TOPICS = 20 };
    uint32_t count[TOPICS * WORDS] = {0}, bins = num_lda_bins(15);
    uint64_t pairs[16] = {0};
    int64_t total[TOPICS] = {0};
    struct base_rand rand;
    double beta = 1, last = -INFINITY;

    (void)state;
    base_rand_init(&rand, 19, "beta");
    for (uint32_t i = 0; i < TOPICS * WORDS; i++) {
        count[i] = base_rand_unit(&rand) < 0.3 ? (uint32_t)base_rand_below(&rand, 16) : 0;
        total[i / WORDS] += count[i];
        pairs[num_lda_bin(count[i])]++;
    }
    for (int step = 0; step < 500; step++) {
        double now = beta_likelihood(count, WORDS, TOPICS, beta);
        assert_true(now >= last - 1e-9 * fabs(now)); /* a fixed point from below: it never falls */
        last = now;
        if (num_lda_step_beta(WORDS, bins, pairs, TOPICS, total, &beta) < 1e-9)
            break;
    }
    assert_true(last >= beta_likelihood(count, WORDS, TOPICS, beta * 1.01));
    assert_true(last >= beta_likelihood(count, WORDS, TOPICS, beta / 1.01));
}

/* ---- memory ---- */

struct judged {
    const struct sketch *sketch;
    const struct lda_text *text;
};

static shoal_status judge_all(const struct base_alloc *alloc, void *ctx)
{
    const struct judged *j = ctx;
    struct num_lda_judge *judge = NULL;
    struct num_lda_held sum = {0, 0};
    struct num_lda_mixture mixture;
    struct num_lda_coherence coherence[2];
    uint32_t word[] = {1, 2, 3, 4};
    shoal_status st = num_lda_judge_new(alloc, &j->sketch->model, &judge, NULL);

    if (st == SHOAL_OK)
        st = num_lda_complete(judge, &j->text->corpus, 0, 3, &sum, NULL);
    if (st == SHOAL_OK)
        st = num_lda_fold(judge, word, NULL, 4, &mixture, NULL);
    if (st == SHOAL_OK)
        st = num_lda_coherence(alloc, &j->text->corpus, word, 2, 2, coherence, NULL);
    num_lda_judge_free(judge);
    return st;
}

static void judging_without_memory_is_refused(void **state)
{
    struct sketch s = sketch_of(5, 40, 2, 1);
    struct lda_text text = lda_planted(3, 10, 40, 4, 34);
    struct judged ctx = {&s, &text};

    (void)state;
    torture_run(judge_all, &ctx);
    sketch_fini(&s);
    lda_text_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completion_equals_the_dense_reference),
        cmocka_unit_test(a_model_without_tokens_guesses_evenly),
        cmocka_unit_test(a_folded_document_leans_to_the_topics_of_its_words),
        cmocka_unit_test(top_words_fall_and_ties_go_to_the_smaller),
        cmocka_unit_test(coherence_equals_counting_documents),
        cmocka_unit_test(bins_are_in_order_and_narrow),
        cmocka_unit_test(alpha_is_found_again),
        cmocka_unit_test(beta_climbs_to_the_top_of_the_likelihood),
        cmocka_unit_test(judging_without_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
