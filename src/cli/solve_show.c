/* solve_show.c - a solved problem: a headline, kinds with their prices, jobs with their shares
 * (solve_jobs.c), what binds, the certificate. solve_json.c is the same as one JSON object.
 *
 * Tests: tests/cli/transcripts/solve*.txt, tests/cli/test_solve.py. */
#include "cli/solve_show.h"

#include "base/assert.h"
#include "base/text.h"
#include "cli/columns.h"
#include <math.h>
#include <string.h>

enum { NAMED_MAX = 5, KINDS_NAMED_MAX = 3 };

/* A price below this part of what it is of is none. */
static const double PRICE_MIN = 5e-7;
/* A gap below this is no gap: what was not proven is something else. */
static const double AGREE = 1e-6;

static double job_count(const struct solve_problem *p)
{
    double count = 0;

    for (size_t i = 0; i < p->job_count; i++)
        count += p->count[i];
    return count;
}

/* ---- for people ---- */

const char *cli_solve_number(double value, char *buf, size_t size)
{
    if (value >= 9999.5 && value < 1e15)
        return base_format_count((uint64_t)llround(value), buf, size);
    snprintf(buf, size, "%.4g", value);
    return buf;
}

static const char *show_time(double seconds, char *buf, size_t size)
{
    if (seconds < 1e-3)
        snprintf(buf, size, "%.0f us", 1e6 * seconds);
    else if (seconds < 1)
        snprintf(buf, size, "%.3g ms", 1e3 * seconds);
    else
        snprintf(buf, size, "%.3g s", seconds);
    return buf;
}

static bool is_weighted(const struct solve_problem *p)
{
    for (size_t i = 0; i < p->job_count; i++)
        if (p->weight[i] != 1)
            return true;
    return false;
}

/* A time in words, and in seconds where the words leave something out. Returns buf. */
static const char *show_span(double seconds, char *buf, size_t size)
{
    char words[48], number[48];

    cli_solve_number(seconds, number, sizeof number);
    if (!isfinite(seconds) || seconds < 60)
        snprintf(buf, size, "%s s", number);
    else
        snprintf(buf, size, "%s (%s s)", base_format_duration(seconds, words, sizeof words),
                 number);
    return buf;
}

/* "5 of 7 deadlines kept" */
static void say_deadlines(const struct cli_context *cx, const struct cli_solved *s)
{
    const struct solve_problem *p = s->problem;
    char text[48], all[48];
    double count = 0, kept = 0;

    for (size_t i = 0; i < p->job_count; i++) {
        count += isfinite(p->deadline_s[i]) ? p->count[i] : 0;
        kept += isfinite(p->deadline_s[i]) && cli_solve_keeps(s, i) ? p->count[i] : 0;
    }
    if (count > 0)
        fprintf(cx->out, ", %s of %s deadline%s kept", cli_solve_number(kept, text, sizeof text),
                cli_solve_number(count, all, sizeof all), count == 1 ? "" : "s");
}

static void say_level(const struct cli_context *cx, const struct cli_solved *s)
{
    const struct solve_problem *p = s->problem;
    double level = s->result->level;
    char a[48], b[128];
    const char *number = cli_solve_number(level, a, sizeof a);
    bool one = strcmp(number, "1") == 0;

    switch (s->objective) {
    case SCHED_OBJECTIVE_MAX_MIN:
        fprintf(cx->out, "every job gets at least the speed of %s average GPU%s%s", number,
                one ? "" : "s", is_weighted(p) ? " times its weight" : "");
        break;
    case SCHED_OBJECTIVE_FTF:
        fprintf(cx->out, "the worst job takes %s%s%s", one ? "" : number, one ? "" : " times ",
                is_weighted(p) ? "its fair time, weighted" : "as long as on a share of its own");
        break;
    case SCHED_OBJECTIVE_MAKESPAN:
        if (isfinite(level))
            fprintf(cx->out, "all jobs can end within %s", show_span(level, b, sizeof b));
        else
            fputs("some job never ends", cx->out);
        break;
    case SCHED_OBJECTIVE_THROUGHPUT:
        fprintf(cx->out, "as much work as %s %s fastest%s", number,
                one ? "job at its" : "jobs at their", is_weighted(p) ? ", by weight" : "");
        break;
    case SCHED_OBJECTIVE_COST:
    case SCHED_OBJECTIVE_COST_SLO:
        fprintf(cx->out, "%s, the %ssum of each GPU kind's work per dollar, $%.2f an hour in all",
                number, is_weighted(p) ? "weighted " : "", cli_solve_usd_h(s));
        if (s->objective == SCHED_OBJECTIVE_COST_SLO)
            say_deadlines(cx, s);
        break;
    case SCHED_OBJECTIVE_FIFO:
        fprintf(cx->out, "%s of %s jobs have GPUs", number,
                cli_solve_number(job_count(p), b, sizeof b));
        break;
    case SCHED_OBJECTIVE_HIERARCHICAL:
        fprintf(cx->out, "the speed of %s average GPU%s in all when the first run out%s", number,
                one ? "" : "s", s->agnostic ? ", if all kinds were equally fast" : "");
        break;
    case SCHED_OBJECTIVE_COUNT: break;
    }
}

