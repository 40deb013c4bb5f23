/* witness.c - the rules of visibility, checked while jobs run.
 *
 * Problem. That a task sees what it must is the work of marks, locks, clocks and gates in four files
 * and two processes. If one of them is wrong, numbers are quietly a little off. Tests have a table in
 * which every task leaves a trace (tests/unit/train/counting_app.h); jobs of users have none.
 *
 * Method. The box has such a trace already: what every executor committed, of which clock, in which
 * outbox, and what every shard has folded. When a task of clock c is about to run with staleness s,
 * this file looks at the records themselves, and at none of the machinery that is to keep them in
 * order:
 *   - the gate: every executor has ended clock c - s - 1;
 *   - rule 3: an outbox of a clock up to c - s - 1 is folded in every shard it touched;
 *   - its own: so are the executor's own, of all clocks (unless bulk synchronous);
 *   - bulk synchronous: no outbox of a clock from c on is folded anywhere.
 * Tables that the task says it does not read are passed over.
 * In a box elsewhere only the second and third are known, of the executors that are there.
 *
 * What is read is written by others meanwhile. A record or outbox that is not of the number it was
 * taken for afterwards says nothing: its executor has gone on, which it could only do after all of
 * it was folded.
 *
 * Cost. One task in EVERY, and in it EXECUTORS executors, in turn, and SHARDS shards of each: some
 * nanoseconds per task. A violation ends the job (it is an error of ours). Tests:
 * tests/unit/train/test_witness.c, and all simulations, which look at everything. */
#include "train/witness.h"

#include "base/err.h"
#include "train/box_parts.h"

enum { EVERY = 256, EXECUTORS = 16, SHARDS = 8 };

struct look {
    const struct train_box *box;
    const struct train_task_spec *spec;
    uint64_t past; /* clocks below must be visible */
    uint32_t shards;
};

enum verdict { FINE, MISSING, EARLY };

/* Whether the shards that an outbox touched have folded it as they must. */
static enum verdict outbox_look(const struct look *l, uint32_t executor,
                                const struct box_outbox *outbox)
{
    const struct train_box *box = l->box;
    uint64_t committed = train_box_committed(box, executor);
    uint64_t number = atomic_load_explicit(&outbox->number, memory_order_acquire);
    uint64_t clock = atomic_load_explicit(&outbox->clock, memory_order_relaxed);
    uint32_t count = atomic_load_explicit(&outbox->touched_count, memory_order_relaxed);
    struct box_list *lists = box_outbox_lists(box, outbox);
    bool own = executor == l->spec->executor && !box->bulk;
    bool must = clock < l->past || own, may = !box->bulk || clock < l->spec->clock;
    enum verdict verdict = FINE;

    if (number == 0 || number > committed || lists == NULL || (!must && may))
        return FINE;
    for (uint32_t i = 0; i < count && i < box->fold_count && i < l->shards; i++) {
        uint32_t s = atomic_load_explicit(&box_touched(box, lists)[i], memory_order_relaxed);
        if (s >= box->fold_count || (l->spec->unread >> box->shards[s].table & 1) != 0 ||
            atomic_load_explicit(&lists[s].touched, memory_order_relaxed) != number)
            continue;
        uint64_t folded =
            atomic_load_explicit(&box->shards[s].folded[executor], memory_order_acquire);
        if (must && folded < number)
            verdict = MISSING;
        if (!may && folded >= number)
            verdict = EARLY;
    }
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&outbox->number, memory_order_relaxed) == number ? verdict : FINE;
}

static shoal_status executor_look(const struct look *l, uint32_t executor, shoal_err *err)
{
    const struct box_executor *e = &l->box->executors[executor];
    const char *wrong = NULL;

    if (!l->box->away && l->past > 0 && !box_has_ended(e, l->past))
        wrong = "has not ended the clocks that it must see";
    for (uint32_t i = 0; i < 2 && wrong == NULL; i++) {
        enum verdict verdict = outbox_look(l, executor, &e->outbox[i]);
        if (verdict != FINE)
            wrong = verdict == MISSING ? "made increments that it must see and does not"
                                       : "made increments that it must not see yet and does";
    }
    if (wrong == NULL)
        return SHOAL_OK;
    return base_err(err, SHOAL_E_INTERNAL,
                    "a rule of visibility is broken: executor %u %s, in executor %u's task of "
                    "clock %llu",
                    executor, wrong, l->spec->executor, (unsigned long long)l->spec->clock);
}

shoal_status train_witness_look(struct train_witness *w, const struct train_box *box,
                                const struct train_task_spec *spec, uint32_t *out_checked,
                                shoal_err *err)
{
    struct look l = {.box = box, .spec = spec, .shards = w->all ? UINT32_MAX : SHARDS};
    uint32_t count = box->executor_count, looked = 0;
    shoal_status st;

    *out_checked = 0;
    if (!w->all && w->tasks++ % EVERY != 0)
        return SHOAL_OK;
    if (box->bulk && box->away)
        return SHOAL_OK; /* rows come folded */
    if (spec->clock > box->head->staleness)
        l.past = spec->clock - box->head->staleness;
    if (!w->all && count > EXECUTORS)
        count = EXECUTORS;
    st = executor_look(&l, spec->executor, err);
    for (; looked < count && st == SHOAL_OK; looked++) {
        w->next = w->next + 1 < box->executor_count ? w->next + 1 : 0;
        st = executor_look(&l, w->next, err);
    }
    *out_checked = looked;
    return st;
}
