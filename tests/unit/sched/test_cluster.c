/* test_cluster.c - cluster specifications: what is written is what is read, and what is wrong is
 * named. */
#include "property.h"
#include "torture.h"

#include "base/assert.h"
#include "base/rand.h"
#include "sched/cluster.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct sched_cluster parsed(const char *spec)
{
    struct sched_cluster c = {0};
    shoal_err err = SHOAL_ERR_INIT;

    if (sched_cluster_parse(&base_alloc_libc, spec, &c, &err) != SHOAL_OK)
        fail_msg("'%s': %s", spec, err.message);
    return c;
}

static void formats_as(const char *spec, const char *expected)
{
    struct sched_cluster c = parsed(spec);
    struct base_buf buf;

    base_buf_init(&buf, &base_alloc_libc, 1 << 16);
    sched_cluster_format(&c, &buf);
    assert_string_equal(buf.data, expected);
    base_buf_fini(&buf);
    sched_cluster_fini(&c);
}

static void a_spec_gives_its_nodes_in_the_order_written(void **state)
{
    struct sched_cluster c = parsed("2x4:t4,1x8:a100,1x2:T4");

    (void)state;
    assert_int_equal(c.node_count, 4);
    assert_int_equal(c.gpus, 18);
    assert_int_equal(c.kind_count, 2);
    assert_int_equal(c.rack_count, 1);
    assert_int_equal(c.nodes[0].gpus, 4);
    assert_int_equal(c.nodes[2].kind, 1);
    assert_int_equal(c.nodes[3].kind, 0); /* kinds are the same whatever their case */
    assert_int_equal(c.kinds[0].gpus, 10);
    assert_int_equal(c.kinds[0].nodes, 3);
    assert_int_equal(c.kinds[0].node_gpus_max, 4);
    assert_int_equal(sched_cluster_kind(&c, "A100"), 1);
    assert_int_equal(sched_cluster_kind(&c, "a10"), -1);
    sched_cluster_fini(&c);
    assert_null(c.nodes);
    sched_cluster_fini(&c); /* again is fine */
}

static void attributes_set_price_and_rack(void **state)
{
    struct sched_cluster c =
        parsed("1x8:a100:usd=4.10:rack=east,1x8:a100:rack=west,1x4:mine,2x4:other:rack=east:usd=0");

    (void)state;
    assert_true(c.kinds[0].usd_gpu_h == 4.10);
    assert_true(c.kinds[1].usd_gpu_h < 0); /* unknown */
    assert_true(c.kinds[2].usd_gpu_h == 0);
    assert_int_equal(c.nodes[0].rack, 1);
    assert_int_equal(c.nodes[1].rack, 2);
    assert_int_equal(c.nodes[2].rack, 0);
    assert_int_equal(c.nodes[3].rack, 1);
    assert_int_equal(c.rack_count, 3);
    sched_cluster_fini(&c);
    c = parsed("1x4:T4");
    assert_true(c.kinds[0].usd_gpu_h > 0); /* a kind that is rented by name has a list price */
    sched_cluster_fini(&c);
}

static void groups_may_stand_on_lines_with_comments(void **state)
{
    (void)state;
    formats_as("# the old room\n2x4:t4 # still good\n\n  1x8:a100:usd=3\r\n\t1x8:a100#",
               "2x4:t4,2x8:a100");
    formats_as("1x1:a , 1x1:a,,1x2:a", "2x1:a,1x2:a");
}

static void the_limits_are_inside(void **state)
{
    struct sched_cluster c = parsed("1000000x64:t4");
    char spec[400] = "";

    (void)state;
    assert_int_equal(c.node_count, SCHED_NODES_MAX);
    assert_int_equal(c.gpus, 64000000);
    sched_cluster_fini(&c);
    for (int k = 0; k < SCHED_KINDS_MAX; k++)
        snprintf(spec + strlen(spec), sizeof spec - strlen(spec), "1x1:kind-%d,", k);
    c = parsed(spec);
    assert_int_equal(c.kind_count, SCHED_KINDS_MAX);
    sched_cluster_fini(&c);
    c = parsed("1x1:abcdefghijklmnopqrstuvwxyz01234"); /* 31 letters */
    sched_cluster_fini(&c);
}

