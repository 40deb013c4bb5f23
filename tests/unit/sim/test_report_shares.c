/* test_report_shares.c - the panels of policies that solve for shares: prices, and what jobs were
 * promised and got. Pages to look at come from test_report.c. */
#include "torture.h"

#include "unit/sim/report_page.h"

static void policies_without_shares_have_no_such_panels(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, mixed, 100, 3, 40000, 41);
    for (size_t i = 0; i < 3; i++) { /* what they received is known, and is no panel */
        sample_promise(&s, i, 1);
        base_free(&base_alloc_libc, s.results[i]->wanted_s);
        s.results[i]->wanted_s = NULL;
        for (size_t k = 0; k < 3; k++) {
            base_free(&base_alloc_libc, s.results[i]->series.price[k]);
            s.results[i]->series.price[k] = NULL;
        }
    }
    char *page = page_of(s.results, 3, &plain);
    assert_null(strstr(page, "Prices"));
    assert_null(strstr(page, "wanted"));
    free(page);
    sample_free(&s);
}

static void policies_with_shares_have_both_panels(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, mixed, 200, 3, 20000, 42);
    sample_promise(&s, 0, 1);
    sample_promise(&s, 2, 1);
    char *page = page_of(s.results, 3, &plain);
    assert_well_formed(page);
    assert_closed_world(page);
    assert_non_null(strstr(page, "id=\"h-prices-0\">Prices under fifo</h2>"));
    assert_non_null(strstr(page, "id=\"h-shares-2\">Shares wanted and received under las</h2>"));
    assert_int_equal(count_of(page, "id=\"h-prices-"), 2);
    assert_int_equal(count_of(page, "id=\"h-shares-"), 2);
    /* each: a chart, rows for 3 kinds and 8 jobs; and a table each */
    assert_int_equal(count_of(page, "role=\"img\" aria-label=\""), 3 + 2 + 2 + 3 + 2 * (1 + 3 + 8));
    assert_int_equal(count_of(page, "<details>"), 3 + 2 + 2 + 1 + 2 * 2);
    assert_int_equal(count_of(page, "aria-label=\"\""), 0);
    char *again = page_of(s.results, 3, &plain);
    assert_string_equal(page, again);
    free(again);
    free(page);
    sample_free(&s);
}

static void one_of_the_two_makes_one_panel(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, mixed, 60, 1, 20000, 43);
    sample_promise(&s, 0, 1);
    float *prices = s.results[0]->series.price[1];
    s.results[0]->series.price[1] = NULL;
    assert_says(&s, 1, ">Prices</h2>", false);
    assert_says(&s, 1, ">Shares wanted and received</h2>", true);
    s.results[0]->series.price[1] = prices;
    base_free(&base_alloc_libc, s.results[0]->wanted_s);
    s.results[0]->wanted_s = NULL;
    assert_says(&s, 1, ">Prices</h2>", true);
    assert_says(&s, 1, ">Shares wanted and received</h2>", false);
    sample_free(&s);
}

static void prices_are_shown_against_the_mean_of_all_gpus(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, "1x4:t4,1x4:a100", 40, 1, 20000, 44);
    sample_promise(&s, 0, 1);
    struct sim_series *series = &s.results[0]->series;
    for (size_t i = 0; i < series->count; i++) {
        series->price[0][i] = 2;
        series->price[1][i] = i % 2 == 0 ? 4 : 8;
    }
    series->count -= series->count % 2;
    series->price_s = series->step_s * (double)series->count;
    assert_says(&s, 1, "1 is the mean of all, 4 GPUs of average speed</span>", true);
    assert_says(&s, 1, "<b>t4</b> 0.50 on average", true);
    assert_says(&s, 1, "<b>a100</b> 1.5 on average", true);
    assert_says(&s, 1, "Over the run: t4 0.50, a100 1.5\">", true);
    for (size_t i = 0; i < series->count; i++)
        series->price[0][i] = series->price[1][i] = 0;
    assert_says(&s, 1, "one more would not have bettered anything", true);
    sample_free(&s);
}

