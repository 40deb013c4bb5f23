/* ctest: timeout=600 */
/* What driver and worker make of words that no sound peer says: a fake worker talks to a real master,
 * a fake driver to a real worker. Both have the key. */
#include "sim_cases.h"

#include "counting_app.h"
#include "fake_worker.h"
#include "train/worker_parts.h"

/* A job without workers but the fake one, which has got all executors and their first tasks. */
static void fake_begin(struct cluster *c, struct fake *f, uint64_t seed)
{
    c->away = 1;
    c->staleness = 1;
    cluster_begin(c, seed);
    cluster_run(c, &WITNESS, "clocks=6\nstaleness=1", 1e-9);
    env_timer_stop(&c->joiner);
    env_child_free(c->far[0].child);
    c->far[0].child = NULL;
    fake_join(f, c);
    go_on(c, 1);
    assert_non_null(fake_find(f, TRAIN_SETUP, UINT32_MAX));
    for (uint32_t e = 0; e < EXECUTORS; e++)
        assert_non_null(fake_find(f, TRAIN_ADOPT, e));
}

/* A true worker takes the rest, and the job ends as it should. */
static void fake_end(struct cluster *c, struct fake *f)
{
    const struct witness_driver *d = shoal_driver_state(train_master_driver(c->master));

    wire_peer_close(f->peer);
    f->peer = NULL;
    cluster_send_one(c, 1, "1");
    go_on(c, 1000);
    assert_true(c->over);
    if (c->status != SHOAL_OK)
        fail_msg("%s", c->err.message);
    for (uint32_t e = 0; e < EXECUTORS; e++)
        assert_true(d->heard[e] == 6);
    fake_free(f);
    cluster_free(c);
}

static uint32_t executors_of_crew(const struct cluster *c)
{
    struct train_worker_info info;
    uint32_t sum = 0;

    for (uint32_t i = 0; train_master_worker(c->master, i, &info) == SHOAL_OK; i++)
        sum += info.executors;
    return sum;
}

/* An executor is asked back when a second worker comes; words of another epoch do not let it go. */
static void word_of_an_old_epoch_is_not_heard(void **state)
{
    struct cluster c = {0};
    struct fake f, g;
    const struct word *release;

    (void)state;
    fake_begin(&c, &f, 1);
    fake_join(&g, &c);
    go_on(&c, 1);
    release = fake_find(&f, TRAIN_RELEASE, UINT32_MAX);
    assert_non_null(release);
    struct train_unit unit = {release->bytes[0], release->bytes[1]};
    assert_int_equal(unit.epoch, epoch_of(&f, unit.executor));
    unit.epoch--;
    fake_say(&f, TRAIN_RELEASED, &unit, sizeof unit);
    go_on(&c, 1);
    assert_null(fake_find(&g, TRAIN_ADOPT, unit.executor));
    unit.epoch++;
    fake_say(&g, TRAIN_RELEASED, &unit, sizeof unit); /* nor those of another worker */
    go_on(&c, 1);
    assert_null(fake_find(&g, TRAIN_ADOPT, unit.executor));
    fake_say(&f, TRAIN_RELEASED, &unit, sizeof unit);
    go_on(&c, 1);
    assert_non_null(fake_find(&g, TRAIN_ADOPT, unit.executor));
    assert_true(epoch_of(&g, unit.executor) > unit.epoch);
    assert_int_equal(executors_of_crew(&c), EXECUTORS);
    fake_free(&g);
    fake_end(&c, &f);
}

/* Nobody asked for it: the executor stays, or the worker goes; either way the job does. */
static void what_was_not_asked_for_is_not_released(void **state)
{
    struct cluster c = {0};
    struct fake f;

    (void)state;
    fake_begin(&c, &f, 2);
    struct train_unit unit = {3, epoch_of(&f, 3)};
    uint32_t before = f.heard_count;
    fake_say(&f, TRAIN_RELEASED, &unit, sizeof unit);
    go_on(&c, 1);
    assert_int_equal(f.heard_count, before);
    fake_end(&c, &f);
}

