/* Tests of src/market/page*.c: the page is whole, says what the results say, lets nothing of the
 * data through as HTML, and stays small. */
#include "unit/market/market_world.h"

#include "base/assert.h"
#include "base/text.h"
#include "market/gen.h"
#include "market/page.h"
#include "market/speeds.h"

enum { RUNS = 4, JOBS_MAX = 300 };

struct sample {
    shoal_env *env;
    struct market_prices *prices;
    struct market_job jobs[JOBS_MAX];
    char names[JOBS_MAX][32];
    double speed[16];
    bool *allowed;
    struct market_costs costs;
    struct market_run runs[RUNS];
    struct market_story story;
};

static void load_history(struct sample *s, const char *kinds, double days, double changes)
{
    struct market_gen_opts opts = {.kinds = kinds,
                                   .regions = 2,
                                   .zones = 2,
                                   .from_s = WORLD_2024,
                                   .days = days,
                                   .changes_day = changes,
                                   .swing = 0.6,
                                   .seed = 2};
    struct base_buf text;

    base_buf_init(&text, &base_alloc_libc, 1 << 28);
    assert_int_equal(market_gen(&opts, &text, NULL), SHOAL_OK);
    assert_int_equal(env_sim_put(s->env, "g.csv", text.data, text.size), SHOAL_OK);
    base_buf_fini(&text);
    s->prices = world_load(s->env, "g.csv");
}

/* Every strategy there is, on a made-up history; jobs of 5 days with 8 to do them in. */
static void sample_init(struct sample *s, const char *kinds, size_t jobs, double days,
                        double changes)
{
    size_t count;
    const struct market_strategy *const *all = market_strategies(&count);

    memset(s, 0, sizeof *s);
    s->env = world_new();
    load_history(s, kinds, days, changes);
    s->costs = (struct market_costs)MARKET_COSTS_INIT;
    s->allowed = base_calloc(&base_alloc_libc, s->prices->offer_count, sizeof *s->allowed);
    for (size_t o = 0; o < s->prices->offer_count; o++)
        s->allowed[o] = true;
    for (size_t k = 0; k < s->prices->kinds.map.count; k++)
        s->speed[k] = 1;
    for (size_t j = 0; j < jobs; j++) {
        snprintf(s->names[j], sizeof s->names[j], "<b>job & %zu", j);
        s->jobs[j] = (struct market_job){.name = s->names[j],
                                         .work = days / 6 * 86400,
                                         .start_s = WORLD_2024,
                                         .deadline_s = WORLD_2024 + days / 4 * 86400,
                                         .budget_usd = INFINITY,
                                         .instances = 1,
                                         .speed = s->speed,
                                         .checkpoint_gb = 2};
    }
    s->story = (struct market_story){.prices = s->prices,
                                     .jobs = s->jobs,
                                     .job_count = jobs,
                                     .costs = &s->costs,
                                     .allowed = s->allowed,
                                     .runs = s->runs,
                                     .fixed = SIZE_MAX,
                                     .bound_usd = (double)NAN,
                                     .plan_usd = (double)NAN,
                                     .from_s = WORLD_2024,
                                     .title = "title & <b>",
                                     .command = "shoal market 'a & <b>.csv'",
                                     .step_s = MARKET_STEP_S,
                                     .seed = 3};
    for (size_t i = 0; i < count && i < RUNS; i++) {
        void *knobs = base_calloc(&base_alloc_libc, 1, all[i]->knobs_size + 1);
        base_opt_defaults(all[i]->opts, all[i]->opt_count, knobs);
        struct market_replay_opts opts = {
            .strategy = all[i], .knobs = knobs, .step_s = MARKET_STEP_S};
        const struct market_world world = {s->prices, NULL, &s->costs, s->allowed};
        shoal_err err = SHOAL_ERR_INIT;
        s->runs[i] = (struct market_run){.label = all[i]->name, .strategy = all[i]};
        if (market_replay(&base_alloc_libc, &world, s->jobs, jobs, &opts, &s->runs[i].result,
                          &err) != SHOAL_OK)
            fail_msg("%s", err.message);
        base_free(&base_alloc_libc, knobs);
        if (strcmp(all[i]->name, "static") == 0)
            s->story.fixed = i;
        s->story.run_count++;
        for (size_t j = 0; j < jobs; j++) {
            const struct market_outcome *o = &s->runs[i].result.jobs[j];
            if (o->stay_count > 0)
                s->story.to_s = fmax(s->story.to_s, o->stays[o->stay_count - 1].to_s);
        }
    }
}

static void sample_fini(struct sample *s)
{
    for (size_t i = 0; i < s->story.run_count; i++)
        market_result_fini(&s->runs[i].result);
    base_free(&base_alloc_libc, s->allowed);
    market_prices_free(s->prices);
    shoal_env_free(s->env);
}