/* Half of the time prices are of what comes next, in a unit of its own: each has its own mean. */
static void prices_in_two_units_are_each_shown_against_their_own_mean(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, "1x4:t4,1x4:a100", 40, 1, 20000, 48);
    sample_promise(&s, 0, 1);
    struct sim_series *series = &s.results[0]->series;
    series->count -= series->count % 2;
    series->price_s = series->next_s = series->step_s * (double)series->count / 2;
    series->next_unit = "jobs at their fastest";
    for (size_t k = 0; k < 2; k++)
        series->next[k] = sample_alloc(SAMPLE_SERIES, sizeof(float));
    for (size_t i = 0; i < series->count; i++) {
        bool own = i % 2 == 0;
        series->price[0][i] = own ? 100 : 0;
        series->price[1][i] = own ? 300 : 0;
        series->next[0][i] = own ? 0 : 0.03f;
        series->next[1][i] = own ? 0 : 0.01f;
    }
    assert_says(&s, 1,
                "1 is the mean of all, 200 GPUs of average speed; 50\xc2\xa0% of the time GPUs "
                "cannot better that, and it is 0.02 jobs at their fastest</span>",
                true);
    assert_says(&s, 1, "<b>t4</b> 1.0 on average", true); /* (0.5 + 1.5) / 2 */
    assert_says(&s, 1, "<b>a100</b> 1.0 on average", true);
    for (size_t i = 0; i < series->count; i++)
        series->price[0][i] = series->price[1][i] = 0;
    assert_says(&s, 1, "1 is the mean of all, 0.02 jobs at their fastest</span>", true);
    sample_free(&s);
}

static void words_about_shares_are_those_of_the_rows(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, "1x4:t4,1x4:v100", 4, 1, 20000, 45);
    sample_promise(&s, 0, 1);
    struct sim_result *r = s.results[0];
    /* 40 h of 1 GPU promised; 36 h of them received, and 5 h nobody promised */
    const float wanted_h[8] = {10, 0, 4, 4, 2, 0, 10, 10},
                received_h[8] = {10, 5, 0.8f, 4, 1.2f, 0, 10, 10};
    for (size_t i = 0; i < 8; i++) {
        r->wanted_s[i] = wanted_h[i] * 3600;
        r->received_s[i] = received_h[i] * 3600;
        s.trace.jobs[i / 2].gpus = 1;
    }
    s.trace.jobs[1].name = "late";
    r->metrics.share_error = 0.034;
    assert_says(&s, 1,
                "Jobs received <b>90\xc2\xa0%</b> of the GPU time they were promised; the "
                "largest gap is <b>late</b> on t4: 48\xc2\xa0min of 4.0\xc2\xa0h.</p>",
                true);
    assert_says(&s, 1, "share error 3.4\xc2\xa0%</span>", true);
    char *page = page_of(s.results, 1, &plain);
    const char *first = strstr(page, "Jobs furthest behind");
    assert_non_null(first);
    const char *late = strstr(first, "<b>late</b>");
    assert_non_null(late);
    assert_ptr_equal(late, strstr(first, "<b>")); /* the largest gap first */
    assert_non_null(strstr(late, "\xe2\x88\x92"
                                 "3.2\xc2\xa0h</span>"));
    assert_int_equal(count_of(first, "class=\"row\""), 2); /* only jobs with a gap */
    assert_non_null(strstr(page, "title>received t4 48\xc2\xa0min</title>"));
    free(page);

    r->received_s[0] = 5 * 3600; /* half of the 10 h on the other kind, which had 5 h already */
    r->received_s[1] = 10 * 3600;
    assert_says(&s, 1,
                "Jobs received <b>90\xc2\xa0%</b> of the GPU time they were promised, "
                "<b>78\xc2\xa0%</b> on the kind that was promised; the largest gap is ",
                true);

    r->jobs[1].outcome = SIM_FAILED; /* not counted */
    assert_says(&s, 1, "<b>late</b> on", false);
    for (size_t i = 0; i < 8; i++)
        r->received_s[i] = r->wanted_s[i];
    assert_says(&s, 1, "Jobs received all the GPU time they were promised.</p>", true);
    assert_says(&s, 1, "Jobs furthest behind", false);
    for (size_t i = 0; i < 8; i++)
        r->wanted_s[i] = 0;
    assert_says(&s, 1, "No finished job was promised any time.", true);
    sample_free(&s);
}

