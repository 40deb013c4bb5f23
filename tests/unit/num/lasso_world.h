/* lasso_world.h - small random problems for the tests of sparse linear models. */
#ifndef TESTS_LASSO_WORLD_H
#define TESTS_LASSO_WORLD_H

#include "base/rand.h"
#include "num/lasso.h"
#include <math.h>
#include <string.h>

enum { LASSO_ROWS = 400, LASSO_COLUMNS = 120, LASSO_ENTRIES = LASSO_ROWS * LASSO_COLUMNS };

struct lasso_world {
    struct num_lasso p;
    uint64_t start[LASSO_COLUMNS + 1];
    uint32_t index[LASSO_ENTRIES];
    float value[LASSO_ENTRIES], dense[LASSO_ENTRIES];
    float y[LASSO_ROWS], weight[LASSO_ROWS];
    double u[LASSO_ROWS], z[LASSO_ROWS];
    uint32_t column[LASSO_COLUMNS];
    double b[LASSO_COLUMNS], g[LASSO_COLUMNS];
    struct num_lasso_point point;
    struct num_lasso_set set; /* of all columns */
};

/* Columns share a factor, in runs of ten, by `alike`: 0 none of it, 1 nothing else. */
static inline void lasso_world_make(struct lasso_world *o, struct base_rand *rand, uint32_t rows,
                                    uint32_t columns, double fill, double alike,
                                    enum num_lasso_loss loss)
{
    double factor[LASSO_ROWS] = {0};
    uint64_t e = 0;

    memset(o, 0, sizeof *o);
    for (uint32_t j = 0; j < columns; j++) {
        o->start[j] = e;
        o->column[j] = j;
        for (uint32_t i = 0; i < rows; i++) {
            if (j % 10 == 0)
                factor[i] = base_rand_normal(rand, 0, 1);
            if (base_rand_unit(rand) >= fill)
                continue;
            float a = (float)(0.3 + sqrt(alike) * factor[i] +
                              sqrt(1 - alike) * base_rand_normal(rand, 0, 1));
            o->index[e] = i;
            o->value[e++] = a;
            o->dense[(size_t)j * rows + i] = a;
            o->z[i] += (double)a * (j % 7 == 0 ? 1 : j % 11 == 0 ? -0.5 : 0);
        }
    }
    o->start[columns] = e;
    for (uint32_t i = 0; i < rows; i++) {
        double y = 2 + o->z[i] + base_rand_normal(rand, 0, 1);
        o->y[i] = loss == NUM_LASSO_SQUARED ? (float)y : y > 2;
        o->weight[i] = (float)(base_rand_unit(rand) < 0.2 ? 0 : 1);
    }
    o->p = (struct num_lasso){.x = {rows, columns, o->start, o->index, o->value},
                              .y = o->y,
                              .total = rows,
                              .loss = loss,
                              .intercept = true,
                              .lambda = 0.1,
                              .mix = 1};
    o->point = (struct num_lasso_point){o->u, o->z, 0};
    o->set = (struct num_lasso_set){columns, o->column, o->b};
}

/* Rows of weight 0 are left out. */
static inline void lasso_world_weigh(struct lasso_world *o)
{
    o->p.weight = o->weight;
    o->p.total = 0;
    for (uint32_t i = 0; i < o->p.x.rows; i++)
        o->p.total += (double)o->weight[i];
}

/* Slopes of all columns at the point; the largest, and the excess of num_lasso_bound. */
static inline double lasso_world_slopes(struct lasso_world *o, double *out_excess)
{
    double most = 0, soft = o->p.lambda * o->p.mix;

    *out_excess = 0;
    for (uint32_t j = 0; j < o->p.x.columns; j++) {
        o->g[j] = num_lasso_ops_find(1)->dot(&o->p.x, j, o->u);
        double a = fabs(o->g[j]);
        most = fmax(most, a);
        *out_excess += a > soft ? (a - soft) * (a - soft) : 0;
    }
    return most;
}

static inline shoal_status lasso_world_solve(struct lasso_world *o, double tol,
                                             enum num_lasso_schedule schedule,
                                             struct num_lasso_work *work)
{
    struct num_lasso_effort effort = {
        .tol = tol, .rounds_max = 20000, .schedule = schedule, .seed = 5};

    return num_lasso_solve(&base_alloc_libc, num_lasso_ops_find(64), &o->p, &effort, &o->set,
                           &o->point, work);
}

#endif
