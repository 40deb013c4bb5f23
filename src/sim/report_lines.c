/* report_lines.c - the charts of lines: jobs waiting and running over time, and the two
 * distributions.
 *
 * Every chart shows all results, at most PAGE_POINTS_MAX points each whatever the length of
 * the run, and has its numbers as a table of at most PAGE_TABLE_ROWS rows. Scratch memory:
 * one float per job and result while a distribution is drawn. Tests: tests/unit/sim/test_report.c.
 */
#include "sim/report_parts.h"

#include <math.h>
#include <stdlib.h>

enum { PLOT_PX = 220, AXIS_PX = 26, CDF_POINTS = 120 };

static void head_row(const struct sim_report_page *page, const char *first)
{
    base_buf_printf(page->out, "<thead><tr><th scope=\"col\">%s</th>", first);
    for (size_t i = 0; i < page->count; i++) {
        base_buf_puts(page->out, "<th scope=\"col\" class=\"r\">");
        sim_report_policy(page->out, page->results[i]);
        base_buf_puts(page->out, "</th>");
    }
    base_buf_puts(page->out, "</tr></thead><tbody>");
}

/* ---- over time ---- */

static const float *track(const struct sim_result *result, bool running)
{
    return running ? result->series.running : result->series.waiting;
}

static bool recorded(const struct sim_result *result)
{
    return result->series.step_s > 0 && result->series.count > 0 &&
           result->series.waiting != NULL && result->series.running != NULL;
}

/* Mean of the record between two times; NAN past its end. */
static double mean_between(const struct sim_result *result, bool running, double from_s,
                           double to_s)
{
    return sim_report_mean(&result->series, track(result, running), from_s, to_s);
}

static void time_line(const struct sim_report_page *page, size_t index, bool running,
                      struct page_line *line)
{
    const struct sim_result *result = page->results[index];
    *line = (struct page_line){.name = result->policy, .style = index, .steps = true};
    if (!recorded(result))
        return;
    double end_s = fmin(page->span_s, result->series.step_s * (double)result->series.count);
    size_t points =
        result->series.count < PAGE_POINTS_MAX - 1 ? result->series.count : PAGE_POINTS_MAX - 1;
    for (size_t i = 0; i < points; i++) {
        double from = end_s * (double)i / (double)points,
               to = end_s * (double)(i + 1) / (double)points;
        double mean = mean_between(result, running, from, to);
        if (!isfinite(mean))
            break;
        line->x[line->count] = (float)(from / page->span_s);
        line->y[line->count++] = (float)mean;
    }
    if (line->count > 0) {
        line->x[line->count] = (float)(end_s / page->span_s);
        line->y[line->count] = line->y[line->count - 1];
        line->count++;
    }
}

static void time_table(const struct sim_report_page *page, bool running)
{
    page_details_open(page->out);
    head_row(page, "From");
    for (size_t row = 0; row < PAGE_TABLE_ROWS; row++) {
        double step = page->span_s / PAGE_TABLE_ROWS;
        char text[64];
        base_buf_printf(page->out, "<tr><td>%s</td>",
                        page_duration(step * (double)row, text, sizeof text));
        for (size_t i = 0; i < page->count; i++) {
            const struct sim_result *result = page->results[i];
            double mean = recorded(result) ? mean_between(result, running, step * (double)row,
                                                          step * (double)(row + 1))
                                           : NAN;
            base_buf_printf(page->out, "<td class=\"r\">%s</td>",
                            page_number(mean, text, sizeof text));
        }
        base_buf_puts(page->out, "</tr>");
    }
    base_buf_puts(page->out, "</tbody>");
    page_details_close(page->out);
}

