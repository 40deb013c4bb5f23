/* lda_work.h - work memory of a thread that samples topics, and keys of its random numbers; private to
 * lda.c and lda_score.c. */
#ifndef NUM_LDA_WORK_H
#define NUM_LDA_WORK_H

#include "num/lda.h"

struct num_lda_work {
    uint32_t topics, stride, strip_max, segment_max;
    const float *inverse; /* whose values `packed` holds */
    uint32_t *packed;     /* (stride): inverse, and in its low bits a count, 0 between segments */
    uint32_t *count[2];   /* (stride): 0 between segments; in turn, so that an add need not wait */
    float *weight;        /* (stride) */
    uint32_t *z, *proposal[NUM_LDA_STEPS_MAX], *from, *to; /* one chunk and some lanes */
    uint32_t *next;                                        /* (segment_max) and some lanes */
    void *records;                                         /* (strip_max) */
};

static inline uint64_t num_lda_mixed(uint64_t x)
{
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
    x = (x ^ x >> 27) * 0x94d049bb133111ebU;
    return x ^ x >> 31;
}

#endif
