/* page_text.c - the words of the page: the findings, the table of strategies, how to repeat it. */
#include "market/page_parts.h"

#include "base/assert.h"
#include "base/text.h"
#include "market/date.h"
#include "shoal/version.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- findings ---- */

/* "Buying by shoal costs $263, 2.69 times less than $707 for staying on ..." */
static void say_lead(const struct market_page *page)
{
    const struct market_story *s = page->story;
    const struct market_run *lead = &s->runs[s->lead];
    struct market_sums sums = market_run_sums(s, s->lead);
    struct base_buf *out = page->out;
    char text[64];

    base_buf_puts(out, "<p class=\"lead\">Buying by <b>");
    market_page_strategy(out, lead);
    base_buf_printf(out, "</b> costs <b>%s</b>", page_usd(sums.usd, text, sizeof text));
    if (s->fixed != SIZE_MAX && s->fixed != s->lead) {
        struct market_sums stay = market_run_sums(s, s->fixed);
        double times = market_run_times(s, s->lead);
        uint32_t first = market_run_first(&s->runs[s->fixed]);
        if (isfinite(times))
            base_buf_printf(out, ", %.2f times %s than the %s of staying ",
                            times >= 1 ? times : 1 / times, times >= 1 ? "less" : "more",
                            page_usd(stay.usd, text, sizeof text));
        else
            base_buf_puts(out, "; the other choice is to stay ");
        if (s->job_count == 1 && first != MARKET_NONE) {
            base_buf_puts(out, "on ");
            market_page_place(out, page, first);
            base_buf_puts(out, ", the cheapest at the start");
        } else {
            base_buf_puts(out, "where each job began");
        }
    }
    if (sums.finished < s->job_count)
        base_buf_printf(out, ", but %zu of %zu job%s not done", s->job_count - sums.finished,
                        s->job_count, s->job_count - sums.finished == 1 ? " is" : "s are");
    base_buf_puts(out, ".");
    double share =
        s->fixed == SIZE_MAX || s->fixed == s->lead ? 0 : market_run_rescued(s, s->fixed);
    if (share >= 0.1)
        base_buf_printf(out, " Staying ran %.0f\xc2\xa0%% on demand to keep the deadline.",
                        100 * share);
    base_buf_puts(out, "</p>");
    if (s->bare_left_out > 0)
        base_buf_printf(out,
                        "<p>Left out: %zu offer%s of accelerators without their host (see "
                        "<code>--bare</code>).</p>",
                        s->bare_left_out, plural(s->bare_left_out));
}

/* What it did for that: moves, interruptions, time that was no work. */
static void say_how(const struct market_page *page)
{
    const struct market_story *s = page->story;
    const struct market_result *r = &s->runs[s->lead].result;
    struct market_sums sums = market_run_sums(s, s->lead);
    struct base_buf *out = page->out;
    double all_s = sums.run_s + sums.starting_s + sums.idle_s;
    char text[4][64];

    base_buf_printf(out, "<p>It moves %u time%s", r->moves, plural(r->moves));
    if (r->interruptions > 0)
        base_buf_printf(out, ", is interrupted %u time%s", r->interruptions,
                        plural(r->interruptions));
    if (sums.lost_share > 0)
        base_buf_printf(out, " (%s of its steps are made twice)",
                        page_percent(sums.lost_share, text[0], sizeof text[0]));
    if (sums.egress_usd > 0)
        base_buf_printf(out, ", pays %s for egress",
                        page_usd(sums.egress_usd, text[0], sizeof text[0]));
    if (all_s > 0)
        base_buf_printf(out, ", and spends %s of its time starting up and %s holding nothing",
                        page_percent(sums.starting_s / all_s, text[1], sizeof text[1]),
                        page_percent(sums.idle_s / all_s, text[2], sizeof text[2]));
    if (sums.on_demand_s > 0 && sums.run_s > 0)
        base_buf_printf(out, "; %s of its running time is on demand",
                        page_percent(sums.on_demand_s / sums.run_s, text[3], sizeof text[3]));
    base_buf_puts(out, ".");
    if (isfinite(sums.finish_s))
        base_buf_printf(
            out, " It is done on <span class=\"nb\">%s</span>.",
            market_date_format(sums.finish_s, MARKET_DATE_MINUTE, text[0], sizeof text[0]));
    if (r->missed > 0)
        base_buf_printf(out, " It misses %u deadline%s.", r->missed, plural(r->missed));
    base_buf_puts(out, "</p>");
}

