/* quotas.h - how many GPUs each group of jobs has a right to.
 *
 * Given as "vision=64,speech=32" or in a file of such lines (`#` starts a comment); groups that are
 * not named have none. Not given: the GPUs of the cluster by the groups' shares of the GPU time in
 * the trace, in whole GPUs (largest remainder), one at least where there are as many GPUs as
 * groups. A trace with one group has no quotas: there is nobody to share with; "none" asks for
 * none. Any thread, on caller-owned memory. Tests: tests/unit/study/test_quotas.c. */
#ifndef STUDY_QUOTAS_H
#define STUDY_QUOTAS_H

#include "study/jobs.h"

struct study_quotas {
    const struct base_alloc *alloc;
    uint32_t *gpus; /* by group of the trace */
    double *gpu_s;  /* their GPU time */
    size_t count;
    bool none;  /* no quotas: one group, or asked for */
    bool given; /* and not by share */
    uint64_t sum;
    struct base_buf knob; /* "quota=g0=64+g1=32" for the policy; empty: no quotas */
};

/* `text`: a spec, the name of a file, or "none"; NULL: by share. */
SHOAL_MUST_USE shoal_status study_quotas_init(struct study_quotas *quotas, shoal_env *env,
                                              const char *text, const struct sim_trace *trace,
                                              const struct study_jobs *jobs, uint32_t gpus,
                                              shoal_err *err);
void study_quotas_fini(struct study_quotas *quotas);

#endif
