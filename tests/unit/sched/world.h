/* world.h - a small cluster with jobs, for tests of policies and plans.
 *
 * An independent driver, much simpler than the simulator: it shows a policy a snapshot, carries out
 * the plan and lets time pass. Jobs are owned by the world and stay readable after they end.
 * Everything is drawn from the seed; WORLD_CLAIM names policy, seed and round when a claim fails.
 */
#ifndef TESTS_UNIT_SCHED_WORLD_H
#define TESTS_UNIT_SCHED_WORLD_H

#include "property.h"
#include "torture.h"

#include "base/rand.h"
#include "sched/model_table.h"
#include "sched/plan.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WORLD_NODES_MAX = 64, WORLD_JOBS_MAX = 4096 };

/* What is known of a job that adapts, which is also the truth. Tests may write it before a decision,
 * counting `known.version` up. */
struct world_adapt {
    struct sched_adapt known;
    struct sched_adapt_kind kind[SCHED_KINDS_MAX];
    uint32_t kind_count;
};

struct world_job {
    struct sched_job job; /* first: world_job_of casts back */
    struct world_adapt adapt;
    struct sched_place places[WORLD_NODES_MAX];
    double restart_left_s;
    double start_s, end_s; /* NAN: not yet */
};

struct world {
    uint64_t seed;
    struct base_rand rand;
    struct sched_cluster cluster;
    const struct sched_policy *policy; /* NULL: tests that fill the plan themselves */
    void *memory;
    struct sched_place_opts place;
    struct sched_plan *plan;
    bool node_up[WORLD_NODES_MAX];
    uint64_t node_changes;

    struct world_job *all[WORLD_JOBS_MAX];
    uint32_t all_count;
    struct sched_job *jobs[WORLD_JOBS_MAX]; /* arrived, not ended; increasing id */
    size_t job_count;
    struct sched_snapshot snap; /* of the last decision */
    const char *const *groups;  /* names of groups, or NULL */
    double now_s, round_s, restart_s, lease_s;
    uint64_t round;
};

#define WORLD_CLAIM(w, claim, ...)                                                               \
    do {                                                                                         \
        if (!(claim)) {                                                                          \
            print_message("policy %s, seed %" PRIu64 ", round %" PRIu64 ": ",                    \
                          (w)->policy != NULL ? (w)->policy->name : "-", (w)->seed, (w)->round); \
            fail_msg(__VA_ARGS__);                                                               \
        }                                                                                        \
    } while (0)

static inline struct world_job *world_job_of(struct sched_job *job)
{
    return (struct world_job *)(void *)job;
}

/* ---- building ---- */

