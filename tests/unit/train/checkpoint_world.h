/* checkpoint_world.h - jobs with a checkpoint whose driver may die, in a simulated cluster: an application
 * whose books must balance, and a world in which drivers are born and die. */
#ifndef TESTS_CHECKPOINT_WORLD_H
#define TESTS_CHECKPOINT_WORLD_H

#include "cluster.h"
#include "counting_app.h"
#include "property.h"
#include "store/pack.h"
#include "torture.h"
#include "train/checkpoint.h"
#include <math.h>

/* What of cluster.h is for jobs whose driver lives. */
__attribute__((unused)) static void checkpoint_world_unused(void)
{
    (void)cluster_run;
    (void)cluster_add;
    (void)cluster_cut;
    (void)cluster_slow;
    (void)cluster_drain;
    (void)cluster_send_babbler;
}

static const char DIR[] = "saved";

/* ---- an application whose books must balance ----
 *
 * What a task adds depends on what it reads, so a task that runs again adds something else. Each
 * clock of an executor is two tasks: one changes a held shard, one makes increments. States and the
 * driver keep the sums of both. */

enum { ACCOUNTS = 6, SUM_ROWS = 5, BLOCKS = 6, IDLE_SHARDS = 50 };

struct ledger_options {
    uint64_t clocks;
    uint64_t idle; /* floats of a table that hardly anybody touches */
    bool touch;    /* a row of it in each clock */
    bool own;      /* every executor holds a block of its own */
};
struct ledger_driver {
    uint64_t ended;
    double added, held;
};
struct ledger_state {
    double added, held;
};

#define AT(member) offsetof(struct ledger_options, member)
static const shoal_opt LEDGER_OPTS[] = {
    {AT(clocks), SHOAL_OPT_U64, "clocks", 0, NULL, "10", .help = "how many"},
    {AT(idle), SHOAL_OPT_U64, "idle", 0, NULL, "1", .help = "floats of a large table"},
    {AT(touch), SHOAL_OPT_FLAG, "touch", .help = "it changes"},
    {AT(own), SHOAL_OPT_FLAG, "own", .help = "blocks do not go round"},
};
#undef AT

static shoal_status ledger_plan(shoal_driver *driver, shoal_err *err)
{
    const struct ledger_options *o = shoal_driver_options(driver);
    shoal_table_opts sums = SHOAL_TABLE_OPTS_INIT, blocks = SHOAL_TABLE_OPTS_INIT,
                     idle = SHOAL_TABLE_OPTS_INIT;
    uint64_t first[BLOCKS + 2];
    shoal_status st = shoal_driver_executors(driver, ACCOUNTS, err);

    sums.name = "sums";
    sums.rows = SUM_ROWS;
    sums.width = 2;
    sums.shards = 2;
    blocks.name = "blocks";
    blocks.rows = BLOCKS;
    blocks.shards = BLOCKS + 1; /* the last has no rows */
    for (uint32_t b = 0; b < BLOCKS + 2; b++)
        first[b] = b < BLOCKS ? b : BLOCKS;
    blocks.shard_first = first;
    blocks.held = true;
    idle.name = "idle";
    idle.rows = o->idle;
    idle.shards = IDLE_SHARDS;
    for (uint32_t e = 0; e < ACCOUNTS && st == SHOAL_OK; e++) {
        char *data = shoal_driver_block(driver, e, 100);
        if (data == NULL ||
            shoal_driver_executor_state(driver, e, sizeof(struct ledger_state)) == NULL)
            return base_err_nomem(err, "planning");
        memset(data, shoal_driver_path(driver)[0], 100);
    }
    if (st == SHOAL_OK)
        st = shoal_driver_table(driver, &sums, err);
    if (st == SHOAL_OK)
        st = shoal_driver_table(driver, &blocks, err);
    return st == SHOAL_OK ? shoal_driver_table(driver, &idle, err) : st;
}

static shoal_status ledger_clock(shoal_driver *driver, uint32_t e, uint64_t clock, shoal_err *err)
{
    const struct ledger_options *o = shoal_driver_options(driver);
    shoal_dispatch hold = {.struct_size = sizeof hold,
                           .executor = e,
                           .clock = clock,
                           .holds = true,
                           .hold_table = 1,
                           .hold_shard = (uint32_t)((e + (o->own ? 0 : clock)) % BLOCKS),
                           .arg = &clock,
                           .arg_size = sizeof clock};
    shoal_dispatch add = {
        .struct_size = sizeof add, .executor = e, .fn = 1, .clock = clock, .ends_clock = true};
    shoal_status st = shoal_driver_dispatch(driver, &hold, err);

    return st == SHOAL_OK ? shoal_driver_dispatch(driver, &add, err) : st;
}

static shoal_status ledger_start(shoal_driver *driver, shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    for (uint32_t e = 0; e < ACCOUNTS && st == SHOAL_OK; e++)
        st = ledger_clock(driver, e, 0, err);
    return st;
}

