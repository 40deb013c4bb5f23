/* learn_tally.c - names and sums of reports that were refused (see learn.h). */
#include "sched/learn.h"

uint64_t sched_tally_refused(const struct sched_tally *tally)
{
    uint64_t sum = 0;

    for (int i = 0; i < SCHED_REFUSED_COUNT; i++)
        sum += tally->refused[i];
    return sum;
}

const char *sched_refusal_text(enum sched_refusal refusal)
{
    switch (refusal) {
#define ROW(id, text) \
    case id: return text;
        SCHED_REFUSAL_MAP(ROW)
#undef ROW
    case SCHED_REFUSED_COUNT: break;
    }
    return "nothing";
}
