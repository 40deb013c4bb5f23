/* page.c - the page: what is on it, in which order, and what its parts share; also the sums that
 * sentences and tables are made of.
 *
 * Files: page_text.c (words, table, how to repeat it), page_prices.c (prices and the moves on
 * them), page_time.c (who was where, cost over time, moves, jobs). Tests:
 * tests/unit/market/test_page.c. */
#include "market/page_parts.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "market/date.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sums ---- */

struct market_sums market_run_sums(const struct market_story *story, size_t run)
{
    const struct market_result *r = &story->runs[run].result;
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
        sums.stays += o->stay_count;
        made += o->steps + o->lost_steps;
        lost += o->lost_steps;
    }
    sums.lost_share = made > 0 ? lost / made : 0;
    return sums;
}

double market_times_less(double usd, double other)
{
    return usd > 0 && other > 0 ? other / usd : (double)NAN;
}

double market_run_times(const struct market_story *story, size_t run)
{
    if (story->fixed == SIZE_MAX)
        return (double)NAN;
    struct market_sums sums = market_run_sums(story, run);
    struct market_sums fixed = market_run_sums(story, story->fixed);
    bool done = sums.finished == story->job_count && fixed.finished == story->job_count;
    return done ? market_times_less(sums.usd, fixed.usd) : (double)NAN;
}

double market_run_rescued(const struct market_story *story, size_t run)
{
    const struct market_result *r = &story->runs[run].result;
    double rescued_s = 0, all_s = 0;

    for (size_t i = 0; i < r->job_count; i++) {
        const struct market_outcome *o = &r->jobs[i];
        bool spot =
            o->stay_count > 0 && story->prices->offers[o->stays[0].offer].how == MARKET_SPOT;
        all_s += o->spot_s + o->on_demand_s;
        rescued_s += o->guarded && spot ? o->on_demand_s : 0;
    }
    return all_s > 0 ? rescued_s / all_s : 0;
}

size_t market_run_cheapest(const struct market_story *story)
{
    size_t best = SIZE_MAX;
    double least = INFINITY;

    for (size_t i = 0; i < story->run_count; i++) {
        struct market_sums sums = market_run_sums(story, i);
        if (sums.finished == story->job_count && sums.usd < least) {
            least = sums.usd;
            best = i;
        }
    }
    return best;
}

uint32_t market_run_first(const struct market_run *run)
{
    for (size_t i = 0; i < run->result.job_count; i++)
        if (run->result.jobs[i].stay_count > 0)
            return run->result.jobs[i].stays[0].offer;
    return MARKET_NONE;
}

double market_unit_price(const struct market_story *story, size_t job, uint32_t offer, double usd_h)
{
    const struct market_job *j = &story->jobs[job];
    double speed = j->speed[story->prices->offers[offer].kind];
    double unit = story->unit != MARKET_NONE ? j->speed[story->unit] : 0;

    if (!(speed > 0))
        return (double)NAN;
    return usd_h * (unit > 0 ? unit / speed : 1);
}

const char *market_place_text(const struct market_story *story, uint32_t offer, char *buf,
                              size_t size)
{
    const struct market_prices *p = story->prices;
    const struct market_offer *of = &p->offers[offer];
    const char *cloud = story->one_cloud ? "" : market_names_get(&p->clouds, of->cloud);
    const char *kind = story->one_kind ? "" : market_names_get(&p->kinds, of->kind);

    snprintf(buf, size, "%s%s%s%s%s%s", cloud, *cloud != '\0' ? " " : "",
             market_names_get(&p->zones, of->zone), *kind != '\0' ? " " : "", kind,
             of->how == MARKET_ON_DEMAND ? " on demand" : "");
    return buf;
}

const char *market_end_text(const struct market_outcome *outcome, size_t stay)
{
    const struct market_stay *s = &outcome->stays[stay];
    bool last = stay + 1 == outcome->stay_count;

    switch ((enum market_end)s->end) {
    case MARKET_END_DONE: return "done";
    case MARKET_END_MOVED:
        return last || s[1].from_s > s->to_s + 60 ? "waits for less" : "cheaper elsewhere";
    case MARKET_END_INTERRUPTED: return "interrupted";
    case MARKET_END_GUARD: return "goes on demand in time";
    case MARKET_END_BUDGET: return "budget spent";
    case MARKET_END_HISTORY: return "prices end";
    case MARKET_END_COUNT: break;
    }
    return "";
}

