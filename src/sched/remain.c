/* remain.c - mean residual life of a log-normal (see remain.h).
 *
 * With z = (ln x - ln told) / s for progress x and error s,
 *   E[W | W > x] = told exp(s^2 / 2) P(N > z - s) / P(N > z), N standard normal.
 * Far beyond what was told both tails vanish; with the scaled erfcx(y) = exp(y^2) erfc(y) the same is
 * x erfcx((z - s) / sqrt 2) / erfcx(z / sqrt 2), which stays in range. */
#include "sched/remain.h"

#include <math.h>

static const double FAR = 5;        /* from here on erfcx is a continued fraction */
static const double CERTAIN = 1e-6; /* an error below this is none */
static const double UNCERTAIN = 10; /* one from here on says nothing */
static const double LEAST = 1e-9;   /* of what was told: never nothing */

/* exp(y^2) erfc(y) for y >= FAR, by the continued fraction of Laplace. */
static double erfcx_far(double y)
{
    double f = y;

    for (int k = 40; k > 0; k--)
        f = y + k / 2.0 / f;
    return 1 / (f * sqrt(acos(-1)));
}

double sched_remain(double told, double error, double progress)
{
    double s = error > CERTAIN ? error : 0, root = sqrt(2);

    if (!(told > 0) || !isfinite(told) || !(s < UNCERTAIN))
        return NAN;
    progress = progress > 0 ? progress : 0;
    if (s <= 0)
        return progress < told ? told - progress : NAN;
    if (progress <= 0)
        return told * exp(s * s / 2);
    double z = log(progress / told) / s, high = (z - s) / root, low = z / root;
    if (high >= FAR)
        return progress * (erfcx_far(high) / erfcx_far(low) - 1);
    double left = told * exp(s * s / 2) * erfc(high) / erfc(low) - progress;
    return left > LEAST * told ? left : LEAST * told;
}

double sched_remain_unknown(double least, double progress)
{
    return least + (progress > 0 ? progress : 0);
}

double sched_remain_told(double told, double least, double progress)
{
    return isfinite(told) && told > progress ? told - progress : fmax(progress, least);
}
