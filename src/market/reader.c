/* reader.c - the helpers readers of price histories are made of; see reader.h. */
#include "market/reader.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "market/when.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* --- pieces of text -------------------------------------------------------------------------- */

struct market_text market_text_of(const char *text)
{
    return (struct market_text){text, strlen(text)};
}

struct market_text market_read_text(const struct market_read *rd, int field)
{
    if (field < 0)
        return (struct market_text){"", 0};
    shoal_dassert((size_t)field < rd->field_count);
    return (struct market_text){rd->fields[field].text, rd->fields[field].length};
}

bool market_text_is(struct market_text text, const char *word)
{
    return strlen(word) == text.size && memcmp(text.bytes, word, text.size) == 0;
}

bool market_text_is_word(struct market_text text, const char *word)
{
    return strlen(word) == text.size && strncasecmp(text.bytes, word, text.size) == 0;
}

bool market_text_starts(const char *head, size_t size, const char *word)
{
    return size >= strlen(word) && memcmp(head, word, strlen(word)) == 0;
}

struct market_text market_text_line(const char *head, size_t size)
{
    const char *lf = memchr(head, '\n', size);

    return (struct market_text){head, lf != NULL ? (size_t)(lf - head) : size};
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

struct market_text market_region_of(struct market_text zone)
{
    const char *s = zone.bytes;
    size_t n = zone.size;

    for (size_t i = 1; i + 1 < n; i++) { /* AWS: words, then the first number */
        if (s[i] != '-' || !is_digit(s[i + 1]) || !is_letter(s[i - 1]))
            continue;
        for (i++; i < n && is_digit(s[i]); i++)
            ;
        return (struct market_text){s, i};
    }
    if (n > 3 && s[n - 2] == '-' && is_letter(s[n - 1]) && is_digit(s[n - 3])) /* GCP */
        return (struct market_text){s, n - 2};
    return zone;
}

/* --- lines and headers ----------------------------------------------------------------------- */

shoal_status market_read_next(struct market_read *rd, char separator, shoal_err *err)
{
    return env_lines_fields(&rd->lines, separator, separator == ',' ? '#' : 0, rd->fields,
                            &rd->field_count, err);
}

shoal_status market_read_expected(struct market_read *rd, uint32_t column, struct market_text found,
                                  const char *what, shoal_err *err)
{
    char shown[ENV_SHOWN_MAX];

    if (found.size == 0)
        return env_lines_bad(&rd->lines, column, err, "expected %s, found nothing", what);
    return env_lines_bad(&rd->lines, column, err, "expected %s, found '%s'", what,
                         env_lines_show(found.bytes, found.size, shown));
}

shoal_status market_read_header(struct market_read *rd, struct env_column *columns, size_t count,
                                bool strict, shoal_err *err)
{
    struct env_header header = {&rd->lines, rd->fields, rd->field_count, strict};

    return env_header_find(&header, columns, count, err);
}

shoal_status market_read_magic(struct market_read *rd, const char *magic, shoal_err *err)
{
    const char *line;
    char expected[64];
    size_t length, size = strlen(magic);
    shoal_status st = env_lines_peek(&rd->lines, &line, &length, err);

    if (st != SHOAL_OK || !market_text_starts(line, length, magic))
        return st;
    if (market_text_is((struct market_text){line + size, length - size}, " v1"))
        return SHOAL_OK;
    rd->lines.line++;
    snprintf(expected, sizeof expected, "'%s v1'", magic);
    return market_read_expected(rd, 0, (struct market_text){line, length}, expected, err);
}

shoal_status market_read_row(struct market_read *rd, size_t width, shoal_err *err)
{
    shoal_status st = market_read_next(rd, ',', err);

    if (st != SHOAL_OK || rd->field_count == width)
        return st;
    return env_lines_bad(&rd->lines, 0, err, "expected %zu fields, found %zu", width,
                         rd->field_count);
}

/* --- values ---------------------------------------------------------------------------------- */

shoal_status market_read_time(struct market_read *rd, uint32_t column, struct market_text text,
                              double *out_s, shoal_err *err)
{
    if (market_when_parse(text.bytes, text.size, out_s))
        return SHOAL_OK;
    return market_read_expected(rd, column, text,
                                "a time such as 2024-01-13T04:46:14Z, from 2000 to 2099", err);
}

static bool rate_of(const struct market_read *rd, struct market_text currency, double *out)
{
    *out = 1;
    if (currency.size == 0 || market_text_is_word(currency, "USD"))
        return true;
    for (size_t i = 0; rd->opts != NULL && i < rd->opts->rate_count; i++) {
        if (market_text_is_word(currency, rd->opts->rates[i].currency)) {
            *out = rd->opts->rates[i].usd;
            return true;
        }
    }
    return false;
}

static shoal_status no_rate(struct market_read *rd, uint32_t column, struct market_text currency,
                            shoal_err *err)
{
    char shown[ENV_SHOWN_MAX];

    env_lines_show(currency.bytes, currency.size, shown);
    env_lines_bad(&rd->lines, column, err, "expected a price in US dollars, found one in '%s'",
                  shown);
    base_err_hint(err, "give what one is worth in US dollars, such as --rate %s=1.1", shown);
    return SHOAL_E_FORMAT;
}

shoal_status market_read_price(struct market_read *rd, uint32_t column, struct market_text text,
                               struct market_text currency, double *out_usd_h, shoal_err *err)
{
    double value = NAN, rate = 1;

