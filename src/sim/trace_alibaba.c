/* trace_alibaba.c - Alibaba's GPU trace of 2023: pods as jobs, and its node list as a cluster.
 *
 * Pods: CSV name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,
 * deletion_time,scheduled_time. A job is submitted at creation_time and runs deletion_time -
 * scheduled_time seconds (from creation_time where it was never scheduled: such pods waited that
 * long and left, and count as work of that length). Its group is the qos class; gpu_spec 'A|B' are
 * the kinds it accepts. A share of a GPU (gpu_milli below 1000) takes a whole one. Pods without
 * GPUs and pods that were deleted when created are left out and counted. Deletion before scheduling
 * is an error. The resampled lists without times (multigpu*) are not traces and are refused. */
#include "sim/trace_alibaba.h"

#include "base/err.h"
#include "sched/cluster.h"
#include "sim/reader.h"
#include <ctype.h>
#include <math.h>
#include <string.h>

enum { NAME, GPUS, MILLI, SPEC, QOS, CREATED, DELETED, SCHEDULED, COLUMNS };

static bool detect(const char *line, size_t length)
{
    return sim_read_starts(line, length, "name,cpu_milli,memory_mib,num_gpu,");
}

static shoal_status read_times(struct sim_read *rd, const struct env_column *columns,
                               struct sim_job *job, shoal_err *err)
{
    const struct env_field *scheduled = &rd->fields[columns[SCHEDULED].at];
    const struct env_field *deleted = &rd->fields[columns[DELETED].at];
    double end = 0, start = 0;
    shoal_status st =
        sim_read_seconds(rd, &rd->fields[columns[CREATED].at], true, &job->submit_s, err);

    if (st == SHOAL_OK)
        st = sim_read_seconds(rd, deleted, true, &end, err);
    start = job->submit_s;
    if (st == SHOAL_OK && scheduled->length > 0)
        st = sim_read_seconds(rd, scheduled, true, &start, err);
    if (st != SHOAL_OK)
        return st;
    if (end < start)
        return sim_read_expected(rd, deleted, "a deletion_time that is not before the start", err);
    job->duration_s = end - start;
    return SHOAL_OK;
}

static shoal_status read_line(struct sim_read *rd, const struct env_column *columns, void *ctx,
                              shoal_err *err)
{
    struct sim_job job = sim_read_job();
    struct env_field *f = rd->fields;
    uint32_t milli;

    (void)ctx;
    shoal_status st =
        sim_read_whole(rd, &f[columns[GPUS].at], 0, SIM_JOB_GPUS_MAX, "GPUs", &job.gpus, err);

    if (st == SHOAL_OK)
        st =
            sim_read_whole(rd, &f[columns[MILLI].at], 0, 1000, "thousandths of a GPU", &milli, err);
    if (st == SHOAL_OK)
        st = read_times(rd, columns, &job, err);
    if (st == SHOAL_OK)
        st = sim_read_kinds(rd, &f[columns[SPEC].at], &job.want_kinds, err);
    if (st == SHOAL_OK && f[columns[QOS].at].length > 0)
        st = sim_read_name(rd, &f[columns[QOS].at], "a qos class", &rd->trace->groups, &job.group,
                           err);
    if (st != SHOAL_OK)
        return st;
    if (job.gpus == 0 || !(job.duration_s > 0)) {
        rd->trace->skipped++;
        return SHOAL_OK;
    }
    return sim_read_add(rd, &f[columns[NAME].at], NULL, &job, err);
}

static shoal_status read(struct sim_read *rd, shoal_err *err)
{
    struct env_column columns[COLUMNS] = {
        [NAME] = {"name", true, -1},
        [GPUS] = {"num_gpu", true, -1},
        [MILLI] = {"gpu_milli", true, -1},
        [SPEC] = {"gpu_spec", true, -1},
        [QOS] = {"qos", true, -1},
        [CREATED] = {"creation_time", true, -1},
        [DELETED] = {"deletion_time", true, -1},
        [SCHEDULED] = {"scheduled_time", true, -1},
    };
    struct sim_table table = {columns, COLUMNS, false, read_line, NULL};
    shoal_status st = sim_read_table(rd, &table, err);

    if (st != SHOAL_OK && columns[CREATED].at < 0)
        base_err_hint(err, "a pod list without times is not a trace");
    return st;
}

