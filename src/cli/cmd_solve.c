/* cmd_solve.c - `shoal solve`: who should get which GPUs for how much of the time, for a problem in
 * a file. */
#include "cli/cli.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/solve_show.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { SHARING_NONE, SHARING_PAIRS };

/* The order of enum sched_objective, a test compares; then the name of the policy that is fifo. */
static const char *const objective_names[] = {"max-min",    "ftf",      "makespan", "throughput",
                                              "cost",       "cost-slo", "fifo",     "hierarchical",
                                              "fifo-types", NULL};
static const char *const sharing_names[] = {"none", "pairs", NULL};

_Static_assert(BASE_COUNT(objective_names) == SCHED_OBJECTIVE_COUNT + 2,
               "a name per objective, and fifo-types");

struct values {
    uint32_t objective, sharing;
    bool agnostic;
    uint64_t threads, repeat;
    const char *jobs, *output;
};

static shoal_status parse_jobs_max(const char *text, size_t *out, shoal_err *err)
{
    uint64_t number;

    if (strcmp(text, "all") == 0) {
        *out = SIZE_MAX;
        return SHOAL_OK;
    }
    if (!base_parse_u64(text, strlen(text), &number) || number > SOLVE_JOBS_MAX)
        return base_err(err, SHOAL_E_INVAL, "--jobs: expected a number or 'all', found '%.60s'",
                        text);
    *out = (size_t)number;
    return SHOAL_OK;
}

