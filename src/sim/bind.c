/* bind.c - gives each job of a trace its speed on the kinds of a cluster.
 *
 * Rules, for all work: a gang runs on one kind, so a kind counts only with as many GPUs as the
 * gang; a job that names kinds accepts only those. Durations run on any such kind at the same
 * speed; steps where the throughput table has a rate above 0; profiled applications where their
 * folder has measurements; fitted models on any kind, with as many GPUs as the fit can vouch for. */
#include "sim/bind.h"

#include "base/err.h"
#include "base/text.h"
#include "sim/fitted.h"
#include "sim/profile.h"
#include "sim/trace.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

struct binding {
    shoal_env *env;
    struct sim_trace *trace;
    const struct sched_cluster *cluster;
    const char *profiles;
    uint32_t wanted[SIM_TRACE_KINDS_MAX]; /* mask of cluster kinds for each kind of the trace */
};

void sim_tables_free(struct sim_tables *tables)
{
    if (tables == NULL)
        return;
    sim_throughput_free(tables->throughput);
    sim_profiles_free(tables->profiles);
    sim_fitted_free(tables->fitted);
    base_free(tables->alloc, tables);
}

/* Kinds large enough for the gang and accepted by the job. */
static uint32_t kinds_for(const struct binding *b, const struct sim_job *job)
{
    uint32_t accepted = job->want_kinds == 0 ? UINT32_MAX : 0;
    uint32_t mask = 0;

    for (uint32_t i = 0; i < SIM_TRACE_KINDS_MAX && job->want_kinds >> i != 0; i++)
        if (job->want_kinds >> i & 1)
            accepted |= b->wanted[i];
    for (uint32_t k = 0; k < b->cluster->kind_count; k++)
        if (b->cluster->kinds[k].gpus >= job->gpus)
            mask |= 1u << k;
    return mask & accepted;
}

static shoal_status unknown_model(const struct binding *b, const struct sim_job *job,
                                  const char *model, const struct base_map *models, shoal_err *err)
{
    const char *names[SCHED_TABLE_ROWS_MAX]; /* both sorts of tables have at most so many */

    base_err(err, SHOAL_E_NOTFOUND, "cannot run job '%.60s': model '%.80s' is not in '%s'",
             job->name, model, b->profiles);
    for (size_t i = 0; i < models->count; i++)
        names[i] = models->entries[i].key;
    const char *near = base_nearest(model, names, models->count);
    if (near != NULL)
        base_err_hint(err, "did you mean '%.150s'?", near);
    return SHOAL_E_NOTFOUND;
}

static shoal_status unknown_size(const struct binding *b, const struct sim_job *job,
                                 const char *model, shoal_err *err)
{
    const struct sim_throughput *tp = b->trace->tables->throughput;
    char sizes[96] = "";
    size_t used = 0;

    for (uint32_t gpus = 1; gpus <= 1024 && used < sizeof sizes - 8; gpus++) {
        if (sim_throughput_row(tp, model, gpus) < 0)
            continue;
        int n = snprintf(sizes + used, sizeof sizes - used, "%s%u", used > 0 ? ", " : "", gpus);
        used += (size_t)n;
    }
    base_err(err, SHOAL_E_NOTFOUND,
             "cannot run job '%.60s': model '%.80s' has no row for %u GPU%s in '%s'", job->name,
             model, job->gpus, job->gpus == 1 ? "" : "s", b->profiles);
    base_err_hint(err, "it has rows for %s GPU%s", sizes, strcmp(sizes, "1") == 0 ? "" : "s");
    return SHOAL_E_NOTFOUND;
}

static shoal_status bind_steps(struct binding *b, struct sim_job *job, shoal_err *err)
{
    const struct sim_throughput *tp = b->trace->tables->throughput;
    const char *model = sim_names_get(&b->trace->models, job->model);

    if (tp == NULL) {
        base_err(err, SHOAL_E_INVAL,
                 "cannot run job '%.60s': its work is steps of '%.80s', which needs a throughput "
                 "table",
                 job->name, model);
        base_err_hint(err, "give one with --profiles FILE.json");
        return SHOAL_E_INVAL;
    }
    int row = sim_throughput_row(tp, model, job->gpus);
    if (row < 0 && base_map_find(&tp->models, model, strlen(model)) == NULL)
        return unknown_model(b, job, model, &tp->models, err);
    if (row < 0)
        return unknown_size(b, job, model, err);

    uint32_t fits = kinds_for(b, job);
    double best = 0, v100 = 0;
    job->speed = sched_model_table(&tp->table, (uint32_t)row, job->steps);
    for (uint32_t k = 0; k < b->cluster->kind_count; k++) {
        double rate = sched_table_rate(&tp->table, (uint32_t)row, k);
        if (rate > 0 && fits >> k & 1)
            job->kinds |= 1u << k;
        best = fmax(best, rate);
        if ((int)k == tp->v100)
            v100 = rate;
    }
    if (isfinite(job->slo) && best > 0)
        job->deadline_s = job->submit_s + (double)job->slo * job->steps / (v100 > 0 ? v100 : best);
    return SHOAL_OK;
}

static shoal_status bind_duration(struct binding *b, struct sim_job *job)
{
    job->speed = sched_model_duration(job->duration_s);
    job->kinds = kinds_for(b, job);
    if (isfinite(job->slo))
        job->deadline_s = job->submit_s + (double)job->slo * job->duration_s;
    return SHOAL_OK;
}

/* Seconds alone on its best kind; INFINITY when it can run on none. */
static double fastest_s(const struct binding *b, const struct sim_job *job)
{
    int kind = sched_model_best_kind(&job->speed, b->cluster, job->kinds, job->gpus);

    if (kind < 0)
        return INFINITY;
    return sched_model_ideal_s(&job->speed, b->cluster, (uint32_t)kind, job->gpus, 0);
}

