/* ctest: timeout=300 */
/* The public face of training (shoal/job.h), used as any program would: workers are the command of this build.
 *
 * What must not be over before it is disturbed is a job of tests/cli/held_app.c: its tasks wait until the file
 * `held` lets them go on. Nothing asserts a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "env/env.h"
#include "shoal/job.h"
#include "shoal/train.h"
#include <glob.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct world {
    char folder[64], held_app[600], shoal[600], home[600];
    shoal_env *env;
};

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* Tasks of clocks below this one may run; 0: all. */
static void hold(uint64_t clock)
{
    char text[32];

    if (clock == 0) {
        (void)unlink("held");
        return;
    }
    snprintf(text, sizeof text, "%llu\n", (unsigned long long)clock);
    write_file("held.new", text);
    assert_int_equal(rename("held.new", "held"), 0);
}

static void write_points(const char *name)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    for (int i = 0; i < 600; i++)
        fprintf(file, "%d.%d,%d.%d\n", i % 7, i % 10, i % 3, i % 11);
    assert_int_equal(fclose(file), 0);
}

static int open_world(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    const char *build = getenv("SHOAL_BUILD_DIR"), *shoal = getenv("SHOAL_BIN");

    if (w == NULL || build == NULL || shoal == NULL)
        return -1;
    snprintf(w->folder, sizeof w->folder, "/tmp/shoal-test-XXXXXX");
    snprintf(w->held_app, sizeof w->held_app, "%s/tests/held.so", build);
    snprintf(w->shoal, sizeof w->shoal, "%s", shoal);
    if (mkdtemp(w->folder) == NULL || getcwd(w->home, sizeof w->home) == NULL ||
        chdir(w->folder) != 0)
        return -1;
    setenv("XDG_RUNTIME_DIR", w->folder, 1);
    setenv("HELD_APP", "kmeans", 1);
    char held[100];
    snprintf(held, sizeof held, "%s/held", w->folder);
    setenv("HELD_FILE", held, 1);
    write_points("points.csv");
    if (shoal_env_real_new(&w->env, NULL) != SHOAL_OK)
        return -1;
    *state = w;
    return 0;
}

static int close_world(void **state)
{
    struct world *w = *state;
    char command[128];

    shoal_env_free(w->env);
    if (chdir(w->home) != 0)
        return -1;
    snprintf(command, sizeof command, "rm -r '%s'", w->folder);
    int rc = system(command);
    free(w);
    return rc;
}

static shoal_job_opts options(const struct world *w)
{
    shoal_job_opts opts;

    shoal_job_opts_init(&opts);
    opts.program = w->shoal;
    opts.threads = 1;
    opts.sets = (shoal_opt_list){{"k=3", "clocks=40"}, 2};
    return opts;
}

static shoal_job *start(const struct world *w, const shoal_job_opts *opts, shoal_watch *watch)
{
    shoal_err err = SHOAL_ERR_INIT;
    shoal_job *job = NULL;

    if (shoal_job_start(w->env, w->held_app, "points.csv", opts, watch, &job, &err) != SHOAL_OK)
        fail_msg("%s; %s", err.message, err.hint);
    assert_int_equal(err.code, SHOAL_OK); /* what was tried on the way is not told */
    return job;
}

static void finish(shoal_job *job)
{
    shoal_err err = SHOAL_ERR_INIT;

    hold(0);
    if (shoal_job_wait(job, (double)INFINITY, &err) != SHOAL_OK)
        fail_msg("%s; %s", err.message, err.hint);
}

static shoal_job_state look(const shoal_job *job)
{
    shoal_job_state state = {.struct_size = sizeof state};

    shoal_job_read(job, &state);
    return state;
}

static double value_of(const shoal_job *job)
{
    return shoal_result_number(shoal_job_result(job), 0, "value");
}

/* What an undisturbed job comes to: the same for any workers, since it is bulk synchronous. */
static double quiet_value(const struct world *w)
{
    shoal_job_opts opts = options(w);
    shoal_job *job = start(w, &opts, NULL);

    finish(job);
    double value = value_of(job);
    shoal_job_free(job);
    assert_true(isfinite(value));
    return value;
}

/* How many jobs `shoal jobs` would ask; one that nobody waits for does not answer. */
static size_t listed(void)
{
    glob_t found;
    int rc = glob("shoal/jobs/*.job", 0, NULL, &found);
    size_t count = rc == 0 ? found.gl_pathc : 0;

    globfree(&found);
    return count;
}

