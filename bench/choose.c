/* choose.c - how long the shoal policy takes to decide on large clusters, and how much is proven.
 *
 * Sia's cluster (6 nodes of 4 T4, 3 of 8 RTX, 2 of 8 A100) times a scale, with the applications, gangs
 * and mix of one of its scale workloads. As many jobs are live as are asked for: one that ends is
 * followed by the next of the trace. Speeds are fitted to all that the profiles have, jobs run as fast
 * as the fit says, and the noise of their gradients is that of the profile at their progress. At
 * every round one application, in turn, is fitted anew (all speeds up to 0.1 % off), as happens while
 * jobs measure themselves. Only decide() is timed.
 *
 * One JSON line for each scale: `ours` is CPU seconds of a decision, the median of `n`; `slowest` the
 * longest of them, `first` that of the first, when nothing is kept from before; `peer` the bound that
 * was set; `gap` and `gap_most` the proven gap, median and largest.
 *
 *   bench_choose PROFILES TRACE [SCALE:JOBS...]     default 1:30 32:700 469:10000
 *
 * BENCH_REPEATS bounds the number of rounds. */
#include "base/assert.h"
#include "base/rand.h"
#include "env/env.h"
#include "sched/plan.h"
#include "sim/trace.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { APPS_MAX = 16, WARM_UP = 20, ROUNDS = 100, SAMPLES_MAX = 64 };
static const double ROUND_S = 60, RESTART_S = 30;

/* What jobs of one application know. */
struct app {
    struct sched_adapt_kind kind[SCHED_KINDS_MAX], fitted[SCHED_KINDS_MAX];
    bool known;
    uint64_t version;
};

struct live {
    struct sched_job job; /* first */
    struct sched_adapt adapt;
    struct app *app;
    struct sched_place *places;
    double restart_left_s;
    uint64_t app_version; /* that it knows */
};

struct world {
    struct sched_cluster cluster;
    struct sim_trace *trace;
    size_t next; /* of the trace */
    uint32_t arrived;
    struct app apps[APPS_MAX];
    struct live *lives;
    struct sched_job **jobs; /* by increasing id */
    size_t job_count;
    bool *node_up;
    struct sched_plan *plan;
    const struct sched_policy *policy;
    void *memory;
    struct base_rand rand;
    double now_s;
    uint64_t round;
};

static void must(shoal_status st, const char *what, const shoal_err *err)
{
    if (st == SHOAL_OK)
        return;
    fprintf(stderr, "choose: %s: %s\n", what, err != NULL ? err->message : shoal_status_name(st));
    exit(1);
}

static double cpu_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- jobs ---- */

/* As many GPUs packed on nodes of the kind; whatever their numbers. */
static struct sched_alloc packed(const struct world *w, uint32_t kind, uint32_t gpus,
                                 struct sched_place *places)
{
    uint32_t each = w->cluster.kinds[kind].node_gpus_max, count = 0;

    for (uint32_t left = gpus; left > 0; count++) {
        uint32_t take = left < each ? left : each;
        places[count] = (struct sched_place){count, take};
        left -= take;
    }
    return (struct sched_alloc){places, count, gpus, (uint16_t)kind};
}

static void fit_kind(const struct world *w, const struct sched_model *m, uint32_t kind,
                     const struct sched_limits *limits, struct sched_adapt_kind *out)
{
    struct shoal_goodput_sample samples[SAMPLES_MAX];
    struct sched_place places[64];
    struct sched_observed seen;
    size_t count = 0;

    *out = (struct sched_adapt_kind){.local_max = limits->local_max[kind]};
    for (uint32_t g = 1; g <= limits->gpus_max && g <= 64; g *= 2)
        for (uint32_t local = out->local_max; local > 0 && local >= limits->local_min; local /= 2) {
            struct sched_alloc a = packed(w, kind, g, places);
            struct sched_batch batch = {local, 1};
            if (count == SAMPLES_MAX || !m->ops->observe(m, &a, batch, 0, &seen) ||
                !(seen.pass_s > 0 && seen.step_s > 0))
                continue;
            samples[count++] =
                (struct shoal_goodput_sample){a.place_count, g, local, seen.pass_s, seen.step_s};
        }
    if (count > 0)
        must(shoal_goodput_fit(samples, count, &out->speed, NULL), "fit", NULL);
    out->gpus_seen = count > 0; /* nobody has run on more than one yet */
}

/* The gradient's noise where it is now. */
static void learn_noise(const struct world *w, struct live *l)
{
    struct sched_place place = {0, 1};
    struct sched_alloc a = packed(w, 0, 1, &place);
    struct sched_batch batch = {l->adapt.local_min > 0 ? l->adapt.local_min : 1, 1};
    struct sched_observed seen;
    const struct sched_model *m = &l->job.model;

    if (!m->ops->observe(m, &a, batch, fmin(l->job.progress, m->work * (1 - 1e-9)), &seen))
        return;
    double now = seen.grad_var / seen.grad_sqr, before = l->adapt.grad_var / l->adapt.grad_sqr;
    if (fabs(now - before) <= 0.01 * before)
        return;
    l->adapt.grad_sqr = seen.grad_sqr;
    l->adapt.grad_var = seen.grad_var;
    l->adapt.version++;
}

