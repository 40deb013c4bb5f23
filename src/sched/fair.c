/* fair.c - the speed a job must have to end within rho times its fair share's time (see fair.h).
 *
 * With W the time its work takes alone on the whole cluster, gangs on all GPUs at once, a job that
 * ends T after it was submitted keeps rho if
 *
 *     T <= rho (ready + W max(n(T), most)),
 *
 * where ready is its wait for a decision and its first start, n(T) the mean over its life of the sum
 * of weights over its own, and `most` how many of its gangs fit at once: it cannot use more. With the
 * live weights staying as they are, n(T) = (I + n (T - age)) / T, I being their integral so far; the
 * latest T is then rho (ready + W most) or the larger root of
 *
 *     T^2 - rho (ready + W n) T - rho W (I - n age) = 0,
 *
 * whichever is later. When others come the deadline moves away and the share falls, when they leave
 * the reverse; a job that has always had at least 1 / rho of its share needs no more than that from
 * then on, whatever came and went, since the mean of 1 / n is at least 1 / (mean of n).
 *
 * W is not known, as nobody knows what share of each example will count: a job alone with its batch
 * does less early in training. It counts as all, so W is at most what it is, and the floor at least
 * what it should be. Work that is not certain counts for what it is at least (a standard deviation
 * below what was told), since a job that is behind has the less time to catch up the less is left;
 * work that is not known, or was told wrong, for as much as the share does in one more round: such a
 * job has to keep up. What errs in favour of a job takes at most its share from the others.
 *
 * A job's note is the integral when it arrived; -0 stands for 0, which is no note. */
#include "sched/fair.h"

#include <math.h>

enum { ROUNDING = 16 }; /* examples of one GPU, over all passes of a step */

static uint32_t batch_of(const struct sched_job *job)
{
    return job->batch > job->adapt->batch_initial ? job->batch : job->adapt->batch_initial;
}

/* The integral over its life. */
static double integral_of(const struct sched_fair *fair, const struct sched_job *job)
{
    return fair->integral - job->note[SCHED_FAIR_NOTE].f;
}

/* Who came since the last decision was live from its submission on, who ended as if in the middle. */
void sched_fair_begin(struct sched_fair *fair, const struct sched_snapshot *snap)
{
    double before = fair->weights, stay = 0, come = 0, come_s = 0;
    double since_s = snap->now_s > fair->at_s ? snap->now_s - fair->at_s : 0;

    for (size_t i = 0; i < snap->job_count; i++) {
        const struct sched_job *job = snap->jobs[i];
        if (job->note[SCHED_FAIR_NOTE].u != 0) {
            stay += job->weight;
        } else {
            come += job->weight;
            come_s += job->weight * (snap->now_s - job->submit_s);
        }
    }
    fair->integral += (before + stay) / 2 * since_s + come_s;
    fair->weights = stay + come;
    fair->at_s = snap->now_s;
    for (size_t i = 0; i < snap->job_count; i++) {
        struct sched_job *job = snap->jobs[i];
        double then = fair->integral - (stay + job->weight) * (snap->now_s - job->submit_s);
        if (job->note[SCHED_FAIR_NOTE].u == 0)
            job->note[SCHED_FAIR_NOTE].f = then == 0 ? -0.0 : then;
    }
}

/* ---- speeds ---- */

/* As a job whose batch is the one it asked for, and stays. */
static double adapting_speed(const struct sched_snapshot *snap, const struct sched_job *job,
                             uint32_t kind, uint32_t gpus)
{
    struct sched_adapt fixed = *job->adapt;
    uint32_t each = snap->cluster->kinds[kind].node_gpus_max, batch = batch_of(job);
    uint32_t most = batch / (fixed.local_min > 0 ? fixed.local_min : 1);

    if (fixed.fitted != NULL) /* it has no batch to keep */
        return sched_adapt_choose(&fixed, snap->cluster->kind_count, kind, 1, gpus).goodput;
    if (gpus > most) /* more would have nothing to do */
        gpus = most;
    fixed.batch_initial = batch;
    fixed.batch_max = batch + gpus * ROUNDING; /* where it does not divide; */
    fixed.grad_sqr = 1, fixed.grad_var = 0;    /* what is more than the batch is worth nothing */
    return sched_adapt_choose(&fixed, snap->cluster->kind_count, kind, (gpus + each - 1) / each,
                              gpus)
               .goodput *
           batch / job->adapt->batch_initial;
}

