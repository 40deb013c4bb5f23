/* info.c - see info.h. Quantiles are exact: the value at position share x (n - 1), rounded down. */
#include "sim/info.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double sim_info_shares[SIM_INFO_QUANTILES] = {0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1};

static int by_value(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;

    return a < b ? -1 : a > b;
}

static void quantiles(double *values, size_t count, double out[SIM_INFO_QUANTILES])
{
    qsort(values, count, sizeof *values, by_value);
    for (size_t i = 0; i < SIM_INFO_QUANTILES; i++)
        out[i] =
            count > 0 ? values[(size_t)(sim_info_shares[i] * (double)(count - 1))] : (double)NAN;
}

static double job_seconds(const struct sim_job *job, const struct sched_cluster *cluster)
{
    if (cluster == NULL || job->kinds == 0)
        return job->duration_s;
    int kind = sched_model_best_kind(&job->speed, cluster, job->kinds, job->gpus);
    if (kind < 0)
        return NAN;
    return sched_model_ideal_s(&job->speed, cluster, (uint32_t)kind, job->gpus, 0);
}

shoal_status sim_info(const struct sim_trace *trace, const struct sched_cluster *cluster,
                      struct sim_info *out)
{
    size_t n = trace->job_count;
    double *values = base_malloc(trace->alloc, (n > 0 ? n : 1) * sizeof *values);
    struct sim_info info = {.jobs = n, .load = NAN};

    if (values == NULL)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct sim_job *job = &trace->jobs[i];
        double seconds = job_seconds(job, cluster);
        info.impossible += cluster != NULL && job->kinds == 0;
        info.sizes[job->gpus == 1 ? 0 : job->gpus <= 4 ? 1 : job->gpus <= 8 ? 2 : 3]++;
        if (!isfinite(seconds))
            continue;
        values[info.timed++] = seconds;
        if (cluster == NULL || job->kinds != 0)
            info.gpu_h += seconds * job->gpus / 3600;
    }
    quantiles(values, (size_t)info.timed, info.duration_s);
    for (size_t i = 0; i < n; i++)
        values[i] = trace->jobs[i].gpus;
    quantiles(values, n, info.gpus);
    base_free(trace->alloc, values);
    if (n > 0) {
        info.first_s = trace->jobs[0].submit_s;
        info.span_s = trace->jobs[n - 1].submit_s - info.first_s;
    }
    if (cluster != NULL && info.span_s > 0)
        info.load = info.gpu_h * 3600 / (cluster->gpus * info.span_s);
    *out = info;
    return SHOAL_OK;
}

static int by_jobs(const void *pa, const void *pb)
{
    const struct sim_info_count *a = pa, *b = pb;

    if (a->jobs != b->jobs)
        return a->jobs > b->jobs ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

shoal_status sim_info_counts(const struct sim_trace *trace, bool models,
                             struct sim_info_count **out_counts, size_t *out_count)
{
    size_t count = models ? trace->models.map.count : trace->groups.map.count;
    struct sim_info_count *counts =
        base_calloc(trace->alloc, count > 0 ? count : 1, sizeof *counts);

    if (counts == NULL)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < count; i++)
        counts[i].name = (uint32_t)i;
    for (size_t i = 0; i < trace->job_count; i++) {
        uint32_t name = models ? trace->jobs[i].model : trace->jobs[i].group;
        if (name != SIM_NONE)
            counts[name].jobs++;
    }
    qsort(counts, count, sizeof *counts, by_jobs);
    while (count > 0 && counts[count - 1].jobs == 0)
        count--; /* names of lines that were left out */
    *out_counts = counts;
    *out_count = count;
    return SHOAL_OK;
}
