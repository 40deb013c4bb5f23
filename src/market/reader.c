/* reader.c - the helpers readers of price histories are made of (reader.h), and market_prices_load, which finds the
 * files, chooses a reader for each and settles what they said. */
#include "market/reader.h"

#include "base/err.h"
#include "base/text.h"
#include "env/folder.h"
#include "market/when.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- pieces of text ---- */

bool market_starts(const char *head, size_t size, const char *word)
{
    return size >= strlen(word) && memcmp(head, word, strlen(word)) == 0;
}

struct env_cell market_first_line(const char *head, size_t size)
{
    const char *lf = memchr(head, '\n', size);

    return (struct env_cell){head, lf != NULL ? (size_t)(lf - head) : size, 0};
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

struct env_cell market_region_of(struct env_cell zone)
{
    const char *s = zone.text;
    size_t n = zone.length;

    for (size_t i = 1; i + 1 < n; i++) { /* AWS: words, then the first number */
        if (s[i] != '-' || !is_digit(s[i + 1]) || !is_letter(s[i - 1]))
            continue;
        for (i++; i < n && is_digit(s[i]); i++)
            ;
        return (struct env_cell){s, i, zone.column};
    }
    if (n > 3 && s[n - 2] == '-' && is_letter(s[n - 1]) && is_digit(s[n - 3])) /* GCP */
        return (struct env_cell){s, n - 2, zone.column};
    return zone;
}

/* ---- values ---- */

double market_read_time(struct env_table *table, struct env_cell cell)
{
    struct env_cell text = env_cell_trim(cell);
    double at_s = 0;

    if (market_when_parse(text.text, text.length, &at_s) ||
        (base_parse_f64(text.text, text.length, &at_s) && at_s >= MARKET_WHEN_MIN &&
         at_s < MARKET_WHEN_MAX))
        return at_s;
    env_table_expected(table, cell, "a time such as 2024-01-13T04:46:14Z, from 2000 to 2099");
    return 0;
}

static bool rate_of(const struct market_read *rd, struct env_cell currency, double *out)
{
    *out = 1;
    if (currency.length == 0 || env_cell_is(currency, "USD"))
        return true;
    for (size_t i = 0; rd->opts != NULL && i < rd->opts->rate_count; i++) {
        if (env_cell_is(currency, rd->opts->rates[i].currency)) {
            *out = rd->opts->rates[i].usd;
            return true;
        }
    }
    return false;
}

static void no_rate(struct market_read *rd, uint32_t column, struct env_cell currency)
{
    char shown[ENV_SHOWN_MAX];

    if (rd->table.status != SHOAL_OK)
        return;
    env_lines_show(currency.text, currency.length, shown);
    env_table_bad(&rd->table, column, "expected a price in US dollars, found one in '%s'", shown);
    env_table_hint(&rd->table, "give what one is worth in US dollars, such as --exchange %s=1.1",
                   shown);
}

double market_read_price(struct market_read *rd, struct env_cell cell, struct env_cell currency)
{
    struct env_table *t = &rd->table;
    struct env_cell text = env_cell_trim(cell);
    double value = NAN, rate = 1;

    if (text.length == 0)
        return NAN;
    if (!base_parse_f64(text.text, text.length, &value))
        env_table_expected(t, cell, "a price in dollars an hour");
    else if (value < 0)
        env_table_expected(t, cell, "a price of 0 or more");
    else if (!rate_of(rd, currency, &rate))
        no_rate(rd, cell.column, currency);
    else if (!(value * rate <= MARKET_USD_H_MAX))
        env_table_expected(t, cell, "a price of at most 1,000,000 dollars an hour");
    if (t->status != SHOAL_OK)
        return NAN;
    rd->draft->odd.currencies += rate != 1;
    rd->draft->odd.zero += value == 0;
    return value * rate > 0 ? value * rate : NAN; /* also what rounds to nothing */
}

double market_read_holds(struct market_read *rd, struct env_cell cell)
{
    return cell.length == 0
               ? 0
               : env_table_number(&rd->table, cell, 0, 10000, "a number of accelerators");
}

enum market_how market_read_how(struct market_read *rd, struct env_cell cell)
{
    if (cell.length == 0 || env_cell_is(cell, "spot"))
        return MARKET_SPOT;
    if (!env_cell_is(cell, "on-demand") && !env_cell_is(cell, "ondemand"))
        env_table_expected(&rd->table, cell, "spot or on-demand");
    return MARKET_ON_DEMAND;
}

/* ---- offers ---- */

static void full(struct market_read *rd, shoal_status st)
{
    if (st == SHOAL_OK || rd->table.status != SHOAL_OK)
        return;
    if (st == SHOAL_E_NOMEM) {
        env_table_nomem(&rd->table, "loading prices");
        return;
    }
    env_table_bad(&rd->table, 0, "expected at most %d offers and %d prices", MARKET_OFFERS_MAX,
                  MARKET_POINTS_MAX);
    env_table_hint(&rd->table, "read fewer files, or only the kinds and regions wanted");
}

/* The name, kept; NULL after a failure. */
static const char *keep_name(struct market_read *rd, struct env_cell name, const char *what)
{
    struct env_table *t = &rd->table;
    const char *kept = NULL;

    name.column = 0; /* it may come from another cell: region from zone */
    if (name.length == 0)
        env_table_expected(t, name, what);
    else if (name.length > MARKET_NAME_MAX)
        env_table_bad(t, 0, "expected %s of at most %d bytes", what, MARKET_NAME_MAX);
    else if (base_has_control(name.text, name.length))
        env_table_bad(t, 0, "expected %s, found a control character", what);
    if (t->status != SHOAL_OK)
        return NULL;
    kept = market_draft_name(rd->draft, name.text, name.length);
    full(rd, kept != NULL ? SHOAL_OK : SHOAL_E_NOMEM);
    return kept;
}

uint32_t market_read_offer(struct market_read *rd, const struct market_place *place,
                           enum market_how how)
{
    struct market_draft_key key = {.how = how};
    struct env_cell region = place->region, zone = place->zone;
    uint32_t offer = MARKET_NONE;

