/* linear.c - the passes of linear models over sparse rows, and what to make of them.
 *
 * The passes are one text (linear_body.inc), compiled for one lane (the specification), eight (AVX2)
 * and sixteen (AVX-512). With one weight vector a row is gathered and scattered, unless its columns follow on each other; with several the
 * vectors run over the lanes, so that twenty one-against-the-rest problems cost little more than
 * one. Data and weights are floats; sums over rows are doubles.
 *
 * Four ways to a minimum, each a loop over passes that its caller schedules:
 *
 * Newton. A clock sums gradients and keeps the curve of each row; conjugate gradients,
 * preconditioned by the Hessian's diagonal, take a clock a step; the next gradient clock tries the
 * full step and halves it while the objective does not fall (Armijo). With one lane, few columns
 * and short or dense rows the Hessian itself is summed and factored, which takes one clock.
 *
 * A hinge has no curvature; with its kink rounded off to a parabola it has, and slopes of that are
 * dual variables of the sharp one, so each gradient pass also bounds the minimum from below. The
 * parabola is centred on an estimate of the dual variables, which the caller renews: the method of
 * multipliers, whose parabola need not become narrow. With more columns than rows dual ascent takes
 * less time.
 *
 * Dual coordinate ascent (Hsieh and others, "A dual coordinate descent method for large-scale linear
 * SVM", 2008; Yu and others, "Dual coordinate descent methods for logistic regression and maximum
 * entropy models", 2011). A task makes one pass over its rows from the newest w. We depart in three
 * points. A logistic variable is found by Newton's method on its logit, kept inside a bracket: no
 * logarithms, no inner rule. Shrinking has no thresholds: a row that did not move is visited again
 * after 1, 2, 4, at most 8 passes (num_linear_order). And blocks must come in a new random order in
 * each epoch: in a fixed order 32 blocks took five times the epochs. Passes that run at once use the
 * safe `spread` of CoCoA+ (Ma and others, "Adding vs. averaging in distributed primal-dual
 * optimization", 2015): own changes count spread times, so that what others add is allowed for.
 *
 * Lasso: coordinate descent on the logistic loss with |w|_1, by blocks of columns, with the shared
 * table of margins in the part that w has above. A step minimises a parabola that lies above the
 * loss within the coordinate's reach, so it needs no line search (Genkin, Lewis and Madigan,
 * "Large-scale Bayesian logistic regression for text categorization", 2007; their bound per entry
 * is replaced by curve x exp(reach), at most 1/4).
 *
 * Tests: tests/unit/num/test_linear.c (passes), test_linear_solve.c (ways). */
#include "num/linear.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum {
    BLOCK = 1024,      /* margins in flight in a gradient pass */
    CHUNK = 512,       /* entries summed in floats before they go to a double */
    NEWTON_STEPS = 12, /* at most, for one logistic dual variable */
    AHEAD = 3,         /* rows prefetched in a random order */
    AHEAD_FLAT = 32,   /* where most are passed over */
    REST_MAX = 8,
    GRAM_COLUMNS_MAX = 512, /* a Hessian of 1 MiB */
    GRAM_ENTRIES_MAX = 32,  /* a row: at n entries a Gram pass costs n / 4 Hessian passes */
    GRAM_TILE = 8           /* dense rows at once, which cost far less */
};
static const float STEP_MIN = 1e-3f; /* of those steps, after which one more is not needed */
static const float REACH_MIN = 0.1f;
static const float NORM_MIN =
    1e-30f; /* of a row without entries, which is at its minimum at once */
static const double SCALE_MIN = 1e-6, NORM_MAX = 1e30;

enum num_linear_way num_linear_choose(const struct num_csr *x, uint64_t entries, uint32_t lanes,
                                      enum num_linear_loss loss, enum num_linear_penalty penalty)
{
    bool dense = entries / x->columns >= x->rows;
    bool gram = lanes == 1 && loss != NUM_LINEAR_SOFTMAX && x->columns <= GRAM_COLUMNS_MAX &&
                (dense || entries / GRAM_ENTRIES_MAX <= x->rows);

    if (penalty == NUM_LINEAR_ABSOLUTE)
        return gram && x->rows >= x->columns ? NUM_LINEAR_GRAM : NUM_LINEAR_LASSO;
    if (loss != NUM_LINEAR_SOFTMAX && x->rows < x->columns)
        return NUM_LINEAR_DUAL;
    return gram ? NUM_LINEAR_GRAM : NUM_LINEAR_NEWTON;
}

void num_linear_norms(const struct num_csr *x, float *out)
{
    for (uint64_t row = 0; row < x->rows; row++) {
        double sum = 0;
        for (uint64_t e = x->start[row]; e < x->start[row + 1]; e++)
            sum += x->value != NULL ? (double)x->value[e] * (double)x->value[e] : 1;
        out[row] = (float)fmin(sum, NORM_MAX);
    }
}

void num_linear_peaks(const struct num_csr *x, float *out)
{
    for (uint64_t row = 0; row < x->rows; row++) {
        float most = x->value == NULL && x->start[row] < x->start[row + 1] ? 1 : 0;
        for (uint64_t e = x->start[row]; x->value != NULL && e < x->start[row + 1]; e++)
            most = fmaxf(most, fabsf(x->value[e]));
        out[row] = most;
    }
}