/* Commits that make no sense lose the worker, and change nothing. */
static void a_commit_that_makes_no_sense_costs_the_worker(void **state)
{
    struct cluster c = {0};
    struct fake f;
    unsigned char bytes[sizeof(struct train_ended) + 104] = {0};

    (void)state;
    fake_begin(&c, &f, 3);
    struct train_ended ended = {.executor = 2, .epoch = epoch_of(&f, 2), .number = 1, .size = 104};
    memcpy(bytes, &ended, sizeof ended);
    fake_say(&f, TRAIN_COMMIT, bytes, sizeof bytes);
    go_on(&c, 1);
    assert_true(f.closed);
    assert_int_equal(train_box_committed(train_master_box(c.master), 2), 0);
    fake_end(&c, &f);
}

/* What a commit says of its size is looked at first, also of one that would not be heard. */
static void a_commit_longer_than_its_message_costs_the_worker(void **state)
{
    (void)state;
    for (uint32_t missing = 1; missing <= 9; missing += 4) {
        struct cluster c = {0};
        struct fake f;
        unsigned char bytes[sizeof(struct train_ended) + 104] = {0};

        fake_begin(&c, &f, 3);
        struct train_ended ended = {.executor = 2, .number = 1, .size = 104 + missing};
        ended.epoch = epoch_of(&f, 2) - 1;
        memcpy(bytes, &ended, sizeof ended);
        fake_say(&f, TRAIN_COMMIT, bytes, sizeof bytes);
        go_on(&c, 1);
        assert_true(f.closed);
        fake_end(&c, &f);
    }
}

static void a_commit_of_another_s_executor_is_not_heard(void **state)
{
    struct cluster c = {0};
    struct fake f, g;
    unsigned char bytes[sizeof(struct train_ended) + 104] = {0};

    (void)state;
    fake_begin(&c, &f, 4);
    fake_join(&g, &c);
    go_on(&c, 1);
    struct train_ended ended = {.executor = 2, .epoch = epoch_of(&f, 2), .number = 1, .size = 104};
    memcpy(bytes, &ended, sizeof ended);
    fake_say(&g, TRAIN_COMMIT, bytes, sizeof bytes);
    ended.epoch--;
    memcpy(bytes, &ended, sizeof ended);
    fake_say(&f, TRAIN_COMMIT, bytes, sizeof bytes);
    go_on(&c, 1);
    assert_false(f.closed || g.closed);
    fake_free(&g);
    fake_end(&c, &f);
}

/* A worker from elsewhere that cannot even be set up is no reason to end a job. */
static void an_error_about_an_executor_that_is_elsewhere_costs_the_worker(void **state)
{
    struct cluster c = {0};
    struct fake f, g;
    struct train_failed failed = {
        .executor = 0, .code = SHOAL_E_NOTFOUND, .message = "no such app"};

    (void)state;
    fake_begin(&c, &f, 5);
    fake_join(&g, &c);
    go_on(&c, 1);
    fake_say(&g, TRAIN_FAILED, &failed, sizeof failed);
    go_on(&c, 1);
    assert_true(g.closed && !f.closed && !c.over);
    fake_free(&g);
    fake_end(&c, &f);
}

/* Rows come before the task that must see them, and two tasks of an executor are never out at once
 * on another machine. */
static void a_task_elsewhere_comes_after_its_rows_and_alone(void **state)
{
    struct cluster c = {0};
    struct fake f;
    uint32_t rows = 0, tasks[EXECUTORS] = {0};

    (void)state;
    fake_begin(&c, &f, 6);
    for (uint32_t i = 0; i < f.heard_count; i++) {
        const struct train_order *order = (const void *)f.heard[i].bytes;
        rows += f.heard[i].kind == TRAIN_ROWS;
        if (f.heard[i].kind != TRAIN_TASK)
            continue;
        assert_true(rows >= 7); /* shards of all tables */
        assert_true(++tasks[order->spec.executor] == 1);
    }
    for (uint32_t e = 0; e < EXECUTORS; e++)
        assert_int_equal(tasks[e], 1);
    fake_end(&c, &f);
}

/* ---- a fake driver ---- */

struct boss {
    shoal_env *env;
    struct env_loop *loop, *worker_loop;
    struct wire_server *server;
    struct wire_peer *peer;
    struct wire_key key;
    struct train_worker *worker;
    struct env_shared segment;
    struct train_box *box;
    bool ended, died;
    uint32_t patience_ms; /* for the worker */
    shoal_status status;
    shoal_err err;
    struct word heard[HEARD_MAX];
    uint32_t heard_count;
};

