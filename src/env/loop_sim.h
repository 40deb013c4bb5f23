/* loop_sim.h - inside the simulated cluster: what its files share.
 *
 * loop_sim.c: the world, its events, processes and their end. loop_sim_net.c and loop_sim_link.c:
 * connections between processes. loop_sim_host.c: hosts, pools, children and shared memory.
 *
 * Everything that happens is a timer in one heap. Those with a loop are the user's; the others are
 * ours, call loop_sim_note before a callback and touch nothing that the callback may have freed
 * after it. Room in the heap is promised when a thing is made, so that its events cannot fail.
 *
 * A process that ends (killed, stopped or freed) is silent at once: its events leave the heap, its
 * links close. Its objects stay valid until their owner frees them or its loop, because the code
 * that is running may be its own. Private to src/env. */
#ifndef ENV_LOOP_SIM_H
#define ENV_LOOP_SIM_H

#include "env/loop_heap.h"
#include "env/loop_list.h"
#include "env/loop_ops.h"

struct loop_sim;
struct sim_link;
struct sim_child;
struct sim_shared;

/* Kinds of callbacks, for the hash. */
enum sim_kind {
    SIM_TIMER,
    SIM_POST,
    SIM_ACCEPTED,
    SIM_OPENED,
    SIM_RECEIVED,
    SIM_DRAINED,
    SIM_CLOSED,
    SIM_WORK,
    SIM_DONE,
    SIM_START,
    SIM_EXITED,
    SIM_KILLED
};

/* A process. */
struct sim_loop {
    struct env_loop loop; /* first */
    struct loop_sim *sim;
    struct loop_list in_sim, in_ended;
    uint64_t id;
    uint32_t host;
    bool alive, ending;
    struct loop_list conns, listeners, pools, children;
    struct env_timer post_event;
    struct sim_post *posts, **posts_end;
    struct sim_child *child; /* what its parent holds; NULL without one */
    void (*killed)(void *process);
    void *process; /* its state */
    bool has_process;
};

struct sim_host {
    char *name;
    double factor;
};

struct sim_cut {
    uint32_t a, b;
};

enum { SIM_CHUNK_CLASSES = 12 };

struct loop_sim {
    shoal_env *env;
    const struct base_alloc *alloc;
    struct loop_heap heap;
    uint32_t depth; /* callbacks in progress */
    uint64_t hash;
    uint64_t loops_made, pids_made;
    struct loop_list loops, ended; /* ended: those whose `killed` is still to be called */
    struct sim_post *free_posts;

    struct env_sim_net net;
    struct base_rand delays, drops, duplicates, reorders, moments;
    struct loop_list links;
    struct sim_chunk *free_chunks[SIM_CHUNK_CLASSES];
    uint32_t ports_made, links_made;

    struct sim_host *hosts;
    size_t host_count, host_cap;
    struct sim_cut *cuts;
    size_t cut_count, cut_cap;
    struct env_sim_program program;
    struct sim_shared *shared;
    size_t shared_count, shared_cap;
};

/* In env_sim.c: where a simulated env keeps its processes, and the allocator it was made with. */
struct loop_sim **env_sim_loops(const shoal_env *env, const struct base_alloc **out_alloc);

/* --- loop_sim.c --- */
struct loop_sim *loop_sim_find(shoal_env *env); /* made at the first call; NULL: out of memory */
void loop_sim_free(struct loop_sim *sim);       /* NULL is allowed */
/* Runs fn(ctx) at `due_ns` or now when that is past; moves the event when it is set already. */
void loop_sim_at(struct loop_sim *sim, struct env_timer *event, uint64_t due_ns,
                 void (*fn)(void *ctx), void *ctx);
void loop_sim_cancel(struct loop_sim *sim, struct env_timer *event);
void loop_sim_note(struct sim_loop *loop, enum sim_kind kind, uint64_t detail);
uint64_t loop_sim_delay_ns(struct loop_sim *sim); /* of the network */
uint64_t loop_sim_moment_ns(struct loop_sim *sim, double mean_ns);
void loop_sim_end(struct sim_loop *loop, int status);
void loop_sim_bury(struct loop_sim *sim); /* outside of callbacks: frees the dead at once */

/* --- loop_sim_net.c, loop_sim_link.c --- */
void loop_sim_conn_end(struct loop_list *node); /* its process ends: silent, still valid */
void loop_sim_conn_free(struct loop_list *node);
void loop_sim_listener_free(struct loop_list *node);
void loop_sim_healed(struct loop_sim *sim); /* some cut was taken back */
void loop_sim_link_fini(struct loop_sim *sim);

shoal_status loop_sim_listen(struct env_loop *base, const char *address,
                             void (*accepted)(void *ctx, struct env_conn *conn), void *ctx,
                             struct env_listener **out_listener, shoal_err *err);
const char *loop_sim_listener_address(const struct env_listener *listener);
void loop_sim_listener_close(struct env_listener *listener);
shoal_status loop_sim_connect(struct env_loop *base, const char *address, uint64_t timeout_ns,
                              const struct env_conn_ops *ops, void *ctx, struct env_conn **out_conn,
                              shoal_err *err);
void loop_sim_conn_set(struct env_conn *base, const struct env_conn_ops *ops, void *ctx);
shoal_status loop_sim_conn_send(struct env_conn *base, const void *bytes, size_t size);
void loop_sim_conn_limit(struct env_conn *conn, size_t bytes_max);
size_t loop_sim_conn_queued(const struct env_conn *conn);
const char *loop_sim_conn_address(const struct env_conn *conn);
void loop_sim_conn_close(struct env_conn *base);

/* --- loop_sim_host.c --- */
/* Made when it is new. */
SHOAL_MUST_USE shoal_status loop_sim_host(struct loop_sim *sim, const char *name, size_t length,
                                          uint32_t *out_host);
bool loop_sim_is_cut(const struct loop_sim *sim, uint32_t a, uint32_t b);
void loop_sim_pool_end(struct loop_list *node);
void loop_sim_pool_free(struct loop_list *node);
void loop_sim_child_end(struct loop_list *node);
void loop_sim_child_free(struct loop_list *node);
void loop_sim_child_exited(struct sim_child *child, int status); /* its process ended */
void loop_sim_host_fini(struct loop_sim *sim);

shoal_status loop_sim_pool_new(struct env_loop *base, uint32_t threads, struct env_pool **out_pool,
                               shoal_err *err);
shoal_status loop_sim_pool_run(struct env_pool *base, uint64_t (*work)(void *ctx, uint32_t thread),
                               void (*done)(void *ctx), void *ctx);
void loop_sim_pool_close(struct env_pool *pool);
shoal_status loop_sim_shared_new(shoal_env *env, size_t size, struct env_shared *out,
                                 shoal_err *err);
shoal_status loop_sim_shared_open(shoal_env *env, int64_t handle, size_t size,
                                  struct env_shared *out, shoal_err *err);
void loop_sim_shared_drop(shoal_env *env, const struct env_shared *shared, size_t offset,
                          size_t size);
void loop_sim_shared_close(shoal_env *env, struct env_shared *handle);
shoal_status loop_sim_child_start(struct env_loop *base, const struct env_spawn *spawn,
                                  void (*exited)(void *ctx, int status), void *ctx,
                                  struct env_child **out_child, shoal_err *err);
int64_t loop_sim_child_pid(const struct env_child *child);
void loop_sim_child_kill(struct env_child *base);
void loop_sim_child_close(struct env_child *base);

#endif
