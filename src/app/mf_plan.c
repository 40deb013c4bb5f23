/* mf_plan.c - ratings become executors' data, their first states and tables.
 *
 * One allocation per executor holds all its cuts behind a struct mf_data. What `save` needs and no
 * task reads (names, slots, biases) is kept in a table as bytes, since the driver's state is small
 * and plain. While planning, memory holds the ratings, one more copy of them, and the cuts. */
#include "app/mf.h"

#include "base/err.h"
#include <math.h>
#include <string.h>

enum { CUTS = 3, ALIGN = 64, KEPT_WIDTH = 16 };
static const uint64_t TASK_RATINGS = 8192, USER_RATINGS = 8, EXECUTORS_CHOSEN_MAX = 64;

struct planning {
    shoal_driver *driver;
    const struct mf_options *o;
    struct data_ratings *ratings;
    size_t train; /* the first so many; the others are held out */
    uint32_t executors, stride;
    struct num_mf_plan *plan;
    struct num_mf_cut *cut[CUTS]; /* training, items, held out; NULL: none */
    double l2;
    uint64_t seed;
};

/* The largest power of two up to x; at least 4. */
static uint64_t power_below(uint64_t x)
{
    uint64_t power = 4;

    while (2 * power <= x)
        power *= 2;
    return power;
}

/* An epoch of sgd is n x n passes, of als 3 x n tasks, and tasks should not be small. A user's factors
 * are read and written once a pass, which pays when it has USER_RATINGS there. */
uint32_t mf_executors(const struct mf_options *o, uint64_t ratings, uint32_t users, uint32_t items)
{
    uint64_t most = users < items ? users : items, count = o->executors;

    if (count == 0) {
        count = power_below(ratings / TASK_RATINGS);
        count = count < EXECUTORS_CHOSEN_MAX ? count : EXECUTORS_CHOSEN_MAX;
        while (o->algorithm == MF_SGD && count > 4 && count * count > ratings / TASK_RATINGS)
            count /= 2;
        uint64_t worth = power_below(ratings / users * 3 / (2 * USER_RATINGS)); /* the nearest */
        count = o->algorithm == MF_SGD && worth < count ? worth : count;
    }
    return (uint32_t)(count < most ? count : most);
}

/* ---- what can be wrong ---- */

static shoal_status check_negative(const struct planning *p, shoal_err *err)
{
    const struct data_ratings *all = p->ratings;
    char user_buf[DATA_ID_BUF], item_buf[DATA_ID_BUF];
    size_t user_size = 0, item_size = 0;

    for (uint64_t i = 0; i < all->count; i++) {
        const struct num_rating *r = &all->rating[i];
        if (r->value >= 0)
            continue;
        const char *user = data_ids_name(&all->user_ids, r->user, user_buf, &user_size);
        const char *item = data_ids_name(&all->item_ids, r->item, item_buf, &item_size);
        base_err(err, SHOAL_E_FORMAT,
                 "user '%.*s' has %g for item '%.*s'; implicit feedback is never negative",
                 (int)(user_size < 60 ? user_size : 60), user, (double)r->value,
                 (int)(item_size < 60 ? item_size : 60), item);
        base_err_hint(err, "ratings are for --set algorithm=sgd or als");
        return SHOAL_E_FORMAT;
    }
    return SHOAL_OK;
}

static shoal_status check(const struct planning *p, shoal_err *err)
{
    if ((p->o->l2 < 0 && p->o->l2 > -1) || (p->o->tolerance < 0 && p->o->tolerance > -1))
        return base_err(err, SHOAL_E_INVAL, "%s: at least 0, or -1 to have it chosen",
                        p->o->l2 < 0 && p->o->l2 > -1 ? "l2" : "tolerance");
    if (p->o->algorithm == MF_IMPLICIT) {
        if (p->o->holdout > 0)
            return base_err(err, SHOAL_E_INVAL,
                            "holdout: implicit feedback has no ratings to compare with");
        return check_negative(p, err);
    }
    if (p->ratings->valued)
        return SHOAL_OK;
    base_err(err, SHOAL_E_FORMAT, "there are users and items, but no ratings");
    base_err_where(err, "%s", shoal_driver_path(p->driver));
    base_err_hint(err, "a third column is missing; --set algorithm=implicit can do without");
    return SHOAL_E_FORMAT;
}

