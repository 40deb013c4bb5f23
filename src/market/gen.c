/* gen.c - made-up price histories. */
#include "market/gen.h"

#include "base/err.h"
#include "base/rand.h"
#include "base/text.h"
#include "market/when.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The level falls back to its mean by 1/e in so long. */
static const double FORGET_S = 20 * 86400.0;
static const double MEAN_LEVEL = 0.32; /* of the price on demand */
static const char *const region_names[] = {"north", "south", "east", "west", "centre"};

enum { REGION_NAMES = 5, NAME_MAX_BYTES = 60 };

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
        if (*out_count == MARKET_GEN_KINDS_MAX)
            return base_err(err, SHOAL_E_INVAL, "more than %d kinds", MARKET_GEN_KINDS_MAX);
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

/* An offer while it is made. */
struct place {
    const struct market_gen_opts *opts;
    const struct kind *kind;
    char region[24], zone[32];
};

static void put_row(const struct place *p, double at_s, const char *how, double usd_h,
                    struct base_buf *out)
{
    char time[MARKET_WHEN_TEXT];

    base_buf_printf(out, "%s,example,%s,%s,%s,%s,%.4f,%s,", market_when_text(at_s, time), p->region,
                    p->zone, p->kind->name, how, usd_h, p->kind->accelerator);
    if (p->kind->count > 0)
        base_buf_printf(out, "%g", p->kind->count);
    base_buf_puts(out, "\n");
}

/* One step of a walk that falls back to 0 and has deviation `swing` in the long run. */
static double wander(struct base_rand *r, double level, double seconds, double swing)
{
    double keep = exp(-seconds / FORGET_S);

    return level * keep + base_rand_normal(r, 0, swing * sqrt(1 - keep * keep));
}

/* The region's part of the level: the same for all its zones and all calls, a step each day. */
static void region_walk(const struct place *p, size_t days, double *walk)
{
    struct base_rand r;
    char stream[128];

    snprintf(stream, sizeof stream, "region %s %s", p->region, p->kind->name);
    base_rand_init(&r, p->opts->seed, stream);
    walk[0] = base_rand_normal(&r, 0, p->opts->swing * 0.7);
    for (size_t d = 1; d < days; d++)
        walk[d] = wander(&r, walk[d - 1], 86400, p->opts->swing * 0.7);
}

static void make_spot(const struct place *p, const double *walk, size_t days, struct base_buf *out)
{
    double end_s = p->opts->from_s + p->opts->days * 86400, at_s = p->opts->from_s;
    struct base_rand r;
    char stream[160];

    snprintf(stream, sizeof stream, "zone %s %s", p->zone, p->kind->name);
    base_rand_init(&r, p->opts->seed, stream);
    double level = base_rand_normal(&r, 0, p->opts->swing * 0.7);
    while (at_s < end_s && out->status == SHOAL_OK) {
        size_t day = (size_t)((at_s - p->opts->from_s) / 86400);
        double share = MEAN_LEVEL * exp(walk[day < days ? day : days - 1] + level);
        put_row(p, at_s, "spot", p->kind->usd_h * fmin(fmax(share, 0.05), 1), out);
        double step_s = fmax(60, floor(base_rand_exp(&r, 86400 / p->opts->changes_day)));
        level = wander(&r, level, step_s, p->opts->swing * 0.7);
        at_s += step_s;
    }
}

shoal_status market_gen(const struct market_gen_opts *opts, struct base_buf *out, shoal_err *err)
{
    struct kind kinds[MARKET_GEN_KINDS_MAX];
    size_t kind_count, days = (size_t)opts->days + 1;
    shoal_status st = parse_kinds(opts->kinds, kinds, &kind_count, err);
    double *walk = NULL;

    if (st != SHOAL_OK)
        return st;
    if (opts->from_s + opts->days * 86400 >= MARKET_WHEN_MAX)
        return base_err(err, SHOAL_E_INVAL, "these prices end after 2099, which no reader takes");
    walk = base_calloc(out->alloc, days, sizeof *walk);
    if (walk == NULL)
        return base_err_nomem(err, "making prices");
    base_buf_puts(out, "#shoal-prices v1\n"
                       "time,cloud,region,zone,instance,market,price,accelerator,count\n");
    for (uint32_t g = 0; g < opts->regions; g++)
        for (size_t k = 0; k < kind_count; k++) {
            struct place p = {.opts = opts, .kind = &kinds[k]};
            snprintf(p.region, sizeof p.region, "%s-%u", region_names[g % REGION_NAMES],
                     g / REGION_NAMES + 1);
            region_walk(&p, days, walk);
            for (uint32_t z = 0; z < opts->zones; z++) {
                snprintf(p.zone, sizeof p.zone, "%s%c", p.region, 'a' + (int)(z % 26));
                make_spot(&p, walk, days, out);
            }
            snprintf(p.zone, sizeof p.zone, "%s", p.region);
            put_row(&p, opts->from_s, "on-demand", kinds[k].usd_h, out);
        }
    base_free(out->alloc, walk);
    st = base_buf_status(out);
    if (st == SHOAL_E_LIMIT)
        return base_err(err, st, "these prices take more than %zu MB: fewer days, zones or changes",
                        out->size_max >> 20);
    return st == SHOAL_OK ? st : base_err_nomem(err, "making prices");
}
