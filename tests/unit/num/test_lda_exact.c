/* Tests of src/num/lda_reference.c, and of the sampler of src/num/lda.c against it: what one task does
 * against enumeration, what many do against collapsed Gibbs sampling. */
#include "lda_delayed.h"
#include "lda_world.h"
#include "num/alias.h"

enum { REPLICATES = 200000 };

static struct num_lda_exact *exact_of(const struct lda_text *text, uint32_t topics,
                                      const double *alpha, double beta)
{
    struct num_lda_exact *x = NULL;

    assert_int_equal(
        num_lda_exact_new(&base_alloc_libc, &text->corpus, topics, alpha, beta, &x, NULL),
        SHOAL_OK);
    return x;
}

/* ---- the reference ---- */

/* ln p(words, topics) is also the sum over tokens of what each was worth when it came. */
static double joint_token_by_token(const struct num_lda_exact *x)
{
    double sum = 0;

    for (uint32_t d = 0; d < x->documents; d++) {
        for (uint64_t i = x->start[d]; i < x->start[d + 1]; i++) {
            double document = 0, word = 0, topic = 0;
            for (uint64_t j = 0; j < i; j++) {
                document += j >= x->start[d] && x->z[j] == x->z[i];
                word += x->word[j] == x->word[i] && x->z[j] == x->z[i];
                topic += x->z[j] == x->z[i];
            }
            sum += log((document + x->alpha[x->z[i]]) / ((double)(i - x->start[d]) + x->alpha_sum));
            sum += log((word + x->beta) / (topic + x->beta * x->words));
        }
    }
    return sum;
}

static void the_joint_is_what_tokens_were_worth_as_they_came(void **state)
{
    struct lda_text text = lda_planted(15, 20, 30, 3, 1);
    double alpha[] = {0.1, 0.7, 2};
    struct num_lda_exact *x = exact_of(&text, 3, alpha, 0.05);
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "gibbs");
    for (int sweep = 0; sweep < 5; sweep++) {
        double a = num_lda_exact_joint(x), b = joint_token_by_token(x);
        assert_true(fabs(a - b) < 1e-9 * fabs(a)); /* some thousand roundings */
        num_lda_exact_sweep(x, &rand);
    }
    num_lda_exact_free(x);
    lda_text_fini(&text);
}

static void a_gibbs_sweep_leaves_the_posterior_as_it_is(void **state)
{
    static const int words[] = {0, 0, 1, -1, 0, 2, 0, -1, -2};
    double alpha[] = {0.2, 1.5, 0.6};
    struct lda_text text = lda_text_of(words, 3);
    struct num_lda_exact *x = exact_of(&text, 3, alpha, 0.1);
    size_t states;
    double *p = lda_posterior(x, &states), *sums = lda_sums(p, states);
    double *seen = lda_take(states, sizeof *seen);
    struct base_rand rand;
    uint32_t z[32];

    (void)state;
    base_rand_init(&rand, 2, "gibbs");
    for (int r = 0; r < REPLICATES; r++) {
        lda_state_topics(lda_draw(&rand, sums, states), text.tokens, 3, z);
        num_lda_exact_set(x, z);
        num_lda_exact_sweep(x, &rand);
        seen[lda_state_of(x->z, text.tokens, 3)]++;
    }
    assert_true(lda_chi_square(seen, p, states, REPLICATES, 1) > LDA_P_MIN);
    free(seen);
    free(sums);
    free(p);
    num_lda_exact_free(x);
    lda_text_fini(&text);
}

/* ---- one task against enumeration ---- */

enum { K = 3 };

/* A word of four tokens, one of them in each of four documents (or a document of four words). */
struct frozen {
    uint32_t n, z[4], proposal[4][2];
    bool uneven;           /* priors that differ by topic */
    double f[K], prior[K]; /* f: g_k, before counts come to it */
};

/* A prior that differs by topic, as a task wants it. */
struct uneven {
    float value[16], keep[K];
    uint32_t other[K];
    struct num_lda_prior prior;
};

