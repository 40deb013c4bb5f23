/* lasso_task.c - the tasks of `lasso`: a chain's working set is solved, a range of columns scanned.
 *
 * Tests: tests/unit/app/test_lasso.c. */
#include "app/lasso.h"

#include "base/err.h"
#include <math.h>
#include <string.h>

enum { LANES_ANY = 1 << 20, ROUNDS_MAX = 20000, AHEAD_VISITS = 6 };

size_t lasso_chain_size(uint32_t rows, uint32_t columns)
{
    return sizeof(struct lasso_chain) + (2 * (size_t)columns + 3 * (size_t)rows) * sizeof(double) +
           2 * (size_t)columns;
}

struct lasso_view lasso_view_of(void *state, uint32_t rows, uint32_t columns)
{
    struct lasso_view v = {.head = state};

    v.b = (double *)(void *)(v.head + 1);
    v.u = v.b + columns;
    v.z = v.u + rows;
    v.past_b = v.z + rows;
    v.past_z = v.past_b + columns;
    v.in = (uint8_t *)(v.past_z + rows);
    v.group = v.in + columns;
    return v;
}

static const void *part(const struct lasso_data *data, uint64_t at)
{
    return at > 0 ? (const char *)data + at : NULL;
}

/* Of what is always there. */
static const void *at(const struct lasso_data *data, uint64_t offset)
{
    return (const char *)data + offset;
}

struct num_lasso lasso_problem(const struct lasso_data *data, const struct lasso_options *o,
                               uint32_t chain)
{
    return (struct num_lasso){.x = {data->rows, data->columns, at(data, data->start_at),
                                    part(data, data->index_at), at(data, data->value_at)},
                              .y = at(data, data->y_at),
                              .total = data->total[chain],
                              .loss = (enum num_lasso_loss)data->loss,
                              .intercept = data->intercept != 0,
                              .mix = o->mix,
                              .lambda = 1};
}

/* Rows of the chain's own fold have no weight. */
static bool weigh(struct lasso_desk *d, uint32_t chain)
{
    const uint8_t *fold = at(d->data, d->data->fold_at);

    if (chain == 0)
        return true;
    d->weight = base_calloc(&base_alloc_libc, d->data->rows, sizeof *d->weight);
    for (uint32_t i = 0; d->weight != NULL && i < d->data->rows; i++)
        d->weight[i] = fold[i] == chain ? 0 : 1;
    d->p.weight = d->weight;
    return d->weight != NULL;
}

/* Mean losses of rows that the chain sees and of those it does not. */
void lasso_judge(const struct lasso_desk *d, uint32_t chain, const double *z,
                 struct lasso_solved *out)
{
    const uint8_t *fold = at(d->data, d->data->fold_at);
    double seen = 0, held = 0, others = (double)d->data->rows - d->p.total;

    for (uint32_t i = 0; i < d->data->rows; i++) {
        double y = (double)d->p.y[i], r = y - z[i], one = r * r / 2;
        if (d->p.loss == NUM_LASSO_LOGISTIC)
            one = fmax(z[i], 0) - y * z[i] + log1p(exp(-fabs(z[i])));
        if (chain > 0 && fold[i] == chain)
            held += one;
        else
            seen += one;
    }
    out->loss = seen / d->p.total;
    out->held = others > 0 ? held / others : 0;
}

static void run_begin(struct lasso_desk *d, uint32_t chain)
{
    struct lasso_view v =
        lasso_view_of(shoal_task_new_state(d->task, true), d->data->rows, d->data->columns);
    struct num_lasso_point point = {.u = v.u, .z = v.z};
    struct lasso_solved result = {0};

    num_lasso_begin(&d->p, &point);
    memset(v.group, NUM_LASSO_NO_GROUP, d->data->columns);
    lasso_judge(d, chain, v.z, &result);
    result.objective = result.loss;
    *v.head = (struct lasso_chain){.intercept = point.intercept, .null = result.loss};
    shoal_task_result(d->task, &result, sizeof result);
}

/* The strong rule for a lambda that is new, else those that break the conditions of a minimum; how
 * many are in. */
static uint32_t widen(const struct lasso_desk *d, uint32_t chain, const struct lasso_view *v)
{
    const float *g = shoal_task_rows(d->task, LASSO_GRADIENT) + (size_t)chain * d->data->columns;
    double rule = d->arg.round > 0 ? d->arg.lambda : 2 * d->arg.lambda - d->arg.before;
    uint32_t count = 0;

    for (uint32_t j = 0; j < d->data->columns; j++) {
        bool kept = d->arg.round > 0 ? v->in[j] != 0 : v->b[j] != 0;
        v->in[j] = kept || fabs((double)g[j]) >= d->o->mix * rule;
        count += v->in[j];
    }
    return count;
}

