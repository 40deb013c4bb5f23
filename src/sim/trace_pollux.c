/* trace_pollux.c - Pollux's and Sia's workloads: CSV name,time,application,num_replicas,batch_size.
 *
 * A job trains `application` to its end with total batch `batch_size`, asking for `num_replicas`
 * GPUs; its speed comes from the profile folder of the application when the trace is bound. Columns
 * may stand in any order; further ones are ignored. */
#include "sim/reader.h"

enum { NAME, TIME, APPLICATION, REPLICAS, BATCH, COLUMNS };

static bool detect(const char *line, size_t length)
{
    return sim_read_starts(line, length, "name,time,application,");
}

static shoal_status read_line(struct sim_read *rd, const struct env_column *columns, void *ctx,
                              shoal_err *err)
{
    struct sim_job job = sim_read_job();
    struct env_field *f = rd->fields;

    (void)ctx;
    job.work = SIM_WORK_PROFILE;
    shoal_status st = sim_read_seconds(rd, &f[columns[TIME].at], true, &job.submit_s, err);
    if (st == SHOAL_OK)
        st = sim_read_name(rd, &f[columns[APPLICATION].at], "an application", &rd->trace->models,
                           &job.model, err);
    if (st == SHOAL_OK)
        st = sim_read_whole(rd, &f[columns[REPLICAS].at], 1, SIM_JOB_GPUS_MAX, "replicas",
                            &job.gpus, err);
    if (st == SHOAL_OK)
        st = sim_read_whole(rd, &f[columns[BATCH].at], 1, INT32_MAX, "a total batch", &job.batch,
                            err);
    return st == SHOAL_OK ? sim_read_add(rd, &f[columns[NAME].at], NULL, &job, err) : st;
}

static shoal_status read(struct sim_read *rd, shoal_err *err)
{
    struct env_column columns[COLUMNS] = {
        [NAME] = {"name", true, -1},
        [TIME] = {"time", true, -1},
        [APPLICATION] = {"application", true, -1},
        [REPLICAS] = {"num_replicas", true, -1},
        [BATCH] = {"batch_size", true, -1},
    };
    struct sim_table table = {columns, COLUMNS, false, read_line, NULL};

    return sim_read_table(rd, &table, err);
}

const struct sim_reader sim_reader_pollux = {.name = "pollux", .detect = detect, .read = read};
