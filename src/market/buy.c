/* buy.c - the market as a library function (shoal/market.h): the options as rows, strategies with their knobs, their
 * runs beside the bound that none of them can beat, what that amounts to, and the order of things.
 * Tests: tests/unit/market/test_buy.c. */
#include "market/buy.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/opt.h"
#include "page/show.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL_LEAST_S = 60, BOUND_JOBS_MAX = 200 /* of larger fleets no bound is computed */ };

/* ---- options ---- */

#define AT(member) offsetof(shoal_market_opts, member)

static const shoal_opt rows[] = {
    {AT(kinds), SHOAL_OPT_STR, "kinds", 'k', "LIST",
     .help =
         "kinds of instances or accelerators to choose from, with commas; '*' stands for anything"},
    {AT(speed), SHOAL_OPT_STR, "speed", 0, "KIND=STEPS_PER_S,...",
     .help =
         "how fast an instance of each kind (or one accelerator) does the work; ratios are enough"},
    {AT(model), SHOAL_OPT_STR, "model", 0, "FILE.csv", NULL,
     "the same from a file: instance,steps_per_s, and model where there are several",
     .complete = "file"},
    {AT(model_name), SHOAL_OPT_STR, "model-name", 0, "NAME",
     .help = "which of the models of the file"},
    {AT(work), SHOAL_OPT_STR, "work", 0, "AMOUNT",
     .help = "steps, or a time such as 720h on the first kind named, or 720h@KIND [30d, or half of "
             "the history]"},
    {AT(start), SHOAL_OPT_STR, "start", 0, "DATE",
     .help = "when it begins, such as 2025-03-01 [the day after the history begins]"},
    {AT(deadline), SHOAL_OPT_STR, "deadline", 0, "WHEN",
     .help = "a date, a time after the start such as 40d, or none; kept by going on demand in time "
             "[half as long again as the work takes]"},
    {AT(budget), SHOAL_OPT_F64, "budget", 0, "USD", NULL, "stop when so much is spent", .min = 0.01,
     .max = 1e12},
    {AT(instances), SHOAL_OPT_U64, "instances", 'n', "N", "1",
     "instances used at once, all in one place; N are N times as fast", .min = 1,
     .max = MARKET_INSTANCES_MAX},
    {AT(jobs), SHOAL_OPT_STR, "fleet", 0, "FILE.csv", NULL,
     "many jobs in place of one: job,work and start, deadline, budget, instances, model, speeds, "
     "checkpoint",
     .complete = "file"},
    {AT(limits), SHOAL_OPT_LIST, "limit", 0, "WHERE=N",
     .help = "instances a fleet may hold at once of a kind, zone, region or cloud, or of several: "
             "p3.2xlarge@us-east-1=8"},
    {AT(clouds), SHOAL_OPT_STR, "clouds", 0, "NAMES", .help = "clouds to choose from"},
    {AT(regions), SHOAL_OPT_STR, "regions", 0, "NAMES", .help = "regions to choose from"},
    {AT(zones), SHOAL_OPT_STR, "zones", 0, "NAMES", .help = "zones to choose from"},
    {AT(bare), SHOAL_OPT_FLAG, "bare",
     .help = "also offers whose price is that of accelerators without their host"},
    {AT(availability), SHOAL_OPT_STR, "availability", 0, "PATH", NULL,
     "traces of what could be had in these zones, and when; without them and --interruptions all "
     "is there all the time",
     .complete = "file"},
    {AT(availability_cut), SHOAL_OPT_FLAG, "availability-cut",
     .help = "the traces are of other zones or years: each offer gets a piece of one, by the seed"},
    {AT(interruptions), SHOAL_OPT_STR, "interruptions", 0, "UP/DOWN",
     .help = "draw them in place of traces: mean times up and down, such as 8h/30m"},
    {AT(startup_s), SHOAL_OPT_DURATION, "startup", 0, "TIME", "3m",
     "from asking for an instance to its first step, paid for", .max = 1e6},
    {AT(checkpoint_size), SHOAL_OPT_SIZE, "checkpoint-size", 0, "SIZE", "2G",
     .help = "what has to move with the work"},
    {AT(checkpoint_s), SHOAL_OPT_DURATION, "checkpoint-time", 0, "TIME", "30s",
     "to write one; no steps meanwhile", .max = 1e6},
    {AT(checkpoint_every_s), SHOAL_OPT_DURATION, "checkpoint-every", 0, "TIME", "10m",
     "between two; an interruption without notice loses what came after the last", .min = 1,
     .max = 1e9},
    {AT(notice_s), SHOAL_OPT_DURATION, "notice", 0, "TIME", "2m",
     "told so long before an interruption; a checkpoint that takes no longer is written",
     .max = 1e6},
    {AT(transfer), SHOAL_OPT_STR, "transfer", 0, "GB/S,GB/S,GB/S", "1,0.25,0.1",
     .help = "how fast a checkpoint gets to another zone, region, cloud"},
    {AT(egress), SHOAL_OPT_STR, "egress", 0, "USD,USD,USD", "0.01,0.02,0.09",
     .help = "price of a GB to another zone, region, cloud"},
    {AT(strategy), SHOAL_OPT_STR, "strategy", 0, "NAMES", "all",
     "strategies to compare, with commas, the first is the one the answer is about; knobs after "
     "colons; see 'shoal strategy list'",
     .complete = "all shoal uniform periodic static"},
    {AT(step_s), SHOAL_OPT_DURATION, "step", 0, "TIME", "15m",
     "time between two looks at the market", .min = 60, .max = 1e7},
    {AT(no_bound), SHOAL_OPT_FLAG, "no-bound",
     .help = "do not prove what no plan can beat, which takes the most time of all"},
    {AT(cell_s), SHOAL_OPT_DURATION, "bound-cell", 0, "TIME", "0s",
     "changes of a price closer together than this are seen as one by the bound: faster, lower; at "
     "least a minute, or 0: exact",
     .max = 1e6},
    {AT(format), SHOAL_OPT_CHOICE, "format", 'f', "FORMAT", "auto", "format of the prices",
     .choices = market_format_names},
    {AT(rates), SHOAL_OPT_LIST, "exchange", 0, "CURRENCY=USD",
     .help = "what a unit of a currency in the prices is worth, such as EUR=1.08"},
    {AT(seed), SHOAL_OPT_U64, "seed", 's', "N", "1",
     .help = "seed of what is drawn: pieces of traces, interruptions"},
    {AT(threads), SHOAL_OPT_U64, "threads", 't', "N", "0",
     "strategies run at the same time; 0: one per core", .max = 1024},
    {AT(moves), SHOAL_OPT_FLAG, "moves",
     .help = "tell where the first strategy was, from when to when, why it left and what it paid"},
};

