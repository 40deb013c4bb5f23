/* prices.h - histories of prices: what an instance of each kind cost in each place, and when.
 *
 * An offer is one kind of instance in one zone of one region of one cloud, at the spot price or at
 * the price on demand; its history is a list of changes, each price holding until the next. Readers
 * (prices_*.c) turn each format into the same offers; loading merges what several files say of one
 * offer. Loaded whole or not at all, immutable afterwards, any thread.
 *
 * Rules for what histories have in them, counted in `odd` and told once by the command:
 * - A price of zero, or an empty one, means "not offered from here on".
 * - Times of one offer that go backwards within a file are sorted. Files may overlap: what two say
 *   alike of one instant counts once; where they differ, the one read last holds.
 * - Before its first price an offer is not offered; the last price holds to the end of the history,
 *   and so does each over a gap: a list of changes cannot tell a gap from a calm price.
 * - A kind none of whose spot offers changed in the last 60 days of the history, though they
 *   changed daily before (and 100 times in all), ended a day after the last change of any of them.
 * - A price equal to the one before it is no change and is dropped, except at the end of the
 *   history. An offer that was never offered is dropped, too.
 * - Prices are US dollars: a file that names another currency needs a rate for it.
 * A negative price, a price that is no number or above MARKET_USD_H_MAX, and a time that is no time
 * or not within the years 2000 to 2099 are errors with file, line and column. */
#ifndef MARKET_PRICES_H
#define MARKET_PRICES_H

#include "base/map.h"
#include "env/table.h"
#include "market/readers.h"
#include <stdatomic.h>

enum {
    MARKET_OFFERS_MAX = 200000,
    MARKET_POINTS_MAX = 100000000,
    MARKET_NAME_MAX = 127 /* bytes of a cloud, region, zone or kind */
};

#define MARKET_NONE      UINT32_MAX
#define MARKET_USD_H_MAX 1e6 /* of one instance */

enum market_how { MARKET_SPOT, MARKET_ON_DEMAND, MARKET_HOW_COUNT };
extern const char *const market_how_names[MARKET_HOW_COUNT]; /* spot on-demand */

struct market_point {
    double at_s;  /* UTC, seconds since 1970 */
    double usd_h; /* of one instance; NAN: not offered from here on */
};

struct market_offer {
    uint32_t cloud, region, zone, kind; /* indices of names; an offer of a whole region has the
                                           region's name as its zone */
    uint32_t accelerator;               /* index of its accelerator's name, MARKET_NONE: unknown */
    double accelerators;                /* of one instance, may be a fraction; 0: unknown */
    uint8_t how;                        /* enum market_how */
    size_t first, count;                /* its points, by time, strictly rising */
};

struct market_names { /* distinct strings, index = order of first appearance in the sorted offers */
    struct base_map map;
};

/* What loading met and settled by rule. */
struct market_odd {
    char ignored[ENV_IGNORED_MAX]; /* columns that were not known; "": none */
    uint64_t zero;                 /* prices of 0: not offered */
    uint64_t same_instant; /* two prices of one offer at one instant: the one read last holds */
    uint64_t repeated;     /* the same price of one instant again, as overlapping downloads have */
    uint64_t backwards;    /* times before the one above them in the file */
    uint64_t currencies;   /* prices converted to US dollars */
    uint64_t products;     /* prices of Windows and the like, left out where Linux has one */
    uint64_t bare;         /* offers whose price is that of accelerators without their host */
    uint64_t retired;      /* spot offers of kinds that ended before the history did */
    uint64_t skipped;      /* files in folders that are no prices */
};

struct market_prices {
    const struct base_alloc *alloc;
    struct market_names clouds, regions, zones, kinds, accelerators;
    struct market_offer *offers; /* sorted by cloud, region, zone, kind (as text), spot first */
    size_t offer_count;
    struct market_point *points;
    size_t point_count;
    double from_s, to_s; /* first and last time in it */
    size_t file_count;   /* read */
    struct market_odd odd;
    uint64_t input_hash; /* of all bytes read */
    const char *format;  /* name of the reader, "mixed" for several */
};

enum market_format {
    MARKET_FORMAT_AUTO,
#define MARKET_FORMAT_ROW(id, name) MARKET_FORMAT_##id,
    MARKET_READER_MAP(MARKET_FORMAT_ROW)
#undef MARKET_FORMAT_ROW
        MARKET_FORMAT_COUNT
};
extern const char *const market_format_names[]; /* NULL-terminated: auto shoal aws catalogue ... */

struct market_rate { /* what a unit of a currency is worth in US dollars */
    char currency[8];
    double usd;
};

struct market_load_opts {
    enum market_format format;
    const struct market_rate *rates; /* besides USD */
    size_t rate_count;
    const atomic_bool *stop; /* gives up once it is true; NULL: nobody asks */
};

/* Reads all paths into one history; "-" is standard input. Of a folder everything below it that a
 * reader knows is read, in order of names, and the rest is skipped and counted; a file that is
 * named must be readable. With a format other than AUTO a named file is read as that, and a
 * folder's files of other formats are skipped. Bad input: *out is untouched, err says file, line,
 * column and what was expected. Costs 16 bytes a change when each file tells one offer after the
 * other, and up to 48 while loading otherwise. */
SHOAL_MUST_USE shoal_status market_prices_load(shoal_env *env, const char *const *paths,
                                               size_t path_count,
                                               const struct market_load_opts *opts,
                                               struct market_prices **out_prices, shoal_err *err);
void market_prices_free(struct market_prices *prices);

const char *market_names_get(const struct market_names *names, uint32_t index);
/* The index of a name, or MARKET_NONE. */
uint32_t market_names_find(const struct market_names *names, const char *name);

/* The price at a time, NAN where it is not offered then; *out_until_s (may be NULL) is when it
 * changes next, always later than at_s; INFINITY: never. `*cursor`, 0 at first and one for each
 * offer and thread, makes calls at times that rarely fall cheap; NULL: none is kept. */
double market_price_at(const struct market_prices *prices, uint32_t offer, double at_s,
                       size_t *cursor, double *out_until_s);

/* Whether a zone goes by its id (use1-az4), as AWS has beside names (us-east-1b). */
bool market_zone_is_id(const char *zone);
/* Clears allowed[] (by offer) where a spot offer is told by the id of its zone and zones of that
 * region and kind are told by name, too: the same zones twice. */
SHOAL_MUST_USE shoal_status market_offers_once(const struct base_alloc *alloc,
                                               const struct market_prices *prices, bool *allowed,
                                               size_t *out_dropped);

#endif
