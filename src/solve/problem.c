/* problem.c - see problem.h.
 *
 * The text is walked, not built: each kind, entity, job and pair is parsed by itself and forgotten,
 * so memory is that of the arrays. The parts are read in the order kinds, entities, jobs, pairs,
 * wherever they stand in the file. Tests: tests/unit/solve/test_problem.c,
 * tests/fuzz/fuzz_problem.c.
 */
#include "solve/problem.h"

#include "base/assert.h"
#include "base/err.h"
#include "solve/read.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { READ_CHUNK_SIZE = 65536 };
enum { KINDS, JOBS, ENTITIES, PAIRS, PART_COUNT };
static const char *const part_names[PART_COUNT] = {"kinds", "jobs", "entities", "pairs"};

static shoal_status nomem(shoal_err *err)
{
    return base_err_nomem(err, "reading a problem");
}

/* ---- kinds ---- */

static const struct solve_number kind_gpus = {
    .min = 1e-3, .max = 1e9, .zero = true, .expected = "a number of GPUs: 0, or from 1e-3 to 1e9"};

static shoal_status read_kind_fields(struct solve_reading *rd, const json_t *value, uint32_t kind,
                                     shoal_err *err)
{
    static const char *const names[] = {"gpus", "usd_h"};
    static const struct solve_number usd = {
        .min = 1e-6, .max = 1e6, .expected = "dollars per GPU and hour, from 1e-6 to 1e6"};
    struct solve_problem *p = rd->p;
    shoal_status st = SHOAL_OK;
    const char *key;
    json_t *member;

    if (json_is_number(value))
        return solve_read_number(rd, "", &kind_gpus, value, &p->capacity[kind], err);
    if (!json_is_object(value))
        return solve_read_wrong(
            rd, "", "an object such as {\"gpus\": 8}, or the number of GPUs alone", value, err);
    p->capacity[kind] = NAN;
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        if (strcmp(key, "gpus") == 0)
            st = solve_read_number(rd, ".gpus", &kind_gpus, member, &p->capacity[kind], err);
        else if (strcmp(key, "usd_h") != 0)
            st = solve_read_unknown(rd, key, names, BASE_COUNT(names), err);
        else if (!json_is_null(member))
            st = solve_read_number(rd, ".usd_h", &usd, member, &p->usd_h[kind], err);
        if (st != SHOAL_OK)
            return st;
    }
    return isnan(p->capacity[kind]) ? solve_read_bad(rd, "", err, "\"gpus\" is missing") : SHOAL_OK;
}

static shoal_status read_kind(struct solve_reading *rd, const char *name, const json_t *value,
                              shoal_err *err)
{
    struct solve_problem *p = rd->p;
    uint32_t kind = p->kind_count;

    if (kind == SHOAL_SOLVE_KINDS_MAX) {
        solve_read_bad(rd, "", err, "more than %d kinds", SHOAL_SOLVE_KINDS_MAX);
        return SHOAL_E_LIMIT;
    }
    shoal_status st = base_map_add(&p->kinds, name, strlen(name), kind, NULL);
    if (st == SHOAL_E_EXISTS)
        return solve_read_bad(rd, "", err, "this kind is there already; give it once");
    if (st != SHOAL_OK)
        return nomem(err);
    p->usd_h[kind] = NAN;
    p->kind_count++;
    return read_kind_fields(rd, value, kind, err);
}

/* ---- the whole ---- */

struct part {
    struct solve_span span;
    size_t cap;           /* of the arrays it fills */
    struct base_map seen; /* pairs */
};

static shoal_status read_element(struct solve_reading *rd, int which, struct part *part,
                                 struct solve_span key, struct solve_span value, size_t index,
                                 shoal_err *err)
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
        if (index == most[which]) {
            solve_read_bad(rd, "", err, "more than %zu %s", most[which], part_names[which]);
            st = SHOAL_E_LIMIT;
        }
    }
    if (st == SHOAL_OK)
        st = solve_read_json(rd, value, &json, err);
    if (st != SHOAL_OK)
        return st;
    if (which == KINDS)
        st = read_kind(rd, name, json, err);
    else if (which == ENTITIES)
        st = solve_entities_declare(rd, name, json, err);
    else if (which == JOBS)
        st = solve_jobs_read(rd, json, &part->cap, err);
    else
        st = solve_pairs_read(rd, json, &part->cap, &part->seen, err);
    json_decref(json);
    if (which == JOBS && rd->done != NULL)
        atomic_fetch_add_explicit(rd->done, 1, memory_order_relaxed);
    return st;
}

static shoal_status read_part(struct solve_reading *rd, int which, struct part *part,
                              shoal_err *err)
{
    bool object = which == KINDS || which == ENTITIES;
    struct solve_span key = {0, 0}, value;
    struct solve_walk walk;
    shoal_status st;

    if (part->span.size == 0)
        return SHOAL_OK;
    solve_read_at(rd, part->span.at, "%s", part_names[which]);
    if (rd->text.data[part->span.at] != (object ? '{' : '['))
        return solve_read_bad(rd, "", err, "expected %s",
                              object ? "an object, a name each: {...}" : "a list: [...]");
    solve_walk_begin(&walk, &rd->text, part->span);
    for (size_t i = 0; (st = solve_walk_next(&walk, &key, &value, err)) == SHOAL_OK; i++) {
        st = read_element(rd, which, part, key, value, i, err);
        if (st != SHOAL_OK)
            return st;
    }
    return st == SHOAL_END ? SHOAL_OK : st;
}

