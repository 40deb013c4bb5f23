/* run.c - a problem by its path, solved, as a result (shoal_solve_run): the options as rows, the fields of the
 * answer as rows, and its words.
 *
 * The result owns the problem and the solver, whose arrays its records are made from one at a time, so an answer of
 * millions of jobs takes no memory of its own. Tests: tests/unit/solve/test_run.c, tests/cli/test_solve.py,
 * tests/cli/transcripts/solve*.txt. */
#include "solve/problem.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/text.h"
#include "base/watch.h"
#include "page/make.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAMED_MAX = 5,        /* jobs named in a sentence */
    KIND_COLUMNS_MAX = 4, /* with more, a job's shares are a list in one column */
    LIST_SIZE = 512
};

/* GPUs in use this close to all are all. */
static const double FULL_SLACK = 1e-6;
/* Floors are lowered by less than this to stay clear of rounding. */
static const double DEADLINE_SLACK = 1e-6;
/* A price below this part of what it is of is none. */
static const double PRICE_MIN = 5e-7;
/* A gap below this is no gap: what was not proven is something else. */
static const double AGREE = 1e-6;
/* A share of time below this is none. */
static const double SHARE_MIN = 1e-6;

/* ---- options ---- */

/* Then the name of the policy that is fifo. */
static const char *const objective_names[] = {"max-min",    "ftf",      "makespan", "throughput",
                                              "cost",       "cost-slo", "fifo",     "hierarchical",
                                              "fifo-types", NULL};
static const char *const sharing_names[] = {"none", "pairs", NULL};

_Static_assert(BASE_COUNT(objective_names) == SCHED_OBJECTIVE_COUNT + 2,
               "a name per objective, and fifo-types");
_Static_assert((int)SHOAL_SOLVE_HIERARCHICAL == (int)SCHED_OBJECTIVE_HIERARCHICAL,
               "one order of objectives");

#define AT(member) offsetof(shoal_solve_opts, member)

static const shoal_opt rows[] = {
    {AT(objective), SHOAL_OPT_CHOICE, "objective", 0, "NAME", "max-min", "what is best",
     .choices = objective_names},
    {AT(agnostic), SHOAL_OPT_FLAG, "agnostic",
     .help = "pretend that every kind a job can use is equally fast; the value shown is the true "
             "one of the shares that this gives"},
    {AT(sharing), SHOAL_OPT_CHOICE, "sharing", 0, "WHAT", "none",
     "whether the problem's pairs of jobs may share GPUs", .choices = sharing_names},
    {AT(jobs), SHOAL_OPT_STR, "show", 'n', "N", "20", "jobs to show, or 'all'; --json has them all",
     .complete = "all 20 100"},
    {AT(repeat), SHOAL_OPT_U64, "repeat", 0, "N", "1",
     "solve it N times and tell the time of the first and of the others, which start from the "
     "prices of the last",
     .min = 1, .max = 1000000},
    {AT(threads), SHOAL_OPT_U64, "threads", 't', "N", "0", "threads to use; 0: one per core",
     .max = 1024},
};
#undef AT

const shoal_opt *shoal_solve_opt_rows(size_t *out_count)
{
    *out_count = BASE_COUNT(rows);
    return rows;
}

void shoal_solve_opts_init(shoal_solve_opts *opts)
{
    memset(opts, 0, sizeof *opts);
    opts->struct_size = sizeof *opts;
    base_opt_defaults(rows, BASE_COUNT(rows), opts);
}

static shoal_status parse_jobs_max(const char *text, size_t *out, shoal_err *err)
{
    uint64_t number;

    if (text == NULL || strcmp(text, "all") == 0) {
        *out = SIZE_MAX;
        return SHOAL_OK;
    }
    if (!base_parse_u64(text, strlen(text), &number) || number > SOLVE_JOBS_MAX)
        return base_err(err, SHOAL_E_INVAL, "--show: expected a number or 'all', found '%.60s'",
                        text);
    *out = (size_t)number;
    return SHOAL_OK;
}

/* ---- what is known of a solved problem ---- */

/* Owned by the result, and its record. */
struct solved {
    const struct base_alloc *alloc;
    struct solve_problem *problem;
    shoal_solver *solver;
    shoal_solve_result r; /* arrays are the solver's */
    const double
        *fastest; /* (jobs) steps per second on its best kind, or beside another; the solver's */
    double *in_pairs;   /* (jobs) share of the time of one job that it spends in pairs; NULL */
    const char **kinds; /* names */
    uint32_t objective, threads;
    bool agnostic, aware, sharing, exact;
    uint64_t repeat;
    size_t jobs_max;                        /* in tables */
    double load_s, first_s, again_s, usd_h; /* again: median; NAN: there were none, no money */
    shoal_records job_rows, kind_rows, pair_rows;
    shoal_texts run_nowhere, given_up, hopeless;
};

static void free_solved(void *what)
{
    struct solved *s = what;

    if (s == NULL)
        return;
    base_free(s->alloc, s->in_pairs);
    shoal_solver_free(s->solver);
    solve_problem_free(s->problem);
    base_free(s->alloc, s);
}

static bool used_up(const struct solved *s, uint32_t kind)
{
    double gpus = s->problem->capacity[kind];

    return gpus > 0 && s->r.used[kind] >= gpus * (1 - FULL_SLACK);
}

