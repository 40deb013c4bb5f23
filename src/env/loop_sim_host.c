/* loop_sim_host.c - the machines of the simulated cluster: which are cut off or slow, work on their
 * threads, their children and their shared memory.
 *
 * A pool calls `work` a moment after a thread took it, all at once, and `done` after the time that
 * work said it took, times the slowness of the host. So a kill finds each piece of work not begun,
 * or begun and not reported; a kill inside `work` finds it in the middle.
 *
 * A child starts and is reported dead a moment after the call; its program is what
 * env_sim_set_program said at the time of the call. Shared memory is anonymous and the same for
 * every process. Tests: tests/unit/env/test_loop_sim_proc.c. */
#include "base/assert.h"
#include "base/err.h"
#include "env/loop_sim.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    WORK_MOMENT_NS = 1000,           /* mean time until a free thread begins */
    PROCESS_MOMENT_NS = 1000 * 1000, /* mean time to start a process, and to hear of its end */
    STATUS_KILLED = 128 + 9,
    STATUS_NOT_STARTED = 1
};

/* --- hosts --- */

static bool host_find(const struct loop_sim *sim, const char *name, size_t length, uint32_t *out)
{
    for (size_t i = 0; i < sim->host_count; i++)
        if (strlen(sim->hosts[i].name) == length && memcmp(sim->hosts[i].name, name, length) == 0) {
            *out = (uint32_t)i;
            return true;
        }
    return false;
}

shoal_status loop_sim_host(struct loop_sim *sim, const char *name, size_t length,
                           uint32_t *out_host)
{
    if (host_find(sim, name, length, out_host))
        return SHOAL_OK;
    void *hosts = sim->hosts;
    if (base_reserve(sim->alloc, &hosts, &sim->host_cap, sim->host_count + 1, sizeof *sim->hosts) !=
        0)
        return SHOAL_E_NOMEM;
    sim->hosts = hosts;
    char *copy = base_malloc(sim->alloc, length + 1);
    if (copy == NULL)
        return SHOAL_E_NOMEM;
    memcpy(copy, name, length);
    copy[length] = '\0';
    *out_host = (uint32_t)sim->host_count;
    sim->hosts[sim->host_count++] = (struct sim_host){.name = copy, .factor = 1};
    return SHOAL_OK;
}

/* Of a call that has no way to fail: a simulation that is out of memory here is over. */
static uint32_t host_named(struct loop_sim *sim, const char *name)
{
    uint32_t host = 0;
    shoal_assert(loop_sim_host(sim, name, strlen(name), &host) == SHOAL_OK);
    return host;
}

static struct loop_sim *world_of(shoal_env *env)
{
    struct loop_sim *sim = loop_sim_find(env);
    shoal_assert(sim != NULL);
    return sim;
}

void env_sim_set_net(shoal_env *env, const struct env_sim_net *net)
{
    world_of(env)->net = *net;
}

static size_t cut_find(const struct loop_sim *sim, uint32_t a, uint32_t b)
{
    size_t i = 0;
    while (i < sim->cut_count && !(sim->cuts[i].a == a && sim->cuts[i].b == b) &&
           !(sim->cuts[i].a == b && sim->cuts[i].b == a))
        i++;
    return i;
}

bool loop_sim_is_cut(const struct loop_sim *sim, uint32_t a, uint32_t b)
{
    return cut_find(sim, a, b) < sim->cut_count;
}

void env_sim_cut(shoal_env *env, const char *host_a, const char *host_b, bool cut)
{
    struct loop_sim *sim = world_of(env);
    uint32_t a = host_named(sim, host_a), b = host_named(sim, host_b);
    size_t at = cut_find(sim, a, b);
    if (cut == (at < sim->cut_count))
        return;
    if (!cut) {
        sim->cuts[at] = sim->cuts[--sim->cut_count];
        loop_sim_healed(sim);
        return;
    }
    void *cuts = sim->cuts;
    shoal_assert(base_reserve(sim->alloc, &cuts, &sim->cut_cap, at + 1, sizeof *sim->cuts) == 0);
    sim->cuts = cuts;
    sim->cuts[sim->cut_count++] = (struct sim_cut){a, b};
}

