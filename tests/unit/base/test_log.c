/* Tests of talk, src/base/err.c. */
#include "torture.h"

#include "base/log.h"
#include <string.h>

struct seen {
    int count;
    enum base_log_level level;
    char line[2048];
};

static void remember(void *ctx, enum base_log_level level, const char *line)
{
    struct seen *seen = ctx;

    seen->count++;
    seen->level = level;
    strncpy(seen->line, line, sizeof seen->line - 1);
}

static void only_lines_up_to_the_level_reach_the_sink(void **state)
{
    (void)state;
    for (int set = BASE_LOG_ERROR; set <= BASE_LOG_DEBUG; set++)
        for (int at = BASE_LOG_ERROR; at <= BASE_LOG_DEBUG; at++) {
            struct seen seen = {0};
            struct base_log log = {
                .level = (enum base_log_level)set, .write = remember, .ctx = &seen};
            base_log(&log, (enum base_log_level)at, "%d of %s", at, base_log_names[set]);
            assert_int_equal(seen.count, at <= set);
            if (at <= set)
                assert_int_equal(seen.level, at);
        }
}

static void long_lines_are_cut_and_a_log_without_a_sink_drops_them(void **state)
{
    struct seen seen = {0};
    struct base_log log = {.level = BASE_LOG_DEBUG, .write = remember, .ctx = &seen};
    char text[1500];

    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    base_log(&log, BASE_LOG_INFO, "%s", text);
    assert_int_equal(strlen(seen.line), 1023);
    log.write = NULL;
    base_log(&log, BASE_LOG_ERROR, "nobody hears");
    assert_int_equal(seen.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_lines_up_to_the_level_reach_the_sink),
        cmocka_unit_test(long_lines_are_cut_and_a_log_without_a_sink_drops_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
