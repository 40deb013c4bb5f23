/* carry_factors.c - a closed clock's outer products, sent as such instead of the rows they changed.
 *
 * Problem. A factor changes every row of its table, so after a clock of factors the rows are the whole
 * table: rows x width floats, where P executors with K factors each need P K (rows + 2 entries).
 *
 * Method. Bulk synchronous boxes fold a clock executor by executor; a copy to which the same factors
 * are added in the same order is equal bit for bit. After a clock is folded, its outboxes lie as they
 * were until their executors' next increments. So when all that a table's shards have folded since
 * the copy's version are outboxes which are still there and hold factors alone, and they are fewer
 * bytes than the rows, they are packed. In all other cases nothing is, and rows have to be sent.
 *
 * What the receiver committed itself is not sent to it: it has the same bytes in an outbox of its own,
 * adds them in their place, and has them for as long as no later task of the executor's has begun
 * there. So home leaves a fold out only when the receiver ran that task, home has heard of all that it
 * was sent of the executor since, and none of those made increments.
 *
 * An outbox may be opened by a task of another process while it is copied. That sets its number to 0
 * first, so bytes count only when the number is the same before and after.
 *
 * Unlike rows, factors fit one version of the copy only; the receiver checks it shard by shard.
 *
 * Tests: tests/unit/train/test_carry_factors.c. */
#include "train/carry_parts.h"

#include "base/err.h"
#include <string.h>

enum { FACTORS = 0x31464253 }; /* "SBF1" */

struct factors_head {
    uint32_t magic, table, shards, folds; /* how many of each follow */
};

struct factors_shard {
    uint64_t since, version;
};

/* Followed by `size` bytes of factors, as in an outbox; or by none, when the receiver has them. */
struct factors_fold {
    uint64_t number, size;
    uint32_t executor, kept;
};

/* ---- packing ---- */

/* Whether the shard has folded something of the executor's since that version. */
static bool folded_since(const struct shard_view *v, uint32_t executor, uint64_t since)
{
    return atomic_load_explicit(&v->version[executor], memory_order_relaxed) > since;
}

/* How many executors' outboxes were folded; 0: none, or not the same in all shards, or twice. */
static uint32_t folds_count(const struct train_box *box, const struct box_table *t,
                            const uint64_t *since)
{
    const struct shard_view *first = &box->shards[t->first_shard];
    uint32_t count = 0;

    for (uint32_t e = 0; e < box->executor_count; e++) {
        bool folds = folded_since(first, e, since[0]);
        count += folds;
        for (uint32_t s = 1; s < t->shards; s++)
            if (folded_since(first + s, e, since[s]) != folds ||
                (folds && atomic_load(&first[s].folded[e]) != atomic_load(&first->folded[e])))
                return 0;
    }
    for (uint32_t s = 0; s < t->shards; s++)
        if (first[s].rewritten || since[s] == 0 ||
            atomic_load(&first[s].shard->version) != since[s] + count)
            return 0;
    return count;
}

/* The factors of an outbox that has nothing else for the table; NULL: it has, or is gone. */
static const char *factors_find(struct train_box *box, const struct box_table *t,
                                const struct box_outbox *outbox, uint64_t number,
                                uint64_t *out_size)
{
    struct box_list *lists = box_outbox_lists(box, outbox);
    struct fold_parts p = {.factors = NULL};

    for (uint32_t s = t->first_shard; lists != NULL && s < t->first_shard + t->shards; s++) {
        if (atomic_load(&lists[s].touched) != number)
            return NULL;
        box_parts_find(box, &box->shards[s], lists, &p);
        if (p.rows.count > 0 || p.dense != NULL)
            return NULL;
    }
    *out_size = p.factors_size;
    return p.factors;
}

/* Whether the receiver has the task's increments in an outbox of its own. */
static bool is_kept(const struct train_box *box, const struct train_own *own, uint32_t executor,
                    uint64_t number)
{
    const struct box_outbox *outbox = box->executors[executor].outbox;

    return own != NULL && own[executor].since < number && number <= own[executor].heard &&
           own[executor].sent == own[executor].heard && atomic_load(&outbox[0].number) <= number &&
           atomic_load(&outbox[1].number) <= number;
}