static void boss_heard(void *ctx, struct wire_peer *peer, uint16_t kind, const void *bytes,
                       size_t size)
{
    struct boss *b = ctx;
    struct word *word = &b->heard[b->heard_count++ % HEARD_MAX];

    (void)peer;
    *word = (struct word){.kind = kind, .size = size};
    memcpy(word->bytes, bytes, size < sizeof word->bytes ? size : sizeof word->bytes);
}

static void boss_closed(void *ctx, struct wire_peer *peer, const shoal_err *why)
{
    (void)peer;
    (void)why;
    ((struct boss *)ctx)->peer = NULL;
}

static const struct wire_peer_ops BOSS_OPS = {NULL, boss_heard, boss_closed};

static void boss_accept(void *ctx, struct wire_peer *peer)
{
    struct boss *b = ctx;

    b->peer = peer;
    wire_peer_set(peer, &BOSS_OPS, b);
}

static const shoal_app *boss_find(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, WITNESS.name) == 0 ? &WITNESS : NULL;
}

static void boss_ended(void *ctx, shoal_status status, const shoal_err *err)
{
    struct boss *b = ctx;

    b->ended = true;
    b->status = status;
    b->err = *err;
}

static uint64_t boss_task_ns(void *ctx, const struct train_task_spec *spec)
{
    (void)ctx;
    (void)spec;
    return 100000;
}

/* A box as the witness application has it, to make true words from. */
static void boss_plan(struct boss *b)
{
    struct train_box_opts opts = {.staleness = 1};
    shoal_table_opts table = SHOAL_TABLE_OPTS_INIT;

    assert_int_equal(env_shared_new(b->env, 8 << 20, &b->segment, NULL), SHOAL_OK);
    assert_int_equal(train_box_new(b->env, &b->segment, &opts, &b->box, NULL), SHOAL_OK);
    assert_int_equal(train_box_executors(b->box, EXECUTORS, NULL), SHOAL_OK);
    for (uint32_t e = 0; e < EXECUTORS; e++)
        assert_non_null(train_box_state(b->box, e, sizeof(struct witness_state)));
    for (int i = 0; i < 3; i++) {
        table.name = i == 0 ? "witness" : i == 1 ? "sums" : "wide";
        table.rows = i == 0 ? EXECUTORS : i == 1 ? ROWS : WIDE_ROWS;
        table.width = i == 0 ? 1 : i == 1 ? WIDTH : WIDE_WIDTH;
        assert_int_equal(train_box_table(b->box, &table, NULL), SHOAL_OK);
    }
    assert_int_equal(train_box_seal(b->box, NULL), SHOAL_OK);
}

static void boss_begin(struct boss *b, uint64_t seed)
{
    struct train_worker_opts opts = {.key = &b->key,
                                     .threads = 2,
                                     .host = "there",
                                     .segment = -1,
                                     .find = boss_find,
                                     .ended = boss_ended,
                                     .ctx = b,
                                     .task_ns = boss_task_ns};

    memset(b, 0, sizeof *b);
    assert_int_equal(shoal_env_sim_new(seed, &b->env, NULL), SHOAL_OK);
    boss_plan(b);
    assert_int_equal(wire_key_new(b->env, &b->key, NULL), SHOAL_OK);
    assert_int_equal(env_loop_new(b->env, "home", &b->loop, NULL), SHOAL_OK);
    assert_int_equal(env_loop_new(b->env, "there", &b->worker_loop, NULL), SHOAL_OK);
    assert_int_equal(
        wire_server_new(b->loop, "home:0", &b->key, NULL, boss_accept, NULL, b, &b->server, NULL),
        SHOAL_OK);
    opts.address = wire_server_address(b->server);
    assert_int_equal(train_worker_new(b->worker_loop, &opts, &b->worker, NULL), SHOAL_OK);
    env_sim_run(b->env, 1000000000, NULL, NULL);
    assert_true(b->peer != NULL && b->heard_count == 1 && b->heard[0].kind == TRAIN_JOIN);
}

static void boss_wait(struct boss *b)
{
    env_sim_run(b->env, env_now_ns(b->env) + 100000000, NULL, NULL);
}

static void boss_free(struct boss *b)
{
    train_worker_free(b->worker);
    wire_peer_close(b->peer);
    wire_server_free(b->server);
    train_box_free(b->box);
    env_shared_close(b->env, &b->segment);
    env_loop_free(b->worker_loop);
    env_loop_free(b->loop);
    shoal_env_free(b->env);
}

static void boss_say(struct boss *b, uint16_t kind, const void *bytes, size_t size)
{
    if (b->peer != NULL && wire_peer_send(b->peer, kind, bytes, size) != SHOAL_OK)
        abort();
}

