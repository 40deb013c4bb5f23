/* Tests of src/market/avail*.c; files that are refused are in test_avail_trace.c. */
#include "unit/market/market_world.h"

#include "market/avail.h"
#include "market/when.h"
#include <stdlib.h>

#define HOUR 3600.0

/* Offers in several regions; p3.2xlarge is one V100, p3.16xlarge eight. */
static const char rows[] = "2024-01-01,aws,us-east-1a,p3.2xlarge,spot,1\n"
                           "2024-01-01,aws,us-east-1b,p3.2xlarge,spot,1\n"
                           "2024-01-01,aws,us-east-1c,p3.2xlarge,spot,1\n"
                           "2024-01-01,aws,us-east-1a,p3.16xlarge,spot,8\n"
                           "2024-01-01,aws,us-west-2a,p3.2xlarge,spot,1\n"
                           "2024-01-01,aws,us-west-2a,p3.2xlarge,on-demand,3\n"
                           "2024-03-01,gcp,us-central1-a,c3-88,spot,1\n";

static uint32_t at(const struct market_avail *avail, const struct market_prices *prices,
                   const char *zone, const char *kind, double at_s)
{
    uint32_t offer = world_find(prices, zone, kind, MARKET_SPOT);

    assert_true(offer != MARKET_NONE);
    return market_avail_at(avail, offer, at_s, NULL, NULL);
}

/* JSON of ticks from digits. */
static void put_ticks(shoal_env *env, const char *path, double gap_s, const char *digits)
{
    struct base_buf text;

    base_buf_init(&text, &base_alloc_libc, 1 << 20);
    base_buf_printf(&text, "{\"metadata\": {\"gap_seconds\": %g}, \"data\": [", gap_s);
    for (size_t i = 0; digits[i] != '\0'; i++)
        base_buf_printf(&text, "%s%c", i > 0 ? ", " : "", digits[i]);
    base_buf_puts(&text, "], \"prices\": [[1], {\"a\": null}]}");
    world_put(env, path, text.data);
    base_buf_fini(&text);
}

/* --- asking ---------------------------------------------------------------------------------- */

/* Steps along with `until` and with a cursor from somewhere before; the counts are those of
 * `expected` at every time, and each change is one. */
static void walk(const struct market_avail *avail, uint32_t offer, double from_s, double to_s,
                 uint32_t (*expected)(void *ctx, double at_s), void *ctx, struct base_rand *rand)
{
    size_t cursor = (size_t)base_rand_below(rand, 5);
    double at_s = from_s, until_s = 0;
    int steps = 0;

    while (at_s < to_s) {
        uint32_t count = market_avail_at(avail, offer, at_s, &cursor, &until_s);
        assert_int_equal(count, expected(ctx, at_s));
        assert_true(until_s > at_s);
        double stop_s = fmin(until_s, to_s);
        for (int i = 0; i < 3; i++) { /* nothing changes before `until` */
            double some_s = at_s + (stop_s - at_s) * base_rand_unit(rand);
            assert_int_equal(expected(ctx, some_s), count);
            assert_int_equal(market_avail_at(avail, offer, some_s, NULL, NULL), count);
        }
        if (until_s < to_s)
            assert_int_not_equal(expected(ctx, until_s), count);
        at_s = base_rand_below(rand, 8) == 0 && at_s > from_s ? at_s - 5 * HOUR : stop_s;
        if (++steps > 2000)
            break;
    }
}

struct ticks {
    const char *digits;
    double gap_s, from_s; /* once: when it begins */
    double offset;        /* repeating: ticks; negative: once */
};

/* The slow obvious one: which tick is it? */
static uint32_t by_expansion(void *ctx, double at_s)
{
    const struct ticks *t = ctx;
    double count = (double)strlen(t->digits);

    if (t->offset < 0) {
        double tick = floor((at_s - t->from_s) / t->gap_s);
        return tick >= 0 && tick < count ? (uint32_t)(t->digits[(size_t)tick] - '0') : 0;
    }
    double tick = fmod(floor(at_s / t->gap_s) + t->offset, count);
    return (uint32_t)(t->digits[(size_t)tick] - '0');
}

