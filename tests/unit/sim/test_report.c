/* test_report.c - the report page: whole, escaped, bounded, true to its results. `test_sim_report
 * DIR` also leaves sample pages in DIR, to be looked at. */
#include "torture.h"

#include "unit/sim/report_page.h"

/* ---- what every page must be ---- */

static void page_is_whole_and_asks_for_nothing(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, mixed, 300, 3, 86400, 1);
    char *page = page_of(s.results, 3, &plain);
    assert_well_formed(page);
    assert_closed_world(page);
    assert_non_null(strstr(page, "shoal sim day.csv --report day.html"));
    assert_non_null(strstr(page, "005a17c0ffee5ea1"));
    assert_non_null(strstr(page, mixed));
    assert_non_null(strstr(page, "shoal 0."));
    free(page);
    sample_free(&s);
}

static void every_picture_has_a_name_and_a_table(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, mixed, 200, 3, 86400, 2);
    char *page = page_of(s.results, 3, &plain);
    assert_int_equal(count_of(page, "class=\"plot"), 3 + 2 + 2);
    assert_int_equal(count_of(page, "<details>"), 3 + 2 + 2 + 1);
    assert_int_equal(count_of(page, "role=\"img\""), 3 + 2 + 2 + 3);
    assert_int_equal(count_of(page, "role=\"img\" aria-label=\""), 3 + 2 + 2 + 3);
    assert_int_equal(count_of(page, "aria-label=\"\""), 0);
    free(page);
    sample_free(&s);
}

static void same_results_give_the_same_page(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, mixed, 150, 3, 50000, 3);
    char *a = page_of(s.results, 3, &plain), *b = page_of(s.results, 3, &plain);
    assert_string_equal(a, b);
    free(a);
    free(b);
    sample_free(&s);
}

static void hostile_names_stay_text(void **state)
{
    (void)state;
    static const char *const hostile[] = {"\"><script>alert(1)</script>",
                                          "</title></style><img src=x onerror=alert(1)>",
                                          "' onmouseover='alert(1)",
                                          "&lt;b&gt;&amp",
                                          "\xff\xfe\xc0\xaf bad bytes \xed\xa0\x80",
                                          "\xe2\x80\xae turned",
                                          "a\x01\x1b[31mb\n\tc\x7f",
                                          "-->]]><!--",
                                          "javascript:alert(1)//http"};
    struct sample s;
    sample_make(&s, mixed, 120, 3, 86400, 4);
    char huge[4000];
    memset(huge, '<', sizeof huge - 1);
    huge[sizeof huge - 1] = 0;
    for (size_t i = 0; i < s.trace.job_count; i++)
        s.trace.jobs[i].name = i % 10 == 9 ? huge : hostile[i % 9];
    for (size_t i = 0; i < 3; i++) {
        sample_promise(&s, i, i);
        snprintf(s.results[i]->policy, sizeof s.results[i]->policy, "%s", hostile[i]);
    }
    snprintf(s.cluster.kinds[0].name, sizeof s.cluster.kinds[0].name, "</svg><b>");
    s.trace.format = "<i>";
    struct sim_report_opts opts = {
        .command = hostile[1], .title = hostile[0], .seed = UINT64_MAX, .round_s = 60};
    char *page = page_of(s.results, 3, &opts);
    assert_well_formed(page);
    assert_int_equal(count_of(page, "<script"), 0);
    assert_int_equal(count_of(page, "<img"), 0);
    assert_null(strstr(page, "\xff"));
    assert_null(strstr(page, "\xe2\x80\xae"));
    assert_null(strstr(page, "\x1b"));
    assert_non_null(strstr(page, "&lt;script&gt;"));
    assert_true(strlen(page) < PAGE_MAX);
    free(page);
    sample_free(&s);
}

/* ---- true to the results ---- */

