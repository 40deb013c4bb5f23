/* logreg.c - `shoal train logreg DATA.svm`: linear classifiers, by logistic regression or support
 * vectors, of two classes or many.
 *
 * Minimised is penalty(w) + cost x sum of losses, LIBLINEAR's objective, whose parameters mean the
 * same here. With more than two classes every class is set against the rest, all in one pass over
 * the data; loss softmax is the multinomial model.
 *
 * The way to the minimum is chosen by the shape of the data and never by workers (num_linear_choose):
 *
 *   newton  Newton's method: logreg_newton.c; of a hinge logreg_hinge.c; with penalty l1 and few
 *           columns logreg_prox.c. Bulk synchronous.
 *   dual    dual coordinate ascent, when there are more columns than rows, and for most hinges. An epoch
 *           is a pass of every executor over its rows from the newest weights.
 *   lasso   coordinate descent on the primal for penalty l1: the same with columns and margins.
 *   sgd     stochastic gradient descent, when asked for: the same with steps that shrink. Increments
 *           of a multinomial model go out as factors where these are fewer bytes.
 *
 * The last three take executors in a new random order in every epoch; in a fixed order they need
 * several times as many. When staleness is allowed, as many run as there are threads, each sees what
 * ended before it began, and `spread` allows for those beside it. In a bulk synchronous job a clock
 * is a wave of LOGREG_WAVE executors while the others pause: the same result for any number of
 * workers, with that much to do at once. The option `wave` makes it more: all executors at once are
 * as many machines that each have a part of the data and meet once an epoch (dual: CoCoA+, Ma and
 * others 2015; sgd: averaged models), which need more epochs the more they are.
 *
 * The end. Dual: passes give a guess of the duality gap, which is often low; when it is small enough
 * a clock of JUDGE tasks finds the gap itself. Lasso: every NUM_LINEAR_REST-th epoch visits all columns,
 * and a look at the gap follows when subgradients foretell its end, or after as many epochs. Both end
 * when the gap is below tol x objective. Sgd: after `epochs`.
 *
 * Tests: tests/unit/app/test_logreg.c, tests/cli/test_train_logreg.py. */
#include "app/logreg.h"

#include "base/err.h"
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { SGD_EPOCHS = 20 };
static const double DIVERGED = 10; /* times the objective of no training at all */
static const char *const LOSSES[] = {"logistic", "hinge", "squared_hinge", "softmax", NULL};
static const char *const PENALTIES[] = {"l2", "l1", NULL};
static const char *const ALGORITHMS[] = {"auto", "newton", "sdca", "sgd", NULL};
static const char *const INDICES[] = {"one", "zero", NULL};

#define AT(member) offsetof(struct logreg_options, member)

static const shoal_opt OPTS[] = {
    {AT(loss), SHOAL_OPT_CHOICE, "loss", 0, NULL, "logistic",
     "what errors cost; hinges make support vector machines, softmax a multinomial model",
     .choices = LOSSES},
    {AT(penalty), SHOAL_OPT_CHOICE, "penalty", 0, NULL, "l2",
     "on weights: squares, or l1 for few of them (logistic)", .choices = PENALTIES},
    {AT(cost), SHOAL_OPT_F64, "cost", 0, NULL, "1", "of errors, against the penalty: LIBLINEAR's C",
     .min = 1e-9, .max = 1e9},
    {AT(lambda), SHOAL_OPT_F64, "lambda", 0, NULL, "0",
     "in place of cost: 1 / (lambda x rows); 0: not given", .max = 1e9},
    {AT(algorithm), SHOAL_OPT_CHOICE, "algorithm", 0, NULL, "auto",
     "auto: by loss and shape of the data", .choices = ALGORITHMS},
    {AT(tol), SHOAL_OPT_F64, "tol", 0, NULL, "0",
     "ends when the duality gap is this share of the objective; 0: chosen", .max = 1},
    {AT(epochs), SHOAL_OPT_U64, "epochs", 0, NULL, "0", "at most so many; 0: 1000, and 20 for sgd",
     .max = 1e6},
    {AT(executors), SHOAL_OPT_U64, "executors", 0, NULL, "0",
     "parts of the data, as many as can work at once; 0: by the data, up to 64",
     .max = LOGREG_EXECUTORS_MAX},
    {AT(wave), SHOAL_OPT_U64, "wave", 0, NULL, "0",
     "executors that work at once from the same weights, with --staleness 0 (sdca, sgd, l1): more "
     "in parallel, more epochs; 0: 4",
     .max = LOGREG_EXECUTORS_MAX},
    {AT(judge), SHOAL_OPT_U64, "judge", 0, NULL, "0",
     "epochs from one look at the objective to the next (sdca, sgd); 0: when it pays", .max = 1e6},
    {AT(bias), SHOAL_OPT_FLAG, "bias", 0, NULL, "false",
     .help = "one more column, of ones (penalised like the others)"},
    {AT(rate), SHOAL_OPT_F64, "rate", 0, NULL, "0.1", "first step of sgd", .min = 1e-9, .max = 1e3},
    {AT(index), SHOAL_OPT_CHOICE, "index", 0, NULL, "one", "what the data calls its first column",
     .choices = INDICES},
    {AT(probabilities), SHOAL_OPT_FLAG, "probabilities", 0, NULL, "false",
     .help = "'shoal predict' tells them too, class by class"},
};

