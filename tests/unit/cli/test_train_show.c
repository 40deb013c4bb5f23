/* test_train_show.c - the line of a training run: what it says, what it leaves out where room is
 * short, and that it never needs more columns than it was given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "page/columns.h"
#include "cli/train_show.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct base_buf line;

static struct cli_train_look full(void)
{
    return (struct cli_train_look){.name = "lda",
                                   .objective = "perplexity",
                                   .units = "tok",
                                   .value = 1184.2,
                                   .progress = 0.425,
                                   .rate = 61.3e6,
                                   .trend = -1,
                                   .workers = 8,
                                   .stale = 0.3,
                                   .left_s = 250};
}

static const char *format(const struct cli_train_look *look, enum cli_train_bar bar, unsigned width)
{
    base_buf_fini(&line);
    base_buf_init(&line, &base_alloc_libc, 4096);
    cli_train_line_format(look, bar, width, &line);
    assert_int_equal(base_buf_status(&line), SHOAL_OK);
    return line.data;
}

static void a_line_says_how_far_how_good_how_fast_and_how_long(void **state)
{
    struct cli_train_look look = full();

    (void)state;
    assert_string_equal(format(&look, CLI_TRAIN_BLOCKS, 120),
                        "lda   42% ████████▌              perplexity 1184.2 ↓   61.3 M tok/s   "
                        "8 workers   stale 0.3   4m10s left");
    assert_string_equal(format(&look, CLI_TRAIN_ASCII, 120),
                        "lda   42% ########............   perplexity 1184.2   61.3 M tok/s   "
                        "8 workers   stale 0.3   4m10s left");
    assert_string_equal(format(&look, CLI_TRAIN_PLAIN, UINT32_MAX),
                        "lda   42%   perplexity 1184.2   61.3 M tok/s   8 workers   stale 0.3   "
                        "4m10s left");
}

static void what_is_not_known_is_not_said(void **state)
{
    struct cli_train_look look = {.name = "mf",
                                  .objective = "rmse",
                                  .units = "ratings",
                                  .value = (double)NAN,
                                  .progress = (double)NAN,
                                  .workers = 1,
                                  .stale = (double)NAN,
                                  .left_s = (double)NAN};

    (void)state;
    assert_string_equal(format(&look, CLI_TRAIN_BLOCKS, 120), "mf   1 worker");
}

static void where_room_is_short_the_least_important_parts_go_first(void **state)
{
    struct cli_train_look look = full();

    (void)state;
    assert_string_equal(format(&look, CLI_TRAIN_ASCII, 92),
                        "lda   42% ########............   perplexity 1184.2   61.3 M tok/s   "
                        "8 workers   4m10s left");
    assert_string_equal(format(&look, CLI_TRAIN_ASCII, 79),
                        "lda   42% ########............   perplexity 1184.2   61.3 M tok/s   "
                        "4m10s left");
    assert_string_equal(format(&look, CLI_TRAIN_ASCII, 64),
                        "lda   42% ########............   perplexity 1184.2   4m10s left");
    assert_string_equal(format(&look, CLI_TRAIN_ASCII, 45),
                        "lda   42%   perplexity 1184.2   4m10s left");
    assert_string_equal(format(&look, CLI_TRAIN_ASCII, 30), "lda   42%   perplexity 1184.2");
    assert_string_equal(format(&look, CLI_TRAIN_ASCII, 10), "lda   42%");
    assert_string_equal(format(&look, CLI_TRAIN_ASCII, 2), "ld");
}

static void a_line_is_never_wider_than_it_may_be(void **state)
{
    struct cli_train_look look = full();

    (void)state;
    for (int step = 0; step < 57; step++)
        for (unsigned width = 1; width < 130; width++)
            for (int bar = CLI_TRAIN_PLAIN; bar <= CLI_TRAIN_BLOCKS; bar++) {
                look.progress = -0.5 + 0.037 * step;
                format(&look, (enum cli_train_bar)bar, width);
                assert_true(page_columns_width(line.data) <= width);
                for (size_t i = 0; i < line.size && bar != CLI_TRAIN_BLOCKS; i++)
                    assert_true(line.data[i] >= ' ' && line.data[i] < 127);
            }
}

static const char *spark(const double *values, size_t count, size_t columns, bool ascii)
{
    base_buf_fini(&line);
    base_buf_init(&line, &base_alloc_libc, 4096);
    base_buf_puts(&line, "");
    cli_train_put_spark(&line, values, count, columns, ascii);
    return line.data;
}

static void a_history_is_drawn_between_its_least_and_greatest(void **state)
{
    const double falling[] = {8, 7, 6, 5, 4, 3, 2, 1}, flat[] = {3, 3, 3};
    const double odd[] = {(double)NAN, 1, (double)INFINITY, 2};

    (void)state;
    assert_string_equal(spark(falling, 8, 20, false), "█▇▆▅▄▃▂▁");
    assert_string_equal(spark(falling, 8, 3, false), "█▄▁"); /* the last ones */
    assert_string_equal(spark(flat, 3, 20, false), "▁▁▁");
    assert_string_equal(spark(odd, 4, 20, false), "█▁██");
    assert_string_equal(spark(falling, 0, 20, false), "");
    assert_string_equal(spark(falling, 8, 20, true), "^^=--.__");
}

