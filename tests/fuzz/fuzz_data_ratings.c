/* Fuzz target: any bytes as ratings. What loads must have dense numbers and no pair twice, and must
 * survive saving. */
#include "base/assert.h"
#include "../data_text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int by_pair(const void *a, const void *b)
{
    const struct num_rating *x = a, *y = b;

    if (x->user != y->user)
        return x->user < y->user ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

static void check_ratings(const struct data_ratings *r)
{
    shoal_assert(r->count > 0 && r->unknown == 0);
    shoal_assert(r->users == r->user_ids.count && r->items == r->item_ids.count);
    for (uint64_t i = 0; i < r->count; i++) {
        const struct num_rating *x = &r->rating[i];
        shoal_assert(x->user < r->users && x->item < r->items && isfinite(x->value));
        shoal_assert(r->valued || x->value == 1.0f);
    }
    struct num_rating *sorted = malloc((size_t)r->count * sizeof *sorted);
    shoal_assert(sorted != NULL);
    memcpy(sorted, r->rating, (size_t)r->count * sizeof *sorted);
    qsort(sorted, (size_t)r->count, sizeof *sorted, by_pair);
    for (uint64_t i = 1; i < r->count; i++)
        shoal_assert(by_pair(&sorted[i - 1], &sorted[i]) != 0);
    free(sorted);
}

static void check_names(const struct data_ids *a, const struct data_ids *b)
{
    shoal_assert(a->count == b->count);
    for (uint32_t i = 0; i < a->count; i++) {
        char abuf[DATA_ID_BUF], bbuf[DATA_ID_BUF];
        size_t asize = 0, bsize = 0;
        const char *aname = data_ids_name(a, i, abuf, &asize);
        const char *bname = data_ids_name(b, i, bbuf, &bsize);
        shoal_assert(asize == bsize && memcmp(aname, bname, asize) == 0);
        shoal_assert(data_ids_find(a, aname, asize) == i);
    }
}

static void check_saved(shoal_env *env, const struct data_ratings *r)
{
    struct data_ratings back = {0};

    shoal_assert(data_text_ratings(env, "s", r) == SHOAL_OK);
    shoal_assert(data_ratings_load(env, "s", NULL, &back, NULL) == SHOAL_OK);
    shoal_assert(back.count == r->count && back.valued == r->valued);
    shoal_assert(memcmp(back.rating, r->rating, (size_t)r->count * sizeof *r->rating) == 0);
    check_names(&r->user_ids, &back.user_ids);
    check_names(&r->item_ids, &back.item_ids);
    data_ratings_fini(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct data_ratings r = {0};
    shoal_env *env = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    shoal_assert(env_sim_put(env, "f", data, size) == SHOAL_OK);
    shoal_status st = data_ratings_load(env, "f", NULL, &r, &err);
    if (st == SHOAL_OK) {
        check_ratings(&r);
        check_saved(env, &r);
    } else {
        shoal_assert(r.alloc == NULL && err.code == st && err.message[0] != '\0');
    }
    data_ratings_fini(&r);
    shoal_env_free(env);
    return 0;
}