    if (text.size == 0) {
        *out_usd_h = NAN;
        return SHOAL_OK;
    }
    if (!base_parse_f64(text.bytes, text.size, &value))
        return market_read_expected(rd, column, text, "a price in dollars an hour", err);
    if (value < 0)
        return market_read_expected(rd, column, text, "a price of 0 or more", err);
    if (!rate_of(rd, currency, &rate))
        return no_rate(rd, column, currency, err);
    if (!(value * rate <= MARKET_USD_H_MAX))
        return market_read_expected(rd, column, text,
                                    "a price of at most 1,000,000 dollars an hour", err);
    rd->draft->odd.currencies += rate != 1;
    rd->draft->odd.zero += value == 0;
    *out_usd_h = value * rate > 0 ? value * rate : NAN; /* also what rounds to nothing */
    return SHOAL_OK;
}

shoal_status market_read_holds(struct market_read *rd, uint32_t column, struct market_text text,
                               double *out, shoal_err *err)
{
    double value = 0;

    if (text.size > 0 &&
        (!base_parse_f64(text.bytes, text.size, &value) || value < 0 || value > 10000))
        return market_read_expected(rd, column, text, "a number of accelerators, 0 to 10000", err);
    *out = value + 0.0; /* -0 becomes 0 */
    return SHOAL_OK;
}

/* --- offers ---------------------------------------------------------------------------------- */

static shoal_status check_name(struct market_read *rd, struct market_text name, const char *what,
                               shoal_err *err)
{
    if (name.size == 0)
        return market_read_expected(rd, 0, name, what, err);
    if (name.size > MARKET_NAME_MAX)
        return env_lines_bad(&rd->lines, 0, err, "expected %s of at most %d bytes", what,
                             MARKET_NAME_MAX);
    for (size_t i = 0; i < name.size; i++)
        if ((unsigned char)name.bytes[i] < 0x20 || name.bytes[i] == 0x7f)
            return env_lines_bad(&rd->lines, 0, err, "expected %s, found a control character",
                                 what);
    return SHOAL_OK;
}

static shoal_status full(struct market_read *rd, shoal_status st, shoal_err *err)
{
    if (st == SHOAL_E_NOMEM)
        return base_err_nomem(err, "loading prices");
    env_lines_bad(&rd->lines, 0, err, "expected at most %d offers and %d prices", MARKET_OFFERS_MAX,
                  MARKET_POINTS_MAX);
    base_err_hint(err, "read fewer files, or only the kinds and regions wanted");
    return SHOAL_E_FORMAT;
}

static shoal_status keep_name(struct market_read *rd, struct market_text name, const char *what,
                              const char **out, shoal_err *err)
{
    shoal_status st = check_name(rd, name, what, err);

    if (st != SHOAL_OK)
        return st;
    *out = market_draft_name(rd->draft, name);
    return *out != NULL ? SHOAL_OK : full(rd, SHOAL_E_NOMEM, err);
}

shoal_status market_read_offer(struct market_read *rd, const struct market_place *place,
                               enum market_how how, uint32_t *out_offer, shoal_err *err)
{
    struct market_draft_key key = {.how = how};
    struct market_text region = place->region, zone = place->zone;

    if (region.size == 0)
        region = market_region_of(zone);
    if (zone.size == 0)
        zone = region;
    shoal_status st = keep_name(rd, place->cloud, "the name of a cloud", &key.cloud, err);
    if (st == SHOAL_OK)
        st = keep_name(rd, region, "a region or a zone", &key.region, err);
    if (st == SHOAL_OK)
        st = keep_name(rd, zone, "a zone", &key.zone, err);
    if (st == SHOAL_OK)
        st = keep_name(rd, place->kind, "a kind of instance", &key.kind, err);
    if (st == SHOAL_OK && place->product.size > 0)
        st = keep_name(rd, place->product, "a product", &key.product, err);
    if (st != SHOAL_OK)
        return st;
    st = market_draft_offer(rd->draft, &key, out_offer);
    return st == SHOAL_OK ? st : full(rd, st, err);
}

shoal_status market_read_say(struct market_read *rd, uint32_t offer, struct market_text accelerator,
                             double accelerators, shoal_err *err)
{
    const char *name = NULL;

    if (accelerator.size == 0)
        return SHOAL_OK;
    shoal_status st = keep_name(rd, accelerator, "the name of an accelerator", &name, err);
    if (st != SHOAL_OK)
        return st;
    st = market_draft_holds(rd->draft, offer, name, accelerators);
    return st == SHOAL_OK ? st : full(rd, st, err);
}

shoal_status market_read_add(struct market_read *rd, uint32_t offer, double at_s, double usd_h,
                             shoal_err *err)
{
    shoal_status st = market_draft_point(rd->draft, offer, at_s, usd_h);

    return st == SHOAL_OK ? st : full(rd, st, err);
}
