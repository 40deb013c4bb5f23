/* logreg_task.c - the tasks of `logreg`: passes of num/linear.h over an executor's data.
 *
 * Newton's tasks look at the point in the table and add what they find to the table of sums; a slope
 * also leaves the curves of its rows in the state, and of a hinge margins and centers. The other passes work
 * on a private copy of the weights (lasso: margins), and what the copy gained, divided by how many
 * such copies are under way, is what the task adds. It goes out row by row, or as a whole when the
 * executor has no map.
 *
 * Tests: tests/unit/app/test_logreg.c. */
#include "app/logreg.h"

#include "base/err.h"
#include <math.h>
#include <string.h>

enum { ALIGN = 64, LANES_ANY = 1 << 20, BATCH = 16, PASSES = 3 };

/* What every task has. */
struct desk {
    shoal_task *task;
    const struct num_linear_ops *ops;
    const struct logreg_data *data;
    struct num_linear p;
    struct logreg_arg arg;
    struct logreg_result result;
};

/* Memory of the thread, for one task. */
struct scratch {
    float *work, *copy, *gain;
    uint32_t *order;
    double *slope, *look; /* (2, lanes), (LOGREG_LOOKS, lanes) */
    uint8_t *zero;
};

static const void *part(const struct logreg_data *data, uint64_t at)
{
    return at > 0 ? (const char *)data + at : NULL;
}

/* Of what is always there. */
static const void *at(const struct logreg_data *data, uint64_t offset)
{
    return (const char *)data + offset;
}