static shoal_status ledger_done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    const struct ledger_options *o = shoal_driver_options(driver);
    struct ledger_driver *d = shoal_driver_state(driver);
    double x;

    memcpy(&x, done->result, sizeof x);
    *(done->fn == 0 ? &d->held : &d->added) += x;
    shoal_driver_report(driver, d->added, NAN, 1);
    if (done->fn == 0)
        return SHOAL_OK;
    if (done->clock + 1 < o->clocks)
        return ledger_clock(driver, done->executor, done->clock + 1, err);
    if (++d->ended == ACCOUNTS)
        shoal_driver_finish(driver);
    return SHOAL_OK;
}

static shoal_status ledger_run(shoal_task *task, shoal_err *err)
{
    struct ledger_state *now = shoal_task_new_state(task, true);
    const float *sums = shoal_task_rows(task, 0);
    uint64_t row = shoal_task_random(task) % SUM_ROWS, clock;
    size_t size;
    float x[2] = {0, 0};
    double told;

    x[0] = 1 + fmodf(sums[2 * row] + (float)(shoal_task_random(task) % 3), 7);
    told = (double)x[0];
    if (shoal_task_fn(task) == 0) {
        memcpy(&clock, shoal_task_arg(task, &size), sizeof clock);
        if (size != sizeof clock || clock != shoal_task_clock(task))
            return base_err(err, SHOAL_E_INTERNAL, "a task has another's argument");
        *shoal_task_held(task, NULL, NULL) += x[0];
        now->held += told;
    } else {
        const struct ledger_options *o = shoal_task_options(task);
        shoal_task_add(task, 0, row, x);
        x[0] = 1;
        if (o->touch && shoal_task_executor(task) == 0)
            shoal_task_add(task, 2, shoal_task_clock(task) * 997 % o->idle, x);
        now->added += told;
    }
    shoal_task_result(task, &told, sizeof told);
    return SHOAL_OK;
}

static const shoal_app LEDGER = {.struct_size = sizeof LEDGER,
                                 .name = "ledger",
                                 .objective = "nothing",
                                 .units = "tasks",
                                 .opts = LEDGER_OPTS,
                                 .opt_count = 4,
                                 .options_size = sizeof(struct ledger_options),
                                 .driver_size = sizeof(struct ledger_driver),
                                 .plan = ledger_plan,
                                 .start = ledger_start,
                                 .done = ledger_done,
                                 .run = ledger_run};

/* ---- a world in which drivers die ---- */

struct world {
    struct cluster c; /* of the driver that lives now; the world's own are its env and stream */
    const shoal_app *app;
    char settings[100];
    const char *path;
    uint64_t seed, job_seed, every_ms;
    struct base_log log;
    char said[2000]; /* warnings */
    uint32_t warnings;
    uint64_t events_left; /* until the driver dies */
    uint64_t checkpoints, tasks_then,
        tasks_before; /* what had been heard of when they were there */
};

static void hear_log(void *ctx, enum base_log_level level, const char *line)
{
    struct world *w = ctx;
    size_t used = strlen(w->said);

    if (level != BASE_LOG_WARN)
        return;
    w->warnings++;
    snprintf(w->said + used, sizeof w->said - used, "%s\n", line);
}

static struct world *world_new(uint64_t seed, const shoal_app *app, uint64_t clocks,
                               uint32_t staleness, const char *more)
{
    struct world *w = calloc(1, sizeof *w);

    cluster_begin(&w->c, seed);
    for (uint32_t i = 0; i < CLUSTER_HOSTS; i++)
        assert_int_equal(env_loop_new(w->c.env, CLUSTER_HOST[i], &w->c.far[i].loop, NULL),
                         SHOAL_OK);
    w->app = app;
    w->path = "a";
    w->c.staleness = staleness;
    w->seed = seed;
    w->job_seed = 7;
    w->every_ms = 5;
    w->log = (struct base_log){BASE_LOG_INFO, hear_log, w};
    if (app == &WITNESS)
        snprintf(w->settings, sizeof w->settings, "clocks=%llu\nstaleness=%u\n%s",
                 (unsigned long long)clocks, staleness, more);
    else
        snprintf(w->settings, sizeof w->settings, "clocks=%llu\n%s", (unsigned long long)clocks,
                 more);
    return w;
}

