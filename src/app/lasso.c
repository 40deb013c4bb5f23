/* lasso.c - `shoal train lasso DATA.svm`: lasso, elastic net and sparse logistic regression over a
 * path of penalties, with cross-validation.
 *
 * Minimised is mean loss + lambda (mix |b|_1 + (1 - mix) |b|^2 / 2), glmnet's and scikit-learn's
 * objective, for `lambdas` penalties from the largest that leaves any coefficient, each solution
 * the next one's start. num/lasso.h has the method; this is how it is cut into tasks.
 *
 * A clock solves, visits groups, or scans. SOLVE: each chain minimises over its working set: the
 * columns that the strong rule leaves (Tibshirani and others, "Strong rules for discarding predictors
 * in lasso-type problems", 2012) and those that have a coefficient. SCAN: all columns are looked at, in
 * ranges that are a task each, for all chains at once. From the slopes found the driver knows each
 * chain's duality gap; a chain whose gap is above tol x objective has its columns with too large a
 * slope added and is solved again, the others pause. Then comes the next lambda.
 *
 * What is worth doing at once. The whole matrix is looked at once a lambda, and its scan is cut as
 * fine as there is work; folds are chains that know nothing of each other. A working set is visited by
 * priority (num/lasso.c), which measured three to four times fewer visits than a random order; a
 * visit is a microsecond, far below what it costs to hand out. An epoch over a large set is worth it:
 * the set is cut into groups of columns that are weakly correlated with each other's, as in STRADS,
 * and each clock every group has an epoch (lasso_groups.c). Visits, groups by correlation against
 * groups at random against one group, in thousands:
 *
 *     20,000 x 2,000 dense, neighbours correlated by 0.9, 10 lambdas to 0.05     128   309   126
 *     20,000 x 100,000 sparse, likewise, 10 lambdas to 0.1                       199   502   230
 *     20 newsgroups, 20 lambdas to 0.03                                           77    73    65
 *
 * so what is correlated has to stay together, and then four groups visit little more than one does
 * (over whole paths 11 % more on the sparse data and 34 % on the dense). But a clock costs 3 to 5 ms of
 * CPU there: the join, tasks that pause, columns that come and are correlated with all others. All of
 * it in groups, the sparse data takes 1.5 times the CPU of one group, 20 newsgroups 2.6 times. So a
 * set is cut where an epoch costs as much as eight million entries, some 10 ms: neither of these is,
 * the larger sets of the dense data are. Folds are not cut, and a logistic loss is not. Columns are in
 * a table that every task reads in place, so no chain has a copy.
 *
 * Dense data with far more rows than columns goes another way: lasso_gram.c.
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

enum { ROUNDS_MAX = 20, LAMBDAS_MIN = 5 };
static const double EXPLAINED = 0.999; /* of the loss without coefficients: that is all of it */
static const double GAIN_MIN = 1e-5;   /* of one lambda, as a share of that loss */
static const char *const LOSSES[] = {"squared", "logistic", NULL};
static const char *const PICKS[] = {"best", "simple", "last", NULL};
static const char *const INDICES[] = {"one", "zero", NULL};
static const char *const SCHEDULES[] = {"priority", "cyclic", "random", NULL};
static const char *const TOL_OFS[] = {"objective", "null", NULL};
static const char *const GRAMS[] = {"auto", "yes", "no", NULL};

#define AT(member) offsetof(struct lasso_options, member)