const shoal_opt *shoal_market_opt_rows(size_t *out_count)
{
    *out_count = BASE_COUNT(rows);
    return rows;
}

void shoal_market_opts_init(shoal_market_opts *opts)
{
    base_opt_take(rows, BASE_COUNT(rows), NULL, opts, sizeof *opts);
}

/* ---- which strategies ---- */

static shoal_status add_run(struct market_buy *w, const struct market_strategy *strategy,
                            shoal_err *err)
{
    if (w->run_count == MARKET_BUY_RUNS_MAX)
        return base_err(err, SHOAL_E_INVAL, "more than %d strategies at once", MARKET_BUY_RUNS_MAX);
    struct market_run *run = &w->runs[w->run_count];
    run->strategy = strategy;
    run->knobs = base_calloc(env_alloc(w->env), 1, strategy->knobs_size + 1);
    if (run->knobs == NULL)
        return base_err_nomem(err, "preparing strategies");
    base_opt_defaults(strategy->opts, strategy->opt_count, run->knobs);
    snprintf(run->label, sizeof run->label, "%s", strategy->name);
    w->run_count++;
    return SHOAL_OK;
}

static shoal_status add_all(struct market_buy *w, shoal_err *err)
{
    size_t count;
    const struct market_strategy *const *all = market_strategies(&count);
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < count && st == SHOAL_OK; i++)
        st = add_run(w, all[i], err);
    return st;
}

