/* Tests of src/data/gen_corpus.c. */
#include "unit/data/corpus_world.h"

#include "data/gen.h"
#include "torture.h"
#include <math.h>

struct gathered {
    struct base_buf text;
    uint64_t pieces, fail_at;
};

static shoal_status gather(void *ctx, const char *text, size_t size, shoal_err *err)
{
    struct gathered *g = ctx;

    (void)err;
    if (++g->pieces == g->fail_at)
        return SHOAL_E_IO;
    base_buf_append(&g->text, text, size);
    return base_buf_status(&g->text);
}

static void gathered_init(struct gathered *g)
{
    *g = (struct gathered){0};
    base_buf_init(&g->text, &base_alloc_libc, SIZE_MAX / 2);
}

static uint64_t hash(const char *text, size_t size)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < size; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    return h;
}

static struct data_gen_corpus *new_corpus(const struct data_gen_corpus_opts *opts)
{
    struct data_gen_corpus *gen = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    if (data_gen_corpus_new(&base_alloc_libc, opts, &gen, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    return gen;
}

static void write_corpus(shoal_env *env, const struct data_gen_corpus *gen, bool uci,
                         uint32_t threads, struct gathered *out)
{
    struct data_sink sink = {gather, out};
    struct data_gen_run run = {.threads = threads};
    uint64_t tokens = 0;

    gathered_init(out);
    assert_int_equal(data_gen_corpus_write(env, gen, uci, &run, &sink, &tokens, NULL), SHOAL_OK);
    assert_true(tokens > 0);
}

static const struct data_gen_corpus_opts shapes[] = {
    DATA_GEN_CORPUS_OPTS,
    {.documents = 3, .words = 1, .topics = 1, .mixed = 1, .length = 1},
    {.documents = 40, .words = 7, .topics = 300, .mixed = 256, .length = 900, .spread = 2},
    {.documents = 500, .words = 100000, .topics = 4, .mixed = 1, .length = 30, .background = 1},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void memory_text_bags_and_binary_hold_the_same_documents(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        struct data_gen_corpus *gen = new_corpus(&shapes[i]);
        struct data_corpus filled, loaded;
        struct gathered g;
        uint64_t tokens = 0, bytes = 0;
        assert_int_equal(data_gen_corpus_fill(env, gen, NULL, &filled, NULL), SHOAL_OK);
        assert_proper(&filled);
        assert_int_equal(filled.x.documents, shapes[i].documents);
        write_corpus(env, gen, true, 3, &g);
        assert_int_equal(env_sim_put(env, "u", g.text.data, g.text.size), SHOAL_OK);
        base_buf_fini(&g.text);
        corpus_load_in(env, "u", NULL, &loaded);
        assert_same_corpus(&filled, &loaded);
        data_corpus_fini(&loaded);
        assert_int_equal(data_gen_corpus_save(env, gen, NULL, "b", &tokens, &bytes, NULL),
                         SHOAL_OK);
        assert_int_equal(tokens, filled.tokens);
        corpus_load_in(env, "b", NULL, &loaded);
        assert_same_corpus(&filled, &loaded);
        data_corpus_fini(&loaded);
        write_corpus(env, gen, false, 2, &g);
        assert_int_equal(env_sim_put(env, "t", g.text.data, g.text.size), SHOAL_OK);
        base_buf_fini(&g.text);
        corpus_load_in(env, "t", NULL, &loaded);
        assert_proper(&loaded);
        assert_int_equal(loaded.x.documents, filled.x.documents);
        assert_int_equal(loaded.entries, filled.entries);
        assert_int_equal(loaded.tokens, filled.tokens);
        data_corpus_fini(&loaded);
        data_corpus_fini(&filled);
        data_gen_corpus_free(gen);
    }
    shoal_env_free(env);
}

static void bytes_do_not_depend_on_threads_and_are_those_of_every_machine(void **state)
{
    static const uint64_t golden[2] = {0x3712d8c541329fa4u, 0x2c5c69ac45bacaa1u};
    struct data_gen_corpus_opts opts = DATA_GEN_CORPUS_OPTS;
    shoal_env *env = NULL;

    (void)state;
    opts.documents = 5000;
    struct data_gen_corpus *gen = new_corpus(&opts);
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    for (int uci = 0; uci < 2; uci++) {
        struct gathered one, four;
        write_corpus(env, gen, uci != 0, 1, &one);
        write_corpus(env, gen, uci != 0, 4, &four);
        assert_int_equal(one.text.size, four.text.size);
        assert_memory_equal(one.text.data, four.text.data, one.text.size);
        assert_true(four.pieces > 4);
        assert_int_equal(hash(one.text.data, one.text.size), golden[uci]);
        base_buf_fini(&one.text);
        base_buf_fini(&four.text);
    }
    data_gen_corpus_free(gen);
    shoal_env_free(env);
}

static void lengths_have_the_asked_mean(void **state)
{
    struct data_gen_corpus_opts opts = DATA_GEN_CORPUS_OPTS;
    shoal_env *env = world_new();

    (void)state;
    opts.documents = 20000;
    for (int i = 0; i < 3; i++) {
        struct data_corpus c;
        opts.spread = 0.5 * i;
        struct data_gen_corpus *gen = new_corpus(&opts);
        assert_int_equal(data_gen_corpus_fill(env, gen, NULL, &c, NULL), SHOAL_OK);
        double mean = (double)c.tokens / (double)c.x.documents;
        /* The deviation of the mean is below 1 %; lengths past ten means are cut. */
        assert_true(fabs(mean - opts.length) < 0.03 * opts.length);
        data_corpus_fini(&c);
        data_gen_corpus_free(gen);
    }
    shoal_env_free(env);
}

static void shares_of_a_topic_are_probabilities_by_rank(void **state)
{
    struct data_gen_corpus_opts opts = DATA_GEN_CORPUS_OPTS;
    struct data_gen_corpus *gen = new_corpus(&opts);

    (void)state;
    for (uint32_t k = 0; k < opts.topics + 1; k++) {
        uint32_t topic = k < opts.topics ? k : DATA_GEN_BACKGROUND;
        double sum = 0;
        for (uint32_t w = 0; w < opts.words; w++)
            sum += data_gen_corpus_share(gen, topic, w);
        assert_true(fabs(sum - 1) < 1e-9);
    }
    for (uint32_t k = 0; k < opts.topics; k++) {
        double before = 1;
        for (uint32_t r = 0; r < 100; r++) {
            double share = data_gen_corpus_share(gen, k, data_gen_corpus_word(gen, k, r));
            assert_true(share > 0 && share <= before * 1.0001);
            before = share;
        }
    }
    data_gen_corpus_free(gen);
}

/* How often a word occurs follows from the truth alone: the chi-square of words, pooled so that each
 * is expected at least five times, of a corpus and the mixtures that it was made from. */
static void words_occur_as_often_as_the_truth_says(void **state)
{
    struct data_gen_corpus_opts opts = DATA_GEN_CORPUS_OPTS;
    shoal_env *env = world_new();
    struct data_corpus c;
    uint32_t topic[8];
    double weight[8], square = 0, pool = 0, pooled = 0;

    (void)state;
    opts.documents = 4000;
    opts.words = 300;
    opts.topics = 5;
    struct data_gen_corpus *gen = new_corpus(&opts);
    assert_int_equal(data_gen_corpus_fill(env, gen, NULL, &c, NULL), SHOAL_OK);
    double *expected = calloc(opts.words, sizeof *expected), mass[5] = {0}, found[300] = {0};
    for (uint64_t d = 0; d < c.x.documents; d++) {
        uint32_t count = data_gen_corpus_mixture(gen, d, topic, weight);
        double length = 0;
        assert_true(count >= 1 && count <= 5);
        for (uint64_t i = c.x.start[d]; i < c.x.start[d + 1]; i++) {
            length += c.x.count[i];
            found[c.x.word[i]] += c.x.count[i];
        }
        for (uint32_t i = 0; i < count; i++)
            mass[topic[i]] += weight[i] * length * (1 - opts.background);
    }
    for (uint32_t w = 0; w < opts.words; w++) {
        expected[w] =
            (double)c.tokens * opts.background * data_gen_corpus_share(gen, DATA_GEN_BACKGROUND, w);
        for (uint32_t k = 0; k < opts.topics; k++)
            expected[w] += mass[k] * data_gen_corpus_share(gen, k, w);
    }
    int classes = 0;
    for (uint32_t w = 0; w < opts.words; w++) {
        pool += expected[w];
        pooled += found[w];
        if (pool < 5)
            continue;
        square += (pooled - pool) * (pooled - pool) / pool;
        pool = pooled = 0;
        classes++;
    }
    /* Six deviations of a chi-square with as many degrees of freedom. */
    assert_true(square < classes + 6 * sqrt(2.0 * classes));
    free(expected);
    data_corpus_fini(&c);
    data_gen_corpus_free(gen);
    shoal_env_free(env);
}

static void the_truth_names_each_topic_and_its_words(void **state)
{
    struct data_gen_corpus_opts opts = DATA_GEN_CORPUS_OPTS;
    struct gathered g;
    struct data_sink sink = {gather, &g};
    char first[64];

    (void)state;
    struct data_gen_corpus *gen = new_corpus(&opts);
    gathered_init(&g);
    assert_int_equal(data_gen_corpus_truth(gen, 3, &sink, NULL), SHOAL_OK);
    assert_int_equal(g.pieces, opts.topics);
    snprintf(first, sizeof first, " %u:%.6g ", data_gen_corpus_word(gen, 0, 0) + 1,
             data_gen_corpus_share(gen, 0, data_gen_corpus_word(gen, 0, 0)));
    assert_int_equal(strncmp(g.text.data, "1 ", 2), 0);
    assert_non_null(strstr(g.text.data, first));
    base_buf_fini(&g.text);
    data_gen_corpus_free(gen);
}

static void options_out_of_range_are_refused_in_words(void **state)
{
    const struct data_gen_corpus_opts good = DATA_GEN_CORPUS_OPTS;
    struct data_gen_corpus_opts bad[8];
    struct data_gen_corpus *gen = NULL;

    (void)state;
    for (int i = 0; i < 8; i++)
        bad[i] = good;
    bad[0].documents = 0;
    bad[1].words = 0;
    bad[2].topics = 0;
    bad[3].mixed = 257;
    bad[4].length = 0.5;
    bad[5].spread = (double)NAN;
    bad[6].background = 1.1;
    bad[7].words = UINT32_MAX;
    for (int i = 0; i < 8; i++) {
        shoal_err err = SHOAL_ERR_INIT;
        assert_int_equal(data_gen_corpus_new(&base_alloc_libc, &bad[i], &gen, &err), SHOAL_E_INVAL);
        assert_true(err.message[0] != '\0');
    }
}

static void a_sink_that_fails_and_a_wish_to_stop_end_the_work(void **state)
{
    struct data_gen_corpus_opts opts = DATA_GEN_CORPUS_OPTS;
    shoal_env *env = world_new();
    struct gathered g;
    struct data_sink sink = {gather, &g};
    atomic_bool stop = true;
    struct data_gen_run run = {.stop = &stop};
    uint64_t tokens = 0, bytes = 0;

    (void)state;
    struct data_gen_corpus *gen = new_corpus(&opts);
    gathered_init(&g);
    g.fail_at = 2;
    assert_int_equal(data_gen_corpus_write(env, gen, true, NULL, &sink, &tokens, NULL), SHOAL_E_IO);
    assert_int_equal(data_gen_corpus_write(env, gen, true, &run, &sink, &tokens, NULL),
                     SHOAL_E_CANCELLED);
    assert_int_equal(data_gen_corpus_save(env, gen, &run, "b", &tokens, &bytes, NULL),
                     SHOAL_E_CANCELLED);
    assert_null(env_sim_find(env, "b"));
    base_buf_fini(&g.text);
    data_gen_corpus_free(gen);
    shoal_env_free(env);
}

static shoal_status make_all(const struct base_alloc *alloc, void *ctx)
{
    struct data_gen_corpus_opts opts = DATA_GEN_CORPUS_OPTS;
    shoal_env *env = ctx;
    const struct base_alloc *before = env->alloc;
    struct data_gen_corpus *gen = NULL;
    struct data_corpus c = {0};
    struct gathered g;
    struct data_sink sink = {gather, &g};
    uint64_t tokens = 0, bytes = 0;

    opts.documents = 4;
    opts.length = 5;
    opts.words = 60;
    gathered_init(&g);
    env->alloc = alloc;
    shoal_status st = data_gen_corpus_new(alloc, &opts, &gen, NULL);
    if (st == SHOAL_OK)
        st = data_gen_corpus_fill(env, gen, NULL, &c, NULL);
    if (st == SHOAL_OK)
        st = data_gen_corpus_write(env, gen, true, NULL, &sink, &tokens, NULL);
    if (st == SHOAL_OK)
        st = data_gen_corpus_save(env, gen, NULL, "b", &tokens, &bytes, NULL);
    if (st == SHOAL_OK)
        st = data_gen_corpus_truth(gen, 5, &sink, NULL);
    data_corpus_fini(&c);
    data_gen_corpus_free(gen);
    env->alloc = before;
    base_buf_fini(&g.text);
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
        cmocka_unit_test(memory_text_bags_and_binary_hold_the_same_documents),
        cmocka_unit_test(bytes_do_not_depend_on_threads_and_are_those_of_every_machine),
        cmocka_unit_test(lengths_have_the_asked_mean),
        cmocka_unit_test(shares_of_a_topic_are_probabilities_by_rank),
        cmocka_unit_test(words_occur_as_often_as_the_truth_says),
        cmocka_unit_test(the_truth_names_each_topic_and_its_words),
        cmocka_unit_test(options_out_of_range_are_refused_in_words),
        cmocka_unit_test(a_sink_that_fails_and_a_wish_to_stop_end_the_work),
        cmocka_unit_test(every_failed_allocation_leaves_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
