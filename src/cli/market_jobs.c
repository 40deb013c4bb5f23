/* market_jobs.c - the jobs of `shoal market`: how fast each kind of instance does them, how much
 * there is to do, and whether it can be done at all. */
#include "cli/market_work.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "market/date.h"
#include "market/when.h"
#include <math.h>
#include <string.h>
#include <strings.h>

#define WORK_DEFAULT_S (30 * 86400.0)
#define DEADLINE_TIMES 1.5 /* as long as the work takes on the unit kind, where nothing is said */

static const char *kind_name(const struct cli_market *w, uint32_t kind)
{
    return market_names_get(&w->prices->kinds, kind);
}

/* ---- speeds ---- */

/* Nobody said any: as many steps as accelerators. Kinds whose accelerators are not known cannot be
 * compared and are left out; where none is known all kinds count the same. */
static shoal_status equal_speeds(struct cli_market *w, double *by_kind, shoal_err *err)
{
    size_t count = w->prices->kinds.map.count, known = 0, kinds = 0;
    uint32_t *which = base_calloc(env_alloc(w->cx->env), count + 1, sizeof *which);
    uint32_t first = MARKET_NONE;

    if (which == NULL)
        return base_err_nomem(err, "preparing jobs");
    w->speeds_said = CLI_MARKET_PER_ACCELERATOR;
    market_accelerators(w->prices, by_kind, which);
    for (uint32_t k = 0; k < count; k++) {
        by_kind[k] = w->kind_allowed[k] ? by_kind[k] : 0;
        kinds += w->kind_allowed[k];
        if (!(by_kind[k] > 0))
            continue;
        if (known++ > 0 && which[k] != first)
            w->speeds_said = CLI_MARKET_PER_ANY_ACCELERATOR;
        first = which[k];
    }
    base_free(env_alloc(w->cx->env), which);
    w->kinds_left_out = known > 0 ? kinds - known : 0;
    if (known == 0)
        w->speeds_said = CLI_MARKET_PER_INSTANCE;
    if (kinds == 1) /* nothing to compare */
        w->speeds_said = CLI_MARKET_SAID;
    for (uint32_t k = 0; k < count && known == 0; k++)
        by_kind[k] = w->kind_allowed[k] ? 1 : 0;
    return SHOAL_OK;
}

static shoal_status only_model(const struct cli_market *w, const char **out, shoal_err *err)
{
    const struct market_speeds *s = &w->speeds;

    *out = w->v->model_name != NULL ? w->v->model_name : s->count > 0 ? s->rules[0].model : "";
    if (w->v->model_name != NULL && !market_speeds_has(s, *out))
        return base_err(err, SHOAL_E_NOTFOUND, "--model-name: '%.150s' has no model '%.60s'",
                        w->v->model != NULL ? w->v->model : "--speed", *out);
    for (size_t i = 0; i < s->count && w->v->model_name == NULL && !w->has_fleet; i++)
        if (strcmp(s->rules[i].model, *out) != 0)
            return base_err(err, SHOAL_E_INVAL,
                            "'%.150s' has several models; choose one with --model-name, such as "
                            "'%s'",
                            w->v->model, *out);
    return SHOAL_OK;
}

static shoal_status load_speeds(struct cli_market *w, shoal_err *err)
{
    if (w->v->speed != NULL && w->v->model != NULL)
        return base_err(err, SHOAL_E_INVAL, "speeds come from --speed or --model, not from both");
    if (w->v->speed != NULL)
        return market_speeds_parse(&w->speeds, "", w->v->speed, strlen(w->v->speed), "--speed",
                                   err);
    if (w->v->model != NULL)
        return market_speeds_load(w->cx->env, w->v->model, &w->speeds, err);
    return SHOAL_OK;
}

/* Speeds of one job: its own, of its model, or those of all. */
static shoal_status job_speeds(struct cli_market *w, const struct market_jobs_row *row,
                               double *by_kind, shoal_err *err)
{
    const char *model = row != NULL ? row->model : NULL;
    shoal_status st = SHOAL_OK;

    if (row != NULL && row->speeds != NULL) {
        struct market_speeds own;
        char what[200];
        snprintf(what, sizeof what, "job '%.100s', speeds", row->name);
        market_speeds_init(&own, env_alloc(w->cx->env));
        st = market_speeds_parse(&own, "", row->speeds, strlen(row->speeds), what, err);
        if (st == SHOAL_OK)
            st = market_speeds_apply(&own, "", w->prices, by_kind, err);
        market_speeds_fini(&own);
        return st;
    }
    if (model == NULL)
        st = only_model(w, &model, err);
    else if (!market_speeds_has(&w->speeds, model))
        return base_err(err, SHOAL_E_NOTFOUND,
                        "job '%.100s' is of model '%.60s', whose speeds are not there; give them "
                        "with --model",
                        row->name, model);
    if (st == SHOAL_OK && w->speeds.count == 0)
        st = equal_speeds(w, by_kind, err);
    else if (st == SHOAL_OK)
        st = market_speeds_apply(&w->speeds, model, w->prices, by_kind, err);
    return st;
}