/* What --agnostic takes the value for, where that is another. */
static void say_believed(const struct cli_context *cx, const struct cli_solved *s)
{
    double believed = s->result->believed;
    char text[128];

    if (!s->agnostic || fabs(believed - s->result->level) <= AGREE * fabs(believed))
        return;
    fprintf(cx->out, "\nwith all kinds equally fast, as is pretended, it would be %s",
            s->objective == SCHED_OBJECTIVE_MAKESPAN
                ? show_span(believed, text, sizeof text)
                : cli_solve_number(believed, text, sizeof text));
}

static void print_headline(const struct cli_context *cx, const struct cli_solved *s)
{
    cli_styled(cx, CLI_BOLD, sched_objectives[s->objective].name);
    if (s->agnostic || s->sharing)
        fprintf(cx->out, " (%s%s%s)", s->agnostic ? "agnostic" : "",
                s->agnostic && s->sharing ? ", " : "", s->sharing ? "pairs may share" : "");
    fputs(": ", cx->out);
    if (s->problem->job_count == 0)
        fputs("no jobs, so there is nothing to share", cx->out);
    else if (s->problem->nowhere_count == s->problem->job_count)
        fputs("no job can run here, so nobody gets anything", cx->out);
    else {
        say_level(cx, s);
        say_believed(cx, s);
    }
    fputs("\n\n", cx->out);
}

/* What the prices are of, where that is not the value in the headline, and why there are none. */
static void say_priced(const struct cli_context *cx, const struct cli_solved *s)
{
    const shoal_solve_result *r = s->result;
    const char *next =
        s->agnostic ? "as pretended, a job running all the time sets the value; ONE MORE GPU "
                      "is for what comes next,\n"
                    : "a job running all the time sets the value; ONE MORE GPU is for what "
                      "comes next,\n";
    bool any = false, some = false;
    char text[48];

    for (uint32_t k = 0; k < s->problem->kind_count; k++) {
        double part = cli_solve_worth(s, k);
        any = any || !isnan(part);
        some = some || fabs(part) >= PRICE_MIN;
    }
    if (!any)
        return;
    if (!some)
        fprintf(cx->out, "nothing is short%s: one more GPU of any kind would change nothing\n",
                s->agnostic ? " as long as all kinds are taken for equally fast" : "");
    else if (!cli_solve_prices_level(s))
        fprintf(cx->out, "%sthe work of all: as much as %s jobs at their fastest%s\n", next,
                cli_solve_number(r->priced, text, sizeof text),
                is_weighted(s->problem) ? ", by weight" : "");
    else if (r->priced > r->believed * (1 + AGREE) && s->objective == SCHED_OBJECTIVE_MAX_MIN)
        fprintf(cx->out, "%sthe first jobs to run out of GPUs, at %s average GPUs%s\n", next,
                cli_solve_number(r->priced, text, sizeof text),
                is_weighted(s->problem) ? " times their weight" : "");
}

static int print_kinds(const struct cli_context *cx, const struct cli_solved *s)
{
    const struct solve_problem *p = s->problem;
    bool money = cli_solve_counts_money(s->objective);
    struct cli_columns table;
    char text[48];

    cli_columns_init(&table, cx, money ? "xrrrr" : "xrrr");
    cli_columns_cell(&table, CLI_DIM, "KIND");
    cli_columns_cell(&table, CLI_DIM, "GPUS");
    cli_columns_cell(&table, CLI_DIM, "USED");
    if (money)
        cli_columns_cell(&table, CLI_DIM, "USD/H");
    cli_columns_cell(&table, CLI_DIM, "ONE MORE GPU");
    for (uint32_t k = 0; k < p->kind_count; k++) {
        double part = cli_solve_worth(s, k);
        cli_columns_cell(&table, CLI_PLAIN, "%s", solve_problem_kind(p, k));
        cli_columns_cell(&table, CLI_PLAIN, "%s",
                         cli_solve_number(p->capacity[k], text, sizeof text));
        cli_columns_cell(&table, cli_solve_used_up(s, k) ? CLI_BOLD : CLI_PLAIN, "%s",
                         cli_solve_number(s->result->used[k], text, sizeof text));
        if (money && isnan(p->usd_h[k]))
            cli_columns_cell(&table, CLI_PLAIN, "-");
        else if (money)
            cli_columns_cell(&table, CLI_PLAIN, "%.2f", p->usd_h[k]);
        if (isnan(part))
            cli_columns_cell(&table, CLI_PLAIN, "-");
        else if (fabs(part) < PRICE_MIN)
            cli_columns_cell(&table, CLI_PLAIN, "no change");
        else
            cli_columns_cell(&table, CLI_PLAIN, "%+.3g %%", 100 * part);
    }
    int rc = cli_columns_print(&table);
    cli_columns_fini(&table);
    if (rc == 0)
        say_priced(cx, s);
    return rc;
}

