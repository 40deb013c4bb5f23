/* jobs_file.h - a fleet: jobs that are bought for together, from a CSV file (docs/formats.md).
 *
 * Columns: job and work; start, deadline, budget, instances, model, speeds and checkpoint where
 * wanted. What a row leaves empty is the caller's to fill. Loaded whole or not at all, immutable
 * afterwards, any thread; owns its strings. */
#ifndef MARKET_JOBS_FILE_H
#define MARKET_JOBS_FILE_H

#include "base/arena.h"
#include "env/table.h"

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
    const char *speeds;   /* rules of its own as in speeds.h; NULL: none */
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

#endif
