/* advise_plan.c - `shoal advise --plan`: which runs are worth making, for people and programs.
 *
 * What was measured becomes the problem of advise/plan.h: fitted times of an iteration, runs made,
 * counts to choose from. Lines for a shell are made where runs came from `shoal train --json`,
 * which says how it was called, and --data names the file. Its iterations are clocks, and
 * applications are bounded in passes over the data: reports come at ends of passes, so the fewest
 * clocks between two of them are taken for those of a pass. Where reports are rare that is too
 * many, and the run shorter than planned. Tests: tests/cli/test_advise.py. */
#include "cli/advise_show.h"

#include "app/app.h"
#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/columns.h"
#include "cli/json.h"
#include "cli/repeat.h"
#include "train/options.h"
#include <math.h>
#include <string.h>

enum { TEXT_MAX = 1 << 20, OPTIONS_MAX = ADVISE_PLAN_COMMAND_MAX, COUNTS_MAX = 12 };

/* Once the time of an iteration is known so well more runs change no advice: candidates within
 * advise_near of the best are called equal. */
static const double ENOUGH = 0.05;
/* What is believed of an iteration before anything was measured: 1 s of work to share out, little
 * that is not shared, and costs of talking that grow with machines. */
static const double THETA_DEFAULT[4] = {0.02, 1, 0.01, 0.002};
/* The options of applications that bound how long they train. */
static const char *const LIMITS[] = {"epochs", "iterations"};

struct planned {
    struct cli_context *cx;
    const struct cli_advise_ask *ask;
    struct advise_plan_algorithm algorithms[ADVISE_PLAN_ALGORITHMS_MAX];
    double pass[ADVISE_PLAN_ALGORITHMS_MAX]; /* iterations of one; 1 where that is not known */
    struct base_buf options[ADVISE_PLAN_ALGORITHMS_MAX];
    struct advise_plan_made made[ADVISE_PLAN_RUNS_MAX];
    uint32_t counts[COUNTS_MAX], want[ADVISE_PLAN_WANT_MAX];
    struct advise_plan_problem problem;
    struct advise_plan plan;
};

/* ---- the problem ---- */

/* Wanted are the first count, the last, and powers of two; candidates are some of these. */
static void put_machines(struct planned *p)
{
    const struct cli_advise_ask *ask = p->ask;
    size_t n = 0;

    for (size_t i = 0; i < ask->machine_count && n < ADVISE_PLAN_WANT_MAX; i++) {
        uint32_t c = ask->machines[i];
        if (i == 0 || i + 1 == ask->machine_count || (c & (c - 1)) == 0)
            p->want[n++] = c;
    }
    size_t count = n < COUNTS_MAX ? n : COUNTS_MAX;
    for (size_t i = 0; i < count; i++)
        p->counts[i] = p->want[n <= COUNTS_MAX ? i : i * (n - 1) / (COUNTS_MAX - 1)];
    p->problem.machines = p->counts;
    p->problem.machine_count = count;
    p->problem.want = p->want;
    p->problem.want_count = n;
}

/* Runs over more data than the job has say nothing about a part of it. */
static void put_made(struct planned *p)
{
    const struct advise_runs *runs = p->ask->runs;
    size_t n = 0;

    for (size_t i = 0; i < runs->count && p->ask->fit != NULL && n < ADVISE_PLAN_RUNS_MAX; i++) {
        const struct advise_run *r = &runs->runs[i];
        double fraction = r->size / p->ask->fit->size;
        if (r->copy || r->count == 0 || r->algorithm >= p->problem.algorithm_count ||
            !(r->points[r->count - 1].iteration >= 1) || !(fraction > 0 && fraction <= 1))
            continue;
        p->made[n++] = (struct advise_plan_made){.algorithm = r->algorithm,
                                                 .machines = r->machines,
                                                 .fraction = fraction,
                                                 .iterations = r->points[r->count - 1].iteration};
    }
    p->problem.made = p->made;
    p->problem.made_count = n;
}

