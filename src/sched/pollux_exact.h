/* pollux_exact.h - Pollux's objective without a search: sizes by prices, then places.
 *
 * An exact keeps a solver and its prices: equal calls from the first on give equal answers. Owner
 * thread only. Tests: tests/unit/sched/test_pollux_search.c. */
#ifndef SCHED_POLLUX_EXACT_H
#define SCHED_POLLUX_EXACT_H

#include "sched/pollux_problem.h"
#include "shoal/status.h"

struct sched_pollux_exact; /* solver */

SHOAL_MUST_USE shoal_status sched_pollux_exact_new(const struct base_alloc *alloc,
                                                   struct sched_pollux_exact **out);
void sched_pollux_exact_free(struct sched_pollux_exact *exact);
/* Costs of the sizes that were chosen, if all had compact places, and a proven bound: no choice of
 * sizes costs less. */
struct sched_pollux_sizes {
    double cost, bound;
};

/* An answer, in `arena`, which is used for work too; out_sizes is optional. Only SHOAL_E_NOMEM. */
SHOAL_MUST_USE shoal_status sched_pollux_exact_run(struct sched_pollux_exact *exact,
                                                   const struct sched_pollux_problem *p,
                                                   struct base_arena *arena,
                                                   struct sched_pollux_places *out,
                                                   struct sched_pollux_sizes *out_sizes);

#endif
