/* objective.c - from what a policy wants to problems of num/share.h.
 *
 * A call checks its arrays (objective_check.c), writes down the speeds as the policy believes them,
 * solves the named objective, gives what that leaves over to speed where the objective does not
 * care, and, when pairs may share GPUs, improves on that (objective_pairs.c). Level, bound, price
 * and exact are those of the named objective, never of the second step.
 *
 * Speeds as believed. With aware = false every kind that a job can use is as fast as its fastest:
 * all objectives but two measure a speed against the job's other speeds, so that any common value
 * does; makespan and ftf count steps, and the fastest speed is what Gavel's agnostic policies
 * assume there. Kinds without GPUs have a price, what a first one would be worth, but no part in a
 * job's fastest or reference speed. A job that can use no kind asks for nothing and gets nothing.
 *
 * Numbers. The second step takes what the first one reached as floors, lowered by SLACK so that
 * rounding cannot make them impossible; if it does all the same, the first answer stands.
 *
 * Memory: one arena for a call and its result, cleared by the next call. Tests:
 * test_objective.c. */
#include "sched/objective_parts.h"

#include "base/assert.h"
#include "base/err.h"

#include <math.h>
#include <string.h>

/* Relative. What an earlier step reached is asked for again with this much less, so that rounding
 * does not make it impossible, and with more of it where it still does. */
static const double SLACK = 1e-9, SLACK_MORE = 1e-7;

const struct sched_objective_row sched_objectives[SCHED_OBJECTIVE_COUNT] = {
    [SCHED_OBJECTIVE_MAX_MIN] = {"max-min", "the slowest job as fast as can be, then the next",
                                 "GPUs of average speed"},
    [SCHED_OBJECTIVE_FTF] = {"ftf", "nobody ends late, compared with a share of its own", "rho"},
    [SCHED_OBJECTIVE_MAKESPAN] = {"makespan", "all jobs done as early as can be", "s"},
    [SCHED_OBJECTIVE_THROUGHPUT] = {"throughput", "the most work per second",
                                    "jobs at their fastest"},
    [SCHED_OBJECTIVE_COST] = {"cost", "the largest sum of each GPU kind's work per dollar",
                              "work per dollar, summed over kinds"},
    [SCHED_OBJECTIVE_COST_SLO] = {"cost-slo", "deadlines kept, then as cost",
                                  "work per dollar, summed over kinds"},
    [SCHED_OBJECTIVE_FIFO] = {"fifo", "in order of arrival, each on its fastest kind with room",
                              "jobs served"},
    [SCHED_OBJECTIVE_HIERARCHICAL] = {"hierarchical", "max-min through a tree of entities",
                                      "GPUs of average speed in all"},
};

int sched_objective_find(const char *name)
{
    for (int i = 0; i < SCHED_OBJECTIVE_COUNT; i++) {
        if (strcmp(sched_objectives[i].name, name) == 0)
            return i;
    }
    return -1;
}

double sched_objective_gap(const struct sched_objective_result *r)
{
    double scale = fmax(fabs(r->level), fabs(r->bound));
    if (r->level == r->bound || scale == 0)
        return 0;
    return isfinite(r->level) && isfinite(r->bound) ? fabs(r->level - r->bound) / scale : INFINITY;
}

/* ---- the call ---- */

double *sched_objective_array(struct sched_objective_solver *s, size_t count)
{
    return base_arena_calloc(&s->arena, count == 0 ? 1 : count, sizeof(double));
}

static shoal_status no_memory(shoal_err *err)
{
    return base_err_nomem(err, "solving for shares");
}

/* The solver's word on values that passed our checks. */
static shoal_status solver_failed(shoal_err *err, shoal_status st)
{
    if (st == SHOAL_E_NOMEM)
        return no_memory(err);
    base_err(err, SHOAL_E_INTERNAL, "numerical trouble: no shares were found");
    base_err_hint(err, "scale rates, weights and counts closer to 1");
    return SHOAL_E_INTERNAL;
}

static double count_of(const struct sched_objective_work *w, size_t m)
{
    return w->p.count == NULL ? 1 : w->p.count[m];
}

