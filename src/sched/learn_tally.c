/* learn_tally.c - names and sums of reports that were refused (see learn.h). */
#include "sched/learn.h"

uint64_t sched_tally_refused(const struct sched_tally *tally)
{
    uint64_t sum = 0;

    for (int i = 0; i < SCHED_REFUSED_COUNT; i++)
        sum += tally->refused[i];
    return sum;
}

enum sched_refusal sched_tally_most(const struct sched_tally *tally)
{
    int most = 0;

    for (int i = 1; i < SCHED_REFUSED_COUNT; i++)
        if (tally->refused[i] > tally->refused[most])
            most = i;
    return tally->refused[most] > 0 ? (enum sched_refusal)most : SCHED_REFUSED_NOT;
}

const char *sched_refusal_name(enum sched_refusal refusal)
{
    switch (refusal) {
#define ROW(id, name, text) \
    case id: return name;
        SCHED_REFUSAL_MAP(ROW)
#undef ROW
    case SCHED_REFUSED_COUNT: break;
    }
    return "none";
}

const char *sched_refusal_text(enum sched_refusal refusal)
{
    switch (refusal) {
#define ROW(id, name, text) \
    case id: return text;
        SCHED_REFUSAL_MAP(ROW)
#undef ROW
    case SCHED_REFUSED_COUNT: break;
    }
    return "nothing";
}
