/* jobs.c - one member of "jobs": its fields, its place in the arrays, what should be said of it.
 * Tests: tests/unit/solve/test_problem.c. */
#include "solve/read.h"

#include "base/assert.h"
#include "base/err.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

static shoal_status read_field(struct solve_reading *rd, const char *key, const json_t *value,
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

shoal_status solve_jobs_read(struct solve_reading *rd, const json_t *value, size_t *cap,
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
        shoal_status st = read_field(rd, key, member, &row, err);
        if (st != SHOAL_OK)
            return st;
    }
    return add_job(rd, &row, cap, err);
}
