/* prices_catalogue.c - a change log of cloud catalogues: CSV with the columns date, cloud, region,
 * zone, accelerator, count, instance_type, ondemand_usd_h, spot_usd_h in any order; others are
 * ignored.
 *
 * A row gives an offer on demand and a spot offer; an empty price: not offered from that date on.
 * An empty zone: the offer is of the whole region. A row without an instance type prices
 * accelerators alone (GCP sells them by the piece, for hosts that are paid for separately): its
 * kind is called "A100:8", and the offers are counted as bare. */
#include "market/reader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DATE, CLOUD, REGION, ZONE, ACCELERATOR, COUNT, INSTANCE, ON_DEMAND, SPOT, COLUMNS };

static bool has(const char *head, size_t size, const char *word)
{
    return memmem(head, size, word, strlen(word)) != NULL;
}

static bool detect(const char *head, size_t size)
{
    size_t length = market_text_line(head, size).size;

    return has(head, length, "ondemand_usd_h") && has(head, length, "spot_usd_h");
}

struct row {
    double at_s;
    struct market_place place;
    struct market_text accelerator;
    double count; /* of it */
};

/* One of the two offers of a row; field `price_at` is its price. */
static shoal_status add_offer(struct market_read *rd, const struct row *row, enum market_how how,
                              int price_at, shoal_err *err)
{
    struct market_text price = market_read_text(rd, price_at);
    uint32_t offer = 0;
    double usd_h = NAN;
    shoal_status st =
        market_read_price(rd, (uint32_t)price_at + 1, price, market_text_of(""), &usd_h, err);

    if (st == SHOAL_OK)
        st = market_read_offer(rd, &row->place, how, &offer, err);
    if (st == SHOAL_OK)
        st = market_read_say(rd, offer, row->accelerator, row->count, err);
    return st == SHOAL_OK ? market_read_add(rd, offer, row->at_s, usd_h, err) : st;
}

static shoal_status read_row(struct market_read *rd, const struct env_column *columns,
                             shoal_err *err)
{
    struct row row = {.accelerator = market_read_text(rd, columns[ACCELERATOR].at),
                      .place = {.cloud = market_read_text(rd, columns[CLOUD].at),
                                .region = market_read_text(rd, columns[REGION].at),
                                .zone = market_read_text(rd, columns[ZONE].at),
                                .kind = market_read_text(rd, columns[INSTANCE].at)}};
    char bare[MARKET_NAME_MAX + 32];
    shoal_status st = market_read_time(rd, (uint32_t)columns[DATE].at + 1,
                                       market_read_text(rd, columns[DATE].at), &row.at_s, err);

    if (st == SHOAL_OK)
        st = market_read_holds(rd, (uint32_t)columns[COUNT].at + 1,
                               market_read_text(rd, columns[COUNT].at), &row.count, err);
    if (st != SHOAL_OK)
        return st;
    if (row.place.kind.size == 0 && row.accelerator.size > 0 &&
        row.accelerator.size <= MARKET_NAME_MAX && row.count > 0) {
        snprintf(bare, sizeof bare, "%.*s:%g", (int)row.accelerator.size, row.accelerator.bytes,
                 row.count);
        row.place.kind = market_text_of(bare);
    }
    st = add_offer(rd, &row, MARKET_SPOT, columns[SPOT].at, err);
    if (st == SHOAL_OK)
        st = add_offer(rd, &row, MARKET_ON_DEMAND, columns[ON_DEMAND].at, err);
    return st;
}

static shoal_status read(struct market_read *rd, shoal_err *err)
{
    struct env_column columns[COLUMNS] = {
        [DATE] = {"date", true, -1},
        [CLOUD] = {"cloud", true, -1},
        [REGION] = {"region", true, -1},
        [ZONE] = {"zone", true, -1},
        [ACCELERATOR] = {"accelerator", true, -1},
        [COUNT] = {"count", true, -1},
        [INSTANCE] = {"instance_type", true, -1},
        [ON_DEMAND] = {"ondemand_usd_h", true, -1},
        [SPOT] = {"spot_usd_h", true, -1},
    };
    shoal_status st = market_read_next(rd, ',', err);

    if (st == SHOAL_OK)
        st = market_read_header(rd, columns, COLUMNS, false, err);
    size_t width = rd->field_count;
    while (st == SHOAL_OK && (st = market_read_row(rd, width, err)) == SHOAL_OK)
        st = read_row(rd, columns, err);
    return st == SHOAL_END ? SHOAL_OK : st;
}

const struct market_reader market_reader_catalogue = {
    .name = "catalogue", .looks = "a header with ondemand_usd_h", .detect = detect, .read = read};
