/* Tests of the readers of prices (src/market/prices_*.c), reader.c, when.c and draft.c. */
#include "prices_text.h"
#include "unit/market/market_world.h"

#include "market/draft.h"
#include "market/reader.h"
#include "market/when.h"

#define DAY 86400.0

/* --- times ----------------------------------------------------------------------------------- */

static double when(const char *text)
{
    double at_s = -1;

    return market_when_parse(text, strlen(text), &at_s) ? at_s : -1;
}

static void times_are_read_as_histories_write_them(void **state)
{
    static const char *const bad[] = {"",
                                      "2024",
                                      "2024-1-1",
                                      "2024-02-30",
                                      "2024-01-01T",
                                      "2024-01-01Z",
                                      "1999-12-31",
                                      "2100-01-01",
                                      "2024-01-01 24:00",
                                      "2024-01-01T00:00:00+15",
                                      "yesterday",
                                      "2024-01-01T00",
                                      "2024-01-01T00:00:00.",
                                      "2024-01-01T00:00:00z",
                                      "1999-12-31T23:59:59Z",
                                      "2024-01-01T00:00:00+1:0",
                                      "2024-01-01T00:00:00.1234567890"};

    (void)state;
    assert_true(when("2024-01-01") == WORLD_2024);
    assert_true(when("2024-01-01T00:01") == WORLD_2024 + 60);
    assert_true(when("2024-01-01 00:01Z") == WORLD_2024 + 60);
    assert_true(when("2024-01-01T00:00:09") == WORLD_2024 + 9);
    assert_true(when("2024-01-01T00:00:09.000Z") == WORLD_2024 + 9);
    assert_true(when("2024-01-01T00:00:09.25Z") == WORLD_2024 + 9.25);
    assert_true(when("2024-01-01T05:30:00+05:30") == WORLD_2024);
    assert_true(when("2023-12-31T19:00:00-0500") == WORLD_2024);
    assert_true(when("2023-12-31T19:00-05") == WORLD_2024);
    assert_true(when("2000-01-01") == MARKET_WHEN_MIN);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (when(bad[i]) != -1)
            fail_msg("'%s' is read as a time", bad[i]);
}

static void times_are_written_so_that_they_read_back(void **state)
{
    struct base_rand rand;
    char text[MARKET_WHEN_TEXT];

    (void)state;
    base_rand_init(&rand, 1, "when");
    assert_string_equal(market_when_text(1705121174, text), "2024-01-13T04:46:14Z");
    assert_string_equal(market_when_text(1705121174.25, text), "1705121174.25");
    assert_string_equal(market_when_text(951782400, text), "2000-02-29T00:00:00Z");
    for (int i = 0; i < property_count(20000); i++) {
        double at_s = floor(base_rand_range(&rand, MARKET_WHEN_MIN, MARKET_WHEN_MAX));
        assert_true(when(market_when_text(at_s, text)) == at_s);
    }
}

/* --- places and kinds ------------------------------------------------------------------------ */

static void regions_come_from_zones(void **state)
{
    static const char *const rows[][2] = {{"us-east-1a", "us-east-1"},
                                          {"us-gov-west-1b", "us-gov-west-1"},
                                          {"us-west-2-lax-1a", "us-west-2"},
                                          {"us-east-1-wl1-bos-wlz-1", "us-east-1"},
                                          {"us-central1-a", "us-central1"},
                                          {"europe-west12-c", "europe-west12"},
                                          {"eastus", "eastus"},
                                          {"use1-az4", "use1-az4"},
                                          {"-1", "-1"},
                                          {"", ""}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct env_cell region = market_region_of(env_cell_of(rows[i][0]));
        if (!env_cell_same(region, rows[i][1]))
            fail_msg("region of %s is %.*s", rows[i][0], (int)region.length, region.text);
    }
}

static void kinds_are_known_by_family_and_exception(void **state)
{
    const char *name = NULL;
    double count = 0;

    (void)state;
    assert_true(market_kinds_find("aws", "p3.8xlarge", &name, &count));
    assert_string_equal(name, "V100");
    assert_true(count == 4);
    assert_true(market_kinds_find("aws", "g5.2xlarge", &name, &count) && count == 1);
    assert_true(market_kinds_find("aws", "g5.48xlarge", &name, &count) && count == 8);
    assert_false(market_kinds_find("gcp", "p3.8xlarge", &name, &count));
    assert_false(market_kinds_find("aws", "m5.large", &name, &count));
}

