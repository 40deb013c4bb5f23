/* tally.c - sums and quantiles over the jobs of one run. Cost: a sort of the jobs for each of a few
 * dozen distributions; memory: one float per job. */
#include "study/tally.h"

#include "base/assert.h"
#include <math.h>
#include <stdlib.h>

const struct study_reason study_reasons[SIM_WAIT_COUNT] = {
    {SIM_WAIT_LOCALITY, 3, "fragmentation", "enough GPUs were free, but not close together"},
    {SIM_WAIT_FAIR_SHARE, 0, "fair share", "its group had used its quota, others had not"},
    {SIM_WAIT_CAPACITY, 1, "capacity", "too few GPUs were free"},
    {SIM_WAIT_OTHER, 2, "next round", "until the next decision"},
};

static int by_value(const void *pa, const void *pb)
{
    float a = *(const float *)pa, b = *(const float *)pb;

    return (a > b) - (a < b);
}

/* Of sorted values: the least that at least this share is at or below. */
static double quantile(const float *values, size_t count, double share)
{
    double rank = ceil(share * (double)count - 1e-9);

    return count == 0 ? NAN : (double)values[rank < 1 ? 0 : (size_t)rank - 1];
}

struct view {
    const struct study_jobs *jobs;
    const struct study_fate *fates;
    const struct study_work *work;
    const struct sim_result *result;
    float *values; /* room for one per part */
};

static const struct study_job *job_of(const struct view *v, size_t part)
{
    return &v->jobs->jobs[v->work->parts[part].job];
}

/* The jobs of a size (STUDY_ALL: all) and how long they waited for a reason (STUDY_WAITS: any). */
static void fill_delay(const struct view *v, uint32_t size, uint32_t why, struct study_delay *out,
                       float *points)
{
    size_t n = 0;

    *out = (struct study_delay){0};
    for (size_t i = 0; i < v->work->count; i++) {
        if (size != STUDY_ALL && study_size_of(job_of(v, i)->gpus) != size)
            continue;
        if (v->result->jobs[i].outcome == SIM_REJECTED)
            continue;
        float wait =
            why == STUDY_WAITS ? v->result->jobs[i].wait_s : v->result->details[i].wait_s[why];
        out->jobs += wait > 0;
        out->total_s += (double)wait;
        if (wait > 0 || why == STUDY_WAITS)
            v->values[n++] = wait;
    }
    qsort(v->values, n, sizeof *v->values, by_value);
    out->p50_s = quantile(v->values, n, 0.5);
    out->p95_s = quantile(v->values, n, 0.95);
    out->p99_s = quantile(v->values, n, 0.99);
    for (size_t i = 0; points != NULL && i < STUDY_POINTS; i++)
        points[i] = n == 0 ? NAN : (float)quantile(v->values, n, (double)i / (STUDY_POINTS - 1));
}

static void fill_locality(const struct view *v, struct study_tally *out)
{
    for (size_t i = 0; i < v->work->count; i++) {
        const struct sim_job_detail *d = &v->result->details[i];
        uint32_t size = study_size_of(job_of(v, i)->gpus);
        for (uint32_t s = 0; s < SIM_SERVERS_COUNT; s++)
            out->servers_gpu_s[size][s] += (double)d->gpu_s[s];
        out->spread_gpu_s[size] += (double)d->spread_gpu_s;
        out->beside_gpu_s[size] += (double)d->beside_gpu_s;
        out->slow_gpu_s[size] += (double)d->slow_gpu_s;
        out->slow_all_gpu_s += (double)d->slow_gpu_s;
        out->held_gpu_s += (double)v->result->jobs[i].gpu_s;
        out->moves += d->moves;
        out->preempted += d->preempted;
    }
}

/* The share of [start, finish] in which use is measured. */
static double within(const struct study_jobs *jobs, double start_s, double finish_s)
{
    double from = fmax(start_s, jobs->from_s), to = fmin(finish_s, jobs->use_until_s);

    return to > from ? (to - from) / (finish_s - start_s) : 0;
}

static void fill_use(const struct view *v, uint32_t gpus, struct study_tally *out)
{
    double useful = 0, held = 0, capacity = (v->jobs->use_until_s - v->jobs->from_s) * gpus;

    for (size_t i = 0; i < v->work->count; i++) {
        const struct sim_job_result *r = &v->result->jobs[i];
        const struct study_part *part = &v->work->parts[i];
        const struct study_job *job = job_of(v, i);
        if (r->outcome == SIM_REJECTED) {
            out->rejected++;
            continue;
        }
        double share = within(v->jobs, r->start_s, r->finish_s);
        useful += share * v->fates[part->job].useful_s * job->gpus;
        held += share * (double)r->gpu_s;
        out->trial_s += part->submit_s - job->submit_s;
        out->restarts += r->starts > 1 ? r->starts - 1 : 0;
    }
    /* Spread evenly, the time of jobs that were stopped in between may come to more than there
     * is. */
    out->utilization = fmin(1, useful / capacity);
    out->occupancy = fmin(1, held / capacity);
}

static void fill_completion(const struct view *v, struct study_tally *out)
{
    double sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < v->work->count; i++) {
        const struct sim_job_result *r = &v->result->jobs[i];
        if (!v->fates[v->work->parts[i].job].passes || r->outcome == SIM_REJECTED)
            continue;
        sum += r->finish_s - job_of(v, i)->submit_s;
        v->values[n++] = (float)(r->finish_s - job_of(v, i)->submit_s);
    }
    qsort(v->values, n, sizeof *v->values, by_value);
    out->avg_jct_s = n == 0 ? NAN : sum / (double)n;
    out->p50_jct_s = quantile(v->values, n, 0.5);
    out->p99_jct_s = quantile(v->values, n, 0.99);
}

shoal_status study_tally_make(const struct base_alloc *alloc, const struct study_jobs *jobs,
                              const struct study_fate *fates, const struct study_work *work,
                              const struct sim_result *result, uint32_t gpus,
                              struct study_tally *out)
{
    struct view v = {.jobs = jobs, .fates = fates, .work = work, .result = result};

    shoal_assert(result->details != NULL && result->trace->job_count == work->count);
    v.values = base_calloc(alloc, work->count + 1, sizeof *v.values);
    if (v.values == NULL)
        return SHOAL_E_NOMEM;
    *out = (struct study_tally){.cpu_s = result->metrics.cpu_s};
    for (uint32_t size = 0; size <= STUDY_SIZES; size++)
        for (uint32_t why = 0; why <= SIM_WAIT_COUNT; why++)
            fill_delay(&v, size, why, &out->delays[size][why],
                       why == STUDY_WAITS && size < STUDY_SIZES ? out->waits_s[size] : NULL);
    fill_locality(&v, out);
    fill_use(&v, gpus, out);
    fill_completion(&v, out);
    base_free(alloc, v.values);
    return SHOAL_OK;
}
