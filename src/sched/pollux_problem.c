/* pollux_problem.c - the value of an answer (see pollux_problem.h). */
#include "sched/pollux_problem.h"

#include <string.h>

bool sched_pollux_stays(const struct sched_pollux_job *j, const struct sched_place *places,
                        size_t count)
{
    return count == j->now.place_count &&
           (count == 0 || memcmp(places, j->now.places, count * sizeof *places) == 0);
}

double sched_pollux_total(const struct sched_pollux_problem *p,
                          const struct sched_pollux_places *places)
{
    double total = 0;

    for (uint32_t i = 0; i < p->job_count; i++) {
        const struct sched_pollux_job *j = &p->jobs[i];
        const struct sched_place *at = places->place + places->first[i];
        size_t count = places->first[i + 1] - places->first[i];
        uint32_t gpus = 0;
        for (size_t n = 0; n < count; n++)
            gpus += at[n].gpus;
        double s = count == 0 ? 0
                              : sched_pollux_speedup(j, p->cluster->nodes[at->node].kind,
                                                     (uint32_t)count, gpus);
        total += sched_pollux_cost(p, j, s, sched_pollux_stays(j, at, count));
    }
    return total;
}

bool sched_pollux_places_init(struct sched_pollux_places *places, struct base_arena *arena,
                              const struct sched_pollux_problem *p)
{
    size_t gpus = 0;

    for (uint32_t n = 0; n < p->cluster->node_count; n++)
        gpus += p->room[n];
    places->first = base_arena_calloc(arena, (size_t)p->job_count + 1, sizeof *places->first);
    places->place = base_arena_alloc(arena, (gpus + 1) * sizeof *places->place);
    return places->first != NULL && places->place != NULL;
}
