/* result.h - what came of a training job, as a result: its figures, the curve of its objective, what was learnt, the
 * settings as they took effect, how it ended in words. And those words for others, who tell of jobs that run.
 *
 * Any thread, one for each result. Tests: tests/unit/train/test_result.c, tests/cli/test_train_report.py. */
#ifndef TRAIN_RESULT_H
#define TRAIN_RESULT_H

#include "train/job.h"
#include "train/learnt.h"

/* A job that has ended. */
struct train_ended {
    const struct train_job_opts *opts; /* as the job had them */
    const struct train_job_result *result;
    double cpu_s;      /* of all its processes on this machine */
    double data_bytes; /* NAN: the data is not a file */
};

/* On success *out_result is the caller's, freed by shoal_result_free: one record, whose schema is that of
 * shoal_train_schema with the application's lists before. Takes what `learnt` has gathered, in any case. */
SHOAL_MUST_USE shoal_status train_result_make(const struct train_ended *ended,
                                              struct train_learnt *learnt,
                                              const shoal_result **out_result, shoal_err *err);
/* Why the model was not written, with what to do then; its code is SHOAL_OK where it was, or none was wanted. */
shoal_err train_result_model_error(const struct train_ended *ended);
/* The page that was written, or NULL and why it was not: the result says so. Of two failures it tells the
 * model's. Before it is shown, by the result's owner. */
void train_result_wrote(const shoal_result *result, const char *report, const shoal_err *failure);

/* An objective with so many digits, and more before it would get an exponent. Returns out. */
const char *train_value_text(double value, int digits, char *out, size_t size);
void train_put_rate(struct base_buf *out, double rate, const char *units); /* 61.3 M tok/s */
/* "12 iterations", or clocks where the application does not count them. Returns out. */
const char *train_steps_text(const struct train_stats *stats, char *out, size_t size);
/* How it ended, a clause: "converged, the minimum is at most 0.002 % lower"; nothing if that is unsaid. */
void train_put_stopped(struct base_buf *out, const struct train_stats *stats);

#endif