static const shoal_opt OPTS[] = {
    {AT(loss), SHOAL_OPT_CHOICE, "loss", 0, NULL, "squared",
     "loss function; logistic needs exactly two labels", .choices = LOSSES},
    {AT(mix), SHOAL_OPT_F64, "mix", 0, NULL, "1",
     "share of |b| in the penalty, the rest is squares; 1: lasso", .min = 0.001, .max = 1},
    {AT(lambdas), SHOAL_OPT_U64, "lambdas", 0, NULL, "100", "penalties on the path", .min = 1,
     .max = LASSO_LAMBDAS_MAX},
    {AT(lambda), SHOAL_OPT_F64, "lambda", 0, NULL, "0", "the last penalty; 0: ratio x the first",
     .max = 1e15},
    {AT(ratio), SHOAL_OPT_F64, "ratio", 0, NULL, "0",
     "the last penalty against the first; 0: 0.01 with fewer rows than columns, else 0.001, or "
     "where there is nothing more to explain",
     .max = 1},
    {AT(folds), SHOAL_OPT_U64, "folds", 0, NULL, "0", "parts of cross-validation; 0: none",
     .max = LASSO_FOLDS_MAX},
    {AT(pick), SHOAL_OPT_CHOICE, "pick", 0, NULL, "best",
     "of the path for predictions: least held-out loss, the simplest within a standard error of "
     "it, or the last; without folds the last",
     .choices = PICKS},
    {AT(tol), SHOAL_OPT_F64, "tol", 0, NULL, "1e-3",
     "a solution's duality gap, as a share of what tol_of names", .min = 1e-12, .max = 1},
    {AT(tol_of), SHOAL_OPT_CHOICE, "tol_of", 0, NULL, "objective",
     "what tol is a share of; null: of the objective without coefficients, as in scikit-learn",
     .choices = TOL_OFS},
    {AT(intercept), SHOAL_OPT_FLAG, "intercept", 0, NULL, "true",
     .help = "fits one, without penalty"},
    {AT(scale), SHOAL_OPT_FLAG, "scale", 0, NULL, "false",
     .help = "divides columns by their standard deviation first"},
    {AT(schedule), SHOAL_OPT_CHOICE, "schedule", 0, NULL, "priority",
     "in which order coordinates are visited", .choices = SCHEDULES},
    {AT(groups), SHOAL_OPT_U64, "groups", 0, NULL, "0",
     "of a working set, visited at once; 1: it is one task; 0: several where it is large",
     .max = NUM_LASSO_GROUPS_MAX},
    {AT(theta), SHOAL_OPT_F64, "theta", 0, NULL, "0.3",
     "columns correlated by this and more are in one group; above 1: at random", .min = 0.01,
     .max = 2},
    {AT(gram), SHOAL_OPT_CHOICE, "gram", 0, NULL, "auto",
     "finds the path from products of all columns; auto: where that is cheaper", .choices = GRAMS},
    {AT(index), SHOAL_OPT_CHOICE, "index", 0, NULL, "one", "what the data calls its first column",
     .choices = INDICES},
    {AT(probabilities), SHOAL_OPT_FLAG, "probabilities", 0, NULL, "false",
     .help = "'shoal predict' tells that of the larger label too"},
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

    return lasso_view_of((void *)(uintptr_t)state, data_of(driver)->gram_parts > 0 ? 0 : d->rows,
                         d->columns); /* only read */
}

/* ---- clocks ---- */

/* Whether an executor has a task in a clock of this kind; the others pause. */
static bool busy_in(const struct lasso_driver *d, enum lasso_fn fn, uint32_t groups,
                    uint32_t executor)
{
    if (fn == LASSO_MAKE)
        return executor >= d->chains;
    if (executor < d->chains)
        return fn == LASSO_TAKE || fn == LASSO_WALK
                   ? executor == 0
                   : (fn == LASSO_BEGIN || fn == LASSO_SOLVE) && (d->open >> executor & 1) != 0;
    if (fn == LASSO_SCAN)
        return executor < d->chains + d->parts;
    return (fn == LASSO_EPOCH || fn == LASSO_LOOK) && executor < d->chains + groups;
}

