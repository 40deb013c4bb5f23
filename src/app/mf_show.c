/* mf_show.c - how good the factors are, by how much is known of a user: the error on held-out ratings, or where none
 * are held out on those trained on, of users with few ratings and with many.
 * Tests: tests/unit/app/test_mf.c, tests/cli/test_train_report.py. */
#include "app/mf.h"

#include "base/assert.h"
#include "base/err.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>

struct bin {
    const char *ratings;
    uint64_t users, judged;
    double share, rmse, mae;
};

#define AT(member) offsetof(struct bin, member)
static const shoal_field fields[] = {
    {AT(ratings), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "ratings", "USERS WITH",
     .help = "so many ratings to train on"},
    {AT(rmse), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, -1, 1, "rmse", "RMSE",
     .help = "root of the mean squared error of their ratings"},
    {AT(mae), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, -1, 1, "mae", "MAE",
     .help = "mean of the errors' sizes"},
    {AT(users), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 1, "users", "USERS",
     .help = "who have such ratings"},
    {AT(judged), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 1, "judged", "RATINGS JUDGED",
     .help = "of these users"},
    {AT(share), SHOAL_FIELD_F64, SHOAL_UNIT_PERCENT, 0, 1, "share", "OF ALL JUDGED",
     .help = "share of the ratings judged"},
};
#undef AT
static const shoal_schema held_schema = {"activity", "Held-out error by user activity",
                                         "Users who are alike in how much they rated", fields,
                                         BASE_COUNT(fields)};
static const shoal_schema train_schema = {"activity", "Training error by user activity",
                                          "Users who are alike in how much they rated", fields,
                                          BASE_COUNT(fields)};

static const uint32_t FROM[] = {0, 1, 5, 10, 20, 50, 100, 200, 500, 1000};
enum { BINS = BASE_COUNT(FROM) };

struct tally {
    shoal_driver *driver;
    const struct mf_data *data;
    size_t stride;
    uint32_t executor;
    struct bin bin[BINS];
};

static const void *part(const struct mf_data *data, uint64_t at)
{
    return (const char *)data + at;
}

/* Ratings of a row, in all blocks. */
static uint64_t count_row(const void *cut, uint32_t row)
{
    uint64_t count = 0;

    for (uint32_t b = 0; b < num_mf_data_blocks(cut); b++) {
        struct num_mf_block block = num_mf_block(cut, b);
        count += block.start[row + 1] - block.start[row];
    }
    return count;
}

static void judge_row(const struct tally *t, const void *cut, uint32_t row, struct bin *bin)
{
    const float *user =
        app_mf_row(t->driver, true, t->executor * t->data->user_slots + row, t->stride);
    uint32_t blocks = num_mf_data_blocks(cut);

    for (uint32_t b = 0; b < blocks; b++) {
        struct num_mf_block block = num_mf_block(cut, b);
        uint32_t first = blocks > 1 ? b * t->data->item_slots : 0;
        for (uint32_t e = block.start[row]; e < block.start[row + 1]; e++) {
            const float *item =
                app_mf_row(t->driver, false, first + block.entry[e].column, t->stride);
            double error = (double)block.entry[e].value;
            for (size_t k = 0; k < t->stride; k++)
                error -= (double)user[k] * (double)item[k];
            error *= t->data->scale;
            bin->rmse += error * error;
            bin->mae += fabs(error);
            bin->judged++;
        }
    }
}

static void judge_executor(struct tally *t)
{
    const void *train = part(t->data, t->data->train_at);
    const void *cut = t->data->valid_at > 0 ? part(t->data, t->data->valid_at) : train;
    uint32_t rows = num_mf_block(cut, 0).rows;

    for (uint32_t row = 0; row < rows; row++) {
        uint64_t known = count_row(train, row);
        uint32_t b = BINS - 1;
        if (count_row(cut, row) == 0)
            continue;
        while (known < FROM[b])
            b--;
        t->bin[b].users++;
        judge_row(t, cut, row, &t->bin[b]);
    }
}

static shoal_status list_bins(struct tally *t, bool held, shoal_err *err)
{
    char name[BINS][48];
    uint64_t all = 0;
    size_t count = 0;

    for (uint32_t b = 0; b < BINS; b++)
        all += t->bin[b].judged;
    for (uint32_t b = 0; b < BINS; b++) {
        struct bin row = t->bin[b];
        if (row.judged == 0)
            continue;
        if (b + 1 < BINS && FROM[b + 1] - FROM[b] > 1)
            snprintf(name[count], sizeof name[count], "%u to %u ratings", FROM[b], FROM[b + 1] - 1);
        else
            snprintf(name[count], sizeof name[count], b == 0 ? "no rating" : "%u and more",
                     FROM[b]);
        row.ratings = name[count];
        row.share = (double)row.judged / (double)all;
        row.rmse = sqrt(row.rmse / (double)row.judged);
        row.mae /= (double)row.judged;
        t->bin[count++] = row;
    }
    shoal_records records = {.first = t->bin, .stride = sizeof t->bin[0], .count = count};
    return shoal_driver_records(t->driver, held ? &held_schema : &train_schema, &records, err);
}

shoal_status app_mf_show(shoal_driver *driver, shoal_err *err)
{
    const struct mf_options *o = shoal_driver_options(driver);
    const struct mf_driver *d = shoal_driver_state(driver);
    struct tally t = {.driver = driver, .stride = num_mf_stride((uint32_t)o->rank)};
    size_t size;

    if (o->algorithm == MF_IMPLICIT) /* its counts are no ratings to compare with */
        return SHOAL_OK;
    for (t.executor = 0; t.executor < d->executors; t.executor++) {
        t.data = shoal_driver_block_read(driver, t.executor, &size);
        judge_executor(&t);
    }
    return list_bins(&t, d->valid > 0, err);
}
