/* api.c - the public solver (shoal/solve.h) over sched/objective.h.
 *
 * What it adds: defaults for arrays that are left out, the root of the entities, classes for pairs,
 * rows that stand for several jobs spread out where single jobs matter; and what is to be said of
 * each job. Arrays it makes live in one arena until the next call. Tests:
 * tests/unit/solve/test_api.c. */
#include "solve/problem.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "env/env.h"
#include "sched/objective.h"
#include "shoal/solve.h"
#include <math.h>
#include <string.h>

_Static_assert((int)SHOAL_SOLVE_KINDS_MAX == (int)NUM_KINDS_MAX, "one limit of kinds");
_Static_assert((int)SHOAL_SOLVE_PAIR_JOBS_MAX == (int)NUM_PAIRS_GROUPS_MAX, "one limit of classes");
_Static_assert(SHOAL_SOLVE_TOP == NUM_TREE_NONE, "one word for no parent");

struct shoal_solver {
    shoal_env *env;
    uint32_t threads;
    struct num_team team;
    struct sched_objective_solver *inner;
    struct base_arena arena;  /* of one call */
    const shoal_watch *watch; /* NULL: calls are not stopped */
    const double *fastest;    /* of the last call; in the arena */
};

/* One call. */
struct solve_call {
    shoal_solver *s;
    shoal_solve_problem p; /* as given; fields the caller's header did not have are 0 */
    struct sched_objective_input in;
    size_t job_count;    /* rows, or single jobs when they are spread out */
    const uint32_t *row; /* of each job; NULL: job i is row i */
};

/* Zeroed, in the arena of the call; NULL when memory is short. */
static void *call_array(struct solve_call *c, size_t count, size_t size)
{
    return base_arena_calloc(&c->s->arena, count == 0 ? 1 : count, size);
}

static size_t call_row(const struct solve_call *c, size_t job)
{
    return c->row == NULL ? job : c->row[job];
}

/* How many jobs a row stands for. */
static double call_count(const struct solve_call *c, size_t row)
{
    return c->p.count == NULL ? 1 : c->p.count[row];
}

const char *shoal_solve_objective(size_t index)
{
    return index < SCHED_OBJECTIVE_COUNT ? sched_objectives[index].name : NULL;
}

static shoal_status run_team(void *ctx, size_t count, void (*fn)(void *arg, size_t index),
                             void *arg)
{
    shoal_solver *s = ctx;

    if (base_watch_stopped(s->watch))
        return SHOAL_E_CANCELLED;
    return env_parallel(s->env, count, s->threads, fn, arg, NULL);
}

shoal_status shoal_solver_new(shoal_env *env, const shoal_solver_opts *given,
                              shoal_solver **out_solver, shoal_err *err)
{
    shoal_solver_opts opts = SHOAL_SOLVER_OPTS_INIT;

    if (env == NULL || out_solver == NULL ||
        (given != NULL && given->struct_size < sizeof given->struct_size))
        return base_err(err, SHOAL_E_INVAL, "a solver needs an env and SHOAL_SOLVER_OPTS_INIT");
    if (given != NULL)
        memcpy(&opts, given, given->struct_size < sizeof opts ? given->struct_size : sizeof opts);
    shoal_solver *s = base_calloc(env_alloc(env), 1, sizeof *s);
    if (s == NULL)
        return base_err_nomem(err, "making a solver");
    s->env = env;
    s->threads = opts.threads == 0 ? env_cpu_count(env) : opts.threads;
    s->team = (struct num_team){s->threads, run_team, s};
    base_arena_init(&s->arena, env_alloc(env), 0);
    if (sched_objective_new(env_alloc(env), s->threads > 1 ? &s->team : NULL, &s->inner) !=
        SHOAL_OK) {
        shoal_solver_free(s);
        return base_err_nomem(err, "making a solver");
    }
    *out_solver = s;
    return SHOAL_OK;
}

void shoal_solver_free(shoal_solver *s)
{
    if (s == NULL)
        return;
    sched_objective_free(s->inner);
    base_arena_fini(&s->arena);
    base_free(env_alloc(s->env), s);
}

const double *solve_solver_fastest(const shoal_solver *solver)
{
    return solver->fastest;
}

