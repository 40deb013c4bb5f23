/* trace_philly.c - the Philly job list: CSV timestamp,duration,num_gpus,gpu_time,cluster.
 *
 * A job runs `duration` seconds on `num_gpus` GPUs; its group is the virtual cluster. Times are
 * dates (UTC), counted from the earliest job; the list is not sorted. Jobs have no names:
 * "philly-N", N the line. Jobs without GPUs and jobs of no duration are left out and counted;
 * negative numbers are errors. The published list of 82,247 jobs has neither. */
#include "sim/reader.h"

#include "base/text.h"

enum { TIMESTAMP, DURATION, GPUS, CLUSTER, COLUMNS };

static bool detect(const char *line, size_t length)
{
    return sim_read_starts(line, length, "timestamp,duration,num_gpus,");
}

static shoal_status read_line(struct sim_read *rd, const struct env_column *columns, void *ctx,
                              shoal_err *err)
{
    struct sim_job job = sim_read_job();
    const struct env_field *date = &rd->fields[columns[TIMESTAMP].at];
    const struct env_field *group = &rd->fields[columns[CLUSTER].at];
    double duration = 0;

    (void)ctx;
    if (!base_parse_utc(date->text, date->length, &job.submit_s))
        return sim_read_expected(rd, date, "a date such as 2017-10-09 07:01:55", err);
    shoal_status st = sim_read_seconds(rd, &rd->fields[columns[DURATION].at], true, &duration, err);
    if (st == SHOAL_OK)
        st = sim_read_whole(rd, &rd->fields[columns[GPUS].at], 0, SIM_JOB_GPUS_MAX, "GPUs",
                            &job.gpus, err);
    if (st == SHOAL_OK && group->length > 0)
        st = sim_read_name(rd, group, "a virtual cluster", &rd->trace->groups, &job.group, err);
    if (st != SHOAL_OK)
        return st;
    if (!(duration > 0) || job.gpus == 0) {
        rd->trace->skipped++;
        return SHOAL_OK;
    }
    job.work = SIM_WORK_DURATION;
    job.duration_s = duration;
    return sim_read_add(rd, NULL, "philly", &job, err);
}

static shoal_status read(struct sim_read *rd, shoal_err *err)
{
    struct env_column columns[COLUMNS] = {
        [TIMESTAMP] = {"timestamp", true, -1},
        [DURATION] = {"duration", true, -1},
        [GPUS] = {"num_gpus", true, -1},
        [CLUSTER] = {"cluster", true, -1},
    };
    struct sim_table table = {columns, COLUMNS, false, read_line, NULL};

    return sim_read_table(rd, &table, err);
}

const struct sim_reader sim_reader_philly = {
    .name = "philly", .dates = true, .detect = detect, .read = read};
