/* tables.h - a fit as the tables that the scheduler's model of a job is made of (save.h). Any
 * thread. Tests: tests/unit/advise/test_choose.c. */
#ifndef ADVISE_TABLES_H
#define ADVISE_TABLES_H

#include "advise/choose.h"
#include "sched/model_fitted.h"

/* Of one algorithm, for the machine counts of `choice` that are good, on the way to `target`: at
 * most SCHED_FITTED_MACHINES_MAX of them, those nearest to powers of two when there are more.
 * Memory is the arena's. SHOAL_E_IMPOSSIBLE: no count is good. */
SHOAL_MUST_USE shoal_status advise_tables_make(const struct advise_fit *fit,
                                               const struct advise_choice *choice,
                                               uint32_t algorithm, double target,
                                               struct base_arena *arena, struct sched_fitted *out);

#endif
