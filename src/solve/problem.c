/* problem.c - see problem.h.
 *
 * The text is walked, not built: each kind, entity, job and pair is parsed by itself and forgotten,
 * so memory is that of the arrays. The parts are read in the order kinds, entities, jobs, pairs,
 * wherever they stand in the file. What an element may have is a table of fields.
 *
 * Entities, paths such as "research/vision", are declared or named by a job. They get their number
 * when they are first named, parents before what is below them; among neighbours that is the order
 * in which a fifo parent serves them. Tests: tests/unit/solve/test_problem.c,
 * tests/fuzz/fuzz_problem.c.
 */
#include "solve/problem.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "solve/read.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FIELDS_MAX = 10 };
enum { KINDS, JOBS, ENTITIES, PAIRS, PART_COUNT };
static const char *const part_names[PART_COUNT] = {"kinds", "jobs", "entities", "pairs"};

static shoal_status nomem(shoal_err *err)
{
    return base_err_nomem(err, "reading a problem");
}

/* ---- fields of an element ---- */

/* The members of `value`, which must be an object, as one is `expected`, into the row. */
static shoal_status read_fields(struct solve_reading *rd, const char *expected, const json_t *value,
                                const struct solve_field *fields, size_t count, void *row,
                                shoal_err *err)
{
    const char *key, *names[FIELDS_MAX];
    char below[32];
    json_t *member;

    if (!json_is_object(value))
        return solve_read_wrong(rd, "", expected, value, err);
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        const struct solve_field *f = fields;
        shoal_status st = SHOAL_OK;
        while (f < fields + count && strcmp(key, f->name) != 0)
            f++;
        if (f == fields + count) {
            for (size_t i = 0; i < count; i++)
                names[i] = fields[i].name;
            return solve_read_unknown(rd, key, names, count, err);
        }
        if (json_is_null(member) && (f->also & SOLVE_NULL) != 0)
            continue;
        if (f->read != NULL) {
            st = f->read(rd, member, row, err);
        } else {
            snprintf(below, sizeof below, ".%s", key);
            double *to = (double *)(void *)((char *)row + f->at);
            st = solve_read_number(rd, below, f, member, to, err);
        }
        if (st != SHOAL_OK)
            return st;
    }
    return SHOAL_OK;
}

static const struct solve_field rate_rule = {
    NULL,       0,   1e-6, 1e9, "steps per second: 0 where it cannot run, else from 1e-6 to 1e9",
    SOLVE_ZERO, NULL};

/* The kind of that name. */
static shoal_status find_kind(const struct solve_reading *rd, const char *below, const char *name,
                              uint32_t *out, shoal_err *err)
{
    const struct base_map_entry *kind = base_map_find(&rd->p->kinds, name, strlen(name));

    if (kind == NULL)
        return solve_read_unknown_kind(rd, below, name, err);
    *out = (uint32_t)kind->value;
    return SHOAL_OK;
}

/* ---- kinds ---- */

struct kind_row {
    double gpus, usd_h; /* NAN: not stated */
};

static const struct solve_field kind_fields[] = {
    {"gpus", offsetof(struct kind_row, gpus), 1e-3, 1e9, "a number of GPUs: 0, or from 1e-3 to 1e9",
     SOLVE_ZERO, NULL},
    {"usd_h", offsetof(struct kind_row, usd_h), 1e-6, 1e6,
     "dollars per GPU and hour, from 1e-6 to 1e6", SOLVE_NULL, NULL},
};

static shoal_status read_kind(struct solve_reading *rd, const char *name, const json_t *value,
                              shoal_err *err)
{
    struct solve_problem *p = rd->p;
    uint32_t kind = p->kind_count;
    struct kind_row row = {(double)NAN, (double)NAN};

    if (kind == SHOAL_SOLVE_KINDS_MAX)
        return solve_read_many(rd, SHOAL_SOLVE_KINDS_MAX, "kinds", err);
    shoal_status st = base_map_add(&p->kinds, name, strlen(name), kind, NULL);
    if (st == SHOAL_E_EXISTS)
        return solve_read_bad(rd, "", err, "this kind is there already; give it once");
    if (st != SHOAL_OK)
        return nomem(err);
    p->kind_count++;
    if (json_is_number(value))
        st = solve_read_number(rd, "", &kind_fields[0], value, &row.gpus, err);
    else
        st = read_fields(rd, "an object such as {\"gpus\": 8}, or the number of GPUs alone", value,
                         kind_fields, BASE_COUNT(kind_fields), &row, err);
    if (st == SHOAL_OK && isnan(row.gpus))
        st = solve_read_bad(rd, "", err, "\"gpus\" is missing");
    p->capacity[kind] = row.gpus;
    p->usd_h[kind] = row.usd_h;
    return st;
}

/* ---- entities ---- */

enum { DECLARED = 1, HAS_JOB = 2, HAS_BELOW = 4 };

static const char default_entity[] = "default";
#define WEIGHT_TEXT "a weight above 0, from 1e-6 to 1e6"

