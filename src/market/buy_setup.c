/* buy_setup.c - from the options of `shoal market` to offers that may be used, costs, jobs (how fast each kind does
 * them, how much there is to do, whether it can be done at all), limits and availability (see buy.h). */
#include "market/buy.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/date.h"
#include "base/text.h"
#include "market/when.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define WORK_DEFAULT_S (30 * 86400.0)
#define DEADLINE_TIMES 1.5 /* as long as the work takes on the unit kind, where nothing is said */

/* ---- prices ---- */

static shoal_status parse_rates(const shoal_opt_list *list, struct market_rate *rates,
                                shoal_err *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *text = list->items[i], *sign = strchr(text, '=');
        size_t length = sign != NULL ? (size_t)(sign - text) : 0;
        if (length == 0 || length >= sizeof rates[i].currency ||
            !base_parse_f64(sign + 1, strlen(sign + 1), &rates[i].usd) || !(rates[i].usd > 0))
            return base_err(
                err, SHOAL_E_INVAL,
                "--exchange: expected a currency and US dollars such as EUR=1.08, found "
                "'%.60s'",
                text);
        memcpy(rates[i].currency, text, length);
        rates[i].currency[length] = '\0';
    }
    return SHOAL_OK;
}

static void note_ignored(const struct market_buy *w, const char *ignored)
{
    if (ignored[0] != '\0')
        page_warn(w->made, ENV_TABLE_IGNORED, ignored);
}

/* What loading met and settled by a rule, a line each; singular and plural. */
static void note_odd(struct page_made *made, const struct market_odd *odd)
{
    const struct {
        uint64_t count;
        shoal_note_level level;
        const char *one, *many;
    } rows[] = {
        {odd->zero, SHOAL_NOTE_WARNING, "price of zero: not offered from there on",
         "prices of zero: not offered from there on"},
        {odd->same_instant, SHOAL_NOTE_WARNING,
         "price for an instant that had another: the last holds",
         "prices for instants that had another: the last one holds"},
        {odd->backwards, SHOAL_NOTE_WARNING, "time that goes backwards: sorted",
         "times that go backwards: sorted"},
        {odd->currencies, SHOAL_NOTE_INFO, "price converted to US dollars by --exchange",
         "prices converted to US dollars by --exchange"},
        {odd->products, SHOAL_NOTE_INFO, "price of Windows and the like left out",
         "prices of Windows and the like left out"},
        {odd->bare, SHOAL_NOTE_WARNING,
         "offer whose price is that of accelerators without their host",
         "offers whose price is that of accelerators without their host"},
        {odd->retired, SHOAL_NOTE_INFO, "spot offer of a kind that fell silent: given up then",
         "spot offers of kinds that fell silent: given up then"},
        {odd->skipped, SHOAL_NOTE_INFO, "file in a folder that is no price history",
         "files in folders that are no price histories"},
    };

    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        if (rows[i].count > 0)
            page_made_note(made, rows[i].level, "prices: %s %s",
                           page_made_value(made, SHOAL_UNIT_COUNT, (double)rows[i].count),
                           rows[i].count == 1 ? rows[i].one : rows[i].many);
}

shoal_status market_buy_prices(struct market_buy *w, shoal_err *err)
{
    struct market_rate rates[SHOAL_OPT_LIST_MAX];
    struct market_load_opts opts = {.format = (enum market_format)w->v->format,
                                    .rates = rates,
                                    .rate_count = w->v->rates.count,
                                    .stop = base_watch_flag(w->watch)};
    shoal_status st = parse_rates(&w->v->rates, rates, err);

    if (st != SHOAL_OK)
        return st;
    base_watch_begin(w->watch, "reading prices", 0);
    st = market_prices_load(w->env, w->v->prices, w->v->price_count, &opts, &w->prices, err);
    if (st == SHOAL_OK) {
        note_ignored(w, w->prices->odd.ignored);
        note_odd(w->made, &w->prices->odd);
    }
    return st;
}

/* ---- which offers ---- */

