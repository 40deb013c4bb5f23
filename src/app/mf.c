/* mf.c - `shoal train mf RATINGS`: factors of users and items whose products are the ratings.
 *
 * Three algorithms, on the same cut of users among E executors and of items into E blocks:
 *
 * sgd: stochastic gradient descent over rotated blocks (Gemulla et al. 2011; Yun et al. 2014 without
 *   their queues). An epoch has E rounds. In round r executor e holds block (e + r) mod E and takes
 *   steps on its users' ratings for it. Block and executor are both its own meanwhile, so no step is
 *   lost and none races. Executor e + 1 held the block in round r - 1; as soon as it has ended that
 *   one, round r of e is dispatched. So nothing waits for all inside an epoch, a slow executor delays
 *   its neighbour only, and every block goes through the executors in one fixed order: factors are
 *   equal bit for bit for any number of workers, any staleness, after moves and kills.
 * als: alternating least squares: all users given the items, then all items given the users, then
 *   the objective. One phase after the other.
 * implicit: the same for counts in place of ratings (Hu, Koren, Volinsky 2008): every pair that does
 *   not occur is a weak 0, every one that does a 1 with confidence 1 + alpha x count.
 *
 * The value reported is the root mean squared error of held-out ratings if there are some, else of
 * the others. In sgd training errors are taken along the way, each before its step; held-out ratings
 * are judged in a second rotation after the passes of an epoch, when each block and executor is done
 * with them, so the value is that of the epoch's model. For implicit feedback it is the root of the
 * objective, penalties and all, by the sum of confidences.
 *
 * The model kept is that of the epoch with the least held-out error. An epoch that is the best so far and
 * not the last is copied into tables of its own, by the driver, when no task is out.
 *
 * Sums are kept by executor and added in their order, so that reports and decisions do not depend on
 * the order in which tasks end. Where values decide something, epochs follow one another; else a job
 * with staleness s may have s + 1 of them under way.
 *
 * Tests: tests/unit/app/test_mf.c, tests/cli/test_train_mf.py. */
#include "app/mf.h"

#include "base/assert.h"
#include "base/err.h"
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const ALGORITHMS[] = {"sgd", "als", "implicit", NULL};

#define AT(member) offsetof(struct mf_options, member)

static const shoal_opt OPTS[] = {
    {AT(algorithm), SHOAL_OPT_CHOICE, "algorithm", 0, NULL, "sgd",
     "sgd: fastest; als: alternating least squares; implicit: als for counts, not ratings",
     .choices = ALGORITHMS},
    {AT(rank), SHOAL_OPT_U64, "rank", 0, NULL, "32", "factors of a user and of an item", .min = 1,
     .max = NUM_MF_RANK_MAX},
    {AT(epochs), SHOAL_OPT_U64, "epochs", 0, NULL, "0",
     "passes over the ratings, at most; 0: 6 for sgd, 30 for the others", .max = 1e6},
    {AT(executors), SHOAL_OPT_U64, "executors", 0, NULL, "0",
     "parts of users and of items, as many as can work at once; 0: by the data, up to 64",
     .max = MF_EXECUTORS_MAX},
    {AT(rate), SHOAL_OPT_F64, "rate", 0, NULL, "0",
     "first step of sgd; it falls to nothing over the epochs; 0: 0.3, less for more than 6 epochs",
     .max = 10},
    {AT(l2), SHOAL_OPT_F64, "l2", 0, NULL, "-1",
     "penalty on squares of factors, per rating (implicit: plain); -1: by the data", .min = -1,
     .max = 1e6},
    {AT(alpha), SHOAL_OPT_F64, "alpha", 0, NULL, "10", "implicit: confidence of a count of 1",
     .max = 1e6},
    {AT(bias), SHOAL_OPT_FLAG, "bias", 0, NULL, "true",
     .help = "what users and items are above or below the mean, apart"},
    {AT(holdout), SHOAL_OPT_F64, "holdout", 0, NULL, "0",
     "share of ratings to judge by and not to train on", .max = 0.99},
    {AT(tolerance), SHOAL_OPT_F64, "tolerance", 0, NULL, "-1",
     "stop when the value falls by a smaller share; 0: after all epochs; -1: 0.001, and 0 for sgd",
     .min = -1, .max = 1},
};

