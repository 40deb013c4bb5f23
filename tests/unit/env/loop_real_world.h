/* loop_real_world.h - a real loop with a deadline, for tests: whatever is waited for, a test ends.
 * Include after cmocka.h. */
#ifndef TESTS_LOOP_REAL_WORLD_H
#define TESTS_LOOP_REAL_WORLD_H

#include "env/loop.h"
#include <stdlib.h>

#define MS_NS       ((uint64_t)1000000)
#define SECOND_NS   ((uint64_t)1000000000)
#define DEADLINE_NS (90 * SECOND_NS)

struct loop_world {
    shoal_env *env;
    struct env_loop *loop;
    struct env_timer deadline;
    bool late;
};

static inline void loop_world_init(struct loop_world *world)
{
    *world = (struct loop_world){0};
    assert_int_equal(shoal_env_real_new(&world->env, NULL), SHOAL_OK);
    assert_int_equal(env_loop_new(world->env, NULL, &world->loop, NULL), SHOAL_OK);
}

static inline void loop_world_late(void *ctx)
{
    struct loop_world *world = ctx;
    world->late = true;
    env_loop_stop(world->loop);
}

/* Until someone stops the loop. */
static inline void loop_world_run(struct loop_world *world)
{
    shoal_err err = SHOAL_ERR_INIT;
    assert_int_equal(
        env_timer_start(world->loop, &world->deadline, DEADLINE_NS, loop_world_late, world),
        SHOAL_OK);
    if (env_loop_run(world->loop, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    env_timer_stop(&world->deadline);
    assert_false(world->late);
}

static inline void loop_world_fini(struct loop_world *world)
{
    env_loop_free(world->loop);
    shoal_env_free(world->env);
}

#endif
