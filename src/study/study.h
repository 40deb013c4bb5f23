/* study.h - what is wrong with a cluster, from the trace of its jobs: where they waited and for
 * what, what spreading them out and failures cost, and what the guidelines of the Philly study
 * would save.
 *
 * The trace is replayed under the policy `philly` as it is (the base line), once for each guideline
 * and once with all of them; two echoes of the base line tell luck from effect. All that is done
 * again for each further draw of failures. Runs go in parallel. Quotas and failures are as load.h
 * and work.h say. Same trace, cluster, options and seed give the same study, whatever the
 * number of threads.
 *
 *     struct study *study;
 *     st = study_make(env, trace, &cluster, &opts, NULL, &study, &err);   a trace bound to the cluster
 *     puts(study_guidelines[study_first_step(study)].name);
 *     study_free(study);
 *
 * A study borrows trace and cluster, which must outlive it; it is immutable once made. One thread
 * makes it, any may read it. Tests: tests/unit/study/. */
#ifndef STUDY_STUDY_H
#define STUDY_STUDY_H

#include "page/make.h"
#include "shoal/study.h"
#include "study/load.h"
#include "study/tally.h"

enum study_run_id {
    STUDY_BASE,
    STUDY_LOCALITY,
    STUDY_MIGRATE,
    STUDY_DEDICATED,
    STUDY_TRIAL,
    STUDY_RETRY,
    STUDY_TOGETHER,
    STUDY_RUNS
};

/* A guideline as a row: what it is called, what an operator would do, and what it changes. */
struct study_guideline {
    const char *id;    /* "migrate", as in --json */
    const char *name;  /* "migrate to defragment" */
    const char *doing; /* what it means, one sentence without a full stop */
    const char *knob;  /* of the policy; NULL: none of its own */
    uint32_t parts;    /* bits 1 << enum study_run_id of the guidelines in it */
    uint32_t changes;  /* enum study_change */
};
extern const struct study_guideline study_guidelines[STUDY_RUNS];

enum {
    STUDY_SETS_MAX = SHOAL_OPT_LIST_MAX,
    STUDY_ECHOES = 2, /* runs that tell luck from effect */
    STUDY_DRAWS_MAX = 100,
    STUDY_FEW = 20 /* with fewer jobs a draw of failures says nothing, nor does a tail */
};

struct study_run {
    bool possible; /* false: not simulated, `why_not` says why */
    const char *why_not;
    char policy[256]; /* with its knobs but the quotas */
    struct study_books books;
    struct study_tally tally;
};

/* What jobs that met a class of failures cost, as the trace was recorded. */
struct study_lost {
    uint64_t jobs, passed; /* those that met it; of them passed in the end */
    uint64_t attempts;
    double held_gpu_s, lost_gpu_s;
};

/* The same once more: other failures, and every submission up to a round later. */
struct study_draw {
    struct study_fate *fates;
    double *trial_end_s; /* as in the study */
    double pool_gpu_s, pool_wait_s;
    struct study_run runs[STUDY_RUNS];
};

struct study {
    const struct base_alloc *alloc;
    const struct sim_trace *trace;
    const struct sched_cluster *cluster;
    shoal_study_opts opts; /* with few jobs, `failures` is none */
    shoal_watch *watch;    /* during the runs */
    bool few;              /* jobs: fewer than STUDY_FEW, and failures are left out for it */
    struct study_jobs jobs;
    struct study_fate *fates;
    struct study_quotas quotas;
    struct study_lost lost[STUDY_CLASSES];
    uint64_t unsuccessful[STUDY_SIZES + 1]; /* jobs that did not pass, by size and in all */
    struct sched_cluster pool, rest;        /* of the trials; no GPUs: there is no pool */
    double *trial_end_s;                    /* per job, NAN: no trial; NULL: no pool */
    double pool_gpu_s;                      /* held in it */
    double pool_wait_s;                     /* waiting for the pool */
    struct study_run runs[STUDY_RUNS];
    /* The base line again with every submission up to a round later: what differs between them and
     * it is luck of placement, and smaller differences between guidelines mean nothing. */
    struct study_run echoes[STUDY_ECHOES];
    struct study_draw *more; /* after the first draw, whose runs are `runs` */
    uint32_t more_count;
    double wall_s;
};

SHOAL_MUST_USE shoal_status study_make(shoal_env *env, const struct sim_trace *trace,
                                       const struct sched_cluster *cluster,
                                       const shoal_study_opts *opts, shoal_watch *watch,
                                       struct study **out_study, shoal_err *err);
void study_free(struct study *study);

/* How many simulations that is. */
size_t study_run_count(const shoal_study_opts *opts);

/* ---- as a result: run.c, result.c, pictures.c ---- */

/* A study with what it was made from, which its result owns. */
struct study_case {
    const struct base_alloc *alloc;
    struct sched_cluster cluster;
    struct base_buf spec; /* of the cluster */
    bool chosen;          /* the cluster, as none was given */
    struct sim_trace *trace;
    struct study *study;
};
void study_case_free(void *what);

