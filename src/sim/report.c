/* report.c - the page: what is on it, in which order, and how to repeat it.
 *
 * The page holds no script and asks for nothing from anywhere; its policy says so to the browser.
 * Its size does not grow with the number of jobs: lines have a maximum of points, tables of rows,
 * pictures of bytes, names of characters. Files: report_text.c (words), report_table.c,
 * report_occupancy.c (who holds what), report_lines.c (over time, distributions), report_shares.c
 * (prices, shares), report_num.c; the kit is src/page. Tests: test_report.c. */
#include "sim/report_parts.h"

#include "base/err.h"
#include "base/text.h"
#include "shoal/version.h"
#include <inttypes.h>
#include <math.h>

static void write_title(const struct sim_report_page *page)
{
    char jobs[48], gpus[48];
    if (page->opts->title != NULL) {
        page_name(page->out, page->opts->title, 120);
        return;
    }
    base_buf_printf(page->out, "%s job%s on %s GPU%s",
                    base_format_count(page->trace->job_count, jobs, sizeof jobs),
                    page->trace->job_count == 1 ? "" : "s",
                    base_format_count(page->cluster->gpus, gpus, sizeof gpus),
                    page->cluster->gpus == 1 ? "" : "s");
}

/* "jobs of 1 to 8 GPUs, submitted over 22 h · 24 t4, 16 a100 · 3 policies, a decision every 1 min"
 */
static void write_setting(const struct sim_report_page *page)
{
    const struct sim_trace *trace = page->trace;
    struct base_buf *out = page->out;
    uint32_t least = UINT32_MAX, most = 0;
    for (size_t i = 0; i < trace->job_count; i++) {
        least = trace->jobs[i].gpus < least ? trace->jobs[i].gpus : least;
        most = trace->jobs[i].gpus > most ? trace->jobs[i].gpus : most;
    }
    char text[64];
    if (trace->job_count > 0) {
        base_buf_printf(out, least == most ? "jobs of %u GPU%s" : "jobs of %u", least,
                        most == 1 ? "" : "s");
        if (least != most)
            base_buf_printf(out, " to %u GPUs", most);
        double last_s = trace->jobs[trace->job_count - 1].submit_s - trace->jobs[0].submit_s;
        if (last_s > 0)
            base_buf_printf(out, ", submitted over %s", page_duration(last_s, text, sizeof text));
        base_buf_puts(out, " \xc2\xb7 ");
    }
    for (uint32_t k = 0; k < page->cluster->kind_count; k++) {
        base_buf_printf(out, "%s%s\xc2\xa0", k == 0 ? "" : ", ",
                        base_format_count(page->cluster->kinds[k].gpus, text, sizeof text));
        page_name(out, page->cluster->kinds[k].name, 20);
    }
    if (page->count == 1)
        base_buf_puts(out, " \xc2\xb7 one policy");
    else
        base_buf_printf(out, " \xc2\xb7 %zu policies", page->count);
    if (page->opts->round_s > 0)
        base_buf_printf(out, ", a decision every %s",
                        page_duration(page->opts->round_s, text, sizeof text));
    if (page->opts->react_s > 0)
        base_buf_puts(out, " and when something happens");
}

