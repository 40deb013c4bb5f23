/* Tests of src/train/carry.c: executors that live in other boxes, and bytes that make no sense. */
#include "property.h"

#include "box_world.h"

#include "train/box_parts.h"

enum { AWAY = 2, QUEUE = 2 };

/* A box on another machine, with what the driver knows of it. */
struct away {
    struct env_shared segment;
    struct train_box *box;
    struct train_desk *desk;
    uint64_t version[WORLD_TABLES_MAX][64]; /* of rows sent, by table and shard */
};

struct carry {
    struct world w;
    struct away away[AWAY];
    uint32_t place[WORLD_EXECUTORS_MAX]; /* 0: home; else away[place - 1] */
    bool has_data[AWAY][WORLD_EXECUTORS_MAX];
    struct base_buf queue[WORLD_EXECUTORS_MAX][QUEUE]; /* commits that home has not imported */
    uint32_t queued[WORLD_EXECUTORS_MAX];
    uint64_t imports, moves, refused, waits;
};

struct segments {
    shoal_env *env;
    struct env_shared home, away[AWAY];
};

static int open_segments(void **state)
{
    static struct segments s;

    if (shoal_env_sim_new(1, &s.env, NULL) != SHOAL_OK ||
        env_shared_new(s.env, WORLD_SEGMENT, &s.home, NULL) != SHOAL_OK)
        return -1;
    for (int i = 0; i < AWAY; i++)
        if (env_shared_new(s.env, WORLD_SEGMENT, &s.away[i], NULL) != SHOAL_OK)
            return -1;
    *state = &s;
    return 0;
}

static int clean_segments(void **state)
{
    struct segments *s = *state;

    env_shared_drop(s->env, &s->home, 0, WORLD_SEGMENT);
    for (int i = 0; i < AWAY; i++)
        env_shared_drop(s->env, &s->away[i], 0, WORLD_SEGMENT);
    return 0;
}

static int close_segments(void **state)
{
    struct segments *s = *state;

    env_shared_close(s->env, &s->home);
    for (int i = 0; i < AWAY; i++)
        env_shared_close(s->env, &s->away[i]);
    shoal_env_free(s->env);
    return 0;
}

static void carry_begin(struct carry *c, const struct segments *s, const struct world_opts *opts)
{
    struct base_buf layout;

    memset(c, 0, sizeof *c);
    world_begin(&c->w, s->env, &s->home, opts);
    base_buf_init(&layout, &base_alloc_libc, 1 << 20);
    train_box_pack_layout(c->w.box, &layout);
    for (uint32_t i = 0; i < AWAY; i++) {
        struct away *a = &c->away[i];
        a->segment = s->away[i];
        assert_int_equal(train_box_new_from_layout(s->env, &a->segment, 9, layout.data, layout.size,
                                                   NULL, &a->box, NULL),
                         SHOAL_OK);
        assert_int_equal(train_desk_new(a->box, &a->desk), SHOAL_OK);
    }
    base_buf_fini(&layout);
    for (uint32_t e = 0; e < c->w.executors; e++)
        for (int i = 0; i < QUEUE; i++)
            base_buf_init(&c->queue[e][i], &base_alloc_libc, 1 << 24);
}

static void carry_end(struct carry *c)
{
    for (uint32_t e = 0; e < c->w.executors; e++)
        for (int i = 0; i < QUEUE; i++)
            base_buf_fini(&c->queue[e][i]);
    for (uint32_t i = 0; i < AWAY; i++) {
        struct away *a = &c->away[i];
        size_t used = train_box_memory(a->box);
        train_desk_free(a->desk);
        train_box_free(a->box);
        memset(a->segment.base, 0, used + (1 << 20));
    }
    world_end(&c->w);
}

/* Sends what changed of a shard, sometimes twice. */
static void send_rows(struct carry *c, struct away *a, uint32_t t, uint32_t s)
{
    struct base_buf rows;

    base_buf_init(&rows, &base_alloc_libc, 1 << 24);
    uint64_t version = train_box_pack_rows(c->w.box, t, s, a->version[t][s], &rows);
    if (version == 0)
        world_wrong(&c->w, "rows cannot be packed");
    for (uint64_t i = 0; i <= base_rand_below(&c->w.rand, 2); i++)
        if (train_box_put_rows(a->box, rows.data, rows.size, NULL) != SHOAL_OK)
            world_wrong(&c->w, "rows are refused");
    a->version[t][s] = version;
    base_buf_fini(&rows);
}

static void send_tables(struct carry *c, struct away *a)
{
    for (uint32_t t = 0; t < c->w.tables; t++)
        for (uint32_t s = 0; s < c->w.table[t].shards; s++)
            if (!c->w.table[t].held)
                send_rows(c, a, t, s);
    train_box_close(a->box, train_box_closed(c->w.box));
}

