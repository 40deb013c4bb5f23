/* view.c - a problem from a file as the public solver takes it, and whether it states all that an
 * objective needs. Tests: tests/unit/solve/test_problem.c. */
#include "solve/problem.h"

#include "base/err.h"
#include <math.h>
#include <stdio.h>

static shoal_status missing(const struct solve_problem *p, const char *objective, shoal_err *err,
                            const char *what)
{
    base_err(err, SHOAL_E_FORMAT, "cannot solve '%.150s' for %s: %.150s", p->path, objective, what);
    base_err_where(err, "%.150s", p->path);
    return SHOAL_E_FORMAT;
}

static shoal_status check_left(const struct solve_problem *p, const char *objective, bool all,
                               shoal_err *err)
{
    char what[150];

    for (size_t i = 0; i < p->job_count; i++) {
        if (!isnan(p->left[i]) || (!all && isinf(p->deadline_s[i])))
            continue;
        snprintf(what, sizeof what, "jobs[%zu] ('%.60s') has no \"left\"", i,
                 solve_problem_job(p, i));
        missing(p, objective, err, what);
        base_err_hint(err, all ? "give the steps left of every job"
                               : "give the steps left of every job that has a deadline");
        return SHOAL_E_FORMAT;
    }
    return SHOAL_OK;
}

static shoal_status check_prices(const struct solve_problem *p, const char *objective,
                                 shoal_err *err)
{
    char what[150];

    for (uint32_t k = 0; k < p->kind_count; k++) {
        if (p->capacity[k] == 0 || !isnan(p->usd_h[k]))
            continue;
        snprintf(what, sizeof what, "kinds.%.60s has no \"usd_h\"", solve_problem_kind(p, k));
        missing(p, objective, err, what);
        base_err_hint(err, "give the dollars per GPU and hour of every kind");
        return SHOAL_E_FORMAT;
    }
    return SHOAL_OK;
}

/* Whether rows must become single jobs, of which there can be fewer. */
static shoal_status check_count(const struct solve_problem *p, enum sched_objective objective,
                                bool sharing, shoal_err *err)
{
    bool single = sharing;
    double total = 0;
    char what[150];

    for (uint32_t e = 0; objective == SCHED_OBJECTIVE_HIERARCHICAL && e < p->entity_count; e++)
        single = single || p->entities[e].fifo != 0;
    for (size_t i = 0; single && i < p->job_count; i++) {
        total += p->count[i];
        if (total <= SHOAL_SOLVE_SINGLE_JOBS_MAX)
            continue;
        snprintf(what, sizeof what, "with jobs[%zu] ('%.60s', count %.0f) there are %.0f jobs", i,
                 solve_problem_job(p, i), p->count[i], total);
        missing(p, sched_objectives[objective].name, err, what);
        base_err_hint(err, "with %s there can be %d, counts included",
                      sharing ? "--sharing pairs" : "fifo entities", SHOAL_SOLVE_SINGLE_JOBS_MAX);
        return SHOAL_E_LIMIT;
    }
    return SHOAL_OK;
}

shoal_status solve_problem_check(const struct solve_problem *p, enum sched_objective objective,
                                 bool sharing, shoal_err *err)
{
    const char *name = sched_objectives[objective].name;
    shoal_status st = SHOAL_OK;

    if (sharing && p->pair_count == 0) {
        missing(p, name, err, "it has no \"pairs\" and sharing was asked for");
        base_err_hint(err, "give pairs, or leave --sharing out");
        return SHOAL_E_FORMAT;
    }
    if (objective == SCHED_OBJECTIVE_FTF || objective == SCHED_OBJECTIVE_MAKESPAN)
        st = check_left(p, name, true, err);
    if (objective == SCHED_OBJECTIVE_COST_SLO)
        st = check_left(p, name, false, err);
    if (st == SHOAL_OK &&
        (objective == SCHED_OBJECTIVE_COST || objective == SCHED_OBJECTIVE_COST_SLO))
        st = check_prices(p, name, err);
    if (st == SHOAL_OK)
        st = check_count(p, objective, sharing, err);
    return st;
}

void solve_problem_view(const struct solve_problem *p, bool agnostic, bool sharing,
                        shoal_solve_problem *out)
{
    *out = (shoal_solve_problem){
        .struct_size = sizeof *out,
        .kind_count = p->kind_count,
        .agnostic = agnostic,
        .capacity = p->capacity,
        .usd_h = p->usd_h,
        .job_count = p->job_count,
        .rates = p->rates,
        .gpus = p->gpus,
        .count = p->count,
        .weight = p->weight,
        .left = p->left,
        .since_s = p->since_s,
        .alone_s = p->alone_s,
        .deadline_s = p->deadline_s,
        .entities = p->entities,
        .entity_count = p->entity != NULL ? p->entity_count : 0,
        .entity = p->entity,
        .pairs = sharing ? p->pairs : NULL,
        .pair_count = sharing ? p->pair_count : 0,
    };
}