/* Adds a path that is not there yet; its parent is. */
static shoal_status add(struct solve_reading *rd, const char *path, size_t size, uint32_t parent,
                        uint32_t *out, shoal_err *err)
{
    struct solve_problem *p = rd->p;

    if (p->entity_count == SOLVE_ENTITIES_MAX)
        return solve_read_many(rd, SOLVE_ENTITIES_MAX, "entities", err);
    BASE_ROOM(&p->room, p->entities, p->entity_count + 1U);
    BASE_ROOM(&rd->room, rd->marks, p->entity_count + 1U);
    if (base_room_status(&p->room) != SHOAL_OK || base_room_status(&rd->room) != SHOAL_OK ||
        base_map_add(&p->entity_names, path, size, p->entity_count, NULL) != SHOAL_OK)
        return nomem(err);
    *out = p->entity_count++;
    p->entities[*out] = (shoal_solve_entity){1, parent, 0};
    rd->marks[*out] = 0;
    return SHOAL_OK;
}

/* The entity of a path, made with all above it where it is new. */
static shoal_status reach(struct solve_reading *rd, const char *path, uint32_t *out, shoal_err *err)
{
    uint32_t at = SHOAL_SOLVE_TOP;

    for (size_t size = 0;; size++) {
        if (path[size] != '/' && path[size] != '\0')
            continue;
        if (size == 0 || path[size - 1] == '/')
            return solve_read_bad(
                rd, "", err, "expected an entity such as 'research/vision', found '%.60s'", path);
        const struct base_map_entry *entry = base_map_find(&rd->p->entity_names, path, size);
        shoal_status st = SHOAL_OK;
        if (entry != NULL)
            at = (uint32_t)entry->value;
        else
            st = add(rd, path, size, at, &at, err);
        if (st != SHOAL_OK)
            return st;
        if (path[size] == '\0') {
            *out = at;
            return SHOAL_OK;
        }
    }
}

static shoal_status read_inside(struct solve_reading *rd, const json_t *value, void *row,
                                shoal_err *err)
{
    shoal_solve_entity *entity = row;
    const char *word = json_is_string(value) ? json_string_value(value) : "";

    if (strcmp(word, "fair") != 0 && strcmp(word, "fifo") != 0)
        return solve_read_wrong(rd, ".inside", "\"fair\" or \"fifo\"", value, err);
    entity->fifo = strcmp(word, "fifo") == 0;
    return SHOAL_OK;
}

static const struct solve_field entity_fields[] = {
    {"weight", offsetof(shoal_solve_entity, weight), 1e-6, 1e6, WEIGHT_TEXT, 0, NULL},
    {.name = "inside", .read = read_inside},
};

/* One member of "entities". */
static shoal_status declare(struct solve_reading *rd, const char *path, const json_t *value,
                            shoal_err *err)
{
    uint32_t at;
    shoal_status st = reach(rd, path, &at, err);

    if (st != SHOAL_OK)
        return st;
    if ((rd->marks[at] & DECLARED) != 0)
        return solve_read_bad(rd, "", err, "this entity is there already; give it once");
    rd->marks[at] |= DECLARED;
    return read_fields(rd, "an object such as {\"weight\": 2, \"inside\": \"fifo\"}", value,
                       entity_fields, BASE_COUNT(entity_fields), &rd->p->entities[at], err);
}

/* Where the problem declares entities, a name that is neither declared nor below one is a slip. */
static shoal_status check_declared(const struct solve_reading *rd, const char *path, uint32_t at,
                                   shoal_err *err)
{
    const char *best = NULL;

    for (uint32_t e = at; e != SHOAL_SOLVE_TOP; e = rd->p->entities[e].parent)
        if ((rd->marks[e] & DECLARED) != 0)
            return SHOAL_OK;
    for (uint32_t e = 0; e < rd->p->entity_count; e++) {
        const char *two[] = {best, rd->p->entity_names.entries[e].key};
        if ((rd->marks[e] & DECLARED) != 0)
            best = base_nearest(path, best == NULL ? two + 1 : two, best == NULL ? 1 : 2);
    }
    solve_read_bad(rd, ".entity", err, "no entity '%.60s' is declared under \"entities\"", path);
    if (best != NULL)
        base_err_hint(err, "did you mean '%.60s'? else declare it, or one above it", best);
    else
        base_err_hint(err, "declare it, or one above it");
    return SHOAL_E_FORMAT;
}

/* The entity that a job names; made on the spot when nothing was declared above it. */
static shoal_status join_entity(struct solve_reading *rd, const char *path, uint32_t *out_entity,
                                shoal_err *err)
{
    shoal_status st = reach(rd, path, out_entity, err);

    if (st == SHOAL_OK && rd->declares)
        st = check_declared(rd, path, *out_entity, err);
    if (st == SHOAL_OK)
        rd->marks[*out_entity] |= HAS_JOB;
    return st;
}

