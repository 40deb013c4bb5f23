/* info.c - traces in numbers, see info.h, and the public face of that and of converting (shoal/trace.h).
 *
 * Quantiles are exact: the value at position share x (n - 1), rounded down. */
#include "sim/info.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/text.h"
#include "env/system.h"
#include "env/table.h"
#include "page/field.h"
#include "page/make.h"
#include "shoal/trace.h"
#include "sim/bind.h"
#include "sim/cluster_load.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const double sim_info_shares[SIM_INFO_QUANTILES] = {0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1};

static int by_value(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;

    return a < b ? -1 : a > b;
}

static void quantiles(double *values, size_t count, double out[SIM_INFO_QUANTILES])
{
    qsort(values, count, sizeof *values, by_value);
    for (size_t i = 0; i < SIM_INFO_QUANTILES; i++)
        out[i] =
            count > 0 ? values[(size_t)(sim_info_shares[i] * (double)(count - 1))] : (double)NAN;
}

static double job_seconds(const struct sim_job *job, const struct sched_cluster *cluster)
{
    if (cluster == NULL || job->kinds == 0)
        return job->duration_s;
    int kind = sched_model_best_kind(&job->speed, cluster, job->kinds, job->gpus);
    if (kind < 0)
        return NAN;
    return sched_model_ideal_s(&job->speed, cluster, (uint32_t)kind, job->gpus, 0);
}

shoal_status sim_info(const struct sim_trace *trace, const struct sched_cluster *cluster,
                      struct sim_info *out)
{
    size_t n = trace->job_count;
    double *values = base_malloc(trace->alloc, (n > 0 ? n : 1) * sizeof *values);
    struct sim_info info = {.jobs = n, .load = NAN};

    if (values == NULL)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct sim_job *job = &trace->jobs[i];
        double seconds = job_seconds(job, cluster);
        info.impossible += cluster != NULL && job->kinds == 0;
        info.sizes[job->gpus == 1 ? 0 : job->gpus <= 4 ? 1 : job->gpus <= 8 ? 2 : 3]++;
        if (!isfinite(seconds))
            continue;
        values[info.timed++] = seconds;
        if (cluster == NULL || job->kinds != 0)
            info.gpu_h += seconds * job->gpus / 3600;
    }
    quantiles(values, (size_t)info.timed, info.duration_s);
    for (size_t i = 0; i < n; i++)
        values[i] = trace->jobs[i].gpus;
    quantiles(values, n, info.gpus);
    base_free(trace->alloc, values);
    if (n > 0) {
        info.first_s = trace->jobs[0].submit_s;
        info.span_s = trace->jobs[n - 1].submit_s - info.first_s;
    }
    if (cluster != NULL && info.span_s > 0)
        info.load = info.gpu_h * 3600 / (cluster->gpus * info.span_s);
    *out = info;
    return SHOAL_OK;
}

static int by_jobs(const void *pa, const void *pb)
{
    const struct sim_info_count *a = pa, *b = pb;

    if (a->jobs != b->jobs)
        return a->jobs > b->jobs ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

shoal_status sim_info_counts(const struct sim_trace *trace, bool models,
                             struct sim_info_count **out_counts, size_t *out_count)
{
    size_t count = models ? trace->models.map.count : trace->groups.map.count;
    struct sim_info_count *counts =
        base_calloc(trace->alloc, count > 0 ? count : 1, sizeof *counts);

    if (counts == NULL)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < count; i++)
        counts[i].name = (uint32_t)i;
    for (size_t i = 0; i < trace->job_count; i++) {
        uint32_t name = models ? trace->jobs[i].model : trace->jobs[i].group;
        if (name != SIM_NONE)
            counts[name].jobs++;
    }
    qsort(counts, count, sizeof *counts, by_jobs);
    while (count > 0 && counts[count - 1].jobs == 0)
        count--; /* names of lines that were left out */
    *out_counts = counts;
    *out_count = count;
    return SHOAL_OK;
}

/* ---- options ---- */

#define AT(member) offsetof(shoal_trace_opts, member)

