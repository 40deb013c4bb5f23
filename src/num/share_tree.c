/* share_tree.c - how a budget runs down a tree of entities.
 *
 * Each job has a cap, the most it can have, in units of its own. A fair node gives its members in
 * proportion to weight, up to their caps (a node's cap is the sum of its members'), and what one
 * cannot take goes to the others; a fifo node serves them in order. So the levels of all jobs
 * follow from one number, the budget of the root, and rise with it. Cost: O(jobs) per budget, after
 * one sort per set of caps. */
#include "num/share_core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A member of a node: a job or a node, with its weight, the weights of itself and those after it,
 * and its cap. Rows that stand for several jobs have weight and cap of all of them. */
struct share_member {
    double weight, rest, cap;
    uint32_t index;
};

void num_share_tree_free(const struct base_alloc *alloc, struct share_tree *t)
{
    base_free(alloc, t->members);
    base_free(alloc, t->first);
    base_free(alloc, t->node_cap);
    base_free(alloc, t->budget);
    base_free(alloc, t->leaf);
    base_free(alloc, t->cap);
    base_free(alloc, t->level);
}

static uint32_t node_of(const struct num_tree *tree, size_t job)
{
    return tree->job_node == NULL ? 0 : tree->job_node[job];
}

static bool valid(const struct num_tree *tree, size_t jobs, const double *unit)
{
    if (tree->node_count < 1 || tree->nodes[0].parent != NUM_TREE_NONE)
        return false;
    for (uint32_t i = 0; i < tree->node_count; i++)
        if (!(tree->nodes[i].weight > 0) || !isfinite(tree->nodes[i].weight) ||
            (i > 0 && tree->nodes[i].parent >= i))
            return false;
    for (size_t m = 0; m < jobs; m++) {
        double weight = tree->job_weight == NULL ? 1 : tree->job_weight[m];
        if (!(weight > 0) || !isfinite(weight) || !(unit[m] > 0) || !isfinite(unit[m]) ||
            node_of(tree, m) >= tree->node_count)
            return false;
    }
    return true;
}

shoal_status num_share_tree_set(const struct base_alloc *alloc, struct share_tree *t,
                                const struct num_tree *shape, size_t jobs, const double *unit)
{
    if (!valid(shape, jobs, unit))
        return SHOAL_E_INVAL;
    size_t nodes = shape->node_count;
    if (base_reserve(alloc, (void **)&t->members, &t->member_cap, jobs + nodes + 1,
                     sizeof *t->members) != 0 ||
        base_reserve(alloc, (void **)&t->first, &t->first_cap, nodes + 2, sizeof *t->first) != 0 ||
        base_reserve(alloc, (void **)&t->node_cap, &t->node_cap_cap, nodes, sizeof *t->node_cap) !=
            0 ||
        base_reserve(alloc, (void **)&t->budget, &t->budget_cap, nodes, sizeof *t->budget) != 0 ||
        base_reserve(alloc, (void **)&t->leaf, &t->leaf_cap, nodes, sizeof *t->leaf) != 0 ||
        base_reserve(alloc, (void **)&t->cap, &t->cap_cap, jobs + 1, sizeof *t->cap) != 0 ||
        base_reserve(alloc, (void **)&t->level, &t->level_cap, jobs + 1, sizeof *t->level) != 0)
        return SHOAL_E_NOMEM;
    t->shape = shape;
    memset(t->level, 0, jobs * sizeof *t->level);
    memset(t->leaf, 0, nodes * sizeof *t->leaf);
    for (size_t m = 0; m < jobs; m++)
        t->leaf[node_of(shape, m)] = true;
    for (uint32_t i = 1; i < nodes; i++)
        if (t->leaf[shape->nodes[i].parent])
            return SHOAL_E_INVAL; /* nodes and jobs in one node */
    return SHOAL_OK;
}

static int rising(const void *a, const void *b)
{
    const struct share_member *x = a, *y = b;
    double p = x->cap * y->weight, q = y->cap * x->weight;

    if (p != q)
        return p < q ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

double num_share_tree_gather(struct share_tree *t, const struct num_share_problem *p)
{
    size_t jobs = p->job_count;
    const struct num_tree *tree = t->shape;
    uint32_t nodes = tree->node_count;

    memset(t->first, 0, (nodes + 2) * sizeof *t->first);
    memset(t->node_cap, 0, nodes * sizeof *t->node_cap);
    for (size_t m = 0; m < jobs; m++)
        t->first[node_of(tree, m) + 2]++;
    for (uint32_t i = 1; i < nodes; i++)
        t->first[tree->nodes[i].parent + 2]++;
    for (uint32_t i = 0; i < nodes; i++)
        t->first[i + 2] += t->first[i + 1];
    for (size_t m = 0; m < jobs; m++) {
        uint32_t at = node_of(tree, m);
        double count = share_count(p, m);
        t->members[t->first[at + 1]++] = (struct share_member){
            .weight = count * (tree->job_weight == NULL ? 1 : tree->job_weight[m]),
            .cap = count * t->cap[m],
            .index = (uint32_t)m};
        t->node_cap[at] += count * t->cap[m];
    }
    for (uint32_t i = nodes; i-- > 1;) /* children come after their parents */
        t->node_cap[tree->nodes[i].parent] += t->node_cap[i];
    for (uint32_t i = 1; i < nodes; i++)
        t->members[t->first[tree->nodes[i].parent + 1]++] = (struct share_member){
            .weight = tree->nodes[i].weight, .cap = t->node_cap[i], .index = i};
    /* first[i + 1] has moved to the end of node i: it is the first of node i + 1. */
    for (uint32_t i = 0; i < nodes; i++) {
        struct share_member *m = t->members + t->first[i];
        size_t count = t->first[i + 1] - t->first[i];
        double rest = 0;
        if (!tree->nodes[i].fifo)
            qsort(m, count, sizeof *m, rising);
        while (count-- > 0)
            m[count].rest = rest += m[count].weight;
    }
    return t->node_cap[0];
}

void num_share_tree_pour(struct share_tree *t, const struct num_share_problem *p, double budget)
{
    const struct num_tree *tree = t->shape;

    t->budget[0] = budget;
    for (uint32_t i = 0; i < tree->node_count; i++) {
        const struct share_member *m = t->members + t->first[i],
                                  *end = t->members + t->first[i + 1];
        double left = t->budget[i], *to = t->leaf[i] ? t->level : t->budget;
        bool fifo = tree->nodes[i].fifo;
        for (; m < end; m++) {
            double part = fifo ? left : left * (m->weight / m->rest);
            double got = part < m->cap ? part : m->cap;
            to[m->index] = got;
            left = left > got ? left - got : 0;
        }
    }
    for (size_t m = 0; p->count != NULL && m < p->job_count; m++) {
        double each = t->level[m] / p->count[m];
        t->level[m] = each < t->cap[m] ? each : t->cap[m];
    }
}
