/* result.c - what a study came to: one record, with a run for each guideline, and what there is to know beside it.
 * A figure is a row here and the line that computes it.
 *
 * What lies in the study (tallies, books, classes) is not copied: the result owns the study. Tests:
 * tests/unit/study/test_run.c, test_pictures.c, tests/cli/test_study.py. */
#include "study/study.h"

#include "base/assert.h"
#include "base/text.h"
#include "sim/info.h"
#include "study/load.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16 };

/* ---- a guideline ---- */

/* Of one size of jobs: a delay for each reason. */
struct delays {
    const char *size;
    const struct study_delay *by[SIM_WAIT_COUNT + 1];
};

struct places {
    const char *size;
    shoal_numbers servers_gpu_s;
    double spread_gpu_s, beside_gpu_s, slow_gpu_s;
};

struct run {
    const char *id, *name, *policy, *why_not;
    bool simulated;
    double waits_s[SIM_WAIT_COUNT + 1];
    bool waits_unsure[SIM_WAIT_COUNT + 1], saved_unsure;
    double saved_gpu_s, spared_gpu_s;    /* as in JSON */
    double saved_shown_gpu_s, saved_usd; /* not known of the base line */
    double spread, beside;               /* shares of GPU time held */
    const char *saved_in_draws, *spared_in_draws;
    shoal_numbers saved_range, spared_range, ratio_range;
    double fragmentation_ratio;
    double caught, cut, moves, restarts, preempted;
    struct study_tally tally;
    struct study_books books;
    shoal_records delays, sizes;
};

