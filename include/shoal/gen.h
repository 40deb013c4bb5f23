/* gen.h - made-up training data, price histories and workloads, of any size, with a planted truth.
 *
 * Each kind has its options, their rows (what they mean, their ranges and defaults: `shoal gen KIND --help`,
 * `shoal trace gen --help`) and one call. As `shoal gen ratings --users 500 --output r.csv`:
 *
 *     shoal_gen_ratings_opts opts;
 *     shoal_gen_ratings_opts_init(&opts);
 *     opts.users = 500;
 *     opts.to.output = "r.csv";
 *     if (shoal_gen_ratings(env, &opts, NULL, &result, &err) == SHOAL_OK)
 *         printf("%.0f bytes\n", shoal_result_number(result, 0, "bytes"));
 *     shoal_result_free(result);
 *
 * Same options and seed give the same bytes on every machine and for every number of threads. Data goes out as
 * it is made: memory does not grow with it. A file takes its name when it is whole. */
#ifndef SHOAL_GEN_H
#define SHOAL_GEN_H

#include "shoal/env.h"
#include "shoal/opt.h"
#include "shoal/result.h"
#include "shoal/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shoal_gen_to {
    const char *output; /* path; "-": text goes to `put`, in order, on the caller's thread */
    shoal_put_fn put;   /* returns false to give up: SHOAL_E_IO */
    void *ctx;
    const char *truth; /* a file for what was planted: topics or coefficients; NULL: none */
} shoal_gen_to;

/* Sparse rows with labels that a linear model explains, as LIBSVM text. */
typedef struct shoal_gen_sparse_opts {
    size_t struct_size; /* set by shoal_gen_sparse_opts_init; lets the struct grow */
    shoal_gen_to to;
    uint64_t seed, threads;
    uint64_t rows, columns;
    uint64_t nonzeros; /* a row has 1 to 2 * nonzeros - 1 values; 0: 20, or all columns */
    uint64_t classes;  /* 2: labels -1 and 1; more: 1 .. classes; 0: numbers */
    double noise;      /* classes: share of labels drawn blindly; numbers: its deviation */
    double signal;     /* deviation of the margin */
    bool ones;         /* every value is 1 */
} shoal_gen_sparse_opts;

/* Ratings with a planted low rank, as CSV. */
typedef struct shoal_gen_ratings_opts {
    size_t struct_size;
    shoal_gen_to to;
    uint64_t seed, threads;
    uint64_t users, items;
    uint64_t ratings; /* 0: 20000, or all */
    uint64_t rank;    /* of the planted matrix, besides biases */
    double noise;
    bool unrounded; /* values to four places, not half stars */
} shoal_gen_ratings_opts;

/* Documents with planted topics, as bags of words, text or a binary corpus. */
typedef struct shoal_gen_corpus_opts {
    size_t struct_size;
    shoal_gen_to to;
    uint64_t seed, threads;
    uint64_t documents, words, topics;
    uint64_t mixed; /* a document has 1 to 2 * mixed - 1 topics */
    double length, spread, background;
    uint32_t format; /* SHOAL_GEN_UCI, _TEXT or _BINARY, which needs a file */
} shoal_gen_corpus_opts;

enum { SHOAL_GEN_UCI, SHOAL_GEN_TEXT, SHOAL_GEN_BINARY };

/* Rows for regression: correlated columns, of which few have a coefficient, as LIBSVM text. */
typedef struct shoal_gen_regression_opts {
    size_t struct_size;
    shoal_gen_to to;
    uint64_t seed, threads;
    uint64_t rows, columns;
    uint64_t nonzeros;  /* of a column on average, in place of a density; 0: not given */
    double density;     /* share of values that are not 0; 0: 0.05 */
    bool dense;         /* all of them are there */
    double correlation; /* of neighbouring columns; lag l: its l-th power */
    uint64_t block;     /* columns that are correlated, then a fresh start; 0: all in one */
    const char *truly;  /* how many columns have a coefficient, a number; NULL: 20, or all */
    double noise;       /* its deviation; what the columns explain has about 1 */
} shoal_gen_regression_opts;

/* A history of prices for `shoal market`, as Shoal's CSV. */
typedef struct shoal_gen_prices_opts {
    size_t struct_size;
    shoal_gen_to to;
    uint64_t seed;
    const char
        *kinds; /* "small:V100:1=3.06,large:V100:8=24.48": name, accelerator, how many, price */
    const char *from;
    uint64_t regions, zones; /* zones in each region */
    double days;
    double changes_day; /* of one offer, on average */
    double swing;       /* standard deviation of the logarithm of the level */
} shoal_gen_prices_opts;

