/* Any bytes as a problem: refused with words, or a problem that is right in itself; a small one is
 * solved for every objective, and no answer gives away more time or GPUs than there are. */
#include "base/assert.h"
#include "solve/problem.h"
#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SOLVED_MAX = 64, SHARED_MAX = 200 };

/* Values span twelve orders of magnitude, so sums are judged by the largest of their parts. */
static const double SLACK = 1e-6;

static void check_problem(const struct solve_problem *p)
{
    shoal_assert(p->kind_count >= 1 && p->kind_count <= SHOAL_SOLVE_KINDS_MAX);
    shoal_assert(p->kinds.count == p->kind_count && p->names.count == p->job_count);
    for (uint32_t k = 0; k < p->kind_count; k++)
        shoal_assert(p->capacity[k] >= 0 && isfinite(p->capacity[k]));
    for (size_t i = 0; i < p->job_count; i++) {
        shoal_assert(p->gpus[i] > 0 && p->weight[i] > 0 && p->count[i] >= 1);
        for (uint32_t k = 0; k < p->kind_count; k++) {
            double rate = p->rates[i * p->kind_count + k];
            shoal_assert(rate >= 0 && isfinite(rate));
            shoal_assert(rate == 0 || p->gpus[i] <= p->capacity[k]);
        }
        shoal_assert(p->entity == NULL || p->entity[i] < p->entity_count);
    }
    for (uint32_t e = 0; e < p->entity_count; e++)
        shoal_assert(p->entities[e].weight > 0 &&
                     (p->entities[e].parent == SHOAL_SOLVE_TOP || p->entities[e].parent < e));
    for (size_t i = 0; i < p->pair_count; i++)
        shoal_assert(p->pairs[i].job < p->job_count && p->pairs[i].with < p->job_count &&
                     p->pairs[i].kind < p->kind_count);
}

static void check_answer(const struct solve_problem *p, const shoal_solve_result *r)
{
    double used[SHOAL_SOLVE_KINDS_MAX] = {0}, time[SOLVED_MAX] = {0}, all = 0;

    for (size_t i = 0; i < p->job_count; i++) {
        all += p->gpus[i] * p->count[i];
        for (uint32_t k = 0; k < p->kind_count; k++) {
            double share = r->shares[i * p->kind_count + k];
            shoal_assert(share >= -SLACK && share <= 1 + SLACK);
            shoal_assert(share == 0 || p->rates[i * p->kind_count + k] > 0);
            time[i] += share;
            used[k] += share * p->gpus[i] * p->count[i];
        }
        shoal_assert(r->speeds[i] >= -SLACK && isfinite(r->speeds[i]));
    }
    for (size_t i = 0; i < r->pair_count; i++) {
        const shoal_solve_pair_share *pair = &r->pairs[i];
        shoal_assert(pair->share >= 0 && pair->job < p->job_count && pair->with < p->job_count);
        time[pair->job] += pair->share / p->count[pair->job];
        time[pair->with] += pair->share / p->count[pair->with];
        used[pair->kind] += pair->share * p->gpus[pair->job];
    }
    for (size_t i = 0; i < p->job_count; i++)
        shoal_assert(time[i] <= 1 + SLACK);
    for (uint32_t k = 0; k < p->kind_count; k++) {
        shoal_assert(used[k] <= p->capacity[k] * (1 + SLACK) + 1e-9 * all);
        shoal_assert(r->used[k] >= -SLACK && isfinite(r->prices[k]));
    }
    shoal_assert(isfinite(r->level) && r->gap >= 0);
}

static void solve_all(shoal_env *env, const struct solve_problem *p)
{
    shoal_solver *solver = NULL;
    double jobs = 0;

    shoal_assert(shoal_solver_new(env, NULL, &solver, NULL) == SHOAL_OK);
    for (size_t i = 0; i < p->job_count; i++)
        jobs += p->count[i];
    for (uint32_t turn = 0; turn < 4 * SCHED_OBJECTIVE_COUNT; turn++) {
        enum sched_objective objective = (enum sched_objective)(turn / 4);
        bool sharing = turn % 2 != 0;
        shoal_solve_result r = SHOAL_SOLVE_RESULT_INIT;
        shoal_solve_problem view;
        shoal_err err = SHOAL_ERR_INIT;
        if ((sharing && jobs > SHARED_MAX) ||
            solve_problem_check(p, objective, sharing, NULL) != SHOAL_OK)
            continue;
        solve_problem_view(p, turn % 4 >= 2, sharing, &view);
        shoal_status st =
            shoal_solver_solve(solver, sched_objectives[objective].name, &view, &r, &err);
        shoal_assert(st == SHOAL_OK || st == SHOAL_E_LIMIT);
        if (st == SHOAL_OK)
            check_answer(p, &r);
    }
    shoal_solver_free(solver);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct solve_problem *p = NULL;
    shoal_env *env = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    shoal_assert(env_sim_put(env, "p.json", data, size) == SHOAL_OK);
    shoal_status st = solve_problem_load(env, "p.json", NULL, &p, &err);
    if (st == SHOAL_OK) {
        check_problem(p);
        if (p->job_count <= SOLVED_MAX)
            solve_all(env, p);
    } else {
        shoal_assert(p == NULL && err.code == st && err.message[0] != '\0');
    }
    solve_problem_free(p);
    shoal_env_free(env);
    return 0;
}
