/* sim_world.h - a simulated world with files in it, for tests of readers. */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include "env_world.h"
#include "torture.h"

#include "env/env.h"
#include "sim/trace.h"
#include <string.h>

/* Loads the one file, which must work; err must not be touched. */
static inline struct sim_trace *world_load(shoal_env *env, const char *path, enum sim_format format)
{
    struct sim_trace *trace = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = sim_trace_load(env, &path, 1, format, &trace, &err);

    if (st != SHOAL_OK)
        fail_msg("%s", err.message);
    return trace;
}

/* Loads `text` as a file "a.csv"; it must fail, and the message must contain each of the words. */
static inline void world_refuses(const char *text, size_t size, enum sim_format format,
                                 const char *message, const char *hint)
{
    shoal_env *env = world_new();
    struct sim_trace *trace = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    const char *path = "a.csv";

    assert_int_equal(env_sim_put(env, path, text, size), SHOAL_OK);
    shoal_status st = sim_trace_load(env, &path, 1, format, &trace, &err);
    assert_int_equal(st, SHOAL_E_FORMAT);
    assert_int_equal(err.code, st);
    assert_null(trace);
    if (strstr(err.message, message) == NULL)
        fail_msg("expected '%s' in '%s'", message, err.message);
    if (strstr(err.hint, hint) == NULL)
        fail_msg("expected '%s' in hint '%s'", hint, err.hint);
    shoal_env_free(env);
}

static inline void world_refuses_text(const char *text, const char *message, const char *hint)
{
    world_refuses(text, strlen(text), SIM_FORMAT_AUTO, message, hint);
}

#endif