/* A workload from published distributions, as Shoal's CSV of jobs. 0 means "not given". Arrivals follow from
 * rate_h, else load and gpus, else jobs and days, else a load of 0.8 on 64 GPUs. With a load, jobs or days are
 * given, not both. The trace ends after `jobs` jobs or `days` days, whichever comes first; with neither, after
 * 1,000 jobs. */
typedef struct shoal_gen_trace_opts {
    size_t struct_size;
    shoal_gen_to to;
    uint64_t seed;
    uint32_t shape; /* SHOAL_GEN_GAVEL ... */
    uint64_t jobs;
    double rate_h; /* jobs per hour */
    double load;   /* GPU time asked for over the time of `gpus` GPUs in the length of the trace */
    uint64_t gpus;
    double days;
    double duration_max_s; /* longer jobs are not drawn */
    uint64_t gpus_max;     /* larger jobs are not drawn; 0: no limit, or `gpus` with a load */
    bool durations;        /* Pollux's shape: plain durations in place of model and batch */
    const char *profiles;  /* Gavel's shapes: models of this throughput table; NULL: none */
} shoal_gen_trace_opts;

enum {
    SHOAL_GEN_GAVEL,       /* single GPUs */
    SHOAL_GEN_GAVEL_MULTI, /* 1, 2, 4 and 8 GPUs */
    SHOAL_GEN_POLLUX,
    SHOAL_GEN_PHILLY,
    SHOAL_GEN_SHAPES
};

/* The options as rows; their offsets are those of the structs. Any thread. */
SHOAL_API const shoal_opt *shoal_gen_sparse_opt_rows(size_t *out_count);
SHOAL_API const shoal_opt *shoal_gen_ratings_opt_rows(size_t *out_count);
SHOAL_API const shoal_opt *shoal_gen_corpus_opt_rows(size_t *out_count);
SHOAL_API const shoal_opt *shoal_gen_regression_opt_rows(size_t *out_count);
SHOAL_API const shoal_opt *shoal_gen_prices_opt_rows(size_t *out_count);
SHOAL_API const shoal_opt *shoal_gen_trace_opt_rows(size_t *out_count);
/* What its results have: one field after the other, with unit and meaning. Any thread. */
SHOAL_API const shoal_schema *shoal_gen_schema(void);
SHOAL_API void shoal_gen_sparse_opts_init(shoal_gen_sparse_opts *opts);
SHOAL_API void shoal_gen_ratings_opts_init(shoal_gen_ratings_opts *opts);
SHOAL_API void shoal_gen_corpus_opts_init(shoal_gen_corpus_opts *opts);
SHOAL_API void shoal_gen_regression_opts_init(shoal_gen_regression_opts *opts);
SHOAL_API void shoal_gen_prices_opts_init(shoal_gen_prices_opts *opts);
SHOAL_API void shoal_gen_trace_opts_init(shoal_gen_trace_opts *opts);

/* Makes the data. On success *out_result is the caller's, freed by shoal_result_free before `env`: one record of
 * what was made and where it went. SHOAL_E_INVAL in words for options out of range or that contradict each
 * other, SHOAL_E_CANCELLED after the watch (NULL is allowed) was stopped; no file is left then. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_gen_sparse(shoal_env *env,
                                                       const shoal_gen_sparse_opts *opts,
                                                       shoal_watch *watch,
                                                       const shoal_result **out_result,
                                                       shoal_err *err);
SHOAL_API SHOAL_MUST_USE shoal_status shoal_gen_ratings(shoal_env *env,
                                                        const shoal_gen_ratings_opts *opts,
                                                        shoal_watch *watch,
                                                        const shoal_result **out_result,
                                                        shoal_err *err);
SHOAL_API SHOAL_MUST_USE shoal_status shoal_gen_corpus(shoal_env *env,
                                                       const shoal_gen_corpus_opts *opts,
                                                       shoal_watch *watch,
                                                       const shoal_result **out_result,
                                                       shoal_err *err);
SHOAL_API SHOAL_MUST_USE shoal_status shoal_gen_regression(shoal_env *env,
                                                           const shoal_gen_regression_opts *opts,
                                                           shoal_watch *watch,
                                                           const shoal_result **out_result,
                                                           shoal_err *err);
SHOAL_API SHOAL_MUST_USE shoal_status shoal_gen_prices(shoal_env *env,
                                                       const shoal_gen_prices_opts *opts,
                                                       shoal_watch *watch,
                                                       const shoal_result **out_result,
                                                       shoal_err *err);
SHOAL_API SHOAL_MUST_USE shoal_status shoal_gen_trace(shoal_env *env,
                                                      const shoal_gen_trace_opts *opts,
                                                      shoal_watch *watch,
                                                      const shoal_result **out_result,
                                                      shoal_err *err);

#ifdef __cplusplus
}
#endif
#endif