uint64_t logreg_epochs(const struct logreg_options *o, uint32_t way)
{
    if (o->epochs > 0)
        return o->epochs;
    return logreg_is_sgd(way) ? SGD_EPOCHS : 1000;
}

static bool by_newton(const struct logreg_driver *d)
{
    return d->way == NUM_LINEAR_NEWTON || d->way == NUM_LINEAR_GRAM;
}

struct logreg_result logreg_take_sum(struct logreg_driver *d)
{
    struct logreg_result sum = {0};

    for (uint32_t e = 0; e < d->executors; e++) {
        sum.loss += d->of[e].loss;
        sum.gap += d->of[e].gap;
        sum.penalty += d->of[e].penalty;
        sum.sharp += d->of[e].sharp;
        sum.dual += d->of[e].dual;
        sum.units += d->of[e].units;
        sum.most = fmax(sum.most, d->of[e].most);
        sum.bend += d->of[e].bend;
        for (int i = 0; i < NUM_LINEAR_STEPS; i++)
            sum.line[i] += d->of[e].line[i];
    }
    memset(d->of, 0, sizeof d->of);
    return sum;
}

/* ---- epochs and waves ---- */

/* A new order of executors. */
static void shuffle(shoal_driver *driver)
{
    struct logreg_driver *d = shoal_driver_state(driver);
    uint64_t seed = shoal_driver_seed(driver) ^ d->epoch * 0x9e3779b97f4a7c15u;
    struct base_rand rand;

    base_rand_init(&rand, seed, "logreg.order");
    for (uint32_t i = 0; i < d->executors; i++)
        d->order[i] = i;
    for (uint32_t i = d->executors; i > 1; i--) {
        uint32_t other = (uint32_t)base_rand_below(&rand, i), kept = d->order[i - 1];
        d->order[i - 1] = d->order[other];
        d->order[other] = kept;
    }
}

static double step_of(const struct logreg_options *o, uint64_t epoch)
{
    return o->rate / (1 + o->rate * (double)epoch);
}

static shoal_status send(shoal_driver *driver, uint32_t executor, uint32_t fn, float spread,
                         shoal_err *err)
{
    const struct logreg_options *o = shoal_driver_options(driver);
    const struct logreg_driver *d = shoal_driver_state(driver);
    bool whole = d->way == NUM_LINEAR_LASSO && d->epoch % NUM_LINEAR_REST == 0;
    struct logreg_arg arg = {.epoch = d->epoch,
                             .step = step_of(o, d->epoch),
                             .scale = d->scale,
                             .spread = spread,
                             .whole = whole};
    shoal_dispatch task = {.struct_size = sizeof task,
                           .executor = executor,
                           .fn = fn,
                           .clock = d->clock,
                           .ends_clock = true,
                           .arg = &arg,
                           .arg_size = sizeof arg,
                           .unread = 1u << LOGREG_LABEL | 1u << LOGREG_LOOK};

    return shoal_driver_dispatch(driver, &task, err);
}

