/* state.h - the state of one run, private to the files that make up the simulator core:
 *
 *   run.c       options, knobs and memory; the loop: instants, decisions, and that it ends
 *   live.c      jobs arrive, let go, fall back, end; carrying out a plan
 *   adapt.c     what jobs that adapt report, and the batch they choose
 *   tuner.c     sweeps whose worse jobs are stopped early
 *   advance.c   progress of running jobs between two instants
 *   faults.c    nodes that fail and return, jobs that fail by class
 *   journal.c   the event log and the story of one job
 *   record.c    what pictures need, bounded
 *   detail.c    where each job's time went, how fast its places let it be, what it was promised of each kind and
 *               got, what nodes cost where the policy sizes the cluster
 *   metrics.c   the figures at the end
 *
 * Everything belongs to the thread that called sim_run. */
#ifndef SIM_STATE_H
#define SIM_STATE_H

#include "base/again.h"
#include "base/event.h"
#include "base/heap.h"
#include "sched/learn.h"
#include "sched/model_spread.h"
#include "sim/run.h"

/* A job that has arrived and not ended. Recycled through a free list. */
struct sim_active {
    uint8_t reason; /* enum sched_reason it waits for, since the last round; beside what is asked of
                       every job at every decision */
    uint8_t news;   /* enum sim_news of the plan being carried out */
    uint8_t parked; /* enum sim_parked */
    uint8_t fail_class, attempts;
    bool unpriced; /* held a kind without a price */
    bool adapted;  /* its batch is chosen for it */
    bool failed;
    struct sched_job job;       /* what policies see; id is the index in the trace */
    struct sched_place near[2]; /* places live here, or in `far` when there are more */
    struct sched_place *far;
    uint32_t far_cap;
    double restart_left_s;
    double rate, until; /* progress per second now, and how far it holds */
    float slow;         /* share of its speed that its places leave it, 1: all */
    double start_s;     /* first start, NAN before */
    double wait_s, locality_wait_s;
    double since_s;       /* wait_s is counted up to here */
    double live_integral; /* of the number of live jobs, at arrival */
    double usd;
    double checkpoint;       /* progress a failure falls back to */
    double worked_gpu_s;     /* behind its progress; a shared GPU counts half */
    double at_risk_gpu_s;    /* the part of it since the checkpoint */
    double checkpoint_due_s; /* run_s at which the next one is taken */
    double fail_at_run_s;    /* of its drawn failure, INFINITY: none */
    bool stopped;            /* by its tuner */
    double end_s;   /* set by advancing: when it ended or came to its rung, NAN while it goes on */
    uint64_t stamp; /* of the last stretch it was advanced in */
    uint32_t segment;        /* record.c: first open segment + 1 */
    double *shares;          /* detail.c: (3, kinds) share now, wanted, received; NULL: not kept */
    double shares_since_s;   /* wanted is counted up to here */
    struct sim_adapt *adapt; /* adapt.c; NULL: it cannot */
    double boot_s;           /* for its first measurements, before the first start */
    double parked_s;         /* that it was at rungs */
    struct sim_active *partner;
    struct sim_active *next_free;
    bool spread, beside; /* detail.c: over more nodes than it needs; beside a job of several GPUs */
    uint32_t moves, preempted;
    struct { /* detail.c, as in struct sim_job_detail */
        double wait_s[SIM_WAIT_COUNT], gpu_s[SIM_SERVERS_COUNT];
        double spread_gpu_s, beside_gpu_s, slow_gpu_s;
    } sums;
};

/* A job that the last plan gave GPUs, so that nobody has to look through those that wait: it may
 * have let go of them since (sim_running says), and then even be another job that waits. */
struct sim_held {
    struct sim_active *active;
    uint32_t index; /* in state->jobs, until the next step of time */
};

/* At its rung (tuner.c): since the stretch being played, and then still among the jobs, or before. */
enum sim_parked { SIM_NOT_PARKED, SIM_PARKING, SIM_PARKED };

enum sim_news { SIM_NEWS_NONE, SIM_NEWS_STARTED, SIM_NEWS_MOVED, SIM_NEWS_WAITS };