/* The cell after `*at` whose heading is `head`: its exact value and the number that is shown. */
static const char *next_cell(const char *at, const char *head, double *out_exact, double *out_shown,
                             char unit[8])
{
    char key[64];
    snprintf(key, sizeof key, "data-l=\"%s\"", head);
    at = strstr(at, key);
    assert_non_null(at);
    const char *title = strstr(at, "title=\""), *end = strchr(at, '>');
    *out_exact = title != NULL && title < end ? strtod(title + 7, NULL) : NAN;
    char *rest;
    *out_shown = strtod(end + (end[1] == '$' ? 2 : 1), &rest);
    unit[0] = 0;
    if (strncmp(rest, "\xc2\xa0", 2) == 0)
        snprintf(unit, 8, "%.*s", (int)strcspn(rest + 2, "<"), rest + 2);
    return end;
}

static void table_shows_the_metrics(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, mixed, 250, 3, 86400, 5);
    char *page = page_of(s.results, 3, &plain);
    const char *at = strstr(page, "<tbody>");
    for (size_t i = 0; i < 3; i++) {
        const struct sim_metrics *m = &s.results[i]->metrics;
        const struct {
            const char *head;
            double value;
        } rows[] = {{"avg completion", m->avg_jct_s},
                    {"median", m->p50_jct_s},
                    {"p99", m->p99_jct_s},
                    {"makespan", m->makespan_s},
                    {"avg rho", m->avg_rho},
                    {"worst rho", m->worst_rho},
                    {"unfair", m->unfair_share},
                    {"busy", m->utilization},
                    {"avg wait", m->avg_wait_s},
                    {"cost", m->cost_usd}};
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            double exact, shown;
            char unit[8];
            next_cell(at, rows[r].head, &exact, &shown, unit);
            assert_true(fabs(exact - rows[r].value) <= 1e-3 + 1e-5 * fabs(rows[r].value));
            double scale = strcmp(unit, "min") == 0 ? 60
                           : strcmp(unit, "h") == 0 ? 3600
                           : strcmp(unit, "d") == 0 ? 86400
                           : strcmp(unit, "%") == 0 ? 0.01
                                                    : 1;
            if (strcmp(rows[r].head, "cost") != 0) /* has separators */
                assert_true(fabs(shown * scale - rows[r].value) <=
                            (unit[0] == '%' ? 0.501 : 0.051) * scale + 0.005 * fabs(rows[r].value));
        }
        at = strstr(at, "</tr>") + 1;
    }
    free(page);
    sample_free(&s);
}

static void best_of_a_column_is_marked_and_ties_are_not(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, mixed, 50, 2, 86400, 6);
    for (size_t i = 0; i < 2; i++) {
        s.results[i]->metrics.avg_jct_s = i == 0 ? 7200 : 3600;
        s.results[i]->metrics.utilization = i == 0 ? 0.9 : 0.5;
        s.results[i]->metrics.cost_usd = 1240 + 0.1 * (double)i;
    }
    char *page = page_of(s.results, 2, &plain);
    assert_int_equal(count_of(page, "<td class=\"r wide best\" data-l=\"avg completion\""), 1);
    assert_non_null(strstr(page, "best\" data-l=\"avg completion\" title=\"3600.000 s\""));
    assert_non_null(strstr(page, "best\" data-l=\"busy\" title=\"0.9\""));
    assert_int_equal(count_of(page, "best\" data-l=\"cost\""), 0);
    assert_int_equal(count_of(page, "$1,240"), 2);
    assert_non_null(strstr(
        page, "<b>srtf</b> finishes the average job in <b>60\xc2\xa0min</b>, 2.0\xc3\x97 sooner "
              "than <b>fifo</b> (2.0\xc2\xa0h)"));
    free(page);
    sample_free(&s);
}

struct drawn { /* what the rectangles of one picture add up to */
    double area;
    size_t touches, clashes;
};

enum { GRID_W = 1000, GRID_H = 600 };

static void draw_path(const char *d, int16_t *grid, int16_t ink, double *area)
{
    unsigned x, y, w, h;
    int used;
    while (sscanf(d, "M%u %uh%uv%u%n", &x, &y, &w, &h, &used) == 4) {
        assert_true(x + w <= GRID_W && y + h <= GRID_H);
        *area += (double)w * h;
        for (unsigned i = y; i < y + h; i++)
            for (unsigned k = x; k < x + w; k++) {
                assert_int_equal(grid[i * GRID_W + k], 0); /* nothing is drawn twice */
                grid[i * GRID_W + k] = ink;
            }
        d = strchr(d, 'z') + 1;
    }
    assert_int_equal(*d, '"');
}

