/* sample.h - plausible results without a simulator: a naive round-based fill, for tests of
 * what is said of results.
 *
 * A sample owns its trace, cluster and results. Jobs have durations, arrive over `span_s`, and run
 * on whichever kind has most room; a round is a minute, or longer where the span is long. Four
 * orders: fifo (strict), srtf and las (both stop running jobs), backfill. sample_promise adds prices
 * and shares to a result. */
#ifndef TESTS_SAMPLE_H
#define TESTS_SAMPLE_H

#include "base/rand.h"
#include "env/env.h"
#include "sim/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE_POLICIES = 4, SAMPLE_SERIES = 512, SAMPLE_NODES_MAX = 256 };

struct sample {
    struct sim_trace trace;
    struct sched_cluster cluster;
    struct sim_result *results[SAMPLE_POLICIES];
    char (*names)[48];
    double round_s;
};

struct sample_live { /* a job in the fill */
    double left_s, served_s, from_s;
    uint64_t rows[SAMPLE_NODES_MAX];
    int kind; /* -1: holds nothing */
    bool chosen, arrived, done;
};

static inline void *sample_alloc(size_t count, size_t size)
{
    void *p = base_calloc(&base_alloc_libc, count == 0 ? 1 : count, size);
    if (p == NULL)
        exit(1);
    return p;
}

static inline void sample_jobs(struct sample *s, size_t count, double span_s, uint64_t seed)
{
    static const char *const words[] = {"lda-wiki", "mf-shop", "resnet-ft", "bert-eu", "click-lr",
                                        "sweep",    "thumbs",  "asr-eval",  "probe",   "yolo-v3"};
    struct base_rand rand;
    base_rand_init(&rand, seed, "report.sample");
    s->trace = (struct sim_trace){
        .alloc = &base_alloc_libc, .format = "shoal", .input_hash = 0x5a17c0ffee5ea1ULL};
    s->trace.jobs = sample_alloc(count, sizeof *s->trace.jobs);
    s->names = sample_alloc(count, sizeof *s->names);
    s->trace.job_count = count;
    double at = 0;
    for (size_t i = 0; i < count; i++) {
        static const double sizes[] = {0.55, 0.15, 0.2, 0.08, 0.02};
        struct sim_job *job = &s->trace.jobs[i];
        snprintf(s->names[i], sizeof s->names[i], "%s-%zu", words[base_rand_below(&rand, 10)], i);
        job->name = s->names[i];
        at += base_rand_exp(&rand, span_s / (double)count);
        job->submit_s = floor(at);
        job->gpus = 1U << base_rand_weighted(&rand, sizes, 5);
        if (job->gpus > s->cluster.kinds[0].gpus)
            job->gpus = s->cluster.kinds[0].gpus; /* all fit somewhere */
        job->duration_s =
            fmin(span_s / 2, exp(base_rand_normal(&rand, log(1500 + span_s / 40), 1.2)) + 30);
        job->weight = 1;
        job->deadline_s = INFINITY;
        job->model = job->group = SIM_NONE;
        job->kinds = 1;
    }
}

static inline double sample_key(int policy, const struct sim_job *job,
                                const struct sample_live *live)
{
    return policy == 1 ? live->left_s : policy == 2 ? live->served_s * job->gpus : job->submit_s;
}

static inline void sample_end_segments(struct sample *s, struct sim_result *r,
                                       struct sample_live *live, uint32_t job, double now,
                                       size_t *cap)
{
    for (uint32_t node = 0; node < s->cluster.node_count; node++) {
        if (live->rows[node] == 0)
            continue;
        if (base_reserve(&base_alloc_libc, (void **)&r->segments, cap, r->segment_count + 1,
                         sizeof *r->segments) != 0)
            exit(1);
        r->segments[r->segment_count++] =
            (struct sim_segment){live->from_s, now, live->rows[node], job, node};
        live->rows[node] = 0;
    }
    live->kind = -1;
}

static inline void sample_place(struct sample *s, struct sample_live *live, uint32_t gpus, int kind,
                                uint64_t *used)
{
    live->kind = kind;
    for (uint32_t node = 0; node < s->cluster.node_count && gpus > 0; node++) {
        if (s->cluster.nodes[node].kind != kind)
            continue;
        for (uint32_t g = 0; g < s->cluster.nodes[node].gpus && gpus > 0; g++)
            if ((used[node] >> g & 1) == 0) {
                used[node] |= 1ULL << g;
                live->rows[node] |= 1ULL << g;
                gpus--;
            }
    }
}

