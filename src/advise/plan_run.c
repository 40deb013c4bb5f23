/* plan_run.c - which runs are worth making, as a result (see call.h).
 *
 * What was measured becomes the problem of plan.h: fitted times of an iteration, runs made, counts to choose from.
 * Lines for a shell are made where runs came from `shoal train --json`, which says how it was called, and the options
 * name the data. Its iterations are clocks, and applications are bounded in passes over the data: reports come at ends
 * of passes, so the fewest clocks between two of them are taken for those of a pass. Where reports are rare that is
 * too many, and the run shorter than planned. Tests: tests/unit/advise/test_plan.c, test_run.c,
 * tests/cli/test_advise.py. */
#include "advise/call.h"

#include "advise/plan.h"
#include "app/app.h"
#include "base/assert.h"
#include "base/err.h"
#include "page/field.h"
#include "train/options.h"
#include <math.h>
#include <string.h>

enum { OPTIONS_MAX = ADVISE_PLAN_COMMAND_MAX, COUNTS_MAX = 12 };

/* Once the time of an iteration is known so well more runs change no advice: candidates within
 * advise_near of the best are called equal. */
static const double ENOUGH = 0.05;
/* What is believed of an iteration before anything was measured: 1 s of work to share out, little
 * that is not shared, and costs of talking that grow with machines. */
static const double THETA_DEFAULT[4] = {0.02, 1, 0.01, 0.002};
/* The options of applications that bound how long they train. */
static const char *const LIMITS[] = {"epochs", "iterations"};
static const double SURE_MOST = 9.99; /* for people: more says no more */

struct planned {
    const struct advise_call *w;
    struct advise_plan_algorithm algorithms[ADVISE_PLAN_ALGORITHMS_MAX];
    double pass[ADVISE_PLAN_ALGORITHMS_MAX]; /* iterations of one; 1 where that is not known */
    struct advise_plan_made made[ADVISE_PLAN_RUNS_MAX];
    uint32_t counts[COUNTS_MAX], want[ADVISE_PLAN_WANT_MAX];
    struct advise_plan_problem problem;
    struct advise_plan plan;
};

/* ---- the problem ---- */

