/* Tests of src/env/loop_real.c (posts, timers), loop_real_pool.c, loop_real_child.c and
 * loop_real_shared.c. The test starts itself as a child: the first argument says what it does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "loop_real_world.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- posts --- */

enum { POSTERS = 4, POSTS = 5000 };

struct posts {
    struct loop_world world;
    pthread_t loop_thread;
    struct poster {
        struct posts *posts;
        pthread_t id;
        struct note {
            struct poster *poster;
            uint32_t number;
        } notes[POSTS];
        uint32_t seen;
    } posters[POSTERS];
    uint32_t seen;
};

static void post_seen(void *ctx)
{
    const struct note *note = ctx;
    struct posts *posts = note->poster->posts;
    assert_true(pthread_equal(pthread_self(), posts->loop_thread));
    assert_int_equal(note->number, note->poster->seen);
    note->poster->seen++;
    if (++posts->seen == POSTERS * POSTS)
        env_loop_stop(posts->world.loop);
}

static void *poster_main(void *arg)
{
    struct poster *poster = arg;
    for (uint32_t i = 0; i < POSTS; i++) {
        poster->notes[i] = (struct note){poster, i};
        if (env_loop_post(poster->posts->world.loop, post_seen, &poster->notes[i]) != SHOAL_OK)
            abort();
    }
    return NULL;
}

static void posts_of_each_thread_keep_their_order(void **state)
{
    (void)state;
    static struct posts posts;
    loop_world_init(&posts.world);
    posts.loop_thread = pthread_self();
    for (int i = 0; i < POSTERS; i++) {
        posts.posters[i].posts = &posts;
        assert_int_equal(pthread_create(&posts.posters[i].id, NULL, poster_main, &posts.posters[i]),
                         0);
    }
    loop_world_run(&posts.world);
    for (int i = 0; i < POSTERS; i++)
        assert_int_equal(pthread_join(posts.posters[i].id, NULL), 0);
    loop_world_fini(&posts.world);
}

static void *stopper_main(void *arg)
{
    env_loop_stop(arg);
    return NULL;
}

static void never_run(void *ctx)
{
    (void)ctx;
    abort();
}

static void any_thread_may_stop_a_loop(void **state)
{
    (void)state;
    struct loop_world world;
    loop_world_init(&world);
    for (int i = 0; i < 100; i++) {
        pthread_t id;
        assert_int_equal(pthread_create(&id, NULL, stopper_main, world.loop), 0);
        loop_world_run(&world);
        assert_int_equal(pthread_join(id, NULL), 0);
    }
    assert_int_equal(env_loop_post(world.loop, never_run, NULL), SHOAL_OK);
    loop_world_fini(&world); /* a post that never ran is freed */
}

/* --- timers --- */

enum { TIMERS = 200 };

struct ticks {
    struct loop_world world;
    struct tick {
        struct ticks *ticks;
        struct env_timer timer;
        uint64_t due_ns;
        uint32_t number, runs;
    } rows[TIMERS];
    uint32_t count, last;
    uint64_t last_ns;
};

static void tick(void *ctx)
{
    struct tick *row = ctx;
    struct ticks *ticks = row->ticks;
    assert_true(env_now_ns(ticks->world.env) >= row->due_ns);
    assert_true(row->due_ns > ticks->last_ns ||
                (row->due_ns == ticks->last_ns && row->number > ticks->last));
    ticks->last_ns = row->due_ns;
    ticks->last = row->number;
    row->runs++;
    if (++ticks->count == TIMERS / 2)
        env_loop_stop(ticks->world.loop);
}

