/* report_text.c - the findings in words: which policy is best at what, by how much, and at whose
 * expense.
 *
 * One sentence per question, in a fixed order; a question without an interesting answer has no
 * sentence. Differences under one percent are called none, and "every policy" is said only where all
 * show the same figure. Tests: tests/unit/sim/test_report.c. */
#include "sim/report_parts.h"

#include "base/text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double same = 0.01; /* relative difference that is not worth a word */

static void bold_policy(const struct sim_report_page *page, size_t index)
{
    base_buf_puts(page->out, "<b>");
    sim_report_policy(page->out, page->results[index]);
    base_buf_puts(page->out, "</b>");
}

static void put_duration(const struct sim_report_page *page, double seconds)
{
    char text[64];
    base_buf_puts(page->out, page_duration(seconds, text, sizeof text));
}

static void put_percent(const struct sim_report_page *page, double share)
{
    char text[64];
    base_buf_puts(page->out, page_percent(share, text, sizeof text));
}

static bool differs(const struct sim_report_rank *rank)
{
    return rank->valid > 1 &&
           fabs(rank->worst_value - rank->best_value) > same * fabs(rank->worst_value);
}

typedef const char *format_fn(double value, char *buf, size_t size);

/* Whether all results that have the metric show the same text for it. */
static bool reads_alike(const struct sim_report_rank *rank, format_fn *format)
{
    char best[64], worst[64];
    return strcmp(format(rank->best_value, best, sizeof best),
                  format(rank->worst_value, worst, sizeof worst)) == 0;
}

/* "2.3× " or "18 % ": how much less the lower is than the higher. */
static void put_less(const struct sim_report_page *page, double lower, double higher)
{
    char text[64];
    if (lower > 0 && higher / lower >= 1.95)
        base_buf_printf(page->out, "%s\xc3\x97 ", page_number(higher / lower, text, sizeof text));
    else
        base_buf_printf(page->out, "%s ", page_percent(1 - lower / higher, text, sizeof text));
}

/* ---- sentences ---- */

/* "; <b>srtf</b> is within one percent of it": who else is as good in average completion time. */
static void put_close(const struct sim_report_page *page, const struct sim_report_rank *jct)
{
    size_t close = 0, who = 0;
    for (size_t i = 0; i < page->count; i++) {
        double value = sim_report_metric(SIM_METRIC_AVG_JCT, &page->results[i]->metrics);
        if (i != jct->best && value - jct->best_value <= same * jct->best_value) {
            close++;
            who = i;
        }
    }
    if (close == 0)
        return;
    base_buf_puts(page->out, "; ");
    if (close == 1)
        bold_policy(page, who);
    else
        base_buf_printf(page->out, "%zu others", close);
    base_buf_printf(page->out, " %s within one percent of it", close == 1 ? "is" : "are");
}

/* True when the sentence was about the leading policy, so that the next may say "its". */
static bool say_completion(const struct sim_report_page *page)
{
    struct sim_report_rank jct = sim_report_rank_by(page, SIM_METRIC_AVG_JCT, false);
    struct base_buf *out = page->out;
    if (jct.valid == 0) {
        base_buf_puts(out, "No job finished. ");
        return false;
    }
    if (page->count == 1) {
        base_buf_puts(out, "Under ");
        bold_policy(page, 0);
        base_buf_puts(out, " the average job is done ");
        put_duration(page, jct.best_value);
        base_buf_puts(out, " after it was submitted, half of all jobs within ");
        put_duration(page, page->results[0]->metrics.p50_jct_s);
        base_buf_puts(out, " and 99 of 100 within ");
        put_duration(page, page->results[0]->metrics.p99_jct_s);
        base_buf_puts(out, ". ");
    } else if (!differs(&jct)) {
        base_buf_printf(out, "%s finish the average job after ",
                        page->count == 2 ? "Both policies" : "All policies");
        put_duration(page, jct.best_value);
        base_buf_puts(out, ", within one percent of each other. ");
    } else {
        bold_policy(page, jct.best);
        base_buf_puts(out, " finishes the average job in <b>");
        put_duration(page, jct.best_value);
        base_buf_puts(out, "</b>, ");
        put_less(page, jct.best_value, jct.worst_value);
        base_buf_puts(out, "sooner than ");
        bold_policy(page, jct.worst);
        base_buf_puts(out, " (");
        put_duration(page, jct.worst_value);
        base_buf_puts(out, ")");
        put_close(page, &jct);
        base_buf_puts(out, ". ");
    }
    return page->count == 1 || differs(&jct);
}

