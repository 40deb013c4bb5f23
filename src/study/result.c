/* result.c - what a study came to: one record, with a run for each guideline, and what there is to know beside it.
 * A figure is a row here and the line that computes it.
 *
 * What lies in the study (tallies, books, classes) is not copied: the result owns the study. Tests:
 * tests/unit/study/test_run.c, test_pictures.c, tests/cli/test_study.py. */
#include "study/study.h"

#include "base/assert.h"
#include "base/text.h"
#include "page/field.h"
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

#define ROW struct study_delay
static const shoal_field delay_fields[] = {
    DATA(jobs, COUNT, 0, "jobs that waited for it"),
    DATA(total_s, SECONDS, 0, "for how long together"),
    DATA(p50_s, SECONDS, 0, "half of them waited at most this"),
    DATA(p95_s, SECONDS, 0, "95 of 100 waited at most this"),
    DATA(p99_s, SECONDS, 0, "99 of 100 waited at most this"),
};
#undef ROW
SCHEMA(delay, "delay", NULL, "Waiting for one reason");

#define ROW struct delays
static const shoal_field delays_fields[] = {
    DATA(size, NONE, 0, "GPUs of the jobs"),
    RECORD(by[SIM_WAIT_FAIR_SHARE], "fair_share", delay_schema,
           "its group had used its quota, others had not"),
    RECORD(by[SIM_WAIT_LOCALITY], "fragmentation", delay_schema,
           "enough GPUs were free, but not close together"),
    RECORD(by[SIM_WAIT_CAPACITY], "capacity", delay_schema, "too few GPUs were free"),
    RECORD(by[SIM_WAIT_OTHER], "next_round", delay_schema, "until the next decision"),
    RECORD(by[STUDY_WAITS], "all", delay_schema, "for any reason; quantiles are over all jobs"),
};
#undef ROW
SCHEMA(delays, "delays", NULL, "Waiting of jobs of one size");

#define ROW struct places
static const shoal_field places_fields[] = {
    DATA(size, NONE, 0, "GPUs of the jobs"),
    DATA_AS(MAP, servers_gpu_s, "gpu_s_by_servers", HOURS, 0,
            "GPU time held, by number of servers"),
    DATA(spread_gpu_s, HOURS, -1, "of that on more servers than needed"),
    DATA(beside_gpu_s, HOURS, -1, "of that on nodes shared with another job of several GPUs"),
    DATA(slow_gpu_s, HOURS, -1, "lost to slower places"),
};
#undef ROW
SCHEMA(places, "sizes", NULL, "Places of jobs of one size");

