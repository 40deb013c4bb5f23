/* compare.h - policies run side by side on one trace, and what is said about them.
 *
 *   api.c       the public face (shoal/sim.h): options, policies and their knobs, the runs
 *   fields.c    the result as records, with what there is to know beside them
 *   verdict.c   the result in words
 *   pictures.c  what its page shows besides, prices and shares among it; lanes.c: who holds what
 *
 * Owner thread only. Tests: tests/unit/sim/test_api.c, tests/cli/transcripts/sim*.txt. */
#ifndef SIM_COMPARE_H
#define SIM_COMPARE_H

#include "base/arena.h"
#include "base/watch.h"
#include "page/make.h"
#include "shoal/sim.h"
#include "sched/policy.h"
#include "sim/run.h"

enum { SIM_RUNS_MAX = 32 };

#define SIM_WORK_ERROR_MAX 10.0 /* nothing is told */

enum { SIM_SETS_MAX = 64 };

extern const char sim_cluster_default[]; /* where none is given */

/* A policy with knobs, as people write it: "las:quantum=30m:locality=strict". */
struct sim_choice {
    const struct sched_policy *policy;
    const char *sets[SIM_SETS_MAX]; /* "key=value", borrowed */
    size_t set_count;
};

/* Cuts `text` at its colons, in place; *out points into it. The knobs' names and values are checked
 * by sim_run. SHOAL_E_NOTFOUND for a policy that is not there. */
SHOAL_MUST_USE shoal_status sim_choice_parse(char *text, struct sim_choice *out, shoal_err *err);

/* One policy with its knobs, and what came of it. */
struct sim_compared {
    struct sim_choice choice;
    struct sim_opts opts;
    struct sim_result *result;
    shoal_status status;
    shoal_err err;
};

struct shoal_sim {
    shoal_env *env;
    shoal_sim_opts opts; /* its texts are those of `texts` */
    struct base_arena texts;
    struct sched_cluster cluster;
    struct sim_prices *prices;            /* NULL: those of the cluster */
    char prices_ignored[ENV_IGNORED_MAX]; /* their columns that were not known */
    struct sim_trace *trace;
    uint32_t story_job;
    bool default_cluster;     /* none was given */
    struct sim_compare *last; /* of the last successful run; NULL: none */
};

struct sim_compare {
    const struct shoal_sim *sim;
    shoal_watch *watch;
    struct base_buf words; /* the policy list, cut at its commas and colons */
    struct sim_compared runs[SIM_RUNS_MAX];
    const struct sim_result *results[SIM_RUNS_MAX]; /* of the runs, once all are done */
    size_t count;
    struct env_out *events;
};

/* fields.c: the result, which borrows nothing. */
SHOAL_MUST_USE shoal_status sim_compare_result(const struct sim_compare *c,
                                               const shoal_result **out_result, shoal_err *err);
extern const shoal_schema sim_schema;
/* verdict.c: what the records of the result say, in sentences. Of the policies whose worst-off jobs are worth a
 * look: the fastest, and the fairest or else the slowest. */
void sim_verdict_say(struct page_made *made, const struct sim_compare *c, size_t out_shown[2]);

/* ---- pictures of the result, which live with it; a failure sticks to `made` ---- */

struct sim_pictures {
    struct page_made *made;
    const struct sim_compare *c;
    double span_s; /* end of every axis of time, > 0 */
    const char *const *policies, *const *kinds;
    uint32_t kind_count;
    shoal_records
        *promises; /* one each result, of sim_promise_schema: filled in by the pictures of shares */
};

/* pictures.c: all of them. */
void sim_pictures_draw(struct page_made *made, const struct sim_compare *c,
                       const char *const *kinds, shoal_records *promises);
/* Lines of the share of GPUs held, for a cluster too large or too busy for lanes. */
void sim_picture_of_use(const struct sim_pictures *p, size_t index);
shoal_picture *sim_picture_of_cluster(const struct sim_pictures *p, size_t index, const char *name,
                                      size_t series, const char *note);
void sim_lanes_draw(const struct sim_pictures *p); /* lanes.c */
extern const shoal_schema sim_promise_schema;

#endif
