/* buy_words.c - what buying came to, in words: which deadlines are missed, what it cost and when it was done, what
 * another strategy trades of the one for the other, what no plan can beat, and what was assumed (see buy.h).
 *
 * One sentence per question, in a fixed order. Questions whose answer says nothing are left out. */
#include "market/buy.h"

#include "base/text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SPAN_LEAST_S = 1800 };     /* a difference of time that is worth a word */
static const double same = 0.005; /* relative difference of costs that is not */

static const char *usd_text(const struct market_buy *w, double usd)
{
    return page_made_value(w->made, SHOAL_UNIT_USD, usd);
}

static const char *share_text(const struct market_buy *w, double share)
{
    return page_made_value(w->made, SHOAL_UNIT_SHARE, share);
}

static const char *date_text(const struct market_buy *w, double at_s)
{
    return page_made_value(w->made, SHOAL_UNIT_DATE, at_s);
}

const char *market_buy_duration(double seconds, char *buf, size_t size)
{
    base_format_duration(seconds, buf, size);
    size_t length = strlen(buf);
    while (length > 1 && buf[length - 1] != '\0') { /* "30d0h", "8h00m" */
        size_t digits = length - 1;
        bool zero = true;
        while (digits > 0 && buf[digits - 1] >= '0' && buf[digits - 1] <= '9')
            zero = buf[--digits] == '0' && zero;
        if (!zero || digits == 0 || digits == length - 1)
            break;
        buf[digits] = '\0';
        length = digits;
    }
    return buf;
}

/* "11 days", "5 hours": differences that people plan with. */
static const char *span_text(const struct market_buy *w, double seconds)
{
    double unit_s = seconds >= 1.5 * 86400 ? 86400 : seconds >= 5400 ? 3600 : 60;
    double count = fmax(floor(seconds / unit_s + 0.5), 1);

    return page_made_text(w->made, "%.0f %s%s", count,
                          unit_s > 80000 ? "day"
                          : unit_s > 60  ? "hour"
                                         : "minute",
                          count == 1 ? "" : "s");
}

/* ---- what was asked ---- */

/* "30d of work on 2 p3.2xlarge", "12 jobs" */
static void write_title(struct market_buy *w)
{
    const struct market_job *job = &w->jobs[0];
    char time[32], many[24] = "";

    if (w->has_fleet || w->unit == MARKET_NONE) {
        snprintf(w->title, sizeof w->title, "%s job%s",
                 base_format_count(w->job_count, time, sizeof time), page_plural(w->job_count));
        return;
    }
    if (job->instances > 1)
        snprintf(many, sizeof many, "%u ", job->instances);
    snprintf(w->title, sizeof w->title, "%s of work on %s%.100s",
             market_buy_duration(job->work / job->speed[w->unit], time, sizeof time), many,
             market_names_get(&w->prices->kinds, w->unit));
}

/* Names of the kinds in use, "p3.2xlarge, p3.8xlarge and 4 more". */
static void head_kinds(const struct market_buy *w)
{
    size_t shown = 0, more = 0;

    for (uint32_t k = 0; k < w->prices->kinds.map.count; k++) {
        if (!w->kind_allowed[k] || !(w->jobs[0].speed[k] > 0))
            continue;
        if (shown == 3) {
            more++;
            continue;
        }
        page_made_head(w->made, "%s%s", shown > 0 ? ", " : "",
                       market_names_get(&w->prices->kinds, k));
        shown++;
    }
    if (more > 0)
        page_made_head(w->made, " and %zu more", more);
}

/* "its budget of $20.00 is not enough in this time: no plan costs less than $96.10" */
static void head_poor(const struct market_buy *w)
{
    const struct market_job *job = &w->jobs[w->poor];

    if (w->poor_count == 0)
        return;
    if (w->job_count == 1)
        page_made_head(w->made, "its budget of %s is not enough", usd_text(w, job->budget_usd));
    else
        page_made_head(w->made, "the budget of '%s', %s, is not enough", job->name,
                       usd_text(w, job->budget_usd));
    page_made_head(w->made, "%s: no plan costs less than %s",
                   isfinite(job->deadline_s) ? " in this time" : "",
                   usd_text(w, w->bounds[w->poor].usd));
    if (w->poor_count == 2)
        page_made_head(w->made, "; nor is that of one more job");
    else if (w->poor_count > 2)
        page_made_head(w->made, "; nor are those of %zu more jobs", w->poor_count - 1);
    page_made_head(w->made, "\n");
}

