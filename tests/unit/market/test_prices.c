/* Tests of src/market/prices.c, draft.c and of loading: the rules of histories, and zones that go by two names. */
#include "prices_text.h"
#include "unit/market/market_world.h"

#include "market/when.h"
#include <stdlib.h>

/* --- asking ---------------------------------------------------------------------------------- */

/* The slow obvious one. */
static double price_by_looking(const struct market_prices *prices, uint32_t offer, double at_s,
                               double *until_s)
{
    const struct market_offer *o = &prices->offers[offer];
    double usd_h = NAN;

    *until_s = INFINITY;
    for (size_t i = 0; i < o->count; i++) {
        const struct market_point *p = &prices->points[o->first + i];
        if (p->at_s <= at_s) {
            usd_h = p->usd_h;
        } else {
            *until_s = p->at_s;
            break;
        }
    }
    return usd_h;
}

/* A history of random offers; times are whole, halves, equal, backwards. */
static void some_rows(struct base_rand *rand, struct base_buf *out)
{
    static const char *const clouds[] = {"aws", "gcp"};
    static const char *const zones[] = {"us-east-1a", "us-east-1b", "eu-west-2c", "a, \"b\""};
    static const char *const kinds[] = {"p3.2xlarge", "g5.xlarge", "own", "V100:4"};
    int rows = 1 + (int)base_rand_below(rand, 60);
    char when[MARKET_WHEN_TEXT];

    base_buf_clear(out);
    base_buf_puts(out, "#shoal-prices v1\n"
                       "time,cloud,zone,instance,market,price,accelerator,count\n");
    for (int i = 0; i < rows; i++) {
        double at_s = WORLD_2024 + (double)base_rand_below(rand, 40) * 1800.5;
        const char *zone = zones[base_rand_below(rand, 4)];
        bool quoted = strchr(zone, ',') != NULL;
        base_buf_printf(out, "%s,%s,%s,%s,%s,", market_when_text(at_s, when),
                        clouds[base_rand_below(rand, 2)], quoted ? "\"a, \"\"b\"\"\"" : zone,
                        kinds[base_rand_below(rand, 4)],
                        market_how_names[base_rand_below(rand, 2)]);
        if (base_rand_below(rand, 5) > 0)
            base_buf_printf(out, "%g", 0.25 * (double)base_rand_below(rand, 6));
        base_buf_puts(out, base_rand_below(rand, 4) == 0 ? ",X9,0.5\n" : ",,\n");
    }
    base_buf_puts(out, "2024-02-01,aws,z,sure,spot,1.5,,\n");
    assert_int_equal(base_buf_status(out), SHOAL_OK);
}

static struct market_prices *load_buf(shoal_env *env, const struct base_buf *text)
{
    assert_int_equal(env_sim_put(env, "f.csv", text->data, text->size), SHOAL_OK);
    return world_load(env, "f.csv");
}

static void a_cursor_changes_no_answer(void **state)
{
    struct base_rand rand;
    struct base_buf text;

    (void)state;
    base_rand_init(&rand, 1, "cursor");
    base_buf_init(&text, &base_alloc_libc, 1 << 20);
    for (int run = 0; run < property_count(100); run++) {
        shoal_env *env = world_new();
        some_rows(&rand, &text);
        struct market_prices *prices = load_buf(env, &text);
        for (uint32_t offer = 0; offer < prices->offer_count; offer++) {
            size_t cursor = base_rand_below(&rand, 3) == 0 ? 1000 : 0; /* nonsense does no harm */
            double at_s = prices->from_s - 5000;
            for (int i = 0; i < 60; i++) {
                double until_s = 0, expected_s = 0;
                double usd_h = market_price_at(prices, offer, at_s, &cursor, &until_s);
                assert_true(
                    world_same_price(usd_h, price_by_looking(prices, offer, at_s, &expected_s)));
                assert_true(until_s == expected_s && until_s > at_s);
                assert_true(
                    world_same_price(usd_h, market_price_at(prices, offer, at_s, NULL, NULL)));
                if (base_rand_below(&rand, 3) == 0 && isfinite(until_s))
                    at_s = until_s; /* exactly at a change */
                else
                    at_s += base_rand_range(&rand, -2000, 9000);
            }
        }
        market_prices_free(prices);
        shoal_env_free(env);
    }
    base_buf_fini(&text);
}