void env_sim_slow(shoal_env *env, const char *host, double factor)
{
    shoal_assert(factor > 0);
    struct loop_sim *sim = world_of(env);
    sim->hosts[host_named(sim, host)].factor = factor;
}

static uint64_t slowed(const struct sim_loop *loop, uint64_t ns)
{
    double time_ns = (double)ns * loop->sim->hosts[loop->host].factor;
    return time_ns < 1e18 ? (uint64_t)time_ns : (uint64_t)1000000000000000000;
}

/* --- pools --- */

struct job {
    struct job *next;
    uint64_t (*work)(void *ctx, uint32_t thread);
    void (*done)(void *ctx);
    void *ctx;
};

struct worker {
    struct sim_pool *pool;
    struct env_timer event;
    struct job job;
    uint32_t thread;
    bool busy;
};

struct sim_pool {
    struct env_pool pool; /* first */
    struct loop_list in_loop;
    struct job *queue, **queue_end, *spare;
    uint32_t thread_count, idle_count;
    struct worker workers[];
};

static struct sim_loop *pool_loop(const struct sim_pool *pool)
{
    return (struct sim_loop *)pool->pool.loop;
}

static void work_fire(void *ctx);

static void worker_take(struct worker *worker, struct job job)
{
    struct sim_loop *loop = pool_loop(worker->pool);
    worker->job = job;
    worker->busy = true;
    worker->pool->idle_count--;
    uint64_t moment = slowed(loop, loop_sim_moment_ns(loop->sim, WORK_MOMENT_NS));
    loop_sim_at(loop->sim, &worker->event, env_now_ns(loop->sim->env) + moment, work_fire, worker);
}

static void done_fire(void *ctx)
{
    struct worker *worker = ctx;
    struct sim_pool *pool = worker->pool;
    struct job job = worker->job, *next = pool->queue;
    worker->busy = false;
    pool->idle_count++;
    if (next != NULL) {
        pool->queue = next->next;
        if (pool->queue == NULL)
            pool->queue_end = &pool->queue;
        worker_take(worker, *next);
        next->next = pool->spare;
        pool->spare = next;
    }
    loop_sim_note(pool_loop(pool), SIM_DONE, worker->thread);
    job.done(job.ctx);
}

static void work_fire(void *ctx)
{
    struct worker *worker = ctx;
    struct sim_loop *loop = pool_loop(worker->pool);
    loop_sim_note(loop, SIM_WORK, worker->thread);
    uint64_t time_ns = worker->job.work(worker->job.ctx, worker->thread);
    if (!loop->alive)
        return; /* killed in the middle */
    loop_sim_at(loop->sim, &worker->event, env_now_ns(loop->sim->env) + slowed(loop, time_ns),
                done_fire, worker);
}

shoal_status loop_sim_pool_new(struct env_loop *base, uint32_t threads, struct env_pool **out_pool,
                               shoal_err *err)
{
    struct sim_loop *loop = (struct sim_loop *)base;
    if (!loop->alive)
        return base_err(err, SHOAL_E_CANCELLED, "cannot start threads: the process has ended");
    struct sim_pool *pool =
        base_calloc(loop->sim->alloc, 1, sizeof *pool + threads * sizeof pool->workers[0]);
    if (pool == NULL || loop_heap_promise(&loop->sim->heap, threads) != SHOAL_OK) {
        base_free(loop->sim->alloc, pool);
        return base_err_nomem(err, "starting threads");
    }
    pool->pool.loop = base;
    pool->queue_end = &pool->queue;
    pool->thread_count = pool->idle_count = threads;
    for (uint32_t i = 0; i < threads; i++) {
        pool->workers[i].pool = pool;
        pool->workers[i].thread = i;
    }
    loop_list_add(&loop->pools, &pool->in_loop);
    *out_pool = &pool->pool;
    return SHOAL_OK;
}