/* --- our CSV --------------------------------------------------------------------------------- */

static void shoals_csv_may_leave_out_what_has_a_default(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "a.csv",
              "\n#shoal-prices v1\n# a remark\r\nPrice, Instance ,time,cloud,region,zone,market,"
              "accelerator,count\n"
              "1.5,a,2024-01-01,lab,north,,,Z1,2\n"
              "2.5,\"b, c\",1704067200,lab,,us-east-1a,on-demand,,\n"
              "3,a,2024-01-01,lab,south,,,,\n");
    struct market_prices *p = world_load(env, "a.csv");
    assert_int_equal(p->offer_count, 3);
    assert_string_equal(p->format, "shoal");
    assert_true(world_price(p, "north", "a", MARKET_SPOT, WORLD_2024) == 1.5);
    assert_true(world_price(p, "us-east-1a", "b, c", MARKET_ON_DEMAND, WORLD_2024) == 2.5);
    assert_string_equal(market_names_get(&p->regions, p->offers[2].region), "us-east-1");
    /* what was said of a kind in one place holds in the others */
    uint32_t south = world_find(p, "south", "a", MARKET_SPOT);
    assert_true(p->offers[south].accelerators == 2);
    assert_string_equal(market_names_get(&p->accelerators, p->offers[south].accelerator), "Z1");
    market_prices_free(p);
    shoal_env_free(env);
}

static void currencies_need_a_rate(void **state)
{
    static const char text[] = "time,cloud,zone,instance,price,currency\n"
                               "2024-01-01,aws,us-east-1a,x,2,EUR\n"
                               "2024-01-02,aws,us-east-1a,x,2,usd\n"
                               "2024-01-03,aws,us-east-1a,x,3,\n";
    struct market_rate rate = {"eur", 1.25};
    struct market_load_opts opts = {.rates = &rate, .rate_count = 1};
    const char *path = "a.csv";
    struct market_prices *p = NULL;
    shoal_env *env = world_new();

    (void)state;
    world_refuses(text, "line 2, column 5: expected a price in US dollars, found one in 'EUR'",
                  "EUR=1.1");
    world_put(env, path, text);
    assert_int_equal(market_prices_load(env, &path, 1, &opts, &p, NULL), SHOAL_OK);
    assert_int_equal(p->odd.currencies, 1);
    assert_true(world_price(p, "us-east-1a", "x", MARKET_SPOT, WORLD_2024) == 2.5);
    assert_true(world_price(p, "us-east-1a", "x", MARKET_SPOT, WORLD_2024 + DAY) == 2);
    market_prices_free(p);
    p = NULL;
    world_put(env, path,
              "time,cloud,zone,instance,price,currency\n2024-01-01,aws,a,x,900000,EUR\n");
    assert_int_equal(market_prices_load(env, &path, 1, &opts, &p, NULL), SHOAL_E_FORMAT);
    shoal_env_free(env);
}

#define HEAD "time,cloud,zone,instance,price\n"

