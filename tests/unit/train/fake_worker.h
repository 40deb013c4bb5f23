/* fake_worker.h - a worker of the test's own: it joins from another machine with the job's key, keeps
 * what it hears, and says only what the test says. */
#ifndef TESTS_FAKE_WORKER_H
#define TESTS_FAKE_WORKER_H

#include "cluster.h"

enum { HEARD_MAX = 256 };

struct word {
    uint16_t kind;
    size_t size;
    uint32_t bytes[60]; /* the first ones */
};

/* Joins from another machine and does what the test says. */
struct fake {
    struct cluster *cluster;
    struct env_loop *loop;
    struct wire_peer *peer;
    struct word heard[HEARD_MAX];
    uint32_t heard_count;
    bool closed;
    struct train_join join; /* what it says of itself; 0 threads: nothing */
};

static void fake_ready(void *ctx, struct wire_peer *peer)
{
    const struct fake *f = ctx;

    if (f->join.threads > 0)
        (void)!wire_peer_send(peer, TRAIN_JOIN, &f->join, sizeof f->join);
}

static void fake_heard(void *ctx, struct wire_peer *peer, uint16_t kind, const void *bytes,
                       size_t size)
{
    struct fake *f = ctx;
    struct word *word = &f->heard[f->heard_count % HEARD_MAX];

    (void)peer;
    f->heard_count++;
    *word = (struct word){.kind = kind, .size = size};
    memcpy(word->bytes, bytes, size < sizeof word->bytes ? size : sizeof word->bytes);
}

static void fake_closed(void *ctx, struct wire_peer *peer, const shoal_err *why)
{
    struct fake *f = ctx;

    (void)peer;
    (void)why;
    f->peer = NULL;
    f->closed = true;
}

static const struct wire_peer_ops FAKE_OPS = {fake_ready, fake_heard, fake_closed};

/* With the job's key, or with the one to join. */
static void fake_come(struct fake *f, struct cluster *c, const struct train_join *join, bool joins)
{
    struct wire_key key = c->key;

    if (joins && !wire_key_joining(&c->key, &key))
        abort();
    memset(f, 0, sizeof *f);
    f->cluster = c;
    f->join = *join;
    if (env_loop_new(c->env, "fake", &f->loop, NULL) != SHOAL_OK ||
        wire_peer_connect(f->loop, train_master_address(c->master), &key, NULL, &FAKE_OPS, f,
                          &f->peer, NULL) != SHOAL_OK)
        abort();
}

__attribute__((unused)) static void fake_join(struct fake *f, struct cluster *c)
{
    fake_come(f, c, &(struct train_join){.threads = 1, .host = "fake"}, false);
}

static void fake_free(struct fake *f)
{
    wire_peer_close(f->peer);
    env_loop_free(f->loop);
}

__attribute__((unused)) static void fake_say(struct fake *f, uint16_t kind, const void *bytes,
                                             size_t size)
{
    if (f->peer != NULL && wire_peer_send(f->peer, kind, bytes, size) != SHOAL_OK)
        abort();
}

static void go_on(struct cluster *c, double seconds)
{
    env_sim_run(c->env, env_now_ns(c->env) + (uint64_t)(1e9 * seconds), cluster_over, c);
}

/* The last word of a kind about an executor (UINT32_MAX: any); NULL: none. */
static const struct word *fake_find(const struct fake *f, uint16_t kind, uint32_t executor)
{
    for (uint32_t i = f->heard_count < HEARD_MAX ? f->heard_count : HEARD_MAX; i-- > 0;)
        if (f->heard[i].kind == kind &&
            (executor == UINT32_MAX || f->heard[i].bytes[0] == executor))
            return &f->heard[i];
    return NULL;
}

__attribute__((unused)) static uint32_t epoch_of(const struct fake *f, uint32_t executor)
{
    return fake_find(f, TRAIN_ADOPT, executor)->bytes[1];
}

#endif
