/* market_json.c - what came of buying, for programs: one object, "v":1, documented in
 * docs/market.md. Money is US dollars, durations seconds, times ISO 8601; what is not known is
 * null. */
#include "cli/market_work.h"

#include "base/assert.h"
#include "cli/json.h"
#include "market/when.h"
#include <inttypes.h>
#include <math.h>

enum { TEXT_MAX = 256 << 20 };

static void string(struct base_buf *out, const char *name, const char *value)
{
    base_buf_printf(out, ",\"%s\":", name);
    base_buf_json_string(out, value);
}

static void when(struct base_buf *out, const char *name, double at_s)
{
    char text[MARKET_WHEN_TEXT];

    if (isfinite(at_s))
        string(out, name, market_when_text(floor(at_s + 0.5), text));
    else
        base_buf_printf(out, ",\"%s\":null", name);
}

static void place(const struct cli_market *w, struct base_buf *out, uint32_t offer)
{
    const struct market_offer *of = &w->prices->offers[offer];

    string(out, "cloud", market_names_get(&w->prices->clouds, of->cloud));
    string(out, "region", market_names_get(&w->prices->regions, of->region));
    string(out, "zone", market_names_get(&w->prices->zones, of->zone));
    string(out, "kind", market_names_get(&w->prices->kinds, of->kind));
    string(out, "market", market_how_names[of->how]);
}

static void stays(const struct cli_market *w, const struct market_outcome *o, struct base_buf *out)
{
    base_buf_puts(out, ",\"stays\":[");
    for (size_t i = 0; i < o->stay_count; i++) {
        const struct market_stay *stay = &o->stays[i];
        base_buf_printf(out, "%s{\"n\":%zu", i > 0 ? "," : "", i);
        when(out, "from", stay->from_s);
        when(out, "to", stay->to_s);
        place(w, out, stay->offer);
        cli_json_number(out, "usd", stay->usd);
        cli_json_number(out, "egress_usd", stay->egress_usd);
        cli_json_number(out, "steps", stay->steps);
        string(out, "end", market_end_names[stay->end]);
        base_buf_puts(out, "}");
    }
    base_buf_puts(out, "]");
}

static void job(const struct cli_market *w, size_t run, size_t index, struct base_buf *out)
{
    const struct market_outcome *o = &w->runs[run].result.jobs[index];

    base_buf_puts(out, "{\"job\":");
    base_buf_json_string(out, w->jobs[index].name);
    cli_json_number(out, "usd", o->usd);
    cli_json_number(out, "egress_usd", o->egress_usd);
    when(out, "finish", o->finish_s);
    base_buf_printf(out, ",\"missed\":%s", o->missed ? "true" : "false");
    cli_json_number(out, "steps", o->steps);
    cli_json_number(out, "lost_steps", o->lost_steps);
    cli_json_number(out, "spot_s", o->spot_s);
    cli_json_number(out, "on_demand_s", o->on_demand_s);
    cli_json_number(out, "starting_s", o->starting_s);
    cli_json_number(out, "idle_s", o->idle_s);
    cli_json_number(out, "moves", o->moves);
    cli_json_number(out, "interruptions", o->interruptions);
    if (w->v->moves)
        stays(w, o, out);
    base_buf_puts(out, "}");
}