/* Tables that tasks of this kind do not read. */
static uint32_t unread_in(enum lasso_fn fn)
{
    uint32_t none = 1u << LASSO_PATH | 1u << LASSO_JOINT;

    if (fn == LASSO_MAKE || fn == LASSO_WALK)
        return none | 1u << LASSO_SLOPE | 1u << LASSO_GRADIENT |
               (fn == LASSO_MAKE ? 1u << LASSO_PRODUCTS : 0);
    if (fn == LASSO_SCAN)
        return none | 1u << LASSO_GRADIENT | 1u << LASSO_SET;
    if (fn == LASSO_EPOCH || fn == LASSO_LOOK)
        return none | 1u << LASSO_GRADIENT;
    return none | 1u << LASSO_SLOPE | (fn == LASSO_TAKE ? 1u << LASSO_GRADIENT : 1u << LASSO_SET);
}

static shoal_status send_clock(shoal_driver *driver, enum lasso_fn fn, struct lasso_arg arg,
                               shoal_err *err)
{
    struct lasso_driver *d = shoal_driver_state(driver);
    const struct lasso_step *at = &d->of[d->step];
    shoal_status st = SHOAL_OK;

    arg.lambda = at->lambda;
    arg.before = d->step > 0 ? at[-1].lambda : at->lambda;
    arg.round = d->round;
    arg.chains = d->open;
    d->fn = fn;
    for (uint32_t e = 0; e < d->chains + d->hands && st == SHOAL_OK; e++) {
        bool busy = busy_in(d, fn, data_of(driver)->groups, e);
        shoal_dispatch task = {.struct_size = sizeof task,
                               .executor = e,
                               .fn = busy ? fn : LASSO_PAUSE,
                               .clock = d->clock,
                               .ends_clock = true,
                               .arg = &arg,
                               .arg_size = sizeof arg,
                               .unread = busy ? unread_in(fn) : ~0u};
        st = shoal_driver_dispatch(driver, &task, err);
    }
    d->clock++;
    return st;
}

/* A clock that needs no more than where the path is. */
static shoal_status send(shoal_driver *driver, enum lasso_fn fn, shoal_err *err)
{
    return send_clock(driver, fn, (struct lasso_arg){.turn = 0}, err);
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
    return send(driver, LASSO_SCAN, err);
}

/* A set that was cut is solved by groups, clock by clock. */
static shoal_status after_groups(shoal_driver *driver, shoal_err *err)
{
    struct lasso_driver *d = shoal_driver_state(driver);
    struct lasso_arg arg = {.turn = 0};
    bool begins = d->fn == LASSO_SOLVE;
    uint64_t updates = 0;
    enum lasso_fn next =
        begins ? lasso_groups_begin(driver, &arg) : lasso_groups_next(driver, &arg);

    for (uint32_t g = 0; g < data_of(driver)->groups && !begins; g++)
        updates += d->visited[g].updates;
    d->updates += updates;
    shoal_driver_report(driver, NAN, NAN, updates);
    return send_clock(driver, next, arg, err);
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

/* What the clock is for that finds a solution. */
static enum lasso_fn solving(shoal_driver *driver)
{
    return data_of(driver)->gram_parts > 0 ? LASSO_WALK : LASSO_SOLVE;
}

/* How a lambda ended that has chains short of the tolerance: some still gained when rounds ran out, or
 * none did. */
static void note_short(struct lasso_driver *d)
{
    bool gains = false;

    for (uint32_t c = 0; c < d->chains; c++)
        if ((d->open >> c & 1) != 0)
            gains = gains || (d->fn == LASSO_WALK ? d->solved[c].stuck == 0
                                                  : d->solved[c].objective < d->before[c]);
    if (d->open != 0 && d->stop != SHOAL_STOP_LIMIT)
        d->stop = gains ? SHOAL_STOP_LIMIT : SHOAL_STOP_STALLED;
}

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
            lasso_name_of(data, j),
            (float)(scale != NULL && scale[j] > 0 ? v.b[j] / (double)scale[j] : v.b[j])};
    }
    at->end = end;
    at->intercept = v.head->intercept + data->y_mean;
    at->objective = d->solved[0].objective;
    at->loss = d->solved[0].loss;
    at->gap = worst_gap(d) * at->objective;
    d->worst = fmax(d->worst, worst_gap(d));
    note_short(d);
    for (uint32_t f = 0; f < d->folds; f++)
        at->held[f] = d->solved[f + 1].held;
    return SHOAL_OK;
}

