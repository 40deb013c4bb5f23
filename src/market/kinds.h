/* kinds.h - what accelerators the well-known kinds of instances hold, for histories that do not
 * say.
 *
 * Facts of the clouds' own catalogues, by family; a file that says something else is believed. Any
 * thread. */
#ifndef MARKET_KINDS_H
#define MARKET_KINDS_H

#include <stdbool.h>

/* "aws" "p3.8xlarge": V100, 4. False: not in the table. */
bool market_kinds_find(const char *cloud, const char *kind, const char **out_accelerator,
                       double *out_count);

#endif