#define ROW struct run
static const shoal_field run_fields[] = {
    DATA(id, NONE, 0, "such as migrate"),
    FIELD(name, "GUIDELINE", NONE, 0, 1, "in words"),
    DATA(simulated, NONE, 0, "whether it could be"),
    DATA(why_not, NONE, 0, "where it could not", OPTIONAL),
    DATA(policy, NONE, 0, "the policy with its knobs but the quotas"),
    FIELD(
        saved_usd, "SAVED", USD, 1, 1, "the same in money, at the mean price of the cluster's GPUs",
        .flags = SHOAL_FIELD_SPARSE | SHOAL_FIELD_OPTIONAL, .unsure = offsetof(ROW, saved_unsure)),
    COLUMN(saved_shown_gpu_s, "GPU H SAVED", HOURS, 1, 3,
           "GPU-hours held less than as it is, trials counted", SPARSE,
           .unsure = offsetof(ROW, saved_unsure)),
    COLUMN(saved_in_draws, "SAVED IN ALL DRAWS", NONE, 0, 1, "the least and the most of all draws",
           SPARSE),
    COLUMN(waits_s[STUDY_WAITS], "ALL WAITING", HOURS, -1, 1, "hours of waiting for any reason",
           .unsure = offsetof(ROW, waits_unsure[STUDY_WAITS])),
    COLUMN(waits_s[SIM_WAIT_LOCALITY], "FRAGMENTATION", HOURS, -1, 1,
           "hours of waiting while enough GPUs were free but scattered",
           .unsure = offsetof(ROW, waits_unsure[SIM_WAIT_LOCALITY])),
    COLUMN(waits_s[SIM_WAIT_FAIR_SHARE], "FAIR SHARE", HOURS, -1, 4,
           "hours of waiting because the group had used its quota and others had not",
           .unsure = offsetof(ROW, waits_unsure[SIM_WAIT_FAIR_SHARE])),
    COLUMN(waits_s[SIM_WAIT_CAPACITY], "CAPACITY", HOURS, -1, 1,
           "hours of waiting because too few GPUs were free",
           .unsure = offsetof(ROW, waits_unsure[SIM_WAIT_CAPACITY]), PAGED),
    FIELD_NAMED(tally.utilization, "utilization", "USEFUL", PERCENT, 1, 2,
                "GPU time of work that passes over that of all GPUs"),
    DATA_NAMED(tally.occupancy, "occupancy", PERCENT, 0, "GPU time held over that of all GPUs"),
    DATA(fragmentation_ratio, TIMES, 1,
         "fragmentation waiting of the base line over that of this run"),
    DATA(saved_gpu_s, HOURS, 1, "GPU time held less than in the base line, trials counted"),
    DATA(spared_gpu_s, HOURS, 1, "of that, work not run at all, less trials: exact"),
    FIELD_NAMED(tally.avg_jct_s, "avg_jct_s", "AVG JCT", SECONDS, -1, 5,
                "mean completion time of jobs that pass, trials counted"),
    DATA_NAMED(tally.p50_jct_s, "p50_jct_s", SECONDS, -1,
               "half of them were done within this time"),
    DATA_NAMED(tally.p99_jct_s, "p99_jct_s", SECONDS, -1,
               "99 of 100 of them were done within this time"),
    DATA_NAMED(tally.held_gpu_s, "held_gpu_s", HOURS, 0, "GPU time held by jobs"),
    DATA_NAMED(tally.slow_all_gpu_s, "slow_gpu_s", HOURS, -1, "GPU time lost to slower places"),
    DATA_NAMED(books.recorded_gpu_s, "work_recorded_gpu_s", HOURS, 0, "GPU time of the trace"),
    DATA_NAMED(books.useful_gpu_s, "work_useful_gpu_s", HOURS, 0, "of that, of attempts that pass"),
    DATA_NAMED(books.lost_gpu_s, "work_lost_gpu_s", HOURS, -1, "of that, of attempts that failed"),
    DATA_NAMED(books.saved_gpu_s, "work_saved_gpu_s", HOURS, 1,
               "of that, of attempts that are not run"),
    DATA_NAMED(books.trial_gpu_s, "trial_gpu_s", HOURS, -1, "spent in trials"),
    DATA_NAMED(tally.trial_s, "trial_delay_s", SECONDS, -1,
               "what trials delay the jobs that go on"),
    DATA(caught, COUNT, 1, "jobs found in their trial"),
    DATA(cut, COUNT, 1, "jobs stopped after one attempt"),
    FIELD(moves, "MOVES", COUNT, 0, 5, "running jobs moved to other servers"),
    DATA(restarts, COUNT, 0, "starts of a job after its first, moves included"),
    DATA(preempted, COUNT, 0, "times a job was stopped for another"),
    DATA_NAMED(tally.cpu_s, "cpu_s", SECONDS, 0, "CPU time of the simulation"),
    DATA_NAMED(saved_range, "saved_gpu_s_range", HOURS, 0, "least and most of all draws"),
    DATA_NAMED(spared_range, "spared_gpu_s_range", HOURS, 0, "least and most of all draws"),
    DATA_NAMED(ratio_range, "fragmentation_ratio_range", TIMES, 0, "least and most of all draws"),
    DATA_AS(KEYED, delays, "delays", NONE, 0, "waiting by size of job and reason",
            .of = &delays_schema),
    DATA_AS(KEYED, sizes, "sizes", NONE, 0, "places by size of job", .of = &places_schema),
};
#undef ROW
/* Of the same records: what guidelines change besides. */
#define ROW struct run
static const shoal_field change_fields[] = {
    COLUMN(name, "GUIDELINE", NONE, 0, 1, "in words"),
    COLUMN(spread, "SPREAD", PERCENT, -1, 1, "GPU time on more servers than the job needs"),
    COLUMN(beside, "BESIDE", PERCENT, -1, 1,
           "GPU time of jobs of several GPUs that share a server with another such job"),
    COLUMN(tally.slow_all_gpu_s, "LOST TO SPEED", HOURS, -1, 1, "GPU-hours lost to slower places"),
    COLUMN(tally.occupancy, "BUSY", PERCENT, 0, 1, "GPU time held over that of all GPUs"),
    COLUMN(restarts, "RESTARTS", COUNT, 0, 1, "starts of a job after its first, moves included"),
    COLUMN(spared_in_draws, "OF IT NOT RUN", NONE, 0, 1,
           "GPU-hours of work that is not run at all, less trials, in all draws; the rest is speed",
           SPARSE),
};
#undef ROW
SCHEMA(change, "changes", NULL, "One guideline, simulated");

