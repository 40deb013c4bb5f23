/* ratings_parts.h - what the files of ratings share. */
#ifndef DATA_RATINGS_PARTS_H
#define DATA_RATINGS_PARTS_H

#include "data/ratings.h"

/* Leaves each user and item once: the last value, at the place of the first. `grouped` says that
 * the ratings of every user stand together. Ratings with a DATA_ID_NONE are left alone. */
SHOAL_MUST_USE shoal_status data_ratings_drop_repeated(struct data_ratings *ratings, bool grouped,
                                                       shoal_err *err);

#endif
