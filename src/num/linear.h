/* linear.h - the passes of linear models: logistic, softmax and support vectors, over sparse rows.
 *
 * One problem has `lanes` weight vectors side by side, w: (columns, lanes), row-major. Lane k of
 * row i aims at +1 where label[i] == k and at -1 elsewhere: two classes need one lane (label 0 is
 * its +1), more take one lane each (one against the rest), and all lanes share every read of the
 * data. The objective is
 *
 *     penalty(w) + cost sum_i loss(z_i, label_i),   z_i = w' x_i,
 *
 * with penalty |w|^2 / 2 or |w|_1 (LIBLINEAR's form; cost is its C). A bias is a column of ones that
 * whoever makes the matrix appends; it is penalised like the others.
 *
 * A pass is a pure function over a range of rows. It adds to its sums, so the parts of a matrix may
 * be passed over in any order, by any thread, and added up. Passes allocate nothing. Each exists in
 * plain C, which specifies it, and for AVX2 and AVX-512; they agree to float rounding.
 *
 * linear.c says how the passes make solvers; linear_reference.c is the slow solver of the tests. */
#ifndef NUM_LINEAR_H
#define NUM_LINEAR_H

#include "base/alloc.h"
#include "base/rand.h"
#include "num/csr.h"
#include "shoal/status.h"
#include <stdbool.h>
#include <stddef.h>

enum num_linear_loss {
    NUM_LINEAR_LOGISTIC,      /* log(1 + exp(-m)), m = +-z */
    NUM_LINEAR_HINGE,         /* max(0, 1 - m), the most of a (1 - m) over a in [0, 1]; smoothed: of
                                 a (1 - m) - smooth (a - center)^2 / 2 */
    NUM_LINEAR_SQUARED_HINGE, /* max(0, 1 - m)^2 */
    NUM_LINEAR_SOFTMAX        /* log sum_k exp(z_k) - z_label; no dual pass */
};

enum num_linear_penalty { NUM_LINEAR_SQUARES, NUM_LINEAR_ABSOLUTE };

struct num_linear {
    struct num_csr x;
    const uint32_t *label; /* (rows); at least `lanes`: -1 in every lane (not with softmax) */
    uint32_t lanes;
    enum num_linear_loss loss;
    float cost;
    float smooth; /* hinge: margins this wide are on a parabola in place of the kink; 0: none */
};

/* Floats of workspace that passes with a `work` want. */
#define NUM_LINEAR_WORK(lanes) (3 * ((size_t)(lanes) + 1024))

/* What a gradient pass finds; NULL: not wanted. Of a sharp hinge there is no curve. A smoothed one
 * has two more sums: of the sharp losses at these margins, and of the dual variables that its slopes
 * are. Those are feasible, so with v = -gradient, dual - |v|^2 / 2 is below the minimum. */
struct num_linear_slope {
    float *gradient; /* (columns, lanes), added to */
    float *factor;   /* (rows, lanes): d/dz of cost x loss; the gradient is x' factor */
    float *curve;    /* (rows, lanes): second derivative; of softmax the probabilities */
    float *margin;   /* (rows, lanes): how far on the right side */
    float *center;   /* (rows, lanes), 0 to 1: of a smoothed hinge, not NULL then */
    float recentre;  /* above 0: each center first becomes the a of these margins, smoothed so */
    const float
        *along; /* (rows, lanes); not NULL: `margin` is an input, and moves by `moved` x this */
    float moved;
    float *work;        /* NUM_LINEAR_WORK(lanes), not NULL */
    double sharp, dual; /* added to */
};

/* Lengths of steps at which `line` looks, descending. */
enum { NUM_LINEAR_STEPS = 16 };
extern const float num_linear_step[NUM_LINEAR_STEPS];

/* The dual of rows in some order; kept with the rows from pass to pass. */
struct num_linear_dual {
    const float *norm;     /* (rows) squared lengths, from num_linear_norms */
    float *alpha;          /* (rows, lanes), 0 at first, then what the last pass left */
    uint8_t *rest;         /* (rows) visits in a row that moved nothing; 0 at first */
    const uint32_t *order; /* rows to visit, each at most once; num_linear_order makes one */
    uint64_t count;
    float spread; /* at least 1: how many passes run at once from the same w */
    float *work;  /* NUM_LINEAR_WORK(lanes) */
};

/* Logistic loss and penalty |w|_1, a block of columns at a time: x is the block's transpose, so its
 * "rows" are columns and its indices are rows of z. */
struct num_linear_lasso {
    struct num_csr x;
    const float *aim;  /* (columns of the block, lanes): sums of x over rows of that label */
    const float *peak; /* (columns of the block) largest |x| */
    float *weight;     /* (columns of the block, lanes), changed */
    float *reach;      /* the same shape, 1 at first: how far a step may move a margin; changed */
    uint8_t *rest;     /* (columns of the block), 0 at first */
    const uint32_t *order;
    uint64_t count;
    uint32_t lanes;
    float cost, spread;
    /* (2, lanes) or NULL. Not NULL: looks only, and nothing is changed. The first row becomes at
     * least the largest |slope| of cost x losses, the second grows by the sum of slope x weight. */
    double *look;
    float *work;   /* NUM_LINEAR_WORK(lanes) */
    double *slope; /* (2, lanes) workspace */
};

