/* runs_csv.c - Shoal's own CSV of runs: `#shoal-runs v1`, a header, a line for each measurement. */
#include "advise/runs_parts.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "env/header.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ALGORITHM, MACHINES, SIZE, RUN, ITERATION, TIME, LOSS, COLUMNS };

static const double NUMBER_MAX = 1e15;
static const char MAGIC[] = "#shoal-runs v1";
static const struct env_column NAMED[COLUMNS] = {
    [ALGORITHM] = {"algorithm", true, -1}, [MACHINES] = {"machines", true, -1},
    [SIZE] = {"size", false, -1},          [RUN] = {"run", false, -1},
    [ITERATION] = {"iteration", true, -1}, [TIME] = {"time_s", true, -1},
    [LOSS] = {"loss", true, -1},
};

struct reading {
    struct env_lines *lines;
    struct env_field fields[ENV_FIELDS_MAX];
    size_t count;
    struct env_column columns[COLUMNS];
};

static shoal_status expected(const struct reading *rd, const struct env_field *field,
                             const char *what, shoal_err *err)
{
    return env_lines_expected(rd->lines, field, what, err);
}

/* The next line that is neither blank nor a comment, in fields. */
static shoal_status next(struct reading *rd, shoal_err *err)
{
    char *text;
    size_t length;

    do {
        shoal_status st = env_lines_next(rd->lines, &text, &length, err);
        if (st != SHOAL_OK)
            return st;
        if (rd->lines->line == 1 && length >= 12 && memcmp(text, MAGIC, 12) == 0 &&
            (length != sizeof MAGIC - 1 || memcmp(text, MAGIC, length) != 0))
            return env_lines_bad(rd->lines, 0, err, "this Shoal reads '%s' alone", MAGIC);
    } while (length == 0 || text[0] == '#');
    return env_lines_split(rd->lines, text, length, ',', rd->fields, &rd->count, err);
}

static shoal_status read_header(struct reading *rd, shoal_err *err)
{
    shoal_status st = next(rd, err);
    struct env_header header = {rd->lines, rd->fields, rd->count, true};

    if (st == SHOAL_END && rd->lines->line == 0)
        return base_err(err, SHOAL_E_FORMAT,
                        "cannot read runs '%s': it is empty; expected a header such as "
                        "algorithm,machines,iteration,time_s,loss",
                        rd->lines->path);
    if (st == SHOAL_END)
        return env_lines_bad(rd->lines, 0, err,
                             "expected a header such as "
                             "algorithm,machines,iteration,time_s,loss");
    if (st != SHOAL_OK)
        return st;
    memcpy(rd->columns, NAMED, sizeof rd->columns);
    return env_header_find(&header, rd->columns, COLUMNS, err);
}

static const struct env_field *field(const struct reading *rd, int column)
{
    int at = rd->columns[column].at;

    return at < 0 ? NULL : &rd->fields[at];
}

static shoal_status read_name(const struct reading *rd, int column, bool required,
                              char out[ADVISE_NAME_MAX + 1], shoal_err *err)
{
    const struct env_field *f = field(rd, column);

    out[0] = 0;
    if (f == NULL || (f->length == 0 && !required))
        return SHOAL_OK;
    if (f->length == 0 || f->length > ADVISE_NAME_MAX)
        return expected(rd, f, "a name of 1 to 63 bytes", err);
    memcpy(out, f->text, f->length);
    out[f->length] = 0;
    return SHOAL_OK;
}

static shoal_status read_number(const struct reading *rd, int column, double min, const char *what,
                                double *out, shoal_err *err)
{
    const struct env_field *f = field(rd, column);

    if (f == NULL || (f->length == 0 && !rd->columns[column].required))
        return SHOAL_OK;
    if (!base_parse_f64(f->text, f->length, out) || *out < min || *out > NUMBER_MAX)
        return expected(rd, f, what, err);
    return SHOAL_OK;
}

static bool is_word(const struct env_field *f, const char *word)
{
    return f->length == strlen(word) && memcmp(f->text, word, f->length) == 0;
}

/* Empty: not measured. What is not a number any more is one kind of divergence to us: infinity. */
static shoal_status read_loss(const struct reading *rd, double *out, shoal_err *err)
{
    static const char *const GONE[] = {"nan",      "NaN",  "-nan",     "inf",
                                       "Infinity", "-inf", "-Infinity"};
    const struct env_field *f = field(rd, LOSS);

    *out = (double)NAN;
    if (f->length == 0)
        return SHOAL_OK;
    for (size_t i = 0; i < BASE_COUNT(GONE); i++)
        if (is_word(f, GONE[i])) {
            *out = (double)INFINITY;
            return SHOAL_OK;
        }
    if (!base_parse_f64(f->text, f->length, out))
        return expected(rd, f, "a loss: a number, nan, inf, or nothing", err);
    if (fabs(*out) > NUMBER_MAX)
        *out = (double)INFINITY;
    return SHOAL_OK;
}

static shoal_status read_line(struct advise_runs *runs, const struct reading *rd, shoal_err *err)
{
    char algorithm[ADVISE_NAME_MAX + 1], label[ADVISE_NAME_MAX + 1];
    double machines = 0, size = 1;
    struct advise_point point = {0};
    struct advise_run *run;
    const struct env_field *stated = field(rd, SIZE);
    shoal_status st = read_name(rd, ALGORITHM, true, algorithm, err);

    if (st == SHOAL_OK)
        st = read_name(rd, RUN, false, label, err);
    if (st == SHOAL_OK)
        st = read_number(rd, MACHINES, 1, "machines: a whole number from 1 to 100,000", &machines,
                         err);
    if (st == SHOAL_OK && (machines > ADVISE_MACHINES_MAX || machines != floor(machines)))
        st = expected(rd, field(rd, MACHINES), "machines: a whole number from 1 to 100,000", err);
    if (st == SHOAL_OK)
        st = read_number(rd, SIZE, 1e-9, "a size above 0", &size, err);
    if (st == SHOAL_OK)
        st = read_number(rd, ITERATION, 0, "iterations done so far, 0 or more", &point.iteration,
                         err);
    if (st == SHOAL_OK)
        st = read_number(rd, TIME, 0, "seconds since the start, 0 or more", &point.time_s, err);
    if (st == SHOAL_OK)
        st = read_loss(rd, &point.loss, err);
    if (st != SHOAL_OK)
        return st;
    if (stated != NULL && stated->length > 0)
        runs->sized = true;
    else
        runs->unsized = true;
    run = advise_runs_find(runs, algorithm, (uint32_t)machines, size, label, err);
    if (run == NULL)
        return err != NULL && err->code == SHOAL_E_LIMIT ? SHOAL_E_LIMIT : SHOAL_E_NOMEM;
    const char *why = advise_runs_order(run, &point);
    if (why != NULL)
        return env_lines_bad(rd->lines, 0, err, "%s", why);
    return advise_runs_add(runs, run, &point, err);
}

shoal_status advise_runs_csv(struct advise_runs *runs, struct env_lines *lines, shoal_err *err)
{
    struct reading rd = {.lines = lines};
    shoal_err own = SHOAL_ERR_INIT;
    shoal_status st;

    err = err == NULL ? &own : err;
    st = read_header(&rd, err);
    size_t width = rd.count;
    while (st == SHOAL_OK && (st = next(&rd, err)) == SHOAL_OK) {
        if (rd.count != width)
            st = env_lines_bad(lines, 0, err, "expected %zu fields, found %zu", width, rd.count);
        else
            st = read_line(runs, &rd, err);
    }
    return st == SHOAL_END ? SHOAL_OK : st;
}
