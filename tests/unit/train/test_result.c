/* test_result.c - the result of a job: its words, its JSON, its pictures, and that it is whole whatever memory there is. */
#include "torture.h"

#include "base/err.h"
#include "page/show.h"
#include "train/result.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct chosen {
    uint32_t algorithm;
    uint64_t parts;
    const char *file;
    double rate;
};

static const char *const ALGORITHMS[] = {"fast", "good", NULL};
static const shoal_opt OPTS[] = {
    {offsetof(struct chosen, algorithm), SHOAL_OPT_CHOICE, "algorithm", 0, NULL, "fast", "which",
     .choices = ALGORITHMS},
    {offsetof(struct chosen, parts), SHOAL_OPT_U64, "parts", 0, NULL, "4", "how many", .max = 100},
    {offsetof(struct chosen, file), SHOAL_OPT_STR, "file", .help = "of what"},
    {offsetof(struct chosen, rate), SHOAL_OPT_F64, "rate", 0, NULL, "0", "0: chosen", .max = 1},
};
static const shoal_app APP = {.struct_size = sizeof APP,
                              .name = "odd<b>",
                              .summary = "a & b",
                              .objective = "loss<i>",
                              .units = "rows&",
                              .opts = OPTS,
                              .opt_count = 4,
                              .options_size = sizeof(struct chosen)};

static shoal_app app;
static struct train_job_opts opts;
static struct train_job_result job;
static struct train_ended ended;
static struct train_learnt learnt;
static const shoal_result *result;
static struct base_buf out;

static int set_up(void **state)
{
    (void)state;
    app = APP;
    opts = (struct train_job_opts)TRAIN_JOB_OPTS_INIT;
    opts.app = &app;
    opts.name = "job";
    opts.path = "folder/<data>.svm";
    memset(&job, 0, sizeof job);
    job.seconds = 10;
    job.load_seconds = 1;
    job.begun_ns = 1000000000;
    job.stats = (struct train_stats){.value = 2.5,
                                     .held_out = (double)NAN,
                                     .gap = (double)NAN,
                                     .units = 1000,
                                     .clocks = 20,
                                     .tasks = 40,
                                     .wanted = 2,
                                     .executors = 4};
    ended = (struct train_ended){&opts, &job, 3, (double)NAN};
    train_learnt_init(&learnt, &base_alloc_libc, true);
    base_buf_init(&out, &base_alloc_libc, 1 << 24);
    result = NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    shoal_result_free(result);
    train_learnt_fini(&learnt);
    base_buf_fini(&out);
    return 0;
}

static bool append(void *ctx, const char *text, size_t size)
{
    base_buf_append(ctx, text, size);
    return base_buf_status(ctx) == SHOAL_OK;
}

static void make(void)
{
    shoal_err err = SHOAL_ERR_INIT;

    shoal_result_free(result);
    if (learnt.made == NULL)
        train_learnt_init(&learnt, &base_alloc_libc, true);
    assert_int_equal(train_result_make(&ended, &learnt, &result, &err), SHOAL_OK);
}

static const char *json(void)
{
    base_buf_clear(&out);
    assert_int_equal(shoal_result_json(result, append, &out, NULL), SHOAL_OK);
    return out.data;
}

static const char *page(void)
{
    base_buf_clear(&out);
    assert_int_equal(shoal_result_page(result, "shoal train odd '<data>'", append, &out, NULL),
                     SHOAL_OK);
    return out.data;
}

static const shoal_picture *picture_of(const char *name)
{
    for (size_t i = 0; i < result->picture_count; i++)
        if (strcmp(result->pictures[i].name, name) == 0)
            return &result->pictures[i];
    return NULL;
}

static void report(double at_s, uint64_t clock, double value)
{
    train_trail_value(&job.trail, job.begun_ns + (uint64_t)(at_s * 1e9), clock,
                      (uint64_t)(at_s * 5e8), value);
}

/* ---- words ---- */