static double speed_of(const struct sched_objective_work *w, const double *x, size_t m)
{
    double speed = 0;
    for (uint32_t k = 0; k < w->p.kind_count; k++)
        speed += w->p.rate[m * w->p.kind_count + k] * x[m * w->p.kind_count + k];
    return speed;
}

/* The fastest that a job can be on the GPUs there are. */
static double fastest_of(const struct num_share_problem *p, size_t m)
{
    double fastest = 0;
    for (uint32_t k = 0; k < p->kind_count; k++) {
        double rate = p->capacity[k] > 0 ? p->rate[m * p->kind_count + k] : 0;
        fastest = rate > fastest ? rate : fastest;
    }
    return fastest;
}

/* Rates as believed when all kinds seem alike. */
static shoal_status believe(struct sched_objective_solver *s, struct sched_objective_work *w)
{
    uint32_t kinds = w->p.kind_count;
    double *rate = sched_objective_array(s, w->p.job_count * kinds);
    if (rate == NULL)
        return SHOAL_E_NOMEM;
    for (size_t m = 0; m < w->p.job_count; m++) {
        for (uint32_t k = 0; k < kinds; k++)
            rate[m * kinds + k] = w->p.rate[m * kinds + k] > 0 ? w->fastest[m] : 0;
    }
    w->p.rate = rate;
    return SHOAL_OK;
}

