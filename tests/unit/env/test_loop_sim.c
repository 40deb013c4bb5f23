/* Tests of src/env/loop_sim.c, loop_sim_net.c and loop_sim_link.c: connections, timers and posts of
 * a cluster in one thread, replayed by its seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "loop_sim_world.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNKS = 200, SEEDS = 40 };

/* --- a pair of processes: one numbers its chunks, the other notes what comes --- */

struct side {
    struct env_loop *loop;
    struct env_conn *conn;
    uint32_t opened, closed, drained;
    char why[400];
    uint32_t got_count;
    uint32_t got[4 * CHUNKS];
};

struct pair {
    shoal_env *env;
    struct side a, b;
    struct env_listener *listener;
    struct env_timer timer;
    struct base_rand rand;
    uint32_t sent, to_send;
    double pause_mean_s;
};

static void on_opened(void *ctx, struct env_conn *conn)
{
    struct side *side = ctx;
    assert_ptr_equal(conn, side->conn);
    side->opened++;
}

static void on_received(void *ctx, struct env_conn *conn, const void *bytes, size_t size)
{
    struct side *side = ctx;
    assert_ptr_equal(conn, side->conn);
    uint32_t number = 0;
    assert_true(size >= sizeof number);
    memcpy(&number, bytes, sizeof number);
    for (size_t i = sizeof number; i < size; i++)
        assert_int_equal(((const unsigned char *)bytes)[i], (unsigned char)(number + i));
    assert_true(side->got_count < 4 * CHUNKS);
    side->got[side->got_count++] = number;
}

static void on_drained(void *ctx, struct env_conn *conn)
{
    struct side *side = ctx;
    assert_int_equal(env_conn_queued(conn), 0);
    side->drained++;
}

static void on_closed(void *ctx, struct env_conn *conn, const shoal_err *why)
{
    struct side *side = ctx;
    assert_ptr_equal(conn, side->conn);
    side->conn = NULL;
    side->closed++;
    memcpy(side->why, why->message, sizeof side->why);
    env_conn_close(conn); /* harmless in its last call */
}

static const struct env_conn_ops OPS = {on_opened, on_received, on_drained, on_closed};

static void on_accepted(void *ctx, struct env_conn *conn)
{
    struct pair *pair = ctx;
    pair->b.conn = conn;
    env_conn_set(conn, &OPS, &pair->b);
}

static void pair_init(struct pair *pair, uint64_t seed)
{
    memset(pair, 0, sizeof *pair);
    pair->env = world(seed);
    pair->a.loop = process(pair->env, "a");
    pair->b.loop = process(pair->env, "b");
    env_rand(pair->env, "test", &pair->rand);
    assert_int_equal(env_listen(pair->b.loop, "b:0", on_accepted, pair, &pair->listener, NULL),
                     SHOAL_OK);
}

static void pair_connect(struct pair *pair, uint64_t timeout_ns)
{
    assert_int_equal(env_connect(pair->a.loop, env_listener_address(pair->listener), timeout_ns,
                                 &OPS, &pair->a, &pair->a.conn, NULL),
                     SHOAL_OK);
}

static void pair_free(struct pair *pair)
{
    env_loop_free(pair->a.loop);
    env_loop_free(pair->b.loop);
    shoal_env_free(pair->env);
}

static shoal_status send_number(struct pair *pair, struct env_conn *conn, uint32_t number)
{
    unsigned char bytes[300];
    size_t size = sizeof number + base_rand_below(&pair->rand, sizeof bytes - sizeof number);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(number + i);
    memcpy(bytes, &number, sizeof number);
    return env_conn_send(conn, bytes, size);
}

/* Sends one chunk at a time, a drawn pause between. */
static void send_some(void *ctx)
{
    struct pair *pair = ctx;
    if (pair->a.conn == NULL || pair->sent == pair->to_send)
        return;
    assert_int_equal(send_number(pair, pair->a.conn, pair->sent), SHOAL_OK);
    pair->sent++;
    double pause = pair->pause_mean_s > 0 ? base_rand_exp(&pair->rand, pair->pause_mean_s) : 0;
    assert_int_equal(
        env_timer_start(pair->a.loop, &pair->timer, (uint64_t)(pause * 1e9), send_some, pair),
        SHOAL_OK);
}

