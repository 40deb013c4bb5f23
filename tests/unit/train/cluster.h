/* cluster.h - a whole job in simulation: a driver and its workers on virtual machines, with a network
 * that loses, repeats and reorders, hosts that are slow or cut off, workers that never join, leave,
 * talk nonsense, and processes that die at any moment, also in the middle of a fold.
 *
 *     struct cluster c = {.crash = 0.002, .crash_left = 10, .kill_mean_s = 0.02, .kills_left = 10};
 *     cluster_begin(&c, seed);
 *     cluster_run(&c, &WITNESS, "clocks=12", 10000);
 *     ... look at c.over, c.status, c.master, c.count ...
 *     cluster_free(&c);
 *
 * Everything is drawn from the seed; with c.log the events are written to stderr as they happen. */
#ifndef TESTS_CLUSTER_H
#define TESTS_CLUSTER_H

#include "base/err.h"
#include "env/loop.h"
#include "train/box_parts.h"
#include "train/master.h"
#include "train/protocol.h"
#include "train/joiner.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLUSTER_FARS = 4, CLUSTER_BABBLER = CLUSTER_FARS, CLUSTER_HOSTS };
static const char *const CLUSTER_HOST[CLUSTER_HOSTS] = {"far1", "far2", "far3", "far4", "babel"};

/* What happened, to be added up over seeds. */
struct cluster_count {
    uint64_t seeds, tasks, far, redone, moves, lost, checked;
    uint64_t kills, crashes, crashes_far;
    uint64_t crashes_folding; /* a fold was in progress, */
    uint64_t crashes_midrow;  /* and rows of it half written */
    uint64_t crashes_holding; /* a shard was held */
    uint64_t again;           /* tasks that found something locked */
    uint64_t retries;         /* the same of the driver */
    uint64_t cuts, long_cuts, slows, drains, leaves, deaf, babblers, scales, locks, stalled,
        rejoins;
};

struct cluster;
struct cluster_process;

struct cluster_process {
    struct cluster *cluster;
    struct env_loop *loop;
    struct train_joiner *worker;
    struct wire_peer *babbler; /* instead of a worker */
    struct env_timer babble;
    uint32_t babble_left;
    uint32_t id, slot; /* slot: 0 when on another machine */
    struct wire_key key;
    char address[64];
};

struct cluster_far {
    struct env_loop *loop; /* what starts processes there */
    struct env_child *child;
    bool gone;
};

struct cluster {
    /* What shall happen; 0: not at all. Means are of the time between two, in seconds. */
    uint32_t workers, threads, staleness, inside;
    double crash;        /* probability that a worker dies at a place in the box where it can */
    uint64_t crash_left; /* how many deaths at most */
    double kill_mean_s;  /* of a random worker */
    uint64_t kills_left;
    double scale_mean_s; /* changes of the number of workers */
    uint32_t workers_max;
    double task_mean_s;
    double
        task_noise; /* 0: exponential; else evenly between the mean x (1 - noise) and (1 + noise) */
    uint32_t idle_fn;     /* tasks of this fn take no time; 0: all do */
    uint32_t slow_worker; /* the process with this number (from 1) takes `slow_factor` as long */
    double slow_factor;
    /* Instead of all these, when set: what a task takes, in seconds. */
    double (*task_s)(struct cluster *c, const struct cluster_process *p,
                     const struct train_task_spec *spec);
    uint32_t away;      /* machines from which workers join, again and again */
    double away_mean_s; /* until one comes, or comes back */
    double cut_mean_s;  /* one machine is cut from the driver's */
    double slow_mean_s; /* one machine becomes slow, or fast again */
    double drain_mean_s;
    double deaf; /* probability that a started worker never says a word */
    double babble_mean_s;
    double
        lock_mean_s; /* somebody has a shard locked for some milliseconds, as a slow process does */
    struct env_sim_net net;
    size_t queue_max, segment_size;
    uint64_t stall_ms; /* see train_master_opts */
    uint64_t retry_ms; /* of workers elsewhere, see joiner.h */
    bool log;

