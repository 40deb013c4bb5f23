/* Any bytes as a cluster: a spec, a file of groups, or a node list. What is accepted adds up and
 * can be written and read again. */
#include "base/assert.h"
#include "sim/cluster_load.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_cluster(const struct sched_cluster *c)
{
    struct sched_cluster again;
    struct base_buf text;
    uint64_t gpus = 0, of_kind[SCHED_KINDS_MAX] = {0};

    shoal_assert(c->node_count > 0 && c->kind_count > 0 && c->kind_count <= SCHED_KINDS_MAX);
    for (uint32_t n = 0; n < c->node_count; n++) {
        shoal_assert(c->nodes[n].kind < c->kind_count && c->nodes[n].rack < c->rack_count);
        shoal_assert(c->nodes[n].gpus >= 1 && c->nodes[n].gpus <= SCHED_NODE_GPUS_MAX);
        of_kind[c->nodes[n].kind] += c->nodes[n].gpus;
        gpus += c->nodes[n].gpus;
    }
    shoal_assert(gpus == c->gpus);
    for (uint32_t k = 0; k < c->kind_count; k++) {
        shoal_assert(of_kind[k] == c->kinds[k].gpus);
        shoal_assert(sched_cluster_kind(c, c->kinds[k].name) == (int)k);
    }
    base_buf_init(&text, &base_alloc_libc, 1 << 26);
    sched_cluster_format(c, &text);
    shoal_assert(base_buf_status(&text) == SHOAL_OK);
    shoal_assert(sched_cluster_parse(&base_alloc_libc, text.data, &again, NULL) == SHOAL_OK);
    shoal_assert(again.node_count == c->node_count && again.gpus == c->gpus);
    sched_cluster_fini(&again);
    base_buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sched_cluster cluster;
    shoal_env *env = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    shoal_assert(env_sim_put(env, "c", data, size) == SHOAL_OK);
    shoal_status st = sim_cluster_load(env, "c", &cluster, &err);
    if (st == SHOAL_OK) {
        check_cluster(&cluster);
        sched_cluster_fini(&cluster);
    } else {
        shoal_assert(err.code == st && err.message[0] != '\0');
    }
    shoal_env_free(env);
    return 0;
}
