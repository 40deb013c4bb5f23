/* assign.c - jobs to offers; see assign.h.
 *
 * Every job first takes its best. Where that fits, it is the optimum, and nothing else is done:
 * the usual case. Otherwise, without binding limits and gangs, shortest augmenting paths with
 * potentials (Jonker and Volgenant's scheme with capacities): offers carry prices, a job that
 * finds no room at reduced cost pushes others on along the cheapest chain; a dense search, as
 * scores are dense. Holding nothing is one more offer with room for all. With gangs or limits the
 * optimum is hard to find (it contains knapsacks); a greedy order by regret and exchanges,
 * measured against the bound. */
#include "market/assign.h"

#include <math.h>
#include <string.h>

enum { ROUNDS_MAX = 4 };

struct work {
    const struct market_assign *p;
    size_t columns; /* offers and, last, idle */
    uint32_t *pick; /* column by job; UINT32_MAX: none yet */
    uint64_t *used; /* instances by offer; a sum of jobs that do not fit may be large */
    uint64_t *limit_used;
    double *price; /* by column */
    double *dist;
    uint32_t *from; /* job by which a column was reached */
    bool *done;
    double *regret;
    uint32_t *first, *second; /* by job: its best and second best column when last looked at */
    void *memory;
};

static double cost(const struct work *w, size_t job, size_t column)
{
    return column + 1 == w->columns ? w->p->idle[job]
                                    : w->p->score[job * w->p->offer_count + column];
}

static uint32_t room(const struct work *w, size_t column)
{
    return column + 1 == w->columns ? UINT32_MAX : w->p->room[column];
}

static shoal_status work_init(const struct base_alloc *alloc, const struct market_assign *p,
                              struct work *w)
{
    size_t columns = p->offer_count + 1, jobs = p->job_count;
    size_t doubles = 2 * columns + jobs;
    size_t sums = columns + p->limit_count, words = 3 * jobs + columns;
    char *memory = base_calloc(alloc, 1,
                               doubles * sizeof(double) + sums * sizeof(uint64_t) +
                                   words * sizeof(uint32_t) + columns * sizeof(bool));

    if (memory == NULL)
        return SHOAL_E_NOMEM;
    double *d = (double *)(void *)memory;
    uint64_t *sum = (uint64_t *)(void *)(d + doubles);
    uint32_t *u = (uint32_t *)(void *)(sum + sums);
    *w = (struct work){.p = p,
                       .columns = columns,
                       .price = d,
                       .dist = d + columns,
                       .regret = d + 2 * columns,
                       .pick = u,
                       .used = sum,
                       .limit_used = sum + columns,
                       .first = u + jobs,
                       .second = u + 2 * jobs,
                       .from = u + 3 * jobs,
                       .done = (bool *)(u + words),
                       .memory = memory};
    for (size_t j = 0; j < jobs; j++)
        w->pick[j] = UINT32_MAX;
    return SHOAL_OK;
}

/* Adds (or takes away) job's instances on a column. */
static void hold(struct work *w, size_t job, size_t column, bool add)
{
    uint32_t need = w->p->need[job];

    if (column + 1 == w->columns)
        return;
    w->used[column] = add ? w->used[column] + need : w->used[column] - need;
    for (size_t l = 0; l < w->p->limit_count; l++) {
        if (w->p->limits[l].covers[column])
            w->limit_used[l] = add ? w->limit_used[l] + need : w->limit_used[l] - need;
    }
}

static bool fits(const struct work *w, size_t job, size_t column)
{
    uint64_t need = w->p->need[job];

    if (column + 1 == w->columns)
        return true;
    if (w->used[column] + need > w->p->room[column])
        return false;
    for (size_t l = 0; l < w->p->limit_count; l++) {
        if (w->p->limits[l].covers[column] && w->limit_used[l] + need > w->p->limits[l].instances)
            return false;
    }
    return true;
}

