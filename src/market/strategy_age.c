/* strategy_age.c - how long what has lasted so long will last: rates of ending by age, and the time
 * that is left. In the public traces of spot GPUs a stay up ends at a rate of about half an end per
 * age, from ten minutes to a day: the mean over all ages says little about any of them. */
#include "market/strategy.h"

#include <math.h>

#define FIRST_S 150.0

const double market_age_to_s[MARKET_AGES] = {
    FIRST_S,        FIRST_S * 2,    FIRST_S * 4,     FIRST_S * 8,    FIRST_S * 16,   FIRST_S * 32,
    FIRST_S * 64,   FIRST_S * 128,  FIRST_S * 256,   FIRST_S * 512,  FIRST_S * 1024, FIRST_S * 2048,
    FIRST_S * 4096, FIRST_S * 8192, FIRST_S * 16384, FIRST_S * 32768};

static double bin_from_s(size_t bin)
{
    return bin == 0 ? 0 : market_age_to_s[bin - 1];
}

size_t market_age_bin(double age_s)
{
    return market_age_bin_from(0, age_s);
}

void market_age_table(const double *seconds, const double *ends, double *left_s)
{
    double after = 0;

    for (size_t b = MARKET_AGES; b > 0; b--) {
        double rate = market_age_rate(seconds, ends, b - 1);
        double stays =
            b == MARKET_AGES ? 0 : exp(-rate * (market_age_to_s[b - 1] - bin_from_s(b - 1)));
        after = (1 - stays) / rate + stays * after;
        left_s[b - 1] = after;
    }
}

double market_age_left_s(const double *left_s, double age_s)
{
    size_t bin = market_age_bin(age_s);

    if (bin + 1 == MARKET_AGES)
        return left_s[bin];
    double part = fmax(0, age_s - bin_from_s(bin)) / (market_age_to_s[bin] - bin_from_s(bin));
    return left_s[bin] + part * (left_s[bin + 1] - left_s[bin]);
}