shoal_status loop_sim_pool_run(struct env_pool *base, uint64_t (*work)(void *ctx, uint32_t thread),
                               void (*done)(void *ctx), void *ctx)
{
    struct sim_pool *pool = (struct sim_pool *)base;
    struct sim_loop *loop = pool_loop(pool);
    struct job job = {.work = work, .done = done, .ctx = ctx};
    if (!loop->alive)
        return SHOAL_OK; /* nobody is there to do it */
    if (pool->idle_count > 0) {
        uint32_t i = 0;
        while (pool->workers[i].busy)
            i++;
        worker_take(&pool->workers[i], job);
        return SHOAL_OK;
    }
    struct job *queued = pool->spare;
    if (queued != NULL)
        pool->spare = queued->next;
    else
        queued = base_malloc(loop->sim->alloc, sizeof *queued);
    if (queued == NULL)
        return SHOAL_E_NOMEM;
    *queued = job;
    *pool->queue_end = queued;
    pool->queue_end = &queued->next;
    return SHOAL_OK;
}

void loop_sim_pool_end(struct loop_list *node)
{
    struct sim_pool *pool = LOOP_OF(struct sim_pool, in_loop, node);
    for (uint32_t i = 0; i < pool->thread_count; i++)
        loop_sim_cancel(pool_loop(pool)->sim, &pool->workers[i].event);
    *pool->queue_end = pool->spare;
    pool->spare = pool->queue;
    pool->queue = NULL;
    pool->queue_end = &pool->queue;
}

void loop_sim_pool_free(struct loop_list *node)
{
    struct sim_pool *pool = LOOP_OF(struct sim_pool, in_loop, node);
    struct loop_sim *sim = pool_loop(pool)->sim;
    loop_sim_pool_end(node);
    while (pool->spare != NULL) {
        struct job *job = pool->spare;
        pool->spare = job->next;
        base_free(sim->alloc, job);
    }
    loop_list_remove(node);
    loop_heap_release(&sim->heap, pool->thread_count);
    base_free(sim->alloc, pool);
}

void loop_sim_pool_close(struct env_pool *pool)
{
    loop_sim_pool_free(&((struct sim_pool *)pool)->in_loop);
}

/* --- children --- */

struct sim_child {
    struct env_child child; /* first */
    struct loop_list in_loop;
    struct env_timer event;
    int64_t pid;
    void (*exited)(void *ctx, int status);
    void *ctx;
    struct env_sim_program program;
    struct env_spawn spawn;   /* its strings are in the same block of memory */
    struct sim_loop *process; /* while it runs */
    bool starting;
    int status;
};

static struct sim_loop *parent_of(const struct sim_child *child)
{
    return (struct sim_loop *)child->child.loop;
}

static void exit_fire(void *ctx)
{
    struct sim_child *child = ctx;
    loop_sim_note(parent_of(child), SIM_EXITED, (uint64_t)child->status);
    child->exited(child->ctx, child->status);
}

void loop_sim_child_exited(struct sim_child *child, int status)
{
    struct sim_loop *parent = parent_of(child);
    child->process = NULL;
    child->starting = false;
    child->status = status;
    if (!parent->alive)
        return;
    uint64_t moment = loop_sim_moment_ns(parent->sim, PROCESS_MOMENT_NS);
    loop_sim_at(parent->sim, &child->event, env_now_ns(parent->sim->env) + moment, exit_fire,
                child);
}

static void start_fire(void *ctx)
{
    struct sim_child *child = ctx;
    struct sim_loop *parent = parent_of(child);
    struct env_loop *made = NULL;
    child->starting = false;
    loop_sim_note(parent, SIM_START, 0);
    void *process =
        child->program.start(child->program.ctx, parent->sim->env,
                             parent->sim->hosts[parent->host].name, &child->spawn, &made);
    if (made == NULL) {
        if (process != NULL)
            child->program.killed(process);
        loop_sim_child_exited(child, STATUS_NOT_STARTED);
        return;
    }
    struct sim_loop *loop = (struct sim_loop *)made;
    loop->killed = child->program.killed;
    loop->process = process;
    loop->has_process = true;
    if (!loop->alive) {
        loop_sim_child_exited(child, STATUS_KILLED);
        return;
    }
    loop->child = child;
    child->process = loop;
}

