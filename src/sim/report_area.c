/* report_area.c - the cluster over time as lanes of busy GPUs, where single rows cannot be drawn,
 * and the frame and lane names that this picture shares with the rows of report_occupancy.c. A lane
 * is one kind, its height all of that kind's GPUs, whatever their number. Tests:
 * tests/unit/sim/test_report.c. */
#include "sim/report_parts.h"

#include "base/text.h"
#include <math.h>
#include <stdio.h>

enum { AREA_PX = 64, AREA_POINTS = 160, AREA_ALL_PX = 400 };

/* ---- frame ---- */

void sim_report_picture_open(struct base_buf *out, const struct sim_result *result, int height,
                             const char *note)
{
    char text[64];
    base_buf_puts(out, "<div class=\"occ\"><div class=\"head\"><h3>");
    sim_report_policy(out, result);
    base_buf_printf(out, "</h3><span class=\"dim small\">%s busy",
                    page_percent(result->metrics.utilization, text, sizeof text));
    base_buf_printf(out, ", done after %s%s</span></div><div class=\"plot lanes\">",
                    page_duration(result->metrics.makespan_s, text, sizeof text), note);
    page_svg_open(out, height + 26);
    base_buf_puts(out, "Cluster occupancy over time under ");
    page_name(out, result->policy, SIM_REPORT_POLICY_CHARS);
    base_buf_printf(out, ": %s of GPU time held, the last job ends after ",
                    page_percent(result->metrics.utilization, text, sizeof text));
    base_buf_puts(out, page_duration(result->metrics.makespan_s, text, sizeof text));
    page_svg_label_done(out);
}

void sim_report_picture_close(struct base_buf *out)
{
    page_svg_close(out);
    base_buf_puts(out, "</div>");
}

void sim_report_lane_names(struct base_buf *out, const struct sched_cluster *cluster, const int *y,
                           const int *px)
{
    for (uint32_t kind = 0; kind < cluster->kind_count; kind++) {
        int two = px[kind] >= 28;
        base_buf_printf(out, "<text class=\"lane e%s\" x=\"0\" dx=\"-8\" y=\"%d\">",
                        page_name_chars(cluster->kinds[kind].name, 8) > 5 ? " sm" : "",
                        y[kind] + (two ? 11 : px[kind] / 2 + 5));
        page_name(out, cluster->kinds[kind].name, 8);
        base_buf_puts(out, "</text>");
        char text[48];
        uint32_t gpus = cluster->kinds[kind].gpus;
        if (gpus < 10000)
            base_format_count(gpus, text, sizeof text);
        else
            snprintf(text, sizeof text, "%.3gk", gpus / 1000.0);
        if (two)
            base_buf_printf(out, "<text class=\"e\" x=\"0\" dx=\"-8\" y=\"%d\">%s GPU%s</text>",
                            y[kind] + 25, text, gpus == 1 ? "" : "s");
    }
}

void sim_report_kind_head(struct base_buf *out, const struct sched_cluster *cluster)
{
    base_buf_puts(out, "<thead><tr><th scope=\"col\">From</th>");
    for (uint32_t k = 0; k < cluster->kind_count; k++) {
        base_buf_puts(out, "<th scope=\"col\" class=\"r\">");
        page_name(out, cluster->kinds[k].name, 20);
        base_buf_printf(out, " of %u</th>", cluster->kinds[k].gpus);
    }
    base_buf_puts(out, "</tr></thead><tbody>");
}

/* ---- lanes ---- */

static double busy_between(const struct sim_series *series, uint32_t kind, double from_s,
                           double to_s)
{
    double mean = sim_report_mean(series, series->busy[kind], from_s, to_s);
    return isnan(mean) ? 0 : mean;
}

