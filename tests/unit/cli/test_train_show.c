/* test_train_show.c - the line of a training run: what it says, what it leaves out where room is
 * short, and that it never needs more columns than it was given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
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

static const char *rate(double value)
{
    base_buf_fini(&line);
    base_buf_init(&line, &base_alloc_libc, 4096);
    cli_train_put_rate(&line, value, "rows");
    return line.data;
}

static void rates_have_three_digits_and_a_unit(void **state)
{
    (void)state;
    assert_string_equal(rate(0), "0 rows/s");
    assert_string_equal(rate(12.34), "12.3 rows/s");
    assert_string_equal(rate(999.6), "1 k rows/s");
    assert_string_equal(rate(61.34e6), "61.3 M rows/s");
    assert_string_equal(rate(5e18), "5e+06 T rows/s");
}

static void objectives_have_no_exponent_where_people_read_digits(void **state)
{
    char text[32];

    (void)state;
    assert_string_equal(cli_train_value(0.6864837, 5, text, sizeof text), "0.68648");
    assert_string_equal(cli_train_value(104012.7, 5, text, sizeof text), "104013");
    assert_string_equal(cli_train_value(-2e9, 6, text, sizeof text), "-2000000000");
    assert_string_equal(cli_train_value(3e18, 5, text, sizeof text), "3e+18");
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

static void how_a_job_ended_is_a_clause(void **state)
{
    static const struct {
        shoal_stop why;
        double gap;
        const char *words;
    } CASES[] = {
        {SHOAL_STOP_UNSAID, (double)NAN, ""},
        {SHOAL_STOP_TOLERANCE, 2e-5, "converged, the minimum is at most 0.002 % lower"},
        {SHOAL_STOP_TOLERANCE, (double)NAN, "converged"},
        {SHOAL_STOP_LIMIT, 0.0031,
         "not converged: the limit on iterations came first, the minimum is at most 0.31 % lower"},
        {SHOAL_STOP_LIMIT, 0.9996,
         "not converged: the limit on iterations came first, the minimum is at most 100 % lower"},
        {SHOAL_STOP_STALLED, (double)NAN, "not converged: no step lowers the objective any more"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct train_stats stats = {.stopped = CASES[i].why, .gap = CASES[i].gap};
        base_buf_clear(&line);
        base_buf_puts(&line, "");
        cli_train_put_stopped(&line, &stats);
        assert_int_equal(base_buf_status(&line), SHOAL_OK);
        assert_string_equal(line.data, CASES[i].words);
    }
}

/* As text and as JSON; a line of 999 two-byte letters is not cut, nor are many of them. */
static void lines_of_the_application_are_printed_whole(void **state)
{
    enum { LETTERS = 999, LINES = 200 };
    static const shoal_app APP = {.name = "lda", .objective = "perplexity", .units = "tokens"};
    struct cli_trained t = {.app = &APP, .name = "x", .result = {.seconds = 1}};
    shoal_env *env;

    (void)state;
    base_buf_init(&t.said, &base_alloc_libc, 1 << 20);
    base_buf_puts(&t.said, "first\n\n");
    for (int i = 0; i < LINES * LETTERS; i++)
        base_buf_puts(&t.said, i % LETTERS + 1 < LETTERS ? "ä" : "ä\n");
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    for (int json = 0; json < 2; json++) {
        char *text = NULL;
        size_t size, letters = 0;
        int out_errno = 0;
        FILE *out = open_memstream(&text, &size);
        struct cli_context cx = {.env = env,
                                 .out = out,
                                 .err = out,
                                 .json = json,
                                 .out_errno = &out_errno,
                                 .screen.width = 80};
        assert_int_equal(cli_train_print(&cx, &t), 0);
        fclose(out);
        assert_non_null(strstr(text, json ? "[\"first\",\"\",\"ää" : "  first\n  \n  ää"));
        for (const char *at = text; (at = strstr(at, "ä")) != NULL; at += strlen("ä"))
            letters++;
        assert_int_equal(letters, LINES * LETTERS);
        free(text);
    }
    shoal_env_free(env);
    base_buf_fini(&t.said);
}

static const char *print_json(struct cli_trained *t, char **out_text)
{
    shoal_env *env;
    size_t size;
    int out_errno = 0;
    FILE *out = open_memstream(out_text, &size);
    struct cli_context cx = {.out = out, .err = out, .json = true, .out_errno = &out_errno};

    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    cx.env = env;
    assert_int_equal(cli_train_print(&cx, t), 0);
    fclose(out);
    shoal_env_free(env);
    return *out_text;
}

struct chosen {
    uint32_t algorithm;
    uint64_t parts;
};