static void write_head(const struct market_buy *w)
{
    page_made_head(w->made, "%s from %s", w->title, date_text(w, w->from_s));
    if (w->job_count == 1 && isfinite(w->jobs[0].deadline_s))
        page_made_head(w->made, ", due %s", date_text(w, w->jobs[0].deadline_s));
    page_made_head(w->made, "\n%s offer%s of ",
                   page_made_value(w->made, SHOAL_UNIT_COUNT, (double)w->allowed_count),
                   page_plural(w->allowed_count));
    head_kinds(w);
    page_made_head(w->made, " in ");
    if (w->zone_count > 0)
        page_made_head(w->made, "%s zone%s of ",
                       page_made_value(w->made, SHOAL_UNIT_COUNT, (double)w->zone_count),
                       page_plural(w->zone_count));
    page_made_head(w->made, "%s region%s\n",
                   page_made_value(w->made, SHOAL_UNIT_COUNT, (double)w->region_count),
                   page_plural(w->region_count));
    head_poor(w);
}

/* ---- the answer ---- */

/* "static misses none and costs $40.00 more": the cheapest of those that miss least, where that is fewer. */
static void say_who_misses_less(const struct market_buy *w)
{
    size_t best = 0;

    for (size_t i = 1; i < w->run_count; i++) {
        const struct market_run *run = &w->runs[i], *now = &w->runs[best];
        if (run->result.missed < now->result.missed ||
            (best > 0 && run->result.missed == now->result.missed && run->sums.usd < now->sums.usd))
            best = i;
    }
    if (best == 0)
        return;
    const struct market_run *run = &w->runs[best];
    double more = run->sums.usd - w->runs[0].sums.usd;
    page_made_say(w->made, "; %s misses %s and costs %s %s", run->label,
                  run->result.missed == 0 ? "none"
                                          : page_made_text(w->made, "%u", run->result.missed),
                  usd_text(w, fabs(more)), more >= 0 ? "more" : "less");
}

/* What nobody wants to find at the end: "shoal misses 2 of 3 deadlines; static misses none and costs $40.00 more." */
static void say_missed(const struct market_buy *w)
{
    const struct market_run *lead = &w->runs[0];
    size_t deadlines = 0;

    for (size_t i = 0; i < w->job_count; i++)
        deadlines += isfinite(w->jobs[i].deadline_s) ? 1 : 0;
    if (lead->result.missed == 0)
        return;
    if (deadlines == 1)
        page_made_say(w->made, "%s misses its deadline", lead->label);
    else
        page_made_say(w->made, "%s misses %u of %zu deadlines", lead->label, lead->result.missed,
                      deadlines);
    say_who_misses_less(w);
    page_made_say(w->made, ".\n");
}

/* "$290 less (1.80 times) than staying on X, and 4 days later"; what is compared is done. */
static void say_against_fixed(const struct market_buy *w)
{
    const struct market_run *lead = &w->runs[0], *fixed = &w->runs[w->fixed];
    double times = lead->times, later_s = lead->sums.finish_s - fixed->sums.finish_s;
    uint32_t first = market_buy_first(fixed);

    if (fabs(times - 1) < same)
        page_made_say(w->made, ": as much as staying ");
    else
        page_made_say(w->made, ": %s %s (%.2f times) than staying ",
                      usd_text(w, fabs(fixed->sums.usd - lead->sums.usd)),
                      times >= 1 ? "less" : "more", times >= 1 ? times : 1 / times);
    if (w->job_count == 1 && first != MARKET_NONE)
        page_made_say(w->made, "on %s", market_buy_place(w, first));
    else
        page_made_say(w->made, "where each job began");
    if (fabs(later_s) >= SPAN_LEAST_S)
        page_made_say(w->made, ", and %s %s", span_text(w, fabs(later_s)),
                      later_s > 0 ? "later" : "sooner");
}

