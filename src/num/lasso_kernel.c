/* lasso_kernel.c - the kernels of lasso.h for this machine; their text is lasso_body.inc. */
#include "num/lasso.h"

#define LANES_TEXT  "num/lasso_body.inc"
#define LANES_BYTES 8
#include "num/lanes.inc"

const struct num_lasso_ops *num_lasso_ops_find(uint32_t lanes_max)
{
    return LANES_FIND(&ops, lanes_max);
}
