/* detail.c - where the time of jobs went, what they were promised of each kind and got, and what nodes cost where the
 * policy sizes the cluster. Tests: tests/unit/sim/test_detail.c, test_shares.c, test_rent.c.
 *
 * Where each job's time went: waiting by reason, GPU time by number of servers, what
 * being spread or beside others cost; and the speed that places leave a job.
 *
 * The speed of a job follows from where it and others lie when a plan has been carried out, and
 * holds until the next: a neighbour that ends in between is felt until then. Nothing is counted
 * anew while nobody's places change. Sums are kept in double and handed over as float when the job
 * ends. */
#include "sim/state.h"

#include "base/assert.h"
#include "base/err.h"
#include <math.h>
#include <string.h>

shoal_status sim_detail_init(struct sim_state *s)
{
    sched_spread_init(&s->spread, s->cluster);
    s->places_changed = true;
    s->watch_places = s->opts->how.interference > 0 || s->opts->how.neighbours || s->opts->details;
    s->node_multi = base_calloc(s->alloc, s->cluster->node_count, sizeof *s->node_multi);
    if (s->node_multi == NULL)
        return SHOAL_E_NOMEM;
    if (!s->opts->details)
        return SHOAL_OK;
    s->result->details = base_calloc(s->alloc, s->trace->job_count, sizeof *s->result->details);
    return s->result->details != NULL ? SHOAL_OK : SHOAL_E_NOMEM;
}

/* ---- speed by places ---- */

/* Jobs that span nodes, and jobs of several GPUs, on each node. */
static void count_nodes(struct sim_state *s)
{
    memset(s->node_span, 0, s->cluster->node_count * sizeof *s->node_span);
    memset(s->node_multi, 0, s->cluster->node_count * sizeof *s->node_multi);
    for (size_t i = 0; i < s->job_count; i++) {
        const struct sched_alloc *al = &s->jobs[i]->alloc;
        for (uint32_t p = 0; al->gpus > 1 && p < al->place_count; p++) {
            uint32_t node = al->places[p].node;
            s->node_multi[node]++;
            s->node_span[node] = (uint16_t)(s->node_span[node] + (al->place_count > 1));
        }
    }
}

/* Whether one of its nodes carries more than one of those counted. */
static bool meets(const uint16_t *counts, const struct sched_alloc *al)
{
    for (uint32_t p = 0; p < al->place_count; p++)
        if (counts[al->places[p].node] > 1)
            return true;
    return false;
}

void sim_detail_places(struct sim_state *s)
{
    if (s->watch_places && s->places_changed)
        count_nodes(s);
}

float sim_detail_speed(struct sim_state *s, struct sim_active *a)
{
    const struct sched_alloc *al = &a->job.alloc;
    const struct sim_opts *o = s->opts;
    double speed = 1;

    if (!s->places_changed)
        return a->slow;
    if (a->rate < 0) /* on new places */
        a->spread = al->place_count > 1 &&
                    al->place_count > sched_spread_fewest(&s->spread, al->kind, al->gpus);
    a->beside = s->watch_places && al->gpus > 1 && meets(s->node_multi, al);
    if (o->how.interference > 0 && al->place_count > 1 && meets(s->node_span, al))
        speed = 1 - o->how.interference;
    if (o->how.spread && a->spread)
        speed *= sched_spread_factor(2, 1);
    if (o->how.neighbours && a->beside)
        speed *= sched_neighbour_factor(al->place_count);
    return (float)speed;
}

/* ---- where time goes ---- */

static enum sim_wait wait_of(enum sched_reason reason)
{
    switch (reason) {
    case SCHED_WHY_FAIR_SHARE: return SIM_WAIT_FAIR_SHARE;
    case SCHED_WHY_LOCALITY: return SIM_WAIT_LOCALITY;
    case SCHED_WHY_CAPACITY:
    case SCHED_WHY_GANG: return SIM_WAIT_CAPACITY;
    default: return SIM_WAIT_OTHER;
    }
}

static uint32_t servers_bin(uint32_t servers)
{
    return servers <= 2 ? servers - 1 : servers <= 4 ? 2 : servers <= 8 ? 3 : 4;
}

void sim_detail_wait(struct sim_active *a, double seconds)
{
    a->sums.wait_s[wait_of((enum sched_reason)a->reason)] += seconds;
}

