/* cmd_advise.c - `shoal advise`: which algorithm on how many machines, from a few measured runs. */
#include "cli/cli.h"

#include "advise/page.h"
#include "advise/save.h"
#include "advise/tables.h"
#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/advise_show.h"
#include "cli/output.h"
#include "cli/repeat.h"
#include "cli/report.h"
#include "shoal/version.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { PAGE_MAX = 2 << 20, COMMAND_MAX = 1 << 14 };

static const double WITHIN_DEFAULT = 0.01;

struct values {
    const char *target, *within, *deadline, *machines, *size, *best, *data, *save, *report;
    double price, start_s, change_s, budget;
    uint64_t seed;
    bool plan;
};

struct work {
    struct cli_context *cx;
    const struct values *v;
    struct advise_runs runs;
    struct advise_fit *fit;
    struct advise_choice choice;
    struct advise_question question;
    uint32_t machines[ADVISE_ASKED_MAX];
    struct cli_advised shown;
    struct base_buf command;
};

/* ---- options ---- */

static shoal_status parse_number(const char *option, const char *text, double *out, shoal_err *err)
{
    *out = (double)NAN;
    if (text == NULL || base_parse_f64(text, strlen(text), out))
        return SHOAL_OK;
    return base_err(err, SHOAL_E_INVAL, "--%s: expected a number, found '%.60s'", option, text);
}

/* "1%", "0.5%", or a share such as 0.01. */
static shoal_status parse_within(const char *text, double *out, shoal_err *err)
{
    size_t length = text == NULL ? 0 : strlen(text);
    bool percent = length > 0 && text[length - 1] == '%';

    *out = (double)NAN;
    if (text == NULL)
        return SHOAL_OK;
    if (!base_parse_f64(text, length - percent, out) || !(*out > 0) || *out > (percent ? 1000 : 10))
        return base_err(err, SHOAL_E_INVAL, "--within: expected a share such as 1%%, found '%.60s'",
                        text);
    *out /= percent ? 100 : 1;
    return SHOAL_OK;
}

static shoal_status bad_machines(const char *text, shoal_err *err)
{
    return base_err(err, SHOAL_E_INVAL,
                    "--machines: expected counts such as 1-64 or 1,2,4,8 from 1 to %d, at most %d "
                    "of them, found '%.60s'",
                    ADVISE_MACHINES_MAX, ADVISE_ASKED_MAX, text);
}

static bool add_machines(struct work *w, uint64_t from, uint64_t to)
{
    size_t *n = &w->question.machine_count;

    if (from < 1 || to < from || to > ADVISE_MACHINES_MAX)
        return false;
    for (uint64_t m = from; m <= to; m++) {
        size_t at = 0;
        while (at < *n && w->machines[at] < m)
            at++;
        if (at < *n && w->machines[at] == m)
            continue;
        if (*n == ADVISE_ASKED_MAX)
            return false;
        memmove(w->machines + at + 1, w->machines + at, (*n - at) * sizeof *w->machines);
        w->machines[at] = (uint32_t)m;
        ++*n;
    }
    return true;
}

static shoal_status parse_machines(struct work *w, const char *text, shoal_err *err)
{
    for (const char *p = text;; p++) {
        size_t length = strcspn(p, ","), dash = strcspn(p, ",-");
        uint64_t from, to;
        if (!base_parse_u64(p, dash, &from))
            return bad_machines(text, err);
        to = from;
        if (dash < length && !base_parse_u64(p + dash + 1, length - dash - 1, &to))
            return bad_machines(text, err);
        if (!add_machines(w, from, to))
            return bad_machines(text, err);
        p += length;
        if (*p == 0)
            return SHOAL_OK;
    }
}

/* Not said: from one to twice the largest count measured. */
static shoal_status find_machines(struct work *w, shoal_err *err)
{
    uint32_t most = 8;

    w->question.machines = w->machines;
    if (w->v->machines != NULL)
        return parse_machines(w, w->v->machines, err);
    for (size_t i = 0; i < w->runs.count; i++)
        most = w->runs.runs[i].machines > most / 2 ? 2 * w->runs.runs[i].machines : most;
    if (most <= ADVISE_ASKED_MAX / ADVISE_ALGORITHMS_MAX)
        return add_machines(w, 1, most) ? SHOAL_OK : bad_machines("", err);
    bool added = true;
    for (uint64_t m = 1; m <= most && m <= ADVISE_MACHINES_MAX && added; m += m / 8 + 1)
        added = add_machines(w, m, m);
    for (size_t i = 0; i < w->runs.count && added; i++)
        added = add_machines(w, w->runs.runs[i].machines, w->runs.runs[i].machines);
    return added ? SHOAL_OK : bad_machines("", err);
}

