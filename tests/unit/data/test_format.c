/* Tests of src/data/format.c and number.h: what is written reads back equal. */
#include "unit/data/data_world.h"

#include "base/rand.h"
#include "data/format.h"
#include "data/number.h"
#include "property.h"
#include <math.h>

static double parse(const char *text)
{
    char line[200];
    double value = NAN;

    snprintf(line, sizeof line, "%s\n", text);
    const char *end = data_number_parse(line, &value);
    assert_non_null(end);
    assert_int_equal(*end, '\n');
    return value;
}

/* As printf writes them, with the nine digits that tell any float. */
static void floats_of_all_bits_read_back_equal(void **state)
{
    struct base_rand r;
    char text[DATA_FORMAT_MAX + 1];

    (void)state;
    base_rand_init(&r, 1, "test.format");
    for (int i = 0; i < property_count(300000); i++) {
        uint32_t bits = (uint32_t)base_rand_u64(&r);
        float value = 0, back = 0;
        memcpy(&value, &bits, sizeof value);
        if (i % 2 == 0)
            value = (float)base_rand_range(&r, -1000, 1000);
        if (!isfinite(value))
            continue;
        snprintf(text, sizeof text, "%.9g", (double)value);
        back = (float)parse(text);
        assert_memory_equal(&back, &value, sizeof value);
    }
}

static void short_decimals_stay_short(void **state)
{
    static const char *const texts[] = {"1",       "0.5",    "3.14159", "-2.75", "100",
                                        "0.00125", "123456", "0.1",     "33.3"};
    char text[DATA_FORMAT_MAX + 1];

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        *data_format_f64(text, parse(texts[i])) = '\0';
        assert_string_equal(text, texts[i]);
    }
}

static void doubles_read_back_equal(void **state)
{
    struct base_rand r;
    char text[DATA_FORMAT_MAX + 1];

    (void)state;
    base_rand_init(&r, 2, "test.format.f64");
    for (int i = 0; i < property_count(100000); i++) {
        uint64_t bits = base_rand_u64(&r);
        double value = 0;
        memcpy(&value, &bits, sizeof value);
        if (i % 8 != 0)
            value = base_rand_normal(&r, 0, 100);
        if (!isfinite(value))
            continue;
        char *end = data_format_f64(text, value);
        assert_true(end - text <= DATA_FORMAT_MAX);
        *end = '\0';
        double back = parse(text);
        assert_memory_equal(&back, &value, sizeof value);
    }
}

static void whole_and_fixed_numbers_are_written_as_by_printf(void **state)
{
    struct base_rand r;
    char text[DATA_FORMAT_MAX + 1], expected[DATA_FORMAT_MAX + 1];

    (void)state;
    base_rand_init(&r, 3, "test.format.u64");
    for (int i = 0; i < property_count(100000); i++) {
        uint64_t n = base_rand_u64(&r) >> base_rand_below(&r, 64);
        *data_format_u64(text, n) = '\0';
        snprintf(expected, sizeof expected, "%llu", (unsigned long long)n);
        assert_string_equal(text, expected);
        *data_format_fixed(text, n % 1000000, 4) = '\0';
        assert_true(parse(text) == (double)(n % 1000000) / 10000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_of_all_bits_read_back_equal),
        cmocka_unit_test(short_decimals_stay_short),
        cmocka_unit_test(doubles_read_back_equal),
        cmocka_unit_test(whole_and_fixed_numbers_are_written_as_by_printf),
    };
    return cmocka_run_group_tests_name("data/format", tests, NULL, NULL);
}
