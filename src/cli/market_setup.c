/* market_setup.c - from the options of `shoal market` to offers that may be used, costs and
 * limits. */
#include "cli/market_work.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/progress.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- prices ---- */

static shoal_status parse_rates(const struct base_opt_list *list, struct market_rate *rates,
                                shoal_err *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *text = list->items[i], *sign = strchr(text, '=');
        size_t length = sign != NULL ? (size_t)(sign - text) : 0;
        if (length == 0 || length >= sizeof rates[i].currency ||
            !base_parse_f64(sign + 1, strlen(sign + 1), &rates[i].usd) || !(rates[i].usd > 0))
            return base_err(err, SHOAL_E_INVAL,
                            "--rate: expected a currency and US dollars such as EUR=1.08, found "
                            "'%.60s'",
                            text);
        memcpy(rates[i].currency, text, length);
        rates[i].currency[length] = '\0';
    }
    return SHOAL_OK;
}

/* What loading met and settled by a rule, a line each; singular and plural. */
static void tell_odd(const struct cli_context *cx, const struct market_prices *prices)
{
    const struct market_odd *odd = &prices->odd;
    const struct {
        uint64_t count;
        enum base_log_level level;
        const char *one, *many;
    } rows[] = {
        {odd->zero, BASE_LOG_WARN, "price of zero: not offered from there on",
         "prices of zero: not offered from there on"},
        {odd->same_instant, BASE_LOG_WARN, "price for an instant that had another: the last holds",
         "prices for instants that had another: the last one holds"},
        {odd->backwards, BASE_LOG_WARN, "time that goes backwards: sorted",
         "times that go backwards: sorted"},
        {odd->currencies, BASE_LOG_INFO, "price converted to US dollars by --rate",
         "prices converted to US dollars by --rate"},
        {odd->products, BASE_LOG_INFO, "price of Windows and the like left out",
         "prices of Windows and the like left out"},
        {odd->bare, BASE_LOG_WARN, "offer whose price is that of accelerators without their host",
         "offers whose price is that of accelerators without their host"},
        {odd->retired, BASE_LOG_INFO, "spot offer of a kind that fell silent: given up then",
         "spot offers of kinds that fell silent: given up then"},
        {odd->skipped, BASE_LOG_INFO, "file in a folder that is no price history",
         "files in folders that are no price histories"},
    };
    char text[32];

    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        if (rows[i].count > 0)
            base_log(&cx->log, rows[i].level, "prices: %s %s",
                     base_format_count(rows[i].count, text, sizeof text),
                     rows[i].count == 1 ? rows[i].one : rows[i].many);
}

shoal_status cli_market_prices(const struct cli_context *cx, const char *const *paths, size_t count,
                               uint32_t format, const struct base_opt_list *rates,
                               struct market_prices **out, shoal_err *err)
{
    struct market_rate read[BASE_OPT_LIST_MAX];
    struct market_load_opts opts = {.format = (enum market_format)format, .rates = read};
    atomic_uint_fast64_t done = 0;
    uint64_t began = env_now_ns(cx->env);
    shoal_status st = parse_rates(rates, read, err);

    if (st != SHOAL_OK)
        return st;
    opts.rate_count = rates->count;
    struct cli_progress *progress = cli_progress_start(cx, "reading prices", &done, 0);
    st = market_prices_load(cx->env, paths, count, &opts, out, err);
    cli_progress_stop(progress);
    if (st != SHOAL_OK)
        return st;
    base_log(&cx->log, BASE_LOG_DEBUG, "read %zu prices of %zu offers (%s) in %.3f s",
             (*out)->point_count, (*out)->offer_count, (*out)->format,
             (double)(env_now_ns(cx->env) - began) * 1e-9);
    tell_odd(cx, *out);
    return SHOAL_OK;
}

/* ---- which offers ---- */

bool cli_market_word(const char **at, char *buf, size_t size)
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
    while (cli_market_word(&at, word, sizeof word))
        if (market_fits(word, name) || (*other != '\0' && market_fits(word, other)))
            return true;
    return false;
}

