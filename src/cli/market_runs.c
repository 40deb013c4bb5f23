/* market_runs.c - strategies with their knobs, the runs, and the bound that none of them can
 * beat. */
#include "cli/market_work.h"

#include "base/err.h"
#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include <math.h>
#include <string.h>

enum { BOUND_JOBS_MAX = 200 }; /* of larger fleets no bound is computed */

/* ---- which strategies ---- */

static shoal_status add_run(struct cli_market *w, const struct market_strategy *strategy,
                            shoal_err *err)
{
    if (w->run_count == CLI_MARKET_RUNS_MAX)
        return base_err(err, SHOAL_E_INVAL, "more than %d strategies at once", CLI_MARKET_RUNS_MAX);
    size_t i = w->run_count;
    w->knobs[i] = base_calloc(env_alloc(w->cx->env), 1, strategy->knobs_size + 1);
    if (w->knobs[i] == NULL)
        return base_err_nomem(err, "preparing strategies");
    base_opt_defaults(strategy->opts, strategy->opt_count, w->knobs[i]);
    snprintf(w->labels[i], sizeof w->labels[i], "%s", strategy->name);
    w->runs[i] = (struct market_run){.label = w->labels[i], .strategy = strategy};
    w->run_count++;
    return SHOAL_OK;
}

static shoal_status add_all(struct cli_market *w, shoal_err *err)
{
    size_t count;
    const struct market_strategy *const *all = market_strategies(&count);
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < count && st == SHOAL_OK; i++)
        st = add_run(w, all[i], err);
    return st;
}

/* "shoal:horizon=2d": the name, then knobs after colons. Cut in place. */
static shoal_status add_named(struct cli_market *w, char *text, shoal_err *err)
{
    char *knob = strchr(text, ':');

    if (knob != NULL)
        *knob++ = '\0';
    const struct market_strategy *strategy = market_strategy_find(text, err);
    if (strategy == NULL) {
        if (err->code != SHOAL_E_INVAL) /* an unknown name in an option is a mistake in the call */
            err->code = SHOAL_E_INVAL;
        return SHOAL_E_INVAL;
    }
    shoal_status st = add_run(w, strategy, err);
    while (st == SHOAL_OK && knob != NULL) {
        char *next = strchr(knob, ':'), what[80], *label = w->labels[w->run_count - 1];
        size_t used = strlen(label);
        if (next != NULL)
            *next++ = '\0';
        snprintf(what, sizeof what, "strategy '%s'", strategy->name);
        st = base_opt_assign(strategy->opts, strategy->opt_count, knob, what,
                             w->knobs[w->run_count - 1], err);
        snprintf(label + used, sizeof w->labels[0] - used, ":%s", knob);
        knob = next;
    }
    return st;
}

shoal_status cli_market_choose(struct cli_market *w, shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    base_buf_puts(&w->words, w->v->strategy);
    if (base_buf_status(&w->words) != SHOAL_OK)
        return base_err_nomem(err, "reading the strategies");
    for (char *at = w->words.data; at != NULL && st == SHOAL_OK;) {
        char *comma = strchr(at, ',');
        if (comma != NULL)
            *comma++ = '\0';
        st = strcmp(at, "all") == 0 ? add_all(w, err) : add_named(w, at, err);
        at = comma;
    }
    return st;
}

/* ---- running ---- */

/* Days of the history that work may take: what progress counts, for each run and bound. */
static uint64_t days_of(const struct cli_market *w)
{
    double to_s = w->start_s;

    for (size_t i = 0; i < w->job_count; i++)
        to_s = fmax(to_s, fmin(w->jobs[i].deadline_s, w->prices->to_s));
    return 1 + (uint64_t)((to_s - w->start_s) / 86400);
}

struct ticking {
    struct cli_market *w;
    uint64_t days, told;
};

static void tell(struct ticking *t, uint64_t days)
{
    if (days <= t->told)
        return;
    atomic_fetch_add_explicit(&t->w->done, days - t->told, memory_order_relaxed);
    t->told = days;
}

static void tick(void *ctx, double at_s)
{
    struct ticking *t = ctx;
    double days = fmax((at_s - t->w->start_s) / 86400, 0);

    tell(t, days < (double)t->days - 1 ? (uint64_t)days : t->days - 1);
}

static void run_one(void *ctx, size_t index)
{
    struct cli_market *w = ctx;
    const struct base_alloc *alloc = env_alloc(w->cx->env);
    const struct market_world world = {w->prices, w->avail, &w->costs, w->allowed};
    struct ticking t = {w, days_of(w), 0};
    uint64_t began = env_now_ns(w->cx->env);

    if (index >= w->run_count) {
        size_t job = index - w->run_count;
        struct market_bound_opts opts = {.cell_s = w->v->cell_s, .stop = cli_interrupt_flag()};
        w->status[index] =
            market_bound(alloc, &world, &w->jobs[job], &opts, &w->bounds[job], &w->errs[index]);
    } else {
        struct market_replay_opts opts = {.strategy = w->runs[index].strategy,
                                          .knobs = w->knobs[index],
                                          .step_s = w->v->step_s,
                                          .limits = w->limits,
                                          .limit_count = w->limit_count,
                                          .tick = tick,
                                          .ctx = &t,
                                          .stop = cli_interrupt_flag()};
        w->status[index] = market_replay(alloc, &world, w->jobs, w->job_count, &opts,
                                         &w->runs[index].result, &w->errs[index]);
    }
    tell(&t, t.days);
    w->took_s[index] = (double)(env_now_ns(w->cx->env) - began) * 1e-9;
}