shoal_status lasso_solve_set(struct lasso_desk *d, const struct lasso_view *v,
                             struct num_lasso_set *set, struct lasso_solved *result)
{
    struct num_lasso_point point = {.u = v->u, .z = v->z, .intercept = v->head->intercept};
    struct num_lasso_effort effort = {.tol = d->o->tol / 2,
                                      .null = d->o->tol_of == LASSO_TOL_NULL ? v->head->null : 0,
                                      .rounds_max = ROUNDS_MAX,
                                      .schedule = (enum num_lasso_schedule)d->o->schedule,
                                      .seed = shoal_task_random(d->task)};
    struct num_lasso_work work = {0};
    shoal_status st = num_lasso_solve(&base_alloc_libc, d->ops, &d->p, &effort, set, &point, &work);

    for (uint32_t i = 0; i < set->count; i++) {
        v->b[set->column[i]] = set->b[i];
        result->nonzero += set->b[i] != 0;
    }
    v->head->intercept = point.intercept;
    result->updates = work.updates;
    result->set = set->count;
    result->objective = num_lasso_objective(&d->p, set, &point);
    return st;
}

static void list_set(const struct lasso_desk *d, const struct lasso_view *v, uint32_t *column,
                     double *b)
{
    uint32_t at = 0;

    for (uint32_t j = 0; j < d->data->columns; j++)
        if (v->in[j]) {
            b[at] = v->b[j];
            column[at++] = j;
        }
}

/* ---- the start of a penalty ---- */

/* Where the last penalty took more than AHEAD_VISITS visits a column, the next one starts ahead, on the
 * line through the last two solutions (num_lasso_ahead), and so do others while that takes no more visits
 * than starting where the last one ended took. With a loose tolerance it would not pay: going ahead
 * doubles the errors of the last solutions, and an epoch less than halves them. Visits in thousands,
 * without and with it, of 100 penalties down to a hundredth, at 1e-3:
 *
 *     1,500 x 15,000 dense, neighbours correlated by 0.9      10593    6563
 *     1,000 x 12,000 dense, by 0.5                             7429    2815
 *     80,000 x 50,000 sparse, Zipf                             7836    6931
 */
static bool ahead_pays(const struct lasso_ahead *a)
{
    return a->solutions == 2 && a->visits[0] > AHEAD_VISITS && a->visits[1] <= a->visits[0];
}

static void count_visits(struct lasso_ahead *a, uint32_t round, const struct lasso_solved *result)
{
    a->visits[a->on] = (round > 0 ? a->visits[a->on] : 0) +
                       (double)result->updates / (result->set > 0 ? result->set : 1);
    if (a->on == 0)
        a->visits[1] = 0;
}

/* From the last solution, which is then the past. */
static shoal_status go_ahead(const struct lasso_desk *d, const struct lasso_view *v,
                             struct num_lasso_point *point)
{
    struct lasso_ahead *a = &v->head->ahead;
    struct num_lasso_past past = {v->past_b, v->past_z, a->intercept};
    uint32_t *column = base_malloc(&base_alloc_libc, d->data->columns * sizeof *column);
    struct num_lasso_set all = {d->data->columns, column, v->b};
    double by = d->arg.lambda / d->arg.before; /* penalties are a geometric row */

    if (column == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t j = 0; j < d->data->columns; j++)
        column[j] = j;
    a->on = num_lasso_ahead(d->ops, &d->p, by, &past, &all, point);
    a->intercept = past.intercept;
    base_free(&base_alloc_libc, column);
    return SHOAL_OK;
}

static shoal_status begin_penalty(const struct lasso_desk *d, const struct lasso_view *v)
{
    struct lasso_ahead *a = &v->head->ahead;
    struct num_lasso_point point = {.u = v->u, .z = v->z, .intercept = v->head->intercept};
    shoal_status st = SHOAL_OK;

    if (ahead_pays(a)) {
        st = go_ahead(d, v, &point);
    } else {
        memcpy(v->past_b, v->b, d->data->columns * sizeof *v->b);
        memcpy(v->past_z, v->z, d->data->rows * sizeof *v->z);
        a->intercept = point.intercept;
        a->on = 0;
    }
    a->solutions += a->solutions < 2;
    v->head->intercept = point.intercept;
    return st;
}

