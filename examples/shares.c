/* shares.c - how much time each of three jobs should get on two kinds of GPU, under two objectives.
 *
 * Shows the solver: a problem is plain arrays, the answer is shares of time, what one more GPU of
 * each kind would be worth, and whether the answer is proven. The solver is kept between calls. */
#include <shoal/env.h>
#include <shoal/solve.h>
#include <stdio.h>

enum { KINDS = 2, JOBS = 3 };

static const char *const kinds[KINDS] = {"v100", "k80"};
static const char *const jobs[JOBS] = {"translate", "recommend", "play"};
static const double gpus[KINDS] = {1, 1};
/* Steps per second: (jobs, kinds). */
static const double rates[JOBS * KINDS] = {10, 1.5, 4, 3, 6, 5};
static const double left[JOBS] = {50000, 20000, 30000};

static void print(const char *objective, const shoal_solve_result *r)
{
    printf("%s: %.4g %s%s\n", objective, r->level, r->unit, r->exact ? "" : " (not proven)");
    for (size_t i = 0; i < JOBS; i++) {
        printf("  %-10s", jobs[i]);
        for (size_t k = 0; k < KINDS; k++)
            printf("  %3.0f %% on %s", 100 * r->shares[i * KINDS + k], kinds[k]);
        printf("  %.2f steps/s\n", r->speeds[i]);
    }
}

int main(void)
{
    static const char *const objectives[] = {"max-min", "makespan"};
    shoal_env *env = NULL;
    shoal_solver *solver = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_solve_problem p = SHOAL_SOLVE_PROBLEM_INIT;
    shoal_solve_result r = SHOAL_SOLVE_RESULT_INIT;
    int rc = 0;

    p.kind_count = KINDS;
    p.capacity = gpus;
    p.job_count = JOBS;
    p.rates = rates;
    p.left = left;
    if (shoal_env_real_new(&env, &err) != SHOAL_OK ||
        shoal_solver_new(env, NULL, &solver, &err) != SHOAL_OK)
        rc = 1;
    for (size_t i = 0; i < sizeof objectives / sizeof objectives[0] && rc == 0; i++) {
        if (shoal_solver_solve(solver, objectives[i], &p, &r, &err) == SHOAL_OK)
            print(objectives[i], &r);
        else
            rc = 1;
    }
    if (rc != 0)
        fprintf(stderr, "shares: %s\n", err.message);
    shoal_solver_free(solver); /* before the env it was made from */
    shoal_env_free(env);
    return rc;
}