/* Every job on its best column, whether it fits or not; returns the sum. */
static double best_of_each(struct work *w)
{
    double sum = 0;

    for (size_t j = 0; j < w->p->job_count; j++) {
        size_t best = w->columns - 1;
        for (size_t c = 0; c + 1 < w->columns; c++) {
            if (w->p->need[j] <= w->p->room[c] && cost(w, j, c) < cost(w, j, best))
                best = c;
        }
        w->pick[j] = (uint32_t)best;
        hold(w, j, best, true);
        sum += cost(w, j, best);
    }
    return sum;
}

static bool within(const struct work *w, bool with_limits)
{
    for (size_t c = 0; c + 1 < w->columns; c++) {
        if (w->used[c] > w->p->room[c])
            return false;
    }
    for (size_t l = 0; with_limits && l < w->p->limit_count; l++) {
        if (w->limit_used[l] > w->p->limits[l].instances)
            return false;
    }
    return true;
}

static void let_go_of_all(struct work *w)
{
    memset(w->used, 0, w->columns * sizeof *w->used);
    for (size_t l = 0; l < w->p->limit_count; l++)
        w->limit_used[l] = 0;
    for (size_t j = 0; j < w->p->job_count; j++)
        w->pick[j] = UINT32_MAX;
}

/* Lowers dist of every column by way of `job`, which is at `base` so far. */
static void relax(struct work *w, size_t job, double base)
{
    for (size_t c = 0; c < w->columns; c++) {
        if (w->done[c])
            continue;
        double d = base + cost(w, job, c) - w->price[c];
        if (d < w->dist[c]) {
            w->dist[c] = d;
            w->from[c] = (uint32_t)job;
        }
    }
}

/* Gives `job` a column, moving others on along the cheapest path: Dijkstra over columns. The
 * columns a path leaves are full, so every job on one is a way on. Invariant: every placed job's
 * cost less its column's price is its smallest such difference; prices of columns with room are 0.
 */
static void augment(struct work *w, size_t job)
{
    size_t last;

    for (size_t c = 0; c < w->columns; c++) {
        w->dist[c] = INFINITY;
        w->done[c] = false;
    }
    relax(w, job, 0);
    for (;;) {
        last = w->columns;
        for (size_t c = 0; c < w->columns; c++) {
            if (!w->done[c] && (last == w->columns || w->dist[c] < w->dist[last]))
                last = c;
        }
        if (w->used[last] < room(w, last))
            break;
        w->done[last] = true;
        for (size_t j = 0; j < w->p->job_count; j++) {
            if (w->pick[j] == last)
                relax(w, j, w->dist[last] - (cost(w, j, last) - w->price[last]));
        }
    }
    for (size_t c = 0; c < w->columns; c++) {
        if (w->done[c])
            w->price[c] += w->dist[c] - w->dist[last];
    }
    w->used[last]++;
    for (size_t c = last;;) { /* every job on the path takes the column it was the way to */
        size_t j = w->from[c], old = w->pick[j];
        w->pick[j] = (uint32_t)c;
        if (j == job)
            break;
        c = old;
    }
}

static double transport(struct work *w)
{
    double sum = 0;

    let_go_of_all(w);
    for (size_t j = 0; j < w->p->job_count; j++)
        augment(w, j);
    for (size_t j = 0; j < w->p->job_count; j++)
        sum += cost(w, j, w->pick[j]);
    return sum;
}

/* The best and second best column that fit; sets regret. */
static size_t best_that_fits(struct work *w, size_t job)
{
    double best = w->p->idle[job], second = INFINITY;
    size_t at = w->columns - 1, next = at;

    for (size_t c = 0; c + 1 < w->columns; c++) {
        double value = cost(w, job, c);
        if (value >= second || !fits(w, job, c))
            continue;
        if (value < best) {
            second = best;
            next = at;
            best = value;
            at = c;
        } else {
            second = value;
            next = c;
        }
    }
    w->first[job] = (uint32_t)at;
    w->second[job] = (uint32_t)next;
    w->regret[job] = second == INFINITY ? 0 : second - best;
    return at;
}