void solve_solver_watch(shoal_solver *solver, const shoal_watch *watch)
{
    solver->watch = watch;
}

static shoal_status nomem(shoal_err *err)
{
    return base_err_nomem(err, "solving a problem");
}

/* ---- rows ---- */

/* Where rows must become single jobs: who shares with whom, and who comes first in a fifo entity,
 * is a matter of jobs. */
static bool must_spread(const struct solve_call *c, enum sched_objective objective)
{
    const shoal_solve_problem *p = &c->p;

    if (p->count == NULL || p->pairs != NULL)
        return p->pairs != NULL;
    if (objective != SCHED_OBJECTIVE_HIERARCHICAL || p->entities == NULL)
        return false;
    for (uint32_t e = 0; e < p->entity_count; e++)
        if (p->entities[e].fifo != 0)
            return true;
    return false;
}

static shoal_status spread_rows(struct solve_call *c, shoal_err *err)
{
    size_t total = 0;

    for (size_t i = 0; i < c->p.job_count && c->p.count != NULL; i++) {
        double count = c->p.count[i];
        if (!(count >= 1 && count == floor(count)))
            return base_err(err, SHOAL_E_INVAL,
                            "job %zu: with pairs or fifo entities a row stands for a whole number "
                            "of jobs, not %.15g",
                            i, count);
        if (count > (double)(SHOAL_SOLVE_SINGLE_JOBS_MAX - total))
            return base_err(err, SHOAL_E_LIMIT,
                            "job %zu: with pairs or fifo entities there can be %d jobs in all, and "
                            "with this one of count %.15g there are more",
                            i, SHOAL_SOLVE_SINGLE_JOBS_MAX, count);
        total += (size_t)count;
    }
    if (total == c->p.job_count || c->p.count == NULL)
        return SHOAL_OK;
    uint32_t *row = call_array(c, total, sizeof *row);
    if (row == NULL)
        return nomem(err);
    for (size_t i = 0, at = 0; i < c->p.job_count; i++)
        for (size_t n = (size_t)c->p.count[i]; n > 0; n--)
            row[at++] = (uint32_t)i;
    c->row = row;
    c->job_count = total;
    return SHOAL_OK;
}

/* (jobs, width) of what is given for rows. NULL on want of memory, or when nothing is given. */
static const double *by_job(struct solve_call *c, const double *given, size_t width)
{
    if (given == NULL || c->row == NULL)
        return given;
    double *out = call_array(c, c->job_count * width, sizeof *out);
    for (size_t i = 0; out != NULL && i < c->job_count; i++)
        memcpy(out + i * width, given + call_row(c, i) * width, width * sizeof *out);
    return out;
}

/* ---- what is left out ---- */

static const double *ones(struct solve_call *c)
{
    double *out = call_array(c, c->job_count, sizeof *out);

    for (size_t i = 0; out != NULL && i < c->job_count; i++)
        out[i] = 1;
    return out;
}

/* Only jobs with a deadline need to say what is left. */
static const double *left_where_due(struct solve_call *c, const double *left)
{
    const double *deadline_s = c->in.deadline_s;
    double *out;

    if (left == NULL || deadline_s == NULL)
        return left;
    out = call_array(c, c->job_count, sizeof *out);
    for (size_t i = 0; out != NULL && i < c->job_count; i++)
        out[i] = deadline_s[i] == (double)INFINITY ? 1 : left[i];
    return out;
}

/* Kinds without GPUs need no price. */
static const double *prices_where_due(struct solve_call *c)
{
    double *out;

    if (c->p.usd_h == NULL)
        return NULL;
    out = call_array(c, c->p.kind_count, sizeof *out);
    for (uint32_t k = 0; out != NULL && k < c->p.kind_count; k++)
        out[k] = c->p.capacity[k] > 0 ? c->p.usd_h[k] : 1;
    return out;
}