/* Home imports the oldest commit of the executor that it has not got. */
static void import_next(struct carry *c, uint32_t e)
{
    struct base_buf *q = c->queue[e];

    if (c->queued[e] == 0)
        return;
    if (c->queued[e] == 2) { /* the younger first: a gap */
        c->refused++;
        if (train_box_import(c->w.box, e, q[1].data, q[1].size, NULL) != SHOAL_E_INVAL)
            world_wrong(&c->w, "a gap is not refused");
    }
    for (uint64_t i = 0; i <= base_rand_below(&c->w.rand, 2); i++) {
        shoal_status st = train_box_import(c->w.box, e, q[0].data, q[0].size, NULL);
        if (st == SHOAL_AGAIN && i == 0) {
            c->waits++;
            return;
        }
        if (st != SHOAL_OK)
            world_wrong(&c->w, "an import is refused");
    }
    c->imports++;
    struct base_buf first = q[0];
    q[0] = q[1];
    q[1] = first;
    base_buf_clear(&q[1]);
    c->queued[e]--;
    world_hear(&c->w, e);
}

static void run_away(struct carry *c, uint32_t e)
{
    struct world *w = &c->w;
    struct away *a = &c->away[c->place[e] - 1];
    uint64_t number = train_box_committed(a->box, e) + 1;
    struct train_task_spec spec = {.executor = e,
                                   .fn = (uint32_t)(number % 7),
                                   .number = number,
                                   .clock = world_clock(w, e, number),
                                   .ends_clock = world_ends(w, e, number)};
    shoal_task *task;

    if (c->queued[e] == QUEUE || number > world_last(w, e) ||
        spec.clock > train_box_closed(w->box) + w->opts.staleness)
        return;
    world_hold(w, e, number, &spec);
    witness_dispatch(&w->witness, e);
    send_tables(c, a);
    if (spec.holds)
        send_rows(c, a, spec.hold_table, spec.hold_shard);
    shoal_status st = train_task_begin(a->desk, w->opts.seed, w, &spec, &task, NULL);
    if (st == SHOAL_AGAIN) {
        c->waits++;
        return;
    }
    if (st != SHOAL_OK) {
        world_wrong(w, "a task away does not begin");
        return;
    }
    if (w->opts.staleness > 0 && c->queued[e] == 0 && /* else home has not got them */
        shoal_task_rows(task, 0)[e] < (float)((number - 1) / w->per_clock[e]))
        world_wrong(w, "an executor away does not see its own increments");
    if (spec.ends_clock)
        witness_issue(&w->witness, e, number / w->per_clock[e]);
    world_act(w, e, number, task);
    if (base_rand_below(&w->rand, 2) == 0)
        send_tables(c, a); /* rows come in the middle of a task, too */
    if (train_task_commit(task, NULL) != SHOAL_OK)
        world_wrong(w, "a task away does not commit");
    train_box_pack_commit(a->box, e, &c->queue[e][c->queued[e]++]);
    while (spec.holds && c->queued[e] > 0 && w->wrong == NULL)
        import_next(c, e);
}

/* Moves an executor when home has all commits of the place that it leaves: it has seen them. */
static void move(struct carry *c, uint32_t e)
{
    uint32_t to = (uint32_t)base_rand_below(&c->w.rand, AWAY + 1);
    struct base_buf bytes;
    size_t size;

    if (to == c->place[e])
        return;
    for (uint32_t i = 0; i < c->w.executors; i++)
        while (c->place[i] == c->place[e] && c->queued[i] > 0 && c->w.wrong == NULL)
            import_next(c, i);
    c->moves++;
    c->place[e] = to;
    if (to == 0)
        return;
    struct away *a = &c->away[to - 1];
    base_buf_init(&bytes, &base_alloc_libc, 1 << 20);
    const char *data = train_box_data_read(c->w.box, e, &size);
    for (size_t at = 0; !c->has_data[to - 1][e] && at < size; at += 8)
        if (train_box_put_data(a->box, e, at, size, data + at, 8, NULL) != SHOAL_OK)
            world_wrong(&c->w, "data is refused");
    c->has_data[to - 1][e] = true;
    train_box_pack_executor(c->w.box, e, &bytes);
    if (train_box_put_executor(a->box, e, bytes.data, bytes.size, NULL) != SHOAL_OK)
        world_wrong(&c->w, "an executor is refused");
    base_buf_fini(&bytes);
}