static const shoal_opt rows[] = {
    {AT(cluster), SHOAL_OPT_STR, "cluster", 'c', "SPEC", NULL,
     "also the load on this cluster: a spec such as 6x4:t4,2x8:a100, or a file",
     .complete = "file"},
    {AT(profiles), SHOAL_OPT_STR, "profiles", 0, "PATH", NULL,
     "throughput table (.json) or folder of profiles, for jobs without durations",
     .complete = "file"},
    {AT(format), SHOAL_OPT_CHOICE, "format", 'f', "FORMAT", "auto", "format of the trace",
     .choices = sim_format_names},
    {AT(nodes), SHOAL_OPT_STR, "nodes", 0, "FILE", NULL,
     "turn this Alibaba node list into a cluster spec instead", .complete = "file"},
    {AT(output), SHOAL_OPT_STR, "output", 'o', "FILE", "-", "where to write", .complete = "file"},
};
#undef AT
enum { INFO_ROWS = 3, CONVERT_FROM = 2 }; /* both have the format */

const shoal_opt *shoal_trace_info_opt_rows(size_t *out_count)
{
    *out_count = INFO_ROWS;
    return rows;
}

const shoal_opt *shoal_trace_convert_opt_rows(size_t *out_count)
{
    *out_count = BASE_COUNT(rows) - CONVERT_FROM;
    return &rows[CONVERT_FROM];
}

void shoal_trace_opts_init(shoal_trace_opts *opts)
{
    base_opt_take(rows, BASE_COUNT(rows), NULL, opts, sizeof *opts);
}

static shoal_trace_opts take(const shoal_trace_opts *given)
{
    shoal_trace_opts opts;

    base_opt_take(rows, BASE_COUNT(rows), given, &opts, sizeof opts);
    return opts;
}

/* ---- a trace described ---- */

enum { TOP_NAMES = 8, SIZES = 4 };

static const char *const quantile_names[SIM_INFO_QUANTILES] = {"p10", "p25", "p50", "p75",
                                                               "p90", "p99", "max"};
static const char *const size_names[SIZES] = {"1", "2-4", "5-8", "9+"};

struct quantile { /* for people: a line each */
    const char *name;
    double duration_s, gpus;
};

struct record {
    const char *format, *input_hash;
    struct sim_info info; /* but for what is below */
    uint64_t skipped;
    double gpu_h, impossible;
    shoal_numbers duration_s, gpus, sizes, groups, models;
    shoal_records quantiles;
};

#define ROW struct quantile
static const shoal_field quantile_fields[] = {
    FIELD_NAMED(name, "share", "", NONE, 0, 1, NULL),
    FIELD(duration_s, "duration", SECONDS, 0, 1, NULL, SPARSE),
    FIELD(gpus, "GPUs", COUNT, 0, 1, NULL),
};
#undef ROW
SCHEMA(quantile, "quantile", NULL, "What a share of the jobs has at most.");

#define ROW struct record
static const shoal_field fields[] = {
    DATA(format, NONE, 0, "what it was recognised as"),
    DATA_NAMED(info.jobs, "jobs", COUNT, 0, "jobs"),
    DATA(skipped, COUNT, 0, "lines left out by a rule of the format, such as jobs without GPUs"),
    DATA_NAMED(info.first_s, "first_submit_s", SECONDS, 0, "first submission"),
    DATA_NAMED(info.span_s, "span_s", SECONDS, 0, "time from the first submission to the last"),
    DATA_NAMED(info.timed, "timed", COUNT, 0, "jobs whose duration is known"),
    DATA_NAMED(gpu_h, "gpu_hours", NONE, 0, "work of those jobs"),
    DATA_AS(MAP, duration_s, "duration_s", SECONDS, 0,
            "duration that this share of jobs has at most"),
    DATA_AS(MAP, gpus, "gpus", COUNT, 0, "GPUs that this share of jobs has at most"),
    DATA_AS(MAP, sizes, "sizes", COUNT, 0, "jobs by their GPUs"),
    DATA_AS(MAP, groups, "groups", COUNT, 0, "jobs by group"),
    DATA_AS(MAP, models, "models", COUNT, 0, "jobs by model"),
    DATA_NAMED(info.load, "load", NONE, 0, "work over what the cluster has in that time", OPTIONAL),
    DATA(impossible, COUNT, 0, "jobs that can never run on the cluster", OPTIONAL),
    DATA(input_hash, NONE, 0, "of the bytes that were read"),
    LIST(quantiles, NULL, NULL, 1, quantile_schema, NULL),
};
#undef ROW
static const shoal_schema schema = SCHEMA_OF("trace", NULL, "A trace in numbers.", fields);

