/* run.c - the public face of the study (shoal/study.h), and its runs: the base line, each guideline, all of them.
 *
 * Tests: tests/unit/study/test_run.c, tests/unit/cli/test_cmd_study.c, tests/cli/test_study.py. */
#include "study/study.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/watch.h"
#include "sim/cluster_load.h"
#include "sim/run.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define BIT(id) (1u << (id))

const struct study_guideline study_guidelines[STUDY_RUNS] = {
    [STUDY_BASE] = {"base", "as it is", "the cluster as it is run now", NULL, 0, 0},
    [STUDY_LOCALITY] = {"locality", "wait longer for locality",
                        "long jobs wait longer for servers that are close together", "patience=0.1",
                        BIT(STUDY_LOCALITY), 0},
    [STUDY_MIGRATE] = {"migrate", "migrate to defragment",
                       "running jobs are moved so that whole servers become free", "migrate=true",
                       BIT(STUDY_MIGRATE), 0},
    [STUDY_DEDICATED] = {"dedicated", "dedicated servers",
                         "jobs of several GPUs do not share servers with each other",
                         "dedicated=true", BIT(STUDY_DEDICATED), 0},
    [STUDY_TRIAL] = {"trial", "a trial pool",
                     "jobs of several GPUs run on one GPU of a small pool first", NULL,
                     BIT(STUDY_TRIAL), STUDY_TRIALS},
    [STUDY_RETRY] = {"retry", "retry only what can succeed",
                     "a job whose error comes back is stopped after its first attempt", NULL,
                     BIT(STUDY_RETRY), STUDY_RETRY_ONLY},
    [STUDY_TOGETHER] = {"all", "all together", "all five guidelines at once", NULL,
                        BIT(STUDY_LOCALITY) | BIT(STUDY_MIGRATE) | BIT(STUDY_DEDICATED) |
                            BIT(STUDY_TRIAL) | BIT(STUDY_RETRY),
                        STUDY_TRIALS | STUDY_RETRY_ONLY},
};

/* ---- failures ---- */

static void count_lost(struct study *s)
{
    for (size_t i = 0; i < s->jobs.count; i++) {
        const struct study_job *job = &s->jobs.jobs[i];
        const struct study_fate *fate = &s->fates[i];
        if (fate->fail_class == STUDY_PASSED)
            continue;
        struct study_lost *lost = &s->lost[fate->fail_class];
        lost->jobs++;
        lost->passed += fate->passes;
        lost->attempts += fate->attempts;
        lost->held_gpu_s += job->run_s * job->gpus;
        lost->lost_gpu_s += (job->run_s - fate->useful_s) * job->gpus;
        s->unsuccessful[study_size_of(job->gpus)] += !fate->passes;
        s->unsuccessful[STUDY_ALL] += !fate->passes;
    }
}

/* ---- one simulation ---- */

struct call {
    const struct sched_cluster *cluster;
    const struct sched_policy *policy;
    const char *sets[STUDY_SETS_MAX + STUDY_RUNS + 1];
    size_t set_count;
    bool effects; /* of places on speed */
};

static shoal_status simulate(shoal_env *env, const struct study *s, const struct call *call,
                             const struct sim_trace *trace, struct sim_result **out, shoal_err *err)
{
    struct sim_opts opts;

    sim_opts_init(&opts);
    opts.policy = call->policy;
    opts.sets = call->sets;
    opts.set_count = call->set_count;
    opts.how.round_s = s->opts.round_s;
    opts.how.restart_s = s->opts.restart_s;
    opts.how.seed = s->opts.seed;
    opts.how.spread = opts.how.neighbours = call->effects;
    opts.details = true;
    opts.done = base_watch_done(s->watch);
    opts.stop = base_watch_flag(s->watch);
    return sim_run(env, trace, call->cluster, &opts, out, err);
}

/* ---- the trial pool ---- */

/* GPUs of the pool: as many as keep it busy for STUDY_POOL_LOAD of the time. */
static uint32_t pool_gpus(const struct study *s, double trial_gpu_s)
{
    double mean = trial_gpu_s / (s->jobs.to_s - s->jobs.from_s);

    return (uint32_t)fmax(1, ceil(fmin(mean / STUDY_POOL_LOAD, 1e8)));
}

