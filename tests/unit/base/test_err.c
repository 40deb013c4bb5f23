/* Tests of src/base/err.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/assert.h"
#include "base/err.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void message_code_where_and_hint_are_kept(void **state)
{
    (void)state;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = base_err(&err, SHOAL_E_FORMAT, "cannot read trace '%s': empty file", "a.csv");
    base_err_where(&err, "%s, line %d", "a.csv", 41);
    base_err_hint(&err, "see '%s'", "shoal trace info");
    assert_int_equal(st, SHOAL_E_FORMAT);
    assert_int_equal(err.code, SHOAL_E_FORMAT);
    assert_string_equal(err.message, "cannot read trace 'a.csv': empty file");
    assert_string_equal(err.where, "a.csv, line 41");
    assert_string_equal(err.hint, "see 'shoal trace info'");
}

static void a_new_error_forgets_the_old_place_and_hint(void **state)
{
    (void)state;
    shoal_err err = SHOAL_ERR_INIT;
    (void)base_err(&err, SHOAL_E_FORMAT, "first");
    base_err_where(&err, "here");
    base_err_hint(&err, "do this");
    assert_int_equal(base_err_nomem(&err, "sorting"), SHOAL_E_NOMEM);
    assert_string_equal(err.message, "out of memory while sorting");
    assert_string_equal(err.where, "");
    assert_string_equal(err.hint, "");
}

static void no_err_is_allowed_everywhere(void **state)
{
    (void)state;
    assert_int_equal(base_err(NULL, SHOAL_E_IO, "x %d", 1), SHOAL_E_IO);
    assert_int_equal(base_err_nomem(NULL, "x"), SHOAL_E_NOMEM);
    base_err_where(NULL, "x");
    base_err_hint(NULL, "x");
}

static void a_message_may_quote_the_one_it_replaces(void **state)
{
    (void)state;
    shoal_err err = SHOAL_ERR_INIT;
    (void)base_err(&err, SHOAL_E_IO, "inner");
    (void)base_err(&err, SHOAL_E_IO, "outer: %s", err.message);
    assert_string_equal(err.message, "outer: inner");
}

/* Cut text ends inside the field, and never in the middle of a character. */
static void long_text_is_cut_at_a_character(void **state)
{
    (void)state;
    static const char *const letters[] = {"x", "\xC3\xBC", "\xE2\x82\xAC", "\xF0\x9F\x90\x9F"};
    for (size_t k = 0; k < 4; k++) {
        for (size_t pad = 0; pad < 4; pad++) {
            char text[1024] = "";
            for (size_t i = 0; i < pad; i++)
                strcat(text, ".");
            while (strlen(text) < 900)
                strcat(text, letters[k]);
            shoal_err err = SHOAL_ERR_INIT;
            (void)base_err(&err, SHOAL_E_IO, "%s", text);
            size_t length = strlen(err.message), step = strlen(letters[k]);
            assert_true(length < sizeof err.message);
            assert_true(length + step >= sizeof err.message);
            assert_int_equal((length - pad) % step, 0);
            base_err_hint(&err, "%s", text);
            assert_int_equal((strlen(err.hint) - pad) % step, 0);
            assert_true(strlen(err.hint) + step >= sizeof err.hint);
        }
    }
}

static void a_failed_assertion_names_itself_and_aborts(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        (void)signal(SIGABRT, SIG_DFL);
        shoal_assert(1 + 1 == 3);
        _exit(0);
    }
    (void)close(ends[1]);
    char text[300] = "";
    size_t size = 0;
    ssize_t got = 0;
    while ((got = read(ends[0], text + size, sizeof text - 1 - size)) > 0)
        size += (size_t)got;
    (void)close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(text, "1 + 1 == 3"));
    assert_non_null(strstr(text, "test_err.c"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_code_where_and_hint_are_kept),
        cmocka_unit_test(a_new_error_forgets_the_old_place_and_hint),
        cmocka_unit_test(no_err_is_allowed_everywhere),
        cmocka_unit_test(a_message_may_quote_the_one_it_replaces),
        cmocka_unit_test(long_text_is_cut_at_a_character),
        cmocka_unit_test(a_failed_assertion_names_itself_and_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
