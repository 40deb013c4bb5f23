/* Published price histories and traces of availability, read whole; what is in them was counted
 * with other tools.
 * ctest: full timeout=240 */
#include "unit/market/market_world.h"
#include "unit/sim/public_data.h"

#include "market/avail.h"
#include "market/when.h"

#define SPOT "spot/"

static shoal_env *real_new(void)
{
    shoal_env *env = NULL;

    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    return env;
}

/* The price by reading the file from its beginning, line by line. */
static double price_in_file(FILE *file, const char *series, double at_s)
{
    char line[200];
    double price = NAN;
    bool inside = false;

    rewind(file);
    while (fgets(line, sizeof line, file) != NULL) {
        double when_s = 0;
        if (line[0] == '#') {
            if (inside)
                break;
            line[strcspn(line, "\n")] = '\0';
            inside = strcmp(line, series) == 0;
        } else if (inside && market_when_parse(line, 19, &when_s) && when_s <= at_s) {
            price = strtod(line + 20, NULL);
        }
    }
    return price;
}

static void aws_2024_to_2026_is_read_whole(void **state)
{
    struct public_data data;
    struct base_rand rand;

    (void)state;
    public_data_init(&data);
    const char *path = public_data_file(&data, SPOT "aws_gpu_spot_2024_2026.tsv.xz", NULL);
    shoal_env *env = real_new();
    struct market_prices *p = world_load(env, path);
    assert_string_equal(p->format, "series");
    assert_int_equal(p->offer_count, 826);
    assert_int_equal(p->odd.retired, 73); /* all of p2 */
    assert_int_equal(p->point_count, 1704037 + 73);
    assert_int_equal(p->zones.map.count, 77);
    assert_int_equal(p->odd.same_instant + p->odd.backwards + p->odd.zero, 0);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    base_rand_init(&rand, 1, "public");
    for (int i = 0; i < 12; i++) {
        uint32_t offer = (uint32_t)base_rand_below(&rand, p->offer_count);
        const struct market_offer *o = &p->offers[offer];
        double at_s = base_rand_range(&rand, p->from_s, p->to_s);
        char series[300];
        snprintf(series, sizeof series, "#%s\t%s", market_names_get(&p->kinds, o->kind),
                 market_names_get(&p->zones, o->zone));
        if (strncmp(series, "#p2.", 4) != 0)
            assert_true(world_same_price(market_price_at(p, offer, at_s, NULL, NULL),
                                         price_in_file(file, series, at_s)));
    }
    fclose(file);
    market_prices_free(p);
    shoal_env_free(env);
    public_data_fini(&data);
}

static void catalogues_of_three_clouds_are_read_whole(void **state)
{
    struct public_data data;

    (void)state;
    public_data_init(&data);
    const char *path =
        public_data_file(&data, SPOT "cross_cloud_gpu_prices_2022_2026.csv.xz", NULL);
    shoal_env *env = real_new();
    struct market_prices *p = world_load(env, path);
    assert_string_equal(p->format, "catalogue");
    assert_int_equal(p->clouds.map.count, 3);
    assert_int_equal(p->odd.zero, 10);
    assert_int_equal(p->odd.same_instant + p->odd.repeated, 540); /* 270 rows, two offers each */
    assert_true(p->odd.bare > 0 && p->odd.backwards == 0);
    assert_true(world_find(p, "us-central1-a", "A100:8", MARKET_ON_DEMAND) != MARKET_NONE);
    market_prices_free(p);
    shoal_env_free(env);
    public_data_fini(&data);
}

static void the_logs_of_2020_are_read_as_a_folder(void **state)
{
    struct public_data data;

    (void)state;
    public_data_init(&data);
    const char *path = public_data_file(
        &data, SPOT "dime2020_aws_azure_gcp_price_availability_logs.tar.xz", "logs");
    shoal_env *env = real_new();
    struct market_prices *p = world_load(env, path);
    assert_string_equal(p->format, "mixed");
    assert_int_equal(p->file_count, 273);
    assert_int_equal(p->odd.skipped, 37);
    assert_int_equal(p->odd.repeated, 413); /* downloads overlap, and agree */
    assert_int_equal(p->odd.same_instant + p->odd.backwards, 0);
    assert_true(world_find(p, "eastus", "Standard_NC24rs_v3", MARKET_SPOT) != MARKET_NONE);
    market_prices_free(p);
    shoal_env_free(env);
    public_data_fini(&data);
}

static void public_traces_give_each_offer_a_pattern(void **state)
{
    struct public_data data;
    struct market_avail *avail = NULL;
    struct market_avail_facts facts;
    char traces[600];

    (void)state;
    public_data_init(&data);
    const char *path = public_data_file(&data, SPOT "skypilot_spot_availability_preemption.tar.xz",
                                        "availability");
    snprintf(traces, sizeof traces, "%s", path);
    path = public_data_file(&data, SPOT "dime2020_aws_azure_gcp_price_availability_logs.tar.xz",
                            "logs");
    shoal_env *env = real_new();
    struct market_prices *p = world_load(env, path);
    assert_int_equal(market_avail_cut(env, p, traces, 1, &avail, NULL), SHOAL_OK);
    market_avail_facts_get(avail, &facts);
    assert_int_equal(facts.traces, 20);
    assert_int_equal(facts.covered, p->offer_count);
    market_avail_free(avail);
    avail = NULL;
    /* the same zones and GPUs stand in several folders */
    assert_int_equal(market_avail_load(env, p, traces, p->from_s, &avail, NULL), SHOAL_E_FORMAT);
    strcat(traces, "/1-node/aws-02-15-2023");
    assert_int_equal(market_avail_load(env, p, traces, p->from_s, &avail, NULL), SHOAL_OK);
    market_avail_facts_get(avail, &facts);
    /* no p3.2xlarge had a price in us-east-1a in 2020 */
    assert_true(facts.traces == 9 && facts.unused == 1 && facts.covered == 8);
    market_avail_free(avail);
    market_prices_free(p);
    shoal_env_free(env);
    public_data_fini(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aws_2024_to_2026_is_read_whole),
        cmocka_unit_test(catalogues_of_three_clouds_are_read_whole),
        cmocka_unit_test(the_logs_of_2020_are_read_as_a_folder),
        cmocka_unit_test(public_traces_give_each_offer_a_pattern),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
