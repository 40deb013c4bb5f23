/* page.c - the page of a study: what is on it, in which order, what is measured and what is
 * modelled, and how to repeat it.
 *
 * Files: page_table.c (guidelines side by side), page_waiting.c, page_locality.c, page_failures.c
 * (one question each); the words are advice.c's, the kit is src/page. Its size does not grow with
 * the number of jobs. Tests: tests/unit/study/test_page.c. */
#include "study/page_parts.h"

#include "base/err.h"
#include "base/text.h"
#include "shoal/version.h"
#include "study/machines.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const char style[] =
    "table.nums td,table.nums th{padding-left:20px}table.nums{width:auto}table.nums "
    "td:first-child,table.nums th:first-child{padding-left:0}\n"
    ".two{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:16px 24px}\n"
    ".panel>p+.scroll,.panel>.scroll+p,.panel>p+.legend,.panel>p+.row,.panel>.row+p,\n"
    ".panel>.row+.scroll,.panel>p+p,.panel>.legend+p,.panel>dl+p,.panel>.row+h3,.panel>.scroll+h3{"
    "margin-top:12px}\n"
    ".panel h3{margin-bottom:8px}.row+details,.scroll+.legend{margin-top:12px}\n"
    ".model p{max-width:1100px}.model p+p{margin-top:8px}td.no{color:var(--dim)}\n"
    ".range{display:block;font-size:12px;font-weight:400;color:var(--dim)}\n"
    "@media (min-width:1181px){.range{white-space:nowrap}}\n"
    ".two+p,.cmp+p{margin-top:12px}.row>.r{white-space:nowrap}\n"
    "@media (min-width:721px){.row{grid-template-columns:150px minmax(0,1fr) 96px}}\n"
    "@media (max-width:1000px){.two{grid-template-columns:minmax(0,1fr)}}\n"
    "@media (max-width:720px){table.nums td,table.nums th{padding-left:12px}}\n"
    "@media print{.two{display:block}.scroll{overflow:visible}}\n";

/* ---- pieces the sections share ---- */

const char *study_page_hours(double seconds, char *buf, size_t size)
{
    char text[48];

    study_hours(seconds, text, sizeof text);
    if (!isfinite(seconds))
        snprintf(buf, size, "\xe2\x80\x93");
    else /* a minus sign is not a hyphen: "~-5" reads like a smudge */
        snprintf(buf, size, "%s%s", text[0] == '-' ? "\xe2\x88\x92" : "", text + (text[0] == '-'));
    return buf;
}

const char *study_page_h(double seconds, char *buf, size_t size)
{
    char text[56];

    snprintf(buf, size, "%s%s", study_page_hours(seconds, text, sizeof text),
             isfinite(seconds) ? "\xc2\xa0h" : "");
    return buf;
}

void study_page_key(struct base_buf *out, unsigned colour, const char *name, const char *meaning)
{
    base_buf_printf(
        out,
        "<li><svg class=\"c%u\" width=\"12\" height=\"12\" viewBox=\"0 0 12 12\" "
        "stroke-width=\"0\" aria-hidden=\"true\">%s</svg><span><b>%s</b> %s</span></li>",
        colour, page_shapes[colour], name, meaning);
}