/* Whether every job still fits a kind of the cluster without the pool. */
static bool rest_fits(const struct study *s, const struct sched_cluster *rest)
{
    for (size_t i = 0; i < s->jobs.count; i++) {
        bool fits = false;
        for (uint32_t k = 0; k < rest->kind_count; k++)
            fits |= (s->jobs.jobs[i].kinds >> k & 1) != 0 &&
                    s->jobs.jobs[i].gpus <= rest->kinds[k].gpus;
        if (!fits)
            return false;
    }
    return true;
}

/* Where the trials of a draw end, and what they cost. */
struct trials {
    double *end_s;
    double gpu_s, wait_s;
};

static shoal_status run_trials(shoal_env *env, struct study *s, const struct study_work *work,
                               struct trials *out, shoal_err *err)
{
    struct call call = {.cluster = &s->pool, .policy = sched_policy_find("fifo", err)};
    struct sim_trace *trace = NULL;
    struct sim_result *result = NULL;

    if (call.policy == NULL)
        return SHOAL_E_NOTFOUND;
    shoal_status st = study_work_trace(env, work, &s->jobs, 1, &s->pool, &trace, err);
    for (size_t i = 0; st == SHOAL_OK && i < trace->job_count; i++)
        trace->jobs[i].kinds = UINT32_MAX >> (32 - s->pool.kind_count); /* any server will do */
    if (st == SHOAL_OK)
        st = simulate(env, s, &call, trace, &result, err);
    for (size_t i = 0; st == SHOAL_OK && i < work->count; i++) {
        out->end_s[work->parts[i].job] = result->jobs[i].finish_s;
        out->gpu_s += (double)result->jobs[i].gpu_s;
        out->wait_s += (double)result->jobs[i].wait_s;
    }
    sim_result_free(result);
    sim_trace_free(trace);
    return st;
}

/* Sets `gpus` GPUs apart and runs the trials on them, in place of what there was. *out_room false:
 * there is no room for such a pool, and all is as it was. */
static shoal_status try_pool(shoal_env *env, struct study *s, const struct study_work *trials,
                             uint32_t gpus, bool *out_room, shoal_err *err)
{
    struct sched_cluster pool, rest;
    shoal_status st = study_machines_split(s->cluster, gpus, &pool, &rest);

    *out_room = st == SHOAL_OK;
    if (st != SHOAL_OK)
        return st == SHOAL_E_IMPOSSIBLE ? SHOAL_OK : base_err_nomem(err, "setting servers apart");
    if (!rest_fits(s, &rest)) {
        sched_cluster_fini(&pool);
        sched_cluster_fini(&rest);
        *out_room = false;
        return SHOAL_OK;
    }
    sched_cluster_fini(&s->pool);
    sched_cluster_fini(&s->rest);
    s->pool = pool;
    s->rest = rest;
    struct trials done = {.end_s = s->trial_end_s};
    st = run_trials(env, s, trials, &done, err);
    s->pool_gpu_s = done.gpu_s;
    s->pool_wait_s = done.wait_s;
    return st;
}

/* Per job when its trial ends, not known yet. */
static double *no_ends(const struct study *s)
{
    double *ends = base_calloc(s->alloc, s->jobs.count + 1, sizeof *ends);

    for (size_t i = 0; ends != NULL && i < s->jobs.count; i++)
        ends[i] = NAN;
    return ends;
}

/* Begins with a pool that trials keep busy for STUDY_POOL_LOAD of the time, and doubles it until
 * they wait no longer than a round on average or it would have more than STUDY_POOL_MOST of the
 * GPUs. No pool, and no error, where there is no room for one. */
static shoal_status make_pool(shoal_env *env, struct study *s, shoal_err *err)
{
    struct study_work trials = {0};
    shoal_status st =
        study_work_init_trials(&trials, s->alloc, &s->jobs, s->fates, s->opts.trial_s);

    if (st != SHOAL_OK)
        return base_err_nomem(err, "preparing the trials");
    s->trial_end_s = no_ends(s);
    if (s->trial_end_s == NULL)
        st = base_err_nomem(err, "preparing the trials");
    uint32_t gpus = pool_gpus(s, trials.books.trial_gpu_s);
    bool more = trials.count > 0;
    while (st == SHOAL_OK && more) {
        st = try_pool(env, s, &trials, gpus, &more, err);
        gpus *= 2;
        more = more && s->pool_wait_s > s->opts.round_s * (double)trials.count &&
               gpus <= STUDY_POOL_MOST * s->cluster->gpus;
    }
    study_work_fini(&trials);
    return st;
}