static void rates_have_three_digits_and_a_unit(void **state)
{
    static const struct {
        double rate;
        const char *text;
    } CASES[] = {{0, "0 rows/s"},
                 {12.34, "12.3 rows/s"},
                 {999.6, "1 k rows/s"},
                 {61.34e6, "61.3 M rows/s"},
                 {5e18, "5e+06 T rows/s"}};

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        base_buf_clear(&out);
        train_put_rate(&out, CASES[i].rate, "rows");
        assert_string_equal(out.data, CASES[i].text);
    }
}

static void objectives_have_no_exponent_where_people_read_digits(void **state)
{
    char text[32];

    (void)state;
    assert_string_equal(train_value_text(0.6864837, 5, text, sizeof text), "0.68648");
    assert_string_equal(train_value_text(104012.7, 5, text, sizeof text), "104013");
    assert_string_equal(train_value_text(-2e9, 6, text, sizeof text), "-2000000000");
    assert_string_equal(train_value_text(3e18, 5, text, sizeof text), "3e+18");
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
        base_buf_clear(&out);
        base_buf_puts(&out, "");
        train_put_stopped(&out, &stats);
        assert_int_equal(base_buf_status(&out), SHOAL_OK);
        assert_string_equal(out.data, CASES[i].words);
    }
}

static void the_verdict_says_how_good_and_how_it_ended(void **state)
{
    (void)state;
    app.held_out = "surprise";
    job.stats.held_out = 7.25;
    job.stats.iterations = 12;
    job.stats.stopped = SHOAL_STOP_TOLERANCE;
    job.stats.workers_lost = 1;
    job.stats.tasks_redone = 3;
    make();
    assert_string_equal(result->verdict,
                        "odd<b>: loss<i> 2.5, surprise 7.25 held out after 12 iterations in 10s "
                        "(3s CPU), 100 rows&/s\nconverged\n1 worker lost, 3 tasks run again\n");
    assert_int_equal(result->note_count, 0);
    job.stats.stopped = SHOAL_STOP_LIMIT;
    job.stats.workers_lost = 0;
    make();
    assert_null(strstr(result->verdict, "converged"));
    assert_int_equal(result->note_count, 1);
    assert_string_equal(result->notes[0].text,
                        "not converged: the limit on iterations came first; 'shoal app show "
                        "odd<b>' lists its limits");
    job.stats.value = (double)NAN;
    make();
    assert_non_null(strstr(result->verdict, "odd<b>: after 12 iterations"));
}

/* As text and as JSON; a line of 999 two-byte letters is not cut, nor are many of them. */
static void lines_of_the_application_are_told_whole(void **state)
{
    enum { LETTERS = 999, LINES = 200 };
    struct page_screen screen = {
        .put = append, .ctx = &out, .alloc = &base_alloc_libc, .width = 80};
    char line[2 * LETTERS + 1];

    (void)state;
    for (size_t i = 0; i < LETTERS; i++)
        memcpy(line + 2 * i, "ä", 2);
    line[2 * LETTERS] = '\0';
    train_learnt_say(&learnt, "first");
    train_learnt_say(&learnt, "");
    for (int i = 0; i < LINES; i++)
        train_learnt_say(&learnt, line);
    make();
    for (int i = 0; i < 2; i++) {
        size_t letters = 0;
        base_buf_clear(&out);
        if (i == 0)
            assert_int_equal(page_show(&screen, result), SHOAL_OK);
        else
            json();
        assert_non_null(strstr(out.data, i == 1 ? "[\"first\",\"\",\"ää" : "  first\n  \n  ää"));
        for (const char *at = out.data; (at = strstr(at, "ä")) != NULL; at += strlen("ä"))
            letters++;
        assert_int_equal(letters, LINES * LETTERS);
    }
}

/* ---- JSON ---- */

