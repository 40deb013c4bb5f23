/* Jobs of `lda` that hold documents out, in simulation: what is held out is not trained on, and judges
 * the model as `shoal eval` does. */
#include "lda_world.h"
#include "train/model.h"

static const char SETTINGS[] =
    "topics=5\nalpha=0.1\niterations=40\nexecutors=7\nevaluate=20\nholdout=0.1\n";

static struct num_corpus held_of(struct cluster *c)
{
    return lda_kept_held(
        (const void *)shoal_driver_rows_read(train_master_driver(c->master), LDA_KEPT));
}

static uint64_t tokens_of(const struct num_corpus *x)
{
    uint64_t tokens = 0;

    for (uint64_t e = x->start[0]; e < x->start[x->documents]; e++)
        tokens += x->count[e];
    return tokens;
}

static shoal_model *model_of(struct cluster *c)
{
    shoal_model *model = NULL;

    assert_int_equal(train_model_create(c->env, "model", "lda", SETTINGS, &model, NULL), SHOAL_OK);
    assert_int_equal(app_find("lda")->save(train_master_driver(c->master), model, NULL), SHOAL_OK);
    assert_int_equal(train_model_commit(model, NULL), SHOAL_OK);
    assert_int_equal(shoal_model_open(c->env, "model", &model, NULL), SHOAL_OK);
    return model;
}

/* A tenth of 282 documents of two tokens and more, and no word of them is counted. */
static void documents_held_out_are_not_trained_on(void **state)
{
    struct cluster c = {.workers = 2};
    struct data_corpus corpus = {0};
    const void *totals = NULL;
    size_t size;
    int64_t trained = 0;

    (void)state;
    make_cluster(&c, 1, &WORLD);
    run(&c, 1, SETTINGS);
    struct num_corpus held = held_of(&c);
    assert_int_equal(data_corpus_load(c.env, "", NULL, &corpus, NULL), SHOAL_OK);
    shoal_model *model = model_of(&c);
    assert_int_equal(shoal_model_get(model, "topic_count", &totals, &size, NULL), SHOAL_OK);
    for (uint32_t k = 0; k < TOPICS; k++)
        trained += ((const int64_t *)totals)[k];
    assert_in_range(held.documents, 26, 29);
    for (uint64_t d = 0; d < held.documents; d++)
        assert_true(held.start[d + 1] > held.start[d]);
    assert_true(tokens_of(&held) > 500);
    assert_int_equal((uint64_t)trained + tokens_of(&held), corpus.tokens);
    shoal_model_free(model);
    data_corpus_fini(&corpus);
    end(&c, NULL);
}

static void the_last_value_is_that_of_the_model_and_those_documents(void **state)
{
    struct cluster c = {.workers = 2};
    struct num_lda_model m = {0};
    struct num_lda_judge *judge = NULL;
    struct num_lda_held sum = {0};
    struct data_ids names;

    (void)state;
    make_cluster(&c, 1, &WORLD);
    run(&c, 1, SETTINGS);
    shoal_model *model = model_of(&c);
    struct num_corpus held = held_of(&c);
    data_ids_init(&names, &base_alloc_libc);
    assert_int_equal(lda_model_load(model, &m, &names, NULL), SHOAL_OK);
    assert_int_equal(num_lda_judge_new(&base_alloc_libc, &m, &judge, NULL), SHOAL_OK);
    assert_int_equal(num_lda_complete(judge, &held, 0, (uint32_t)held.documents, &sum, NULL),
                     SHOAL_OK);
    double reported = train_master_stats(c.master).held_out;
    print_message("perplexity %.3f\n", reported);
    assert_true(reported == num_lda_perplexity(&sum));
    /* Of a document's words all but chance are those of two topics, 24 of 60. */
    assert_true(reported > 12 && reported < 30);
    num_lda_judge_free(judge);
    data_ids_fini(&names);
    shoal_model_free(model);
    end(&c, NULL);
}

static void workers_and_what_happens_to_them_change_no_bit_of_it(void **state)
{
    struct cluster_count sum = {0};
    double first = 0, value = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(12); seed++) {
        struct cluster c = {.workers = 1 + (uint32_t)(seed % 4),
                            .kill_mean_s = seed % 2 == 0 ? 0.02 : 0,
                            .kills_left = 5,
                            .scale_mean_s = seed % 3 == 0 ? 0.01 : 0,
                            .workers_max = 5};
        make_cluster(&c, seed, &WORLD);
        run(&c, seed, SETTINGS);
        struct train_stats stats = train_master_stats(c.master);
        if (seed == 1) {
            first = stats.held_out;
            value = stats.value;
        }
        assert_true(stats.held_out == first && stats.value == value);
        end(&c, &sum);
    }
    assert_true(sum.redone > 0);
}

