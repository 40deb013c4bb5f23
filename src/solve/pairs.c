/* pairs.c - one member of "pairs": two jobs that may share the GPUs of a kind.
 * Tests: tests/unit/solve/test_problem.c. */
#include "solve/read.h"

#include "base/assert.h"
#include "base/err.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

shoal_status solve_pairs_read(struct solve_reading *rd, const json_t *value, size_t *cap,
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