static shoal_status check_split(const struct planning *p, shoal_err *err)
{
    if (p->train > 0)
        return SHOAL_OK;
    base_err(err, SHOAL_E_INVAL, "all %llu ratings are held out; none is left to train on",
             (unsigned long long)p->ratings->count);
    base_err_hint(err, "lower holdout");
    return SHOAL_E_INVAL;
}

/* The kernel's bound; see num_mf_sgd. */
static shoal_status check_step(const struct planning *p, shoal_err *err)
{
    if (p->o->algorithm != MF_SGD || mf_first_rate(p->o) * p->l2 / p->plan->scale <= 0.25)
        return SHOAL_OK;
    base_err(err, SHOAL_E_INVAL,
             "rate times l2 is %.3g in ratings with a deviation of %.3g; at most a quarter of it",
             mf_first_rate(p->o) * p->l2, p->plan->scale);
    base_err_hint(err, "lower l2 or rate");
    return SHOAL_E_INVAL;
}

/* ---- data ---- */

static shoal_status cut(struct planning *p, shoal_err *err)
{
    bool sgd = p->o->algorithm == MF_SGD;
    const struct num_rating *all = p->ratings->rating;
    size_t valid = (size_t)p->ratings->count - p->train;
    shoal_status st =
        num_mf_cut_new(p->plan, sgd ? NUM_MF_GRID : NUM_MF_USERS, all, p->train, &p->cut[0], err);

    if (st == SHOAL_OK && !sgd)
        st = num_mf_cut_new(p->plan, NUM_MF_ITEMS, all, p->train, &p->cut[1], err);
    if (st == SHOAL_OK && valid > 0)
        st = num_mf_cut_new(p->plan, NUM_MF_GRID, all + p->train, valid, &p->cut[2], err);
    return st;
}

