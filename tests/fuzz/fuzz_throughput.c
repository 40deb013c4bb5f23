/* Any bytes as a throughput table: refused with words, or rates that are finite and not negative.
 */
#include "base/assert.h"
#include "sim/bind.h"
#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sheet(const struct sched_table *table, const struct sched_table_sheet *sheet)
{
    size_t rows = table->row_count;

    for (size_t i = 0; sheet->alone != NULL && i < rows; i++)
        shoal_assert(sheet->alone[i] >= 0 && isfinite(sheet->alone[i]));
    for (size_t i = 0; sheet->pair != NULL && i < rows * rows; i++)
        shoal_assert(sheet->pair[i] >= 0 && isfinite(sheet->pair[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sched_cluster cluster;
    struct sim_throughput *tp = NULL;
    shoal_env *env = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    shoal_assert(env_sim_put(env, "t.json", data, size) == SHOAL_OK);
    shoal_assert(sched_cluster_parse(env_alloc(env), "2x4:v100,4x1:k80", &cluster, &err) ==
                 SHOAL_OK);
    shoal_status st = sim_throughput_load(env, "t.json", &cluster, &tp, &err);
    if (st == SHOAL_OK) {
        const struct sched_table *table = &tp->table;
        shoal_assert(table->row_count == tp->rows.count && table->row_count > 0);
        for (uint32_t k = 0; k < cluster.kind_count; k++) {
            check_sheet(table, &table->packed[k]);
            check_sheet(table, &table->spread[k]);
        }
        for (uint32_t row = 0; row < table->row_count; row++) {
            struct sched_model model = sched_model_table(table, row, 100);
            double s = sched_model_ideal_s(&model, &cluster, 0, table->row_gpus[row], 0);
            shoal_assert(s > 0);
        }
    } else {
        shoal_assert(tp == NULL && err.code == st && err.message[0] != '\0');
    }
    sim_throughput_free(tp);
    sched_cluster_fini(&cluster);
    shoal_env_free(env);
    return 0;
}
