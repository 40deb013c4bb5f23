/* bind.c - gives each job of a trace its speed on the kinds of a cluster.
 *
 * Rules, for all work: a gang runs on one kind, so a kind counts only with as many GPUs as the
 * gang; a job that names kinds accepts only those. Durations run on any such kind at the same
 * speed; steps where the throughput table has a rate above 0; profiled applications where their
 * folder has measurements; fitted models on any kind, with as many GPUs as the fit can vouch for. */
#include "sim/bind.h"

#include "base/err.h"
#include "base/text.h"
#include "sim/profile.h"
#include "sim/trace.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A whole file; `what` it is, for messages. */
static shoal_status read_json(shoal_env *env, const char *what, const char *path, size_t size_max,
                              json_t **out, shoal_err *err)
{
    struct base_buf text;
    json_error_t problem;

    base_buf_init(&text, env_alloc(env), size_max);
    shoal_status st = env_read_whole(env, path, &text, err);
    if (st == SHOAL_OK && text.size == 0)
        st = base_err(err, SHOAL_E_FORMAT, "cannot read %s '%s': empty file", what, path);
    if (st == SHOAL_OK) {
        *out = json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES, &problem);
        if (*out == NULL) {
            st = base_err(err, SHOAL_E_FORMAT, "cannot read %s '%s', line %d, column %d: %.150s",
                          what, path, problem.line, problem.column, problem.text);
            base_err_where(err, "%s, line %d, column %d", path, problem.line, problem.column);
        }
    }
    base_buf_fini(&text);
    return st;
}

/* ---- throughput tables ----
 *
 * Two passes over the parsed JSON: the first finds all rows, the
 * second fills the sheets of the kinds the cluster has. Types of other kinds are checked and left
 * out. */

#define SPREAD "_unconsolidated"

struct loading {
    struct sim_throughput *tp;
    const struct sched_cluster *cluster;
    const char *path;
    uint32_t gpus[SCHED_TABLE_ROWS_MAX]; /* of each row */
    bool known[SCHED_KINDS_MAX];         /* kinds with a packed sheet */
};

static shoal_status bad(const struct loading *ld, shoal_err *err, const char *where,
                        const char *expected)
{
    base_err(err, SHOAL_E_FORMAT, "cannot read throughput table '%s': at \"%.120s\": expected %s",
             ld->path, where, expected);
    base_err_where(err, "%s", ld->path);
    return SHOAL_E_FORMAT;
}

/* "('model', 4)" as "model\t4" in `key`, the model alone being its first *out_model bytes. */
static bool parse_row_key(const char *text, char *key, size_t key_size, size_t *out_model,
                          uint32_t *out_gpus)
{
    size_t length = strlen(text);
    uint64_t gpus;

    if (length < 7 || text[0] != '(' || (text[1] != '\'' && text[1] != '"') ||
        text[length - 1] != ')')
        return false;
    const char *model = text + 2;
    const char *comma = strrchr(text, ',');
    if (comma == NULL || comma <= model || comma[-1] != text[1] || comma[1] != ' ')
        return false;
    *out_model = (size_t)(comma - 1 - model);
    const char *digits = comma + 2;
    if (*out_model == 0 || *out_model > SIM_NAME_MAX ||
        !base_parse_u64(digits, (size_t)(text + length - 1 - digits), &gpus) || gpus < 1 ||
        gpus > SIM_JOB_GPUS_MAX)
        return false;
    *out_gpus = (uint32_t)gpus;
    int n = snprintf(key, key_size, "%.*s\t%u", (int)*out_model, model, *out_gpus);
    return n > 0 && (size_t)n < key_size;
}

enum { KEY_SIZE = SIM_NAME_MAX + 16 };

static shoal_status add_row(struct loading *ld, const char *text, shoal_err *err)
{
    struct sim_throughput *tp = ld->tp;
    char key[KEY_SIZE];
    size_t model;
    uint32_t gpus;
    uint64_t row = tp->rows.count;

    if (!parse_row_key(text, key, sizeof key, &model, &gpus))
        return bad(ld, err, text, "a row such as ('ResNet-18 (batch size 32)', 1)");
    if (base_map_find(&tp->rows, key, strlen(key)) != NULL)
        return SHOAL_OK;
    if (row == SCHED_TABLE_ROWS_MAX) {
        bad(ld, err, text, "at most 1024 different rows");
        return SHOAL_E_FORMAT;
    }
    ld->gpus[row] = gpus;
    shoal_status st = base_map_add(&tp->rows, key, strlen(key), row, NULL);
    if (st == SHOAL_OK)
        st = base_map_add(&tp->models, key, model, tp->models.count, NULL);
    return st == SHOAL_OK || st == SHOAL_E_EXISTS
               ? SHOAL_OK
               : base_err_nomem(err, "reading a throughput table");
}