/* Jobs without an entity, when others have one, share one of their own. */
static shoal_status join_rest(struct solve_reading *rd, bool *out_any, shoal_err *err)
{
    struct solve_problem *p = rd->p;
    size_t with = 0;
    uint32_t rest;

    for (size_t i = 0; i < p->job_count; i++)
        with += p->entity[i] != SHOAL_SOLVE_TOP;
    *out_any = with > 0;
    if (with == 0 || with == p->job_count)
        return SHOAL_OK;
    shoal_status st = reach(rd, default_entity, &rest, err);
    if (st != SHOAL_OK)
        return st;
    rd->marks[rest] |= HAS_JOB;
    for (size_t i = 0; i < p->job_count; i++)
        if (p->entity[i] == SHOAL_SOLVE_TOP)
            p->entity[i] = rest;
    return SHOAL_OK;
}

static shoal_status holds_both(struct solve_reading *rd, uint32_t entity, uint32_t below,
                               shoal_err *err)
{
    const struct base_map_entry *names = rd->p->entity_names.entries;
    size_t job = 0;

    while (job + 1 < rd->p->job_count && rd->p->entity[job] != entity)
        job++;
    solve_read_at_job(rd, job);
    solve_read_bad(rd, ".entity", err,
                   "entity '%.60s' would hold this job and also the entity '%.60s'",
                   names[entity].key, names[below].key);
    base_err_hint(err, "put the job into one below it, such as '%.60s/other'", names[entity].key);
    return SHOAL_E_FORMAT;
}

/* Drops what holds no job, and numbers the others anew in the same order. */
static shoal_status keep_used(struct solve_reading *rd, shoal_err *err)
{
    struct solve_problem *p = rd->p;
    uint32_t *number = NULL, kept = 0;

    BASE_ROOM(&rd->room, number, p->entity_count);
    BASE_ROOM(&p->room, p->entity_paths, p->entity_count);
    if (base_room_status(&p->room) != SHOAL_OK || base_room_status(&rd->room) != SHOAL_OK)
        return nomem(err);
    for (uint32_t e = 0; e < p->entity_count; e++) {
        if ((rd->marks[e] & (HAS_JOB | HAS_BELOW)) == 0) {
            if ((rd->marks[e] & DECLARED) != 0 && p->unused_count++ == 0)
                p->unused = p->entity_names.entries[e].key;
            continue;
        }
        p->entities[kept] = p->entities[e];
        if (p->entities[kept].parent != SHOAL_SOLVE_TOP)
            p->entities[kept].parent = number[p->entities[kept].parent];
        p->entity_paths[kept] = p->entity_names.entries[e].key;
        number[e] = kept++;
    }
    p->entity_count = kept;
    for (size_t i = 0; i < p->job_count && kept > 0; i++)
        p->entity[i] = number[p->entity[i]];
    return SHOAL_OK;
}

/* After all jobs: gives those without an entity one, checks that none holds both jobs and entities,
 * and drops those that hold no job. */
static shoal_status finish_entities(struct solve_reading *rd, shoal_err *err)
{
    struct solve_problem *p = rd->p;
    bool any;

    shoal_status st = join_rest(rd, &any, err);
    if (st != SHOAL_OK)
        return st;
    /* From the last to the first: all below an entity is looked at before it. */
    for (uint32_t e = p->entity_count; e-- > 0;) {
        uint32_t parent = p->entities[e].parent;
        if ((rd->marks[e] & (HAS_JOB | HAS_BELOW)) == 0 || parent == SHOAL_SOLVE_TOP)
            continue;
        if ((rd->marks[parent] & HAS_JOB) != 0)
            return holds_both(rd, parent, e, err);
        rd->marks[parent] |= HAS_BELOW;
    }
    if (p->entity_count > 0)
        st = keep_used(rd, err);
    if (!any)
        p->entity = NULL;
    return st;
}

/* ---- jobs ---- */

struct row {
    double value[SOLVE_COLUMN_COUNT]; /* in the order of the problem's columns */
    double rates[SHOAL_SOLVE_KINDS_MAX];
    const char *name, *entity; /* NULL: not stated; live as long as the row's JSON */
    bool has_rates;
};

static shoal_status read_rates(struct solve_reading *rd, const json_t *rates, void *row,
                               shoal_err *err)
{
    struct row *r = row;
    const char *key;
    json_t *member;

    if (!json_is_object(rates))
        return solve_read_wrong(rd, ".rates", "an object such as {\"v100\": 10.2}", rates, err);
    json_object_foreach((json_t *)(uintptr_t)rates, key, member)
    {
        char below[SOLVE_PLACE_MAX];
        uint32_t kind = 0;
        snprintf(below, sizeof below, ".rates.%.50s", key);
        shoal_status st = find_kind(rd, below, key, &kind, err);
        if (st == SHOAL_OK && !json_is_null(member))
            st = solve_read_number(rd, below, &rate_rule, member, &r->rates[kind], err);
        if (st != SHOAL_OK)
            return st;
    }
    r->has_rates = true;
    return SHOAL_OK;
}

