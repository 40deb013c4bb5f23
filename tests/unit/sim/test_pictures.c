/* test_pictures.c - what a page shows of a comparison: true to the results, bounded, the same whenever the trace
 * begins. Of src/sim/pictures.c and lanes.c. */
#include "torture.h"

#include "unit/sim/sample.h"

static const char mixed[] = "6x4:t4,3x8:rtx,2x8:a100";

enum { RECTS_ALL = (250 << 10) / 48, POINTS_ALL = 1500 };

/* What holds of every picture there is: names are its own, numbers are finite, it is small. */
static void assert_sound(const shoal_result *result)
{
    size_t rects = 0;

    for (size_t i = 0; i < result->picture_count; i++) {
        const shoal_picture *p = &result->pictures[i];
        size_t points = 0;
        assert_non_null(p->title);
        assert_non_null(p->note);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(p->name, result->pictures[k].name);
        for (size_t k = 0; k < p->series_count; k++) {
            const shoal_series *line = &p->series[k];
            assert_non_null(line->name);
            points += line->count;
            for (size_t n = 0; n < line->count; n++) {
                assert_true(isfinite(line->y[n]));
                assert_true(line->x == NULL || isfinite(line->x[n]));
                assert_true(line->x == NULL || n == 0 || line->x[n] >= line->x[n - 1]);
                assert_true(!p->x.log || line->x[n] > 0);
            }
        }
        assert_true(points <= POINTS_ALL + 32 * 121);
        rects += p->rect_count;
        for (size_t n = 0; n < p->rect_count; n++) {
            const shoal_rect *r = &p->rects[n];
            assert_true(r->from >= 0 && r->from < r->to && r->low >= 0 && r->low < r->high);
            assert_true(r->high <= 1.0001F && r->lane < p->labels.count && r->colour <= 6);
        }
    }
    assert_true(rects <= RECTS_ALL);
}

static const shoal_picture *picture_of(const shoal_result *result, const char *name)
{
    const shoal_picture *p = sample_picture(result, name);

    if (p == NULL)
        fail_msg("no picture '%s'", name);
    return p;
}

/* ---- who holds what ---- */

static double held_gpu_s(const struct sim_result *r)
{
    double sum = 0;

    for (size_t i = 0; i < r->segment_count; i++)
        sum += (r->segments[i].to_s - r->segments[i].from_s) *
               __builtin_popcountll(r->segments[i].rows);
    return sum;
}

static void lanes_show_the_gpu_time_that_was_held(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct sample s;
        double drawn = 0;
        sample_make(&s, mixed, 200, 1, 86400, seed);
        const shoal_result *result = sample_told(&s, 1);
        const shoal_picture *p = picture_of(result, "lanes-1");
        assert_int_equal(p->type, SHOAL_PICTURE_LANES);
        assert_int_equal(p->labels.count, 3);
        assert_string_equal(p->labels.items[1], "rtx\n24 GPUs");
        for (size_t i = 0; i < p->rect_count; i++)
            drawn += (double)(p->rects[i].to - p->rects[i].from) *
                     (double)(p->rects[i].high - p->rects[i].low) *
                     s.cluster.kinds[p->rects[i].lane].gpus;
        assert_true(fabs(drawn / held_gpu_s(s.results[0]) - 1) < 0.02);
        shoal_result_free(result);
        sample_free(&s);
    }
}

static bool overlap(float a_from, float a_to, float b_from, float b_to)
{
    return a_from < b_to - 1e-4F && b_from < a_to - 1e-4F;
}

/* Rectangles of different jobs side by side in a lane. Nothing is drawn twice. */
static void jobs_that_touch_differ_in_colour(void **state)
{
    struct sample s;
    size_t touches = 0, clashes = 0;

    (void)state;
    sample_make(&s, mixed, 300, 1, 86400, 8);
    const shoal_result *result = sample_told(&s, 1);
    const shoal_picture *p = picture_of(result, "lanes-1");
    for (size_t i = 0; i < p->rect_count; i++)
        for (size_t k = 0; k < i; k++) {
            const shoal_rect *a = &p->rects[i], *b = &p->rects[k];
            if (a->lane != b->lane)
                continue;
            bool rows = overlap(a->low, a->high, b->low, b->high);
            bool time = overlap(a->from, a->to, b->from, b->to);
            assert_false(rows && time);
            bool beside = rows && (a->from == b->to || b->from == a->to);
            bool above = time && (a->low == b->high || b->low == a->high);
            if (a->text == NULL || b->text == NULL || a->text == b->text || (!beside && !above))
                continue;
            touches++;
            clashes += a->colour == b->colour;
        }
    assert_true(touches > 300);
    assert_true((double)clashes < 0.02 * (double)touches);
    shoal_result_free(result);
    sample_free(&s);
}

