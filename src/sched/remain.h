/* remain.h - how much work a job has left, as far as anyone knows.
 *
 * What was told of all its work (sched_job.work_told) is a log-normal guess, and that the job goes on
 * is news: what is left is the mean of what lies beyond the progress made, given that there is some
 * (the mean residual life). A guess that is certain leaves what is missing. One that is exceeded by far
 * grows: the further a job is beyond it, the more is left. Pure; any thread.
 * Tests: tests/unit/sched/test_remain.c. */
#ifndef SCHED_REMAIN_H
#define SCHED_REMAIN_H

/* Work is log-normal around `told` (its median), with standard deviation `error` of the logarithm;
 * mean of work - progress given work > progress, above 0. NAN where that says nothing: told is no
 * positive number, error is 10 or more, or it was certain (error 0) and progress has reached it. */
double sched_remain(double told, double error, double progress);

/* Nothing was told: work that is Pareto-distributed (Lomax, shape 2) from 0 with mean `least` has as
 * much left as was done, and `least`. Those who had least come first then, as in least attained
 * service. */
double sched_remain_unknown(double least, double progress);

/* For those who go by what was told as it stands, certain or not: what is missing; where nothing was told,
 * or it was exceeded, as much as was done and at least `least`. */
double sched_remain_told(double told, double least, double progress);

#endif
