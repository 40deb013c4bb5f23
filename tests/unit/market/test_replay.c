/* Tests of src/market/replay.c and its parts. */
#include "property.h"
#include "small_world.h"
#include "torture.h"
#include "unit/market/market_world.h"

#include "base/alloc.h"
#include "market/replay_pace.h"
#include <stdlib.h>

static struct small_world world;
static const struct small_shape shape = {5, 2, 30, 20000, 400, 0.4};
static const struct market_strategy *const wander = &small_wander;

static struct market_result replay(size_t jobs, const struct market_strategy *strategy,
                                   const struct market_limit *limits, size_t limit_count)
{
    _Alignas(16) char knobs[512];
    struct market_result r;
    shoal_err err = SHOAL_ERR_INIT;
    struct market_replay_opts opts = {.strategy = strategy,
                                      .knobs = knobs,
                                      .step_s = 300,
                                      .limits = limits,
                                      .limit_count = limit_count};

    assert_true(strategy->knobs_size <= sizeof knobs);
    base_opt_defaults(strategy->opts, strategy->opt_count, knobs);
    shoal_status st =
        market_replay(&base_alloc_libc, &world.market, world.jobs, jobs, &opts, &r, &err);
    if (st != SHOAL_OK)
        fail_msg("%s", err.message);
    return r;
}

/* --- the reference: one job, second by second, as replay.h tells it --- */

struct slow {
    double usd, egress, kept, lost;
    double at[4]; /* seconds of spot, on demand, starting, idle */
    uint32_t interruptions;
    double finish_s;
    /* where it is */
    uint32_t held, checkpoint, target;
    bool leaving;
    double start_left, leave_left, run_s;
};

static double slow_price(uint32_t offer, double at_s)
{
    size_t cursor = 0;

    return market_price_at(&world.prices, offer, at_s, &cursor, NULL);
}

static bool slow_better(double at_s)
{
    for (uint32_t o = 0; o < world.prices.offer_count; o++) {
        double a = slow_price(o, at_s - 1), b = slow_price(o, at_s);
        if (b < a || (isnan(a) && !isnan(b)))
            return true;
    }
    return false;
}

static void slow_end(struct slow *s, double gain)
{
    bool ran = s->start_left == 0;

    s->kept += gain;
    if (ran && s->kept > 0)
        s->checkpoint = s->held;
    s->held = MARKET_NONE;
    s->leaving = false;
}

static void slow_begin(struct slow *s, uint32_t offer)
{
    double egress =
        market_move_usd(&world.prices, &world.jobs[0], &world.costs, s->checkpoint, offer);

    s->held = offer;
    s->start_left =
        market_move_s(&world.prices, &world.jobs[0], &world.costs, s->checkpoint, offer);
    s->run_s = 0;
    s->usd += egress;
    s->egress += egress;
}

/* Steps made and saved by counting seconds. */
static void slow_count(double run_s, double *made, double *saved)
{
    double speed = world.speed[0],
           cycle = world.costs.checkpoint_every_s + world.costs.checkpoint_s;
    double in_cycle = 0;

    *made = *saved = 0;
    for (int t = 0; t < (int)run_s; t++) {
        if (in_cycle < world.costs.checkpoint_every_s)
            *made += speed;
        in_cycle++;
        if (in_cycle == cycle) {
            in_cycle = 0;
            *saved = *made;
        }
    }
}

static void slow_interrupt(struct slow *s)
{
    double made, saved, before, unused;
    double told = s->run_s + (s->leaving ? world.costs.checkpoint_s - s->leave_left : 0) -
                  world.costs.checkpoint_s;

    slow_count(s->run_s, &made, &saved);
    slow_count(fmax(0, fmin(s->run_s, told)), &before, &unused);
    if (world.costs.notice_s >= world.costs.checkpoint_s) {
        saved = fmax(saved, before);
        made = saved;
    }
    s->lost += made - saved;
    s->interruptions++;
    slow_end(s, s->start_left > 0 ? 0 : saved);
}

