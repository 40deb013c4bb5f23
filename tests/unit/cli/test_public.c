/* ctest: timeout=300 */
/* Every command is a public function and what is shown of its result: both are called here, and the command's --json
 * is the function's result, field by field. A command that is not in PAIRS is in APART, with the reason.
 *
 * The command of a job runs this program again as its workers. Jobs that are looked at are of tests/cli/held_app.c:
 * they stay where they are until the test is done with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "world.h"

#include "base/buf.h"
#include "cli/table.h"
#include "shoal/advise.h"
#include "shoal/corpus.h"
#include "shoal/gen.h"
#include "shoal/job.h"
#include "shoal/jobs.h"
#include "shoal/list.h"
#include "shoal/market.h"
#include "shoal/predict.h"
#include "shoal/sim.h"
#include "shoal/solve.h"
#include "shoal/study.h"
#include "shoal/trace.h"
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

static shoal_env *env;
static shoal_job *job_of_train; /* whose result is compared */
static char home[600];

#define OPTS(kind)            \
    shoal_##kind##_opts opts; \
    shoal_##kind##_opts_init(&opts)

/* ---- the functions, each with what the words of its command say ---- */

static const char *const TRACE[] = {"jobs.csv"}, *const PRICES[] = {"prices.csv"},
                         *const RUNS[] = {"runs.csv"};

static shoal_status call_sim(const shoal_result **out, shoal_err *err)
{
    OPTS(sim);
    shoal_sim *sim = NULL;

    opts.traces = TRACE;
    opts.trace_count = 1;
    opts.cluster = "2x4:v100";
    opts.policy = "fifo,las,shoal";
    opts.seed = 3;
    shoal_status st = shoal_sim_new(env, &opts, &sim, err);
    if (st == SHOAL_OK)
        st = shoal_sim_run(sim, NULL, NULL, out, err);
    shoal_sim_free(sim);
    return st;
}

static shoal_status call_solve(const shoal_result **out, shoal_err *err)
{
    OPTS(solve);
    opts.problem = "problem.json";
    opts.objective = SHOAL_SOLVE_MAKESPAN;
    return shoal_solve_run(env, &opts, NULL, out, err);
}

static shoal_status call_advise(const shoal_result **out, shoal_err *err)
{
    OPTS(advise);
    opts.runs = RUNS;
    opts.run_count = 1;
    opts.within = "2%";
    opts.price = 0.4;
    return shoal_advise_run(env, &opts, NULL, out, err);
}

static shoal_status call_market(const shoal_result **out, shoal_err *err)
{
    OPTS(market);
    opts.prices = PRICES;
    opts.price_count = 1;
    opts.work = "2d";
    opts.deadline = "4d";
    opts.budget = 500;
    return shoal_market_run(env, &opts, NULL, out, err);
}

static shoal_status call_study(const shoal_result **out, shoal_err *err)
{
    OPTS(study);
    opts.traces = TRACE;
    opts.trace_count = 1;
    opts.cluster = "2x4:v100";
    opts.draws = 2;
    return shoal_study_run(env, &opts, NULL, out, err);
}

static shoal_status call_train(const shoal_result **out, shoal_err *err)
{
    OPTS(job);
    shoal_job *job = NULL;

    opts.program = "";
    opts.workers = 2;
    opts.threads = 1;
    opts.name = "one";
    opts.model = "model.shoal";
    opts.sets = (shoal_opt_list){{"algorithm=newton", "cost=2"}, 2};
    shoal_status st = shoal_job_start(env, "logreg", "data.svm", &opts, NULL, &job, err);
    if (st == SHOAL_OK)
        st = shoal_job_wait(job, (double)INFINITY, err);
    *out = shoal_job_result(job); /* its own */
    job_of_train = job;
    return st;
}

static shoal_status call_eval(const shoal_result **out, shoal_err *err)
{
    return shoal_eval(env, "given.shoal", "data.svm", NULL, NULL, out, err);
}

static shoal_status call_app_list(const shoal_result **out, shoal_err *err)
{
    return shoal_app_list(out, err);
}

static shoal_status call_app_show(const shoal_result **out, shoal_err *err)
{
    return shoal_app_show("lda", out, err);
}

static shoal_status call_policy_list(const shoal_result **out, shoal_err *err)
{
    return shoal_policy_list(out, err);
}

static shoal_status call_policy_show(const shoal_result **out, shoal_err *err)
{
    return shoal_policy_show("las", out, err);
}

static shoal_status call_strategy_list(const shoal_result **out, shoal_err *err)
{
    return shoal_strategy_list(out, err);
}