/* --- the rules ------------------------------------------------------------------------------- */

static void assert_equal_prices(const struct market_prices *a, const struct market_prices *b)
{
    char ta[600], tb[600];

    assert_int_equal(a->offer_count, b->offer_count);
    assert_int_equal(a->point_count, b->point_count);
    assert_true(a->from_s == b->from_s && a->to_s == b->to_s);
    for (uint32_t i = 0; i < a->offer_count; i++) {
        const struct market_offer *oa = &a->offers[i], *ob = &b->offers[i];
        assert_string_equal(prices_text_of(a, i, ta, sizeof ta),
                            prices_text_of(b, i, tb, sizeof tb));
        assert_true(oa->cloud == ob->cloud && oa->region == ob->region && oa->zone == ob->zone &&
                    oa->kind == ob->kind && oa->accelerator == ob->accelerator &&
                    oa->accelerators == ob->accelerators && oa->count == ob->count);
        assert_string_equal(market_names_get(&a->regions, oa->region),
                            market_names_get(&b->regions, ob->region));
        if (oa->accelerator != MARKET_NONE)
            assert_string_equal(market_names_get(&a->accelerators, oa->accelerator),
                                market_names_get(&b->accelerators, ob->accelerator));
        for (size_t k = 0; k < oa->count; k++) {
            const struct market_point *pa = &a->points[oa->first + k];
            const struct market_point *pb = &b->points[ob->first + k];
            assert_true(pa->at_s == pb->at_s && world_same_price(pa->usd_h, pb->usd_h));
        }
    }
}

/* By cloud, region, zone and kind as text, spot first. */
static int compare_offers(const struct market_prices *p, const struct market_offer *a,
                          const struct market_offer *b)
{
    int order =
        strcmp(market_names_get(&p->clouds, a->cloud), market_names_get(&p->clouds, b->cloud));

    if (order == 0)
        order = strcmp(market_names_get(&p->regions, a->region),
                       market_names_get(&p->regions, b->region));
    if (order == 0)
        order = strcmp(market_names_get(&p->zones, a->zone), market_names_get(&p->zones, b->zone));
    if (order == 0)
        order = strcmp(market_names_get(&p->kinds, a->kind), market_names_get(&p->kinds, b->kind));
    return order != 0 ? order : a->how - b->how;
}

/* Offers are sorted, their points rise, none repeats the price before it but at the end. */
static void check_settled(const struct market_prices *prices)
{
    for (uint32_t i = 0; i < prices->offer_count; i++) {
        const struct market_offer *o = &prices->offers[i];
        const struct market_point *p = prices->points + o->first;
        assert_true(o->count > 0 && o->first + o->count <= prices->point_count);
        assert_true(p[0].usd_h > 0);
        for (size_t k = 0; k < o->count; k++) {
            assert_true(p[k].at_s >= prices->from_s && p[k].at_s <= prices->to_s);
            assert_true(isnan(p[k].usd_h) || p[k].usd_h > 0);
            if (k > 0) {
                assert_true(p[k - 1].at_s < p[k].at_s);
                assert_true(!world_same_price(p[k - 1].usd_h, p[k].usd_h) ||
                            p[k].at_s == prices->to_s);
            }
        }
        assert_true(i == 0 || compare_offers(prices, o - 1, o) < 0);
    }
}

static void what_is_saved_is_loaded_as_it_was(void **state)
{
    struct base_rand rand;
    struct base_buf text, saved;

    (void)state;
    base_rand_init(&rand, 1, "saved");
    base_buf_init(&text, &base_alloc_libc, 1 << 20);
    base_buf_init(&saved, &base_alloc_libc, 1 << 20);
    for (int run = 0; run < property_count(200); run++) {
        shoal_env *env = world_new();
        some_rows(&rand, &text);
        struct market_prices *prices = load_buf(env, &text);
        check_settled(prices);
        base_buf_clear(&saved);
        prices_text(prices, &saved);
        assert_int_equal(base_buf_status(&saved), SHOAL_OK);
        struct market_prices *again = load_buf(env, &saved);
        assert_equal_prices(prices, again);
        assert_true(again->odd.same_instant + again->odd.backwards + again->odd.zero == 0);
        market_prices_free(prices);
        market_prices_free(again);
        shoal_env_free(env);
    }
    base_buf_fini(&text);
    base_buf_fini(&saved);
}

