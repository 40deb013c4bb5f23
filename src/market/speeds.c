/* speeds.c - rules of speed: reading them, and what they say of the kinds of a history. */
#include "market/speeds.h"

#include "base/err.h"
#include "base/text.h"
#include <math.h>
#include <string.h>
#include <strings.h>

#define SPEED_MAX 1e15 /* steps per second */

void market_speeds_init(struct market_speeds *speeds, const struct base_alloc *alloc)
{
    *speeds = (struct market_speeds){.alloc = alloc};
    base_arena_init(&speeds->arena, alloc, 1 << 12);
}

void market_speeds_fini(struct market_speeds *speeds)
{
    base_free(speeds->alloc, speeds->rules);
    base_arena_fini(&speeds->arena);
}

static shoal_status add(struct market_speeds *speeds, const char *model, size_t model_length,
                        const char *name, size_t length, double steps_s, shoal_err *err)
{
    if (speeds->count == MARKET_RULES_MAX)
        return base_err(err, SHOAL_E_LIMIT, "more than %d speeds", MARKET_RULES_MAX);
    char *copy = base_arena_strndup(&speeds->arena, name, length);
    char *of = base_arena_strndup(&speeds->arena, model, model_length);
    if (copy == NULL || of == NULL ||
        base_reserve(speeds->alloc, (void **)&speeds->rules, &speeds->cap, speeds->count + 1,
                     sizeof *speeds->rules) != 0)
        return base_err_nomem(err, "reading speeds");
    speeds->rules[speeds->count++] = (struct market_rule){of, copy, steps_s};
    return SHOAL_OK;
}

static bool separates(char c)
{
    return c == ',' || c == ';' || c == ' ' || c == '\t';
}

shoal_status market_speeds_parse(struct market_speeds *speeds, const char *model, const char *text,
                                 size_t length, const char *what, shoal_err *err)
{
    size_t at = 0, before = speeds->count;

    while (at < length) {
        size_t word = 0, name = 0;
        double steps_s;
        while (at + word < length && !separates(text[at + word]))
            word++;
        while (name < word && text[at + name] != '=')
            name++;
        if (word > 0) {
            if (name == 0 || name + 1 >= word ||
                !base_parse_f64(text + at + name + 1, word - name - 1, &steps_s) ||
                !(steps_s > 0 && steps_s <= SPEED_MAX))
                return base_err(err, SHOAL_E_INVAL,
                                "%s: expected KIND=STEPS_PER_S such as p3.2xlarge=1.5, found "
                                "'%.*s'",
                                what, (int)(word < 60 ? word : 60), text + at);
            shoal_status st = add(speeds, model, strlen(model), text + at, name, steps_s, err);
            if (st != SHOAL_OK)
                return st;
        }
        at += word + 1;
    }
    if (speeds->count == before)
        return base_err(err, SHOAL_E_INVAL, "%s: expected KIND=STEPS_PER_S, found nothing", what);
    return SHOAL_OK;
}

/* ---- from a file ---- */

enum { COLUMN_INSTANCE, COLUMN_SPEED, COLUMN_MODEL, COLUMN_COUNT };

static void read_row(struct market_speeds *speeds, struct env_table *t)
{
    struct env_cell name = env_table_cell(t, COLUMN_INSTANCE);
    struct env_cell model = env_table_cell(t, COLUMN_MODEL);

    if (name.length == 0 || name.length > MARKET_NAME_MAX)
        env_table_expected(t, name, "a kind of instance");
    double steps_s =
        env_table_number(t, env_table_cell(t, COLUMN_SPEED), 0, SPEED_MAX, "steps per second");
    if (t->at[COLUMN_MODEL] >= 0 && (model.length == 0 || model.length > MARKET_NAME_MAX))
        env_table_expected(t, model, "the name of a model");
    if (t->status == SHOAL_OK)
        t->status = add(speeds, model.text, model.length, name.text, name.length, steps_s, t->err);
}

shoal_status market_speeds_load(shoal_env *env, const char *path, struct market_speeds *speeds,
                                shoal_err *err)
{
    static const struct env_column columns[COLUMN_COUNT] = {
        [COLUMN_INSTANCE] = {"instance", true},
        [COLUMN_SPEED] = {"steps_per_s", true},
        [COLUMN_MODEL] = {"model", false},
    };
    struct env_table t;
    size_t before = speeds->count;

    if (env_table_open(env, "model", path, &t, err) != SHOAL_OK)
        return t.status;
    t.trim = true;
    bool header = env_table_header(&t, NULL, columns, COLUMN_COUNT, false);
    while (env_table_next(&t))
        read_row(speeds, &t);
    if (t.status == SHOAL_OK && speeds->count == before)
        t.status = base_err(err, SHOAL_E_FORMAT, "cannot read model '%.150s': %s", path,
                            header ? "no speeds in it" : "it is empty");
    env_table_note(&t, speeds->ignored);
    return env_table_close(&t);
}

