/* fold_pending.c - which increments are folded when, and who finds that out.
 *
 * Before a commit the shards that it touches are marked: a bit for the executor, then `marked` goes
 * up. The folder takes the bit away first and looks then, so that no mark is lost; `done` follows
 * `marked` when everything is folded, so a reader who finds them equal has all increments of tasks that
 * it can have heard of. Bulk synchronous: a shard is fresh when it has folded all closed clocks; the
 * bits say which executors to look at.
 *
 * The driver has a loop to turn. When it has folded for some milliseconds it says SHOAL_AGAIN, whatever
 * is left, and to whoever asks in the same turn.
 *
 * How one outbox is added to one shard is in fold.c.
 * Tests: tests/unit/train/test_fold.c, test_box*.c. */
#include "train/fold_parts.h"

static const uint64_t TURN = 1 << 23;       /* floats that the driver folds at a time: 5 to 15 ms */
static const uint64_t REST_NS = 100 * 1000; /* within which it is the same turn of its loop */

/* The outbox's number if it has something for the shard that is not folded; 0 if not. */
static uint64_t outbox_wants(const struct train_box *box, const struct shard_view *v,
                             uint32_t executor, const struct box_outbox *outbox,
                             struct box_list **out_lists)
{
    uint64_t number = atomic_load_explicit(&outbox->number, memory_order_acquire);

    if (number <= atomic_load_explicit(&v->folded[executor], memory_order_acquire))
        return 0;
    struct box_list *lists = box_outbox_lists(box, outbox);
    if (lists == NULL ||
        atomic_load_explicit(&lists[v - box->shards].touched, memory_order_relaxed) != number)
        return 0;
    *out_lists = lists;
    return number;
}

/* Whether one of the executor's outboxes has something for the shard that is not folded. */
static bool outboxes_want(const struct train_box *box, const struct shard_view *v,
                          uint32_t executor)
{
    const struct box_executor *e = &box->executors[executor];
    struct box_list *lists;

    return outbox_wants(box, v, executor, &e->outbox[0], &lists) != 0 ||
           outbox_wants(box, v, executor, &e->outbox[1], &lists) != 0;
}

/* Folds the executor's outboxes of clocks below `clock_end`, in order. */
static bool fold_executor(struct train_box *box, const struct shard_view *v, uint32_t executor,
                          uint64_t clock_end)
{
    struct box_executor *e = &box->executors[executor];
    uint64_t committed = atomic_load_explicit(&e->committed, memory_order_acquire);
    uint64_t a = atomic_load_explicit(&e->outbox[0].number, memory_order_relaxed);
    uint64_t b = atomic_load_explicit(&e->outbox[1].number, memory_order_relaxed);
    uint32_t first = a <= b ? 0 : 1;

    for (uint32_t i = 0; i < 2; i++) {
        struct box_outbox *outbox = &e->outbox[first ^ i];
        struct box_list *lists = NULL;
        uint64_t number = outbox_wants(box, v, executor, outbox, &lists);
        if (number == 0 || number > committed ||
            atomic_load_explicit(&outbox->clock, memory_order_relaxed) >= clock_end)
            continue;
        if (!fold_outbox(box, v, executor, number, lists))
            return false;
    }
    return true;
}

/* Walks over the executors whose bits are set, in order. */
struct bits_walk {
    uint64_t bits;
    uint32_t word, words;
};

static bool bits_next(const struct shard_view *v, struct bits_walk *w, uint32_t *out_executor)
{
    while (w->bits == 0) {
        if (w->word >= w->words)
            return false;
        w->bits = atomic_load_explicit(&v->bits[w->word++], memory_order_acquire);
    }
    *out_executor = (w->word - 1) * 64 + (uint32_t)__builtin_ctzll(w->bits);
    w->bits &= w->bits - 1;
    return true;
}

static struct bits_walk bits_begin(const struct train_box *box)
{
    return (struct bits_walk){.words = (box->executor_count + 63) / 64};
}

