/* job.c - a job on the real machine: one loop, one master, and a timer for whoever watches. */
#include "train/job.h"

#include "base/err.h"
#include "train/model.h"
#include "train/protocol.h"
#include "train/worker.h"
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

/* The work is done: that it cannot be told of is said in its place. */
static void tell(const struct job *job)
{
    shoal_err err = {0};

    if (train_master_tell(job->master, job->opts->said, &err) != SHOAL_OK)
        base_buf_printf(job->opts->said, "what was learnt cannot be told: %s\n", err.message);
}

static void make_page(const struct job *job)
{
    struct base_buf *page = job->opts->page;
    shoal_err err = {0};

    if (train_master_page(job->master, page, &err) == SHOAL_OK)
        return;
    base_buf_clear(page);
    base_buf_puts(page, "<section class=\"panel\"><p>What was learnt cannot be shown: ");
    base_buf_html(page, err.message);
    base_buf_puts(page, "</p></section>\n");
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
        st = env_write_whole(env, o->listing, out.data, out.size, err);
    else
        base_err_nomem(err, "listing the job");
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
    if (st == SHOAL_OK && opts->said != NULL)
        tell(&job);
    if (st == SHOAL_OK && opts->page != NULL)
        make_page(&job);
    train_master_free(job.master);
    env_loop_free(job.loop);
    if (st == SHOAL_OK)
        *out = result;
    return st;
}

/* ---- a worker ---- */

struct worker_process {
    struct env_loop *loop;
    const struct train_work_opts *opts;
    struct train_worker *worker;
    struct env_timer tick;
    bool set_up;
    shoal_status status;
    shoal_err err;
};

static const shoal_app *find(void *ctx, const char *name)
{
    struct worker_process *p = ctx;

    p->set_up = true;
    return p->opts->find(p->opts->ctx, name);
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

    if (!p->opts->stop(p->opts->ctx)) {
        if (env_timer_start(p->loop, &p->tick, STOP_NS, look_for_stop, p) != SHOAL_OK)
            train_worker_leave(p->worker);
    } else if (p->set_up) {
        train_worker_leave(p->worker);
    } else {
        p->status = base_err(&p->err, SHOAL_E_CANCELLED, "stopped before it had joined");
        env_loop_stop(p->loop);
    }
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
    struct train_worker_opts worker_opts = {.address = opts->address,
                                            .key = &opts->key,
                                            .wire = &wire,
                                            .threads = opts->threads,
                                            .slot = opts->slot,
                                            .pid = opts->pid,
                                            .host = opts->host,
                                            .segment = opts->segment,
                                            .find = find,
                                            .ended = worker_ended,
                                            .ctx = &p};
    shoal_status st = env_loop_new(env, NULL, &p.loop, err);

    if (st == SHOAL_OK)
        st = train_worker_new(p.loop, &worker_opts, &p.worker, err);
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
    train_worker_free(p.worker);
    env_loop_free(p.loop);
    return st;
}

/* ---- onlookers ---- */

/* The rest of the line that begins with `word`, cut to fit. False: there is none. */
static bool line_of(const char *text, const char *word, char *out, size_t size)
{
    size_t length = strlen(word);

    while (text != NULL && *text != 0) {
        if (strncmp(text, word, length) == 0 && text[length] == ' ') {
            const char *value = text + length + 1;
            snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value);
            return true;
        }
        text = strchr(text, '\n');
        text = text != NULL ? text + 1 : NULL;
    }
    return false;
}

shoal_status train_listing_load(shoal_env *env, const char *path, struct train_listing *out,
                                shoal_err *err)
{
    struct train_listing listing = {.pid = 0};
    char key[2 * WIRE_KEY_SIZE + 1] = "", pid[32] = "";
    struct base_buf text;
    shoal_status st;
    long long number;

    base_buf_init(&text, env_alloc(env), 1 << 16);
    st = env_read_whole(env, path, &text, err);
    if (st != SHOAL_OK)
        goto out;
    if (!line_of(text.data, "name", listing.name, sizeof listing.name) ||
        !line_of(text.data, "app", listing.app, sizeof listing.app) ||
        !line_of(text.data, "address", listing.address, sizeof listing.address) ||
        !line_of(text.data, "key", key, sizeof key) ||
        !line_of(text.data, "pid", pid, sizeof pid) ||
        !line_of(text.data, "data", listing.data, sizeof listing.data) ||
        sscanf(pid, "%lld", &number) != 1 ||
        wire_key_parse(key, strlen(key), &listing.key, NULL) != SHOAL_OK) {
        st = base_err(err, SHOAL_E_FORMAT, "'%s' does not tell of a job", path);
        goto out;
    }
    listing.pid = number;
    *out = listing;
out:
    base_buf_fini(&text);
    return st;
}

struct question {
    struct env_loop *loop;
    struct wire_peer *peer;
    const char *line;
    struct base_buf *out;
    struct env_timer deadline;
    bool answered;
    shoal_err err;
};

static void question_ready(void *ctx, struct wire_peer *peer)
{
    struct question *q = ctx;

    if (wire_peer_send(peer, TRAIN_ASK, q->line, strlen(q->line)) != SHOAL_OK)
        env_loop_stop(q->loop);
}

static void question_message(void *ctx, struct wire_peer *peer, uint16_t kind, const void *bytes,
                             size_t size)
{
    struct question *q = ctx;

    (void)peer;
    if (kind == TRAIN_ANSWER && !q->answered) {
        base_buf_append(q->out, bytes, size);
        q->answered = true;
    }
    env_loop_stop(q->loop);
}

static void question_closed(void *ctx, struct wire_peer *peer, const shoal_err *why)
{
    struct question *q = ctx;

    (void)peer;
    q->peer = NULL;
    q->err = *why;
    env_loop_stop(q->loop);
}

static void question_late(void *ctx)
{
    struct question *q = ctx;

    env_loop_stop(q->loop);
}

shoal_status train_listing_ask(shoal_env *env, const struct train_listing *job, const char *line,
                               uint64_t timeout_ms, struct base_buf *out, shoal_err *err)
{
    static const struct wire_peer_ops OPS = {question_ready, question_message, question_closed};
    struct wire_opts wire = WIRE_OPTS_INIT;
    struct question q = {.line = line, .out = out};
    shoal_status st = env_loop_new(env, NULL, &q.loop, err);

    if (st == SHOAL_OK)
        st = env_timer_start(q.loop, &q.deadline, timeout_ms * 1000000, question_late, &q);
    if (st == SHOAL_OK)
        st = wire_peer_connect(q.loop, job->address, &job->key, &wire, &OPS, &q, &q.peer, err);
    if (st == SHOAL_OK)
        st = env_loop_run(q.loop, err);
    if (st == SHOAL_OK && !q.answered)
        st = base_err(err, SHOAL_E_IO, "job '%s' (process %lld) does not answer%s%s", job->name,
                      (long long)job->pid, q.err.message[0] != 0 ? ": " : "", q.err.message);
    env_timer_stop(&q.deadline);
    wire_peer_close(q.peer);
    env_loop_free(q.loop);
    return st;
}
