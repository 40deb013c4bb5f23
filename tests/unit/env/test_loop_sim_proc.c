/* Tests of src/env/loop_sim_host.c and of how processes end (loop_sim.c): work, children, shared
 * memory, and death at any event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "loop_sim_world.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 40 };

/* --- pools --- */

enum { JOBS = 20 };

struct job {
    struct jobs *jobs;
    uint64_t began_ns, done_ns;
    uint32_t thread;
};

struct jobs {
    shoal_env *env;
    struct env_loop *loop;
    struct job rows[JOBS];
    uint32_t threads, began, done, killed_at;
};

static uint64_t job_work(void *ctx, uint32_t thread)
{
    struct job *job = ctx;
    if (job->jobs->threads == 1) /* else threads race to begin what they took in order */
        assert_ptr_equal(job, &job->jobs->rows[job->jobs->began]);
    job->began_ns = env_now_ns(job->jobs->env);
    job->thread = thread;
    if (++job->jobs->began == job->jobs->killed_at)
        env_sim_kill(job->jobs->loop);
    return 1000000;
}

static void job_done(void *ctx)
{
    struct job *job = ctx;
    job->done_ns = env_now_ns(job->jobs->env);
    job->jobs->done++;
}

/* Returns the virtual time all of it took. */
static uint64_t do_jobs(struct jobs *jobs, uint64_t seed, uint32_t threads, double factor,
                        uint32_t killed_at)
{
    *jobs = (struct jobs){.env = world(seed), .threads = threads, .killed_at = killed_at};
    jobs->loop = process(jobs->env, "a");
    env_sim_slow(jobs->env, "a", factor);
    struct env_pool *pool = NULL;
    assert_int_equal(env_pool_new(jobs->loop, threads, &pool, NULL), SHOAL_OK);
    for (uint32_t i = 0; i < JOBS; i++) {
        jobs->rows[i].jobs = jobs;
        assert_int_equal(env_pool_run(pool, job_work, job_done, &jobs->rows[i]), SHOAL_OK);
    }
    (void)env_sim_run(jobs->env, NEVER, NULL, NULL);
    uint64_t time_ns = env_now_ns(jobs->env);
    env_pool_free(pool);
    env_loop_free(jobs->loop);
    shoal_env_free(jobs->env);
    return time_ns;
}

static void a_pool_takes_the_time_of_its_work_times_the_slowness_of_its_host(void **state)
{
    (void)state;
    struct jobs jobs;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        for (uint32_t threads = 1; threads <= 4; threads += 3) {
            uint64_t time_ns = do_jobs(&jobs, seed, threads, 1, 0);
            assert_int_equal(jobs.done, JOBS);
            assert_in_range(time_ns, JOBS / threads * 1000000, JOBS / threads * 1020000);
            for (uint32_t i = 0; i < JOBS; i++) {
                assert_true(jobs.rows[i].thread < threads);
                assert_int_equal(jobs.rows[i].done_ns, jobs.rows[i].began_ns + 1000000);
            }
            time_ns = do_jobs(&jobs, seed, threads, 3, 0);
            assert_in_range(time_ns, 3 * JOBS / threads * 1000000, 3 * JOBS / threads * 1020000);
        }
}

static void work_that_kills_its_process_is_never_reported(void **state)
{
    (void)state;
    struct jobs jobs;
    (void)do_jobs(&jobs, 7, 1, 1, 5);
    assert_int_equal(jobs.began, 5);
    assert_int_equal(jobs.done, 4);
}

/* --- children: a cluster that is killed at a random event --- */

struct cluster {
    shoal_env *env;
    struct env_loop *loop;
    struct env_listener *listener;
    struct env_shared shared;
    struct env_child *children[4];
    struct env_conn *conns[16];
    uint32_t conn_count, exits, started, freed, received;
    int status[4];
    uint32_t events_left;
    struct base_rand rand;
};

struct worker {
    struct cluster *cluster;
    struct env_loop *loop;
    struct env_conn *conn;
    struct env_pool *pool;
    struct env_timer timer;
    struct env_shared shared;
    uint32_t number, ticks;
    char input[8];
};

static void worker_received(void *ctx, struct env_conn *conn, const void *bytes, size_t size)
{
    (void)conn;
    struct worker *worker = ctx;
    if (size == 4 && memcmp(bytes, "stop", 4) == 0)
        env_loop_stop(worker->loop);
}

static void worker_closed(void *ctx, struct env_conn *conn, const shoal_err *why)
{
    (void)conn;
    (void)why;
    struct worker *worker = ctx;
    worker->conn = NULL;
}

