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
 * the others. In sgd an epoch's value is taken along the way (each block right after its pass, training
 * errors before each step); the last one is of the finished model when ratings are held out. For
 * implicit feedback it is the root of the objective, penalties and all, by the sum of confidences.
 *
 * Sums are kept by executor and added in their order, so that reports and decisions do not depend on
 * the order in which tasks end. A job with staleness s may have s + 1 epochs under way; a decision
 * to stop then takes effect that many epochs later, always the same.
 *
 * Tests: tests/unit/app/test_mf.c, tests/cli/test_train_mf.py. */
#include "app/mf.h"

#include "base/err.h"
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

static const char *const ALGORITHMS[] = {"sgd", "als", "implicit", NULL};

static const shoal_opt OPTS[] = {
    {"algorithm", SHOAL_OPT_CHOICE, "sgd",
     "sgd: fastest; als: alternating least squares; implicit: als for counts, not ratings", 0, 0,
     ALGORITHMS, offsetof(struct mf_options, algorithm)},
    {"rank", SHOAL_OPT_U64, "32", "factors of a user and of an item", 1, NUM_MF_RANK_MAX, NULL,
     offsetof(struct mf_options, rank)},
    {"epochs", SHOAL_OPT_U64, "0", "passes over the ratings; 0: 6 for sgd, 10 for the others", 0,
     1e6, NULL, offsetof(struct mf_options, epochs)},
    {"executors", SHOAL_OPT_U64, "0",
     "parts of users and of items, as many as can work at once; 0: by the data, up to 64", 0,
     MF_EXECUTORS_MAX, NULL, offsetof(struct mf_options, executors)},
    {"rate", SHOAL_OPT_F64, "0.3", "first step of sgd; it falls to nothing over the epochs", 1e-6,
     10, NULL, offsetof(struct mf_options, rate)},
    {"l2", SHOAL_OPT_F64, "0.05", "penalty on squares of factors, per rating (implicit: plain)", 0,
     1e6, NULL, offsetof(struct mf_options, l2)},
    {"alpha", SHOAL_OPT_F64, "10", "implicit: confidence of a count of 1", 0, 1e6, NULL,
     offsetof(struct mf_options, alpha)},
    {"bias", SHOAL_OPT_FLAG, "true", "what users and items are above or below the mean, apart", 0,
     0, NULL, offsetof(struct mf_options, bias)},
    {"holdout", SHOAL_OPT_F64, "0", "share of ratings to judge by and not to train on", 0, 0.99,
     NULL, offsetof(struct mf_options, holdout)},
    {"tolerance", SHOAL_OPT_F64, "0",
     "stop when the value falls by a smaller share; 0: 0.001, and sgd goes through all epochs", 0,
     1, NULL, offsetof(struct mf_options, tolerance)},
};

uint64_t mf_epochs(const struct mf_options *options)
{
    if (options->epochs > 0)
        return options->epochs;
    return options->algorithm == MF_SGD ? 6 : 10;
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
        return root_mean(sum->error + o->l2 * sum->penalty, d->weight);
    if (d->valid > 0)
        return d->scale * root_mean(sum->valid_error, (double)sum->valid_count);
    return d->scale * root_mean(sum->error, (double)sum->count);
}

static shoal_status diverged(const struct mf_driver *d, const struct mf_options *o, shoal_err *err)
{
    base_err(err, SHOAL_E_IMPOSSIBLE,
             "training diverges in epoch %" PRIu64 ": errors grow without bound", d->closed + 1);
    if (o->algorithm == MF_SGD)
        base_err_hint(err, "lower rate, now %g: --set rate=%.2g", o->rate, o->rate / 3);
    else
        base_err_hint(err, "raise l2, now %g", o->l2);
    return SHOAL_E_IMPOSSIBLE;
}

/* Whether this epoch's value says that more would not help. */
static bool enough(struct mf_driver *d, const struct mf_options *o, double value)
{
    static const double TOLERANCE = 0.001; /* als */
    double tolerance = o->tolerance > 0 || o->algorithm == MF_SGD ? o->tolerance : TOLERANCE;
    bool rises = value > 1.0005 * d->last, slow = d->last - value < tolerance * d->last;

    d->rises = rises ? d->rises + 1 : 0;
    d->last = value;
    if (o->algorithm == MF_SGD && o->tolerance <= 0)
        return d->valid > 0 && d->rises >= 2; /* it learns the noise */
    return d->closed > 1 && slow;
}

