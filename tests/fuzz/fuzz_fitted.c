/* Any bytes as a file of fitted models: refused with words, or tables within their ranges that jobs run
 * by in a finite time; and saved again they are read back equal. */
#include "advise/save.h"
#include "base/assert.h"
#include "sim/bind.h"
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_model(const struct sched_fitted *f, const struct sched_cluster *cluster)
{
    struct sched_model model = sched_model_fitted(f);
    double seconds = sched_model_ideal_s(&model, cluster, 0, f->machines[0], 0);

    shoal_assert(sched_fitted_valid(f));
    shoal_assert(f->machines[0] <= 8 ? seconds > 0 && isfinite(seconds) : isinf(seconds));
    for (uint32_t g = 1; g <= 9; g++) {
        double step_s = sched_fitted_step_s(f, g);
        bool inside = g >= f->machines[0] && g <= f->machines[f->machine_count - 1];
        shoal_assert(inside ? step_s > 0 && isfinite(step_s) : isinf(step_s));
    }
}

static bool same(const struct sched_fitted *a, const struct sched_fitted *b)
{
    size_t cells = (size_t)a->machine_count * a->level_count;

    return a->machine_count == b->machine_count && a->level_count == b->level_count &&
           memcmp(a->machines, b->machines, a->machine_count * sizeof *a->machines) == 0 &&
           memcmp(a->step_s, b->step_s, a->machine_count * sizeof *a->step_s) == 0 &&
           memcmp(a->level, b->level, (a->level_count + 1) * sizeof *a->level) == 0 &&
           memcmp(a->steps, b->steps, cells * sizeof *a->steps) == 0;
}

/* Names with control characters are read, but not written. */
static void check_saving(shoal_env *env, const struct sim_fitted *fitted)
{
    struct advise_saved models[SIM_FITTED_MODELS_MAX];
    struct sim_fitted *again = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    for (uint32_t i = 0; i < fitted->count; i++)
        models[i] = (struct advise_saved){fitted->names.entries[i].key, fitted->models[i]};
    shoal_status st = advise_save(env, "again.json", models, fitted->count, &err);
    if (st != SHOAL_OK) {
        shoal_assert(st == SHOAL_E_INVAL && strstr(err.message, "its name must be") != NULL);
        return;
    }
    shoal_assert(sim_fitted_is(env, "again.json"));
    shoal_assert(sim_fitted_load(env, "again.json", &again, &err) == SHOAL_OK);
    shoal_assert(again->count == fitted->count);
    for (uint32_t i = 0; i < fitted->count; i++)
        shoal_assert(same(&again->models[i], &fitted->models[i]));
    sim_fitted_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sched_cluster cluster;
    struct sim_fitted *fitted = NULL;
    shoal_env *env = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    shoal_assert(env_sim_put(env, "m.json", data, size) == SHOAL_OK);
    shoal_assert(sched_cluster_parse(env_alloc(env), "2x4:v100", &cluster, &err) == SHOAL_OK);
    (void)sim_fitted_is(env, "m.json");
    shoal_status st = sim_fitted_load(env, "m.json", &fitted, &err);
    if (st == SHOAL_OK) {
        shoal_assert(fitted->count > 0 && fitted->count == fitted->names.count);
        for (uint32_t i = 0; i < fitted->count; i++)
            check_model(&fitted->models[i], &cluster);
        check_saving(env, fitted);
    } else {
        shoal_assert(fitted == NULL && err.code == st && err.message[0] != '\0');
    }
    sim_fitted_free(fitted);
    sched_cluster_fini(&cluster);
    shoal_env_free(env);
    return 0;
}
