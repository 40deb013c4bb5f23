/* run.c - the public face of advice (shoal/advise.h): the options as rows, what is asked from them, the order of
 * things, and the models it saves.
 *
 * Tests: tests/unit/advise/test_run.c, tests/unit/cli/test_cmd_advise.c, tests/cli/test_advise.py. */
#include "advise/call.h"

#include "advise/save.h"
#include "base/assert.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/text.h"
#include "base/watch.h"
#include "env/system.h"
#include <math.h>
#include <string.h>

const double advise_enough = 0.3;

static const double WITHIN_DEFAULT = 0.01;
static const double RIVAL = 0.05; /* as choose.c has it: less is not worth a run */

/* ---- options ---- */

#define AT(member) offsetof(shoal_advise_opts, member)

static const shoal_opt rows[] = {
    {AT(target), SHOAL_OPT_STR, "target", 0, "LOSS", .help = "the loss to reach"},
    {AT(within), SHOAL_OPT_STR, "within", 0, "SHARE",
     .help = "or so near to the best loss that can be reached, such as 1%"},
    {AT(deadline), SHOAL_OPT_STR, "deadline", 0, "TIME",
     .help = "alone: the lowest loss by then; with a target: the cheapest that is done by then"},
    {AT(machines), SHOAL_OPT_STR, "machines", 'm', "LIST",
     .help = "machine counts to choose from, such as 1-64 or 1,2,4,8 [up to twice those measured]"},
    {AT(price), SHOAL_OPT_F64, "price", 0, "USD", "0",
     "of one machine for an hour; 0: costs are machine time", .max = 1e6},
    {AT(start_s), SHOAL_OPT_DURATION, "startup", 0, "TIME", "0s",
     "how long machines are paid for before training begins", .max = 1e7},
    {AT(change_s), SHOAL_OPT_DURATION, "switch-cost", 0, "TIME", "10s",
     "how long a change of algorithm or machines takes", .max = 1e7},
    {AT(size), SHOAL_OPT_STR, "size", 0, "N",
     .help = "of the data of the job, in the unit of the runs [the largest measured]"},
    {AT(best), SHOAL_OPT_STR, "best", 0, "LOSS",
     .help = "the lowest loss that can be reached, where that is known [estimated]"},
    {AT(plan), SHOAL_OPT_FLAG, "plan",
     .help = "say which runs are worth making within --budget; runs made so far may be given"},
    {AT(budget), SHOAL_OPT_F64, "budget", 0, "COST", "0",
     "for --plan: machine-seconds, or dollars with --price", .max = 1e12},
    {AT(data), SHOAL_OPT_STR, "data", 0, "FILE", NULL,
     "for --plan: what the runs trained on, to print 'shoal train' lines for new ones",
     .complete = "file"},
    {AT(save), SHOAL_OPT_STR, "save", 0, "FILE", NULL,
     "write the fitted models as job models for 'shoal sim --profiles'", .complete = "file"},
    {AT(seed), SHOAL_OPT_U64, "seed", 's', "N", "1",
     .help = "of the draws that say how sure it is"},
};

const shoal_opt *shoal_advise_opt_rows(size_t *out_count)
{
    *out_count = BASE_COUNT(rows);
    return rows;
}

void shoal_advise_opts_init(shoal_advise_opts *opts)
{
    base_opt_take(rows, BASE_COUNT(rows), NULL, opts, sizeof *opts);
}

/* ---- what is asked ---- */

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

static bool add_machines(struct advise_call *w, uint64_t from, uint64_t to)
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

static shoal_status parse_machines(struct advise_call *w, const char *text, shoal_err *err)
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
static shoal_status find_machines(struct advise_call *w, shoal_err *err)
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

static shoal_status find_question(struct advise_call *w, shoal_err *err)
{
    const shoal_advise_opts *v = w->v;
    struct advise_question *q = &w->question;
    shoal_status st = parse_number("target", v->target, &q->target, err);

    q->deadline_s = (double)INFINITY;
    q->usd_h = v->price;
    q->start_s = v->start_s;
    q->change_s = v->change_s;
    q->seed = v->seed;
    q->watch = w->watch;
    if (st == SHOAL_OK)
        st = parse_within(v->within, &w->within, err);
    if (st == SHOAL_OK && v->target != NULL && v->within != NULL)
        st = base_err(err, SHOAL_E_INVAL, "--target and --within say the same thing twice");
    if (st == SHOAL_OK && v->deadline != NULL &&
        (!base_parse_duration(v->deadline, &q->deadline_s) || !(q->deadline_s > q->start_s)))
        st = base_err(
            err, SHOAL_E_INVAL,
            "--deadline: expected a time such as 30m, longer than --startup, found '%.60s'",
            v->deadline);
    if (st == SHOAL_OK && v->target == NULL && v->within == NULL && v->deadline == NULL) {
        w->within = WITHIN_DEFAULT;
        w->within_default = true;
    }
    return st;
}

