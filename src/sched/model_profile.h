/* model_profile.h - profiled step times and gradient statistics, as published with Pollux and Sia.
 *
 * Step time comes from measured placements, and between them by interpolation; progress from the
 * gradient noise measured per epoch at several batch sizes. Built by src/sim/profile.c, immutable
 * afterwards; any thread. */
#ifndef SCHED_MODEL_PROFILE_H
#define SCHED_MODEL_PROFILE_H

#include "sched/model.h"

/* Step and synchronisation time at increasing per-GPU batch sizes, for one placement or one (nodes,
 * gpus). */
struct sched_profile_column {
    uint64_t placement; /* digits, GPUs per node, smallest rotation; 0 for (nodes, gpus) columns */
    uint32_t nodes, gpus;
    uint32_t count;
    const double *local; /* increasing */
    const double *step_s, *sync_s;
};

struct sched_profile_kind {
    const struct sched_profile_column *placements; /* sorted by placement */
    uint32_t placement_count;
    const struct sched_profile_column *columns; /* sorted by (gpus, nodes) */
    uint32_t column_count;
    uint32_t local_min, local_max, nodes_max;
};

struct sched_profile {
    const char *name;
    uint32_t batch_initial, batch_max;
    uint32_t local_min, gpus_max; /* smallest batch and most GPUs that were measured */
    uint32_t epochs;
    const double *progress_end; /* (epochs): progress at the end of each */
    uint32_t validated_count;
    const uint32_t *validated;         /* batch sizes, increasing */
    const double *grad_sqr, *grad_var; /* (validated_count, epochs) */
    struct sched_profile_kind
        kinds[SCHED_KINDS_MAX]; /* by cluster kind; column_count 0: not profiled */
};

/* The whole training of `profile` with this total batch. */
struct sched_model sched_model_profile(const struct sched_profile *profile, uint32_t batch);

/* Step and synchronisation time on a placement (GPUs per node, in order of allocation) with this
 * per-GPU batch. False when the profile has nothing to interpolate from. */
bool sched_profile_step(const struct sched_profile_kind *kind, const struct sched_place *places,
                        uint32_t place_count, double local, double *out_step_s, double *out_sync_s);

#endif
