/* mf.h - what the files of the application `mf` share: mf.c (the driver's decisions), mf_plan.c
 * (data to executors and tables), mf_task.c (the tasks), mf_score.c (models written and used),
 * mf_show.c (errors as a list).
 *
 * Users belong to executors, items to as many blocks (num/mf.h cuts them, and numbers them anew, in
 * slots). What is where:
 *
 *   sgd            user factors: state of their executor    item factors: held shards, one a block
 *   als, implicit  both in tables that take increments: a task adds what its rows changed by
 *
 * Private to src/app and its tests. */
#ifndef APP_MF_H
#define APP_MF_H

#include "data/ratings.h"
#include "num/mf.h"
#include "shoal/train.h"

enum {
    MF_EXECUTORS_MAX = 128,
    MF_WINDOW = 4 /* epochs that may be under way at a time */
};

enum mf_algorithm { MF_SGD, MF_ALS, MF_IMPLICIT };

struct mf_options {
    uint32_t algorithm;
    uint64_t rank, epochs, executors; /* 0: see mf_epochs, mf_executors */
    double l2, tolerance;             /* below 0: see mf_l2, mf_tolerance */
    double rate, alpha, holdout;      /* rate 0: see mf_first_rate */
    bool bias;
};
uint64_t mf_epochs(const struct mf_options *options);
/* The share of itself by which an epoch's value has to fall for another one to follow; 0: any. */
double mf_tolerance(const struct mf_options *options);
/* The penalty, chosen by the ratings to train on where the options leave it open. */
double mf_l2(const struct mf_options *options, uint64_t ratings, uint32_t users, uint32_t items,
             double scale);
double mf_first_rate(const struct mf_options *options);
/* The rate of SGD in its `round`-th round; an epoch has as many as there are blocks. */
double mf_rate(const struct mf_options *options, uint64_t round, uint32_t blocks);

enum mf_fn {
    MF_PASS,  /* sgd: a pass over the ratings of the executor's users for the block it holds */
    MF_CHECK, /* sgd: no pass, only the held-out ratings; after the passes of an epoch */
    MF_USERS, /* als: the factors of the executor's users */
    MF_ITEMS, /* als: of its items */
    MF_JUDGE  /* als: the objective */
};

enum {
    MF_ITEM,      /* factors by slot; held for sgd */
    MF_KEPT,      /* bytes of struct mf_kept: for `save`, no task reads it */
    MF_RATE,      /* sgd: num_mf_row_rate of items, by slot */
    MF_USER = 2,  /* als: factors by slot */
    MF_BEST_ITEM, /* sgd, als, with ratings held out: the factors of the best epoch */
    MF_BEST_USER,
    MF_ITEM_GRAM =
        3,       /* implicit: the Gram matrix of each block of items, (blocks x stride, stride) */
    MF_USER_GRAM /* and of the users of each executor */
};

/* An executor's data begins with this. The others are num_mf data; 0: not there. */
struct mf_data {
    uint32_t executors, user_slots, item_slots, stride;
    double scale, l2;
    uint64_t train_at, items_at, valid_at; /* grid or users; items; grid */
};

/* What a task tells: sums of squared errors, of scaled ratings. */
struct mf_result {
    double error, valid_error, penalty; /* penalty: sum of squares of the factors */
    uint64_t count, valid_count;
};

struct mf_driver {
    uint32_t executors, window;
    uint32_t phase_ended;  /* als: tasks of the phase */
    uint64_t train, valid; /* ratings */
    uint64_t epochs;       /* at most */
    uint64_t closed;       /* epochs that have ended */
    uint64_t rounds;       /* ended, of all executors; als: phases */
    double scale, weight;  /* weight: implicit, sum of all confidences */
    double l2;
    double first, last;  /* training error of the first epoch; value of the last */
    double best;         /* the least value, where ratings are held out */
    uint64_t best_epoch; /* whose that is: `closed` when it was the last */
    uint64_t issued[MF_EXECUTORS_MAX], ended[MF_EXECUTORS_MAX]; /* rounds */
    struct mf_result sum[MF_WINDOW][MF_EXECUTORS_MAX];          /* by epoch */
};

/* Whether the model is that of an earlier epoch, in MF_BEST_ITEM and MF_BEST_USER. */
static inline bool mf_keeps_earlier(const struct mf_driver *d)
{
    return d->valid > 0 && d->best_epoch < d->closed;
}

/* Depends on the data only. */
uint32_t mf_executors(const struct mf_options *options, uint64_t ratings, uint32_t users,
                      uint32_t items);
shoal_status mf_plan(shoal_driver *driver, shoal_err *err);
/* The same with ratings that are loaded; reorders them. */
shoal_status mf_plan_ratings(shoal_driver *driver, struct data_ratings *ratings, shoal_err *err);
shoal_status mf_run(shoal_task *task, shoal_err *err);
shoal_status mf_save(shoal_driver *driver, shoal_model *model, shoal_err *err);
shoal_status mf_score(shoal_score *score, shoal_err *err);
/* The factors that the model has in a slot. */
const float *app_mf_row(shoal_driver *driver, bool user, uint32_t slot, size_t stride);
shoal_status app_mf_show(shoal_driver *driver, shoal_err *err); /* mf_show.c */

/* In the table MF_KEPT, followed by user_slot, item_slot (uint32_t by id), user_bias, item_bias (float
 * by id), and the names of users and of items, a line each. */
struct mf_kept {
    uint32_t users, items;
    uint64_t user_names_size, item_names_size;
    double mean, scale;
};
static inline size_t mf_kept_size(const struct mf_kept *kept)
{
    return sizeof *kept + 8 * ((size_t)kept->users + kept->items) + kept->user_names_size +
           kept->item_names_size;
}
struct mf_kept_parts {
    uint32_t *user_slot, *item_slot;
    float *user_bias, *item_bias;
    char *user_names, *item_names;
};
static inline struct mf_kept_parts mf_kept_parts(struct mf_kept *kept)
{
    struct mf_kept_parts p;

    p.user_slot = (uint32_t *)(kept + 1);
    p.item_slot = p.user_slot + kept->users;
    p.user_bias = (void *)(p.item_slot + kept->items);
    p.item_bias = p.user_bias + kept->users;
    p.user_names = (char *)(p.item_bias + kept->items);
    p.item_names = p.user_names + kept->user_names_size;
    return p;
}

#endif
