/* lasso.c - `shoal train lasso DATA.svm`: lasso, elastic net and sparse logistic regression over a
 * path of penalties, with cross-validation.
 *
 * Minimised is mean loss + lambda (mix |b|_1 + (1 - mix) |b|^2 / 2), glmnet's and scikit-learn's
 * objective, for `lambdas` penalties from the largest that leaves any coefficient, each solution
 * the next one's start. num/lasso.h has the method; this is how it is cut into tasks.
 *
 * A clock either solves or scans. SOLVE: each chain minimises over its working set, as one task: the
 * columns that the strong rule leaves (Tibshirani and others, "Strong rules for discarding
 * predictors in lasso-type problems", 2012) and those that have a coefficient. SCAN: all columns are
 * looked at, in ranges that are a task each, for all chains at once. From the slopes found the driver
 * knows each chain's duality gap; a chain whose gap is above tol x objective has its columns with
 * too large a slope added and is solved again, the others pause. Then comes the next lambda.
 *
 * What is worth doing at once. The whole matrix is looked at once a lambda, and its scan is cut as
 * fine as there is work; folds are chains that know nothing of each other; a working set is a
 * percent of the columns, and its solution is one task: its coordinates are visited by priority
 * (num/lasso.c), which measured three to four times fewer visits than a random order; a visit is a
 * microsecond, far below what it costs to hand out. Columns are in a table that every task reads in
 * place, so no chain has a copy.
 *
 * The job is bulk synchronous and all decisions are the driver's, from sums in fixed order: the model
 * is the same bit for bit for any workers.
 *
 * Tests: tests/unit/app/test_lasso.c. */
#include "app/lasso.h"

#include "base/err.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { ROUNDS_MAX = 20 };
static const char *const LOSSES[] = {"squared", "logistic", NULL};
static const char *const PICKS[] = {"best", "simple", "last", NULL};
static const char *const INDICES[] = {"one", "zero", NULL};
static const char *const SCHEDULES[] = {"priority", "cyclic", "random", NULL};

static const shoal_opt OPTS[] = {
    {"loss", SHOAL_OPT_CHOICE, "squared", "what errors cost; logistic takes two different labels",
     0, 0, LOSSES, offsetof(struct lasso_options, loss)},
    {"mix", SHOAL_OPT_F64, "1", "share of |b| in the penalty, the rest is squares; 1: lasso", 0.001,
     1, NULL, offsetof(struct lasso_options, mix)},
    {"lambdas", SHOAL_OPT_U64, "100", "penalties on the path", 1, LASSO_LAMBDAS_MAX, NULL,
     offsetof(struct lasso_options, lambdas)},
    {"lambda", SHOAL_OPT_F64, "0", "the last penalty; 0: ratio x the first", 0, 1e15, NULL,
     offsetof(struct lasso_options, lambda)},
    {"ratio", SHOAL_OPT_F64, "0",
     "the last penalty against the first; 0: 0.01 with fewer rows than columns, else 0.001", 0, 1,
     NULL, offsetof(struct lasso_options, ratio)},
    {"folds", SHOAL_OPT_U64, "0", "parts of cross-validation; 0: none", 0, LASSO_FOLDS_MAX, NULL,
     offsetof(struct lasso_options, folds)},
    {"pick", SHOAL_OPT_CHOICE, "best",
     "of the path for predictions: least held-out loss, the simplest within a standard error of "
     "it, or the last; without folds the last",
     0, 0, PICKS, offsetof(struct lasso_options, pick)},
    {"tol", SHOAL_OPT_F64, "1e-3", "a solution's duality gap, against its objective", 1e-12, 1,
     NULL, offsetof(struct lasso_options, tol)},
    {"intercept", SHOAL_OPT_FLAG, "true", "fits one, without penalty", 0, 0, NULL,
     offsetof(struct lasso_options, intercept)},
    {"scale", SHOAL_OPT_FLAG, "false", "divides columns by their standard deviation first", 0, 0,
     NULL, offsetof(struct lasso_options, scale)},
    {"schedule", SHOAL_OPT_CHOICE, "priority", "in which order coordinates are visited", 0, 0,
     SCHEDULES, offsetof(struct lasso_options, schedule)},
    {"index", SHOAL_OPT_CHOICE, "one", "what the data calls its first column", 0, 0, INDICES,
     offsetof(struct lasso_options, index)},
    {"probabilities", SHOAL_OPT_FLAG, "false", "'shoal predict' tells that of the larger label too",
     0, 0, NULL, offsetof(struct lasso_options, probabilities)},
};

