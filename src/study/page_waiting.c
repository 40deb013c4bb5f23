/* page_waiting.c - why jobs wait: delay by reason and size of job, and its distribution. */
#include "study/page_parts.h"

#include "base/assert.h"
#include "base/text.h"
#include <math.h>
#include <stdio.h>

enum { PLOT_PX = 220 };

const struct study_page_reason study_page_reasons[SIM_WAIT_COUNT] = {
    {SIM_WAIT_LOCALITY, 3, "fragmentation", "enough GPUs were free, but not close together"},
    {SIM_WAIT_FAIR_SHARE, 0, "fair share", "its group had used its quota, others had not"},
    {SIM_WAIT_CAPACITY, 1, "capacity", "too few GPUs were free"},
    {SIM_WAIT_OTHER, 2, "next round", "until the next decision"},
};

static void size_name(uint32_t size, char *buf, size_t room)
{
    snprintf(buf, room, "%s%s GPU%s", size == 3 ? "more than " : "",
             size == 3 ? "8" : study_size_names[size], size == 0 ? "" : "s");
}

static void write_bars(const struct study *study, struct base_buf *out)
{
    const struct study_tally *t = &study->runs[STUDY_BASE].tally;

    for (uint32_t s = 0; s < STUDY_SIZES; s++) {
        struct study_page_piece pieces[SIM_WAIT_COUNT];
        char texts[SIM_WAIT_COUNT][64], name[48], end[64];
        if (study->jobs.sizes[s] == 0)
            continue;
        for (size_t i = 0; i < SIM_WAIT_COUNT; i++) {
            const struct study_page_reason *r = &study_page_reasons[i];
            double value = t->delays[s][r->why].total_s;
            pieces[i] = (struct study_page_piece){r->name, r->colour, value,
                                                  study_page_h(value, texts[i], sizeof texts[i])};
        }
        size_name(s, name, sizeof name);
        study_page_bar(out, name, pieces, SIM_WAIT_COUNT, t->delays[s][STUDY_WAITS].total_s,
                       study_page_h(t->delays[s][STUDY_WAITS].total_s, end, sizeof end), false);
    }
}

static void write_row(const struct study_tally *t, uint64_t jobs, uint32_t size,
                      const struct study_page_reason *reason, const char *name,
                      struct base_buf *out)
{
    const struct study_delay *d = &t->delays[size][reason->why];
    char text[5][64];

    base_buf_printf(
        out,
        "<tr><td>%s</td><td>%s</td><td class=\"r\">%s</td><td class=\"r\">%s</td><td "
        "class=\"r\">%s</td><td class=\"r\">%s</td><td class=\"r\">%s</td></tr>\n",
        name, reason->name, base_format_count(d->jobs, text[0], sizeof text[0]),
        page_percent(jobs > 0 ? (double)d->jobs / (double)jobs : 0, text[1], sizeof text[1]),
        study_page_h(d->total_s, text[2], sizeof text[2]),
        page_duration(d->jobs > 0 ? d->p50_s : NAN, text[3], sizeof text[3]),
        page_duration(d->jobs >= STUDY_FEW ? d->p95_s : NAN, text[4], sizeof text[4]));
}

static void write_table(const struct study *study, struct base_buf *out)
{
    const struct study_tally *t = &study->runs[STUDY_BASE].tally;

    base_buf_puts(out,
                  "<div class=\"scroll\"><table class=\"nums tight\"><thead><tr><th "
                  "scope=\"col\">Job size</th><th scope=\"col\">Waited for</th><th scope=\"col\" "
                  "class=\"r\">jobs</th><th scope=\"col\" class=\"r\">of its size</th><th "
                  "scope=\"col\" class=\"r\">together</th><th scope=\"col\" "
                  "class=\"r\">median</th><th scope=\"col\" class=\"r\">p95</th></tr></thead>"
                  "<tbody>\n");
    for (uint32_t s = 0; s < STUDY_SIZES; s++) {
        char name[48];
        if (study->jobs.sizes[s] == 0)
            continue;
        size_name(s, name, sizeof name);
        for (size_t i = 0; i < SIM_WAIT_COUNT; i++)
            if (study_page_reasons[i].why != SIM_WAIT_OTHER)
                write_row(t, study->jobs.sizes[s], s, &study_page_reasons[i], name, out);
    }
    base_buf_puts(out, "</tbody></table></div>\n");
}

void study_page_waiting(const struct study *study, struct base_buf *out)
{
    const struct study_tally *t = &study->runs[STUDY_BASE].tally;

    page_panel_open(out, "why", "Why do jobs wait?",
                    "the cluster as it is: hours of all jobs of a size, by reason");
    if (!(t->delays[STUDY_ALL][STUDY_WAITS].total_s > 0)) {
        base_buf_puts(out, "<p>No job waited.</p>");
        page_panel_close(out);
        return;
    }
    base_buf_puts(out, "<ul class=\"legend\">");
    for (size_t i = 0; i < SIM_WAIT_COUNT; i++)
        study_page_key(out, study_page_reasons[i].colour, study_page_reasons[i].name,
                       study_page_reasons[i].meaning);
    base_buf_puts(out, "</ul>\n");
    write_bars(study, out);
    base_buf_puts(out,
                  "<p class=\"dim small\">Median and p95 are over the jobs that waited for the "
                  "reason; there is no p95 of fewer than 20 jobs.</p>\n");
    write_table(study, out);
    page_panel_close(out);
}