static void run_home(struct carry *c, uint32_t e)
{
    struct world *w = &c->w;
    struct world_worker *k = &w->worker[0];

    if (!world_may_run(w, e))
        return;
    if (world_task_begin(w, k, e) != SHOAL_OK)
        return;
    while (k->task != NULL && w->wrong == NULL)
        if (world_task_step(w, k) != SHOAL_OK)
            world_wrong(w, "a task at home fails");
}

/* One step; now and then a shard of home is locked by somebody meanwhile. */
static void carry_step(struct carry *c)
{
    uint32_t e = (uint32_t)base_rand_below(&c->w.rand, c->w.executors);

    switch (base_rand_below(&c->w.rand, 4)) {
    case 0: move(c, e); break;
    case 1: import_next(c, e); break;
    default:
        if (c->place[e] == 0)
            run_home(c, e);
        else
            run_away(c, e);
    }
}

static void carry_run(struct carry *c)
{
    for (uint64_t steps = 0; !world_done(&c->w) && c->w.wrong == NULL; steps++) {
        carry_step(c);
        if (steps > 100000)
            world_wrong(&c->w, "it goes on for ever");
    }
    if (c->w.wrong == NULL &&
        (train_box_fold(c->w.box) != SHOAL_OK || !train_box_settled(c->w.box)))
        world_wrong(&c->w, "something is committed and not folded");
}

static void executors_may_run_anywhere_and_every_increment_counts_once(void **state)
{
    static struct carry c;
    uint64_t imports = 0, moves = 0, waits = 0;

    for (int seed = 1; seed <= property_count(300); seed++) {
        struct world_opts opts = {
            .seed = (uint64_t)seed, .staleness = (uint32_t)seed % 4, .workers = 1};
        carry_begin(&c, *state, &opts);
        carry_run(&c);
        if (c.w.wrong == NULL)
            world_compare(&c.w);
        if (c.w.wrong != NULL)
            fail_msg("seed %d: %s", seed, c.w.wrong);
        imports += c.imports;
        moves += c.moves;
        waits += c.waits;
        carry_end(&c);
    }
    print_message("%llu imports, %llu moves, %llu waits\n", (unsigned long long)imports,
                  (unsigned long long)moves, (unsigned long long)waits);
    assert_true(imports > 1000 && moves > 1000);
}

static void bulk_synchronous_bits_do_not_depend_on_where_executors_run(void **state)
{
    static struct carry c;

    for (int seed = 1; seed <= property_count(100); seed++) {
        const struct segments *s = *state;
        struct world_opts opts = {.seed = (uint64_t)seed, .workers = 1, .reals = true};
        world_begin(&c.w, s->env, &s->home, &opts);
        world_run(&c.w);
        assert_null(c.w.wrong);
        uint64_t hash = world_hash(&c.w);
        world_end(&c.w);
        carry_begin(&c, s, &opts);
        carry_run(&c);
        if (c.w.wrong != NULL)
            fail_msg("seed %d: %s", seed, c.w.wrong);
        if (world_hash(&c.w) != hash)
            fail_msg("seed %d: other bits", seed);
        carry_end(&c);
    }
}

/* Two commits that a locked shard has not folded fill both outboxes; a third has to wait. */
static void an_import_waits_for_a_locked_shard_and_loses_nothing(void **state)
{
    static struct world home, source;
    const struct segments *s = *state;
    struct world_opts opts = {.seed = 1, .staleness = 9, .workers = 1};
    struct base_buf bytes;
    float one = 1;

    world_begin(&home, s->env, &s->home, &opts);
    world_begin(&source, s->env, &s->away[0], &opts);
    base_buf_init(&bytes, &base_alloc_libc, 1 << 20);
    atomic_store(&home.box->shards[0].shard->lock, 99);
    for (uint64_t n = 1; n <= 3; n++) {
        struct train_task_spec spec = {.executor = 0, .number = n};
        shoal_task *task;
        assert_int_equal(train_task_begin(source.worker[0].desk, 1, NULL, &spec, &task, NULL),
                         SHOAL_OK);
        shoal_task_add(task, 0, 0, &one);
        assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
        base_buf_clear(&bytes);
        train_box_pack_commit(source.box, 0, &bytes);
        assert_int_equal(train_box_import(home.box, 0, bytes.data, bytes.size, NULL),
                         n < 3 ? SHOAL_OK : SHOAL_AGAIN);
    }
    assert_true(train_box_rows(home.box, 0)[0] == 0 && train_box_committed(home.box, 0) == 2);
    atomic_store(&home.box->shards[0].shard->lock, 0);
    assert_int_equal(train_box_import(home.box, 0, bytes.data, bytes.size, NULL), SHOAL_OK);
    assert_int_equal(train_box_import(home.box, 0, bytes.data, bytes.size, NULL), SHOAL_OK);
    assert_true(train_box_settled(home.box) && train_box_rows(home.box, 0)[0] == 3);
    base_buf_fini(&bytes);
    world_end(&source);
    world_end(&home);
}

