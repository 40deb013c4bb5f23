/* call.h - one call of the public solver, as api.c (from the caller's arrays to sched/objective.h)
 * and answer.c (back again) see it. Private to them. */
#ifndef SOLVE_CALL_H
#define SOLVE_CALL_H

#include "base/arena.h"
#include "env/env.h"
#include "sched/objective.h"
#include "shoal/solve.h"

struct shoal_solver {
    shoal_env *env;
    uint32_t threads;
    struct num_team team;
    struct sched_objective_solver *inner;
    struct base_arena arena; /* of one call */
};

/* One call. */
struct solve_call {
    shoal_solver *s;
    shoal_solve_problem p; /* as given; fields the caller's header did not have are 0 */
    struct sched_objective_input in;
    size_t job_count;    /* rows, or single jobs when they are spread out */
    const uint32_t *row; /* of each job; NULL: job i is row i */
};

/* Zeroed, in the arena of the call; NULL when memory is short. */
static inline void *solve_call_array(struct solve_call *c, size_t count, size_t size)
{
    return base_arena_calloc(&c->s->arena, count == 0 ? 1 : count, size);
}

static inline size_t solve_call_row(const struct solve_call *c, size_t job)
{
    return c->row == NULL ? job : c->row[job];
}

/* How many jobs a row stands for. */
static inline double solve_call_count(const struct solve_call *c, size_t row)
{
    return c->p.count == NULL ? 1 : c->p.count[row];
}

/* The answer for jobs as one for rows. Writes only what the caller's struct has room for;
 * SHOAL_E_NOMEM leaves it as it was. */
SHOAL_MUST_USE shoal_status solve_answer_fill(struct solve_call *c, enum sched_objective objective,
                                              const struct sched_objective_result *from,
                                              shoal_solve_result *out);

#endif