static void some_digits(struct base_rand *rand, char *digits, size_t most)
{
    size_t count = 1 + (size_t)base_rand_below(rand, most - 1);
    char last = '0';

    for (size_t i = 0; i < count; i++) {
        if (base_rand_below(rand, 3) == 0)
            last = (char)('0' + base_rand_below(rand, 4));
        digits[i] = last;
    }
    digits[count] = '\0';
}

static void a_trace_is_what_its_ticks_say_and_nothing_around_them(void **state)
{
    struct base_rand rand;
    char digits[60];

    (void)state;
    base_rand_init(&rand, 1, "load");
    for (int run = 0; run < property_count(100); run++) {
        shoal_env *env = world_new();
        struct market_prices *prices = world_rows(env, rows);
        struct market_avail *avail = NULL;
        double gap_s = 60 + (double)base_rand_below(&rand, 1000);
        some_digits(&rand, digits, sizeof digits);
        struct ticks t = {digits, gap_s, WORLD_2024 + (double)base_rand_below(&rand, 9999), -1};
        put_ticks(env, "t/us-east-1b_V100_1.json", gap_s, digits);
        assert_int_equal(market_avail_load(env, prices, "t", t.from_s, &avail, NULL), SHOAL_OK);
        uint32_t offer = world_find(prices, "us-east-1b", "p3.2xlarge", MARKET_SPOT);
        walk(avail, offer, t.from_s - HOUR, t.from_s + gap_s * 70, by_expansion, &t, &rand);
        assert_int_equal(at(avail, prices, "us-east-1a", "p3.2xlarge", t.from_s), 0);
        double first = gap_s * (double)strspn(digits, "0"); /* INFINITY where there is none */
        first = digits[strspn(digits, "0")] == '\0' ? (double)INFINITY : t.from_s + first;
        assert_true(market_avail_from_s(avail) == first);
        market_avail_free(avail);
        market_prices_free(prices);
        shoal_env_free(env);
    }
}

/* Which of all offsets explain what is seen? */
static double find_offset(const struct market_avail *avail, uint32_t offer, struct ticks *t)
{
    size_t count = strlen(t->digits);

    for (t->offset = 0; t->offset < (double)count; t->offset++) {
        size_t i = 0;
        while (i < 2 * count &&
               market_avail_at(avail, offer, WORLD_2024 + t->gap_s * (double)i, NULL, NULL) ==
                   by_expansion(t, WORLD_2024 + t->gap_s * (double)i))
            i++;
        if (i == 2 * count)
            return t->offset;
    }
    fail_msg("no offset explains it");
    return 0;
}

static void a_cut_repeats_a_trace_from_some_tick_on(void **state)
{
    struct base_rand rand;
    char digits[60];

    (void)state;
    base_rand_init(&rand, 1, "cut");
    for (int run = 0; run < property_count(60); run++) {
        shoal_env *env = world_new();
        struct market_prices *prices = world_rows(env, rows);
        struct market_avail *avail = NULL;
        double gap_s = 60 + (double)base_rand_below(&rand, 1000);
        some_digits(&rand, digits, sizeof digits);
        struct ticks t = {digits, gap_s, 0, 0};
        put_ticks(env, "t/eu-west-1a_k80_1.json", gap_s, digits);
        assert_int_equal(market_avail_cut(env, prices, "t", (uint64_t)run, &avail, NULL), SHOAL_OK);
        for (uint32_t offer = 0; offer < prices->offer_count; offer++) {
            if (prices->offers[offer].how == MARKET_ON_DEMAND) {
                assert_int_equal(market_avail_at(avail, offer, WORLD_2024, NULL, NULL),
                                 MARKET_UNLIMITED);
                continue;
            }
            find_offset(avail, offer, &t);
            walk(avail, offer, WORLD_2024 + 3, WORLD_2024 + gap_s * 150, by_expansion, &t, &rand);
        }
        assert_true(market_avail_from_s(avail) == -INFINITY);
        market_avail_free(avail);
        market_prices_free(prices);
        shoal_env_free(env);
    }
}

