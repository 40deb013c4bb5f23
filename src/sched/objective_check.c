/* objective_check.c - are the arrays of an objective what objective.h says they are?
 *
 * Everything is looked at once, before anything is solved. Positive values must lie between 1e-60
 * and 1e60: products and ratios of three of them are then still numbers. */
#include "sched/objective_parts.h"

#include "base/err.h"

#include <math.h>

static const double SMALLEST = 1e-60, LARGEST = 1e60;

static bool positive(double v)
{
    return v >= SMALLEST && v <= LARGEST;
}

static bool zero_or_positive(double v)
{
    return v == 0 || positive(v);
}

static shoal_status bad_job(shoal_err *err, size_t job, const char *field, double value,
                            const char *wanted)
{
    return base_err(err, SHOAL_E_INVAL, "job %zu: %s is %g; it must be %s", job, field, value,
                    wanted);
}

static const char wants_positive[] = "between 1e-60 and 1e60";
static const char wants_zero_or_positive[] = "0 or between 1e-60 and 1e60";

/* values (count) > 0, or >= 0; NULL is fine. */
static shoal_status check_jobs(const double *values, size_t count, const char *field,
                               bool zero_allowed, shoal_err *err)
{
    if (values == NULL)
        return SHOAL_OK;
    for (size_t m = 0; m < count; m++) {
        if (!(positive(values[m]) || (zero_allowed && values[m] == 0)))
            return bad_job(err, m, field, values[m],
                           zero_allowed ? wants_zero_or_positive : wants_positive);
    }
    return SHOAL_OK;
}

static shoal_status check_kinds(const struct num_share_problem *p, shoal_err *err)
{
    if (p->kind_count < 1 || p->kind_count > NUM_KINDS_MAX)
        return base_err(err, SHOAL_E_INVAL, "%u kinds of GPU; there must be 1 to %d", p->kind_count,
                        NUM_KINDS_MAX);
    for (uint32_t k = 0; k < p->kind_count; k++) {
        if (!zero_or_positive(p->capacity[k]))
            return base_err(err, SHOAL_E_INVAL, "kind %u: %g GPUs; it must be %s", k,
                            p->capacity[k], wants_zero_or_positive);
    }
    return SHOAL_OK;
}

static shoal_status check_rates(const struct num_share_problem *p, shoal_err *err)
{
    for (size_t i = 0; i < p->job_count * p->kind_count; i++) {
        if (!zero_or_positive(p->rate[i]))
            return base_err(err, SHOAL_E_INVAL, "job %zu: speed on kind %zu is %g; it must be %s",
                            i / p->kind_count, i % p->kind_count, p->rate[i],
                            wants_zero_or_positive);
    }
    return SHOAL_OK;
}

static shoal_status check_problem(const struct num_share_problem *p, shoal_err *err)
{
    shoal_status st = check_kinds(p, err);
    if (st != SHOAL_OK || p->job_count == 0)
        return st;
    if (p->job_count > UINT32_MAX - 1)
        return base_err(err, SHOAL_E_INVAL, "%zu jobs are more than can be told apart",
                        p->job_count);
    if (p->rate == NULL || p->gpus == NULL)
        return base_err(err, SHOAL_E_INVAL, "%s of the jobs are missing",
                        p->rate == NULL ? "speeds" : "gang sizes");
    st = check_rates(p, err);
    if (st == SHOAL_OK)
        st = check_jobs(p->gpus, p->job_count, "its number of GPUs", false, err);
    if (st == SHOAL_OK)
        st = check_jobs(p->count, p->job_count, "how many jobs it stands for", false, err);
    return st;
}

static shoal_status check_deadlines(const struct sched_objective_input *in, shoal_err *err)
{
    for (size_t m = 0; in->deadline_s != NULL && m < in->problem.job_count; m++) {
        if (isnan(in->deadline_s[m]))
            return bad_job(err, m, "time to its deadline", in->deadline_s[m],
                           "a number, or infinite for none");
    }
    return SHOAL_OK;
}

static shoal_status check_usd(const struct sched_objective_input *in, shoal_err *err)
{
    if (in->usd_h == NULL)
        return base_err(err, SHOAL_E_INVAL, "this objective needs the price of each kind of GPU");
    for (uint32_t k = 0; k < in->problem.kind_count; k++) {
        if (!positive(in->usd_h[k]))
            return base_err(err, SHOAL_E_INVAL, "kind %u: its price is %g; it must be %s", k,
                            in->usd_h[k], wants_positive);
    }
    return SHOAL_OK;
}

static shoal_status check_nodes(const struct num_tree *t, shoal_err *err)
{
    if (t->nodes == NULL)
        return base_err(err, SHOAL_E_INVAL, "the entities are missing");
    for (uint32_t i = 0; i < t->node_count; i++) {
        const struct num_tree_node *node = &t->nodes[i];
        if (!positive(node->weight))
            return base_err(err, SHOAL_E_INVAL, "entity %u: weight is %g; it must be %s", i,
                            node->weight, wants_positive);
        if (i == 0 && node->parent != NUM_TREE_NONE)
            return base_err(err, SHOAL_E_INVAL, "entity 0 is the root and can have no parent");
        if (i > 0 && node->parent >= i)
            return base_err(err, SHOAL_E_INVAL,
                            "entity %u: its parent must be an entity listed before it", i);
    }
    return SHOAL_OK;
}

