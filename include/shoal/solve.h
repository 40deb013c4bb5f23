/* solve.h - how much time each job should get on each kind of GPU, solved exactly.
 *
 * The problem is a file, or plain arrays: kinds of GPU, jobs, how fast each job runs on each kind. The
 * answer is shares of time, the price of each kind (what one more GPU would add) and a certificate: no
 * solution is better than `bound`. docs/solve.md says what each objective asks for, and what is in a
 * PROBLEM.json. From a file, as `shoal solve`:
 *
 *     shoal_solve_opts opts;
 *     shoal_solve_opts_init(&opts);
 *     opts.problem = "problem.json";
 *     if (shoal_solve_run(env, &opts, NULL, &result, &err) == SHOAL_OK)
 *         printf("%g\n", shoal_result_number(result, 0, "level"));
 *     shoal_result_free(result);
 *
 * From arrays, with a solver of one's own:
 *
 *     double gpus[] = {8, 16}, rates[] = {10, 4, 3, 2};      two kinds; two jobs, each on both
 *     shoal_solve_problem p = SHOAL_SOLVE_PROBLEM_INIT;
 *     p.kind_count = p.job_count = 2, p.capacity = gpus, p.rates = rates;
 *     if (shoal_solver_new(env, NULL, &solver, &err) == SHOAL_OK &&
 *         shoal_solver_solve(solver, "max-min", &p, &result, &err) == SHOAL_OK)
 *         printf("%g of the time on kind 0\n", result.shares[0]);
 *     shoal_solver_free(solver);
 *
 * A solver borrows `env`, which must outlive it, and keeps its memory and last prices between
 * calls, so a problem like the last one is solved faster. Arrays of a problem are read during the
 * call only. Owner thread only; it starts threads of its own during a call. Structs begin with
 * their size as the caller knows it, so programs built against an older header go on working.
 */
#ifndef SHOAL_SOLVE_H
#define SHOAL_SOLVE_H

#include "shoal/env.h"
#include "shoal/opt.h"
#include "shoal/result.h"
#include "shoal/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a problem in a file ---- */

/* What each member means, its range and its default say the rows: `shoal solve --help`. */
typedef struct shoal_solve_opts {
    size_t struct_size;  /* set by shoal_solve_opts_init; lets the struct grow */
    const char *problem; /* path of a PROBLEM.json; "-" is standard input */
    uint32_t objective;  /* SHOAL_SOLVE_MAX_MIN and so on */
    uint32_t sharing;    /* 0: none, 1: the problem's pairs of jobs may share GPUs */
    bool agnostic;
    uint64_t repeat, threads;
    const char *jobs; /* rows of jobs in tables; the result has them all */
} shoal_solve_opts;

/* In the order of shoal_solve_objective. */
enum {
    SHOAL_SOLVE_MAX_MIN,
    SHOAL_SOLVE_FTF,
    SHOAL_SOLVE_MAKESPAN,
    SHOAL_SOLVE_THROUGHPUT,
    SHOAL_SOLVE_COST,
    SHOAL_SOLVE_COST_SLO,
    SHOAL_SOLVE_FIFO,
    SHOAL_SOLVE_HIERARCHICAL
};

/* The options as rows; their offsets are those of shoal_solve_opts. Any thread. */
SHOAL_API const shoal_opt *shoal_solve_opt_rows(size_t *out_count);
/* What its results have: one field after the other, with unit and meaning. Any thread. */
SHOAL_API const shoal_schema *shoal_solve_schema(void);
SHOAL_API void shoal_solve_opts_init(shoal_solve_opts *opts);

/* Reads the problem and solves it. On success *out_result is the caller's, freed by shoal_result_free before
 * `env`: one record, with lists of jobs, kinds and pairs. SHOAL_E_FORMAT with the place for a problem that is
 * wrong or does not say what the objective needs, SHOAL_E_CANCELLED after the watch (NULL is allowed) was
 * stopped, which is looked at between jobs read and between passes on several threads. An answer that could not
 * be proven is SHOAL_OK with `exact` 0, and a note. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_solve_run(shoal_env *env, const shoal_solve_opts *opts,
                                                      shoal_watch *watch,
                                                      const shoal_result **out_result,
                                                      shoal_err *err);

/* ---- plain arrays ---- */

