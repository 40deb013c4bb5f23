/* quotas.c - quotas as given, or by share of GPU time. */
#include "study/quotas.h"

#include "base/err.h"
#include "base/text.h"
#include <math.h>
#include <string.h>

enum { TEXT_MAX = 1 << 20, KNOB_MAX = 1 << 24 };

/* ---- by share ---- */

/* The group with the largest remainder that has not had its GPU yet; ties go to the first. */
static size_t next_group(const double *left, size_t count)
{
    size_t best = 0;

    for (size_t g = 1; g < count; g++)
        if (left[g] > left[best])
            best = g;
    return best;
}

static shoal_status by_share(struct study_quotas *q, uint32_t gpus, double all_gpu_s)
{
    double *left = base_calloc(q->alloc, q->count + 1, sizeof *left);
    size_t groups = 0;

    if (left == NULL)
        return SHOAL_E_NOMEM;
    for (size_t g = 0; g < q->count; g++)
        groups += q->gpu_s[g] > 0;
    uint32_t least = gpus >= groups ? 1 : 0, given = 0;
    double rest = gpus - (double)least * (double)groups;
    for (size_t g = 0; g < q->count; g++) {
        double share = q->gpu_s[g] / all_gpu_s * rest;
        q->gpus[g] = (uint32_t)floor(share) + (q->gpu_s[g] > 0 ? least : 0);
        left[g] = q->gpu_s[g] > 0 ? share - floor(share) : -1;
        given += q->gpus[g];
    }
    for (; given < gpus; given++) {
        size_t g = next_group(left, q->count);
        q->gpus[g]++;
        left[g] -= 1;
    }
    base_free(q->alloc, left);
    return SHOAL_OK;
}

/* ---- as given ---- */

static shoal_status unknown_group(const char *name, const struct sim_trace *trace, shoal_err *err)
{
    const char *near = NULL;
    size_t best = 4;

    for (uint32_t g = 0; g < trace->groups.map.count && g < 10000; g++) {
        size_t d = base_edit_distance(name, sim_names_get(&trace->groups, g));
        if (d < best) {
            best = d;
            near = sim_names_get(&trace->groups, g);
        }
    }
    base_err(err, SHOAL_E_INVAL, "--quotas: the trace has no group '%.60s'", name);
    if (near != NULL)
        base_err_hint(err, "did you mean '%.100s'?", near);
    else
        base_err_hint(err, "its groups are listed by 'shoal trace info'");
    return SHOAL_E_INVAL;
}

/* One "name=GPUS". `seen` is marked. */
static shoal_status take(struct study_quotas *q, char *word, const struct sim_trace *trace,
                         bool *seen, shoal_err *err)
{
    char *equals = strrchr(word, '=');
    uint64_t gpus = 0;

    if (equals == NULL || equals == word ||
        !base_parse_u64(equals + 1, strlen(equals + 1), &gpus) || gpus > UINT32_MAX) {
        base_err(err, SHOAL_E_INVAL, "--quotas: expected GROUP=GPUS, found '%.60s'", word);
        base_err_hint(err,
                      "write --quotas vision=64,speech=32, or one such line per group in a file");
        return SHOAL_E_INVAL;
    }
    *equals = '\0';
    const struct base_map_entry *entry =
        base_map_find(&trace->groups.map, word, (size_t)(equals - word));
    if (entry == NULL)
        return unknown_group(word, trace, err);
    if (seen[entry->value])
        return base_err(err, SHOAL_E_INVAL, "--quotas: group '%.60s' is given twice", word);
    seen[entry->value] = true;
    q->gpus[entry->value] = (uint32_t)gpus;
    return SHOAL_OK;
}

static shoal_status take_all(struct study_quotas *q, char *text, const struct sim_trace *trace,
                             shoal_err *err)
{
    bool *seen = base_calloc(q->alloc, q->count + 1, sizeof *seen);
    shoal_status st = seen == NULL ? base_err_nomem(err, "reading the quotas") : SHOAL_OK;

    for (char *line = text; st == SHOAL_OK && line != NULL;) {
        char *end = strchr(line, '\n'), *next = end != NULL ? end + 1 : NULL;
        if (end != NULL)
            *end = '\0';
        line[strcspn(line, "#")] = '\0';
        for (char *word = line; st == SHOAL_OK && word != NULL;) {
            char *comma = strchr(word, ','), *after = comma != NULL ? comma + 1 : NULL;
            if (comma != NULL)
                *comma = '\0';
            word += strspn(word, " \t\r");
            for (size_t n = strlen(word); n > 0 && strchr(" \t\r", word[n - 1]) != NULL;)
                word[--n] = '\0';
            if (*word != '\0')
                st = take(q, word, trace, seen, err);
            word = after;
        }
        line = next;
    }
    base_free(q->alloc, seen);
    return st;
}