enum { SGD_EPOCHS = 6 };

uint64_t mf_epochs(const struct mf_options *options)
{
    if (options->epochs > 0)
        return options->epochs;
    return options->algorithm == MF_SGD ? SGD_EPOCHS : 30;
}

/* Steps that stay large over many epochs overfit, or diverge. Three places, as of mf_l2. */
double mf_first_rate(const struct mf_options *options)
{
    double epochs = fmax((double)mf_epochs(options), SGD_EPOCHS);

    return options->rate > 0 ? options->rate
                             : fmax(round(300 * sqrt(SGD_EPOCHS / epochs)), 1) / 1000;
}

double mf_tolerance(const struct mf_options *options)
{
    if (options->tolerance >= 0)
        return options->tolerance;
    return options->algorithm == MF_SGD ? 0 : 0.001;
}

/* A user or item with few ratings needs a larger penalty; least squares, which end at a minimum, a
 * larger one than the few passes of sgd. How much was found on generated ratings of 5 to 400 a row and
 * on MovieLens, whose ratings are 1 to 5: docs/train.md. It follows the scale of the ratings, so that
 * stars and per cents give the same model. Three digits, so that the number told can be given. */
double mf_l2(const struct mf_options *options, uint64_t ratings, uint32_t users, uint32_t items,
             double scale)
{
    static const double IMPLICIT = 0.05, SGD = 0.05, ALS = 0.07, ROW_RATINGS = 100, POWER = 0.3;
    static const double STARS = 0.9; /* scale of ratings from 1 to 5 */
    double per_row = (double)ratings / ((double)users + (double)items);
    double l2 = (options->algorithm == MF_SGD ? SGD : ALS) * pow(ROW_RATINGS / per_row, POWER);

    if (options->l2 >= 0)
        return options->l2;
    if (options->algorithm == MF_IMPLICIT)
        return IMPLICIT;
    l2 = fmin(fmax(l2, 0.01), 0.25) * (scale / STARS);
    double unit = pow(10, floor(log10(l2)) - 2);
    return round(l2 / unit) * unit;
}

static double root_mean(double sum, double count)
{
    return count > 0 ? sqrt(fmax(sum, 0) / count) : 0;
}

/* ---- results ---- */

static void add(struct mf_result *sum, const struct mf_result *x)
{
    sum->error += x->error;
    sum->valid_error += x->valid_error;
    sum->penalty += x->penalty;
    sum->count += x->count;
    sum->valid_count += x->valid_count;
}

/* Of an epoch, all executors in order; the place is free for another epoch then. */
static struct mf_result take_sum(struct mf_driver *d, uint64_t epoch)
{
    struct mf_result sum = {0};
    struct mf_result *of = d->sum[epoch % MF_WINDOW];

    for (uint32_t e = 0; e < d->executors; e++)
        add(&sum, &of[e]);
    memset(of, 0, sizeof d->sum[0]);
    return sum;
}

static double value_of(const struct mf_driver *d, const struct mf_options *o,
                       const struct mf_result *sum)
{
    if (o->algorithm == MF_IMPLICIT)
        return root_mean(sum->error + d->l2 * sum->penalty, d->weight);
    if (d->valid > 0)
        return d->scale * root_mean(sum->valid_error, (double)sum->valid_count);
    return d->scale * root_mean(sum->error, (double)sum->count);
}

static shoal_status diverged(const struct mf_driver *d, const struct mf_options *o, shoal_err *err)
{
    base_err(err, SHOAL_E_IMPOSSIBLE,
             "training diverges in epoch %" PRIu64 ": errors grow without bound", d->closed + 1);
    if (o->algorithm == MF_SGD)
        base_err_hint(err, "lower rate, now %g: --set rate=%.2g", mf_first_rate(o),
                      mf_first_rate(o) / 3);
    else
        base_err_hint(err, "raise l2, now %g", d->l2);
    return SHOAL_E_IMPOSSIBLE;
}

/* ---- how it ends ---- */

