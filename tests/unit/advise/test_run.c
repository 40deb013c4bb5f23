/* test_run.c - advice as a library function: its figures, words and pictures are those of the choice, little evidence
 * names no choice, names are data, and what goes wrong is said. Of src/advise/run.c, result.c, words.c, pictures.c and
 * plan_run.c. */
#include "advise_world.h"
#include "env_world.h"
#include "torture.h"

#include "advise/call.h"
#include "base/assert.h"
#include "page/record.h"

enum { PAGE_MAX = 400000, TEXT_MAX = 1 << 22 };

/* ---- runs of a known world, and what is said of them ---- */

struct asked {
    shoal_env *env;
    shoal_advise_opts opts;
    const shoal_result *result;
};

static const char *const files[] = {"runs.csv"};

static void put_curve(struct base_buf *text, const char *name, uint32_t m, int steps, double rate,
                      double noise)
{
    for (int i = 0; i < steps; i++)
        base_buf_printf(text, "%s,%u,%d,%.9g,%.9g\n", name, m, i, i * (0.02 + 1.0 / m + 0.002 * m),
                        0.2 + 0.5 * exp(-rate * i) * (1 + noise * sin(5.0 * i + 3.0 * m)));
}

/* `first` needs the square root of m times the iterations on m machines, `second` twice as many whatever m is. */
static void put_runs(shoal_env *env, const char *first, const char *second)
{
    struct base_buf text;

    base_buf_init(&text, &base_alloc_libc, TEXT_MAX);
    base_buf_puts(&text, "algorithm,machines,iteration,time_s,loss\n");
    for (uint32_t m = 1; m <= 16; m *= 4) {
        put_curve(&text, first, m, 60, 0.1 / sqrt(m), 0);
        put_curve(&text, second, m, 60, 0.05, 0);
    }
    world_put(env, files[0], text.data);
    base_buf_fini(&text);
}

/* Noisy curves that stop far above any loss that is asked for. */
static void put_little(shoal_env *env)
{
    struct base_buf text;

    base_buf_init(&text, &base_alloc_libc, TEXT_MAX);
    base_buf_puts(&text, "algorithm,machines,iteration,time_s,loss\n");
    for (uint32_t m = 1; m <= 16; m *= 4) {
        put_curve(&text, "a", m, m == 1 ? 12 : 6, 0.1 / pow(m, 0.3), 0.08);
        put_curve(&text, "b", m, m == 1 ? 12 : 6, 0.12 / pow(m, 0.3), 0.08);
    }
    world_put(env, files[0], text.data);
    base_buf_fini(&text);
}

static void asked_init(struct asked *a)
{
    a->env = world_new();
    a->result = NULL;
    put_runs(a->env, "sdca", "sgd");
    shoal_advise_opts_init(&a->opts);
    a->opts.runs = files;
    a->opts.run_count = 1;
    a->opts.pictures = true;
}