static void time_chart(const struct sim_report_page *page, bool running, struct page_line *lines)
{
    double max = 0, peak[2] = {0, 0}; /* highest and where */
    size_t who = 0;
    for (size_t i = 0; i < page->count; i++) {
        time_line(page, i, running, &lines[i]);
        for (size_t p = 0; p < lines[i].count; p++)
            if (lines[i].y[p] > max) {
                max = lines[i].y[p];
                who = i;
                peak[0] = lines[i].y[p];
                peak[1] = lines[i].x[p] * page->span_s;
            }
    }
    struct page_chart chart = {
        .height = PLOT_PX, .lines = lines, .line_count = page->count, .mark = -1};
    double top = page_axis_count(&chart.y, max);
    for (size_t i = 0; i < page->count; i++)
        for (size_t p = 0; p < lines[i].count; p++)
            lines[i].y[p] = (float)(lines[i].y[p] / top);
    page_axis_time(&chart.x, page->span_s);

    page_panel_open(page->out, running ? "running" : "queue",
                    running ? "Jobs running" : "Jobs waiting",
                    running ? "jobs that hold GPUs, over time" : "length of the queue, over time");
    sim_report_legend(page);
    base_buf_puts(page->out, "<div class=\"plot\">");
    page_svg_open(page->out, PLOT_PX + AXIS_PX);
    char text[2][64];
    base_buf_printf(page->out,
                    "Jobs %s over time, one line per policy. The highest is %s, after %s, under ",
                    running ? "running" : "waiting", page_number(peak[0], text[0], sizeof text[0]),
                    page_duration(peak[1], text[1], sizeof text[1]));
    page_name(page->out, page->results[who]->policy, SIM_REPORT_POLICY_CHARS);
    page_svg_label_done(page->out);
    page_svg_chart(page->out, &chart);
    page_svg_close(page->out);
    base_buf_puts(page->out, "</div>");
    time_table(page, running);
    page_panel_close(page->out);
}

shoal_status sim_report_queue(const struct sim_report_page *page)
{
    bool any = false;
    for (size_t i = 0; i < page->count; i++)
        any = any || recorded(page->results[i]);
    if (!any)
        return SHOAL_OK;
    struct page_line *lines = base_calloc(page->out->alloc, page->count, sizeof *lines);
    if (lines == NULL)
        return SHOAL_E_NOMEM;
    base_buf_puts(page->out, "<div class=\"cols\">");
    time_chart(page, false, lines);
    time_chart(page, true, lines);
    base_buf_puts(page->out, "</div>\n");
    base_free(page->out->alloc, lines);
    return SHOAL_OK;
}

/* ---- distributions ---- */

struct sorted {
    float *values; /* rising */
    size_t count;
};

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void collect(const struct sim_result *result, bool fairness, struct sorted *out)
{
    out->count = 0;
    for (size_t i = 0; i < result->trace->job_count; i++) {
        double value = fairness ? result->jobs[i].rho : sim_report_jct(result, i);
        if (isfinite(value) && value >= 0)
            out->values[out->count++] = (float)value;
    }
    qsort(out->values, out->count, sizeof *out->values, compare_floats);
}

/* The smallest value that at least `share` of them do not exceed. */
static double quantile(const struct sorted *s, double share)
{
    if (s->count == 0)
        return NAN;
    double rank = ceil(share * (double)s->count - 1e-9);
    return s->values[rank < 1 ? 0 : (size_t)rank - 1];
}

static double share_above(const struct sorted *s, float limit)
{
    size_t lo = 0, hi = s->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->values[mid] <= limit)
            lo = mid + 1;
        else
            hi = mid;
    }
    return s->count == 0 ? NAN : (double)(s->count - lo) / (double)s->count;
}

static void cdf_line(const struct sorted *s, double lo, double hi, struct page_line *line)
{
    line->count = 0;
    if (s->count == 0)
        return;
    line->steps = s->count <= CDF_POINTS;
    size_t points = line->steps ? s->count : CDF_POINTS;
    for (size_t i = 0; i <= points; i++) {
        double share = (double)i / (double)points;
        double x = log(fmax(quantile(s, share), lo) / lo) / log(hi / lo);
        line->x[line->count] = (float)fmin(1, x);
        line->y[line->count++] = (float)share;
    }
}

static void cdf_table(const struct sim_report_page *page, const struct sorted *all, bool fairness)
{
    static const double shares[] = {0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1};
    page_details_open(page->out);
    head_row(page, "Share of jobs");
    for (size_t row = 0; row < sizeof shares / sizeof *shares; row++) {
        char text[64];
        base_buf_printf(page->out, "<tr><td>%.4g\xc2\xa0%% at or below</td>", shares[row] * 100);
        for (size_t i = 0; i < page->count; i++) {
            double value = quantile(&all[i], shares[row]);
            base_buf_puts(page->out, "<td class=\"r\">");
            if (fairness && isfinite(value))
                base_buf_printf(page->out, "%.2f", value);
            else
                base_buf_puts(page->out, page_duration(value, text, sizeof text));
            base_buf_puts(page->out, "</td>");
        }
        base_buf_puts(page->out, "</tr>");
    }
    base_buf_puts(page->out, "</tbody>");
    page_details_close(page->out);
}

