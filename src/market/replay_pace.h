/* replay_pace.h - work that may run anywhere (what it needs, how fast each kind of instance does it, what moving it
 * costs), and the arithmetic of one stay: how steps and checkpoints alternate. Shared by the replay, the guard and
 * the hindsight plan, so that all three mean the same. Plain values, pure functions; any thread. */
#ifndef MARKET_REPLAY_PACE_H
#define MARKET_REPLAY_PACE_H

#include <math.h>
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

struct market_pace {
    double speed; /* steps/s while it steps */
    double every_s, checkpoint_s;
};

static inline struct market_pace market_pace(const struct market_costs *costs, double speed)
{
    return (struct market_pace){speed, costs->checkpoint_every_s, costs->checkpoint_s};
}

/* Steps made in `run_s` seconds from the first one. */
static inline double market_pace_made(struct market_pace pace, double run_s)
{
    double cycle = pace.every_s + pace.checkpoint_s;

    if (run_s <= 0)
        return 0;
    double whole = floor(run_s / cycle);
    return pace.speed * (whole * pace.every_s + fmin(run_s - whole * cycle, pace.every_s));
}

/* Those of them that a checkpoint has. */
static inline double market_pace_saved(struct market_pace pace, double run_s)
{
    double cycle = pace.every_s + pace.checkpoint_s;

    return run_s <= 0 ? 0 : pace.speed * floor(run_s / cycle) * pace.every_s;
}

/* Seconds until so many are made. */
static inline double market_pace_s(struct market_pace pace, double steps)
{
    double stepping = steps / pace.speed;

    if (steps <= 0)
        return 0;
    return stepping + pace.checkpoint_s * fmax(0, ceil(stepping / pace.every_s) - 1);
}

/* Steps a second in the long run, checkpoints counted. */
static inline double market_pace_mean(struct market_pace pace)
{
    return pace.speed * (pace.every_s / (pace.every_s + pace.checkpoint_s));
}

#endif
