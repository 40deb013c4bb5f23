/* loop.h - the events of one process: connections, timers, work on other threads, children, shared
 * memory.
 *
 * A loop belongs to the thread that runs it. Callbacks run on that thread, one at a time, and never
 * from inside a call to a loop function. Freeing or closing a thing inside its own callback is
 * allowed; after env_conn_close or env_timer_stop no callback of it comes any more.
 *
 * Real (loop_real.c): epoll, TCP, threads, child processes, memfd. Simulated (loop_sim.c): every
 * loop of a simulated env is one process of a simulated cluster. env_sim_run runs them all in one
 * thread under virtual time; connections deliver what one env_conn_send call was given as one
 * chunk, late by a drawn delay, and by the faults set also twice, out of order or not at all; hosts
 * can be cut off from each other, slowed, and their processes killed at any event. Same seed, same
 * order of callbacks.
 *
 * A simulated process that is dead may still be running the callback it was killed in: its sends
 * return SHOAL_E_IO, what it starts anew never runs, and what can fail fails with
 * SHOAL_E_CANCELLED.
 *
 * Threads: everything is the loop thread's, except env_loop_post and env_loop_stop (any thread) and
 * the work functions of a pool. */
#ifndef ENV_LOOP_H
#define ENV_LOOP_H

#include "env/env.h"

struct env_loop;

/* `host` names the machine in a simulation (processes of one host share memory); ignored by the
 * real env, may be NULL there. */
SHOAL_MUST_USE shoal_status env_loop_new(shoal_env *env, const char *host,
                                         struct env_loop **out_loop, shoal_err *err);
/* Closes and frees all that is open; children die. Never inside a callback of this loop. NULL is
 * allowed. */
void env_loop_free(struct env_loop *loop);
shoal_env *env_loop_env(const struct env_loop *loop);

/* Real: until env_loop_stop. Simulated: SHOAL_E_INVAL, see env_sim_run. */
SHOAL_MUST_USE shoal_status env_loop_run(struct env_loop *loop, shoal_err *err);
/* Ends env_loop_run after the callbacks under way, or the next one at once when none runs. Any
 * thread. Simulated: the process ends after the current callback, as by env_sim_kill but with exit
 * status 0. */
void env_loop_stop(struct env_loop *loop);
/* Runs fn(ctx) on the loop soon. Any thread. Posts of one thread keep their order. */
SHOAL_MUST_USE shoal_status env_loop_post(struct env_loop *loop, void (*fn)(void *ctx), void *ctx);

/* ---- timers: storage is the caller's, zeroed before the first use ---- */
struct env_timer {
    struct env_loop *loop;
    void (*fn)(void *ctx);
    void *ctx;
    uint64_t due_ns; /* on the clock of env_now_ns */
    uint64_t order;  /* equal times: first started, first run */
    uint32_t place;  /* in the loop's heap, 1-based; 0: not running */
};
/* Once, `delay_ns` from now; a running timer is set anew. Fails only when memory is short. */
SHOAL_MUST_USE shoal_status env_timer_start(struct env_loop *loop, struct env_timer *timer,
                                            uint64_t delay_ns, void (*fn)(void *ctx), void *ctx);
void env_timer_stop(struct env_timer *timer); /* also when it is not running */

/* ---- byte streams ---- */
struct env_conn;
struct env_listener;

struct env_conn_ops {
    void (*opened)(void *ctx, struct env_conn *conn); /* connecting side only; may be NULL */
    /* Bytes as they come; what is not consumed must be kept by the callee. */
    void (*received)(void *ctx, struct env_conn *conn, const void *bytes, size_t size);
    /* What was queued has gone out; may be NULL. Not called for what the socket took at once. */
    void (*drained)(void *ctx, struct env_conn *conn);
    /* The other side closed (why->code SHOAL_END), or the connection failed. Last call; conn is
     * gone when it returns. */
    void (*closed)(void *ctx, struct env_conn *conn, const shoal_err *why);
};

