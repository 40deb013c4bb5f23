/* avail.h - how many instances of each spot offer can be had, and when.
 *
 * Three sources: traces of these very zones (load); pieces of traces of other zones, since public
 * traces cover few zones and other years than prices do (cut); and up and down times drawn from
 * exponential distributions (draw). Where the count falls below what runs, what runs is
 * interrupted. Offers on demand can always be had. Immutable once made; any thread; it keeps
 * nothing of `prices` but the order of its offers. */
#ifndef MARKET_AVAIL_H
#define MARKET_AVAIL_H

#include "market/prices.h"

struct market_avail;

#define MARKET_UNLIMITED UINT32_MAX

/* Each reads a file or folder of traces: Shoal's CSV (time,zone,kind,count; docs/formats.md), or
 * JSON of ticks ({"metadata":{"gap_seconds":..},"data":[..]}) whose name tells zone and kind:
 * us-west-2a_v100_1.json, zone, accelerator and how many of it an instance has, or
 * us-west-2a_p3.2xlarge.json. */

/* The traces as they are: the times of a CSV are its own, the first tick of JSON is at `from_s`. A
 * trace speaks of the spot offers of its zone whose kind it names, or whose accelerator and number
 * of them. Offers that no trace speaks of cannot be had, nor any before its trace begins or after
 * JSON ends: what is not known to be there is not counted on. A trace without offers is counted in
 * the facts; if all are, that is an error. Lines of CSV of one zone and kind are one trace, in
 * whatever files they are; two traces of one zone and kind are an error. */
SHOAL_MUST_USE shoal_status market_avail_load(shoal_env *env, const struct market_prices *prices,
                                              const char *path, double from_s,
                                              struct market_avail **out, shoal_err *err);
/* The traces as patterns: each spot offer follows one of them, turned by a random offset and
 * repeated for ever. What an offer gets depends on the seed, the files and the offer's own cloud,
 * region, zone and kind: other offers and the times of prices change nothing. Zones of one region
 * and kind follow different zones of one region of the traces, at the same offset as long as there
 * are enough of them, because measured zones of one region fall together (correlation 0.3 to 0.6)
 * while regions and kinds do not (about 0.1). A trace that was asked for one instance says at most
 * 1. */
SHOAL_MUST_USE shoal_status market_avail_cut(shoal_env *env, const struct market_prices *prices,
                                             const char *path, uint64_t seed,
                                             struct market_avail **out, shoal_err *err);
/* Up for up_s and down for down_s on average, `count` instances while up, drawn for each spot
 * offer from the seed and its own cloud, zone and kind. Whole seconds, counted from the start of
 * prices to their end, where the last level stays. Both are 1 second or more; down_s may be 0:
 * always up. */
SHOAL_MUST_USE shoal_status market_avail_draw(const struct market_prices *prices, double up_s,
                                              double down_s, uint32_t count, uint64_t seed,
                                              struct market_avail **out, shoal_err *err);
void market_avail_free(struct market_avail *avail);

/* Instances that can be had; *out_until_s (may be NULL) is when that changes next, always later
 * than at_s; INFINITY: never. `*cursor` as in market_price_at. `avail` NULL: MARKET_UNLIMITED, for
 * ever. At times some 300,000 years away, or that are none, there is nothing. */
uint32_t market_avail_at(const struct market_avail *avail, uint32_t offer, double at_s,
                         size_t *cursor, double *out_until_s);

/* The first time at which a spot offer can be had; before it nothing is known. -INFINITY: it has no
 * beginning (patterns that repeat, `avail` NULL); INFINITY: there is none. */
double market_avail_from_s(const struct market_avail *avail);

/* What was read, for the command to tell. */
struct market_avail_facts {
    char ignored[ENV_IGNORED_MAX]; /* columns that were not known; "": none */
    size_t files, skipped;         /* read; in folders and no traces */
    size_t traces, unused;         /* traces in them; those that no offer is like (load) */
    size_t covered;                /* spot offers that can be had at some time */
};
void market_avail_facts_get(const struct market_avail *avail, struct market_avail_facts *out);

#endif
