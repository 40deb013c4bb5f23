/* strategy.c - the table of strategies, and what they all reckon with. Adding a strategy is one
 * file and one row of strategy/table.h. */
#include "market/strategy.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "page/field.h"
#include "page/make.h"
#include "shoal/list.h"
#include <math.h>
#include <string.h>

#define ROW(name) extern const struct market_strategy market_strategy_##name;
#include "market/strategy/table.h"
#undef ROW

static const struct market_strategy *const rows[] = {
#define ROW(name) &market_strategy_##name,
#include "market/strategy/table.h"
#undef ROW
};

const struct market_strategy *const *market_strategies(size_t *out_count)
{
    *out_count = BASE_COUNT(rows);
    return rows;
}

const struct market_strategy *market_strategy_find(const char *name, shoal_err *err)
{
    const char *names[BASE_COUNT(rows)];

    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        if (strcmp(rows[i]->name, name) == 0)
            return rows[i];
        names[i] = rows[i]->name;
    }
    base_err(err, SHOAL_E_NOTFOUND, "unknown strategy '%s'", name);
    const char *near = base_nearest(name, names, BASE_COUNT(rows));
    if (near != NULL)
        base_err_hint(err, "did you mean '%s'?", near);
    else
        base_err_hint(err, "there are shoal, uniform, periodic and static");
    return NULL;
}

/* How far apart two offers are. */
enum distance { SAME_ZONE, SAME_REGION, SAME_CLOUD, OTHER_CLOUD };

static enum distance distance(const struct market_prices *prices, uint32_t from, uint32_t to)
{
    const struct market_offer *a = &prices->offers[from], *b = &prices->offers[to];

    if (a->cloud != b->cloud)
        return OTHER_CLOUD;
    if (a->region != b->region)
        return SAME_CLOUD;
    return a->zone == b->zone ? SAME_ZONE : SAME_REGION;
}

double market_move_s(const struct market_prices *prices, const struct market_job *job,
                     const struct market_costs *costs, uint32_t from, uint32_t to)
{
    if (from == MARKET_NONE || job->checkpoint_gb <= 0)
        return costs->startup_s;
    switch (distance(prices, from, to)) {
    case SAME_REGION: return costs->startup_s + job->checkpoint_gb / costs->zone_gb_s;
    case SAME_CLOUD: return costs->startup_s + job->checkpoint_gb / costs->region_gb_s;
    case OTHER_CLOUD: return costs->startup_s + job->checkpoint_gb / costs->cloud_gb_s;
    case SAME_ZONE:
    default: return costs->startup_s;
    }
}

double market_move_usd(const struct market_prices *prices, const struct market_job *job,
                       const struct market_costs *costs, uint32_t from, uint32_t to)
{
    if (from == MARKET_NONE || job->checkpoint_gb <= 0)
        return 0;
    switch (distance(prices, from, to)) {
    case SAME_REGION: return job->checkpoint_gb * costs->zone_usd_gb;
    case SAME_CLOUD: return job->checkpoint_gb * costs->region_usd_gb;
    case OTHER_CLOUD: return job->checkpoint_gb * costs->cloud_usd_gb;
    case SAME_ZONE:
    default: return 0;
    }
}

/* ---- ages ----
 *
 * How long what has lasted so long will last: rates of ending by age, and the time
 * that is left. In the public traces of spot GPUs a stay up ends at a rate of about half an end per
 * age, from ten minutes to a day: the mean over all ages says little about any of them. */

#define FIRST_S 150.0

const double market_age_to_s[MARKET_AGES] = {
    FIRST_S,        FIRST_S * 2,    FIRST_S * 4,     FIRST_S * 8,    FIRST_S * 16,   FIRST_S * 32,
    FIRST_S * 64,   FIRST_S * 128,  FIRST_S * 256,   FIRST_S * 512,  FIRST_S * 1024, FIRST_S * 2048,
    FIRST_S * 4096, FIRST_S * 8192, FIRST_S * 16384, FIRST_S * 32768};

static double bin_from_s(size_t bin)
{
    return bin == 0 ? 0 : market_age_to_s[bin - 1];
}

size_t market_age_bin(double age_s)
{
    return market_age_bin_from(0, age_s);
}

