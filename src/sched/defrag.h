/* defrag.h - room for a gang by moving a few running jobs elsewhere.
 *
 * GPUs that are free in number but not together are of no use to a job that wants them together. A
 * gang needs as many nodes as it takes at least; of each enough GPUs are cleared by moving jobs
 * that lie wholly on it to where they fit as they are, in the holes of other nodes. The cheapest
 * nodes are cleared: those where the fewest GPUs move, then the fewest jobs; for a gang of several
 * nodes those of the first rack where it can be done. Nothing is moved in two steps, and jobs that
 * span nodes stay.
 *
 * Who may be moved is the caller's to say. Works on a floor (floor.h), which shows the result on
 * success and is as it was on failure. Owner thread only. Tests: tests/unit/sched/test_defrag.c. */
#ifndef SCHED_DEFRAG_H
#define SCHED_DEFRAG_H

#include "sched/floor.h"

enum { SCHED_DEFRAG_MOVES_MAX = 16 }; /* for one gang */

struct sched_defrag_move {
    uint32_t job; /* index into snap->jobs */
    struct sched_place to;
};

/* The jobs that lie on each node and may be moved, for one decision. */
struct sched_defrag {
    const struct base_alloc *alloc;
    struct sched_floor *floor;
    const struct sched_snapshot *snap;
    uint32_t *from; /* by node: its first entry in jobs */
    uint32_t *jobs; /* indices, by node */
    bool *movable;  /* by job, borrowed */
    size_t from_cap, jobs_cap;
    struct {
        uint32_t free, gpus; /* free GPUs of the kind then, and 1; 0: not known */
        uint16_t kind;
    } failed[SCHED_FLOOR_MEMO];                             /* in this decision */
    struct sched_defrag_move moves[SCHED_DEFRAG_MOVES_MAX]; /* of the last call that succeeded */
    uint32_t move_count;
    struct sched_place *places; /* of the gang then, nodes increasing */
    size_t places_cap;
    uint32_t place_count;
};

void sched_defrag_fini(struct sched_defrag *d);

/* Takes down which jobs may be moved: movable (jobs) says; those that span nodes never are. It is
 * borrowed for the decision: whom the caller sets to false is not moved any more. */
SHOAL_MUST_USE shoal_status sched_defrag_begin(struct sched_defrag *d, struct sched_floor *floor,
                                               const struct sched_snapshot *snap, bool *movable);

/* Makes room for a gang on the fewest nodes of the kind. True: the floor has the jobs moved and the
 * gang on its places, moves and places say which; those jobs move no more in this decision. One
 * that failed is not tried again while as many GPUs are free. */
bool sched_defrag_make_room(struct sched_defrag *d, uint32_t kind, uint32_t gpus,
                            struct sched_floor_rules rules);
/* Undoes the last make_room that succeeded; the jobs it had moved stay where they are for the rest
 * of the decision. */
void sched_defrag_undo(struct sched_defrag *d, uint32_t kind);

#endif
