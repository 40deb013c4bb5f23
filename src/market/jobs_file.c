/* jobs_file.c - reads a fleet of jobs. */
#include "market/jobs_file.h"

#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "market/columns.h"
#include "market/prices.h"
#include "market/when.h"
#include <math.h>
#include <string.h>

enum {
    COLUMN_JOB,
    COLUMN_WORK,
    COLUMN_START,
    COLUMN_DEADLINE,
    COLUMN_BUDGET,
    COLUMN_INSTANCES,
    COLUMN_MODEL,
    COLUMN_SPEEDS,
    COLUMN_CHECKPOINT,
    COLUMN_COUNT
};

static const struct env_column columns[COLUMN_COUNT] = {
    [COLUMN_JOB] = {"job", true, -1},
    [COLUMN_WORK] = {"work", true, -1},
    [COLUMN_START] = {"start", false, -1},
    [COLUMN_DEADLINE] = {"deadline", false, -1},
    [COLUMN_BUDGET] = {"budget", false, -1},
    [COLUMN_INSTANCES] = {"instances", false, -1},
    [COLUMN_MODEL] = {"model", false, -1},
    [COLUMN_SPEEDS] = {"speeds", false, -1},
    [COLUMN_CHECKPOINT] = {"checkpoint", false, -1},
};

bool market_work_parse(const char *text, struct market_work *out)
{
    struct market_work work = {(double)NAN, (double)NAN, NULL};
    const char *at = strchr(text, '@');
    size_t length = at != NULL ? (size_t)(at - text) : strlen(text);
    char amount[64];

    if (length == 0 || length >= sizeof amount || (at != NULL && at[1] == '\0'))
        return false;
    memcpy(amount, text, length);
    amount[length] = '\0';
    work.kind = at != NULL ? at + 1 : NULL;
    if (base_parse_f64(amount, length, &work.steps)) {
        if (at != NULL || !(work.steps > 0 && work.steps <= MARKET_WORK_MAX))
            return false; /* a kind says nothing of steps */
    } else if (!base_parse_duration(amount, &work.seconds) ||
               !(work.seconds > 0 && work.seconds <= MARKET_WORK_MAX)) {
        return false;
    }
    *out = work;
    return true;
}

bool market_time_parse(const char *text, struct market_time *out)
{
    struct market_time when = {(double)NAN, (double)NAN};

    if (strcmp(text, "none") == 0)
        when.at_s = INFINITY;
    else if (!market_when_parse(text, strlen(text), &when.at_s) &&
             (!base_parse_duration(text, &when.in_s) || !(when.in_s >= 0)))
        return false;
    *out = when;
    return true;
}

/* ---- a row ---- */

struct reading {
    struct market_jobs_file *file;
    struct market_csv csv;
    struct base_map names;
};

/* The text of a column, kept by the file; NULL in *out: the file says nothing. */
static shoal_status keep(struct reading *rd, size_t column, const struct env_field **out_field,
                         const char **out, shoal_err *err)
{
    const struct env_field *field = market_csv_get(&rd->csv, column);

    *out_field = field;
    *out = NULL;
    if (field == NULL || field->length == 0)
        return SHOAL_OK;
    *out = base_arena_strndup(&rd->file->arena, field->text, field->length);
    return *out != NULL ? SHOAL_OK : base_err_nomem(err, "reading a fleet");
}

static shoal_status read_name(struct reading *rd, struct market_jobs_row *row, shoal_err *err)
{
    const struct env_field *field;
    struct base_map_entry *old = NULL;
    shoal_status st = keep(rd, COLUMN_JOB, &field, &row->name, err);

    if (st != SHOAL_OK)
        return st;
    if (row->name == NULL || field->length > MARKET_NAME_MAX)
        return market_csv_expected(&rd->csv, field, "the name of a job", err);
    st = base_map_add(&rd->names, field->text, field->length, rd->csv.lines.line, &old);
    if (st == SHOAL_E_EXISTS)
        return env_lines_bad(&rd->csv.lines, field->column, err,
                             "job '%s' is there already, in line %llu", row->name,
                             (unsigned long long)old->value);
    return st == SHOAL_OK ? st : base_err_nomem(err, "reading a fleet");
}

static shoal_status read_when(struct reading *rd, size_t column, struct market_time *out,
                              shoal_err *err)
{
    const struct env_field *field;
    const char *text;
    shoal_status st = keep(rd, column, &field, &text, err);

    *out = (struct market_time){(double)NAN, (double)NAN};
    if (st == SHOAL_OK && text != NULL && !market_time_parse(text, out))
        return market_csv_expected(&rd->csv, field,
                                   "a date such as 2025-03-01 12:00, or a time such as 36h", err);
    return st;
}

