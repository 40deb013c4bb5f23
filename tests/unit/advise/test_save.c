/* Tests of src/advise/save.c: what is saved is what the simulator loads (src/sim/bind.c). */
#include "property.h"
#include "torture.h"

#include "advise/save.h"
#include "base/rand.h"
#include "unit/sim/fitted_models.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MODELS = 3, MACHINES = SCHED_FITTED_MACHINES_MAX, LEVELS = SCHED_FITTED_LEVELS_MAX };

struct world {
    struct advise_saved models[MODELS];
    char names[MODELS][300];
    uint32_t machines[MODELS][MACHINES];
    double step_s[MODELS][MACHINES], level[MODELS][LEVELS + 1];
    double steps[MODELS][MACHINES * LEVELS];
};

static void some_model(struct world *w, struct base_rand *rand, int m)
{
    static const char *const NAMES[] = {"logreg, \"fast\" \\ slow", "ÄÖ 模型 \xf0\x9f\x90\x9f",
                                        "x"};
    uint32_t count = 1 + (uint32_t)base_rand_below(rand, MACHINES), at = 0;
    uint32_t levels = 1 + (uint32_t)base_rand_below(rand, LEVELS);

    if (base_rand_below(rand, 3) > 0) {
        count = 1 + count % 4;
        levels = 1 + levels % 4;
    }
    snprintf(w->names[m], sizeof w->names[m], "%s %d", NAMES[base_rand_below(rand, 3)], m);
    w->models[m] = (struct advise_saved){
        w->names[m], {count, levels, w->machines[m], w->step_s[m], w->level[m], w->steps[m]}};
    for (uint32_t i = 0; i < count; i++) {
        at += 1 + (uint32_t)base_rand_below(rand, 50);
        w->machines[m][i] = at;
        w->step_s[m][i] = exp(base_rand_range(rand, -20, 20));
    }
    w->level[m][0] = 0;
    for (uint32_t l = 0; l < levels; l++)
        w->level[m][l + 1] = w->level[m][l] + exp(base_rand_range(rand, -20, 3));
    for (uint32_t i = 0; i < count * levels; i++)
        w->steps[m][i] = exp(base_rand_range(rand, -20, 30));
}

static void assert_same(const struct sched_fitted *a, const struct sched_fitted *b)
{
    assert_int_equal(a->machine_count, b->machine_count);
    assert_int_equal(a->level_count, b->level_count);
    assert_memory_equal(a->machines, b->machines, a->machine_count * sizeof *a->machines);
    assert_memory_equal(a->step_s, b->step_s, a->machine_count * sizeof *a->step_s);
    assert_memory_equal(a->level, b->level, (a->level_count + 1) * sizeof *a->level);
    assert_memory_equal(a->steps, b->steps,
                        (size_t)a->machine_count * a->level_count * sizeof *a->steps);
}

static void what_is_saved_is_loaded_to_the_last_digit(void **state)
{
    static struct world w;
    struct base_rand rand;
    shoal_env *env = NULL;

    (void)state;
    base_rand_init(&rand, 1, "saved");
    assert_int_equal(shoal_env_sim_new(1, &env, NULL), SHOAL_OK);
    for (int i = 0; i < property_count(60); i++) {
        size_t count = 1 + base_rand_below(&rand, MODELS);
        struct sim_fitted *loaded = NULL;
        shoal_err err = SHOAL_ERR_INIT;
        for (int m = 0; m < (int)count; m++)
            some_model(&w, &rand, m);
        assert_int_equal(advise_save(env, "m.json", w.models, count, &err), SHOAL_OK);
        assert_true(sim_fitted_is(env, "m.json"));
        if (sim_fitted_load(env, "m.json", &loaded, &err) != SHOAL_OK)
            fail_msg("%s", err.message);
        assert_int_equal(loaded->count, count);
        for (size_t m = 0; m < count; m++) {
            const struct sched_fitted *found = find_fitted(loaded, w.names[m]);
            assert_non_null(found);
            assert_same(found, &w.models[m].tables);
        }
        assert_null(find_fitted(loaded, "another"));
        sim_fitted_free(loaded);
    }
    shoal_env_free(env);
}

static void what_cannot_be_loaded_is_not_saved(void **state)
{
    static struct world w;
    struct base_rand rand;
    struct base_buf out;
    char longest[300];

    (void)state;
    base_rand_init(&rand, 1, "bad");
    some_model(&w, &rand, 0);
    some_model(&w, &rand, 1);
    base_buf_init(&out, &base_alloc_libc, 1 << 20);
    memset(longest, 'x', sizeof longest);
    longest[ADVISE_SAVE_NAME_MAX + 1] = '\0';
    static const char *const BAD[] = {"",         "a\nb",         "\x7f", "\xff",
                                      "\xc0\x80", "\xed\xa0\x80", "\xe6"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD + 1; i++) {
        shoal_err err = SHOAL_ERR_INIT;
        w.models[0].name = i < sizeof BAD / sizeof *BAD ? BAD[i] : longest;
        assert_int_equal(advise_save_format(w.models, 1, &out, &err), SHOAL_E_INVAL);
        assert_non_null(strstr(err.message, "its name must be"));
    }
    w.models[0].name = w.models[1].name;
    assert_int_equal(advise_save_format(w.models, 2, &out, NULL), SHOAL_E_INVAL);
    assert_int_equal(advise_save_format(w.models, 0, &out, NULL), SHOAL_E_INVAL);
    w.step_s[0][0] = NAN;
    shoal_err err = SHOAL_ERR_INIT;
    assert_int_equal(advise_save_format(w.models, 1, &out, &err), SHOAL_E_INVAL);
    assert_non_null(strstr(err.message, "out of range"));
    assert_int_equal(out.size, 0);
    base_buf_fini(&out);
}

static shoal_status save_one(const struct base_alloc *alloc, void *ctx)
{
    struct world *w = ctx;
    struct base_buf out;

    base_buf_init(&out, alloc, 1 << 24);
    shoal_status st = advise_save_format(w->models, 1, &out, NULL);
    base_buf_fini(&out);
    return st;
}

static void failing_allocations_end_cleanly(void **state)
{
    static struct world w;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "torture");
    some_model(&w, &rand, 0);
    torture_run(save_one, &w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_saved_is_loaded_to_the_last_digit),
        cmocka_unit_test(what_cannot_be_loaded_is_not_saved),
        cmocka_unit_test(failing_allocations_end_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