static uint64_t talk(struct pair *pair, uint64_t seed, const struct env_sim_net *net)
{
    pair_init(pair, seed);
    env_sim_set_net(pair->env, net);
    pair_connect(pair, NEVER);
    pair->to_send = CHUNKS;
    pair->pause_mean_s = 1e-3;
    send_some(pair);
    (void)env_sim_run(pair->env, NEVER, NULL, NULL);
    return env_sim_hash(pair->env);
}

static uint32_t count_of(const struct side *side, uint32_t number)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < side->got_count; i++)
        count += side->got[i] == number;
    return count;
}

static void delays_never_reorder_or_lose_the_chunks_of_a_connection(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct pair pair;
        const struct env_sim_net net = {.delay_mean_s = seed % 2 == 0 ? 5e-3 : 0};
        (void)talk(&pair, seed, &net);
        assert_int_equal(pair.a.opened, 1);
        assert_int_equal(pair.b.got_count, CHUNKS);
        for (uint32_t i = 0; i < CHUNKS; i++)
            assert_int_equal(pair.b.got[i], i);
        assert_true(pair.a.drained >= 1);
        assert_true(seed % 2 != 0 || env_now_ns(pair.env) > SECOND_NS / 10);
        pair_free(&pair);
    }
}

static void each_fault_does_what_its_name_says(void **state)
{
    (void)state;
    uint32_t lost = 0, twice = 0, late = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct pair pair;
        (void)talk(&pair, seed, &(struct env_sim_net){.delay_mean_s = 1e-3, .drop = 0.2});
        lost += CHUNKS - pair.b.got_count;
        for (uint32_t i = 1; i < pair.b.got_count; i++)
            assert_true(pair.b.got[i] > pair.b.got[i - 1]);
        pair_free(&pair);

        (void)talk(&pair, seed, &(struct env_sim_net){.delay_mean_s = 1e-3, .duplicate = 0.2});
        twice += pair.b.got_count - CHUNKS;
        for (uint32_t i = 0; i < CHUNKS; i++)
            assert_in_range(count_of(&pair.b, i), 1, 2);
        pair_free(&pair);

        (void)talk(&pair, seed, &(struct env_sim_net){.delay_mean_s = 1e-3, .reorder = 0.2});
        assert_int_equal(pair.b.got_count, CHUNKS);
        for (uint32_t i = 0; i < CHUNKS; i++)
            assert_int_equal(count_of(&pair.b, i), 1);
        for (uint32_t i = 1; i < CHUNKS; i++)
            late += pair.b.got[i] < pair.b.got[i - 1];
        pair_free(&pair);
    }
    /* 8,000 draws of 0.2: 1600, sd 36; not every late chunk is overtaken */
    assert_in_range(lost, 1400, 1800);
    assert_in_range(twice, 1400, 1800);
    assert_in_range(late, 800, 1800);
}

static void the_same_seed_gives_the_same_history(void **state)
{
    (void)state;
    const struct env_sim_net net = {
        .delay_mean_s = 2e-3, .duplicate = 0.1, .reorder = 0.1, .drop = 0.1};
    uint64_t last = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct pair one, two;
        uint64_t first = talk(&one, seed, &net), second = talk(&two, seed, &net);
        assert_int_equal(first, second);
        assert_int_equal(one.b.got_count, two.b.got_count);
        assert_memory_equal(one.b.got, two.b.got, one.b.got_count * sizeof one.b.got[0]);
        assert_int_not_equal(first, last);
        last = first;
        pair_free(&one);
        pair_free(&two);
    }
}

/* --- the life of a connection --- */

