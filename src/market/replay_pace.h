/* replay_pace.h - the arithmetic of one stay: how steps and checkpoints alternate. Shared by the
 * replay, the guard and the hindsight plan, so that all three mean the same. Pure; any thread. */
#ifndef MARKET_REPLAY_PACE_H
#define MARKET_REPLAY_PACE_H

#include "market/job.h"
#include <math.h>

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
