/* fitted.c - see fitted.h. */
#include "sim/fitted.h"

#include "base/err.h"
#include "sim/trace.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "fitted model"

struct loading {
    struct sim_fitted *fitted;
    const char *path;
    const char *name; /* of the model being read, or "" */
};

static shoal_status bad(const struct loading *ld, shoal_err *err, const char *where,
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
static shoal_status read_numbers(const struct loading *ld, const json_t *array, size_t count,
                                 const struct range *range, double *out, shoal_err *err)
{
    char expected[120];

    if (!json_is_array(array) || json_array_size(array) != count) {
        snprintf(expected, sizeof expected, "a list of %zu number%s", count, count == 1 ? "" : "s");
        return bad(ld, err, range->key, expected);
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(array, i);
        out[i] = json_number_value(value);
        if (json_is_number(value) && out[i] >= range->least && out[i] <= range->most)
            continue;
        snprintf(expected, sizeof expected, "numbers from %g to %g (entry %zu is not one)",
                 range->least, range->most, i + 1);
        return bad(ld, err, range->key, expected);
    }
    return SHOAL_OK;
}

static shoal_status read_machines(struct loading *ld, const json_t *array, uint32_t **out,
                                  uint32_t *out_count, shoal_err *err)
{
    size_t count = json_array_size(array); /* 0 for what is none */

    if (count < 1 || count > SCHED_FITTED_MACHINES_MAX)
        return bad(ld, err, "machines", "a list of 1 to 64 machine counts");
    uint32_t *machines = base_arena_alloc(&ld->fitted->arena, count * sizeof *machines);
    if (machines == NULL)
        return no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(array, i);
        json_int_t m = json_integer_value(value);
        if (!json_is_integer(value) || m < 1 || m > SCHED_FITTED_COUNT_MAX ||
            (i > 0 && m <= (json_int_t)machines[i - 1]))
            return bad(ld, err, "machines", "whole numbers from 1 to 100000 that rise");
        machines[i] = (uint32_t)m;
    }
    *out = machines;
    *out_count = (uint32_t)count;
    return SHOAL_OK;
}

static shoal_status read_levels(struct loading *ld, const json_t *array, double **out,
                                uint32_t *out_count, shoal_err *err)
{
    size_t count = json_array_size(array);

    if (count < 2 || count > SCHED_FITTED_LEVELS_MAX + 1)
        return bad(ld, err, "level", "a list of 2 to 257 numbers that rise from 0");
    double *level = base_arena_alloc(&ld->fitted->arena, count * sizeof *level);
    if (level == NULL)
        return no_memory(err);
    shoal_status st = read_numbers(ld, array, count, &LEVEL, level, err);
    if (st != SHOAL_OK)
        return st;
    for (size_t l = 0; l < count; l++)
        if (l == 0 ? level[0] != 0 : !(level[l] - level[l - 1] >= SCHED_FITTED_LEVEL_MIN))
            return bad(ld, err, "level", "numbers that rise from 0, by at least 1e-9 each");
    *out = level;
    *out_count = (uint32_t)count - 1;
    return SHOAL_OK;
}

static shoal_status read_steps(struct loading *ld, const json_t *rows, const struct sched_fitted *f,
                               double *out, shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    if (!json_is_array(rows) || json_array_size(rows) != f->machine_count)
        return bad(ld, err, "steps", "one list for each machine count");
    for (size_t i = 0; i < f->machine_count && st == SHOAL_OK; i++)
        st = read_numbers(ld, json_array_get(rows, i), f->level_count, &STEPS,
                          out + i * f->level_count, err);
    return st;
}

static shoal_status read_tables(struct loading *ld, const json_t *model, struct sched_fitted *f,
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
        return bad(ld, err, "", "tables within their ranges");
    return st;
}