bool market_speeds_has(const struct market_speeds *speeds, const char *model)
{
    for (size_t i = 0; i < speeds->count; i++)
        if (strcmp(speeds->rules[i].model, model) == 0)
            return true;
    return false;
}

/* ---- what they say of a history ---- */

bool market_fits(const char *pattern, const char *name)
{
    const char *star = NULL,
               *from = NULL; /* after the last '*', and what it has swallowed so far */

    while (*name != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            from = name;
        } else if (strncasecmp(pattern, name, 1) == 0) {
            pattern++;
            name++;
        } else if (star != NULL) {
            pattern = star;
            name = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

const char *market_nearest(const struct market_names *names, const char *word)
{
    const char *near = NULL;
    size_t least = strlen(word) / 3 + 2;

    for (size_t i = 0; i < names->map.count; i++) {
        const char *name = names->map.entries[i].key;
        size_t d = strcasecmp(name, word) == 0 ? 0 : base_edit_distance(name, word);
        if (d < least) {
            least = d;
            near = name;
        }
    }
    return near;
}

void market_accelerators(const struct market_prices *prices, double *out_count, uint32_t *out_which)
{
    for (size_t k = 0; k < prices->kinds.map.count; k++) {
        out_count[k] = 0;
        out_which[k] = MARKET_NONE;
    }
    for (size_t o = 0; o < prices->offer_count; o++) {
        const struct market_offer *of = &prices->offers[o];
        if (out_count[of->kind] > 0 || !(of->accelerators > 0))
            continue;
        out_count[of->kind] = of->accelerators;
        out_which[of->kind] = of->accelerator;
    }
}

/* The kinds of a history, and what they hold. */
struct kinds {
    const struct market_prices *prices;
    double *count;
    uint32_t *which;
};

static shoal_status kinds_init(struct kinds *kinds, const struct base_alloc *alloc,
                               const struct market_prices *prices)
{
    size_t count = prices->kinds.map.count;

    kinds->prices = prices;
    kinds->count = base_calloc(alloc, count + 1, sizeof *kinds->count);
    kinds->which = base_calloc(alloc, count + 1, sizeof *kinds->which);
    if (kinds->count == NULL || kinds->which == NULL)
        return SHOAL_E_NOMEM;
    market_accelerators(prices, kinds->count, kinds->which);
    return SHOAL_OK;
}

static void kinds_fini(struct kinds *kinds, const struct base_alloc *alloc)
{
    base_free(alloc, kinds->count);
    base_free(alloc, kinds->which);
}

/* Writes the speeds of the kinds that a rule fits; false: it fits none. */
static bool apply_rule(const struct market_rule *rule, const struct kinds *kinds, double *by_kind)
{
    const struct market_prices *p = kinds->prices;
    bool fits = false;

    for (size_t k = 0; k < p->kinds.map.count; k++) {
        uint32_t which = kinds->which[k];
        if (market_fits(rule->name, p->kinds.map.entries[k].key))
            by_kind[k] = rule->steps_s;
        else if (which != MARKET_NONE &&
                 market_fits(rule->name, p->accelerators.map.entries[which].key))
            by_kind[k] = rule->steps_s * kinds->count[k];
        else
            continue;
        fits = true;
    }
    return fits;
}

static shoal_status no_such_kind(const struct market_prices *prices, const char *name,
                                 shoal_err *err)
{
    base_err(err, SHOAL_E_NOTFOUND, "no prices of a kind of instance or accelerator '%.60s'", name);
    const char *near = market_nearest(&prices->kinds, name);
    if (near == NULL)
        near = market_nearest(&prices->accelerators, name);
    if (near != NULL)
        base_err_hint(err, "did you mean '%s'?", near);
    else if (prices->kinds.map.count > 0)
        base_err_hint(err, "the history has %zu kinds, such as '%s'", prices->kinds.map.count,
                      prices->kinds.map.entries[0].key);
    return SHOAL_E_NOTFOUND;
}

shoal_status market_speeds_apply(const struct market_speeds *speeds, const char *model,
                                 const struct market_prices *prices, double *by_kind,
                                 shoal_err *err)
{
    struct kinds kinds;
    shoal_status st = kinds_init(&kinds, speeds->alloc, prices);

    if (st != SHOAL_OK)
        base_err_nomem(err, "reading speeds");
    for (size_t k = 0; k < prices->kinds.map.count; k++)
        by_kind[k] = 0;
    for (size_t i = 0; i < speeds->count && st == SHOAL_OK; i++) {
        const struct market_rule *rule = &speeds->rules[i];
        if (strcmp(rule->model, model) == 0 && !apply_rule(rule, &kinds, by_kind))
            st = no_such_kind(prices, rule->name, err);
    }
    kinds_fini(&kinds, speeds->alloc);
    return st;
}