static void bad_lines_are_named_with_place_and_reason(void **state)
{
    static const char *const rows[][2] = {
        {"2024-01-01,aws,us-east-1a,x,-0.1\n", "line 2, column 5: expected a price of 0 or more"},
        {"2024-01-01,aws,us-east-1a,x,inf\n", "expected a price in dollars"},
        {"2024-01-01,aws,us-east-1a,x,1e999\n", "expected a price in dollars"},
        {"2024-01-01,aws,us-east-1a,x,nan\n", "expected a price in dollars"},
        {"2024-01-01,aws,us-east-1a,x,$1\n", "expected a price in dollars"},
        {"2024-01-01,aws,us-east-1a,x,1000001\n", "at most 1,000,000 dollars"},
        {"1999-12-31,aws,us-east-1a,x,1\n", "line 2, column 1: expected a time such as"},
        {"2100-01-01,aws,us-east-1a,x,1\n", "expected a time"},
        {"17,aws,us-east-1a,x,1\n", "expected a time"},
        {"2024-01-01,,us-east-1a,x,1\n", "expected the name of a cloud, found nothing"},
        {"2024-01-01,aws,,x,1\n", "expected a region or a zone"},
        {"2024-01-01,aws,us-east-1a,,1\n", "expected a kind of instance"},
        {"2024-01-01,aws,us-east-1a,x\n", "expected 5 fields, found 4"},
        {"2024-01-01,aws,us-east-1a,\"x\ny\",1\n", "expected a closing quote"},
        {"2024-01-01,aws,us-east-1a,x\ty,1\n", "control character"},
    };
    char text[600];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(text, sizeof text, HEAD "%s", rows[i][0]);
        world_refuses(text, rows[i][1], "");
    }
    snprintf(text, sizeof text, HEAD "2024-01-01,aws,us-east-1a,%0128d,1\n", 7);
    world_refuses(text, "expected a kind of instance of at most 127 bytes", "");
    snprintf(text, sizeof text, HEAD "2024-01-01,aws,us-east-1a,%0127d,1\n", 7);
    shoal_env *env = world_new();
    world_put(env, "a.csv", text);
    market_prices_free(world_load(env, "a.csv"));
    shoal_env_free(env);
    world_refuses_file("a.csv", HEAD "2024-01-01,aws,a\0b,x,1\n", sizeof HEAD + 23,
                       MARKET_FORMAT_AUTO, "NUL byte", "");
    world_refuses(HEAD, "nothing in it is ever offered", "");
    world_refuses(HEAD "2024-01-01,aws,z,x,0\n", "nothing in it is ever offered", "");
    world_refuses("#shoal-prices v2\n", "expected '#shoal-prices v1'", "");
    world_refuses("#shoal-prices v1\ntime,cloud,instance,prices\n", "a column 'price'",
                  "is its 'prices' meant?");
    world_refuses("#shoal-prices v1\ntime,time,cloud,instance,price\n",
                  "column 'time' is there twice", "");
    world_refuses("#shoal-prices v1\ntime,cloud,zone,price\n", "column 'instance'", "");
    world_refuses("time,cloud,zone,instance,price,market\n2024-01-01,a,b,c,1,auction\n",
                  "expected spot or on-demand, found 'auction'", "");
    world_refuses("time,cloud,zone,instance,price,accelerator,count\n2024-01-01,a,b,c,1,g,-1\n",
                  "column 7: expected a number of accelerators", "");
}

static void what_no_reader_knows_is_an_error_that_names_the_formats(void **state)
{
    (void)state;
    world_refuses("a,b,c\n1,2,3\n", "found 'a,b,c'", "dates (Date,kind,..)");
    world_refuses("", "the file is empty", "");
    world_refuses("BZh91AY&SY\n", "compressed", "");
    world_refuses("\x1f\x8b\x08\n", "it ends in the middle", "gzip -t");
    world_refuses_file("a.csv", "x", 1, MARKET_FORMAT_SERIES, "before the first price", "");
}

static void a_failing_read_is_an_error_not_an_end(void **state)
{
    static const char *const texts[][2] = {
        {"a.csv", HEAD "2024-01-01,aws,us-east-1a,x,1\n"},
        {"a.json", "[{\"AvailabilityZone\":\"us-east-1a\",\"InstanceType\":\"x\",\"SpotPrice\":"
                   "\"3\",\"Timestamp\":\"2024-01-03T00:00:00Z\"}]"},
        {"us_east.csv", "Date,A\n2/24/2020,1\n"},
        {"a.tsv", "#x\tus-east-1a\n2024-01-01\t1\n"}};
    int failed = 0, read = 0;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (uint64_t seed = 0; seed < 50; seed++) {
            struct market_prices *p = NULL;
            shoal_env *env = NULL;
            assert_int_equal(shoal_env_sim_new(seed, &env, NULL), SHOAL_OK);
            world_put(env, texts[i][0], texts[i][1]);
            assert_int_equal(env_sim_set_fault(env, "env.read", 0.1), SHOAL_OK);
            assert_int_equal(env_sim_set_fault(env, "env.read.short", 0.9), SHOAL_OK);
            shoal_status st = market_prices_load(env, &texts[i][0], 1, NULL, &p, NULL);
            assert_true(st == SHOAL_OK || st == SHOAL_E_IO);
            assert_true(st != SHOAL_OK || p->offer_count == 1);
            failed += st == SHOAL_E_IO;
            read += st == SHOAL_OK;
            market_prices_free(p);
            shoal_env_free(env);
        }
    assert_true(failed > 20 && read > 20);
}

/* --- AWS ------------------------------------------------------------------------------------- */