static shoal_status read_name(const struct solve_reading *rd, const char *below,
                              const json_t *value, const char **out, shoal_err *err)
{
    const char *name = json_string_value(value);

    if (name == NULL || !solve_read_name_ok(name))
        return solve_read_wrong(rd, below, "a name of 1 to 255 bytes without control characters",
                                value, err);
    *out = name;
    return SHOAL_OK;
}

static shoal_status read_job_name(struct solve_reading *rd, const json_t *value, void *row,
                                  shoal_err *err)
{
    return read_name(rd, ".name", value, &((struct row *)row)->name, err);
}

static shoal_status read_job_entity(struct solve_reading *rd, const json_t *value, void *row,
                                    shoal_err *err)
{
    return read_name(rd, ".entity", value, &((struct row *)row)->entity, err);
}

#define AT(column)    offsetof(struct row, value) + sizeof(double) * SOLVE_##column
#define DURATION_TEXT "seconds of 0 or more, or a text such as \"2h30m\""

static const struct solve_field job_fields[] = {
    {.name = "name", .also = SOLVE_NULL, .read = read_job_name},
    {.name = "rates", .read = read_rates},
    {.name = "entity", .also = SOLVE_NULL, .read = read_job_entity},
    {"gpus", AT(GPUS), 1e-3, 1e6, "the GPUs it needs at once, from 1e-3 to 1e6", SOLVE_NULL, NULL},
    {"weight", AT(WEIGHT), 1e-6, 1e6, WEIGHT_TEXT, SOLVE_NULL, NULL},
    {"left", AT(LEFT), 1e-6, 1e15, "the steps left, from 1e-6 to 1e15", SOLVE_NULL, NULL},
    {"since_s", AT(SINCE_S), 0, 1e12, DURATION_TEXT, SOLVE_NULL | SOLVE_DURATION, NULL},
    {"alone_s", AT(ALONE_S), 0, 1e12, DURATION_TEXT, SOLVE_NULL | SOLVE_DURATION, NULL},
    {"deadline_s", AT(DEADLINE_S), -1e12, 1e12,
     "seconds until the deadline (0 or less: it has passed), or a text such as \"2h\"",
     SOLVE_NULL | SOLVE_DURATION, NULL},
    {"count", AT(COUNT), 1, 1e7, "a whole number from 1 to 1e7", SOLVE_NULL | SOLVE_WHOLE, NULL},
};
#undef AT
_Static_assert(BASE_COUNT(job_fields) <= FIELDS_MAX, "names of the fields have room");

/* A kind that is smaller than the gang is none for it. */
static void note_fit(struct solve_problem *p, struct row *row)
{
    bool runs = false;

    for (uint32_t k = 0; k < p->kind_count; k++) {
        bool fits = row->value[SOLVE_GPUS] <= p->capacity[k];
        if (!fits && row->rates[k] > 0) {
            row->rates[k] = 0;
            if (p->capacity[k] > 0 && p->misfit_count++ == 0) {
                p->misfit_job = p->job_count;
                p->misfit_kind = k;
            }
        }
        runs |= row->rates[k] > 0;
    }
    p->nowhere_count += !runs;
    p->deadline_count += isfinite(row->value[SOLVE_DEADLINE_S]) ? 1 : 0;
    p->has_left &= !isnan(row->value[SOLVE_LEFT]);
    p->alike |= row->value[SOLVE_COUNT] != 1;
}

static shoal_status add_job(struct solve_reading *rd, struct row *row, shoal_err *err)
{
    struct solve_problem *p = rd->p;
    size_t i = p->job_count;
    uint32_t entity = SHOAL_SOLVE_TOP;
    struct base_map_entry *same;
    char own[32];

    if (!row->has_rates) {
        solve_read_bad(rd, "", err, "\"rates\" is missing");
        base_err_hint(err, "give its steps per second on each kind it can use, such as "
                           "\"rates\": {\"v100\": 10.2}");
        return SHOAL_E_FORMAT;
    }
    snprintf(own, sizeof own, "jobs[%zu]", i);
    const char *name = row->name != NULL ? row->name : own;
    shoal_status st = base_map_add(&p->names, name, strlen(name), i, &same);
    if (st == SHOAL_E_EXISTS) {
        solve_read_bad(rd, ".name", err, "jobs[%" PRIu64 "] has the name '%.60s' already",
                       same->value, name);
        base_err_hint(err, "names are unique; for jobs that are alike use \"count\"");
        return SHOAL_E_FORMAT;
    }
    if (st != SHOAL_OK)
        return nomem(err);
    if (row->entity != NULL)
        st = join_entity(rd, row->entity, &entity, err);
    if (st != SHOAL_OK)
        return st;
    for (size_t c = 0; c < SOLVE_COLUMN_COUNT; c++)
        BASE_ROOM(&p->room, p->column[c], i + 1);
    BASE_ROOM(&p->room, p->rates, (i + 1) * p->kind_count);
    BASE_ROOM(&p->room, p->entity, i + 1);
    if (base_room_status(&p->room) != SHOAL_OK)
        return nomem(err);
    note_fit(p, row);
    memcpy(p->rates + i * p->kind_count, row->rates, p->kind_count * sizeof(double));
    for (size_t c = 0; c < SOLVE_COLUMN_COUNT; c++)
        p->column[c][i] = row->value[c];
    p->entity[i] = entity;
    p->job_count++;
    return SHOAL_OK;
}