/* Times that no history has: an answer all the same, at once. */
static void times_beyond_all_histories_have_nothing(void **state)
{
    static const double far[] = {1e13, 1e15, 1e18, 1e300, INFINITY, -1e16, -INFINITY, NAN};
    shoal_env *env = world_new();
    struct market_prices *prices = world_rows(env, rows);
    struct market_avail *avail = NULL;

    (void)state;
    put_ticks(env, "t/eu-west-1a_k80_1.json", 7, "1213");
    assert_int_equal(market_avail_cut(env, prices, "t", 1, &avail, NULL), SHOAL_OK);
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        double until_s = 0;
        size_t cursor = 0;
        uint32_t offer = world_find(prices, "us-east-1a", "p3.2xlarge", MARKET_SPOT);
        assert_int_equal(market_avail_at(avail, offer, far[i], &cursor, &until_s), 0);
        assert_true(isinf(until_s));
    }
    market_avail_free(avail);
    market_prices_free(prices);
    shoal_env_free(env);
}

/* --- cut: what depends on what --------------------------------------------------------------- */

static bool alike(const struct market_avail *a, uint32_t offer_a, const struct market_avail *b,
                  uint32_t offer_b)
{
    for (double at_s = WORLD_2024; at_s < WORLD_2024 + 400 * HOUR; at_s += HOUR / 2)
        if (market_avail_at(a, offer_a, at_s, NULL, NULL) !=
            market_avail_at(b, offer_b, at_s, NULL, NULL))
            return false;
    return true;
}

static void put_some_traces(shoal_env *env)
{
    struct base_rand rand;
    char digits[200], path[80];

    base_rand_init(&rand, 7, "traces");
    for (int i = 0; i < 6; i++) {
        do
            some_digits(&rand, digits, sizeof digits);
        while (strlen(digits) < 100);
        digits[100] = '\0';
        snprintf(path, sizeof path, "t/%s%c_v100_1.json", i < 3 ? "us-west-2" : "eu-west-1",
                 'a' + i % 3);
        put_ticks(env, path, 1800, digits);
    }
}

static void adding_offers_changes_no_others_cut(void **state)
{
    shoal_env *env = world_new();
    char more[1000];

    (void)state;
    put_some_traces(env);
    snprintf(more, sizeof more,
             "%s2022-01-01,aws,af-south-1a,p3.2xlarge,spot,1\n"
             "2024-01-01,aws,us-east-1d,p3.2xlarge,spot,1\n"
             "2024-01-01,aws,us-east-1a,g5.xlarge,spot,1\n",
             rows);
    struct market_prices *few = world_rows(env, rows), *many = world_rows(env, more);
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct market_avail *a = NULL, *b = NULL;
        assert_int_equal(market_avail_cut(env, few, "t", seed, &a, NULL), SHOAL_OK);
        assert_int_equal(market_avail_cut(env, many, "t", seed, &b, NULL), SHOAL_OK);
        for (uint32_t i = 0; i < few->offer_count; i++) {
            const struct market_offer *o = &few->offers[i];
            uint32_t j = world_find(many, market_names_get(&few->zones, o->zone),
                                    market_names_get(&few->kinds, o->kind), o->how);
            assert_true(alike(a, i, b, j));
        }
        market_avail_free(a);
        market_avail_free(b);
    }
    market_prices_free(few);
    market_prices_free(many);
    shoal_env_free(env);
}