/* Whether prices are of the unit of the value, or of the work of all. */
static bool prices_level(const struct solved *s)
{
    return strcmp(s->r.priced_unit, s->r.unit) == 0;
}

/* What one more GPU would change the level by, as a part of it; NAN: not known. */
static double worth(const struct solved *s, uint32_t kind)
{
    const shoal_solve_result *r = &s->r;
    bool smaller_is_better =
        s->objective == SCHED_OBJECTIVE_FTF || s->objective == SCHED_OBJECTIVE_MAKESPAN;

    if (s->objective == SCHED_OBJECTIVE_FIFO || s->problem->capacity[kind] == 0 ||
        !(r->priced > 0 && isfinite(r->priced)))
        return (double)NAN;
    double part = fabs(r->prices[kind]) / r->priced;
    return smaller_is_better && prices_level(s) ? -part : part;
}

/* Whether it ends before its deadline, which it has. */
static bool keeps(const struct solved *s, size_t job)
{
    const struct solve_problem *p = s->problem;

    return (s->r.flags[job] & SHOAL_SOLVE_GIVEN_UP) == 0 &&
           s->r.speeds[job] * p->deadline_s[job] >= p->left[job] * (1 - DEADLINE_SLACK);
}

/* What the GPUs in use cost; NAN where money does not matter. */
static double find_usd_h(const struct solved *s)
{
    double usd = s->objective == SCHED_OBJECTIVE_COST || s->objective == SCHED_OBJECTIVE_COST_SLO
                     ? 0
                     : (double)NAN;

    for (uint32_t k = 0; k < s->problem->kind_count; k++)
        if (s->problem->capacity[k] > 0)
            usd += s->r.used[k] * s->problem->usd_h[k];
    return usd;
}

static bool has_flag(const struct solved *s, size_t job, unsigned flag, unsigned without)
{
    return (s->r.flags[job] & flag) != 0 && (s->r.flags[job] & without) == 0;
}

static double count_flag(const struct solved *s, unsigned flag, unsigned without)
{
    double count = 0;

    for (size_t i = 0; i < s->problem->job_count; i++)
        if (has_flag(s, i, flag, without))
            count += s->problem->count[i];
    return count;
}

static double count_jobs(const struct solve_problem *p)
{
    double count = 0;

    for (size_t i = 0; i < p->job_count; i++)
        count += p->count[i];
    return count;
}

/* ---- solving ---- */