static void connecting_where_nobody_listens_is_refused(void **state)
{
    (void)state;
    struct pair pair;
    pair_init(&pair, 1);
    assert_int_equal(env_connect(pair.a.loop, "b:99", SECOND_NS, &OPS, &pair.a, &pair.a.conn, NULL),
                     SHOAL_OK);
    (void)env_sim_run(pair.env, NEVER, NULL, NULL);
    assert_int_equal(pair.a.closed, 1);
    assert_string_equal(pair.a.why, "cannot connect to 'b:99': connection refused");
    assert_int_equal(env_now_ns(pair.env), 0);
    pair_free(&pair);
}

static void connecting_across_a_cut_ends_with_the_timeout_or_when_it_is_healed(void **state)
{
    (void)state;
    for (int heals = 0; heals < 2; heals++) {
        struct pair pair;
        pair_init(&pair, 1);
        env_sim_cut(pair.env, "b", "a", true);
        pair_connect(&pair, SECOND_NS);
        (void)env_sim_run(pair.env, SECOND_NS / 2, NULL, NULL);
        assert_int_equal(pair.a.opened + pair.a.closed, 0);
        if (heals)
            env_sim_cut(pair.env, "a", "b", false);
        (void)env_sim_run(pair.env, NEVER, NULL, NULL);
        assert_int_equal(pair.a.opened, heals);
        assert_int_equal(pair.a.closed, !heals);
        assert_int_equal(env_now_ns(pair.env), heals ? SECOND_NS / 2 : SECOND_NS);
        pair_free(&pair);
    }
}

static void a_cut_holds_chunks_in_order_until_it_is_healed(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct pair pair;
        pair_init(&pair, seed);
        env_sim_set_net(pair.env, &(struct env_sim_net){.delay_mean_s = 1e-3});
        pair_connect(&pair, NEVER);
        pair.to_send = CHUNKS;
        pair.pause_mean_s = 1e-3;
        send_some(&pair);
        (void)env_sim_run(pair.env, SECOND_NS / 20, NULL, NULL);
        env_sim_cut(pair.env, "a", "b", true);
        (void)env_sim_run(pair.env, SECOND_NS / 19, NULL, NULL);
        uint32_t before = pair.b.got_count;
        (void)env_sim_run(pair.env, SECOND_NS / 10, NULL, NULL);
        assert_int_equal(pair.b.got_count, before);
        assert_true(env_conn_queued(pair.a.conn) > 0);
        env_sim_cut(pair.env, "a", "b", false);
        (void)env_sim_run(pair.env, NEVER, NULL, NULL);
        assert_int_equal(pair.b.got_count, CHUNKS);
        for (uint32_t i = 0; i < CHUNKS; i++)
            assert_int_equal(pair.b.got[i], i);
        assert_int_equal(env_conn_queued(pair.a.conn), 0);
        pair_free(&pair);
    }
}

static void the_death_of_a_process_is_heard_after_a_delay_and_not_across_a_cut(void **state)
{
    (void)state;
    struct pair pair;
    pair_init(&pair, 3);
    env_sim_set_net(pair.env, &(struct env_sim_net){.delay_mean_s = 1e-3});
    pair_connect(&pair, NEVER);
    (void)env_sim_run(pair.env, NEVER, NULL, NULL);
    assert_int_equal(pair.a.opened, 1);
    env_sim_cut(pair.env, "a", "b", true);
    env_sim_kill(pair.b.loop);
    assert_false(env_sim_alive(pair.b.loop));
    assert_true(env_sim_alive(pair.a.loop));
    (void)env_sim_run(pair.env, 10 * SECOND_NS, NULL, NULL);
    assert_int_equal(pair.a.closed, 0);
    env_sim_cut(pair.env, "a", "b", false);
    uint64_t healed = env_now_ns(pair.env);
    (void)env_sim_run(pair.env, NEVER, NULL, NULL);
    assert_int_equal(pair.a.closed, 1);
    assert_int_equal(pair.b.closed, 0);
    assert_true(env_now_ns(pair.env) > healed);
    pair_free(&pair);
}

