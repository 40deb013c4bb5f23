/* report_shares.c - policies that solve for shares: what one more GPU of a kind would be worth over
 * time, and what jobs were promised against what they got.
 *
 * Prices have the unit of the policy's objective, which differs from policy to policy, or of what it
 * looks at next while GPUs cannot better that. So a chart shows them against their mean over all GPUs
 * and all the time in that unit with live jobs: 1 is the average GPU. Of shares the page
 * counts finished jobs. What a job received of a kind beyond its promise does not make up for another
 * kind: promised time that was received is the smaller of the two, kind by kind, and the rest is the
 * gap. Policies that name no prices, or promise no shares, have no such panel.
 *
 * Bounded: POLICIES_MAX policies, LINE_BYTES of lines, JOBS_MAX jobs each. Tests:
 * test_report_shares.c. */
#include "sim/report_parts.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

enum {
    POLICIES_MAX = 6,
    JOBS_MAX = 8,
    PLOT_PX = 320, /* about as high as the shares beside it */
    AXIS_PX = 26,
    BAR_PX = 22,
    LINE_BYTES = 160 * 1024, /* of all lines of prices */
    POINT_BYTES = 14
};

static bool has_prices(const struct sim_report_page *page, const struct sim_result *result)
{
    const struct sim_series *series = &result->series;
    for (uint32_t k = 0; k < page->cluster->kind_count; k++)
        if (series->price[k] == NULL)
            return false;
    return series->step_s > 0 && series->count > 0;
}

static bool has_shares(const struct sim_result *result)
{
    return result->wanted_s != NULL && result->received_s != NULL;
}

static void panel_open(const struct sim_report_page *page, size_t index, const char *id,
                       const char *title)
{
    base_buf_printf(page->out,
                    "<section class=\"panel\" aria-labelledby=\"h-%s-%zu\"><div class=\"head\">"
                    "<h2 id=\"h-%s-%zu\">%s",
                    id, index, id, index, title);
    if (page->count > 1) {
        base_buf_puts(page->out, " under ");
        sim_report_policy(page->out, page->results[index]);
    }
    base_buf_puts(page->out, "</h2>");
}

static void kind_head(const struct sim_report_page *page, const char *first)
{
    base_buf_printf(page->out, "<thead><tr><th scope=\"col\">%s</th>", first);
    for (uint32_t k = 0; k < page->cluster->kind_count; k++) {
        base_buf_puts(page->out, "<th scope=\"col\" class=\"r\">");
        page_name(page->out, page->cluster->kinds[k].name, 20);
        base_buf_puts(page->out, "</th>");
    }
    base_buf_puts(page->out, "</tr></thead><tbody>");
}

/* ---- prices ---- */

/* One of the two units that prices come in. */
struct priced {
    const char *unit;
    float *const *of; /* (kinds) series */
    double held_s;    /* how long prices were in this unit */
    double mean;      /* of all GPUs over that time; 0: none had a price */
};

struct prices {
    const struct sim_series *series;
    struct priced own, next;
    double of_kind[SCHED_KINDS_MAX]; /* means over the time with prices, relative to the means */
};

/* Between two times; NAN past the end. Prices below 0 are none. */
static double raw_between(const struct prices *p, const struct priced *of, uint32_t kind,
                          double from_s, double to_s)
{
    double price =
        of->of[kind] != NULL ? sim_report_mean(p->series, of->of[kind], from_s, to_s) : 0;
    return isnan(price) ? price : isinf(price) ? 0 : fmax(0, price);
}

/* The same relative to the mean. */
static double price_between(const struct prices *p, uint32_t kind, double from_s, double to_s)
{
    double price = 0;
    if (p->own.mean > 0)
        price += raw_between(p, &p->own, kind, from_s, to_s) / p->own.mean;
    if (p->next.mean > 0)
        price += raw_between(p, &p->next, kind, from_s, to_s) / p->next.mean;
    return price;
}

static double mean_of(const struct sim_report_page *page, const struct prices *p,
                      const struct priced *of, double span_s)
{
    double sum = 0, gpus = 0;
    for (uint32_t k = 0; k < page->cluster->kind_count; k++) {
        double price = raw_between(p, of, k, 0, span_s);
        sum += isfinite(price) ? price * page->cluster->kinds[k].gpus : 0;
        gpus += page->cluster->kinds[k].gpus;
    }
    double mean = of->held_s > 0 ? sum / fmax(1, gpus) * span_s / of->held_s : 0;
    return mean > 0 && isfinite(mean) ? mean : 0;
}

