/* test_quotas.c - quotas by share and as given. */
#include "study_world.h"

#include "base/assert.h"
#include "study/load.h"

static void shares_use_every_gpu_and_follow_the_gpu_time(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(30); seed++) {
        struct world w;
        struct study_quotas q;
        shoal_err err = SHOAL_ERR_INIT;
        world_random(&w, seed, 5 + (size_t)seed, "8x8:gpu");
        assert_int_equal(study_quotas_init(&q, w.env, NULL, w.trace, &w.jobs, w.cluster.gpus, &err),
                         SHOAL_OK);
        assert_false(q.none || q.given);
        assert_int_equal(q.sum, w.cluster.gpus);
        for (size_t g = 0; g < q.count; g++) {
            double share = q.gpu_s[g] / w.jobs.gpu_s * w.cluster.gpus;
            assert_true(q.gpu_s[g] > 0 ? q.gpus[g] >= 1 : q.gpus[g] == 0);
            assert_true(fabs(q.gpus[g] - share) <= (double)q.count + 1);
        }
        assert_int_equal(strncmp(q.knob.data, "quota=g", 7), 0);
        study_quotas_fini(&q);
        world_end(&w);
    }
}

static void more_groups_than_gpus_get_what_there_is(void **state)
{
    struct world w;
    struct study_quotas q;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    world_make(&w, "name,submit_s,gpus,duration_s,group\na,0,1,10,x\nb,0,1,20,y\nc,0,1,30,z\n",
               "1x2:gpu");
    assert_int_equal(study_quotas_init(&q, w.env, NULL, w.trace, &w.jobs, 2, &err), SHOAL_OK);
    assert_int_equal(q.sum, 2);
    assert_int_equal(q.gpus[2], 1); /* exact shares are 0.33, 0.67 and 1 */
    assert_int_equal(q.gpus[1], 1);
    study_quotas_fini(&q);
    world_end(&w);
}

static void one_group_has_no_quota(void **state)
{
    struct world w;
    struct study_quotas q;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    world_make(&w, "name,submit_s,gpus,duration_s\na,0,1,10\nb,0,1,20\n", "1x2:gpu");
    assert_int_equal(study_quotas_init(&q, w.env, NULL, w.trace, &w.jobs, 2, &err), SHOAL_OK);
    assert_true(q.none && q.knob.size == 0);
    study_quotas_fini(&q);
    world_end(&w);
}

static void none_asks_for_no_quotas(void **state)
{
    struct world w;
    struct study_quotas q;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    world_random(&w, 2, 30, "8x8:gpu");
    assert_int_equal(study_quotas_init(&q, w.env, "none", w.trace, &w.jobs, 64, &err), SHOAL_OK);
    assert_true(q.none && !q.given && q.knob.size == 0 && q.count > 1);
    study_quotas_fini(&q);
    world_end(&w);
}

static void given_quotas_are_taken_and_mistakes_are_told(void **state)
{
    static const struct {
        const char *text, *message, *hint;
    } bad[] = {
        {"g0", "cannot open", ""}, /* no '=': a file */
        {"g0=", "found 'g0='", "vision=64"},
        {"g0=-1", "GROUP=GPUS", ""},
        {"=3", "GROUP=GPUS", ""},
        {"g0=1,g0=2", "twice", ""},
        {"g00=1", "no group 'g00'", "did you mean 'g0'"},
        {"g0=0", "no group has any GPU", ""},
    };
    struct world w;
    struct study_quotas q;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    world_random(&w, 1, 50, "8x8:gpu");
    world_put(w.env, "quotas.txt", "# of the spring\ng1=10, g2=20 # both\n\n  g3=7\r\n");
    assert_int_equal(study_quotas_init(&q, w.env, "quotas.txt", w.trace, &w.jobs, 64, &err),
                     SHOAL_OK);
    assert_true(q.given);
    assert_int_equal(q.sum, 37);
    for (uint32_t g = 0; g < q.count; g++) {
        const char *name = sim_names_get(&w.trace->groups, g);
        uint32_t wanted = strcmp(name, "g1") == 0   ? 10
                          : strcmp(name, "g2") == 0 ? 20
                          : strcmp(name, "g3") == 0 ? 7
                                                    : 0;
        assert_int_equal(q.gpus[g], wanted);
    }
    study_quotas_fini(&q);
    assert_int_equal(env_sim_put(w.env, "bytes", "g1=1\0g2=2", 9), SHOAL_OK);
    assert_int_equal(study_quotas_init(&q, w.env, "bytes", w.trace, &w.jobs, 64, &err),
                     SHOAL_E_FORMAT);
    for (size_t i = 0; i < BASE_COUNT(bad); i++) {
        err = (shoal_err)SHOAL_ERR_INIT;
        assert_int_not_equal(study_quotas_init(&q, w.env, bad[i].text, w.trace, &w.jobs, 64, &err),
                             SHOAL_OK);
        if (strstr(err.message, bad[i].message) == NULL || strstr(err.hint, bad[i].hint) == NULL)
            fail_msg("'%s': '%s' (%s)", bad[i].text, err.message, err.hint);
    }
    world_end(&w);
}

static shoal_status read_quotas(const struct base_alloc *alloc, void *ctx)
{
    struct world *w = ctx;
    const struct base_alloc *own = w->env->alloc;
    struct study_quotas q;

    w->env->alloc = alloc;
    shoal_status st = study_quotas_init(&q, w->env, "g1=3,g2=4", w->trace, &w->jobs, 64, NULL);
    if (st == SHOAL_OK)
        study_quotas_fini(&q);
    if (st == SHOAL_OK)
        st = study_quotas_init(&q, w->env, NULL, w->trace, &w->jobs, 64, NULL);
    if (st == SHOAL_OK)
        study_quotas_fini(&q);
    w->env->alloc = own;
    return st;
}

static void short_memory_ends_cleanly(void **state)
{
    struct world w;

    (void)state;
    world_random(&w, 1, 50, "8x8:gpu");
    torture_run(read_quotas, &w);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_use_every_gpu_and_follow_the_gpu_time),
        cmocka_unit_test(more_groups_than_gpus_get_what_there_is),
        cmocka_unit_test(one_group_has_no_quota),
        cmocka_unit_test(none_asks_for_no_quotas),
        cmocka_unit_test(given_quotas_are_taken_and_mistakes_are_told),
        cmocka_unit_test(short_memory_ends_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