static void slow_decide(struct slow *s, double now)
{
    uint32_t candidates[SMALL_OFFERS], up[SMALL_OFFERS], best = MARKET_NONE;
    double usd[SMALL_OFFERS], score[SMALL_OFFERS], idle, made, saved;
    struct market_view v = {.job = &world.jobs[0],
                            .now_s = now,
                            .usd_h = usd,
                            .up = up,
                            .candidates = candidates,
                            .candidate_count = world.prices.offer_count};

    for (uint32_t o = 0; o < v.candidate_count; o++) {
        candidates[o] = o;
        usd[o] = slow_price(o, now);
        up[o] = isnan(usd[o]) ? 0 : MARKET_UNLIMITED;
    }
    small_wander_score(NULL, NULL, &v, score, &idle);
    for (uint32_t o = 0; o < v.candidate_count; o++) {
        if (score[o] < idle) {
            idle = score[o];
            best = o;
        }
    }
    if (s->held != MARKET_NONE && best != s->held && s->start_left == 0) {
        s->leaving = true;
        s->leave_left = world.costs.checkpoint_s;
        s->target = best;
        if (s->leave_left == 0) {
            slow_count(s->run_s, &made, &saved);
            slow_end(s, made);
        }
    } else if (s->held != MARKET_NONE && best != s->held) {
        slow_end(s, 0);
    }
    if (s->held == MARKET_NONE && best != MARKET_NONE)
        slow_begin(s, best);
}

/* One second in a place. */
static void slow_second(struct slow *s, double now)
{
    bool spot = s->held != MARKET_NONE && world.offers[s->held].how == MARKET_SPOT;

    if (s->held == MARKET_NONE) {
        s->at[3]++;
        return;
    }
    s->usd += slow_price(s->held, now) / 3600;
    if (s->start_left > 0) {
        s->start_left--;
        s->at[2]++;
        return;
    }
    s->at[spot ? 0 : 1]++;
    if (s->leaving)
        s->leave_left--;
    else
        s->run_s++;
}

static struct slow slow_replay(double step_s)
{
    struct slow s = {.held = MARKET_NONE, .checkpoint = MARKET_NONE, .finish_s = NAN};

    for (int second = 0; second < (int)world.prices.to_s; second++) {
        double now = second;
        double made, saved;
        bool ask = fmod(now, step_s) == 0, wake = now > 0 && slow_better(now);
        if (s.held != MARKET_NONE && s.start_left == 0 && !s.leaving) {
            slow_count(s.run_s, &made, &saved);
            if (s.kept + made >= world.jobs[0].work) {
                s.kept = world.jobs[0].work;
                s.finish_s = now;
                return s;
            }
        }
        if (s.held != MARKET_NONE && s.leaving && s.leave_left == 0) {
            slow_count(s.run_s, &made, &saved);
            slow_end(&s, made);
            if (s.target != MARKET_NONE && !isnan(slow_price(s.target, now)))
                slow_begin(&s, s.target);
            else
                ask = true;
        }
        if (s.held != MARKET_NONE && isnan(slow_price(s.held, now))) {
            slow_interrupt(&s);
            ask = true;
        }
        if (!s.leaving && (ask || (wake && s.held == MARKET_NONE)))
            slow_decide(&s, now);
        slow_second(&s, now);
    }
    return s;
}

static void a_replay_is_what_a_walk_second_by_second_gives(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "replay");
    for (int n = 0; n < property_count(40); n++) {
        small_world(&world, &rand, &shape);
        world.prices.to_s = 6000;
        for (size_t k = 1; k < SMALL_KINDS; k++)
            world.speed[k] = world.speed[0]; /* the reference knows one speed */
        world.jobs[0].checkpoint_gb = (double)(4 * base_rand_below(&rand, 3)); /* whole seconds */
        world.jobs[0].work = 100 + (double)base_rand_below(&rand, 6000);
        struct market_result r = replay(1, wander, NULL, 0);
        struct slow s = slow_replay(300);
        const struct market_outcome *o = &r.jobs[0];
        assert_true(isnan(o->finish_s) == isnan(s.finish_s));
        assert_true(isnan(s.finish_s) ||
                    (o->finish_s <= s.finish_s && o->finish_s > s.finish_s - 1));
        double rate = 6 / 3600.0; /* the job may end within the second */
        assert_true(fabs(o->usd - s.usd) <= rate + 1e-9);
        assert_true(fabs(o->egress_usd - s.egress) < 1e-9);
        assert_int_equal(o->interruptions, s.interruptions);
        assert_true(fabs(o->lost_steps - s.lost) < 1e-6);
        assert_true(isnan(s.finish_s) || fabs(o->steps - s.kept) < 1e-6);
        assert_true(fabs(o->spot_s - s.at[0]) <= 1 && fabs(o->on_demand_s - s.at[1]) <= 1);
        assert_true(fabs(o->starting_s - s.at[2]) <= 1 && fabs(o->idle_s - s.at[3]) <= 1);
        market_result_fini(&r);
    }
}

