/* jobs.c - reads a fleet of jobs and rules of speed, and what these say of the kinds of a history. Tests:
 * tests/unit/market/test_jobs.c. */
#include "market/jobs.h"

#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "market/when.h"
#include <math.h>
#include <string.h>
#include <strings.h>

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

static const struct env_column job_columns[COLUMN_COUNT] = {
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

static void read_job(struct reading *rd)
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
    bool header = env_table_header(t, NULL, job_columns, COLUMN_COUNT, false);
    while (env_table_next(t)) {
        if (file.count == MARKET_JOBS_MAX)
            t->status =
                base_err(err, SHOAL_E_LIMIT, "a fleet has at most %d jobs", MARKET_JOBS_MAX);
        else
            read_job(&rd);
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

/* ---- rules of speed ---- */

#define SPEED_MAX 1e15 /* steps per second */

void market_speeds_init(struct market_speeds *speeds, const struct base_alloc *alloc)
{
    *speeds = (struct market_speeds){.alloc = alloc};
    base_arena_init(&speeds->arena, alloc, 1 << 12);
}

void market_speeds_fini(struct market_speeds *speeds)
{
    base_free(speeds->alloc, speeds->rules);
    base_arena_fini(&speeds->arena);
}

static shoal_status add(struct market_speeds *speeds, const char *model, size_t model_length,
                        const char *name, size_t length, double steps_s, shoal_err *err)
{
    if (speeds->count == MARKET_RULES_MAX)
        return base_err(err, SHOAL_E_LIMIT, "more than %d speeds", MARKET_RULES_MAX);
    char *copy = base_arena_strndup(&speeds->arena, name, length);
    char *of = base_arena_strndup(&speeds->arena, model, model_length);
    if (copy == NULL || of == NULL ||
        base_reserve(speeds->alloc, (void **)&speeds->rules, &speeds->cap, speeds->count + 1,
                     sizeof *speeds->rules) != 0)
        return base_err_nomem(err, "reading speeds");
    speeds->rules[speeds->count++] = (struct market_rule){of, copy, steps_s};
    return SHOAL_OK;
}

static bool separates(char c)
{
    return c == ',' || c == ';' || c == ' ' || c == '\t';
}

shoal_status market_speeds_parse(struct market_speeds *speeds, const char *model, const char *text,
                                 size_t length, const char *what, shoal_err *err)
{
    size_t at = 0, before = speeds->count;

    while (at < length) {
        size_t word = 0, name = 0;
        double steps_s;
        while (at + word < length && !separates(text[at + word]))
            word++;
        while (name < word && text[at + name] != '=')
            name++;
        if (word > 0) {
            if (name == 0 || name + 1 >= word ||
                !base_parse_f64(text + at + name + 1, word - name - 1, &steps_s) ||
                !(steps_s > 0 && steps_s <= SPEED_MAX))
                return base_err(err, SHOAL_E_INVAL,
                                "%s: expected KIND=STEPS_PER_S such as p3.2xlarge=1.5, found "
                                "'%.*s'",
                                what, (int)(word < 60 ? word : 60), text + at);
            shoal_status st = add(speeds, model, strlen(model), text + at, name, steps_s, err);
            if (st != SHOAL_OK)
                return st;
        }
        at += word + 1;
    }
    if (speeds->count == before)
        return base_err(err, SHOAL_E_INVAL, "%s: expected KIND=STEPS_PER_S, found nothing", what);
    return SHOAL_OK;
}

/* ---- from a file ---- */

enum { SPEED_INSTANCE, SPEED_STEPS, SPEED_MODEL, SPEED_COLUMNS };

static void read_speed(struct market_speeds *speeds, struct env_table *t)
{
    struct env_cell name = env_table_cell(t, SPEED_INSTANCE);
    struct env_cell model = env_table_cell(t, SPEED_MODEL);

    if (name.length == 0 || name.length > MARKET_NAME_MAX)
        env_table_expected(t, name, "a kind of instance");
    double steps_s =
        env_table_number(t, env_table_cell(t, SPEED_STEPS), 0, SPEED_MAX, "steps per second");
    if (t->at[SPEED_MODEL] >= 0 && (model.length == 0 || model.length > MARKET_NAME_MAX))
        env_table_expected(t, model, "the name of a model");
    if (t->status == SHOAL_OK)
        t->status = add(speeds, model.text, model.length, name.text, name.length, steps_s, t->err);
}

shoal_status market_speeds_load(shoal_env *env, const char *path, struct market_speeds *speeds,
                                shoal_err *err)
{
    static const struct env_column columns[SPEED_COLUMNS] = {
        [SPEED_INSTANCE] = {"instance", true},
        [SPEED_STEPS] = {"steps_per_s", true},
        [SPEED_MODEL] = {"model", false},
    };
    struct env_table t;
    size_t before = speeds->count;

    if (env_table_open(env, "model", path, &t, err) != SHOAL_OK)
        return t.status;
    t.trim = true;
    bool header = env_table_header(&t, NULL, columns, SPEED_COLUMNS, false);
    while (env_table_next(&t))
        read_speed(speeds, &t);
    if (t.status == SHOAL_OK && speeds->count == before)
        t.status = base_err(err, SHOAL_E_FORMAT, "cannot read model '%.150s': %s", path,
                            header ? "no speeds in it" : "it is empty");
    env_table_note(&t, speeds->ignored);
    return env_table_close(&t);
}

bool market_speeds_has(const struct market_speeds *speeds, const char *model)
{
    for (size_t i = 0; i < speeds->count; i++)
        if (strcmp(speeds->rules[i].model, model) == 0)
            return true;
    return false;
}

/* ---- what they say of a history ---- */

bool market_fits(const char *pattern, const char *name)
{
    const char *star = NULL,
               *from = NULL; /* after the last '*', and what it has swallowed so far */

    while (*name != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            from = name;
        } else if (strncasecmp(pattern, name, 1) == 0) {
            pattern++;
            name++;
        } else if (star != NULL) {
            pattern = star;
            name = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

const char *market_nearest(const struct market_names *names, const char *word)
{
    const char *near = NULL;
    size_t least = strlen(word) / 3 + 2;

    for (size_t i = 0; i < names->map.count; i++) {
        const char *name = names->map.entries[i].key;
        size_t d = strcasecmp(name, word) == 0 ? 0 : base_edit_distance(name, word);
        if (d < least) {
            least = d;
            near = name;
        }
    }
    return near;
}

bool market_hint_nearest(const struct market_names *names, const struct market_names *more,
                         const char *word, shoal_err *err)
{
    const char *near = market_nearest(names, word);

    if (near == NULL && more != NULL)
        near = market_nearest(more, word);
    if (near != NULL)
        base_err_hint(err, "did you mean '%s'?", near);
    return near != NULL;
}

void market_accelerators(const struct market_prices *prices, double *out_count, uint32_t *out_which)
{
    for (size_t k = 0; k < prices->kinds.map.count; k++) {
        out_count[k] = 0;
        out_which[k] = MARKET_NONE;
    }
    for (size_t o = 0; o < prices->offer_count; o++) {
        const struct market_offer *of = &prices->offers[o];
        if (out_count[of->kind] > 0 || !(of->accelerators > 0))
            continue;
        out_count[of->kind] = of->accelerators;
        out_which[of->kind] = of->accelerator;
    }
}

/* The kinds of a history, and what they hold. */
struct kinds {
    const struct market_prices *prices;
    double *count;
    uint32_t *which;
};

static shoal_status kinds_init(struct kinds *kinds, const struct base_alloc *alloc,
                               const struct market_prices *prices)
{
    size_t count = prices->kinds.map.count;

    kinds->prices = prices;
    kinds->count = base_calloc(alloc, count + 1, sizeof *kinds->count);
    kinds->which = base_calloc(alloc, count + 1, sizeof *kinds->which);
    if (kinds->count == NULL || kinds->which == NULL)
        return SHOAL_E_NOMEM;
    market_accelerators(prices, kinds->count, kinds->which);
    return SHOAL_OK;
}

static void kinds_fini(struct kinds *kinds, const struct base_alloc *alloc)
{
    base_free(alloc, kinds->count);
    base_free(alloc, kinds->which);
}

/* Writes the speeds of the kinds that a rule fits; false: it fits none. */
static bool apply_rule(const struct market_rule *rule, const struct kinds *kinds, double *by_kind)
{
    const struct market_prices *p = kinds->prices;
    bool fits = false;

    for (size_t k = 0; k < p->kinds.map.count; k++) {
        uint32_t which = kinds->which[k];
        if (market_fits(rule->name, p->kinds.map.entries[k].key))
            by_kind[k] = rule->steps_s;
        else if (which != MARKET_NONE &&
                 market_fits(rule->name, p->accelerators.map.entries[which].key))
            by_kind[k] = rule->steps_s * kinds->count[k];
        else
            continue;
        fits = true;
    }
    return fits;
}

static shoal_status no_such_kind(const struct market_prices *prices, const char *name,
                                 shoal_err *err)
{
    base_err(err, SHOAL_E_NOTFOUND, "no prices of a kind of instance or accelerator '%.60s'", name);
    if (!market_hint_nearest(&prices->kinds, &prices->accelerators, name, err) &&
        prices->kinds.map.count > 0)
        base_err_hint(err, "the history has %zu kinds, such as '%s'", prices->kinds.map.count,
                      prices->kinds.map.entries[0].key);
    return SHOAL_E_NOTFOUND;
}

shoal_status market_speeds_apply(const struct market_speeds *speeds, const char *model,
                                 const struct market_prices *prices, double *by_kind,
                                 shoal_err *err)
{
    struct kinds kinds;
    shoal_status st = kinds_init(&kinds, speeds->alloc, prices);

    if (st != SHOAL_OK)
        base_err_nomem(err, "reading speeds");
    for (size_t k = 0; k < prices->kinds.map.count; k++)
        by_kind[k] = 0;
    for (size_t i = 0; i < speeds->count && st == SHOAL_OK; i++) {
        const struct market_rule *rule = &speeds->rules[i];
        if (strcmp(rule->model, model) == 0 && !apply_rule(rule, &kinds, by_kind))
            st = no_such_kind(prices, rule->name, err);
    }
    kinds_fini(&kinds, speeds->alloc);
    return st;
}
