/* jobs.h - fleets, jobs that are bought for together, from a CSV file (docs/formats.md); and rules of speed.
 *
 * Columns: job and work; start, deadline, budget, instances, model, speeds and checkpoint where
 * wanted. What a row leaves empty is the caller's to fill. Loaded whole or not at all, immutable
 * afterwards, any thread; owns its strings. */
#ifndef MARKET_JOBS_H
#define MARKET_JOBS_H

#include "market/prices.h"

enum { MARKET_JOBS_MAX = 4096, MARKET_INSTANCES_MAX = 1000000 }; /* their sum fits 32 bits */

#define MARKET_WORK_MAX 1e18 /* steps */

/* An amount of work: one of the two is NAN. */
struct market_work {
    double steps;
    double seconds;   /* on instances of `kind` that are never interrupted */
    const char *kind; /* borrowed from the text; NULL: not said */
};

/* A time: one of the two is NAN, or both where nothing is said. */
struct market_time {
    double at_s; /* a date */
    double in_s; /* after the start */
};

struct market_jobs_row {
    const char *name;
    struct market_work work;
    struct market_time start, deadline;
    double budget_usd;    /* INFINITY: none */
    uint32_t instances;   /* 0: not said */
    double checkpoint_gb; /* NAN: not said */
    const char *model;    /* NULL: not said */
    const char *speeds;   /* rules of its own as below; NULL: none */
    uint64_t line;
};

struct market_jobs_file {
    const struct base_alloc *alloc;
    struct base_arena arena;
    struct market_jobs_row *rows;
    size_t count, cap;
    char ignored[ENV_IGNORED_MAX]; /* columns that were not known; "": none */
};

SHOAL_MUST_USE shoal_status market_jobs_load(shoal_env *env, const char *path,
                                             struct market_jobs_file *out, shoal_err *err);
void market_jobs_fini(struct market_jobs_file *file);

/* "1e6" steps, "720h" on any kind, "30d@p3.2xlarge". `text` must outlive *out. */
bool market_work_parse(const char *text, struct market_work *out);
/* A date (when.h), a duration, or "none": an infinite date. */
bool market_time_parse(const char *text, struct market_time *out);

/* ---- how fast kinds of instances do the work of a model, as people write it ----
 *
 * A list of rules "NAME=STEPS_PER_S": the name of a kind of instance, which may have '*' in it
 * ("p3.*"), or of an accelerator ("V100"), whose speed is then that of one of them. Where several
 * rules fit a kind the last one holds; kinds no rule fits cannot do the work. Speeds may be
 * relative: nothing but their ratios, and the work counted in the same steps, matters. Owner thread only. */

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
/* Offers that, or one of `more` (may be NULL), as the hint of an err; false: none is near. */
bool market_hint_nearest(const struct market_names *names, const struct market_names *more,
                         const char *word, shoal_err *err);

/* What offers say of the accelerators of each kind: how many (0: not said) and which (MARKET_NONE:
 * not said). Both are arrays of as many as there are kinds. */
void market_accelerators(const struct market_prices *prices, double *out_count,
                         uint32_t *out_which);

#endif
