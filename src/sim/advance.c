/* advance.c - progress of running jobs between two instants at which nothing else changes.
 *
 * A job first works off its restart time, then makes progress at a rate that is constant up to
 * `until` (an epoch, say), where it is asked for anew. Finish times come out exact, inside the
 * stretch, although decisions are made at rounds. Two jobs that share GPUs advance together,
 * because when one ends the other speeds up. A checkpoint is taken when its run time comes, inside
 * the stretch: of those due in one stretch only the last matters.
 *
 * Rounds in which nothing happens are played at once (sim_advance_rounds); every sum then has the
 * bits it would have round by round (base/again.h). */
#include "sim/state.h"

#include "base/assert.h"
#include "base/err.h"
#include <math.h>
#include <stdlib.h>

void sim_refresh_rate(struct sim_state *s, struct sim_active *a)
{
    const struct sched_model *partner = a->partner != NULL ? &a->partner->job.model : NULL;

    if (a->adapted)
        sim_adapt_refresh(s, a);
    a->rate = sched_model_rate(&a->job.model, &a->job.alloc, partner, a->job.progress, &a->until) *
              (double)a->slow;
}

void sim_unpair(struct sim_active *a)
{
    struct sim_active *b = a->partner;

    if (b == NULL)
        return;
    a->partner = b->partner = NULL;
    a->job.partner = b->job.partner = SCHED_JOB_NONE;
}

/* GPUs it holds; those it shares count half. */
static double gpus_held(const struct sim_active *a)
{
    return a->job.alloc.gpus * (a->partner != NULL ? 0.5 : 1);
}

/* Time passes from `from_s` on while it holds its GPUs: some seconds, so many times over. Inlined, as
 * nearly all calls are of one time. */
__attribute__((always_inline)) static inline void hold(struct sim_state *s, struct sim_active *a,
                                                       double from_s, double seconds,
                                                       uint64_t times)
{
    uint32_t kind = a->job.alloc.kind;
    double held = gpus_held(a);
    double price = s->opts->prices != NULL
                       ? sim_prices_mean(s->opts->prices, kind, from_s, from_s + seconds)
                       : s->cluster->kinds[kind].usd_gpu_h;

    sim_add(&a->job.attained_gpu_s, seconds * a->job.alloc.gpus, times);
    sim_add(&a->job.run_s, seconds, times);
    sim_shares_hold(s, a, seconds, times);
    sim_add_common(s, SIM_BUSY, sim_submitting_s(s, from_s, from_s + seconds) * held, times);
    sim_add_common(s, SIM_HELD, seconds * held, times);
    if (price >= 0)
        sim_add(&a->usd, seconds * held / 3600 * price, times);
    else
        a->unpriced = s->unpriced = true;
}

/* One stretch for one job, ending after `seconds` or when the job ends. Returns the seconds used. */
static double advance_one(struct sim_state *s, struct sim_active *a, double from_s, double seconds)
{
    double used = a->restart_left_s < seconds ? a->restart_left_s : seconds;
    double tick = a->job.model.ops->tick_s;

    a->restart_left_s -= used;
    if (a->job.starts > 1) /* somebody has to start it once */
        s->result->metrics.lost_gpu_s += used * gpus_held(a);
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
            a->end_s = from_s + used;
            break;
        }
        sim_refresh_rate(s, a);
    }
    return used;
}

static double advance_part(struct sim_state *s, struct sim_active *a, double from_s, double seconds)
{
    double restart_s = a->restart_left_s, used = advance_one(s, a, from_s, seconds);
    double worked = (used - (restart_s - a->restart_left_s)) * gpus_held(a);

    hold(s, a, from_s, used, 1);
    sim_detail_hold(s, a, used, used - (restart_s - a->restart_left_s), 1);
    a->worked_gpu_s += worked;
    a->at_risk_gpu_s += worked;
    return used;
}

static void take_checkpoint(struct sim_active *a)
{
    a->checkpoint = a->job.progress;
    a->at_risk_gpu_s = 0;
}

/* Seconds from now to the last checkpoint due within `seconds`, NAN when none is; the next is due
 * after it. */
static double checkpoint_in_s(const struct sim_state *s, struct sim_active *a, double seconds)
{
    double every_s = s->opts->how.checkpoint_s, over = a->job.run_s + seconds - a->checkpoint_due_s;

    if (!(over >= 0))
        return NAN;
    double last = a->checkpoint_due_s + floor(over / every_s) * every_s;
    a->checkpoint_due_s = last + every_s;
    return fmin(fmax(last - a->job.run_s, 0), seconds);
}