static void a_job_has_one_colour_in_every_picture_and_its_own_words(void **state)
{
    struct sample s;
    int colour[300];

    (void)state;
    memset(colour, -1, sizeof colour);
    sample_make(&s, mixed, 300, 3, 86400, 9);
    const shoal_result *result = sample_told(&s, 3);
    for (size_t i = 0; i < 3; i++) {
        const shoal_picture *p =
            picture_of(result, ((const char *[]){"lanes-1", "lanes-2", "lanes-3"})[i]);
        for (size_t n = 0; n < p->rect_count; n++) {
            if (p->rects[n].text == NULL) {
                assert_int_equal(p->rects[n].colour, 6);
                continue;
            }
            const char *number = strchr(p->rects[n].text, ':');
            while (number[-1] >= '0' && number[-1] <= '9')
                number--;
            size_t job = strtoul(number, NULL, 10);
            assert_true(job < 300);
            assert_memory_equal(p->rects[n].text, s.trace.jobs[job].name,
                                strlen(s.trace.jobs[job].name));
            assert_true(colour[job] < 0 || colour[job] == (int)p->rects[n].colour);
            colour[job] = (int)p->rects[n].colour;
        }
    }
    shoal_result_free(result);
    sample_free(&s);
}

static void large_clusters_and_cut_records_show_the_share_of_gpus_held(void **state)
{
    struct sample s;

    (void)state;
    sample_make(&s, "100x8:t4,60x8:a100", 200, 1, 86400, 10);
    const shoal_result *result = sample_told(&s, 1);
    const shoal_picture *p = picture_of(result, "use-1");
    double sum = 0, wanted = 0;
    assert_int_equal(p->series_count, 2);
    for (uint32_t k = 0; k < 2; k++)
        for (size_t i = 0; i + 1 < p->series[k].count; i++)
            sum += (double)p->series[k].y[i] * (double)(p->series[k].x[i + 1] - p->series[k].x[i]) *
                   s.cluster.kinds[k].gpus;
    for (uint32_t k = 0; k < 2; k++)
        for (size_t i = 0; i < s.results[0]->series.count; i++)
            wanted += (double)s.results[0]->series.busy[k][i] * s.results[0]->series.step_s;
    assert_true(fabs(sum / wanted - 1) < 0.1);
    shoal_result_free(result);
    sample_free(&s);
    sample_make(&s, mixed, 30, 2, 5000, 16);
    s.results[0]->segments_cut = true;
    result = sample_told(&s, 2);
    assert_non_null(sample_picture(result, "use-1"));
    assert_non_null(sample_picture(result, "lanes-2"));
    assert_null(sample_picture(result, "lanes-1"));
    shoal_result_free(result);
    sample_free(&s);
}

static void segments_outside_the_cluster_are_not_drawn(void **state)
{
    struct sample s;

    (void)state;
    sample_make(&s, mixed, 10, 1, 5000, 17);
    struct sim_segment *seg = s.results[0]->segments;
    seg[0].node = 99;
    seg[1].job = 99;
    seg[2].from_s = NAN;
    seg[3].to_s = INFINITY;
    seg[4].rows = UINT64_MAX;
    seg[5].from_s = -1e300;
    const shoal_result *result = sample_told(&s, 1);
    assert_sound(result);
    shoal_result_free(result);
    sample_free(&s);
}

/* ---- lines and bars ---- */

