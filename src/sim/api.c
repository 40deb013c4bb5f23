/* api.c - the public face of the simulator (shoal/sim.h): traces loaded once, policies run one
 * after the other. */
#include "shoal/sim.h"

#include "base/err.h"
#include "sim/choice.h"
#include "sim/run.h"
#include <math.h>
#include <string.h>

/* Structs of callers compiled against an older header are shorter: what they do not know of keeps
 * its default on the way in, and is not written on the way out. Those of newer ones are longer. */
static size_t shared_size(size_t theirs, size_t ours)
{
    return theirs < ours ? theirs : ours;
}

struct shoal_sim {
    shoal_env *env;
    shoal_sim_opts opts; /* paths and texts in it are not used after new */
    struct sched_cluster cluster;
    struct sim_trace *trace;
    struct sim_result *last; /* of the last successful run, or NULL */
    atomic_bool stop;
};

shoal_status shoal_sim_new(shoal_env *env, const shoal_sim_opts *given, shoal_sim **out_sim,
                           shoal_err *err)
{
    shoal_sim_opts merged = SHOAL_SIM_OPTS_INIT;
    const shoal_sim_opts *opts = &merged;

    if (given != NULL && given->struct_size >= sizeof given->struct_size)
        memcpy(&merged, given, shared_size(given->struct_size, sizeof merged));
    if (env == NULL || out_sim == NULL || merged.trace_count == 0 || merged.traces == NULL ||
        merged.cluster == NULL)
        return base_err(err, SHOAL_E_INVAL,
                        "a simulation needs SHOAL_SIM_OPTS_INIT, a trace and a cluster");
    struct shoal_sim *sim = base_calloc(env_alloc(env), 1, sizeof *sim);
    if (sim == NULL)
        return base_err_nomem(err, "starting a simulation");
    sim->env = env;
    sim->opts = *opts;
    atomic_init(&sim->stop, false);
    shoal_status st = sched_cluster_parse(env_alloc(env), opts->cluster, &sim->cluster, err);
    if (st == SHOAL_OK)
        st =
            sim_trace_load(env, opts->traces, opts->trace_count, SIM_FORMAT_AUTO, &sim->trace, err);
    if (st == SHOAL_OK)
        st = sim_trace_bind(env, sim->trace, &sim->cluster, opts->profiles, err);
    if (st == SHOAL_OK) {
        *out_sim = sim;
        sim = NULL;
    }
    shoal_sim_free(sim);
    return st;
}

void shoal_sim_free(shoal_sim *sim)
{
    if (sim == NULL)
        return;
    sim_result_free(sim->last);
    sim_trace_free(sim->trace);
    sched_cluster_fini(&sim->cluster);
    base_free(env_alloc(sim->env), sim);
}

void shoal_sim_stop(shoal_sim *sim)
{
    if (sim != NULL)
        atomic_store_explicit(&sim->stop, true, memory_order_relaxed);
}

static void fill_result(const struct sim_metrics *m, shoal_sim_result *out)
{
    shoal_sim_result full = {
        .struct_size = out->struct_size,
        .jobs = m->jobs,
        .finished = m->finished,
        .failed = m->failed,
        .rejected = m->rejected,
        .avg_jct_s = m->avg_jct_s,
        .p50_jct_s = m->p50_jct_s,
        .p99_jct_s = m->p99_jct_s,
        .makespan_s = m->makespan_s,
        .avg_wait_s = m->avg_wait_s,
        .avg_rho = m->avg_rho,
        .worst_rho = m->worst_rho,
        .unfair_share = m->unfair_share,
        .utilization = m->utilization,
        .cost_usd = m->cost_usd,
        .rounds = m->rounds,
        .restarts = m->restarts,
        .decision_ms_p50 = m->decision_ms_p50,
        .decision_ms_p99 = m->decision_ms_p99,
        .share_error = m->share_error,
        .unproven = m->unproven,
        .solves = m->solves,
        .deadlines = m->deadlines,
        .missed = m->missed,
        .stopped = m->stopped,
        .node_h = m->node_h,
    };

    memcpy(out, &full, shared_size(out->struct_size, sizeof full));
}

shoal_status shoal_sim_run(shoal_sim *sim, const char *policy, shoal_sim_result *out_result,
                           shoal_err *err)
{
    struct sim_choice choice;
    struct sim_opts opts;
    struct sim_result *result;

    if (sim == NULL || policy == NULL || out_result == NULL ||
        out_result->struct_size <= sizeof out_result->struct_size)
        return base_err(err, SHOAL_E_INVAL, "a run needs a policy and SHOAL_SIM_RESULT_INIT");
    char *text = base_strdup(env_alloc(sim->env), policy);
    if (text == NULL)
        return base_err_nomem(err, "starting a run");
    shoal_status st = sim_choice_parse(text, &choice, err);
    if (st == SHOAL_OK) {
        sim_opts_init(&opts);
        opts.policy = choice.policy;
        opts.sets = choice.sets;
        opts.set_count = choice.set_count;
        opts.round_s = sim->opts.round_s;
        opts.react_s = sim->opts.react_s;
        opts.restart_s = sim->opts.restart_s;
        opts.lease_s = sim->opts.lease_s;
        opts.node_mtbf_s = sim->opts.node_mtbf_s;
        opts.node_repair_s = sim->opts.node_repair_s;
        opts.seed = sim->opts.seed;
        opts.halving = sim->opts.halving;
        opts.shares = true;
        opts.stop = &sim->stop;
        st = sim_run(sim->env, sim->trace, &sim->cluster, &opts, &result, err);
        atomic_store_explicit(&sim->stop, false, memory_order_relaxed);
    }
    if (st == SHOAL_OK) {
        sim_result_free(sim->last);
        sim->last = result;
        fill_result(&result->metrics, out_result);
    }
    base_free(env_alloc(sim->env), text);
    return st;
}

size_t shoal_sim_job_count(const shoal_sim *sim)
{
    return sim == NULL ? 0 : sim->trace->job_count;
}

shoal_status shoal_sim_job_get(const shoal_sim *sim, size_t index, shoal_sim_job *out_job,
                               shoal_err *err)
{
    if (sim == NULL || out_job == NULL || out_job->struct_size <= sizeof out_job->struct_size)
        return base_err(err, SHOAL_E_INVAL, "a job needs SHOAL_SIM_JOB_INIT");
    if (index >= sim->trace->job_count)
        return base_err(err, SHOAL_E_NOTFOUND, "job %zu of %zu", index, sim->trace->job_count);
    const struct sim_job *t = &sim->trace->jobs[index];
    shoal_sim_job job = {.struct_size = out_job->struct_size,
                         .name = t->name,
                         .gpus = t->gpus,
                         .submit_s = t->submit_s,
                         .start_s = NAN,
                         .finish_s = NAN,
                         .rho = NAN};
    if (sim->last != NULL) {
        const struct sim_job_result *r = &sim->last->jobs[index];
        job.starts = r->starts;
        job.start_s = r->start_s;
        job.finish_s = r->finish_s;
        job.rho = (double)r->rho;
        job.wait_s = (double)r->wait_s;
        job.gpu_s = (double)r->gpu_s;
    }
    memcpy(out_job, &job, shared_size(out_job->struct_size, sizeof job));
    return SHOAL_OK;
}