struct sample_order {
    double key;
    uint32_t job;
};

static inline int sample_compare(const void *a, const void *b)
{
    const struct sample_order *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->job > y->job) - (x->job < y->job);
}

/* One round: who runs, where. Returns how many wait. */
static inline size_t sample_round(struct sample *s, struct sim_result *r, int policy,
                                  struct sample_live *live, const struct sample_order *order,
                                  size_t count, double now, size_t *cap)
{
    uint32_t room[SCHED_KINDS_MAX];
    int kind_of[4096];
    size_t waiting = 0;
    for (uint32_t k = 0; k < s->cluster.kind_count; k++)
        room[k] = s->cluster.kinds[k].gpus;
    bool preempts = policy == 1 || policy == 2, blocked = false;
    for (int pass = preempts ? 1 : 0; pass < 2; pass++)
        for (size_t i = 0; i < count; i++) {
            struct sample_live *l = &live[order[i].job];
            uint32_t gpus = s->trace.jobs[order[i].job].gpus;
            if (pass == 0 && (l->chosen = l->kind >= 0)) {
                kind_of[i] = l->kind;
                room[l->kind] -= gpus;
            }
            if (pass == 0 || (!preempts && l->kind >= 0))
                continue;
            int best = l->kind >= 0 && room[l->kind] >= gpus ? l->kind : -1;
            for (uint32_t k = 0; k < s->cluster.kind_count && best < 0; k++)
                best = room[k] >= gpus && !blocked ? (int)k : -1;
            l->chosen = best >= 0 && !blocked;
            kind_of[i] = best;
            if (l->chosen) {
                room[best] -= gpus;
            } else {
                waiting++;
                blocked = blocked || policy == 0;
                uint32_t left = 0;
                for (uint32_t k = 0; k < s->cluster.kind_count; k++)
                    left += room[k];
                size_t why = blocked && i % 3 != 0 ? SCHED_WHY_FAIR_SHARE
                             : left == 0           ? SCHED_WHY_CAPACITY
                             : left >= gpus        ? SCHED_WHY_LOCALITY
                                                   : SCHED_WHY_GANG;
                if (preempts && l->served_s > 0)
                    why = SCHED_WHY_FAIR_SHARE;
                r->metrics.wait_by_reason_s[why] += s->round_s;
                r->jobs[order[i].job].wait_s += (float)s->round_s;
            }
        }
    uint64_t used[SAMPLE_NODES_MAX] = {0};
    for (size_t i = 0; i < count; i++) {
        struct sample_live *l = &live[order[i].job];
        if (l->kind >= 0 && (!l->chosen || kind_of[i] != l->kind))
            sample_end_segments(s, r, l, order[i].job, now, cap);
        for (uint32_t node = 0; l->kind >= 0 && node < s->cluster.node_count; node++)
            used[node] |= l->rows[node];
    }
    for (size_t i = 0; i < count; i++) {
        struct sample_live *l = &live[order[i].job];
        if (!l->chosen || l->kind >= 0)
            continue;
        sample_place(s, l, s->trace.jobs[order[i].job].gpus, kind_of[i], used);
        l->from_s = now;
        if (r->jobs[order[i].job].starts++ == 0)
            r->jobs[order[i].job].start_s = now;
        else
            r->metrics.restarts++;
    }
    return waiting;
}

static inline int sample_compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline void sample_metrics(struct sample *s, struct sim_result *r, double live_mean,
                                  double gpu_s)
{
    struct sim_metrics *m = &r->metrics;
    double *jct = sample_alloc(s->trace.job_count, sizeof *jct);
    m->worst_rho_job = SIM_NONE;
    for (size_t i = 0; i < s->trace.job_count; i++) {
        const struct sim_job *job = &s->trace.jobs[i];
        jct[i] = r->jobs[i].finish_s - job->submit_s;
        double share = job->duration_s * fmax(1, live_mean * job->gpus / s->cluster.gpus) * 1.1;
        r->jobs[i].rho = (float)(jct[i] / share);
        m->avg_jct_s += jct[i] / (double)s->trace.job_count;
        m->avg_rho += r->jobs[i].rho / (double)s->trace.job_count;
        m->avg_wait_s += r->jobs[i].wait_s / (double)s->trace.job_count;
        m->unfair_share += (r->jobs[i].rho > 1) / (double)s->trace.job_count;
        m->makespan_s = fmax(m->makespan_s, r->jobs[i].finish_s);
        if (r->jobs[i].rho > m->worst_rho) {
            m->worst_rho = r->jobs[i].rho;
            m->worst_rho_job = (uint32_t)i;
        }
    }
    qsort(jct, s->trace.job_count, sizeof *jct, sample_compare_double);
    m->jobs = m->finished = s->trace.job_count;
    if (m->jobs > 0) {
        m->p50_jct_s = jct[m->jobs / 2];
        m->p99_jct_s = jct[m->jobs * 99 / 100];
        m->utilization = gpu_s / (m->makespan_s * s->cluster.gpus);
    }
    m->cost_usd = gpu_s / 3600 * 1.2;
    m->lost_gpu_s = (double)m->restarts * 60;
    base_free(&base_alloc_libc, jct);
}