static void lines_of_jobs_have_the_mean_of_what_was_recorded(void **state)
{
    struct sample s;

    (void)state;
    sample_make(&s, mixed, 200, 2, 86400, 2);
    const shoal_result *result = sample_told(&s, 2);
    for (int running = 0; running < 2; running++) {
        const shoal_picture *p = picture_of(result, running ? "running" : "queue");
        for (size_t i = 0; i < 2; i++) {
            const struct sim_series *recorded = &s.results[i]->series;
            const float *values = running ? recorded->running : recorded->waiting;
            const shoal_series *line = &p->series[i];
            double all = 0, drawn = 0, end_s = (double)line->x[line->count - 1];
            for (size_t k = 0; k < recorded->count; k++)
                all += (double)values[k] * fmax(0, fmin(end_s, recorded->step_s * (double)(k + 1)) -
                                                       recorded->step_s * (double)k);
            for (size_t k = 0; k + 1 < line->count; k++)
                drawn += (double)line->y[k] * (double)(line->x[k + 1] - line->x[k]);
            assert_string_equal(line->name, s.results[i]->policy);
            assert_true(fabs(drawn - all) <= 0.02 * all + 1);
        }
    }
    shoal_result_free(result);
    sample_free(&s);
}

/* At each point of the line the share of jobs at or below it is what is said. */
static void distributions_are_those_of_the_jobs(void **state)
{
    struct sample s;

    (void)state;
    sample_make(&s, mixed, 400, 2, 86400, 3);
    const shoal_result *result = sample_told(&s, 2);
    for (int fairness = 0; fairness < 2; fairness++) {
        const shoal_picture *p = picture_of(result, fairness ? "rho" : "jct");
        assert_true(p->x.log);
        assert_int_equal(p->mark_count, fairness);
        for (size_t i = 0; i < 2; i++)
            for (size_t n = 1; n < p->series[i].count; n++) {
                size_t below = 0;
                for (size_t job = 0; job < 400; job++) {
                    const struct sim_job_result *r = &s.results[i]->jobs[job];
                    float value =
                        fairness ? r->rho : (float)(r->finish_s - s.trace.jobs[job].submit_s);
                    below += value <= p->series[i].x[n];
                }
                assert_true((double)below / 400 >= (double)p->series[i].y[n] - 1e-6);
                assert_true((double)below / 400 <= (double)p->series[i].y[n] + 0.01);
            }
    }
    shoal_result_free(result);
    sample_free(&s);
}

static void bars_of_waiting_add_up_to_the_mean_wait(void **state)
{
    struct sample s;

    (void)state;
    sample_make(&s, mixed, 300, 3, 86400, 4);
    const shoal_result *result = sample_told(&s, 3);
    const shoal_picture *p = picture_of(result, "why");
    assert_int_equal(p->labels.count, 3);
    for (size_t i = 0; i < 3; i++) {
        double sum = 0;
        for (size_t k = 0; k < p->series_count; k++)
            sum += (double)p->series[k].y[i];
        assert_true(fabs(sum / s.results[i]->metrics.avg_wait_s - 1) < 1e-3);
        assert_string_equal(p->labels.items[i], s.results[i]->policy);
    }
    assert_non_null(strstr(p->note, "gang: some were free, fewer than it asks for at once"));
    shoal_result_free(result);
    sample_free(&s);
}

/* ---- lists ---- */

/* A list inside record `index`, by the name of its field. */
static const shoal_records *list_of(const shoal_result *result, size_t index, const char *name,
                                    const shoal_schema **out_schema)
{
    for (size_t i = 0; i < result->schema->field_count; i++) {
        const shoal_field *field = &result->schema->fields[i];
        if (field->name != NULL && strcmp(field->name, name) == 0) {
            *out_schema = field->of;
            return (const void *)((const char *)result->records.first +
                                  index * result->records.stride + field->offset);
        }
    }
    fail_msg("no list '%s'", name);
    return NULL;
}

static double number_in(const shoal_records *list, const shoal_schema *schema, size_t row,
                        const char *name)
{
    const shoal_result as_result = {.schema = schema, .records = *list};

    return shoal_result_number(&as_result, row, name);
}

static const char *text_in(const shoal_records *list, const shoal_schema *schema, size_t row,
                           const char *name)
{
    const shoal_result as_result = {.schema = schema, .records = *list};

    return shoal_result_text(&as_result, row, name);
}

