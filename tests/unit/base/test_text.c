/* Tests of src/base/text.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rand.h"
#include "base/text.h"
#include "property.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void doubles_round_trip_through_17_digits(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "test.text");
    for (int i = 0; i < property_count(100000); i++) {
        uint64_t bits = base_rand_u64(&r);
        double value = 0, back = 0;
        memcpy(&value, &bits, sizeof value);
        if (i % 2 == 0)
            value = base_rand_range(&r, -1e6, 1e6);
        if (!isfinite(value))
            continue;
        char text[64];
        (void)snprintf(text, sizeof text, i % 3 == 0 ? "%.17g" : "%.16e", value);
        assert_true(base_parse_f64(text, strlen(text), &back));
        assert_memory_equal(&back, &value, sizeof value);
    }
}

/* Random strings over the alphabet of numbers: we accept what the grammar says, and agree with
 * strtod about it. */
static void number_texts_agree_with_the_c_library(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 2, "test.text");
    int accepted = 0;
    for (int i = 0; i < property_count(300000); i++) {
        char text[32];
        size_t length = 1 + base_rand_below(&r, 24);
        for (size_t k = 0; k < length; k++)
            text[k] = "00123456789.e-+"[base_rand_below(&r, k > 5 ? 13 : 15)];
        text[length] = '\0';
        double value = 12345;
        bool ok = base_parse_f64(text, length, &value);
        char *end = NULL;
        double expected = strtod(text, &end);
        bool whole = end == text + length;
        assert_int_equal(ok, whole && isfinite(expected));
        if (ok)
            assert_memory_equal(&value, &expected, sizeof value);
        else
            assert_true(value == 12345);
        accepted += ok;
    }
    assert_true(accepted > 1000);
}

static void numbers_outside_the_grammar_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",      "+",     "-",     ".",     "e5",     "1e",       "1e+",  "--1",      "1 ",
        " 1",    "1.2.3", "1,5",   "nan",   "NaN",    "inf",      "-inf", "infinity", "0x10",
        "1e5.0", "1f",    "1_000", "1e999", "-1e400", "\xD9\xA1", "1\n"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        double value = 7;
        if (base_parse_f64(bad[i], strlen(bad[i]), &value))
            fail_msg("'%s' was read as %g", bad[i], value);
        assert_true(value == 7);
    }
}

static void numbers_inside_the_grammar_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},
                {"-0", -0.0},
                {"1", 1},
                {"+1.5", 1.5},
                {".5", 0.5},
                {"5.", 5},
                {"1e3", 1000},
                {"1E-3", 0.001},
                {"1e-999", 0},
                {"0e999", 0},
                {"00012", 12},
                {"3469.69375", 3469.69375},
                {"1e22", 1e22},
                {"1e23", 1e23},
                {"9007199254740993", 9007199254740992},
                {"0.1", 0.1},
                {"1e0000000000000000000005", 1e5},
                {"0e99999999999999999999", 0},
                {"4.9e-324", 0x1p-1074},
                {"1.7976931348623157e308", 1.7976931348623157e308}};
    for (size_t i = 0; i < COUNT(good); i++) {
        double value = 7;
        if (!base_parse_f64(good[i].text, strlen(good[i].text), &value))
            fail_msg("'%s' was refused", good[i].text);
        assert_memory_equal(&value, &good[i].value, sizeof value);
    }
    double value = 0;
    assert_true(base_parse_f64("12345", 3, &value)); /* the length rules, not a NUL */
    assert_true(value == 123);
}

/* 2^53 + 1 is a tie; a digit far beyond what any buffer holds must still tip it. */
static void digits_far_out_still_decide_a_tie(void **state)
{
    (void)state;
    for (size_t zeros = 1; zeros < 5000; zeros = zeros * 2 + 1) {
        char *text = malloc(zeros + 32);
        assert_non_null(text);
        size_t length = (size_t)sprintf(text, "9007199254740993.");
        memset(text + length, '0', zeros);
        length += zeros;
        double value = 0;
        assert_true(base_parse_f64(text, length, &value));
        assert_true(value == 9007199254740992.0);
        text[length++] = '1';
        assert_true(base_parse_f64(text, length, &value));
        assert_true(value == 9007199254740994.0);
        free(text);
    }
}

