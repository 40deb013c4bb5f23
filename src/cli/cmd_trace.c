/* cmd_trace.c - `shoal trace info` and `shoal trace convert`: workloads described, and rewritten in
 * our own CSV. */
#include "cli/cli.h"

#include "base/assert.h"
#include "base/event.h"
#include "base/text.h"
#include "cli/cluster.h"
#include "cli/columns.h"
#include "cli/output.h"
#include "sim/info.h"
#include "sim/trace.h"
#include "sim/trace_alibaba.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { TEXT_MAX = 64 << 20, TOP_NAMES = 8 };

#define CSV_MAX ((size_t)8 << 30)

/* --- trace info --------------------------------------------------------------------------------
 */

struct info_values {
    uint32_t format;
    const char *cluster, *profiles;
};

static const struct base_opt info_rows[] = {
    {.name = "format",
     .letter = 'f',
     .type = BASE_OPT_CHOICE,
     .meta = "FORMAT",
     .fallback = "auto",
     .help = "format of the trace",
     .choices = sim_format_names,
     .offset = offsetof(struct info_values, format)},
    {.name = "cluster",
     .letter = 'c',
     .type = BASE_OPT_STR,
     .meta = "SPEC",
     .help = "also the load on this cluster: a spec such as 6x4:t4,2x8:a100, or a file",
     .complete = "file",
     .offset = offsetof(struct info_values, cluster)},
    {.name = "profiles",
     .type = BASE_OPT_STR,
     .meta = "PATH",
     .help = "throughput table (.json) or folder of profiles, for jobs without durations",
     .complete = "file",
     .offset = offsetof(struct info_values, profiles)},
};

static void put_quantiles(struct base_buf *out, const char *key, const double *values)
{
    static const char *const names[SIM_INFO_QUANTILES] = {"p10", "p25", "p50", "p75",
                                                          "p90", "p99", "max"};

    base_buf_printf(out, ",\"%s\":{", key);
    for (size_t i = 0; i < SIM_INFO_QUANTILES; i++) {
        base_buf_printf(out, "%s\"%s\":", i > 0 ? "," : "", names[i]);
        base_json_f64(out, values[i]);
    }
    base_buf_puts(out, "}");
}

static shoal_status put_counts(struct base_buf *out, const struct sim_trace *trace, bool models)
{
    struct sim_info_count *counts;
    size_t count;
    shoal_status st = sim_info_counts(trace, models, &counts, &count);

    if (st != SHOAL_OK)
        return st;
    base_buf_puts(out, models ? ",\"models\":{" : ",\"groups\":{");
    for (size_t i = 0; i < count; i++) {
        base_buf_puts(out, i > 0 ? "," : "");
        base_buf_json_string(
            out, sim_names_get(models ? &trace->models : &trace->groups, counts[i].name));
        base_buf_printf(out, ":%llu", (unsigned long long)counts[i].jobs);
    }
    base_buf_puts(out, "}");
    base_free(trace->alloc, counts);
    return SHOAL_OK;
}