static shoal_status read_job(struct solve_reading *rd, const json_t *value, shoal_err *err)
{
    struct row row = {.value = {[SOLVE_GPUS] = 1,
                                [SOLVE_COUNT] = 1,
                                [SOLVE_WEIGHT] = 1,
                                [SOLVE_LEFT] = NAN,
                                [SOLVE_DEADLINE_S] = INFINITY}};

    shoal_status st = read_fields(rd, "a job such as {\"name\": \"a\", \"rates\": {\"v100\": 10}}",
                                  value, job_fields, BASE_COUNT(job_fields), &row, err);
    return st == SHOAL_OK ? add_job(rd, &row, err) : st;
}

/* ---- pairs: two jobs that may share the GPUs of a kind ---- */

static shoal_status find_pair_job(const struct solve_reading *rd, const json_t *value,
                                  uint32_t *out, shoal_err *err)
{
    const char *name = json_string_value(value);

    if (name == NULL)
        return solve_read_wrong(rd, ".jobs", "names of two jobs, such as [\"a\", \"b\"]", value,
                                err);
    const struct base_map_entry *entry = base_map_find(&rd->p->names, name, strlen(name));
    if (entry == NULL) {
        const char *near = solve_read_nearest(&rd->p->names, name);
        solve_read_bad(rd, ".jobs", err, "no job is called '%.60s'", name);
        if (near != NULL)
            base_err_hint(err, "did you mean '%.60s'?", near);
        return SHOAL_E_FORMAT;
    }
    *out = (uint32_t)entry->value;
    return SHOAL_OK;
}

static shoal_status check_pair(struct solve_reading *rd, const shoal_solve_pair *pair,
                               shoal_err *err)
{
    const struct solve_problem *p = rd->p;
    uint32_t low = pair->job < pair->with ? pair->job : pair->with;
    uint32_t high = pair->job < pair->with ? pair->with : pair->job;
    struct base_map_entry *same;
    char key[48];

    if (p->gpus[low] != p->gpus[high])
        return solve_read_bad(rd, ".jobs", err,
                              "jobs that share GPUs need the same number of them; '%.40s' asks for "
                              "%g and '%.40s' for %g",
                              solve_problem_job(p, low), p->gpus[low], solve_problem_job(p, high),
                              p->gpus[high]);
    if (low == high && p->count[low] < 2)
        return solve_read_bad(rd, ".jobs", err,
                              "'%.60s' with itself needs a \"count\" of 2 or more",
                              solve_problem_job(p, low));
    if (low == high && pair->rate != pair->with_rate)
        return solve_read_bad(rd, ".rates", err,
                              "a job with itself has one speed; give it twice, not %g and %g",
                              pair->rate, pair->with_rate);
    for (uint32_t j = 0; j < 2; j++) {
        uint32_t job = j == 0 ? low : high;
        if (p->rates[job * (size_t)p->kind_count + pair->kind] == 0 &&
            p->gpus[job] <= p->capacity[pair->kind])
            return solve_read_bad(rd, ".kind", err, "'%.60s' has no speed alone on '%.60s'",
                                  solve_problem_job(p, job), solve_problem_kind(p, pair->kind));
    }
    snprintf(key, sizeof key, "%u %u %u", low, high, pair->kind);
    shoal_status st = base_map_add(&rd->pairs, key, strlen(key), p->pair_count, &same);
    if (st == SHOAL_E_EXISTS)
        return solve_read_bad(
            rd, "", err, "pairs[%" PRIu64 "] has these jobs on this kind already; give it once",
            same->value);
    return st == SHOAL_OK ? SHOAL_OK : nomem(err);
}

static bool is_two(const json_t *value)
{
    return json_is_array(value) && json_array_size(value) == 2;
}

static shoal_status read_pair_jobs(struct solve_reading *rd, const json_t *value, void *row,
                                   shoal_err *err)
{
    shoal_solve_pair *pair = row;

    if (!is_two(value))
        return solve_read_wrong(rd, ".jobs", "names of two jobs, such as [\"a\", \"b\"]", value,
                                err);
    shoal_status st = find_pair_job(rd, json_array_get(value, 0), &pair->job, err);
    return st == SHOAL_OK ? find_pair_job(rd, json_array_get(value, 1), &pair->with, err) : st;
}