/* ---- sgd ---- */

/* One more epoch than there are passes judges the finished model, if something is held out. */
static uint64_t rounds_in_all(const struct mf_driver *d)
{
    return (d->epochs + (d->valid > 0)) * d->executors;
}

/* Rounds of an executor that may go out now. */
static shoal_status issue(shoal_driver *driver, uint32_t executor, shoal_err *err)
{
    struct mf_driver *d = shoal_driver_state(driver);
    uint32_t n = d->executors, before = (executor + 1) % n;
    uint64_t *round = &d->issued[executor];
    shoal_status st = SHOAL_OK;

    while (*round < rounds_in_all(d) && *round < (d->closed + d->window) * n &&
           *round <= d->ended[before] && st == SHOAL_OK) {
        uint64_t epoch = *round / n;
        shoal_dispatch task = {.struct_size = sizeof task,
                               .executor = executor,
                               .fn = epoch < d->epochs ? MF_PASS : MF_CHECK,
                               .clock = epoch,
                               .ends_clock = *round % n == n - 1,
                               .holds = true,
                               .hold_table = MF_ITEM,
                               .hold_shard = (uint32_t)((executor + *round) % n),
                               .arg = round,
                               .arg_size = sizeof *round};
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
    bool check = d->closed == d->epochs;

    if (d->closed == 0)
        d->first = error;
    if (!isfinite(value) || !isfinite(error) || error > 2 * fmax(d->first, 1))
        return diverged(d, o, err);
    d->closed++;
    shoal_driver_report(driver, value, NAN, 0);
    if (!check && d->closed < d->epochs && enough(d, o, value) &&
        d->closed + d->window - 1 < d->epochs)
        d->epochs = d->closed + d->window - 1;
    if (d->closed * d->executors == rounds_in_all(d)) {
        shoal_driver_finish(driver);
        return SHOAL_OK;
    }
    shoal_status st = SHOAL_OK;
    for (uint32_t e = 0; e < d->executors && st == SHOAL_OK; e++)
        st = issue(driver, e, err);
    return st;
}

/* Whether all executors are past the epoch that is open. */
static bool epoch_ended(const struct mf_driver *d)
{
    for (uint32_t e = 0; e < d->executors; e++)
        if (d->ended[e] < (d->closed + 1) * d->executors)
            return false;
    return true;
}

static shoal_status done_round(shoal_driver *driver, const shoal_done *done,
                               const struct mf_result *result, shoal_err *err)
{
    struct mf_driver *d = shoal_driver_state(driver);
    uint32_t n = d->executors, e = done->executor;
    shoal_status st = SHOAL_OK;

    if (!isfinite(result->error) || !isfinite(result->valid_error))
        return diverged(d, shoal_driver_options(driver), err);
    add(&d->sum[done->clock % MF_WINDOW][e], result);
    d->ended[e]++;
    d->rounds++;
    shoal_driver_report(driver, NAN, (double)d->rounds / ((double)rounds_in_all(d) * n),
                        result->count);
    while (d->ended[e] % n == 0 && d->closed * n < rounds_in_all(d) && epoch_ended(d) &&
           st == SHOAL_OK)
        st = close_epoch(driver, err);
    if (st == SHOAL_OK)
        st = issue(driver, (e + n - 1) % n, err); /* waits for the block that is free now */
    return st;
}

/* ---- als ---- */

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
        d->closed++;
        shoal_driver_report(driver, value, NAN, 0);
        if (enough(d, o, value) || d->closed == d->epochs) {
            shoal_driver_finish(driver);
            return SHOAL_OK;
        }
    }
    return shoal_driver_dispatch_all(driver, NEXT[fn], d->rounds, err);
}

static shoal_status done_phase(shoal_driver *driver, const shoal_done *done,
                               const struct mf_result *result, shoal_err *err)
{
    struct mf_driver *d = shoal_driver_state(driver);
    double phases = 3.0 * (double)d->epochs, part;

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
        return shoal_driver_dispatch_all(driver, MF_USERS, 0, err);
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
                          .score = mf_score};
