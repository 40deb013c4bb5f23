/* study.h - what is wrong with a cluster, from the trace of its jobs: where they waited and for
 * what, what spreading them out and failures cost, and what the guidelines of the Philly study
 * would save.
 *
 * The trace is replayed under the policy `philly` as it is (the base line), once for each guideline
 * and once with all of them; two echoes of the base line tell luck from effect. All that is done
 * again for each further draw of failures. Runs go in parallel. Quotas and failures are as quotas.h
 * and failures.h say. Same trace, cluster, options and seed give the same study, whatever the
 * number of threads.
 *
 *     struct study *study;
 *     st = study_make(env, trace, &cluster, &opts, &study, &err);   a trace bound to the cluster
 *     st = study_page(study, &page_opts, &buf, &err);               see page.h
 *     study_free(study);
 *
 * A study borrows trace and cluster, which must outlive it; it is immutable once made. One thread
 * makes it, any may read it. Tests: tests/unit/study/. */
#ifndef STUDY_STUDY_H
#define STUDY_STUDY_H

#include "study/quotas.h"
#include "study/tally.h"
#include <stdatomic.h>

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
    STUDY_SETS_MAX = 32,
    STUDY_ECHOES = 2, /* runs that tell luck from effect */
    STUDY_DRAWS_MAX = 100,
    STUDY_FEW = 20 /* with fewer jobs a draw of failures says nothing, nor does a tail */
};

struct study_opts {
    const char *quotas; /* see quotas.h; NULL: by share of GPU time */
    enum study_failures failures;
    double round_s, restart_s; /* as in struct sim_opts; 60, 30 */
    double trial_s;            /* the longest trial; 300 */
    const char *const *sets;   /* "key=value" knobs of the policy, for every run */
    size_t set_count;
    uint64_t seed;
    uint32_t draws;             /* of failures and of submissions up to a round later; 1 or more */
    uint32_t threads;           /* runs at the same time; 0: one per core */
    atomic_uint_fast64_t *done; /* jobs ended so far in all runs, for progress; NULL: not wanted */
    const atomic_bool *stop;    /* NULL: never */
};
void study_opts_init(struct study_opts *opts);

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
    struct study_opts opts; /* with few jobs, `failures` is none */
    bool few;               /* jobs: fewer than STUDY_FEW, and failures are left out for it */
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
                                       const struct study_opts *opts, struct study **out_study,
                                       shoal_err *err);
void study_free(struct study *study);

/* How many simulations that is. */
size_t study_run_count(const struct study_opts *opts);

/* ---- what follows from the runs: effects.c ---- */

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
/* Seconds that all jobs wait less than in the base line of the same draw. */
struct study_range study_less_waiting(const struct study *study, enum study_run_id run,
                                      uint32_t why);
struct study_range study_ratio_range(const struct study *study, enum study_run_id run);
struct study_range study_lost_range(const struct study *study); /* GPU-seconds that failures cost */
/* Draws do not even agree on its sign. */
bool study_is_unsure(struct study_range range);

/* The waiting of a run differs from that of the base line by no more than luck, or not in the same
 * direction in all draws. */
bool study_waited_is_luck(const struct study *study, enum study_run_id run, uint32_t why);
/* What study_saved_gpu_s says is no more than luck, or does not have one sign in all draws. */
bool study_saved_is_luck(const struct study *study, enum study_run_id run);

#endif