static shoal_status read_pair_kind(struct solve_reading *rd, const json_t *value, void *row,
                                   shoal_err *err)
{
    const char *name = json_string_value(value);

    if (name == NULL)
        return solve_read_wrong(rd, ".kind", "the name of a kind", value, err);
    return find_kind(rd, ".kind", name, &((shoal_solve_pair *)row)->kind, err);
}

static shoal_status read_pair_rates(struct solve_reading *rd, const json_t *value, void *row,
                                    shoal_err *err)
{
    shoal_solve_pair *pair = row;

    if (!is_two(value))
        return solve_read_wrong(rd, ".rates", "two speeds, such as [8, 4]", value, err);
    shoal_status st =
        solve_read_number(rd, ".rates[0]", &rate_rule, json_array_get(value, 0), &pair->rate, err);
    return st == SHOAL_OK ? solve_read_number(rd, ".rates[1]", &rate_rule, json_array_get(value, 1),
                                              &pair->with_rate, err)
                          : st;
}

static const struct solve_field pair_fields[] = {
    {.name = "jobs", .read = read_pair_jobs},
    {.name = "kind", .read = read_pair_kind},
    {.name = "rates", .read = read_pair_rates},
};

static shoal_status read_pair(struct solve_reading *rd, const json_t *value, shoal_err *err)
{
    struct solve_problem *p = rd->p;
    shoal_solve_pair pair = {UINT32_MAX, UINT32_MAX, UINT32_MAX, NAN, NAN};

    shoal_status st =
        read_fields(rd, "{\"jobs\": [\"a\", \"b\"], \"kind\": \"v100\", \"rates\": [8, 4]}", value,
                    pair_fields, BASE_COUNT(pair_fields), &pair, err);
    if (st == SHOAL_OK && (pair.job == UINT32_MAX || pair.kind == UINT32_MAX || isnan(pair.rate)))
        st = solve_read_bad(rd, "", err, "\"%s\" is missing",
                            pair.job == UINT32_MAX    ? "jobs"
                            : pair.kind == UINT32_MAX ? "kind"
                                                      : "rates");
    if (st == SHOAL_OK)
        st = check_pair(rd, &pair, err);
    if (st != SHOAL_OK)
        return st;
    BASE_ROOM(&p->room, p->pairs, p->pair_count + 1);
    if (base_room_status(&p->room) != SHOAL_OK)
        return nomem(err);
    if (p->gpus[pair.job] > p->capacity[pair.kind])
        pair.rate = pair.with_rate = 0; /* larger than the kind */
    p->pairs[p->pair_count++] = pair;
    return SHOAL_OK;
}

/* ---- the whole ---- */

static shoal_status read_element(struct solve_reading *rd, int which, struct solve_span key,
                                 struct solve_span value, size_t index, shoal_err *err)
{
    static const size_t most[PART_COUNT] = {SIZE_MAX, SOLVE_JOBS_MAX, SIZE_MAX, SOLVE_PAIRS_MAX};
    char name[SOLVE_NAME_MAX + 1] = "";
    json_t *json = NULL;
    shoal_status st = SHOAL_OK;

    if (which == KINDS || which == ENTITIES) {
        solve_read_at(rd, key.at, "%s", part_names[which]);
        st = solve_read_key(rd, key, name, err);
        if (st == SHOAL_OK)
            solve_read_at(rd, key.at, "%s.%s", part_names[which], name);
    } else {
        solve_read_at(rd, value.at, "%s[%zu]", part_names[which], index);
        if (index == most[which])
            st = solve_read_many(rd, most[which], part_names[which], err);
    }
    if (st == SHOAL_OK)
        st = solve_read_json(rd, value, &json, err);
    if (st != SHOAL_OK)
        return st;
    if (which == KINDS)
        st = read_kind(rd, name, json, err);
    else if (which == ENTITIES)
        st = declare(rd, name, json, err);
    else if (which == JOBS)
        st = read_job(rd, json, err);
    else
        st = read_pair(rd, json, err);
    json_decref(json);
    if (which == JOBS && rd->watch != NULL)
        atomic_fetch_add_explicit(base_watch_done(rd->watch), 1, memory_order_relaxed);
    return st;
}

static shoal_status read_part(struct solve_reading *rd, int which, struct solve_span span,
                              shoal_err *err)
{
    bool object = which == KINDS || which == ENTITIES;
    struct solve_span key = {0, 0}, value;
    struct solve_walk walk;
    shoal_status st;

    if (span.size == 0)
        return SHOAL_OK;
    solve_read_at(rd, span.at, "%s", part_names[which]);
    if (rd->text.data[span.at] != (object ? '{' : '['))
        return solve_read_bad(rd, "", err, "expected %s",
                              object ? "an object, a name each: {...}" : "a list: [...]");
    solve_walk_begin(&walk, &rd->text, span);
    for (size_t i = 0; (st = solve_walk_next(&walk, &key, &value, err)) == SHOAL_OK; i++) {
        if (base_watch_stopped(rd->watch))
            return base_err(err, SHOAL_E_CANCELLED, "interrupted");
        st = read_element(rd, which, key, value, i, err);
        if (st != SHOAL_OK)
            return st;
    }
    return st == SHOAL_END ? SHOAL_OK : st;
}

