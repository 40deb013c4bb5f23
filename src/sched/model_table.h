/* model_table.h - speeds measured beforehand: steps per second of each (model, gang size) on each
 * kind.
 *
 * A row is one model at one gang size. Each kind has up to two sheets: rates with the gang on the
 * fewest nodes, and rates with it spread over more. A sheet also holds the rate of a row while
 * another row shares its GPUs. Filled by its maker, immutable afterwards, then any thread. */
#ifndef SCHED_MODEL_TABLE_H
#define SCHED_MODEL_TABLE_H

#include "sched/model.h"

enum { SCHED_TABLE_ROWS_MAX = 1024 };

struct sched_table_sheet {
    double *alone; /* (rows) steps/s, 0: does not fit or not known; NULL: no such sheet */
    float *pair;   /* (rows, rows) steps/s of the first while sharing with the second; NULL: none
                      known */
};

struct sched_table {
    const struct base_alloc *alloc;
    uint32_t row_count;
    uint32_t *row_gpus;                      /* (rows) gang size */
    uint32_t node_gpus_max[SCHED_KINDS_MAX]; /* of the cluster it was made for */
    struct sched_table_sheet packed[SCHED_KINDS_MAX];
    struct sched_table_sheet
        spread[SCHED_KINDS_MAX]; /* used for a gang on more nodes than needed */
};

/* Every rate starts at 0, every sheet empty. `gpus` are the gang sizes of the rows. */
SHOAL_MUST_USE shoal_status sched_table_init(struct sched_table *table,
                                             const struct base_alloc *alloc,
                                             const struct sched_cluster *cluster,
                                             const uint32_t *gpus, uint32_t row_count);
void sched_table_fini(struct sched_table *table);
/* Both make the sheet when it is not there; steps_s is finite and not negative. */
SHOAL_MUST_USE shoal_status sched_table_set(struct sched_table *table,
                                            struct sched_table_sheet *sheet, uint32_t row,
                                            double steps_s);
SHOAL_MUST_USE shoal_status sched_table_set_pair(struct sched_table *table,
                                                 struct sched_table_sheet *sheet, uint32_t row,
                                                 uint32_t partner, double steps_s);

/* A job of `steps` steps of a row; progress is steps. Borrows the table. */
struct sched_model sched_model_table(const struct sched_table *table, uint32_t row, double steps);
/* Steps per second of a row alone on a kind, on the fewest nodes; 0: cannot run. */
double sched_table_rate(const struct sched_table *table, uint32_t row, uint32_t kind);

#endif
