/* prices_dates.c - a table of dates and instances, as people keep for Azure: CSV with "Date" in the
 * first column and a spot price of each instance in the others, "$0.24552". An empty price: not
 * offered from that date on.
 *
 * The region is the file's name, and names become those of Azure's own lists, so that tables and
 * catalogues speak of the same offers: us_east.csv is the region eastus, and NC12s v2 is
 * Standard_NC12s_v2. Dates are 2/24/2020, month first, or 2020-02-24. */
#include "market/reader.h"

#include "base/err.h"
#include "market/when.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool detect(const char *head, size_t size)
{
    const char *lf = memchr(head, '\n', size);
    double at_s;

    if (size < 5 || !market_text_is_word((struct market_text){head, 5}, "date,") || lf == NULL)
        return false;
    /* the next line begins with a date */
    size_t at = (size_t)(lf + 1 - head), end = at;
    while (end < size && head[end] != ',' && head[end] != '\n')
        end++;
    return end == at || market_when_parse_us(head + at, end - at, &at_s) ||
           market_when_parse(head + at, end - at, &at_s);
}

/* us_south_central -> southcentralus, us_east_2 -> eastus2, west_europe -> westeurope. */
static void azure_region(const char *stem, size_t length, char *out, size_t size)
{
    bool us = length > 3 && strncasecmp(stem, "us", 2) == 0 && strchr("_- ", stem[2]) != NULL;
    size_t used = 0, digits = length;

    while (digits > 0 && stem[digits - 1] >= '0' && stem[digits - 1] <= '9')
        digits--;
    for (size_t i = us ? 3 : 0; i < length && used + 3 < size; i++) {
        if (us && i == digits) {
            memcpy(out + used, "us", 2);
            used += 2;
        }
        if (strchr("_- ", stem[i]) == NULL)
            out[used++] = stem[i] >= 'A' && stem[i] <= 'Z' ? (char)(stem[i] + 32) : stem[i];
    }
    if (us && digits == length && used + 3 < size) {
        memcpy(out + used, "us", 2);
        used += 2;
    }
    out[used] = '\0';
}

/* NC12s v2 -> Standard_NC12s_v2. */
static void azure_kind(struct market_text name, char *out, size_t size)
{
    bool whole = name.size > 9 && strncasecmp(name.bytes, "standard_", 9) == 0;

    snprintf(out, size, "%s%.*s", whole ? "" : "Standard_", (int)name.size, name.bytes);
    for (char *c = out; *c != '\0'; c++)
        if (*c == ' ')
            *c = '_';
}

static shoal_status find_region(struct market_read *rd, char *out, size_t size, shoal_err *err)
{
    const char *slash = strrchr(rd->path, '/');
    const char *stem = slash != NULL ? slash + 1 : rd->path;
    const char *dot = strchr(stem, '.');
    size_t length = dot != NULL ? (size_t)(dot - stem) : strlen(stem);

    if (length == 0 || length > MARKET_NAME_MAX || strcmp(rd->path, "-") == 0)
        return base_err(err, SHOAL_E_FORMAT,
                        "cannot read prices '%s': a table of dates takes its region from the name "
                        "of its file, such as us_east.csv",
                        rd->path);
    azure_region(stem, length, out, size);
    return SHOAL_OK;
}

/* An offer of each column but the first. */
static shoal_status read_head(struct market_read *rd, uint32_t *offers, shoal_err *err)
{
    char region[MARKET_NAME_MAX + 8], kind[2 * MARKET_NAME_MAX];
    struct market_place place = {.cloud = market_text_of("azure")};
    shoal_status st = find_region(rd, region, sizeof region, err);

    if (st == SHOAL_OK)
        st = market_read_next(rd, ',', err);
    if (st != SHOAL_OK)
        return st;
    if (!market_text_is_word(market_read_text(rd, 0), "date"))
        return market_read_expected(rd, 1, market_read_text(rd, 0), "the column 'Date'", err);
    place.region = market_text_of(region);
    for (size_t f = 1; f < rd->field_count; f++) {
        struct market_text name = market_read_text(rd, (int)f);
        if (name.size == 0 || name.size > MARKET_NAME_MAX)
            return market_read_expected(rd, (uint32_t)f + 1, name, "an instance of 1 to 127 bytes",
                                        err);
        azure_kind(name, kind, sizeof kind);
        place.kind = market_text_of(kind);
        st = market_read_offer(rd, &place, MARKET_SPOT, &offers[f], err);
        if (st != SHOAL_OK)
            return st;
        for (size_t g = 1; g < f; g++)
            if (offers[g] == offers[f])
                return market_read_expected(rd, (uint32_t)f + 1, name, "each instance once", err);
    }
    return SHOAL_OK;
}

/* "$0.24", "0.24", "EUR 0.24": the currency's sign or letters stand before the number. */
static shoal_status read_cell(struct market_read *rd, size_t field, double *out_usd_h,
                              shoal_err *err)
{
    static const struct {
        const char *sign, *currency;
    } signs[] = {{"$", "USD"}, {"\xe2\x82\xac", "EUR"}, {"\xc2\xa3", "GBP"}};
    struct market_text text = market_read_text(rd, (int)field), currency = {"", 0};

    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        size_t size = strlen(signs[i].sign);
        if (!market_text_starts(text.bytes, text.size, signs[i].sign))
            continue;
        currency = market_text_of(signs[i].currency);
        text = (struct market_text){text.bytes + size, text.size - size};
    }
    if (text.size > 3 && currency.size == 0 && text.bytes[0] >= 'A' && text.bytes[0] <= 'Z') {
        currency = (struct market_text){text.bytes, 3};
        text = (struct market_text){text.bytes + 3, text.size - 3};
    }
    while (text.size > 0 && text.bytes[0] == ' ')
        text = (struct market_text){text.bytes + 1, text.size - 1};
    if (text.size == 0 && currency.size > 0)
        return market_read_expected(rd, (uint32_t)field + 1, market_read_text(rd, (int)field),
                                    "a price after the currency", err);
    return market_read_price(rd, (uint32_t)field + 1, text, currency, out_usd_h, err);
}

static shoal_status read_row(struct market_read *rd, const uint32_t *offers, shoal_err *err)
{
    struct market_text date = market_read_text(rd, 0);
    double at_s = 0, usd_h = 0;

    if (!market_when_parse_us(date.bytes, date.size, &at_s) &&
        !market_when_parse(date.bytes, date.size, &at_s))
        return market_read_expected(
            rd, 1, date, "a date such as 2/24/2020 (month first) or 2020-02-24, from 2000 to 2099",
            err);
    for (size_t f = 1; f < rd->field_count; f++) {
        shoal_status st = read_cell(rd, f, &usd_h, err);
        if (st == SHOAL_OK)
            st = market_read_add(rd, offers[f], at_s, usd_h, err);
        if (st != SHOAL_OK)
            return st;
    }
    return SHOAL_OK;
}

static shoal_status read(struct market_read *rd, shoal_err *err)
{
    uint32_t offers[ENV_FIELDS_MAX] = {0};
    shoal_status st = read_head(rd, offers, err);
    size_t width = rd->field_count;

    while (st == SHOAL_OK && (st = market_read_row(rd, width, err)) == SHOAL_OK)
        st = read_row(rd, offers, err);
    return st == SHOAL_END ? SHOAL_OK : st;
}

const struct market_reader market_reader_dates = {
    .name = "dates", .looks = "Date,kind,..", .detect = detect, .read = read};
