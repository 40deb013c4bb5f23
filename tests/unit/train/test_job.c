/* ctest: timeout=300 */
/* Real jobs: a driver and worker processes of this machine, which are this program again. */
#include "base/err.h"
#include "counting_app.h"
#include "property.h"
#include "secrets.h"
#include "torture.h"
#include "train/job.h"
#include "train/listing.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const shoal_app *find_app(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, WITNESS.name) == 0 ? &WITNESS : NULL;
}

/* worker --slot N --threads T ADDRESS, the key on standard input. */
static int worker_main(char **argv)
{
    struct train_work_opts opts = {.slot = (uint32_t)atoi(argv[3]),
                                   .threads = (uint32_t)atoi(argv[5]),
                                   .address = argv[6],
                                   .pid = getpid(),
                                   .host = "here",
                                   .segment = 3,
                                   .find = find_app};
    char key[2 * WIRE_KEY_SIZE];
    shoal_env *env;
    shoal_err err = SHOAL_ERR_INIT;
    int rc = 1;

    if (fread(key, 1, sizeof key, stdin) != sizeof key ||
        wire_key_parse(key, sizeof key, &opts.key, NULL) != SHOAL_OK ||
        shoal_env_real_new(&env, NULL) != SHOAL_OK)
        return 1;
    rc = train_work_run(env, &opts, &err) == SHOAL_OK ? 0 : 1;
    shoal_env_free(env);
    return rc;
}

struct watch {
    struct base_rand rand;
    uint32_t kills, kills_max; /* of workers, at random ticks */
    const uint32_t *scales;    /* numbers of workers to go through, 0-ended */
    uint64_t tick, every;
};

static void kill_one(struct watch *w, const struct train_master *master)
{
    struct train_worker_info info;
    uint32_t count = 0;

    while (train_master_worker(master, count, &info) == SHOAL_OK)
        count++;
    if (count == 0)
        return;
    (void)!train_master_worker(master, (uint32_t)base_rand_below(&w->rand, count), &info);
    if (info.pid > 0 && kill((pid_t)info.pid, SIGKILL) == 0)
        w->kills++;
}

static bool tick(void *ctx, const struct train_master *master)
{
    struct watch *w = ctx;

    if (++w->tick % w->every != 0)
        return true;
    if (w->kills < w->kills_max)
        kill_one(w, master);
    if (w->scales != NULL && *w->scales > 0)
        (void)!train_master_scale((struct train_master *)master, *w->scales++, NULL);
    return true;
}

static struct train_job_result run_with(const char *settings, uint32_t workers, uint32_t threads,
                                        uint32_t inside, uint32_t staleness, struct watch *watch)
{
    struct train_job_opts opts = TRAIN_JOB_OPTS_INIT;
    struct train_job_result result = {0};
    shoal_err err = SHOAL_ERR_INIT;
    shoal_env *env;

    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    opts.app = &WITNESS;
    opts.path = "";
    opts.settings = settings;
    opts.workers = workers;
    opts.threads = threads;
    opts.inside = inside;
    opts.staleness = staleness;
    opts.memory_max = (size_t)1 << 30;
    opts.tick_ms = 2;
    if (watch != NULL) {
        opts.tick = tick;
        opts.ctx = watch;
    }
    if (train_job_run(env, &opts, &result, &err) != SHOAL_OK)
        fail_msg("%s %s", err.message, err.hint);
    shoal_env_free(env);
    assert_true(result.stats.checked > 0);
    assert_int_equal(result.stats.violations, 0);
    return result;
}

static struct train_job_result run(const char *settings, uint32_t workers, uint32_t threads,
                                   uint32_t staleness, struct watch *watch)
{
    return run_with(settings, workers, threads, 0, staleness, watch);
}

static void a_job_runs_on_worker_processes(void **state)
{
    (void)state;
    struct train_job_result r = run("clocks=50", 2, 2, 0, NULL);
    assert_int_equal(r.stats.tasks, EXECUTORS * 50);
    assert_int_equal(r.stats.workers_lost, 0);
    assert_int_equal(r.stats.tasks_redone, 0);
}

/* All in one process, where a sanitizer sees it. */
static void threads_of_one_process_keep_the_rules(void **state)
{
    (void)state;
    for (uint32_t staleness = 0; staleness < 3; staleness++) {
        char settings[100];
        snprintf(settings, sizeof settings,
                 "clocks=300\nstaleness=%u\ndense=true\nfactors=true\nfresh=true\ntasks=2",
                 staleness);
        struct train_job_result r = run_with(settings, 1, 2, 4, staleness, NULL);
        assert_int_equal(r.stats.tasks, EXECUTORS * 600);
    }
}

