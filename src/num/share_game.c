/* share_game.c - water filling: the best prices at a budget, and how it runs down a tree of entities.
 *
 * The game of share_level.c, with two differences. Every job asks for a speed of its own, which
 * follows from the budget, so rows are scaled anew for each budget. And kinds that earlier stages
 * exhausted are equations: stopped jobs with several ways must use exactly what is left of them.
 * With the columns (GPUs in use / left; for an exhausted kind use - left) the master is
 *
 *     maximise sum w  with  sum_i w_i column_i <= 1 per kind left, = 0 per kind exhausted, w >= 0,
 *
 * and its duals are prices, of any sign for exhausted kinds. At prices with p.left = 1 over the
 * kinds left, what everybody pays, less what is left of exhausted kinds is worth, bounds the value
 * from below. Until some mix of columns keeps the equations there is no value; the duals then show
 * which answer is missing. */
#include "num/share_core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS_MAX = 1000, /* of one game */
    PIVOTS_MAX = 300,   /* of one solve of the master */
    IDLE_MAX = 8        /* questions in a row, per kind, that closed nothing of the gap */
};

static const double SUM_ROW = 0.01; /* keeps a game bounded in which nobody uses anything */
/* Part of all that is paid that must be paid for kinds that are left: with less, a bound relative
 * to it is rounding. */
static const double WORTH_MIN = 1e-4;

/* ---- how a budget runs down a tree of entities ----
 *
 * Each job has a cap, the most it can have, in units of its own. A fair node gives its members in
 * proportion to weight, up to their caps (a node's cap is the sum of its members'), and what one
 * cannot take goes to the others; a fifo node serves them in order. So the levels of all jobs
 * follow from one number, the budget of the root, and rise with it. Cost: O(jobs) per budget, after
 * one sort per set of caps. */

/* A member of a node: a job or a node, with its weight, the weights of itself and those after it,
 * and its cap. Rows that stand for several jobs have weight and cap of all of them. */
struct share_member {
    double weight, rest, cap;
    uint32_t index;
};

static uint32_t node_of(const struct num_tree *tree, size_t job)
{
    return tree->job_node == NULL ? 0 : tree->job_node[job];
}

static bool valid(const struct num_tree *tree, size_t jobs, const double *unit)
{
    if (tree->node_count < 1 || tree->nodes[0].parent != NUM_TREE_NONE)
        return false;
    for (uint32_t i = 0; i < tree->node_count; i++)
        if (!(tree->nodes[i].weight > 0) || !isfinite(tree->nodes[i].weight) ||
            (i > 0 && tree->nodes[i].parent >= i))
            return false;
    for (size_t m = 0; m < jobs; m++) {
        double weight = tree->job_weight == NULL ? 1 : tree->job_weight[m];
        if (!(weight > 0) || !isfinite(weight) || !(unit[m] > 0) || !isfinite(unit[m]) ||
            node_of(tree, m) >= tree->node_count)
            return false;
    }
    return true;
}