/* Every word fits a name, or it is a mistake. */
static shoal_status check_filter(const struct filter *f, shoal_err *err)
{
    const char *at = f->text;
    char word[MARKET_NAME_MAX + 1];

    while (at != NULL && cli_market_word(&at, word, sizeof word)) {
        bool fits = false;
        for (size_t i = 0; i < f->names->map.count && !fits; i++)
            fits = market_fits(word, f->names->map.entries[i].key);
        for (size_t i = 0; f->more != NULL && i < f->more->map.count && !fits; i++)
            fits = market_fits(word, f->more->map.entries[i].key);
        if (fits)
            continue;
        base_err(err, SHOAL_E_NOTFOUND, "--%s: the history has no '%s'", f->option, word);
        const char *near = market_nearest(f->names, word);
        if (near == NULL && f->more != NULL)
            near = market_nearest(f->more, word);
        if (near != NULL)
            base_err_hint(err, "did you mean '%s'?", near);
        else if (f->names->map.count > 0)
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

static void leave_out_bare(struct cli_market *w)
{
    for (size_t o = 0; o < w->prices->offer_count && !w->v->bare; o++) {
        bool bare = w->allowed[o] && is_bare(w->prices, &w->prices->offers[o]);
        w->bare_left_out += bare;
        w->allowed[o] = w->allowed[o] && !bare;
    }
}

static void tell_bare(const struct cli_market *w)
{
    if (w->bare_left_out > 0)
        base_log(&w->cx->log, BASE_LOG_INFO,
                 "left out: %zu offer%s of accelerators without their host; --bare takes them",
                 w->bare_left_out, w->bare_left_out == 1 ? "" : "s");
}

static shoal_status choose_offers(struct cli_market *w, shoal_err *err)
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
    w->allowed = base_calloc(env_alloc(w->cx->env), p->offer_count + 1, sizeof *w->allowed);
    w->kind_allowed =
        base_calloc(env_alloc(w->cx->env), p->kinds.map.count + 1, sizeof *w->kind_allowed);
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
    if (market_offers_once(env_alloc(w->cx->env), p, w->allowed, &twice) != SHOAL_OK)
        return base_err_nomem(err, "choosing offers");
    if (twice > 0)
        base_log(&w->cx->log, BASE_LOG_INFO,
                 "left out: %zu spot offers of zones told by id, which others tell by name", twice);
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

/* ---- costs, limits, availability ---- */

/* "1,0.25,0.1": to another zone, region, cloud. */
static shoal_status parse_three(const char *option, const char *text, double *zone, double *region,
                                double *cloud, shoal_err *err)
{
    double values[3];
    const char *at = text;
    size_t count = 0;
    char word[40];

    while (cli_market_word(&at, word, sizeof word))
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

static shoal_status parse_costs(struct cli_market *w, shoal_err *err)
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
static shoal_status parse_limits(struct cli_market *w, shoal_err *err)
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
                const char *near = market_nearest(&w->prices->kinds, word);
                near = near != NULL ? near : market_nearest(&w->prices->zones, word);
                if (near != NULL)
                    base_err_hint(err, "did you mean '%s'?", near);
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
static shoal_status check_limits(const struct cli_market *w, shoal_err *err)
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
static void tell_avail(const struct cli_market *w)
{
    struct market_avail_facts facts;

    market_avail_facts_get(w->avail, &facts);
    if (facts.unused > 0)
        base_log(&w->cx->log, BASE_LOG_INFO, "availability: %zu of %zu traces speak of no offer",
                 facts.unused, facts.traces);
    if (facts.skipped > 0)
        base_log(&w->cx->log, BASE_LOG_INFO,
                 "availability: files of the folder that are no traces: %zu", facts.skipped);
}

static shoal_status load_avail(struct cli_market *w, shoal_err *err)
{
    const struct cli_market_values *v = w->v;
    shoal_env *env = w->cx->env;
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
static shoal_status count_places(struct cli_market *w, shoal_err *err)
{
    const struct market_prices *p = w->prices;
    const struct base_alloc *alloc = env_alloc(w->cx->env);
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
static void drop_name(const struct cli_market *w, shoal_err *err)
{
    static const char name[] = "job 'job': ";
    size_t length = sizeof name - 1;

    if (!w->has_fleet && strncmp(err->message, name, length) == 0)
        memmove(err->message, err->message + length, strlen(err->message + length) + 1);
}

shoal_status cli_market_setup(struct cli_market *w, shoal_err *err)
{
    shoal_status st = choose_offers(w, err);

    if (st == SHOAL_OK)
        st = parse_costs(w, err);
    if (st == SHOAL_OK)
        st = cli_market_jobs(w, err);
    if (st == SHOAL_OK)
        st = parse_limits(w, err);
    if (st == SHOAL_OK)
        st = check_limits(w, err);
    if (st == SHOAL_OK)
        st = load_avail(w, err);
    if (st != SHOAL_OK) {
        drop_name(w, err);
        return st;
    }
    return count_places(w, err);
}

void cli_market_fini(struct cli_market *w)
{
    const struct base_alloc *alloc = env_alloc(w->cx->env);

    for (size_t i = 0; i < w->run_count; i++) {
        market_result_fini(&w->runs[i].result);
        base_free(alloc, w->knobs[i]);
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
    base_free(alloc, w);
}
