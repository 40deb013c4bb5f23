/* pollux_search.h - the genetic search of Pollux over whole allocations.
 *
 * A searcher keeps the best answers of its last call, from which the next begins, and its random
 * numbers: equal calls from the first on give equal answers. Owner thread only. Tests:
 * tests/unit/sched/test_pollux_search.c. */
#ifndef SCHED_POLLUX_SEARCH_H
#define SCHED_POLLUX_SEARCH_H

#include "sched/pollux_problem.h"
#include "shoal/status.h"

enum { SCHED_POLLUX_POPULATION = 100, SCHED_POLLUX_GENERATIONS = 100 };

struct sched_pollux_search; /* searcher */

SHOAL_MUST_USE shoal_status sched_pollux_search_new(const struct base_alloc *alloc, uint64_t seed,
                                                    struct sched_pollux_search **out);
void sched_pollux_search_free(struct sched_pollux_search *search);
/* The best answer found, in `arena`, which is used for work too. Only SHOAL_E_NOMEM. */
SHOAL_MUST_USE shoal_status sched_pollux_search_run(struct sched_pollux_search *search,
                                                    const struct sched_pollux_problem *p,
                                                    struct base_arena *arena,
                                                    struct sched_pollux_places *out);

#endif