/* Reading it in any pieces, whatever their order, gives what reading it whole gives, as long as no
 * two prices of one instant differ. */
static void order_and_overlap_of_files_do_not_matter(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "pieces");
    for (int run = 0; run < property_count(60); run++) {
        char lines[40][80], whole[4000] = "time,cloud,zone,instance,price\n";
        char pieces[3][4000];
        const char *paths[3] = {"p0.csv", "p1.csv", "p2.csv"};
        struct market_prices *a, *b = NULL;
        shoal_env *env = world_new();
        for (int i = 0; i < 3; i++)
            strcpy(pieces[i], whole);
        for (int i = 0; i < 40; i++) {
            char when[MARKET_WHEN_TEXT];
            snprintf(lines[i], sizeof lines[i], "%s,aws,us-east-1%c,p%d,%d\n",
                     market_when_text(WORLD_2024 + 3600 * i, when), 'a' + i % 2, i % 3,
                     1 + (int)base_rand_below(&rand, 3));
            strcat(whole, lines[i]);
        }
        for (int i = 0; i < 80; i++) { /* each line at least once, some twice */
            int line = i < 40 ? (i * 7) % 40 : (int)base_rand_below(&rand, 40);
            char *piece = pieces[base_rand_below(&rand, 3)];
            if (strstr(piece, lines[line]) == NULL)
                strcat(piece, lines[line]);
        }
        world_put(env, "whole.csv", whole);
        for (int i = 0; i < 3; i++)
            world_put(env, paths[i], pieces[i]);
        a = world_load(env, "whole.csv");
        assert_int_equal(market_prices_load(env, paths, 3, NULL, &b, NULL), SHOAL_OK);
        check_settled(a);
        assert_equal_prices(a, b);
        assert_int_equal(b->odd.same_instant, 0);
        market_prices_free(a);
        market_prices_free(b);
        shoal_env_free(env);
    }
}

/* Files of rows with clashes of every kind, against the rule said plainly: of the rows of an offer
 * with the latest time not after t, the one read last. */
static void the_price_is_that_of_the_last_word_on_the_latest_time(void **state)
{
    enum { ROWS = 60, TIMES = 12, OFFERS = 3 };
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "last word");
    for (int run = 0; run < property_count(150); run++) {
        int when[ROWS], what[ROWS], cents[ROWS];
        char files[3][ROWS * 60];
        const char *paths[3] = {"f0.csv", "f1.csv", "f2.csv"};
        struct market_prices *p = NULL;
        shoal_env *env = world_new();
        for (int f = 0; f < 3; f++)
            strcpy(files[f], "time,cloud,zone,instance,price\n");
        for (int i = 0; i < ROWS; i++) { /* a third of the rows in each file, in order */
            char text[MARKET_WHEN_TEXT], line[80];
            when[i] = (int)base_rand_below(&rand, TIMES);
            what[i] = (int)base_rand_below(&rand, OFFERS);
            cents[i] = (int)base_rand_below(&rand, 4) * 25; /* 0: not offered */
            snprintf(line, sizeof line, "%s,aws,z%d,k,%.2f\n",
                     market_when_text(WORLD_2024 + 3600.0 * when[i], text), what[i],
                     cents[i] / 100.0);
            strcat(files[i * 3 / ROWS], line);
        }
        strcat(files[2], "2024-01-01,aws,sure,k,1\n");
        for (int f = 0; f < 3; f++)
            world_put(env, paths[f], files[f]);
        assert_int_equal(market_prices_load(env, paths, 3, NULL, &p, NULL), SHOAL_OK);
        check_settled(p);
        for (int o = 0; o < OFFERS; o++) {
            char zone[4];
            snprintf(zone, sizeof zone, "z%d", o);
            uint32_t offer = world_find(p, zone, "k", MARKET_SPOT);
            for (int t = -1; t <= TIMES; t++) {
                int best = -1;
                for (int i = 0; i < ROWS; i++)
                    if (what[i] == o && when[i] <= t && (best < 0 || when[i] >= when[best]))
                        best = i;
                double expected = best < 0 || cents[best] == 0 ? NAN : cents[best] / 100.0;
                double found = offer == MARKET_NONE
                                   ? NAN
                                   : market_price_at(p, offer, WORLD_2024 + 3600.0 * t, NULL, NULL);
                assert_true(world_same_price(found, expected));
            }
        }
        market_prices_free(p);
        shoal_env_free(env);
    }
}

