/* notes.c - what there is to know beside the figures of a study: its heading, notes, and what is measured and what is
 * modelled, which the page ends with. Tests: tests/unit/study/test_pictures.c, tests/cli/test_study.py. */
#include "study/study.h"

#include "base/assert.h"
#include "sim/info.h"
#include <inttypes.h>
#include <math.h>

static const double DEMAND_FAR = 1.5; /* times the GPUs there are */

/* Rows without a text are left out. */
shoal_records study_said_records(struct page_made *made, const struct study_said *said,
                                 size_t count)
{
    struct study_said *rows = page_made_alloc(made, count, sizeof *rows);
    size_t kept = 0;

    for (size_t i = 0; rows != NULL && i < count; i++)
        if (said[i].text != NULL)
            rows[kept++] = said[i];
    return page_records(rows, kept);
}

static const char *quota_model(struct page_made *made, const struct study *s)
{
    if (s->quotas.none)
        return s->opts.quotas != NULL
                   ? "none, by request: there is no fair-share delay"
                   : "none, as all jobs are of one group: there is no fair-share delay";
    if (s->quotas.given)
        return page_made_text(made, "as given, %" PRIu64 " GPUs in all", s->quotas.sum);
    return "assumed, as none were given: each group has the share of the GPUs that it has of the "
           "GPU time in the trace; --quotas states them, --quotas none leaves them out";
}

static const char *pool_model(struct page_made *made, const struct study *s)
{
    char hours[48];

    if (s->pool.gpus == 0)
        return page_made_text(made, "not simulated: %s", s->runs[STUDY_TRIAL].why_not);
    return page_made_text(
        made,
        "%u GPU%s on %u server%s taken from the cluster; trials of up to %s on one GPU, first come "
        "first served; they waited %s hours for it in all, which is in completion times and in no "
        "column of waiting; an error is taken to show after the same time on one GPU as on all",
        s->pool.gpus, page_plural(s->pool.gpus), s->pool.node_count,
        page_plural(s->pool.node_count), page_made_value(made, SHOAL_UNIT_SECONDS, s->opts.trial_s),
        study_hours(s->pool_wait_s, hours, sizeof hours));
}

/* What the trials and stops of all guidelines together do. */
static const char *work_model(struct page_made *made, const struct study *s)
{
    const struct study_books *all = &s->runs[STUDY_TOGETHER].books;
    char hours[48];

    return page_made_text(made,
                          "with all guidelines, %" PRIu64 " job%s of several GPUs that fail early "
                          "never take their gang, and %" PRIu64
                          " job%s whose error comes back stop "
                          "after their first attempt: %s GPU-hours are not run at all",
                          all->caught, page_plural(all->caught), all->cut, page_plural(all->cut),
                          study_hours(all->saved_gpu_s, hours, sizeof hours));
}

/* Jobs that can never run, the first by name; NULL: none. */
static const char *left_out(struct page_made *made, const struct study_jobs *jobs)
{
    const char *names = "";

    for (uint32_t i = 0; i < jobs->named_count; i++)
        names = page_made_text(made, "%s%s%.60s (%u GPUs)", names, i > 0 ? ", " : "",
                               jobs->named[i].name, jobs->named[i].gpus);
    return jobs->too_large == 0
               ? NULL
               : page_made_text(made, "%" PRIu64 " job%s larger than the cluster: %s%s",
                                jobs->too_large, page_plural(jobs->too_large), names,
                                jobs->too_large > jobs->named_count ? ", ..." : "");
}

shoal_records study_model(struct page_made *made, const struct study_case *c)
{
    const struct study *s = c->study;
    bool modelled = s->opts.failures != SHOAL_STUDY_FAILURES_NONE;
    const struct study_said rows[] = {
        {"from the trace",
         "when each job came, how many GPUs it asked for, how long it ran, its group; it does not "
         "say where jobs ran, how fast, or how they ended"},
        {"left out", left_out(made, &s->jobs)},
        {"simulated",
         "all waiting and all places, under the policy philly: gangs, quotas per group, locality "
         "that is strict first and given up after waiting; a recorded time is taken as the time on "
         "the fewest servers without neighbours"},
        {"quotas", quota_model(made, s)},
        {"cluster",
         c->chosen ? page_made_text(
                         made,
                         "chosen, as none was given: 2- and 8-GPU servers in the proportion of the "
                         "Philly cluster, so many that the average GPU-hour of the trace meets a "
                         "demand of about %.0f %% of the GPUs if nobody waits, in racks of up to "
                         "%d servers of one size",
                         100 * STUDY_DEMAND, STUDY_RACK)
                   : "as given"},
        {"money", isnan(study_usd_gpu_h(s))
                      ? "not told, as the cluster has no prices; --cluster 8x8:gpu:usd=2.50 has one"
                      : "at the mean price of the cluster's GPUs"},
        {"speed (model)",
         "a job on more servers than it needs, and jobs of several GPUs that share a server, run "
         "slower by factors after the Philly study (arXiv 1901.05758: ResNet-50 on two GPUs, about "
         "114.8 images/s on one server, 98.0 on two, 75.6 and 74.1 with neighbours)"},
        {"failures (model)",
         modelled ? "drawn per job name and seed with classes, times to failure and attempts about "
                    "those of the same study, which found about 17 % of jobs and 18 % of GPU time "
                    "unsuccessful; a job's recorded time is cut into its attempts and never changed"
         : s->few ? "left out, as there are few jobs"
                  : "left out by request"},
        {"draws", page_made_text(made,
                                 "all runs are made %u time%s, each further one with %severy "
                                 "submission up to a round later; figures are of the first",
                                 s->more_count + 1, page_plural(s->more_count + 1),
                                 modelled ? "other failures and " : "")},
        {"trial pool", pool_model(made, s)},
        {"work not run", work_model(made, s)},
        {"useful",
         "GPU time of work that passes over the time of all GPUs, the pool's included, from the "
         "first submission to the last (to the last recorded end where submissions take less than "
         "a hundredth of the time to it); it hardly moves while a cluster keeps up with its jobs, "
         "and shows work that is put off"},
    };

    return study_said_records(made, rows, BASE_COUNT(rows));
}

