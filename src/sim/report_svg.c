/* report_svg.c - the chart kit of the report: axes, lines with their names beside them, frames of
 * panels.
 *
 * A plot has no script to measure itself, so it is drawn to stretch: the outer <svg> is as wide as
 * its place and carries text at percentages, which keeps its size; the inner one has
 * SIM_REPORT_WIDTH user units, is stretched sideways only, and carries the shapes with strokes that
 * do not scale. Heights are pixels. Whatever must not collide is therefore checked at two widths, a
 * phone's and a wide column's. Tests: test_report.c. */
#include "sim/report_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    NARROW_PX = 290, /* width of a plot on a phone */
    WIDE_PX = 560,   /* in a column of a wide page */
    CHAR_PX10 = 68,  /* tenths of a pixel per character of a line's name */
    SAMPLES = 128
};

/* ---- axes ---- */

static void add_tick(struct sim_report_axis *axis, double at, bool optional, const char *label)
{
    if (axis->count == SIM_REPORT_TICKS_MAX || !(at >= -1e-9 && at <= 1 + 1e-9))
        return;
    struct sim_report_tick *tick = &axis->ticks[axis->count++];
    tick->at = at < 0 ? 0 : at > 1 ? 1 : at;
    tick->optional = optional;
    snprintf(tick->label, sizeof tick->label, "%s", label);
}

void sim_report_axis_time(struct sim_report_axis *axis, double span_s)
{
    static const double steps_s[] = {
        1e-3,  1e-2,   0.1,    1,      2,       5,       10,      15,       30,      60,
        120,   300,    600,    900,    1800,    3600,    7200,    10800,    21600,   43200,
        86400, 172800, 432000, 864000, 1728000, 4320000, 8640000, 17280000, 43200000};
    axis->count = 0;
    double step = span_s / 5; /* spans beyond the list */
    for (size_t i = 0; i < sizeof steps_s / sizeof *steps_s; i++)
        if (span_s / steps_s[i] <= 9) {
            step = steps_s[i];
            break;
        }
    double unit = step >= 86400 ? 86400 : step >= 3600 ? 3600 : step >= 60 ? 60 : 1;
    const char *name = step >= 86400 ? "d" : step >= 3600 ? "h" : step >= 60 ? "min" : "s";
    for (int i = 0; i * step <= span_s * (1 + 1e-9); i++) {
        char label[24];
        snprintf(label, sizeof label, i == 0 ? "0" : "%.4g\xc2\xa0%s", i * step / unit, name);
        add_tick(axis, i * step / span_s, i % 2 == 1, label);
    }
}

/* True when a label at `at` would stand apart from those there are. */
static bool has_room(const struct sim_report_axis *axis, double at)
{
    for (size_t i = 0; i < axis->count; i++)
        if (fabs(axis->ticks[i].at - at) < 0.11)
            return false;
    return true;
}

void sim_report_axis_log_time(struct sim_report_axis *axis, double lo_s, double hi_s)
{
    static const struct {
        double at_s;
        const char *label;
        bool minor; /* only where the major ones leave room */
    } marks[] = {
        {1e-3, "1 ms", false},      {0.1, "0.1 s", false},          {1, "1 s", false},
        {10, "10 s", false},        {60, "1 min", false},           {600, "10 min", false},
        {3600, "1 h", false},       {21600, "6 h", false},          {86400, "1 d", false},
        {604800, "7 d", false},     {2592000, "30 d", false},       {31536000, "1 y", false},
        {315360000, "10 y", false}, {3153600000.0, "100 y", false}, {30, "30 s", true},
        {300, "5 min", true},       {1800, "30 min", true},         {10800, "3 h", true},
        {43200, "12 h", true},      {259200, "3 d", true},          {1209600, "14 d", true},
        {120, "2 min", true},       {1200, "20 min", true},         {7200, "2 h", true},
        {14400, "4 h", true},       {172800, "2 d", true}};
    axis->count = 0;
    double width = log(hi_s / lo_s);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        double at = log(marks[i].at_s / lo_s) / width;
        if (has_room(axis, at))
            add_tick(axis, at, marks[i].minor, marks[i].label);
    }
}

void sim_report_axis_log(struct sim_report_axis *axis, double lo, double hi)
{
    axis->count = 0;
    double width = log(hi / lo);
    bool decades = hi / lo > 3000; /* too many for 1 2 5 */
    for (int power = (int)floor(log10(lo)); power <= (int)ceil(log10(hi)); power++)
        for (int digit = 1; digit <= 5; digit += digit == 1 ? 1 : 3) {
            double value = digit * pow(10, power);
            char label[24];
            snprintf(label, sizeof label, "%.6g", value);
            if (value >= lo * (1 - 1e-9) && value <= hi * (1 + 1e-9) && (digit == 1 || !decades))
                add_tick(axis, log(value / lo) / width, digit != 1 && hi / lo > 30, label);
        }
}

