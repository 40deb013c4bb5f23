/* reader.c - the helpers trace readers are made of; see reader.h. */
#include "sim/reader.h"

#include "base/err.h"
#include "base/text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

bool sim_read_is(const struct env_field *field, const char *text)
{
    return strlen(text) == field->length && memcmp(field->text, text, field->length) == 0;
}

bool sim_read_starts(const char *line, size_t length, const char *text)
{
    return length >= strlen(text) && memcmp(line, text, strlen(text)) == 0;
}

struct sim_job sim_read_job(void)
{
    return (struct sim_job){
        .name = "",
        .duration_s = NAN,
        .steps = NAN,
        .weight = 1,
        .deadline_s = INFINITY,
        .gpus = 1,
        .model = SIM_NONE,
        .group = SIM_NONE,
        .app = SIM_NONE,
        .slo = NAN,
        .score = NAN,
    };
}

shoal_status sim_read_next(struct sim_read *rd, char separator, shoal_err *err)
{
    return env_lines_fields(&rd->lines, separator, rd->comment, rd->fields, &rd->field_count, err);
}

shoal_status sim_read_count(struct sim_read *rd, size_t count, shoal_err *err)
{
    if (rd->field_count == count)
        return SHOAL_OK;
    return env_lines_bad(&rd->lines, 0, err, "expected %zu fields, found %zu", count,
                         rd->field_count);
}

shoal_status sim_read_table(struct sim_read *rd, const struct sim_table *table, shoal_err *err)
{
    shoal_status st = sim_read_next(rd, ',', err);
    struct env_header header = {&rd->lines, rd->fields, rd->field_count, table->strict};

    if (st == SHOAL_OK)
        st = env_header_find(&header, table->columns, table->count, err);
    while (st == SHOAL_OK && (st = sim_read_next(rd, ',', err)) == SHOAL_OK) {
        st = sim_read_count(rd, header.field_count, err);
        if (st == SHOAL_OK)
            st = table->row(rd, table->columns, table->ctx, err);
    }
    return st == SHOAL_END ? SHOAL_OK : st;
}

shoal_status sim_read_expected(struct sim_read *rd, const struct env_field *field, const char *what,
                               shoal_err *err)
{
    return env_lines_expected(&rd->lines, field, what, err);
}

/* --- values ------------------------------------------------------------------------------------
 */

/* Offers the plain number for the ways people write times. */
static void hint_seconds(const struct env_field *field, shoal_err *err)
{
    char text[32];
    double seconds;

    if (field->length >= sizeof text)
        return;
    memcpy(text, field->text, field->length);
    text[field->length] = '\0';
    if (base_parse_duration(text, &seconds) && seconds >= 0 && seconds < SIM_TIME_MAX)
        base_err_hint(err, "write %.15g", seconds);
}

shoal_status sim_read_seconds(struct sim_read *rd, const struct env_field *field, bool zero,
                              double *out, shoal_err *err)
{
    double value;

    if (!base_parse_f64(field->text, field->length, &value)) {
        sim_read_expected(rd, field, "seconds", err);
        hint_seconds(field, err);
        return SHOAL_E_FORMAT;
    }
    if (!(value < SIM_TIME_MAX))
        return sim_read_expected(rd, field, "seconds below 1e12", err);
    if (value < 0 || (value == 0 && !zero))
        return sim_read_expected(rd, field, zero ? "seconds of 0 or more" : "seconds above 0", err);
    *out = value + 0.0; /* -0 becomes 0 */
    return SHOAL_OK;
}

shoal_status sim_read_number(struct sim_read *rd, const struct env_field *field, double max,
                             const char *what, double *out, shoal_err *err)
{
    char expected[80];
    double value;

    if (base_parse_f64(field->text, field->length, &value) && value > 0 && value <= max) {
        *out = value;
        return SHOAL_OK;
    }
    snprintf(expected, sizeof expected, "%s above 0 and at most %g", what, max);
    return sim_read_expected(rd, field, expected, err);
}