/* Reads the first picture of the page back; ink is path number x 8 + colour + 1. */
static struct drawn read_picture(const char *page)
{
    struct drawn sum = {0, 0, 0};
    int16_t *grid = calloc(GRID_W * GRID_H, sizeof *grid);
    const char *at = strstr(page, "class=\"plot lanes\""), *end = strstr(at, "</div>"), *path = at;
    assert_non_null(grid);
    for (int16_t n = 0; (path = strstr(path, "<path class=\"j c")) != NULL && path < end; n++) {
        int16_t colour = (int16_t)(path[16] - '0');
        path = strstr(path, "d=\"") + 3;
        draw_path(path, grid, (int16_t)(n * 8 + colour + 1), &sum.area);
    }
    for (size_t i = 0; i + GRID_W < (size_t)GRID_W * GRID_H; i++) {
        size_t next[2] = {i + 1, i + GRID_W};
        for (size_t k = 0; k < 2; k++) {
            int a = grid[i] - 1, b = grid[next[k]] - 1;
            if (a < 0 || b < 0 || a / 8 == b / 8)
                continue;
            sum.touches++;
            sum.clashes += a % 8 == b % 8;
        }
    }
    free(grid);
    return sum;
}

static void picture_shows_the_gpu_time_that_was_held(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct sample s;
        sample_make(&s, mixed, 200, 1, 86400, seed);
        const struct sim_result *r = s.results[0];
        double held_s = 0;
        for (size_t i = 0; i < r->segment_count; i++)
            held_s += (r->segments[i].to_s - r->segments[i].from_s) *
                      __builtin_popcountll(r->segments[i].rows);
        char *page = page_of(s.results, 1, &plain);
        struct drawn drawn = read_picture(page);
        int row_px = 340 / 64;
        double drawn_s = drawn.area / row_px / 1000 * r->metrics.makespan_s;
        assert_true(fabs(drawn_s / held_s - 1) < 0.01);
        free(page);
        sample_free(&s);
    }
}

static void jobs_side_by_side_differ_in_colour(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, mixed, 300, 1, 86400, 8);
    char *page = page_of(s.results, 1, &plain);
    struct drawn drawn = read_picture(page);
    assert_true(drawn.touches > 1000);
    assert_true((double)drawn.clashes < 0.01 * (double)drawn.touches);
    free(page);
    sample_free(&s);
}

/* ---- words ---- */

static void every_policy_is_said_only_of_figures_that_read_alike(void **state)
{
    (void)state;
    static const char unfair[] = "worse off than with an equal share under every policy";
    static const char ends[] = "under every policy; until then";
    struct sample s;
    sample_make(&s, mixed, 40, 3, 20000, 31);
    for (size_t i = 0; i < 3; i++) {
        s.results[i]->metrics.unfair_share = 0.0191;
        s.results[i]->metrics.makespan_s = 20000;
    }
    assert_says(&s, 3, unfair, true);
    assert_says(&s, 3, ends, true);
    s.results[1]->metrics.unfair_share = 0.028;
    s.results[2]->metrics.makespan_s = 19850;
    assert_says(&s, 3, unfair, false);
    assert_says(&s, 3, "% of jobs are worse off than with an equal share under <b>fifo</b>, 2.8",
                true);
    assert_says(&s, 3, ends, false);
    sample_free(&s);
}

static void lost_time_is_laid_to_failures_only_where_something_failed(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, mixed, 40, 2, 20000, 32);
    for (size_t i = 0; i < 2; i++) {
        s.results[i]->metrics.restarts = i == 0 ? 0 : 1811;
        s.results[i]->metrics.lost_gpu_s = i == 0 ? 0 : 22 * 3600;
    }
    assert_says(&s, 2,
                "Under <b>srtf</b> jobs are restarted 1,811 times and 22 GPU-hours are lost to "
                "restarts, under <b>fifo</b> none is. ",
                true);
    s.results[1]->metrics.node_failures = 3;
    s.results[0]->metrics.restarts = 12;
    assert_says(&s, 2, "are lost to restarts and failures, under <b>fifo</b> 12 times. ", true);
    s.results[1]->metrics.restarts = s.results[0]->metrics.restarts = 0;
    assert_says(&s, 2, "restarted", false);
    sample_free(&s);
}