static void ask(struct asked *a)
{
    shoal_err err = SHOAL_ERR_INIT;

    shoal_result_free(a->result);
    a->result = NULL;
    if (shoal_advise_run(a->env, &a->opts, NULL, &a->result, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
}

static void asked_fini(struct asked *a)
{
    shoal_result_free(a->result);
    shoal_env_free(a->env);
}

/* ---- looking into it ---- */

static const shoal_field *field_of(const shoal_schema *schema, const char *name)
{
    for (size_t i = 0; i < schema->field_count; i++)
        if (schema->fields[i].name != NULL && strcmp(schema->fields[i].name, name) == 0)
            return &schema->fields[i];
    fail_msg("no field '%s'", name);
    return NULL;
}

static const shoal_records *list_of(const struct asked *a, const char *name,
                                    const shoal_schema **of)
{
    const shoal_field *field = field_of(a->result->schema, name);

    *of = field->of;
    return page_records_of(field, a->result->records.first);
}

/* A member of the record `name` of the only record; NAN where there is none. */
static double inner(const struct asked *a, const char *name, const char *member)
{
    const shoal_field *field = field_of(a->result->schema, name);
    const void *record = page_record_of(field, a->result->records.first);

    return record == NULL ? (double)NAN : page_number_of(field_of(field->of, member), record);
}

static const char *inner_text(const struct asked *a, const char *name, const char *member)
{
    const shoal_field *field = field_of(a->result->schema, name);
    const void *record = page_record_of(field, a->result->records.first);

    return record == NULL ? NULL : page_text_of(field_of(field->of, member), record);
}

struct row {
    const char *algorithm;
    double machines, seconds, low_s, high_s, cost, loss;
    bool good, measured;
};

static struct row candidate(const struct asked *a, size_t index)
{
    const shoal_schema *of;
    const shoal_records *list = list_of(a, "candidates", &of);
    const void *c = page_record(list, index, NULL);

    return (struct row){.algorithm = page_text_of(field_of(of, "algorithm"), c),
                        .machines = page_number_of(field_of(of, "machines"), c),
                        .seconds = page_number_of(field_of(of, "seconds"), c),
                        .low_s = page_number_of(field_of(of, "low_s"), c),
                        .high_s = page_number_of(field_of(of, "high_s"), c),
                        .cost = page_number_of(field_of(of, "cost"), c),
                        .loss = page_number_of(field_of(of, "loss"), c),
                        .good = strcmp(page_text_of(field_of(of, "verdict"), c), "good") == 0,
                        .measured =
                            *(const bool *)((const char *)c + field_of(of, "measured")->offset)};
}

static size_t candidate_count(const struct asked *a)
{
    const shoal_schema *of;

    return list_of(a, "candidates", &of)->count;
}

/* The good candidate of this algorithm on so many machines. */
static struct row candidate_on(const struct asked *a, const char *algorithm, double machines)
{
    for (size_t i = 0; i < candidate_count(a); i++) {
        struct row c = candidate(a, i);
        if (c.good && c.machines == machines && strcmp(c.algorithm, algorithm) == 0)
            return c;
    }
    fail_msg("no candidate %s on %g", algorithm, machines);
    return (struct row){.machines = 0};
}

static const shoal_picture *picture_of(const struct asked *a, const char *name)
{
    for (size_t i = 0; i < a->result->picture_count; i++)
        if (strcmp(a->result->pictures[i].name, name) == 0)
            return &a->result->pictures[i];
    fail_msg("no picture '%s'", name);
    return NULL;
}

static bool says(const struct asked *a, const char *text)
{
    return strstr(a->result->verdict, text) != NULL;
}

static bool put(void *ctx, const char *text, size_t size)
{
    base_buf_append(ctx, text, size);
    return true;
}

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-5 * fmax(fabs(a), fabs(b)))) /* pictures have floats */
        fail_msg("%.9g is not %.9g", a, b);
}

/* What holds of every picture: named, small, rising x, finite y, bands around their lines. */
static void assert_sound(const struct asked *a)
{
    struct base_buf page;

    for (size_t i = 0; i < a->result->picture_count; i++) {
        const shoal_picture *p = &a->result->pictures[i];
        assert_true(p->title != NULL && p->series_count > 0);
        for (size_t k = 0; k < p->series_count; k++) {
            const shoal_series *s = &p->series[k];
            assert_true(s->name != NULL && s->count > 0 && s->count <= ADVISE_ASKED_MAX);
            for (size_t n = 0; n < s->count; n++) {
                assert_true(isfinite(s->x[n]) && isfinite(s->y[n]));
                assert_true(n == 0 || s->x[n] >= s->x[n - 1]);
                assert_true(s->low == NULL ||
                            (s->low[n] <= s->y[n] * 1.00001F && s->y[n] <= s->high[n] * 1.00001F));
                assert_true((!p->x.log || s->x[n] > 0) && (!p->y.log || s->y[n] > 0));
            }
        }
    }
    base_buf_init(&page, &base_alloc_libc, TEXT_MAX);
    assert_int_equal(shoal_result_page(a->result, "shoal advise", put, &page, NULL), SHOAL_OK);
    assert_true(page.size <= PAGE_MAX);
    assert_null(strstr(page.data, "nan"));
    base_buf_fini(&page);
}

