/* Tests of src/env/loop.h in both worlds: the same process, real and simulated, behaves alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "env/loop.h"
#include <string.h>

#define DEADLINE_NS ((uint64_t)90 * 1000000000)

enum { BYTES = 100000, JOBS = 50 };

/* A process that talks to itself. */
struct life {
    shoal_env *env;
    struct env_loop *loop;
    struct env_listener *listener;
    struct env_conn *client, *server;
    struct env_pool *pool;
    struct env_timer timer, deadline;
    uint32_t inside; /* calls to the loop under way: no callback may come now */
    uint32_t opened, server_closed, client_closed, posts, ticks, jobs;
    size_t echoed;
    bool ended, late;
    char bytes[BYTES];
};

/* The real loop has run when this returns. */
static bool is_simulated(struct life *life)
{
    return env_loop_run(life->loop, NULL) == SHOAL_E_INVAL;
}

static void end(struct life *life)
{
    if (life->server_closed == 0 || life->jobs < JOBS || life->ticks < 3 || life->posts < 3)
        return;
    life->ended = true;
    env_loop_stop(life->loop);
}

static void life_opened(void *ctx, struct env_conn *conn)
{
    struct life *life = ctx;
    assert_int_equal(life->inside, 0);
    assert_ptr_equal(conn, life->client);
    assert_string_equal(env_conn_address(conn), env_listener_address(life->listener));
    life->opened++;
}

static void client_received(void *ctx, struct env_conn *conn, const void *bytes, size_t size)
{
    struct life *life = ctx;
    assert_int_equal(life->inside, 0);
    assert_int_equal(life->opened, 1);
    assert_true(size <= BYTES - life->echoed);
    assert_memory_equal(bytes, life->bytes + life->echoed, size);
    life->echoed += size;
    if (life->echoed == BYTES) {
        env_conn_close(conn); /* inside its own callback: none comes any more */
        life->client = NULL;
    }
}

static void client_closed(void *ctx, struct env_conn *conn, const shoal_err *why)
{
    (void)conn;
    (void)why;
    struct life *life = ctx;
    life->client_closed++;
}

static void server_received(void *ctx, struct env_conn *conn, const void *bytes, size_t size)
{
    struct life *life = ctx;
    assert_int_equal(life->inside, 0);
    life->inside++;
    assert_int_equal(env_conn_send(conn, bytes, size), SHOAL_OK);
    life->inside--;
}

static void server_closed(void *ctx, struct env_conn *conn, const shoal_err *why)
{
    struct life *life = ctx;
    assert_ptr_equal(conn, life->server);
    assert_int_equal(why->code, SHOAL_END);
    life->server_closed++;
    end(life);
}

static void life_accepted(void *ctx, struct env_conn *conn)
{
    static const struct env_conn_ops OPS = {NULL, server_received, NULL, server_closed};
    struct life *life = ctx;
    assert_int_equal(life->inside, 0);
    life->server = conn;
    env_conn_set(conn, &OPS, life);
}

static void life_post(void *ctx)
{
    struct life *life = ctx;
    assert_int_equal(life->inside, 0);
    life->inside++;
    if (++life->posts < 3)
        assert_int_equal(env_loop_post(life->loop, life_post, life), SHOAL_OK);
    life->inside--;
    end(life);
}

static void life_tick(void *ctx)
{
    struct life *life = ctx;
    assert_int_equal(life->inside, 0);
    life->inside++;
    if (++life->ticks < 3)
        assert_int_equal(env_timer_start(life->loop, &life->timer, 0, life_tick, life), SHOAL_OK);
    life->inside--;
    end(life);
}

static uint64_t life_work(void *ctx, uint32_t thread)
{
    (void)ctx;
    assert_true(thread < 2);
    return 1000;
}

static void life_done(void *ctx)
{
    struct life *life = ctx;
    assert_int_equal(life->inside, 0);
    life->jobs++;
    end(life);
}

static void life_late(void *ctx)
{
    struct life *life = ctx;
    life->late = true;
    env_loop_stop(life->loop);
}

static void start(struct life *life)
{
    static const struct env_conn_ops OPS = {life_opened, client_received, NULL, client_closed};
    life->inside++;
    assert_int_equal(env_loop_new(life->env, "a", &life->loop, NULL), SHOAL_OK);
    assert_ptr_equal(env_loop_env(life->loop), life->env);
    assert_int_equal(env_timer_start(life->loop, &life->deadline, DEADLINE_NS, life_late, life),
                     SHOAL_OK);
    assert_int_equal(
        env_listen(life->loop, "127.0.0.1:0", life_accepted, life, &life->listener, NULL),
        SHOAL_OK);
    assert_int_equal(env_connect(life->loop, env_listener_address(life->listener), DEADLINE_NS,
                                 &OPS, life, &life->client, NULL),
                     SHOAL_OK);
    for (size_t at = 0; at < BYTES; at += BYTES / 10) /* it waits until the other side is there */
        assert_int_equal(env_conn_send(life->client, life->bytes + at, BYTES / 10), SHOAL_OK);
    assert_int_equal(env_conn_queued(life->client), BYTES);
    assert_int_equal(env_loop_post(life->loop, life_post, life), SHOAL_OK);
    assert_int_equal(env_timer_start(life->loop, &life->timer, 1000, life_tick, life), SHOAL_OK);
    assert_int_equal(env_pool_new(life->loop, 0, &life->pool, NULL), SHOAL_E_INVAL);
    assert_int_equal(env_pool_new(life->loop, 2, &life->pool, NULL), SHOAL_OK);
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(env_pool_run(life->pool, life_work, life_done, life), SHOAL_OK);
    life->inside--;
}

static void live(shoal_env *env)
{
    static struct life life;
    memset(&life, 0, sizeof life);
    life.env = env;
    for (size_t i = 0; i < BYTES; i++)
        life.bytes[i] = (char)(i * 7 + i / 256);
    start(&life);
    if (is_simulated(&life))
        (void)env_sim_run(env, DEADLINE_NS, NULL, NULL);
    assert_false(life.late);
    assert_true(life.ended);
    assert_int_equal(life.opened, 1);
    assert_int_equal(life.echoed, BYTES);
    assert_int_equal(life.client_closed, 0);
    env_pool_free(life.pool);
    env_listener_close(life.listener);
    env_conn_close(NULL);
    env_loop_free(life.loop);
    env_timer_stop(&life.deadline); /* harmless without its loop */
    shoal_env_free(env);
}

static void a_real_process_lives_by_the_contract(void **state)
{
    (void)state;
    shoal_env *env = NULL;
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    live(env);
}

static void a_simulated_process_lives_by_the_contract(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        shoal_env *env = NULL;
        assert_int_equal(shoal_env_sim_new(seed, &env, NULL), SHOAL_OK);
        env_sim_set_net(env, &(struct env_sim_net){.delay_mean_s = (double)(seed % 3) * 1e-3});
        live(env);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_real_process_lives_by_the_contract),
        cmocka_unit_test(a_simulated_process_lives_by_the_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
