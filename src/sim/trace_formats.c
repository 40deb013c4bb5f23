/* trace_formats.c - the trace formats of others: Gavel, Pollux and Sia, Philly, Alibaba 2023. What each
 * has besides the columns named here is not read; docs/formats.md describes them. */
#include "sim/reader.h"

#include "base/assert.h"
#include "base/text.h"
#include <math.h>

static uint32_t read_gpus(struct sim_read *rd, struct env_cell cell, uint64_t min, const char *what)
{
    return (uint32_t)env_table_whole(&rd->table, cell, min, SIM_JOB_GPUS_MAX, what);
}

/* Jobs that are left out by the rule of their format are counted. */
static bool left_out(struct sim_read *rd, const struct sim_job *job)
{
    bool out = rd->table.status == SHOAL_OK && (job->gpus == 0 || !(job->duration_s > 0));

    rd->trace->skipped += out;
    return out;
}

/* --- Gavel -------------------------------------------------------------------------------------
 *
 * Tab-separated lines without a header, in two shapes:
 *
 *   10 fields: job type, command, working directory, step flag, needs data, steps, scale factor,
 *              priority weight, SLO, arrival s
 *    7 fields: job type, command, step flag, needs data, steps, arrival s, scale factor (the
 * Philly- shaped traces, one file per virtual cluster)
 *
 * A job runs `steps` of model "job type" on `scale factor` GPUs; command, directory and flags are
 * not kept. Jobs have no names: "job-N", N the line. SLO below 0 means none; otherwise it is a
 * multiple of the job's duration (as the authors' scheduler has it: deadline = arrival + SLO x
 * duration), and the duration follows from a throughput table when the trace is bound. */

/* Where each value stands in the two shapes. */
static const struct shape {
    size_t fields, steps, scale, arrival, weight, slo; /* 0: not there */
} shapes[] = {
    {10, 5, 6, 9, 7, 8},
    {7, 4, 6, 5, 0, 0},
};

static bool is_gavel(const char *line, size_t length)
{
    size_t tabs = 0;

    for (size_t i = 0; i < length; i++)
        tabs += line[i] == '\t';
    return tabs == 9 || tabs == 6;
}

static float read_slo(struct sim_read *rd, struct env_cell cell)
{
    double slo = NAN;

    if (!base_parse_f64(cell.text, cell.length, &slo) || slo > 1e6)
        env_table_expected(&rd->table, cell, "an SLO, a multiple of the duration or -1");
    else if ((float)slo == 0)
        env_table_expected(&rd->table, cell, "an SLO above 0, or -1 for none");
    return slo > 0 ? (float)slo : NAN;
}

static void read_gavel(struct sim_read *rd)
{
    struct env_table *t = &rd->table;
    const struct shape *shape = NULL;

    t->separator = '\t';
    while (env_table_next(t)) {
        const struct env_cell *c = t->cells;
        struct sim_job job = sim_read_job();
        for (size_t i = 0; i < BASE_COUNT(shapes) && shape == NULL; i++)
            if (shapes[i].fields == t->count)
                shape = &shapes[i];
        if (shape == NULL) {
            env_table_bad(t, 0, "expected 10 or 7 fields separated by tabs, found %zu", t->count);
            return;
        }
        t->width = shape->fields;
        job.work = SIM_WORK_STEPS;
        job.model = sim_read_name(rd, c[0], "a job type", &rd->trace->models);
        job.steps = env_table_positive(t, c[shape->steps], SIM_STEPS_MAX, "steps");
        job.gpus = read_gpus(rd, c[shape->scale], 1, "a scale factor");
        job.submit_s = sim_read_time(rd, c[shape->arrival]);
        if (shape->weight > 0) {
            job.weight =
                env_table_positive(t, c[shape->weight], SIM_WEIGHT_MAX, "a priority weight");
            job.slo = read_slo(rd, c[shape->slo]);
        }
        sim_read_add(rd, c[0], "job", &job);
    }
}

const struct sim_reader sim_reader_gavel = {
    .name = "gavel", .detect = is_gavel, .read = read_gavel};

/* --- Pollux and Sia ----------------------------------------------------------------------------
 *
 * A job trains `application` to its end with total batch `batch_size`, asking for `num_replicas`
 * GPUs; its speed comes from the profile folder of the application when the trace is bound. */

static void read_pollux(struct sim_read *rd)
{
    enum { NAME, TIME, APPLICATION, REPLICAS, BATCH };
    static const struct env_column columns[] = {[NAME] = {"name", true},
                                                [TIME] = {"time", true},
                                                [APPLICATION] = {"application", true},
                                                [REPLICAS] = {"num_replicas", true},
                                                [BATCH] = {"batch_size", true}};
    struct env_table *t = &rd->table;

    env_table_header(t, NULL, columns, BASE_COUNT(columns), true);
    while (env_table_next(t)) {
        struct sim_job job = sim_read_job();
        job.work = SIM_WORK_PROFILE;
        job.submit_s = sim_read_time(rd, env_table_cell(t, TIME));
        job.model =
            sim_read_name(rd, env_table_cell(t, APPLICATION), "an application", &rd->trace->models);
        job.gpus = read_gpus(rd, env_table_cell(t, REPLICAS), 1, "replicas");
        job.batch =
            (uint32_t)env_table_whole(t, env_table_cell(t, BATCH), 1, INT32_MAX, "a total batch");
        sim_read_add(rd, env_table_cell(t, NAME), NULL, &job);
    }
}

