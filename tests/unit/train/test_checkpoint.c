/* ctest: timeout=300 */
/* Jobs whose driver dies, all of it, at any moment, and that go on from what is on disk: every task
 * counts once, states, tables and driver agree, whatever is lost, damaged or full. */
#include "cluster.h"
#include "counting_app.h"
#include "property.h"
#include "store/pack.h"
#include "torture.h"
#include "train/checkpoint.h"
#include <math.h>

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

static const shoal_opt LEDGER_OPTS[] = {{.name = "clocks",
                                         .type = SHOAL_OPT_U64,
                                         .fallback = "10",
                                         .help = "how many",
                                         .offset = offsetof(struct ledger_options, clocks)},
                                        {.name = "idle",
                                         .type = SHOAL_OPT_U64,
                                         .fallback = "1",
                                         .help = "floats of a large table",
                                         .offset = offsetof(struct ledger_options, idle)},
                                        {.name = "touch",
                                         .type = SHOAL_OPT_FLAG,
                                         .help = "it changes",
                                         .offset = offsetof(struct ledger_options, touch)},
                                        {.name = "own",
                                         .type = SHOAL_OPT_FLAG,
                                         .help = "blocks do not go round",
                                         .offset = offsetof(struct ledger_options, own)}};

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
static shoal_status birth(struct world *w, bool resume, shoal_err *err)
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
static void death(struct world *w)
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

static void world_free(struct world *w)
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

static void live(struct world *w, uint64_t events)
{
    w->events_left = events;
    env_sim_run(w->c.env, UINT64_MAX, passed, w);
}

/* Lives and dies until a driver has ended the job; each goes on from what the last one left, or, when
 * there is nothing, begins. */
static void lives(struct world *w, uint32_t deaths, uint64_t events_mean)
{
    struct cluster *c = &w->c;
    shoal_err err = SHOAL_ERR_INIT;

    for (uint32_t i = 0;; i++) {
        uint64_t least = w->tasks_before;
        bool there = w->checkpoints > 0;
        shoal_status st = birth(w, true, &err);
        if (there && st != SHOAL_OK)
            fail_msg("seed %llu: %s", (unsigned long long)w->seed, err.message);
        if (st == SHOAL_OK && train_master_stats(c->master).tasks < least)
            fail_msg(
                "seed %llu: resumed with %llu tasks; %llu were saved", (unsigned long long)w->seed,
                (unsigned long long)train_master_stats(c->master).tasks, (unsigned long long)least);
        if (st != SHOAL_OK && st != SHOAL_E_NOTFOUND)
            fail_msg("seed %llu: %s", (unsigned long long)w->seed, err.message);
        if (st != SHOAL_OK)
            assert_int_equal(birth(w, false, &err), SHOAL_OK);
        live(w,
             i < deaths ? 1 + (uint64_t)base_rand_exp(&c->rand, (double)events_mean) : UINT64_MAX);
        if (c->over)
            break;
        death(w);
    }
    if (c->status != SHOAL_OK)
        fail_msg("seed %llu: %s", (unsigned long long)w->seed, c->err.message);
}

static void check_witness(struct world *w, uint64_t clocks)
{
    const struct witness_driver *d = shoal_driver_state(train_master_driver(w->c.master));
    struct train_box *box = train_master_box(w->c.master);
    const float *seen = train_box_rows(box, 0), *sums = train_box_rows(box, 1);
    double total = 0;

    for (uint32_t e = 0; e < EXECUTORS; e++)
        if ((uint64_t)seen[e] != clocks)
            fail_msg("seed %llu: executor %u counted %g times", (unsigned long long)w->seed, e,
                     (double)seen[e]);
    for (uint32_t i = 0; i < ROWS * WIDTH; i++)
        total += (double)sums[i];
    if (total != (double)d->sum)
        fail_msg("seed %llu: %g in the table, %llu told", (unsigned long long)w->seed, total,
                 (unsigned long long)d->sum);
    assert_int_equal(train_master_stats(w->c.master).tasks, EXECUTORS * clocks);
}

static void check_ledger(struct world *w, uint64_t clocks)
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