/* What rho means for a job, as the end of a sentence about it. */
static void put_longer(const struct sim_report_page *page, double rho)
{
    char text[64];
    if (rho < 1.95)
        base_buf_printf(page->out, " takes %s longer than with an equal share of the cluster",
                        page_percent(rho - 1, text, sizeof text));
    else
        base_buf_printf(page->out,
                        " takes %s\xc3\x97 as long as with an equal share of the cluster",
                        page_number(rho, text, sizeof text));
}

static void say_worst_job(const struct sim_report_page *page, bool lead_named)
{
    const struct sim_result *result = page->results[page->lead];
    const struct sim_metrics *m = &result->metrics;
    struct base_buf *out = page->out;
    struct sim_report_rank rho = sim_report_rank_by(page, SIM_METRIC_WORST_RHO, false);
    char text[64];
    if (!isfinite(sim_report_metric(SIM_METRIC_WORST_RHO, m)))
        return;
    if (m->worst_rho <= 1 + same / 2) {
        base_buf_puts(out, "No job is worse off than with an equal share of the cluster. ");
        return;
    }
    if (lead_named) {
        base_buf_puts(out, "Its worst-off job");
    } else {
        base_buf_puts(out, "Under ");
        bold_policy(page, page->lead);
        base_buf_puts(out, " the worst-off job");
    }
    if (m->worst_rho_job < result->trace->job_count) {
        base_buf_puts(out, ", <b>");
        page_name(out, result->trace->jobs[m->worst_rho_job].name, PAGE_NAME_CHARS);
        base_buf_puts(out, "</b>,");
        if (result->jobs[m->worst_rho_job].wait_s >= 1) {
            base_buf_puts(out, " waits ");
            put_duration(page, result->jobs[m->worst_rho_job].wait_s);
            base_buf_puts(out, " and");
        }
    }
    put_longer(page, m->worst_rho);
    if (differs(&rho) && rho.best != page->lead) {
        base_buf_puts(out, "; the fairest to its worst-off job is ");
        bold_policy(page, rho.best);
        base_buf_printf(out, ", whose worst rho is %.2f", rho.best_value);
    } else if (differs(&rho)) {
        base_buf_puts(out, ", and that is the fairest of all: under ");
        bold_policy(page, rho.worst);
        base_buf_printf(out, " the worst takes %s\xc3\x97 as long",
                        page_number(rho.worst_value, text, sizeof text));
    }
    base_buf_puts(out, ". ");
}

static void say_tail(const struct sim_report_page *page)
{
    struct sim_report_rank p99 = sim_report_rank_by(page, SIM_METRIC_P99_JCT, false);
    if (!differs(&p99) || p99.best == page->lead)
        return;
    double ours = sim_report_metric(SIM_METRIC_P99_JCT, &page->results[page->lead]->metrics);
    if (!isfinite(ours) || ours - p99.best_value <= same * ours)
        return;
    base_buf_puts(page->out, "The slowest jobs do better under ");
    bold_policy(page, p99.best);
    base_buf_puts(page->out, ": 99 of 100 are done within ");
    put_duration(page, p99.best_value);
    base_buf_puts(page->out, ", against ");
    put_duration(page, ours);
    base_buf_puts(page->out, ". ");
}

static void say_unfair(const struct sim_report_page *page)
{
    struct sim_report_rank unfair = sim_report_rank_by(page, SIM_METRIC_UNFAIR, false);
    struct base_buf *out = page->out;
    if (unfair.valid == 0 || !(unfair.worst_value > 0))
        return;
    put_percent(page, unfair.best_value);
    base_buf_puts(out, " of jobs are worse off than with an equal share");
    if (page->count > 1 && !reads_alike(&unfair, page_percent)) {
        base_buf_puts(out, " under ");
        bold_policy(page, unfair.best);
        base_buf_puts(out, ", ");
        put_percent(page, unfair.worst_value);
        base_buf_puts(out, " under ");
        bold_policy(page, unfair.worst);
    } else if (page->count > 1) {
        base_buf_puts(out, " under every policy");
    }
    base_buf_puts(out, ". ");
}