/* Two worlds that are alike: tasks of executor 0 run in `source` and are imported to `home`. */
struct pair {
    struct world home, source;
    struct base_buf bytes;
    uint32_t other; /* a shard besides the first */
};

static void pair_begin(struct pair *p, const struct segments *s)
{
    struct world_opts opts = {.seed = 1, .staleness = 9, .workers = 1};

    world_begin(&p->home, s->env, &s->home, &opts);
    world_begin(&p->source, s->env, &s->away[0], &opts);
    base_buf_init(&p->bytes, &base_alloc_libc, 1 << 20);
    p->other = 1;
    while (p->home.box->shards[p->other].held)
        p->other++;
    assert_true(p->other < p->home.box->shard_count && p->home.box->worker == 0);
}

static void pair_end(struct pair *p)
{
    base_buf_fini(&p->bytes);
    world_end(&p->source);
    world_end(&p->home);
}

static float *pair_row(struct pair *p, uint32_t shard)
{
    return p->home.box->shards[shard].data[0];
}

static _Atomic uint32_t *pair_lock(struct pair *p, uint32_t shard)
{
    return &p->home.box->shards[shard].shard->lock;
}

/* Runs task `n`, which adds 1 to the first row of the first and of the other shard, and leaves the
 * bytes of its commit. */
static void pair_run(struct pair *p, uint64_t n)
{
    const struct shard_view *other = &p->home.box->shards[p->other];
    struct train_task_spec spec = {.executor = 0, .number = n};
    shoal_task *task;
    float one[64] = {1};

    assert_true(other->width <= 64 && p->home.box->shards[0].width <= 64);
    assert_int_equal(train_task_begin(p->source.worker[0].desk, 1, NULL, &spec, &task, NULL),
                     SHOAL_OK);
    shoal_task_add(task, 0, 0, one);
    shoal_task_add(task, other->table, other->first, one);
    assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
    base_buf_clear(&p->bytes);
    train_box_pack_commit(p->source.box, 0, &p->bytes);
}

static shoal_status pair_import(struct pair *p)
{
    return train_box_import(p->home.box, 0, p->bytes.data, p->bytes.size, NULL);
}

static void an_import_adds_to_free_shards_at_once_and_to_a_locked_one_later(void **state)
{
    static struct pair p;

    pair_begin(&p, *state);
    atomic_store(pair_lock(&p, 0), 99);
    pair_run(&p, 1);
    for (int i = 0; i < 2; i++) { /* the second time does nothing */
        assert_int_equal(pair_import(&p), SHOAL_OK);
        assert_true(pair_row(&p, 0)[0] == 0 && pair_row(&p, p.other)[0] == 1);
        assert_int_equal(atomic_load(pair_lock(&p, 0)), 99);
        assert_int_equal(atomic_load(pair_lock(&p, p.other)), 0);
    }
    assert_false(train_box_settled(p.home.box));
    atomic_store(pair_lock(&p, 0), 0);
    assert_int_equal(train_box_fold(p.home.box), SHOAL_OK);
    assert_true(pair_row(&p, 0)[0] == 1 && pair_row(&p, p.other)[0] == 1);
    assert_true(train_box_settled(p.home.box));
    pair_end(&p);
}

/* What can be seen of an import at any of its moments. */
struct onlooker {
    struct pair *pair;
    uint64_t marks; /* when it began */
    uint32_t moments;
    bool unmarked;
};

static bool look_on(void *ctx)
{
    struct onlooker *o = ctx;
    struct train_box *box = o->pair->home.box;
    const struct shard_view *v = &box->shards[0];

    if (train_box_committed(box, 0) == 0 || atomic_load(&v->folded[0]) > 0)
        return false;
    o->moments++;
    o->unmarked = o->unmarked || atomic_load(&v->shard->marked) == atomic_load(&v->shard->done) ||
                  atomic_load(&box->head->marks) == o->marks;
    return false;
}