/* --- what always holds --- */

static void check_sums(const struct market_result *r)
{
    double usd = 0;

    for (size_t i = 0; i < r->job_count; i++) {
        const struct market_outcome *o = &r->jobs[i];
        double span = o->end_s - world.jobs[i].start_s, sum = 0, steps = 0, last = -INFINITY;
        assert_true(fabs(o->spot_s + o->on_demand_s + o->starting_s + o->idle_s - span) < 1e-6);
        for (size_t k = 0; k < o->stay_count; k++) {
            const struct market_stay *s = &o->stays[k];
            assert_true(s->from_s >= last && s->to_s >= s->from_s && s->steps >= 0);
            last = s->to_s;
            sum += s->usd + s->egress_usd;
            steps += s->steps;
        }
        assert_true(fabs(sum - o->usd) < 1e-9 * (1 + sum));
        assert_true(fabs(steps - o->steps) < 1e-6 * (1 + steps));
        assert_true(isnan(o->finish_s) ? o->steps < world.jobs[i].work + 1e-6
                                       : fabs(o->steps - world.jobs[i].work) < 1e-6);
        usd += o->usd;
    }
    assert_true(fabs(usd - r->usd) < 1e-9 * (1 + usd));
}

/* Instances held of what a limit matches, just after an instant. */
static uint32_t held_at(const struct market_result *r, const struct market_limit *limit,
                        double at_s)
{
    uint32_t held = 0;

    for (size_t i = 0; i < r->job_count; i++) {
        for (size_t k = 0; k < r->jobs[i].stay_count; k++) {
            const struct market_stay *s = &r->jobs[i].stays[k];
            const struct market_offer *o = &world.offers[s->offer];
            bool now = s->from_s <= at_s && at_s < s->to_s;
            bool in = (limit->cloud == MARKET_NONE || limit->cloud == o->cloud) &&
                      (limit->region == MARKET_NONE || limit->region == o->region) &&
                      (limit->zone == MARKET_NONE || limit->zone == o->zone) &&
                      (limit->kind == MARKET_NONE || limit->kind == o->kind);
            held += now && in ? world.jobs[i].instances : 0;
        }
    }
    return held;
}

static void time_money_and_steps_add_up_and_limits_hold(void **state)
{
    struct base_rand rand;
    size_t count;
    const struct market_strategy *const *rows = market_strategies(&count);

    (void)state;
    base_rand_init(&rand, 2, "replay");
    for (int n = 0; n < property_count(60); n++) {
        small_world(&world, &rand, &shape);
        struct market_limit limits[] = {
            {MARKET_NONE, MARKET_NONE, MARKET_NONE, MARKET_NONE, 4},
            {(uint32_t)base_rand_below(&rand, 2), MARKET_NONE, MARKET_NONE, MARKET_NONE, 2},
            {MARKET_NONE, MARKET_NONE, MARKET_NONE, (uint32_t)base_rand_below(&rand, 3), 1}};
        size_t jobs = 1 + base_rand_below(&rand, SMALL_JOBS);
        for (size_t j = 0; j < jobs; j++) {
            world.jobs[j].instances = 1 + (uint32_t)base_rand_below(&rand, 2);
            world.jobs[j].work = 500 + (double)base_rand_below(&rand, 20000);
            world.jobs[j].start_s = (double)base_rand_below(&rand, 3000);
            if (base_rand_unit(&rand) < 0.5)
                world.jobs[j].deadline_s = 4000 + (double)base_rand_below(&rand, 15000);
        }
        const struct market_strategy *s =
            (size_t)n % (count + 1) == count ? wander : rows[(size_t)n % (count + 1)];
        struct market_result r = replay(jobs, s, limits, 3);
        check_sums(&r);
        for (size_t l = 0; l < 3; l++) {
            for (size_t i = 0; i < r.job_count; i++) {
                for (size_t k = 0; k < r.jobs[i].stay_count; k++)
                    assert_true(held_at(&r, &limits[l], r.jobs[i].stays[k].from_s) <=
                                limits[l].instances);
            }
        }
        struct market_result again = replay(jobs, s, limits, 3);
        assert_true(again.usd == r.usd && again.decisions == r.decisions &&
                    again.moves == r.moves && again.interruptions == r.interruptions);
        market_result_fini(&again);
        market_result_fini(&r);
    }
}

