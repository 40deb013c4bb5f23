/* test_term.c - who decides about colour and characters: the option, then the variables, then the
 * terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/term.h"
#include <stdlib.h>

/* Every combination against the rule as a sentence: option, NO_COLOR, CLICOLOR_FORCE, terminal that
 * can. */
static void colour_follows_the_order_of_precedence(void **state)
{
    (void)state;
    for (uint32_t choice = 0; choice < 3; choice++)
        for (int bits = 0; bits < 16; bits++) {
            bool no_color = bits & 1, force = bits & 2, terminal = bits & 4, dumb = bits & 8;
            struct cli_context cx = {.screen.terminal = terminal};
            struct cli_common common = {.color = choice};
            bool expected = choice == CLI_COLOR_ALWAYS  ? true
                            : choice == CLI_COLOR_NEVER ? false
                            : no_color                  ? false
                            : force                     ? true
                                                        : terminal && !dumb;

            setenv("NO_COLOR", no_color ? "1" : "", 1); /* empty counts as unset */
            setenv("CLICOLOR_FORCE", force ? "1" : "0", 1);
            setenv("TERM", dumb ? "dumb" : "xterm", 1);
            cli_term_apply(&cx, &common);
            assert_int_equal(cx.screen.color, expected);
        }
}

static void locale(const char *all, const char *ctype, const char *lang, bool utf8)
{
    setenv("LC_ALL", all, 1);
    setenv("LC_CTYPE", ctype, 1);
    setenv("LANG", lang, 1);
    assert_int_equal(cli_term_utf8(), utf8);
}

static void the_first_locale_variable_that_is_set_decides(void **state)
{
    (void)state;
    locale("", "", "", false);
    locale("", "", "C.UTF-8", true);
    locale("", "", "de_DE.utf8", true);
    locale("C", "", "en_US.UTF-8", false);
    locale("", "POSIX", "en_US.UTF-8", false);
    locale("en_US.UTF-8", "C", "C", true);
    locale("", "", "de_DE.ISO-8859-1", false);
}

static void ascii_comes_from_the_option_or_the_locale(void **state)
{
    struct cli_context cx = {.screen.terminal = false};
    struct cli_common common = {.ascii = false};

    (void)state;
    setenv("LC_ALL", "C.UTF-8", 1);
    cli_term_apply(&cx, &common);
    assert_false(cx.screen.ascii);
    common.ascii = true;
    cli_term_apply(&cx, &common);
    assert_true(cx.screen.ascii);
    common.ascii = false;
    setenv("LC_ALL", "C", 1);
    cli_term_apply(&cx, &common);
    assert_true(cx.screen.ascii);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(colour_follows_the_order_of_precedence),
        cmocka_unit_test(the_first_locale_variable_that_is_set_decides),
        cmocka_unit_test(ascii_comes_from_the_option_or_the_locale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
