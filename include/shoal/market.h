/* market.h - where and when to buy instances for work that can move, replayed on a history of prices.
 *
 *     const char *prices[] = {"prices.csv"};
 *     shoal_market_opts opts;
 *     shoal_market_opts_init(&opts);
 *     opts.prices = prices;
 *     opts.price_count = 1;
 *     opts.work = "20d";
 *     opts.deadline = "25d";
 *     if (shoal_market_run(env, &opts, NULL, &result, &err) == SHOAL_OK)
 *         printf("%s", result->verdict);
 *     shoal_result_free(result);
 *
 * Same history, options and seed give the same result. Any thread, but for the watch's own rules. */
#ifndef SHOAL_MARKET_H
#define SHOAL_MARKET_H

#include "shoal/env.h"
#include "shoal/opt.h"
#include "shoal/result.h"
#include "shoal/watch.h"
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What each member means, its range and its default say the rows: `shoal market --help`. */
typedef struct shoal_market_opts {
    size_t struct_size;        /* set by shoal_market_opts_init; lets the struct grow */
    const char *const *prices; /* files or folders of prices; "-" is standard input */
    size_t price_count;
    const char *kinds, *clouds, *regions, *zones; /* NULL: all */
    const char *speed, *model, *model_name, *work, *start, *deadline, *jobs;
    const char *availability, *interruptions, *strategy, *transfer, *egress;
    double budget, startup_s, checkpoint_s, checkpoint_every_s, notice_s, step_s, cell_s;
    uint64_t instances, checkpoint_size, seed, threads;
    uint32_t format; /* of the prices; 0: recognised */
    bool bare, availability_cut, no_bound;
    bool moves;    /* keep where each job was, from when to when */
    bool pictures; /* keep what the pages of results show */
    shoal_opt_list limits, rates;
} shoal_market_opts;

/* The options as rows; their offsets are those of shoal_market_opts. Any thread. */
SHOAL_API const shoal_opt *shoal_market_opt_rows(size_t *out_count);
SHOAL_API void shoal_market_opts_init(shoal_market_opts *opts);
/* What a result has. */
SHOAL_API const shoal_schema *shoal_market_schema(void);

/* Reads the history, replays the strategies on it and proves what no plan can beat. On success *out_result is the
 * caller's, freed by shoal_result_free before `env`: one record, with lists of strategies and jobs. SHOAL_E_INVAL for
 * options that contradict each other, SHOAL_E_IMPOSSIBLE for work that cannot be done in time, SHOAL_E_CANCELLED after
 * the watch (NULL is allowed) was stopped, with what was replayed by then. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_market_run(shoal_env *env,
                                                       const shoal_market_opts *opts,
                                                       shoal_watch *watch,
                                                       const shoal_result **out_result,
                                                       shoal_err *err);

#ifdef __cplusplus
}
#endif
#endif
