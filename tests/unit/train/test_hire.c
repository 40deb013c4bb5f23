/* Tests of src/train/hire.c: who is taken in as a worker, and as which, and what onlookers are told of
 * workers that are not there yet. */
#include "sim_cases.h"

#include "counting_app.h"
#include "train/answer.h"

/* Knows the key and says this of itself, from another machine. */
struct joiner {
    struct env_loop *loop;
    struct wire_peer *peer;
    struct train_join join;
    bool set_up, closed;
};

static void joiner_ready(void *ctx, struct wire_peer *peer)
{
    struct joiner *j = ctx;

    (void)!wire_peer_send(peer, TRAIN_JOIN, &j->join, sizeof j->join);
}

static void joiner_heard(void *ctx, struct wire_peer *peer, uint16_t kind, const void *bytes,
                         size_t size)
{
    struct joiner *j = ctx;

    (void)peer;
    (void)bytes;
    (void)size;
    j->set_up |= kind == TRAIN_SETUP;
}

static void joiner_closed(void *ctx, struct wire_peer *peer, const shoal_err *why)
{
    struct joiner *j = ctx;

    (void)peer;
    (void)why;
    j->peer = NULL;
    j->closed = true;
}

static void go_on(struct cluster *c, double seconds)
{
    env_sim_run(c->env, env_now_ns(c->env) + (uint64_t)(1e9 * seconds), cluster_over, c);
}

/* Whether it was taken in. It has gone when this returns. */
static bool is_taken_in(struct cluster *c, uint32_t threads, uint32_t slot)
{
    static const struct wire_peer_ops OPS = {joiner_ready, joiner_heard, joiner_closed};
    struct joiner j = {.join = {.threads = threads, .slot = slot, .host = "other"}};

    if (env_loop_new(c->env, "other", &j.loop, NULL) != SHOAL_OK ||
        wire_peer_connect(j.loop, train_master_address(c->master), &c->key, NULL, &OPS, &j, &j.peer,
                          NULL) != SHOAL_OK)
        abort();
    go_on(c, 0.5);
    assert_true(j.set_up != j.closed); /* one or the other, and soon */
    wire_peer_close(j.peer);
    env_loop_free(j.loop);
    go_on(c, 0.5);
    return j.set_up;
}

/* A job of two workers that are up, and long enough for the test. */
static void begin(struct cluster *c)
{
    c->workers = 2;
    c->task_mean_s = 0.5;
    cluster_begin(c, 1);
    cluster_run(c, &WITNESS, "clocks=20", 1);
    assert_false(c->over);
    assert_int_equal(train_master_stats(c->master).workers, 2);
}

/* The job goes on and ends as it should, whoever came. */
static void end(struct cluster *c)
{
    go_on(c, 10000);
    assert_null(sim_unwell(c));
    assert_int_equal(train_master_stats(c->master).tasks, EXECUTORS * 20);
    cluster_free(c);
}

static void a_seat_that_is_taken_or_that_nobody_waits_for_is_not_given(void **state)
{
    struct cluster c = {0};
    struct train_worker_info info;

    (void)state;
    begin(&c);
    for (uint32_t slot = 1; slot <= 4; slot++)
        assert_false(is_taken_in(&c, 1, slot));
    assert_false(is_taken_in(&c, 1, UINT32_MAX));
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(train_master_worker(c.master, i, &info), SHOAL_OK);
        assert_string_equal(info.host, "home");
    }
    assert_int_equal(train_master_worker(c.master, 2, &info), SHOAL_END);
    assert_int_equal(train_master_stats(c.master).workers_lost, 0);
    end(&c);
}

static void a_worker_without_threads_is_not_taken_in(void **state)
{
    struct cluster c = {0};

    (void)state;
    begin(&c);
    assert_false(is_taken_in(&c, 0, 0));
    assert_true(is_taken_in(&c, 1, 0));
    end(&c);
}

static size_t count_of(const struct base_buf *text, const char *words)
{
    size_t count = 0;

    for (const char *at = text->data; (at = strstr(at, words)) != NULL; at++)
        count++;
    return count;
}

/* How many of the crew's pids say this, in the answer to "status". */
static size_t pids(struct cluster *c, const char *words)
{
    struct base_buf out;

    base_buf_init(&out, &base_alloc_libc, 1 << 20);
    train_answer(c->master, "status", strlen("status"), &out);
    assert_int_equal(base_buf_status(&out), SHOAL_OK);
    assert_int_equal(count_of(&out, "\"pid\":"), 2);
    size_t count = count_of(&out, words);
    base_buf_fini(&out);
    return count;
}

static void a_worker_that_is_starting_has_no_pid(void **state)
{
    struct cluster c = {.workers = 2, .task_mean_s = 0.5};

    (void)state;
    cluster_begin(&c, 1);
    cluster_run(&c, &WITNESS, "clocks=20", 1e-9);
    assert_int_equal(pids(&c, "\"pid\":null,"), 2);
    go_on(&c, 1);
    assert_int_equal(pids(&c, "\"pid\":1,"), 2);
    end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seat_that_is_taken_or_that_nobody_waits_for_is_not_given),
        cmocka_unit_test(a_worker_without_threads_is_not_taken_in),
        cmocka_unit_test(a_worker_that_is_starting_has_no_pid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
