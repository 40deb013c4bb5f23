/* faults.c - nodes that fail and come back, and jobs that fail by class.
 *
 * Nodes: each is up for an exponential time with mean node_mtbf_s, then down for one with mean
 * node_repair_s. The draws come from a stream of their own and are made in order of node events, so
 * every policy meets the same failures. While no job is live nobody meets them: of a wait longer than
 * IDLE_CYCLES times a failure and a repair only that much is played, and all node events after it
 * come later by the rest. Exponential times have no memory, so what jobs meet is as likely as before;
 * only after such a wait may two policies, which begin it at different times, see different failures.
 *
 * Jobs: three classes with the shapes the Philly study found: mistakes of users happen early,
 * dominate the count and fail again when retried; failures of the infrastructure happen late, cost
 * most of the lost GPU time, grow with the number of GPUs and go away on retry; in between are
 * errors of the model's own runtime. The study's full tables are not public in machine-readable
 * form, so the parameters are ours, chosen to give the study's 17 % of jobs that end unsuccessful:
 * measured, 13,951 of the 82,247 jobs of the published list (17.0 %, under fifo and under las alike;
 * seeds 2 and 3 are within 0.1 points). Most jobs of that list end before the failure they drew, so
 * the probabilities are well above the shares that come out. A job draws once per attempt from a
 * stream named by seed and job.
 *
 * Reference: Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training
 * Workloads", ATC 2019. */
#include "sim/state.h"

#include "base/assert.h"
#include "base/err.h"
#include <math.h>
#include <stdio.h>

enum { ATTEMPTS_MAX = 3, IDLE_CYCLES = 10 };

/* A job that would have to be lucky once in e^40 times never gets there. */
static const double LUCK_MAX = 40;

static const struct fault_class {
    const char *name;
    double probability[4]; /* jobs of 1, 2-4, 5-8, more GPUs; per attempt */
    double median_s;       /* of the log-normal time to failure, in run time */
    double sigma;
    bool retry;
} classes[] = {
    {"user error", {0.23, 0.26, 0.31, 0.37}, 200, 1.6, false},
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
    if (!s->opts->how.job_failures)
        return;
    snprintf(name, sizeof name, "job-failure/%u/%u", a->job.id, a->attempts);
    base_rand_init(&r, s->opts->how.seed, name);
    double u = base_rand_unit(&r);
    for (uint32_t c = 0; c < BASE_COUNT(classes); c++) {
        if (a->attempts > 0 && !classes[c].retry)
            continue;
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
    double at = s->now_s + base_rand_exp(&s->node_rand, mean_s) - s->skipped_s;

    return base_heap_push(&s->node_events,
                          (struct base_heap_item){.key = at, .order = node, .value = node});
}

shoal_status sim_faults_init(struct sim_state *s)
{
    if (s->opts->how.node_mtbf_s <= 0)
        return SHOAL_OK;
    base_rand_init(&s->node_rand, s->opts->how.seed, "node-failures");
    for (uint32_t n = 0; n < s->cluster->node_count; n++)
        if (push(s, n, s->opts->how.node_mtbf_s) != SHOAL_OK)
            return SHOAL_E_NOMEM;
    return SHOAL_OK;
}

double sim_faults_next_s(const struct sim_state *s)
{
    const struct base_heap_item *top = base_heap_top(&s->node_events);

    return top != NULL ? top->key + s->skipped_s : INFINITY;
}

void sim_faults_skip(struct sim_state *s, double to_s)
{
    double played_s = IDLE_CYCLES * (s->opts->how.node_mtbf_s + s->opts->how.node_repair_s);

    if (s->opts->how.node_mtbf_s > 0 && to_s - s->now_s > played_s)
        s->skipped_s += to_s - s->now_s - played_s;
}

static bool on_node(const struct sim_active *a, uint32_t node)
{
    for (uint32_t i = 0; i < a->job.alloc.place_count; i++)
        if (a->job.alloc.places[i].node == node)
            return true;
    return false;
}

/* Whether the job gets from one checkpoint to the next, or to its end, before one of its nodes fails
 * again: the chance is exp(-nodes x seconds / mtbf). When that is nothing the run would not end. */
static shoal_status check_luck(struct sim_state *s, const struct sim_active *a)
{
    double left_s = a->rate > 0 ? (a->job.model.work - a->job.progress) / a->rate : 0;
    double need_s = s->opts->how.restart_s + fmin(left_s, s->opts->how.checkpoint_s);
    double mean_s = s->opts->how.node_mtbf_s / a->job.alloc.place_count;

    if (need_s <= LUCK_MAX * mean_s)
        return SHOAL_OK;
    base_err(s->err, SHOAL_E_IMPOSSIBLE,
             "under policy '%s' job '%s' (%u GPU%s on %u node%s) never gets on: it needs %.0f s "
             "without a failure, and one of its nodes fails every %.0f s",
             s->opts->policy->name, s->trace->jobs[a->job.id].name, a->job.alloc.gpus,
             a->job.alloc.gpus == 1 ? "" : "s", a->job.alloc.place_count,
             a->job.alloc.place_count == 1 ? "" : "s", need_s, mean_s);
    base_err_hint(s->err, "set a shorter --checkpoint-every, or fewer failures");
    return SHOAL_E_IMPOSSIBLE;
}

static shoal_status node_down(struct sim_state *s, uint32_t node)
{
    s->node_up[node] = false;
    s->nodes_up--;
    s->result->metrics.node_failures++;
    shoal_status st = sim_journal_node(s, s->now_s, "node.down", node);
    for (size_t i = 0; i < s->job_count && st == SHOAL_OK; i++) {
        struct sim_active *a = sim_active_of(s->jobs[i]);
        if (!on_node(a, node))
            continue;
        sim_rollback(s, a);
        st = check_luck(s, a);
        if (st != SHOAL_OK)
            return st;
        sim_release(s, a, s->now_s);
        a->job.lease_until_s = s->now_s;
        st = sim_journal_job(s, s->now_s, "job.stopped", a, "node failure");
    }
    return st == SHOAL_OK ? push(s, node, s->opts->how.node_repair_s) : st;
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
            s->nodes_up++;
            st = sim_journal_node(s, s->now_s, "node.up", node);
            if (st == SHOAL_OK)
                st = push(s, node, s->opts->how.node_mtbf_s);
        }
        if (st == SHOAL_E_NOMEM)
            return base_err_nomem(s->err, "simulating node failures");
        if (st != SHOAL_OK)
            return st;
    }
    return SHOAL_OK;
}
