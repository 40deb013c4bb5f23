/* trace_shoal.c - Shoal's own CSV: the reader, and the writer of whole traces. docs/formats.md is
 * its description.
 *
 * load(format(trace)) equals the trace; tests/unit/sim/test_trace.c holds it to that. */
#include "base/assert.h"
#include "base/err.h"
#include "base/event.h"
#include "base/text.h"
#include "sim/reader.h"
#include "sim/row.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "#shoal-trace"

/* ---- reading ---- */

static bool detect(const char *line, size_t length)
{
    return length >= strlen(MAGIC) && memcmp(line, MAGIC, strlen(MAGIC)) == 0;
}

static struct env_cell cell(const struct sim_read *rd, enum sim_row_column column)
{
    return env_table_cell(&rd->table, column);
}

static void read_work(struct sim_read *rd, struct sim_job *job)
{
    struct env_table *t = &rd->table;
    struct env_cell duration = cell(rd, SIM_ROW_DURATION), model = cell(rd, SIM_ROW_MODEL),
                    steps = cell(rd, SIM_ROW_STEPS), batch = cell(rd, SIM_ROW_BATCH);

    if (model.length > 0)
        job->model = sim_read_name(rd, model, "a model name", &rd->trace->models);
    if (batch.length > 0)
        job->batch = (uint32_t)env_table_whole(t, batch, 1, INT32_MAX, "a total batch");
    if (duration.length > 0 && steps.length > 0) {
        env_table_bad(t, steps.column, "expected duration_s or steps, found both");
    } else if (duration.length > 0) {
        job->work = SIM_WORK_DURATION;
        job->duration_s = sim_read_seconds(rd, duration, false);
    } else if (model.length == 0) {
        env_table_bad(t, 0,
                      "expected the work of the job: duration_s, model and steps, or model and "
                      "batch");
    } else if (steps.length > 0) {
        job->work = SIM_WORK_STEPS;
        job->steps = env_table_positive(t, steps, SIM_STEPS_MAX, "steps");
    } else {
        job->work = SIM_WORK_PROFILE;
    }
}

static void read_wishes(struct sim_read *rd, struct sim_job *job)
{
    struct env_table *t = &rd->table;
    struct env_cell group = cell(rd, SIM_ROW_GROUP), weight = cell(rd, SIM_ROW_WEIGHT),
                    deadline = cell(rd, SIM_ROW_DEADLINE), slo = cell(rd, SIM_ROW_SLO);

    if (group.length > 0)
        job->group = sim_read_name(rd, group, "a group name", &rd->trace->groups);
    if (weight.length > 0)
        job->weight = env_table_positive(t, weight, SIM_WEIGHT_MAX, "a weight");
    if (deadline.length > 0)
        job->deadline_s = sim_read_time(rd, deadline);
    if (job->deadline_s < job->submit_s)
        env_table_expected(t, deadline, "a deadline at or after submit_s");
    if (slo.length > 0) {
        job->slo = (float)env_table_positive(t, slo, 1e6, "a multiple of the duration");
        if (isfinite(job->deadline_s))
            env_table_bad(t, slo.column, "expected deadline_s or slo, found both");
        if (!(job->slo > 0)) /* too small for a float */
            env_table_expected(t, slo, "a multiple of the duration above 0");
    }
    job->want_kinds = sim_read_kinds(rd, cell(rd, SIM_ROW_KINDS));
}

static void read_adapt(struct sim_read *rd, struct sim_job *job)
{
    struct env_cell adapt = cell(rd, SIM_ROW_ADAPT);
    uint8_t how = 0;

    if (adapt.length == 0)
        return;
    while (how < SIM_ADAPT_COUNT && !env_cell_same(adapt, sim_adapt_names[how]))
        how++;
    if (how == SIM_ADAPT_COUNT)
        env_table_expected(&rd->table, adapt, "what may be chosen for it: batch, size or none");
    else if (how != SIM_ADAPT_NONE && job->work != SIM_WORK_PROFILE)
        env_table_bad(&rd->table, adapt.column,
                      "only jobs with a model, and neither duration_s nor steps, can adapt");
    job->adapt = how;
}

static void read_sweep(struct sim_read *rd, struct sim_job *job)
{
    struct env_cell app = cell(rd, SIM_ROW_APP), score = cell(rd, SIM_ROW_SCORE);

    if (app.length > 0)
        job->app = sim_read_name(rd, app, "the name of a sweep", &rd->trace->apps);
    if (score.length == 0)
        return;
    if (!base_parse_f64(score.text, score.length, &job->score) || !isfinite(job->score))
        env_table_expected(&rd->table, score, "a score, any number");
    if (job->app == SIM_NONE)
        env_table_bad(&rd->table, score.column,
                      "expected a score only beside the app whose jobs it compares");
}