double sim_report_axis_count(struct sim_report_axis *axis, double max)
{
    axis->count = 0;
    if (!(max > 0) || !isfinite(max))
        max = 1;
    double raw = max / 4;
    double power = pow(10, floor(log10(raw)));
    double digit = raw / power;
    double step = (digit <= 1.001 ? 1 : digit <= 2.001 ? 2 : digit <= 5.001 ? 5 : 10) * power;
    if (step < 1 && max >= 1)
        step = 1;
    double top = ceil(max / step - 1e-9) * step;
    for (int i = 0; i * step <= top * (1 + 1e-9); i++) {
        double value = i * step;
        char label[24];
        if (value >= 1e6)
            snprintf(label, sizeof label, "%.4gM", value / 1e6);
        else if (value >= 1e4)
            snprintf(label, sizeof label, "%.4gk", value / 1e3);
        else
            snprintf(label, sizeof label, "%.4g", value);
        add_tick(axis, value / top, false, label);
    }
    return top;
}

void sim_report_axis_share(struct sim_report_axis *axis)
{
    static const char *const labels[] = {"0", "25\xc2\xa0%", "50\xc2\xa0%", "75\xc2\xa0%",
                                         "100\xc2\xa0%"};
    axis->count = 0;
    for (size_t i = 0; i < 5; i++)
        add_tick(axis, (double)i / 4, false, labels[i]);
}

/* ---- where the name of a line goes ---- */

struct box {
    double x0, y0, x1, y1; /* pixels */
};

struct samples { /* a line as y pixels at SAMPLES equal steps of x; NAN where it has not begun or
                    has ended */
    float y[SAMPLES];
};

static void sample_line(const struct sim_report_line *line, int height, struct samples *out)
{
    size_t p = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
        double x = (double)i / (SAMPLES - 1);
        while (p + 1 < line->count && line->x[p + 1] <= x)
            p++;
        out->y[i] = NAN;
        if (line->count == 0 || x < line->x[0] || x > line->x[line->count - 1])
            continue;
        double y = line->y[p];
        if (!line->steps && p + 1 < line->count && line->x[p + 1] > line->x[p])
            y += (line->y[p + 1] - y) * (x - line->x[p]) / (line->x[p + 1] - line->x[p]);
        out->y[i] = (float)((1 - y) * height);
    }
}

/* Distance from the box to a line, 0 when they touch. Consecutive samples are one stroke. */
static double clearance(const struct box *box, const struct samples *line, double width)
{
    double least = 1e9, step = width / (SAMPLES - 1);
    for (size_t i = 0; i + 1 < SAMPLES; i++) {
        double x0 = (double)i * step, x1 = x0 + step;
        float a = line->y[i], b = isnan(line->y[i + 1]) ? a : line->y[i + 1];
        if (isnan(a) || x1 < box->x0 - 30 || x0 > box->x1 + 30)
            continue;
        double lo = fmin(a, b), hi = fmax(a, b);
        double dx = x1 < box->x0 ? box->x0 - x1 : x0 > box->x1 ? x0 - box->x1 : 0;
        double dy = hi < box->y0 ? box->y0 - hi : lo > box->y1 ? lo - box->y1 : 0;
        least = fmin(least, hypot(dx, dy));
    }
    return least;
}

static bool overlap(const struct box *a, const struct box *b)
{
    return a->x0 < b->x1 + 4 && b->x0 < a->x1 + 4 && a->y0 < b->y1 + 2 && b->y0 < a->y1 + 2;
}

enum { LABELS_MAX = 12, ANCHORS = 4 };

struct spot {
    double x;   /* fraction */
    double y;   /* pixels, the baseline */
    int anchor; /* 0 right of the line, 1 left of it, 2 above, 3 below */
    bool wide_only;
};

static struct box spot_box(const struct spot *spot, double text_px, double width)
{
    double x = spot->x * width;
    x = spot->anchor == 0 ? x + 8 : spot->anchor == 1 ? x - 8 - text_px : x - text_px / 2;
    return (struct box){x, spot->y - 10, x + text_px, spot->y + 3};
}

struct labels {
    const struct sim_report_chart *chart;
    struct samples lines[LABELS_MAX];
    struct spot spots[LABELS_MAX];
    double text_px[LABELS_MAX];
    bool placed[LABELS_MAX];
};

