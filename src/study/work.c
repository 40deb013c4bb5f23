/* work.c - the jobs of a trace under the guidelines that change them, with books. */
#include "study/work.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/rand.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

bool study_trial_catches(const struct study_fate *fate, double trial_s)
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
        if (study_trial_catches(fate, trial_s)) {
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