static void read(struct sim_read *rd)
{
    struct env_column columns[SIM_ROW_COUNT];
    struct env_table *t = &rd->table;

    for (size_t i = 0; i < SIM_ROW_COUNT; i++)
        columns[i] = (struct env_column){sim_row_names[i], i <= SIM_ROW_GPUS};
    env_table_header(t, MAGIC, columns, SIM_ROW_COUNT, false);
    while (env_table_next(t)) {
        struct sim_job job = sim_read_job();
        job.submit_s = sim_read_time(rd, cell(rd, SIM_ROW_SUBMIT));
        job.gpus =
            (uint32_t)env_table_whole(t, cell(rd, SIM_ROW_GPUS), 1, SIM_JOB_GPUS_MAX, "GPUs");
        read_work(rd, &job);
        read_wishes(rd, &job);
        read_adapt(rd, &job);
        read_sweep(rd, &job);
        sim_read_add(rd, cell(rd, SIM_ROW_NAME), NULL, &job);
    }
}

/* A header of ours is enough without the magic line. */
const struct sim_reader sim_reader_shoal = {
    .name = "shoal", .header = "submit_s,gpus", .detect = detect, .read = read};

/* ---- writing ---- */

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

/* ---- a line (row.h) ---- */

const char *const sim_row_names[SIM_ROW_COUNT] = {
    "name",   "submit_s",   "gpus", "duration_s", "model", "steps", "batch", "group",
    "weight", "deadline_s", "slo",  "kinds",      "adapt", "app",   "score",
};

void sim_row_header(uint32_t mask, struct base_buf *out)
{
    const char *comma = "";

    base_buf_puts(out, "#shoal-trace v1\n");
    for (unsigned c = 0; c < SIM_ROW_COUNT; c++) {
        if ((mask & 1u << c) == 0)
            continue;
        base_buf_puts(out, comma);
        base_buf_puts(out, sim_row_names[c]);
        comma = ",";
    }
    base_buf_puts(out, "\n");
}

static void put_text(const char *text, struct base_buf *out)
{
    if (text == NULL)
        return;
    if (text[strcspn(text, ",\"")] == '\0' && text[0] != '#') {
        base_buf_puts(out, text);
        return;
    }
    base_buf_puts(out, "\"");
    for (const char *quote; (quote = strchr(text, '"')) != NULL; text = quote + 1) {
        base_buf_append(out, text, (size_t)(quote + 1 - text));
        base_buf_puts(out, "\"");
    }
    base_buf_puts(out, text);
    base_buf_puts(out, "\"");
}

static void put_number(double value, struct base_buf *out)
{
    if (!isfinite(value))
        return;
    if (value >= 0 && value < 1e15 && value == floor(value)) {
        char digits[24];
        char *p = digits + sizeof digits;
        uint64_t whole = (uint64_t)value;
        do
            *--p = (char)('0' + whole % 10);
        while ((whole /= 10) > 0);
        base_buf_append(out, p, (size_t)(digits + sizeof digits - p));
        return;
    }
    base_json_f64(out, value);
}

/* The fewest digits that read back as the same float. */
static void put_float(float value, struct base_buf *out)
{
    char text[32];

    if (!isfinite(value))
        return;
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value)
            break;
    }
    base_buf_puts(out, text);
}

static void put_column(const struct sim_row *row, unsigned c, struct base_buf *out)
{
    switch ((enum sim_row_column)c) {
    case SIM_ROW_NAME: put_text(row->name, out); break;
    case SIM_ROW_SUBMIT: put_number(row->submit_s, out); break;
    case SIM_ROW_GPUS: put_number(row->gpus, out); break;
    case SIM_ROW_DURATION: put_number(row->duration_s, out); break;
    case SIM_ROW_MODEL: put_text(row->model, out); break;
    case SIM_ROW_STEPS: put_number(row->steps, out); break;
    case SIM_ROW_BATCH: put_number(row->batch > 0 ? (double)row->batch : (double)NAN, out); break;
    case SIM_ROW_GROUP: put_text(row->group, out); break;
    case SIM_ROW_WEIGHT: put_number(row->weight, out); break;
    case SIM_ROW_DEADLINE: put_number(row->deadline_s, out); break;
    case SIM_ROW_SLO: put_float(row->slo, out); break;
    case SIM_ROW_KINDS: put_text(row->kinds, out); break;
    case SIM_ROW_ADAPT: put_text(row->adapt, out); break;
    case SIM_ROW_APP: put_text(row->app, out); break;
    case SIM_ROW_SCORE: put_number(row->score, out); break;
    case SIM_ROW_COUNT: break;
    }
}

void sim_row_format(const struct sim_row *row, uint32_t mask, struct base_buf *out)
{
    const char *comma = "";

    for (unsigned c = 0; c < SIM_ROW_COUNT; c++) {
        if ((mask & 1u << c) == 0)
            continue;
        base_buf_puts(out, comma);
        put_column(row, c, out);
        comma = ",";
    }
    base_buf_puts(out, "\n");
}