static void say_cluster(const struct sim_report_page *page)
{
    struct sim_report_rank makespan = sim_report_rank_by(page, SIM_METRIC_MAKESPAN, false);
    struct sim_report_rank busy = sim_report_rank_by(page, SIM_METRIC_BUSY, true);
    struct base_buf *out = page->out;
    if (makespan.valid == 0)
        return;
    if (differs(&makespan)) {
        base_buf_puts(out, "The last job ends soonest under ");
        bold_policy(page, makespan.best);
        base_buf_puts(out, ", after ");
        put_duration(page, makespan.best_value);
        base_buf_puts(out, " (");
        bold_policy(page, makespan.worst);
        base_buf_puts(out, ": ");
        put_duration(page, makespan.worst_value);
        base_buf_puts(out, ")");
    } else {
        base_buf_puts(out, "The last job ends after ");
        put_duration(page, makespan.best_value);
        if (page->count > 1)
            base_buf_puts(out, reads_alike(&makespan, page_duration)
                                   ? " under every policy"
                                   : " or at most one percent later");
    }
    if (busy.valid > 0) {
        base_buf_puts(out, "; until then GPUs are busy ");
        if (busy.valid > 1 && busy.best_value - busy.worst_value > same) {
            put_percent(page, busy.worst_value);
            base_buf_puts(out, " (");
            bold_policy(page, busy.worst);
            base_buf_puts(out, ") to ");
            put_percent(page, busy.best_value);
            base_buf_puts(out, " (");
            bold_policy(page, busy.best);
            base_buf_puts(out, ") of the time");
        } else {
            put_percent(page, busy.best_value);
            base_buf_puts(out, " of the time");
        }
    }
    base_buf_puts(out, ". ");
}

/* Restarts are all starts of a job after its first, whatever stopped it. What is lost is the time
 * they take and, where nodes or jobs fail, work that was undone or given up. */
static void say_restarts(const struct sim_report_page *page)
{
    struct sim_report_rank restarts = sim_report_rank_by(page, SIM_METRIC_RESTARTS, false);
    struct base_buf *out = page->out;
    if (restarts.valid == 0 || restarts.worst_value < 1)
        return;
    const struct sim_metrics *m = &page->results[restarts.worst]->metrics;
    char text[64];
    base_buf_puts(out, "Under ");
    bold_policy(page, restarts.worst);
    base_buf_printf(out, " jobs are restarted %s time%s",
                    base_format_count(m->restarts, text, sizeof text), m->restarts == 1 ? "" : "s");
    if (isfinite(m->lost_gpu_s) && m->lost_gpu_s > 0)
        base_buf_printf(out, " and %s GPU-hours are lost to restarts%s",
                        page_number(m->lost_gpu_s / 3600, text, sizeof text),
                        m->node_failures + m->job_failures > 0 ? " and failures" : "");
    if (restarts.worst_value > restarts.best_value) {
        base_buf_puts(out, ", under ");
        bold_policy(page, restarts.best);
        if (restarts.best_value < 1)
            base_buf_puts(out, " none is");
        else
            base_buf_printf(out, " %s times",
                            base_format_count((uint64_t)restarts.best_value, text, sizeof text));
    }
    base_buf_puts(out, ". ");
}

static void say_waiting(const struct sim_report_page *page)
{
    static const struct {
        enum sched_reason reason;
        const char *text;
    } rows[] = {
        {SCHED_WHY_NEXT_ROUND, "for the next round"},
        {SCHED_WHY_GANG, "for enough GPUs at once"},
        {SCHED_WHY_LOCALITY, "for GPUs that are close together"},
        {SCHED_WHY_FAIR_SHARE, "because jobs that come first under the policy hold the GPUs"},
        {SCHED_WHY_CAPACITY, "because no usable GPU is free"},
        {SCHED_WHY_DEADLINE_SLACK, "because deadlines leave time"},
        {SCHED_WHY_PRICE, "because the price of GPUs is better spent on other jobs"},
        {SCHED_WHY_LIMIT, "because of a limit"},
    };
    const struct sim_metrics *m = &page->results[page->lead]->metrics;
    double sum = 0;
    for (size_t r = 0; r < SCHED_WHY_COUNT; r++)
        sum += isfinite(m->wait_by_reason_s[r]) ? m->wait_by_reason_s[r] : 0;
    size_t top = 0;
    for (size_t i = 1; i < sizeof rows / sizeof *rows; i++)
        if (m->wait_by_reason_s[rows[i].reason] > m->wait_by_reason_s[rows[top].reason])
            top = i;
    double share = sum > 0 ? m->wait_by_reason_s[rows[top].reason] / sum : 0;
    if (share < 0.4)
        return;
    base_buf_puts(page->out, "Under ");
    bold_policy(page, page->lead);
    base_buf_puts(page->out, ", ");
    put_percent(page, share);
    base_buf_printf(page->out, " of the waiting is %s. ", rows[top].text);
}

