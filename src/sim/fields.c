/* fields.c - what a comparison of policies came to: a record for each, and what there is to know beside them
 * (see compare.h). A metric is a row here and the line that computes it in metrics.c. */
#include "sim/compare.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
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

#define AT(member) offsetof(struct story, member)
static const shoal_field story_fields[] = {
    {AT(name), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "name", NULL, .help = "its name"},
    {AT(received), SHOAL_FIELD_MAP, SHOAL_UNIT_SECONDS, 0, 0, "received_s", NULL,
     .help = "time in which it held GPUs, by kind", .flags = SHOAL_FIELD_OPTIONAL},
    {AT(wanted), SHOAL_FIELD_MAP, SHOAL_UNIT_SECONDS, 0, 0, "wanted_s", NULL,
     .help = "time in which the policy meant it to, by kind", .flags = SHOAL_FIELD_OPTIONAL},
};
static const shoal_schema story_schema = {"job", NULL, "the job asked about", story_fields,
                                          BASE_COUNT(story_fields)};
#undef AT

#define AT(member) offsetof(struct worst, member)
static const shoal_field worst_fields[] = {
    {AT(job), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "job", "JOB", .help = "its name"},
    {AT(gpus), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 1, "gpus", "GPUS", .help = "GPUs it asks for"},
    {AT(submit_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 3, "submit_s", "SUBMITTED",
     .help = "when it was submitted, from the round of the first submission on"},
    {AT(wait_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 1, "wait_s", "WAITED",
     .help = "time without GPUs"},
    {AT(jct_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 1, "jct_s", "TOOK",
     .help = "from submission to the end"},
    {AT(starts), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 2, "starts", "STARTS",
     .help = "times it was started"},
    {AT(rho), SHOAL_FIELD_F64, SHOAL_UNIT_NONE, 0, 1, "rho", "RHO",
     .help = "completion time over that of the job alone on a 1/n share"},
};
static const shoal_schema worst_schema = {"worst", "Jobs worst off", "One job", worst_fields,
                                          BASE_COUNT(worst_fields)};
#undef AT

#define AT(member) offsetof(struct row, member)
#define M(member)  offsetof(struct row, m.member)
static const shoal_field fields[] = {
    {AT(policy), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "policy", "POLICY",
     .help = "the policy with its knobs"},
    {M(jobs), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "jobs", NULL, .help = "jobs of the trace"},
    {M(avg_jct_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 1, "avg_jct_s", "AVG JCT",
     .help = "mean completion time of finished jobs, from submission to the end"},
    {M(p50_jct_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 4, "p50_jct_s", "P50",
     .help = "half of the jobs were done within this time"},
    {M(p99_jct_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 1, "p99_jct_s", "P99",
     .help = "99 of 100 jobs were done within this time"},
    {M(makespan_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 1, "makespan_s", "MAKESPAN",
     .help = "from the round of the first submission to the last end"},
    {M(avg_wait_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 3, "avg_wait_s", "WAIT",
     .help = "mean time without GPUs"},
    {M(avg_rho), SHOAL_FIELD_F64, SHOAL_UNIT_NONE, -1, 1, "avg_rho", "RHO",
     .help = "mean of completion time over that of the job alone on a 1/n share"},
    {M(worst_rho), SHOAL_FIELD_F64, SHOAL_UNIT_NONE, -1, 1, "worst_rho", "WORST",
     .help = "the highest rho of any job"},
    {AT(worst_rho_job), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "worst_rho_job", NULL,
     .help = "the job that has it"},
    {M(unfair_share), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, -1, 1, "unfair_share", "UNFAIR",
     .help = "share of finished jobs with a rho above 1"},
    {AT(missed), SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, -1, 1, NULL, "MISSED",
     .help = "jobs that did not end by their deadline", .flags = SHOAL_FIELD_SPARSE},
    {M(utilization), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, 1, 2, "utilization", "BUSY",
     .help = "share of GPU time held by jobs, from the first submission to the last"},
    {M(cost_usd), SHOAL_FIELD_F64, SHOAL_UNIT_USD, -1, 1, "cost_usd", "COST",
     .help = "of GPU time held, or of nodes rented where the policy sizes the cluster"},
    {M(rounds), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "rounds", NULL, .help = "decisions"},
    {M(decision_ms_p50), SHOAL_FIELD_F64, SHOAL_UNIT_MS, 0, 5, "decision_ms_p50", "DECIDES",
     .help = "median time of one decision"},
    {M(decision_ms_p99), SHOAL_FIELD_F64, SHOAL_UNIT_MS, 0, 0, "decision_ms_p99", NULL,
     .help = "99 of 100 decisions took at most this"},
    {M(wall_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "wall_s", NULL,
     .help = "time the run took"},
    {M(cpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "cpu_s", NULL,
     .help = "CPU time the run took"},
    {M(job_rounds), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "job_rounds", NULL,
     .help = "live jobs, summed over decisions"},
    {M(finished), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 1, 0, "finished", NULL,
     .help = "jobs that finished"},
    {M(failed), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, -1, 0, "failed", NULL,
     .help = "jobs that failed for good"},
    {M(rejected), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, -1, 0, "rejected", NULL,
     .help = "jobs that can never run on this cluster"},
    {M(stopped), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "stopped", NULL,
     .help = "jobs stopped by the halving of their sweep"},
    {M(restarts), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, -1, 0, "restarts", NULL,
     .help = "starts after the first"},
    {M(lost_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 0, "lost_gpu_s", NULL,
     .help = "GPU time held but wasted, by restarts and failures"},
    {M(node_failures), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "node_failures", NULL,
     .help = "nodes that failed"},
    {M(job_failures), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "job_failures", NULL,
     .help = "attempts of jobs that failed"},
    {M(share_error), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, -1, 0, "share_error", NULL,
     .help = "how far jobs were from the time promised on each kind; 0: not at all"},
    {M(unproven), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, -1, 0, "unproven", NULL,
     .help = "decisions that are not proven optimal"},
    {M(solves), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "solves", NULL,
     .help = "decisions at which the policy solved for shares"},
    {M(deadlines), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "deadlines", NULL,
     .help = "jobs that have one"},
    {M(missed), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, -1, 0, "missed", NULL,
     .help = "of those, jobs that did not end in time"},
    {M(node_h), SHOAL_FIELD_F64, SHOAL_UNIT_NONE, -1, 0, "node_h", NULL,
     .help = "node-hours that the policy wanted"},
    {M(moves), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, -1, 0, "moves", NULL,
     .help = "restarts elsewhere while running"},
    {M(preempted), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, -1, 0, "preempted", NULL,
     .help = "times the policy stopped a job"},
    {M(slow_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 0, "slow_gpu_s", NULL,
     .help = "GPU time lost to jobs slowed down by where they lie"},
    {M(spread_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 0, "spread_gpu_s", NULL,
     .help = "GPU time held on more nodes than needed"},
    {AT(seed), SHOAL_FIELD_U64, SHOAL_UNIT_NONE, 0, 0, "seed", NULL, .help = "of everything drawn"},
    {AT(wait), SHOAL_FIELD_MAP, SHOAL_UNIT_SECONDS, -1, 0, "wait_s", NULL,
     .help = "job-seconds of waiting, by reason"},
    {AT(job), SHOAL_FIELD_RECORD, SHOAL_UNIT_NONE, 0, 0, "job", NULL, .help = "the job of --job",
     .flags = SHOAL_FIELD_OPTIONAL, .of = &story_schema},
    {AT(why), SHOAL_FIELD_JSON, SHOAL_UNIT_NONE, 0, 0, "why", NULL,
     .help = "why that job waited, in order of time", .flags = SHOAL_FIELD_OPTIONAL},
    {AT(story), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "story", NULL,
     .help = "its story in words", .flags = SHOAL_FIELD_OPTIONAL},
    {AT(worst), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, "worst", "Jobs worst off",
     .help = "the jobs with the highest rho, with pictures", .flags = SHOAL_FIELD_OPTIONAL,
     .of = &worst_schema},
    {AT(promises), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, "promises",
     "Time promised and received",
     .help = "what jobs were promised, where the policy promises shares, with pictures",
     .flags = SHOAL_FIELD_OPTIONAL, .of = &sim_promise_schema},
};
#undef AT
#undef M

const shoal_schema sim_schema = {"sim", "Policies", "One policy on the trace", fields,
                                 BASE_COUNT(fields)};

const shoal_schema *shoal_sim_schema(void)
{
    return &sim_schema;
}
/* The same where the story of one job is shown in place of the table. */
static const shoal_schema told_schema = {"sim", NULL, "One policy on the trace", fields,
                                         BASE_COUNT(fields)};

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
    return (shoal_records){.first = rows, .stride = sizeof *rows, .count = count};
}

/* ---- what there is to know ---- */

static const char *s_of(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* Jobs that failed for good, which may differ between policies. */
static void note_failed(struct page_made *made, const struct sim_compare *c)
{
    uint64_t least = UINT64_MAX, most = 0;
    char failed[32], jobs[32];

    for (size_t i = 0; i < c->count; i++) {
        uint64_t n = c->results[i]->metrics.failed;
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    if (most > 0)
        page_made_note(made, SHOAL_NOTE_WARNING,
                       "%s%s of %s jobs failed and %s left out of the completion times",
                       least < most ? "up to " : "", base_format_count(most, failed, sizeof failed),
                       base_format_count(c->results[0]->metrics.jobs, jobs, sizeof jobs),
                       most == 1 ? "is" : "are");
}

static void note_no_cost(struct page_made *made, const struct shoal_sim *sim)
{
    const struct sched_kind *kind = sim->cluster.kinds;

    if (sim->prices != NULL) {
        page_made_note(made, SHOAL_NOTE_INFO,
                       "no cost: a GPU kind was used when neither the price history nor the "
                       "cluster (usd=) has a price");
        return;
    }
    for (uint32_t k = 0; k < sim->cluster.kind_count; k++)
        if (sim->cluster.kinds[k].usd_gpu_h < 0) {
            kind = &sim->cluster.kinds[k];
            break;
        }
    page_made_note(made, SHOAL_NOTE_INFO,
                   "no cost: GPU kind '%s' has no list price; give one, such as --cluster "
                   "4x8:%s:usd=2.10",
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
        page_made_note(made, SHOAL_NOTE_WARNING,
                       "%llu of %llu job%s ask%s for more GPUs than this cluster has%s and %s "
                       "left out",
                       large, jobs, s_of(jobs), large == 1 ? "s" : "",
                       sim->cluster.kind_count > 1 ? " of one kind" : "",
                       large == 1 ? "was" : "were");
    if (other > 0)
        page_made_note(made, SHOAL_NOTE_WARNING,
                       "%llu of %llu job%s cannot run on this cluster as asked and %s left out",
                       other, jobs, s_of(jobs), other == 1 ? "was" : "were");
}

static void note_unproven(struct page_made *made, const struct sim_result *r)
{
    const struct sim_metrics *m = &r->metrics;
    char unproven[32], rounds[32];

    if (m->unproven > 0)
        page_made_note(made, SHOAL_NOTE_WARNING,
                       "%s: the decisions of %s of %s rounds are not proven optimal; "
                       "value and bound are up to %.2g apart",
                       r->policy, base_format_count(m->unproven, unproven, sizeof unproven),
                       base_format_count(m->rounds, rounds, sizeof rounds), m->unproven_gap);
}

static void note_prices(struct page_made *made, const struct sim_prices *prices,
                        const struct sched_cluster *cluster)
{
    char text[32];
    double span_s = prices->last_s - prices->first_s;

    for (uint32_t k = 0; k < cluster->kind_count; k++) {
        const struct sim_price_kind *kind = &prices->kinds[k];
        const char *name = cluster->kinds[k].name;
        if (kind->offers == 0)
            page_made_note(made, SHOAL_NOTE_WARNING,
                           "the price history has nothing called '%s': it costs what the cluster "
                           "says",
                           name);
        else if (kind->unpriced_s > 0.01 * span_s)
            page_made_note(made, SHOAL_NOTE_INFO,
                           "for %s of the price history nobody offers '%s': it costs what the "
                           "cluster says then",
                           base_format_duration(kind->unpriced_s, text, sizeof text), name);
        if (kind->whole)
            page_made_note(made, SHOAL_NOTE_WARNING,
                           "the price history does not say how many accelerators '%s' has: "
                           "prices are taken as those of one",
                           name);
    }
}

static void add_notes(struct page_made *made, const struct sim_compare *c)
{
    const struct shoal_sim *sim = c->sim;
    const struct sim_metrics *m = &c->results[0]->metrics;
    uint64_t skipped = sim->trace->skipped;

    if (skipped > 0)
        page_made_note(made, SHOAL_NOTE_WARNING,
                       "%llu line%s of the trace %s left out by a rule of its format, such as jobs "
                       "without GPUs",
                       (unsigned long long)skipped, s_of(skipped), skipped == 1 ? "was" : "were");
    if (sim->trace->ignored[0] != '\0')
        page_made_note(made, SHOAL_NOTE_WARNING, ENV_TABLE_IGNORED, sim->trace->ignored);
    if (sim->prices_ignored[0] != '\0')
        page_made_note(made, SHOAL_NOTE_WARNING, ENV_TABLE_IGNORED, sim->prices_ignored);
    sim_kinds_note_unknown(sim->trace, &sim->cluster, sim->prices, made);
    if (sim->default_cluster)
        page_made_note(made, SHOAL_NOTE_INFO,
                       "cluster: %s, as none was given; choose with --cluster",
                       sim_cluster_default);
    note_left_out(made, sim, c->results[0]);
    if (m->stopped > 0)
        page_made_note(made, SHOAL_NOTE_INFO,
                       "%llu of %llu jobs were stopped at a rung of their sweep",
                       (unsigned long long)m->stopped, (unsigned long long)m->jobs);
    else if (sim->opts.halving > 0)
        page_made_note(made, SHOAL_NOTE_WARNING,
                       "--halving stopped nobody: it needs jobs of one app that all have a score");
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
    char text[48];

    for (size_t i = 0; i < trace->job_count; i++) {
        least = trace->jobs[i].gpus < least ? trace->jobs[i].gpus : least;
        most = trace->jobs[i].gpus > most ? trace->jobs[i].gpus : most;
    }
    if (trace->job_count > 0)
        page_made_head(made, "jobs of %s%u GPU%s, submitted over %s; ",
                       least < most ? page_made_text(made, "%u to ", least) : "", most, s_of(most),
                       base_format_duration(trace->jobs[trace->job_count - 1].submit_s -
                                                trace->jobs[0].submit_s,
                                            text, sizeof text));
    for (uint32_t k = 0; k < cluster->kind_count; k++)
        page_made_head(made, "%s%s %s", k == 0 ? "" : ", ",
                       base_format_count(cluster->kinds[k].gpus, text, sizeof text),
                       cluster->kinds[k].name);
    page_made_head(made, "; %zu polic%s", c->count, c->count == 1 ? "y" : "ies");
    if (o->round_s > 0)
        page_made_head(made, ", a decision every %s",
                       base_format_duration(o->round_s, text, sizeof text));
    if (o->react_s > 0)
        page_made_head(made, " and within %s of what happens",
                       base_format_duration(o->react_s, text, sizeof text));
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
    char jobs[32], gpus[32];

    if (rows == NULL || kinds == NULL || reasons == NULL)
        return page_made_finish(made, out_result, err);
    for (uint32_t k = 0; k < sim->cluster.kind_count; k++)
        kinds[k] = page_made_text(made, "%s", sim->cluster.kinds[k].name);
    for (uint32_t i = 1; i < SCHED_WHY_COUNT; i++)
        reasons[i - 1] = sched_reason_name((enum sched_reason)i);
    for (size_t i = 0; i < c->count; i++)
        fill_row(made, c->results[i], sim->opts.seed, kinds, reasons, &rows[i]);
    made->result.title = page_made_text(
        made, "%s job%s on %s GPU%s", base_format_count(sim->trace->job_count, jobs, sizeof jobs),
        s_of(sim->trace->job_count), base_format_count(sim->cluster.gpus, gpus, sizeof gpus),
        s_of(sim->cluster.gpus));
    made->result.schema = sim->story_job == SIM_NONE ? &sim_schema : &told_schema;
    made->result.records =
        (shoal_records){.first = rows, .stride = sizeof *rows, .count = c->count};
    if (sim->story_job != SIM_NONE)
        tell_stories(made, c);
    if (sim->opts.pictures)
        add_pictures(made, c, kinds, rows);
    add_notes(made, c);
    return page_made_finish(made, out_result, err);
}
