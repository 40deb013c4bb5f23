/* test_opt.c - option rows: every type reads what it writes, refuses what it should, and says what
 * it expected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/assert.h"
#include "base/opt.h"
#include "base/rand.h"
#include "property.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const levels[] = {"anywhere", "rack", "strict", NULL};

struct values {
    uint32_t guard_before;
    bool flag;
    uint64_t count, bytes;
    double share, wait;
    const char *name;
    uint32_t level;
    shoal_opt_list many;
    uint32_t guard_after;
};

#define AT(member) offsetof(struct values, member)

static const shoal_opt rows[] = {
    {AT(flag), SHOAL_OPT_FLAG, "flag", .help = "a flag"},
    {AT(count), SHOAL_OPT_U64, "count", 'n', NULL, "7", .min = 1, .max = 100},
    {AT(bytes), SHOAL_OPT_SIZE, "bytes", .fallback = "4K"},
    {AT(share), SHOAL_OPT_F64, "share", 0, NULL, "0.5", .max = 1},
    {AT(wait), SHOAL_OPT_DURATION, "wait", 0, NULL, "2h30m", .max = INFINITY},
    {AT(name), SHOAL_OPT_STR, .name = "name"},
    {AT(level), SHOAL_OPT_CHOICE, "level", 0, NULL, "rack", .choices = levels},
    {AT(many), SHOAL_OPT_LIST, .name = "many"},
};

static struct values defaults(void)
{
    struct values v;

    memset(&v, 0xa5, sizeof v);
    base_opt_defaults(rows, BASE_COUNT(rows), &v);
    return v;
}

static const shoal_opt *row(const char *name)
{
    const shoal_opt *found = base_opt_find(rows, BASE_COUNT(rows), name);

    assert_non_null(found);
    return found;
}

static void defaults_fill_every_row_and_nothing_else(void **state)
{
    struct values v = defaults();

    (void)state;
    assert_false(v.flag);
    assert_int_equal(v.count, 7);
    assert_int_equal(v.bytes, 4096);
    assert_true(v.share == 0.5);
    assert_true(v.wait == 9000);
    assert_null(v.name);
    assert_int_equal(v.level, 1);
    assert_int_equal(v.many.count, 0);
    assert_int_equal(v.guard_before, 0xa5a5a5a5);
    assert_int_equal(v.guard_after, 0xa5a5a5a5);
}

/* A value that cannot be read leaves the struct as it was and names what was expected. */
static void refuses(const char *name, const char *text, const char *expected)
{
    struct values v = defaults();
    struct values before;
    shoal_err err = SHOAL_ERR_INIT;

    memcpy(&before, &v, sizeof v);
    assert_int_equal(base_opt_set(row(name), text, &v, &err), SHOAL_E_INVAL);
    assert_memory_equal(&before, &v, sizeof v);
    assert_non_null(strstr(err.message, expected));
    assert_non_null(strstr(err.message, name));
    assert_int_equal(base_opt_set(row(name), text, &v, NULL), SHOAL_E_INVAL);
}

static void bad_values_are_refused_in_words_and_change_nothing(void **state)
{
    (void)state;
    refuses("flag", "maybe", "expected true or false, found 'maybe'");
    refuses("count", "x", "expected a whole number, found 'x'");
    refuses("count", "", "expected a whole number");
    refuses("count", "-1", "expected a whole number");
    refuses("count", "1.5", "expected a whole number");
    refuses("count", "18446744073709551616", "expected a whole number");
    refuses("bytes", "4Q", "expected a size");
    refuses("share", "nan", "expected a number");
    refuses("share", "inf", "expected a number");
    refuses("share", "0x1", "expected a number");
    refuses("wait", "soon", "expected a duration");
    refuses("wait", "-5s", "expected");
    refuses("level", "racks", "expected anywhere, rack or strict, found 'racks'");
}

static void ranges_include_their_ends_and_nothing_beyond(void **state)
{
    struct values v = defaults();

    (void)state;
    assert_int_equal(base_opt_set(row("count"), "1", &v, NULL), SHOAL_OK);
    assert_int_equal(base_opt_set(row("count"), "100", &v, NULL), SHOAL_OK);
    assert_int_equal(v.count, 100);
    refuses("count", "0", "expected 1 to 100, found '0'");
    refuses("count", "101", "expected 1 to 100, found '101'");
    assert_int_equal(base_opt_set(row("share"), "1", &v, NULL), SHOAL_OK);
    refuses("share", "1.0000001", "expected 0 to 1");
    assert_int_equal(base_opt_set(row("wait"), "1000000d", &v, NULL), SHOAL_OK);
}