SCHEMA(run, "runs", NULL, "One guideline, simulated");

/* ---- what was studied ---- */

/* Waiting for one reason, by size of job. */
struct wait_row {
    const char *name;
    double sizes_s[STUDY_SIZES], all_s, share;
};

#define ROW struct wait_row
static const shoal_field reason_fields[] = {
    FIELD_NAMED(name, "reason", "WAITING, HOURS", NONE, 0, 1, "what jobs waited for"),
    COLUMN(sizes_s[0], "1 GPU", HOURS, 0, 2, "of jobs of one GPU", SPARSE),
    COLUMN(sizes_s[1], "2-4 GPUs", HOURS, 0, 2, "of jobs of 2 to 4 GPUs", SPARSE),
    COLUMN(sizes_s[2], "5-8 GPUs", HOURS, 0, 2, "of jobs of 5 to 8 GPUs", SPARSE),
    COLUMN(sizes_s[3], ">8 GPUs", HOURS, 0, 2, "of jobs of more than 8 GPUs", SPARSE),
    COLUMN(all_s, "ALL", HOURS, 0, 1, "of all jobs"),
    COLUMN(share, "SHARE", SHARE, 0, 1, "of all waiting"),
};
#undef ROW
SCHEMA(reason, "waiting", NULL, "One reason to wait");

/* Jobs of one size that waited for one reason. */
struct wait {
    const char *size, *reason;
    double jobs, share, total_s, p50_s, p95_s;
};

#define ROW struct wait
static const shoal_field wait_fields[] = {
    COLUMN(size, "JOBS OF GPUS", NONE, 0, 1, "GPUs of the jobs"),
    COLUMN(reason, "WAITED FOR", NONE, 0, 1,
           "fragmentation: enough GPUs were free, but scattered; fair share: its group had used "
           "its quota, others had not; capacity: too few GPUs were free"),
    COLUMN(jobs, "JOBS", COUNT, 0, 1, "that waited for it"),
    COLUMN(share, "OF ITS SIZE", SHARE, 0, 1, "share of the jobs of the size"),
    COLUMN(total_s, "HOURS", HOURS, 0, 1, "for how many hours together"),
    COLUMN(p50_s, "MEDIAN", SECONDS, 0, 1, "half of those that waited for it did for at most this"),
    COLUMN(p95_s, "P95", SECONDS, 0, 1,
           "95 of 100 of them did for at most this; not told of fewer than 20 jobs"),
};
#undef ROW
SCHEMA(wait, "wait", NULL, "Jobs of one size, one reason");

/* Jobs of one size. */
struct size_row {
    const char *size;
    uint64_t jobs;
    double unsuccessful, spread, beside, slow_gpu_s;
};

#define ROW struct size_row
static const shoal_field size_fields[] = {
    COLUMN(size, "GPUS", NONE, 0, 1, "GPUs of the jobs"),
    COLUMN(jobs, "JOBS", COUNT, 0, 1, "of this size"),
    COLUMN(unsuccessful, "UNSUCCESSFUL", SHARE, 0, 1,
           "share of the jobs that did not pass, by the model"),
    COLUMN(spread, "SPREAD", SHARE, 0, 1, "share of their GPU time on more servers than needed"),
    COLUMN(beside, "BESIDE", SHARE, 0, 1,
           "share of their GPU time beside another job of several GPUs"),
    COLUMN(slow_gpu_s, "LOST TO SPEED", HOURS, 0, 1, "GPU-hours that slower places cost"),
};
#undef ROW
SCHEMA(size, "size", NULL, "Jobs of one size");

#define ROW struct study_said
static const shoal_field said_fields[] = {
    COLUMN(what, "ABOUT", NONE, 0, 1, "what it is about"),
    COLUMN(text, "FINDING", NONE, 0, 1, "what is said"),
};
#undef ROW
SCHEMA(said, "said", NULL, "A sentence");

/* A class of failures. */
struct failure {
    const char *name, *cause;
    bool retry;
    struct study_lost lost;
};

#define ROW struct failure
static const shoal_field failure_fields[] = {
    FIELD(name, "CLASS", NONE, 0, 1, "of failures"),
    FIELD(cause, "CAUSE", NONE, 0, 2, "user, infrastructure or unknown"),
    FIELD(retry, "CAN PASS", NONE, 0, 2, "whether a further attempt can"),
    FIELD_NAMED(lost.jobs, "jobs", "JOBS", COUNT, 0, 1, "that met one"),
    FIELD_NAMED(lost.passed, "passed", "PASSED", COUNT, 0, 2, "of those passed in the end"),
    FIELD_NAMED(lost.attempts, "attempts", "ATTEMPTS", COUNT, 0, 2, "of those jobs"),
    FIELD_NAMED(lost.lost_gpu_s, "lost_gpu_s", "GPU H LOST", HOURS, 0, 1,
                "GPU time of the attempts that failed"),
};
#undef ROW
SCHEMA(failure, "classes", NULL, "A class of failures");

