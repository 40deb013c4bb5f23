/* cmd_trace_gen.c - `shoal trace gen`: workloads made up from a seed. */
#include "cli/cli.h"

#include "base/assert.h"
#include "base/text.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "sim/gen.h"
#include "sim/trace.h"
#include <stddef.h>
#include <string.h>

struct values {
    uint32_t shape;
    uint64_t jobs, gpus, gpus_max, seed;
    double rate, load, days, duration_max;
    bool durations;
    const char *profiles, *output;
};

static const struct base_opt options[] = {
    {.name = "shape",
     .type = BASE_OPT_CHOICE,
     .meta = "NAME",
     .fallback = "philly",
     .help = "whose workload to imitate",
     .choices = sim_gen_shape_names,
     .offset = offsetof(struct values, shape)},
    {.name = "jobs",
     .letter = 'n',
     .type = BASE_OPT_U64,
     .meta = "N",
     .help = "stop after this many jobs; 1000 when --days is not given",
     .min = 1,
     .max = SIM_JOBS_MAX,
     .offset = offsetof(struct values, jobs)},
    {.name = "days",
     .type = BASE_OPT_F64,
     .meta = "D",
     .help = "stop after this many days",
     .min = 0.001,
     .max = 100000,
     .offset = offsetof(struct values, days)},
    {.name = "rate",
     .type = BASE_OPT_F64,
     .meta = "PER_HOUR",
     .help = "jobs per hour on average",
     .min = 0.0001,
     .max = 1e9,
     .offset = offsetof(struct values, rate)},
    {.name = "load",
     .type = BASE_OPT_F64,
     .meta = "L",
     .help = "in place of a rate: work submitted as a share of --gpus; else 0.8",
     .min = 0.0001,
     .max = 1000,
     .offset = offsetof(struct values, load)},
    {.name = "gpus",
     .type = BASE_OPT_U64,
     .meta = "G",
     .fallback = "64",
     .help = "GPUs that --load is meant for",
     .min = 1,
     .max = 100000000,
     .offset = offsetof(struct values, gpus)},
    {.name = "duration-max",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .help = "draw no longer jobs than this",
     .min = 1,
     .max = 1e9,
     .offset = offsetof(struct values, duration_max)},
    {.name = "gpus-max",
     .type = BASE_OPT_U64,
     .meta = "N",
     .help = "draw no larger jobs than this",
     .min = 1,
     .max = SIM_JOB_GPUS_MAX,
     .offset = offsetof(struct values, gpus_max)},
    {.name = "durations",
     .type = BASE_OPT_FLAG,
     .help = "pollux: write durations, not model and batch",
     .offset = offsetof(struct values, durations)},
    {.name = "profiles",
     .type = BASE_OPT_STR,
     .meta = "FILE.json",
     .help = "gavel: write models of this throughput table and steps",
     .complete = "file",
     .offset = offsetof(struct values, profiles)},
    {.name = "seed",
     .letter = 's',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "1",
     .help = "same seed, same bytes",
     .offset = offsetof(struct values, seed)},
    {.name = "output",
     .letter = 'o',
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .fallback = "-",
     .help = "where to write",
     .complete = "file",
     .offset = offsetof(struct values, output)},
};

/* To the file, or to where results go (out NULL): there a failure is told when the command ends. */
static shoal_status put_rows(struct cli_context *cx, struct env_out *out,
                             const struct base_buf *rows, shoal_err *err)
{
    if (base_buf_status(rows) != SHOAL_OK)
        return base_buf_status(rows);
    if (out != NULL)
        return env_append(out, rows->data, rows->size, err);
    return cli_put(cx, rows->data, rows->size) ? SHOAL_OK : SHOAL_E_IO;
}

struct span { /* of the jobs made */
    double first_s, last_s;
};

/* Rows go out as they are made: memory stays the same for a million jobs. */
static shoal_status stream_rows(struct cli_context *cx, struct sim_gen *gen, struct env_out *out,
                                struct span *span, shoal_err *err)
{
    uint32_t columns = sim_gen_columns(gen);
    atomic_uint_fast64_t done = 0;
    struct base_buf rows;
    struct sim_row row;
    shoal_status st = SHOAL_OK;
    bool more = true;
    struct cli_progress *progress =
        out != NULL ? cli_progress_start(cx, "trace gen", &done, gen->opts.jobs) : NULL;

