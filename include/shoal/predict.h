/* predict.h - a model at work on data: predictions, and how good they are.
 *
 *     if (shoal_eval(env, "model.shoal", "test.svm", NULL, NULL, &result, &err) == SHOAL_OK)
 *         printf("%.3f\n", shoal_result_number(result, 0, "accuracy"));
 *     shoal_result_free(result);
 *
 * DATA has the form that the model was trained on. Real env only, owner thread only. */
#ifndef SHOAL_PREDICT_H
#define SHOAL_PREDICT_H

#include "shoal/env.h"
#include "shoal/opt.h"
#include "shoal/result.h"
#include "shoal/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shoal_predict_opts {
    size_t struct_size; /* set by shoal_predict_opts_init; lets the struct grow */
    const char *output; /* of shoal_predict; "-" is standard output */
    const char *spill;  /* a folder for data larger than memory, one for an env; NULL: none */
} shoal_predict_opts;

/* The options as rows; their offsets are those of shoal_predict_opts. shoal_eval has no output. */
SHOAL_API const shoal_opt *shoal_predict_opt_rows(size_t *out_count);
SHOAL_API const shoal_opt *shoal_eval_opt_rows(size_t *out_count);
SHOAL_API void shoal_predict_opts_init(shoal_predict_opts *opts);
/* The measures of Shoal's own applications. A result has those of its application, which may have others. */
SHOAL_API const shoal_schema *shoal_eval_schema(void);

/* Writes a line for each row of the data to opts->output (NULL opts: the defaults); labels and ratings in it are
 * ignored. On success *out_result is the caller's, freed by shoal_result_free: one record of what was counted on
 * the way, under the names that shoal_eval gives. On failure there is no output, but for what went to a pipe.
 * SHOAL_E_CANCELLED after the watch (NULL is allowed) was stopped, also while the data is read. */
SHOAL_API SHOAL_MUST_USE shoal_status
shoal_predict(shoal_env *env, const char *model, const char *data, const shoal_predict_opts *opts,
              shoal_watch *watch, const shoal_result **out_result, shoal_err *err);

/* How well the model predicts what is known of the data: one record with a number for each measure; NAN where
 * nothing in the data tells it. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_eval(shoal_env *env, const char *model,
                                                 const char *data, const shoal_predict_opts *opts,
                                                 shoal_watch *watch,
                                                 const shoal_result **out_result, shoal_err *err);

#ifdef __cplusplus
}
#endif
#endif
