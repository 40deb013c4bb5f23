/* runs_parts.h - the two readers behind runs.h. Owner thread only. */
#ifndef ADVISE_RUNS_PARTS_H
#define ADVISE_RUNS_PARTS_H

#include "advise/runs.h"
#include "env/lines.h"

/* 1.5: times the way to its next point, so far a run begins late. */
extern const double advise_runs_late;

/* Both go on from where `lines` stands: at the first line that is not blank. */
SHOAL_MUST_USE shoal_status advise_runs_csv(struct advise_runs *runs, struct env_lines *lines,
                                            shoal_err *err);
SHOAL_MUST_USE shoal_status advise_runs_json(struct advise_runs *runs, struct env_lines *lines,
                                             shoal_err *err);

#endif