static void say_bound(const struct market_page *page)
{
    const struct market_story *s = page->story;
    struct market_sums sums = market_run_sums(s, s->lead);
    struct base_buf *out = page->out;
    char text[64];

    if (isnan(s->bound_usd))
        return;
    if (isinf(s->bound_usd)) {
        base_buf_puts(out, "<p>No plan at all does the work in time, not even one that knows all "
                           "prices and interruptions beforehand.</p>");
        return;
    }
    base_buf_printf(out,
                    "<p>No plan can cost less than <b>%s</b>, not even one that knows all prices "
                    "and interruptions beforehand",
                    page_usd(s->bound_usd, text, sizeof text));
    if (sums.finished == s->job_count && s->bound_usd > 0) {
        base_buf_puts(out, ": ");
        market_page_strategy(out, &s->runs[s->lead]);
        if (sums.usd >= 2 * s->bound_usd)
            base_buf_printf(out, " costs %.2f times that", sums.usd / s->bound_usd);
        else
            base_buf_printf(out, " is within %.1f\xc2\xa0%% of that",
                            100 * fmax(sums.usd / s->bound_usd - 1, 0));
    }
    if (isfinite(s->plan_usd) && s->plan_usd > 1.005 * s->bound_usd)
        base_buf_printf(out, "; such a plan was found at %s",
                        page_usd(s->plan_usd, text, sizeof text));
    base_buf_puts(out, ".</p>");
}

/* A budget that no plan can keep to. */
static void say_poor(const struct market_page *page)
{
    const struct market_story *s = page->story;
    char text[64];

    if (s->poor_count == 0)
        return;
    base_buf_puts(page->out, "<p>The budget of ");
    if (s->job_count > 1) {
        base_buf_html(page->out, s->jobs[s->poor].name);
        base_buf_puts(page->out, ", ");
    }
    base_buf_printf(
        page->out,
        "<b>%s</b>%s is not enough%s: ", page_usd(s->jobs[s->poor].budget_usd, text, sizeof text),
        s->job_count > 1 ? "," : "", isfinite(s->jobs[s->poor].deadline_s) ? " in this time" : "");
    base_buf_printf(page->out, "no plan costs less than %s",
                    page_usd(s->poor_usd, text, sizeof text));
    if (s->poor_count == 2)
        base_buf_puts(page->out, ". Nor is that of one more job");
    else if (s->poor_count > 2)
        base_buf_printf(page->out, ". Nor are those of %zu more jobs", s->poor_count - 1);
    base_buf_puts(page->out, ".</p>");
}

void market_page_words(const struct market_page *page)
{
    base_buf_puts(page->out, "<section class=\"panel words\" aria-label=\"Findings\">");
    say_poor(page);
    say_lead(page);
    say_how(page);
    say_bound(page);
    base_buf_puts(page->out, "</section>\n");
}

/* ---- the table ---- */

enum column {
    COLUMN_COST,
    COLUMN_AGAINST,
    COLUMN_FINISH,
    COLUMN_MOVES,
    COLUMN_INTERRUPTED,
    COLUMN_ON_DEMAND,
    COLUMN_IDLE,
    COLUMN_EGRESS,
    COLUMN_MISSED,
    COLUMN_COUNT
};
static const char *const heads[COLUMN_COUNT] = {"cost",  "against static", "finish",
                                                "moves", "interrupted",    "on demand",
                                                "idle",  "egress",         "missed"};

static const char *cell(const struct market_page *page, size_t run, enum column column, char *buf,
                        size_t size)
{
    const struct market_story *s = page->story;
    const struct market_result *r = &s->runs[run].result;
    struct market_sums sums = market_run_sums(s, run);
    double all_s = sums.run_s + sums.starting_s + sums.idle_s, times = NAN;

    switch (column) {
    case COLUMN_COST: return page_usd(sums.usd, buf, size);
    case COLUMN_AGAINST:
        if (s->fixed != run)
            times = market_run_times(s, run);
        if (isnan(times))
            break;
        if (fabs(times - 1) < 0.005)
            return "the same";
        snprintf(buf, size, "%.2f\xc3\x97 %s", times >= 1 ? times : 1 / times,
                 times >= 1 ? "less" : "more");
        return buf;
    case COLUMN_FINISH:
        if (isnan(sums.finish_s))
            return "not done";
        return market_date_format(sums.finish_s, MARKET_DATE_MINUTE, buf, size);
    case COLUMN_MOVES: return base_format_count(r->moves, buf, size);
    case COLUMN_INTERRUPTED: return base_format_count(r->interruptions, buf, size);
    case COLUMN_ON_DEMAND:
        return page_percent(sums.run_s > 0 ? sums.on_demand_s / sums.run_s : 0, buf, size);
    case COLUMN_IDLE: return page_percent(all_s > 0 ? sums.idle_s / all_s : 0, buf, size);
    case COLUMN_EGRESS: return page_usd(sums.egress_usd, buf, size);
    case COLUMN_MISSED: return base_format_count(r->missed, buf, size);
    case COLUMN_COUNT: break;
    }
    return "\xe2\x80\x93";
}

