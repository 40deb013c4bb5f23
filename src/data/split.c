/* split.c - see split.h. Selection sampling (Knuth, TAOCP 2, algorithm 3.4.2 S): one pass, exactly
 * as many as asked, whole numbers only. Tests: tests/unit/data/test_split.c. */
#include "data/split.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/rand.h"
#include <string.h>

void data_split_choose(uint64_t count, uint64_t chosen, uint64_t seed, bool *out)
{
    struct base_rand rand;

    shoal_assert(chosen <= count);
    base_rand_init(&rand, seed, "data.split");
    for (uint64_t i = 0; i < count; i++) {
        out[i] = chosen > 0 && base_rand_below(&rand, count - i) < chosen;
        chosen -= out[i];
    }
}

uint64_t data_split_count(uint64_t count, double share)
{
    double wanted = (double)count * share + 0.5;

    if (!(wanted >= 1))
        return 0;
    return wanted >= (double)count ? count : (uint64_t)wanted;
}

static shoal_status check_share(double share, shoal_err *err)
{
    if (share >= 0 && share <= 1)
        return SHOAL_OK;
    return base_err(err, SHOAL_E_INVAL, "the share set aside: expected 0 to 1, found %g", share);
}

/* ---- ratings ---- */

/* Puts back what is the only one of its user or item that training could see. */
static shoal_status keep_known_ones(const struct base_alloc *alloc, const struct num_rating *rating,
                                    uint64_t count, uint32_t users, uint32_t items, bool *aside)
{
    bool *user_seen = base_calloc(alloc, (size_t)users + 1, sizeof *user_seen);
    bool *item_seen = base_calloc(alloc, (size_t)items + 1, sizeof *item_seen);
    bool good = user_seen != NULL && item_seen != NULL;

    for (uint64_t i = 0; good && i < count; i++)
        if (!aside[i] && rating[i].user < users && rating[i].item < items)
            user_seen[rating[i].user] = item_seen[rating[i].item] = true;
    for (uint64_t i = 0; good && i < count; i++) {
        if (!aside[i] || rating[i].user >= users || rating[i].item >= items)
            continue;
        aside[i] = user_seen[rating[i].user] && item_seen[rating[i].item];
        if (!aside[i])
            user_seen[rating[i].user] = item_seen[rating[i].item] = true;
    }
    base_free(alloc, user_seen);
    base_free(alloc, item_seen);
    return good ? SHOAL_OK : SHOAL_E_NOMEM;
}

/* Those set aside wait in `rest` while the others close up. */
static uint64_t part(struct num_rating *rating, uint64_t count, const bool *aside,
                     struct num_rating *rest)
{
    uint64_t kept = 0, waiting = 0;

    for (uint64_t i = 0; i < count; i++)
        if (aside[i])
            rest[waiting++] = rating[i];
        else
            rating[kept++] = rating[i];
    if (waiting > 0)
        memcpy(rating + kept, rest, (size_t)waiting * sizeof *rest);
    return kept;
}

shoal_status data_split_ratings(const struct base_alloc *alloc, struct num_rating *rating,
                                uint64_t count, uint32_t users, uint32_t items, double share,
                                uint64_t seed, bool keep_known, uint64_t *out_train, shoal_err *err)
{
    shoal_status st = check_share(share, err);
    if (st != SHOAL_OK)
        return st;
    uint64_t chosen = data_split_count(count, share);
    bool *aside = base_malloc(alloc, (size_t)count + 1);
    struct num_rating *rest = base_malloc(alloc, ((size_t)chosen + 1) * sizeof *rest);
    st = aside != NULL && rest != NULL ? SHOAL_OK : SHOAL_E_NOMEM;
    if (st == SHOAL_OK) {
        data_split_choose(count, chosen, seed, aside);
        if (keep_known)
            st = keep_known_ones(alloc, rating, count, users, items, aside);
    }
    if (st == SHOAL_OK)
        *out_train = part(rating, count, aside, rest);
    else
        st = base_err_nomem(err, "setting ratings aside");
    base_free(alloc, aside);
    base_free(alloc, rest);
    return st;
}

/* ---- rows ---- */

/* Exactly as much room as the rows with aside[i] == wanted need. */
static bool size_rows(const struct base_alloc *alloc, const struct data_svm *svm, const bool *aside,
                      bool wanted, struct data_svm *out)
{
    const struct num_csr *x = &svm->x;
    size_t rows = 0, entries = 0;

    for (uint64_t i = 0; i < x->rows; i++)
        if (aside[i] == wanted) {
            rows++;
            entries += (size_t)(x->start[i + 1] - x->start[i]);
        }
    data_svm_init(out, alloc);
    out->x.start = base_calloc(alloc, rows + 1, sizeof *x->start);
    out->x.index = base_malloc(alloc, (entries + 1) * sizeof *x->index);
    out->x.value = x->value != NULL ? base_malloc(alloc, (entries + 1) * sizeof *x->value) : NULL;
    out->label = base_malloc(alloc, (rows + 1) * sizeof *out->label);
    out->row_cap = rows + 1;
    out->label_cap = rows + 1;
    out->entry_cap = entries + 1;
    out->value_cap = x->value != NULL ? entries + 1 : 0;
    out->x.columns = x->columns;
    return out->x.start != NULL && out->x.index != NULL && out->label != NULL &&
           (x->value == NULL || out->x.value != NULL);
}

static void copy_row(const struct data_svm *svm, uint64_t row, struct data_svm *out)
{
    const struct num_csr *x = &svm->x;
    uint64_t from = x->start[row], count = x->start[row + 1] - from, to = out->entries;

    if (count > 0) {
        memcpy((uint32_t *)(uintptr_t)out->x.index + to, x->index + from,
               (size_t)count * sizeof *x->index);
        if (x->value != NULL && out->x.value != NULL)
            memcpy((float *)(uintptr_t)out->x.value + to, x->value + from,
                   (size_t)count * sizeof *x->value);
    }
    out->label[out->x.rows++] = svm->label[row];
    out->entries += count;
    ((uint64_t *)(uintptr_t)out->x.start)[out->x.rows] = out->entries;
}

shoal_status data_split_rows(const struct base_alloc *alloc, const struct data_svm *svm,
                             double share, uint64_t seed, struct data_svm *out_train,
                             struct data_svm *out_test, shoal_err *err)
{
    struct data_svm train = {0}, test = {0};
    uint64_t rows = svm->x.rows;

    shoal_status st = check_share(share, err);
    if (st != SHOAL_OK)
        return st;
    bool *aside = base_malloc(alloc, (size_t)rows + 1);
    if (aside != NULL)
        data_split_choose(rows, data_split_count(rows, share), seed, aside);
    if (aside != NULL && size_rows(alloc, svm, aside, false, &train) &&
        size_rows(alloc, svm, aside, true, &test)) {
        for (uint64_t i = 0; i < rows; i++)
            copy_row(svm, i, aside[i] ? &test : &train);
        *out_train = train;
        *out_test = test;
    } else {
        st = base_err_nomem(err, "setting rows aside");
        data_svm_fini(&train);
        data_svm_fini(&test);
    }
    base_free(alloc, aside);
    return st;
}
