/* advice.h - what a study says in words: what is wrong, and what to do first.
 *
 * Sentences are plain text (no markup, nothing from the trace), each ends with a full stop; page and
 * terminal say the same. Any thread. Tests: tests/unit/study/test_advice.c. */
#ifndef STUDY_ADVICE_H
#define STUDY_ADVICE_H

#include "study/study.h"

/* "12,345", "87.5", "0.42": hours of so many seconds, without a unit. Returns buf. */
const char *study_hours(double seconds, char *buf, size_t size);

/* "quotas assumed ...", "" where they were given or there are none. */
const char *study_quota_words(const struct study *study);

/* The size of which the largest share of jobs waits for GPUs that are close together, of sizes with
 * STUDY_FEW jobs if any such does; STUDY_SIZES: nobody does. */
uint32_t study_worst_size(const struct study *study);

/* A run is as useful as the base line: within a hundredth of its utilisation, or above. */
bool study_as_useful(const struct study *study, enum study_run_id run);

/* The one guideline to begin with: of those that cost no utilisation and no waiting, the one that saves most
 * GPU time, if a thousandth at least of what was held, by more than luck (study_luck_s) or by work that is
 * not run at all; of those that save nearly as much, the one with the least waiting. Where none saves GPU
 * time, the one that cuts waiting for locality most, if by a tenth at least and by more than luck.
 * STUDY_BASE: none helps. */
enum study_run_id study_first_step(const struct study *study);
/* Of the other sort (about places, about work), the one that saves most GPU time: what guidelines of one
 * sort save overlaps. STUDY_BASE: none saves so much. */
enum study_run_id study_second_step(const struct study *study);

/* What the three questions of a study come to. */
void study_say_waiting(const struct study *study, struct base_buf *out);
void study_say_speed(const struct study *study, struct base_buf *out);
void study_say_failures(const struct study *study, struct base_buf *out);
void study_say_first(const struct study *study, struct base_buf *out);
/* How much of a difference is luck. */
void study_say_luck(const struct study *study, struct base_buf *out);
/* All guidelines together against the base line at equal utilisation: how much less waiting for
 * locality, or why not. */
void study_say_together(const struct study *study, struct base_buf *out);

#endif
