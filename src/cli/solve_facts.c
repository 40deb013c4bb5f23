/* solve_facts.c - what is to be known of a solved problem, whoever it is shown to.
 *
 * Tests: tests/cli/transcripts/solve*.txt, tests/cli/test_solve.py. */
#include "cli/solve_show.h"

#include <math.h>
#include <string.h>

/* GPUs in use this close to all are all. */
static const double FULL_SLACK = 1e-6;
/* Floors are lowered by less than this to stay clear of rounding. */
static const double DEADLINE_SLACK = 1e-6;

static bool smaller_is_better(enum sched_objective objective)
{
    return objective == SCHED_OBJECTIVE_FTF || objective == SCHED_OBJECTIVE_MAKESPAN;
}

bool cli_solve_prices_level(const struct cli_solved *s)
{
    return strcmp(s->result->priced_unit, s->result->unit) == 0;
}

bool cli_solve_counts_money(enum sched_objective objective)
{
    return objective == SCHED_OBJECTIVE_COST || objective == SCHED_OBJECTIVE_COST_SLO;
}

bool cli_solve_used_up(const struct cli_solved *s, uint32_t kind)
{
    double gpus = s->problem->capacity[kind];

    return gpus > 0 && s->result->used[kind] >= gpus * (1 - FULL_SLACK);
}

double cli_solve_worth(const struct cli_solved *s, uint32_t kind)
{
    const shoal_solve_result *r = s->result;

    if (s->objective == SCHED_OBJECTIVE_FIFO || s->problem->capacity[kind] == 0 ||
        !(r->priced > 0 && isfinite(r->priced)))
        return NAN;
    double part = fabs(r->prices[kind]) / r->priced;
    return smaller_is_better(s->objective) && cli_solve_prices_level(s) ? -part : part;
}

double *cli_solve_fastest(const struct base_alloc *alloc, const struct solve_problem *p,
                          bool sharing)
{
    size_t kinds = p->kind_count;
    double *best = base_calloc(alloc, p->job_count + 1, sizeof *best);

    for (size_t i = 0; best != NULL && i < p->job_count * kinds; i++)
        best[i / kinds] = fmax(best[i / kinds], p->rates[i]);
    for (size_t i = 0; best != NULL && sharing && i < p->pair_count; i++) {
        const shoal_solve_pair *pair = &p->pairs[i];
        if (pair->rate > 0 && pair->with_rate > 0 && p->rates[pair->job * kinds + pair->kind] > 0 &&
            p->rates[pair->with * kinds + pair->kind] > 0) {
            best[pair->job] = fmax(best[pair->job], pair->rate);
            best[pair->with] = fmax(best[pair->with], pair->with_rate);
        }
    }
    return best;
}

bool cli_solve_keeps(const struct cli_solved *s, size_t job)
{
    const struct solve_problem *p = s->problem;

    return (s->result->flags[job] & SHOAL_SOLVE_GIVEN_UP) == 0 &&
           s->result->speeds[job] * p->deadline_s[job] >= p->left[job] * (1 - DEADLINE_SLACK);
}

double cli_solve_usd_h(const struct cli_solved *s)
{
    double usd = 0;

    for (uint32_t k = 0; k < s->problem->kind_count; k++)
        if (s->problem->capacity[k] > 0)
            usd += s->result->used[k] * s->problem->usd_h[k];
    return usd;
}