enum {
    SIM_OCTAVES = 59,
    SIM_EVENT_MAX = 4 << 20 /* bytes of one event: room for the places of the largest gang */
};

struct sim_histogram { /* of nanoseconds, exact below 64, then 32 buckets per octave */
    uint64_t buckets[SIM_OCTAVES][64];
    uint64_t count;
    double sum_s;
};

/* Sums to which every running job adds, and the terms of one round in their order. */
enum sim_common { SIM_BUSY, SIM_HELD, SIM_SLOW, SIM_SPREAD, SIM_COMMON_COUNT };
struct sim_terms {
    double *terms;
    size_t count, cap;
};

struct sim_state {
    shoal_env *env;
    const struct base_alloc *alloc;
    const struct sim_trace *trace;
    const struct sched_cluster *cluster; /* `given`, or `priced` where prices change over time */
    const struct sched_cluster *given;
    struct sched_cluster priced; /* a copy with the prices of now; nodes are those of `given` */
    const struct sim_opts *opts;
    shoal_err *err;

    struct sched_plan *plan;
    void *memory; /* of the policy */
    struct sched_place_opts place;
    uint32_t gang_max[SCHED_KINDS_MAX]; /* GPUs one job can ever get, per kind */

    double news_s; /* when something last happened: a job came, went, started, stopped or waits for
                        another reason, a node failed or returned, a price changed */
    double origin_s; /* begin of the round of the first submission: pictures and figures count from
                        here */
    double now_s;
    size_t next_arrival;
    struct sched_job **jobs; /* live, by increasing id; each is in a sim_active */
    size_t job_count, job_cap;
    struct sim_active *free_list;
    struct base_arena actives;
    struct sim_held *running; /* by increasing id; see sim_held */
    size_t running_count, running_cap;
    uint32_t *news; /* live.c: indices of the jobs that have some, increasing */
    size_t news_count, news_cap;
    struct sim_active **ended; /* of the stretch just advanced */
    size_t ended_count, ended_cap;
    uint64_t stamp; /* counts stretches */

    bool *node_up;
    bool *node_used; /* detail.c: by some job */
    uint32_t nodes_up;
    uint32_t nodes_wanted; /* as the policy said last; SIM_NONE: it says nothing, all that are up */
    uint64_t node_changes; /* of node_up and of prices so far */
    struct base_heap node_events; /* keys are times less skipped_s */
    double skipped_s;             /* idle time in which no node failed */
    struct base_rand node_rand;
    uint16_t *node_span, *node_multi; /* per node: spanning jobs, jobs of several GPUs */
    struct sched_spread spread;
    bool adaptive;       /* a job that can adapt has arrived */
    bool watch_places;   /* those are counted */
    bool places_changed; /* of some job, since the last plan was carried out */

    double live_integral, live_since_s; /* of live_count over time, up to */
    size_t live_count;
    /* Of jobs that can run. Where use is measured to is known at the end (sim_use_until_s), so both
     * candidates are summed. */
    double first_submit_s, last_submit_s;
    double busy_gpu_s, held_gpu_s; /* held to the last submission, and to the end */
    double up_since_s;
    double node_s, node_last_s;               /* of nodes wanted; at the last end of a job */
    double rent_usd, rent_last_usd;           /* detail.c: what those cost, likewise */
    uint32_t rented[SCHED_KINDS_MAX];         /* GPUs of the nodes wanted now */
    struct sim_terms terms[SIM_COMMON_COUNT]; /* advance.c */
    struct sim_histogram decisions;
    double gain_due_s, gain; /* when to look again whether jobs get on, and how far they were */
    double undone;           /* progress lost to failures, in jobs */
    bool unpriced;           /* some job held a kind without a price */