    /* What is. */
    shoal_env *env;
    const shoal_app *app;
    struct env_loop *loop; /* the driver's */
    struct train_master *master;
    struct base_rand rand;
    bool over;
    shoal_status status;
    shoal_err err;
    struct cluster_far far[CLUSTER_HOSTS];
    struct env_timer killer, scaler, joiner, cutter, healer, slower, drainer, babel, locker,
        unlocker;
    struct box_shard *locked;             /* NULL: none */
    uint32_t cut;                         /* which machine is cut off + 1; 0: none */
    struct cluster_process *process[256]; /* alive */
    uint32_t process_count, process_id;
    struct wire_key key;
    shoal_err last_err; /* of the worker that ended last */
    struct cluster_count count;
};

__attribute__((format(printf, 2, 3))) static void cluster_log(struct cluster *c, const char *format,
                                                              ...)
{
    va_list list;

    if (!c->log)
        return;
    fprintf(stderr, "%12.6f ", (double)env_now_ns(c->env) / 1e9);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
}

static bool cluster_chance(struct cluster *c, double probability)
{
    return probability > 0 && base_rand_unit(&c->rand) < probability;
}

static void cluster_later(struct cluster *c, struct env_timer *timer, double mean_s,
                          void (*fn)(void *ctx))
{
    uint64_t delay_ns = (uint64_t)(1e9 * base_rand_exp(&c->rand, mean_s));

    if (mean_s > 0 && !c->over && env_timer_start(c->loop, timer, delay_ns, fn, c) != SHOAL_OK)
        abort();
}

/* ---- workers ---- */

static const shoal_app *cluster_find(void *ctx, const char *name)
{
    struct cluster_process *p = ctx;

    return strcmp(name, p->cluster->app->name) == 0 ? p->cluster->app : NULL;
}

/* Called after the task has run, or has not because something was locked. */
static uint64_t cluster_task_ns(void *ctx, const struct train_task_spec *spec)
{
    struct cluster_process *p = ctx;
    struct cluster *c = p->cluster;
    bool known = p->slot > 0 && c->master != NULL;
    bool again = known && env_sim_alive(p->loop) &&
                 train_box_committed(train_master_box(c->master), spec->executor) < spec->number;

    c->count.again += again;
    cluster_log(c, "worker %u: task %llu of executor %u, clock %llu%s", p->id,
                (unsigned long long)spec->number, spec->executor, (unsigned long long)spec->clock,
                !env_sim_alive(p->loop) ? ", dies in it"
                : again                 ? ", locked"
                                        : "");
    double task_s = c->task_noise > 0
                        ? c->task_mean_s * (1 + c->task_noise * (2 * base_rand_unit(&c->rand) - 1))
                        : base_rand_exp(&c->rand, c->task_mean_s);
    if (p->id == c->slow_worker)
        task_s *= c->slow_factor;
    if (c->idle_fn != 0 && spec->fn == c->idle_fn)
        task_s = 0;
    if (c->task_s != NULL)
        task_s = c->task_s(c, p, spec);
    return (uint64_t)(1e9 * task_s);
}

/* What the worker of this machine was in the middle of. */
static void cluster_count_crash(struct cluster_process *p)
{
    struct cluster *c = p->cluster;
    struct train_box *box = train_master_box(c->master);
    bool folding = false, midrow = false, holding = false;

    c->count.crashes++;
    c->count.crashes_far += p->slot == 0;
    for (uint32_t s = 0; s < box->shard_count && p->slot > 0; s++) {
        const struct box_shard *shard = box->shards[s].shard;
        if (shard->lock != p->slot + 1)
            continue;
        holding = holding || box->shards[s].held;
        folding = folding || shard->active != 0;
        midrow = midrow || (shard->active != 0 && shard->undo_step == shard->step);
    }
    c->count.crashes_holding += holding;
    c->count.crashes_folding += folding;
    c->count.crashes_midrow += midrow;
    cluster_log(c, "worker %u dies%s%s", p->id, midrow ? " in the middle of a row" : "",
                holding ? " holding a shard" : "");
}

