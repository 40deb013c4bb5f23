/* mf_plan.c - where users and items go, and what is known of them before training.
 *
 * Slots. Ids are dealt by their ratings, most first, each to the part that has fewest so far and a
 * free slot. Parts get nearly equally many ratings; the first slots of a part are its busiest, so
 * that the rows most used lie together.
 *
 * Biases. One sweep of regularised means: of each item, then of each user with the item's taken
 * off. Factors make up for what further sweeps would change. Two passes over the ratings in all:
 * the variance of the rest follows from sums of the second.
 *
 * Tests: tests/unit/num/test_mf_plan.c. */
#include "num/mf.h"

#include "base/err.h"
#include <math.h>
#include <string.h>

/* A bias counts as if so many more ratings had none. */
static const double BIAS_WEIGHT = 5;
/* Ratings at which a row's rate begins to fall. */
static const float RATE_COUNT = 30;
/* Mean squared length of first rows. */
static const double INIT_SQUARE = 0.24;

/* ---- what the ratings say, by id ---- */

struct tally {
    uint32_t *user_count, *item_count;
    double *user_sum, *item_sum; /* then biases */
    double mean, scale;
};

static void tally_fini(const struct base_alloc *alloc, struct tally *t)
{
    base_free(alloc, t->user_count);
    base_free(alloc, t->item_count);
    base_free(alloc, t->user_sum);
    base_free(alloc, t->item_sum);
}

static bool tally_init(const struct base_alloc *alloc, const struct num_mf_shape *shape,
                       struct tally *t)
{
    *t = (struct tally){.scale = 1};
    t->user_count = base_calloc(alloc, shape->users, sizeof *t->user_count);
    t->item_count = base_calloc(alloc, shape->items, sizeof *t->item_count);
    t->user_sum = base_calloc(alloc, shape->users, sizeof *t->user_sum);
    t->item_sum = base_calloc(alloc, shape->items, sizeof *t->item_sum);
    return t->user_count != NULL && t->item_count != NULL && t->user_sum != NULL &&
           t->item_sum != NULL;
}

static shoal_status tally_count(struct tally *t, const struct num_mf_shape *shape,
                                const struct num_rating *rating, size_t count, shoal_err *err)
{
    double sum = 0;

    for (size_t x = 0; x < count; x++) {
        struct num_rating r = rating[x];
        if (r.user >= shape->users || r.item >= shape->items || !isfinite(r.value))
            return base_err(err, SHOAL_E_INVAL,
                            "rating %zu (user %u, item %u, value %g) is out of range", x, r.user,
                            r.item, (double)r.value);
        t->user_count[r.user]++;
        t->item_count[r.item]++;
        t->item_sum[r.item] += (double)r.value;
        sum += (double)r.value;
    }
    t->mean = count > 0 ? sum / (double)count : 0;
    return SHOAL_OK;
}

/* Sums become biases; scale: of what is left. */
static void tally_center(struct tally *t, const struct num_mf_shape *shape,
                         const struct num_rating *rating, size_t count)
{
    double square = 0, weight = shape->bias ? BIAS_WEIGHT : INFINITY;

    for (uint32_t i = 0; i < shape->items; i++)
        t->item_sum[i] =
            (t->item_sum[i] - t->item_count[i] * t->mean) / (t->item_count[i] + weight);
    for (size_t x = 0; x < count; x++) {
        struct num_rating r = rating[x];
        double rest = (double)r.value - t->mean - t->item_sum[r.item];
        t->user_sum[r.user] += rest;
        square += rest * rest;
    }
    for (uint32_t u = 0; u < shape->users; u++) {
        double sum = t->user_sum[u], bias = sum / (t->user_count[u] + weight);
        square += t->user_count[u] * bias * bias - 2 * bias * sum;
        t->user_sum[u] = bias;
    }
    double variance = count > 0 ? square / (double)count : 0;
    t->scale = variance > 1e-12 * (1 + t->mean * t->mean) ? sqrt(variance) : 1;
}

static void tally_raw(struct tally *t, const struct num_mf_shape *shape)
{
    t->mean = 0;
    memset(t->user_sum, 0, shape->users * sizeof *t->user_sum);
    memset(t->item_sum, 0, shape->items * sizeof *t->item_sum);
}

/* ---- dealing ids to parts ---- */

struct load {
    uint64_t ratings;
    uint32_t part, ids;
};

static bool lighter(const struct load *a, const struct load *b)
{
    return a->ratings != b->ratings ? a->ratings < b->ratings : a->part < b->part;
}

/* heap (count): the lightest on top, but for heap[0], which goes where it belongs. */
static void sink(struct load *heap, uint32_t count)
{
    struct load top = heap[0];
    uint32_t at = 0;

    for (uint32_t child = 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && lighter(&heap[child + 1], &heap[child]))
            child++;
        if (!lighter(&heap[child], &top))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = top;
}

