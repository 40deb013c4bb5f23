/* property.h - how hard a property test should try. */
#ifndef TESTS_PROPERTY_H
#define TESTS_PROPERTY_H

#include <stdlib.h>

/* `count` times SHOAL_TEST_SCALE, which nightly runs set. */
static inline int property_count(int count)
{
    const char *scale = getenv("SHOAL_TEST_SCALE");
    int factor = scale == NULL ? 1 : atoi(scale);
    return factor > 1 ? count * factor : count;
}

#endif
