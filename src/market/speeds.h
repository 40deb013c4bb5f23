/* speeds.h - how fast kinds of instances do the work of a model, as people write it.
 *
 * A list of rules "NAME=STEPS_PER_S": the name of a kind of instance, which may have '*' in it
 * ("p3.*"), or of an accelerator ("V100"), whose speed is then that of one of them. Where several
 * rules fit a kind the last one holds; kinds no rule fits cannot do the work. Speeds may be
 * relative: nothing but their ratios, and the work counted in the same steps, matters. Owner thread
 * only. */
#ifndef MARKET_SPEEDS_H
#define MARKET_SPEEDS_H

#include "market/prices.h"

enum { MARKET_RULES_MAX = 10000 };

struct market_rule {
    const char *model; /* "" where there is one model only */
    const char *name;
    double steps_s;
};

struct market_speeds {
    const struct base_alloc *alloc;
    struct base_arena arena;
    struct market_rule *rules;
    size_t count, cap;
    char ignored[ENV_IGNORED_MAX]; /* columns that were not known; "": none */
};

void market_speeds_init(struct market_speeds *speeds, const struct base_alloc *alloc);
void market_speeds_fini(struct market_speeds *speeds);

/* Adds "p3.2xlarge=1,p3.8xlarge=3.8" (commas, semicolons or spaces between) as rules of `model`.
 * `what` names the text in messages: "--speed". */
SHOAL_MUST_USE shoal_status market_speeds_parse(struct market_speeds *speeds, const char *model,
                                                const char *text, size_t length, const char *what,
                                                shoal_err *err);
/* Adds the rules of a CSV file with the columns instance and steps_per_s, and model where there are
 * several (docs/formats.md). */
SHOAL_MUST_USE shoal_status market_speeds_load(shoal_env *env, const char *path,
                                               struct market_speeds *speeds, shoal_err *err);

/* Whether there are rules of a model. */
bool market_speeds_has(const struct market_speeds *speeds, const char *model);

/* steps/s of one instance of each kind of the history (0: it cannot run there) into `by_kind`. A
 * rule that fits no kind is an error, SHOAL_E_NOTFOUND, which offers the nearest name. */
SHOAL_MUST_USE shoal_status market_speeds_apply(const struct market_speeds *speeds,
                                                const char *model,
                                                const struct market_prices *prices, double *by_kind,
                                                shoal_err *err);

/* Whether `name` fits a pattern in which '*' stands for any number of characters; case does not
 * matter. */
bool market_fits(const char *pattern, const char *name);
/* The name nearest to `word` among the names, or NULL. */
const char *market_nearest(const struct market_names *names, const char *word);

/* What offers say of the accelerators of each kind: how many (0: not said) and which (MARKET_NONE:
 * not said). Both are arrays of as many as there are kinds. */
void market_accelerators(const struct market_prices *prices, double *out_count,
                         uint32_t *out_which);

#endif