/* Three zones of one kind with counts that come and go, and the kind on demand. */
static const char fleet_rows[] = "2024-01-01,aws,us-east-1a,p3.2xlarge,spot,1\n"
                                 "2024-01-01,aws,us-east-1b,p3.2xlarge,spot,1.1\n"
                                 "2024-01-01,aws,us-west-2a,p3.2xlarge,spot,1.2\n"
                                 "2024-01-01,aws,us-west-2a,p3.2xlarge,on-demand,3\n"
                                 "2024-02-01,aws,us-east-1a,p3.2xlarge,spot,1\n";

/* Instances of an offer that the jobs hold just after an instant. */
static uint32_t fleet_holds(const struct market_result *r, const struct market_job *jobs,
                            uint32_t offer, double at_s)
{
    uint32_t held = 0;

    for (size_t i = 0; i < r->job_count; i++) {
        for (size_t k = 0; k < r->jobs[i].stay_count; k++) {
            const struct market_stay *s = &r->jobs[i].stays[k];
            if (s->offer == offer && s->from_s <= at_s && at_s < s->to_s)
                held += jobs[i].instances;
        }
    }
    return held;
}

static void a_fleet_never_holds_more_than_is_up_and_meets_its_deadlines(void **state)
{
    shoal_env *env = world_new();
    struct market_prices *prices = world_rows(env, fleet_rows);
    const struct market_costs costs = MARKET_COSTS_INIT;
    struct base_rand rand;
    size_t count, shared = 0;
    const struct market_strategy *const *rows = market_strategies(&count);
    double speed[] = {1};

    (void)state;
    base_rand_init(&rand, 8, "replay");
    for (int n = 0; n < property_count(24); n++) {
        struct market_avail *avail = NULL;
        struct market_job jobs[5];
        struct market_result r;
        const struct market_strategy *s = rows[(size_t)n % count];
        _Alignas(16) char knobs[512];
        struct market_replay_opts opts = {.strategy = s, .knobs = knobs, .step_s = 900};
        assert_int_equal(
            market_avail_draw(prices, 4 * 3600, 2 * 3600, 3, (uint64_t)n, &avail, NULL), SHOAL_OK);
        base_opt_defaults(s->opts, s->opt_count, knobs);
        for (size_t j = 0; j < 5; j++)
            jobs[j] = (struct market_job){.name = "job",
                                          .work = 86400 + (double)base_rand_below(&rand, 200000),
                                          .start_s = WORLD_2024 + 3600 * (double)j,
                                          .deadline_s = WORLD_2024 + 20 * 86400,
                                          .budget_usd = INFINITY,
                                          .instances = 1 + (uint32_t)(j % 2),
                                          .speed = speed,
                                          .checkpoint_gb = 2};
        assert_int_equal(market_replay(&base_alloc_libc,
                                       &(struct market_world){prices, avail, &costs, NULL}, jobs, 5,
                                       &opts, &r, NULL),
                         SHOAL_OK);
        assert_int_equal(r.missed + r.unfinished, 0);
        for (size_t i = 0; i < 5; i++) {
            for (size_t k = 0; k < r.jobs[i].stay_count; k++) {
                const struct market_stay *stay = &r.jobs[i].stays[k];
                if (prices->offers[stay->offer].how != MARKET_SPOT)
                    continue;
                uint32_t held = fleet_holds(&r, jobs, stay->offer, stay->from_s);
                assert_true(held <= market_avail_at(avail, stay->offer, stay->from_s, NULL, NULL));
                shared += held > jobs[i].instances;
                double at = stay->from_s, until = at;
                while (at < stay->to_s) {
                    uint32_t up = market_avail_at(avail, stay->offer, at, NULL, &until);
                    assert_true(up >= jobs[i].instances);
                    at = until;
                }
            }
        }
        market_result_fini(&r);
        market_avail_free(avail);
    }
    assert_true(shared > 0); /* some offers were shared */
    market_prices_free(prices);
    shoal_env_free(env);
}