static void the_worst_off_jobs_come_in_order_and_none_is_worse(void **state)
{
    struct sample s;
    const shoal_schema *schema = NULL;

    (void)state;
    sample_make(&s, mixed, 250, 1, 86400, 5);
    const shoal_result *result = sample_told(&s, 1);
    const shoal_records *list = list_of(result, 0, "worst", &schema);
    assert_int_equal(list->count, 10);
    for (size_t i = 1; i < 10; i++)
        assert_true(number_in(list, schema, i, "rho") <= number_in(list, schema, i - 1, "rho"));
    size_t above = 0;
    for (size_t job = 0; job < 250; job++)
        above += (double)s.results[0]->jobs[job].rho > number_in(list, schema, 9, "rho");
    assert_true(above <= 9);
    assert_string_equal(text_in(list, schema, 0, "job"),
                        s.trace.jobs[s.results[0]->metrics.worst_rho_job].name);
    shoal_result_free(result);
    sample_free(&s);
}

/* ---- prices and shares ---- */

static void policies_without_shares_have_no_such_pictures(void **state)
{
    struct sample s;

    (void)state;
    sample_make(&s, mixed, 100, 3, 40000, 41);
    sample_promise(&s, 0, 1);
    sample_promise(&s, 2, 1);
    const shoal_result *result = sample_told(&s, 3);
    assert_non_null(sample_picture(result, "prices-1"));
    assert_null(sample_picture(result, "prices-2"));
    assert_non_null(sample_picture(result, "prices-3"));
    assert_string_equal(picture_of(result, "prices-3")->title, "Prices under las");
    assert_int_equal(picture_of(result, "shares")->labels.count, 4);
    assert_null(strstr(result->verdict, "Under srtf jobs received"));
    assert_sound(result);
    shoal_result_free(result);
    base_free(&base_alloc_libc, s.results[0]->wanted_s);
    s.results[0]->wanted_s = NULL;
    float *price = s.results[0]->series.price[1];
    s.results[0]->series.price[1] = NULL;
    result = sample_told(&s, 1);
    assert_null(sample_picture(result, "prices-1"));
    assert_null(sample_picture(result, "shares"));
    s.results[0]->series.price[1] = price;
    shoal_result_free(result);
    sample_free(&s);
}

static double last_of(const shoal_series *line)
{
    return (double)line->y[line->count - 1];
}

static void prices_are_shown_against_the_mean_of_all_gpus(void **state)
{
    struct sample s;

    (void)state;
    sample_make(&s, "1x4:t4,1x4:a100", 40, 1, 20000, 44);
    sample_promise(&s, 0, 1);
    struct sim_series *series = &s.results[0]->series;
    for (size_t i = 0; i < series->count; i++) {
        series->price[0][i] = 2;
        series->price[1][i] = 6;
    }
    series->price_s = series->step_s * (double)series->count;
    const shoal_result *result = sample_told(&s, 1);
    const shoal_picture *p = picture_of(result, "prices-1");
    assert_non_null(strstr(p->note, "1 is the mean of all, 4 GPUs of average speed"));
    assert_string_equal(p->series[0].name, "t4, 0.50 on average");
    assert_string_equal(p->series[1].name, "a100, 1.50 on average");
    assert_true(fabs(last_of(&p->series[0]) - 0.5) < 1e-6);
    assert_true(fabs(last_of(&p->series[1]) - 1.5) < 1e-6);
    shoal_result_free(result);
    for (size_t i = 0; i < series->count; i++)
        series->price[0][i] = series->price[1][i] = 0;
    result = sample_told(&s, 1);
    assert_null(sample_picture(result, "prices-1"));
    assert_non_null(
        strstr(result->verdict, "Under fifo one more GPU would not have bettered anything.\n"));
    shoal_result_free(result);
    sample_free(&s);
}

