/* advise.h - which algorithm on how many machines reaches a loss first, or for the least money, from a few short runs.
 *
 * The answer says how sure it is; where that is too little, it names the run that would help most in place of a
 * choice. As `shoal advise runs.csv --within 1% --price 0.40`:
 *
 *     const char *runs[] = {"runs.csv"};
 *     shoal_advise_opts opts;
 *     shoal_advise_opts_init(&opts);
 *     opts.runs = runs;
 *     opts.run_count = 1;
 *     opts.within = "1%";
 *     opts.price = 0.40;
 *     if (shoal_advise_run(env, &opts, NULL, &result, &err) == SHOAL_OK)
 *         printf("%s", result->verdict);
 *     shoal_result_free(result);
 *
 * docs/advise.md says what runs are, what can be asked and how it is answered. Same runs, options and seed give the
 * same answer. Any thread, but for the watch's own rules. */
#ifndef SHOAL_ADVISE_H
#define SHOAL_ADVISE_H

#include "shoal/env.h"
#include "shoal/opt.h"
#include "shoal/result.h"
#include "shoal/watch.h"
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What each member means, its range and its default say the rows: `shoal advise --help`. Numbers that are texts are
 * not given where they are NULL. */
typedef struct shoal_advise_opts {
    size_t struct_size; /* set by shoal_advise_opts_init; lets the struct grow */
    const char *const
        *runs;        /* files: CSV, or what `shoal train --json` prints; "-" is standard input */
    size_t run_count; /* 0: only with `plan` */
    const char *target, *within, *best, *deadline, *machines, *size;
    double price, start_s, change_s;
    bool plan; /* which runs to make, in place of a choice */
    double budget;
    const char *data;
    const char *save; /* a file for the fitted models; "-": standard output */
    uint64_t seed;
    bool pictures; /* keep what the pages of results show */
} shoal_advise_opts;

/* The options as rows; their offsets are those of shoal_advise_opts. Any thread. */
SHOAL_API const shoal_opt *shoal_advise_opt_rows(size_t *out_count);
/* What its results have: one field after the other, with unit and meaning; and with `plan`. Any thread. */
SHOAL_API const shoal_schema *shoal_advise_schema(void);
SHOAL_API const shoal_schema *shoal_advise_plan_schema(void);
SHOAL_API void shoal_advise_opts_init(shoal_advise_opts *opts);

/* Reads the runs, fits them and answers; writes `save`, if that is given. On success *out_result is the caller's, freed
 * by shoal_result_free: one record, with a list of candidates, or of runs to make. SHOAL_E_INVAL for options that
 * contradict each other, SHOAL_E_IMPOSSIBLE where too little was measured or the loss is not reached (the hint says what
 * would help), SHOAL_E_CANCELLED after the watch (NULL is allowed) was stopped. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_advise_run(shoal_env *env,
                                                       const shoal_advise_opts *opts,
                                                       shoal_watch *watch,
                                                       const shoal_result **out_result,
                                                       shoal_err *err);

#ifdef __cplusplus
}
#endif
#endif
