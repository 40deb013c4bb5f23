/* tree_rises.h - how a budget runs down a tree of entities (num/share.h), the slow and obvious way:
 * the specification that fillings are compared with. */
#ifndef TESTS_TREE_RISES_H
#define TESTS_TREE_RISES_H

#include "num/share.h"
#include <stdlib.h>
#include <string.h>

static inline uint32_t tree_node_of(const struct num_tree *tree, size_t m)
{
    return tree->job_node != NULL ? tree->job_node[m] : 0;
}

/* Does the node still hold a job that rises? */
static inline bool tree_active(const struct num_tree *tree, size_t job_count, const bool *active,
                               uint32_t node)
{
    for (size_t m = 0; m < job_count; m++)
        for (uint32_t at = tree_node_of(tree, m); active[m] && at != NUM_TREE_NONE;
             at = tree->nodes[at].parent)
            if (at == node)
                return true;
    return false;
}

/* A fair node divides among its members that still hold an active job, by weight, each job of a row
 * counted; a fifo node gives all to the first of them. */
static inline void tree_divide(const struct num_tree *tree, const struct num_share_problem *p,
                               const bool *active, uint32_t node, double rise, double *out_rise)
{
    double weights = 0;
    bool fifo = tree->nodes[node].fifo, given = false;

    for (uint32_t c = node + 1; c < tree->node_count; c++)
        if (tree->nodes[c].parent == node && tree_active(tree, p->job_count, active, c))
            weights += tree->nodes[c].weight;
    for (size_t m = 0; m < p->job_count; m++)
        if (tree_node_of(tree, m) == node && active[m])
            weights += (p->count != NULL ? p->count[m] : 1) *
                       (tree->job_weight != NULL ? tree->job_weight[m] : 1);
    for (uint32_t c = node + 1; c < tree->node_count && !(fifo && given); c++) {
        if (tree->nodes[c].parent != node || !tree_active(tree, p->job_count, active, c))
            continue;
        given = true;
        tree_divide(tree, p, active, c, fifo ? rise : rise * tree->nodes[c].weight / weights,
                    out_rise);
    }
    for (size_t m = 0; m < p->job_count && !(fifo && given); m++) {
        if (tree_node_of(tree, m) != node || !active[m])
            continue;
        given = true;
        double weight = tree->job_weight != NULL ? tree->job_weight[m] : 1;
        out_rise[m] = fifo ? rise : rise * weight / weights;
    }
}

/* out_rise (jobs): how fast each active job rises, in its units, while the root's budget rises at
 * 1. */
static inline void tree_rises(const struct num_tree *tree, const struct num_share_problem *p,
                              const bool *active, double *out_rise)
{
    memset(out_rise, 0, p->job_count * sizeof *out_rise);
    tree_divide(tree, p, active, 0, 1, out_rise);
}

#endif
