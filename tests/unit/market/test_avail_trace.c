/* Tests of src/market/avail_trace.c: what is no trace of availability. What traces mean is in
 * test_avail.c. */
#include "unit/market/market_world.h"

#include "market/avail.h"

static void refuses(const char *path, const char *text, const char *message)
{
    shoal_env *env = world_new();
    struct market_prices *prices = world_rows(env, "2024-01-01,aws,us-east-1a,p3.2xlarge,spot,1\n");
    struct market_avail *avail = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    world_put(env, path, text);
    shoal_status st = market_avail_load(env, prices, path, WORLD_2024, &avail, &err);
    assert_true(st == SHOAL_E_FORMAT || st == SHOAL_E_INVAL);
    assert_int_equal(err.code, st);
    assert_null(avail);
    if (strstr(err.message, message) == NULL)
        fail_msg("expected '%s' in '%s'", message, err.message);
    market_prices_free(prices);
    shoal_env_free(env);
}

static void bad_traces_are_refused_with_a_reason(void **state)
{
    const char *json = "us-east-1a_v100_1.json";

    (void)state;
    refuses(json, "{\"metadata\": {\"gap_seconds\": 0}, \"data\": [1]}", "from 1 to 1e7");
    refuses(json, "{\"metadata\": {\"gap_seconds\": \"1\"}, \"data\": [1]}", "from 1 to 1e7");
    refuses(json, "{\"metadata\": {\"gap_seconds\": 60}, \"data\": []}", "some \"data\"");
    refuses(json, "{\"metadata\": {\"gap_seconds\": 60}}", "some \"data\"");
    refuses(json, "{\"metadata\": {\"gap_seconds\": 60}, \"data\": 7}", "a list as \"data\"");
    refuses(json, "{\"metadata\": {\"gap_seconds\": 60}, \"data\": [-1]}", "found '-1'");
    refuses(json, "{\"metadata\": {\"gap_seconds\": 60}, \"data\": [1.5]}", "whole numbers");
    refuses(json, "{\"metadata\": {\"gap_seconds\": 60}, \"data\": [\"a\\n\"]}", "found 'a?'");
    refuses(json, "{\"metadata\": {\"gap_seconds\": 60}, \"data\": [[1]]}", "whole numbers");
    refuses(json, "{\"metadata\": {\"gap_seconds\": 60}, \"data\": [1]} {}", "nothing after");
    refuses(json, "{\"metadata\": {\"gap_seconds\": 60}, \"data\": [1", "end of the file");
    refuses(json, "{}", "expected '#shoal-availability v1'");
    refuses("x_y.json", "{\"metadata\": {\"gap_seconds\": 60}, \"data\": [1]}",
            "none of its 1 traces");
    refuses("a.csv", "#shoal-availability v2\n", "expected '#shoal-availability v1'");
    refuses("a.csv", "time,zone,kind,count\n2024-01-01,a,b,-1\n", "column 4: expected a count");
    refuses("a.csv", "time,zone,kind,count\n1999-01-01,a,b,1\n", "expected a time");
    refuses("a.csv", "time,zone,kind,count\n2024-01-01,,b,1\n", "expected a zone");
    refuses("a.csv", "time,zone,kind,count\n2024-01-01,a,,1\n", "expected a kind");
    refuses("a.csv", "time,zone,kind,count\n", "no traces in it");
    refuses("a.csv", "BZh91AY&SY\n", "compressed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_traces_are_refused_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