static void cdf_range(const struct sim_report_page *page, const struct sorted *all, bool fairness,
                      double *out_lo, double *out_hi)
{
    double lo = fairness ? 0.5 : INFINITY, hi = fairness ? 2 : 0;
    for (size_t i = 0; i < page->count; i++)
        if (all[i].count > 0) {
            lo = fmin(lo, all[i].values[0]);
            hi = fmax(hi, all[i].values[all[i].count - 1]);
        }
    if (!(hi > 0))
        hi = 1;
    lo = fmax(
        lo,
        hi / (fairness ? 1e4 : 1e6)); /* a job of no length must not stretch the axis without end */
    if (!(lo < hi * 0.999)) {
        lo = hi / 2;
        hi *= 2;
    }
    *out_lo = lo;
    *out_hi = hi;
}

static void cdf_label(const struct sim_report_page *page, const struct sorted *all, bool fairness)
{
    base_buf_puts(page->out,
                  fairness
                      ? "Share of jobs at or below each finish-time fairness rho. Worse off than "
                        "with an equal share:"
                      : "Share of jobs completed within a time. Median:");
    for (size_t i = 0; i < page->count; i++) {
        char text[64];
        base_buf_puts(page->out, i == 0 ? " " : ", ");
        page_name(page->out, page->results[i]->policy, SIM_REPORT_POLICY_CHARS);
        base_buf_printf(page->out, " %s",
                        fairness ? page_percent(share_above(&all[i], 1), text, sizeof text)
                                 : page_duration(quantile(&all[i], 0.5), text, sizeof text));
    }
}

static void cdf_chart(const struct sim_report_page *page, bool fairness, const struct sorted *all,
                      struct page_line *lines)
{
    double lo, hi;
    cdf_range(page, all, fairness, &lo, &hi);
    for (size_t i = 0; i < page->count; i++) {
        lines[i].name = page->results[i]->policy;
        lines[i].style = i;
        cdf_line(&all[i], lo, hi, &lines[i]);
    }
    struct page_chart chart = {
        .height = PLOT_PX, .lines = lines, .line_count = page->count, .mark = -1};
    page_axis_share(&chart.y);
    if (fairness) {
        page_axis_log(&chart.x, lo, hi);
        chart.mark = log(1 / lo) / log(hi / lo);
        chart.mark_text = "worse off";
    } else {
        page_axis_log_time(&chart.x, lo, hi);
    }
    page_panel_open(page->out, fairness ? "rho" : "jct",
                    fairness ? "Finish-time fairness" : "Share of jobs done within a time",
                    fairness ? "rho: completion time over that of an equal share of the cluster"
                             : "from submission to the end, logarithmic");
    sim_report_legend(page);
    base_buf_puts(page->out, "<div class=\"plot\">");
    page_svg_open(page->out, PLOT_PX + AXIS_PX);
    cdf_label(page, all, fairness);
    page_svg_label_done(page->out);
    page_svg_chart(page->out, &chart);
    page_svg_close(page->out);
    base_buf_puts(page->out, "</div>");
    cdf_table(page, all, fairness);
    page_panel_close(page->out);
}

shoal_status sim_report_cdf(const struct sim_report_page *page)
{
    const struct base_alloc *alloc = page->out->alloc;
    shoal_status st = SHOAL_E_NOMEM;
    struct page_line *lines = base_calloc(alloc, page->count, sizeof *lines);
    struct sorted *all = base_calloc(alloc, page->count, sizeof *all);
    if (lines == NULL || all == NULL)
        goto out;
    for (size_t i = 0; i < page->count; i++) {
        all[i].values = base_calloc(alloc, page->trace->job_count + 1, sizeof *all[i].values);
        if (all[i].values == NULL)
            goto out;
    }
    base_buf_puts(page->out, "<div class=\"cols\">");
    for (int fairness = 0; fairness < 2; fairness++) {
        for (size_t i = 0; i < page->count; i++)
            collect(page->results[i], fairness == 1, &all[i]);
        cdf_chart(page, fairness == 1, all, lines);
    }
    base_buf_puts(page->out, "</div>\n");
    st = SHOAL_OK;
out:
    for (size_t i = 0; all != NULL && i < page->count; i++)
        base_free(alloc, all[i].values);
    base_free(alloc, all);
    base_free(alloc, lines);
    return st;
}
