/* axis.c - where the ticks of an axis are and what they say: time, counts, shares, plain numbers, even and
 * logarithmic. Tests: tests/unit/page/test_axis.c. */
#include "page/page.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static void add_tick(struct page_axis *axis, double at, bool optional, const char *label)
{
    if (axis->count == PAGE_TICKS_MAX || !(at >= -1e-9 && at <= 1 + 1e-9))
        return;
    struct page_tick *tick = &axis->ticks[axis->count++];
    tick->at = at < 0 ? 0 : at > 1 ? 1 : at;
    tick->optional = optional;
    snprintf(tick->label, sizeof tick->label, "%s", label);
}

void page_axis_time(struct page_axis *axis, double span_s)
{
    static const double steps_s[] = {
        1e-3,  1e-2,   0.1,    1,      2,       5,       10,      15,       30,      60,
        120,   300,    600,    900,    1800,    3600,    7200,    10800,    21600,   43200,
        86400, 172800, 432000, 864000, 1728000, 4320000, 8640000, 17280000, 43200000};
    axis->count = 0;
    double step = span_s / 5; /* spans beyond the list */
    for (size_t i = 0; i < sizeof steps_s / sizeof *steps_s; i++)
        if (span_s / steps_s[i] <= 9) {
            step = steps_s[i];
            break;
        }
    double unit = step >= 86400 ? 86400 : step >= 3600 ? 3600 : step >= 60 ? 60 : 1;
    const char *name = step >= 86400 ? "d" : step >= 3600 ? "h" : step >= 60 ? "min" : "s";
    for (int i = 0; i * step <= span_s * (1 + 1e-9); i++) {
        char label[24];
        snprintf(label, sizeof label, i == 0 ? "0" : "%.4g\xc2\xa0%s", i * step / unit, name);
        add_tick(axis, i * step / span_s, i % 2 == 1, label);
    }
}

void page_axis_log(struct page_axis *axis, double lo, double hi)
{
    axis->count = 0;
    double width = log(hi / lo);
    bool decades = hi / lo > 3000; /* too many for 1 2 5 */
    for (int power = (int)floor(log10(lo)); power <= (int)ceil(log10(hi)); power++)
        for (int digit = 1; digit <= 5; digit += digit == 1 ? 1 : 3) {
            double value = digit * pow(10, power);
            char label[24];
            snprintf(label, sizeof label, "%.6g", value);
            if (value >= lo * (1 - 1e-9) && value <= hi * (1 + 1e-9) && (digit == 1 || !decades))
                add_tick(axis, log(value / lo) / width, digit != 1 && hi / lo > 30, label);
        }
}

/* 1, 2 or 5 times a power of ten: the least that is not below `raw`, which is above zero. */
static double round_step(double raw)
{
    double power = pow(10, floor(log10(fmax(raw, DBL_MIN))));
    double digit = raw / power;

    return (digit <= 1.001 ? 1 : digit <= 2.001 ? 2 : digit <= 5.001 ? 5 : 10) * power;
}

double page_axis_count(struct page_axis *axis, double max)
{
    axis->count = 0;
    if (!(max > 0) || !isfinite(max))
        max = 1;
    double step = round_step(max / 4);
    if (step < 1 && max >= 1)
        step = 1;
    double top = ceil(max / step - 1e-9) * step;
    for (int i = 0; i * step <= top * (1 + 1e-9); i++) {
        double value = i * step;
        char label[24];
        if (value >= 1e6)
            snprintf(label, sizeof label, "%.4gM", value / 1e6);
        else if (value >= 1e4)
            snprintf(label, sizeof label, "%.4gk", value / 1e3);
        else
            snprintf(label, sizeof label, "%.4g", value);
        add_tick(axis, value / top, false, label);
    }
    return top;
}

void page_axis_range(struct page_axis *axis, double *lo, double *hi)
{
    axis->count = 0;
    if (!isfinite(*lo) || !isfinite(*hi) || *lo > *hi) {
        *lo = 0;
        *hi = 1;
    }
    if (*hi - *lo <= 1e-9 * fmax(fabs(*lo), fabs(*hi)) || *hi == *lo) {
        double around = *lo != 0 ? 0.01 * fabs(*lo) : 1;
        *lo -= around;
        *hi += around;
    }
    double step = round_step((*hi - *lo) / 4);
    double first = floor(*lo / step + 1e-9), last = ceil(*hi / step - 1e-9);
    for (double i = first; i <= last && axis->count < PAGE_TICKS_MAX; i++) {
        char label[24];
        double value = i * step;
        if (fabs(value) >= 1e6 && fabs(value) < 1e9)
            snprintf(label, sizeof label, "%.6gM", value / 1e6);
        else
            snprintf(label, sizeof label, "%.6g", value);
        add_tick(axis, (i - first) / (last - first), false, label);
    }
    *lo = first * step;
    *hi = last * step;
}