/* Bulk synchronous: the next so many have their pass, the others pause. */
static shoal_status send_wave(shoal_driver *driver, shoal_err *err)
{
    const struct logreg_options *o = shoal_driver_options(driver);
    struct logreg_driver *d = shoal_driver_state(driver);
    uint32_t end = d->sent + (o->wave > 0 ? (uint32_t)o->wave : LOGREG_WAVE);
    shoal_status st = SHOAL_OK;

    end = end < d->executors ? end : d->executors;
    for (uint32_t i = 0; i < d->executors && st == SHOAL_OK; i++)
        st = send(driver, d->order[i], i >= d->sent && i < end ? LOGREG_PASS : LOGREG_PAUSE,
                  (float)(end - d->sent), err);
    d->sent = end;
    d->clock++;
    return st;
}

/* As many as keep all threads busy. They run about in this order, which matters, since it is random:
 * were all sent at once, the runtime would be free to take its own. */
static shoal_status send_some(shoal_driver *driver, shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);
    uint32_t threads = shoal_driver_threads(driver), most = 2 * threads + 2;
    float spread = (float)(threads < d->executors ? threads : d->executors);
    shoal_status st = SHOAL_OK;

    for (; d->sent < d->executors && d->sent < d->ended + most && st == SHOAL_OK; d->sent++)
        st = send(driver, d->order[d->sent], LOGREG_PASS, spread, err);
    return st;
}

static shoal_status begin_epoch(shoal_driver *driver, shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);

    shuffle(driver);
    d->sent = 0;
    return d->bulk ? send_wave(driver, err) : send_some(driver, err);
}

static shoal_status judge(shoal_driver *driver, shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);

    shoal_status st = SHOAL_OK;

    d->judged = d->epoch;
    d->sent = d->executors;
    for (uint32_t e = 0; e < d->executors && st == SHOAL_OK; e++)
        st = send(driver, e, LOGREG_JUDGE, 1, err);
    d->clock++;
    return st;
}

static bool is_last(shoal_driver *driver)
{
    const struct logreg_driver *d = shoal_driver_state(driver);

    return d->epoch == logreg_epochs(shoal_driver_options(driver), d->way);
}

/* ---- ends of epochs ---- */

/* The objective of weights that are all 0. */
static double untrained(shoal_driver *driver)
{
    const struct logreg_options *o = shoal_driver_options(driver);
    const struct logreg_driver *d = shoal_driver_state(driver);
    double all = d->cost * (double)d->rows;

    switch (o->loss) {
    case NUM_LINEAR_LOGISTIC: return all * d->lanes * log(2);
    case NUM_LINEAR_SOFTMAX: return all * log(d->lanes);
    default: return all * d->lanes;
    }
}

/* Whether to find out where we are. */
static bool judging_pays(shoal_driver *driver, const struct logreg_result *sum, double half)
{
    const struct logreg_options *o = shoal_driver_options(driver);
    struct logreg_driver *d = shoal_driver_state(driver);

    if (o->judge > 0 && d->way != NUM_LINEAR_LASSO)
        return d->epoch - d->judged >= o->judge;
    bool long_ago = d->epoch - d->judged >= NUM_LINEAR_REST;
    switch (d->way) {
    case NUM_LINEAR_DUAL: {
        /* Rows tell their gaps before they move. What is left after this pass is less: about by as much
         * as this pass found less than the one before. */
        double enough = fmin(d->tol * (sum->loss + half), d->expect), before = d->found;
        d->found = sum->gap;
        double left = before > sum->gap ? sum->gap * (sum->gap / before) : sum->gap;
        return left <= enough || long_ago;
    }
    case NUM_LINEAR_LASSO:
        return sum->gap <= fmin(d->expect, d->tol * untrained(driver)) || long_ago;
    default: return true;
    }
}

static double half_square(shoal_driver *driver)
{
    const struct logreg_driver *d = shoal_driver_state(driver);

    if (d->way == NUM_LINEAR_LASSO)
        return 0;
    const float *w = shoal_driver_rows_read(driver, LOGREG_W);
    return 0.5 * d->scale * d->scale * logreg_dot(w, w, logreg_size(d));
}

