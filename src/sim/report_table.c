/* report_table.c - the tables of the report: policies side by side, where the waiting came from,
 * the worst-off jobs. Tests: tests/unit/sim/test_report.c. */
#include "sim/report_parts.h"

#include "base/assert.h"
#include "base/text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- policies side by side ---- */

enum format { DURATION, RATIO, SHARE, COUNT, USD, MS };

static const struct column {
    const char *head, *meaning;
    enum sim_report_metric metric;
    enum format format;
    bool more; /* more is better */
} columns[] = {
    {"avg completion", "mean time from submission to the end", SIM_METRIC_AVG_JCT, DURATION, false},
    {"median", "half of the jobs are done within this time", SIM_METRIC_P50_JCT, DURATION, false},
    {"p99", "99 of 100 jobs are done within this time", SIM_METRIC_P99_JCT, DURATION, false},
    {"makespan", "until the last job ends", SIM_METRIC_MAKESPAN, DURATION, false},
    {"avg rho", "mean of completion time over that of an equal share", SIM_METRIC_AVG_RHO, RATIO,
     false},
    {"worst rho", "the job that is worst off against an equal share", SIM_METRIC_WORST_RHO, RATIO,
     false},
    {"unfair", "share of jobs worse off than with an equal share", SIM_METRIC_UNFAIR, SHARE, false},
    {"busy", "share of GPU time that was held", SIM_METRIC_BUSY, SHARE, true},
    {"avg wait", "mean time without GPUs", SIM_METRIC_AVG_WAIT, DURATION, false},
    {"restarts", "starts of a job after its first", SIM_METRIC_RESTARTS, COUNT, false},
    {"missed", "jobs that did not end by their deadline", SIM_METRIC_MISSED, COUNT, false},
    {"cost", "price of the GPU time held", SIM_METRIC_COST, USD, false},
    {"node hours", "hours of nodes that were wanted", SIM_METRIC_NODES, COUNT, false},
    {"decision", "median time of one decision", SIM_METRIC_DECISION, MS, false},
};

static const char *format_value(const struct column *column, double value, enum page_unit unit,
                                char *buf, size_t size)
{
    switch (column->format) {
    case DURATION: return page_duration_in(value, unit, buf, size);
    case RATIO:
        if (!isfinite(value))
            break;
        snprintf(buf, size, value < 99.95 ? "%.2f" : "%.0f", value);
        return buf;
    case SHARE: return page_percent(value, buf, size);
    case COUNT:
        if (!isfinite(value))
            break;
        return base_format_count((uint64_t)value, buf, size);
    case USD: return page_usd(value, buf, size);
    case MS: return page_ms(value, buf, size);
    }
    return page_number(value, buf, size);
}

/* The value as the run has it, for the reader who points at the cell. */
static void write_exact(struct base_buf *out, const struct column *column,
                        const struct sim_metrics *m, double value)
{
    if (!isfinite(value))
        base_buf_puts(out,
                      column->format == USD ? " title=\"a kind that was used has no price\"" : "");
    else if (column->format == DURATION)
        base_buf_printf(out, " title=\"%.3f s\"", value);
    else if (column->format == MS)
        base_buf_printf(out, " title=\"median %.4g ms, p99 %.4g ms, %.4g s in all\"", value,
                        m->decision_ms_p99, m->decision_s);
    else if (column->format != COUNT)
        base_buf_printf(out, " title=\"%.6g\"", value);
}

/* A column of this page: how its values rank, and the unit that suits them. */
struct ranked {
    struct sim_report_rank rank;
    enum page_unit unit;
    bool shown;
};

/* Whether the text reads like the best value where not all read alike: a difference nobody sees is
 * none. */
static bool is_best(const struct column *column, const struct ranked *ranked, const char *text)
{
    char best[64], worst[64];
    format_value(column, ranked->rank.best_value, ranked->unit, best, sizeof best);
    format_value(column, ranked->rank.worst_value, ranked->unit, worst, sizeof worst);
    return ranked->rank.valid > 1 && strcmp(best, worst) != 0 && strcmp(best, text) == 0;
}

static void write_cell(struct base_buf *out, const struct column *column,
                       const struct ranked *ranked, const struct sim_metrics *m, bool bar)
{
    double value = sim_report_metric(column->metric, m);
    double most = fmax(ranked->rank.best_value, ranked->rank.worst_value);
    char text[64];
    format_value(column, value, ranked->unit, text, sizeof text);
    base_buf_printf(out, "<td class=\"r%s%s\" data-l=\"%s\"", column == columns ? " wide" : "",
                    is_best(column, ranked, text) ? " best" : "", column->head);
    write_exact(out, column, m, value);
    base_buf_printf(out, ">%s", text);
    if (bar && isfinite(value))
        base_buf_printf(out, "<span class=\"bar\"><i style=\"width:%.0f%%\"></i></span>",
                        most > 0 ? fmax(0, value / most * 100) : 0);
    base_buf_puts(out, "</td>");
}