    struct base_buf line;   /* scratch for events */
    uint32_t story_reasons; /* bit mask of those told since its job waits */
    size_t why_count;       /* entries of result->why */
    double story_usd;       /* what the story's job cost, NAN: not priced */
    struct sim_recorder *recorder;
    bool keep_shares, promises; /* promises: the policy said shares */
    double share_error;         /* sum over share_jobs */
    uint64_t share_jobs;
    struct sched_learn_app **apps; /* adapt.c: by model of the trace */
    struct base_rand report_rand, spoil_rand;
    struct sched_tally story_reports; /* of the story's job, as far as it is told */
    struct sim_sweep *sweeps;         /* tuner.c: by app of the trace */
    size_t parked_count;
    double parked_gain; /* work done by those that are parked, in jobs */
    struct sim_result *result;
};

static inline struct sim_active *sim_active_of(struct sched_job *job)
{
    return (struct sim_active *)(void *)((char *)job - offsetof(struct sim_active, job));
}

static inline bool sim_running(const struct sim_active *a)
{
    return a->job.alloc.place_count > 0;
}

/* advance.c */

/* Recomputes rate and until from the places, partner and progress. */
void sim_refresh_rate(struct sim_state *s, struct sim_active *a);
/* The two jobs of a pair no longer share; rates are the caller's to refresh. */
void sim_unpair(struct sim_active *a);
/* Brings every running job from state->now_s to `to_s`; the ones that ended are in state->ended, in
 * order of time. */
SHOAL_MUST_USE shoal_status sim_advance(struct sim_state *s, double to_s);
/* The same for so many whole rounds in which nobody comes to an end, a checkpoint or another speed. */
SHOAL_MUST_USE shoal_status sim_advance_rounds(struct sim_state *s, uint64_t rounds);
/* Adds the term so many times over; 1: just adds it. */
static inline void sim_add(double *sum, double term, uint64_t times)
{
    *sum = times == 1 ? *sum + term : base_add_again(*sum, &term, 1, times);
}
static inline double *sim_common_sum(struct sim_state *s, enum sim_common which)
{
    return which == SIM_BUSY   ? &s->busy_gpu_s
           : which == SIM_HELD ? &s->held_gpu_s
           : which == SIM_SLOW ? &s->result->metrics.slow_gpu_s
                               : &s->result->metrics.spread_gpu_s;
}
/* Adds a term `times` times to a sum over all jobs. Only sim_advance_rounds passes more than 1. */
static inline void sim_add_common(struct sim_state *s, enum sim_common which, double term,
                                  uint64_t times)
{
    struct sim_terms *t = &s->terms[which];

    if (times == 1)
        *sim_common_sum(s, which) += term;
    else
        t->terms[t->count++] = term;
}

/* adapt.c */

SHOAL_MUST_USE shoal_status sim_adapt_init(struct sim_state *s);
void sim_adapt_fini(struct sim_state *s);
/* A job arrives: what it could do, if it can adapt. */
SHOAL_MUST_USE shoal_status sim_adapt_join(struct sim_state *s, struct sim_active *a);
/* It runs on other places, or comes to another epoch: it chooses its batch and measures itself. */
void sim_adapt_refresh(struct sim_state *s, struct sim_active *a);
/* Before a decision: what all of them know now; those that run choose their batch by it. */
SHOAL_MUST_USE shoal_status sim_adapt_settle(struct sim_state *s);
/* Its reports, and how many were refused; NULL: it does not report. */
const struct sched_tally *sim_adapt_tally(const struct sim_active *a);
/* What is told of the work of a job that arrives. */
void sim_adapt_tell_work(const struct sim_state *s, struct sched_job *job);
void sim_adapt_free(const struct base_alloc *alloc, struct sim_adapt *adapt);

/* tuner.c */
SHOAL_MUST_USE shoal_status sim_tuner_init(struct sim_state *s);
void sim_tuner_fini(struct sim_state *s);
/* A job arrives: its app, and the rung it works towards. */
void sim_tuner_join(struct sim_state *s, struct sim_active *a);
/* Whether a job that came to the end of its work is only at a rung. */
bool sim_tuner_parks(const struct sim_state *s, const struct sim_active *a);
/* It is, at end_s: it lets go, and when it is the last of its sweep some go on and some are stopped. */
SHOAL_MUST_USE shoal_status sim_tuner_park(struct sim_state *s, struct sim_active *a);
/* A job of the trace will never come to a rung again: it ended or was rejected. */
SHOAL_MUST_USE shoal_status sim_tuner_gone(struct sim_state *s, uint32_t job, double when_s);
/* Before a decision: what sweeps still have to do. */
void sim_tuner_settle(struct sim_state *s);

