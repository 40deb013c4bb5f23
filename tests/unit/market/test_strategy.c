/* Tests of src/market/strategy.c and the strategies. */
#include "property.h"
#include "small_world.h"
#include "torture.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "market/replay_pace.h"

static struct small_world world, other;
static const struct small_shape shape = {5, 2, 30, 20000, 400, 0.4};

static struct market_result replay(const struct small_world *w, const char *name, double step_s)
{
    const struct market_strategy *s = market_strategy_find(name, NULL);
    _Alignas(16) char knobs[512];
    struct market_result r;
    struct market_replay_opts opts = {.strategy = s, .knobs = knobs, .step_s = step_s};

    assert_true(s != NULL && s->knobs_size <= sizeof knobs);
    base_opt_defaults(s->opts, s->opt_count, knobs);
    assert_int_equal(market_replay(&base_alloc_libc, &w->market, w->jobs, 1, &opts, &r, NULL),
                     SHOAL_OK);
    return r;
}

/* --- all of them --- */

static void strategies_are_found_by_name_and_a_near_name_is_offered(void **state)
{
    size_t count;
    const struct market_strategy *const *rows = market_strategies(&count);
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(market_strategy_find(rows[i]->name, NULL), rows[i]);
        assert_true(strlen(rows[i]->summary) > 10 && rows[i]->score != NULL);
    }
    assert_null(market_strategy_find("unifrom", &err));
    assert_non_null(strstr(err.hint, "uniform"));
}

static void what_comes_later_changes_nothing_before(void **state)
{
    struct base_rand rand;
    size_t count;
    const struct market_strategy *const *rows = market_strategies(&count);

    (void)state;
    base_rand_init(&rand, 1, "strategy");
    for (int n = 0; n < property_count(60); n++) {
        small_world(&world, &rand, &shape);
        world.jobs[0].work = 12000;
        world.jobs[0].deadline_s = 15000;
        world.jobs[0].start_s = n % 2 == 0 ? 0 : 1500; /* looked at before, too */
        other = world;
        other.market = (struct market_world){.prices = &other.prices, .costs = &other.costs};
        other.prices.offers = other.offers;
        other.prices.points = other.points;
        other.jobs[0].speed = other.speed;
        double split = 3000;
        for (size_t i = 0; i < other.prices.point_count; i++) {
            if (other.points[i].at_s > split)
                other.points[i].usd_h = base_rand_unit(&rand) < 0.4 ? NAN : 1;
        }
        for (size_t s = 0; s < count; s++) {
            struct market_result a = replay(&world, rows[s]->name, 300);
            struct market_result b = replay(&other, rows[s]->name, 300);
            for (size_t i = 0; i < a.jobs[0].stay_count; i++) {
                const struct market_stay *x = &a.jobs[0].stays[i];
                if (x->from_s >= split)
                    break;
                assert_true(i < b.jobs[0].stay_count);
                const struct market_stay *y = &b.jobs[0].stays[i];
                assert_true(x->from_s == y->from_s && x->offer == y->offer);
                assert_true(x->to_s > split || (x->to_s == y->to_s && x->usd == y->usd));
            }
            market_result_fini(&a);
            market_result_fini(&b);
        }
    }
}

/* Says when it is shown what: its note is where the next time goes. */
enum { LOOKS_MAX = 700 };
static double looks[LOOKS_MAX];
static size_t look_count;

static void note_look(const void *knobs, void *note, const struct market_view *v)
{
    (void)knobs;
    (void)note;
    assert_true(v->now_s <= v->job->start_s && v->held == MARKET_NONE && v->steps == 0);
    assert_true(v->job->start_s - v->now_s <= MARKET_WATCH_S);
    for (size_t i = 0; i < v->candidate_count; i++) {
        uint32_t o = v->candidates[i];
        double usd = market_price_at(v->prices, o, v->now_s, NULL, NULL);
        assert_true(isnan(usd) ? isnan(v->usd_h[o]) && v->up[o] == 0 : v->usd_h[o] == usd);
    }
    assert_true(look_count < LOOKS_MAX);
    looks[look_count++] = v->now_s;
}

