/* adapt.h - what is known about a job that can run on more GPUs or fewer, from what was measured.
 *
 * The driver of a job keeps this up to date from what the job reports (learn.h). A policy that sizes
 * jobs places them with sched_plan_place_as; the others place sched_job.gpus as always, and the job
 * keeps the batch it asked for. Goodput is in steps of the initial batch per second, the unit of
 * progress of profiled jobs; of jobs whose speed was fitted beforehand (model_fitted.h) it is their
 * progress per second at the level they are at. Immutable while a policy decides. */
#ifndef SCHED_ADAPT_H
#define SCHED_ADAPT_H

#include "sched/cluster.h"
#include "shoal/goodput.h"

struct sched_fitted;

struct sched_adapt_kind {
    uint32_t local_max; /* examples a pass that fit; 0: cannot run there */
    uint32_t gpus_seen; /* most that were measured there; 0: none */
    struct shoal_goodput_speed speed;
    uint32_t gpus_max; /* of this kind that it could ever use; 0: as sched_adapt.gpus_max */
};

struct sched_adapt {
    uint32_t gpus_max;                 /* that it could ever use */
    uint32_t batch_initial, batch_max; /* equal: its size is chosen, not its batch */
    uint32_t local_min;
    double grad_sqr, grad_var;
    uint64_t version;                    /* changes with all above, and with `kind` */
    const struct sched_adapt_kind *kind; /* by kind of the cluster */
    const struct sched_fitted *fitted;   /* NULL: measured; else batches and noise mean nothing */
    uint32_t level;                      /* of `fitted` */
};

/* What is known of a fitted job on any kind, at `level`. `kind` (kind_count) is filled too, and
 * borrowed. */
void sched_adapt_fitted(const struct sched_fitted *fitted, uint32_t level, uint32_t kind_count,
                        struct sched_adapt_kind *kind, struct sched_adapt *out);

/* Most GPUs of one kind that were measured; 0: nothing was. */
uint32_t sched_adapt_seen(const struct sched_adapt *adapt, uint32_t kind_count);

/* The best batch on so many GPUs of a kind, on so many nodes, as far as is known. Where a kind was
 * not tried with several GPUs their synchronisation takes as long as on the kind tried with the most;
 * a kind never tried is like that one altogether; before any measurement more GPUs are faster in
 * proportion. Never more than so many times one GPU, where that can run it. goodput 0: it cannot run
 * there. */
struct shoal_goodput_choice sched_adapt_choose(const struct sched_adapt *adapt, uint32_t kind_count,
                                               uint32_t kind, uint32_t nodes, uint32_t gpus);

#endif
