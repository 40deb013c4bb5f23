/* job.c - a job on the real machine: one loop, one master, and a timer for whoever watches. */
#include "train/job.h"

#include "base/err.h"
#include "train/model.h"
#include "train/protocol.h"
#include "train/joiner.h"
#include <stdio.h>
#include <string.h>

static const uint64_t STOP_NS = 50ull * 1000 * 1000; /* between looks for a reason to leave */
static const uint64_t HOME_DEAD_MS = 3600ull * 1000, HELLO_MS = 120ull * 1000;

struct job {
    const struct train_job_opts *opts;
    struct env_loop *loop;
    struct train_master *master;
    struct env_timer tick;
    shoal_status status;
    shoal_err err;
};

static void job_ended(void *ctx, shoal_status status, const shoal_err *err)
{
    struct job *job = ctx;

    job->status = status;
    job->err = *err;
    env_loop_stop(job->loop);
}

static void note_crew(struct job *job)
{
    struct train_stats stats = train_master_stats(job->master);

    train_trail_crew(train_master_trail(job->master), env_now_ns(env_loop_env(job->loop)),
                     stats.workers, stats.workers_lost);
}

static void tick(void *ctx)
{
    struct job *job = ctx;

    note_crew(job);
    if (job->opts->tick != NULL && !job->opts->tick(job->opts->ctx, job->master)) {
        train_master_stop(job->master);
        return;
    }
    if (env_timer_start(job->loop, &job->tick, job->opts->tick_ms * 1000000, tick, job) != SHOAL_OK)
        train_master_stop(job->master);
}

static shoal_status save_model(shoal_env *env, struct job *job, shoal_err *err)
{
    const struct train_job_opts *o = job->opts;
    shoal_model *model = NULL;
    shoal_status st = train_model_create(env, o->model, o->word != NULL ? o->word : o->app->name,
                                         o->settings, &model, err);

    if (st != SHOAL_OK)
        return st;
    st = o->app->save(train_master_driver(job->master), model, err);
    if (st != SHOAL_OK) {
        shoal_model_free(model);
        return st;
    }
    return train_model_commit(model, err);
}

static shoal_status list(shoal_env *env, const struct job *job, const struct wire_key *key,
                         shoal_err *err)
{
    const struct train_job_opts *o = job->opts;
    char text[2 * WIRE_KEY_SIZE + 1];
    struct base_buf out;
    shoal_status st;

    wire_key_format(key, text);
    base_buf_init(&out, env_alloc(env), 1 << 16);
    base_buf_printf(&out, "name %s\napp %s\naddress %s\nkey %s\npid %lld\ndata %s\n", o->name,
                    o->app->name, train_master_address(job->master), text, (long long)o->pid,
                    o->path);
    st = base_buf_status(&out);
    if (st == SHOAL_OK)
        st = env_write_run_file(env, o->listing, out.data, out.size, err);
    else
        base_err_nomem(err, "listing the job");
    wire_wipe(text, sizeof text);
    wire_wipe(out.data, out.size);
    base_buf_fini(&out);
    return st;
}

/* From the first worker's start to the last task. */
static shoal_status run_loop(struct job *job, struct train_job_result *out, shoal_err *err)
{
    shoal_env *env = env_loop_env(job->loop);
    uint64_t started = env_now_ns(env);
    shoal_status st = env_timer_start(job->loop, &job->tick, 0, tick, job);

    if (st == SHOAL_OK)
        st = env_loop_run(job->loop, err);
    env_timer_stop(&job->tick);
    if (st == SHOAL_OK && job->status != SHOAL_OK) {
        st = job->status;
        if (err != NULL)
            *err = job->err;
    }
    out->seconds = (double)(env_now_ns(env) - started) / 1e9;
    out->stats = train_master_stats(job->master);
    out->begun_ns = started;
    out->staleness = train_master_asked(job->master)->staleness;
    note_crew(job);
    out->trail = *train_master_trail(job->master);
    return st;
}

