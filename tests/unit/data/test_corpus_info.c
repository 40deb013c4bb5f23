/* Tests of src/data/corpus_info.c. */
#include "unit/data/corpus_world.h"

#include "shoal/corpus.h"
#include "torture.h"
#include <math.h>

static const char poems[] = "The sea, the sea!\n\nRed sails in the sunset\nSAILS on a red sea\n";

static void what_is_built_has_the_numbers_that_are_told(void **state)
{
    const shoal_result *built = NULL, *told = NULL;
    shoal_env *env = world_new();
    struct data_corpus c;

    (void)state;
    world_put(env, "poems", poems);
    assert_int_equal(shoal_corpus_build(env, "poems", "out", NULL, NULL, &built, NULL), SHOAL_OK);
    assert_int_equal(shoal_corpus_info(env, "out", NULL, NULL, &told, NULL), SHOAL_OK);
    corpus_load_in(env, "out", NULL, &c);
    for (int i = 0; i < 2; i++) {
        const shoal_result *r = i == 0 ? built : told;
        assert_true(shoal_result_number(r, 0, "documents") == (double)c.x.documents);
        assert_true(shoal_result_number(r, 0, "words") == c.x.words);
        assert_true(shoal_result_number(r, 0, "tokens") == (double)c.tokens);
        assert_true(shoal_result_number(r, 0, "empty") == 1);
    }
    assert_string_equal(shoal_result_text(told, 0, "format"), "binary");
    assert_string_equal(shoal_result_text(built, 0, "path"), "out");
    assert_true(isnan(shoal_result_number(told, 0, "bytes")));
    data_corpus_fini(&c);
    shoal_result_free(built);
    shoal_result_free(told);
    shoal_env_free(env);
}

static void an_input_is_never_written_over_and_a_stop_leaves_no_file(void **state)
{
    const shoal_result *result = NULL;
    shoal_env *env = world_new();
    shoal_watch *watch = shoal_watch_new();

    (void)state;
    world_put(env, "poems", poems);
    assert_int_equal(shoal_corpus_build(env, "poems", "poems", NULL, NULL, &result, NULL),
                     SHOAL_E_INVAL);
    shoal_watch_stop(watch);
    assert_int_equal(shoal_corpus_build(env, "poems", "out", NULL, watch, &result, NULL),
                     SHOAL_E_CANCELLED);
    assert_null(env_sim_find(env, "out"));
    shoal_watch_free(watch);
    shoal_env_free(env);
}

static shoal_status build_and_describe(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    const struct base_alloc *before = env->alloc;
    const shoal_result *result = NULL;

    env->alloc = alloc;
    shoal_status st = shoal_corpus_build(env, "poems", "out", NULL, NULL, &result, NULL);
    shoal_result_free(result);
    result = NULL;
    if (st == SHOAL_OK)
        st = shoal_corpus_info(env, "poems", NULL, NULL, &result, NULL);
    shoal_result_free(result);
    env->alloc = before;
    return st;
}

static void every_failed_allocation_leaves_a_clean_error(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "poems", poems);
    torture_run(build_and_describe, env);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_built_has_the_numbers_that_are_told),
        cmocka_unit_test(an_input_is_never_written_over_and_a_stop_leaves_no_file),
        cmocka_unit_test(every_failed_allocation_leaves_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