static void timers_run_in_order_never_early_and_never_when_stopped(void **state)
{
    (void)state;
    static struct ticks ticks;
    loop_world_init(&ticks.world);
    struct base_rand rand;
    base_rand_init(&rand, 1, "ticks");
    for (uint32_t i = 0; i < TIMERS; i++) {
        struct tick *row = &ticks.rows[i];
        row->ticks = &ticks;
        row->number = i;
        assert_int_equal(env_timer_start(ticks.world.loop, &row->timer,
                                         base_rand_below(&rand, 20 * MS_NS), tick, row),
                         SHOAL_OK);
        row->due_ns = row->timer.due_ns;
    }
    for (uint32_t i = 0; i < TIMERS; i += 2)
        env_timer_stop(&ticks.rows[i].timer);
    loop_world_run(&ticks.world);
    for (uint32_t i = 0; i < TIMERS; i++)
        assert_int_equal(ticks.rows[i].runs, i % 2);
    loop_world_fini(&ticks.world);
}

/* --- pools --- */

enum { JOBS = 3000, THREADS = 4 };

struct jobs {
    struct loop_world world;
    pthread_t loop_thread;
    struct env_pool *pool;
    atomic_uint busy[THREADS]; /* how many are in this thread: 0 or 1 */
    struct job {
        struct jobs *jobs;
        uint32_t worked, done;
    } rows[JOBS];
    uint32_t done, free_at;
};

static uint64_t job_work(void *ctx, uint32_t thread)
{
    struct job *job = ctx;
    if (thread >= THREADS || atomic_fetch_add(&job->jobs->busy[thread], 1) != 0)
        abort();
    job->worked++;
    atomic_fetch_sub(&job->jobs->busy[thread], 1);
    return 0;
}

static void job_done(void *ctx)
{
    struct job *job = ctx;
    struct jobs *jobs = job->jobs;
    assert_true(pthread_equal(pthread_self(), jobs->loop_thread));
    job->done++;
    if (++jobs->done == jobs->free_at) {
        env_pool_free(jobs->pool); /* from inside its own callback */
        jobs->pool = NULL;
    }
    if (jobs->done == JOBS || jobs->pool == NULL)
        env_loop_stop(jobs->world.loop);
}

static void do_jobs(struct jobs *jobs, uint32_t free_at)
{
    memset(jobs, 0, sizeof *jobs);
    loop_world_init(&jobs->world);
    jobs->loop_thread = pthread_self();
    jobs->free_at = free_at;
    assert_int_equal(env_pool_new(jobs->world.loop, THREADS, &jobs->pool, NULL), SHOAL_OK);
    for (uint32_t i = 0; i < JOBS; i++) {
        jobs->rows[i].jobs = jobs;
        assert_int_equal(env_pool_run(jobs->pool, job_work, job_done, &jobs->rows[i]), SHOAL_OK);
    }
    loop_world_run(&jobs->world);
    env_pool_free(jobs->pool);
    loop_world_fini(&jobs->world);
}

static void a_pool_does_all_its_work_once_and_tells_the_loop(void **state)
{
    (void)state;
    static struct jobs jobs;
    do_jobs(&jobs, 0);
    for (uint32_t i = 0; i < JOBS; i++) {
        assert_int_equal(jobs.rows[i].worked, 1);
        assert_int_equal(jobs.rows[i].done, 1);
    }
}

static void a_freed_pool_calls_back_no_more(void **state)
{
    (void)state;
    static struct jobs jobs;
    do_jobs(&jobs, 10);
    assert_int_equal(jobs.done, 10);
}

/* --- children --- */

enum { SHARED_SIZE = 1 << 20 };

struct family {
    struct loop_world world;
    struct env_child *child;
    uint32_t exits;
    int status;
};

static void family_exited(void *ctx, int status)
{
    struct family *family = ctx;
    family->exits++;
    family->status = status;
    env_child_free(family->child);
    family->child = NULL;
    env_loop_stop(family->world.loop);
}

