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
#include <inttypes.h>
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

/* ---- jobs ---- */

struct row {
    double gpus, weight, left, since_s, alone_s, deadline_s, count;
    double rates[SHOAL_SOLVE_KINDS_MAX];
    const char *name, *entity; /* NULL: not stated; live as long as the row's JSON */
    bool has_rates;
};

struct field {
    const char *name;
    size_t at; /* of the double in struct row */
    struct solve_number rule;
};

#define DURATION_TEXT "seconds of 0 or more, or a text such as \"2h30m\""

static const struct field fields[] = {
    {"gpus",
     offsetof(struct row, gpus),
     {.min = 1e-3, .max = 1e6, .expected = "the GPUs it needs at once, from 1e-3 to 1e6"}},
    {"weight",
     offsetof(struct row, weight),
     {.min = 1e-6, .max = 1e6, .expected = "a weight above 0, from 1e-6 to 1e6"}},
    {"left",
     offsetof(struct row, left),
     {.min = 1e-6, .max = 1e15, .expected = "the steps left, from 1e-6 to 1e15"}},
    {"since_s",
     offsetof(struct row, since_s),
     {.min = 0, .max = 1e12, .duration = true, .expected = DURATION_TEXT}},
    {"alone_s",
     offsetof(struct row, alone_s),
     {.min = 0, .max = 1e12, .duration = true, .expected = DURATION_TEXT}},
    {"deadline_s",
     offsetof(struct row, deadline_s),
     {.min = -1e12,
      .max = 1e12,
      .duration = true,
      .expected =
          "seconds until the deadline (0 or less: it has passed), or a text such as \"2h\""}},
    {"count",
     offsetof(struct row, count),
     {.min = 1, .max = 1e7, .whole = true, .expected = "a whole number from 1 to 1e7"}},
};

static shoal_status read_rates(struct solve_reading *rd, const json_t *rates, struct row *row,
                               shoal_err *err)
{
    const char *key;
    json_t *member;

    if (!json_is_object(rates))
        return solve_read_wrong(rd, ".rates", "an object such as {\"v100\": 10.2}", rates, err);
    json_object_foreach((json_t *)(uintptr_t)rates, key, member)
    {
        char below[SOLVE_PLACE_MAX];
        const struct base_map_entry *kind = base_map_find(&rd->p->kinds, key, strlen(key));
        snprintf(below, sizeof below, ".rates.%.50s", key);
        if (kind == NULL)
            return solve_read_unknown_kind(rd, below, key, err);
        if (json_is_null(member))
            continue;
        shoal_status st =
            solve_read_number(rd, below, &solve_read_rate, member, &row->rates[kind->value], err);
        if (st != SHOAL_OK)
            return st;
    }
    row->has_rates = true;
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

static shoal_status read_job_field(struct solve_reading *rd, const char *key, const json_t *value,
                                   struct row *row, shoal_err *err)
{
    const char *names[BASE_COUNT(fields) + 3] = {"name", "rates", "entity"};
    char below[32];

    if (strcmp(key, "rates") == 0)
        return read_rates(rd, value, row, err);
    if (strcmp(key, "name") == 0)
        return json_is_null(value) ? SHOAL_OK : read_name(rd, ".name", value, &row->name, err);
    if (strcmp(key, "entity") == 0)
        return json_is_null(value) ? SHOAL_OK : read_name(rd, ".entity", value, &row->entity, err);
    for (size_t i = 0; i < BASE_COUNT(fields); i++) {
        names[3 + i] = fields[i].name;
        if (strcmp(key, fields[i].name) != 0)
            continue;
        snprintf(below, sizeof below, ".%s", key);
        double *to = (double *)(void *)((char *)row + fields[i].at);
        return json_is_null(value) ? SHOAL_OK
                                   : solve_read_number(rd, below, &fields[i].rule, value, to, err);
    }
    return solve_read_unknown(rd, key, names, BASE_COUNT(names), err);
}

/* Makes room for one more job in every array. */
static shoal_status reserve_job(struct solve_problem *p, size_t *cap, shoal_err *err)
{
    double **arrays[] = {&p->gpus,    &p->count,   &p->weight,    &p->left,
                         &p->since_s, &p->alone_s, &p->deadline_s};
    size_t want = p->job_count + 1, each = *cap;
    void *data;

    if (want <= *cap)
        return SHOAL_OK;
    for (size_t i = 0; i < BASE_COUNT(arrays); i++) {
        each = *cap;
        data = *arrays[i];
        if (base_reserve(p->alloc, &data, &each, want, sizeof(double)) != 0)
            return base_err_nomem(err, "reading a problem");
        *arrays[i] = data;
    }
    size_t kinds = p->kind_count, rates = *cap;
    data = p->rates;
    if (base_reserve(p->alloc, &data, &rates, each, kinds * sizeof(double)) != 0)
        return base_err_nomem(err, "reading a problem");
    p->rates = data;
    rates = *cap;
    data = p->entity;
    if (base_reserve(p->alloc, &data, &rates, each, sizeof *p->entity) != 0)
        return base_err_nomem(err, "reading a problem");
    p->entity = data;
    *cap = each;
    return SHOAL_OK;
}

/* A kind that is smaller than the gang is none for it. */
static void note_fit(struct solve_problem *p, struct row *row)
{
    bool runs = false;

    for (uint32_t k = 0; k < p->kind_count; k++) {
        bool fits = row->gpus <= p->capacity[k];
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
    p->deadline_count += isfinite(row->deadline_s) ? 1 : 0;
    p->has_left &= !isnan(row->left);
    p->alike |= row->count != 1;
}

static shoal_status add_job(struct solve_reading *rd, struct row *row, size_t *cap, shoal_err *err)
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
    if (st == SHOAL_OK && row->entity != NULL)
        st = solve_entities_join(rd, row->entity, &entity, err);
    else if (st != SHOAL_OK)
        return base_err_nomem(err, "reading a problem");
    if (st == SHOAL_OK)
        st = reserve_job(p, cap, err);
    if (st != SHOAL_OK)
        return st;
    note_fit(p, row);
    memcpy(p->rates + i * p->kind_count, row->rates, p->kind_count * sizeof(double));
    p->gpus[i] = row->gpus;
    p->count[i] = row->count;
    p->weight[i] = row->weight;
    p->left[i] = row->left;
    p->since_s[i] = row->since_s;
    p->alone_s[i] = row->alone_s;
    p->deadline_s[i] = row->deadline_s;
    p->entity[i] = entity;
    p->job_count++;
    return SHOAL_OK;
}

static shoal_status read_job(struct solve_reading *rd, const json_t *value, size_t *cap,
                             shoal_err *err)
{
    struct row row = {.gpus = 1, .weight = 1, .left = NAN, .deadline_s = INFINITY, .count = 1};
    const char *key;
    json_t *member;

    if (!json_is_object(value))
        return solve_read_wrong(
            rd, "", "a job such as {\"name\": \"a\", \"rates\": {\"v100\": 10}}", value, err);
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        shoal_status st = read_job_field(rd, key, member, &row, err);
        if (st != SHOAL_OK)
            return st;
    }
    return add_job(rd, &row, cap, err);
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

static shoal_status check_pair(const struct solve_reading *rd, const shoal_solve_pair *pair,
                               struct base_map *seen, shoal_err *err)
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
    shoal_status st = base_map_add(seen, key, strlen(key), p->pair_count, &same);
    if (st == SHOAL_E_EXISTS)
        return solve_read_bad(
            rd, "", err, "pairs[%" PRIu64 "] has these jobs on this kind already; give it once",
            same->value);
    return st == SHOAL_OK ? SHOAL_OK : base_err_nomem(err, "reading a problem");
}

