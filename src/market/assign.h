/* assign.h - which job goes where: the assignment of jobs to offers with the smallest sum of
 * scores, within what each offer has and what limits over groups of offers allow.
 *
 * Exact where all jobs need one instance and no limit binds (a transportation problem, by shortest
 * augmenting paths). Otherwise jobs are placed in the order of how much they would lose by their
 * second choice, and then improved by moving one job or exchanging two until nothing helps;
 * `bound` (the sum with every job's best choice, or the exact optimum without limits) says how far
 * from the best that can be at most. Ties go to the job and the offer with the smaller index, so
 * the result depends on nothing but the input. Cost: jobs^2 x offers at worst. Owner thread only.
 */
#ifndef MARKET_ASSIGN_H
#define MARKET_ASSIGN_H

#include "base/alloc.h"
#include "shoal/status.h"
#include <stdbool.h>
#include <stdint.h>

enum { MARKET_ASSIGN_IDLE = UINT32_MAX };

struct market_assign_limit {
    const bool *covers; /* by offer */
    uint32_t instances;
};

struct market_assign {
    size_t job_count, offer_count;
    const double *score;  /* (jobs, offers), row-major; INFINITY: not there */
    const double *idle;   /* by job: the score of holding nothing, finite */
    const uint32_t *need; /* by job: instances, all of one offer */
    const uint32_t *room; /* by offer: instances that can be had */
    const struct market_assign_limit *limits;
    size_t limit_count;
};

struct market_assigned {
    double sum, bound; /* of the scores; bound <= best <= sum */
    bool exact;        /* proven best */
};

/* pick[j]: offer of job j, or MARKET_ASSIGN_IDLE. SHOAL_E_NOMEM leaves it untouched. */
SHOAL_MUST_USE shoal_status market_assign(const struct base_alloc *alloc,
                                          const struct market_assign *problem, uint32_t *pick,
                                          struct market_assigned *out);

#endif
