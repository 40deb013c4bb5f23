/* goodput.h - how fast a training job learns on given machines, from what it has measured.
 *
 * Goodput is throughput x statistical efficiency: examples per second, counted by how much each is
 * worth next to one of a batch of the initial size. A program that trains by itself can measure,
 * fit, and pick its batch size with this header alone, without any cluster; the scheduler's adaptive
 * policies use the same functions.
 *
 *     struct shoal_goodput_noise noise = {0};                  after each step:
 *     shoal_goodput_noise_add(&noise, local_sqr, total_sqr, replicas, batch / 128.0);
 *     ...
 *     struct shoal_goodput job = SHOAL_GOODPUT_INIT;           now and then:
 *     job.batch_initial = 128, job.batch_max = 4096, job.local_max = 1024;
 *     shoal_goodput_noise_read(&noise, &job.grad_sqr, &job.grad_var);
 *     if (shoal_goodput_fit(samples, count, &job.speed, &err) == SHOAL_OK)
 *         choice = shoal_goodput_best(&job, 1, 4);             one machine, four replicas
 *
 * Speed. A pass (forward and backward) of m examples takes grad_s + grad_each_s m. Synchronising K
 * replicas takes node_s + node_each_s max(K - 2, 0) across machines, the same with local_ inside one,
 * nothing for K = 1. A step of p passes takes (p - 1) pass + (pass^overlap + sync^overlap)^(1/overlap):
 * overlap 1 is one after the other, large ones are both at once.
 *
 * Efficiency. With the squared norm q and the variance v of the gradient at the initial batch M0, a
 * step of batch M = S M0 makes as much progress as gain(S) = (v + q) / (v / S + q) steps of M0, so
 * its efficiency is gain / S. The learning rate should grow by the gain too (SGD), or by its square
 * root's rule for Adam: sqrt(S).
 *
 * Reference: Qiao et al., "Pollux: Co-adaptive Cluster Scheduling for Goodput-Optimized Deep Learning",
 * OSDI 2021; the gain is AdaScale's (Johnson et al., ICML 2020). Nothing here allocates or keeps
 * state: any thread. */
#ifndef SHOAL_GOODPUT_H
#define SHOAL_GOODPUT_H

#include "shoal/status.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The seven parameters; seconds, all above 0, overlap 1 to 10. */
struct shoal_goodput_speed {
    double grad_s, grad_each_s;
    double node_s, node_each_s;
    double local_s, local_each_s;
    double overlap;
};

/* A mean of what was measured with `local` examples a pass: of a pass, and of a step of one pass with
 * its synchronisation. */
struct shoal_goodput_sample {
    uint32_t machines, replicas; /* at least 1; machines at most replicas */
    double local;                /* > 0 */
    double pass_s, step_s;       /* > 0 and finite */
};

/* What is fitted best explains the samples in logarithms, is as optimistic as they allow about what
 * was not seen (synchronisation costs nothing until measured), and not optimistic about more machines
 * where one alone was measured. SHOAL_E_INVAL: no sample, or one that is not as above; *out_speed is
 * then unchanged. Deterministic. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_goodput_fit(const struct shoal_goodput_sample *samples,
                                                        size_t count,
                                                        struct shoal_goodput_speed *out_speed,
                                                        shoal_err *err);

/* Seconds of a step of `passes` passes of `local` examples on each replica. */
SHOAL_API double shoal_goodput_step_s(const struct shoal_goodput_speed *speed, uint32_t machines,
                                      uint32_t replicas, double local, uint32_t passes);

/* Steps of the initial batch that a step of `scale` times that is worth; 1 to scale. Statistics that
 * are no numbers, or not positive, count as noise without signal or signal without noise. */
SHOAL_API double shoal_goodput_gain(double grad_sqr, double grad_var, double scale);

struct shoal_goodput {
    size_t struct_size; /* set by SHOAL_GOODPUT_INIT */
    struct shoal_goodput_speed speed;
    double grad_sqr, grad_var;         /* at the initial batch */
    uint32_t batch_initial, batch_max; /* of all replicas, a step */
    uint32_t local_min, local_max;     /* of one replica, a pass; min 0: 1 */
    uint32_t passes_max;               /* of a step; 0 or 1: no accumulation */
};

#define SHOAL_GOODPUT_INIT                                                       \
    {                                                                            \
        sizeof(struct shoal_goodput), {0, 0, 0, 0, 0, 0, 1}, 1, 0, 1, 1, 0, 1, 1 \
    }

/* goodput 0: it cannot run there. */
struct shoal_goodput_choice {
    double goodput; /* examples of the initial batch's worth, per second */
    double step_s, gain;
    uint32_t local, passes;
};

/* The batch with the highest goodput. A step of all replicas has at least the initial batch, or as
 * many examples as they must have, and at most batch_max. One replica that takes more than the
 * initial batch does so in two passes or more, as nothing else would tell its gradient's noise; else
 * a batch is had in as few passes as hold it. */
SHOAL_API struct shoal_goodput_choice shoal_goodput_best(const struct shoal_goodput *job,
                                                         uint32_t machines, uint32_t replicas);

/* Gradient statistics from squared norms, averaged over about a thousand steps of the initial batch.
 * All zero at first. */
struct shoal_goodput_noise {
    double sqr, var, weight;
    uint64_t refused; /* measurements that were no numbers, or impossible: left out */
};

/* One step in which `count` (2 or more) gradients, each of an equal part of the batch, were averaged:
 * the mean of their squared norms, and the squared norm of their mean. One replica without
 * accumulation gives this and the last step's gradient as two. scale: batch / initial batch. */
SHOAL_API void shoal_goodput_noise_add(struct shoal_goodput_noise *noise, double local_sqr,
                                       double total_sqr, uint32_t count, double scale);
/* At the initial batch, both above 0; without a measurement 1 and 0, all signal. */
SHOAL_API void shoal_goodput_noise_read(const struct shoal_goodput_noise *noise,
                                        double *out_grad_sqr, double *out_grad_var);

#ifdef __cplusplus
}
#endif

#endif