/* "v100 and k80 are used up" */
static void say_used_up(const struct cli_context *cx, const struct cli_solved *s)
{
    uint32_t count = 0, seen = 0;

    for (uint32_t k = 0; k < s->problem->kind_count; k++)
        count += cli_solve_used_up(s, k);
    if (count == 0)
        fputs("no kind is used up", cx->out);
    if (count > KINDS_NAMED_MAX) {
        fprintf(cx->out, "%u of %u kinds are used up", count, s->problem->kind_count);
        return;
    }
    for (uint32_t k = 0; k < s->problem->kind_count; k++) {
        if (!cli_solve_used_up(s, k))
            continue;
        fprintf(cx->out, "%s%s",
                seen == 0           ? ""
                : seen + 1 == count ? " and "
                                    : ", ",
                solve_problem_kind(s->problem, k));
        seen++;
    }
    if (count > 0)
        fprintf(cx->out, " %s used up", count == 1 ? "is" : "are");
}

static bool has_flag(const struct cli_solved *s, size_t job, unsigned flag, unsigned without)
{
    return (s->result->flags[job] & flag) != 0 && (s->result->flags[job] & without) == 0;
}

static double count_flag(const struct cli_solved *s, unsigned flag, unsigned without)
{
    double count = 0;

    for (size_t i = 0; i < s->problem->job_count; i++)
        if (has_flag(s, i, flag, without))
            count += s->problem->count[i];
    return count;
}

static void say_count(const struct cli_context *cx, double count, const char *one, const char *many)
{
    char text[48];

    if (count > 0)
        fprintf(cx->out, ", %s %s", cli_solve_number(count, text, sizeof text),
                count == 1 ? one : many);
}

/* "a, b, c and 12 more" into buf: the jobs with a flag and without another. */
static const char *name_flagged(const struct cli_solved *s, unsigned flag, unsigned without,
                                char *buf, size_t size)
{
    size_t named = 0, all = 0, used = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < s->problem->job_count; i++) {
        if (!has_flag(s, i, flag, without) || all++ >= NAMED_MAX)
            continue;
        snprintf(buf + used, size - used, "%s%.60s", named++ > 0 ? ", " : "",
                 solve_problem_job(s->problem, i));
        used = strlen(buf);
    }
    if (all > named)
        snprintf(buf + used, size - used, " and %zu more", all - named);
    return buf;
}

/* Those that nothing could keep, or those that could be kept without the others. */
static void say_given_up(const struct cli_context *cx, const struct cli_solved *s, bool hopeless)
{
    unsigned flag = SHOAL_SOLVE_GIVEN_UP, without = SHOAL_SOLVE_HOPELESS;
    char names[400], text[48];

    if (hopeless) {
        flag = SHOAL_SOLVE_HOPELESS;
        without = 0;
    }
    double count = count_flag(s, flag, without);
    if (count == 0)
        return;
    fprintf(cx->out, "%s deadline%s cannot be kept %s and %s given up: %s\n",
            cli_solve_number(count, text, sizeof text), count == 1 ? "" : "s",
            hopeless ? "even at top speed" : "with the others", count == 1 ? "is" : "are",
            name_flagged(s, flag, without, names, sizeof names));
}

static void print_binding(const struct cli_context *cx, const struct cli_solved *s)
{
    putc('\n', cx->out);
    say_used_up(cx, s);
    say_count(cx, count_flag(s, SHOAL_SOLVE_HOLDS_BACK, SHOAL_SOLVE_TOP_SPEED),
              "job holds the others back", "jobs hold the others back");
    say_count(cx, count_flag(s, SHOAL_SOLVE_TOP_SPEED, 0), "job is at top speed",
              "jobs are at top speed");
    say_count(cx, count_flag(s, SHOAL_SOLVE_NOWHERE, 0), "job runs nowhere", "jobs run nowhere");
    putc('\n', cx->out);
    say_given_up(cx, s, true);
    say_given_up(cx, s, false);
}