/* Nobody reads a sentence of 50 words, or "$4.7e-05". */
static void assert_plain(const struct asked *a)
{
    size_t words = 0;

    for (const char *p = a->result->verdict; *p != '\0'; p++) {
        bool end = *p == '\n' || (*p == '.' && (p[1] == ' ' || p[1] == '\n'));
        words = end ? 0 : words + (*p == ' ');
        if (words > 36)
            fail_msg("a long sentence: %s", a->result->verdict);
        assert_false(p[0] == 'e' && (p[1] == '-' || p[1] == '+') && p[2] >= '0' && p[2] <= '9');
    }
}

/* ---- claims ---- */

static void the_answer_is_that_of_the_choice(void **state)
{
    struct asked a;
    struct advise_runs runs;
    struct advise_fit *fit;
    struct advise_choice ch;
    static const uint32_t machines[] = {1, 2, 4, 8, 16, 32};

    (void)state;
    asked_init(&a);
    a.opts.target = "0.22";
    a.opts.machines = "1,2,4,8,16,32";
    a.opts.price = 0.4;
    ask(&a);
    assert_sound(&a);
    assert_plain(&a);

    struct advise_question q = {.target = 0.22,
                                .deadline_s = INFINITY,
                                .machines = machines,
                                .machine_count = BASE_COUNT(machines),
                                .usd_h = 0.4,
                                .change_s = 10,
                                .seed = 1};
    const struct advise_fit_opts plain = {NAN, NAN};
    advise_runs_init(&runs, &base_alloc_libc);
    assert_int_equal(advise_runs_read(&runs, a.env, files[0], NULL), SHOAL_OK);
    assert_int_equal(advise_runs_finish(&runs, NULL), SHOAL_OK);
    assert_int_equal(advise_fit_new(&base_alloc_libc, &runs, &plain, &fit, NULL), SHOAL_OK);
    assert_int_equal(advise_choose(&base_alloc_libc, fit, &q, &ch, NULL), SHOAL_OK);
    const struct advise_candidate *fast = &ch.candidates[ch.fastest];
    const struct advise_candidate *cheap = &ch.candidates[ch.cheapest];
    assert_true(inner(&a, "fastest", "seconds") == fast->seconds);
    assert_true(inner(&a, "fastest", "near_fastest") == fast->near_fastest);
    assert_true(inner(&a, "fastest", "machines") == fast->machines);
    assert_true(inner(&a, "cheapest", "cost") == cheap->cost);
    assert_string_equal(inner_text(&a, "cheapest", "algorithm"), "sdca");
    assert_int_equal(candidate_count(&a), ch.count);
    assert_string_equal(shoal_result_text(a.result, 0, "cost_unit"), "usd");
    assert_string_equal(shoal_result_text(a.result, 0, "fastest_evidence"), "enough");
    assert_true(says(&a, "Fastest: sgd on 32 machines, ") && says(&a, " for $0.025. It is 63 %"));
    assert_true(says(&a, "\nCheapest: sdca on 1 machine, measured: 33.7s"));
    assert_true(says(&a, "It costs 85 % less than the fastest and takes 4.8 times as long."));
    assert_true(says(&a, "\nThe run that would help most: "));
    advise_choice_fini(&ch);
    advise_fit_free(fit);
    advise_runs_fini(&runs);
    asked_fini(&a);
}

