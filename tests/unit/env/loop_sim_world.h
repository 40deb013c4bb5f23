/* loop_sim_world.h - a simulated world and its processes, for tests. Include after cmocka.h. */
#ifndef TESTS_LOOP_SIM_WORLD_H
#define TESTS_LOOP_SIM_WORLD_H

#include "env/loop.h"

#define SECOND_NS ((uint64_t)1000000000)
#define NEVER     UINT64_MAX

static inline shoal_env *world(uint64_t seed)
{
    shoal_env *env = NULL;
    assert_int_equal(shoal_env_sim_new(seed, &env, NULL), SHOAL_OK);
    return env;
}

static inline struct env_loop *process(shoal_env *env, const char *host)
{
    struct env_loop *loop = NULL;
    assert_int_equal(env_loop_new(env, host, &loop, NULL), SHOAL_OK);
    return loop;
}

#endif
