/* test_cluster_load.c - a cluster from the command line: a spec, a file of groups, a node list. */
#include "property.h"
#include "sim_world.h"

#include "base/rand.h"
#include "sim/cluster_load.h"
#include <stdio.h>

static struct sched_cluster load(shoal_env *env, const char *text)
{
    struct sched_cluster c = {0};
    shoal_err err = SHOAL_ERR_INIT;

    if (sim_cluster_load(env, text, &c, &err) != SHOAL_OK)
        fail_msg("%s: %s", text, err.message);
    return c;
}

static void assert_same_cluster(const struct sched_cluster *a, const struct sched_cluster *b)
{
    assert_int_equal(a->node_count, b->node_count);
    assert_int_equal(a->kind_count, b->kind_count);
    assert_int_equal(a->gpus, b->gpus);
    assert_int_equal(a->rack_count, b->rack_count);
    for (uint32_t n = 0; n < a->node_count; n++) {
        assert_int_equal(a->nodes[n].gpus, b->nodes[n].gpus);
        assert_int_equal(a->nodes[n].rack, b->nodes[n].rack);
        assert_string_equal(a->kinds[a->nodes[n].kind].name, b->kinds[b->nodes[n].kind].name);
    }
    for (uint32_t k = 0; k < a->kind_count; k++)
        assert_true(a->kinds[k].usd_gpu_h == b->kinds[k].usd_gpu_h);
}

static void file_of_groups_is_the_spec_however_it_is_laid_out(void **state)
{
    static const char *const between[] = {"\n",     ",",        ", ", " # the old ones\n",
                                          "\r\n\t", "\n\n# ,\n"};
    static const char *const extra[] = {"", ":rack=a", ":rack=b", ":usd=1.5"};

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(200); seed++) {
        struct base_rand rand;
        char spec[400] = "", file[800] = "# machines\n", group[64];
        base_rand_init(&rand, seed, "layout");
        uint64_t groups = 1 + base_rand_below(&rand, 5);
        for (uint64_t g = 0; g < groups; g++) {
            snprintf(group, sizeof group, "%ux%u:kind%u%s", 1 + (unsigned)base_rand_below(&rand, 9),
                     1 + (unsigned)base_rand_below(&rand, 8), (unsigned)base_rand_below(&rand, 3),
                     extra[base_rand_below(&rand, 4)]);
            snprintf(spec + strlen(spec), sizeof spec - strlen(spec), "%s%s", g == 0 ? "" : ",",
                     group);
            snprintf(file + strlen(file), sizeof file - strlen(file), "%s%s", group,
                     between[base_rand_below(&rand, 6)]);
        }
        shoal_env *env = world_new();
        world_put(env, "machines.txt", file);
        struct sched_cluster a = load(env, spec), b = load(env, "machines.txt");
        assert_same_cluster(&a, &b);
        sched_cluster_fini(&a);
        sched_cluster_fini(&b);
        shoal_env_free(env);
    }
}

static void node_list_counts_the_nodes_that_have_gpus(void **state)
{
    (void)state;
    shoal_env *env = world_new();
    world_put(env, "nodes.csv",
              "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,1,2,P100\nn1,64000,1,8,V100M32\n"
              "n2,96000,1,0,\nn3,64000,1,2,P100\n");
    struct sched_cluster list = load(env, "nodes.csv"), spec = load(env, "2x2:P100,1x8:V100M32");
    assert_same_cluster(&list, &spec);
    sched_cluster_fini(&list);
    sched_cluster_fini(&spec);
    shoal_env_free(env);
}

static void digit_and_colon_make_a_spec_and_a_slash_makes_a_path(void **state)
{
    (void)state;
    shoal_env *env = world_new();
    world_put(env, "2x4:t4", "1x1:file");      /* shadowed by the spec of that name */
    world_put(env, "./2x4:t4", "1x1:file");    /* a slash: this is a path */
    world_put(env, "16-machines", "1x2:file"); /* a digit, no colon */
    struct sched_cluster c = load(env, "2x4:t4");
    assert_int_equal(c.gpus, 8);
    sched_cluster_fini(&c);
    c = load(env, "./2x4:t4");
    assert_int_equal(c.gpus, 1);
    sched_cluster_fini(&c);
    c = load(env, "16-machines");
    assert_int_equal(c.gpus, 2);
    sched_cluster_fini(&c);
    shoal_env_free(env);
}