static void a_job_that_ends_well_has_a_model_and_a_result(void **state)
{
    struct world *w = *state;
    shoal_job_opts opts = options(w);
    shoal_watch *watch = shoal_watch_new();
    shoal_err err = SHOAL_ERR_INIT;

    opts.workers = 2;
    opts.model = "clusters.shoal";
    shoal_job *job = start(w, &opts, watch);
    shoal_job_state now = look(job);
    assert_int_equal(now.wanted, 2);
    assert_false(now.ended);
    assert_non_null(strstr(now.address, "127.0.0.1:"));
    assert_null(shoal_job_result(job));
    assert_int_equal(listed(), 1);
    finish(job);

    now = look(job);
    assert_true(now.ended);
    assert_int_equal(now.clocks, 40);
    assert_true(now.units > 0 && now.tasks > 0 && now.seconds > 0);
    assert_true(now.value == value_of(job));
    assert_true(shoal_watch_look(watch).done == now.units);
    assert_string_equal(shoal_result_text(shoal_job_result(job), 0, "app"), "kmeans");
    assert_string_equal(shoal_result_text(shoal_job_result(job), 0, "model"), "clusters.shoal");
    assert_int_equal(access("clusters.shoal", R_OK), 0);
    assert_int_equal(listed(), 0);

    /* The end stays the end. */
    assert_int_equal(shoal_job_wait(job, 0, &err), SHOAL_OK);
    assert_int_equal(shoal_job_scale(job, 3, &err), SHOAL_E_INVAL);
    shoal_job_stop(job);
    assert_int_equal(shoal_job_wait(job, 0, &err), SHOAL_OK);
    shoal_job_free(job);
    shoal_watch_free(watch);
}

static void *scale_to_three(void *ctx)
{
    shoal_err err = SHOAL_ERR_INIT;

    return shoal_job_scale(ctx, 3, &err) == SHOAL_OK ? ctx : NULL;
}

static void another_thread_gives_a_running_job_workers(void **state)
{
    struct world *w = *state;
    double value = quiet_value(w);
    shoal_job_opts opts = options(w);
    shoal_err err = SHOAL_ERR_INIT;
    pthread_t thread;
    void *told;

    hold(3);
    shoal_job *job = start(w, &opts, NULL);
    while (look(job).clocks < 3)
        assert_int_equal(shoal_job_wait(job, 0.01, &err), SHOAL_AGAIN);
    assert_int_equal(look(job).workers, 1);
    assert_int_equal(shoal_job_scale(job, 0, &err), SHOAL_E_INVAL);
    assert_int_equal(shoal_job_scale(job, 100000, &err), SHOAL_E_INVAL);
    assert_int_equal(pthread_create(&thread, NULL, scale_to_three, job), 0);
    while (look(job).workers < 3)
        assert_int_equal(shoal_job_wait(job, 0.01, &err), SHOAL_AGAIN);
    assert_int_equal(pthread_join(thread, &told), 0);
    assert_non_null(told);
    assert_int_equal(look(job).wanted, 3);

    /* Those that leave do so between tasks. */
    assert_int_equal(shoal_job_scale(job, 1, &err), SHOAL_OK);
    for (uint64_t clock = 3; look(job).workers > 1;) {
        if (look(job).clocks == clock)
            hold(++clock);
        assert_int_equal(shoal_job_wait(job, 0.01, &err), SHOAL_AGAIN);
    }
    finish(job);
    assert_true(value_of(job) == value);
    shoal_job_free(job);
}

static atomic_uint_fast64_t passed_ns; /* beside the clock's own time */
static uint64_t (*real_now_ns)(shoal_env *env);

static uint64_t later_ns(shoal_env *env)
{
    return real_now_ns(env) + atomic_load(&passed_ns);
}

/* As if the caller had done something else for so long. */
static void pass(double seconds)
{
    atomic_fetch_add(&passed_ns, (uint64_t)(1e9 * seconds));
}

static void a_caller_who_comes_late_loses_no_worker(void **state)
{
    struct world *w = *state;
    struct env_ops ops = *w->env->ops;
    const struct env_ops *real = w->env->ops;
    shoal_job_opts opts = options(w);
    shoal_err err = SHOAL_ERR_INIT;

    real_now_ns = ops.now_ns;
    ops.now_ns = later_ns;
    w->env->ops = &ops;
    opts.workers = 2;
    hold(3);
    shoal_job *job = start(w, &opts, NULL);
    pass(100); /* its workers have had to join in 30 s */
    while (look(job).clocks < 3 || look(job).workers < 2)
        assert_int_equal(shoal_job_wait(job, 0.01, &err), SHOAL_AGAIN);
    pass(100);
    assert_int_equal(shoal_job_wait(job, 0.01, &err), SHOAL_AGAIN);
    finish(job);
    assert_int_equal(look(job).workers_lost, 0);
    assert_true(look(job).seconds > 200);
    shoal_job_free(job);
    w->env->ops = real;
}

