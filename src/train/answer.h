/* answer.h - what a running job tells onlookers: `shoal jobs`, `top`, `scale`, `drain`.
 * Tests: tests/cli/test_train.py. */
#ifndef TRAIN_ANSWER_H
#define TRAIN_ANSWER_H

#include "base/buf.h"
#include "train/master.h"

/* Carries out a line ("status", "scale N", "drain N", "stop") and appends one JSON object: what was
 * asked for, or {"error": {"code", "message", "hint"}}. */
void train_answer(struct train_master *master, const char *line, size_t size, struct base_buf *out);

/* The same for what is not carried out. */
void train_answer_error(const shoal_err *err, struct base_buf *out);

/* The members of the status object, without braces, as in the closing object of `--json`. */
void train_answer_status(const struct train_master *master, struct base_buf *out);

#endif
