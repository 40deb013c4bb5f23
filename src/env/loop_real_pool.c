/* loop_real_pool.c - threads that do work for a loop.
 *
 * Work waits in one list, first in, first out, under the pool's lock; finished work goes to the
 * loop as a post that is part of the job, so nothing is allocated on the way back. Jobs come from a
 * free list that only the loop thread touches. Signals are left to the other threads. Tests:
 * tests/unit/env/test_loop_real_proc.c. */
#include "env/loop_real.h"

#include "base/assert.h"
#include "base/err.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>

struct job {
    struct real_post post; /* first; its `next` is the list's while it waits */
    struct real_pool *pool;
    uint64_t (*work)(void *ctx, uint32_t thread);
    void (*done)(void *ctx);
    void *ctx;
};

struct worker {
    struct real_pool *pool;
    uint32_t thread;
    pthread_t id;
};

struct real_pool {
    struct env_pool pool; /* first */
    struct loop_list in_loop;
    struct real_post *spare; /* jobs; the loop thread's */
    uint32_t thread_count;

    pthread_mutex_t lock; /* guards the next four */
    pthread_cond_t more;
    struct real_posts waiting;
    uint32_t idle_count;
    bool ending;

    struct worker workers[];
};

static struct real_loop *loop_of(const struct real_pool *pool)
{
    return (struct real_loop *)pool->pool.loop;
}

static void job_finished(struct real_post *post)
{
    struct job *job = (struct job *)post;
    void (*done)(void *) = job->done;
    void *ctx = job->ctx;
    post->next = job->pool->spare;
    job->pool->spare = post;
    done(ctx);
}

/* The next job, waiting for it; NULL when the pool ends. */
static struct job *take(struct real_pool *pool)
{
    shoal_assert(pthread_mutex_lock(&pool->lock) == 0);
    while (pool->waiting.head == NULL && !pool->ending) {
        pool->idle_count++;
        shoal_assert(pthread_cond_wait(&pool->more, &pool->lock) == 0);
        pool->idle_count--;
    }
    struct real_post *post = pool->ending ? NULL : pool->waiting.head;
    if (post != NULL) {
        pool->waiting.head = post->next;
        if (post->next == NULL)
            pool->waiting.end = &pool->waiting.head;
    }
    shoal_assert(pthread_mutex_unlock(&pool->lock) == 0);
    return (struct job *)post;
}

static void *worker_main(void *arg)
{
    const struct worker *worker = arg;
    struct real_pool *pool = worker->pool;
    for (struct job *job = take(pool); job != NULL; job = take(pool)) {
        (void)job->work(job->ctx, worker->thread);
        job->post.fn = job_finished;
        loop_real_post(loop_of(pool), &job->post);
    }
    return NULL;
}

shoal_status loop_real_pool_run(struct env_pool *base, uint64_t (*work)(void *ctx, uint32_t thread),
                                void (*done)(void *ctx), void *ctx)
{
    struct real_pool *pool = (struct real_pool *)base;
    struct job *job = (struct job *)pool->spare;
    if (job != NULL)
        pool->spare = job->post.next;
    else
        job = base_malloc(loop_of(pool)->alloc, sizeof *job);
    if (job == NULL)
        return SHOAL_E_NOMEM;
    *job = (struct job){.pool = pool, .work = work, .done = done, .ctx = ctx};
    shoal_assert(pthread_mutex_lock(&pool->lock) == 0);
    *pool->waiting.end = &job->post;
    pool->waiting.end = &job->post.next;
    bool anyone = pool->idle_count > 0;
    shoal_assert(pthread_mutex_unlock(&pool->lock) == 0);
    if (anyone)
        shoal_assert(pthread_cond_signal(&pool->more) == 0);
    return SHOAL_OK;
}

/* --- birth and death --- */

static bool is_mine(struct real_post *post, void *ctx)
{
    struct real_pool *pool = ctx;
    if (post->fn != job_finished || ((struct job *)post)->pool != pool)
        return false;
    base_free(loop_of(pool)->alloc, post);
    return true;
}

static void jobs_free(struct real_pool *pool, struct real_post *post)
{
    while (post != NULL) {
        struct real_post *next = post->next;
        base_free(loop_of(pool)->alloc, post);
        post = next;
    }
}

static void threads_end(struct real_pool *pool, uint32_t count)
{
    shoal_assert(pthread_mutex_lock(&pool->lock) == 0);
    pool->ending = true;
    shoal_assert(pthread_cond_broadcast(&pool->more) == 0);
    shoal_assert(pthread_mutex_unlock(&pool->lock) == 0);
    for (uint32_t i = 0; i < count; i++)
        shoal_assert(pthread_join(pool->workers[i].id, NULL) == 0);
}

void loop_real_pool_free(struct loop_list *node)
{
    struct real_pool *pool = LOOP_OF(struct real_pool, in_loop, node);
    struct real_loop *loop = loop_of(pool);
    loop_list_remove(node);
    threads_end(pool, pool->thread_count);
    loop_real_unpost(loop, is_mine, pool);
    jobs_free(pool, pool->waiting.head);
    jobs_free(pool, pool->spare);
    shoal_assert(pthread_cond_destroy(&pool->more) == 0);
    shoal_assert(pthread_mutex_destroy(&pool->lock) == 0);
    base_free(loop->alloc, pool);
}

void loop_real_pool_close(struct env_pool *pool)
{
    loop_real_pool_free(&((struct real_pool *)pool)->in_loop);
}

/* Starts the threads with all signals blocked, so that handlers run where they did before. */
static int threads_start(struct real_pool *pool)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    shoal_assert(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    int code = 0;
    uint32_t started = 0;
    for (; started < pool->thread_count && code == 0; started++) {
        struct worker *worker = &pool->workers[started];
        worker->pool = pool;
        worker->thread = started;
        code = pthread_create(&worker->id, NULL, worker_main, worker);
        if (code != 0)
            break;
    }
    shoal_assert(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    if (code != 0)
        pool->thread_count = started;
    return code;
}

shoal_status loop_real_pool_new(struct env_loop *base, uint32_t threads, struct env_pool **out_pool,
                                shoal_err *err)
{
    struct real_loop *loop = (struct real_loop *)base;
    struct real_pool *pool =
        base_calloc(loop->alloc, 1, sizeof *pool + threads * sizeof pool->workers[0]);
    if (pool == NULL)
        return base_err_nomem(err, "starting threads");
    pool->pool.loop = base;
    pool->thread_count = threads;
    pool->waiting.end = &pool->waiting.head;
    shoal_assert(pthread_mutex_init(&pool->lock, NULL) == 0);
    shoal_assert(pthread_cond_init(&pool->more, NULL) == 0);
    loop_list_add(&loop->pools, &pool->in_loop);
    int code = threads_start(pool);
    if (code != 0) {
        char text[128];
        loop_real_pool_free(&pool->in_loop);
        return base_err(err, SHOAL_E_LIMIT, "cannot start %u threads: %s", threads,
                        env_real_reason(code, text, sizeof text));
    }
    *out_pool = &pool->pool;
    return SHOAL_OK;
}
