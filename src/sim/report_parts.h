/* report_parts.h - what the files of the report share: the page being written, what is computed
 * from results, sections. The kit that pages are made of is page/page.h.
 *
 * Private to src/sim/report*.c. Everything that comes from data passes through page_name or
 * base_buf_html on its way into the page. All writers append to page->out, whose first failure
 * sticks; functions that need scratch memory return a status. Owner thread only. */
#ifndef SIM_REPORT_PARTS_H
#define SIM_REPORT_PARTS_H

#include "page/page.h"
#include "sim/report.h"

enum {
    SIM_REPORT_POLICY_CHARS = 80 /* longest policy with its knobs */
};

/* The best and the worst result in one metric; ties go to the earlier one. `valid` results have a
 * finite value. */
struct sim_report_rank {
    size_t best, worst, valid;
    double best_value, worst_value;
};

struct sim_report_page {
    struct base_buf *out;
    const struct sim_result *const *results;
    size_t count;
    const struct sim_report_opts *opts;
    const struct sim_trace *trace;
    const struct sched_cluster *cluster;
    double span_s; /* end of every axis of time, > 0 */
    size_t lead;   /* the result with the lowest average completion time; 0 when nobody finished */
};

/* ---- numbers and policies: report_num.c ---- */

/* The policy's label, "las:quantum=30m:relax=10m", as text of the page (not of an attribute or a
 * picture): lines may break after its colons. */
void sim_report_policy(struct base_buf *out, const struct sim_result *result);
/* Completion time of one job of a result; NAN unless it finished. */
double sim_report_jct(const struct sim_result *result, size_t job);
/* Jobs that were not rejected. */
uint64_t sim_report_ran(const struct sim_result *result);
/* Mean of one of the series between two times; NAN past its end, and when there is none. */
double sim_report_mean(const struct sim_series *series, const float *values, double from_s,
                       double to_s);

enum sim_report_metric {
    SIM_METRIC_AVG_JCT,
    SIM_METRIC_P50_JCT,
    SIM_METRIC_P99_JCT,
    SIM_METRIC_MAKESPAN,
    SIM_METRIC_AVG_RHO,
    SIM_METRIC_WORST_RHO,
    SIM_METRIC_UNFAIR,
    SIM_METRIC_BUSY,
    SIM_METRIC_AVG_WAIT,
    SIM_METRIC_RESTARTS,
    SIM_METRIC_MISSED,
    SIM_METRIC_COST,
    SIM_METRIC_NODES,
    SIM_METRIC_DECISION
};

/* NAN where it means nothing: completion times and fairness when no job finished, missed deadlines
 * when no job has one, node-hours when the policy did not size the cluster. */
double sim_report_metric(enum sim_report_metric metric, const struct sim_metrics *m);
/* `more`: more is better. */
struct sim_report_rank sim_report_rank_by(const struct sim_report_page *page,
                                          enum sim_report_metric metric, bool more);

/* Names with a piece of their line, for all results of the page. */
void sim_report_legend(const struct sim_report_page *page);

/* ---- pictures of the cluster: report_area.c ---- */

enum { SIM_REPORT_LANE_GAP_PX = 10, SIM_REPORT_LANE_MIN_PX = 18 };

/* Heading, then an <svg> of `height` plus its axis; close ends both. `note` is said after the
 * numbers. */
void sim_report_picture_open(struct base_buf *out, const struct sim_result *result, int height,
                             const char *note);
void sim_report_picture_close(struct base_buf *out);
/* Kind and number of GPUs beside each lane; y and px per kind. */
void sim_report_lane_names(struct base_buf *out, const struct sched_cluster *cluster, const int *y,
                           const int *px);
/* Head of a table with one column per kind. */
void sim_report_kind_head(struct base_buf *out, const struct sched_cluster *cluster);
/* The whole picture with its table, from the series. */
void sim_report_area(const struct sim_report_page *page, const struct sim_result *result);

/* ---- sections ---- */

void sim_report_findings(const struct sim_report_page *page);   /* report_text.c */
void sim_report_comparison(const struct sim_report_page *page); /* report_table.c */
void sim_report_worst(const struct sim_report_page *page);
void sim_report_waiting(const struct sim_report_page *page);
SHOAL_MUST_USE shoal_status
sim_report_occupancy(const struct sim_report_page *page); /* report_occupancy.c */
SHOAL_MUST_USE shoal_status
sim_report_queue(const struct sim_report_page *page); /* report_lines.c */
SHOAL_MUST_USE shoal_status sim_report_cdf(const struct sim_report_page *page);
/* Prices and shares, of the policies that have them: report_shares.c. */
SHOAL_MUST_USE shoal_status sim_report_shares(const struct sim_report_page *page);

#endif
