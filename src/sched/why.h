/* why.h - why a job waits, in the fixed shape that terminal, report and page share.
 *
 * Policies record the small struct every round; text is made only when somebody asks. Any thread.
 */
#ifndef SCHED_WHY_H
#define SCHED_WHY_H

#include "base/buf.h"
#include <stdint.h>

/* id, name: the closed list */
#define SCHED_REASON_MAP(X)                       \
    X(SCHED_WHY_NONE, "none")                     \
    X(SCHED_WHY_NEXT_ROUND, "next_round")         \
    X(SCHED_WHY_GANG, "gang")                     \
    X(SCHED_WHY_LOCALITY, "locality")             \
    X(SCHED_WHY_FAIR_SHARE, "fair_share")         \
    X(SCHED_WHY_CAPACITY, "capacity")             \
    X(SCHED_WHY_QUEUE, "queue")                   \
    X(SCHED_WHY_DEADLINE_SLACK, "deadline_slack") \
    X(SCHED_WHY_PRICE, "price")                   \
    X(SCHED_WHY_LIMIT, "limit")                   \
    X(SCHED_WHY_HELD, "held")                     \
    X(SCHED_WHY_DEPENDENCY, "dependency")         \
    X(SCHED_WHY_IMPOSSIBLE, "impossible")

enum sched_reason {
#define SCHED_REASON_ROW(id, name) id,
    SCHED_REASON_MAP(SCHED_REASON_ROW)
#undef SCHED_REASON_ROW
        SCHED_WHY_COUNT
};

enum { SCHED_BLOCKERS_MAX = 3 };

struct sched_blocker {
    uint32_t job; /* job id */
    uint32_t gpus;
};

struct sched_why {
    uint8_t reason; /* enum sched_reason, the binding one */
    uint8_t blocker_count;
    uint16_t kind;    /* index, when it may use one kind only; UINT16_MAX: several */
    uint32_t want;    /* GPUs asked for */
    uint32_t free;    /* GPUs free of that kind when it was turned down */
    uint32_t cleaned; /* 1: what it bid contradicted itself and was put right by rule (auction.h) */
    uint32_t behind;  /* id of the job nobody may overtake, UINT32_MAX: none */
    struct sched_blocker blockers[SCHED_BLOCKERS_MAX];
};

const char *sched_reason_name(enum sched_reason reason);

/* The sentence: "asks for 8 a100 at once, 3 free; svd-2 holds 8". `kind` names why->kind (NULL:
 * any), `name_of` gives the name of a job id. */
void sched_why_text(const struct sched_why *why, const char *kind,
                    const char *(*name_of)(void *ctx, uint32_t job), void *ctx,
                    struct base_buf *out);

#endif
