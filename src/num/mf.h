/* mf.h - matrix factorisation: ratings cut into blocks, and the kernels that run on them.
 *
 * A rating r of user u for item i is modelled as mean + bias_u + bias_i + scale * p_u . q_i, with p
 * and q of `rank` numbers, stored in rows of `stride` floats (rank rounded up to 16, the rest 0).
 * Means and biases are fitted when the data are planned; the numbers in blocks are what is left,
 * divided by `scale`, their standard deviation. So rates and penalties mean the same whatever the
 * scale of the ratings.
 *
 *   struct num_mf_plan *plan;              which user and item goes where; biases
 *   struct num_mf_cut *cut;                how many ratings each executor gets, in how many bytes
 *   num_mf_plan_new(&shape, ratings, count, &plan, err);
 *   num_mf_cut_new(plan, NUM_MF_GRID, ratings, count, &cut, err);
 *   for each executor e: data[e] = memory of num_mf_cut_size(cut, e) bytes, aligned to 64
 *   num_mf_cut_fill(cut, ratings, data);   then a block is found by num_mf_block(data[e], b)
 *
 * Users and items get new numbers, *slots*: equally many per executor (or block of items), with
 * ratings spread evenly. Slot s belongs to executor s / user_slots, where it is row s % user_slots.
 * A slot may be empty: its row has no rating and stays 0. Equal ratings give equal plans, blocks and
 * results; kernels for different processors (num_mf_ops_find) agree to rounding.
 *
 * Any thread; what is not const belongs to one at a time. Blocks hold no pointers, so they may lie
 * in shared memory. Tests: tests/unit/num/test_mf.c, test_mf_plan.c, test_mf_als.c. */
#ifndef NUM_MF_H
#define NUM_MF_H

#include "base/room.h"
#include "num/rating.h"
#include "shoal/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NUM_MF_RANK_MAX = 1024 };
static const uint32_t NUM_MF_EMPTY = UINT32_MAX; /* in slot_user, slot_item */

/* Floats of a row of `rank` numbers. */
static inline uint32_t num_mf_stride(uint32_t rank)
{
    return (rank + 15) / 16 * 16;
}

/* ---- plan ---- */

struct num_mf_shape {
    uint32_t users, items;      /* ids are below; at least 1 */
    uint32_t executors, blocks; /* parts of the users and of the items; at least 1 */
    bool center;                /* fit mean, biases and scale; else ratings are taken as they are */
    bool bias;                  /* with `center`: also per user and item, not only the mean */
};

struct num_mf_plan {
    struct base_alloc alloc;
    struct base_room room; /* of the arrays */
    struct num_mf_shape shape;
    uint32_t user_slots, item_slots;   /* per executor, per block of items */
    uint32_t *user_slot, *item_slot;   /* (users), (items): where an id went */
    uint32_t *slot_user, *slot_item;   /* (executors * user_slots), ...: back, or NUM_MF_EMPTY */
    uint32_t *user_count, *item_count; /* ratings, by slot */
    float *user_bias, *item_bias;      /* by slot; 0 where empty or without `bias` */
    double mean, scale;
};

/* SHOAL_E_INVAL: an id out of range, a value that is not finite, a shape with a 0; SHOAL_E_LIMIT:
 * 2^32 slots or more. No ratings at all is fine. */
SHOAL_MUST_USE shoal_status num_mf_plan_new(const struct base_alloc *alloc,
                                            const struct num_mf_shape *shape,
                                            const struct num_rating *rating, size_t count,
                                            struct num_mf_plan **out_plan, shoal_err *err);
void num_mf_plan_free(struct num_mf_plan *plan);

/* Moves about `share` of the ratings to the end, chosen by seed and position; returns how many
 * are left in front. */
size_t num_mf_split(struct num_rating *rating, size_t count, double share, uint64_t seed);

/* How fast a row with `count` ratings learns, relative to one with few: SGD multiplies its rate by
 * it. */
float num_mf_row_rate(uint32_t count);

/* First rows of slots [first, first + count): small random numbers by seed and slot; 0 where a slot
 * has no ratings (slot_count, by slot) and beyond `rank`. */
void num_mf_init_rows(float *row, uint32_t rank, uint32_t first, uint32_t count,
                      const uint32_t *slot_count, uint64_t seed);

/* ---- cut: blocks for executors ---- */

enum num_mf_view {
    NUM_MF_GRID,  /* executor e: one block per block of items; rows are its users, columns the
                     items of the block, counted from the block's first slot */
    NUM_MF_USERS, /* executor e: one block; rows are its users, columns all item slots */
    NUM_MF_ITEMS  /* executor e: one block; rows are the items of block e, columns all user slots;
                     needs blocks == executors */
};

