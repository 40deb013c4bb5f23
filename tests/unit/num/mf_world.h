/* mf_world.h - ratings with a known truth, and a small trainer, for the tests of src/num/mf*.c. */
#ifndef TESTS_MF_WORLD_H
#define TESTS_MF_WORLD_H

#include "base/rand.h"
#include "num/mf.h"
#include "torture.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ratings of `rank` planted factors with biases and noise; busy users and items are much busier. */
struct mf_truth {
    uint32_t users, items, rank;
    double noise;
};

static inline struct num_rating *mf_ratings(const struct mf_truth *truth, size_t count,
                                            uint64_t seed)
{
    size_t users = truth->users, items = truth->items, rank = truth->rank;
    struct num_rating *rating = malloc((count + 1) * sizeof *rating);
    double *p = malloc((users + items) * (rank + 1) * sizeof *p), *q = p + users * (rank + 1);
    struct base_rand rand;

    assert_non_null(rating);
    assert_non_null(p);
    base_rand_init(&rand, seed, "mf_truth");
    for (size_t x = 0; x < (users + items) * (rank + 1); x++)
        p[x] = base_rand_normal(&rand, 0, 1);
    for (size_t x = 0; x < count; x++) {
        double a = base_rand_unit(&rand), b = base_rand_unit(&rand);
        size_t u = (size_t)((double)users * a * a), i = (size_t)((double)items * b * b);
        double value = 3.5 + 0.3 * (p[u * (rank + 1)] + q[i * (rank + 1)]);
        for (size_t k = 1; k <= rank; k++)
            value += 0.6 / sqrt((double)rank) * p[u * (rank + 1) + k] * q[i * (rank + 1) + k];
        value += base_rand_normal(&rand, 0, truth->noise);
        rating[x] = (struct num_rating){(uint32_t)u, (uint32_t)i, (float)value};
    }
    free(p);
    return rating;
}

/* Blocks of a list of ratings: data[e]. */
static inline void **mf_blocks(const struct num_mf_plan *plan, enum num_mf_view view,
                               const struct num_rating *rating, size_t count)
{
    struct num_mf_cut *cut;
    void **data = calloc(plan->shape.executors, sizeof *data);

    assert_non_null(data);
    assert_int_equal(num_mf_cut_new(plan, view, rating, count, &cut, NULL), SHOAL_OK);
    for (uint32_t e = 0; e < plan->shape.executors; e++) {
        data[e] = malloc(num_mf_cut_size(cut, e));
        assert_non_null(data[e]);
        memset(data[e], 0xa5, num_mf_cut_size(cut, e));
    }
    assert_int_equal(num_mf_cut_fill(cut, rating, data, NULL), SHOAL_OK);
    num_mf_cut_free(cut);
    return data;
}

static inline void mf_blocks_free(const struct num_mf_plan *plan, void **data)
{
    for (uint32_t e = 0; e < plan->shape.executors; e++)
        free(data[e]);
    free(data);
}

static inline float *mf_floats(size_t count)
{
    float *x = aligned_alloc(64, (count * sizeof *x + 127) / 64 * 64);
    assert_non_null(x);
    memset(x, 0, count * sizeof *x);
    return x;
}

/* Rows of users and items, by slot. */
struct mf_model {
    uint32_t rank, stride;
    float *user, *item, *item_rate;
};

static inline void mf_model_init(struct mf_model *m, const struct num_mf_plan *plan, uint32_t rank)
{
    uint32_t users = plan->user_slots * plan->shape.executors;
    uint32_t items = plan->item_slots * plan->shape.blocks;

    *m = (struct mf_model){.rank = rank, .stride = num_mf_stride(rank)};
    m->user = mf_floats((size_t)users * m->stride);
    m->item = mf_floats((size_t)items * m->stride);
    m->item_rate = mf_floats(items);
    num_mf_init_rows(m->user, rank, 0, users, plan->user_count, 1);
    num_mf_init_rows(m->item, rank, 0, items, plan->item_count, 2);
    for (uint32_t i = 0; i < items; i++)
        m->item_rate[i] = num_mf_row_rate(plan->item_count[i]);
}

static inline void mf_model_fini(struct mf_model *m)
{
    free(m->user);
    free(m->item);
    free(m->item_rate);
}

#endif