/* "Of 40 deadlines cost-slo misses 2, cost 17." */
static void say_deadlines(const struct sim_report_page *page)
{
    struct sim_report_rank missed = sim_report_rank_by(page, SIM_METRIC_MISSED, false);
    struct base_buf *out = page->out;
    char text[64];
    if (missed.valid == 0)
        return;
    uint64_t deadlines = page->results[missed.best]->metrics.deadlines;
    if (missed.worst_value < 1) {
        base_buf_puts(out, "All deadlines are kept");
        base_buf_puts(out, page->count > 1 ? " under every policy. " : ". ");
        return;
    }
    base_buf_printf(out, "Of %s deadline%s, ", base_format_count(deadlines, text, sizeof text),
                    deadlines == 1 ? "" : "s");
    bold_policy(page, missed.best);
    base_buf_printf(out, " misses %s",
                    missed.best_value < 1
                        ? "none"
                        : base_format_count((uint64_t)missed.best_value, text, sizeof text));
    if (missed.worst_value > missed.best_value) {
        base_buf_puts(out, ", ");
        bold_policy(page, missed.worst);
        base_buf_printf(out, " %s",
                        base_format_count((uint64_t)missed.worst_value, text, sizeof text));
    } else if (page->count > 1) {
        base_buf_puts(out, ", as does every policy");
    }
    base_buf_puts(out, ". ");
}

static void say_cost(const struct sim_report_page *page)
{
    struct sim_report_rank cost = sim_report_rank_by(page, SIM_METRIC_COST, false);
    char text[64];
    if (!differs(&cost))
        return;
    base_buf_puts(page->out, "It costs least under ");
    bold_policy(page, cost.best);
    base_buf_printf(page->out, ", %s, and most under ",
                    page_usd(cost.best_value, text, sizeof text));
    bold_policy(page, cost.worst);
    base_buf_printf(page->out, ", %s. ", page_usd(cost.worst_value, text, sizeof text));
}

static void say_left_out(const struct sim_report_page *page)
{
    const struct sim_metrics *m = &page->results[page->lead]->metrics;
    struct base_buf *out = page->out;
    char text[64];
    if (m->rejected > 0)
        base_buf_printf(
            out,
            "%s of the jobs cannot run on this cluster as asked and %s left out of all averages. ",
            base_format_count(m->rejected, text, sizeof text), m->rejected == 1 ? "is" : "are");
    if (m->stopped > 0)
        base_buf_printf(out, "%s of the jobs are stopped at a rung of their sweep. ",
                        base_format_count(m->stopped, text, sizeof text));
    if (m->failed > 0) {
        base_buf_printf(out, "%s jobs fail for good under ",
                        base_format_count(m->failed, text, sizeof text));
        bold_policy(page, page->lead);
        base_buf_puts(out, " and have no completion time. ");
    }
    if (m->node_failures > 0)
        base_buf_printf(out, "Nodes fail %s times in the run. ",
                        base_format_count(m->node_failures, text, sizeof text));
}

void sim_report_findings(const struct sim_report_page *page)
{
    base_buf_puts(page->out,
                  "<section class=\"panel words\" aria-label=\"In words\"><p class=\"lead\">");
    bool lead_named = say_completion(page);
    say_worst_job(page, lead_named);
    base_buf_puts(page->out, "</p>\n<p>");
    say_tail(page);
    say_unfair(page);
    say_cluster(page);
    say_waiting(page);
    say_restarts(page);
    say_deadlines(page);
    say_cost(page);
    say_left_out(page);
    base_buf_puts(page->out, "</p></section>\n");
}