static shoal_status find_rows(struct loading *ld, json_t *root, shoal_err *err)
{
    const char *type, *row;
    json_t *rows, *rates;

    json_object_foreach(root, type, rows)
    {
        if (!json_is_object(rows))
            return bad(ld, err, type, "an object of rows");
        json_object_foreach(rows, row, rates)
        {
            if (!json_is_object(rates))
                return bad(ld, err, row, "an object of rates");
            shoal_status st = add_row(ld, row, err);
            if (st != SHOAL_OK)
                return st;
        }
    }
    return ld->tp->rows.count > 0 ? SHOAL_OK : bad(ld, err, "", "at least one row");
}

static bool rate_of(const json_t *value, double *out)
{
    *out = json_number_value(value);
    return json_is_number(value) && *out >= 0 && *out <= 1e12;
}

static shoal_status fill_row(struct loading *ld, struct sched_table_sheet *sheet, const char *name,
                             json_t *rates, shoal_err *err)
{
    struct sched_table *table = &ld->tp->table;
    char key[KEY_SIZE];
    size_t model;
    uint32_t gpus, row;
    const char *other;
    json_t *value;
    double mine, theirs;

    if (!parse_row_key(name, key, sizeof key, &model, &gpus))
        return bad(ld, err, name, "a row");
    row = (uint32_t)base_map_find(&ld->tp->rows, key, strlen(key))->value;
    json_object_foreach(rates, other, value)
    {
        shoal_status st;
        if (strcmp(other, "null") == 0) {
            if (!rate_of(value, &mine))
                return bad(ld, err, name, "steps per second of 0 or more under \"null\"");
            st = sched_table_set(table, sheet, row, mine);
        } else {
            if (!json_is_array(value) || json_array_size(value) != 2 ||
                !rate_of(json_array_get(value, 0), &mine) ||
                !rate_of(json_array_get(value, 1), &theirs))
                return bad(ld, err, other, "two rates of 0 or more, of this row and the other");
            if (!parse_row_key(other, key, sizeof key, &model, &gpus))
                return bad(ld, err, other, "\"null\" or a row");
            struct base_map_entry *entry = base_map_find(&ld->tp->rows, key, strlen(key));
            if (entry == NULL)
                return bad(ld, err, other, "a row that has rates of its own");
            st = sched_table_set_pair(table, sheet, row, (uint32_t)entry->value, mine);
        }
        if (st != SHOAL_OK)
            return base_err_nomem(err, "reading a throughput table");
    }
    return SHOAL_OK;
}

/* The sheet a type fills, or NULL when the cluster has no such kind. */
static struct sched_table_sheet *sheet_of(struct loading *ld, const char *type)
{
    size_t length = strlen(type);
    size_t tail = strlen(SPREAD);
    bool spread = length > tail && strcasecmp(type + length - tail, SPREAD) == 0;
    char kind[SCHED_KIND_NAME_MAX];

    if (spread)
        length -= tail;
    if (length >= sizeof kind)
        return NULL;
    memcpy(kind, type, length);
    kind[length] = '\0';
    int index = sched_cluster_kind(ld->cluster, kind);
    if (index < 0)
        return NULL;
    ld->known[index] |= !spread;
    return spread ? &ld->tp->table.spread[index] : &ld->tp->table.packed[index];
}

static shoal_status no_kind(const struct loading *ld, json_t *root, shoal_err *err)
{
    char types[160] = "";
    size_t used = 0;
    const char *type;
    json_t *rows;

    json_object_foreach(root, type, rows)
    {
        if (strstr(type, SPREAD) != NULL)
            continue;
        int n = snprintf(types + used, sizeof types - used, "%s%.24s", used > 0 ? ", " : "", type);
        used += n > 0 ? (size_t)n : 0;
        if (used >= sizeof types)
            break;
    }
    base_err(err, SHOAL_E_INVAL,
             "cannot use throughput table '%s': it knows none of the cluster's GPU kinds",
             ld->path);
    base_err_hint(err, "it knows %s", types);
    return SHOAL_E_INVAL;
}

