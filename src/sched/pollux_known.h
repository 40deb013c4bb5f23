/* pollux_known.h - goodput of jobs by kind, shape and number of GPUs, remembered between rounds.
 *
 * A table is filled as it is asked for and emptied when the job's sched_adapt changes, so a job that
 * learnt nothing new costs nothing. All zero at first. Owner thread only. */
#ifndef SCHED_POLLUX_KNOWN_H
#define SCHED_POLLUX_KNOWN_H

#include "sched/policy.h"

struct sched_pollux_table {
    uint32_t id;    /* of the job */
    uint32_t most;  /* GPUs it could use of any kind there is */
    uint32_t kinds; /* of the cluster */
    uint64_t version;
    float *goodput; /* (kinds, 2, most + 1): on one node, on several; NAN: not asked yet */
};

struct sched_pollux_known {
    struct sched_pollux_table *tables; /* of jobs that adapt, by increasing id */
    size_t count, cap;
};

/* Tables for the jobs of the snapshot that adapt, and for no others. */
SHOAL_MUST_USE shoal_status sched_pollux_known_update(struct sched_pollux_known *known,
                                                      const struct sched_snapshot *snap);
void sched_pollux_known_fini(struct sched_pollux_known *known, const struct base_alloc *alloc);

/* The table of a job that adapts, of the last update. */
struct sched_pollux_table *sched_pollux_known_of(const struct sched_pollux_known *known,
                                                 const struct sched_job *job);
/* gpus 1 .. most; 0 where it cannot run. */
double sched_pollux_goodput(struct sched_pollux_table *table, const struct sched_adapt *adapt,
                            uint32_t kind, bool spans, uint32_t gpus);

#endif