static void long_texts_with_balancing_exponents_are_read(void **state)
{
    (void)state;
    char text[3000];
    text[0] = '0';
    text[1] = '.';
    memset(text + 2, '0', 2000);
    size_t length = 2002 + (size_t)sprintf(text + 2002, "25e2001");
    double value = 0;
    assert_true(base_parse_f64(text, length, &value));
    assert_true(value == 2.5);
    memset(text, '7', 2000);
    length = 2000 + (size_t)sprintf(text + 2000, "e-1999");
    assert_true(base_parse_f64(text, length, &value));
    assert_true(value == 7.0 + 7.0 / 9.0);
}

static void integers_round_trip_and_overflow_is_refused(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 3, "test.text");
    for (int i = 0; i < 10000; i++) {
        uint64_t u = base_rand_u64(&r) >> base_rand_below(&r, 64), u_back = 0;
        char text[32];
        (void)snprintf(text, sizeof text, "%" PRIu64, u);
        assert_true(base_parse_u64(text, strlen(text), &u_back));
        assert_true(u == u_back);
    }
    static const char *const bad_u64[] = {"",    "-1", "+1",  "18446744073709551616", "1.0",
                                          "1e3", " 1", "0x1", "99999999999999999999"};
    uint64_t u = 5;
    for (size_t i = 0; i < COUNT(bad_u64); i++)
        assert_false(base_parse_u64(bad_u64[i], strlen(bad_u64[i]), &u));
    assert_int_equal(u, 5);
    assert_true(base_parse_u64("18446744073709551615", 20, &u));
    assert_true(u == UINT64_MAX);
}

static void booleans_are_the_eight_words(void **state)
{
    (void)state;
    static const char *const yes[] = {"true", "yes", "on", "1"}, *const no[] = {"false", "no",
                                                                                "off", "0"};
    for (size_t i = 0; i < 4; i++) {
        bool value = false;
        assert_true(base_parse_bool(yes[i], &value));
        assert_true(value);
        assert_true(base_parse_bool(no[i], &value));
        assert_false(value);
    }
    bool value = true;
    assert_false(base_parse_bool("", &value));
    assert_false(base_parse_bool("True ", &value));
    assert_false(base_parse_bool("2", &value));
    assert_true(value);
}

static void durations_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double seconds;
    } good[] = {{"90s", 90},         {"5m", 300},   {"2h30m", 9000}, {"3d", 259200},
                {"60", 60},          {"0", 0},      {"1.5h", 5400},  {"1d12h", 129600},
                {"1d2h3m4s", 93784}, {"0.4s", 0.4}, {"500ms", 0.5},  {"1m5s", 65},
                {"1s250ms", 1.25},   {"1e3", 1000}, {"1m00s", 60},   {"2h05m", 7500}};
    for (size_t i = 0; i < COUNT(good); i++) {
        double s = -1;
        if (!base_parse_duration(good[i].text, &s))
            fail_msg("'%s' was refused", good[i].text);
        assert_true(fabs(s - good[i].seconds) < 1e-12 * (1 + s));
    }
    static const char *const bad[] = {
        "",    "s",  "h",    "-5s", "-5",    "5 s",  "5x",   "5m2h", "5m5m",  "1h-3m",
        "1hm", "5S", "1e3s", "inf", "1..5s", "1h30", "5msm", "+5",   "1e999", "99999999h99999999d"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        double s = -1;
        if (base_parse_duration(bad[i], &s))
            fail_msg("'%s' was read as %g", bad[i], s);
        assert_true(s == -1);
    }
}