static shoal_status fill_sheets(struct loading *ld, json_t *root, shoal_err *err)
{
    const char *type, *row;
    json_t *rows, *rates;
    bool any = false;

    json_object_foreach(root, type, rows)
    {
        struct sched_table_sheet *sheet = sheet_of(ld, type);
        if (sheet == NULL)
            continue;
        json_object_foreach(rows, row, rates)
        {
            shoal_status st = fill_row(ld, sheet, row, rates, err);
            if (st != SHOAL_OK)
                return st;
        }
    }
    for (uint32_t k = 0; k < ld->cluster->kind_count; k++)
        any |= ld->known[k];
    return any ? SHOAL_OK : no_kind(ld, root, err);
}

static shoal_status parse(struct loading *ld, json_t *root, shoal_err *err)
{
    shoal_status st = json_is_object(root) ? find_rows(ld, root, err)
                                           : bad(ld, err, "", "an object of GPU types");

    if (st == SHOAL_OK) {
        st = sched_table_init(&ld->tp->table, ld->tp->alloc, ld->cluster, ld->gpus,
                              (uint32_t)ld->tp->rows.count);
        if (st != SHOAL_OK)
            base_err_nomem(err, "reading a throughput table");
    }
    return st == SHOAL_OK ? fill_sheets(ld, root, err) : st;
}

void sim_throughput_free(struct sim_throughput *tp)
{
    if (tp == NULL)
        return;
    if (tp->table.alloc != NULL)
        sched_table_fini(&tp->table);
    base_map_fini(&tp->rows);
    base_map_fini(&tp->models);
    base_free(tp->alloc, tp);
}

shoal_status sim_throughput_load(shoal_env *env, const char *path,
                                 const struct sched_cluster *cluster, struct sim_throughput **out,
                                 shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    struct loading *ld = base_calloc(alloc, 1, sizeof *ld);
    struct sim_throughput *tp = base_calloc(alloc, 1, sizeof *tp);
    json_t *root = NULL;
    shoal_status st;

    if (ld == NULL || tp == NULL) {
        st = base_err_nomem(err, "reading a throughput table");
        base_free(alloc, tp);
        tp = NULL;
        goto done;
    }
    tp->alloc = alloc;
    tp->v100 = sched_cluster_kind(cluster, "v100");
    base_map_init(&tp->rows, alloc);
    base_map_init(&tp->models, alloc);
    ld->tp = tp;
    ld->cluster = cluster;
    ld->path = path;
    st = read_json(env, "throughput table", path, SIM_THROUGHPUT_SIZE_MAX, &root, err);
    if (st == SHOAL_OK)
        st = parse(ld, root, err);
    if (st == SHOAL_OK) {
        *out = tp;
        tp = NULL;
    }
done:
    sim_throughput_free(tp);
    json_decref(root);
    base_free(alloc, ld);
    return st;
}

int sim_throughput_row(const struct sim_throughput *tp, const char *model, uint32_t gpus)
{
    char key[KEY_SIZE];
    int n = snprintf(key, sizeof key, "%.*s\t%u", SIM_NAME_MAX, model, gpus);
    struct base_map_entry *entry = base_map_find(&tp->rows, key, (size_t)n);

    return entry != NULL ? (int)entry->value : -1;
}

/* ---- fitted models ---- */

#define MAGIC "fitted model"

struct fitting {
    struct sim_fitted *fitted;
    const char *path;
    const char *name; /* of the model being read, or "" */
};

static shoal_status bad_model(const struct fitting *ld, shoal_err *err, const char *where,
                              const char *expected)
{
    if (ld->name[0] != '\0')
        base_err(err, SHOAL_E_FORMAT,
                 "cannot read fitted model '%s': model '%.80s', \"%.60s\": expected %s", ld->path,
                 ld->name, where, expected);
    else
        base_err(err, SHOAL_E_FORMAT, "cannot read fitted model '%s': at \"%.60s\": expected %s",
                 ld->path, where, expected);
    base_err_where(err, "%s", ld->path);
    base_err_hint(err, "write it with 'shoal advise --save'");
    return SHOAL_E_FORMAT;
}