static const struct lasso_data *data_of(shoal_driver *driver)
{
    return (const void *)shoal_driver_rows_read(driver, LASSO_DATA);
}

static struct lasso_view chain_of(shoal_driver *driver, uint32_t chain)
{
    const struct lasso_driver *d = shoal_driver_state(driver);
    size_t size;
    const void *state = shoal_driver_executor_read(driver, chain, &size);

    return lasso_view_of((void *)(uintptr_t)state, d->rows, d->columns); /* only read */
}

/* ---- clocks ---- */

/* Chains of `open` run `solve`, the others pause; or the scanners scan for those. */
static shoal_status send_clock(shoal_driver *driver, enum lasso_fn fn, shoal_err *err)
{
    struct lasso_driver *d = shoal_driver_state(driver);
    const struct lasso_step *at = &d->of[d->step];
    struct lasso_arg arg = {.lambda = at->lambda,
                            .before = d->step > 0 ? at[-1].lambda : at->lambda,
                            .round = d->round,
                            .chains = d->open};
    uint32_t unread = fn == LASSO_SCAN ? 1u << LASSO_GRADIENT : 1u << LASSO_SLOPE;
    shoal_status st = SHOAL_OK;

    for (uint32_t e = 0; e < d->chains + d->parts && st == SHOAL_OK; e++) {
        bool busy = fn == LASSO_SCAN ? e >= d->chains : e < d->chains && (d->open >> e & 1) != 0;
        shoal_dispatch task = {.executor = e,
                               .fn = busy ? fn : LASSO_PAUSE,
                               .clock = d->clock,
                               .ends_clock = true,
                               .arg = &arg,
                               .arg_size = sizeof arg,
                               .unread = busy ? unread | 1u << LASSO_PATH : ~0u};
        st = shoal_driver_dispatch(driver, &task, err);
    }
    d->clock++;
    return st;
}

/* What chains left goes where scanners see it. */
static shoal_status after_solve(shoal_driver *driver, shoal_err *err)
{
    struct lasso_driver *d = shoal_driver_state(driver);
    char *slope = (char *)shoal_driver_rows(driver, LASSO_SLOPE);
    size_t size = d->rows * sizeof(double);
    uint64_t updates = 0;

    for (uint32_t c = 0; c < d->chains; c++)
        if ((d->open >> c & 1) != 0) {
            memcpy(slope + c * size, chain_of(driver, c).u, size);
            updates += d->solved[c].updates;
        }
    d->updates += updates;
    shoal_driver_report(driver, NAN, NAN, updates);
    return send_clock(driver, LASSO_SCAN, err);
}

/* What scanners left goes where chains see it. */
static void gather_slopes(shoal_driver *driver)
{
    struct lasso_driver *d = shoal_driver_state(driver);
    const struct lasso_data *data = data_of(driver);
    float *gradient = shoal_driver_rows(driver, LASSO_GRADIENT);
    size_t size;

    for (uint32_t part = 0; part < d->parts; part++) {
        const float *found = shoal_driver_executor_read(driver, d->chains + part, &size);
        size_t first = data->part_first[part], count = data->part_first[part + 1] - first;
        for (uint32_t c = 0; c < d->chains; c++)
            if ((d->open >> c & 1) != 0)
                memcpy(gradient + (size_t)c * d->columns + first, found + c * count,
                       count * sizeof *found);
    }
}