/* Takes the executor's bit away unless something is left: SHOAL_OK, SHOAL_END or killed. */
static shoal_status bit_clear(struct train_box *box, const struct shard_view *v, uint32_t executor)
{
    uint64_t bit = UINT64_C(1) << (executor % 64);

    atomic_fetch_and(&v->bits[executor / 64], ~bit);
    if (box_crash(box))
        return SHOAL_E_CANCELLED;
    if (!outboxes_want(box, v, executor))
        return SHOAL_OK;
    atomic_fetch_or(&v->bits[executor / 64], bit);
    return SHOAL_END;
}

void box_mark(struct train_box *box, uint32_t shard, uint32_t executor)
{
    const struct shard_view *v = &box->shards[shard];

    atomic_fetch_or(&v->bits[executor / 64], UINT64_C(1) << (executor % 64));
    atomic_fetch_add(&v->shard->marked, 1);
}

/* Under the lock; leaves it locked when killed. */
static shoal_status fold_marked(struct train_box *box, const struct shard_view *v)
{
    uint64_t marked = atomic_load(&v->shard->marked);
    struct bits_walk walk = bits_begin(box);
    bool left = false;
    uint32_t e;

    while (bits_next(v, &walk, &e)) {
        if (e >= box->executor_count)
            break;
        if (!fold_executor(box, v, e, UINT64_MAX) || box_crash(box))
            return SHOAL_E_CANCELLED;
        shoal_status st = bit_clear(box, v, e);
        if (st == SHOAL_E_CANCELLED || box_crash(box))
            return SHOAL_E_CANCELLED;
        left = left || st == SHOAL_END;
    }
    if (left)
        return SHOAL_END;
    atomic_store(&v->shard->done, marked);
    return SHOAL_OK;
}

static shoal_status fold_clocks(struct train_box *box, const struct shard_view *v, uint64_t closed)
{
    uint64_t clock = atomic_load_explicit(&v->shard->folded_clock, memory_order_relaxed);
    struct bits_walk walk;
    uint32_t e;

    for (; clock < closed; clock++) {
        walk = bits_begin(box);
        while (bits_next(v, &walk, &e))
            if (e < box->executor_count && !fold_executor(box, v, e, clock + 1))
                return SHOAL_E_CANCELLED;
        if (box_crash(box))
            return SHOAL_E_CANCELLED;
        atomic_store_explicit(&v->shard->folded_clock, clock + 1, memory_order_release);
    }
    walk = bits_begin(box);
    while (bits_next(v, &walk, &e))
        if (e < box->executor_count && bit_clear(box, v, e) == SHOAL_E_CANCELLED)
            return SHOAL_E_CANCELLED;
    return SHOAL_OK;
}

/* Boxes away fold nothing: their rows come folded. What was committed there and not yet at home may
 * still be lost, so nobody may see it. */
static bool shard_fresh(const struct train_box *box, const struct shard_view *v)
{
    if (v->held || box->away)
        return true;
    if (box->bulk)
        return atomic_load_explicit(&v->shard->folded_clock, memory_order_acquire) >=
               train_box_closed(box);
    return atomic_load(&v->shard->done) == atomic_load(&v->shard->marked);
}

shoal_status box_fold_shard(struct train_box *box, uint32_t shard)
{
    const struct shard_view *v = &box->shards[shard];
    shoal_status st;

    if (shard_fresh(box, v))
        return SHOAL_OK;
    if (!box_lock(box, v->shard))
        return SHOAL_AGAIN;
    if (box_crash(box))
        return SHOAL_E_CANCELLED;
    st = box->bulk ? fold_clocks(box, v, train_box_closed(box)) : fold_marked(box, v);
    if (st == SHOAL_E_CANCELLED)
        return st;
    box_unlock(v->shard);
    return st;
}

/* Whether the driver has folded enough for this turn of its loop, in which it began at `start`. */
static bool is_resting(struct train_box *box, uint64_t start)
{
    if (box->worker != 0)
        return false;
    if (box->folded - start > TURN)
        box->rests_ns = env_now_ns(box->env);
    else if (box->rests_ns != 0 && env_now_ns(box->env) - box->rests_ns > REST_NS)
        box->rests_ns = 0;
    return box->rests_ns != 0;
}

