/* report.h - one self-contained HTML page about one or more results on the same trace and cluster.
 *
 * Inline SVG written here, no scripts needed to read it, printable, under 1 MB. */
#ifndef SIM_REPORT_H
#define SIM_REPORT_H

#include "base/buf.h"
#include "sim/result.h"

struct sim_report_opts {
    const char *command; /* the command line that repeats it */
    const char *title;   /* NULL: made from the trace */
    uint64_t seed;
    double round_s;
    double react_s; /* 0: decisions at rounds only */
};

/* Appends the page to `out`. Results share trace and cluster. SHOAL_E_NOMEM or SHOAL_E_LIMIT from
 * the buffer. */
SHOAL_MUST_USE shoal_status sim_report(const struct sim_result *const *results, size_t count,
                                       const struct sim_report_opts *opts, struct base_buf *out,
                                       shoal_err *err);

#endif