static shoal_status find_question(struct work *w, shoal_err *err)
{
    const struct values *v = w->v;
    struct advise_question *q = &w->question;
    shoal_status st = parse_number("target", v->target, &q->target, err);

    q->deadline_s = (double)INFINITY;
    q->usd_h = v->price;
    q->start_s = v->start_s;
    q->change_s = v->change_s;
    q->seed = v->seed;
    if (st == SHOAL_OK)
        st = parse_within(v->within, &w->shown.within, err);
    if (st == SHOAL_OK && v->target != NULL && v->within != NULL)
        st = base_err(err, SHOAL_E_INVAL, "--target and --within say the same thing twice");
    if (st == SHOAL_OK && v->deadline != NULL &&
        (!base_parse_duration(v->deadline, &q->deadline_s) || !(q->deadline_s > q->start_s)))
        st = base_err(err, SHOAL_E_INVAL,
                      "--deadline: expected a time such as 30m, longer than --start, found '%.60s'",
                      v->deadline);
    if (st == SHOAL_OK && v->target == NULL && v->within == NULL && v->deadline == NULL) {
        w->shown.within = WITHIN_DEFAULT;
        w->shown.within_default = true;
    }
    return st;
}

/* ---- reading and fitting ---- */

static shoal_status read_runs(struct work *w, const char *const *args, size_t count, shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < count && st == SHOAL_OK; i++)
        st = advise_runs_read(&w->runs, w->cx->env, args[i], err);
    return st == SHOAL_OK && count > 0 ? advise_runs_finish(&w->runs, err) : st;
}

static shoal_status fit(struct work *w, shoal_err *err)
{
    struct advise_fit_opts opts;
    shoal_status st = parse_number("size", w->v->size, &opts.size, err);

    if (st == SHOAL_OK)
        st = parse_number("best", w->v->best, &opts.best, err);
    if (st == SHOAL_OK && w->v->size != NULL && !(opts.size > 0))
        st = base_err(err, SHOAL_E_INVAL, "--size: expected a size above 0, found '%.60s'",
                      w->v->size);
    if (st == SHOAL_OK)
        st = advise_fit_new(env_alloc(w->cx->env), &w->runs, &opts, &w->fit, err);
    if (st == SHOAL_OK && opts.best > w->fit->lowest)
        st = base_err(err, SHOAL_E_INVAL,
                      "--best: %.6g is above the lowest loss that was measured, %.6g", opts.best,
                      w->fit->lowest);
    if (st == SHOAL_OK && !w->v->plan)
        st = advise_fit_enough(w->fit, w->v->target == NULL && isnan(opts.best), err);
    if (st != SHOAL_OK || isnan(w->shown.within) || w->v->plan)
        return st;
    w->question.target = w->fit->best + w->shown.within * fabs(w->fit->best);
    if (w->v->best == NULL) {
        const struct advise_algorithm *by = &w->fit->algorithms[w->fit->best_by];
        w->question.lower = w->fit->best - by->best_low;
        w->question.higher = by->best_high - w->fit->best;
    }
    if (w->question.target > w->fit->best)
        return SHOAL_OK;
    base_err(err, SHOAL_E_IMPOSSIBLE, "--within means nothing where the best loss is 0");
    base_err_hint(err, "name the loss with --target");
    return SHOAL_E_IMPOSSIBLE;
}

/* ---- files ---- */

