/* classes.c - labels as classes: the different ones by a hash table, then sorted. Cost: a probe a
 * row, and a binary search a row for the mapping. Tests: tests/unit/data/test_classes.c. */
#include "base/err.h"
#include "data/svm.h"

#include <stdlib.h>
#include <string.h>

struct table {
    const struct base_alloc *alloc;
    double *label;
    uint32_t count, count_max;
    size_t cap;
    uint32_t *slot; /* 0: empty, else index + 1 */
    size_t slot_count;
};

static uint64_t hash(double label)
{
    uint64_t bits = 0;

    memcpy(&bits, &label, sizeof bits);
    bits *= 0x9E3779B97F4A7C15u;
    return bits ^ bits >> 32;
}

static uint32_t *find_slot(const struct table *t, double label)
{
    size_t mask = t->slot_count - 1;
    size_t at = (size_t)hash(label) & mask;

    while (t->slot[at] != 0 && t->label[t->slot[at] - 1] != label)
        at = (at + 1) & mask;
    return &t->slot[at];
}

static bool grow(struct table *t)
{
    size_t slots = t->slot_count > 0 ? t->slot_count * 2 : 64;
    uint32_t *slot = base_calloc(t->alloc, slots, sizeof *slot);

    if (slot == NULL)
        return false;
    base_free(t->alloc, t->slot);
    t->slot = slot;
    t->slot_count = slots;
    for (uint32_t i = 0; i < t->count; i++)
        *find_slot(t, t->label[i]) = i + 1;
    return true;
}

static shoal_status add(struct table *t, double label, shoal_err *err)
{
    void *data = t->label;
    uint32_t *slot = find_slot(t, label);

    if (*slot != 0)
        return SHOAL_OK;
    if (t->count == t->count_max)
        return base_err(err, SHOAL_E_LIMIT, "more than %u different labels: numbers, not classes?",
                        t->count_max);
    if (base_reserve(t->alloc, &data, &t->cap, (size_t)t->count + 1, sizeof *t->label) != 0)
        return base_err_nomem(err, "collecting labels");
    t->label = data;
    t->label[t->count++] = label;
    *slot = t->count;
    if ((size_t)t->count * 4 > t->slot_count * 3 && !grow(t))
        return base_err_nomem(err, "collecting labels");
    return SHOAL_OK;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

shoal_status data_classes_find(const struct base_alloc *alloc, const double *label, uint64_t rows,
                               uint32_t count_max, struct data_classes *out, shoal_err *err)
{
    struct table t = {.alloc = alloc, .count_max = count_max};
    shoal_status st = grow(&t) ? SHOAL_OK : base_err_nomem(err, "collecting labels");

    for (uint64_t i = 0; i < rows && st == SHOAL_OK; i++)
        if (i == 0 || label[i] != label[i - 1])
            st = add(&t, label[i] + 0.0, err); /* + 0: there is no class -0 */
    base_free(alloc, t.slot);
    if (st != SHOAL_OK) {
        base_free(alloc, t.label);
        return st;
    }
    if (t.count > 1)
        qsort(t.label, t.count, sizeof *t.label, by_value);
    *out = (struct data_classes){.alloc = alloc, .label = t.label, .count = t.count};
    return SHOAL_OK;
}

void data_classes_fini(struct data_classes *classes)
{
    if (classes->alloc != NULL)
        base_free(classes->alloc, classes->label);
    *classes = (struct data_classes){0};
}

uint32_t data_classes_index(const struct data_classes *classes, double label)
{
    uint32_t low = 0, high = classes->count;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (classes->label[mid] < label)
            low = mid + 1;
        else
            high = mid;
    }
    return low < classes->count && classes->label[low] == label ? low : DATA_CLASS_NONE;
}

void data_classes_map(const struct data_classes *classes, const double *label, uint64_t rows,
                      uint32_t *out_class)
{
    for (uint64_t i = 0; i < rows; i++)
        out_class[i] = i > 0 && label[i] == label[i - 1] ? out_class[i - 1]
                                                         : data_classes_index(classes, label[i]);
}
