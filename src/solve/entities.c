/* entities.c - the tree of entities: paths such as "research/vision", declared under "entities" or
 * named by a job.
 *
 * Entities get their number when they are first named, parents before what is below them; among
 * neighbours that is the order in which a fifo parent serves them. Tests:
 * tests/unit/solve/test_problem.c. */
#include "solve/read.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include <string.h>

enum { DECLARED = 1, HAS_JOB = 2, HAS_BELOW = 4 };

static const char default_entity[] = "default";

/* Adds a path that is not there yet; its parent is. */
static shoal_status add(struct solve_reading *rd, const char *path, size_t size, uint32_t parent,
                        uint32_t *out, shoal_err *err)
{
    struct solve_problem *p = rd->p;
    void *entities = p->entities, *marks = rd->marks;

    if (p->entity_count == SOLVE_ENTITIES_MAX) {
        solve_read_bad(rd, "", err, "more than %d entities", SOLVE_ENTITIES_MAX);
        return SHOAL_E_LIMIT;
    }
    bool full = base_reserve(p->alloc, &entities, &rd->entity_cap, p->entity_count + 1U,
                             sizeof *p->entities) != 0;
    p->entities = entities;
    full = full || base_reserve(p->alloc, &marks, &rd->mark_cap, p->entity_count + 1U, 1) != 0;
    rd->marks = marks;
    if (full || base_map_add(&p->entity_names, path, size, p->entity_count, NULL) != SHOAL_OK)
        return base_err_nomem(err, "reading a problem");
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

shoal_status solve_entities_declare(struct solve_reading *rd, const char *path, const json_t *value,
                                    shoal_err *err)
{
    static const char *const names[] = {"weight", "inside"};
    static const struct solve_number weight = {
        .min = 1e-6, .max = 1e6, .expected = "a weight above 0, from 1e-6 to 1e6"};
    uint32_t at;
    const char *key;
    json_t *member;

    shoal_status st = reach(rd, path, &at, err);
    if (st != SHOAL_OK)
        return st;
    if ((rd->marks[at] & DECLARED) != 0)
        return solve_read_bad(rd, "", err, "this entity is there already; give it once");
    rd->marks[at] |= DECLARED;
    if (!json_is_object(value))
        return solve_read_wrong(rd, "", "an object such as {\"weight\": 2, \"inside\": \"fifo\"}",
                                value, err);
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        if (strcmp(key, "weight") == 0) {
            st =
                solve_read_number(rd, ".weight", &weight, member, &rd->p->entities[at].weight, err);
        } else if (strcmp(key, "inside") == 0) {
            const char *word = json_is_string(member) ? json_string_value(member) : "";
            if (strcmp(word, "fair") != 0 && strcmp(word, "fifo") != 0)
                st = solve_read_wrong(rd, ".inside", "\"fair\" or \"fifo\"", member, err);
            rd->p->entities[at].fifo = strcmp(word, "fifo") == 0;
        } else {
            st = solve_read_unknown(rd, key, names, BASE_COUNT(names), err);
        }
        if (st != SHOAL_OK)
            return st;
    }
    return SHOAL_OK;
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

shoal_status solve_entities_join(struct solve_reading *rd, const char *path, uint32_t *out_entity,
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
    uint32_t *number = base_calloc(p->alloc, p->entity_count, sizeof *number);
    uint32_t kept = 0;

    p->entity_paths = base_calloc(p->alloc, p->entity_count, sizeof *p->entity_paths);
    if (number == NULL || p->entity_paths == NULL) {
        base_free(p->alloc, number);
        return base_err_nomem(err, "reading a problem");
    }
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
    base_free(p->alloc, number);
    return SHOAL_OK;
}

shoal_status solve_entities_finish(struct solve_reading *rd, shoal_err *err)
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
    if (!any) {
        base_free(p->alloc, p->entity);
        p->entity = NULL;
    }
    return st;
}