/* The kind that a time of work means: the first that was named, or else the fastest. */
static uint32_t find_unit(const struct cli_market *w, const char *named, const double *by_kind)
{
    const char *lists[] = {named, w->v->kinds, w->v->speed};
    uint32_t best = MARKET_NONE;

    for (size_t i = 0; i < BASE_COUNT(lists); i++) {
        const char *at = lists[i];
        char word[MARKET_NAME_MAX + 1];
        while (at != NULL && cli_market_word(&at, word, sizeof word)) {
            word[strcspn(word, "=")] = '\0';
            for (uint32_t k = 0; k < w->prices->kinds.map.count; k++)
                if (by_kind[k] > 0 && strcasecmp(kind_name(w, k), word) == 0)
                    return k;
        }
    }
    for (uint32_t k = 0; k < w->prices->kinds.map.count; k++)
        if (by_kind[k] > 0 && w->kind_allowed[k] &&
            (best == MARKET_NONE || by_kind[k] > by_kind[best]))
            best = k;
    return best;
}

/* ---- jobs ---- */

static shoal_status job_work(const struct cli_market *w, const struct market_work *work,
                             const char *name, const double *by_kind, uint32_t instances,
                             double *out, shoal_err *err)
{
    uint32_t kind = w->unit;

    if (!isnan(work->steps)) {
        *out = work->steps;
        return SHOAL_OK;
    }
    if (work->kind != NULL) {
        kind = MARKET_NONE;
        for (uint32_t k = 0; k < w->prices->kinds.map.count && kind == MARKET_NONE; k++)
            if (strcasecmp(kind_name(w, k), work->kind) == 0)
                kind = k;
        if (kind == MARKET_NONE) {
            const char *near = market_nearest(&w->prices->kinds, work->kind);
            base_err(err, SHOAL_E_NOTFOUND, "job '%.60s': no prices of a kind '%.60s'", name,
                     work->kind);
            if (near != NULL)
                base_err_hint(err, "did you mean '%s'?", near);
            return SHOAL_E_NOTFOUND;
        }
    }
    if (kind == MARKET_NONE || !(by_kind[kind] > 0))
        return base_err(err, SHOAL_E_INVAL,
                        "job '%.60s': its work is a time on '%.60s', whose speed is not known; "
                        "write TIME@KIND with a kind that has one",
                        name, kind == MARKET_NONE ? "?" : kind_name(w, kind));
    *out = work->seconds * by_kind[kind] * instances;
    return SHOAL_OK;
}

static shoal_status parse_start(struct cli_market *w, shoal_err *err)
{
    const struct market_prices *p = w->prices;
    char from[32], to[32];

    /* The day after the history begins: by then most offers have told their first price. */
    w->start_s = fmin((floor(p->from_s / 86400) + 1) * 86400, (p->from_s + p->to_s) / 2);
    if (w->v->start != NULL && !market_when_parse(w->v->start, strlen(w->v->start), &w->start_s))
        return base_err(err, SHOAL_E_INVAL,
                        "--start: expected a date such as 2025-03-01 or 2025-03-01T12:00, found "
                        "'%.60s'",
                        w->v->start);
    if (w->start_s >= p->from_s && w->start_s < p->to_s)
        return SHOAL_OK;
    return base_err(err, SHOAL_E_INVAL, "--start: prices are from %s to %s",
                    market_date_format(p->from_s, MARKET_DATE_MINUTE, from, sizeof from),
                    market_date_format(p->to_s, MARKET_DATE_MINUTE, to, sizeof to));
}

static double after(struct market_time when, double start_s, double otherwise)
{
    return !isnan(when.at_s) ? when.at_s : !isnan(when.in_s) ? start_s + when.in_s : otherwise;
}

/* The end on instances of one speed that are never interrupted. */
static double end_at(const struct cli_market *w, const struct market_job *job, double speed)
{
    const struct market_costs *c = &w->costs;
    double run_s = job->work / speed;
    double written = c->checkpoint_every_s > 0 ? ceil(run_s / c->checkpoint_every_s) - 1 : 0;

    return job->start_s + c->startup_s + run_s + fmax(written, 0) * c->checkpoint_s;
}

/* The soonest end on one offer. */
static double soonest(const struct cli_market *w, const struct market_job *job, bool on_demand)
{
    double fastest = 0;

    for (size_t o = 0; o < w->prices->offer_count; o++)
        if (w->allowed[o] && (!on_demand || w->prices->offers[o].how == MARKET_ON_DEMAND))
            fastest = fmax(fastest, job->speed[w->prices->offers[o].kind]);
    return end_at(w, job, fastest);
}

