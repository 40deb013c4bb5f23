/* solve_jobs.c - the jobs of a solved problem with their shares, and the pairs that share GPUs, as
 * tables. The table of jobs has as many columns as fit.
 *
 * Tests: tests/cli/transcripts/solve*.txt, tests/cli/test_solve.py. */
#include "cli/solve_show.h"

#include "base/assert.h"
#include "base/text.h"
#include "cli/columns.h"
#include <math.h>
#include <string.h>

enum { KIND_COLUMNS_MAX = 6 };

/* A share of time below this is none. */
static const double SHARE_MIN = 1e-6;

/* Share of the time of one job of the row that it spends in pairs; NULL when memory is short. */
static double *time_in_pairs(const struct cli_context *cx, const struct cli_solved *s)
{
    const struct solve_problem *p = s->problem;
    double *time = base_calloc(env_alloc(cx->env), p->job_count + 1, sizeof *time);

    for (size_t i = 0; time != NULL && i < s->result->pair_count; i++) {
        const shoal_solve_pair_share *pair = &s->result->pairs[i];
        time[pair->job] += pair->share / p->count[pair->job];
        time[pair->with] += pair->share / p->count[pair->with];
    }
    return time;
}

static const char *show_percent(double part, char *buf, size_t size)
{
    double percent = 100 * part;

    if (part < SHARE_MIN)
        snprintf(buf, size, "-");
    else if (percent < 0.05)
        snprintf(buf, size, "<0.1 %%");
    else if (percent < 0.95)
        snprintf(buf, size, "%.1g %%", percent);
    else
        snprintf(buf, size, fabs(percent - round(percent)) < 0.05 ? "%.0f %%" : "%.1f %%", percent);
    return buf;
}

/* Which columns the table of jobs has, besides the name, the part of top speed and a remark. */
struct columns {
    bool count, entity, by_kind, gpus, speed;
    const double *in_pairs; /* NULL: no sharing */
    size_t rows;
};

/* Letters for cli_columns, in the order of add_headings and add_job. */
static void lay_out(const struct columns *c, uint32_t kind_count, char *letters)
{
    *letters++ = 'x';
    if (c->entity)
        *letters++ = 'x';
    for (uint32_t k = 0; c->by_kind && k < kind_count; k++)
        *letters++ = 'r';
    for (int n = c->count + c->gpus + (c->in_pairs != NULL) + c->speed + 1; n > 0; n--)
        *letters++ = 'r';
    *letters++ = 'l';
    if (!c->by_kind)
        *letters++ = 'w';
    *letters = '\0';
}

static void add_headings(struct cli_columns *table, const struct solve_problem *p,
                         const struct columns *c)
{
    cli_columns_cell(table, CLI_DIM, "JOB");
    if (c->entity)
        cli_columns_cell(table, CLI_DIM, "ENTITY");
    if (c->count)
        cli_columns_cell(table, CLI_DIM, "COUNT");
    if (c->gpus)
        cli_columns_cell(table, CLI_DIM, "GPUS");
    for (uint32_t k = 0; c->by_kind && k < p->kind_count; k++)
        cli_columns_cell(table, CLI_DIM, "%s", solve_problem_kind(p, k));
    if (c->in_pairs != NULL)
        cli_columns_cell(table, CLI_DIM, "SHARED");
    if (c->speed)
        cli_columns_cell(table, CLI_DIM, "STEPS/S");
    cli_columns_cell(table, CLI_DIM, "OF TOP");
    cli_columns_cell(table, CLI_DIM, "%s", "");
    if (!c->by_kind)
        cli_columns_cell(table, CLI_DIM, "SHARE OF TIME ON");
}

/* "v100 60%, k80 40%" */
static void add_shares(struct cli_columns *table, const struct cli_solved *s, size_t job)
{
    const struct solve_problem *p = s->problem;
    const double *shares = s->result->shares + job * p->kind_count;
    char list[512] = "", text[48];

    for (uint32_t k = 0; k < p->kind_count; k++) {
        size_t used = strlen(list);
        if (shares[k] < SHARE_MIN)
            continue;
        show_percent(shares[k], text, sizeof text);
        snprintf(list + used, sizeof list - used, "%s%.60s %.*s%%", used > 0 ? ", " : "",
                 solve_problem_kind(p, k), (int)strcspn(text, " "),
                 text); /* breaks at kinds only */
    }
    cli_columns_cell(table, CLI_PLAIN, "%s", list[0] == '\0' ? "-" : list);
}

static const char *remark(const struct cli_solved *s, size_t job)
{
    unsigned flags = s->result->flags[job];

    if ((flags & SHOAL_SOLVE_NOWHERE) != 0)
        return "runs nowhere";
    if ((flags & SHOAL_SOLVE_GIVEN_UP) != 0)
        return "deadline given up";
    if (s->objective == SCHED_OBJECTIVE_COST_SLO && isfinite(s->problem->deadline_s[job]) &&
        !cli_solve_keeps(s, job))
        return "misses its deadline"; /* --agnostic: it was thought to be faster */
    if ((flags & SHOAL_SOLVE_TOP_SPEED) != 0)
        return "top speed";
    return (flags & SHOAL_SOLVE_HOLDS_BACK) != 0 ? "holds back" : "";
}