static shoal_status load(struct cli_context *cx, const char *path, struct solve_problem **out,
                         shoal_err *err)
{
    atomic_uint_fast64_t done = 0;
    uint64_t began = env_now_ns(cx->env);
    struct cli_progress *progress = cli_progress_start(cx, "jobs read", &done, 0);
    shoal_status st = solve_problem_load(cx->env, path, &done, out, err);

    cli_progress_stop(progress);
    if (st == SHOAL_OK)
        base_log(&cx->log, BASE_LOG_DEBUG, "read %zu job%s and %u kind%s in %.3f s",
                 (*out)->job_count, (*out)->job_count == 1 ? "" : "s", (*out)->kind_count,
                 (*out)->kind_count == 1 ? "" : "s", (double)(env_now_ns(cx->env) - began) * 1e-9);
    return st;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Solves s->repeat times; the answer is that of the last. */
static shoal_status solve(struct cli_context *cx, shoal_solver *solver,
                          const shoal_solve_problem *view, struct cli_solved *s,
                          shoal_solve_result *out, shoal_err *err)
{
    size_t others = (size_t)s->repeat - 1;
    double *times = base_calloc(env_alloc(cx->env), others + 1, sizeof *times);
    shoal_status st = SHOAL_OK;

    if (times == NULL)
        return base_err_nomem(err, "solving a problem");
    for (uint64_t i = 0; i < s->repeat && st == SHOAL_OK; i++) {
        uint64_t began = env_now_ns(cx->env);
        st = shoal_solver_solve(solver, sched_objectives[s->objective].name, view, out, err);
        double seconds = (double)(env_now_ns(cx->env) - began) * 1e-9;
        if (i == 0)
            s->first_s = seconds;
        else
            times[i - 1] = seconds;
    }
    qsort(times, others, sizeof *times, by_size);
    s->again_s = others > 0 ? (times[others / 2] + times[(others - 1) / 2]) / 2 : (double)NAN;
    base_free(env_alloc(cx->env), times);
    return st;
}

/* ---- output to a file ---- */

struct file_sink {
    struct env_out *out;
    shoal_err *err;
    shoal_status status;
};

static ssize_t sink_write(void *cookie, const char *bytes, size_t size)
{
    struct file_sink *sink = cookie;

    if (sink->status == SHOAL_OK &&
        atomic_load_explicit(cli_interrupt_flag(), memory_order_relaxed))
        sink->status = base_err(sink->err, SHOAL_E_CANCELLED, "interrupted");
    if (sink->status == SHOAL_OK)
        sink->status = env_append(sink->out, bytes, size, sink->err);
    return sink->status == SHOAL_OK ? (ssize_t)size : 0;
}

static int print(const struct cli_context *cx, const struct cli_solved *s)
{
    return cx->json ? cli_solve_json(cx, s) : cli_solve_text(cx, s);
}

/* The same words as on standard output, in a file that takes its name when it is whole. */
static int print_to_file(const struct cli_context *cx, const char *path, const struct cli_solved *s)
{
    shoal_err err = SHOAL_ERR_INIT;
    struct file_sink sink = {.err = &err};
    struct cli_context to = *cx;
    int rc = 1;

    sink.status = env_create(cx->env, path, &sink.out, &err);
    if (sink.status != SHOAL_OK)
        return cli_fail(cx, sink.status, &err);
    cli_interrupt_start();
    to.out = fopencookie(&sink, "w", (cookie_io_functions_t){.write = sink_write});
    to.color = to.out_terminal = false;
    to.out_errno = NULL; /* the sink knows */
    if (to.out == NULL) {
        sink.status = base_err_nomem(&err, "writing the result");
    } else {
        rc = print(&to, s);
        if (fclose(to.out) != 0 && sink.status == SHOAL_OK)
            sink.status = base_err(&err, SHOAL_E_IO, "cannot write '%.150s'", path);
    }
    if (sink.status == SHOAL_OK && rc == 0)
        sink.status = env_commit(sink.out, &err);
    else
        env_discard(sink.out);
    cli_interrupt_stop();
    if (sink.status != SHOAL_OK)
        rc = cli_fail(cx, sink.status, &err);
    else if (rc == 0)
        base_log(&cx->log, BASE_LOG_INFO, "result: %s", path);
    if (sink.status == SHOAL_E_CANCELLED) {
        fflush(cx->out);
        cli_interrupt_raise();
    }
    return rc;
}

/* ---- the command ---- */

static int report(struct cli_context *cx, const struct values *v, const struct cli_solved *s)
{
    bool to_file = v->output != NULL && strcmp(v->output, "-") != 0;
    int rc = to_file ? print_to_file(cx, v->output, s) : print(cx, s);

    if (rc != 0)
        return rc;
    (void)cli_flush(cx); /* so that talk comes after the tables */
    cli_solve_warn(cx, s);
    return s->result->exact ? 0 : 1;
}

static int run(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count)
{
    const struct values *v = values;
    struct solve_problem *problem = NULL;
    shoal_solver *solver = NULL;
    shoal_solver_opts opts = SHOAL_SOLVER_OPTS_INIT;
    shoal_solve_problem view;
    shoal_solve_result result = SHOAL_SOLVE_RESULT_INIT;
    shoal_err err = SHOAL_ERR_INIT;
    struct cli_solved s = {.objective = v->objective == SCHED_OBJECTIVE_COUNT
                                            ? SCHED_OBJECTIVE_FIFO
                                            : (enum sched_objective)v->objective,
                           .agnostic = v->agnostic,
                           .sharing = v->sharing == SHARING_PAIRS,
                           .repeat = v->repeat,
                           .result = &result};

    opts.threads = (uint32_t)v->threads;
    s.threads = opts.threads == 0 ? env_cpu_count(cx->env) : opts.threads;
    shoal_status st = parse_jobs_max(v->jobs, &s.jobs_max, &err);
    if (st == SHOAL_OK)
        st = cli_output_check(cx, v->output, args, arg_count, &err);
    if (st == SHOAL_OK)
        st = load(cx, args[0], &problem, &err);
    if (st == SHOAL_OK)
        st = solve_problem_check(problem, s.objective, s.sharing, &err);
    if (st == SHOAL_OK)
        st = shoal_solver_new(cx->env, &opts, &solver, &err);
    double *fastest =
        st == SHOAL_OK ? cli_solve_fastest(env_alloc(cx->env), problem, s.sharing) : NULL;
    if (st == SHOAL_OK && fastest == NULL)
        st = base_err_nomem(&err, "solving a problem");
    s.fastest = fastest;
    if (st == SHOAL_OK) {
        solve_problem_view(problem, s.agnostic, s.sharing, &view);
        s.problem = problem;
        st = solve(cx, solver, &view, &s, &result, &err);
    }
    int rc = st == SHOAL_OK ? report(cx, v, &s) : cli_fail(cx, st, &err);
    base_free(env_alloc(cx->env), fastest);
    shoal_solver_free(solver);
    solve_problem_free(problem);
    return rc;
}

static const struct base_opt rows[] = {
    {.name = "objective",
     .type = BASE_OPT_CHOICE,
     .meta = "NAME",
     .fallback = "max-min",
     .choices = objective_names,
     .help = "what is best",
     .offset = offsetof(struct values, objective)},
    {.name = "agnostic",
     .type = BASE_OPT_FLAG,
     .help =
         "pretend that every kind a job can use is equally fast; the value shown is the true one "
         "of the shares that this gives",
     .offset = offsetof(struct values, agnostic)},
    {.name = "sharing",
     .type = BASE_OPT_CHOICE,
     .meta = "WHAT",
     .fallback = "none",
     .choices = sharing_names,
     .help = "whether the problem's pairs of jobs may share GPUs",
     .offset = offsetof(struct values, sharing)},
    {.name = "jobs",
     .letter = 'j',
     .type = BASE_OPT_STR,
     .meta = "N",
     .fallback = "20",
     .complete = "all 20 100",
     .help = "rows of jobs to show, or 'all'; --json has them all",
     .offset = offsetof(struct values, jobs)},
    {.name = "repeat",
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "1",
     .min = 1,
     .max = 1000000,
     .help = "solve it N times and tell the time of the first and of the others, which start from "
             "the prices of the last",
     .offset = offsetof(struct values, repeat)},
    {.name = "threads",
     .letter = 't',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "0",
     .min = 0,
     .max = 1024,
     .help = "threads to use; 0: one per core",
     .offset = offsetof(struct values, threads)},
    {.name = "output",
     .letter = 'o',
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .fallback = "-",
     .complete = "file",
     .help = "where to write",
     .offset = offsetof(struct values, output)},
};

const struct cli_command cli_cmd_solve = {
    .name = "solve",
    .usage = "[options] PROBLEM.json",
    .summary = "Solve for the share of time each job should have on each kind of GPU.",
    .description =
        "The problem is a JSON file with kinds of GPU and jobs, and how fast each job runs on each "
        "kind: {\"kinds\": {\"v100\": 8, \"k80\": 24}, \"jobs\": [{\"name\": \"a\", \"rates\": "
        "{\"v100\": 10, \"k80\": 1.5}}]}. '-' is standard input. The first mistake stops with "
        "file, line and place, such as jobs[3].rates.v100.\n\n"
        "A kind has 'gpus' and 'usd_h' (dollars per GPU and hour). A job has 'rates' (steps per "
        "second on each kind), and where wanted 'name', 'gpus' (needed at once), 'weight', 'count' "
        "(how many jobs are exactly like it), 'left' (steps), 'since_s' (time since it arrived), "
        "'alone_s' (time its progress would have taken on an equal share), 'deadline_s' (time "
        "until its deadline) and 'entity' (such as research/vision). 'entities' gives entities a "
        "'weight' and says whether 'inside' is fair or fifo: {\"research\": {\"weight\": 2, "
        "\"inside\": \"fifo\"}}. 'pairs' says which jobs may share GPUs and how fast they then "
        "are: [{\"jobs\": [\"a\", \"b\"], \"kind\": \"v100\", \"rates\": [8, 4]}]. Times are "
        "seconds, or texts such as \"2h30m\".\n\n"
        "Objectives: max-min raises the slowest job first; ftf lets nobody end late compared with "
        "a share of its own; makespan ends the last job as early as can be; throughput does the "
        "most work; cost has the largest sum of each GPU kind's work per dollar; cost-slo keeps "
        "deadlines first; fifo (fifo-types as a policy) serves in the order of the file; "
        "hierarchical is max-min through a tree of entities.\n\n"
        "The answer is exact: a bound proven by the prices equals the value. Where rounding spoils "
        "the proof this is said, with the gap, and the exit status is 1. ONE MORE GPU is what one "
        "more GPU of a kind would change the value by, at most; where a job at its top speed sets "
        "the "
        "value, so that GPUs cannot, it is for what is decided next, which is said. Deadlines that "
        "cannot all be kept are named and given up. A job that can run on no kind gets nothing and "
        "holds nobody back.",
    .example = "solve problem.json --objective makespan",
    .opts = rows,
    .opt_count = BASE_COUNT(rows),
    .values_size = sizeof(struct values),
    .arg_min = 1,
    .arg_max = 1,
    .arg_complete = "file",
    .json = true,
    .run = run,
};