/* "shoal:horizon=2d": the name, then knobs after colons. Cut in place. */
static shoal_status add_named(struct market_buy *w, char *text, shoal_err *err)
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
    struct market_run *run = &w->runs[w->run_count]; /* where it is added */
    shoal_status st = add_run(w, strategy, err);
    while (st == SHOAL_OK && knob != NULL) {
        char *next = strchr(knob, ':'), what[80];
        size_t used = strlen(run->label);
        if (next != NULL)
            *next++ = '\0';
        snprintf(what, sizeof what, "strategy '%s'", strategy->name);
        st = base_opt_assign(strategy->opts, strategy->opt_count, knob, what, run->knobs, err);
        snprintf(run->label + used, sizeof run->label - used, ":%s", knob);
        knob = next;
    }
    return st;
}

static shoal_status choose_strategies(struct market_buy *w, shoal_err *err)
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
static uint64_t days_of(const struct market_buy *w)
{
    double to_s = w->start_s;

    for (size_t i = 0; i < w->job_count; i++)
        to_s = fmax(to_s, fmin(w->jobs[i].deadline_s, w->prices->to_s));
    return 1 + (uint64_t)((to_s - w->start_s) / 86400);
}

struct ticking {
    struct market_buy *w;
    uint64_t days, told;
};

static void tell(struct ticking *t, uint64_t days)
{
    atomic_uint_fast64_t *done = base_watch_done(t->w->watch);

    if (days <= t->told || done == NULL)
        return;
    atomic_fetch_add_explicit(done, days - t->told, memory_order_relaxed);
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
    struct market_buy *w = ctx;
    const struct base_alloc *alloc = env_alloc(w->env);
    const struct market_world world = {w->prices, w->avail, &w->costs, w->allowed};
    struct ticking t = {w, days_of(w), 0};
    uint64_t began = env_now_ns(w->env);

    if (index >= w->run_count) {
        size_t job = index - w->run_count;
        struct market_bound_opts opts = {.cell_s = w->v->cell_s, .stop = base_watch_flag(w->watch)};
        w->status[index] =
            market_bound(alloc, &world, &w->jobs[job], &opts, &w->bounds[job], &w->errs[index]);
    } else {
        struct market_replay_opts opts = {.strategy = w->runs[index].strategy,
                                          .knobs = w->runs[index].knobs,
                                          .step_s = w->v->step_s,
                                          .limits = w->limits,
                                          .limit_count = w->limit_count,
                                          .tick = tick,
                                          .ctx = &t,
                                          .stop = base_watch_flag(w->watch)};
        w->status[index] = market_replay(alloc, &world, w->jobs, w->job_count, &opts,
                                         &w->runs[index].result, &w->errs[index]);
    }
    tell(&t, t.days);
    w->took_s[index] = (double)(env_now_ns(w->env) - began) * 1e-9;
}

/* Somebody pressed Ctrl-C: what was done by then. */
static shoal_status stopped(const struct market_buy *w, shoal_err *err)
{
    char done[256] = "", usd[32];

    for (size_t i = 0; i < w->run_count; i++) {
        size_t used = strlen(done);
        if (w->status[i] == SHOAL_OK)
            snprintf(done + used, sizeof done - used, "%s%s %s", used == 0 ? "" : ", ",
                     w->runs[i].label,
                     page_unit_text(SHOAL_UNIT_USD, w->runs[i].result.usd, usd, sizeof usd));
    }
    if (done[0] == '\0')
        return base_err(err, SHOAL_E_CANCELLED, "stopped before any strategy was replayed");
    return base_err(err, SHOAL_E_CANCELLED, "stopped; replayed by then: %s", done);
}

static shoal_status run_all(struct market_buy *w, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(w->env);
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
    base_watch_begin(w->watch, "market days", (uint64_t)count * days_of(w));
    shoal_status st = env_parallel(w->env, count, (uint32_t)w->v->threads, run_one, w, err);
    for (size_t i = 0; i < count && st == SHOAL_OK; i++) {
        if (w->status[i] != SHOAL_OK) {
            st = w->status[i];
            *err = w->errs[i];
        }
    }
    if (st == SHOAL_E_CANCELLED)
        return stopped(w, err);
    if (st == SHOAL_OK && !w->v->no_bound && !bound)
        page_info(w->made, "no bound: it is computed for fleets of up to %d jobs", BOUND_JOBS_MAX);
    return st;
}

/* ---- what it amounts to ---- */

uint32_t market_buy_first(const struct market_run *run)
{
    for (size_t i = 0; i < run->result.job_count; i++)
        if (run->result.jobs[i].stay_count > 0)
            return run->result.jobs[i].stays[0].offer;
    return MARKET_NONE;
}