static size_t boss_setup_bytes(struct boss *b, unsigned char *bytes, size_t max)
{
    static const char TEXT[] = "witness\nclocks=6\nstaleness=1";
    struct base_buf layout;
    struct train_setup setup = {.seed = 1,
                                .segment_size = 8 << 20,
                                .worker = 1,
                                .staleness = 1,
                                .text_size = sizeof TEXT - 1,
                                .patience_ms = b->patience_ms};

    base_buf_init(&layout, &base_alloc_libc, 1 << 20);
    train_box_pack_layout(b->box, &layout);
    setup.layout_size = (uint32_t)layout.size;
    size_t size = sizeof setup + sizeof TEXT - 1 + layout.size;
    assert_true(size <= max);
    memcpy(bytes, &setup, sizeof setup);
    memcpy(bytes + sizeof setup, TEXT, sizeof TEXT - 1);
    memcpy(bytes + sizeof setup + sizeof TEXT - 1, layout.data, layout.size);
    base_buf_fini(&layout);
    return size;
}

static size_t boss_adopt_bytes(struct boss *b, uint32_t executor, uint32_t epoch,
                               unsigned char *bytes, size_t max)
{
    struct train_unit unit = {executor, epoch};
    struct base_buf state;

    base_buf_init(&state, &base_alloc_libc, 1 << 20);
    train_box_pack_executor(b->box, executor, &state);
    size_t size = sizeof unit + state.size;
    assert_true(size <= max);
    memcpy(bytes, &unit, sizeof unit);
    memcpy(bytes + sizeof unit, state.data, state.size);
    base_buf_fini(&state);
    return size;
}

static size_t boss_rows_bytes(struct boss *b, uint32_t table, unsigned char *bytes, size_t max)
{
    struct base_buf rows;

    base_buf_init(&rows, &base_alloc_libc, 1 << 20);
    train_box_pack_rows(b->box, table, 0, 0, &rows);
    size_t size = rows.size;
    assert_true(size <= max);
    memcpy(bytes, rows.data, size);
    base_buf_fini(&rows);
    return size;
}

static struct train_order boss_order(uint32_t executor, uint32_t epoch, uint64_t number)
{
    return (struct train_order){.epoch = epoch,
                                .spec = {.executor = executor,
                                         .number = number,
                                         .clock = number - 1,
                                         .ends_clock = true,
                                         .arg_size = EXECUTORS * sizeof(uint64_t)}};
}

static uint32_t boss_count(const struct boss *b, uint16_t kind)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < b->heard_count && i < HEARD_MAX; i++)
        count += b->heard[i].kind == kind;
    return count;
}

static void boss_set_up(struct boss *b, uint32_t executor, uint32_t epoch)
{
    unsigned char bytes[4096];

    boss_say(b, TRAIN_SETUP, bytes, boss_setup_bytes(b, bytes, sizeof bytes));
    boss_say(b, TRAIN_ADOPT, bytes, boss_adopt_bytes(b, executor, epoch, bytes, sizeof bytes));
    for (uint32_t t = 0; t < 3; t++)
        boss_say(b, TRAIN_ROWS, bytes, boss_rows_bytes(b, t, bytes, sizeof bytes));
    boss_wait(b);
    if (b->ended)
        fail_msg("%s", b->err.message);
}

/* The driver and the worker do not agree on where things are: the worker goes. */
static void boss_is_refused(struct boss *b, uint16_t kind, const void *bytes, size_t size)
{
    uint32_t commits = boss_count(b, TRAIN_COMMIT), released = boss_count(b, TRAIN_RELEASED);

    assert_false(b->ended);
    boss_say(b, kind, bytes, size);
    boss_wait(b);
    assert_true(b->ended && b->status == SHOAL_E_FORMAT);
    assert_int_equal(boss_count(b, TRAIN_COMMIT), commits);
    assert_int_equal(boss_count(b, TRAIN_RELEASED), released);
    boss_free(b);
}

/* Set up with executor 4 in epoch 7, of which one task has run and is not accepted. */
static void boss_run_one(struct boss *b)
{
    struct train_order order = boss_order(4, 7, 1);

    boss_begin(b, 1);
    boss_set_up(b, 4, 7);
    boss_say(b, TRAIN_TASK, &order, sizeof order);
    boss_wait(b);
    assert_int_equal(boss_count(b, TRAIN_COMMIT), 1);
}

