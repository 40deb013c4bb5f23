/* prices_shoal.c - reads Shoal's own CSV of prices; docs/formats.md is its description. Any history
 * can be told in it: tests write what they have read (tests/prices_text.h) and read it again. */
#include "market/reader.h"

#define MAGIC "#shoal-prices"

enum { TIME, CLOUD, REGION, ZONE, INSTANCE, MARKET, PRICE, CURRENCY, ACCELERATOR, COUNT, COLUMNS };

static bool detect(const char *head, size_t size)
{
    return market_starts(head, size, MAGIC);
}

static void read_row(struct market_read *rd)
{
    struct env_table *t = &rd->table;
    struct market_place place = {.cloud = env_table_cell(t, CLOUD),
                                 .region = env_table_cell(t, REGION),
                                 .zone = env_table_cell(t, ZONE),
                                 .kind = env_table_cell(t, INSTANCE)};
    double at_s = market_read_time(t, env_table_cell(t, TIME));
    enum market_how how = market_read_how(rd, env_table_cell(t, MARKET));
    double usd_h = market_read_price(rd, env_table_cell(t, PRICE), env_table_cell(t, CURRENCY));
    double count = market_read_holds(rd, env_table_cell(t, COUNT));
    uint32_t offer = market_read_offer(rd, &place, how);

    market_read_say(rd, offer, env_table_cell(t, ACCELERATOR), count);
    market_read_add(rd, offer, at_s, usd_h);
}

static void read(struct market_read *rd)
{
    static const struct env_column columns[COLUMNS] = {
        [TIME] = {"time", true},
        [CLOUD] = {"cloud", true},
        [REGION] = {"region", false},
        [ZONE] = {"zone", false},
        [INSTANCE] = {"instance", true},
        [MARKET] = {"market", false},
        [PRICE] = {"price", true},
        [CURRENCY] = {"currency", false},
        [ACCELERATOR] = {"accelerator", false},
        [COUNT] = {"count", false},
    };

    env_table_header(&rd->table, MAGIC, columns, COLUMNS, false);
    while (env_table_next(&rd->table))
        read_row(rd);
}

/* A header of ours is enough without the magic line. */
const struct market_reader market_reader_shoal = {.name = "shoal",
                                                  .looks = MAGIC " v1",
                                                  .header = "time,instance,price",
                                                  .detect = detect,
                                                  .read = read};