shoal_status train_job_run(shoal_env *env, const struct train_job_opts *opts,
                           struct train_job_result *out, shoal_err *err)
{
    struct job job = {.opts = opts};
    struct wire_opts wire = WIRE_OPTS_INIT;
    struct wire_key key;
    struct train_job_result result = {0};
    uint64_t started = env_now_ns(env);
    struct train_master_opts master = {.app = opts->app,
                                       .word = opts->word,
                                       .path = opts->path,
                                       .settings = opts->settings,
                                       .workers = opts->workers,
                                       .threads = opts->threads,
                                       .inside = opts->inside,
                                       .staleness = opts->staleness,
                                       .seed = opts->seed,
                                       .address = opts->address,
                                       .program = opts->program,
                                       .key = &key,
                                       .wire = &wire,
                                       .patience_ms = opts->patience_ms,
                                       .stall_ms = opts->stall_ms,
                                       .segment_size = opts->memory_max,
                                       .balance_ms = 100,
                                       .checkpoint = opts->checkpoint,
                                       .ended = job_ended,
                                       .ctx = &job};
    shoal_status st = wire_key_new(env, &key, err);

    if (st == SHOAL_OK)
        st = env_loop_new(env, NULL, &job.loop, err);
    if (st == SHOAL_OK)
        st = train_master_new(job.loop, &master, &job.master, err);
    result.load_seconds = (double)(env_now_ns(env) - started) / 1e9;
    if (st == SHOAL_OK && opts->listing != NULL)
        st = list(env, &job, &key, err);
    if (st == SHOAL_OK)
        st = run_loop(&job, &result, err);
    if (st == SHOAL_OK && opts->model != NULL)
        result.model_status = save_model(env, &job, &result.model_err);
    if (st == SHOAL_OK && opts->learnt != NULL)
        train_master_learn(job.master, opts->learnt);
    train_master_free(job.master);
    wire_key_wipe(&key);
    env_loop_free(job.loop);
    if (st == SHOAL_OK)
        *out = result;
    return st;
}

/* ---- a worker ---- */

struct worker_process {
    struct env_loop *loop;
    const struct train_work_opts *opts;
    struct train_joiner *joiner;
    struct env_timer tick;
    shoal_status status;
    shoal_err err;
};

static const shoal_app *find(void *ctx, const char *name)
{
    struct worker_process *p = ctx;

    return p->opts->find(p->opts->ctx, name);
}

static void worker_cut(void *ctx, const shoal_err *why)
{
    struct worker_process *p = ctx;

    p->opts->cut(p->opts->ctx, why);
}

static void worker_ended(void *ctx, shoal_status status, const shoal_err *err)
{
    struct worker_process *p = ctx;

    p->status = status;
    p->err = *err;
    env_loop_stop(p->loop);
}

static void look_for_stop(void *ctx)
{
    struct worker_process *p = ctx;

    if (p->opts->stop(p->opts->ctx) ||
        env_timer_start(p->loop, &p->tick, STOP_NS, look_for_stop, p) != SHOAL_OK)
        train_joiner_leave(p->joiner);
}

/* A driver on this machine is patiently waited for: when it ends its connection does, too, and when it is
 * silent it counts, writes, or was stopped for a while. One elsewhere may do so when it is asked, too, and
 * says later how patient to be. */
static struct wire_opts wire_to(const struct train_work_opts *opts)
{
    struct wire_opts wire = WIRE_OPTS_INIT;

    wire.hello_ms = HELLO_MS;
    if (opts->segment >= 0)
        wire.dead_ms = HOME_DEAD_MS;
    return wire;
}

shoal_status train_work_run(shoal_env *env, const struct train_work_opts *opts, shoal_err *err)
{
    struct worker_process p = {.opts = opts};
    struct wire_opts wire = wire_to(opts);
    struct train_joiner_opts joiner_opts = {.worker = {.address = opts->address,
                                                       .key = &opts->key,
                                                       .wire = &wire,
                                                       .threads = opts->threads,
                                                       .slot = opts->slot,
                                                       .pid = opts->pid,
                                                       .host = opts->host,
                                                       .segment = opts->segment,
                                                       .find = find,
                                                       .ended = worker_ended,
                                                       .ctx = &p},
                                            .retry_ms = opts->retry_ms,
                                            .cut = opts->cut != NULL ? worker_cut : NULL};
    shoal_status st = env_loop_new(env, NULL, &p.loop, err);

    if (st == SHOAL_OK)
        st = train_joiner_new(p.loop, &joiner_opts, &p.joiner, err);
    if (st == SHOAL_OK && opts->stop != NULL)
        st = env_timer_start(p.loop, &p.tick, STOP_NS, look_for_stop, &p);
    if (st == SHOAL_OK)
        st = env_loop_run(p.loop, err);
    if (st == SHOAL_OK && p.status != SHOAL_OK) {
        st = p.status;
        if (err != NULL)
            *err = p.err;
    }
    env_timer_stop(&p.tick);
    train_joiner_free(p.joiner);
    env_loop_free(p.loop);
    return st;
}
