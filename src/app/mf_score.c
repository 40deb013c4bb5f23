/* mf_score.c - models of `mf`: what training leaves, and predictions from it.
 *
 * A model has users and items in the order of their first appearance in the data:
 *
 *   shape                       struct model_shape
 *   users, items                names, a line each
 *   user_bias, item_bias        float each
 *   user_factors, item_factors  (users, rank), (items, rank) floats
 *
 * A prediction is mean + user_bias + item_bias + user_factors . item_factors; what is not known counts
 * as 0. Little-endian, as it lies in memory. Everything read is checked. */
#include "app/mf.h"

#include "app/parts.h"
#include "base/assert.h"
#include "base/err.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "models are written as they lie");

enum { VERSION = 1 };

struct model_shape {
    uint32_t version, algorithm, users, items, rank, unused;
    double mean;
};

/* ---- saving ---- */

/* Where the row of a slot is: in the tables of an earlier epoch if that is kept; else user factors of
 * sgd are in states, the others in shards. */
const float *app_mf_row(shoal_driver *driver, bool user, uint32_t slot, size_t stride)
{
    const struct mf_options *o = shoal_driver_options(driver);
    bool earlier = mf_keeps_earlier(shoal_driver_state(driver));
    uint64_t first, count;
    size_t size;

    shoal_assert(stride > 0);
    if (user && o->algorithm == MF_SGD && !earlier) {
        (void)shoal_driver_executor_read(driver, 0, &size);
        size_t rows = size / (stride * sizeof(float));
        shoal_assert(rows > 0);
        const float *state = shoal_driver_executor_read(driver, slot / (uint32_t)rows, &size);
        return state + slot % rows * stride;
    }
    uint32_t table = earlier ? (user ? MF_BEST_USER : MF_BEST_ITEM) : user ? MF_USER : MF_ITEM;

    (void)shoal_driver_shard_read(driver, table, 0, &first, &count);
    uint32_t shard = (uint32_t)(slot / count), row = (uint32_t)(slot % count);
    return shoal_driver_shard_read(driver, table, shard, &first, &count) + row * stride;
}

/* Rows by id, without padding, times the root of the scale. */
static shoal_status put_factors(shoal_driver *driver, shoal_model *model, bool user,
                                const uint32_t *slot, uint32_t count, double scale, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(shoal_driver_env(driver));
    size_t rank = ((const struct mf_options *)shoal_driver_options(driver))->rank;
    size_t stride = num_mf_stride((uint32_t)rank);
    float *out = base_calloc(alloc, count, rank * sizeof *out), root = (float)sqrt(scale);
    shoal_status st;

    if (out == NULL)
        return base_err_nomem(err, "writing a model");
    for (uint32_t i = 0; i < count; i++) {
        const float *row = app_mf_row(driver, user, slot[i], stride);
        for (size_t k = 0; k < rank; k++)
            out[i * rank + k] = root * row[k];
    }
    st = shoal_model_put(model, user ? "user_factors" : "item_factors", out,
                         count * rank * sizeof *out, err);
    base_free(alloc, out);
    return st;
}

shoal_status mf_save(shoal_driver *driver, shoal_model *model, shoal_err *err)
{
    const struct mf_options *o = shoal_driver_options(driver);
    struct mf_kept *kept = (struct mf_kept *)(void *)shoal_driver_rows(driver, MF_KEPT);
    struct mf_kept_parts p = mf_kept_parts(kept);
    struct model_shape shape = {.version = VERSION,
                                .algorithm = o->algorithm,
                                .users = kept->users,
                                .items = kept->items,
                                .rank = (uint32_t)o->rank,
                                .mean = kept->mean};
    const struct app_part parts[] = {
        {"shape", 1, sizeof shape, .data = &shape},
        {"users", kept->user_names_size, 1, .data = p.user_names},
        {"items", kept->item_names_size, 1, .data = p.item_names},
        {"user_bias", kept->users, sizeof(float), .data = p.user_bias},
        {"item_bias", kept->items, sizeof(float), .data = p.item_bias},
    };
    shoal_status st = app_parts_put(model, parts, BASE_COUNT(parts), err);

    if (st == SHOAL_OK)
        st = put_factors(driver, model, true, p.user_slot, kept->users, kept->scale, err);
    if (st == SHOAL_OK)
        st = put_factors(driver, model, false, p.item_slot, kept->items, kept->scale, err);
    return st;
}

/* ---- using ---- */

struct predictor {
    struct model_shape shape;
    struct data_ids users, items;
    const float *user_bias, *item_bias, *user_factors, *item_factors;
};

