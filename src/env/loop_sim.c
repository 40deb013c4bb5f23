/* loop_sim.c - a cluster in one thread: its events, its processes, and their end.
 *
 * Time: the clock of the env, moved to each event as it runs, never back (env_sim_advance may have
 * moved it on: events that are past due then run late, in their order). Events at one time run in
 * the order they were set. What a process does costs no virtual time; only work of pools does.
 *
 * A process ends in two steps. loop_sim_end makes it silent: timers, posts, links, work and
 * children go at once. Its state is freed after the current callback (bury), by the `killed` of the
 * program that made it, which also frees the loop; a process made by env_loop_new is freed by its
 * maker.
 *
 * Random draws: env.net.delay, .drop, .duplicate, .reorder, and env.moment (when work, children and
 * exits happen). A probability of 0 draws nothing, so a fault that is off moves no other.
 *
 * Cost: one heap operation or two per event; chunks, posts and jobs come from free lists. Tests:
 * tests/unit/env/test_loop_sim.c, test_loop_sim_proc.c. */
#include "env/loop_sim.h"

#include "base/assert.h"
#include "base/err.h"
#include <math.h>
#include <string.h>

struct sim_post {
    struct sim_post *next;
    void (*fn)(void *ctx);
    void *ctx;
};

/* --- the world --- */

static struct loop_sim *world_new(shoal_env *env, const struct base_alloc *alloc)
{
    struct loop_sim *sim = base_calloc(alloc, 1, sizeof *sim);
    if (sim == NULL)
        return NULL;
    sim->env = env;
    sim->alloc = alloc;
    loop_heap_init(&sim->heap, alloc);
    loop_list_init(&sim->loops);
    loop_list_init(&sim->ended);
    loop_list_init(&sim->links);
    env_rand(env, "env.net.delay", &sim->delays);
    env_rand(env, "env.net.drop", &sim->drops);
    env_rand(env, "env.net.duplicate", &sim->duplicates);
    env_rand(env, "env.net.reorder", &sim->reorders);
    env_rand(env, "env.moment", &sim->moments);
    return sim;
}

struct loop_sim *loop_sim_find(shoal_env *env)
{
    const struct base_alloc *alloc = NULL;
    struct loop_sim **slot = env_sim_loops(env, &alloc);
    if (*slot == NULL)
        *slot = world_new(env, alloc);
    return *slot;
}

/* Children that still run are killed, so that their programs free what they hold; loops whose maker
 * forgot them go too. */
void loop_sim_free(struct loop_sim *sim)
{
    if (sim == NULL)
        return;
    shoal_assert(sim->depth == 0);
    for (;;) {
        struct sim_loop *found = NULL;
        for (struct loop_list *n = sim->loops.next; n != &sim->loops && found == NULL; n = n->next)
            if (LOOP_OF(struct sim_loop, in_sim, n)->has_process)
                found = LOOP_OF(struct sim_loop, in_sim, n);
        if (found == NULL)
            break;
        env_sim_kill(&found->loop);
    }
    while (sim->loops.next != &sim->loops)
        env_loop_free(&LOOP_OF(struct sim_loop, in_sim, sim->loops.next)->loop);
    loop_sim_link_fini(sim);
    loop_sim_host_fini(sim);
    while (sim->free_posts != NULL) {
        struct sim_post *post = sim->free_posts;
        sim->free_posts = post->next;
        base_free(sim->alloc, post);
    }
    loop_heap_fini(&sim->heap);
    base_free(sim->alloc, sim);
}

/* --- events --- */

void loop_sim_at(struct loop_sim *sim, struct env_timer *event, uint64_t due_ns,
                 void (*fn)(void *ctx), void *ctx)
{
    event->fn = fn;
    event->ctx = ctx;
    event->due_ns = due_ns;
    loop_heap_put(&sim->heap, event);
}

void loop_sim_cancel(struct loop_sim *sim, struct env_timer *event)
{
    loop_heap_remove(&sim->heap, event);
}