static shoal_numbers numbers_of(struct page_made *made, const double *values, size_t count,
                                const char *const *names)
{
    double *copy = page_made_alloc(made, count, sizeof *copy);

    if (copy != NULL)
        memcpy(copy, values, count * sizeof *copy);
    return (shoal_numbers){copy, copy != NULL ? count : 0, names};
}

/* Jobs by name, most first. */
static shoal_status count_names(struct page_made *made, const struct sim_trace *trace, bool models,
                                shoal_numbers *out)
{
    struct sim_info_count *counts;
    size_t count;
    shoal_status st = sim_info_counts(trace, models, &counts, &count);

    if (st != SHOAL_OK)
        return st;
    double *values = page_made_alloc(made, count, sizeof *values);
    const char **names = page_made_alloc(made, count, sizeof *names);
    for (size_t i = 0; i < count && values != NULL && names != NULL; i++) {
        values[i] = (double)counts[i].jobs;
        names[i] = page_made_text(
            made, "%s", sim_names_get(models ? &trace->models : &trace->groups, counts[i].name));
    }
    *out = (shoal_numbers){values, values != NULL && names != NULL ? count : 0, names};
    base_free(trace->alloc, counts);
    return SHOAL_OK;
}

static shoal_records quantiles_of(struct page_made *made, const struct sim_info *info)
{
    struct quantile *list = page_made_alloc(made, SIM_INFO_QUANTILES, sizeof *list);

    for (size_t q = 0; q < SIM_INFO_QUANTILES && list != NULL; q++)
        list[q] = (struct quantile){quantile_names[q], info->duration_s[q], info->gpus[q]};
    return page_records(list, list != NULL ? SIM_INFO_QUANTILES : 0);
}

static shoal_status fill(struct page_made *made, const struct sim_trace *trace,
                         const struct sim_info *info, bool bound, struct record *r)
{
    double sizes[SIZES];

    for (size_t i = 0; i < SIZES; i++)
        sizes[i] = (double)info->sizes[i];
    *r = (struct record){
        .format = page_made_text(made, "%s", trace->format),
        .input_hash = page_made_text(made, "%016llx", (unsigned long long)trace->input_hash),
        .info = *info,
        .skipped = trace->skipped,
        .gpu_h = info->timed > 0 ? info->gpu_h : (double)NAN,
        .impossible = bound ? (double)info->impossible : (double)NAN,
        .duration_s = numbers_of(made, info->duration_s, SIM_INFO_QUANTILES, quantile_names),
        .gpus = numbers_of(made, info->gpus, SIM_INFO_QUANTILES, quantile_names),
        .sizes = numbers_of(made, sizes, SIZES, size_names),
        .quantiles = quantiles_of(made, info),
    };
    shoal_status st = count_names(made, trace, false, &r->groups);
    return st == SHOAL_OK ? count_names(made, trace, true, &r->models) : st;
}

static const char *number_text(struct page_made *made, uint64_t count)
{
    return page_made_value(made, SHOAL_UNIT_COUNT, (double)count);
}

static const char *count_text(struct page_made *made, uint64_t count, const char *what)
{
    return page_made_text(made, "%s %s%s", number_text(made, count), what, page_plural(count));
}

/* "6214e9 41,226, 11cb48 16,091, ... and 7 more" */
static void head_names(struct page_made *made, const char *what, const shoal_numbers *counts)
{
    if (counts->count == 0)
        return;
    page_made_head(made, "%-10s", what);
    for (size_t i = 0; i < counts->count && i < TOP_NAMES; i++)
        page_made_head(made, "%s%s %s", i > 0 ? ", " : "", counts->names[i],
                       number_text(made, (uint64_t)counts->values[i]));
    if (counts->count > TOP_NAMES)
        page_made_head(made, " and %zu more", counts->count - TOP_NAMES);
    page_made_head(made, "\n");
}