/* The lambdas, from the largest that leaves any coefficient. most: the largest slope of none. */
static shoal_status lay_path(shoal_driver *driver, double most, shoal_err *err)
{
    const struct lasso_options *o = shoal_driver_options(driver);
    struct lasso_driver *d = shoal_driver_state(driver);
    double last = o->ratio;

    if (!(most > 0)) {
        base_err(err, SHOAL_E_IMPOSSIBLE, "no column says anything about the target");
        base_err_where(err, "%s", shoal_driver_path(driver));
        return SHOAL_E_IMPOSSIBLE;
    }
    d->first = most / o->mix;
    if (last == 0)
        last = d->rows < d->all_columns ? 0.01 : 0.001;
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
    return send(driver, solving(driver), err);
}

/* glmnet's rules, for a path whose end nobody has named. */
static bool nothing_left(const struct lasso_driver *d, const struct lasso_options *o)
{
    const struct lasso_step *at = &d->of[d->step];

    if (o->lambda > 0 || o->ratio > 0 || d->step + 1 < LAMBDAS_MIN)
        return false;
    return at->loss < (1 - EXPLAINED) * d->null[0] ||
           at[-1].loss - at->loss < GAIN_MIN * d->null[0];
}

/* The objective of the lambda that would be picked if the path ended here. */
static double value_now(shoal_driver *driver)
{
    const struct lasso_driver *d = shoal_driver_state(driver);
    const struct lasso_options *o = shoal_driver_options(driver);
    double mean[LASSO_LAMBDAS_MAX], error[LASSO_LAMBDAS_MAX];

    lasso_folds(d, d->step + 1, mean, error);
    return d->of[lasso_choose(d, d->step + 1, (enum lasso_pick)o->pick, mean, error)].objective;
}

static shoal_status next_lambda(shoal_driver *driver, shoal_err *err)
{
    struct lasso_driver *d = shoal_driver_state(driver);
    shoal_status st = keep_solution(driver, err);

    if (st != SHOAL_OK)
        return st;
    if (nothing_left(d, shoal_driver_options(driver)))
        d->lambdas = d->step + 1;
    shoal_driver_report(driver, value_now(driver), (d->step + 1) / (double)d->lambdas, 0);
    d->open = (1u << d->chains) - 1;
    d->rounds += d->round + 1;
    d->round = 0;
    shoal_driver_iterations(driver, d->rounds);
    if (d->step + 1 == d->lambdas) {
        shoal_driver_stopped(
            driver, d->stop != SHOAL_STOP_UNSAID ? (shoal_stop)d->stop : SHOAL_STOP_TOLERANCE,
            d->worst);
        shoal_driver_finish(driver);
        return SHOAL_OK;
    }
    d->step++;
    return send(driver, solving(driver), err);
}

/* Which chains are at the lambda's solution. */
static shoal_status close_chain(shoal_driver *driver, uint32_t chain, double gap, shoal_err *err)
{
    const struct lasso_options *o = shoal_driver_options(driver);
    struct lasso_driver *d = shoal_driver_state(driver);

    if (!isfinite(gap))
        return base_err(err, SHOAL_E_IMPOSSIBLE, "numbers of this data are too large");
    d->gap[chain] = gap;
    if (gap <= lasso_allowed(o, d->null[chain], d->solved[chain].objective))
        d->open &= ~(1u << chain);
    return SHOAL_OK;
}

static shoal_status after_products(shoal_driver *driver, shoal_err *err)
{
    struct lasso_driver *d = shoal_driver_state(driver);
    double most = lasso_gram_join(driver, &d->null[0]);

    return lay_path(driver, most, err);
}

