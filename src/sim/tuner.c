/* tuner.c - sweeps: jobs that are tried against each other, the worse of which are stopped early.
 *
 * Synchronous successive halving with rate eta (sim_opts.halving). A sweep of s jobs has
 * R = floor(log_eta s) rungs before the end; rung r lies at the share eta^(r - R) of each job's work.
 * A job that comes to its rung is parked: it holds no GPUs, no policy sees it, and the time does not
 * count as waiting. When all jobs of the sweep that are left are there, those still to arrive
 * included, the best ceil(n / eta) by score, but never all, go on to the next rung, and the others
 * end, stopped; ties go to the lower id. When one is left it goes on to its end. Jobs that fail for
 * good, or can never run here, are no longer waited for.
 *
 * A job on its way to a rung shows as one whose work ends there: work_told and model.work are the
 * rung's. What the sweep will still hand out after it is app_left, this job's part of it.
 *
 * Sweeps are the apps of the trace whose jobs all have scores, with more than one job; every app, also
 * when nothing is halved, has one id, that of its first job.
 *
 * Cost: a sort of its jobs at each rung of a sweep. Memory: one row an app.
 *
 * Reference: Jamieson and Talwalkar, "Non-stochastic Best Arm Identification and Hyperparameter
 * Optimization", AISTATS 2016. */
#include "sim/state.h"

#include "base/err.h"
#include <math.h>
#include <string.h>

struct sim_sweep {
    uint32_t first;       /* id of its first job */
    uint32_t left;        /* jobs that have not ended, those to come included */
    uint32_t rungs, rung; /* before the end, and the one jobs are on their way to; equal: the end */
    uint32_t parked_count;
    struct sim_active *parked; /* linked by next_free */
};

/* The share of its work at which a job's next rung lies. */
static double share_of(const struct sim_state *s, const struct sim_sweep *w, uint32_t rung)
{
    return rung < w->rungs ? pow(s->opts->how.halving, (double)rung - w->rungs) : 1;
}

static struct sim_sweep *sweep_of(const struct sim_state *s, uint32_t job)
{
    uint32_t app = s->trace->jobs[job].app;

    return app == SIM_NONE ? NULL : &s->sweeps[app];
}

shoal_status sim_tuner_init(struct sim_state *s)
{
    size_t apps = s->trace->apps.map.count;

    s->sweeps = base_calloc(s->alloc, apps + 1, sizeof *s->sweeps);
    bool *bare = base_calloc(s->alloc, apps + 1, sizeof *bare); /* has a job without a score */
    if (s->sweeps == NULL || bare == NULL) {
        base_free(s->alloc, bare);
        return SHOAL_E_NOMEM;
    }
    for (uint32_t i = 0; i < s->trace->job_count; i++) {
        struct sim_sweep *w = sweep_of(s, i);
        if (w == NULL)
            continue;
        if (w->left++ == 0)
            w->first = i;
        if (isnan(s->trace->jobs[i].score))
            bare[s->trace->jobs[i].app] = true;
    }
    for (size_t a = 0; a < apps; a++)
        if (s->opts->how.halving > 1 && !bare[a])
            s->sweeps[a].rungs =
                (uint32_t)(log(s->sweeps[a].left) / log(s->opts->how.halving) + 1e-9);
    base_free(s->alloc, bare);
    return SHOAL_OK;
}

void sim_tuner_fini(struct sim_state *s)
{
    size_t apps = s->sweeps != NULL ? s->trace->apps.map.count : 0;

    for (size_t i = 0; i < apps; i++)
        while (s->sweeps[i].parked != NULL) {
            struct sim_active *a = s->sweeps[i].parked;
            s->sweeps[i].parked = a->next_free;
            if (a->parked == SIM_PARKED) /* else it is still among the live ones */
                sim_retire(s, a);
        }
    base_free(s->alloc, s->sweeps);
}

/* Its work ends at this share of all of it. */
static void aim(const struct sim_state *s, struct sim_active *a, double share)
{
    double whole = sim_whole_work(s, a);

    a->job.work_told *= share * whole / a->job.model.work;
    a->job.model.work = share * whole;
}

void sim_tuner_join(struct sim_state *s, struct sim_active *a)
{
    const struct sim_sweep *w = sweep_of(s, a->job.id);

    if (w == NULL)
        return;
    a->job.app = w->first;
    if (w->rungs > 0)
        aim(s, a, share_of(s, w, w->rung));
}

bool sim_tuner_parks(const struct sim_state *s, const struct sim_active *a)
{
    const struct sim_sweep *w = sweep_of(s, a->job.id);

    return w != NULL && !a->failed && w->rung < w->rungs;
}

/* ---- rungs ---- */

/* How many of n at a rung go on: 1 in eta, and always fewer than came. */
static uint32_t kept(const struct sim_state *s, uint32_t n)
{
    uint32_t most = (uint32_t)ceil(n / s->opts->how.halving - 1e-9);

    return n > 1 && most >= n ? n - 1 : most;
}

static bool better(const struct sim_state *s, const struct sim_active *a,
                   const struct sim_active *b)
{
    double x = s->trace->jobs[a->job.id].score, y = s->trace->jobs[b->job.id].score;

    return x > y || (x == y && a->job.id < b->job.id);
}

