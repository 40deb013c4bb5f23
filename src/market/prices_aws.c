/* prices_aws.c - what `aws ec2 describe-spot-price-history` prints: JSON, {"SpotPriceHistory": [{
 * "AvailabilityZone", "InstanceType", "ProductDescription", "SpotPrice", "Timestamp"}, ...]},
 * newest first. Also the list alone (--query SpotPriceHistory), and several of these behind each
 * other.
 *
 * Linux has its own prices; those of other products are kept only where Linux has none (draft.c).
 * Read piece by piece: a file of any size needs no more memory than its prices do. */
#include "market/json.h"
#include "market/reader.h"

#include "base/err.h"
#include <string.h>

enum { ZONE, KIND, PRODUCT, PRICE, TIME, FIELDS };

static const char *const field_names[FIELDS] = {"AvailabilityZone", "InstanceType",
                                                "ProductDescription", "SpotPrice", "Timestamp"};

struct entry {
    char text[FIELDS][MARKET_JSON_TEXT_MAX + 1];
    size_t size[FIELDS];
    bool seen[FIELDS];
};

static bool detect(const char *head, size_t size)
{
    size_t look = size < 1u << 16 ? size : 1u << 16;

    return size > 0 && (head[0] == '{' || head[0] == '[') &&
           (memmem(head, look, "\"SpotPriceHistory\"", 18) != NULL ||
            memmem(head, look, "\"SpotPrice\"", 11) != NULL);
}

static struct env_cell text_of(const struct entry *entry, int field)
{
    return (struct env_cell){entry->text[field], entry->size[field], 0};
}

static bool is_linux(const struct entry *entry)
{
    return !entry->seen[PRODUCT] ||
           market_starts(entry->text[PRODUCT], entry->size[PRODUCT], "Linux/UNIX");
}

static shoal_status add_entry(struct market_read *rd, const struct entry *entry, shoal_err *err)
{
    struct market_place place = {
        .cloud = env_cell_of("aws"), .zone = text_of(entry, ZONE), .kind = text_of(entry, KIND)};

    for (int i = 0; i < FIELDS; i++)
        if (i != PRODUCT && !entry->seen[i])
            return env_lines_bad(&rd->table.in, 0, err, "expected an entry with \"%s\"",
                                 field_names[i]);
    if (!is_linux(entry))
        place.product = text_of(entry, PRODUCT);
    double at_s = market_read_time(&rd->table, text_of(entry, TIME));
    double usd_h = market_read_price(rd, text_of(entry, PRICE), env_cell_of(""));
    market_read_add(rd, market_read_offer(rd, &place, MARKET_SPOT), at_s, usd_h);
    return rd->table.status;
}

/* The value of a field; -1: of one that does not matter. */
static shoal_status read_field(struct market_read *rd, struct market_json *json, int field,
                               struct entry *entry, shoal_err *err)
{
    enum market_json_token token;
    shoal_status st = market_json_next(json, &token, err);

    if (st != SHOAL_OK)
        return st;
    if (field < 0)
        return market_json_skip(json, token, err);
    if (token != MARKET_JSON_STRING && !(field == PRICE && token == MARKET_JSON_NUMBER))
        return env_lines_bad(&rd->table.in, 0, err, "expected text for \"%s\"", field_names[field]);
    if (json->cut)
        return env_lines_bad(&rd->table.in, 0, err, "expected at most %d bytes for \"%s\"",
                             MARKET_JSON_TEXT_MAX, field_names[field]);
    memcpy(entry->text[field], json->text, json->size + 1);
    entry->size[field] = json->size;
    entry->seen[field] = true;
    return SHOAL_OK;
}

static shoal_status read_list(struct market_read *rd, struct market_json *json, shoal_err *err);

/* After '{': an entry, or what holds the list of them. */
static shoal_status read_object(struct market_read *rd, struct market_json *json, bool top,
                                shoal_err *err)
{
    struct entry entry;
    bool any = false;

    memset(entry.seen, 0, sizeof entry.seen);
    for (;;) {
        enum market_json_token token;
        int field = FIELDS - 1;
        shoal_status st = market_json_next(json, &token, err);
        if (st != SHOAL_OK)
            return st;
        if (token == MARKET_JSON_OBJECT_END)
            break;
        if (top && strcmp(json->text, "SpotPriceHistory") == 0) {
            st = market_json_next(json, &token, err);
            if (st == SHOAL_OK && token != MARKET_JSON_ARRAY)
                st =
                    env_lines_bad(&rd->table.in, 0, err, "expected a list as \"SpotPriceHistory\"");
            if (st == SHOAL_OK)
                st = read_list(rd, json, err);
        } else {
            while (field >= 0 && strcmp(json->text, field_names[field]) != 0)
                field--;
            any |= field >= 0;
            st = read_field(rd, json, field, &entry, err);
        }
        if (st != SHOAL_OK)
            return st;
    }
    return any || !top ? add_entry(rd, &entry, err) : SHOAL_OK;
}

/* After '['. */
static shoal_status read_list(struct market_read *rd, struct market_json *json, shoal_err *err)
{
    for (;;) {
        enum market_json_token token;
        shoal_status st = market_json_next(json, &token, err);
        if (st != SHOAL_OK || token == MARKET_JSON_ARRAY_END)
            return st;
        if (token != MARKET_JSON_OBJECT)
            return env_lines_bad(&rd->table.in, 0, err, "expected an entry in braces");
        st = read_object(rd, json, false, err);
        if (st != SHOAL_OK)
            return st;
    }
}

static shoal_status read_all(struct market_read *rd, shoal_err *err)
{
    struct market_json json;
    enum market_json_token token;
    shoal_status st;

    market_json_init(&json, &rd->table.in);
    while ((st = market_json_next(&json, &token, err)) == SHOAL_OK) {
        if (token == MARKET_JSON_OBJECT)
            st = read_object(rd, &json, true, err);
        else if (token == MARKET_JSON_ARRAY)
            st = read_list(rd, &json, err);
        else
            st = env_lines_bad(&rd->table.in, 0, err, "expected {\"SpotPriceHistory\": [...]}");
        if (st != SHOAL_OK)
            return st;
    }
    return st == SHOAL_END ? SHOAL_OK : st;
}

static void read(struct market_read *rd)
{
    rd->table.status = read_all(rd, rd->table.err);
}

const struct market_reader market_reader_aws = {.name = "aws",
                                                .looks = "{\"SpotPriceHistory\": ..",
                                                .newest_first = true,
                                                .detect = detect,
                                                .read = read};