static shoal_status fold_all(struct train_box *box)
{
    shoal_status all = SHOAL_OK;
    uint64_t start = box->folded;

    for (uint32_t s = 0; s < box->fold_count; s++) {
        if (!shard_fresh(box, &box->shards[s]) && is_resting(box, start))
            return SHOAL_AGAIN;
        shoal_status st = box_fold_shard(box, s);
        if (st == SHOAL_E_CANCELLED)
            return st;
        if (st == SHOAL_AGAIN || (st == SHOAL_END && all == SHOAL_OK))
            all = st;
    }
    return all;
}

shoal_status box_fresh(struct train_box *box, uint64_t *seen)
{
    uint64_t now = box->bulk ? train_box_closed(box) : atomic_load(&box->head->marks);

    if (*seen == now)
        return SHOAL_OK;
    shoal_status st = fold_all(box);
    if (st == SHOAL_OK)
        *seen = now;
    return st == SHOAL_END ? SHOAL_OK : st;
}

shoal_status train_box_fold(struct train_box *box)
{
    shoal_status st = fold_all(box);

    return st == SHOAL_END ? SHOAL_OK : st;
}

shoal_status train_box_fresh(struct train_box *box, uint64_t *out_state)
{
    uint64_t state = 1 + train_box_closed(box) + box->rewrites + atomic_load(&box->head->marks);
    shoal_status st = fold_all(box);

    *out_state = st == SHOAL_OK ? state : 0;
    return st == SHOAL_END ? SHOAL_OK : st;
}

void train_box_rewrite(struct train_box *box, uint32_t table, uint32_t shard)
{
    if (table >= box->table_count || shard >= box->table[table].shards)
        return;
    box->shards[box->table[table].first_shard + shard].rewritten = true;
    box->rewrites++;
}

/* Whether every shard that the outbox touched has folded it; away: the one it is a copy of, or home
 * has said that it has it. */
static bool outbox_folded(const struct train_box *box, uint32_t executor,
                          const struct box_outbox *outbox, uint64_t number, uint32_t *out_shard)
{
    struct box_list *lists = box_outbox_lists(box, outbox);
    uint32_t count = atomic_load_explicit(&outbox->touched_count, memory_order_relaxed);

    if (box->away &&
        number <= atomic_load_explicit(&box->executors[executor].homed, memory_order_acquire))
        return true;
    for (uint32_t i = 0; lists != NULL && i < count && i < box->fold_count; i++) {
        uint32_t s = atomic_load_explicit(&box_touched(box, lists)[i], memory_order_relaxed);
        if (s >= box->fold_count)
            continue;
        if (atomic_load_explicit(&lists[s].touched, memory_order_relaxed) == number &&
            atomic_load_explicit(&box->shards[s].folded[executor], memory_order_acquire) < number) {
            *out_shard = s;
            return false;
        }
    }
    return true;
}

/* Folds the outbox everywhere. SHOAL_AGAIN: not yet possible. */
static shoal_status outbox_free(struct train_box *box, uint32_t executor, struct box_outbox *outbox,
                                uint64_t number)
{
    uint32_t shard = 0;

    for (uint32_t last = UINT32_MAX; !outbox_folded(box, executor, outbox, number, &shard);
         last = shard) {
        if (last == shard)
            return SHOAL_AGAIN;
        shoal_status st = box_fold_shard(box, shard);
        if (st == SHOAL_AGAIN || st == SHOAL_E_CANCELLED)
            return st;
    }
    return SHOAL_OK;
}

shoal_status box_outbox_next(struct train_box *box, uint32_t executor, struct box_outbox **out)
{
    struct box_executor *e = &box->executors[executor];
    uint64_t committed = atomic_load_explicit(&e->committed, memory_order_acquire);
    uint64_t number[2];
    uint32_t shard;

    for (uint32_t i = 0; i < 2; i++) {
        number[i] = atomic_load_explicit(&e->outbox[i].number, memory_order_relaxed);
        if (number[i] > committed)
            number[i] = 0; /* of a task that died */
    }
    uint32_t old = number[0] <= number[1] ? 0 : 1;
    *out = &e->outbox[old ^ 1];
    if (number[old ^ 1] != 0 && outbox_folded(box, executor, *out, number[old ^ 1], &shard))
        return SHOAL_OK;
    *out = &e->outbox[old];
    return number[old] == 0 ? SHOAL_OK : outbox_free(box, executor, *out, number[old]);
}