/* ---- draws ---- */

/* Failures of a further draw, and its trials in the pool of the first. */
static shoal_status make_draw(shoal_env *env, struct study *s, uint32_t index, shoal_err *err)
{
    struct study_draw *draw = &s->more[index];
    struct study_work work = {0};

    draw->fates = base_calloc(s->alloc, s->jobs.count + 1, sizeof *draw->fates);
    draw->trial_end_s = no_ends(s);
    if (draw->fates == NULL || draw->trial_end_s == NULL)
        return base_err_nomem(err, "drawing failures");
    study_failures_draw(&s->jobs, s->opts.failures, s->opts.seed + index + 1, draw->fates);
    if (s->pool.gpus == 0)
        return SHOAL_OK;
    if (study_work_init_trials(&work, s->alloc, &s->jobs, draw->fates, s->opts.trial_s) != SHOAL_OK)
        return base_err_nomem(err, "preparing the trials");
    struct trials done = {.end_s = draw->trial_end_s};
    shoal_status st = run_trials(env, s, &work, &done, err);
    draw->pool_gpu_s = done.gpu_s;
    draw->pool_wait_s = done.wait_s;
    study_work_fini(&work);
    return st;
}

static shoal_status make_draws(shoal_env *env, struct study *s, shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    s->more = base_calloc(s->alloc, s->opts.draws, sizeof *s->more);
    if (s->more == NULL)
        return base_err_nomem(err, "drawing failures");
    while (st == SHOAL_OK && s->more_count + 1 < s->opts.draws)
        st = make_draw(env, s, s->more_count++, err);
    return st;
}

/* ---- all runs ---- */

/* Runs are counted through: those of the first draw, of the others, then base lines that are only
 * echoes. */
size_t study_run_count(const shoal_study_opts *opts)
{
    size_t again = opts->draws - 1;

    return STUDY_RUNS * (again + 1) + (again < STUDY_ECHOES ? STUDY_ECHOES - again : 0);
}

struct runs {
    shoal_env *env;
    struct study *study;
    const struct sched_policy *policy;
    struct run_end {
        shoal_status status;
        shoal_err err;
    } * each;
};

static void prepare(const struct runs *r, enum study_run_id id, struct study_run *run,
                    struct call *call)
{
    const struct study *s = r->study;

    *call = (struct call){.policy = r->policy, .effects = true};
    call->cluster = (study_guidelines[id].changes & STUDY_TRIALS) != 0 && s->pool.gpus > 0
                        ? &s->rest
                        : s->cluster;
    size_t used = (size_t)snprintf(run->policy, sizeof run->policy, "%s", r->policy->name);
    for (size_t i = 0; i < s->opts.sets.count; i++)
        call->sets[call->set_count++] = s->opts.sets.items[i];
    for (uint32_t g = 0; g < STUDY_RUNS; g++)
        if ((study_guidelines[id].parts >> g & 1) != 0 && study_guidelines[g].knob != NULL)
            call->sets[call->set_count++] = study_guidelines[g].knob;
    for (size_t i = 0; i < call->set_count && used < sizeof run->policy; i++)
        used +=
            (size_t)snprintf(run->policy + used, sizeof run->policy - used, ":%s", call->sets[i]);
    if (!s->quotas.none)
        call->sets[call->set_count++] = s->quotas.knob.data;
}

/* `again`: 0, or the how-manieth time it is run again with submissions shifted: with failures drawn
 * anew, or as an echo of the first. */