static shoal_status no_memory(shoal_err *err)
{
    return base_err_nomem(err, "reading a fitted model");
}

/* What the numbers of a key are within. */
struct range {
    const char *key;
    double least, most;
};
static const struct range STEP_S = {"step_s", SCHED_FITTED_STEP_MIN_S, SCHED_FITTED_STEP_MAX_S},
                          LEVEL = {"level", 0, SCHED_FITTED_LEVEL_MAX},
                          STEPS = {"steps", SCHED_FITTED_STEPS_MIN, SCHED_FITTED_STEPS_MAX};

/* `count` numbers of a JSON array. */
static shoal_status read_numbers(const struct fitting *ld, const json_t *array, size_t count,
                                 const struct range *range, double *out, shoal_err *err)
{
    char expected[120];

    if (!json_is_array(array) || json_array_size(array) != count) {
        snprintf(expected, sizeof expected, "a list of %zu number%s", count, count == 1 ? "" : "s");
        return bad_model(ld, err, range->key, expected);
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(array, i);
        out[i] = json_number_value(value);
        if (json_is_number(value) && out[i] >= range->least && out[i] <= range->most)
            continue;
        snprintf(expected, sizeof expected, "numbers from %g to %g (entry %zu is not one)",
                 range->least, range->most, i + 1);
        return bad_model(ld, err, range->key, expected);
    }
    return SHOAL_OK;
}

static shoal_status read_machines(struct fitting *ld, const json_t *array, uint32_t **out,
                                  uint32_t *out_count, shoal_err *err)
{
    size_t count = json_array_size(array); /* 0 for what is none */

    if (count < 1 || count > SCHED_FITTED_MACHINES_MAX)
        return bad_model(ld, err, "machines", "a list of 1 to 64 machine counts");
    uint32_t *machines = base_arena_alloc(&ld->fitted->arena, count * sizeof *machines);
    if (machines == NULL)
        return no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(array, i);
        json_int_t m = json_integer_value(value);
        if (!json_is_integer(value) || m < 1 || m > SCHED_FITTED_COUNT_MAX ||
            (i > 0 && m <= (json_int_t)machines[i - 1]))
            return bad_model(ld, err, "machines", "whole numbers from 1 to 100000 that rise");
        machines[i] = (uint32_t)m;
    }
    *out = machines;
    *out_count = (uint32_t)count;
    return SHOAL_OK;
}

static shoal_status read_levels(struct fitting *ld, const json_t *array, double **out,
                                uint32_t *out_count, shoal_err *err)
{
    size_t count = json_array_size(array);

    if (count < 2 || count > SCHED_FITTED_LEVELS_MAX + 1)
        return bad_model(ld, err, "level", "a list of 2 to 257 numbers that rise from 0");
    double *level = base_arena_alloc(&ld->fitted->arena, count * sizeof *level);
    if (level == NULL)
        return no_memory(err);
    shoal_status st = read_numbers(ld, array, count, &LEVEL, level, err);
    if (st != SHOAL_OK)
        return st;
    for (size_t l = 0; l < count; l++)
        if (l == 0 ? level[0] != 0 : !(level[l] - level[l - 1] >= SCHED_FITTED_LEVEL_MIN))
            return bad_model(ld, err, "level", "numbers that rise from 0, by at least 1e-9 each");
    *out = level;
    *out_count = (uint32_t)count - 1;
    return SHOAL_OK;
}

static shoal_status read_steps(struct fitting *ld, const json_t *rows, const struct sched_fitted *f,
                               double *out, shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    if (!json_is_array(rows) || json_array_size(rows) != f->machine_count)
        return bad_model(ld, err, "steps", "one list for each machine count");
    for (size_t i = 0; i < f->machine_count && st == SHOAL_OK; i++)
        st = read_numbers(ld, json_array_get(rows, i), f->level_count, &STEPS,
                          out + i * f->level_count, err);
    return st;
}