static shoal_status read_numbers(struct reading *rd, struct market_jobs_row *row, shoal_err *err)
{
    const struct env_field *field;
    const char *text;
    uint64_t number = 0;
    shoal_status st = keep(rd, COLUMN_BUDGET, &field, &text, err);

    row->budget_usd = INFINITY;
    if (st == SHOAL_OK && text != NULL &&
        (!base_parse_f64(text, strlen(text), &row->budget_usd) || !(row->budget_usd > 0)))
        return market_csv_expected(&rd->csv, field, "US dollars above 0", err);
    if (st == SHOAL_OK)
        st = keep(rd, COLUMN_INSTANCES, &field, &text, err);
    if (st == SHOAL_OK && text != NULL &&
        (!base_parse_u64(text, strlen(text), &number) || number == 0 ||
         number > MARKET_INSTANCES_MAX))
        return market_csv_expected(&rd->csv, field, "a number of instances, 1 or more", err);
    row->instances = (uint32_t)number;
    row->checkpoint_gb = NAN;
    if (st == SHOAL_OK)
        st = keep(rd, COLUMN_CHECKPOINT, &field, &text, err);
    if (st == SHOAL_OK && text != NULL) {
        if (!base_parse_size(text, &number))
            return market_csv_expected(&rd->csv, field, "a size such as 4G", err);
        row->checkpoint_gb = (double)number / 1e9;
    }
    return st;
}

static shoal_status read_row(struct reading *rd, shoal_err *err)
{
    struct market_jobs_file *file = rd->file;
    struct market_jobs_row row = {.line = rd->csv.lines.line};
    const struct env_field *field;
    const char *text = NULL;

    if (file->count == MARKET_JOBS_MAX)
        return base_err(err, SHOAL_E_LIMIT, "a fleet has at most %d jobs", MARKET_JOBS_MAX);
    shoal_status st = read_name(rd, &row, err);
    if (st == SHOAL_OK)
        st = keep(rd, COLUMN_WORK, &field, &text, err);
    if (st == SHOAL_OK && (text == NULL || !market_work_parse(text, &row.work)))
        return market_csv_expected(&rd->csv, field,
                                   "work: steps, or a time such as 48h or 48h@p3.2xlarge", err);
    if (st == SHOAL_OK)
        st = read_when(rd, COLUMN_START, &row.start, err);
    if (st == SHOAL_OK)
        st = read_when(rd, COLUMN_DEADLINE, &row.deadline, err);
    if (st == SHOAL_OK)
        st = read_numbers(rd, &row, err);
    if (st == SHOAL_OK)
        st = keep(rd, COLUMN_MODEL, &field, &row.model, err);
    if (st == SHOAL_OK)
        st = keep(rd, COLUMN_SPEEDS, &field, &row.speeds, err);
    if (st != SHOAL_OK)
        return st;
    if (base_reserve(file->alloc, (void **)&file->rows, &file->cap, file->count + 1,
                     sizeof *file->rows) != 0)
        return base_err_nomem(err, "reading a fleet");
    file->rows[file->count++] = row;
    return SHOAL_OK;
}

shoal_status market_jobs_load(shoal_env *env, const char *path, struct market_jobs_file *out,
                              shoal_err *err)
{
    struct market_jobs_file file = {.alloc = env_alloc(env)};
    struct reading rd = {.file = &file};
    shoal_status st = market_csv_open(env, "fleet", path, columns, COLUMN_COUNT, &rd.csv, err);

    if (st != SHOAL_OK)
        return st;
    base_arena_init(&file.arena, file.alloc, 1 << 12);
    base_map_init(&rd.names, file.alloc);
    while ((st = market_csv_next(&rd.csv, err)) == SHOAL_OK) {
        st = read_row(&rd, err);
        if (st != SHOAL_OK)
            break;
    }
    if (st == SHOAL_END)
        st = file.count > 0
                 ? SHOAL_OK
                 : base_err(err, SHOAL_E_FORMAT, "cannot read fleet '%.150s': no jobs in it", path);
    market_csv_close(&rd.csv);
    base_map_fini(&rd.names);
    if (st == SHOAL_OK)
        *out = file;
    else
        market_jobs_fini(&file);
    return st;
}

void market_jobs_fini(struct market_jobs_file *file)
{
    if (file->alloc == NULL)
        return;
    base_free(file->alloc, file->rows);
    base_arena_fini(&file->arena);
    *file = (struct market_jobs_file){0};
}