static void refusal_says_why_and_leaves_the_cluster_alone(void **state)
{
    static const struct {
        const char *text, *file, *message, *hint;
        size_t size;
        shoal_status status;
    } rows[] = {
        {"nowhere.txt", NULL, "nowhere.txt", "6x4:t4", 0, SHOAL_E_NOTFOUND},
        {"a.txt", "", "a.txt", "", 0, SHOAL_E_FORMAT},
        {"a.txt", "# nothing\n", "no nodes", "6x4:t4", 10, SHOAL_E_FORMAT},
        {"a.txt", "2x4:t4\0,1x1:k80", "a.txt", "", 15, SHOAL_E_FORMAT},
        {"a.txt", "2x4:t4\nfour machines\n", "line 2", "6x4:t4", 21, SHOAL_E_FORMAT},
        {"a.txt", "sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,0,\n", "a.txt", "", 44,
         SHOAL_E_FORMAT},
        {"a.txt", "1x1:t4:usd=1\n1x1:T4:usd=2\n", "two prices", "", 26, SHOAL_E_FORMAT},
        {"0x4:t4", NULL, "0x4:t4", "6x4:t4", 0, SHOAL_E_FORMAT},
        {"1x65:t4", NULL, "1 to 64 GPUs", "", 0, SHOAL_E_FORMAT},
        {"1x1:t4:usd=1,1x1:t4:usd=2", NULL, "two prices", "", 0, SHOAL_E_FORMAT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        shoal_env *env = world_new();
        shoal_err err = SHOAL_ERR_INIT;
        struct sched_cluster c = {.gpus = 12345};
        if (rows[i].file != NULL)
            assert_int_equal(env_sim_put(env, rows[i].text, rows[i].file, rows[i].size), SHOAL_OK);
        shoal_status st = sim_cluster_load(env, rows[i].text, &c, &err);
        if (st != rows[i].status || err.code != st ||
            strstr(err.message, rows[i].message) == NULL || strstr(err.hint, rows[i].hint) == NULL)
            fail_msg("row %zu: %s: %s (%s)", i, shoal_status_name(st), err.message, err.hint);
        assert_int_equal(c.gpus, 12345);
        assert_null(c.nodes);
        shoal_env_free(env);
    }
}

static shoal_status load_all(const struct base_alloc *alloc, void *ctx)
{
    static const char *const texts[] = {"2x4:t4:rack=a,1x8:a100", "groups.txt", "nodes.csv"};
    shoal_env *env = ctx;
    const struct base_alloc *plain = env->alloc;
    shoal_status st = SHOAL_OK;

    env->alloc = alloc;
    for (size_t i = 0; i < 3 && st == SHOAL_OK; i++) {
        struct sched_cluster c;
        st = sim_cluster_load(env, texts[i], &c, NULL);
        if (st == SHOAL_OK)
            sched_cluster_fini(&c);
    }
    env->alloc = plain;
    return st;
}

static void every_failed_allocation_is_a_clean_error(void **state)
{
    (void)state;
    shoal_env *env = world_new();
    world_put(env, "groups.txt", "2x4:t4\n1x8:a100 # new\n");
    world_put(env, "nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,2,P100\n");
    torture_run(load_all, env);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_of_groups_is_the_spec_however_it_is_laid_out),
        cmocka_unit_test(node_list_counts_the_nodes_that_have_gpus),
        cmocka_unit_test(digit_and_colon_make_a_spec_and_a_slash_makes_a_path),
        cmocka_unit_test(refusal_says_why_and_leaves_the_cluster_alone),
        cmocka_unit_test(every_failed_allocation_is_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
