/* avail_trace.h - traces of availability as read from files, before they are given to offers.
 *
 * A trace is a list of counts, each holding from a time on, of one kind in one zone. JSON counts
 * its time from its first tick; the lines of a CSV have their own. Owner thread only. */
#ifndef MARKET_AVAIL_TRACE_H
#define MARKET_AVAIL_TRACE_H

#include "base/map.h"
#include "env/table.h"
#include <stdbool.h>

enum { MARKET_TICKS_MAX = 100000000, MARKET_TRACES_MAX = 200000 };

struct market_level {
    double at_s;
    uint32_t count;
};

struct market_trace {
    const char *folder;      /* of the file, "" for CSV */
    const char *zone, *kind; /* in small letters, "v100_1" or "p3.2xlarge"; "" where not said */
    bool ticks;              /* from JSON: time counts from its own beginning */
    double gap_s;            /* between ticks; 0: none */
    size_t first, count;     /* its levels, by time, strictly rising, no two alike in a row */
    double end_s;            /* JSON: where the last tick ends; CSV: its last time */
};

struct market_traces {
    const struct base_alloc *alloc;
    struct base_arena arena;
    struct base_map csv; /* zone, NUL, kind -> trace, for lines of one in several places */
    struct market_trace *traces;
    size_t trace_count, trace_cap;
    struct market_level *levels;
    size_t level_count, level_cap;
    size_t files, skipped;
    char ignored[ENV_IGNORED_MAX]; /* columns that were not known; "": none */
};

/* Reads a file, or everything in a folder that is a trace. On failure *out is closed. */
SHOAL_MUST_USE shoal_status market_traces_load(shoal_env *env, const char *path,
                                               struct market_traces *out, shoal_err *err);
void market_traces_fini(struct market_traces *traces);

#endif