/* Wanted are the first count, the last, and powers of two; candidates are some of these. */
static void put_machines(struct planned *p)
{
    const struct advise_call *w = p->w;
    size_t n = 0;

    for (size_t i = 0; i < w->question.machine_count && n < ADVISE_PLAN_WANT_MAX; i++) {
        uint32_t c = w->machines[i];
        if (i == 0 || i + 1 == w->question.machine_count || (c & (c - 1)) == 0)
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
    const struct advise_runs *runs = &p->w->runs;
    size_t n = 0;

    for (size_t i = 0; i < runs->count && p->w->fit != NULL && n < ADVISE_PLAN_RUNS_MAX; i++) {
        const struct advise_run *r = &runs->runs[i];
        double fraction = r->size / p->w->fit->size;
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
    const struct advise_fit *fit = p->w->fit;
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

void advise_plan_command(const struct advise_plan_problem *problem,
                         const struct advise_plan_run *run, struct base_buf *out)
{
    const struct advise_plan_algorithm *a = &problem->algorithms[run->algorithm];
    struct base_buf part;

    if (a->app == NULL || a->data == NULL)
        return;
    base_buf_init(&part, out->alloc, out->size_max);
    base_buf_puts(&part, a->data);
    if (run->fraction < 1) {
        base_buf_printf(&part, ".part-%g", run->fraction);
        base_buf_printf(out, "awk 'BEGIN{srand(1)} rand()<%g' ", run->fraction);
        base_buf_shell(out, a->data);
        base_buf_puts(out, " > ");
        base_buf_shell(out, part.data != NULL ? part.data : "");
        base_buf_puts(out, " && ");
    }
    base_buf_puts(out, "shoal train ");
    base_buf_shell(out, a->app);
    base_buf_puts(out, " ");
    base_buf_shell(out, part.data != NULL ? part.data : "");
    if (a->options != NULL && a->options[0] != '\0')
        base_buf_printf(out, " %s", a->options);
    base_buf_printf(out, " --workers %u", run->machines);
    if (a->limit != NULL) {
        base_buf_puts(out, " --set ");
        base_buf_shell(out, a->limit);
        base_buf_printf(out, "=%u", run->iterations);
    }
    base_buf_puts(out, " --json");
    if (out->status == SHOAL_OK)
        out->status = base_buf_status(&part);
    base_buf_fini(&part);
}

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

static const char *limit_of(const shoal_app *app)
{
    for (size_t k = 0; k < BASE_COUNT(LIMITS); k++)
        for (size_t i = 0; i < app->opt_count; i++)
            if (strcmp(app->opts[i].name, LIMITS[k]) == 0)
                return LIMITS[k];
    return NULL;
}

/* Settings, lines "key=value" cut in place, as words for a shell, but for that of `limit`. */
static void put_settings(char *settings, const char *limit, struct base_buf *out)
{
    for (char *line = settings; *line != '\0';) {
        size_t length = strcspn(line, "\n"), key = strcspn(line, "=");
        char *next = line + length + (line[length] == '\n');
        line[length] = '\0';
        if (limit == NULL || strlen(limit) != key || strncmp(line, limit, key) != 0) {
            base_buf_puts(out, out->size > 0 ? " --set " : "--set ");
            base_buf_shell(out, line);
        }
        line = next;
    }
}

/* How an algorithm is run, where that is known. Only applications of the tree: a file of runs makes
 * nothing be loaded. Options that cannot be read, or are too long for a line, make it not known. */
static shoal_status put_source(struct planned *p, uint32_t i)
{
    const struct advise_source *source = &p->w->runs.sources[i];
    const struct base_alloc *alloc = env_alloc(p->w->env);
    const shoal_app *app = source->app != NULL ? app_find(source->app) : NULL;
    struct base_buf settings, options;

    if (app == NULL || p->w->v->data == NULL)
        return SHOAL_OK;
    base_buf_init(&settings, alloc, OPTIONS_MAX);
    base_buf_init(&options, alloc, OPTIONS_MAX);
    base_buf_puts(&options, "");
    const char *limit = limit_of(app);
    shoal_status st = train_options_text(alloc, app, source->settings, &settings, NULL);
    if (st == SHOAL_OK) {
        put_settings(settings.data, limit, &options);
        if (source->threads > 0)
            base_buf_printf(&options, "%s--threads %u", options.size > 0 ? " " : "",
                            source->threads);
        st = base_buf_status(&options);
    }
    if (st == SHOAL_OK) {
        p->algorithms[i].app = app->name;
        p->algorithms[i].data = p->w->v->data;
        p->algorithms[i].options = page_made_text(p->w->made, "%s", options.data);
        p->algorithms[i].limit = limit;
        p->pass[i] = pass_of(&p->w->runs, i);
    }
    base_buf_fini(&settings);
    base_buf_fini(&options);
    return st == SHOAL_E_NOMEM ? st : SHOAL_OK;
}

/* NULL where there is none. */
static const char *command_of(const struct planned *p, const struct advise_plan_run *run)
{
    struct advise_plan_run passes = *run;
    struct base_buf line;
    const char *text = NULL;

    base_buf_init(&line, env_alloc(p->w->env), ADVISE_PLAN_COMMAND_MAX);
    passes.iterations = (uint32_t)fmax(round(run->iterations / p->pass[run->algorithm]), 1);
    advise_plan_command(&p->problem, &passes, &line);
    if (base_buf_status(&line) == SHOAL_OK && line.size > 0)
        text = page_made_text(p->w->made, "%s", line.data);
    else if (base_buf_status(&line) == SHOAL_E_NOMEM)
        p->w->made->status = SHOAL_E_NOMEM;
    base_buf_fini(&line);
    return text;
}

/* ---- the result ---- */

struct run {
    const char *algorithm, *command;
    struct advise_plan_run r;
    double usd, machine_s, then; /* for people */
};

#define ROW struct run
static const shoal_field run_fields[] = {
    FIELD(algorithm, "ALGORITHM", NONE, 0, 1, "its name", CUT),
    FIELD_NAMED(r.machines, "machines", "MACHINES", COUNT, 0, 1, "how many"),
    FIELD_NAMED(r.fraction, "data", "DATA", PERCENT, 0, 1, "the part of the data"),
    FIELD_NAMED(r.iterations, "iterations", "ITERATIONS", COUNT, 0, 1, "how many"),
    FIELD_NAMED(r.seconds, "seconds", "TIME", SECONDS, 0, 1, "that it is expected to take"),
    DATA_NAMED(r.cost, "cost", NONE, 0, "in cost_unit"),
    COLUMN(usd, "COST", USD, 0, 1, "of all its machines", SPARSE),
    COLUMN(machine_s, "MACHINE TIME", SECONDS, 0, 1, "of all its machines together", SPARSE),
    DATA_NAMED(r.sure, "sure", SHARE, 0,
               "to within what share the time of an iteration is known once it is made"),
    COLUMN(then, "THEN SURE TO", SHARE, 0, 1,
           "to within what share the time of an iteration is known once it is made"),
    DATA(command, NONE, 0, "the line for a shell that makes it"),
};
SCHEMA(run, "run", "Runs to make", "A run to make");
static const shoal_field line_fields[] = {
    COLUMN(command, "COMMAND", NONE, 0, 1, "for a shell; what they print goes into a file of runs"),
};
#undef ROW
SCHEMA(line, "line", "Lines that make them", "A line for a shell");

struct row {
    double budget, cost, before, after, gap;
    const char *cost_unit;
    shoal_records runs, lines;
};

#define ROW struct row
static const shoal_field fields[] = {
    DATA(budget, NONE, 0, "in cost_unit"),
    DATA(cost, NONE, 0, "of all runs, in cost_unit"),
    DATA(cost_unit, NONE, 0, "usd or machine-seconds"),
    DATA_NAMED(before, "sure_before", SHARE, -1,
               "to within what share the time of an iteration is known now"),
    DATA_NAMED(after, "sure_after", SHARE, -1, "and once all runs are made"),
    DATA(gap, SHARE, -1,
         "proven: how much the best choice of runs within the budget could be better, of the sum "
         "of variances"),
    LIST(runs, "runs", NULL, 1, run_schema, "what gains most for its cost first"),
    LIST(lines, NULL, NULL, 1, line_schema, "lines for a shell, where they are known"),
};
#undef ROW
static const shoal_schema schema =
    SCHEMA_OF("advise --plan", NULL, "Which runs are worth making", fields);

const shoal_schema *shoal_advise_plan_schema(void)
{
    return &schema;
}

static void fill(const struct planned *p)
{
    const struct advise_plan *plan = &p->plan;
    struct page_made *made = p->w->made;
    struct row *row = page_made_alloc(made, 1, sizeof *row);
    struct run *runs = page_made_alloc(made, plan->run_count, sizeof *runs);
    struct run *lines = page_made_alloc(made, plan->run_count, sizeof *lines);
    bool usd = p->problem.price > 0;
    size_t line_count = 0;

    if (row == NULL || runs == NULL || lines == NULL)
        return;
    for (size_t i = 0; i < plan->run_count; i++) {
        const struct advise_plan_run *r = &plan->runs[i];
        runs[i] =
            (struct run){.algorithm = page_made_text(made, "%s", p->algorithms[r->algorithm].name),
                         .command = command_of(p, r),
                         .r = *r,
                         .usd = usd ? r->cost : (double)NAN,
                         .machine_s = usd ? (double)NAN : r->cost,
                         .then = fmin(r->sure, SURE_MOST)};
        if (runs[i].command != NULL)
            lines[line_count++] = runs[i];
    }
    *row = (struct row){.budget = p->problem.budget,
                        .cost = plan->cost,
                        .before = plan->before,
                        .after = plan->after,
                        .gap = plan->gap,
                        .cost_unit = usd ? "usd" : "machine-seconds",
                        .runs = page_records(runs, plan->run_count),
                        .lines = page_records(lines, line_count)};
    made->result.schema = &schema;
    made->result.records = page_records(row, 1);
}

/* In the unit of the budget: advise_words_cost knows machine-hours. */
static const char *cost_text(const struct planned *p, double cost)
{
    return advise_words_cost(p->w, p->problem.price > 0 ? cost : cost / 3600);
}

static void say(const struct planned *p)
{
    const struct advise_plan *plan = &p->plan;
    struct page_made *made = p->w->made;
    made->result.title = "Which runs are worth making";
    if (p->w->fit != NULL)
        advise_words_runs(p->w);
    else
        page_made_head(made, "nothing was measured yet\n");
    if (plan->run_count == 0)
        page_made_say(made,
                      "No more runs are needed: the time of an iteration is known to within %.0f "
                      "%%.\n",
                      100 * plan->before);
    else
        page_made_say(made,
                      "%zu run%s for %s, of a budget of %s: the time of an iteration is then known "
                      "to within %.0f %%, now %.0f %%.\n",
                      plan->run_count, page_plural(plan->run_count), cost_text(p, plan->cost),
                      page_made_value(made,
                                      p->problem.price > 0 ? SHOAL_UNIT_USD : SHOAL_UNIT_SECONDS,
                                      p->problem.budget),
                      100 * fmin(plan->after, SURE_MOST), 100 * fmin(plan->before, SURE_MOST));
    if (p->w->fit == NULL)
        page_info(made, "nothing was measured yet: times are those of an iteration of 1 s on one "
                        "machine; ask again once some of these runs are made");
    if (plan->more && plan->run_count > 0)
        page_info(made, "the budget pays for more runs, which would change little");
}

/* How sure it is after each run, by what was spent until then. */
static void draw(const struct planned *p)
{
    const struct advise_plan *plan = &p->plan;
    struct page_made *made = p->w->made;
    bool usd = p->problem.price > 0;
    double spent = 0;

    if (plan->run_count < 2)
        return;
    shoal_picture *picture = page_picture(made, SHOAL_PICTURE_STEPS, "sure",
                                          "How well the time of an iteration is known",
                                          "to within what share, by what was spent until then", 1);
    shoal_series *line =
        picture == NULL ? NULL : page_series(made, picture, "to within", 0, plan->run_count + 1);
    if (line == NULL)
        return;
    line->dots = true;
    page_point(line, 0, plan->before);
    for (size_t i = 0; i < plan->run_count; i++) {
        spent += plan->runs[i].cost;
        page_point(line, spent, plan->runs[i].sure);
    }
    picture->x = (shoal_axis){.title = usd ? "cost" : "machine time",
                              .unit = usd ? SHOAL_UNIT_USD : SHOAL_UNIT_SECONDS};
    picture->y = (shoal_axis){.unit = SHOAL_UNIT_SHARE, .log = true};
}

/* ---- the plan ---- */

static shoal_status make_plan(struct planned *p, shoal_err *err)
{
    static const double FRACTIONS[] = {0.125, 0.25, 0.5, 1};
    static const uint32_t ITERATIONS[] = {10, 30};
    const struct advise_call *w = p->w;
    shoal_status st = SHOAL_OK;

    p->problem = (struct advise_plan_problem){.fractions = FRACTIONS,
                                              .fraction_count = BASE_COUNT(FRACTIONS),
                                              .iterations = ITERATIONS,
                                              .iteration_count = BASE_COUNT(ITERATIONS),
                                              .start_s = w->v->start_s,
                                              .price = w->v->price / 3600,
                                              .budget = w->v->budget,
                                              .enough = ENOUGH};
    put_algorithms(p);
    put_machines(p);
    put_made(p);
    for (uint32_t i = 0; i < p->problem.algorithm_count && w->fit != NULL && st == SHOAL_OK; i++)
        st = put_source(p, i);
    if (st != SHOAL_OK)
        return base_err_nomem(err, "planning runs");
    return advise_plan(env_alloc(w->env), &p->problem, &p->plan, err);
}

shoal_status advise_plan_run(const struct advise_call *w, shoal_err *err)
{
    struct planned *p = base_calloc(env_alloc(w->env), 1, sizeof *p);

    if (p == NULL)
        return base_err_nomem(err, "planning runs");
    p->w = w;
    for (size_t i = 0; i < BASE_COUNT(p->pass); i++)
        p->pass[i] = 1;
    shoal_status st = make_plan(p, err);
    if (st == SHOAL_OK) {
        fill(p);
        say(p);
        if (w->v->pictures)
            draw(p);
    }
    base_free(env_alloc(w->env), p);
    return st;
}
