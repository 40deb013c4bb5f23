/* Tests of src/base/event.c. */
#include "torture.h"

#include "base/event.h"
#include "base/rand.h"
#include "property.h"
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

static void a_json_line_is_as_promised(void **state)
{
    (void)state;
    struct base_buf buf;
    base_buf_init(&buf, &base_alloc_libc, 1 << 16);
    struct base_event event;
    base_event_init(&event, 60, "job.started");
    base_event_json(&event, &buf);
    base_event_str(&event, "job", "a \"b\"");
    base_event_i64(&event, "gpus", -4);
    base_event_f64(&event, "rho", 1.25);
    base_event_raw(&event, "nodes", "[1,2]");
    base_event_str(&event, "owner", NULL);
    base_event_f64(&event, "left", INFINITY);
    base_event_json(&event, &buf);
    assert_string_equal(
        buf.data, "{\"v\":1,\"t\":60,\"type\":\"job.started\"}\n"
                  "{\"v\":1,\"t\":60,\"type\":\"job.started\",\"job\":\"a \\\"b\\\"\",\"gpus\":-4,"
                  "\"rho\":1.25,\"nodes\":[1,2],\"owner\":null,\"left\":null}\n");
    base_buf_fini(&buf);
}

static void numbers_have_their_golden_texts(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } golden[] = {{0, "0"},
                  {-0.0, "-0.0"},
                  {1, "1"},
                  {-17, "-17"},
                  {0.1, "0.1"},
                  {1.5, "1.5"},
                  {-2.25, "-2.25"},
                  {3469.69375, "3469.69375"},
                  {1.0 / 3, "0.3333333333333333"},
                  {0.1 + 0.2, "0.30000000000000004"},
                  {100000, "100000"},
                  {9007199254740991, "9007199254740991"},
                  {9007199254740992, "9.007199254740992e15"},
                  {1e20, "1e20"},
                  {1.5e300, "1.5e300"},
                  {1e-6, "0.000001"},
                  {1e-7, "1e-7"},
                  {1.25e-10, "1.25e-10"},
                  {-1e-300, "-1e-300"},
                  {DBL_MAX, "1.7976931348623157e308"},
                  {DBL_MIN, "2.2250738585072014e-308"},
                  {0x1p-1074, "5e-324"},
                  {123456789012345.67, "123456789012345.67"},
                  {NAN, "null"},
                  {INFINITY, "null"},
                  {-INFINITY, "null"}};
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
        struct base_buf buf;
        base_buf_init(&buf, &base_alloc_libc, 100);
        base_json_f64(&buf, golden[i].value);
        assert_string_equal(buf.data, golden[i].text);
        base_buf_fini(&buf);
    }
}

static double random_double(struct base_rand *r)
{
    switch (base_rand_below(r, 5)) {
    case 0: return (double)(int64_t)(base_rand_u64(r) >> base_rand_below(r, 63)) - 1e5;
    case 1: return base_rand_range(r, -1e4, 1e4);
    case 2: return (double)base_rand_below(r, 100000000) / 1000.0;
    case 3: return exp(base_rand_range(r, -40, 40));
    default: break;
    }
    uint64_t bits = base_rand_u64(r);
    double value = 0;
    memcpy(&value, &bits, sizeof value);
    return isfinite(value) ? value : 0.0;
}

static void a_json_reader_gets_equal_numbers_and_strings_back(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "test.event");
    struct base_buf buf;
    base_buf_init(&buf, &base_alloc_libc, 1 << 16);
    for (int i = 0; i < property_count(20000); i++) {
        double time = random_double(&r), value = random_double(&r);
        int64_t integer = (int64_t)base_rand_u64(&r) >> base_rand_below(&r, 64);
        struct base_event event;
        base_event_init(&event, time, "test");
        base_event_f64(&event, "value", value);
        base_event_i64(&event, "integer", integer);
        base_event_str(&event, "name", "tab\tquote\" \xE2\x82\xAC");
        base_buf_clear(&buf);
        base_event_json(&event, &buf);
        assert_int_equal(base_buf_status(&buf), SHOAL_OK);
        assert_ptr_equal(strchr(buf.data, '\n'), buf.data + buf.size - 1);
        json_error_t error;
        json_t *object = json_loads(buf.data, 0, &error);
        if (object == NULL)
            fail_msg("%s in %s", error.text, buf.data);
        assert_int_equal(json_integer_value(json_object_get(object, "v")), 1);
        double back = json_number_value(json_object_get(object, "t"));
        assert_true(back == time);
        back = json_number_value(json_object_get(object, "value"));
        assert_true(back == value);
        assert_true(json_integer_value(json_object_get(object, "integer")) == integer);
        assert_string_equal(json_string_value(json_object_get(object, "name")),
                            "tab\tquote\" \xE2\x82\xAC");
        json_decref(object);
    }
    base_buf_fini(&buf);
}

static void a_full_event_keeps_all_its_fields(void **state)
{
    (void)state;
    static const char *const names[BASE_EVENT_FIELDS_MAX] = {"a", "b", "c", "d", "e", "f",
                                                             "g", "h", "i", "j", "k", "l"};
    struct base_event event;
    base_event_init(&event, 1, "full");
    for (int64_t i = 0; i < BASE_EVENT_FIELDS_MAX; i++)
        base_event_i64(&event, names[i], i);
    struct base_buf buf;
    base_buf_init(&buf, &base_alloc_libc, 1 << 16);
    base_event_json(&event, &buf);
    json_t *object = json_loads(buf.data, 0, NULL);
    assert_int_equal(json_object_size(object), 3 + BASE_EVENT_FIELDS_MAX);
    json_decref(object);
    base_buf_fini(&buf);
}

static shoal_status log_events(const struct base_alloc *alloc, void *ctx)
{
    (void)ctx;
    struct base_buf buf;
    base_buf_init(&buf, alloc, 1 << 20);
    for (int i = 0; i < 200; i++) {
        struct base_event event;
        base_event_init(&event, i * 0.3, "job.started");
        base_event_str(&event, "job", "a \"job\"");
        base_event_f64(&event, "share", 1.0 / (i + 3));
        base_event_json(&event, &buf);
    }
    shoal_status st = base_buf_status(&buf);
    base_buf_fini(&buf);
    return st;
}

static void every_failed_allocation_is_clean(void **state)
{
    (void)state;
    torture_run(log_events, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_json_line_is_as_promised),
        cmocka_unit_test(numbers_have_their_golden_texts),
        cmocka_unit_test(a_json_reader_gets_equal_numbers_and_strings_back),
        cmocka_unit_test(a_full_event_keeps_all_its_fields),
        cmocka_unit_test(every_failed_allocation_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