/* False when no GPU ever had a price. */
static bool measure_prices(const struct sim_report_page *page, const struct sim_result *result,
                           struct prices *p)
{
    const struct sim_series *series = &result->series;
    double span_s = series->step_s * (double)series->count;
    *p = (struct prices){
        .series = series,
        .own = {.unit = series->price_unit, .of = series->price, .held_s = series->price_s},
        .next = {.unit = series->next_unit, .of = series->next, .held_s = series->next_s},
    };
    p->own.mean = mean_of(page, p, &p->own, span_s);
    p->next.mean = mean_of(page, p, &p->next, span_s);
    if (p->own.mean == 0 && p->next.mean == 0)
        return false;
    double held_s = p->own.held_s + p->next.held_s;
    for (uint32_t k = 0; k < page->cluster->kind_count; k++) {
        double price = price_between(p, k, 0, span_s) * span_s / held_s;
        p->of_kind[k] = isfinite(price) ? price : 0;
    }
    return true;
}

/* "4 GPUs of average speed" */
static void put_price(struct base_buf *out, const struct priced *of)
{
    base_buf_printf(out, "%.3g %s", of->mean, of->unit != NULL ? of->unit : "");
}

static void say_mean(const struct sim_report_page *page, const struct prices *p)
{
    struct base_buf *out = page->out;
    char text[64];
    base_buf_puts(out, "; 1 is the mean of all, ");
    put_price(out, p->own.mean > 0 ? &p->own : &p->next);
    if (p->own.mean == 0 || p->next.mean == 0)
        return;
    base_buf_printf(
        out, "; %s of the time GPUs cannot better that, and it is ",
        page_percent(p->next.held_s / (p->own.held_s + p->next.held_s), text, sizeof text));
    put_price(out, &p->next);
}

static void price_line(const struct sim_report_page *page, const struct prices *p, uint32_t kind,
                       size_t points_max, struct page_line *line)
{
    const struct sim_series *series = p->series;
    *line = (struct page_line){
        .name = page->cluster->kinds[kind].name, .style = kind, .kind = true, .steps = true};
    double end_s = fmin(page->span_s, series->step_s * (double)series->count);
    size_t points = series->count < points_max ? series->count : points_max;
    for (size_t i = 0; i < points; i++) {
        double from = end_s * (double)i / (double)points,
               to = end_s * (double)(i + 1) / (double)points;
        double price = price_between(p, kind, from, to);
        if (!isfinite(price))
            break;
        line->x[line->count] = (float)(from / page->span_s);
        line->y[line->count++] = (float)price;
    }
    if (line->count > 0) {
        line->x[line->count] = (float)(end_s / page->span_s);
        line->y[line->count] = line->y[line->count - 1];
        line->count++;
    }
}

static void price_legend(const struct sim_report_page *page, const struct prices *p)
{
    struct base_buf *out = page->out;
    base_buf_puts(out, "<ul class=\"legend\">");
    for (uint32_t k = 0; k < page->cluster->kind_count; k++) {
        char text[64];
        base_buf_printf(out,
                        "<li><svg width=\"28\" height=\"8\" aria-hidden=\"true\"><path class=\"ed "
                        "c%u d%u\" d=\"M0 4H28\"/></svg><span><b>",
                        page_kind_colour(k), (k + k / PAGE_COLOURS) % PAGE_COLOURS);
        page_name(out, page->cluster->kinds[k].name, 20);
        base_buf_printf(out, "</b> %s on average</span></li>",
                        page_number(p->of_kind[k], text, sizeof text));
    }
    base_buf_puts(out, "</ul>\n");
}

static void price_table(const struct sim_report_page *page, const struct prices *p)
{
    struct base_buf *out = page->out;
    double step = page->span_s / PAGE_TABLE_ROWS;
    page_details_open(out);
    kind_head(page, "From");
    for (int i = 0; i < PAGE_TABLE_ROWS; i++) {
        char text[64];
        base_buf_printf(out, "<tr><td>%s</td>", page_duration(step * i, text, sizeof text));
        for (uint32_t k = 0; k < page->cluster->kind_count; k++)
            base_buf_printf(
                out, "<td class=\"r\">%s</td>",
                page_number(price_between(p, k, step * i, step * (i + 1)), text, sizeof text));
        base_buf_puts(out, "</tr>");
    }
    base_buf_puts(out, "</tbody>");
    page_details_close(out);
}

