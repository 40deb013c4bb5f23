/* svg.c - the chart kit: lines with their names beside them, bands, marks.
 *
 * A plot has no script to measure itself, so it is drawn to stretch: the outer <svg> is as wide as
 * its place and carries text at percentages, which keeps its size; the inner one has
 * PAGE_WIDTH user units, is stretched sideways only, and carries the shapes with strokes that
 * do not scale. Heights are pixels. Whatever must not collide is therefore checked at two widths, a
 * phone's and a wide column's. Tests: tests/unit/page/test_svg.c. */
#include "page/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    NARROW_PX = 290, /* width of a plot on a phone */
    WIDE_PX = 560,   /* in a column of a wide page */
    CHAR_PX10 = 68,  /* tenths of a pixel per character of a line's name */
    SAMPLES = 128
};

/* ---- where the name of a line goes ---- */

struct box {
    double x0, y0, x1, y1; /* pixels */
};

struct samples { /* a line as y pixels at SAMPLES equal steps of x; NAN where it has not begun or
                    has ended */
    float y[SAMPLES];
};

static void sample_line(const struct page_line *line, int height, struct samples *out)
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

enum { LABELS_MAX = 12, ANCHORS = 4, END_NAMES_MAX = 24, END_NAME_PX = 12 };

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
    const struct page_chart *chart;
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

/* Names right of the plot, at the heights of the last points; earlier lines come first where two would
 * stand too close. */
static void write_end_names(struct base_buf *out, const struct page_chart *chart)
{
    double taken[END_NAMES_MAX];
    size_t used = 0;
    for (size_t i = 0; i < chart->line_count && used < END_NAMES_MAX; i++) {
        const struct page_line *line = &chart->lines[i];
        bool room = line->count > 0;
        double y = room ? (1 - (double)line->y[line->count - 1]) * chart->height : 0;
        for (size_t k = 0; k < used && room; k++)
            room = fabs(taken[k] - y) >= END_NAME_PX;
        if (!room)
            continue;
        taken[used++] = y;
        base_buf_printf(out, "<text x=\"100%%\" dx=\"6\" y=\"%.1f\">", y + 4);
        page_name(out, line->name, 8);
        base_buf_puts(out, "</text>");
    }
}

static void write_labels(struct base_buf *out, const struct page_chart *chart)
{
    if (chart->end_names) {
        write_end_names(out, chart);
        return;
    }
    if (chart->line_count < 2 || chart->line_count > LABELS_MAX)
        return; /* the legend says it */
    struct labels l;
    memset(&l, 0, sizeof l);
    l.chart = chart;
    for (size_t i = 0; i < chart->line_count; i++) {
        sample_line(&chart->lines[i], chart->height, &l.lines[i]);
        l.text_px[i] = (double)page_name_chars(chart->lines[i].name, 18) * CHAR_PX10 / 10;
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
        page_name(out, chart->lines[i].name, 18);
        base_buf_puts(out, "</text>");
    }
}

/* ---- drawing ---- */

void page_svg_open(struct base_buf *out, int height)
{
    base_buf_printf(out, "<svg height=\"%d\" role=\"img\" aria-label=\"", height);
}

void page_svg_label_done(struct base_buf *out)
{
    base_buf_puts(out, "\">");
}

void page_svg_close(struct base_buf *out)
{
    base_buf_puts(out, "</svg>\n");
}

void page_svg_x_labels(struct base_buf *out, const struct page_axis *axis, int y)
{
    for (size_t i = 0; i < axis->count; i++)
        base_buf_printf(out, "<text class=\"m%s\" x=\"%.2f%%\" y=\"%d\">%s</text>",
                        axis->ticks[i].optional ? " opt" : "", axis->ticks[i].at * 100, y,
                        axis->ticks[i].label);
}

