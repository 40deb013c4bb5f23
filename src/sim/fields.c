/* fields.c - what a comparison of policies came to: a record for each, and what there is to know beside them
 * (see compare.h). A metric is a row here and the line that computes it in metrics.c. */
#include "sim/compare.h"

#include "base/assert.h"
#include "base/err.h"
#include "page/field.h"
#include "page/make.h"
#include "sim/info.h"
#include <math.h>
#include <string.h>

enum { WORST_MAX = 10 };

/* The job whose story is told. */
struct story {
    const char *name;
    shoal_numbers received, wanted;
};

/* One of those worst off. */
struct worst {
    const char *job;
    uint32_t gpus, starts;
    double submit_s, wait_s, jct_s, rho;
};

struct row {
    const char *policy;
    struct sim_metrics m;
    double missed; /* NAN where no job has a deadline */
    const char *worst_rho_job;
    shoal_numbers wait;
    const struct story *job;
    const char *why, *story;
    uint64_t seed;
    shoal_records worst, promises;
};

#define ROW struct story
static const shoal_field story_fields[] = {
    DATA(name, NONE, 0, "its name"),
    DATA_AS(MAP, received, "received_s", SECONDS, 0, "time in which it held GPUs, by kind",
            OPTIONAL),
    DATA_AS(MAP, wanted, "wanted_s", SECONDS, 0, "time in which the policy meant it to, by kind",
            OPTIONAL),
};
SCHEMA(story, "job", NULL, "the job asked about");
#undef ROW

#define ROW struct worst
static const shoal_field worst_fields[] = {
    FIELD(job, "JOB", NONE, 0, 1, "its name"),
    FIELD(gpus, "GPUS", COUNT, 0, 1, "GPUs it asks for"),
    FIELD(submit_s, "SUBMITTED", SECONDS, 0, 3,
          "when it was submitted, from the round of the first submission on"),
    FIELD(wait_s, "WAITED", SECONDS, 0, 1, "time without GPUs"),
    FIELD(jct_s, "TOOK", SECONDS, 0, 1, "from submission to the end"),
    FIELD(starts, "STARTS", COUNT, 0, 2, "times it was started"),
    FIELD(rho, "RHO", NONE, 0, 1, "completion time over that of the job alone on a 1/n share"),
};
SCHEMA(worst, "worst", "Jobs worst off", "One job");
#undef ROW