static void missed_deadlines_are_told_where_jobs_have_deadlines(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, mixed, 40, 3, 20000, 36);
    assert_says(&s, 3, "deadline", false);
    assert_says(&s, 3, ">missed</th>", false);
    for (size_t i = 0; i < 3; i++)
        s.results[i]->metrics.deadlines = 1200;
    assert_says(&s, 3, "All deadlines are kept under every policy. ", true);
    assert_says(&s, 1, "All deadlines are kept. ", true);
    for (size_t i = 0; i < 3; i++)
        s.results[i]->metrics.missed = 7;
    assert_says(&s, 3, "Of 1,200 deadlines, <b>fifo</b> misses 7, as does every policy. ", true);
    assert_says(&s, 1, "Of 1,200 deadlines, <b>fifo</b> misses 7. ", true);
    s.results[1]->metrics.missed = 0;
    s.results[2]->metrics.missed = 1100;
    assert_says(&s, 3, "Of 1,200 deadlines, <b>srtf</b> misses none, <b>las</b> 1,100. ", true);
    assert_says(&s, 3, ">missed</th>", true);
    assert_says(&s, 3, " best\" data-l=\"missed\">0<", true);
    sample_free(&s);
}

static void time_of_runs_side_by_side_is_cpu_time(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, mixed, 40, 2, 20000, 33);
    for (size_t i = 0; i < 2; i++) {
        s.results[i]->metrics.wall_s = 1000;
        s.results[i]->metrics.cpu_s = 20 + 3 * (double)i;
    }
    assert_says(&s, 2, "<dt>CPU time, all policies</dt><dd>43\xc2\xa0s</dd>", true);
    assert_says(&s, 1, "<dt>CPU time</dt><dd>20\xc2\xa0s</dd>", true);
    sample_free(&s);
}

static void long_labels_break_after_colons_and_stay_apart(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, mixed, 300, 2, 20000, 34);
    for (size_t i = 0; i < 2; i++)
        snprintf(s.results[i]->policy, sizeof s.results[i]->policy,
                 "las:quantum=30m:relax=10m:locality=strict:upgrade=%s", i == 0 ? "on" : "off");
    char *page = page_of(s.results, 2, &plain);
    assert_well_formed(page);
    assert_non_null(strstr(page, "<div class=\"row\"><b>las:<wbr>quantum=30m:<wbr>relax=10m:<wbr>"
                                 "locality=strict:<wbr>upgrade=off</b>"));
    assert_non_null(strstr(page, "upgrade=on</b>"));
    free(page);
    sample_free(&s);
}

/* Makespan, series and segments count from the origin of a result, times of jobs do not. */
static void page_does_not_depend_on_when_the_trace_begins(void **state)
{
    (void)state;
    static const double later_s = 86400 * 128; /* exact in every number of a result */
    struct sample s;
    sample_make(&s, mixed, 60, 2, 20000, 35);
    for (size_t i = 0; i < 2; i++)
        for (size_t job = 0; job < 60; job++)
            s.results[i]->jobs[job].finish_s = floor(s.results[i]->jobs[job].finish_s);
    char *first = page_of(s.results, 2, &plain);
    for (size_t job = 0; job < 60; job++)
        s.trace.jobs[job].submit_s += later_s;
    for (size_t i = 0; i < 2; i++) {
        s.results[i]->origin_s += later_s;
        for (size_t job = 0; job < 60; job++) {
            s.results[i]->jobs[job].start_s += later_s;
            s.results[i]->jobs[job].finish_s += later_s;
        }
    }
    char *second = page_of(s.results, 2, &plain);
    assert_string_equal(first, second);
    free(first);
    free(second);
    sample_free(&s);
}

/* ---- bounded ---- */