struct notes {
    unsigned warnings, others;
};

static void count_note(void *ctx, shoal_note_level level, const char *text)
{
    struct notes *notes = ctx;

    assert_true(text[0] != '\0');
    if (level == SHOAL_NOTE_WARNING)
        notes->warnings++;
    else
        notes->others++;
}

static void *stop(void *job)
{
    shoal_job_stop(job);
    return NULL;
}

static void a_stopped_job_goes_on_from_its_checkpoint(void **state)
{
    struct world *w = *state;
    double value = quiet_value(w);
    shoal_job_opts opts = options(w);
    struct notes notes = {0};
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = SHOAL_AGAIN;
    pthread_t thread;

    opts.checkpoint = "saved";
    opts.note = count_note;
    opts.ctx = &notes;
    hold(5);
    shoal_job *job = start(w, &opts, NULL);
    while (look(job).clocks < 5)
        assert_int_equal(shoal_job_wait(job, 0.01, &err), SHOAL_AGAIN);
    assert_int_equal(pthread_create(&thread, NULL, stop, job), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (uint64_t clock = 5; st == SHOAL_AGAIN && clock < 39;) {
        st = shoal_job_wait(job, 0.01, &err); /* what it is at ends, and no more is begun */
        if (st == SHOAL_AGAIN && look(job).clocks == clock)
            hold(++clock);
    }
    assert_int_equal(st, SHOAL_E_CANCELLED);
    assert_non_null(strstr(err.message, "stopped after "));
    assert_non_null(strstr(err.hint, "--resume"));
    assert_null(shoal_job_result(job));
    assert_int_equal(look(job).checkpoints, 1);
    assert_int_equal(notes.warnings, 0);
    assert_int_equal(notes.others, 1);
    assert_int_equal(shoal_job_wait(job, 1, &err), SHOAL_E_CANCELLED);
    shoal_job_free(job);
    assert_int_equal(listed(), 0);

    hold(0);
    shoal_job *other = NULL;
    assert_int_equal(shoal_job_start(w->env, w->held_app, "points.csv", &opts, NULL, &other, &err),
                     SHOAL_E_EXISTS); /* a new one does not write over it */
    opts.resume = true;
    opts.workers = 2;
    job = start(w, &opts, NULL);
    finish(job);
    assert_true(look(job).resumed);
    assert_true(shoal_result_number(shoal_job_result(job), 0, "resumed") == 1);
    assert_true(value_of(job) == value);
    shoal_job_free(job);
    assert_int_equal(access("saved/full-0.pack", F_OK), -1);
}

static void a_stopped_watch_ends_a_job_and_the_reading_of_data(void **state)
{
    struct world *w = *state;
    shoal_job_opts opts = options(w);
    shoal_watch *watch = shoal_watch_new();
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = SHOAL_AGAIN;

    hold(2);
    shoal_job *job = start(w, &opts, watch);
    while (look(job).clocks < 2)
        assert_int_equal(shoal_job_wait(job, 0.01, &err), SHOAL_AGAIN);
    shoal_watch_stop(watch);
    for (uint64_t clock = 2; st == SHOAL_AGAIN && clock < 39;) {
        st = shoal_job_wait(job, 0.01, &err);
        if (st == SHOAL_AGAIN && look(job).clocks == clock)
            hold(++clock);
    }
    assert_int_equal(st, SHOAL_E_CANCELLED);
    shoal_job_free(job);

    job = NULL;
    write_file("some.svm", "1 1:2\n-1 2:1\n");
    assert_int_equal(shoal_job_start(w->env, "logreg", "some.svm", NULL, watch, &job, &err),
                     SHOAL_E_NOTFOUND); /* the program, before the data */
    opts.sets.count = 0;
    assert_int_equal(shoal_job_start(w->env, "logreg", "some.svm", &opts, watch, &job, &err),
                     SHOAL_E_CANCELLED);
    assert_null(job);
    shoal_watch_free(watch);
    assert_int_equal(shoal_job_start(w->env, "logreg", "some.svm", &opts, NULL, &job, &err),
                     SHOAL_OK); /* the env reads on for others */
    shoal_job_free(job);
}

static void a_freed_job_is_gone_with_its_workers(void **state)
{
    struct world *w = *state;
    shoal_job_opts opts = options(w);
    shoal_err err = SHOAL_ERR_INIT;

    hold(1);
    shoal_job *job = start(w, &opts, NULL);
    while (look(job).clocks < 1)
        assert_int_equal(shoal_job_wait(job, 0.01, &err), SHOAL_AGAIN);
    assert_int_equal(listed(), 1);
    shoal_job_free(job); /* returns: its worker was killed in the middle of a task */
    assert_int_equal(listed(), 0);
    shoal_job_free(NULL);
}

static void a_process_has_several_jobs(void **state)
{
    struct world *w = *state;
    shoal_job_opts opts = options(w);
    double value = quiet_value(w);
    shoal_job *job[2];
    shoal_status st[2] = {SHOAL_AGAIN, SHOAL_AGAIN};
    shoal_err err = SHOAL_ERR_INIT;

    for (int i = 0; i < 2; i++)
        job[i] = start(w, &opts, NULL);
    assert_int_equal(listed(), 2);
    while (st[0] == SHOAL_AGAIN || st[1] == SHOAL_AGAIN)
        for (int i = 0; i < 2; i++)
            st[i] = shoal_job_wait(job[i], 0.01, &err);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(st[i], SHOAL_OK);
        assert_true(value_of(job[i]) == value);
    }
    assert_string_not_equal(shoal_result_text(shoal_job_result(job[0]), 0, "name"),
                            shoal_result_text(shoal_job_result(job[1]), 0, "name"));
    for (int i = 0; i < 2; i++)
        shoal_job_free(job[i]);
}