const struct sim_reader sim_reader_pollux = {
    .name = "pollux", .header = "name,time,application", .read = read_pollux};

/* --- Philly ------------------------------------------------------------------------------------
 *
 * A job runs `duration` seconds on `num_gpus` GPUs; its group is the virtual cluster. Times are
 * dates (UTC), counted from the earliest job; the list is not sorted. Jobs have no names:
 * "philly-N", N the line. Jobs without GPUs and jobs of no duration are left out and counted;
 * negative numbers are errors. The published list of 82,247 jobs has neither. */

static void read_philly(struct sim_read *rd)
{
    enum { TIMESTAMP, DURATION, GPUS, CLUSTER };
    static const struct env_column columns[] = {[TIMESTAMP] = {"timestamp", true},
                                                [DURATION] = {"duration", true},
                                                [GPUS] = {"num_gpus", true},
                                                [CLUSTER] = {"cluster", true}};
    struct env_table *t = &rd->table;

    rd->clock = 'd';
    env_table_header(t, NULL, columns, BASE_COUNT(columns), true);
    while (env_table_next(t)) {
        struct sim_job job = sim_read_job();
        struct env_cell date = env_table_cell(t, TIMESTAMP), group = env_table_cell(t, CLUSTER);
        if (!base_parse_utc(date.text, date.length, &job.submit_s))
            env_table_expected(t, date, "a date such as 2017-10-09 07:01:55");
        job.duration_s = sim_read_seconds(rd, env_table_cell(t, DURATION), true);
        job.gpus = read_gpus(rd, env_table_cell(t, GPUS), 0, "GPUs");
        if (group.length > 0)
            job.group = sim_read_name(rd, group, "a virtual cluster", &rd->trace->groups);
        if (!left_out(rd, &job))
            sim_read_add(rd, date, "philly", &job);
    }
}

const struct sim_reader sim_reader_philly = {
    .name = "philly", .header = "timestamp,duration,num_gpus", .read = read_philly};

/* --- Alibaba 2023 ------------------------------------------------------------------------------
 *
 * Pods as jobs. A job is submitted at creation_time and runs deletion_time - scheduled_time seconds
 * (from creation_time where it was never scheduled: such pods waited that long and left, and count as
 * work of that length). Its group is the qos class; gpu_spec 'A|B' are the kinds it accepts. A share of
 * a GPU (gpu_milli below 1000) takes a whole one. Pods without GPUs and pods that were deleted when
 * created are left out and counted. Deletion before scheduling is an error. The resampled lists without
 * times (multigpu*) are not traces and are refused. */

static void read_alibaba(struct sim_read *rd)
{
    enum { NAME, GPUS, MILLI, SPEC, QOS, CREATED, DELETED, SCHEDULED };
    static const struct env_column columns[] = {[NAME] = {"name", true},
                                                [GPUS] = {"num_gpu", true},
                                                [MILLI] = {"gpu_milli", true},
                                                [SPEC] = {"gpu_spec", true},
                                                [QOS] = {"qos", true},
                                                [CREATED] = {"creation_time", true},
                                                [DELETED] = {"deletion_time", true},
                                                [SCHEDULED] = {"scheduled_time", true}};
    struct env_table *t = &rd->table;

    if (!env_table_header(t, NULL, columns, BASE_COUNT(columns), true) && t->at[CREATED] < 0)
        env_table_hint(t, "a pod list without times is not a trace");
    while (env_table_next(t)) {
        struct sim_job job = sim_read_job();
        struct env_cell qos = env_table_cell(t, QOS), deleted = env_table_cell(t, DELETED),
                        scheduled = env_table_cell(t, SCHEDULED);
        job.gpus = read_gpus(rd, env_table_cell(t, GPUS), 0, "GPUs");
        (void)env_table_whole(t, env_table_cell(t, MILLI), 0, 1000, "thousandths of a GPU");
        job.submit_s = sim_read_time(rd, env_table_cell(t, CREATED));
        double end_s = sim_read_time(rd, deleted);
        double start_s = scheduled.length > 0 ? sim_read_time(rd, scheduled) : job.submit_s;
        if (end_s < start_s)
            env_table_expected(t, deleted, "a deletion_time that is not before the start");
        job.duration_s = end_s - start_s;
        job.want_kinds = sim_read_kinds(rd, env_table_cell(t, SPEC));
        if (qos.length > 0)
            job.group = sim_read_name(rd, qos, "a qos class", &rd->trace->groups);
        if (!left_out(rd, &job))
            sim_read_add(rd, env_table_cell(t, NAME), NULL, &job);
    }
}

const struct sim_reader sim_reader_alibaba = {
    .name = "alibaba", .header = "name,cpu_milli,memory_mib,num_gpu", .read = read_alibaba};