/* Half of the time prices are of what comes next, in a unit of its own: each has its own mean. */
static void prices_in_two_units_are_each_shown_against_their_own_mean(void **state)
{
    struct sample s;

    (void)state;
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
    const shoal_result *result = sample_told(&s, 1);
    const shoal_picture *p = picture_of(result, "prices-1");
    assert_non_null(strstr(p->note, "1 is the mean of all, 200 GPUs of average speed; 50 % of the "
                                    "time GPUs cannot better that, and it is 0.02 jobs at their "
                                    "fastest"));
    assert_string_equal(p->series[0].name, "t4, 1.00 on average"); /* (0.5 + 1.5) / 2 */
    assert_string_equal(p->series[1].name, "a100, 1.00 on average");
    shoal_result_free(result);
    for (size_t i = 0; i < series->count; i++)
        series->price[0][i] = series->price[1][i] = 0;
    result = sample_told(&s, 1);
    assert_non_null(strstr(picture_of(result, "prices-1")->note,
                           "1 is the mean of all, 0.02 jobs at their fastest"));
    shoal_result_free(result);
    sample_free(&s);
}

static void assert_verdict(struct sample *s, const char *text, bool said)
{
    const shoal_result *result = sample_told(s, 1);

    if ((strstr(result->verdict, text) != NULL) != said)
        fail_msg("%s '%s' in:\n%s", said ? "no" : "there is", text, result->verdict);
    shoal_result_free(result);
}

static void promises_are_counted_kind_by_kind_and_the_largest_gap_comes_first(void **state)
{
    struct sample s;
    const shoal_schema *schema = NULL;

    (void)state;
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
    assert_verdict(&s,
                   "Under fifo jobs received 90 % of the GPU time they were promised; the largest "
                   "gap is late on t4: 48m00s of 4h00m; the share error is 3.4 %.\n",
                   true);
    const shoal_result *result = sample_told(&s, 1);
    const shoal_records *list = list_of(result, 0, "promises", &schema);
    assert_int_equal(list->count, 2 + 2); /* the kinds, and only jobs with a gap */
    assert_true(fabs(number_in(list, schema, 0, "wanted_s") - 26 * 3600) < 1);
    assert_true(fabs(number_in(list, schema, 0, "missing_s") - 4 * 3600) < 1);
    assert_true(fabs(number_in(list, schema, 1, "received_s") - 19 * 3600) < 1);
    assert_string_equal(text_in(list, schema, 2, "who"), "late");
    assert_true(fabs(number_in(list, schema, 2, "missing_s") - 3.2 * 3600) < 1);
    const shoal_picture *p = picture_of(result, "shares");
    assert_true(fabs((double)p->series[0].y[0] - 26 * 3600) < 1);
    assert_true(fabs((double)p->series[1].y[1] - 19 * 3600) < 1);
    shoal_result_free(result);

    r->received_s[0] = 5 * 3600; /* half of the 10 h on the other kind, which had 5 h already */
    r->received_s[1] = 10 * 3600;
    assert_verdict(&s,
                   "jobs received 90 % of the GPU time they were promised, 78 % on the kind that "
                   "was promised; the largest gap is ",
                   true);
    r->jobs[1].outcome = SIM_FAILED; /* not counted */
    assert_verdict(&s, "late on", false);
    for (size_t i = 0; i < 8; i++)
        r->received_s[i] = r->wanted_s[i];
    assert_verdict(&s, "jobs received all of the GPU time they were promised; the share", true);
    for (size_t i = 0; i < 8; i++)
        r->wanted_s[i] = 0;
    assert_verdict(&s, "Under fifo no finished job was promised any time.\n", true);
    sample_free(&s);
}

static void many_policies_with_shares_say_what_is_left_out(void **state)
{
    struct sample s;
    struct sim_result *all[20];

    (void)state;
    sample_make(&s,
                "2x8:a,2x8:b,2x8:c,2x8:d,2x8:e,2x8:f,2x8:g,2x8:h,2x8:i,2x8:j,2x8:k,2x8:l,2x8:m,"
                "2x8:n,2x8:o,2x8:p",
                400, 4, 86400, 47);
    for (size_t i = 0; i < 4; i++)
        sample_promise(&s, i, i);
    for (size_t i = 0; i < 20; i++)
        all[i] = s.results[i % 4];
    const shoal_result *result = sample_result(&s, all, 9, &base_alloc_libc);
    bool said = false;
    for (size_t i = 0; i < result->note_count; i++)
        said |= strstr(result->notes[i].text, "prices and shares of 3 more policies") != NULL;
    assert_true(said);
    size_t prices = 0; /* or a sentence that says there are none */
    for (size_t i = 0; i < result->picture_count; i++)
        prices += strncmp(result->pictures[i].name, "prices-", 7) == 0;
    for (const char *at = result->verdict; (at = strstr(at, "not have bettered")) != NULL; at++)
        prices++;
    assert_int_equal(prices, 6);
    assert_null(sample_picture(result, "prices-7"));
    assert_int_equal(picture_of(result, "shares")->labels.count, 12);
    assert_sound(result);
    shoal_result_free(result);
    result = sample_result(&s, all, 20, &base_alloc_libc);
    assert_sound(result);
    shoal_result_free(result);
    sample_free(&s);
}

