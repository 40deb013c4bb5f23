/* machines.c - choosing a cluster for a trace, and setting servers apart. */
#include "study/machines.h"

#include "base/assert.h"
#include "base/err.h"
#include <math.h>
#include <stdlib.h>

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
        base_err_hint(err, "check the unit of its durations, or give --cluster");
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
