/* trace_shoal.c - Shoal's own CSV: the reader, and the writer of whole traces. docs/formats.md is
 * its description.
 *
 * load(format(trace)) equals the trace; tests/unit/sim/test_trace.c holds it to that. */
#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "sim/reader.h"
#include "sim/row.h"
#include <math.h>
#include <string.h>

#define MAGIC "#shoal-trace"

/* --- reading -----------------------------------------------------------------------------------
 */

/* The magic line, or a header of ours without it: the first three columns are enough to tell. */
static bool detect(const char *line, size_t length)
{
    bool submit = false, gpus = false;

    if (sim_read_starts(line, length, MAGIC))
        return true;
    for (size_t at = 0; at <= length;) {
        const char *comma = at < length ? memchr(line + at, ',', length - at) : NULL;
        size_t stop = comma != NULL ? (size_t)(comma - line) : length;
        submit |= env_is_name(line + at, stop - at, "submit_s");
        gpus |= env_is_name(line + at, stop - at, "gpus");
        at = stop + 1;
    }
    return submit && gpus;
}

static shoal_status read_magic(struct sim_read *rd, shoal_err *err)
{
    const char *line;
    char shown[ENV_SHOWN_MAX];
    size_t length;
    shoal_status st = env_lines_peek(&rd->lines, &line, &length, err);

    if (st != SHOAL_OK || !sim_read_starts(line, length, MAGIC))
        return st;
    if (length == strlen(MAGIC " v1") && sim_read_starts(line, length, MAGIC " v1"))
        return SHOAL_OK;
    rd->lines.line++;
    return env_lines_bad(&rd->lines, 0, err, "expected '" MAGIC " v1', found '%s'",
                         env_lines_show(line, length, shown));
}

/* The field of a column, or an empty one when the header leaves it out. */
static const struct env_field *column(const struct sim_read *rd, const struct env_column *columns,
                                      enum sim_row_column c)
{
    static const struct env_field nothing = {NULL, 0, 0};

    return columns[c].at >= 0 ? &rd->fields[columns[c].at] : &nothing;
}

static shoal_status read_work(struct sim_read *rd, const struct env_column *columns,
                              struct sim_job *job, shoal_err *err)
{
    const struct env_field *duration = column(rd, columns, SIM_ROW_DURATION);
    const struct env_field *model = column(rd, columns, SIM_ROW_MODEL);
    const struct env_field *steps = column(rd, columns, SIM_ROW_STEPS);
    const struct env_field *batch = column(rd, columns, SIM_ROW_BATCH);
    shoal_status st = SHOAL_OK;

    if (model->length > 0)
        st = sim_read_name(rd, model, "a model name", &rd->trace->models, &job->model, err);
    if (st == SHOAL_OK && batch->length > 0)
        st = sim_read_whole(rd, batch, 1, INT32_MAX, "a total batch", &job->batch, err);
    if (st != SHOAL_OK)
        return st;
    if (duration->length > 0 && steps->length > 0)
        return env_lines_bad(&rd->lines, steps->column, err,
                             "expected duration_s or steps, found both");
    if (duration->length > 0) {
        job->work = SIM_WORK_DURATION;
        return sim_read_seconds(rd, duration, false, &job->duration_s, err);
    }
    if (model->length == 0)
        return env_lines_bad(&rd->lines, 0, err,
                             "expected the work of the job: duration_s, model and steps, or model "
                             "and batch");
    if (steps->length > 0) {
        job->work = SIM_WORK_STEPS;
        return sim_read_number(rd, steps, SIM_STEPS_MAX, "steps", &job->steps, err);
    }
    job->work = SIM_WORK_PROFILE;
    return SHOAL_OK;
}

static shoal_status read_rest(struct sim_read *rd, const struct env_column *columns,
                              struct sim_job *job, shoal_err *err)
{
    const struct env_field *group = column(rd, columns, SIM_ROW_GROUP);
    const struct env_field *weight = column(rd, columns, SIM_ROW_WEIGHT);
    const struct env_field *deadline = column(rd, columns, SIM_ROW_DEADLINE);
    const struct env_field *slo = column(rd, columns, SIM_ROW_SLO);
    shoal_status st = SHOAL_OK;