static void family_start(struct family *family, const char *role, const char *detail,
                         int64_t shared, const char *input)
{
    const char *const argv[] = {NULL, role, detail, NULL};
    const struct env_spawn spawn = {argv, shared, input, input == NULL ? 0 : strlen(input)};
    shoal_err err = SHOAL_ERR_INIT;
    if (env_child_start(family->world.loop, &spawn, family_exited, family, &family->child, &err) !=
        SHOAL_OK)
        fail_msg("%s", err.message);
    assert_true(env_child_pid(family->child) > 0);
}

static int run_child(const char *role, const char *detail, int64_t shared, const char *input)
{
    struct family family = {0};
    loop_world_init(&family.world);
    family_start(&family, role, detail, shared, input);
    loop_world_run(&family.world);
    assert_int_equal(family.exits, 1);
    loop_world_fini(&family.world);
    return family.status;
}

static void a_child_reports_its_status_and_gets_its_input(void **state)
{
    (void)state;
    assert_int_equal(run_child("exit", "0", -1, NULL), 0);
    assert_int_equal(run_child("exit", "42", -1, NULL), 42);
    assert_int_equal(run_child("signal", NULL, -1, NULL), 128 + SIGTERM);
    assert_int_equal(run_child("input", "a secret", -1, "a secret"), 0);
    assert_int_equal(run_child("input", "", -1, NULL), 0);
}

static void a_child_has_no_descriptors_but_those_it_is_given(void **state)
{
    (void)state;
    int leak = dup(1); /* without the flag that closes it */
    assert_true(leak >= 0);
    assert_int_equal(run_child("descriptors", "3", -1, NULL), 0);
    (void)close(leak);
}

static void a_killed_child_is_reported_and_a_freed_one_is_not(void **state)
{
    (void)state;
    struct family family = {0};
    loop_world_init(&family.world);
    family_start(&family, "hang", NULL, -1, NULL);
    env_child_kill(family.child);
    loop_world_run(&family.world);
    assert_int_equal(family.status, 128 + SIGKILL);

    family_start(&family, "hang", NULL, -1, NULL);
    pid_t pid = (pid_t)env_child_pid(family.child);
    env_child_free(family.child);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
    assert_int_equal(family.exits, 1);

    family_start(&family, "hang", NULL, -1, NULL);
    pid = (pid_t)env_child_pid(family.child);
    loop_world_fini(&family.world); /* takes its children with it */
    assert_int_equal(kill(pid, 0), -1);
}

static void a_program_that_is_not_there_is_an_error_of_the_call(void **state)
{
    (void)state;
    struct loop_world world;
    loop_world_init(&world);
    const char *const argv[] = {"/no/such/program", NULL};
    const struct env_spawn spawn = {argv, -1, NULL, 0};
    struct env_child *child = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    assert_int_equal(env_child_start(world.loop, &spawn, family_exited, NULL, &child, &err),
                     SHOAL_E_NOTFOUND);
    assert_null(child);
    assert_non_null(strstr(err.message, "cannot start '/no/such/program'"));
    loop_world_fini(&world);
}

static void a_child_dies_with_its_parent(void **state)
{
    (void)state;
    struct family family = {0};
    struct env_shared shared = {0};
    loop_world_init(&family.world);
    assert_int_equal(env_shared_new(family.world.env, SHARED_SIZE, &shared, NULL), SHOAL_OK);
    family_start(&family, "parent", NULL, shared.handle, NULL);
    atomic_int *pid = (atomic_int *)(void *)shared.base;
    uint64_t before = env_now_ns(family.world.env);
    while (atomic_load(pid) == 0) {
        (void)poll(NULL, 0, 1);
        assert_true(env_now_ns(family.world.env) - before < DEADLINE_NS);
    }
    env_child_kill(family.child);
    loop_world_run(&family.world);
    /* It may be a zombie for a while, until the process that inherited it looks. */
    char path[64], text[512] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/stat", atomic_load(pid));
    for (;;) {
        FILE *file = fopen(path, "r");
        if (file == NULL)
            break;
        size_t size = fread(text, 1, sizeof text - 1, file);
        (void)fclose(file);
        text[size] = '\0';
        const char *after = strrchr(text, ')');
        if (after == NULL || after[2] == 'Z' || after[2] == 'X')
            break;
        (void)poll(NULL, 0, 1);
        assert_true(env_now_ns(family.world.env) - before < DEADLINE_NS);
    }
    env_shared_close(family.world.env, &shared);
    loop_world_fini(&family.world);
}

