/* small_world.h - markets small enough to check by hand: a few offers with random prices, made as
 * plain structs. Times are whole seconds. What is not sold for a while stands for spot that goes
 * down. */
#ifndef TESTS_MARKET_SMALL_WORLD_H
#define TESTS_MARKET_SMALL_WORLD_H

#include "base/rand.h"
#include "market/strategy.h"
#include <math.h>
#include <string.h>

enum { SMALL_OFFERS = 8, SMALL_POINTS = 40, SMALL_KINDS = 3, SMALL_JOBS = 6 };

struct small_world {
    struct market_prices prices;
    struct market_offer offers[SMALL_OFFERS];
    struct market_point points[SMALL_OFFERS * SMALL_POINTS];
    double speed[SMALL_KINDS];
    struct market_costs costs;
    struct market_world market; /* of these; all is up whenever it is sold */
    struct market_job jobs[SMALL_JOBS];
};

struct small_shape {
    size_t spot, on_demand, points;
    double span_s, gap_s; /* of the history; between changes of an offer, on average */
    double down;          /* share of changes to not sold */
};

/* Offers sorted as prices.h wants them only by index: nothing here looks at names. */
static inline void small_offer(struct small_world *w, struct base_rand *rand,
                               const struct small_shape *shape, size_t i)
{
    bool spot = i < shape->spot;
    size_t first = w->prices.point_count, count = spot ? shape->points : 1;
    double at = 0;

    w->offers[i] = (struct market_offer){.cloud = (uint32_t)base_rand_below(rand, 2),
                                         .region = (uint32_t)base_rand_below(rand, 2),
                                         .zone = (uint32_t)base_rand_below(rand, 3),
                                         .kind = (uint32_t)base_rand_below(rand, SMALL_KINDS),
                                         .how = spot ? MARKET_SPOT : MARKET_ON_DEMAND,
                                         .first = first,
                                         .count = count};
    w->offers[i].region +=
        2 * w->offers[i].cloud; /* a region is of one cloud, a zone of one region */
    w->offers[i].zone += 3 * w->offers[i].region;
    for (size_t k = 0; k < count; k++) {
        bool down = spot && base_rand_unit(rand) < shape->down;
        double usd = spot ? base_rand_range(rand, 1, 3) : base_rand_range(rand, 4, 6);
        w->points[w->prices.point_count++] = (struct market_point){at, down ? NAN : usd};
        at += 1 + (double)base_rand_below(rand, (uint64_t)(2 * shape->gap_s));
    }
}

static inline void small_world(struct small_world *w, struct base_rand *rand,
                               const struct small_shape *shape)
{
    memset(w, 0, sizeof *w);
    w->prices = (struct market_prices){.offers = w->offers,
                                       .offer_count = shape->spot + shape->on_demand,
                                       .points = w->points,
                                       .from_s = 0,
                                       .to_s = shape->span_s};
    for (size_t i = 0; i < w->prices.offer_count; i++)
        small_offer(w, rand, shape, i);
    for (size_t k = 0; k < SMALL_KINDS; k++)
        w->speed[k] = 1 + (double)base_rand_below(rand, 3);
    w->costs = (struct market_costs){
        .startup_s = (double)base_rand_below(rand, 60),
        .checkpoint_s = (double)base_rand_below(rand, 20),
        .checkpoint_every_s = 20 + (double)base_rand_below(rand, 200),
        .notice_s = base_rand_unit(rand) < 0.5 ? 0 : 30,
        .zone_gb_s = 4,
        .region_gb_s = 1,
        .cloud_gb_s = 0.5,
        .zone_usd_gb = 0.001,
        .region_usd_gb = 0.002,
        .cloud_usd_gb = 0.009,
    };
    w->market = (struct market_world){.prices = &w->prices, .costs = &w->costs};
    for (size_t j = 0; j < SMALL_JOBS; j++)
        w->jobs[j] = (struct market_job){.name = "job",
                                         .work = 1000,
                                         .deadline_s = INFINITY,
                                         .budget_usd = INFINITY,
                                         .instances = 1,
                                         .speed = w->speed,
                                         .checkpoint_gb = (double)base_rand_below(rand, 10)};
}

/* A strategy that wanders: any offer, or nothing, by a hash of the time. */
static inline double small_hash(double at_s, uint32_t offer)
{
    struct base_rand rand;

    base_rand_init(&rand, (uint64_t)(at_s / 97) * 1000 + offer, "wander");
    return base_rand_unit(&rand);
}

static inline void small_wander_score(const void *knobs, void *note, const struct market_view *v,
                                      double *score, double *idle)
{
    (void)knobs;
    (void)note;
    *idle = 0.5 * small_hash(v->now_s, 1000);
    for (size_t i = 0; i < v->candidate_count; i++) {
        uint32_t o = v->candidates[i];
        bool had = !isnan(v->usd_h[o]) && v->up[o] >= v->job->instances;
        score[i] = had ? small_hash(v->now_s, o) : INFINITY;
    }
}

static const struct market_strategy small_wander = {.name = "wander", .score = small_wander_score};

#endif