void sim_report_comparison(const struct sim_report_page *page)
{
    struct base_buf *out = page->out;
    struct ranked ranked[BASE_COUNT(columns)];
    for (size_t c = 0; c < BASE_COUNT(columns); c++) {
        struct ranked *r = &ranked[c];
        r->rank = sim_report_rank_by(page, columns[c].metric, columns[c].more);
        r->unit = page_unit_for((double[]){r->rank.best_value, r->rank.worst_value}, 2);
        bool may_lack = columns[c].metric == SIM_METRIC_COST ||
                        columns[c].metric == SIM_METRIC_MISSED ||
                        columns[c].metric == SIM_METRIC_NODES;
        r->shown = !may_lack || r->rank.valid > 0;
    }
    page_panel_open(
        out, "cmp", page->count > 1 ? "Policies side by side" : "In numbers",
        page->count > 1 ? "best of each column in bold; bars are relative to the largest" : NULL);
    base_buf_puts(out, "<table class=\"cmp\"><thead><tr><th scope=\"col\">Policy</th>");
    for (size_t c = 0; c < BASE_COUNT(columns); c++)
        if (ranked[c].shown)
            base_buf_printf(out, "<th scope=\"col\" class=\"r\" title=\"%s\">%s</th>",
                            columns[c].meaning, columns[c].head);
    base_buf_puts(out, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < page->count; i++) {
        base_buf_puts(out, "<tr><th scope=\"row\">");
        sim_report_policy(out, page->results[i]);
        base_buf_puts(out, "</th>");
        for (size_t c = 0; c < BASE_COUNT(columns); c++)
            if (ranked[c].shown)
                write_cell(out, &columns[c], &ranked[c], &page->results[i]->metrics,
                           page->count > 1);
        base_buf_puts(out, "</tr>\n");
    }
    base_buf_puts(out, "</tbody></table>\n");
    page_panel_close(out);
}

/* ---- where the waiting came from ---- */

static const struct reason {
    enum sched_reason reason;
    unsigned colour; /* of the seven kinds; 6 for all that are rare */
    const char *name, *meaning;
} reasons[] = {
    {SCHED_WHY_CAPACITY, 1, "capacity", "of the GPUs it can use, none was free"},
    {SCHED_WHY_GANG, 4, "gang", "some were free, fewer than it asks for at once"},
    {SCHED_WHY_LOCALITY, 3, "locality",
     "enough were free, but not where its placement rules allow"},
    {SCHED_WHY_FAIR_SHARE, 0, "fair share",
     "jobs that come before it under the policy hold the GPUs or wait for them"},
    {SCHED_WHY_NEXT_ROUND, 2, "next round",
     "decisions are made once per round; the next one looks at it"},
    {SCHED_WHY_LIMIT, 5, "limit", "a limit was reached"},
    {SCHED_WHY_DEADLINE_SLACK, 6, "deadline slack", "its deadline leaves time"},
    {SCHED_WHY_PRICE, 6, "price", "the price of the GPUs is better spent on other jobs"},
    {SCHED_WHY_HELD, 6, "held", "held back by its owner"},
    {SCHED_WHY_DEPENDENCY, 6, "dependency", "waits for another job"},
    {SCHED_WHY_IMPOSSIBLE, 6, "impossible", "asks for more at once than this cluster has"},
    {SCHED_WHY_NONE, 6, "not stated", "the policy gave no reason"},
};

/* Seconds of waiting per job for this reason. */
static double reason_s(const struct sim_result *result, const struct reason *reason)
{
    uint64_t ran = sim_report_ran(result);
    double sum = result->metrics.wait_by_reason_s[reason->reason];
    return ran == 0 || !isfinite(sum) || sum < 0 ? 0 : sum / (double)ran;
}

static double waited_s(const struct sim_result *result)
{
    double sum = 0;
    for (size_t r = 0; r < BASE_COUNT(reasons); r++)
        sum += reason_s(result, &reasons[r]);
    return sum;
}

static bool reason_seen(const struct sim_report_page *page, const struct reason *reason)
{
    for (size_t i = 0; i < page->count; i++)
        if (reason_s(page->results[i], reason) > 0)
            return true;
    return false;
}