static void uneven_init(struct uneven *u)
{
    double weight[K] = {0.1, 0.9, 0.4}, work[2 * K];

    memset(u, 0, sizeof *u);
    num_alias_build(K, weight, u->keep, u->other, work);
    for (uint32_t k = 0; k < K; k++) {
        u->value[k] = (float)weight[k];
        u->prior.sum += weight[k];
    }
    u->prior.value = u->value;
    u->prior.keep = u->keep;
    u->prior.other = u->other;
}

/* f(k) of a token now in topic z. */
static double weight_of(const struct frozen *z, uint32_t token, uint32_t k)
{
    double count = 0;

    for (uint32_t i = 0; i < z->n; i++)
        count += i != token && z->z[i] == k;
    return (count + z->prior[k]) * z->f[k];
}

/* Probabilities of a topic after two proposals, from z, where a topic weighs f. */
static void step_twice(const double *f, uint32_t z, const uint32_t *proposal, double *out)
{
    double next[K];

    memset(out, 0, K * sizeof *out);
    out[z] = 1;
    for (uint32_t m = 0; m < 2; m++) {
        uint32_t t = proposal[m];
        memset(next, 0, sizeof next);
        for (uint32_t s = 0; s < K; s++) {
            double go = fmin(1, f[t] / f[s]);
            next[t] += out[s] * go;
            next[s] += out[s] * (1 - go);
        }
        memcpy(out, next, sizeof next);
    }
}

static void topic_after(const struct frozen *z, uint32_t token, double *out)
{
    double f[K];

    for (uint32_t k = 0; k < K; k++)
        f[k] = weight_of(z, token, k);
    step_twice(f, z->z[token], z->proposal[token], out);
}

/* Of all topics and proposals that tokens may leave with: first topics, then proposals. A state is a
 * number in base K, tokens' topics first, then both proposals of token 0, 1, .. of `told`. */
static double *outcomes_of(const struct frozen *z, uint32_t told, size_t *out_states)
{
    uint32_t digits = z->n + 2 * told, at[12];
    size_t states = (size_t)pow(K, digits);
    double *p = lda_take(states, sizeof *p), after[4][K], sum = 0;

    for (uint32_t i = 0; i < z->n; i++)
        topic_after(z, i, after[i]);
    for (uint32_t k = 0; k < K; k++)
        sum += z->prior[k];
    for (size_t s = 0; s < states; s++) {
        lda_state_topics(s, digits, K, at);
        p[s] = 1;
        for (uint32_t i = 0; i < z->n; i++)
            p[s] *= after[i][at[i]];
        for (uint32_t d = z->n; d < digits; d++) {
            double count = 0;
            for (uint32_t i = 0; i < z->n; i++)
                count += at[i] == at[d];
            p[s] *= (count + z->prior[at[d]]) / (z->n + sum);
        }
    }
    *out_states = states;
    return p;
}

/* A corpus whose first strip of `side` is one segment of n tokens, each in a segment of its own on the
 * other side. */
static struct lda_text one_segment(enum num_lda_side side, uint32_t n)
{
    int words[16];
    uint32_t at = 0;

    for (uint32_t i = 0; i < n; i++) {
        words[at++] = side == NUM_LDA_WORDS ? 0 : (int)i;
        if (side == NUM_LDA_WORDS)
            words[at++] = -1;
    }
    if (side == NUM_LDA_DOCUMENTS)
        words[at++] = -1;
    words[at] = -2;
    return lda_text_of(words, side == NUM_LDA_WORDS ? 1 : n);
}

