/* ratings_repeat.c - finding the same user and item twice among any number of ratings.
 *
 * Where a user's ratings stand together, one array with a place per item tells: where the item was
 * last seen and of whom, which counts when that was the same user. So ratings are read in their
 * order, also where they lie on a disk. Where they do not stand together, users are taken in
 * batches of about an eighth of the ratings, whose places are first collected by user. Nothing is
 * ever reset. A repetition is marked by a NaN, which no file can hold, and squeezed out at the end.
 * Cost: at most nine passes. Workspace: 16 bytes an item, 12 a user, 1 a rating. Tests:
 * tests/unit/data/test_ratings.c. */
#include "data/ratings_parts.h"

#include "base/assert.h"
#include "base/err.h"
#include <math.h>

enum { BATCHES = 8, BATCH_MIN = 1 << 16 };

struct sighting {
    uint64_t place; /* + 1; 0: none */
    uint32_t user;
};

struct work {
    const struct base_alloc *alloc;
    struct data_ratings *ratings;
    struct sighting *seen; /* (items) the last one */
    uint64_t *start;       /* (users + 1) while collecting */
    uint64_t *places;      /* of the batch, by user */
};

static bool is_known(const struct num_rating *r)
{
    return r->user != DATA_ID_NONE && r->item != DATA_ID_NONE;
}

static void look_at(struct work *w, uint64_t place)
{
    struct num_rating *rating = &w->ratings->rating[place];
    struct sighting *seen = &w->seen[rating->item];

    if (seen->place != 0 && seen->user == rating->user) {
        w->ratings->rating[seen->place - 1].value = rating->value;
        rating->value = NAN;
        w->ratings->replaced++;
    } else {
        *seen = (struct sighting){place + 1, rating->user};
    }
}

/* Collects the places of users [from, to) in `places`, where user u has start[u] - start[from]. */
static void collect(struct work *w, uint32_t from, uint32_t to)
{
    const struct data_ratings *ratings = w->ratings;
    uint64_t first = w->start[from];

    for (uint64_t i = 0; i < ratings->count; i++) {
        const struct num_rating *r = &ratings->rating[i];
        if (is_known(r) && r->user >= from && r->user < to)
            w->places[w->start[r->user]++ - first] = i;
    }
}

/* start[u] is where the ratings of user u begin when sorted by user; returns the most of one
 * user. */
static uint64_t count_users(struct work *w)
{
    const struct data_ratings *ratings = w->ratings;
    uint64_t sum = 0, most = 0;

    for (uint64_t i = 0; i < ratings->count; i++)
        if (is_known(&ratings->rating[i]))
            w->start[ratings->rating[i].user]++;
    for (uint32_t u = 0; u <= ratings->users; u++) {
        uint64_t count = w->start[u];
        w->start[u] = sum;
        sum += count;
        most = count > most ? count : most;
    }
    return most;
}

static shoal_status by_batches(struct work *w)
{
    uint32_t users = w->ratings->users;

    w->start = base_calloc(w->alloc, (size_t)users + 1, sizeof *w->start);
    if (w->start == NULL)
        return SHOAL_E_NOMEM;
    uint64_t most = count_users(w), batch = w->ratings->count / BATCHES + BATCH_MIN;
    batch = most > batch ? most : batch;
    w->places = base_malloc(w->alloc, (size_t)batch * sizeof *w->places);
    if (w->places == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t from = 0, to = 0; from < users; from = to) {
        uint64_t first = w->start[from];
        while (to < users && w->start[to + 1] - first <= batch)
            to++;
        uint64_t count = w->start[to] - first;
        shoal_assert(to > from);
        collect(w, from, to);
        for (uint64_t i = 0; i < count; i++)
            look_at(w, w->places[i]);
    }
    return SHOAL_OK;
}

static void squeeze(struct data_ratings *ratings)
{
    uint64_t kept = 0;

    for (uint64_t i = 0; i < ratings->count; i++)
        if (!isnan(ratings->rating[i].value))
            ratings->rating[kept++] = ratings->rating[i];
    ratings->count = kept;
}

shoal_status data_ratings_drop_repeated(struct data_ratings *ratings, bool grouped, shoal_err *err)
{
    struct work w = {.alloc = ratings->alloc, .ratings = ratings};
    shoal_status st = SHOAL_OK;

    w.seen = base_calloc(w.alloc, (size_t)ratings->items + 1, sizeof *w.seen);
    if (w.seen == NULL) {
        st = SHOAL_E_NOMEM;
    } else if (grouped) {
        for (uint64_t i = 0; i < ratings->count; i++)
            if (is_known(&ratings->rating[i]))
                look_at(&w, i);
    } else {
        st = by_batches(&w);
    }
    base_free(w.alloc, w.seen);
    base_free(w.alloc, w.start);
    base_free(w.alloc, w.places);
    if (st != SHOAL_OK)
        return base_err_nomem(err, "looking for repeated ratings");
    if (ratings->replaced > 0)
        squeeze(ratings);
    return SHOAL_OK;
}
