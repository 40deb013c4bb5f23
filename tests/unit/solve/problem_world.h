/* problem_world.h - a simulated world with a problem in it, for tests of the solver. */
#ifndef TESTS_PROBLEM_WORLD_H
#define TESTS_PROBLEM_WORLD_H

#include "torture.h"

#include "env/env.h"
#include "solve/problem.h"
#include <string.h>

static inline shoal_env *world_new(const char *problem)
{
    shoal_env *env = NULL;

    assert_int_equal(shoal_env_sim_new(1, &env, NULL), SHOAL_OK);
    assert_int_equal(env_sim_put(env, "p.json", problem, strlen(problem)), SHOAL_OK);
    return env;
}

/* Loads the problem of the world, which must work. */
static inline struct solve_problem *world_load(shoal_env *env)
{
    struct solve_problem *p = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    if (solve_problem_load(env, "p.json", NULL, &p, &err) != SHOAL_OK)
        fail_msg("%s; %s", err.message, err.hint);
    return p;
}

/* The problem must be refused, with these words in message and hint. */
static inline void world_refuses(const char *problem, shoal_status status, const char *message,
                                 const char *hint)
{
    shoal_env *env = world_new(problem);
    struct solve_problem *p = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = solve_problem_load(env, "p.json", NULL, &p, &err);

    if (st != status)
        fail_msg("%s: %s instead of %s; %s", problem, shoal_status_name(st),
                 shoal_status_name(status), err.message);
    assert_null(p);
    if (strstr(err.message, message) == NULL)
        fail_msg("%s: expected '%s' in '%s'", problem, message, err.message);
    if (strstr(err.hint, hint) == NULL)
        fail_msg("%s: expected '%s' in hint '%s'", problem, hint, err.hint);
    if (err.where[0] == '\0')
        fail_msg("%s: '%s' has no place", problem, err.message);
    shoal_env_free(env);
}

#endif