static void head(struct page_made *made, const struct record *r, const struct sim_info *info,
                 const char *cluster)
{
    page_made_head(made, "%s in %s, format %s", count_text(made, info->jobs, "job"),
                   page_made_value(made, SHOAL_UNIT_SECONDS, info->span_s), r->format);
    if (r->skipped > 0)
        page_made_head(made, " (%s left out)", count_text(made, r->skipped, "line"));
    if (info->timed > 0)
        page_made_head(made, "\n%-10s%s GPU-hours%s\n", "work",
                       number_text(made, (uint64_t)llround(r->gpu_h)),
                       info->timed < info->jobs ? " in the jobs whose duration is known" : "");
    else
        page_made_head(made, "\n%-10s%s\n", "work",
                       "in steps or training runs: --cluster and --profiles tell how long they "
                       "take");
    if (isfinite(info->load))
        page_made_head(made, "%-10s%.3g of %s on average\n", "load", info->load, cluster);
    if (info->impossible > 0)
        page_made_head(made, "%-10s%s can never run on %s\n", "misfits",
                       count_text(made, info->impossible, "job"), cluster);
    page_made_head(made, "%-10s1 GPU %s, 2-4 %s, 5-8 %s, more %s\n", "sizes",
                   number_text(made, info->sizes[0]), number_text(made, info->sizes[1]),
                   number_text(made, info->sizes[2]), number_text(made, info->sizes[3]));
    if (r->groups.count != 1 || strcmp(r->groups.names[0], "default") != 0)
        head_names(made, "groups", &r->groups);
    head_names(made, "models", &r->models);
}

static void warn_ignored(struct page_made *made, const struct sim_trace *trace)
{
    if (trace->ignored[0] != '\0')
        page_warn(made, ENV_TABLE_IGNORED, trace->ignored);
}

static shoal_status describe(const struct sim_trace *trace, const struct sched_cluster *cluster,
                             const char *spec, const shoal_result **out_result, shoal_err *err)
{
    struct sim_info info;
    shoal_status st = sim_info(trace, cluster, &info);

    if (st != SHOAL_OK)
        return base_err_nomem(err, "describing a trace");
    struct page_made *made = page_made_new(trace->alloc);
    struct record *record = page_made_alloc(made, 1, sizeof *record);
    if (record != NULL)
        st = fill(made, trace, &info, cluster != NULL, record);
    if (st != SHOAL_OK) {
        page_made_free(made);
        return base_err_nomem(err, "describing a trace");
    }
    if (record != NULL) {
        made->result.schema = &schema;
        made->result.records = page_records(record, 1);
        head(made, record, &info, spec);
    }
    warn_ignored(made, trace);
    return page_made_finish(made, out_result, err);
}

shoal_status shoal_trace_info(shoal_env *env, const shoal_trace_opts *given,
                              const shoal_result **out_result, shoal_err *err)
{
    shoal_trace_opts opts = take(given);
    struct sim_trace *trace = NULL;
    struct sched_cluster cluster = {0};
    bool bound = opts.cluster != NULL;
    shoal_status st = SHOAL_OK;

    if (opts.traces == NULL || opts.trace_count == 0)
        return base_err(err, SHOAL_E_INVAL, "expected a trace");
    if (opts.profiles != NULL && !bound)
        return base_err(err, SHOAL_E_INVAL,
                        "--profiles needs --cluster: speeds depend on the GPUs");
    if (bound)
        st = sim_cluster_given(env, opts.cluster, &cluster, err);
    if (st == SHOAL_OK)
        st = sim_trace_load(env, opts.traces, opts.trace_count, (enum sim_format)opts.format,
                            &trace, err);
    if (st == SHOAL_OK && bound)
        st = sim_trace_bind(env, trace, &cluster, opts.profiles, err);
    if (st == SHOAL_OK)
        st = describe(trace, bound ? &cluster : NULL, opts.cluster, out_result, err);
    sim_trace_free(trace);
    if (cluster.alloc != NULL)
        sched_cluster_fini(&cluster);
    return st;
}