/* A world on the cluster of `spec`, with default knobs; world_begin comes after world_set. */
static inline void world_open(struct world *w, const struct sched_policy *policy, uint64_t seed,
                              const char *spec)
{
    shoal_err err = SHOAL_ERR_INIT;

    *w = (struct world){.seed = seed, .policy = policy, .round_s = 60};
    base_rand_init(&w->rand, seed, "world");
    if (sched_cluster_parse(&base_alloc_libc, spec, &w->cluster, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    assert_true(w->cluster.node_count <= WORLD_NODES_MAX);
    for (uint32_t n = 0; n < w->cluster.node_count; n++)
        w->node_up[n] = true;
    base_opt_defaults(sched_place_rows, sched_place_row_count, &w->place);
    if (policy != NULL) {
        w->memory = calloc(1, policy->memory_size + 1);
        base_opt_defaults(policy->opts, policy->opt_count, w->memory);
    }
}

static inline void world_set(struct world *w, const char *assignment)
{
    char name[64];
    shoal_err err = SHOAL_ERR_INIT;
    bool common;

    snprintf(name, sizeof name, "%.*s", (int)strcspn(assignment, "="), assignment);
    common = base_opt_find(sched_place_rows, sched_place_row_count, name) != NULL;
    shoal_status st = common ? base_opt_assign(sched_place_rows, sched_place_row_count, assignment,
                                               "world", &w->place, &err)
                             : base_opt_assign(w->policy->opts, w->policy->opt_count, assignment,
                                               "world", w->memory, &err);
    if (st != SHOAL_OK)
        fail_msg("%s", err.message);
}

/* Knobs are set: makes the plan. */
static inline void world_begin(struct world *w)
{
    assert_int_equal(sched_plan_new(&base_alloc_libc, &w->cluster, &w->place, &w->plan), SHOAL_OK);
}

static inline void world_close(struct world *w)
{
    for (uint32_t i = 0; i < w->all_count; i++)
        free(w->all[i]);
    if (w->policy != NULL && w->policy->fini != NULL)
        w->policy->fini(w->memory, &base_alloc_libc);
    free(w->memory);
    sched_plan_free(w->plan);
    sched_cluster_fini(&w->cluster);
}

/* Kinds that have `gpus` in all, among those of `mask`. */
static inline uint32_t world_fitting(const struct world *w, uint32_t mask, uint32_t gpus)
{
    uint32_t fitting = 0;

    for (uint32_t k = 0; k < w->cluster.kind_count; k++)
        if ((mask >> k & 1) != 0 && w->cluster.kinds[k].gpus >= gpus)
            fitting |= 1u << k;
    return fitting;
}

/* A job arrives now. `kinds` must be able to hold it. */
static inline struct world_job *world_add(struct world *w, uint32_t gpus, uint32_t kinds,
                                          struct sched_model model)
{
    struct world_job *j = calloc(1, sizeof *j);

    assert_true(w->all_count < WORLD_JOBS_MAX && kinds != 0);
    assert_int_equal(world_fitting(w, kinds, gpus), kinds);
    j->job = (struct sched_job){.id = w->all_count,
                                .gpus = gpus,
                                .kinds = kinds,
                                .weight = 1,
                                .submit_s = w->now_s,
                                .deadline_s = INFINITY,
                                .app = w->all_count,
                                .batch = model.batch,
                                .model = model,
                                .work_told = model.work,
                                .wait_since_s = w->now_s,
                                .lease_until_s = w->now_s,
                                .partner = SCHED_JOB_NONE};
    j->start_s = j->end_s = NAN;
    sched_job_rank(&j->job, &w->cluster);
    w->all[w->all_count++] = j;
    w->jobs[w->job_count++] = &j->job;
    return j;
}

static inline struct world_job *world_add_seconds(struct world *w, uint32_t gpus, double seconds)
{
    uint32_t all = (1u << w->cluster.kind_count) - 1;

    return world_add(w, gpus, world_fitting(w, all, gpus), sched_model_duration(seconds));
}

/* Seconds of a step of the initial batch's worth, as known; the batch is the best one. */
static inline double world_adapt_step_s(const struct sched_model *m, const struct sched_alloc *a,
                                        struct sched_batch batch, const struct sched_model *partner)
{
    const struct world_adapt *w = m->data;
    double goodput =
        sched_adapt_choose(&w->known, w->kind_count, a->kind, a->place_count, a->gpus).goodput;

    (void)batch;
    return partner == NULL && goodput > 0 ? 1 / goodput : INFINITY;
}

static inline double world_adapt_progress(const struct sched_model *m, const struct sched_alloc *a,
                                          struct sched_batch batch, double progress,
                                          double *out_until)
{
    (void)a, (void)batch, (void)progress;
    *out_until = m->work;
    return 1;
}

/* A job that asks for `gpus` and can run on one to `gpus_max` of any kind of `kinds`, with an initial
 * batch of 128 examples, and would take `seconds` on one GPU of its first kind, which is the slowest;
 * each kind after that is half as fast again. All sizes were measured. */
static inline struct world_job *world_add_adaptive(struct world *w, uint32_t gpus,
                                                   uint32_t gpus_max, uint32_t kinds,
                                                   double seconds)
{
    static const struct sched_model_ops ops = {.name = "adaptive",
                                               .time_per_step = world_adapt_step_s,
                                               .progress_per_step = world_adapt_progress};
    struct world_job *j = world_add(w, gpus, kinds, sched_model_duration(seconds));
    struct world_adapt *a = &j->adapt;
    double slower = 1, first = 0;

    assert_true(gpus <= gpus_max);
    a->kind_count = w->cluster.kind_count;
    a->known = (struct sched_adapt){.gpus_max = gpus_max,
                                    .batch_initial = 128,
                                    .batch_max = 4096,
                                    .local_min = 16,
                                    .grad_sqr = 1,
                                    .grad_var = 10,
                                    .kind = a->kind};
    for (uint32_t k = 0; k < a->kind_count; k++) {
        if ((kinds >> k & 1) == 0)
            continue;
        a->kind[k] = (struct sched_adapt_kind){
            256, gpus_max, {0.02 * slower, 1e-3 * slower, 0.06, 0.002, 0.02, 0.001, 1.5}, gpus_max};
        slower /= 1.5;
        if (first == 0)
            first = sched_adapt_choose(&a->known, a->kind_count, k, 1, 1).goodput;
    }
    j->job.adapt = &a->known;
    j->job.model =
        (struct sched_model){.ops = &ops, .data = a, .work = j->job.work_told = seconds * first};
    sched_job_rank(&j->job, &w->cluster);
    return j;
}

/* "3x4:k80:rack=a,2x2:v100": one to three kinds, one to four groups, at most 16 nodes. */
static inline void world_random_spec(struct base_rand *rand, char *spec, size_t size)
{
    static const char *const kinds[] = {"k80", "p100", "v100"};
    static const char *const racks[] = {"", ":rack=a", ":rack=b", ":rack=c"};
    static const uint32_t sizes[] = {1, 2, 4, 4, 8, 8, 3, 5};
    uint64_t kind_count = 1 + base_rand_below(rand, 3);
    uint64_t groups = kind_count + base_rand_below(rand, 2);
    size_t at = 0;

    for (uint64_t g = 0; g < groups; g++)
        at += (size_t)snprintf(spec + at, size - at, "%s%ux%u:%s%s", g == 0 ? "" : ",",
                               (unsigned)(1 + base_rand_below(rand, 4)),
                               (unsigned)sizes[base_rand_below(rand, 8)],
                               kinds[g < kind_count ? g : base_rand_below(rand, kind_count)],
                               racks[base_rand_below(rand, 4)]);
}

/* A random gang that some kind can hold, with those kinds or some of them. */
static inline uint32_t world_random_gang(struct world *w, uint32_t *out_kinds)
{
    uint32_t all = (1u << w->cluster.kind_count) - 1;

    for (;;) {
        uint32_t gpus =
            1 + (uint32_t)base_rand_below(&w->rand, base_rand_below(&w->rand, 2) ? 16 : 4);
        uint32_t kinds = world_fitting(w, 1 + (uint32_t)base_rand_below(&w->rand, all), gpus);
        *out_kinds = kinds;
        if (kinds != 0)
            return gpus;
    }
}

/* ---- time ---- */

static inline void world_release(struct world *w, struct sched_job *j)
{
    for (size_t i = 0; i < w->job_count; i++)
        if (w->jobs[i]->id == j->partner)
            w->jobs[i]->partner = SCHED_JOB_NONE;
    j->partner = SCHED_JOB_NONE;
    j->alloc = (struct sched_alloc){0};
    j->wait_since_s = w->now_s;
}

/* Takes the job out; its row in w->all stays. */
static inline void world_end(struct world *w, size_t index, double end_s)
{
    struct sched_job *j = w->jobs[index];

    world_release(w, j);
    world_job_of(j)->end_s = end_s;
    memmove(w->jobs + index, w->jobs + index + 1, (w->job_count - index - 1) * sizeof *w->jobs);
    w->job_count--;
}

static inline bool world_nodes_up(const struct world *w, const struct sched_alloc *a)
{
    for (uint32_t i = 0; i < a->place_count; i++)
        if (!w->node_up[a->places[i].node])
            return false;
    return true;
}

/* A node goes down. A driver that notices at once has the jobs let go; one that does not shows
 * them to the policy on places that are gone. */
static inline void world_fail(struct world *w, uint32_t node, bool noticed)
{
    w->node_up[node] = false;
    w->node_changes++;
    for (size_t i = 0; noticed && i < w->job_count; i++)
        if (w->jobs[i]->alloc.place_count > 0 && !world_nodes_up(w, &w->jobs[i]->alloc))
            world_release(w, w->jobs[i]);
}

static inline void world_repair(struct world *w, uint32_t node)
{
    w->node_up[node] = true;
    w->node_changes++;
}

static inline const struct sched_model *world_partner_model(const struct world *w,
                                                            const struct sched_job *j)
{
    for (size_t i = 0; i < w->job_count; i++)
        if (w->jobs[i]->id == j->partner)
            return &w->jobs[i]->model;
    return NULL;
}

/* Rates are those at the beginning of the stretch: exact enough for rounds, and exact for
 * durations. */
static inline void world_pass(struct world *w, double seconds)
{
    double left[WORLD_JOBS_MAX]; /* seconds to its end, or INFINITY */

    for (size_t i = 0; i < w->job_count; i++) {
        struct sched_job *j = w->jobs[i];
        struct world_job *wj = world_job_of(j);
        double until, rate = 0, restart = fmin(wj->restart_left_s, seconds);
        left[i] = INFINITY;
        if (j->alloc.place_count == 0)
            continue;
        if (world_nodes_up(w, &j->alloc))
            rate = sched_model_rate(&j->model, &j->alloc, world_partner_model(w, j), j->progress,
                                    &until);
        if (rate > 0)
            left[i] = restart + (j->model.work - j->progress) / rate;
        wj->restart_left_s -= restart;
        j->progress = fmin(j->progress + rate * (seconds - restart), j->model.work);
        j->attained_gpu_s += seconds * j->alloc.gpus;
        j->run_s += seconds;
    }
    for (size_t i = w->job_count; i-- > 0;)
        if (left[i] <= seconds)
            world_end(w, i, w->now_s + left[i]);
    w->now_s += seconds;
}

/* ---- deciding ---- */

static inline const char *world_group_name(void *ctx, uint32_t group)
{
    const struct world *w = ctx;

    return w->groups[group];
}

static inline const struct sched_snapshot *world_snapshot(struct world *w)
{
    w->snap = (struct sched_snapshot){.cluster = &w->cluster,
                                      .node_up = w->node_up,
                                      .node_changes = w->node_changes,
                                      .jobs = w->jobs,
                                      .job_count = w->job_count,
                                      .now_s = w->now_s,
                                      .round_s = w->round_s,
                                      .restart_s = w->restart_s,
                                      .round = w->round,
                                      .seed = w->seed,
                                      .alloc = &base_alloc_libc,
                                      .group_name = w->groups != NULL ? world_group_name : NULL,
                                      .group_ctx = w};
    return &w->snap;
}

/* An empty plan of what is now. */
static inline struct sched_plan *world_plan(struct world *w)
{
    assert_int_equal(sched_plan_begin(w->plan, world_snapshot(w)), SHOAL_OK);
    return w->plan;
}

static inline void world_decide(struct world *w)
{
    shoal_status st = w->policy->decide(w->memory, world_snapshot(w), world_plan(w));

    WORLD_CLAIM(w, st == SHOAL_OK, "decide returned %s", shoal_status_name(st));
}

/* A job that adapts has measured itself on what it holds. */
static inline void world_measure(struct world_job *wj)
{
    struct sched_adapt_kind *kind = &wj->adapt.kind[wj->job.alloc.kind];

    if (wj->job.adapt == NULL || kind->gpus_seen >= wj->job.alloc.gpus)
        return;
    kind->gpus_seen = wj->job.alloc.gpus;
    wj->adapt.known.version++;
}

/* Carries out the plan of the last decision. */
static inline void world_apply(struct world *w)
{
    for (size_t i = 0; i < w->job_count; i++)
        if (!sched_plan_has(w->plan, i) && w->jobs[i]->alloc.place_count > 0)
            world_release(w, w->jobs[i]);
    for (size_t i = 0; i < w->job_count; i++) {
        struct sched_job *j = w->jobs[i];
        struct world_job *wj = world_job_of(j);
        const struct sched_grant *g = sched_plan_grant(w->plan, i);
        if (g == NULL)
            continue;
        j->partner = g->partner == SCHED_JOB_NONE ? SCHED_JOB_NONE : w->jobs[g->partner]->id;
        if (g->kept)
            continue;
        memmove(wj->places, g->alloc.places, g->alloc.place_count * sizeof *wj->places);
        j->alloc = g->alloc;
        j->alloc.places = wj->places;
        j->starts++;
        j->lease_until_s = w->now_s + w->lease_s;
        wj->restart_left_s = w->restart_s;
        world_measure(wj);
        if (isnan(wj->start_s))
            wj->start_s = w->now_s;
    }
    w->round++;
}

static inline void world_round(struct world *w)
{
    world_decide(w);
    world_apply(w);
    world_pass(w, w->round_s);
}

static inline size_t world_running(const struct world *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->job_count; i++)
        n += w->jobs[i]->alloc.place_count > 0;
    return n;
}

#endif