#define ENTRY(zone, product, price, time)                                     \
    "{\"AvailabilityZone\": \"" zone "\", \"InstanceType\": \"p3.2xlarge\", " \
    "\"ProductDescription\": \"" product "\", \"SpotPrice\": \"" price        \
    "\", \"Timestamp\": \"" time "\"}"

struct entry {
    const char *zone, *product, *price, *time;
};

/* "[...]" of entries. */
static void put_list(struct base_buf *out, const struct entry *entries, size_t count)
{
    base_buf_puts(out, "[");
    for (size_t i = 0; i < count; i++)
        base_buf_printf(out,
                        "%s{\"AvailabilityZone\": \"%s\", \"InstanceType\": \"p3.2xlarge\",\n"
                        "\"ProductDescription\": \"%s\", \"SpotPrice\": \"%s\", "
                        "\"Timestamp\": \"%s\"}",
                        i > 0 ? ",\n" : "", entries[i].zone, entries[i].product, entries[i].price,
                        entries[i].time);
    base_buf_puts(out, "]");
}

static void linux_is_what_counts_unless_there_is_nothing_else(void **state)
{
    static const struct entry entries[] = {
        {"us-east-1a", "Windows", "9", "2024-01-02T00:00:00.000Z"},
        {"us-east-1a", "Linux/UNIX (Amazon VPC)", "1", "2024-01-02T00:00:00.000Z"},
        {"us-east-1a", "Linux/UNIX", "2", "2024-01-01T00:00:00.000Z"},
        {"us-east-1b", "Windows", "7", "2024-01-01T00:00:00.000Z"},
        {"us-east-1b", "SUSE Linux", "6", "2024-01-01T00:00:00.000Z"}};
    shoal_env *env = world_new();
    struct base_buf text;

    (void)state;
    base_buf_init(&text, &base_alloc_libc, 1 << 16);
    base_buf_puts(&text, "{\"NextToken\": \"\", \"SpotPriceHistory\": ");
    put_list(&text, entries, 5);
    base_buf_puts(&text, "}");
    world_put(env, "a.json", text.data);
    struct market_prices *p = world_load(env, "a.json");
    assert_int_equal(p->offer_count, 2);
    assert_int_equal(p->odd.products, 2);
    assert_int_equal(p->odd.backwards, 0);
    assert_true(world_price(p, "us-east-1a", "p3.2xlarge", MARKET_SPOT, WORLD_2024) == 2);
    assert_true(world_price(p, "us-east-1a", "p3.2xlarge", MARKET_SPOT, WORLD_2024 + DAY) == 1);
    assert_true(world_price(p, "us-east-1b", "p3.2xlarge", MARKET_SPOT, WORLD_2024) == 6);
    assert_true(p->offers[0].accelerators == 1);
    market_prices_free(p);
    base_buf_fini(&text);
    shoal_env_free(env);
}

static void pages_behind_each_other_and_bare_entries_are_read(void **state)
{
    static const struct entry entries[] = {
        {"us-east-1a", "Linux/UNIX", "2", "2024-01-02T00:00:00Z"},
        {"us-east-1b", "Linux/UNIX", "3", "2024-01-02T00:00:00Z"}};
    shoal_env *env = world_new();
    struct base_buf text;

    (void)state;
    base_buf_init(&text, &base_alloc_libc, 1 << 16);
    base_buf_puts(&text, "{\"SpotPriceHistory\": ");
    put_list(&text, entries, 1);
    base_buf_puts(&text, "}\n{\"SpotPriceHistory\": []}");
    put_list(&text, entries + 1, 1);
    base_buf_puts(&text, ENTRY("us-east-1c", "Linux/UNIX", "4", "2024-01-02T00:00:00Z"));
    world_put(env, "a.json", text.data);
    struct market_prices *p = world_load(env, "a.json");
    assert_int_equal(p->offer_count, 3);
    market_prices_free(p);
    base_buf_fini(&text);
    shoal_env_free(env);
}