static void who_learns_looks_at_every_step_before_the_start_and_not_after(void **state)
{
    const struct market_strategy learns = {
        .name = "learns", .watch = note_look, .score = small_wander_score};
    const struct market_replay_opts opts = {.strategy = &learns, .step_s = 900};
    const double starts[] = {0, 100, 900, 40000, MARKET_WATCH_S, MARKET_WATCH_S + 50000};
    struct market_result r, plain_result;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 4, "strategy");
    for (size_t i = 0; i < BASE_COUNT(starts); i++) {
        small_world(&world, &rand, &(struct small_shape){4, 1, 30, 400000, 9000, 0.3});
        world.jobs[0].start_s = world.jobs[1].start_s = starts[i];
        world.jobs[1].start_s += 50 * 900 + 10; /* later: it looks on while the first runs */
        look_count = 0;
        assert_int_equal(
            market_replay(&base_alloc_libc, &world.market, world.jobs, 1, &opts, &r, NULL),
            SHOAL_OK);
        size_t want = (size_t)floor(fmin(starts[i], MARKET_WATCH_S) / 900);
        assert_int_equal(look_count, want);
        for (size_t k = 0; k < want; k++)
            assert_true(looks[k] == starts[i] - 900 * (double)(want - k));
        /* looking on changes nothing for who learns nothing */
        const struct market_replay_opts wander = {.strategy = &small_wander, .step_s = 900};
        assert_int_equal(market_replay(&base_alloc_libc, &world.market, world.jobs, 1, &wander,
                                       &plain_result, NULL),
                         SHOAL_OK);
        assert_true(r.usd == plain_result.usd && r.decisions == plain_result.decisions &&
                    r.jobs[0].finish_s == plain_result.jobs[0].finish_s &&
                    r.jobs[0].idle_s == plain_result.jobs[0].idle_s);
        market_result_fini(&r);
        market_result_fini(&plain_result);
        look_count = 0;
        assert_int_equal(
            market_replay(&base_alloc_libc, &world.market, world.jobs, 2, &opts, &r, NULL),
            SHOAL_OK);
        market_result_fini(&r);
        assert_true(look_count >= 2 * want && look_count <= 2 * want + 51);
    }
}

static void moving_costs_by_distance(void **state)
{
    struct base_rand rand;
    const struct market_costs c = MARKET_COSTS_INIT;

    (void)state;
    base_rand_init(&rand, 2, "strategy");
    small_world(&world, &rand, &shape);
    struct market_job job = {.checkpoint_gb = 10};
    for (uint32_t o = 0; o < 5; o++)
        world.offers[o].cloud = world.offers[o].region = world.offers[o].zone = 0;
    world.offers[2].zone = 1;
    world.offers[3].region = world.offers[3].zone = 2;
    world.offers[4].cloud = world.offers[4].region = world.offers[4].zone = 3;
    const double seconds[] = {180, 190, 220, 280}, usd[] = {0, 0.1, 0.2, 0.9};
    for (uint32_t to = 1; to < 5; to++) {
        assert_true(fabs(market_move_s(&world.prices, &job, &c, 0, to) - seconds[to - 1]) < 1e-9);
        assert_true(fabs(market_move_usd(&world.prices, &job, &c, 0, to) - usd[to - 1]) < 1e-9);
    }
    assert_true(market_move_s(&world.prices, &job, &c, MARKET_NONE, 4) == 180);
    assert_true(market_move_usd(&world.prices, &job, &c, MARKET_NONE, 4) == 0);
}

/* --- one at a time, on markets made for it --- */

