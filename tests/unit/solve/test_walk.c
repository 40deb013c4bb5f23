/* test_walk.c - stepping through JSON text: every value is found whole, nothing is read past. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rand.h"
#include "property.h"
#include "solve/read.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct solve_text text_of(const char *s)
{
    return (struct solve_text){"p.json", s, strlen(s)};
}

/* The spans of a text, joined by bars; "!" at the end for an error. */
static void spell(const char *s, char *out, size_t size)
{
    struct solve_text text = text_of(s);
    struct solve_span whole, key, value;
    struct solve_walk walk;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = solve_walk_whole(&text, &whole, &err);
    size_t n = 0;

    out[0] = '\0';
    if (st != SHOAL_OK) {
        snprintf(out, size, "!%.300s", err.message);
        return;
    }
    solve_walk_begin(&walk, &text, whole);
    key.size = 0;
    while ((st = solve_walk_next(&walk, &key, &value, &err)) == SHOAL_OK)
        n += (size_t)snprintf(out + n, size - n, "%.*s=%.*s|", (int)key.size, s + key.at,
                              (int)value.size, s + value.at);
    if (st != SHOAL_END)
        snprintf(out + n, size - n, "!%s", err.message);
}

static void members_and_elements_are_found_whole(void **state)
{
    static const struct {
        const char *text, *spans;
    } cases[] = {
        {"{}", ""},
        {" [ ] ", ""},
        {"[1]", "=1|"},
        {"[1, \"a]\\\"b\" ,[2,[3]],{\"x\":[]}\n,null]",
         "=1|=\"a]\\\"b\"|=[2,[3]]|={\"x\":[]}|=null|"},
        {"{\"a\" : 1,\"b\":{\"}\":2}}", "\"a\"=1|\"b\"={\"}\":2}|"},
        {"\xef\xbb\xbf{\"a\":-1e5}", "\"a\"=-1e5|"},
    };
    char found[400];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spell(cases[i].text, found, sizeof found);
        assert_string_equal(found, cases[i].spans);
    }
}

static void mistakes_are_told_with_their_place(void **state)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "line 1, column 1: the file ends where a value is due"},
        {"[1", "line 1, column 1: the file ends before what is opened here is closed"},
        {"[1}", "column 3: found '}' where a ']' is due"},
        {"{\"a\":1]", "column 7: found ']' where a '}' is due"},
        {"[1] 2", "column 5: expected the end of the file"},
        {"[\n\"a]", "line 2, column 1: a string without its closing quote"},
        {"[1 2]", "column 4: expected a comma or the closing bracket"},
        {"[1,]", "column 4: expected a value"},
        {"{1:2}", "column 2: expected a name in double quotes"},
        {"{\"a\" 2}", "column 6: expected a colon after the name"},
        {"{\"a\":1,}", "expected a name in double quotes"},
        {"[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", "column 17: nested more than 16 deep"},
    };
    char found[400];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spell(cases[i].text, found, sizeof found);
        if (strchr(found, '!') == NULL || strstr(found, cases[i].part) == NULL)
            fail_msg("'%s' gave '%s', not '%s'", cases[i].text, found, cases[i].part);
    }
}

/* Whatever jansson accepts is cut where jansson would cut it. */
static void spans_of_any_json_are_those_of_a_parser(void **state)
{
    static const char bytes[] = "[]{}[]{}\",:,:0123\"\\ abn\n";
    struct base_rand rand;
    int good = 0;

    (void)state;
    base_rand_init(&rand, 7, "walk");
    for (int round = 0; round < property_count(300000); round++) {
        char text[24];
        size_t size = 2 + base_rand_u64(&rand) % (sizeof text - 3);
        for (size_t i = 0; i < size; i++)
            text[i] = bytes[base_rand_u64(&rand) % (sizeof bytes - 1)];
        text[0] = base_rand_u64(&rand) % 2 == 0 ? '[' : '{';
        text[size - 1] = text[0] == '[' ? ']' : '}';
        text[size] = '\0';
        json_t *json = json_loads(text, 0, NULL);
        if (json == NULL)
            continue;
        struct solve_text t = text_of(text);
        struct solve_span whole, key, value;
        struct solve_walk walk;
        size_t seen = 0;
        assert_int_equal(solve_walk_whole(&t, &whole, NULL), SHOAL_OK);
        solve_walk_begin(&walk, &t, whole);
        while (solve_walk_next(&walk, &key, &value, NULL) == SHOAL_OK) {
            json_t *one = json_loadb(text + value.at, value.size, JSON_DECODE_ANY, NULL);
            assert_non_null(one);
            if (json_is_array(json))
                assert_true(json_equal(one, json_array_get(json, seen)));
            json_decref(one);
            seen++;
        }
        if (json_is_array(json))
            assert_int_equal(seen, json_array_size(json));
        else
            assert_true(seen >= json_object_size(json)); /* a key may come twice */
        json_decref(json);
        good++;
    }
    assert_true(good > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_and_elements_are_found_whole),
        cmocka_unit_test(mistakes_are_told_with_their_place),
        cmocka_unit_test(spans_of_any_json_are_those_of_a_parser),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
