/* save.h - a fit as the tables that the scheduler's model of a job is made of, and these as a file that the
 * scheduler reads (`shoal sim --profiles FILE.json`).
 *
 * docs/formats.md describes it; sim/bind.h reads it back, and load(save(x)) equals x. Any thread.
 * Tests: tests/unit/advise/test_save.c. */
#ifndef ADVISE_SAVE_H
#define ADVISE_SAVE_H

#include "advise/choose.h"
#include "base/buf.h"
#include "env/env.h"
#include "sched/model_fitted.h"

/* Of one algorithm, for the machine counts of `choice` that are good, on the way to `target`: at
 * most SCHED_FITTED_MACHINES_MAX of them, those nearest to powers of two when there are more.
 * Memory is the arena's. SHOAL_E_IMPOSSIBLE: no count is good. */
SHOAL_MUST_USE shoal_status advise_tables_make(const struct advise_fit *fit,
                                               const struct advise_choice *choice,
                                               uint32_t algorithm, double target,
                                               struct base_arena *arena, struct sched_fitted *out);

enum { ADVISE_SAVE_MODELS_MAX = 256, ADVISE_SAVE_NAME_MAX = 255 };

struct advise_saved {
    const char
        *name; /* what the `model` column of a trace calls it: UTF-8, no control characters */
    struct sched_fitted tables;
};

/* Appends the file to `out`. SHOAL_E_INVAL: no model or too many, a name that is empty, too long,
 * not UTF-8 or there twice, or tables out of range; SHOAL_E_NOMEM, SHOAL_E_LIMIT. */
SHOAL_MUST_USE shoal_status advise_save_format(const struct advise_saved *models, size_t count,
                                               struct base_buf *out, shoal_err *err);

/* The same into a file, all or nothing. */
SHOAL_MUST_USE shoal_status advise_save(shoal_env *env, const char *path,
                                        const struct advise_saved *models, size_t count,
                                        shoal_err *err);

#endif
