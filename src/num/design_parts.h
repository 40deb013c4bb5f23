/* design_parts.h - what the files of design.h share: a problem in its own units, and a point of it.
 *
 * design.c checks, scales and finds the cheapest regular choice; design_search.c solves the relaxed
 * problem and proves the bound, makes a choice and improves it, and narrows what is between the two. */
#ifndef NUM_DESIGN_PARTS_H
#define NUM_DESIGN_PARTS_H

#include "base/room.h"
#include "num/design.h"
#include <stdint.h>

enum { DESIGN_N = NUM_DESIGN_COLUMNS_MAX };
#define DESIGN_ROUNDING 1e-9 /* what a bound gives away for it, of the value */

/* Only rows that the budget can pay for, divided by sigma and by the sizes of their columns; costs
 * in shares of the budget. */
struct design {
    struct base_room room; /* of the arrays */
    enum num_design_by by;
    size_t rows, columns;
    double *u;            /* (rows, columns) */
    uint8_t *used;        /* (rows, columns): the columns where a row is not 0, first used_count */
    uint8_t *used_count;  /* (rows) */
    double *cost;         /* (rows), in (0, 1] */
    uint32_t *from;       /* (rows): number in the problem */
    double *score, *rate; /* (rows), scratch: what a bit of a row gains, and for its cost */
    double *key;          /* (rows), scratch */
    uint32_t *order;      /* (rows), scratch */
    bool *other, *tried;  /* (rows), scratch */
    uint8_t *state;       /* (rows), enum design_state: what the relaxed problem may do */
    double known[DESIGN_N * DESIGN_N];
    double wanted[DESIGN_N * DESIGN_N]; /* A: the sum of at at' */
    double shift;                       /* D: what scaling took from the value */
    double pass;                        /* multiplications of a product with each row */
    double work;                        /* and those spent on improving choices so far */
};

enum design_state { DESIGN_FREE, DESIGN_IN, DESIGN_OUT };

/* An information matrix and what follows from it. */
struct design_point {
    double m[DESIGN_N * DESIGN_N];
    double inverse[DESIGN_N * DESIGN_N];
    double sure[DESIGN_N * DESIGN_N]; /* A: inverse wanted inverse; D: inverse */
    double value;                     /* without shift */
};

/* Rows i and j against a matrix: u_i' matrix u_j. */
double design_product(const struct design *d, const double *matrix, size_t i, size_t j);
/* m += by * u_i u_i' */
void design_add(const struct design *d, double *m, size_t i, double by);
/* All of a point from its m; false where that is singular. */
bool design_look(const struct design *d, struct design_point *p);
/* m of a choice, then the rest; false where it is singular. */
bool design_look_at_pick(const struct design *d, const bool *pick, struct design_point *p);

/* Exchanges of the amount t of row i (in) against row j (out): what both are to each other. */
struct design_pair {
    double p, q, r;    /* products by the inverse: i with i, j with j, i with j */
    double p2, q2, r2; /* the same by `sure` */
};
/* How much the value falls when i gains t and j loses t; -INFINITY where that is singular. */
double design_fall(const struct design *d, const struct design_pair *x, double t);

/* The columns that rows do not reach yet, as a growing basis of those they do. */
struct design_span {
    size_t rank, columns;
    double basis[DESIGN_N * DESIGN_N]; /* (rank, columns), orthonormal */
};
/* Adds a vector; false where it adds nothing. */
bool design_span_add(struct design_span *span, const double *v);
void design_span_known(const struct design *d, struct design_span *span);

/* Rows by rising key (number, among equals), each where it adds to the span and its cost still fits
 * `most`; whether they reach all columns. d->order is their order. */
bool design_basis(struct design *d, const double *key, double most, bool *pick);

/* In these p is scratch. `weight` (rows) is where to start, regular, within the budget and as
 * d->state says, and where it ends, nearly the least. A bound that no choice with this state is
 * below, without shift. */
double design_relax(struct design *d, double *weight, int steps_max, struct design_point *p);
/* Rows by falling weight, regular, within the budget; false: it would cost more. */
bool design_round(struct design *d, const double *weight, bool *pick);
/* Improves a regular choice by moves until none helps, or all work allowed is done, and starts again from
 * rows forced in, where that may help; its value without shift. */
double design_improve(struct design *d, bool *pick, struct design_point *p);
/* Adds rows to a regular choice while any is affordable, the most gained for its cost first. */
void design_fill(struct design *d, bool *pick, struct design_point *p);
double design_cost(const struct design *d, const bool *pick);

/* Narrows the gap between *value, of `pick`, and `bound`, both without shift, by fixing rows;
 * `weight` is the relaxed optimum, and scratch afterwards. Returns the new bound. Where memory is
 * short all stays as it was: the gap is then wider, and that is all. */
double design_branch(struct design *d, double *weight, bool *pick, bool *scratch, double *value,
                     double bound);

#endif
