/* Tests of src/store/facts.c: values come back equal, and wrong ones are refused in words. */
#include "torture.h"

#include "base/rand.h"
#include "property.h"
#include "store/facts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static shoal_env *new_env(void)
{
    shoal_env *env = NULL;
    assert_int_equal(shoal_env_sim_new(1, &env, NULL), SHOAL_OK);
    return env;
}

static struct store_facts *new_facts(shoal_env *env)
{
    struct store_facts *facts = NULL;
    assert_int_equal(store_facts_new(env, &facts, NULL), SHOAL_OK);
    return facts;
}

static shoal_status save(shoal_env *env, const struct store_facts *facts, shoal_err *err)
{
    struct store_pack_out *out = NULL;
    shoal_status st = store_pack_create(env, "m", "model", &out, err);
    if (st != SHOAL_OK)
        return st;
    (void)store_facts_save(facts, out);
    return store_pack_commit(out, err);
}

static shoal_status load(shoal_env *env, struct store_facts **out_facts, shoal_err *err)
{
    struct store_pack *pack = NULL;
    shoal_status st = store_pack_open(env, "m", "model", &pack, err);
    if (st == SHOAL_OK)
        st = store_facts_load(env, pack, out_facts, err);
    store_pack_close(pack);
    return st;
}

/* The facts as they come back; frees `facts`. */
static struct store_facts *through_a_file(shoal_env *env, struct store_facts *facts)
{
    struct store_facts *loaded = NULL;
    assert_int_equal(save(env, facts, NULL), SHOAL_OK);
    assert_int_equal(load(env, &loaded, NULL), SHOAL_OK);
    store_facts_free(facts);
    return loaded;
}

static void text_and_numbers_come_back_equal(void **state)
{
    (void)state;
    shoal_env *env = new_env();
    struct store_facts *facts = new_facts(env);
    store_facts_set_text(facts, "app", "mf");
    store_facts_set_u64(facts, "rank", 31);
    store_facts_set_text(facts, "text", "quotes \" lines \n and \xc3\xa9");
    store_facts_set_u64(facts, "rank", 32); /* replaced in its place */
    facts = through_a_file(env, facts);

    const char *text = NULL;
    uint64_t u = 0;
    assert_int_equal(store_facts_text(facts, "app", &text, NULL), SHOAL_OK);
    assert_string_equal(text, "mf");
    assert_int_equal(store_facts_text(facts, "text", &text, NULL), SHOAL_OK);
    assert_string_equal(text, "quotes \" lines \n and \xc3\xa9");
    assert_int_equal(store_facts_u64(facts, "rank", &u, NULL), SHOAL_OK);
    assert_int_equal(u, 32);
    store_facts_free(facts);
    shoal_env_free(env);
}

static void whole_numbers_of_all_sizes_come_back(void **state)
{
    (void)state;
    shoal_env *env = new_env();
    struct base_rand r;
    base_rand_init(&r, 1, "test.facts");
    int count = property_count(2000);
    struct store_facts *facts = new_facts(env);
    uint64_t *wholes = calloc((size_t)count, sizeof *wholes);
    char key[20];
    for (int i = 0; i < count; i++) {
        wholes[i] = base_rand_u64(&r) >> base_rand_below(&r, 64);
        (void)snprintf(key, sizeof key, "u%d", i);
        store_facts_set_u64(facts, key, wholes[i]);
    }
    store_facts_set_u64(facts, "most", UINT64_MAX);
    facts = through_a_file(env, facts);
    uint64_t whole = 0;
    for (int i = 0; i < count; i++) {
        (void)snprintf(key, sizeof key, "u%d", i);
        assert_int_equal(store_facts_u64(facts, key, &whole, NULL), SHOAL_OK);
        assert_true(whole == wholes[i]);
    }
    assert_int_equal(store_facts_u64(facts, "most", &whole, NULL), SHOAL_OK);
    assert_true(whole == UINT64_MAX);
    free(wholes);
    store_facts_free(facts);
    shoal_env_free(env);
}

static void put_section(shoal_env *env, const char *text)
{
    struct store_pack_out *out = NULL;
    assert_int_equal(store_pack_create(env, "m", "model", &out, NULL), SHOAL_OK);
    (void)store_pack_section(out, "facts", text, strlen(text));
    assert_int_equal(store_pack_commit(out, NULL), SHOAL_OK);
}

