/* prices.h - what a GPU of each kind of a cluster costs over the time of a simulation, from a
 * history of prices.
 *
 * A kind takes the cheapest offer, at each time, whose instance kind or accelerator has its name
 * (case does not matter), spot or on demand, divided by the accelerators of the instance (by one
 * where the history does not say). Where nothing is offered it costs what the cluster says, and is
 * without a price when that says nothing. Second 0 of the trace is `from_s` of the history; the
 * last price holds for ever. Immutable once made, any thread; borrows nothing. Tests:
 * tests/unit/sim/test_prices.c. */
#ifndef SIM_PRICES_H
#define SIM_PRICES_H

#include "market/prices.h"
#include "sched/cluster.h"

struct sim_price_step {
    double at_s;      /* of the trace; the first is -INFINITY */
    double usd_gpu_h; /* until the next; negative: not known */
};

struct sim_price_kind {
    struct sim_price_step *steps;
    size_t count;
    uint32_t offers;   /* that have its name; 0: its price is the cluster's all the time */
    bool whole;        /* some of them do not say how many accelerators they have */
    double unpriced_s; /* of the history, without an offer */
};

struct sim_prices {
    const struct base_alloc *alloc;
    struct sim_price_kind kinds[SCHED_KINDS_MAX]; /* as the cluster's */
    uint32_t kind_count;
    double first_s, last_s; /* of the history, as times of the trace */
};

/* SHOAL_E_NOTFOUND when no kind of the cluster is in the history; *out changes only on success. */
SHOAL_MUST_USE shoal_status sim_prices_new(const struct base_alloc *alloc,
                                           const struct market_prices *market,
                                           const struct sched_cluster *cluster, double from_s,
                                           struct sim_prices **out, shoal_err *err);
void sim_prices_free(struct sim_prices *prices);

/* The mean price of a kind from one time to a later one, exactly the price where it does not
 * change; negative when it is not known all the time. The price at a time: both the same. */
double sim_prices_mean(const struct sim_prices *prices, uint32_t kind, double from_s, double to_s);
/* Writes the prices at a time into the kinds; true when one of them changed. */
bool sim_prices_set(const struct sim_prices *prices, double at_s, struct sched_kind *kinds);
/* When one of them changes next, after a time; INFINITY: never. */
double sim_prices_next_s(const struct sim_prices *prices, double at_s);

#endif
