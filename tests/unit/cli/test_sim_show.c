/* test_sim_show.c - results as JSON lines, as a table and as stories: nothing lost, nothing marked
 * best that does not look it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/sim_show.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 3 };

struct page {
    struct cli_context cx;
    char *text;
    size_t size;
    struct sim_trace trace;
    struct sim_job jobs[2];
    struct sim_result runs[RUNS];
    const struct sim_result *results[RUNS];
};

static int open_page(void **state)
{
    struct page *page = calloc(1, sizeof *page);
    static const char *const names[RUNS] = {"fifo", "las quantum=5m", "odd \"name\"\\"};

    page->cx.topic = "sim";
    page->cx.width = 200;
    page->cx.out = open_memstream(&page->text, &page->size);
    page->cx.err = stderr;
    if (shoal_env_sim_new(1, &page->cx.env, NULL) != SHOAL_OK)
        return -1;
    page->jobs[0].name = "first";
    page->jobs[1].name = "second \"\n\"";
    page->trace = (struct sim_trace){.jobs = page->jobs, .job_count = 2};
    for (size_t i = 0; i < RUNS; i++) {
        struct sim_result *r = &page->runs[i];
        r->trace = &page->trace;
        snprintf(r->policy, sizeof r->policy, "%s", names[i]);
        r->metrics = (struct sim_metrics){.jobs = 2,
                                          .finished = 2,
                                          .avg_jct_s = 3600.5,
                                          .p50_jct_s = 60,
                                          .p99_jct_s = 7000,
                                          .makespan_s = 8000,
                                          .avg_rho = 1.25,
                                          .worst_rho = 2,
                                          .unfair_share = 0.5,
                                          .utilization = 0.75,
                                          .cost_usd = 1234.4,
                                          .decision_ms_p50 = 0.004,
                                          .worst_rho_job = 1};
        base_buf_init(&r->story, &base_alloc_libc, 1000);
        page->results[i] = r;
    }
    *state = page;
    return 0;
}

static int close_page(void **state)
{
    struct page *page = *state;

    for (size_t i = 0; i < RUNS; i++)
        base_buf_fini(&page->runs[i].story);
    fclose(page->cx.out);
    free(page->text);
    shoal_env_free(page->cx.env);
    free(page);
    return 0;
}

static const char *printed(struct page *page)
{
    fflush(page->cx.out);
    return page->text;
}

/* The n-th line, parsed: one JSON object and nothing else. */
static json_t *line_of(struct page *page, size_t index)
{
    const char *line = printed(page);

    for (; index > 0; index--)
        line = strchr(line, '\n') + 1;
    json_t *root = json_loadb(line, strcspn(line, "\n"), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    return root;
}

static void json_is_one_object_per_policy_with_what_was_measured(void **state)
{
    struct page *page = *state;

    page->runs[1].metrics.wait_by_reason_s[SCHED_WHY_GANG] = 77.25;
    base_buf_puts(&page->runs[1].story, "waits: \"x\"\n");
    assert_int_equal(cli_sim_json(&page->cx, page->results, RUNS, 42), 0);
    for (size_t i = 0; i < RUNS; i++) {
        json_t *root = line_of(page, i);
        assert_int_equal(json_integer_value(json_object_get(root, "v")), 1);
        assert_string_equal(json_string_value(json_object_get(root, "policy")),
                            page->runs[i].policy);
        assert_true(json_number_value(json_object_get(root, "avg_jct_s")) == 3600.5);
        assert_true(json_number_value(json_object_get(root, "seed")) == 42);
        assert_string_equal(json_string_value(json_object_get(root, "worst_rho_job")),
                            page->jobs[1].name);
        const json_t *waits = json_object_get(root, "wait_s");
        assert_int_equal(json_object_size(waits), SCHED_WHY_COUNT - 1); /* all but "none" */
        assert_true(json_number_value(json_object_get(waits, "gang")) == (i == 1 ? 77.25 : 0));
        const json_t *story = json_object_get(root, "story");
        assert_int_equal(story != NULL, i == 1);
        if (i == 1)
            assert_string_equal(json_string_value(story), page->runs[1].story.data);
        json_decref(root);
    }
}

static void json_says_null_where_there_is_no_number(void **state)
{
    struct page *page = *state;

    page->runs[0].metrics.cost_usd = NAN;
    page->runs[0].metrics.avg_jct_s = NAN;
    page->runs[0].metrics.worst_rho_job = SIM_NONE;
    assert_int_equal(cli_sim_json(&page->cx, page->results, 1, 1), 0);
    json_t *root = line_of(page, 0);
    assert_true(json_is_null(json_object_get(root, "cost_usd")));
    assert_true(json_is_null(json_object_get(root, "avg_jct_s")));
    assert_true(json_is_null(json_object_get(root, "worst_rho_job")));
    json_decref(root);
}

static void json_has_the_times_by_kind_of_the_job_asked_about(void **state)
{
    struct page *page = *state;
    struct sched_cluster cluster = {.kind_count = 2};
    float received[4] = {1, 2, 600.5f, 0}, wanted[4] = {3, 4, 300, 120};

    snprintf(cluster.kinds[0].name, sizeof cluster.kinds[0].name, "t4");
    snprintf(cluster.kinds[1].name, sizeof cluster.kinds[1].name, "a\"100");
    for (size_t i = 0; i < RUNS; i++) {
        page->runs[i].cluster = &cluster;
        page->runs[i].metrics.share_error = i == 0 ? 0.25 : NAN;
        page->runs[i].received_s = received;
        page->runs[i].wanted_s = i == 0 ? wanted : NULL; /* the others promise nothing */
        page->runs[i].story_job = i == 2 ? SIM_NONE : 1;
    }
    assert_int_equal(cli_sim_json(&page->cx, page->results, RUNS, 1), 0);
    for (size_t i = 0; i < RUNS; i++) {
        json_t *root = line_of(page, i);
        const json_t *job = json_object_get(root, "job"), *error;
        error = json_object_get(root, "share_error");
        assert_true(i == 0 ? json_number_value(error) == 0.25 : json_is_null(error));
        if (i == 2) {
            assert_null(job);
        } else {
            assert_string_equal(json_string_value(json_object_get(job, "name")),
                                page->jobs[1].name);
            const json_t *got = json_object_get(job, "received_s");
            assert_int_equal(json_object_size(got), 2);
            assert_true(json_number_value(json_object_get(got, "t4")) == 600.5);
            const json_t *want = json_object_get(job, "wanted_s");
            assert_int_equal(want != NULL, i == 0);
            if (i == 0)
                assert_true(json_number_value(json_object_get(want, "a\"100")) == 120);
        }
        json_decref(root);
    }
}

static size_t count_of(const char *text, const char *what)
{
    size_t n = 0;

    for (const char *p = text; (p = strstr(p, what)) != NULL; p++)
        n++;
    return n;
}

static void what_looks_the_same_is_not_marked(void **state)
{
    struct page *page = *state;

    page->cx.color = true;
    page->runs[1].metrics.worst_rho = 2.001; /* shown as 2.00 too */
    page->runs[2].metrics.cost_usd = 1234.3;
    assert_int_equal(cli_sim_table(&page->cx, page->results, RUNS), 0);
    assert_int_equal(count_of(printed(page), "\033[1m"), 0);
}

static void best_of_a_column_is_bold_and_all_that_show_the_same(void **state)
{
    struct page *page = *state;

    page->cx.color = true;
    page->runs[1].metrics.avg_jct_s = 7200;    /* two are better: both bold */
    page->runs[2].metrics.utilization = 0.9;   /* more is better: one bold */
    page->runs[0].metrics.worst_rho = NAN;     /* no value is never best */
    page->runs[1].metrics.decision_ms_p50 = 5; /* how fast we decide is not a contest */
    assert_int_equal(cli_sim_table(&page->cx, page->results, RUNS), 0);
    const char *text = printed(page);
    assert_int_equal(count_of(text, "\033[1m1h00m"), 2);
    assert_non_null(strstr(text, "\033[1m90 %"));
    assert_null(strstr(text, "\033[1m75 %"));
    assert_null(strstr(text, "\033[1m2h00m"));
    assert_null(strstr(text, "\033[1m-"));
    assert_null(strstr(text, "\033[1m5.0 ms"));
    assert_null(strstr(text, "\033[1m4.0 us"));
}

static void one_policy_alone_is_not_best(void **state)
{
    struct page *page = *state;

    page->cx.color = true;
    assert_int_equal(cli_sim_table(&page->cx, page->results, 1), 0);
    assert_int_equal(count_of(printed(page), "\033[1m"), 0);
    assert_non_null(strstr(page->text, "$1,234"));
}

static void missing_values_are_dashes(void **state)
{
    struct page *page = *state;

    page->runs[0].metrics.cost_usd = NAN;
    assert_int_equal(cli_sim_table(&page->cx, page->results, 1), 0);
    const char *row = strchr(printed(page), '\n') + 1;
    assert_non_null(strstr(row, " - "));
    assert_null(strstr(row, "nan"));
}

static void missed_deadlines_have_a_column_where_there_are_deadlines(void **state)
{
    struct page *page = *state;

    assert_int_equal(cli_sim_table(&page->cx, page->results, RUNS), 0);
    assert_null(strstr(printed(page), "MISSED"));
    for (size_t i = 0; i < RUNS; i++) {
        page->runs[i].metrics.deadlines = 5000;
        page->runs[i].metrics.missed = 1200 * i;
    }
    page->cx.color = true;
    assert_int_equal(cli_sim_table(&page->cx, page->results, RUNS), 0);
    assert_non_null(strstr(printed(page), "MISSED"));
    assert_non_null(strstr(printed(page), "2,400"));
    assert_int_equal(count_of(printed(page), "\033[1m"), 1); /* the one that missed none */
}

static void stories_have_a_heading_only_where_there_are_several(void **state)
{
    struct page *page = *state;

    for (size_t i = 0; i < 2; i++)
        base_buf_printf(&page->runs[i].story, "story %zu\n", i);
    cli_sim_story(&page->cx, page->results, 1);
    assert_string_equal(printed(page), "story 0\n");
    cli_sim_story(&page->cx, page->results, 2);
    assert_string_equal(printed(page), "story 0\nfifo\nstory 0\n\nlas quantum=5m\nstory 1\n");
}

static void remember_line(void *ctx, enum base_log_level level, const char *line)
{
    char *lines = ctx;

    assert_int_equal(level, BASE_LOG_WARN);
    snprintf(lines + strlen(lines), 1000 - strlen(lines), "%s\n", line);
}

static void shares_that_are_not_proven_are_a_warning_and_a_number(void **state)
{
    struct page *page = *state;
    char lines[1000] = "";

    page->cx.log = (struct base_log){BASE_LOG_INFO, remember_line, lines};
    cli_sim_note_unproven(&page->cx, page->results, RUNS);
    assert_string_equal(lines, "");
    page->runs[1].metrics.rounds = 1420;
    page->runs[1].metrics.unproven = 3;
    page->runs[1].metrics.unproven_gap = 2e-5;
    cli_sim_note_unproven(&page->cx, page->results, RUNS);
    assert_string_equal(lines, "las quantum=5m: the decisions of 3 of 1,420 rounds "
                               "are not proven optimal; value and bound are up to 2e-05 apart\n");
    assert_int_equal(cli_sim_json(&page->cx, page->results, RUNS, 1), 0);
    for (size_t i = 0; i < RUNS; i++) {
        json_t *root = line_of(page, i);
        assert_true(json_number_value(json_object_get(root, "unproven")) == (i == 1 ? 3 : 0));
        json_decref(root);
    }
}

int main(void)
{
#define ON_PAGE(test) cmocka_unit_test_setup_teardown(test, open_page, close_page)
    const struct CMUnitTest tests[] = {
        ON_PAGE(json_is_one_object_per_policy_with_what_was_measured),
        ON_PAGE(json_says_null_where_there_is_no_number),
        ON_PAGE(json_has_the_times_by_kind_of_the_job_asked_about),
        ON_PAGE(shares_that_are_not_proven_are_a_warning_and_a_number),
        ON_PAGE(what_looks_the_same_is_not_marked),
        ON_PAGE(best_of_a_column_is_bold_and_all_that_show_the_same),
        ON_PAGE(one_policy_alone_is_not_best),
        ON_PAGE(missing_values_are_dashes),
        ON_PAGE(missed_deadlines_have_a_column_where_there_are_deadlines),
        ON_PAGE(stories_have_a_heading_only_where_there_are_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
