/* page_failures.c - failures by class: how many jobs met one, and the GPU time it cost. */
#include "study/page_parts.h"

#include "base/assert.h"
#include "base/text.h"
#include <math.h>
#include <stdio.h>

static unsigned colour_of(enum study_cause cause)
{
    return cause == STUDY_USER ? 0 : cause == STUDY_INFRASTRUCTURE ? 3 : 6;
}

/* A bar per class: of jobs, or of GPU time lost. */
static void write_bars(const struct study *study, bool jobs, struct base_buf *out)
{
    double most = 0;

    for (size_t c = 0; c < STUDY_CLASSES; c++)
        most = fmax(most, jobs ? (double)study->lost[c].jobs : study->lost[c].lost_gpu_s);
    for (size_t c = 0; c < STUDY_CLASSES; c++) {
        const struct study_lost *l = &study->lost[c];
        char text[64];
        if (jobs)
            base_format_count(l->jobs, text, sizeof text);
        else
            study_page_h(l->lost_gpu_s, text, sizeof text);
        struct study_page_piece piece = {study_cause_name(study_classes[c].cause),
                                         colour_of(study_classes[c].cause),
                                         jobs ? (double)l->jobs : l->lost_gpu_s, text};
        study_page_bar(out, study_classes[c].name, &piece, 1, most, text, true);
    }
}

static void write_table(const struct study *study, struct base_buf *out)
{
    base_buf_puts(out,
                  "<div class=\"scroll\"><table class=\"nums tight\"><thead><tr><th "
                  "scope=\"col\">Class</th><th scope=\"col\">Cause</th><th scope=\"col\" "
                  "class=\"r\">jobs</th><th scope=\"col\" class=\"r\">attempts</th><th "
                  "scope=\"col\" class=\"r\">GPU time lost</th><th scope=\"col\">A further attempt"
                  "</th></tr></thead><tbody>\n");
    for (size_t c = 0; c < STUDY_CLASSES; c++) {
        const struct study_class *row = &study_classes[c];
        const struct study_lost *l = &study->lost[c];
        char text[3][64];
        base_buf_printf(out,
                        "<tr><td title=\"%s\">%s</td><td>%s</td><td class=\"r\">%s</td><td "
                        "class=\"r\">%s</td><td class=\"r\">%s</td><td>%s</td></tr>\n",
                        row->meaning, row->name, study_cause_name(row->cause),
                        base_format_count(l->jobs, text[0], sizeof text[0]),
                        base_format_count(l->attempts, text[1], sizeof text[1]),
                        study_page_h(l->lost_gpu_s, text[2], sizeof text[2]),
                        row->retry ? "can pass" : "fails again");
    }
    base_buf_puts(out, "</tbody></table></div>\n");
}

static void write_sizes(const struct study *study, struct base_buf *out)
{
    char text[2][64];
    const char *between = "Unsuccessful by size: ";

    base_buf_puts(out, "<p>");
    for (uint32_t s = 0; s < STUDY_SIZES; s++)
        if (study->jobs.sizes[s] > 0) {
            base_buf_printf(
                out, "%s%s of %s jobs of %s GPU%s", between,
                page_percent((double)study->unsuccessful[s] / (double)study->jobs.sizes[s], text[0],
                             sizeof text[0]),
                base_format_count(study->jobs.sizes[s], text[1], sizeof text[1]),
                s == 3 ? "more than 8" : study_size_names[s], s == 0 ? "" : "s");
            between = ", ";
        }
    base_buf_puts(out, ". The study this follows found about 17 % of jobs and 18 % of GPU time "
                       "unsuccessful (arXiv 1901.05758).</p>\n");
}

void study_page_failures(const struct study *study, struct base_buf *out)
{
    page_panel_open(out, "failures", "What do failures cost?",
                    "a model: the trace does not say how its jobs ended");
    if (study->opts.failures == STUDY_FAILURES_NONE) {
        base_buf_puts(out, "<p>");
        study_say_failures(study, out);
        base_buf_puts(out, "</p>");
        page_panel_close(out);
        return;
    }
    base_buf_puts(out, "<ul class=\"legend\">");
    study_page_key(out, colour_of(STUDY_USER), "user", "mistakes in the job; most come early");
    study_page_key(out, colour_of(STUDY_INFRASTRUCTURE), "infrastructure",
                   "not the job's fault; most come late");
    study_page_key(out, colour_of(STUDY_UNKNOWN), "unknown", "either");
    base_buf_puts(out, "</ul>\n<div class=\"two\"><div><h3>Jobs that met it</h3>\n");
    write_bars(study, true, out);
    base_buf_puts(out, "</div><div><h3>GPU time lost</h3>\n");
    write_bars(study, false, out);
    base_buf_puts(out, "</div></div>\n");
    write_sizes(study, out);
    write_table(study, out);
    page_panel_close(out);
}