static shoal_status call_trace_info(const shoal_result **out, shoal_err *err)
{
    OPTS(trace);
    opts.traces = TRACE;
    opts.trace_count = 1;
    opts.cluster = "2x4:v100";
    return shoal_trace_info(env, &opts, out, err);
}

static shoal_status call_trace_gen(const shoal_result **out, shoal_err *err)
{
    OPTS(gen_trace);
    opts.to.output = "made";
    opts.jobs = 30;
    opts.seed = 5;
    return shoal_gen_trace(env, &opts, NULL, out, err);
}

static shoal_status call_gen_sparse(const shoal_result **out, shoal_err *err)
{
    OPTS(gen_sparse);
    opts.to.output = "made";
    opts.rows = 50;
    opts.columns = 30;
    opts.seed = 5;
    return shoal_gen_sparse(env, &opts, NULL, out, err);
}

static shoal_status call_gen_ratings(const shoal_result **out, shoal_err *err)
{
    OPTS(gen_ratings);
    opts.to.output = "made";
    opts.users = 30;
    opts.items = 40;
    opts.ratings = 300;
    return shoal_gen_ratings(env, &opts, NULL, out, err);
}

static shoal_status call_gen_corpus(const shoal_result **out, shoal_err *err)
{
    OPTS(gen_corpus);
    opts.to.output = "made";
    opts.documents = 20;
    opts.words = 100;
    return shoal_gen_corpus(env, &opts, NULL, out, err);
}

static shoal_status call_gen_regression(const shoal_result **out, shoal_err *err)
{
    OPTS(gen_regression);
    opts.to.output = "made";
    opts.rows = 40;
    opts.columns = 50;
    opts.truly = "4";
    return shoal_gen_regression(env, &opts, NULL, out, err);
}

static shoal_status call_gen_prices(const shoal_result **out, shoal_err *err)
{
    OPTS(gen_prices);
    opts.to.output = "made";
    opts.days = 2;
    opts.seed = 5;
    return shoal_gen_prices(env, &opts, NULL, out, err);
}

static shoal_status call_corpus_build(const shoal_result **out, shoal_err *err)
{
    OPTS(corpus);
    opts.min_count = 2;
    return shoal_corpus_build(env, "docs.txt", "built", &opts, NULL, out, err);
}

static shoal_status call_corpus_info(const shoal_result **out, shoal_err *err)
{
    OPTS(corpus);
    opts.top = 3;
    return shoal_corpus_info(env, "docs.txt", &opts, NULL, out, err);
}

static shoal_status call_jobs(const shoal_result **out, shoal_err *err)
{
    return shoal_jobs(env, NULL, out, err);
}

static shoal_status call_scale(const shoal_result **out, shoal_err *err)
{
    return shoal_jobs_scale(env, "held", 3, out, err);
}

static shoal_status call_drain(const shoal_result **out, shoal_err *err)
{
    return shoal_jobs_drain(env, "held", 2, out, err);
}

/* ---- commands and functions ---- */

static const struct pair {
    const char *command;
    const char *words; /* after it */
    shoal_status (*call)(const shoal_result **out, shoal_err *err);
    const char *exact; /* of a running job: what holds still, ",wanted,"; NULL: all but VOLATILE */
} PAIRS[] = {
    {"sim", "jobs.csv -c 2x4:v100 -p fifo,las,shoal -s 3", .call = call_sim},
    {"solve", "problem.json --objective makespan", .call = call_solve},
    {"advise", "runs.csv --within 2% --price 0.4", .call = call_advise},
    {"market", "prices.csv --work 2d --deadline 4d --budget 500", .call = call_market},
    {"study", "jobs.csv -c 2x4:v100 --draws 2", .call = call_study},
    {"train",
     "logreg data.svm -w 2 -t 1 --name one -o model.shoal --set algorithm=newton --set cost=2",
     .call = call_train},
    {"eval", "given.shoal data.svm", .call = call_eval},
    {"app list", "", .call = call_app_list},
    {"app show", "lda", .call = call_app_show},
    {"trace info", "jobs.csv -c 2x4:v100", .call = call_trace_info},
    {"trace gen", "-o made --jobs 30 --seed 5", .call = call_trace_gen},
    {"gen sparse", "-o made --rows 50 --columns 30 --seed 5", .call = call_gen_sparse},
    {"gen ratings", "-o made --users 30 --items 40 --ratings 300", .call = call_gen_ratings},
    {"gen corpus", "-o made --documents 20 --words 100", .call = call_gen_corpus},
    {"gen regression", "-o made --rows 40 --columns 50 --true 4", .call = call_gen_regression},
    {"gen prices", "-o made --days 2 --seed 5", .call = call_gen_prices},
    {"corpus build", "docs.txt built --min-count 2", .call = call_corpus_build},
    {"corpus info", "docs.txt --top 3", .call = call_corpus_info},
    {"policy list", "", .call = call_policy_list},
    {"policy show", "las", .call = call_policy_show},
    {"strategy list", "", .call = call_strategy_list},
};

