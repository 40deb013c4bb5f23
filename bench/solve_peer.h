/* solve_peer.h - CLP as the peer and the judge of bench/solve.c; where it is not installed,
 * peer_found is false and nothing here may be called. */
#ifndef BENCH_SOLVE_PEER_H
#define BENCH_SOLVE_PEER_H

#include "bench/solve_problem.h"
#include "num/pairs.h"

/* Ends the program when something is not as it must be. */
static inline void check(bool truth, const char *what, double a, double b)
{
    if (truth)
        return;
    fprintf(stderr, "solve: wrong: %s (%.17g, %.17g)\n", what, a, b);
    exit(1);
}

#ifdef SHOAL_HAVE_CLP

#include "unit/num/clp_oracle.h"

static const bool peer_found = true;

/* One solve of the max-min program; returns CPU seconds. CLP's tolerances are tightened to 1e-9:
 * with its usual 1e-7, which saves no time here, objectives differ by more than 1e-8. */
static inline double peer_time(const struct problem *q, const double *need, double level,
                               int method)
{
    struct clp_lp lp;

    clp_raise_init(&lp, &q->p, NULL, need, level);
    lp.method = (enum clp_method)method;
    check(clp_lp_solve(&lp) == CLP_OPTIMAL, "CLP did not solve the level program", level, 0);
    double t = lp.y[lp.columns - 1];
    check(fabs(t - 1) <= 1e-8, "another level than CLP's", level, t * level);
    double cpu_s = lp.cpu_s;
    clp_lp_fini(&lp);
    return cpu_s;
}

/* Needs fit, and not when all are `more` larger. */
static inline void peer_check_needs(const struct problem *q, const double *need, double more,
                                    const char *what)
{
    double slack;

    check(clp_share_level(&q->p, need, CLP_METHOD_PRIMAL, &slack), "CLP failed", 0, 0);
    check(slack >= 1 - 1e-7, what, slack, 1);
    check(slack < 1 + more, "there was more to be had, by CLP", slack, 1 + more);
}

/* Needs do not fit. */
static inline void peer_check_over(const struct problem *q, const double *need, const char *what)
{
    double slack;

    check(clp_share_level(&q->p, need, CLP_METHOD_PRIMAL, &slack), "CLP failed", 0, 0);
    check(slack < 1, what, slack, 1);
}

static inline void peer_check_sum(const struct problem *q, const double *floors, double sum)
{
    struct clp_lp lp;

    clp_sum_init(&lp, &q->p, q->value, floors);
    lp.method = CLP_METHOD_PRIMAL;
    check(clp_lp_solve(&lp) == CLP_OPTIMAL, "CLP did not solve the sum program", sum, 0);
    check(fabs(lp.objective - sum) <= 1e-8 * fabs(sum), "another sum than CLP's", sum,
          lp.objective);
    clp_lp_fini(&lp);
}

/* No more deadlines are given up than the relaxation and one per kind. */
static inline void peer_check_kept(const struct problem *q, const bool *kept)
{
    double least, ours = 0, most = 0;

    check(clp_share_keep(&q->p, q->floor, q->stake, CLP_METHOD_PRIMAL, &least), "CLP failed", 0, 0);
    for (size_t m = 0; m < q->p.job_count; m++) {
        ours += kept[m] ? 0 : q->stake[m];
        most = fmax(most, kept[m] ? 0 : q->stake[m]);
    }
    check(ours <= least + most * q->p.kind_count + 1e-6, "deadlines given up without need, by CLP",
          ours, least);
}

/* All columns of the pair program, formed; t last. Returns CPU seconds. */
static inline double peer_pairs(const struct num_pairs_problem *p, double level)
{
    uint32_t groups = p->group_count, kinds = p->kind_count;
    size_t columns = (size_t)kinds * groups * (groups + 3) / 2 + 1;
    struct clp_lp lp;

    clp_lp_init(&lp, kinds + 2 * groups, columns, 6 * columns + groups);
    for (uint32_t k = 0; k < kinds; k++)
        lp.row_upper[k] = p->capacity[k];
    for (uint32_t g = 0; g < groups; g++) {
        lp.row_upper[kinds + g] = p->count[g];
        lp.row_lower[kinds + groups + g] = 0;
    }
    for (uint32_t k = 0; k < kinds; k++) {
        for (uint32_t g = 0; g < groups; g++) {
            double scale = p->count[g] * p->need[g] * level;
            if (p->rate[(size_t)g * kinds + k] <= 0)
                continue;
            clp_lp_column(&lp, 0, 0, DBL_MAX);
            clp_lp_entry(&lp, k, p->gpus[g]);
            clp_lp_entry(&lp, kinds + g, 1);
            clp_lp_entry(&lp, kinds + groups + g, p->rate[(size_t)g * kinds + k] / scale);
            for (uint32_t h = g; h < groups; h++) {
                double first = p->pair[((size_t)k * groups + g) * groups + h];
                double second = p->pair[((size_t)k * groups + h) * groups + g];
                double scale_h = p->count[h] * p->need[h] * level;
                if (first <= 0 || second <= 0 || p->gpus[g] != p->gpus[h] ||
                    p->rate[(size_t)h * kinds + k] <= 0 || (g == h && p->count[g] < 2))
                    continue;
                clp_lp_column(&lp, 0, 0, DBL_MAX);
                clp_lp_entry(&lp, k, p->gpus[g]);
                clp_lp_entry(&lp, kinds + g, g == h ? 2 : 1);
                clp_lp_entry(&lp, kinds + groups + g, (g == h ? 2 : 1) * first / scale);
                if (g == h)
                    continue;
                clp_lp_entry(&lp, kinds + h, 1);
                clp_lp_entry(&lp, kinds + groups + h, second / scale_h);
            }
        }
    }
    clp_lp_column(&lp, 1, 0, DBL_MAX);
    for (uint32_t g = 0; g < groups; g++)
        clp_lp_entry(&lp, kinds + groups + g, -1);
    lp.method = CLP_METHOD_PRIMAL;
    check(clp_lp_solve(&lp) == CLP_OPTIMAL, "CLP did not solve the pair program", level, 0);
    check(fabs(lp.objective - 1) <= 1e-8, "another level than CLP's, with pairs", level,
          lp.objective * level);
    double cpu_s = lp.cpu_s;
    clp_lp_fini(&lp);
    return cpu_s;
}

#else

static const bool peer_found = false;

static inline double peer_time(const struct problem *q, const double *need, double level,
                               int method)
{
    (void)q, (void)need, (void)level, (void)method;
    return 0;
}

static inline void peer_check_needs(const struct problem *q, const double *need, double more,
                                    const char *what)
{
    (void)q, (void)need, (void)more, (void)what;
}

static inline void peer_check_over(const struct problem *q, const double *need, const char *what)
{
    (void)q, (void)need, (void)what;
}

static inline void peer_check_sum(const struct problem *q, const double *floors, double sum)
{
    (void)q, (void)floors, (void)sum;
}

static inline void peer_check_kept(const struct problem *q, const bool *kept)
{
    (void)q, (void)kept;
}

static inline double peer_pairs(const struct num_pairs_problem *p, double level)
{
    (void)p, (void)level;
    return 0;
}

#endif

#endif