static void who_hears_of_an_import_finds_its_shards_marked_until_they_have_it(void **state)
{
    static struct pair p;
    struct onlooker o = {.pair = &p};
    struct box_shard *shard;

    pair_begin(&p, *state);
    shard = p.home.box->shards[0].shard;
    pair_run(&p, 1);
    o.marks = atomic_load(&p.home.box->head->marks);
    p.home.box->crash = look_on;
    p.home.box->crash_ctx = &o;
    assert_int_equal(pair_import(&p), SHOAL_OK);
    p.home.box->crash = NULL;
    assert_true(o.moments > 0 && !o.unmarked);
    assert_true(atomic_load(&shard->marked) == atomic_load(&shard->done));
    box_mark(p.home.box, 0, 1); /* and another, whose outbox may have something */
    pair_run(&p, 2);
    assert_int_equal(pair_import(&p), SHOAL_OK);
    assert_true(atomic_load(&shard->marked) == atomic_load(&shard->done) + 2);
    assert_int_equal(train_box_fold(p.home.box), SHOAL_OK);
    assert_true(atomic_load(&shard->marked) == atomic_load(&shard->done));
    pair_end(&p);
}

/* Adding the second task first would make the shard believe that it has the first one too. */
static void an_import_does_not_overtake_what_a_shard_has_yet_to_fold_of_the_executor(void **state)
{
    static struct pair p;

    pair_begin(&p, *state);
    atomic_store(pair_lock(&p, 0), 99);
    pair_run(&p, 1);
    assert_int_equal(pair_import(&p), SHOAL_OK);
    atomic_store(pair_lock(&p, 0), 0);
    pair_run(&p, 2);
    assert_int_equal(pair_import(&p), SHOAL_OK);
    assert_int_equal(train_box_fold(p.home.box), SHOAL_OK);
    assert_true(pair_row(&p, 0)[0] == 2 && pair_row(&p, p.other)[0] == 2);
    assert_int_equal(atomic_load(&p.home.box->shards[0].folded[0]), 2);
    assert_int_equal(atomic_load(&p.home.box->shards[p.other].folded[0]), 2);
    assert_true(train_box_settled(p.home.box));
    pair_end(&p);
}

/* What is locked needs an outbox, for which there is no memory. */
static void an_import_that_fails_gives_back_its_own_locks_and_no_others(void **state)
{
    static struct pair p;

    for (int locked = 0; locked < 2; locked++) {
        pair_begin(&p, *state);
        uint32_t theirs = locked == 0 ? 0 : p.other, ours = locked == 0 ? p.other : 0;
        _Atomic uint64_t *top = &p.home.box->head->top;
        uint64_t taken = atomic_load(top);
        atomic_store(pair_lock(&p, theirs), 99);
        pair_run(&p, 1);
        atomic_store(top, p.home.box->head->size);
        assert_int_equal(pair_import(&p), SHOAL_E_NOMEM);
        assert_int_equal(atomic_load(pair_lock(&p, theirs)), 99);
        assert_int_equal(atomic_load(pair_lock(&p, ours)), 0);
        assert_true(pair_row(&p, 0)[0] == 0 && pair_row(&p, p.other)[0] == 0);
        assert_int_equal(train_box_committed(p.home.box, 0), 0);
        atomic_store(top, taken);
        assert_int_equal(pair_import(&p), SHOAL_OK);
        assert_true(pair_row(&p, theirs)[0] == 0 && pair_row(&p, ours)[0] == 1);
        atomic_store(pair_lock(&p, theirs), 0);
        assert_int_equal(train_box_fold(p.home.box), SHOAL_OK);
        assert_true(pair_row(&p, theirs)[0] == 1 && train_box_settled(p.home.box));
        pair_end(&p);
        clean_segments(state);
    }
}

/* A clock that is open stays invisible also when its commits come before closed ones are folded. */
static void an_import_of_an_open_clock_is_not_folded_with_a_closed_one(void **state)
{
    static struct world home, source;
    const struct segments *s = *state;
    struct world_opts opts = {.seed = 1, .staleness = 0, .workers = 1};
    struct base_buf bytes;
    float one = 1;

    world_begin(&home, s->env, &s->home, &opts);
    world_begin(&source, s->env, &s->away[0], &opts);
    base_buf_init(&bytes, &base_alloc_libc, 1 << 20);
    for (uint64_t n = 1; n <= 2; n++) {
        struct train_task_spec spec = {.executor = 0, .number = n, .clock = n - 1};
        shoal_task *task;
        train_box_close(source.box, n - 1);
        assert_int_equal(train_task_begin(source.worker[0].desk, 1, NULL, &spec, &task, NULL),
                         SHOAL_OK);
        shoal_task_add(task, 0, 0, &one);
        assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
        base_buf_clear(&bytes);
        train_box_pack_commit(source.box, 0, &bytes);
        train_box_close(home.box, n - 1);
        assert_int_equal(train_box_import(home.box, 0, bytes.data, bytes.size, NULL), SHOAL_OK);
        assert_true(train_box_rows(home.box, 0)[0] == (float)(n - 1));
    }
    base_buf_fini(&bytes);
    world_end(&source);
    world_end(&home);
}

