/* linear_world.h - small random problems for the tests of linear models. */
#ifndef TESTS_LINEAR_WORLD_H
#define TESTS_LINEAR_WORLD_H

#include "base/rand.h"
#include "num/linear.h"
#include <stdbool.h>
#include <string.h>

#ifndef LINEAR_ROWS /* a test that wants more says so first */
#define LINEAR_ROWS 200
#endif

enum {
    ROWS_MAX = LINEAR_ROWS,
    COLUMNS_MAX = 40,
    LANES_MAX = 37,
    ENTRIES_MAX = ROWS_MAX * COLUMNS_MAX
};

struct world {
    struct num_linear p;
    uint64_t start[ROWS_MAX + 1];
    uint32_t index[ENTRIES_MAX];
    float value[ENTRIES_MAX];
    uint32_t label[ROWS_MAX];
    float work[NUM_LINEAR_WORK(LANES_MAX)];
};

/* Each entry is there with probability `fill`; a tenth of the rows are empty. Labels lean on the
 * first columns, so that there is something to learn. */
static inline void world_make(struct world *o, struct base_rand *rand, uint64_t rows,
                              uint32_t columns, uint32_t lanes, double fill, bool plain)
{
    uint64_t e = 0;

    for (uint64_t i = 0; i < rows; i++) {
        double lean = 0;
        o->start[i] = e;
        bool empty = base_rand_unit(rand) < 0.1;
        for (uint32_t j = 0; j < columns && !empty; j++) {
            if (base_rand_unit(rand) >= fill)
                continue;
            o->index[e] = j;
            o->value[e] = plain ? 1.0f : (float)base_rand_normal(rand, 0, 1);
            lean += (double)o->value[e] * (j % 3 == 0 ? 1 : -0.7);
            e++;
        }
        o->label[i] = lean + base_rand_normal(rand, 0, 1) > 0
                          ? 0
                          : (uint32_t)base_rand_below(rand, lanes == 1 ? 2 : lanes);
    }
    o->start[rows] = e;
    o->p = (struct num_linear){
        .x = {rows, columns, o->start, o->index, plain ? NULL : o->value},
        .label = o->label,
        .lanes = lanes,
        .cost = 0.5f,
    };
}

static inline void world_weights(struct base_rand *rand, size_t size, float *w)
{
    for (size_t i = 0; i < size; i++)
        w[i] = (float)base_rand_normal(rand, 0, 0.3);
}

#endif
