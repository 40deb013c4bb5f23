/* verdict.c - a comparison in words: which policy is best at what, by how much, and at whose expense.
 *
 * One sentence per question, in a fixed order. Questions whose answer says nothing are left out.
 * Differences under one percent are called none, and "every policy" is said only where all show the same
 * figure. Figures are those of the records, by the names they have there. Tests:
 * tests/unit/sim/test_verdict.c. */
#include "sim/compare.h"

#include <math.h>
#include <string.h>

static const double same = 0.01; /* relative difference that is not worth a word */

struct verdict {
    struct page_made *made;
    const struct sim_compare *c;
    size_t lead; /* the lowest average completion time */
};

/* The best and the worst in one figure; ties go to the earlier one. `valid` are known. */
struct rank {
    size_t best, worst, valid;
    double best_value, worst_value;
};

static double figure(const struct verdict *v, size_t index, const char *name)
{
    return shoal_result_number(&v->made->result, index, name);
}

static struct rank rank_by(const struct verdict *v, const char *name, bool more)
{
    struct rank rank = {0, 0, 0, (double)NAN, (double)NAN};

    for (size_t i = 0; i < v->c->count; i++) {
        double value = figure(v, i, name);
        if (!isfinite(value))
            continue;
        if (rank.valid == 0 || (more ? value > rank.best_value : value < rank.best_value)) {
            rank.best = i;
            rank.best_value = value;
        }
        if (rank.valid == 0 || (more ? value < rank.worst_value : value > rank.worst_value)) {
            rank.worst = i;
            rank.worst_value = value;
        }
        rank.valid++;
    }
    return rank;
}

static bool differs(const struct rank *rank)
{
    return rank->valid > 1 &&
           fabs(rank->worst_value - rank->best_value) > same * fabs(rank->worst_value);
}

static const char *policy(const struct verdict *v, size_t index)
{
    return v->c->results[index]->policy;
}

static const char *duration(const struct verdict *v, double seconds)
{
    return page_made_value(v->made, SHOAL_UNIT_SECONDS, seconds);
}

static const char *percent(const struct verdict *v, double share)
{
    return page_made_value(v->made, SHOAL_UNIT_SHARE, share);
}

static const char *count_of(const struct verdict *v, double count)
{
    return page_made_value(v->made, SHOAL_UNIT_COUNT, count);
}

/* Whether all that have the figure show the same text for it. */
static bool reads_alike(const struct verdict *v, const struct rank *rank, shoal_unit unit)
{
    return strcmp(page_made_value(v->made, unit, rank->best_value),
                  page_made_value(v->made, unit, rank->worst_value)) == 0;
}

/* ---- sentences ---- */

/* "; srtf is within one percent of it": who else is as good in average completion time. */
static void say_close(const struct verdict *v, const struct rank *jct)
{
    size_t close = 0, who = 0;

    for (size_t i = 0; i < v->c->count; i++)
        if (i != jct->best &&
            figure(v, i, "avg_jct_s") - jct->best_value <= same * jct->best_value) {
            close++;
            who = i;
        }
    if (close > 0)
        page_made_say(v->made, "; %s %s within one percent of it",
                      close == 1 ? policy(v, who) : page_made_text(v->made, "%zu others", close),
                      close == 1 ? "is" : "are");
}

/* True when the sentence was about the leading policy, so that the next may say "its". */
static bool say_completion(const struct verdict *v)
{
    struct rank jct = rank_by(v, "avg_jct_s", false);

    if (jct.valid == 0) {
        page_made_say(v->made, "No job finished.\n");
        return false;
    }
    if (v->c->count == 1) {
        page_made_say(v->made,
                      "Under %s the average job is done %s after it was submitted, half of all "
                      "jobs within %s and 99 of 100 within %s.\n",
                      policy(v, 0), duration(v, jct.best_value),
                      duration(v, figure(v, 0, "p50_jct_s")),
                      duration(v, figure(v, 0, "p99_jct_s")));
        return true;
    }
    if (!differs(&jct)) {
        page_made_say(
            v->made, "%s finish the average job after %s, within one percent of each other.\n",
            v->c->count == 2 ? "Both policies" : "All policies", duration(v, jct.best_value));
        return false;
    }
    double times = jct.worst_value / jct.best_value;
    page_made_say(v->made, "%s finishes the average job in %s, %s sooner than %s (%s)",
                  policy(v, jct.best), duration(v, jct.best_value),
                  times >= 1.95 ? page_made_text(v->made, "%.1fx", times)
                                : percent(v, 1 - jct.best_value / jct.worst_value),
                  policy(v, jct.worst), duration(v, jct.worst_value));
    say_close(v, &jct);
    page_made_say(v->made, ".\n");
    return true;
}

/* What rho means for a job, as the end of a sentence about it. */
static void say_longer(const struct verdict *v, double rho)
{
    if (rho < 1.95)
        page_made_say(v->made, " takes %s longer than with an equal share of the cluster",
                      percent(v, rho - 1));
    else
        page_made_say(v->made, " takes %.1fx as long as with an equal share of the cluster", rho);
}