static void area_lane(struct base_buf *out, const struct sim_report_page *page,
                      const struct sim_series *series, uint32_t kind, int y, int px)
{
    double gpus = page->cluster->kinds[kind].gpus > 0 ? page->cluster->kinds[kind].gpus : 1;
    unsigned colour = page_kind_colour(kind);
    base_buf_printf(out, "<path class=\"sunk\" d=\"M0 %dh%dv%dh-%dz\"/>", y, PAGE_WIDTH, px,
                    PAGE_WIDTH);
    for (int edge = 0; edge < 2; edge++) {
        double last = -1;
        base_buf_printf(out,
                        edge == 0 ? "<path class=\"ar c%u\" d=\"M0 %d"
                                  : "<path class=\"ed c%u\" d=\"M0 %d",
                        colour, y + px);
        for (int i = 0; i < AREA_POINTS; i++) {
            double step = page->span_s / AREA_POINTS;
            double busy = fmin(1, busy_between(series, kind, step * i, step * (i + 1)) / gpus);
            double level = y + px * (1 - busy);
            if (fabs(level - last) >= 0.05) /* only what changes */
                base_buf_printf(out, "H%.1fV%.1f", (double)i * PAGE_WIDTH / AREA_POINTS, level);
            last = level;
        }
        base_buf_printf(out, edge == 0 ? "H%dV%dz\"/>" : "H%d\"/>", PAGE_WIDTH, y + px);
    }
}

static void write_areas(struct base_buf *out, const struct sim_report_page *page,
                        const struct sim_result *result, int height, int px)
{
    const struct sched_cluster *cluster = page->cluster;
    struct page_axis axis;
    page_axis_time(&axis, page->span_s);
    int y[SCHED_KINDS_MAX] = {0}, all_px[SCHED_KINDS_MAX] = {0};
    base_buf_printf(out, "<svg viewBox=\"0 0 %d %d\" height=\"%d\" preserveAspectRatio=\"none\">",
                    PAGE_WIDTH, height, height);
    for (uint32_t kind = 0; kind < cluster->kind_count; kind++) {
        y[kind] = (int)kind * (px + SIM_REPORT_LANE_GAP_PX);
        all_px[kind] = px;
        area_lane(out, page, &result->series, kind, y[kind], px);
    }
    for (size_t i = 0; i < axis.count; i++)
        base_buf_printf(out, "<path class=\"gl\" d=\"M%.1f 0V%d\"/>", axis.ticks[i].at * PAGE_WIDTH,
                        height + 4);
    base_buf_puts(out, "</svg>");
    sim_report_lane_names(out, cluster, y, all_px);
    page_svg_x_labels(out, &axis, height + 18);
}

static void area_table(struct base_buf *out, const struct sim_report_page *page,
                       const struct sim_result *result)
{
    double step = page->span_s / PAGE_TABLE_ROWS;
    page_details_open(out);
    sim_report_kind_head(out, page->cluster);
    for (int i = 0; i < PAGE_TABLE_ROWS; i++) {
        char text[64];
        base_buf_printf(out, "<tr><td>%s</td>", page_duration(step * i, text, sizeof text));
        for (uint32_t k = 0; k < page->cluster->kind_count; k++)
            base_buf_printf(out, "<td class=\"r\">%s</td>",
                            page_number(busy_between(&result->series, k, step * i, step * (i + 1)),
                                        text, sizeof text));
        base_buf_puts(out, "</tr>");
    }
    base_buf_puts(out, "</tbody>");
    page_details_close(out);
}

void sim_report_area(const struct sim_report_page *page, const struct sim_result *result)
{
    struct base_buf *out = page->out;
    uint32_t kinds = page->cluster->kind_count > 0 ? page->cluster->kind_count : 1;
    int px = kinds * (AREA_PX + SIM_REPORT_LANE_GAP_PX) > AREA_ALL_PX
                 ? AREA_ALL_PX / (int)kinds - SIM_REPORT_LANE_GAP_PX
                 : AREA_PX;
    px = px < SIM_REPORT_LANE_MIN_PX ? SIM_REPORT_LANE_MIN_PX : px;
    int height = (int)kinds * (px + SIM_REPORT_LANE_GAP_PX) - SIM_REPORT_LANE_GAP_PX;
    sim_report_picture_open(out, result, height, "");
    write_areas(out, page, result, height, px);
    sim_report_picture_close(out);
    area_table(out, page, result);
    base_buf_puts(out, "</div>\n");
}
