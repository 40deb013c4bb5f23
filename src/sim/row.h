/* row.h - one job as a line of Shoal's own CSV (docs/formats.md), for traces and generators alike.
 *
 * Numbers are written with the fewest digits that read back equal; a value that is "not stated" is
 * an empty field. Any thread, on caller-owned memory. */
#ifndef SIM_ROW_H
#define SIM_ROW_H

#include "base/buf.h"
#include <stdint.h>

enum sim_row_column {
    SIM_ROW_NAME,
    SIM_ROW_SUBMIT,
    SIM_ROW_GPUS,
    SIM_ROW_DURATION,
    SIM_ROW_MODEL,
    SIM_ROW_STEPS,
    SIM_ROW_BATCH,
    SIM_ROW_GROUP,
    SIM_ROW_WEIGHT,
    SIM_ROW_DEADLINE,
    SIM_ROW_SLO,
    SIM_ROW_KINDS,
    SIM_ROW_ADAPT,
    SIM_ROW_APP,
    SIM_ROW_SCORE,
    SIM_ROW_COUNT
};
extern const char *const sim_row_names[SIM_ROW_COUNT];

/* Strings are borrowed. Not stated: NAN, INFINITY for the deadline, 0 for batch, NULL or "" for
 * text. */
struct sim_row {
    const char *name, *model, *group, *kinds, *adapt, *app;
    double submit_s, duration_s, steps, weight, deadline_s, score;
    float slo;
    uint32_t gpus, batch;
};

/* The magic line and the header of the columns in `mask` (bits of enum sim_row_column). */
void sim_row_header(uint32_t mask, struct base_buf *out);
void sim_row_format(const struct sim_row *row, uint32_t mask, struct base_buf *out);

#endif