static void waiting_bar(const struct sim_report_page *page, const struct sim_result *result,
                        double most)
{
    struct base_buf *out = page->out;
    char text[64];
    base_buf_puts(out, "<div class=\"row\"><b>");
    sim_report_policy(out, result);
    base_buf_puts(out, "</b>");
    page_svg_open(out, 22);
    page_name(out, result->policy, SIM_REPORT_POLICY_CHARS);
    base_buf_puts(out, ": waiting per job:");
    for (size_t r = 0; r < BASE_COUNT(reasons); r++)
        if (reason_s(result, &reasons[r]) > 0)
            base_buf_printf(out, " %s %s;", reasons[r].name,
                            page_duration(reason_s(result, &reasons[r]), text, sizeof text));
    page_svg_label_done(out);
    base_buf_printf(out,
                    "<svg viewBox=\"0 0 %d 22\" height=\"22\" preserveAspectRatio=\"none\"><path "
                    "class=\"sunk\" "
                    "d=\"M0 0h%dv22h-%dz\"/>",
                    PAGE_WIDTH, PAGE_WIDTH, PAGE_WIDTH);
    double x = 0;
    for (size_t r = 0; r < BASE_COUNT(reasons); r++) {
        double width = reason_s(result, &reasons[r]) / most * PAGE_WIDTH;
        if (width >= 0.5)
            base_buf_printf(
                out,
                "<path class=\"j c%u\" d=\"M%.1f .5h%.1fv21h-%.1fz\"><title>%s %s</title></path>",
                reasons[r].colour, x, width, width, reasons[r].name,
                page_duration(reason_s(result, &reasons[r]), text, sizeof text));
        x += width;
    }
    base_buf_puts(out, "</svg>");
    x = 0;
    for (size_t r = 0; r < BASE_COUNT(reasons); r++) {
        double share = reason_s(result, &reasons[r]) / most;
        double needs_px =
            (6.2 * (double)page_name_chars(reasons[r].name, 20) + 8) / (share > 0 ? share : 1e-9);
        if (needs_px < 1000)
            base_buf_printf(out, "<text class=\"on m%s\" x=\"%.2f%%\" y=\"15\">%s</text>",
                            needs_px < 330   ? ""
                            : needs_px < 600 ? " l2"
                                             : " l3",
                            (x + share / 2) * 100, reasons[r].name);
        x += share;
    }
    page_svg_close(out);
    base_buf_printf(out, "<span class=\"r\">%s</span></div>\n",
                    page_duration(waited_s(result), text, sizeof text));
}

static void waiting_table(const struct sim_report_page *page)
{
    struct base_buf *out = page->out;
    page_details_open(out);
    base_buf_puts(out, "<thead><tr><th scope=\"col\">Policy</th>");
    for (size_t r = 0; r < BASE_COUNT(reasons); r++)
        if (reason_seen(page, &reasons[r]))
            base_buf_printf(out, "<th scope=\"col\" class=\"r\">%s</th>", reasons[r].name);
    base_buf_puts(out, "<th scope=\"col\" class=\"r\">all</th></tr></thead><tbody>");
    for (size_t i = 0; i < page->count; i++) {
        char text[64];
        base_buf_puts(out, "<tr><td>");
        sim_report_policy(out, page->results[i]);
        base_buf_puts(out, "</td>");
        for (size_t r = 0; r < BASE_COUNT(reasons); r++)
            if (reason_seen(page, &reasons[r]))
                base_buf_printf(
                    out, "<td class=\"r\">%s</td>",
                    page_duration(reason_s(page->results[i], &reasons[r]), text, sizeof text));
        base_buf_printf(out, "<td class=\"r\">%s</td></tr>",
                        page_duration(waited_s(page->results[i]), text, sizeof text));
    }
    base_buf_puts(out, "</tbody>");
    page_details_close(out);
}

void sim_report_waiting(const struct sim_report_page *page)
{
    struct base_buf *out = page->out;
    double most = 0;
    for (size_t i = 0; i < page->count; i++)
        most = fmax(most, waited_s(page->results[i]));
    page_panel_open(out, "why", "Where the waiting came from",
                    "mean time without GPUs per job, by reason");
    if (!(most > 0)) {
        base_buf_puts(out, "<p>No job waited.</p>");
        page_panel_close(out);
        return;
    }
    base_buf_puts(out, "<ul class=\"legend\">");
    for (size_t r = 0; r < BASE_COUNT(reasons); r++)
        if (reason_seen(page, &reasons[r]))
            base_buf_printf(
                out,
                "<li><svg class=\"c%u\" width=\"12\" height=\"12\" viewBox=\"0 0 12 12\" "
                "stroke-width=\"0\" aria-hidden=\"true\">%s</svg><span><b>%s</b> %s</span></li>",
                reasons[r].colour, page_shapes[reasons[r].colour], reasons[r].name,
                reasons[r].meaning);
    base_buf_puts(out, "</ul>\n");
    for (size_t i = 0; i < page->count; i++)
        waiting_bar(page, page->results[i], most);
    waiting_table(page);
    page_panel_close(out);
}

