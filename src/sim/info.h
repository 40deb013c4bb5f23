/* info.h - a trace in numbers: how many jobs, how long, how large, how much work. */
#ifndef SIM_INFO_H
#define SIM_INFO_H

#include "page/make.h"
#include "sim/prices.h"
#include "sim/trace.h"

/* Shares at which quantiles are taken: 0.1 0.25 0.5 0.75 0.9 0.99 1 */
enum { SIM_INFO_QUANTILES = 7 };
extern const double sim_info_shares[SIM_INFO_QUANTILES];

struct sim_info {
    uint64_t jobs;
    uint64_t timed;                        /* jobs whose duration is known: all, when bound */
    uint64_t impossible;                   /* bound jobs that fit no kind of the cluster */
    double first_s, span_s;                /* first submission, and from it to the last */
    double gpu_h;                          /* of the timed jobs, each on its best kind when bound */
    double duration_s[SIM_INFO_QUANTILES]; /* of the timed jobs; NAN: none */
    double gpus[SIM_INFO_QUANTILES];
    uint64_t sizes[4]; /* jobs of 1, 2-4, 5-8 and more GPUs */
    double load;       /* gpu_h / (GPUs of the cluster x span); NAN: no cluster, or no span */
};

/* `cluster` is the one the trace was bound to, or NULL when it is not bound. */
SHOAL_MUST_USE shoal_status sim_info(const struct sim_trace *trace,
                                     const struct sched_cluster *cluster, struct sim_info *out);

/* Jobs per name of trace->models or trace->groups, most first, ties by first appearance. */
struct sim_info_count {
    uint32_t name;
    uint64_t jobs;
};
SHOAL_MUST_USE shoal_status sim_info_counts(const struct sim_trace *trace, bool models,
                                            struct sim_info_count **out_counts, size_t *out_count);

/* ---- whether the jobs of a trace and the GPU kinds of a cluster go together; the trace was bound ---- */

/* SHOAL_E_IMPOSSIBLE when no job can run on this cluster; the error says what the first asks for and
 * what there is. */
SHOAL_MUST_USE shoal_status sim_kinds_check(const struct sim_trace *trace,
                                            const struct sched_cluster *cluster, shoal_err *err);

/* Appends a sentence about each kind of the cluster of which nobody has heard, one a line, and what
 * may have been meant. A kind is known that a job names, of which some model has a speed, or that has
 * a price: listed, given with usd=, or in the history (optional). "gpu" stands for any. */
void sim_kinds_tell_unknown(const struct sim_trace *trace, const struct sched_cluster *cluster,
                            const struct sim_prices *prices, struct base_buf *out);
/* The same as notes of a result, which warn. */
void sim_kinds_note_unknown(const struct sim_trace *trace, const struct sched_cluster *cluster,
                            const struct sim_prices *prices, struct page_made *made);

#endif