/* In this order: three workers, of which two are told to leave. */
static const struct pair LOOKS[] = {
    {"jobs", "", .call = call_jobs, .exact = ",pid,clocks,wanted,executors,"},
    {"scale", "held 3", .call = call_scale, .exact = ",wanted,clocks,executors,"},
    {"drain", "held 3", .call = call_drain, .exact = ",clocks,executors,"},
};

/* What is no function, and why. */
static const char *const APART[][2] = {
    {"predict", "it has no --json: see written_files_are_the_same"},
    {"trace convert", "likewise"},
    {"new app", "it writes sources"},
    {"top", "a screen over what shoal_jobs says"},
    {"join", "a process that works for a job"},
    {"doctor", "looks at the machine for people"},
    {"config show", "the command's own settings"},
    {"completion", "for shells"},
    {"help", "for people"},
    {"version", "shoal_version"},
};

/* Numbers that two runs tell otherwise, since the clock or the system does. */
static const char VOLATILE[] =
    ",wall_s,cpu_s,load_s,time_s,time_again_s,took_s,bound_took_s,seconds,load_seconds,units_per_s,"
    "decision_ms_p50,decision_ms_p99,task_s,blocked_s,max_pause_ms,curve,";

static bool is_in(const char *list, const char *name)
{
    char word[80];

    snprintf(word, sizeof word, ",%s,", name);
    return strstr(list, word) != NULL;
}

/* Where two answers differ, NULL where they do not: the path is put together in `at`. */
static const char *difference(const struct pair *p, const json_t *said, const json_t *made,
                              const char *name, char *at, size_t size)
{
    bool moves = p->exact != NULL ? !is_in(p->exact, name) : is_in(VOLATILE, name);
    bool numbers = (json_is_number(said) || json_is_null(said)) &&
                   (json_is_number(made) || json_is_null(made));
    size_t length = strlen(at);
    const char *key;
    json_t *value;

    if (numbers && moves)
        return NULL;
    if (p->exact != NULL && strcmp(name, "state") == 0 && json_is_string(said) &&
        json_is_string(made))
        return NULL; /* of workers: up, leaving */
    if (json_is_object(said) && json_is_object(made)) {
        if (json_object_size(said) != json_object_size(made))
            return at;
        json_object_foreach((json_t *)made, key, value)
        {
            snprintf(at + length, size - length, ".%s", key);
            if (difference(p, json_object_get(said, key), value, key, at, size) != NULL)
                return at;
        }
        at[length] = '\0';
        return NULL;
    }
    if (json_is_array(said) && json_is_array(made)) {
        if (json_array_size(said) != json_array_size(made))
            return at;
        for (size_t i = 0; i < json_array_size(made); i++) {
            snprintf(at + length, size - length, "[%zu]", i);
            if (difference(p, json_array_get(said, i), json_array_get(made, i), name, at, size) !=
                NULL)
                return at;
        }
        at[length] = '\0';
        return NULL;
    }
    return json_equal(said, made) ? NULL : at;
}

static bool append(void *ctx, const char *text, size_t size)
{
    base_buf_append(ctx, text, size);
    return true;
}

/* One object a line, as many as the result has records. */
static void assert_same_answer(const struct pair *p, const char *said, const shoal_result *result)
{
    struct base_buf made;
    json_error_t error;

    base_buf_init(&made, &base_alloc_libc, 1 << 24);
    assert_int_equal(shoal_result_json(result, append, &made, NULL), SHOAL_OK);
    const char *a = said, *b = made.data;
    for (size_t i = 0; i < result->records.count; i++) {
        char at[600] = "";
        json_t *x = json_loads(a, JSON_DISABLE_EOF_CHECK, &error);
        json_t *y = json_loads(b, JSON_DISABLE_EOF_CHECK, &error);
        if (x == NULL || y == NULL)
            fail_msg("%s: %s\n%s\n%s", p->command, error.text, a, b);
        if (difference(p, x, y, "", at, sizeof at) != NULL)
            fail_msg("%s: %s differs\n%s\n%s", p->command, at, a, b);
        json_decref(x);
        json_decref(y);
        a = strchr(a, '\n') + 1;
        b = strchr(b, '\n') + 1;
    }
    assert_string_equal(a, "");
    assert_string_equal(b, "");
    base_buf_fini(&made);
}

