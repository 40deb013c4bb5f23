/* reader.h - what a format of price histories is, and the helpers its reader is made of.
 *
 * A format is one file prices_<name>.c and one row in readers.h. `read` is called once per file
 * with the input open at its first byte; it names offers with market_read_offer, adds prices with
 * market_read_add, and returns SHOAL_OK at the end of the input or the error of the first bad line,
 * after which everything read is thrown away. A reader of "time,zone,kind,price" lines of AWS:
 *
 *     while ((st = market_read_next(rd, ',', err)) == SHOAL_OK) {
 *         struct market_place place = {.cloud = market_text_of("aws"),
 *                                      .zone = market_read_text(rd, 1),
 *                                      .kind = market_read_text(rd, 2)};
 *         st = market_read_time(rd, 1, market_read_text(rd, 0), &at_s, err);
 *         ... market_read_price(rd, 4, market_read_text(rd, 3), market_text_of(""), &usd_h, err);
 *         ... market_read_offer(rd, &place, MARKET_SPOT, &offer, err);
 *         ... market_read_add(rd, offer, at_s, usd_h, err);
 *     }
 *
 * Owner thread only. */
#ifndef MARKET_READER_H
#define MARKET_READER_H

#include "env/header.h"
#include "market/draft.h"

struct market_read {
    struct market_draft *draft;
    struct env_lines lines;
    const char *path;
    const struct market_load_opts *opts;
    struct env_field fields[ENV_FIELDS_MAX];
    size_t field_count;
};

struct market_reader {
    const char *name;
    const char *looks; /* how its files begin, for messages */
    bool newest_first; /* the lines of an offer come newest first */
    /* Does the beginning of a file (after blanks, some KB) look like this format? */
    bool (*detect)(const char *head, size_t size);
    shoal_status (*read)(struct market_read *rd, shoal_err *err);
};

/* Where an offer is and what it is. Empty: region from the zone, zone the region's, kind an
 * error. */
struct market_place {
    struct market_text cloud, region, zone, kind, product;
};

struct market_text market_text_of(const char *text);
struct market_text market_read_text(const struct market_read *rd, int field); /* -1: nothing */
bool market_text_is(struct market_text text, const char *word);               /* case as well */
bool market_text_is_word(struct market_text text, const char *word);          /* but for case */
bool market_text_starts(const char *head, size_t size, const char *word);
struct market_text market_text_line(const char *head, size_t size); /* the first, without its LF */

/* The region of a zone by its name: us-west-2a, us-west-2-lax-1a -> us-west-2 (AWS);
 * us-central1-a -> us-central1 (GCP). What looks like neither is its own region. */
struct market_text market_region_of(struct market_text zone);

/* The next line with something in it, cut into rd->fields. SHOAL_END after the last. Lines that
 * start with '#' are comments where the separator is a comma. */
SHOAL_MUST_USE shoal_status market_read_next(struct market_read *rd, char separator,
                                             shoal_err *err);

/* The header from rd->fields; unknown columns are an error when `strict`. */
SHOAL_MUST_USE shoal_status market_read_header(struct market_read *rd, struct env_column *columns,
                                               size_t count, bool strict, shoal_err *err);
/* The next line, which has as many fields as the header had. */
SHOAL_MUST_USE shoal_status market_read_row(struct market_read *rd, size_t width, shoal_err *err);
/* The first line, where it begins with `magic`, goes on with " v1"; it is not taken. SHOAL_END:
 * there is no line. */
SHOAL_MUST_USE shoal_status market_read_magic(struct market_read *rd, const char *magic,
                                              shoal_err *err);

/* "expected WHAT, found 'x'" in the current line; column 0: none. */
shoal_status market_read_expected(struct market_read *rd, uint32_t column, struct market_text found,
                                  const char *what, shoal_err *err);
/* Values; `column` for messages. A price: NAN for an empty one and for 0, which is counted; US
 * dollars after conversion from `currency` (empty: US dollars already). */
SHOAL_MUST_USE shoal_status market_read_time(struct market_read *rd, uint32_t column,
                                             struct market_text text, double *out_s,
                                             shoal_err *err);
SHOAL_MUST_USE shoal_status market_read_price(struct market_read *rd, uint32_t column,
                                              struct market_text text, struct market_text currency,
                                              double *out_usd_h, shoal_err *err);
/* A number of accelerators, 0 to 10,000; empty is 0. */
SHOAL_MUST_USE shoal_status market_read_holds(struct market_read *rd, uint32_t column,
                                              struct market_text text, double *out, shoal_err *err);

/* The offer, with names checked (at most MARKET_NAME_MAX bytes, no control characters). */
SHOAL_MUST_USE shoal_status market_read_offer(struct market_read *rd,
                                              const struct market_place *place, enum market_how how,
                                              uint32_t *out_offer, shoal_err *err);
/* What its instances hold. */
SHOAL_MUST_USE shoal_status market_read_say(struct market_read *rd, uint32_t offer,
                                            struct market_text accelerator, double accelerators,
                                            shoal_err *err);
SHOAL_MUST_USE shoal_status market_read_add(struct market_read *rd, uint32_t offer, double at_s,
                                            double usd_h, shoal_err *err);

#define MARKET_READER_ROW(id, name) extern const struct market_reader market_reader_##name;
MARKET_READER_MAP(MARKET_READER_ROW)
#undef MARKET_READER_ROW

#endif