struct caller {
    struct family family;
    size_t got;
    uint32_t closed;
};

static void caller_received(void *ctx, struct env_conn *conn, const void *bytes, size_t size)
{
    (void)conn;
    (void)bytes;
    struct caller *caller = ctx;
    caller->got += size;
    if (caller->got == 4)
        env_child_kill(caller->family.child);
}

static void caller_closed(void *ctx, struct env_conn *conn, const shoal_err *why)
{
    (void)conn;
    (void)why;
    struct caller *caller = ctx;
    caller->closed++;
    if (caller->family.exits > 0)
        env_loop_stop(caller->family.world.loop);
}

static void caller_accepted(void *ctx, struct env_conn *conn)
{
    static const struct env_conn_ops OPS = {NULL, caller_received, NULL, caller_closed};
    env_conn_set(conn, &OPS, ctx);
}

static void the_connection_of_a_killed_process_closes(void **state)
{
    (void)state;
    struct caller caller = {0};
    struct env_listener *listener = NULL;
    loop_world_init(&caller.family.world);
    assert_int_equal(env_listen(caller.family.world.loop, "127.0.0.1:0", caller_accepted, &caller,
                                &listener, NULL),
                     SHOAL_OK);
    family_start(&caller.family, "connect", strrchr(env_listener_address(listener), ':') + 1, -1,
                 NULL);
    loop_world_run(&caller.family.world);
    if (caller.closed == 0) /* the exit was seen first */
        loop_world_run(&caller.family.world);
    assert_int_equal(caller.got, 4);
    assert_int_equal(caller.closed, 1);
    assert_int_equal(caller.family.status, 128 + SIGKILL);
    loop_world_fini(&caller.family.world);
}

/* --- shared memory --- */

static void shared_memory_is_seen_by_a_child_and_given_back(void **state)
{
    (void)state;
    shoal_env *env = NULL;
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    struct env_shared shared = {0}, again = {0};
    shoal_err err = SHOAL_ERR_INIT;
    assert_int_equal(env_shared_new(env, (size_t)1 << 36, &shared, &err), SHOAL_OK);
    memset(shared.base, 7, SHARED_SIZE);
    assert_int_equal(run_child("shared", NULL, shared.handle, NULL), 0);
    for (size_t i = 0; i < SHARED_SIZE; i++)
        assert_int_equal(shared.base[i], 8);
    env_shared_drop(env, &shared, 10, SHARED_SIZE - 20);
    assert_int_equal(env_shared_open(env, shared.handle, SHARED_SIZE, &again, &err), SHOAL_OK);
    env_shared_close(env, &shared);
    for (size_t i = 0; i < SHARED_SIZE; i++)
        assert_int_equal(again.base[i], i < 10 || i >= SHARED_SIZE - 10 ? 8 : 0);
    assert_int_equal(env_shared_open(env, again.handle, (size_t)1 << 37, &shared, &err),
                     SHOAL_E_INVAL);
    assert_int_not_equal(env_shared_open(env, 1 << 20, 1, &shared, &err), SHOAL_OK);
    env_shared_close(env, &again);
    shoal_env_free(env);
}

/* --- what children do --- */

static int role_input(const char *expected)
{
    char text[100];
    ssize_t size = read(STDIN_FILENO, text, sizeof text);
    return size == (ssize_t)strlen(expected) && memcmp(text, expected, (size_t)size) == 0 ? 0 : 1;
}