#define ROW struct row
static const shoal_field fields[] = {
    FIELD(policy, "POLICY", NONE, 0, 1, "the policy with its knobs"),
    DATA_NAMED(m.jobs, "jobs", COUNT, 0, "jobs of the trace"),
    FIELD_NAMED(m.avg_jct_s, "avg_jct_s", "AVG JCT", SECONDS, -1, 1,
                "mean completion time of finished jobs, from submission to the end"),
    FIELD_NAMED(m.p50_jct_s, "p50_jct_s", "P50", SECONDS, -1, 4,
                "half of the jobs were done within this time"),
    FIELD_NAMED(m.p99_jct_s, "p99_jct_s", "P99", SECONDS, -1, 1,
                "99 of 100 jobs were done within this time"),
    FIELD_NAMED(m.makespan_s, "makespan_s", "MAKESPAN", SECONDS, -1, 1,
                "from the round of the first submission to the last end"),
    FIELD_NAMED(m.avg_wait_s, "avg_wait_s", "WAIT", SECONDS, -1, 3, "mean time without GPUs"),
    FIELD_NAMED(m.avg_rho, "avg_rho", "RHO", NONE, -1, 1,
                "mean of completion time over that of the job alone on a 1/n share"),
    FIELD_NAMED(m.worst_rho, "worst_rho", "WORST", NONE, -1, 1, "the highest rho of any job"),
    DATA(worst_rho_job, NONE, 0, "the job that has it"),
    FIELD_NAMED(m.unfair_share, "unfair_share", "UNFAIR", SHARE, -1, 1,
                "share of finished jobs with a rho above 1"),
    COLUMN(missed, "MISSED", COUNT, -1, 1, "jobs that did not end by their deadline", SPARSE),
    FIELD_NAMED(m.utilization, "utilization", "BUSY", SHARE, 1, 2,
                "share of GPU time held by jobs, from the first submission to the last"),
    FIELD_NAMED(m.cost_usd, "cost_usd", "COST", USD, -1, 1,
                "of GPU time held, or of nodes rented where the policy sizes the cluster"),
    DATA_NAMED(m.rounds, "rounds", COUNT, 0, "decisions"),
    FIELD_NAMED(m.decision_ms_p50, "decision_ms_p50", "DECIDES", MS, 0, 5,
                "median time of one decision"),
    DATA_NAMED(m.decision_ms_p99, "decision_ms_p99", MS, 0,
               "99 of 100 decisions took at most this"),
    DATA_NAMED(m.wall_s, "wall_s", SECONDS, 0, "time the run took"),
    DATA_NAMED(m.cpu_s, "cpu_s", SECONDS, 0, "CPU time the run took"),
    DATA_NAMED(m.job_rounds, "job_rounds", COUNT, 0, "live jobs, summed over decisions"),
    DATA_NAMED(m.finished, "finished", COUNT, 1, "jobs that finished"),
    DATA_NAMED(m.failed, "failed", COUNT, -1, "jobs that failed for good"),
    DATA_NAMED(m.rejected, "rejected", COUNT, -1, "jobs that can never run on this cluster"),
    DATA_NAMED(m.stopped, "stopped", COUNT, 0, "jobs stopped by the halving of their sweep"),
    DATA_NAMED(m.restarts, "restarts", COUNT, -1, "starts after the first"),
    DATA_NAMED(m.lost_gpu_s, "lost_gpu_s", SECONDS, -1,
               "GPU time held but wasted, by restarts and failures"),
    DATA_NAMED(m.node_failures, "node_failures", COUNT, 0, "nodes that failed"),
    DATA_NAMED(m.job_failures, "job_failures", COUNT, 0, "attempts of jobs that failed"),
    DATA_NAMED(m.share_error, "share_error", SHARE, -1,
               "how far jobs were from the time promised on each kind; 0: not at all"),
    DATA_NAMED(m.unproven, "unproven", COUNT, -1, "decisions that are not proven optimal"),
    DATA_NAMED(m.solves, "solves", COUNT, 0, "decisions at which the policy solved for shares"),
    DATA_NAMED(m.deadlines, "deadlines", COUNT, 0, "jobs that have one"),
    DATA_NAMED(m.missed, "missed", COUNT, -1, "of those, jobs that did not end in time"),
    DATA_NAMED(m.node_h, "node_h", NONE, -1, "node-hours that the policy wanted"),
    DATA_NAMED(m.moves, "moves", COUNT, -1, "restarts elsewhere while running"),
    DATA_NAMED(m.preempted, "preempted", COUNT, -1, "times the policy stopped a job"),
    DATA_NAMED(m.slow_gpu_s, "slow_gpu_s", SECONDS, -1,
               "GPU time lost to jobs slowed down by where they lie"),
    DATA_NAMED(m.spread_gpu_s, "spread_gpu_s", SECONDS, -1,
               "GPU time held on more nodes than needed"),
    DATA(seed, NONE, 0, "of everything drawn"),
    DATA_AS(MAP, wait, "wait_s", SECONDS, -1, "job-seconds of waiting, by reason"),
    RECORD(job, "job", story_schema, "the job of --job", OPTIONAL),
    DATA_AS(JSON, why, "why", NONE, 0, "why that job waited, in order of time", OPTIONAL),
    DATA(story, NONE, 0, "its story in words", OPTIONAL),
    LIST(worst, "worst", "Jobs worst off", 1, worst_schema,
         "the jobs with the highest rho, with pictures", OPTIONAL),
    LIST(promises, "promises", "Time promised and received", 1, sim_promise_schema,
         "what jobs were promised, where the policy promises shares, with pictures", OPTIONAL),
};
#undef ROW

