/* prices.c - made-up price histories, so that documents, tests and first steps need nobody's data.
 *
 * The price of a spot offer is its price on demand times a level that wanders around a mean: its
 * logarithm falls back to it within weeks, as the sum of what the region and the zone do; it
 * changes at random times and never passes the price on demand. Nothing is measured in it. Offers have draws of
 * their own, so more zones or kinds change no other's prices. Tests: tests/unit/gen/test_prices.c. */
#include "gen/gen.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/rand.h"
#include "base/text.h"
#include "base/watch.h"
#include "market/when.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The level falls back to its mean by 1/e in so long. */
static const double FORGET_S = 20 * 86400.0;
static const double MEAN_LEVEL = 0.32; /* of the price on demand */
static const char *const region_names[] = {"north", "south", "east", "west", "centre"};

enum { REGION_NAMES = 5, NAME_MAX_BYTES = 60, KINDS_MAX = 16, PIECE = 1 << 16 };

struct kind {
    char name[NAME_MAX_BYTES + 1], accelerator[NAME_MAX_BYTES + 1];
    double count, usd_h;
};

static bool parse_kind(const char *text, size_t length, struct kind *out)
{
    const char *sign = memchr(text, '=', length), *part = text;
    size_t head = sign != NULL ? (size_t)(sign - text) : 0, column = 0;

    *out = (struct kind){.count = 0};
    if (head == 0 || sign[-1] == ':' || !base_parse_f64(sign + 1, length - head - 1, &out->usd_h) ||
        !(out->usd_h > 0 && out->usd_h <= 1e6))
        return false;
    while (part < sign) {
        size_t size = 0;
        while (part + size < sign && part[size] != ':')
            size++;
        if (size == 0 || size > NAME_MAX_BYTES || column > 2)
            return false;
        if (column == 0)
            memcpy(out->name, part, size);
        else if (column == 1)
            memcpy(out->accelerator, part, size);
        else if (!base_parse_f64(part, size, &out->count) || !(out->count > 0))
            return false;
        column++;
        part += size + 1;
    }
    if (column == 2)
        out->count = 1;
    return strpbrk(out->name, ",\"\n") == NULL && strpbrk(out->accelerator, ",\"\n") == NULL;
}

static shoal_status parse_kinds(const char *text, struct kind *kinds, size_t *out_count,
                                shoal_err *err)
{
    *out_count = 0;
    for (const char *at = text; *at != '\0';) {
        size_t length = strcspn(at, ",");
        if (*out_count == KINDS_MAX)
            return base_err(err, SHOAL_E_INVAL, "more than %d kinds", KINDS_MAX);
        if (!parse_kind(at, length, &kinds[*out_count]))
            return base_err(
                err, SHOAL_E_INVAL,
                "expected kinds such as small:V100:1=3.06 (name, accelerator, how many, "
                "US dollars an hour on demand), found '%.*s'",
                (int)(length < 60 ? length : 60), at);
        for (size_t i = 0; i < *out_count; i++)
            if (strcmp(kinds[i].name, kinds[*out_count].name) == 0)
                return base_err(err, SHOAL_E_INVAL, "the kind '%.60s' is there twice",
                                kinds[i].name);
        (*out_count)++;
        at += length + (at[length] == ',');
    }
    return *out_count > 0 ? SHOAL_OK : base_err(err, SHOAL_E_INVAL, "no kinds to make prices of");
}

/* The history while it is made. */
struct history {
    struct gen_call *call;
    const shoal_gen_prices_opts *opts;
    double from_s, end_s;
    struct kind kinds[KINDS_MAX];
    size_t kind_count, days;
    double *walk; /* (days) of a region and kind */
    struct base_buf text;
    uint64_t rows;
};

/* An offer of it. */
struct place {
    const struct kind *kind;
    char region[24], zone[32];
};

/* Text goes out in pieces; at the end `least` is 0. */
static shoal_status put_text(struct history *h, size_t least, shoal_err *err)
{
    shoal_status st = base_buf_status(&h->text);

    if (st != SHOAL_OK)
        return base_err_nomem(err, "making prices");
    if (base_watch_stopped(h->call->watch))
        return base_err(err, SHOAL_E_CANCELLED, "interrupted");
    if (h->text.size == 0 || h->text.size < least)
        return SHOAL_OK;
    st = gen_put(h->call, h->text.data, h->text.size, err);
    base_buf_clear(&h->text);
    return st;
}