static void the_history_ends_with_its_last_line_though_nothing_changed(void **state)
{
    shoal_env *env = world_new();
    struct market_prices *p = world_rows(env, "2024-01-01,aws,us-east-1a,x,spot,2\n"
                                              "2024-01-02,aws,us-east-1a,x,spot,2\n"
                                              "2024-01-09,aws,us-east-1a,x,spot,2\n");

    (void)state;
    assert_int_equal(p->point_count, 2);
    assert_true(p->to_s == WORLD_2024 + 8 * 86400);
    market_prices_free(p);
    shoal_env_free(env);
}

static void the_hash_is_of_all_that_was_read(void **state)
{
    shoal_env *env = world_new();
    uint64_t last = 0;

    (void)state;
    for (int i = 0; i < 3; i++) { /* the same, and then another */
        struct market_prices *p =
            world_rows(env, i < 2 ? "2024-01-01,aws,a,x,spot,2\n" : "2024-01-01,aws,a,x,spot,3\n");
        assert_true(p->input_hash != 0);
        assert_true(i == 0 || (p->input_hash == last) == (i == 1));
        last = p->input_hash;
        market_prices_free(p);
    }
    shoal_env_free(env);
}

static void a_price_of_zero_or_none_ends_the_offer(void **state)
{
    shoal_env *env = world_new();
    struct market_prices *p = world_rows(env, "2024-01-01,aws,us-east-1a,x,spot,2\n"
                                              "2024-01-02,aws,us-east-1a,x,spot,0\n"
                                              "2024-01-03,aws,us-east-1a,x,spot,3\n"
                                              "2024-01-04,aws,us-east-1a,x,spot,\n"
                                              "2024-01-05,aws,us-east-1b,x,spot,1\n");

    (void)state;
    assert_int_equal(p->odd.zero, 1);
    assert_true(isnan(world_price(p, "us-east-1a", "x", MARKET_SPOT, WORLD_2024 - 1)));
    assert_true(world_price(p, "us-east-1a", "x", MARKET_SPOT, WORLD_2024) == 2);
    assert_true(isnan(world_price(p, "us-east-1a", "x", MARKET_SPOT, WORLD_2024 + 86400)));
    assert_true(world_price(p, "us-east-1a", "x", MARKET_SPOT, WORLD_2024 + 2 * 86400) == 3);
    assert_true(isnan(world_price(p, "us-east-1a", "x", MARKET_SPOT, WORLD_2024 + 9 * 86400)));
    assert_true(world_price(p, "us-east-1b", "x", MARKET_SPOT, WORLD_2024 + 900 * 86400.0) == 1);
    assert_true(p->from_s == WORLD_2024 && p->to_s == WORLD_2024 + 4 * 86400);
    market_prices_free(p);
    shoal_env_free(env);
}

static void clocks_that_jump_are_sorted_and_the_last_word_on_an_instant_holds(void **state)
{
    shoal_env *env = world_new();
    struct market_prices *p = world_rows(env, "2024-01-03,aws,us-east-1a,x,spot,3\n"
                                              "2024-01-01,aws,us-east-1a,x,spot,1\n"
                                              "2024-01-02,aws,us-east-1a,x,spot,2\n"
                                              "2024-01-02,aws,us-east-1a,x,spot,2\n"
                                              "2024-01-02,aws,us-east-1a,x,spot,5\n");

    (void)state;
    assert_int_equal(p->odd.backwards, 1);
    assert_int_equal(p->odd.same_instant, 1);
    assert_int_equal(p->odd.repeated, 1);
    assert_int_equal(p->point_count, 3);
    assert_true(world_price(p, "us-east-1a", "x", MARKET_SPOT, WORLD_2024 + 90000) == 5);
    market_prices_free(p);
    shoal_env_free(env);
}