static void zones_of_a_region_follow_different_traces_of_one_region(void **state)
{
    shoal_env *env = world_new();
    struct market_prices *prices = world_rows(env, rows);
    int same = 0, changed = 0;

    (void)state;
    put_some_traces(env);
    uint32_t a = world_find(prices, "us-east-1a", "p3.2xlarge", MARKET_SPOT);
    uint32_t b = world_find(prices, "us-east-1b", "p3.2xlarge", MARKET_SPOT);
    uint32_t w = world_find(prices, "us-west-2a", "p3.2xlarge", MARKET_SPOT);
    struct market_avail *last = NULL;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct market_avail *avail = NULL, *again = NULL;
        assert_int_equal(market_avail_cut(env, prices, "t", seed, &avail, NULL), SHOAL_OK);
        assert_int_equal(market_avail_cut(env, prices, "t", seed, &again, NULL), SHOAL_OK);
        assert_true(alike(avail, a, again, a));
        assert_false(alike(avail, a, avail, b)); /* three traces, so never the same */
        same += alike(avail, a, avail, w);
        changed += last != NULL && !alike(avail, a, last, a);
        market_avail_free(again);
        market_avail_free(last);
        last = avail;
    }
    assert_true(same < 4 && changed > 35);
    market_avail_free(last);
    market_prices_free(prices);
    shoal_env_free(env);
}

static void zones_of_a_region_are_cut_at_the_same_place(void **state)
{
    static const char digits[] = "0011101000101101", others[] = "1100010111010010";
    shoal_env *env = world_new();
    struct market_prices *prices = world_rows(env, rows);
    int together = 0;

    (void)state;
    put_ticks(env, "t/eu-west-1a_k80_1.json", 600, digits);
    put_ticks(env, "t/eu-west-1b_k80_1.json", 600, others); /* up when the other is down */
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct market_avail *avail = NULL;
        bool always = true;
        assert_int_equal(market_avail_cut(env, prices, "t", seed, &avail, NULL), SHOAL_OK);
        for (double at_s = WORLD_2024; at_s < WORLD_2024 + 10 * HOUR; at_s += 300) {
            uint32_t a = at(avail, prices, "us-east-1a", "p3.2xlarge", at_s);
            assert_int_equal(a + at(avail, prices, "us-east-1b", "p3.2xlarge", at_s), 1);
            always &= a == at(avail, prices, "us-east-1c", "p3.2xlarge", at_s);
        }
        together += always; /* the third zone has no trace of its own left, so its own offset */
        market_avail_free(avail);
    }
    assert_true(together < 6);
    market_prices_free(prices);
    shoal_env_free(env);
}

/* Where k * gap is never exact, every change still comes later than the one before, and is one. */
static void gaps_that_binary_numbers_cannot_hold_lose_no_change(void **state)
{
    struct base_rand rand;
    char digits[12];

    (void)state;
    base_rand_init(&rand, 1, "gaps");
    for (int run = 0; run < property_count(200); run++) {
        shoal_env *env = world_new();
        struct market_prices *prices = world_rows(env, rows);
        struct market_avail *avail = NULL;
        size_t cursor = 0, count = 2 + (size_t)base_rand_below(&rand, 9);
        double gap_s = 1 + (double)base_rand_below(&rand, 900) / 100 + 0.01, until_s = 0;
        for (size_t i = 0; i < count; i++)
            digits[i] = (char)('0' + i); /* every tick is a change */
        digits[count] = '\0';
        put_ticks(env, "t/a_b.json", gap_s, digits);
        assert_int_equal(market_avail_cut(env, prices, "t", (uint64_t)run, &avail, NULL), SHOAL_OK);
        double at_s = WORLD_2024;
        uint32_t last = market_avail_at(avail, 0, at_s, &cursor, &until_s);
        for (int i = 0; i < 400; i++) {
            assert_true(until_s > at_s && until_s <= at_s + gap_s + 1e-6);
            assert_int_equal(market_avail_at(avail, 0, nextafter(until_s, 0), NULL, NULL), last);
            at_s = until_s;
            uint32_t now = market_avail_at(avail, 0, at_s, &cursor, &until_s);
            assert_int_equal(now, (last + 1) % count);
            last = now;
        }
        market_avail_free(avail);
        market_prices_free(prices);
        shoal_env_free(env);
    }
}