static bool cluster_crash(void *ctx)
{
    struct cluster_process *p = ctx;
    struct cluster *c = p->cluster;

    if (!env_sim_alive(p->loop))
        return true;
    if (c->crash_left == 0 || !cluster_chance(c, c->crash))
        return false;
    c->crash_left--;
    cluster_count_crash(p);
    env_sim_kill(p->loop);
    return true;
}

static void cluster_worker_ended(void *ctx, shoal_status status, const shoal_err *err)
{
    struct cluster_process *p = ctx;

    p->cluster->last_err = *err;
    cluster_log(p->cluster, "worker %u ends: %s", p->id,
                status == SHOAL_OK ? "well" : err->message);
    env_sim_kill(p->loop); /* as exit does */
}

/* ---- what talks nonsense, though it has the key ---- */

static void cluster_babble(void *ctx);

/* Messages that nearly make sense, and some that do not at all. */
static void cluster_say(struct cluster_process *p)
{
    static const uint16_t KINDS[] = {TRAIN_ENDED, TRAIN_COMMIT,   TRAIN_RELEASED, TRAIN_LEAVE,
                                     TRAIN_JOIN,  TRAIN_ACCEPTED, TRAIN_ASK,      TRAIN_STOP};
    struct base_rand *rand = &p->cluster->rand;
    uint32_t words[64];
    size_t size = base_rand_below(rand, sizeof words);
    uint16_t kind = KINDS[base_rand_below(rand, sizeof KINDS / sizeof KINDS[0])];

    if (base_rand_below(rand, 16) == 0)
        kind = (uint16_t)base_rand_below(rand, 70);
    if (kind == TRAIN_FAILED)
        return; /* an error of a task ends a job, whoever tells it */
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        words[i] = (uint32_t)base_rand_below(rand, base_rand_below(rand, 2) ? 8 : UINT32_MAX);
    if (base_rand_below(rand, 4) > 0)
        size = kind == TRAIN_ENDED      ? sizeof(struct train_ended)
               : kind == TRAIN_RELEASED ? sizeof(struct train_unit)
               : kind == TRAIN_LEAVE    ? 0
                                        : size;
    (void)!wire_peer_send(p->babbler, kind, words, size);
}

static void cluster_babble_next(struct cluster_process *p)
{
    uint64_t delay = (uint64_t)(1e9 * base_rand_exp(&p->cluster->rand, 1e-3));

    if (p->babble_left-- == 0)
        env_sim_kill(p->loop);
    else if (env_timer_start(p->loop, &p->babble, delay, cluster_babble, p) != SHOAL_OK)
        abort();
}

static void cluster_babble(void *ctx)
{
    struct cluster_process *p = ctx;

    if (p->babbler == NULL)
        return;
    cluster_say(p);
    cluster_babble_next(p);
}

static void cluster_babble_ready(void *ctx, struct wire_peer *peer)
{
    struct cluster_process *p = ctx;
    struct base_rand *rand = &p->cluster->rand;
    struct train_join join = {.threads = (uint32_t)base_rand_below(rand, 3),
                              .slot = (uint32_t)base_rand_below(rand, 5)};

    memset(join.host, 'x', sizeof join.host); /* without an end */
    if (join.slot > 3)
        join.slot = 0;
    (void)!wire_peer_send(peer, TRAIN_JOIN, &join, sizeof join);
    cluster_babble_next(p);
}

static void cluster_babble_heard(void *ctx, struct wire_peer *peer, uint16_t kind,
                                 const void *bytes, size_t size)
{
    (void)ctx;
    (void)peer;
    (void)kind;
    (void)bytes;
    (void)size;
}

