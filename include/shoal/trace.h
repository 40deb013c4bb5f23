/* trace.h - job traces described, and rewritten in Shoal's own CSV. Formats are recognised: docs/formats.md.
 *
 *     const char *traces[] = {"jobs.csv"};
 *     shoal_trace_opts opts;
 *     shoal_trace_opts_init(&opts);
 *     opts.traces = traces;
 *     opts.trace_count = 1;
 *     if (shoal_trace_info(env, &opts, &result, &err) == SHOAL_OK)
 *         printf("%.0f jobs\n", shoal_result_number(result, 0, "jobs"));
 *     shoal_result_free(result); */
#ifndef SHOAL_TRACE_H
#define SHOAL_TRACE_H

#include "shoal/env.h"
#include "shoal/opt.h"
#include "shoal/result.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What each member means say the rows: `shoal trace info --help`, `shoal trace convert --help`. */
typedef struct shoal_trace_opts {
    size_t struct_size;        /* set by shoal_trace_opts_init; lets the struct grow */
    const char *const *traces; /* paths; "-" is standard input */
    size_t trace_count;
    uint32_t format;      /* 0: recognised */
    const char *cluster;  /* info: the load on it, too; NULL: none */
    const char *profiles; /* info: speeds of models, with a cluster; NULL: none */
    const char *nodes;    /* convert: this node list becomes a cluster; then no traces */
    const char *output;   /* convert: path; "-": text goes to `put` */
    shoal_put_fn put;
    void *ctx;
} shoal_trace_opts;

/* The options of each as rows; their offsets are those of shoal_trace_opts. Any thread. */
SHOAL_API const shoal_opt *shoal_trace_info_opt_rows(size_t *out_count);
SHOAL_API const shoal_opt *shoal_trace_convert_opt_rows(size_t *out_count);
SHOAL_API void shoal_trace_opts_init(shoal_trace_opts *opts);

/* On success *out_result is the caller's, freed by shoal_result_free before `env`: one record of jobs, sizes,
 * durations and work; of convert, of what was read. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_trace_info(shoal_env *env, const shoal_trace_opts *opts,
                                                       const shoal_result **out_result,
                                                       shoal_err *err);
SHOAL_API SHOAL_MUST_USE shoal_status shoal_trace_convert(shoal_env *env,
                                                          const shoal_trace_opts *opts,
                                                          const shoal_result **out_result,
                                                          shoal_err *err);

#ifdef __cplusplus
}
#endif
#endif