static shoal_status get_shape(const shoal_model *model, struct model_shape *out, shoal_err *err)
{
    shoal_status st = app_parts_shape(model, out, sizeof *out, err);

    if (st != SHOAL_OK)
        return st;
    if (out->version != VERSION || out->algorithm > MF_IMPLICIT || out->rank == 0 ||
        out->rank > NUM_MF_RANK_MAX || !isfinite(out->mean))
        return base_err(err, SHOAL_E_FORMAT, "the model's shape makes no sense");
    return SHOAL_OK;
}

static shoal_status predictor_init(struct predictor *p, const shoal_model *model,
                                   const struct base_alloc *alloc, shoal_err *err)
{
    const struct model_shape *s = &p->shape;
    const void *user_bias, *item_bias, *user_factors, *item_factors;
    shoal_status st;

    data_ids_init(&p->users, alloc);
    data_ids_init(&p->items, alloc);
    st = get_shape(model, &p->shape, err);
    if (st == SHOAL_OK)
        st = app_parts_names(model, "users", s->users, false, &p->users, err);
    if (st == SHOAL_OK)
        st = app_parts_names(model, "items", s->items, false, &p->items, err);
    if (st != SHOAL_OK)
        return st;
    const struct app_part parts[] = {
        {"user_bias", s->users, sizeof(float), .at = &user_bias},
        {"item_bias", s->items, sizeof(float), .at = &item_bias},
        {"user_factors", (uint64_t)s->users * s->rank, sizeof(float), .at = &user_factors},
        {"item_factors", (uint64_t)s->items * s->rank, sizeof(float), .at = &item_factors},
    };
    st = app_parts_get(model, parts, BASE_COUNT(parts), err);
    if (st != SHOAL_OK)
        return st;
    p->user_bias = user_bias;
    p->item_bias = item_bias;
    p->user_factors = user_factors;
    p->item_factors = item_factors;
    return SHOAL_OK;
}

static void predictor_fini(struct predictor *p)
{
    data_ids_fini(&p->users);
    data_ids_fini(&p->items);
}

static double predict(const struct predictor *p, uint32_t user, uint32_t item)
{
    double sum = p->shape.mean;
    size_t rank = p->shape.rank;

    if (user != DATA_ID_NONE)
        sum += (double)p->user_bias[user];
    if (item != DATA_ID_NONE)
        sum += (double)p->item_bias[item];
    for (size_t k = 0; user != DATA_ID_NONE && item != DATA_ID_NONE && k < rank; k++)
        sum += (double)p->user_factors[user * rank + k] * (double)p->item_factors[item * rank + k];
    return sum;
}

enum { COUNT_EVERY = 1024 }; /* pairs are quick */

static shoal_status score_all(shoal_score *score, const struct predictor *p,
                              const struct data_ratings *pairs, shoal_err *err)
{
    bool implicit = p->shape.algorithm == MF_IMPLICIT, lines = shoal_score_wants_lines(score);
    double square = 0, absolute = 0, count = (double)pairs->count;
    char line[64];
    shoal_status st = SHOAL_OK;

    for (uint64_t i = 0; i < pairs->count && st == SHOAL_OK; i++) {
        const struct num_rating *r = &pairs->rating[i];
        double value = predict(p, r->user, r->item);
        double error = value - (implicit ? 1 : (double)r->value);
        square += error * error;
        absolute += fabs(error);
        if (lines) {
            snprintf(line, sizeof line, "%.7g", value);
            st = shoal_score_line(score, line, err);
        }
        if (st == SHOAL_OK && (i % COUNT_EVERY == 0 || i + 1 == pairs->count))
            st = shoal_score_count(score, i + 1, pairs->count, err);
    }
    shoal_score_metric(score, "rmse", sqrt(square / count));
    shoal_score_metric(score, "mae", absolute / count);
    shoal_score_metric(score, "count", count);
    shoal_score_metric(score, "unknown", (double)pairs->unknown);
    return st;
}

shoal_status mf_score(shoal_score *score, shoal_err *err)
{
    shoal_env *env = shoal_score_env(score);
    struct predictor p = {.shape = {0}};
    struct data_ratings pairs = {0};
    struct data_ratings_opts opts = {.users = &p.users, .items = &p.items, .keep_repeated = true};
    shoal_status st = predictor_init(&p, shoal_score_model(score), env_alloc(env), err);

    if (st == SHOAL_OK)
        st = data_ratings_load(env, shoal_score_path(score), &opts, &pairs, err);
    if (st == SHOAL_OK && !pairs.valued && !shoal_score_wants_lines(score) &&
        p.shape.algorithm != MF_IMPLICIT) {
        st = base_err(err, SHOAL_E_FORMAT, "there are no ratings to compare predictions with");
        base_err_where(err, "%s", shoal_score_path(score));
    }
    if (st == SHOAL_OK)
        st = score_all(score, &p, &pairs, err);
    data_ratings_fini(&pairs);
    predictor_fini(&p);
    return st;
}