static shoal_status after_walk(shoal_driver *driver, shoal_err *err)
{
    struct lasso_driver *d = shoal_driver_state(driver);
    shoal_status st = close_chain(driver, 0, d->solved[0].gap, err);

    d->updates += d->solved[0].updates;
    shoal_driver_report(driver, NAN, NAN, d->solved[0].updates);
    return st == SHOAL_OK ? next_lambda(driver, err) : st;
}

static shoal_status after_scan(shoal_driver *driver, shoal_err *err)
{
    struct lasso_driver *d = shoal_driver_state(driver);
    double excess;

    gather_slopes(driver);
    if (!(d->first > 0)) {
        for (uint32_t c = 0; c < d->chains; c++)
            d->null[c] = d->solved[c].objective;
        return lay_path(driver, seen_of(d, 0, &excess), err);
    }
    for (uint32_t c = 0; c < d->chains; c++) {
        if ((d->open >> c & 1) == 0)
            continue;
        shoal_status st = close_chain(driver, c, gap_of(driver, c), err);
        if (st != SHOAL_OK)
            return st;
    }
    if (d->open == 0 || d->round + 1 == ROUNDS_MAX)
        return next_lambda(driver, err);
    d->round++;
    shoal_driver_iterations(driver, d->rounds + d->round);
    for (uint32_t c = 0; c < d->chains; c++)
        d->before[c] = d->solved[c].objective;
    /* how many rounds there will be is not known: each is half of what is left */
    shoal_driver_report(driver, NAN, (d->step + 1 - ldexp(1, -(int)d->round)) / d->lambdas, 0);
    return send(driver, LASSO_SOLVE, err);
}

/* ---- hooks ---- */

static shoal_status start(shoal_driver *driver, shoal_err *err)
{
    return send(driver, data_of(driver)->gram_parts > 0 ? LASSO_MAKE : LASSO_BEGIN, err);
}

/* A result of the size that its kind has. */
static shoal_status keep_result(void *to, size_t size, const shoal_done *done, shoal_err *err)
{
    if (done->result_size != size)
        return base_err(err, SHOAL_E_INTERNAL, "a task's result of %zu bytes", done->result_size);
    memcpy(to, done->result, size);
    return SHOAL_OK;
}

static shoal_status book(struct lasso_driver *d, const shoal_done *done, shoal_err *err)
{
    uint32_t e = done->executor, hand = e - d->chains;

    if (done->fn == LASSO_PAUSE || done->fn == LASSO_MAKE)
        return SHOAL_OK;
    if (e < d->chains)
        return keep_result(&d->solved[e], sizeof d->solved[0], done, err);
    if (done->fn == LASSO_SCAN && hand < d->parts)
        return keep_result(&d->seen[hand], sizeof d->seen[0], done, err);
    if (hand < NUM_LASSO_GROUPS_MAX)
        return keep_result(&d->visited[hand], sizeof d->visited[0], done, err);
    return base_err(err, SHOAL_E_INTERNAL, "a result of executor %u", e);
}

static shoal_status done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    struct lasso_driver *d = shoal_driver_state(driver);
    bool last = d->ended + 1 == d->chains + d->hands;

    if (last && shoal_driver_fresh(driver) != SHOAL_OK)
        return SHOAL_AGAIN;
    shoal_status st = book(d, done, err);
    if (st != SHOAL_OK)
        return st;
    d->ended++;
    if (!last)
        return SHOAL_OK;
    d->ended = 0;
    if (d->fn == LASSO_MAKE)
        return after_products(driver, err);
    if (d->fn == LASSO_WALK)
        return after_walk(driver, err);
    if (d->fn == LASSO_SCAN)
        return after_scan(driver, err);
    if (d->fn == LASSO_EPOCH || d->fn == LASSO_LOOK ||
        (d->fn == LASSO_SOLVE && d->solved[0].groups > 1))
        return after_groups(driver, err);
    return after_solve(driver, err);
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
                             .show = app_lasso_show,
                             .tell = lasso_tell,
                             .staleness = 0,
                             .state_version = LASSO_STATE};