static void what_would_pass_the_limit_is_not_queued(void **state)
{
    (void)state;
    struct pair pair;
    pair_init(&pair, 4);
    pair_connect(&pair, NEVER);
    env_conn_limit(pair.a.conn, 1000);
    char bytes[600] = {0};
    assert_int_equal(env_conn_send(pair.a.conn, bytes, 600), SHOAL_OK);
    assert_int_equal(env_conn_send(pair.a.conn, bytes, 401), SHOAL_E_LIMIT);
    assert_int_equal(env_conn_queued(pair.a.conn), 600);
    assert_int_equal(env_conn_send(pair.a.conn, bytes, 400), SHOAL_OK);
    env_conn_close(pair.a.conn);
    (void)env_sim_run(pair.env, NEVER, NULL, NULL);
    assert_int_equal(pair.a.closed, 0);
    assert_int_equal(pair.b.got_count, 0); /* it left before it was heard of */
    pair_free(&pair);
}

static void addresses_are_checked(void **state)
{
    (void)state;
    struct pair pair;
    pair_init(&pair, 5);
    struct env_listener *listener = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    static const char *const WRONG[] = {"", "b", ":1", "b:", "b:70000", "b:1x"};
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++)
        assert_int_equal(env_listen(pair.b.loop, WRONG[i], on_accepted, &pair, &listener, &err),
                         SHOAL_E_FORMAT);
    assert_int_equal(env_listen(pair.b.loop, "a:1", on_accepted, &pair, &listener, &err),
                     SHOAL_E_IO);
    assert_int_equal(env_listen(pair.b.loop, env_listener_address(pair.listener), on_accepted,
                                &pair, &listener, &err),
                     SHOAL_E_EXISTS);
    assert_int_equal(env_listen(pair.b.loop, "127.0.0.1:80", on_accepted, &pair, &listener, &err),
                     SHOAL_OK);
    assert_string_equal(env_listener_address(listener), "b:80");
    env_listener_close(listener);
    assert_int_equal(env_loop_new(pair.env, "x:1", &pair.a.loop, &err), SHOAL_E_INVAL);
    assert_int_equal(env_loop_run(pair.a.loop, &err), SHOAL_E_INVAL);
    pair_free(&pair);
}

/* --- timers and posts --- */

struct order {
    uint32_t count;
    int seen[16];
    struct env_loop *loop;
};

struct mark {
    struct order *order;
    int number;
    struct env_timer timer;
};

static void note(void *ctx)
{
    struct mark *mark = ctx;
    mark->order->seen[mark->order->count++] = mark->number;
}

static void timers_run_by_time_then_by_start_and_stopped_ones_do_not(void **state)
{
    (void)state;
    shoal_env *env = world(1);
    struct env_loop *loop = process(env, "a");
    struct order order = {0};
    struct mark marks[5] = {
        {&order, 0, {0}}, {&order, 1, {0}}, {&order, 2, {0}}, {&order, 3, {0}}, {&order, 4, {0}}};
    static const uint64_t DELAYS[5] = {30, 10, 30, 5, 20};
    for (int i = 0; i < 5; i++)
        assert_int_equal(env_timer_start(loop, &marks[i].timer, DELAYS[i], note, &marks[i]),
                         SHOAL_OK);
    assert_int_equal(env_timer_start(loop, &marks[3].timer, 40, note, &marks[3]), SHOAL_OK);
    env_timer_stop(&marks[4].timer);
    env_timer_stop(&marks[4].timer);
    assert_int_equal(env_sim_run(env, 30, NULL, NULL), 3);
    assert_int_equal(env_now_ns(env), 30);
    assert_int_equal(env_sim_run(env, 39, NULL, NULL), 0);
    assert_int_equal(env_now_ns(env), 39);
    env_sim_advance(env, 100); /* what is past due runs late */
    assert_int_equal(env_sim_run(env, NEVER, NULL, NULL), 1);
    assert_int_equal(env_now_ns(env), 139);
    static const int EXPECTED[] = {1, 0, 2, 3};
    assert_int_equal(order.count, 4);
    assert_memory_equal(order.seen, EXPECTED, sizeof EXPECTED);
    env_loop_free(loop);
    shoal_env_free(env);
}