static shoal_status save(struct work *w, shoal_err *err)
{
    struct advise_saved models[ADVISE_ALGORITHMS_MAX];
    struct base_arena arena;
    size_t n = 0;
    shoal_status st = SHOAL_OK;

    if (w->v->save == NULL)
        return SHOAL_OK;
    if (isnan(w->question.target))
        return base_err(err, SHOAL_E_INVAL,
                        "--save: a job model needs a goal; give --target or "
                        "--within");
    base_arena_init(&arena, env_alloc(w->cx->env), 1 << 14);
    for (uint32_t a = 0; a < w->fit->algorithm_count && st == SHOAL_OK; a++) {
        models[n].name = w->fit->algorithms[a].name;
        st = advise_tables_make(w->fit, &w->choice, a, w->question.target, &arena,
                                &models[n].tables);
        n += st == SHOAL_OK;
        st = st == SHOAL_E_IMPOSSIBLE ? SHOAL_OK : st;
    }
    if (st != SHOAL_OK)
        base_err_nomem(err, "saving models");
    else
        st = advise_save(w->cx->env, w->v->save, models, n, err);
    base_arena_fini(&arena);
    return st;
}

static shoal_status write_page(struct work *w, shoal_err *err)
{
    struct base_buf page;
    shoal_status st;

    if (w->v->report == NULL)
        return SHOAL_OK;
    struct advise_page what = {
        .fit = w->fit,
        .question = &w->question,
        .choice = &w->choice,
        .within = w->shown.within,
        .next = w->shown.has_next_fast ? &w->shown.next_fast : NULL,
        .command =
            base_buf_status(&w->command) == SHOAL_OK && w->command.size > 0 ? w->command.data : "",
        .version = SHOAL_VERSION};
    base_buf_init(&page, env_alloc(w->cx->env), PAGE_MAX);
    advise_page_write(&page, &what);
    st = base_buf_status(&page);
    if (st == SHOAL_OK)
        st = env_write_whole(w->cx->env, w->v->report, page.data, page.size, err);
    else
        st = st == SHOAL_E_NOMEM
                 ? base_err_nomem(err, "writing the report")
                 : base_err(err, st, "the report is larger than %d MB", PAGE_MAX >> 20);
    base_buf_fini(&page);
    return st;
}

/* ---- the command ---- */

static int answer(struct work *w, shoal_err *err)
{
    struct cli_advised *s = &w->shown;
    shoal_status st = advise_choose(env_alloc(w->cx->env), w->fit, &w->question, &w->choice, err);

    s->runs = &w->runs;
    s->fit = w->fit;
    s->question = &w->question;
    s->choice = &w->choice;
    s->best_given = w->v->best != NULL;
    if (st == SHOAL_OK && !isnan(w->question.target)) {
        s->has_next_fast = advise_next(w->fit, &w->question, &w->choice, false, &s->next_fast);
        s->has_next_cheap = advise_next(w->fit, &w->question, &w->choice, true, &s->next_cheap);
    }
    if (st == SHOAL_OK)
        st = save(w, err);
    if (st == SHOAL_OK)
        st = write_page(w, err);
    if (st != SHOAL_OK)
        return cli_fail(w->cx, st, err);
    /* what goes to standard output is one thing: the answer, the page or the models */
    bool piped = cli_report_to_stdout(w->v->save) || cli_report_to_stdout(w->v->report);
    int rc = w->cx->json ? cli_advise_json(w->cx, s) : piped ? 0 : cli_advise_text(w->cx, s);
    if (rc != 0 || !cli_flush(w->cx))
        return rc;
    cli_advise_warn(w->cx, s);
    if (w->v->report != NULL && !cli_report_to_stdout(w->v->report))
        base_log(&w->cx->log, BASE_LOG_INFO, "report: %s", w->v->report);
    if (w->v->save != NULL && !cli_report_to_stdout(w->v->save))
        base_log(&w->cx->log, BASE_LOG_INFO, "model: %s; 'shoal sim --profiles %s' reads it",
                 w->v->save, w->v->save);
    return 0;
}

static int plan(struct work *w)
{
    struct cli_advise_ask ask = {.runs = &w->runs,
                                 .fit = w->fit,
                                 .machines = w->machines,
                                 .machine_count = w->question.machine_count,
                                 .start_s = w->v->start_s,
                                 .usd_h = w->v->price,
                                 .budget = w->v->budget,
                                 .data = w->v->data};

    return cli_advise_plan(w->cx, &ask);
}

