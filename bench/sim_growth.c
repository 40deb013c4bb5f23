/* sim_growth.c - how the simulator's time and memory grow with the number of jobs.
 *
 * Generated Philly-shaped traces of 1,000 to 1,000,000 jobs at one load on one cluster, under las,
 * on one thread. For each size: CPU seconds to build the trace and to run it, time of a decision
 * per live job, and bytes per job, counted by a tracking allocator at their peak. One JSON line per
 * size: `ours` is CPU seconds, the median of `n` runs, `peer` the bound that was set for a million
 * jobs, scaled.
 *
 *   sim_growth [JOBS...]          default 1000 10000 100000 1000000 */
#include "base/assert.h"
#include "base/err.h"
#include "env/env.h"
#include "gen/trace.h"
#include "sim/run.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS_MAX = 15 };

struct sample {
    double build_cpu_s, run_cpu_s, decision_ns, decide_us;
    uint64_t peak_bytes, rounds, job_rounds;
};

static shoal_status generate(shoal_env *env, uint64_t jobs, struct sim_trace **out, shoal_err *err)
{
    shoal_gen_trace_opts opts = {
        .shape = SHOAL_GEN_PHILLY, .jobs = jobs, .load = 0.8, .gpus = 2000, .seed = 1};
    struct gen_trace gen;
    struct sim_row row;

    shoal_status st = gen_trace_init(&gen, &opts, NULL, err);
    if (st == SHOAL_OK)
        st = sim_trace_new(env_alloc(env), out);
    while (st == SHOAL_OK && gen_trace_next(&gen, &row)) {
        struct sim_job job = {.name = row.name,
                              .submit_s = row.submit_s,
                              .duration_s = row.duration_s,
                              .steps = NAN,
                              .weight = 1,
                              .deadline_s = INFINITY,
                              .gpus = row.gpus,
                              .model = SIM_NONE,
                              .app = SIM_NONE,
                              .score = NAN,
                              .slo = NAN,
                              .work = SIM_WORK_DURATION};
        st = sim_names_add(&(*out)->groups, row.group, strlen(row.group), &job.group);
        if (st == SHOAL_OK)
            st = sim_trace_add(*out, &job);
    }
    if (st == SHOAL_OK)
        sim_trace_finish(*out);
    return st;
}

static shoal_status measure(shoal_env *env, uint64_t jobs, struct sample *out, shoal_err *err)
{
    struct base_alloc_track track;
    struct sched_cluster cluster = {0};
    struct sim_trace *trace = NULL;
    struct sim_result *result = NULL;
    struct sim_opts opts;
    double began = env_cpu_s(env);

    base_alloc_track_init(&track, env->alloc);
    const struct base_alloc *plain = env->alloc;
    env->alloc = &track.alloc;
    shoal_status st = sched_cluster_parse(env->alloc, "250x8:v100", &cluster, err);
    if (st == SHOAL_OK)
        st = generate(env, jobs, &trace, err);
    if (st == SHOAL_OK)
        st = sim_trace_bind(env, trace, &cluster, NULL, err);
    out->build_cpu_s = env_cpu_s(env) - began;
    if (st == SHOAL_OK) {
        sim_opts_init(&opts);
        opts.policy = sched_policy_find("las", err);
        st = sim_run(env, trace, &cluster, &opts, &result, err);
    }
    if (st == SHOAL_OK) {
        const struct sim_metrics *m = &result->metrics;
        out->run_cpu_s = m->cpu_s;
        out->decision_ns = 1e9 * m->decision_s / (double)m->job_rounds;
        out->decide_us = 1e3 * m->decision_ms_p50;
        out->rounds = m->rounds;
        out->job_rounds = m->job_rounds;
    }
    out->peak_bytes = track.peak_bytes;
    sim_result_free(result);
    sim_trace_free(trace);
    sched_cluster_fini(&cluster);
    env->alloc = plain;
    return st;
}

static int by_run_cpu(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;

    return (x->run_cpu_s > y->run_cpu_s) - (x->run_cpu_s < y->run_cpu_s);
}

/* The median of *out_n runs: more for small sizes, where one is short. */
static shoal_status median(shoal_env *env, uint64_t jobs, struct sample *out, size_t *out_n,
                           shoal_err *err)
{
    struct sample samples[REPEATS_MAX];
    size_t n = jobs <= 10000 ? REPEATS_MAX : jobs <= 100000 ? 5 : 3;
    const char *repeats = getenv("BENCH_REPEATS");

    if (repeats != NULL && atoi(repeats) > 0)
        n = (size_t)atoi(repeats) < REPEATS_MAX ? (size_t)atoi(repeats) : REPEATS_MAX;
    for (size_t i = 0; i < n; i++) {
        shoal_status st = measure(env, jobs, &samples[i], err);
        if (st != SHOAL_OK)
            return st;
    }
    qsort(samples, n, sizeof *samples, by_run_cpu);
    *out = samples[n / 2];
    *out_n = n;
    return SHOAL_OK;
}

int main(int argc, char **argv)
{
    static const uint64_t usual[] = {1000, 10000, 100000, 1000000};
    shoal_err err = SHOAL_ERR_INIT;
    shoal_env *env;
    size_t count = argc > 1 ? (size_t)(argc - 1) : BASE_COUNT(usual), n = 0;

    shoal_status st = shoal_env_real_new(&env, &err);
    for (size_t i = 0; i < count && st == SHOAL_OK; i++) {
        uint64_t jobs = argc > 1 ? strtoull(argv[i + 1], NULL, 10) : usual[i];
        struct sample s = {0};
        st = median(env, jobs, &s, &n, &err);
        if (st == SHOAL_OK)
            printf("{\"bench\":\"sim-growth\",\"jobs\":%llu,\"ours\":%.4f,\"peer\":%.4f,\"ratio\":%"
                   ".3f,"
                   "\"unit\":\"cpu_s\",\"n\":%zu,\"build_cpu_s\":%.4f,\"decision_ns_per_live_job\":"
                   "%.1f,"
                   "\"decision_us_p50\":%.1f,\"bytes_per_job\":%.0f,\"peak_bytes\":%llu,\"rounds\":"
                   "%llu,"
                   "\"job_rounds\":%llu}\n",
                   (unsigned long long)jobs, s.run_cpu_s + s.build_cpu_s, 60e-6 * (double)jobs,
                   (s.run_cpu_s + s.build_cpu_s) / (60e-6 * (double)jobs), n, s.build_cpu_s,
                   s.decision_ns, s.decide_us, (double)s.peak_bytes / (double)jobs,
                   (unsigned long long)s.peak_bytes, (unsigned long long)s.rounds,
                   (unsigned long long)s.job_rounds);
        fflush(stdout);
    }
    if (st != SHOAL_OK)
        fprintf(stderr, "sim_growth: %s\n", err.message);
    else
        shoal_env_free(env);
    return st == SHOAL_OK ? 0 : 1;
}