/* ---- what it amounts to ---- */

/* Whether all that is allowed is of one cloud, and of one kind. */
static void find_common(const struct cli_market *w, struct market_story *s)
{
    const struct market_offer *first = NULL;

    s->one_cloud = s->one_kind = true;
    for (size_t o = 0; o < w->prices->offer_count; o++) {
        const struct market_offer *of = &w->prices->offers[o];
        if (!w->allowed[o])
            continue;
        first = first != NULL ? first : of;
        s->one_cloud = s->one_cloud && of->cloud == first->cloud;
        s->one_kind = s->one_kind && of->kind == first->kind;
    }
}

static void fill_story(struct cli_market *w)
{
    struct market_story *s = &w->story;

    *s = (struct market_story){
        .prices = w->prices,
        .avail = w->avail,
        .jobs = w->jobs,
        .job_count = w->job_count,
        .costs = &w->costs,
        .allowed = w->allowed,
        .runs = w->runs,
        .run_count = w->run_count,
        .fixed = SIZE_MAX,
        .bound_usd = w->bounds != NULL ? 0 : (double)NAN,
        .plan_usd = w->bounds != NULL ? 0 : (double)NAN,
        .unit = w->unit,
        .from_s = INFINITY,
        .step_s = w->v->step_s,
        .seed = w->v->seed,
        .title = w->title,
        .bare_left_out = w->bare_left_out,
    };
    find_common(w, s);
    for (size_t i = 0; i < w->run_count; i++)
        if (strcmp(w->runs[i].strategy->name, "static") == 0)
            s->fixed = i;
    for (size_t j = 0; j < w->job_count; j++) {
        s->from_s = fmin(s->from_s, w->jobs[j].start_s);
        if (w->bounds != NULL) {
            s->bound_usd += w->bounds[j].usd;
            s->plan_usd += w->bounds[j].plan_usd;
            if (isfinite(w->bounds[j].usd) && w->jobs[j].budget_usd < w->bounds[j].usd &&
                s->poor_count++ == 0) {
                s->poor = j;
                s->poor_usd = w->bounds[j].usd;
            }
        }
        for (size_t i = 0; i < w->run_count; i++) {
            const struct market_outcome *o = &w->runs[i].result.jobs[j];
            if (o->stay_count > 0)
                s->to_s = fmax(s->to_s, o->stays[o->stay_count - 1].to_s);
        }
    }
    s->to_s = fmax(s->to_s, s->from_s + 1);
}

/* Somebody pressed Ctrl-C: what was done by then. */
static shoal_status stopped(const struct cli_market *w, shoal_err *err)
{
    char done[256] = "", usd[32];

    for (size_t i = 0; i < w->run_count; i++) {
        size_t used = strlen(done);
        if (w->status[i] == SHOAL_OK)
            snprintf(done + used, sizeof done - used, "%s%s %s", used == 0 ? "" : ", ",
                     w->runs[i].label, cli_market_usd(w->runs[i].result.usd, usd, sizeof usd));
    }
    if (done[0] == '\0')
        return base_err(err, SHOAL_E_CANCELLED, "stopped before any strategy was replayed");
    return base_err(err, SHOAL_E_CANCELLED, "stopped; replayed by then: %s", done);
}

shoal_status cli_market_run(struct cli_market *w, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(w->cx->env);
    bool bound = !w->v->no_bound && w->job_count <= BOUND_JOBS_MAX;
    size_t count = w->run_count + (bound ? w->job_count : 0);

    w->status = base_calloc(alloc, count, sizeof *w->status);
    w->errs = base_calloc(alloc, count, sizeof *w->errs);
    w->took_s = base_calloc(alloc, count, sizeof *w->took_s);
    if (bound)
        w->bounds = base_calloc(alloc, w->job_count, sizeof *w->bounds);
    if (w->status == NULL || w->errs == NULL || w->took_s == NULL || (bound && w->bounds == NULL))
        return base_err_nomem(err, "buying");
    for (size_t i = 0; i < count; i++)
        w->errs[i] = (shoal_err)SHOAL_ERR_INIT;
    struct cli_progress *progress =
        cli_progress_start(w->cx, "market days", &w->done, (uint64_t)count * days_of(w));
    shoal_status st = env_parallel(w->cx->env, count, (uint32_t)w->v->threads, run_one, w, err);
    cli_progress_stop(progress);
    for (size_t i = 0; i < count && st == SHOAL_OK; i++) {
        base_log(&w->cx->log, BASE_LOG_DEBUG, "%s took %.3f s",
                 i < w->run_count ? w->runs[i].label : "the bound", w->took_s[i]);
        if (w->status[i] != SHOAL_OK) {
            st = w->status[i];
            *err = w->errs[i];
        }
    }
    if (st == SHOAL_E_CANCELLED)
        return stopped(w, err);
    if (st == SHOAL_OK)
        fill_story(w);
    if (st == SHOAL_OK && !w->v->no_bound && !bound)
        base_log(&w->cx->log, BASE_LOG_INFO, "no bound: it is computed for fleets of up to %d jobs",
                 BOUND_JOBS_MAX);
    return st;
}
