/* mf.c - kernels of matrix factorisation.
 *
 * Stochastic gradient descent goes through a block row by row, so that the row's numbers are loaded
 * once, stay in registers, and are stored once, to another buffer if the caller wants the old ones
 * kept. Its speed limit is a chain: the error of a rating needs the row as the rating before left
 * it, through a sum over lanes of some 25 cycles. Ratings are therefore taken in groups of four
 * whose errors are all of the same row: one sum over lanes does four of them, and three links of
 * the chain are gone. At rank 32 this is 1.7 times as fast as one by one, and costs nothing in
 * progress per pass: a step changes the row by a few per cent.
 *
 * Rates differ by row, as in AdaGrad, where a rate is divided by the root of the squared gradients a
 * row has seen, but they are known beforehand: gradients of a row are of about equal size, so it is
 * the number of its ratings that counts (num_mf_row_rate), and all of them fall linearly towards
 * the last pass, which is the caller's part. No sums of squares, no roots in the loop.
 *
 * Least squares: the columns a row has rated are gathered, CHUNK at a time, and multiplied tile by
 * tile, TILE rows by two vectors, which stays in registers; then a Cholesky factor row by row. About
 * rank^2 / 2 multiply-adds per rating and rank^3 / 6 per row. Single precision throughout: what
 * solves slightly other equations is as good a step.
 *
 * The text (mf_body.inc) is compiled for one lane (the specification), eight
 * and sixteen; sums over lanes differ in order, so results agree to rounding (test_mf.c). */
#include "num/mf.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 64, AHEAD = 12 /* columns asked of memory before they are used */ };
/* Relative to the diagonal: smaller pivots are rounding errors. */
static const float PIVOT_MIN = 1e-6F;

struct als_work {
    float *a, *u;       /* (stride, stride) */
    float *x, *y;       /* (CHUNK, stride) */
    float *b, *inverse; /* (stride) */
};

static struct als_work als_work_at(float *at, uint32_t stride)
{
    size_t square = (size_t)stride * stride, chunk = (size_t)CHUNK * stride;
    struct als_work w = {.a = at, .u = at + square};

    w.x = w.u + square;
    w.y = w.x + chunk;
    w.b = w.y + chunk;
    w.inverse = w.b + stride;
    return w;
}

size_t num_mf_als_work(uint32_t stride)
{
    return ((size_t)stride * (2 * (size_t)stride + 2 * CHUNK + 2)) * sizeof(float);
}

/* Below the diagonal as above it. */
static void mirror(float *a, uint32_t stride)
{
    for (uint32_t i = 0; i < stride; i++)
        for (uint32_t j = 0; j < i; j++)
            a[(size_t)i * stride + j] = a[(size_t)j * stride + i];
}

#define LANES_TEXT  "num/mf_body.inc"
#define LANES_BYTES 4
#include "num/lanes.inc"

const struct num_mf_ops *num_mf_ops_find(uint32_t lanes_max)
{
    return LANES_FIND(&ops, lanes_max);
}

/* p^T gram p counts every column as c = 1, s = 0; ratings are then put right. */
double num_mf_implicit_loss(const struct num_mf_block *block, uint32_t stride, float alpha,
                            const float *gram, const float *row, const float *column)
{
    double loss = 0;

    for (uint32_t r = 0; r < block->rows; r++) {
        const float *p = row + (size_t)r * stride;
        for (uint32_t i = 0; i < stride; i++)
            loss += (double)p[i] * (double)dot_plain(gram + (size_t)i * stride, p, stride);
        for (uint32_t at = block->start[r]; at < block->start[r + 1]; at++) {
            const struct num_mf_entry *entry = &block->entry[at];
            double s = (double)dot_plain(p, column + (size_t)entry->column * stride, stride);
            loss += (1 + (double)alpha * (double)entry->value) * (1 - s) * (1 - s) - s * s;
        }
    }
    return loss;
}