/* How good a spot is at one width; negative: not possible. */
static double spot_score(const struct labels *l, size_t line, const struct spot *spot, double width)
{
    struct box box = spot_box(spot, l->text_px[line], width);
    if (box.x0 < 2 || box.x1 > width || box.y0 < 0 || box.y1 > l->chart->height - 2)
        return -1;
    if (l->chart->mark_text != NULL && box.x1 > width * l->chart->mark &&
        box.y1 > l->chart->height - 24)
        return -1;
    for (size_t i = 0; i < l->chart->line_count; i++) {
        if (!l->placed[i])
            continue;
        struct box other = spot_box(&l->spots[i], l->text_px[i], width);
        if (overlap(&box, &other))
            return -1;
    }
    double own = clearance(&box, &l->lines[line], width), others = 40;
    for (size_t i = 0; i < l->chart->line_count; i++)
        if (i != line)
            others = fmin(others, clearance(&box, &l->lines[i], width));
    if (own < 2 || others < 5 || own + 1 > others)
        return -1;
    return others - own;
}

static void place_label(struct labels *l, size_t line)
{
    double best = -1;
    for (int wide_only = 0; wide_only < 2 && best < 0; wide_only++)
        for (size_t i = 2; i < SAMPLES - 2; i += 2)
            for (int anchor = 0; anchor < ANCHORS; anchor++) {
                static const double down[ANCHORS] = {11, -4, -7, 16};
                float y = l->lines[line].y[i];
                if (isnan(y))
                    continue;
                struct spot spot = {(double)i / (SAMPLES - 1), round(y + down[anchor]), anchor,
                                    wide_only == 1};
                double score = spot_score(l, line, &spot, WIDE_PX);
                if (score >= 0 && wide_only == 0)
                    score = fmin(score, spot_score(l, line, &spot, NARROW_PX));
                if (score > best) {
                    best = score;
                    l->spots[line] = spot;
                }
            }
    l->placed[line] = best >= 0;
}

static void write_labels(struct base_buf *out, const struct sim_report_chart *chart)
{
    if (chart->line_count < 2 || chart->line_count > LABELS_MAX)
        return; /* the legend says it */
    struct labels l;
    memset(&l, 0, sizeof l);
    l.chart = chart;
    for (size_t i = 0; i < chart->line_count; i++) {
        sample_line(&chart->lines[i], chart->height, &l.lines[i]);
        l.text_px[i] = (double)sim_report_name_chars(chart->lines[i].name, 18) * CHAR_PX10 / 10;
    }
    for (size_t i = 0; i < chart->line_count; i++)
        place_label(&l, i);
    for (size_t i = 0; i < chart->line_count; i++) {
        if (!l.placed[i])
            continue;
        static const char *const class_of[ANCHORS] = {"who", "who e", "who m", "who m"};
        const struct spot *spot = &l.spots[i];
        base_buf_printf(out, "<text class=\"%s%s\" x=\"%.1f%%\" y=\"%.0f\" dx=\"%d\">",
                        class_of[spot->anchor], spot->wide_only ? " l2" : "", spot->x * 100,
                        spot->y,
                        spot->anchor == 0   ? 8
                        : spot->anchor == 1 ? -8
                                            : 0);
        sim_report_name(out, chart->lines[i].name, 18);
        base_buf_puts(out, "</text>");
    }
}

/* ---- drawing ---- */

void sim_report_svg_open(struct base_buf *out, int height)
{
    base_buf_printf(out, "<svg height=\"%d\" role=\"img\" aria-label=\"", height);
}

void sim_report_svg_label_done(struct base_buf *out)
{
    base_buf_puts(out, "\">");
}

void sim_report_svg_close(struct base_buf *out)
{
    base_buf_puts(out, "</svg>\n");
}

void sim_report_svg_x_labels(struct base_buf *out, const struct sim_report_axis *axis, int y)
{
    for (size_t i = 0; i < axis->count; i++)
        base_buf_printf(out, "<text class=\"m%s\" x=\"%.2f%%\" y=\"%d\">%s</text>",
                        axis->ticks[i].optional ? " opt" : "", axis->ticks[i].at * 100, y,
                        axis->ticks[i].label);
}