const struct sim_reader sim_reader_alibaba = {.name = "alibaba", .detect = detect, .read = read};

/* --- the node list -----------------------------------------------------------------------------
 */

enum { NODE_GPUS, NODE_MODEL, NODE_COLUMNS, GROUPS_MAX = 256 };

/* Nodes alike, counted. */
struct nodes {
    char model[SCHED_KIND_NAME_MAX];
    uint32_t gpus, count;
};

struct node_list {
    struct nodes groups[GROUPS_MAX];
    size_t count;
};

static shoal_status count_node(struct sim_read *rd, const struct env_column *columns, void *ctx,
                               shoal_err *err)
{
    struct node_list *list = ctx;
    struct nodes *groups = list->groups;
    const struct env_field *model = &rd->fields[columns[NODE_MODEL].at];
    uint32_t gpus;
    size_t g = 0;
    shoal_status st = sim_read_whole(rd, &rd->fields[columns[NODE_GPUS].at], 0, SCHED_NODE_GPUS_MAX,
                                     "GPUs of a node", &gpus, err);

    if (st != SHOAL_OK || gpus == 0)
        return st;
    if (model->length == 0 || model->length >= SCHED_KIND_NAME_MAX)
        return sim_read_expected(rd, model, "the name of a kind, at most 31 bytes", err);
    for (size_t i = 0; i < model->length; i++)
        if (!isalnum((unsigned char)model->text[i]) && strchr("_-.", model->text[i]) == NULL)
            return sim_read_expected(rd, model, "a kind of letters, digits, _ - and .", err);
    while (g < list->count && (groups[g].gpus != gpus || !sim_read_is(model, groups[g].model)))
        g++;
    if (g == GROUPS_MAX)
        return env_lines_bad(&rd->lines, 0, err, "expected at most %d different nodes", GROUPS_MAX);
    if (g == list->count) {
        groups[g] = (struct nodes){.gpus = gpus};
        memcpy(groups[g].model, model->text, model->length);
        list->count++;
    }
    groups[g].count++;
    return SHOAL_OK;
}

shoal_status sim_cluster_from_openb(shoal_env *env, const char *path, struct base_buf *out,
                                    shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    struct sim_read *rd = base_calloc(alloc, 1, sizeof *rd);
    struct node_list *list = base_calloc(alloc, 1, sizeof *list);
    struct env_column columns[NODE_COLUMNS] = {
        [NODE_GPUS] = {"gpu", true, -1},
        [NODE_MODEL] = {"model", true, -1},
    };
    struct sim_table table = {columns, NODE_COLUMNS, false, count_node, list};
    shoal_status st;

    if (rd == NULL || list == NULL) {
        st = base_err_nomem(err, "reading a node list");
        goto done;
    }
    st = env_lines_open(env, "node list", path, &rd->lines, err);
    if (st != SHOAL_OK)
        goto done;
    st = sim_read_table(rd, &table, err);
    env_lines_close(&rd->lines);
    if (st == SHOAL_OK && list->count == 0)
        st = base_err(err, SHOAL_E_FORMAT, "cannot read node list '%s': no nodes with GPUs in it",
                      path);
    for (size_t g = 0; st == SHOAL_OK && g < list->count; g++)
        base_buf_printf(out, "%s%ux%u:%s", g > 0 ? "," : "", list->groups[g].count,
                        list->groups[g].gpus, list->groups[g].model);
    if (st == SHOAL_OK)
        st = base_buf_status(out);
done:
    base_free(alloc, list);
    base_free(alloc, rd);
    return st;
}