/* "127.0.0.1:0" chooses a free port, "[::1]:7000" and host names work. Simulated: "HOST:PORT" with
 * the name of a simulated host; what a machine calls itself ("127.0.0.1", "localhost", "0.0.0.0")
 * is the own host. */
SHOAL_MUST_USE shoal_status env_listen(struct env_loop *loop, const char *address,
                                       void (*accepted)(void *ctx, struct env_conn *conn),
                                       void *ctx, struct env_listener **out_listener,
                                       shoal_err *err);
const char *env_listener_address(const struct env_listener *listener); /* with the real port */
void env_listener_close(struct env_listener *listener);                /* NULL is allowed */

/* `opened` or `closed` follows. Gives up after timeout_ns; UINT64_MAX: never. What is sent before
 * `opened` waits. Looking up a name may block; numeric addresses never do. */
SHOAL_MUST_USE shoal_status env_connect(struct env_loop *loop, const char *address,
                                        uint64_t timeout_ns, const struct env_conn_ops *ops,
                                        void *ctx, struct env_conn **out_conn, shoal_err *err);
/* An accepted connection is deaf until it is given its callbacks. */
void env_conn_set(struct env_conn *conn, const struct env_conn_ops *ops, void *ctx);
/* Queues a copy (written at once where the socket takes it and nothing is queued). SHOAL_E_LIMIT
 * and nothing sent when `size` and what is queued are more than the limit; SHOAL_E_IO when it is
 * closing. */
SHOAL_MUST_USE shoal_status env_conn_send(struct env_conn *conn, const void *bytes, size_t size);
/* The next bytes may be received straight into this memory, which `received` then gets as `bytes`:
 * up to `size` of them, once. It is the caller's to keep until then or until the connection is
 * closed. A wish: they may come elsewhere, too. */
void env_conn_into(struct env_conn *conn, void *bytes, size_t size);
void env_conn_limit(struct env_conn *conn, size_t bytes_max); /* 1 GiB when not set */
size_t env_conn_queued(const struct env_conn *conn);
const char *env_conn_address(const struct env_conn *conn); /* of the other side */
/* At once, queued bytes are dropped; NULL is allowed. Simulated: what is still on its way when the
 * other side hears of it is lost, so who must be heard waits for an answer before closing. */
void env_conn_close(struct env_conn *conn);

/* ---- work on other threads ---- */
struct env_pool;

SHOAL_MUST_USE shoal_status env_pool_new(struct env_loop *loop, uint32_t threads,
                                         struct env_pool **out_pool, shoal_err *err);
/* Calls work(ctx, thread) on a pool thread, thread in 0 .. threads - 1, then done(ctx) on the loop.
 * Any number may be queued; threads take them first in, first out. Simulated: work runs in the
 * loop's thread at a drawn moment and done follows; what work returns is its time in ns of virtual
 * time (the real pool ignores it). */
SHOAL_MUST_USE shoal_status env_pool_run(struct env_pool *pool,
                                         uint64_t (*work)(void *ctx, uint32_t thread),
                                         void (*done)(void *ctx), void *ctx);
/* Waits for the work in progress, drops what is queued; no `done` comes any more. Not from inside
 * work. NULL is allowed. */
void env_pool_free(struct env_pool *pool);

/* ---- shared memory of a host ---- */
struct env_shared {
    char *base;
    size_t size;    /* address space; memory is taken when it is touched */
    int64_t handle; /* to open it again: a descriptor here, a number in a simulation */
    bool spilled;   /* a file: ranges are backed before they are written (env_shared_back) */
};
/* Zeroed, sparse; huge pages are asked for. Only this user's processes that get the handle see it;
 * it goes with the last of them. */
SHOAL_MUST_USE shoal_status env_shared_new(shoal_env *env, size_t size, struct env_shared *out,
                                           shoal_err *err);
SHOAL_MUST_USE shoal_status env_shared_open(shoal_env *env, int64_t handle, size_t size,
                                            struct env_shared *out, shoal_err *err);
