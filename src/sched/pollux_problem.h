/* pollux_problem.h - what the `pollux` policy optimises: GPUs for jobs whose speed is known by number.
 *
 * Each job gets GPUs of one kind on some nodes, or none. Its speedup is its goodput next to that of
 * its fair share. Fitness is the power mean with exponent -1 of
 *
 *     x_j = scale speedup_j r_j + 1e-3,      r_j = 1 where it stays as it is, `again` where it does not
 *
 * over all jobs, by weight, so that the slowest count most; larger is better. A job's part depends on
 * its own GPUs alone, and of these on their kind, their number and whether they lie on one node or on
 * several: sched_pollux_cost is its weight / x, and fitness is the sum of weights / the sum of costs.
 *
 * Allowed is what fits the room of the nodes, `least` to `most` GPUs a job, and with `avoid` at most
 * one job on a node that spans nodes, as such jobs slow each other down.
 *
 * Two searches fill a sched_pollux_places: pollux_search.h and pollux_exact.h. Reference: Qiao et al.,
 * "Pollux: Co-adaptive Cluster Scheduling for Goodput-Optimized Deep Learning", OSDI 2021. */
#ifndef SCHED_POLLUX_PROBLEM_H
#define SCHED_POLLUX_PROBLEM_H

#include "base/arena.h"
#include "sched/model.h"
#include <math.h>

struct sched_pollux_job {
    uint32_t id;
    uint32_t least, most;   /* GPUs it may be given; equal: a gang */
    double weight;          /* > 0 */
    double again;           /* share of its speedup that counts when it starts or moves; 0 to 1 */
    struct sched_alloc now; /* what it holds, on nodes with room for it; place_count 0: nothing */
    const float *speedup;   /* (kinds, 2, most + 1): on one node, on several; 0: cannot run so */
};

struct sched_pollux_problem {
    const struct sched_cluster *cluster;
    const uint8_t *room; /* (nodes): GPUs to give */
    const bool *spanned; /* (nodes): by a job that is not among these and spans nodes */
    const struct sched_pollux_job *jobs; /* earlier ones come first where two want the same */
    uint32_t job_count;
    double scale; /* > 0 */
    bool avoid;
};

/* Places of job i: place[first[i]] .. place[first[i + 1]], nodes increasing. */
struct sched_pollux_places {
    size_t *first; /* (jobs + 1) */
    struct sched_place *place;
};

static inline double sched_pollux_speedup(const struct sched_pollux_job *j, uint32_t kind,
                                          uint32_t nodes, uint32_t gpus)
{
    return (double)j->speedup[(2 * (size_t)kind + (nodes > 1)) * (j->most + 1) + gpus];
}

/* Of a job on so many GPUs; 0 GPUs: it waits. */
static inline double sched_pollux_cost(const struct sched_pollux_problem *p,
                                       const struct sched_pollux_job *j, double speedup, bool stays)
{
    return j->weight / (p->scale * speedup * (stays ? 1 : j->again) + 1e-3);
}

/* Whether these are the places it holds. */
bool sched_pollux_stays(const struct sched_pollux_job *j, const struct sched_place *places,
                        size_t count);

/* Room for any answer; false: out of memory. */
bool sched_pollux_places_init(struct sched_pollux_places *places, struct base_arena *arena,
                              const struct sched_pollux_problem *p);

#endif