typedef struct shoal_solver shoal_solver;

enum {
    SHOAL_SOLVE_KINDS_MAX = 16,
    SHOAL_SOLVE_SINGLE_JOBS_MAX = 1000000, /* counts included, with pairs or fifo entities */
    SHOAL_SOLVE_PAIR_JOBS_MAX = 256 /* different jobs in a problem with pairs; rows that are alike
                                       and in no pair count once */
};
#define SHOAL_SOLVE_TOP UINT32_MAX /* parent of an entity that is in no other */

typedef struct shoal_solver_opts {
    size_t struct_size; /* set by SHOAL_SOLVER_OPTS_INIT */
    uint32_t threads;   /* 0: one per core [0] */
} shoal_solver_opts;

#define SHOAL_SOLVER_OPTS_INIT       \
    {                                \
        sizeof(shoal_solver_opts), 0 \
    }

/* A group of jobs, or of groups, with a weight among its neighbours. It holds jobs or entities, not
 * both. */
typedef struct shoal_solve_entity {
    double weight;   /* > 0 */
    uint32_t parent; /* an earlier entity, or SHOAL_SOLVE_TOP */
    uint32_t fifo;   /* 0: its members rise together; 1: one after the other, first to last */
} shoal_solve_entity;

/* Two jobs of equal `gpus` that may run on the same GPUs of a kind, and how fast each then is. A
 * job with itself: two of the jobs that its row stands for. */
typedef struct shoal_solve_pair {
    uint32_t job, with, kind;
    double rate, with_rate; /* >= 0; 0 for either, here or alone: they cannot */
} shoal_solve_pair;

/* Everything is finite. Arrays are (jobs) unless said; NULL means what stands in brackets. Numbers
 * out of range are SHOAL_E_INVAL, never a wrong answer. */
typedef struct shoal_solve_problem {
    size_t struct_size;     /* set by SHOAL_SOLVE_PROBLEM_INIT */
    uint32_t kind_count;    /* 1 .. SHOAL_SOLVE_KINDS_MAX */
    uint32_t agnostic;      /* 1: pretend that every kind a job can use is equally fast; `level` and
                               `speeds` are the true ones all the same */
    const double *capacity; /* (kinds) GPUs, >= 0 */
    const double *usd_h;    /* (kinds) dollars per GPU-hour, > 0; for cost, cost-slo */
    size_t job_count;       /* may be 0 */
    const double *rates;  /* (jobs, kinds) row-major, steps per second, >= 0; 0: cannot run there */
    const double *gpus;   /* > 0, all at once on one kind [1] */
    const double *count;  /* > 0, identical jobs that this row stands for [1] */
    const double *weight; /* > 0 [1] */
    const double *left;   /* > 0, steps left; for ftf, makespan and jobs with a deadline */
    const double *since_s; /* >= 0, time since arrival; for ftf [0] */
    const double *alone_s; /* >= 0, time its progress would have taken on an equal share; ftf [0] */
    const double *deadline_s; /* time left to the deadline, 0 or less: passed, INFINITY: none; for
                                 cost-slo [none] */
    const shoal_solve_entity *entities; /* parents before their members; for hierarchical [one] */
    uint32_t entity_count;
    const uint32_t *entity;        /* of each job; needed with entities */
    const shoal_solve_pair *pairs; /* space sharing [none] */
    size_t pair_count;
} shoal_solve_problem;

#define SHOAL_SOLVE_PROBLEM_INIT                                                              \
    {                                                                                         \
        sizeof(shoal_solve_problem), 0, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, \
            NULL, NULL, NULL, 0, NULL, NULL, 0                                                \
    }