static shoal_status fill_jobs(struct solve_call *c, enum sched_objective objective, shoal_err *err)
{
    struct sched_objective_input *in = &c->in;
    const shoal_solve_problem *p = &c->p;
    const struct {
        const double *given;
        const double **to;
        size_t width;
    } arrays[] = {
        {p->rates, &in->problem.rate, p->kind_count},
        {p->gpus, &in->problem.gpus, 1},
        {p->weight, &in->weight, 1},
        {p->left, &in->left, 1},
        {p->since_s, &in->since_s, 1},
        {p->alone_s, &in->alone_s, 1},
        {p->deadline_s, &in->deadline_s, 1},
    };

    in->aware = p->agnostic == 0;
    in->problem.kind_count = p->kind_count;
    in->problem.job_count = c->job_count;
    in->problem.count = c->row == NULL && p->pairs == NULL ? p->count : NULL;
    memcpy(in->problem.capacity, p->capacity, p->kind_count * sizeof *p->capacity);
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        *arrays[i].to = by_job(c, arrays[i].given, arrays[i].width);
        if (*arrays[i].to == NULL && arrays[i].given != NULL)
            return nomem(err);
    }
    if (in->problem.gpus == NULL)
        in->problem.gpus = ones(c);
    in->usd_h = prices_where_due(c);
    if (objective == SCHED_OBJECTIVE_COST_SLO)
        in->left = left_where_due(c, in->left);
    if (in->problem.gpus == NULL || (in->usd_h == NULL && p->usd_h != NULL) ||
        (in->left == NULL && p->left != NULL))
        return nomem(err);
    return SHOAL_OK;
}

/* ---- entities ---- */

static shoal_status fill_tree(struct solve_call *c, shoal_err *err)
{
    const shoal_solve_problem *p = &c->p;

    if (p->entity_count == 0)
        return SHOAL_OK;
    if (p->entities == NULL || (p->entity == NULL && c->job_count > 0))
        return base_err(err, SHOAL_E_INVAL, "with entities every job needs one");
    struct num_tree_node *nodes = call_array(c, (size_t)p->entity_count + 1, sizeof *nodes);
    uint32_t *job_node = call_array(c, c->job_count, sizeof *job_node);
    if (nodes == NULL || job_node == NULL)
        return nomem(err);
    nodes[0] = (struct num_tree_node){.parent = NUM_TREE_NONE, .weight = 1};
    for (uint32_t e = 0; e < p->entity_count; e++) {
        uint32_t parent = p->entities[e].parent;
        if (parent != SHOAL_SOLVE_TOP && parent >= e)
            return base_err(err, SHOAL_E_INVAL,
                            "entity %u: its parent must be an entity listed before it", e);
        nodes[e + 1] = (struct num_tree_node){.parent = parent == SHOAL_SOLVE_TOP ? 0 : parent + 1,
                                              .weight = p->entities[e].weight,
                                              .fifo = p->entities[e].fifo != 0};
    }
    for (size_t i = 0; i < c->job_count; i++) {
        uint32_t entity = p->entity[call_row(c, i)];
        if (entity >= p->entity_count)
            return base_err(err, SHOAL_E_INVAL, "job %zu: entity %u does not exist, there are %u",
                            call_row(c, i), entity, p->entity_count);
        job_node[i] = entity + 1;
    }
    c->in.tree =
        (struct num_tree){.nodes = nodes, .node_count = p->entity_count + 1, .job_node = job_node};
    return SHOAL_OK;
}

/* ---- pairs ---- */

static shoal_status too_many_classes(shoal_err *err)
{
    base_err(err, SHOAL_E_LIMIT, "sharing GPUs takes at most %d different jobs",
             SHOAL_SOLVE_PAIR_JOBS_MAX);
    base_err_hint(err, "write jobs that are alike as one with a count");
    return SHOAL_E_LIMIT;
}

/* A class for each row in a pair, and one for all other rows that are alike. */
static shoal_status classes_of_rows(struct solve_call *c, uint32_t *class_of,
                                    struct base_map *alike, shoal_err *err)
{
    const shoal_solve_problem *p = &c->p;
    double key[1 + SHOAL_SOLVE_KINDS_MAX];
    uint32_t count = 0;

