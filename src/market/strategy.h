/* strategy.h - the contract between a strategy of buying and the replay.
 *
 * A strategy is pure: it sees one job and what every offer costs and has now, what has been seen
 * of each so far, and nothing of the future; it writes a score for every offer, US dollars that
 * the rest of the job is expected to cost when it goes on there now (moving there included); the
 * lowest wins. INFINITY: not there. `idle` is the score of holding nothing until the next
 * decision. Scores need only be right relative to each other. One file strategy/<name>.c with a
 * `const struct market_strategy market_strategy_<name>`, one row in strategy/table.h. */
#ifndef MARKET_STRATEGY_H
#define MARKET_STRATEGY_H

#include "base/opt.h"
#include "market/replay.h"

/* What has been seen of an offer up to now. */
struct market_seen {
    double up_s;            /* time it was up */
    uint32_t interruptions; /* of any job that was there, or would have been */
    double since_s;         /* since when it has been up, or down */
    double ends_expected;   /* interruptions that an average offer would have had (ages) */
};

/* How long offers stay up, and down, learnt from all that are watched: the time they have spent at
 * each age of being so, and how often it ended there. Bin b is of ages from 150 x 2^(b-1) seconds
 * to twice that, the first from 0. */
enum { MARKET_AGES = 16 };
struct market_ages {
    double up_s[MARKET_AGES], up_ends[MARKET_AGES];
    double down_s[MARKET_AGES], down_ends[MARKET_AGES];
};

struct market_view {
    const struct market_prices *prices;
    const struct market_job *job;
    const struct market_costs *costs;
    double now_s, step_s;
    double steps; /* done, the ones no checkpoint has yet too */
    double spent_usd;
    uint32_t held; /* the offer it is on, or MARKET_NONE */
    double held_since_s;
    uint32_t checkpoint; /* the offer where its checkpoint lies, or MARKET_NONE: nowhere yet */
    double safe_until_s; /* the guard acts then; INFINITY: no deadline */
    const double *usd_h; /* by offer, now; NAN: not offered */
    const uint32_t *up;  /* by offer: instances to be had by this job now */
    const struct market_seen *seen; /* by offer */
    const struct market_ages *ages;
    const uint32_t *candidates; /* offers this job could run on, allowed, by index */
    const double *speed;        /* of each candidate: steps a second in the long run */
    size_t candidate_count;
};

struct market_strategy {
    const char *name;
    const char *summary; /* one line */
    const char *paper;   /* where it comes from; NULL: ours */
    const shoal_opt *opts;
    size_t opt_count;
    size_t knobs_size;
    size_t note_size; /* bytes of the job's own that stay between decisions, zero at first */
    /* The job has not started and holds nothing: a look at the market, to learn from. NULL: what
     * was before the start is of no use to it. */
    void (*watch)(const void *knobs, void *note, const struct market_view *view);
    /* score[i] is of candidates[i]. */
    void (*score)(const void *knobs, void *note, const struct market_view *view, double *score,
                  double *idle);
};

/* What a step of the job costs there, in a unit of its own: for comparing. */
static inline double market_per_step(const struct market_view *v, uint32_t offer)
{
    return v->usd_h[offer] / v->job->speed[v->prices->offers[offer].kind];
}

/* Whether it is sold, and there is enough of it for the job. */
static inline bool market_had(const struct market_view *v, uint32_t offer)
{
    return !isnan(v->usd_h[offer]) && v->up[offer] >= v->job->instances;
}

extern const double market_age_to_s[MARKET_AGES]; /* the end of each bin */

size_t market_age_bin(double age_s);
/* The same from a bin on that is not beyond it: ages are counted often, and only grow. */
static inline size_t market_age_bin_from(size_t bin, double age_s)
{
    while (bin + 1 < MARKET_AGES && age_s >= market_age_to_s[bin])
        bin++;
    return bin;
}

/* Ends per second at an age, from time spent and ends seen there, with a prior of two ends at half
 * an end per age: what has lasted long lasts long. */
static inline double market_age_rate(const double *seconds, const double *ends, size_t bin)
{
    double four_ages_s = (bin == 0 ? 2 : 3) * market_age_to_s[bin]; /* of the middle of the bin */

    return (ends[bin] + 2) / (seconds[bin] + four_ages_s);
}

/* Seconds that it will last from the beginning of each bin on. */
void market_age_table(const double *seconds, const double *ends, double *left_s);
/* The same from an age on, out of that table. */
double market_age_left_s(const double *left_s, double age_s);

const struct market_strategy *const *market_strategies(size_t *out_count);
/* NULL: err says which there are. */
const struct market_strategy *market_strategy_find(const char *name, shoal_err *err);

/* Seconds from asking for offer `to` to its first step (start-up and transfer), and US dollars of
 * egress, when the checkpoint lies at offer `from` (MARKET_NONE: there is none yet). */
double market_move_s(const struct market_prices *prices, const struct market_job *job,
                     const struct market_costs *costs, uint32_t from, uint32_t to);
double market_move_usd(const struct market_prices *prices, const struct market_job *job,
                       const struct market_costs *costs, uint32_t from, uint32_t to);

#endif