static void downloads_that_overlap_are_one_history_and_nothing_odd_but_repeats(void **state)
{
    static const char one[] =
        "{\"SpotPriceHistory\":[{\"AvailabilityZone\":\"us-east-1a\",\"InstanceType\":\"x\","
        "\"ProductDescription\":\"Linux/UNIX\",\"SpotPrice\":\"2\",\"Timestamp\":"
        "\"2024-01-02T00:00:00Z\"},{\"AvailabilityZone\":\"us-east-1a\",\"InstanceType\":\"x\","
        "\"ProductDescription\":\"Linux/UNIX\",\"SpotPrice\":\"1\",\"Timestamp\":"
        "\"2024-01-01T00:00:00Z\"}]}";
    static const char two[] =
        "[{\"AvailabilityZone\":\"us-east-1a\",\"InstanceType\":\"x\",\"SpotPrice\":\"3\","
        "\"Timestamp\":\"2024-01-03T00:00:00+00:00\"},{\"AvailabilityZone\":\"us-east-1a\","
        "\"InstanceType\":\"x\",\"SpotPrice\":\"2\",\"Timestamp\":\"2024-01-02T01:00:00+01:00\"}]";
    const char *paths[] = {"d/one.json", "d/two.json"};
    shoal_env *env = world_new();
    struct market_prices *p = NULL;

    (void)state;
    world_put(env, paths[0], one);
    world_put(env, paths[1], two);
    for (int turn = 0; turn < 2; turn++) {
        const char *order[] = {paths[turn], paths[1 - turn]};
        assert_int_equal(market_prices_load(env, order, 2, NULL, &p, NULL), SHOAL_OK);
        assert_int_equal(p->offer_count, 1);
        assert_int_equal(p->point_count, 3);
        assert_int_equal(p->odd.repeated, 1);
        assert_true(p->odd.same_instant == 0 && p->odd.backwards == 0);
        market_prices_free(p);
    }
    shoal_env_free(env);
}

/* Two kinds in two zones that change every 20000 s, one of them fewer times. */
static void put_old_and_new(struct base_buf *text, int old_changes, int changes)
{
    char when[MARKET_WHEN_TEXT];

    base_buf_clear(text);
    for (int kind = 0; kind < 2; kind++)
        for (int zone = 0; zone < 2; zone++) {
            base_buf_printf(text, "#%s\tus-east-1%c\n", kind == 0 ? "old" : "new", 'a' + zone);
            for (int i = 0; i < (kind == 0 ? old_changes : changes); i++)
                base_buf_printf(text, "%s\t%d\n",
                                market_when_text(WORLD_2024 + 20000.0 * i + zone, when), 1 + i % 7);
        }
}

static void a_kind_that_is_calm_for_less_than_60_days_goes_on(void **state)
{
    struct base_buf text;
    shoal_env *env = world_new();

    (void)state;
    base_buf_init(&text, &base_alloc_libc, 1 << 20);
    for (int i = 0; i < 3; i++) { /* 59 days; 61 days; 61 days with too little before */
        put_old_and_new(&text, i < 2 ? 200 : 40, (i < 2 ? 200 : 40) + (i == 0 ? 254 : 264));
        struct market_prices *p = load_buf(env, &text);
        assert_int_equal(p->odd.retired, i == 1 ? 2 : 0);
        market_prices_free(p);
    }
    base_buf_fini(&text);
    shoal_env_free(env);
}

static void a_kind_that_ended_everywhere_is_not_offered_to_the_end(void **state)
{
    struct base_buf text;
    shoal_env *env = world_new();

    (void)state;
    base_buf_init(&text, &base_alloc_libc, 1 << 20);
    put_old_and_new(&text, 200, 1000);
    struct market_prices *p = load_buf(env, &text);
    double last_s = WORLD_2024 + 20000.0 * 199 + 1;
    assert_int_equal(p->odd.retired, 2);
    for (uint32_t i = 0; i < p->offer_count; i++) {
        bool old = strcmp(market_names_get(&p->kinds, p->offers[i].kind), "old") == 0;
        assert_true(market_price_at(p, i, last_s + 86399, NULL, NULL) > 0);
        assert_true(old == (bool)isnan(market_price_at(p, i, last_s + 86400, NULL, NULL)));
    }
    check_settled(p);
    base_buf_clear(&text);
    prices_text(p, &text);
    struct market_prices *again = load_buf(env, &text);
    assert_equal_prices(p, again);
    assert_int_equal(again->odd.retired, 0);
    market_prices_free(p);
    market_prices_free(again);
    base_buf_fini(&text);
    shoal_env_free(env);
}

