/* gen.h - made-up data of any size with a planted truth: sparse rows with labels, and ratings.
 *
 * Same options and seed give the same bytes on every machine and for every number of threads: all
 * draws are counted (a row or a user has a stream of its own) and all arithmetic is IEEE basic
 * operations. A generator is immutable after it was made, so any thread may use it; its memory
 * grows with columns x classes (sparse, more than 2 classes) or users and items (ratings), never
 * with what is made. Filling memory and writing text give the same data: data_svm_load of what
 * data_gen_sparse_write wrote equals data_gen_sparse_fill. How the data comes about is told on top
 * of gen_sparse.c and gen_ratings.c. Tests: tests/unit/data/test_gen.c. */
#ifndef DATA_GEN_H
#define DATA_GEN_H

#include "data/ratings.h"
#include "data/svm.h"

/* Where text goes, in order; a failure stops the work. */
struct data_sink {
    shoal_status (*put)(void *ctx, const char *text, size_t size, shoal_err *err);
    void *ctx;
};

struct data_gen_run {           /* all zero: the defaults */
    uint32_t threads;           /* 0: one per CPU */
    const atomic_bool *stop;    /* set: give up with SHOAL_E_CANCELLED; NULL: never */
    atomic_uint_fast64_t *done; /* rows or ratings made so far; NULL: not wanted */
};

/* ---- sparse rows ---- */

struct data_gen_sparse_opts {
    uint64_t rows;     /* 1 .. 2^48 */
    uint32_t columns;  /* 1 .. DATA_SVM_INDEX_MAX */
    uint32_t nonzeros; /* a row has 1 to 2 * nonzeros - 1 entries, as many on average */
    uint32_t classes;  /* 2: labels -1 and 1; more: 1 .. classes; 0: numbers */
    double noise;      /* classes: share of labels drawn blindly; numbers: its deviation */
    double signal;     /* deviation of the margin: the larger, the surer the labels; 4 */
    bool ones;         /* every value is 1 */
    uint64_t seed;
};
#define DATA_GEN_SPARSE_OPTS                                                                \
    {                                                                                       \
        .rows = 1000, .columns = 1000, .nonzeros = 20, .classes = 2, .signal = 4, .seed = 1 \
    }

struct data_gen_sparse;

/* SHOAL_E_INVAL in words for options out of range. */
SHOAL_MUST_USE shoal_status data_gen_sparse_new(const struct base_alloc *alloc,
                                                const struct data_gen_sparse_opts *opts,
                                                struct data_gen_sparse **out, shoal_err *err);
void data_gen_sparse_free(struct data_gen_sparse *gen); /* NULL is allowed */
/* In memory; x.columns is opts.columns. On failure *out is untouched. */
SHOAL_MUST_USE shoal_status data_gen_sparse_fill(shoal_env *env, const struct data_gen_sparse *gen,
                                                 const struct data_gen_run *run,
                                                 struct data_svm *out, shoal_err *err);
/* As LIBSVM text; *out_entries is how many were written. */
SHOAL_MUST_USE shoal_status data_gen_sparse_write(shoal_env *env, const struct data_gen_sparse *gen,
                                                  const struct data_gen_run *run,
                                                  const struct data_sink *sink,
                                                  uint64_t *out_entries, shoal_err *err);

/* ---- ratings ---- */

enum { DATA_GEN_RANK_MAX = 1024 };

struct data_gen_ratings_opts {
    uint32_t users, items; /* 1 .. 2^31 - 1 */
    uint64_t ratings;      /* at most users * items */
    uint32_t rank;         /* of the planted matrix, besides biases; 0 .. DATA_GEN_RANK_MAX */
    double noise;          /* standard deviation */
    bool unrounded;        /* values to four places, not half stars from 0.5 to 5 */
    uint64_t seed;
};
#define DATA_GEN_RATINGS_OPTS                                                              \
    {                                                                                      \
        .users = 1000, .items = 500, .ratings = 20000, .rank = 8, .noise = 0.75, .seed = 1 \
    }

struct data_gen_ratings;

SHOAL_MUST_USE shoal_status data_gen_ratings_new(const struct base_alloc *alloc,
                                                 const struct data_gen_ratings_opts *opts,
                                                 struct data_gen_ratings **out, shoal_err *err);
void data_gen_ratings_free(struct data_gen_ratings *gen); /* NULL is allowed */
/* In memory, user by user: `out` has room for opts.ratings. */
SHOAL_MUST_USE shoal_status data_gen_ratings_fill(shoal_env *env,
                                                  const struct data_gen_ratings *gen,
                                                  const struct data_gen_run *run,
                                                  struct num_rating *out, shoal_err *err);
/* As CSV with a header; user u is called u + 1, item i is called i + 1. */
SHOAL_MUST_USE shoal_status data_gen_ratings_write(shoal_env *env,
                                                   const struct data_gen_ratings *gen,
                                                   const struct data_gen_run *run,
                                                   const struct data_sink *sink, shoal_err *err);

#endif