void study_page_bar(struct base_buf *out, const char *name, const struct study_page_piece *pieces,
                    size_t count, double most, const char *end, bool half)
{
    double x = 0;

    base_buf_printf(out, "<div class=\"row\"><b>%s</b>", name);
    page_svg_open(out, 22);
    base_buf_printf(out, "%s:", name);
    for (size_t i = 0; i < count; i++)
        if (pieces[i].value > 0)
            base_buf_printf(out, " %s %s;", pieces[i].name, pieces[i].text);
    page_svg_label_done(out);
    base_buf_printf(out,
                    "<svg viewBox=\"0 0 %d 22\" height=\"22\" preserveAspectRatio=\"none\"><path "
                    "class=\"sunk\" d=\"M0 0h%dv22h-%dz\"/>",
                    PAGE_WIDTH, PAGE_WIDTH, PAGE_WIDTH);
    for (size_t i = 0; i < count; i++) {
        double width = most > 0 ? pieces[i].value / most * PAGE_WIDTH : 0;
        if (width >= 0.5)
            base_buf_printf(
                out,
                "<path class=\"j c%u\" d=\"M%.1f .5h%.1fv21h-%.1fz\"><title>%s %s</title></path>",
                pieces[i].colour, x, width, width, pieces[i].name, pieces[i].text);
        x += width;
    }
    base_buf_puts(out, "</svg>");
    x = 0;
    for (size_t i = 0; i < count; i++) {
        double share = most > 0 ? pieces[i].value / most : 0;
        double needs_px =
            (6.2 * (double)page_name_chars(pieces[i].name, 30) + 8) / fmax(share, 1e-9);
        if (needs_px < (half ? 260 : 1000))
            base_buf_printf(out, "<text class=\"on m%s\" x=\"%.2f%%\" y=\"15\">%s</text>",
                            needs_px < 330   ? ""
                            : needs_px < 600 ? " l2"
                                             : " l3",
                            (x + share / 2) * 100, pieces[i].name);
        x += share;
    }
    page_svg_close(out);
    base_buf_printf(out, "<span class=\"r\">%s</span></div>\n", end);
}

/* ---- the top ---- */

static void write_title(const struct study *study, struct base_buf *out)
{
    char jobs[32], gpus[32];

    base_buf_printf(out, "What holds %s GPU%s back: a study of %s job%s",
                    base_format_count(study->cluster->gpus, gpus, sizeof gpus),
                    study->cluster->gpus == 1 ? "" : "s",
                    base_format_count(study->jobs.count, jobs, sizeof jobs),
                    study->jobs.count == 1 ? "" : "s");
}

static void write_setting(const struct study *study, const struct study_page_opts *opts,
                          struct base_buf *out)
{
    char text[64];

    base_buf_printf(out, "%s of jobs \xc2\xb7 %u server%s",
                    page_duration(study->jobs.to_s - study->jobs.from_s, text, sizeof text),
                    study->cluster->node_count, study->cluster->node_count == 1 ? "" : "s");
    if (opts->cluster_chosen)
        base_buf_puts(out, ", chosen by rule");
    size_t groups = 0;
    for (size_t g = 0; g < study->quotas.count; g++)
        groups += study->quotas.gpu_s[g] > 0;
    if (groups > 1)
        base_buf_printf(out, " \xc2\xb7 %zu groups", groups);
    if (*study_quota_words(study) != '\0')
        base_buf_printf(out, " \xc2\xb7 %s", study_quota_words(study));
    base_buf_puts(out, " \xc2\xb7 replayed under the policy philly");
}

static void write_words(const struct study *study, struct base_buf *out)
{
    base_buf_puts(out, "<section class=\"panel words\" aria-label=\"In words\"><p class=\"lead\">");
    study_say_first(study, out);
    base_buf_puts(out, "</p>\n<p><b>Waiting.</b> ");
    study_say_waiting(study, out);
    base_buf_puts(out, "</p>\n<p><b>Speed.</b> ");
    study_say_speed(study, out);
    base_buf_puts(out, "</p>\n<p><b>Failures.</b> ");
    study_say_failures(study, out);
    base_buf_puts(out, "</p>\n<p><b>All guidelines.</b> ");
    study_say_together(study, out);
    base_buf_puts(out, "</p></section>\n");
}

/* "93.0 h as it is; with all guidelines, 30 to 124x less in 3 draws" */
static void write_times(const struct study *study, double fragmented, char *note, size_t size)
{
    struct study_range times = study_ratio_range(study, STUDY_TOGETHER);
    char hours[64], least[24], most[24];
    size_t used = 0;

    if (fragmented > 0)
        used = (size_t)snprintf(note, size, "%s as it is; with all guidelines",
                                study_page_h(fragmented, hours, sizeof hours));
    else
        snprintf(note, size, "as it is");
    if (study->more_count == 0 || !(times.least < times.most) || used == 0 || used >= size)
        return;
    /* digits as in the sentence */
    snprintf(least, sizeof least, times.least < 9.95 ? "%.1f" : "%.0f", times.least);
    snprintf(most, sizeof most, times.most < 9.95 ? "%.1f" : "%.0f", times.most);
    if (isinf(times.most))
        snprintf(note + used, size - used, ", at least %s\xc3\x97 less in %u draws", least,
                 study->more_count + 1);
    else
        snprintf(note + used, size - used, ", %s to %s\xc3\x97 less in %u draws", least, most,
                 study->more_count + 1);
}

