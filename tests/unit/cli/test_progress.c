/* test_progress.c - the progress line says what it should, fits, and says nothing about short work.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "page/columns.h"
#include "cli/progress.h"
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct base_buf line;

static const char *format(uint64_t done, uint64_t total, double elapsed_s, bool ascii,
                          unsigned width)
{
    base_buf_fini(&line);
    base_buf_init(&line, &base_alloc_libc, 4096);
    cli_progress_format("sim", done, total, elapsed_s, ascii ? CLI_BAR_ASCII : CLI_BAR_BLOCKS,
                        width, &line);
    assert_int_equal(base_buf_status(&line), SHOAL_OK);
    return line.data;
}

static void a_line_has_percent_bar_rate_and_time_left(void **state)
{
    (void)state;
    assert_string_equal(format(50, 200, 10, true, 79),
                        "sim   25% #####...............   5.0/s   30s left");
    assert_string_equal(format(200, 200, 10, true, 79), "sim  100% ####################   20/s");
    assert_string_equal(format(0, 200, 10, true, 79), "sim    0% ....................   0.0/s");
    assert_non_null(strstr(format(1234567, 0, 1, true, 79), "1,234,567 done"));
}

static void without_a_bar_the_line_is_plain_words(void **state)
{
    (void)state;
    base_buf_fini(&line);
    base_buf_init(&line, &base_alloc_libc, 4096);
    cli_progress_format("sim", 50, 200, 10, CLI_BAR_NONE, 79, &line);
    assert_string_equal(line.data, "sim   25%   5.0/s   30s left");
}

static void more_done_than_announced_is_still_100_percent(void **state)
{
    (void)state;
    assert_non_null(strstr(format(300, 200, 10, true, 79), "100%"));
}

static void the_bar_has_the_same_width_at_every_step(void **state)
{
    (void)state;
    for (uint64_t done = 0; done <= 400; done++)
        for (int ascii = 0; ascii <= 1; ascii++) {
            const char *text = format(done, 400, 0, ascii, 200);
            const char *rest = strstr(text, "   0.0/s");
            assert_non_null(rest);
            assert_int_equal(page_columns_width(text) - page_columns_width(rest),
                             strlen("sim  100% ") + 20);
        }
}

static void a_narrow_terminal_cuts_the_line_between_characters(void **state)
{
    (void)state;
    for (unsigned width = 0; width < 60; width++)
        assert_true(page_columns_width(format(77, 100, 5, false, width)) <= width);
}

/* A pseudo terminal as stderr. */
static FILE *open_terminal(int *out_master)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    const char *name;
    FILE *file;

    assert_true(master >= 0);
    assert_int_equal(grantpt(master), 0);
    assert_int_equal(unlockpt(master), 0);
    name = ptsname(master);
    assert_non_null(name);
    file = fopen(name, "r+");
    assert_non_null(file);
    *out_master = master;
    return file;
}

static void it_appears_on_a_terminal_and_erases_itself(void **state)
{
    struct cli_context cx = {.terminal = true, .screen.ascii = true, .topic = ""};
    struct shoal_watch watch = {.what = "sim", .done = 5, .total = 10};
    char text[2000] = "";
    size_t used = 0;
    int master;
    struct cli_progress *progress;

    (void)state;
    cx.err = open_terminal(&master);
    setenv("TERM", "xterm", 1);
    progress = cli_progress_watch(&cx, &watch);
    assert_non_null(progress);
    /* waits for the line itself; it comes after about a second */
    while (strstr(text, " 50% ") == NULL) {
        struct pollfd readable = {.fd = master, .events = POLLIN};
        ssize_t n;
        assert_int_equal(poll(&readable, 1, 20000), 1);
        n = read(master, text + used, sizeof text - 1 - used);
        assert_true(n > 0);
        used += (size_t)n;
        text[used] = '\0';
    }
    cli_progress_stop(progress);
    while (used < 4 || strcmp(text + used - 4, "\r\033[K") != 0) {
        ssize_t n = read(master, text + used, sizeof text - 1 - used);
        assert_true(n > 0);
        used += (size_t)n;
        text[used] = '\0';
    }
    fclose(cx.err);
    close(master);
}

static void short_work_leaves_no_trace(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *err = open_memstream(&text, &size);
    struct cli_context cx = {.err = err, .terminal = true, .topic = ""};
    struct shoal_watch watch = {.what = "sim", .total = 10};

    (void)state;
    cli_progress_stop(cli_progress_watch(&cx, &watch));
    cx.terminal = false;
    cli_progress_stop(cli_progress_watch(&cx, &watch));
    cli_progress_stop(NULL);
    fclose(err);
    assert_int_equal(size, 0);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_percent_bar_rate_and_time_left),
        cmocka_unit_test(without_a_bar_the_line_is_plain_words),
        cmocka_unit_test(more_done_than_announced_is_still_100_percent),
        cmocka_unit_test(the_bar_has_the_same_width_at_every_step),
        cmocka_unit_test(a_narrow_terminal_cuts_the_line_between_characters),
        cmocka_unit_test(it_appears_on_a_terminal_and_erases_itself),
        cmocka_unit_test(short_work_leaves_no_trace),
    };
    int rc;

    base_buf_init(&line, &base_alloc_libc, 4096);
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    base_buf_fini(&line);
    return rc;
}