    for (size_t i = 0; i < p->pair_count; i++) {
        const shoal_solve_pair *pair = &p->pairs[i];
        const uint32_t rows[] = {pair->job, pair->with};
        for (size_t j = 0; j < 2; j++) {
            if (rows[j] >= p->job_count || pair->kind >= p->kind_count)
                return base_err(err, SHOAL_E_INVAL, "pair %zu: no such job or kind", i);
            if (class_of[rows[j]] == UINT32_MAX)
                class_of[rows[j]] = count++;
            if (count > SHOAL_SOLVE_PAIR_JOBS_MAX)
                return too_many_classes(err);
        }
    }
    for (size_t i = 0; i < p->job_count; i++) {
        struct base_map_entry *entry;
        if (class_of[i] != UINT32_MAX)
            continue;
        key[0] = p->gpus == NULL ? 1 : p->gpus[i];
        memcpy(key + 1, p->rates + i * p->kind_count, p->kind_count * sizeof *key);
        shoal_status st = base_map_add(alike, (const char *)key, (1 + p->kind_count) * sizeof *key,
                                       count, &entry);
        if (st != SHOAL_OK && st != SHOAL_E_EXISTS)
            return nomem(err);
        class_of[i] = (uint32_t)entry->value;
        count += st == SHOAL_OK;
        if (count > SHOAL_SOLVE_PAIR_JOBS_MAX)
            return too_many_classes(err);
    }
    c->in.class_count = count;
    return SHOAL_OK;
}

static shoal_status pair_rates(struct solve_call *c, const uint32_t *class_of, shoal_err *err)
{
    const shoal_solve_problem *p = &c->p;
    size_t classes = c->in.class_count;
    float *rates = call_array(c, p->kind_count * classes * classes, sizeof *rates);

    if (rates == NULL)
        return nomem(err);
    for (size_t i = 0; i < p->pair_count; i++) {
        const shoal_solve_pair *pair = &p->pairs[i];
        size_t a = class_of[pair->job], b = class_of[pair->with];
        float *of_kind = rates + pair->kind * classes * classes;
        if (!(pair->rate >= 0 && pair->with_rate >= 0 && pair->rate <= 1e30 &&
              pair->with_rate <= 1e30))
            return base_err(err, SHOAL_E_INVAL, "pair %zu: speeds %g and %g must be 0 or more", i,
                            pair->rate, pair->with_rate);
        if (p->gpus != NULL && p->gpus[pair->job] != p->gpus[pair->with])
            return base_err(err, SHOAL_E_INVAL, "pair %zu: the two need equal numbers of GPUs", i);
        if (pair->rate == 0 || pair->with_rate == 0 ||
            p->rates[pair->job * (size_t)p->kind_count + pair->kind] == 0 ||
            p->rates[pair->with * (size_t)p->kind_count + pair->kind] == 0)
            continue;
        of_kind[a * classes + b] = (float)pair->rate;
        of_kind[b * classes + a] = (float)pair->with_rate;
    }
    c->in.pair = rates;
    return SHOAL_OK;
}

static shoal_status fill_pairs(struct solve_call *c, shoal_err *err)
{
    const shoal_solve_problem *p = &c->p;
    struct base_map alike;

    uint32_t *row_class = call_array(c, p->job_count, sizeof *row_class);
    uint32_t *class_of = call_array(c, c->job_count, sizeof *class_of);
    if (row_class == NULL || class_of == NULL)
        return nomem(err);
    memset(row_class, 0xff, p->job_count * sizeof *row_class);
    base_map_init(&alike, env_alloc(c->s->env));
    shoal_status st = classes_of_rows(c, row_class, &alike, err);
    base_map_fini(&alike);
    if (st == SHOAL_OK)
        st = pair_rates(c, row_class, err);
    for (size_t i = 0; st == SHOAL_OK && i < c->job_count; i++)
        class_of[i] = row_class[call_row(c, i)];
    c->in.class_of = class_of;
    return st;
}

/* ---- the answer: shares, speeds and flags of rows, whatever was solved for, and whether it all holds ---- */

/* A speed this close to the fastest is the fastest. */
static const double TOP_SLACK = 1e-9;
/* What rounding may leave between value and bound, or of time and GPUs that are not there, before
 * an answer no longer counts as proven. */
static const double PROOF_SLACK = 1e-6;

/* Shares of rows: the mean over the jobs a row stands for. */
static const double *row_shares(struct solve_call *c, const double *x)
{
    size_t kinds = c->p.kind_count;
    double *out;

    if (c->row == NULL)
        return x;
    out = call_array(c, c->p.job_count * kinds, sizeof *out);
    for (size_t i = 0; out != NULL && i < c->job_count; i++)
        for (size_t k = 0; k < kinds; k++)
            out[c->row[i] * kinds + k] += x[i * kinds + k] / call_count(c, c->row[i]);
    return out;
}

