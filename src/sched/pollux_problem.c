/* pollux_problem.c - answers to the problem (see pollux_problem.h). */
#include "sched/pollux_problem.h"

#include <string.h>

bool sched_pollux_stays(const struct sched_pollux_job *j, const struct sched_place *places,
                        size_t count)
{
    return count == j->now.place_count &&
           (count == 0 || memcmp(places, j->now.places, count * sizeof *places) == 0);
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