void sim_detail_hold_more(struct sim_active *a, double gpu_s, double slow, uint64_t times)
{
    sim_add(&a->sums.gpu_s[servers_bin(a->job.alloc.place_count)], gpu_s, times);
    sim_add(&a->sums.spread_gpu_s, a->spread ? gpu_s : 0, times);
    sim_add(&a->sums.beside_gpu_s, a->beside ? gpu_s : 0, times);
    sim_add(&a->sums.slow_gpu_s, slow, times);
}

void sim_detail_end(struct sim_state *s, const struct sim_active *a)
{
    if (s->result->details == NULL)
        return;
    struct sim_job_detail *d = &s->result->details[a->job.id];
    for (size_t i = 0; i < SIM_WAIT_COUNT; i++)
        d->wait_s[i] = (float)a->sums.wait_s[i];
    for (size_t i = 0; i < SIM_SERVERS_COUNT; i++)
        d->gpu_s[i] = (float)a->sums.gpu_s[i];
    d->spread_gpu_s = (float)a->sums.spread_gpu_s;
    d->beside_gpu_s = (float)a->sums.beside_gpu_s;
    d->slow_gpu_s = (float)a->sums.slow_gpu_s;
    d->moves = a->moves;
    d->preempted = a->preempted;
}

/* ---- shares ----
 *
 * What each job was promised of each kind, and what it got.
 *
 * A policy that solves for shares says at every decision which share of the time each job should
 * spend on each kind (plan.h). A share holds from its decision to the next one, or to the end of the
 * job; the time a job wanted is the integral of its shares, in seconds. The time it received is the
 * time it held GPUs of the kind, restarts included, alone or with a partner; it is known under every
 * policy, and over all kinds it is the time the job ran. A decision that says nothing leaves the
 * shares as they were.
 *
 * Memory: three rows of kinds per live job, recycled with it, and a row or two per job of the trace
 * in the result. Cost: O(live jobs x kinds) per decision of a policy that promises shares, else
 * nothing but one addition per job and stretch. */

shoal_status sim_shares_init(struct sim_state *s)
{
    const struct sim_opts *o = s->opts;

    s->keep_shares = o->record || o->shares || o->on_event != NULL;
    if (!o->record && !o->shares)
        return SHOAL_OK; /* the events carry them */
    s->result->received_s = base_calloc(s->alloc, s->trace->job_count * s->cluster->kind_count + 1,
                                        sizeof *s->result->received_s);
    return s->result->received_s != NULL ? SHOAL_OK : SHOAL_E_NOMEM;
}

shoal_status sim_shares_join(struct sim_state *s, struct sim_active *a)
{
    size_t count = 3 * (size_t)s->cluster->kind_count;

    if (!s->keep_shares)
        return SHOAL_OK;
    if (a->shares == NULL)
        a->shares = base_arena_alloc(&s->actives, count * sizeof *a->shares);
    if (a->shares == NULL)
        return SHOAL_E_NOMEM;
    memset(a->shares, 0, count * sizeof *a->shares);
    return SHOAL_OK;
}

/* Counts what the job wants up to `when_s`. */
static void settle(struct sim_active *a, uint32_t kinds, double when_s)
{
    double seconds = when_s - a->shares_since_s;

    for (uint32_t k = 0; k < kinds; k++)
        a->shares[kinds + k] += a->shares[k] * seconds;
    a->shares_since_s = when_s;
}

shoal_status sim_shares_decided(struct sim_state *s)
{
    const float *wanted = s->keep_shares ? sched_plan_wanted(s->plan) : NULL;
    uint32_t kinds = s->cluster->kind_count;

    if (wanted == NULL)
        return SHOAL_OK;
    if (s->result->wanted_s == NULL && s->result->received_s != NULL) {
        s->result->wanted_s =
            base_calloc(s->alloc, s->trace->job_count * kinds + 1, sizeof *s->result->wanted_s);
        if (s->result->wanted_s == NULL)
            return base_err_nomem(s->err, "recording the run");
    }
    s->promises = true;
    for (size_t i = 0; i < s->job_count; i++, wanted += kinds) {
        struct sim_active *a = sim_active_of(s->jobs[i]);
        settle(a, kinds, s->now_s);
        for (uint32_t k = 0; k < kinds; k++)
            a->shares[k] = isfinite(wanted[k]) ? (double)wanted[k] : 0;
    }
    return SHOAL_OK;
}

