/* checkpoint_parts.h - what checkpoint.c (writing) and checkpoint_load.c (reading) share. */
#ifndef TRAIN_CHECKPOINT_PARTS_H
#define TRAIN_CHECKPOINT_PARTS_H

#include "train/checkpoint.h"

#include <xxhash.h>

enum { CHECKPOINT_FORMAT = 2, FULLS = 2, FILES = 3, DELTA = 2 };
#define CHECKPOINT_KIND "checkpoint"

/* As it lies in the index. */
struct entry {
    uint64_t sum, size, present;
};

struct shard_place {
    uint32_t table, shard;
    uint64_t size;
};

struct train_shelf {
    shoal_env *env;
    char *path[FILES];
    struct train_box *box;
    struct train_shelf_job job;
    struct base_buf layout, options; /* options: all, with their values */
    struct shard_place *shard;       /* (shards of all tables) */
    uint32_t executors, shards, units;

    uint64_t run;
    uint64_t generation;   /* of the file written last */
    uint64_t data_sum;     /* of the executors' data */
    bool has_run, has_sum; /* they are made when they are first needed */
    /* The newest full one. */
    bool has_full;
    uint32_t slot;
    uint64_t full_generation;
    struct entry *full;
    uint64_t *full_number; /* (executors) what they had committed; UINT64_MAX: not known */

    /* What was gathered. */
    struct entry *entry;
    struct base_buf *bytes; /* (units) empty: not present */
    uint64_t *number;       /* (executors) */
    uint64_t gathered;
    bool whole;
};

static inline uint64_t shelf_sum(const void *bytes, uint64_t size)
{
    return XXH3_64bits(bytes, (size_t)size);
}

/* Of all data blocks, each with its size. */
uint64_t shelf_sum_data(const struct train_box *box);

#endif