static void write_line(struct base_buf *out, const struct sim_report_line *line, int height)
{
    if (line->count == 0)
        return;
    size_t colour = line->style % SIM_REPORT_COLOURS;
    size_t dash = (line->style + line->style / SIM_REPORT_COLOURS) % SIM_REPORT_COLOURS;
    if (line->kind)
        base_buf_printf(out, "<path class=\"ed c%u d%zu\" d=\"",
                        sim_report_kind_colour((uint32_t)line->style), dash);
    else
        base_buf_printf(out, "<path class=\"l s%zu d%zu\" d=\"", colour, dash);
    for (size_t i = 0; i < line->count; i++) {
        double x = (double)line->x[i] * SIM_REPORT_WIDTH, y = (1 - (double)line->y[i]) * height;
        if (i == 0)
            base_buf_printf(out, "M%.1f %.1f", x, y);
        else if (line->steps)
            base_buf_printf(out, "H%.1fV%.1f", x, y);
        else
            base_buf_printf(out, "L%.1f %.1f", x, y);
    }
    base_buf_puts(out, "\"/>");
}

void sim_report_svg_chart(struct base_buf *out, const struct sim_report_chart *chart)
{
    int h = chart->height;
    base_buf_printf(out, "<svg viewBox=\"0 0 %d %d\" height=\"%d\" preserveAspectRatio=\"none\">",
                    SIM_REPORT_WIDTH, h, h);
    if (chart->mark >= 0)
        base_buf_printf(out, "<rect class=\"off\" x=\"%.1f\" width=\"%.1f\" height=\"%d\"/>",
                        chart->mark * SIM_REPORT_WIDTH, (1 - chart->mark) * SIM_REPORT_WIDTH, h);
    for (size_t i = 0; i < chart->y.count; i++)
        base_buf_printf(out, "<path class=\"%s\" d=\"M0 %.1fH%d\"/>", i == 0 ? "gl" : "gr",
                        (1 - chart->y.ticks[i].at) * h, SIM_REPORT_WIDTH);
    for (size_t i = 0; i < chart->x.count; i++)
        base_buf_printf(out, "<path class=\"gl\" d=\"M%.1f %dv4\"/>",
                        chart->x.ticks[i].at * SIM_REPORT_WIDTH, h);
    if (chart->mark >= 0)
        base_buf_printf(out, "<path class=\"mark\" d=\"M%.1f 0V%d\"/>",
                        chart->mark * SIM_REPORT_WIDTH, h);
    for (size_t i = 0; i < chart->line_count; i++) /* dashes over the solid one */
        write_line(out, &chart->lines[i], h);
    base_buf_puts(out, "</svg>");
    for (size_t i = 0; i < chart->y.count; i++)
        base_buf_printf(out, "<text class=\"e\" x=\"0\" dx=\"-7\" y=\"%.1f\">%s</text>",
                        (1 - chart->y.ticks[i].at) * h + 4, chart->y.ticks[i].label);
    sim_report_svg_x_labels(out, &chart->x, h + 18);
    if (chart->mark >= 0 && chart->mark_text != NULL)
        base_buf_printf(out, "<text class=\"warn e\" x=\"100%%\" dx=\"-8\" y=\"%d\">%s</text>",
                        h - 9, chart->mark_text);
    write_labels(out, chart);
}

void sim_report_legend(const struct sim_report_page *page)
{
    if (page->count == 1)
        return; /* there is nothing to tell apart */
    base_buf_puts(page->out, "<ul class=\"legend\">");
    for (size_t i = 0; i < page->count; i++) {
        base_buf_printf(page->out,
                        "<li><svg width=\"28\" height=\"8\" aria-hidden=\"true\"><path class=\"l "
                        "s%zu d%zu\" d=\"M0 4H28\"/>"
                        "</svg><b>",
                        i % SIM_REPORT_COLOURS, (i + i / SIM_REPORT_COLOURS) % SIM_REPORT_COLOURS);
        sim_report_policy(page->out, page->results[i]);
        base_buf_puts(page->out, "</b></li>");
    }
    base_buf_puts(page->out, "</ul>\n");
}

/* The last colour, grey, is for what has no other. */
unsigned sim_report_kind_colour(uint32_t kind)
{
    return kind % (SIM_REPORT_COLOURS - 1);
}

/* ---- frames ---- */

void sim_report_panel_open(struct base_buf *out, const char *id, const char *title,
                           const char *note)
{
    base_buf_printf(out,
                    "<section class=\"panel\" aria-labelledby=\"h-%s\"><div class=\"head\"><h2 "
                    "id=\"h-%s\">%s</h2>",
                    id, id, title);
    if (note != NULL)
        base_buf_printf(out, "<span class=\"dim small\">%s</span>", note);
    base_buf_puts(out, "</div>\n");
}

void sim_report_panel_close(struct base_buf *out)
{
    base_buf_puts(out, "</section>\n");
}

void sim_report_details_open(struct base_buf *out)
{
    base_buf_puts(out, "<details><summary>Show as table</summary><div class=\"scroll\"><table>");
}

void sim_report_details_close(struct base_buf *out)
{
    base_buf_puts(out, "</table></div></details>\n");
}