shoal_status num_share_tree_set(struct num_share *s, const struct num_tree *shape, size_t jobs,
                                const double *unit)
{
    struct share_tree *t = &s->fill.tree;
    struct base_room *room = &s->room;

    if (!valid(shape, jobs, unit))
        return SHOAL_E_INVAL;
    size_t nodes = shape->node_count;
    BASE_ROOM(room, t->members, jobs + nodes + 1);
    BASE_ROOM(room, t->first, nodes + 2);
    BASE_ROOM(room, t->node_cap, nodes);
    BASE_ROOM(room, t->budget, nodes);
    BASE_ROOM(room, t->leaf, nodes);
    BASE_ROOM(room, t->cap, jobs + 1);
    BASE_ROOM(room, t->level, jobs + 1);
    if (base_room_status(room) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    t->shape = shape;
    memset(t->level, 0, jobs * sizeof *t->level);
    memset(t->leaf, 0, nodes * sizeof *t->leaf);
    for (size_t m = 0; m < jobs; m++)
        t->leaf[node_of(shape, m)] = true;
    for (uint32_t i = 1; i < nodes; i++)
        if (t->leaf[shape->nodes[i].parent])
            return SHOAL_E_INVAL; /* nodes and jobs in one node */
    return SHOAL_OK;
}

static int rising(const void *a, const void *b)
{
    const struct share_member *x = a, *y = b;
    double p = x->cap * y->weight, q = y->cap * x->weight;

    if (p != q)
        return p < q ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Takes over the caps; returns the budget at which everybody is at their cap. */
static double gather(struct share_tree *t, const struct num_share_problem *p)
{
    size_t jobs = p->job_count;
    const struct num_tree *tree = t->shape;
    uint32_t nodes = tree->node_count;

    memset(t->first, 0, (nodes + 2) * sizeof *t->first);
    memset(t->node_cap, 0, nodes * sizeof *t->node_cap);
    for (size_t m = 0; m < jobs; m++)
        t->first[node_of(tree, m) + 2]++;
    for (uint32_t i = 1; i < nodes; i++)
        t->first[tree->nodes[i].parent + 2]++;
    for (uint32_t i = 0; i < nodes; i++)
        t->first[i + 2] += t->first[i + 1];
    for (size_t m = 0; m < jobs; m++) {
        uint32_t at = node_of(tree, m);
        double count = share_count(p, m);
        t->members[t->first[at + 1]++] = (struct share_member){
            .weight = count * (tree->job_weight == NULL ? 1 : tree->job_weight[m]),
            .cap = count * t->cap[m],
            .index = (uint32_t)m};
        t->node_cap[at] += count * t->cap[m];
    }
    for (uint32_t i = nodes; i-- > 1;) /* children come after their parents */
        t->node_cap[tree->nodes[i].parent] += t->node_cap[i];
    for (uint32_t i = 1; i < nodes; i++)
        t->members[t->first[tree->nodes[i].parent + 1]++] = (struct share_member){
            .weight = tree->nodes[i].weight, .cap = t->node_cap[i], .index = i};
    /* first[i + 1] has moved to the end of node i: it is the first of node i + 1. */
    for (uint32_t i = 0; i < nodes; i++) {
        struct share_member *m = t->members + t->first[i];
        size_t count = t->first[i + 1] - t->first[i];
        double rest = 0;
        if (!tree->nodes[i].fifo)
            qsort(m, count, sizeof *m, rising);
        while (count-- > 0)
            m[count].rest = rest += m[count].weight;
    }
    return t->node_cap[0];
}

/* Levels at a budget. */
static void pour(struct share_tree *t, const struct num_share_problem *p, double budget)
{
    const struct num_tree *tree = t->shape;

    t->budget[0] = budget;
    for (uint32_t i = 0; i < tree->node_count; i++) {
        const struct share_member *m = t->members + t->first[i],
                                  *end = t->members + t->first[i + 1];
        double left = t->budget[i], *to = t->leaf[i] ? t->level : t->budget;
        bool fifo = tree->nodes[i].fifo;
        for (; m < end; m++) {
            double part = fifo ? left : left * (m->weight / m->rest);
            double got = part < m->cap ? part : m->cap;
            to[m->index] = got;
            left = left > got ? left - got : 0;
        }
    }
    for (size_t m = 0; p->count != NULL && m < p->job_count; m++) {
        double each = t->level[m] / p->count[m];
        t->level[m] = each < t->cap[m] ? each : t->cap[m];
    }
}

/* ---- rows ---- */

shoal_status num_share_game_rows(struct share_fill_call *f, double *out_total)
{
    struct num_share *s = f->s;
    struct share_tree *tree = &f->mem->tree;
    size_t n = f->p->job_count, rows = 0;
    shoal_status st = num_share_rows_reserve(&s->room, &s->active, s->kinds, n);

    for (size_t m = 0; st == SHOAL_OK && m < n; m++) {
        const double *rate = f->p->rate + m * f->p->kind_count;
        double top = 0;
        for (uint32_t k = 0; k < s->kinds; k++) {
            double a = f->gone[k] ? 0 : rate[s->kind_of[k]];
            s->active.a[k * s->active.stride + rows] = a;
            top = a > top ? a : top;
        }
        if (f->mem->stopped[m] || top <= 0) {
            tree->cap[m] = tree->level[m];
            continue;
        }
        tree->cap[m] = fmax(tree->level[m], top / f->unit[m]);
        s->active.g[rows] = share_gpus(f, m);
        f->mem->job[rows] = (uint32_t)m;
        f->mem->top[rows++] = top;
    }
    if (st == SHOAL_OK)
        st = num_share_rows_reserve(&s->room, &s->rows, s->kinds, rows);
    if (st == SHOAL_OK)
        *out_total = gather(tree, f->p);
    return st;
}

static void scale_chunk(void *arg, size_t index)
{
    const struct share_fill_call *f = arg;
    struct num_share *s = f->s;
    const double *level = f->mem->tree.level;
    double *speed = f->mem->speed;
    size_t begin = index * SHARE_CHUNK,
           end = begin + SHARE_CHUNK < s->rows.count ? begin + SHARE_CHUNK : s->rows.count;

    for (size_t i = begin; i < end; i++) {
        double asked = level[f->mem->job[i]] * f->unit[f->mem->job[i]], top = f->mem->top[i];
        /* Who asks for nothing holds no GPUs, at whatever speed. */
        s->rows.g[i] = asked > 0 ? s->active.g[i] : 0;
        speed[i] = asked > 0 && asked < top ? asked : top;
    }
    for (uint32_t k = 0; k < s->kinds; k++) {
        const double *rate = s->active.a + k * s->active.stride;
        double *a = s->rows.a + k * s->rows.stride;
        for (size_t i = begin; i < end; i++)
            a[i] = rate[i] / speed[i];
    }
}

shoal_status num_share_game_pour(struct share_fill_call *f, double budget)
{
    pour(&f->mem->tree, f->p, budget);
    return num_share_each(f->s, share_chunks(f->s->rows.count), scale_chunk, f);
}

/* ---- questions ---- */

double num_share_route_cost(const struct share_route *w, const double *price)
{
    return price[w->edge.high] * w->high +
           (w->edge.low == SHARE_ORIGIN ? 0 : price[w->edge.low] * w->low);
}

size_t num_share_route_cheapest(const struct share_fill_call *f, size_t at, const double *price,
                                size_t *out_end)
{
    const struct share_route *w = f->mem->way;
    size_t best = at, end = at + 1;
    double least = num_share_route_cost(&w[at], price);

    for (; end < f->ways && w[end].job == w[at].job; end++) {
        double cost = num_share_route_cost(&w[end], price);
        if (cost < least) {
            least = cost;
            best = end;
        }
    }
    *out_end = end;
    return best;
}

void num_share_route_use(const struct share_fill_call *f, const struct share_route *w, double part,
                         double *use)
{
    double gpus = part * share_gpus(f, w->job);

    use[w->edge.high] += gpus * w->high;
    if (w->edge.low != SHARE_ORIGIN)
        use[w->edge.low] += gpus * w->low;
}

shoal_status num_share_game_ask(struct share_fill_call *f, const double *price, uint8_t *code,
                                struct share_reply *out)
{
    struct num_share *s = f->s;
    double rising[NUM_KINDS_MAX], cost = 0, worth = 0, scale = 0;
    size_t end;
    struct share_query query = {.price = rising, .t = 1, .delta = 1};
    struct share_answer sums;

    for (uint32_t k = 0; k < s->kinds; k++) {
        rising[k] = f->gone[k] ? 0 : price[k];
        worth += f->gone[k] ? 0 : price[k] * f->left[k];
        scale += fabs(price[k]) * s->capacity[k];
    }
    shoal_status st = num_share_pass(s, &query, code, NULL, &sums);
    if (st != SHOAL_OK)
        return st;
    *out = (struct share_reply){0};
    memcpy(out->use, sums.use, sizeof out->use);
    for (size_t i = 0; i < f->ways; i = end)
        num_share_route_use(f, &f->mem->way[num_share_route_cheapest(f, i, price, &end)], 1,
                            out->use);
    for (uint32_t k = 0; k < s->kinds; k++)
        cost += price[k] * (out->use[k] - (f->gone[k] ? f->left[k] : 0));
    out->worth = worth;
    /* Not so for prices of an earlier stage, all on kinds that are gone since. */
    out->bound = worth > WORTH_MIN * scale ? cost / worth : -INFINITY;
    f->passes++;
    return SHOAL_OK;
}

/* ---- the game at a budget ---- */

static void remember(struct share_fill_call *f)
{
    if (f->columns > 0)
        f->kept = num_share_col_keep(f->s, f->columns);
    f->columns = 0;
}

/* At most all of a kind that is left; nothing beyond what must be used of one that is gone. */
static void right_sides(const struct share_fill_call *f, double *b)
{
    for (uint32_t k = 0; k < f->s->kinds; k++)
        if (f->row_of[k] != SHARE_NO_ROW)
            b[f->row_of[k]] = f->gone[k] ? 0 : 1;
    b[f->row_count - 1] = 1;
}

/* Rows of the master: kinds that are left, at most as much as there is; exhausted ones, exactly as
 * much; and one that keeps it bounded. */
shoal_status num_share_game_begin(struct share_fill_call *f)
{
    struct num_share *s = f->s;
    double b[NUM_KINDS_MAX + 1];
    bool equal[NUM_KINDS_MAX + 1] = {false};

    remember(f);
    f->row_count = 0;
    for (uint32_t k = 0; k < s->kinds; k++) {
        f->row_of[k] = f->implied[k] ? SHARE_NO_ROW : f->row_count;
        if (f->implied[k])
            continue;
        equal[f->row_count++] = f->gone[k];
    }
    f->row_count++;
    right_sides(f, b);
    return num_lp_ready(s->alloc, f->row_count, b, equal, &s->master);
}

static void empty_master(struct share_fill_call *f)
{
    double b[NUM_KINDS_MAX + 1];

    remember(f);
    right_sides(f, b);
    num_lp_reset(f->s->master, b);
    f->cost = -INFINITY;
}

/* Asks and adds the answer as a column; remembers the best prices. */
static shoal_status ask_column(struct share_fill_call *f, const double *price, bool *out_better)
{
    struct num_share *s = f->s;
    double column[NUM_KINDS_MAX + 1];
    struct share_reply r;
    shoal_status st = num_share_game_ask(f, price, NULL, &r);

    if (st != SHOAL_OK)
        return st;
    for (uint32_t k = 0; k < s->kinds; k++) {
        double over = (r.use[k] - f->left[k]) / s->capacity[k];
        if (f->row_of[k] != SHARE_NO_ROW)
            column[f->row_of[k]] = !f->gone[k]               ? fmax(r.use[k] / f->left[k], 0)
                                   : fabs(over) < SHARE_FINE ? 0
                                                             : over;
    }
    column[f->row_count - 1] = SUM_ROW;
    st = num_share_col(s, s->master, &f->columns, 1, column, price);
    if (st != SHOAL_OK)
        return st;
    *out_better = r.bound > f->cost;
    if (*out_better) {
        f->cost = r.bound;
        for (uint32_t k = 0; k < s->kinds; k++)
            f->price[k] = price[k] / r.worth;
    }
    return SHOAL_OK;
}

bool num_share_game_prices(const struct share_fill_call *f, double *out_price)
{
    const struct num_share *s = f->s;
    const double *dual = num_lp_dual(s->master);
    double sum = 0;

    for (uint32_t k = 0; k < s->kinds; k++)
        if (!f->gone[k])
            sum += fmax(dual[f->row_of[k]], 0);
    for (uint32_t k = 0; k < s->kinds; k++)
        out_price[k] = f->row_of[k] == SHARE_NO_ROW ? 0
                       : f->gone[k]                 ? dual[f->row_of[k]] / s->capacity[k]
                                                    : fmax(dual[f->row_of[k]], 0) / f->left[k];
    for (uint32_t k = 0; sum > 0 && k < s->kinds; k++)
        out_price[k] /= sum;
    return sum > 0;
}

/* The master lost its footing, as its columns are too much alike: once more without them. */
static shoal_status begin_again(struct share_fill_call *f)
{
    double from[NUM_KINDS_MAX];
    bool better;

    memcpy(from, f->price, sizeof from);
    empty_master(f);
    return ask_column(f, from, &better);
}

/* Columns until value and bound meet, or are far enough from 1 to know on which side it is. */
static shoal_status play(struct share_fill_call *f)
{
    struct num_share *s = f->s;
    double slack = SHARE_SLACK * s->tolerance, last = INFINITY;
    uint32_t idle = 0;
    bool straight = true, again = false;

    /* Near the end rounding hides what is left: a few idle questions are enough there. */
    while (f->columns < COLUMNS_MAX && idle < (last < 1e-10 ? 3 : IDLE_MAX * (s->kinds + 1))) {
        enum num_lp_outcome outcome;
        double price[NUM_KINDS_MAX] = {0};
        bool better;
        shoal_status st = num_lp_solve(s->master, PIVOTS_MAX, &outcome);
        if (st != SHOAL_OK)
            return st;
        double sum = num_lp_objective(s->master);
        /* No mix of these columns uses exactly what it must. */
        bool none = outcome == NUM_LP_INFEASIBLE || sum <= 0;
        f->value = none ? INFINITY : 1 / sum;
        double gap = f->value - f->cost, off = fmax(f->cost - 1, 1 - f->value);
        if (outcome == NUM_LP_STUCK && !again) {
            st = begin_again(f);
            if (st != SHOAL_OK)
                return st;
            again = straight = true;
            continue;
        }
        if (outcome == NUM_LP_STUCK || f->value <= 1 + 0.1 * s->tolerance || gap <= slack ||
            gap <= SHARE_DECIDED * off)
            return SHOAL_OK;
        if (!num_share_game_prices(f, price) && !none)
            return SHOAL_OK;
        for (uint32_t k = 0; !straight && k < s->kinds; k++)
            price[k] = 0.5 * (price[k] + f->price[k]);
        st = ask_column(f, price, &better);
        if (st != SHOAL_OK)
            return st;
        idle = better || gap < last ? 0 : idle + 1;
        /* A point between that did not move the bound: the next question is the master's own. */
        straight = none || !isfinite(f->cost) || (!straight && gap > SHARE_STALLED * last);
        last = gap;
    }
    return SHOAL_OK;
}

/* The game at budget B, from the prices of its last mix and the best ones. */
shoal_status num_share_game_play(struct share_fill_call *f, double budget)
{
    struct num_share *s = f->s;
    double price[NUM_KINDS_MAX], at[NUM_KINDS_MAX];
    bool better;
    shoal_status st = num_share_game_pour(f, budget);

    memcpy(price, f->price, sizeof price);
    empty_master(f);
    for (uint32_t i = 0; st == SHOAL_OK && i <= f->kept; i++) { /* asking keeps their order */
        memcpy(at, i < f->kept ? s->col_price + (size_t)s->kinds * i : price,
               s->kinds * sizeof *at);
        st = ask_column(f, at, &better);
    }
    return st == SHOAL_OK ? play(f) : st;
}