static void json_tells_runs_apart(void **state)
{
    (void)state;
    opts.settings = "parts=7\nalgorithm=good\n";
    opts.threads = 2;
    job.stats.workers = 3;
    ended.data_bytes = 1234;
    make();
    const char *text = json();
    assert_non_null(strstr(text, "\"machines\":3,\"threads\":2,\"size\":1234,"));
    assert_non_null(strstr(text,
                           "\"options\":{\"algorithm\":\"good\",\"parts\":\"7\",\"file\":\"\","
                           "\"rate\":\"0\"},\"algorithm\":\"odd<b>-good\","));
    assert_non_null(strstr(text, "\"curve\":[]}\n"));
    app.opt_count = 0;
    opts.settings = "";
    ended.data_bytes = (double)NAN;
    make();
    assert_non_null(
        strstr(json(), "\"size\":null,\"options\":{},\"algorithm\":\"odd<b>\",\"settings\":["));
}

static void settings_are_as_they_took_effect(void **state)
{
    (void)state;
    opts.settings = "parts=7\n";
    opts.threads = 6;
    job.staleness = 2;
    train_learnt_set(&learnt, "rate", "0.3");
    make();
    assert_non_null(strstr(json(),
                           "\"settings\":[{\"option\":\"algorithm\",\"value\":\"fast\",\"from\":"
                           "\"default\"},{\"option\":\"parts\",\"value\":\"7\",\"from\":\"given\"},"
                           "{\"option\":\"file\",\"value\":null,\"from\":\"default\"},"
                           "{\"option\":\"rate\",\"value\":\"0.3\",\"from\":\"chosen\"},"
                           "{\"option\":\"--workers\",\"value\":\"1\",\"from\":\"run\"},"
                           "{\"option\":\"--threads\",\"value\":\"6\",\"from\":\"run\"},"
                           "{\"option\":\"--staleness\",\"value\":\"2\",\"from\":\"run\"},"));
}

static void a_failure_is_told_in_the_one_object(void **state)
{
    shoal_err page_err = SHOAL_ERR_INIT;

    (void)state;
    opts.model = "m.shoal";
    make();
    train_result_wrote(result, "page.html", NULL);
    assert_non_null(strstr(json(), "\"model\":\"m.shoal\",\"report\":\"page.html\","));
    assert_null(strstr(out.data, "\"error\""));
    assert_non_null(strstr(result->lines, "model: m.shoal\n"));
    base_err(&page_err, SHOAL_E_IO, "no page");
    train_result_wrote(result, NULL, &page_err);
    assert_non_null(strstr(json(), "\"report\":null,"));
    assert_non_null(strstr(out.data, "\"error\":{\"code\":\"SHOAL_E_IO\",\"message\":\"no page\""));
    opts.checkpoint.dir = "saved";
    job.stats.checkpoints = 1;
    job.model_status = base_err(&job.model_err, SHOAL_E_IO, "cannot write '\"'");
    make();
    train_result_wrote(result, NULL, &page_err); /* the model's is told */
    assert_non_null(strstr(json(), "\"model\":null,"));
    assert_non_null(strstr(out.data, ",\"error\":{\"code\":\"SHOAL_E_IO\",\"message\":\"cannot "
                                     "write '\\\"'\",\"where\":\"\",\"hint\":\"the checkpoint in "
                                     "'saved' is kept"));
    assert_string_equal(out.data + out.size - 3, "}}\n");
    assert_non_null(strstr(page(), "not kept: cannot write &#39;&quot;&#39;"));
}