static void arrive(struct world *w, struct live *l, double done)
{
    const struct sim_job *from = &w->trace->jobs[w->next++ % w->trace->job_count];
    struct sched_place *places = l->places;
    struct sched_limits limits;

    *l = (struct live){.app = &w->apps[from->model], .places = places};
    l->job = (struct sched_job){.id = w->arrived++,
                                .gpus = from->gpus,
                                .kinds = (1u << w->cluster.kind_count) - 1,
                                .weight = 1,
                                .submit_s = w->now_s,
                                .deadline_s = INFINITY,
                                .model = from->speed,
                                .wait_since_s = w->now_s,
                                .work_told = from->speed.work,
                                .progress = done * from->speed.work,
                                .partner = SCHED_JOB_NONE,
                                .adapt = &l->adapt};
    l->job.app = l->job.id;
    l->job.model.ops->limits(&l->job.model, &limits);
    if (!l->app->known)
        for (uint32_t k = 0; k < w->cluster.kind_count; k++)
            fit_kind(w, &l->job.model, k, &limits, &l->app->fitted[k]);
    if (!l->app->known)
        memcpy(l->app->kind, l->app->fitted, sizeof l->app->kind);
    l->app->known = true;
    l->adapt = (struct sched_adapt){.gpus_max = limits.gpus_max,
                                    .batch_initial = limits.batch_initial,
                                    .batch_max = limits.batch_max,
                                    .local_min = limits.local_min,
                                    .grad_sqr = 1,
                                    .grad_var = 1,
                                    .kind = l->app->kind};
    learn_noise(w, l);
    sched_job_rank(&l->job, &w->cluster);
}