/* ---- heading and notes ---- */

/* "600 jobs over 31d3h on 76 GPUs of 17 servers; 50 % of GPU time is useful" */
static void head(struct page_made *made, const struct study *s)
{
    page_made_head(
        made, "%s job%s over %s on %s GPU%s of %u server%s; %.0f %% of GPU time is useful",
        page_made_value(made, SHOAL_UNIT_COUNT, (double)s->jobs.count), page_plural(s->jobs.count),
        page_made_value(made, SHOAL_UNIT_SECONDS, s->jobs.to_s - s->jobs.from_s),
        page_made_value(made, SHOAL_UNIT_COUNT, (double)s->cluster->gpus),
        page_plural(s->cluster->gpus), s->cluster->node_count, page_plural(s->cluster->node_count),
        100 * s->runs[STUDY_BASE].tally.utilization);
    if (*study_quota_words(s) != '\0')
        page_made_head(made, "; %s", study_quota_words(s));
    page_made_head(made, "\n");
}

/* Queues that only grow are of capacity. A trace whose jobs do not all state durations says nothing. */
static void note_demand(struct page_made *made, const struct study_case *c)
{
    double gpus;

    if (c->chosen || study_machines_demand(c->trace, &gpus, NULL) != SHOAL_OK ||
        gpus < DEMAND_FAR * c->cluster.gpus)
        return;
    page_warn(made,
              "the jobs ask for %.0f GPUs at a time on average, and there are %u: they wait for "
              "capacity, whatever the guideline",
              gpus, c->cluster.gpus);
}

static void note_jobs(struct page_made *made, const struct study_case *c)
{
    const struct study_jobs *jobs = &c->study->jobs;
    unsigned long long skipped = c->trace->skipped, large = jobs->too_large;

    if (skipped > 0)
        page_warn(made,
                  "%llu line%s of the trace %s left out by a rule of its format, such as jobs "
                  "without GPUs",
                  skipped, page_plural(skipped), skipped == 1 ? "was" : "were");
    if (c->trace->ignored[0] != '\0')
        page_warn(made, ENV_TABLE_IGNORED, c->trace->ignored);
    sim_kinds_note_unknown(c->trace, &c->cluster, NULL, made);
    note_demand(made, c);
    if (c->chosen)
        page_info(made,
                  "cluster: %u GPUs chosen for a demand of about %.0f %%, as none was given; "
                  "choose with --cluster",
                  c->cluster.gpus, 100 * STUDY_DEMAND);
    if (large > 0)
        page_warn(
            made,
            "%llu job%s can never run on this cluster and %s left out, first '%.60s' (%u GPUs)",
            large, page_plural(large), large == 1 ? "was" : "were", jobs->named[0].name,
            jobs->named[0].gpus);
}

void study_notes(struct page_made *made, const struct study_case *c)
{
    const struct study *s = c->study;
    char hours[48];

    head(made, s);
    note_jobs(made, c);
    if (s->quotas.sum > c->cluster.gpus)
        page_warn(made, "the quotas promise %llu GPUs, and there are %u",
                  (unsigned long long)s->quotas.sum, c->cluster.gpus);
    for (enum study_run_id r = STUDY_BASE; r < STUDY_RUNS; r++)
        if (!s->runs[r].possible)
            page_info(made, "not simulated: %s, as %s", study_guidelines[r].name,
                      s->runs[r].why_not);
    if (s->pool.gpus > 0)
        page_info(made,
                  "trial pool: %u GPU%s; trials waited %s hours for it, which the columns of "
                  "waiting do not have",
                  s->pool.gpus, page_plural(s->pool.gpus),
                  study_hours(s->pool_wait_s, hours, sizeof hours));
    if (s->opts.failures == SHOAL_STUDY_FAILURES_MODEL && !s->few)
        page_info(made, "the trace has no speeds or failures, so they are modelled; --failures "
                        "none leaves failures out");
}
