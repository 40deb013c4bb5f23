/* Tests of src/gen/corpus.c. */
#include "unit/data/corpus_world.h"

#include "torture.h"
#include "unit/gen/gen_world.h"
#include <math.h>

static shoal_gen_corpus_opts defaults(void)
{
    shoal_gen_corpus_opts opts;

    shoal_gen_corpus_opts_init(&opts);
    return opts;
}

static void write_corpus(shoal_env *env, const shoal_gen_corpus_opts *given, uint32_t format,
                         uint32_t threads, struct gathered *out)
{
    shoal_gen_corpus_opts opts = *given;
    const char *truth = given->to.truth;

    opts.struct_size = sizeof opts;
    opts.format = format;
    opts.threads = threads;
    opts.to = gather_to(out);
    opts.to.truth = truth;
    MAKE(corpus, env, &opts);
}

/* Written and read. */
static void load_corpus(shoal_env *env, const shoal_gen_corpus_opts *given, uint32_t format,
                        uint32_t threads, struct data_corpus *out)
{
    shoal_gen_corpus_opts opts = *given;

    opts.struct_size = sizeof opts;
    opts.format = format;
    opts.threads = threads;
    opts.to.output = "c";
    MAKE(corpus, env, &opts);
    corpus_load_in(env, "c", NULL, out);
}

static const shoal_gen_corpus_opts shapes[] = {
    {.documents = 1000,
     .words = 5000,
     .topics = 20,
     .mixed = 3,
     .length = 100,
     .spread = 0.6,
     .background = 0.2,
     .seed = 1},
    {.documents = 3, .words = 1, .topics = 1, .mixed = 1, .length = 1},
    {.documents = 40, .words = 7, .topics = 300, .mixed = 256, .length = 900, .spread = 2},
    {.documents = 500, .words = 100000, .topics = 4, .mixed = 1, .length = 30, .background = 1},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void text_bags_and_binary_hold_the_same_documents(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        struct data_corpus bags, other;
        load_corpus(env, &shapes[i], SHOAL_GEN_UCI, 3, &bags);
        assert_proper(&bags);
        assert_int_equal(bags.x.documents, shapes[i].documents);
        load_corpus(env, &shapes[i], SHOAL_GEN_BINARY, 1, &other);
        assert_same_corpus(&bags, &other);
        data_corpus_fini(&other);
        load_corpus(env, &shapes[i], SHOAL_GEN_TEXT, 2, &other);
        assert_proper(&other);
        assert_int_equal(other.x.documents, bags.x.documents);
        assert_int_equal(other.entries, bags.entries);
        assert_int_equal(other.tokens, bags.tokens);
        data_corpus_fini(&other);
        data_corpus_fini(&bags);
    }
    shoal_env_free(env);
}

static void bytes_do_not_depend_on_threads_and_are_those_of_every_machine(void **state)
{
    static const uint64_t golden[] = {
        [SHOAL_GEN_UCI] = 0x2c5c69ac45bacaa1u, [SHOAL_GEN_TEXT] = 0x3712d8c541329fa4u};
    shoal_gen_corpus_opts opts = defaults();
    shoal_env *env = NULL;

    (void)state;
    opts.documents = 5000;
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    for (uint32_t format = SHOAL_GEN_UCI; format <= SHOAL_GEN_TEXT; format++) {
        struct gathered one, four;
        write_corpus(env, &opts, format, 1, &one);
        write_corpus(env, &opts, format, 4, &four);
        assert_same_gathered(&one, &four, golden[format]);
    }
    shoal_env_free(env);
}

static void lengths_have_the_asked_mean(void **state)
{
    shoal_gen_corpus_opts opts = defaults();
    shoal_env *env = world_new();

    (void)state;
    opts.documents = 20000;
    for (int i = 0; i < 3; i++) {
        struct data_corpus c;
        opts.spread = 0.5 * i;
        load_corpus(env, &opts, SHOAL_GEN_BINARY, 1, &c);
        double mean = (double)c.tokens / (double)c.x.documents;
        /* The deviation of the mean is below 1 %; lengths past ten means are cut. */
        assert_true(fabs(mean - opts.length) < 0.03 * opts.length);
        data_corpus_fini(&c);
    }
    shoal_env_free(env);
}