/* Ids by count, most first, equal ones in their order: four passes of radix sort. */
static void sort_ids(const uint32_t *count, uint32_t ids, uint32_t *order, uint32_t *spare)
{
    uint32_t *from = order, *to = spare;

    for (uint32_t i = 0; i < ids; i++)
        from[i] = i;
    for (uint32_t shift = 0; shift < 32; shift += 8) {
        uint32_t at[257] = {0};
        for (uint32_t i = 0; i < ids; i++)
            at[1 + (~count[i] >> shift & 255)]++;
        for (uint32_t k = 0; k < 256; k++)
            at[k + 1] += at[k];
        for (uint32_t i = 0; i < ids; i++)
            to[at[~count[from[i]] >> shift & 255]++] = from[i];
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
}

/* Slots of `ids` ids in `parts` parts; load (parts), order and spare (ids) are workspace. */
static void deal(const uint32_t *count, uint32_t ids, uint32_t parts, uint32_t slots,
                 struct load *load, uint32_t *order, uint32_t *spare, uint32_t *out_slot)
{
    uint32_t open = parts; /* those with a free slot, a heap */

    sort_ids(count, ids, order, spare);
    for (uint32_t p = 0; p < parts; p++)
        load[p] = (struct load){0, p, 0};
    for (uint32_t k = 0; k < ids; k++) {
        uint32_t id = order[k];
        out_slot[id] = load[0].part * slots + load[0].ids++;
        load[0].ratings += count[id];
        if (load[0].ids == slots)
            load[0] = load[--open];
        sink(load, open);
    }
}

static shoal_status place(const struct base_alloc *alloc, const uint32_t *count, uint32_t ids,
                          uint32_t parts, uint32_t slots, uint32_t *out_slot, shoal_err *err)
{
    struct load *load = base_calloc(alloc, parts, sizeof *load);
    uint32_t *order = base_calloc(alloc, ids, sizeof *order);
    uint32_t *spare = base_calloc(alloc, ids, sizeof *spare);
    shoal_status st = SHOAL_OK;

    if (load == NULL || order == NULL || spare == NULL)
        st = base_err_nomem(err, "placing users and items");
    else
        deal(count, ids, parts, slots, load, order, spare, out_slot);
    base_free(alloc, load);
    base_free(alloc, order);
    base_free(alloc, spare);
    return st;
}

/* ---- plan ---- */

void num_mf_plan_free(struct num_mf_plan *plan)
{
    if (plan == NULL)
        return;
    struct base_alloc alloc = plan->alloc;
    base_free(&alloc, plan->user_slot);
    base_free(&alloc, plan->item_slot);
    base_free(&alloc, plan->slot_user);
    base_free(&alloc, plan->slot_item);
    base_free(&alloc, plan->user_count);
    base_free(&alloc, plan->item_count);
    base_free(&alloc, plan->user_bias);
    base_free(&alloc, plan->item_bias);
    base_free(&alloc, plan);
}

static bool plan_alloc(struct num_mf_plan *plan)
{
    const struct base_alloc *alloc = &plan->alloc;
    size_t users = (size_t)plan->user_slots * plan->shape.executors;
    size_t items = (size_t)plan->item_slots * plan->shape.blocks;

    plan->user_slot = base_calloc(alloc, plan->shape.users, sizeof *plan->user_slot);
    plan->item_slot = base_calloc(alloc, plan->shape.items, sizeof *plan->item_slot);
    plan->slot_user = base_calloc(alloc, users, sizeof *plan->slot_user);
    plan->slot_item = base_calloc(alloc, items, sizeof *plan->slot_item);
    plan->user_count = base_calloc(alloc, users, sizeof *plan->user_count);
    plan->item_count = base_calloc(alloc, items, sizeof *plan->item_count);
    plan->user_bias = base_calloc(alloc, users, sizeof *plan->user_bias);
    plan->item_bias = base_calloc(alloc, items, sizeof *plan->item_bias);
    return plan->user_slot != NULL && plan->item_slot != NULL && plan->slot_user != NULL &&
           plan->slot_item != NULL && plan->user_count != NULL && plan->item_count != NULL &&
           plan->user_bias != NULL && plan->item_bias != NULL;
}

/* What is known by id, by slot. */
static void by_slot(uint32_t ids, const uint32_t *slot, const uint32_t *count, const double *bias,
                    size_t slots, uint32_t *out_id, uint32_t *out_count, float *out_bias)
{
    for (size_t s = 0; s < slots; s++)
        out_id[s] = NUM_MF_EMPTY;
    for (uint32_t id = 0; id < ids; id++) {
        out_id[slot[id]] = id;
        out_count[slot[id]] = count[id];
        out_bias[slot[id]] = (float)bias[id];
    }
}

static shoal_status plan_place(struct num_mf_plan *plan, const struct tally *t, shoal_err *err)
{
    const struct num_mf_shape *shape = &plan->shape;
    size_t users = (size_t)plan->user_slots * shape->executors;
    size_t items = (size_t)plan->item_slots * shape->blocks;
    shoal_status st = place(&plan->alloc, t->user_count, shape->users, shape->executors,
                            plan->user_slots, plan->user_slot, err);

    if (st == SHOAL_OK)
        st = place(&plan->alloc, t->item_count, shape->items, shape->blocks, plan->item_slots,
                   plan->item_slot, err);
    if (st != SHOAL_OK)
        return st;
    by_slot(shape->users, plan->user_slot, t->user_count, t->user_sum, users, plan->slot_user,
            plan->user_count, plan->user_bias);
    by_slot(shape->items, plan->item_slot, t->item_count, t->item_sum, items, plan->slot_item,
            plan->item_count, plan->item_bias);
    plan->mean = t->mean;
    plan->scale = t->scale;
    return SHOAL_OK;
}

static shoal_status plan_make(struct num_mf_plan *plan, const struct num_rating *rating,
                              size_t count, shoal_err *err)
{
    struct tally t;
    shoal_status st = SHOAL_OK;

    if (!tally_init(&plan->alloc, &plan->shape, &t) || !plan_alloc(plan))
        st = base_err_nomem(err, "planning a factorisation");
    if (st == SHOAL_OK)
        st = tally_count(&t, &plan->shape, rating, count, err);
    if (st == SHOAL_OK) {
        if (plan->shape.center)
            tally_center(&t, &plan->shape, rating, count);
        else
            tally_raw(&t, &plan->shape);
        st = plan_place(plan, &t, err);
    }
    tally_fini(&plan->alloc, &t);
    return st;
}

shoal_status num_mf_plan_new(const struct base_alloc *alloc, const struct num_mf_shape *shape,
                             const struct num_rating *rating, size_t count,
                             struct num_mf_plan **out_plan, shoal_err *err)
{
    if (shape->users == 0 || shape->items == 0 || shape->executors == 0 || shape->blocks == 0)
        return base_err(err, SHOAL_E_INVAL, "a factorisation needs users, items and parts");
    if ((uint64_t)shape->users + shape->executors > UINT32_MAX ||
        (uint64_t)shape->items + shape->blocks > UINT32_MAX)
        return base_err(err, SHOAL_E_LIMIT, "too many users or items");

    struct num_mf_plan *plan = base_calloc(alloc, 1, sizeof *plan);
    if (plan == NULL)
        return base_err_nomem(err, "planning a factorisation");
    plan->alloc = *alloc;
    plan->shape = *shape;
    plan->user_slots = (shape->users - 1) / shape->executors + 1;
    plan->item_slots = (shape->items - 1) / shape->blocks + 1;
    shoal_status st = plan_make(plan, rating, count, err);
    if (st != SHOAL_OK) {
        num_mf_plan_free(plan);
        return st;
    }
    *out_plan = plan;
    return SHOAL_OK;
}

/* ---- small parts ---- */

/* A number in [0, 1) by seed and position, so that order and place do not matter. */
static double unit_at(uint64_t seed, uint64_t position)
{
    uint64_t z = seed * 0xd1342543de82ef95U + (position + 1) * 0x9e3779b97f4a7c15U;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

size_t num_mf_split(struct num_rating *rating, size_t count, double share, uint64_t seed)
{
    size_t left = count;

    for (size_t x = count; x-- > 0;) {
        if (unit_at(seed, x) >= share)
            continue;
        left--;
        struct num_rating swap = rating[x];
        rating[x] = rating[left];
        rating[left] = swap;
    }
    return left;
}

float num_mf_row_rate(uint32_t count)
{
    return 1 / sqrtf(1 + (float)count / RATE_COUNT);
}

void num_mf_init_rows(float *row, uint32_t rank, uint32_t first, uint32_t count,
                      const uint32_t *slot_count, uint64_t seed)
{
    uint32_t stride = num_mf_stride(rank);
    double width = sqrt(12 * INIT_SQUARE / rank);

    memset(row, 0, (size_t)count * stride * sizeof *row);
    for (uint32_t r = 0; r < count; r++) {
        if (slot_count[first + r] == 0)
            continue;
        for (uint32_t k = 0; k < rank; k++)
            row[(size_t)r * stride + k] =
                (float)(width * (unit_at(seed, (uint64_t)(first + r) * rank + k) - 0.5));
    }
}