static void a_worker_runs_a_task_of_the_epoch_it_knows_and_no_other(void **state)
{
    struct boss b;
    struct train_order order = boss_order(4, 6, 2);

    (void)state;
    boss_run_one(&b);
    boss_is_refused(&b, TRAIN_TASK, &order, sizeof order);
    boss_run_one(&b);
    order = boss_order(3, 7, 1); /* nor one of an executor that it has not got */
    boss_is_refused(&b, TRAIN_TASK, &order, sizeof order);
}

static void a_worker_that_is_asked_to_release_an_executor_takes_no_more_tasks(void **state)
{
    struct boss b;
    struct train_unit unit = {4, 7};
    struct train_order order = boss_order(4, 7, 2);

    (void)state;
    boss_run_one(&b);
    boss_say(&b, TRAIN_RELEASE, &unit, sizeof unit);
    boss_wait(&b);
    boss_is_refused(&b, TRAIN_TASK, &order, sizeof order);
}

static void a_worker_releases_an_executor_only_when_home_has_its_last_commit(void **state)
{
    struct boss b;
    struct train_accepted accepted = {{4, 7}, 1};
    struct train_unit unit = {4, 7};

    (void)state;
    boss_run_one(&b);
    boss_say(&b, TRAIN_RELEASE, &unit, sizeof unit);
    boss_wait(&b);
    assert_int_equal(boss_count(&b, TRAIN_RELEASED), 0);
    boss_say(&b, TRAIN_ACCEPTED, &accepted, sizeof accepted);
    boss_wait(&b);
    assert_int_equal(boss_count(&b, TRAIN_RELEASED), 1);
    boss_free(&b);
}

/* The same when the task is still running as it is asked. */
static void a_worker_releases_an_executor_in_a_task_only_when_home_has_it(void **state)
{
    struct boss b;
    struct train_accepted accepted = {{4, 7}, 1};
    struct train_unit unit = {4, 7};
    struct train_order order = boss_order(4, 7, 1);

    (void)state;
    boss_begin(&b, 1);
    boss_set_up(&b, 4, 7);
    boss_say(&b, TRAIN_TASK, &order, sizeof order);
    env_sim_run(b.env, env_now_ns(b.env) + 50000, NULL, NULL); /* it takes twice that */
    assert_int_equal(boss_count(&b, TRAIN_COMMIT), 0);
    boss_say(&b, TRAIN_RELEASE, &unit, sizeof unit);
    boss_wait(&b);
    assert_int_equal(boss_count(&b, TRAIN_COMMIT), 1);
    assert_int_equal(boss_count(&b, TRAIN_RELEASED), 0);
    boss_say(&b, TRAIN_ACCEPTED, &accepted, sizeof accepted);
    boss_wait(&b);
    assert_int_equal(boss_count(&b, TRAIN_RELEASED), 1);
    boss_free(&b);
}

static void a_release_or_receipt_of_another_epoch_is_refused(void **state)
{
    struct boss b;
    struct train_unit unit = {4, 6};
    struct train_accepted accepted = {{4, 6}, 1};

    (void)state;
    boss_run_one(&b);
    boss_is_refused(&b, TRAIN_RELEASE, &unit, sizeof unit);
    boss_run_one(&b);
    boss_is_refused(&b, TRAIN_ACCEPTED, &accepted, sizeof accepted);
}

static void an_executor_that_is_there_is_not_adopted_again(void **state)
{
    struct boss b;
    unsigned char bytes[4096];
    size_t size;

    (void)state;
    boss_run_one(&b);
    size = boss_adopt_bytes(&b, 4, 8, bytes, sizeof bytes);
    boss_is_refused(&b, TRAIN_ADOPT, bytes, size);
    boss_begin(&b, 1);
    boss_set_up(&b, 4, 7); /* nor when nothing has run yet */
    boss_is_refused(&b, TRAIN_ADOPT, bytes, size);
}

/* The second task waits for home's word on the first. */
static void a_worker_elsewhere_runs_an_executor_s_next_task_when_the_last_is_home(void **state)
{
    struct boss b;
    struct train_accepted accepted = {{4, 7}, 1};
    struct train_order order = boss_order(4, 7, 2);

    (void)state;
    boss_run_one(&b);
    boss_say(&b, TRAIN_TASK, &order, sizeof order);
    boss_wait(&b);
    assert_true(boss_count(&b, TRAIN_COMMIT) == 1 && boss_count(&b, TRAIN_FAILED) == 0);
    boss_say(&b, TRAIN_ACCEPTED, &accepted, sizeof accepted);
    boss_wait(&b);
    assert_true(boss_count(&b, TRAIN_COMMIT) + boss_count(&b, TRAIN_FAILED) > 1);
    boss_free(&b);
}