/* A new driver. */
__attribute__((unused)) static shoal_status birth(struct world *w, bool resume, shoal_err *err)
{
    struct cluster *c = &w->c;
    struct env_sim_program program = {cluster_start, cluster_killed, c};
    struct wire_opts wire = WIRE_OPTS_INIT;
    struct train_master_opts opts = {.app = w->app,
                                     .path = w->path,
                                     .settings = w->settings,
                                     .workers = c->workers,
                                     .threads = c->threads,
                                     .staleness = c->staleness,
                                     .seed = w->job_seed,
                                     .address = "home:0",
                                     .key = &c->key,
                                     .wire = &wire,
                                     .segment_size = 64 << 20,
                                     .balance_ms = 100,
                                     .checkpoint = {DIR, w->every_ms, resume, &w->log},
                                     .ended = cluster_ended,
                                     .ctx = c};
    shoal_status st;

    c->app = w->app;
    c->over = false;
    env_sim_set_net(c->env, &c->net);
    env_sim_set_program(c->env, &program);
    assert_int_equal(wire_key_new(c->env, &c->key, NULL), SHOAL_OK);
    assert_int_equal(env_loop_new(c->env, "home", &c->loop, NULL), SHOAL_OK);
    st = train_master_new(c->loop, &opts, &c->master, err);
    if (st != SHOAL_OK) {
        env_loop_free(c->loop);
        c->loop = NULL;
        c->master = NULL;
        return st;
    }
    cluster_later(c, &c->killer, c->kill_mean_s, cluster_kill_one);
    cluster_later(c, &c->scaler, c->scale_mean_s, cluster_rescale);
    if (c->away > 0)
        cluster_join(c);
    w->checkpoints = w->tasks_then = w->tasks_before = 0;
    return SHOAL_OK;
}

/* Without ceremony: the process is gone, and with it its children. */
__attribute__((unused)) static void death(struct world *w)
{
    struct cluster *c = &w->c;

    if (c->loop == NULL)
        return;
    c->over = true;
    env_sim_kill(c->loop);
    for (uint32_t i = 0; i < CLUSTER_HOSTS; i++) {
        env_child_free(c->far[i].child);
        c->far[i].child = NULL;
    }
    train_master_free(c->master);
    c->master = NULL;
    while (c->process_count > 0) {
        env_sim_kill(c->process[0]->loop);
        env_sim_run(c->env, UINT64_MAX, NULL, NULL);
    }
    env_loop_free(c->loop);
    c->loop = NULL;
    memset(&c->killer, 0, sizeof c->killer);
    memset(&c->scaler, 0, sizeof c->scaler);
    memset(&c->joiner, 0, sizeof c->joiner);
}

__attribute__((unused)) static void world_free(struct world *w)
{
    death(w);
    cluster_free(&w->c);
    free(w);
}

static bool passed(void *ctx)
{
    struct world *w = ctx;
    struct train_stats stats = train_master_stats(w->c.master);

    if (stats.checkpoints > w->checkpoints) {
        w->checkpoints = stats.checkpoints;
        w->tasks_before = w->tasks_then;
        w->tasks_then = stats.tasks;
    }
    return w->c.over || --w->events_left == 0;
}

__attribute__((unused)) static void live(struct world *w, uint64_t events)
{
    w->events_left = events;
    env_sim_run(w->c.env, UINT64_MAX, passed, w);
}

__attribute__((unused)) static void check_ledger(struct world *w, uint64_t clocks)
{
    const struct ledger_driver *d = shoal_driver_state(train_master_driver(w->c.master));
    struct train_box *box = train_master_box(w->c.master);
    const float *sums = train_box_rows(box, 0);
    double added = 0, held = 0, state_added = 0, state_held = 0;
    size_t size;

    for (uint32_t i = 0; i < 2 * SUM_ROWS; i++)
        added += (double)sums[i];
    for (uint32_t s = 0; s < BLOCKS; s++)
        held += (double)*train_box_shard(box, 1, s, NULL, NULL);
    for (uint32_t e = 0; e < ACCOUNTS; e++) {
        const struct ledger_state *state = train_box_state_read(box, e, &size);
        state_added += state->added;
        state_held += state->held;
    }
    if (added != d->added || state_added != d->added || held != d->held || state_held != d->held)
        fail_msg("seed %llu: added %g in tables, %g in states, %g told; held %g, %g, %g",
                 (unsigned long long)w->seed, added, state_added, d->added, held, state_held,
                 d->held);
    if (strstr(w->settings, "touch") != NULL) {
        const float *idle = train_box_rows(box, 2);
        double touched = 0;
        for (uint64_t i = 0; i < train_box_table_info(box, 2).rows; i++)
            touched += (double)idle[i];
        assert_true(touched == (double)clocks);
    }
    assert_int_equal(train_master_stats(w->c.master).tasks, 2 * ACCOUNTS * clocks);
    assert_int_equal(train_master_stats(w->c.master).units, 2 * ACCOUNTS * clocks);
}

/* A job that has been resumed and died again, with all three files; generation: newest first. */
__attribute__((unused)) static struct world *well_saved(uint64_t seed)
{
    struct world *w = world_new(seed, &LEDGER, 300, 1, "idle=5000\ntouch=true");
    shoal_err err;

    assert_int_equal(birth(w, false, &err), SHOAL_OK);
    for (int i = 0; i < 4000 && !w->c.over; i++) {
        live(w, 20);
        if (env_sim_find(w->c.env, "saved/full-1.pack") != NULL &&
            env_sim_find(w->c.env, "saved/delta.pack") != NULL)
            break;
    }
    assert_false(w->c.over);
    assert_non_null(env_sim_find(w->c.env, "saved/delta.pack"));
    assert_non_null(env_sim_find(w->c.env, "saved/full-1.pack"));
    death(w);
    return w;
}

#endif