static inline struct sim_result *sample_run(struct sample *s, int policy)
{
    static const char *const names[] = {"fifo", "srtf", "las", "fifo backfill=on"};
    size_t n = s->trace.job_count, cap = 0;
    struct sim_result *r = sample_alloc(1, sizeof *r);
    *r = (struct sim_result){.alloc = &base_alloc_libc, .trace = &s->trace, .cluster = &s->cluster};
    r->metrics.share_error = NAN;
    snprintf(r->policy, sizeof r->policy, "%s", names[policy]);
    r->jobs = sample_alloc(n, sizeof *r->jobs);
    base_buf_init(&r->story, &base_alloc_libc, 100);
    struct sample_live *live = sample_alloc(n, sizeof *live);
    struct sample_order *order = sample_alloc(n, sizeof *order);
    for (size_t i = 0; i < n; i++) {
        live[i].kind = -1;
        live[i].left_s = s->trace.jobs[i].duration_s;
    }
    for (uint32_t k = 0; k < s->cluster.kind_count; k++)
        r->series.busy[k] = sample_alloc(SAMPLE_SERIES, sizeof(float));
    r->series.waiting = sample_alloc(SAMPLE_SERIES, sizeof(float));
    r->series.running = sample_alloc(SAMPLE_SERIES, sizeof(float));
    double end_guess_s = (n == 0 ? 1 : s->trace.jobs[n - 1].submit_s) * 3 + 100000, gpu_s = 0,
           live_sum = 0;
    r->series.step_s = fmax(s->round_s, end_guess_s / SAMPLE_SERIES);
    size_t done = 0;
    double now = 0;
    for (; done < n; now += s->round_s) {
        size_t count = 0;
        for (uint32_t i = 0; i < n; i++)
            if (!live[i].done && s->trace.jobs[i].submit_s <= now && count < 4096)
                order[count++] =
                    (struct sample_order){sample_key(policy, &s->trace.jobs[i], &live[i]), i};
        qsort(order, count, sizeof *order, sample_compare);
        size_t waiting = sample_round(s, r, policy, live, order, count, now, &cap);
        size_t slot = (size_t)(now / r->series.step_s);
        float part = (float)(s->round_s / r->series.step_s);
        if (slot >= SAMPLE_SERIES)
            slot = SAMPLE_SERIES - 1;
        r->series.count = slot + 1;
        r->series.waiting[slot] += part * (float)waiting;
        r->series.running[slot] += part * (float)(count - waiting);
        live_sum += (double)count;
        r->metrics.rounds++;
        r->metrics.job_rounds += count;
        for (size_t i = 0; i < count; i++) {
            struct sample_live *l = &live[order[i].job];
            const struct sim_job *job = &s->trace.jobs[order[i].job];
            if (l->kind < 0)
                continue;
            double ran = fmin(s->round_s, l->left_s);
            r->series.busy[l->kind][slot] += part * (float)job->gpus;
            gpu_s += ran * job->gpus;
            r->jobs[order[i].job].gpu_s += (float)(ran * job->gpus);
            l->left_s -= ran;
            l->served_s += ran;
            if (l->left_s <= 0) {
                l->done = true;
                done++;
                r->jobs[order[i].job].finish_s = now + ran;
                sample_end_segments(s, r, l, order[i].job, now + ran, &cap);
            }
        }
    }
    sample_metrics(s, r, live_sum / (double)(r->metrics.rounds + 1), gpu_s);
    r->metrics.decision_ms_p50 = 0.02 + 0.013 * policy;
    r->metrics.decision_ms_p99 = 0.3;
    r->metrics.wall_s = 0.21;
    base_free(&base_alloc_libc, live);
    base_free(&base_alloc_libc, order);
    return r;
}