static void killing(void *ctx)
{
    struct mark *mark = ctx;
    note(mark);
    struct order *order = mark->order;
    env_sim_kill(order->loop);
    assert_int_equal(env_timer_start(order->loop, &mark->timer, 1, note, mark), SHOAL_OK);
    assert_int_equal(env_loop_post(order->loop, note, mark), SHOAL_OK);
    struct env_pool *pool = NULL;
    assert_int_equal(env_pool_new(order->loop, 1, &pool, NULL), SHOAL_E_CANCELLED);
}

static void posts_keep_their_order_and_end_with_their_process(void **state)
{
    (void)state;
    shoal_env *env = world(1);
    struct order order = {.loop = process(env, "a")};
    struct mark marks[4] = {{&order, 0, {0}}, {&order, 1, {0}}, {&order, 2, {0}}, {&order, 3, {0}}};
    assert_int_equal(env_timer_start(order.loop, &marks[3].timer, 9, note, &marks[3]), SHOAL_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(env_loop_post(order.loop, i == 2 ? killing : note, &marks[i]), SHOAL_OK);
    assert_int_equal(env_sim_run(env, NEVER, NULL, NULL), 3);
    static const int EXPECTED[] = {0, 1, 2};
    assert_int_equal(order.count, 3);
    assert_memory_equal(order.seen, EXPECTED, sizeof EXPECTED);
    env_loop_free(order.loop);
    shoal_env_free(env);
}

/* --- memory --- */

static void every_refused_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    struct base_alloc_track track;
    uint64_t refused = 1;
    for (uint64_t at = 1; refused > 0; at++) {
        base_alloc_track_init(&track, &base_alloc_libc);
        struct pair pair = {0};
        if (env_sim_new(&track.alloc, at, &pair.env, NULL) != SHOAL_OK)
            abort();
        env_sim_set_net(pair.env, &(struct env_sim_net){.duplicate = 0.3, .reorder = 0.3});
        track.fail_at = track.calls + at;
        struct env_pool *pool = NULL;
        struct env_loop *loops[2] = {NULL, NULL};
        if (env_loop_new(pair.env, "a", &loops[0], NULL) == SHOAL_OK &&
            env_loop_new(pair.env, "b", &loops[1], NULL) == SHOAL_OK &&
            env_listen(loops[1], "b:0", on_accepted, &pair, &pair.listener, NULL) == SHOAL_OK &&
            env_connect(loops[0], env_listener_address(pair.listener), NEVER, &OPS, &pair.a,
                        &pair.a.conn, NULL) == SHOAL_OK &&
            env_pool_new(loops[0], 2, &pool, NULL) == SHOAL_OK) {
            env_rand(pair.env, "test", &pair.rand);
            for (uint32_t i = 0; i < 20; i++)
                (void)send_number(&pair, pair.a.conn, i);
            (void)env_sim_run(pair.env, NEVER, NULL, NULL);
        }
        env_loop_free(loops[0]);
        env_loop_free(loops[1]);
        shoal_env_free(pair.env);
        assert_int_equal(track.live_count, 0);
        refused = track.failed;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delays_never_reorder_or_lose_the_chunks_of_a_connection),
        cmocka_unit_test(each_fault_does_what_its_name_says),
        cmocka_unit_test(the_same_seed_gives_the_same_history),
        cmocka_unit_test(connecting_where_nobody_listens_is_refused),
        cmocka_unit_test(connecting_across_a_cut_ends_with_the_timeout_or_when_it_is_healed),
        cmocka_unit_test(a_cut_holds_chunks_in_order_until_it_is_healed),
        cmocka_unit_test(the_death_of_a_process_is_heard_after_a_delay_and_not_across_a_cut),
        cmocka_unit_test(what_would_pass_the_limit_is_not_queued),
        cmocka_unit_test(addresses_are_checked),
        cmocka_unit_test(timers_run_by_time_then_by_start_and_stopped_ones_do_not),
        cmocka_unit_test(posts_keep_their_order_and_end_with_their_process),
        cmocka_unit_test(every_refused_allocation_is_reported_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