static void say_worst_job(const struct verdict *v, bool lead_named)
{
    const struct sim_result *r = v->c->results[v->lead];
    uint32_t job = r->metrics.worst_rho_job;
    double lead_rho = figure(v, v->lead, "worst_rho");
    struct rank rho = rank_by(v, "worst_rho", false);

    if (!isfinite(lead_rho))
        return;
    if (lead_rho <= 1 + same / 2) {
        if (v->c->count > 1)
            page_made_say(v->made, "Under %s no job", policy(v, v->lead));
        else
            page_made_say(v->made, "No job");
        page_made_say(v->made, " is worse off than with an equal share of the cluster.\n");
        return;
    }
    if (lead_named)
        page_made_say(v->made, "Its worst-off job");
    else
        page_made_say(v->made, "Under %s the worst-off job", policy(v, v->lead));
    if (job < r->trace->job_count) {
        page_made_say(v->made, ", %s,", r->trace->jobs[job].name);
        if (r->jobs[job].wait_s >= 1)
            page_made_say(v->made, " waits %s and", duration(v, (double)r->jobs[job].wait_s));
    }
    say_longer(v, lead_rho);
    if (differs(&rho) && rho.best != v->lead)
        page_made_say(v->made, "; the fairest to its worst-off job is %s, whose worst rho is %.2f",
                      policy(v, rho.best), rho.best_value);
    else if (differs(&rho))
        page_made_say(v->made,
                      ", and that is the fairest of all: under %s the worst takes %.1fx as long",
                      policy(v, rho.worst), rho.worst_value);
    page_made_say(v->made, ".\n");
}

static void say_tail(const struct verdict *v)
{
    struct rank p99 = rank_by(v, "p99_jct_s", false);
    double ours = figure(v, v->lead, "p99_jct_s");

    if (differs(&p99) && p99.best != v->lead && isfinite(ours) &&
        ours - p99.best_value > same * ours)
        page_made_say(v->made,
                      "The slowest jobs do better under %s: 99 of 100 are done within %s, against "
                      "%s.\n",
                      policy(v, p99.best), duration(v, p99.best_value), duration(v, ours));
}

static void say_unfair(const struct verdict *v)
{
    struct rank unfair = rank_by(v, "unfair_share", false);

    if (unfair.valid == 0 || !(unfair.worst_value > 0))
        return;
    page_made_say(v->made, "%s of jobs are worse off than with an equal share",
                  percent(v, unfair.best_value));
    if (v->c->count > 1 && !reads_alike(v, &unfair, SHOAL_UNIT_SHARE))
        page_made_say(v->made, " under %s, %s under %s", policy(v, unfair.best),
                      percent(v, unfair.worst_value), policy(v, unfair.worst));
    else if (v->c->count > 1)
        page_made_say(v->made, " under every policy");
    page_made_say(v->made, ".\n");
}

static void say_cluster(const struct verdict *v)
{
    struct rank makespan = rank_by(v, "makespan_s", false);
    struct rank busy = rank_by(v, "utilization", true);

    if (makespan.valid == 0)
        return;
    const char *when =
        v->c->results[v->lead]->metrics.use_to_end ? "until then" : "while jobs come in,";
    if (differs(&makespan))
        page_made_say(v->made, "The last job ends soonest under %s, after %s (%s: %s)",
                      policy(v, makespan.best), duration(v, makespan.best_value),
                      policy(v, makespan.worst), duration(v, makespan.worst_value));
    else
        page_made_say(v->made, "The last job ends after %s%s", duration(v, makespan.best_value),
                      v->c->count == 1 ? ""
                      : reads_alike(v, &makespan, SHOAL_UNIT_SECONDS)
                          ? " under every policy"
                          : " or at most one percent later");
    if (busy.valid > 1 && busy.best_value - busy.worst_value > same)
        page_made_say(v->made, "; %s GPUs are busy %s (%s) to %s (%s) of the time", when,
                      percent(v, busy.worst_value), policy(v, busy.worst),
                      percent(v, busy.best_value), policy(v, busy.best));
    else if (busy.valid > 0)
        page_made_say(v->made, "; %s GPUs are busy %s of the time", when,
                      percent(v, busy.best_value));
    page_made_say(v->made, ".\n");
}