/* --- load: what a trace is of ---------------------------------------------------------------- */

static void a_trace_is_of_a_kind_or_of_accelerators_and_their_number(void **state)
{
    shoal_env *env = world_new();
    struct market_prices *prices = world_rows(env, rows);
    struct market_avail *avail = NULL;
    struct market_avail_facts facts;

    (void)state;
    put_ticks(env, "t/us-east-1a_v100_8.json", 60, "3");
    put_ticks(env, "t/us-east-1a_P3.2xlarge.json", 60, "2");
    put_ticks(env, "t/us-central1-a_c3-88.json", 60, "1");
    put_ticks(env, "t/us-central1-b_c3-88.json", 60, "1");
    world_put(env, "t/notes.txt", "nothing\n");
    assert_int_equal(market_avail_load(env, prices, "t", WORLD_2024, &avail, NULL), SHOAL_OK);
    assert_int_equal(at(avail, prices, "us-east-1a", "p3.16xlarge", WORLD_2024), 3);
    assert_int_equal(at(avail, prices, "us-east-1a", "p3.2xlarge", WORLD_2024), 2);
    assert_int_equal(at(avail, prices, "us-central1-a", "c3-88", WORLD_2024 + 59), 1);
    assert_int_equal(at(avail, prices, "us-central1-a", "c3-88", WORLD_2024 + 60), 0);
    assert_int_equal(at(avail, prices, "us-central1-a", "c3-88", WORLD_2024 - 1), 0);
    assert_int_equal(at(avail, prices, "us-east-1b", "p3.2xlarge", WORLD_2024), 0);
    market_avail_facts_get(avail, &facts);
    assert_int_equal(facts.files, 4);
    assert_int_equal(facts.skipped, 1);
    assert_int_equal(facts.traces, 4);
    assert_int_equal(facts.unused, 1);
    assert_int_equal(facts.covered, 3);
    market_avail_free(avail);
    market_prices_free(prices);
    shoal_env_free(env);
}

static void lines_of_our_csv_hold_until_the_next_and_are_sorted(void **state)
{
    shoal_env *env = world_new();
    struct market_prices *prices = world_rows(env, rows);
    struct market_avail *avail = NULL;
    double until_s;

    (void)state;
    world_put(env, "a.csv",
              "#shoal-availability v1\ntime,zone,kind,count\n"
              "2024-01-03,us-east-1a,p3.2xlarge,4\n2024-01-01,us-east-1a,P3.2xlarge,2\n"
              "2024-01-02,us-east-1a,p3.2xlarge,2\n2024-01-03,us-east-1a,p3.2xlarge,5\n"
              "2024-01-02,us-west-2a,V100:1,7\n2024-01-04,us-west-2a,V100:1,8\n"
              "2024-01-04,us-west-2a,V100:1,7\n");
    assert_int_equal(market_avail_load(env, prices, "a.csv", 0, &avail, NULL), SHOAL_OK);
    uint32_t offer = world_find(prices, "us-east-1a", "p3.2xlarge", MARKET_SPOT);
    assert_int_equal(market_avail_at(avail, offer, WORLD_2024 - 1, NULL, &until_s), 0);
    assert_true(until_s == WORLD_2024);
    assert_int_equal(market_avail_at(avail, offer, WORLD_2024, NULL, &until_s), 2);
    assert_true(until_s == WORLD_2024 + 48 * HOUR);
    assert_int_equal(market_avail_at(avail, offer, until_s, NULL, &until_s), 5);
    assert_true(isinf(until_s));
    offer = world_find(prices, "us-west-2a", "p3.2xlarge", MARKET_SPOT);
    assert_int_equal(market_avail_at(avail, offer, WORLD_2024 + 24 * HOUR, NULL, &until_s), 7);
    assert_true(isinf(until_s)); /* the line that said 8 was taken back */
    market_avail_free(avail);
    /* as a pattern: the last line is where it begins again */
    assert_int_equal(market_avail_cut(env, prices, "a.csv", 3, &avail, NULL), SHOAL_OK);
    double up = 0;
    for (int i = 0; i < 480; i++)
        up += market_avail_at(avail, offer, WORLD_2024 + i * HOUR, NULL, NULL);
    assert_true(up == 480 * 2 || up == 480 * 7);
    market_avail_free(avail);
    market_prices_free(prices);
    shoal_env_free(env);
}