static void write_tiles(const struct study *study, struct base_buf *out)
{
    const struct study_run *base = &study->runs[STUDY_BASE], *all = &study->runs[STUDY_TOGETHER];
    double ratio = study_fragmentation_ratio(study, STUDY_TOGETHER);
    char text[64], note[200], more[64];

    base_buf_puts(out, "<section class=\"panel\" aria-label=\"In numbers\"><dl class=\"tiles\">\n");
    snprintf(note, sizeof note, "%s with all guidelines",
             page_percent(all->tally.utilization, more, sizeof more));
    page_tile(out, "Useful GPU time", page_percent(base->tally.utilization, text, sizeof text),
              note);
    snprintf(note, sizeof note, "%s of it by fragmentation",
             page_percent(base->tally.delays[STUDY_ALL][STUDY_WAITS].total_s > 0
                              ? study_waited_s(study, STUDY_BASE, SIM_WAIT_LOCALITY) /
                                    study_waited_s(study, STUDY_BASE, STUDY_WAITS)
                              : 0,
                          more, sizeof more));
    page_tile(out, "Waiting, all jobs",
              study_page_h(study_waited_s(study, STUDY_BASE, STUDY_WAITS), text, sizeof text),
              note);
    double fragmented = study_waited_s(study, STUDY_BASE, SIM_WAIT_LOCALITY);
    if (!(fragmented > 0))
        snprintf(text, sizeof text, "none");
    else if (!isfinite(ratio))
        snprintf(text, sizeof text, "none left");
    else
        snprintf(text, sizeof text, "%s\xc3\x97 %s",
                 page_number(ratio < 1 ? 1 / ratio : ratio, more, sizeof more),
                 ratio < 1 ? "more" : "less");
    write_times(study, fragmented, note, sizeof note);
    page_tile(out, "Fragmentation waiting", text, note);
    snprintf(note, sizeof note, "%s of GPU time (model)",
             page_percent(base->books.lost_gpu_s / base->books.recorded_gpu_s, more, sizeof more));
    page_tile(out, "GPU time lost to failures",
              study_page_h(base->books.lost_gpu_s, text, sizeof text), note);
    snprintf(note, sizeof note, "%s of GPU time (model)",
             page_percent(base->tally.held_gpu_s > 0
                              ? base->tally.slow_all_gpu_s / base->tally.held_gpu_s
                              : 0,
                          more, sizeof more));
    page_tile(out, "Lost to spread and neighbours",
              study_page_h(base->tally.slow_all_gpu_s, text, sizeof text), note);
    struct study_range range = study_saved_range(study, STUDY_TOGETHER);
    if (study->more_count > 0 && range.least < range.most)
        snprintf(note, sizeof note, "by all guidelines; %s to %s in %u draws%s",
                 study_page_hours(range.least, text, sizeof text),
                 study_page_h(range.most, more, sizeof more), study->more_count + 1,
                 study_is_unsure(range) ? ", so not sure" : "");
    else
        snprintf(note, sizeof note, "by all guidelines together");
    page_tile(out, "GPU time saved",
              study_page_h(study_saved_gpu_s(study, STUDY_TOGETHER), text, sizeof text), note);
    base_buf_puts(out, "</dl></section>\n");
}

/* ---- the end ---- */

static void write_model(const struct study *study, const struct study_page_opts *opts,
                        struct base_buf *out)
{
    char text[64];

