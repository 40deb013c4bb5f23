/* metrics.c - the figures at the end of a run.
 *
 * Finish-time fairness of a job: rho = completion time / time alone on a 1/n share of the cluster,
 * n being the mean number of live jobs over its life. The share is of every kind it accepts: for N_j
 * GPUs of kind j and a gang of z, the job runs there N_j / (n z) of the time, rows scaled so that
 * no job runs more than all the time (Gavel's "isolated" allocation, OSDI 2020). rho <= 1 for
 * everyone is the sharing incentive of Themis (NSDI 2020). A job that is alone also waits for its
 * first round and pays its first start; the published definitions leave both out, which makes every
 * short job on an idle cluster look wronged.
 *
 * Use of the cluster is the GPU time that jobs held over all GPUs times the time, from the first
 * submission to the last: what comes after is the tail of the last jobs, which no policy could fill. Where
 * submissions take less than a hundredth of the time to the last end, nearly all of the run would be
 * left out, and use is measured to the last end. */
#include "sim/state.h"

#include "base/err.h"
#include "base/event.h"
#include <math.h>
#include <stdlib.h>

static const double ROUNDING =
    1e-4; /* of rho, which is kept as a float and may end on a whole second */

void sim_histogram_add(struct sim_histogram *h, uint64_t ns)
{
    uint32_t octave = ns < 64 ? 0 : (uint32_t)(58 - __builtin_clzll(ns));

    h->buckets[octave][ns >> octave]++;
    h->count++;
    h->sum_s += (double)ns * 1e-9;
}

static double histogram_ms(const struct sim_histogram *h, double quantile)
{
    uint64_t rank = (uint64_t)(quantile * (double)h->count), seen = 0;

    for (int octave = 0; octave < SIM_OCTAVES; octave++)
        for (int sub = 0; sub < 64; sub++) {
            seen += h->buckets[octave][sub];
            if (seen > rank)
                return ldexp(sub + 0.5, octave) * 1e-6;
        }
    return 0;
}

double sim_alone_s(const struct sim_state *s, const struct sim_job *job, double n)
{
    double ready_s = sim_start_s(s->opts, job->submit_s) - job->submit_s + s->opts->how.restart_s;
    double share[SCHED_KINDS_MAX], sum = 0, rate = 0;

    for (uint32_t k = 0; k < s->cluster->kind_count; k++) {
        if ((job->kinds >> k & 1) == 0)
            continue;
        share[k] = s->cluster->kinds[k].gpus / (n * job->gpus);
        sum += share[k];
    }
    for (uint32_t k = 0; k < s->cluster->kind_count; k++) {
        if ((job->kinds >> k & 1) == 0)
            continue;
        double ideal = sched_model_ideal_s(&job->speed, s->cluster, k, job->gpus, 0);
        rate += share[k] / (sum > 1 ? sum : 1) / ideal;
    }
    return ready_s + 1 / rate;
}