/* Offers with the same kind and speed 1, each with the points given; the last one on demand. */
static void plain(size_t spots, double demand_usd)
{
    struct base_rand rand;

    base_rand_init(&rand, 3, "strategy");
    small_world(&world, &rand, &(struct small_shape){spots, 1, 1, 400000, 10, 0});
    for (size_t o = 0; o <= spots; o++)
        world.offers[o] = (struct market_offer){.how = o == spots ? MARKET_ON_DEMAND : MARKET_SPOT,
                                                .zone = (uint32_t)o,
                                                .first = o * SMALL_POINTS,
                                                .count = 1};
    world.points[spots * SMALL_POINTS] = (struct market_point){0, demand_usd};
    world.speed[0] = 1;
    world.costs = (struct market_costs)MARKET_COSTS_INIT;
    world.jobs[0] = (struct market_job){.name = "job",
                                        .work = 36000,
                                        .deadline_s = 60000,
                                        .budget_usd = INFINITY,
                                        .instances = 1,
                                        .speed = world.speed,
                                        .checkpoint_gb = 1};
}

static void set_points(size_t offer, const struct market_point *points, size_t count)
{
    memcpy(world.points + offer * SMALL_POINTS, points, count * sizeof *points);
    world.offers[offer].first = offer * SMALL_POINTS;
    world.offers[offer].count = count;
}

static void static_keeps_what_was_cheapest_at_the_start(void **state)
{
    (void)state;
    plain(2, 5);
    set_points(0, (struct market_point[]){{0, 1}, {3600, 4}, {9000, NAN}, {12000, 4}}, 4);
    set_points(1, (struct market_point[]){{0, 2}}, 1);
    struct market_result r = replay(&world, "static", 900);
    assert_int_equal(r.interruptions, 1);
    assert_int_equal(r.moves, 0);
    for (size_t i = 0; i < r.jobs[0].stay_count; i++)
        assert_int_equal(r.jobs[0].stays[i].offer, 0);
    assert_int_equal(r.missed, 0);
    market_result_fini(&r);
}

static void periodic_goes_to_the_cheapest_once_a_day(void **state)
{
    (void)state;
    plain(2, 5);
    world.jobs[0].work = 150000;
    world.jobs[0].deadline_s = INFINITY;
    set_points(0, (struct market_point[]){{0, 1}, {10000, 3}}, 2);
    set_points(1, (struct market_point[]){{0, 2}}, 1);
    struct market_result r = replay(&world, "periodic", 900);
    assert_int_equal(r.moves, 1);
    assert_true(fabs(r.jobs[0].stays[0].to_s - (86400 + 30)) < 1e-6); /* with the checkpoint */
    assert_int_equal(r.jobs[0].stays[1].offer, 1);
    market_result_fini(&r);
}

static void uniform_falls_back_on_demand_when_it_is_behind_and_returns_to_spot(void **state)
{
    (void)state;
    plain(1, 5);
    set_points(0, (struct market_point[]){{0, 1}, {12000, NAN}, {40000, 1}}, 3);
    struct market_result r = replay(&world, "uniform", 300);
    const struct market_stay *s = r.jobs[0].stays;
    assert_true(r.jobs[0].stay_count >= 3);
    assert_int_equal(s[0].offer, 0);
    assert_int_equal(s[1].offer, 1);
    /* it had made 12000 / 1.05 of 36000: behind from 0.31 x 60000 on, and not before */
    assert_true(s[1].from_s > 17500 && s[1].from_s < 19500);
    assert_int_equal(r.jobs[0].stays[r.jobs[0].stay_count - 1].offer, 0);
    assert_true(r.jobs[0].stays[r.jobs[0].stay_count - 1].from_s >= 40000);
    assert_int_equal(r.missed, 0);
    market_result_fini(&r);
}