static void time_left_follows_what_was_done_since_the_beginning(void **state)
{
    (void)state;
    assert_true(fabs(cli_train_left(0, 0.25, 10) - 30) < 1e-9);
    assert_true(fabs(cli_train_left(0.5, 0.75, 10) - 10) < 1e-9); /* after a resume */
    assert_true(isnan(cli_train_left(0, 0, 10)));
    assert_true(isnan(cli_train_left(0, 0.5, 0.2))); /* too early to tell */
    assert_true(isnan(cli_train_left(0, 1, 10)));
    assert_true(isnan(cli_train_left(0, (double)NAN, 10)));
}

/* Ten steps of 10 s, looked at ten times a second: it is right at each step, falls between two, and does
 * not say that it is over before it is. One that is late lets it rise. */
static void time_left_counts_down_between_steps(void **state)
{
    struct cli_train_pace pace = {.from = 0};
    double before = INFINITY;

    (void)state;
    for (int tick = 0; tick < 1000; tick++) {
        double elapsed = 0.1 * tick, progress = tick / 100 / 10.0;
        double left = cli_train_pace_left(&pace, progress, elapsed);
        if (tick < 100) {
            assert_true(isnan(left));
            continue;
        }
        assert_true(fabs(left - (100 - elapsed)) < 1e-6 && left <= before + 1e-9);
        before = left;
    }
    pace = (struct cli_train_pace){.from = 0};
    assert_true(isnan(cli_train_pace_left(&pace, 0, 5)));
    assert_true(fabs(cli_train_pace_left(&pace, 0.25, 10) - 30) < 1e-9);
    assert_true(fabs(cli_train_pace_left(&pace, 0.25, 20) - 20) < 1e-9);
    assert_true(fabs(cli_train_pace_left(&pace, 0.25, 40) - 40) <
                1e-9); /* the next should have come */
    assert_true(isnan(cli_train_pace_left(&pace, (double)NAN, 50)));
    assert_true(isnan(cli_train_left(0.5, 0.4, 10)));
}

static void staleness_is_a_mean_over_tasks(void **state)
{
    const uint64_t counts[] = {6, 2, 2}, none[] = {0, 0};

    (void)state;
    assert_true(fabs(cli_train_mean_staleness(counts, 3) - 0.6) < 1e-12);
    assert_true(isnan(cli_train_mean_staleness(none, 2)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_says_how_far_how_good_how_fast_and_how_long),
        cmocka_unit_test(what_is_not_known_is_not_said),
        cmocka_unit_test(where_room_is_short_the_least_important_parts_go_first),
        cmocka_unit_test(a_line_is_never_wider_than_it_may_be),
        cmocka_unit_test(a_history_is_drawn_between_its_least_and_greatest),
        cmocka_unit_test(time_left_follows_what_was_done_since_the_beginning),
        cmocka_unit_test(time_left_counts_down_between_steps),
        cmocka_unit_test(staleness_is_a_mean_over_tasks),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);

    base_buf_fini(&line);
    return rc;
}