/* Of all columns. */
static double seen_of(const struct lasso_driver *d, uint32_t chain, double *out_excess)
{
    double most = 0;

    *out_excess = 0;
    for (uint32_t part = 0; part < d->parts; part++) {
        most = fmax(most, d->seen[part].most[chain]);
        *out_excess += d->seen[part].excess[chain];
    }
    return most;
}

static double gap_of(shoal_driver *driver, uint32_t chain)
{
    const struct lasso_driver *d = shoal_driver_state(driver);
    struct num_lasso p = lasso_problem(data_of(driver), shoal_driver_options(driver), chain);
    struct lasso_view v = chain_of(driver, chain);
    struct num_lasso_point point = {.u = v.u, .z = v.z, .intercept = v.head->intercept};
    double excess, most = seen_of(d, chain, &excess);

    p.lambda = d->of[d->step].lambda;
    return d->solved[chain].objective - num_lasso_bound(&p, &point, most, excess);
}

/* Of all chains, against their objectives: folds that did not get there are to be seen. */
static double worst_gap(const struct lasso_driver *d)
{
    double worst = 0;

    for (uint32_t c = 0; c < d->chains; c++)
        if (d->gap[c] > 0 && d->solved[c].objective > 0)
            worst = fmax(worst, d->gap[c] / d->solved[c].objective);
    return worst;
}

/* ---- the path ---- */

/* Appends chain 0's solution. */
static shoal_status keep_solution(shoal_driver *driver, shoal_err *err)
{
    struct lasso_driver *d = shoal_driver_state(driver);
    struct lasso_step *at = &d->of[d->step];
    struct lasso_view v = chain_of(driver, 0);
    struct lasso_entry *path = (void *)shoal_driver_rows(driver, LASSO_PATH);
    const struct lasso_data *data = data_of(driver);
    const float *scale =
        data->scale_at > 0 ? (const void *)((const char *)data + data->scale_at) : NULL;
    uint64_t end = d->step > 0 ? at[-1].end : 0;

    for (uint32_t j = 0; j < d->columns; j++) {
        if (v.b[j] == 0)
            continue;
        if (end == d->path_max) {
            base_err(err, SHOAL_E_LIMIT, "the path has more than %llu coefficients",
                     (unsigned long long)end);
            base_err_hint(err, "fewer lambdas, or a larger ratio");
            return SHOAL_E_LIMIT;
        }
        path[end++] = (struct lasso_entry){
            j, (float)(scale != NULL && scale[j] > 0 ? v.b[j] / (double)scale[j] : v.b[j])};
    }
    at->end = end;
    at->intercept = v.head->intercept + data->y_mean;
    at->objective = d->solved[0].objective;
    at->loss = d->solved[0].loss;
    at->gap = worst_gap(d) * at->objective;
    for (uint32_t f = 0; f < d->folds; f++)
        at->held[f] = d->solved[f + 1].held;
    return SHOAL_OK;
}

/* The lambdas, from the largest that leaves any coefficient. */
static shoal_status lay_path(shoal_driver *driver, shoal_err *err)
{
    const struct lasso_options *o = shoal_driver_options(driver);
    struct lasso_driver *d = shoal_driver_state(driver);
    double excess, most = seen_of(d, 0, &excess), last = o->ratio;

    if (!(most > 0)) {
        base_err(err, SHOAL_E_IMPOSSIBLE, "no column says anything about the target");
        base_err_where(err, "%s", shoal_driver_path(driver));
        return SHOAL_E_IMPOSSIBLE;
    }
    d->first = most / o->mix;
    if (last == 0)
        last = d->rows < d->columns ? 0.01 : 0.001;
    if (d->lambdas > 1 && o->lambda > d->first) {
        base_err(err, SHOAL_E_INVAL, "a path ends at its smallest penalty, and lambda is %g",
                 o->lambda);
        base_err_hint(err, "above %g no coefficient is left: take less, or lambdas=1", d->first);
        return SHOAL_E_INVAL;
    }
    if (o->lambda > 0)
        last = o->lambda / d->first;
    for (uint32_t k = 0; k < d->lambdas; k++)
        d->of[k].lambda =
            d->first * (d->lambdas > 1 ? pow(last, k / (double)(d->lambdas - 1)) : last);
    d->step = 0;
    d->round = 0;
    return send_clock(driver, LASSO_SOLVE, err);
}

