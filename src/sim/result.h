/* result.h - what one simulated policy did: metrics, one row per job, and a bounded record for
 * pictures.
 *
 * Made by sim_run, read by the command line, the report and the public API. Immutable once
 * returned. */
#ifndef SIM_RESULT_H
#define SIM_RESULT_H

#include "sched/why.h"
#include "sim/trace.h"

enum sim_outcome {
    SIM_FINISHED,
    SIM_FAILED /* gave up by its failure class */,
    SIM_REJECTED /* can never run here */,
    SIM_STOPPED /* by its tuner, as others of its sweep go on */
};

enum { SIM_WHY_MAX = 1000 };

struct sim_job_result {
    double start_s;  /* first start; NAN when it never ran */
    double finish_s; /* NAN when rejected */
    float rho;    /* completion time / time alone on a 1/n share, n = mean number of live jobs; NAN:
                     not finished */
    float gpu_s;  /* GPU-seconds held */
    float wait_s; /* seconds without GPUs */
    float
        locality_wait_s; /* part of wait_s in which enough GPUs were free, but not close together */
    uint32_t starts;
    uint8_t outcome; /* enum sim_outcome */
};

/* Where a job's time went, for those who ask (sim_opts.details). */
enum sim_wait {
    SIM_WAIT_FAIR_SHARE,
    SIM_WAIT_LOCALITY, /* enough GPUs were free, but not close together: fragmentation */
    SIM_WAIT_CAPACITY, /* reasons capacity and gang */
    SIM_WAIT_OTHER,    /* the next round, and the rest of enum sched_reason */
    SIM_WAIT_COUNT
};
enum { SIM_SERVERS_COUNT = 5 }; /* 1 server, 2, 3-4, 5-8, more */
const char *sim_servers_name(uint32_t bin);

struct sim_job_detail {
    float wait_s[SIM_WAIT_COUNT];   /* together sim_job_result.wait_s */
    float gpu_s[SIM_SERVERS_COUNT]; /* by number of servers, together sim_job_result.gpu_s */
    float spread_gpu_s;             /* of that on more servers than it needs */
    float beside_gpu_s;             /* of that, of jobs of several GPUs, beside another such job */
    float slow_gpu_s;   /* lost to being slowed down: GPUs x seconds x (1 - speed kept) */
    uint32_t moves;     /* while it ran */
    uint32_t preempted; /* times stopped by the policy */
};

struct sim_metrics {
    uint64_t jobs, finished, failed, rejected, stopped;
    double avg_jct_s, p50_jct_s, p99_jct_s;
    double makespan_s;                       /* from origin_s to the last end */
    double avg_rho, worst_rho, unfair_share; /* share of jobs with rho > 1 */
    double avg_wait_s;
    double wait_by_reason_s[SCHED_WHY_COUNT]; /* job-seconds */
    bool use_to_end;    /* utilization is up to the last end, not to the last submission */
    double utilization; /* GPU-seconds held / GPUs x the time, both from the first submission to the
                           time that sim_use_until_s says */
    double
        lost_gpu_s;   /* held but wasted: restarts after the first start, work lost to failures, and
                           all work of jobs that gave up */
    double cost_usd;  /* of the nodes wanted up to the last end, where the policy sizes the cluster;
                        else held_usd. NAN: some of it has no price */
    double held_usd;  /* of the GPU time that jobs held */
    double node_h;    /* node-hours of nodes wanted up to the last end: of those that were up, where
                        the policy did not size the cluster */
    bool nodes_sized; /* it did */
    uint64_t
        rounds; /* decisions, those between rounds included, and rounds at which none was needed */
    uint64_t solves;           /* decisions at which the policy solved for shares */
    uint64_t moves, preempted; /* of the restarts: while running; stops by the policy */
    double slow_gpu_s;   /* lost to jobs being slowed down by where they lie (see sim_job_detail) */
    double spread_gpu_s; /* held on more nodes than needed; a job that shares counts whole */
    uint64_t restarts, job_rounds; /* job_rounds: sum over decisions of live jobs */
    double decision_ms_p50, decision_ms_p99, decision_s;
    double wall_s, cpu_s;
    uint64_t node_failures, job_failures;
    uint32_t worst_rho_job; /* index into the trace's jobs, SIM_NONE */
    /* Jobs that have a deadline, and those of them that did not finish by it. Rejected and
     * stopped ones are left out, failed ones have missed it. */
    uint64_t deadlines, missed;
    /* Mean over finished jobs of sum_k |wanted - received| / sum_k (wanted + received): 0, every job
     * got the time it was promised on each kind; 1, none got any of it. NAN: the policy promises no
     * shares, or they were not kept. */
    double share_error;
    /* Decisions not proven optimal, as rounding got the better of the solver or a choice is not exact,
     * and the largest relative gap between their value and bound (INFINITY: nothing proven). */
    uint64_t unproven;
    double unproven_gap;
};