/* faults.c */
SHOAL_MUST_USE shoal_status sim_faults_init(struct sim_state *s);
/* Draws the failure, if any, of a job about to run its next attempt. */
void sim_faults_draw(struct sim_state *s, struct sim_active *a);
/* No job is live until `to_s`: a long wait is not filled with node events nobody meets. */
void sim_faults_skip(struct sim_state *s, double to_s);
/* Time of the next node event, INFINITY when there is none. */
double sim_faults_next_s(const struct sim_state *s);
/* Carries out node events due at now_s: jobs on a failed node stop. */
SHOAL_MUST_USE shoal_status sim_faults_apply(struct sim_state *s);
/* After a failure: true when the job goes back to waiting, false when it gives up. */
bool sim_faults_retry(struct sim_state *s, struct sim_active *a);
const char *sim_fault_name(uint32_t fail_class);

/* live.c: makes the live jobs hold what the plan granted, and journals what that changed. */
SHOAL_MUST_USE shoal_status sim_carry_out(struct sim_state *s);

/* All its work, when only a part is asked of it for now. */
static inline double sim_whole_work(const struct sim_state *s, const struct sim_active *a)
{
    return s->trace->jobs[a->job.id].speed.work;
}

/* live.c */

/* The next job of the trace arrives, or is rejected. */
SHOAL_MUST_USE shoal_status sim_live_arrive(struct sim_state *s);
/* A job of state->ended leaves, at end_s: it ends, waits at its rung, or failed and tries again. */
SHOAL_MUST_USE shoal_status sim_live_leave(struct sim_state *s, struct sim_active *a);
/* Those that left are not among the live jobs any more. */
void sim_live_drop(struct sim_state *s);
/* Counts the time that jobs were live up to `when_s`. */
void sim_live_integrate(struct sim_state *s, double when_s);
/* One more or one less competes from `when_s` on. */
void sim_count_live(struct sim_state *s, double when_s, int change);
/* It ends, at end_s. */
SHOAL_MUST_USE shoal_status sim_end_job(struct sim_state *s, struct sim_active *a);
/* It is not among the live jobs any more; its memory is for the next to come. */
void sim_retire(struct sim_state *s, struct sim_active *a);
/* The job lets go of its GPUs at `when_s`. */
void sim_release(struct sim_state *s, struct sim_active *a, double when_s);
/* Falls back to the last checkpoint. */
void sim_rollback(struct sim_state *s, struct sim_active *a);
/* Nodes held for jobs now; under a policy that sizes the cluster none while no job is live. */
double sim_nodes_wanted(const struct sim_state *s);

/* run.c: when a job that nobody is in the way of starts: at a round, or before it with react_s. */
double sim_start_s(const struct sim_opts *opts, double submit_s);

/* journal.c: each event goes to the log when one is wanted, and to the story when it is about that
 * job. */
SHOAL_MUST_USE shoal_status sim_journal_job(struct sim_state *s, double time_s, const char *type,
                                            const struct sim_active *a, const char *detail);
SHOAL_MUST_USE shoal_status sim_journal_node(struct sim_state *s, double time_s, const char *type,
                                             uint32_t node);
/* A job waits for another reason than before: an event, when a log is wanted. */
SHOAL_MUST_USE shoal_status sim_journal_waiting(struct sim_state *s, size_t index);
/* Notes in the story why its job waits, when that changed. */
void sim_journal_why(struct sim_state *s, size_t index);
void sim_journal_story_end(struct sim_state *s);