static shoal_status run_solve(struct lasso_desk *d, uint32_t chain, shoal_err *err)
{
    struct lasso_view v =
        lasso_view_of(shoal_task_new_state(d->task, true), d->data->rows, d->data->columns);
    shoal_status st = d->arg.round == 0 ? begin_penalty(d, &v) : SHOAL_OK;
    uint32_t count = widen(d, chain, &v);
    uint32_t *column = base_calloc(&base_alloc_libc, count + 1, sizeof *column);
    struct num_lasso_set set = {count, column, NULL};
    struct lasso_solved result = {.groups = 1};

    set.b = base_calloc(&base_alloc_libc, count + 1, sizeof *set.b);
    if (column == NULL || set.b == NULL)
        st = SHOAL_E_NOMEM;
    if (st == SHOAL_OK) {
        list_set(d, &v, column, set.b);
        st = lasso_cut(d, &v, &set, &result);
    }
    if (st == SHOAL_OK && result.groups == 1) {
        st = lasso_solve_set(d, &v, &set, &result);
        count_visits(&v.head->ahead, d->arg.round, &result);
    } else {
        v.head->ahead.visits[0] = 0; /* nobody counts those of groups */
    }
    lasso_judge(d, chain, v.z, &result);
    base_free(&base_alloc_libc, column);
    base_free(&base_alloc_libc, set.b);
    shoal_task_result(d->task, &result, sizeof result);
    return st == SHOAL_OK ? SHOAL_OK : base_err_nomem(err, "solving for a working set");
}

static shoal_status run_take(struct lasso_desk *d, shoal_err *err)
{
    struct lasso_solved result = {.groups = 1};
    shoal_status st = lasso_run_take(d, &result);

    shoal_task_result(d->task, &result, sizeof result);
    return st == SHOAL_OK ? SHOAL_OK : base_err_nomem(err, "solving for a working set");
}

static shoal_status run_walk(struct lasso_desk *d, shoal_err *err)
{
    struct lasso_solved result = {.groups = 1};
    shoal_status st = lasso_run_walk(d, &result);

    shoal_task_result(d->task, &result, sizeof result);
    return st == SHOAL_OK ? SHOAL_OK : base_err_nomem(err, "solving from products");
}

static void run_scan(struct lasso_desk *d, uint32_t which)
{
    float *found = shoal_task_new_state(d->task, true);
    const double *u = (const void *)shoal_task_rows(d->task, LASSO_SLOPE);
    uint32_t first = d->data->part_first[which], count = d->data->part_first[which + 1] - first;
    double soft = d->arg.lambda * d->o->mix;
    struct lasso_seen seen = {.most = {0}};

    for (uint32_t j = 0; j < count; j++) /* a column is in the cache for all chains */
        for (uint32_t c = 0; c < d->data->chains; c++) {
            if ((d->arg.chains >> c & 1) == 0)
                continue;
            double g = fabs(d->ops->dot(&d->p.x, first + j, u + (size_t)c * d->data->rows));
            found[(size_t)c * count + j] = (float)g;
            seen.most[c] = fmax(seen.most[c], g);
            seen.excess[c] += g > soft ? (g - soft) * (g - soft) : 0;
        }
    shoal_task_result(d->task, &seen, sizeof seen);
}

shoal_status lasso_run(shoal_task *task, shoal_err *err)
{
    size_t arg_size;
    const void *arg = shoal_task_arg(task, &arg_size);
    struct lasso_desk d = {.task = task,
                           .o = shoal_task_options(task),
                           .data = (const void *)shoal_task_rows(task, LASSO_DATA),
                           .ops = num_lasso_ops_find(LANES_ANY)};
    uint32_t executor = shoal_task_executor(task), fn = shoal_task_fn(task);
    shoal_status st = SHOAL_OK;

    if (fn == LASSO_PAUSE)
        return SHOAL_OK;
    if (arg_size == sizeof d.arg)
        memcpy(&d.arg, arg, sizeof d.arg);
    d.p = lasso_problem(d.data, d.o, executor < d.data->chains ? executor : 0);
    d.p.lambda = d.arg.lambda;
    if (fn == LASSO_SCAN)
        run_scan(&d, executor - d.data->chains);
    else if (fn == LASSO_EPOCH)
        st = lasso_run_epoch(&d, executor - d.data->chains);
    else if (fn == LASSO_LOOK)
        st = lasso_run_look(&d, executor - d.data->chains);
    else if (fn == LASSO_MAKE)
        st = lasso_run_make(&d, executor - d.data->chains);
    else if (fn == LASSO_WALK)
        return run_walk(&d, err);
    if (st != SHOAL_OK)
        return base_err_nomem(err, fn == LASSO_MAKE ? "making products" : "visiting a group");
    if (executor >= d.data->chains)
        return SHOAL_OK;
    if (!weigh(&d, executor))
        return base_err_nomem(err, "weighing rows");
    if (fn == LASSO_BEGIN)
        run_begin(&d, executor);
    else
        st = fn == LASSO_TAKE ? run_take(&d, err) : run_solve(&d, executor, err);
    base_free(&base_alloc_libc, d.weight);
    return st;
}