static void run_command(struct world *w, const struct pair *p)
{
    const char *argv[40];
    char line[300];
    size_t count = 0;

    snprintf(line, sizeof line, "%s %s --json", p->command, p->words);
    for (char *rest, *word = strtok_r(line, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest))
        argv[count++] = word;
    argv[count] = NULL;
    if (world_run(w, argv) != 0)
        fail_msg("%s: %s", p->command, w->err);
}

static void assert_pair(struct world *w, const struct pair *p)
{
    const shoal_result *result = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    run_command(w, p);
    if (p->call(&result, &err) != SHOAL_OK)
        fail_msg("%s: %s; %s", p->command, err.message, err.hint);
    assert_same_answer(p, w->out, result);
    for (size_t i = 0; i < result->note_count; i++)
        if (result->notes[i].level != SHOAL_NOTE_HINT &&
            strstr(w->err, result->notes[i].text) == NULL)
            fail_msg("%s does not say: %s\n%s", p->command, result->notes[i].text, w->err);
    if (job_of_train == NULL)
        shoal_result_free(result);
    shoal_job_free(job_of_train);
    job_of_train = NULL;
}

static void a_command_shows_what_its_function_gives(void **state)
{
    for (size_t i = 0; i < sizeof PAIRS / sizeof PAIRS[0]; i++)
        assert_pair(*state, &PAIRS[i]);
}

static void every_command_is_compared_or_has_a_reason(void **state)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        size_t times = 0;
        for (size_t j = 0; j < sizeof PAIRS / sizeof PAIRS[0]; j++)
            times += strcmp(PAIRS[j].command, commands[i]->name) == 0;
        for (size_t j = 0; j < sizeof LOOKS / sizeof LOOKS[0]; j++)
            times += strcmp(LOOKS[j].command, commands[i]->name) == 0;
        for (size_t j = 0; j < sizeof APART / sizeof APART[0]; j++)
            times += strcmp(APART[j][0], commands[i]->name) == 0;
        if (times != 1)
            fail_msg("'%s' is in the lists of this test %zu times", commands[i]->name, times);
    }
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;

    assert_non_null(file);
    assert_true(getdelim(&text, &size, '\0', file) >= 0);
    (void)fclose(file);
    return text;
}

static void assert_same_files(void)
{
    char *said = read_file("said"), *made = read_file("made");

    assert_true(strlen(said) > 100);
    assert_string_equal(said, made);
    free(said);
    free(made);
}

static void written_files_are_the_same(void **state)
{
    struct world *w = *state;
    const shoal_result *result = NULL;
    OPTS(predict);

    assert_int_equal(WORLD_RUN(w, "predict", "given.shoal", "data.svm", "-o", "said"), 0);
    assert_string_equal(w->out, "");
    opts.output = "made";
    assert_int_equal(shoal_predict(env, "given.shoal", "data.svm", &opts, NULL, &result, NULL),
                     SHOAL_OK);
    assert_same_files();
    assert_int_equal(shoal_result_number(result, 0, "rows"), 200);
    shoal_result_free(result);

    shoal_trace_opts convert;
    shoal_trace_opts_init(&convert);
    convert.traces = TRACE;
    convert.trace_count = 1;
    convert.output = "made";
    result = NULL;
    assert_int_equal(WORLD_RUN(w, "trace", "convert", "jobs.csv", "-o", "said"), 0);
    assert_int_equal(shoal_trace_convert(env, &convert, &result, NULL), SHOAL_OK);
    assert_same_files();
    shoal_result_free(result);
}

/* ---- a job that runs meanwhile ---- */

struct background {
    pthread_t thread;
    _Atomic(shoal_job *) job; /* once three workers are up and it is where it is held */
    atomic_bool failed;
};

