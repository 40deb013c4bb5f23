/* share.h - what the policies that solve for shares of time have in common.
 *
 * Such a policy says what it wants (objective.h); the solver answers with the share of time each
 * job should spend on each kind; rounds then hand out GPUs so that what jobs receive follows what
 * was wanted. A policy file is its knobs, its goal and its row: see policy/max_min.c. The memory
 * struct of a policy begins with struct sched_share_memory, its knobs with SCHED_SHARE_ROWS, and
 * its fini is sched_share_fini. */
#ifndef SCHED_SHARE_H
#define SCHED_SHARE_H

#include "sched/objective.h"
#include "sched/plan.h"

struct sched_share; /* what is kept between decisions */

enum sched_sharing { SCHED_SHARING_NONE, SCHED_SHARING_PAIRS };

struct sched_share_memory {
    bool aware;
    uint32_t sharing; /* enum sched_sharing */
    double measured;  /* part of the pairs, 0 .. 1; the speeds of the others are estimated */
    struct sched_share *kept; /* NULL until the first decision */
};

struct sched_share_goal {
    enum sched_objective objective;
    enum sched_reason waiting; /* why a job waits whose turn it is not */
    /* The same for jobs whose deadline is still to be kept; SCHED_WHY_NONE: as the others. */
    enum sched_reason due_waiting;
    double hold_rounds; /* a turn may last so much longer than its share; at least some restarts */
    /* Adds what only this policy knows; NULL: nothing. Memory from `arena` lives long enough. */
    shoal_status (*fill)(const void *memory, const struct sched_snapshot *snap,
                         struct base_arena *arena, struct sched_objective_input *in);
};

extern const char *const sched_sharing_names[];

/* The knobs of every sharing policy. */
#define SCHED_SHARE_ROW(member, ...)                             \
    {                                                            \
        offsetof(struct sched_share_memory, member), __VA_ARGS__ \
    }
#define SCHED_SHARE_ROWS                                                                        \
    SCHED_SHARE_ROW(aware, SHOAL_OPT_FLAG, "aware", 0, NULL, "true",                            \
                    .help =                                                                     \
                        "use how fast each job is on each kind; false: treat all kinds alike"), \
        SCHED_SHARE_ROW(                                                                        \
            sharing, SHOAL_OPT_CHOICE, "sharing", 0, "HOW", "none",                             \
            "none: a GPU belongs to one job; pairs: two jobs may share it where that pays",     \
            .choices = sched_sharing_names),                                                    \
        SCHED_SHARE_ROW(measured, SHOAL_OPT_F64, "measured", 0, "PART", "1",                    \
                        "part of the pairs whose speed is measured, the others are estimated",  \
                        .max = 1)
/* The same, for policies without knobs of their own. */
enum { SCHED_SHARE_ROW_COUNT = 3 };
extern const shoal_opt sched_share_rows[SCHED_SHARE_ROW_COUNT];

/* What the rows of policies with these knobs alone have in common. */
#define SCHED_SHARE_POLICY                                                                       \
    .opts = sched_share_rows, .opt_count = SCHED_SHARE_ROW_COUNT,                                \
    .memory_size = sizeof(struct sched_share_memory), .preempts = true, .work_conserving = true, \
    .fini = sched_share_fini

SHOAL_MUST_USE shoal_status sched_share_decide(void *memory, const struct sched_share_goal *goal,
                                               const struct sched_snapshot *snap,
                                               struct sched_plan *plan);
void sched_share_fini(void *memory, const struct base_alloc *alloc);
/* For the `check` of policies that look at money: SHOAL_E_INVAL when a kind has no price above 0. */
SHOAL_MUST_USE shoal_status sched_share_check_prices(const char *policy,
                                                     const struct sched_setting *setting,
                                                     shoal_err *err);

#endif
