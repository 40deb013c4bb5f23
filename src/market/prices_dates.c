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

static bool parse_date(struct env_cell cell, double *out_s)
{
    cell = env_cell_trim(cell);
    return market_when_parse_us(cell.text, cell.length, out_s) ||
           market_when_parse(cell.text, cell.length, out_s);
}

static bool detect(const char *head, size_t size)
{
    const char *lf = memchr(head, '\n', size), *comma = memchr(head, ',', size);
    double at_s;

    if (lf == NULL || comma == NULL || !env_table_has(head, (size_t)(comma - head), "date"))
        return false;
    /* the next line begins with a date */
    size_t at = (size_t)(lf + 1 - head), end = at;
    while (end < size && head[end] != ',' && head[end] != '\n')
        end++;
    struct env_cell date = {head + at, end - at, 0};
    if (date.length > 2 && date.text[0] == '"')
        date = (struct env_cell){date.text + 1, date.length - 2, 0};
    return end == at || parse_date(date, &at_s);
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
static void azure_kind(struct env_cell name, char *out, size_t size)
{
    bool whole = name.length > 9 && strncasecmp(name.text, "standard_", 9) == 0;

    snprintf(out, size, "%s%.*s", whole ? "" : "Standard_", (int)name.length, name.text);
    for (char *c = out; *c != '\0'; c++)
        if (*c == ' ')
            *c = '_';
}

static void find_region(struct market_read *rd, char *out, size_t size)
{
    const char *slash = strrchr(rd->path, '/');
    const char *stem = slash != NULL ? slash + 1 : rd->path;
    const char *dot = strchr(stem, '.');
    size_t length = dot != NULL ? (size_t)(dot - stem) : strlen(stem);

    if (length == 0 || length > MARKET_NAME_MAX || strcmp(rd->path, "-") == 0)
        rd->table.status =
            base_err(rd->table.err, SHOAL_E_FORMAT,
                     "cannot read prices '%s': a table of dates takes its region from the name of "
                     "its file, such as us_east.csv",
                     rd->path);
    else
        azure_region(stem, length, out, size);
}

/* An offer of each column but the first. `seen`, by offer, has room for them. */
static void read_head(struct market_read *rd, uint32_t *offers, bool *seen)
{
    char region[MARKET_NAME_MAX + 8] = "", kind[2 * MARKET_NAME_MAX];
    struct market_place place = {.cloud = env_cell_of("azure")};
    struct env_table *t = &rd->table;

    find_region(rd, region, sizeof region);
    place.region = env_cell_of(region);
    for (size_t f = 1; f < t->count && t->status == SHOAL_OK; f++) {
        struct env_cell name = env_cell_trim(t->cells[f]);
        if (name.length == 0 || name.length > MARKET_NAME_MAX) {
            env_table_expected(t, name, "an instance of 1 to 127 bytes");
            return;
        }
        azure_kind(name, kind, sizeof kind);
        place.kind = env_cell_of(kind);
        offers[f] = market_read_offer(rd, &place, MARKET_SPOT);
        if (t->status == SHOAL_OK && seen[offers[f]])
            env_table_expected(t, name, "each instance once");
        if (t->status == SHOAL_OK)
            seen[offers[f]] = true;
    }
}

/* "$0.24", "0.24", "EUR 0.24": the currency's sign or letters stand before the number. */
static double read_cell(struct market_read *rd, struct env_cell cell)
{
    static const struct {
        const char *sign, *currency;
    } signs[] = {{"$", "USD"}, {"\xe2\x82\xac", "EUR"}, {"\xc2\xa3", "GBP"}};
    struct env_cell text = env_cell_trim(cell), currency = {"", 0, 0};

    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        size_t size = strlen(signs[i].sign);
        if (!market_starts(text.text, text.length, signs[i].sign))
            continue;
        currency = env_cell_of(signs[i].currency);
        text = (struct env_cell){text.text + size, text.length - size, text.column};
    }
    if (text.length > 3 && currency.length == 0 && text.text[0] >= 'A' && text.text[0] <= 'Z') {
        currency = (struct env_cell){text.text, 3, text.column};
        text = (struct env_cell){text.text + 3, text.length - 3, text.column};
    }
    text = env_cell_trim(text);
    if (text.length == 0 && currency.length > 0)
        env_table_expected(&rd->table, cell, "a price after the currency");
    return market_read_price(rd, text, currency);
}

static void read_rows(struct market_read *rd, const uint32_t *offers)
{
    struct env_table *t = &rd->table;
    double at_s = 0;

    while (env_table_next(t)) {
        if (!parse_date(t->cells[0], &at_s))
            env_table_expected(t, t->cells[0],
                               "a date such as 2/24/2020 (month first) or 2020-02-24, from 2000 "
                               "to 2099");
        for (size_t f = 1; f < t->count && t->status == SHOAL_OK; f++)
            market_read_add(rd, offers[f], at_s, read_cell(rd, t->cells[f]));
    }
}

static void read(struct market_read *rd)
{
    enum { DATE };
    static const struct env_column columns[] = {[DATE] = {"date", true}};
    struct env_table *t = &rd->table;

    if (!env_table_header(t, NULL, columns, 1, true))
        return;
    if (t->at[DATE] != 0)
        env_table_expected(t, t->cells[0], "the column 'Date'");
    uint32_t *offers = base_calloc(t->in.alloc, t->count, sizeof *offers);
    bool *seen = base_calloc(t->in.alloc, rd->draft->offer_count + t->count, sizeof *seen);
    if (offers == NULL || seen == NULL) {
        env_table_nomem(t, "loading prices");
    } else {
        read_head(rd, offers, seen);
        read_rows(rd, offers);
    }
    base_free(t->in.alloc, seen);
    base_free(t->in.alloc, offers);
}

const struct market_reader market_reader_dates = {
    .name = "dates", .looks = "Date,kind,..", .detect = detect, .read = read};