static void write_line(struct base_buf *out, const struct page_line *line, int height)
{
    if (line->count == 0)
        return;
    size_t colour = line->style % PAGE_COLOURS;
    size_t dash = (line->style + line->style / PAGE_COLOURS) % PAGE_COLOURS;
    if (line->kind)
        base_buf_printf(out, "<path class=\"ed c%u d%zu\" d=\"",
                        page_kind_colour((uint32_t)line->style), dash);
    else
        base_buf_printf(out, "<path class=\"l s%zu d%zu\" d=\"", colour, dash);
    for (size_t i = 0; i < line->count; i++) {
        double x = (double)line->x[i] * PAGE_WIDTH, y = (1 - (double)line->y[i]) * height;
        if (i == 0)
            base_buf_printf(out, "M%.1f %.1f", x, y);
        else if (line->steps)
            base_buf_printf(out, "H%.1fV%.1f", x, y);
        else
            base_buf_printf(out, "L%.1f %.1f", x, y);
    }
    base_buf_puts(out, "\"/>");
}

static void write_band(struct base_buf *out, const struct page_band *band, int height)
{
    if (band->count < 2)
        return;
    base_buf_puts(out, "<path class=\"band\" d=\"");
    for (size_t i = 0; i < band->count; i++)
        base_buf_printf(out, "%s%.1f %.1f", i == 0 ? "M" : "L", (double)band->x[i] * PAGE_WIDTH,
                        (1 - (double)band->high[i]) * height);
    for (size_t i = band->count; i-- > 0;)
        base_buf_printf(out, "L%.1f %.1f", (double)band->x[i] * PAGE_WIDTH,
                        (1 - (double)band->low[i]) * height);
    base_buf_puts(out, "z\"/>");
}

/* Beside the line, on the side that has more room. */
static void write_mark_text(struct base_buf *out, const struct page_chart *chart)
{
    bool left = chart->mark > 0.5;
    base_buf_printf(out, "<text class=\"who%s\" x=\"%.1f%%\" dx=\"%d\" y=\"10\">%s</text>",
                    left ? " e" : "", chart->mark * 100, left ? -6 : 6, chart->mark_text);
}

size_t page_style_of(size_t index)
{
    return index / (PAGE_COLOURS - 1) * PAGE_COLOURS + index % (PAGE_COLOURS - 1);
}

void page_svg_chart(struct base_buf *out, const struct page_chart *chart)
{
    int h = chart->height;
    base_buf_printf(out, "<svg viewBox=\"0 0 %d %d\" height=\"%d\" preserveAspectRatio=\"none\">",
                    PAGE_WIDTH, h, h);
    if (chart->mark >= 0 && !chart->mark_plain)
        base_buf_printf(out, "<rect class=\"off\" x=\"%.1f\" width=\"%.1f\" height=\"%d\"/>",
                        chart->mark * PAGE_WIDTH, (1 - chart->mark) * PAGE_WIDTH, h);
    for (size_t i = 0; i < chart->y.count; i++)
        base_buf_printf(out, "<path class=\"%s\" d=\"M0 %.1fH%d\"/>", i == 0 ? "gl" : "gr",
                        (1 - chart->y.ticks[i].at) * h, PAGE_WIDTH);
    for (size_t i = 0; i < chart->x.count; i++)
        base_buf_printf(out, "<path class=\"gl\" d=\"M%.1f %dv4\"/>",
                        chart->x.ticks[i].at * PAGE_WIDTH, h);
    if (chart->mark >= 0)
        base_buf_printf(out, "<path class=\"mark\" d=\"M%.1f 0V%d\"/>", chart->mark * PAGE_WIDTH,
                        h);
    if (chart->band != NULL)
        write_band(out, chart->band, h);
    if (chart->behind != NULL)
        chart->behind(chart->ctx, out);
    for (size_t i = 0; i < chart->line_count; i++) /* dashes over the solid one */
        write_line(out, &chart->lines[i], h);
    base_buf_puts(out, "</svg>");
    for (size_t i = 0; i < chart->y.count; i++)
        base_buf_printf(out, "<text class=\"e\" x=\"0\" dx=\"-7\" y=\"%.1f\">%s</text>",
                        (1 - chart->y.ticks[i].at) * h + 4, chart->y.ticks[i].label);
    page_svg_x_labels(out, &chart->x, h + 18);
    if (chart->mark >= 0 && chart->mark_text != NULL && chart->mark_plain)
        write_mark_text(out, chart);
    else if (chart->mark >= 0 && chart->mark_text != NULL)
        base_buf_printf(out, "<text class=\"warn e\" x=\"100%%\" dx=\"-8\" y=\"%d\">%s</text>",
                        h - 9, chart->mark_text);
    write_labels(out, chart);
}