void market_age_table(const double *seconds, const double *ends, double *left_s)
{
    double after = 0;

    for (size_t b = MARKET_AGES; b > 0; b--) {
        double rate = market_age_rate(seconds, ends, b - 1);
        double stays =
            b == MARKET_AGES ? 0 : exp(-rate * (market_age_to_s[b - 1] - bin_from_s(b - 1)));
        after = (1 - stays) / rate + stays * after;
        left_s[b - 1] = after;
    }
}

double market_age_left_s(const double *left_s, double age_s)
{
    size_t bin = market_age_bin(age_s);

    if (bin + 1 == MARKET_AGES)
        return left_s[bin];
    double part = fmax(0, age_s - bin_from_s(bin)) / (market_age_to_s[bin] - bin_from_s(bin));
    return left_s[bin] + part * (left_s[bin + 1] - left_s[bin]);
}

/* ---- listings (shoal/list.h) ---- */

struct listed {
    const char *name, *summary, *paper;
    shoal_records knobs;
};

/* For people: a strategy, or a knob of the one above. */
struct line {
    const char *strategy, *knob, *fallback, *meaning;
};

struct listing {
    shoal_records strategies, lines;
};

#define ROW struct listed
static const shoal_field listed_fields[] = {
    DATA(name, NONE, 0, "its name"),
    DATA(summary, NONE, 0, "what it is"),
    DATA(paper, NONE, 0, "where it comes from"),
    LIST(knobs, "knobs", NULL, 0, page_option_schema, "its knobs"),
};
#undef ROW
SCHEMA(listed, "strategy", NULL, "A strategy of buying.");

#define ROW struct line
static const shoal_field line_fields[] = {
    FIELD(strategy, "STRATEGY", NONE, 0, 1, NULL),
    FIELD(knob, "KNOB", NONE, 0, 1, NULL),
    FIELD_NAMED(fallback, "default", "DEFAULT", NONE, 0, 1, NULL),
    FIELD(meaning, "MEANING", NONE, 0, 1, NULL, WRAPPED),
};
#undef ROW
SCHEMA(line, "line", NULL, "A strategy, or a knob of the one above.");

#define ROW struct listing
static const shoal_field listing_fields[] = {
    LIST(lines, NULL, NULL, 1, line_schema, NULL),
    LIST(strategies, "strategies", NULL, 0, listed_schema, "all strategies"),
};
#undef ROW
SCHEMA(listing, "strategies", NULL, "The strategies of buying.");

static size_t put_lines(struct line *lines, const struct market_strategy *strategy)
{
    lines[0] = (struct line){strategy->name, "", "", strategy->summary};
    for (size_t k = 0; k < strategy->opt_count; k++) {
        const shoal_opt *row = &strategy->opts[k];
        lines[k + 1] = (struct line){"", row->name, base_opt_fallback(row), row->help};
    }
    return strategy->opt_count + 1;
}

shoal_status shoal_strategy_list(const shoal_result **out_result, shoal_err *err)
{
    enum { COUNT = BASE_COUNT(rows) };
    size_t line_count = COUNT, used = 0;
    struct page_made *made = page_made_new(&base_alloc_libc);
    struct listing *listing = page_made_alloc(made, 1, sizeof *listing);
    struct listed *listed = page_made_alloc(made, COUNT, sizeof *listed);

    for (size_t i = 0; i < COUNT; i++)
        line_count += rows[i]->opt_count;
    struct line *lines = page_made_alloc(made, line_count, sizeof *lines);
    if (listing == NULL || listed == NULL || lines == NULL)
        return page_made_finish(made, out_result, err);
    for (size_t i = 0; i < COUNT; i++) {
        listed[i] =
            (struct listed){rows[i]->name, rows[i]->summary, rows[i]->paper,
                            page_made_options(made, rows[i]->opts, rows[i]->opt_count, false)};
        used += put_lines(lines + used, rows[i]);
    }
    listing->lines = page_records(lines, used);
    listing->strategies = page_records(listed, COUNT);
    made->result.schema = &listing_schema;
    made->result.records = page_records(listing, 1);
    return page_made_finish(made, out_result, err);
}
