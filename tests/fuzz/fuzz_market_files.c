/* Any bytes as the fleet and as the model of `shoal market`: what is loaded is whole and in range, what
 * is not is an error in words and nothing else. */
#include "base/assert.h"
#include "env/env.h"
#include "market/jobs.h"
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_row(const struct market_jobs_row *r)
{
    shoal_assert(r->name[0] != '\0' && strlen(r->name) <= MARKET_NAME_MAX);
    shoal_assert(isnan(r->work.steps) != isnan(r->work.seconds));
    shoal_assert(isnan(r->work.steps) || (r->work.steps > 0 && r->work.steps <= MARKET_WORK_MAX));
    shoal_assert(isnan(r->start.at_s) || isnan(r->start.in_s));
    shoal_assert(isnan(r->deadline.in_s) || r->deadline.in_s >= 0);
    shoal_assert(r->budget_usd > 0 && r->instances <= MARKET_INSTANCES_MAX);
}

static void try_fleet(shoal_env *env)
{
    struct market_jobs_file file = {0};
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = market_jobs_load(env, "f.csv", &file, &err);

    if (st == SHOAL_OK) {
        shoal_assert(file.count > 0);
        for (size_t i = 0; i < file.count; i++)
            check_row(&file.rows[i]);
    } else {
        shoal_assert(file.rows == NULL && err.code == st && err.message[0] != '\0');
    }
    market_jobs_fini(&file);
}

static void try_model(shoal_env *env, const uint8_t *data, size_t size)
{
    struct market_speeds speeds;
    shoal_err err = SHOAL_ERR_INIT;

    market_speeds_init(&speeds, &base_alloc_libc);
    shoal_status st = market_speeds_load(env, "f.csv", &speeds, &err);
    shoal_assert(st == SHOAL_OK ? speeds.count > 0 : err.code == st && err.message[0] != '\0');
    st = market_speeds_parse(&speeds, "x", (const char *)data, size, "--speed", &err);
    shoal_assert(st == SHOAL_OK || err.code == st);
    for (size_t i = 0; i < speeds.count; i++)
        shoal_assert(speeds.rules[i].steps_s >= 0 && isfinite(speeds.rules[i].steps_s));
    market_speeds_fini(&speeds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    shoal_env *env = NULL;

    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    shoal_assert(env_sim_put(env, "f.csv", data, size) == SHOAL_OK);
    try_fleet(env);
    try_model(env, data, size);
    shoal_env_free(env);
    return 0;
}