static void thousand_jobs_under_four_policies_fit_in_a_megabyte(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, mixed, 1000, 4, 172800, 9);
    char *page = page_of(s.results, 4, &plain);
    assert_true(strlen(page) < PAGE_MAX);
    assert_int_equal(count_of(page, "class=\"plot lanes\""), 4);
    assert_true(count_of(page, "<path class=\"j c") > 3000);
    free(page);
    sample_free(&s);
}

static void many_policies_fit_in_a_megabyte(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, "16x8:t4,16x8:rtx,16x8:a100,16x8:v100", 400, 4, 86400, 10);
    struct sim_result *all[16];
    for (size_t i = 0; i < 16; i++)
        all[i] = s.results[i % 4];
    char *page = page_of(all, 16, &plain);
    assert_well_formed(page);
    assert_true(strlen(page) < PAGE_MAX);
    free(page);
    sample_free(&s);
}

static void million_jobs_fit_in_a_megabyte(void **state)
{
    (void)state;
    enum { JOBS = 1000000 };
    struct sample s;
    sample_make(&s, "250x8:a100", 10, 2, 86400, 11);
    struct base_rand rand;
    base_rand_init(&rand, 1, "million");
    base_free(&base_alloc_libc, s.trace.jobs);
    s.trace.jobs = sample_alloc(JOBS, sizeof *s.trace.jobs);
    s.trace.job_count = JOBS;
    for (size_t i = 0; i < JOBS; i++)
        s.trace.jobs[i] = (struct sim_job){
            .name = "a-name-of-middling-length", .submit_s = (double)i, .gpus = 1 + i % 8};
    for (size_t k = 0; k < 2; k++) {
        struct sim_result *r = s.results[k];
        base_free(&base_alloc_libc, r->jobs);
        r->jobs = sample_alloc(JOBS, sizeof *r->jobs);
        for (size_t i = 0; i < JOBS; i++) {
            double jct = base_rand_exp(&rand, 5000);
            r->jobs[i] = (struct sim_job_result){
                .start_s = (double)i, .finish_s = (double)i + jct, .rho = (float)jct / 6000};
        }
        r->segments_cut = true;
        r->metrics.jobs = r->metrics.finished = JOBS;
    }
    char *page = page_of(s.results, 2, &plain);
    assert_well_formed(page);
    assert_true(strlen(page) < 200 * 1000);
    assert_non_null(strstr(page, "1,000,000 jobs on 2,000 GPUs"));
    free(page);
    sample_free(&s);
}

static void small_buffer_says_limit(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, mixed, 20, 2, 86400, 12);
    struct base_buf buf;
    base_buf_init(&buf, &base_alloc_libc, 20000);
    shoal_err err = SHOAL_ERR_INIT;
    assert_int_equal(sim_report((const struct sim_result *const *)s.results, 2, &plain, &buf, &err),
                     SHOAL_E_LIMIT);
    assert_non_null(strstr(err.message, "20000 bytes"));
    base_buf_fini(&buf);
    sample_free(&s);
}

/* ---- little or nothing to show ---- */

static void assert_plain_page(struct sample *s, size_t count, const char *must_say)
{
    char *page = page_of(s->results, count, &plain);
    assert_well_formed(page);
    assert_closed_world(page);
    if (must_say != NULL && strstr(page, must_say) == NULL)
        fail_msg("the page does not say '%s'", must_say);
    free(page);
}

static void one_job_makes_a_page(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, "1x1:t4", 1, 1, 1000, 13);
    s.trace.jobs[0].gpus = 1;
    assert_plain_page(&s, 1, "1 job on 1 GPU");
    sample_free(&s);
}

static void empty_trace_makes_a_page(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, mixed, 0, 2, 1000, 14);
    assert_plain_page(&s, 2, "No job finished.");
    sample_free(&s);
}