struct row {
    shoal_study_opts opts;
    uint64_t jobs, too_large, unsuccessful;
    uint32_t gpus, servers, draws, v, echoes, pool_gpus, pool_servers;
    const char *cluster, *input_hash, *first, *second, *quota_source, *failure_source;
    const char *policy;
    bool cluster_chosen;
    double cpu_s, span_s, wall_s, pool_wait_s, pool_held_gpu_s;
    double luck_wait_s, luck_fragmentation_s, luck_held_gpu_s;
    double usd_gpu_h, wasted_gpu_s, wasted_usd;
    const char *say_lost, *say_second, *say_unsure, *say_first, *say_waiting, *say_speed,
        *say_failures, *say_together, *say_luck;
    shoal_numbers quotas, lost_range;
    shoal_records runs, waiting, classes, waits, sizes, said, model;
    const struct row *self; /* of the objects inside */
};

#define ROW struct row
static const shoal_field quota_fields[] = {
    DATA_NAMED(quota_source, "source", NONE, 0, "none, given, or share: by share of GPU time"),
    DATA_AS(MAP, quotas, "gpus", COUNT, 0, "by group"),
};
SCHEMA(quota, "quotas", NULL, "GPUs that groups have a right to");

static const shoal_field pool_fields[] = {
    DATA_NAMED(pool_gpus, "gpus", COUNT, 0, "in it"),
    DATA_NAMED(pool_servers, "servers", COUNT, 0, "in it"),
    DATA_NAMED(opts.trial_s, "trial_s", SECONDS, 0, "the longest trial"),
    DATA_NAMED(pool_wait_s, "wait_s", SECONDS, -1, "what trials waited for it together"),
    DATA_NAMED(pool_held_gpu_s, "held_gpu_s", HOURS, 0, "GPU time held in it"),
};
SCHEMA(pool, "trial_pool", NULL, "Servers set apart for trials");

static const shoal_field failures_fields[] = {
    DATA_NAMED(failure_source, "source", NONE, 0, "model or none"),
    DATA(unsuccessful, COUNT, -1, "jobs that did not pass"),
    LIST(classes, "classes", NULL, 0, failure_schema, "what failed"),
};
SCHEMA(failures, "failures", NULL, "How jobs ended, by the model");

static const shoal_field finding_fields[] = {
    DATA(v, NONE, 0, "1"),
    DATA_NAMED(say_first, "first", NONE, 0, "what to do first"),
    DATA_NAMED(say_lost, "lost", NONE, 0, "what failures and slow places cost"),
    DATA_NAMED(say_second, "second", NONE, 0, "what to do then"),
    DATA_NAMED(say_unsure, "unsure", NONE, 0,
               "guidelines that save in some draws and cost in others", OPTIONAL),
    DATA_NAMED(say_waiting, "waiting", NONE, 0, "why jobs wait"),
    DATA_NAMED(say_speed, "speed", NONE, 0, "what spreading jobs out costs"),
    DATA_NAMED(say_failures, "failures", NONE, 0, "what failures cost"),
    DATA_NAMED(say_together, "together", NONE, 0, "what all guidelines together would do"),
    DATA_NAMED(say_luck, "luck", NONE, 0,
               "the part of a difference that chance alone could explain"),
};
SCHEMA(finding, "findings", NULL, "The study in sentences");

static const shoal_field luck_fields[] = {
    DATA(echoes, COUNT, 0, "further runs of the base line, submissions up to a round later"),
    DATA_NAMED(luck_wait_s, "wait_s", SECONDS, 0, "how far they differ in waiting"),
    DATA_NAMED(luck_fragmentation_s, "fragmentation_s", SECONDS, 0, "and in fragmentation waiting"),
    DATA_NAMED(luck_held_gpu_s, "held_gpu_s", HOURS, 0, "and in GPU time held"),
};
SCHEMA(luck, "luck", NULL, "What differs without a reason");