const char *market_duration_text(double seconds, char *buf, size_t size)
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

/* ---- what the parts share ---- */

unsigned market_page_colour(const struct market_page *page, uint32_t offer)
{
    for (unsigned i = 0; i < page->place_count; i++)
        if (page->places[i] == offer)
            return i;
    return PAGE_COLOURS - 1;
}

void market_page_place(struct base_buf *out, const struct market_page *page, uint32_t offer)
{
    char text[4 * (MARKET_NAME_MAX + 1) + 32];

    page_name(out, market_place_text(page->story, offer, text, sizeof text),
              MARKET_PAGE_PLACE_CHARS);
}

void market_page_strategy(struct base_buf *out, const struct market_run *run)
{
    page_name_breaks(out, run->label, 60);
}

double market_page_x(const struct market_page *page, double at_s)
{
    return fmin(fmax((at_s - page->story->from_s) / page->span_s, 0), 1);
}

static void add_tick(const struct market_page *page, struct page_axis *axis, double at_s,
                     enum market_date_form form)
{
    if (axis->count == PAGE_TICKS_MAX)
        return;
    struct page_tick *tick = &axis->ticks[axis->count++];
    tick->at = market_page_x(page, at_s);
    tick->optional = (axis->count & 1) == 0;
    market_date_format(at_s, form, tick->label, sizeof tick->label);
}

/* The first of every month, or of every second, third, ... at most nine of them. */
static void month_ticks(const struct market_page *page, struct page_axis *axis)
{
    double months = page->span_s / (30.4 * 86400);
    int every = months <= 9 ? 1 : months <= 18 ? 2 : months <= 27 ? 3 : months <= 54 ? 6 : 12;
    char day[16];

    long first = lround(ceil(page->story->from_s / 86400));
    long last = lround(floor(page->story->to_s / 86400));
    for (long d = first; d <= last; d++) {
        double at = (double)d * 86400;
        market_date_format(at, MARKET_DATE_DAY, day, sizeof day);
        if (strcmp(day + 8, "01") == 0 && (atoi(day + 5) - 1) % every == 0)
            add_tick(page, axis, at, months > 9 ? MARKET_DATE_MONTH : MARKET_DATE_SHORT);
    }
}

/* Whole hours or days, at most eight of them, or months. */
void market_page_dates(const struct market_page *page, struct page_axis *axis)
{
    static const double steps_h[] = {1, 2, 3, 6, 12, 24, 48, 120, 168, 336};
    double step_s = 0;

    axis->count = 0;
    for (size_t i = BASE_COUNT(steps_h); i-- > 0;)
        if (page->span_s / (steps_h[i] * 3600) <= 8)
            step_s = steps_h[i] * 3600;
    if (step_s == 0) {
        month_ticks(page, axis);
        return;
    }
    double first = ceil(page->story->from_s / step_s) * step_s;
    for (int i = 0; first + i * step_s <= page->story->to_s && i < PAGE_TICKS_MAX; i++) {
        double at = first + i * step_s;
        add_tick(page, axis, at, fmod(at, 86400) == 0 ? MARKET_DATE_SHORT : MARKET_DATE_CLOCK);
    }
}

void market_page_dollars(struct page_axis *axis)
{
    for (size_t i = 0; i < axis->count; i++) {
        char label[sizeof axis->ticks[i].label];
        snprintf(label, sizeof label, "$%.*s", (int)sizeof label - 2, axis->ticks[i].label);
        memcpy(axis->ticks[i].label, label, sizeof label);
    }
}

void market_page_spend(const struct market_page *page, double *bins, double from_s, double to_s,
                       double usd)
{
    double step = page->span_s / MARKET_PAGE_BINS;
    double from = (from_s - page->story->from_s) / step, to = (to_s - page->story->from_s) / step;

    if (!(to > from)) {
        double at = fmin(fmax(floor(from), 0), MARKET_PAGE_BINS - 1);
        bins[(size_t)at] += usd;
        return;
    }
    for (double b = fmax(floor(from), 0); b < to && b < MARKET_PAGE_BINS; b++)
        bins[(size_t)b] += usd * (fmin(to, b + 1) - fmax(from, b)) / (to - from);
}

/* ---- which places have a colour ---- */

/* Time of every run on the offer; the lead's counts a hundredfold, so that its places come
 * first. */
