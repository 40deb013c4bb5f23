/* gen.h - seeded workloads from published distributions, one job at a time in order of submission.
 *
 * Same options and seed: same jobs. Draws come from separate streams (arrivals, durations, sizes,
 * models, groups), so that changing one option does not reshuffle the rest. Memory is constant,
 * whatever the number of jobs. Owner thread only. */
#ifndef SIM_GEN_H
#define SIM_GEN_H

#include "base/rand.h"
#include "sim/row.h"
#include "sim/throughput.h"

enum sim_gen_shape {
    SIM_GEN_GAVEL,       /* single GPUs */
    SIM_GEN_GAVEL_MULTI, /* 1, 2, 4 and 8 GPUs */
    SIM_GEN_POLLUX,
    SIM_GEN_PHILLY,
    SIM_GEN_SHAPE_COUNT
};
extern const char *const sim_gen_shape_names[]; /* NULL-terminated */

/* 0 means "not given". Arrivals follow from rate_h, else load and gpus, else jobs and days, else a
 * load of 0.8 on 64 GPUs. The trace ends after `jobs` jobs or `days` days, whichever comes first;
 * with neither, after 1,000 jobs. */
struct sim_gen_opts {
    enum sim_gen_shape shape;
    uint64_t jobs;
    double rate_h; /* jobs per hour */
    double load;   /* GPU-hours submitted per hour, as a share of `gpus` */
    uint32_t gpus;
    double days;
    double duration_max_s; /* longer jobs are not drawn */
    uint32_t gpus_max;     /* larger jobs are not drawn */
    uint64_t seed;
    bool durations; /* Pollux's shape: plain durations in place of model and batch */
    const struct sim_throughput
        *throughput; /* Gavel's shapes: model and steps by its v100 rates; borrowed */
};

/* Values below this share of the draws are at most this long: piecewise log-uniform. */
struct sim_gen_knot {
    double share, value;
};

struct sim_gen {
    struct sim_gen_opts opts;
    struct base_rand arrivals, durations, sizes, models, groups;
    double rate_s;     /* jobs per second, mean over the day */
    double mean_gpu_h; /* of one job */
    double now_s;
    uint64_t made;
    uint32_t rows_of_size[4], row_lists[4][SCHED_TABLE_ROWS_MAX]; /* Gavel's rows by scale factor */
    char name[48], group[16], model[256];
};

/* SHOAL_E_INVAL with a reason when the options contradict each other or leave nothing to draw. */
SHOAL_MUST_USE shoal_status sim_gen_init(struct sim_gen *gen, const struct sim_gen_opts *opts,
                                         shoal_err *err);
/* The next job, or false after the last. Its strings are valid until the next call. */
bool sim_gen_next(struct sim_gen *gen, struct sim_row *out_row);
/* Says why a generator that ended made no job, and returns SHOAL_E_IMPOSSIBLE. */
shoal_status sim_gen_none(const struct sim_gen *gen, shoal_err *err);
/* The columns its rows fill, for row.h. */
uint32_t sim_gen_columns(const struct sim_gen *gen);

#endif