static bool find_time_in_pairs(struct solved *s)
{
    const struct solve_problem *p = s->problem;

    if (!s->sharing)
        return true;
    s->in_pairs = base_calloc(s->alloc, p->job_count + 1, sizeof *s->in_pairs);
    for (size_t i = 0; s->in_pairs != NULL && i < s->r.pair_count; i++) {
        const shoal_solve_pair_share *pair = &s->r.pairs[i];
        s->in_pairs[pair->job] += pair->share / p->count[pair->job];
        s->in_pairs[pair->with] += pair->share / p->count[pair->with];
    }
    return s->in_pairs != NULL;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double seconds_since(shoal_env *env, uint64_t began)
{
    return (double)(env_now_ns(env) - began) * 1e-9;
}

/* Solves s->repeat times; the answer is that of the last. */
static shoal_status solve(shoal_env *env, struct solved *s, shoal_watch *watch, shoal_err *err)
{
    size_t others = (size_t)s->repeat - 1;
    double *times = base_calloc(s->alloc, others + 1, sizeof *times);
    shoal_solve_problem view;
    shoal_status st = SHOAL_OK;

    if (times == NULL)
        return base_err_nomem(err, "solving a problem");
    solve_problem_view(s->problem, s->agnostic, s->sharing, &view);
    solve_solver_watch(s->solver, watch);
    if (s->repeat > 1)
        base_watch_begin(watch, "times solved", s->repeat);
    for (uint64_t i = 0; i < s->repeat && st == SHOAL_OK; i++) {
        uint64_t began = env_now_ns(env);
        st = shoal_solver_solve(s->solver, sched_objectives[s->objective].name, &view, &s->r, err);
        double seconds = seconds_since(env, began);
        *(i == 0 ? &s->first_s : &times[i - 1]) = seconds;
        if (s->repeat > 1 && watch != NULL)
            atomic_fetch_add_explicit(base_watch_done(watch), 1, memory_order_relaxed);
        if (base_watch_stopped(watch))
            st = base_err(err, SHOAL_E_CANCELLED, "interrupted");
    }
    s->fastest = solve_solver_fastest(s->solver);
    qsort(times, others, sizeof *times, by_size);
    s->again_s = others > 0 ? (times[others / 2] + times[(others - 1) / 2]) / 2 : (double)NAN;
    base_free(s->alloc, times);
    return st;
}

/* ---- fields ---- */

struct kind_row {
    const char *name, *more;
    double gpus, used, usd_h, price, price_percent;
    bool used_up;
};

#define AT(member) offsetof(struct kind_row, member)
static const shoal_field kind_fields[] = {
    {AT(name), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "name", "KIND", "name of the kind",
     .flags = SHOAL_FIELD_CUT},
    {AT(gpus), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "gpus", "GPUS", .help = "GPUs there are"},
    {AT(used), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "used", "USED",
     .help = "GPUs in use, on average"},
    {AT(usd_h), SHOAL_FIELD_F64, SHOAL_UNIT_USD, 0, 2, "usd_h", "USD/H",
     "price of a GPU for an hour", .flags = SHOAL_FIELD_OPTIONAL | SHOAL_FIELD_SPARSE},
    {AT(price), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 0, "price", "PRICE",
     .help = "what one more GPU would change `priced` by, at most"},
    {AT(price_percent), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 0, "price_percent", "PRICE %",
     .help = "the same as a percentage of `priced`"},
    {AT(more), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "ONE MORE GPU",
     .help = "what one more GPU would change the value by"},
    {AT(used_up), SHOAL_FIELD_BOOL, SHOAL_UNIT_NONE, 0, 2, "used_up", "USED UP",
     .help = "all its GPUs are in use"},
};
#undef AT
static const shoal_schema kind_schema = {"kind", "Kinds of GPU", "one kind of GPU", kind_fields,
                                         BASE_COUNT(kind_fields)};

struct job_row {
    const char *name, *entity, *deadline_kept, *shares_text, *remark;
    double gpus, count, shown_count, speed, of_fastest, in_pairs;
    shoal_numbers shares;
    bool holds_back, top_speed, runs_nowhere;
    char text[LIST_SIZE]; /* of shares_text */
};
_Static_assert(sizeof(struct job_row) <= 1024, "records made one at a time are small");

#define AT(member) offsetof(struct job_row, member)
static const shoal_field job_fields[] = {
    {AT(name), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "name", "JOB", "name of the job",
     .flags = SHOAL_FIELD_CUT},
    {AT(entity), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 2, "entity", "ENTITY", "entity it is of",
     .flags = SHOAL_FIELD_OPTIONAL | SHOAL_FIELD_SPARSE | SHOAL_FIELD_CUT},
    {AT(count), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 0, "count", "COUNT",
     .help = "jobs that are exactly like it"},
    {AT(shown_count), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 2, NULL, "COUNT",
     "jobs that are exactly like it, where some job has such", .flags = SHOAL_FIELD_SPARSE},
    {AT(gpus), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 4, "gpus", "GPUS",
     .help = "GPUs it needs at once"},
    {AT(shares), SHOAL_FIELD_NUMBERS, SHOAL_UNIT_SHARE, 0, 1, "shares", NULL,
     .help = "share of time on each kind, in the order of `kinds`"},
    {AT(in_pairs), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, 0, 3, NULL, "SHARED",
     "share of its time that it shares its GPUs", .flags = SHOAL_FIELD_SPARSE},
    {AT(speed), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 3, "speed", "STEPS/S",
     .help = "steps per second"},
    {AT(of_fastest), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, 0, 1, "of_fastest", "OF TOP",
     .help = "its speed compared with all its time on its fastest kind"},
    {AT(holds_back), SHOAL_FIELD_BOOL, SHOAL_UNIT_NONE, 0, 0, "holds_back", NULL,
     .help = "were it content with less, the value would be better"},
    {AT(top_speed), SHOAL_FIELD_BOOL, SHOAL_UNIT_NONE, 0, 0, "top_speed", NULL,
     .help = "it has all its time where it is fastest"},
    {AT(runs_nowhere), SHOAL_FIELD_BOOL, SHOAL_UNIT_NONE, 0, 0, "runs_nowhere", NULL,
     .help = "it can run on no kind"},
    {AT(deadline_kept), SHOAL_FIELD_JSON, SHOAL_UNIT_NONE, 0, 0, "deadline_kept", NULL,
     "under cost-slo, of a job with a deadline: whether it ends before it",
     .flags = SHOAL_FIELD_OPTIONAL},
    {AT(remark), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "NOTE", "what is special about it",
     .flags = SHOAL_FIELD_SPARSE},
    {AT(shares_text), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "SHARE OF TIME ON",
     "the kinds it runs on, where there are many", .flags = SHOAL_FIELD_SPARSE | SHOAL_FIELD_WRAP},
};
#undef AT
static const shoal_schema job_schema = {"job", "Jobs", "one job, or several that are alike",
                                        job_fields, BASE_COUNT(job_fields)};

struct pair_row {
    const char *job, *with, *kind;
    const char *names[2];
    shoal_texts jobs;
    double share;
};

#define AT(member) offsetof(struct pair_row, member)
static const shoal_field pair_fields[] = {
    {AT(job), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "SHARING GPUS", "one of the two",
     .flags = SHOAL_FIELD_CUT},
    {AT(with), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "WITH", "the other",
     .flags = SHOAL_FIELD_CUT},
    {AT(jobs), SHOAL_FIELD_TEXTS, SHOAL_UNIT_NONE, 0, 0, "jobs", NULL, .help = "the two jobs"},
    {AT(kind), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "kind", "KIND",
     .help = "the kind of GPU that they share"},
    {AT(share), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "share", "PAIRS AT A TIME",
     .help = "share of time; of rows that stand for several jobs, how many such pairs on average"},
};
#undef AT
static const shoal_schema pair_schema = {"pair", "Pairs that share GPUs",
                                         "two jobs on the same GPUs", pair_fields,
                                         BASE_COUNT(pair_fields)};

#define AT(member) offsetof(struct solved, member)
static const shoal_field answer_fields[] = {
    {AT(objective), SHOAL_FIELD_CHOICE, SHOAL_UNIT_NONE, 0, 1, "objective", "Objective",
     "what is best", .choices = objective_names},
    {AT(aware), SHOAL_FIELD_BOOL, SHOAL_UNIT_NONE, 0, 0, "aware", NULL,
     .help = "solved with the kinds' true speeds; false with --agnostic"},
    {AT(sharing), SHOAL_FIELD_BOOL, SHOAL_UNIT_NONE, 0, 0, "sharing", NULL,
     .help = "pairs of jobs may share GPUs"},
    {AT(r.level), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "level", "Value",
     .help = "the objective's value by the true speeds"},
    {AT(r.unit), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "unit", "Unit", .help = "of the value"},
    {AT(r.believed), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 0, "believed", NULL,
     .help = "the value if speeds were as --agnostic pretends; else the value"},
    {AT(r.bound), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "bound", "Bound",
     .help = "no solution is better, proven by the prices"},
    {AT(r.gap), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "gap", "Gap",
     .help = "of value and bound, relative"},
    {AT(exact), SHOAL_FIELD_BOOL, SHOAL_UNIT_NONE, 0, 1, "exact", "Proven",
     .help = "the gap is within rounding"},
    {AT(r.priced), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 0, "priced", NULL,
     .help = "what the prices are of"},
    {AT(r.priced_unit), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "priced_unit", NULL,
     .help = "its unit"},
    {AT(r.passes), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 1, "passes", "Passes over all jobs",
     .help = "passes over all jobs"},
    {AT(threads), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 1, "threads", "Threads",
     .help = "threads that solved it"},
    {AT(repeat), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "repeat", NULL,
     .help = "how often it was solved"},
    {AT(load_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "load_s", NULL,
     .help = "time to read the problem"},
    {AT(first_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "time_s", NULL,
     .help = "time of the first solution, from nothing"},
    {AT(again_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "time_again_s", NULL,
     .help = "median time of the others, which start from the prices of the last"},
    {AT(usd_h), SHOAL_FIELD_F64, SHOAL_UNIT_USD, 0, 1, "usd_h", "Cost of an hour",
     "under cost and cost-slo: what the GPUs in use cost", .flags = SHOAL_FIELD_OPTIONAL},
    {AT(job_rows), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, "jobs", NULL,
     "jobs in the order of the file", .of = &job_schema},
    {AT(kind_rows), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, "kinds", NULL, "kinds of GPU",
     .of = &kind_schema},
    {AT(pair_rows), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, "pairs", NULL,
     "with sharing: pairs that share GPUs", .flags = SHOAL_FIELD_OPTIONAL, .of = &pair_schema},
    {AT(run_nowhere), SHOAL_FIELD_TEXTS, SHOAL_UNIT_NONE, 0, 0, "run_nowhere", NULL,
     .help = "jobs that can run on no kind"},
    {AT(given_up), SHOAL_FIELD_TEXTS, SHOAL_UNIT_NONE, 0, 0, "deadlines_given_up", NULL,
     .help = "jobs whose deadlines cannot be kept together with the others"},
    {AT(hopeless), SHOAL_FIELD_TEXTS, SHOAL_UNIT_NONE, 0, 0, "deadlines_hopeless", NULL,
     .help = "those of them that could not be kept even at top speed"},
};
#undef AT
static const shoal_schema answer_schema = {"solve", NULL, "the answer to one problem",
                                           answer_fields, BASE_COUNT(answer_fields)};

const shoal_schema *shoal_solve_schema(void)
{
    return &answer_schema;
}

/* ---- records ---- */

static void fill_kind(const struct solved *s, struct page_made *made, uint32_t k,
                      struct kind_row *row)
{
    const struct solve_problem *p = s->problem;
    double part = worth(s, k);

    *row = (struct kind_row){.name = s->kinds[k],
                             .gpus = p->capacity[k],
                             .used = s->r.used[k],
                             .usd_h = p->usd_h[k],
                             .price = isnan(part) ? part : s->r.prices[k],
                             .price_percent = 100 * part,
                             .used_up = used_up(s, k)};
    if (isnan(part))
        row->more = "-";
    else if (fabs(part) < PRICE_MIN)
        row->more = "no change";
    else
        row->more = page_made_text(made, "%+.3g %%", 100 * part);
}

/* "v100 60%, k80 40%": wrapped at kinds only. */
static const char *list_shares(const struct solved *s, const double *shares, char *list)
{
    size_t used = 0;

    for (uint32_t k = 0; k < s->problem->kind_count && used < LIST_SIZE; k++)
        if (shares[k] >= SHARE_MIN)
            used += (size_t)snprintf(list + used, LIST_SIZE - used, "%s%.60s %.3g%%",
                                     used > 0 ? ", " : "", s->kinds[k], 100 * shares[k]);
    return used == 0 ? "-" : list;
}

static const char *remark_of(const struct solved *s, size_t job)
{
    unsigned flags = s->r.flags[job];

    if ((flags & SHOAL_SOLVE_NOWHERE) != 0)
        return "runs nowhere";
    if ((flags & SHOAL_SOLVE_GIVEN_UP) != 0)
        return "deadline given up";
    if (s->objective == SCHED_OBJECTIVE_COST_SLO && isfinite(s->problem->deadline_s[job]) &&
        !keeps(s, job))
        return "misses its deadline"; /* --agnostic: it was thought to be faster */
    if ((flags & SHOAL_SOLVE_TOP_SPEED) != 0)
        return "top speed";
    return (flags & SHOAL_SOLVE_HOLDS_BACK) != 0 ? "holds back" : "";
}

static void fill_job(const void *ctx, size_t i, void *record)
{
    const struct solved *s = ctx;
    const struct solve_problem *p = s->problem;
    const double *shares = s->r.shares + i * p->kind_count;
    unsigned flags = s->r.flags[i];
    struct job_row *row = record;
    bool many = p->kind_count > KIND_COLUMNS_MAX;

    row->name = solve_problem_job(p, i);
    row->entity = p->entity == NULL ? NULL : solve_problem_entity(p, p->entity[i]);
    row->gpus = p->gpus[i];
    row->count = p->count[i];
    row->shown_count = p->alike ? p->count[i] : (double)NAN;
    row->shares = (shoal_numbers){shares, p->kind_count, many ? NULL : s->kinds};
    row->shares_text = many ? list_shares(s, shares, row->text) : NULL;
    row->speed = s->r.speeds[i];
    row->of_fastest = s->fastest[i] > 0 ? row->speed / s->fastest[i] : (double)NAN;
    row->in_pairs = s->in_pairs == NULL ? (double)NAN : s->in_pairs[i];
    row->holds_back = (flags & SHOAL_SOLVE_HOLDS_BACK) != 0;
    row->top_speed = (flags & SHOAL_SOLVE_TOP_SPEED) != 0;
    row->runs_nowhere = (flags & SHOAL_SOLVE_NOWHERE) != 0;
    row->remark = remark_of(s, i);
    row->deadline_kept = NULL;
    if (s->objective == SCHED_OBJECTIVE_COST_SLO && isfinite(p->deadline_s[i]))
        row->deadline_kept = keeps(s, i) ? "true" : "false";
}

static void fill_pair(const void *ctx, size_t i, void *record)
{
    const struct solved *s = ctx;
    const shoal_solve_pair_share *pair = &s->r.pairs[i];
    struct pair_row *row = record;

    row->names[0] = row->job = solve_problem_job(s->problem, pair->job);
    row->names[1] = row->with = solve_problem_job(s->problem, pair->with);
    row->jobs = (shoal_texts){row->names, 2};
    row->kind = s->kinds[pair->kind];
    row->share = pair->share;
}

/* All jobs with a flag, by name. */
static shoal_texts list_flagged(const struct solved *s, struct page_made *made, unsigned flag)
{
    size_t count = 0, at = 0;

    for (size_t i = 0; i < s->problem->job_count; i++)
        count += has_flag(s, i, flag, 0);
    const char **names = page_made_alloc(made, count, sizeof *names);
    for (size_t i = 0; names != NULL && i < s->problem->job_count; i++)
        if (has_flag(s, i, flag, 0))
            names[at++] = solve_problem_job(s->problem, i);
    return (shoal_texts){names, count};
}

static size_t hidden(size_t count, size_t most)
{
    return count > most ? count - most : 0;
}

static void make_rows(struct solved *s, struct page_made *made, struct kind_row *kinds)
{
    const struct solve_problem *p = s->problem;

    for (uint32_t k = 0; k < p->kind_count; k++)
        fill_kind(s, made, k, &kinds[k]);
    s->kind_rows = (shoal_records){.first = kinds, .stride = sizeof *kinds, .count = p->kind_count};
    s->job_rows = (shoal_records){.stride = sizeof(struct job_row),
                                  .count = p->job_count,
                                  .fill = fill_job,
                                  .ctx = s,
                                  .hidden = hidden(p->job_count, s->jobs_max)};
    if (s->sharing)
        s->pair_rows = (shoal_records){.stride = sizeof(struct pair_row),
                                       .count = s->r.pair_count,
                                       .fill = fill_pair,
                                       .ctx = s,
                                       .hidden = hidden(s->r.pair_count, s->jobs_max)};
    s->run_nowhere = list_flagged(s, made, SHOAL_SOLVE_NOWHERE);
    s->given_up = list_flagged(s, made, SHOAL_SOLVE_GIVEN_UP);
    s->hopeless = list_flagged(s, made, SHOAL_SOLVE_HOPELESS);
}

/* ---- words ---- */

/* 4 digits, without the zeros that say nothing; large ones with separators. Returns buf. */
static const char *number_text(double value, char *buf, size_t size)
{
    if (value >= 9999.5 && value < 1e15)
        return base_format_count((uint64_t)llround(value), buf, size);
    (void)snprintf(buf, size, "%.4g", value);
    return buf;
}

/* "2h56m", "1.5 s", "16 us" */
static const char *time_text(double seconds, char *buf, size_t size)
{
    if (isfinite(seconds) && seconds >= 60)
        return base_format_duration(seconds, buf, size);
    if (seconds < 1e-3)
        (void)snprintf(buf, size, "%.3g us", 1e6 * seconds);
    else if (seconds < 1)
        (void)snprintf(buf, size, "%.3g ms", 1e3 * seconds);
    else
        (void)snprintf(buf, size, "%.3g s", seconds);
    return buf;
}

static bool is_weighted(const struct solve_problem *p)
{
    for (size_t i = 0; i < p->job_count; i++)
        if (p->weight[i] != 1)
            return true;
    return false;
}

/* ", 5 of 7 deadlines kept" */
static void say_deadlines(struct page_made *m, const struct solved *s)
{
    const struct solve_problem *p = s->problem;
    char text[48], all[48];
    double count = 0, kept = 0;

    for (size_t i = 0; i < p->job_count; i++) {
        count += isfinite(p->deadline_s[i]) ? p->count[i] : 0;
        kept += isfinite(p->deadline_s[i]) && keeps(s, i) ? p->count[i] : 0;
    }
    if (count > 0)
        page_made_say(m, ", %s of %s deadline%s kept", number_text(kept, text, sizeof text),
                      number_text(count, all, sizeof all), count == 1 ? "" : "s");
}

static void say_level(struct page_made *m, const struct solved *s)
{
    const struct solve_problem *p = s->problem;
    bool weighted = is_weighted(p);
    double level = s->r.level;
    char a[48], b[128];
    const char *number = number_text(level, a, sizeof a);
    bool one = strcmp(number, "1") == 0;

    switch ((enum sched_objective)s->objective) {
    case SCHED_OBJECTIVE_MAX_MIN:
        page_made_say(m, "every job gets at least the speed of %s average GPU%s%s", number,
                      one ? "" : "s", weighted ? " times its weight" : "");
        break;
    case SCHED_OBJECTIVE_FTF:
        page_made_say(m, "the worst job takes %s%s%s", one ? "" : number, one ? "" : " times ",
                      weighted ? "its fair time, weighted" : "as long as on a share of its own");
        break;
    case SCHED_OBJECTIVE_MAKESPAN:
        if (isfinite(level))
            page_made_say(m, "all jobs can end within %s", time_text(level, b, sizeof b));
        else
            page_made_say(m, "some job never ends");
        break;
    case SCHED_OBJECTIVE_THROUGHPUT:
        page_made_say(m, "as much work as %s %s fastest%s", number,
                      one ? "job at its" : "jobs at their", weighted ? ", by weight" : "");
        break;
    case SCHED_OBJECTIVE_COST:
    case SCHED_OBJECTIVE_COST_SLO:
        page_made_say(m, "%s, the %ssum of each GPU kind's work per dollar, $%.2f an hour in all",
                      number, weighted ? "weighted " : "", s->usd_h);
        if (s->objective == SCHED_OBJECTIVE_COST_SLO)
            say_deadlines(m, s);
        break;
    case SCHED_OBJECTIVE_FIFO:
        page_made_say(m, "%s of %s jobs have GPUs", number,
                      number_text(count_jobs(p), b, sizeof b));
        break;
    case SCHED_OBJECTIVE_HIERARCHICAL:
        page_made_say(m, "the speed of %s average GPU%s in all when the first run out%s", number,
                      one ? "" : "s", s->agnostic ? ", if all kinds were equally fast" : "");
        break;
    case SCHED_OBJECTIVE_COUNT: break;
    }
    page_made_say(m, "\n");
}

/* What --agnostic takes the value for, where that is another. */
static void say_believed(struct page_made *m, const struct solved *s)
{
    double believed = s->r.believed;
    char text[128];

    if (!s->agnostic || fabs(believed - s->r.level) <= AGREE * fabs(believed))
        return;
    page_made_say(m, "with all kinds equally fast, as is pretended, it would be %s\n",
                  s->objective == SCHED_OBJECTIVE_MAKESPAN
                      ? time_text(believed, text, sizeof text)
                      : number_text(believed, text, sizeof text));
}

/* What the prices are of, where that is not the value, and why there are none. */
static void say_priced(struct page_made *m, const struct solved *s)
{
    const shoal_solve_result *r = &s->r;
    const char *pretended = s->agnostic ? "as pretended, " : "";
    const char *weight = is_weighted(s->problem) ? " times their weight" : "";
    bool any = false, some = false;
    char text[48];

    for (uint32_t k = 0; k < s->problem->kind_count; k++) {
        double part = worth(s, k);
        any = any || !isnan(part);
        some = some || fabs(part) >= PRICE_MIN;
    }
    if (!any)
        return;
    if (!some)
        page_made_say(m, "nothing is short%s: one more GPU of any kind would change nothing\n",
                      s->agnostic ? " as long as all kinds are taken for equally fast" : "");
    else if (!prices_level(s))
        page_made_say(m,
                      "%sa job running all the time sets the value; ONE MORE GPU is for what comes "
                      "next, the work of all: as much as %s jobs at their fastest%s\n",
                      pretended, number_text(r->priced, text, sizeof text),
                      weight[0] != '\0' ? ", by weight" : "");
    else if (r->priced > r->believed * (1 + AGREE) && s->objective == SCHED_OBJECTIVE_MAX_MIN)
        page_made_say(m,
                      "%sa job running all the time sets the value; ONE MORE GPU is for what comes "
                      "next, the first jobs to run out of GPUs, at %s average GPUs%s\n",
                      pretended, number_text(r->priced, text, sizeof text), weight);
}

static void say_count(struct page_made *m, double count, const char *one, const char *many)
{
    char text[48];

    if (count > 0)
        page_made_say(m, ", %s %s", number_text(count, text, sizeof text), count == 1 ? one : many);
}

/* "a, b, c and 12 more" into buf: the jobs with a flag and without another. */
static const char *name_flagged(const struct solved *s, unsigned flag, unsigned without, char *buf,
                                size_t size)
{
    size_t named = 0, all = 0, used = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < s->problem->job_count; i++) {
        if (!has_flag(s, i, flag, without) || all++ >= NAMED_MAX)
            continue;
        (void)snprintf(buf + used, size - used, "%s%.60s", named++ > 0 ? ", " : "",
                       solve_problem_job(s->problem, i));
        used = strlen(buf);
    }
    if (all > named)
        (void)snprintf(buf + used, size - used, " and %zu more", all - named);
    return buf;
}

/* Those that nothing could keep, or those that could be kept without the others. */
static void say_given_up(struct page_made *m, const struct solved *s, bool hopeless)
{
    unsigned flag = hopeless ? SHOAL_SOLVE_HOPELESS : SHOAL_SOLVE_GIVEN_UP;
    unsigned without = hopeless ? 0 : SHOAL_SOLVE_HOPELESS;
    double count = count_flag(s, flag, without);
    char names[400], text[48];

    if (count == 0)
        return;
    page_made_say(m, "%s deadline%s cannot be kept %s and %s given up: %s\n",
                  number_text(count, text, sizeof text), count == 1 ? "" : "s",
                  hopeless ? "even at top speed" : "with the others", count == 1 ? "is" : "are",
                  name_flagged(s, flag, without, names, sizeof names));
}

static void say_binding(struct page_made *m, const struct solved *s)
{
    uint32_t full = 0;

    if (s->sharing && s->r.pair_count == 0)
        page_made_say(m, "no pair is worth sharing GPUs\n");
    for (uint32_t k = 0; k < s->problem->kind_count; k++)
        full += used_up(s, k);
    if (s->problem->kind_count == 1)
        page_made_say(m, "%s is %sused up", s->kinds[0], full == 1 ? "" : "not ");
    else
        page_made_say(m, "%u of %u kinds %s used up", full, s->problem->kind_count,
                      full == 1 ? "is" : "are");
    say_count(m, count_flag(s, SHOAL_SOLVE_HOLDS_BACK, SHOAL_SOLVE_TOP_SPEED),
              "job holds the others back", "jobs hold the others back");
    say_count(m, count_flag(s, SHOAL_SOLVE_TOP_SPEED, 0), "job is at top speed",
              "jobs are at top speed");
    say_count(m, count_flag(s, SHOAL_SOLVE_NOWHERE, 0), "job runs nowhere", "jobs run nowhere");
    page_made_say(m, "\n");
    say_given_up(m, s, true);
    say_given_up(m, s, false);
}

static void say_proof(struct page_made *m, const struct solved *s)
{
    const shoal_solve_result *r = &s->r;
    const char *optimal = s->agnostic ? "optimal if all kinds were equally fast" : "optimal";
    char first[32], again[32];

    if (s->objective == SCHED_OBJECTIVE_FIFO)
        page_made_say(m, "in the order of the file; nothing is optimised");
    else if (!r->exact && r->gap <= AGREE)
        page_made_say(m,
                      "NOT PROVEN OPTIMAL: value and bound agree, but not all shares are proven");
    else if (!r->exact && isfinite(r->gap))
        page_made_say(m, "NOT PROVEN OPTIMAL: the best may be up to %.2g %% better", 100 * r->gap);
    else if (!r->exact)
        page_made_say(m, "NOT PROVEN OPTIMAL");
    else if (r->gap == 0)
        page_made_say(m, "%s: bound equals value", optimal);
    else
        page_made_say(m, "%s: bound equals value to %.1g", optimal, r->gap);
    page_made_say(m, "; solved in %s", time_text(s->first_s, first, sizeof first));
    if (!isnan(s->again_s))
        page_made_say(m, ", again in %s (median of %llu)",
                      time_text(s->again_s, again, sizeof again),
                      (unsigned long long)s->repeat - 1);
    page_made_say(m, "\n");
}

static void say_all(struct page_made *m, const struct solved *s)
{
    const struct solve_problem *p = s->problem;
    const char *objective = sched_objectives[s->objective].name;
    double gpus = 0, count = count_jobs(p);
    char jobs[48], all[48];

    for (uint32_t k = 0; k < p->kind_count; k++)
        gpus += p->capacity[k];
    m->result.title = page_made_text(
        m, "%s job%s on %s GPU%s: %s", number_text(count, jobs, sizeof jobs), count == 1 ? "" : "s",
        number_text(gpus, all, sizeof all), gpus == 1 ? "" : "s", objective);
    page_made_head(m, "%s%s%s: %s job%s on %s GPU%s of %u kind%s\n", objective,
                   s->agnostic ? ", agnostic" : "", s->sharing ? ", pairs may share" : "", jobs,
                   count == 1 ? "" : "s", all, gpus == 1 ? "" : "s", p->kind_count,
                   p->kind_count == 1 ? "" : "s");
    if (p->job_count == 0) {
        page_made_say(m, "no jobs, so there is nothing to share\n");
    } else if (p->nowhere_count == p->job_count) {
        page_made_say(m, "no job can run here, so nobody gets anything\n");
    } else {
        say_level(m, s);
        say_believed(m, s);
    }
    say_priced(m, s);
    if (p->job_count > 0)
        say_binding(m, s);
    say_proof(m, s);
}

static void add_notes(struct page_made *m, const struct solved *s)
{
    const struct solve_problem *p = s->problem;
    char names[400];

    if (p->misfit_count > 0)
        page_made_note(
            m, SHOAL_NOTE_WARNING, "%s asks for %g GPUs and %s has %g, so it cannot run there%s",
            solve_problem_job(p, p->misfit_job), p->gpus[p->misfit_job], s->kinds[p->misfit_kind],
            p->capacity[p->misfit_kind], p->misfit_count > 1 ? "; there are more such cases" : "");
    if (p->nowhere_count > 0)
        page_made_note(m, SHOAL_NOTE_WARNING,
                       "%zu job%s can run on no kind here and get%s nothing: %s", p->nowhere_count,
                       p->nowhere_count == 1 ? "" : "s", p->nowhere_count == 1 ? "s" : "",
                       name_flagged(s, SHOAL_SOLVE_NOWHERE, 0, names, sizeof names));
    if (p->unused_count > 0)
        page_made_note(m, SHOAL_NOTE_WARNING, "entity '%s' holds no job%s", p->unused,
                       p->unused_count > 1 ? ", and it is not the only one" : "");
    if (s->objective == SCHED_OBJECTIVE_HIERARCHICAL && p->entity == NULL && p->job_count > 0)
        page_made_note(m, SHOAL_NOTE_INFO, "no job names an entity: this is max-min");
    if (s->objective == SCHED_OBJECTIVE_COST_SLO && p->deadline_count == 0)
        page_made_note(m, SHOAL_NOTE_INFO, "no job has a deadline: this is cost");
    if (p->pair_count > 0 && !s->sharing)
        page_made_note(m, SHOAL_NOTE_INFO, "pairs are not used; add --sharing pairs");
    if (!s->r.exact && s->r.gap <= AGREE)
        page_made_note(m, SHOAL_NOTE_WARNING,
                       "numerical trouble: the value is proven, the shares beyond it are not; "
                       "scale rates and weights closer to 1");
    else if (!s->r.exact)
        page_made_note(m, SHOAL_NOTE_WARNING,
                       "numerical trouble: value %.9g and bound %.9g are %.2g apart, so the answer "
                       "is not proven optimal; scale rates and weights closer to 1",
                       s->r.believed, s->r.bound, s->r.gap);
}

/* ---- the whole ---- */

/* Takes `s` in any case. */
static shoal_status make_result(struct solved *s, const shoal_result **out, shoal_err *err)
{
    const struct solve_problem *p = s->problem;
    struct page_made *made = page_made_new(s->alloc);
    struct kind_row *kinds = page_made_alloc(made, p->kind_count, sizeof *kinds);

    s->kinds = page_made_alloc(made, p->kind_count, sizeof *s->kinds);
    if (kinds != NULL && s->kinds != NULL) {
        for (uint32_t k = 0; k < p->kind_count; k++)
            s->kinds[k] = solve_problem_kind(p, k);
        s->aware = !s->agnostic;
        s->exact = s->r.exact != 0;
        s->usd_h = find_usd_h(s);
        make_rows(s, made, kinds);
        made->result.schema = &answer_schema;
        made->result.records = (shoal_records){.first = s, .stride = sizeof *s, .count = 1};
        say_all(made, s);
        add_notes(made, s);
    }
    page_made_own(made, free_solved, s);
    return page_made_finish(made, out, err);
}

static shoal_status load(shoal_env *env, const char *path, struct solved *s, shoal_watch *watch,
                         shoal_err *err)
{
    uint64_t began = env_now_ns(env);
    shoal_status st = solve_problem_load(env, path, watch, &s->problem, err);

    s->load_s = seconds_since(env, began);
    if (st == SHOAL_OK)
        st = solve_problem_check(s->problem, (enum sched_objective)s->objective, s->sharing, err);
    return st;
}

shoal_status shoal_solve_run(shoal_env *env, const shoal_solve_opts *given, shoal_watch *watch,
                             const shoal_result **out_result, shoal_err *err)
{
    shoal_solve_opts opts;
    shoal_solver_opts solver_opts = SHOAL_SOLVER_OPTS_INIT;

    shoal_solve_opts_init(&opts);
    if (given != NULL && given->struct_size >= sizeof given->struct_size)
        memcpy(&opts, given, given->struct_size < sizeof opts ? given->struct_size : sizeof opts);
    if (env == NULL || out_result == NULL || opts.problem == NULL || opts.repeat == 0 ||
        opts.objective > SCHED_OBJECTIVE_COUNT)
        return base_err(err, SHOAL_E_INVAL, "solving needs shoal_solve_opts_init and a problem");
    struct solved *s = base_calloc(env_alloc(env), 1, sizeof *s);
    if (s == NULL)
        return base_err_nomem(err, "solving a problem");
    s->alloc = env_alloc(env);
    s->objective = opts.objective == SCHED_OBJECTIVE_COUNT ? SHOAL_SOLVE_FIFO : opts.objective;
    s->agnostic = opts.agnostic;
    s->sharing = opts.sharing != 0;
    s->repeat = opts.repeat;
    s->r = (shoal_solve_result)SHOAL_SOLVE_RESULT_INIT;
    s->threads = opts.threads == 0 ? env_cpu_count(env) : (uint32_t)opts.threads;
    solver_opts.threads = s->threads;
    shoal_status st = parse_jobs_max(opts.jobs, &s->jobs_max, err);
    if (st == SHOAL_OK)
        st = load(env, opts.problem, s, watch, err);
    if (st == SHOAL_OK)
        st = shoal_solver_new(env, &solver_opts, &s->solver, err);
    if (st == SHOAL_OK)
        st = solve(env, s, watch, err);
    if (st == SHOAL_OK && !find_time_in_pairs(s))
        st = base_err_nomem(err, "solving a problem");
    if (st == SHOAL_OK)
        return make_result(s, out_result, err);
    free_solved(s);
    return st;
}