/* The word at *at of a list with commas, into buf; false at the end. */
static bool next_word(const char **at, char *buf, size_t size)
{
    while (**at == ',' || **at == ' ')
        (*at)++;
    if (**at == '\0')
        return false;
    size_t length = strcspn(*at, ", ");
    snprintf(buf, size, "%.*s", (int)(length < size ? length : size - 1), *at);
    *at += length;
    return true;
}

static const char *name_of(const struct market_names *names, uint32_t index)
{
    return index == MARKET_NONE ? "" : market_names_get(names, index);
}

/* One of --clouds, --regions, --zones, --kinds: a list of names, '*' allowed. */
struct filter {
    const char *option, *text;
    const struct market_names *names, *more; /* more: accelerators, for kinds */
};

static bool fits_list(const struct filter *f, const char *name, const char *other)
{
    const char *at = f->text;
    char word[MARKET_NAME_MAX + 1];

    if (f->text == NULL)
        return true;
    while (next_word(&at, word, sizeof word))
        if (market_fits(word, name) || (*other != '\0' && market_fits(word, other)))
            return true;
    return false;
}

/* Every word fits a name, or it is a mistake. */
static shoal_status check_filter(const struct filter *f, shoal_err *err)
{
    const char *at = f->text;
    char word[MARKET_NAME_MAX + 1];

    while (at != NULL && next_word(&at, word, sizeof word)) {
        bool fits = false;
        for (size_t i = 0; i < f->names->map.count && !fits; i++)
            fits = market_fits(word, f->names->map.entries[i].key);
        for (size_t i = 0; f->more != NULL && i < f->more->map.count && !fits; i++)
            fits = market_fits(word, f->more->map.entries[i].key);
        if (fits)
            continue;
        base_err(err, SHOAL_E_NOTFOUND, "--%s: the history has no '%s'", f->option, word);
        if (!market_hint_nearest(f->names, f->more, word, err) && f->names->map.count > 0)
            base_err_hint(err, "it has %zu, such as '%s'", f->names->map.count,
                          f->names->map.entries[0].key);
        return SHOAL_E_NOTFOUND;
    }
    return SHOAL_OK;
}

/* "A100:8": a kind that is called by its accelerators is nothing but them. */
static bool is_bare(const struct market_prices *p, const struct market_offer *o)
{
    char name[2 * MARKET_NAME_MAX];

    if (o->accelerator == MARKET_NONE || !(o->accelerators > 0))
        return false;
    snprintf(name, sizeof name, "%s:%g", market_names_get(&p->accelerators, o->accelerator),
             (double)o->accelerators);
    return strcmp(name, market_names_get(&p->kinds, o->kind)) == 0;
}

static void leave_out_bare(struct market_buy *w)
{
    for (size_t o = 0; o < w->prices->offer_count && !w->v->bare; o++) {
        bool bare = w->allowed[o] && is_bare(w->prices, &w->prices->offers[o]);
        w->bare_left_out += bare;
        w->allowed[o] = w->allowed[o] && !bare;
    }
}

static void tell_bare(const struct market_buy *w)
{
    if (w->bare_left_out > 0)
        page_info(w->made,
                  "left out: %zu offer%s of accelerators without their host; --bare takes them",
                  w->bare_left_out, w->bare_left_out == 1 ? "" : "s");
}

