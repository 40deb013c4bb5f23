/* gen.h - made-up data of any size with a planted truth: sparse rows with labels, ratings, documents
 * with topics, and rows for regression.
 *
 * Same options and seed give the same bytes on every machine and for every number of threads: all
 * draws are counted (a row or a user has a stream of its own) and all arithmetic is IEEE basic
 * operations. A generator is immutable after it was made, so any thread may use it; its memory
 * grows with columns x classes (sparse, more than 2 classes), users and items (ratings), topics
 * (documents) or columns (regression), never with what is made. Filling memory and writing text
 * give the same data: data_svm_load of what data_gen_sparse_write wrote equals
 * data_gen_sparse_fill. How the data comes about is told on top of gen_*.c. Tests:
 * tests/unit/data/test_gen.c, test_gen_corpus.c, test_gen_regression.c. */
#ifndef DATA_GEN_H
#define DATA_GEN_H

#include "data/corpus.h"
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

/* ---- documents with topics ---- */

enum { DATA_GEN_TOPICS_MAX = 1 << 24, DATA_GEN_MIXED_MAX = 256 };
#define DATA_GEN_BACKGROUND UINT32_MAX /* in place of a topic */

struct data_gen_corpus_opts {
    uint64_t documents; /* 1 .. 2^40 */
    uint32_t words;     /* of the vocabulary, 1 .. DATA_CORPUS_WORDS_MAX */
    uint32_t topics;
    uint32_t mixed;    /* a document has 1 to 2 * mixed - 1 topics, as many on average */
    double length;     /* mean tokens of a document, 1 .. 10^7 */
    double spread;     /* of lengths: the deviation of their logarithm, 0 .. 2 */
    double background; /* share of tokens that come from no topic */
    uint64_t seed;
};
#define DATA_GEN_CORPUS_OPTS                                                                      \
    {                                                                                             \
        .documents = 1000, .words = 5000, .topics = 20, .mixed = 3, .length = 100, .spread = 0.6, \
        .background = 0.2, .seed = 1                                                              \
    }

struct data_gen_corpus;

/* SHOAL_E_INVAL in words for options out of range. */
SHOAL_MUST_USE shoal_status data_gen_corpus_new(const struct base_alloc *alloc,
                                                const struct data_gen_corpus_opts *opts,
                                                struct data_gen_corpus **out, shoal_err *err);
void data_gen_corpus_free(struct data_gen_corpus *gen); /* NULL is allowed */
/* In memory, without names. On failure *out is untouched. */
SHOAL_MUST_USE shoal_status data_gen_corpus_fill(shoal_env *env, const struct data_gen_corpus *gen,
                                                 const struct data_gen_run *run,
                                                 struct data_corpus *out, shoal_err *err);
/* As UCI bag of words (made twice: its header has the number of lines), else as text, where word w
 * is called "w" and w + 1. */
SHOAL_MUST_USE shoal_status data_gen_corpus_write(shoal_env *env, const struct data_gen_corpus *gen,
                                                  bool uci, const struct data_gen_run *run,
                                                  const struct data_sink *sink,
                                                  uint64_t *out_tokens, shoal_err *err);
/* As binary corpus; run->done counts documents. */
SHOAL_MUST_USE shoal_status data_gen_corpus_save(shoal_env *env, const struct data_gen_corpus *gen,
                                                 const struct data_gen_run *run, const char *path,
                                                 uint64_t *out_tokens, uint64_t *out_bytes,
                                                 shoal_err *err);

/* The truth: word number `rank` of a topic, from its most frequent one down; the probability of a
 * word in a topic or the background; the topics of a document with their weights, which sum to 1 (a
 * topic may be there twice; room for 2 * mixed - 1). */
uint32_t data_gen_corpus_word(const struct data_gen_corpus *gen, uint32_t topic, uint32_t rank);
double data_gen_corpus_share(const struct data_gen_corpus *gen, uint32_t topic, uint32_t word);
uint32_t data_gen_corpus_mixture(const struct data_gen_corpus *gen, uint64_t document,
                                 uint32_t *out_topic, double *out_weight);
/* As text, a topic a line: number, share of documents' topics, then WORD:PROBABILITY of its most
 * frequent words, `words` of them at most. Topics and words count from 1. */
SHOAL_MUST_USE shoal_status data_gen_corpus_truth(const struct data_gen_corpus *gen, uint32_t words,
                                                  const struct data_sink *sink, shoal_err *err);

/* ---- rows for regression ---- */

struct data_gen_regression_opts {
    uint64_t rows;      /* 1 .. 2^48 */
    uint32_t columns;   /* 1 .. DATA_SVM_INDEX_MAX */
    double density;     /* share of entries that are not 0, above 0; 1: dense */
    double correlation; /* of neighbouring columns, 0 to 0.999; lag l: its l-th power */
    uint32_t block;     /* columns that are correlated, then a fresh start; 0: all in one */
    uint32_t truly;     /* columns with a coefficient, at most `columns` */
    double noise;       /* its deviation; what the columns explain has about 1 */
    uint64_t seed;
};
#define DATA_GEN_REGRESSION_OPTS                                                         \
    {                                                                                    \
        .rows = 1000, .columns = 1000, .density = 0.05, .correlation = 0.5, .truly = 20, \
        .noise = 0.5, .seed = 1                                                          \
    }

struct data_gen_regression;

/* SHOAL_E_INVAL in words for options out of range. */
SHOAL_MUST_USE shoal_status data_gen_regression_new(const struct base_alloc *alloc,
                                                    const struct data_gen_regression_opts *opts,
                                                    struct data_gen_regression **out,
                                                    shoal_err *err);
void data_gen_regression_free(struct data_gen_regression *gen); /* NULL is allowed */
/* In memory; x.columns is opts.columns. On failure *out is untouched. */
SHOAL_MUST_USE shoal_status data_gen_regression_fill(shoal_env *env,
                                                     const struct data_gen_regression *gen,
                                                     const struct data_gen_run *run,
                                                     struct data_svm *out, shoal_err *err);
/* As LIBSVM text with numbers as labels; *out_entries is how many were written. */
SHOAL_MUST_USE shoal_status data_gen_regression_write(shoal_env *env,
                                                      const struct data_gen_regression *gen,
                                                      const struct data_gen_run *run,
                                                      const struct data_sink *sink,
                                                      uint64_t *out_entries, shoal_err *err);
/* The truth: (columns) coefficients, most of them 0. Borrowed. */
const float *data_gen_regression_coefficients(const struct data_gen_regression *gen);
/* As text: "COLUMN COEFFICIENT" of those that are not 0, columns from 1. */
SHOAL_MUST_USE shoal_status data_gen_regression_truth(const struct data_gen_regression *gen,
                                                      const struct data_sink *sink, shoal_err *err);

#endif
