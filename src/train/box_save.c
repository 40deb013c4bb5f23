/* box_save.c - a box that takes up where another one stopped. See checkpoint.h. */
#include "train/box_parts.h"

void train_box_resume(struct train_box *box, uint64_t closed)
{
    train_box_close(box, closed);
    for (uint32_t s = 0; s < box->fold_count; s++) {
        const struct shard_view *v = &box->shards[s];
        for (uint32_t e = 0; e < box->executor_count; e++)
            atomic_store_explicit(&v->folded[e], train_box_committed(box, e), memory_order_relaxed);
        atomic_store_explicit(&v->shard->folded_clock, closed, memory_order_relaxed);
    }
}