/* --- folders and calls ----------------------------------------------------------------------- */

static void a_folder_gives_what_is_a_history_and_counts_the_rest(void **state)
{
    shoal_env *env = world_new();
    shoal_err err = SHOAL_ERR_INIT;
    const char *path = "data/", *other = "junk";
    struct market_prices *p = NULL;
    struct market_load_opts series = {.format = MARKET_FORMAT_SERIES};

    (void)state;
    world_put(env, "data/a/b/one.tsv", "#x\tus-east-1a\n2024-01-01\t1\n");
    world_put(env, "data/a/two.csv", "time,cloud,zone,instance,price\n2024-01-01,gcp,z,y,2\n");
    world_put(env, "data/empty.json", "{\"SpotPriceHistory\": []}");
    world_put(env, "data/README", "not prices\n");
    world_put(env, "data/.hidden", "#x\tus-east-1a\n2024-01-01\t1\n");
    world_put(env, "data/packed.bz2", "BZh91AY&SY and so on");
    world_put(env, "data/nothing", "");
    world_put(env, "junk/README", "not prices\n");
    p = world_load(env, "data/");
    assert_int_equal(p->offer_count, 2);
    assert_int_equal(p->odd.skipped, 3);
    assert_int_equal(p->file_count, 3);
    assert_string_equal(p->format, "mixed");
    market_prices_free(p);
    p = NULL;
    assert_int_equal(market_prices_load(env, &path, 1, &series, &p, NULL), SHOAL_OK);
    assert_int_equal(p->offer_count, 1);
    assert_string_equal(p->format, "series");
    market_prices_free(p);
    p = NULL;
    assert_int_equal(market_prices_load(env, &other, 1, NULL, &p, &err), SHOAL_E_FORMAT);
    assert_non_null(strstr(err.message, "none of its 1 files"));
    path = "absent";
    assert_int_equal(market_prices_load(env, &path, 1, NULL, &p, &err), SHOAL_E_NOTFOUND);
    assert_null(p);
    shoal_env_free(env);
}

static void a_bad_file_in_a_folder_is_an_error_that_names_it(void **state)
{
    shoal_env *env = world_new();
    shoal_err err = SHOAL_ERR_INIT;
    const char *path = "data";
    struct market_prices *p = NULL;

    (void)state;
    world_put(env, "data/one.tsv", "#x\tus-east-1a\n2024-01-01\t1\n");
    world_put(env, "data/two.tsv", "#x\tus-east-1a\n2024-01-01\t-1\n");
    assert_int_equal(market_prices_load(env, &path, 1, NULL, &p, &err), SHOAL_E_FORMAT);
    assert_non_null(strstr(err.message, "data/two.tsv"));
    assert_non_null(strstr(err.where, "line 2, column 2"));
    shoal_env_free(env);
}

static void calls_that_make_no_sense_are_refused(void **state)
{
    shoal_env *env = world_new();
    const char *paths[] = {"-", "-"};
    struct market_prices *p = NULL;
    struct market_rate rate = {"EUR", 0};
    struct market_load_opts opts = {.rates = &rate, .rate_count = 1};
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(market_prices_load(env, paths, 0, NULL, &p, NULL), SHOAL_E_INVAL);
    assert_int_equal(market_prices_load(env, paths, 2, NULL, &p, NULL), SHOAL_E_INVAL);
    assert_int_equal(market_prices_load(env, paths, 1, &opts, &p, NULL), SHOAL_E_INVAL);
    rate.usd = NAN;
    assert_int_equal(market_prices_load(env, paths, 1, &opts, &p, NULL), SHOAL_E_INVAL);
    opts = (struct market_load_opts){.format = MARKET_FORMAT_COUNT};
    assert_int_equal(market_prices_load(env, paths, 1, &opts, &p, &err), SHOAL_E_INVAL);
    assert_non_null(strstr(err.message, "no such format"));
    assert_null(p);
    shoal_env_free(env);
}

static shoal_status load_and_save(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    const struct base_alloc *own = env->alloc;
    const char *paths[] = {"d", "rows.csv"};
    struct market_prices *p = NULL;
    struct base_buf out;

    env->alloc = alloc;
    shoal_status st = market_prices_load(env, paths, 2, NULL, &p, NULL);
    if (st == SHOAL_OK) {
        base_buf_init(&out, alloc, 1 << 20);
        prices_text(p, &out);
        st = base_buf_status(&out);
        base_buf_fini(&out);
    }
    market_prices_free(p);
    env->alloc = own;
    return st;
}

