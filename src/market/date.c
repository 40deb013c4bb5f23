/* date.c - times for people to read. */
#include "market/date.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

/* Days are counted from 1 March of a year divisible by 400, where leap days come last. */
struct market_day market_day_of(int64_t days)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t in_era = days - era * 146097;
    int64_t years = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t in_year = in_era - (365 * years + years / 4 - years / 100);
    int64_t from_march = (5 * in_year + 2) / 153;
    unsigned month = (unsigned)(from_march < 10 ? from_march + 3 : from_march - 9);

    return (struct market_day){.year = years + era * 400 + (month <= 2),
                               .month = month,
                               .day = (unsigned)(in_year - (153 * from_march + 2) / 5 + 1)};
}

static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

const char *market_date_format(double at_s, enum market_date_form form, char *buf, size_t size)
{
    double minutes = floor((form == MARKET_DATE_MINUTE ? at_s + 30 : at_s) / 60);
    double days = floor(minutes / 1440);

    if (!(fabs(at_s) < 1e14)) {
        (void)snprintf(buf, size, "-");
        return buf;
    }
    struct market_day on = market_day_of((int64_t)days);
    unsigned minute = (unsigned)(minutes - days * 1440);
    if (form == MARKET_DATE_DAY)
        (void)snprintf(buf, size, "%04lld-%02u-%02u", (long long)on.year, on.month, on.day);
    else if (form == MARKET_DATE_MINUTE)
        (void)snprintf(buf, size, "%04lld-%02u-%02u %02u:%02u", (long long)on.year, on.month,
                       on.day, minute / 60, minute % 60);
    else if (form == MARKET_DATE_SHORT)
        (void)snprintf(buf, size, "%u %s", on.day, months[on.month - 1]);
    else if (form == MARKET_DATE_MONTH)
        (void)snprintf(buf, size, "%s %lld", months[on.month - 1], (long long)on.year);
    else
        (void)snprintf(buf, size, "%02u:%02u", minute / 60, minute % 60);
    return buf;
}