const shoal_schema sim_schema = SCHEMA_OF("sim", "Policies", "One policy on the trace", fields);

const shoal_schema *shoal_sim_schema(void)
{
    return &sim_schema;
}
/* The same where the story of one job is shown in place of the table. */
static const shoal_schema told_schema = SCHEMA_OF("sim", NULL, "One policy on the trace", fields);

static shoal_numbers by_kind(struct page_made *made, const struct sim_result *r, const float *table,
                             const char *const *kinds)
{
    uint32_t count = r->cluster->kind_count;
    double *values = table == NULL ? NULL : page_made_alloc(made, count, sizeof *values);

    for (uint32_t k = 0; values != NULL && k < count; k++)
        values[k] = (double)table[(size_t)r->story_job * count + k];
    return (shoal_numbers){.values = values, .count = count, .names = kinds};
}

static shoal_numbers by_reason(struct page_made *made, const struct sim_metrics *m,
                               const char *const *reasons)
{
    double *values = page_made_alloc(made, SCHED_WHY_COUNT - 1, sizeof *values);

    if (values != NULL)
        memcpy(values, m->wait_by_reason_s + 1, (SCHED_WHY_COUNT - 1) * sizeof *values);
    return (shoal_numbers){.values = values, .count = SCHED_WHY_COUNT - 1, .names = reasons};
}

static void fill_row(struct page_made *made, const struct sim_result *r, uint64_t seed,
                     const char *const *kinds, const char *const *reasons, struct row *row)
{
    const struct sim_metrics *m = &r->metrics;
    const struct sim_job *jobs = r->trace->jobs;
    struct story *job = NULL;

    row->policy = page_made_text(made, "%s", r->policy);
    row->m = *m;
    row->missed = m->deadlines > 0 ? (double)m->missed : (double)NAN;
    if (m->worst_rho_job != SIM_NONE)
        row->worst_rho_job = page_made_text(made, "%s", jobs[m->worst_rho_job].name);
    row->wait = by_reason(made, m, reasons);
    row->seed = seed;
    if (r->story_job != SIM_NONE)
        job = page_made_alloc(made, 1, sizeof *job);
    if (job != NULL) {
        job->name = page_made_text(made, "%s", jobs[r->story_job].name);
        job->received = by_kind(made, r, r->received_s, kinds);
        job->wanted = by_kind(made, r, r->wanted_s, kinds);
    }
    row->job = job;
    if (r->why.size > 0)
        row->why = page_made_text(made, "%s", r->why.data);
    if (r->story.size > 0)
        row->story = page_made_text(made, "%s", r->story.data);
}

/* The jobs of highest rho, worst first. */
static shoal_records find_worst(struct page_made *made, const struct sim_result *r)
{
    struct worst *rows = page_made_alloc(made, WORST_MAX, sizeof *rows);
    size_t count = 0;

    for (size_t i = 0; rows != NULL && i < r->trace->job_count; i++) {
        const struct sim_job_result *got = &r->jobs[i];
        const struct sim_job *job = &r->trace->jobs[i];
        double rho = (double)got->rho;
        if (got->outcome != SIM_FINISHED || !isfinite(rho) ||
            (count == WORST_MAX && rho <= rows[count - 1].rho))
            continue;
        size_t at = count < WORST_MAX ? count++ : count - 1;
        for (; at > 0 && rows[at - 1].rho < rho; at--)
            rows[at] = rows[at - 1];
        rows[at] = (struct worst){.job = job->name,
                                  .gpus = job->gpus,
                                  .starts = got->starts,
                                  .submit_s = job->submit_s - r->origin_s,
                                  .wait_s = (double)got->wait_s,
                                  .jct_s = got->finish_s - job->submit_s,
                                  .rho = rho};
    }
    for (size_t i = 0; i < count; i++)
        rows[i].job = page_made_text(made, "%s", rows[i].job);
    return page_records(rows, count);
}