static shoal_status end_epoch(shoal_driver *driver, shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);
    struct logreg_result sum = logreg_take_sum(d);

    if (d->way == LOGREG_BY_FACTORS) /* the penalty's part of the steps */
        d->scale *= exp(-step_of(shoal_driver_options(driver), d->epoch));
    d->epoch++;
    d->clock += !d->bulk; /* a wave has counted */
    shoal_driver_iterations(driver, d->epoch);
    if (!isfinite(sum.loss) || !isfinite(sum.gap)) {
        base_err(err, SHOAL_E_IMPOSSIBLE, "training diverges in epoch %llu",
                 (unsigned long long)d->epoch);
        base_err_hint(err, logreg_is_sgd(d->way) ? "lower rate" : "scale the columns");
        return SHOAL_E_IMPOSSIBLE;
    }
    d->rest = sum.gap;
    if (is_last(driver) || judging_pays(driver, &sum, half_square(driver)))
        return judge(driver, err);
    return begin_epoch(driver, err);
}

double logreg_gap(double value, double above)
{
    if (!isfinite(value) || isnan(above))
        return 1;
    return value > 0 ? fmin(fmax(above / value, (double)FLT_EPSILON), 1) : 0;
}

double logreg_enough(const struct logreg_driver *d, double value)
{
    return fmax(d->tol, (double)FLT_EPSILON) * value;
}

shoal_status logreg_finish(shoal_driver *driver, shoal_stop why, double gap)
{
    const struct logreg_driver *d = shoal_driver_state(driver);

    if (why == SHOAL_STOP_TOLERANCE && gap > d->tol)
        why = SHOAL_STOP_STALLED; /* floats show no smaller gap */
    shoal_driver_stopped(driver, why, gap);
    shoal_driver_finish(driver);
    return SHOAL_OK;
}

/* Lasso: what the classes' dual variables lose as they are made feasible, each class by itself: one
 * whose slopes are still large costs the others nothing. */
static double lost_of_lanes(shoal_driver *driver, const struct logreg_result *sum)
{
    const struct logreg_driver *d = shoal_driver_state(driver);
    const float *all = shoal_driver_rows_read(driver, LOGREG_LOOK);
    double lost = 0;

    if (d->lanes == 1)
        return logreg_l1_lost(sum->loss, sum->most, sum->dual, sum->bend);
    for (uint32_t k = 0; k < d->lanes; k++) {
        double loss = 0, along = 0, bend = 0, most = 0;
        for (uint32_t e = 0; e < d->executors; e++) {
            const float *look = all + (size_t)e * LOGREG_LOOKS * d->lanes + k;
            loss += (double)look[LOGREG_LOOK_LOSS * d->lanes];
            along += (double)look[LOGREG_LOOK_ALONG * d->lanes];
            bend += (double)look[LOGREG_LOOK_BEND * d->lanes];
            most = fmax(most, (double)look[LOGREG_LOOK_MOST * d->lanes]);
        }
        lost += logreg_l1_lost(loss, most, along, bend);
    }
    return lost;
}

static shoal_status judged(shoal_driver *driver, shoal_err *err)
{
    const struct logreg_options *o = shoal_driver_options(driver);
    struct logreg_driver *d = shoal_driver_state(driver);
    struct logreg_result sum = logreg_take_sum(d);
    double half = half_square(driver), value = sum.loss + half, gap = 0, enough = 0;
    double done = (double)d->epoch / (double)logreg_epochs(o, d->way);

    if (d->way == NUM_LINEAR_DUAL) {
        gap = value - (sum.penalty - half);
        enough = logreg_enough(d, value);
        d->expect = d->rest / 2;
    } else if (d->way == NUM_LINEAR_LASSO) {
        value += sum.penalty;
        gap = value - (sum.loss - sum.dual) + lost_of_lanes(driver, &sum);
        enough = logreg_enough(d, value);
        d->expect = d->rest * enough / gap / 2; /* subgradients and gap fall about alike */
    }
    if (d->first == 0)
        d->first = gap;
    if (!isfinite(value) || (logreg_is_sgd(d->way) && value > DIVERGED * untrained(driver))) {
        base_err(err, SHOAL_E_IMPOSSIBLE, "training diverges in epoch %llu",
                 (unsigned long long)d->epoch);
        base_err_hint(err, logreg_is_sgd(d->way) ? "lower rate" : "scale the columns");
        return SHOAL_E_IMPOSSIBLE;
    }
    if (!logreg_is_sgd(d->way) && d->first > enough)
        done = fmax(done, fmin(fmax(log(d->first / gap) / log(d->first / enough), 0), 1));
    shoal_driver_report(driver, value, done, 0);
    if (!logreg_is_sgd(d->way) && gap <= enough)
        return logreg_finish(driver, SHOAL_STOP_TOLERANCE, logreg_gap(value, gap));
    if (is_last(driver))
        return logreg_is_sgd(d->way)
                   ? logreg_finish(driver, SHOAL_STOP_SCHEDULE, (double)NAN)
                   : logreg_finish(driver, SHOAL_STOP_LIMIT, logreg_gap(value, gap));
    return begin_epoch(driver, err);
}