/* ---- what contradicts itself ---- */

/* The option of a question, if one was asked; a plan answers none. */
static const char *asked(const shoal_advise_opts *v)
{
    return v->target != NULL     ? "target"
           : v->within != NULL   ? "within"
           : v->deadline != NULL ? "deadline"
           : v->best != NULL     ? "best"
                                 : NULL;
}

/* What makes a choice of a call for a plan, and the other way round. */
static shoal_status check_plan(const shoal_advise_opts *v, shoal_err *err)
{
    if (!v->plan && v->run_count == 0)
        return base_err(err, SHOAL_E_INVAL, "no runs were given");
    if (v->plan && !(v->budget > 0))
        return base_err(
            err, SHOAL_E_INVAL,
            "--plan needs a --budget above 0: machine-seconds, or dollars with --price");
    if (v->plan && v->save != NULL)
        return base_err(err, SHOAL_E_INVAL, "--plan writes no --save");
    if (v->plan && asked(v) != NULL)
        return base_err(err, SHOAL_E_INVAL,
                        "--plan takes no --%s: it is about how long iterations take, to whatever "
                        "loss",
                        asked(v));
    if (!v->plan && (v->data != NULL || v->budget > 0))
        return base_err(err, SHOAL_E_INVAL, "--%s is for --plan",
                        v->data != NULL ? "data" : "budget");
    return SHOAL_OK;
}

static shoal_status check_call(const struct advise_call *w, shoal_err *err)
{
    const shoal_advise_opts *v = w->v;
    shoal_status st = check_plan(v, err);

    for (size_t i = 0; i < v->run_count && st == SHOAL_OK && v->save != NULL; i++)
        if (env_same(w->env, v->runs[i], v->save))
            st = base_err(err, SHOAL_E_INVAL, "cannot write '%s': it is also an input", v->save);
    if (st == SHOAL_OK && v->save != NULL && isnan(w->question.target) && isnan(w->within))
        st = base_err(err, SHOAL_E_INVAL,
                      "--save: a job model needs a goal; give --target or --within");
    return st;
}

/* ---- reading and fitting ---- */

static shoal_status stopped(const struct advise_call *w, shoal_err *err)
{
    return base_watch_stopped(w->watch) ? base_err(err, SHOAL_E_CANCELLED, "stopped") : SHOAL_OK;
}

static shoal_status read_runs(struct advise_call *w, shoal_err *err)
{
    shoal_status st = stopped(w, err);

    for (size_t i = 0; i < w->v->run_count && st == SHOAL_OK; i++) {
        st = advise_runs_read(&w->runs, w->env, w->v->runs[i], err);
        if (st == SHOAL_OK)
            st = stopped(w, err);
    }
    return st == SHOAL_OK && w->v->run_count > 0 ? advise_runs_finish(&w->runs, err) : st;
}

/* The loss that --within means, and how far off the estimate may be that it rests on. */
static shoal_status find_target(struct advise_call *w, shoal_err *err)
{
    const struct advise_fit *fit = w->fit;

    w->question.target = fit->best + w->within * fabs(fit->best);
    if (w->v->best == NULL) {
        const struct advise_algorithm *by = &fit->algorithms[fit->best_by];
        w->question.lower = fit->best - by->best_low;
        w->question.higher = by->best_high - fit->best;
    }
    if (w->question.target > fit->best)
        return SHOAL_OK;
    base_err(err, SHOAL_E_IMPOSSIBLE, "--within means nothing where the best loss is 0");
    base_err_hint(err, "name the loss with --target");
    return SHOAL_E_IMPOSSIBLE;
}

static shoal_status fit(struct advise_call *w, shoal_err *err)
{
    struct advise_fit_opts opts;
    shoal_status st = parse_number("size", w->v->size, &opts.size, err);

    if (st == SHOAL_OK)
        st = parse_number("best", w->v->best, &opts.best, err);
    if (st == SHOAL_OK && w->v->size != NULL && !(opts.size > 0))
        st = base_err(err, SHOAL_E_INVAL, "--size: expected a size above 0, found '%.60s'",
                      w->v->size);
    if (st == SHOAL_OK)
        st = advise_fit_new(env_alloc(w->env), &w->runs, &opts, &w->fit, err);
    if (st == SHOAL_OK && opts.best > w->fit->lowest)
        st = base_err(err, SHOAL_E_INVAL,
                      "--best: %.6g is above the lowest loss that was measured, %.6g", opts.best,
                      w->fit->lowest);
    if (st == SHOAL_OK && !w->v->plan)
        st = advise_fit_enough(w->fit, w->v->target == NULL && isnan(opts.best), err);
    return st != SHOAL_OK || isnan(w->within) || w->v->plan ? st : find_target(w, err);
}

