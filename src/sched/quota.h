/* quota.h - GPUs that groups of jobs (virtual clusters) have a right to, and what they hold.
 *
 * Written as `vision=64+speech=32` (a comma does as well): GPUs by the name of the group. Once any
 * is given, a group that is not named has none. Not given at all: no group has a limit. Owner
 * thread only. Tests: tests/unit/sched/test_quota.c. */
#ifndef SCHED_QUOTA_H
#define SCHED_QUOTA_H

#include "sched/policy.h"

struct sched_quota {
    const struct base_alloc *alloc;
    struct sched_quota_row {
        uint32_t gpus;    /* has a right to */
        uint32_t held;    /* holds now, as counted by the caller */
        uint32_t covered; /* of running jobs, see sched_quota_covers */
    } * rows;             /* by group */
    size_t count, cap;
    bool none; /* no group has a limit: nothing is counted, and there are no rows */
};

/* Whether the text makes sense and every name is a group of the setting, where those are known. */
SHOAL_MUST_USE shoal_status sched_quota_check(const char *text, const struct sched_setting *setting,
                                              shoal_err *err);
/* A decision begins, with nothing held. */
void sched_quota_begin(struct sched_quota *quota, const char *text,
                       const struct sched_snapshot *snap);
/* Makes a row for the group, if there is none yet; its name is looked up in `text`, that of begin.
 * The functions below are for groups that have one. */
SHOAL_MUST_USE shoal_status sched_quota_meet(struct sched_quota *quota, const char *text,
                                             const struct sched_snapshot *snap, uint32_t group);
void sched_quota_fini(struct sched_quota *quota);

/* What the group has a right to, and holds; without limits UINT32_MAX and 0. */
static inline uint32_t sched_quota_of(const struct sched_quota *quota, uint32_t group)
{
    return quota->none ? UINT32_MAX : quota->rows[group].gpus;
}
static inline uint32_t sched_quota_held(const struct sched_quota *quota, uint32_t group)
{
    return quota->none ? 0 : quota->rows[group].held;
}
/* May the group hold so many more without exceeding its quota? Asked of every job that waits. */
static inline bool sched_quota_fits(const struct sched_quota *quota, uint32_t group, uint32_t gpus)
{
    uint32_t held = sched_quota_held(quota, group), most = sched_quota_of(quota, group);

    return held <= most && gpus <= most - held;
}
void sched_quota_hold(struct sched_quota *quota, uint32_t group, uint32_t gpus);
void sched_quota_release(struct sched_quota *quota, uint32_t group, uint32_t gpus);
/* Asked of jobs that run, in order of arrival, once each after begin: whether it is among those
 * that the quota of its group covers. The others run on borrowed GPUs. */
bool sched_quota_covers(struct sched_quota *quota, uint32_t group, uint32_t gpus);

#endif
