/* model.h - model files: what training leaves, and its use on data.
 *
 * A model is a pack of kind "model": facts (the application and its settings) and the parts that the
 * application put. Owner thread only.
 * Tests: tests/unit/app/test_mf_model.c, tests/cli/test_train*.py. */
#ifndef TRAIN_MODEL_H
#define TRAIN_MODEL_H

#include "env/env.h"
#include "shoal/train.h"

/* A model to be written: parts are put, then it is committed or freed. On failure the old file is as
 * it was. */
SHOAL_MUST_USE shoal_status train_model_create(shoal_env *env, const char *path, const char *app,
                                               const char *settings, shoal_model **out_model,
                                               shoal_err *err);
/* Ends the model in any case. */
SHOAL_MUST_USE shoal_status train_model_commit(shoal_model *model, shoal_err *err);

const char *train_model_settings(const shoal_model *model); /* "key=value" lines */

struct train_score_opts {
    const char *path; /* DATA */
    bool wants_lines;
    shoal_status (*line)(void *ctx, const char *line, shoal_err *err);
    void (*metric)(void *ctx, const char *name, double value);
    /* So many rows of `total` are done; another status than SHOAL_OK ends it. NULL: nobody counts. */
    shoal_status (*count)(void *ctx, uint64_t done, uint64_t total, shoal_err *err);
    void *ctx;
};
/* `app` is the one that shoal_model_app names: a word for app_open. */
SHOAL_MUST_USE shoal_status train_score(shoal_env *env, const shoal_app *app,
                                        const shoal_model *model,
                                        const struct train_score_opts *opts, shoal_err *err);

#endif