static void what_is_wrong_is_named_with_its_group(void **state)
{
    static const struct {
        const char *spec, *group, *expected;
        shoal_status status;
    } cases[] = {
        {"", "", "no nodes", SHOAL_E_FORMAT},
        {" ,\n# nothing\n", "", "no nodes", SHOAL_E_FORMAT},
        {"4", "'4'", "NODESxGPUS:KIND", SHOAL_E_FORMAT},
        {"1x4:t4,4x4", "'4x4'", "NODESxGPUS:KIND", SHOAL_E_FORMAT},
        {"1x4:t4:usd=1,1x4:t4:usd=5", "'t4'", "two prices", SHOAL_E_FORMAT},
        {"t4:4x4", "'t4:4x4'", "NODESxGPUS:KIND", SHOAL_E_FORMAT},
        {"1x4:t4,0x4:t4", "'0x4:t4'", "1 to 1000000 nodes", SHOAL_E_FORMAT},
        {"1000001x4:t4", "'1000001x4:t4'", "1 to 1000000 nodes", SHOAL_E_FORMAT},
        {"99999999999999999999x4:t4", "'99999999999999999999x4:t4'", "1 to 1000000 nodes",
         SHOAL_E_FORMAT},
        {"-1x4:t4", "'-1x4:t4'", "1 to 1000000 nodes", SHOAL_E_FORMAT},
        {"x4:t4", "'x4:t4'", "1 to 1000000 nodes", SHOAL_E_FORMAT},
        {"1x0:t4", "'1x0:t4'", "1 to 64 GPUs", SHOAL_E_FORMAT},
        {"1x65:t4", "'1x65:t4'", "1 to 64 GPUs", SHOAL_E_FORMAT},
        {"1x4x4:t4", "'1x4x4:t4'", "1 to 64 GPUs", SHOAL_E_FORMAT},
        {"1x4:", "'1x4:'", "name of a GPU kind", SHOAL_E_FORMAT},
        {"1x4::usd=1", "'1x4::usd=1'", "name of a GPU kind", SHOAL_E_FORMAT},
        {"1x4:abcdefghijklmnopqrstuvwxyz012345", "'1x4:abc", "name of a GPU kind", SHOAL_E_FORMAT},
        {"1x4:t4/2", "'1x4:t4/2'", "letters, digits", SHOAL_E_FORMAT},
        {"1x4:t4:", "'1x4:t4:'", "usd=PRICE or rack=NAME", SHOAL_E_FORMAT},
        {"1x4:t4:speed=3", "'1x4:t4:speed=3'", "usd=PRICE or rack=NAME", SHOAL_E_FORMAT},
        {"1x4:t4:rack=", "'1x4:t4:rack='", "usd=PRICE or rack=NAME", SHOAL_E_FORMAT},
        {"1x4:t4:usd=x", "'1x4:t4:usd=x'", "price per GPU-hour", SHOAL_E_FORMAT},
        {"1x4:t4:usd=-1", "'1x4:t4:usd=-1'", "price per GPU-hour", SHOAL_E_FORMAT},
        {"1x4:t4:usd=nan", "'1x4:t4:usd=nan'", "price per GPU-hour", SHOAL_E_FORMAT},
        {"1000000x1:t4,1x1:t4", "", "more than 1000000 nodes", SHOAL_E_LIMIT},
        {"1x1:a,1x1:b,1x1:c,1x1:d,1x1:e,1x1:f,1x1:g,1x1:h,1x1:i,1x1:j,1x1:k,1x1:l,1x1:m,1x1:n,1x1:"
         "o,"
         "1x1:p,1x1:q",
         "", "more than 16 GPU kinds", SHOAL_E_LIMIT},
    };

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        struct sched_cluster c = {.gpus = 77};
        shoal_err err = SHOAL_ERR_INIT;
        shoal_status st = sched_cluster_parse(&base_alloc_libc, cases[i].spec, &c, &err);
        if (st != cases[i].status || err.code != st ||
            strstr(err.message, cases[i].expected) == NULL ||
            strstr(err.message, cases[i].group) == NULL)
            fail_msg("'%s' gave %s: %s", cases[i].spec, shoal_status_name(st), err.message);
        assert_int_equal(c.gpus, 77); /* untouched */
        assert_int_equal(sched_cluster_parse(&base_alloc_libc, cases[i].spec, &c, NULL), st);
    }
}

static void too_many_racks_are_refused(void **state)
{
    struct sched_cluster c = {0};
    struct base_buf buf;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    base_buf_init(&buf, &base_alloc_libc, 1 << 20);
    for (int i = 0; i < 4095; i++)
        base_buf_printf(&buf, "1x1:t4:rack=%d\n", i);
    c = parsed(buf.data);
    assert_int_equal(c.rack_count, 4096);
    sched_cluster_fini(&c);
    base_buf_puts(&buf, "1x1:t4:rack=more\n");
    assert_int_equal(sched_cluster_parse(&base_alloc_libc, buf.data, &c, &err), SHOAL_E_LIMIT);
    base_buf_fini(&buf);
}