/* The option of a question, if one was asked; a plan answers none. */
static const char *asked(const struct values *v)
{
    return v->target != NULL     ? "target"
           : v->within != NULL   ? "within"
           : v->deadline != NULL ? "deadline"
           : v->best != NULL     ? "best"
                                 : NULL;
}

static shoal_status check_call(struct work *w, const char *const *args, size_t count,
                               shoal_err *err)
{
    const struct values *v = w->v;
    shoal_status st = SHOAL_OK;

    if (count == 0 && !v->plan) {
        base_err(err, SHOAL_E_INVAL, "no runs were given");
        return SHOAL_E_INVAL;
    }
    if (v->plan && !(v->budget > 0))
        st = base_err(err, SHOAL_E_INVAL,
                      "--plan needs a --budget above 0: machine-seconds, or dollars with --price");
    else if (v->plan && (v->save != NULL || v->report != NULL))
        st = base_err(err, SHOAL_E_INVAL, "--plan writes no --save and no --report");
    else if (v->plan && asked(v) != NULL)
        st = base_err(err, SHOAL_E_INVAL,
                      "--plan takes no --%s: it is about how long iterations take, to whatever "
                      "loss",
                      asked(v));
    else if (w->cx->json && (cli_report_to_stdout(v->save) || cli_report_to_stdout(v->report)))
        st =
            base_err(err, SHOAL_E_INVAL, "--%s -: standard output has the JSON already; use a file",
                     cli_report_to_stdout(v->save) ? "save" : "report");
    else if (!v->plan && (v->data != NULL || v->budget > 0))
        st =
            base_err(err, SHOAL_E_INVAL, "--%s is for --plan", v->data != NULL ? "data" : "budget");
    if (st == SHOAL_OK)
        st = cli_output_check(w->cx, v->save, args, count, err);
    if (st == SHOAL_OK)
        st = cli_output_check(w->cx, v->report, args, count, err);
    if (st == SHOAL_OK && v->save != NULL && v->report != NULL &&
        cli_output_same(w->cx, v->save, v->report))
        st = base_err(err, SHOAL_E_INVAL, "--save and --report name the same file '%.150s'",
                      v->save);
    return st;
}

static int run(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count)
{
    shoal_err err = SHOAL_ERR_INIT;
    struct work *w = base_calloc(env_alloc(cx->env), 1, sizeof *w);
    int rc;

    if (w == NULL)
        return cli_fail(cx, base_err_nomem(&err, "giving advice"), &err);
    w->cx = cx;
    w->v = values;
    advise_runs_init(&w->runs, env_alloc(cx->env));
    base_buf_init(&w->command, env_alloc(cx->env), COMMAND_MAX);
    cli_repeat_command(cx->command, values, args, arg_count, &w->command);
    shoal_status st = find_question(w, &err);
    if (st == SHOAL_OK)
        st = check_call(w, args, arg_count, &err);
    if (st == SHOAL_OK)
        st = read_runs(w, args, arg_count, &err);
    if (st == SHOAL_OK)
        st = find_machines(w, &err);
    if (st == SHOAL_OK && arg_count > 0)
        st = fit(w, &err);
    if (st != SHOAL_OK)
        rc = cli_fail(cx, st, &err);
    else
        rc = w->v->plan ? plan(w) : answer(w, &err);
    advise_choice_fini(&w->choice);
    advise_fit_free(w->fit);
    advise_runs_fini(&w->runs);
    base_buf_fini(&w->command);
    base_free(env_alloc(cx->env), w);
    return rc;
}

