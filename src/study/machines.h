/* machines.h - the clusters of a study: one chosen for a trace that comes without, and the servers
 * set apart for trials.
 *
 * The rule for choosing. Server sizes are mixed as in the Philly cluster (321 servers of 2 GPUs and
 * 231 of 8, by the published trace); there are so many that demand is STUDY_DEMAND of the GPUs, and
 * never fewer than the largest job asks for. Demand is what the average GPU-hour of the trace meets
 * if nobody waits: the mean of GPUs in use over time, weighted by themselves, so that thin weeks
 * before and after the busy ones do not make the cluster too small for those. Servers of one size
 * stand in racks of up to STUDY_RACK. Any thread, on caller-owned memory. Tests:
 * tests/unit/study/test_machines.c. */
#ifndef STUDY_MACHINES_H
#define STUDY_MACHINES_H

#include "sim/trace.h"

#define STUDY_DEMAND     0.65 /* of the GPUs of a chosen cluster */
#define STUDY_POOL_LOAD  0.3  /* most that trials keep their pool busy on average */
#define STUDY_POOL_MOST  0.02 /* of the GPUs, up to which a pool grows while trials wait */
#define STUDY_POOL_SHARE 0.25 /* most of the GPUs that the pool may take */
enum { STUDY_RACK = 16, STUDY_SMALL = 2, STUDY_LARGE = 8 };

/* The spec of the cluster for a trace whose jobs all state durations, appended to `out`. Other
 * traces are SHOAL_E_INVAL, in words; one without jobs is SHOAL_E_IMPOSSIBLE. */
SHOAL_MUST_USE shoal_status study_machines_choose(const struct sim_trace *trace,
                                                  struct base_buf *out, shoal_err *err);

/* GPUs that the average GPU-hour of such a trace meets in use if nobody waits. */
SHOAL_MUST_USE shoal_status study_machines_demand(const struct sim_trace *trace, double *out_gpus,
                                                  shoal_err *err);

/* Splits the cluster: `pool` gets the fewest servers, small ones first, that have `gpus` GPUs,
 * `rest` the others; both keep all kinds. SHOAL_E_IMPOSSIBLE (no words: there is nothing to mend)
 * when the pool would take more than STUDY_POOL_SHARE of the GPUs, or all of a kind; outputs are
 * untouched. */
SHOAL_MUST_USE shoal_status study_machines_split(const struct sched_cluster *cluster, uint32_t gpus,
                                                 struct sched_cluster *pool,
                                                 struct sched_cluster *rest);

#endif