static shoal_status read_tables(struct fitting *ld, const json_t *model, struct sched_fitted *f,
                                shoal_err *err)
{
    uint32_t *machines = NULL;
    double *level = NULL, *step_s, *steps;
    shoal_status st =
        read_machines(ld, json_object_get(model, "machines"), &machines, &f->machine_count, err);

    if (st == SHOAL_OK)
        st = read_levels(ld, json_object_get(model, "level"), &level, &f->level_count, err);
    if (st != SHOAL_OK)
        return st;
    step_s = base_arena_alloc(&ld->fitted->arena, f->machine_count * sizeof *step_s);
    steps = base_arena_alloc(&ld->fitted->arena,
                             (size_t)f->machine_count * f->level_count * sizeof *steps);
    if (step_s == NULL || steps == NULL)
        return no_memory(err);
    st = read_numbers(ld, json_object_get(model, "step_s"), f->machine_count, &STEP_S, step_s, err);
    if (st == SHOAL_OK)
        st = read_steps(ld, json_object_get(model, "steps"), f, steps, err);
    f->machines = machines;
    f->level = level;
    f->step_s = step_s;
    f->steps = steps;
    if (st == SHOAL_OK && !sched_fitted_valid(f))
        return bad_model(ld, err, "", "tables within their ranges");
    return st;
}

/* See sim_fitted_even. */
static shoal_status make_even(struct fitting *ld, const struct sched_fitted *f,
                              struct sched_fitted *out, shoal_err *err)
{
    double *level = base_arena_alloc(&ld->fitted->arena, (f->level_count + 1) * sizeof *level);
    double total = 0, sum = 0;

    if (level == NULL)
        return no_memory(err);
    for (uint32_t l = 0; l < f->level_count; l++)
        total += f->steps[l];
    level[0] = 0;
    for (uint32_t l = 0; l < f->level_count; l++) {
        sum += f->steps[l];
        level[l + 1] = sum / total;
    }
    *out = *f;
    out->level = level;
    if (!sched_fitted_valid(out))
        *out = *f;
    return SHOAL_OK;
}

static shoal_status read_model(struct fitting *ld, const json_t *model, shoal_err *err)
{
    struct sim_fitted *fitted = ld->fitted;
    const char *name = json_string_value(json_object_get(model, "name"));
    size_t length = name != NULL ? json_string_length(json_object_get(model, "name")) : 0;

    ld->name = "";
    if (length == 0 || length > SIM_NAME_MAX || strlen(name) != length)
        return bad_model(ld, err, "name", "the name of a model, 1 to 255 bytes");
    ld->name = name;
    shoal_status st = base_map_add(&fitted->names, name, length, fitted->count, NULL);
    if (st == SHOAL_E_EXISTS)
        return bad_model(ld, err, "name", "a name that no other model has");
    if (st != SHOAL_OK)
        return no_memory(err);
    st = read_tables(ld, model, &fitted->models[fitted->count], err);
    if (st == SHOAL_OK)
        st = make_even(ld, &fitted->models[fitted->count], &fitted->even[fitted->count], err);
    fitted->count += st == SHOAL_OK;
    return st;
}

static shoal_status read_root(struct fitting *ld, const json_t *root, shoal_err *err)
{
    const char *magic = json_string_value(json_object_get(root, "shoal"));
    const json_t *version = json_object_get(root, "v"), *models = json_object_get(root, "models");
    size_t count = json_array_size(models);
    shoal_status st = SHOAL_OK;

    if (magic == NULL || strcmp(magic, MAGIC) != 0)
        return bad_model(ld, err, "shoal", "\"" MAGIC "\"");
    if (!json_is_integer(version) || json_integer_value(version) != 1)
        return bad_model(ld, err, "v", "version 1, the only one this Shoal knows");
    if (count < 1 || count > SIM_FITTED_MODELS_MAX)
        return bad_model(ld, err, "models", "a list of 1 to 256 models");
    ld->fitted->models = base_arena_calloc(&ld->fitted->arena, count, sizeof *ld->fitted->models);
    ld->fitted->even = base_arena_calloc(&ld->fitted->arena, count, sizeof *ld->fitted->even);
    if (ld->fitted->models == NULL || ld->fitted->even == NULL)
        return no_memory(err);
    for (size_t i = 0; i < count && st == SHOAL_OK; i++)
        st = read_model(ld, json_array_get(models, i), err);
    return st;
}

