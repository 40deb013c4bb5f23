/* Tests of src/sim/prices.c: the cheapest offer of a kind at each time, and what runs make of it. */
#include "unit/sim/run_world.h"

#include "base/assert.h"
#include "property.h"
#include <stdlib.h>

enum { OFFERS_MAX = 6, POINTS_MAX = 64, SPAN_S = 400 };

/* A history made by hand: the fields prices.h gives, without a file. */
struct history {
    struct market_prices market;
    struct market_offer offers[OFFERS_MAX];
    struct market_point points[OFFERS_MAX * POINTS_MAX];
};

static uint32_t name(struct market_names *names, const char *text)
{
    uint32_t index = (uint32_t)names->map.count;
    struct base_map_entry *old = NULL;
    shoal_status st = base_map_add(&names->map, text, strlen(text), index, &old);

    assert_true(st == SHOAL_OK || st == SHOAL_E_EXISTS);
    return st == SHOAL_OK ? index : (uint32_t)old->value;
}

static void history_init(struct history *h, double from_s, double to_s)
{
    memset(h, 0, sizeof *h);
    base_map_init(&h->market.kinds.map, &base_alloc_libc);
    base_map_init(&h->market.accelerators.map, &base_alloc_libc);
    h->market.offers = h->offers;
    h->market.points = h->points;
    h->market.from_s = from_s;
    h->market.to_s = to_s;
}

static void history_fini(struct history *h)
{
    base_map_fini(&h->market.kinds.map);
    base_map_fini(&h->market.accelerators.map);
}

static void offer(struct history *h, const char *kind, const char *accelerator, double accelerators)
{
    h->offers[h->market.offer_count++] = (struct market_offer){
        .kind = name(&h->market.kinds, kind),
        .accelerator = accelerator != NULL ? name(&h->market.accelerators, accelerator)
                                           : (uint32_t)MARKET_NONE,
        .accelerators = accelerators,
        .first = h->market.point_count,
    };
}

static void point(struct history *h, double at_s, double usd_h)
{
    h->points[h->market.point_count++] = (struct market_point){at_s, usd_h};
    h->offers[h->market.offer_count - 1].count++;
}

