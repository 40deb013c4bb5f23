/* lasso_groups.c - a working set in groups: the tasks, and what the driver does between them.
 *
 * A chain's SOLVE cuts a large set (num/lasso_groups.c) in place of solving it. Then clocks follow in
 * which each group has an epoch over its columns from one u (EPOCH); after each the driver joins the
 * moves, after five it combines the points. When a round gains little, groups look at their slopes
 * (LOOK), which gives the gap as far as the set tells; at the end the chain takes b (TAKE), makes its
 * point from it and, if groups did not get there in EPOCHS_MAX epochs, solves further alone.
 *
 * b is in the table `set`, u in `slope`, and what the driver needs for joining in `joint`: all of it
 * is in checkpoints. Tests: tests/unit/app/test_lasso.c. */
#include "app/lasso.h"

#include <math.h>
#include <string.h>

enum { EPOCHS_MAX = 1000, ROUND = 5 /* epochs */, COLUMN_COST = 64 /* entries */ };
static const double STRICTER = 0.3; /* after a look that found the end was not there */

/* The table `set`. */
struct lasso_set {
    uint32_t count;
    double *b;        /* (set_max) */
    uint32_t *column; /* (set_max) */
    uint8_t *group;   /* (set_max) */
};

/* A group's state: c, h, b (set_max) and its move (rows), members (set_max), rest (set_max). */
struct lasso_hand {
    struct num_lasso_group group;
    double *move;
};

size_t lasso_set_size(const struct lasso_data *data)
{
    return 2 * sizeof(double) + data->set_max * (sizeof(double) + sizeof(uint32_t) + 1);
}

static struct lasso_set set_of(const void *table, const struct lasso_data *data)
{
    char *at = (char *)(uintptr_t)table;
    struct lasso_set s;

    memcpy(&s.count, at, sizeof s.count);
    s.b = (double *)(void *)(at + 2 * sizeof(double));
    s.column = (uint32_t *)(void *)(s.b + data->set_max);
    s.group = (uint8_t *)(s.column + data->set_max);
    return s;
}

size_t lasso_hand_size(const struct lasso_data *data)
{
    return (1 + data->rows + 3 * (size_t)data->set_max) * sizeof(double) +
           data->set_max * (sizeof(uint32_t) + 1);
}

static struct lasso_hand hand_of(const void *state, const struct lasso_data *data)
{
    struct lasso_hand h = {.move = (double *)(uintptr_t)state + 1};

    h.group.c = h.move + data->rows;
    h.group.h = h.group.c + data->set_max;
    h.group.set.b = h.group.h + data->set_max;
    h.group.member = (uint32_t *)(void *)(h.group.set.b + data->set_max);
    h.group.rest = (uint8_t *)(h.group.member + data->set_max);
    memcpy(&h.group.members, state, sizeof h.group.members);
    return h;
}

size_t lasso_joint_size(const struct lasso_data *data)
{
    return (num_lasso_history_size(data->rows, data->set_max) + 2 * (size_t)data->set_max) *
           sizeof(double);
}

/* ---- tasks ---- */

/* What an epoch costs, in entries. */
static uint64_t cost_of(const struct num_lasso *p, const struct num_lasso_set *set)
{
    uint64_t sum = (uint64_t)set->count * COLUMN_COST;

    if (p->x.index == NULL)
        return sum + (uint64_t)set->count * p->x.rows;
    for (uint32_t i = 0; i < set->count; i++)
        sum += p->x.start[set->column[i] + 1] - p->x.start[set->column[i]];
    return sum;
}

shoal_status lasso_cut(const struct lasso_desk *d, const struct lasso_view *v,
                       const struct num_lasso_set *set, struct lasso_solved *result)
{
    uint8_t *group;
    shoal_status st;

    if (d->data->groups == 1 || set->count < 2 * d->data->groups || set->count > d->data->set_max ||
        cost_of(&d->p, set) < d->data->cut_min)
        return SHOAL_OK;
    group = base_malloc(&base_alloc_libc, set->count);
    if (group == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t i = 0; i < set->count; i++)
        group[i] = v->group[set->column[i]];
    st = num_lasso_cut(&base_alloc_libc, &d->p, set, d->data->groups, d->o->theta, group);
    for (uint32_t i = 0; i < set->count; i++)
        v->group[set->column[i]] = group[i];
    base_free(&base_alloc_libc, group);
    result->groups = d->data->groups;
    result->set = set->count;
    return st;
}

