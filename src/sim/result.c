/* result.c - letting go of a result, names of what it counts, and how its figures by kind are
 * written. Any thread, once no other thread reads the result. Tests: test_report.c, test_shares.c,
 * test_detail.c. */
#include "sim/result.h"

#include "base/event.h"

void sim_result_free(struct sim_result *result)
{
    if (result == NULL)
        return;
    const struct base_alloc *alloc = result->alloc;
    base_free(alloc, result->jobs);
    base_free(alloc, result->details);
    base_free(alloc, result->received_s);
    base_free(alloc, result->wanted_s);
    for (size_t k = 0; k < SCHED_KINDS_MAX; k++) {
        base_free(alloc, result->series.busy[k]);
        base_free(alloc, result->series.price[k]);
        base_free(alloc, result->series.next[k]);
    }
    base_free(alloc, result->series.waiting);
    base_free(alloc, result->series.running);
    base_free(alloc, result->segments);
    base_buf_fini(&result->story);
    base_buf_fini(&result->why);
    base_free(alloc, result);
}

const char *sim_wait_name(enum sim_wait wait)
{
    static const char *const names[SIM_WAIT_COUNT] = {[SIM_WAIT_FAIR_SHARE] = "fair_share",
                                                      [SIM_WAIT_LOCALITY] = "locality",
                                                      [SIM_WAIT_CAPACITY] = "capacity",
                                                      [SIM_WAIT_OTHER] = "other"};
    return names[wait];
}

const char *sim_servers_name(uint32_t bin)
{
    static const char *const names[SIM_SERVERS_COUNT] = {"1", "2", "3-4", "5-8", "9+"};

    return names[bin];
}

void sim_result_by_kind(const struct sched_cluster *cluster, const double *values,
                        struct base_buf *out)
{
    for (uint32_t k = 0; k < cluster->kind_count; k++) {
        base_buf_puts(out, k == 0 ? "{" : ",");
        base_buf_json_string(out, cluster->kinds[k].name);
        base_buf_puts(out, ":");
        base_json_f64(out, values[k]);
    }
    base_buf_puts(out, "}");
}