static void put_row(struct history *h, const struct place *p, double at_s, const char *how,
                    double usd_h)
{
    char time[MARKET_WHEN_TEXT];

    base_buf_printf(&h->text, "%s,example,%s,%s,%s,%s,%.4f,%s,", market_when_text(at_s, time),
                    p->region, p->zone, p->kind->name, how, usd_h, p->kind->accelerator);
    if (p->kind->count > 0)
        base_buf_printf(&h->text, "%g", p->kind->count);
    base_buf_puts(&h->text, "\n");
    h->rows++;
}

/* One step of a walk that falls back to 0 and has deviation `swing` in the long run. */
static double wander(struct base_rand *r, double level, double seconds, double swing)
{
    double keep = exp(-seconds / FORGET_S);

    return level * keep + base_rand_normal(r, 0, swing * sqrt(1 - keep * keep));
}

/* The region's part of the level: the same for all its zones and all calls, a step each day. */
static void region_walk(struct history *h, const struct place *p)
{
    double swing = h->opts->swing * 0.7;
    struct base_rand r;
    char stream[128];

    snprintf(stream, sizeof stream, "region %s %s", p->region, p->kind->name);
    base_rand_init(&r, h->opts->seed, stream);
    h->walk[0] = base_rand_normal(&r, 0, swing);
    for (size_t d = 1; d < h->days; d++)
        h->walk[d] = wander(&r, h->walk[d - 1], 86400, swing);
}

static shoal_status make_spot(struct history *h, const struct place *p, shoal_err *err)
{
    double at_s = h->from_s, swing = h->opts->swing * 0.7;
    shoal_status st = SHOAL_OK;
    struct base_rand r;
    char stream[160];

    snprintf(stream, sizeof stream, "zone %s %s", p->zone, p->kind->name);
    base_rand_init(&r, h->opts->seed, stream);
    double level = base_rand_normal(&r, 0, swing);
    while (at_s < h->end_s && st == SHOAL_OK) {
        size_t day = (size_t)((at_s - h->from_s) / 86400);
        double share = MEAN_LEVEL * exp(h->walk[day < h->days ? day : h->days - 1] + level);
        put_row(h, p, at_s, "spot", p->kind->usd_h * fmin(fmax(share, 0.05), 1));
        double step_s = fmax(60, floor(base_rand_exp(&r, 86400 / h->opts->changes_day)));
        level = wander(&r, level, step_s, swing);
        at_s += step_s;
        st = put_text(h, PIECE, err);
    }
    return st;
}

static shoal_status make_kind(struct history *h, uint64_t region, const struct kind *kind,
                              shoal_err *err)
{
    struct place p = {.kind = kind};
    shoal_status st = SHOAL_OK;

    snprintf(p.region, sizeof p.region, "%s-%u", region_names[region % REGION_NAMES],
             (unsigned)(region / REGION_NAMES + 1));
    region_walk(h, &p);
    for (uint64_t z = 0; z < h->opts->zones && st == SHOAL_OK; z++) {
        snprintf(p.zone, sizeof p.zone, "%s%c", p.region, 'a' + (int)(z % 26));
        st = make_spot(h, &p, err);
    }
    snprintf(p.zone, sizeof p.zone, "%s", p.region);
    put_row(h, &p, h->from_s, "on-demand", kind->usd_h);
    return st;
}

static shoal_status make_rows(struct history *h, shoal_watch *watch, shoal_err *err)
{
    const shoal_gen_prices_opts *o = h->opts;
    atomic_uint_fast64_t *done = base_watch_done(watch);
    shoal_status st = gen_open(h->call, watch, "regions", o->regions, err);

    base_buf_puts(&h->text, "#shoal-prices v1\n"
                            "time,cloud,region,zone,instance,market,price,accelerator,count\n");
    for (uint64_t g = 0; g < o->regions && st == SHOAL_OK; g++) {
        for (size_t k = 0; k < h->kind_count && st == SHOAL_OK; k++)
            st = make_kind(h, g, &h->kinds[k], err);
        if (done != NULL)
            atomic_store_explicit(done, g + 1, memory_order_relaxed);
    }
    if (st == SHOAL_OK)
        st = put_text(h, 0, err);
    return gen_end(h->call, st, err);
}