/* The columns of one group with their b, listed in memory of the thread. */
static void list_group(const struct lasso_desk *d, uint32_t group, uint32_t *column,
                       struct lasso_hand *hand)
{
    struct lasso_set s = set_of(shoal_task_rows(d->task, LASSO_SET), d->data);
    uint32_t count = 0;

    for (uint32_t i = 0; i < s.count; i++)
        if (s.group[i] == group) {
            hand->group.set.b[count] = s.b[i];
            column[count++] = s.column[i];
        }
    hand->group.set.count = count;
    hand->group.set.column = column;
}

/* What the group's last task left, of a set that is still the same. */
static void go_on(const void *state, const struct lasso_data *data, struct lasso_hand *hand)
{
    struct lasso_hand last = hand_of(state, data);
    size_t count = hand->group.set.count;

    memcpy(hand->group.c, last.group.c, count * sizeof *last.group.c);
    memcpy(hand->group.h, last.group.h, count * sizeof *last.group.h);
    memcpy(hand->group.member, last.group.member, count * sizeof *last.group.member);
    memcpy(hand->group.rest, last.group.rest, count);
    hand->group.members = last.group.members;
}

static shoal_status visit(struct lasso_desk *d, uint32_t group, bool look)
{
    size_t size;
    const void *before = shoal_task_state(d->task, &size);
    void *state = shoal_task_new_state(d->task, false);
    struct lasso_hand hand = hand_of(state, d->data);
    const double *u = (const void *)shoal_task_rows(d->task, LASSO_SLOPE);
    uint32_t *column = shoal_task_scratch(d->task, d->data->set_max * sizeof *column);
    struct lasso_visited result = {.most = 0};
    struct num_lasso_work work = {0};

    if (column == NULL)
        return SHOAL_E_NOMEM;
    list_group(d, group, column, &hand);
    if (look || d->arg.turn != NUM_LASSO_FIRST)
        go_on(before, d->data, &hand);
    if (look)
        result.most =
            num_lasso_group_look(d->ops, &d->p, u, &hand.group, hand.move, &result.excess, &work);
    else
        num_lasso_group_epoch(d->ops, &d->p, (enum num_lasso_turn)d->arg.turn, u, &hand.group,
                              hand.move, &work);
    memcpy(state, &hand.group.members, sizeof hand.group.members);
    result.updates = work.updates;
    shoal_task_result(d->task, &result, sizeof result);
    return SHOAL_OK;
}

shoal_status lasso_run_epoch(struct lasso_desk *d, uint32_t group)
{
    return visit(d, group, false);
}

shoal_status lasso_run_look(struct lasso_desk *d, uint32_t group)
{
    return visit(d, group, true);
}

shoal_status lasso_run_take(struct lasso_desk *d, struct lasso_solved *result)
{
    struct lasso_view v =
        lasso_view_of(shoal_task_new_state(d->task, true), d->data->rows, d->data->columns);
    struct lasso_set s = set_of(shoal_task_rows(d->task, LASSO_SET), d->data);
    double *b = base_malloc(&base_alloc_libc, (s.count + 1) * sizeof *b);
    struct num_lasso_set set = {s.count, s.column, b};
    struct num_lasso_point point = {.u = v.u, .z = v.z, .intercept = v.head->intercept};
    shoal_status st = SHOAL_OK;

    if (b == NULL)
        return SHOAL_E_NOMEM;
    memcpy(b, s.b, s.count * sizeof *b);
    num_lasso_place(d->ops, &d->p, &set, &point);
    v.head->intercept = point.intercept;
    if (d->arg.finish != 0)
        st = lasso_solve_set(d, &v, &set, result);
    for (uint32_t i = 0; i < set.count; i++) {
        v.b[set.column[i]] = b[i];
        result->nonzero += d->arg.finish == 0 && b[i] != 0;
    }
    result->set = set.count;
    result->objective = num_lasso_objective(&d->p, &set, &point);
    lasso_judge(d, 0, v.z, result);
    base_free(&base_alloc_libc, b);
    return st;
}

/* ---- the driver ---- */

struct joining {
    struct lasso_driver *d;
    const struct lasso_data *data;
    const struct lasso_options *o;
    struct num_lasso p;
    struct lasso_set table;
    struct num_lasso_set set;
    struct num_lasso_joint joint;
    double *u, *next;
};