/* Takes room for a range before it is written: in a file a full disk would kill the process then,
 * in memory the system would kill some process for a large one. False: there is none. Any process,
 * again is allowed. */
bool env_shared_back(shoal_env *env, const struct env_shared *shared, size_t offset, size_t size);
/* Gives the pages of a range back; they read as 0 then. */
void env_shared_drop(shoal_env *env, const struct env_shared *shared, size_t offset, size_t size);
void env_shared_close(shoal_env *env, struct env_shared *shared); /* unmaps; all 0 is allowed */

/* ---- children ---- */
struct env_child;

struct env_spawn {
    const char *const *argv; /* ends at the first NULL after argv[0]; argv[0] NULL: this program */
    int64_t shared;          /* handle the child gets as descriptor 3; -1: none */
    const void *input;       /* what its standard input holds, such as a key */
    size_t input_size;
};
/* `exited` comes once, after the process is gone and can touch nothing any more; status is its exit
 * status or 128 + signal. The child inherits standard output and error and no other descriptors. It
 * dies with the thread of this loop (PR_SET_PDEATHSIG), hence with this process. A program that
 * cannot be run is an error of this call. Simulated: starts what env_sim_set_program said, on the
 * host of `loop`, a moment later; one that makes no loop exits with status 1. */
SHOAL_MUST_USE shoal_status env_child_start(struct env_loop *loop, const struct env_spawn *spawn,
                                            void (*exited)(void *ctx, int status), void *ctx,
                                            struct env_child **out_child, shoal_err *err);
int64_t env_child_pid(const struct env_child *child);
void env_child_kill(struct env_child *child); /* SIGKILL; `exited` follows */
/* Kills and waits when it runs; no callback then. Needed also after `exited`, where it is allowed.
 * NULL is allowed. */
void env_child_free(struct env_child *child);

/* ---- simulated env only ---- */
/* What children run: `start` makes a process of its own (a loop on the given host) from its
 * arguments, which are valid during the call, and returns its state; `killed` frees that state and
 * the loop when the process has ended in any way (killed, stopped, its parent dead, the env freed).
 */
struct env_sim_program {
    void *(*start)(void *ctx, shoal_env *env, const char *host, const struct env_spawn *spawn,
                   struct env_loop **out_loop);
    void (*killed)(void *process);
    void *ctx;
};
void env_sim_set_program(shoal_env *env, const struct env_sim_program *program);

/* Probabilities per chunk and mean times; all 0: a perfect network with delay 0. Without the faults
 * a connection keeps its order whatever the delays. A duplicate comes some delays after the chunk,
 * a reordered chunk some delays after its turn. */
struct env_sim_net {
    double delay_mean_s; /* exponential */
    double duplicate, reorder, drop;
};
void env_sim_set_net(shoal_env *env, const struct env_sim_net *net);
/* Chunks between the two hosts wait (as a silent cut does) until the cut is taken back. */
void env_sim_cut(shoal_env *env, const char *host_a, const char *host_b, bool cut);
/* Work on this host takes `factor` times as long. */
void env_sim_slow(shoal_env *env, const char *host, double factor);
/* The process of this loop is gone at once: its connections close (the others hear of it after a
 * delay), its timers and work never fire, its parent gets `exited`. Its memory is freed by
 * `killed` of the program that made it, after the current callback; a loop made by env_loop_new
 * alone stays its maker's to free. Any time, also from inside its own callbacks and work. */
void env_sim_kill(struct env_loop *loop);
bool env_sim_alive(const struct env_loop *loop);
/* Runs events in order of time until there are none, `until_ns` is passed or `stop` (may be NULL)
 * says so after an event. Returns how many ran. */
uint64_t env_sim_run(shoal_env *env, uint64_t until_ns, bool (*stop)(void *ctx), void *ctx);
/* A hash of all callbacks so far (time, loop, kind): equal for equal seeds. */
uint64_t env_sim_hash(const shoal_env *env);

#endif