static bool fold_pack(struct train_box *box, const struct box_table *t, uint32_t executor,
                      const struct train_own *own, struct base_buf *out)
{
    uint64_t number = atomic_load(&box->shards[t->first_shard].folded[executor]);
    const struct box_outbox *outbox = carry_outbox_find(box, executor, number);
    struct factors_fold fold = {
        .number = number, .executor = executor, .kept = is_kept(box, own, executor, number)};
    const char *bytes = outbox != NULL ? factors_find(box, t, outbox, number, &fold.size) : NULL;

    if (bytes == NULL)
        return false;
    base_buf_append(out, &fold, sizeof fold);
    base_buf_append(out, bytes, fold.kept ? 0 : fold.size);
    atomic_thread_fence(memory_order_acquire);
    return atomic_load(&outbox->number) == number;
}

bool train_box_pack_factors(struct train_box *box, uint32_t table, uint64_t *versions,
                            const struct train_own *own, struct base_buf *out)
{
    if (!box->bulk || box->away || table >= box->table_count || box->table[table].held)
        return false;
    const struct box_table *t = &box->table[table];
    size_t start = out->size;
    struct factors_head head = {FACTORS, table, t->shards, 0};
    for (uint32_t s = 0; s < t->shards; s++)
        if (box_fold_shard(box, t->first_shard + s) != SHOAL_OK)
            return false;
    head.folds = folds_count(box, t, versions);
    if (head.folds == 0)
        return false;
    base_buf_append(out, &head, sizeof head);
    for (uint32_t s = 0; s < t->shards; s++) {
        struct factors_shard shard = {versions[s], versions[s] + head.folds};
        base_buf_append(out, &shard, sizeof shard);
    }
    bool good = true;
    for (uint32_t e = 0; e < box->executor_count && good; e++)
        if (folded_since(&box->shards[t->first_shard], e, versions[0]))
            good = fold_pack(box, t, e, own, out) &&
                   out->size - start < t->rows * t->width * sizeof(float);
    if (!good || base_buf_status(out) != SHOAL_OK) {
        out->size = start;
        return false;
    }
    for (uint32_t s = 0; s < t->shards; s++)
        versions[s] += head.folds;
    return true;
}

/* ---- putting ---- */

/* A message whose bytes were checked. */
struct factors_view {
    struct factors_head head;
    const struct box_table *table;
    const char *shards, *folds;
};

/* The fold at *at, which moves on to the next. */
static struct factors_fold fold_next(const char **at, const char **out_bytes)
{
    struct factors_fold fold;

    memcpy(&fold, *at, sizeof fold);
    *out_bytes = *at + sizeof fold;
    *at += sizeof fold + (fold.kept ? 0 : fold.size);
    return fold;
}

/* Whether all that it leaves out is here. */
static bool kept_check(struct train_box *box, const struct factors_view *m)
{
    const char *at = m->folds, *bytes;

    for (uint32_t i = 0; i < m->head.folds; i++) {
        struct factors_fold fold = fold_next(&at, &bytes);
        uint64_t size = 0;
        if (!fold.kept)
            continue;
        const struct box_outbox *outbox = carry_outbox_find(box, fold.executor, fold.number);
        if (outbox == NULL || factors_find(box, m->table, outbox, fold.number, &size) == NULL ||
            size != fold.size)
            return false;
    }
    return true;
}

/* The factors of its own task, which are here. */
static const char *kept_find(struct train_box *box, const struct shard_view *v,
                             const struct factors_fold *fold)
{
    struct fold_parts p;

    box_parts_find(box, v,
                   box_outbox_lists(box, carry_outbox_find(box, fold->executor, fold->number)), &p);
    return p.factors;
}

/* Of bytes whose head makes sense. */
static void view(const struct train_box *box, const char *bytes, struct factors_view *m)
{
    memcpy(&m->head, bytes, sizeof m->head);
    m->table = &box->table[m->head.table];
    m->shards = bytes + sizeof m->head;
    m->folds = m->shards + m->head.shards * sizeof(struct factors_shard);
}

