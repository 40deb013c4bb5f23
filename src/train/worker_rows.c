/* worker_rows.c - what a worker elsewhere is sent of tables, put a shard at a time.
 *
 * A clock's factors for a large table take some tenths of a second to add. The loop has to turn
 * meanwhile, so that signs of life are answered. So a message is put one shard at a time, each in a
 * turn of its own; it is kept until all are done, and so is all that comes after it but data of
 * executors, since tasks must see what was sent before them. No task runs then that reads what is
 * half put: in a bulk synchronous job, the only one with factors, all of the clock before have ended.
 * The same goes for rows of a shard that is locked, which is by a thread of this process and for less
 * than a millisecond: one that stays so is a mistake, which the driver is told.
 *
 * Tests: tests/unit/train/test_factors_afar.c, test_master_words.c. */
#include "train/worker_parts.h"

#include "base/err.h"
#include <string.h>

enum { KEPT_MAX = 1 << 30 }; /* bytes: what a line brings in a second, as in wire_opts */
static const uint64_t LOCKED_NS = 60ull * 1000 * 1000 * 1000; /* for a shard to be unlocked */

/* A message. The bytes are aligned to 8. */
struct worker_kept {
    struct worker_kept *next;
    size_t size;
    uint16_t kind;
    uint32_t shard;    /* of rows and factors: the next to be put */
    uint64_t tried_ns; /* and since when it is tried */
    _Alignas(8) char bytes[];
};

static void go_on(void *ctx);

static shoal_status put(struct train_worker *w, uint16_t kind, const void *bytes, size_t size,
                        uint32_t *shard)
{
    return kind == TRAIN_FACTORS ? train_box_put_factors(w->box, bytes, size, shard, NULL)
                                 : train_box_put_rows(w->box, bytes, size, NULL);
}

/* At once after a shard that was put; one that is locked is tried until its time is over. */
static void go_on_later(struct train_worker *w, bool was_put)
{
    uint64_t now = env_now_ns(w->env);
    shoal_err err;

    if (was_put)
        w->rows->tried_ns = now;
    if (now - w->rows->tried_ns > LOCKED_NS) {
        base_err(&err, SHOAL_E_INTERNAL, "a shard of a table was locked for more than %g s",
                 (double)LOCKED_NS / 1e9);
        worker_give_up(w, SHOAL_E_INTERNAL, &err);
    } else if (!w->over && env_timer_start(w->loop, &w->rows_turn, was_put ? 0 : WORKER_PAUSE_NS,
                                           go_on, w) != SHOAL_OK) {
        worker_end(w, base_err_nomem(&err, "taking rows"), &err);
    }
}

static struct worker_kept *keep(struct train_worker *w, uint16_t kind, const void *bytes,
                                size_t size)
{
    struct worker_kept *kept = NULL;
    shoal_err err;

    if (size <= KEPT_MAX - w->kept_bytes)
        kept = base_malloc(env_alloc(w->env), sizeof *kept + size);
    if (kept == NULL) {
        shoal_status st =
            size > KEPT_MAX - w->kept_bytes
                ? base_err(&err, SHOAL_E_LIMIT, "more than 1 GiB waits behind factors")
                : base_err_nomem(&err, "taking rows");
        worker_end(w, st, &err);
        return NULL;
    }
    *kept = (struct worker_kept){.size = size, .kind = kind};
    if (size > 0)
        memcpy(kept->bytes, bytes, size);
    w->kept_bytes += size;
    return kept;
}

static void drop(struct train_worker *w, struct worker_kept *kept)
{
    w->kept_bytes -= kept->size;
    base_free(env_alloc(w->env), kept);
}

bool worker_waits(const struct train_worker *w)
{
    return w->rows != NULL;
}

void worker_keep(struct train_worker *w, uint16_t kind, const void *bytes, size_t size)
{
    struct worker_kept *kept = keep(w, kind, bytes, size);

    if (kept == NULL)
        return;
    *(w->kept != NULL ? &w->kept_last->next : &w->kept) = kept;
    w->kept_last = kept;
}

void worker_put_rows(struct train_worker *w, uint16_t kind, const void *bytes, size_t size)
{
    uint32_t shard = 0;
    shoal_status st = put(w, kind, bytes, size, &shard);

    if (st == SHOAL_OK)
        return;
    if (st != SHOAL_AGAIN)
        return worker_confused(w, "rows");
    w->rows = keep(w, kind, bytes, size);
    if (w->rows == NULL)
        return;
    w->rows->shard = shard;
    w->rows->tried_ns = env_now_ns(w->env);
    go_on_later(w, shard > 0);
}

/* What came after the rows that are put now, up to the next ones that take longer. */
static void catch_up(struct train_worker *w)
{
    while (w->kept != NULL && w->rows == NULL && !w->over) {
        struct worker_kept *kept = w->kept;
        w->kept = kept->next;
        worker_hear(w, kept->kind, kept->bytes, kept->size);
        drop(w, kept);
    }
}

/* The next shard. */
static void go_on(void *ctx)
{
    struct train_worker *w = ctx;
    struct worker_kept *rows = w->rows;
    uint32_t before = rows->shard;
    shoal_status st = put(w, rows->kind, rows->bytes, rows->size, &rows->shard);

    if (st == SHOAL_AGAIN)
        return go_on_later(w, rows->shard > before);
    w->rows = NULL;
    drop(w, rows);
    if (st != SHOAL_OK)
        return worker_confused(w, "rows");
    catch_up(w);
}

void worker_rows_free(struct train_worker *w)
{
    env_timer_stop(&w->rows_turn);
    base_free(env_alloc(w->env), w->rows);
    while (w->kept != NULL) {
        struct worker_kept *next = w->kept->next;
        base_free(env_alloc(w->env), w->kept);
        w->kept = next;
    }
    w->rows = NULL;
}
