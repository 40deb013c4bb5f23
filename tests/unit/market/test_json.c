/* Tests of src/market/json.c: whatever jansson accepts is cut into the same pieces. */
#include "unit/market/market_world.h"

#include "market/json.h"
#include <jansson.h>
#include <stdlib.h>

/* --- pieces as text, from jansson and from us ------------------------------------------------ */

static void put_text(struct base_buf *out, const char *text, size_t size)
{
    base_buf_puts(out, "\"");
    base_buf_append(out, text, size > MARKET_JSON_TEXT_MAX ? MARKET_JSON_TEXT_MAX : size);
    base_buf_puts(out, "\" ");
}

static void put_value(struct base_buf *out, json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;

    switch (json_typeof(value)) {
    case JSON_OBJECT:
        base_buf_puts(out, "{ ");
        json_object_foreach(value, key, item)
        {
            put_text(out, key, strlen(key));
            put_value(out, item);
        }
        base_buf_puts(out, "} ");
        break;
    case JSON_ARRAY:
        base_buf_puts(out, "[ ");
        json_array_foreach(value, i, item)
        {
            put_value(out, item);
        }
        base_buf_puts(out, "] ");
        break;
    case JSON_STRING: put_text(out, json_string_value(value), json_string_length(value)); break;
    case JSON_INTEGER:
    case JSON_REAL: base_buf_printf(out, "%g ", json_number_value(value) + 0.0); break;
    case JSON_TRUE: base_buf_puts(out, "true "); break;
    case JSON_FALSE: base_buf_puts(out, "false "); break;
    case JSON_NULL: base_buf_puts(out, "null "); break;
    }
}

/* All tokens of the text; SHOAL_END, or what went wrong. */
static shoal_status our_pieces(const char *text, size_t size, double short_reads,
                               struct base_buf *out)
{
    shoal_env *env = world_new();
    struct env_lines lines;
    struct market_json json;
    enum market_json_token token;
    shoal_status st;

    assert_int_equal(env_sim_put(env, "f", text, size), SHOAL_OK);
    assert_int_equal(env_sim_set_fault(env, "env.read.short", short_reads), SHOAL_OK);
    assert_int_equal(env_lines_open(env, "json", "f", &lines, NULL), SHOAL_OK);
    market_json_init(&json, &lines);
    while ((st = market_json_next(&json, &token, NULL)) == SHOAL_OK) {
        switch (token) {
        case MARKET_JSON_OBJECT: base_buf_puts(out, "{ "); break;
        case MARKET_JSON_OBJECT_END: base_buf_puts(out, "} "); break;
        case MARKET_JSON_ARRAY: base_buf_puts(out, "[ "); break;
        case MARKET_JSON_ARRAY_END: base_buf_puts(out, "] "); break;
        case MARKET_JSON_KEY:
        case MARKET_JSON_STRING: put_text(out, json.text, json.size); break;
        case MARKET_JSON_NUMBER: base_buf_printf(out, "%g ", strtod(json.text, NULL) + 0.0); break;
        case MARKET_JSON_WORD: base_buf_printf(out, "%s ", json.text); break;
        }
    }
    assert_true(st == SHOAL_END || st == SHOAL_E_FORMAT);
    assert_true(st != SHOAL_END || json.depth == 0);
    env_lines_close(&lines);
    shoal_env_free(env);
    return st;
}

static void compare(const char *text, size_t size, double short_reads)
{
    struct base_buf ours, theirs;
    json_t *root = json_loadb(text, size, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);

    base_buf_init(&ours, &base_alloc_libc, 1 << 20);
    base_buf_init(&theirs, &base_alloc_libc, 1 << 20);
    shoal_status st = our_pieces(text, size, short_reads, &ours);
    if (root != NULL) {
        put_value(&theirs, root);
        if (st != SHOAL_END)
            fail_msg("refused what jansson accepts: %.*s", (int)size, text);
        assert_string_equal(ours.data, theirs.data);
    }
    json_decref(root);
    base_buf_fini(&ours);
    base_buf_fini(&theirs);
}

/* --- documents made up ----------------------------------------------------------------------- */

static void some_value(struct base_rand *rand, int depth, struct base_buf *out)
{
    static const char *const leaves[] = {"0",
                                         "-1",
                                         "12.5",
                                         "1e3",
                                         "-0.5E-2",
                                         "true",
                                         "false",
                                         "null",
                                         "\"\"",
                                         "\"a b\"",
                                         "\"\\u00e9\\n\\\"\\\\\\/\"",
                                         "\"\\ud83d\\ude00\"",
                                         "\"\xc3\xa9\"",
                                         "[]",
                                         "{}",
                                         "[ ]",
                                         "{\n}"};
    static const char *const blanks[] = {"", "", " ", "\n", "\t\r\n"};
    uint64_t what = base_rand_below(rand, depth > 4 ? 17 : 30);

    base_buf_puts(out, blanks[base_rand_below(rand, 5)]);
    if (what < 17) {
        base_buf_puts(out, leaves[what]);
    } else {
        bool object = what % 2 == 0;
        int count = 1 + (int)base_rand_below(rand, 4);
        base_buf_puts(out, object ? "{" : "[");
        for (int i = 0; i < count; i++) {
            if (i > 0)
                base_buf_puts(out, ",");
            if (object)
                base_buf_printf(out, "%s\"k%d\"%s:", blanks[base_rand_below(rand, 5)], i,
                                blanks[base_rand_below(rand, 5)]);
            some_value(rand, depth + 1, out);
        }
        base_buf_puts(out, object ? "}" : "]");
    }
    base_buf_puts(out, blanks[base_rand_below(rand, 5)]);
}