static double frozen_chi_square(enum num_lda_side side, struct frozen *z, uint32_t told,
                                uint32_t lanes)
{
    struct lda_text text = one_segment(side, z->n);
    struct delayed x = delayed_new(&text.corpus, K, 0.4F, 0.15F, 0, lanes, 1);
    int64_t c[K] = {9, 4, 17}; /* as if there were other tokens */
    uint64_t place[4];
    struct num_lda_strip strip = num_lda_cut_strip(x.cut, side, 0);
    struct num_lda_pass pass = delayed_pass(&x, side);
    struct num_lda_tile tile = {x.records, x.records, z->n};
    struct uneven uneven;
    size_t states;

    assert_int_equal(num_lda_format(K).steps, 2);
    assert_int_equal(strip.tokens, z->n);
    delayed_places(&x, &strip, place);
    uneven_init(&uneven);
    if (z->uneven)
        pass.priors = &uneven.prior;
    num_lda_inverse(K, c, 5, x.inverse);
    num_lda_work_pass(x.work, &pass);
    for (uint32_t k = 0; k < K; k++) {
        z->f[k] = (double)x.inverse[k];
        z->prior[k] = (double)(z->uneven ? uneven.value[k] : pass.prior);
    }
    double *p = outcomes_of(z, told, &states), *seen = lda_take(states, sizeof *seen);
    for (int r = 0; r < REPLICATES; r++) {
        uint32_t at[12], digits = z->n;
        for (uint32_t i = 0; i < z->n; i++) {
            uint32_t parts[] = {z->z[i], z->proposal[i][0], z->proposal[i][1]};
            num_lda_put(K, x.records, place[i], parts);
        }
        pass.seed = (uint64_t)r;
        x.ops->sample(&pass, &strip, &tile, 1, x.work, x.change);
        for (uint32_t i = 0; i < z->n; i++)
            at[i] = num_lda_part(K, x.records, place[i], 0);
        for (uint32_t i = 0; i < told; i++)
            for (uint32_t m = 1; m <= 2; m++)
                at[digits++] = num_lda_part(K, x.records, place[i], m);
        seen[lda_state_of(at, digits, K)]++;
    }
    double chance = lda_chi_square(seen, p, states, REPLICATES, 1);
    free(p);
    free(seen);
    delayed_free(&x);
    lda_text_fini(&text);
    return chance;
}

/* Tokens with proposals of every kind: both elsewhere, the first or the second where it is, both. */
static void a_task_samples_the_frozen_conditional(void **state)
{
    static const uint32_t lanes[] = {1, 8, 16};

    (void)state;
    for (int side = 0; side < 2; side++) {
        for (size_t l = 0; l < BASE_COUNT(lanes); l++) {
            struct frozen four = {
                .n = 4, .z = {0, 2, 2, 1}, .proposal = {{1, 2}, {2, 0}, {0, 2}, {1, 1}}};
            double p = frozen_chi_square((enum num_lda_side)side, &four, 0, lanes[l]);
            print_message("side %d lanes %u: topics p %.3g\n", side, lanes[l], p);
            assert_true(p > LDA_P_MIN);
        }
    }
}

static void a_task_proposes_from_the_topics_it_left(void **state)
{
    (void)state;
    for (int side = 0; side < 2; side++) {
        struct frozen two = {.n = 2, .z = {0, 1}, .proposal = {{1, 2}, {0, 0}}};
        double p = frozen_chi_square((enum num_lda_side)side, &two, 2, 16);
        print_message("side %d: topics and proposals p %.3g\n", side, p);
        assert_true(p > LDA_P_MIN);
    }
}

static void priors_that_differ_are_drawn_from(void **state)
{
    struct frozen two = {.n = 2, .z = {0, 1}, .proposal = {{1, 2}, {0, 0}}, .uneven = true};

    (void)state;
    double p = frozen_chi_square(NUM_LDA_DOCUMENTS, &two, 2, 16);
    print_message("uneven priors: p %.3g\n", p);
    assert_true(p > LDA_P_MIN);
}

/* Long segments have a way of their own. Tokens are independent given the counts, so all tokens that
 * came with the same topic and proposals, a class, are one sample. */
enum { LONG = 9001, CLASSES = K * K * K, RUNS = 40 };

/* Topic and proposals that token i of a long segment comes with. */
static uint32_t long_part(uint32_t i, uint32_t part)
{
    return part == 0 ? i * i % 7 % K : i / (part == 1 ? 3 : 5) % K;
}

