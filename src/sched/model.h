/* model.h - what is known about the speed of a job, behind one interface.
 *
 * A model answers two questions: how long one step takes on given places with a given
 * batch, and how much progress one step makes. Rate of progress is the quotient. Progress runs from
 * 0 to `work` in units of the model's choosing: seconds for plain durations, steps for throughput
 * tables, steps at the initial batch for profiled jobs. Sources: model.c (durations),
 * model_table.c, model_profile.c, one `const struct sched_model_ops` each.
 *
 * A model is a small value; the data behind it is immutable, borrowed, and outlives it. Any thread.
 */
#ifndef SCHED_MODEL_H
#define SCHED_MODEL_H

#include "sched/cluster.h"

struct sched_place {
    uint32_t node;
    uint32_t gpus;
};

/* The places a job holds: one kind, `gpus` in all, in the order they were given. place_count 0:
 * holds nothing. */
struct sched_alloc {
    const struct sched_place *places;
    uint32_t place_count;
    uint32_t gpus;
    uint16_t kind;
};

struct sched_batch {
    uint32_t local;  /* examples per GPU in one forward-backward pass */
    uint32_t passes; /* passes per step: accumulation steps + 1 */
};

struct sched_model_ops;

struct sched_model {
    const struct sched_model_ops *ops;
    const void *data; /* the table or profile, NULL for durations */
    double work;      /* progress at which the job ends, > 0 */
    uint32_t row;     /* which row of `data` */
    uint32_t batch;   /* total batch wanted; 0: the model's own */
};

/* What a job would measure of itself, and what limits it. */
struct sched_observed {
    double pass_s, step_s; /* of a pass; of a step of one pass with its synchronisation */
    double grad_sqr, grad_var;
};
struct sched_limits {
    uint32_t batch_initial, batch_max, local_min, gpus_max;
    uint32_t local_max[SCHED_KINDS_MAX];
    uint32_t kind_gpus_max[SCHED_KINDS_MAX]; /* of that kind; 0: as gpus_max */
};

struct sched_model_ops {
    const char *name;
    /* Finish times of stretches of constant rate are rounded to this; 0: not rounded. Profiled jobs
     * use whole seconds, as the published results they reproduce do. */
    double tick_s;
    /* Batch the job uses on these places; NULL: {1, 1}. */
    struct sched_batch (*choose_batch)(const struct sched_model *m, const struct sched_alloc *a);
    /* Seconds per step; INFINITY where it cannot run. `partner` (or NULL) shares the same GPUs. */
    double (*time_per_step)(const struct sched_model *m, const struct sched_alloc *a,
                            struct sched_batch batch, const struct sched_model *partner);
    /* Progress per step at `progress`, and the progress at which it may change (at most work). */
    double (*progress_per_step)(const struct sched_model *m, const struct sched_alloc *a,
                                struct sched_batch batch, double progress, double *out_until);
    /* Of jobs that can adapt; NULL: they cannot. */
    void (*limits)(const struct sched_model *m, struct sched_limits *out);
    bool (*observe)(const struct sched_model *m, const struct sched_alloc *a,
                    struct sched_batch batch, double progress, struct sched_observed *out);
};

/* Runs at its own speed wherever it is placed: progress is seconds. */
struct sched_model sched_model_duration(double seconds);

/* Progress per second on the given places at the given progress; 0 where it cannot run. */
double sched_model_rate(const struct sched_model *m, const struct sched_alloc *a,
                        const struct sched_model *partner, double progress, double *out_until);

/* Seconds to go from `progress` to the end on the places `gpus` GPUs would get on an empty cluster
 * of this kind; INFINITY where it cannot run. Used for remaining time and for the fair share a job
 * is measured against. */
double sched_model_ideal_s(const struct sched_model *m, const struct sched_cluster *c,
                           uint32_t kind, uint32_t gpus, double progress);

/* Seconds per step on those places, alone (partner NULL) or with another job on the same GPUs;
 * INFINITY where it cannot run. */
double sched_model_ideal_step_s(const struct sched_model *m, const struct sched_cluster *c,
                                uint32_t kind, uint32_t gpus, const struct sched_model *partner);

/* The kind on which `gpus` GPUs finish first, among the kinds in `mask`; -1 when it can run on
 * none. */
int sched_model_best_kind(const struct sched_model *m, const struct sched_cluster *c, uint32_t mask,
                          uint32_t gpus);

#endif