static uint64_t take(uint64_t *size, uint64_t bytes)
{
    uint64_t at = *size;

    *size += (bytes + 2 * ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

/* copy: floats of the private copy; gain: the same again, in memory of the task's own. */
static bool scratch_init(struct scratch *s, const struct desk *d, size_t copy, bool gain)
{
    const struct logreg_data *data = d->data;
    uint64_t size = 0, work = take(&size, NUM_LINEAR_WORK(data->lanes) * sizeof(float));
    uint64_t copy_at = take(&size, copy * sizeof(float));
    uint64_t gain_at = take(&size, gain ? copy * sizeof(float) : 0);
    uint64_t order_at = take(&size, data->rows * sizeof(uint32_t));
    uint64_t slope_at = take(&size, 2 * (uint64_t)data->lanes * sizeof(double));
    uint64_t look_at = take(&size, LOGREG_LOOKS * (uint64_t)data->lanes * sizeof(double));
    uint64_t zero_at = take(&size, data->rows);

    char *base = shoal_task_scratch(d->task, size);
    if (base == NULL)
        return false;
    s->work = (float *)(void *)(base + work);
    s->copy = (float *)(void *)(base + copy_at);
    s->gain = (float *)(void *)(base + gain_at);
    s->order = (uint32_t *)(void *)(base + order_at);
    s->slope = (double *)(void *)(base + slope_at);
    s->look = (double *)(void *)(base + look_at);
    s->zero = (uint8_t *)(base + zero_at);
    return true;
}

/* ---- Newton ---- */

/* The state of a smoothed hinge: curves, margins, centers, and what a step of 1 along the last line
 * adds to the margins. */
static float *hinge_part(const struct desk *d, float *state, size_t part)
{
    return state + part * d->data->rows * d->data->lanes;
}

static void find_slope(struct desk *d, const struct scratch *s, const float *point, float *sum)
{
    bool hinge = d->p.smooth > 0;
    float *state = shoal_task_new_state(d->task, hinge);
    struct num_linear_slope out = {.gradient = sum, .curve = state, .work = s->work};

    if (hinge) {
        out.margin = hinge_part(d, state, 1);
        out.center = hinge_part(d, state, 2);
        out.along = d->arg.moves ? hinge_part(d, state, 3) : NULL;
        out.moved = d->arg.moved;
        out.recentre = d->arg.recentre;
    } else if (d->data->l1) {
        out.margin = state + d->data->rows;
    }
    d->result.loss = d->ops->gradient(&d->p, point, &out);
    for (uint64_t i = 0; d->data->l1 && i < d->data->rows; i++)
        d->result.bend += (double)d->data->cost * exp(-(double)out.margin[i]);
    d->result.sharp = out.sharp;
    d->result.dual = out.dual;
}

static void find_line(struct desk *d, const struct scratch *s, const float *point)
{
    float *state = shoal_task_new_state(d->task, true);

    d->ops->line(&d->p, hinge_part(d, state, 1), hinge_part(d, state, 2), point, s->work,
                 hinge_part(d, state, 3), d->result.line);
}

static shoal_status run_newton(struct desk *d, shoal_err *err)
{
    size_t size;
    uint32_t fn = shoal_task_fn(d->task);
    const float *point = shoal_task_rows(d->task, LOGREG_W);
    const float *curve = shoal_task_state(d->task, &size);
    float *sum = NULL;
    struct scratch s;

    if (fn != LOGREG_LINE)
        sum = shoal_task_add_all(d->task, fn == LOGREG_HESSIAN ? LOGREG_GRAM : LOGREG_SUM);
    if ((sum == NULL && fn != LOGREG_LINE) || !scratch_init(&s, d, 0, false))
        return base_err_nomem(err, "looking at rows");
    switch (fn) {
    case LOGREG_SLOPE: find_slope(d, &s, point, sum); break;
    case LOGREG_TURN: d->ops->hessian(&d->p, curve, point, s.work, sum); break;
    case LOGREG_DIAGONAL: d->ops->diagonal(&d->p, curve, s.work, sum); break;
    case LOGREG_HESSIAN: d->ops->gram(&d->p, curve, sum); break;
    default: find_line(d, &s, point); /* LOGREG_LINE */
    }
    d->result.units = d->data->rows;
    return SHOAL_OK;
}

/* ---- passes over a private copy ---- */

/* The copy and the same again in *gain, which is the outbox when all of the table goes out. */
static bool copy_in(struct desk *d, struct scratch *s, size_t floats)
{
    const float *table = shoal_task_rows(d->task, LOGREG_W);
    const uint32_t *map = part(d->data, d->data->map_at);

    if (map != NULL) {
        d->ops->take(map, d->data->columns, d->data->lanes, table, s->copy, s->gain);
        return true;
    }
    s->gain = shoal_task_add_all(d->task, LOGREG_W);
    if (s->gain == NULL)
        return false;
    memcpy(s->copy, table, floats * sizeof *table);
    memcpy(s->gain, s->copy, floats * sizeof *table); /* others may change the table meanwhile */
    return true;
}

static void copy_out(struct desk *d, struct scratch *s, size_t floats)
{
    const uint32_t *map = part(d->data, d->data->map_at);
    uint32_t lanes = d->data->lanes;

    d->ops->change(floats, s->copy, d->arg.spread, s->gain);
    for (uint32_t c = 0; map != NULL && c < d->data->columns; c++)
        shoal_task_add(d->task, LOGREG_W, map[c], s->gain + (size_t)c * lanes);
}

static uint64_t choose_order(struct desk *d, struct scratch *s, const uint8_t *rest)
{
    struct base_rand rand;

    base_rand_init(&rand, shoal_task_random(d->task), "logreg.order");
    if (d->arg.whole || rest == NULL) {
        memset(s->zero, 0, d->data->rows);
        rest = s->zero;
    }
    return num_linear_order(&rand, rest, d->data->rows, d->arg.epoch, s->order);
}

static void pass_dual(struct desk *d, struct scratch *s)
{
    uint64_t floats = d->data->rows * d->data->lanes;
    float *alpha = shoal_task_new_state(d->task, true);
    uint8_t *rest = (uint8_t *)(alpha + floats);
    struct num_linear_dual dual = {.norm = part(d->data, d->data->norm_at),
                                   .alpha = alpha,
                                   .rest = rest,
                                   .order = s->order,
                                   .count = choose_order(d, s, rest),
                                   .spread = d->arg.spread,
                                   .work = s->work};

    d->result.gap = d->ops->dual(&d->p, &dual, s->copy, &d->result.loss);
    d->result.units = dual.count;
}

static struct num_linear_lasso lasso_of(const struct desk *d, struct scratch *s, float *weight)
{
    const struct logreg_data *data = d->data;
    uint64_t floats = data->rows * data->lanes;

    return (struct num_linear_lasso){
        .x = d->p.x,
        .aim = part(data, data->aim_at),
        .peak = part(data, data->norm_at),
        .weight = weight,
        .reach = weight + floats,
        .rest = (uint8_t *)(weight + 2 * floats + (size_t)LOGREG_LOOKS * data->lanes),
        .order = s->order,
        .lanes = data->lanes,
        .cost = data->cost,
        .spread = d->arg.spread,
        .work = s->work,
        .slope = s->slope};
}

/* One block of all columns goes on with those that moved, as nobody else changes the margins; of several
 * blocks each would run into what the others do. */
static void pass_lasso(struct desk *d, struct scratch *s)
{
    struct num_linear_lasso lasso = lasso_of(d, s, shoal_task_new_state(d->task, true));
    int passes = d->data->rows == d->data->all_columns ? PASSES : 1;

    lasso.count = choose_order(d, s, lasso.rest);
    d->result.units = lasso.count;
    d->result.gap = d->ops->lasso(&lasso, s->copy);
    for (int pass = 1; pass < passes; pass++) {
        uint64_t moved = 0;
        for (uint64_t i = 0; i < lasso.count; i++)
            if (lasso.rest[s->order[i]] == 0)
                s->order[moved++] = s->order[i];
        lasso.count = moved;
        d->result.units += moved;
        (void)d->ops->lasso(&lasso, s->copy);
    }
}

static void pass_sgd(struct desk *d, struct scratch *s)
{
    struct num_linear_sgd sgd = {.order = s->order,
                                 .count = choose_order(d, s, NULL),
                                 .step = d->arg.step,
                                 .decay = 1 / (double)d->data->all_rows,
                                 .work = s->work};

    d->ops->sgd(&d->p, &sgd, s->copy);
    d->result.units = sgd.count;
}

/* ---- factors ---- */

/* The executor's columns of the turned table, as (columns, lanes) weights. */
static void turn_in(const struct desk *d, float *out)
{
    const struct logreg_data *data = d->data;
    const float *table = shoal_task_rows(d->task, LOGREG_W);
    const uint32_t *map = part(data, data->map_at);
    size_t lanes = data->lanes, all = data->all_columns;
    float scale = (float)d->arg.scale;

    for (size_t c = 0; c < data->columns; c++)
        for (size_t k = 0; k < lanes; k++)
            out[c * lanes + k] = scale * table[k * all + map[c]];
}

/* copy += u x' for one row, and the same to the table. */
static void step_row(struct desk *d, uint64_t row, float *u, float *copy, uint32_t *index,
                     float *value)
{
    const struct num_csr *x = &d->p.x;
    const uint32_t *map = part(d->data, d->data->map_at);
    size_t lanes = d->data->lanes;
    float out = (float)(1 / (d->arg.scale * (double)d->arg.spread));
    uint32_t count = 0;

    for (size_t k = 0; k < lanes; k++)
        u[k] *= -(float)d->arg.step;
    for (uint64_t e = x->start[row]; e < x->start[row + 1]; e++, count++) {
        float *w = copy + x->index[e] * lanes;
        index[count] = map[x->index[e]];
        value[count] = x->value != NULL ? x->value[e] : 1;
        for (size_t k = 0; k < lanes; k++)
            w[k] += u[k] * value[count];
    }
    for (size_t k = 0; k < lanes; k++)
        u[k] *= out;
    shoal_task_add_factor(d->task, LOGREG_W, u, index, value, count);
}

/* One pass in batches of rows that lie together, in random order. The penalty's part of the steps is
 * the driver's scale, once an epoch. */
static shoal_status run_factors(struct desk *d, shoal_err *err)
{
    const struct logreg_data *data = d->data;
    size_t lanes = data->lanes, floats = data->columns * lanes;
    uint64_t batches = (data->rows + BATCH - 1) / BATCH;
    float *u = base_calloc(&base_alloc_libc, BATCH * lanes, sizeof *u);
    float *value = base_calloc(&base_alloc_libc, data->columns, sizeof *value);
    uint32_t *index = base_calloc(&base_alloc_libc, data->columns, sizeof *index);
    struct scratch s = {0};
    bool have = scratch_init(&s, d, floats, false);

    if (have && u != NULL && value != NULL && index != NULL) {
        turn_in(d, s.copy);
        (void)choose_order(d, &s, NULL);
        for (uint64_t i = 0; i < data->rows; i++) {
            if (s.order[i] >= batches)
                continue;
            uint64_t first = s.order[i] * (uint64_t)BATCH, left = data->rows - first;
            struct num_linear batch = d->p;
            struct num_linear_slope out = {.factor = u, .work = s.work};
            batch.x.start += first;
            batch.label += first;
            batch.x.rows = left < BATCH ? left : BATCH;
            d->ops->gradient(&batch, s.copy, &out);
            for (uint64_t row = 0; row < batch.x.rows; row++)
                step_row(d, first + row, u + row * lanes, s.copy, index, value);
        }
        d->result.units = data->rows;
    } else {
        have = false;
    }
    base_free(&base_alloc_libc, u);
    base_free(&base_alloc_libc, value);
    base_free(&base_alloc_libc, index);
    return have ? SHOAL_OK : base_err_nomem(err, "a pass over rows");
}

static shoal_status run_pass(struct desk *d, shoal_err *err)
{
    size_t floats = (size_t)d->data->columns * d->data->lanes;
    struct scratch s;

    if (d->data->way == LOGREG_BY_FACTORS)
        return run_factors(d, err);
    if (!scratch_init(&s, d, floats, d->data->map_at > 0))
        return base_err_nomem(err, "a pass over rows");
    if (!copy_in(d, &s, floats))
        return base_err_nomem(err, "a pass over rows");
    switch (d->data->way) {
    case NUM_LINEAR_DUAL: pass_dual(d, &s); break;
    case NUM_LINEAR_LASSO: pass_lasso(d, &s); break;
    default: pass_sgd(d, &s); break;
    }
    copy_out(d, &s, floats);
    return SHOAL_OK;
}

/* ---- judging ---- */

/* Sum of -conjugate(-alpha). */
static double conjugates(const struct desk *d, const float *alpha, size_t count)
{
    double sum = 0, cost = (double)d->data->cost;

    for (size_t i = 0; i < count; i++) {
        double a = (double)alpha[i], b = cost - a;
        switch (d->data->loss) {
        case NUM_LINEAR_HINGE: sum += a; break;
        case NUM_LINEAR_SQUARED_HINGE: sum += a - a * a / (4 * cost); break;
        default: sum -= (a > 0 ? a * log(a / cost) : 0) + (b > 0 ? b * log(b / cost) : 0);
        }
    }
    return sum;
}

static shoal_status judge_rows(struct desk *d, shoal_err *err)
{
    const uint32_t *map = part(d->data, d->data->map_at);
    const float *w = shoal_task_rows(d->task, LOGREG_W), *at = w;
    size_t size, floats = map != NULL ? (size_t)d->data->columns * d->data->lanes : 0;
    const float *alpha = shoal_task_state(d->task, &size);
    struct scratch s;

    if (!scratch_init(&s, d, floats, map != NULL))
        return base_err_nomem(err, "judging");
    if (d->data->way == LOGREG_BY_FACTORS) {
        turn_in(d, s.copy);
        at = s.copy;
    } else if (map != NULL) {
        d->ops->take(map, d->data->columns, d->data->lanes, w, s.copy, s.gain);
        at = s.copy;
    }
    struct num_linear_slope out = {.work = s.work};
    d->result.loss = d->ops->gradient(&d->p, at, &out);
    if (d->data->way == NUM_LINEAR_DUAL)
        d->result.penalty = conjugates(d, alpha, (size_t)(d->data->rows * d->data->lanes));
    return SHOAL_OK;
}

static double log_loss(double margin)
{
    return margin > 0 ? log1p(exp(-margin)) : log1p(exp(margin)) - margin;
}

/* Of the executor's rows, for each lane: losses, and a / (1 - a / cost), as a is cost / (1 + exp(m)). */
static void judge_losses(const struct desk *d, const float *z, double *loss, double *bend)
{
    const struct logreg_data *data = d->data;
    const uint32_t *label = part(data, data->label_at);
    size_t lanes = data->lanes;

    for (uint64_t i = 0; i < data->judged; i++)
        for (size_t k = 0; k < lanes; k++) {
            double margin = (double)z[i * lanes + k] * (label[i] == k ? 1 : -1);
            loss[k] += (double)data->cost * log_loss(margin);
            bend[k] += (double)data->cost * exp(-margin);
        }
}

/* What classes have goes to the driver through a table, as results are short. A table only adds up: so
 * each executor adds what is new since its last look, which it remembers. */
static void tell_lanes(struct desk *d, const double *look, float *told, float *more)
{
    size_t lanes = d->data->lanes;
    uint64_t first = (uint64_t)shoal_task_executor(d->task) * LOGREG_LOOKS;

    for (size_t i = 0; i < LOGREG_LOOKS * lanes; i++) {
        more[i] = (float)look[i] - told[i];
        told[i] = (float)look[i];
    }
    for (uint32_t i = 0; i < LOGREG_LOOKS; i++)
        shoal_task_add(d->task, LOGREG_LOOK, first + i, more + i * lanes);
}

static shoal_status judge_lasso(struct desk *d, shoal_err *err)
{
    const struct logreg_data *data = d->data;
    size_t size, lanes = data->lanes, looks = LOGREG_LOOKS * lanes;
    const float *z = shoal_task_rows(d->task, LOGREG_Z);
    float *weight = lanes > 1 ? shoal_task_new_state(d->task, true)
                              : (float *)(uintptr_t)shoal_task_state(d->task, &size);
    struct scratch s;

    if (!scratch_init(&s, d, looks, false))
        return base_err_nomem(err, "judging");
    double *look = s.look, *along = look + LOGREG_LOOK_ALONG * lanes;
    double *loss = look + LOGREG_LOOK_LOSS * lanes, *bend = look + LOGREG_LOOK_BEND * lanes;
    memset(look, 0, looks * sizeof *look);
    judge_losses(d, z + data->judged_at * lanes, loss, bend);
    for (uint64_t i = 0; i < data->rows * lanes; i++)
        d->result.penalty += fabs((double)weight[i]);
    struct num_linear_lasso lasso = lasso_of(d, &s, weight);
    lasso.look = look; /* most and along */
    lasso.count = data->rows;
    for (uint32_t i = 0; i < data->rows; i++)
        s.order[i] = i;
    d->result.gap = d->ops->lasso(&lasso, (float *)(uintptr_t)z);
    for (size_t k = 0; k < lanes; k++) {
        d->result.most = fmax(d->result.most, look[k]);
        d->result.dual += along[k];
        d->result.loss += loss[k];
        d->result.bend += bend[k];
    }
    if (lanes > 1)
        tell_lanes(d, look, weight + 2 * data->rows * lanes, s.copy);
    return SHOAL_OK;
}

/* ---- all of them ---- */

shoal_status logreg_run(shoal_task *task, shoal_err *err)
{
    size_t size, arg_size;
    const struct logreg_data *data = shoal_task_data(task, &size);
    const void *arg = shoal_task_arg(task, &arg_size);
    struct desk d = {.task = task,
                     .ops = num_linear_ops_find(LANES_ANY),
                     .data = data,
                     .p = {.x = {data->rows, data->columns, at(data, data->start_at),
                                 at(data, data->index_at), part(data, data->value_at)},
                           .label = part(data, data->label_at),
                           .lanes = data->lanes,
                           .loss = (enum num_linear_loss)data->loss,
                           .cost = data->cost}};
    shoal_status st = SHOAL_OK;

    if (arg_size == sizeof d.arg)
        memcpy(&d.arg, arg, sizeof d.arg);
    d.p.smooth = d.arg.smooth;
    switch (shoal_task_fn(task)) {
    case LOGREG_PASS: st = run_pass(&d, err); break;
    case LOGREG_PAUSE: break;
    case LOGREG_JUDGE:
        if (data->way == NUM_LINEAR_LASSO)
            st = judge_lasso(&d, err);
        else
            st = judge_rows(&d, err);
        break;
    default: st = run_newton(&d, err);
    }
    shoal_task_result(task, &d.result, sizeof d.result);
    return st;
}