static uint32_t long_class(uint32_t i)
{
    return (long_part(i, 0) * K + long_part(i, 1)) * K + long_part(i, 2);
}

/* Probabilities that a token is of a class and leaves with a topic: (CLASSES, K). Returns how many
 * classes there are. */
static uint32_t long_outcomes(const float *inverse, double prior, double *p)
{
    double count[K] = {0}, f[K], after[K];
    uint32_t classes = 0;

    for (uint32_t i = 0; i < LONG; i++)
        count[long_part(i, 0)]++;
    for (uint32_t i = 0; i < LONG; i++) {
        uint32_t z = long_part(i, 0), proposal[] = {long_part(i, 1), long_part(i, 2)};
        for (uint32_t k = 0; k < K; k++)
            f[k] = (count[k] - (k == z) + prior) * (double)inverse[k];
        step_twice(f, z, proposal, after);
        for (uint32_t k = 0; k < K; k++)
            p[long_class(i) * K + k] += after[k] / LONG;
    }
    for (uint32_t i = 0; i < CLASSES; i++)
        classes += p[i * K] + p[i * K + 1] + p[i * K + 2] > 0;
    return classes;
}

static void a_long_segment_samples_the_same(void **state)
{
    uint64_t start[] = {0, 1};
    uint32_t word = 0, times = LONG;
    struct num_corpus corpus = {1, 1, start, &word, &times};
    struct delayed x = delayed_new(&corpus, K, 0.4F, 0.15F, 0, 16, 1);
    struct num_lda_strip strip = num_lda_cut_strip(x.cut, NUM_LDA_WORDS, 0);
    struct num_lda_pass pass = delayed_pass(&x, NUM_LDA_WORDS);
    double seen[CLASSES * K] = {0}, p[CLASSES * K] = {0};
    int64_t c[K] = {6000, 5000, 9000};

    (void)state;
    num_lda_inverse(K, c, 5, x.inverse);
    num_lda_work_pass(x.work, &pass);
    uint32_t classes = long_outcomes(x.inverse, (double)pass.prior, p);
    for (uint32_t run = 0; run < RUNS; run++) {
        struct num_lda_tile tile = {x.records, x.records, LONG};
        for (uint32_t i = 0; i < LONG; i++)
            num_lda_put(K, x.records, i,
                        (uint32_t[]){long_part(i, 0), long_part(i, 1), long_part(i, 2)});
        pass.seed = run;
        x.ops->sample(&pass, &strip, &tile, 1, x.work, x.change);
        for (uint32_t i = 0; i < LONG; i++)
            seen[long_class(i) * K + num_lda_part(K, x.records, i, 0)]++;
    }
    double chance = lda_chi_square(seen, p, BASE_COUNT(p), (double)LONG * RUNS, classes);
    print_message("long segment: p %.3g\n", chance);
    assert_true(chance > LDA_P_MIN);
    delayed_free(&x);
}

/* ---- many tasks against Gibbs sampling ---- */

/* 4,000 tokens, 200 words, 5 topics. */
enum { DOCUMENTS = 100, LENGTH = 40, WORDS = 200, TOPICS = 5, HELD = 60 };
static const double ALPHA[TOPICS] = {0.2, 0.2, 0.2, 0.2, 0.2};
#define BETA 0.05

static double perplexity_of(const uint32_t *of_word, const struct num_corpus *held)
{
    double *phi = lda_take((size_t)TOPICS * WORDS, sizeof *phi), work[2 * TOPICS];
    struct num_lda_held sum;

    for (uint32_t k = 0; k < TOPICS; k++) {
        double total = 0;
        for (uint32_t w = 0; w < WORDS; w++)
            total += of_word[w * TOPICS + k];
        for (uint32_t w = 0; w < WORDS; w++)
            phi[k * WORDS + w] = (of_word[w * TOPICS + k] + BETA) / (total + BETA * WORDS);
    }
    num_lda_exact_complete(phi, ALPHA, TOPICS, held, work, &sum);
    free(phi);
    return num_lda_perplexity(&sum);
}