static uint64_t mixed(uint64_t hash, uint64_t value)
{
    hash ^= value + 0x9E3779B97F4A7C15u + (hash << 6) + (hash >> 2);
    hash *= 0xFF51AFD7ED558CCDu;
    return hash ^ (hash >> 32);
}

void loop_sim_note(struct sim_loop *loop, enum sim_kind kind, uint64_t detail)
{
    struct loop_sim *sim = loop->sim;
    uint64_t hash = mixed(sim->hash, env_now_ns(sim->env));
    hash = mixed(hash, loop->id);
    sim->hash = mixed(hash, (detail << 8) | (uint64_t)kind);
}

static uint64_t exponential_ns(struct base_rand *stream, double mean_ns)
{
    if (!(mean_ns > 0))
        return 0;
    double ns = base_rand_exp(stream, mean_ns);
    return ns < 1e18 ? (uint64_t)ns : (uint64_t)1000000000000000000;
}

uint64_t loop_sim_delay_ns(struct loop_sim *sim)
{
    return exponential_ns(&sim->delays, sim->net.delay_mean_s * 1e9);
}

uint64_t loop_sim_moment_ns(struct loop_sim *sim, double mean_ns)
{
    return exponential_ns(&sim->moments, mean_ns);
}

/* Ends what asked to stop, and lets programs free their dead. They may kill and free others. */
static void bury(struct loop_sim *sim)
{
    while (sim->ended.next != &sim->ended) {
        struct sim_loop *loop = LOOP_OF(struct sim_loop, in_ended, sim->ended.next);
        loop_list_remove(&loop->in_ended);
        if (loop->alive) {
            loop_sim_end(loop, 0);
            continue; /* it is at the end of the list again */
        }
        if (!loop->has_process)
            continue;
        loop->has_process = false;
        loop_sim_note(loop, SIM_KILLED, 0);
        loop->killed(loop->process);
    }
}

static void run_event(struct loop_sim *sim, struct env_timer *event)
{
    uint64_t now = env_now_ns(sim->env);
    if (event->due_ns > now)
        env_sim_advance(sim->env, event->due_ns - now);
    loop_heap_remove(&sim->heap, event);
    sim->depth++;
    if (event->loop != NULL) {
        loop_heap_release(&sim->heap, 1);
        loop_sim_note((struct sim_loop *)event->loop, SIM_TIMER, 0);
    }
    event->fn(event->ctx);
    bury(sim);
    sim->depth--;
}

uint64_t env_sim_run(shoal_env *env, uint64_t until_ns, bool (*stop)(void *ctx), void *ctx)
{
    struct loop_sim *sim = loop_sim_find(env);
    if (sim == NULL)
        return 0;
    shoal_assert(sim->depth == 0);
    for (uint64_t count = 0;;) {
        struct env_timer *event = loop_heap_top(&sim->heap);
        if (event == NULL)
            return count;
        if (event->due_ns > until_ns) {
            uint64_t now = env_now_ns(env);
            if (until_ns > now)
                env_sim_advance(env, until_ns - now);
            return count;
        }
        run_event(sim, event);
        count++;
        if (stop != NULL && stop(ctx))
            return count;
    }
}

uint64_t env_sim_hash(const shoal_env *env)
{
    const struct base_alloc *alloc = NULL;
    struct loop_sim *sim = *env_sim_loops(env, &alloc);
    return sim == NULL ? 0 : sim->hash;
}

/* --- processes --- */

static struct sim_loop *loop_of(struct env_loop *loop)
{
    return (struct sim_loop *)loop;
}

static void loop_init(struct sim_loop *loop, struct loop_sim *sim, uint32_t host)
{
    loop->loop = (struct env_loop){.ops = &env_loop_ops_sim, .env = sim->env};
    loop->sim = sim;
    loop->id = ++sim->loops_made;
    loop->host = host;
    loop->alive = true;
    loop->posts_end = &loop->posts;
    loop_list_init(&loop->in_ended);
    loop_list_init(&loop->conns);
    loop_list_init(&loop->listeners);
    loop_list_init(&loop->pools);
    loop_list_init(&loop->children);
    loop_list_add(&sim->loops, &loop->in_sim);
}