/* Something said of the study, and records of what has a text. */
struct study_said {
    const char *what, *text; /* NULL: nothing */
};
shoal_records study_said_records(struct page_made *made, const struct study_said *said,
                                 size_t count);
/* What is measured and what is modelled; heading and notes: notes.c. */
shoal_records study_model(struct page_made *made, const struct study_case *c);
void study_notes(struct page_made *made, const struct study_case *c);
/* What its page shows besides: pictures.c. */
void study_pictures(struct page_made *made, const struct study *study);

/* Takes the case in any case. */
SHOAL_MUST_USE shoal_status study_result(struct study_case *study_case,
                                         const shoal_result **out_result, shoal_err *err);

/* ---- what follows from the runs: advice.c ---- */

/* Seconds all jobs waited for a reason (STUDY_WAITS: any). */
double study_waited_s(const struct study *study, enum study_run_id run, uint32_t why);
/* How many times less the jobs wait for locality (fragmentation) than in the base line; INFINITY:
 * not at all; 1 where nobody does in the base line; NAN: the run was not possible. */
double study_fragmentation_ratio(const struct study *study, enum study_run_id run);
/* The most that the base line and its echoes differ in that. */
double study_luck_s(const struct study *study, uint32_t why);
double study_luck_gpu_s(const struct study *study); /* and in GPU-seconds held */
/* GPU-seconds that a run holds less than the base line, trials counted. */
double study_saved_gpu_s(const struct study *study, enum study_run_id run);
/* GPU-seconds of work that it does not run at all, less those held for trials: exact, no luck in
 * it. */
double study_spared_gpu_s(const struct study *study, enum study_run_id run);
/* Of all draws. */
struct study_range {
    double least, most;
};
struct study_range study_saved_range(const struct study *study, enum study_run_id run);
struct study_range study_spared_range(const struct study *study, enum study_run_id run);
struct study_range study_ratio_range(const struct study *study, enum study_run_id run);
struct study_range study_lost_range(const struct study *study); /* GPU-seconds that failures cost */

/* The waiting of a run differs from that of the base line by no more than luck, or not in the same
 * direction in all draws. */
bool study_waited_is_luck(const struct study *study, enum study_run_id run, uint32_t why);
/* What study_saved_gpu_s says is no more than luck, or does not have one sign in all draws. */
bool study_saved_is_luck(const struct study *study, enum study_run_id run);

/* The mean price of the cluster's GPUs, and what GPU time costs at it; NAN where a kind has no price. */
double study_usd_gpu_h(const struct study *study);
double study_usd(const struct study *study, double gpu_s);
/* GPU time that attempts that fail and slow places cost. */
double study_wasted_gpu_s(const struct study *study);

/* ---- in words: advice.c ----
 *
 * Sentences are plain text (no markup, nothing from the trace), each ends with a full stop; page and
 * terminal say the same. */

/* "12,345", "87.5", "0.42": hours of so many seconds, without a unit. Returns buf. */
const char *study_hours(double seconds, char *buf, size_t size);

/* "quotas assumed ...", "" where they were given or there are none. */
const char *study_quota_words(const struct study *study);

/* The size of which the largest share of jobs waits for GPUs that are close together, of sizes with
 * STUDY_FEW jobs if any such does; STUDY_SIZES: nobody does. */
uint32_t study_worst_size(const struct study *study);

/* The one guideline to begin with: of those that cost no utilisation and no waiting, the one that saves most
 * GPU time, if a thousandth at least of what was held, by more than luck (study_luck_s) and in every draw; of
 * those that save nearly as much, the one with the least waiting. Where none saves GPU time, the one that cuts
 * waiting for locality most, if that is a twentieth of all waiting, by a tenth at least and by more than luck.
 * STUDY_BASE: none helps. */
enum study_run_id study_first_step(const struct study *study);
/* Of the other sort (about places, about work), the one that saves most GPU time: what guidelines of one
 * sort save overlaps. STUDY_BASE: none saves so much. */
enum study_run_id study_second_step(const struct study *study);

/* Money and GPU time that failures and places cost; what to do first, and then; what draws differ in the sign of
 * ("": nothing). */
void study_say_lost(const struct study *study, struct base_buf *out);
void study_say_first(const struct study *study, struct base_buf *out);
void study_say_second(const struct study *study, struct base_buf *out);
void study_say_unsure(const struct study *study, struct base_buf *out);
/* What the three questions of a study come to. */
void study_say_waiting(const struct study *study, struct base_buf *out);
void study_say_speed(const struct study *study, struct base_buf *out);
void study_say_failures(const struct study *study, struct base_buf *out);
/* How much of a difference is luck. */
void study_say_luck(const struct study *study, struct base_buf *out);
/* All guidelines together against the base line at equal utilisation: how much less waiting for
 * locality, or why not. */
void study_say_together(const struct study *study, struct base_buf *out);

#endif
