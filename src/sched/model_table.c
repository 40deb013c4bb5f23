/* model_table.c - see model_table.h. Looking up a rate is two array reads. */
#include "sched/model_table.h"

#include "base/assert.h"
#include <math.h>
#include <string.h>

shoal_status sched_table_init(struct sched_table *table, const struct base_alloc *alloc,
                              const struct sched_cluster *cluster, const uint32_t *gpus,
                              uint32_t row_count)
{
    shoal_assert(row_count > 0 && row_count <= SCHED_TABLE_ROWS_MAX);
    memset(table, 0, sizeof *table);
    table->alloc = alloc;
    table->row_count = row_count;
    table->row_gpus = base_malloc(alloc, row_count * sizeof *gpus);
    if (table->row_gpus == NULL)
        return SHOAL_E_NOMEM;
    memcpy(table->row_gpus, gpus, row_count * sizeof *gpus);
    for (uint32_t k = 0; k < cluster->kind_count; k++)
        table->node_gpus_max[k] = cluster->kinds[k].node_gpus_max;
    return SHOAL_OK;
}

void sched_table_fini(struct sched_table *table)
{
    for (uint32_t k = 0; k < SCHED_KINDS_MAX; k++) {
        base_free(table->alloc, table->packed[k].alone);
        base_free(table->alloc, table->packed[k].pair);
        base_free(table->alloc, table->spread[k].alone);
        base_free(table->alloc, table->spread[k].pair);
    }
    base_free(table->alloc, table->row_gpus);
    memset(table, 0, sizeof *table);
}

shoal_status sched_table_set(struct sched_table *table, struct sched_table_sheet *sheet,
                             uint32_t row, double steps_s)
{
    shoal_assert(row < table->row_count && steps_s >= 0 && isfinite(steps_s));
    if (sheet->alone == NULL)
        sheet->alone = base_calloc(table->alloc, table->row_count, sizeof *sheet->alone);
    if (sheet->alone == NULL)
        return SHOAL_E_NOMEM;
    sheet->alone[row] = steps_s;
    return SHOAL_OK;
}

shoal_status sched_table_set_pair(struct sched_table *table, struct sched_table_sheet *sheet,
                                  uint32_t row, uint32_t partner, double steps_s)
{
    size_t rows = table->row_count;

    shoal_assert(row < rows && partner < rows && steps_s >= 0 && isfinite(steps_s));
    if (sheet->pair == NULL)
        sheet->pair = base_calloc(table->alloc, rows * rows, sizeof *sheet->pair);
    if (sheet->pair == NULL)
        return SHOAL_E_NOMEM;
    sheet->pair[row * rows + partner] = (float)steps_s;
    return SHOAL_OK;
}

double sched_table_rate(const struct sched_table *table, uint32_t row, uint32_t kind)
{
    const double *alone = table->packed[kind].alone;

    return alone != NULL ? alone[row] : 0;
}

static const struct sched_model_ops table_ops;

/* Spread rates count only where packing was possible at all (nodes with more than one GPU) and
 * where they were measured; a row without one runs at its packed rate. */
static const struct sched_table_sheet *sheet_for(const struct sched_table *t,
                                                 const struct sched_alloc *a, uint32_t row)
{
    const struct sched_table_sheet *spread = &t->spread[a->kind];
    uint32_t node_gpus = t->node_gpus_max[a->kind];

    if (node_gpus > 1 && spread->alone != NULL && spread->alone[row] > 0 &&
        a->place_count > (a->gpus + node_gpus - 1) / node_gpus)
        return spread;
    return &t->packed[a->kind];
}

static double table_time(const struct sched_model *m, const struct sched_alloc *a,
                         struct sched_batch batch, const struct sched_model *partner)
{
    const struct sched_table *t = m->data;

    (void)batch;
    if (a->gpus != t->row_gpus[m->row])
        return INFINITY;
    const struct sched_table_sheet *sheet = sheet_for(t, a, m->row);
    double rate = 0;
    if (partner == NULL)
        rate = sheet->alone != NULL ? sheet->alone[m->row] : 0;
    else if (partner->ops == &table_ops && partner->data == m->data && sheet->pair != NULL)
        rate = (double)sheet->pair[(size_t)m->row * t->row_count + partner->row];
    return rate > 0 ? 1 / rate : INFINITY;
}

static double table_progress(const struct sched_model *m, const struct sched_alloc *a,
                             struct sched_batch batch, double progress, double *out_until)
{
    (void)a;
    (void)batch;
    (void)progress;
    *out_until = m->work;
    return 1;
}

static const struct sched_model_ops table_ops = {
    .name = "throughput table",
    .time_per_step = table_time,
    .progress_per_step = table_progress,
};

struct sched_model sched_model_table(const struct sched_table *table, uint32_t row, double steps)
{
    shoal_assert(row < table->row_count && steps > 0);
    return (struct sched_model){.ops = &table_ops, .data = table, .work = steps, .row = row};
}