static void cluster_babble_closed(void *ctx, struct wire_peer *peer, const shoal_err *why)
{
    struct cluster_process *p = ctx;

    (void)peer;
    (void)why;
    p->babbler = NULL;
    env_sim_kill(p->loop);
}

static void cluster_start_babbler(struct cluster_process *p)
{
    static const struct wire_peer_ops OPS = {cluster_babble_ready, cluster_babble_heard,
                                             cluster_babble_closed};

    p->babble_left = (uint32_t)base_rand_below(&p->cluster->rand, 30);
    p->cluster->count.babblers++;
    if (wire_peer_connect(p->loop, p->address, &p->key, NULL, &OPS, p, &p->babbler, NULL) !=
        SHOAL_OK)
        abort();
}

/* ---- processes ---- */

static void cluster_worker_cut(void *ctx, const shoal_err *why)
{
    struct cluster_process *p = ctx;

    p->cluster->count.rejoins++;
    cluster_log(p->cluster, "worker %u tries again: %s", p->id, why->message);
}

/* [program] worker --slot N --threads T ADDRESS; babblers have 0 threads. */
static void cluster_start_worker(struct cluster_process *p, const char *host, int64_t segment,
                                 uint32_t threads)
{
    struct wire_opts wire = WIRE_OPTS_INIT;
    struct train_worker_opts opts = {.address = p->address,
                                     .key = &p->key,
                                     .wire = &wire,
                                     .threads = threads,
                                     .slot = p->slot,
                                     .pid = 1,
                                     .host = host,
                                     .segment = segment,
                                     .find = cluster_find,
                                     .ended = cluster_worker_ended,
                                     .ctx = p,
                                     .task_ns = cluster_task_ns,
                                     .crash = cluster_crash,
                                     .witness_all = true};

    if (cluster_chance(p->cluster, p->cluster->deaf)) {
        p->cluster->count.deaf++;
        cluster_log(p->cluster, "worker %u is deaf", p->id);
        return;
    }
    struct train_joiner_opts joiner = {.worker = opts,
                                       .retry_ms = p->slot == 0 ? p->cluster->retry_ms : 0,
                                       .cut = cluster_worker_cut};
    if (train_joiner_new(p->loop, &joiner, &p->worker, NULL) != SHOAL_OK)
        abort();
}

static void *cluster_start(void *ctx, shoal_env *env, const char *host,
                           const struct env_spawn *spawn, struct env_loop **out_loop)
{
    struct cluster *c = ctx;
    struct cluster_process *p = calloc(1, sizeof *p);
    size_t i = 1;

    if (p == NULL || env_loop_new(env, host, &p->loop, NULL) != SHOAL_OK ||
        wire_key_parse(spawn->input, spawn->input_size, &p->key, NULL) != SHOAL_OK)
        abort();
    p->key.joins = spawn->argv[0] != NULL && strcmp(spawn->argv[0], "joiner") == 0;
    p->cluster = c;
    p->id = ++c->process_id;
    *out_loop = p->loop;
    while (strcmp(spawn->argv[i], "worker") != 0)
        i++;
    p->slot = (uint32_t)atoi(spawn->argv[i + 2]);
    uint32_t threads = (uint32_t)atoi(spawn->argv[i + 4]);
    snprintf(p->address, sizeof p->address, "%s", spawn->argv[i + 5]);
    cluster_log(c, "%s %u starts on %s", threads > 0 ? "worker" : "babbler", p->id, host);
    if (threads > 0)
        cluster_start_worker(p, host, spawn->shared, threads);
    else
        cluster_start_babbler(p);
    c->process[c->process_count++] = p;
    return p;
}

static void cluster_killed(void *process)
{
    struct cluster_process *p = process;
    struct cluster *c = p->cluster;

    for (uint32_t i = 0; i < c->process_count; i++)
        if (c->process[i] == p)
            c->process[i] = c->process[--c->process_count];
    cluster_log(c, "worker %u is gone", p->id);
    env_timer_stop(&p->babble);
    wire_peer_close(p->babbler);
    train_joiner_free(p->worker);
    free(p);
}