/* ---- the call ---- */

#define AT(member) offsetof(shoal_gen_prices_opts, member)

static const shoal_opt rows[] = {
    {AT(kinds), SHOAL_OPT_STR, "kinds", 'k', "LIST", "small:V100:1=3.06,large:V100:8=24.48",
     .help = "kinds of instances as NAME:ACCELERATOR:COUNT=USD, dollars an hour on demand"},
    {AT(regions), SHOAL_OPT_U64, "region-count", 0, "N", "3", "regions", .min = 1, .max = 1000},
    {AT(zones), SHOAL_OPT_U64, "zone-count", 0, "N", "2", "zones in each region", .min = 1,
     .max = 26},
    {AT(from), SHOAL_OPT_STR, "from", 0, "DATE", "2025-01-01", .help = "when the history begins"},
    {AT(days), SHOAL_OPT_F64, "days", 0, "D", "90", "how long it is", .min = 0.01, .max = 10000},
    {AT(changes_day), SHOAL_OPT_F64, "changes", 0, "N", "3",
     "changes of a spot price in a day, on average", .min = 0.001, .max = 1000},
    {AT(swing), SHOAL_OPT_F64, "swing", 0, "X", "0.5",
     "how far prices wander: standard deviation of their logarithm", .max = 5},
    GEN_ROW_SEED,
    GEN_ROW_OUTPUT,
};
#undef AT

BASE_OPT_PUBLIC(gen_prices, rows)

static shoal_status check(struct history *h, shoal_err *err)
{
    const shoal_gen_prices_opts *o = h->opts;

    if (o->kinds == NULL || o->from == NULL || !(o->days > 0 && o->days <= 10000) ||
        !(o->changes_day > 0) || !(o->swing >= 0))
        return base_err(err, SHOAL_E_INVAL,
                        "a history needs kinds, a date, days up to 10000, changes and a swing");
    if (!market_when_parse(o->from, strlen(o->from), &h->from_s))
        return base_err(err, SHOAL_E_INVAL,
                        "--from: expected a date such as 2025-01-01, found '%.60s'", o->from);
    h->end_s = h->from_s + o->days * 86400;
    if (h->end_s >= MARKET_WHEN_MAX)
        return base_err(err, SHOAL_E_INVAL, "these prices end after 2099, which no reader takes");
    return parse_kinds(o->kinds, h->kinds, &h->kind_count, err);
}

shoal_status shoal_gen_prices(shoal_env *env, const shoal_gen_prices_opts *given,
                              shoal_watch *watch, const shoal_result **out_result, shoal_err *err)
{
    shoal_gen_prices_opts opts;
    struct gen_call call;
    struct history h = {.call = &call, .opts = &opts};

    shoal_status st = gen_take(rows, BASE_COUNT(rows), &opts, sizeof opts, given, out_result, err);
    if (st == SHOAL_OK)
        st = check(&h, err);
    if (st == SHOAL_OK)
        st = gen_begin(&call, env, "prices", &opts.to, err);
    if (st != SHOAL_OK)
        return st;
    h.days = (size_t)opts.days + 1;
    h.walk = base_calloc(env_alloc(env), h.days, sizeof *h.walk);
    base_buf_init(&h.text, env_alloc(env), 2 * PIECE);
    st = h.walk != NULL ? make_rows(&h, watch, err) : base_err_nomem(err, "making prices");
    base_buf_fini(&h.text);
    base_free(env_alloc(env), h.walk);
    if (st != SHOAL_OK)
        return st;
    call.made.rows = (double)h.rows;
    struct page_made *made = gen_made(&call);
    gen_say(&call, made, "%s", gen_count(made, call.made.rows, "price"));
    return gen_finish(&call, made, "market", "", out_result, err);
}