static const struct env_conn_ops WORKER_OPS = {NULL, worker_received, NULL, worker_closed};

static uint64_t worker_work(void *ctx, uint32_t thread)
{
    (void)thread;
    struct worker *worker = ctx;
    worker->shared.base[worker->number]++;
    return 1000;
}

static void worker_done(void *ctx)
{
    struct worker *worker = ctx;
    if (worker->conn != NULL)
        assert_int_equal(env_conn_send(worker->conn, "done", 4), SHOAL_OK);
}

static void worker_tick(void *ctx)
{
    struct worker *worker = ctx;
    assert_int_equal(env_pool_run(worker->pool, worker_work, worker_done, worker), SHOAL_OK);
    if (++worker->ticks < 50)
        assert_int_equal(env_timer_start(worker->loop, &worker->timer, 100000, worker_tick, worker),
                         SHOAL_OK);
}

static void *worker_start(void *ctx, shoal_env *env, const char *host,
                          const struct env_spawn *spawn, struct env_loop **out_loop)
{
    struct cluster *cluster = ctx;
    struct worker *worker = calloc(1, sizeof *worker);
    worker->cluster = cluster;
    worker->number = (uint32_t)atoi(spawn->argv[1]);
    assert_null(spawn->argv[0]);
    assert_null(spawn->argv[2]);
    assert_int_equal(spawn->input_size, 3);
    memcpy(worker->input, spawn->input, 3);
    assert_string_equal(worker->input, "key");
    worker->loop = process(env, host);
    cluster->started++;
    assert_int_equal(env_shared_open(env, spawn->shared, 1 << 20, &worker->shared, NULL), SHOAL_OK);
    assert_ptr_equal(worker->shared.base, cluster->shared.base);
    assert_int_equal(env_pool_new(worker->loop, 2, &worker->pool, NULL), SHOAL_OK);
    assert_int_equal(env_connect(worker->loop, env_listener_address(cluster->listener), SECOND_NS,
                                 &WORKER_OPS, worker, &worker->conn, NULL),
                     SHOAL_OK);
    worker_tick(worker);
    *out_loop = worker->loop;
    return worker;
}

static void worker_killed(void *process)
{
    struct worker *worker = process;
    worker->cluster->freed++;
    env_timer_stop(&worker->timer);
    env_conn_close(worker->conn);
    env_pool_free(worker->pool);
    env_shared_close(env_loop_env(worker->loop), &worker->shared);
    env_loop_free(worker->loop);
    free(worker);
}

static void cluster_received(void *ctx, struct env_conn *conn, const void *bytes, size_t size)
{
    (void)bytes;
    (void)size;
    struct cluster *cluster = ctx;
    if (++cluster->received % 60 == 0)
        assert_int_equal(env_conn_send(conn, "stop", 4), SHOAL_OK);
}

static void cluster_closed(void *ctx, struct env_conn *conn, const shoal_err *why)
{
    (void)why;
    struct cluster *cluster = ctx;
    for (uint32_t i = 0; i < cluster->conn_count; i++)
        if (cluster->conns[i] == conn)
            cluster->conns[i] = NULL;
}

static const struct env_conn_ops CLUSTER_OPS = {NULL, cluster_received, NULL, cluster_closed};

static void cluster_accepted(void *ctx, struct env_conn *conn)
{
    struct cluster *cluster = ctx;
    cluster->conns[cluster->conn_count++] = conn;
    env_conn_set(conn, &CLUSTER_OPS, cluster);
}

static void cluster_exited(void *ctx, int status)
{
    struct cluster *cluster = ctx;
    cluster->status[cluster->exits++] = status;
}

static void cluster_init(struct cluster *cluster, uint64_t seed)
{
    *cluster = (struct cluster){.env = world(seed)};
    env_rand(cluster->env, "test", &cluster->rand);
    cluster->loop = process(cluster->env, "home");
    env_sim_set_net(cluster->env, &(struct env_sim_net){
                                      .delay_mean_s = 1e-4, .duplicate = 0.05, .reorder = 0.05});
    env_sim_set_program(cluster->env,
                        &(struct env_sim_program){worker_start, worker_killed, cluster});
    assert_int_equal(env_shared_new(cluster->env, 1 << 20, &cluster->shared, NULL), SHOAL_OK);
    assert_int_equal(
        env_listen(cluster->loop, "home:0", cluster_accepted, cluster, &cluster->listener, NULL),
        SHOAL_OK);
    for (int i = 0; i < 4; i++) {
        char number[16];
        (void)snprintf(number, sizeof number, "%d", i);
        const char *const argv[] = {NULL, number, NULL};
        const struct env_spawn spawn = {argv, cluster->shared.handle, "key", 3};
        assert_int_equal(env_child_start(cluster->loop, &spawn, cluster_exited, cluster,
                                         &cluster->children[i], NULL),
                         SHOAL_OK);
        assert_int_equal(env_child_pid(cluster->children[i]), i + 1);
    }
}

