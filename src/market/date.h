/* date.h - times for people to read, in UTC. Any thread. */
#ifndef MARKET_DATE_H
#define MARKET_DATE_H

#include <stddef.h>
#include <stdint.h>

/* The day so many days after 1 January 1970, in the calendar carried on both ways. */
struct market_day {
    int64_t year;
    unsigned month, day; /* from 1 */
};
struct market_day market_day_of(int64_t days);

/* "2025-03-01", "2025-03-01 12:00", "1 Mar", "Mar 2025", "12:00"; "-" when it is no time. Returns
 * buf. */
enum market_date_form {
    MARKET_DATE_DAY,
    MARKET_DATE_MINUTE,
    MARKET_DATE_SHORT,
    MARKET_DATE_MONTH,
    MARKET_DATE_CLOCK
};
const char *market_date_format(double at_s, enum market_date_form form, char *buf, size_t size);

#endif