static void durations_are_written_in_at_most_two_units(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        const char *text;
    } golden[] = {{0, "0s"},
                  {0.4, "0.4s"},
                  {1, "1s"},
                  {12.34, "12.3s"},
                  {45, "45s"},
                  {59.94, "59.9s"},
                  {59.96, "1m00s"},
                  {60, "1m00s"},
                  {90, "1m30s"},
                  {3599.4, "59m59s"},
                  {3599.5, "1h00m"},
                  {7500, "2h05m"},
                  {86369, "23h59m"},
                  {86370, "1d0h"},
                  {273600, "3d4h"},
                  {0.0042, "4.2ms"},
                  {0.05, "50ms"},
                  {0.099, "99ms"},
                  {0.0999, "0.1s"},
                  {1e-9, "0s"},
                  {-90, "-1m30s"},
                  {-0.4, "-0.4s"},
                  {-1e-9, "0s"},
                  {INFINITY, "forever"},
                  {-INFINITY, "-forever"},
                  {NAN, "unknown"},
                  {8.64e9, "100000d0h"}};
    for (size_t i = 0; i < COUNT(golden); i++) {
        char text[32];
        assert_ptr_equal(base_format_duration(golden[i].seconds, text, sizeof text), text);
        assert_string_equal(text, golden[i].text);
    }
}

/* Reading back loses at most half of the last unit shown, or of its tenth below a minute. */
static void written_durations_read_back_close(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 4, "test.text");
    for (int i = 0; i < property_count(20000); i++) {
        double s = exp(base_rand_range(&r, -6, 20)), back = -1;
        char text[32];
        (void)base_format_duration(s, text, sizeof text);
        assert_true(base_parse_duration(text, &back));
        double unit = s < 0.0995 ? 1e-4 : s < 59.95 ? 0.1 : s < 3599 ? 1 : s < 86369 ? 60 : 3600;
        assert_true(fabs(back - s) <= unit * 0.5000001);
    }
}

static void sizes_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"1024", 1024},
                {"0", 0},
                {"512M", 512u << 20},
                {"4G", 4ull << 30},
                {"4g", 4ull << 30},
                {"1k", 1024},
                {"1KiB", 1024},
                {"2KB", 2048},
                {"7B", 7},
                {"1.5K", 1536},
                {"15E", 15ull << 60},
                {"3T", 3ull << 40},
                {"1P", 1ull << 50},
                {"18446744073709551615", UINT64_MAX}};
    for (size_t i = 0; i < COUNT(good); i++) {
        uint64_t bytes = 1;
        if (!base_parse_size(good[i].text, &bytes))
            fail_msg("'%s' was refused", good[i].text);
        assert_true(bytes == good[i].bytes);
    }
    static const char *const bad[] = {
        "",     "M",      "-1",  "1 M",          "16E",
        "1.5",  "1KK",    "1Kb", "1iB",          "18446744073709551616",
        "1e3",  "1.2.3K", ".K",  "99999999999G", "1X",
        "16.5E"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        uint64_t bytes = 77;
        if (base_parse_size(bad[i], &bytes))
            fail_msg("'%s' was read as %" PRIu64, bad[i], bytes);
        assert_int_equal(bytes, 77);
    }
}

static void dates_agree_with_the_c_library(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 5, "test.text");
    for (int i = 0; i < property_count(20000); i++) {
        /* years 1 to 9999 */
        time_t t = (time_t)base_rand_below(&r, 315537897600u) - 62135596800;
        struct tm tm;
        assert_non_null(gmtime_r(&t, &tm));
        char text[80];
        (void)snprintf(text, sizeof text, "%04d-%02d-%02d%c%02d:%02d:%02d%s", tm.tm_year + 1900,
                       tm.tm_mon + 1, tm.tm_mday, " T"[i % 2], tm.tm_hour, tm.tm_min, tm.tm_sec,
                       i % 3 == 0 ? "Z" : "");
        double s = 0.5;
        assert_true(base_parse_utc(text, strlen(text), &s));
        assert_true(s == (double)t);
    }
}

