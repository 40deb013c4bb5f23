/* engine.h - what a network library with events of its own needs of a real loop.
 *
 * Such a library has a descriptor that becomes readable, but only after it was told that nobody
 * looks any more, and it may have work that no descriptor shows. So the loop asks it before each
 * sleep: it does what there is to do, with all callbacks that come of it, and says whether the loop
 * may sleep. Beside that: loading one when it is first needed. Loop thread only. Tests:
 * tests/unit/env/test_engine.c. */
#ifndef ENV_ENGINE_H
#define ENV_ENGINE_H

#include "env/loop.h"

struct env_engine;

/* `prepare` returns whether the loop may sleep until `fd` is readable (or anything else happens).
 * SHOAL_E_INVAL in a simulation. */
SHOAL_MUST_USE shoal_status env_engine_new(struct env_loop *loop, int fd,
                                           bool (*prepare)(void *ctx), void *ctx,
                                           struct env_engine **out_engine, shoal_err *err);
/* Also inside `prepare`. Before the loop is freed. NULL is allowed. */
void env_engine_free(struct env_engine *engine);

/* Loads a shared library for good, after giving each variable of the environment that is not set
 * its value, for those that read theirs while they are loaded: names and values by turns, then
 * NULL. */
SHOAL_MUST_USE shoal_status env_library_load(const char *name, const char *const *variables,
                                             void **out_library, shoal_err *err);
/* The function of that name; NULL: it has none. */
void (*env_library_find(void *library, const char *name))(void);

#endif