    page_panel_open(out, "model", "What is measured and what is modelled", NULL);
    base_buf_puts(
        out, "<div class=\"model\"><p><b>From the trace:</b> when each job came, how many GPUs "
             "it asked for, how long it ran, its group. Nothing else: the trace does not say "
             "where jobs ran, how fast, or how they ended.</p>\n<p><b>Simulated:</b> all "
             "waiting and all places. The trace is replayed under the policy philly: gangs, "
             "quotas per group, locality that is strict first and given up after waiting. A "
             "recorded time is taken as the time on the fewest servers without "
             "neighbours.</p>\n<p><b>Quotas:</b> ");
    if (study->quotas.none)
        base_buf_puts(out, study->opts.quotas != NULL
                               ? "none, by request; there is no fair-share delay then"
                               : "none, as all jobs are of one group; there is no fair-share delay "
                                 "then");
    else if (study->quotas.given)
        base_buf_printf(out, "as given, %llu GPUs in all", (unsigned long long)study->quotas.sum);
    else
        base_buf_puts(
            out, "assumed, as none were given: each group has the share of the GPUs that it "
                 "has of the GPU time in the trace; --quotas states them, --quotas none leaves "
                 "them out");
    base_buf_puts(out, ".</p>\n<p><b>Cluster:</b> ");
    if (opts->cluster_chosen)
        base_buf_printf(out,
                        "chosen, as none was given: 2- and 8-GPU servers in the proportion of the "
                        "Philly cluster, so many that the average GPU-hour of the trace meets a "
                        "demand of about %.0f %% of the GPUs if nobody waits, in racks of up to %d "
                        "servers of one size",
                        100 * STUDY_DEMAND, STUDY_RACK);
    else
        base_buf_puts(out, "as given");
    base_buf_puts(
        out, ".</p>\n<p><b>Speed (model):</b> a job on more servers than it needs, and jobs of "
             "several GPUs that share a server, run slower by factors after the Philly study "
             "(arXiv 1901.05758: ResNet-50 on two GPUs, about 114.8 images/s on one server, "
             "98.0 on two, 75.6 and 74.1 with neighbours).</p>\n<p><b>Failures (model):</b> ");
    if (study->opts.failures == STUDY_FAILURES_NONE)
        base_buf_puts(out, study->few ? "left out, as there are few jobs" : "left out by request");
    else
        base_buf_puts(out,
                      "drawn per job name and seed with classes, times to failure and attempts "
                      "about those of the same study; a job's recorded time is cut into its "
                      "attempts and never changed");
    if (study->more_count > 0)
        base_buf_printf(
            out,
            ".</p>\n<p><b>Draws:</b> all runs are made %u times, each time with %severy "
            "submission up to a round later; figures are of the first, ranges of all",
            study->more_count + 1,
            study->opts.failures == STUDY_FAILURES_NONE ? "" : "other failures and ");
    base_buf_puts(out, ".</p>\n<p><b>Trial pool:</b> ");
    if (study->pool.gpus > 0) {
        base_buf_printf(
            out,
            "%u GPU%s on %u server%s taken from the cluster; trials of up to %s on one GPU, "
            "first come first served; ",
            study->pool.gpus, study->pool.gpus == 1 ? "" : "s", study->pool.node_count,
            study->pool.node_count == 1 ? "" : "s",
            page_duration(study->opts.trial_s, text, sizeof text));
        base_buf_printf(
            out,
            "they waited %s for it in all. An error is taken to show after the same time on "
            "one GPU as on all",
            study_page_h(study->pool_wait_s, text, sizeof text));
    } else {
        base_buf_printf(out, "not simulated: %s", study->runs[STUDY_TRIAL].why_not);
    }
    base_buf_puts(
        out, ".</p>\n<p><b>Utilisation</b> is GPU time of work that passes over the time of all "
             "GPUs, the pool's included, in the busy span of the trace: between the times at "
             "which 5 % and 95 % of its GPU time would have been used without waiting. The same "
             "span and GPUs in every run, so work that is put off shows.</p></div>\n");
    page_panel_close(out);
}

static void write_left_out(const struct study *study, struct base_buf *out)
{
    char text[32];

    if (study->jobs.too_large == 0)
        return;
    page_fact_open(out, "Too large, left out");
    base_buf_printf(out, "%s job%s: ", base_format_count(study->jobs.too_large, text, sizeof text),
                    study->jobs.too_large == 1 ? "" : "s");
    for (uint32_t i = 0; i < study->jobs.named_count; i++) {
        base_buf_puts(out, i > 0 ? ", " : "");
        page_name(out, study->jobs.named[i].name, PAGE_NAME_CHARS);
        base_buf_printf(out, " (%u GPUs)", study->jobs.named[i].gpus);
    }
    if (study->jobs.too_large > study->jobs.named_count)
        base_buf_puts(out, ", \xe2\x80\xa6");
    page_fact_close(out);
}