/* Means over equal steps of time from origin_s on; the step doubles when the record is full. */
struct sim_series {
    double step_s;
    size_t count;
    float *busy[SCHED_KINDS_MAX]; /* GPUs held, per kind */
    float *waiting;               /* jobs */
    float *running;               /* jobs */
    /* What one more GPU of the kind would be worth to the policy's objective, in its unit; while that
     * cannot be bettered, `next` says what it would be worth to what the policy looks at next. 0 while
     * the other holds or no job is live. All NULL: the policy names no prices. */
    float *price[SCHED_KINDS_MAX], *next[SCHED_KINDS_MAX];
    const char *price_unit, *next_unit; /* NULL: never named */
    double price_s, next_s;             /* how long such prices held, with live jobs */
};

/* A job on one node, in seconds since origin_s: `rows` are the GPU rows of the node it is drawn on. */
struct sim_segment {
    double from_s, to_s;
    uint64_t rows;
    uint32_t job; /* index into the trace's jobs */
    uint32_t node;
};

struct sim_result {
    const struct base_alloc *alloc;
    const struct sim_trace *trace;
    const struct sched_cluster *cluster;
    char policy[256]; /* label, as it may be typed: "las:quantum=30m:relax=10m"; "..." when cut */
    /* Begin of the round of the first submission. The makespan, series, segments and story count
     * from here; the times of jobs and of the event log are those of the trace. */
    double origin_s;
    struct sim_metrics metrics;
    struct sim_job_result *jobs;    /* one per job of the trace */
    struct sim_job_detail *details; /* likewise; NULL: not kept. 0 for those that were rejected */
    /* Seconds of a job's life, (jobs, kinds of the cluster): those it held GPUs of the kind, and those
     * the policy meant it to, the integral of the share it asked for. NULL: not kept, and wanted_s
     * also when the policy promises no shares. 0 for jobs that were rejected. */
    float *received_s, *wanted_s;
    struct sim_series series; /* step_s 0: not recorded */
    struct sim_segment *segments;
    size_t segment_count;
    bool segments_cut;     /* there were more than the record holds: do not draw them */
    uint32_t story_job;    /* the job asked about, or SIM_NONE */
    struct base_buf story; /* text about it */
    /* Why that job waited, as a JSON array in order of time, the first SIM_WHY_MAX changes:
     * [{"t":60,"reason":"gang","text":"...","blockers":[{"job":"a","gpus":4}]}] */
    struct base_buf why;
};

/* Use is measured from the first submission to the last, or to the last end where submissions take
 * less than this share of the time to it. */
#define SIM_USE_LEAST 0.01
double sim_use_until_s(double first_s, double last_s, double end_s);

void sim_result_free(struct sim_result *result);
/* Appends {"t4":600,"v100":0}, a number per kind of the cluster. */
void sim_result_by_kind(const struct sched_cluster *cluster, const double *values,
                        struct base_buf *out);

#endif