static shoal_status read_pair_field(struct solve_reading *rd, const char *key, json_t *value,
                                    shoal_solve_pair *pair, shoal_err *err)
{
    static const char *const names[] = {"jobs", "kind", "rates"};
    bool two = json_is_array(value) && json_array_size(value) == 2;
    shoal_status st;

    if (strcmp(key, "jobs") == 0) {
        if (!two)
            return solve_read_wrong(rd, ".jobs", "names of two jobs, such as [\"a\", \"b\"]", value,
                                    err);
        st = find_pair_job(rd, json_array_get(value, 0), &pair->job, err);
        return st == SHOAL_OK ? find_pair_job(rd, json_array_get(value, 1), &pair->with, err) : st;
    }
    if (strcmp(key, "kind") == 0) {
        const char *name = json_string_value(value);
        if (name == NULL)
            return solve_read_wrong(rd, ".kind", "the name of a kind", value, err);
        const struct base_map_entry *kind = base_map_find(&rd->p->kinds, name, strlen(name));
        if (kind == NULL)
            return solve_read_unknown_kind(rd, ".kind", name, err);
        pair->kind = (uint32_t)kind->value;
        return SHOAL_OK;
    }
    if (strcmp(key, "rates") == 0) {
        if (!two)
            return solve_read_wrong(rd, ".rates", "two speeds, such as [8, 4]", value, err);
        st = solve_read_number(rd, ".rates[0]", &solve_read_rate, json_array_get(value, 0),
                               &pair->rate, err);
        return st == SHOAL_OK ? solve_read_number(rd, ".rates[1]", &solve_read_rate,
                                                  json_array_get(value, 1), &pair->with_rate, err)
                              : st;
    }
    return solve_read_unknown(rd, key, names, BASE_COUNT(names), err);
}