/* Where each part is. */
static shoal_status find_parts(struct solve_reading *rd, struct solve_span *parts, shoal_err *err)
{
    char name[SOLVE_NAME_MAX + 1];
    struct solve_span root, key, value;
    struct solve_walk walk;

    shoal_status st = solve_walk_whole(&rd->text, &root, err);
    if (st != SHOAL_OK)
        return st;
    solve_read_at(rd, root.at, "the top");
    if (rd->text.data[root.at] != '{')
        return solve_read_bad(rd, "", err, "expected an object with \"kinds\" and \"jobs\"");
    solve_walk_begin(&walk, &rd->text, root);
    while ((st = solve_walk_next(&walk, &key, &value, err)) == SHOAL_OK) {
        int which = 0;
        solve_read_at(rd, key.at, "the top");
        st = solve_read_key(rd, key, name, err);
        if (st != SHOAL_OK)
            return st;
        while (which < PART_COUNT && strcmp(name, part_names[which]) != 0)
            which++;
        if (which == PART_COUNT)
            return solve_read_unknown(rd, name, part_names, PART_COUNT, err);
        if (parts[which].size > 0)
            return solve_read_bad(rd, "", err, "\"%s\" is there twice", name);
        parts[which] = value;
    }
    if (st != SHOAL_END)
        return st;
    solve_read_at(rd, root.at, "the top");
    for (int which = KINDS; which <= JOBS; which++)
        if (parts[which].size == 0)
            return solve_read_bad(rd, "", err, "\"%s\" is missing", part_names[which]);
    return SHOAL_OK;
}

static shoal_status read_all(struct solve_reading *rd, shoal_err *err)
{
    struct solve_span parts[PART_COUNT] = {{0, 0}};
    shoal_status st = find_parts(rd, parts, err);

    if (st == SHOAL_OK)
        st = read_part(rd, KINDS, parts[KINDS], err);
    if (st == SHOAL_OK && rd->p->kind_count == 0)
        st = solve_read_bad(rd, "", err, "expected at least one kind");
    rd->declares = parts[ENTITIES].size > 0;
    rd->jobs = parts[JOBS];
    rd->p->has_left = true;
    if (st == SHOAL_OK)
        st = read_part(rd, ENTITIES, parts[ENTITIES], err);
    if (st == SHOAL_OK)
        st = read_part(rd, JOBS, parts[JOBS], err);
    if (st == SHOAL_OK)
        st = finish_entities(rd, err);
    if (st == SHOAL_OK)
        st = read_part(rd, PAIRS, parts[PAIRS], err);
    return st;
}

static struct solve_problem *new_problem(const struct base_alloc *alloc, const char *path)
{
    struct solve_problem *p = base_calloc(alloc, 1, sizeof *p);

    if (p == NULL)
        return NULL;
    p->alloc = p->room.alloc = alloc;
    base_map_init(&p->kinds, alloc);
    base_map_init(&p->names, alloc);
    base_map_init(&p->entity_names, alloc);
    p->path = base_strdup(alloc, path);
    if (p->path != NULL)
        return p;
    solve_problem_free(p);
    return NULL;
}

shoal_status solve_problem_load(shoal_env *env, const char *path, shoal_watch *watch,
                                struct solve_problem **out, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    struct solve_problem *p = new_problem(alloc, path);
    struct base_buf text;

    if (p == NULL)
        return nomem(err);
    struct solve_reading rd = {.p = p, .room = {.alloc = alloc}, .watch = watch};
    base_watch_begin(watch, "jobs read", 0);
    base_map_init(&rd.pairs, alloc);
    base_buf_init(&text, alloc, SOLVE_FILE_MAX);
    shoal_status st = solve_read_text(env, path, &text, err);
    if (st == SHOAL_OK && text.size == 0)
        st = base_err(err, SHOAL_E_FORMAT, "cannot read problem '%s': empty file", p->path);
    if (st == SHOAL_OK) {
        rd.text = (struct solve_text){p->path, text.data, text.size};
        st = read_all(&rd, err);
    }
    base_buf_fini(&text);
    base_map_fini(&rd.pairs);
    base_room_fini(&rd.room);
    if (st == SHOAL_OK) {
        *out = p;
        p = NULL;
    }
    solve_problem_free(p);
    return st;
}

void solve_problem_free(struct solve_problem *p)
{
    if (p == NULL)
        return;
    base_room_fini(&p->room);
    base_free(p->alloc, p->path);
    base_map_fini(&p->kinds);
    base_map_fini(&p->names);
    base_map_fini(&p->entity_names);
    base_free(p->alloc, p);
}

const char *solve_problem_job(const struct solve_problem *p, size_t job)
{
    return p->names.entries[job].key;
}