/* Where nothing is said: half as long again as on the unit kind, if the history goes on so long. */
static double default_deadline(struct cli_market *w, const struct market_job *job)
{
    double speed = w->unit != MARKET_NONE ? job->speed[w->unit] : 0;

    if (!(speed > 0))
        return INFINITY;
    w->deadline_default = true;
    return fmin(job->start_s + DEADLINE_TIMES * (end_at(w, job, speed) - job->start_s),
                fmax(w->prices->to_s, soonest(w, job, false)));
}

/* Whether it can be done at all: in the time of the history, and by its deadline. */
static shoal_status check_job(const struct cli_market *w, const struct market_job *job,
                              shoal_err *err)
{
    double at_best_s = soonest(w, job, false), sure_s = soonest(w, job, true);
    char text[2][40];

    market_date_format(at_best_s, MARKET_DATE_MINUTE, text[0], sizeof text[0]);
    if (isinf(at_best_s)) {
        base_err(err, SHOAL_E_NOTFOUND, "job '%.60s': no offer here is of a kind with a speed",
                 job->name);
        base_err_hint(err, "give it with --speed, or allow more with --kinds");
        return SHOAL_E_NOTFOUND;
    }
    if (at_best_s > job->deadline_s) {
        base_err(err, SHOAL_E_IMPOSSIBLE,
                 "job '%.60s': its deadline cannot be met, not even on demand: the earliest it "
                 "can be done is %s",
                 job->name, text[0]);
        base_err_hint(err, "a later --deadline, or faster instances");
        return SHOAL_E_IMPOSSIBLE;
    }
    if (at_best_s > w->prices->to_s) {
        base_err(err, SHOAL_E_IMPOSSIBLE,
                 "job '%.60s': prices end on %s, before the earliest it can be done, %s", job->name,
                 market_date_format(w->prices->to_s, MARKET_DATE_MINUTE, text[1], sizeof text[1]),
                 text[0]);
        base_err_hint(err, "less --work, or an earlier --start");
        return SHOAL_E_IMPOSSIBLE;
    }
    if (isfinite(job->deadline_s) && !(sure_s <= job->deadline_s) && w->job_count == 1 &&
        !w->deadline_default)
        base_log(&w->cx->log, BASE_LOG_WARN,
                 isinf(sure_s) ? "no offer on demand among these: nothing can make sure of the "
                                 "deadline"
                               : "no offer on demand is fast enough to make sure of the deadline");
    return SHOAL_OK;
}

static shoal_status no_price(const struct cli_market *w, const struct market_job *job,
                             shoal_err *err)
{
    double to_s = fmin(job->deadline_s, w->prices->to_s), first_s = INFINITY;
    char from[32], to[32];

    for (uint32_t o = 0; o < w->prices->offer_count; o++) {
        size_t cursor = 0;
        double at_s = job->start_s;
        if (!w->allowed[o] || !(job->speed[w->prices->offers[o].kind] > 0))
            continue;
        first_s = fmin(first_s, w->prices->points[w->prices->offers[o].first].at_s);
        while (at_s < to_s)
            if (!isnan(market_price_at(w->prices, o, at_s, &cursor, &at_s)))
                return SHOAL_OK;
    }
    base_err(err, SHOAL_E_NOTFOUND, "job '%.60s': no price between %s and %s", job->name,
             market_date_format(job->start_s, MARKET_DATE_MINUTE, from, sizeof from),
             market_date_format(to_s, MARKET_DATE_MINUTE, to, sizeof to));
    if (isfinite(first_s))
        base_err_hint(err, "the first price is of %s: see --start",
                      market_date_format(first_s, MARKET_DATE_MINUTE, from, sizeof from));
    return SHOAL_E_NOTFOUND;
}

/* What comes after the prices nobody can say: a later deadline is the end of them. */
static void cut_deadline(struct cli_market *w, struct market_job *job)
{
    char text[2][40];

    if (!isfinite(job->deadline_s) || job->deadline_s <= w->prices->to_s)
        return;
    if (!w->deadline_cut)
        base_log(&w->cx->log, BASE_LOG_WARN, "prices end on %s: a deadline of %s is taken as then",
                 market_date_format(w->prices->to_s, MARKET_DATE_MINUTE, text[0], sizeof text[0]),
                 market_date_format(job->deadline_s, MARKET_DATE_MINUTE, text[1], sizeof text[1]));
    w->deadline_cut = true;
    job->deadline_s = w->prices->to_s;
}