static void times_and_their_intervals_lie_on_the_chart(void **state)
{
    struct asked a;
    size_t measured = 0;

    (void)state;
    asked_init(&a);
    a.opts.target = "0.22";
    a.opts.machines = "1-300";
    ask(&a);
    assert_sound(&a);
    const shoal_picture *times = picture_of(&a, "times");
    assert_true(times->x.high == 0 &&
                times->y.high == 0); /* the ends of the axes are those of the data */
    assert_int_equal(times->series_count, 3);
    for (size_t k = 0; k < 2; k++) {
        const shoal_series *line = &times->series[k];
        assert_true(line->count > 20 && line->count < 300 && line->x[0] == 1);
        for (size_t n = 0; n < line->count; n++) {
            struct row c = candidate_on(&a, line->name, (double)line->x[n]);
            assert_near((double)line->y[n], c.seconds);
            assert_near((double)line->low[n], fmax(c.low_s, c.seconds / 30));
            assert_near((double)line->high[n], fmin(c.high_s, c.seconds * 30));
        }
    }
    const shoal_series *dots = &times->series[2];
    assert_true(dots->apart && dots->low == NULL);
    for (size_t i = 0; i < candidate_count(&a); i++)
        measured += candidate(&a, i).measured;
    assert_int_equal(dots->count, measured);
    assert_true(measured > 0);
    a.opts.machines = "1,2,4,8,16,32";
    ask(&a);
    times = picture_of(&a, "times");
    assert_int_equal(times->mark_count, 2);
    assert_true(times->marks[0].x == inner(&a, "fastest", "machines"));
    assert_string_equal(times->marks[1].text, "cheapest");
    asked_fini(&a);
}

/* No candidate of the picture is beaten in both, but for the answers, which are in it in any case. */
static void what_speed_costs_has_the_answers_and_what_nothing_beats(void **state)
{
    struct asked a;
    bool fastest = false, cheapest = false;

    (void)state;
    asked_init(&a);
    a.opts.target = "0.22";
    a.opts.machines = "1-64";
    ask(&a);
    const shoal_picture *trade = picture_of(&a, "trade");
    assert_true(trade->series_count >= 4 && trade->series_count <= 10);
    for (size_t k = 0; k < trade->series_count; k++) {
        const shoal_series *dot = &trade->series[k];
        bool answer = strstr(dot->name, "est: ") != NULL;
        fastest = fastest || strstr(dot->name, "fastest: ") != NULL;
        cheapest = cheapest || strstr(dot->name, "cheapest: ") != NULL;
        assert_int_equal(dot->count, 1);
        for (size_t i = 0; i < candidate_count(&a) && !answer; i++) {
            struct row c = candidate(&a, i);
            assert_false(c.good && c.seconds < (double)dot->x[0] * 0.9999 &&
                         3600 * c.cost < (double)dot->y[0] * 0.9999);
        }
    }
    assert_true(fastest && cheapest);
    asked_fini(&a);
}

static void losses_fall_to_what_was_asked_for(void **state)
{
    struct asked a;
    size_t lines = 0;

    (void)state;
    asked_init(&a);
    a.opts.target = "0.22";
    ask(&a);
    const shoal_picture *losses = picture_of(&a, "losses");
    for (size_t k = 0; k < losses->series_count; k++) {
        const shoal_series *s = &losses->series[k];
        if (s->colour == SHOAL_GREY) { /* the loss asked for */
            assert_true(s->count == 2 && s->y[0] == 0.22F && s->y[1] == 0.22F);
            continue;
        }
        for (size_t n = 0; n < s->count; n++) {
            assert_true((double)s->x[n] <= losses->x.high * 1.00001);
            assert_true(n == 0 || s->y[n] <= s->y[n - 1]);
        }
        if (s->apart)
            continue;
        lines++;
        assert_near((double)s->y[s->count - 1], 0.22);
    }
    assert_true(lines >= 2);
    asked_fini(&a);
}