static shoal_status check_tree(const struct sched_objective_input *in, struct base_arena *arena,
                               shoal_err *err)
{
    const struct num_tree *t = &in->tree;
    size_t jobs = in->problem.job_count;
    if (t->node_count == 0)
        return SHOAL_OK;
    shoal_status st = check_nodes(t, err);
    if (st == SHOAL_OK)
        st = check_jobs(t->job_weight, jobs, "weight in its entity", false, err);
    if (st != SHOAL_OK)
        return st;
    bool *inner = base_arena_calloc(arena, t->node_count, sizeof *inner);
    if (inner == NULL)
        return base_err_nomem(err, "reading entities");
    for (uint32_t i = 1; i < t->node_count; i++)
        inner[t->nodes[i].parent] = true;
    for (size_t m = 0; m < jobs; m++) {
        uint32_t node = t->job_node == NULL ? 0 : t->job_node[m];
        if (node >= t->node_count)
            return base_err(err, SHOAL_E_INVAL, "job %zu: entity %u does not exist, there are %u",
                            m, node, t->node_count);
        if (inner[node])
            return base_err(err, SHOAL_E_INVAL,
                            "job %zu: entity %u holds entities, so it can hold no jobs", m, node);
        if (t->job_weight != NULL && in->weight != NULL && t->job_weight[m] != in->weight[m])
            return base_err(err, SHOAL_E_INVAL,
                            "job %zu: weight %g contradicts weight %g in its entity", m,
                            in->weight[m], t->job_weight[m]);
    }
    return SHOAL_OK;
}

/* Jobs of a class must be alike, or a group of them would mean nothing: job m is compared with
 * `like`, the first of its class. */
static shoal_status check_class(const struct sched_objective_input *in, size_t m, size_t like,
                                shoal_err *err)
{
    const struct num_share_problem *p = &in->problem;
    bool same = p->gpus[m] == p->gpus[like];
    for (uint32_t k = 0; k < p->kind_count; k++)
        same = same && p->rate[m * p->kind_count + k] == p->rate[like * p->kind_count + k];
    if (!same)
        return base_err(err, SHOAL_E_INVAL,
                        "jobs %zu and %zu are both of class %u but differ in speed or GPUs", like,
                        m, in->class_of[m]);
    return SHOAL_OK;
}

enum { CLASSES_MAX = NUM_PAIRS_GROUPS_MAX };

static shoal_status check_pairs(const struct sched_objective_input *in, shoal_err *err)
{
    size_t first[CLASSES_MAX];
    size_t jobs = in->problem.job_count;
    if (in->pair == NULL || jobs == 0)
        return SHOAL_OK;
    if (in->class_of == NULL)
        return base_err(err, SHOAL_E_INVAL, "sharing needs the class of each job");
    if (in->problem.count != NULL)
        return base_err(err, SHOAL_E_INVAL, "with sharing each row must stand for one job");
    if (in->class_count > CLASSES_MAX)
        return base_err(err, SHOAL_E_LIMIT, "%u classes of jobs are to share; at most %d can",
                        in->class_count, CLASSES_MAX);
    for (uint32_t c = 0; c < in->class_count; c++)
        first[c] = jobs;
    for (size_t m = 0; m < jobs; m++) {
        if (in->class_of[m] >= in->class_count)
            return base_err(err, SHOAL_E_INVAL, "job %zu: class %u does not exist, there are %u", m,
                            in->class_of[m], in->class_count);
        size_t *like = &first[in->class_of[m]];
        if (*like == jobs)
            *like = m;
        shoal_status st = check_class(in, m, *like, err);
        if (st != SHOAL_OK)
            return st;
    }
    size_t square = (size_t)in->class_count * in->class_count;
    for (size_t i = 0; i < in->problem.kind_count * square; i++) {
        if (!(in->pair[i] >= 0 && isfinite(in->pair[i])))
            return base_err(err, SHOAL_E_INVAL,
                            "class %zu: speed beside class %zu on kind %zu is %g; it must be 0 or "
                            "more",
                            i % square / in->class_count, i % in->class_count, i / square,
                            (double)in->pair[i]);
    }
    return SHOAL_OK;
}

shoal_status sched_objective_check(const struct sched_objective_input *in, unsigned uses,
                                   struct base_arena *arena, shoal_err *err)
{
    size_t jobs = in->problem.job_count;
    if ((uses & SCHED_OBJECTIVE_USES_DEADLINE) != 0 && in->deadline_s == NULL)
        uses &= ~(unsigned)SCHED_OBJECTIVE_USES_LEFT;
    shoal_status st = check_problem(&in->problem, err);
    if (st == SHOAL_OK)
        st = check_jobs(in->weight, jobs, "weight", false, err);
    if (st == SHOAL_OK && (uses & SCHED_OBJECTIVE_USES_LEFT) != 0 && in->left == NULL && jobs > 0)
        st = base_err(err, SHOAL_E_INVAL, "this objective needs the steps each job has left");
    if (st == SHOAL_OK && (uses & SCHED_OBJECTIVE_USES_LEFT) != 0)
        st = check_jobs(in->left, jobs, "steps left", false, err);
    if (st == SHOAL_OK && (uses & SCHED_OBJECTIVE_USES_SINCE) != 0)
        st = check_jobs(in->since_s, jobs, "time since arrival", true, err);
    if (st == SHOAL_OK && (uses & SCHED_OBJECTIVE_USES_SINCE) != 0)
        st = check_jobs(in->alone_s, jobs, "time on a share of its own", true, err);
    if (st == SHOAL_OK && (uses & SCHED_OBJECTIVE_USES_DEADLINE) != 0)
        st = check_deadlines(in, err);
    if (st == SHOAL_OK && (uses & SCHED_OBJECTIVE_USES_USD) != 0)
        st = check_usd(in, err);
    if (st == SHOAL_OK && (uses & SCHED_OBJECTIVE_USES_TREE) != 0)
        st = check_tree(in, arena, err);
    if (st == SHOAL_OK)
        st = check_pairs(in, err);
    return st;
}