/* ---- hooks ---- */

static shoal_status start(shoal_driver *driver, shoal_err *err)
{
    const struct logreg_driver *d = shoal_driver_state(driver);

    return by_newton(d) ? logreg_newton_start(driver, err) : begin_epoch(driver, err);
}

/* In a clock with PAUSE tasks among others, what it was about. */
static uint32_t clock_fn(uint32_t fn)
{
    return fn == LOGREG_PAUSE ? LOGREG_PASS : fn;
}

static void book(shoal_driver *driver, uint32_t executor, const struct logreg_result *result)
{
    struct logreg_driver *d = shoal_driver_state(driver);
    struct logreg_result *of = &d->of[executor];
    uint64_t units = result->units;

    of->loss += result->loss;
    of->gap += result->gap;
    of->penalty += result->penalty;
    of->sharp += result->sharp;
    of->dual += result->dual;
    of->most = fmax(of->most, result->most);
    of->bend += result->bend;
    for (int i = 0; i < NUM_LINEAR_STEPS; i++)
        of->line[i] += result->line[i];
    if (d->way == NUM_LINEAR_LASSO)
        units = (uint64_t)((double)units * (double)d->rows / d->columns);
    shoal_driver_report(driver, NAN, NAN, units);
    d->ended++;
}

static shoal_status done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);
    struct logreg_result result;
    uint32_t fn = clock_fn(done->fn);

    if (done->result_size != sizeof result || done->executor >= d->executors)
        return base_err(err, SHOAL_E_INTERNAL, "a task's result of %zu bytes", done->result_size);
    bool last = d->ended + 1 == d->executors;
    if (last && shoal_driver_fresh(driver) != SHOAL_OK)
        return SHOAL_AGAIN; /* not all increments are there yet */
    memcpy(&result, done->result, sizeof result);
    book(driver, done->executor, &result);
    if (!last)
        return by_newton(d) || d->bulk ? SHOAL_OK : send_some(driver, err);
    d->ended = 0;
    if (by_newton(d)) {
        shoal_driver_iterations(driver, d->epoch);
        return logreg_newton_clock(driver, fn, err);
    }
    if (fn == LOGREG_JUDGE)
        return judged(driver, err);
    return d->sent < d->executors ? send_wave(driver, err) : end_epoch(driver, err);
}

extern const shoal_app app_logreg;
const shoal_app app_logreg = {.struct_size = sizeof app_logreg,
                              .name = "logreg",
                              .summary = "linear classifiers: logistic regression, support vectors",
                              .data = "LIBSVM text, a row a line: label index:value ...",
                              .objective = "objective",
                              .units = "rows",
                              .opts = OPTS,
                              .opt_count = sizeof OPTS / sizeof OPTS[0],
                              .options_size = sizeof(struct logreg_options),
                              .driver_size = sizeof(struct logreg_driver),
                              .plan = logreg_plan,
                              .start = start,
                              .done = done,
                              .run = logreg_run,
                              .save = logreg_save,
                              .score = logreg_score,
                              .tell = logreg_tell,
                              .show = app_logreg_show,
                              .state_version = LOGREG_STATE,
                              .staleness = SHOAL_STALENESS_PLANNED};
