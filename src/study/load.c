/* load.c - the jobs of a study, a cluster chosen for them, servers set apart, and quotas (see load.h). */
#include "study/load.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "sim/info.h"
#include "sim/result.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const study_size_names[STUDY_SIZES] = {"1", "2-4", "5-8", ">8"};

uint32_t study_size_of(uint32_t gpus)
{
    return gpus <= 1 ? 0 : gpus <= 4 ? 1 : gpus <= 8 ? 2 : 3;
}

static double run_s(const struct sim_job *job, const struct sched_cluster *cluster)
{
    int kind = sched_model_best_kind(&job->speed, cluster, job->kinds, job->gpus);

    return kind < 0 ? INFINITY
                    : sched_model_ideal_s(&job->speed, cluster, (uint32_t)kind, job->gpus, 0);
}

static void leave_out(struct study_jobs *jobs, const struct sim_job *job)
{
    if (jobs->named_count < STUDY_NAMED)
        jobs->named[jobs->named_count++] = (struct study_job){.name = job->name,
                                                              .submit_s = job->submit_s,
                                                              .run_s = NAN,
                                                              .gpus = job->gpus,
                                                              .group = job->group};
    jobs->too_large++;
}

static shoal_status none_left(const struct sim_trace *trace, const struct sched_cluster *cluster,
                              shoal_err *err)
{
    shoal_status st = sim_kinds_check(trace, cluster, err);

    return st != SHOAL_OK
               ? st
               : base_err(err, SHOAL_E_IMPOSSIBLE,
                          "there is nothing to study: the trace has no job that uses GPUs");
}

shoal_status study_jobs_init(struct study_jobs *jobs, const struct base_alloc *alloc,
                             const struct sim_trace *trace, const struct sched_cluster *cluster,
                             shoal_err *err)
{
    *jobs = (struct study_jobs){.alloc = alloc, .from_s = INFINITY, .to_s = -INFINITY};
    jobs->jobs = base_calloc(alloc, trace->job_count + 1, sizeof *jobs->jobs);
    if (jobs->jobs == NULL)
        return base_err_nomem(err, "reading the jobs of the trace");
    for (size_t i = 0; i < trace->job_count; i++) {
        const struct sim_job *job = &trace->jobs[i];
        double seconds = job->kinds == 0 ? INFINITY : run_s(job, cluster);
        if (!isfinite(seconds)) {
            leave_out(jobs, job);
            continue;
        }
        jobs->jobs[jobs->count++] = (struct study_job){.name = job->name,
                                                       .submit_s = job->submit_s,
                                                       .run_s = seconds,
                                                       .gpus = job->gpus,
                                                       .group = job->group,
                                                       .kinds = job->kinds};
        jobs->sizes[study_size_of(job->gpus)]++;
        jobs->gpu_s += seconds * job->gpus;
        jobs->from_s = fmin(jobs->from_s, job->submit_s);
        jobs->to_s = fmax(jobs->to_s, job->submit_s + seconds);
    }
    if (jobs->count == 0) {
        shoal_status st = none_left(trace, cluster, err);
        study_jobs_fini(jobs);
        return st;
    }
    double last_s = jobs->jobs[jobs->count - 1].submit_s;
    jobs->use_until_s = sim_use_until_s(jobs->from_s, last_s, jobs->to_s);
    return SHOAL_OK;
}

void study_jobs_fini(struct study_jobs *jobs)
{
    if (jobs->alloc != NULL)
        base_free(jobs->alloc, jobs->jobs);
    *jobs = (struct study_jobs){0};
}

/* ---- choosing a cluster ---- */

/* Of the published Philly trace. */
static const double PHILLY_SMALL = 321, PHILLY_LARGE = 231;

/* A job comes or goes. */
struct change {
    double at_s;
    int64_t gpus;
};

static int by_time(const void *pa, const void *pb)
{
    const struct change *a = pa, *b = pb;

    return (a->at_s > b->at_s) - (a->at_s < b->at_s);
}