/* A child with room behind it for its arguments and input, which are copied there. */
static struct sim_child *child_new(struct loop_sim *sim, const struct env_spawn *spawn)
{
    size_t count = 1, size = spawn->input_size;
    while (spawn->argv[count] != NULL)
        count++;
    for (size_t i = 0; i < count; i++)
        size += spawn->argv[i] != NULL ? strlen(spawn->argv[i]) + 1 : 0;
    struct sim_child *child =
        base_calloc(sim->alloc, 1, sizeof *child + (count + 1) * sizeof(char *) + size);
    if (child == NULL)
        return NULL;
    const char **argv = (const char **)(child + 1);
    char *at = (char *)(argv + count + 1);
    for (size_t i = 0; i < count; i++) {
        if (spawn->argv[i] == NULL)
            continue;
        size_t length = strlen(spawn->argv[i]) + 1;
        argv[i] = memcpy(at, spawn->argv[i], length);
        at += length;
    }
    if (spawn->input_size > 0)
        memcpy(at, spawn->input, spawn->input_size);
    child->spawn = *spawn;
    child->spawn.argv = argv;
    child->spawn.input = at;
    return child;
}

shoal_status loop_sim_child_start(struct env_loop *base, const struct env_spawn *spawn,
                                  void (*exited)(void *ctx, int status), void *ctx,
                                  struct env_child **out_child, shoal_err *err)
{
    struct sim_loop *loop = (struct sim_loop *)base;
    struct loop_sim *sim = loop->sim;
    if (!loop->alive)
        return base_err(err, SHOAL_E_CANCELLED, "cannot start a child: the process has ended");
    if (sim->program.start == NULL)
        return base_err(err, SHOAL_E_NOTFOUND, "cannot start a child: no program is set");
    struct sim_child *child = child_new(sim, spawn);
    if (child == NULL || loop_heap_promise(&sim->heap, 1) != SHOAL_OK) {
        base_free(sim->alloc, child);
        return base_err_nomem(err, "starting a child");
    }
    child->child.loop = base;
    child->pid = (int64_t)++sim->pids_made;
    child->exited = exited;
    child->ctx = ctx;
    child->program = sim->program;
    child->starting = true;
    loop_list_add(&loop->children, &child->in_loop);
    uint64_t moment = loop_sim_moment_ns(sim, PROCESS_MOMENT_NS);
    loop_sim_at(sim, &child->event, env_now_ns(sim->env) + moment, start_fire, child);
    *out_child = &child->child;
    return SHOAL_OK;
}

void env_sim_set_program(shoal_env *env, const struct env_sim_program *program)
{
    world_of(env)->program = *program;
}

int64_t loop_sim_child_pid(const struct env_child *child)
{
    return ((const struct sim_child *)child)->pid;
}

void loop_sim_child_kill(struct env_child *base)
{
    struct sim_child *child = (struct sim_child *)base;
    struct loop_sim *sim = parent_of(child)->sim;
    if (child->process != NULL) {
        loop_sim_end(child->process, STATUS_KILLED);
        loop_sim_bury(sim);
    } else if (child->starting) {
        loop_sim_child_exited(child, STATUS_KILLED);
    }
}

/* Its parent is gone or does not care any more: it dies, and nobody is told. */
void loop_sim_child_end(struct loop_list *node)
{
    struct sim_child *child = LOOP_OF(struct sim_child, in_loop, node);
    struct sim_loop *process = child->process;
    loop_sim_cancel(parent_of(child)->sim, &child->event);
    child->process = NULL;
    child->starting = false;
    if (process == NULL)
        return;
    process->child = NULL;
    loop_sim_end(process, STATUS_KILLED);
}