bool train_box_settled(const struct train_box *box)
{
    uint32_t shard;

    for (uint32_t e = 0; e < box->executor_count; e++) {
        uint64_t committed = train_box_committed(box, e);
        for (uint32_t i = 0; i < 2; i++) {
            const struct box_outbox *outbox = &box->executors[e].outbox[i];
            uint64_t number = atomic_load_explicit(&outbox->number, memory_order_acquire);
            if (number != 0 && number <= committed &&
                !outbox_folded(box, e, outbox, number, &shard))
                return false;
        }
    }
    return true;
}

/* ---- increments that are in no outbox ---- */

bool box_fold_take(struct train_box *box, uint32_t shard, uint32_t executor)
{
    const struct shard_view *v = &box->shards[shard];

    if (box->bulk || !box_lock(box, v->shard))
        return false;
    if (outboxes_want(box, v, executor)) {
        box_unlock(v->shard);
        return false;
    }
    atomic_fetch_add(&v->shard->marked, 1);
    return true;
}

/* ---- after a death ---- */

static void fold_resume(struct train_box *box, const struct shard_view *v)
{
    struct box_shard *shard = v->shard;
    uint32_t executor = atomic_load_explicit(&shard->fold_executor, memory_order_relaxed);
    uint64_t number = atomic_load_explicit(&shard->fold_number, memory_order_relaxed);

    if (atomic_load_explicit(&shard->active, memory_order_relaxed) == 0)
        return;
    for (uint32_t i = 0; executor < box->executor_count && i < 2; i++) {
        struct box_outbox *outbox = &box->executors[executor].outbox[i];
        struct box_list *lists = NULL;
        if (atomic_load_explicit(&outbox->number, memory_order_acquire) == number &&
            outbox_wants(box, v, executor, outbox, &lists) == number && lists != NULL)
            (void)fold_rest(box, v, lists);
    }
    atomic_store_explicit(&shard->active, 0, memory_order_relaxed);
}

/* Marks everything that is not folded, committed or about to be: the dead may have taken marks
 * away. */
static void mark_all(struct train_box *box)
{
    uint32_t shard;

    for (uint32_t e = 0; e < box->executor_count; e++)
        for (uint32_t i = 0; i < 2; i++) {
            const struct box_outbox *outbox = &box->executors[e].outbox[i];
            struct box_list *lists = box_outbox_lists(box, outbox);
            uint32_t count = atomic_load_explicit(&outbox->touched_count, memory_order_acquire);
            uint64_t number = atomic_load_explicit(&outbox->number, memory_order_acquire);
            if (lists == NULL || number == 0 || outbox_folded(box, e, outbox, number, &shard))
                continue;
            for (uint32_t t = 0; t < count && t < box->fold_count; t++) {
                shard = atomic_load_explicit(&box_touched(box, lists)[t], memory_order_relaxed);
                if (shard < box->fold_count)
                    box_mark(box, shard, e);
            }
        }
    atomic_fetch_add(&box->head->marks, 1);
}

void train_box_repair(struct train_box *box, uint32_t worker)
{
    bool (*crash)(void *ctx) = box->crash;

    box->crash = NULL; /* repairs are not interrupted */
    for (uint32_t s = 0; s < box->shard_count; s++) {
        const struct shard_view *v = &box->shards[s];
        if (atomic_load_explicit(&v->shard->lock, memory_order_acquire) != worker + 1)
            continue;
        if (v->held)
            box_flip_settle(box, v->shard);
        else
            fold_resume(box, v);
        box_unlock(v->shard);
    }
    mark_all(box);
    box->crash = crash;
}