static const struct base_opt rows[] = {
    {.name = "target",
     .letter = 't',
     .type = BASE_OPT_STR,
     .meta = "LOSS",
     .help = "the loss to reach",
     .offset = offsetof(struct values, target)},
    {.name = "within",
     .type = BASE_OPT_STR,
     .meta = "SHARE",
     .help = "or so near to the best loss that can be reached, such as 1%",
     .offset = offsetof(struct values, within)},
    {.name = "deadline",
     .letter = 'd',
     .type = BASE_OPT_STR,
     .meta = "TIME",
     .help = "alone: the lowest loss by then; with a target: the cheapest that is done by then",
     .offset = offsetof(struct values, deadline)},
    {.name = "machines",
     .letter = 'm',
     .type = BASE_OPT_STR,
     .meta = "LIST",
     .help = "machine counts to choose from, such as 1-64 or 1,2,4,8 [up to twice those measured]",
     .offset = offsetof(struct values, machines)},
    {.name = "price",
     .type = BASE_OPT_F64,
     .meta = "USD",
     .fallback = "0",
     .max = 1e6,
     .help = "of one machine for an hour; 0: costs are machine-seconds or machine-hours",
     .offset = offsetof(struct values, price)},
    {.name = "start",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "0s",
     .max = 1e7,
     .help = "how long machines are paid for before training begins",
     .offset = offsetof(struct values, start_s)},
    {.name = "switch-cost",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "10s",
     .max = 1e7,
     .help = "how long a change of algorithm or machines takes",
     .offset = offsetof(struct values, change_s)},
    {.name = "size",
     .type = BASE_OPT_STR,
     .meta = "N",
     .help = "of the data of the job, in the unit of the runs [the largest measured]",
     .offset = offsetof(struct values, size)},
    {.name = "best",
     .type = BASE_OPT_STR,
     .meta = "LOSS",
     .help = "the lowest loss that can be reached, where that is known [estimated]",
     .offset = offsetof(struct values, best)},
    {.name = "plan",
     .type = BASE_OPT_FLAG,
     .help = "say which runs are worth making within --budget; runs made so far may be given",
     .offset = offsetof(struct values, plan)},
    {.name = "budget",
     .type = BASE_OPT_F64,
     .meta = "COST",
     .fallback = "0",
     .max = 1e12,
     .help = "for --plan: machine-seconds, or dollars with --price",
     .offset = offsetof(struct values, budget)},
    {.name = "data",
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .complete = "file",
     .help = "for --plan: what the runs trained on, to print 'shoal train' lines for new ones",
     .offset = offsetof(struct values, data)},
    {.name = "save",
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .complete = "file",
     .help = "write the fitted models as job models for 'shoal sim --profiles'",
     .offset = offsetof(struct values, save)},
    {.name = "report",
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .complete = "file",
     .help = "write an HTML page with predictions, measurements and intervals",
     .offset = offsetof(struct values, report)},
    {.name = "seed",
     .letter = 's',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "1",
     .help = "of the draws that say how sure it is",
     .offset = offsetof(struct values, seed)},
};

const struct cli_command cli_cmd_advise = {
    .name = "advise",
    .usage = "[options] [RUNS...]",
    .summary = "Say which algorithm on how many machines is fastest and cheapest, from short runs.",
    .description =
        "RUNS are what 'shoal train --json' printed, or CSV files: '#shoal-runs v1', then a header "
        "with the columns algorithm, machines, iteration, time_s, loss and where wanted size and "
        "run, then one line per measurement. '-' is standard input. Files are read as one.\n\n"
        "From a few short runs on a few machine counts two models are fitted for each algorithm: "
        "the time of an iteration (shared work, work that is not shared, and talk that grows with "
        "machines) and the number of iterations to a loss, which depends on machines, too. The "
        "answer names the fastest and the cheapest choice for a loss, with 90 % intervals and how "
        "sure it is to be within 5 % of the best; changes of algorithm or machines on the way, "
        "where they save more than 3 %; and the one run that would help most.\n\n"
        "Lower losses are better, of any sign. A run diverged when a loss is not finite or it ends "
        "above its start: such counts are never advised. Copies of a run count once. Nothing is "
        "said about machine counts or sizes more than 16 times those measured, about other counts "
        "when one was measured, nor about losses that no run comes near. The least evidence for "
        "any advice is a run with 3 losses each lower than all before; for --within and a "
        "--deadline alone 5, or 3 that hardly fall any more.\n\n"
        "--plan chooses runs that make the time of an iteration surest for what they cost, until "
        "it is known to within 5 %; without RUNS it plans from nothing. With --data and RUNS that "
        "'shoal train --json' printed it gives the lines for a shell that make them.",
    .example = "advise runs.csv --within 1% --machines 1-64 --price 0.5",
    .opts = rows,
    .opt_count = BASE_COUNT(rows),
    .values_size = sizeof(struct values),
    .arg_min = 0,
    .arg_max = SIZE_MAX,
    .arg_complete = "file",
    .json = true,
    .run = run,
};