/* ---- waiting ---- */

/* Whether the worker is still there after a silence of the driver's. */
static bool outwaits(uint32_t patience_ms, uint64_t silence_s)
{
    struct boss b;

    boss_begin(&b, 1);
    b.patience_ms = patience_ms;
    boss_set_up(&b, 4, 7);
    env_sim_cut(b.env, "home", "there", true);
    env_sim_run(b.env, env_now_ns(b.env) + silence_s * 1000000000, NULL, NULL);
    bool is_there = !b.ended;
    assert_true(is_there || b.status == SHOAL_E_IO);
    boss_free(&b);
    return is_there;
}

static void a_worker_elsewhere_waits_for_a_silent_driver_as_long_as_it_was_told(void **state)
{
    (void)state;
    assert_true(outwaits(0, 8));
    assert_false(outwaits(0, 12)); /* what wires have by themselves */
    assert_true(outwaits(60000, 55));
    assert_false(outwaits(60000, 65));
    assert_true(outwaits(3000, 2));
    assert_false(outwaits(3000, 5));
    assert_false(outwaits(1, 5)); /* too little to hear an answer in: it is taken for 2 s */
    assert_true(outwaits(1, 1));
}

static void put_locked_rows(struct boss *b, uint32_t *shard_lock)
{
    unsigned char bytes[4096];
    struct box_shard *shard = b->worker->box->shards[0].shard;

    *shard_lock = shard->lock;
    shard->lock = UINT32_MAX; /* of somebody who does not come back */
    boss_say(b, TRAIN_ROWS, bytes, boss_rows_bytes(b, 0, bytes, sizeof bytes));
}

static void rows_of_a_shard_that_stays_locked_are_given_up_and_the_driver_is_told(void **state)
{
    struct boss b;
    uint32_t lock;

    (void)state;
    boss_begin(&b, 1);
    boss_set_up(&b, 4, 7);
    put_locked_rows(&b, &lock);
    env_sim_run(b.env, env_now_ns(b.env) + 50ull * 1000000000, NULL, NULL);
    assert_true(!b.ended && boss_count(&b, TRAIN_FAILED) == 0 && worker_waits(b.worker));
    b.worker->box->shards[0].shard->lock = lock; /* it does, though late */
    boss_wait(&b);
    assert_true(!b.ended && !worker_waits(b.worker));
    put_locked_rows(&b, &lock);
    env_sim_run(b.env, env_now_ns(b.env) + 70ull * 1000000000, NULL, NULL);
    assert_int_equal(boss_count(&b, TRAIN_FAILED), 1);
    wire_peer_close(b.peer); /* as a driver does then */
    b.peer = NULL;
    boss_wait(&b);
    assert_true(b.ended && b.status == SHOAL_E_INTERNAL);
    assert_non_null(strstr(b.err.message, "locked for more than 60 s"));
    boss_free(&b);
}

/* Words that are nearly right, in any order. */
struct nonsense {
    struct base_rand rand;
    uint64_t number[3];
    bool here[3];
};

static uint16_t nonsense_kind(struct nonsense *n, uint32_t turn, uint32_t executor)
{
    static const uint16_t KINDS[] = {TRAIN_TASK, TRAIN_DATA, TRAIN_ROWS,    TRAIN_TASK,
                                     TRAIN_TASK, TRAIN_ROWS, TRAIN_ACCEPTED};

    if (turn <= 3)
        return turn == 0 ? TRAIN_SETUP : TRAIN_ROWS;
    if (base_rand_below(&n->rand, 24) == 0)
        return (uint16_t)(TRAIN_SETUP + base_rand_below(&n->rand, 8));
    return n->here[executor] ? KINDS[base_rand_below(&n->rand, 7)] : TRAIN_ADOPT;
}