static void rejected_jobs_make_a_page(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, mixed, 5, 2, 1000, 15);
    for (size_t i = 0; i < 2; i++) {
        struct sim_result *r = s.results[i];
        for (size_t k = 0; k < 5; k++)
            r->jobs[k] = (struct sim_job_result){
                .start_s = NAN, .finish_s = NAN, .rho = NAN, .outcome = SIM_REJECTED};
        r->metrics = (struct sim_metrics){.jobs = 5,
                                          .rejected = 5,
                                          .avg_jct_s = NAN,
                                          .p50_jct_s = NAN,
                                          .p99_jct_s = NAN,
                                          .makespan_s = NAN,
                                          .avg_rho = NAN,
                                          .worst_rho = NAN,
                                          .unfair_share = NAN,
                                          .avg_wait_s = NAN,
                                          .utilization = NAN,
                                          .cost_usd = NAN,
                                          .decision_ms_p50 = NAN,
                                          .worst_rho_job = SIM_NONE};
        r->segment_count = 0;
        r->series.count = 0;
    }
    assert_plain_page(&s, 2, "5 of the jobs cannot run on this cluster as asked");
    sample_free(&s);
}

static void missing_records_and_prices_make_a_page(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, mixed, 30, 2, 5000, 16);
    s.results[0]->metrics.cost_usd = NAN;
    s.results[1]->segment_count = 0;
    assert_plain_page(&s, 2, "title=\"a kind that was used has no price\"");
    s.results[1]->metrics.cost_usd = NAN;
    s.results[0]->segments_cut = true;
    assert_plain_page(&s, 2, "GPUs held, by kind");
    for (size_t i = 0; i < 2; i++)
        s.results[i]->series.step_s = 0;
    char *page = page_of(s.results, 2, &(struct sim_report_opts){.round_s = 0});
    assert_well_formed(page);
    assert_null(strstr(page, "Who holds what"));
    assert_null(strstr(page, "data-l=\"cost\""));
    free(page);
    sample_free(&s);
}

static void segments_outside_the_cluster_are_not_drawn(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, mixed, 10, 1, 5000, 17);
    struct sim_segment *seg = s.results[0]->segments;
    seg[0].node = 99;
    seg[1].job = 99;
    seg[2].from_s = NAN;
    seg[3].to_s = INFINITY;
    seg[4].rows = UINT64_MAX;
    seg[5].from_s = -1e300;
    assert_plain_page(&s, 1, NULL);
    sample_free(&s);
}

static void odd_values_make_a_page(void **state)
{
    (void)state;
    static const double odd[] = {0, -1, 1e-9, 1e300, NAN, INFINITY};
    struct sample s;
    sample_make(&s, mixed, 20, 2, 5000, 18);
    for (size_t i = 0; i < 6; i++) {
        for (size_t k = 0; k < 20; k++) {
            s.results[0]->jobs[k].rho = (float)odd[(i + k) % 6];
            s.results[0]->jobs[k].wait_s = (float)odd[(i + 2 * k) % 6];
            s.results[0]->jobs[k].finish_s = i % 2 == 0 ? odd[(i + 3 * k) % 6] : 4000;
        }
        s.results[0]->metrics.worst_rho = odd[i];
        s.results[0]->metrics.avg_jct_s = odd[(i + 1) % 6];
        s.results[0]->metrics.makespan_s = odd[(i + 2) % 6];
        s.results[0]->metrics.wait_by_reason_s[i] = odd[i];
        for (size_t k = 0; k < s.results[0]->series.count; k++)
            s.results[0]->series.waiting[k] = (float)odd[(i + k) % 5];
        assert_plain_page(&s, 2, NULL);
    }
    sample_free(&s);
}

static void results_of_different_traces_are_refused(void **state)
{
    (void)state;
    struct sample a, b;
    sample_make(&a, mixed, 5, 1, 1000, 19);
    sample_make(&b, mixed, 5, 1, 1000, 20);
    const struct sim_result *both[2] = {a.results[0], b.results[0]};
    struct base_buf buf;
    base_buf_init(&buf, &base_alloc_libc, BUFFER_MAX);
    assert_int_equal(sim_report(both, 2, &plain, &buf, NULL), SHOAL_E_INVAL);
    assert_int_equal(sim_report(both, 0, &plain, &buf, NULL), SHOAL_E_INVAL);
    assert_int_equal(buf.size, 0);
    base_buf_fini(&buf);
    sample_free(&a);
    sample_free(&b);
}