static shoal_status sim_loop_new(shoal_env *env, const char *host, struct env_loop **out_loop,
                                 shoal_err *err)
{
    if (host == NULL || host[0] == '\0' || strchr(host, ':') != NULL)
        return base_err(err, SHOAL_E_INVAL, "a simulated process needs a host's name");
    struct loop_sim *sim = loop_sim_find(env);
    if (sim == NULL)
        return base_err_nomem(err, "starting a process");
    uint32_t place = 0;
    struct sim_loop *loop = base_calloc(sim->alloc, 1, sizeof *loop);
    if (loop == NULL || loop_sim_host(sim, host, strlen(host), &place) != SHOAL_OK ||
        loop_heap_promise(&sim->heap, 1) != SHOAL_OK) {
        base_free(sim->alloc, loop);
        return base_err_nomem(err, "starting a process");
    }
    loop_init(loop, sim, place);
    *out_loop = &loop->loop;
    return SHOAL_OK;
}

static void each(struct loop_list *list, void (*fn)(struct loop_list *node))
{
    for (struct loop_list *node = list->next, *next = NULL; node != list; node = next) {
        next = node->next;
        fn(node);
    }
}

static void drop_posts(struct sim_loop *loop)
{
    loop_sim_cancel(loop->sim, &loop->post_event);
    *loop->posts_end = loop->sim->free_posts;
    loop->sim->free_posts = loop->posts;
    loop->posts = NULL;
    loop->posts_end = &loop->posts;
}

/* Timers are their owner's memory, in no list: they are found in the heap. Going from the end, what
 * fills a gap was looked at already, but its parent may have come down into the gap: look again. */
static void drop_timers(struct sim_loop *loop)
{
    struct loop_heap *heap = &loop->sim->heap;
    for (size_t i = heap->count; i-- > 0;) {
        if (i >= heap->count || heap->items[i].timer->loop != &loop->loop)
            continue;
        loop_heap_remove(heap, heap->items[i].timer);
        loop_heap_release(&loop->sim->heap, 1);
        i++;
    }
}

void loop_sim_end(struct sim_loop *loop, int status)
{
    if (!loop->alive)
        return;
    struct loop_sim *sim = loop->sim;
    loop->alive = false;
    drop_timers(loop);
    drop_posts(loop);
    each(&loop->conns, loop_sim_conn_end);
    each(&loop->pools, loop_sim_pool_end);
    each(&loop->children, loop_sim_child_end);
    if (loop->child != NULL)
        loop_sim_child_exited(loop->child, status);
    loop->child = NULL;
    loop_list_remove(&loop->in_ended);
    loop_list_add(&sim->ended, &loop->in_ended);
}

/* Outside of callbacks there is nothing to wait for. */
void loop_sim_bury(struct loop_sim *sim)
{
    if (sim->depth > 0)
        return;
    sim->depth++;
    bury(sim);
    sim->depth--;
}

void env_sim_kill(struct env_loop *loop)
{
    struct loop_sim *sim = loop_of(loop)->sim;
    loop_sim_end(loop_of(loop), 128 + 9);
    loop_sim_bury(sim);
}

bool env_sim_alive(const struct env_loop *loop)
{
    const struct sim_loop *process = (const struct sim_loop *)loop;
    return process->alive && !process->ending;
}

static void sim_loop_free(struct env_loop *base)
{
    struct sim_loop *loop = loop_of(base);
    struct loop_sim *sim = loop->sim;
    loop->has_process = false;
    loop_sim_end(loop, 0);
    loop_list_remove(&loop->in_ended);
    each(&loop->conns, loop_sim_conn_free);
    each(&loop->listeners, loop_sim_listener_free);
    each(&loop->pools, loop_sim_pool_free);
    each(&loop->children, loop_sim_child_free);
    loop_list_remove(&loop->in_sim);
    loop_heap_release(&sim->heap, 1);
    base_free(sim->alloc, loop);
    loop_sim_bury(sim);
}

static shoal_status sim_run(struct env_loop *loop, shoal_err *err)
{
    (void)loop;
    return base_err(err, SHOAL_E_INVAL, "a simulated process runs in env_sim_run");
}

