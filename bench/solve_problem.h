/* solve_problem.h - the problems that bench/solve.c measures.
 *
 * Jobs are rows of a throughput table: Gavel's, or one of the same shape drawn from a seed. Gangs
 * of 1, 2, 4 and 8 GPUs as Gavel's generator draws them (70, 10, 15 and 5 %); three GPUs for four
 * jobs, split evenly among the kinds. A table has three kinds; further ones lie between them. */
#ifndef BENCH_SOLVE_PROBLEM_H
#define BENCH_SOLVE_PROBLEM_H

#include "base/rand.h"
#include "num/share.h"
#include "sim/bind.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_KINDS = 3, TABLE_ROWS_MAX = 256 };

struct table {
    uint32_t rows;
    uint32_t gpus[TABLE_ROWS_MAX];
    double rate[TABLE_ROWS_MAX][TABLE_KINDS];
    float *pair; /* (kinds, rows, rows), as num/pairs.h has it */
    bool measured;
};

static inline void *take(size_t count, size_t size)
{
    void *p = calloc(count > 0 ? count : 1, size);

    if (p == NULL) {
        fprintf(stderr, "solve: out of memory\n");
        exit(1);
    }
    return p;
}

/* 83 rows: 26 models on one GPU, 19 of them on 2, 4 and 8; sharing costs each a third or so. */
static inline void table_draw(struct table *t)
{
    static const uint32_t gangs[] = {1, 2, 4, 8}, models[] = {26, 19, 19, 19};
    struct base_rand r;

    base_rand_init(&r, 1, "bench-table");
    t->rows = 0;
    for (uint32_t g = 0; g < 4; g++) {
        for (uint32_t m = 0; m < models[g]; m++, t->rows++) {
            double base = exp(base_rand_normal(&r, 2, 1.2)) * pow(gangs[g], 0.7);
            t->gpus[t->rows] = gangs[g];
            t->rate[t->rows][0] = base;
            t->rate[t->rows][1] = base * base_rand_range(&r, 0.4, 1.3);
            t->rate[t->rows][2] =
                base_rand_below(&r, 27) == 0 ? 0 : base * base_rand_range(&r, 0.1, 0.6);
        }
    }
    t->pair = take((size_t)TABLE_KINDS * t->rows * t->rows, sizeof *t->pair);
    for (size_t k = 0; k < TABLE_KINDS; k++)
        for (uint32_t a = 0; a < t->rows; a++)
            for (uint32_t b = 0; b < t->rows; b++)
                if (t->gpus[a] == t->gpus[b] && base_rand_below(&r, 4) != 0)
                    t->pair[(k * t->rows + a) * t->rows + b] =
                        (float)(t->rate[a][k] * base_rand_range(&r, 0.3, 0.95));
}

/* Gavel's table from its JSON, unpacked. */
static inline bool table_load(struct table *t, const char *path)
{
    shoal_err err = SHOAL_ERR_INIT;
    shoal_env *env = NULL;
    struct sched_cluster cluster = {0};
    struct sim_throughput *tp = NULL;

    shoal_status st = shoal_env_real_new(&env, &err);
    if (st == SHOAL_OK)
        st = sched_cluster_parse(env_alloc(env), "1x1:v100,1x1:p100,1x1:k80", &cluster, &err);
    if (st == SHOAL_OK)
        st = sim_throughput_load(env, path, &cluster, &tp, &err);
    if (st == SHOAL_OK) {
        t->rows = tp->table.row_count < TABLE_ROWS_MAX ? tp->table.row_count : TABLE_ROWS_MAX;
        t->measured = true;
        t->pair = take((size_t)TABLE_KINDS * t->rows * t->rows, sizeof *t->pair);
        for (uint32_t row = 0; row < t->rows; row++) {
            t->gpus[row] = tp->table.row_gpus[row];
            for (uint32_t k = 0; k < TABLE_KINDS; k++) {
                const float *pair = tp->table.packed[k].pair;
                t->rate[row][k] = sched_table_rate(&tp->table, row, k);
                if (pair != NULL)
                    memcpy(t->pair + ((size_t)k * t->rows + row) * t->rows,
                           pair + (size_t)row * tp->table.row_count, t->rows * sizeof *pair);
            }
        }
    } else {
        fprintf(stderr, "solve: %s\n", err.message);
    }
    sim_throughput_free(tp);
    sched_cluster_fini(&cluster);
    if (env != NULL)
        shoal_env_free(env);
    return st == SHOAL_OK;
}

/* Whose rates a problem has. */
enum rates {
    RATES_TABLE,   /* the rows of the table as they are: many jobs are alike */
    RATES_OWN,     /* each job's row is off by up to 20 %: no two are alike */
    RATES_WEIGHTED /* the same with weights 1 to 4 and half as many GPUs */
};

struct problem {
    struct num_share_problem p; /* points into the arrays below */
    struct base_rand rand;
    enum rates rates;
    uint32_t *row;               /* (jobs) of the table */
    double *rate;                /* (jobs, kinds) */
    double *gpus, *weight;       /* (jobs) */
    double *stake;               /* (jobs) weight of a deadline */
    double *need;                /* (jobs) max-min: weight x speed on an equal split / gpus */
    double *left;                /* (jobs) steps to go */
    double *since, *denominator; /* (jobs) finish-time fairness: seconds */
    double *floor;               /* (jobs) speed that keeps the deadline; 0: none */
    double *value;               /* (jobs, kinds) speed per dollar */
};

