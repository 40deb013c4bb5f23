/* detail.c - where each job's time went: waiting by reason, GPU time by number of servers, what
 * being spread or beside others cost; and the speed that places leave a job.
 *
 * The speed of a job follows from where it and others lie when a plan has been carried out, and
 * holds until the next: a neighbour that ends in between is felt until then. Nothing is counted
 * anew while nobody's places change. Sums are kept in double and handed over as float when the job
 * ends. */
#include "sim/state.h"

#include "base/assert.h"
#include <string.h>

shoal_status sim_detail_init(struct sim_state *s)
{
    sched_spread_init(&s->spread, s->cluster);
    s->places_changed = true;
    s->watch_places = s->opts->interference > 0 || s->opts->neighbours || s->opts->details;
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
    if (o->interference > 0 && al->place_count > 1 && meets(s->node_span, al))
        speed = 1 - o->interference;
    if (o->spread && a->spread)
        speed *= sched_spread_factor(2, 1);
    if (o->neighbours && a->beside)
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

void sim_detail_hold(struct sim_state *s, struct sim_active *a, double seconds, double worked_s)
{
    struct sim_metrics *m = &s->result->metrics;
    double gpu_s = seconds * a->job.alloc.gpus;
    double slow = worked_s * a->job.alloc.gpus * (1 - (double)a->slow);

    m->slow_gpu_s += slow;
    m->spread_gpu_s += a->spread ? gpu_s : 0;
    if (!s->opts->details)
        return;
    a->sums.gpu_s[servers_bin(a->job.alloc.place_count)] += gpu_s;
    a->sums.spread_gpu_s += a->spread ? gpu_s : 0;
    a->sums.beside_gpu_s += a->beside ? gpu_s : 0;
    a->sums.slow_gpu_s += slow;
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
