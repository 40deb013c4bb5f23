/* clp_oracle.h - the share problems as plain linear programs, solved by CLP.
 *
 * For tests and benches only: the product never links CLP. The programs are formed as share.h
 * states them, one variable per job and kind, one time row and one speed row per job, one row per
 * kind; no prices, no hulls, no merging. Speed rows are scaled by what is asked of them, so that
 * CLP's absolute tolerances mean the same for a job that needs little as for one that needs much.
 *
 *   clp_share_raise   largest t with u_m >= base_m + t rise_m (level; whether needs fit: t >= 1)
 *   clp_share_sum     largest sum of value.x with u_m >= floor_m
 *   clp_share_keep    least weight of floors given up, where a job may be kept in part
 *   clp_share_fill    water filling as Gavel does it, one job's bottleneck test after another
 *
 * Functions that return bool say whether CLP solved to optimality; memory that runs out ends the
 * program. */
#ifndef TESTS_CLP_ORACLE_H
#define TESTS_CLP_ORACLE_H

#include "num/share.h"
#include "unit/num/tree_rises.h"
#include <Clp_C_Interface.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum clp_method { CLP_METHOD_DUAL, CLP_METHOD_PRIMAL };
enum clp_status { CLP_OPTIMAL = 0, CLP_INFEASIBLE = 1, CLP_UNBOUNDED = 2 };

/* maximise cost.y with row_lower <= A y <= row_upper, lower <= y <= upper; columns are added in
 * order. */
struct clp_lp {
    int rows, columns, entries, column_max, entry_max;
    CoinBigIndex *start; /* (column_max + 1) */
    int *index;          /* (entry_max) */
    double *value, *lower, *upper, *cost, *row_lower, *row_upper;
    enum clp_method method;
    double tolerance; /* primal and dual; 1e-9 unless set */
    double cpu_s;     /* of solving, without loading */
    double objective;
    double *y;    /* (columns) after solving */
    double *dual; /* (rows) what one unit more of a row's bound adds */
};

static inline void *clp_take(size_t count, size_t size)
{
    void *p = calloc(count > 0 ? count : 1, size);

    if (p == NULL) {
        fprintf(stderr, "clp: out of memory\n");
        exit(1);
    }
    return p;
}

static inline void clp_lp_init(struct clp_lp *lp, size_t rows, size_t column_max, size_t entry_max)
{
    memset(lp, 0, sizeof *lp);
    lp->rows = (int)rows;
    lp->column_max = (int)column_max;
    lp->entry_max = (int)entry_max;
    lp->start = clp_take(column_max + 1, sizeof *lp->start);
    lp->index = clp_take(entry_max, sizeof *lp->index);
    lp->value = clp_take(entry_max, sizeof *lp->value);
    lp->lower = clp_take(column_max, sizeof *lp->lower);
    lp->upper = clp_take(column_max, sizeof *lp->upper);
    lp->cost = clp_take(column_max, sizeof *lp->cost);
    lp->y = clp_take(column_max, sizeof *lp->y);
    lp->row_lower = clp_take(rows, sizeof *lp->row_lower);
    lp->row_upper = clp_take(rows, sizeof *lp->row_upper);
    lp->dual = clp_take(rows, sizeof *lp->dual);
    lp->method = CLP_METHOD_DUAL;
    lp->tolerance = 1e-9;
    for (size_t i = 0; i < rows; i++) {
        lp->row_lower[i] = -DBL_MAX;
        lp->row_upper[i] = DBL_MAX;
    }
}

static inline void clp_lp_fini(struct clp_lp *lp)
{
    free(lp->start);
    free(lp->index);
    free(lp->value);
    free(lp->lower);
    free(lp->upper);
    free(lp->cost);
    free(lp->y);
    free(lp->row_lower);
    free(lp->row_upper);
    free(lp->dual);
}

/* Starts a column; its entries follow. */
static inline void clp_lp_column(struct clp_lp *lp, double cost, double lower, double upper)
{
    lp->cost[lp->columns] = cost;
    lp->lower[lp->columns] = lower;
    lp->upper[lp->columns] = upper;
    lp->start[++lp->columns] = lp->entries;
}

static inline void clp_lp_entry(struct clp_lp *lp, size_t row, double value)
{
    if (value == 0)
        return;
    lp->index[lp->entries] = (int)row;
    lp->value[lp->entries++] = value;
    lp->start[lp->columns] = lp->entries;
}

