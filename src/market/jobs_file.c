/* jobs_file.c - reads a fleet of jobs. */
#include "market/jobs_file.h"

#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
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
    [COLUMN_JOB] = {"job", true},
    [COLUMN_WORK] = {"work", true},
    [COLUMN_START] = {"start", false},
    [COLUMN_DEADLINE] = {"deadline", false},
    [COLUMN_BUDGET] = {"budget", false},
    [COLUMN_INSTANCES] = {"instances", false},
    [COLUMN_MODEL] = {"model", false},
    [COLUMN_SPEEDS] = {"speeds", false},
    [COLUMN_CHECKPOINT] = {"checkpoint", false},
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
    struct env_table table;
    struct base_map names;
};

static struct env_cell cell(const struct reading *rd, size_t column)
{
    return env_table_cell(&rd->table, column);
}

/* The text of a column, kept by the file; NULL: the file says nothing. */
static const char *keep(struct reading *rd, size_t column)
{
    struct env_cell c = cell(rd, column);
    const char *kept = NULL;

    if (c.length == 0)
        return NULL;
    kept = base_arena_strndup(&rd->file->arena, c.text, c.length);
    if (kept == NULL)
        env_table_nomem(&rd->table, "reading a fleet");
    return kept;
}

static const char *read_name(struct reading *rd)
{
    struct env_cell c = cell(rd, COLUMN_JOB);
    struct base_map_entry *old = NULL;
    const char *name = keep(rd, COLUMN_JOB);

    if (c.length == 0 || c.length > MARKET_NAME_MAX)
        env_table_expected(&rd->table, c, "the name of a job");
    if (rd->table.status != SHOAL_OK)
        return NULL;
    shoal_status st = base_map_add(&rd->names, c.text, c.length, rd->table.in.line, &old);
    if (st == SHOAL_E_EXISTS)
        env_table_bad(&rd->table, c.column, "job '%s' is there already, in line %llu", name,
                      (unsigned long long)old->value);
    else if (st != SHOAL_OK)
        env_table_nomem(&rd->table, "reading a fleet");
    return name;
}

static struct market_time read_when(struct reading *rd, size_t column)
{
    struct market_time out = {(double)NAN, (double)NAN};
    const char *text = keep(rd, column);

    if (text != NULL && !market_time_parse(text, &out))
        env_table_expected(&rd->table, cell(rd, column),
                           "a date such as 2025-03-01 12:00, or a time such as 36h");
    return out;
}

static void read_numbers(struct reading *rd, struct market_jobs_row *row)
{
    struct env_table *t = &rd->table;
    struct env_cell budget = cell(rd, COLUMN_BUDGET), instances = cell(rd, COLUMN_INSTANCES);
    const char *size = keep(rd, COLUMN_CHECKPOINT);
    uint64_t bytes = 0;

    row->budget_usd = INFINITY;
    if (budget.length > 0)
        row->budget_usd = env_table_positive(t, budget, INFINITY, "US dollars");
    if (instances.length > 0)
        row->instances = (uint32_t)env_table_whole(t, instances, 1, MARKET_INSTANCES_MAX,
                                                   "a number of instances");
    row->checkpoint_gb = NAN;
    if (size != NULL && !base_parse_size(size, &bytes))
        env_table_expected(t, cell(rd, COLUMN_CHECKPOINT), "a size such as 4G");
    else if (size != NULL)
        row->checkpoint_gb = (double)bytes / 1e9;
}

static void read_row(struct reading *rd)
{
    struct market_jobs_file *file = rd->file;
    struct market_jobs_row row = {.line = rd->table.in.line, .name = read_name(rd)};
    const char *work = keep(rd, COLUMN_WORK);

    if (work == NULL || !market_work_parse(work, &row.work))
        env_table_expected(&rd->table, cell(rd, COLUMN_WORK),
                           "work: steps, or a time such as 48h or 48h@p3.2xlarge");
    row.start = read_when(rd, COLUMN_START);
    row.deadline = read_when(rd, COLUMN_DEADLINE);
    read_numbers(rd, &row);
    row.model = keep(rd, COLUMN_MODEL);
    row.speeds = keep(rd, COLUMN_SPEEDS);
    if (rd->table.status == SHOAL_OK && base_reserve(file->alloc, (void **)&file->rows, &file->cap,
                                                     file->count + 1, sizeof *file->rows) != 0)
        env_table_nomem(&rd->table, "reading a fleet");
    if (rd->table.status == SHOAL_OK)
        file->rows[file->count++] = row;
}

shoal_status market_jobs_load(shoal_env *env, const char *path, struct market_jobs_file *out,
                              shoal_err *err)
{
    struct market_jobs_file file = {.alloc = env_alloc(env)};
    struct reading rd = {.file = &file};
    struct env_table *t = &rd.table;

    if (env_table_open(env, "fleet", path, t, err) != SHOAL_OK)
        return t->status;
    t->trim = true;
    base_arena_init(&file.arena, file.alloc, 1 << 12);
    base_map_init(&rd.names, file.alloc);
    bool header = env_table_header(t, NULL, columns, COLUMN_COUNT, false);
    while (env_table_next(t)) {
        if (file.count == MARKET_JOBS_MAX)
            t->status =
                base_err(err, SHOAL_E_LIMIT, "a fleet has at most %d jobs", MARKET_JOBS_MAX);
        else
            read_row(&rd);
    }
    if (t->status == SHOAL_OK && file.count == 0)
        t->status = base_err(err, SHOAL_E_FORMAT, "cannot read fleet '%.150s': %s", path,
                             header ? "no jobs in it" : "it is empty");
    env_table_note(t, file.ignored);
    base_map_fini(&rd.names);
    if (t->status == SHOAL_OK)
        *out = file;
    else
        market_jobs_fini(&file);
    return env_table_close(t);
}

void market_jobs_fini(struct market_jobs_file *file)
{
    if (file->alloc == NULL)
        return;
    base_free(file->alloc, file->rows);
    base_arena_fini(&file->arena);
    *file = (struct market_jobs_file){0};
}
