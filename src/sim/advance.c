/* advance.c - progress of running jobs between two instants at which nothing else changes.
 *
 * A job first works off its restart time, then makes progress at a rate that is constant up to
 * `until` (an epoch, say), where it is asked for anew. Finish times come out exact, inside the
 * stretch, although decisions are made at rounds. Two jobs that share GPUs advance together,
 * because when one ends the other speeds up. */
#include "sim/state.h"

#include "base/assert.h"
#include "base/err.h"
#include <math.h>

void sim_refresh_rate(struct sim_active *a)
{
    const struct sched_model *m = &a->job.model;
    const struct sched_model *partner = a->partner != NULL ? &a->partner->job.model : NULL;

    a->batch = m->ops->choose_batch != NULL ? m->ops->choose_batch(m, &a->job.alloc)
                                            : (struct sched_batch){1, 1};
    double step_s = m->ops->time_per_step(m, &a->job.alloc, a->batch, partner);
    double progress =
        m->ops->progress_per_step(m, &a->job.alloc, a->batch, a->job.progress, &a->until);
    a->rate = step_s > 0 && isfinite(step_s) ? progress / step_s * (double)a->slow : 0;
}

void sim_unpair(struct sim_active *a)
{
    struct sim_active *b = a->partner;

    if (b == NULL)
        return;
    a->partner = b->partner = NULL;
    a->job.partner = b->job.partner = SCHED_JOB_NONE;
}

/* Time passes while it holds its GPUs. */
static void hold(struct sim_state *s, struct sim_active *a, double seconds)
{
    double gpus = a->job.alloc.gpus, shared = a->partner != NULL ? 0.5 : 1;
    double price = s->cluster->kinds[a->job.alloc.kind].usd_gpu_h;

    a->job.attained_gpu_s += seconds * gpus;
    a->job.run_s += seconds;
    s->held_gpu_s += seconds * gpus * shared;
    if (price >= 0)
        a->usd += seconds * gpus * shared / 3600 * price;
    else
        a->unpriced = s->unpriced = true;
}

/* One stretch for one job, ending at to_s or when the job ends. Returns the seconds used. */
static double advance_one(struct sim_state *s, struct sim_active *a, double seconds)
{
    double used = a->restart_left_s < seconds ? a->restart_left_s : seconds;
    double tick = a->job.model.ops->tick_s;

    a->restart_left_s -= used;
    s->result->metrics.lost_gpu_s += used * a->job.alloc.gpus;
    seconds -= used;
    while (seconds > 0) {
        if (a->job.progress + a->rate * seconds < a->until || a->rate <= 0) {
            a->job.progress += a->rate * seconds;
            used += seconds;
            break;
        }
        double delta = (a->until - a->job.progress) / a->rate;
        if (tick > 0)
            delta = nearbyint(delta / tick) * tick;
        if (delta > seconds)
            delta = seconds;
        a->job.progress = a->until;
        used += delta;
        seconds -= delta;
        if (a->until >= a->job.model.work) {
            a->end_s = s->now_s + used;
            break;
        }
        sim_refresh_rate(a);
    }
    return used;
}

static void take_checkpoint(const struct sim_state *s, struct sim_active *a)
{
    if (s->opts->checkpoint_s > 0 && a->job.run_s < a->checkpoint_due_s)
        return;
    a->checkpoint = a->job.progress;
    a->at_risk_gpu_s = 0;
    a->checkpoint_due_s = a->job.run_s + s->opts->checkpoint_s;
}

static void advance_alone(struct sim_state *s, struct sim_active *a, double seconds)
{
    bool fails = a->job.run_s + seconds > a->fail_at_run_s;

    a->stamp = s->stamp;
    if (fails)
        seconds = a->fail_at_run_s - a->job.run_s;
    double restart_s = a->restart_left_s, used = advance_one(s, a, seconds);
    hold(s, a, used);
    a->at_risk_gpu_s += (used - (restart_s - a->restart_left_s)) * a->job.alloc.gpus;
    take_checkpoint(s, a);
    if (fails && isnan(a->end_s)) {
        a->end_s = s->now_s + seconds;
        a->failed = true;
    }
}

/* Seconds until a job that shares GPUs ends by itself, and whether by failing; only constant-rate
 * models share. */
static double ends_in_s(const struct sim_active *a, bool *out_fails)
{
    double left = a->job.model.work - a->job.progress;
    double by_work = a->rate > 0 ? a->restart_left_s + left / a->rate : INFINITY;
    double by_failure = a->fail_at_run_s - a->job.run_s;

    *out_fails = by_failure < by_work;
    return *out_fails ? by_failure : by_work;
}

/* When one ends, the other goes on alone. They stay partners until the ended one is released:
 * whoever looks back at the stretch must see that they shared. */

static void advance_pair(struct sim_state *s, struct sim_active *a, double seconds)
{
    struct sim_active *b = a->partner;
    bool a_fails, b_fails;
    double ea = ends_in_s(a, &a_fails), eb = ends_in_s(b, &b_fails), together = ea < eb ? ea : eb;
    double start_s = s->now_s;

    if (together > seconds)
        together = seconds;
    if (together < 0)
        together = 0;
    advance_alone(s, a, together);
    advance_alone(s, b, together);
    if (together >= seconds)
        return;
    /* One of them ended: rounding may leave it a hair short of its work, or of its failure. */
    struct sim_active *done = ea <= eb ? a : b, *other = done == a ? b : a;
    if (isnan(done->end_s)) {
        done->end_s = start_s + together;
        done->failed = done == a ? a_fails : b_fails;
        if (!done->failed)
            done->job.progress = done->job.model.work;
    }
    if (!isnan(other->end_s))
        return;
    other->partner = NULL;
    sim_refresh_rate(other);
    s->now_s = start_s + together;
    advance_alone(s, other, seconds - together);
    s->now_s = start_s;
    other->partner = done;
}

static bool ends_before(const struct sim_active *a, const struct sim_active *b)
{
    return a->end_s < b->end_s || (a->end_s == b->end_s && a->job.id < b->job.id);
}

shoal_status sim_advance(struct sim_state *s, double to_s)
{
    double seconds = to_s - s->now_s;

    s->ended_count = 0;
    if (seconds <= 0)
        return SHOAL_OK;
    s->stamp++;
    if (base_reserve(s->alloc, (void **)&s->ended, &s->ended_cap, s->job_count, sizeof *s->ended) !=
        0)
        return base_err_nomem(s->err, "simulating");
    for (size_t i = 0; i < s->job_count; i++) {
        struct sim_active *a = sim_active_of(s->jobs[i]);
        if (!sim_running(a) || a->stamp == s->stamp)
            continue;
        if (a->partner == NULL)
            advance_alone(s, a, seconds);
        else
            advance_pair(s, a, seconds);
    }
    for (size_t i = 0; i < s->job_count; i++) {
        struct sim_active *a = sim_active_of(s->jobs[i]);
        if (!sim_running(a) || isnan(a->end_s))
            continue;
        size_t at = s->ended_count++;
        for (; at > 0 && ends_before(a, s->ended[at - 1]); at--)
            s->ended[at] = s->ended[at - 1];
        s->ended[at] = a;
    }
    return SHOAL_OK;
}