static void no_deadline_that_on_demand_could_meet_is_missed(void **state)
{
    struct base_rand rand;
    size_t count;
    const struct market_strategy *const *rows = market_strategies(&count);
    int guarded = 0;

    (void)state;
    base_rand_init(&rand, 3, "replay");
    for (int n = 0; n < property_count(300); n++) {
        small_world(&world, &rand, &shape);
        double fastest = fmax(world.speed[world.offers[5].kind], world.speed[world.offers[6].kind]);
        double run_s = 300 + (double)base_rand_below(&rand, 8000);
        struct market_pace pace = {fastest, world.costs.checkpoint_every_s,
                                   world.costs.checkpoint_s};
        world.jobs[0].work = fastest * run_s;
        world.jobs[0].deadline_s = world.costs.startup_s + market_pace_s(pace, fastest * run_s) +
                                   61 + (double)base_rand_below(&rand, 3000);
        const struct market_strategy *s =
            (size_t)n % (count + 1) == count ? wander : rows[(size_t)n % (count + 1)];
        struct market_result r = replay(1, s, NULL, 0);
        check_sums(&r);
        if (r.missed != 0)
            fail_msg("case %d: %s finished at %.1f, after %.1f", n, s->name, r.jobs[0].finish_s,
                     world.jobs[0].deadline_s);
        assert_int_equal(r.unfinished, 0);
        guarded += r.jobs[0].guarded;
        market_result_fini(&r);
    }
    assert_true(guarded > property_count(300) / 4); /* the guard was needed often */
}

/* The way on demand gets longer the moment a job has come to another place. */
static void a_heavy_checkpoint_makes_no_job_late(void **state)
{
    static const struct small_shape often = {5, 2, 38, 20000, 250, 0.5};
    struct base_rand rand;
    int guarded = 0;

    (void)state;
    base_rand_init(&rand, 6, "replay");
    for (int n = 0; n < property_count(600); n++) {
        small_world(&world, &rand, &often);
        world.prices.to_s = 1e6; /* past every deadline */
        world.jobs[0].checkpoint_gb = (double)base_rand_below(&rand, 300);
        world.costs.checkpoint_s = (double)base_rand_below(&rand, 60);
        double fastest = fmax(world.speed[world.offers[5].kind], world.speed[world.offers[6].kind]);
        struct market_pace pace = market_pace(&world.costs, fastest);
        world.jobs[0].work = fastest * (300 + (double)base_rand_below(&rand, 8000));
        world.jobs[0].deadline_s = world.costs.startup_s + market_pace_s(pace, world.jobs[0].work) +
                                   1 + (double)base_rand_below(&rand, 3000);
        struct market_replay_opts opts = {.strategy = wander, .step_s = n % 2 == 0 ? 300 : 1800};
        struct market_result r;
        assert_int_equal(
            market_replay(&base_alloc_libc, &world.market, world.jobs, 1, &opts, &r, NULL),
            SHOAL_OK);
        check_sums(&r);
        if (r.missed != 0 || r.unfinished != 0)
            fail_msg("case %d: finished at %.1f, due at %.1f", n, r.jobs[0].finish_s,
                     world.jobs[0].deadline_s);
        guarded += r.jobs[0].guarded;
        market_result_fini(&r);
    }
    assert_true(guarded > property_count(600) / 4);
}

static void a_budget_is_never_overspent_and_stops_the_job(void **state)
{
    struct base_rand rand;
    int broke = 0;

    (void)state;
    base_rand_init(&rand, 4, "replay");
    for (int n = 0; n < property_count(100); n++) {
        small_world(&world, &rand, &shape);
        world.jobs[0].work = 9000;
        world.jobs[0].budget_usd = base_rand_range(&rand, 0.01, 4);
        struct market_result r = replay(1, wander, NULL, 0);
        check_sums(&r);
        assert_true(r.usd <= world.jobs[0].budget_usd * (1 + 1e-9));
        assert_true(!r.jobs[0].broke || isnan(r.jobs[0].finish_s));
        assert_true(!r.jobs[0].broke || r.usd > world.jobs[0].budget_usd - 1e-5);
        broke += r.jobs[0].broke;
        market_result_fini(&r);
    }
    assert_true(broke > property_count(100) / 10);
}