    if (group->length > 0)
        st = sim_read_name(rd, group, "a group name", &rd->trace->groups, &job->group, err);
    if (st == SHOAL_OK && weight->length > 0)
        st = sim_read_number(rd, weight, SIM_WEIGHT_MAX, "a weight", &job->weight, err);
    if (st == SHOAL_OK && deadline->length > 0) {
        st = sim_read_seconds(rd, deadline, true, &job->deadline_s, err);
        if (st == SHOAL_OK && job->deadline_s < job->submit_s)
            return sim_read_expected(rd, deadline, "a deadline at or after submit_s", err);
    }
    if (st == SHOAL_OK && slo->length > 0) {
        double factor = 0;
        st = sim_read_number(rd, slo, 1e6, "a multiple of the duration", &factor, err);
        job->slo = (float)factor;
        if (st == SHOAL_OK && isfinite(job->deadline_s))
            return env_lines_bad(&rd->lines, slo->column, err,
                                 "expected deadline_s or slo, found both");
        if (st == SHOAL_OK && !(job->slo > 0)) /* too small for a float */
            return sim_read_expected(rd, slo, "a multiple of the duration above 0", err);
    }
    if (st == SHOAL_OK)
        st = sim_read_kinds(rd, column(rd, columns, SIM_ROW_KINDS), &job->want_kinds, err);
    return st;
}

static shoal_status read_adapt(struct sim_read *rd, const struct env_field *field,
                               struct sim_job *job, shoal_err *err)
{
    uint8_t how = 0;

    if (field->length == 0)
        return SHOAL_OK;
    while (how < SIM_ADAPT_COUNT && !sim_read_is(field, sim_adapt_names[how]))
        how++;
    if (how == SIM_ADAPT_COUNT)
        return sim_read_expected(rd, field, "what may be chosen for it: batch, size or none", err);
    if (how != SIM_ADAPT_NONE && job->work != SIM_WORK_PROFILE)
        return env_lines_bad(&rd->lines, field->column, err,
                             "only jobs with a model, and neither duration_s nor steps, can adapt");
    job->adapt = how;
    return SHOAL_OK;
}

static shoal_status read_sweep(struct sim_read *rd, const struct env_column *columns,
                               struct sim_job *job, shoal_err *err)
{
    const struct env_field *app = column(rd, columns, SIM_ROW_APP);
    const struct env_field *score = column(rd, columns, SIM_ROW_SCORE);
    shoal_status st = SHOAL_OK;

    if (app->length > 0)
        st = sim_read_name(rd, app, "the name of a sweep", &rd->trace->apps, &job->app, err);
    if (st == SHOAL_OK && score->length > 0 &&
        (!base_parse_f64(score->text, score->length, &job->score) || !isfinite(job->score)))
        return sim_read_expected(rd, score, "a score, any number", err);
    if (st == SHOAL_OK && score->length > 0 && job->app == SIM_NONE)
        return env_lines_bad(&rd->lines, score->column, err,
                             "expected a score only beside the app whose jobs it compares");
    return st;
}

static shoal_status read_line(struct sim_read *rd, const struct env_column *columns, void *ctx,
                              shoal_err *err)
{
    struct sim_job job = sim_read_job();

    (void)ctx;
    shoal_status st =
        sim_read_seconds(rd, column(rd, columns, SIM_ROW_SUBMIT), true, &job.submit_s, err);
    if (st == SHOAL_OK)
        st = sim_read_whole(rd, column(rd, columns, SIM_ROW_GPUS), 1, SIM_JOB_GPUS_MAX, "GPUs",
                            &job.gpus, err);
    if (st == SHOAL_OK)
        st = read_work(rd, columns, &job, err);
    if (st == SHOAL_OK)
        st = read_rest(rd, columns, &job, err);
    if (st == SHOAL_OK)
        st = read_adapt(rd, column(rd, columns, SIM_ROW_ADAPT), &job, err);
    if (st == SHOAL_OK)
        st = read_sweep(rd, columns, &job, err);
    return st == SHOAL_OK ? sim_read_add(rd, column(rd, columns, SIM_ROW_NAME), NULL, &job, err)
                          : st;
}

static shoal_status read(struct sim_read *rd, shoal_err *err)
{
    struct env_column columns[SIM_ROW_COUNT];
    struct sim_table table = {columns, SIM_ROW_COUNT, true, read_line, NULL};
    shoal_status st = read_magic(rd, err);

    for (size_t i = 0; i < SIM_ROW_COUNT; i++)
        columns[i] = (struct env_column){sim_row_names[i], i <= SIM_ROW_GPUS, -1};
    rd->comment = '#';
    if (st == SHOAL_OK)
        st = sim_read_table(rd, &table, err);
    return st == SHOAL_END ? SHOAL_OK : st; /* there is no line at all */
}

