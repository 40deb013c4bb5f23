/* policy.c - the table of policies, and look-ups in it and in snapshots. Adding a policy is one file and one row of
 * policy/table.h. */
#include "sched/policy.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include <string.h>

#define ROW(name) extern const struct sched_policy sched_policy_##name;
#include "sched/policy/table.h"
#undef ROW

static const struct sched_policy *const rows[] = {
#define ROW(name) &sched_policy_##name,
#include "sched/policy/table.h"
#undef ROW
};

const struct sched_policy *const *sched_policies(size_t *out_count)
{
    *out_count = BASE_COUNT(rows);
    return rows;
}

const struct sched_policy *sched_policy_find(const char *name, shoal_err *err)
{
    const char *names[BASE_COUNT(rows)];

    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        if (strcmp(rows[i]->name, name) == 0)
            return rows[i];
        names[i] = rows[i]->name;
    }
    base_err(err, SHOAL_E_NOTFOUND, "unknown policy '%s'", name);
    const char *near = base_nearest(name, names, BASE_COUNT(rows));
    if (near != NULL)
        base_err_hint(err, "did you mean '%s'? 'shoal policy list' shows all", near);
    else
        base_err_hint(err, "'shoal policy list' shows all");
    return NULL;
}

bool sched_policy_settled(const void *memory, const struct sched_snapshot *snap)
{
    (void)memory;
    (void)snap;
    return true;
}

uint32_t sched_snapshot_find(const struct sched_snapshot *snap, uint32_t id)
{
    size_t lo = 0, hi = id == SCHED_JOB_NONE ? 0 : snap->job_count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (snap->jobs[mid]->id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    bool found = id != SCHED_JOB_NONE && lo < snap->job_count && snap->jobs[lo]->id == id;
    return found ? (uint32_t)lo : SCHED_JOB_NONE;
}

void sched_job_rank(struct sched_job *job, const struct sched_cluster *cluster)
{
    double seconds[SCHED_KINDS_MAX];

    job->kind_count = 0;
    for (uint32_t k = 0; k < cluster->kind_count; k++) {
        if ((job->kinds >> k & 1) == 0)
            continue;
        double s = cluster->kind_count == 1
                       ? 0
                       : sched_model_ideal_s(&job->model, cluster, k, job->gpus, job->progress);
        uint32_t at = job->kind_count++;
        for (; at > 0 && seconds[at - 1] > s; at--) {
            seconds[at] = seconds[at - 1];
            job->kind_rank[at] = job->kind_rank[at - 1];
        }
        seconds[at] = s;
        job->kind_rank[at] = (uint8_t)k;
    }
    for (uint32_t i = 0; i < job->kind_count; i++)
        job->kind_slower[i] = seconds[0] > 0 ? (float)(seconds[i] / seconds[0]) : 1;
}