static void shoal_waits_out_what_is_dear_when_there_is_time(void **state)
{
    (void)state;
    plain(1, 5);
    world.jobs[0].deadline_s = 80000; /* 36000 steps take 37800 s */
    set_points(0, (struct market_point[]){{0, 1}, {20000, 4}, {30000, 1}}, 3);
    struct market_result r = replay(&world, "shoal", 300);
    double dear = 0;
    for (size_t i = 0; i < r.jobs[0].stay_count; i++)
        dear +=
            fmax(0, fmin(r.jobs[0].stays[i].to_s, 30000) - fmax(r.jobs[0].stays[i].from_s, 20000));
    assert_true(dear < 500);
    assert_int_equal(r.missed, 0);
    struct market_result keeps = replay(&world, "static", 300);
    assert_true(r.usd < 0.7 * keeps.usd);
    market_result_fini(&keeps);
    market_result_fini(&r);
}

/* Cheap for days, dear for the hours after the start, and cheap again: a job of an hour that has
 * a day waits when it has seen what it was before. When the history begins with the job it cannot
 * know, and takes what there is. */
static void shoal_learns_from_prices_before_the_start(void **state)
{
    const struct market_point points[] = {{0, 1}, {199000, 2}, {215000, 1}};
    double usd[2];

    (void)state;
    for (int seen = 0; seen < 2; seen++) {
        plain(1, 5);
        set_points(0, points, 3);
        world.jobs[0].work = 3600;
        world.jobs[0].start_s = 200000;
        world.jobs[0].deadline_s = 286400;
        world.prices.from_s = seen == 0 ? world.jobs[0].start_s : 0;
        struct market_result r = replay(&world, "shoal", 900);
        assert_true(!r.jobs[0].missed);
        usd[seen] = r.usd;
        market_result_fini(&r);
    }
    assert_true(usd[1] < 0.7 * usd[0]);
}

/* A job of hours forgets within half a day, whatever the knob says beyond that. */
static void shoal_forgets_soon_when_the_job_is_short(void **state)
{
    const struct market_strategy *s = market_strategy_find("shoal", NULL);
    _Alignas(16) char knobs[3][512];
    const char *const memory[] = {"memory=30d", "memory=12h", "memory=2h"};
    struct base_rand rand;
    int differ = 0;

    (void)state;
    base_rand_init(&rand, 6, "strategy");
    for (int k = 0; k < 3; k++) {
        base_opt_defaults(s->opts, s->opt_count, knobs[k]);
        assert_int_equal(base_opt_assign(s->opts, s->opt_count, memory[k], "shoal", knobs[k], NULL),
                         SHOAL_OK);
    }
    for (int n = 0; n < property_count(40); n++) {
        double usd[3];
        small_world(&world, &rand, &(struct small_shape){4, 1, 40, 400000, 8000, 0.2});
        world.jobs[0].start_s = 150000;
        world.jobs[0].deadline_s = 150000 + 86400;
        world.jobs[0].work = 20000;
        for (int k = 0; k < 3; k++) {
            struct market_replay_opts opts = {.strategy = s, .knobs = knobs[k], .step_s = 900};
            struct market_result r;
            assert_int_equal(
                market_replay(&base_alloc_libc, &world.market, world.jobs, 1, &opts, &r, NULL),
                SHOAL_OK);
            usd[k] = r.usd;
            market_result_fini(&r);
        }
        assert_true(usd[0] == usd[1]);
        differ += usd[1] != usd[2];
    }
    assert_true(differ > 0); /* memory does make a difference here */
}

static void shoal_moves_for_a_lasting_difference_and_not_for_a_small_one(void **state)
{
    (void)state;
    plain(2, 5);
    world.jobs[0].deadline_s = 39500; /* no time to wait for better prices */
    set_points(0, (struct market_point[]){{0, 1}, {9000, 3}}, 2);
    set_points(1, (struct market_point[]){{0, 1.3}}, 1);
    struct market_result r = replay(&world, "shoal", 300);
    assert_int_equal(r.moves, 1);
    assert_true(r.jobs[0].stays[1].from_s < 12000);
    market_result_fini(&r);
    world.jobs[0].deadline_s = 45000;
    world.jobs[0].checkpoint_gb = 400; /* egress of 4 dollars: more than there is to save */
    set_points(0, (struct market_point[]){{0, 1}, {9000, 1.4}}, 2);
    r = replay(&world, "shoal", 300);
    assert_int_equal(r.moves, 0);
    market_result_fini(&r);
}

