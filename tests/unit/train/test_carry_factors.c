/* Tests of src/train/carry_factors.c: copies kept up by outer products, and bytes that make no
 * sense. */
#include "property.h"
#include "torture.h"

#include "base/rand.h"
#include "train/box_parts.h"
#include <string.h>

enum { EXECUTORS = 5, ROWS = 37, WIDTH = 50, SEGMENT = 16 << 20, CLOCKS = 30 };

struct pair {
    shoal_env *env;
    struct env_shared segment[2];
    struct train_box *home, *away;
    struct train_desk *desk, *desk_away;
    uint64_t number[EXECUTORS], version[8];
    struct train_own own[EXECUTORS]; /* of the box away */
    bool there[EXECUTORS];           /* it is run away */
    bool late[EXECUTORS];            /* its last commit has not come home */
    struct base_buf commit[EXECUTORS];
    uint32_t shards;
    struct base_rand rand;
    struct base_buf bytes;
};

static void pair_begin(struct pair *p, uint64_t seed)
{
    struct train_box_opts opts = {.staleness = 0};
    shoal_table_opts table = SHOAL_TABLE_OPTS_INIT;

    memset(p, 0, sizeof *p);
    base_rand_init(&p->rand, seed, "factors");
    base_buf_init(&p->bytes, &base_alloc_libc, 1 << 24);
    for (uint32_t e = 0; e < EXECUTORS; e++)
        base_buf_init(&p->commit[e], &base_alloc_libc, 1 << 20);
    assert_int_equal(shoal_env_sim_new(seed, &p->env, NULL), SHOAL_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(env_shared_new(p->env, SEGMENT, &p->segment[i], NULL), SHOAL_OK);
    assert_int_equal(train_box_new(p->env, &p->segment[0], &opts, &p->home, NULL), SHOAL_OK);
    assert_int_equal(train_box_executors(p->home, EXECUTORS, NULL), SHOAL_OK);
    p->shards = 1 + (uint32_t)base_rand_below(&p->rand, 4);
    table.name = "w";
    table.rows = ROWS;
    table.width = WIDTH;
    table.shards = p->shards;
    assert_int_equal(train_box_table(p->home, &table, NULL), SHOAL_OK);
    assert_int_equal(train_box_seal(p->home, NULL), SHOAL_OK);
    p->shards = train_box_table_info(p->home, 0).shards;
    train_box_pack_layout(p->home, &p->bytes);
    assert_int_equal(train_box_new_from_layout(p->env, &p->segment[1], 1, p->bytes.data,
                                               p->bytes.size, &opts, &p->away, NULL),
                     SHOAL_OK);
    assert_int_equal(train_desk_new(p->home, &p->desk), SHOAL_OK);
    assert_int_equal(train_desk_new(p->away, &p->desk_away), SHOAL_OK);
}

static void pair_end(struct pair *p)
{
    train_desk_free(p->desk);
    train_desk_free(p->desk_away);
    for (uint32_t e = 0; e < EXECUTORS; e++)
        base_buf_fini(&p->commit[e]);
    train_box_free(p->home);
    train_box_free(p->away);
    for (int i = 0; i < 2; i++)
        env_shared_close(p->env, &p->segment[i]);
    base_buf_fini(&p->bytes);
    shoal_env_free(p->env);
}

enum { FACTORS, SOME_ROWS, NOTHING };

static void add_factor(struct pair *p, shoal_task *task)
{
    float u[ROWS], value[WIDTH];
    uint32_t index[WIDTH], count = 1 + (uint32_t)base_rand_below(&p->rand, 4);

    for (uint32_t i = 0; i < ROWS; i++)
        u[i] = (float)base_rand_range(&p->rand, -1, 1);
    for (uint32_t i = 0; i < count; i++) {
        index[i] = (uint32_t)base_rand_below(&p->rand, WIDTH);
        value[i] = (float)base_rand_range(&p->rand, -1, 1);
    }
    shoal_task_add_factor(task, 0, u, index, value, count);
}

/* A task of the executor, where it is. What it commits away comes home with come_home. */
static void run(struct pair *p, uint32_t executor, uint64_t clock, int what)
{
    struct train_task_spec spec = {
        .executor = executor, .number = ++p->number[executor], .clock = clock, .ends_clock = true};
    float x[WIDTH] = {1};
    shoal_task *task;

    assert_int_equal(
        train_task_begin(p->there[executor] ? p->desk_away : p->desk, 1, NULL, &spec, &task, NULL),
        SHOAL_OK);
    if (what == FACTORS)
        for (uint64_t i = 0; i <= base_rand_below(&p->rand, 3); i++)
            add_factor(p, task);
    if (what == SOME_ROWS)
        shoal_task_add(task, 0, base_rand_below(&p->rand, ROWS), x);
    assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
    if (!p->there[executor])
        return;
    p->own[executor].sent = spec.number;
    p->late[executor] = true;
    base_buf_clear(&p->commit[executor]);
    train_box_pack_commit(p->away, executor, &p->commit[executor]);
}

static void come_home(struct pair *p, uint32_t executor)
{
    if (!p->late[executor])
        return;
    assert_int_equal(train_box_import(p->home, executor, p->commit[executor].data,
                                      p->commit[executor].size, NULL),
                     SHOAL_OK);
    p->late[executor] = false;
    p->own[executor].heard = p->number[executor];
    train_box_accepted(p->away, executor, p->number[executor]);
}

static void move(struct pair *p, uint32_t executor)
{
    uint64_t number = p->number[executor];

    come_home(p, executor);
    p->there[executor] = !p->there[executor];
    if (!p->there[executor])
        return;
    base_buf_clear(&p->bytes);
    train_box_pack_executor(p->home, executor, &p->bytes);
    assert_int_equal(train_box_put_executor(p->away, executor, p->bytes.data, p->bytes.size, NULL),
                     SHOAL_OK);
    p->own[executor] = (struct train_own){number, number, number};
}

static bool pack_factors(struct pair *p)
{
    base_buf_clear(&p->bytes);
    return train_box_pack_factors(p->home, 0, p->version, p->own, &p->bytes);
}

static void send_rows(struct pair *p)
{
    for (uint32_t s = 0; s < p->shards; s++) {
        base_buf_clear(&p->bytes);
        p->version[s] = train_box_pack_rows(p->home, 0, s, p->version[s], &p->bytes);
        assert_int_not_equal(p->version[s], 0);
        assert_int_equal(train_box_put_rows(p->away, p->bytes.data, p->bytes.size, NULL), SHOAL_OK);
    }
}

static void check_equal(struct pair *p)
{
    assert_memory_equal(train_box_rows(p->home, 0), train_box_rows(p->away, 0),
                        ROWS * WIDTH * sizeof(float));
}

/* The first `size` bytes of what was packed, a shard at a time. */
static shoal_status put_all(struct pair *p, size_t size)
{
    shoal_status st = SHOAL_AGAIN;

    for (uint32_t next = 0; st == SHOAL_AGAIN;) {
        uint32_t before = next;
        st = train_box_put_factors(p->away, p->bytes.data, size, &next, NULL);
        assert_true(st != SHOAL_AGAIN || next == before + 1); /* nothing is locked */
    }
    return st;
}

static void put_factors(struct pair *p)
{
    for (int again = 0; again < 2; again++) /* what comes twice does nothing */
        assert_int_equal(put_all(p, p->bytes.size), SHOAL_OK);
}

static void copies_are_equal_bit_for_bit_whatever_was_sent(void **state)
{
    uint64_t factors = 0, rows = 0;

    (void)state;
    for (uint64_t seed = 0; seed < (uint64_t)property_count(50); seed++) {
        struct pair p;
        pair_begin(&p, seed);
        send_rows(&p);
        for (uint64_t clock = 0; clock < CLOCKS; clock++) {
            int odd = base_rand_below(&p.rand, 4) == 0 ? SOME_ROWS : FACTORS;
            for (uint32_t e = 0; e < EXECUTORS; e++)
                run(&p, e, clock,
                    e == 2                             ? odd
                    : base_rand_below(&p.rand, 4) == 0 ? NOTHING
                                                       : FACTORS);
            train_box_close(p.home, clock + 1);
            assert_int_equal(train_box_fold(p.home), SHOAL_OK);
            if (base_rand_below(&p.rand, 5) == 0)
                continue; /* and two clocks at once */
            if (pack_factors(&p)) {
                put_factors(&p);
                factors++;
            } else {
                send_rows(&p);
                rows++;
            }
            check_equal(&p);
        }
        pair_end(&p);
    }
    print_message("%llu times factors, %llu times rows\n", (unsigned long long)factors,
                  (unsigned long long)rows);
    assert_true(factors > 0 && rows > 0);
}

/* Bytes of factors to a copy that ran nothing itself. */
static size_t size_with_its_own(struct pair *p)
{
    uint64_t version[8];

    memcpy(version, p->version, sizeof version);
    base_buf_clear(&p->bytes);
    return train_box_pack_factors(p->home, 0, version, NULL, &p->bytes) ? p->bytes.size : 0;
}

/* Brings the copy up to date; 0: by rows, else the bytes of factors. */
static size_t refresh(struct pair *p)
{
    size_t size = 0;

    if (pack_factors(p)) {
        put_factors(p);
        size = p->bytes.size;
    } else {
        send_rows(p);
    }
    check_equal(p);
    return size;
}

/* Executors move there and back, run ahead of what the copy shows, and have tasks without increments;
 * commits come home early or late. */
static void a_copy_adds_its_own_factors_in_their_place(void **state)
{
    uint64_t kept = 0, factors = 0;

    (void)state;
    for (uint64_t seed = 0; seed < (uint64_t)property_count(200); seed++) {
        struct pair p;
        bool ran[EXECUTORS] = {false}; /* its task of the clock */
        pair_begin(&p, seed);
        send_rows(&p);
        for (uint64_t clock = 0; clock < CLOCKS; clock++) {
            for (uint32_t e = 0; e < EXECUTORS; e++) {
                if (base_rand_below(&p.rand, 8) == 0)
                    move(&p, e);
                if (!ran[e])
                    run(&p, e, clock, base_rand_below(&p.rand, 8) == 0 ? NOTHING : FACTORS);
                ran[e] = false;
                come_home(&p, e);
                if (base_rand_below(&p.rand, 8) == 0)
                    move(&p, e);
                if (base_rand_below(&p.rand, 8) == 0) {
                    run(&p, e, clock, NOTHING);
                    come_home(&p, e);
                }
            }
            train_box_close(p.home, clock + 1);
            assert_int_equal(train_box_fold(p.home), SHOAL_OK);
            for (uint32_t e = 0; e < EXECUTORS; e++) {
                if (base_rand_below(&p.rand, 8) == 0)
                    move(&p, e);
                ran[e] = base_rand_below(&p.rand, 6) == 0;
                if (ran[e])
                    run(&p, e, clock + 1, FACTORS);
                if (base_rand_below(&p.rand, 2) == 0)
                    come_home(&p, e);
            }
            size_t all = size_with_its_own(&p), size = refresh(&p);
            factors += size > 0;
            kept += size > 0 && size < all;
            train_box_close(p.away, clock + 1);
        }
        pair_end(&p);
    }
    print_message("%llu times factors, %llu times without its own\n", (unsigned long long)factors,
                  (unsigned long long)kept);
    assert_true(factors > kept && kept > 0);
}

static void factors_that_a_copy_should_have_and_has_not_are_refused(void **state)
{
    struct pair p;
    float before[ROWS * WIDTH];

    (void)state;
    pair_begin(&p, 3);
    send_rows(&p);
    run(&p, 0, 0, FACTORS);
    run(&p, 1, 0, FACTORS);
    train_box_close(p.home, 1);
    p.own[1] = (struct train_own){0, 1, 1}; /* which is not true */
    assert_true(pack_factors(&p));
    memcpy(before, train_box_rows(p.away, 0), sizeof before);
    assert_int_equal(put_all(&p, p.bytes.size), SHOAL_E_INVAL);
    assert_memory_equal(before, train_box_rows(p.away, 0), sizeof before);
    pair_end(&p);
}

static void factors_with_a_gap_before_them_are_refused(void **state)
{
    struct pair p;
    float before[ROWS * WIDTH];

    (void)state;
    pair_begin(&p, 4);
    send_rows(&p);
    memcpy(before, train_box_rows(p.away, 0), sizeof before);
    for (uint64_t clock = 0; clock < 2; clock++) {
        run(&p, 0, clock, FACTORS);
        train_box_close(p.home, clock + 1);
        assert_true(pack_factors(&p)); /* those of the first clock get lost */
    }
    assert_int_equal(put_all(&p, p.bytes.size), SHOAL_E_INVAL);
    assert_memory_equal(before, train_box_rows(p.away, 0), sizeof before);
    pair_end(&p);
}

static void factors_are_put_a_shard_at_a_time_and_wait_for_one_that_is_locked(void **state)
{
    struct pair p;
    uint64_t count;
    uint32_t next = 0;

    (void)state;
    pair_begin(&p, 3);
    send_rows(&p);
    run(&p, 0, 0, FACTORS);
    train_box_close(p.home, 1);
    assert_true(pack_factors(&p));
    assert_true(p.shards > 1);
    float before = train_box_rows(p.away, 0)[ROWS * WIDTH - 1];
    assert_int_equal(train_box_put_factors(p.away, p.bytes.data, p.bytes.size, &next, NULL),
                     SHOAL_AGAIN);
    assert_int_equal(next, 1);
    train_box_shard(p.home, 0, 0, NULL, &count);
    assert_memory_equal(train_box_rows(p.home, 0), train_box_rows(p.away, 0),
                        count * WIDTH * sizeof(float));
    assert_true(train_box_rows(p.away, 0)[ROWS * WIDTH - 1] == before);
    assert_true(box_lock(p.away, p.away->shards[1].shard));
    assert_int_equal(train_box_put_factors(p.away, p.bytes.data, p.bytes.size, &next, NULL),
                     SHOAL_AGAIN);
    assert_int_equal(next, 1);
    box_unlock(p.away->shards[1].shard);
    while (train_box_put_factors(p.away, p.bytes.data, p.bytes.size, &next, NULL) == SHOAL_AGAIN)
        ;
    assert_int_equal(next, p.shards);
    check_equal(&p);
    pair_end(&p);
}

static void rows_are_sent_where_factors_do_not_say_all(void **state)
{
    struct pair p;

    (void)state;
    pair_begin(&p, 1);
    assert_false(pack_factors(&p)); /* the copy has nothing yet */
    send_rows(&p);
    assert_false(pack_factors(&p)); /* nothing to say */
    run(&p, 0, 0, FACTORS);
    assert_false(pack_factors(&p)); /* not closed */
    train_box_close(p.home, 1);
    train_box_rewrite(p.home, 0, 0);
    assert_false(pack_factors(&p)); /* the driver changed rows in place */
    send_rows(&p);
    check_equal(&p);
    run(&p, 0, 1, FACTORS);
    train_box_close(p.home, 2);
    assert_int_equal(train_box_fold(p.home), SHOAL_OK);
    run(&p, 0, 2, FACTORS); /* its outbox is another's by now, or still there */
    if (pack_factors(&p))
        put_factors(&p);
    else
        send_rows(&p);
    check_equal(&p);
    pair_end(&p);
}

static void rows_that_the_driver_changes_reach_copies(void **state)
{
    struct pair p;

    (void)state;
    pair_begin(&p, 2);
    send_rows(&p);
    for (uint32_t s = 0; s < p.shards; s++)
        train_box_rewrite(p.home, 0, s);
    for (uint32_t i = 0; i < ROWS * WIDTH; i++)
        train_box_rows(p.home, 0)[i] = (float)i;
    send_rows(&p);
    check_equal(&p);
    pair_end(&p);
}

static void bytes_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < (uint64_t)property_count(2000); seed++) {
        struct pair p;
        pair_begin(&p, seed);
        send_rows(&p);
        for (uint32_t e = 0; e < EXECUTORS; e++)
            run(&p, e, 0, FACTORS);
        train_box_close(p.home, 1);
        assert_true(pack_factors(&p));
        size_t size = p.bytes.size;
        if (seed % 2 == 0)
            size = base_rand_below(&p.rand, size);
        else
            p.bytes.data[base_rand_below(&p.rand, size < 200 ? size : 200)] ^=
                (char)(1 + base_rand_below(&p.rand, 255));
        shoal_status st = put_all(&p, size);
        assert_true(st == SHOAL_E_FORMAT || st == SHOAL_E_INVAL ||
                    (seed % 2 == 1 && st == SHOAL_OK));
        pair_end(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_equal_bit_for_bit_whatever_was_sent),
        cmocka_unit_test(a_copy_adds_its_own_factors_in_their_place),
        cmocka_unit_test(factors_that_a_copy_should_have_and_has_not_are_refused),
        cmocka_unit_test(factors_with_a_gap_before_them_are_refused),
        cmocka_unit_test(factors_are_put_a_shard_at_a_time_and_wait_for_one_that_is_locked),
        cmocka_unit_test(rows_are_sent_where_factors_do_not_say_all),
        cmocka_unit_test(rows_that_the_driver_changes_reach_copies),
        cmocka_unit_test(bytes_that_make_no_sense_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