static int print_info_json(const struct cli_context *cx, const struct sim_trace *trace,
                           const struct sim_info *info, bool bound)
{
    struct base_buf out;

    base_buf_init(&out, env_alloc(cx->env), TEXT_MAX);
    base_buf_printf(&out, "{\"v\":1,\"format\":\"%s\",\"jobs\":%llu,\"skipped\":%llu",
                    trace->format, (unsigned long long)info->jobs,
                    (unsigned long long)trace->skipped);
    base_buf_puts(&out, ",\"first_submit_s\":");
    base_json_f64(&out, info->first_s);
    base_buf_puts(&out, ",\"span_s\":");
    base_json_f64(&out, info->span_s);
    base_buf_printf(&out, ",\"timed\":%llu,\"gpu_hours\":", (unsigned long long)info->timed);
    base_json_f64(&out, info->timed > 0 ? info->gpu_h : (double)NAN);
    put_quantiles(&out, "duration_s", info->duration_s);
    put_quantiles(&out, "gpus", info->gpus);
    base_buf_printf(&out, ",\"sizes\":{\"1\":%llu,\"2-4\":%llu,\"5-8\":%llu,\"9+\":%llu}",
                    (unsigned long long)info->sizes[0], (unsigned long long)info->sizes[1],
                    (unsigned long long)info->sizes[2], (unsigned long long)info->sizes[3]);
    shoal_status st = put_counts(&out, trace, false);
    if (st == SHOAL_OK)
        st = put_counts(&out, trace, true);
    if (bound) {
        base_buf_puts(&out, ",\"load\":");
        base_json_f64(&out, info->load);
        base_buf_printf(&out, ",\"impossible\":%llu", (unsigned long long)info->impossible);
    }
    base_buf_printf(&out, ",\"input_hash\":\"%016llx\"}\n", (unsigned long long)trace->input_hash);
    int rc = st == SHOAL_OK ? cli_print(cx, &out) : cli_fail(cx, st, NULL);
    base_buf_fini(&out);
    return rc;
}

/* "6214e9 41,226, 11cb48 16,091, ... and 7 more" */
static shoal_status print_counts(const struct cli_context *cx, const struct sim_trace *trace,
                                 bool models)
{
    struct sim_info_count *counts;
    size_t count;
    char n[32];
    shoal_status st = sim_info_counts(trace, models, &counts, &count);

    if (st != SHOAL_OK)
        return st;
    const struct sim_names *names = models ? &trace->models : &trace->groups;
    bool plain =
        !models && count == 1 && strcmp(sim_names_get(names, counts[0].name), "default") == 0;
    if (count > 0 && !plain) {
        fprintf(cx->out, "%-10s", models ? "models" : "groups");
        for (size_t i = 0; i < count && i < TOP_NAMES; i++)
            fprintf(cx->out, "%s%s %s", i > 0 ? ", " : "", sim_names_get(names, counts[i].name),
                    base_format_count(counts[i].jobs, n, sizeof n));
        if (count > TOP_NAMES)
            fprintf(cx->out, " and %zu more", count - TOP_NAMES);
        putc('\n', cx->out);
    }
    base_free(trace->alloc, counts);
    return SHOAL_OK;
}

static int print_quantiles(const struct cli_context *cx, const struct sim_info *info)
{
    static const char *const heads[] = {"", "p10", "p25", "p50", "p75", "p90", "p99", "max"};
    struct cli_columns table;
    char text[32];

    cli_columns_init(&table, cx, "lrrrrrrr");
    for (size_t i = 0; i < BASE_COUNT(heads); i++)
        cli_columns_cell(&table, CLI_DIM, "%s", heads[i]);
    if (info->timed > 0) {
        cli_columns_cell(&table, CLI_PLAIN, "duration");
        for (size_t i = 0; i < SIM_INFO_QUANTILES; i++)
            cli_columns_cell(&table, CLI_PLAIN, "%s",
                             base_format_duration(info->duration_s[i], text, sizeof text));
    }
    cli_columns_cell(&table, CLI_PLAIN, "GPUs");
    for (size_t i = 0; i < SIM_INFO_QUANTILES; i++)
        cli_columns_cell(&table, CLI_PLAIN, "%.0f", info->gpus[i]);
    int rc = cli_columns_print(&table);
    cli_columns_fini(&table);
    return rc;
}