/* What goes wrong besides. */
static void trouble(struct world *w)
{
    uint64_t seed = w->seed;

    if (seed % 3 == 0)
        w->c.net = (struct env_sim_net){1e-3, 0.05, 0.05, 0.02};
    if (seed % 2 == 0) {
        w->c.crash = 0.002;
        w->c.crash_left = 10;
        w->c.kill_mean_s = 0.02;
        w->c.kills_left = 5;
    }
    if (seed % 5 == 0) {
        w->c.away = 1 + (uint32_t)(seed % 2);
        w->c.away_mean_s = 0.02;
    }
    if (seed % 7 == 0) {
        w->c.scale_mean_s = 0.03;
        w->c.workers_max = 6;
    }
    if (seed % 4 == 0) {
        assert_int_equal(env_sim_set_fault(w->c.env, "env.write", 0.02), SHOAL_OK);
        assert_int_equal(env_sim_set_fault(w->c.env, "env.commit", 0.2), SHOAL_OK);
    }
    w->c.threads = 1 + (uint32_t)(seed % 2);
}

/* ---- claims ---- */

static void a_driver_may_die_at_any_moment_and_every_task_counts_once(void **state)
{
    uint64_t resumed = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(300); seed++) {
        struct world *w = world_new(seed, &WITNESS, 30, (uint32_t)(seed % 4), "");
        trouble(w);
        lives(w, 5, 600);
        check_witness(w, 30);
        resumed += env_sim_find(w->c.env, "saved/full-0.pack") != NULL;
        world_free(w);
    }
    assert_true(resumed > 100);
}

static void states_tables_held_shards_and_driver_agree_after_every_resume(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(300); seed++) {
        /* Workers elsewhere and shards that several want at once do not go together. */
        struct world *w =
            world_new(seed, &LEDGER, 20, (uint32_t)(seed % 4),
                      seed % 5 == 0 ? "own=true" : (seed % 3 == 0 ? "idle=5000\ntouch=true" : ""));
        trouble(w);
        lives(w, 5, 600);
        check_ledger(w, 20);
        world_free(w);
    }
}

static void a_bulk_synchronous_job_ends_bit_for_bit_as_if_nothing_had_happened(void **state)
{
    float first[ROWS * WIDTH];

    (void)state;
    for (uint64_t seed = 0; seed <= (uint64_t)property_count(100); seed++) {
        struct world *w = world_new(1 + seed, &WITNESS, 25, 0, "reals=true");
        if (seed == 0)
            w->every_ms = 1000000; /* undisturbed */
        else
            trouble(w);
        lives(w, seed == 0 ? 0 : 5, 600);
        const float *sums = train_box_rows(train_master_box(w->c.master), 1);
        if (seed == 0)
            memcpy(first, sums, sizeof first);
        else if (memcmp(first, sums, sizeof first) != 0)
            fail_msg("seed %llu: other sums", (unsigned long long)seed);
        world_free(w);
    }
    assert_true(first[0] > 0 && first[0] != floorf(first[0]));
}

static void checkpoints_are_taken_as_often_as_was_asked_for(void **state)
{
    (void)state;
    for (uint32_t staleness = 0; staleness < 3; staleness++) {
        struct world *w = world_new(1 + staleness, &LEDGER, 400, staleness, "");
        w->every_ms = 100;
        assert_int_equal(birth(w, false, NULL), SHOAL_OK);
        live(w, UINT64_MAX);
        struct train_stats stats = train_master_stats(w->c.master);
        double seconds = (double)env_now_ns(w->c.env) / 1e9;
        assert_int_equal(w->c.status, SHOAL_OK);
        if ((double)stats.checkpoints < 0.7 * seconds / 0.1)
            fail_msg("staleness %u: %llu checkpoints in %g s", staleness,
                     (unsigned long long)stats.checkpoints, seconds);
        world_free(w);
    }
}

static void what_did_not_change_is_not_written_again(void **state)
{
    struct world *w = world_new(3, &LEDGER, 400, 1, "idle=100000");
    shoal_err err;

    (void)state;
    assert_int_equal(birth(w, false, &err), SHOAL_OK);
    live(w, 12000);
    assert_false(w->c.over);
    assert_true(train_master_stats(w->c.master).checkpoints > 3);
    const struct base_buf *full = env_sim_find(w->c.env, "saved/full-0.pack");
    const struct base_buf *delta = env_sim_find(w->c.env, "saved/delta.pack");
    assert_non_null(full);
    assert_non_null(delta);
    assert_null(env_sim_find(w->c.env, "saved/full-1.pack"));
    assert_true(full->size > 400000);
    assert_true(delta->size < 20000);
    death(w);
    assert_int_equal(birth(w, true, &err), SHOAL_OK);
    live(w, UINT64_MAX);
    assert_int_equal(w->c.status, SHOAL_OK);
    check_ledger(w, 400);
    world_free(w);
}

