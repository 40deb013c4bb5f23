/* lasso_kernel.c - the kernels of lasso.h for this machine; their text is lasso_body.inc. */
#include "num/lasso.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define LANES 1
#define NAME  "plain"
#include "num/lasso_lanes.inc"
#include "num/lasso_body.inc"
#undef LANES
#undef NAME

#if defined(__x86_64__)
#define LANES 4
#define NAME  "avx2"
#include "num/lasso_lanes.inc"
#include "num/lasso_body.inc"
#undef LANES
#undef NAME
#define LANES 8
#define NAME  "avx512"
#include "num/lasso_lanes.inc"
#include "num/lasso_body.inc"
#undef LANES
#undef NAME
#endif

const struct num_lasso_ops *num_lasso_ops_find(uint32_t lanes_max)
{
#if defined(__x86_64__)
    if (lanes_max >= 8 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return &ops_avx512;
    if (lanes_max >= 4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &ops_avx2;
#endif
    (void)lanes_max;
    return &ops_plain;
}
