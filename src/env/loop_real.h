/* loop_real.h - inside a real loop: what its files share.
 *
 * loop_real.c: epoll, timers, posts. loop_real_net.c: listening and connecting. loop_real_conn.c:
 * connections. loop_real_pool.c: threads. loop_real_child.c: children. loop_real_shared.c: shared
 * memory. engine.c: libraries with events of their own.
 *
 * A descriptor under watch is a source. It may be closed at any time, also while a batch of events
 * is being worked off: loop_real_unwatch takes its events out of the batch. Things with callbacks
 * count the callbacks they are in and are freed when the last one returns. Private to src/env. */
#ifndef ENV_LOOP_REAL_H
#define ENV_LOOP_REAL_H

#include "env/env_real.h"
#include "env/loop_heap.h"
#include "env/loop_list.h"
#include "env/loop_ops.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>

enum { REAL_BATCH = 64, REAL_BUFFER_SIZE = 256 * 1024 };

struct real_source {
    int fd;
    void (*ready)(struct real_source *source, uint32_t events);
};

/* A call to make on the loop thread. */
struct real_post {
    struct real_post *next;
    void (*fn)(struct real_post *post); /* takes the memory of the post too */
};

struct real_posts {
    struct real_post *head, **end;
};

struct real_loop {
    struct env_loop loop; /* first */
    const struct base_alloc *alloc;
    int epoll_fd;
    struct real_source wake; /* an eventfd */
    atomic_bool stopping;
    bool running, pwait2_missing;
    struct epoll_event batch[REAL_BATCH];
    int batch_at, batch_count;
    struct loop_heap timers;
    struct loop_list conns, listeners, pools, children, engines;
    struct loop_list *engine_next; /* to be asked, while they are */
    struct real_block *spare_blocks;
    uint32_t spare_count;

    pthread_mutex_t posts_lock; /* guards the next two */
    struct real_posts posts;
    bool asleep;             /* in epoll: whoever posts must wake it */
    struct real_posts taken; /* being run; the loop thread's */

    char buffer[REAL_BUFFER_SIZE]; /* what was just received */
};

/* --- loop_real.c --- */
SHOAL_MUST_USE int loop_real_watch(struct real_loop *loop, struct real_source *source,
                                   uint32_t events);
void loop_real_rewatch(struct real_loop *loop, struct real_source *source, uint32_t events);
/* Before closing it. */
void loop_real_unwatch(struct real_loop *loop, struct real_source *source);
/* Any thread. */
void loop_real_post(struct real_loop *loop, struct real_post *post);
/* Takes out the posts for which `mine` is true; it may free them. */
void loop_real_unpost(struct real_loop *loop, bool (*mine)(struct real_post *post, void *ctx),
                      void *ctx);
/* A timer whose place in the heap is promised. */
void loop_real_timer_set(struct real_loop *loop, struct env_timer *timer, uint64_t delay_ns,
                         void (*fn)(void *ctx), void *ctx);
void loop_real_close(int fd); /* -1 is allowed; errno stays */

/* --- loop_real_net.c --- */
enum { REAL_ADDRESS_SIZE = 280 };
struct addrinfo;
struct sockaddr;

shoal_status loop_real_resolve(const char *address, bool passive, struct addrinfo **out,
                               shoal_err *err);
void loop_real_format_address(const struct sockaddr *address, unsigned size, char *out,
                              size_t out_size);
void loop_real_listener_free(struct loop_list *node);
shoal_status loop_real_listen(struct env_loop *base, const char *address,
                              void (*accepted)(void *ctx, struct env_conn *conn), void *ctx,
                              struct env_listener **out_listener, shoal_err *err);
const char *loop_real_listener_address(const struct env_listener *listener);
void loop_real_listener_close(struct env_listener *base);

/* --- loop_real_conn.c --- */
struct env_conn *loop_real_conn_accepted(struct real_loop *loop, int fd, const char *address);
void loop_real_conn_free(struct loop_list *node);
void loop_real_blocks_fini(struct real_loop *loop);
shoal_status loop_real_connect(struct env_loop *base, const char *address, uint64_t timeout_ns,
                               const struct env_conn_ops *ops, void *ctx,
                               struct env_conn **out_conn, shoal_err *err);
void loop_real_conn_set(struct env_conn *base, const struct env_conn_ops *ops, void *ctx);
shoal_status loop_real_conn_send(struct env_conn *base, const void *bytes, size_t size);
void loop_real_conn_into(struct env_conn *base, void *bytes, size_t size);
void loop_real_conn_limit(struct env_conn *conn, size_t bytes_max);
size_t loop_real_conn_queued(const struct env_conn *conn);
const char *loop_real_conn_address(const struct env_conn *conn);
void loop_real_conn_close(struct env_conn *base);

/* --- loop_real_pool.c --- */
void loop_real_pool_free(struct loop_list *node);
shoal_status loop_real_pool_new(struct env_loop *base, uint32_t threads, struct env_pool **out_pool,
                                shoal_err *err);
shoal_status loop_real_pool_run(struct env_pool *base, uint64_t (*work)(void *ctx, uint32_t thread),
                                void (*done)(void *ctx), void *ctx);
void loop_real_pool_close(struct env_pool *pool);

/* --- engine.c --- */
/* Whether all of them let the loop sleep. */
bool loop_real_engines_prepare(struct real_loop *loop);

/* --- loop_real_child.c --- */
void loop_real_child_free(struct loop_list *node);
shoal_status loop_real_child_start(struct env_loop *base, const struct env_spawn *spawn,
                                   void (*exited)(void *ctx, int status), void *ctx,
                                   struct env_child **out_child, shoal_err *err);
int64_t loop_real_child_pid(const struct env_child *child);
void loop_real_child_kill(struct env_child *base);
void loop_real_child_close(struct env_child *child);

/* --- loop_real_shared.c --- */
shoal_status loop_real_shared_new(shoal_env *env, size_t size, struct env_shared *out,
                                  shoal_err *err);
shoal_status loop_real_shared_open(shoal_env *env, int64_t handle, size_t size,
                                   struct env_shared *out, shoal_err *err);
bool loop_real_shared_back(shoal_env *env, const struct env_shared *shared, size_t offset,
                           size_t size);
void loop_real_shared_drop(shoal_env *env, const struct env_shared *shared, size_t offset,
                           size_t size);
void loop_real_shared_close(shoal_env *env, struct env_shared *shared);

#endif
