/* solve_show.h - a solved problem for people and as JSON. Owner thread only. */
#ifndef CLI_SOLVE_SHOW_H
#define CLI_SOLVE_SHOW_H

#include "cli/cli.h"
#include "solve/problem.h"

struct cli_solved {
    const struct solve_problem *problem;
    const shoal_solve_result *result;
    const double *fastest; /* (jobs) cli_solve_fastest */
    enum sched_objective objective;
    bool agnostic, sharing;
    uint32_t threads;
    uint64_t repeat; /* how often it was solved */
    double first_s;  /* the first time, from nothing */
    double again_s;  /* median of the others; NAN: there were none */
    size_t jobs_max; /* rows of jobs and of pairs that are shown to people */
};

/* Both return 0, or what cli_fail returned. Whether the answer is proven is for the caller to act
 * on. */
int cli_solve_text(const struct cli_context *cx, const struct cli_solved *s);
int cli_solve_json(const struct cli_context *cx, const struct cli_solved *s);

/* What is not wrong but should be known, on stderr: jobs that run nowhere and the like. */
void cli_solve_warn(const struct cli_context *cx, const struct cli_solved *s);

/* Parts of cli_solve_text: solve_jobs.c. */
int cli_solve_jobs(const struct cli_context *cx, const struct cli_solved *s);
int cli_solve_pairs(const struct cli_context *cx, const struct cli_solved *s);
/* 4 digits, without the zeros that say nothing; large ones with separators. Returns buf. */
const char *cli_solve_number(double value, char *buf, size_t size);

/* Parts of both: solve_facts.c. */
bool cli_solve_counts_money(enum sched_objective objective);
bool cli_solve_used_up(const struct cli_solved *s, uint32_t kind);
/* Whether prices are of the unit of the value, or of the work of all. */
bool cli_solve_prices_level(const struct cli_solved *s);
/* What one more GPU would change the level by, as a part of it; NAN: not known. */
double cli_solve_worth(const struct cli_solved *s, uint32_t kind);
/* (jobs) steps per second on its best kind, or beside another where that is faster still; 0: it
 * runs nowhere. The caller's, for base_free; NULL when memory is short. */
double *cli_solve_fastest(const struct base_alloc *alloc, const struct solve_problem *p,
                          bool sharing);
/* Whether it ends before its deadline, which it has. */
bool cli_solve_keeps(const struct cli_solved *s, size_t job);
/* What the GPUs in use cost. */
double cli_solve_usd_h(const struct cli_solved *s);

#endif