double market_buy_unit_price(const struct market_buy *w, size_t job, uint32_t offer, double usd_h)
{
    const struct market_job *j = &w->jobs[job];
    double speed = j->speed[w->prices->offers[offer].kind];
    double unit = w->unit != MARKET_NONE ? j->speed[w->unit] : 0;

    if (!(speed > 0))
        return (double)NAN;
    return usd_h * (unit > 0 ? unit / speed : 1) * j->instances;
}

const char *market_buy_place(const struct market_buy *w, uint32_t offer)
{
    const struct market_prices *p = w->prices;
    const struct market_offer *of = &p->offers[offer];
    const char *cloud = w->one_cloud ? "" : market_names_get(&p->clouds, of->cloud);
    const char *kind = w->one_kind ? "" : market_names_get(&p->kinds, of->kind);

    if (w->places != NULL && w->places[offer] == NULL)
        w->places[offer] =
            page_made_text(w->made, "%s%s%s%s%s%s", cloud, *cloud != '\0' ? " " : "",
                           market_names_get(&p->zones, of->zone), *kind != '\0' ? " " : "", kind,
                           of->how == MARKET_ON_DEMAND ? " on demand" : "");
    return w->places != NULL ? w->places[offer] : "";
}

static struct market_sums sum_up(const struct market_result *r)
{
    struct market_sums sums = {.finish_s = -INFINITY};
    double made = 0, lost = 0;

    for (size_t i = 0; i < r->job_count; i++) {
        const struct market_outcome *o = &r->jobs[i];
        sums.usd += o->usd;
        sums.finish_s = isnan(o->finish_s) || isnan(sums.finish_s)
                            ? (double)NAN
                            : fmax(sums.finish_s, o->finish_s);
        sums.run_s += o->spot_s + o->on_demand_s;
        sums.on_demand_s += o->on_demand_s;
        sums.starting_s += o->starting_s;
        sums.idle_s += o->idle_s;
        sums.egress_usd += o->egress_usd;
        sums.finished += isnan(o->finish_s) ? 0 : 1;
        made += o->steps + o->lost_steps;
        lost += o->lost_steps;
    }
    sums.lost_share = made > 0 ? lost / made : 0;
    return sums;
}

/* Whether all that is allowed is of one cloud, and of one kind. */
static void find_common(struct market_buy *w)
{
    const struct market_offer *first = NULL;

    w->one_cloud = w->one_kind = true;
    for (size_t o = 0; o < w->prices->offer_count; o++) {
        const struct market_offer *of = &w->prices->offers[o];
        if (!w->allowed[o])
            continue;
        first = first != NULL ? first : of;
        w->one_cloud = w->one_cloud && of->cloud == first->cloud;
        w->one_kind = w->one_kind && of->kind == first->kind;
    }
}

/* The bounds of all jobs together, and the jobs whose budget is below theirs. */
static void sum_up_bounds(struct market_buy *w)
{
    w->bound_usd = w->plan_usd = w->bounds != NULL ? 0 : (double)NAN;
    for (size_t j = 0; w->bounds != NULL && j < w->job_count; j++) {
        w->bound_usd += w->bounds[j].usd;
        w->plan_usd += w->bounds[j].plan_usd;
        if (isfinite(w->bounds[j].usd) && w->jobs[j].budget_usd < w->bounds[j].usd &&
            w->poor_count++ == 0)
            w->poor = j;
    }
}

static void sum_up_runs(struct market_buy *w)
{
    w->fixed = SIZE_MAX;
    w->from_s = INFINITY;
    for (size_t j = 0; j < w->job_count; j++)
        w->from_s = fmin(w->from_s, w->jobs[j].start_s);
    w->to_s = w->from_s + 1;
    for (size_t i = 0; i < w->run_count; i++) {
        w->runs[i].sums = sum_up(&w->runs[i].result);
        if (strcmp(w->runs[i].strategy->name, "static") == 0)
            w->fixed = i;
        for (size_t j = 0; j < w->job_count; j++) {
            const struct market_outcome *o = &w->runs[i].result.jobs[j];
            if (o->stay_count > 0)
                w->to_s = fmax(w->to_s, o->stays[o->stay_count - 1].to_s);
        }
    }
    for (size_t i = 0; i < w->run_count; i++) {
        const struct market_sums *run = &w->runs[i].sums;
        const struct market_sums *fixed = w->fixed != SIZE_MAX ? &w->runs[w->fixed].sums : NULL;
        bool done = fixed != NULL && run->finished == w->job_count &&
                    fixed->finished == w->job_count && run->usd > 0 && fixed->usd > 0;
        w->runs[i].times = done ? fixed->usd / run->usd : (double)NAN;
    }
}