static int print_info(const struct cli_context *cx, const struct sim_trace *trace,
                      const struct sim_info *info, const struct info_values *v)
{
    char a[32], b[32], c[32], d[32];

    fprintf(cx->out, "%s job%s in %s, format %s", base_format_count(info->jobs, a, sizeof a),
            info->jobs == 1 ? "" : "s", base_format_duration(info->span_s, b, sizeof b),
            trace->format);
    if (trace->skipped > 0)
        fprintf(cx->out, " (%s line%s left out)", base_format_count(trace->skipped, a, sizeof a),
                trace->skipped == 1 ? "" : "s");
    putc('\n', cx->out);
    if (info->timed > 0)
        fprintf(cx->out, "%-10s%s GPU-hours%s\n", "work",
                base_format_count((uint64_t)llround(info->gpu_h), a, sizeof a),
                info->timed < info->jobs ? " in the jobs whose duration is known" : "");
    else
        fprintf(cx->out, "%-10s%s\n", "work",
                "in steps or training runs: --cluster and --profiles tell how long they take");
    if (isfinite(info->load))
        fprintf(cx->out, "%-10s%.3g of %s on average\n", "load", info->load, v->cluster);
    if (info->impossible > 0)
        fprintf(cx->out, "%-10s%s job%s can never run on %s\n", "misfits",
                base_format_count(info->impossible, a, sizeof a), info->impossible == 1 ? "" : "s",
                v->cluster);
    fprintf(cx->out, "%-10s1 GPU %s, 2-4 %s, 5-8 %s, more %s\n", "sizes",
            base_format_count(info->sizes[0], a, sizeof a),
            base_format_count(info->sizes[1], b, sizeof b),
            base_format_count(info->sizes[2], c, sizeof c),
            base_format_count(info->sizes[3], d, sizeof d));
    shoal_status st = print_counts(cx, trace, false);
    if (st == SHOAL_OK)
        st = print_counts(cx, trace, true);
    if (st != SHOAL_OK)
        return cli_fail(cx, st, NULL);
    putc('\n', cx->out);
    return print_quantiles(cx, info);
}

static int run_info(struct cli_context *cx, const void *values, const char *const *args,
                    size_t arg_count)
{
    const struct info_values *v = values;
    struct sim_trace *trace = NULL;
    struct sched_cluster cluster = {0};
    struct sim_info info;
    shoal_err err = SHOAL_ERR_INIT;
    int rc;

    if (v->profiles != NULL && v->cluster == NULL)
        return cli_usage(cx, "--profiles needs --cluster: speeds depend on the GPUs");
    shoal_status st =
        v->cluster != NULL ? cli_cluster_load(cx, v->cluster, &cluster, &err) : SHOAL_OK;
    if (st == SHOAL_OK)
        st = sim_trace_load(cx->env, args, arg_count, (enum sim_format)v->format, &trace, &err);
    if (st == SHOAL_OK && v->cluster != NULL)
        st = sim_trace_bind(cx->env, trace, &cluster, v->profiles, &err);
    if (st == SHOAL_OK)
        st = sim_info(trace, v->cluster != NULL ? &cluster : NULL, &info);
    if (st != SHOAL_OK)
        rc = cli_fail(cx, st, &err);
    else if (cx->json)
        rc = print_info_json(cx, trace, &info, v->cluster != NULL);
    else
        rc = print_info(cx, trace, &info, v);
    sim_trace_free(trace);
    if (cluster.alloc != NULL)
        sched_cluster_fini(&cluster);
    return rc;
}

const struct cli_command cli_cmd_trace_info = {
    .name = "trace info",
    .usage = "[options] TRACE...",
    .summary = "Describe a job trace: jobs, sizes, durations, work and load.",
    .description =
        "Reads Shoal's own CSV and the formats that --format names; the format is recognised by "
        "the first line. "
        "Several files are read as one trace; '-' is standard input.\n\n"
        "With --cluster the load is what the jobs need on their fastest kind of GPU, as a share of "
        "what the cluster has between the first and the last submission.",
    .example = "trace info day.csv --cluster 6x4:t4,3x8:rtx,2x8:a100",
    .opts = info_rows,
    .opt_count = BASE_COUNT(info_rows),
    .values_size = sizeof(struct info_values),
    .arg_min = 1,
    .arg_max = SIZE_MAX,
    .arg_complete = "file",
    .json = true,
    .run = run_info,
};

/* --- trace convert -----------------------------------------------------------------------------
 */

struct convert_values {
    uint32_t format;
    const char *cluster, *output;
};