shoal_status sim_read_whole(struct sim_read *rd, const struct env_field *field, uint32_t min,
                            uint32_t max, const char *what, uint32_t *out, shoal_err *err)
{
    char expected[80];
    uint64_t value;

    if (base_parse_u64(field->text, field->length, &value) && value >= min && value <= max) {
        *out = (uint32_t)value;
        return SHOAL_OK;
    }
    snprintf(expected, sizeof expected, "%s, a whole number from %u to %u", what, min, max);
    return sim_read_expected(rd, field, expected, err);
}

/* --- names -------------------------------------------------------------------------------------
 */

static shoal_status name_length(struct sim_read *rd, const struct env_field *field,
                                const char *what, shoal_err *err)
{
    if (field->length > 0 && field->length <= SIM_NAME_MAX)
        return SHOAL_OK;
    if (field->length == 0)
        return sim_read_expected(rd, field, what, err);
    return env_lines_bad(&rd->lines, field->column, err, "expected %s of at most %d bytes", what,
                         SIM_NAME_MAX);
}

shoal_status sim_read_name(struct sim_read *rd, const struct env_field *field, const char *what,
                           struct sim_names *names, uint32_t *out, shoal_err *err)
{
    shoal_status st = name_length(rd, field, what, err);

    if (st != SHOAL_OK)
        return st;
    st = sim_names_add(names, field->text, field->length, out);
    return st == SHOAL_OK ? st : base_err_nomem(err, "loading a trace");
}

shoal_status sim_read_kinds(struct sim_read *rd, const struct env_field *field, uint64_t *out,
                            shoal_err *err)
{
    uint64_t mask = 0;

    for (size_t at = 0; at < field->length;) {
        const char *bar = memchr(field->text + at, '|', field->length - at);
        size_t stop = bar != NULL ? (size_t)(bar - field->text) : field->length;
        struct env_field part = {field->text + at, stop - at, field->column};
        uint32_t index;
        shoal_status st =
            sim_read_name(rd, &part, "the name of a kind", &rd->trace->kinds, &index, err);
        if (st != SHOAL_OK)
            return st;
        if (index >= SIM_TRACE_KINDS_MAX)
            return env_lines_bad(&rd->lines, field->column, err,
                                 "expected at most %d different kinds in a trace",
                                 SIM_TRACE_KINDS_MAX);
        mask |= UINT64_C(1) << index;
        if (stop + 1 == field->length) /* "a|" */
            return sim_read_expected(rd, field, "kinds such as 'v100|t4'", err);
        at = stop + 1;
    }
    *out = mask;
    return SHOAL_OK;
}

/* --- adding ------------------------------------------------------------------------------------
 */

enum { LINE_BITS = 40 };

shoal_status sim_read_add(struct sim_read *rd, const struct env_field *field, const char *word,
                          struct sim_job *job, shoal_err *err)
{
    char name[SIM_NAME_MAX + 1];
    char shown[ENV_SHOWN_MAX];
    uint64_t first = 0;
    uint64_t line = rd->lines.line & ((UINT64_C(1) << LINE_BITS) - 1);

    if (field != NULL) {
        shoal_status st = name_length(rd, field, "a job name", err);
        if (st != SHOAL_OK)
            return st;
        memcpy(name, field->text, field->length);
        name[field->length] = '\0';
    } else {
        snprintf(name, sizeof name, "%s%s-%llu", rd->prefix, word, (unsigned long long)line);
    }
    job->name = name;
    shoal_status st =
        sim_trace_add_at(rd->trace, job, (uint64_t)rd->file << LINE_BITS | line, &first);
    if (st == SHOAL_OK)
        return SHOAL_OK;
    if (st == SHOAL_E_NOMEM)
        return base_err_nomem(err, "loading a trace");
    if (st == SHOAL_E_LIMIT) {
        env_lines_bad(&rd->lines, 0, err, "expected at most %d jobs", SIM_JOBS_MAX);
        if (err != NULL)
            err->code = SHOAL_E_LIMIT;
        return SHOAL_E_LIMIT;
    }
    env_lines_bad(&rd->lines, field != NULL ? field->column : 0, err,
                  "expected a name of its own, but job '%s' is already in '%s', line %llu",
                  env_lines_show(name, strlen(name), shown), rd->paths[first >> LINE_BITS],
                  (unsigned long long)(first & ((UINT64_C(1) << LINE_BITS) - 1)));
    return SHOAL_E_FORMAT;
}
