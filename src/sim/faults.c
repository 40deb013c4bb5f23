/* faults.c - nodes that fail and come back, and jobs that fail by class.
 *
 * Nodes: each is up for an exponential time with mean node_mtbf_s, then down for one with mean
 * node_repair_s. The draws come from a stream of their own and are made in order of node events, so
 * every policy meets the same failures.
 *
 * Jobs: three classes with the shapes the Philly study found: mistakes of users happen early,
 * dominate the count and fail again when retried; failures of the infrastructure happen late, cost
 * most of the lost GPU time, grow with the number of GPUs and go away on retry; in between are
 * errors of the model's own runtime. The study's full tables are not public in machine-readable
 * form, so the parameters are ours, chosen to give about 17 % of jobs that end unsuccessful over
 * Philly's mix of sizes. A job draws once per attempt from a stream named by seed and job.
 *
 * Reference: Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training
 * Workloads", ATC 2019. */
#include "sim/state.h"

#include "base/assert.h"
#include "base/err.h"
#include <math.h>
#include <stdio.h>

enum { ATTEMPTS_MAX = 3 };

static const struct fault_class {
    const char *name;
    double probability[4]; /* jobs of 1, 2-4, 5-8, more GPUs; per attempt */
    double median_s;       /* of the log-normal time to failure, in run time */
    double sigma;
    bool retry;
} classes[] = {
    {"user error", {0.105, 0.12, 0.15, 0.19}, 300, 1.6, false},
    {"runtime error", {0.030, 0.04, 0.06, 0.08}, 1800, 1.8, true},
    {"infrastructure", {0.010, 0.02, 0.05, 0.09}, 14400, 1.4, true},
};

static uint32_t size_class(uint32_t gpus)
{
    return gpus == 1 ? 0 : gpus <= 4 ? 1 : gpus <= 8 ? 2 : 3;
}

const char *sim_fault_name(uint32_t fail_class)
{
    return fail_class < BASE_COUNT(classes) ? classes[fail_class].name : "node failure";
}

/* A user error is a property of the job: the retry draws the classes that may pass only. */
void sim_faults_draw(struct sim_state *s, struct sim_active *a)
{
    struct base_rand r;
    char name[64];

    a->fail_at_run_s = INFINITY;
    if (!s->opts->job_failures)
        return;
    snprintf(name, sizeof name, "job-failure/%u/%u", a->job.id, a->attempts);
    base_rand_init(&r, s->opts->seed, name);
    double u = base_rand_unit(&r);
    for (uint32_t c = 0; c < BASE_COUNT(classes); c++) {
        double p = classes[c].probability[size_class(a->job.gpus)];
        if (u < p) {
            a->fail_class = (uint8_t)c;
            a->fail_at_run_s =
                a->job.run_s + classes[c].median_s * exp(base_rand_normal(&r, 0, classes[c].sigma));
            return;
        }
        u -= p;
    }
}

bool sim_faults_retry(struct sim_state *s, struct sim_active *a)
{
    (void)s;
    return classes[a->fail_class].retry && ++a->attempts < ATTEMPTS_MAX;
}

static shoal_status push(struct sim_state *s, uint32_t node, double mean_s)
{
    double at = s->now_s + base_rand_exp(&s->node_rand, mean_s);

    return base_heap_push(&s->node_events,
                          (struct base_heap_item){.key = at, .order = node, .value = node});
}

shoal_status sim_faults_init(struct sim_state *s)
{
    if (s->opts->node_mtbf_s <= 0)
        return SHOAL_OK;
    base_rand_init(&s->node_rand, s->opts->seed, "node-failures");
    for (uint32_t n = 0; n < s->cluster->node_count; n++)
        if (push(s, n, s->opts->node_mtbf_s) != SHOAL_OK)
            return SHOAL_E_NOMEM;
    return SHOAL_OK;
}

double sim_faults_next_s(const struct sim_state *s)
{
    const struct base_heap_item *top = base_heap_top(&s->node_events);

    return top != NULL ? top->key : INFINITY;
}

static bool on_node(const struct sim_active *a, uint32_t node)
{
    for (uint32_t i = 0; i < a->job.alloc.place_count; i++)
        if (a->job.alloc.places[i].node == node)
            return true;
    return false;
}

static shoal_status node_down(struct sim_state *s, uint32_t node)
{
    s->node_up[node] = false;
    s->gpus_up -= s->cluster->nodes[node].gpus;
    s->result->metrics.node_failures++;
    shoal_status st = sim_journal_node(s, s->now_s, "node.down", node);
    for (size_t i = 0; i < s->job_count && st == SHOAL_OK; i++) {
        struct sim_active *a = sim_active_of(s->jobs[i]);
        if (!on_node(a, node))
            continue;
        sim_rollback(s, a);
        sim_release(s, a, s->now_s);
        a->job.lease_until_s = s->now_s;
        st = sim_journal_job(s, s->now_s, "job.stopped", a, "node failure");
    }
    return st == SHOAL_OK ? push(s, node, s->opts->node_repair_s) : st;
}

shoal_status sim_faults_apply(struct sim_state *s)
{
    struct base_heap_item item;

    while (sim_faults_next_s(s) <= s->now_s && base_heap_pop(&s->node_events, &item)) {
        uint32_t node = (uint32_t)item.value;
        s->node_changes++;
        shoal_status st;
        if (s->node_up[node]) {
            st = node_down(s, node);
        } else {
            s->node_up[node] = true;
            s->gpus_up += s->cluster->nodes[node].gpus;
            st = sim_journal_node(s, s->now_s, "node.up", node);
            if (st == SHOAL_OK)
                st = push(s, node, s->opts->node_mtbf_s);
        }
        if (st == SHOAL_E_NOMEM)
            return base_err_nomem(s->err, "simulating node failures");
        if (st != SHOAL_OK)
            return st;
    }
    return SHOAL_OK;
}