/* Pairs of jobs as pairs of rows, those of the same rows and kind added up. */
static shoal_status row_pairs(struct solve_call *c, const struct sched_objective_result *from,
                              shoal_solve_result *r)
{
    shoal_solve_pair_share *pairs = call_array(c, from->pair_count, sizeof *pairs);
    struct base_map seen;
    shoal_status st = SHOAL_OK;

    if (pairs == NULL)
        return SHOAL_E_NOMEM;
    r->pairs = pairs;
    base_map_init(&seen, env_alloc(c->s->env));
    for (size_t i = 0; i < from->pair_count; i++) {
        const struct sched_pair_share *pair = &from->pairs[i];
        uint32_t a = (uint32_t)call_row(c, pair->job), b = (uint32_t)call_row(c, pair->with);
        uint32_t key[3] = {a < b ? a : b, a < b ? b : a, pair->kind};
        struct base_map_entry *entry;
        st = base_map_add(&seen, (const char *)key, sizeof key, r->pair_count, &entry);
        if (st == SHOAL_OK)
            pairs[r->pair_count++] = (shoal_solve_pair_share){key[0], key[1], key[2], pair->share};
        else if (st == SHOAL_E_EXISTS)
            pairs[entry->value].share += pair->share;
        else
            break;
        st = SHOAL_OK;
    }
    base_map_fini(&seen);
    return st;
}

/* Speed of `job` while `with` shares its GPUs. */
static double pair_rate(const struct solve_call *c, uint32_t kind, uint32_t job, uint32_t with)
{
    size_t classes = c->in.class_count;

    return (double)
        c->in.pair[(kind * classes + c->in.class_of[job]) * classes + c->in.class_of[with]];
}

static const double *row_speeds(struct solve_call *c, const struct sched_objective_result *from,
                                const double *shares)
{
    size_t kinds = c->p.kind_count;
    double *out = call_array(c, c->p.job_count, sizeof *out);

    if (out == NULL)
        return NULL;
    for (size_t i = 0; i < c->p.job_count; i++)
        for (size_t k = 0; k < kinds; k++)
            out[i] += c->p.rates[i * kinds + k] * shares[i * kinds + k];
    for (size_t i = 0; i < from->pair_count; i++) {
        const struct sched_pair_share *pair = &from->pairs[i];
        size_t a = call_row(c, pair->job), b = call_row(c, pair->with);
        out[a] += pair_rate(c, pair->kind, pair->job, pair->with) * pair->share / call_count(c, a);
        out[b] += pair_rate(c, pair->kind, pair->with, pair->job) * pair->share / call_count(c, b);
    }
    return out;
}

/* Whether a row misses its deadline whatever the others do. */
static bool is_hopeless(const struct solve_call *c, size_t row, double fastest)
{
    double deadline_s = c->p.deadline_s[row];

    return deadline_s < (double)INFINITY &&
           (!(deadline_s > 0) || c->p.left == NULL || c->p.left[row] > fastest * deadline_s);
}

/* (rows) the fastest that a job can be beside another; 0: it cannot. */
static double *fastest_beside(struct solve_call *c)
{
    double *out = call_array(c, c->p.job_count, sizeof *out);
    size_t kinds = c->p.kind_count;

    for (size_t i = 0; out != NULL && c->p.pairs != NULL && i < c->p.pair_count; i++) {
        const shoal_solve_pair *pair = &c->p.pairs[i];
        if (pair->rate > 0 && pair->with_rate > 0 && c->p.capacity[pair->kind] > 0 &&
            c->p.rates[pair->job * kinds + pair->kind] > 0 &&
            c->p.rates[pair->with * kinds + pair->kind] > 0) {
            out[pair->job] = fmax(out[pair->job], pair->rate);
            out[pair->with] = fmax(out[pair->with], pair->with_rate);
        }
    }
    return out;
}