static const struct base_opt convert_rows[] = {
    {.name = "format",
     .letter = 'f',
     .type = BASE_OPT_CHOICE,
     .meta = "FORMAT",
     .fallback = "auto",
     .help = "format of the trace",
     .choices = sim_format_names,
     .offset = offsetof(struct convert_values, format)},
    {.name = "cluster",
     .type = BASE_OPT_STR,
     .meta = "NODES.csv",
     .help = "turn this Alibaba node list into a cluster spec instead",
     .complete = "file",
     .offset = offsetof(struct convert_values, cluster)},
    {.name = "output",
     .letter = 'o',
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .fallback = "-",
     .help = "where to write",
     .complete = "file",
     .offset = offsetof(struct convert_values, output)},
};

/* Writes to the file, or to where results go. */
static int deliver(const struct cli_context *cx, const char *path, const struct base_buf *out)
{
    shoal_err err = SHOAL_ERR_INIT;

    if (strcmp(path, "-") == 0)
        return cli_print(cx, out);
    shoal_status st = base_buf_status(out);
    if (st == SHOAL_OK)
        st = env_write_whole(cx->env, path, out->data, out->size, &err);
    return st == SHOAL_OK ? 0 : cli_fail(cx, st, &err);
}

static int run_convert(struct cli_context *cx, const void *values, const char *const *args,
                       size_t arg_count)
{
    const struct convert_values *v = values;
    struct sim_trace *trace = NULL;
    struct base_buf out;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st;
    char n[32];

    if ((v->cluster != NULL) == (arg_count > 0))
        return cli_usage(cx, v->cluster != NULL ? "--cluster takes a node list and no trace"
                                                : "expected a trace");
    st = cli_output_check(cx, v->output, args, arg_count, &err);
    if (st == SHOAL_OK)
        st = cli_output_check(cx, v->output, &v->cluster, 1, &err);
    if (st != SHOAL_OK)
        return cli_fail(cx, st, &err);
    base_buf_init(&out, env_alloc(cx->env), CSV_MAX);
    if (v->cluster != NULL) {
        st = sim_cluster_from_openb(cx->env, v->cluster, &out, &err);
        base_buf_puts(&out, "\n");
    } else {
        st = sim_trace_load(cx->env, args, arg_count, (enum sim_format)v->format, &trace, &err);
        if (st == SHOAL_OK)
            sim_trace_format(trace, &out);
    }
    int rc = st == SHOAL_OK ? deliver(cx, v->output, &out) : cli_fail(cx, st, &err);
    if (rc == 0 && trace != NULL && (strcmp(v->output, "-") != 0 || trace->skipped > 0)) {
        base_log(&cx->log, BASE_LOG_INFO, "%s job%s from format %s",
                 base_format_count(trace->job_count, n, sizeof n), trace->job_count == 1 ? "" : "s",
                 trace->format);
        if (trace->skipped > 0)
            base_log(&cx->log, BASE_LOG_WARN,
                     "%s line%s left out by a rule of the format, such as jobs without GPUs",
                     base_format_count(trace->skipped, n, sizeof n),
                     trace->skipped == 1 ? " was" : "s were");
    }
    base_buf_fini(&out);
    sim_trace_free(trace);
    return rc;
}

const struct cli_command cli_cmd_trace_convert = {
    .name = "trace convert",
    .usage = "[options] TRACE... | --cluster NODES.csv",
    .summary = "Rewrite a trace in Shoal's own CSV.",
    .description =
        "Reads any format that 'shoal trace info' reads. The result is sorted by submission and "
        "holds "
        "everything Shoal uses of the trace, so converting it again gives the same bytes.\n\n"
        "With --cluster the node list of Alibaba's 2023 trace becomes a spec for --cluster of "
        "'shoal sim'.",
    .example = "trace convert philly_jobs.csv -o philly.csv",
    .opts = convert_rows,
    .opt_count = BASE_COUNT(convert_rows),
    .values_size = sizeof(struct convert_values),
    .arg_min = 0,
    .arg_max = SIZE_MAX,
    .arg_complete = "file",
    .run = run_convert,
};