static void a_change_of_price_is_paid_as_it_comes(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 5, "replay");
    small_world(&world, &rand, &(struct small_shape){1, 0, 1, 100000, 100, 0});
    world.points[0] = (struct market_point){0, 3.6};
    world.points[1] = (struct market_point){1000, 7.2};
    world.offers[0].count = 2;
    world.prices.point_count = 2;
    world.costs.startup_s = 100;
    world.costs.checkpoint_s = 0;
    world.jobs[0].work = world.speed[world.offers[0].kind] * 1900;
    struct market_result r = replay(1, market_strategy_find("static", NULL), NULL, 0);
    assert_true(fabs(r.usd - (1000 * 0.001 + 1000 * 0.002)) < 1e-9);
    assert_true(fabs(r.jobs[0].finish_s - 2000) < 1e-6);
    market_result_fini(&r);
}

static void jobs_that_nothing_can_run_and_bad_numbers_are_refused_in_words(void **state)
{
    struct base_rand rand;
    struct market_result r;
    shoal_err err = SHOAL_ERR_INIT;
    struct market_replay_opts opts = {.strategy = wander, .step_s = 300};
    double none[SMALL_KINDS] = {0};

    (void)state;
    base_rand_init(&rand, 6, "replay");
    small_world(&world, &rand, &shape);
    world.jobs[0].speed = none;
    assert_int_equal(market_replay(&base_alloc_libc, &world.market, world.jobs, 1, &opts, &r, &err),
                     SHOAL_E_INVAL);
    assert_non_null(strstr(err.message, "can run on none"));
    world.jobs[0].speed = world.speed;
    world.jobs[0].work = NAN;
    assert_int_equal(market_replay(&base_alloc_libc, &world.market, world.jobs, 1, &opts, &r, &err),
                     SHOAL_E_INVAL);
    world.jobs[0].work = 1;
    opts.step_s = 0;
    assert_int_equal(market_replay(&base_alloc_libc, &world.market, world.jobs, 1, &opts, &r, &err),
                     SHOAL_E_INVAL);
}

static shoal_status replay_three(const struct base_alloc *alloc, void *ctx)
{
    const struct market_limit limit = {MARKET_NONE, MARKET_NONE, MARKET_NONE, MARKET_NONE, 2};
    struct market_result r = {0};
    struct market_replay_opts opts = {
        .strategy = wander, .step_s = 300, .limits = &limit, .limit_count = 1};

    (void)ctx;
    shoal_status st = market_replay(alloc, &world.market, world.jobs, 3, &opts, &r, NULL);
    market_result_fini(&r);
    return st;
}

static void stop_when_it_is_late(void *ctx, double at_s)
{
    atomic_store((atomic_bool *)ctx, at_s >= 1500);
}

static void a_replay_that_is_stopped_says_so_and_leaves_nothing(void **state)
{
    atomic_bool stop = false;
    struct market_replay_opts opts = {.strategy = &small_wander,
                                      .step_s = 300,
                                      .tick = stop_when_it_is_late,
                                      .ctx = &stop,
                                      .stop = &stop};
    struct market_result r = {.usd = -1};
    struct base_rand rand;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    base_rand_init(&rand, 8, "replay");
    small_world(&world, &rand, &shape);
    world.jobs[0].work = 1e9;
    assert_int_equal(market_replay(&base_alloc_libc, &world.market, world.jobs, 1, &opts, &r, &err),
                     SHOAL_E_CANCELLED);
    assert_true(r.usd == -1 && err.code == SHOAL_E_CANCELLED && atomic_load(&stop));
}

static void every_failed_allocation_ends_in_an_error(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 7, "replay");
    small_world(&world, &rand, &shape);
    world.prices.to_s = 3000;
    torture_run_sampled(replay_three, NULL, 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replay_is_what_a_walk_second_by_second_gives),
        cmocka_unit_test(time_money_and_steps_add_up_and_limits_hold),
        cmocka_unit_test(a_fleet_never_holds_more_than_is_up_and_meets_its_deadlines),
        cmocka_unit_test(no_deadline_that_on_demand_could_meet_is_missed),
        cmocka_unit_test(a_heavy_checkpoint_makes_no_job_late),
        cmocka_unit_test(a_budget_is_never_overspent_and_stops_the_job),
        cmocka_unit_test(a_change_of_price_is_paid_as_it_comes),
        cmocka_unit_test(jobs_that_nothing_can_run_and_bad_numbers_are_refused_in_words),
        cmocka_unit_test(a_replay_that_is_stopped_says_so_and_leaves_nothing),
        cmocka_unit_test(every_failed_allocation_ends_in_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