static void cluster_free(struct cluster *cluster)
{
    env_loop_free(cluster->loop);
    assert_int_equal(cluster->freed, cluster->started); /* they died with it */
    env_shared_close(cluster->env, &cluster->shared);
    shoal_env_free(cluster->env);
}

static bool spent(void *ctx)
{
    struct cluster *cluster = ctx;
    return --cluster->events_left == 0;
}

static void a_process_killed_at_any_event_is_silent_and_freed(void **state)
{
    (void)state;
    uint64_t total = 0;
    for (uint64_t seed = 0; seed < 4 * SEEDS; seed++) {
        struct cluster cluster;
        cluster_init(&cluster, seed);
        cluster.events_left = 1 + (uint32_t)base_rand_below(&cluster.rand, 700);
        (void)env_sim_run(cluster.env, NEVER, spent, &cluster);
        uint32_t victim = (uint32_t)base_rand_below(&cluster.rand, 5);
        if (victim == 4) {
            env_sim_kill(cluster.loop);
            assert_int_equal(cluster.freed, cluster.started);
        } else {
            env_child_kill(cluster.children[victim]);
        }
        cluster.events_left = 0; /* no limit */
        total += env_sim_run(cluster.env, NEVER, spent, &cluster);
        assert_true(victim == 4 || cluster.exits >= 1);
        for (uint32_t i = 0; i < cluster.exits; i++)
            assert_true(cluster.status[i] == 0 || cluster.status[i] == 137);
        cluster_free(&cluster);
    }
    assert_true(total > 1000);
}

static void a_child_that_is_freed_dies_without_a_word(void **state)
{
    (void)state;
    struct cluster cluster;
    cluster_init(&cluster, 5);
    (void)env_sim_run(cluster.env, 3000000, NULL, NULL);
    assert_true(cluster.started > 0);
    for (int i = 0; i < 4; i++)
        env_child_free(cluster.children[i]);
    assert_int_equal(cluster.freed, cluster.started);
    (void)env_sim_run(cluster.env, NEVER, NULL, NULL);
    assert_int_equal(cluster.exits, 0);
    cluster_free(&cluster);
}

static void an_env_takes_what_still_runs_with_it(void **state)
{
    (void)state;
    struct cluster cluster;
    cluster_init(&cluster, 6);
    (void)env_sim_run(cluster.env, 3000000, NULL, NULL);
    shoal_env_free(cluster.env);
    assert_int_equal(cluster.freed, cluster.started);
}

static void shared_memory_reads_as_zero_after_a_drop(void **state)
{
    (void)state;
    shoal_env *env = world(1);
    struct env_shared one = {0}, two = {0};
    assert_int_equal(env_shared_new(env, (size_t)1 << 40, &one, NULL), SHOAL_OK);
    assert_int_equal(env_shared_open(env, one.handle, 100000, &two, NULL), SHOAL_OK);
    memset(two.base, 1, 100000);
    env_shared_drop(env, &one, 10, 99980);
    for (size_t i = 0; i < 100000; i++)
        assert_int_equal(two.base[i], i < 10 || i >= 99990);
    struct env_shared none = {0};
    assert_int_equal(env_shared_open(env, one.handle + 1, 1, &none, NULL), SHOAL_E_NOTFOUND);
    int64_t handle = one.handle;
    env_shared_close(env, &one);
    assert_null(one.base);
    assert_int_equal(two.base[0], 1);
    env_shared_close(env, &two);
    env_shared_close(env, &two);
    assert_int_equal(env_shared_open(env, handle, 1, &none, NULL), SHOAL_E_NOTFOUND);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_takes_the_time_of_its_work_times_the_slowness_of_its_host),
        cmocka_unit_test(work_that_kills_its_process_is_never_reported),
        cmocka_unit_test(a_process_killed_at_any_event_is_silent_and_freed),
        cmocka_unit_test(a_child_that_is_freed_dies_without_a_word),
        cmocka_unit_test(an_env_takes_what_still_runs_with_it),
        cmocka_unit_test(shared_memory_reads_as_zero_after_a_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