/* The zone of the checkpoint has been down for `down_s`; another region is up, a little dearer. Most
 * outages end between five and ten minutes, the few others last for days. A step is worth far more
 * than it costs: waiting is dear. The work takes 37800 s of the time that is left. */
static bool shoal_waits(double down_s, double left_s)
{
    const struct market_strategy *s = market_strategy_find("shoal", NULL);
    static _Alignas(16) char knobs[512], note[8192];
    const double day = 86400;
    struct market_seen seen[3] = {{.since_s = day - down_s}};
    struct market_ages ages = {0};
    double score[3], idle;

    plain(2, 5);
    world.offers[1].region = world.offers[2].region = 1;
    world.jobs[0].deadline_s = day + left_s;
    world.jobs[0].checkpoint_gb = 20;
    ages.down_s[market_age_bin(300)] = 160000;
    ages.down_ends[market_age_bin(300)] = 900;
    for (size_t b = market_age_bin(3600); b < MARKET_AGES; b++) {
        ages.down_s[b] = 3.6e6;
        ages.down_ends[b] = 10;
    }
    assert_true(s->knobs_size <= sizeof knobs && s->note_size <= sizeof note);
    base_opt_defaults(s->opts, s->opt_count, knobs);
    assert_int_equal(base_opt_assign(s->opts, s->opt_count, "price=0.002", s->name, knobs, NULL),
                     SHOAL_OK);
    memset(note, 0, sizeof note);
    double mean = market_pace_mean(market_pace(&world.costs, world.speed[0]));
    const double speed[] = {mean, mean, mean};
    s->score(knobs, note,
             &(struct market_view){.prices = &world.prices,
                                   .job = &world.jobs[0],
                                   .costs = &world.costs,
                                   .now_s = day,
                                   .step_s = 900,
                                   .held = MARKET_NONE,
                                   .held_since_s = day,
                                   .checkpoint = 0,
                                   .safe_until_s = day + 1000,
                                   .usd_h = (const double[]){1, 1.1, 5},
                                   .up = (const uint32_t[]){0, 1, 1},
                                   .seen = seen,
                                   .ages = &ages,
                                   .candidates = (const uint32_t[]){0, 1, 2},
                                   .speed = speed,
                                   .candidate_count = 3},
             score, &idle);
    assert_true(score[0] == INFINITY && score[1] < score[2] && score[1] < 0);
    return idle < score[1];
}

static void shoal_waits_for_what_has_just_gone_and_not_for_what_stays_away(void **state)
{
    (void)state;
    assert_true(shoal_waits(60, 60000));
    assert_true(shoal_waits(300, 60000));
    assert_false(shoal_waits(2.0 * 3600, 60000));
    assert_false(shoal_waits(86000, 60000));
    assert_false(shoal_waits(300, 40000)); /* it is late */
}

static void shoal_finishes_without_a_deadline_too(void **state)
{
    (void)state;
    plain(2, 5);
    world.jobs[0].deadline_s = INFINITY;
    set_points(0, (struct market_point[]){{0, 1}, {9000, NAN}, {12000, 1.1}}, 3);
    set_points(1, (struct market_point[]){{0, 1.2}}, 1);
    struct market_result r = replay(&world, "shoal", 300);
    assert_int_equal(r.unfinished, 0);
    assert_true(r.jobs[0].finish_s < 60000);
    market_result_fini(&r);
}

/* On a price that never changes nothing is gained by waiting: a job that takes less time than its
 * start-up goes there, too, whether or not it has a deadline. */