static bool factors_check(const struct train_box *box, const char *bytes, size_t size,
                          struct factors_view *m)
{
    struct factors_fold fold;
    uint32_t last = 0;

    if (size < sizeof m->head || (uintptr_t)bytes % 8 != 0)
        return false;
    memcpy(&m->head, bytes, sizeof m->head);
    if (m->head.magic != FACTORS || !box->bulk || !box->away || m->head.table >= box->table_count ||
        box->table[m->head.table].held || m->head.shards != box->table[m->head.table].shards ||
        m->head.folds == 0 ||
        (size - sizeof m->head) / sizeof(struct factors_shard) < m->head.shards)
        return false;
    view(box, bytes, m);
    const char *at = m->folds, *end = bytes + size;
    for (uint32_t i = 0; i < m->head.folds; i++) {
        if ((size_t)(end - at) < sizeof fold)
            return false;
        memcpy(&fold, at, sizeof fold);
        at += sizeof fold;
        if (fold.executor >= box->executor_count || (i > 0 && fold.executor <= last) ||
            fold.number == 0 || fold.size == 0 || fold.kept > 1)
            return false;
        if (!fold.kept &&
            (fold.size > (size_t)(end - at) || !carry_factors_check(at, fold.size, m->table)))
            return false;
        last = fold.executor;
        at += fold.kept ? 0 : fold.size;
    }
    return at == end;
}

/* All folds to a few rows, in their order. */
static void block_add(struct train_box *box, const struct factors_view *m,
                      const struct shard_view *v, uint64_t row, uint64_t end)
{
    const char *at = m->folds, *bytes;

    for (uint32_t i = 0; i < m->head.folds; i++) {
        struct factors_fold fold = fold_next(&at, &bytes);
        box_factors_add(v, fold.kept ? kept_find(box, v, &fold) : bytes, fold.size, m->table->rows,
                        row, end);
    }
}

/* Under the lock. */
static void shard_add(struct train_box *box, const struct factors_view *m,
                      const struct shard_view *v)
{
    const char *at = m->folds, *bytes;
    uint64_t each = box_block_rows(v->width);

    for (uint64_t row = 0; row < v->rows; row += each)
        block_add(box, m, v, row, v->rows - row < each ? v->rows : row + each);
    for (uint32_t i = 0; i < m->head.folds; i++) {
        struct factors_fold fold = fold_next(&at, &bytes);
        carry_rows_include(v, fold.executor, fold.number);
    }
}

/* SHOAL_AGAIN: it is locked. */
static shoal_status shard_put(struct train_box *box, const struct factors_view *m, uint32_t index,
                              shoal_err *err)
{
    const struct shard_view *v = &box->shards[m->table->first_shard + index];
    struct factors_shard step;
    shoal_status st = SHOAL_OK;

    memcpy(&step, m->shards + index * sizeof step, sizeof step);
    if (!box_lock(box, v->shard))
        return SHOAL_AGAIN;
    uint64_t version = atomic_load_explicit(&v->shard->home_version, memory_order_relaxed);
    if (version < step.version && version != step.since) {
        st = base_err(err, SHOAL_E_INVAL, "factors since version %llu for a copy of version %llu",
                      (unsigned long long)step.since, (unsigned long long)version);
    } else if (version < step.version) {
        shard_add(box, m, v);
        atomic_store_explicit(&v->shard->home_version, step.version, memory_order_relaxed);
    }
    box_unlock(v->shard);
    return st;
}

shoal_status train_box_put_factors(struct train_box *box, const void *bytes, size_t size,
                                   uint32_t *next, shoal_err *err)
{
    struct factors_view m;

    if (*next > 0)
        view(box, bytes, &m);
    else if (!factors_check(box, bytes, size, &m))
        return base_err(err, SHOAL_E_FORMAT, "a message of factors does not make sense");
    if (!kept_check(box, &m))
        return base_err(err, SHOAL_E_INVAL, "factors without those of a task that is not here");
    shoal_status st = shard_put(box, &m, *next, err);
    *next += st == SHOAL_OK;
    return st == SHOAL_OK && *next < m.head.shards ? SHOAL_AGAIN : st;
}
