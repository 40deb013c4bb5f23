/* choose.h - one option for each job, none of the kinds used up: the largest sum of values.
 *
 * Job m has options; option o is worth value_o and takes amount_o of one kind. A job takes one of
 * its options or none, which is worth 0. Kind k has capacity_k in all. Wanted is the choice with the
 * largest sum of values: a knapsack with several choices and several sacks, where only the few
 * capacities couple jobs. So each kind gets a price, each job answers alone, and the prices at which
 * answers fit best prove a bound (choose.c says how). What is found is a choice that fits and the
 * bound: nobody can do better than that.
 *
 * A solver keeps its memory and the last prices, from which the next call starts: right for any
 * problem of as many kinds, and fast for one like the last. Deterministic given its calls. Owner
 * thread only. Tests: tests/unit/num/test_choose.c. */
#ifndef NUM_CHOOSE_H
#define NUM_CHOOSE_H

#include "base/alloc.h"
#include "shoal/status.h"
#include <stddef.h>

enum { NUM_CHOOSE_KINDS_MAX = 16 };
#define NUM_CHOOSE_NONE UINT32_MAX

struct num_choose_option {
    float value;     /* finite; not above 0: never taken */
    uint32_t amount; /* > 0 */
    uint32_t kind;
};

struct num_choose_problem {
    uint32_t kind_count; /* 1 .. NUM_CHOOSE_KINDS_MAX */
    double capacity[NUM_CHOOSE_KINDS_MAX];
    uint32_t job_count;
    const size_t *first; /* (jobs + 1): where the options of each begin */
    const struct num_choose_option *options;
    double gap; /* relative; good enough to stop at */
};

struct num_choose_result {
    double value, bound; /* bound >= value */
    double price[NUM_CHOOSE_KINDS_MAX];
    double left[NUM_CHOOSE_KINDS_MAX]; /* of each capacity */
    const uint32_t *pick; /* (jobs): index into options, or NUM_CHOOSE_NONE; the solver's, until its
                             next call */
    uint32_t passes;      /* over all options */
};

struct num_choose; /* solver */

SHOAL_MUST_USE shoal_status num_choose_new(const struct base_alloc *alloc, struct num_choose **out);
void num_choose_free(struct num_choose *c);
/* SHOAL_E_INVAL: a number out of the ranges above. SHOAL_E_NOMEM. *out is then unchanged. */
SHOAL_MUST_USE shoal_status num_choose_solve(struct num_choose *c,
                                             const struct num_choose_problem *p,
                                             struct num_choose_result *out);

#endif