static void price_chart(const struct sim_report_page *page, const struct sim_result *result,
                        const struct prices *p, size_t points_max, struct page_line *lines)
{
    struct base_buf *out = page->out;
    uint32_t kinds = page->cluster->kind_count;
    double max = 0;
    for (uint32_t k = 0; k < kinds; k++) {
        price_line(page, p, k, points_max, &lines[k]);
        for (size_t i = 0; i < lines[k].count; i++)
            max = fmax(max, lines[k].y[i]);
    }
    struct page_chart chart = {.height = PLOT_PX, .lines = lines, .line_count = kinds, .mark = -1};
    double top = page_axis_count(&chart.y, max);
    for (uint32_t k = 0; k < kinds; k++)
        for (size_t i = 0; i < lines[k].count; i++)
            lines[k].y[i] = (float)(lines[k].y[i] / top);
    page_axis_time(&chart.x, page->span_s);
    price_legend(page, p);
    base_buf_puts(out, "<div class=\"plot\">");
    page_svg_open(out, PLOT_PX + AXIS_PX);
    base_buf_puts(out, "Price of one more GPU over time under ");
    page_name(out, result->policy, SIM_REPORT_POLICY_CHARS);
    base_buf_puts(out, ", one line per kind; 1 is the mean. Over the run:");
    for (uint32_t k = 0; k < kinds; k++) {
        char text[64];
        base_buf_puts(out, k == 0 ? " " : ", ");
        page_name(out, page->cluster->kinds[k].name, 20);
        base_buf_printf(out, " %s", page_number(p->of_kind[k], text, sizeof text));
    }
    page_svg_label_done(out);
    page_svg_chart(out, &chart);
    page_svg_close(out);
    base_buf_puts(out, "</div>");
    price_table(page, p);
}

static void price_panel(const struct sim_report_page *page, size_t index, size_t points_max,
                        struct page_line *lines)
{
    const struct sim_result *result = page->results[index];
    struct prices p;
    bool any = measure_prices(page, result, &p);
    panel_open(page, index, "prices", "Prices");
    base_buf_puts(page->out,
                  "<span class=\"dim small\">what one more GPU of a kind would be worth");
    if (any)
        say_mean(page, &p);
    base_buf_puts(page->out, "</span></div>\n");
    if (any)
        price_chart(page, result, &p, points_max, lines);
    else
        base_buf_puts(page->out,
                      "<p>Nothing, at any time: one more would not have bettered anything.</p>");
    page_panel_close(page->out);
}

/* ---- shares ---- */

struct share_row {
    size_t job;
    double gap_s; /* promised and not received, over all kinds */
};

struct shares {
    const struct sim_result *result;
    uint32_t kinds;
    double wanted[SCHED_KINDS_MAX], received[SCHED_KINDS_MAX]; /* GPU-seconds of finished jobs */
    double kept[SCHED_KINDS_MAX];    /* of the promised ones, those received on that kind */
    double kept_all;                 /* and on whatever kind */
    struct share_row rows[JOBS_MAX]; /* largest gap first */
    size_t row_count;
    size_t worst_job; /* of the largest gap on one kind */
    uint32_t worst_kind;
    double worst_gap_s;
};

static double wanted_s(const struct shares *s, size_t job, uint32_t kind)
{
    double value = s->result->wanted_s[job * s->kinds + kind];
    return isfinite(value) ? fmax(0, value) : 0;
}

static double received_s(const struct shares *s, size_t job, uint32_t kind)
{
    double value = s->result->received_s[job * s->kinds + kind];
    return isfinite(value) ? fmax(0, value) : 0;
}

static void add_row(struct shares *s, size_t job, double gap_s)
{
    if (!(gap_s > 0) || (s->row_count == JOBS_MAX && gap_s <= s->rows[JOBS_MAX - 1].gap_s))
        return;
    size_t at = s->row_count < JOBS_MAX ? s->row_count++ : JOBS_MAX - 1;
    for (; at > 0 && s->rows[at - 1].gap_s < gap_s; at--)
        s->rows[at] = s->rows[at - 1];
    s->rows[at] = (struct share_row){job, gap_s};
}

