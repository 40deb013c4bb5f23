/* job.h - work that may run anywhere: what it needs, how fast each kind of instance does it, and
 * what moving it costs. Plain values; any thread. */
#ifndef MARKET_JOB_H
#define MARKET_JOB_H

#include <stdint.h>

struct market_job {
    const char *name;
    double work;          /* in steps of the model, > 0 */
    double start_s;       /* not before; UTC */
    double deadline_s;    /* INFINITY: none */
    double budget_usd;    /* INFINITY: none */
    uint32_t instances;   /* of one offer, all or none; 1 or more */
    const double *speed;  /* steps/s of all its instances together, by kind (index of
                             market_prices.kinds); 0: it cannot run there */
    double checkpoint_gb; /* what moves with it */
};

/* What moving, starting and being interrupted cost. Rates in GB/s, prices in US dollars a GB. */
struct market_costs {
    double startup_s;          /* from asking for an instance to the first step, paid for */
    double checkpoint_s;       /* to write one: no steps meanwhile, paid for */
    double checkpoint_every_s; /* what is lost at most by an interruption without notice */
    double notice_s; /* told so long before an interruption: a checkpoint that takes no longer
                                is written then, and nothing is lost */
    double zone_gb_s, region_gb_s, cloud_gb_s;       /* checkpoint to another zone, region, cloud */
    double zone_usd_gb, region_usd_gb, cloud_usd_gb; /* egress */
};

/* startup 3 min, checkpoint 30 s every 10 min, notice 2 min; 1, 0.25, 0.1 GB/s; 0.01, 0.02, 0.09.
 */
#define MARKET_COSTS_INIT                                 \
    {                                                     \
        180, 30, 600, 120, 1, 0.25, 0.1, 0.01, 0.02, 0.09 \
    }

#endif
