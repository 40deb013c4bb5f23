/* rating.h - one known entry of a matrix of users and items. */
#ifndef NUM_RATING_H
#define NUM_RATING_H

#include <stdint.h>

struct num_rating {
    uint32_t user, item;
    float value;
};

#endif
