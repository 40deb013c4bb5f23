/* test_pictures.c - a study as a result: what its page shows is true to the runs, money is told where there are
 * prices, names are data, short memory ends cleanly. Of src/study/pictures.c and result.c. */
#include "study_world.h"
#include "torture.h"

#include "study/study.h"
#include <stdio.h>

static const char with_prices[] = "6x8:v100:usd=2,8x2:t4:usd=0.5";

/* A study of the trace of a world, in the memory of `alloc`; the world keeps its own. */
static struct study_case *study_of(struct world *w, const shoal_study_opts *opts)
{
    struct study_case *c = base_calloc(env_alloc(w->env), 1, sizeof *c);
    shoal_err err = SHOAL_ERR_INIT;

    assert_non_null(c);
    c->alloc = env_alloc(w->env);
    base_buf_init(&c->spec, c->alloc, 1 << 20);
    c->cluster = w->cluster;
    c->trace = w->trace;
    if (study_make(w->env, c->trace, &c->cluster, opts, NULL, &c->study, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    return c;
}

/* The result owns the case, and with it trace and cluster of the world. */
static const shoal_result *tell(struct world *w, struct study_case *c)
{
    const shoal_result *result = NULL;

    assert_int_equal(study_result(c, &result, NULL), SHOAL_OK);
    w->trace = NULL;
    w->cluster = (struct sched_cluster){0};
    return result;
}

static const shoal_picture *find_picture(const shoal_result *result, const char *name)
{
    for (size_t i = 0; i < result->picture_count; i++)
        if (strcmp(result->pictures[i].name, name) == 0)
            return &result->pictures[i];
    return NULL;
}

static double sum_of_label(const shoal_picture *picture, size_t label)
{
    double sum = 0;

    for (size_t s = 0; s < picture->series_count; s++)
        sum += (double)picture->series[s].y[label];
    return sum;
}

static void assert_about(double a, double b)
{
    if (!(fabs(a - b) <= 1e-5 * fmax(1, fabs(b))))
        fail_msg("%.9g is not %.9g", a, b);
}

/* Names of their own, numbers that are finite, as many as there are labels. */
static void assert_sound(const shoal_result *result)
{
    for (size_t i = 0; i < result->picture_count; i++) {
        const shoal_picture *p = &result->pictures[i];
        assert_non_null(p->title);
        assert_non_null(p->note);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(p->name, result->pictures[k].name);
        for (size_t s = 0; s < p->series_count; s++) {
            const shoal_series *line = &p->series[s];
            assert_non_null(line->name);
            assert_true(line->count <= 51);
            if (p->type == SHOAL_PICTURE_BARS)
                assert_int_equal(line->count, p->labels.count);
            for (size_t n = 0; n < line->count; n++) {
                assert_true(isfinite(line->y[n]));
                assert_true(line->x == NULL || (line->x[n] > 0 && line->y[n] <= 1));
                assert_true(line->x == NULL || n == 0 || line->x[n] >= line->x[n - 1]);
                assert_true(line->low == NULL ||
                            (line->low[n] <= line->y[n] && line->y[n] <= line->high[n]));
            }
        }
    }
}

static void bars_are_the_time_of_the_runs_and_differ_by_what_is_saved(void **state)
{
    shoal_study_opts opts;
    struct world w;

    (void)state;
    world_random(&w, 3, 300, "8x8:gpu,8x2:gpu");
    shoal_study_opts_init(&opts);
    struct study_case *c = study_of(&w, &opts);
    const struct study *s = c->study;
    const shoal_result *result = tell(&w, c);
    assert_sound(result);
    const shoal_picture *held = find_picture(result, "held");
    const shoal_picture *saved = find_picture(result, "saved");
    size_t last = held->labels.count - 1;
    assert_int_equal(held->y.unit, SHOAL_UNIT_HOURS);
    assert_about(sum_of_label(held, 0), s->runs[STUDY_BASE].tally.held_gpu_s);
    assert_about(sum_of_label(held, 0) - sum_of_label(held, last),
                 study_saved_gpu_s(s, STUDY_TOGETHER));
    assert_string_equal(held->labels.items[last], "all together");
    assert_int_equal(saved->labels.count, STUDY_RUNS - 1);
    assert_about((double)saved->series[0].y[STUDY_RUNS - 2], study_saved_gpu_s(s, STUDY_TOGETHER));
    assert_about((double)saved->series[0].low[0], study_saved_range(s, STUDY_LOCALITY).least);
    for (size_t i = 0; i < saved->labels.count; i++)
        assert_int_equal(saved->labels.items[i][0] == '~',
                         study_saved_is_luck(s, (enum study_run_id)(i + 1)));
    const shoal_picture *waiting = find_picture(result, "waiting");
    double waited = 0;
    for (size_t i = 0; i < waiting->labels.count; i++)
        waited += sum_of_label(waiting, i);
    assert_about(waited, study_waited_s(s, STUDY_BASE, STUDY_WAITS));
    const shoal_picture *places = find_picture(result, "places");
    for (size_t i = 0; i < places->labels.count; i++)
        assert_about(sum_of_label(places, i), 1);
    const shoal_picture *failures = find_picture(result, "failures");
    double lost = 0;
    for (size_t i = 0; i < failures->labels.count; i++)
        lost += sum_of_label(failures, i);
    assert_about(lost, s->runs[STUDY_BASE].books.lost_gpu_s);
    assert_non_null(find_picture(result, "waits"));
    assert_non_null(find_picture(result, "waits-all"));
    shoal_result_free(result);
    world_end(&w);
}

/* The verdict begins with money where all kinds have a price, and with GPU time where not. */
static void money_comes_first_where_there_are_prices(void **state)
{
    static const char *const clusters[] = {with_prices, "6x8:gpu,8x2:gpu", "6x8:v100,8x2:gpu"};

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(clusters); i++) {
        shoal_study_opts opts;
        struct world w;
        world_random(&w, 3, 150, clusters[i]);
        shoal_study_opts_init(&opts);
        opts.draws = 1;
        struct study_case *c = study_of(&w, &opts);
        const struct study *s = c->study;
        const shoal_result *result = tell(&w, c);
        double usd = shoal_result_number(result, 0, "wasted_usd");
        double gpu_s = shoal_result_number(result, 0, "wasted_gpu_s");
        assert_true(gpu_s == study_wasted_gpu_s(s) && gpu_s > 0);
        assert_int_equal(result->verdict[0] == '$', i == 0);
        assert_int_equal(find_picture(result, "held")->y.unit,
                         i == 0 ? SHOAL_UNIT_USD : SHOAL_UNIT_HOURS);
        if (i == 0) /* 48 GPUs at 2, 16 at 0.5 */
            assert_about(usd, gpu_s / 3600 * (48 * 2 + 16 * 0.5) / 64);
        else
            assert_true(isnan(usd));
        shoal_result_free(result);
        world_end(&w);
    }
}

static void names_of_the_trace_are_data(void **state)
{
    static const char hostile[] = "<script>x&\"'</script>";
    shoal_study_opts opts;
    struct world w;
    char text[200];
    bool named = false;

    (void)state;
    snprintf(text, sizeof text, "name,submit_s,gpus,duration_s\na,0,2,100\n%s,0,999,10\n", hostile);
    world_make(&w, text, "4x8:gpu");
    shoal_study_opts_init(&opts);
    opts.failures = SHOAL_STUDY_FAILURES_NONE;
    const shoal_result *result = tell(&w, study_of(&w, &opts));
    for (size_t i = 0; i < result->note_count; i++)
        named |= strstr(result->notes[i].text, hostile) != NULL;
    assert_true(named);
    assert_null(find_picture(result, "failures"));
    shoal_result_free(result);
    world_end(&w);
}

static void odd_traces_have_sound_pictures(void **state)
{
    static const char *const traces[] = {
        "name,submit_s,gpus,duration_s\nonly,0,1,10\n",
        "name,submit_s,gpus,duration_s\na,7,8,50\nb,7,8,50\nc,7,1,50\nd,7,2,50\ne,7,16,50\n",
    };

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(traces); i++) {
        shoal_study_opts opts;
        struct world w;
        world_make(&w, traces[i], "1x8:gpu,4x2:gpu");
        shoal_study_opts_init(&opts);
        const shoal_result *result = tell(&w, study_of(&w, &opts));
        assert_sound(result);
        assert_null(strstr(result->verdict, "nan"));
        assert_int_equal(find_picture(result, "places") == NULL, i == 0);
        shoal_result_free(result);
        world_end(&w);
    }
}

static shoal_status draw(const struct base_alloc *alloc, void *ctx)
{
    const shoal_result *result = NULL;
    struct page_made *made = page_made_new(alloc);

    study_pictures(made, ctx);
    shoal_status st = page_made_finish(made, &result, NULL);
    shoal_result_free(result);
    return st;
}

static void short_memory_ends_cleanly(void **state)
{
    shoal_study_opts opts;
    struct study *study = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    struct world w;

    (void)state;
    world_random(&w, 3, 50, "8x8:gpu,8x2:gpu");
    shoal_study_opts_init(&opts);
    opts.draws = 1;
    assert_int_equal(study_make(w.env, w.trace, &w.cluster, &opts, NULL, &study, &err), SHOAL_OK);
    torture_run(draw, study);
    study_free(study);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_are_the_time_of_the_runs_and_differ_by_what_is_saved),
        cmocka_unit_test(money_comes_first_where_there_are_prices),
        cmocka_unit_test(names_of_the_trace_are_data),
        cmocka_unit_test(odd_traces_have_sound_pictures),
        cmocka_unit_test(short_memory_ends_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