/* Else a process could pull pages from under the others, which would then die of SIGBUS. */
static void no_process_can_change_the_size_of_shared_memory(void **state)
{
    (void)state;
    shoal_env *env = NULL;
    struct env_shared shared = {0};
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    assert_int_equal(env_shared_new(env, SHARED_SIZE, &shared, NULL), SHOAL_OK);
    assert_int_equal(ftruncate((int)shared.handle, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate((int)shared.handle, 2 * (off_t)SHARED_SIZE), -1);
    assert_int_equal(errno, EPERM);
    shared.base[SHARED_SIZE - 1] = 1;
    env_shared_close(env, &shared);
    shoal_env_free(env);
}

static int role_shared(void)
{
    shoal_env *env = NULL;
    struct env_shared shared = {0};
    if (shoal_env_real_new(&env, NULL) != SHOAL_OK ||
        env_shared_open(env, 3, SHARED_SIZE, &shared, NULL) != SHOAL_OK)
        return 1;
    for (size_t i = 0; i < SHARED_SIZE; i++)
        shared.base[i]++;
    env_shared_close(env, &shared);
    shoal_env_free(env);
    return 0;
}

_Noreturn static void hang(void)
{
    for (;;)
        (void)pause();
}

/* Starts a child, says who it is, and waits to be killed. */
static int role_parent(void)
{
    shoal_env *env = NULL;
    struct env_loop *loop = NULL;
    struct env_child *child = NULL;
    struct env_shared shared = {0};
    const char *const argv[] = {NULL, "hang", NULL};
    const struct env_spawn spawn = {argv, -1, NULL, 0};
    if (shoal_env_real_new(&env, NULL) != SHOAL_OK ||
        env_loop_new(env, NULL, &loop, NULL) != SHOAL_OK ||
        env_shared_open(env, 3, SHARED_SIZE, &shared, NULL) != SHOAL_OK ||
        env_child_start(loop, &spawn, family_exited, NULL, &child, NULL) != SHOAL_OK)
        return 1;
    atomic_store((atomic_int *)(void *)shared.base, (int)env_child_pid(child));
    hang();
}

static int role_descriptors(int first)
{
    for (int fd = first; fd < 64; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            return fd;
    return 0;
}

/* Connects, says so, and waits to be killed. */
static void role_connect(const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        send(fd, "here", 4, 0) != 4)
        _exit(1);
}

static int child_main(const char *role, const char *detail)
{
    if (strcmp(role, "exit") == 0)
        return atoi(detail);
    if (strcmp(role, "signal") == 0)
        return raise(SIGTERM);
    if (strcmp(role, "input") == 0)
        return role_input(detail);
    if (strcmp(role, "shared") == 0)
        return role_shared();
    if (strcmp(role, "parent") == 0)
        return role_parent();
    if (strcmp(role, "descriptors") == 0)
        return role_descriptors(atoi(detail));
    if (strcmp(role, "connect") == 0)
        role_connect(detail);
    hang();
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return child_main(argv[1], argc > 2 ? argv[2] : "");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(posts_of_each_thread_keep_their_order),
        cmocka_unit_test(any_thread_may_stop_a_loop),
        cmocka_unit_test(timers_run_in_order_never_early_and_never_when_stopped),
        cmocka_unit_test(a_pool_does_all_its_work_once_and_tells_the_loop),
        cmocka_unit_test(a_freed_pool_calls_back_no_more),
        cmocka_unit_test(a_child_reports_its_status_and_gets_its_input),
        cmocka_unit_test(a_child_has_no_descriptors_but_those_it_is_given),
        cmocka_unit_test(a_killed_child_is_reported_and_a_freed_one_is_not),
        cmocka_unit_test(a_program_that_is_not_there_is_an_error_of_the_call),
        cmocka_unit_test(a_child_dies_with_its_parent),
        cmocka_unit_test(the_connection_of_a_killed_process_closes),
        cmocka_unit_test(shared_memory_is_seen_by_a_child_and_given_back),
        cmocka_unit_test(no_process_can_change_the_size_of_shared_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