/* By the value of the epoch that has just ended. SHOAL_STOP_UNSAID: it goes on. The steps of sgd become
 * small at the end of its epochs, so there a small fall is no sign of convergence, unless it was asked
 * for; a large one is a sign that there were too few. */
static shoal_stop stops(const struct mf_driver *d, const struct mf_options *o, double value)
{
    double asked = mf_tolerance(o), fall = d->last - value; /* of the first epoch: INFINITY */
    bool open = o->algorithm == MF_SGD && asked <= 0;
    bool falls = value > 0 && !(fall < (asked > 0 ? asked : open ? 0.01 : 0.001) * d->last);

    if (d->closed < d->epochs && (falls || asked <= 0))
        return SHOAL_STOP_UNSAID;
    if (mf_keeps_earlier(d))
        return SHOAL_STOP_HELD_OUT;
    if (open && (d->valid == 0 || !falls))
        return SHOAL_STOP_SCHEDULE;
    return falls ? SHOAL_STOP_LIMIT : SHOAL_STOP_TOLERANCE;
}

/* Copies the factors of now. No task is out, and tables are fresh. */
static void keep_best(shoal_driver *driver)
{
    const struct mf_options *o = shoal_driver_options(driver);
    const struct mf_driver *d = shoal_driver_state(driver);
    size_t stride = num_mf_stride((uint32_t)o->rank), size;
    uint64_t first, count;

    for (uint32_t e = 0; e < d->executors; e++) {
        float *best = shoal_driver_shard(driver, MF_BEST_ITEM, e, &first, &count);
        memcpy(best, shoal_driver_shard_read(driver, MF_ITEM, e, NULL, NULL),
               count * stride * sizeof *best);
        best = shoal_driver_shard(driver, MF_BEST_USER, e, &first, &count);
        memcpy(best,
               o->algorithm == MF_SGD ? shoal_driver_executor_read(driver, e, &size)
                                      : shoal_driver_shard_read(driver, MF_USER, e, NULL, NULL),
               count * stride * sizeof *best);
    }
}

/* Of an epoch: reported, and what follows from it. Whether it was the last. */
static bool take_value(shoal_driver *driver, double value)
{
    const struct mf_options *o = shoal_driver_options(driver);
    struct mf_driver *d = shoal_driver_state(driver);
    bool best = d->valid > 0 && value < d->best;

    d->closed++;
    shoal_driver_iterations(driver, d->closed);
    if (best) {
        d->best = value;
        d->best_epoch = d->closed;
    }
    shoal_stop why = stops(d, o, value);
    d->last = value;
    shoal_driver_report(driver, value, NAN, 0);
    if (best && why == SHOAL_STOP_UNSAID)
        keep_best(driver);
    if (why == SHOAL_STOP_UNSAID)
        return false;
    if (mf_keeps_earlier(d))
        shoal_driver_report(driver, d->best, NAN, 0);
    shoal_driver_stopped(driver, why, NAN);
    shoal_driver_finish(driver);
    return true;
}

/* ---- sgd ---- */

/* Of an executor in an epoch: passes, then checks if something is held out. */
static uint64_t rounds_of_epoch(const struct mf_driver *d)
{
    return d->executors * (d->valid > 0 ? UINT64_C(2) : UINT64_C(1));
}

/* Tables that no task reads. */
static const uint32_t UNREAD = 1U << MF_KEPT | 1U << MF_BEST_ITEM | 1U << MF_BEST_USER;

/* Rounds of an executor that may go out now. */
static shoal_status issue(shoal_driver *driver, uint32_t executor, shoal_err *err)
{
    struct mf_driver *d = shoal_driver_state(driver);
    uint32_t n = d->executors, before = (executor + 1) % n;
    uint64_t *round = &d->issued[executor], each = rounds_of_epoch(d);
    shoal_status st = SHOAL_OK;

    while (*round < d->epochs * each && *round < (d->closed + d->window) * each &&
           *round <= d->ended[before] && st == SHOAL_OK) {
        uint64_t epoch = *round / each, within = *round % each, pass = epoch * n + within;
        shoal_dispatch task = {.struct_size = sizeof task,
                               .executor = executor,
                               .fn = within < n ? MF_PASS : MF_CHECK,
                               .clock = epoch,
                               .ends_clock = within == each - 1,
                               .holds = true,
                               .hold_table = MF_ITEM,
                               .hold_shard = (uint32_t)((executor + *round) % n),
                               .arg = &pass,
                               .arg_size = sizeof pass,
                               .unread = UNREAD};
        st = shoal_driver_dispatch(driver, &task, err);
        ++*round;
    }
    return st;
}