void loop_sim_child_free(struct loop_list *node)
{
    struct sim_child *child = LOOP_OF(struct sim_child, in_loop, node);
    struct loop_sim *sim = parent_of(child)->sim;
    loop_sim_child_end(node);
    loop_list_remove(node);
    loop_heap_release(&sim->heap, 1);
    base_free(sim->alloc, child);
}

void loop_sim_child_close(struct env_child *base)
{
    struct sim_child *child = (struct sim_child *)base;
    struct loop_sim *sim = parent_of(child)->sim;
    loop_sim_child_free(&child->in_loop);
    loop_sim_bury(sim);
}

/* --- shared memory --- */

struct sim_shared {
    void *base;
    size_t size;
    uint64_t ref_count; /* 0: it is gone, and its handle is not used again */
};

static struct sim_shared *shared_find(struct loop_sim *sim, int64_t handle)
{
    if (handle < 1 || (uint64_t)handle > sim->shared_count)
        return NULL;
    struct sim_shared *shared = &sim->shared[handle - 1];
    return shared->ref_count > 0 ? shared : NULL;
}

shoal_status loop_sim_shared_new(shoal_env *env, size_t size, struct env_shared *out,
                                 shoal_err *err)
{
    struct loop_sim *sim = loop_sim_find(env);
    if (sim == NULL)
        return base_err_nomem(err, "making shared memory");
    void *all = sim->shared;
    if (base_reserve(sim->alloc, &all, &sim->shared_cap, sim->shared_count + 1,
                     sizeof *sim->shared) != 0)
        return base_err_nomem(err, "making shared memory");
    sim->shared = all;
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return base_err_nomem(err, "making shared memory");
    sim->shared[sim->shared_count++] =
        (struct sim_shared){.base = base, .size = size, .ref_count = 1};
    *out = (struct env_shared){.base = base, .size = size, .handle = (int64_t)sim->shared_count};
    return SHOAL_OK;
}

shoal_status loop_sim_shared_open(shoal_env *env, int64_t handle, size_t size,
                                  struct env_shared *out, shoal_err *err)
{
    struct loop_sim *sim = loop_sim_find(env);
    struct sim_shared *shared = sim == NULL ? NULL : shared_find(sim, handle);
    if (shared == NULL)
        return base_err(err, SHOAL_E_NOTFOUND, "cannot open shared memory %lld: it is gone",
                        (long long)handle);
    if (size > shared->size)
        return base_err(err, SHOAL_E_INVAL,
                        "cannot open shared memory: %zu bytes asked for, it has %zu", size,
                        shared->size);
    shared->ref_count++;
    *out = (struct env_shared){.base = shared->base, .size = size, .handle = handle};
    return SHOAL_OK;
}

void loop_sim_shared_drop(shoal_env *env, const struct env_shared *shared, size_t offset,
                          size_t size)
{
    (void)env;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t end = offset + size;
    size_t first = (offset + page - 1) / page * page, last = end / page * page;
    if (first >= last) {
        memset(shared->base + offset, 0, size);
        return;
    }
    memset(shared->base + offset, 0, first - offset);
    memset(shared->base + last, 0, end - last);
    shoal_assert(madvise(shared->base + first, last - first, MADV_DONTNEED) == 0);
}

void loop_sim_shared_close(shoal_env *env, struct env_shared *handle)
{
    struct sim_shared *shared = shared_find(world_of(env), handle->handle);
    shoal_assert(shared != NULL && shared->base == handle->base);
    if (--shared->ref_count == 0)
        shoal_assert(munmap(shared->base, shared->size) == 0);
}

void loop_sim_host_fini(struct loop_sim *sim)
{
    for (size_t i = 0; i < sim->shared_count; i++)
        if (sim->shared[i].ref_count > 0)
            shoal_assert(munmap(sim->shared[i].base, sim->shared[i].size) == 0);
    for (size_t i = 0; i < sim->host_count; i++)
        base_free(sim->alloc, sim->hosts[i].name);
    base_free(sim->alloc, sim->shared);
    base_free(sim->alloc, sim->hosts);
    base_free(sim->alloc, sim->cuts);
}
