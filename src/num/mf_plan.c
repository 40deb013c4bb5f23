/* mf_plan.c - where users and items go, what is known of them before training, and ratings cut into blocks.
 *
 * Slots. Ids are dealt by their ratings, most first, each to the part that has fewest so far and a
 * free slot. Parts get nearly equally many ratings; the first slots of a part are its busiest, so
 * that the rows most used lie together.
 *
 * Biases. One sweep of regularised means: of each item, then of each user with the item's taken
 * off. Factors make up for what further sweeps would change. Two passes over the ratings in all:
 * the variance of the rest follows from sums of the second.
 *
 * Cutting. Three passes: ratings are counted per (executor, block), which gives sizes; moved into buckets,
 * one per block; and each bucket, small enough for a cache, is sorted by row into its place.
 * Workspace of the second and third: 12 bytes per rating. Ratings of one row keep their order.
 *
 * Data of an executor: head, a struct part for each block, the rates of its rows, then per block
 * the starts of rows (rows + 2 numbers, the last one unused) and the entries. Offsets are from the
 * head, multiples of 8.
 *
 * Tests: tests/unit/num/test_mf_plan.c. */
#include "num/mf.h"

#include "base/assert.h"
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
    /* workspace of the dealing: (parts), (ids) */
    struct load *load;
    uint32_t *order, *spare;
};

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

/* Slots of `ids` ids in `parts` parts. */
static void deal(struct tally *t, const uint32_t *count, uint32_t ids, uint32_t parts,
                 uint32_t slots, uint32_t *out_slot)
{
    uint32_t open = parts; /* those with a free slot, a heap */

    sort_ids(count, ids, t->order, t->spare);
    for (uint32_t p = 0; p < parts; p++)
        t->load[p] = (struct load){0, p, 0};
    for (uint32_t k = 0; k < ids; k++) {
        uint32_t id = t->order[k];
        out_slot[id] = t->load[0].part * slots + t->load[0].ids++;
        t->load[0].ratings += count[id];
        if (t->load[0].ids == slots)
            t->load[0] = t->load[--open];
        sink(t->load, open);
    }
}

/* ---- plan ---- */

void num_mf_plan_free(struct num_mf_plan *plan)
{
    if (plan == NULL)
        return;
    struct base_alloc alloc = plan->alloc;
    base_room_fini(&plan->room);
    base_free(&alloc, plan);
}