    if (region.length == 0)
        region = market_region_of(zone);
    if (zone.length == 0)
        zone = region;
    key.cloud = keep_name(rd, place->cloud, "the name of a cloud");
    key.region = keep_name(rd, region, "a region or a zone");
    key.zone = keep_name(rd, zone, "a zone");
    key.kind = keep_name(rd, place->kind, "a kind of instance");
    if (place->product.length > 0)
        key.product = keep_name(rd, place->product, "a product");
    if (rd->table.status == SHOAL_OK)
        full(rd, market_draft_offer(rd->draft, &key, &offer));
    return offer;
}

void market_read_say(struct market_read *rd, uint32_t offer, struct env_cell accelerator,
                     double accelerators)
{
    if (accelerator.length == 0 || rd->table.status != SHOAL_OK)
        return;
    const char *name = keep_name(rd, accelerator, "the name of an accelerator");
    if (name != NULL)
        full(rd, market_draft_holds(rd->draft, offer, name, accelerators));
}

void market_read_add(struct market_read *rd, uint32_t offer, double at_s, double usd_h)
{
    struct env_table *t = &rd->table;

    if (t->status != SHOAL_OK)
        return;
    if (rd->stop != NULL && atomic_load_explicit(rd->stop, memory_order_relaxed))
        t->status = base_err(t->err, SHOAL_E_CANCELLED, "stopped while prices were read");
    else
        full(rd, market_draft_point(rd->draft, offer, at_s, usd_h));
}

/* ---- loading ---- */

static const struct market_reader *const readers[MARKET_FORMAT_COUNT] = {
    NULL,
#define MARKET_READER_POINTER(id, name) &market_reader_##name,
    MARKET_READER_MAP(MARKET_READER_POINTER)
#undef MARKET_READER_POINTER
};

struct loading {
    shoal_env *env;
    const struct market_load_opts *opts;
    struct market_draft draft;
    struct market_read rd;
    const struct market_reader *reader; /* of the files so far, NULL: none yet */
    bool mixed;
    uint64_t hash;
    size_t files;
};

static shoal_status unknown_format(const struct market_read *rd, const char *head, size_t size,
                                   shoal_err *err)
{
    char shown[ENV_SHOWN_MAX], list[180] = "";

    if (size == 0)
        return base_err(err, SHOAL_E_FORMAT, "cannot read prices '%s': the file is empty",
                        rd->path);
    base_err(err, SHOAL_E_FORMAT,
             "cannot read prices '%s': expected a history in a known format, found '%s'", rd->path,
             env_lines_show(head, market_first_line(head, size).length, shown));
    for (size_t i = 1; i < MARKET_FORMAT_COUNT; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s (%s)", i > 1 ? ", " : "", readers[i]->name,
                 readers[i]->looks);
    }
    base_err_hint(err, "formats: %s", list);
    return SHOAL_E_FORMAT;
}