static shoal_status run_guideline(struct runs *r, enum study_run_id id, uint32_t again,
                                  shoal_err *err)
{
    struct study *s = r->study;
    struct study_draw *draw = again > 0 && again <= s->more_count ? &s->more[again - 1] : NULL;
    struct study_run *run = again == 0     ? &s->runs[id]
                            : draw != NULL ? &draw->runs[id]
                                           : &s->echoes[again - 1];
    const struct study_fate *fates = draw != NULL ? draw->fates : s->fates;
    uint32_t changes = study_guidelines[id].changes & ~(s->pool.gpus > 0 ? 0u : STUDY_TRIALS);
    struct study_work work = {0};
    struct sim_trace *trace = NULL;
    struct sim_result *result = NULL;
    struct call call;

    prepare(r, id, run, &call);
    shoal_status st = study_work_init(&work, s->alloc, &s->jobs, fates, changes, s->opts.trial_s,
                                      draw != NULL ? draw->trial_end_s : s->trial_end_s);
    if (st != SHOAL_OK)
        return base_err_nomem(err, "preparing a simulation");
    run->books = work.books;
    if (again > 0)
        study_work_shift(&work, s->opts.seed + again, s->opts.round_s);
    st = study_work_trace(r->env, &work, &s->jobs, 0, call.cluster, &trace, err);
    if (st == SHOAL_OK)
        st = simulate(r->env, s, &call, trace, &result, err);
    if (st == SHOAL_OK && study_tally_make(s->alloc, &s->jobs, fates, &work, result,
                                           s->cluster->gpus, &run->tally) != SHOAL_OK)
        st = base_err_nomem(err, "adding up a simulation");
    sim_result_free(result);
    sim_trace_free(trace);
    study_work_fini(&work);
    return st;
}

static void run_one(void *ctx, size_t index)
{
    struct runs *r = ctx;
    const struct study *s = r->study;
    size_t again = index / STUDY_RUNS;
    enum study_run_id id = (enum study_run_id)(index % STUDY_RUNS);

    if (again > s->more_count) { /* only an echo */
        again += id;
        id = STUDY_BASE;
    }
    if (s->runs[id].possible)
        r->each[index].status = run_guideline(r, id, (uint32_t)again, &r->each[index].err);
}

/* What cannot be simulated here, and why. */
static void choose_runs(struct study *s)
{
    for (uint32_t i = 0; i < STUDY_RUNS; i++)
        s->runs[i].possible = true;
    if (s->pool.gpus == 0) {
        s->runs[STUDY_TRIAL].possible = false;
        s->runs[STUDY_TRIAL].why_not =
            s->jobs.sizes[0] == s->jobs.count
                ? "no job asks for more than one GPU"
                : "the cluster is too small to set servers apart for trials";
    }
    if (s->opts.failures == SHOAL_STUDY_FAILURES_NONE) {
        s->runs[STUDY_RETRY].possible = false;
        s->runs[STUDY_RETRY].why_not = s->few ? "failures are left out with so few jobs"
                                              : "failures are left out of this study";
    }
}

static shoal_status run_all(shoal_env *env, struct study *s, shoal_err *err)
{
    struct runs r = {.env = env, .study = s, .policy = sched_policy_find("philly", err)};

    if (r.policy == NULL)
        return SHOAL_E_NOTFOUND;
    choose_runs(s);
    size_t count = study_run_count(&s->opts);
    r.each = base_calloc(s->alloc, count, sizeof *r.each);
    if (r.each == NULL)
        return base_err_nomem(err, "starting a study");
    base_watch_begin(s->watch, "study", (uint64_t)count * s->trace->job_count);
    shoal_status st = env_parallel(env, count, (uint32_t)s->opts.threads, run_one, &r, err);
    for (size_t i = 0; i < count && st == SHOAL_OK; i++)
        if (r.each[i].status != SHOAL_OK) {
            st = r.each[i].status;
            if (err != NULL)
                *err = r.each[i].err;
        }
    base_free(s->alloc, r.each);
    for (uint32_t d = 0; d < s->more_count; d++)
        for (uint32_t i = 0; i < STUDY_RUNS; i++)
            s->more[d].runs[i].possible = s->runs[i].possible;
    for (uint32_t i = 0; i < STUDY_ECHOES; i++) {
        if (i < s->more_count)
            s->echoes[i] = s->more[i].runs[STUDY_BASE];
        s->echoes[i].possible = true;
    }
    return st;
}

/* ---- the study ---- */

