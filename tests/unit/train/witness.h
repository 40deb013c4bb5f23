/* witness.h - does every read see what the rules of visibility promise?
 *
 * The witness table has one row of one float per executor. The task with which executor e ends a
 * clock adds 1 to row e. A read of the table is then a vector: how many clocks of every writer the
 * reader saw. The rules become inequalities, checked in time linear in the number of writers:
 *   - nothing from nowhere: an entry is at most what was ever given to commit;
 *   - staleness s: at clock c every entry is at least c - s;
 *   - bulk synchronous (s = 0): every entry is exactly c;
 *   - its own: the reader's own entry is all it ended (unless bulk synchronous);
 *   - rule 2: entries are at least what had been heard of when the task was dispatched;
 *   - entries of one reader never go down, wherever it runs.
 *
 *     witness_init(&w, executors, staleness);
 *     witness_dispatch(&w, e);             when a task is given to a worker
 *     witness_read(&w, e, clock, rows);    in a task; NULL or what is wrong
 *     witness_issue(&w, e, clocks);        before a commit that ends its clock
 *     witness_heard(&w, e, clocks);        when the end of the task was heard of
 *
 * Plain memory, one thread. */
#ifndef TESTS_TRAIN_WITNESS_H
#define TESTS_TRAIN_WITNESS_H

#include <stdint.h>
#include <string.h>

enum { WITNESS_MAX = 64 };

struct witness {
    uint32_t executors, staleness;
    uint64_t issued[WITNESS_MAX]; /* by writer: clocks that may have been committed */
    uint64_t heard[WITNESS_MAX];  /* by writer: clocks whose end was heard of */
    uint64_t promised[WITNESS_MAX][WITNESS_MAX]; /* by reader: `heard` at its dispatch */
    uint64_t seen[WITNESS_MAX][WITNESS_MAX];     /* by reader: its last read */
    uint64_t reads, fresh;                       /* entries read, and those that were the newest */
};

static inline void witness_init(struct witness *w, uint32_t executors, uint32_t staleness)
{
    memset(w, 0, sizeof *w);
    w->executors = executors;
    w->staleness = staleness;
}

static inline void witness_dispatch(struct witness *w, uint32_t reader)
{
    memcpy(w->promised[reader], w->heard, sizeof w->heard);
}

static inline void witness_issue(struct witness *w, uint32_t writer, uint64_t clocks)
{
    if (w->issued[writer] < clocks)
        w->issued[writer] = clocks;
}

static inline void witness_heard(struct witness *w, uint32_t writer, uint64_t clocks)
{
    if (w->heard[writer] < clocks)
        w->heard[writer] = clocks;
}

static inline const char *witness_read(struct witness *w, uint32_t reader, uint64_t clock,
                                       const float *rows)
{
    for (uint32_t e = 0; e < w->executors; e++) {
        if (!(rows[e] >= 0) || rows[e] != (float)(uint64_t)rows[e])
            return "an entry that is no count";
        uint64_t entry = (uint64_t)rows[e];
        if (entry > w->issued[e])
            return "an increment that nobody made";
        if (entry + w->staleness < clock)
            return "an increment older than the staleness allows is missing";
        if (w->staleness == 0 && entry != clock)
            return "an increment of an open clock is visible";
        if (w->staleness > 0 && e == reader && entry < w->heard[e])
            return "the reader's own increment is missing";
        if (w->staleness > 0 && entry < w->promised[reader][e])
            return "an increment of a task that had ended before the dispatch is missing";
        if (entry < w->seen[reader][e])
            return "an increment that was visible is gone";
        w->seen[reader][e] = entry;
        w->reads++;
        w->fresh += entry == w->issued[e];
    }
    return NULL;
}

#endif
