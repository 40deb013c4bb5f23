/* failures.c - draws how each job of a trace ended.
 *
 * Problem. The recorded times of a trace are what they are, and failures have typical times: a job
 * of 40 s is more likely a mistyped path than a job of a week. So the class of a job is drawn given
 * its size and its recorded time. For each size, class c shall be met by the share of jobs that its
 * row says, and among them rather by jobs whose attempts would have taken a time that is likely for
 * c.
 *
 * Method. Jobs of one size are counted by the logarithm of their recorded time, in quarters of an
 * octave. The weight of class c in bin b is the density of its log-normal time to failure at the
 * time one attempt of such a job takes (recorded time over the mean number of attempts of c). The
 * chance of c in b is k_c times that weight, at most CHANCE_MAX for all classes of a bin together;
 * the k_c are found by a few dozen steps of k_c *= wanted / expected, so that the expected number
 * of jobs is the share of the row where the cap allows. Cost: bins x classes x steps, then one draw
 * per job.
 *
 * What a failed job's time was made of: an error that comes back takes the same time in every
 * attempt; attempts of others have independent times, exponential before they are scaled to the
 * recorded sum.
 *
 * Where the numbers come from. Classes, median and 90th percentile of the time to failure, attempts
 * per job and the share of jobs of each are about those of the study's table of failures, recalled
 * and rounded, and no measurement of ours. That shares grow with the number of GPUs is the study's
 * finding; by how much is our choice. How many of the jobs that could pass do is our choice, too.
 *
 * Reference: Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training
 * Workloads", ATC 2019, arXiv 1901.05758. */
#include "study/failures.h"

#include "base/assert.h"
#include "base/rand.h"
#include <math.h>
#include <stdio.h>

enum { BINS = 256, STEPS = 60, BINS_PER_OCTAVE = 4, BIN_OF_1_S = 80 };

static const double CHANCE_MAX = 0.9, WEIGHT_MIN = 1e-12;

#define MIN 60.0

/* clang-format off */
const struct study_class study_classes[STUDY_CLASSES] = {
    {"wrong input", "a path, format or value of the input is wrong",
     {0.049, 0.060, 0.070, 0.075}, 2 * MIN, 400 * MIN, 2.0, 0, STUDY_USER, false},
    {"host memory", "the process runs out of CPU memory",
     {0.028, 0.034, 0.040, 0.043}, 13 * MIN, 34 * MIN, 4.0, 0, STUDY_USER, false},
    {"crash", "core dump or bad memory access",
     {0.030, 0.036, 0.042, 0.045}, 1 * MIN, 200 * MIN, 1.8, 0, STUDY_USER, false},
    {"semantic error", "versions or calls that do not go together",
     {0.020, 0.026, 0.030, 0.032}, 3 * MIN, 380 * MIN, 1.4, 0, STUDY_USER, false},
    {"syntax or import", "a script that does not parse, a library or right that is missing",
     {0.013, 0.013, 0.013, 0.013}, 0.6 * MIN, 5 * MIN, 1.3, 0, STUDY_USER, false},
    {"GPU memory", "the model does not fit the GPU",
     {0.003, 0.004, 0.005, 0.005}, 18 * MIN, 350 * MIN, 1.9, 0, STUDY_USER, false},
    {"CUDA failure", "the GPU's runtime fails",
     {0.006, 0.008, 0.010, 0.012}, 1.3 * MIN, 20 * MIN, 2.6, 0.2, STUDY_UNKNOWN, true},
    {"no signature", "the log says nothing that is known",
     {0.007, 0.007, 0.008, 0.009}, 2 * MIN, 28 * MIN, 2.4, 0.2, STUDY_UNKNOWN, true},
    {"checkpoint", "a checkpoint or the file system (HDFS) fails",
     {0.008, 0.020, 0.045, 0.070}, 180 * MIN, 3700 * MIN, 2.1, 0.4, STUDY_INFRASTRUCTURE, true},
    {"MPI runtime", "communication between the processes fails",
     {0.001, 0.012, 0.040, 0.080}, 1400 * MIN, 13800 * MIN, 1.3, 0.4, STUDY_INFRASTRUCTURE, true},
    {"GPU or node", "ECC errors of a GPU, loss of a node",
     {0.0005, 0.001, 0.003, 0.008}, 27 * MIN, 670 * MIN, 1.2, 0.6, STUDY_INFRASTRUCTURE, true},
};
/* clang-format on */

const char *study_cause_name(enum study_cause cause)
{
    static const char *const names[] = {[STUDY_USER] = "user",
                                        [STUDY_INFRASTRUCTURE] = "infrastructure",
                                        [STUDY_UNKNOWN] = "unknown"};

    shoal_assert((size_t)cause < BASE_COUNT(names));
    return names[cause];
}

/* ---- chances ---- */

static uint32_t bin_of(double seconds)
{
    double bin = floor(BINS_PER_OCTAVE * log2(seconds)) + BIN_OF_1_S;

    return bin < 0 ? 0 : bin > BINS - 1 ? BINS - 1 : (uint32_t)bin;
}

static double bin_middle_s(uint32_t bin)
{
    return exp2(((double)bin - BIN_OF_1_S + 0.5) / BINS_PER_OCTAVE);
}

/* Of one size: chance of each class by bin, and room to find it in. */
struct chances {
    double count[BINS];
    double weight[BINS][STUDY_CLASSES];
    double scale[STUDY_CLASSES];
};