static void failing_allocations_end_cleanly(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "d/a.tsv", "#x\tus-east-1a\n2024-01-01\t1\n2024-01-03\t2\n2024-01-02\t3\n");
    world_put(env, "d/b.json",
              "[{\"AvailabilityZone\":\"us-east-1a\",\"InstanceType\":\"x\",\"SpotPrice\":\"3\","
              "\"ProductDescription\":\"Windows\",\"Timestamp\":\"2024-01-03T00:00:00Z\"}]");
    world_put(env, "d/us_east.csv", "Date,NC6\n1/2/2024,$1\n");
    market_prices_free(world_rows(env, "2024-01-01,aws,us-east-1a,y,,2\n"
                                       "2024-01-02,aws,us-east-1a,p3.2xlarge,,2\n"));
    torture_run(load_and_save, env);
    shoal_env_free(env);
}

/* ---- zones that go by two names ---- */

static const char two_names[] = "time,cloud,region,zone,instance,market,price\n"
                                "2024-01-01,aws,us-east-1,us-east-1a,x,spot,1\n"
                                "2024-01-01,aws,us-east-1,use1-az1,x,spot,2\n"
                                "2024-01-01,aws,us-east-1,use1-az1,x,on-demand,3\n"
                                "2024-01-01,aws,us-east-1,use1-az1,y,spot,4\n"
                                "2024-01-01,aws,us-west-2,usw2-az1,x,spot,5\n";

static void ids_of_zones_are_told_from_names(void **state)
{
    (void)state;
    assert_true(market_zone_is_id("use1-az4"));
    assert_true(market_zone_is_id("apne1-az12"));
    assert_false(market_zone_is_id("us-east-1a"));
    assert_false(market_zone_is_id("us-central1-az"));
    assert_false(market_zone_is_id("-az1"));
    assert_false(market_zone_is_id("west-azure"));
}

static void only_what_is_told_by_name_too_is_left_out(void **state)
{
    shoal_env *env = world_new();
    bool allowed[8];
    size_t dropped = 0;

    (void)state;
    world_put(env, "a.csv", two_names);
    struct market_prices *p = world_load(env, "a.csv");
    assert_int_equal(p->offer_count, 5);
    memset(allowed, true, sizeof allowed);
    assert_int_equal(market_offers_once(&base_alloc_libc, p, allowed, &dropped), SHOAL_OK);
    assert_int_equal(dropped, 1);
    for (size_t o = 0; o < p->offer_count; o++) {
        const struct market_offer *of = &p->offers[o];
        bool twice = of->how == MARKET_SPOT && p->points[of->first].usd_h == 2;
        assert_int_equal(allowed[o], !twice);
    }
    market_prices_free(p);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cursor_changes_no_answer),
        cmocka_unit_test(what_is_saved_is_loaded_as_it_was),
        cmocka_unit_test(order_and_overlap_of_files_do_not_matter),
        cmocka_unit_test(the_price_is_that_of_the_last_word_on_the_latest_time),
        cmocka_unit_test(the_history_ends_with_its_last_line_though_nothing_changed),
        cmocka_unit_test(the_hash_is_of_all_that_was_read),
        cmocka_unit_test(a_price_of_zero_or_none_ends_the_offer),
        cmocka_unit_test(clocks_that_jump_are_sorted_and_the_last_word_on_an_instant_holds),
        cmocka_unit_test(downloads_that_overlap_are_one_history_and_nothing_odd_but_repeats),
        cmocka_unit_test(a_kind_that_is_calm_for_less_than_60_days_goes_on),
        cmocka_unit_test(a_kind_that_ended_everywhere_is_not_offered_to_the_end),
        cmocka_unit_test(a_folder_gives_what_is_a_history_and_counts_the_rest),
        cmocka_unit_test(a_bad_file_in_a_folder_is_an_error_that_names_it),
        cmocka_unit_test(calls_that_make_no_sense_are_refused),
        cmocka_unit_test(failing_allocations_end_cleanly),
        cmocka_unit_test(ids_of_zones_are_told_from_names),
        cmocka_unit_test(only_what_is_told_by_name_too_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