/* ---- a trace converted ---- */

#define CSV_MAX ((size_t)8 << 30)

struct converted {
    const char *format, *output;
    uint64_t jobs, skipped;
};

#define ROW struct converted
static const shoal_field converted_fields[] = {
    DATA(format, NONE, 0, "what was read was recognised as"),
    DATA(jobs, COUNT, 0, "jobs"),
    DATA(skipped, COUNT, 0, "lines left out by a rule of the format, such as jobs without GPUs"),
    DATA(output, NONE, 0, "where it went"),
};
#undef ROW
SCHEMA(converted, "converted", NULL, "A trace in another format.");

static bool to_file(const shoal_trace_opts *opts)
{
    return opts->output != NULL && strcmp(opts->output, "-") != 0;
}

static shoal_status deliver(shoal_env *env, const shoal_trace_opts *opts,
                            const struct base_buf *text, shoal_err *err)
{
    if (base_buf_status(text) != SHOAL_OK)
        return base_err_nomem(err, "converting a trace");
    if (to_file(opts))
        return env_write_whole(env, opts->output, text->data, text->size, err);
    return opts->put(opts->ctx, text->data, text->size)
               ? SHOAL_OK
               : base_err(err, SHOAL_E_IO, "cannot write the trace");
}

/* `trace` is NULL where a node list was read. */
static shoal_status tell(shoal_env *env, const shoal_trace_opts *opts,
                         const struct sim_trace *trace, const shoal_result **out_result,
                         shoal_err *err)
{
    struct page_made *made = page_made_new(env_alloc(env));
    struct converted *record = page_made_alloc(made, 1, sizeof *record);

    if (record == NULL)
        return page_made_finish(made, out_result, err);
    record->format = trace != NULL ? page_made_text(made, "%s", trace->format) : "nodes";
    record->output = page_made_text(made, "%s", opts->output);
    made->result.schema = &converted_schema;
    made->result.records = page_records(record, 1);
    if (trace != NULL) {
        warn_ignored(made, trace);
        record->jobs = trace->job_count;
        record->skipped = trace->skipped;
    }
    if (trace != NULL && (to_file(opts) || record->skipped > 0))
        page_made_note(made, SHOAL_NOTE_HINT, "%s from format %s",
                       count_text(made, record->jobs, "job"), record->format);
    if (record->skipped > 0)
        page_warn(made, "%s left out by a rule of the format, such as jobs without GPUs",
                  record->skipped == 1
                      ? "1 line was"
                      : page_made_text(made, "%s were", count_text(made, record->skipped, "line")));
    return page_made_finish(made, out_result, err);
}

/* Not over what is read. */
static shoal_status check_output(shoal_env *env, const shoal_trace_opts *opts, shoal_err *err)
{
    if ((opts->nodes != NULL) == (opts->trace_count > 0))
        return base_err(err, SHOAL_E_INVAL, "%s",
                        opts->nodes != NULL ? "--nodes takes a node list and no trace"
                                            : "expected a trace");
    if (!to_file(opts) && opts->put == NULL)
        return base_err(err, SHOAL_E_INVAL, "a trace needs an output: a file, or a function");
    for (size_t i = 0; to_file(opts) && i <= opts->trace_count; i++) {
        const char *input = i < opts->trace_count ? opts->traces[i] : opts->nodes;
        if (input != NULL && env_same(env, input, opts->output))
            return base_err(err, SHOAL_E_INVAL, "cannot write '%s': it is also an input",
                            opts->output);
    }
    return SHOAL_OK;
}

shoal_status shoal_trace_convert(shoal_env *env, const shoal_trace_opts *given,
                                 const shoal_result **out_result, shoal_err *err)
{
    shoal_trace_opts opts = take(given);
    struct sim_trace *trace = NULL;
    struct base_buf text;
    shoal_status st = check_output(env, &opts, err);

    if (st != SHOAL_OK)
        return st;
    base_buf_init(&text, env_alloc(env), CSV_MAX);
    if (opts.nodes != NULL) {
        st = sim_cluster_from_openb(env, opts.nodes, &text, err);
        base_buf_puts(&text, "\n");
    } else {
        st = sim_trace_load(env, opts.traces, opts.trace_count, (enum sim_format)opts.format,
                            &trace, err);
        if (st == SHOAL_OK)
            sim_trace_format(trace, &text);
    }
    if (st == SHOAL_OK)
        st = deliver(env, &opts, &text, err);
    if (st == SHOAL_OK)
        st = tell(env, &opts, trace, out_result, err);
    base_buf_fini(&text);
    sim_trace_free(trace);
    return st;
}

