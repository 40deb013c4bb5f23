/* prices_shoal.c - reads Shoal's own CSV of prices; docs/formats.md is its description. Any history
 * can be told in it: tests write what they have read (tests/prices_text.h) and read it again. */
#include "base/text.h"
#include "market/reader.h"
#include "market/when.h"
#include <math.h>
#include <string.h>

#define MAGIC "#shoal-prices"

enum { TIME, CLOUD, REGION, ZONE, INSTANCE, MARKET, PRICE, CURRENCY, ACCELERATOR, COUNT, COLUMNS };

static bool has(const char *line, size_t length, const char *name)
{
    for (size_t at = 0; at < length;) {
        const char *comma = memchr(line + at, ',', length - at);
        size_t stop = comma != NULL ? (size_t)(comma - line) : length;
        size_t from = at, to = stop;
        while (from < to && line[from] == ' ')
            from++;
        while (to > from && (line[to - 1] == ' ' || line[to - 1] == '\r'))
            to--;
        if (market_text_is_word((struct market_text){line + from, to - from}, name))
            return true;
        at = stop + 1;
    }
    return false;
}

/* The magic line, or a header of ours without it. */
static bool detect(const char *head, size_t size)
{
    size_t length = market_text_line(head, size).size;

    return market_text_starts(head, size, MAGIC) ||
           (has(head, length, "time") && has(head, length, "instance") &&
            has(head, length, "price"));
}

/* A date, or seconds since 1970. */
static shoal_status read_when(struct market_read *rd, int at, double *out_s, shoal_err *err)
{
    struct market_text text = market_read_text(rd, at);
    double value;

    if (base_parse_f64(text.bytes, text.size, &value) && value >= MARKET_WHEN_MIN &&
        value < MARKET_WHEN_MAX) {
        *out_s = value;
        return SHOAL_OK;
    }
    return market_read_time(rd, (uint32_t)at + 1, text, out_s, err);
}

static shoal_status read_how(struct market_read *rd, int at, enum market_how *out, shoal_err *err)
{
    struct market_text text = market_read_text(rd, at);

    *out = MARKET_SPOT;
    if (text.size == 0 || market_text_is_word(text, "spot"))
        return SHOAL_OK;
    *out = MARKET_ON_DEMAND;
    if (market_text_is_word(text, "on-demand") || market_text_is_word(text, "ondemand"))
        return SHOAL_OK;
    return market_read_expected(rd, (uint32_t)at + 1, text, "spot or on-demand", err);
}

static shoal_status read_row(struct market_read *rd, const struct env_column *columns,
                             shoal_err *err)
{
    struct market_place place = {.cloud = market_read_text(rd, columns[CLOUD].at),
                                 .region = market_read_text(rd, columns[REGION].at),
                                 .zone = market_read_text(rd, columns[ZONE].at),
                                 .kind = market_read_text(rd, columns[INSTANCE].at)};
    enum market_how how = MARKET_SPOT;
    double at_s = 0, usd_h = NAN, count = 0;
    uint32_t offer = 0;
    shoal_status st = read_when(rd, columns[TIME].at, &at_s, err);

    if (st == SHOAL_OK)
        st = read_how(rd, columns[MARKET].at, &how, err);
    if (st == SHOAL_OK)
        st = market_read_price(rd, (uint32_t)columns[PRICE].at + 1,
                               market_read_text(rd, columns[PRICE].at),
                               market_read_text(rd, columns[CURRENCY].at), &usd_h, err);
    if (st == SHOAL_OK)
        st = market_read_holds(rd, (uint32_t)columns[COUNT].at + 1,
                               market_read_text(rd, columns[COUNT].at), &count, err);
    if (st == SHOAL_OK)
        st = market_read_offer(rd, &place, how, &offer, err);
    if (st == SHOAL_OK)
        st = market_read_say(rd, offer, market_read_text(rd, columns[ACCELERATOR].at), count, err);
    return st == SHOAL_OK ? market_read_add(rd, offer, at_s, usd_h, err) : st;
}

static shoal_status read(struct market_read *rd, shoal_err *err)
{
    struct env_column columns[COLUMNS] = {
        [TIME] = {"time", true, -1},
        [CLOUD] = {"cloud", true, -1},
        [REGION] = {"region", false, -1},
        [ZONE] = {"zone", false, -1},
        [INSTANCE] = {"instance", true, -1},
        [MARKET] = {"market", false, -1},
        [PRICE] = {"price", true, -1},
        [CURRENCY] = {"currency", false, -1},
        [ACCELERATOR] = {"accelerator", false, -1},
        [COUNT] = {"count", false, -1},
    };
    shoal_status st = market_read_magic(rd, MAGIC, err);

    if (st == SHOAL_OK)
        st = market_read_next(rd, ',', err);
    if (st == SHOAL_OK)
        st = market_read_header(rd, columns, COLUMNS, true, err);
    size_t width = rd->field_count;
    while (st == SHOAL_OK && (st = market_read_row(rd, width, err)) == SHOAL_OK)
        st = read_row(rd, columns, err);
    return st == SHOAL_END ? SHOAL_OK : st;
}

const struct market_reader market_reader_shoal = {
    .name = "shoal", .looks = MAGIC " v1", .detect = detect, .read = read};