static void killed_workers_cost_at_most_the_tasks_they_had_begun(void **state)
{
    (void)state;
    for (uint32_t staleness = 0; staleness < 3; staleness++) {
        struct watch w = {.kills_max = (uint32_t)property_count(10), .every = 5};
        char settings[64];
        base_rand_init(&w.rand, staleness, "kills");
        snprintf(settings, sizeof settings, "clocks=1000\nstaleness=%u\nspin=100", staleness);
        struct train_job_result r = run(settings, 4, 1, staleness, &w);
        assert_int_equal(r.stats.tasks, EXECUTORS * 1000);
        assert_true(w.kills > 0);
        print_message("%u kills, %u lost, %llu redone\n", w.kills, r.stats.workers_lost,
                      (unsigned long long)r.stats.tasks_redone);
    }
}

static void workers_come_and_go_while_it_runs(void **state)
{
    static const uint32_t SCALES[] = {8, 16, 2, 5, 1, 4, 0};
    struct watch w = {.scales = SCALES, .every = 40};

    (void)state;
    struct train_job_result r = run("clocks=2000\nstaleness=1\nspin=50", 4, 1, 1, &w);
    assert_int_equal(r.stats.tasks, EXECUTORS * 2000);
    assert_int_equal(r.stats.tasks_redone, 0);
    assert_int_equal(r.stats.workers_lost, 0);
    assert_true(r.stats.moves > 0);
    print_message("%llu moves, longest pause %.1f ms\n", (unsigned long long)r.stats.moves,
                  (double)r.stats.max_pause_ns / 1e6);
}

/* The key of the listing, while there is one. */
struct onlooker {
    shoal_env *env;
    const char *listing;
    struct train_listing found;
    mode_t mode;
};

static bool look(void *ctx, const struct train_master *master)
{
    struct onlooker *o = ctx;
    struct stat info;

    (void)master;
    if (train_listing_load(o->env, o->listing, &o->found, NULL) != SHOAL_OK ||
        stat(o->listing, &info) != 0)
        abort();
    o->mode = info.st_mode & 0777;
    return true;
}

static void a_job_gives_no_memory_back_with_its_key_in_it(void **state)
{
    struct train_job_opts opts = TRAIN_JOB_OPTS_INIT;
    struct train_job_result result = {0};
    char folder[] = "/tmp/shoal-test-XXXXXX", listing[64], key[2 * WIRE_KEY_SIZE + 1];
    struct onlooker o = {.listing = listing};
    struct secrets s;
    shoal_env *env;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(listing, sizeof listing, "%s/x.job", folder);
    assert_int_equal(close(open(listing, O_WRONLY | O_CREAT | O_CLOEXEC, 0666)), 0);
    assert_int_equal(chmod(listing, 0666), 0); /* as somebody else may have left it */
    assert_int_equal(shoal_env_real_new(&o.env, NULL), SHOAL_OK);
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    secrets_init(&s);
    env->alloc = &s.alloc;
    opts.app = &WITNESS;
    opts.path = "";
    opts.settings = "clocks=20";
    opts.name = "x";
    opts.listing = listing;
    opts.memory_max = (size_t)1 << 30;
    opts.tick = look;
    opts.tick_ms = 2;
    opts.ctx = &o;
    shoal_status st = train_job_run(env, &opts, &result, NULL);
    shoal_env_free(env);
    shoal_env_free(o.env);
    assert_int_equal(unlink(listing), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(st, SHOAL_OK);
    assert_int_equal(o.mode, 0600);
    wire_key_format(&o.found.key, key);
    assert_int_equal(secrets_find(&s, o.found.key.bytes, WIRE_KEY_SIZE), 0);
    assert_int_equal(secrets_find(&s, key, 2 * WIRE_KEY_SIZE), 0);
    secrets_fini(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_runs_on_worker_processes),
        cmocka_unit_test(threads_of_one_process_keep_the_rules),
        cmocka_unit_test(killed_workers_cost_at_most_the_tasks_they_had_begun),
        cmocka_unit_test(workers_come_and_go_while_it_runs),
        cmocka_unit_test(a_job_gives_no_memory_back_with_its_key_in_it),
    };

    if (argc == 7 && strcmp(argv[1], "worker") == 0)
        return worker_main(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