/* As main returning does, after the current callback. */
static void sim_stop(struct env_loop *base)
{
    struct sim_loop *loop = loop_of(base);
    if (!loop->alive || loop->ending)
        return;
    loop->ending = true;
    loop_list_add(&loop->sim->ended, &loop->in_ended);
    loop_sim_bury(loop->sim);
}

/* --- posts and timers --- */

static void post_fire(void *ctx)
{
    struct sim_loop *loop = ctx;
    struct loop_sim *sim = loop->sim;
    struct sim_post *post = loop->posts;
    loop->posts = post->next;
    if (loop->posts == NULL)
        loop->posts_end = &loop->posts;
    else
        loop_sim_at(sim, &loop->post_event, env_now_ns(sim->env), post_fire, loop);
    void (*fn)(void *) = post->fn;
    void *fn_ctx = post->ctx;
    post->next = sim->free_posts;
    sim->free_posts = post;
    loop_sim_note(loop, SIM_POST, 0);
    fn(fn_ctx);
}

static shoal_status sim_post(struct env_loop *base, void (*fn)(void *ctx), void *ctx)
{
    struct sim_loop *loop = loop_of(base);
    struct loop_sim *sim = loop->sim;
    if (!loop->alive)
        return SHOAL_OK; /* nobody is there to run it */
    struct sim_post *post = sim->free_posts;
    if (post != NULL)
        sim->free_posts = post->next;
    else
        post = base_malloc(sim->alloc, sizeof *post);
    if (post == NULL)
        return SHOAL_E_NOMEM;
    *post = (struct sim_post){.fn = fn, .ctx = ctx};
    *loop->posts_end = post;
    loop->posts_end = &post->next;
    if (loop->post_event.place == 0)
        loop_sim_at(sim, &loop->post_event, env_now_ns(sim->env), post_fire, loop);
    return SHOAL_OK;
}

static shoal_status sim_timer_start(struct env_loop *base, struct env_timer *timer,
                                    uint64_t delay_ns, void (*fn)(void *ctx), void *ctx)
{
    struct sim_loop *loop = loop_of(base);
    if (!loop->alive)
        return SHOAL_OK;
    if (timer->place == 0 && loop_heap_promise(&loop->sim->heap, 1) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    uint64_t now = env_now_ns(loop->sim->env);
    timer->loop = base;
    loop_sim_at(loop->sim, timer, delay_ns > UINT64_MAX - now ? UINT64_MAX : now + delay_ns, fn,
                ctx);
    return SHOAL_OK;
}

static void sim_timer_stop(struct env_timer *timer)
{
    struct loop_sim *sim = loop_of(timer->loop)->sim;
    loop_sim_cancel(sim, timer);
    loop_heap_release(&sim->heap, 1);
}

const struct env_loop_ops env_loop_ops_sim = {
    .loop_new = sim_loop_new,
    .loop_free = sim_loop_free,
    .run = sim_run,
    .stop = sim_stop,
    .post = sim_post,
    .timer_start = sim_timer_start,
    .timer_stop = sim_timer_stop,
    .listen = loop_sim_listen,
    .listener_address = loop_sim_listener_address,
    .listener_close = loop_sim_listener_close,
    .connect = loop_sim_connect,
    .conn_set = loop_sim_conn_set,
    .conn_send = loop_sim_conn_send,
    .conn_limit = loop_sim_conn_limit,
    .conn_queued = loop_sim_conn_queued,
    .conn_address = loop_sim_conn_address,
    .conn_close = loop_sim_conn_close,
    .pool_new = loop_sim_pool_new,
    .pool_run = loop_sim_pool_run,
    .pool_free = loop_sim_pool_close,
    .shared_new = loop_sim_shared_new,
    .shared_open = loop_sim_shared_open,
    .shared_drop = loop_sim_shared_drop,
    .shared_close = loop_sim_shared_close,
    .child_start = loop_sim_child_start,
    .child_pid = loop_sim_child_pid,
    .child_kill = loop_sim_child_kill,
    .child_free = loop_sim_child_close,
};