static shoal_status check_opts(const shoal_study_opts *o, shoal_err *err)
{
    if (!(o->trial_s > 0 && o->trial_s <= SIM_RUN_MAX))
        return base_err(err, SHOAL_E_INVAL, "a trial takes more than 0 s and at most %.0g s",
                        SIM_RUN_MAX);
    if (o->draws < 1 || o->draws > STUDY_DRAWS_MAX)
        return base_err(err, SHOAL_E_INVAL, "failures are drawn 1 to %d times, not %u",
                        STUDY_DRAWS_MAX, (unsigned)o->draws);
    if (o->sets.count > STUDY_SETS_MAX)
        return base_err(err, SHOAL_E_INVAL, "more than %d knobs", STUDY_SETS_MAX);
    return SHOAL_OK;
}

shoal_status study_make(shoal_env *env, const struct sim_trace *trace,
                        const struct sched_cluster *cluster, const shoal_study_opts *opts,
                        shoal_watch *watch, struct study **out_study, shoal_err *err)
{
    uint64_t began = env_now_ns(env);
    shoal_status st = check_opts(opts, err);

    if (st != SHOAL_OK)
        return st;
    struct study *s = base_calloc(env_alloc(env), 1, sizeof *s);
    if (s == NULL)
        return base_err_nomem(err, "starting a study");
    s->alloc = env_alloc(env);
    s->trace = trace;
    s->cluster = cluster;
    s->opts = *opts;
    s->watch = watch;
    st = study_jobs_init(&s->jobs, s->alloc, trace, cluster, err);
    if (st == SHOAL_OK) {
        s->fates = base_calloc(s->alloc, s->jobs.count + 1, sizeof *s->fates);
        if (s->fates == NULL)
            st = base_err_nomem(err, "drawing failures");
    }
    if (st == SHOAL_OK)
        st = study_quotas_init(&s->quotas, env, opts->quotas, trace, &s->jobs, cluster->gpus, err);
    if (st == SHOAL_OK) {
        s->few = s->jobs.count < STUDY_FEW;
        if (s->few)
            s->opts.failures = SHOAL_STUDY_FAILURES_NONE;
        study_failures_draw(&s->jobs, s->opts.failures, opts->seed, s->fates);
        count_lost(s);
        st = make_pool(env, s, err);
    }
    if (st == SHOAL_OK)
        st = make_draws(env, s, err);
    if (st == SHOAL_OK)
        st = run_all(env, s, err);
    if (st != SHOAL_OK) {
        study_free(s);
        return st;
    }
    s->watch = NULL;
    s->wall_s = (double)(env_now_ns(env) - began) * 1e-9;
    *out_study = s;
    return SHOAL_OK;
}

void study_free(struct study *study)
{
    if (study == NULL)
        return;
    study_jobs_fini(&study->jobs);
    study_quotas_fini(&study->quotas);
    sched_cluster_fini(&study->pool);
    sched_cluster_fini(&study->rest);
    base_free(study->alloc, study->fates);
    base_free(study->alloc, study->trial_end_s);
    for (uint32_t d = 0; d < study->more_count; d++) {
        base_free(study->alloc, study->more[d].fates);
        base_free(study->alloc, study->more[d].trial_end_s);
    }
    base_free(study->alloc, study->more);
    base_free(study->alloc, study);
}

/* ---- as the library offers it ---- */

enum { SPEC_MAX = 16 << 20 };

static const char *const failure_names[] = {"model", "none", NULL};

#define AT(member) offsetof(shoal_study_opts, member)