/* The mean of GPUs in use, weighted by themselves; `changes` are sorted by time. */
static double mean_demand(const struct change *changes, size_t count)
{
    double gpu_s = 0, weighted = 0, in_use = 0;

    for (size_t i = 0; i < count; i++) {
        double seconds = i > 0 ? changes[i].at_s - changes[i - 1].at_s : 0;
        gpu_s += in_use * seconds;
        weighted += in_use * in_use * seconds;
        in_use += (double)changes[i].gpus;
    }
    return gpu_s > 0 ? weighted / gpu_s : 0;
}

static shoal_status measure(const struct sim_trace *trace, double *out_demand,
                            uint32_t *out_largest, shoal_err *err)
{
    uint32_t largest = 0;

    if (trace->job_count == 0)
        return base_err(err, SHOAL_E_IMPOSSIBLE,
                        "there is nothing to study: the trace has no job that uses GPUs");
    struct change *changes = base_calloc(trace->alloc, 2 * trace->job_count, sizeof *changes);
    if (changes == NULL)
        return base_err_nomem(err, "choosing a cluster");
    for (size_t i = 0; i < trace->job_count; i++) {
        const struct sim_job *job = &trace->jobs[i];
        if (job->work != SIM_WORK_DURATION) {
            base_err(err, SHOAL_E_INVAL,
                     "cannot choose a cluster: job '%.60s' states a model, not how long it ran",
                     job->name);
            base_err_hint(err, "give the machines with --cluster, such as --cluster 16x4:v100");
            base_free(trace->alloc, changes);
            return SHOAL_E_INVAL;
        }
        changes[2 * i] = (struct change){job->submit_s, job->gpus};
        changes[2 * i + 1] = (struct change){job->submit_s + job->duration_s, -(int64_t)job->gpus};
        largest = job->gpus > largest ? job->gpus : largest;
    }
    qsort(changes, 2 * trace->job_count, sizeof *changes, by_time);
    *out_demand = mean_demand(changes, 2 * trace->job_count);
    *out_largest = largest;
    base_free(trace->alloc, changes);
    return SHOAL_OK;
}

shoal_status study_machines_demand(const struct sim_trace *trace, double *out_gpus, shoal_err *err)
{
    uint32_t largest;

    return measure(trace, out_gpus, &largest, err);
}

/* "16x8:gpu:rack=l0,4x8:gpu:rack=l1" */
static void write_racks(struct base_buf *out, uint64_t servers, unsigned gpus, char letter)
{
    for (uint64_t first = 0; first < servers; first += STUDY_RACK) {
        uint64_t n = servers - first < STUDY_RACK ? servers - first : STUDY_RACK;
        base_buf_printf(out, "%s%llux%u:gpu:rack=%c%llu", out->size > 0 ? "," : "",
                        (unsigned long long)n, gpus, letter,
                        (unsigned long long)(first / STUDY_RACK));
    }
}

shoal_status study_machines_choose(const struct sim_trace *trace, struct base_buf *out,
                                   shoal_err *err)
{
    double demand = 0;
    uint32_t largest = 0;
    shoal_status st = measure(trace, &demand, &largest, err);

    if (st != SHOAL_OK)
        return st;
    double gpus = fmax(ceil(demand / STUDY_DEMAND - 1e-9), largest);
    double all = STUDY_SMALL * PHILLY_SMALL + STUDY_LARGE * PHILLY_LARGE;
    if (gpus > (double)SCHED_NODES_MAX) {
        base_err(err, SHOAL_E_LIMIT, "cannot choose a cluster: the trace needs %.0f GPUs at once",
                 gpus);
        base_err_hint(err, "check the unit of the durations, or name the machines with --cluster");
        return SHOAL_E_LIMIT;
    }
    double large = nearbyint(gpus * PHILLY_LARGE / all);
    double small = ceil(fmax(gpus - STUDY_LARGE * large, 0) / STUDY_SMALL);
    write_racks(out, (uint64_t)large, STUDY_LARGE, 'l');
    write_racks(out, (uint64_t)small, STUDY_SMALL, 's');
    return base_buf_status(out) == SHOAL_OK ? SHOAL_OK : base_err_nomem(err, "choosing a cluster");
}