static void put_algorithms(struct planned *p)
{
    const struct advise_fit *fit = p->ask->fit;
    size_t n = 0;

    if (fit == NULL) {
        p->algorithms[n].name = "job";
        memcpy(p->algorithms[n++].theta, THETA_DEFAULT, sizeof THETA_DEFAULT);
    }
    for (uint32_t i = 0; fit != NULL && i < fit->algorithm_count && n < BASE_COUNT(p->algorithms);
         i++, n++) {
        const struct advise_time *time = &fit->algorithms[i].model.time;
        double sum = time->theta[0] + time->theta[1] + time->theta[2] + time->theta[3];
        p->algorithms[n].name = fit->algorithms[i].name;
        memcpy(p->algorithms[n].theta, sum > 0 ? time->theta : THETA_DEFAULT, sizeof THETA_DEFAULT);
        if (sum > 0) /* of the job's data, not of the largest this algorithm was run on */
            p->algorithms[n].theta[1] *= fit->size / time->size_unit;
    }
    p->problem.algorithms = p->algorithms;
    p->problem.algorithm_count = n;
}

/* ---- lines for a shell ---- */

/* The fewest iterations between two reports of a run of the algorithm. */
static double pass_of(const struct advise_runs *runs, uint32_t algorithm)
{
    double least = INFINITY;

    for (size_t i = 0; i < runs->count; i++) {
        const struct advise_run *r = &runs->runs[i];
        for (size_t k = 1; k < r->count && r->algorithm == algorithm; k++)
            least = fmin(least, r->points[k].iteration - r->points[k - 1].iteration);
    }
    return isfinite(least) ? fmax(least, 1) : 1;
}

static const char *limit_of(const struct base_opt *rows, size_t count)
{
    for (size_t k = 0; k < BASE_COUNT(LIMITS); k++)
        for (size_t i = 0; i < count; i++)
            if (strcmp(rows[i].name, LIMITS[k]) == 0)
                return LIMITS[k];
    return NULL;
}

/* The options that are not at their defaults, but for `limit`. */
static void put_options(const struct base_opt *rows, size_t count, const void *values,
                        const void *defaults, const char *limit, struct base_buf *out)
{
    struct base_buf mine, usual;

    base_buf_init(&mine, out->alloc, OPTIONS_MAX);
    base_buf_init(&usual, out->alloc, OPTIONS_MAX);
    for (size_t i = 0; i < count && out->status == SHOAL_OK; i++) {
        base_buf_clear(&mine);
        base_buf_clear(&usual);
        base_buf_printf(&mine, "%s=", rows[i].name);
        base_buf_printf(&usual, "%s=", rows[i].name);
        base_opt_format(&rows[i], values, &mine);
        base_opt_format(&rows[i], defaults, &usual);
        out->status = base_buf_status(&mine);
        if (out->status != SHOAL_OK || strcmp(mine.data, usual.data) == 0 ||
            (limit != NULL && strcmp(rows[i].name, limit) == 0))
            continue;
        base_buf_puts(out, out->size > 0 ? " --set" : "--set");
        cli_repeat_word(mine.data, out);
    }
    base_buf_fini(&mine);
    base_buf_fini(&usual);
}

/* How an algorithm is run, where that is known. Only applications of the tree: a file of runs makes
 * nothing be loaded. Options that cannot be read, or are too long for a line, make it not known. */
static shoal_status put_source(struct planned *p, uint32_t i)
{
    const struct advise_source *source = &p->ask->runs->sources[i];
    const struct base_alloc *alloc = env_alloc(p->cx->env);
    const shoal_app *app = source->app != NULL ? app_find(source->app) : NULL;
    struct base_opt rows[TRAIN_OPTIONS_MAX];
    void *values = NULL, *defaults = NULL;

    if (app == NULL || p->ask->data == NULL)
        return SHOAL_OK;
    size_t count = train_options_rows(app, rows);
    const char *limit = limit_of(rows, count);
    shoal_status st = train_options_new(alloc, app, source->settings, &values, NULL);
    if (st == SHOAL_OK)
        st = train_options_new(alloc, app, "", &defaults, NULL);
    if (st == SHOAL_OK) {
        base_buf_puts(&p->options[i], "");
        put_options(rows, count, values, defaults, limit, &p->options[i]);
        if (source->threads > 0)
            base_buf_printf(&p->options[i], "%s--threads %u", p->options[i].size > 0 ? " " : "",
                            source->threads);
        st = base_buf_status(&p->options[i]);
    }
    if (st == SHOAL_OK) {
        p->algorithms[i].app = app->name;
        p->algorithms[i].data = p->ask->data;
        p->algorithms[i].options = p->options[i].data;
        p->algorithms[i].limit = limit;
        p->pass[i] = pass_of(p->ask->runs, i);
    }
    train_options_free(alloc, values);
    train_options_free(alloc, defaults);
    return st == SHOAL_E_NOMEM ? st : SHOAL_OK;
}

