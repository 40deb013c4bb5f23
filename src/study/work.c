/* work.c - how each job of a trace ended, drawn, and the jobs under the guidelines that change them, with books.
 *
 * Failures: problem. The recorded times of a trace are what they are, and failures have typical times: a job
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
#include "study/work.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/rand.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

void study_failures_draw(const struct study_jobs *jobs, uint32_t how, uint64_t seed,
                         struct study_fate *fates)
{
    struct chances c; /* about 27 KB */

    for (size_t i = 0; i < jobs->count; i++)
        fates[i] = (struct study_fate){.fail_class = STUDY_PASSED,
                                       .attempts = 1,
                                       .passes = true,
                                       .first_s = jobs->jobs[i].run_s,
                                       .useful_s = jobs->jobs[i].run_s};
    if (how == SHOAL_STUDY_FAILURES_NONE)
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

/* ---- what is run ---- */

bool study_trial_has(const struct study_job *job)
{
    return job->gpus >= 2;
}

double study_trial_runs_s(const struct study_fate *fate, double trial_s)
{
    return fmin(fate->first_s, trial_s);
}

static bool comes_back(const struct study_fate *fate)
{
    return fate->fail_class != STUDY_PASSED && !study_classes[fate->fail_class].retry;
}

static bool trial_catches(const struct study_fate *fate, double trial_s)
{
    return comes_back(fate) && fate->first_s <= trial_s;
}

static int by_submit(const void *pa, const void *pb)
{
    const struct study_part *a = pa, *b = pb;

    if (a->submit_s != b->submit_s)
        return a->submit_s < b->submit_s ? -1 : 1;
    return (a->job > b->job) - (a->job < b->job);
}

/* What is left of one job's time, and where the rest went. Returns the seconds to run, 0: none. */
static double change_job(const struct study_job *job, const struct study_fate *fate,
                         uint32_t changes, double trial_s, struct study_books *books)
{
    double run = job->run_s, gpus = job->gpus;

    books->recorded_gpu_s += job->run_s * gpus;
    if ((changes & STUDY_RETRY_ONLY) != 0 && comes_back(fate) && fate->attempts > 1) {
        run = fate->first_s;
        books->cut++;
    }
    if ((changes & STUDY_TRIALS) != 0 && study_trial_has(job)) {
        books->trial_gpu_s += study_trial_runs_s(fate, trial_s);
        if (trial_catches(fate, trial_s)) {
            run = 0;
            books->caught++;
        }
    }
    double useful = fate->useful_s; /* nobody who passes is cut */
    books->saved_gpu_s += (job->run_s - run) * gpus;
    books->useful_gpu_s += useful * gpus;
    books->lost_gpu_s += (run - useful) * gpus;
    return run;
}

static shoal_status begin(struct study_work *work, const struct base_alloc *alloc, size_t count)
{
    *work = (struct study_work){.alloc = alloc};
    work->parts = base_calloc(alloc, count + 1, sizeof *work->parts);
    return work->parts == NULL ? SHOAL_E_NOMEM : SHOAL_OK;
}

shoal_status study_work_init(struct study_work *work, const struct base_alloc *alloc,
                             const struct study_jobs *jobs, const struct study_fate *fates,
                             uint32_t changes, double trial_s, const double *trial_end_s)
{
    struct study_work w;

    if (begin(&w, alloc, jobs->count) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < jobs->count; i++) {
        const struct study_job *job = &jobs->jobs[i];
        double run = change_job(job, &fates[i], changes, trial_s, &w.books);
        bool tried = (changes & STUDY_TRIALS) != 0 && study_trial_has(job);
        if (run > 0)
            w.parts[w.count++] =
                (struct study_part){.job = (uint32_t)i,
                                    .submit_s = tried ? trial_end_s[i] : job->submit_s,
                                    .run_s = run};
    }
    qsort(w.parts, w.count, sizeof *w.parts, by_submit);
    *work = w;
    return SHOAL_OK;
}

