/* bind.h - what binding a trace to a cluster leaves behind: the tables its jobs' models borrow. */
#ifndef SIM_BIND_H
#define SIM_BIND_H

#include "sim/throughput.h"

struct sim_profiles;
struct sim_fitted;

struct sim_tables {
    const struct base_alloc *alloc;
    struct sim_throughput *throughput; /* or NULL */
    struct sim_profiles *profiles;     /* or NULL */
    struct sim_fitted *fitted;         /* or NULL */
};

void sim_tables_free(struct sim_tables *tables); /* NULL is allowed */

#endif
