/* fuzz_profile.c - profile folders. The input is the files of one application, divided by lines
 * "--": placements.csv, scalability.csv, then validation-8.csv, validation-16.csv, ... Binding must
 * end in a model whose speeds are numbers, or in a refusal in words. */
#include "base/assert.h"
#include "sim/profile.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_files(shoal_env *env, const char *text, size_t size)
{
    char path[64];

    for (uint32_t part = 0; part < 6; part++) {
        const char *cut = memmem(text, size, "--\n", 3);
        size_t length = cut != NULL ? (size_t)(cut - text) : size;
        if (part < 2)
            snprintf(path, sizeof path, "p/app/%s.csv", part == 0 ? "placements" : "scalability");
        else
            snprintf(path, sizeof path, "p/app/validation-%u.csv", 4u << (part - 1));
        shoal_assert(env_sim_put(env, path, text, length) == SHOAL_OK);
        if (cut == NULL)
            break;
        text += length + 3;
        size -= length + 3;
    }
}

/* Whatever was accepted gives finite speeds that end. */
static void use(const struct sched_model *m, const struct sched_cluster *c, uint32_t kinds,
                uint32_t gpus)
{
    struct sched_place places[3] = {{0, 4}, {1, 3}, {2, 1}};
    struct sched_alloc a = {.places = places, .place_count = 3, .gpus = 8};
    double until;

    shoal_assert(m->work > 0 && isfinite(m->work));
    double ideal = sched_model_ideal_s(m, c, 0, gpus, 0);
    shoal_assert(!isnan(ideal) && ideal >= 0 && (kinds == 0 || isfinite(ideal)));
    double rate = sched_model_rate(m, &a, NULL, m->work / 2, &until);
    shoal_assert(!isnan(rate) && rate >= 0 && until > m->work / 2 && until <= m->work);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t gangs[] = {1, 3, 8, 16}, batches[] = {0, 1, 100, INT32_MAX};
    shoal_env *env = NULL;
    struct sched_cluster cluster;
    struct sim_profiles *profiles = NULL;

    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    shoal_assert(sched_cluster_parse(env_alloc(env), "4x4:t4", &cluster, NULL) == SHOAL_OK);
    put_files(env, (const char *)data, size);
    shoal_assert(sim_profiles_open(env, "p", &cluster, &profiles, NULL) == SHOAL_OK);
    for (size_t i = 0; i < BASE_COUNT(gangs); i++) {
        shoal_err err = SHOAL_ERR_INIT;
        struct sched_model m;
        uint32_t kinds;
        shoal_status st =
            sim_profiles_bind(profiles, "app", gangs[i], batches[i], &m, &kinds, &err);
        if (st == SHOAL_OK)
            use(&m, &cluster, kinds, gangs[i]);
        else
            shoal_assert(err.code == st && err.message[0] != '\0');
    }
    sim_profiles_free(profiles);
    sched_cluster_fini(&cluster);
    shoal_env_free(env);
    return 0;
}
