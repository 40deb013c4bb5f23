/* fair.h - a floor under every job: the speed it must have from now on to end within rho times the
 * time its fair share would take.
 *
 * Finish-time fairness (docs/design/0002-rho.md): a job's share is its weight over the sum of weights
 * of the live jobs, in the mean over its life; alone on that share it would run on the gang and with
 * the batch it asked for, so much of the time on each kind. rho is its completion time over the time
 * it would take so. Given the rho to keep, there is an instant by which the job must end, and a speed
 * that ends it by then: what is left over the time that is left. A policy that gives each job that
 * speed, and what it likes beyond, keeps rho; docs/design/0012-fairness-floor.md says why those speeds
 * can be had at the same time, what restarts and whole GPUs cost, and that a job which reports
 * nonsense counts as one job.
 *
 * Speeds here are at the batch the job asked for, as if every example counted in full: progress per
 * second at most. What share of it counts is the same on all places, so it cancels between the job
 * and the job alone, and a job that chooses its batch does no worse anywhere. So they are fit to
 * compare with each other, not to tell when a job ends.
 *
 *     sched_fair_begin(&m->fair, snap);                                       each decision, then per job
 *     alone = sched_fair_alone(snap, job);                                    may be kept, see below
 *     floor = sched_fair_floor(&m->fair, snap, job, &alone, m->rho, snap->restart_s + snap->round_s);
 *     if (floor.urgency >= 1)                                                 it is due
 *         among places with sched_fair_speed(...) >= floor.floor_rate, before others
 *
 * Everything here is of what is known (sched_job.adapt, work_told), or for rigid jobs of their model;
 * pure, O(kinds) a job, allocates nothing. Tests: tests/unit/sched/test_fair.c. */
#ifndef SCHED_FAIR_H
#define SCHED_FAIR_H

#include "sched/policy.h"

/* Policy-wide, zero at first: in the policy's memory. */
struct sched_fair {
    double weights;  /* of the live jobs, since at_s */
    double integral; /* of that by time, up to at_s */
    double at_s;
};

/* The word of sched_job.note that belongs to the floor. */
enum { SCHED_FAIR_NOTE = 1 };

/* What a job would do with the cluster for itself, on gangs of the size it asked for. Depends on its
 * request and adapt only: may be kept while adapt->version stays. */
struct sched_fair_alone {
    double rate; /* of progress, with gangs on all GPUs that it can use. 0: not known yet */
    double most; /* gangs there: it has no use for a share above 1 / most */
};

struct sched_fair_floor {
    double share_rate; /* of progress: what its share gives now */
    double need_rate;  /* from now on, to end by deadline_s. INFINITY: too late */
    double floor_rate; /* what it must get: need_rate, but not more than its share */
    double urgency;    /* need_rate / share_rate; at most 1 / rho where it has had its share so far,
                          and no starts are in the way */
    double deadline_s; /* when it must end, as far as is known */
};

/* At the start of each decision: brings the integral up to date, gives new jobs their note. */
void sched_fair_begin(struct sched_fair *fair, const struct sched_snapshot *snap);

/* Progress per second on so many GPUs of a kind; 0 where it cannot run. A rigid job runs on its gang
 * only. After sched_fair_begin. */
double sched_fair_speed(const struct sched_snapshot *snap, const struct sched_job *job,
                        uint32_t kind, uint32_t gpus);

struct sched_fair_alone sched_fair_alone(const struct sched_snapshot *snap,
                                         const struct sched_job *job);

/* rho >= 1. `lost_s` is what will pass before the job makes progress: 0 where it runs and stays; a
 * policy that asks whether a job can wait for another round counts that, and a start. Of a job of whose
 * speed nothing is known the rates are 0 and the urgency INFINITY: anything will do, but soon. */
struct sched_fair_floor sched_fair_floor(const struct sched_fair *fair,
                                         const struct sched_snapshot *snap,
                                         const struct sched_job *job,
                                         const struct sched_fair_alone *alone, double rho,
                                         double lost_s);

/* The most GPUs a floor is worth: its share of all, rounded up. What a job gets beyond is not for
 * fairness' sake, and takes nobody's place who is due. */
uint32_t sched_fair_gpus(const struct sched_fair *fair, const struct sched_snapshot *snap,
                         const struct sched_job *job);

#endif
