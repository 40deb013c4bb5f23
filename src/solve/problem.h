/* problem.h - PROBLEM.json: kinds of GPU, jobs, entities and pairs, read for the solver.
 *
 *     {"kinds":    {"v100": {"gpus": 8, "usd_h": 2.48}, "k80": 24},
 *      "jobs":     [{"name": "a", "gpus": 1, "rates": {"v100": 10.2, "k80": 1.5}, "left": 10000}],
 *      "entities": {"research": {"weight": 2, "inside": "fifo"}},
 *      "pairs":    [{"jobs": ["a", "b"], "kind": "v100", "rates": [8, 4]}]}
 *
 * docs/solve.md is the description for people. A problem that loads is right in itself: numbers are
 * finite and in range, names are unique, whatever is referred to exists. The first mistake ends the
 * reading with the place (file, line, jobs[3].rates.v100) and what was expected there. Immutable
 * once loaded; any thread may read it. */
#ifndef SOLVE_PROBLEM_H
#define SOLVE_PROBLEM_H

#include "base/map.h"
#include "base/room.h"
#include "base/watch.h"
#include "env/env.h"
#include "sched/objective.h"
#include "shoal/solve.h"

enum {
    SOLVE_JOBS_MAX = 5000000,
    SOLVE_NAME_MAX = 255,
    SOLVE_ENTITIES_MAX = 1000000,
    SOLVE_PAIRS_MAX = 1000000,
    SOLVE_ELEMENT_MAX = 65536 /* bytes of one job, kind, entity or pair */
};
#define SOLVE_FILE_MAX ((size_t)1 << 31)

/* What is known of each job, a number each. */
enum {
    SOLVE_GPUS,
    SOLVE_COUNT,
    SOLVE_WEIGHT,
    SOLVE_LEFT, /* NAN: not stated */
    SOLVE_SINCE_S,
    SOLVE_ALONE_S,
    SOLVE_DEADLINE_S, /* INFINITY: none */
    SOLVE_COLUMN_COUNT
};

struct solve_problem {
    const struct base_alloc *alloc;
    struct base_room room; /* of the arrays */
    char *path;
    uint32_t kind_count;
    struct base_map kinds;                  /* name -> index, in the order of the file */
    double capacity[SHOAL_SOLVE_KINDS_MAX]; /* GPUs */
    double usd_h[SHOAL_SOLVE_KINDS_MAX];    /* NAN: not stated */
    size_t job_count;
    struct base_map names; /* of jobs -> index; entry i is job i */
    double *rates;         /* (jobs, kinds); 0 also where a gang is larger than the kind */
    union {
        struct {
            double *gpus, *count, *weight, *left, *since_s, *alone_s, *deadline_s;
        };
        double *column[SOLVE_COLUMN_COUNT];
    };
    uint32_t *entity;             /* of each job; NULL: no entities */
    struct base_map entity_names; /* all paths that were named */
    const char **entity_paths;    /* (entities) in entity_names */
    shoal_solve_entity *entities;
    uint32_t entity_count;
    shoal_solve_pair *pairs;
    size_t pair_count;
    /* What is not wrong but should be said. */
    size_t nowhere_count; /* jobs that can run on no kind */
    size_t misfit_count;  /* pairs of job and kind where the gang is larger than the kind */
    size_t misfit_job;    /* the first of them */
    uint32_t misfit_kind;
    size_t deadline_count; /* jobs that have one */
    size_t unused_count;   /* entities that are declared and hold no job */
    const char *unused;    /* the first of them */
    bool has_left;         /* every job states it */
    bool alike;            /* some row stands for several jobs */
};

/* `path` may be "-"; the watch (NULL is allowed) counts the jobs read so far. On success *out is the caller's, freed by solve_problem_free; on failure it is untouched.
 * SHOAL_E_FORMAT, SHOAL_E_LIMIT, or what reading the file gave. */
SHOAL_MUST_USE shoal_status solve_problem_load(shoal_env *env, const char *path, shoal_watch *watch,
                                               struct solve_problem **out, shoal_err *err);
void solve_problem_free(struct solve_problem *p); /* NULL is allowed */

/* Whether the problem states all that the objective and sharing need; SHOAL_E_FORMAT names what is
 * missing and where. */
SHOAL_MUST_USE shoal_status solve_problem_check(const struct solve_problem *p,
                                                enum sched_objective objective, bool sharing,
                                                shoal_err *err);
/* The problem as the public solver takes it; borrows all arrays. Pairs only when asked for. */
void solve_problem_view(const struct solve_problem *p, bool agnostic, bool sharing,
                        shoal_solve_problem *out);

/* (rows) of the last call: the fastest that a job can be, alone or beside another; 0: it runs nowhere. */
const double *solve_solver_fastest(const shoal_solver *solver);
/* The solver's calls end when the watch is stopped, soon where they have several threads: SHOAL_E_CANCELLED. */
void solve_solver_watch(shoal_solver *solver, const shoal_watch *watch);

const char *solve_problem_job(const struct solve_problem *p, size_t job);
const char *solve_problem_kind(const struct solve_problem *p, size_t kind);
/* Its path, such as "research/vision". */
const char *solve_problem_entity(const struct solve_problem *p, size_t entity);

#endif