bool sim_fitted_is(shoal_env *env, const char *path)
{
    struct env_file *file = NULL;
    char head[512];
    size_t used = 0, more = 1;

    if (strcmp(path, "-") == 0 || env_open(env, path, &file, NULL) != SHOAL_OK)
        return false;
    while (used < sizeof head - 1 && more > 0) {
        if (env_read(file, head + used, sizeof head - 1 - used, &more, NULL) != SHOAL_OK)
            more = 0;
        used += more;
    }
    env_close(file);
    head[used] = '\0';
    /* a throughput table may have a kind of this name, whose value is an object */
    const char *at = strstr(head, "\"shoal\"");
    if (at == NULL)
        return false;
    at += strlen("\"shoal\"");
    at += strspn(at, " \t\r\n");
    if (*at != ':')
        return false;
    at++;
    return at[strspn(at, " \t\r\n")] == '"';
}

shoal_status sim_fitted_load(shoal_env *env, const char *path, struct sim_fitted **out,
                             shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    struct sim_fitted *fitted = base_calloc(alloc, 1, sizeof *fitted);
    struct fitting ld = {.fitted = fitted, .path = path, .name = ""};
    json_t *root = NULL;

    if (fitted == NULL)
        return no_memory(err);
    fitted->alloc = alloc;
    base_arena_init(&fitted->arena, alloc, 16384);
    base_map_init(&fitted->names, alloc);
    shoal_status st = read_json(env, "fitted model", path, SIM_FITTED_SIZE_MAX, &root, err);
    if (st == SHOAL_OK)
        st = read_root(&ld, root, err);
    if (st == SHOAL_OK) {
        *out = fitted;
        fitted = NULL;
    }
    json_decref(root);
    sim_fitted_free(fitted);
    return st;
}

void sim_fitted_free(struct sim_fitted *fitted)
{
    if (fitted == NULL)
        return;
    base_map_fini(&fitted->names);
    base_arena_fini(&fitted->arena);
    base_free(fitted->alloc, fitted);
}

const struct sched_fitted *sim_fitted_even(const struct sim_fitted *fitted, const char *name)
{
    const struct base_map_entry *entry = base_map_find(&fitted->names, name, strlen(name));

    return entry != NULL ? &fitted->even[entry->value] : NULL;
}

/* ---- binding ---- */

struct binding {
    shoal_env *env;
    struct sim_trace *trace;
    const struct sched_cluster *cluster;
    const char *profiles;
    uint32_t wanted[SIM_TRACE_KINDS_MAX]; /* mask of cluster kinds for each kind of the trace */
};

void sim_tables_free(struct sim_tables *tables)
{
    if (tables == NULL)
        return;
    sim_throughput_free(tables->throughput);
    sim_profiles_free(tables->profiles);
    sim_fitted_free(tables->fitted);
    base_free(tables->alloc, tables);
}

/* Kinds large enough for the gang and accepted by the job. */
static uint32_t kinds_for(const struct binding *b, const struct sim_job *job)
{
    uint32_t accepted = job->want_kinds == 0 ? UINT32_MAX : 0;
    uint32_t mask = 0;

    for (uint32_t i = 0; i < SIM_TRACE_KINDS_MAX && job->want_kinds >> i != 0; i++)
        if (job->want_kinds >> i & 1)
            accepted |= b->wanted[i];
    for (uint32_t k = 0; k < b->cluster->kind_count; k++)
        if (b->cluster->kinds[k].gpus >= job->gpus)
            mask |= 1u << k;
    return mask & accepted;
}

static shoal_status unknown_model(const struct binding *b, const struct sim_job *job,
                                  const char *model, const struct base_map *models, shoal_err *err)
{
    const char *names[SCHED_TABLE_ROWS_MAX]; /* both sorts of tables have at most so many */

    base_err(err, SHOAL_E_NOTFOUND, "cannot run job '%.60s': model '%.80s' is not in '%s'",
             job->name, model, b->profiles);
    for (size_t i = 0; i < models->count; i++)
        names[i] = models->entries[i].key;
    const char *near = base_nearest(model, names, models->count);
    if (near != NULL)
        base_err_hint(err, "did you mean '%.150s'?", near);
    return SHOAL_E_NOTFOUND;
}