struct num_mf_entry {
    uint32_t column;
    float value; /* (rating - mean - biases) / scale */
};

/* A block in memory: entries of row r are entry[start[r]] .. entry[start[r + 1] - 1]. */
struct num_mf_block {
    uint32_t rows;
    const uint32_t *start; /* (rows + 1) */
    const struct num_mf_entry *entry;
};

struct num_mf_cut;

SHOAL_MUST_USE shoal_status num_mf_cut_new(const struct num_mf_plan *plan, enum num_mf_view view,
                                           const struct num_rating *rating, size_t count,
                                           struct num_mf_cut **out_cut, shoal_err *err);
void num_mf_cut_free(struct num_mf_cut *cut);
size_t num_mf_cut_size(const struct num_mf_cut *cut, uint32_t executor);
/* Ratings must be those of num_mf_cut_new. data (executors): each of the size above, aligned to 8.
 * The plan is borrowed from num_mf_cut_new on. */
SHOAL_MUST_USE shoal_status num_mf_cut_fill(const struct num_mf_cut *cut,
                                            const struct num_rating *rating, void *const *data,
                                            shoal_err *err);

uint32_t num_mf_data_blocks(const void *data);
const float *num_mf_data_rates(const void *data); /* (rows), for num_mf_sgd.row_rate */
struct num_mf_block num_mf_block(const void *data, uint32_t index);
static inline size_t num_mf_block_count(const struct num_mf_block *block)
{
    return block->start[block->rows] - block->start[0];
}
/* Rows [first, first + rows) of a block, as a block. */
static inline struct num_mf_block num_mf_block_slice(const struct num_mf_block *block,
                                                     uint32_t first, uint32_t rows)
{
    return (struct num_mf_block){rows, block->start + first, block->entry};
}

/* ---- kernels ---- */

/* One pass of stochastic gradient descent. Loss of a rating: (value - p.q)^2 / 2 + l2 / 2 (|p|^2 +
 * |q|^2). Ratings of a row are taken in groups of four, then what is left: gradients of a group are all
 * of the numbers before it; of a column that occurs twice in one, the later step counts. */
struct num_mf_sgd {
    uint32_t stride;
    float rate, l2;           /* rate * l2 at most 1/4 */
    const float *row_rate;    /* (rows), times `rate`: steps of a row */
    const float *column_rate; /* (columns) */
    const float *row_old;     /* (rows, stride) */
    float *row_new;           /* (rows, stride): written whole; may be row_old itself */
    float *column;            /* (columns, stride): changed in place */
};

/* Alternating least squares: every row becomes the minimiser of its loss with columns fixed.
 * Explicit (gram NULL): sum over its ratings of (value - p.q)^2 + l2 |p|^2, as SGD has it.
 * Implicit (Hu, Koren, Volinsky 2008): sum over all columns of c (s - p.q)^2, + l2 |p|^2, where a
 * rating has c = 1 + alpha value, s = 1 and any other column c = 1, s = 0; values are not negative.
 * Rows without a rating become 0. */
struct num_mf_als {
    uint32_t stride;
    float l2, alpha;
    const float *gram;   /* NULL, or (stride, stride): of all columns, by ops->gram */
    const float *column; /* (columns, stride) */
    float *row;          /* (rows, stride): written whole */
    float *work;         /* num_mf_als_work(stride) bytes, aligned to 64 */
};
size_t num_mf_als_work(uint32_t stride);

struct num_mf_ops {
    const char *name;
    /* Returns the sum of squared errors, each before its step. */
    double (*sgd)(const struct num_mf_block *block, const struct num_mf_sgd *sgd);
    /* Sum of (value - p.q)^2. */
    double (*error)(const struct num_mf_block *block, uint32_t stride, const float *row,
                    const float *column);
    void (*als)(const struct num_mf_block *block, const struct num_mf_als *als);
    /* gram (stride, stride) += sum over rows of x x^T. */
    void (*gram)(const float *row, uint32_t rows, uint32_t stride, float *gram);
};

/* The fastest kernels with at most `lanes_max` floats in a vector (1: plain C, the
 * specification). */
const struct num_mf_ops *num_mf_ops_find(uint32_t lanes_max);

/* Loss of implicit feedback of these rows, without penalties; gram of all columns. */
double num_mf_implicit_loss(const struct num_mf_block *block, uint32_t stride, float alpha,
                            const float *gram, const float *row, const float *column);

#endif
