/* env_world.h - a simulated world with files of text, for tests of whatever reads them. */
#ifndef TESTS_ENV_WORLD_H
#define TESTS_ENV_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "env/env.h"
#include <string.h>

static inline shoal_env *world_new(void)
{
    shoal_env *env = NULL;

    assert_int_equal(shoal_env_sim_new(1, &env, NULL), SHOAL_OK);
    return env;
}

static inline void world_put(shoal_env *env, const char *path, const char *text)
{
    assert_int_equal(env_sim_put(env, path, text, strlen(text)), SHOAL_OK);
}

#endif