static void free_accepts_null_and_half_built_results(void **state)
{
    (void)state;
    sim_result_free(NULL);
    struct sim_result *r = sample_alloc(1, sizeof *r);
    r->alloc = &base_alloc_libc;
    base_buf_init(&r->story, &base_alloc_libc, 10);
    sim_result_free(r);
}

/* ---- colours ---- */

static double luminance(const char *hex)
{
    static const double weight[3] = {0.2126, 0.7152, 0.0722};
    unsigned rgb[3];
    double sum = 0;
    assert_int_equal(sscanf(hex, "#%2x%2x%2x", &rgb[0], &rgb[1], &rgb[2]), 3);
    for (size_t i = 0; i < 3; i++) {
        double c = rgb[i] / 255.0;
        sum += weight[i] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
}

/* The value of a token, in the light set or in the dark one. */
static const char *token(const char *page, const char *name, bool dark)
{
    char key[32];
    snprintf(key, sizeof key, "--%s:#", name);
    const char *at = strstr(page, ":root{");
    if (dark)
        at = strstr(at, "prefers-color-scheme:dark");
    at = strstr(at, key);
    assert_non_null(at);
    return strchr(at, '#');
}

static double contrast(const char *page, const char *a, const char *b, bool dark)
{
    double x = luminance(token(page, a, dark)), y = luminance(token(page, b, dark));
    return (fmax(x, y) + 0.05) / (fmin(x, y) + 0.05);
}

static void tokens_are_those_of_the_visual_language(void **state)
{
    (void)state;
    static const struct {
        const char *name, *light, *dark;
    } rows[] = {{"bg", "#f4f7f8", "#0b1317"},       {"panel", "#ffffff", "#121b21"},
                {"sunk", "#eef3f5", "#0f181d"},     {"ink", "#10212a", "#e3edf1"},
                {"dim", "#51636d", "#97a9b3"},      {"line", "#d9e2e6", "#24323a"},
                {"grid", "#e6edf0", "#1c2830"},     {"accent", "#0b6b7a", "#5cc6d6"},
                {"accent-t", "#e2f1f3", "#123038"}, {"ok", "#1b6e3c", "#62c58a"},
                {"warn", "#8a5a00", "#e0ac4b"},     {"warn-t", "#fdf1d8", "#33280f"},
                {"bad", "#b3261e", "#ff8a7f"},      {"bad-t", "#fde8e6", "#3a1b19"},
                {"k0", "#2565c7", "#5ea6f7"},       {"k1", "#00a0a6", "#37d0d8"},
                {"k2", "#966610", "#d39a2c"},       {"k3", "#d9745f", "#f3ad99"},
                {"k4", "#653a7d", "#a06ac6"},       {"k5", "#17561f", "#3f8a55"},
                {"k6", "#6b767f", "#7d8d98"}};
    struct sample s;
    sample_make(&s, mixed, 3, 1, 1000, 21);
    char *page = page_of(s.results, 1, &plain);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_memory_equal(token(page, rows[i].name, false), rows[i].light, 7);
        assert_memory_equal(token(page, rows[i].name, true), rows[i].dark, 7);
    }
    free(page);
    sample_free(&s);
}

static void text_and_marks_have_contrast(void **state)
{
    (void)state;
    static const char *const text[][2] = {
        {"ink", "bg"},       {"ink", "panel"},   {"ink", "sunk"},
        {"dim", "bg"},       {"dim", "panel"},   {"dim", "sunk"},
        {"accent", "panel"}, {"warn", "warn-t"}, {"dim", "warn-t"}};
    struct sample s;
    sample_make(&s, mixed, 3, 1, 1000, 22);
    char *page = page_of(s.results, 1, &plain);
    for (int dark = 0; dark < 2; dark++) {
        for (size_t i = 0; i < sizeof text / sizeof *text; i++)
            if (contrast(page, text[i][0], text[i][1], dark == 1) < 5.2)
                fail_msg("%s on %s: %.2f", text[i][0], text[i][1],
                         contrast(page, text[i][0], text[i][1], dark == 1));
        for (int k = 0; k < 7; k++) {
            char name[4] = {'k', (char)('0' + k), 0, 0};
            assert_true(contrast(page, name, "panel", dark == 1) >= 3.1);
        }
    }
    free(page);
    sample_free(&s);
}