/* What is known of the jobs before anything is solved. `money`: the objective is of dollars. */
static shoal_status prepare(struct sched_objective_solver *s,
                            const struct sched_objective_input *in, bool money,
                            struct sched_objective_work *w)
{
    uint32_t kinds = in->problem.kind_count;
    double part[NUM_KINDS_MAX] = {0};
    *w = (struct sched_objective_work){
        .in = in, .p = in->problem, .usd_h = money ? in->usd_h : NULL};
    w->fastest = sched_objective_array(s, in->problem.job_count);
    w->prop = sched_objective_array(s, in->problem.job_count);
    if (w->fastest == NULL || w->prop == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t k = 0; k < kinds; k++)
        w->gpus += w->p.capacity[k];
    for (uint32_t k = 0; k < kinds && w->gpus > 0; k++)
        part[k] = w->p.capacity[k] / w->gpus;
    for (size_t m = 0; m < w->p.job_count; m++)
        w->fastest[m] = fastest_of(&w->p, m);
    if (!in->aware && believe(s, w) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    for (size_t m = 0; m < w->p.job_count; m++) {
        for (uint32_t k = 0; k < kinds; k++)
            w->prop[m] += w->p.rate[m * kinds + k] * part[k];
        if (w->fastest[m] > 0)
            w->jobs += count_of(w, m);
    }
    return SHOAL_OK;
}

/* An answer that gives nobody anything. */
static shoal_status nothing(struct sched_objective_solver *s, const struct sched_objective_work *w,
                            struct sched_objective_result *r)
{
    double *x = sched_objective_array(s, w->p.job_count * w->p.kind_count);
    if (x == NULL)
        return SHOAL_E_NOMEM;
    *r = (struct sched_objective_result){.x = x, .exact = true, .priced_unit = r->priced_unit};
    return SHOAL_OK;
}

bool sched_objective_nothing_short(const struct sched_objective_work *w, const double *price,
                                   double level)
{
    double sum = 0;
    for (uint32_t k = 0; k < w->p.kind_count; k++)
        sum += price[k] * w->p.capacity[k];
    return !(sum > SLACK * level);
}

static void take(struct sched_objective_result *r, const struct num_share_result *from)
{
    r->level = r->priced = from->level;
    r->bound = from->bound;
    memcpy(r->price, from->price, sizeof r->price);
    memcpy(r->used, from->used, sizeof r->used);
    r->x = from->x;
    r->slope = from->slope;
    r->passes = from->passes;
    r->exact = from->exact;
}

/* What a share of time on a kind is worth: speed, as a part of the job's fastest, per dollar where
 * usd_h is not NULL. */
static double *values(struct sched_objective_solver *s, const struct sched_objective_work *w,
                      const double *usd_h)
{
    uint32_t kinds = w->p.kind_count;
    double *value = sched_objective_array(s, w->p.job_count * kinds);
    for (size_t m = 0; value != NULL && m < w->p.job_count; m++) {
        if (w->fastest[m] == 0)
            continue;
        double scale = sched_objective_weight(w, m) / w->fastest[m];
        for (uint32_t k = 0; k < kinds; k++)
            value[m * kinds + k] =
                scale * w->p.rate[m * kinds + k] / (usd_h == NULL ? 1 : usd_h[k]);
    }
    return value;
}

/* num_share_sum with floors that are known to be possible: lowered a little, then a little more.
 * SHOAL_E_IMPOSSIBLE when even that does not help. `floor` is changed. */
static shoal_status sum_with_floors(struct num_share *solver, const struct sched_objective_work *w,
                                    const double *value, double *floor,
                                    struct num_share_result *out)
{
    shoal_status st = SHOAL_E_IMPOSSIBLE;
    for (int step = 0; step < 2 && st == SHOAL_E_IMPOSSIBLE; step++) {
        double keep = 1 - (step == 0 ? SLACK : SLACK_MORE);
        for (size_t m = 0; m < w->p.job_count; m++)
            floor[m] *= keep;
        st = num_share_sum(solver, &w->p, value, floor, out);
    }
    return st;
}

/* The named objective leaves speeds of at least `floor`; what else there is goes to speed. */
static shoal_status give_rest(struct sched_objective_solver *s, struct sched_objective_work *w,
                              double *floor, struct sched_objective_result *r)
{
    struct num_share_result rest;
    double *value = values(s, w, NULL);
    if (value == NULL)
        return SHOAL_E_NOMEM;
    shoal_status st = sum_with_floors(s->rest, w, value, floor, &rest);
    if (st == SHOAL_E_NOMEM)
        return st;
    if (st != SHOAL_OK) /* rounding: what was reached stands */
        return SHOAL_OK;
    r->x = rest.x;
    memcpy(r->used, rest.used, sizeof r->used);
    if (sched_objective_nothing_short(w, r->price, r->level)) {
        memcpy(r->price, rest.price, sizeof r->price);
        r->priced = rest.level;
        r->priced_unit = sched_objectives[SCHED_OBJECTIVE_THROUGHPUT].unit;
    }
    r->passes += rest.passes;
    return SHOAL_OK;
}

/* ---- max-min, hierarchical ---- */

static shoal_status fill(struct sched_objective_solver *s, struct sched_objective_work *w,
                         const struct num_tree *tree, struct sched_objective_result *r)
{
    struct num_share_result filled;
    double *unit = sched_objective_array(s, w->p.job_count);
    if (unit == NULL)
        return SHOAL_E_NOMEM;
    for (size_t m = 0; m < w->p.job_count; m++)
        unit[m] = w->prop[m] > 0 ? w->prop[m] / w->p.gpus[m] : 1;
    shoal_status st = num_share_fill(s->first, &w->p, unit, tree, &filled);
    if (st == SHOAL_OK)
        take(r, &filled);
    return st;
}

static const struct num_tree_node root = {.parent = NUM_TREE_NONE, .weight = 1};

static double level_of(const struct sched_objective_work *w, double speed, size_t m)
{
    return speed / w->prop[m] * w->p.gpus[m] / sched_objective_weight(w, m);
}

/* Jobs rise together until they are at their top speed or GPUs run out, so the smallest level is
 * the smallest of all top speeds, or the first level that GPUs decide: the smallest of a job they
 * stopped. Price and bound of that come in units of the root's budget there, of which everybody who
 * can still rise gets a part by weight. */
static shoal_status solve_max_min(struct sched_objective_solver *s, struct sched_objective_work *w,
                                  struct sched_objective_result *r)
{
    struct num_tree tree = {.nodes = &root, .node_count = 1, .job_weight = w->in->weight};
    shoal_status st = fill(s, w, &tree, r);
    if (st != SHOAL_OK)
        return st;
    double smallest = INFINITY, top = INFINITY, stopped = INFINITY, rising = 0;
    for (size_t m = 0; m < w->p.job_count; m++) {
        if (w->fastest[m] == 0)
            continue;
        double level = level_of(w, speed_of(w, r->x, m), m);
        smallest = fmin(smallest, level);
        top = fmin(top, level_of(w, w->fastest[m], m));
        if (r->slope != NULL && r->slope[m] > 0)
            stopped = fmin(stopped, level);
    }
    for (size_t m = 0; m < w->p.job_count && isfinite(stopped); m++) {
        if (w->fastest[m] > 0 && level_of(w, w->fastest[m], m) > stopped * (1 + SLACK_MORE))
            rising += sched_objective_weight(w, m) * count_of(w, m);
    }
    double scale = rising > 0 ? 1 / rising : 0;
    r->bound = fmin(top, stopped + (r->bound - r->level) * scale);
    r->level = smallest;
    r->exact = r->exact && smallest >= r->bound * (1 - SLACK_MORE);
    r->priced = isfinite(stopped) ? stopped : smallest;
    for (uint32_t k = 0; k < w->p.kind_count; k++)
        r->price[k] *= scale;
    return SHOAL_OK;
}

static shoal_status solve_hierarchical(struct sched_objective_solver *s,
                                       struct sched_objective_work *w,
                                       struct sched_objective_result *r)
{
    struct num_tree tree = w->in->tree;
    if (tree.node_count == 0) {
        tree.nodes = &root;
        tree.node_count = 1;
        tree.job_node = NULL;
    }
    if (tree.job_weight == NULL)
        tree.job_weight = w->in->weight;
    return fill(s, w, &tree, r);
}

/* ---- finish-time fairness ---- */

static double since_of(const struct sched_objective_work *w, size_t m)
{
    return w->in->since_s == NULL ? 0 : w->in->since_s[m];
}

double sched_objective_ftf_need(const struct sched_objective_work *w, size_t m, double rho)
{
    double time_left = rho / sched_objective_weight(w, m) * w->fair_s[m] - since_of(w, m);
    return time_left > 0 ? w->in->left[m] / time_left : INFINITY;
}

double sched_objective_ftf_rho(const struct sched_objective_work *w, size_t m, double speed)
{
    return sched_objective_weight(w, m) * (since_of(w, m) + w->in->left[m] / speed) / w->fair_s[m];
}

/* Speed on N_k / (n z) of the time on every kind k it can use, n jobs that can run and z its GPUs,
 * scaled down where that is more than all of its time; the same that rho in reports is measured
 * against. */
static double alone_speed(const struct sched_objective_work *w, size_t m)
{
    double usable = 0, asked = w->jobs * w->p.gpus[m];
    for (uint32_t k = 0; k < w->p.kind_count; k++)
        usable += w->p.rate[m * w->p.kind_count + k] > 0 ? w->p.capacity[k] : 0;
    return w->prop[m] * w->gpus / (usable > asked ? usable : asked);
}

static void ftf_needs(void *ctx, double rho, double *out_need)
{
    const struct sched_objective_work *w = ctx;
    for (size_t m = 0; m < w->p.job_count; m++)
        out_need[m] = w->fastest[m] > 0 ? sched_objective_ftf_need(w, m, rho) : 0;
}

static shoal_status fair_times(struct sched_objective_solver *s, struct sched_objective_work *w)
{
    w->fair_s = sched_objective_array(s, w->p.job_count);
    if (w->fair_s == NULL)
        return SHOAL_E_NOMEM;
    for (size_t m = 0; m < w->p.job_count; m++) {
        if (w->fastest[m] > 0)
            w->fair_s[m] = (w->in->alone_s == NULL ? 0 : w->in->alone_s[m]) +
                           w->in->left[m] / alone_speed(w, m);
    }
    return SHOAL_OK;
}

/* rho lies between everybody at top speed and everybody on a share of its own, which is possible.
 */
static shoal_status ftf_range(struct sched_objective_solver *s, struct sched_objective_work *w,
                              double *out_low, double *out_high)
{
    double low = 0, high = 0;
    if (fair_times(s, w) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    for (size_t m = 0; m < w->p.job_count; m++) {
        if (w->fastest[m] == 0)
            continue;
        double best = sched_objective_ftf_rho(w, m, w->fastest[m]);
        double fair = sched_objective_ftf_rho(w, m, alone_speed(w, m));
        low = best > low ? best : low;
        high = fair > high ? fair : high;
    }
    *out_low = low;
    *out_high = (high > low ? high : low) * (1 + SLACK);
    return SHOAL_OK;
}

/* The solver's prices say by how much all speeds could grow beyond their needs. A larger rho lowers
 * needs: each by its own part, and `slope` says how much of everybody's growth each part is. */
static void ftf_prices(const struct sched_objective_work *w, const double *need,
                       struct sched_objective_result *r)
{
    double growth = 0;
    for (size_t m = 0; r->slope != NULL && m < w->p.job_count; m++) {
        if (w->fastest[m] > 0)
            growth += r->slope[m] * need[m] / w->in->left[m] * w->fair_s[m] /
                      sched_objective_weight(w, m);
    }
    for (uint32_t k = 0; k < w->p.kind_count; k++)
        r->price[k] = growth > 0 ? r->price[k] / growth : 0;
}

static shoal_status solve_ftf(struct sched_objective_solver *s, struct sched_objective_work *w,
                              struct sched_objective_result *r)
{
    double low = 0, high = 0;
    struct num_share_result best;
    double *floor = sched_objective_array(s, w->p.job_count);
    if (floor == NULL || ftf_range(s, w, &low, &high) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    shoal_status st = num_share_curve(s->first, &w->p, low, high, ftf_needs, w, &best);
    if (st == SHOAL_OK && !isfinite(best.level))
        st = num_share_curve(s->first, &w->p, low, high * (1 + SLACK_MORE), ftf_needs, w, &best);
    if (st != SHOAL_OK)
        return st;
    if (!isfinite(best.level))
        return SHOAL_E_INTERNAL;
    take(r, &best);
    ftf_needs(w, best.level, floor);
    ftf_prices(w, floor, r);
    for (size_t m = 0; m < w->p.job_count; m++)
        floor[m] = floor[m] < w->fastest[m] ? floor[m] : w->fastest[m];
    return give_rest(s, w, floor, r);
}

/* ---- makespan ---- */

static shoal_status solve_makespan(struct sched_objective_solver *s, struct sched_objective_work *w,
                                   struct sched_objective_result *r)
{
    struct num_share_result best;
    double *need = sched_objective_array(s, w->p.job_count);
    if (need == NULL)
        return SHOAL_E_NOMEM;
    for (size_t m = 0; m < w->p.job_count; m++)
        need[m] = w->fastest[m] > 0 ? w->in->left[m] : 0;
    shoal_status st = num_share_level(s->first, &w->p, need, &best);
    if (st != SHOAL_OK)
        return st;
    if (!(best.level > 0 && isfinite(best.level)))
        return SHOAL_E_INTERNAL;
    take(r, &best);
    r->level = r->priced = 1 / best.level;
    r->bound = 1 / best.bound;
    for (uint32_t k = 0; k < w->p.kind_count; k++)
        r->price[k] = best.price[k] / best.level / best.level;
    for (size_t m = 0; m < w->p.job_count; m++)
        need[m] *= best.level;
    return give_rest(s, w, need, r);
}

/* ---- throughput, cost ---- */

static shoal_status solve_sum(struct sched_objective_solver *s, struct sched_objective_work *w,
                              struct sched_objective_result *r)
{
    struct num_share_result best;
    double *value = values(s, w, w->usd_h);
    if (value == NULL)
        return SHOAL_E_NOMEM;
    shoal_status st = num_share_sum(s->first, &w->p, value, NULL, &best);
    if (st != SHOAL_OK)
        return st;
    take(r, &best);
    r->slope = NULL;
    return SHOAL_OK;
}

/* Floors that a job can reach when it has all it wants; the others are given up at once. */
static size_t give_up_hopeless(const struct sched_objective_work *w, double *floor, bool *given_up)
{
    size_t asked = 0;
    for (size_t m = 0; m < w->p.job_count; m++) {
        double time = w->in->deadline_s[m];
        if (time == INFINITY)
            continue;
        asked++;
        double need = time > 0 ? w->in->left[m] / time : INFINITY;
        if (w->fastest[m] == 0 || need > w->fastest[m] * (1 + SLACK))
            given_up[m] = true;
        else
            floor[m] = need < w->fastest[m] ? need : w->fastest[m];
    }
    return asked;
}

/* Those that cannot be kept besides the others. */
static shoal_status give_up_some(struct sched_objective_solver *s, struct sched_objective_work *w,
                                 double *floor, bool *given_up)
{
    double *weight = sched_objective_array(s, w->p.job_count);
    bool *kept = base_arena_calloc(&s->arena, w->p.job_count, sizeof *kept);
    if (weight == NULL || kept == NULL)
        return SHOAL_E_NOMEM;
    for (size_t m = 0; m < w->p.job_count; m++)
        weight[m] = sched_objective_weight(w, m);
    shoal_status st = num_share_keep(s->rest, &w->p, floor, weight, kept);
    for (size_t m = 0; st == SHOAL_OK && m < w->p.job_count; m++) {
        if (floor[m] > 0 && !kept[m]) {
            given_up[m] = true;
            floor[m] = 0;
        }
    }
    return st;
}

static shoal_status solve_cost_slo(struct sched_objective_solver *s, struct sched_objective_work *w,
                                   struct sched_objective_result *r)
{
    if (w->in->deadline_s == NULL)
        return solve_sum(s, w, r);
    struct num_share_result best;
    double *value = values(s, w, w->usd_h);
    double *floor = sched_objective_array(s, w->p.job_count);
    bool *given_up = base_arena_calloc(&s->arena, w->p.job_count, sizeof *given_up);
    if (value == NULL || floor == NULL || given_up == NULL)
        return SHOAL_E_NOMEM;
    if (give_up_hopeless(w, floor, given_up) == 0)
        return solve_sum(s, w, r);

    shoal_status st = num_share_sum(s->first, &w->p, value, floor, &best);
    if (st == SHOAL_E_IMPOSSIBLE) {
        st = give_up_some(s, w, floor, given_up);
        if (st == SHOAL_OK)
            st = sum_with_floors(s->first, w, value, floor, &best);
    }
    if (st != SHOAL_OK)
        return st;
    take(r, &best);
    r->given_up = given_up;
    for (size_t m = 0; m < w->p.job_count; m++)
        r->given_up_count += given_up[m];
    return SHOAL_OK;
}

/* ---- fifo ---- */

/* The kind that a gang of `gpus` takes next: the fastest with room, or, when all seem equally fast,
 * the one with most room. -1: none. */
static int fifo_kind(const struct sched_objective_work *w, size_t m, const double *room)
{
    const double *rate = w->p.rate + m * w->p.kind_count;
    int best = -1;
    for (uint32_t k = 0; k < w->p.kind_count; k++) {
        if (rate[k] == 0 || room[k] * (1 + SLACK) < w->p.gpus[m])
            continue;
        if (best < 0 || (w->in->aware ? rate[k] > rate[best] : room[k] > room[best]))
            best = (int)k;
    }
    return best;
}

/* Whole gangs in order. A job that finds no room keeps those behind it off the kinds it could use,
 * so that nobody overtakes it there. */
static shoal_status solve_fifo(struct sched_objective_solver *s, struct sched_objective_work *w,
                               struct sched_objective_result *r)
{
    double room[NUM_KINDS_MAX];
    shoal_status st = nothing(s, w, r);
    if (st != SHOAL_OK)
        return st;
    double *x = sched_objective_array(s, w->p.job_count * w->p.kind_count);
    if (x == NULL)
        return SHOAL_E_NOMEM;
    memcpy(room, w->p.capacity, sizeof room);
    for (size_t m = 0; m < w->p.job_count; m++) {
        double waiting = w->fastest[m] > 0 ? count_of(w, m) : 0;
        while (waiting > 0) {
            int k = fifo_kind(w, m, room);
            if (k < 0)
                break;
            double fit = floor(room[k] / w->p.gpus[m] * (1 + SLACK));
            /* equally fast kinds are taken in turns, one gang at a time */
            fit = w->in->aware ? fit : 1;
            fit = fit < waiting ? fit : waiting;
            room[k] -= fit * w->p.gpus[m];
            room[k] = room[k] > 0 ? room[k] : 0;
            r->used[k] += fit * w->p.gpus[m];
            r->level += fit;
            waiting -= fit;
            x[m * w->p.kind_count + (uint32_t)k] += fit / count_of(w, m);
        }
        for (uint32_t k = 0; waiting > 0 && k < w->p.kind_count; k++) {
            if (w->p.rate[m * w->p.kind_count + k] > 0)
                room[k] = 0;
        }
    }
    r->x = x;
    r->bound = r->priced = r->level;
    return SHOAL_OK;
}

/* ---- what shares are worth by the true speeds, whatever was believed when they were made ---- */

/* (jobs) speeds of the shares; with usd_h (kinds) each divided by the price of its kind. NULL when
 * memory is short. */
static double *speeds(struct sched_objective_solver *s, const struct sched_objective_work *w,
                      const struct sched_objective_result *r)
{
    const struct sched_objective_input *in = w->in;
    const double *usd_h = w->usd_h;
    size_t kinds = in->problem.kind_count, classes = in->class_count;
    double *speed = sched_objective_array(s, in->problem.job_count);

    for (size_t m = 0; speed != NULL && m < in->problem.job_count; m++)
        for (size_t k = 0; k < kinds; k++)
            speed[m] += in->problem.rate[m * kinds + k] * r->x[m * kinds + k] /
                        (usd_h == NULL ? 1 : usd_h[k]);
    for (size_t i = 0; speed != NULL && i < r->pair_count; i++) {
        const struct sched_pair_share *pair = &r->pairs[i];
        const float *rate = in->pair + pair->kind * classes * classes;
        size_t a = in->class_of[pair->job], b = in->class_of[pair->with];
        double share = pair->share / (usd_h == NULL ? 1 : usd_h[pair->kind]);
        speed[pair->job] += share * (double)rate[a * classes + b];
        speed[pair->with] += share * (double)rate[b * classes + a];
    }
    return speed;
}

/* How job m does by itself, of which the objective takes the worst or the sum. */
static double value_of(const struct sched_objective_work *w, enum sched_objective objective,
                       size_t m, double speed)
{
    switch (objective) {
    case SCHED_OBJECTIVE_MAX_MIN: return level_of(w, speed, m);
    case SCHED_OBJECTIVE_FTF: return sched_objective_ftf_rho(w, m, speed);
    case SCHED_OBJECTIVE_MAKESPAN: return w->in->left[m] / speed;
    default: return sched_objective_weight(w, m) * speed / w->fastest[m] * count_of(w, m);
    }
}

/* r->reached: the objective's value of the shares in `r`. What hierarchical and fifo count is not known from
 * shares, and stays. */
static shoal_status find_value(struct sched_objective_solver *s, enum sched_objective objective,
                               const struct sched_objective_input *in, bool money,
                               struct sched_objective_result *r)
{
    struct sched_objective_input truth = *in;
    struct sched_objective_work w;
    double least = INFINITY, most = 0, sum = 0;

    truth.aware = true;
    if (prepare(s, &truth, money, &w) != SHOAL_OK ||
        (objective == SCHED_OBJECTIVE_FTF && fair_times(s, &w) != SHOAL_OK))
        return SHOAL_E_NOMEM;
    double *speed = speeds(s, &w, r);
    if (speed == NULL)
        return SHOAL_E_NOMEM;
    for (size_t m = 0; m < w.p.job_count; m++) {
        if (w.fastest[m] == 0)
            continue;
        double value = value_of(&w, objective, m, speed[m]);
        least = fmin(least, value);
        most = fmax(most, value);
        sum += value;
    }
    switch (objective) {
    case SCHED_OBJECTIVE_MAX_MIN: r->reached = least; break;
    case SCHED_OBJECTIVE_FTF:
    case SCHED_OBJECTIVE_MAKESPAN: r->reached = most; break;
    case SCHED_OBJECTIVE_THROUGHPUT:
    case SCHED_OBJECTIVE_COST:
    case SCHED_OBJECTIVE_COST_SLO: r->reached = sum; break;
    case SCHED_OBJECTIVE_FIFO:
    case SCHED_OBJECTIVE_HIERARCHICAL:
    case SCHED_OBJECTIVE_COUNT: break;
    }
    return SHOAL_OK;
}

/* ---- entry points ---- */

static const struct method {
    shoal_status (*solve)(struct sched_objective_solver *s, struct sched_objective_work *w,
                          struct sched_objective_result *r);
    unsigned uses;
} methods[SCHED_OBJECTIVE_COUNT] = {
    [SCHED_OBJECTIVE_MAX_MIN] = {solve_max_min, 0},
    [SCHED_OBJECTIVE_FTF] = {solve_ftf, SCHED_OBJECTIVE_USES_LEFT | SCHED_OBJECTIVE_USES_SINCE},
    [SCHED_OBJECTIVE_MAKESPAN] = {solve_makespan, SCHED_OBJECTIVE_USES_LEFT},
    [SCHED_OBJECTIVE_THROUGHPUT] = {solve_sum, 0},
    [SCHED_OBJECTIVE_COST] = {solve_sum, SCHED_OBJECTIVE_USES_USD},
    [SCHED_OBJECTIVE_COST_SLO] = {solve_cost_slo, SCHED_OBJECTIVE_USES_USD |
                                                      SCHED_OBJECTIVE_USES_LEFT |
                                                      SCHED_OBJECTIVE_USES_DEADLINE},
    [SCHED_OBJECTIVE_FIFO] = {solve_fifo, 0},
    [SCHED_OBJECTIVE_HIERARCHICAL] = {solve_hierarchical, SCHED_OBJECTIVE_USES_TREE},
};

shoal_status sched_objective_new(const struct base_alloc *alloc, const struct num_team *team,
                                 struct sched_objective_solver **out)
{
    struct sched_objective_solver *s = base_calloc(alloc, 1, sizeof *s);
    if (s == NULL)
        return SHOAL_E_NOMEM;
    s->alloc = alloc;
    base_arena_init(&s->arena, alloc, 0);
    shoal_status st = num_share_new(alloc, team, &s->first);
    if (st == SHOAL_OK)
        st = num_share_new(alloc, team, &s->rest);
    if (st == SHOAL_OK) {
        *out = s;
        s = NULL;
    }
    sched_objective_free(s);
    return st;
}

void sched_objective_free(struct sched_objective_solver *s)
{
    if (s == NULL)
        return;
    num_share_free(s->first);
    num_share_free(s->rest);
    num_pairs_free(s->pairs);
    base_arena_fini(&s->arena);
    base_free(s->alloc, s);
}

/* Deadlines of jobs when none of them can run: all that were asked for are given up. */
static shoal_status nobody_runs(struct sched_objective_solver *s,
                                const struct sched_objective_work *w, unsigned uses,
                                struct sched_objective_result *r)
{
    shoal_status st = nothing(s, w, r);
    const double *deadline_s = w->in->deadline_s;
    if (st != SHOAL_OK || (uses & SCHED_OBJECTIVE_USES_DEADLINE) == 0 || deadline_s == NULL)
        return st;
    bool *given_up = base_arena_calloc(&s->arena, w->p.job_count + 1, sizeof *given_up);
    if (given_up == NULL)
        return SHOAL_E_NOMEM;
    for (size_t m = 0; m < w->p.job_count; m++) {
        given_up[m] = deadline_s[m] < INFINITY;
        r->given_up_count += given_up[m];
    }
    r->given_up = r->given_up_count > 0 ? given_up : NULL;
    return SHOAL_OK;
}

shoal_status sched_objective_solve(struct sched_objective_solver *s, enum sched_objective objective,
                                   const struct sched_objective_input *in,
                                   struct sched_objective_result *out, shoal_err *err)
{
    struct sched_objective_work w;
    struct sched_objective_result r = {0};

    shoal_assert((unsigned)objective < SCHED_OBJECTIVE_COUNT);
    const struct method *method = &methods[objective];
    base_arena_clear(&s->arena);
    shoal_status st = sched_objective_check(in, method->uses, &s->arena, err);
    if (st != SHOAL_OK)
        return st;
    bool money = (method->uses & SCHED_OBJECTIVE_USES_USD) != 0;
    if (prepare(s, in, money, &w) != SHOAL_OK)
        return no_memory(err);
    r.priced_unit = sched_objectives[objective].unit;
    if (w.jobs > 0)
        st = method->solve(s, &w, &r);
    else
        st = nobody_runs(s, &w, method->uses, &r);
    if (st != SHOAL_OK)
        return solver_failed(err, st);
    if (in->pair != NULL && w.jobs > 0)
        st = sched_objective_share_gpus(s, objective, &w, &r, err);
    if (st != SHOAL_OK)
        return st;
    r.reached = r.level;
    if (!in->aware && w.jobs > 0 && find_value(s, objective, in, money, &r) != SHOAL_OK)
        return no_memory(err);
    *out = r;
    return SHOAL_OK;
}