/* The table's speed on kind j of `kinds`: the first and the last are the table's, others
 * between. */
static inline double table_rate(const struct table *t, uint32_t row, uint32_t j, uint32_t kinds)
{
    double at = kinds > 1 ? (double)j * (TABLE_KINDS - 1) / (kinds - 1) : 0;
    uint32_t low = (uint32_t)at, high = low + 1 < TABLE_KINDS ? low + 1 : low;
    double a = t->rate[row][low], b = t->rate[row][high], part = at - low;

    if (part == 0)
        return a;
    return a > 0 && b > 0 ? pow(a, 1 - part) * pow(b, part) : 0;
}

/* Draws job m anew: model, gang, length, age, deadline. */
static inline void problem_draw(struct problem *q, const struct table *t, size_t m)
{
    static const double price[TABLE_KINDS] = {2.48, 1.46, 0.45}; /* dollars per GPU-hour */
    struct base_rand *r = &q->rand;
    uint32_t kinds = q->p.kind_count;
    double draw = base_rand_unit(r), reference = 0, all = 0, alone = 0, share = 0, top = 0;
    uint32_t gang = draw < 0.7 ? 1 : draw < 0.8 ? 2 : draw < 0.95 ? 4 : 8, row;
    double *rate = q->rate + m * kinds;

    do
        row = (uint32_t)base_rand_below(r, t->rows);
    while (t->gpus[row] != gang);
    q->row[m] = row;
    q->gpus[m] = gang;
    q->stake[m] = (double)(1 + base_rand_below(r, 4));
    q->weight[m] = q->rates == RATES_WEIGHTED ? (double)(1 + base_rand_below(r, 4)) : 1;
    for (uint32_t j = 0; j < kinds; j++) {
        rate[j] = table_rate(t, row, j, kinds);
        if (q->rates != RATES_TABLE)
            rate[j] *= base_rand_range(r, 0.8, 1.2);
        reference += rate[j] * q->p.capacity[j];
        all += q->p.capacity[j];
        double part = q->p.capacity[j] / (double)q->p.job_count / gang;
        share += part;
        alone += rate[j] * part;
        top = fmax(top, rate[j]);
    }
    for (uint32_t j = 0; j < kinds; j++)
        q->value[m * kinds + j] =
            rate[j] / top / price[kinds > 1 ? j * (TABLE_KINDS - 1) / (kinds - 1) : 0];
    q->need[m] = q->weight[m] * reference / all / gang;
    q->left[m] = top * 3600 * pow(10, base_rand_range(r, -0.5, 0.7));
    q->since[m] = base_rand_range(r, 0, 0.5) * q->left[m] / top;
    q->denominator[m] = q->since[m] / 2 + q->left[m] / (alone / fmax(share, 1));
    double slack = base_rand_range(r, 1.05, 2); /* more than can be kept */
    q->floor[m] = base_rand_below(r, 5) < 4 ? top / slack : 0;
}

static inline void problem_init(struct problem *q, const struct table *t, size_t jobs,
                                uint32_t kinds, enum rates rates, uint64_t seed)
{
    *q = (struct problem){.rates = rates};
    base_rand_init(&q->rand, seed, "bench-solve");
    q->row = take(jobs, sizeof *q->row);
    q->rate = take(jobs * kinds, sizeof *q->rate);
    q->value = take(jobs * kinds, sizeof *q->value);
    q->gpus = take(jobs, sizeof *q->gpus);
    q->weight = take(jobs, sizeof *q->weight);
    q->stake = take(jobs, sizeof *q->stake);
    q->need = take(jobs, sizeof *q->need);
    q->left = take(jobs, sizeof *q->left);
    q->since = take(jobs, sizeof *q->since);
    q->denominator = take(jobs, sizeof *q->denominator);
    q->floor = take(jobs, sizeof *q->floor);
    q->p = (struct num_share_problem){
        .kind_count = kinds, .job_count = jobs, .rate = q->rate, .gpus = q->gpus};
    for (uint32_t j = 0; j < kinds; j++)
        q->p.capacity[j] =
            fmax(1, floor((rates == RATES_WEIGHTED ? 0.375 : 0.75) * (double)jobs / kinds));
    for (size_t m = 0; m < jobs; m++)
        problem_draw(q, t, m);
}

static inline void problem_fini(struct problem *q)
{
    free(q->row);
    free(q->rate);
    free(q->value);
    free(q->gpus);
    free(q->weight);
    free(q->stake);
    free(q->need);
    free(q->left);
    free(q->since);
    free(q->denominator);
    free(q->floor);
}

/* num_share_need_fn of finish-time fairness: (since + left / u) / denominator <= theta. */
static inline void problem_need(void *ctx, double theta, double *out_need)
{
    const struct problem *q = ctx;

    for (size_t m = 0; m < q->p.job_count; m++) {
        double room = theta * q->denominator[m] - q->since[m];
        out_need[m] = room > 0 ? q->left[m] / room : INFINITY;
    }
}

#endif