static void broken_answers_of_aws_are_refused(void **state)
{
    static const char *const rows[][2] = {
        {"{\"SpotPriceHistory\": 7}", "expected a list as"},
        {"{\"SpotPriceHistory\": [7]}", "expected an entry in braces"},
        {"{\"SpotPriceHistory\": [{}]}", "expected an entry with \"AvailabilityZone\""},
        {"{\"SpotPriceHistory\": [\n" ENTRY("us-east-1a", "", "x", "2024-01-01T00:00:00Z") "]}",
         "line 2: expected a price"},
        {"{\"SpotPriceHistory\": [" ENTRY("us-east-1a", "", "1", "now") "]}", "expected a time"},
        {"{\"SpotPriceHistory\": [" ENTRY("us-east-1a", "", "1", "2024-01-01T00:00:00Z"),
         "found the end of the file"},
        {"{\"SpotPriceHistory\": [" ENTRY("us\\u0000", "", "1", "2024-01-01T00:00:00Z") "]}",
         "expected a character"},
        {"{\"SpotPriceHistory\": [" ENTRY("us\\n", "", "1", "2024-01-01T00:00:00Z") "]}",
         "control character"},
        {"[{\"SpotPrice\": [1]}]", "expected text for \"SpotPrice\""},
        {"[{\"SpotPrice\": \"1\"}]]", "expected an entry with"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        world_refuses(rows[i][0], rows[i][1], "");
}

/* --- catalogues ------------------------------------------------------------------------------ */

#define CATALOGUE \
    "date,cloud,region,zone,accelerator,count,instance_type,ondemand_usd_h,spot_usd_h\n"

static void a_row_of_a_catalogue_is_an_offer_on_demand_and_a_spot_offer(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "cc.csv",
              CATALOGUE "2024-01-01,aws,us-east-1,use1-az1,V100,1.0,p3.2xlarge,3.06,0.9\n"
                        "2024-01-02,aws,us-east-1,use1-az1,V100,1.0,p3.2xlarge,3.06,\n"
                        "2024-01-01,gcp,us-central1,us-central1-a,A100,8,,23.5,7\n"
                        "2024-01-01,azure,eastus,,K80,0,Standard_NC6,0.9,\n"
                        "2024-01-02,azure,eastus,,K80,1,Standard_NC6,0.0,\n");
    struct market_prices *p = world_load(env, "cc.csv");
    assert_string_equal(p->format, "catalogue");
    assert_int_equal(p->offer_count, 5);
    assert_int_equal(p->odd.zero, 1);
    assert_int_equal(p->odd.bare, 2);
    assert_true(world_price(p, "use1-az1", "p3.2xlarge", MARKET_SPOT, WORLD_2024) == 0.9);
    assert_true(isnan(world_price(p, "use1-az1", "p3.2xlarge", MARKET_SPOT, WORLD_2024 + DAY)));
    assert_true(world_price(p, "use1-az1", "p3.2xlarge", MARKET_ON_DEMAND, WORLD_2024 + DAY) ==
                3.06);
    assert_true(world_price(p, "us-central1-a", "A100:8", MARKET_SPOT, WORLD_2024) == 7);
    uint32_t nc6 = world_find(p, "eastus", "Standard_NC6", MARKET_ON_DEMAND);
    assert_true(p->offers[nc6].accelerators == 1); /* 0 says nothing */
    market_prices_free(p);
    shoal_env_free(env);
    world_refuses(CATALOGUE "2024-01-01,aws,r,z,V100,1,x,1,-1\n", "line 2, column 9", "");
    world_refuses(CATALOGUE "2024-01-01,aws,r,z,,1,,1,1\n", "expected a kind of instance", "");
    world_refuses(CATALOGUE "2024-01-01,aws,r,z,V100,many,x,1,1\n", "line 2, column 6", "");
}

/* --- series ---------------------------------------------------------------------------------- */

static void a_series_knows_its_cloud_by_the_zone_unless_it_is_said(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "s.tsv",
              "#a\tus-east-1a\n2024-01-01T00:00:00\t1\n\n2024-01-02T00:00:00\t\n"
              "#a\tus-central1-b\n2024-01-01\t2\n"
              "#a\teastus\tazure\ton-demand\n2024-01-01\t3\n#b\tempty-1a\n");
    struct market_prices *p = world_load(env, "s.tsv");
    char text[200];
    assert_int_equal(p->offer_count, 3);
    assert_string_equal(prices_text_of(p, 0, text, sizeof text), "aws us-east-1a a spot");
    assert_string_equal(prices_text_of(p, 1, text, sizeof text), "azure eastus a on-demand");
    assert_string_equal(prices_text_of(p, 2, text, sizeof text), "gcp us-central1-b a spot");
    assert_string_equal(market_names_get(&p->regions, p->offers[2].region), "us-central1");
    market_prices_free(p);
    shoal_env_free(env);
    world_refuses("#a\tz\n2024-01-01 1\n", "line 2: expected a time, a tab and a price", "");
    world_refuses("#a\tz\n2024-01-01\t-1\n", "line 2, column 2", "");
    world_refuses("#a\tz\n2024-13-01\t1\n", "line 2, column 1", "");
    world_refuses("#a\tz\tc\tnow\n", "expected spot or on-demand", "");
    world_refuses("#a\tz\tc\tspot\tx\n", "found 5 fields", "");
    world_refuses("#\tz\n", "expected a kind of instance", "");
}