/* ---- failing allocations ---- */

static shoal_status write_report(const struct base_alloc *alloc, void *ctx)
{
    struct sample *s = ctx;
    struct base_buf buf;
    base_buf_init(&buf, alloc, BUFFER_MAX);
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st =
        sim_report((const struct sim_result *const *)s->results, 2, &plain, &buf, &err);
    if (st != err.code)
        st = SHOAL_E_INTERNAL;
    base_buf_fini(&buf);
    return st;
}

static void every_failed_allocation_is_a_clean_error(void **state)
{
    (void)state;
    struct sample s;
    sample_make(&s, mixed, 60, 2, 20000, 23);
    sample_promise(&s, 1, 23);
    torture_run(write_report, &s);
    sample_free(&s);
}

/* ---- pages to look at ---- */

static int leave_pages(const char *folder)
{
    static const struct {
        const char *file, *cluster;
        size_t jobs, policies, promising;
        double span_s;
    } pages[] = {{"day.html", mixed, 300, 3, 0, 86400},
                 {"busy.html", mixed, 1000, 4, 0, 172800},
                 {"large.html", "100x8:t4,60x8:a100", 2000, 2, 0, 172800},
                 {"one.html", "2x4:t4", 20, 1, 0, 20000},
                 {"shares.html", mixed, 300, 2, 2, 86400},
                 {"share.html", mixed, 300, 1, 1, 86400}};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        struct sample s;
        sample_make(&s, pages[i].cluster, pages[i].jobs, pages[i].policies, pages[i].span_s, 3);
        for (size_t p = 0; p < pages[i].promising; p++)
            sample_promise(&s, p, p);
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, pages[i].file);
        char *page = page_of(s.results, pages[i].policies, &plain);
        FILE *file = fopen(path, "w");
        if (file == NULL || fputs(page, file) < 0 || fclose(file) != 0)
            return 1;
        free(page);
        sample_free(&s);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2)
        return leave_pages(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_is_whole_and_asks_for_nothing),
        cmocka_unit_test(every_picture_has_a_name_and_a_table),
        cmocka_unit_test(same_results_give_the_same_page),
        cmocka_unit_test(hostile_names_stay_text),
        cmocka_unit_test(table_shows_the_metrics),
        cmocka_unit_test(best_of_a_column_is_marked_and_ties_are_not),
        cmocka_unit_test(picture_shows_the_gpu_time_that_was_held),
        cmocka_unit_test(jobs_side_by_side_differ_in_colour),
        cmocka_unit_test(every_policy_is_said_only_of_figures_that_read_alike),
        cmocka_unit_test(lost_time_is_laid_to_failures_only_where_something_failed),
        cmocka_unit_test(missed_deadlines_are_told_where_jobs_have_deadlines),
        cmocka_unit_test(time_of_runs_side_by_side_is_cpu_time),
        cmocka_unit_test(long_labels_break_after_colons_and_stay_apart),
        cmocka_unit_test(page_does_not_depend_on_when_the_trace_begins),
        cmocka_unit_test(thousand_jobs_under_four_policies_fit_in_a_megabyte),
        cmocka_unit_test(many_policies_fit_in_a_megabyte),
        cmocka_unit_test(million_jobs_fit_in_a_megabyte),
        cmocka_unit_test(small_buffer_says_limit),
        cmocka_unit_test(one_job_makes_a_page),
        cmocka_unit_test(empty_trace_makes_a_page),
        cmocka_unit_test(rejected_jobs_make_a_page),
        cmocka_unit_test(missing_records_and_prices_make_a_page),
        cmocka_unit_test(segments_outside_the_cluster_are_not_drawn),
        cmocka_unit_test(odd_values_make_a_page),
        cmocka_unit_test(results_of_different_traces_are_refused),
        cmocka_unit_test(free_accepts_null_and_half_built_results),
        cmocka_unit_test(tokens_are_those_of_the_visual_language),
        cmocka_unit_test(text_and_marks_have_contrast),
        cmocka_unit_test(every_failed_allocation_is_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