static void say_waiting(const struct verdict *v)
{
    static const struct {
        enum sched_reason reason;
        const char *text;
    } rows[] = {
        {SCHED_WHY_NEXT_ROUND, "for the next round"},
        {SCHED_WHY_GANG, "for enough GPUs at once"},
        {SCHED_WHY_LOCALITY, "for GPUs that are close together"},
        {SCHED_WHY_FAIR_SHARE, "because jobs that come first under the policy hold the GPUs"},
        {SCHED_WHY_QUEUE, "because jobs that came first hold the GPUs or wait for them"},
        {SCHED_WHY_CAPACITY, "because no usable GPU is free"},
        {SCHED_WHY_DEADLINE_SLACK, "because deadlines leave time"},
        {SCHED_WHY_PRICE, "because the price of GPUs is better spent on other jobs"},
        {SCHED_WHY_LIMIT, "because of a limit"},
    };
    const double *wait_s = v->c->results[v->lead]->metrics.wait_by_reason_s;
    double sum = 0;
    size_t top = 0;

    for (size_t r = 0; r < SCHED_WHY_COUNT; r++)
        sum += isfinite(wait_s[r]) ? wait_s[r] : 0;
    for (size_t i = 1; i < sizeof rows / sizeof *rows; i++)
        if (wait_s[rows[i].reason] > wait_s[rows[top].reason])
            top = i;
    double share = sum > 0 ? wait_s[rows[top].reason] / sum : 0;
    if (share >= 0.4)
        page_made_say(v->made, "Under %s, %s of the waiting is %s.\n", policy(v, v->lead),
                      percent(v, share), rows[top].text);
}

/* Restarts are all starts of a job after its first, whatever stopped it. What is lost is the time
 * they take and, where nodes or jobs fail, work that was undone or given up. */
static void say_restarts(const struct verdict *v)
{
    struct rank restarts = rank_by(v, "restarts", false);

    if (restarts.valid == 0 || restarts.worst_value < 1)
        return;
    const struct sim_metrics *m = &v->c->results[restarts.worst]->metrics;
    page_made_say(v->made, "Under %s jobs are restarted %s time%s", policy(v, restarts.worst),
                  count_of(v, restarts.worst_value), page_plural(m->restarts));
    if (isfinite(m->lost_gpu_s) && m->lost_gpu_s > 0)
        page_made_say(v->made, " and %s GPU-hours are lost to restarts%s",
                      page_made_value(v->made, SHOAL_UNIT_HOURS, m->lost_gpu_s),
                      m->node_failures + m->job_failures > 0 ? " and failures" : "");
    if (restarts.worst_value > restarts.best_value)
        page_made_say(v->made, ", under %s %s", policy(v, restarts.best),
                      restarts.best_value < 1
                          ? "none is"
                          : page_made_text(v->made, "%s times", count_of(v, restarts.best_value)));
    page_made_say(v->made, ".\n");
}

/* "Of 40 deadlines cost-slo misses 2, cost 17." */
static void say_deadlines(const struct verdict *v)
{
    struct rank missed = rank_by(v, "missed", false);
    double deadlines = figure(v, missed.best, "deadlines");

    if (!(deadlines > 0))
        return;
    if (missed.worst_value < 1) {
        page_made_say(v->made, "All deadlines are kept%s.\n",
                      v->c->count > 1 ? " under every policy" : "");
        return;
    }
    page_made_say(v->made, "Of %s deadline%s, %s misses %s", count_of(v, deadlines),
                  deadlines == 1 ? "" : "s", policy(v, missed.best),
                  missed.best_value < 1 ? "none" : count_of(v, missed.best_value));
    if (missed.worst_value > missed.best_value)
        page_made_say(v->made, ", %s %s", policy(v, missed.worst), count_of(v, missed.worst_value));
    else if (v->c->count > 1)
        page_made_say(v->made, ", as does every policy");
    page_made_say(v->made, ".\n");
}

static void say_cost(const struct verdict *v)
{
    struct rank cost = rank_by(v, "cost_usd", false);

    if (differs(&cost))
        page_made_say(
            v->made, "It costs least under %s, %s, and most under %s, %s.\n", policy(v, cost.best),
            page_made_value(v->made, SHOAL_UNIT_USD, cost.best_value), policy(v, cost.worst),
            page_made_value(v->made, SHOAL_UNIT_USD, cost.worst_value));
}

static void say_failures(const struct verdict *v)
{
    const struct sim_metrics *m = &v->c->results[v->lead]->metrics;

    if (m->node_failures > 0)
        page_made_say(v->made, "Nodes fail %s time%s in the run.\n",
                      count_of(v, (double)m->node_failures), page_plural(m->node_failures));
}

void sim_verdict_say(struct page_made *made, const struct sim_compare *c, size_t out_shown[2])
{
    struct verdict v = {.made = made, .c = c};
    struct rank jct = rank_by(&v, "avg_jct_s", false), rho = rank_by(&v, "worst_rho", false);

    v.lead = jct.best;
    out_shown[0] = v.lead;
    out_shown[1] = rho.valid > 0 && rho.best != v.lead ? rho.best : jct.worst;
    bool lead_named = say_completion(&v);
    say_worst_job(&v, lead_named);
    say_tail(&v);
    say_unfair(&v);
    say_cluster(&v);
    say_waiting(&v);
    say_restarts(&v);
    say_deadlines(&v);
    say_cost(&v);
    say_failures(&v);
}