/* ---- whatever the results are ---- */

/* Makespan, series and segments count from the origin of a result, times of jobs do not. */
static void pictures_do_not_depend_on_when_the_trace_begins(void **state)
{
    static const double later_s = 86400 * 128; /* exact in every number of a result */
    struct sample s;

    (void)state;
    sample_make(&s, mixed, 60, 2, 20000, 35);
    for (size_t i = 0; i < 2; i++)
        for (size_t job = 0; job < 60; job++)
            s.results[i]->jobs[job].finish_s = floor(s.results[i]->jobs[job].finish_s);
    const shoal_result *first = sample_told(&s, 2);
    for (size_t job = 0; job < 60; job++)
        s.trace.jobs[job].submit_s += later_s;
    for (size_t i = 0; i < 2; i++) {
        s.results[i]->origin_s += later_s;
        for (size_t job = 0; job < 60; job++) {
            s.results[i]->jobs[job].start_s += later_s;
            s.results[i]->jobs[job].finish_s += later_s;
        }
    }
    const shoal_result *second = sample_told(&s, 2);
    assert_string_equal(first->heading, second->heading);
    assert_string_equal(first->verdict, second->verdict);
    assert_int_equal(first->picture_count, second->picture_count);
    for (size_t i = 0; i < first->picture_count; i++) {
        const shoal_picture *a = &first->pictures[i], *b = &second->pictures[i];
        assert_string_equal(a->note, b->note);
        assert_int_equal(a->rect_count, b->rect_count);
        for (size_t n = 0; n < a->rect_count; n++)
            assert_memory_equal(&a->rects[n], &b->rects[n], offsetof(shoal_rect, text));
        for (size_t k = 0; k < a->series_count; k++) {
            assert_int_equal(a->series[k].count, b->series[k].count);
            assert_memory_equal(a->series[k].y, b->series[k].y,
                                a->series[k].count * sizeof *a->series[k].y);
        }
    }
    shoal_result_free(first);
    shoal_result_free(second);
    sample_free(&s);
}

static void pictures_are_bounded_whatever_the_number_of_jobs_and_policies(void **state)
{
    struct sample s;
    struct sim_result *all[16];

    (void)state;
    sample_make(&s, mixed, 1000, 4, 172800, 9);
    const shoal_result *result = sample_told(&s, 4);
    assert_sound(result);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(result->pictures[i].type, SHOAL_PICTURE_LANES);
    shoal_result_free(result);
    sample_free(&s);
    sample_make(&s, "16x8:t4,16x8:rtx,16x8:a100,16x8:v100", 400, 4, 86400, 10);
    for (size_t i = 0; i < 16; i++)
        all[i] = s.results[i % 4];
    result = sample_result(&s, all, 16, &base_alloc_libc);
    assert_sound(result);
    shoal_result_free(result);
    sample_free(&s);
}

static void little_or_nothing_makes_a_result(void **state)
{
    struct sample s;

    (void)state;
    sample_make(&s, "1x1:t4", 1, 1, 1000, 13);
    s.trace.jobs[0].gpus = 1;
    const shoal_result *result = sample_told(&s, 1);
    assert_string_equal(result->title, "1 job on 1 GPU");
    assert_sound(result);
    shoal_result_free(result);
    sample_free(&s);
    sample_make(&s, mixed, 0, 2, 1000, 14);
    result = sample_told(&s, 2);
    assert_sound(result);
    shoal_result_free(result);
    for (size_t i = 0; i < 2; i++) {
        s.results[i]->series.step_s = 0;
        s.results[i]->segment_count = 0;
    }
    result = sample_told(&s, 2);
    assert_null(sample_picture(result, "use-1"));
    assert_null(sample_picture(result, "queue"));
    shoal_result_free(result);
    sample_free(&s);
}