/* Where each part is. */
static shoal_status find_parts(struct solve_reading *rd, struct part *parts, shoal_err *err)
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
        if (parts[which].span.size > 0)
            return solve_read_bad(rd, "", err, "\"%s\" is there twice", name);
        parts[which].span = value;
    }
    if (st != SHOAL_END)
        return st;
    solve_read_at(rd, root.at, "the top");
    for (int which = KINDS; which <= JOBS; which++)
        if (parts[which].span.size == 0)
            return solve_read_bad(rd, "", err, "\"%s\" is missing", part_names[which]);
    return SHOAL_OK;
}

static shoal_status read_all(struct solve_reading *rd, struct part *parts, shoal_err *err)
{
    struct solve_problem *p = rd->p;
    shoal_status st = find_parts(rd, parts, err);

    if (st == SHOAL_OK)
        st = read_part(rd, KINDS, &parts[KINDS], err);
    if (st == SHOAL_OK && p->kind_count == 0)
        st = solve_read_bad(rd, "", err, "expected at least one kind");
    rd->declares = parts[ENTITIES].span.size > 0;
    rd->jobs = parts[JOBS].span;
    p->has_left = true;
    if (st == SHOAL_OK)
        st = read_part(rd, ENTITIES, &parts[ENTITIES], err);
    if (st == SHOAL_OK)
        st = read_part(rd, JOBS, &parts[JOBS], err);
    if (st == SHOAL_OK)
        st = solve_entities_finish(rd, err);
    if (st == SHOAL_OK)
        st = read_part(rd, PAIRS, &parts[PAIRS], err);
    return st;
}

static struct solve_problem *new_problem(const struct base_alloc *alloc, const char *path)
{
    struct solve_problem *p = base_calloc(alloc, 1, sizeof *p);

    if (p == NULL)
        return NULL;
    p->alloc = alloc;
    base_map_init(&p->kinds, alloc);
    base_map_init(&p->names, alloc);
    base_map_init(&p->entity_names, alloc);
    p->path = base_strdup(alloc, path);
    if (p->path != NULL)
        return p;
    solve_problem_free(p);
    return NULL;
}

/* No JSON text begins or goes on like this: a device or the wrong file, of which there may be no
 * end. */
static shoal_status check_chunk(const struct solve_text *text, size_t from, shoal_err *err)
{
    const char *zero = memchr(text->data + from, '\0', text->size - from);
    size_t at = text->size >= 3 && memcmp(text->data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    if (zero != NULL)
        return solve_walk_bad(text, (size_t)(zero - text->data), "",
                              "found a byte of value 0, so this is no JSON text", err);
    at += from == 0 ? strspn(text->data + at, " \t\r\n") : 0;
    if (from == 0 && at < text->size && text->data[at] != '{')
        return solve_walk_bad(text, at, "", "expected an object with \"kinds\" and \"jobs\"", err);
    return SHOAL_OK;
}

static shoal_status read_text(shoal_env *env, const char *path, struct base_buf *out,
                              shoal_err *err)
{
    char chunk[READ_CHUNK_SIZE];
    struct env_file *file = NULL;
    size_t size = 0;
    shoal_status st = env_open(env, path, &file, err);

    if (st != SHOAL_OK)
        return st;
    do {
        size_t from = out->size;
        st = env_read(file, chunk, sizeof chunk, &size, err);
        if (st != SHOAL_OK)
            break;
        base_buf_append(out, chunk, size); /* also when empty, so that data is a string */
        st = base_buf_status(out);
        if (st == SHOAL_E_LIMIT)
            base_err(err, st, "cannot read problem '%s': larger than %zu bytes", path,
                     out->size_max);
        else if (st != SHOAL_OK)
            nomem(err);
        else if (size > 0)
            st = check_chunk(&(struct solve_text){path, out->data, out->size}, from, err);
    } while (st == SHOAL_OK && size > 0);
    env_close(file);
    return st;
}

shoal_status solve_problem_load(shoal_env *env, const char *path, atomic_uint_fast64_t *done,
                                struct solve_problem **out, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    struct part parts[PART_COUNT] = {0};
    struct solve_problem *p = new_problem(alloc, path);
    struct base_buf text;

    if (p == NULL)
        return nomem(err);
    struct solve_reading rd = {.p = p, .done = done};
    base_map_init(&parts[PAIRS].seen, alloc);
    base_buf_init(&text, alloc, SOLVE_FILE_MAX);
    shoal_status st = read_text(env, path, &text, err);
    if (st == SHOAL_OK && text.size == 0)
        st = base_err(err, SHOAL_E_FORMAT, "cannot read problem '%s': empty file", p->path);
    if (st == SHOAL_OK) {
        rd.text = (struct solve_text){p->path, text.data, text.size};
        st = read_all(&rd, parts, err);
    }
    base_buf_fini(&text);
    base_map_fini(&parts[PAIRS].seen);
    base_free(alloc, rd.marks);
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
    void *arrays[] = {p->rates,        p->gpus,    p->count,      p->weight, p->left,
                      p->since_s,      p->alone_s, p->deadline_s, p->entity, p->entities,
                      p->entity_paths, p->pairs,   p->path};
    for (size_t i = 0; i < BASE_COUNT(arrays); i++)
        base_free(p->alloc, arrays[i]);
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
