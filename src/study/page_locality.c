/* page_locality.c - locality against use: on how many servers GPU time was held, and what that
 * cost. */
#include "study/page_parts.h"

#include "base/assert.h"
#include <math.h>
#include <stdio.h>

static double held_s(const struct study_tally *t, uint32_t size)
{
    double sum = 0;

    for (uint32_t b = 0; b < SIM_SERVERS_COUNT; b++)
        sum += t->servers_gpu_s[size][b];
    return sum;
}

static void write_bars(const struct study *study, enum study_run_id run, struct base_buf *out)
{
    static const unsigned colours[SIM_SERVERS_COUNT] = {0, 1, 2, 3, 4};
    static const char *const names[SIM_SERVERS_COUNT] = {"1 server", "2", "3-4", "5-8", "more"};
    const struct study_tally *t = &study->runs[run].tally;

    for (uint32_t s = 1; s < STUDY_SIZES; s++) {
        struct study_page_piece pieces[SIM_SERVERS_COUNT];
        char texts[SIM_SERVERS_COUNT][64], name[48], end[64];
        double all = held_s(t, s);
        if (!(all > 0))
            continue;
        for (uint32_t b = 0; b < SIM_SERVERS_COUNT; b++)
            pieces[b] = (struct study_page_piece){
                names[b], colours[b], t->servers_gpu_s[s][b],
                study_page_h(t->servers_gpu_s[s][b], texts[b], sizeof texts[b])};
        snprintf(name, sizeof name, "%s GPUs", s == 3 ? "more than 8" : study_size_names[s]);
        study_page_bar(out, name, pieces, SIM_SERVERS_COUNT, all,
                       study_page_h(all, end, sizeof end), true);
    }
}

static void write_run_row(const struct study *study, enum study_run_id run, struct base_buf *out)
{
    const struct study_tally *t = &study->runs[run].tally;
    double spread = 0, beside = 0;
    char text[5][64];

    for (uint32_t s = 0; s < STUDY_SIZES; s++) {
        spread += t->spread_gpu_s[s];
        beside += t->beside_gpu_s[s];
    }
    double held = t->held_gpu_s > 0 ? t->held_gpu_s : 1;
    base_buf_printf(
        out,
        "<tr><td>%s</td><td class=\"r\">%s</td><td class=\"r\">%s</td><td class=\"r\">%s</td><td "
        "class=\"r\">%s</td><td class=\"r\">%s</td></tr>\n",
        study_guidelines[run].name, page_percent(spread / held, text[0], sizeof text[0]),
        page_percent(beside / held, text[1], sizeof text[1]),
        study_page_h(t->slow_all_gpu_s, text[2], sizeof text[2]),
        page_percent(t->occupancy, text[3], sizeof text[3]),
        page_percent(t->utilization, text[4], sizeof text[4]));
}

void study_page_locality(const struct study *study, struct base_buf *out)
{
    page_panel_open(out, "locality", "What does spreading jobs out cost?",
                    "places simulated, speed modelled: the trace says nothing of either");
    if (study->jobs.sizes[0] == study->jobs.count) {
        base_buf_puts(out, "<p>Every job asks for one GPU: there is nothing to spread.</p>");
        page_panel_close(out);
        return;
    }
    base_buf_puts(out, "<div class=\"two\"><div><h3>GPU time by servers used, as it is</h3>\n");
    write_bars(study, STUDY_BASE, out);
    base_buf_puts(out, "</div><div><h3>With all guidelines</h3>\n");
    write_bars(study, STUDY_TOGETHER, out);
    base_buf_puts(
        out, "</div></div>\n<p class=\"dim small\">Spread: GPU time on more servers than the job "
             "needs. Beside: GPU time of jobs of several GPUs that share a server with another "
             "such job. Busy: GPU time held by jobs, useful or not.</p>\n"
             "<div class=\"scroll\"><table class=\"nums tight\"><thead><tr><th "
             "scope=\"col\">Guideline</th><th scope=\"col\" class=\"r\">spread</th><th "
             "scope=\"col\" class=\"r\">beside</th><th scope=\"col\" class=\"r\">GPU time "
             "lost to speed</th><th scope=\"col\" class=\"r\">busy</th><th scope=\"col\" "
             "class=\"r\">useful</th></tr></thead><tbody>\n");
    for (enum study_run_id r = STUDY_BASE; r < STUDY_RUNS; r++)
        if (study->runs[r].possible)
            write_run_row(study, r, out);
    base_buf_puts(out, "</tbody></table></div>\n");
    page_panel_close(out);
}
