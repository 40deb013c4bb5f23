/* own.h - arrays that a struct of num only lends, seen by the data that owns them. Any thread.
 * Tests: those of its users, tests/unit/data/test_svm.c and test_corpus.c. */
#ifndef DATA_OWN_H
#define DATA_OWN_H

#include "base/alloc.h"
#include <stdbool.h>
#include <stdint.h>

/* The array, which may be changed and freed. */
static inline void *data_own(const void *array)
{
    return (void *)(uintptr_t)array;
}

/* base_reserve for such an array; false: no memory, and nothing has changed. */
static inline bool data_own_reserve(const struct base_alloc *alloc, const void **array, size_t *cap,
                                    size_t count, size_t size)
{
    void *data = data_own(*array);

    if (base_reserve(alloc, &data, cap, count, size) != 0)
        return false;
    *array = data;
    return true;
}

#endif