static shoal_status unknown_size(const struct binding *b, const struct sim_job *job,
                                 const char *model, shoal_err *err)
{
    const struct sim_throughput *tp = b->trace->tables->throughput;
    char sizes[96] = "";
    size_t used = 0;

    for (uint32_t gpus = 1; gpus <= 1024 && used < sizeof sizes - 8; gpus++) {
        if (sim_throughput_row(tp, model, gpus) < 0)
            continue;
        int n = snprintf(sizes + used, sizeof sizes - used, "%s%u", used > 0 ? ", " : "", gpus);
        used += (size_t)n;
    }
    base_err(err, SHOAL_E_NOTFOUND,
             "cannot run job '%.60s': model '%.80s' has no row for %u GPU%s in '%s'", job->name,
             model, job->gpus, job->gpus == 1 ? "" : "s", b->profiles);
    base_err_hint(err, "it has rows for %s GPU%s", sizes, strcmp(sizes, "1") == 0 ? "" : "s");
    return SHOAL_E_NOTFOUND;
}

static shoal_status bind_steps(struct binding *b, struct sim_job *job, shoal_err *err)
{
    const struct sim_throughput *tp = b->trace->tables->throughput;
    const char *model = sim_names_get(&b->trace->models, job->model);

    if (tp == NULL) {
        base_err(err, SHOAL_E_INVAL,
                 "cannot run job '%.60s': its work is steps of '%.80s', which needs a throughput "
                 "table",
                 job->name, model);
        base_err_hint(err, "give one with --profiles FILE.json");
        return SHOAL_E_INVAL;
    }
    int row = sim_throughput_row(tp, model, job->gpus);
    if (row < 0 && base_map_find(&tp->models, model, strlen(model)) == NULL)
        return unknown_model(b, job, model, &tp->models, err);
    if (row < 0)
        return unknown_size(b, job, model, err);

    uint32_t fits = kinds_for(b, job);
    double best = 0, v100 = 0;
    job->speed = sched_model_table(&tp->table, (uint32_t)row, job->steps);
    for (uint32_t k = 0; k < b->cluster->kind_count; k++) {
        double rate = sched_table_rate(&tp->table, (uint32_t)row, k);
        if (rate > 0 && fits >> k & 1)
            job->kinds |= 1u << k;
        best = fmax(best, rate);
        if ((int)k == tp->v100)
            v100 = rate;
    }
    if (isfinite(job->slo) && best > 0)
        job->deadline_s = job->submit_s + (double)job->slo * job->steps / (v100 > 0 ? v100 : best);
    return SHOAL_OK;
}

static shoal_status bind_duration(struct binding *b, struct sim_job *job)
{
    job->speed = sched_model_duration(job->duration_s);
    job->kinds = kinds_for(b, job);
    if (isfinite(job->slo))
        job->deadline_s = job->submit_s + (double)job->slo * job->duration_s;
    return SHOAL_OK;
}

/* Seconds alone on its best kind; INFINITY when it can run on none. */
static double fastest_s(const struct binding *b, const struct sim_job *job)
{
    int kind = sched_model_best_kind(&job->speed, b->cluster, job->kinds, job->gpus);

    if (kind < 0)
        return INFINITY;
    return sched_model_ideal_s(&job->speed, b->cluster, (uint32_t)kind, job->gpus, 0);
}

static shoal_status bind_fitted(struct binding *b, struct sim_job *job, shoal_err *err)
{
    const struct sim_fitted *all = b->trace->tables->fitted;
    const char *model = sim_names_get(&b->trace->models, job->model);
    const struct sched_fitted *fitted = sim_fitted_even(all, model);

    if (fitted == NULL)
        return unknown_model(b, job, model, &all->names, err);
    if (job->batch != 0) {
        base_err(err, SHOAL_E_INVAL,
                 "cannot run job '%.60s': it states a batch, and '%s' knows '%.80s' with one batch "
                 "only, that of the runs it was fitted from",
                 job->name, b->profiles, model);
        base_err_hint(err, "leave the column 'batch' empty");
        return SHOAL_E_INVAL;
    }
    uint32_t least = fitted->machines[0], most = fitted->machines[fitted->machine_count - 1];
    if (job->gpus < least || job->gpus > most) {
        base_err(err, SHOAL_E_NOTFOUND,
                 "cannot run job '%.60s': it asks for %u GPU%s, and '%s' has '%.80s' for %u to %u",
                 job->name, job->gpus, job->gpus == 1 ? "" : "s", b->profiles, model, least, most);
        base_err_hint(err, "ask for %u to %u, or measure that size and fit again", least, most);
        return SHOAL_E_NOTFOUND;
    }
    job->speed = sched_model_fitted(fitted);
    job->kinds = kinds_for(b, job);
    if (isfinite(job->slo))
        job->deadline_s = job->submit_s + (double)job->slo * fastest_s(b, job);
    return SHOAL_OK;
}