/* ---- the worst-off jobs ---- */

enum { WORST = 10 };

/* Fills `out` with the jobs of highest rho, worst first; returns how many. */
static size_t find_worst(const struct sim_result *result, size_t out[WORST])
{
    size_t n = 0;
    for (size_t job = 0; job < result->trace->job_count; job++) {
        float rho = result->jobs[job].rho;
        if (!isfinite(rho) || (n == WORST && rho <= result->jobs[out[n - 1]].rho))
            continue;
        size_t at = n < WORST ? n++ : n - 1;
        for (; at > 0 && result->jobs[out[at - 1]].rho < rho; at--)
            out[at] = out[at - 1];
        out[at] = job;
    }
    return n;
}

static void worst_panel(const struct sim_report_page *page, size_t index, const char *id,
                        const char *note)
{
    struct base_buf *out = page->out;
    const struct sim_result *result = page->results[index];
    size_t jobs[WORST], count = find_worst(result, jobs);
    base_buf_printf(
        out,
        "<section class=\"panel\" aria-labelledby=\"h-%s\"><div class=\"head\"><h2 id=\"h-%s\">",
        id, id);
    base_buf_puts(out, count == WORST ? "The ten jobs worst off under " : "Jobs worst off under ");
    sim_report_policy(out, result);
    base_buf_printf(out, "</h2><span class=\"dim small\">%s</span></div>\n", note);
    if (count == 0) {
        base_buf_puts(out, "<p>No job finished.</p>");
        page_panel_close(out);
        return;
    }
    base_buf_puts(
        out,
        "<table><thead><tr><th scope=\"col\">Job</th><th scope=\"col\" class=\"r\">GPUs</th>"
        "<th scope=\"col\" class=\"r hide\">submitted</th><th scope=\"col\" class=\"r\">waited</th>"
        "<th scope=\"col\" class=\"r\">took</th><th scope=\"col\" class=\"r hide\">starts</th>"
        "<th scope=\"col\" class=\"r\">rho</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < count; i++) {
        const struct sim_job *job = &result->trace->jobs[jobs[i]];
        const struct sim_job_result *row = &result->jobs[jobs[i]];
        char text[3][64];
        base_buf_puts(out, "<tr><td class=\"name\">");
        page_name(out, job->name, PAGE_NAME_CHARS);
        base_buf_printf(
            out,
            "</td><td class=\"r\">%u</td><td class=\"r hide\">%s</td><td class=\"r\">%s</td>"
            "<td class=\"r\">%s</td><td class=\"r hide\">%u</td><td class=\"r\">%.2f</td></tr>\n",
            job->gpus, page_duration(job->submit_s - result->origin_s, text[0], sizeof text[0]),
            page_duration(row->wait_s, text[1], sizeof text[1]),
            page_duration(sim_report_jct(result, jobs[i]), text[2], sizeof text[2]), row->starts,
            (double)row->rho);
    }
    base_buf_puts(out, "</tbody></table>\n");
    page_panel_close(out);
}

void sim_report_worst(const struct sim_report_page *page)
{
    struct sim_report_rank fair = sim_report_rank_by(page, SIM_METRIC_WORST_RHO, false);
    struct sim_report_rank slow = sim_report_rank_by(page, SIM_METRIC_AVG_JCT, false);
    bool fairer = fair.valid > 0 && fair.best != page->lead;
    size_t other = fairer ? fair.best : slow.valid > 0 ? slow.worst : page->lead;
    const char *note = page->count == 1 ? "highest rho first"
                                        : "the policy with the lowest average completion time";
    if (other == page->lead) {
        worst_panel(page, page->lead, "worst", note);
        return;
    }
    base_buf_puts(page->out, "<div class=\"cols\">");
    worst_panel(page, page->lead, "worst", note);
    worst_panel(page, other, "worst-2",
                fairer ? "the policy with the lowest worst rho"
                       : "for comparison: the highest average completion time");
    base_buf_puts(page->out, "</div>\n");
}