static shoal_status close_epoch(shoal_driver *driver, shoal_err *err)
{
    const struct mf_options *o = shoal_driver_options(driver);
    struct mf_driver *d = shoal_driver_state(driver);
    struct mf_result sum = take_sum(d, d->closed);
    double value = value_of(d, o, &sum), error = root_mean(sum.error, (double)sum.count);

    if (d->closed == 0)
        d->first = error;
    if (!isfinite(value) || !isfinite(error) || error > 2 * fmax(d->first, 1))
        return diverged(d, o, err);
    if (take_value(driver, value))
        return SHOAL_OK;
    shoal_status st = SHOAL_OK;
    for (uint32_t e = 0; e < d->executors && st == SHOAL_OK; e++)
        st = issue(driver, e, err);
    return st;
}

/* Whether all executors are past the epoch that is open. */
static bool epoch_ended(const struct mf_driver *d)
{
    for (uint32_t e = 0; e < d->executors; e++)
        if (d->ended[e] < (d->closed + 1) * rounds_of_epoch(d))
            return false;
    return true;
}

static shoal_status done_round(shoal_driver *driver, const shoal_done *done,
                               const struct mf_result *result, shoal_err *err)
{
    struct mf_driver *d = shoal_driver_state(driver);
    uint32_t n = d->executors, e = done->executor;
    uint64_t each = rounds_of_epoch(d), all = d->epochs * each;
    shoal_status st = SHOAL_OK;

    if (!isfinite(result->error) || !isfinite(result->valid_error))
        return diverged(d, shoal_driver_options(driver), err);
    add(&d->sum[done->clock % MF_WINDOW][e], result);
    d->ended[e]++;
    d->rounds++;
    shoal_driver_report(driver, NAN, (double)d->rounds / ((double)all * n), result->count);
    while (d->ended[e] % each == 0 && d->closed < d->epochs && epoch_ended(d) && st == SHOAL_OK)
        st = close_epoch(driver, err);
    if (st == SHOAL_OK)
        st = issue(driver, (e + n - 1) % n, err); /* waits for the block that is free now */
    return st;
}

/* ---- als ---- */

static shoal_status dispatch_phase(shoal_driver *driver, uint32_t fn, shoal_err *err)
{
    const struct mf_options *o = shoal_driver_options(driver);
    const struct mf_driver *d = shoal_driver_state(driver);
    shoal_status st = SHOAL_OK;

    for (uint32_t e = 0; e < d->executors && st == SHOAL_OK; e++) {
        shoal_dispatch task = {.struct_size = sizeof task,
                               .executor = e,
                               .fn = fn,
                               .clock = d->rounds,
                               .ends_clock = true,
                               .unread = o->algorithm == MF_ALS ? UNREAD : 1U << MF_KEPT};
        st = shoal_driver_dispatch(driver, &task, err);
    }
    return st;
}

static shoal_status close_phase(shoal_driver *driver, uint32_t fn, shoal_err *err)
{
    static const uint32_t NEXT[] = {
        [MF_USERS] = MF_ITEMS, [MF_ITEMS] = MF_JUDGE, [MF_JUDGE] = MF_USERS};
    const struct mf_options *o = shoal_driver_options(driver);
    struct mf_driver *d = shoal_driver_state(driver);
    struct mf_result sum = take_sum(d, 0);

    d->rounds++;
    if (fn == MF_JUDGE) {
        double value = value_of(d, o, &sum);
        if (!isfinite(value))
            return diverged(d, o, err);
        if (take_value(driver, value))
            return SHOAL_OK;
    }
    return dispatch_phase(driver, NEXT[fn], err);
}

