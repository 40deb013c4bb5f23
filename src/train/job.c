/* job.c - a job on the real machine: one loop, one master, and timers for whoever watches and waits. */
#include "train/job.h"

#include "base/err.h"
#include "train/model.h"
#include "train/protocol.h"
#include "train/joiner.h"
#include <stdio.h>
#include <string.h>

static const uint64_t STOP_NS = 50ull * 1000 * 1000; /* between looks for a reason to leave */
static const uint64_t HOME_DEAD_MS = 3600ull * 1000, HELLO_MS = 120ull * 1000;

struct train_job {
    shoal_env *env;
    const struct train_job_opts *opts;
    struct env_loop *loop;
    struct train_master *master;
    struct wire_key key;
    struct wire_opts wire;
    struct env_timer tick, limit;
    bool ended, closed; /* closed: what is done at the end is done */
    shoal_status status;
    shoal_err err;
    struct train_job_result result; /* so far, until it is closed */
};

static void job_ended(void *ctx, shoal_status status, const shoal_err *err)
{
    struct train_job *job = ctx;

    job->ended = true;
    job->status = status;
    job->err = *err;
    env_loop_stop(job->loop);
}

static void note_crew(struct train_job *job)
{
    struct train_stats stats = train_master_stats(job->master);

    train_trail_crew(train_master_trail(job->master), env_now_ns(job->env), stats.workers,
                     stats.workers_lost);
}

static void tick(void *ctx)
{
    struct train_job *job = ctx;

    note_crew(job);
    if (job->opts->tick != NULL && !job->opts->tick(job->opts->ctx, job->master)) {
        train_master_stop(job->master);
        return;
    }
    if (env_timer_start(job->loop, &job->tick, job->opts->tick_ms * 1000000, tick, job) != SHOAL_OK)
        train_master_stop(job->master);
}

static shoal_status save_model(const struct train_job *job, shoal_err *err)
{
    const struct train_job_opts *o = job->opts;
    shoal_model *model = NULL;
    shoal_status st = train_model_create(
        job->env, o->model, o->word != NULL ? o->word : o->app->name, o->settings, &model, err);

    if (st != SHOAL_OK)
        return st;
    st = o->app->save(train_master_driver(job->master), model, err);
    if (st != SHOAL_OK) {
        shoal_model_free(model);
        return st;
    }
    return train_model_commit(model, err);
}

static shoal_status list(const struct train_job *job, shoal_err *err)
{
    const struct train_job_opts *o = job->opts;
    char text[2 * WIRE_KEY_SIZE + 1];
    struct base_buf out;
    shoal_status st;

    wire_key_format(&job->key, text);
    base_buf_init(&out, env_alloc(job->env), 1 << 16);
    base_buf_printf(&out, "name %s\napp %s\naddress %s\nkey %s\npid %lld\ndata %s\n", o->name,
                    o->app->name, train_master_address(job->master), text, (long long)o->pid,
                    o->path);
    st = base_buf_status(&out);
    if (st == SHOAL_OK)
        st = env_write_run_file(job->env, o->listing, out.data, out.size, err);
    else
        base_err_nomem(err, "listing the job");
    wire_wipe(text, sizeof text);
    wire_wipe(out.data, out.size);
    base_buf_fini(&out);
    return st;
}

struct train_master *train_job_master(const struct train_job *job)
{
    return job->master;
}

struct env_loop *train_job_loop(const struct train_job *job)
{
    return job->loop;
}

uint64_t train_job_begun_ns(const struct train_job *job)
{
    return job->result.begun_ns;
}

static void set_out(void *ctx)
{
    env_loop_stop(((struct train_job *)ctx)->loop);
}

/* The model and what the application says, after the last task. */
static void close_job(struct train_job *job)
{
    struct train_job_result *r = &job->result;

    job->closed = true;
    env_timer_stop(&job->tick);
    r->seconds = (double)(env_now_ns(job->env) - r->begun_ns) / 1e9;
    train_master_close_saver(
        job->master); /* whoever empties its folder now leaves nothing behind */
    r->stats = train_master_stats(job->master);
    r->staleness = train_master_asked(job->master)->staleness;
    note_crew(job);
    r->trail = *train_master_trail(job->master);
    if (job->status != SHOAL_OK)
        return;
    if (job->opts->model != NULL)
        r->model_status = save_model(job, &r->model_err);
    if (job->opts->learnt != NULL)
        train_master_learn(job->master, job->opts->learnt);
}

shoal_status train_job_step(struct train_job *job, uint64_t timeout_ns,
                            struct train_job_result *out, shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    if (!job->ended && timeout_ns != UINT64_MAX)
        st = env_timer_start(job->loop, &job->limit, timeout_ns, set_out, job);
    if (!job->ended && st == SHOAL_OK)
        st = env_loop_run(job->loop, err);
    env_timer_stop(&job->limit);
    if (st != SHOAL_OK)
        return st;
    if (!job->ended)
        return SHOAL_AGAIN;
    if (!job->closed)
        close_job(job);
    if (job->status == SHOAL_OK)
        *out = job->result;
    else if (err != NULL)
        *err = job->err;
    return job->status;
}

shoal_status train_job_new(shoal_env *env, const struct train_job_opts *opts,
                           struct train_job **out_job, shoal_err *err)
{
    struct train_job *job = base_calloc(env_alloc(env), 1, sizeof *job);
    uint64_t started = env_now_ns(env);

    if (job == NULL)
        return base_err_nomem(err, "starting a job");
    job->env = env;
    job->opts = opts;
    job->wire = (struct wire_opts)WIRE_OPTS_INIT;
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
                                       .key = &job->key,
                                       .wire = &job->wire,
                                       .patience_ms = opts->patience_ms,
                                       .stall_ms = opts->stall_ms,
                                       .segment_size = opts->memory_max,
                                       .balance_ms = 100,
                                       .checkpoint = opts->checkpoint,
                                       .ended = job_ended,
                                       .ctx = job};
    shoal_status st = env_loop_new(env, NULL, &job->loop, err);

    if (st == SHOAL_OK)
        st = wire_key_new(env, &job->key, err);
    if (st == SHOAL_OK)
        st = train_master_new(job->loop, &master, &job->master, err);
    job->result.begun_ns = env_now_ns(env);
    job->result.load_seconds = (double)(job->result.begun_ns - started) / 1e9;
    if (st == SHOAL_OK && opts->listing != NULL)
        st = list(job, err);
    if (st == SHOAL_OK && env_timer_start(job->loop, &job->tick, 0, tick, job) != SHOAL_OK)
        st = base_err_nomem(err, "starting a job");
    if (st == SHOAL_OK)
        *out_job = job;
    else
        train_job_free(job);
    return st;
}

void train_job_free(struct train_job *job)
{
    if (job == NULL)
        return;
    env_timer_stop(&job->tick);
    train_master_free(job->master);
    wire_key_wipe(&job->key);
    env_loop_free(job->loop);
    base_free(env_alloc(job->env), job);
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