static size_t nonsense_bytes(struct nonsense *n, struct boss *b, uint16_t kind, uint32_t executor,
                             unsigned char *bytes, size_t max)
{
    struct train_unit unit = {executor, 1};
    struct train_accepted accepted = {unit, n->number[executor]};
    struct train_piece piece = {.executor = executor, .total = 64};
    struct train_order order;

    memcpy(bytes, &unit, sizeof unit);
    switch (kind) {
    case TRAIN_SETUP: return boss_setup_bytes(b, bytes, max);
    case TRAIN_ROWS: return boss_rows_bytes(b, executor, bytes, max);
    case TRAIN_ADOPT: n->here[executor] = true; return boss_adopt_bytes(b, executor, 1, bytes, max);
    case TRAIN_ACCEPTED: memcpy(bytes, &accepted, sizeof accepted); return sizeof accepted;
    case TRAIN_DATA: memcpy(bytes, &piece, sizeof piece); return sizeof piece + 64;
    case TRAIN_TASK:
        order = boss_order(executor, 1, 1 + n->number[executor]++);
        memcpy(bytes, &order, sizeof order);
        return sizeof order;
    default: return sizeof unit;
    }
}

static void nonsense_say(struct nonsense *n, struct boss *b, uint32_t turn)
{
    unsigned char bytes[4096] = {0};
    uint32_t executor = turn > 0 && turn <= 3 ? turn - 1 : (uint32_t)base_rand_below(&n->rand, 3);
    uint16_t kind = nonsense_kind(n, turn, executor);
    size_t size = nonsense_bytes(n, b, kind, executor, bytes, sizeof bytes);

    if (base_rand_below(&n->rand, 24) == 0)
        for (int k = 0; k < 4; k++)
            bytes[base_rand_below(&n->rand, size)] = (unsigned char)base_rand_u64(&n->rand);
    if (base_rand_below(&n->rand, 48) == 0)
        size = base_rand_below(&n->rand, size + 1);
    boss_say(b, kind, bytes, size);
    if (base_rand_below(&n->rand, 2) == 0)
        boss_wait(b);
}

static void a_worker_ends_with_a_word_or_goes_on_whatever_its_driver_says(void **state)
{
    uint64_t ended = 0, commits = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= sim_seeds(400); seed++) {
        struct boss b;
        struct nonsense n = {.number = {0}};
        base_rand_init(&n.rand, seed, "nonsense");
        boss_begin(&b, seed);
        for (uint32_t turn = 0; turn < 40 && !b.ended; turn++)
            nonsense_say(&n, &b, turn);
        boss_wait(&b);
        if (b.ended && b.status != SHOAL_OK && b.err.message[0] == 0)
            fail_msg("seed %llu: it ended without a word", (unsigned long long)seed);
        ended += b.ended;
        commits += boss_count(&b, TRAIN_COMMIT);
        boss_free(&b);
    }
    print_message("%llu ended, %llu commits\n", (unsigned long long)ended,
                  (unsigned long long)commits);
    assert_true(ended > 0 && commits > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(word_of_an_old_epoch_is_not_heard),
        cmocka_unit_test(what_was_not_asked_for_is_not_released),
        cmocka_unit_test(a_commit_that_makes_no_sense_costs_the_worker),
        cmocka_unit_test(a_commit_longer_than_its_message_costs_the_worker),
        cmocka_unit_test(a_commit_of_another_s_executor_is_not_heard),
        cmocka_unit_test(an_error_about_an_executor_that_is_elsewhere_costs_the_worker),
        cmocka_unit_test(a_task_elsewhere_comes_after_its_rows_and_alone),
        cmocka_unit_test(a_worker_runs_a_task_of_the_epoch_it_knows_and_no_other),
        cmocka_unit_test(a_worker_that_is_asked_to_release_an_executor_takes_no_more_tasks),
        cmocka_unit_test(a_worker_releases_an_executor_only_when_home_has_its_last_commit),
        cmocka_unit_test(a_worker_releases_an_executor_in_a_task_only_when_home_has_it),
        cmocka_unit_test(a_release_or_receipt_of_another_epoch_is_refused),
        cmocka_unit_test(an_executor_that_is_there_is_not_adopted_again),
        cmocka_unit_test(a_worker_elsewhere_runs_an_executor_s_next_task_when_the_last_is_home),
        cmocka_unit_test(a_worker_elsewhere_waits_for_a_silent_driver_as_long_as_it_was_told),
        cmocka_unit_test(rows_of_a_shard_that_stays_locked_are_given_up_and_the_driver_is_told),
        cmocka_unit_test(a_worker_ends_with_a_word_or_goes_on_whatever_its_driver_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
