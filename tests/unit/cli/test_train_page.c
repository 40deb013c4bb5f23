/* test_train_page.c - the page of a job: words of the application are text, charts appear where there is
 * something to see, and it is whole whatever memory there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "cli/train_page.h"
#include <math.h>
#include <string.h>

static const shoal_opt OPTS[] = {
    {0, SHOAL_OPT_F64, "rate<", 0, NULL, "0.5", .help = "how \"fast\" & far"},
};
static const shoal_app APP = {.struct_size = sizeof APP,
                              .name = "odd<b>",
                              .summary = "a & b",
                              .objective = "loss<i>",
                              .units = "rows&",
                              .opts = OPTS,
                              .opt_count = 1,
                              .options_size = sizeof(double)};
static struct cli_trained trained;
static struct train_job_opts opts;
static struct base_buf out, sections;

static int set_up(void **state)
{
    (void)state;
    trained = (struct cli_trained){.app = &APP, .name = "job", .cpu_s = 3};
    base_buf_init(&trained.said, &base_alloc_libc, 1 << 16);
    base_buf_init(&sections, &base_alloc_libc, 1 << 16);
    base_buf_init(&out, &base_alloc_libc, CLI_TRAIN_PAGE_MAX);
    opts = (struct train_job_opts)TRAIN_JOB_OPTS_INIT;
    opts.app = &APP;
    opts.path = "folder/<data>.svm";
    trained.result = (struct train_job_result){.seconds = 10, .load_seconds = 1};
    trained.result.stats = (struct train_stats){.value = 2.5,
                                                .held_out = (double)NAN,
                                                .units = 1000,
                                                .clocks = 20,
                                                .tasks = 40,
                                                .wanted = 2,
                                                .executors = 4};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    base_buf_fini(&trained.said);
    base_buf_fini(&sections);
    base_buf_fini(&out);
    return 0;
}

static const char *page(void)
{
    struct cli_train_page p = {&trained, &opts, "shoal train odd '<data>'", &sections};
    shoal_err err = SHOAL_ERR_INIT;

    base_buf_clear(&out);
    assert_int_equal(cli_train_page(&p, &out, &err), SHOAL_OK);
    return out.data;
}

static void report(uint64_t at_s, double value)
{
    train_trail_value(&trained.result.trail, at_s * 1000000000, at_s, 0, value);
}

static void words_of_the_application_are_text(void **state)
{
    (void)state;
    base_buf_puts(&trained.said, "one <script>\ntwo\n");
    const char *text = page();
    assert_null(strstr(text, "<script"));
    assert_null(strstr(text, "odd<b>"));
    assert_null(strstr(text, "loss<i>"));
    assert_null(strstr(text, "<data>"));
    assert_non_null(strstr(text, "<h1>odd&lt;b&gt; on &lt;data&gt;.svm</h1>"));
    assert_non_null(strstr(text, "one &lt;script&gt;\ntwo\n"));
    assert_non_null(strstr(text, "how &quot;fast&quot; &amp; far"));
    assert_non_null(strstr(text, "shoal train odd &#39;&lt;data&gt;&#39;"));
}

static void sections_of_the_application_stand_as_they_are(void **state)
{
    (void)state;
    base_buf_puts(&trained.said, "said\n");
    base_buf_puts(&sections, "<section class=\"panel\"><p>mine</p></section>\n");
    const char *text = page();
    assert_non_null(strstr(text, sections.data));
    assert_null(strstr(text, "h-said")); /* the sections say it better */
}

static void a_setting_that_was_chosen_is_bold(void **state)
{
    (void)state;
    assert_non_null(strstr(page(), "<td class=\"\">0.5</td>"));
    opts.settings = "rate<=0.75\n";
    assert_non_null(strstr(page(), "<td class=\"best\">0.75</td>"));
}

static void the_value_is_drawn_from_its_second_report_on(void **state)
{
    (void)state;
    report(1, 4);
    assert_null(strstr(page(), "h-value"));
    report(5, (double)NAN); /* not known then */
    assert_null(strstr(page(), "h-value"));
    report(9, 2);
    const char *text = page();
    assert_non_null(strstr(text, "h-value"));
    assert_non_null(strstr(text, "over time, from 4 to 2"));
    assert_non_null(strstr(text, "M100.0 0.0L900.0 220.0")); /* from 4 to 2, at 1 and 9 of 10 s */
}

