/* runs_parts.h - what runs.c and runs_json.c share. Owner thread only. */
#ifndef ADVISE_RUNS_PARTS_H
#define ADVISE_RUNS_PARTS_H

#include "advise/runs.h"
#include "env/table.h"

/* 1.5: times the way to its next point, so far a run begins late. */
extern const double advise_runs_late;

/* Goes on from where `lines` stands to the end of the input. */
SHOAL_MUST_USE shoal_status advise_runs_json(struct advise_runs *runs, struct env_lines *lines,
                                             shoal_err *err);

#endif