static bool looks_like(const struct market_reader *reader, const char *head, size_t size)
{
    return (reader->header != NULL && env_table_has(head, size, reader->header)) ||
           (reader->detect != NULL && reader->detect(head, size));
}

/* The reader of the open file; NULL where a file of a folder is none of ours. */
static shoal_status choose(struct loading *ld, bool inside, const struct market_reader **out_reader,
                           shoal_err *err)
{
    struct env_lines *in = &ld->rd.table.in;
    const char *head;
    size_t size;
    enum market_format format = ld->opts != NULL ? ld->opts->format : MARKET_FORMAT_AUTO;
    const struct market_reader *reader = NULL;
    shoal_status st = env_lines_head(in, &head, &size, err);

    if (st != SHOAL_OK)
        return st;
    for (size_t i = 1; i < MARKET_FORMAT_COUNT && reader == NULL && in->packed == NULL; i++)
        if ((format == MARKET_FORMAT_AUTO || format == i) && looks_like(readers[i], head, size))
            reader = readers[i];
    if (reader == NULL && !inside) {
        reader = readers[format];
        if (in->packed != NULL) /* its first line says what it is */
            reader = readers[MARKET_FORMAT_SHOAL];
    }
    if (reader == NULL && !inside)
        return unknown_format(&ld->rd, head, size, err);
    *out_reader = reader;
    return SHOAL_OK;
}

static uint64_t mix_hash(uint64_t hash, uint64_t more)
{
    return (hash ^ more) * 0x9e3779b97f4a7c15u;
}

static shoal_status load_file(void *ctx, const char *path, bool inside, shoal_err *err)
{
    struct loading *ld = ctx;
    struct env_table *t = &ld->rd.table;
    const struct market_reader *reader = NULL;

    if (env_table_open(ld->env, "prices", path, t, err) != SHOAL_OK)
        return t->status;
    ld->rd.path = path;
    t->status = choose(ld, inside, &reader, err);
    if (t->status == SHOAL_OK && reader != NULL) {
        market_draft_file(&ld->draft, reader->newest_first);
        reader->read(&ld->rd);
        market_draft_file_end(&ld->draft);
        ld->mixed |= ld->reader != NULL && ld->reader != reader;
        ld->reader = reader;
        ld->hash = mix_hash(ld->hash, t->in.hash);
        ld->files++;
    }
    ld->draft.odd.skipped += t->status == SHOAL_OK && reader == NULL;
    env_table_note(t, ld->draft.odd.ignored);
    return env_table_close(t);
}

