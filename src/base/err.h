/* err.h - filling a shoal_err. The function that decides what went wrong writes it, once, and
 * returns the status:
 *
 *     return base_err(err, SHOAL_E_FORMAT, "cannot read trace '%s': empty file", path);
 *
 * A NULL err is allowed everywhere. Any thread. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "shoal/status.h"

/* Sets code and message, clears where and hint, returns code. Long text is cut at the end. */
shoal_status base_err(shoal_err *err, shoal_status code, const char *format, ...)
    SHOAL_PRINTF(3, 4);

/* Add to an err already set: where it happened, what to do about it. Code and message stay. */
void base_err_where(shoal_err *err, const char *format, ...) SHOAL_PRINTF(2, 3);
void base_err_hint(shoal_err *err, const char *format, ...) SHOAL_PRINTF(2, 3);

/* "out of memory while WHAT", SHOAL_E_NOMEM. */
shoal_status base_err_nomem(shoal_err *err, const char *what);

#endif