/* ---- servers set apart ---- */

/* The last of the smallest servers that is not taken yet; node_count: none. */
static uint32_t next_server(const struct sched_cluster *c, const bool *taken)
{
    uint32_t best = c->node_count;

    for (uint32_t n = c->node_count; n-- > 0;)
        if (!taken[n] && (best == c->node_count || c->nodes[n].gpus < c->nodes[best].gpus))
            best = n;
    return best;
}

static bool split_allowed(const struct sched_cluster *c, const bool *taken, uint32_t gpus)
{
    uint32_t left[SCHED_KINDS_MAX] = {0};

    for (uint32_t n = 0; n < c->node_count; n++)
        left[c->nodes[n].kind] += taken[n] ? 0 : 1;
    for (uint32_t k = 0; k < c->kind_count; k++)
        if (left[k] == 0 && c->kinds[k].nodes > 0)
            return false;
    return gpus <= STUDY_POOL_SHARE * c->gpus;
}

/* The servers whose `taken` is `want`. */
static shoal_status part_of(const struct sched_cluster *c, const bool *taken, bool want,
                            struct sched_cluster *out)
{
    struct sched_cluster part = *c;

    part.nodes = base_calloc(c->alloc, c->node_count + 1, sizeof *part.nodes);
    if (part.nodes == NULL)
        return SHOAL_E_NOMEM;
    part.node_count = part.gpus = 0;
    for (uint32_t k = 0; k < c->kind_count; k++)
        part.kinds[k].gpus = part.kinds[k].nodes = part.kinds[k].node_gpus_max = 0;
    for (uint32_t n = 0; n < c->node_count; n++) {
        const struct sched_node *node = &c->nodes[n];
        struct sched_kind *kind = &part.kinds[node->kind];
        if (taken[n] != want)
            continue;
        part.nodes[part.node_count++] = *node;
        part.gpus += node->gpus;
        kind->gpus += node->gpus;
        kind->nodes++;
        if (node->gpus > kind->node_gpus_max)
            kind->node_gpus_max = node->gpus;
    }
    *out = part;
    return SHOAL_OK;
}

shoal_status study_machines_split(const struct sched_cluster *cluster, uint32_t gpus,
                                  struct sched_cluster *pool, struct sched_cluster *rest)
{
    struct sched_cluster a = {0}, b = {0};
    bool *taken = base_calloc(cluster->alloc, cluster->node_count + 1, sizeof *taken);
    shoal_status st = taken == NULL ? SHOAL_E_NOMEM : SHOAL_OK;
    uint32_t got = 0;

    while (st == SHOAL_OK && got < gpus) {
        uint32_t n = next_server(cluster, taken);
        if (n == cluster->node_count) {
            st = SHOAL_E_IMPOSSIBLE;
            break;
        }
        taken[n] = true;
        got += cluster->nodes[n].gpus;
        if (!split_allowed(cluster, taken, got))
            st = SHOAL_E_IMPOSSIBLE;
    }
    if (st == SHOAL_OK)
        st = part_of(cluster, taken, true, &a);
    if (st == SHOAL_OK)
        st = part_of(cluster, taken, false, &b);
    base_free(cluster->alloc, taken);
    if (st != SHOAL_OK) {
        sched_cluster_fini(&a);
        return st;
    }
    *pool = a;
    *rest = b;
    return SHOAL_OK;
}

enum { TEXT_MAX = 1 << 20, KNOB_MAX = 1 << 24 };

/* ---- quotas by share ---- */

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

/* ---- quotas as given ---- */

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

/* ---- quotas ---- */

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
