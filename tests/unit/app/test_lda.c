/* Jobs of `lda` in simulation: what they learn, and that neither the number of workers nor what
 * happens to them changes a bit of it. */
#include "lda_world.h"
#include "train/model.h"

static const char SETTINGS[] = "topics=5\nalpha=0.1\niterations=6\nexecutors=7\nevaluate=3\n";

/* ---- what it has learnt, as bits ---- */

struct learnt {
    char *bytes;
    size_t size;
    double value;
};

static struct learnt learnt_of(struct cluster *c)
{
    shoal_driver *driver = train_master_driver(c->master);
    const struct lda_driver *d = shoal_driver_state(driver);
    struct learnt l = {.value = train_master_stats(c->master).value};
    uint64_t count;

    for (uint32_t s = 0; s < d->executors * d->executors; s++) {
        const float *rows = shoal_driver_shard(driver, LDA_RECORD, s, NULL, &count);
        l.bytes = realloc(l.bytes, l.size + count * sizeof *rows + 1);
        memcpy(l.bytes + l.size, rows, count * sizeof *rows);
        l.size += count * sizeof *rows;
    }
    return l;
}

static void check_equal(struct learnt *first, struct learnt now, uint64_t seed)
{
    if (first->bytes == NULL) {
        *first = now;
        return;
    }
    assert_int_equal(first->size, now.size);
    if (memcmp(first->bytes, now.bytes, now.size) != 0 || first->value != now.value)
        fail_msg("seed %llu: another result, %.17g and not %.17g", (unsigned long long)seed,
                 now.value, first->value);
    free(now.bytes);
}

static void any_number_of_workers_gives_the_same_bits(void **state)
{
    struct learnt first = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(12); seed++) {
        struct cluster c = {.workers = 1 + (uint32_t)(seed % 5)};
        make_cluster(&c, seed, &WORLD);
        run(&c, seed, SETTINGS);
        assert_int_equal(train_master_stats(c.master).tasks, (1 + 2 * 6 + 2 * 2) * 7);
        check_equal(&first, learnt_of(&c), seed);
        end(&c, NULL);
    }
    free(first.bytes);
}

/* The driver itself refuses counts that are not those of all tokens after any clock. */
static void kills_crashes_and_moves_change_no_bit_and_lose_no_token(void **state)
{
    struct cluster_count sum = {0};
    struct learnt first = {0};

    (void)state;
    for (uint64_t seed = 0; seed <= (uint64_t)property_count(60); seed++) {
        struct cluster c = {.workers = 1 + (uint32_t)(seed % 3),
                            .inside = seed % 4 == 1,
                            .crash = seed == 0 ? 0 : 0.002,
                            .crash_left = 20,
                            .kill_mean_s = seed > 0 && seed % 2 == 0 ? 0.02 : 0,
                            .kills_left = 10,
                            .scale_mean_s = seed > 0 && seed % 3 == 0 ? 0.01 : 0,
                            .workers_max = 5};
        make_cluster(&c, seed, &WORLD);
        run(&c, seed, SETTINGS);
        check_equal(&first, learnt_of(&c), seed);
        end(&c, &sum);
    }
    free(first.bytes);
    assert_true(sum.redone > 20 && sum.moves > 20 && sum.crashes_holding > 0);
}

static void workers_on_other_machines_change_no_bit(void **state)
{
    struct cluster_count sum = {0};
    struct learnt first = {0};

    (void)state;
    for (uint64_t seed = 0; seed <= (uint64_t)property_count(20); seed++) {
        struct cluster c = {.workers = 1,
                            .net = {1e-3, 0.02, 0.02, 0.01},
                            .away = seed == 0 ? 0 : 1 + (uint32_t)(seed % 3),
                            .away_mean_s = 0.02,
                            .cut_mean_s = seed > 0 && seed % 2 == 0 ? 0.5 : 0,
                            .kill_mean_s = seed > 0 && seed % 5 == 0 ? 0.05 : 0,
                            .kills_left = 5};
        make_cluster(&c, seed, &WORLD);
        run(&c, seed, SETTINGS);
        check_equal(&first, learnt_of(&c), seed);
        end(&c, &sum);
    }
    free(first.bytes);
    assert_true(sum.far > 100);
}

