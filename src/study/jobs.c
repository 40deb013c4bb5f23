/* jobs.c - from a trace to the jobs of a study. */
#include "study/jobs.h"

#include "base/err.h"
#include <math.h>
#include <stdlib.h>

const char *const study_size_names[STUDY_SIZES] = {"1", "2-4", "5-8", ">8"};

uint32_t study_size_of(uint32_t gpus)
{
    return gpus <= 1 ? 0 : gpus <= 4 ? 1 : gpus <= 8 ? 2 : 3;
}

static double run_s(const struct sim_job *job, const struct sched_cluster *cluster)
{
    int kind = sched_model_best_kind(&job->speed, cluster, job->kinds, job->gpus);

    return kind < 0 ? INFINITY
                    : sched_model_ideal_s(&job->speed, cluster, (uint32_t)kind, job->gpus, 0);
}

/* ---- the busy span ---- */

/* A job comes or goes. */
struct change {
    double at_s, gpus;
};

static int by_time(const void *pa, const void *pb)
{
    const struct change *a = pa, *b = pb;

    return (a->at_s > b->at_s) - (a->at_s < b->at_s);
}

/* When this share of the GPU time has been used. */
static double used_at_s(const struct change *changes, size_t count, double gpu_s)
{
    double in_use = 0, used = 0;

    for (size_t i = 0; i + 1 < count; i++) {
        in_use += changes[i].gpus;
        double more = in_use * (changes[i + 1].at_s - changes[i].at_s);
        if (used + more >= gpu_s && in_use > 0)
            return changes[i].at_s + fmax(0, gpu_s - used) / in_use;
        used += more;
    }
    return changes[count - 1].at_s;
}

static shoal_status find_busy(struct study_jobs *jobs)
{
    size_t count = 2 * jobs->count;
    struct change *changes = base_calloc(jobs->alloc, count, sizeof *changes);

    if (changes == NULL)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < jobs->count; i++) {
        const struct study_job *job = &jobs->jobs[i];
        changes[2 * i] = (struct change){job->submit_s, job->gpus};
        changes[2 * i + 1] = (struct change){job->submit_s + job->run_s, -(double)job->gpus};
    }
    qsort(changes, count, sizeof *changes, by_time);
    jobs->busy_from_s = used_at_s(changes, count, 0.05 * jobs->gpu_s);
    jobs->busy_to_s = used_at_s(changes, count, 0.95 * jobs->gpu_s);
    base_free(jobs->alloc, changes);
    if (!(jobs->busy_to_s > jobs->busy_from_s)) { /* too short for a double to tell apart */
        jobs->busy_from_s = jobs->from_s;
        jobs->busy_to_s = jobs->to_s;
    }
    return SHOAL_OK;
}

static void leave_out(struct study_jobs *jobs, const struct sim_job *job)
{
    if (jobs->named_count < STUDY_NAMED)
        jobs->named[jobs->named_count++] = (struct study_job){.name = job->name,
                                                              .submit_s = job->submit_s,
                                                              .run_s = NAN,
                                                              .gpus = job->gpus,
                                                              .group = job->group};
    jobs->too_large++;
}

static shoal_status none_left(const struct study_jobs *jobs, const struct sched_cluster *cluster,
                              shoal_err *err)
{
    if (jobs->too_large == 0)
        return base_err(err, SHOAL_E_IMPOSSIBLE,
                        "there is nothing to study: the trace has no job that uses GPUs");
    base_err(
        err, SHOAL_E_IMPOSSIBLE,
        "there is nothing to study: none of the %llu job%s can run on this cluster of %u GPUs, "
        "first '%.60s' (%u GPUs)",
        (unsigned long long)jobs->too_large, jobs->too_large == 1 ? "" : "s", cluster->gpus,
        jobs->named[0].name, jobs->named[0].gpus);
    base_err_hint(err, "give the cluster that ran them with --cluster");
    return SHOAL_E_IMPOSSIBLE;
}

shoal_status study_jobs_init(struct study_jobs *jobs, const struct base_alloc *alloc,
                             const struct sim_trace *trace, const struct sched_cluster *cluster,
                             shoal_err *err)
{
    *jobs = (struct study_jobs){.alloc = alloc, .from_s = INFINITY, .to_s = -INFINITY};
    jobs->jobs = base_calloc(alloc, trace->job_count + 1, sizeof *jobs->jobs);
    if (jobs->jobs == NULL)
        return base_err_nomem(err, "reading the jobs of the trace");
    for (size_t i = 0; i < trace->job_count; i++) {
        const struct sim_job *job = &trace->jobs[i];
        double seconds = job->kinds == 0 ? INFINITY : run_s(job, cluster);
        if (!isfinite(seconds)) {
            leave_out(jobs, job);
            continue;
        }
        jobs->jobs[jobs->count++] = (struct study_job){.name = job->name,
                                                       .submit_s = job->submit_s,
                                                       .run_s = seconds,
                                                       .gpus = job->gpus,
                                                       .group = job->group,
                                                       .kinds = job->kinds};
        jobs->sizes[study_size_of(job->gpus)]++;
        jobs->gpu_s += seconds * job->gpus;
        jobs->from_s = fmin(jobs->from_s, job->submit_s);
        jobs->to_s = fmax(jobs->to_s, job->submit_s + seconds);
    }
    if (jobs->count == 0) {
        shoal_status st = none_left(jobs, cluster, err);
        study_jobs_fini(jobs);
        return st;
    }
    if (find_busy(jobs) != SHOAL_OK) {
        study_jobs_fini(jobs);
        return base_err_nomem(err, "reading the jobs of the trace");
    }
    return SHOAL_OK;
}

void study_jobs_fini(struct study_jobs *jobs)
{
    if (jobs->alloc != NULL)
        base_free(jobs->alloc, jobs->jobs);
    *jobs = (struct study_jobs){0};
}