/* --- draw ------------------------------------------------------------------------------------ */

static void drawn_times_have_the_means_they_were_asked_for(void **state)
{
    shoal_env *env = world_new();
    struct market_prices *prices = world_rows(env, rows);
    struct market_avail *avail = NULL;
    double up_s = 0, down_s = 0;
    int ups = 0, downs = 0, started_up = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        assert_int_equal(market_avail_draw(prices, 2 * HOUR, HOUR, 3, seed, &avail, NULL),
                         SHOAL_OK);
        for (uint32_t i = 0; i < prices->offer_count; i++) {
            size_t cursor = 0;
            double at_s = prices->from_s, until_s;
            if (prices->offers[i].how == MARKET_ON_DEMAND)
                continue;
            started_up += market_avail_at(avail, i, at_s, &cursor, NULL) > 0;
            for (;;) {
                uint32_t count = market_avail_at(avail, i, at_s, &cursor, &until_s);
                assert_true(count == 0 || count == 3);
                if (until_s > prices->to_s)
                    break;
                assert_true(until_s == floor(until_s) && until_s > at_s);
                *(count > 0 ? &up_s : &down_s) += until_s - at_s;
                *(count > 0 ? &ups : &downs) += 1;
                at_s = until_s;
            }
        }
        market_avail_free(avail);
    }
    /* over 100,000 stays: the mean of exponentials is within 2 % of the true one by far */
    assert_true(ups > 100000 && downs > 100000);
    assert_true(fabs(up_s / ups / (2 * HOUR) - 1) < 0.02 && fabs(down_s / downs / HOUR - 1) < 0.02);
    assert_true(started_up > 200 && started_up < 280); /* of 360, two thirds */
    market_prices_free(prices);
    shoal_env_free(env);
}

static void draws_that_make_no_sense_are_refused(void **state)
{
    static const double bad[][2] = {{0, 1}, {1, 0.5}, {NAN, 1}, {1, NAN}, {-1, 1}, {INFINITY, 1}};
    shoal_env *env = world_new();
    struct market_prices *prices = world_rows(env, rows);
    struct market_avail *avail = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(market_avail_draw(prices, bad[i][0], bad[i][1], 1, 1, &avail, NULL),
                         SHOAL_E_INVAL);
    assert_int_equal(market_avail_draw(prices, 1, 1, 0, 1, &avail, NULL), SHOAL_E_INVAL);
    assert_int_equal(market_avail_draw(prices, HOUR, 0, 2, 1, &avail, NULL), SHOAL_OK);
    assert_int_equal(at(avail, prices, "us-east-1a", "p3.2xlarge", prices->to_s + HOUR), 2);
    market_avail_free(avail);
    market_prices_free(prices);
    shoal_env_free(env);
}

static void no_availability_is_all_that_one_wants(void **state)
{
    double until_s = 0;

    (void)state;
    assert_int_equal(market_avail_at(NULL, 7, WORLD_2024, NULL, &until_s), MARKET_UNLIMITED);
    assert_true(isinf(until_s));
    assert_true(market_avail_from_s(NULL) == -INFINITY);
}

