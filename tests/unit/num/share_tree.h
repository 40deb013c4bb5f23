/* share_tree.h - random trees of entities over the jobs of a world. */
#ifndef TESTS_SHARE_TREE_H
#define TESTS_SHARE_TREE_H

#include "unit/num/share_world.h"
#include "unit/num/tree_rises.h"

enum { TREE_NODES_MAX = 16 };

struct tree_world {
    struct num_tree tree; /* points into the arrays below */
    struct num_tree_node nodes[TREE_NODES_MAX];
    uint32_t job_node[WORLD_JOBS_MAX];
    double job_weight[WORLD_JOBS_MAX];
};

/* One node, entities below the root, or entities in entities; some of them empty, some fifo (not
 * over rows that stand for several jobs). out_unit (jobs): a job's mean rate per GPU. */
static inline void tree_make(struct tree_world *t, struct world *w, double *out_unit)
{
    struct base_rand *r = &w->rand;
    uint32_t count = 1, leaves[TREE_NODES_MAX], leaf_count = 0,
             depth = (uint32_t)base_rand_below(r, 3);
    bool has_child[TREE_NODES_MAX] = {false};

    if (depth > 0)
        count += 1 + (uint32_t)base_rand_below(r, 5);
    uint32_t entities = count;
    if (depth > 1)
        count += (uint32_t)base_rand_below(r, 8);
    for (uint32_t c = 0; c < count; c++) {
        uint32_t parent = c == 0         ? NUM_TREE_NONE
                          : c < entities ? 0
                                         : 1 + (uint32_t)base_rand_below(r, entities - 1);
        t->nodes[c] =
            (struct num_tree_node){parent, (double)(1 + base_rand_below(r, 4)),
                                   w->family != WORLD_COUNTS && base_rand_below(r, 3) == 0};
        if (c > 0)
            has_child[parent] = true;
    }
    for (uint32_t c = 0; c < count; c++)
        if (!has_child[c])
            leaves[leaf_count++] = c;
    for (size_t m = 0; m < w->p.job_count; m++) {
        double sum = 0;
        for (uint32_t j = 0; j < w->p.kind_count; j++)
            sum += w->rate[m * w->p.kind_count + j];
        out_unit[m] = sum > 0 ? sum / w->p.kind_count / w->gpus[m] : 1;
        t->job_node[m] = leaves[base_rand_below(r, leaf_count)];
        t->job_weight[m] = w->weight[m];
    }
    t->tree = (struct num_tree){t->nodes, count, t->job_node, t->job_weight};
}

#endif
