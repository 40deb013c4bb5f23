/* data_world.h - a simulated world with files of text, for tests of src/data. */
#ifndef TESTS_DATA_WORLD_H
#define TESTS_DATA_WORLD_H

#include "data_save.h"
#include "env_world.h"

#include "data_text.h"
#include <stdio.h>
#include <stdlib.h>

static inline void assert_same_svm(const struct data_svm *a, const struct data_svm *b)
{
    size_t entries = (size_t)a->entries;

    assert_true(a->x.rows == b->x.rows && a->entries == b->entries);
    assert_int_equal(a->x.columns, b->x.columns);
    assert_memory_equal(a->x.start, b->x.start, ((size_t)a->x.rows + 1) * sizeof *a->x.start);
    assert_memory_equal(a->label, b->label, (size_t)a->x.rows * sizeof *a->label);
    if (entries > 0)
        assert_memory_equal(a->x.index, b->x.index, entries * sizeof *a->x.index);
    assert_int_equal(a->x.value == NULL, b->x.value == NULL);
    if (entries > 0 && a->x.value != NULL)
        assert_memory_equal(a->x.value, b->x.value, entries * sizeof *a->x.value);
}

static inline void assert_same_ids(const struct data_ids *a, const struct data_ids *b)
{
    assert_int_equal(a->count, b->count);
    for (uint32_t i = 0; i < a->count; i++) {
        char abuf[DATA_ID_BUF], bbuf[DATA_ID_BUF];
        size_t asize = 0, bsize = 0;
        const char *aname = data_ids_name(a, i, abuf, &asize);
        const char *bname = data_ids_name(b, i, bbuf, &bsize);
        assert_int_equal(asize, bsize);
        assert_memory_equal(aname, bname, asize);
    }
}

static inline void assert_same_ratings(const struct data_ratings *a, const struct data_ratings *b)
{
    assert_true(a->count == b->count);
    assert_int_equal(a->users, b->users);
    assert_int_equal(a->items, b->items);
    assert_int_equal(a->valued, b->valued);
    assert_memory_equal(a->rating, b->rating, (size_t)a->count * sizeof *a->rating);
    assert_same_ids(&a->user_ids, &b->user_ids);
    assert_same_ids(&a->item_ids, &b->item_ids);
}

#endif