/* The work is done, and what it came to is not lost. */
static void a_model_that_cannot_be_written_leaves_the_result(void **state)
{
    struct world *w = *state;
    shoal_job_opts opts = options(w);
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = SHOAL_AGAIN;

    assert_int_equal(mkdir("gone", 0700), 0);
    opts.model = "gone/model";
    hold(2);
    shoal_job *job = start(w, &opts, NULL);
    while (look(job).clocks < 2)
        assert_int_equal(shoal_job_wait(job, 0.01, &err), SHOAL_AGAIN);
    assert_int_equal(rmdir("gone"), 0);
    hold(0);
    st = shoal_job_wait(job, (double)INFINITY, &err);
    assert_int_equal(st, SHOAL_E_NOTFOUND);
    assert_non_null(strstr(err.message, "gone/model"));
    assert_true(isfinite(value_of(job)));
    assert_null(shoal_result_text(shoal_job_result(job), 0, "model"));
    shoal_job_free(job);
}

static void workers_run_the_command_that_is_named_or_found(void **state)
{
    struct world *w = *state;
    shoal_job_opts opts = options(w);
    shoal_err err = SHOAL_ERR_INIT;
    shoal_job *job = NULL;
    char path[700], *was = strdup(getenv("PATH"));

    opts.program = NULL;
    setenv("PATH", "/nowhere::/also-nowhere", 1);
    assert_int_equal(shoal_job_start(w->env, w->held_app, "points.csv", &opts, NULL, &job, &err),
                     SHOAL_E_NOTFOUND);
    assert_non_null(strstr(err.message, "'shoal'"));
    assert_non_null(strstr(err.hint, "shoal_job_opts.program"));
    opts.program = "/nowhere/shoal";
    assert_int_equal(shoal_job_start(w->env, w->held_app, "points.csv", &opts, NULL, &job, &err),
                     SHOAL_E_NOTFOUND);
    assert_non_null(strstr(err.message, "/nowhere/shoal"));
    opts.program = w->folder; /* no file */
    assert_int_equal(shoal_job_start(w->env, w->held_app, "points.csv", &opts, NULL, &job, &err),
                     SHOAL_E_NOTFOUND);

    assert_int_equal(symlink(w->shoal, "shoal"), 0);
    snprintf(path, sizeof path, "/nowhere:%s", w->folder);
    setenv("PATH", path, 1);
    opts.program = NULL;
    job = start(w, &opts, NULL);
    finish(job);
    shoal_job_free(job);
    setenv("PATH", was, 1);
    free(was);
}

struct wrong {
    shoal_status status;
    const char *words;
    const char *app, *data; /* NULL: as they should be */
    shoal_job_opts opts;    /* what it says differently; `set` for the list */
    const char *set;
};