static void a_deadline_alone_has_losses_and_no_times(void **state)
{
    struct asked a;

    (void)state;
    asked_init(&a);
    a.opts.deadline = "30s";
    a.opts.machines = "1,2,4,8";
    ask(&a);
    assert_sound(&a);
    assert_plain(&a);
    assert_true(isnan(inner(&a, "fastest", "seconds")) &&
                isnan(inner(&a, "next_fastest", "chance")));
    assert_null(shoal_result_text(a.result, 0, "fastest_evidence"));
    assert_true(isnan(inner(&a, "by_deadline", "near_fastest")));
    double lowest = inner(&a, "by_deadline", "loss");
    for (size_t i = 0; i < candidate_count(&a); i++)
        assert_true(candidate(&a, i).loss >= lowest && candidate(&a, i).seconds == 30);
    assert_true(strncmp(a.result->verdict, "By 30s: ", 8) == 0 && !says(&a, "Fastest"));
    const shoal_picture *by = picture_of(&a, "lowest");
    assert_near((double)by->series[0].y[0], candidate(&a, 0).loss);

    a.opts.target = "0.22";
    ask(&a);
    assert_true(says(&a, "Fastest: ") && says(&a, "By 30s: "));
    assert_true(inner(&a, "fastest", "in_time") >= 0);
    asked_fini(&a);
}

static void little_evidence_names_a_run_and_no_choice(void **state)
{
    struct asked a;
    char run[100];

    (void)state;
    asked_init(&a);
    put_little(a.env);
    a.opts.target = "0.3";
    a.opts.machines = "1,2,4,8,16,32,64";
    ask(&a);
    assert_sound(&a);
    assert_plain(&a);
    assert_true(inner(&a, "fastest", "near_fastest") < advise_enough);
    assert_string_equal(shoal_result_text(a.result, 0, "fastest_evidence"), "too little");
    assert_true(says(&a, "Not enough evidence to name the fastest: "));
    assert_false(says(&a, "Fastest: "));
    snprintf(run, sizeof run, "Make this run first, then ask again: %s on %g machine",
             inner_text(&a, "next_fastest", "algorithm"), inner(&a, "next_fastest", "machines"));
    assert_true(says(&a, run));
    const shoal_picture *times = picture_of(&a, "times");
    for (size_t i = 0; i < times->mark_count; i++)
        assert_string_not_equal(times->marks[i].text, "fastest");
    for (size_t k = 0; k < picture_of(&a, "trade")->series_count; k++)
        assert_null(strstr(picture_of(&a, "trade")->series[k].name, "fastest: "));
    asked_fini(&a);
}

static void a_single_candidate_is_said_to_be_the_only_one(void **state)
{
    struct asked a;

    (void)state;
    asked_init(&a);
    world_put(a.env, files[0],
              "algorithm,machines,iteration,time_s,loss\na,1,0,0,1\na,1,1,1,0.8\na,1,2,2,0.7\n"
              "a,1,3,3,0.65\na,1,4,4,0.63\n");
    a.opts.target = "0.7";
    a.opts.machines = "1";
    ask(&a);
    assert_true(says(&a, "Fastest and cheapest: a on 1 machine, measured: 2s"));
    assert_true(says(&a, "It is the only candidate."));
    assert_string_equal(shoal_result_text(a.result, 0, "fastest_evidence"), "enough");
    assert_sound(&a);
    asked_fini(&a);
}

/* Sixteen algorithms on all machine counts there may be: nothing grows beyond a page. */
static void the_largest_answer_has_a_small_page(void **state)
{
    struct asked a;
    struct base_buf text;
    char name[ADVISE_NAME_MAX + 1];

    (void)state;
    asked_init(&a);
    base_buf_init(&text, &base_alloc_libc, TEXT_MAX);
    base_buf_puts(&text, "algorithm,machines,iteration,time_s,loss\n");
    for (int k = 0; k < ADVISE_ALGORITHMS_MAX; k++) {
        memset(name, 'a' + k, ADVISE_NAME_MAX);
        name[ADVISE_NAME_MAX] = '\0';
        for (uint32_t m = 1; m <= 16; m *= 4)
            put_curve(&text, name, m, 40, 0.1 / pow(m, k / 40.0), 0);
    }
    world_put(a.env, files[0], text.data);
    base_buf_fini(&text);
    a.opts.target = "0.25";
    a.opts.machines = "1-256";
    ask(&a);
    assert_int_equal(candidate_count(&a), ADVISE_CANDIDATES_MAX);
    assert_sound(&a);
    asked_fini(&a);
}