static void no_range_means_every_value(void **state)
{
    struct values v = defaults();

    (void)state;
    assert_int_equal(base_opt_set(row("bytes"), "0", &v, NULL), SHOAL_OK);
    assert_int_equal(base_opt_set(row("bytes"), "18446744073709551615", &v, NULL), SHOAL_OK);
    assert_true(v.bytes == UINT64_MAX);
}

static void format_row(const shoal_opt *r, const struct values *v, char *out, size_t size)
{
    struct base_buf buf;

    base_buf_init(&buf, &base_alloc_libc, 1000);
    base_buf_puts(&buf, "");
    base_opt_format(r, v, &buf);
    assert_int_equal(base_buf_status(&buf), SHOAL_OK);
    snprintf(out, size, "%s", buf.size == 0 ? "" : buf.data);
    base_buf_fini(&buf);
}

static void draw_values(struct base_rand *r, struct values *v)
{
    v->flag = base_rand_below(r, 2) == 1;
    v->count = 1 + base_rand_below(r, 100);
    v->bytes = base_rand_u64(r) >> base_rand_below(r, 64);
    if (base_rand_below(r, 2) == 0)
        v->bytes = (v->bytes & 0xffff) << 10 * base_rand_below(r, 5);
    v->share = base_rand_unit(r);
    v->wait = base_rand_unit(r) * pow(10, base_rand_range(r, -9, 12));
    v->name = base_rand_below(r, 2) == 0 ? "a=b,c" : "x y";
    v->level = (uint32_t)base_rand_below(r, 3);
}

static void what_is_formatted_reads_back_as_the_same_value(void **state)
{
    struct base_rand r;
    int count = property_count(2000);

    (void)state;
    base_rand_init(&r, 1, "test.opt");
    for (int i = 0; i < count; i++) {
        struct values v = defaults(), back = defaults();
        char texts[BASE_COUNT(rows)][200];
        draw_values(&r, &v);
        for (size_t k = 0; k + 1 < BASE_COUNT(rows); k++) {
            format_row(&rows[k], &v, texts[k], sizeof texts[k]);
            if (base_opt_set(&rows[k], texts[k], &back, NULL) != SHOAL_OK)
                fail_msg("round %d: '%s' of row %s does not read back", i, texts[k], rows[k].name);
            if (rows[k].type == SHOAL_OPT_STR)
                assert_string_equal(v.name, back.name);
            else
                assert_memory_equal((char *)&v + rows[k].offset, (char *)&back + rows[k].offset,
                                    base_opt_size(&rows[k]));
        }
    }
}

static void sizes_and_durations_are_written_as_people_write_them(void **state)
{
    struct values v = defaults();
    char text[100];

    (void)state;
    format_row(row("bytes"), &v, text, sizeof text);
    assert_string_equal(text, "4K");
    v.bytes = UINT64_C(3) << 30;
    format_row(row("bytes"), &v, text, sizeof text);
    assert_string_equal(text, "3G");
    v.wait = 60;
    format_row(row("wait"), &v, text, sizeof text);
    assert_string_equal(text, "60s");
    format_row(row("name"), &v, text, sizeof text);
    assert_string_equal(text, "");
}

static void a_list_keeps_order_and_refuses_one_too_many(void **state)
{
    struct values v = defaults();
    shoal_err err = SHOAL_ERR_INIT;
    char text[200];

    (void)state;
    assert_int_equal(base_opt_set(row("many"), "a", &v, NULL), SHOAL_OK);
    assert_int_equal(base_opt_set(row("many"), "b", &v, NULL), SHOAL_OK);
    format_row(row("many"), &v, text, sizeof text);
    assert_string_equal(text, "a,b");
    for (int i = 2; i < SHOAL_OPT_LIST_MAX; i++)
        assert_int_equal(base_opt_set(row("many"), "c", &v, NULL), SHOAL_OK);
    assert_int_equal(base_opt_set(row("many"), "d", &v, &err), SHOAL_E_LIMIT);
    assert_int_equal(v.many.count, SHOAL_OPT_LIST_MAX);
    assert_non_null(strstr(err.message, "more than 32 times"));
}

static shoal_status assign(const char *text, struct values *v, shoal_err *err)
{
    return base_opt_assign(rows, BASE_COUNT(rows), text, "policy 'x'", v, err);
}

static void assignments_set_values_with_equals_signs_in_them(void **state)
{
    struct values v = defaults();

    (void)state;
    assert_int_equal(assign("count=9", &v, NULL), SHOAL_OK);
    assert_int_equal(v.count, 9);
    assert_int_equal(assign("name=a=b", &v, NULL), SHOAL_OK);
    assert_string_equal(v.name, "a=b");
    assert_int_equal(assign("name=", &v, NULL), SHOAL_OK);
    assert_string_equal(v.name, "");
}