static void set_weights(struct chances *c)
{
    for (uint32_t b = 0; b < BINS; b++)
        for (uint32_t k = 0; k < STUDY_CLASSES; k++) {
            const struct study_class *row = &study_classes[k];
            double sigma = log(row->p90_s / row->median_s) / 1.2816; /* 90 % of a normal */
            double z = log(bin_middle_s(b) / row->attempts / row->median_s) / sigma;
            c->weight[b][k] = fmax(exp(-z * z / 2), WEIGHT_MIN);
        }
}

/* The chances of all classes in a bin, into `out`; they sum to CHANCE_MAX at most. */
static void bin_chances(const struct chances *c, uint32_t bin, double out[STUDY_CLASSES])
{
    double sum = 0;

    for (uint32_t k = 0; k < STUDY_CLASSES; k++) {
        out[k] = c->scale[k] * c->weight[bin][k];
        sum += out[k];
    }
    for (uint32_t k = 0; k < STUDY_CLASSES && sum > CHANCE_MAX; k++)
        out[k] *= CHANCE_MAX / sum;
}

static void fit_scales(struct chances *c, uint32_t size, double jobs)
{
    for (uint32_t k = 0; k < STUDY_CLASSES; k++)
        c->scale[k] = study_classes[k].share[size];
    for (int step = 0; step < STEPS && jobs > 0; step++) {
        double expected[STUDY_CLASSES] = {0};
        for (uint32_t b = 0; b < BINS; b++) {
            double chance[STUDY_CLASSES];
            if (c->count[b] == 0)
                continue;
            bin_chances(c, b, chance);
            for (uint32_t k = 0; k < STUDY_CLASSES; k++)
                expected[k] += c->count[b] * chance[k];
        }
        for (uint32_t k = 0; k < STUDY_CLASSES; k++)
            if (expected[k] > 0)
                c->scale[k] *= jobs * study_classes[k].share[size] / expected[k];
    }
}

/* ---- draws ---- */

/* 1 + a geometric number with the mean of the row, STUDY_ATTEMPTS_MAX at most. */
static uint8_t draw_attempts(struct base_rand *r, const struct study_class *row)
{
    double more = (row->attempts - 1) / row->attempts; /* chance of one more */
    uint32_t n = 1;

    while (n < STUDY_ATTEMPTS_MAX && base_rand_unit(r) < more)
        n++;
    return (uint8_t)n;
}

/* Cuts the recorded time into attempts. A job that passes has one attempt at least that did not. */
static void draw_times(struct base_rand *r, const struct study_job *job, struct study_fate *fate)
{
    double sum = 0, first = 0, last = 0;

    if (!study_classes[fate->fail_class].retry) {
        fate->first_s = job->run_s / fate->attempts;
        return;
    }
    for (uint32_t i = 0; i < fate->attempts; i++) {
        last = base_rand_exp(r, 1) + 1e-9;
        first = i == 0 ? last : first;
        sum += last;
    }
    fate->first_s = fate->attempts == 1 ? job->run_s : job->run_s * first / sum;
    if (fate->passes)
        fate->useful_s = job->run_s * last / sum;
}

static void draw_one(const struct study_job *job, const struct chances *c, uint64_t seed,
                     struct study_fate *fate)
{
    char name[SIM_NAME_MAX + 32];
    double chance[STUDY_CLASSES];
    struct base_rand r;

    snprintf(name, sizeof name, "study-failure/%s", job->name);
    base_rand_init(&r, seed, name);
    double u = base_rand_unit(&r);
    bin_chances(c, bin_of(job->run_s), chance);
    for (uint32_t k = 0; k < STUDY_CLASSES; k++) {
        if (u >= chance[k]) {
            u -= chance[k];
            continue;
        }
        fate->fail_class = (uint8_t)k;
        fate->attempts = draw_attempts(&r, &study_classes[k]);
        fate->passes = base_rand_unit(&r) < study_classes[k].passes;
        if (fate->passes && fate->attempts == 1)
            fate->attempts = 2;
        fate->useful_s = 0;
        draw_times(&r, job, fate);
        return;
    }
}

void study_failures_draw(const struct study_jobs *jobs, enum study_failures how, uint64_t seed,
                         struct study_fate *fates)
{
    struct chances c; /* about 27 KB */

    for (size_t i = 0; i < jobs->count; i++)
        fates[i] = (struct study_fate){.fail_class = STUDY_PASSED,
                                       .attempts = 1,
                                       .passes = true,
                                       .first_s = jobs->jobs[i].run_s,
                                       .useful_s = jobs->jobs[i].run_s};
    if (how == STUDY_FAILURES_NONE)
        return;
    set_weights(&c);
    for (uint32_t size = 0; size < STUDY_SIZES; size++) {
        if (jobs->sizes[size] == 0)
            continue;
        for (uint32_t b = 0; b < BINS; b++)
            c.count[b] = 0;
        for (size_t i = 0; i < jobs->count; i++)
            if (study_size_of(jobs->jobs[i].gpus) == size)
                c.count[bin_of(jobs->jobs[i].run_s)]++;
        fit_scales(&c, size, (double)jobs->sizes[size]);
        for (size_t i = 0; i < jobs->count; i++)
            if (study_size_of(jobs->jobs[i].gpus) == size)
                draw_one(&jobs->jobs[i], &c, seed, &fates[i]);
    }
}