static void what_jansson_accepts_is_cut_alike(void **state)
{
    static const char signs[] = "{}[]:,\"\\ 0a-.\n";
    struct base_rand rand;
    struct base_buf text;

    (void)state;
    base_rand_init(&rand, 1, "json");
    base_buf_init(&text, &base_alloc_libc, 1 << 20);
    for (int run = 0; run < property_count(3000); run++) {
        base_buf_clear(&text);
        some_value(&rand, 0, &text);
        compare(text.data, text.size, run % 2 == 0 ? 0 : 0.8);
        for (int i = 0; i < 3; i++) { /* and what is a little broken */
            text.data[base_rand_below(&rand, text.size)] =
                signs[base_rand_below(&rand, sizeof signs - 1)];
            compare(text.data, text.size, 0);
        }
    }
    base_buf_fini(&text);
}

/* --- what must not be read ------------------------------------------------------------------- */

static void broken_json_is_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "{",
                                      "[",
                                      "}",
                                      "]",
                                      "[1,]",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{a:1}",
                                      "[1 2]",
                                      "[01]",
                                      "[1.]",
                                      "[+1]",
                                      "[.5]",
                                      "[1e]",
                                      "[-]",
                                      "[truth]",
                                      "[\"\\x\"]",
                                      "[\"\\u12\"]",
                                      "[\"a\nb\"]",
                                      "[\"a",
                                      "[\"\\ud800\"]",
                                      "[\"\\ud800\\u0041\"]",
                                      "[\"\\udc00\"]",
                                      "[\"\\u0000\"]",
                                      "{\"a\":1,}",
                                      "{,}",
                                      "[,]",
                                      "{\"a\" 1}",
                                      "[1}",
                                      "{\"a\":1]",
                                      "nul",
                                      "[1,,2]"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct base_buf out;
        base_buf_init(&out, &base_alloc_libc, 1 << 16);
        if (our_pieces(bad[i], strlen(bad[i]), 0, &out) != SHOAL_E_FORMAT)
            fail_msg("accepted: %s", bad[i]);
        base_buf_fini(&out);
    }
}

static void texts_of_any_length_pass_and_are_cut(void **state)
{
    enum { SIZE = 300000 };
    char *text = malloc(SIZE);

    (void)state;
    assert_non_null(text);
    memset(text, 'x', SIZE);
    text[0] = '[';
    text[1] = text[SIZE - 2] = '"';
    text[SIZE - 1] = ']';
    compare(text, SIZE, 0);
    for (int junk = 0; junk < 2; junk++) { /* digits without end are a number, letters are not */
        struct base_buf out;
        base_buf_init(&out, &base_alloc_libc, 1 << 16);
        memset(text + 1, junk ? 'x' : '7', SIZE - 2);
        assert_int_equal(our_pieces(text, SIZE, 0, &out), junk ? SHOAL_E_FORMAT : SHOAL_END);
        base_buf_fini(&out);
    }
    free(text);
}

static void nesting_has_an_end(void **state)
{
    char text[2 * MARKET_JSON_DEPTH_MAX + 4];
    struct base_buf out;

    (void)state;
    base_buf_init(&out, &base_alloc_libc, 1 << 16);
    for (int depth = MARKET_JSON_DEPTH_MAX; depth <= MARKET_JSON_DEPTH_MAX + 1; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        assert_int_equal(our_pieces(text, 2 * (size_t)depth, 0, &out),
                         depth == MARKET_JSON_DEPTH_MAX ? SHOAL_END : SHOAL_E_FORMAT);
    }
    base_buf_fini(&out);
}

static void skipping_leaves_a_value_whole(void **state)
{
    static const char text[] = "[{\"a\": [1, {\"b\": {}}], \"c\": 2}, 7]";
    shoal_env *env = world_new();
    struct env_lines lines;
    struct market_json json;
    enum market_json_token token;

    (void)state;
    world_put(env, "f", text);
    assert_int_equal(env_lines_open(env, "json", "f", &lines, NULL), SHOAL_OK);
    market_json_init(&json, &lines);
    assert_int_equal(market_json_next(&json, &token, NULL), SHOAL_OK);
    assert_int_equal(market_json_next(&json, &token, NULL), SHOAL_OK);
    assert_int_equal(token, MARKET_JSON_OBJECT);
    assert_int_equal(market_json_skip(&json, token, NULL), SHOAL_OK);
    assert_int_equal(market_json_next(&json, &token, NULL), SHOAL_OK);
    assert_int_equal(token, MARKET_JSON_NUMBER);
    assert_string_equal(json.text, "7");
    assert_int_equal(market_json_skip(&json, token, NULL), SHOAL_OK);
    assert_int_equal(market_json_next(&json, &token, NULL), SHOAL_OK);
    assert_int_equal(token, MARKET_JSON_ARRAY_END);
    env_lines_close(&lines);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_jansson_accepts_is_cut_alike),
        cmocka_unit_test(broken_json_is_refused),
        cmocka_unit_test(texts_of_any_length_pass_and_are_cut),
        cmocka_unit_test(nesting_has_an_end),
        cmocka_unit_test(skipping_leaves_a_value_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