static void measure_shares(const struct sim_report_page *page, const struct sim_result *result,
                           struct shares *s)
{
    *s = (struct shares){.result = result, .kinds = page->cluster->kind_count};
    for (size_t job = 0; job < page->trace->job_count; job++) {
        double gap_s = 0, all[2] = {0, 0}, gpus = page->trace->jobs[job].gpus;
        if (result->jobs[job].outcome != SIM_FINISHED)
            continue;
        for (uint32_t k = 0; k < s->kinds; k++) {
            double wanted = wanted_s(s, job, k), received = received_s(s, job, k);
            s->wanted[k] += wanted * gpus;
            s->received[k] += received * gpus;
            s->kept[k] += fmin(wanted, received) * gpus;
            all[0] += wanted;
            all[1] += received;
            gap_s += fmax(0, wanted - received);
            if (wanted - received > s->worst_gap_s) {
                s->worst_gap_s = wanted - received;
                s->worst_job = job;
                s->worst_kind = k;
            }
        }
        s->kept_all += fmin(all[0], all[1]) * gpus;
        add_row(s, job, gap_s);
    }
}

static double sum_of(const double *values, uint32_t count)
{
    double sum = 0;
    for (uint32_t k = 0; k < count; k++)
        sum += values[k];
    return sum;
}

/* "Jobs received 97 % of the GPU time they were promised, 94 % on the kind that was promised; the
 * largest gap is x on v100: 3.2 h of 4.0 h." */
static void say_shares(const struct sim_report_page *page, const struct shares *s)
{
    struct base_buf *out = page->out;
    double wanted = sum_of(s->wanted, s->kinds), kept = sum_of(s->kept, s->kinds);
    char text[64], text_same[64];
    base_buf_puts(out, "<p>");
    if (!(wanted > 0)) {
        base_buf_puts(out, "No finished job was promised any time.</p>\n");
        return;
    }
    const char *all = page_percent(s->kept_all / wanted, text, sizeof text);
    const char *same = page_percent(kept / wanted, text_same, sizeof text_same);
    if (s->kept_all >= wanted * 0.9995)
        base_buf_puts(out, "Jobs received all the GPU time they were promised");
    else
        base_buf_printf(out, "Jobs received <b>%s</b> of the GPU time they were promised", all);
    if (strcmp(all, same) != 0)
        base_buf_printf(out, ", <b>%s</b> on the kind that was promised", same);
    if (s->worst_gap_s >= 1) {
        base_buf_puts(out, "; the largest gap is <b>");
        page_name(out, page->trace->jobs[s->worst_job].name, PAGE_NAME_CHARS);
        base_buf_puts(out, "</b> on ");
        page_name(out, page->cluster->kinds[s->worst_kind].name, 20);
        base_buf_printf(
            out, ": %s",
            page_duration(received_s(s, s->worst_job, s->worst_kind), text, sizeof text));
        base_buf_printf(out, " of %s",
                        page_duration(wanted_s(s, s->worst_job, s->worst_kind), text, sizeof text));
    }
    base_buf_puts(out, ".</p>\n");
}

/* One bar of pieces, one per kind, at `y` of a picture whose width is `most`. */
static void stacked_bar(const struct sim_report_page *page, const double *values, double most,
                        int y, int px, const char *class_name, const char *what)
{
    struct base_buf *out = page->out;
    double x = 0;
    for (uint32_t k = 0; k < page->cluster->kind_count; k++) {
        double width = most > 0 ? values[k] / most * PAGE_WIDTH : 0;
        char text[64];
        if (width >= 0.5) {
            base_buf_printf(out, "<path class=\"%s c%u\" d=\"M%.1f %dh%.1fv%dh-%.1fz\"><title>%s ",
                            class_name, page_kind_colour(k), x, y, width, px, width, what);
            page_name(out, page->cluster->kinds[k].name, 20);
            base_buf_printf(out, " %s</title></path>", page_duration(values[k], text, sizeof text));
        }
        x += width;
    }
}

/* The upper bar is what was wanted, the lower one what was received. */
static void share_bars(const struct sim_report_page *page, const double *wanted,
                       const double *received, double most)
{
    struct base_buf *out = page->out;
    base_buf_printf(out,
                    "<svg viewBox=\"0 0 %d %d\" height=\"%d\" preserveAspectRatio=\"none\"><path "
                    "class=\"sunk\" d=\"M0 0h%dv%dh-%dz\"/>",
                    PAGE_WIDTH, BAR_PX, BAR_PX, PAGE_WIDTH, BAR_PX, PAGE_WIDTH);
    stacked_bar(page, wanted, most, 1, BAR_PX / 2 - 1, "j o", "wanted");
    stacked_bar(page, received, most, BAR_PX / 2, BAR_PX / 2 - 1, "got", "received");
    base_buf_puts(out, "</svg>");
}