static shoal_status choose_offers(struct market_buy *w, shoal_err *err)
{
    const struct market_prices *p = w->prices;
    const struct filter filters[] = {
        {"clouds", w->v->clouds, &p->clouds, NULL},
        {"regions", w->v->regions, &p->regions, NULL},
        {"zones", w->v->zones, &p->zones, NULL},
        {"kinds", w->v->kinds, &p->kinds, &p->accelerators},
    };

    for (size_t i = 0; i < BASE_COUNT(filters); i++) {
        shoal_status st = check_filter(&filters[i], err);
        if (st != SHOAL_OK)
            return st;
    }
    w->allowed = base_calloc(env_alloc(w->env), p->offer_count + 1, sizeof *w->allowed);
    w->kind_allowed =
        base_calloc(env_alloc(w->env), p->kinds.map.count + 1, sizeof *w->kind_allowed);
    if (w->allowed == NULL || w->kind_allowed == NULL)
        return base_err_nomem(err, "choosing offers");
    for (size_t o = 0; o < p->offer_count; o++) {
        const struct market_offer *of = &p->offers[o];
        w->allowed[o] = fits_list(&filters[0], name_of(&p->clouds, of->cloud), "") &&
                        fits_list(&filters[1], name_of(&p->regions, of->region), "") &&
                        fits_list(&filters[2], name_of(&p->zones, of->zone), "") &&
                        fits_list(&filters[3], name_of(&p->kinds, of->kind),
                                  name_of(&p->accelerators, of->accelerator));
    }
    leave_out_bare(w);
    size_t twice = 0;
    if (market_offers_once(env_alloc(w->env), p, w->allowed, &twice) != SHOAL_OK)
        return base_err_nomem(err, "choosing offers");
    if (twice > 0)
        page_info(w->made,
                  "left out: %zu spot offers of zones told by id, which others tell by name",
                  twice);
    for (size_t o = 0; o < p->offer_count; o++) {
        w->allowed_count += w->allowed[o];
        w->kind_allowed[p->offers[o].kind] = w->kind_allowed[p->offers[o].kind] || w->allowed[o];
    }
    if (w->allowed_count == 0 && w->bare_left_out > 0)
        return base_err(err, SHOAL_E_NOTFOUND,
                        "all these offers are of accelerators without their host: add --bare");
    tell_bare(w);
    if (w->allowed_count == 0)
        return base_err(err, SHOAL_E_NOTFOUND,
                        "no offer of the history is in what --clouds, --regions, --zones and "
                        "--kinds leave");
    return SHOAL_OK;
}

/* ---- speeds ---- */

static const char *kind_name(const struct market_buy *w, uint32_t kind)
{
    return market_names_get(&w->prices->kinds, kind);
}

/* Nobody said any: as many steps as accelerators. Kinds whose accelerators are not known cannot be
 * compared and are left out; where none is known all kinds count the same. */
static shoal_status equal_speeds(struct market_buy *w, double *by_kind, shoal_err *err)
{
    size_t count = w->prices->kinds.map.count, known = 0, kinds = 0;
    uint32_t *which = base_calloc(env_alloc(w->env), count + 1, sizeof *which);
    uint32_t first = MARKET_NONE;

    if (which == NULL)
        return base_err_nomem(err, "preparing jobs");
    w->speeds_said = MARKET_BUY_PER_ACCELERATOR;
    market_accelerators(w->prices, by_kind, which);
    for (uint32_t k = 0; k < count; k++) {
        by_kind[k] = w->kind_allowed[k] ? by_kind[k] : 0;
        kinds += w->kind_allowed[k];
        if (!(by_kind[k] > 0))
            continue;
        if (known++ > 0 && which[k] != first)
            w->speeds_said = MARKET_BUY_PER_ANY_ACCELERATOR;
        first = which[k];
    }
    base_free(env_alloc(w->env), which);
    w->kinds_left_out = known > 0 ? kinds - known : 0;
    if (known == 0)
        w->speeds_said = MARKET_BUY_PER_INSTANCE;
    if (kinds == 1) /* nothing to compare */
        w->speeds_said = MARKET_BUY_SAID;
    for (uint32_t k = 0; k < count && known == 0; k++)
        by_kind[k] = w->kind_allowed[k] ? 1 : 0;
    return SHOAL_OK;
}

static shoal_status only_model(const struct market_buy *w, const char **out, shoal_err *err)
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

static shoal_status load_speeds(struct market_buy *w, shoal_err *err)
{
    if (w->v->speed != NULL && w->v->model != NULL)
        return base_err(err, SHOAL_E_INVAL, "speeds come from --speed or --model, not from both");
    if (w->v->speed != NULL)
        return market_speeds_parse(&w->speeds, "", w->v->speed, strlen(w->v->speed), "--speed",
                                   err);
    if (w->v->model != NULL)
        return market_speeds_load(w->env, w->v->model, &w->speeds, err);
    return SHOAL_OK;
}