static void write(const struct sample *s, struct base_buf *page)
{
    shoal_err err = SHOAL_ERR_INIT;

    base_buf_init(page, &base_alloc_libc, 1 << 20); /* what the promise says */
    if (market_page(&s->story, page, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
}

static size_t occurrences(const char *text, const char *word)
{
    size_t count = 0;

    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        count++;
    return count;
}

static void check_whole(const char *html)
{
    static const char *const tags[] = {"section", "div",     "table", "svg",
                                       "ul",      "details", "p",     "tr"};

    for (size_t i = 0; i < BASE_COUNT(tags); i++) {
        char open[16], opened[16], closed[16];
        snprintf(open, sizeof open, "<%s>", tags[i]);
        snprintf(opened, sizeof opened, "<%s ", tags[i]);
        snprintf(closed, sizeof closed, "</%s>", tags[i]);
        assert_int_equal(occurrences(html, open) + occurrences(html, opened),
                         occurrences(html, closed));
    }
    assert_null(strstr(html, "<script"));
    assert_null(strstr(html, "<b>job"));
    assert_null(strstr(html, "& <"));
    assert_null(strstr(html, "nan"));
    assert_null(strstr(html, "inf\""));
    assert_non_null(strstr(html, "</html>"));
}

static void a_page_has_every_section_and_the_numbers(void **state)
{
    struct sample s;
    struct base_buf page;
    char usd[48];

    (void)state;
    sample_init(&s, "<i>small:V100:1=3,large:V100:8=24", 1, 40, 3);
    s.story.bound_usd = 12.34;
    s.story.plan_usd = 15;
    write(&s, &page);
    check_whole(page.data);
    static const char *const ids[] = {"h-cmp",  "h-prices", "h-places",
                                      "h-cost", "h-moves",  "h-repeat"};
    for (size_t i = 0; i < BASE_COUNT(ids); i++)
        assert_non_null(strstr(page.data, ids[i]));
    assert_non_null(strstr(page.data, "title &amp; &lt;b&gt;"));
    assert_non_null(strstr(page.data, "shoal market &#39;a &amp; &lt;b&gt;.csv&#39;"));
    assert_non_null(strstr(page.data, "$12.34"));
    double lead = market_run_sums(&s.story, 0).usd;
    snprintf(usd, sizeof usd, lead < 100 ? "<b>$%.2f</b>" : "<b>$%.0f</b>", lead);
    if (lead < 1000)
        assert_non_null(strstr(page.data, usd));
    base_buf_fini(&page);
    sample_fini(&s);
}

static void sums_are_those_of_the_jobs(void **state)
{
    struct sample s;

    (void)state;
    sample_init(&s, "small:V100:1=3", 5, 30, 3);
    for (size_t i = 0; i < s.story.run_count; i++) {
        struct market_sums sums = market_run_sums(&s.story, i);
        double usd = 0, stays_usd = 0, last = 0;
        for (size_t j = 0; j < 5; j++) {
            const struct market_outcome *o = &s.runs[i].result.jobs[j];
            usd += o->usd;
            last = fmax(last, o->finish_s);
            for (size_t k = 0; k < o->stay_count; k++)
                stays_usd += o->stays[k].usd + o->stays[k].egress_usd;
        }
        assert_true(fabs(sums.usd - usd) < 1e-9 * usd && fabs(usd - stays_usd) < 1e-6 * usd);
        assert_true(sums.finished == 5 && sums.finish_s == last);
    }
    assert_true(market_times_less(2, 6) == 3);
    assert_true(isnan(market_times_less(0, 6)));
    sample_fini(&s);
}

/* A fleet, a long history, many changes: still under a megabyte. */
static void a_large_page_stays_small(void **state)
{
    struct sample s;
    struct base_buf page;

    (void)state;
    sample_init(&s, "small:V100:1=3,other:A100:1=4", JOBS_MAX, 60, 20);
    write(&s, &page);
    assert_true(page.size < 1 << 20);
    check_whole(page.data);
    assert_non_null(strstr(page.data, "h-jobs"));
    base_buf_fini(&page);
    sample_fini(&s);
}

static void a_job_that_never_ran_has_a_page(void **state)
{
    struct sample s;
    struct base_buf page;
    struct market_outcome none = {.finish_s = (double)NAN, .missed = true};
    struct market_result *r;

    (void)state;
    sample_init(&s, "small:V100:1=3", 1, 30, 3);
    r = &s.runs[0].result;
    struct market_outcome kept = r->jobs[0];
    r->jobs[0] = none;
    write(&s, &page);
    check_whole(page.data);
    r->jobs[0] = kept;
    base_buf_fini(&page);
    sample_fini(&s);
}

static void durations_are_without_zeros(void **state)
{
    static const struct {
        double seconds;
        const char *text;
    } rows[] = {{30 * 86400, "30d"}, {86400 * 1.5, "1d12h"},
                {8 * 3600, "8h"},    {600, "10m"},
                {630, "10m30s"},     {0, "0s"},
                {864000, "10d"},     {20, "20s"}};
    char text[48];

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        assert_string_equal(market_duration_text(rows[i].seconds, text, sizeof text), rows[i].text);
}

static shoal_status write_page(const struct base_alloc *alloc, void *ctx)
{
    struct base_buf page;

    base_buf_init(&page, alloc, 1 << 20);
    shoal_status st = market_page(ctx, &page, NULL);
    base_buf_fini(&page);
    return st;
}

static void every_failed_allocation_is_an_error(void **state)
{
    struct sample s;

    (void)state;
    sample_init(&s, "small:V100:1=3", 2, 30, 3);
    torture_run(write_page, &s.story);
    sample_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_has_every_section_and_the_numbers),
        cmocka_unit_test(sums_are_those_of_the_jobs),
        cmocka_unit_test(a_large_page_stays_small),
        cmocka_unit_test(a_job_that_never_ran_has_a_page),
        cmocka_unit_test(durations_are_without_zeros),
        cmocka_unit_test(every_failed_allocation_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