static double weigh(const struct market_story *s, double *time_s)
{
    double all = 0;

    for (size_t r = 0; r < s->run_count; r++)
        for (size_t j = 0; j < s->runs[r].result.job_count; j++) {
            const struct market_outcome *o = &s->runs[r].result.jobs[j];
            for (size_t i = 0; i < o->stay_count; i++) {
                double lasted = o->stays[i].to_s - o->stays[i].from_s;
                time_s[o->stays[i].offer] += lasted * (r == s->lead ? 100 : 1);
                all += lasted;
            }
        }
    return all;
}

/* The offer the fixed run stays on has a colour in any case. */
static shoal_status choose_places(struct market_page *page)
{
    const struct market_story *s = page->story;
    size_t count = s->prices->offer_count;
    double *time_s = base_calloc(page->out->alloc, count + 1, sizeof *time_s);

    if (time_s == NULL)
        return SHOAL_E_NOMEM;
    (void)weigh(s, time_s);
    uint32_t kept = s->fixed != SIZE_MAX ? market_run_first(&s->runs[s->fixed]) : MARKET_NONE;
    while (page->place_count < MARKET_PAGE_PLACES) {
        size_t best = count;
        for (size_t o = 0; o < count; o++)
            if (time_s[o] > 0 && (best == count || time_s[o] > time_s[best]))
                best = o;
        bool last = page->place_count + 1 == MARKET_PAGE_PLACES;
        if (last && kept != MARKET_NONE && time_s[kept] > 0)
            best = kept;
        if (best == count)
            break;
        page->place_s[page->place_count] = time_s[best];
        page->places[page->place_count++] = (uint32_t)best;
        time_s[best] = 0;
    }
    for (size_t o = 0; o < count; o++)
        page->others = page->others || time_s[o] > 0;
    base_free(page->out->alloc, time_s);
    return SHOAL_OK;
}

/* ---- the page ---- */

static const char more_style[] =
    ".path{fill:none;stroke:var(--accent);stroke-width:7;stroke-opacity:.28;stroke-linejoin:round}"
    "\n"
    ".hop{stroke:var(--accent);stroke-width:1.5;fill:none}.hop.many{stroke-width:.75}\n"
    "p+.legend{margin-top:8px}\n"
    ".low{fill:none;stroke:var(--k6);stroke-width:1.25}\n"
    ".key{display:inline-block;width:12px;height:12px}.stay{stroke:none;fill-opacity:.8}\n"
    ".nb{white-space:nowrap}\n"
    ".lanes.who{padding-left:96px}\n"
    "@media (max-width:720px){.lanes.who{padding-left:80px}.narrow td:nth-child(n+6),.narrow "
    "th:nth-child(n+6){display:none}}\n";

shoal_status market_page(const struct market_story *story, struct base_buf *out, shoal_err *err)
{
    struct market_page page = {
        .out = out, .story = story, .span_s = fmax(story->to_s - story->from_s, 1)};
    char from[32], to[32];

    if (story->run_count == 0)
        return base_err(err, SHOAL_E_INVAL, "cannot write a report without results");
    shoal_status st = choose_places(&page);
    page_head_open(out);
    page_name(out, story->title, 120);
    page_head_close(out, more_style);
    page_top(out, "market report");
    base_buf_puts(out, "<div class=\"title\"><h1>");
    page_name(out, story->title, 120);
    base_buf_printf(out, "</h1><span class=\"dim\">%s to %s \xc2\xb7 %zu strateg%s</span></div>\n",
                    market_date_format(story->from_s, MARKET_DATE_MINUTE, from, sizeof from),
                    market_date_format(story->to_s, MARKET_DATE_MINUTE, to, sizeof to),
                    story->run_count, story->run_count == 1 ? "y" : "ies");
    market_page_words(&page);
    market_page_table(&page);
    if (st == SHOAL_OK)
        st = market_page_prices(&page);
    market_page_places(&page);
    if (st == SHOAL_OK)
        st = market_page_cost(&page);
    market_page_moves(&page);
    if (story->job_count > 1)
        market_page_jobs(&page);
    market_page_repeat(&page);
    page_end(out);
    if (st == SHOAL_OK)
        st = base_buf_status(out);
    if (st == SHOAL_E_LIMIT)
        return base_err(err, st, "cannot write the report: larger than %zu bytes", out->size_max);
    return st == SHOAL_OK ? st : base_err_nomem(err, "writing the report");
}