static inline double clp_cpu_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Returns CLP's status; objective, y and dual are set when it is CLP_OPTIMAL. */
static inline int clp_lp_solve(struct clp_lp *lp)
{
    Clp_Simplex *model = Clp_newModel();

    Clp_setLogLevel(model, 0);
    Clp_loadProblem(model, lp->columns, lp->rows, lp->start, lp->index, lp->value, lp->lower,
                    lp->upper, lp->cost, lp->row_lower, lp->row_upper);
    Clp_setOptimizationDirection(model, -1);
    Clp_setPrimalTolerance(model, lp->tolerance);
    Clp_setDualTolerance(model, lp->tolerance);
    double began = clp_cpu_s();
    if (lp->method == CLP_METHOD_DUAL)
        Clp_initialDualSolve(model);
    else
        Clp_initialPrimalSolve(model);
    if (Clp_status(model) != CLP_OPTIMAL)
        Clp_primal(model, 0);
    lp->cpu_s = clp_cpu_s() - began;
    int status = Clp_status(model);
    if (status == CLP_OPTIMAL) {
        lp->objective = Clp_objectiveValue(model);
        memcpy(lp->y, Clp_primalColumnSolution(model), (size_t)lp->columns * sizeof *lp->y);
        memcpy(lp->dual, Clp_dualRowSolution(model), (size_t)lp->rows * sizeof *lp->dual);
    }
    Clp_deleteModel(model);
    return status;
}

static inline double clp_count(const struct num_share_problem *p, size_t m)
{
    return p->count != NULL ? p->count[m] : 1;
}

static inline double clp_top(const struct num_share_problem *p, size_t m)
{
    double top = 0;

    for (uint32_t j = 0; j < p->kind_count; j++)
        top = fmax(top, p->rate[m * p->kind_count + j]);
    return top;
}

/* Where there are GPUs. */
static inline double clp_open_top(const struct num_share_problem *p, size_t m)
{
    double top = 0;

    for (uint32_t j = 0; j < p->kind_count; j++)
        if (p->capacity[j] > 0)
            top = fmax(top, p->rate[m * p->kind_count + j]);
    return top;
}

/* Rows of the share programs: time of the jobs, then their speeds, then the kinds. */
static inline size_t clp_speed_row(const struct num_share_problem *p, size_t m)
{
    return p->job_count + m;
}

static inline size_t clp_kind_row(const struct num_share_problem *p, uint32_t j)
{
    return 2 * p->job_count + j;
}

/* The columns x_mj, in order of job and kind, with cost value_mj (NULL: 0). Speed row m holds
 * u_m / scale_m; its bounds are the caller's. `extra` columns of 2 entries a job may follow. */
static inline void clp_shares_init(struct clp_lp *lp, const struct num_share_problem *p,
                                   const double *scale, const double *value)
{
    size_t n = p->job_count, kinds = p->kind_count;

    clp_lp_init(lp, 2 * n + kinds, n * kinds + n + 1, 3 * n * kinds + 2 * n + 1);
    for (size_t m = 0; m < n; m++)
        lp->row_upper[m] = 1;
    for (uint32_t j = 0; j < kinds; j++)
        lp->row_upper[clp_kind_row(p, j)] = p->capacity[j];
    for (size_t m = 0; m < n; m++) {
        for (uint32_t j = 0; j < kinds; j++) {
            double rate = p->rate[m * kinds + j], each = clp_count(p, m);
            clp_lp_column(lp, value != NULL ? each * value[m * kinds + j] : 0, 0,
                          rate > 0 ? DBL_MAX : 0);
            clp_lp_entry(lp, m, 1);
            clp_lp_entry(lp, clp_speed_row(p, m), rate / scale[m]);
            clp_lp_entry(lp, clp_kind_row(p, j), each * p->gpus[m]);
        }
    }
}

/* The program of clp_share_raise. Its last column is t in units of t_unit, about what is expected;
 * it counts once per job, so that the worth of a job's time does not vanish below CLP's
 * tolerance. */
static inline void clp_raise_init(struct clp_lp *lp, const struct num_share_problem *p,
                                  const double *base, const double *rise, double t_unit)
{
    size_t n = p->job_count;
    double *scale = clp_take(n, sizeof *scale);

    for (size_t m = 0; m < n; m++) {
        scale[m] = base != NULL && base[m] > 0 ? base[m] : rise[m] * t_unit;
        if (scale[m] <= 0)
            scale[m] = 1;
    }
    clp_shares_init(lp, p, scale, NULL);
    clp_lp_column(lp, (double)n, 0, DBL_MAX);
    for (size_t m = 0; m < n; m++) {
        clp_lp_entry(lp, clp_speed_row(p, m), -rise[m] * t_unit / scale[m]);
        lp->row_lower[clp_speed_row(p, m)] = base != NULL ? base[m] / scale[m] : 0;
    }
    free(scale);
}