/* ---- distributions ---- */

static void cdf_line(const float *quantiles, double lo, double hi, struct page_line *line)
{
    line->count = 0;
    for (size_t i = 0; i < STUDY_POINTS; i++) {
        double x = log(fmax((double)quantiles[i], lo) / lo) / log(hi / lo);
        line->x[line->count] = (float)fmin(1, x);
        line->y[line->count++] = (float)i / (STUDY_POINTS - 1);
    }
}

static void cdf_table(const struct study *study, const struct study_tally *t, struct base_buf *out)
{
    static const double shares[] = {0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1};
    char text[64];

    page_details_open(out);
    base_buf_puts(out, "<thead><tr><th scope=\"col\">Share of jobs</th>");
    for (uint32_t s = 0; s < STUDY_SIZES; s++)
        if (study->jobs.sizes[s] > 0)
            base_buf_printf(out, "<th scope=\"col\" class=\"r\">%s%s</th>", s == 3 ? "over " : "",
                            s == 3 ? "8" : study_size_names[s]);
    base_buf_puts(out, "</tr></thead><tbody>");
    for (size_t i = 0; i < BASE_COUNT(shares); i++) {
        base_buf_printf(out, "<tr><td>%.4g\xc2\xa0%% waited at most</td>", 100 * shares[i]);
        for (uint32_t s = 0; s < STUDY_SIZES; s++)
            if (study->jobs.sizes[s] > 0)
                base_buf_printf(
                    out, "<td class=\"r\">%s</td>",
                    page_duration(
                        (double)t->waits_s[s][(size_t)nearbyint(shares[i] * (STUDY_POINTS - 1))],
                        text, sizeof text));
        base_buf_puts(out, "</tr>");
    }
    base_buf_puts(out, "</tbody>");
    page_details_close(out);
}

static void cdf_chart(const struct study *study, enum study_run_id run, double lo, double hi,
                      struct page_line *lines, struct base_buf *out)
{
    static const char *const names[STUDY_SIZES] = {"1 GPU", "2-4 GPUs", "5-8 GPUs", "over 8"};
    const struct study_tally *t = &study->runs[run].tally;
    struct page_chart chart = {.height = PLOT_PX, .lines = lines, .mark = -1};
    char text[64];

    for (uint32_t s = 0; s < STUDY_SIZES; s++) {
        if (study->jobs.sizes[s] == 0 || isnan(t->waits_s[s][0]))
            continue;
        struct page_line *line = &lines[chart.line_count++];
        line->name = names[s];
        line->style = s;
        line->kind = line->steps = false;
        cdf_line(t->waits_s[s], lo, hi, line);
    }
    page_axis_share(&chart.y);
    page_axis_log_time(&chart.x, lo, hi);
    page_panel_open(out, run == STUDY_BASE ? "cdf" : "cdf-all",
                    run == STUDY_BASE ? "How long jobs wait, as it is"
                                      : "How long jobs wait, with all guidelines",
                    "share of jobs of a size that waited at most so long, logarithmic");
    base_buf_puts(out, "<ul class=\"legend\">");
    for (size_t i = 0; i < chart.line_count; i++) {
        base_buf_puts(out, "<li>");
        page_legend_key(out, lines[i].style);
        base_buf_printf(out, "<b>%s</b></li>", lines[i].name);
    }
    base_buf_puts(out, "</ul>\n<div class=\"plot\">");
    page_svg_open(out, PLOT_PX + PAGE_AXIS_PX);
    base_buf_puts(out, "Share of jobs that waited at most a time. 95 % of jobs:");
    for (uint32_t s = 0; s < STUDY_SIZES; s++)
        if (study->jobs.sizes[s] >= STUDY_FEW)
            base_buf_printf(out, " %s %s;", names[s],
                            page_duration(t->delays[s][STUDY_WAITS].p95_s, text, sizeof text));
    page_svg_label_done(out);
    page_svg_chart(out, &chart);
    page_svg_close(out);
    base_buf_puts(out, "</div>");
    cdf_table(study, t, out);
    page_panel_close(out);
}

shoal_status study_page_cdf(const struct study *study, struct base_buf *out)
{
    struct page_line *lines = base_calloc(out->alloc, STUDY_SIZES, sizeof *lines);
    double hi = 0, lo = 10;

    if (lines == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t s = 0; s < STUDY_SIZES; s++) {
        float a = study->runs[STUDY_BASE].tally.waits_s[s][STUDY_POINTS - 1];
        float b = study->runs[STUDY_TOGETHER].tally.waits_s[s][STUDY_POINTS - 1];
        hi = fmax(hi, fmax(isnan(a) ? 0 : (double)a, isnan(b) ? 0 : (double)b));
    }
    hi = fmax(hi, 10 * lo);
    base_buf_puts(out, "<div class=\"cols\">");
    cdf_chart(study, STUDY_BASE, lo, hi, lines, out);
    cdf_chart(study, STUDY_TOGETHER, lo, hi, lines, out);
    base_buf_puts(out, "</div>\n");
    base_free(out->alloc, lines);
    return SHOAL_OK;
}