static void odd_values_make_sound_pictures(void **state)
{
    static const double odd[] = {0, -1, 1e-9, 1e30, NAN, INFINITY};
    struct sample s;

    (void)state;
    sample_make(&s, mixed, 20, 2, 5000, 18);
    sample_promise(&s, 0, 1);
    struct sim_result *r = s.results[0];
    for (size_t i = 0; i < 6; i++) {
        for (size_t k = 0; k < 20; k++) {
            r->jobs[k].rho = (float)odd[(i + k) % 6];
            r->jobs[k].wait_s = (float)odd[(i + 2 * k) % 6];
            r->jobs[k].finish_s = i % 2 == 0 ? odd[(i + 3 * k) % 6] : 4000;
        }
        for (size_t k = 0; k < 60; k++) {
            r->wanted_s[k] = (float)odd[(i + k) % 6];
            r->received_s[k] = (float)odd[(i + 5 * k) % 6];
        }
        r->metrics.worst_rho = odd[i];
        r->metrics.avg_jct_s = odd[(i + 1) % 6];
        r->metrics.makespan_s = odd[(i + 2) % 6];
        r->metrics.wait_by_reason_s[i] = odd[i];
        r->metrics.share_error = odd[i];
        for (size_t k = 0; k < r->series.count; k++) {
            r->series.waiting[k] = (float)odd[(i + k) % 5];
            r->series.price[0][k] = (float)odd[i];
            r->series.price[1][k] = (float)odd[(i + k) % 4];
            r->series.price[2][k] = 1;
        }
        const shoal_result *result = sample_told(&s, 2);
        assert_sound(result);
        shoal_result_free(result);
    }
    sample_free(&s);
}

static shoal_status make_result(const struct base_alloc *alloc, void *ctx)
{
    struct sample *s = ctx;
    const shoal_result *result = sample_result(s, s->results, 2, alloc);

    shoal_result_free(result);
    return result == NULL ? SHOAL_E_NOMEM : SHOAL_OK;
}

static void every_failed_allocation_is_a_clean_error(void **state)
{
    struct sample s;

    (void)state;
    sample_make(&s, mixed, 60, 2, 20000, 23);
    sample_promise(&s, 1, 23);
    torture_run(make_result, &s);
    sample_free(&s);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_show_the_gpu_time_that_was_held),
        cmocka_unit_test(jobs_that_touch_differ_in_colour),
        cmocka_unit_test(a_job_has_one_colour_in_every_picture_and_its_own_words),
        cmocka_unit_test(large_clusters_and_cut_records_show_the_share_of_gpus_held),
        cmocka_unit_test(segments_outside_the_cluster_are_not_drawn),
        cmocka_unit_test(lines_of_jobs_have_the_mean_of_what_was_recorded),
        cmocka_unit_test(distributions_are_those_of_the_jobs),
        cmocka_unit_test(bars_of_waiting_add_up_to_the_mean_wait),
        cmocka_unit_test(the_worst_off_jobs_come_in_order_and_none_is_worse),
        cmocka_unit_test(policies_without_shares_have_no_such_pictures),
        cmocka_unit_test(prices_are_shown_against_the_mean_of_all_gpus),
        cmocka_unit_test(prices_in_two_units_are_each_shown_against_their_own_mean),
        cmocka_unit_test(promises_are_counted_kind_by_kind_and_the_largest_gap_comes_first),
        cmocka_unit_test(many_policies_with_shares_say_what_is_left_out),
        cmocka_unit_test(pictures_do_not_depend_on_when_the_trace_begins),
        cmocka_unit_test(pictures_are_bounded_whatever_the_number_of_jobs_and_policies),
        cmocka_unit_test(little_or_nothing_makes_a_result),
        cmocka_unit_test(odd_values_make_sound_pictures),
        cmocka_unit_test(every_failed_allocation_is_a_clean_error),
        cmocka_unit_test(free_accepts_null_and_half_built_results),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