/* Every prefix and many changed bytes: refused, or at least nothing out of bounds (sanitizers). */
static void bytes_that_make_no_sense_are_refused_and_change_nothing(void **state)
{
    static struct carry c;
    const struct segments *s = *state;
    struct world_opts opts = {.seed = 3, .staleness = 2, .workers = 1};
    struct base_buf bytes[4];

    carry_begin(&c, s, &opts);
    for (int i = 0; i < 4; i++)
        base_buf_init(&bytes[i], &base_alloc_libc, 1 << 20);
    train_box_pack_executor(c.w.box, 0, &bytes[0]);
    assert_int_equal(train_box_put_executor(c.away[0].box, 0, bytes[0].data, bytes[0].size, NULL),
                     SHOAL_OK);
    c.place[0] = 1;
    while (c.queued[0] == 0)
        run_away(&c, 0);
    base_buf_append(&bytes[1], c.queue[0][0].data, c.queue[0][0].size);
    train_box_pack_rows(c.w.box, 1, 0, 0, &bytes[2]);
    train_box_pack_layout(c.w.box, &bytes[3]);
    uint64_t hash = world_hash(&c.w);
    for (size_t cut = 0; cut < bytes[1].size; cut++)
        assert_int_equal(train_box_import(c.w.box, 0, bytes[1].data, cut, NULL), SHOAL_E_FORMAT);
    for (size_t cut = 0; cut < bytes[2].size; cut++)
        assert_int_equal(train_box_put_rows(c.away[1].box, bytes[2].data, cut, NULL),
                         SHOAL_E_FORMAT);
    for (size_t cut = 0; cut < bytes[0].size; cut++)
        assert_int_equal(train_box_put_executor(c.away[1].box, 0, bytes[0].data, cut, NULL),
                         SHOAL_E_FORMAT);
    for (size_t cut = 0; cut < bytes[3].size; cut++) {
        struct train_box *box = NULL;
        struct env_shared small = {s->away[1].base + (WORLD_SEGMENT / 2), WORLD_SEGMENT / 2, 0,
                                   false};
        assert_int_equal(
            train_box_new_from_layout(s->env, &small, 0, bytes[3].data, cut, NULL, &box, NULL),
            SHOAL_E_FORMAT);
        memset(small.base, 0, 1 << 22);
    }
    assert_true(world_hash(&c.w) == hash && train_box_committed(c.w.box, 0) == 0);
    for (int i = 0; i < 4; i++)
        base_buf_fini(&bytes[i]);
    carry_end(&c);
}

/* The box away could not fold its own commit, and home's rows include it already. */
static void increments_that_came_with_the_rows_are_not_folded_again(void **state)
{
    static struct carry c;
    struct world_opts opts = {.seed = 3, .staleness = 2, .workers = 1};
    struct train_task_spec spec = {.executor = 0, .number = 1};
    struct base_buf bytes;
    shoal_task *task;
    float one = 1;

    carry_begin(&c, *state, &opts);
    struct away *a = &c.away[0];
    base_buf_init(&bytes, &base_alloc_libc, 1 << 20);
    train_box_pack_executor(c.w.box, 0, &bytes);
    assert_int_equal(train_box_put_executor(a->box, 0, bytes.data, bytes.size, NULL), SHOAL_OK);
    assert_int_equal(train_task_begin(a->desk, 1, NULL, &spec, &task, NULL), SHOAL_OK);
    shoal_task_add(task, 0, 0, &one);
    atomic_store(&a->box->shards[0].shard->lock, 99);
    assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
    atomic_store(&a->box->shards[0].shard->lock, 0);
    base_buf_clear(&bytes);
    train_box_pack_commit(a->box, 0, &bytes);
    assert_int_equal(train_box_import(c.w.box, 0, bytes.data, bytes.size, NULL), SHOAL_OK);
    send_tables(&c, a);
    assert_int_equal(train_box_fold(a->box), SHOAL_OK);
    assert_true(train_box_rows(a->box, 0)[0] == 1 && train_box_rows(c.w.box, 0)[0] == 1);
    base_buf_fini(&bytes);
    carry_end(&c);
}