const struct sim_reader sim_reader_shoal = {.name = "shoal", .detect = detect, .read = read};

/* --- writing -----------------------------------------------------------------------------------
 */

/* "a|b" of the kinds in the mask. */
static void kinds_text(const struct sim_trace *trace, uint64_t mask, struct base_buf *out)
{
    base_buf_clear(out);
    for (uint32_t i = 0; i < SIM_TRACE_KINDS_MAX; i++) {
        if ((mask >> i & 1) == 0)
            continue;
        if (out->size > 0)
            base_buf_puts(out, "|");
        base_buf_puts(out, sim_names_get(&trace->kinds, i));
    }
}

static bool default_group(const struct sim_trace *trace, uint32_t group)
{
    return strcmp(sim_names_get(&trace->groups, group), "default") == 0;
}

/* Only columns that say something are written. */
static uint32_t columns_used(const struct sim_trace *trace)
{
    uint32_t mask = 1u << SIM_ROW_NAME | 1u << SIM_ROW_SUBMIT | 1u << SIM_ROW_GPUS;

    for (size_t i = 0; i < trace->job_count; i++) {
        const struct sim_job *job = &trace->jobs[i];
        mask |= (uint32_t)(job->work == SIM_WORK_DURATION) << SIM_ROW_DURATION;
        mask |= (uint32_t)(job->work == SIM_WORK_STEPS) << SIM_ROW_STEPS;
        mask |= (uint32_t)(job->model != SIM_NONE) << SIM_ROW_MODEL;
        mask |= (uint32_t)(job->batch > 0) << SIM_ROW_BATCH;
        mask |= (uint32_t)!default_group(trace, job->group) << SIM_ROW_GROUP;
        mask |= (uint32_t)(job->weight != 1) << SIM_ROW_WEIGHT;
        mask |= (uint32_t)isfinite(job->slo) << SIM_ROW_SLO;
        mask |= (uint32_t)(isfinite(job->deadline_s) && !isfinite(job->slo)) << SIM_ROW_DEADLINE;
        mask |= (uint32_t)(job->want_kinds != 0) << SIM_ROW_KINDS;
        mask |= (uint32_t)(job->adapt != SIM_ADAPT_BATCH) << SIM_ROW_ADAPT;
        mask |= (uint32_t)(job->app != SIM_NONE) << SIM_ROW_APP;
        mask |= (uint32_t)isfinite(job->score) << SIM_ROW_SCORE;
    }
    return mask;
}

void sim_trace_format(const struct sim_trace *trace, struct base_buf *out)
{
    uint32_t mask = columns_used(trace);
    struct base_buf kinds;

    base_buf_init(&kinds, out->alloc, (size_t)SIM_TRACE_KINDS_MAX * (SIM_NAME_MAX + 1));
    sim_row_header(mask, out);
    for (size_t i = 0; i < trace->job_count; i++) {
        const struct sim_job *job = &trace->jobs[i];
        kinds_text(trace, job->want_kinds, &kinds);
        struct sim_row row = {
            .name = job->name,
            .model = job->model != SIM_NONE ? sim_names_get(&trace->models, job->model) : NULL,
            .group =
                default_group(trace, job->group) ? NULL : sim_names_get(&trace->groups, job->group),
            .kinds = kinds.size > 0 ? kinds.data : NULL,
            .adapt = job->adapt != SIM_ADAPT_BATCH ? sim_adapt_names[job->adapt] : NULL,
            .app = job->app != SIM_NONE ? sim_names_get(&trace->apps, job->app) : NULL,
            .score = job->score,
            .submit_s = job->submit_s,
            .duration_s = job->duration_s,
            .steps = job->steps,
            .weight = job->weight != 1 ? job->weight : NAN,
            /* a deadline settled by binding is written as what it came from */
            .deadline_s = isfinite(job->slo) ? INFINITY : job->deadline_s,
            .slo = job->slo,
            .gpus = job->gpus,
            .batch = job->batch,
        };
        sim_row_format(&row, mask, out);
    }
    if (kinds.status != SHOAL_OK && out->status == SHOAL_OK)
        out->status = kinds.status;
    base_buf_fini(&kinds);
}