/* What is to be said of a job. */
enum {
    SHOAL_SOLVE_NOWHERE = 1,    /* it can run on no kind: it gets nothing and holds nobody back */
    SHOAL_SOLVE_TOP_SPEED = 2,  /* all its time where it is fastest: it could not use more */
    SHOAL_SOLVE_HOLDS_BACK = 4, /* were it content with less, the level would be better */
    SHOAL_SOLVE_GIVEN_UP = 8,   /* its deadline cannot be kept together with the others */
    SHOAL_SOLVE_HOPELESS = 16   /* given up, and it could not be kept even at top speed */
};

typedef struct shoal_solve_pair_share {
    uint32_t job, with, kind;
    double share; /* of time; rows that stand for several jobs: how many such pairs, on average */
} shoal_solve_pair_share;

/* Arrays belong to the solver and live until its next call. */
typedef struct shoal_solve_result {
    size_t struct_size; /* set by SHOAL_SOLVE_RESULT_INIT */
    double level;       /* the objective's value, by the true rates; its unit is in `unit` */
    double bound;       /* no solution is better; with `agnostic`: than `believed`, as believed */
    double gap;         /* of value and bound, relative; INFINITY: nothing is proven */
    uint32_t exact;     /* 1: the gap is within rounding; 0: numerical trouble, do not rely on it */
    uint32_t passes;    /* over all jobs */
    const char *unit;   /* of the level, such as "s" */
    const double *prices;       /* (kinds) by how much one more GPU would better `priced`, at
                                   most; >= 0 */
    const double *used;         /* (kinds) GPUs in use, on average */
    const double *shares;       /* (jobs, kinds) of time, alone on the GPUs */
    const double *speeds;       /* (jobs) steps per second, those in pairs included */
    const unsigned char *flags; /* (jobs) SHOAL_SOLVE_NOWHERE and so on, added up */
    size_t given_up_count;      /* rows with SHOAL_SOLVE_GIVEN_UP, each with all its jobs */
    const shoal_solve_pair_share *pairs; /* besides `shares` */
    size_t pair_count;
    /* What the prices are of: the level, or, where a job at its top speed sets that and GPUs do
     * not, what is decided next: for max-min the first level at which GPUs run out, for the others
     * the work of all. */
    double priced;
    const char *priced_unit;
    /* The value of the shares if rates were as `agnostic` pretends; `bound`, `gap`, `exact`, prices
     * and `priced` are for that. Without `agnostic`, and for fifo and hierarchical, the level. */
    double believed;
} shoal_solve_result;

#define SHOAL_SOLVE_RESULT_INIT                                                                    \
    {                                                                                              \
        sizeof(shoal_solve_result), 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, \
            0, NULL, 0                                                                             \
    }

/* The names of the objectives: index 0, 1, ...; NULL after the last. Any thread. */
SHOAL_API const char *shoal_solve_objective(size_t index);

/* `opts` may be NULL. On success *out_solver is the caller's, freed by shoal_solver_free. On
 * failure it is untouched. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_solver_new(shoal_env *env,
                                                       const shoal_solver_opts *opts,
                                                       shoal_solver **out_solver, shoal_err *err);

/* NULL is allowed. */
SHOAL_API void shoal_solver_free(shoal_solver *solver);

/* *out_result changes only on success. SHOAL_E_NOTFOUND for an unknown objective, SHOAL_E_INVAL for
 * a value out of range or an array that the objective needs and does not get, SHOAL_E_LIMIT for
 * more jobs than pairs or fifo entities can take (SHOAL_SOLVE_SINGLE_JOBS_MAX). An answer that could
 * not be proven is SHOAL_OK with `exact` 0 and the gap. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_solver_solve(shoal_solver *solver,
                                                         const char *objective,
                                                         const shoal_solve_problem *problem,
                                                         shoal_solve_result *out_result,
                                                         shoal_err *err);

#ifdef __cplusplus
}
#endif
#endif