/* Back among the live jobs, which stay in order. */
static shoal_status relist(struct sim_state *s, struct sim_active *a)
{
    size_t at = s->job_count;

    if (base_reserve(s->alloc, (void **)&s->jobs, &s->job_cap, s->job_count + 1, sizeof *s->jobs) !=
        0)
        return base_err_nomem(s->err, "simulating");
    while (at > 0 && s->jobs[at - 1]->id > a->job.id)
        at--;
    memmove(s->jobs + at + 1, s->jobs + at, (s->job_count - at) * sizeof *s->jobs);
    s->jobs[at] = &a->job;
    s->job_count++;
    return SHOAL_OK;
}

static shoal_status promote(struct sim_state *s, struct sim_active *a, double share, double when_s)
{
    shoal_status st = a->parked == SIM_PARKED ? relist(s, a) : SHOAL_OK;

    if (st != SHOAL_OK)
        return st;
    s->parked_gain -= a->job.progress / sim_whole_work(s, a);
    s->parked_count--;
    a->parked = SIM_NOT_PARKED;
    a->end_s = NAN;
    sim_count_live(s, when_s, 1);
    a->live_integral += s->live_integral;
    a->parked_s += when_s - a->since_s;
    a->job.wait_since_s = a->since_s = when_s;
    a->reason = SCHED_WHY_NEXT_ROUND;
    aim(s, a, share);
    return sim_journal_job(s, when_s, "job.promoted", a, NULL);
}

static shoal_status stop(struct sim_state *s, struct sim_active *a, double when_s)
{
    bool listed = a->parked == SIM_PARKING;

    s->parked_gain -= a->job.progress / sim_whole_work(s, a);
    s->parked_count--;
    a->parked = SIM_NOT_PARKED;
    a->stopped = true;
    a->end_s = when_s;
    sim_count_live(s, when_s, 1); /* ends as the live do */
    a->live_integral += s->live_integral;
    shoal_status st = sim_end_job(s, a);
    if (!listed)
        sim_retire(s, a);
    return st;
}

/* All that are left are at the rung: the better part goes on. */
static shoal_status complete(struct sim_state *s, struct sim_sweep *w, double when_s)
{
    uint32_t most = kept(s, w->parked_count);
    shoal_status st = SHOAL_OK;

    w->rung = most == 1 ? w->rungs : w->rung + 1;
    w->parked_count = 0;
    for (uint32_t n = 0; w->parked != NULL && st == SHOAL_OK; n++) {
        struct sim_active *a = w->parked;
        w->parked = a->next_free;
        st = n < most ? promote(s, a, share_of(s, w, w->rung), when_s) : stop(s, a, when_s);
        if (a->parked != SIM_NOT_PARKED) { /* memory was short */
            a->next_free = w->parked;
            w->parked = a;
        }
    }
    return st;
}

shoal_status sim_tuner_park(struct sim_state *s, struct sim_active *a)
{
    struct sim_sweep *w = sweep_of(s, a->job.id);
    struct sim_active **at = &w->parked;
    double when_s = a->end_s;

    while (*at != NULL && better(s, *at, a))
        at = &(*at)->next_free;
    a->next_free = *at;
    *at = a;
    w->parked_count++;
    s->parked_count++;
    s->parked_gain += a->job.progress / sim_whole_work(s, a);
    a->parked = SIM_PARKING;
    a->checkpoint = a->job.progress;
    a->at_risk_gpu_s = 0;
    sim_count_live(s, when_s, -1);
    a->live_integral -= s->live_integral; /* what passes from here on is not its life */
    sim_shares_pause(s, a, when_s);
    sim_release(s, a, when_s);
    shoal_status st = sim_journal_job(s, when_s, "job.parked", a, NULL);
    return st == SHOAL_OK && w->parked_count == w->left ? complete(s, w, when_s) : st;
}

shoal_status sim_tuner_gone(struct sim_state *s, uint32_t job, double when_s)
{
    struct sim_sweep *w = sweep_of(s, job);

    if (w == NULL)
        return SHOAL_OK;
    w->left--;
    return w->parked_count > 0 && w->parked_count == w->left ? complete(s, w, when_s) : SHOAL_OK;
}

/* ---- before a decision ---- */

/* Work after the rung that jobs are on their way to, in units of one job's whole work. */
static double further(const struct sim_state *s, const struct sim_sweep *w)
{
    uint32_t n = w->left;
    double sum = 0;

    for (uint32_t r = w->rung; r < w->rungs; r++) {
        n = kept(s, n);
        uint32_t to = n <= 1 ? w->rungs : r + 1;
        sum += n * (share_of(s, w, to) - share_of(s, w, r));
        if (to == w->rungs)
            break;
    }
    return sum;
}

void sim_tuner_settle(struct sim_state *s)
{
    for (size_t i = 0; s->opts->how.halving > 0 && i < s->job_count; i++) {
        struct sched_job *j = s->jobs[i];
        const struct sim_sweep *w = sweep_of(s, j->id);
        if (w != NULL && w->rungs > 0)
            j->app_left =
                further(s, w) / (w->left - w->parked_count) * sim_whole_work(s, sim_active_of(j));
    }
}