static shoal_status done_phase(shoal_driver *driver, const shoal_done *done,
                               const struct mf_result *result, shoal_err *err)
{
    struct mf_driver *d = shoal_driver_state(driver);
    double phases = 3.0 * (double)d->epochs, part;

    if (done->fn == MF_JUDGE && d->valid > 0 && d->phase_ended + 1 == d->executors &&
        shoal_driver_fresh(driver) != SHOAL_OK)
        return SHOAL_AGAIN; /* tables are copied if this was the best epoch */
    add(&d->sum[0][done->executor], result);
    part = (double)++d->phase_ended / d->executors;
    shoal_driver_report(driver, NAN, ((double)d->rounds + part) / phases,
                        done->fn == MF_USERS ? result->count : 0);
    if (d->phase_ended < d->executors)
        return SHOAL_OK;
    d->phase_ended = 0;
    return close_phase(driver, done->fn, err);
}

/* ---- hooks ---- */

static shoal_status start(shoal_driver *driver, shoal_err *err)
{
    const struct mf_options *o = shoal_driver_options(driver);
    const struct mf_driver *d = shoal_driver_state(driver);
    shoal_status st = SHOAL_OK;

    if (o->algorithm != MF_SGD)
        return dispatch_phase(driver, MF_USERS, err);
    for (uint32_t e = 0; e < d->executors && st == SHOAL_OK; e++)
        st = issue(driver, e, err);
    return st;
}

static shoal_status done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    const struct mf_options *o = shoal_driver_options(driver);
    struct mf_result result;

    if (done->result_size != sizeof result)
        return base_err(err, SHOAL_E_INTERNAL, "a task's result of %zu bytes", done->result_size);
    memcpy(&result, done->result, sizeof result);
    return o->algorithm == MF_SGD ? done_round(driver, done, &result, err)
                                  : done_phase(driver, done, &result, err);
}

/* What was left open, in the words that would give it. */
static shoal_status tell(shoal_driver *driver, shoal_err *err)
{
    const struct mf_options *o = shoal_driver_options(driver);
    const struct mf_driver *d = shoal_driver_state(driver);
    const struct {
        const char *key;
        bool open, told;
        double value;
    } rows[] = {{"l2", o->l2 < 0, true, d->l2},
                {"rate", o->rate <= 0 && o->algorithm == MF_SGD, true, mf_first_rate(o)},
                {"epochs", o->epochs == 0, true, (double)mf_epochs(o)},
                {"executors", o->executors == 0, true, d->executors},
                {"tolerance", o->tolerance < 0, false, mf_tolerance(o)}};
    char line[100] = "chosen:", value[32];
    size_t bare = strlen(line), at = bare;

    (void)err;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        if (!rows[i].open)
            continue;
        snprintf(value, sizeof value, "%g", rows[i].value);
        if (!rows[i].told && rows[i].value <= 0)
            snprintf(value, sizeof value, "not used");
        shoal_driver_setting(driver, rows[i].key, value);
        if (rows[i].told)
            at += (size_t)snprintf(line + at, sizeof line - at, " %s=%s", rows[i].key, value);
    }
    if (at > bare)
        shoal_driver_say(driver, line);
    if (o->holdout <= 0)
        shoal_driver_setting(driver, "holdout", "none");
    if (mf_keeps_earlier(d)) {
        snprintf(line, sizeof line,
                 "kept: the model of epoch %" PRIu64 " of %" PRIu64 ", best on held-out ratings",
                 d->best_epoch, d->closed);
        shoal_driver_say(driver, line);
    }
    return SHOAL_OK;
}

extern const shoal_app app_mf;
const shoal_app app_mf = {.struct_size = sizeof app_mf,
                          .name = "mf",
                          .summary = "factors of users and items, from ratings or counts",
                          .data = "a rating a line: user,item,rating (or tabs, spaces, '::')",
                          .objective = "rmse",
                          .units = "ratings",
                          .opts = OPTS,
                          .opt_count = sizeof OPTS / sizeof OPTS[0],
                          .options_size = sizeof(struct mf_options),
                          .driver_size = sizeof(struct mf_driver),
                          .plan = mf_plan,
                          .start = start,
                          .done = done,
                          .run = mf_run,
                          .save = mf_save,
                          .tell = tell,
                          .show = app_mf_show,
                          .score = mf_score};