static const unsigned char *row_flags(struct solve_call *c,
                                      const struct sched_objective_result *from,
                                      const double *speeds)
{
    unsigned char *flags = call_array(c, c->p.job_count, 1);
    double *best = fastest_beside(c);

    if (flags == NULL || best == NULL)
        return NULL;
    for (size_t i = 0; i < c->p.job_count; i++) {
        double fastest = 0;
        for (uint32_t k = 0; k < c->p.kind_count; k++) {
            double rate = c->p.capacity[k] > 0 ? c->p.rates[i * c->p.kind_count + k] : 0;
            fastest = rate > fastest ? rate : fastest;
        }
        best[i] = fmax(fastest, best[i]);
        if (fastest == 0)
            flags[i] |= SHOAL_SOLVE_NOWHERE;
        else if (speeds[i] >= best[i] * (1 - TOP_SLACK))
            flags[i] |= SHOAL_SOLVE_TOP_SPEED;
        if (from->given_up != NULL && is_hopeless(c, i, fastest))
            flags[i] |= SHOAL_SOLVE_HOPELESS;
    }
    for (size_t i = 0; i < c->job_count; i++) {
        unsigned char *flag = &flags[call_row(c, i)];
        if (from->slope != NULL && from->slope[i] > 0 && (*flag & SHOAL_SOLVE_NOWHERE) == 0)
            *flag |= SHOAL_SOLVE_HOLDS_BACK;
        if (from->given_up != NULL && from->given_up[i])
            *flag |= SHOAL_SOLVE_GIVEN_UP;
    }
    for (size_t i = 0; i < c->p.job_count; i++)
        if ((flags[i] & SHOAL_SOLVE_GIVEN_UP) == 0)
            flags[i] &= (unsigned char)~SHOAL_SOLVE_HOPELESS;
    c->s->fastest = best;
    return flags;
}

/* By how much the shares use more time or GPUs than there are, relative; the solver's word is not
 * taken for it. `used` (kinds) becomes what they use. NAN when a share is none. */
static double excess_of(const struct solve_call *c, const struct sched_objective_result *from,
                        double *time, double *used)
{
    size_t kinds = c->p.kind_count;
    double worst = 0;

    memset(used, 0, kinds * sizeof *used);
    for (size_t i = 0; i < c->job_count; i++) {
        double gpus = c->in.problem.gpus[i] * (c->row == NULL ? call_count(c, i) : 1);
        for (size_t k = 0; k < kinds; k++) {
            double share = from->x[i * kinds + k];
            if (!(share >= 0))
                worst = -share > worst || isnan(share) ? -share : worst;
            time[i] += share;
            used[k] += share * gpus;
        }
    }
    for (size_t i = 0; i < from->pair_count; i++) {
        const struct sched_pair_share *pair = &from->pairs[i];
        time[pair->job] += pair->share;
        time[pair->with] += pair->share;
        used[pair->kind] += pair->share * c->in.problem.gpus[pair->job];
    }
    for (size_t i = 0; i < c->job_count; i++)
        worst = time[i] - 1 > worst || isnan(time[i]) ? time[i] - 1 : worst;
    for (size_t k = 0; k < kinds; k++) {
        double over = used[k] - c->p.capacity[k];
        over = over > 0 && c->p.capacity[k] > 0 ? over / c->p.capacity[k] : over;
        worst = over > worst || isnan(over) ? over : worst;
    }
    return worst;
}

static shoal_status fill_answer(struct solve_call *c, enum sched_objective objective,
                                const struct sched_objective_result *from, shoal_solve_result *out)
{
    double *numbers = call_array(c, 2 * (size_t)c->p.kind_count, sizeof *numbers);
    double *time = call_array(c, c->job_count, sizeof *time);
    shoal_solve_result r = {.struct_size = out->struct_size,
                            .level = from->reached,
                            .bound = from->bound,
                            .gap = sched_objective_gap(from),
                            .passes = from->passes,
                            .unit = sched_objectives[objective].unit,
                            .priced = from->priced,
                            .priced_unit = from->priced_unit,
                            .believed = from->level,
                            .prices = numbers};

    if (numbers == NULL || time == NULL || row_pairs(c, from, &r) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    memcpy(numbers, from->price, c->p.kind_count * sizeof *numbers);
    r.used = numbers + c->p.kind_count;
    double excess = excess_of(c, from, time, numbers + c->p.kind_count);
    r.exact = from->exact && r.gap <= PROOF_SLACK && excess <= PROOF_SLACK;
    r.shares = row_shares(c, from->x);
    r.speeds = r.shares != NULL ? row_speeds(c, from, r.shares) : NULL;
    r.flags = r.speeds != NULL ? row_flags(c, from, r.speeds) : NULL;
    if (r.flags == NULL)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < c->p.job_count; i++)
        r.given_up_count += (r.flags[i] & SHOAL_SOLVE_GIVEN_UP) != 0;
    memcpy(out, &r, out->struct_size < sizeof r ? out->struct_size : sizeof r);
    return SHOAL_OK;
}