/* ---- all of it ---- */

/* What can be said before anything is read. */
static shoal_status check_call(const shoal_market_opts *o, shoal_err *err)
{
    if (o->cell_s > 0 && o->cell_s < CELL_LEAST_S)
        return base_err(err, SHOAL_E_INVAL, "--bound-cell: expected 0 or at least a minute");
    if (o->jobs != NULL && o->work != NULL)
        return base_err(err, SHOAL_E_INVAL,
                        "the work comes from --work or from the jobs of --fleet, not from both");
    return SHOAL_OK;
}

static void buy_free(struct market_buy *w)
{
    if (w == NULL)
        return;
    const struct base_alloc *alloc = env_alloc(w->env);
    for (size_t i = 0; i < w->run_count; i++) {
        if (!w->kept)
            market_result_fini(&w->runs[i].result);
        base_free(alloc, w->runs[i].knobs);
    }
    for (size_t i = 0; w->bounds != NULL && i < w->job_count; i++)
        market_bound_fini(&w->bounds[i]);
    base_free(alloc, w->bounds);
    base_free(alloc, w->status);
    base_free(alloc, w->errs);
    base_free(alloc, w->jobs);
    base_free(alloc, w->speed);
    base_free(alloc, w->allowed);
    base_free(alloc, w->kind_allowed);
    base_free(alloc, w->took_s);
    market_avail_free(w->avail);
    market_prices_free(w->prices);
    market_speeds_fini(&w->speeds);
    market_jobs_fini(&w->fleet);
    base_buf_fini(&w->words);
    page_made_free(w->made);
    base_free(alloc, w);
}

static shoal_status work(struct market_buy *w, const shoal_result **out_result, shoal_err *err)
{
    shoal_status st = choose_strategies(w, err);

    if (st == SHOAL_OK)
        st = market_buy_prices(w, err);
    if (st == SHOAL_OK)
        st = market_buy_setup(w, err);
    if (st == SHOAL_OK)
        st = run_all(w, err);
    if (st != SHOAL_OK)
        return st;
    find_common(w);
    sum_up_runs(w);
    sum_up_bounds(w);
    w->places = page_made_alloc(w->made, w->prices->offer_count, sizeof *w->places);
    market_buy_say(w);
    market_buy_fill(w);
    if (w->v->pictures)
        market_buy_draw(w);
    struct page_made *made = w->made;
    w->made = NULL;
    return page_made_finish(made, out_result, err);
}

shoal_status shoal_market_run(shoal_env *env, const shoal_market_opts *given, shoal_watch *watch,
                              const shoal_result **out_result, shoal_err *err)
{
    shoal_market_opts opts;
    shoal_err own = SHOAL_ERR_INIT;

    base_opt_take(rows, BASE_COUNT(rows), given, &opts, sizeof opts);
    err = err != NULL ? err : &own;
    if (env == NULL || out_result == NULL || opts.price_count == 0 || opts.prices == NULL ||
        opts.strategy == NULL || opts.transfer == NULL || opts.egress == NULL ||
        !(opts.step_s > 0) || opts.instances == 0 || opts.instances > MARKET_INSTANCES_MAX)
        return base_err(err, SHOAL_E_INVAL,
                        "buying needs shoal_market_opts_init and a history of prices");
    shoal_status st = check_call(&opts, err);
    if (st != SHOAL_OK)
        return st;
    struct market_buy *w = base_calloc(env_alloc(env), 1, sizeof *w);
    if (w == NULL)
        return base_err_nomem(err, "starting");
    w->env = env;
    w->v = &opts;
    w->watch = watch;
    market_speeds_init(&w->speeds, env_alloc(env));
    base_buf_init(&w->words, env_alloc(env), 1 << 16);
    w->made = page_made_new(env_alloc(env));
    st = w->made != NULL ? work(w, out_result, err) : base_err_nomem(err, "starting");
    buy_free(w);
    return st;
}