static uint64_t take(uint64_t *size, const struct num_mf_cut *cut, uint32_t executor)
{
    uint64_t at = *size;

    if (cut == NULL)
        return 0;
    *size += (num_mf_cut_size(cut, executor) + ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

static shoal_status make_block(const struct planning *p, uint32_t executor, void *part[CUTS],
                               shoal_err *err)
{
    struct mf_data data = {.executors = p->executors,
                           .user_slots = p->plan->user_slots,
                           .item_slots = p->plan->item_slots,
                           .stride = p->stride,
                           .scale = p->plan->scale,
                           .l2 = p->l2};
    uint64_t size = (sizeof data + ALIGN - 1) / ALIGN * ALIGN;

    data.train_at = take(&size, p->cut[0], executor);
    data.items_at = take(&size, p->cut[1], executor);
    data.valid_at = take(&size, p->cut[2], executor);
    char *block = shoal_driver_block(p->driver, executor, size);
    if (block == NULL)
        return base_err_nomem(err, "cutting ratings");
    memcpy(block, &data, sizeof data);
    part[0] = block + data.train_at;
    part[1] = block + data.items_at;
    part[2] = block + data.valid_at;
    return SHOAL_OK;
}

static shoal_status make_blocks(const struct planning *p, shoal_err *err)
{
    void *at[CUTS][MF_EXECUTORS_MAX], *part[CUTS] = {NULL};
    const struct num_rating *all = p->ratings->rating;
    shoal_status st = SHOAL_OK;

    for (uint32_t e = 0; e < p->executors && st == SHOAL_OK; e++) {
        st = make_block(p, e, part, err);
        for (int c = 0; c < CUTS && st == SHOAL_OK; c++)
            at[c][e] = part[c];
    }
    for (int c = 0; c < CUTS && st == SHOAL_OK; c++)
        if (p->cut[c] != NULL)
            st = num_mf_cut_fill(p->cut[c], c < 2 ? all : all + p->train, at[c], err);
    return st;
}

/* ---- tables and states ---- */

static shoal_status make_table(const struct planning *p, const char *name, uint64_t rows,
                               uint32_t width, uint32_t shards, bool held, shoal_err *err)
{
    shoal_table_opts table = {.struct_size = sizeof table,
                              .name = name,
                              .rows = rows,
                              .width = width,
                              .shards = shards,
                              .held = held};

    return shoal_driver_table(p->driver, &table, err);
}

static size_t names_size(const struct data_ids *ids)
{
    char buf[DATA_ID_BUF];
    size_t size = 0, sum = 0;

    for (uint32_t i = 0; i < ids->count; i++) {
        (void)data_ids_name(ids, i, buf, &size);
        sum += size + 1;
    }
    return sum;
}

static void put_names(const struct data_ids *ids, char *out)
{
    char buf[DATA_ID_BUF];
    size_t size = 0;

    for (uint32_t i = 0; i < ids->count; i++) {
        const char *name = data_ids_name(ids, i, buf, &size);
        memcpy(out, name, size);
        out[size] = '\n';
        out += size + 1;
    }
}

static shoal_status keep(const struct planning *p, shoal_err *err)
{
    const struct num_mf_plan *plan = p->plan;
    struct mf_kept head = {.users = p->ratings->users,
                           .items = p->ratings->items,
                           .user_names_size = names_size(&p->ratings->user_ids),
                           .item_names_size = names_size(&p->ratings->item_ids),
                           .mean = plan->mean,
                           .scale = plan->scale};
    uint64_t rows = mf_kept_size(&head) / (KEPT_WIDTH * sizeof(float)) + 1;
    shoal_status st = make_table(p, "kept", rows, KEPT_WIDTH, 1, false, err);

    if (st != SHOAL_OK)
        return st;
    struct mf_kept *kept = (struct mf_kept *)(void *)shoal_driver_rows(p->driver, MF_KEPT);
    *kept = head;
    struct mf_kept_parts parts = mf_kept_parts(kept);
    memcpy(parts.user_slot, plan->user_slot, head.users * sizeof(uint32_t));
    memcpy(parts.item_slot, plan->item_slot, head.items * sizeof(uint32_t));
    for (uint32_t u = 0; u < head.users; u++)
        parts.user_bias[u] = plan->user_bias[plan->user_slot[u]];
    for (uint32_t i = 0; i < head.items; i++)
        parts.item_bias[i] = plan->item_bias[plan->item_slot[i]];
    put_names(&p->ratings->user_ids, parts.user_names);
    put_names(&p->ratings->item_ids, parts.item_names);
    return SHOAL_OK;
}

/* What sgd has besides: rates of items, user factors in states. */
static shoal_status make_sgd(const struct planning *p, uint64_t item_rows, shoal_err *err)
{
    const struct num_mf_plan *plan = p->plan;
    shoal_status st = make_table(p, "item_rate", item_rows, 1, 1, false, err);

    if (st != SHOAL_OK)
        return st;
    for (uint64_t i = 0; i < item_rows; i++)
        shoal_driver_rows(p->driver, MF_RATE)[i] = num_mf_row_rate(plan->item_count[i]);
    for (uint32_t e = 0; e < p->executors; e++) {
        float *user = shoal_driver_executor_state(
            p->driver, e, (size_t)plan->user_slots * p->stride * sizeof *user);
        if (user == NULL)
            return base_err_nomem(err, "making factors");
        num_mf_init_rows(user, (uint32_t)p->o->rank, e * plan->user_slots, plan->user_slots,
                         plan->user_count, p->seed);
    }
    return SHOAL_OK;
}

/* What als has besides: user factors in a table, and for implicit feedback Gram matrices. */
static shoal_status make_als(const struct planning *p, shoal_err *err)
{
    const struct num_mf_plan *plan = p->plan;
    uint32_t n = p->executors, items = plan->item_slots, stride = p->stride;
    shoal_status st = make_table(p, "user", (uint64_t)n * plan->user_slots, stride, n, false, err);

    if (st != SHOAL_OK || p->o->algorithm != MF_IMPLICIT)
        return st;
    st = make_table(p, "item_gram", (uint64_t)n * stride, stride, n, false, err);
    if (st == SHOAL_OK)
        st = make_table(p, "user_gram", (uint64_t)n * stride, stride, n, false, err);
    if (st != SHOAL_OK)
        return st;
    const float *item = shoal_driver_rows(p->driver, MF_ITEM);
    float *gram = shoal_driver_rows(p->driver, MF_ITEM_GRAM);
    for (uint32_t e = 0; e < n; e++)
        num_mf_ops_find(1)->gram(item + (size_t)e * items * stride, items, stride,
                                 gram + (size_t)e * stride * stride);
    return SHOAL_OK;
}

static shoal_status make_tables(const struct planning *p, shoal_err *err)
{
    const struct num_mf_plan *plan = p->plan;
    bool sgd = p->o->algorithm == MF_SGD;
    uint64_t item_rows = (uint64_t)p->executors * plan->item_slots;
    shoal_status st = make_table(p, "item", item_rows, p->stride, p->executors, sgd, err);

    if (st == SHOAL_OK)
        st = keep(p, err);
    for (uint32_t b = 0; b < p->executors && st == SHOAL_OK; b++)
        num_mf_init_rows(shoal_driver_shard(p->driver, MF_ITEM, b, NULL, NULL),
                         (uint32_t)p->o->rank, b * plan->item_slots, plan->item_slots,
                         plan->item_count, p->seed + 1);
    if (st == SHOAL_OK)
        st = sgd ? make_sgd(p, item_rows, err) : make_als(p, err);
    if (st == SHOAL_OK && p->train < p->ratings->count)
        st = make_table(p, "best_item", item_rows, p->stride, p->executors, false, err);
    if (st == SHOAL_OK && p->train < p->ratings->count)
        st = make_table(p, "best_user", (uint64_t)p->executors * plan->user_slots, p->stride,
                        p->executors, false, err);
    return st;
}

/* ---- all of it ---- */

static void fill_driver(const struct planning *p)
{
    struct mf_driver *d = shoal_driver_state(p->driver);
    uint32_t staleness = shoal_driver_staleness(p->driver);
    bool judged = p->train < p->ratings->count || mf_tolerance(p->o) > 0;

    *d = (struct mf_driver){.executors = p->executors,
                            .window = judged                      ? 1
                                      : staleness + 1 < MF_WINDOW ? staleness + 1
                                                                  : MF_WINDOW,
                            .train = p->train,
                            .valid = p->ratings->count - p->train,
                            .epochs = mf_epochs(p->o),
                            .scale = p->plan->scale,
                            .l2 = p->l2,
                            .weight = (double)p->ratings->users * p->ratings->items,
                            .last = INFINITY,
                            .best = INFINITY};
    for (size_t i = 0; i < p->train; i++)
        d->weight += p->o->alpha * (double)p->ratings->rating[i].value;
}

shoal_status mf_plan_ratings(shoal_driver *driver, struct data_ratings *ratings, shoal_err *err)
{
    struct planning p = {.driver = driver,
                         .o = shoal_driver_options(driver),
                         .ratings = ratings,
                         .seed = shoal_driver_seed(driver)};
    shoal_status st = check(&p, err);

    if (st != SHOAL_OK)
        return st;
    p.train = num_mf_split(ratings->rating, ratings->count, p.o->holdout, p.seed);
    p.executors = mf_executors(p.o, p.train, ratings->users, ratings->items);
    p.stride = num_mf_stride((uint32_t)p.o->rank);
    struct num_mf_shape shape = {.users = ratings->users,
                                 .items = ratings->items,
                                 .executors = p.executors,
                                 .blocks = p.executors,
                                 .center = p.o->algorithm != MF_IMPLICIT,
                                 .bias = p.o->bias};
    st = check_split(&p, err);
    if (st == SHOAL_OK)
        st = num_mf_plan_new(env_alloc(shoal_driver_env(driver)), &shape, ratings->rating, p.train,
                             &p.plan, err);
    if (st == SHOAL_OK) {
        p.l2 = mf_l2(p.o, p.train, ratings->users, ratings->items, p.plan->scale);
        st = check_step(&p, err);
    }
    if (st == SHOAL_OK)
        st = cut(&p, err);
    if (st == SHOAL_OK)
        st = shoal_driver_executors(driver, p.executors, err);
    if (st == SHOAL_OK)
        st = make_blocks(&p, err);
    if (st == SHOAL_OK)
        st = make_tables(&p, err);
    if (st == SHOAL_OK)
        fill_driver(&p);
    for (int c = 0; c < CUTS; c++)
        num_mf_cut_free(p.cut[c]);
    num_mf_plan_free(p.plan);
    return st;
}

shoal_status mf_plan(shoal_driver *driver, shoal_err *err)
{
    struct data_ratings ratings = {0};
    shoal_status st =
        data_ratings_load(shoal_driver_env(driver), shoal_driver_path(driver), NULL, &ratings, err);

    if (st == SHOAL_OK)
        st = mf_plan_ratings(driver, &ratings, err);
    data_ratings_fini(&ratings);
    return st;
}