struct num_linear_sgd {
    const uint32_t *order;
    uint64_t count;
    double step;  /* w -= step x (decay x w + d/dw cost x loss of one row), decay x step below 1 */
    double decay; /* 1 / rows of the whole set */
    float *work;  /* NUM_LINEAR_WORK(lanes) */
};

struct num_linear_ops {
    const char *name;
    /* Returns the sum of cost x loss. */
    double (*gradient)(const struct num_linear *p, const float *w, struct num_linear_slope *out);
    /* out (columns, lanes) += the Hessian of the loss, whose curves are given, times v. */
    void (*hessian)(const struct num_linear *p, const float *curve, const float *v, float *work,
                    float *out);
    /* out (columns, lanes) += the Hessian's diagonal. */
    void (*diagonal)(const struct num_linear *p, const float *curve, float *work, float *out);
    /* Of a smoothed hinge with these margins and centers: out[i] += d/dt of cost x loss at w + t v, for each
     * length t of num_linear_step; along (rows, lanes): what t = 1 adds to the margins. */
    void (*line)(const struct num_linear *p, const float *margin, const float *center,
                 const float *v, float *work, float *along, double out[NUM_LINEAR_STEPS]);
    /* One lane: out (columns, columns), lower half += the Hessian. For few columns. */
    void (*gram)(const struct num_linear *p, const float *curve, float *out);
    /* Dual coordinate ascent over dual->order: alpha changes in place, and w by spread x the sum of
     * +-(change of alpha) x_i: with spread 1 w stays the sum of +-alpha x_i; with more, w is a
     * private copy and what it gained, divided by spread (`change`), goes to the shared one. Then
     * the dual objective rises whatever other `spread - 1` passes over other rows add meanwhile.
     * Returns the duality gap of the visited rows, each as it was found, and *out_loss their
     * cost x loss: true when nothing moves any more, an estimate (often low) before. */
    double (*dual)(const struct num_linear *p, struct num_linear_dual *dual, float *w,
                   double *out_loss);
    /* Coordinate descent over p->order; z: (rows, lanes) margins, private copy and spread as
     * above. Every step lowers the objective. Returns the sum of |subgradient| as found: exact of
     * one that is still. */
    double (*lasso)(const struct num_linear_lasso *p, float *z);
    void (*sgd)(const struct num_linear *p, const struct num_linear_sgd *sgd, float *w);
    /* to, base: (count, lanes) = rows map[0 .. count - 1] of `table`. */
    void (*take)(const uint32_t *map, size_t count, size_t lanes, const float *table, float *to,
                 float *base);
    /* base = (to - base) / spread: what a private copy gained. */
    void (*change)(size_t size, const float *to, float spread, float *base);
};

/* The fastest this machine has of at most lanes_max lanes (1: plain C). */
const struct num_linear_ops *num_linear_ops_find(uint32_t lanes_max);

enum num_linear_way {
    NUM_LINEAR_GRAM,   /* Newton's method, Hessian summed up and factored */
    NUM_LINEAR_NEWTON, /* Newton's method, conjugate gradients over Hessian passes */
    NUM_LINEAR_DUAL,   /* dual coordinate ascent */
    NUM_LINEAR_LASSO   /* coordinate descent by columns */
};

/* The way that is fastest for a set of this shape (entries: of the whole matrix). No way fits an
 * absolute penalty with another loss than the logistic: callers refuse that first. */
enum num_linear_way num_linear_choose(const struct num_csr *x, uint64_t entries, uint32_t lanes,
                                      enum num_linear_loss loss, enum num_linear_penalty penalty);

void num_linear_norms(const struct num_csr *x, float *out); /* (rows) squared lengths */
void num_linear_peaks(const struct num_csr *x, float *out); /* (rows) largest |value| */

/* The rows to visit in pass number `pass`, shuffled: those that moved lately always, others the
 * more seldom the longer they have rested, at least every NUM_LINEAR_REST passes. Returns how many
 * of `order` (rows) are filled. */
enum { NUM_LINEAR_REST = 8 };
uint64_t num_linear_order(struct base_rand *rand, const uint8_t *rest, uint64_t rows, uint64_t pass,
                          uint32_t *order);

/* The specification of a solution, in doubles, for small problems: what is minimised, and w
 * (columns, lanes) that minimises it after at most `rounds` rounds of a slow method. A hinge takes
 * NUM_LINEAR_SQUARES only. On failure (memory, arguments) the outputs are untouched. */
double num_linear_objective_reference(const struct num_linear *p, enum num_linear_penalty penalty,
                                      const double *w);
shoal_status num_linear_solve_reference(const struct base_alloc *alloc, const struct num_linear *p,
                                        enum num_linear_penalty penalty, uint32_t rounds,
                                        double *out_w, double *out_objective);

#endif
