/* test_buy.c - buying as a library function: what its result says in figures, words and pictures, and that these are
 * true to each other. Of src/market/buy*.c. */
#include "unit/market/market_world.h"

#include "base/assert.h"
#include "market/buy.h"
#include "page/record.h"
#include "shoal/gen.h"
#include <stdlib.h>

enum { PAGE_MAX = 400000, RECTS_ALL = 1500, POINTS_MAX = 241 };

/* ---- a market, bought on ---- */

struct bought {
    shoal_env *env;
    shoal_market_opts opts;
    const shoal_result *result;
};

static const char *const histories[] = {"g.csv"};

static void bought_init(struct bought *b, const char *kinds, double days, double changes)
{
    const shoal_result *made = NULL;
    shoal_gen_prices_opts gen;

    b->env = world_new();
    b->result = NULL;
    shoal_gen_prices_opts_init(&gen);
    gen.kinds = kinds;
    gen.regions = 2;
    gen.from = "2024-01-01";
    gen.days = days;
    gen.changes_day = changes;
    gen.swing = 0.6;
    gen.seed = 2;
    gen.to.output = "g.csv";
    assert_int_equal(shoal_gen_prices(b->env, &gen, NULL, &made, NULL), SHOAL_OK);
    shoal_result_free(made);
    shoal_market_opts_init(&b->opts);
    b->opts.prices = histories;
    b->opts.price_count = 1;
    b->opts.pictures = true;
    b->opts.threads = 1;
}