struct ending {
    double joint, perplexity, recovered; /* means over states, of a token; of the last state */
};

enum { BURN = 150, STATES = 60 };

static struct ending gibbs_ending(const struct lda_text *text, const struct lda_text *held,
                                  uint64_t seed)
{
    struct num_lda_exact *x = exact_of(text, TOPICS, ALPHA, BETA);
    uint32_t *z = lda_take(text->tokens, sizeof *z);
    struct ending e = {0};
    struct base_rand rand;

    base_rand_init(&rand, seed, "gibbs");
    for (uint32_t i = 0; i < text->tokens; i++)
        z[i] = (uint32_t)base_rand_below(&rand, TOPICS);
    num_lda_exact_set(x, z);
    for (int sweep = 0; sweep < BURN + STATES; sweep++) {
        num_lda_exact_sweep(x, &rand);
        if (sweep < BURN)
            continue;
        e.joint += num_lda_exact_joint(x) / STATES / text->tokens;
        e.perplexity += perplexity_of(x->of_word, &held->corpus) / STATES;
    }
    e.recovered = lda_recovered(x->of_word, WORDS, TOPICS, TOPICS);
    num_lda_exact_free(x);
    free(z);
    return e;
}

/* Of a sampler whose beta is off by a factor; it is judged with the right one. */
static struct ending delayed_ending(const struct lda_text *text, const struct lda_text *held,
                                    uint64_t seed, float off)
{
    struct delayed x =
        delayed_new(&text->corpus, TOPICS, (float)ALPHA[0], (float)BETA, 512, 16, seed);
    struct ending e = {0};

    for (int round = 0; round < BURN + STATES; round++) {
        x.beta = off * (float)BETA;
        delayed_clock(&x, NUM_LDA_WORDS);
        delayed_clock(&x, NUM_LDA_DOCUMENTS);
        x.beta = (float)BETA;
        if (round < BURN)
            continue;
        uint32_t *of_word = delayed_words(&x);
        e.joint += delayed_joint(&x) / STATES / text->tokens;
        e.perplexity += perplexity_of(of_word, &held->corpus) / STATES;
        e.recovered = lda_recovered(of_word, WORDS, TOPICS, TOPICS);
        free(of_word);
    }
    delayed_free(&x);
    return e;
}

/* Frozen counts are not the posterior, so this is a band and not a chi-square. Means of SEEDS chains:
 * frozen counts end 0.06 % below Gibbs sampling by the joint and 0.25 % below it by perplexity; means of
 * as many other chains of Gibbs sampling differ by 0.03 % and 0.1 %. */
#define JOINT_BAND      0.002
#define PERPLEXITY_BAND 0.008
enum { SEEDS = 3 };

/* Mean of chains; gibbs: of the reference, else of frozen counts. */
static struct ending mean_ending(const struct lda_text *text, const struct lda_text *held,
                                 bool gibbs, float off)
{
    struct ending mean = {.recovered = 1};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct ending e =
            gibbs ? gibbs_ending(text, held, seed) : delayed_ending(text, held, seed, off);
        mean.joint += e.joint / SEEDS;
        mean.perplexity += e.perplexity / SEEDS;
        mean.recovered = fmin(mean.recovered, e.recovered);
    }
    print_message("%s %.1f: joint %.5f, perplexity %.3f, recovered %.3f\n",
                  gibbs ? "gibbs" : "frozen", (double)off, mean.joint, mean.perplexity,
                  mean.recovered);
    return mean;
}

static bool is_in_band(struct ending e, struct ending gibbs)
{
    return fabs(e.joint - gibbs.joint) < JOINT_BAND * fabs(gibbs.joint) &&
           fabs(e.perplexity - gibbs.perplexity) < PERPLEXITY_BAND * gibbs.perplexity;
}