/* A worker that knows the key could say that it ended what it never got. */
static void a_commit_is_of_the_task_that_was_sent_and_no_other(void **state)
{
    static struct carry c;
    struct world_opts opts = {.seed = 3, .staleness = 2, .workers = 1};
    const struct train_task_spec spec = {
        .executor = 0, .number = 1, .fn = 3, .clock = 2, .ends_clock = true};
    struct base_buf bytes;
    shoal_task *task;

    carry_begin(&c, *state, &opts);
    struct away *a = &c.away[0];
    base_buf_init(&bytes, &base_alloc_libc, 1 << 20);
    train_box_pack_executor(c.w.box, 0, &bytes);
    assert_int_equal(train_box_put_executor(a->box, 0, bytes.data, bytes.size, NULL), SHOAL_OK);
    assert_int_equal(train_task_begin(a->desk, 1, NULL, &spec, &task, NULL), SHOAL_OK);
    assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
    base_buf_clear(&bytes);
    train_box_pack_commit(a->box, 0, &bytes);
    assert_true(train_box_commit_is(&spec, bytes.data, bytes.size));
    for (int i = 0; i < 6; i++) {
        struct train_task_spec other = spec;
        other.executor += i == 0;
        other.number += i == 1;
        other.fn += i == 2;
        other.clock += i == 3;
        other.ends_clock = i != 4;
        other.holds = i == 5;
        assert_false(train_box_commit_is(&other, bytes.data, bytes.size));
    }
    for (size_t size = 0; size < 40; size++)
        assert_false(train_box_commit_is(&spec, bytes.data, size));
    base_buf_fini(&bytes);
    carry_end(&c);
}

/* Puts executor 0 into the first box away and adds 1 to its witness there `tasks` times. */
static void add_away(struct carry *c, uint64_t tasks, struct base_buf *bytes)
{
    struct away *a = &c->away[0];
    float one = 1;

    base_buf_init(bytes, &base_alloc_libc, 1 << 20);
    train_box_pack_executor(c->w.box, 0, bytes);
    assert_int_equal(train_box_put_executor(a->box, 0, bytes->data, bytes->size, NULL), SHOAL_OK);
    for (uint64_t n = 1; n <= tasks; n++) {
        struct train_task_spec spec = {.executor = 0, .number = n};
        shoal_task *task;
        assert_int_equal(train_task_begin(a->desk, 1, NULL, &spec, &task, NULL), SHOAL_OK);
        shoal_task_add(task, 0, 0, &one);
        assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
        base_buf_clear(bytes);
        train_box_pack_commit(a->box, 0, bytes);
        assert_int_equal(train_box_import(c->w.box, 0, bytes->data, bytes->size, NULL), SHOAL_OK);
    }
    base_buf_fini(bytes);
}

static void rows_that_come_home_to_a_free_shard_need_no_outbox(void **state)
{
    static struct carry c;
    struct world_opts opts = {.seed = 3, .staleness = 2, .workers = 1};
    struct base_buf bytes;

    carry_begin(&c, *state, &opts);
    add_away(&c, 2, &bytes);
    assert_true(train_box_rows(c.w.box, 0)[0] == 2 && train_box_settled(c.w.box));
    for (int i = 0; i < 2; i++)
        assert_int_equal(atomic_load(&c.w.box->executors[0].outbox[i].number), 0);
    assert_int_equal(atomic_load(&c.w.box->shards[0].folded[0]), 2);
    assert_int_equal(atomic_load(&c.w.box->shards[0].shard->lock), 0);
    carry_end(&c);
}

static void word_of_the_import_frees_an_outbox_away(void **state)
{
    static struct carry c;
    struct world_opts opts = {.seed = 3, .staleness = 2, .workers = 1};
    struct train_task_spec spec = {.executor = 0, .number = 3};
    struct base_buf bytes;
    shoal_task *task;

    carry_begin(&c, *state, &opts);
    add_away(&c, 2, &bytes);
    struct away *a = &c.away[0];
    assert_int_equal(train_task_begin(a->desk, 1, NULL, &spec, &task, NULL), SHOAL_AGAIN);
    train_box_accepted(a->box, 0, 1);
    assert_int_equal(train_task_begin(a->desk, 1, NULL, &spec, &task, NULL), SHOAL_OK);
    assert_true(shoal_task_rows(task, 0)[0] == 0); /* free, and not seen */
    train_task_abort(task);
    carry_end(&c);
}

static void an_outbox_away_is_kept_and_not_seen_until_rows_include_it(void **state)
{
    static struct carry c;
    struct world_opts opts = {.seed = 3, .staleness = 2, .workers = 1};
    struct train_task_spec spec = {.executor = 0, .number = 3};
    struct base_buf bytes;
    shoal_task *task;

    carry_begin(&c, *state, &opts);
    add_away(&c, 2, &bytes);
    struct away *a = &c.away[0];
    assert_true(train_box_rows(a->box, 0)[0] == 0);
    assert_int_equal(train_task_begin(a->desk, 1, NULL, &spec, &task, NULL), SHOAL_AGAIN);
    send_tables(&c, a);
    assert_int_equal(train_task_begin(a->desk, 1, NULL, &spec, &task, NULL), SHOAL_OK);
    assert_true(shoal_task_rows(task, 0)[0] == 2);
    train_task_abort(task);
    carry_end(&c);
}