static void a_curve_has_one_point_a_clock_and_times_of_this_run(void **state)
{
    (void)state;
    job.seconds = 4;
    train_trail_value(&job.trail, 500000000, 0, 0, 9); /* before it begun */
    report(0.5, 1, 8);
    report(1, 2, 7);
    report(1, 2, 6.5); /* the same clock again */
    report(2, 3, (double)NAN);
    report(8, 5, 6); /* after the end */
    make();
    assert_non_null(strstr(json(), "\"curve\":[[0,0,9,0],[1,0.5,8,0.25],[2,1,6.5,0.5],[3,2,null,1],"
                                   "[5,4,6,4]]}\n"));
    base_buf_clear(&out);
    assert_int_equal(shoal_result_csv(result, append, &out, NULL), SHOAL_OK);
    assert_non_null(strstr(out.data, "clock,seconds,value,held_out,task_s\n0,0,9,,0\n1,0.5,8,"));
    for (uint64_t n = 6; n < 5000; n++) /* much of everything is still one object */
        train_trail_value(&job.trail, UINT64_MAX / 5000 * n, INT64_MAX / 5000 * n,
                          UINT64_MAX / 5000 * n, -1e-300 / (double)n);
    make();
    json();
    json_t *read = json_loads(out.data, 0, NULL);
    assert_non_null(read);
    assert_in_range(json_array_size(json_object_get(read, "curve")), 500, 1001);
    json_decref(read);
}

/* ---- pages ---- */

static void words_of_the_application_are_text(void **state)
{
    (void)state;
    train_learnt_say(&learnt, "one <script>");
    make();
    const char *text = page();
    assert_null(strstr(text, "one <script>"));
    assert_null(strstr(text, "odd<b>"));
    assert_null(strstr(text, "loss<i>"));
    assert_null(strstr(text, "<data>"));
    assert_non_null(strstr(text, "<h1>odd&lt;b&gt; on &lt;data&gt;.svm</h1>"));
    assert_non_null(strstr(text, "one &lt;script&gt;"));
    assert_non_null(strstr(text, "a &amp; b"));
    assert_non_null(strstr(text, "shoal train odd &#39;&lt;data&gt;&#39;"));
}

static void the_value_is_drawn_from_its_second_report_on(void **state)
{
    (void)state;
    report(1, 1, 4);
    make();
    assert_null(picture_of("objective"));
    report(5, 2, (double)NAN); /* not known then */
    make();
    assert_null(picture_of("objective"));
    report(9, 3, 2);
    make();
    const shoal_picture *p = picture_of("objective");
    assert_non_null(p);
    assert_int_equal(p->series[0].count, 2);
    assert_true(p->series[0].x[1] == 9 && p->series[0].y[0] == 4 && p->series[0].y[1] == 2);
    assert_string_equal(p->series[0].texts[1], "clock 3");
    assert_string_equal(p->after, ""); /* there is no list of the application */
    assert_false(p->y.log);
}

static void a_long_trail_is_drawn_from_its_first_to_its_last_point(void **state)
{
    (void)state;
    job.seconds = 5000;
    for (uint64_t i = 0; i <= 5000; i++)
        report((double)i, i, 9000 - 1.79 * (double)i);
    make();
    const shoal_series *s = picture_of("objective")->series;
    assert_int_equal(s->count, 200);
    assert_true(s->x[0] == 0 && s->x[199] == 5000 && s->y[0] == 9000 && s->y[199] == 50);
    for (size_t i = 1; i < s->count; i++)
        assert_true(s->x[i] > s->x[i - 1]);
    assert_true(picture_of("objective")->y.log);
}

static void what_was_held_out_has_a_picture_of_its_own(void **state)
{
    (void)state;
    app.held_out = "surprise<u>";
    for (uint64_t at_s = 1; at_s <= 9; at_s++) {
        if (at_s % 4 == 1)
            train_trail_held_out(&job.trail, 1000 - 10 * (double)at_s);
        report((double)at_s, at_s, 5);
    }
    make();
    const shoal_picture *p = picture_of("held-out");
    assert_non_null(p);
    assert_string_equal(p->title, "surprise<u>");
    assert_int_equal(p->series[0].count, 3);
    assert_true(p->series[0].y[0] == 990 && p->series[0].y[2] == 910);
    app.held_out = NULL;
    make();
    assert_null(picture_of("held-out"));
}

