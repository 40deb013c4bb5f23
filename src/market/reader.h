/* reader.h - what a format of price histories is, and the helpers its reader is made of.
 *
 * A format is one file prices_<name>.c and one row in readers.h. `read` is called once per file with
 * rd->table open at its first byte; it names offers with market_read_offer and adds prices with
 * market_read_add. Failures stick in the table (env/table.h), after which everything read is thrown
 * away. A reader of "time,zone,kind,price" lines of AWS:
 *
 *     for (rd->table.width = 4; env_table_next(&rd->table);) {
 *         const struct env_cell *c = rd->table.cells;
 *         struct market_place place = {.cloud = env_cell_of("aws"), .zone = c[1], .kind = c[2]};
 *         double usd_h = market_read_price(rd, c[3], env_cell_of(""));
 *         market_read_add(rd, market_read_offer(rd, &place, MARKET_SPOT), market_read_time(rd, c[0]), usd_h);
 *     }
 *
 * Owner thread only. */
#ifndef MARKET_READER_H
#define MARKET_READER_H

#include "env/table.h"
#include "market/draft.h"

struct market_read {
    struct market_draft *draft;
    struct env_table table;
    const char *path;
    const struct market_load_opts *opts;
    const atomic_bool *stop; /* of opts; NULL: nobody asks */
};

struct market_reader {
    const char *name;
    const char *looks;  /* how its files begin, for messages */
    bool newest_first;  /* the lines of an offer come newest first */
    const char *header; /* columns by which it is recognised; NULL: see below */
    /* Does the beginning of a file (after blanks, some KB) look like this format? NULL: by its header
     * alone. */
    bool (*detect)(const char *head, size_t size);
    void (*read)(struct market_read *rd);
};

/* Where an offer is and what it is. Empty: region from the zone, zone the region's, kind an
 * error. */
struct market_place {
    struct env_cell cloud, region, zone, kind, product;
};

bool market_starts(const char *head, size_t size, const char *word);
struct env_cell market_first_line(const char *head, size_t size); /* without its LF */

/* The region of a zone by its name: us-west-2a, us-west-2-lax-1a -> us-west-2 (AWS);
 * us-central1-a -> us-central1 (GCP). What looks like neither is its own region. */
struct env_cell market_region_of(struct env_cell zone);

/* Values. A time: a date, or seconds since 1970. A price: NAN for an empty one and for 0, which is
 * counted; US dollars after conversion from `currency` (empty: US dollars already). */
double market_read_time(struct env_table *table, struct env_cell cell);
double market_read_price(struct market_read *rd, struct env_cell cell, struct env_cell currency);
/* A number of accelerators, 0 to 10,000; empty is 0. */
double market_read_holds(struct market_read *rd, struct env_cell cell);
/* "spot" or "on-demand"; empty is spot. */
enum market_how market_read_how(struct market_read *rd, struct env_cell cell);

/* The offer, with names checked (at most MARKET_NAME_MAX bytes, no control characters). MARKET_NONE after
 * a failure. */
uint32_t market_read_offer(struct market_read *rd, const struct market_place *place,
                           enum market_how how);
/* What its instances hold. */
void market_read_say(struct market_read *rd, uint32_t offer, struct env_cell accelerator,
                     double accelerators);
/* Nothing after a failure. */
void market_read_add(struct market_read *rd, uint32_t offer, double at_s, double usd_h);

#define MARKET_READER_ROW(id, name) extern const struct market_reader market_reader_##name;
MARKET_READER_MAP(MARKET_READER_ROW)
#undef MARKET_READER_ROW

#endif
