/* model_spread.c - speed against locality, by the figures of the Philly study (see model_spread.h).
 * */
#include "sched/model_spread.h"

#include <string.h>

void sched_spread_init(struct sched_spread *spread, const struct sched_cluster *cluster)
{
    memset(spread, 0, sizeof *spread);
    for (uint32_t n = 0; n < cluster->node_count; n++)
        spread->nodes[cluster->nodes[n].kind][cluster->nodes[n].gpus]++;
}

uint32_t sched_spread_fewest(const struct sched_spread *spread, uint32_t kind, uint32_t gpus)
{
    uint32_t count = 0;

    for (uint32_t size = SCHED_NODE_GPUS_MAX; size > 0 && gpus > 0; size--) {
        uint32_t need = gpus / size + (gpus % size != 0), have = spread->nodes[kind][size];
        uint32_t n = need < have ? need : have;
        count += n;
        gpus = n == need ? 0 : gpus - n * size;
    }
    return gpus == 0 ? count : 0;
}

double sched_spread_factor(uint32_t nodes, uint32_t fewest)
{
    return nodes > fewest ? SCHED_SPREAD_TWO_NODES / SCHED_SPREAD_ONE_NODE : 1;
}

double sched_neighbour_factor(uint32_t nodes)
{
    return nodes > 1 ? SCHED_SPREAD_BESIDE_NODES / SCHED_SPREAD_TWO_NODES
                     : SCHED_SPREAD_BESIDE_ONE / SCHED_SPREAD_ONE_NODE;
}