double sched_fair_speed(const struct sched_snapshot *snap, const struct sched_job *job,
                        uint32_t kind, uint32_t gpus)
{
    double speed;

    if ((job->kinds >> kind & 1) == 0 || gpus == 0 || snap->cluster->kinds[kind].gpus < gpus)
        return 0;
    if (job->adapt != NULL)
        speed = adapting_speed(snap, job, kind, gpus);
    else
        speed =
            gpus != job->gpus
                ? 0
                : job->model.work / sched_model_ideal_s(&job->model, snap->cluster, kind, gpus, 0);
    return speed > 0 && isfinite(speed) ? speed : 0;
}

struct sched_fair_alone sched_fair_alone(const struct sched_snapshot *snap,
                                         const struct sched_job *job)
{
    struct sched_fair_alone alone = {0, 0};

    if (job->adapt != NULL && sched_adapt_seen(job->adapt, snap->cluster->kind_count) == 0)
        return alone;
    for (uint32_t k = 0; k < snap->cluster->kind_count; k++) {
        double gangs = (double)snap->cluster->kinds[k].gpus / job->gpus;
        double speed = sched_fair_speed(snap, job, k, job->gpus);
        alone.rate += gangs * speed;
        alone.most += speed > 0 ? gangs : 0;
    }
    return alone;
}

/* ---- the floor ---- */

static double done_of(const struct sched_job *job)
{
    return job->progress > 0 && isfinite(job->progress) ? job->progress : 0;
}

/* What it will have done in the end, more than it has done by now. */
static double work_of(const struct sched_job *job, double keep_up)
{
    double error = job->work_error > 0 ? job->work_error : 0;
    double work = job->work_told * exp(-error), least = done_of(job) + keep_up;

    return work > least && isfinite(work) ? work : least;
}

/* Seconds after submission by which it must end. */
static double time_to_end(double ready, double whole, double n, double integral, double age,
                          double most, double rho)
{
    double b = rho * (ready + whole * n), c = rho * whole * (integral - n * age);
    double square = b * b + 4 * c, least = rho * (ready + whole * most);
    double end = square > 0 ? (b + sqrt(square)) / 2 : 0;

    return end > least ? end : least;
}

struct sched_fair_floor sched_fair_floor(const struct sched_fair *fair,
                                         const struct sched_snapshot *snap,
                                         const struct sched_job *job,
                                         const struct sched_fair_alone *alone, double rho,
                                         double lost_s)
{
    if (!(alone->rate > 0))
        return (struct sched_fair_floor){.urgency = INFINITY, .deadline_s = snap->now_s};
    double n = fair->weights / job->weight, age = snap->now_s - job->submit_s;
    double share = alone->rate / fmax(n, alone->most);
    double work = work_of(job, share * snap->round_s);
    double first_s = ceil(job->submit_s / snap->round_s) * snap->round_s - job->submit_s;
    double ready = first_s + snap->restart_s;
    double end = time_to_end(ready, work / alone->rate, n, integral_of(fair, job) / job->weight,
                             age, alone->most, rho);
    double time_s = end - age - lost_s;
    double need = time_s > 0 ? (work - done_of(job)) / time_s : INFINITY;

    return (struct sched_fair_floor){.share_rate = share,
                                     .need_rate = need,
                                     .floor_rate = fmin(need, share),
                                     .urgency = need / share,
                                     .deadline_s = job->submit_s + end};
}

uint32_t sched_fair_gpus(const struct sched_fair *fair, const struct sched_snapshot *snap,
                         const struct sched_job *job)
{
    double gpus = ceil(job->weight / fair->weights * snap->cluster->gpus);

    return gpus > 1 ? (uint32_t)gpus : 1;
}
