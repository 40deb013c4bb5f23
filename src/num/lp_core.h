/* lp_core.h - what the files of the linear program share. lp.c says how it works.
 *
 *   lp.c        the climb, and what is read from its end
 *   lp_store.c  memory, columns, scaling
 *   lp_basis.c  the inverse of the basis, and the solution it gives
 *   lp_step.c   one step: prices, who enters, who leaves
 *
 * Owner thread only. */
#ifndef NUM_LP_CORE_H
#define NUM_LP_CORE_H

#include "num/lp.h"
#include <stdint.h>

enum {
    LP_LANES = 8,
    LP_BLOCK = 8,
    LP_DENSE_ROWS_MAX = 40, /* up to here structural columns are kept dense */
    LP_NOWHERE = -1
};

/* Two doubles handled at once, wherever they lie: what every 64-bit machine has. Wider vectors are
 * lowered through memory where the machine lacks them. */
typedef double lp_vec2 __attribute__((vector_size(16), aligned(8), may_alias));

struct lp_column {
    double cost;   /* scaled */
    double scale;  /* caller's value = scale x value here */
    double weight; /* 1 / length */
    int32_t where; /* position in the basis or LP_NOWHERE */
};

struct num_lp {
    const struct base_alloc *alloc;
    uint32_t rows, pitch; /* pitch: rows padded to LP_LANES */
    bool scaled;          /* row scales are set */
    bool doubtful;        /* a column was turned down that the rows were for and the basis not */
    bool fresh;           /* no pivot since the inverse was rebuilt */
    uint32_t since_rebuild;
    uint64_t pivots;
    uint64_t draws; /* of w */
    double bound_scale;

    void *memory;
    double *inverse; /* (rows, pitch): column c of the inverse at c x pitch */
    double *b, *row_scale;
    double *x, *w;      /* (pitch) of the basic variable in each position */
    double *basic_cost; /* (pitch) in the current phase */
    double *y, *dual;   /* (pitch) scaled duals; duals of the caller's rows */
    double *alpha;      /* (pitch) entering column in terms of the basis */
    double *work;
    double *gap, *logical_d;
    int32_t *head;  /* (rows) structural column >= 0, or ~row for a logical */
    int32_t *where; /* (rows) position of the logical of a row, or LP_NOWHERE */
    int32_t *todo;  /* (rows) of rebuild: columns to pivot in */
    bool *equal;
    bool *open; /* (rows) of rebuild: rows whose logical is not in the basis */

    struct lp_column *columns;
    double *d; /* reduced costs */
    size_t count, column_cap, d_cap;
    double *block; /* dense: (blocks, rows, LP_BLOCK) */
    size_t block_cap;
    size_t *start; /* sparse: (count + 1) */
    double *value;
    uint16_t *row;
    size_t start_cap, value_cap, row_cap;
};

/* The entries of a structural column: value[k x stride] in row row[k], or in row k where row is
 * NULL. */
struct lp_entries {
    double *value;
    const uint16_t *row;
    size_t count, stride;
};

static inline bool lp_is_dense(const struct num_lp *lp)
{
    return lp->rows <= LP_DENSE_ROWS_MAX;
}

static inline struct lp_entries lp_column_entries(const struct num_lp *lp, size_t j)
{
    if (lp_is_dense(lp)) {
        double *first = lp->block + j / LP_BLOCK * ((size_t)lp->rows * LP_BLOCK) + j % LP_BLOCK;
        return (struct lp_entries){first, NULL, lp->rows, LP_BLOCK};
    }
    size_t begin = lp->start[j];
    return (struct lp_entries){lp->value + begin, lp->row + begin, lp->start[j + 1] - begin, 1};
}

static inline size_t lp_entry_row(const struct lp_entries *e, size_t k)
{
    return e->row == NULL ? k : e->row[k];
}

/* y += a x over n doubles, n a multiple of LP_LANES */
static inline void lp_add_scaled(double *restrict y, double a, const double *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i += LP_LANES) {
        for (size_t k = 0; k < LP_LANES; k += 2)
            *(lp_vec2 *)(y + i + k) += a * *(const lp_vec2 *)(x + i + k);
    }
}

static inline double lp_dot(const double *restrict x, const double *restrict y, size_t n)
{
    lp_vec2 s[LP_LANES / 2] = {{0, 0}};
    for (size_t i = 0; i < n; i += LP_LANES) {
        for (size_t k = 0; k < LP_LANES; k += 2)
            s[k / 2] += *(const lp_vec2 *)(x + i + k) * *(const lp_vec2 *)(y + i + k);
    }
    lp_vec2 sum = (s[0] + s[1]) + (s[2] + s[3]);
    return sum[0] + sum[1];
}

static inline double *lp_inverse_column(const struct num_lp *lp, size_t c)
{
    return lp->inverse + c * lp->pitch;
}

static inline bool lp_is_fixed(const struct num_lp *lp, size_t position)
{
    int32_t v = lp->head[position];
    return v < 0 && lp->equal[~v];
}

/* fmax without its care for NaN, which keeps it from being one instruction. */
static inline double lp_larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double lp_smaller(double a, double b)
{
    return a < b ? a : b;
}

/* The row that the logical v < 0 belongs to. */
static inline size_t lp_logical_row(int32_t v)
{
    return (size_t)(-(int64_t)v - 1);
}

/* lp_store.c: with the basis of logicals, before the first pivot. */
void num_lp_scale_rows(struct num_lp *lp);

/* lp_basis.c */

/* The basis of all logicals, whose matrix is the unit matrix. */
void num_lp_unit_basis(struct num_lp *lp);
/* out = inverse x column of variable v */
void num_lp_forward(const struct num_lp *lp, int32_t v, double *out);
/* Column `alpha` (in terms of the basis) takes position r; y rises by gain x new row r. */
void num_lp_pivot_inverse(struct num_lp *lp, const double *alpha, size_t r, double gain);
void num_lp_move_out(struct num_lp *lp, int32_t v);
void num_lp_move_in(struct num_lp *lp, int32_t v, size_t position);
/* Another w: numbers in [1/2, 1) that look unrelated, the same in every run. */
void num_lp_draw_ties(struct num_lp *lp);
/* x = inverse x b, refined; returns the residual it had at first, relative to b. */
double num_lp_recompute_x(struct num_lp *lp);
/* y = basic_cost x inverse */
void num_lp_recompute_y(struct num_lp *lp);
/* Refines y; returns the residual it had at first, relative to the costs. */
double num_lp_refine_y(struct num_lp *lp);
/* Rebuilds the inverse from the unit matrix, basic columns in order of their number of entries. A
 * column that depends on the others is left out; the logical of its row takes its place. */
void num_lp_rebuild(struct num_lp *lp);

/* lp_step.c */

/* Sets basic_cost for the phase that x calls for; returns 1 or 2. */
int num_lp_choose_phase(struct num_lp *lp);
/* Reduced costs of all variables. */
void num_lp_price(struct num_lp *lp, int phase);
/* Finds a variable worth entering and leaves its column in alpha; false: none is. */
bool num_lp_find_entering(struct num_lp *lp, int phase, bool strict, int32_t *out_variable,
                          double *out_gain);
/* Does not look at it again until the next pricing. */
void num_lp_reject(struct num_lp *lp, int32_t v);
/* The row that blocks the entering column first; rows: none does. */
size_t num_lp_find_leaving(struct num_lp *lp, double *out_step);
/* Variable v, whose column is in alpha, takes position r. */
void num_lp_take_step(struct num_lp *lp, int32_t v, size_t r, double step, double gain);

#endif