/* Speeds of one job: its own, of its model, or those of all. */
static shoal_status job_speeds(struct market_buy *w, const struct market_jobs_row *row,
                               double *by_kind, shoal_err *err)
{
    const char *model = row != NULL ? row->model : NULL;
    shoal_status st = SHOAL_OK;

    if (row != NULL && row->speeds != NULL) {
        struct market_speeds own;
        char what[200];
        snprintf(what, sizeof what, "job '%.100s', speeds", row->name);
        market_speeds_init(&own, env_alloc(w->env));
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
static uint32_t find_unit(const struct market_buy *w, const char *named, const double *by_kind)
{
    const char *lists[] = {named, w->v->kinds, w->v->speed};
    uint32_t best = MARKET_NONE;

    for (size_t i = 0; i < BASE_COUNT(lists); i++) {
        const char *at = lists[i];
        char word[MARKET_NAME_MAX + 1];
        while (at != NULL && next_word(&at, word, sizeof word)) {
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

static shoal_status job_work(const struct market_buy *w, const struct market_work *work,
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
            base_err(err, SHOAL_E_NOTFOUND, "job '%.60s': no prices of a kind '%.60s'", name,
                     work->kind);
            market_hint_nearest(&w->prices->kinds, NULL, work->kind, err);
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

static shoal_status parse_start(struct market_buy *w, shoal_err *err)
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
                    base_date_format(p->from_s, BASE_DATE_MINUTE, from, sizeof from),
                    base_date_format(p->to_s, BASE_DATE_MINUTE, to, sizeof to));
}

static double after(struct market_time when, double start_s, double otherwise)
{
    return !isnan(when.at_s) ? when.at_s : !isnan(when.in_s) ? start_s + when.in_s : otherwise;
}

/* The end on instances of one speed that are never interrupted. */
static double end_at(const struct market_buy *w, const struct market_job *job, double speed)
{
    const struct market_costs *c = &w->costs;
    double run_s = job->work / speed;
    double written = c->checkpoint_every_s > 0 ? ceil(run_s / c->checkpoint_every_s) - 1 : 0;

    return job->start_s + c->startup_s + run_s + fmax(written, 0) * c->checkpoint_s;
}

/* The soonest end on one offer. */
static double soonest(const struct market_buy *w, const struct market_job *job, bool on_demand)
{
    double fastest = 0;

    for (size_t o = 0; o < w->prices->offer_count; o++)
        if (w->allowed[o] && (!on_demand || w->prices->offers[o].how == MARKET_ON_DEMAND))
            fastest = fmax(fastest, job->speed[w->prices->offers[o].kind]);
    return end_at(w, job, fastest);
}

/* Where nothing is said: half as long again as on the unit kind, if the history goes on so long. */
static double default_deadline(struct market_buy *w, const struct market_job *job)
{
    double speed = w->unit != MARKET_NONE ? job->speed[w->unit] : 0;

    if (!(speed > 0))
        return INFINITY;
    w->deadline_default = true;
    return fmin(job->start_s + DEADLINE_TIMES * (end_at(w, job, speed) - job->start_s),
                fmax(w->prices->to_s, soonest(w, job, false)));
}

/* Whether it can be done at all: in the time of the history, and by its deadline. */
static shoal_status check_job(const struct market_buy *w, const struct market_job *job,
                              shoal_err *err)
{
    double at_best_s = soonest(w, job, false), sure_s = soonest(w, job, true);
    char text[2][40];

    base_date_format(at_best_s, BASE_DATE_MINUTE, text[0], sizeof text[0]);
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
                 base_date_format(w->prices->to_s, BASE_DATE_MINUTE, text[1], sizeof text[1]),
                 text[0]);
        base_err_hint(err, "less --work, or an earlier --start");
        return SHOAL_E_IMPOSSIBLE;
    }
    if (isfinite(job->deadline_s) && !(sure_s <= job->deadline_s) && w->job_count == 1 &&
        !w->deadline_default)
        page_warn(w->made,
                  isinf(sure_s)
                      ? "no offer on demand among these: nothing can make sure of the deadline"
                      : "no offer on demand is fast enough to make sure of the deadline");
    return SHOAL_OK;
}

static shoal_status no_price(const struct market_buy *w, const struct market_job *job,
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
             base_date_format(job->start_s, BASE_DATE_MINUTE, from, sizeof from),
             base_date_format(to_s, BASE_DATE_MINUTE, to, sizeof to));
    if (isfinite(first_s))
        base_err_hint(err, "the first price is of %s: see --start",
                      base_date_format(first_s, BASE_DATE_MINUTE, from, sizeof from));
    return SHOAL_E_NOTFOUND;
}

/* What comes after the prices nobody can say: a later deadline is the end of them. */
static void cut_deadline(struct market_buy *w, struct market_job *job)
{
    char text[2][40];

    if (!isfinite(job->deadline_s) || job->deadline_s <= w->prices->to_s)
        return;
    if (!w->deadline_cut)
        page_warn(w->made, "prices end on %s: a deadline of %s is taken as then",
                  base_date_format(w->prices->to_s, BASE_DATE_MINUTE, text[0], sizeof text[0]),
                  base_date_format(job->deadline_s, BASE_DATE_MINUTE, text[1], sizeof text[1]));
    w->deadline_cut = true;
    job->deadline_s = w->prices->to_s;
}

static shoal_status make_job(struct market_buy *w, size_t index, const struct market_jobs_row *row,
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

static shoal_status make_jobs(struct market_buy *w, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(w->env);
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

static shoal_status prepare_jobs(struct market_buy *w, shoal_err *err)
{
    shoal_status st = parse_start(w, err);

    if (st == SHOAL_OK)
        st = load_speeds(w, err);
    if (st == SHOAL_OK && w->v->jobs != NULL) {
        st = market_jobs_load(w->env, w->v->jobs, &w->fleet, err);
        w->has_fleet = st == SHOAL_OK;
    }
    if (st == SHOAL_OK) {
        note_ignored(w, w->speeds.ignored);
        note_ignored(w, w->fleet.ignored);
    }
    return st == SHOAL_OK ? make_jobs(w, err) : st;
}

/* ---- costs, limits, availability ---- */

/* "1,0.25,0.1": to another zone, region, cloud. */
static shoal_status parse_three(const char *option, const char *text, double *zone, double *region,
                                double *cloud, shoal_err *err)
{
    double values[3];
    const char *at = text;
    size_t count = 0;
    char word[40];

    while (next_word(&at, word, sizeof word))
        if (count == 3 || !base_parse_f64(word, strlen(word), &values[count]) ||
            !(values[count] >= 0) || (*option == 't' && values[count] == 0))
            return base_err(err, SHOAL_E_INVAL,
                            "--%s: expected three numbers, for another zone, region and cloud, "
                            "such as %s, found '%.60s'",
                            option, *option == 't' ? "1,0.25,0.1" : "0.01,0.02,0.09", text);
        else
            count++;
    if (count != 3)
        return base_err(err, SHOAL_E_INVAL,
                        "--%s: expected three numbers, for another zone, region and cloud, found "
                        "'%.60s'",
                        option, text);
    *zone = values[0];
    *region = values[1];
    *cloud = values[2];
    return SHOAL_OK;
}

static shoal_status parse_costs(struct market_buy *w, shoal_err *err)
{
    struct market_costs *c = &w->costs;
    shoal_status st = parse_three("transfer", w->v->transfer, &c->zone_gb_s, &c->region_gb_s,
                                  &c->cloud_gb_s, err);

    if (st == SHOAL_OK)
        st = parse_three("egress", w->v->egress, &c->zone_usd_gb, &c->region_usd_gb,
                         &c->cloud_usd_gb, err);
    c->startup_s = w->v->startup_s;
    c->checkpoint_s = w->v->checkpoint_s;
    c->checkpoint_every_s = w->v->checkpoint_every_s;
    c->notice_s = w->v->notice_s;
    return st;
}

/* The index of a name in one of the four lists goes into the limit. */
static bool limit_word(const struct market_prices *p, const char *word, struct market_limit *limit)
{
    const struct {
        const struct market_names *names;
        uint32_t *out;
    } lists[] = {{&p->kinds, &limit->kind},
                 {&p->clouds, &limit->cloud},
                 {&p->regions, &limit->region},
                 {&p->zones, &limit->zone}};

    for (size_t i = 0; i < BASE_COUNT(lists); i++) {
        uint32_t index = market_names_find(lists[i].names, word);
        if (index != MARKET_NONE && *lists[i].out == MARKET_NONE) {
            *lists[i].out = index;
            return true;
        }
    }
    return false;
}

/* "p3.2xlarge@us-east-1=8": names of a kind, cloud, region or zone with '@' between. */
static shoal_status parse_limits(struct market_buy *w, shoal_err *err)
{
    for (size_t i = 0; i < w->v->limits.count; i++) {
        const char *text = w->v->limits.items[i], *sign = strrchr(text, '=');
        struct market_limit *limit = &w->limits[w->limit_count++];
        uint64_t number;
        *limit = (struct market_limit){MARKET_NONE, MARKET_NONE, MARKET_NONE, MARKET_NONE, 0};
        if (sign == NULL || sign == text || !base_parse_u64(sign + 1, strlen(sign + 1), &number) ||
            number >= UINT32_MAX)
            return base_err(err, SHOAL_E_INVAL,
                            "--limit: expected names and a number of instances such as "
                            "p3.2xlarge@us-east-1=8, found '%.60s'",
                            text);
        limit->instances = (uint32_t)number;
        for (const char *at = text; at < sign;) {
            size_t length = strcspn(at, "@=");
            char word[MARKET_NAME_MAX + 1];
            snprintf(word, sizeof word, "%.*s", (int)(length < 127 ? length : 127), at);
            if (strcmp(word, "*") != 0 && !limit_word(w->prices, word, limit)) {
                base_err(err, SHOAL_E_NOTFOUND,
                         "--limit: the history has no kind, cloud, region or zone '%s'", word);
                market_hint_nearest(&w->prices->kinds, &w->prices->zones, word, err);
                return SHOAL_E_NOTFOUND;
            }
            at += length + 1;
        }
    }
    return SHOAL_OK;
}

static bool limit_covers(const struct market_limit *limit, const struct market_offer *o)
{
    return (limit->cloud == MARKET_NONE || limit->cloud == o->cloud) &&
           (limit->region == MARKET_NONE || limit->region == o->region) &&
           (limit->zone == MARKET_NONE || limit->zone == o->zone) &&
           (limit->kind == MARKET_NONE || limit->kind == o->kind);
}

/* Every job must find an offer that no limit closes to it. */
static shoal_status check_limits(struct market_buy *w, shoal_err *err)
{
    for (size_t j = 0; j < w->job_count && w->limit_count > 0; j++) {
        const struct market_job *job = &w->jobs[j];
        size_t closes = SIZE_MAX;
        bool open = false;
        for (size_t o = 0; o < w->prices->offer_count && !open; o++) {
            const struct market_offer *of = &w->prices->offers[o];
            if (!w->allowed[o] || !(job->speed[of->kind] > 0))
                continue;
            open = true;
            for (size_t l = 0; l < w->limit_count; l++)
                if (w->limits[l].instances < job->instances && limit_covers(&w->limits[l], of)) {
                    open = false;
                    closes = l;
                }
        }
        if (!open && closes != SIZE_MAX)
            return base_err(err, SHOAL_E_IMPOSSIBLE,
                            "job '%.60s': --limit %.60s leaves no room for its %u instance%s",
                            job->name, w->v->limits.items[closes], job->instances,
                            job->instances == 1 ? "" : "s");
    }
    return SHOAL_OK;
}

/* What of the traces is used: those that speak of no offer are left out without harm, or by mistake. */
static void tell_avail(const struct market_buy *w)
{
    struct market_avail_facts facts;

    market_avail_facts_get(w->avail, &facts);
    note_ignored(w, facts.ignored);
    if (facts.unused > 0)
        page_info(w->made, "availability: %zu of %zu traces speak of no offer", facts.unused,
                  facts.traces);
    if (facts.skipped > 0)
        page_info(w->made, "availability: files of the folder that are no traces: %zu",
                  facts.skipped);
}

static shoal_status load_avail(struct market_buy *w, shoal_err *err)
{
    const shoal_market_opts *v = w->v;
    shoal_env *env = w->env;
    double up_s, down_s;
    char up[40];

    if (v->availability != NULL && v->interruptions != NULL)
        return base_err(err, SHOAL_E_INVAL,
                        "what can be had comes from --availability or --interruptions, not both");
    if (v->availability_cut && v->availability == NULL)
        return base_err(err, SHOAL_E_INVAL, "--availability-cut needs --availability PATH");
    if (v->availability != NULL) {
        shoal_status st =
            v->availability_cut
                ? market_avail_cut(env, w->prices, v->availability, v->seed, &w->avail, err)
                : market_avail_load(env, w->prices, v->availability, w->start_s, &w->avail, err);
        if (st == SHOAL_OK)
            tell_avail(w);
        return st;
    }
    if (v->interruptions == NULL)
        return SHOAL_OK;
    size_t length = strcspn(v->interruptions, "/");
    snprintf(up, sizeof up, "%.*s", (int)(length < 39 ? length : 39), v->interruptions);
    if (v->interruptions[length] != '/' || !base_parse_duration(up, &up_s) ||
        !base_parse_duration(v->interruptions + length + 1, &down_s) || !(up_s >= 1) ||
        !(down_s == 0 || down_s >= 1))
        return base_err(err, SHOAL_E_INVAL,
                        "--interruptions: expected mean times up and down such as 8h/30m, found "
                        "'%.60s'",
                        v->interruptions);
    return market_avail_draw(w->prices, up_s, down_s, MARKET_INSTANCES_MAX, v->seed, &w->avail,
                             err);
}

/* Zones and regions that are left, for the sentence at the top. */
static shoal_status count_places(struct market_buy *w, shoal_err *err)
{
    const struct market_prices *p = w->prices;
    const struct base_alloc *alloc = env_alloc(w->env);
    bool *zones = base_calloc(alloc, p->zones.map.count + 1, sizeof *zones);
    bool *regions = base_calloc(alloc, p->regions.map.count + 1, sizeof *regions);

    for (size_t o = 0; o < p->offer_count && zones != NULL && regions != NULL; o++) {
        const struct market_offer *of = &p->offers[o];
        if (!w->allowed[o])
            continue;
        w->spot_count += of->how == MARKET_SPOT;
        bool whole = strcmp(market_names_get(&p->zones, of->zone),
                            market_names_get(&p->regions, of->region)) == 0;
        w->zone_count += zones[of->zone] || whole ? 0 : 1; /* an offer of a whole region has none */
        w->region_count += regions[of->region] ? 0 : 1;
        zones[of->zone] = regions[of->region] = true;
    }
    bool short_of_memory = zones == NULL || regions == NULL;
    base_free(alloc, zones);
    base_free(alloc, regions);
    return short_of_memory ? base_err_nomem(err, "choosing offers") : SHOAL_OK;
}

/* The only job has no name of its own to be told by. */
static void drop_name(const struct market_buy *w, shoal_err *err)
{
    static const char name[] = "job 'job': ";
    size_t length = sizeof name - 1;

    if (!w->has_fleet && strncmp(err->message, name, length) == 0)
        memmove(err->message, err->message + length, strlen(err->message + length) + 1);
}

shoal_status market_buy_setup(struct market_buy *w, shoal_err *err)
{
    static shoal_status (*const steps[])(struct market_buy *, shoal_err *) = {
        choose_offers, parse_costs, prepare_jobs, parse_limits,
        check_limits,  load_avail,  count_places};
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < BASE_COUNT(steps) && st == SHOAL_OK; i++)
        st = steps[i](w, err);
    if (st != SHOAL_OK)
        drop_name(w, err);
    return st;
}
