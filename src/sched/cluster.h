/* cluster.h - the machines: nodes with GPUs of one kind each, in racks.
 *
 * Written as `6x4:t4,3x8:rtx,2x8:a100`: nodes x GPUs : kind. A group may carry attributes after
 * further colons: `2x8:a100:usd=4.10:rack=east`. In a file the same groups stand one per line (or
 * comma-separated), `#` starts a comment. Immutable after parsing; any thread. */
#ifndef SCHED_CLUSTER_H
#define SCHED_CLUSTER_H

#include "base/alloc.h"
#include "base/buf.h"
#include "shoal/status.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    SCHED_KINDS_MAX = 16,
    SCHED_NODE_GPUS_MAX = 64,
    SCHED_NODES_MAX = 1000000,
    SCHED_KIND_NAME_MAX = 32
};

struct sched_kind {
    char name[SCHED_KIND_NAME_MAX];
    double usd_gpu_h; /* price of one GPU-hour; negative: unknown */
    bool priced;      /* the spec gave it */
    uint32_t gpus;    /* in the whole cluster */
    uint32_t nodes;
    uint32_t node_gpus_max; /* GPUs of its largest node */
};

struct sched_node {
    uint16_t kind;
    uint16_t gpus;
    uint32_t rack;
};

struct sched_cluster {
    const struct base_alloc *alloc;
    struct sched_kind kinds[SCHED_KINDS_MAX];
    uint32_t kind_count;
    struct sched_node *nodes; /* in the order written */
    uint32_t node_count;
    uint32_t rack_count; /* a group without rack= shares rack 0 with the other such groups */
    uint32_t gpus;
};

/* On failure *out is untouched and err names the group and what was expected. */
SHOAL_MUST_USE shoal_status sched_cluster_parse(const struct base_alloc *alloc, const char *text,
                                                struct sched_cluster *out, shoal_err *err);
void sched_cluster_fini(struct sched_cluster *cluster);

/* The index of a kind by name (case-insensitive), or -1. */
int sched_cluster_kind(const struct sched_cluster *cluster, const char *name);

/* The kinds that have a list price, one by one; NULL after the last. */
const char *sched_cluster_listed(size_t index);

/* "6x4:t4,3x8:rtx": the shortest spec that gives the same nodes (without attributes). */
void sched_cluster_format(const struct sched_cluster *cluster, struct base_buf *out);

#endif