static void cluster_far_exited(void *ctx, int status)
{
    (void)status;
    ((struct cluster_far *)ctx)->gone = true;
}

static void cluster_send_one(struct cluster *c, uint32_t which, const char *threads)
{
    struct cluster_far *far = &c->far[which];
    char key[2 * WIRE_KEY_SIZE + 1];
    bool joins = which != CLUSTER_BABBLER || c->count.babblers % 2 == 0;
    struct wire_key given = c->key;
    const char *argv[] = {
        joins ? "joiner" : "shoal",      "worker", "--slot", "0", "--threads", threads,
        train_master_address(c->master), NULL};
    struct env_spawn spawn = {argv, -1, key, sizeof key - 1};

    if (far->child != NULL && !far->gone)
        return;
    if (joins && !wire_key_joining(&c->key, &given))
        abort();
    wire_key_format(&given, key);
    env_child_free(far->child);
    far->child = NULL;
    far->gone = false;
    if (env_child_start(far->loop, &spawn, cluster_far_exited, far, &far->child, NULL) != SHOAL_OK)
        abort();
}

/* ---- what happens to them ---- */

static void cluster_kill_one(void *ctx)
{
    struct cluster *c = ctx;

    if (c->process_count > 0 && c->kills_left > 0) {
        struct cluster_process *p = c->process[base_rand_below(&c->rand, c->process_count)];
        c->kills_left--;
        c->count.kills++;
        cluster_log(c, "worker %u is killed", p->id);
        env_sim_kill(p->loop);
    }
    if (c->kills_left > 0)
        cluster_later(c, &c->killer, c->kill_mean_s, cluster_kill_one);
}

static void cluster_rescale(void *ctx)
{
    struct cluster *c = ctx;
    uint32_t workers = 1 + (uint32_t)base_rand_below(&c->rand, c->workers_max);
    shoal_err err;

    /* refused while the job is ending: fine */
    if (train_master_scale(c->master, workers, &err) == SHOAL_OK)
        c->count.scales++;
    cluster_log(c, "%u workers are wanted", workers);
    cluster_later(c, &c->scaler, c->scale_mean_s, cluster_rescale);
}

static void cluster_join(void *ctx)
{
    struct cluster *c = ctx;

    cluster_send_one(c, (uint32_t)base_rand_below(&c->rand, c->away),
                     base_rand_below(&c->rand, 2) ? "1" : "2");
    cluster_later(c, &c->joiner, c->away_mean_s, cluster_join);
}

static void cluster_send_babbler(void *ctx)
{
    struct cluster *c = ctx;

    cluster_send_one(c, CLUSTER_BABBLER, "0");
    cluster_later(c, &c->babel, c->babble_mean_s, cluster_send_babbler);
}

static void cluster_heal(void *ctx)
{
    struct cluster *c = ctx;

    if (c->cut > 0)
        env_sim_cut(c->env, "home", CLUSTER_HOST[c->cut - 1], false);
    cluster_log(c, "the cut is healed");
    c->cut = 0;
}

/* Some cuts are short, others longer than a peer waits. */
static void cluster_cut(void *ctx)
{
    struct cluster *c = ctx;
    uint64_t time_ns = (uint64_t)(1e9 * base_rand_exp(&c->rand, 6));

    if (c->cut == 0) {
        c->cut = 1 + (uint32_t)base_rand_below(&c->rand, c->away);
        c->count.cuts++;
        c->count.long_cuts += time_ns > 12000000000u;
        cluster_log(c, "%s is cut off for %g s", CLUSTER_HOST[c->cut - 1], (double)time_ns / 1e9);
        env_sim_cut(c->env, "home", CLUSTER_HOST[c->cut - 1], true);
        if (env_timer_start(c->loop, &c->healer, time_ns, cluster_heal, c) != SHOAL_OK)
            abort();
    }
    cluster_later(c, &c->cutter, c->cut_mean_s, cluster_cut);
}