/* A job that has been resumed and died again, with all three files; generation: newest first. */
static struct world *well_saved(uint64_t seed)
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

static void damage(struct world *w, const char *path, struct base_rand *rand)
{
    const struct base_buf *now = env_sim_find(w->c.env, path);
    size_t size = now->size;
    char *bytes = malloc(size + 1);

    memcpy(bytes, now->data, size);
    switch (base_rand_below(rand, 3)) {
    case 0: /* cut */ size = (size_t)base_rand_below(rand, size); break;
    case 1: /* altered */
        bytes[base_rand_below(rand, size)] ^= (char)(1 + base_rand_below(rand, 255));
        break;
    default: /* a block of it lost */ memset(bytes + size / 2, 0, size / 2);
    }
    assert_int_equal(env_sim_put(w->c.env, path, bytes, size), SHOAL_OK);
    free(bytes);
}

static void damaged_files_are_named_and_older_ones_used(void **state)
{
    static const char *const FILES[] = {"saved/full-0.pack", "saved/full-1.pack",
                                        "saved/delta.pack"};
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(40); seed++) {
        struct world *w = well_saved(seed);
        struct base_rand rand;
        uint32_t which = 1 + (uint32_t)(seed % 7), count = 0;
        base_rand_init(&rand, seed, "damage");
        for (uint32_t i = 0; i < 3; i++)
            if (which >> i & 1) {
                damage(w, FILES[i], &rand);
                count++;
            }
        shoal_status st = birth(w, true, &err);
        assert_int_equal(w->warnings, count);
        for (uint32_t i = 0; i < 3; i++)
            assert_true((strstr(w->said, FILES[i]) != NULL) == (which >> i & 1));
        if ((which & 3) == 3) {
            assert_int_equal(st, SHOAL_E_NOTFOUND);
            assert_non_null(strstr(err.message, "no checkpoint is whole"));
        } else {
            assert_int_equal(st, SHOAL_OK);
            live(w, UINT64_MAX);
            assert_int_equal(w->c.status, SHOAL_OK);
            check_ledger(w, 300);
        }
        world_free(w);
    }
}

/* A pack whose sections are those of the file, one of them altered, with right checksums. */
static void forge(struct world *w, const char *path, const char *name, struct base_rand *rand)
{
    struct store_pack *pack;
    struct store_pack_out *out;

    assert_int_equal(store_pack_open(w->c.env, path, NULL, &pack, NULL), SHOAL_OK);
    assert_int_equal(store_pack_create(w->c.env, path, store_pack_kind(pack), &out, NULL),
                     SHOAL_OK);
    for (size_t i = 0; i < store_pack_count(pack); i++) {
        const struct store_section *section = store_pack_at(pack, i);
        size_t size = (size_t)section->size;
        unsigned char *bytes = malloc(size + 9);
        assert_int_equal(store_pack_read(pack, section, 0, bytes, size, NULL), SHOAL_OK);
        if (strcmp(section->name, name) == 0) {
            uint64_t words[] = {0, 1, UINT64_MAX, UINT32_MAX, 1ull << 40, base_rand_u64(rand)};
            size_t at = (size_t)base_rand_below(rand, size) / 8 * 8;
            size_t much = (size_t)base_rand_below(rand, 9);
            memcpy(bytes + at, &words[base_rand_below(rand, 6)], much);
            if (base_rand_below(rand, 4) == 0)
                size = (size_t)base_rand_below(rand, size + 9);
        }
        store_pack_section(out, section->name, bytes, size);
        free(bytes);
    }
    assert_int_equal(store_pack_commit(out, NULL), SHOAL_OK);
    store_pack_close(pack);
}

static void forged_files_are_refused_or_run_and_never_crash_the_driver(void **state)
{
    static const char *const SECTIONS[] = {"driver", "index", "units", "layout", "facts"};
    uint64_t refused = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(300); seed++) {
        struct world *w = world_new(seed, &LEDGER, 30, (uint32_t)(seed % 2), "");
        shoal_err err = SHOAL_ERR_INIT;
        struct base_rand rand;
        base_rand_init(&rand, seed, "forge");
        assert_int_equal(birth(w, false, &err), SHOAL_OK);
        live(w, 600);
        death(w);
        if (env_sim_find(w->c.env, "saved/full-0.pack") != NULL) {
            forge(w, "saved/full-0.pack", SECTIONS[seed % 5], &rand);
            shoal_status st = birth(w, true, &err);
            refused += st != SHOAL_OK;
            assert_true(st == SHOAL_OK || err.message[0] != 0);
        }
        world_free(w);
    }
    assert_true(refused > 50);
}