static shoal_status no_prices(const struct loading *ld, const char *path, shoal_err *err)
{
    if (ld->files == 0)
        return base_err(err, SHOAL_E_FORMAT,
                        "cannot read prices '%s': none of its %llu files is a price history", path,
                        (unsigned long long)ld->draft.odd.skipped);
    return base_err(err, SHOAL_E_FORMAT, "cannot read prices '%s': nothing in it is ever offered",
                    path);
}

static shoal_status prices_new(const struct base_alloc *alloc, struct market_prices **out)
{
    struct market_prices *prices = base_calloc(alloc, 1, sizeof *prices);

    if (prices == NULL)
        return SHOAL_E_NOMEM;
    prices->alloc = alloc;
    base_map_init(&prices->clouds.map, alloc);
    base_map_init(&prices->regions.map, alloc);
    base_map_init(&prices->zones.map, alloc);
    base_map_init(&prices->kinds.map, alloc);
    base_map_init(&prices->accelerators.map, alloc);
    *out = prices;
    return SHOAL_OK;
}

static shoal_status finish(struct loading *ld, const char *first, struct market_prices *prices,
                           shoal_err *err)
{
    if (market_draft_settle(&ld->draft, prices) != SHOAL_OK)
        return base_err_nomem(err, "loading prices");
    if (prices->offer_count == 0)
        return no_prices(ld, first, err);
    prices->odd = ld->draft.odd;
    prices->input_hash = ld->hash;
    prices->format = ld->mixed ? "mixed" : ld->reader->name;
    prices->file_count = ld->files;
    return SHOAL_OK;
}

static shoal_status check_call(const char *const *paths, size_t path_count,
                               const struct market_load_opts *opts, shoal_err *err)
{
    size_t inputs = 0;

    if (path_count == 0)
        return base_err(err, SHOAL_E_INVAL, "cannot read prices: no file given");
    if (opts != NULL && opts->format >= MARKET_FORMAT_COUNT)
        return base_err(err, SHOAL_E_INVAL, "cannot read prices: no such format");
    for (size_t i = 0; i < path_count; i++)
        inputs += strcmp(paths[i], "-") == 0;
    if (inputs > 1)
        return base_err(err, SHOAL_E_INVAL,
                        "cannot read prices: standard input ('-') is given more than once");
    for (size_t i = 0; opts != NULL && i < opts->rate_count; i++)
        if (!(opts->rates[i].usd > 0 && opts->rates[i].usd <= 1e6))
            return base_err(err, SHOAL_E_INVAL,
                            "cannot use the rate of '%.7s': expected US dollars above 0 and at "
                            "most 1,000,000",
                            opts->rates[i].currency);
    return SHOAL_OK;
}

shoal_status market_prices_load(shoal_env *env, const char *const *paths, size_t path_count,
                                const struct market_load_opts *opts,
                                struct market_prices **out_prices, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    struct market_prices *prices = NULL;
    struct loading *ld = NULL;
    shoal_status st = check_call(paths, path_count, opts, err);

    if (st != SHOAL_OK)
        return st;
    ld = base_calloc(alloc, 1, sizeof *ld);
    if (ld == NULL || prices_new(alloc, &prices) != SHOAL_OK) {
        base_free(alloc, ld);
        return base_err_nomem(err, "loading prices");
    }
    ld->env = env;
    ld->opts = opts;
    market_draft_init(&ld->draft, alloc);
    ld->rd.draft = &ld->draft;
    ld->rd.opts = opts;
    ld->rd.stop = opts != NULL ? opts->stop : NULL;
    for (size_t i = 0; st == SHOAL_OK && i < path_count; i++)
        st = env_folder_each(env, paths[i], load_file, ld, err);
    if (st == SHOAL_OK)
        st = finish(ld, paths[0], prices, err);
    market_draft_fini(&ld->draft);
    base_free(alloc, ld);
    if (st == SHOAL_OK)
        *out_prices = prices;
    else
        market_prices_free(prices);
    return st;
}