    base_buf_init(&rows, env_alloc(cx->env), 1 << 20);
    sim_row_header(columns, &rows);
    while (more && st == SHOAL_OK) {
        more = sim_gen_next(gen, &row);
        if (more) {
            sim_row_format(&row, columns, &rows);
            span->first_s = gen->made == 1 ? row.submit_s : span->first_s;
            span->last_s = row.submit_s;
        }
        if (rows.size < 1 << 16 && more)
            continue;
        st = gen->made > 0 ? put_rows(cx, out, &rows, err) : sim_gen_none(gen, err);
        base_buf_clear(&rows);
        atomic_store_explicit(&done, gen->made, memory_order_relaxed);
    }
    cli_progress_stop(progress);
    base_buf_fini(&rows);
    return st;
}

static shoal_status write_file(struct cli_context *cx, struct sim_gen *gen, const char *path,
                               struct span *span, shoal_err *err)
{
    struct env_out *out = NULL;
    shoal_status st = env_create(cx->env, path, &out, err);

    if (st != SHOAL_OK)
        return st;
    st = stream_rows(cx, gen, out, span, err);
    if (st == SHOAL_OK)
        return env_commit(out, err);
    env_discard(out);
    return st;
}

static shoal_status load_v100(const struct cli_context *cx, const char *path,
                              struct sim_throughput **out, shoal_err *err)
{
    struct sched_cluster cluster;
    shoal_status st = sched_cluster_parse(env_alloc(cx->env), "1x8:v100", &cluster, err);

    if (st != SHOAL_OK)
        return st;
    st = sim_throughput_load(cx->env, path, &cluster, out, err);
    sched_cluster_fini(&cluster);
    return st;
}

static void tell(const struct cli_context *cx, const struct sim_gen *gen, const struct span *span,
                 const char *path)
{
    char count[32], text[32];

    base_log(&cx->log, BASE_LOG_INFO,
             "%s job%s in %s to %s, %.3g jobs/h, about %.3g GPU-hours each",
             base_format_count(gen->made, count, sizeof count), gen->made == 1 ? "" : "s",
             base_format_duration(span->last_s - span->first_s, text, sizeof text), path,
             gen->rate_s * 3600, gen->mean_gpu_h);
    base_log(&cx->log, BASE_LOG_INFO, "next: shoal trace info %s", path);
}

static int run(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count)
{
    const struct values *v = values;
    struct sim_throughput *tp = NULL;
    struct sim_gen gen;
    struct span span = {0, 0};
    shoal_err err = SHOAL_ERR_INIT;

    (void)args, (void)arg_count;
    shoal_status st = cli_output_check(cx, v->output, &v->profiles, 1, &err);
    if (st == SHOAL_OK && v->profiles != NULL)
        st = load_v100(cx, v->profiles, &tp, &err);
    if (st == SHOAL_OK) {
        struct sim_gen_opts opts = {
            .shape = (enum sim_gen_shape)v->shape,
            .jobs = v->jobs,
            .rate_h = v->rate,
            .load = v->load,
            .gpus = (uint32_t)v->gpus,
            .days = v->days,
            .duration_max_s = v->duration_max,
            .gpus_max = (uint32_t)v->gpus_max,
            .seed = v->seed,
            .durations = v->durations,
            .throughput = tp,
        };
        st = sim_gen_init(&gen, &opts, &err);
    }
    bool to_file = strcmp(v->output, "-") != 0;
    if (st == SHOAL_OK)
        st = to_file ? write_file(cx, &gen, v->output, &span, &err)
                     : stream_rows(cx, &gen, NULL, &span, &err);
    if (st == SHOAL_OK && to_file)
        tell(cx, &gen, &span, v->output);
    sim_throughput_free(tp);
    if (ferror(cx->out))
        return 1; /* told when the command ends, unless the reader left */
    return st == SHOAL_OK ? 0 : cli_fail(cx, st, &err);
}

const struct cli_command cli_cmd_trace_gen = {
    .name = "trace gen",
    .usage = "[options]",
    .summary = "Make up a workload from published distributions.",
    .description =
        "Shapes: gavel (single GPUs, half an hour to a week, Poisson arrivals), gavel-multi (the "
        "same on "
        "1, 2, 4 and 8 GPUs), pollux (six applications with their sizes and batches, busy hours) "
        "and "
        "philly (sizes, durations, virtual clusters and hours of the day of the published "
        "list).\n\n"
        "The rate of arrivals follows from --rate, or --load and --gpus, or --jobs and --days. For "
        "gavel with --profiles, load counts durations on a V100.\n\n"
        "The output is Shoal's own CSV. Jobs of the pollux shape name applications, so replaying "
        "them "
        "needs the published profiles, unless --durations is given.",
    .example = "trace gen --shape philly --days 1 --load 0.9 --gpus 64 -o day.csv",
    .opts = options,
    .opt_count = BASE_COUNT(options),
    .values_size = sizeof(struct values),
    .run = run,
};