void market_page_table(const struct market_page *page)
{
    const struct market_story *s = page->story;
    struct base_buf *out = page->out;
    double most = 0;
    size_t cheapest = market_run_cheapest(s);
    char text[64];

    for (size_t i = 0; i < s->run_count; i++)
        most = fmax(most, market_run_sums(s, i).usd);
    page_panel_open(out, "cmp", s->run_count > 1 ? "Strategies side by side" : "In numbers",
                    s->run_count > 1 ? "the least cost in bold; bars are relative to the largest"
                                     : NULL);
    base_buf_puts(out, "<table class=\"cmp\"><thead><tr><th scope=\"col\">Strategy</th>");
    for (enum column c = 0; c < COLUMN_COUNT; c++)
        base_buf_printf(out, "<th scope=\"col\" class=\"r\">%s</th>", heads[c]);
    base_buf_puts(out, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < s->run_count; i++) {
        struct market_sums sums = market_run_sums(s, i);
        base_buf_puts(out, "<tr><th scope=\"row\">");
        market_page_strategy(out, &s->runs[i]);
        base_buf_puts(out, "</th>");
        for (enum column c = 0; c < COLUMN_COUNT; c++) {
            bool best = c == COLUMN_COST && s->run_count > 1 && i == cheapest;
            base_buf_printf(out, "<td class=\"r%s%s\" data-l=\"%s\">%s",
                            c == COLUMN_COST ? " wide" : "", best ? " best" : "", heads[c],
                            cell(page, i, c, text, sizeof text));
            if (c == COLUMN_COST && s->run_count > 1)
                base_buf_printf(out, "<span class=\"bar\"><i style=\"width:%.0f%%\"></i></span>",
                                most > 0 ? sums.usd / most * 100 : 0);
            base_buf_puts(out, "</td>");
        }
        base_buf_puts(out, "</tr>\n");
    }
    base_buf_puts(out, "</tbody></table>\n");
    page_panel_close(out);
}

/* ---- how to repeat it ---- */

static void fact(struct base_buf *out, const char *name, const char *value)
{
    page_fact_open(out, name);
    base_buf_puts(out, value);
    page_fact_close(out);
}

void market_page_repeat(const struct market_page *page)
{
    const struct market_story *s = page->story;
    const struct market_costs *c = s->costs;
    struct base_buf *out = page->out;
    char text[160], part[3][64];

    page_panel_open(out, "repeat", "To repeat this",
                    "the same input, seed and version give the same numbers");
    if (s->command != NULL) {
        base_buf_puts(out, "<p class=\"cmd mono\">");
        base_buf_html(out, s->command);
        base_buf_puts(out, "</p>");
    }
    base_buf_puts(out, "<dl class=\"facts\">\n");
    page_fact_open(out, "Prices");
    base_buf_printf(out, "%s changes of %zu offers, ",
                    base_format_count(s->prices->point_count, text, sizeof text),
                    s->prices->offer_count);
    page_name(out, s->prices->format, 20);
    page_fact_close(out);
    page_fact_open(out, "Input hash");
    base_buf_printf(out, "<span class=\"mono\">%016" PRIx64 "</span>", s->prices->input_hash);
    page_fact_close(out);
    fact(out, "A look at the market every", page_duration(s->step_s, text, sizeof text));
    fact(out, "Availability", s->avail != NULL ? "as said" : "all the time");
    snprintf(text, sizeof text, "%s to start, %s to write a checkpoint every %s",
             page_duration(c->startup_s, part[0], sizeof part[0]),
             page_duration(c->checkpoint_s, part[1], sizeof part[1]),
             page_duration(c->checkpoint_every_s, part[2], sizeof part[2]));
    fact(out, "Moving", text);
    snprintf(text, sizeof text, "%.3g, %.3g and %.3g $/GB to a zone, region, cloud", c->zone_usd_gb,
             c->region_usd_gb, c->cloud_usd_gb);
    fact(out, "Egress", text);
    snprintf(text, sizeof text, "%" PRIu64, s->seed);
    fact(out, "Seed", text);
    fact(out, "Version", "shoal " SHOAL_VERSION);
    base_buf_puts(out, "</dl>\n");
    page_panel_close(out);
}