static void dates_that_do_not_exist_are_refused(void **state)
{
    (void)state;
    static const char *const good[] = {"2000-02-29 00:00:00",  "2016-02-29 23:59:59",
                                       "1970-01-01T00:00:00Z", "2015-01-01",
                                       "2015-01-01 00:00",     "2015-01-01T00:00:00.25+01:00"};
    static const char *const bad[] = {"1900-02-29 00:00:00",
                                      "2015-02-29 00:00:00",
                                      "2015-13-01 00:00:00",
                                      "2015-00-01 00:00:00",
                                      "2015-04-31 00:00:00",
                                      "2015-01-00 00:00:00",
                                      "2015-01-01 24:00:00",
                                      "2015-01-01 00:60:00",
                                      "2015-01-01 00:00:60",
                                      "2015-01",
                                      "2015-01-01 00:00:00.",
                                      "2015-01-01 00:00:00X",
                                      "2015/01/01 00:00:00",
                                      "2015-01-01 00:00:00ZZ",
                                      " 2015-01-01 00:00:0",
                                      "2015-1-01  00:00:00",
                                      ""};
    double s = 0.5;
    for (size_t i = 0; i < COUNT(good); i++)
        assert_true(base_parse_utc(good[i], strlen(good[i]), &s));
    s = 0.5;
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (base_parse_utc(bad[i], strlen(bad[i]), &s))
            fail_msg("'%s' was read", bad[i]);
        assert_true(s == 0.5);
    }
}

static void counts_have_separators(void **state)
{
    (void)state;
    char text[32];
    assert_string_equal(base_format_count(0, text, sizeof text), "0");
    assert_string_equal(base_format_count(999, text, sizeof text), "999");
    assert_string_equal(base_format_count(1000, text, sizeof text), "1,000");
    assert_string_equal(base_format_count(12345678, text, sizeof text), "12,345,678");
    assert_string_equal(base_format_count(UINT64_MAX, text, sizeof text),
                        "18,446,744,073,709,551,615");
    char small[4];
    assert_string_equal(base_format_count(12345, small, sizeof small), "12,");
}

static size_t random_word(struct base_rand *r, char *word, size_t max)
{
    size_t length = base_rand_below(r, max);
    for (size_t i = 0; i < length; i++)
        word[i] = (char)('a' + base_rand_below(r, 3));
    word[length] = '\0';
    return length;
}

static void edit_distance_is_a_distance(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 6, "test.text");
    for (int i = 0; i < property_count(20000); i++) {
        char a[16], b[16];
        size_t a_length = random_word(&r, a, 12), b_length = random_word(&r, b, 12);
        size_t d = base_edit_distance(a, b);
        assert_int_equal(d, base_edit_distance(b, a));
        assert_int_equal(d == 0, strcmp(a, b) == 0);
        size_t longer = a_length > b_length ? a_length : b_length;
        size_t shorter = a_length + b_length - longer;
        assert_in_range(d, longer - shorter, longer);
        /* one more letter at the end of both changes nothing; one at the end of one, by at most 1
         */
        strcat(a, "x");
        size_t one = base_edit_distance(a, b);
        assert_true(one + 1 >= d && one <= d + 1);
        strcat(b, "x");
        assert_int_equal(base_edit_distance(a, b), d);
    }
}

static void one_slip_costs_one(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 7, "test.text");
    for (int i = 0; i < 2000; i++) {
        char word[40], slip[40];
        size_t length = random_word(&r, word, 30);
        size_t at = base_rand_below(&r, length + 1);
        memcpy(slip, word, at); /* a letter too many */
        slip[at] = 'z';
        strcpy(slip + at + 1, word + at);
        assert_int_equal(base_edit_distance(word, slip), 1);
        if (at >= length)
            continue;
        strcpy(slip, word); /* a wrong one */
        slip[at] = 'z';
        assert_int_equal(base_edit_distance(word, slip), 1);
        if (at + 1 < length && word[at] != word[at + 1]) { /* two exchanged */
            strcpy(slip, word);
            slip[at] = word[at + 1];
            slip[at + 1] = word[at];
            assert_int_equal(base_edit_distance(word, slip), 1);
        }
    }
    assert_int_equal(base_edit_distance("", "abc"), 3);
    assert_int_equal(base_edit_distance("kitten", "sitting"), 3);
}