static void add_job(struct cli_columns *table, const struct cli_solved *s, const struct columns *c,
                    size_t i)
{
    const struct solve_problem *p = s->problem;
    const shoal_solve_result *r = s->result;
    double best = s->fastest[i];
    char text[48];

    cli_columns_cell(table, CLI_PLAIN, "%s", solve_problem_job(p, i));
    if (c->entity)
        cli_columns_cell(table, CLI_PLAIN, "%s", solve_problem_entity(p, p->entity[i]));
    if (c->count)
        cli_columns_cell(table, CLI_PLAIN, "%s", cli_solve_number(p->count[i], text, sizeof text));
    if (c->gpus)
        cli_columns_cell(table, CLI_PLAIN, "%s", cli_solve_number(p->gpus[i], text, sizeof text));
    for (uint32_t k = 0; c->by_kind && k < p->kind_count; k++)
        cli_columns_cell(table, CLI_PLAIN, "%s",
                         show_percent(r->shares[i * p->kind_count + k], text, sizeof text));
    if (c->in_pairs != NULL)
        cli_columns_cell(table, CLI_PLAIN, "%s", show_percent(c->in_pairs[i], text, sizeof text));
    if (c->speed)
        cli_columns_cell(table, CLI_PLAIN, "%s", cli_solve_number(r->speeds[i], text, sizeof text));
    cli_columns_cell(table, CLI_PLAIN, "%s",
                     best > 0 ? show_percent(r->speeds[i] / best, text, sizeof text) : "-");
    cli_columns_cell(table, CLI_PLAIN, "%s", remark(s, i));
    if (!c->by_kind)
        add_shares(table, s, i);
}

/* True when the table was printed: it fits, or `force`. */
static bool try_jobs(const struct cli_context *cx, const struct cli_solved *s,
                     const struct columns *c, bool force, int *out_rc)
{
    char letters[SHOAL_SOLVE_KINDS_MAX + 12];
    struct cli_columns table;

    lay_out(c, s->problem->kind_count, letters);
    cli_columns_init(&table, cx, letters);
    add_headings(&table, s->problem, c);
    for (size_t i = 0; i < c->rows; i++)
        add_job(&table, s, c, i);
    bool print = force || !cx->out_terminal || cli_columns_needs(&table) <= cx->width;
    if (print)
        *out_rc = cli_columns_print(&table);
    cli_columns_fini(&table);
    return print;
}

/* A column per kind while there is room, without the GPUs and the speed if need be; else a list of
 * the kinds that a job uses, which wraps. */
static int print_table(const struct cli_context *cx, const struct cli_solved *s, struct columns c)
{
    static const struct {
        bool by_kind, gpus, speed;
    } forms[] = {{true, true, true},
                 {true, false, true},
                 {true, false, false},
                 {false, true, true},
                 {false, false, false}};
    int rc = 0;

    for (size_t i = 0; i < BASE_COUNT(forms); i++) {
        if (forms[i].by_kind && s->problem->kind_count > KIND_COLUMNS_MAX)
            continue;
        c.by_kind = forms[i].by_kind;
        c.gpus = forms[i].gpus;
        c.speed = forms[i].speed;
        if (try_jobs(cx, s, &c, i + 1 == BASE_COUNT(forms), &rc))
            break;
    }
    return rc;
}

static void say_more(const struct cli_context *cx, const struct cli_solved *s, size_t count)
{
    char more[32];

    if (count > s->jobs_max)
        fprintf(cx->out, "%s %s more (--jobs all, or --json)\n", cx->ascii ? "..." : "\xe2\x80\xa6",
                base_format_count(count - s->jobs_max, more, sizeof more));
}

int cli_solve_jobs(const struct cli_context *cx, const struct cli_solved *s)
{
    const struct solve_problem *p = s->problem;
    struct columns c = {.entity = s->objective == SCHED_OBJECTIVE_HIERARCHICAL && p->entity != NULL,
                        .rows = p->job_count < s->jobs_max ? p->job_count : s->jobs_max};
    double *in_pairs = s->sharing ? time_in_pairs(cx, s) : NULL;

    if (s->sharing && in_pairs == NULL)
        return cli_fail(cx, SHOAL_E_NOMEM, NULL);
    c.in_pairs = in_pairs;
    for (size_t i = 0; i < p->job_count && !c.count; i++)
        c.count = p->count[i] != 1;
    putc('\n', cx->out);
    int rc = print_table(cx, s, c);
    base_free(env_alloc(cx->env), in_pairs);
    if (rc == 0)
        say_more(cx, s, p->job_count);
    return rc;
}

int cli_solve_pairs(const struct cli_context *cx, const struct cli_solved *s)
{
    const struct solve_problem *p = s->problem;
    struct cli_columns table;
    char text[48];

    putc('\n', cx->out);
    if (s->result->pair_count == 0) {
        fputs("no pair is worth sharing GPUs\n", cx->out);
        return 0;
    }
    cli_columns_init(&table, cx, "xxlr");
    cli_columns_cell(&table, CLI_DIM, "SHARING GPUS");
    cli_columns_cell(&table, CLI_DIM, "WITH");
    cli_columns_cell(&table, CLI_DIM, "KIND");
    cli_columns_cell(&table, CLI_DIM, "PAIRS AT A TIME");
    for (size_t i = 0; i < s->result->pair_count && i < s->jobs_max; i++) {
        const shoal_solve_pair_share *pair = &s->result->pairs[i];
        cli_columns_cell(&table, CLI_PLAIN, "%s", solve_problem_job(p, pair->job));
        cli_columns_cell(&table, CLI_PLAIN, "%s", solve_problem_job(p, pair->with));
        cli_columns_cell(&table, CLI_PLAIN, "%s", solve_problem_kind(p, pair->kind));
        cli_columns_cell(&table, CLI_PLAIN, "%s", cli_solve_number(pair->share, text, sizeof text));
    }
    int rc = cli_columns_print(&table);
    cli_columns_fini(&table);
    if (rc == 0)
        say_more(cx, s, s->result->pair_count);
    return rc;
}