/* "" where there is none. */
static void command_of(const struct planned *p, const struct advise_plan_run *run,
                       char out[ADVISE_PLAN_COMMAND_MAX])
{
    struct advise_plan_run passes = *run;

    passes.iterations = (uint32_t)fmax(round(run->iterations / p->pass[run->algorithm]), 1);
    advise_plan_command(&p->problem, &passes, out, ADVISE_PLAN_COMMAND_MAX);
}

/* ---- printing ---- */

static const char *cost_text(const struct planned *p, double cost, char *buf, size_t size)
{
    if (p->problem.price > 0)
        snprintf(buf, size, cost < 0.1 ? "$%.2g" : "$%.2f", cost);
    else
        snprintf(buf, size, "%.3g machine-s", cost);
    return buf;
}

static int print_summary(const struct planned *p)
{
    const struct advise_plan *plan = &p->plan;
    struct base_buf out;
    char cost[2][48];

    base_buf_init(&out, env_alloc(p->cx->env), TEXT_MAX);
    if (plan->run_count == 0)
        base_buf_printf(&out,
                        "no more runs are needed: the time of an iteration is known to within "
                        "%.0f%%\n",
                        100 * plan->before);
    else
        base_buf_printf(&out,
                        "%zu run%s for %s of %s: the time of an iteration is then known to within "
                        "%.0f%%, now %.0f%%\n\n",
                        plan->run_count, plan->run_count == 1 ? "" : "s",
                        cost_text(p, plan->cost, cost[0], 48),
                        cost_text(p, p->problem.budget, cost[1], 48), fmin(100 * plan->after, 999),
                        fmin(100 * plan->before, 999));
    int rc = cli_print(p->cx, &out);
    base_buf_fini(&out);
    return rc;
}

static int print_text(const struct planned *p)
{
    static const char *const HEAD[] = {"ALGORITHM", "MACHINES", "DATA",        "ITERATIONS",
                                       "TIME",      "COST",     "THEN SURE TO"};
    const struct advise_plan *plan = &p->plan;
    struct cli_columns table;
    char cost[48], time[32], command[ADVISE_PLAN_COMMAND_MAX];
    const char *before = "\n";
    int rc = print_summary(p);

    if (rc != 0 || plan->run_count == 0)
        return rc;
    cli_columns_init(&table, p->cx, "lrrrrrr");
    for (size_t i = 0; i < BASE_COUNT(HEAD); i++)
        cli_columns_cell(&table, CLI_DIM, "%s", HEAD[i]);
    for (size_t i = 0; i < plan->run_count; i++) {
        const struct advise_plan_run *r = &plan->runs[i];
        cli_columns_cell(&table, CLI_PLAIN, "%s", p->algorithms[r->algorithm].name);
        cli_columns_cell(&table, CLI_PLAIN, "%u", r->machines);
        cli_columns_cell(&table, CLI_PLAIN, "%.3g%%", 100 * r->fraction);
        cli_columns_cell(&table, CLI_PLAIN, "%u", r->iterations);
        cli_columns_cell(&table, CLI_PLAIN, "%s", base_format_duration(r->seconds, time, 32));
        cli_columns_cell(&table, CLI_PLAIN, "%s", cost_text(p, r->cost, cost, sizeof cost));
        cli_columns_cell(&table, CLI_PLAIN, "%.0f%%", fmin(100 * r->sure, 999));
    }
    rc = cli_columns_print(&table);
    cli_columns_fini(&table);
    for (size_t i = 0; i < plan->run_count && rc == 0; i++) {
        command_of(p, &plan->runs[i], command);
        if (command[0] == 0)
            continue;
        fprintf(p->cx->out, "%s%s\n", before, command);
        before = "";
    }
    return rc;
}