static void what_is_wrong_is_told_before_anything_is_made(void **state)
{
    struct world *w = *state;
    static const struct wrong WRONG[] = {
        {SHOAL_E_NOTFOUND, "unknown application", .app = "nix"},
        {SHOAL_E_NOTFOUND, "no-such.csv", .data = "no-such.csv"},
        {SHOAL_E_INVAL, "'workers': expected 1 to", .opts = {.workers = 100000}},
        {SHOAL_E_INVAL, "'patience'", .opts = {.patience_s = 1}},
        {SHOAL_E_INVAL, "--staleness", .opts = {.staleness = "x"}},
        {SHOAL_E_INVAL, "--name", .opts = {.name = "../x"}},
        {SHOAL_E_INVAL, "'last'", .opts = {.name = "last"}},
        {SHOAL_E_INVAL, "not an address", .opts = {.listen = "here"}},
        {SHOAL_E_INVAL, "two transports", .opts = {.listen = "tcp://127.0.0.1:0", .tls = true}},
        {SHOAL_E_INVAL, "--checkpoint", .opts = {.resume = true}},
        {SHOAL_E_NOTFOUND, "no checkpoint", .opts = {.resume = true, .checkpoint = "nothing"}},
        {SHOAL_E_INVAL, "also an input", .opts = {.model = "points.csv"}},
        {SHOAL_E_INVAL, "standard output", .opts = {.model = "-"}},
        {SHOAL_E_INVAL, "same file", .opts = {.model = "x", .report = "./x"}},
        {SHOAL_E_INVAL, "folder of checkpoints", .opts = {.model = "s/x", .checkpoint = "s"}},
        {SHOAL_E_NOTFOUND, "nowhere/x", .opts = {.report = "nowhere/x"}},
        {SHOAL_E_INVAL, "kk", .set = "kk=3"},
    };

    assert_int_equal(mkdir("s", 0700), 0);
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
        const struct wrong *x = &WRONG[i];
        shoal_job_opts opts = options(w);
        shoal_err err = SHOAL_ERR_INIT;
        shoal_job *job = NULL;
        opts.workers = x->opts.workers > 0 ? x->opts.workers : opts.workers;
        opts.patience_s = x->opts.patience_s > 0 ? x->opts.patience_s : opts.patience_s;
        opts.staleness = x->opts.staleness;
        opts.name = x->opts.name;
        opts.listen = x->opts.listen != NULL ? x->opts.listen : opts.listen;
        opts.tls = x->opts.tls;
        opts.resume = x->opts.resume;
        opts.checkpoint = x->opts.checkpoint;
        opts.model = x->opts.model;
        opts.report = x->opts.report;
        if (x->set != NULL)
            opts.sets = (shoal_opt_list){{x->set}, 1};
        shoal_status st =
            shoal_job_start(w->env, x->app != NULL ? x->app : w->held_app,
                            x->data != NULL ? x->data : "points.csv", &opts, NULL, &job, &err);
        if (st != x->status || strstr(err.message, x->words) == NULL || job != NULL)
            fail_msg("%s: %s: %s", x->words, shoal_status_name(st), err.message);
    }
    assert_int_equal(listed(), 0);
    assert_int_equal(access("x", F_OK), -1);
    assert_int_equal(shoal_job_start(w->env, NULL, "points.csv", NULL, NULL, NULL, NULL),
                     SHOAL_E_INVAL);
    assert_int_equal(shoal_job_wait(NULL, 0, NULL), SHOAL_E_INVAL);
    assert_null(shoal_job_result(NULL));
}

static void a_smaller_struct_of_an_older_program_is_taken(void **state)
{
    struct world *w = *state;
    shoal_job_opts opts = options(w);
    char *path = strdup(getenv("PATH"));
    struct {
        size_t struct_size;
        double progress;
    } small = {.struct_size = sizeof small};

    opts.struct_size = offsetof(shoal_job_opts, program); /* it did not know of programs */
    assert_int_equal(symlink(w->shoal, "shoal"), 0);
    setenv("PATH", w->folder, 1);
    shoal_job *job = start(w, &opts, NULL);
    setenv("PATH", path, 1);
    free(path);
    finish(job);
    shoal_job_read(job, (shoal_job_state *)(void *)&small);
    assert_true(small.progress == 1);
    shoal_job_free(job);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_that_ends_well_has_a_model_and_a_result),
        TEST(another_thread_gives_a_running_job_workers),
        TEST(a_caller_who_comes_late_loses_no_worker),
        TEST(a_stopped_job_goes_on_from_its_checkpoint),
        TEST(a_stopped_watch_ends_a_job_and_the_reading_of_data),
        TEST(a_freed_job_is_gone_with_its_workers),
        TEST(a_process_has_several_jobs),
        TEST(a_model_that_cannot_be_written_leaves_the_result),
        TEST(workers_run_the_command_that_is_named_or_found),
        TEST(what_is_wrong_is_told_before_anything_is_made),
        TEST(a_smaller_struct_of_an_older_program_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