static void shares_that_are_not_proven_are_said_to_be(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, "1x4:t4,1x4:v100", 4, 2, 20000, 47);
    sample_promise(&s, 0, 1);
    assert_says(&s, 2, "Numerical trouble", false);
    s.results[0]->metrics.rounds = 1420;
    s.results[0]->metrics.unproven = 3;
    s.results[0]->metrics.unproven_gap = 2e-5;
    assert_says(&s, 2,
                "The decisions of 3 of 1,420 rounds are not proven optimal; value "
                "and bound are up to 2e-05 apart.</p>",
                true);
    sample_free(&s);
}

static void odd_shares_and_prices_make_a_page(void **state)
{
    (void)state;
    static const float odd[] = {0, -1, 1e-9f, 1e30f, NAN, INFINITY};
    struct sample s;
    sample_make(&s, mixed, 20, 2, 5000, 46);
    sample_promise(&s, 0, 1);
    struct sim_result *r = s.results[0];
    for (size_t i = 0; i < 6; i++) {
        for (size_t k = 0; k < 60; k++) {
            r->wanted_s[k] = odd[(i + k) % 6];
            r->received_s[k] = odd[(i + 5 * k) % 6];
        }
        for (size_t k = 0; k < r->series.count; k++) {
            r->series.price[0][k] = odd[i];
            r->series.price[1][k] = odd[(i + k) % 4];
            r->series.price[2][k] = 1;
        }
        r->metrics.share_error = (double)odd[i];
        char *page = page_of(s.results, 2, &plain);
        assert_well_formed(page);
        free(page);
    }
    sample_free(&s);
}

static void many_policies_with_shares_fit_in_a_megabyte_and_say_what_is_left_out(void **state)
{
    (void)state;
    struct sample s;
    sample_make(
        &s,
        "2x8:a,2x8:b,2x8:c,2x8:d,2x8:e,2x8:f,2x8:g,2x8:h,2x8:i,2x8:j,2x8:k,2x8:l,2x8:m,2x8:n,"
        "2x8:o,2x8:p",
        400, 4, 86400, 47);
    struct sim_result *all[20];
    for (size_t i = 0; i < 4; i++)
        sample_promise(&s, i, i);
    for (size_t i = 0; i < 20; i++)
        all[i] = s.results[i % 4];
    char *page = page_of(all, 9, &plain);
    assert_well_formed(page);
    assert_true(strlen(page) < PAGE_MAX);
    assert_int_equal(count_of(page, "id=\"h-prices-"), 6);
    assert_non_null(strstr(page, "Prices and shares of 3 more policies are left out"));
    free(page);
    page = page_of(all, 20, &plain);
    assert_true(strlen(page) < PAGE_MAX);
    free(page);
    sample_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies_without_shares_have_no_such_panels),
        cmocka_unit_test(policies_with_shares_have_both_panels),
        cmocka_unit_test(one_of_the_two_makes_one_panel),
        cmocka_unit_test(prices_are_shown_against_the_mean_of_all_gpus),
        cmocka_unit_test(prices_in_two_units_are_each_shown_against_their_own_mean),
        cmocka_unit_test(words_about_shares_are_those_of_the_rows),
        cmocka_unit_test(shares_that_are_not_proven_are_said_to_be),
        cmocka_unit_test(odd_shares_and_prices_make_a_page),
        cmocka_unit_test(many_policies_with_shares_fit_in_a_megabyte_and_say_what_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