static shoal_status write_repeat(const struct sim_report_page *page)
{
    struct base_buf *out = page->out;
    char text[64];
    page_panel_open(out, "repeat", "To repeat this",
                    "the same input, seed and version give the same numbers");
    if (page->opts->command != NULL) {
        base_buf_puts(out, "<p class=\"cmd mono\">");
        base_buf_html(out, page->opts->command);
        base_buf_puts(out, "</p>");
    }
    base_buf_puts(out, "<dl class=\"facts\">\n");
    page_fact_open(out, "Trace");
    base_buf_printf(out, "%s jobs", base_format_count(page->trace->job_count, text, sizeof text));
    if (page->trace->format != NULL) {
        base_buf_puts(out, ", format ");
        page_name(out, page->trace->format, 20);
    }
    if (page->trace->skipped > 0)
        base_buf_printf(out, ", %s lines left out",
                        base_format_count(page->trace->skipped, text, sizeof text));
    page_fact_close(out);
    page_fact_open(out, "Input hash");
    base_buf_printf(out, "<span class=\"mono\">%016" PRIx64 "</span>", page->trace->input_hash);
    page_fact_close(out);
    page_fact_open(out, "Cluster");
    struct base_buf spec;
    base_buf_init(&spec, out->alloc, 4096);
    sched_cluster_format(page->cluster, &spec);
    shoal_status st = base_buf_status(&spec); /* a very mixed cluster has no short spec */
    if (st == SHOAL_OK && spec.size > 0) {
        base_buf_puts(out, "<span class=\"mono\">");
        page_name(out, spec.data, 200);
        base_buf_puts(out, "</span>");
    } else {
        base_buf_printf(out, "%u nodes, %u GPUs", page->cluster->node_count, page->cluster->gpus);
    }
    base_buf_fini(&spec);
    page_fact_close(out);
    page_fact_open(out, "Round");
    base_buf_puts(out, page_duration(page->opts->round_s, text, sizeof text));
    if (page->opts->react_s > 0)
        base_buf_printf(out, ", reacts within %s",
                        page_duration(page->opts->react_s, text, sizeof text));
    page_fact_close(out);
    page_fact_open(out, "Seed");
    base_buf_printf(out, "%" PRIu64, page->opts->seed);
    page_fact_close(out);
    page_fact_open(out, "Version");
    base_buf_puts(out, "shoal " SHOAL_VERSION);
    page_fact_close(out);
    double cpu_s = 0;
    uint64_t job_rounds = 0;
    for (size_t i = 0; i < page->count; i++) {
        cpu_s += page->results[i]->metrics.cpu_s;
        job_rounds += page->results[i]->metrics.job_rounds;
    }
    page_fact_open(out, page->count > 1 ? "CPU time, all policies" : "CPU time");
    base_buf_puts(out, page_duration(cpu_s, text, sizeof text));
    page_fact_close(out);
    page_fact_open(out, "Decisions about a job");
    base_buf_puts(out, base_format_count(job_rounds, text, sizeof text));
    page_fact_close(out);
    base_buf_puts(out, "</dl>\n");
    page_panel_close(out);
    return st == SHOAL_E_NOMEM ? st : SHOAL_OK;
}

/* The end of the latest record or finish, so that one axis of time suits all results. */
static double find_span(const struct sim_report_page *page)
{
    double span = 0;
    for (size_t i = 0; i < page->count; i++) {
        const struct sim_result *result = page->results[i];
        if (isfinite(result->metrics.makespan_s))
            span = fmax(span, result->metrics.makespan_s);
        for (size_t job = 0; job < page->trace->job_count; job++)
            if (isfinite(result->jobs[job].finish_s))
                span = fmax(span, result->jobs[job].finish_s - result->origin_s);
    }
    if (span > 0)
        return span;
    for (size_t i = 0; i < page->count; i++)
        span = fmax(span, page->results[i]->series.step_s * (double)page->results[i]->series.count);
    return span > 0 && isfinite(span) ? span : 1;
}

static size_t find_lead(const struct sim_report_page *page)
{
    size_t lead = 0;
    double least = INFINITY;
    for (size_t i = 0; i < page->count; i++) {
        const struct sim_metrics *m = &page->results[i]->metrics;
        if (m->finished > 0 && m->avg_jct_s < least) {
            least = m->avg_jct_s;
            lead = i;
        }
    }
    return lead;
}

shoal_status sim_report(const struct sim_result *const *results, size_t count,
                        const struct sim_report_opts *opts, struct base_buf *out, shoal_err *err)
{
    if (count == 0)
        return base_err(err, SHOAL_E_INVAL, "cannot write a report without results");
    struct sim_report_page page = {.out = out,
                                   .results = results,
                                   .count = count,
                                   .opts = opts,
                                   .trace = results[0]->trace,
                                   .cluster = results[0]->cluster};
    for (size_t i = 1; i < count; i++)
        if (results[i]->trace != page.trace || results[i]->cluster != page.cluster)
            return base_err(err, SHOAL_E_INVAL,
                            "cannot write one report about different traces or clusters");
    page.span_s = find_span(&page);
    page.lead = find_lead(&page);

    page_head_open(out);
    write_title(&page);
    page_head_close(out, NULL);
    page_top(out, "simulation report");
    base_buf_puts(out, "<div class=\"title\"><h1>");
    write_title(&page);
    base_buf_puts(out, "</h1><span class=\"dim\">");
    write_setting(&page);
    base_buf_puts(out, "</span></div>\n");
    sim_report_findings(&page);
    sim_report_comparison(&page);
    shoal_status st = sim_report_occupancy(&page);
    if (st == SHOAL_OK)
        st = sim_report_queue(&page);
    if (st == SHOAL_OK)
        st = sim_report_cdf(&page);
    if (st == SHOAL_OK)
        st = sim_report_shares(&page);
    sim_report_waiting(&page);
    sim_report_worst(&page);
    if (st == SHOAL_OK)
        st = write_repeat(&page);
    page_end(out);
    if (st == SHOAL_OK)
        st = base_buf_status(out);
    if (st == SHOAL_E_LIMIT)
        return base_err(err, st, "cannot write the report: larger than %zu bytes", out->size_max);
    return st == SHOAL_OK ? st : base_err_nomem(err, "writing the report");
}
