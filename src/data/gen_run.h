/* gen_run.h - making data in numbered blocks on several threads and delivering it in order. */
#ifndef DATA_GEN_RUN_H
#define DATA_GEN_RUN_H

#include "data/gen.h"

struct data_gen_made {
    size_t size;    /* bytes of text */
    uint64_t units; /* for run->done */
    uint64_t entries;
};

struct data_gen_plan {
    const void *ctx; /* the generator, and where to put data that is no text */
    uint64_t blocks;
    size_t text_max; /* bytes of the longest block; 0: no text */
    void *(*scratch_new)(const void *ctx, const struct base_alloc *alloc); /* NULL: no memory */
    void (*scratch_free)(void *scratch, const struct base_alloc *alloc);
    /* Makes one block, on any thread; allocates nothing. */
    void (*make)(const void *ctx, void *scratch, uint64_t block, char *text,
                 struct data_gen_made *made);
};

/* Makes all blocks; text goes to the sink in order of blocks. *out_entries may be NULL. */
SHOAL_MUST_USE shoal_status data_gen_make(shoal_env *env, const struct data_gen_plan *plan,
                                          const struct data_gen_run *run,
                                          const struct data_sink *sink, uint64_t *out_entries,
                                          shoal_err *err);

#endif
