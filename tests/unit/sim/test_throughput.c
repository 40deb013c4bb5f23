/* test_throughput.c - throughput tables: what was written is what the models get, and nothing bad
 * gets in. How jobs are bound to them is in test_bind.c. */
#include "property.h"
#include "sim_world.h"

#include "base/rand.h"
#include "sim/bind.h"
#include <math.h>
#include <stdio.h>

static struct sched_cluster cluster_of(const char *spec)
{
    struct sched_cluster c;

    assert_int_equal(sched_cluster_parse(&base_alloc_libc, spec, &c, NULL), SHOAL_OK);
    return c;
}

enum { MODELS = 4, SIZES = 3, TYPES = 3, ROWS = MODELS * SIZES };
static const uint32_t sizes[SIZES] = {1, 2, 8};

/* Rates of a random table: alone packed and spread, and of pairs; negative: not written. */
struct rates {
    double alone[TYPES][2][ROWS], pair[TYPES][ROWS][ROWS];
};

static void row_key(char *key, size_t size, int row)
{
    snprintf(key, size, "('model %d (batch size %d)', %u)", row / SIZES, 1 << row / SIZES,
             sizes[row % SIZES]);
}

static double draw(struct base_rand *rand)
{
    return base_rand_below(rand, 5) == 0 ? 0 : (double)base_rand_below(rand, 100000) / 64;
}

/* Writes one type; every row stands in it, some without a rate. */
static void write_type(struct base_buf *out, struct base_rand *rand, struct rates *rates, int type,
                       int spread, const char *name)
{
    char key[64];

    base_buf_printf(out, "%s\"%s\":{", out->size > 1 ? "," : "", name);
    for (int r = 0; r < ROWS; r++) {
        const char *comma = "";
        row_key(key, sizeof key, r);
        base_buf_printf(out, "%s\"%s\":{", r > 0 ? "," : "", key);
        rates->alone[type][spread][r] = -1;
        if (base_rand_below(rand, 4) > 0) {
            rates->alone[type][spread][r] = draw(rand);
            base_buf_printf(out, "\"null\":%.17g", rates->alone[type][spread][r]);
            comma = ",";
        }
        for (int p = 0; p < ROWS && !spread; p++) {
            rates->pair[type][r][p] = -1;
            if (base_rand_below(rand, 3) > 0)
                continue;
            rates->pair[type][r][p] = draw(rand);
            row_key(key, sizeof key, p);
            base_buf_printf(out, "%s\"%s\":[%.17g,1.5]", comma, key, rates->pair[type][r][p]);
            comma = ",";
        }
        base_buf_puts(out, "}");
    }
    base_buf_puts(out, "}");
}

static void assert_rates(const struct sim_throughput *tp, const struct rates *rates, int type,
                         uint32_t kind)
{
    for (int r = 0; r < ROWS; r++) {
        char model[64];
        snprintf(model, sizeof model, "model %d (batch size %d)", r / SIZES, 1 << r / SIZES);
        int row = sim_throughput_row(tp, model, sizes[r % SIZES]);
        assert_true(row >= 0);
        const struct sched_table *t = &tp->table;
        assert_int_equal(t->row_gpus[row], sizes[r % SIZES]);
        assert_true(sched_table_rate(t, (uint32_t)row, kind) == fmax(0, rates->alone[type][0][r]));
        double spread = t->spread[kind].alone != NULL ? t->spread[kind].alone[row] : 0;
        assert_true(spread == fmax(0, rates->alone[type][1][r]));
        for (int p = 0; p < ROWS; p++) {
            snprintf(model, sizeof model, "model %d (batch size %d)", p / SIZES, 1 << p / SIZES);
            int other = sim_throughput_row(tp, model, sizes[p % SIZES]);
            const float *pair = t->packed[kind].pair;
            double got =
                pair != NULL ? (double)pair[(uint32_t)row * t->row_count + (uint32_t)other] : 0;
            assert_true(got == (double)(float)fmax(0, rates->pair[type][r][p]));
        }
    }
}

static void every_rate_written_is_the_rate_read(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(30); seed++) {
        struct base_rand rand;
        struct base_buf json;
        struct rates *rates = calloc(1, sizeof *rates);
        base_rand_init(&rand, seed, "table");
        base_buf_init(&json, &base_alloc_libc, 1 << 20);
        base_buf_puts(&json, "{");
        write_type(&json, &rand, rates, 0, 0, "v100");
        write_type(&json, &rand, rates, 1, 0, "K80"); /* the cluster says k80 */
        write_type(&json, &rand, rates, 2, 0, "tpu"); /* which it does not have */
        write_type(&json, &rand, rates, 0, 1, "V100_unconsolidated");
        write_type(&json, &rand, rates, 1, 1, "k80_Unconsolidated");
        base_buf_puts(&json, "}");

        shoal_env *env = world_new();
        shoal_err err = SHOAL_ERR_INIT;
        struct sched_cluster c = cluster_of("2x8:k80,2x4:v100,1x1:a100");
        struct sim_throughput *tp = NULL;
        world_put(env, "t.json", json.data);
        if (sim_throughput_load(env, "t.json", &c, &tp, &err) != SHOAL_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
        assert_int_equal(tp->table.row_count, ROWS);
        assert_int_equal(tp->v100, 1);
        assert_rates(tp, rates, 0, 1);
        assert_rates(tp, rates, 1, 0);
        for (uint32_t r = 0; r < ROWS; r++) /* no type of that kind: it cannot run there */
            assert_true(sched_table_rate(&tp->table, r, 2) == 0);
        assert_int_equal(sim_throughput_row(tp, "model 0 (batch size 1)", 4), -1);
        assert_int_equal(sim_throughput_row(tp, "model 9", 1), -1);
        assert_int_equal(sim_throughput_row(tp, "", 1), -1);
        sim_throughput_free(tp);
        sched_cluster_fini(&c);
        base_buf_fini(&json);
        shoal_env_free(env);
        free(rates);
    }
}

