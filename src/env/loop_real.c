/* loop_real.c - the loop of a real process: epoll, timers and posts.
 *
 * One turn: due timers, engines (engine.h), then what epoll has, then posts. A timer or post that
 * is made in a turn runs in the next one at the earliest, so none of the three can starve the
 * others. The wait for epoll ends at the next timer, exactly where the kernel has epoll_pwait2 and
 * a millisecond late at most where not.
 *
 * Posts come from any thread through a list under a lock. The loop says under the lock that it goes
 * to sleep, so that only the first post to a sleeping loop pays for a wake-up (an eventfd).
 *
 * Tests: tests/unit/env/test_loop_real_proc.c. */
#include "env/loop_real.h"

#include "base/assert.h"
#include "base/err.h"
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct real_loop *loop_of(struct env_loop *loop)
{
    return (struct real_loop *)loop;
}

void loop_real_close(int fd)
{
    int code = errno;
    if (fd >= 0)
        (void)close(fd); /* after EINTR it is closed too */
    errno = code;
}

/* --- sources --- */

int loop_real_watch(struct real_loop *loop, struct real_source *source, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = source};
    return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, source->fd, &event);
}

void loop_real_rewatch(struct real_loop *loop, struct real_source *source, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = source};
    shoal_assert(epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, source->fd, &event) == 0);
}

void loop_real_unwatch(struct real_loop *loop, struct real_source *source)
{
    shoal_assert(epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL) == 0);
    for (int i = loop->batch_at; i < loop->batch_count; i++)
        if (loop->batch[i].data.ptr == source)
            loop->batch[i].data.ptr = NULL;
}

static void wake_ready(struct real_source *source, uint32_t events)
{
    (void)events;
    uint64_t count = 0;
    while (read(source->fd, &count, sizeof count) < 0 && errno == EINTR)
        ;
}

/* --- timers --- */

static void timer_set(struct real_loop *loop, struct env_timer *timer, uint64_t delay_ns,
                      void (*fn)(void *ctx), void *ctx)
{
    uint64_t now = env_now_ns(loop->loop.env);
    timer->fn = fn;
    timer->ctx = ctx;
    timer->due_ns = delay_ns > UINT64_MAX - now ? UINT64_MAX : now + delay_ns;
    loop_heap_put(&loop->timers, timer);
}

void loop_real_timer_set(struct real_loop *loop, struct env_timer *timer, uint64_t delay_ns,
                         void (*fn)(void *ctx), void *ctx)
{
    timer->loop = NULL; /* ours: its place stays promised when it has run */
    timer_set(loop, timer, delay_ns, fn, ctx);
}