const char *solve_problem_kind(const struct solve_problem *p, size_t kind)
{
    return p->kinds.entries[kind].key;
}

const char *solve_problem_entity(const struct solve_problem *p, size_t entity)
{
    return p->entity_paths[entity];
}

/* ---- what an objective needs ---- */

/* "cannot solve 'a.json' for cost: WHAT"; the hint is the caller's. */
static void SHOAL_PRINTF(4, 5) missing(const struct solve_problem *p, const char *objective,
                                       shoal_err *err, const char *format, ...)
{
    char what[150];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    base_err(err, SHOAL_E_FORMAT, "cannot solve '%.150s' for %s: %s", p->path, objective, what);
    base_err_where(err, "%.150s", p->path);
}

static shoal_status check_left(const struct solve_problem *p, const char *objective, bool all,
                               shoal_err *err)
{
    for (size_t i = 0; i < p->job_count; i++) {
        if (!isnan(p->left[i]) || (!all && isinf(p->deadline_s[i])))
            continue;
        missing(p, objective, err, "jobs[%zu] ('%.60s') has no \"left\"", i,
                solve_problem_job(p, i));
        base_err_hint(err, all ? "give the steps left of every job"
                               : "give the steps left of every job that has a deadline");
        return SHOAL_E_FORMAT;
    }
    return SHOAL_OK;
}

static shoal_status check_prices(const struct solve_problem *p, const char *objective,
                                 shoal_err *err)
{
    for (uint32_t k = 0; k < p->kind_count; k++) {
        if (p->capacity[k] == 0 || !isnan(p->usd_h[k]))
            continue;
        missing(p, objective, err, "kinds.%.60s has no \"usd_h\"", solve_problem_kind(p, k));
        base_err_hint(err, "give the dollars per GPU and hour of every kind");
        return SHOAL_E_FORMAT;
    }
    return SHOAL_OK;
}

/* Whether rows must become single jobs, of which there can be fewer. */
static shoal_status check_count(const struct solve_problem *p, enum sched_objective objective,
                                bool sharing, shoal_err *err)
{
    bool single = sharing;
    double total = 0;

    for (uint32_t e = 0; objective == SCHED_OBJECTIVE_HIERARCHICAL && e < p->entity_count; e++)
        single = single || p->entities[e].fifo != 0;
    for (size_t i = 0; single && i < p->job_count; i++) {
        total += p->count[i];
        if (total <= SHOAL_SOLVE_SINGLE_JOBS_MAX)
            continue;
        missing(p, sched_objectives[objective].name, err,
                "with jobs[%zu] ('%.60s', count %.0f) there are %.0f jobs", i,
                solve_problem_job(p, i), p->count[i], total);
        base_err_hint(err, "with %s there can be %d, counts included",
                      sharing ? "--sharing pairs" : "fifo entities", SHOAL_SOLVE_SINGLE_JOBS_MAX);
        if (err != NULL)
            err->code = SHOAL_E_LIMIT;
        return SHOAL_E_LIMIT;
    }
    return SHOAL_OK;
}

shoal_status solve_problem_check(const struct solve_problem *p, enum sched_objective objective,
                                 bool sharing, shoal_err *err)
{
    const char *name = sched_objectives[objective].name;
    shoal_status st = SHOAL_OK;

    if (sharing && p->pair_count == 0) {
        missing(p, name, err, "it has no \"pairs\" and sharing was asked for");
        base_err_hint(err, "give pairs, or leave --sharing out");
        return SHOAL_E_FORMAT;
    }
    if (objective == SCHED_OBJECTIVE_FTF || objective == SCHED_OBJECTIVE_MAKESPAN)
        st = check_left(p, name, true, err);
    if (objective == SCHED_OBJECTIVE_COST_SLO)
        st = check_left(p, name, false, err);
    if (st == SHOAL_OK &&
        (objective == SCHED_OBJECTIVE_COST || objective == SCHED_OBJECTIVE_COST_SLO))
        st = check_prices(p, name, err);
    if (st == SHOAL_OK)
        st = check_count(p, objective, sharing, err);
    return st;
}

void solve_problem_view(const struct solve_problem *p, bool agnostic, bool sharing,
                        shoal_solve_problem *out)
{
    *out = (shoal_solve_problem){
        .struct_size = sizeof *out,
        .kind_count = p->kind_count,
        .agnostic = agnostic,
        .capacity = p->capacity,
        .usd_h = p->usd_h,
        .job_count = p->job_count,
        .rates = p->rates,
        .gpus = p->gpus,
        .count = p->count,
        .weight = p->weight,
        .left = p->left,
        .since_s = p->since_s,
        .alone_s = p->alone_s,
        .deadline_s = p->deadline_s,
        .entities = p->entities,
        .entity_count = p->entity != NULL ? p->entity_count : 0,
        .entity = p->entity,
        .pairs = sharing ? p->pairs : NULL,
        .pair_count = sharing ? p->pair_count : 0,
    };
}