static void names_are_data(void **state)
{
    struct asked a;
    struct base_buf page, again;

    (void)state;
    asked_init(&a);
    put_runs(a.env, "</script><img onerror=x>", "R&D");
    a.opts.target = "0.22";
    a.opts.machines = "1-32";
    ask(&a);
    assert_non_null(strstr(a.result->heading, "</script><img onerror=x> and R&D"));
    base_buf_init(&page, &base_alloc_libc, TEXT_MAX);
    base_buf_init(&again, &base_alloc_libc, TEXT_MAX);
    assert_int_equal(shoal_result_page(a.result, "shoal advise <x>", put, &page, NULL), SHOAL_OK);
    assert_null(strstr(page.data, "<img"));
    assert_non_null(strstr(page.data, "R&amp;D"));
    assert_non_null(strstr(page.data, "shoal advise &lt;x&gt;"));
    ask(&a);
    assert_int_equal(shoal_result_page(a.result, "shoal advise <x>", put, &again, NULL), SHOAL_OK);
    assert_true(page.size == again.size && memcmp(page.data, again.data, page.size) == 0);
    base_buf_fini(&page);
    base_buf_fini(&again);
    asked_fini(&a);
}

static void no_pictures_are_made_unless_they_are_asked_for(void **state)
{
    struct asked a;

    (void)state;
    asked_init(&a);
    a.opts.pictures = false;
    ask(&a);
    assert_int_equal(a.result->picture_count, 0);
    a.opts.plan = true;
    a.opts.budget = 100;
    ask(&a);
    assert_int_equal(a.result->picture_count, 0);
    asked_fini(&a);
}

static void a_plan_keeps_to_its_budget_and_gets_surer(void **state)
{
    struct asked a;
    const shoal_schema *of;

    (void)state;
    asked_init(&a);
    a.opts.plan = true;
    a.opts.budget = 60;
    ask(&a);
    assert_sound(&a);
    assert_true(a.result->schema == shoal_advise_plan_schema());
    const shoal_records *runs = list_of(&a, "runs", &of);
    const shoal_series *sure = &picture_of(&a, "sure")->series[0];
    double cost = 0, before = shoal_result_number(a.result, 0, "sure_before");
    assert_int_equal(sure->count, runs->count + 1);
    assert_near((double)sure->y[0], before);
    for (size_t i = 0; i < runs->count; i++) {
        const void *run = page_record(runs, i, NULL);
        double after = page_number_of(field_of(of, "sure"), run);
        cost += page_number_of(field_of(of, "cost"), run);
        assert_true(after <= before * 1.000001);
        assert_near((double)sure->x[i + 1], cost);
        assert_null(page_text_of(field_of(of, "command"), run)); /* nobody knows how */
        before = after;
    }
    assert_true(runs->count > 1 && cost <= 60 * 1.000001);
    assert_near(cost, shoal_result_number(a.result, 0, "cost"));

    a.opts.run_count = 0;
    a.opts.price = 36;
    a.opts.budget = 1;
    ask(&a);
    assert_non_null(strstr(a.result->heading, "nothing was measured yet"));
    assert_true(says(&a, ", of a budget of $1.00: "));
    assert_string_equal(shoal_result_text(a.result, 0, "cost_unit"), "usd");
    asked_fini(&a);
}

