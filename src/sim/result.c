/* result.c - letting go of a result. Any thread, once no other thread reads the result. Tests:
 * test_report.c. */
#include "sim/result.h"

void sim_result_free(struct sim_result *result)
{
    if (result == NULL)
        return;
    const struct base_alloc *alloc = result->alloc;
    base_free(alloc, result->jobs);
    for (size_t k = 0; k < SCHED_KINDS_MAX; k++)
        base_free(alloc, result->series.busy[k]);
    base_free(alloc, result->series.waiting);
    base_free(alloc, result->series.running);
    base_free(alloc, result->segments);
    base_buf_fini(&result->story);
    base_buf_fini(&result->why);
    base_free(alloc, result);
}
