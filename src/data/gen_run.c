/* gen_run.c - rounds of blocks: some for each thread are made side by side, then put out in order.
 * A slot owns the buffer and the scratch memory of one block in flight. Tests: test_gen.c. */
#include "data/gen_run.h"

#include "base/err.h"

enum { SLOTS_PER_THREAD = 4, SLOTS_MAX = 256 };

struct slot {
    void *scratch;
    char *text;
    struct data_gen_made made;
};

struct work {
    const struct data_gen_plan *plan;
    const struct data_gen_run *run;
    struct slot *slot;
    size_t slots;
    uint64_t block; /* the first of this round */
};

static bool stopped(const struct data_gen_run *run)
{
    return run->stop != NULL && atomic_load_explicit(run->stop, memory_order_relaxed);
}

static void make_one(void *ctx, size_t index)
{
    struct work *w = ctx;
    struct slot *slot = &w->slot[index];

    slot->made = (struct data_gen_made){0};
    if (stopped(w->run))
        return;
    w->plan->make(w->plan->ctx, slot->scratch, w->block + index, slot->text, &slot->made);
    if (w->run->done != NULL)
        atomic_fetch_add_explicit(w->run->done, slot->made.units, memory_order_relaxed);
}

static shoal_status make_round(shoal_env *env, struct work *w, const struct data_sink *sink,
                               uint64_t *entries, shoal_err *err)
{
    uint64_t left = w->plan->blocks - w->block;
    size_t count = left < w->slots ? (size_t)left : w->slots;
    shoal_status st = env_parallel(env, count, w->run->threads, make_one, w, err);

    if (st == SHOAL_OK && stopped(w->run))
        st = base_err(err, SHOAL_E_CANCELLED, "interrupted");
    for (size_t i = 0; i < count && st == SHOAL_OK; i++) {
        const struct slot *slot = &w->slot[i];
        *entries += slot->made.entries;
        if (sink != NULL && slot->made.size > 0)
            st = sink->put(sink->ctx, slot->text, slot->made.size, err);
    }
    w->block += count;
    return st;
}

static bool make_slots(struct work *w, const struct base_alloc *alloc)
{
    w->slot = base_calloc(alloc, w->slots, sizeof *w->slot);
    for (size_t i = 0; w->slot != NULL && i < w->slots; i++) {
        struct slot *slot = &w->slot[i];
        slot->scratch = w->plan->scratch_new(w->plan->ctx, alloc);
        slot->text = w->plan->text_max > 0 ? base_malloc(alloc, w->plan->text_max) : NULL;
        if (slot->scratch == NULL || (w->plan->text_max > 0 && slot->text == NULL))
            return false;
    }
    return w->slot != NULL;
}

static void free_slots(struct work *w, const struct base_alloc *alloc)
{
    for (size_t i = 0; w->slot != NULL && i < w->slots; i++) {
        if (w->slot[i].scratch != NULL)
            w->plan->scratch_free(w->slot[i].scratch, alloc);
        base_free(alloc, w->slot[i].text);
    }
    base_free(alloc, w->slot);
}

shoal_status data_gen_make(shoal_env *env, const struct data_gen_plan *plan,
                           const struct data_gen_run *run, const struct data_sink *sink,
                           uint64_t *out_entries, shoal_err *err)
{
    struct data_gen_run defaults = {0};
    struct work w = {.plan = plan, .run = run != NULL ? run : &defaults};
    uint64_t entries = 0;
    uint32_t threads = w.run->threads != 0 ? w.run->threads : env_cpu_count(env);

    w.slots = threads == 1 ? 1 : (size_t)threads * SLOTS_PER_THREAD;
    if (w.slots > SLOTS_MAX)
        w.slots = SLOTS_MAX;
    if (w.slots > plan->blocks)
        w.slots = (size_t)plan->blocks;
    shoal_status st =
        make_slots(&w, env_alloc(env)) ? SHOAL_OK : base_err_nomem(err, "making data");
    while (st == SHOAL_OK && w.block < plan->blocks)
        st = make_round(env, &w, sink, &entries, err);
    free_slots(&w, env_alloc(env));
    if (st == SHOAL_OK && out_entries != NULL)
        *out_entries = entries;
    return st;
}