static void bad_tables_are_refused_with_the_place(void **state)
{
    static const struct {
        const char *json, *message;
        shoal_status status;
    } rows[] = {
        {"", "empty file", SHOAL_E_FORMAT},
        {"[]", "an object of GPU types", SHOAL_E_FORMAT},
        {"{}", "at least one row", SHOAL_E_FORMAT},
        {"{\"v100\":{}}", "at least one row", SHOAL_E_FORMAT},
        {"{\"v100\":\n {\"('A', 1)\":{\"null\":1}", "line 2", SHOAL_E_FORMAT},
        {"{\"v100\":3}", "an object of rows", SHOAL_E_FORMAT},
        {"{\"v100\":{\"('A', 1)\":1}}", "an object of rates", SHOAL_E_FORMAT},
        {"{\"v100\":{\"A\":{}}}", "a row such as", SHOAL_E_FORMAT},
        {"{\"v100\":{\"('A', 0)\":{}}}", "a row such as", SHOAL_E_FORMAT},
        {"{\"v100\":{\"('A', 1)\":{\"null\":-1}}}", "0 or more", SHOAL_E_FORMAT},
        {"{\"v100\":{\"('A', 1)\":{\"null\":\"1\"}}}", "0 or more", SHOAL_E_FORMAT},
        {"{\"v100\":{\"('A', 1)\":{\"('A', 1)\":[1]}}}", "two rates", SHOAL_E_FORMAT},
        {"{\"v100\":{\"('A', 1)\":{\"('B', 1)\":[1,1]}}}", "rates of its own", SHOAL_E_FORMAT},
        {"{\"v100\":{\"('A', 1)\":{\"null\":1}},\"v100\":{}}", "uplicate", SHOAL_E_FORMAT},
        {"{\"h100\":{\"('A', 1)\":{\"null\":1}}}", "none of the cluster's GPU kinds",
         SHOAL_E_INVAL},
        {"{\"v100_unconsolidated\":{\"('A', 1)\":{\"null\":1}}}", "none of the cluster's",
         SHOAL_E_INVAL},
    };
    struct sched_cluster c = cluster_of("2x4:v100");

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        shoal_env *env = world_new();
        shoal_err err = SHOAL_ERR_INIT;
        struct sim_throughput *tp = NULL;
        world_put(env, "t.json", rows[i].json);
        shoal_status st = sim_throughput_load(env, "t.json", &c, &tp, &err);
        if (st != rows[i].status || err.code != st ||
            strstr(err.message, rows[i].message) == NULL || strstr(err.message, "t.json") == NULL)
            fail_msg("%s: %s: %s", rows[i].json, shoal_status_name(st), err.message);
        assert_null(tp);
        shoal_env_free(env);
    }
    sched_cluster_fini(&c);
}

struct scene {
    shoal_env *env;
    struct sched_cluster cluster;
};

/* jansson has an allocator of its own; what is ours must be clean. */
static shoal_status load_table(const struct base_alloc *alloc, void *ctx)
{
    struct scene *s = ctx;
    const struct base_alloc *plain = s->env->alloc;
    struct sim_throughput *tp = NULL;

    s->env->alloc = alloc;
    shoal_status st = sim_throughput_load(s->env, "t.json", &s->cluster, &tp, NULL);
    sim_throughput_free(tp);
    s->env->alloc = plain;
    return st;
}

static void every_failed_allocation_is_a_clean_error(void **state)
{
    struct scene s = {.env = world_new(), .cluster = cluster_of("2x4:v100,1x1:k80")};

    (void)state;
    world_put(s.env, "t.json",
              "{\"v100\":{\"('A', 1)\":{\"null\":1,\"('B', 1)\":[1,2]},\"('B', 1)\":{\"null\":2}},"
              "\"k80_unconsolidated\":{\"('B', 1)\":{\"null\":2}}}");
    torture_run(load_table, &s);
    sched_cluster_fini(&s.cluster);
    shoal_env_free(s.env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rate_written_is_the_rate_read),
        cmocka_unit_test(bad_tables_are_refused_with_the_place),
        cmocka_unit_test(every_failed_allocation_is_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