static double greedy(struct work *w)
{
    double sum = 0;

    let_go_of_all(w);
    for (size_t j = 0; j < w->p->job_count; j++)
        (void)best_that_fits(w, j);
    for (size_t n = 0; n < w->p->job_count; n++) {
        size_t next = w->p->job_count;
        for (size_t j = 0; j < w->p->job_count; j++) {
            if (w->pick[j] != UINT32_MAX)
                continue;
            /* what fits only becomes less, so the two best stay the best while they fit */
            if (!fits(w, j, w->first[j]) || !fits(w, j, w->second[j]))
                (void)best_that_fits(w, j);
            if (next == w->p->job_count || w->regret[j] > w->regret[next])
                next = j;
        }
        size_t column = w->first[next];
        w->pick[next] = (uint32_t)column;
        hold(w, next, column, true);
        sum += cost(w, next, column);
    }
    return sum;
}

/* Tries to put job a where b is and b on its best after that; keeps it when the sum falls. */
static double exchange(struct work *w, size_t a, size_t b)
{
    size_t at_a = w->pick[a], at_b = w->pick[b];
    double before = cost(w, a, at_a) + cost(w, b, at_b);

    if (cost(w, a, at_b) >= cost(w, a, at_a))
        return 0;
    hold(w, a, at_a, false);
    hold(w, b, at_b, false);
    if (fits(w, a, at_b)) {
        hold(w, a, at_b, true);
        size_t now_b = best_that_fits(w, b);
        double after = cost(w, a, at_b) + cost(w, b, now_b);
        if (after < before - 1e-12 * fabs(before)) {
            hold(w, b, now_b, true);
            w->pick[a] = (uint32_t)at_b;
            w->pick[b] = (uint32_t)now_b;
            return before - after;
        }
        hold(w, a, at_b, false);
    }
    hold(w, a, at_a, true);
    hold(w, b, at_b, true);
    return 0;
}

static double improve(struct work *w)
{
    double gained = 0, round = 1;

    for (int n = 0; n < ROUNDS_MAX && round > 0; n++) {
        round = 0;
        for (size_t a = 0; a < w->p->job_count; a++) {
            size_t old = w->pick[a];
            hold(w, a, old, false);
            size_t now = best_that_fits(w, a);
            now = cost(w, a, now) < cost(w, a, old) ? now : old;
            hold(w, a, now, true);
            w->pick[a] = (uint32_t)now;
            round += cost(w, a, old) - cost(w, a, now);
            for (size_t b = 0; b < w->p->job_count; b++) {
                if (b != a && w->pick[b] + 1 < w->columns)
                    round += exchange(w, a, b);
            }
        }
        gained += round;
    }
    return gained;
}

static bool gangs(const struct market_assign *p)
{
    for (size_t j = 0; j < p->job_count; j++) {
        if (p->need[j] != 1)
            return true;
    }
    return false;
}

static void recount(struct work *w)
{
    memset(w->used, 0, w->columns * sizeof *w->used);
    for (size_t l = 0; l < w->p->limit_count; l++)
        w->limit_used[l] = 0;
    for (size_t j = 0; j < w->p->job_count; j++)
        hold(w, j, w->pick[j], true);
}

shoal_status market_assign(const struct base_alloc *alloc, const struct market_assign *problem,
                           uint32_t *pick, struct market_assigned *out)
{
    struct work w;

    if (problem->job_count == 0) {
        *out = (struct market_assigned){0, 0, true};
        return SHOAL_OK;
    }
    if (work_init(alloc, problem, &w) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    out->bound = best_of_each(&w);
    out->sum = out->bound;
    out->exact = within(&w, true);
    if (!out->exact && !gangs(problem)) {
        out->bound = transport(&w);
        out->sum = out->bound;
        recount(&w);
        out->exact = within(&w, true);
    }
    if (!out->exact) {
        out->sum = greedy(&w);
        out->sum -= improve(&w);
        out->exact = out->sum <= out->bound;
    }
    for (size_t j = 0; j < problem->job_count; j++)
        pick[j] = w.pick[j] + 1 == w.columns ? MARKET_ASSIGN_IDLE : w.pick[j];
    base_free(alloc, w.memory);
    return SHOAL_OK;
}
