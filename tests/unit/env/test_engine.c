/* Tests of src/env/engine.c: the loop asks engines before it sleeps, and wakes for them. */
#include "torture.h"

#include "base/assert.h"
#include "env/engine.h"
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A library whose descriptor wakes the loop only after it was asked to. */
struct library {
    struct env_loop *loop;
    struct env_engine *engine;
    int fd;
    uint32_t asked, work, done, frees_at;
    struct env_timer timer;
};

static void wake(struct library *library)
{
    const uint64_t one = 1;
    shoal_assert(write(library->fd, &one, sizeof one) == sizeof one);
}

static bool prepare(void *ctx)
{
    struct library *library = ctx;
    uint64_t count = 0;
    library->asked++;
    (void)!read(library->fd, &count, sizeof count);
    if (library->asked == library->frees_at) {
        env_engine_free(library->engine);
        library->engine = NULL;
        return true;
    }
    if (library->work > 0) {
        library->work--;
        library->done++;
        return false;
    }
    if (library->done > 0)
        env_loop_stop(library->loop);
    return true;
}

static void more_work(void *ctx)
{
    struct library *library = ctx;
    library->work = 3; /* as a send from another callback: nothing is readable */
}

static void work_from_outside(void *ctx)
{
    struct library *library = ctx;
    library->work = 1;
    wake(library);
}

static void stop(void *ctx)
{
    env_loop_stop(ctx);
}

static shoal_env *env;

static void begin(struct library *library)
{
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    assert_int_equal(env_loop_new(env, NULL, &library->loop, NULL), SHOAL_OK);
    library->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    assert_true(library->fd >= 0);
    assert_int_equal(
        env_engine_new(library->loop, library->fd, prepare, library, &library->engine, NULL),
        SHOAL_OK);
}

static void end(struct library *library)
{
    env_engine_free(library->engine);
    env_loop_free(library->loop);
    shoal_env_free(env);
    assert_int_equal(close(library->fd), 0);
}

static void what_it_has_to_do_is_done_before_the_loop_sleeps(void **state)
{
    struct library library = {.work = 5};
    (void)state;

    begin(&library);
    assert_int_equal(env_loop_run(library.loop, NULL), SHOAL_OK);
    assert_true(library.done == 5 && library.asked == 6);
    end(&library);
}

static void work_of_a_callback_is_seen_without_a_descriptor(void **state)
{
    struct library library = {.work = 0};
    (void)state;

    begin(&library);
    assert_int_equal(env_timer_start(library.loop, &library.timer, 1000000, more_work, &library),
                     SHOAL_OK);
    assert_int_equal(env_loop_run(library.loop, NULL), SHOAL_OK);
    assert_int_equal(library.done, 3);
    end(&library);
}

static void its_descriptor_wakes_the_loop(void **state)
{
    struct library library = {.work = 0};
    (void)state;

    begin(&library);
    assert_int_equal(
        env_timer_start(library.loop, &library.timer, 1000000, work_from_outside, &library),
        SHOAL_OK);
    assert_int_equal(env_loop_run(library.loop, NULL), SHOAL_OK);
    assert_int_equal(library.done, 1);
    end(&library);
}

static void it_may_be_freed_while_it_is_asked(void **state)
{
    struct library library = {.frees_at = 1}, other = {.work = 2};
    (void)state;

    begin(&library);
    other.loop = library.loop;
    other.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    assert_int_equal(env_engine_new(other.loop, other.fd, prepare, &other, &other.engine, NULL),
                     SHOAL_OK);
    assert_int_equal(env_timer_start(library.loop, &library.timer, 5000000, stop, library.loop),
                     SHOAL_OK);
    assert_int_equal(env_loop_run(library.loop, NULL), SHOAL_OK);
    assert_true(library.asked == 1 && library.engine == NULL && other.done == 2);
    env_engine_free(other.engine);
    assert_int_equal(close(other.fd), 0);
    end(&library);
}

static void a_simulation_has_none(void **state)
{
    shoal_env *sim = NULL;
    struct env_loop *loop = NULL;
    struct env_engine *engine = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    (void)state;

    assert_int_equal(shoal_env_sim_new(1, &sim, NULL), SHOAL_OK);
    assert_int_equal(env_loop_new(sim, "home", &loop, NULL), SHOAL_OK);
    assert_int_equal(env_engine_new(loop, 0, prepare, NULL, &engine, &err), SHOAL_E_INVAL);
    assert_true(engine == NULL && err.message[0] != '\0');
    env_loop_free(loop);
    shoal_env_free(sim);
}

static void a_library_is_loaded_after_its_variables_are_set(void **state)
{
    static const char *const VARIABLES[] = {"SHOAL_TEST_ENGINE", "on", "SHOAL_TEST_KEPT", "new",
                                            NULL};
    void *library = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    (void)state;

    assert_int_equal(setenv("SHOAL_TEST_KEPT", "old", 1), 0);
    assert_int_equal(env_library_load("libm.so.6", VARIABLES, &library, NULL), SHOAL_OK);
    assert_string_equal(getenv("SHOAL_TEST_ENGINE"), "on");
    assert_string_equal(getenv("SHOAL_TEST_KEPT"), "old");
    assert_non_null(env_library_find(library, "cos"));
    assert_null(env_library_find(library, "no_such_function"));
    assert_int_equal(env_library_load("libshoal-none.so.9", VARIABLES, &library, &err),
                     SHOAL_E_NOTFOUND);
    assert_non_null(strstr(err.message, "libshoal-none.so.9"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_has_to_do_is_done_before_the_loop_sleeps),
        cmocka_unit_test(work_of_a_callback_is_seen_without_a_descriptor),
        cmocka_unit_test(its_descriptor_wakes_the_loop),
        cmocka_unit_test(it_may_be_freed_while_it_is_asked),
        cmocka_unit_test(a_simulation_has_none),
        cmocka_unit_test(a_library_is_loaded_after_its_variables_are_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