/* ---- what there is to know ---- */

/* Jobs that failed for good, which may differ between policies. */
static void note_failed(struct page_made *made, const struct sim_compare *c)
{
    uint64_t least = UINT64_MAX, most = 0;

    for (size_t i = 0; i < c->count; i++) {
        uint64_t n = c->results[i]->metrics.failed;
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    if (most > 0)
        page_warn(made, "%s%s of %s jobs failed and %s left out of the completion times",
                  least < most ? "up to " : "",
                  page_made_value(made, SHOAL_UNIT_COUNT, (double)most),
                  page_made_value(made, SHOAL_UNIT_COUNT, (double)c->results[0]->metrics.jobs),
                  most == 1 ? "is" : "are");
}

static void note_no_cost(struct page_made *made, const struct shoal_sim *sim)
{
    const struct sched_kind *kind = sim->cluster.kinds;

    if (sim->prices != NULL) {
        page_info(made, "no cost: a GPU kind was used when neither the price history nor the "
                        "cluster (usd=) has a price");
        return;
    }
    for (uint32_t k = 0; k < sim->cluster.kind_count; k++)
        if (sim->cluster.kinds[k].usd_gpu_h < 0) {
            kind = &sim->cluster.kinds[k];
            break;
        }
    page_info(
        made,
        "no cost: GPU kind '%s' has no list price; give one, such as --cluster 4x8:%s:usd=2.10",
        kind->name, kind->name);
}

/* Jobs that were left out, by why. One that adapts could do with less than it asks for, but is not
 * given it: of none it is said that it could never run. */
static void note_left_out(struct page_made *made, const struct shoal_sim *sim,
                          const struct sim_result *r)
{
    unsigned long long jobs = r->metrics.jobs, large = 0, other;
    uint32_t most = 0;

    for (uint32_t k = 0; k < sim->cluster.kind_count; k++)
        most = sim->cluster.kinds[k].gpus > most ? sim->cluster.kinds[k].gpus : most;
    for (size_t i = 0; i < sim->trace->job_count; i++)
        large += r->jobs[i].outcome == SIM_REJECTED && sim->trace->jobs[i].gpus > most;
    other = r->metrics.rejected - large;
    if (large > 0)
        page_warn(made,
                  "%llu of %llu job%s ask%s for more GPUs than this cluster has%s and %s left out",
                  large, jobs, page_plural(jobs), large == 1 ? "s" : "",
                  sim->cluster.kind_count > 1 ? " of one kind" : "", large == 1 ? "was" : "were");
    if (other > 0)
        page_warn(made, "%llu of %llu job%s cannot run on this cluster as asked and %s left out",
                  other, jobs, page_plural(jobs), other == 1 ? "was" : "were");
}

static void note_unproven(struct page_made *made, const struct sim_result *r)
{
    const struct sim_metrics *m = &r->metrics;

    if (m->unproven > 0)
        page_warn(made,
                  "%s: the decisions of %s of %s rounds are not proven optimal; value and bound "
                  "are up to %.2g apart",
                  r->policy, page_made_value(made, SHOAL_UNIT_COUNT, (double)m->unproven),
                  page_made_value(made, SHOAL_UNIT_COUNT, (double)m->rounds), m->unproven_gap);
}

static void note_prices(struct page_made *made, const struct sim_prices *prices,
                        const struct sched_cluster *cluster)
{
    double span_s = prices->last_s - prices->first_s;

    for (uint32_t k = 0; k < cluster->kind_count; k++) {
        const struct sim_price_kind *kind = &prices->kinds[k];
        const char *name = cluster->kinds[k].name;
        if (kind->offers == 0)
            page_warn(made,
                      "the price history has nothing called '%s': it costs what the cluster says",
                      name);
        else if (kind->unpriced_s > 0.01 * span_s)
            page_info(made,
                      "for %s of the price history nobody offers '%s': it costs what the cluster "
                      "says then",
                      page_made_value(made, SHOAL_UNIT_SECONDS, kind->unpriced_s), name);
        if (kind->whole)
            page_warn(made,
                      "the price history does not say how many accelerators '%s' has: prices are "
                      "taken as those of one",
                      name);
    }
}

static void add_notes(struct page_made *made, const struct sim_compare *c)
{
    const struct shoal_sim *sim = c->sim;
    const struct sim_metrics *m = &c->results[0]->metrics;
    uint64_t skipped = sim->trace->skipped;

    if (skipped > 0)
        page_warn(made,
                  "%llu line%s of the trace %s left out by a rule of its format, such as jobs "
                  "without GPUs",
                  (unsigned long long)skipped, page_plural(skipped), skipped == 1 ? "was" : "were");
    if (sim->trace->ignored[0] != '\0')
        page_warn(made, ENV_TABLE_IGNORED, sim->trace->ignored);
    if (sim->prices_ignored[0] != '\0')
        page_warn(made, ENV_TABLE_IGNORED, sim->prices_ignored);
    sim_kinds_note_unknown(sim->trace, &sim->cluster, sim->prices, made);
    if (sim->default_cluster)
        page_info(made, "cluster: %s, as none was given; choose with --cluster",
                  sim_cluster_default);
    note_left_out(made, sim, c->results[0]);
    if (m->stopped > 0)
        page_info(made, "%llu of %llu jobs were stopped at a rung of their sweep",
                  (unsigned long long)m->stopped, (unsigned long long)m->jobs);
    else if (sim->opts.halving > 0)
        page_warn(made, "--halving stopped nobody: it needs jobs of one app that all have a score");
    note_failed(made, c);
    for (size_t i = 0; i < c->count; i++)
        note_unproven(made, c->results[i]);
    if (sim->prices != NULL)
        note_prices(made, sim->prices, &sim->cluster);
    if (isnan(m->cost_usd))
        note_no_cost(made, sim);
}

/* ---- what a page has besides ---- */

/* "jobs of 1 to 8 GPUs, submitted over 22h00m; 24 t4, 16 a100; 3 policies, a decision every 60s" */
static void tell_setting(struct page_made *made, const struct sim_compare *c)
{
    const struct sim_trace *trace = c->sim->trace;
    const struct sched_cluster *cluster = &c->sim->cluster;
    const shoal_sim_opts *o = &c->sim->opts;
    uint32_t least = UINT32_MAX, most = 0;
    struct base_buf spec;

    for (size_t i = 0; i < trace->job_count; i++) {
        least = trace->jobs[i].gpus < least ? trace->jobs[i].gpus : least;
        most = trace->jobs[i].gpus > most ? trace->jobs[i].gpus : most;
    }
    if (trace->job_count > 0)
        page_made_head(
            made, "jobs of %s%u GPU%s, submitted over %s; ",
            least < most ? page_made_text(made, "%u to ", least) : "", most, page_plural(most),
            page_made_value(made, SHOAL_UNIT_SECONDS,
                            trace->jobs[trace->job_count - 1].submit_s - trace->jobs[0].submit_s));
    for (uint32_t k = 0; k < cluster->kind_count; k++)
        page_made_head(made, "%s%s %s", k == 0 ? "" : ", ",
                       page_made_value(made, SHOAL_UNIT_COUNT, (double)cluster->kinds[k].gpus),
                       cluster->kinds[k].name);
    page_made_head(made, "; %zu polic%s", c->count, c->count == 1 ? "y" : "ies");
    if (o->round_s > 0)
        page_made_head(made, ", a decision every %s",
                       page_made_value(made, SHOAL_UNIT_SECONDS, o->round_s));
    if (o->react_s > 0)
        page_made_head(made, " and within %s of what happens",
                       page_made_value(made, SHOAL_UNIT_SECONDS, o->react_s));
    page_made_head(made, "\ntrace of format %s, input hash %016llx; seed %llu; cluster ",
                   trace->format == NULL ? "-" : trace->format,
                   (unsigned long long)trace->input_hash, (unsigned long long)o->seed);
    base_buf_init(&spec, made->arena.alloc, 4096);
    sched_cluster_format(cluster, &spec);
    if (base_buf_status(&spec) == SHOAL_OK && spec.size > 0)
        page_made_head(made, "%s\n", spec.data);
    else /* a very mixed cluster has no short spec */
        page_made_head(made, "of %u nodes, %u GPUs\n", cluster->node_count, cluster->gpus);
    base_buf_fini(&spec);
}

static void add_pictures(struct page_made *made, const struct sim_compare *c,
                         const char *const *kinds, struct row *rows)
{
    shoal_records *promises = page_made_alloc(made, c->count, sizeof *promises);
    size_t shown[2];

    tell_setting(made, c);
    sim_verdict_say(made, c, shown);
    if (promises == NULL)
        return;
    for (size_t i = 0; i < BASE_COUNT(shown); i++)
        rows[shown[i]].worst = find_worst(made, c->results[shown[i]]);
    sim_pictures_draw(made, c, kinds, promises);
    for (size_t i = 0; i < c->count; i++)
        rows[i].promises = promises[i];
}

/* ---- the result ---- */

static void tell_stories(struct page_made *made, const struct sim_compare *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct sim_result *r = c->results[i];
        if (c->count > 1)
            page_made_say(made, "%s\n", r->policy);
        if (r->story.size > 0)
            page_made_say(made, "%s", r->story.data);
        if (i + 1 < c->count)
            page_made_say(made, "\n");
    }
}