enum { WORDS = 300, TOPICS = 5 };

/* What the file of the truth says: how often a topic and its words come. */
struct truth {
    double topic[TOPICS], word[TOPICS][WORDS];
};

static void read_truth(shoal_env *env, struct truth *out)
{
    struct base_buf text;
    char *at;

    *out = (struct truth){0};
    base_buf_init(&text, &base_alloc_libc, 1 << 24);
    assert_int_equal(env_read_whole(env, "truth", &text, NULL), SHOAL_OK);
    at = text.data;
    for (unsigned k = 0; k < TOPICS; k++) {
        double sum = 0, before = 1;
        assert_int_equal(strtoul(at, &at, 10), k + 1);
        out->topic[k] = strtod(at, &at);
        while (*at == ' ') {
            unsigned long word = strtoul(at, &at, 10);
            assert_in_range(word, 1, WORDS);
            assert_int_equal(*at++, ':');
            double share = strtod(at, &at);
            assert_true(share > 0 && share <= before * 1.0001);
            out->word[k][word - 1] = before = share;
            sum += share;
        }
        assert_true(fabs(sum - 1) < 1e-4);
        assert_int_equal(*at++, '\n');
    }
    assert_int_equal(*at, '\0');
    base_buf_fini(&text);
}

/* How often a word occurs follows from the truth alone: the chi-square of words, pooled so that each is expected
 * at least five times. A document has one topic and all have the same length, so that only how many documents a
 * topic has is by chance: the 80 and more tokens of a document are counted as one draw of it. */
static void words_occur_as_often_as_the_truth_says(void **state)
{
    shoal_gen_corpus_opts opts = defaults();
    shoal_env *env = world_new();
    struct data_corpus c;
    struct truth truth;
    double found[WORDS] = {0}, mass[TOPICS] = {0}, square = 0, pool = 0, pooled = 0;
    int classes = 0;

    (void)state;
    opts.documents = 4000;
    opts.words = WORDS;
    opts.topics = TOPICS;
    opts.mixed = 1;
    opts.background = 0;
    opts.to.truth = "truth";
    load_corpus(env, &opts, SHOAL_GEN_BINARY, 1, &c);
    read_truth(env, &truth);
    for (uint64_t d = 0; d < c.x.documents; d++) {
        double length = 0, most = -INFINITY;
        uint32_t topic = 0;
        for (uint32_t k = 0; k < TOPICS; k++) { /* the one that explains it */
            double likely = 0;
            for (uint64_t i = c.x.start[d]; i < c.x.start[d + 1]; i++)
                likely += c.x.count[i] * log(truth.word[k][c.x.word[i]]);
            topic = likely > most ? k : topic;
            most = fmax(most, likely);
        }
        assert_true(isfinite(most)); /* there is one */
        for (uint64_t i = c.x.start[d]; i < c.x.start[d + 1]; i++) {
            length += c.x.count[i];
            found[c.x.word[i]] += c.x.count[i];
        }
        mass[topic] += length;
    }
    for (uint32_t k = 0; k < TOPICS; k++) /* six deviations, of 4,000 draws of different lengths */
        assert_true(fabs(mass[k] / (double)c.tokens - truth.topic[k]) < 0.06);
    for (uint32_t w = 0; w < WORDS; w++) {
        for (uint32_t k = 0; k < TOPICS; k++)
            pool += mass[k] * truth.word[k][w];
        pooled += found[w];
        if (pool < 5)
            continue;
        square += (pooled - pool) * (pooled - pool) / pool;
        pool = pooled = 0;
        classes++;
    }
    /* Six deviations of a chi-square with as many degrees of freedom. */
    assert_true(classes > 50 && square < classes + 6 * sqrt(2.0 * classes));
    data_corpus_fini(&c);
    shoal_env_free(env);
}

