/* test_date.c - the calendar agrees with the parser of times, for people and in ISO 8601. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/date.h"
#include "base/rand.h"
#include "base/text.h"
#include <math.h>
#include <string.h>

static void what_is_formatted_is_parsed_back(void **state)
{
    struct base_rand rand;
    (void)state;

    base_rand_init(&rand, 7, "test_date");
    for (int i = 0; i < 20000; i++) {
        double at_s = floor(base_rand_unit(&rand) * 8e9), back = -1;
        char text[BASE_UTC_TEXT];
        base_format_utc(at_s, text);
        assert_true(base_parse_utc(text, strlen(text), &back));
        assert_true(back == at_s);
    }
}

static void forms_for_people_are_of_the_same_day(void **state)
{
    char buf[40];
    (void)state;

    assert_string_equal(base_date_format(1709208000, BASE_DATE_DAY, buf, sizeof buf), "2024-02-29");
    assert_string_equal(base_date_format(1709208000, BASE_DATE_MINUTE, buf, sizeof buf),
                        "2024-02-29 12:00");
    assert_string_equal(base_date_format(1709208000, BASE_DATE_SHORT, buf, sizeof buf), "29 Feb");
    assert_string_equal(base_date_format(1709208000, BASE_DATE_MONTH, buf, sizeof buf), "Feb 2024");
    assert_string_equal(base_date_format((double)NAN, BASE_DATE_DAY, buf, sizeof buf), "-");
    assert_string_equal(base_format_utc((double)INFINITY, buf), "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_formatted_is_parsed_back),
        cmocka_unit_test(forms_for_people_are_of_the_same_day),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