static void optimised_priors_are_the_same_bits_too(void **state)
{
    static const char OPTIMISED[] =
        "topics=5\nalpha=0.1\niterations=6\nexecutors=7\nevaluate=3\noptimise=2\n";
    struct cluster_count sum = {0};
    struct learnt first = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(12); seed++) {
        struct cluster c = {.workers = 1 + (uint32_t)(seed % 3),
                            .away = (uint32_t)(seed % 2),
                            .away_mean_s = 0.02,
                            .kill_mean_s = seed % 3 == 0 ? 0.02 : 0,
                            .kills_left = 5};
        make_cluster(&c, seed, &WORLD);
        run(&c, seed, OPTIMISED);
        check_equal(&first, learnt_of(&c), seed);
        end(&c, &sum);
    }
    free(first.bytes);
    print_message("%llu far, %llu redone\n", (unsigned long long)sum.far,
                  (unsigned long long)sum.redone);
    assert_true(sum.far > 20 && sum.redone > 0);
}

/* ---- models ---- */

static const void *part(const shoal_model *model, const char *name, size_t *out_size)
{
    const void *bytes = NULL;

    assert_int_equal(shoal_model_get(model, name, &bytes, out_size, NULL), SHOAL_OK);
    return bytes;
}

static shoal_model *model_of(struct cluster *c, const char *settings)
{
    shoal_model *model = NULL;

    assert_int_equal(train_model_create(c->env, "model", "lda", settings, &model, NULL), SHOAL_OK);
    assert_int_equal(app_find("lda")->save(train_master_driver(c->master), model, NULL), SHOAL_OK);
    assert_int_equal(train_model_commit(model, NULL), SHOAL_OK);
    assert_int_equal(shoal_model_open(c->env, "model", &model, NULL), SHOAL_OK);
    return model;
}

/* A model counts every token of the corpus once, under its word and its topic. */
static void a_model_counts_every_token_once(void **state)
{
    struct cluster c = {.workers = 2};
    struct data_corpus corpus = {0};
    uint64_t tokens[VOCABULARY] = {0}, by_topic[TOPICS] = {0};
    size_t size;

    (void)state;
    make_cluster(&c, 1, &WORLD);
    run(&c, 1, SETTINGS);
    shoal_model *model = model_of(&c, SETTINGS);
    assert_int_equal(data_corpus_load(c.env, "", NULL, &corpus, NULL), SHOAL_OK);
    for (uint64_t e = 0; e < corpus.entries; e++)
        tokens[corpus.x.word[e]] += corpus.x.count[e];
    const uint64_t *start = part(model, "word_start", &size);
    assert_int_equal(size, (VOCABULARY + 1) * sizeof *start);
    const uint32_t *topic = part(model, "topic", &size), *count = part(model, "count", &size);
    assert_int_equal(size, start[VOCABULARY] * sizeof *count);
    for (uint32_t w = 0; w < VOCABULARY; w++) {
        for (uint64_t e = start[w]; e < start[w + 1]; e++) {
            assert_true(topic[e] < TOPICS && count[e] > 0);
            assert_true(e == start[w] || topic[e] > topic[e - 1]);
            assert_true(tokens[w] >= count[e]);
            tokens[w] -= count[e];
            by_topic[topic[e]] += count[e];
        }
        assert_int_equal(tokens[w], 0);
    }
    assert_memory_equal(part(model, "topic_count", &size), by_topic, sizeof by_topic);
    shoal_model_free(model);
    data_corpus_fini(&corpus);
    end(&c, NULL);
}

