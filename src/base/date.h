/* date.h - times for people to read, in UTC. Any thread. */
#ifndef BASE_DATE_H
#define BASE_DATE_H

#include <stddef.h>
#include <stdint.h>

/* The day so many days after 1 January 1970, in the calendar carried on both ways. */
struct base_day {
    int64_t year;
    unsigned month, day; /* from 1 */
};
struct base_day base_day_of(int64_t days);

/* "2025-03-01", "2025-03-01 12:00", "1 Mar", "Mar 2025", "12:00"; "-" when it is no time. Returns
 * buf. */
enum base_date_form {
    BASE_DATE_DAY,
    BASE_DATE_MINUTE,
    BASE_DATE_SHORT,
    BASE_DATE_MONTH,
    BASE_DATE_CLOCK
};
const char *base_date_format(double at_s, enum base_date_form form, char *buf, size_t size);

/* "2024-01-13T04:46:14Z", the nearest second, of finite times; "-" when it is no time. Returns buf. */
enum { BASE_UTC_TEXT = 40 };
const char *base_format_utc(double at_s, char buf[BASE_UTC_TEXT]);

#endif