static void an_unknown_key_offers_the_nearest_or_all(void **state)
{
    struct values v = defaults();
    shoal_err err = SHOAL_ERR_INIT;
    char far[300];

    (void)state;
    assert_int_equal(assign("cuont=9", &v, &err), SHOAL_E_INVAL);
    assert_string_equal(err.message, "policy 'x' has no option 'cuont'");
    assert_string_equal(err.hint, "did you mean 'count'?");
    assert_int_equal(assign("zzzzzzzzzz=9", &v, &err), SHOAL_E_INVAL);
    assert_non_null(strstr(err.hint, "it has flag, count"));
    memset(far, 'q', sizeof far - 2);
    strcpy(far + sizeof far - 3, "=1");
    assert_int_equal(assign(far, &v, &err), SHOAL_E_INVAL);
    assert_int_equal(assign("count", &v, &err), SHOAL_E_INVAL);
    assert_non_null(strstr(err.message, "expected key=value"));
    assert_int_equal(assign("=5", &v, &err), SHOAL_E_INVAL);
    assert_int_equal(assign("", &v, &err), SHOAL_E_INVAL);
}

static void the_nearest_name_is_a_row_or_nothing(void **state)
{
    (void)state;
    assert_string_equal(base_opt_nearest(rows, BASE_COUNT(rows), "shre"), "share");
    assert_string_equal(base_opt_nearest(rows, BASE_COUNT(rows), "lveel"), "level");
    assert_null(base_opt_nearest(rows, BASE_COUNT(rows), "completely-different"));
    assert_null(base_opt_nearest(rows, 0, "share"));
    assert_null(base_opt_find(rows, BASE_COUNT(rows), "shar"));
}

static void what_a_row_leaves_out_has_a_word_of_its_own(void **state)
{
    const shoal_opt flag = {.type = SHOAL_OPT_FLAG}, bytes = {.type = SHOAL_OPT_SIZE};
    const shoal_opt full = {.type = SHOAL_OPT_STR, .meta = "FILE", .fallback = "-"};

    (void)state;
    assert_null(base_opt_meta(&flag));
    assert_string_equal(base_opt_meta(&bytes), "VALUE");
    assert_string_equal(base_opt_meta(&full), "FILE");
    assert_string_equal(base_opt_fallback(&flag), "false");
    assert_null(base_opt_fallback(&bytes));
    assert_string_equal(base_opt_fallback(&full), "-");
    assert_string_equal(base_opt_type_name(&bytes), "size");
}

static void numbers_that_nobody_parsed_are_held_to_their_ranges(void **state)
{
    static const double shares[] = {-0.1, 1.1, (double)NAN, (double)INFINITY};
    struct values v = defaults();
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(base_opt_check(rows, BASE_COUNT(rows), &v, &err), SHOAL_OK);
    v.bytes = UINT64_MAX; /* no range: any */
    assert_int_equal(base_opt_check(rows, BASE_COUNT(rows), &v, &err), SHOAL_OK);
    v.count = 101;
    assert_int_equal(base_opt_check(rows, BASE_COUNT(rows), &v, &err), SHOAL_E_INVAL);
    assert_string_equal(err.message, "bad value for 'count': expected 1 to 100, found '101'");
    for (size_t i = 0; i < BASE_COUNT(shares); i++) {
        v = defaults();
        v.share = shares[i];
        assert_int_equal(base_opt_check(rows, BASE_COUNT(rows), &v, &err), SHOAL_E_INVAL);
        assert_non_null(strstr(err.message, "'share'"));
    }
    v = defaults();
    v.wait = -1;
    assert_int_equal(base_opt_check(rows, BASE_COUNT(rows), &v, &err), SHOAL_E_INVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_fill_every_row_and_nothing_else),
        cmocka_unit_test(bad_values_are_refused_in_words_and_change_nothing),
        cmocka_unit_test(ranges_include_their_ends_and_nothing_beyond),
        cmocka_unit_test(no_range_means_every_value),
        cmocka_unit_test(what_is_formatted_reads_back_as_the_same_value),
        cmocka_unit_test(sizes_and_durations_are_written_as_people_write_them),
        cmocka_unit_test(a_list_keeps_order_and_refuses_one_too_many),
        cmocka_unit_test(assignments_set_values_with_equals_signs_in_them),
        cmocka_unit_test(an_unknown_key_offers_the_nearest_or_all),
        cmocka_unit_test(the_nearest_name_is_a_row_or_nothing),
        cmocka_unit_test(what_a_row_leaves_out_has_a_word_of_its_own),
        cmocka_unit_test(numbers_that_nobody_parsed_are_held_to_their_ranges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