void sim_shares_pause(struct sim_state *s, struct sim_active *a, double when_s)
{
    if (a->shares == NULL)
        return;
    settle(a, s->cluster->kind_count, when_s);
    memset(a->shares, 0, s->cluster->kind_count * sizeof *a->shares);
}

void sim_shares_end(struct sim_state *s, struct sim_active *a)
{
    uint32_t kinds = s->cluster->kind_count;
    double gap = 0, sum = 0;

    if (a->shares == NULL)
        return;
    settle(a, kinds, a->end_s);
    const double *wanted = a->shares + kinds, *received = wanted + kinds;
    for (uint32_t k = 0; k < kinds; k++) {
        size_t at = (size_t)a->job.id * kinds + k;
        if (s->result->received_s != NULL)
            s->result->received_s[at] = (float)received[k];
        if (s->result->wanted_s != NULL)
            s->result->wanted_s[at] = (float)wanted[k];
        gap += fabs(wanted[k] - received[k]);
        sum += wanted[k] + received[k];
    }
    if (s->promises && !a->failed && !a->stopped && sum > 0) {
        s->share_error += gap / sum;
        s->share_jobs++;
    }
}

void sim_shares_finish(struct sim_state *s)
{
    s->result->metrics.share_error =
        s->share_jobs > 0 ? s->share_error / (double)s->share_jobs : NAN;
}

/* ---- rent ----
 *
 * What a cluster costs that grows and shrinks: under a policy that sizes it, its nodes are paid
 * for while they are wanted, used or not.
 *
 * A policy says how many nodes it wants (plan.h), not which: those that jobs are on, and of the others
 * that are up as many as are missing, in the order of the cluster. They hold until the next decision
 * or node event; while no job is live none is wanted. Every GPU of a node costs its kind's price. Cost:
 * O(nodes + places) a decision. */

static double price_of(const struct sim_state *s, uint32_t kind, double from_s, double to_s)
{
    double price = s->opts->prices != NULL ? sim_prices_mean(s->opts->prices, kind, from_s, to_s)
                                           : s->cluster->kinds[kind].usd_gpu_h;

    return price >= 0 ? price : NAN;
}

/* Of some time with what is rented now. */
static double cost_usd(const struct sim_state *s, double from_s, double to_s)
{
    double sum = 0;

    for (uint32_t k = 0; k < s->cluster->kind_count && to_s > from_s; k++)
        if (s->rented[k] > 0)
            sum += s->rented[k] * (to_s - from_s) / 3600 * price_of(s, k, from_s, to_s);
    return sum;
}

static void rent(struct sim_state *s, uint32_t node)
{
    s->rented[s->cluster->nodes[node].kind] += s->cluster->nodes[node].gpus;
}

void sim_rent_renew(struct sim_state *s)
{
    const struct sched_cluster *c = s->cluster;
    uint32_t wanted = s->nodes_wanted < s->nodes_up ? s->nodes_wanted : s->nodes_up, used = 0;

    if (s->nodes_wanted == SIM_NONE)
        return;
    memset(s->rented, 0, sizeof s->rented);
    memset(s->node_used, 0, c->node_count * sizeof *s->node_used);
    for (size_t i = 0; i < s->job_count; i++) {
        const struct sched_alloc *a = &s->jobs[i]->alloc;
        for (uint32_t p = 0; p < a->place_count; p++)
            s->node_used[a->places[p].node] = true;
    }
    for (uint32_t n = 0; n < c->node_count; n++)
        if (s->node_used[n]) {
            rent(s, n);
            used++;
        }
    for (uint32_t n = 0; n < c->node_count && used < wanted; n++)
        if (s->node_up[n] && !s->node_used[n]) {
            rent(s, n);
            used++;
        }
}

void sim_rent_pass(struct sim_state *s, double to_s, uint64_t times)
{
    if (s->nodes_wanted != SIM_NONE && s->job_count > 0)
        sim_add(&s->rent_usd, cost_usd(s, s->up_since_s, to_s), times);
}

void sim_rent_end(struct sim_state *s, double when_s)
{
    if (s->nodes_wanted != SIM_NONE)
        s->rent_last_usd = s->rent_usd - cost_usd(s, when_s, s->up_since_s);
}