static void shoal_does_a_job_that_is_shorter_than_its_start_up(void **state)
{
    const double works[] = {10, 120, 3600, 7200}, startups[] = {180, 3600, 10800};

    (void)state;
    for (size_t n = 0; n < BASE_COUNT(works) * BASE_COUNT(startups) * 4; n++) {
        plain(2, n % 4 < 2 ? 5 : NAN); /* with an offer on demand, and with spot alone */
        set_points(0, (struct market_point[]){{0, 1}}, 1);
        set_points(1, (struct market_point[]){{0, 1.2}}, 1);
        world.jobs[0].start_s = n % 3 == 0 ? 0 : 20000; /* seen before, or not */
        world.jobs[0].work = works[n / 4 % BASE_COUNT(works)];
        world.jobs[0].deadline_s = n % 2 == 0 ? INFINITY : world.jobs[0].start_s + 4 * 86400.0;
        world.costs.startup_s = startups[n / 4 / BASE_COUNT(works)];
        struct market_result r = replay(&world, "shoal", 900);
        struct market_result keeps = replay(&world, "static", 900);
        assert_int_equal(r.unfinished + r.missed + keeps.unfinished + keeps.missed, 0);
        assert_true(r.usd <= 1.1 * keeps.usd);
        market_result_fini(&keeps);
        market_result_fini(&r);
    }
}

/* Offers that come and go at prices of their own that do not change: there is always a reason to
 * go on. Works and start-ups from seconds to hours, stays as long as start-ups. */
static void shoal_finishes_without_a_deadline_when_static_does(void **state)
{
    struct base_rand rand;
    int finished = 0;

    (void)state;
    base_rand_init(&rand, 7, "strategy");
    for (int n = 0; n < property_count(150); n++) {
        small_world(&world, &rand, &(struct small_shape){4, (size_t)n % 2, 40, 4e6, 8000, 0.4});
        for (uint32_t o = 0; o < world.prices.offer_count; o++) {
            double usd = base_rand_range(&rand, 1, 3);
            for (size_t i = 0; i < world.offers[o].count; i++) {
                struct market_point *p = &world.points[world.offers[o].first + i];
                if (!isnan(p->usd_h) || i + 1 == world.offers[o].count) /* up in the end */
                    p->usd_h = usd;
            }
        }
        world.jobs[0].work = exp(base_rand_range(&rand, 1, 10));
        world.costs.startup_s = exp(base_rand_range(&rand, 1, 9.5));
        struct market_result keeps = replay(&world, "static", 900);
        if (keeps.unfinished == 0) {
            struct market_result r = replay(&world, "shoal", 900);
            assert_int_equal(r.unfinished, 0);
            market_result_fini(&r);
            finished++;
        }
        market_result_fini(&keeps);
    }
    assert_true(finished > 100);
}

/* --- ages --- */

static void the_time_left_of_what_ends_at_one_rate_is_that_rate_s(void **state)
{
    double seconds[MARKET_AGES], ends[MARKET_AGES], left[MARKET_AGES];

    (void)state;
    for (size_t b = 0; b < MARKET_AGES; b++) { /* so much of it that the prior does not count */
        seconds[b] = 1e15;
        ends[b] = 1e15 / 7200;
    }
    market_age_table(seconds, ends, left);
    for (int n = 0; n < 60; n++)
        assert_true(fabs(market_age_left_s(left, 10 * pow(1.25, n)) / 7200 - 1) < 1e-3);
}

static void what_has_lasted_longer_lasts_longer_when_nothing_is_known(void **state)
{
    double seconds[MARKET_AGES] = {0}, ends[MARKET_AGES] = {0}, left[MARKET_AGES], last = 0;

    (void)state;
    market_age_table(seconds, ends, left);
    for (int n = 0; n < 60; n++) {
        double now = market_age_left_s(left, 10 * pow(1.25, n));
        assert_true(now >= last && isfinite(now));
        last = now;
    }
    assert_int_equal(market_age_bin(0), 0);
    assert_int_equal(market_age_bin(150), 1);
    assert_int_equal(market_age_bin(1e12), MARKET_AGES - 1);
}

