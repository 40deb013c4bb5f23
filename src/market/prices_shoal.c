/* prices_shoal.c - Shoal's own CSV of prices: the reader, and the writer of whole histories.
 * docs/formats.md is its description.
 *
 * load(format(prices)) equals the prices; tests/unit/market/test_prices.c holds it to that. */
#include "base/assert.h"
#include "base/event.h"
#include "base/text.h"
#include "market/reader.h"
#include "market/when.h"
#include <math.h>
#include <string.h>

#define MAGIC "#shoal-prices"

enum { TIME, CLOUD, REGION, ZONE, INSTANCE, MARKET, PRICE, CURRENCY, ACCELERATOR, COUNT, COLUMNS };

/* --- reading --------------------------------------------------------------------------------- */

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

static shoal_status read_row(struct market_read *rd, const struct market_read_column *columns,
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
    struct market_read_column columns[COLUMNS] = {
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

/* --- writing --------------------------------------------------------------------------------- */

static void put_name(const char *name, struct base_buf *out)
{
    if (strpbrk(name, ",\"") == NULL) {
        base_buf_puts(out, name);
        return;
    }
    base_buf_puts(out, "\"");
    for (const char *quote; (quote = strchr(name, '"')) != NULL; name = quote + 1) {
        base_buf_append(out, name, (size_t)(quote + 1 - name));
        base_buf_puts(out, "\"");
    }
    base_buf_puts(out, name);
    base_buf_puts(out, "\"");
}

/* What all rows of an offer have after the time and before the price, and after it. */
static void put_offer(const struct market_prices *prices, const struct market_offer *o,
                      struct base_buf *before, struct base_buf *after)
{
    const char *names[] = {
        market_names_get(&prices->clouds, o->cloud), market_names_get(&prices->regions, o->region),
        market_names_get(&prices->zones, o->zone), market_names_get(&prices->kinds, o->kind)};

    base_buf_clear(before);
    base_buf_clear(after);
    for (size_t i = 0; i < BASE_COUNT(names); i++) {
        base_buf_puts(before, ",");
        put_name(names[i], before);
    }
    base_buf_puts(before, o->how == MARKET_SPOT ? ",spot," : ",on-demand,");
    base_buf_puts(after, ",");
    if (o->accelerator != MARKET_NONE)
        put_name(market_names_get(&prices->accelerators, o->accelerator), after);
    base_buf_puts(after, ",");
    if (o->accelerators > 0)
        base_json_f64(after, o->accelerators);
    base_buf_puts(after, "\n");
}

void market_prices_format(const struct market_prices *prices, struct base_buf *out)
{
    struct base_buf before, after;
    char time[MARKET_WHEN_TEXT];

    base_buf_init(&before, out->alloc, 16 * MARKET_NAME_MAX);
    base_buf_init(&after, out->alloc, 16 * MARKET_NAME_MAX);
    base_buf_puts(out, MAGIC " v1\n"
                             "time,cloud,region,zone,instance,market,price,accelerator,count\n");
    for (size_t i = 0; i < prices->offer_count; i++) {
        const struct market_offer *o = &prices->offers[i];
        put_offer(prices, o, &before, &after);
        for (size_t k = o->first; k < o->first + o->count; k++) {
            base_buf_puts(out, market_when_text(prices->points[k].at_s, time));
            base_buf_append(out, before.data, before.size);
            if (!isnan(prices->points[k].usd_h))
                base_json_f64(out, prices->points[k].usd_h);
            base_buf_append(out, after.data, after.size);
        }
        if (out->status == SHOAL_OK)
            out->status = before.status != SHOAL_OK ? before.status : after.status;
        if (out->status != SHOAL_OK)
            break;
    }
    base_buf_fini(&before);
    base_buf_fini(&after);
}