static void say_lead(const struct market_buy *w)
{
    const struct market_run *lead = &w->runs[0];

    page_made_say(w->made, "%s costs %s and is done on %s", lead->label,
                  usd_text(w, lead->sums.usd), date_text(w, lead->sums.finish_s));
    if (w->fixed != 0 && !isnan(lead->times))
        say_against_fixed(w);
    page_made_say(w->made, ".\n");
}

/* Of the strategies that are sooner done and cost more, the one that asks least for an hour sooner; or of those that
 * cost less, the cheapest. SIZE_MAX: there is none. The fixed one was told before. */
static size_t find_trade(const struct market_buy *w, bool sooner)
{
    const struct market_sums *lead = &w->runs[0].sums;
    size_t best = SIZE_MAX;
    double least = INFINITY;

    for (size_t i = 1; i < w->run_count; i++) {
        const struct market_sums *sums = &w->runs[i].sums;
        double sooner_s = lead->finish_s - sums->finish_s, more = sums->usd - lead->usd;
        double value = sooner ? more / sooner_s : sums->usd;
        bool trades = sooner ? sooner_s >= SPAN_LEAST_S && more >= 0 : more < -2 * same * lead->usd;
        if (i == w->fixed || sums->finished < w->job_count || !trades || value >= least)
            continue;
        best = i;
        least = value;
    }
    return best;
}

/* "uniform costs $77 more and is done 4 days sooner." */
static void say_trade(const struct market_buy *w, size_t run)
{
    if (run == SIZE_MAX)
        return;
    const struct market_run *lead = &w->runs[0], *other = &w->runs[run];
    double later_s = other->sums.finish_s - lead->sums.finish_s;
    double more = other->sums.usd - lead->sums.usd;

    page_made_say(w->made, "%s costs %s %s", other->label, usd_text(w, fabs(more)),
                  more < 0 ? "less here" : "more");
    if (fabs(later_s) >= SPAN_LEAST_S)
        page_made_say(w->made, " and is done %s %s", span_text(w, fabs(later_s)),
                      later_s < 0 ? "sooner" : "later");
    if (other->result.missed > lead->result.missed)
        page_made_say(w->made, ", but misses %u deadline%s", other->result.missed,
                      page_plural(other->result.missed));
    page_made_say(w->made, ".\n");
}

/* What it did for that: moves, interruptions, time that was no work. */
static void say_how(const struct market_buy *w)
{
    const struct market_result *r = &w->runs[0].result;
    const struct market_sums *sums = &w->runs[0].sums;
    double all_s = sums->run_s + sums->starting_s + sums->idle_s;
    struct page_made *made = w->made;

    page_made_say(made, "It moves %u time%s", r->moves, page_plural(r->moves));
    if (w->avail != NULL || r->interruptions > 0)
        page_made_say(made, ", is interrupted %u time%s", r->interruptions,
                      page_plural(r->interruptions));
    if (sums->lost_share > 0)
        page_made_say(made, " (%s of its steps are made twice)", share_text(w, sums->lost_share));
    if (sums->egress_usd > 0)
        page_made_say(made, ", pays %s for egress", usd_text(w, sums->egress_usd));
    if (all_s > 0)
        page_made_say(made, ", and spends %s of its time starting up and %s holding nothing",
                      share_text(w, sums->starting_s / all_s), share_text(w, sums->idle_s / all_s));
    if (sums->on_demand_s > 0 && sums->run_s > 0)
        page_made_say(made, "; %s of its running time is on demand",
                      share_text(w, sums->on_demand_s / sums->run_s));
    page_made_say(made, ".\n");
}

static void say_unfinished(const struct market_buy *w)
{
    const struct market_run *lead = &w->runs[0];
    const char *why = "prices end before the work is done";

    if (lead->result.jobs[0].stay_count == 0)
        why = "it waits until prices end and holds nothing";
    if (lead->result.jobs[0].broke)
        why = "its budget is spent before the work is done";
    if (w->job_count == 1)
        page_made_say(w->made, "%s does not finish: %s.\n", lead->label, why);
    else
        page_made_say(w->made, "%s leaves %zu of %zu jobs unfinished.\n", lead->label,
                      w->job_count - lead->sums.finished, w->job_count);
}