static void print_proof(const struct cli_context *cx, const struct cli_solved *s)
{
    const shoal_solve_result *r = s->result;
    const char *optimal = s->agnostic ? "optimal if all kinds were equally fast" : "optimal";
    char first[32], again[32];

    if (s->objective == SCHED_OBJECTIVE_FIFO)
        fputs("in the order of the file; nothing is optimised", cx->out);
    else if (!r->exact && r->gap <= AGREE)
        fputs("NOT PROVEN OPTIMAL: value and bound agree, but not all shares are proven", cx->out);
    else if (!r->exact && isfinite(r->gap))
        fprintf(cx->out, "NOT PROVEN OPTIMAL: the best may be up to %.2g %% better", 100 * r->gap);
    else if (!r->exact)
        fputs("NOT PROVEN OPTIMAL", cx->out);
    else if (r->gap == 0)
        fprintf(cx->out, "%s: bound equals value", optimal);
    else
        fprintf(cx->out, "%s: bound equals value to %.1g", optimal, r->gap);
    fprintf(cx->out, "; solved in %s", show_time(s->first_s, first, sizeof first));
    if (!isnan(s->again_s))
        fprintf(cx->out, ", again in %s (median of %llu)",
                show_time(s->again_s, again, sizeof again), (unsigned long long)s->repeat - 1);
    putc('\n', cx->out);
}

int cli_solve_text(const struct cli_context *cx, const struct cli_solved *s)
{
    int rc;

    print_headline(cx, s);
    rc = print_kinds(cx, s);
    if (rc == 0 && s->problem->job_count > 0 && s->jobs_max > 0)
        rc = cli_solve_jobs(cx, s);
    if (rc == 0 && s->sharing && s->jobs_max > 0)
        rc = cli_solve_pairs(cx, s);
    if (rc != 0)
        return rc;
    if (s->problem->job_count > 0)
        print_binding(cx, s);
    else
        putc('\n', cx->out);
    print_proof(cx, s);
    return 0;
}

/* ---- what should be known ---- */

void cli_solve_warn(const struct cli_context *cx, const struct cli_solved *s)
{
    const struct solve_problem *p = s->problem;
    const struct base_log *log = &cx->log;
    char names[400];

    if (p->misfit_count > 0)
        base_log(log, BASE_LOG_WARN, "%s asks for %g GPUs and %s has %g, so it cannot run there%s",
                 solve_problem_job(p, p->misfit_job), p->gpus[p->misfit_job],
                 solve_problem_kind(p, p->misfit_kind), p->capacity[p->misfit_kind],
                 p->misfit_count > 1 ? "; there are more such cases" : "");
    if (p->nowhere_count > 0)
        base_log(log, BASE_LOG_WARN, "%zu job%s can run on no kind here and get%s nothing: %s",
                 p->nowhere_count, p->nowhere_count == 1 ? "" : "s",
                 p->nowhere_count == 1 ? "s" : "",
                 name_flagged(s, SHOAL_SOLVE_NOWHERE, 0, names, sizeof names));
    if (p->unused_count > 0)
        base_log(log, BASE_LOG_WARN, "entity '%s' holds no job%s", p->unused,
                 p->unused_count > 1 ? ", and it is not the only one" : "");
    if (s->objective == SCHED_OBJECTIVE_HIERARCHICAL && p->entity == NULL && p->job_count > 0)
        base_log(log, BASE_LOG_INFO, "no job names an entity: this is max-min");
    if (s->objective == SCHED_OBJECTIVE_COST_SLO && p->deadline_count == 0)
        base_log(log, BASE_LOG_INFO, "no job has a deadline: this is cost");
    if (p->pair_count > 0 && !s->sharing)
        base_log(log, BASE_LOG_INFO, "pairs are not used; add --sharing pairs");
    if (!s->result->exact && s->result->gap <= AGREE)
        base_log(
            log, BASE_LOG_WARN,
            "numerical trouble: the value is proven, the shares beyond it are not; scale rates "
            "and weights closer to 1");
    else if (!s->result->exact)
        base_log(
            log, BASE_LOG_WARN,
            "numerical trouble: value %.9g and bound %.9g are %.2g apart, so the answer is not "
            "proven optimal; scale rates and weights closer to 1",
            s->result->believed, s->result->bound, s->result->gap);
}