static void strategy(const struct cli_market *w, size_t run, struct base_buf *out)
{
    const struct market_story *s = &w->story;
    const struct market_result *r = &w->runs[run].result;
    struct market_sums sums = market_run_sums(s, run);

    base_buf_puts(out, "{\"strategy\":");
    base_buf_json_string(out, w->runs[run].label);
    cli_json_number(out, "usd", sums.usd);
    cli_json_number(out, "times_less_than_static", market_run_times(s, run));
    cli_json_number(out, "over_bound",
                    sums.finished == w->job_count ? sums.usd / s->bound_usd - 1 : (double)NAN);
    when(out, "finish", sums.finish_s);
    cli_json_number(out, "finished", (double)sums.finished);
    cli_json_number(out, "missed", r->missed);
    cli_json_number(out, "moves", r->moves);
    cli_json_number(out, "interruptions", r->interruptions);
    cli_json_number(out, "on_demand_share", sums.run_s > 0 ? sums.on_demand_s / sums.run_s : 0);
    cli_json_number(out, "egress_usd", sums.egress_usd);
    cli_json_number(out, "starting_s", sums.starting_s);
    cli_json_number(out, "idle_s", sums.idle_s);
    cli_json_number(out, "lost_share", sums.lost_share);
    cli_json_number(out, "decisions", (double)r->decisions);
    cli_json_number(out, "took_s", w->took_s[run]);
    base_buf_puts(out, ",\"jobs\":[");
    for (size_t i = 0; i < w->job_count; i++) {
        base_buf_puts(out, i > 0 ? "," : "");
        job(w, run, i, out);
    }
    base_buf_puts(out, "]}");
}

static void jobs(const struct cli_market *w, struct base_buf *out)
{
    base_buf_puts(out, ",\"jobs\":[");
    for (size_t i = 0; i < w->job_count; i++) {
        const struct market_job *j = &w->jobs[i];
        base_buf_printf(out, "%s{\"job\":", i > 0 ? "," : "");
        base_buf_json_string(out, j->name);
        cli_json_number(out, "work", j->work);
        when(out, "start", j->start_s);
        when(out, "deadline", j->deadline_s);
        cli_json_number(out, "budget_usd", j->budget_usd);
        cli_json_number(out, "instances", j->instances);
        cli_json_number(out, "checkpoint_gb", j->checkpoint_gb);
        if (w->bounds != NULL) {
            cli_json_number(out, "bound_usd", w->bounds[i].usd);
            cli_json_number(out, "hindsight_usd", w->bounds[i].plan_usd);
        }
        base_buf_puts(out, "}");
    }
    base_buf_puts(out, "]");
}

static void odd(const struct market_odd *met, struct base_buf *out)
{
    const struct {
        const char *name;
        uint64_t count;
    } rows[] = {
        {"zero", met->zero},
        {"same_instant", met->same_instant},
        {"repeated", met->repeated},
        {"backwards", met->backwards},
        {"currencies", met->currencies},
        {"products", met->products},
        {"bare", met->bare},
        {"retired", met->retired},
        {"skipped", met->skipped},
    };

    base_buf_puts(out, ",\"odd\":{");
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        base_buf_printf(out, "%s\"%s\":%" PRIu64, i > 0 ? "," : "", rows[i].name, rows[i].count);
    base_buf_puts(out, "}");
}

int cli_market_json(const struct cli_market *w)
{
    const struct market_story *s = &w->story;
    struct base_buf out;

    base_buf_init(&out, env_alloc(w->cx->env), TEXT_MAX);
    base_buf_puts(&out, "{\"v\":1");
    when(&out, "from", s->from_s);
    when(&out, "to", s->to_s);
    cli_json_number(&out, "offers", (double)w->allowed_count);
    cli_json_number(&out, "zones", (double)w->zone_count);
    cli_json_number(&out, "regions", (double)w->region_count);
    string(&out, "unit", market_names_get(&w->prices->kinds, w->unit));
    cli_json_number(&out, "bound_usd", s->bound_usd);
    cli_json_number(&out, "hindsight_usd", s->plan_usd);
    odd(&w->prices->odd, &out);
    base_buf_printf(&out, ",\"seed\":%" PRIu64, s->seed);
    string(&out, "format", w->prices->format);
    base_buf_printf(&out, ",\"input_hash\":\"%016" PRIx64 "\"", w->prices->input_hash);
    jobs(w, &out);
    base_buf_puts(&out, ",\"strategies\":[");
    for (size_t i = 0; i < w->run_count; i++) {
        base_buf_puts(&out, i > 0 ? "," : "");
        strategy(w, i, &out);
    }
    base_buf_puts(&out, "]}\n");
    int rc = cli_print(w->cx, &out);
    base_buf_fini(&out);
    return rc;
}
