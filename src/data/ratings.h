/* ratings.h - who rated what and how: the known entries of a matrix of users and items, from text.
 *
 * A line is USER ITEM [VALUE [ignored ...]]; the separator is a comma, a tab, "::" or spaces, told
 * by the first line unless the options say. With commas a field may be "quoted ""like"" this". A
 * first line of words ("userId,movieId,rating,timestamp") is a header. Users and items are any
 * names; they become 0, 1, 2, ... in order of appearance, and user_ids and item_ids know what they
 * were. Lines without a third column are a 1 each (implicit feedback); the first line decides for
 * the file. Blank lines are skipped. NaN, infinities and missing fields are errors with file, line
 * and column (the field, from 1). The same user and item again replaces the value: the last one
 * wins, at the place of the first, and `replaced` counts them.
 *
 * The text is read in blocks and never held whole. 12 bytes a rating, and while looking for
 * repetitions about 1 more. Loaded ratings are immutable by convention: any thread may read them.
 * Tests: tests/unit/data/test_ratings.c, tests/fuzz/fuzz_data_ratings.c. */
#ifndef DATA_RATINGS_H
#define DATA_RATINGS_H

#include "data/ids.h"
#include "env/env.h"
#include "num/rating.h"
#include <stdatomic.h>
#include <stdbool.h>

enum data_separator {
    DATA_SEPARATOR_AUTO,
    DATA_SEPARATOR_COMMA,
    DATA_SEPARATOR_TAB,
    DATA_SEPARATOR_COLONS, /* "::" */
    DATA_SEPARATOR_SPACE   /* one or more spaces or tabs */
};

enum data_header { DATA_HEADER_AUTO, DATA_HEADER_YES, DATA_HEADER_NO };

struct data_ratings_opts { /* all zero: the defaults */
    enum data_separator separator;
    enum data_header header;
    /* Names of a known model, borrowed while loading; both or none. Names that are not among them
     * become DATA_ID_NONE, and the result's own user_ids and item_ids stay empty. */
    const struct data_ids *users, *items;
    bool keep_repeated;               /* repetitions stay entries of their own */
    atomic_uint_fast64_t *bytes_done; /* grows while reading, NULL: not wanted */
};

struct data_ratings {
    const struct base_alloc *alloc;
    struct num_rating *rating; /* (count), in the order of the file */
    uint64_t count;
    size_t cap;
    uint32_t users, items; /* how many; with known names: as many as are known */
    struct data_ids user_ids, item_ids;
    uint64_t replaced; /* lines that replaced the value of an earlier one */
    uint64_t unknown;  /* ratings with a DATA_ID_NONE */
    bool valued;       /* the file had a value column */
    bool header;       /* its first line was taken as a header */
};

/* "-" is standard input. opts may be NULL. A file without ratings is an error. On success *out is
 * the caller's, ended by data_ratings_fini; on failure it is untouched. */
SHOAL_MUST_USE shoal_status data_ratings_load(shoal_env *env, const char *path,
                                              const struct data_ratings_opts *opts,
                                              struct data_ratings *out, shoal_err *err);
void data_ratings_fini(struct data_ratings *ratings); /* zeroed is allowed */

#endif