static inline void sample_make(struct sample *s, const char *cluster, size_t jobs, size_t policies,
                               double span_s, uint64_t seed)
{
    memset(s, 0, sizeof *s);
    if (sched_cluster_parse(&base_alloc_libc, cluster, &s->cluster, NULL) != SHOAL_OK)
        exit(1);
    s->round_s = fmax(60, span_s / 1000);
    sample_jobs(s, jobs, span_s, seed);
    for (size_t i = 0; i < policies; i++)
        s->results[i] = sample_run(s, (int)i);
}

/* Makes one of the results look like that of a policy that solves for shares: jobs were promised
 * about what they got, prices follow the queue. */
static inline void sample_promise(struct sample *s, size_t index, uint64_t seed)
{
    struct sim_result *r = s->results[index];
    uint32_t kinds = s->cluster.kind_count;
    size_t n = s->trace.job_count, cells = n * kinds;
    struct base_rand rand;
    base_rand_init(&rand, seed, "report.sample.shares");
    r->received_s = sample_alloc(cells, sizeof *r->received_s);
    r->wanted_s = sample_alloc(cells, sizeof *r->wanted_s);
    for (size_t i = 0; i < r->segment_count; i++) {
        const struct sim_segment *g = &r->segments[i];
        r->received_s[g->job * kinds + s->cluster.nodes[g->node].kind] +=
            (float)((g->to_s - g->from_s) * __builtin_popcountll(g->rows) /
                    s->trace.jobs[g->job].gpus);
    }
    double error = 0;
    for (size_t i = 0; i < n; i++) {
        double gap = 0, all = 0;
        for (uint32_t k = 0; k < kinds; k++) {
            double got = r->received_s[i * kinds + k];
            double want = got * base_rand_range(&rand, 0.85, 1.2) +
                          (base_rand_below(&rand, 8) == 0 ? base_rand_exp(&rand, 600) : 0);
            r->wanted_s[i * kinds + k] = (float)want;
            gap += fabs(want - got);
            all += want + got;
        }
        error += all > 0 ? gap / all : 0;
    }
    r->metrics.share_error = n > 0 ? error / (double)n : NAN;
    r->series.price_unit = "GPUs of average speed";
    r->series.price_s = r->series.step_s * (double)r->series.count;
    for (uint32_t k = 0; k < kinds; k++) {
        r->series.price[k] = sample_alloc(SAMPLE_SERIES, sizeof(float));
        for (size_t i = 0; i < r->series.count; i++)
            r->series.price[k][i] = (float)(0.002 * (k + 1) * log1p((double)r->series.waiting[i]));
    }
}

static inline void sample_free(struct sample *s)
{
    for (size_t i = 0; i < SAMPLE_POLICIES; i++)
        sim_result_free(s->results[i]);
    sched_cluster_fini(&s->cluster);
    base_free(&base_alloc_libc, s->trace.jobs);
    base_free(&base_alloc_libc, s->names);
}

/* ---- what is said of results ---- */

/* The result of a comparison of them with its pictures, freed by shoal_result_free; NULL when `alloc` fails. */
static inline const shoal_result *sample_result(struct sample *s, struct sim_result *const *results,
                                                size_t count, const struct base_alloc *alloc)
{
    static struct sim_compare c; /* large */
    struct shoal_env env = {.alloc = alloc};
    struct shoal_sim sim = {.env = &env, .cluster = s->cluster, .trace = &s->trace};
    const shoal_result *result = NULL;

    shoal_sim_opts_init(&sim.opts);
    sim.opts.pictures = true;
    sim.opts.seed = 7;
    sim.story_job = SIM_NONE;
    c = (struct sim_compare){.sim = &sim, .count = count};
    for (size_t i = 0; i < count; i++) {
        results[i]->story_job = SIM_NONE;
        c.results[i] = results[i];
    }
    return sim_compare_result(&c, &result, NULL) == SHOAL_OK ? result : NULL;
}

static inline const shoal_result *sample_told(struct sample *s, size_t count)
{
    const shoal_result *result = sample_result(s, s->results, count, &base_alloc_libc);

    if (result == NULL)
        exit(1);
    return result;
}

/* NULL: there is none. */
static inline const shoal_picture *sample_picture(const shoal_result *result, const char *name)
{
    for (size_t i = 0; i < result->picture_count; i++)
        if (strcmp(result->pictures[i].name, name) == 0)
            return &result->pictures[i];
    return NULL;
}

#endif