static void every_age_is_in_its_bin_from_whichever_bin_it_is_looked_for(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 5, "strategy");
    for (int n = 0; n < property_count(2000); n++) {
        double age_s = exp(base_rand_range(&rand, 0, 18));
        if (n % 3 == 0) /* at an end, and just before it */
            age_s = market_age_to_s[base_rand_below(&rand, MARKET_AGES)];
        if (n % 6 == 0)
            age_s = nextafter(age_s, 0);
        size_t slow = age_s < 150 ? 0 : (size_t)ilogb(age_s / 150) + 1;
        slow = slow < MARKET_AGES ? slow : MARKET_AGES - 1;
        assert_int_equal(market_age_bin(age_s), slow);
        assert_int_equal(market_age_bin_from(base_rand_below(&rand, slow + 1), age_s), slow);
    }
}

static struct market_ages last_ages;

static void keep_ages(const void *knobs, void *note, const struct market_view *v, double *score,
                      double *idle)
{
    (void)knobs;
    (void)note;
    last_ages = *v->ages;
    *idle = 0;
    for (size_t i = 0; i < v->candidate_count; i++)
        score[i] = INFINITY;
}

/* Up for 10,000 s, not sold for 100, and up again: what has come back is young. */
static void ages_are_counted_from_the_last_change_on(void **state)
{
    const struct market_point points[] = {{0, 1}, {10000, NAN}, {10100, 1}};
    const struct market_strategy keeps = {.name = "keeps", .score = keep_ages};
    const struct market_replay_opts opts = {.strategy = &keeps, .step_s = 50};
    struct market_result r;
    double up_s = 0;

    (void)state;
    plain(1, 5);
    set_points(0, points, 3);
    world.jobs[0].deadline_s = INFINITY;
    world.prices.to_s = 11001;
    assert_int_equal(market_replay(&base_alloc_libc, &world.market, world.jobs, 1, &opts, &r, NULL),
                     SHOAL_OK);
    market_result_fini(&r);
    for (size_t b = 0; b < MARKET_AGES; b++)
        up_s += last_ages.up_s[b];
    assert_true(last_ages.up_s[0] == 300 && last_ages.up_s[1] == 300 && last_ages.up_s[2] == 600);
    assert_true(last_ages.down_s[0] == 100 && up_s == 10900);
    assert_true(last_ages.up_ends[market_age_bin(10000)] == 1 && last_ages.down_ends[0] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strategies_are_found_by_name_and_a_near_name_is_offered),
        cmocka_unit_test(what_comes_later_changes_nothing_before),
        cmocka_unit_test(who_learns_looks_at_every_step_before_the_start_and_not_after),
        cmocka_unit_test(moving_costs_by_distance),
        cmocka_unit_test(static_keeps_what_was_cheapest_at_the_start),
        cmocka_unit_test(periodic_goes_to_the_cheapest_once_a_day),
        cmocka_unit_test(uniform_falls_back_on_demand_when_it_is_behind_and_returns_to_spot),
        cmocka_unit_test(shoal_waits_out_what_is_dear_when_there_is_time),
        cmocka_unit_test(shoal_learns_from_prices_before_the_start),
        cmocka_unit_test(shoal_forgets_soon_when_the_job_is_short),
        cmocka_unit_test(shoal_moves_for_a_lasting_difference_and_not_for_a_small_one),
        cmocka_unit_test(shoal_waits_for_what_has_just_gone_and_not_for_what_stays_away),
        cmocka_unit_test(shoal_finishes_without_a_deadline_too),
        cmocka_unit_test(shoal_does_a_job_that_is_shorter_than_its_start_up),
        cmocka_unit_test(shoal_finishes_without_a_deadline_when_static_does),
        cmocka_unit_test(the_time_left_of_what_ends_at_one_rate_is_that_rate_s),
        cmocka_unit_test(what_has_lasted_longer_lasts_longer_when_nothing_is_known),
        cmocka_unit_test(every_age_is_in_its_bin_from_whichever_bin_it_is_looked_for),
        cmocka_unit_test(ages_are_counted_from_the_last_change_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
