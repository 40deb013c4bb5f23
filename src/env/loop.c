/* loop.c - what both kinds of loop share: dispatch, and arguments that are wrong in both. Tests:
 * tests/unit/env/test_loop.c. */
#include "env/loop.h"

#include "base/assert.h"
#include "base/err.h"
#include "env/loop_ops.h"

shoal_status env_loop_new(shoal_env *env, const char *host, struct env_loop **out_loop,
                          shoal_err *err)
{
    return env->ops->loops->loop_new(env, host, out_loop, err);
}

void env_loop_free(struct env_loop *loop)
{
    if (loop != NULL)
        loop->ops->loop_free(loop);
}

shoal_env *env_loop_env(const struct env_loop *loop)
{
    return loop->env;
}

shoal_status env_loop_run(struct env_loop *loop, shoal_err *err)
{
    return loop->ops->run(loop, err);
}

void env_loop_stop(struct env_loop *loop)
{
    loop->ops->stop(loop);
}

shoal_status env_loop_post(struct env_loop *loop, void (*fn)(void *ctx), void *ctx)
{
    return loop->ops->post(loop, fn, ctx);
}

/* --- timers --- */

shoal_status env_timer_start(struct env_loop *loop, struct env_timer *timer, uint64_t delay_ns,
                             void (*fn)(void *ctx), void *ctx)
{
    shoal_assert(timer->place == 0 || timer->loop == loop);
    return loop->ops->timer_start(loop, timer, delay_ns, fn, ctx);
}

void env_timer_stop(struct env_timer *timer)
{
    if (timer->place != 0)
        timer->loop->ops->timer_stop(timer);
}

/* --- byte streams --- */

shoal_status env_listen(struct env_loop *loop, const char *address,
                        void (*accepted)(void *ctx, struct env_conn *conn), void *ctx,
                        struct env_listener **out_listener, shoal_err *err)
{
    return loop->ops->listen(loop, address, accepted, ctx, out_listener, err);
}

const char *env_listener_address(const struct env_listener *listener)
{
    return listener->loop->ops->listener_address(listener);
}

void env_listener_close(struct env_listener *listener)
{
    if (listener != NULL)
        listener->loop->ops->listener_close(listener);
}

shoal_status env_connect(struct env_loop *loop, const char *address, uint64_t timeout_ns,
                         const struct env_conn_ops *ops, void *ctx, struct env_conn **out_conn,
                         shoal_err *err)
{
    shoal_assert(ops->received != NULL && ops->closed != NULL);
    return loop->ops->connect(loop, address, timeout_ns, ops, ctx, out_conn, err);
}

void env_conn_set(struct env_conn *conn, const struct env_conn_ops *ops, void *ctx)
{
    shoal_assert(ops->received != NULL && ops->closed != NULL);
    conn->loop->ops->conn_set(conn, ops, ctx);
}

shoal_status env_conn_send(struct env_conn *conn, const void *bytes, size_t size)
{
    return conn->loop->ops->conn_send(conn, bytes, size);
}

void env_conn_into(struct env_conn *conn, void *bytes, size_t size)
{
    if (conn->loop->ops->conn_into != NULL)
        conn->loop->ops->conn_into(conn, bytes, size);
}

void env_conn_limit(struct env_conn *conn, size_t bytes_max)
{
    conn->loop->ops->conn_limit(conn, bytes_max);
}

size_t env_conn_queued(const struct env_conn *conn)
{
    return conn->loop->ops->conn_queued(conn);
}

const char *env_conn_address(const struct env_conn *conn)
{
    return conn->loop->ops->conn_address(conn);
}

void env_conn_close(struct env_conn *conn)
{
    if (conn != NULL)
        conn->loop->ops->conn_close(conn);
}

/* --- work on other threads --- */

shoal_status env_pool_new(struct env_loop *loop, uint32_t threads, struct env_pool **out_pool,
                          shoal_err *err)
{
    if (threads == 0)
        return base_err(err, SHOAL_E_INVAL, "cannot start a pool of 0 threads");
    return loop->ops->pool_new(loop, threads, out_pool, err);
}

shoal_status env_pool_run(struct env_pool *pool, uint64_t (*work)(void *ctx, uint32_t thread),
                          void (*done)(void *ctx), void *ctx)
{
    return pool->loop->ops->pool_run(pool, work, done, ctx);
}

void env_pool_free(struct env_pool *pool)
{
    if (pool != NULL)
        pool->loop->ops->pool_free(pool);
}

/* --- shared memory --- */

shoal_status env_shared_new(shoal_env *env, size_t size, struct env_shared *out, shoal_err *err)
{
    if (size == 0)
        return base_err(err, SHOAL_E_INVAL, "cannot make shared memory of 0 bytes");
    return env->ops->loops->shared_new(env, size, out, err);
}

shoal_status env_shared_open(shoal_env *env, int64_t handle, size_t size, struct env_shared *out,
                             shoal_err *err)
{
    if (size == 0)
        return base_err(err, SHOAL_E_INVAL, "cannot open shared memory of 0 bytes");
    return env->ops->loops->shared_open(env, handle, size, out, err);
}

bool env_shared_back(shoal_env *env, const struct env_shared *shared, size_t offset, size_t size)
{
    shoal_assert(offset <= shared->size && size <= shared->size - offset);
    if (!shared->spilled)
        return size < ENV_GUARD_MIN || size <= env_memory_left(env, false);
    return size == 0 || env->ops->loops->shared_back(env, shared, offset, size);
}

void env_shared_drop(shoal_env *env, const struct env_shared *shared, size_t offset, size_t size)
{
    shoal_assert(offset <= shared->size && size <= shared->size - offset);
    if (size > 0)
        env->ops->loops->shared_drop(env, shared, offset, size);
}

void env_shared_close(shoal_env *env, struct env_shared *shared)
{
    if (shared->base != NULL)
        env->ops->loops->shared_close(env, shared);
    *shared = (struct env_shared){0};
}

/* --- children --- */

shoal_status env_child_start(struct env_loop *loop, const struct env_spawn *spawn,
                             void (*exited)(void *ctx, int status), void *ctx,
                             struct env_child **out_child, shoal_err *err)
{
    return loop->ops->child_start(loop, spawn, exited, ctx, out_child, err);
}

int64_t env_child_pid(const struct env_child *child)
{
    return child->loop->ops->child_pid(child);
}

void env_child_kill(struct env_child *child)
{
    child->loop->ops->child_kill(child);
}

void env_child_free(struct env_child *child)
{
    if (child != NULL)
        child->loop->ops->child_free(child);
}