static shoal_status next_lambda(shoal_driver *driver, shoal_err *err)
{
    struct lasso_driver *d = shoal_driver_state(driver);
    shoal_status st = keep_solution(driver, err);

    if (st != SHOAL_OK)
        return st;
    shoal_driver_report(driver, d->of[d->step].objective, (d->step + 1) / (double)d->lambdas, 0);
    d->open = (1u << d->chains) - 1;
    d->round = 0;
    if (d->step + 1 == d->lambdas) {
        shoal_driver_finish(driver);
        return SHOAL_OK;
    }
    d->step++;
    return send_clock(driver, LASSO_SOLVE, err);
}

static shoal_status after_scan(shoal_driver *driver, shoal_err *err)
{
    const struct lasso_options *o = shoal_driver_options(driver);
    struct lasso_driver *d = shoal_driver_state(driver);

    gather_slopes(driver);
    if (!(d->first > 0))
        return lay_path(driver, err);
    for (uint32_t c = 0; c < d->chains; c++) {
        if ((d->open >> c & 1) == 0)
            continue;
        double gap = gap_of(driver, c);
        if (!isfinite(gap))
            return base_err(err, SHOAL_E_IMPOSSIBLE, "numbers of this data are too large");
        d->gap[c] = gap;
        if (gap <= o->tol * d->solved[c].objective)
            d->open &= ~(1u << c);
    }
    if (d->open == 0 || ++d->round == ROUNDS_MAX)
        return next_lambda(driver, err);
    return send_clock(driver, LASSO_SOLVE, err);
}

/* ---- hooks ---- */

static shoal_status start(shoal_driver *driver, shoal_err *err)
{
    return send_clock(driver, LASSO_BEGIN, err);
}

static shoal_status book(struct lasso_driver *d, const shoal_done *done, shoal_err *err)
{
    uint32_t e = done->executor;

    if (done->fn == LASSO_PAUSE)
        return SHOAL_OK;
    if (e < d->chains && done->result_size == sizeof d->solved[0])
        memcpy(&d->solved[e], done->result, sizeof d->solved[0]);
    else if (e >= d->chains && e < d->chains + d->parts && done->result_size == sizeof d->seen[0])
        memcpy(&d->seen[e - d->chains], done->result, sizeof d->seen[0]);
    else
        return base_err(err, SHOAL_E_INTERNAL, "a task's result of %zu bytes", done->result_size);
    return SHOAL_OK;
}

static shoal_status done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    struct lasso_driver *d = shoal_driver_state(driver);
    bool last = d->ended + 1 == d->chains + d->parts;

    if (last && shoal_driver_fresh(driver) != SHOAL_OK)
        return SHOAL_AGAIN;
    shoal_status st = book(d, done, err);
    if (st != SHOAL_OK)
        return st;
    d->ended++;
    if (!last)
        return SHOAL_OK;
    d->ended = 0;
    d->scanning = !d->scanning;
    return d->scanning ? after_solve(driver, err) : after_scan(driver, err);
}

extern const shoal_app app_lasso;
const shoal_app app_lasso = {.struct_size = sizeof app_lasso,
                             .name = "lasso",
                             .summary = "sparse linear models over a path of penalties",
                             .data = "LIBSVM text, a row a line: target index:value ...",
                             .objective = "objective",
                             .units = "updates",
                             .opts = OPTS,
                             .opt_count = sizeof OPTS / sizeof OPTS[0],
                             .options_size = sizeof(struct lasso_options),
                             .driver_size = sizeof(struct lasso_driver),
                             .plan = lasso_plan,
                             .start = start,
                             .done = done,
                             .run = lasso_run,
                             .save = lasso_save,
                             .score = lasso_score,
                             .staleness = 0};