/* Runs of an application of ours are made again with the options they had, but for how long. */
static void lines_of_a_plan_are_those_of_the_runs(void **state)
{
    struct asked a;
    const shoal_schema *of;
    size_t lines = 0;

    (void)state;
    asked_init(&a);
    world_put(
        a.env, files[0],
        "{\"app\":\"logreg\",\"algorithm\":\"logreg-sgd\",\"options\":{\"algorithm\":\"sgd\","
        "\"epochs\":\"5\",\"cost\":\"2\"},\"threads\":3,\"machines\":1,\"curve\":"
        "[[0,0,0.7],[2,1,0.6],[4,2,0.55],[6,3,0.52]]}\n"
        "{\"algorithm\":\"theirs\",\"machines\":1,\"curve\":[[0,0,0.7],[1,1,0.6],[2,2,0.5]]}");
    a.opts.plan = true;
    a.opts.budget = 100;
    a.opts.data = "it's.svm";
    ask(&a);
    const shoal_records *runs = list_of(&a, "runs", &of);
    assert_true(runs->count > 0);
    for (size_t i = 0; i < runs->count; i++) {
        const void *run = page_record(runs, i, NULL);
        const char *line = page_text_of(field_of(of, "command"), run);
        char passes[40]; /* of two iterations each */
        if (strcmp(page_text_of(field_of(of, "algorithm"), run), "theirs") == 0) {
            assert_null(line);
            continue;
        }
        lines++;
        snprintf(passes, sizeof passes, " --set epochs=%g --json",
                 page_number_of(field_of(of, "iterations"), run) / 2);
        assert_non_null(strstr(line, " --set algorithm=sgd "));
        assert_non_null(strstr(line, " --set cost=2 "));
        assert_non_null(strstr(line, " --threads 3 "));
        assert_non_null(strstr(line, "'it'\\''s.svm"));
        assert_non_null(strstr(line, passes));
    }
    /* for people a list of their own, of those there are */
    const shoal_schema *schema = a.result->schema;
    const shoal_field *last = &schema->fields[schema->field_count - 1];
    assert_true(lines > 0 && lines < runs->count);
    assert_int_equal(page_records_of(last, a.result->records.first)->count, lines);
    asked_fini(&a);
}

static void models_are_saved_and_said(void **state)
{
    struct asked a;
    struct env_file *in = NULL;

    (void)state;
    asked_init(&a);
    a.opts.target = "0.22";
    a.opts.save = "models.json";
    ask(&a);
    assert_string_equal(shoal_result_text(a.result, 0, "saved"), "models.json");
    assert_int_equal(env_open(a.env, "models.json", &in, NULL), SHOAL_OK);
    env_close(in);
    asked_fini(&a);
}

static void refuses(struct asked *a, shoal_status status, const char *words)
{
    shoal_err err = SHOAL_ERR_INIT;

    assert_int_equal(shoal_advise_run(a->env, &a->opts, NULL, &a->result, &err), status);
    assert_null(a->result);
    if (strstr(err.message, words) == NULL)
        fail_msg("expected '%s' in '%s'", words, err.message);
    shoal_advise_opts_init(&a->opts);
    a->opts.runs = files;
    a->opts.run_count = 1;
}

static void what_cannot_be_meant_is_refused(void **state)
{
    struct asked a;

    (void)state;
    asked_init(&a);
    a.opts.run_count = 0;
    refuses(&a, SHOAL_E_INVAL, "no runs were given");
    a.opts.runs = NULL;
    refuses(&a, SHOAL_E_INVAL, "shoal_advise_opts_init");
    a.opts.price = -1;
    refuses(&a, SHOAL_E_INVAL, "ranges");
    a.opts.start_s = NAN;
    refuses(&a, SHOAL_E_INVAL, "ranges");
    a.opts.target = "low";
    refuses(&a, SHOAL_E_INVAL, "--target");
    a.opts.save = files[0];
    refuses(&a, SHOAL_E_INVAL, "also an input");
    a.opts.target = "0.01";
    refuses(&a, SHOAL_E_IMPOSSIBLE, "is not reached");
    a.opts.struct_size = 0; /* not initialised: as if nothing were given */
    refuses(&a, SHOAL_E_INVAL, "no runs were given");
    assert_int_equal(shoal_advise_run(a.env, &a.opts, NULL, NULL, NULL), SHOAL_E_INVAL);
    assert_int_equal(shoal_advise_run(NULL, &a.opts, NULL, &a.result, NULL), SHOAL_E_INVAL);
    asked_fini(&a);
}