static const shoal_opt rows[] = {
    {AT(cluster), SHOAL_OPT_STR, "cluster", 'c', "SPEC", NULL,
     "machines as nodes x GPUs : kind, such as 321x2:gpu,231x8:gpu, or a file of such groups; not "
     "given: chosen for the trace",
     .complete = "file"},
    {AT(quotas), SHOAL_OPT_STR, "quotas", 'q', "SPEC", NULL,
     "GPUs each group has a right to, such as vision=64,speech=32, or a file of such lines; not "
     "given: by share of GPU time; none: no quotas",
     .complete = "file"},
    {AT(failures), SHOAL_OPT_CHOICE, "failures", 0, "HOW", "model",
     "how jobs ended, which no trace says: modelled, or not looked at", .choices = failure_names},
    {AT(trial_s), SHOAL_OPT_DURATION, "trial", 0, "TIME", "5m",
     "longest run of a job in the trial pool", .min = 1, .max = 1e7},
    {AT(sets), SHOAL_OPT_LIST, "set", 0, "KEY=VALUE", NULL,
     "a knob of the policy philly for every run, see 'shoal policy show philly'",
     .complete = "knob"},
    {AT(profiles), SHOAL_OPT_STR, "profiles", 0, "PATH", NULL,
     "speeds of models: a throughput table (.json) or a folder of profiles", .complete = "file"},
    {AT(format), SHOAL_OPT_CHOICE, "format", 'f', "FORMAT", "auto", "format of the trace",
     .choices = sim_format_names},
    {AT(round_s), SHOAL_OPT_DURATION, "round", 'r', "TIME", "60s", "time between two decisions",
     .min = 1, .max = 1e7},
    {AT(restart_s), SHOAL_OPT_DURATION, "restart", 0, "TIME", "30s",
     "time a job needs after a start or a move before it makes progress", .max = 1e7},
    {AT(seed), SHOAL_OPT_U64, "seed", 's', "N", "1", .help = "seed of the failures drawn"},
    {AT(draws), SHOAL_OPT_U64, "draws", 0, "N", "3",
     "draws of failures and of submissions up to a round later, for ranges; time grows with them",
     .min = 1, .max = STUDY_DRAWS_MAX},
    {AT(threads), SHOAL_OPT_U64, "threads", 't', "N", "0",
     "simulations at the same time; 0: one per core", .max = 1024},
};
#undef AT

const shoal_opt *shoal_study_opt_rows(size_t *out_count)
{
    *out_count = BASE_COUNT(rows);
    return rows;
}

void shoal_study_opts_init(shoal_study_opts *opts)
{
    base_opt_take(rows, BASE_COUNT(rows), NULL, opts, sizeof *opts);
}

void study_case_free(void *what)
{
    struct study_case *c = what;

    study_free(c->study);
    sim_trace_free(c->trace);
    sched_cluster_fini(&c->cluster);
    base_buf_fini(&c->spec);
    base_free(c->alloc, c);
}

/* As given, or by the rule of load.h; then a kind that a job asks for is not looked at. */
static shoal_status find_cluster(shoal_env *env, const shoal_study_opts *o, struct study_case *c,
                                 shoal_err *err)
{
    shoal_status st;

    if (o->cluster != NULL) {
        st = sim_cluster_given(env, o->cluster, &c->cluster, err);
        if (st == SHOAL_OK)
            sched_cluster_format(&c->cluster, &c->spec);
        return st;
    }
    c->chosen = true;
    st = study_machines_choose(c->trace, &c->spec, err);
    if (st == SHOAL_OK)
        st = sched_cluster_parse(c->alloc, c->spec.data, &c->cluster, err);
    for (size_t i = 0; st == SHOAL_OK && i < c->trace->job_count; i++)
        c->trace->jobs[i].want_kinds = 0;
    return st;
}

static shoal_status load(shoal_env *env, const shoal_study_opts *o, struct study_case *c,
                         shoal_err *err)
{
    shoal_status st =
        sim_trace_load(env, o->traces, o->trace_count, (enum sim_format)o->format, &c->trace, err);

    if (st == SHOAL_OK)
        st = find_cluster(env, o, c, err);
    return st == SHOAL_OK ? sim_trace_bind(env, c->trace, &c->cluster, o->profiles, err) : st;
}

shoal_status shoal_study_run(shoal_env *env, const shoal_study_opts *given, shoal_watch *watch,
                             const shoal_result **out_result, shoal_err *err)
{
    shoal_study_opts opts;

    base_opt_take(rows, BASE_COUNT(rows), given, &opts, sizeof opts);
    if (env == NULL || out_result == NULL || opts.traces == NULL || opts.trace_count == 0)
        return base_err(err, SHOAL_E_INVAL, "a study needs shoal_study_opts_init and a trace");
    struct study_case *c = base_calloc(env_alloc(env), 1, sizeof *c);
    if (c == NULL)
        return base_err_nomem(err, "starting a study");
    c->alloc = env_alloc(env);
    base_buf_init(&c->spec, c->alloc, SPEC_MAX);
    shoal_status st = load(env, &opts, c, err);
    if (st == SHOAL_OK)
        st = study_make(env, c->trace, &c->cluster, &opts, watch, &c->study, err);
    if (st == SHOAL_OK)
        return study_result(c, out_result, err);
    study_case_free(c);
    return st;
}