static void a_long_trail_is_drawn_from_its_first_to_its_last_point(void **state)
{
    (void)state;
    trained.result.seconds = 5000;
    for (uint64_t at_s = 0; at_s <= 5000; at_s++)
        report(at_s, 9 - (double)at_s / 1000);
    assert_non_null(strstr(page(), "over time, from 9 to 4"));
    assert_non_null(
        strstr(page(), "The table has 20 of 5,001 values, from the first to the last."));
}

static void a_table_that_has_all_values_says_no_more(void **state)
{
    (void)state;
    for (uint64_t at_s = 1; at_s <= 9; at_s++)
        report(at_s, (double)at_s);
    assert_null(strstr(page(), "The table has"));
    report(10, (double)NAN);
    assert_non_null(strstr(page(), "The table has 9 of 10 values"));
}

static void what_was_held_out_has_a_chart_of_its_own(void **state)
{
    shoal_app judged = *trained.app;

    (void)state;
    judged.held_out = "surprise<u>";
    trained.app = &judged;
    for (uint64_t at_s = 1; at_s <= 9; at_s++) {
        if (at_s % 4 == 1)
            train_trail_held_out(&trained.result.trail, 1000 - 10 * (double)at_s);
        report(at_s, 5);
    }
    const char *text = page();
    assert_non_null(strstr(text, "<h2 id=\"h-held-out\">surprise&lt;u&gt;</h2>"));
    assert_non_null(strstr(text, "on data held out, over time"));
    assert_non_null(strstr(text, "over time, from 990 to 910"));
    for (uint64_t n = 0; n < 3000; n++) { /* more than a trail keeps: all are counted */
        train_trail_held_out(&trained.result.trail, 900);
        report(9, 5);
    }
    text = strstr(page(), "<h2 id=\"h-held-out\"");
    assert_true(text != NULL && strstr(text, "The table has 20 of 3,003 values") != NULL);
    judged.held_out = NULL;
    assert_null(strstr(page(), "h-held-out"));
}

static void a_model_that_was_not_written_is_told(void **state)
{
    (void)state;
    opts.model = "m.shoal";
    assert_non_null(strstr(page(), "m.shoal"));
    trained.result.model_status = base_err(&trained.result.model_err, SHOAL_E_IO, "no <room>");
    assert_non_null(strstr(page(), "not kept: no &lt;room&gt;"));
}

static void workers_are_drawn_when_they_changed(void **state)
{
    struct train_trail *trail = &trained.result.trail;

    (void)state;
    train_trail_crew(trail, 0, 0, 0);
    train_trail_crew(trail, 100000000, 2, 0);
    assert_null(strstr(page(), "h-crew"));
    train_trail_crew(trail, 4000000000, 1, 1);
    train_trail_crew(trail, 5000000000, 2, 1);
    trained.result.stats.workers_lost = 1;
    trained.result.stats.tasks_redone = 3;
    const char *text = page();
    assert_non_null(strstr(text, "h-crew"));
    assert_non_null(strstr(text, "<path class=\"lost\" d=\"M400.0 0V220\"/>"));
    assert_non_null(
        strstr(text, "1 worker was lost on the way, and the 3 tasks that it had begun"));
}

static void a_page_that_is_too_large_is_an_error_and_no_page(void **state)
{
    struct cli_train_page p = {&trained, &opts, "shoal train", &sections};
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    base_buf_fini(&out);
    base_buf_init(&out, &base_alloc_libc, 4096);
    assert_int_equal(cli_train_page(&p, &out, &err), SHOAL_E_LIMIT);
    assert_non_null(strstr(err.message, "larger than 4096 bytes"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(words_of_the_application_are_text),
        CASE(sections_of_the_application_stand_as_they_are),
        CASE(a_setting_that_was_chosen_is_bold),
        CASE(the_value_is_drawn_from_its_second_report_on),
        CASE(a_long_trail_is_drawn_from_its_first_to_its_last_point),
        CASE(a_table_that_has_all_values_says_no_more),
        CASE(what_was_held_out_has_a_chart_of_its_own),
        CASE(a_model_that_was_not_written_is_told),
        CASE(workers_are_drawn_when_they_changed),
        CASE(a_page_that_is_too_large_is_an_error_and_no_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
