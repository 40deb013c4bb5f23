/* share_parts.h - what is kept between two decisions of a sharing policy; private to share.c (who
 * is owed what), share_solve.c (who should get what) and share_round.c (who gets what now). */
#ifndef SCHED_SHARE_PARTS_H
#define SCHED_SHARE_PARTS_H

#include "base/room.h"
#include "sched/colocate.h"
#include "sched/share.h"

/* Jobs of equal rates, gang size and row of their model, for pairs. */
struct sched_share_class {
    const void *data;
    uint32_t row, batch, gpus;
    double rate[SCHED_KINDS_MAX];
};

struct sched_share_job {
    uint32_t id;
    uint32_t gpus;
    uint32_t class;
    uint32_t partner; /* id of the job it was granted to share with, or SCHED_JOB_NONE */
    int32_t kind;     /* it was granted, -1: none */
    bool due;         /* it has a deadline, and the shares keep it */
    double run_s;     /* at the last decision */
    double progress;  /* at the last decision */
    double alone_s;   /* what that progress would have taken on a 1/n share of every kind */
    double alone_rate;
    double due_s;  /* when it was promised its next turn, INFINITY: not yet */
    double next_s; /* when it would be by the shares and debts of now */
    double slip_s; /* next_s - due_s, at least 0 */
};

/* Two jobs that should be together on a kind; a before b. */
struct sched_share_pair {
    uint32_t a_id, b_id, kind;
    uint32_t a, b; /* indices into snap->jobs, when shares were last solved for */
    double share;
    double owed_s;
};

struct sched_share {
    const struct base_alloc *alloc;
    struct base_room room; /* of the arrays */
    uint32_t kind_count;
    struct sched_share_job *jobs; /* by increasing id, as snap->jobs after meet */
    size_t count;
    /* (jobs, kinds): steps/s alone, share of time wanted alone, time owed */
    double *rate, *share, *owed_s;
    struct sched_share_pair *pairs; /* by a_id, b_id, kind */
    size_t pair_count;
    struct sched_share_class *classes;
    size_t class_count;
    double live[SCHED_KINDS_MAX]; /* GPUs of nodes that are up */
    double price[SCHED_KINDS_MAX];
    const char *price_unit;
    bool price_next; /* not of the objective, but of what comes next */
    bool unproven;   /* the shares may not be the best there are: the solver's certificate failed */
    double gap;      /* by how much, relative */
    uint64_t node_changes;
    double now_s; /* of the last decision */
    bool begun;   /* there was one */
    bool stale;   /* shares are to be solved for again */
    uint32_t age; /* decisions since they were */
    struct sched_objective_solver *solver;
    struct sched_colocate *colocate;
};

/* The pair in s->pairs, in any order of its ids, or NULL. */
struct sched_share_pair *sched_share_find_pair(const struct sched_share *s, uint32_t a, uint32_t b,
                                               uint32_t kind);

/* Solves for shares, prices and pairs anew. */
SHOAL_MUST_USE shoal_status sched_share_solve(struct sched_share *s, const void *memory,
                                              const struct sched_share_goal *goal,
                                              const struct sched_snapshot *snap,
                                              struct base_arena *arena);

/* When a turn of one round on a kind is due: once a whole round is owed. */
double sched_share_due_s(const struct sched_snapshot *snap, double share, double owed_s);

/* From what is owed to a plan. A job that runs counts as owed hold_s more where it is. */
SHOAL_MUST_USE shoal_status sched_share_round(const struct sched_share *s, double hold_s,
                                              const struct sched_snapshot *snap,
                                              struct sched_plan *plan);

#endif