static const shoal_field fields[] = {
    DATA(jobs, COUNT, 0, "that were studied"),
    DATA(too_large, COUNT, 0, "jobs that can never run on the cluster, left out"),
    DATA(gpus, COUNT, 0, "of the cluster"),
    DATA(servers, COUNT, 0, "of the cluster"),
    FIELD(cluster, "CLUSTER", NONE, 0, 0, "its spec"),
    DATA(cluster_chosen, NONE, 0, "as none was given"),
    FIELD_NAMED(opts.seed, "seed", "SEED", NONE, 0, 0, "of everything drawn"),
    FIELD(input_hash, "INPUT HASH", NONE, 0, 0, "of the trace"),
    FIELD(draws, "DRAWS", COUNT, 0, 0, "times that failures and submissions were drawn"),
    DATA(span_s, SECONDS, 0, "from the first submission to the last end if nobody had waited"),
    DATA(wall_s, SECONDS, 0, "time the study took"),
    COLUMN(policy, "POLICY", NONE, 0, 0, "with all guidelines"),
    COLUMN(opts.round_s, "ROUND", SECONDS, 0, 0, "time between two decisions"),
    COLUMN(opts.restart_s, "RESTART", SECONDS, 0, 0, "time a start or move takes"),
    COLUMN(cpu_s, "CPU TIME, ALL RUNS", SECONDS, 0, 0, "of all simulations"),
    FIELD(usd_gpu_h, "PRICE OF A GPU-HOUR", USD, 0, 0, "mean price of the cluster's GPUs",
          OPTIONAL),
    DATA(wasted_gpu_s, HOURS, -1, "GPU time that attempts that fail and slow places cost"),
    DATA(wasted_usd, USD, -1, "the same in money", OPTIONAL),
    RECORD(self, "quotas", quota_schema, "GPUs that groups have a right to"),
    RECORD(self, "trial_pool", pool_schema, "servers set apart for trials"),
    RECORD(self, "failures", failures_schema, "how jobs ended, by the model"),
    DATA_NAMED(lost_range, "lost_gpu_s_range", HOURS, 0,
               "least and most of all draws that failures cost"),
    DATA(first, NONE, 0, "the guideline to begin with"),
    DATA(second, NONE, 0, "and the one after it"),
    RECORD(self, "findings", finding_schema, "the study in sentences"),
    RECORD(self, "luck", luck_schema, "what differs without a reason"),
    LIST(runs, "runs", "What each guideline would save", 1, run_schema,
         "the base line, each guideline, all of them"),
    LIST(waiting, NULL, "Why jobs wait", 1, reason_schema, "by reason and size of job"),
    LIST(runs, NULL, "What guidelines change besides", 1, change_schema, "places, restarts, work",
         PAGED),
    LIST(waits, NULL, "Who waits, and how long", 1, wait_schema, "as it is", PAGED),
    LIST(sizes, NULL, "Jobs by size", 1, size_schema, "as it is", PAGED),
    LIST(classes, NULL, "Failures, by class (model)", 1, failure_schema, "what failed", PAGED),
    LIST(said, NULL, "Findings", 1, said_schema, "the study in sentences", PAGED),
    LIST(model, NULL, "What is measured and what is modelled", 1, said_schema,
         "where figures come from", PAGED),
};
#undef ROW
static const shoal_schema study_schema = SCHEMA_OF("study", NULL, "A study of a trace", fields);

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
    return page_records(rows, STUDY_SIZES + 1);
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
    return page_records(rows, STUDY_SIZES);
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
    return page_records(rows, STUDY_RUNS);
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
    return page_records(rows, SIM_WAIT_COUNT);
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
    return page_records(rows, count);
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
    return page_records(rows, count);
}

static shoal_records fill_classes(struct page_made *made, const struct study *s)
{
    struct failure *rows = page_made_alloc(made, STUDY_CLASSES, sizeof *rows);

    for (size_t c = 0; rows != NULL && c < STUDY_CLASSES; c++)
        rows[c] = (struct failure){.name = study_classes[c].name,
                                   .cause = study_cause_name(study_classes[c].cause),
                                   .retry = study_classes[c].retry,
                                   .lost = s->lost[c]};
    return page_records(rows, STUDY_CLASSES);
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
    row->opts = s->opts;
    row->input_hash = page_made_text(made, "%016" PRIx64, s->trace->input_hash);
    row->draws = s->more_count + 1;
    row->span_s = s->jobs.to_s - s->jobs.from_s;
    row->wall_s = s->wall_s;
    row->quota_source = s->quotas.none ? "none" : s->quotas.given ? "given" : "share";
    row->quotas = fill_quotas(made, s);
    row->pool_gpus = s->pool.gpus;
    row->pool_servers = s->pool.node_count;
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
        made->result.records = page_records(row, 1);
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