shoal_status sim_compare_result(const struct sim_compare *c, const shoal_result **out_result,
                                shoal_err *err)
{
    const struct shoal_sim *sim = c->sim;
    struct page_made *made = page_made_new(env_alloc(sim->env));
    struct row *rows = page_made_alloc(made, c->count, sizeof *rows);
    const char **kinds = page_made_alloc(made, sim->cluster.kind_count, sizeof *kinds);
    const char **reasons = page_made_alloc(made, SCHED_WHY_COUNT, sizeof *reasons);

    if (rows == NULL || kinds == NULL || reasons == NULL)
        return page_made_finish(made, out_result, err);
    for (uint32_t k = 0; k < sim->cluster.kind_count; k++)
        kinds[k] = page_made_text(made, "%s", sim->cluster.kinds[k].name);
    for (uint32_t i = 1; i < SCHED_WHY_COUNT; i++)
        reasons[i - 1] = sched_reason_name((enum sched_reason)i);
    for (size_t i = 0; i < c->count; i++)
        fill_row(made, c->results[i], sim->opts.seed, kinds, reasons, &rows[i]);
    made->result.title =
        page_made_text(made, "%s job%s on %s GPU%s",
                       page_made_value(made, SHOAL_UNIT_COUNT, (double)sim->trace->job_count),
                       page_plural(sim->trace->job_count),
                       page_made_value(made, SHOAL_UNIT_COUNT, (double)sim->cluster.gpus),
                       page_plural(sim->cluster.gpus));
    made->result.schema = sim->story_job == SIM_NONE ? &sim_schema : &told_schema;
    made->result.records = page_records(rows, c->count);
    if (sim->story_job != SIM_NONE)
        tell_stories(made, c);
    if (sim->opts.pictures)
        add_pictures(made, c, kinds, rows);
    add_notes(made, c);
    return page_made_finish(made, out_result, err);
}
