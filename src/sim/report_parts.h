/* report_parts.h - what the files of the report share: the page being written, number formats, the
 * chart kit.
 *
 * Private to src/sim/report*.c. Everything that comes from data passes through sim_report_name or
 * base_buf_html on its way into the page. All writers append to page->out, whose first failure
 * sticks; functions that need scratch memory return a status. Owner thread only. */
#ifndef SIM_REPORT_PARTS_H
#define SIM_REPORT_PARTS_H

#include "sim/report.h"

enum {
    SIM_REPORT_TICKS_MAX = 16,
    SIM_REPORT_POINTS_MAX = 240, /* of one line in a chart */
    SIM_REPORT_TABLE_ROWS = 20,  /* of a "show as table" */
    SIM_REPORT_WIDTH = 1000,     /* user units of a plot, stretched to the width there is */
    SIM_REPORT_COLOURS = 7,      /* that tell kinds apart, the last one grey */
    SIM_REPORT_NAME_CHARS = 40,  /* longest name shown; longer ones end in an ellipsis */
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

/* ---- numbers and names: report_num.c ---- */

enum sim_report_unit { SIM_UNIT_S, SIM_UNIT_MIN, SIM_UNIT_H, SIM_UNIT_D };

/* "43 s", "4.2 min", "1.2 h", "3.4 d", with no-break spaces; "–" when not finite. All return buf.
 */
const char *sim_report_duration(double seconds, char *buf, size_t size);
/* The unit that suits a column of values, and a value in it with about three digits. */
enum sim_report_unit sim_report_unit_for(const double *seconds, size_t count);
const char *sim_report_duration_in(double seconds, enum sim_report_unit unit, char *buf,
                                   size_t size);
/* Two digits below 10, whole numbers with separators above: "0.87", "4.1", "1,240". */
const char *sim_report_number(double value, char *buf, size_t size);
const char *sim_report_percent(double share, char *buf, size_t size);
const char *sim_report_usd(double usd, char *buf, size_t size);
const char *sim_report_ms(double ms, char *buf, size_t size);

/* A name from data, escaped, cut after `chars` characters with an ellipsis. Never splits a
 * character; bytes that are not UTF-8 and control characters become U+FFFD. */
void sim_report_name(struct base_buf *out, const char *name, size_t chars);
/* The policy's label, "las:quantum=30m:relax=10m", as text of the page (not of an attribute or a
 * picture): lines may break after its colons. */
void sim_report_policy(struct base_buf *out, const struct sim_result *result);
/* Characters the name takes on the page when cut after `chars`. */
size_t sim_report_name_chars(const char *name, size_t chars);
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
    SIM_METRIC_DECISION
};

/* NAN where it means nothing: completion times and fairness when no job finished, missed deadlines
 * when no job has one. */
double sim_report_metric(enum sim_report_metric metric, const struct sim_metrics *m);
/* `more`: more is better. */
struct sim_report_rank sim_report_rank_by(const struct sim_report_page *page,
                                          enum sim_report_metric metric, bool more);

/* ---- the chart kit: report_svg.c ---- */

struct sim_report_tick {
    double at;     /* 0..1 */
    bool optional; /* left out where the page is narrow */
    char label[24];
};

struct sim_report_axis {
    struct sim_report_tick ticks[SIM_REPORT_TICKS_MAX];
    size_t count;
};

/* One line: points in fractions of the plot, x not falling, y upwards. `style` picks colour and
 * dashes. */
struct sim_report_line {
    const char *name;
    size_t style;
    bool kind; /* `style` is a kind of GPU, and the colour its own, as in pictures of the cluster */
    size_t count;
    bool steps; /* y holds until the next x */
    float x[SIM_REPORT_POINTS_MAX], y[SIM_REPORT_POINTS_MAX];
};

struct sim_report_chart {
    int height; /* of the plot, without axis labels */
    struct sim_report_axis x, y;
    const struct sim_report_line *lines;
    size_t line_count;
    double mark; /* a vertical line at this x; negative: none. The part right of it is tinted */
    const char *mark_text; /* said beside it */
};

void sim_report_axis_time(struct sim_report_axis *axis, double span_s);
/* Seconds on a logarithmic axis from lo to hi, 0 < lo < hi. */
void sim_report_axis_log_time(struct sim_report_axis *axis, double lo_s, double hi_s);
/* Plain numbers on a logarithmic axis: 0.5 1 2 5 10. */
void sim_report_axis_log(struct sim_report_axis *axis, double lo, double hi);
/* 0 to a round number at or above `max`, which is returned. */
double sim_report_axis_count(struct sim_report_axis *axis, double max);
void sim_report_axis_share(struct sim_report_axis *axis); /* 0 to 100 % */

/* The drawing; the caller has written the opening `<svg ...>` up to its aria-label by
 * sim_report_svg_open. */
void sim_report_svg_open(struct base_buf *out,
                         int height);                 /* leaves the attribute aria-label open */
void sim_report_svg_label_done(struct base_buf *out); /* closes it and the tag */
void sim_report_svg_close(struct base_buf *out);
void sim_report_svg_chart(struct base_buf *out, const struct sim_report_chart *chart);
void sim_report_svg_x_labels(struct base_buf *out, const struct sim_report_axis *axis, int y);
/* Names with a piece of their line, for all results of the page. */
void sim_report_legend(const struct sim_report_page *page);

/* The shapes that repeat the colours: circle, square, diamond, triangle, hexagon, ring, bars. */
extern const char *const sim_report_shapes[SIM_REPORT_COLOURS];
/* The colour of a kind of GPU. */
unsigned sim_report_kind_colour(uint32_t kind);

void sim_report_panel_open(struct base_buf *out, const char *id, const char *title,
                           const char *note);
void sim_report_panel_close(struct base_buf *out);
/* `<details>` around a table: open, then rows by the caller from `<tr>` on, close. */
void sim_report_details_open(struct base_buf *out);
void sim_report_details_close(struct base_buf *out);

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

extern const char sim_report_style[]; /* the style sheet: report_style.c */

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