static shoal_status read_pair(struct solve_reading *rd, const json_t *value, size_t *cap,
                              struct base_map *seen, shoal_err *err)
{
    struct solve_problem *p = rd->p;
    shoal_solve_pair pair = {UINT32_MAX, UINT32_MAX, UINT32_MAX, NAN, NAN};
    void *pairs = p->pairs;
    const char *key;
    json_t *member;

    if (!json_is_object(value))
        return solve_read_wrong(rd, "",
                                "{\"jobs\": [\"a\", \"b\"], \"kind\": \"v100\", \"rates\": [8, 4]}",
                                value, err);
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        shoal_status st = read_pair_field(rd, key, member, &pair, err);
        if (st != SHOAL_OK)
            return st;
    }
    if (pair.job == UINT32_MAX || pair.kind == UINT32_MAX || isnan(pair.rate))
        return solve_read_bad(rd, "", err, "\"%s\" is missing",
                              pair.job == UINT32_MAX    ? "jobs"
                              : pair.kind == UINT32_MAX ? "kind"
                                                        : "rates");
    shoal_status st = check_pair(rd, &pair, seen, err);
    if (st != SHOAL_OK)
        return st;
    if (base_reserve(p->alloc, &pairs, cap, p->pair_count + 1, sizeof pair) != 0)
        return base_err_nomem(err, "reading a problem");
    p->pairs = pairs;
    if (p->gpus[pair.job] > p->capacity[pair.kind])
        pair.rate = pair.with_rate = 0; /* larger than the kind */
    p->pairs[p->pair_count++] = pair;
    return SHOAL_OK;
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
        st = read_job(rd, json, &part->cap, err);
    else
        st = read_pair(rd, json, &part->cap, &part->seen, err);
    json_decref(json);
    if (which == JOBS && rd->watch != NULL)
        atomic_fetch_add_explicit(base_watch_done(rd->watch), 1, memory_order_relaxed);
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
        if (base_watch_stopped(rd->watch))
            return base_err(err, SHOAL_E_CANCELLED, "interrupted");
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

shoal_status solve_problem_load(shoal_env *env, const char *path, shoal_watch *watch,
                                struct solve_problem **out, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    struct part parts[PART_COUNT] = {0};
    struct solve_problem *p = new_problem(alloc, path);
    struct base_buf text;

    if (p == NULL)
        return nomem(err);
    struct solve_reading rd = {.p = p, .watch = watch};
    base_watch_begin(watch, "jobs read", 0);
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

/* ---- what an objective needs ---- */

static shoal_status missing(const struct solve_problem *p, const char *objective, shoal_err *err,
                            const char *what)
{
    base_err(err, SHOAL_E_FORMAT, "cannot solve '%.150s' for %s: %.150s", p->path, objective, what);
    base_err_where(err, "%.150s", p->path);
    return SHOAL_E_FORMAT;
}

static shoal_status check_left(const struct solve_problem *p, const char *objective, bool all,
                               shoal_err *err)
{
    char what[150];

    for (size_t i = 0; i < p->job_count; i++) {
        if (!isnan(p->left[i]) || (!all && isinf(p->deadline_s[i])))
            continue;
        snprintf(what, sizeof what, "jobs[%zu] ('%.60s') has no \"left\"", i,
                 solve_problem_job(p, i));
        missing(p, objective, err, what);
        base_err_hint(err, all ? "give the steps left of every job"
                               : "give the steps left of every job that has a deadline");
        return SHOAL_E_FORMAT;
    }
    return SHOAL_OK;
}

static shoal_status check_prices(const struct solve_problem *p, const char *objective,
                                 shoal_err *err)
{
    char what[150];

    for (uint32_t k = 0; k < p->kind_count; k++) {
        if (p->capacity[k] == 0 || !isnan(p->usd_h[k]))
            continue;
        snprintf(what, sizeof what, "kinds.%.60s has no \"usd_h\"", solve_problem_kind(p, k));
        missing(p, objective, err, what);
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
    char what[150];

    for (uint32_t e = 0; objective == SCHED_OBJECTIVE_HIERARCHICAL && e < p->entity_count; e++)
        single = single || p->entities[e].fifo != 0;
    for (size_t i = 0; single && i < p->job_count; i++) {
        total += p->count[i];
        if (total <= SHOAL_SOLVE_SINGLE_JOBS_MAX)
            continue;
        snprintf(what, sizeof what, "with jobs[%zu] ('%.60s', count %.0f) there are %.0f jobs", i,
                 solve_problem_job(p, i), p->count[i], total);
        missing(p, sched_objectives[objective].name, err, what);
        base_err_hint(err, "with %s there can be %d, counts included",
                      sharing ? "--sharing pairs" : "fifo entities", SHOAL_SOLVE_SINGLE_JOBS_MAX);
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
