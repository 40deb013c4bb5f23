/* prices_catalogue.c - a change log of cloud catalogues: CSV with the columns date, cloud, region,
 * zone, accelerator, count, instance_type, ondemand_usd_h, spot_usd_h in any order; others are
 * ignored.
 *
 * A row gives an offer on demand and a spot offer; an empty price: not offered from that date on.
 * An empty zone: the offer is of the whole region. A row without an instance type prices
 * accelerators alone (GCP sells them by the piece, for hosts that are paid for separately): its
 * kind is called "A100:8", and the offers are counted as bare. */
#include "market/reader.h"

#include <stdio.h>

enum { DATE, CLOUD, REGION, ZONE, ACCELERATOR, COUNT, INSTANCE, ON_DEMAND, SPOT, COLUMNS };

/* One of the two offers of a row. */
static void add_offer(struct market_read *rd, const struct market_place *place, enum market_how how,
                      double at_s, double count)
{
    struct env_table *t = &rd->table;
    double usd_h = market_read_price(rd, env_table_cell(t, how == MARKET_SPOT ? SPOT : ON_DEMAND),
                                     env_cell_of(""));
    uint32_t offer = market_read_offer(rd, place, how);

    market_read_say(rd, offer, env_table_cell(t, ACCELERATOR), count);
    market_read_add(rd, offer, at_s, usd_h);
}

static void read_row(struct market_read *rd)
{
    struct env_table *t = &rd->table;
    struct env_cell accelerator = env_table_cell(t, ACCELERATOR);
    struct market_place place = {.cloud = env_table_cell(t, CLOUD),
                                 .region = env_table_cell(t, REGION),
                                 .zone = env_table_cell(t, ZONE),
                                 .kind = env_table_cell(t, INSTANCE)};
    char bare[MARKET_NAME_MAX + 32];
    double at_s = market_read_time(t, env_table_cell(t, DATE));
    double count = market_read_holds(rd, env_table_cell(t, COUNT));

    if (place.kind.length == 0 && accelerator.length > 0 && accelerator.length <= MARKET_NAME_MAX &&
        count > 0) {
        snprintf(bare, sizeof bare, "%.*s:%g", (int)accelerator.length, accelerator.text, count);
        place.kind = env_cell_of(bare);
    }
    add_offer(rd, &place, MARKET_SPOT, at_s, count);
    add_offer(rd, &place, MARKET_ON_DEMAND, at_s, count);
}

static void read(struct market_read *rd)
{
    static const struct env_column columns[COLUMNS] = {
        [DATE] = {"date", true},
        [CLOUD] = {"cloud", true},
        [REGION] = {"region", true},
        [ZONE] = {"zone", true},
        [ACCELERATOR] = {"accelerator", true},
        [COUNT] = {"count", true},
        [INSTANCE] = {"instance_type", true},
        [ON_DEMAND] = {"ondemand_usd_h", true},
        [SPOT] = {"spot_usd_h", true},
    };

    env_table_header(&rd->table, NULL, columns, COLUMNS, true);
    while (env_table_next(&rd->table))
        read_row(rd);
}

const struct market_reader market_reader_catalogue = {.name = "catalogue",
                                                      .looks = "a header with ondemand_usd_h",
                                                      .header = "ondemand_usd_h,spot_usd_h",
                                                      .read = read};