/* Room for all of both. */
static shoal_status reserve(struct num_mf_plan *plan, struct tally *t, struct base_room *scratch)
{
    const struct num_mf_shape *shape = &plan->shape;
    uint32_t ids = shape->users > shape->items ? shape->users : shape->items;
    uint32_t parts = shape->executors > shape->blocks ? shape->executors : shape->blocks;
    size_t users = (size_t)plan->user_slots * shape->executors;
    size_t items = (size_t)plan->item_slots * shape->blocks;

    BASE_ROOM_ZERO(scratch, t->user_count, shape->users);
    BASE_ROOM_ZERO(scratch, t->item_count, shape->items);
    BASE_ROOM_ZERO(scratch, t->user_sum, shape->users);
    BASE_ROOM_ZERO(scratch, t->item_sum, shape->items);
    BASE_ROOM(scratch, t->load, parts);
    BASE_ROOM(scratch, t->order, ids);
    BASE_ROOM(scratch, t->spare, ids);
    BASE_ROOM(&plan->room, plan->user_slot, shape->users);
    BASE_ROOM(&plan->room, plan->item_slot, shape->items);
    BASE_ROOM(&plan->room, plan->slot_user, users);
    BASE_ROOM(&plan->room, plan->slot_item, items);
    BASE_ROOM_ZERO(&plan->room, plan->user_count, users);
    BASE_ROOM_ZERO(&plan->room, plan->item_count, items);
    BASE_ROOM_ZERO(&plan->room, plan->user_bias, users);
    BASE_ROOM_ZERO(&plan->room, plan->item_bias, items);
    shoal_status st = base_room_status(scratch);
    return st == SHOAL_OK ? base_room_status(&plan->room) : st;
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

static void plan_place(struct num_mf_plan *plan, struct tally *t)
{
    const struct num_mf_shape *shape = &plan->shape;
    size_t users = (size_t)plan->user_slots * shape->executors;
    size_t items = (size_t)plan->item_slots * shape->blocks;

    deal(t, t->user_count, shape->users, shape->executors, plan->user_slots, plan->user_slot);
    deal(t, t->item_count, shape->items, shape->blocks, plan->item_slots, plan->item_slot);
    by_slot(shape->users, plan->user_slot, t->user_count, t->user_sum, users, plan->slot_user,
            plan->user_count, plan->user_bias);
    by_slot(shape->items, plan->item_slot, t->item_count, t->item_sum, items, plan->slot_item,
            plan->item_count, plan->item_bias);
    plan->mean = t->mean;
    plan->scale = t->scale;
}

static shoal_status plan_make(struct num_mf_plan *plan, const struct num_rating *rating,
                              size_t count, shoal_err *err)
{
    struct base_room scratch = {.alloc = &plan->alloc};
    struct tally t = {.scale = 1};
    shoal_status st = SHOAL_OK;

    if (reserve(plan, &t, &scratch) != SHOAL_OK)
        st = base_err_nomem(err, "planning a factorisation");
    if (st == SHOAL_OK)
        st = tally_count(&t, &plan->shape, rating, count, err);
    if (st == SHOAL_OK) {
        if (plan->shape.center)
            tally_center(&t, &plan->shape, rating, count);
        else
            tally_raw(&t, &plan->shape);
        plan_place(plan, &t);
    }
    base_room_fini(&scratch);
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
    plan->room.alloc = &plan->alloc;
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

/* ---- cut: ratings in blocks, sorted by row, in memory the caller gives ---- */

struct part {
    uint64_t start, entry; /* offsets */
};

struct head {
    uint32_t rows, blocks;
    uint64_t rate; /* offset */
};

/* Where an id goes. */
struct place {
    uint32_t part, line;
    float bias;
};

struct num_mf_cut {
    const struct num_mf_plan *plan;
    enum num_mf_view view;
    uint32_t rows, blocks; /* of each executor */
    size_t count;
    struct base_room room;
    struct place *user, *item; /* by id */
    uint64_t *bucket;          /* (executors * blocks + 1): first rating of each */
};

void num_mf_cut_free(struct num_mf_cut *cut)
{
    if (cut == NULL)
        return;
    base_room_fini(&cut->room);
    base_free(&cut->plan->alloc, cut);
}

static size_t round8(size_t size)
{
    return (size + 7) / 8 * 8;
}

/* ids (ids): their slot divided into parts of `slots`, or all in part 0. */
static void find_places(struct place *place, uint32_t ids, const uint32_t *slot,
                        const float *slot_bias, uint32_t slots, bool parts)
{
    for (uint32_t id = 0; id < ids; id++) {
        uint32_t s = slot[id];
        place[id] = parts ? (struct place){s / slots, s % slots, slot_bias[s]}
                          : (struct place){0, s, slot_bias[s]};
    }
}

static size_t bucket_of(const struct num_mf_cut *cut, const struct place *user,
                        const struct place *item)
{
    return cut->view == NUM_MF_ITEMS ? item->part : (size_t)user->part * cut->blocks + item->part;
}

/* The most ratings of a block, whose starts are 32 bits. */
static shoal_status check_buckets(const struct num_mf_cut *cut, size_t buckets, shoal_err *err)
{
    for (size_t k = 0; k < buckets; k++)
        if (cut->bucket[k + 1] - cut->bucket[k] > UINT32_MAX)
            return base_err(err, SHOAL_E_LIMIT, "a block of ratings is too large: use more blocks");
    return SHOAL_OK;
}

static shoal_status cut_count(struct num_mf_cut *cut, const struct num_rating *rating,
                              shoal_err *err)
{
    const struct num_mf_shape *shape = &cut->plan->shape;
    size_t buckets = (size_t)shape->executors * cut->blocks;

    for (size_t x = 0; x < cut->count; x++) {
        struct num_rating r = rating[x];
        if (r.user >= shape->users || r.item >= shape->items)
            return base_err(err, SHOAL_E_INVAL, "rating %zu (user %u, item %u) is out of range", x,
                            r.user, r.item);
        cut->bucket[bucket_of(cut, &cut->user[r.user], &cut->item[r.item]) + 1]++;
    }
    for (size_t k = 0; k < buckets; k++)
        cut->bucket[k + 1] += cut->bucket[k];
    return check_buckets(cut, buckets, err);
}

shoal_status num_mf_cut_new(const struct num_mf_plan *plan, enum num_mf_view view,
                            const struct num_rating *rating, size_t count,
                            struct num_mf_cut **out_cut, shoal_err *err)
{
    const struct num_mf_shape *shape = &plan->shape;
    const struct base_alloc *alloc = &plan->alloc;

    if (view == NUM_MF_ITEMS && shape->blocks != shape->executors)
        return base_err(err, SHOAL_E_INVAL, "ratings by item need as many blocks as executors");
    struct num_mf_cut *cut = base_calloc(alloc, 1, sizeof *cut);
    if (cut == NULL)
        return base_err_nomem(err, "cutting ratings");
    cut->plan = plan;
    cut->view = view;
    cut->count = count;
    cut->rows = view == NUM_MF_ITEMS ? plan->item_slots : plan->user_slots;
    cut->blocks = view == NUM_MF_GRID ? shape->blocks : 1;
    cut->room.alloc = alloc;
    BASE_ROOM(&cut->room, cut->user, shape->users);
    BASE_ROOM(&cut->room, cut->item, shape->items);
    BASE_ROOM_ZERO(&cut->room, cut->bucket, (size_t)shape->executors * cut->blocks + 1);
    shoal_status st = base_room_status(&cut->room);
    if (st != SHOAL_OK) {
        st = base_err_nomem(err, "cutting ratings");
    } else {
        find_places(cut->user, shape->users, plan->user_slot, plan->user_bias, plan->user_slots,
                    view != NUM_MF_ITEMS);
        find_places(cut->item, shape->items, plan->item_slot, plan->item_bias, plan->item_slots,
                    view != NUM_MF_USERS);
        st = cut_count(cut, rating, err);
    }
    if (st != SHOAL_OK) {
        num_mf_cut_free(cut);
        return st;
    }
    *out_cut = cut;
    return SHOAL_OK;
}

/* ---- the caller's memory ---- */

static size_t starts_size(const struct num_mf_cut *cut)
{
    return round8(((size_t)cut->rows + 2) * sizeof(uint32_t));
}

static size_t rate_at(const struct num_mf_cut *cut)
{
    return sizeof(struct head) + cut->blocks * sizeof(struct part);
}

size_t num_mf_cut_size(const struct num_mf_cut *cut, uint32_t executor)
{
    const uint64_t *bucket = cut->bucket + (size_t)executor * cut->blocks;

    return rate_at(cut) + round8(cut->rows * sizeof(float)) + cut->blocks * starts_size(cut) +
           (bucket[cut->blocks] - bucket[0]) * sizeof(struct num_mf_entry);
}

static void write_head(const struct num_mf_cut *cut, uint32_t executor, void *data)
{
    struct head head = {cut->rows, cut->blocks, rate_at(cut)};
    const uint32_t *count =
        cut->view == NUM_MF_ITEMS ? cut->plan->item_count : cut->plan->user_count;
    uint64_t at = head.rate + round8(cut->rows * sizeof(float));
    struct part *part = (struct part *)((char *)data + sizeof head);
    float *rate = (void *)((char *)data + head.rate);

    memcpy(data, &head, sizeof head);
    for (uint32_t r = 0; r < cut->rows; r++)
        rate[r] = num_mf_row_rate(count[(size_t)executor * cut->rows + r]);
    for (uint32_t b = 0; b < cut->blocks; b++) {
        const uint64_t *bucket = cut->bucket + (size_t)executor * cut->blocks + b;
        part[b] = (struct part){at, at + starts_size(cut)};
        at = part[b].entry + (bucket[1] - bucket[0]) * sizeof(struct num_mf_entry);
    }
    shoal_assert(at == num_mf_cut_size(cut, executor));
}

/* A rating on its way: user is its row, item its column. */
static void to_buckets(const struct num_mf_cut *cut, const struct num_rating *rating,
                       uint64_t *cursor, struct num_rating *out)
{
    float mean = (float)cut->plan->mean, shrink = (float)(1 / cut->plan->scale);
    bool by_item = cut->view == NUM_MF_ITEMS;

    for (size_t x = 0; x < cut->count; x++) {
        struct num_rating r = rating[x];
        struct place user = cut->user[r.user], item = cut->item[r.item];
        uint64_t at = cursor[bucket_of(cut, &user, &item)]++;
        out[at] =
            (struct num_rating){by_item ? item.line : user.line, by_item ? user.line : item.line,
                                (r.value - mean - user.bias - item.bias) * shrink};
    }
}

/* start[r + 1] is first where row r begins, and at last where it ends. */
static void sort_bucket(const struct num_rating *from, size_t count, uint32_t rows, uint32_t *start,
                        struct num_mf_entry *entry)
{
    memset(start, 0, ((size_t)rows + 2) * sizeof *start);
    for (size_t x = 0; x < count; x++)
        start[from[x].user + 2]++;
    for (uint32_t r = 0; r < rows; r++)
        start[r + 2] += start[r + 1];
    for (size_t x = 0; x < count; x++)
        entry[start[from[x].user + 1]++] = (struct num_mf_entry){from[x].item, from[x].value};
}

static void fill_executor(const struct num_mf_cut *cut, uint32_t executor,
                          const struct num_rating *sorted, void *data)
{
    write_head(cut, executor, data);
    const struct part *part = (const struct part *)((char *)data + sizeof(struct head));
    for (uint32_t b = 0; b < cut->blocks; b++) {
        const uint64_t *bucket = cut->bucket + (size_t)executor * cut->blocks + b;
        sort_bucket(sorted + bucket[0], bucket[1] - bucket[0], cut->rows,
                    (uint32_t *)((char *)data + part[b].start),
                    (struct num_mf_entry *)((char *)data + part[b].entry));
    }
}

shoal_status num_mf_cut_fill(const struct num_mf_cut *cut, const struct num_rating *rating,
                             void *const *data, shoal_err *err)
{
    const struct base_alloc *alloc = &cut->plan->alloc;
    uint32_t executors = cut->plan->shape.executors;
    size_t buckets = (size_t)executors * cut->blocks;
    uint64_t *cursor = base_calloc(alloc, buckets, sizeof *cursor);
    struct num_rating *sorted = base_malloc(alloc, (cut->count + 1) * sizeof *sorted);
    shoal_status st = SHOAL_OK;

    if (cursor == NULL || sorted == NULL) {
        st = base_err_nomem(err, "sorting ratings");
    } else {
        memcpy(cursor, cut->bucket, buckets * sizeof *cursor);
        to_buckets(cut, rating, cursor, sorted);
        for (uint32_t e = 0; e < executors; e++)
            fill_executor(cut, e, sorted, data[e]);
    }
    base_free(alloc, cursor);
    base_free(alloc, sorted);
    return st;
}

uint32_t num_mf_data_blocks(const void *data)
{
    return ((const struct head *)data)->blocks;
}

const float *num_mf_data_rates(const void *data)
{
    return (const void *)((const char *)data + ((const struct head *)data)->rate);
}

struct num_mf_block num_mf_block(const void *data, uint32_t index)
{
    const struct head *head = data;
    const struct part *part = (const struct part *)((const char *)data + sizeof *head) + index;

    return (struct num_mf_block){
        head->rows,
        (const uint32_t *)((const char *)data + part->start),
        (const struct num_mf_entry *)((const char *)data + part->entry),
    };
}