/* Starts the job, gives it its turns and ends it: a job has one thread. */
static void *drive(void *ctx)
{
    struct background *b = ctx;
    shoal_env *own = NULL;
    shoal_job *job = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    char app[600];
    OPTS(job);

    snprintf(app, sizeof app, "%s/tests/held.so", getenv("SHOAL_BUILD_DIR"));
    opts.program = getenv("SHOAL_BIN");
    opts.workers = 3;
    opts.threads = 1;
    opts.name = "held";
    opts.sets = (shoal_opt_list){{"k=3", "clocks=30"}, 2};
    shoal_status st = shoal_env_real_new(&own, &err);
    if (st == SHOAL_OK)
        st = shoal_job_start(own, app, "points.csv", &opts, NULL, &job, &err);
    while (st == SHOAL_OK || st == SHOAL_AGAIN) {
        shoal_job_state now = {.struct_size = sizeof now};
        st = shoal_job_wait(job, 0.01, &err);
        shoal_job_read(job, &now);
        if (now.workers == 3 && now.clocks == 2)
            atomic_store(&b->job, job);
        if (st == SHOAL_OK)
            break;
    }
    if (st != SHOAL_E_CANCELLED) {
        print_error("%s; %s\n", err.message, err.hint);
        atomic_store(&b->failed, true);
    }
    shoal_job_free(job);
    shoal_env_free(own);
    return NULL;
}

static void commands_over_a_job_say_what_their_functions_say(void **state)
{
    struct background b = {.failed = false};

    assert_int_equal(pthread_create(&b.thread, NULL, drive, &b), 0);
    while (atomic_load(&b.job) == NULL && !atomic_load(&b.failed))
        usleep(1000);
    assert_false(atomic_load(&b.failed));
    for (size_t i = 0; i < sizeof LOOKS / sizeof LOOKS[0]; i++)
        assert_pair(*state, &LOOKS[i]);
    char key[SHOAL_JOB_KEY_SIZE];
    assert_int_equal(shoal_jobs_key(env, "held", key, NULL), SHOAL_OK);
    assert_int_equal(WORLD_RUN(*state, "jobs", "--key", "held"), 0);
    struct world *w = *state;
    assert_memory_equal(w->out, key, SHOAL_JOB_KEY_SIZE - 1);
    shoal_job_stop(atomic_load(&b.job));
    assert_int_equal(unlink("held"), 0);
    assert_int_equal(pthread_join(b.thread, NULL), 0);
    assert_false(atomic_load(&b.failed));
}

/* ---- the world ---- */

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void copy_example(const char *name)
{
    char path[700];

    snprintf(path, sizeof path, "%s/examples/%s", getenv("SHOAL_SOURCE_DIR"), name);
    char *text = read_file(path);
    write_file(name, text);
    free(text);
}

static int open_files(void **state)
{
    if (world_open(state) != 0 || getcwd(home, sizeof home) == NULL)
        return -1;
    struct world *w = *state;
    FILE *points;
    char held[100];

    if (chdir(w->folder) != 0 || shoal_env_real_new(&env, NULL) != SHOAL_OK)
        return -1;
    setenv("XDG_RUNTIME_DIR", w->folder, 1);
    snprintf(held, sizeof held, "%s/held", w->folder);
    setenv("HELD_FILE", held, 1);
    setenv("HELD_APP", "kmeans", 1);
    write_file("held", "2\n"); /* tasks of clocks below this run */
    points = fopen("points.csv", "w");
    for (int i = 0; i < 300; i++)
        fprintf(points, "%d.%d,%d.%d\n", i % 7, i % 10, i % 3, i % 11);
    (void)fclose(points);
    copy_example("problem.json");
    copy_example("runs.csv");
    copy_example("small.csv");
    write_file("docs.txt", "the cat sat on the mat\nthe dog ate the cat\nno cat no dog\n");
    return WORLD_RUN(w, "trace", "gen", "--jobs", "40", "--shape", "gavel-multi", "-o",
                     "jobs.csv") == 0 &&
                   WORLD_RUN(w, "gen", "prices", "--days", "12", "-o", "prices.csv") == 0 &&
                   WORLD_RUN(w, "gen", "sparse", "--rows", "200", "--columns", "30", "-o",
                             "data.svm") == 0 &&
                   WORLD_RUN(w, "train", "logreg", "data.svm", "-o", "given.shoal") == 0
               ? 0
               : -1;
}

static int close_files(void **state)
{
    struct world *w = *state;
    char command[128];

    shoal_env_free(env);
    if (chdir(home) != 0)
        return -1;
    snprintf(command, sizeof command, "rm -r '%s'", w->folder);
    if (system(command) != 0)
        return -1;
    return world_close(state);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_is_compared_or_has_a_reason),
        cmocka_unit_test(a_command_shows_what_its_function_gives),
        cmocka_unit_test(written_files_are_the_same),
        cmocka_unit_test(commands_over_a_job_say_what_their_functions_say),
    };

    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return cli_main(argc, (const char *const *)argv, stdout, stderr);
    return cmocka_run_group_tests(tests, open_files, close_files);
}
