/* sim_runs.c - `shoal sim`: the runs, side by side, and the log of events. */
#include "cli/sim_work.h"

#include "base/err.h"
#include "base/event.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include <math.h>

static shoal_status write_event(void *ctx, const char *line, size_t size, shoal_err *err)
{
    struct cli_sim *w = ctx;

    return env_append(w->events, line, size, err);
}

shoal_status cli_sim_open_events(struct cli_sim *w, shoal_err *err)
{
    if (w->v->events == NULL)
        return SHOAL_OK;
    if (w->run_count != 1)
        return base_err(err, SHOAL_E_INVAL, "--events takes one policy, not %zu", w->run_count);
    return env_create(w->cx->env, w->v->events, &w->events, err);
}

shoal_status cli_sim_close_events(struct cli_sim *w, bool keep, shoal_err *err)
{
    struct env_out *events = w->events;

    w->events = NULL;
    if (events != NULL && keep)
        return env_commit(events, err);
    env_discard(events);
    return SHOAL_OK;
}

static void prepare_run(struct cli_sim *w, struct cli_sim_run *run)
{
    const struct cli_sim_values *v = w->v;

    sim_opts_init(&run->opts);
    run->opts.policy = run->choice.policy;
    run->opts.sets = run->choice.sets;
    run->opts.set_count = run->choice.set_count;
    run->opts.round_s = v->round_s;
    run->opts.react_s = v->react_s;
    run->opts.restart_s = v->restart_s;
    run->opts.lease_s = v->lease_s;
    run->opts.interference = v->interference;
    run->opts.spread = v->spread;
    run->opts.neighbours = v->neighbours;
    run->opts.report_noise = v->report_noise;
    run->opts.report_bad = (uint32_t)v->report_bad;
    run->opts.work_error =
        v->work_error < CLI_SIM_WORK_ERROR_MAX ? v->work_error : (double)INFINITY;
    run->opts.halving = v->halving;
    run->opts.node_mtbf_s = v->node_mtbf_s;
    run->opts.node_repair_s = v->node_repair_s;
    run->opts.job_failures = v->job_failures;
    run->opts.checkpoint_s = v->checkpoint_s;
    run->opts.prices = w->prices;
    run->opts.seed = v->seed;
    run->opts.record = v->report != NULL;
    run->opts.shares = w->cx->json || w->story_job != SIM_NONE;
    run->opts.story_job = w->story_job;
    run->opts.done = &w->done;
    run->opts.stop = cli_interrupt_flag();
    if (w->events != NULL) {
        run->opts.on_event = write_event;
        run->opts.event_ctx = w;
    }
}

static void run_one(void *ctx, size_t index)
{
    struct cli_sim *w = ctx;
    struct cli_sim_run *run = &w->runs[index];

    run->status = sim_run(w->cx->env, w->trace, &w->cluster, &run->opts, &run->result, &run->err);
}

shoal_status cli_sim_run_all(struct cli_sim *w, shoal_err *err)
{
    for (size_t i = 0; i < w->run_count; i++)
        prepare_run(w, &w->runs[i]);
    struct cli_progress *progress =
        cli_progress_start(w->cx, "sim", &w->done, (uint64_t)w->run_count * w->trace->job_count);
    shoal_status st =
        env_parallel(w->cx->env, w->run_count, (uint32_t)w->v->threads, run_one, w, err);
    cli_progress_stop(progress);
    for (size_t i = 0; i < w->run_count && st == SHOAL_OK; i++) {
        const struct cli_sim_run *run = &w->runs[i];
        w->results[i] = run->result;
        if (run->status != SHOAL_OK) {
            st = run->status;
            *err = run->err;
        } else {
            const struct sim_metrics *m = &run->result->metrics;
            base_log(&w->cx->log, BASE_LOG_DEBUG,
                     "%s: %llu rounds, %.3f CPU s, %.3f of them deciding", run->result->policy,
                     (unsigned long long)m->rounds, m->cpu_s, m->decision_s);
        }
    }
    return st;
}