static shoal_status make_job(struct cli_market *w, size_t index, const struct market_jobs_row *row,
                             const struct market_work *work, const struct market_time *deadline,
                             shoal_err *err)
{
    struct market_job *job = &w->jobs[index];
    double *by_kind = w->speed + index * w->prices->kinds.map.count;
    uint32_t instances =
        row != NULL && row->instances > 0 ? row->instances : (uint32_t)w->v->instances;
    shoal_status st = job_speeds(w, row, by_kind, err);

    if (st != SHOAL_OK)
        return st;
    if (index == 0)
        w->unit = find_unit(w, work->kind, by_kind);
    *job = (struct market_job){
        .name = row != NULL ? row->name : "job",
        .start_s = row != NULL ? after(row->start, w->start_s, w->start_s) : w->start_s,
        .budget_usd = row != NULL && isfinite(row->budget_usd) ? row->budget_usd
                      : w->v->budget > 0                       ? w->v->budget
                                                               : (double)INFINITY,
        .instances = instances,
        .speed = by_kind,
        .checkpoint_gb = row != NULL && !isnan(row->checkpoint_gb)
                             ? row->checkpoint_gb
                             : (double)w->v->checkpoint_size / 1e9,
    };
    job->deadline_s = after(*deadline, job->start_s, (double)NAN);
    if (row != NULL)
        job->deadline_s = after(row->deadline, job->start_s, job->deadline_s);
    st = job_work(w, work, job->name, by_kind, instances, &job->work, err);
    for (size_t k = 0; k < w->prices->kinds.map.count; k++)
        by_kind[k] *= instances;
    if (st == SHOAL_OK && isnan(job->deadline_s))
        job->deadline_s = default_deadline(w, job);
    if (st == SHOAL_OK && !(job->start_s >= w->prices->from_s && job->start_s < w->prices->to_s))
        st = base_err(err, SHOAL_E_INVAL, "job '%.60s' starts outside the time of the prices",
                      job->name);
    if (st == SHOAL_OK && !(job->deadline_s > job->start_s))
        st = base_err(err, SHOAL_E_INVAL, "job '%.60s': its deadline is not after its start",
                      job->name);
    if (st == SHOAL_OK)
        st = check_job(w, job, err);
    if (st == SHOAL_OK)
        cut_deadline(w, job);
    return st == SHOAL_OK ? no_price(w, job, err) : st;
}

static shoal_status make_jobs(struct cli_market *w, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(w->cx->env);
    struct market_work work = {(double)NAN, WORK_DEFAULT_S, NULL};
    struct market_time deadline = {(double)NAN, (double)NAN};
    shoal_status st = SHOAL_OK;

    if (w->v->work != NULL && !market_work_parse(w->v->work, &work))
        return base_err(err, SHOAL_E_INVAL,
                        "--work: expected steps, or a time such as 720h or 30d@p3.2xlarge, found "
                        "'%.60s'",
                        w->v->work);
    if (w->v->deadline != NULL && !market_time_parse(w->v->deadline, &deadline))
        return base_err(err, SHOAL_E_INVAL,
                        "--deadline: expected a date such as 2025-03-01, a time after the start "
                        "such as 40d, or none, found '%.60s'",
                        w->v->deadline);
    w->work_default_s = NAN;
    if (w->v->work == NULL && !w->has_fleet) {
        double room = fmin(w->prices->to_s, after(deadline, w->start_s, (double)INFINITY));
        w->work_default_s = work.seconds = fmin(WORK_DEFAULT_S, (room - w->start_s) / 2);
    }
    w->job_count = w->has_fleet ? w->fleet.count : 1;
    w->jobs = base_calloc(alloc, w->job_count, sizeof *w->jobs);
    w->speed = base_calloc(alloc, w->job_count * w->prices->kinds.map.count, sizeof *w->speed);
    if (w->jobs == NULL || w->speed == NULL)
        return base_err_nomem(err, "preparing jobs");
    for (size_t i = 0; i < w->job_count && st == SHOAL_OK; i++) {
        const struct market_jobs_row *row = w->has_fleet ? &w->fleet.rows[i] : NULL;
        st = make_job(w, i, row, row != NULL ? &row->work : &work, &deadline, err);
        if (st != SHOAL_OK && row != NULL && err->where[0] == '\0')
            base_err_where(err, "%.120s, line %llu", w->v->jobs, (unsigned long long)row->line);
    }
    return st;
}

shoal_status cli_market_jobs(struct cli_market *w, shoal_err *err)
{
    shoal_status st = parse_start(w, err);

    if (st == SHOAL_OK)
        st = load_speeds(w, err);
    if (st == SHOAL_OK && w->v->jobs != NULL) {
        st = market_jobs_load(w->cx->env, w->v->jobs, &w->fleet, err);
        w->has_fleet = st == SHOAL_OK;
    }
    return st == SHOAL_OK ? make_jobs(w, err) : st;
}