/* ---- whether jobs and kinds go together ---- */

enum { TEXT_SIZE = 160 };

/* Appends, as far as there is room; names that do not fit become "...". */
static void add(char text[TEXT_SIZE], const char *format, const char *before, const char *name)
{
    size_t used = strlen(text);
    char part[TEXT_SIZE];

    (void)snprintf(part, sizeof part, format, before, name);
    if (used + strlen(part) < TEXT_SIZE - 8)
        memcpy(text + used, part, strlen(part) + 1);
    else if (used < 3 || strcmp(text + used - 3, "...") != 0)
        memcpy(text + used, " ...", sizeof " ...");
}

/* ---- no job can run ---- */

/* "2 GPUs of kind p100 or k80" */
static void say_wanted(const struct sim_trace *trace, const struct sim_job *job,
                       char text[TEXT_SIZE])
{
    (void)snprintf(text, TEXT_SIZE, "%u GPU%s", job->gpus, job->gpus == 1 ? "" : "s");
    if (job->want_kinds == 0 && job->gpus > 1)
        add(text, "%s%s", " of one kind", "");
    for (uint32_t i = 0, named = 0; i < trace->kinds.map.count && i < SIM_TRACE_KINDS_MAX; i++)
        if (job->want_kinds >> i & 1)
            add(text, "%s%s", named++ == 0 ? " of kind " : " or ", sim_names_get(&trace->kinds, i));
}

/* "8 t4, 16 a100" */
static void say_there(const struct sched_cluster *cluster, char text[TEXT_SIZE])
{
    char count[16];

    text[0] = '\0';
    for (uint32_t k = 0; k < cluster->kind_count; k++) {
        (void)snprintf(count, sizeof count, "%s%u", k == 0 ? "" : ", ", cluster->kinds[k].gpus);
        add(text, "%s %s", count, cluster->kinds[k].name);
    }
}

/* Whether the cluster has enough GPUs of a kind that it accepts, so that only speeds are missing. */
static bool lacks_speed(const struct sim_trace *trace, const struct sched_cluster *cluster,
                        const struct sim_job *job)
{
    for (uint32_t k = 0; k < cluster->kind_count; k++) {
        bool accepts = job->want_kinds == 0;
        for (uint32_t i = 0; i < trace->kinds.map.count && i < SIM_TRACE_KINDS_MAX; i++)
            accepts =
                accepts || ((job->want_kinds >> i & 1) != 0 &&
                            sched_cluster_kind(cluster, sim_names_get(&trace->kinds, i)) == (int)k);
        if (accepts && cluster->kinds[k].gpus >= job->gpus)
            return true;
    }
    return false;
}

/* The first kind of the trace that the cluster does not have, and the most like it that it has. */
static const char *missing_kind(const struct sim_trace *trace, const struct sched_cluster *cluster,
                                const struct sim_job *job, const char **out_near)
{
    const char *names[SCHED_KINDS_MAX];

    for (uint32_t k = 0; k < cluster->kind_count; k++)
        names[k] = cluster->kinds[k].name;
    for (uint32_t i = 0; i < trace->kinds.map.count && i < SIM_TRACE_KINDS_MAX; i++) {
        const char *kind = sim_names_get(&trace->kinds, i);
        if ((job->want_kinds >> i & 1) == 0 || sched_cluster_kind(cluster, kind) >= 0)
            continue;
        *out_near = base_nearest(kind, names, cluster->kind_count);
        return kind;
    }
    return NULL;
}