static void expect_refusal(struct world *w, const char *words)
{
    shoal_err err = SHOAL_ERR_INIT;

    assert_int_equal(birth(w, true, &err), SHOAL_E_INVAL);
    if (strstr(err.message, words) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, words);
}

static void another_job_does_not_resume(void **state)
{
    struct world *w = well_saved(1);
    char settings[sizeof w->settings];
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    w->job_seed = 8;
    expect_refusal(w, "made with seed '7', not '8'");
    w->job_seed = 7;
    w->c.staleness = 2;
    expect_refusal(w, "made with staleness '1', not '2'");
    w->c.staleness = 1;
    w->path = "b";
    expect_refusal(w, "'b' does not hold the data that 'a' had then");
    w->path = "a";
    memcpy(settings, w->settings, sizeof settings);
    snprintf(w->settings, sizeof w->settings, "clocks=300\nidle=5001\ntouch=true");
    expect_refusal(w, "made with idle '5000', not '5001'");
    snprintf(w->settings, sizeof w->settings, "clocks=300\nidle=5000");
    expect_refusal(w, "made with touch 'true', not 'false'");
    memcpy(w->settings, settings, sizeof settings);
    w->app = &WITNESS;
    snprintf(w->settings, sizeof w->settings, "clocks=3");
    expect_refusal(w, "made with app 'ledger', not 'witness'");
    w->app = &LEDGER;
    memcpy(w->settings, settings, sizeof settings);
    assert_int_equal(birth(w, true, &err), SHOAL_OK);
    world_free(w);
}

static void settings_are_the_same_in_any_order_and_with_defaults_written_out(void **state)
{
    struct world *w = well_saved(1);
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    snprintf(w->settings, sizeof w->settings,
             "own=false\ntouch=true\nidle=1\nidle=5000\nclocks=300");
    assert_int_equal(birth(w, true, &err), SHOAL_OK);
    world_free(w);
}

static void a_new_job_does_not_write_over_what_is_there(void **state)
{
    struct world *w = well_saved(1);
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(birth(w, false, &err), SHOAL_E_EXISTS);
    assert_non_null(strstr(err.message, "saved/full-0.pack"));
    assert_non_null(strstr(err.hint, "--resume"));
    world_free(w);
}

static void nothing_to_resume_from_is_an_error(void **state)
{
    struct world *w = world_new(1, &LEDGER, 3, 0, "");
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(birth(w, true, &err), SHOAL_E_NOTFOUND);
    assert_non_null(strstr(err.message, "there is no checkpoint"));
    world_free(w);
}

static void a_disk_that_takes_nothing_costs_the_job_nothing(void **state)
{
    struct world *w = world_new(1, &LEDGER, 150, 1, "");
    shoal_err err;

    (void)state;
    assert_int_equal(env_sim_set_fault(w->c.env, "env.commit", 1), SHOAL_OK);
    assert_int_equal(birth(w, false, &err), SHOAL_OK);
    live(w, UINT64_MAX);
    assert_int_equal(w->c.status, SHOAL_OK);
    check_ledger(w, 150);
    assert_int_equal(train_master_stats(w->c.master).checkpoints, 0);
    assert_true(train_master_stats(w->c.master).checkpoints_failed > 2);
    assert_int_equal(w->warnings, 1);
    assert_non_null(strstr(w->said, "the job goes on"));
    world_free(w);
}

static void a_job_that_is_stopped_leaves_all_it_did(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(60); seed++) {
        struct world *w = world_new(seed, &LEDGER, 40, (uint32_t)(seed % 3), "");
        shoal_err err;
        w->every_ms = seed % 2 == 0 ? 5 : 100000;
        if (seed % 3 == 0) {
            w->c.crash = 0.002;
            w->c.crash_left = 10;
        }
        assert_int_equal(birth(w, false, &err), SHOAL_OK);
        live(w, 100 + 10 * (seed % 60));
        uint64_t before = train_master_stats(w->c.master).tasks;
        train_master_stop(w->c.master);
        train_master_stop(w->c.master); /* once more changes nothing */
        live(w, UINT64_MAX);
        assert_int_equal(w->c.status, SHOAL_E_CANCELLED);
        assert_non_null(strstr(w->c.err.hint, "--resume goes on from here"));
        struct train_stats stats = train_master_stats(w->c.master);
        assert_true(stats.checkpoints > 0 && stats.tasks >= before);
        death(w);
        assert_int_equal(birth(w, true, &err), SHOAL_OK);
        assert_int_equal(train_master_stats(w->c.master).tasks, stats.tasks);
        live(w, UINT64_MAX);
        assert_int_equal(w->c.status, SHOAL_OK);
        check_ledger(w, 40);
        world_free(w);
    }
}