/* Rank r of the words that are everywhere with probability about 1 / (r + 10). */
static void the_background_follows_its_power_law(void **state)
{
    shoal_gen_corpus_opts opts = defaults();
    shoal_env *env = world_new();
    struct data_corpus c;
    double found[WORDS] = {0}, most = 0, sum = 0;

    (void)state;
    opts.documents = 4000;
    opts.words = WORDS;
    opts.background = 1;
    load_corpus(env, &opts, SHOAL_GEN_BINARY, 1, &c);
    for (uint64_t i = 0; i < c.entries; i++)
        found[c.x.word[i]] += c.x.count[i];
    for (uint32_t w = 0; w < WORDS; w++) {
        assert_true(found[w] > 0);
        most = fmax(most, found[w]);
        sum += log(1 + (w + 1) / 10.0) - log(1 + w / 10.0);
    }
    assert_true(fabs(most / (double)c.tokens * sum / log(1.1) - 1) < 0.03);
    data_corpus_fini(&c);
    shoal_env_free(env);
}

static void options_out_of_range_are_refused_in_words(void **state)
{
    enum { BAD = 9 };
    shoal_gen_corpus_opts bad[BAD];
    const shoal_result *result = NULL;
    shoal_env *env = world_new();
    struct gathered g;

    (void)state;
    for (int i = 0; i < BAD; i++) {
        bad[i] = defaults();
        bad[i].to = gather_to(&g);
    }
    bad[0].documents = 0;
    bad[1].words = 0;
    bad[2].topics = 0;
    bad[3].mixed = 257;
    bad[4].length = 0.5;
    bad[5].spread = (double)NAN;
    bad[6].background = 1.1;
    bad[7].words = UINT32_MAX;
    bad[8].format = SHOAL_GEN_BINARY;
    for (int i = 0; i < BAD; i++) {
        shoal_err err = SHOAL_ERR_INIT;
        assert_int_equal(shoal_gen_corpus(env, &bad[i], NULL, &result, &err), SHOAL_E_INVAL);
        assert_true(err.message[0] != '\0');
    }
    assert_int_equal(g.pieces, 0);
    shoal_env_free(env);
}

static void a_reader_that_leaves_and_a_wish_to_stop_end_the_work(void **state)
{
    shoal_gen_corpus_opts opts = defaults();
    const shoal_result *result = NULL;
    shoal_env *env = world_new();
    shoal_watch *watch = shoal_watch_new();
    struct gathered g;

    (void)state;
    opts.to = gather_to(&g);
    g.fail_at = 2;
    assert_int_equal(shoal_gen_corpus(env, &opts, NULL, &result, NULL), SHOAL_E_IO);
    shoal_watch_stop(watch);
    assert_int_equal(shoal_gen_corpus(env, &opts, watch, &result, NULL), SHOAL_E_CANCELLED);
    opts.to.output = "b";
    opts.format = SHOAL_GEN_BINARY;
    assert_int_equal(shoal_gen_corpus(env, &opts, watch, &result, NULL), SHOAL_E_CANCELLED);
    assert_null(env_sim_find(env, "b"));
    base_buf_fini(&g.text);
    shoal_watch_free(watch);
    shoal_env_free(env);
}

static shoal_status make_all(const struct base_alloc *alloc, void *ctx)
{
    shoal_gen_corpus_opts opts = defaults();
    shoal_env *env = ctx;
    const struct base_alloc *before = env->alloc;
    shoal_status st = SHOAL_OK;

    opts.documents = 4;
    opts.length = 5;
    opts.words = 60;
    opts.to.output = "b";
    opts.to.truth = "t";
    env->alloc = alloc;
    for (opts.format = 0; opts.format <= SHOAL_GEN_BINARY && st == SHOAL_OK; opts.format++) {
        const shoal_result *result = NULL;
        st = shoal_gen_corpus(env, &opts, NULL, &result, NULL);
        shoal_result_free(result);
    }
    env->alloc = before;
    return st;
}

static void every_failed_allocation_leaves_a_clean_error(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    torture_run(make_all, env);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_bags_and_binary_hold_the_same_documents),
        cmocka_unit_test(bytes_do_not_depend_on_threads_and_are_those_of_every_machine),
        cmocka_unit_test(lengths_have_the_asked_mean),
        cmocka_unit_test(words_occur_as_often_as_the_truth_says),
        cmocka_unit_test(the_background_follows_its_power_law),
        cmocka_unit_test(options_out_of_range_are_refused_in_words),
        cmocka_unit_test(a_reader_that_leaves_and_a_wish_to_stop_end_the_work),
        cmocka_unit_test(every_failed_allocation_leaves_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