/* ---- the answer ---- */

static double near_of(const struct advise_candidate *c, bool cheapest)
{
    return cheapest ? c->near_cheapest : c->near_fastest;
}

static void judge(struct advise_call *w, bool cheapest, struct advise_asked *out)
{
    const struct advise_choice *ch = &w->choice;

    *out = (struct advise_asked){.best = cheapest ? ch->cheapest : ch->fastest,
                                 .path = cheapest ? &ch->cheap : &ch->fast};
    if (out->best == UINT32_MAX)
        return;
    out->likeliest = out->best;
    for (uint32_t i = 0; i < ch->count; i++) {
        double near = near_of(&ch->candidates[i], cheapest);
        out->rivals += near >= RIVAL;
        if (near > near_of(&ch->candidates[out->likeliest], cheapest))
            out->likeliest = i;
    }
    out->near = near_of(&ch->candidates[out->best], cheapest);
    out->enough = ch->good == 1 || out->near >= advise_enough;
    out->has_next = advise_next(w->fit, &w->question, ch, cheapest, &out->next);
}

static shoal_status save(const struct advise_call *w, shoal_err *err)
{
    struct advise_saved models[ADVISE_ALGORITHMS_MAX];
    struct base_arena arena;
    size_t n = 0;
    shoal_status st = SHOAL_OK;

    if (w->v->save == NULL)
        return SHOAL_OK;
    base_arena_init(&arena, env_alloc(w->env), 1 << 14);
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
        st = advise_save(w->env, w->v->save, models, n, err);
    base_arena_fini(&arena);
    return st;
}

static shoal_status answer(struct advise_call *w, shoal_err *err)
{
    base_watch_begin(w->watch, "candidates", w->fit->algorithm_count * w->question.machine_count);
    shoal_status st = advise_choose(env_alloc(w->env), w->fit, &w->question, &w->choice, err);

    if (st != SHOAL_OK)
        return st;
    judge(w, false, &w->fast);
    judge(w, true, &w->cheap);
    st = save(w, err);
    if (st != SHOAL_OK)
        return st;
    advise_result_make(w);
    advise_words_say(w);
    if (w->v->pictures)
        advise_pictures_draw(w);
    return SHOAL_OK;
}

static shoal_status work(struct advise_call *w, const shoal_result **out_result, shoal_err *err)
{
    shoal_status st = find_question(w, err);

    if (st == SHOAL_OK)
        st = check_call(w, err);
    if (st == SHOAL_OK)
        st = read_runs(w, err);
    if (st == SHOAL_OK)
        st = find_machines(w, err);
    if (st == SHOAL_OK && w->runs.count > 0)
        st = fit(w, err);
    if (st == SHOAL_OK)
        st = w->v->plan ? advise_plan_run(w, err) : answer(w, err);
    if (st != SHOAL_OK)
        return st;
    struct page_made *made = w->made;
    w->made = NULL;
    return page_made_finish(made, out_result, err);
}

static bool in_range(const shoal_advise_opts *o)
{
    return o->price >= 0 && o->price <= 1e6 && o->start_s >= 0 && o->start_s <= 1e7 &&
           o->change_s >= 0 && o->change_s <= 1e7 && o->budget >= 0 && o->budget <= 1e12 &&
           (o->runs != NULL || o->run_count == 0);
}

shoal_status shoal_advise_run(shoal_env *env, const shoal_advise_opts *given, shoal_watch *watch,
                              const shoal_result **out_result, shoal_err *err)
{
    shoal_advise_opts opts;

    base_opt_take(rows, BASE_COUNT(rows), given, &opts, sizeof opts);
    if (env == NULL || out_result == NULL || !in_range(&opts))
        return base_err(err, SHOAL_E_INVAL,
                        "advice needs shoal_advise_opts_init, and numbers in their ranges");
    struct advise_call *w = base_calloc(env_alloc(env), 1, sizeof *w);
    if (w == NULL)
        return base_err_nomem(err, "giving advice");
    w->env = env;
    w->v = &opts;
    w->watch = watch;
    advise_runs_init(&w->runs, env_alloc(env));
    w->made = page_made_new(env_alloc(env));
    shoal_status st =
        w->made != NULL ? work(w, out_result, err) : base_err_nomem(err, "giving advice");
    advise_choice_fini(&w->choice);
    advise_fit_free(w->fit);
    advise_runs_fini(&w->runs);
    page_made_free(w->made);
    base_free(env_alloc(env), w);
    return st;
}