/* See sim_fitted_even. */
static shoal_status make_even(struct loading *ld, const struct sched_fitted *f,
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

static shoal_status read_model(struct loading *ld, const json_t *model, shoal_err *err)
{
    struct sim_fitted *fitted = ld->fitted;
    const char *name = json_string_value(json_object_get(model, "name"));
    size_t length = name != NULL ? json_string_length(json_object_get(model, "name")) : 0;

    ld->name = "";
    if (length == 0 || length > SIM_NAME_MAX || strlen(name) != length)
        return bad(ld, err, "name", "the name of a model, 1 to 255 bytes");
    ld->name = name;
    shoal_status st = base_map_add(&fitted->names, name, length, fitted->count, NULL);
    if (st == SHOAL_E_EXISTS)
        return bad(ld, err, "name", "a name that no other model has");
    if (st != SHOAL_OK)
        return no_memory(err);
    st = read_tables(ld, model, &fitted->models[fitted->count], err);
    if (st == SHOAL_OK)
        st = make_even(ld, &fitted->models[fitted->count], &fitted->even[fitted->count], err);
    fitted->count += st == SHOAL_OK;
    return st;
}

static shoal_status read_root(struct loading *ld, const json_t *root, shoal_err *err)
{
    const char *magic = json_string_value(json_object_get(root, "shoal"));
    const json_t *version = json_object_get(root, "v"), *models = json_object_get(root, "models");
    size_t count = json_array_size(models);
    shoal_status st = SHOAL_OK;

    if (magic == NULL || strcmp(magic, MAGIC) != 0)
        return bad(ld, err, "shoal", "\"" MAGIC "\"");
    if (!json_is_integer(version) || json_integer_value(version) != 1)
        return bad(ld, err, "v", "version 1, the only one this Shoal knows");
    if (count < 1 || count > SIM_FITTED_MODELS_MAX)
        return bad(ld, err, "models", "a list of 1 to 256 models");
    ld->fitted->models = base_arena_calloc(&ld->fitted->arena, count, sizeof *ld->fitted->models);
    ld->fitted->even = base_arena_calloc(&ld->fitted->arena, count, sizeof *ld->fitted->even);
    if (ld->fitted->models == NULL || ld->fitted->even == NULL)
        return no_memory(err);
    for (size_t i = 0; i < count && st == SHOAL_OK; i++)
        st = read_model(ld, json_array_get(models, i), err);
    return st;
}

static shoal_status parse(struct loading *ld, const struct base_buf *text, shoal_err *err)
{
    json_error_t problem;
    json_t *root = json_loadb(text->data, text->size, JSON_REJECT_DUPLICATES, &problem);

    if (root == NULL) {
        base_err(err, SHOAL_E_FORMAT, "cannot read fitted model '%s', line %d, column %d: %.150s",
                 ld->path, problem.line, problem.column, problem.text);
        base_err_where(err, "%s, line %d, column %d", ld->path, problem.line, problem.column);
        return SHOAL_E_FORMAT;
    }
    shoal_status st = read_root(ld, root, err);
    json_decref(root);
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
    struct loading ld = {.fitted = fitted, .path = path, .name = ""};
    struct base_buf text;

    if (fitted == NULL)
        return no_memory(err);
    fitted->alloc = alloc;
    base_arena_init(&fitted->arena, alloc, 16384);
    base_map_init(&fitted->names, alloc);
    base_buf_init(&text, alloc, SIM_FITTED_SIZE_MAX);
    shoal_status st = env_read_whole(env, path, &text, err);
    if (st == SHOAL_OK && text.size == 0)
        st = base_err(err, SHOAL_E_FORMAT, "cannot read fitted model '%s': empty file", path);
    if (st == SHOAL_OK)
        st = parse(&ld, &text, err);
    if (st == SHOAL_OK) {
        *out = fitted;
        fitted = NULL;
    }
    base_buf_fini(&text);
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

const struct sched_fitted *sim_fitted_find(const struct sim_fitted *fitted, const char *name)
{
    const struct base_map_entry *entry = base_map_find(&fitted->names, name, strlen(name));

    return entry != NULL ? &fitted->models[entry->value] : NULL;
}

const struct sched_fitted *sim_fitted_even(const struct sim_fitted *fitted, const char *name)
{
    const struct base_map_entry *entry = base_map_find(&fitted->names, name, strlen(name));

    return entry != NULL ? &fitted->even[entry->value] : NULL;
}