double sim_use_until_s(double first_s, double last_s, double end_s)
{
    return last_s - first_s < SIM_USE_LEAST * (end_s - first_s) ? end_s : last_s;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Linear between ranks, as NumPy's percentile does. */
static double percentile(const double *sorted, size_t count, double q)
{
    if (count == 0)
        return NAN;
    double at = q * (double)(count - 1);
    size_t i = (size_t)at;
    double next = i + 1 < count ? sorted[i + 1] : sorted[i];
    return sorted[i] + (next - sorted[i]) * (at - (double)i);
}

static void fairness(struct sim_metrics *m, const struct sim_result *r)
{
    uint64_t count = 0, unfair = 0;
    double sum = 0;

    m->worst_rho = NAN;
    m->worst_rho_job = SIM_NONE;
    for (size_t i = 0; i < r->trace->job_count; i++) {
        double rho = (double)r->jobs[i].rho;
        if (r->jobs[i].outcome != SIM_FINISHED || isnan(rho))
            continue;
        count++;
        sum += rho;
        unfair += rho > 1 + ROUNDING;
        if (m->worst_rho_job == SIM_NONE || rho > m->worst_rho) {
            m->worst_rho = rho;
            m->worst_rho_job = (uint32_t)i;
        }
    }
    m->avg_rho = count > 0 ? sum / (double)count : NAN;
    m->unfair_share = count > 0 ? (double)unfair / (double)count : NAN;
}

shoal_status sim_metrics_finish(struct sim_state *s)
{
    struct sim_result *r = s->result;
    struct sim_metrics *m = &r->metrics;
    size_t count = r->trace->job_count, n = 0;
    double sum = 0, wait = 0, last = s->origin_s;
    double *jct = base_malloc(s->alloc, (count + 1) * sizeof *jct);

    if (jct == NULL)
        return base_err_nomem(s->err, "summing up");
    for (size_t i = 0; i < count; i++) {
        const struct sim_job_result *j = &r->jobs[i];
        if (j->outcome == SIM_REJECTED)
            continue;
        wait += (double)j->wait_s;
        last = j->finish_s > last ? j->finish_s : last;
        m->failed += j->outcome == SIM_FAILED;
        m->stopped += j->outcome == SIM_STOPPED;
        if (isfinite(r->trace->jobs[i].deadline_s) && j->outcome != SIM_STOPPED) {
            m->deadlines++;
            m->missed += j->outcome == SIM_FAILED || j->finish_s > r->trace->jobs[i].deadline_s;
        }
        if (j->outcome == SIM_FINISHED) {
            jct[n] = j->finish_s - r->trace->jobs[i].submit_s;
            sum += jct[n++];
        }
    }
    qsort(jct, n, sizeof *jct, compare_doubles);
    m->jobs = count;
    m->finished = n;
    m->job_failures += m->failed;
    m->avg_jct_s = n > 0 ? sum / (double)n : NAN;
    m->p50_jct_s = percentile(jct, n, 0.5);
    m->p99_jct_s = percentile(jct, n, 0.99);
    base_free(s->alloc, jct);

    m->makespan_s = last - s->origin_s;
    uint64_t ended = n + m->failed + m->stopped;
    m->avg_wait_s = ended > 0 ? wait / (double)ended : NAN;
    double until_s = sim_use_until_s(s->first_submit_s, s->last_submit_s, last);
    double there_gpu_s = s->cluster->gpus * (until_s - s->first_submit_s);
    m->use_to_end = until_s > s->last_submit_s;
    m->utilization =
        there_gpu_s > 0 ? (m->use_to_end ? s->held_gpu_s : s->busy_gpu_s) / there_gpu_s : 0;
    m->node_h = s->node_last_s / 3600;
    if (s->unpriced)
        m->held_usd = NAN;
    m->cost_usd = m->nodes_sized ? s->rent_last_usd : m->held_usd;
    m->decision_ms_p50 = histogram_ms(&s->decisions, 0.5);
    m->decision_ms_p99 = histogram_ms(&s->decisions, 0.99);
    m->decision_s = s->decisions.sum_s;
    fairness(m, r);
    sim_shares_finish(s);
    return SHOAL_OK;
}

/* ---- a result ---- */

void sim_result_free(struct sim_result *result)
{
    if (result == NULL)
        return;
    const struct base_alloc *alloc = result->alloc;
    base_free(alloc, result->jobs);
    base_free(alloc, result->details);
    base_free(alloc, result->received_s);
    base_free(alloc, result->wanted_s);
    for (size_t k = 0; k < SCHED_KINDS_MAX; k++) {
        base_free(alloc, result->series.busy[k]);
        base_free(alloc, result->series.price[k]);
        base_free(alloc, result->series.next[k]);
    }
    base_free(alloc, result->series.waiting);
    base_free(alloc, result->series.running);
    base_free(alloc, result->segments);
    base_buf_fini(&result->story);
    base_buf_fini(&result->why);
    base_free(alloc, result);
}

const char *sim_servers_name(uint32_t bin)
{
    static const char *const names[SIM_SERVERS_COUNT] = {"1", "2", "3-4", "5-8", "9+"};

    return names[bin];
}

void sim_result_by_kind(const struct sched_cluster *cluster, const double *values,
                        struct base_buf *out)
{
    for (uint32_t k = 0; k < cluster->kind_count; k++) {
        base_buf_puts(out, k == 0 ? "{" : ",");
        base_buf_json_string(out, cluster->kinds[k].name);
        base_buf_puts(out, ":");
        base_json_f64(out, values[k]);
    }
    base_buf_puts(out, "}");
}
