/* when.h - times as price histories write them, and back. Seconds since 1970, UTC. Any thread. */
#ifndef MARKET_WHEN_H
#define MARKET_WHEN_H

#include <stdbool.h>
#include <stddef.h>

/* Times outside are not times of a history but a mistake in one. */
#define MARKET_WHEN_MIN 946684800.0  /* 2000-01-01 */
#define MARKET_WHEN_MAX 4102444800.0 /* 2100-01-01 */

/* 2024-01-13, 2024-01-13 04:46[:14[.5]] (or with 'T'), then nothing, Z, +01:00 or +0100. False for
 * anything else and for times outside 2000 to 2099; *out is untouched then. */
bool market_when_parse(const char *text, size_t length, double *out_s);
/* 2/24/2020, the month first. */
bool market_when_parse_us(const char *text, size_t length, double *out_s);

/* "2024-01-13T04:46:14Z"; seconds that are not whole, as a number of them since 1970 with the
 * fewest digits that read back equal. Returns buf. */
enum { MARKET_WHEN_TEXT = 40 };
const char *market_when_text(double at_s, char buf[MARKET_WHEN_TEXT]);

#endif