static void write_repeat(const struct study *study, const struct study_page_opts *opts,
                         struct base_buf *out)
{
    char text[64];
    double cpu_s = 0;

    page_panel_open(out, "repeat", "To repeat this",
                    "the same input, seed and version give the same numbers");
    if (opts->command != NULL) {
        base_buf_puts(out, "<p class=\"cmd mono\">");
        base_buf_html(out, opts->command);
        base_buf_puts(out, "</p>");
    }
    base_buf_puts(out, "<dl class=\"facts\">\n");
    page_fact_open(out, "Trace");
    base_buf_printf(out, "%s job%s, format ",
                    base_format_count(study->trace->job_count, text, sizeof text),
                    study->trace->job_count == 1 ? "" : "s");
    page_name(out, study->trace->format, 20);
    if (study->trace->skipped > 0)
        base_buf_printf(out, ", %s line%s left out",
                        base_format_count(study->trace->skipped, text, sizeof text),
                        study->trace->skipped == 1 ? "" : "s");
    page_fact_close(out);
    write_left_out(study, out);
    page_fact_open(out, "Input hash");
    base_buf_printf(out, "<span class=\"mono\">%016" PRIx64 "</span>", study->trace->input_hash);
    page_fact_close(out);
    page_fact_open(out, "Cluster");
    base_buf_puts(out, "<span class=\"mono\">");
    page_name_breaks(out, opts->cluster != NULL ? opts->cluster : "", 240);
    base_buf_puts(out, "</span>");
    page_fact_close(out);
    page_fact_open(out, "Policy");
    base_buf_puts(out, "<span class=\"mono\">");
    page_name_breaks(out, study->runs[STUDY_TOGETHER].policy, 200);
    base_buf_puts(out, "</span> with all guidelines");
    page_fact_close(out);
    page_fact_open(out, "Round, restart");
    base_buf_printf(out, "%s, ", page_duration(study->opts.round_s, text, sizeof text));
    base_buf_puts(out, page_duration(study->opts.restart_s, text, sizeof text));
    page_fact_close(out);
    page_fact_open(out, "Seed, draws");
    base_buf_printf(out, "%" PRIu64 ", %u", study->opts.seed, study->more_count + 1);
    page_fact_close(out);
    page_fact_open(out, "Version");
    base_buf_puts(out, "shoal " SHOAL_VERSION);
    page_fact_close(out);
    for (size_t i = 0; i < STUDY_RUNS; i++) {
        cpu_s += study->runs[i].tally.cpu_s;
        for (uint32_t d = 0; d < study->more_count; d++)
            cpu_s += study->more[d].runs[i].tally.cpu_s;
    }
    page_fact_open(out, "CPU time, all runs");
    base_buf_puts(out, page_duration(cpu_s, text, sizeof text));
    page_fact_close(out);
    base_buf_puts(out, "</dl>\n");
    page_panel_close(out);
}

shoal_status study_page(const struct study *study, const struct study_page_opts *opts,
                        struct base_buf *out, shoal_err *err)
{
    page_head_open(out);
    write_title(study, out);
    struct base_buf css;
    base_buf_init(&css, out->alloc, 64 * 1024);
    base_buf_puts(&css, page_style_more);
    base_buf_puts(&css, style);
    shoal_status st = base_buf_status(&css);
    page_head_close(out, css.data);
    base_buf_fini(&css);
    page_top(out, "study of a trace");
    base_buf_puts(out, "<div class=\"title\"><h1>");
    write_title(study, out);
    base_buf_puts(out, "</h1><span class=\"dim\">");
    write_setting(study, opts, out);
    base_buf_puts(out, "</span></div>\n");
    write_words(study, out);
    write_tiles(study, out);
    study_page_guidelines(study, out);
    study_page_waiting(study, out);
    if (st == SHOAL_OK)
        st = study_page_cdf(study, out);
    study_page_locality(study, out);
    study_page_failures(study, out);
    write_model(study, opts, out);
    write_repeat(study, opts, out);
    page_end(out);
    if (st == SHOAL_OK)
        st = base_buf_status(out);
    if (st == SHOAL_E_LIMIT)
        return base_err(err, st, "cannot write the report: larger than %zu bytes", out->size_max);
    return st == SHOAL_OK ? st : base_err_nomem(err, "writing the report");
}
