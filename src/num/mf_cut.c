/* mf_cut.c - ratings cut into blocks, sorted by row, in memory the caller gives.
 *
 * Three passes: ratings are counted per (executor, block), which gives sizes; moved into buckets,
 * one per block; and each bucket, small enough for a cache, is sorted by row into its place.
 * Workspace of the second and third: 12 bytes per rating. Ratings of one row keep their order.
 *
 * Data of an executor: head, a struct part for each block, the rates of its rows, then per block
 * the starts of rows (rows + 2 numbers, the last one unused) and the entries. Offsets are from the
 * head, multiples of 8.
 *
 * Tests: tests/unit/num/test_mf_plan.c. */
#include "base/assert.h"
#include "base/err.h"
#include "num/mf.h"
#include <string.h>

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
    struct place *user, *item; /* by id */
    uint64_t *bucket;          /* (executors * blocks + 1): first rating of each */
};

void num_mf_cut_free(struct num_mf_cut *cut)
{
    if (cut == NULL)
        return;
    const struct base_alloc *alloc = &cut->plan->alloc;
    base_free(alloc, cut->user);
    base_free(alloc, cut->item);
    base_free(alloc, cut->bucket);
    base_free(alloc, cut);
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
    cut->user = base_calloc(alloc, shape->users, sizeof *cut->user);
    cut->item = base_calloc(alloc, shape->items, sizeof *cut->item);
    cut->bucket =
        base_calloc(alloc, (size_t)shape->executors * cut->blocks + 1, sizeof *cut->bucket);
    shoal_status st = SHOAL_OK;
    if (cut->user == NULL || cut->item == NULL || cut->bucket == NULL) {
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