static inline bool clp_raise_scaled(const struct num_share_problem *p, const double *base,
                                    const double *rise, double t_unit, enum clp_method method,
                                    double *out_t)
{
    struct clp_lp lp;

    clp_raise_init(&lp, p, base, rise, t_unit);
    lp.method = method;
    int status = clp_lp_solve(&lp);
    if (status == CLP_OPTIMAL)
        *out_t = lp.y[lp.columns - 1] * t_unit;
    clp_lp_fini(&lp);
    return status == CLP_OPTIMAL;
}

/* Largest t with u_m >= base_m + t rise_m; base NULL: 0. INFINITY when nothing rises. Solves a
 * second time in units of the answer where the first guess was far off. */
static inline bool clp_share_raise(const struct num_share_problem *p, const double *base,
                                   const double *rise, enum clp_method method, double *out_t)
{
    double t_unit = INFINITY;

    for (size_t m = 0; m < p->job_count; m++)
        if (rise[m] > 0)
            t_unit = fmin(t_unit, clp_top(p, m) / rise[m]);
    *out_t = isinf(t_unit) ? INFINITY : 0;
    if (isinf(t_unit) || t_unit <= 0)
        return true;
    if (!clp_raise_scaled(p, base, rise, t_unit, method, out_t))
        return false;
    if (*out_t < 1e-9 * t_unit || *out_t > 0.2 * t_unit)
        return true;
    return clp_raise_scaled(p, base, rise, *out_t, method, out_t);
}

static inline bool clp_share_level(const struct num_share_problem *p, const double *need,
                                   enum clp_method method, double *out_level)
{
    return clp_share_raise(p, NULL, need, method, out_level);
}

/* The program of clp_share_sum. */
static inline void clp_sum_init(struct clp_lp *lp, const struct num_share_problem *p,
                                const double *value, const double *floor)
{
    size_t n = p->job_count;
    double *scale = clp_take(n, sizeof *scale);

    for (size_t m = 0; m < n; m++)
        scale[m] = floor != NULL && floor[m] > 0 ? floor[m] : fmax(clp_top(p, m), 1e-300);
    clp_shares_init(lp, p, scale, value);
    for (size_t m = 0; m < n; m++)
        lp->row_lower[clp_speed_row(p, m)] = floor != NULL && floor[m] > 0 ? 1 : 0;
    free(scale);
}

/* Largest sum of value.x with u_m >= floor_m (NULL: 0); value NULL: 0. *out_possible false: the
 * floors cannot be kept together. */
static inline bool clp_share_sum(const struct num_share_problem *p, const double *value,
                                 const double *floor, enum clp_method method, bool *out_possible,
                                 double *out_sum)
{
    struct clp_lp lp;

    clp_sum_init(&lp, p, value, floor);
    lp.method = method;
    int status = clp_lp_solve(&lp);
    *out_possible = status == CLP_OPTIMAL;
    *out_sum = status == CLP_OPTIMAL ? lp.objective : NAN;
    clp_lp_fini(&lp);
    return status == CLP_OPTIMAL || status == CLP_INFEASIBLE;
}

/* Least weight given up when floors may be kept in part, with that part of the job's time: no
 * choice of whole ones gives up less. */
static inline bool clp_share_keep(const struct num_share_problem *p, const double *floor,
                                  const double *weight, enum clp_method method, double *out_given)
{
    size_t n = p->job_count;
    double *scale = clp_take(n, sizeof *scale), all = 0;
    struct clp_lp lp;

    for (size_t m = 0; m < n; m++)
        scale[m] = floor[m] > 0 ? floor[m] : 1;
    clp_shares_init(&lp, p, scale, NULL);
    for (size_t m = 0; m < n; m++) {
        double each = clp_count(p, m) * weight[m];
        lp.row_lower[clp_speed_row(p, m)] = 0;
        if (floor[m] <= 0)
            continue;
        all += each;
        lp.row_upper[m] = 0;
        clp_lp_column(&lp, each, 0, 1);
        clp_lp_entry(&lp, m, -1);
        clp_lp_entry(&lp, clp_speed_row(p, m), -1);
    }
    lp.method = method;
    int status = clp_lp_solve(&lp);
    *out_given = all - lp.objective;
    clp_lp_fini(&lp);
    free(scale);
    return status == CLP_OPTIMAL;
}

