/* shares.c - what each job was promised of each kind, and what it got.
 *
 * A policy that solves for shares says at every decision which share of the time each job should
 * spend on each kind (plan.h). A share holds from its decision to the next one, or to the end of the
 * job; the time a job wanted is the integral of its shares, in seconds. The time it received is the
 * time it held GPUs of the kind, restarts included, alone or with a partner; it is known under every
 * policy, and over all kinds it is the time the job ran. A decision that says nothing leaves the
 * shares as they were.
 *
 * Memory: three rows of kinds per live job, recycled with it, and a row or two per job of the trace
 * in the result. Cost: O(live jobs x kinds) per decision of a policy that promises shares, else
 * nothing but one addition per job and stretch. Tests: test_shares.c. */
#include "sim/state.h"

#include "base/err.h"
#include <math.h>
#include <string.h>

shoal_status sim_shares_init(struct sim_state *s)
{
    const struct sim_opts *o = s->opts;

    s->keep_shares = o->record || o->shares || o->on_event != NULL;
    if (!o->record && !o->shares)
        return SHOAL_OK; /* the events carry them */
    s->result->received_s = base_calloc(s->alloc, s->trace->job_count * s->cluster->kind_count + 1,
                                        sizeof *s->result->received_s);
    return s->result->received_s != NULL ? SHOAL_OK : SHOAL_E_NOMEM;
}

shoal_status sim_shares_join(struct sim_state *s, struct sim_active *a)
{
    size_t count = 3 * (size_t)s->cluster->kind_count;

    if (!s->keep_shares)
        return SHOAL_OK;
    if (a->shares == NULL)
        a->shares = base_arena_alloc(&s->actives, count * sizeof *a->shares);
    if (a->shares == NULL)
        return SHOAL_E_NOMEM;
    memset(a->shares, 0, count * sizeof *a->shares);
    return SHOAL_OK;
}

/* Counts what the job wants up to `when_s`. */
static void settle(struct sim_active *a, uint32_t kinds, double when_s)
{
    double seconds = when_s - a->shares_since_s;

    for (uint32_t k = 0; k < kinds; k++)
        a->shares[kinds + k] += a->shares[k] * seconds;
    a->shares_since_s = when_s;
}

shoal_status sim_shares_decided(struct sim_state *s)
{
    const float *wanted = s->keep_shares ? sched_plan_wanted(s->plan) : NULL;
    uint32_t kinds = s->cluster->kind_count;

    if (wanted == NULL)
        return SHOAL_OK;
    if (s->result->wanted_s == NULL && s->result->received_s != NULL) {
        s->result->wanted_s =
            base_calloc(s->alloc, s->trace->job_count * kinds + 1, sizeof *s->result->wanted_s);
        if (s->result->wanted_s == NULL)
            return base_err_nomem(s->err, "recording the run");
    }
    s->promises = true;
    for (size_t i = 0; i < s->job_count; i++, wanted += kinds) {
        struct sim_active *a = sim_active_of(s->jobs[i]);
        settle(a, kinds, s->now_s);
        for (uint32_t k = 0; k < kinds; k++)
            a->shares[k] = isfinite(wanted[k]) ? (double)wanted[k] : 0;
    }
    return SHOAL_OK;
}

void sim_shares_pause(struct sim_state *s, struct sim_active *a, double when_s)
{
    if (a->shares == NULL)
        return;
    settle(a, s->cluster->kind_count, when_s);
    memset(a->shares, 0, s->cluster->kind_count * sizeof *a->shares);
}

void sim_shares_end(struct sim_state *s, struct sim_active *a)
{
    uint32_t kinds = s->cluster->kind_count;
    double gap = 0, sum = 0;

    if (a->shares == NULL)
        return;
    settle(a, kinds, a->end_s);
    const double *wanted = a->shares + kinds, *received = wanted + kinds;
    for (uint32_t k = 0; k < kinds; k++) {
        size_t at = (size_t)a->job.id * kinds + k;
        if (s->result->received_s != NULL)
            s->result->received_s[at] = (float)received[k];
        if (s->result->wanted_s != NULL)
            s->result->wanted_s[at] = (float)wanted[k];
        gap += fabs(wanted[k] - received[k]);
        sum += wanted[k] + received[k];
    }
    if (s->promises && !a->failed && !a->stopped && sum > 0) {
        s->share_error += gap / sum;
        s->share_jobs++;
    }
}

void sim_shares_finish(struct sim_state *s)
{
    s->result->metrics.share_error =
        s->share_jobs > 0 ? s->share_error / (double)s->share_jobs : NAN;
}