/* With enough passes each planted topic's words are in one topic, but for one token in twenty. */
static void planted_topics_are_found(void **state)
{
    static const char MANY[] = "topics=5\nalpha=0.1\niterations=150\nevaluate=0\n";
    struct cluster c = {.workers = 2};
    uint64_t sum[TOPICS][TOPICS] = {{0}}, all = 0, kept = 0;
    bool taken[TOPICS] = {false};
    size_t size;

    (void)state;
    make_cluster(&c, 1, &WORLD);
    run(&c, 1, MANY);
    shoal_model *model = model_of(&c, MANY);
    const uint64_t *start = part(model, "word_start", &size);
    const uint32_t *topic = part(model, "topic", &size), *count = part(model, "count", &size);
    for (uint32_t w = 0; w < VOCABULARY; w++)
        for (uint64_t e = start[w]; e < start[w + 1]; e++) {
            sum[w / WORDS_OF][topic[e]] += count[e];
            all += count[e];
        }
    for (uint32_t t = 0; t < TOPICS; t++) {
        uint32_t best = 0;
        for (uint32_t k = 0; k < TOPICS; k++)
            best = sum[t][k] > sum[t][best] ? k : best;
        assert_false(taken[best]);
        taken[best] = true;
        kept += sum[t][best];
    }
    assert_true((double)kept > 0.95 * (double)all);
    shoal_model_free(model);
    end(&c, NULL);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* 1,500 documents of forty tokens tell an alpha to about 6 %; a quarter is four of it. All begin alike. A
 * chain may stay where two planted topics share one, so this is about the likeliest of some. */
static void priors_that_differ_are_found_again(void **state)
{
    static const double ALPHA[TOPICS] = {0.1, 0.2, 0.35, 0.55, 0.8};
    struct world world = {1500, 40, ALPHA};
    double alpha[TOPICS], best = INFINITY;
    size_t size;

    (void)state;
    for (uint32_t executors = 2; executors <= 5; executors++) { /* each is another chain */
        struct cluster c = {.workers = 2};
        char settings[100];
        snprintf(settings, sizeof settings,
                 "topics=5\nalpha=0.3\niterations=200\nevaluate=0\noptimise=5\nexecutors=%u\n",
                 executors);
        make_cluster(&c, 1, &world);
        run(&c, 1, settings);
        double value = train_master_stats(c.master).value;
        shoal_model *model = model_of(&c, settings);
        if (value < best)
            memcpy(alpha, part(model, "alpha", &size), sizeof alpha);
        best = fmin(best, value);
        shoal_model_free(model);
        end(&c, NULL);
    }
    qsort(alpha, TOPICS, sizeof *alpha, by_value);
    print_message("nll %.4f, alpha %.3f %.3f %.3f %.3f %.3f\n", best, alpha[0], alpha[1], alpha[2],
                  alpha[3], alpha[4]);
    for (uint32_t k = 0; k < TOPICS; k++)
        assert_true(fabs(alpha[k] - ALPHA[k]) < 0.25 * ALPHA[k]);
}

/* A quiet run, beginning from these bytes of a model if there are some, which are then its own. */
static double value_of(const char *settings, struct base_buf *bytes)
{
    struct cluster c = {.workers = 2};

    make_cluster(&c, 1, &WORLD);
    if (bytes->size > 0)
        assert_int_equal(env_sim_put(c.env, "before", bytes->data, bytes->size), SHOAL_OK);
    run(&c, 1, settings);
    double value = train_master_stats(c.master).value;
    shoal_model_free(model_of(&c, settings));
    base_buf_clear(bytes);
    assert_int_equal(env_read_whole(c.env, "model", bytes, NULL), SHOAL_OK);
    end(&c, NULL);
    return value;
}

/* One iteration from a model is where the model was, with as many topics, and not where one from scratch
 * is. */
static void a_job_goes_on_from_a_model(void **state)
{
    struct base_buf bytes;

    (void)state;
    base_buf_init(&bytes, &base_alloc_libc, 1 << 20);
    double fresh = value_of("topics=5\nalpha=0.1\niterations=1\n", &bytes);
    double first = value_of("topics=5\nalpha=0.1\niterations=150\nevaluate=0\n", &bytes);
    double on = value_of("alpha=0.1\niterations=1\nfrom=before\n", &bytes);
    print_message("one iteration %.4f, 150 %.4f, one from those %.4f\n", fresh, first, on);
    assert_true(on < first + 0.1 * (fresh - first));
    base_buf_fini(&bytes);
}

static void a_job_tells_whether_its_likelihood_still_grew(void **state)
{
    static const struct {
        const char *settings;
        shoal_stop why;
    } CASES[] = {
        {"iterations=10\nevaluate=5", SHOAL_STOP_LIMIT},
        {"iterations=400\nevaluate=40", SHOAL_STOP_TOLERANCE},
        {"iterations=400\nevaluate=100", SHOAL_STOP_TOLERANCE}, /* a tenth of what 100 gained */
        {"iterations=10\nevaluate=0", SHOAL_STOP_SCHEDULE},
        {"iterations=10\nevaluate=10", SHOAL_STOP_SCHEDULE},
    };

    (void)state;
    for (uint32_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct cluster c = {.workers = 2};
        char settings[100];
        snprintf(settings, sizeof settings, "topics=5\nalpha=0.1\n%s\n", CASES[i].settings);
        make_cluster(&c, 1, &WORLD);
        run(&c, 1, settings);
        struct train_stats stats = train_master_stats(c.master);
        if (stats.stopped != CASES[i].why)
            fail_msg("%s: stopped by %d", CASES[i].settings, (int)stats.stopped);
        assert_true(isnan(stats.gap));
        end(&c, NULL);
    }
}

static void a_task_has_as_many_tokens_as_there_are_topics(void **state)
{
    struct lda_options options = {0};

    (void)state;
    assert_int_equal(lda_executors(&options, 1000, 1 << 20), 16);
    assert_int_equal(lda_executors(&options, 1 << 19, 1 << 20), 2);
    assert_int_equal(lda_executors(&options, 1 << 20, 100), 1);
    assert_int_equal(lda_executors(&options, 1000, UINT64_MAX), LDA_EXECUTORS_MAX);
    options.executors = 7;
    assert_int_equal(lda_executors(&options, 1 << 20, 100), 7);
}

/* More topics than tokens, one document, documents without words, one executor and many. */
static void tiny_worlds_are_learnt_too(void **state)
{
    static const struct world WORLDS[] = {{1, 1, NULL}, {1, 30, NULL}, {2, 2, NULL}, {20, 1, NULL}};
    static const char *const MORE[] = {"topics=2\n", "topics=1000\n", "topics=70000\nexecutors=3\n",
                                       "topics=1025\nexecutors=128\n"};

    (void)state;
    for (size_t w = 0; w < sizeof WORLDS / sizeof WORLDS[0]; w++)
        for (size_t m = 0; m < sizeof MORE / sizeof MORE[0]; m++) {
            struct cluster c = {.workers = 2};
            char settings[100];
            snprintf(settings, sizeof settings, "%siterations=3\n", MORE[m]);
            make_cluster(&c, 1, &WORLDS[w]);
            run(&c, 1, settings);
            assert_true(isfinite(train_master_stats(c.master).value));
            end(&c, NULL);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_workers_gives_the_same_bits),
        cmocka_unit_test(kills_crashes_and_moves_change_no_bit_and_lose_no_token),
        cmocka_unit_test(workers_on_other_machines_change_no_bit),
        cmocka_unit_test(optimised_priors_are_the_same_bits_too),
        cmocka_unit_test(a_model_counts_every_token_once),
        cmocka_unit_test(planted_topics_are_found),
        cmocka_unit_test(priors_that_differ_are_found_again),
        cmocka_unit_test(a_job_goes_on_from_a_model),
        cmocka_unit_test(a_job_tells_whether_its_likelihood_still_grew),
        cmocka_unit_test(a_task_has_as_many_tokens_as_there_are_topics),
        cmocka_unit_test(tiny_worlds_are_learnt_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
