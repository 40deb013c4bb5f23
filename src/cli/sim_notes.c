/* sim_notes.c - `shoal sim`: what is said beside the table, and the page. */
#include "cli/sim_work.h"

#include "base/err.h"
#include "base/event.h"
#include "base/text.h"
#include "cli/report.h"
#include "cli/sim_prices.h"
#include "cli/sim_show.h"
#include "sim/report.h"
#include <math.h>
#include <string.h>

/* Jobs that failed for good, which may differ between policies. */
static void note_failed(const struct cli_sim *w)
{
    uint64_t least = UINT64_MAX, most = 0;
    char failed[32], jobs[32];

    for (size_t i = 0; i < w->run_count; i++) {
        uint64_t n = w->results[i]->metrics.failed;
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    if (most == 0)
        return;
    base_log(&w->cx->log, BASE_LOG_WARN,
             "%s%s of %s jobs failed and %s left out of the completion times",
             least < most ? "up to " : "", base_format_count(most, failed, sizeof failed),
             base_format_count(w->results[0]->metrics.jobs, jobs, sizeof jobs),
             most == 1 ? "is" : "are");
}

static void note_cost(const struct cli_sim *w)
{
    const struct sched_kind *kind = w->cluster.kinds;

    if (w->prices != NULL) {
        base_log(&w->cx->log, BASE_LOG_INFO,
                 "no cost: a GPU kind was used when neither the price history nor the cluster "
                 "(usd=) has a price");
        return;
    }

    for (uint32_t k = 0; k < w->cluster.kind_count; k++)
        if (w->cluster.kinds[k].usd_gpu_h < 0) {
            kind = &w->cluster.kinds[k];
            break;
        }
    base_log(
        &w->cx->log, BASE_LOG_INFO,
        "no cost: GPU kind '%s' has no list price; give one, such as --cluster 4x8:%s:usd=2.10",
        kind->name, kind->name);
}

/* Jobs that were left out, by why. One that adapts could do with less than it asks for, but is not
 * given it: of none it is said that it could never run. */
static void note_left_out(const struct cli_sim *w)
{
    const struct sim_result *r = w->runs[0].result;
    unsigned long long jobs = r->metrics.jobs, large = 0, other;
    uint32_t most = 0;

    for (uint32_t k = 0; k < w->cluster.kind_count; k++)
        most = w->cluster.kinds[k].gpus > most ? w->cluster.kinds[k].gpus : most;
    for (size_t i = 0; i < w->trace->job_count; i++)
        large += r->jobs[i].outcome == SIM_REJECTED && w->trace->jobs[i].gpus > most;
    other = r->metrics.rejected - large;
    if (large > 0)
        base_log(&w->cx->log, BASE_LOG_WARN,
                 "%llu of %llu job%s ask%s for more GPUs than this cluster has%s and %s left out",
                 large, jobs, jobs == 1 ? "" : "s", large == 1 ? "s" : "",
                 w->cluster.kind_count > 1 ? " of one kind" : "", large == 1 ? "was" : "were");
    if (other > 0)
        base_log(&w->cx->log, BASE_LOG_WARN,
                 "%llu of %llu job%s cannot run on this cluster as asked and %s left out", other,
                 jobs, jobs == 1 ? "" : "s", other == 1 ? "was" : "were");
}

void cli_sim_notes(const struct cli_sim *w)
{
    const struct sim_metrics *m = &w->runs[0].result->metrics;
    const struct base_log *log = &w->cx->log;

    if (!cli_flush(w->cx)) /* so that they come after the table */
        return;
    if (w->v->cluster == cli_sim_cluster)
        base_log(log, BASE_LOG_INFO, "cluster: %s, as none was given; choose with --cluster",
                 cli_sim_cluster);
    note_left_out(w);
    if (m->stopped > 0)
        base_log(log, BASE_LOG_INFO, "%llu of %llu jobs were stopped at a rung of their sweep",
                 (unsigned long long)m->stopped, (unsigned long long)m->jobs);
    else if (w->v->halving > 0)
        base_log(log, BASE_LOG_WARN,
                 "--halving stopped nobody: it needs jobs of one app that all have a score");
    note_failed(w);
    cli_sim_note_unproven(w->cx, w->results, w->run_count);
    if (w->prices != NULL)
        cli_sim_prices_note(w->cx, w->prices, &w->cluster);
    if (isnan(m->cost_usd))
        note_cost(w);
    if (w->v->report != NULL)
        base_log(log, BASE_LOG_INFO, "report: %s", w->v->report);
    else if (w->v->job == NULL)
        base_log(log, BASE_LOG_INFO,
                 "add --report out.html for pictures, --job NAME for the story of one job");
}

bool cli_sim_to_stdout(const struct cli_sim *w)
{
    return cli_report_to_stdout(w->v->report);
}

static shoal_status make_page(const void *ctx, const char *command, struct base_buf *out,
                              shoal_err *err)
{
    const struct cli_sim *w = ctx;
    struct sim_report_opts opts = {
        .command = command, .seed = w->v->seed, .round_s = w->v->round_s, .react_s = w->v->react_s};

    return sim_report(w->results, w->run_count, &opts, out, err);
}

shoal_status cli_sim_report(const struct cli_sim *w, const char *const *args, size_t arg_count,
                            shoal_err *err)
{
    return cli_report_write(&(struct cli_report){w->cx, w->v->report, w->v, args, arg_count},
                            make_page, w, err);
}
