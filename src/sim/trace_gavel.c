/* trace_gavel.c - Gavel's traces: tab-separated lines without a header, in two shapes.
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
#include "sim/reader.h"

#include "base/text.h"
#include <math.h>
#include <string.h>

/* Where each value stands in the two shapes. */
struct shape {
    size_t fields, steps, scale, arrival;
    int weight, slo; /* -1: not there */
};
static const struct shape shapes[] = {
    {10, 5, 6, 9, 7, 8},
    {7, 4, 6, 5, -1, -1},
};

static bool detect(const char *line, size_t length)
{
    size_t tabs = 0;

    for (size_t i = 0; i < length; i++)
        tabs += line[i] == '\t';
    return tabs == 9 || tabs == 6;
}

static shoal_status read_slo(struct sim_read *rd, const struct env_field *field,
                             struct sim_job *job, shoal_err *err)
{
    double slo;

    if (!base_parse_f64(field->text, field->length, &slo) || slo > 1e6)
        return sim_read_expected(rd, field, "an SLO, a multiple of the duration or -1", err);
    if (slo == 0)
        return sim_read_expected(rd, field, "an SLO above 0, or -1 for none", err);
    job->slo = slo > 0 ? (float)slo : NAN;
    if (job->slo == 0)
        return sim_read_expected(rd, field, "an SLO above 0, or -1 for none", err);
    return SHOAL_OK;
}

static shoal_status read_line(struct sim_read *rd, const struct shape *shape, shoal_err *err)
{
    struct sim_job job = sim_read_job();
    struct env_field *f = rd->fields;

    job.work = SIM_WORK_STEPS;
    shoal_status st = sim_read_name(rd, &f[0], "a job type", &rd->trace->models, &job.model, err);
    if (st == SHOAL_OK)
        st = sim_read_number(rd, &f[shape->steps], SIM_STEPS_MAX, "steps", &job.steps, err);
    if (st == SHOAL_OK)
        st = sim_read_whole(rd, &f[shape->scale], 1, SIM_JOB_GPUS_MAX, "a scale factor", &job.gpus,
                            err);
    if (st == SHOAL_OK)
        st = sim_read_seconds(rd, &f[shape->arrival], true, &job.submit_s, err);
    if (st == SHOAL_OK && shape->weight >= 0)
        st = sim_read_number(rd, &f[shape->weight], SIM_WEIGHT_MAX, "a priority weight",
                             &job.weight, err);
    if (st == SHOAL_OK && shape->slo >= 0)
        st = read_slo(rd, &f[shape->slo], &job, err);
    return st == SHOAL_OK ? sim_read_add(rd, NULL, "job", &job, err) : st;
}

static shoal_status read(struct sim_read *rd, shoal_err *err)
{
    const struct shape *shape = NULL;
    shoal_status st;

    while ((st = sim_read_next(rd, '\t', err)) == SHOAL_OK) {
        for (size_t i = 0; i < 2 && shape == NULL; i++)
            if (shapes[i].fields == rd->field_count)
                shape = &shapes[i];
        if (shape == NULL)
            return env_lines_bad(&rd->lines, 0, err,
                                 "expected 10 or 7 fields separated by tabs, found %zu",
                                 rd->field_count);
        st = sim_read_count(rd, shape->fields, err);
        if (st == SHOAL_OK)
            st = read_line(rd, shape, err);
        if (st != SHOAL_OK)
            return st;
    }
    return st == SHOAL_END ? SHOAL_OK : st;
}

const struct sim_reader sim_reader_gavel = {.name = "gavel", .detect = detect, .read = read};