static void a_bulk_synchronous_box_away_shows_nothing_but_rows_from_home(void **state)
{
    static struct carry c;
    struct world_opts opts = {.seed = 3, .staleness = 0, .workers = 1};
    struct base_buf bytes;

    carry_begin(&c, *state, &opts);
    add_away(&c, 1, &bytes);
    struct away *a = &c.away[0];
    train_box_close(a->box, 1);
    assert_int_equal(train_box_fold(a->box), SHOAL_OK);
    assert_true(train_box_rows(a->box, 0)[0] == 0);
    train_box_close(c.w.box, 1);
    send_tables(&c, a);
    assert_true(train_box_rows(a->box, 0)[0] == 1 && train_box_settled(a->box));
    carry_end(&c);
}

static void rows_with_a_gap_are_refused_and_old_ones_do_nothing(void **state)
{
    static struct carry c;
    struct world_opts opts = {.seed = 3, .staleness = 2, .workers = 1};
    struct base_buf old, all, young;

    carry_begin(&c, *state, &opts);
    base_buf_init(&old, &base_alloc_libc, 1 << 20);
    base_buf_init(&all, &base_alloc_libc, 1 << 20);
    base_buf_init(&young, &base_alloc_libc, 1 << 20);
    uint64_t version = train_box_pack_rows(c.w.box, 0, 0, 0, &old);
    while (c.w.heard[0] < c.w.per_clock[0])
        run_home(&c, 0);
    uint64_t now = train_box_pack_rows(c.w.box, 0, 0, version, &young);
    assert_true(now > version && version > 0);
    struct train_box *box = c.away[0].box;
    assert_int_equal(train_box_put_rows(box, young.data, young.size, NULL), SHOAL_E_INVAL);
    assert_int_equal(train_box_put_rows(box, old.data, old.size, NULL), SHOAL_OK);
    assert_true(train_box_rows(box, 0)[0] == 0);
    assert_int_equal(train_box_put_rows(box, young.data, young.size, NULL), SHOAL_OK);
    assert_true(train_box_rows(box, 0)[0] == 1);
    assert_int_equal(train_box_put_rows(box, old.data, old.size, NULL), SHOAL_OK);
    assert_true(train_box_rows(box, 0)[0] == 1);
    base_buf_fini(&old);
    base_buf_fini(&all);
    base_buf_fini(&young);
    carry_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(executors_may_run_anywhere_and_every_increment_counts_once,
                               clean_segments),
        cmocka_unit_test_setup(bulk_synchronous_bits_do_not_depend_on_where_executors_run,
                               clean_segments),
        cmocka_unit_test_setup(an_import_waits_for_a_locked_shard_and_loses_nothing,
                               clean_segments),
        cmocka_unit_test_setup(an_import_adds_to_free_shards_at_once_and_to_a_locked_one_later,
                               clean_segments),
        cmocka_unit_test_setup(
            an_import_does_not_overtake_what_a_shard_has_yet_to_fold_of_the_executor,
            clean_segments),
        cmocka_unit_test_setup(an_import_that_fails_gives_back_its_own_locks_and_no_others,
                               clean_segments),
        cmocka_unit_test_setup(who_hears_of_an_import_finds_its_shards_marked_until_they_have_it,
                               clean_segments),
        cmocka_unit_test_setup(an_import_of_an_open_clock_is_not_folded_with_a_closed_one,
                               clean_segments),
        cmocka_unit_test_setup(bytes_that_make_no_sense_are_refused_and_change_nothing,
                               clean_segments),
        cmocka_unit_test_setup(increments_that_came_with_the_rows_are_not_folded_again,
                               clean_segments),
        cmocka_unit_test_setup(rows_that_come_home_to_a_free_shard_need_no_outbox, clean_segments),
        cmocka_unit_test_setup(word_of_the_import_frees_an_outbox_away, clean_segments),
        cmocka_unit_test_setup(a_commit_is_of_the_task_that_was_sent_and_no_other, clean_segments),
        cmocka_unit_test_setup(an_outbox_away_is_kept_and_not_seen_until_rows_include_it,
                               clean_segments),
        cmocka_unit_test_setup(a_bulk_synchronous_box_away_shows_nothing_but_rows_from_home,
                               clean_segments),
        cmocka_unit_test_setup(rows_with_a_gap_are_refused_and_old_ones_do_nothing, clean_segments),
    };
    return cmocka_run_group_tests(tests, open_segments, close_segments);
}