#define AT(member) offsetof(struct study_delay, member)
static const shoal_field delay_fields[] = {
    {AT(jobs), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "jobs", NULL,
     .help = "jobs that waited for it"},
    {AT(total_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "total_s", NULL,
     .help = "for how long together"},
    {AT(p50_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "p50_s", NULL,
     .help = "half of them waited at most this"},
    {AT(p95_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "p95_s", NULL,
     .help = "95 of 100 waited at most this"},
    {AT(p99_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "p99_s", NULL,
     .help = "99 of 100 waited at most this"},
};
#undef AT
static const shoal_schema delay_schema = {"delay", NULL, "Waiting for one reason", delay_fields,
                                          BASE_COUNT(delay_fields)};

#define AT(member) offsetof(struct delays, member)
#define WAIT(why, name, help_)                                                                  \
    {                                                                                           \
        AT(by[why]), SHOAL_FIELD_RECORD, SHOAL_UNIT_NONE, 0, 0, name, NULL, .help = help_,      \
                                                                            .of = &delay_schema \
    }
static const shoal_field delays_fields[] = {
    {AT(size), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "size", NULL, .help = "GPUs of the jobs"},
    WAIT(SIM_WAIT_FAIR_SHARE, "fair_share", "its group had used its quota, others had not"),
    WAIT(SIM_WAIT_LOCALITY, "fragmentation", "enough GPUs were free, but not close together"),
    WAIT(SIM_WAIT_CAPACITY, "capacity", "too few GPUs were free"),
    WAIT(SIM_WAIT_OTHER, "next_round", "until the next decision"),
    WAIT(STUDY_WAITS, "all", "for any reason; quantiles are over all jobs"),
};
#undef WAIT
#undef AT
static const shoal_schema delays_schema = {"delays", NULL, "Waiting of jobs of one size",
                                           delays_fields, BASE_COUNT(delays_fields)};

#define AT(member) offsetof(struct places, member)
static const shoal_field places_fields[] = {
    {AT(size), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "size", NULL, .help = "GPUs of the jobs"},
    {AT(servers_gpu_s), SHOAL_FIELD_MAP, SHOAL_UNIT_HOURS, 0, 0, "gpu_s_by_servers", NULL,
     .help = "GPU time held, by number of servers"},
    {AT(spread_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, -1, 0, "spread_gpu_s", NULL,
     .help = "of that on more servers than needed"},
    {AT(beside_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, -1, 0, "beside_gpu_s", NULL,
     .help = "of that beside another job of several GPUs"},
    {AT(slow_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, -1, 0, "slow_gpu_s", NULL,
     .help = "lost to slower places"},
};
#undef AT
static const shoal_schema places_schema = {"sizes", NULL, "Places of jobs of one size",
                                           places_fields, BASE_COUNT(places_fields)};

#define AT(member) offsetof(struct run, member)
static const shoal_field run_fields[] = {
    {AT(id), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "id", NULL, .help = "such as migrate"},
    {AT(name), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "name", "GUIDELINE", .help = "in words"},
    {AT(simulated), SHOAL_FIELD_BOOL, SHOAL_UNIT_NONE, 0, 0, "simulated", NULL,
     .help = "whether it could be"},
    {AT(why_not), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "why_not", NULL,
     .help = "where it could not", .flags = SHOAL_FIELD_OPTIONAL},
    {AT(policy), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "policy", NULL,
     .help = "the policy with its knobs but the quotas"},
    {AT(saved_usd), SHOAL_FIELD_F64, SHOAL_UNIT_USD, 1, 1, "saved_usd", "SAVED",
     .help = "the same in money, at the mean price of the cluster's GPUs",
     .flags = SHOAL_FIELD_SPARSE | SHOAL_FIELD_OPTIONAL, .unsure = AT(saved_unsure)},
    {AT(saved_shown_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, 1, 3, NULL, "GPU H SAVED",
     .help = "GPU-hours held less than as it is, trials counted", .flags = SHOAL_FIELD_SPARSE,
     .unsure = AT(saved_unsure)},
    {AT(saved_in_draws), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "SAVED IN ALL DRAWS",
     .help = "the least and the most of all draws", .flags = SHOAL_FIELD_SPARSE},
    {AT(waits_s[STUDY_WAITS]), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, -1, 1, NULL, "ALL WAITING",
     .help = "hours of waiting for any reason", .unsure = AT(waits_unsure[STUDY_WAITS])},
    {AT(waits_s[SIM_WAIT_LOCALITY]), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, -1, 1, NULL,
     "FRAGMENTATION", .help = "hours of waiting while enough GPUs were free but scattered",
     .unsure = AT(waits_unsure[SIM_WAIT_LOCALITY])},
    {AT(waits_s[SIM_WAIT_FAIR_SHARE]), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, -1, 4, NULL, "FAIR SHARE",
     .help = "hours of waiting because the group had used its quota and others had not",
     .unsure = AT(waits_unsure[SIM_WAIT_FAIR_SHARE])},
    {AT(waits_s[SIM_WAIT_CAPACITY]), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, -1, 1, NULL, "CAPACITY",
     .help = "hours of waiting because too few GPUs were free",
     .unsure = AT(waits_unsure[SIM_WAIT_CAPACITY]), .flags = SHOAL_FIELD_PAGE},
    {AT(tally.utilization), SHOAL_FIELD_F64, SHOAL_UNIT_PERCENT, 1, 2, "utilization", "USEFUL",
     .help = "GPU time of work that passes over that of all GPUs"},
    {AT(tally.occupancy), SHOAL_FIELD_F64, SHOAL_UNIT_PERCENT, 0, 0, "occupancy", NULL,
     .help = "GPU time held over that of all GPUs"},
    {AT(fragmentation_ratio), SHOAL_FIELD_F64, SHOAL_UNIT_TIMES, 1, 0, "fragmentation_ratio", NULL,
     .help = "fragmentation waiting of the base line over that of this run"},
    {AT(saved_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, 1, 0, "saved_gpu_s", NULL,
     .help = "GPU time held less than in the base line, trials counted"},
    {AT(spared_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, 1, 0, "spared_gpu_s", NULL,
     .help = "of that, work not run at all, less trials: exact"},
    {AT(tally.avg_jct_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 5, "avg_jct_s", "AVG JCT",
     .help = "mean completion time of jobs that pass, trials counted"},
    {AT(tally.p50_jct_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 0, "p50_jct_s", NULL,
     .help = "half of them were done within this time"},
    {AT(tally.p99_jct_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 0, "p99_jct_s", NULL,
     .help = "99 of 100 of them were done within this time"},
    {AT(tally.held_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, 0, 0, "held_gpu_s", NULL,
     .help = "GPU time held by jobs"},
    {AT(tally.slow_all_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, -1, 0, "slow_gpu_s", NULL,
     .help = "GPU time lost to slower places"},
    {AT(books.recorded_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, 0, 0, "work_recorded_gpu_s", NULL,
     .help = "GPU time of the trace"},
    {AT(books.useful_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, 0, 0, "work_useful_gpu_s", NULL,
     .help = "of that, of attempts that pass"},
    {AT(books.lost_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, -1, 0, "work_lost_gpu_s", NULL,
     .help = "of that, of attempts that failed"},
    {AT(books.saved_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, 1, 0, "work_saved_gpu_s", NULL,
     .help = "of that, of attempts that are not run"},
    {AT(books.trial_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, -1, 0, "trial_gpu_s", NULL,
     .help = "spent in trials"},
    {AT(tally.trial_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 0, "trial_delay_s", NULL,
     .help = "what trials delay the jobs that go on"},
    {AT(caught), SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 1, 0, "caught", NULL,
     .help = "jobs found in their trial"},
    {AT(cut), SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 1, 0, "cut", NULL,
     .help = "jobs stopped after one attempt"},
    {AT(moves), SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 5, "moves", "MOVES",
     .help = "running jobs moved to other servers"},
    {AT(restarts), SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 0, "restarts", NULL,
     .help = "starts of a job after its first, moves included"},
    {AT(preempted), SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 0, "preempted", NULL,
     .help = "times a job was stopped for another"},
    {AT(tally.cpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "cpu_s", NULL,
     .help = "CPU time of the simulation"},
    {AT(saved_range), SHOAL_FIELD_NUMBERS, SHOAL_UNIT_HOURS, 0, 0, "saved_gpu_s_range", NULL,
     .help = "least and most of all draws"},
    {AT(spared_range), SHOAL_FIELD_NUMBERS, SHOAL_UNIT_HOURS, 0, 0, "spared_gpu_s_range", NULL,
     .help = "least and most of all draws"},
    {AT(ratio_range), SHOAL_FIELD_NUMBERS, SHOAL_UNIT_TIMES, 0, 0, "fragmentation_ratio_range",
     NULL, .help = "least and most of all draws"},
    {AT(delays), SHOAL_FIELD_KEYED, SHOAL_UNIT_NONE, 0, 0, "delays", NULL,
     .help = "waiting by size of job and reason", .of = &delays_schema},
    {AT(sizes), SHOAL_FIELD_KEYED, SHOAL_UNIT_NONE, 0, 0, "sizes", NULL,
     .help = "places by size of job", .of = &places_schema},
};
#undef AT
/* Of the same records: what guidelines change besides. */
#define AT(member) offsetof(struct run, member)
static const shoal_field change_fields[] = {
    {AT(name), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "GUIDELINE", .help = "in words"},
    {AT(spread), SHOAL_FIELD_F64, SHOAL_UNIT_PERCENT, -1, 1, NULL, "SPREAD",
     .help = "GPU time on more servers than the job needs"},
    {AT(beside), SHOAL_FIELD_F64, SHOAL_UNIT_PERCENT, -1, 1, NULL, "BESIDE",
     .help = "GPU time of jobs of several GPUs that share a server with another such job"},
    {AT(tally.slow_all_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, -1, 1, NULL, "LOST TO SPEED",
     .help = "GPU-hours lost to slower places"},
    {AT(tally.occupancy), SHOAL_FIELD_F64, SHOAL_UNIT_PERCENT, 0, 1, NULL, "BUSY",
     .help = "GPU time held over that of all GPUs"},
    {AT(restarts), SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 1, NULL, "RESTARTS",
     .help = "starts of a job after its first, moves included"},
    {AT(spared_in_draws), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "OF IT NOT RUN",
     .help =
         "GPU-hours of work that is not run at all, less trials, in all draws; the rest is speed",
     .flags = SHOAL_FIELD_SPARSE},
};
#undef AT
static const shoal_schema change_schema = {"changes", NULL, "One guideline, simulated",
                                           change_fields, BASE_COUNT(change_fields)};

static const shoal_schema run_schema = {"runs", NULL, "One guideline, simulated", run_fields,
                                        BASE_COUNT(run_fields)};

/* ---- what was studied ---- */

/* Waiting for one reason, by size of job. */
struct wait_row {
    const char *name;
    double sizes_s[STUDY_SIZES], all_s, share;
};

#define AT(member) offsetof(struct wait_row, member)
static const shoal_field reason_fields[] = {
    {AT(name), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "reason", "WAITING, HOURS",
     .help = "what jobs waited for"},
    {AT(sizes_s[0]), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, 0, 2, NULL, "1 GPU",
     .help = "of jobs of one GPU", .flags = SHOAL_FIELD_SPARSE},
    {AT(sizes_s[1]), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, 0, 2, NULL, "2-4 GPUs",
     .help = "of jobs of 2 to 4 GPUs", .flags = SHOAL_FIELD_SPARSE},
    {AT(sizes_s[2]), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, 0, 2, NULL, "5-8 GPUs",
     .help = "of jobs of 5 to 8 GPUs", .flags = SHOAL_FIELD_SPARSE},
    {AT(sizes_s[3]), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, 0, 2, NULL, ">8 GPUs",
     .help = "of jobs of more than 8 GPUs", .flags = SHOAL_FIELD_SPARSE},
    {AT(all_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, 0, 1, NULL, "ALL", .help = "of all jobs"},
    {AT(share), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, 0, 1, NULL, "SHARE", .help = "of all waiting"},
};
#undef AT
static const shoal_schema reason_schema = {"waiting", NULL, "One reason to wait", reason_fields,
                                           BASE_COUNT(reason_fields)};

/* Jobs of one size that waited for one reason. */
struct wait {
    const char *size, *reason;
    double jobs, share, total_s, p50_s, p95_s;
};

#define AT(member) offsetof(struct wait, member)
static const shoal_field wait_fields[] = {
    {AT(size), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "JOBS OF GPUS",
     .help = "GPUs of the jobs"},
    {AT(reason), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "WAITED FOR",
     .help = "fragmentation: enough GPUs were free, but scattered; fair share: its group had used "
             "its quota, others had not; capacity: too few GPUs were free"},
    {AT(jobs), SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 1, NULL, "JOBS", .help = "that waited for it"},
    {AT(share), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, 0, 1, NULL, "OF ITS SIZE",
     .help = "share of the jobs of the size"},
    {AT(total_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, 0, 1, NULL, "HOURS",
     .help = "for how many hours together"},
    {AT(p50_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 1, NULL, "MEDIAN",
     .help = "half of those that waited for it did for at most this"},
    {AT(p95_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 1, NULL, "P95",
     .help = "95 of 100 of them did for at most this; not told of fewer than 20 jobs"},
};
#undef AT
static const shoal_schema wait_schema = {"wait", NULL, "Jobs of one size, one reason", wait_fields,
                                         BASE_COUNT(wait_fields)};

/* Jobs of one size. */
struct size_row {
    const char *size;
    uint64_t jobs;
    double unsuccessful, spread, beside, slow_gpu_s;
};

#define AT(member) offsetof(struct size_row, member)
static const shoal_field size_fields[] = {
    {AT(size), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "GPUS", .help = "GPUs of the jobs"},
    {AT(jobs), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 1, NULL, "JOBS", .help = "of this size"},
    {AT(unsuccessful), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, 0, 1, NULL, "UNSUCCESSFUL",
     .help = "share of the jobs that did not pass, by the model"},
    {AT(spread), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, 0, 1, NULL, "SPREAD",
     .help = "share of their GPU time on more servers than needed"},
    {AT(beside), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, 0, 1, NULL, "BESIDE",
     .help = "share of their GPU time beside another job of several GPUs"},
    {AT(slow_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, 0, 1, NULL, "LOST TO SPEED",
     .help = "GPU-hours that slower places cost"},
};
#undef AT
static const shoal_schema size_schema = {"size", NULL, "Jobs of one size", size_fields,
                                         BASE_COUNT(size_fields)};

#define AT(member) offsetof(struct study_said, member)
static const shoal_field said_fields[] = {
    {AT(what), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "ABOUT", .help = "what it is about"},
    {AT(text), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "FINDING", .help = "what is said"},
};
#undef AT
static const shoal_schema said_schema = {"said", NULL, "A sentence", said_fields,
                                         BASE_COUNT(said_fields)};

/* A class of failures. */
struct failure {
    const char *name, *cause;
    bool retry;
    struct study_lost lost;
};

#define AT(member) offsetof(struct failure, member)
static const shoal_field failure_fields[] = {
    {AT(name), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "name", "CLASS", .help = "of failures"},
    {AT(cause), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 2, "cause", "CAUSE",
     .help = "user, infrastructure or unknown"},
    {AT(retry), SHOAL_FIELD_BOOL, SHOAL_UNIT_NONE, 0, 2, "retry", "CAN PASS",
     .help = "whether a further attempt can"},
    {AT(lost.jobs), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 1, "jobs", "JOBS",
     .help = "that met one"},
    {AT(lost.passed), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 2, "passed", "PASSED",
     .help = "of those passed in the end"},
    {AT(lost.attempts), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 2, "attempts", "ATTEMPTS",
     .help = "of those jobs"},
    {AT(lost.lost_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, 0, 1, "lost_gpu_s", "GPU H LOST",
     .help = "GPU time of the attempts that failed"},
};
#undef AT
static const shoal_schema failure_schema = {"classes", NULL, "A class of failures", failure_fields,
                                            BASE_COUNT(failure_fields)};

struct row {
    uint64_t jobs, too_large, seed, unsuccessful;
    uint32_t gpus, servers, draws, v, echoes, pool_gpus, pool_servers;
    const char *cluster, *input_hash, *first, *second, *quota_source, *failure_source;
    const char *policy;
    bool cluster_chosen;
    double round_s, restart_s, cpu_s, span_s, wall_s, trial_s, pool_wait_s, pool_held_gpu_s;
    double luck_wait_s, luck_fragmentation_s, luck_held_gpu_s;
    double usd_gpu_h, wasted_gpu_s, wasted_usd;
    const char *say_lost, *say_second, *say_unsure, *say_first, *say_waiting, *say_speed,
        *say_failures, *say_together, *say_luck;
    shoal_numbers quotas, lost_range;
    shoal_records runs, waiting, classes, waits, sizes, said, model;
    const struct row *self; /* of the objects inside */
};

#define AT(member) offsetof(struct row, member)
static const shoal_field quota_fields[] = {
    {AT(quota_source), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "source", NULL,
     .help = "none, given, or share: by share of GPU time"},
    {AT(quotas), SHOAL_FIELD_MAP, SHOAL_UNIT_COUNT, 0, 0, "gpus", NULL, .help = "by group"},
};
static const shoal_schema quota_schema = {"quotas", NULL, "GPUs that groups have a right to",
                                          quota_fields, BASE_COUNT(quota_fields)};

static const shoal_field pool_fields[] = {
    {AT(pool_gpus), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 0, "gpus", NULL, .help = "in it"},
    {AT(pool_servers), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 0, "servers", NULL, .help = "in it"},
    {AT(trial_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "trial_s", NULL,
     .help = "the longest trial"},
    {AT(pool_wait_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 0, "wait_s", NULL,
     .help = "what trials waited for it together"},
    {AT(pool_held_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, 0, 0, "held_gpu_s", NULL,
     .help = "GPU time held in it"},
};
static const shoal_schema pool_schema = {"trial_pool", NULL, "Servers set apart for trials",
                                         pool_fields, BASE_COUNT(pool_fields)};

static const shoal_field failures_fields[] = {
    {AT(failure_source), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "source", NULL,
     .help = "model or none"},
    {AT(unsuccessful), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, -1, 0, "unsuccessful", NULL,
     .help = "jobs that did not pass"},
    {AT(classes), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 0, "classes", NULL,
     .help = "what failed", .of = &failure_schema},
};
static const shoal_schema failures_schema = {"failures", NULL, "How jobs ended, by the model",
                                             failures_fields, BASE_COUNT(failures_fields)};

static const shoal_field finding_fields[] = {
    {AT(v), SHOAL_FIELD_U32, SHOAL_UNIT_NONE, 0, 0, "v", NULL, .help = "1"},
    {AT(say_first), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "first", NULL,
     .help = "what to do first"},
    {AT(say_lost), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "lost", NULL,
     .help = "what failures and slow places cost"},
    {AT(say_second), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "second", NULL,
     .help = "what to do then"},
    {AT(say_unsure), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "unsure", NULL,
     .help = "guidelines that save in some draws and cost in others",
     .flags = SHOAL_FIELD_OPTIONAL},
    {AT(say_waiting), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "waiting", NULL,
     .help = "why jobs wait"},
    {AT(say_speed), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "speed", NULL,
     .help = "what spreading jobs out costs"},
    {AT(say_failures), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "failures", NULL,
     .help = "what failures cost"},
    {AT(say_together), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "together", NULL,
     .help = "what all guidelines together would do"},
    {AT(say_luck), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "luck", NULL,
     .help = "how much of a difference is luck"},
};
static const shoal_schema finding_schema = {"findings", NULL, "The study in sentences",
                                            finding_fields, BASE_COUNT(finding_fields)};

static const shoal_field luck_fields[] = {
    {AT(echoes), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 0, "echoes", NULL,
     .help = "further runs of the base line, submissions up to a round later"},
    {AT(luck_wait_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "wait_s", NULL,
     .help = "how far they differ in waiting"},
    {AT(luck_fragmentation_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "fragmentation_s", NULL,
     .help = "and in fragmentation waiting"},
    {AT(luck_held_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, 0, 0, "held_gpu_s", NULL,
     .help = "and in GPU time held"},
};
static const shoal_schema luck_schema = {"luck", NULL, "What differs without a reason", luck_fields,
                                         BASE_COUNT(luck_fields)};

static const shoal_field fields[] = {
    {AT(jobs), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "jobs", NULL, .help = "that were studied"},
    {AT(too_large), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "too_large", NULL,
     .help = "jobs that can never run on the cluster, left out"},
    {AT(gpus), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 0, "gpus", NULL, .help = "of the cluster"},
    {AT(servers), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 0, "servers", NULL,
     .help = "of the cluster"},
    {AT(cluster), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "cluster", "CLUSTER",
     .help = "its spec"},
    {AT(cluster_chosen), SHOAL_FIELD_BOOL, SHOAL_UNIT_NONE, 0, 0, "cluster_chosen", NULL,
     .help = "as none was given"},
    {AT(seed), SHOAL_FIELD_U64, SHOAL_UNIT_NONE, 0, 0, "seed", "SEED",
     .help = "of everything drawn"},
    {AT(input_hash), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "input_hash", "INPUT HASH",
     .help = "of the trace"},
    {AT(draws), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 0, "draws", "DRAWS",
     .help = "times that failures and submissions were drawn"},
    {AT(span_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "span_s", NULL,
     .help = "from the first submission to the last end if nobody had waited"},
    {AT(wall_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "wall_s", NULL,
     .help = "time the study took"},
    {AT(policy), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, NULL, "POLICY",
     .help = "with all guidelines"},
    {AT(round_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, NULL, "ROUND",
     .help = "time between two decisions"},
    {AT(restart_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, NULL, "RESTART",
     .help = "time a start or move takes"},
    {AT(cpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, NULL, "CPU TIME, ALL RUNS",
     .help = "of all simulations"},
    {AT(usd_gpu_h), SHOAL_FIELD_F64, SHOAL_UNIT_USD, 0, 0, "usd_gpu_h", "PRICE OF A GPU-HOUR",
     .help = "mean price of the cluster's GPUs", .flags = SHOAL_FIELD_OPTIONAL},
    {AT(wasted_gpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_HOURS, -1, 0, "wasted_gpu_s", NULL,
     .help = "GPU time that attempts that fail and slow places cost"},
    {AT(wasted_usd), SHOAL_FIELD_F64, SHOAL_UNIT_USD, -1, 0, "wasted_usd", NULL,
     .help = "the same in money", .flags = SHOAL_FIELD_OPTIONAL},
    {AT(self), SHOAL_FIELD_RECORD, SHOAL_UNIT_NONE, 0, 0, "quotas", NULL,
     .help = "GPUs that groups have a right to", .of = &quota_schema},
    {AT(self), SHOAL_FIELD_RECORD, SHOAL_UNIT_NONE, 0, 0, "trial_pool", NULL,
     .help = "servers set apart for trials", .of = &pool_schema},
    {AT(self), SHOAL_FIELD_RECORD, SHOAL_UNIT_NONE, 0, 0, "failures", NULL,
     .help = "how jobs ended, by the model", .of = &failures_schema},
    {AT(lost_range), SHOAL_FIELD_NUMBERS, SHOAL_UNIT_HOURS, 0, 0, "lost_gpu_s_range", NULL,
     .help = "least and most of all draws that failures cost"},
    {AT(first), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "first", NULL,
     .help = "the guideline to begin with"},
    {AT(second), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "second", NULL,
     .help = "and the one after it"},
    {AT(self), SHOAL_FIELD_RECORD, SHOAL_UNIT_NONE, 0, 0, "findings", NULL,
     .help = "the study in sentences", .of = &finding_schema},
    {AT(self), SHOAL_FIELD_RECORD, SHOAL_UNIT_NONE, 0, 0, "luck", NULL,
     .help = "what differs without a reason", .of = &luck_schema},
    {AT(runs), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, "runs", "What each guideline would save",
     .help = "the base line, each guideline, all of them", .of = &run_schema},
    {AT(waiting), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, NULL, "Why jobs wait",
     .help = "by reason and size of job", .of = &reason_schema},
    {AT(runs), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, NULL, "What guidelines change besides",
     .help = "places, restarts, work", .flags = SHOAL_FIELD_PAGE, .of = &change_schema},
    {AT(waits), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, NULL, "Who waits, and how long",
     .help = "as it is", .flags = SHOAL_FIELD_PAGE, .of = &wait_schema},
    {AT(sizes), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, NULL, "Jobs by size",
     .help = "as it is", .flags = SHOAL_FIELD_PAGE, .of = &size_schema},
    {AT(classes), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, NULL, "Failures, by class (model)",
     .help = "what failed", .flags = SHOAL_FIELD_PAGE, .of = &failure_schema},
    {AT(said), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, NULL, "Findings",
     .help = "the study in sentences", .flags = SHOAL_FIELD_PAGE, .of = &said_schema},
    {AT(model), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, NULL,
     "What is measured and what is modelled", .help = "where figures come from",
     .flags = SHOAL_FIELD_PAGE, .of = &said_schema},
};
#undef AT
static const shoal_schema study_schema = {"study", NULL, "A study of a trace", fields,
                                          BASE_COUNT(fields)};

const shoal_schema *shoal_study_schema(void)
{
    return &study_schema;
}

/* ---- filling ---- */

static shoal_numbers range_numbers(struct page_made *made, struct study_range range)
{
    double *values = page_made_alloc(made, 2, sizeof *values);

    if (values != NULL) {
        values[0] = range.least;
        values[1] = range.most;
    }
    return (shoal_numbers){.values = values, .count = 2};
}

/* "506 to 640": GPU-hours of all draws. */
static const char *in_draws(struct page_made *made, struct study_range range, bool unsure)
{
    char least[48], most[48];

    study_hours(range.least, least, sizeof least);
    study_hours(range.most, most, sizeof most);
    bool one = strcmp(least, most) == 0;
    return page_made_text(made, "%s%s%s%s", unsure ? "~" : "", least, one ? "" : " to ",
                          one ? "" : most);
}

static shoal_records fill_delays(struct page_made *made, const struct study_tally *t)
{
    struct delays *rows = page_made_alloc(made, STUDY_SIZES + 1, sizeof *rows);

    for (uint32_t s = 0; rows != NULL && s <= STUDY_SIZES; s++) {
        rows[s].size = s == STUDY_ALL ? "all" : study_size_names[s];
        for (uint32_t w = 0; w <= SIM_WAIT_COUNT; w++)
            rows[s].by[w] = &t->delays[s][w];
    }
    return (shoal_records){.first = rows, .stride = sizeof *rows, .count = STUDY_SIZES + 1};
}

static shoal_records fill_places(struct page_made *made, const struct study_tally *t,
                                 const char *const *servers)
{
    struct places *rows = page_made_alloc(made, STUDY_SIZES, sizeof *rows);

    for (uint32_t s = 0; rows != NULL && s < STUDY_SIZES; s++)
        rows[s] = (struct places){
            .size = study_size_names[s],
            .servers_gpu_s = {t->servers_gpu_s[s], SIM_SERVERS_COUNT, servers},
            .spread_gpu_s = t->spread_gpu_s[s],
            .beside_gpu_s = t->beside_gpu_s[s],
            .slow_gpu_s = t->slow_gpu_s[s],
        };
    return (shoal_records){.first = rows, .stride = sizeof *rows, .count = STUDY_SIZES};
}

static double sum_of(const double *sizes)
{
    double sum = 0;

    for (uint32_t size = 0; size < STUDY_SIZES; size++)
        sum += sizes[size];
    return sum;
}

static void fill_simulated(struct page_made *made, const struct study *s, enum study_run_id id,
                           const char *const *servers, struct run *run)
{
    const struct study_run *r = &s->runs[id];
    const struct study_tally *t = &r->tally;
    const struct study_books *b = &r->books;

    run->policy = r->policy;
    run->tally = *t;
    run->books = *b;
    for (uint32_t w = 0; w <= SIM_WAIT_COUNT; w++) {
        run->waits_s[w] = study_waited_s(s, id, w);
        run->waits_unsure[w] = id != STUDY_BASE && study_waited_is_luck(s, id, w);
    }
    run->saved_gpu_s = study_saved_gpu_s(s, id);
    run->saved_shown_gpu_s = id == STUDY_BASE ? (double)NAN : run->saved_gpu_s;
    run->saved_unsure = study_saved_is_luck(s, id);
    if (id != STUDY_BASE) {
        run->saved_usd = study_usd(s, run->saved_gpu_s);
        run->spared_in_draws = in_draws(made, study_spared_range(s, id), false);
        if (s->more_count > 0)
            run->saved_in_draws = in_draws(made, study_saved_range(s, id), run->saved_unsure);
    }
    run->spread = sum_of(t->spread_gpu_s) / t->held_gpu_s;
    run->beside = sum_of(t->beside_gpu_s) / t->held_gpu_s;
    run->spared_gpu_s = study_spared_gpu_s(s, id);
    run->fragmentation_ratio = study_fragmentation_ratio(s, id);
    run->caught = (double)b->caught;
    run->cut = (double)b->cut;
    run->moves = (double)t->moves;
    run->restarts = (double)t->restarts;
    run->preempted = (double)t->preempted;
    run->delays = fill_delays(made, t);
    run->sizes = fill_places(made, t, servers);
}

static shoal_records fill_runs(struct page_made *made, const struct study *s)
{
    struct run *rows = page_made_alloc(made, STUDY_RUNS, sizeof *rows);
    const char **servers = page_made_alloc(made, SIM_SERVERS_COUNT, sizeof *servers);

    for (uint32_t b = 0; servers != NULL && b < SIM_SERVERS_COUNT; b++)
        servers[b] = sim_servers_name(b);
    for (enum study_run_id r = STUDY_BASE; rows != NULL && servers != NULL && r < STUDY_RUNS; r++) {
        struct run *run = &rows[r];
        for (size_t i = 0; i < BASE_COUNT(run_fields); i++)
            if (run_fields[i].type == SHOAL_FIELD_F64)
                *(double *)(void *)((char *)run + run_fields[i].offset) = (double)NAN;
        run->id = study_guidelines[r].id;
        run->name = study_guidelines[r].name;
        run->simulated = s->runs[r].possible;
        run->why_not = s->runs[r].why_not;
        run->saved_range = range_numbers(made, study_saved_range(s, r));
        run->spared_range = range_numbers(made, study_spared_range(s, r));
        run->ratio_range = range_numbers(made, study_ratio_range(s, r));
        if (run->simulated)
            fill_simulated(made, s, r, servers, run);
    }
    return (shoal_records){.first = rows, .stride = sizeof *rows, .count = STUDY_RUNS};
}

/* A row for each reason, a column for each size that has jobs. */
static shoal_records fill_waiting(struct page_made *made, const struct study *s)
{
    const struct study_tally *t = &s->runs[STUDY_BASE].tally;
    double all_s = t->delays[STUDY_ALL][STUDY_WAITS].total_s;
    struct wait_row *rows = page_made_alloc(made, SIM_WAIT_COUNT, sizeof *rows);

    for (size_t i = 0; rows != NULL && i < SIM_WAIT_COUNT; i++) {
        const struct study_reason *reasons = study_reasons;
        rows[i].name = reasons[i].name;
        for (uint32_t size = 0; size < STUDY_SIZES; size++)
            rows[i].sizes_s[size] =
                s->jobs.sizes[size] == 0 ? (double)NAN : t->delays[size][reasons[i].why].total_s;
        rows[i].all_s = t->delays[STUDY_ALL][reasons[i].why].total_s;
        rows[i].share = all_s > 0 ? rows[i].all_s / all_s : 0;
    }
    return (shoal_records){.first = rows, .stride = sizeof *rows, .count = SIM_WAIT_COUNT};
}

/* Median and tail over the jobs that waited for the reason. Nobody waits long for the next round. */
static shoal_records fill_waits(struct page_made *made, const struct study *s)
{
    struct wait *rows = page_made_alloc(made, STUDY_SIZES * SIM_WAIT_COUNT, sizeof *rows);
    size_t count = 0;

    for (uint32_t size = 0; rows != NULL && size < STUDY_SIZES; size++)
        for (size_t i = 0; i < SIM_WAIT_COUNT; i++) {
            const struct study_delay *d =
                &s->runs[STUDY_BASE].tally.delays[size][study_reasons[i].why];
            if (d->jobs > 0 && study_reasons[i].why != SIM_WAIT_OTHER)
                rows[count++] = (struct wait){
                    .size = study_size_names[size],
                    .reason = study_reasons[i].name,
                    .jobs = (double)d->jobs,
                    .share = (double)d->jobs / (double)s->jobs.sizes[size],
                    .total_s = d->total_s,
                    .p50_s = d->p50_s,
                    .p95_s = d->jobs >= STUDY_FEW ? d->p95_s : (double)NAN,
                };
        }
    return (shoal_records){.first = rows, .stride = sizeof *rows, .count = count};
}

static shoal_records fill_sizes(struct page_made *made, const struct study *s)
{
    const struct study_tally *t = &s->runs[STUDY_BASE].tally;
    struct size_row *rows = page_made_alloc(made, STUDY_SIZES, sizeof *rows);
    size_t count = 0;

    for (uint32_t size = 0; rows != NULL && size < STUDY_SIZES; size++) {
        double held = 0;
        if (s->jobs.sizes[size] == 0)
            continue;
        for (uint32_t b = 0; b < SIM_SERVERS_COUNT; b++)
            held += t->servers_gpu_s[size][b];
        rows[count++] = (struct size_row){
            .size = study_size_names[size],
            .jobs = s->jobs.sizes[size],
            .unsuccessful = (double)s->unsuccessful[size] / (double)s->jobs.sizes[size],
            .spread = t->spread_gpu_s[size] / held,
            .beside = t->beside_gpu_s[size] / held,
            .slow_gpu_s = t->slow_gpu_s[size],
        };
    }
    return (shoal_records){.first = rows, .stride = sizeof *rows, .count = count};
}

static shoal_records fill_classes(struct page_made *made, const struct study *s)
{
    struct failure *rows = page_made_alloc(made, STUDY_CLASSES, sizeof *rows);

    for (size_t c = 0; rows != NULL && c < STUDY_CLASSES; c++)
        rows[c] = (struct failure){.name = study_classes[c].name,
                                   .cause = study_cause_name(study_classes[c].cause),
                                   .retry = study_classes[c].retry,
                                   .lost = s->lost[c]};
    return (shoal_records){.first = rows, .stride = sizeof *rows, .count = STUDY_CLASSES};
}

/* Of groups that have jobs. */
static shoal_numbers fill_quotas(struct page_made *made, const struct study *s)
{
    double *values = page_made_alloc(made, s->quotas.count, sizeof *values);
    const char **names = page_made_alloc(made, s->quotas.count, sizeof *names);
    size_t count = 0;

    for (uint32_t g = 0; values != NULL && names != NULL && g < s->quotas.count; g++) {
        if (s->quotas.none || s->quotas.gpu_s[g] <= 0)
            continue;
        names[count] = sim_names_get(&s->trace->groups, g);
        values[count++] = s->quotas.gpus[g];
    }
    return (shoal_numbers){.values = values, .count = count, .names = names};
}

typedef void say_fn(const struct study *study, struct base_buf *out);

static const char *sentence(struct page_made *made, const struct study *s, say_fn *say)
{
    struct base_buf text;

    base_buf_init(&text, s->alloc, TEXT_MAX);
    say(s, &text);
    const char *said = NULL;
    if (base_buf_status(&text) == SHOAL_OK)
        said = text.size == 0 ? NULL : page_made_text(made, "%s", text.data);
    else if (made != NULL)
        made->status = base_buf_status(&text);
    base_buf_fini(&text);
    return said;
}

static double cpu_of(const struct study *s)
{
    double sum = 0;

    for (size_t i = 0; i < STUDY_RUNS; i++) {
        sum += s->runs[i].tally.cpu_s;
        for (uint32_t d = 0; d < s->more_count; d++)
            sum += s->more[d].runs[i].tally.cpu_s;
    }
    return sum;
}

static void fill_words(struct page_made *made, const struct study_case *c, struct row *row)
{
    const struct study *s = c->study;

    row->say_lost = sentence(made, s, study_say_lost);
    row->say_first = sentence(made, s, study_say_first);
    row->say_second = sentence(made, s, study_say_second);
    row->say_unsure = sentence(made, s, study_say_unsure);
    row->say_waiting = sentence(made, s, study_say_waiting);
    row->say_speed = sentence(made, s, study_say_speed);
    row->say_failures = sentence(made, s, study_say_failures);
    row->say_together = sentence(made, s, study_say_together);
    row->say_luck = sentence(made, s, study_say_luck);
    const struct study_said said[] = {
        {"waiting", row->say_waiting},         {"speed", row->say_speed},
        {"failures", row->say_failures},       {"after the first step", row->say_second},
        {"all guidelines", row->say_together}, {"luck", row->say_luck},
    };
    row->said = study_said_records(made, said, BASE_COUNT(said));
    row->model = study_model(made, c);
}

static void fill_row(struct page_made *made, const struct study_case *c, struct row *row)
{
    const struct study *s = c->study;
    enum study_run_id first = study_first_step(s), second = study_second_step(s);

    row->self = row;
    row->v = 1;
    row->jobs = s->jobs.count;
    row->too_large = s->jobs.too_large;
    row->gpus = c->cluster.gpus;
    row->servers = c->cluster.node_count;
    row->cluster = c->spec.data != NULL ? c->spec.data : "";
    row->cluster_chosen = c->chosen;
    row->seed = s->opts.seed;
    row->input_hash = page_made_text(made, "%016" PRIx64, s->trace->input_hash);
    row->draws = s->more_count + 1;
    row->span_s = s->jobs.to_s - s->jobs.from_s;
    row->wall_s = s->wall_s;
    row->quota_source = s->quotas.none ? "none" : s->quotas.given ? "given" : "share";
    row->quotas = fill_quotas(made, s);
    row->pool_gpus = s->pool.gpus;
    row->pool_servers = s->pool.node_count;
    row->trial_s = s->opts.trial_s;
    row->pool_wait_s = s->pool_wait_s;
    row->pool_held_gpu_s = s->pool_gpu_s;
    row->failure_source = s->opts.failures == SHOAL_STUDY_FAILURES_NONE ? "none" : "model";
    row->unsuccessful = s->unsuccessful[STUDY_ALL];
    row->classes = fill_classes(made, s);
    row->lost_range = range_numbers(made, study_lost_range(s));
    row->first = first == STUDY_BASE ? NULL : study_guidelines[first].id;
    row->second = second == STUDY_BASE ? NULL : study_guidelines[second].id;
    fill_words(made, c, row);
    row->policy = s->runs[STUDY_TOGETHER].policy;
    row->round_s = s->opts.round_s;
    row->restart_s = s->opts.restart_s;
    row->cpu_s = cpu_of(s);
    row->usd_gpu_h = study_usd_gpu_h(s);
    row->wasted_gpu_s = study_wasted_gpu_s(s);
    row->wasted_usd = study_usd(s, row->wasted_gpu_s);
    row->echoes = STUDY_ECHOES;
    row->luck_wait_s = study_luck_s(s, STUDY_WAITS);
    row->luck_fragmentation_s = study_luck_s(s, SIM_WAIT_LOCALITY);
    row->luck_held_gpu_s = study_luck_gpu_s(s);
    row->runs = fill_runs(made, s);
    row->waiting = fill_waiting(made, s);
    row->waits = fill_waits(made, s);
    row->sizes = fill_sizes(made, s);
}

shoal_status study_result(struct study_case *c, const shoal_result **out_result, shoal_err *err)
{
    struct page_made *made = page_made_new(c->alloc);
    struct row *row = page_made_alloc(made, 1, sizeof *row);

    if (row != NULL) {
        fill_row(made, c, row);
        made->result.title = page_made_text(made, "What holds %u GPUs back", c->cluster.gpus);
        made->result.schema = &study_schema;
        made->result.records = (shoal_records){.first = row, .stride = sizeof *row, .count = 1};
        const char *verdict[] = {row->say_lost, row->say_first, row->say_unsure};
        for (size_t i = 0; i < BASE_COUNT(verdict); i++)
            if (verdict[i] != NULL)
                page_made_say(made, "%s\n", verdict[i]);
        study_pictures(made, c->study);
        study_notes(made, c);
    }
    page_made_own(made, study_case_free, c);
    return page_made_finish(made, out_result, err);
}