/* record.c; a NULL recorder does nothing. */
SHOAL_MUST_USE shoal_status sim_recorder_new(struct sim_state *s, struct sim_recorder **out);
void sim_recorder_free(struct sim_recorder *r);
/* Once the partners of all starting jobs are known. */
void sim_record_start(struct sim_state *s, struct sim_active *a);
void sim_record_stop(struct sim_state *s, struct sim_active *a, double when_s);
/* What the policy says of prices, after each decision; where it says nothing, the last ones hold. */
SHOAL_MUST_USE shoal_status sim_record_prices(struct sim_state *s, const struct sched_plan *plan);
/* State of the cluster holds from now_s to to_s. */
void sim_record_stretch(struct sim_state *s, double to_s);
SHOAL_MUST_USE shoal_status sim_record_finish(struct sim_state *s);

/* detail.c */
SHOAL_MUST_USE shoal_status sim_detail_init(struct sim_state *s);
/* After every change of places, before speeds are asked for. */
void sim_detail_places(struct sim_state *s);
/* The share of its speed that its places leave a job; as before where nobody's changed. */
float sim_detail_speed(struct sim_state *s, struct sim_active *a);
/* It waited, for its reason. */
void sim_detail_wait(struct sim_active *a, double seconds);
/* For those who ask for details. */
void sim_detail_hold_more(struct sim_active *a, double gpu_s, double slow, uint64_t times);
/* It held its GPUs, and worked for some of the time. */
static inline void sim_detail_hold(struct sim_state *s, struct sim_active *a, double seconds,
                                   double worked_s, uint64_t times)
{
    double gpu_s = seconds * a->job.alloc.gpus;
    double slow = worked_s * a->job.alloc.gpus * (1 - (double)a->slow);

    sim_add_common(s, SIM_SLOW, slow, times);
    sim_add_common(s, SIM_SPREAD, a->spread ? gpu_s : 0, times);
    if (s->opts->details)
        sim_detail_hold_more(a, gpu_s, slow, times);
}
void sim_detail_end(struct sim_state *s, const struct sim_active *a);

/* detail.c: shares; does nothing unless shares are kept. */
SHOAL_MUST_USE shoal_status sim_shares_init(struct sim_state *s);
/* A job arrives. */
SHOAL_MUST_USE shoal_status sim_shares_join(struct sim_state *s, struct sim_active *a);
/* After each decision: its shares hold from now on. */
SHOAL_MUST_USE shoal_status sim_shares_decided(struct sim_state *s);
/* Nothing is promised to a job from `when_s` to the next decision that sees it. */
void sim_shares_pause(struct sim_state *s, struct sim_active *a, double when_s);
/* A job ended, at end_s. */
void sim_shares_end(struct sim_state *s, struct sim_active *a);
void sim_shares_finish(struct sim_state *s);
/* It held GPUs of its kind. */
static inline void sim_shares_hold(const struct sim_state *s, struct sim_active *a, double seconds,
                                   uint64_t times)
{
    if (a->shares != NULL)
        sim_add(&a->shares[2 * s->cluster->kind_count + a->job.alloc.kind], seconds, times);
}

/* detail.c: rent; does nothing unless the policy sizes the cluster. */

/* The nodes wanted, or those that are up, changed. */
void sim_rent_renew(struct sim_state *s);
/* They were rented from up_since_s to a later time. */
void sim_rent_pass(struct sim_state *s, double to_s, uint64_t times);
/* A job ended, at a time before up_since_s: what was paid up to then. */
void sim_rent_end(struct sim_state *s, double when_s);

/* metrics.c */

/* Seconds from one time to a later one that lie between the first and the last submission. */
static inline double sim_submitting_s(const struct sim_state *s, double from_s, double to_s)
{
    double from = from_s > s->first_submit_s ? from_s : s->first_submit_s;
    double to = to_s < s->last_submit_s ? to_s : s->last_submit_s;

    return to > from ? to - from : 0;
}
void sim_histogram_add(struct sim_histogram *h, uint64_t ns);
SHOAL_MUST_USE shoal_status sim_metrics_finish(struct sim_state *s);
/* Seconds from submission to end if the job were alone on a 1/n share of the cluster (n may be
 * fractional). */
double sim_alone_s(const struct sim_state *s, const struct sim_job *job, double n);

#endif