/* ---- the call ---- */

static shoal_status find_objective(const char *name, int *out, shoal_err *err)
{
    const char *names[SCHED_OBJECTIVE_COUNT];

    *out = sched_objective_find(name);
    if (*out >= 0)
        return SHOAL_OK;
    for (size_t i = 0; i < SCHED_OBJECTIVE_COUNT; i++)
        names[i] = sched_objectives[i].name;
    const char *near = base_nearest(name, names, SCHED_OBJECTIVE_COUNT);
    base_err(err, SHOAL_E_NOTFOUND, "unknown objective '%.60s'", name);
    if (near != NULL)
        base_err_hint(err, "did you mean '%s'?", near);
    return SHOAL_E_NOTFOUND;
}

static shoal_status check_call(const shoal_solve_problem *p, shoal_err *err)
{
    if (p->kind_count < 1 || p->kind_count > SHOAL_SOLVE_KINDS_MAX || p->capacity == NULL)
        return base_err(err, SHOAL_E_INVAL, "a problem needs 1 to %d kinds and their GPUs",
                        SHOAL_SOLVE_KINDS_MAX);
    if (p->job_count > 0 && p->rates == NULL)
        return base_err(err, SHOAL_E_INVAL, "the jobs need rates");
    if (p->job_count >= UINT32_MAX)
        return base_err(err, SHOAL_E_LIMIT, "%zu jobs are too many", p->job_count);
    if (p->pair_count > 0 && p->pairs == NULL)
        return base_err(err, SHOAL_E_INVAL, "%zu pairs are announced and none given",
                        p->pair_count);
    return SHOAL_OK;
}

shoal_status shoal_solver_solve(shoal_solver *solver, const char *objective,
                                const shoal_solve_problem *problem, shoal_solve_result *out_result,
                                shoal_err *err)
{
    struct solve_call c = {.s = solver};
    struct sched_objective_result answer;
    int which;

    if (solver == NULL || objective == NULL || problem == NULL || out_result == NULL ||
        problem->struct_size <= sizeof problem->struct_size ||
        out_result->struct_size <= sizeof out_result->struct_size)
        return base_err(err, SHOAL_E_INVAL,
                        "solving needs an objective, SHOAL_SOLVE_PROBLEM_INIT and "
                        "SHOAL_SOLVE_RESULT_INIT");
    memcpy(&c.p, problem, problem->struct_size < sizeof c.p ? problem->struct_size : sizeof c.p);
    base_arena_clear(&solver->arena);
    c.job_count = c.p.job_count;
    if (c.p.pair_count == 0)
        c.p.pairs = NULL;
    shoal_status st = find_objective(objective, &which, err);
    if (st == SHOAL_OK)
        st = check_call(&c.p, err);
    if (st == SHOAL_OK && must_spread(&c, (enum sched_objective)which))
        st = spread_rows(&c, err);
    if (st == SHOAL_OK)
        st = fill_jobs(&c, (enum sched_objective)which, err);
    if (st == SHOAL_OK && which == SCHED_OBJECTIVE_HIERARCHICAL)
        st = fill_tree(&c, err);
    if (st == SHOAL_OK && c.p.pairs != NULL)
        st = fill_pairs(&c, err);
    if (st == SHOAL_OK)
        st = sched_objective_solve(solver->inner, (enum sched_objective)which, &c.in, &answer, err);
    if (st == SHOAL_OK &&
        fill_answer(&c, (enum sched_objective)which, &answer, out_result) != SHOAL_OK)
        st = nomem(err);
    return st;
}