static shoal_status as_given(struct study_quotas *q, shoal_env *env, const char *text,
                             const struct sim_trace *trace, shoal_err *err)
{
    struct base_buf copy;
    shoal_status st = SHOAL_OK;

    base_buf_init(&copy, q->alloc, TEXT_MAX);
    if (strchr(text, '=') != NULL)
        base_buf_puts(&copy, text);
    else
        st = env_read_whole(env, text, &copy, err);
    if (st == SHOAL_OK && (st = base_buf_status(&copy)) != SHOAL_OK)
        base_err(err, st, "cannot read the quotas: %s", shoal_status_text(st));
    if (st == SHOAL_OK && copy.size > 0 && strlen(copy.data) != copy.size)
        st = base_err(err, SHOAL_E_FORMAT, "cannot read quotas '%.200s': it is not a text", text);
    if (st == SHOAL_OK && copy.size > 0)
        st = take_all(q, copy.data, trace, err);
    base_buf_fini(&copy);
    uint64_t sum = 0;
    for (size_t g = 0; g < q->count; g++)
        sum += q->gpus[g];
    if (st == SHOAL_OK && sum == 0)
        return base_err(err, SHOAL_E_INVAL, "--quotas: no group has any GPU");
    return st;
}

/* ---- both ---- */

static void write_knob(struct study_quotas *q)
{
    base_buf_puts(&q->knob, "quota=");
    const char *between = "";
    for (size_t g = 0; g < q->count; g++) {
        q->sum += q->gpus[g];
        if (q->gpus[g] == 0)
            continue;
        base_buf_printf(&q->knob, "%sg%zu=%u", between, g, q->gpus[g]);
        between = "+";
    }
}

shoal_status study_quotas_init(struct study_quotas *quotas, shoal_env *env, const char *text,
                               const struct sim_trace *trace, const struct study_jobs *jobs,
                               uint32_t gpus, shoal_err *err)
{
    struct study_quotas q = {.alloc = env_alloc(env), .count = trace->groups.map.count};
    shoal_status st = SHOAL_OK;
    size_t groups = 0;

    base_buf_init(&q.knob, q.alloc, KNOB_MAX);
    q.gpus = base_calloc(q.alloc, q.count + 1, sizeof *q.gpus);
    q.gpu_s = base_calloc(q.alloc, q.count + 1, sizeof *q.gpu_s);
    if (q.gpus == NULL || q.gpu_s == NULL) {
        study_quotas_fini(&q);
        return base_err_nomem(err, "reading the quotas");
    }
    for (size_t i = 0; i < jobs->count; i++)
        q.gpu_s[jobs->jobs[i].group] += jobs->jobs[i].run_s * jobs->jobs[i].gpus;
    for (size_t g = 0; g < q.count; g++)
        groups += q.gpu_s[g] > 0;
    bool off = text != NULL && strcmp(text, "none") == 0;
    q.given = text != NULL && !off;
    q.none = off || (!q.given && groups < 2);
    if (q.given)
        st = as_given(&q, env, text, trace, err);
    else if (!q.none && by_share(&q, gpus, jobs->gpu_s) != SHOAL_OK)
        st = base_err_nomem(err, "reading the quotas");
    if (st == SHOAL_OK && !q.none) {
        write_knob(&q);
        st = base_buf_status(&q.knob);
        if (st != SHOAL_OK)
            base_err(err, st, "cannot write down the quotas of %zu groups: %s", q.count,
                     shoal_status_text(st));
    }
    if (st != SHOAL_OK) {
        study_quotas_fini(&q);
        return st;
    }
    *quotas = q;
    return SHOAL_OK;
}

void study_quotas_fini(struct study_quotas *quotas)
{
    if (quotas->alloc == NULL)
        return;
    base_free(quotas->alloc, quotas->gpus);
    base_free(quotas->alloc, quotas->gpu_s);
    base_buf_fini(&quotas->knob);
    *quotas = (struct study_quotas){0};
}