static shoal_status bind_profile(struct binding *b, struct sim_job *job, shoal_err *err)
{
    struct sim_profiles *profiles = b->trace->tables->profiles;
    const char *app = sim_names_get(&b->trace->models, job->model);
    uint32_t measured = 0;

    if (b->trace->tables->fitted != NULL)
        return bind_fitted(b, job, err);
    if (profiles == NULL) {
        base_err(err, SHOAL_E_INVAL,
                 "cannot run job '%.60s': its work is training '%.80s', which needs a folder of "
                 "profiles",
                 job->name, app);
        base_err_hint(err, "give one with --profiles DIR");
        return SHOAL_E_INVAL;
    }
    shoal_status st =
        sim_profiles_bind(profiles, app, job->gpus, job->batch, &job->speed, &measured, err);
    if (st != SHOAL_OK)
        return st;
    job->kinds = kinds_for(b, job) & measured;
    if (isfinite(job->slo))
        job->deadline_s = job->submit_s + (double)job->slo * fastest_s(b, job);
    return SHOAL_OK;
}

/* A job of centuries is a mistake in its unit. */
static shoal_status check_length(const struct binding *b, const struct sim_job *job, shoal_err *err)
{
    double seconds = job->kinds != 0 ? fastest_s(b, job) : 0;

    if (seconds <= SIM_RUN_MAX)
        return SHOAL_OK;
    base_err(err, SHOAL_E_LIMIT,
             "cannot run job '%.60s': alone it would take %.3g s, more than %.0g", job->name,
             seconds, SIM_RUN_MAX);
    base_err_hint(err, "check the unit of its work; the limit is about 30 years");
    return SHOAL_E_LIMIT;
}

static bool ends_with(const char *text, const char *tail)
{
    size_t length = strlen(text), tail_length = strlen(tail);

    return length >= tail_length && strcmp(text + length - tail_length, tail) == 0;
}

static shoal_status load_tables(struct binding *b, shoal_err *err)
{
    struct sim_tables *tables = base_calloc(b->trace->alloc, 1, sizeof *tables);

    if (tables == NULL)
        return base_err_nomem(err, "binding a trace");
    tables->alloc = b->trace->alloc;
    b->trace->tables = tables;
    if (b->profiles == NULL)
        return SHOAL_OK;
    if (ends_with(b->profiles, ".json") && sim_fitted_is(b->env, b->profiles))
        return sim_fitted_load(b->env, b->profiles, &tables->fitted, err);
    if (ends_with(b->profiles, ".json"))
        return sim_throughput_load(b->env, b->profiles, b->cluster, &tables->throughput, err);
    return sim_profiles_open(b->env, b->profiles, b->cluster, &tables->profiles, err);
}

shoal_status sim_trace_bind(shoal_env *env, struct sim_trace *trace,
                            const struct sched_cluster *cluster, const char *profiles,
                            shoal_err *err)
{
    struct binding b = {.env = env, .trace = trace, .cluster = cluster, .profiles = profiles};

    if (trace->tables != NULL)
        return base_err(err, SHOAL_E_INVAL, "cannot bind a trace twice");
    for (uint32_t i = 0; i < trace->kinds.map.count && i < SIM_TRACE_KINDS_MAX; i++) {
        int kind = sched_cluster_kind(cluster, sim_names_get(&trace->kinds, i));
        b.wanted[i] = kind >= 0 ? 1u << kind : 0;
    }
    shoal_status st = load_tables(&b, err);
    for (size_t i = 0; st == SHOAL_OK && i < trace->job_count; i++) {
        struct sim_job *job = &trace->jobs[i];
        job->kinds = 0;
        switch ((enum sim_work)job->work) {
        case SIM_WORK_DURATION: st = bind_duration(&b, job); break;
        case SIM_WORK_STEPS: st = bind_steps(&b, job, err); break;
        case SIM_WORK_PROFILE: st = bind_profile(&b, job, err); break;
        }
        if (st == SHOAL_OK)
            st = check_length(&b, job, err);
    }
    return st;
}