/* "GPU-hours": aggregates weigh a job by its GPUs. */
static void kind_rows(const struct sim_report_page *page, const struct shares *s)
{
    struct base_buf *out = page->out;
    double most = 0;
    for (uint32_t k = 0; k < s->kinds; k++)
        most = fmax(most, fmax(s->wanted[k], s->received[k]));
    for (uint32_t k = 0; k < s->kinds; k++) {
        double wanted[SCHED_KINDS_MAX] = {0}, received[SCHED_KINDS_MAX] = {0};
        char text[2][64];
        wanted[k] = s->wanted[k];
        received[k] = s->received[k];
        base_buf_puts(out, "<div class=\"row\"><b>");
        page_name(out, page->cluster->kinds[k].name, 20);
        base_buf_puts(out, "</b>");
        page_svg_open(out, BAR_PX);
        page_name(out, page->cluster->kinds[k].name, 20);
        base_buf_printf(out, ": %s GPU-hours wanted, %s received",
                        page_number(wanted[k] / 3600, text[0], sizeof text[0]),
                        page_number(received[k] / 3600, text[1], sizeof text[1]));
        page_svg_label_done(out);
        share_bars(page, wanted, received, most);
        page_svg_close(out);
        base_buf_printf(out, "<span class=\"r\">%s</span></div>\n",
                        page_percent(s->wanted[k] > 0 ? s->kept[k] / s->wanted[k] : NAN, text[0],
                                     sizeof text[0]));
    }
}

static void job_rows(const struct sim_report_page *page, const struct shares *s)
{
    struct base_buf *out = page->out;
    double most = 0, wanted[SCHED_KINDS_MAX], received[SCHED_KINDS_MAX];
    for (int draw = 0; draw < 2; draw++)
        for (size_t i = 0; i < s->row_count; i++) {
            char text[2][64];
            for (uint32_t k = 0; k < s->kinds; k++) {
                wanted[k] = wanted_s(s, s->rows[i].job, k);
                received[k] = received_s(s, s->rows[i].job, k);
            }
            double all[2] = {sum_of(wanted, s->kinds), sum_of(received, s->kinds)};
            most = fmax(most, fmax(all[0], all[1]));
            if (draw == 0)
                continue;
            const char *name = page->trace->jobs[s->rows[i].job].name;
            base_buf_puts(out, "<div class=\"row\"><b>");
            page_name(out, name, PAGE_NAME_CHARS);
            base_buf_puts(out, "</b>");
            page_svg_open(out, BAR_PX);
            page_name(out, name, PAGE_NAME_CHARS);
            base_buf_printf(out, ": %s wanted, %s received",
                            page_duration(all[0], text[0], sizeof text[0]),
                            page_duration(all[1], text[1], sizeof text[1]));
            page_svg_label_done(out);
            share_bars(page, wanted, received, most);
            page_svg_close(out);
            base_buf_printf(out, "<span class=\"r\">\xe2\x88\x92%s</span></div>\n",
                            page_duration(s->rows[i].gap_s, text[0], sizeof text[0]));
        }
}

static void share_legend(const struct sim_report_page *page)
{
    struct base_buf *out = page->out;
    base_buf_puts(out, "<ul class=\"legend\">");
    for (uint32_t k = 0; k < page->cluster->kind_count; k++) {
        unsigned colour = page_kind_colour(k);
        base_buf_printf(out,
                        "<li><svg class=\"c%u\" width=\"12\" height=\"12\" viewBox=\"0 0 12 12\" "
                        "stroke-width=\"0\" aria-hidden=\"true\">%s</svg><b>",
                        colour, page_shapes[colour]);
        page_name(out, page->cluster->kinds[k].name, 20);
        base_buf_puts(out, "</b></li>");
    }
    base_buf_puts(out, "<li>upper bar wanted, lower bar received</li></ul>\n");
}

static void share_cell(struct base_buf *out, double wanted, double received)
{
    char text[2][64];
    if (wanted > 0 || received > 0)
        base_buf_printf(out, "<td class=\"r\">%s of %s</td>",
                        page_duration(received, text[0], sizeof text[0]),
                        page_duration(wanted, text[1], sizeof text[1]));
    else
        base_buf_puts(out, "<td class=\"r\">\xe2\x80\x93</td>");
}