static void a_random_spec_survives_parse_and_format(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "specs");
    for (int n = 0; n < property_count(300); n++) {
        struct base_buf spec, first, second;
        uint32_t nodes = 0, gpus = 0;
        base_buf_init(&spec, &base_alloc_libc, 1 << 16);
        base_buf_init(&first, &base_alloc_libc, 1 << 16);
        base_buf_init(&second, &base_alloc_libc, 1 << 16);
        for (uint64_t g = 1 + base_rand_below(&rand, 6); g > 0; g--) {
            unsigned count = 1 + (unsigned)base_rand_below(&rand, 9);
            unsigned size = 1 + (unsigned)base_rand_below(&rand, 64);
            base_buf_printf(&spec, "%ux%u:kind%u%s%s", count, size,
                            (unsigned)base_rand_below(&rand, 3),
                            base_rand_below(&rand, 2) != 0 ? ":rack=r" : "",
                            base_rand_below(&rand, 2) != 0 ? "," : "\n");
            nodes += count;
            gpus += count * size;
        }
        struct sched_cluster a = parsed(spec.data);
        assert_int_equal(a.node_count, nodes);
        assert_int_equal(a.gpus, gpus);
        sched_cluster_format(&a, &first);
        struct sched_cluster b = parsed(first.data);
        sched_cluster_format(&b, &second);
        assert_string_equal(first.data, second.data);
        assert_int_equal(b.node_count, a.node_count);
        for (uint32_t i = 0; i < a.node_count; i++) {
            assert_int_equal(a.nodes[i].gpus, b.nodes[i].gpus);
            assert_string_equal(a.kinds[a.nodes[i].kind].name, b.kinds[b.nodes[i].kind].name);
        }
        sched_cluster_fini(&a);
        sched_cluster_fini(&b);
        base_buf_fini(&spec);
        base_buf_fini(&first);
        base_buf_fini(&second);
    }
}

/* Random texts over the letters of the format, and edits of a good one. */
static void garbage_is_refused_or_read_consistently(void **state)
{
    static const char letters[] = "0123456789x:,=usdrackt4-._ \n#\t\r\\'\"\x01\xff";
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "garbage");
    for (int n = 0; n < property_count(20000); n++) {
        char text[64] = "2x4:t4,1x8:a100:usd=4.10:rack=east";
        struct sched_cluster c = {0};
        shoal_err err = SHOAL_ERR_INIT;
        size_t length = n % 2 == 0 ? base_rand_below(&rand, sizeof text) : strlen(text);
        uint64_t edits = n % 2 == 0 ? length : 1 + base_rand_below(&rand, 3);
        for (uint64_t e = 0; e < edits; e++)
            text[n % 2 == 0 ? e : base_rand_below(&rand, length)] =
                letters[base_rand_below(&rand, sizeof letters - 1)];
        text[length] = '\0';
        shoal_status st = sched_cluster_parse(&base_alloc_libc, text, &c, &err);
        if (st != SHOAL_OK) {
            assert_true(err.message[0] != '\0' && c.nodes == NULL);
            continue;
        }
        uint32_t gpus = 0;
        for (uint32_t i = 0; i < c.node_count; i++) {
            gpus += c.nodes[i].gpus;
            assert_true(c.nodes[i].kind < c.kind_count && c.nodes[i].rack < c.rack_count);
            assert_in_range(c.nodes[i].gpus, 1, c.kinds[c.nodes[i].kind].node_gpus_max);
        }
        assert_int_equal(gpus, c.gpus);
        sched_cluster_fini(&c);
    }
}

static shoal_status parse_once(const struct base_alloc *alloc, void *ctx)
{
    struct sched_cluster c = {0};
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = sched_cluster_parse(alloc, ctx, &c, &err);

    sched_cluster_fini(&c);
    return err.code == st ? st : SHOAL_E_INTERNAL;
}

static void failed_allocations_end_in_a_clean_error(void **state)
{
    (void)state;
    torture_run(parse_once, "3x4:t4:rack=a,200x8:a100:rack=b,1000x2:k80");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spec_gives_its_nodes_in_the_order_written),
        cmocka_unit_test(attributes_set_price_and_rack),
        cmocka_unit_test(groups_may_stand_on_lines_with_comments),
        cmocka_unit_test(the_limits_are_inside),
        cmocka_unit_test(what_is_wrong_is_named_with_its_group),
        cmocka_unit_test(too_many_racks_are_refused),
        cmocka_unit_test(a_random_spec_survives_parse_and_format),
        cmocka_unit_test(garbage_is_refused_or_read_consistently),
        cmocka_unit_test(failed_allocations_end_in_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