static struct joining join_of(shoal_driver *driver)
{
    struct lasso_driver *d = shoal_driver_state(driver);
    const struct lasso_data *data = (const void *)shoal_driver_rows_read(driver, LASSO_DATA);
    struct joining j = {.d = d, .data = data, .o = shoal_driver_options(driver)};
    double *memory = (void *)shoal_driver_rows(driver, LASSO_JOINT);

    j.p = lasso_problem(data, j.o, 0);
    j.p.lambda = d->of[d->step].lambda;
    j.u = (void *)shoal_driver_rows(driver, LASSO_SLOPE);
    j.table = set_of(shoal_driver_rows(driver, LASSO_SET), data);
    j.set = (struct num_lasso_set){j.table.count, j.table.column, j.table.b};
    j.joint = (struct num_lasso_joint){.h = memory, .points = d->points};
    j.next = memory + data->set_max;
    j.joint.memory = j.next + data->set_max;
    return j;
}

/* The chain's set goes where groups see it. */
enum lasso_fn lasso_groups_begin(shoal_driver *driver, struct lasso_arg *arg)
{
    struct joining j = join_of(driver);
    size_t size;
    const void *state = shoal_driver_executor_read(driver, 0, &size);
    struct lasso_view v =
        lasso_view_of((void *)(uintptr_t)state, j.data->rows, j.data->columns); /* only read */
    uint32_t count = 0;

    for (uint32_t k = 0; k < j.data->columns && count < j.data->set_max; k++)
        if (v.in[k]) {
            j.table.b[count] = v.b[k];
            j.table.column[count] = k;
            j.table.group[count++] = v.group[k];
        }
    memcpy(shoal_driver_rows(driver, LASSO_SET), &count, sizeof count);
    memcpy(j.u, v.u, j.data->rows * sizeof *j.u);
    j.set.count = count;
    j.d->value = num_lasso_joint_begin(&j.p, &j.set, &j.joint, j.u);
    j.d->points = j.joint.points;
    j.d->epochs = 0;
    j.d->enough =
        j.d->value > 0 ? lasso_allowed(j.o, j.d->null[0], j.d->value) / 2 / j.d->value : j.o->tol;
    arg->turn = NUM_LASSO_FIRST;
    return LASSO_EPOCH;
}

/* Joins what groups have left. */
static void join_moves(shoal_driver *driver, struct joining *j)
{
    struct num_lasso_moves moves = {j->data->groups, j->table.group, j->next, {NULL}};

    for (uint32_t g = 0; g < moves.groups; g++) {
        size_t size;
        const void *state = shoal_driver_executor_read(driver, j->d->chains + g, &size);
        struct lasso_hand hand = hand_of(state, j->data);
        moves.move[g] = hand.move;
        for (uint32_t i = 0, k = 0; i < j->set.count; i++) {
            if (j->table.group[i] != g)
                continue;
            j->next[i] = hand.group.set.b[k];
            j->joint.h[i] = hand.group.h[k++];
        }
    }
    num_lasso_join(&j->p, &moves, &j->set, j->u);
}

/* After a look: the gap as far as the set tells. */
static bool good_enough(const struct joining *j)
{
    struct num_lasso_point point = {.u = j->u};
    double most = 0, excess = 0;

    for (uint32_t g = 0; g < j->data->groups; g++) {
        most = fmax(most, j->d->visited[g].most);
        excess += j->d->visited[g].excess;
    }
    return j->d->value - num_lasso_bound(&j->p, &point, most, excess) <=
           lasso_allowed(j->o, j->d->null[0], j->d->value) / 2;
}

enum lasso_fn lasso_groups_next(shoal_driver *driver, struct lasso_arg *arg)
{
    struct joining j = join_of(driver);
    struct lasso_driver *d = j.d;
    double before = d->value;

    if (d->fn == LASSO_LOOK) {
        if (good_enough(&j))
            return LASSO_TAKE;
        d->enough *= STRICTER;
        arg->turn = NUM_LASSO_ROUND;
        return LASSO_EPOCH;
    }
    join_moves(driver, &j);
    arg->turn = NUM_LASSO_SAME;
    arg->finish = ++d->epochs == EPOCHS_MAX;
    bool over = num_lasso_joint_next(&j.p, &j.set, &j.joint, j.u);
    if (over) {
        d->value = num_lasso_joint_begin(&j.p, &j.set, &j.joint, j.u);
        arg->turn = NUM_LASSO_ROUND;
    }
    d->points = j.joint.points;
    if (arg->finish)
        return LASSO_TAKE;
    return over && before - d->value <= ROUND * d->enough * d->value ? LASSO_LOOK : LASSO_EPOCH;
}