/* --- water filling ------------------------------------------------------------------------- */

/* By what part of its top speed can job m go faster while all others keep theirs, but for
 * `give`? */
static inline bool clp_fill_room(const struct num_share_problem *p, const double *speed, size_t m,
                                 double give, double *out_room)
{
    size_t n = p->job_count;
    double *floor = clp_take(n, sizeof *floor), *value = clp_take(n * p->kind_count, sizeof *value);
    double sum, top = clp_top(p, m);
    bool possible;

    for (size_t i = 0; i < n; i++)
        floor[i] = i == m ? 0 : speed[i] * (1 - give);
    for (uint32_t j = 0; j < p->kind_count; j++)
        value[m * p->kind_count + j] = p->rate[m * p->kind_count + j] / top / clp_count(p, m);
    bool solved = clp_share_sum(p, value, floor, CLP_METHOD_PRIMAL, &possible, &sum) && possible;
    *out_room = solved ? sum - speed[m] / top : 0;
    free(floor);
    free(value);
    return solved;
}

/* Raises `speed` by t rise, t as large as can be, with room for CLP's tolerances. */
static inline bool clp_fill_raise(const struct num_share_problem *p, const double *rise,
                                  double *speed, double *out_t)
{
    double *held = clp_take(p->job_count, sizeof *held);
    bool solved = false;

    for (double give = 1e-9; give < 2e-7 && !solved; give *= 10) {
        for (size_t m = 0; m < p->job_count; m++)
            held[m] = speed[m] * (1 - give);
        solved = clp_share_raise(p, held, rise, CLP_METHOD_PRIMAL, out_t);
    }
    for (size_t m = 0; m < p->job_count && solved; m++)
        speed[m] += *out_t * rise[m];
    free(held);
    return solved;
}

/* Jobs that rise and have no room: less than `least` of their top speed. Returns how many. */
static inline size_t clp_fill_stopped(const struct num_share_problem *p, const double *rise,
                                      const double *room, double least, bool *out_stops)
{
    size_t count = 0;

    for (size_t m = 0; m < p->job_count; m++) {
        out_stops[m] = rise[m] > 0 && room[m] <= least;
        count += out_stops[m];
    }
    return count;
}

/* Gavel's procedure: all that may rise do so together until some cannot; those stop, the budget is
 * divided anew. A job has stopped when it could rise by less than 1e-6 of its top speed alone (the
 * MILP of the original uses 1e-4), so speeds are good to about that. out_speed (jobs). *out_budget:
 * the root's budget when a job was first stopped below its top speed (where there are GPUs);
 * INFINITY when none was. */
static inline bool clp_share_fill(const struct num_share_problem *p, const double *unit,
                                  const struct num_tree *tree, double *out_speed,
                                  double *out_budget)
{
    size_t n = p->job_count, left = 0;
    bool *active = clp_take(n, sizeof *active), *stops = clp_take(n, sizeof *stops), solved = true;
    double *rise = clp_take(n, sizeof *rise), *room = clp_take(n, sizeof *room), budget = 0;

    *out_budget = INFINITY;
    for (size_t m = 0; m < n; m++) {
        out_speed[m] = 0;
        active[m] = clp_top(p, m) > 0;
        left += active[m];
    }
    while (left > 0 && solved) {
        double t = 0;
        size_t stopped = 0;
        tree_rises(tree, p, active, rise);
        for (size_t m = 0; m < n; m++)
            rise[m] *= unit[m];
        solved = clp_fill_raise(p, rise, out_speed, &t);
        budget += t;
        for (size_t m = 0; m < n && solved; m++)
            if (rise[m] > 0)
                solved = clp_fill_room(p, out_speed, m, 1e-9, &room[m]) ||
                         clp_fill_room(p, out_speed, m, 1e-8, &room[m]) ||
                         clp_fill_room(p, out_speed, m, 1e-7, &room[m]);
        for (double least = 1e-6; solved && stopped == 0 && least < 1e-3; least *= 10)
            stopped = clp_fill_stopped(p, rise, room, least, stops);
        solved = solved && stopped > 0; /* someone must stop each time */
        for (size_t m = 0; m < n && solved; m++) {
            if (!stops[m])
                continue;
            active[m] = false;
            if (out_speed[m] < clp_open_top(p, m) * (1 - 1e-6) && isinf(*out_budget))
                *out_budget = budget;
        }
        left -= solved ? stopped : 0;
    }
    free(active);
    free(stops);
    free(rise);
    free(room);
    return solved;
}

#endif