/* "No plan can cost less than $255.10: shoal is within 3.1 % of it." */
static void say_bound(const struct market_buy *w)
{
    const struct market_run *lead = &w->runs[0];
    double times = lead->sums.usd / w->bound_usd;

    if (isnan(w->bound_usd))
        return;
    if (isinf(w->bound_usd)) {
        page_made_say(w->made, "No plan at all does the work in time, not even one that knows the "
                               "future.\n");
        return;
    }
    page_made_say(w->made, "No plan can cost less than %s, not even one that knows the future",
                  usd_text(w, w->bound_usd));
    if (lead->sums.finished == w->job_count && w->bound_usd > 0)
        page_made_say(w->made,
                      times >= 2 ? ": %s costs %.2f times that" : ": %s is within %.1f %% of that",
                      lead->label, times >= 2 ? times : 100 * fmax(times - 1, 0));
    if (isfinite(w->plan_usd) && w->plan_usd > (1 + same) * w->bound_usd)
        page_made_say(w->made, "; such a plan was found at %s", usd_text(w, w->plan_usd));
    page_made_say(w->made, ".\n");
}

/* "static ran 62 % on demand to keep the deadline.": what it is compared with was no plan. */
static void say_rescued(const struct market_buy *w)
{
    const struct market_result *r = w->fixed < w->run_count ? &w->runs[w->fixed].result : NULL;
    double rescued_s = 0, all_s = 0;

    for (size_t i = 0; r != NULL && i < r->job_count; i++) {
        const struct market_outcome *o = &r->jobs[i];
        bool spot = o->stay_count > 0 && w->prices->offers[o->stays[0].offer].how == MARKET_SPOT;
        all_s += o->spot_s + o->on_demand_s;
        rescued_s += o->guarded && spot ? o->on_demand_s : 0;
    }
    if (w->fixed != 0 && all_s > 0 && rescued_s >= 0.1 * all_s)
        page_made_say(w->made, "static ran %.0f %% on demand to keep the deadline%s.\n",
                      100 * rescued_s / all_s, page_plural(w->job_count));
}

static void write_verdict(const struct market_buy *w)
{
    say_missed(w);
    if (w->runs[0].sums.finished < w->job_count) {
        say_unfinished(w);
    } else {
        say_lead(w);
        say_trade(w, find_trade(w, true));
        say_trade(w, find_trade(w, false));
    }
    say_bound(w);
    say_how(w);
    say_rescued(w);
}

/* ---- what was assumed ---- */

static void note_assumed(const struct market_buy *w)
{
    if (w->speeds_said == MARKET_BUY_PER_ANY_ACCELERATOR)
        page_warn(w->made, "no speeds were given: every accelerator counts the same, whatever it "
                           "is; say better with --speed, or choose with --kinds");
    else if (w->speeds_said == MARKET_BUY_PER_ACCELERATOR)
        page_info(w->made,
                  "no speeds were given: kinds are as fast as they have accelerators; see --speed");
    else if (w->speeds_said == MARKET_BUY_PER_INSTANCE)
        page_warn(w->made,
                  "no speeds were given: every kind of instance counts the same; see --speed");
    if (w->kinds_left_out > 0)
        page_info(w->made,
                  "left out: %zu kind%s whose accelerators are not known; give speeds with --speed",
                  w->kinds_left_out, page_plural(w->kinds_left_out));
    if (!isnan(w->work_default_s))
        page_info(w->made, "no --work was given: this is for %s", w->title);
    if (w->deadline_default)
        page_info(w->made, "no --deadline was given: it is assumed to be 1.5 times the work");
    if (w->avail == NULL)
        page_info(w->made, "every offer is taken as available whenever it has a price; see "
                           "--availability and --interruptions");
}

void market_buy_say(struct market_buy *w)
{
    write_title(w);
    w->made->result.title = page_made_text(w->made, "%s", w->title);
    write_head(w);
    write_verdict(w);
    note_assumed(w);
}