static struct sim_prices *make(const struct history *h, const struct sched_cluster *cluster,
                               double from_s)
{
    struct sim_prices *prices = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    if (sim_prices_new(&base_alloc_libc, &h->market, cluster, from_s, &prices, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    return prices;
}

/* Looks at every offer and every point. */
static double naive_price(const struct history *h, const char *kind, double at_s, double fallback)
{
    double least = INFINITY;

    for (size_t o = 0; o < h->market.offer_count; o++) {
        const struct market_offer *of = &h->offers[o];
        double price = NAN;
        if (strcmp(h->market.kinds.map.entries[of->kind].key, kind) != 0 &&
            (of->accelerator == MARKET_NONE ||
             strcmp(h->market.accelerators.map.entries[of->accelerator].key, kind) != 0))
            continue;
        for (size_t p = 0; p < of->count; p++)
            if (h->points[of->first + p].at_s <= at_s)
                price = h->points[of->first + p].usd_h / of->accelerators;
        if (price < least)
            least = price;
    }
    return isinf(least) ? fallback : least;
}

static void random_history(struct history *h, struct base_rand *r)
{
    static const char *const kinds[] = {"a.1", "a.8", "b.1"};
    size_t offers = 1 + base_rand_below(r, OFFERS_MAX);

    history_init(h, 1000, 1000 + SPAN_S);
    for (size_t o = 0; o < offers; o++) {
        size_t k = o == 0 ? 0 : base_rand_below(r, 3);
        offer(h, kinds[k], k < 2 ? "a" : NULL, k == 1 ? 8 : 1);
        double at_s = 1000;
        for (size_t p = base_rand_below(r, POINTS_MAX); p > 0; p--) {
            at_s += 1 + (double)base_rand_below(r, 12);
            double usd = (double)(1 + base_rand_below(r, 40)) / 8;
            point(h, at_s, base_rand_below(r, 8) == 0 ? (double)NAN : usd);
        }
    }
}

static void the_mean_equals_the_sum_of_every_second(void **state)
{
    struct base_rand r;
    struct sched_cluster cluster;

    (void)state;
    base_rand_init(&r, 7, "prices");
    assert_int_equal(
        sched_cluster_parse(&base_alloc_libc, "1x1:a:usd=9,1x1:b.1,1x1:a.8", &cluster, NULL),
        SHOAL_OK);
    for (int i = 0; i < property_count(300); i++) {
        static const char *const names[] = {"a", "b.1", "a.8"};
        struct history h;
        random_history(&h, &r);
        struct sim_prices *prices = make(&h, &cluster, 1000);
        for (int q = 0; q < 40; q++) {
            uint32_t k = (uint32_t)base_rand_below(&r, 3);
            double from = (double)base_rand_below(&r, SPAN_S) - 20;
            double to = from + 1 + (double)base_rand_below(&r, 60);
            double sum = 0, fallback = k == 0 ? 9 : -1;
            bool known = true;
            for (double t = from; t < to; t++) {
                double price = naive_price(&h, names[k], 1000 + t, fallback);
                known = known && price >= 0;
                sum += price;
            }
            double mean = sim_prices_mean(prices, k, from, to);
            if (known)
                assert_true(fabs(mean - sum / (to - from)) <= 1e-12 * sum);
            else
                assert_true(mean < 0);
            struct sched_kind now[SCHED_KINDS_MAX] = {{.usd_gpu_h = -2}};
            assert_true(sim_prices_set(prices, from, now));
            assert_true(now[k].usd_gpu_h == naive_price(&h, names[k], 1000 + from, fallback));
            assert_false(sim_prices_set(prices, from, now));
        }
        sim_prices_free(prices);
        history_fini(&h);
    }
    sched_cluster_fini(&cluster);
}

static double cost(struct run_world *w, const struct sim_prices *prices, const char *policy)
{
    struct sim_opts o = run_world_opts(policy);

    o.prices = prices;
    struct sim_result *r = run_world_run(w, &o);
    double usd = r->metrics.cost_usd;
    assert_ptr_equal(r->cluster, &w->cluster); /* not the run's copy */
    sim_result_free(r);
    return usd;
}

static void a_constant_history_costs_exactly_what_usd_says(void **state)
{
    struct run_world with, without;
    struct history h;

    (void)state;
    run_world_init(&with, "4x4:t4:usd=0.7231");
    run_world_init(&without, "4x4:t4");
    run_world_generate(&with, 3, 60, 16, 20000);
    run_world_generate(&without, 3, 60, 16, 20000);
    history_init(&h, 5000, 6000);
    offer(&h, "g4dn.xlarge", "T4", 1);
    point(&h, 5000, 0.7231);
    struct sim_prices *prices = make(&h, &without.cluster, 5000);
    assert_int_equal(prices->kinds[0].offers, 1);
    assert_true(cost(&with, NULL, "las") > 0);
    assert_true(cost(&with, NULL, "las") == cost(&without, prices, "las"));
    assert_true(cost(&with, NULL, "shoal") == cost(&without, prices, "shoal"));
    sim_prices_free(prices);
    history_fini(&h);
    run_world_fini(&with);
    run_world_fini(&without);
}

/* One job of 2 GPUs from 0 (30 s of start, 7,200 s of work): $1 in the first hour, $4 after. */
static void a_job_pays_what_each_hour_costs(void **state)
{
    struct run_world w;
    struct history h;

    (void)state;
    run_world_init(&w, "1x2:t4");
    run_world_csv(&w, RUN_HEAD "a,0,2,7200\n", NULL);
    history_init(&h, 0, 3600);
    offer(&h, "g4dn.2x", "t4", 2);
    point(&h, 0, 2);
    point(&h, 3600, 8);
    struct sim_prices *prices = make(&h, &w.cluster, 0);
    run_near(cost(&w, prices, "fifo"), 2 * (1 + 4 * 3630 / 3600.0), 1e-9);
    sim_prices_free(prices);
    history_fini(&h);
    run_world_fini(&w);
}

static void time_without_an_offer_or_a_price_has_no_cost(void **state)
{
    struct run_world w;
    struct history h;

    (void)state;
    run_world_init(&w, "1x2:thing");
    run_world_csv(&w, RUN_HEAD "a,0,2,7200\n", NULL);
    history_init(&h, 0, 9000);
    offer(&h, "thing", NULL, 0);
    point(&h, 0, 2);
    point(&h, 3600, (double)NAN);
    point(&h, 3700, 2);
    struct sim_prices *prices = make(&h, &w.cluster, 0);
    assert_true(prices->kinds[0].whole);
    assert_true(prices->kinds[0].unpriced_s == 100);
    assert_true(isnan(cost(&w, prices, "fifo")));
    sim_prices_free(prices);
    w.cluster.kinds[0].usd_gpu_h = 2; /* as usd= would have said: it fills the gap */
    prices = make(&h, &w.cluster, 0);
    run_near(cost(&w, prices, "fifo"), 2 * 2 * 7230 / 3600.0, 1e-9);
    sim_prices_free(prices);
    history_fini(&h);
    run_world_fini(&w);
}

/* k80 does half of what v100 does: worth it at a quarter of the price, not at the same. */
static void the_cost_policy_follows_the_prices(void **state)
{
    struct run_world w;
    struct history h;
    struct run_event e;
    size_t at = 0;
    double k80_s = NAN;

    (void)state;
    run_world_init(&w, "1x1:v100,1x1:k80");
    world_put(w.env, "t.json",
              "{\"v100\": {\"('A', 1)\": {\"null\": 10}}, \"k80\": {\"('A', 1)\": {\"null\": 5}}}");
    run_world_csv(&w, "#shoal-trace v1\nname,submit_s,gpus,model,steps\na,0,1,A,100000\n",
                  "t.json");
    history_init(&h, 0, 7200);
    offer(&h, "v100", NULL, 1);
    point(&h, 0, 4);
    point(&h, 5400, 1);
    offer(&h, "k80", NULL, 1);
    point(&h, 0, 1);
    struct sim_prices *prices = make(&h, &w.cluster, 0);
    struct sim_opts o = run_world_opts("cost");
    o.prices = prices;
    o.shares = true;
    struct sim_result *r = run_world_run(&w, &o);
    while (run_event_next(&w.log, &at, &e)) {
        const json_t *wanted = json_object_get(e.json, "wanted_s");
        if (wanted != NULL)
            k80_s = json_number_value(json_object_get(wanted, "k80"));
        run_event_fini(&e);
    }
    assert_true(k80_s ==
                5400); /* its share until the price fell; where it ran is the placement's */
    sim_result_free(r);
    sim_prices_free(prices);
    history_fini(&h);
    run_world_fini(&w);
}

static void a_history_of_other_kinds_is_refused(void **state)
{
    struct sched_cluster cluster;
    struct history h;
    struct sim_prices *prices = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(sched_cluster_parse(&base_alloc_libc, "1x1:t4,1x1:k80", &cluster, NULL),
                     SHOAL_OK);
    history_init(&h, 0, 1);
    offer(&h, "p3.2xlarge", "V100", 1);
    point(&h, 0, 1);
    assert_int_equal(sim_prices_new(&base_alloc_libc, &h.market, &cluster, 0, &prices, &err),
                     SHOAL_E_NOTFOUND);
    assert_null(prices);
    assert_non_null(strstr(err.message, "'t4'"));
    assert_non_null(strstr(err.hint, "V100"));
    history_fini(&h);
    sched_cluster_fini(&cluster);
}

static shoal_status make_and_free(const struct base_alloc *alloc, void *ctx)
{
    struct sched_cluster cluster;
    struct sim_prices *prices = NULL;
    shoal_status st = sched_cluster_parse(alloc, "1x1:a,1x1:b", &cluster, NULL);

    if (st != SHOAL_OK)
        return st;
    st = sim_prices_new(alloc, ctx, &cluster, 0, &prices, NULL);
    sim_prices_free(prices);
    sched_cluster_fini(&cluster);
    return st;
}

static void every_failed_allocation_is_an_error(void **state)
{
    struct history h;

    (void)state;
    history_init(&h, 0, 1);
    offer(&h, "a", NULL, 1);
    point(&h, 0, 1);
    torture_run(make_and_free, &h.market);
    history_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_equals_the_sum_of_every_second),
        cmocka_unit_test(a_constant_history_costs_exactly_what_usd_says),
        cmocka_unit_test(a_job_pays_what_each_hour_costs),
        cmocka_unit_test(time_without_an_offer_or_a_price_has_no_cost),
        cmocka_unit_test(the_cost_policy_follows_the_prices),
        cmocka_unit_test(a_history_of_other_kinds_is_refused),
        cmocka_unit_test(every_failed_allocation_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