shoal_status sim_kinds_check(const struct sim_trace *trace, const struct sched_cluster *cluster,
                             shoal_err *err)
{
    char wanted[TEXT_SIZE], there[TEXT_SIZE];
    const char *near = NULL;

    for (size_t i = 0; i < trace->job_count; i++)
        if (trace->jobs[i].kinds != 0)
            return SHOAL_OK;
    if (trace->job_count == 0)
        return SHOAL_OK;
    const struct sim_job *job = &trace->jobs[0];
    say_wanted(trace, job, wanted);
    say_there(cluster, there);
    base_err(
        err, SHOAL_E_IMPOSSIBLE,
        "no job can run on this cluster: the first of %zu, '%.60s', asks for %s, and there are "
        "%s%s",
        trace->job_count, job->name, wanted, there,
        lacks_speed(trace, cluster, job) ? ", on which its model has no speed" : "");
    const char *missing = missing_kind(trace, cluster, job, &near);
    if (missing != NULL && near != NULL)
        base_err_hint(err, "kind '%.40s' is missing; is it '%.40s'?", missing, near);
    else if (missing != NULL)
        base_err_hint(err, "kind '%.40s' is missing; give the cluster that ran them with --cluster",
                      missing);
    else
        base_err_hint(err, "give the cluster that ran them with --cluster");
    return SHOAL_E_IMPOSSIBLE;
}

/* ---- kinds of which nobody has heard ---- */

static bool is_known(const struct sim_trace *trace, const struct sched_cluster *cluster,
                     const struct sim_prices *prices, uint32_t k)
{
    const struct sched_kind *kind = &cluster->kinds[k];

    if (kind->usd_gpu_h >= 0 || strcasecmp(kind->name, "gpu") == 0 ||
        (prices != NULL && prices->kinds[k].offers > 0))
        return true;
    for (uint32_t i = 0; i < trace->kinds.map.count; i++)
        if (strcasecmp(sim_names_get(&trace->kinds, i), kind->name) == 0)
            return true;
    bool measured = trace->tables != NULL && trace->tables->fitted == NULL;
    for (size_t i = 0; i < trace->job_count && measured; i++)
        if (trace->jobs[i].work != SIM_WORK_DURATION && (trace->jobs[i].kinds >> k & 1) != 0)
            return true;
    return false;
}

void sim_kinds_tell_unknown(const struct sim_trace *trace, const struct sched_cluster *cluster,
                            const struct sim_prices *prices, struct base_buf *out)
{
    const char *names[64];
    char known[TEXT_SIZE] = "";
    size_t count = 0;

    for (const char *name; count < 32 && (name = sched_cluster_listed(count)) != NULL;)
        names[count++] = name;
    for (uint32_t i = 0; i < trace->kinds.map.count && count < 64; i++) {
        const char *name = sim_names_get(&trace->kinds, i);
        bool listed = false;
        for (size_t n = 0; n < count; n++)
            listed = listed || strcasecmp(names[n], name) == 0;
        if (!listed)
            names[count++] = name;
    }
    for (size_t i = 0; i < count; i++)
        add(known, "%s%s", i == 0 ? "" : ", ", names[i]);
    for (uint32_t k = 0; k < cluster->kind_count; k++) {
        const char *name = cluster->kinds[k].name, *near = base_nearest(name, names, count);
        if (is_known(trace, cluster, prices, k))
            continue;
        base_buf_printf(out, "unknown GPU kind '%s': no job, model or price mentions it", name);
        if (near != NULL)
            base_buf_printf(out, "; did you mean '%s'? known kinds: %s\n", near, known);
        else
            base_buf_printf(out, "; known kinds: %s\n", known);
    }
}

void sim_kinds_note_unknown(const struct sim_trace *trace, const struct sched_cluster *cluster,
                            const struct sim_prices *prices, struct page_made *made)
{
    struct base_buf text;

    if (made == NULL)
        return;
    base_buf_init(&text, made->arena.alloc, TEXT_SIZE * SCHED_KINDS_MAX * 2);
    sim_kinds_tell_unknown(trace, cluster, prices, &text);
    for (char *at = text.data, *end;
         base_buf_status(&text) == SHOAL_OK && text.size > 0 && (end = strchr(at, '\n')) != NULL;
         at = end + 1)
        page_warn(made, "%.*s", (int)(end - at), at);
    base_buf_fini(&text);
}
