/* prices_series.c - series of changes: "#kind<TAB>zone" opens one, then lines "time<TAB>price" in
 * US dollars an hour. The cloud and the market may follow the zone; without them it is AWS (GCP
 * where the zone is called like one of its) and the spot price.
 *
 * The format of large histories: a line costs one search for the tab and two conversions, and
 * nothing is looked up. */
#include "market/reader.h"

#include "base/err.h"
#include <string.h>

static bool detect(const char *head, size_t size)
{
    return size > 0 && head[0] == '#' &&
           memchr(head, '\t', market_text_line(head, size).size) != NULL &&
           !market_text_starts(head, size, "#shoal-");
}

static const char *cloud_of(struct market_text zone)
{
    struct market_text region = market_region_of(zone);

    return zone.size == region.size + 2 && zone.bytes[region.size] == '-' ? "gcp" : "aws";
}

static shoal_status open_series(struct market_read *rd, char *line, size_t length,
                                uint32_t *out_offer, shoal_err *err)
{
    struct market_place place = {0};
    enum market_how how = MARKET_SPOT;
    shoal_status st =
        env_lines_split(&rd->lines, line + 1, length - 1, '\t', rd->fields, &rd->field_count, err);

    if (st != SHOAL_OK)
        return st;
    if (rd->field_count < 2 || rd->field_count > 4)
        return env_lines_bad(&rd->lines, 0, err,
                             "expected #kind, zone and perhaps cloud and market, found %zu fields",
                             rd->field_count);
    place.kind = market_read_text(rd, 0);
    place.zone = market_read_text(rd, 1);
    if (rd->field_count > 2)
        place.cloud = market_read_text(rd, 2);
    if (place.cloud.size == 0)
        place.cloud = market_text_of(cloud_of(place.zone));
    if (rd->field_count > 3 && !market_text_is_word(market_read_text(rd, 3), "spot")) {
        how = MARKET_ON_DEMAND;
        if (!market_text_is_word(market_read_text(rd, 3), "on-demand"))
            return market_read_expected(rd, 4, market_read_text(rd, 3), "spot or on-demand", err);
    }
    return market_read_offer(rd, &place, how, out_offer, err);
}

static shoal_status read_change(struct market_read *rd, const char *line, size_t length,
                                uint32_t offer, shoal_err *err)
{
    const char *tab = memchr(line, '\t', length);
    double at_s = 0, usd_h = 0;

    if (tab == NULL)
        return market_read_expected(rd, 0, (struct market_text){line, length},
                                    "a time, a tab and a price", err);
    struct market_text time = {line, (size_t)(tab - line)};
    struct market_text price = {tab + 1, length - time.size - 1};
    shoal_status st = market_read_time(rd, 1, time, &at_s, err);
    if (st == SHOAL_OK)
        st = market_read_price(rd, 2, price, market_text_of(""), &usd_h, err);
    return st == SHOAL_OK ? market_read_add(rd, offer, at_s, usd_h, err) : st;
}

static shoal_status read(struct market_read *rd, shoal_err *err)
{
    uint32_t offer = MARKET_NONE;
    char *line;
    size_t length;
    shoal_status st;

    while ((st = env_lines_next(&rd->lines, &line, &length, err)) == SHOAL_OK) {
        if (length == 0)
            continue;
        if (line[0] == '#')
            st = open_series(rd, line, length, &offer, err);
        else if (offer == MARKET_NONE)
            st = market_read_expected(rd, 0, (struct market_text){line, length},
                                      "#kind and zone before the first price", err);
        else
            st = read_change(rd, line, length, offer, err);
        if (st != SHOAL_OK)
            return st;
    }
    return st == SHOAL_END ? SHOAL_OK : st;
}

const struct market_reader market_reader_series = {
    .name = "series", .looks = "#kind, a tab, zone", .detect = detect, .read = read};