static int by_id(const void *a, const void *b)
{
    const struct sched_job *const *x = a, *const *y = b;

    return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

/* ---- rounds ---- */

static void run_job(struct world *w, struct live *l)
{
    const struct sched_alloc *a = &l->job.alloc;
    double restart = fmin(l->restart_left_s, ROUND_S);

    if (a->place_count == 0)
        return;
    double rate =
        sched_adapt_choose(&l->adapt, w->cluster.kind_count, a->kind, a->place_count, a->gpus)
            .goodput;
    l->restart_left_s -= restart;
    l->job.progress += rate * (ROUND_S - restart);
    l->job.attained_gpu_s += a->gpus * ROUND_S;
    if (l->app->kind[a->kind].gpus_seen < a->gpus) {
        l->app->kind[a->kind].gpus_seen = a->gpus;
        l->app->version++;
    }
    learn_noise(w, l);
    if (l->job.progress >= l->job.model.work)
        arrive(w, l, 0);
}

static void pass(struct world *w)
{
    struct app *again = &w->apps[w->round % w->trace->models.map.count];

    for (size_t i = 0; i < w->job_count; i++)
        run_job(w, &w->lives[i]);
    for (uint32_t k = 0; k < w->cluster.kind_count; k++) {
        double off = 1 + base_rand_range(&w->rand, -1e-3, 1e-3);
        again->kind[k].speed.grad_s = again->fitted[k].speed.grad_s * off;
        again->kind[k].speed.grad_each_s = again->fitted[k].speed.grad_each_s * off;
    }
    again->version++;
    for (size_t i = 0; i < w->job_count; i++) {
        struct live *l = &w->lives[i];
        l->adapt.version += l->app->version - l->app_version;
        l->app_version = l->app->version;
    }
    w->now_s += ROUND_S;
    w->round++;
    qsort(w->jobs, w->job_count, sizeof *w->jobs, by_id);
}

static void carry_out(struct world *w)
{
    for (size_t i = 0; i < w->job_count; i++) {
        struct live *l = (struct live *)(void *)w->jobs[i];
        const struct sched_grant *g = sched_plan_grant(w->plan, i);
        if (g != NULL && g->kept)
            continue;
        l->job.alloc = (struct sched_alloc){0};
        if (g == NULL)
            continue;
        memcpy(l->places, g->alloc.places, g->alloc.place_count * sizeof *l->places);
        l->job.alloc = g->alloc;
        l->job.alloc.places = l->places;
        l->restart_left_s = RESTART_S;
    }
}

/* CPU seconds of the decision, and the gap it proves. */
static double decide(struct world *w, double *out_gap)
{
    struct sched_snapshot snap = {.cluster = &w->cluster,
                                  .node_up = w->node_up,
                                  .jobs = w->jobs,
                                  .job_count = w->job_count,
                                  .now_s = w->now_s,
                                  .round_s = ROUND_S,
                                  .restart_s = RESTART_S,
                                  .round = w->round,
                                  .seed = 1,
                                  .alloc = &base_alloc_libc};

    must(sched_plan_begin(w->plan, &snap), "begin", NULL);
    double began = cpu_s();
    must(w->policy->decide(w->memory, &snap, w->plan), "decide", NULL);
    double took = cpu_s() - began;
    *out_gap = 0;
    (void)sched_plan_unproven(w->plan, out_gap);
    return took;
}

/* ---- one scale ---- */

static void open_world(struct world *w, shoal_env *env, const char *profiles, const char *trace,
                       uint32_t scale, size_t jobs)
{
    char spec[128];
    shoal_err err = SHOAL_ERR_INIT;
    struct sched_place_opts place;

    *w = (struct world){.job_count = jobs, .policy = sched_policy_find("shoal", &err)};
    snprintf(spec, sizeof spec, "%" PRIu32 "x4:t4,%" PRIu32 "x8:rtx,%" PRIu32 "x8:a100", 6 * scale,
             3 * scale, 2 * scale);
    base_rand_init(&w->rand, 1, "choose");
    must(sched_cluster_parse(&base_alloc_libc, spec, &w->cluster, &err), spec, &err);
    must(sim_trace_load(env, &trace, 1, SIM_FORMAT_AUTO, &w->trace, &err), trace, &err);
    must(sim_trace_bind(env, w->trace, &w->cluster, profiles, &err), profiles, &err);
    shoal_assert(w->trace->models.map.count <= APPS_MAX);
    base_opt_defaults(sched_place_rows, sched_place_row_count, &place);
    must(sched_plan_new(&base_alloc_libc, &w->cluster, &place, &w->plan), "plan", NULL);
    w->memory = calloc(1, w->policy->memory_size);
    base_opt_defaults(w->policy->opts, w->policy->opt_count, w->memory);
    must(
        base_opt_assign(w->policy->opts, w->policy->opt_count, "proof=0", "bench", w->memory, &err),
        "proof", &err);
    w->node_up = malloc(w->cluster.node_count);
    memset(w->node_up, 1, w->cluster.node_count);
    w->lives = calloc(jobs, sizeof *w->lives);
    w->jobs = calloc(jobs, sizeof(struct sched_job *));
    for (size_t i = 0; i < jobs; i++) {
        w->lives[i].places = malloc(w->cluster.node_count * sizeof(struct sched_place));
        arrive(w, &w->lives[i], base_rand_range(&w->rand, 0, 1));
        w->jobs[i] = &w->lives[i].job;
    }
}

static void close_world(struct world *w)
{
    w->policy->fini(w->memory, &base_alloc_libc);
    free(w->memory);
    for (size_t i = 0; i < w->job_count; i++)
        free(w->lives[i].places);
    free(w->lives);
    free((void *)w->jobs);
    free(w->node_up);
    sched_plan_free(w->plan);
    sim_trace_free(w->trace);
    sched_cluster_fini(&w->cluster);
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void measure(struct world *w, int rounds, double bound_s)
{
    double took[ROUNDS], gap[ROUNDS], first = 0;

    for (int r = -WARM_UP; r < rounds; r++) {
        double g, s = decide(w, &g);
        if (r == -WARM_UP)
            first = s;
        if (r >= 0)
            took[r] = s, gap[r] = g;
        carry_out(w);
        pass(w);
    }
    qsort(took, (size_t)rounds, sizeof *took, ascending);
    qsort(gap, (size_t)rounds, sizeof *gap, ascending);
    printf("{\"bench\":\"choose\",\"what\":\"shoal, %" PRIu32 " GPUs, %zu jobs\",\"ours\":%.6g,"
           "\"peer\":%.6g,\"ratio\":%.4g,\"against\":\"bound\",\"unit\":\"cpu_s\",\"n\":%d,"
           "\"slowest\":%.6g,\"first\":%.6g,\"gap\":%.3g,\"gap_most\":%.3g,"
           "\"data\":\"%zu jobs x %" PRIu32 " GPUs\"}\n",
           w->cluster.gpus, w->job_count, took[rounds / 2], bound_s, took[rounds / 2] / bound_s,
           rounds, took[rounds - 1], first, gap[rounds / 2], gap[rounds - 1], w->job_count,
           w->cluster.gpus);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {"1:30", "32:700", "469:10000"};
    const char *text = getenv("BENCH_REPEATS");
    int rounds = text != NULL && atoi(text) > 0 && atoi(text) < ROUNDS ? atoi(text) : ROUNDS;
    shoal_env *env = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    if (argc < 3) {
        fprintf(stderr, "usage: bench_choose PROFILES TRACE [SCALE:JOBS...]\n");
        return 2;
    }
    must(shoal_env_real_new(&env, &err), "env", &err);
    for (int i = 0; i < (argc > 3 ? argc - 3 : (int)BASE_COUNT(usual)); i++) {
        static struct world w;
        uint32_t scale;
        size_t jobs;
        if (sscanf(argc > 3 ? argv[3 + i] : usual[i], "%" SCNu32 ":%zu", &scale, &jobs) != 2 ||
            scale == 0 || jobs == 0)
            return 2;
        open_world(&w, env, argv[1], argv[2], scale, jobs);
        measure(&w, rounds, w.cluster.gpus <= 2048 ? 0.010 : 0.050);
        close_world(&w);
    }
    shoal_env_free(env);
    return 0;
}