static shoal_status bind_fitted(struct binding *b, struct sim_job *job, shoal_err *err)
{
    const struct sim_fitted *all = b->trace->tables->fitted;
    const char *model = sim_names_get(&b->trace->models, job->model);
    const struct sched_fitted *fitted = sim_fitted_even(all, model);

    if (fitted == NULL)
        return unknown_model(b, job, model, &all->names, err);
    if (job->batch != 0) {
        base_err(err, SHOAL_E_INVAL,
                 "cannot run job '%.60s': it states a batch, and '%s' knows '%.80s' with one batch "
                 "only, that of the runs it was fitted from",
                 job->name, b->profiles, model);
        base_err_hint(err, "leave the column 'batch' empty");
        return SHOAL_E_INVAL;
    }
    uint32_t least = fitted->machines[0], most = fitted->machines[fitted->machine_count - 1];
    if (job->gpus < least || job->gpus > most) {
        base_err(err, SHOAL_E_NOTFOUND,
                 "cannot run job '%.60s': it asks for %u GPU%s, and '%s' has '%.80s' for %u to %u",
                 job->name, job->gpus, job->gpus == 1 ? "" : "s", b->profiles, model, least, most);
        base_err_hint(err, "ask for %u to %u, or measure that size and fit again", least, most);
        return SHOAL_E_NOTFOUND;
    }
    job->speed = sched_model_fitted(fitted);
    job->kinds = kinds_for(b, job);
    if (isfinite(job->slo))
        job->deadline_s = job->submit_s + (double)job->slo * fastest_s(b, job);
    return SHOAL_OK;
}

static shoal_status bind_profile(struct binding *b, struct sim_job *job, shoal_err *err)
{
    struct sim_profiles *profiles = b->trace->tables->profiles;
    const char *app = sim_names_get(&b->trace->models, job->model);
    uint32_t measured = 0;

    if (b->trace->tables->fitted != NULL)
        return bind_fitted(b, job, err);
    if (profiles == NULL) {
        base_err(err, SHOAL_E_INVAL,
                 "cannot run job '%.60s': its work is training '%.80s', which needs a folder of "
                 "profiles",
                 job->name, app);
        base_err_hint(err, "give one with --profiles DIR");
        return SHOAL_E_INVAL;
    }
    shoal_status st =
        sim_profiles_bind(profiles, app, job->gpus, job->batch, &job->speed, &measured, err);
    if (st != SHOAL_OK)
        return st;
    job->kinds = kinds_for(b, job) & measured;
    if (isfinite(job->slo))
        job->deadline_s = job->submit_s + (double)job->slo * fastest_s(b, job);
    return SHOAL_OK;
}

/* Rounds are simulated one by one, so a job of centuries would keep a run going for hours. */
static shoal_status check_length(const struct binding *b, const struct sim_job *job, shoal_err *err)
{
    double seconds = job->kinds != 0 ? fastest_s(b, job) : 0;

    if (seconds <= SIM_RUN_MAX)
        return SHOAL_OK;
    base_err(err, SHOAL_E_LIMIT,
             "cannot run job '%.60s': alone it would take %.3g s, more than %.0g", job->name,
             seconds, SIM_RUN_MAX);
    base_err_hint(err, "check the unit of its work; the limit is about 30 years");
    return SHOAL_E_LIMIT;
}

static bool ends_with(const char *text, const char *tail)
{
    size_t length = strlen(text), tail_length = strlen(tail);

    return length >= tail_length && strcmp(text + length - tail_length, tail) == 0;
}

static shoal_status load_tables(struct binding *b, shoal_err *err)
{
    struct sim_tables *tables = base_calloc(b->trace->alloc, 1, sizeof *tables);

    if (tables == NULL)
        return base_err_nomem(err, "binding a trace");
    tables->alloc = b->trace->alloc;
    b->trace->tables = tables;
    if (b->profiles == NULL)
        return SHOAL_OK;
    if (ends_with(b->profiles, ".json") && sim_fitted_is(b->env, b->profiles))
        return sim_fitted_load(b->env, b->profiles, &tables->fitted, err);
    if (ends_with(b->profiles, ".json"))
        return sim_throughput_load(b->env, b->profiles, b->cluster, &tables->throughput, err);
    return sim_profiles_open(b->env, b->profiles, b->cluster, &tables->profiles, err);
}

shoal_status sim_trace_bind(shoal_env *env, struct sim_trace *trace,
                            const struct sched_cluster *cluster, const char *profiles,
                            shoal_err *err)
{
    struct binding b = {.env = env, .trace = trace, .cluster = cluster, .profiles = profiles};

    if (trace->tables != NULL)
        return base_err(err, SHOAL_E_INVAL, "cannot bind a trace twice");
    for (uint32_t i = 0; i < trace->kinds.map.count && i < SIM_TRACE_KINDS_MAX; i++) {
        int kind = sched_cluster_kind(cluster, sim_names_get(&trace->kinds, i));
        b.wanted[i] = kind >= 0 ? 1u << kind : 0;
    }
    shoal_status st = load_tables(&b, err);
    for (size_t i = 0; st == SHOAL_OK && i < trace->job_count; i++) {
        struct sim_job *job = &trace->jobs[i];
        job->kinds = 0;
        switch ((enum sim_work)job->work) {
        case SIM_WORK_DURATION: st = bind_duration(&b, job); break;
        case SIM_WORK_STEPS: st = bind_steps(&b, job, err); break;
        case SIM_WORK_PROFILE: st = bind_profile(&b, job, err); break;
        }
        if (st == SHOAL_OK)
            st = check_length(&b, job, err);
    }
    return st;
}
