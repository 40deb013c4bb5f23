/* prices_series.c - series of changes: "#kind<TAB>zone" opens one, then lines "time<TAB>price" in
 * US dollars an hour. The cloud and the market may follow the zone; without them it is AWS (GCP
 * where the zone is called like one of its) and the spot price.
 *
 * The format of large histories: a line costs one search for the tab and two conversions, and
 * nothing is looked up. */
#include "market/reader.h"

#include <string.h>

static bool detect(const char *head, size_t size)
{
    return size > 0 && head[0] == '#' && !market_starts(head, size, "#shoal-") &&
           memchr(head, '\t', market_first_line(head, size).length) != NULL;
}

static const char *cloud_of(struct env_cell zone)
{
    struct env_cell region = market_region_of(zone);

    return zone.length == region.length + 2 && zone.text[region.length] == '-' ? "gcp" : "aws";
}

static uint32_t open_series(struct market_read *rd, char *line, size_t length)
{
    struct env_table *t = &rd->table;
    struct market_place place = {0};
    enum market_how how = MARKET_SPOT;

    t->separator = '\t';
    if (!env_table_cut(t, line + 1, length - 1))
        return MARKET_NONE;
    if (t->count < 2 || t->count > 4) {
        env_table_bad(t, 0, "expected #kind, zone and perhaps cloud and market, found %zu fields",
                      t->count);
        return MARKET_NONE;
    }
    place.kind = t->cells[0];
    place.zone = t->cells[1];
    if (t->count > 2)
        place.cloud = t->cells[2];
    if (place.cloud.length == 0)
        place.cloud = env_cell_of(cloud_of(place.zone));
    if (t->count > 3)
        how = market_read_how(rd, t->cells[3]);
    return market_read_offer(rd, &place, how);
}

static void read_change(struct market_read *rd, const char *line, size_t length, uint32_t offer)
{
    const char *tab = memchr(line, '\t', length);

    if (tab == NULL) {
        env_table_expected(&rd->table, (struct env_cell){line, length, 0},
                           "a time, a tab and a price");
        return;
    }
    struct env_cell time = {line, (size_t)(tab - line), 1};
    struct env_cell price = {tab + 1, length - time.length - 1, 2};
    double at_s = market_read_time(&rd->table, time);
    market_read_add(rd, offer, at_s, market_read_price(rd, price, env_cell_of("")));
}

static void read(struct market_read *rd)
{
    struct env_table *t = &rd->table;
    uint32_t offer = MARKET_NONE;
    char *line = NULL;
    size_t length = 0;
    shoal_status st = SHOAL_OK;

    while (t->status == SHOAL_OK &&
           (st = env_lines_next(&t->in, &line, &length, t->err)) == SHOAL_OK) {
        if (length == 0)
            continue;
        if (line[0] == '#')
            offer = open_series(rd, line, length);
        else if (offer == MARKET_NONE)
            env_table_expected(t, (struct env_cell){line, length, 0},
                               "#kind and zone before the first price");
        else
            read_change(rd, line, length, offer);
    }
    if (t->status == SHOAL_OK && st != SHOAL_END)
        t->status = st;
}

const struct market_reader market_reader_series = {
    .name = "series", .looks = "#kind, a tab, zone", .detect = detect, .read = read};