static void cluster_slow(void *ctx)
{
    static const double FACTORS[] = {1, 2, 10, 100};
    struct cluster *c = ctx;
    uint32_t which = (uint32_t)base_rand_below(&c->rand, c->away + 1);
    const char *host = which == 0 ? "home" : CLUSTER_HOST[which - 1];
    double factor = FACTORS[base_rand_below(&c->rand, 4)];

    c->count.slows += factor > 1;
    cluster_log(c, "%s is %g times as slow", host, factor);
    env_sim_slow(c->env, host, factor);
    cluster_later(c, &c->slower, c->slow_mean_s, cluster_slow);
}

enum { CLUSTER_LOCKER = TRAIN_WORKERS_MAX - 2 }; /* no worker has this number */

static void cluster_unlock(void *ctx)
{
    struct cluster *c = ctx;

    box_unlock(c->locked);
    c->locked = NULL;
    cluster_log(c, "the shard is unlocked");
}

static void cluster_lock(void *ctx)
{
    struct cluster *c = ctx;
    const struct train_box *box = train_master_box(c->master);
    struct box_shard *shard = box->shards[base_rand_below(&c->rand, box->shard_count)].shard;
    uint64_t time_ns = (uint64_t)(1e9 * base_rand_exp(&c->rand, 3e-3));
    uint32_t free = 0;

    if (c->locked == NULL && atomic_compare_exchange_strong(&shard->lock, &free, CLUSTER_LOCKER)) {
        cluster_log(c, "a shard is locked");
        c->locked = shard;
        c->count.locks++;
        if (env_timer_start(c->loop, &c->unlocker, time_ns, cluster_unlock, c) != SHOAL_OK)
            abort();
    }
    cluster_later(c, &c->locker, c->lock_mean_s, cluster_lock);
}

/* One is asked to leave, by the driver or by its own wish. */
static void cluster_drain(void *ctx)
{
    struct cluster *c = ctx;
    shoal_err err;

    if (c->process_count > 0 && base_rand_below(&c->rand, 2) == 0) {
        struct cluster_process *p = c->process[base_rand_below(&c->rand, c->process_count)];
        if (p->worker != NULL && env_sim_alive(p->loop)) {
            cluster_log(c, "worker %u wants to leave", p->id);
            c->count.leaves++;
            train_joiner_leave(p->worker);
        }
    } else if (train_master_drain(c->master, (uint32_t)base_rand_below(&c->rand, 8), &err) ==
               SHOAL_OK) {
        cluster_log(c, "one is drained");
        c->count.drains++;
    }
    cluster_later(c, &c->drainer, c->drain_mean_s, cluster_drain);
}

static void cluster_ended(void *ctx, shoal_status status, const shoal_err *err)
{
    struct cluster *c = ctx;

    c->over = true;
    c->status = status;
    c->err = *err;
    cluster_log(c, "the job ends: %s", status == SHOAL_OK ? "well" : err->message);
}

static bool cluster_over(void *ctx)
{
    return ((struct cluster *)ctx)->over;
}

/* ---- life ---- */

static void cluster_begin(struct cluster *c, uint64_t seed)
{
    c->workers = c->workers > 0 || c->away > 0 ? c->workers : 3;
    c->threads = c->threads > 0 ? c->threads : 1;
    c->task_mean_s = c->task_mean_s > 0 ? c->task_mean_s : 1e-3;
    base_rand_init(&c->rand, seed, "cluster");
    if (shoal_env_sim_new(seed, &c->env, NULL) != SHOAL_OK)
        abort();
}