uint64_t num_linear_order(struct base_rand *rand, const uint8_t *rest, uint64_t rows, uint64_t pass,
                          uint32_t *order)
{
    uint64_t count = 0;

    for (uint64_t row = 0; row < rows; row++) {
        uint32_t idle = rest[row] < 2 ? 0 : rest[row] - 1u;
        uint64_t period = idle < 3 ? 1u << idle : NUM_LINEAR_REST;
        if (((pass + row) & (period - 1)) == 0)
            order[count++] = (uint32_t)row;
    }
    for (uint64_t i = count; i > 1; i--) {
        uint64_t other = base_rand_below(rand, i);
        uint32_t kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
    return count;
}

const float num_linear_step[NUM_LINEAR_STEPS] = {1.5f,   1,      0.75f,   0.5f,   0.35f,  0.25f,
                                                 0.18f,  0.125f, 0.0625f, 0.032f, 0.016f, 0.008f,
                                                 0.004f, 0.002f, 0.001f,  0.0005f};

/* Columns that follow on each other, as those of dense rows do: no gathers and scatters. */
static inline bool is_run(const uint32_t *index, uint64_t count)
{
    return count > 0 && index[count - 1] - index[0] == count - 1;
}

/* Rows without curvature have no part in the Hessian: most, of a hinge. */
static bool is_flat(const float *curve, size_t lanes)
{
    for (size_t k = 0; k < lanes; k++)
        if (curve[k] != 0)
            return false;
    return true;
}

static void aim(const struct num_linear *p, uint64_t row, size_t count, float *sign)
{
    for (size_t i = 0; i < count * p->lanes; i++)
        sign[i] = -1;
    for (size_t i = 0; i < count; i++)
        if (p->label[row + i] < p->lanes)
            sign[i * p->lanes + p->label[row + i]] = 1;
}

/* The margins move along the line; z is recomputed from them. */
static void move_margins(const struct num_linear_slope *out, size_t from, size_t count,
                         const float *sign, float *z)
{
    for (size_t i = 0; i < count; i++)
        z[i] = sign[i] * (out->margin[from + i] + out->moved * out->along[from + i]);
}

/* Of a row that is visited soon: in random order the processor cannot foresee it. Of long rows the
 * start is enough. */
static inline void prefetch(const struct num_csr *x, uint64_t row)
{
    uint64_t from = x->start[row], to = x->start[row + 1];

    to = to - from < CHUNK ? to : from + CHUNK;
    for (uint64_t e = from; e < to; e += 16) {
        __builtin_prefetch(&x->index[e]);
        if (x->value != NULL)
            __builtin_prefetch(&x->value[e]);
    }
}

static void diagonal(const struct num_linear *p, const float *curve, float *work, float *out)
{
    const size_t lanes = p->lanes;

    for (uint64_t row = 0; row < p->x.rows; row++) {
        const float *by = curve + row * lanes;
        for (size_t k = 0; k < lanes; k++)
            work[k] = p->loss == NUM_LINEAR_SOFTMAX ? p->cost * by[k] * (1 - by[k]) : by[k];
        if (is_flat(work, lanes))
            continue;
        for (uint64_t e = p->x.start[row]; e < p->x.start[row + 1]; e++) {
            float x = p->x.value != NULL ? p->x.value[e] : 1;
            float *to = out + p->x.index[e] * lanes;
            for (size_t k = 0; k < lanes; k++)
                to[k] += x * x * work[k];
        }
    }
}

/* Of runs: the same columns. */
static bool are_alike(const struct num_csr *x, uint64_t one, uint64_t other)
{
    return x->start[one + 1] - x->start[one] == x->start[other + 1] - x->start[other] &&
           x->index[x->start[one]] == x->index[x->start[other]];
}

static bool is_run_row(const struct num_csr *x, uint64_t row)
{
    return is_run(x->index + x->start[row], x->start[row + 1] - x->start[row]);
}

static void gram_row(const struct num_linear *p, uint64_t row, float curve, float *out)
{
    uint64_t from = p->x.start[row], count = p->x.start[row + 1] - from;
    const uint32_t *index = p->x.index + from;
    const float *value = p->x.value != NULL ? p->x.value + from : NULL;

    for (uint64_t i = 0; i < count; i++) {
        float *to = out + (size_t)index[i] * p->x.columns;
        float by = curve * (value != NULL ? value[i] : 1);
        for (uint64_t j = 0; j <= i; j++)
            to[index[j]] += value != NULL ? by * value[j] : by;
    }
}

/* The step of weight `at`, within its reach, for |w| + a parabola of these sums; the curve bounds
 * the true one as far as the reach goes. Adds the size of the subgradient to *total. */
static float lasso_step(const struct num_linear_lasso *p, size_t at, float peak, double slope,
                        double curve, double *total)
{
    double w = (double)p->weight[at], cost = (double)p->cost;
    double reach = (double)p->reach[at] / fmax((double)peak, 1e-30);
    double g = cost * (slope - (double)p->aim[at]);
    double h = fmax(cost * curve * (double)p->spread, 1e-12), step;

    if (g + 1 <= h * w)
        step = -(g + 1) / h;
    else if (g - 1 >= h * w)
        step = -(g - 1) / h;
    else
        step = -w;
    *total += w > 0 ? fabs(g + 1) : w < 0 ? fabs(g - 1) : fmax(fabs(g) - 1, 0);
    if (p->look != NULL) {
        double *look = p->look + at % p->lanes;
        look[0] = fmax(look[0], fabs(g));
        look[p->lanes] += g * w;
        return 0;
    }
    step = fmin(fmax(step, -reach), reach);
    float next = (float)(w + step), moved = next - p->weight[at];
    p->weight[at] = next;
    p->reach[at] = fmaxf(fmaxf((float)(2 * fabs(step)) * peak, p->reach[at] / 2), REACH_MIN);
    return moved;
}

#define LANES_TEXT  "num/linear_body.inc"
#define LANES_BYTES 4
#include "num/lanes.inc"

const struct num_linear_ops *num_linear_ops_find(uint32_t lanes_max)
{
    return LANES_FIND(&ops, lanes_max);
}