static void a_job_that_holds_nothing_out_reports_nothing(void **state)
{
    struct cluster c = {.workers = 1};

    (void)state;
    make_cluster(&c, 1, &WORLD);
    run(&c, 1, "topics=5\niterations=1\n");
    assert_int_equal(held_of(&c).documents, 0);
    assert_true(isnan(train_master_stats(c.master).held_out));
    end(&c, NULL);
}

/* ---- the drawing by itself ---- */

static struct data_corpus load(struct cluster *c, const struct world *w)
{
    struct data_corpus corpus = {0};

    make_cluster(c, 1, w);
    assert_int_equal(data_corpus_load(c->env, "", NULL, &corpus, NULL), SHOAL_OK);
    return corpus;
}

/* Both parts together are the corpus, in its order; another seed draws other documents. */
static void a_corpus_is_parted_and_nothing_is_lost(void **state)
{
    struct lda_options options = {.holdout = 0.25};
    struct cluster c = {.workers = 1};
    struct data_corpus whole = load(&c, &WORLD), last = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct data_corpus rest = {0}, held = {0};
        uint64_t r = 0, h = 0;
        assert_int_equal(data_corpus_load(c.env, "", NULL, &rest, NULL), SHOAL_OK);
        assert_int_equal(lda_held_take(&options, seed, &rest, &held, NULL), SHOAL_OK);
        assert_int_equal(held.x.documents, 32); /* of a corpus this small */
        assert_int_equal(rest.x.documents + held.x.documents, whole.x.documents);
        assert_int_equal(rest.tokens + held.tokens, whole.tokens);
        assert_int_equal(rest.tokens, tokens_of(&rest.x));
        for (uint64_t d = 0; d < whole.x.documents; d++) {
            const uint32_t *word = whole.x.word + whole.x.start[d];
            const uint32_t *count = whole.x.count + whole.x.start[d];
            uint64_t n = whole.x.start[d + 1] - whole.x.start[d];
            bool is_held = h < held.x.documents && held.x.start[h + 1] - held.x.start[h] == n &&
                           memcmp(held.x.word + held.x.start[h], word, n * sizeof *word) == 0 &&
                           memcmp(held.x.count + held.x.start[h], count, n * sizeof *count) == 0;
            struct data_corpus *part = is_held ? &held : &rest;
            uint64_t at = is_held ? h++ : r++;
            assert_int_equal(part->x.start[at + 1] - part->x.start[at], n);
            assert_memory_equal(part->x.word + part->x.start[at], word, n * sizeof *word);
            assert_memory_equal(part->x.count + part->x.start[at], count, n * sizeof *count);
        }
        assert_true(last.entries != held.entries ||
                    memcmp(last.x.word, held.x.word, held.entries * sizeof *last.x.word) != 0);
        data_corpus_fini(&rest);
        data_corpus_fini(&last);
        last = held;
    }
    data_corpus_fini(&last);
    data_corpus_fini(&whole);
    cluster_free(&c);
}

static void a_corpus_that_would_be_empty_then_is_refused(void **state)
{
    struct lda_options options = {.holdout = 0.5};
    struct cluster c = {.workers = 1};
    struct data_corpus corpus = load(&c, &(struct world){.documents = 1, .length = 30}), held = {0};
    shoal_err err = {0};

    (void)state;
    assert_int_equal(lda_held_take(&options, 1, &corpus, &held, &err), SHOAL_E_INVAL);
    assert_non_null(strstr(err.message, "holdout"));
    data_corpus_fini(&corpus);
    data_corpus_fini(&held);
    cluster_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_held_out_are_not_trained_on),
        cmocka_unit_test(the_last_value_is_that_of_the_model_and_those_documents),
        cmocka_unit_test(workers_and_what_happens_to_them_change_no_bit_of_it),
        cmocka_unit_test(a_job_that_holds_nothing_out_reports_nothing),
        cmocka_unit_test(a_corpus_is_parted_and_nothing_is_lost),
        cmocka_unit_test(a_corpus_that_would_be_empty_then_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