static void two_traces_of_one_place_are_an_error_unless_they_are_patterns(void **state)
{
    shoal_env *env = world_new();
    struct market_prices *prices = world_rows(env, rows);
    struct market_avail *avail = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    put_ticks(env, "t/2022/us-east-1a_v100_1.json", 60, "1");
    put_ticks(env, "t/2023/us-east-1a_v100_1.json", 60, "1");
    assert_int_equal(market_avail_load(env, prices, "t", WORLD_2024, &avail, &err), SHOAL_E_FORMAT);
    assert_non_null(strstr(err.message, "'t/2022' and in 't/2023'"));
    world_put(env, "u/a.csv", "time,zone,kind,count\n2024-01-01,us-east-1a,V100:1,1\n");
    put_ticks(env, "u/us-east-1a_v100_1.json", 60, "1");
    assert_int_equal(market_avail_load(env, prices, "u", WORLD_2024, &avail, &err), SHOAL_E_FORMAT);
    assert_non_null(strstr(err.message, "is in 'lines of CSV' and in 'u'"));
    assert_int_equal(market_avail_cut(env, prices, "t", 1, &avail, NULL), SHOAL_OK);
    market_avail_free(avail);
    market_prices_free(prices);
    shoal_env_free(env);
}

struct tortured {
    shoal_env *env;
    struct market_prices *prices;
};

static shoal_status make_all(const struct base_alloc *alloc, void *ctx)
{
    const struct tortured *t = ctx;
    const struct base_alloc *own = t->env->alloc;
    struct market_avail *avail = NULL;
    struct market_prices prices = *t->prices;

    t->env->alloc = alloc;
    prices.alloc = alloc;
    shoal_status st = market_avail_load(t->env, t->prices, "t", WORLD_2024, &avail, NULL);
    market_avail_free(avail);
    avail = NULL;
    if (st == SHOAL_OK)
        st = market_avail_cut(t->env, t->prices, "t", 1, &avail, NULL);
    market_avail_free(avail);
    avail = NULL;
    if (st == SHOAL_OK)
        st = market_avail_draw(&prices, 500 * HOUR, 500 * HOUR, 1, 1, &avail, NULL);
    market_avail_free(avail);
    t->env->alloc = own;
    return st;
}

static void failing_allocations_end_cleanly(void **state)
{
    struct tortured t = {.env = world_new()};

    (void)state;
    t.prices = world_rows(t.env, rows);
    put_ticks(t.env, "t/us-east-1a_v100_1.json", 60, "0110203");
    put_ticks(t.env, "t/us-east-1b_v100_1.json", 60, "01");
    world_put(t.env, "t/a.csv", "time,zone,kind,count\n2024-01-01,us-west-2a,v100:1,1\n");
    torture_run(make_all, &t);
    market_prices_free(t.prices);
    shoal_env_free(t.env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_is_what_its_ticks_say_and_nothing_around_them),
        cmocka_unit_test(a_cut_repeats_a_trace_from_some_tick_on),
        cmocka_unit_test(times_beyond_all_histories_have_nothing),
        cmocka_unit_test(adding_offers_changes_no_others_cut),
        cmocka_unit_test(zones_of_a_region_follow_different_traces_of_one_region),
        cmocka_unit_test(zones_of_a_region_are_cut_at_the_same_place),
        cmocka_unit_test(gaps_that_binary_numbers_cannot_hold_lose_no_change),
        cmocka_unit_test(a_trace_is_of_a_kind_or_of_accelerators_and_their_number),
        cmocka_unit_test(lines_of_our_csv_hold_until_the_next_and_are_sorted),
        cmocka_unit_test(drawn_times_have_the_means_they_were_asked_for),
        cmocka_unit_test(draws_that_make_no_sense_are_refused),
        cmocka_unit_test(no_availability_is_all_that_one_wants),
        cmocka_unit_test(two_traces_of_one_place_are_an_error_unless_they_are_patterns),
        cmocka_unit_test(failing_allocations_end_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