static void words_of_any_length_are_safe(void **state)
{
    (void)state;
    char a[300], b[300];
    memset(a, 'a', sizeof a - 1);
    memset(b, 'b', sizeof b - 1);
    a[sizeof a - 1] = b[sizeof b - 1] = '\0';
    assert_int_equal(base_edit_distance(a, a), 0);
    assert_int_equal(base_edit_distance(a, b), 299);
    assert_int_equal(base_edit_distance(a, "a"), 299);
}

static void near_names_are_offered_and_far_ones_are_not(void **state)
{
    (void)state;
    static const char *const names[] = {"fifo",    "las",   "srtf",  "tiresias",
                                        "gandiva", "allox", "pollux"};
    static const char *const pairs[][2] = {{"polux", "pollux"},
                                           {"POLLUX", "pollux"},
                                           {"ffio", "fifo"},
                                           {"lsa", "las"},
                                           {"tires", "tiresias"},
                                           {"gandvia", "gandiva"},
                                           {"tiresais", "tiresias"},
                                           {"srft", "srtf"},
                                           {"zebra", NULL},
                                           {"", NULL},
                                           {"x", NULL},
                                           {"quantum", NULL},
                                           {"fi", NULL}};
    for (size_t i = 0; i < COUNT(pairs); i++) {
        const char *near = base_nearest(pairs[i][0], names, COUNT(names));
        if (pairs[i][1] == NULL) {
            if (near != NULL)
                fail_msg("'%s' offers '%s'", pairs[i][0], near);
        } else {
            assert_non_null(near);
            assert_string_equal(near, pairs[i][1]);
        }
    }
    assert_null(base_nearest("fifo", NULL, 0));
}

/* Each byte at each place of each length up to three words, among plain ones of any kind. */
static void a_control_character_is_found_wherever_it_is(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "controls");
    for (size_t length = 0; length <= 24; length++) {
        char text[24];
        for (size_t i = 0; i < length; i++) {
            unsigned char c = (unsigned char)(0x20 + base_rand_below(&rand, 0xe0));
            text[i] = (char)(c == 0x7f ? 0x80 : c);
        }
        assert_false(base_has_control(text, length));
        for (size_t at = 0; at < length; at++) {
            char kept = text[at];
            for (int c = 0; c < 256; c++) {
                text[at] = (char)c;
                assert_int_equal(base_has_control(text, length), c < 0x20 || c == 0x7f);
            }
            text[at] = kept;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_round_trip_through_17_digits),
        cmocka_unit_test(number_texts_agree_with_the_c_library),
        cmocka_unit_test(numbers_outside_the_grammar_are_refused),
        cmocka_unit_test(numbers_inside_the_grammar_are_read),
        cmocka_unit_test(digits_far_out_still_decide_a_tie),
        cmocka_unit_test(long_texts_with_balancing_exponents_are_read),
        cmocka_unit_test(integers_round_trip_and_overflow_is_refused),
        cmocka_unit_test(booleans_are_the_eight_words),
        cmocka_unit_test(durations_are_read),
        cmocka_unit_test(durations_are_written_in_at_most_two_units),
        cmocka_unit_test(written_durations_read_back_close),
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(dates_agree_with_the_c_library),
        cmocka_unit_test(dates_that_do_not_exist_are_refused),
        cmocka_unit_test(counts_have_separators),
        cmocka_unit_test(edit_distance_is_a_distance),
        cmocka_unit_test(one_slip_costs_one),
        cmocka_unit_test(words_of_any_length_are_safe),
        cmocka_unit_test(near_names_are_offered_and_far_ones_are_not),
        cmocka_unit_test(a_control_character_is_found_wherever_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