static void share_table(const struct sim_report_page *page, const struct shares *s)
{
    struct base_buf *out = page->out;
    page_details_open(out);
    kind_head(page, "Received of wanted");
    base_buf_puts(out, "<tr><td>all jobs, GPU time</td>");
    for (uint32_t k = 0; k < s->kinds; k++)
        share_cell(out, s->wanted[k], s->received[k]);
    base_buf_puts(out, "</tr>");
    for (size_t i = 0; i < s->row_count; i++) {
        base_buf_puts(out, "<tr><td>");
        page_name(out, page->trace->jobs[s->rows[i].job].name, PAGE_NAME_CHARS);
        base_buf_puts(out, "</td>");
        for (uint32_t k = 0; k < s->kinds; k++)
            share_cell(out, wanted_s(s, s->rows[i].job, k), received_s(s, s->rows[i].job, k));
        base_buf_puts(out, "</tr>");
    }
    base_buf_puts(out, "</tbody>");
    page_details_close(out);
}

static void say_unproven(const struct sim_report_page *page, const struct sim_result *result)
{
    const struct sim_metrics *m = &result->metrics;
    char count[64], rounds[64];
    if (m->unproven == 0)
        return;
    base_buf_printf(page->out,
                    "<p>The decisions of %s of %s rounds are not proven optimal; "
                    "value and bound are up to %.2g apart.</p>\n",
                    base_format_count(m->unproven, count, sizeof count),
                    base_format_count(m->rounds, rounds, sizeof rounds), m->unproven_gap);
}

static void share_panel(const struct sim_report_page *page, size_t index)
{
    const struct sim_result *result = page->results[index];
    struct base_buf *out = page->out;
    struct shares s;
    char text[64];
    measure_shares(page, result, &s);
    panel_open(page, index, "shares", "Shares wanted and received");
    if (isfinite(result->metrics.share_error))
        base_buf_printf(out,
                        "<span class=\"dim small\" title=\"mean over finished jobs of the time by "
                        "which wanted and received differ, over the sum of both\">share error "
                        "%s</span>",
                        page_percent(result->metrics.share_error, text, sizeof text));
    base_buf_puts(out, "</div>\n<div class=\"words\">");
    say_shares(page, &s);
    say_unproven(page, result);
    base_buf_puts(out, "</div>");
    if (sum_of(s.wanted, s.kinds) > 0 || sum_of(s.received, s.kinds) > 0) {
        share_legend(page);
        base_buf_puts(out, "<p class=\"sub dim small\">GPU time of all jobs, and how much of the "
                           "promise was kept</p>\n");
        kind_rows(page, &s);
        if (s.row_count > 0)
            base_buf_puts(out, "<p class=\"sub dim small\">Jobs furthest behind what they were "
                               "promised, and by how much</p>\n");
        job_rows(page, &s);
        share_table(page, &s);
    }
    page_panel_close(out);
}

/* ---- the section ---- */

shoal_status sim_report_shares(const struct sim_report_page *page)
{
    uint32_t kinds = page->cluster->kind_count;
    size_t lines_all = 0, shown = 0, left = 0;
    for (size_t i = 0; i < page->count; i++)
        if (has_prices(page, page->results[i]))
            lines_all += kinds;
    size_t points = lines_all == 0 ? 0 : LINE_BYTES / POINT_BYTES / lines_all;
    points = points < PAGE_POINTS_MAX - 1 ? points : PAGE_POINTS_MAX - 1;
    struct page_line *lines = base_calloc(page->out->alloc, kinds + 1, sizeof *lines);
    if (lines == NULL)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < page->count; i++) {
        bool prices = has_prices(page, page->results[i]), shares = has_shares(page->results[i]);
        if (!prices && !shares)
            continue;
        if (shown == POLICIES_MAX) {
            left++;
            continue;
        }
        shown++;
        if (prices && shares)
            base_buf_puts(page->out, "<div class=\"cols\">");
        if (prices)
            price_panel(page, i, points, lines);
        if (shares)
            share_panel(page, i);
        if (prices && shares)
            base_buf_puts(page->out, "</div>\n");
    }
    if (left > 0)
        base_buf_printf(page->out,
                        "<p class=\"dim small\">Prices and shares of %zu more %s are left out; a "
                        "report on fewer policies has them.</p>\n",
                        left, left == 1 ? "policy" : "policies");
    base_free(page->out->alloc, lines);
    return SHOAL_OK;
}