/* Runs a job to its end or `limit_s` of virtual time; c->over says whether it ended. */
static void cluster_run(struct cluster *c, const shoal_app *app, const char *settings,
                        double limit_s)
{
    struct env_sim_program program = {cluster_start, cluster_killed, c};
    struct wire_opts wire = WIRE_OPTS_INIT;
    shoal_err err = SHOAL_ERR_INIT;
    struct train_master_opts opts = {.app = app,
                                     .path = "",
                                     .settings = settings,
                                     .workers = c->workers,
                                     .threads = c->threads,
                                     .inside = c->inside,
                                     .staleness = c->staleness,
                                     .seed = 7,
                                     .address = "home:0",
                                     .key = &c->key,
                                     .wire = &wire,
                                     .segment_size =
                                         c->segment_size > 0 ? c->segment_size : (size_t)64 << 20,
                                     .stall_ms = c->stall_ms,
                                     .balance_ms = 20 + base_rand_below(&c->rand, 100),
                                     .ended = cluster_ended,
                                     .ctx = c};

    c->app = app;
    if (c->queue_max > 0)
        wire.queue_max = c->queue_max;
    env_sim_set_net(c->env, &c->net);
    env_sim_set_program(c->env, &program);
    for (uint32_t i = 0; i < CLUSTER_HOSTS; i++)
        if (env_loop_new(c->env, CLUSTER_HOST[i], &c->far[i].loop, NULL) != SHOAL_OK)
            abort();
    if (wire_key_new(c->env, &c->key, NULL) != SHOAL_OK ||
        env_loop_new(c->env, "home", &c->loop, NULL) != SHOAL_OK ||
        train_master_new(c->loop, &opts, &c->master, &err) != SHOAL_OK) {
        fprintf(stderr, "cluster: %s\n", err.message);
        abort();
    }
    cluster_later(c, &c->killer, c->kill_mean_s, cluster_kill_one);
    cluster_later(c, &c->scaler, c->scale_mean_s, cluster_rescale);
    cluster_later(c, &c->cutter, c->cut_mean_s, cluster_cut);
    cluster_later(c, &c->slower, c->slow_mean_s, cluster_slow);
    cluster_later(c, &c->drainer, c->drain_mean_s, cluster_drain);
    cluster_later(c, &c->babel, c->babble_mean_s, cluster_send_babbler);
    cluster_later(c, &c->locker, c->lock_mean_s, cluster_lock);
    if (c->away > 0)
        cluster_join(c);
    env_sim_run(c->env, (uint64_t)(limit_s * 1e9), cluster_over, c);
    struct train_stats s = train_master_stats(c->master);
    c->count.seeds = 1;
    c->count.tasks = s.tasks;
    c->count.far = s.tasks_far;
    c->count.redone = s.tasks_redone;
    c->count.moves = s.moves;
    c->count.lost = s.workers_lost;
    c->count.checked = s.checked;
    c->count.retries = s.retries;
    c->count.stalled = s.workers_stalled;
}

static void cluster_add(struct cluster_count *sum, const struct cluster_count *one)
{
    const uint64_t *from = (const uint64_t *)(const void *)one;
    uint64_t *to = (uint64_t *)(void *)sum;

    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
}

static void cluster_free(struct cluster *c)
{
    struct env_timer *timers[] = {&c->killer, &c->scaler,  &c->joiner, &c->cutter, &c->healer,
                                  &c->slower, &c->drainer, &c->babel,  &c->locker, &c->unlocker};

    c->over = true;
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++)
        env_timer_stop(timers[i]);
    for (uint32_t i = 0; i < CLUSTER_HOSTS; i++)
        env_child_free(c->far[i].child);
    train_master_free(c->master);
    while (c->process_count > 0) {
        env_sim_kill(c->process[0]->loop);
        env_sim_run(c->env, UINT64_MAX, NULL, NULL);
    }
    for (uint32_t i = 0; i < CLUSTER_HOSTS; i++)
        env_loop_free(c->far[i].loop);
    env_loop_free(c->loop);
    shoal_env_free(c->env);
}

#endif