static void json_tells_runs_apart(void **state)
{
    static const char *const ALGORITHMS[] = {"fast", "good", NULL};
    static const shoal_opt OPTS[] = {
        {offsetof(struct chosen, algorithm), SHOAL_OPT_CHOICE, "algorithm", 0, NULL, "fast", "",
         .choices = ALGORITHMS},
        {offsetof(struct chosen, parts), SHOAL_OPT_U64, "parts", 0, NULL, "4", "", .max = 100},
    };
    static const shoal_app APP = {.name = "odd",
                                  .objective = "loss",
                                  .units = "rows",
                                  .opts = OPTS,
                                  .opt_count = 2,
                                  .options_size = sizeof(struct chosen)};
    static const shoal_app PLAIN = {.name = "plain", .objective = "loss", .units = "rows"};
    struct cli_trained t = {.app = &APP,
                            .name = "x",
                            .result = {.seconds = 1, .stats = {.workers = 3}},
                            .settings = "parts=7\nalgorithm=good\n",
                            .threads = 2,
                            .data_bytes = 1234};
    char *text;

    (void)state;
    print_json(&t, &text);
    assert_non_null(strstr(text, "\"machines\":3,\"threads\":2,\"size\":1234,"));
    assert_non_null(strstr(text, "\"options\":{\"algorithm\":\"good\",\"parts\":\"7\"},"
                                 "\"algorithm\":\"odd-good\",\"curve\":[]}"));
    free(text);
    t.app = &PLAIN;
    t.settings = NULL;
    t.data_bytes = (double)NAN;
    print_json(&t, &text);
    assert_non_null(strstr(text, "\"size\":null,\"options\":{},\"algorithm\":\"plain\""));
    free(text);
}

static void json_of_a_job_without_its_model_is_one_object(void **state)
{
    static const shoal_app APP = {.name = "odd", .objective = "loss", .units = "rows"};
    struct cli_trained t = {.app = &APP, .name = "x", .result = {.seconds = 1}};
    char *text;

    (void)state;
    base_err(&t.error, SHOAL_E_IO, "cannot write '\"'");
    print_json(&t, &text);
    assert_non_null(strstr(text, "\"model\":null,"));
    assert_non_null(strstr(text, "\"curve\":[],\"error\":{\"code\":\"SHOAL_E_IO\",\"message\":"
                                 "\"cannot write '\\\"'\",\"where\":\"\",\"hint\":\"\","));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    assert_string_equal(text + strlen(text) - 3, "}}\n");
    free(text);
}

static void a_curve_has_one_point_a_clock_and_times_of_this_run(void **state)
{
    static const shoal_app APP = {.name = "odd", .objective = "loss", .units = "rows"};
    static struct cli_trained t;
    struct train_trail *trail = &t.result.trail;
    char *text;

    (void)state;
    t = (struct cli_trained){.app = &APP, .name = "x", .result = {.seconds = 4}};
    t.result.begun_ns = 1000000000;
    train_trail_value(trail, 500000000, 0, 0, 9); /* before it begun */
    train_trail_value(trail, 1500000000, 1, 250000000, 8);
    train_trail_value(trail, 2000000000, 2, 500000000, 7);
    train_trail_value(trail, 2000000000, 2, 500000000, 6.5); /* the same clock again */
    train_trail_value(trail, 3000000000, 3, 500000000, (double)NAN);
    train_trail_value(trail, 9000000000, 5, 500000000, 6); /* after the end */
    print_json(&t, &text);
    assert_non_null(strstr(text, "\"curve\":[[0,0,9,0],[1,0.5,8,0.25],[2,1,6.5,0.5],"
                                 "[3,2,null,0.5],[5,4,6,0.5]]}\n"));
    free(text);
    for (uint64_t n = 6; n < 5000; n++) /* much of everything is still one object */
        train_trail_value(trail, UINT64_MAX / 5000 * n, UINT64_MAX / 5000 * n,
                          UINT64_MAX / 5000 * n, -1e-300 / (double)n);
    print_json(&t, &text);
    assert_string_equal(text + strlen(text) - 4, "]]}\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_says_how_far_how_good_how_fast_and_how_long),
        cmocka_unit_test(what_is_not_known_is_not_said),
        cmocka_unit_test(where_room_is_short_the_least_important_parts_go_first),
        cmocka_unit_test(a_line_is_never_wider_than_it_may_be),
        cmocka_unit_test(rates_have_three_digits_and_a_unit),
        cmocka_unit_test(objectives_have_no_exponent_where_people_read_digits),
        cmocka_unit_test(a_history_is_drawn_between_its_least_and_greatest),
        cmocka_unit_test(time_left_follows_what_was_done_since_the_beginning),
        cmocka_unit_test(time_left_counts_down_between_steps),
        cmocka_unit_test(staleness_is_a_mean_over_tasks),
        cmocka_unit_test(how_a_job_ended_is_a_clause),
        cmocka_unit_test(lines_of_the_application_are_printed_whole),
        cmocka_unit_test(json_tells_runs_apart),
        cmocka_unit_test(json_of_a_job_without_its_model_is_one_object),
        cmocka_unit_test(a_curve_has_one_point_a_clock_and_times_of_this_run),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);

    base_buf_fini(&line);
    return rc;
}
