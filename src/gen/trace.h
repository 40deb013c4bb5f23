/* trace.h - seeded workloads from published distributions, one job at a time in order of submission.
 *
 * Same options and seed: same jobs. Draws come from separate streams (arrivals, durations, sizes,
 * models, groups), so that changing one option does not reshuffle the rest. Memory is constant,
 * whatever the number of jobs: where the load is given the jobs are drawn twice, to know their number
 * and work before the first arrives. Owner thread only. */
#ifndef GEN_TRACE_H
#define GEN_TRACE_H

#include "base/rand.h"
#include "shoal/gen.h"
#include "sim/row.h"
#include "sim/bind.h"

/* Values below this share of the draws are at most this long: piecewise log-uniform. */
struct gen_trace_knot {
    double share, value;
};

/* A load is met within this share of it, unless the jobs of the shape are too large for that. */
#define GEN_TRACE_LOAD_ERROR 0.02

struct gen_trace {
    shoal_gen_trace_opts opts;
    const struct sim_throughput *throughput; /* of opts.profiles, borrowed; NULL: none */
    struct base_rand arrivals, durations, sizes, models, groups;
    double rate_s;     /* jobs per second, mean over the day */
    double mean_gpu_h; /* of one job */
    double now_s;
    uint64_t made;
    /* Where a load is asked for: how many jobs in which time, and the load they make. length_s 0:
     * jobs come at the rate until the end. */
    uint64_t planned;
    double length_s, load;
    double weighted_s, spent; /* of the length, by weights of hours; the part behind us, 0 to 1 */
    uint32_t rows_of_size[4], row_lists[4][SCHED_TABLE_ROWS_MAX]; /* Gavel's rows by scale factor */
    char name[48], group[16], model[256];
};

/* SHOAL_E_INVAL with a reason when the options contradict each other or leave nothing to draw. opts.profiles is
 * not read: `throughput` is what it names, model and steps by its v100 rates. */
SHOAL_MUST_USE shoal_status gen_trace_init(struct gen_trace *gen, const shoal_gen_trace_opts *opts,
                                           const struct sim_throughput *throughput, shoal_err *err);
/* The next job, or false after the last. Its strings are valid until the next call. */
bool gen_trace_next(struct gen_trace *gen, struct sim_row *out_row);
/* The columns its rows fill, for row.h. */
uint32_t gen_trace_columns(const struct gen_trace *gen);

#endif
