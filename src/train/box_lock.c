/* box_lock.c - locks of shards, and the two buffers of a held one.
 *
 * A lock is a word that names who has it, so that the driver can free those of the dead. Who has given
 * up waiting for one tries again later. A held shard changes its buffers with a commit: what the
 * change will be is written down before it, and looked at by everybody until it is settled.
 *
 * Tests: tests/unit/train/test_box*.c, test_fold.c. */
#include "train/box_parts.h"

static inline void rest(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

bool box_lock(struct train_box *box, struct box_shard *shard)
{
    int spins = box->crash == NULL ? BOX_SPINS : 1;

    for (int i = 0; i < spins; i++) {
        uint32_t free = 0;
        if (atomic_load_explicit(&shard->lock, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong_explicit(&shard->lock, &free, box->worker + 1,
                                                    memory_order_acquire, memory_order_relaxed))
            return true;
        rest();
    }
    return false;
}

void box_unlock(struct box_shard *shard)
{
    atomic_store_explicit(&shard->lock, 0, memory_order_release);
}

/* One of a table that tasks hold matters to those that hold some of it. */
uint32_t train_box_locked(const struct train_box *box, const struct train_task_spec *spec,
                          uint32_t *out_table, uint32_t *out_shard)
{
    for (uint32_t i = 0; i < box->shard_count; i++) {
        const struct shard_view *v = &box->shards[i];
        uint32_t lock = atomic_load_explicit(&v->shard->lock, memory_order_relaxed);
        if (lock == 0 || (v->held && (!spec->holds || spec->hold_table != v->table)))
            continue;
        *out_table = v->table;
        *out_shard = i - box->table[v->table].first_shard;
        return lock - 1;
    }
    return TRAIN_UNLOCKED;
}

/* ---- held shards ---- */

/* Whether the change of buffers that is written down became real. */
static bool flip_real(const struct train_box *box, const struct box_shard *shard)
{
    uint64_t number = atomic_load_explicit(&shard->flip_number, memory_order_acquire);
    uint32_t executor = atomic_load_explicit(&shard->flip_executor, memory_order_relaxed);

    return number != 0 && train_box_committed(box, executor) >= number;
}

uint32_t box_current(const struct train_box *box, const struct box_shard *shard)
{
    uint32_t current = atomic_load_explicit(&shard->current, memory_order_acquire);

    if (flip_real(box, shard))
        current = atomic_load_explicit(&shard->flip_buffer, memory_order_relaxed);
    return current & 1;
}

void box_flip_settle(struct train_box *box, struct box_shard *shard)
{
    if (atomic_load_explicit(&shard->flip_number, memory_order_relaxed) == 0)
        return;
    if (flip_real(box, shard)) {
        uint64_t version = atomic_load_explicit(&shard->version, memory_order_relaxed);
        atomic_store_explicit(&shard->version, version + 1, memory_order_relaxed);
        atomic_store_explicit(&shard->current, shard->flip_buffer & 1, memory_order_release);
        box_order();
    }
    atomic_store_explicit(&shard->flip_number, 0, memory_order_release);
}