/* A caller that knows the first members only: the others have their defaults. */
static void older_callers_get_the_defaults(void **state)
{
    struct asked a;

    (void)state;
    asked_init(&a);
    a.opts.struct_size = offsetof(shoal_advise_opts, target);
    a.opts.target = "not read";
    a.opts.change_s = -5;
    ask(&a);
    assert_true(says(&a, "Cheapest: sdca on 1 machine"));
    assert_non_null(strstr(a.result->heading, "within 1 % of the best"));
    asked_fini(&a);
}

static void a_stopped_watch_ends_it(void **state)
{
    struct asked a;
    shoal_watch *watch = shoal_watch_new();

    (void)state;
    asked_init(&a);
    assert_int_equal(shoal_advise_run(a.env, &a.opts, watch, &a.result, NULL), SHOAL_OK);
    shoal_progress told = shoal_watch_look(watch);
    assert_string_equal(told.what, "candidates");
    assert_true(told.total == candidate_count(&a) && told.done == told.total);
    shoal_result_free(a.result);
    a.result = NULL;
    shoal_watch_stop(watch);
    assert_int_equal(shoal_advise_run(a.env, &a.opts, watch, &a.result, NULL), SHOAL_E_CANCELLED);
    assert_null(a.result);
    shoal_watch_free(watch);
    asked_fini(&a);
}

static shoal_status ask_once(const struct base_alloc *alloc, void *ctx)
{
    struct asked *a = ctx;
    const struct base_alloc *own = a->env->alloc;
    const shoal_result *result = NULL;

    a->env->alloc = alloc;
    shoal_status st = shoal_advise_run(a->env, &a->opts, NULL, &result, NULL);
    shoal_result_free(result);
    a->env->alloc = own;
    return st;
}

static void every_failed_allocation_is_an_error(void **state)
{
    struct asked a;

    (void)state;
    asked_init(&a);
    a.opts.target = "0.22";
    a.opts.machines = "1,4,16";
    torture_run_sampled(ask_once, &a, 100);
    world_put(a.env, files[0],
              "{\"app\":\"logreg\",\"algorithm\":\"a\",\"options\":{\"cost\":\"2\"},\"machines\":1,"
              "\"curve\":[[0,0,0.7],[2,1,0.6],[4,2,0.55]]}\n");
    a.opts.target = NULL;
    a.opts.plan = true;
    a.opts.budget = 9;
    a.opts.data = "a.svm";
    torture_run_sampled(ask_once, &a, 100);
    asked_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_is_that_of_the_choice),
        cmocka_unit_test(times_and_their_intervals_lie_on_the_chart),
        cmocka_unit_test(what_speed_costs_has_the_answers_and_what_nothing_beats),
        cmocka_unit_test(losses_fall_to_what_was_asked_for),
        cmocka_unit_test(a_deadline_alone_has_losses_and_no_times),
        cmocka_unit_test(little_evidence_names_a_run_and_no_choice),
        cmocka_unit_test(a_single_candidate_is_said_to_be_the_only_one),
        cmocka_unit_test(the_largest_answer_has_a_small_page),
        cmocka_unit_test(names_are_data),
        cmocka_unit_test(no_pictures_are_made_unless_they_are_asked_for),
        cmocka_unit_test(a_plan_keeps_to_its_budget_and_gets_surer),
        cmocka_unit_test(lines_of_a_plan_are_those_of_the_runs),
        cmocka_unit_test(models_are_saved_and_said),
        cmocka_unit_test(what_cannot_be_meant_is_refused),
        cmocka_unit_test(older_callers_get_the_defaults),
        cmocka_unit_test(a_stopped_watch_ends_it),
        cmocka_unit_test(every_failed_allocation_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