shoal_status study_work_init_trials(struct study_work *work, const struct base_alloc *alloc,
                                    const struct study_jobs *jobs, const struct study_fate *fates,
                                    double trial_s)
{
    struct study_work w;

    if (begin(&w, alloc, jobs->count) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < jobs->count; i++)
        if (study_trial_has(&jobs->jobs[i])) {
            w.parts[w.count++] =
                (struct study_part){.job = (uint32_t)i,
                                    .submit_s = jobs->jobs[i].submit_s,
                                    .run_s = study_trial_runs_s(&fates[i], trial_s)};
            w.books.trial_gpu_s += study_trial_runs_s(&fates[i], trial_s);
        }
    *work = w; /* in the order of the jobs, which is that of submission */
    return SHOAL_OK;
}

void study_work_fini(struct study_work *work)
{
    if (work->alloc != NULL)
        base_free(work->alloc, work->parts);
    *work = (struct study_work){0};
}

void study_work_shift(struct study_work *work, uint64_t seed, double most_s)
{
    struct base_rand rand;

    base_rand_init(&rand, seed, "study-shift");
    for (size_t i = 0; i < work->count; i++)
        work->parts[i].submit_s += base_rand_range(&rand, 0, most_s);
    qsort(work->parts, work->count, sizeof *work->parts, by_submit);
}

/* ---- as a trace ---- */

static shoal_status add_groups(struct sim_trace *trace, const struct study_jobs *jobs)
{
    uint32_t groups = 0;

    for (size_t i = 0; i < jobs->count; i++)
        groups = jobs->jobs[i].group + 1 > groups ? jobs->jobs[i].group + 1 : groups;
    for (uint32_t g = 0; g < groups; g++) {
        char name[16];
        uint32_t index;
        int length = snprintf(name, sizeof name, "g%u", g);
        shoal_status st = sim_names_add(&trace->groups, name, (size_t)length, &index);
        if (st != SHOAL_OK)
            return st;
    }
    return SHOAL_OK;
}

static shoal_status add_jobs(struct sim_trace *trace, const struct study_work *work,
                             const struct study_jobs *jobs, uint32_t gpus)
{
    for (size_t i = 0; i < work->count; i++) {
        const struct study_part *part = &work->parts[i];
        const struct study_job *job = &jobs->jobs[part->job];
        struct sim_job row = {.name = job->name,
                              .submit_s = part->submit_s,
                              .duration_s = part->run_s,
                              .steps = NAN,
                              .weight = 1,
                              .deadline_s = INFINITY,
                              .gpus = gpus != 0 ? gpus : job->gpus,
                              .model = SIM_NONE,
                              .group = job->group,
                              .app = SIM_NONE,
                              .work = SIM_WORK_DURATION,
                              .adapt = SIM_ADAPT_NONE,
                              .slo = NAN,
                              .score = NAN};
        shoal_status st = sim_trace_add(trace, &row);
        if (st != SHOAL_OK)
            return st;
    }
    sim_trace_finish(trace);
    return SHOAL_OK;
}

shoal_status study_work_trace(shoal_env *env, const struct study_work *work,
                              const struct study_jobs *jobs, uint32_t gpus,
                              const struct sched_cluster *cluster, struct sim_trace **out_trace,
                              shoal_err *err)
{
    struct sim_trace *trace = NULL;

    if (sim_trace_new(env_alloc(env), &trace) != SHOAL_OK)
        return base_err_nomem(err, "preparing a simulation");
    shoal_status st = add_groups(trace, jobs);
    if (st == SHOAL_OK)
        st = add_jobs(trace, work, jobs, gpus);
    if (st == SHOAL_OK)
        st = sim_trace_bind(env, trace, cluster, NULL, err);
    else
        base_err(err, st, "cannot prepare a simulation: %s", shoal_status_text(st));
    for (size_t i = 0; st == SHOAL_OK && i < trace->job_count; i++)
        trace->jobs[i].kinds &= jobs->jobs[work->parts[i].job].kinds;
    if (st != SHOAL_OK) {
        sim_trace_free(trace);
        return st;
    }
    *out_trace = trace;
    return SHOAL_OK;
}
