/* report_num.c - what the report computes from results: means, metrics, ranks; and how it names
 * policies. Any thread. Tests: tests/unit/sim/test_report.c. */
#include "sim/report_parts.h"

#include <math.h>

void sim_report_policy(struct base_buf *out, const struct sim_result *result)
{
    page_name_breaks(out, result->policy, SIM_REPORT_POLICY_CHARS);
}

void sim_report_legend(const struct sim_report_page *page)
{
    if (page->count == 1)
        return; /* there is nothing to tell apart */
    base_buf_puts(page->out, "<ul class=\"legend\">");
    for (size_t i = 0; i < page->count; i++) {
        base_buf_puts(page->out, "<li>");
        page_legend_key(page->out, i);
        base_buf_puts(page->out, "<b>");
        sim_report_policy(page->out, page->results[i]);
        base_buf_puts(page->out, "</b></li>");
    }
    base_buf_puts(page->out, "</ul>\n");
}

double sim_report_jct(const struct sim_result *result, size_t job)
{
    const struct sim_job_result *row = &result->jobs[job];
    return row->outcome == SIM_FINISHED ? row->finish_s - result->trace->jobs[job].submit_s : NAN;
}

uint64_t sim_report_ran(const struct sim_result *result)
{
    const struct sim_metrics *m = &result->metrics;
    return m->jobs > m->rejected ? m->jobs - m->rejected : 0;
}

double sim_report_mean(const struct sim_series *series, const float *values, double from_s,
                       double to_s)
{
    if (values == NULL || !(series->step_s > 0))
        return NAN;
    size_t from = (size_t)fmax(0, floor(from_s / series->step_s + 1e-9));
    size_t to = (size_t)fmax(0, ceil(to_s / series->step_s - 1e-9));
    if (from >= series->count)
        return NAN;
    to = to <= from ? from + 1 : to > series->count ? series->count : to;
    double sum = 0;
    for (size_t i = from; i < to; i++)
        sum += values[i];
    return sum / (double)(to - from);
}

double sim_report_metric(enum sim_report_metric metric, const struct sim_metrics *m)
{
    if (metric <= SIM_METRIC_UNFAIR && m->finished == 0)
        return NAN;
    switch (metric) {
    case SIM_METRIC_AVG_JCT: return m->avg_jct_s;
    case SIM_METRIC_P50_JCT: return m->p50_jct_s;
    case SIM_METRIC_P99_JCT: return m->p99_jct_s;
    case SIM_METRIC_MAKESPAN: return m->makespan_s;
    case SIM_METRIC_AVG_RHO: return m->avg_rho;
    case SIM_METRIC_WORST_RHO: return m->worst_rho;
    case SIM_METRIC_UNFAIR: return m->unfair_share;
    case SIM_METRIC_BUSY: return m->utilization;
    case SIM_METRIC_AVG_WAIT: return m->avg_wait_s;
    case SIM_METRIC_RESTARTS: return (double)m->restarts;
    case SIM_METRIC_MISSED: return m->deadlines > 0 ? (double)m->missed : NAN;
    case SIM_METRIC_COST: return m->cost_usd;
    case SIM_METRIC_NODES: return m->nodes_sized ? m->node_h : NAN;
    case SIM_METRIC_DECISION: return m->decision_ms_p50;
    }
    return NAN;
}

struct sim_report_rank sim_report_rank_by(const struct sim_report_page *page,
                                          enum sim_report_metric metric, bool more)
{
    struct sim_report_rank rank = {0, 0, 0, NAN, NAN};
    for (size_t i = 0; i < page->count; i++) {
        double value = sim_report_metric(metric, &page->results[i]->metrics);
        if (!isfinite(value))
            continue;
        if (rank.valid == 0 || (more ? value > rank.best_value : value < rank.best_value)) {
            rank.best = i;
            rank.best_value = value;
        }
        if (rank.valid == 0 || (more ? value < rank.worst_value : value > rank.worst_value)) {
            rank.worst = i;
            rank.worst_value = value;
        }
        rank.valid++;
    }
    return rank;
}