static int print_json(const struct planned *p)
{
    const struct advise_plan *plan = &p->plan;
    struct base_buf out;
    char command[ADVISE_PLAN_COMMAND_MAX];

    base_buf_init(&out, env_alloc(p->cx->env), TEXT_MAX);
    base_buf_puts(&out, "{\"v\":1");
    cli_json_number(&out, "budget", p->problem.budget);
    cli_json_number(&out, "cost", plan->cost);
    base_buf_printf(&out, ",\"cost_unit\":\"%s\"",
                    p->problem.price > 0 ? "usd" : "machine-seconds");
    cli_json_number(&out, "sure_before", plan->before);
    cli_json_number(&out, "sure_after", plan->after);
    cli_json_number(&out, "gap", plan->gap);
    base_buf_puts(&out, ",\"runs\":[");
    for (size_t i = 0; i < plan->run_count; i++) {
        const struct advise_plan_run *r = &plan->runs[i];
        base_buf_puts(&out, i > 0 ? ",{\"algorithm\":" : "{\"algorithm\":");
        base_buf_json_string(&out, p->algorithms[r->algorithm].name);
        base_buf_printf(&out, ",\"machines\":%u,\"iterations\":%u", r->machines, r->iterations);
        cli_json_number(&out, "data", r->fraction);
        cli_json_number(&out, "seconds", r->seconds);
        cli_json_number(&out, "cost", r->cost);
        cli_json_number(&out, "sure", r->sure);
        command_of(p, r, command);
        base_buf_puts(&out, ",\"command\":");
        if (command[0] != 0)
            base_buf_json_string(&out, command);
        else
            base_buf_puts(&out, "null");
        base_buf_puts(&out, "}");
    }
    base_buf_puts(&out, "]}\n");
    int rc = cli_print(p->cx, &out);
    base_buf_fini(&out);
    return rc;
}

/* ---- the plan ---- */

static shoal_status make_plan(struct planned *p, shoal_err *err)
{
    static const double FRACTIONS[] = {0.125, 0.25, 0.5, 1};
    static const uint32_t ITERATIONS[] = {10, 30};
    shoal_status st = SHOAL_OK;

    p->problem = (struct advise_plan_problem){.fractions = FRACTIONS,
                                              .fraction_count = BASE_COUNT(FRACTIONS),
                                              .iterations = ITERATIONS,
                                              .iteration_count = BASE_COUNT(ITERATIONS),
                                              .start_s = p->ask->start_s,
                                              .price = p->ask->usd_h / 3600,
                                              .budget = p->ask->budget,
                                              .enough = ENOUGH};
    put_algorithms(p);
    put_machines(p);
    put_made(p);
    for (uint32_t i = 0; i < p->problem.algorithm_count && p->ask->fit != NULL && st == SHOAL_OK;
         i++)
        st = put_source(p, i);
    if (st != SHOAL_OK)
        return base_err_nomem(err, "planning runs");
    return advise_plan(env_alloc(p->cx->env), &p->problem, &p->plan, err);
}

/* What the table does not say. */
static void add_notes(const struct planned *p)
{
    const struct advise_plan *plan = &p->plan;

    if (p->ask->fit == NULL)
        base_log(&p->cx->log, BASE_LOG_INFO,
                 "nothing was measured yet: times are those of an iteration of 1 s on one machine; "
                 "ask again once some of these runs are made");
    if (plan->more && plan->run_count > 0)
        base_log(&p->cx->log, BASE_LOG_INFO,
                 "the budget pays for more runs, which would change little");
}

int cli_advise_plan(struct cli_context *cx, const struct cli_advise_ask *ask)
{
    const struct base_alloc *alloc = env_alloc(cx->env);
    struct planned *p = base_calloc(alloc, 1, sizeof *p);
    shoal_err err = SHOAL_ERR_INIT;
    int rc;

    if (p == NULL)
        return cli_fail(cx, base_err_nomem(&err, "planning runs"), &err);
    p->cx = cx;
    p->ask = ask;
    for (size_t i = 0; i < BASE_COUNT(p->options); i++) {
        base_buf_init(&p->options[i], alloc, OPTIONS_MAX);
        p->pass[i] = 1;
    }
    shoal_status st = make_plan(p, &err);
    if (st != SHOAL_OK)
        rc = cli_fail(cx, st, &err);
    else
        rc = cx->json ? print_json(p) : print_text(p);
    if (rc == 0 && cli_flush(cx))
        add_notes(p);
    for (size_t i = 0; i < BASE_COUNT(p->options); i++)
        base_buf_fini(&p->options[i]);
    base_free(alloc, p);
    return rc;
}