/* What the band is worth: a sampler whose beta is twice what it should be, or half, is outside. */
static void frozen_counts_end_where_gibbs_sampling_does(void **state)
{
    struct lda_text text = lda_planted(DOCUMENTS, LENGTH, WORDS, TOPICS, 21);
    struct lda_text held = lda_planted(HELD, LENGTH, WORDS, TOPICS, 22);
    struct ending gibbs = mean_ending(&text, &held, true, 1);
    struct ending frozen = mean_ending(&text, &held, false, 1);

    (void)state;
    assert_true(is_in_band(frozen, gibbs));
    assert_true(gibbs.recovered > 0.85 && frozen.recovered > 0.85);
    assert_false(is_in_band(mean_ending(&text, &held, false, 2), gibbs));
    assert_false(is_in_band(mean_ending(&text, &held, false, 0.5F), gibbs));
    lda_text_fini(&text);
    lda_text_fini(&held);
}

static void the_likelihood_of_records_is_the_joint_of_their_counts(void **state)
{
    struct lda_text text = lda_planted(DOCUMENTS, LENGTH, WORDS, TOPICS, 23);
    struct delayed x = delayed_new(&text.corpus, TOPICS, (float)ALPHA[0], (float)BETA, 300, 1, 5);
    struct num_lda_exact *exact = exact_of(&text, TOPICS, ALPHA, BETA);

    (void)state;
    for (int round = 0; round < 3; round++) {
        delayed_clock(&x, NUM_LDA_WORDS);
        delayed_clock(&x, NUM_LDA_DOCUMENTS);
    }
    uint32_t *of_word = delayed_words(&x);
    memcpy(exact->of_word, of_word, (size_t)WORDS * TOPICS * sizeof *of_word);
    memcpy(exact->of_topic, x.c, TOPICS * sizeof *x.c);
    memset(exact->of_document, 0, (size_t)DOCUMENTS * TOPICS * sizeof *exact->of_document);
    for (uint32_t r = 0; r < x.cut->ranges[NUM_LDA_DOCUMENTS]; r++) {
        struct num_lda_strip strip = num_lda_cut_strip(x.cut, NUM_LDA_DOCUMENTS, r);
        uint64_t *place = lda_take(strip.tokens, sizeof *place);
        delayed_places(&x, &strip, place);
        for (uint32_t s = 0; s < strip.segments; s++)
            for (uint32_t i = strip.start[s]; i < strip.start[s + 1]; i++)
                exact->of_document[(strip.first + s) * TOPICS +
                                   num_lda_part(TOPICS, x.records, place[i], 0)]++;
        free(place);
    }
    double a = delayed_joint(&x), b = num_lda_exact_joint(exact);
    assert_true(fabs(a - b) < 1e-7 * fabs(b)); /* priors are floats in records, doubles here */
    free(of_word);
    num_lda_exact_free(exact);
    delayed_free(&x);
    lda_text_fini(&text);
}

static shoal_status make_a_reference(const struct base_alloc *alloc, void *ctx)
{
    const struct lda_text *text = ctx;
    struct num_lda_exact *x = NULL;
    shoal_status st = num_lda_exact_new(alloc, &text->corpus, TOPICS, ALPHA, BETA, &x, NULL);

    num_lda_exact_free(x);
    return st;
}

static void a_reference_without_memory_is_refused(void **state)
{
    struct lda_text text = lda_planted(3, 5, WORDS, TOPICS, 24);

    (void)state;
    torture_run(make_a_reference, &text);
    lda_text_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_joint_is_what_tokens_were_worth_as_they_came),
        cmocka_unit_test(a_gibbs_sweep_leaves_the_posterior_as_it_is),
        cmocka_unit_test(a_task_samples_the_frozen_conditional),
        cmocka_unit_test(a_task_proposes_from_the_topics_it_left),
        cmocka_unit_test(priors_that_differ_are_drawn_from),
        cmocka_unit_test(a_long_segment_samples_the_same),
        cmocka_unit_test(frozen_counts_end_where_gibbs_sampling_does),
        cmocka_unit_test(the_likelihood_of_records_is_the_joint_of_their_counts),
        cmocka_unit_test(a_reference_without_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