/* ---- memory ---- */

static shoal_status save_and_load(const struct base_alloc *alloc, void *ctx)
{
    struct train_shelf_job job = {&LEDGER, "", "data", 1, 1};
    struct train_shelf *shelf = NULL;
    struct train_box *box[2] = {NULL, NULL};
    struct env_shared segment[2] = {{0}, {0}};
    shoal_env *env = NULL;
    struct base_buf driver;
    uint64_t size;
    shoal_status st = env_sim_new(alloc, 1, &env, NULL);

    (void)ctx;
    if (st != SHOAL_OK)
        return st;
    base_buf_init(&driver, alloc, 1000);
    for (int i = 0; i < 2 && st == SHOAL_OK; i++) {
        struct train_box_opts opts = {.staleness = 1};
        shoal_table_opts table = SHOAL_TABLE_OPTS_INIT;
        table.name = "t";
        table.rows = 8;
        table.shards = 2;
        st = env_shared_new(env, 1 << 20, &segment[i], NULL);
        if (st == SHOAL_OK)
            st = train_box_new(env, &segment[i], &opts, &box[i], NULL);
        if (st == SHOAL_OK)
            st = train_box_executors(box[i], 2, NULL);
        if (st == SHOAL_OK)
            st = train_box_table(box[i], &table, NULL);
        if (st == SHOAL_OK)
            st = train_box_seal(box[i], NULL);
    }
    if (st == SHOAL_OK)
        st = train_shelf_new(env, DIR, box[0], &job, &shelf, NULL);
    if (st == SHOAL_OK) {
        train_box_rows(box[0], 0)[3] = 5;
        st = train_shelf_gather(shelf, NULL);
    }
    if (st == SHOAL_OK)
        st = train_shelf_write(shelf, "driver", 6, &size, NULL);
    train_shelf_free(shelf);
    shelf = NULL;
    if (st == SHOAL_OK)
        st = train_shelf_new(env, DIR, box[1], &job, &shelf, NULL);
    if (st == SHOAL_OK)
        st = train_shelf_load(shelf, NULL, &driver, NULL);
    if (st == SHOAL_OK && (train_box_rows(box[1], 0)[3] != 5 || driver.size != 6))
        st = SHOAL_E_INTERNAL;
    train_shelf_free(shelf);
    for (int i = 0; i < 2; i++) {
        train_box_free(box[i]);
        env_shared_close(env, &segment[i]);
    }
    base_buf_fini(&driver);
    shoal_env_free(env);
    return st;
}

static void memory_that_is_short_is_an_error_and_leaks_nothing(void **state)
{
    (void)state;
    torture_run(save_and_load, NULL);
}

int main(void)
{
    (void)cluster_run; /* for jobs whose driver lives */
    (void)cluster_add;
    (void)cluster_cut;
    (void)cluster_slow;
    (void)cluster_drain;
    (void)cluster_send_babbler;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_driver_may_die_at_any_moment_and_every_task_counts_once),
        cmocka_unit_test(states_tables_held_shards_and_driver_agree_after_every_resume),
        cmocka_unit_test(a_bulk_synchronous_job_ends_bit_for_bit_as_if_nothing_had_happened),
        cmocka_unit_test(checkpoints_are_taken_as_often_as_was_asked_for),
        cmocka_unit_test(what_did_not_change_is_not_written_again),
        cmocka_unit_test(damaged_files_are_named_and_older_ones_used),
        cmocka_unit_test(forged_files_are_refused_or_run_and_never_crash_the_driver),
        cmocka_unit_test(another_job_does_not_resume),
        cmocka_unit_test(settings_are_the_same_in_any_order_and_with_defaults_written_out),
        cmocka_unit_test(a_new_job_does_not_write_over_what_is_there),
        cmocka_unit_test(nothing_to_resume_from_is_an_error),
        cmocka_unit_test(a_disk_that_takes_nothing_costs_the_job_nothing),
        cmocka_unit_test(a_job_that_is_stopped_leaves_all_it_did),
        cmocka_unit_test(memory_that_is_short_is_an_error_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