/* --- tables of dates ------------------------------------------------------------------------- */

static void a_table_of_dates_is_of_the_region_its_file_is_named_for(void **state)
{
    static const char text[] = "Date,NC6,NC12s v2\n2/24/2020,$0.5,$1\n2020-02-25,$0.5,\n"
                               "2/26/2020,0.75,$1\n";
    static const char *const names[][2] = {
        {"d/us_east.csv", "eastus"},       {"us_south_central.csv", "southcentralus"},
        {"us_east_2.csv", "eastus2"},      {"US-West.csv", "westus"},
        {"west_europe.csv", "westeurope"}, {"uksouth.csv", "uksouth"}};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        shoal_env *env = world_new();
        world_put(env, names[i][0], text);
        struct market_prices *p = world_load(env, names[i][0]);
        double start = when("2020-02-24");
        assert_string_equal(p->format, "dates");
        assert_int_equal(p->offer_count, 2);
        assert_true(world_price(p, names[i][1], "Standard_NC6", MARKET_SPOT, start + DAY) == 0.5);
        assert_true(
            isnan(world_price(p, names[i][1], "Standard_NC12s_v2", MARKET_SPOT, start + DAY)));
        assert_true(
            p->offers[world_find(p, names[i][1], "Standard_NC12s_v2", MARKET_SPOT)].accelerators ==
            2);
        market_prices_free(p);
        shoal_env_free(env);
    }
}

static void tables_of_dates_say_what_is_wrong_with_them(void **state)
{
    (void)state;
    world_refuses("Date,A\n2/24/2020,$-1\n", "line 2, column 2: expected a price of 0 or more", "");
    world_refuses("Date,A\n2/24/2020,\xe2\x82\xac"
                  "1\n",
                  "one in 'EUR'", "EUR=1.1");
    world_refuses("Date,A\n2/24/2020,CHF 1\n", "one in 'CHF'", "");
    world_refuses("Date,A\n2/24/2020,$\n", "expected a price after the currency", "");
    world_refuses("Date,A,A\n2/24/2020,1,1\n", "expected each instance once", "");
    world_refuses("Date,A,\n2/24/2020,1,1\n", "expected an instance of 1 to 127 bytes", "");
    world_refuses("Date,A\n2/24/2020,1\n24/2/2020,1\n", "line 3, column 1: expected a date", "");
    world_refuses("Date,A\n2/24/2020,1\n2/24/1999,1\n", "line 3, column 1: expected a date", "");
    world_refuses_file("-", "Date,A\n2/24/2020,1\n", 19, MARKET_FORMAT_AUTO,
                       "takes its region from the name", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_read_as_histories_write_them),
        cmocka_unit_test(times_are_written_so_that_they_read_back),
        cmocka_unit_test(regions_come_from_zones),
        cmocka_unit_test(kinds_are_known_by_family_and_exception),
        cmocka_unit_test(shoals_csv_may_leave_out_what_has_a_default),
        cmocka_unit_test(currencies_need_a_rate),
        cmocka_unit_test(bad_lines_are_named_with_place_and_reason),
        cmocka_unit_test(what_no_reader_knows_is_an_error_that_names_the_formats),
        cmocka_unit_test(a_failing_read_is_an_error_not_an_end),
        cmocka_unit_test(linux_is_what_counts_unless_there_is_nothing_else),
        cmocka_unit_test(pages_behind_each_other_and_bare_entries_are_read),
        cmocka_unit_test(broken_answers_of_aws_are_refused),
        cmocka_unit_test(a_row_of_a_catalogue_is_an_offer_on_demand_and_a_spot_offer),
        cmocka_unit_test(a_series_knows_its_cloud_by_the_zone_unless_it_is_said),
        cmocka_unit_test(a_table_of_dates_is_of_the_region_its_file_is_named_for),
        cmocka_unit_test(tables_of_dates_say_what_is_wrong_with_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