static shoal_status real_timer_start(struct env_loop *base, struct env_timer *timer,
                                     uint64_t delay_ns, void (*fn)(void *ctx), void *ctx)
{
    struct real_loop *loop = loop_of(base);
    if (timer->place == 0 && loop_heap_promise(&loop->timers, 1) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    timer->loop = base;
    timer_set(loop, timer, delay_ns, fn, ctx);
    return SHOAL_OK;
}

static void real_timer_stop(struct env_timer *timer)
{
    struct real_loop *loop = loop_of(timer->loop);
    loop_heap_remove(&loop->timers, timer);
    loop_heap_release(&loop->timers, 1);
}

/* Those that are due and were started before this turn. */
static void run_timers(struct real_loop *loop)
{
    uint64_t started = loop->timers.started, now = env_now_ns(loop->loop.env);
    for (;;) {
        struct env_timer *timer = loop_heap_top(&loop->timers);
        if (timer == NULL || timer->due_ns > now || timer->order >= started)
            return;
        loop_heap_remove(&loop->timers, timer);
        if (timer->loop != NULL)
            loop_heap_release(&loop->timers, 1);
        timer->fn(timer->ctx);
    }
}

/* --- posts --- */

struct user_post {
    struct real_post post; /* first */
    const struct base_alloc *alloc;
    void (*fn)(void *ctx);
    void *ctx;
};

static void lock(struct real_loop *loop)
{
    shoal_assert(pthread_mutex_lock(&loop->posts_lock) == 0);
}

static void unlock(struct real_loop *loop)
{
    shoal_assert(pthread_mutex_unlock(&loop->posts_lock) == 0);
}

static void wake(struct real_loop *loop)
{
    const uint64_t one = 1;
    while (write(loop->wake.fd, &one, sizeof one) < 0 && errno == EINTR)
        ; /* EAGAIN: it is awake for good */
}

/* The wake-up is inside the lock, so that a loop that is freed after the post ran is not woken. */
void loop_real_post(struct real_loop *loop, struct real_post *post)
{
    lock(loop);
    post->next = NULL;
    *loop->posts.end = post;
    loop->posts.end = &post->next;
    if (loop->asleep) {
        loop->asleep = false;
        wake(loop);
    }
    unlock(loop);
}

static void user_post_run(struct real_post *base)
{
    struct user_post *post = (struct user_post *)base;
    void (*fn)(void *) = post->fn;
    void *ctx = post->ctx;
    base_free(post->alloc, post);
    fn(ctx);
}

static shoal_status real_loop_post(struct env_loop *base, void (*fn)(void *ctx), void *ctx)
{
    struct real_loop *loop = loop_of(base);
    struct user_post *post = base_malloc(loop->alloc, sizeof *post);
    if (post == NULL)
        return SHOAL_E_NOMEM;
    *post =
        (struct user_post){.post.fn = user_post_run, .alloc = loop->alloc, .fn = fn, .ctx = ctx};
    loop_real_post(loop, &post->post);
    return SHOAL_OK;
}

static struct real_post *pop(struct real_posts *posts)
{
    struct real_post *post = posts->head;
    if (post == NULL)
        return NULL;
    posts->head = post->next;
    if (posts->head == NULL)
        posts->end = &posts->head;
    return post;
}

static void run_posts(struct real_loop *loop)
{
    lock(loop);
    loop->asleep = false;
    if (loop->posts.head != NULL) {
        *loop->taken.end = loop->posts.head;
        loop->taken.end = loop->posts.end;
        loop->posts = (struct real_posts){.end = &loop->posts.head};
    }
    unlock(loop);
    for (struct real_post *post = pop(&loop->taken); post != NULL; post = pop(&loop->taken))
        post->fn(post);
}

static void filter(struct real_posts *posts, bool (*mine)(struct real_post *post, void *ctx),
                   void *ctx)
{
    struct real_post **at = &posts->head;
    while (*at != NULL) {
        struct real_post *post = *at, *next = post->next;
        if (mine(post, ctx))
            *at = next; /* the post may be freed */
        else
            at = &post->next;
    }
    posts->end = at;
}

void loop_real_unpost(struct real_loop *loop, bool (*mine)(struct real_post *post, void *ctx),
                      void *ctx)
{
    lock(loop);
    filter(&loop->posts, mine, ctx);
    unlock(loop);
    filter(&loop->taken, mine, ctx);
}

/* --- turns --- */

static int wait_ms(struct real_loop *loop, uint64_t wait_ns)
{
    int limit = -1;
    if (wait_ns != UINT64_MAX) {
        uint64_t ms = wait_ns / 1000000 + (wait_ns % 1000000 != 0);
        limit = ms > 3600000 ? 3600000 : (int)ms;
    }
    return epoll_wait(loop->epoll_fd, loop->batch, REAL_BATCH, limit);
}

static int wait_events(struct real_loop *loop, uint64_t wait_ns)
{
    if (loop->pwait2_missing)
        return wait_ms(loop, wait_ns);
    struct timespec limit = {.tv_sec = (time_t)(wait_ns / 1000000000),
                             .tv_nsec = (long)(wait_ns % 1000000000)};
    int count = epoll_pwait2(loop->epoll_fd, loop->batch, REAL_BATCH,
                             wait_ns == UINT64_MAX ? NULL : &limit, NULL);
    if (count < 0 && (errno == ENOSYS || errno == EPERM)) {
        loop->pwait2_missing = true;
        return wait_ms(loop, wait_ns);
    }
    return count;
}

/* How long nothing is to be done but by others; 0 when there are posts. Says that it sleeps. */
static uint64_t sleep_ns(struct real_loop *loop)
{
    const struct env_timer *timer = loop_heap_top(&loop->timers);
    uint64_t now = env_now_ns(loop->loop.env), wait = UINT64_MAX;
    if (timer != NULL)
        wait = timer->due_ns > now ? timer->due_ns - now : 0;
    lock(loop);
    if (loop->posts.head != NULL || atomic_load_explicit(&loop->stopping, memory_order_relaxed))
        wait = 0;
    loop->asleep = wait > 0;
    unlock(loop);
    return wait;
}

static shoal_status turn(struct real_loop *loop, shoal_err *err)
{
    run_timers(loop);
    bool may_sleep = loop_real_engines_prepare(loop);
    uint64_t wait_ns = sleep_ns(loop);
    int count = wait_events(loop, may_sleep ? wait_ns : 0);
    if (count < 0 && errno != EINTR) {
        char text[128];
        return base_err(err, env_real_status(errno), "cannot wait for events: %s",
                        env_real_reason(errno, text, sizeof text));
    }
    loop->batch_count = count < 0 ? 0 : count;
    for (loop->batch_at = 0; loop->batch_at < loop->batch_count;) {
        const struct epoll_event *event = &loop->batch[loop->batch_at++];
        struct real_source *source = event->data.ptr;
        if (source != NULL)
            source->ready(source, event->events);
    }
    loop->batch_at = loop->batch_count = 0;
    run_posts(loop);
    return SHOAL_OK;
}

static shoal_status real_run(struct env_loop *base, shoal_err *err)
{
    struct real_loop *loop = loop_of(base);
    shoal_status st = SHOAL_OK;
    shoal_assert(!loop->running);
    loop->running = true;
    while (st == SHOAL_OK && !atomic_load_explicit(&loop->stopping, memory_order_acquire))
        st = turn(loop, err);
    atomic_store_explicit(&loop->stopping, false, memory_order_relaxed);
    loop->running = false;
    return st;
}

static void real_stop(struct env_loop *base)
{
    struct real_loop *loop = loop_of(base);
    lock(loop);
    atomic_store_explicit(&loop->stopping, true, memory_order_release);
    if (loop->asleep) {
        loop->asleep = false;
        wake(loop);
    }
    unlock(loop);
}

/* --- birth and death --- */

static bool is_users(struct real_post *base, void *ctx)
{
    (void)ctx;
    if (base->fn != user_post_run)
        return false;
    base_free(((struct user_post *)base)->alloc, base);
    return true;
}

static void each(struct loop_list *list, void (*fn)(struct loop_list *node))
{
    while (list->next != list)
        fn(list->next);
}

static void real_loop_free(struct env_loop *base)
{
    struct real_loop *loop = loop_of(base);
    shoal_assert(!loop->running);
    each(&loop->pools, loop_real_pool_free);
    each(&loop->children, loop_real_child_free);
    each(&loop->conns, loop_real_conn_free);
    each(&loop->listeners, loop_real_listener_free);
    loop_real_unpost(loop, is_users, NULL);
    loop_real_blocks_fini(loop);
    loop_heap_fini(&loop->timers);
    loop_real_close(loop->wake.fd);
    loop_real_close(loop->epoll_fd);
    lock(loop); /* the last to post may still be inside */
    unlock(loop);
    shoal_assert(pthread_mutex_destroy(&loop->posts_lock) == 0);
    base_free(loop->alloc, loop);
}

static shoal_status real_loop_new(shoal_env *env, const char *host, struct env_loop **out_loop,
                                  shoal_err *err)
{
    (void)host;
    struct real_loop *loop = base_calloc(env->alloc, 1, sizeof *loop);
    if (loop == NULL || pthread_mutex_init(&loop->posts_lock, NULL) != 0) {
        base_free(env->alloc, loop);
        return base_err_nomem(err, "starting a loop");
    }
    loop->loop = (struct env_loop){.ops = &env_loop_ops_real, .env = env};
    loop->alloc = env->alloc;
    loop->posts.end = &loop->posts.head;
    loop->taken.end = &loop->taken.head;
    loop_heap_init(&loop->timers, env->alloc);
    loop_list_init(&loop->conns);
    loop_list_init(&loop->listeners);
    loop_list_init(&loop->pools);
    loop_list_init(&loop->children);
    loop_list_init(&loop->engines);
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->wake =
        (struct real_source){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .ready = wake_ready};
    if (loop->epoll_fd < 0 || loop->wake.fd < 0 ||
        loop_real_watch(loop, &loop->wake, EPOLLIN) != 0) {
        int code = errno;
        char text[128];
        real_loop_free(&loop->loop);
        return base_err(err, env_real_status(code), "cannot start a loop: %s",
                        env_real_reason(code, text, sizeof text));
    }
    *out_loop = &loop->loop;
    return SHOAL_OK;
}

const struct env_loop_ops env_loop_ops_real = {
    .loop_new = real_loop_new,
    .loop_free = real_loop_free,
    .run = real_run,
    .stop = real_stop,
    .post = real_loop_post,
    .timer_start = real_timer_start,
    .timer_stop = real_timer_stop,
    .listen = loop_real_listen,
    .listener_address = loop_real_listener_address,
    .listener_close = loop_real_listener_close,
    .connect = loop_real_connect,
    .conn_set = loop_real_conn_set,
    .conn_send = loop_real_conn_send,
    .conn_into = loop_real_conn_into,
    .conn_limit = loop_real_conn_limit,
    .conn_queued = loop_real_conn_queued,
    .conn_address = loop_real_conn_address,
    .conn_close = loop_real_conn_close,
    .pool_new = loop_real_pool_new,
    .pool_run = loop_real_pool_run,
    .pool_free = loop_real_pool_close,
    .shared_new = loop_real_shared_new,
    .shared_open = loop_real_shared_open,
    .shared_back = loop_real_shared_back,
    .shared_drop = loop_real_shared_drop,
    .shared_close = loop_real_shared_close,
    .child_start = loop_real_child_start,
    .child_pid = loop_real_child_pid,
    .child_kill = loop_real_child_kill,
    .child_free = loop_real_child_close,
};