static void advance_alone(struct sim_state *s, struct sim_active *a, double seconds)
{
    bool fails = a->job.run_s + seconds > a->fail_at_run_s;

    a->stamp = s->stamp;
    if (fails)
        seconds = a->fail_at_run_s - a->job.run_s;
    double before = s->opts->how.checkpoint_s > 0 ? checkpoint_in_s(s, a, seconds) : NAN;
    if (!isnan(before)) {
        advance_part(s, a, s->now_s, before);
        take_checkpoint(a);
    } else {
        before = 0;
    }
    if (isnan(a->end_s))
        advance_part(s, a, s->now_s + before, seconds - before);
    if (s->opts->how.checkpoint_s == 0) /* none is lost */
        take_checkpoint(a);
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
    sim_refresh_rate(s, other);
    s->now_s = start_s + together;
    advance_alone(s, other, seconds - together);
    s->now_s = start_s;
    other->partner = done;
}

static int by_end(const void *pa, const void *pb)
{
    const struct sim_active *a = *(struct sim_active *const *)pa;
    const struct sim_active *b = *(struct sim_active *const *)pb;

    if (a->end_s != b->end_s)
        return a->end_s < b->end_s ? -1 : 1;
    return (a->job.id > b->job.id) - (a->job.id < b->job.id);
}

shoal_status sim_advance(struct sim_state *s, double to_s)
{
    double seconds = to_s - s->now_s;

    s->ended_count = 0;
    if (seconds <= 0)
        return SHOAL_OK;
    s->stamp++;
    if (base_reserve(s->alloc, (void **)&s->ended, &s->ended_cap, s->running_count,
                     sizeof *s->ended) != 0)
        return base_err_nomem(s->err, "simulating");
    for (size_t i = 0; i < s->running_count; i++) {
        struct sim_active *a = s->running[i].active;
        if (!sim_running(a) || a->stamp == s->stamp)
            continue;
        if (a->partner == NULL)
            advance_alone(s, a, seconds);
        else
            advance_pair(s, a, seconds);
    }
    for (size_t i = 0; i < s->running_count; i++) {
        struct sim_active *a = s->running[i].active;
        if (!sim_running(a) || isnan(a->end_s))
            continue;
        a->end_s = fmin(a->end_s, to_s); /* the sum of parts may round to a hair more */
        s->ended[s->ended_count++] = a;
    }
    if (s->ended_count > 1)
        qsort(s->ended, s->ended_count, sizeof *s->ended, by_end);
    return SHOAL_OK;
}

/* ---- many rounds at once ---- */

/* Room for a term of each job that runs. */
static shoal_status begin_common(struct sim_state *s)
{
    for (int i = 0; i < SIM_COMMON_COUNT; i++) {
        s->terms[i].count = 0;
        if (base_reserve(s->alloc, (void **)&s->terms[i].terms, &s->terms[i].cap, s->running_count,
                         sizeof(double)) != 0)
            return base_err_nomem(s->err, "simulating");
    }
    return SHOAL_OK;
}

shoal_status sim_advance_rounds(struct sim_state *s, uint64_t rounds)
{
    double seconds = s->opts->how.round_s;
    shoal_status st = begin_common(s);

    if (st != SHOAL_OK)
        return st;
    for (size_t i = 0; i < s->running_count; i++) {
        struct sim_active *a = s->running[i].active;
        double worked = seconds * gpus_held(a);
        shoal_dassert(sim_running(a) && a->restart_left_s <= 0);
        sim_add(&a->job.progress, a->rate * seconds, rounds);
        hold(s, a, s->now_s, seconds, rounds);
        sim_detail_hold(s, a, seconds, seconds, rounds);
        sim_add(&a->worked_gpu_s, worked, rounds);
        sim_add(&a->at_risk_gpu_s, worked, rounds);
        if (s->opts->how.checkpoint_s == 0)
            take_checkpoint(a);
    }
    for (int i = 0; i < SIM_COMMON_COUNT; i++) {
        double *sum = sim_common_sum(s, (enum sim_common)i);
        *sum = base_add_again(*sum, s->terms[i].terms, s->terms[i].count, rounds);
    }
    return SHOAL_OK;
}