static void missing_and_mistyped_facts_are_refused_in_words(void **state)
{
    (void)state;
    shoal_env *env = new_env();
    struct store_facts *facts = NULL;
    put_section(env, "{\"app\": \"mf\", \"below\": -1, \"half\": 0.5, \"yes\": true}");
    assert_int_equal(load(env, &facts, NULL), SHOAL_OK);
    const char *text = "as before";
    uint64_t u = 7;
    shoal_err err = SHOAL_ERR_INIT;
    assert_int_equal(store_facts_text(facts, "none", &text, &err), SHOAL_E_NOTFOUND);
    assert_string_equal(err.message, "'m' does not say 'none'");
    assert_int_equal(store_facts_text(facts, "half", &text, &err), SHOAL_E_FORMAT);
    assert_string_equal(err.message, "'m' has no text under 'half'");
    assert_int_equal(store_facts_u64(facts, "below", &u, &err), SHOAL_E_FORMAT);
    assert_string_equal(err.message, "'m' has no whole number of at least 0 under 'below'");
    assert_int_equal(store_facts_u64(facts, "half", &u, &err), SHOAL_E_FORMAT);
    assert_int_equal(store_facts_u64(facts, "app", &u, &err), SHOAL_E_FORMAT);
    assert_int_equal(store_facts_u64(facts, "yes", &u, &err), SHOAL_E_FORMAT);
    assert_string_equal(text, "as before");
    assert_true(u == 7);
    store_facts_free(facts);
    store_facts_free(NULL);
    shoal_env_free(env);
}

static void assert_section_refused(const char *text, const char *part)
{
    shoal_env *env = new_env();
    struct store_facts *facts = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    put_section(env, text);
    assert_int_equal(load(env, &facts, &err), SHOAL_E_FORMAT);
    assert_null(facts);
    assert_non_null(strstr(err.message, "cannot read 'm': "));
    assert_non_null(strstr(err.message, part));
    shoal_env_free(env);
}

static void a_section_that_is_no_flat_object_is_refused(void **state)
{
    (void)state;
    assert_section_refused("", "is no JSON object");
    assert_section_refused("[1]", "is no JSON object");
    assert_section_refused("{\"a\": ", "is no JSON object");
    assert_section_refused("{\"a\": 1, \"a\": 2}", "duplicate");
    assert_section_refused("{\"a\": {}}", "fact 'a'");
    assert_section_refused("{\"a\": [1]}", "fact 'a'");
    assert_section_refused("{\"a\": null}", "fact 'a'");
    assert_section_refused("{\"a\": \"\\u0000\"}", "is no JSON object");
}

static void a_pack_without_facts_says_so(void **state)
{
    (void)state;
    shoal_env *env = new_env();
    struct store_pack_out *out = NULL;
    struct store_facts *facts = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    assert_int_equal(store_pack_create(env, "m", "model", &out, NULL), SHOAL_OK);
    assert_int_equal(store_pack_commit(out, NULL), SHOAL_OK);
    assert_int_equal(load(env, &facts, &err), SHOAL_E_FORMAT);
    assert_string_equal(err.message, "cannot read model 'm': it has no section 'facts'");
    shoal_env_free(env);
}

static void text_that_json_cannot_hold_fails_at_commit(void **state)
{
    (void)state;
    shoal_env *env = new_env();
    struct store_facts *facts = new_facts(env);
    shoal_err err = SHOAL_ERR_INIT;
    store_facts_set_text(facts, "path", "\xff\xfe");
    store_facts_set_u64(facts, "later", 1);
    assert_int_equal(save(env, facts, &err), SHOAL_E_INVAL);
    assert_non_null(strstr(err.message, "cannot keep fact 'path'"));
    assert_null(env_sim_find(env, "m"));
    store_facts_free(facts);
    shoal_env_free(env);
}

static shoal_status save_and_load(const struct base_alloc *alloc, void *ctx)
{
    (void)ctx;
    shoal_env *env = NULL;
    struct store_facts *facts = NULL, *loaded = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = env_sim_new(alloc, 1, &env, &err);
    if (st == SHOAL_OK)
        st = store_facts_new(env, &facts, &err);
    if (st == SHOAL_OK) {
        store_facts_set_text(facts, "app", "mf");
        st = save(env, facts, &err);
    }
    if (st == SHOAL_OK)
        st = load(env, &loaded, &err);
    if (st != SHOAL_OK && err.code != st)
        st = SHOAL_E_INTERNAL;
    store_facts_free(facts);
    store_facts_free(loaded);
    shoal_env_free(env);
    return st;
}

/* jansson has an allocator of its own; what is ours must be clean. */
static void every_failed_allocation_is_clean(void **state)
{
    (void)state;
    torture_run(save_and_load, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_and_numbers_come_back_equal),
        cmocka_unit_test(whole_numbers_of_all_sizes_come_back),
        cmocka_unit_test(missing_and_mistyped_facts_are_refused_in_words),
        cmocka_unit_test(a_section_that_is_no_flat_object_is_refused),
        cmocka_unit_test(a_pack_without_facts_says_so),
        cmocka_unit_test(text_that_json_cannot_hold_fails_at_commit),
        cmocka_unit_test(every_failed_allocation_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
