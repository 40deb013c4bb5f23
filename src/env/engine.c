/* engine.c - see engine.h. */
#include "env/engine.h"

#include "base/err.h"
#include "env/loop_real.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct env_engine {
    struct real_loop *loop;
    struct real_source source;
    struct loop_list in_loop;
    bool (*prepare)(void *ctx);
    void *ctx;
};

/* It was woken: `prepare` finds what for. */
static void ready(struct real_source *source, uint32_t events)
{
    (void)source;
    (void)events;
}

bool loop_real_engines_prepare(struct real_loop *loop)
{
    bool may_sleep = true;
    for (struct loop_list *node = loop->engines.next, *next; node != &loop->engines; node = next) {
        struct env_engine *engine = LOOP_OF(struct env_engine, in_loop, node);
        loop->engine_next = node->next;
        may_sleep = engine->prepare(engine->ctx) && may_sleep;
        next = loop->engine_next;
    }
    loop->engine_next = NULL;
    return may_sleep;
}

shoal_status env_engine_new(struct env_loop *base, int fd, bool (*prepare)(void *ctx), void *ctx,
                            struct env_engine **out_engine, shoal_err *err)
{
    struct real_loop *loop = (struct real_loop *)base;
    if (base->ops != &env_loop_ops_real)
        return base_err(err, SHOAL_E_INVAL, "a simulation has no engines of other libraries");
    struct env_engine *engine = base_calloc(loop->alloc, 1, sizeof *engine);
    if (engine == NULL)
        return base_err_nomem(err, "watching an engine");
    engine->loop = loop;
    engine->source = (struct real_source){.fd = fd, .ready = ready};
    engine->prepare = prepare;
    engine->ctx = ctx;
    if (loop_real_watch(loop, &engine->source, EPOLLIN) != 0) {
        char text[128];
        shoal_status st = base_err(err, env_real_status(errno), "cannot watch an engine: %s",
                                   env_real_reason(errno, text, sizeof text));
        base_free(loop->alloc, engine);
        return st;
    }
    loop_list_add(&loop->engines, &engine->in_loop);
    *out_engine = engine;
    return SHOAL_OK;
}

void env_engine_free(struct env_engine *engine)
{
    if (engine == NULL)
        return;
    struct real_loop *loop = engine->loop;
    if (loop->engine_next == &engine->in_loop)
        loop->engine_next = engine->in_loop.next;
    loop_real_unwatch(loop, &engine->source);
    loop_list_remove(&engine->in_loop);
    base_free(loop->alloc, engine);
}

/* --- libraries --- */

shoal_status env_library_load(const char *name, const char *const *variables, void **out_library,
                              shoal_err *err)
{
    for (size_t i = 0; variables[i] != NULL; i += 2)
        if (setenv(variables[i], variables[i + 1], 0) != 0)
            return base_err_nomem(err, "loading a library");
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL)
        return base_err(err, SHOAL_E_NOTFOUND, "cannot load %s", dlerror());
    *out_library = library;
    return SHOAL_OK;
}

void (*env_library_find(void *library, const char *name))(void)
{
    void *found = dlsym(library, name);
    void (*function)(void) = NULL;
    memcpy(&function, &found, sizeof function); /* C has no cast for it */
    return function;
}