static void buy(struct bought *b)
{
    shoal_err err = SHOAL_ERR_INIT;

    shoal_result_free(b->result);
    if (shoal_market_run(b->env, &b->opts, NULL, &b->result, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
}

static void bought_fini(struct bought *b)
{
    shoal_result_free(b->result);
    shoal_env_free(b->env);
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

/* A list of the only record, and the schema of its members. */
static const shoal_records *list_of(const shoal_result *result, const char *name,
                                    const shoal_schema **of)
{
    const shoal_field *field = field_of(result->schema, name);

    *of = field->of;
    return page_records_of(field, result->records.first);
}

static double strategy_number(const shoal_result *result, size_t index, const char *name)
{
    const shoal_schema *of;
    const shoal_records *list = list_of(result, "strategies", &of);

    assert_true(index < list->count);
    return page_number_of(field_of(of, name), page_record(list, index, NULL));
}

static size_t strategy_count(const shoal_result *result)
{
    const shoal_schema *of;

    return list_of(result, "strategies", &of)->count;
}

static const shoal_picture *find_picture(const shoal_result *result, const char *name)
{
    for (size_t i = 0; i < result->picture_count; i++)
        if (strcmp(result->pictures[i].name, name) == 0)
            return &result->pictures[i];
    return NULL;
}

static const shoal_picture *picture_of(const shoal_result *result, const char *name)
{
    const shoal_picture *p = find_picture(result, name);

    if (p == NULL)
        fail_msg("no picture '%s'", name);
    return p;
}

static bool count_bytes(void *ctx, const char *text, size_t size)
{
    (void)text;
    *(size_t *)ctx += size;
    return true;
}

static size_t page_bytes(const shoal_result *result)
{
    size_t bytes = 0;

    assert_int_equal(shoal_result_page(result, "shoal market", count_bytes, &bytes, NULL),
                     SHOAL_OK);
    return bytes;
}

/* What holds of every picture there is: inside its axes, named, and small. */
static void assert_sound(const shoal_result *result)
{
    for (size_t i = 0; i < result->picture_count; i++) {
        const shoal_picture *p = &result->pictures[i];
        double span = p->x.high - p->x.low;
        assert_true(p->title != NULL && p->note != NULL && span > 0 && p->x.from >= WORLD_2024);
        for (size_t k = 0; k < p->series_count; k++) {
            const shoal_series *line = &p->series[k];
            assert_non_null(line->name);
            assert_true(line->count <= POINTS_MAX && line->colour < SHOAL_COLOURS);
            for (size_t n = 0; n < line->count; n++) {
                assert_true(!isinf(line->y[n]) && !(line->y[n] < 0));
                assert_true(n == 0 || line->x[n] > line->x[n - 1]);
                assert_true((double)line->x[n] >= p->x.low - 1e-6 * span &&
                            (double)line->x[n] <= p->x.high + 1e-6 * span);
            }
        }
        assert_true(p->rect_count <= RECTS_ALL);
        for (size_t n = 0; n < p->rect_count; n++) {
            const shoal_rect *r = &p->rects[n];
            assert_true(r->from >= 0 && r->from <= r->to && r->lane < p->labels.count);
            assert_true((double)r->to <= p->x.high * (1 + 1e-6) && r->colour < SHOAL_COLOURS);
            assert_true(n == 0 || r->lane > r[-1].lane || r->from >= r[-1].to * 0.999999F);
        }
    }
    assert_true(page_bytes(result) <= PAGE_MAX);
}

/* ---- claims ---- */

static void pictures_say_what_the_figures_say(void **state)
{
    struct bought b;

    (void)state;
    bought_init(&b, "small:V100:1=3,large:V100:8=24", 60, 3);
    b.opts.work = "15d";
    b.opts.deadline = "20d";
    buy(&b);
    assert_sound(b.result);
    const shoal_picture *cost = picture_of(b.result, "cost"),
                        *trade = picture_of(b.result, "trade");
    for (size_t i = 0; i < strategy_count(b.result); i++) {
        const shoal_series *line = &cost->series[i], *dot = &trade->series[i];
        double usd = strategy_number(b.result, i, "usd");
        double finish_s = strategy_number(b.result, i, "finish");
        assert_true(fabs((double)line->y[line->count - 1] - usd) < 1e-3 * usd);
        for (size_t n = 1; n < line->count; n++)
            assert_true(line->y[n] >= line->y[n - 1]);
        assert_true(dot->count == 1 && fabs((double)dot->y[0] - usd) < 1e-3 * usd);
        assert_true(fabs((double)dot->x[0] + trade->x.from - finish_s) < 60);
    }
    const shoal_series *bound = &cost->series[cost->series_count - 1];
    assert_string_equal(bound->name, "no plan costs less");
    assert_true(fabs((double)bound->y[0] - shoal_result_number(b.result, 0, "bound_usd")) < 0.01);
    assert_true(cost->mark_count == 1 && fabs(cost->marks[0].x - 20 * 86400) < 1);
    bought_fini(&b);
}

/* The way through the prices is where the lanes say that the lead was, and costs what is on offer there. */
static void the_way_is_along_the_offers_held(void **state)
{
    struct bought b;

    (void)state;
    bought_init(&b, "small:V100:1=3", 60, 3);
    b.opts.work = "15d";
    b.opts.strategy = "static,shoal";
    buy(&b);
    assert_sound(b.result);
    const shoal_picture *prices = picture_of(b.result, "prices");
    const shoal_picture *places = picture_of(b.result, "places");
    const shoal_series *way = &prices->series[0], *least = &prices->series[1];
    const shoal_series *kept = &prices->series[2];
    assert_true(way->wide && way->dots && way->texts != NULL);
    assert_string_equal(kept->name, places->series[0].name);
    for (size_t i = 0; i + 1 < way->count && !isnan(way->y[i + 1]); i++) {
        assert_true(fabsf(way->y[i] - kept->y[i]) < 1e-3F * kept->y[i]);
        assert_true(least->y[i] <= kept->y[i] * 1.0001F);
        assert_string_equal(way->texts[i], kept->name);
    }
    assert_true(places->labels.count == 2 && places->rects[0].lane == 0);
    assert_string_equal(places->labels.items[0], "static");
    assert_string_equal(places->rects[0].text, kept->name);
    bought_fini(&b);
}

static void write_fleet(const struct bought *b, size_t jobs, const char *more)
{
    struct base_buf text;

    base_buf_init(&text, &base_alloc_libc, 1 << 20);
    base_buf_puts(&text, "job,work,deadline\n");
    for (size_t i = 0; i < jobs; i++)
        base_buf_printf(&text, "<b>job & %zu,%zuh,%s\n", i, 100 + i % 60, more);
    assert_int_equal(env_sim_put(b->env, "fleet.csv", text.data, text.size), SHOAL_OK);
    base_buf_fini(&text);
}

/* A fleet, a long history, many changes and interruptions: pictures and page do not grow with them. */
static void a_large_market_has_a_small_page(void **state)
{
    struct bought b;

    (void)state;
    bought_init(&b, "small:V100:1=3,other:A100:1=4", 60, 20);
    write_fleet(&b, 300, "40d");
    b.opts.jobs = "fleet.csv";
    b.opts.interruptions = "2h/20m";
    b.opts.step_s = 3600;
    b.opts.no_bound = true;
    buy(&b);
    assert_sound(b.result);
    const shoal_picture *places = picture_of(b.result, "places");
    assert_true(places->labels.count == 24 && places->mark_count == 0);
    assert_string_equal(places->labels.items[3], "<b>job & 3");
    bought_fini(&b);
}

/* One lane with more stays than are drawn: as much is held as the stays say. */
static void a_crowded_lane_shows_all_that_was_held(void **state)
{
    struct bought b;
    double held_s = 0, shown_s = 0;

    (void)state;
    bought_init(&b, "small:V100:1=3", 300, 2);
    b.opts.work = "80d";
    b.opts.deadline = "none";
    b.opts.interruptions = "30m/30m";
    b.opts.strategy = "static";
    b.opts.no_bound = b.opts.moves = true;
    buy(&b);
    assert_sound(b.result);
    const shoal_picture *places = picture_of(b.result, "places");
    const shoal_schema *of;
    const shoal_records *list = list_of(b.result, "strategies", &of);
    const shoal_field *jobs = field_of(of, "jobs");
    const void *job = page_records_of(jobs, list->first)->first;
    assert_true(page_records_of(field_of(jobs->of, "stays"), job)->count > RECTS_ALL);
    static const char *const spent[] = {"spot_s", "on_demand_s", "starting_s"};
    for (size_t i = 0; i < BASE_COUNT(spent); i++)
        held_s += page_number_of(field_of(jobs->of, spent[i]), job);
    for (size_t i = 0; i < places->rect_count; i++)
        shown_s += (double)(places->rects[i].to - places->rects[i].from);
    if (!(fabs(shown_s - held_s) < 0.01 * held_s))
        fail_msg("%g s are shown of %g s, %zu rects", shown_s, held_s, places->rect_count);
    bought_fini(&b);
}

static void sums_are_those_of_the_jobs(void **state)
{
    struct bought b;

    (void)state;
    bought_init(&b, "small:V100:1=3", 40, 3);
    write_fleet(&b, 5, "15d");
    b.opts.jobs = "fleet.csv";
    buy(&b);
    const shoal_schema *of;
    const shoal_records *list = list_of(b.result, "strategies", &of);
    const shoal_field *jobs = field_of(of, "jobs");
    for (size_t i = 0; i < list->count; i++) {
        const shoal_records *outcomes = page_records_of(jobs, page_record(list, i, NULL));
        double usd = 0, last_s = 0;
        for (size_t j = 0; j < outcomes->count; j++) {
            const void *o = page_record(outcomes, j, NULL);
            usd += page_number_of(field_of(jobs->of, "usd"), o);
            last_s = fmax(last_s, page_number_of(field_of(jobs->of, "finish"), o));
        }
        assert_true(fabs(strategy_number(b.result, i, "usd") - usd) < 1e-9 * usd);
        assert_true(strategy_number(b.result, i, "finished") == 5 &&
                    strategy_number(b.result, i, "finish") == last_s);
        assert_true(fabs(strategy_number(b.result, i, "times_less_than_static") * usd -
                         strategy_number(b.result, list->count - 1, "usd")) < 1e-6 * usd);
    }
    bought_fini(&b);
}

/* Nothing on demand, and hardly anything to be had: the first word is of the deadline. */
static void a_missed_deadline_comes_first(void **state)
{
    struct bought b;
    static const char text[] = "time,cloud,zone,instance,market,price\n"
                               "2024-01-01,c,z,k,spot,1\n2024-03-01,c,z,k,spot,1\n";

    (void)state;
    bought_init(&b, "small:V100:1=3", 10, 1);
    world_put(b.env, "g.csv", text);
    b.opts.work = "5d";
    b.opts.deadline = "6d";
    b.opts.interruptions = "1h/4h";
    b.opts.strategy = "static";
    buy(&b);
    assert_int_equal(strategy_number(b.result, 0, "missed"), 1);
    const char *verdict = b.result->verdict;
    if (strncmp(verdict, "static misses its deadline.\n", 28) != 0)
        fail_msg("%s", verdict);
    assert_non_null(strstr(verdict, "static costs $"));
    bought_fini(&b);
}

static void a_job_that_never_ran_has_a_page(void **state)
{
    struct bought b;

    (void)state;
    bought_init(&b, "small:V100:1=3", 30, 3);
    b.opts.work = "2h";
    b.opts.deadline = "none";
    b.opts.strategy = "shoal:price=1e-9";
    buy(&b);
    assert_sound(b.result);
    assert_null(find_picture(b.result, "trade"));
    assert_int_equal(picture_of(b.result, "places")->rect_count, 0);
    assert_non_null(strstr(b.result->verdict, "shoal:price=1e-9 does not finish"));
    bought_fini(&b);
}

static void no_pictures_are_made_unless_they_are_asked_for(void **state)
{
    struct bought b;

    (void)state;
    bought_init(&b, "small:V100:1=3", 30, 3);
    b.opts.pictures = false;
    b.opts.no_bound = true;
    buy(&b);
    assert_int_equal(b.result->picture_count, 0);
    bought_fini(&b);
}

/* ---- stopped ---- */

/* An allocator that stops the watch once so many market days have passed. */
struct stopper {
    struct base_alloc alloc;
    shoal_watch *watch;
    double share; /* of all market days */
};

static void *stop_there(void *ctx, void *p, size_t size)
{
    const struct stopper *s = ctx;
    shoal_progress now = shoal_watch_look(s->watch);

    if (strcmp(now.what, "market days") == 0 && (double)now.done >= s->share * (double)now.total)
        shoal_watch_stop(s->watch);
    return base_alloc_libc.fn(base_alloc_libc.ctx, p, size);
}

/* 40 days of two zones, by the hour. */
static void put_prices(shoal_env *env)
{
    enum { HOURS = 40 * 24, LINE = 96 };
    char *text = malloc(2 * HOURS * LINE);
    assert_non_null(text);
    int used = sprintf(text, "#shoal-prices v1\ntime,cloud,zone,instance,market,price\n");
    for (int h = 0; h < HOURS; h++)
        for (int zone = 0; zone < 2; zone++)
            used += sprintf(
                text + used, "2024-%02d-%02dT%02d:00:00Z,aws,us-east-1%c,small,spot,%d\n",
                1 + h / 24 / 30, 1 + h / 24 % 30, h % 24, 'a' + zone, 1 + (h / 7 + zone) % 3);
    world_put(env, "prices.csv", text);
    free(text);
}

static void expect_stopped(double share, const char *said)
{
    const char *prices[] = {"prices.csv"};
    struct stopper stopper = {.watch = shoal_watch_new(), .share = share};
    const shoal_result *result = NULL;
    shoal_market_opts opts;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_env *env;

    assert_non_null(stopper.watch);
    stopper.alloc = (struct base_alloc){stop_there, &stopper};
    assert_int_equal(env_sim_new(&stopper.alloc, 1, &env, NULL), SHOAL_OK);
    put_prices(env);
    shoal_market_opts_init(&opts);
    opts.prices = prices;
    opts.price_count = 1;
    opts.kinds = "small";
    opts.work = "20d";
    opts.deadline = "25d";
    opts.strategy = "static,shoal";
    opts.threads = 1;
    opts.no_bound = true;
    shoal_status st = shoal_market_run(env, &opts, stopper.watch, &result, &err);
    if (st != SHOAL_E_CANCELLED || strncmp(err.message, said, strlen(said)) != 0 ||
        strstr(err.message, "shoal $") != NULL)
        fail_msg("%s: '%s', expected '%s'", shoal_status_name(st), err.message, said);
    assert_null(result);
    shoal_env_free(env);
    shoal_watch_free(stopper.watch);
}

static void what_was_replayed_until_it_was_stopped_is_said(void **state)
{
    (void)state;
    expect_stopped(0, "stopped before any strategy was replayed");
    expect_stopped(0.5, "stopped; replayed by then: static $"); /* the first of two is done */
}

/* ---- the rest ---- */

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
        assert_string_equal(market_buy_duration(rows[i].seconds, text, sizeof text), rows[i].text);
}

static shoal_status buy_once(const struct base_alloc *alloc, void *ctx)
{
    struct bought *b = ctx;
    const struct base_alloc *own = b->env->alloc;
    const shoal_result *result = NULL;

    b->env->alloc = alloc;
    shoal_status st = shoal_market_run(b->env, &b->opts, NULL, &result, NULL);
    shoal_result_free(result);
    b->env->alloc = own;
    return st;
}

static void every_failed_allocation_is_an_error(void **state)
{
    struct bought b;

    (void)state;
    bought_init(&b, "small:V100:1=3", 12, 1);
    b.opts.strategy = "static,shoal";
    b.opts.work = "2d";
    b.opts.interruptions = "12h/1h";
    b.opts.moves = true;
    torture_run_sampled(buy_once, &b, 200);
    bought_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_say_what_the_figures_say),
        cmocka_unit_test(the_way_is_along_the_offers_held),
        cmocka_unit_test(a_large_market_has_a_small_page),
        cmocka_unit_test(a_crowded_lane_shows_all_that_was_held),
        cmocka_unit_test(sums_are_those_of_the_jobs),
        cmocka_unit_test(a_missed_deadline_comes_first),
        cmocka_unit_test(a_job_that_never_ran_has_a_page),
        cmocka_unit_test(no_pictures_are_made_unless_they_are_asked_for),
        cmocka_unit_test(what_was_replayed_until_it_was_stopped_is_said),
        cmocka_unit_test(durations_are_without_zeros),
        cmocka_unit_test(every_failed_allocation_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
