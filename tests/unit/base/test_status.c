/* Tests of statuses, src/base/err.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shoal/status.h"
#include "shoal/version.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ROW(name, value, action, text) {name, #name, action, text},
static const struct {
    shoal_status status;
    const char *name;
    shoal_action action;
    const char *text;
} ROWS[] = {SHOAL_STATUS_MAP(ROW)};
#undef ROW

enum { ROW_COUNT = sizeof ROWS / sizeof ROWS[0] };

static void every_row_gives_its_own_name_text_and_action(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        assert_string_equal(shoal_status_name(ROWS[i].status), ROWS[i].name);
        assert_string_equal(shoal_status_text(ROWS[i].status), ROWS[i].text);
        assert_int_equal(shoal_status_action(ROWS[i].status), ROWS[i].action);
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(ROWS[i].status, ROWS[j].status);
            assert_string_not_equal(ROWS[i].text, ROWS[j].text);
        }
    }
}

static void errors_are_negative_and_say_what_helps(void **state)
{
    (void)state;
    assert_int_equal(SHOAL_OK, 0);
    for (size_t i = 0; i < ROW_COUNT; i++) {
        bool is_error = strncmp(ROWS[i].name, "SHOAL_E_", 8) == 0;
        assert_int_equal(is_error, ROWS[i].status < 0);
        if (is_error)
            assert_int_not_equal(ROWS[i].action, SHOAL_ACTION_NONE);
        assert_true(islower((unsigned char)ROWS[i].text[0]));
    }
}

static void unknown_values_are_answered(void **state)
{
    (void)state;
    static const int unknown[] = {-1000, -12, 3, 1000};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        int value = unknown[i];
        assert_string_equal(shoal_status_name((shoal_status)value), "SHOAL_E_UNKNOWN");
        assert_string_equal(shoal_status_text((shoal_status)value), "unknown status");
        assert_int_equal(shoal_status_action((shoal_status)value), SHOAL_ACTION_GIVE_UP);
    }
    assert_string_equal(shoal_action_text((shoal_action)77), "give up");
}

static void actions_have_the_promised_words(void **state)
{
    (void)state;
    assert_string_equal(shoal_action_text(SHOAL_ACTION_NONE), "none");
    assert_string_equal(shoal_action_text(SHOAL_ACTION_RETRY_HERE), "retry here");
    assert_string_equal(shoal_action_text(SHOAL_ACTION_RETRY_ELSEWHERE), "retry elsewhere");
    assert_string_equal(shoal_action_text(SHOAL_ACTION_GIVE_UP), "give up");
    assert_string_equal(shoal_action_text(SHOAL_ACTION_FIX_CALL), "fix the call");
}

static void version_text_and_numbers_agree(void **state)
{
    (void)state;
    char text[32];
    (void)snprintf(text, sizeof text, "%d.%d.%d", SHOAL_VERSION_MAJOR, SHOAL_VERSION_MINOR,
                   SHOAL_VERSION_PATCH);
    assert_string_equal(SHOAL_VERSION, text);
    assert_string_equal(shoal_version(), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_gives_its_own_name_text_and_action),
        cmocka_unit_test(errors_are_negative_and_say_what_helps),
        cmocka_unit_test(unknown_values_are_answered),
        cmocka_unit_test(actions_have_the_promised_words),
        cmocka_unit_test(version_text_and_numbers_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