static void workers_are_drawn_when_they_changed(void **state)
{
    struct train_trail *trail = &job.trail;

    (void)state;
    train_trail_crew(trail, job.begun_ns, 0, 0);
    train_trail_crew(trail, job.begun_ns + 100000000, 2, 0);
    make();
    assert_null(picture_of("workers"));
    train_trail_crew(trail, job.begun_ns + 4000000000, 1, 1);
    train_trail_crew(trail, job.begun_ns + 5000000000, 2, 1);
    make();
    const shoal_picture *p = picture_of("workers");
    assert_non_null(p);
    assert_int_equal(p->mark_count, 1);
    assert_true(p->marks[0].x == 4);
    assert_int_equal(p->series[0].count, 5);
    assert_true(p->series[0].y[2] == 1 && p->series[0].y[4] == 2 && p->series[0].x[4] == 10);
}

struct topic {
    const char *words;
};
static const shoal_field TOPIC_FIELDS[] = {
    {0, SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "words", "WORDS", .help = "its words"}};
static const shoal_schema TOPICS = {"topics", "Topics", "A topic", TOPIC_FIELDS, 1};

static void give_topics(struct train_learnt *l)
{
    struct topic rows[] = {{"one"}, {"two <img>"}};
    shoal_records records = {.first = rows, .stride = sizeof *rows, .count = 2};
    shoal_picture picture = {.name = "early", .title = "Early"};

    (void)!train_learnt_picture(l, &picture, NULL);
    (void)!train_learnt_list(l, &TOPICS, &records, NULL);
}

static void lists_of_the_application_come_first(void **state)
{
    (void)state;
    report(1, 1, 4);
    report(2, 2, 3);
    give_topics(&learnt);
    make();
    assert_non_null(strstr(json(), ",\"learnt\":{\"topics\":[{\"words\":\"one\"},{\"words\":"));
    const char *text = page(), *early = strstr(text, "id=\"p-early\""),
               *topics = strstr(text, "<h2>Topics</h2>"),
               *curve = strstr(text, "id=\"p-objective\""),
               *settings = strstr(text, "<h2>Settings</h2>");
    assert_non_null(early);
    assert_non_null(strstr(text, "<td>two &lt;img&gt;</td>"));
    assert_true(early < topics && topics < curve && curve < settings);
}

/* ---- memory ---- */

static shoal_status make_it(const struct base_alloc *alloc, void *ctx)
{
    const shoal_result *made = NULL;
    struct train_learnt l;

    (void)ctx;
    train_learnt_init(&l, alloc, true);
    train_learnt_say(&l, "a line");
    train_learnt_set(&l, "rate", "0.3");
    give_topics(&l);
    shoal_status st = train_result_make(&ended, &l, &made, NULL);
    if (st == SHOAL_OK && (strcmp(made->lines, "  a line\n") != 0 || made->picture_count != 3))
        st = SHOAL_E_INTERNAL;
    shoal_result_free(made);
    train_learnt_fini(&l);
    return st;
}

static void a_result_is_made_whole_or_not_at_all(void **state)
{
    (void)state;
    report(1, 1, 4);
    report(2, 2, 3);
    train_trail_crew(&job.trail, job.begun_ns, 2, 0);
    train_trail_crew(&job.trail, job.begun_ns + 4000000000, 1, 1);
    opts.settings = "parts=7\n";
    torture_run(make_it, NULL);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(rates_have_three_digits_and_a_unit),
        CASE(objectives_have_no_exponent_where_people_read_digits),
        CASE(how_a_job_ended_is_a_clause),
        CASE(the_verdict_says_how_good_and_how_it_ended),
        CASE(lines_of_the_application_are_told_whole),
        CASE(json_tells_runs_apart),
        CASE(settings_are_as_they_took_effect),
        CASE(a_failure_is_told_in_the_one_object),
        CASE(a_curve_has_one_point_a_clock_and_times_of_this_run),
        CASE(words_of_the_application_are_text),
        CASE(the_value_is_drawn_from_its_second_report_on),
        CASE(a_long_trail_is_drawn_from_its_first_to_its_last_point),
        CASE(what_was_held_out_has_a_picture_of_its_own),
        CASE(workers_are_drawn_when_they_changed),
        CASE(lists_of_the_application_come_first),
        CASE(a_result_is_made_whole_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
