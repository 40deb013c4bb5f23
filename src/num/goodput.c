/* goodput.c - step times, the gain of larger batches, and the batch with the highest goodput.
 *
 * The choice. For a number of passes p and K replicas, with pass(m) = a + b m, 1 / goodput is in
 * proportion to
 *
 *     step(m) (phi / m + p K),   phi = M0 v / q.
 *
 * In x = 1/m the first part, step / m, is the perspective of a convex function, and so convex; the
 * second, a non-decreasing convex function of 1/x, is too. The sum has one minimum, which a search by
 * halves finds among whole m with two evaluations a halving. A batch is had in as few passes as hold it, since
 * each costs its constant part; so more passes are tried as long as larger batches help.
 *
 * Noise. The mean of n gradients of parts of a batch has |mean|^2 = q + var / n in expectation and
 * each part q + var, which gives q and var without bias (McCandlish et al., "An empirical model of
 * large-batch training", 2018); var / n is that of the whole batch, and of the initial one by scale.
 *
 * Tests: tests/unit/num/test_goodput.c. */
#include "shoal/goodput.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

static const double MEMORY_STEPS = 1000; /* of the initial batch that an average looks back on */

double shoal_goodput_step_s(const struct shoal_goodput_speed *s, uint32_t machines,
                            uint32_t replicas, double local, uint32_t passes)
{
    double pass = s->grad_s + s->grad_each_s * local, sync, step = pass;
    double more = replicas > 2 ? replicas - 2 : 0;

    if (replicas > 1) {
        sync =
            machines > 1 ? s->node_s + s->node_each_s * more : s->local_s + s->local_each_s * more;
        /* the longer one is taken out, so that powers stay in range */
        double most = fmax(pass, sync), less = fmin(pass, sync);
        step = most > 0 ? most * pow(1 + pow(less / most, s->overlap), 1 / s->overlap) : 0;
    }
    return (passes > 1 ? passes - 1 : 0) * pass + step;
}

double shoal_goodput_gain(double grad_sqr, double grad_var, double scale)
{
    double q = isfinite(grad_sqr) && grad_sqr > 0 ? grad_sqr : 0;
    double v = isfinite(grad_var) && grad_var > 0 ? grad_var : 0;

    if (!(scale > 0) || (q <= 0 && v <= 0))
        return 1;
    return (v + q) / (v / scale + q);
}

/* ---- the choice ---- */

static struct shoal_goodput_choice at(const struct shoal_goodput *job, uint32_t machines,
                                      uint32_t replicas, uint32_t local, uint32_t passes)
{
    struct shoal_goodput_choice c = {.local = local, .passes = passes};
    double batch = (double)local * replicas * passes;

    c.step_s = shoal_goodput_step_s(&job->speed, machines, replicas, local, passes);
    c.gain = shoal_goodput_gain(job->grad_sqr, job->grad_var, batch / job->batch_initial);
    c.goodput = c.step_s > 0 ? job->batch_initial * c.gain / c.step_s : 0;
    return c;
}

/* Among lo .. hi examples a pass. */
static struct shoal_goodput_choice best_local(const struct shoal_goodput *job, uint32_t machines,
                                              uint32_t replicas, uint32_t passes, uint32_t lo,
                                              uint32_t hi)
{
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (at(job, machines, replicas, mid, passes).goodput >=
            at(job, machines, replicas, mid + 1, passes).goodput)
            hi = mid;
        else
            lo = mid + 1;
    }
    return at(job, machines, replicas, lo, passes);
}

static uint32_t ceil_div(uint64_t a, uint64_t b)
{
    return (uint32_t)((a + b - 1) / b);
}

/* Examples a pass with so many passes: batches that fewer passes cannot hold. False: none. */
static bool local_range(const struct shoal_goodput *job, uint32_t replicas, uint32_t passes,
                        uint32_t *out_lo, uint32_t *out_hi)
{
    uint64_t all = (uint64_t)replicas * passes, most = job->batch_max / all;
    uint32_t lo = ceil_div(job->batch_initial, all),
             least = job->local_min > 0 ? job->local_min : 1;
    bool lonely = replicas == 1 && job->passes_max > 1;

    *out_hi = most < job->local_max ? (uint32_t)most : job->local_max;
    if (lonely && passes == 1 && *out_hi > job->batch_initial)
        *out_hi = job->batch_initial;
    if (passes > (lonely ? 2 : 1)) { /* more than one pass less holds */
        uint64_t held = (uint64_t)job->local_max * (passes - 1) / passes + 1;
        lo = held > lo ? (uint32_t)held : lo;
    }
    *out_lo = lo > least ? lo : least;
    return *out_lo <= *out_hi;
}

struct shoal_goodput_choice shoal_goodput_best(const struct shoal_goodput *job, uint32_t machines,
                                               uint32_t replicas)
{
    struct shoal_goodput_choice best = {0};
    uint32_t passes_max = job->passes_max > 0 ? job->passes_max : 1, lo, hi;

    if (replicas == 0 || machines == 0 || job->batch_initial == 0)
        return best;
    for (uint32_t passes = 1; passes <= passes_max; passes++) {
        if (!local_range(job, replicas, passes, &lo, &hi))
            continue;
        struct shoal_goodput_choice c = best_local(job, machines, replicas, passes, lo, hi);
        if (c.goodput > best.goodput)
            best = c;
        else if (passes > 2)
            break; /* larger batches only get worse */
    }
    return best;
}

/* ---- noise ---- */

void shoal_goodput_noise_add(struct shoal_goodput_noise *noise, double local_sqr, double total_sqr,
                             uint32_t count, double scale)
{
    if (!(local_sqr > 0 && total_sqr >= 0 && scale > 0 && count >= 2) || !isfinite(local_sqr) ||
        !isfinite(scale) ||
        total_sqr > local_sqr * (1 + 1e-6)) { /* a mean is no longer than its parts */
        noise->refused++;
        return;
    }
    double n = count, keep = fmax(1 - scale / MEMORY_STEPS, 0);
    double sqr = (n * total_sqr - local_sqr) / (n - 1);
    double var = fmax(local_sqr - total_sqr, 0) * scale / (n - 1);
    noise->sqr = keep * noise->sqr + (1 - keep) * sqr;
    noise->var = keep * noise->var + (1 - keep) * var;
    noise->weight = keep * noise->weight + (1 - keep);
}

void shoal_goodput_noise_read(const struct shoal_goodput_noise *noise, double *out_grad_sqr,
                              double *out_grad_var)
{
    double weight = noise->weight;

    *out_grad_sqr = weight > 0 ? fmax(noise->sqr / weight, DBL_MIN) : 1;
    *out_grad_var = weight > 0 ? fmax(noise->var / weight, DBL_MIN) : 0;
}
