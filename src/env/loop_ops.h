/* loop_ops.h - what an implementation of loop.h fills in: the real one and the simulated one.
 *
 * Every handle starts with the loop it belongs to, and the loop with its table, so a call finds its
 * implementation in two loads and the library has no `if (simulating)`. Private to src/env. */
#ifndef ENV_LOOP_OPS_H
#define ENV_LOOP_OPS_H

#include "env/loop.h"

struct env_loop {
    const struct env_loop_ops *ops;
    shoal_env *env;
};

struct env_conn {
    struct env_loop *loop;
};

struct env_listener {
    struct env_loop *loop;
};

struct env_pool {
    struct env_loop *loop;
};

struct env_child {
    struct env_loop *loop;
};

struct env_loop_ops {
    shoal_status (*loop_new)(shoal_env *env, const char *host, struct env_loop **out_loop,
                             shoal_err *err);
    void (*loop_free)(struct env_loop *loop);
    shoal_status (*run)(struct env_loop *loop, shoal_err *err);
    void (*stop)(struct env_loop *loop);
    shoal_status (*post)(struct env_loop *loop, void (*fn)(void *ctx), void *ctx);

    shoal_status (*timer_start)(struct env_loop *loop, struct env_timer *timer, uint64_t delay_ns,
                                void (*fn)(void *ctx), void *ctx);
    void (*timer_stop)(struct env_timer *timer); /* only of running ones */

    shoal_status (*listen)(struct env_loop *loop, const char *address,
                           void (*accepted)(void *ctx, struct env_conn *conn), void *ctx,
                           struct env_listener **out_listener, shoal_err *err);
    const char *(*listener_address)(const struct env_listener *listener);
    void (*listener_close)(struct env_listener *listener);

    shoal_status (*connect)(struct env_loop *loop, const char *address, uint64_t timeout_ns,
                            const struct env_conn_ops *ops, void *ctx, struct env_conn **out_conn,
                            shoal_err *err);
    void (*conn_set)(struct env_conn *conn, const struct env_conn_ops *ops, void *ctx);
    shoal_status (*conn_send)(struct env_conn *conn, const void *bytes, size_t size);
    void (*conn_into)(struct env_conn *conn, void *bytes,
                      size_t size); /* NULL: has no use for it */
    void (*conn_limit)(struct env_conn *conn, size_t bytes_max);
    size_t (*conn_queued)(const struct env_conn *conn);
    const char *(*conn_address)(const struct env_conn *conn);
    void (*conn_close)(struct env_conn *conn);

    shoal_status (*pool_new)(struct env_loop *loop, uint32_t threads, struct env_pool **out_pool,
                             shoal_err *err);
    shoal_status (*pool_run)(struct env_pool *pool, uint64_t (*work)(void *ctx, uint32_t thread),
                             void (*done)(void *ctx), void *ctx);
    void (*pool_free)(struct env_pool *pool);

    shoal_status (*shared_new)(shoal_env *env, size_t size, struct env_shared *out, shoal_err *err);
    shoal_status (*shared_open)(shoal_env *env, int64_t handle, size_t size, struct env_shared *out,
                                shoal_err *err);
    /* NULL where nothing is spilled */
    bool (*shared_back)(shoal_env *env, const struct env_shared *shared, size_t offset,
                        size_t size);
    void (*shared_drop)(shoal_env *env, const struct env_shared *shared, size_t offset,
                        size_t size);
    void (*shared_close)(shoal_env *env, struct env_shared *shared);

    shoal_status (*child_start)(struct env_loop *loop, const struct env_spawn *spawn,
                                void (*exited)(void *ctx, int status), void *ctx,
                                struct env_child **out_child, shoal_err *err);
    int64_t (*child_pid)(const struct env_child *child);
    void (*child_kill)(struct env_child *child);
    void (*child_free)(struct env_child *child);
};

extern const struct env_loop_ops env_loop_ops_real, env_loop_ops_sim;

/* Every connection starts with this limit of queued bytes. */
#define ENV_CONN_LIMIT ((size_t)1 << 30)

#endif
