/* share_fill.c - water filling: levels rise together until something stops a job, then the others go
 * on, through a tree of entities.
 *
 * Budgets. The levels of all jobs follow from the budget B of the root (share_tree.c). A stage finds
 * the largest feasible B. At prices p, with p.N = 1, the jobs' cheapest ways to their levels cost
 * cost(B; p) together; where that is above 1, B is out of reach. cost rises with B, so every p bounds
 * B by the root of cost(B; p) = 1. Best prices at a given B come from the matrix game of
 * share_level.c. So: at a B that is too large play for prices, go down to their root, play again,
 * until the game's value is 1. B never has to be guessed from below, and nothing needs to be convex in
 * it: a queue's levels are not.
 *
 * Who stops. At the end some kinds have a price: they are exhausted. A job that cannot reach its level
 * on the others alone pays something; by complementary slackness all such jobs together use up the
 * exhausted kinds in every plan that gives them their levels. They stop. The others use none of these
 * kinds, now or later. So each stage takes at least one kind away from the jobs that go on, and there
 * are at most K + 1 stages, whatever the number of jobs. (Gavel finds out who stops with a
 * mixed-integer program per stage.)
 *
 * Stopped jobs. In any later plan they use only ways that were cheapest at their stage's prices. Nearly
 * all have a single one: their use is subtracted from the capacity, and they are out of the problem.
 * The few with several ways that tie keep these ways as a choice, and the exhausted kinds become
 * equations: used exactly. One equation per stage follows from the others, since all choices cost the
 * same; it is left out. So no later stage has to measure its small rise against capacities that
 * earlier ones have filled to the last bit.
 *
 * Reference: Narayanan et al., OSDI 2020, section 4.3 for the objective; decomposition as in
 * share_level.c. Cost: O(jobs K^2) per question, a few dozen questions per stage. */
#include "base/assert.h"
#include "num/share_core.h"

#include <math.h>
#include <string.h>

enum {
    EDGES_MAX = NUM_KINDS_MAX * (NUM_KINDS_MAX + 1) / 2,
    MIX_MAX = NUM_KINDS_MAX + 2, /* columns in a basis of the master */
    COLUMNS_MAX = 1000,
    PIVOTS_MAX = 300,
    IDLE_MAX = 8,
    DOWN_MAX = 80, /* steps down from a budget that is too large */
    ROOT_MAX = 80,
    NO_ROW = UINT32_MAX
};

static const double PRICED = 1e-9; /* price x capacity, of 1: the kind is exhausted */
static const double TIE = 1e-9;    /* relative: ways this close cost the same */
static const double CRUMB = 2e-10; /* smaller parts of a mix are rounding */
static const double LOOSE = 1e-6;  /* also those this close, where the mix has them */
static const double AT_CAP = 1e-9; /* relative */
static const double WORTH_MIN = 1e-4;
static const double SUM_ROW = 0.01; /* keeps a game bounded in which nobody uses anything */
static const double EMPTY = 2e-10;  /* of the capacity: nothing is left of a kind */
/* A budget is taken for the root of the cost when that is within the first of 1, or within this part
 * of where the search began: prices change before it would matter. */
static const double ROOT_FINE = 1e-12, ROOT_PART = 1e-3;

/* One of the ways in which a stopped job may reach its level: shares of time on an edge. */
struct way {
    uint32_t job;
    struct share_edge edge;
    double low, high;
};

/* Memory of the filling. Rows: jobs that may still rise. */
struct share_filling {
    struct share_tree tree;
    uint32_t *job; /* (rows) */
    size_t job_cap;
    double *top,
        *speed; /* (rows) fastest on the kinds that are left; asked of it at the budget tried */
    size_t top_cap, speed_cap;
    bool *stopped; /* (jobs) */
    size_t stopped_cap;
    struct way *way; /* grouped by job */
    size_t way_cap;
    uint8_t *code; /* (mix, padded rows) */
    size_t code_cap;
};

struct fill {
    struct num_share *s;
    struct share_filling *f;
    const struct num_share_problem *p;
    const double *unit;
    size_t ways;
    double left[NUM_KINDS_MAX];  /* capacity without the use of stopped jobs that have one way */
    bool gone[NUM_KINDS_MAX];    /* exhausted: for stopped jobs only */
    bool implied[NUM_KINDS_MAX]; /* gone, and exactly used if the other kinds are */
    uint32_t row_of[NUM_KINDS_MAX], row_count;
    uint32_t columns, kept;      /* in the master; prices of the last mix, at the front */
    double value;                /* of the game at the budget tried: part of `left` it takes */
    double price[NUM_KINDS_MAX]; /* the best found for it */
    double cost;                 /* at these prices: value is at least this */
    uint32_t passes;
    bool exact;
};

/* What the jobs answer to prices. */
struct reply {
    double use[NUM_KINDS_MAX];
    double worth; /* of what is left */
    double bound; /* the game's value is at least this */
};

void num_share_filling_free(struct num_share *s)
{
    struct share_filling *f = s->filling;

    if (f == NULL)
        return;
    num_share_tree_free(s->alloc, &f->tree);
    base_free(s->alloc, f->job);
    base_free(s->alloc, f->top);
    base_free(s->alloc, f->speed);
    base_free(s->alloc, f->stopped);
    base_free(s->alloc, f->way);
    base_free(s->alloc, f->code);
    base_free(s->alloc, f);
}

static size_t padded(size_t count)
{
    return (count + SHARE_LANES - 1) / SHARE_LANES * SHARE_LANES;
}

static size_t chunk_count(size_t rows)
{
    return (rows + SHARE_CHUNK - 1) / SHARE_CHUNK;
}

static shoal_status reserve(struct num_share *s, size_t n)
{
    if (s->filling == NULL)
        s->filling = base_calloc(s->alloc, 1, sizeof *s->filling);
    if (s->filling == NULL)
        return SHOAL_E_NOMEM;
    struct share_filling *f = s->filling;
    const struct base_alloc *a = s->alloc;
    size_t chunks = chunk_count(n);

    if (base_reserve(a, (void **)&f->job, &f->job_cap, n + 1, sizeof *f->job) != 0 ||
        base_reserve(a, (void **)&f->top, &f->top_cap, n + 1, sizeof *f->top) != 0 ||
        base_reserve(a, (void **)&f->speed, &f->speed_cap, n + 1, sizeof *f->speed) != 0 ||
        base_reserve(a, (void **)&f->stopped, &f->stopped_cap, n + 1, sizeof *f->stopped) != 0 ||
        base_reserve(a, (void **)&f->code, &f->code_cap, (padded(n) + SHARE_LANES) * MIX_MAX, 1) !=
            0 ||
        base_reserve(a, (void **)&s->need, &s->need_cap, n + 1, sizeof *s->need) != 0 ||
        base_reserve(a, (void **)&s->chunks, &s->chunk_cap, chunks + 1, sizeof *s->chunks) != 0)
        return SHOAL_E_NOMEM;
    return SHOAL_OK;
}

/* ---- rows at a budget ---- */

/* The jobs that may rise, with their speeds on the kinds that are left, and everybody's cap. Returns
 * the budget at which all are at their caps. */
static shoal_status line_up(struct fill *f, double *out_total)
{
    struct num_share *s = f->s;
    struct share_tree *tree = &f->f->tree;
    size_t n = f->p->job_count, rows = 0;
    shoal_status st = num_share_rows_reserve(s->alloc, &s->active, &s->active_cap, s->kinds, n);

    for (size_t m = 0; st == SHOAL_OK && m < n; m++) {
        const double *rate = f->p->rate + m * f->p->kind_count;
        double top = 0;
        for (uint32_t k = 0; k < s->kinds; k++) {
            double a = f->gone[k] ? 0 : rate[s->kind_of[k]];
            s->active.a[k * s->active.stride + rows] = a;
            top = a > top ? a : top;
        }
        if (f->f->stopped[m] || top <= 0) {
            tree->cap[m] = tree->level[m];
            continue;
        }
        tree->cap[m] = fmax(tree->level[m], top / f->unit[m]);
        s->active.g[rows] = f->p->gpus[m] * (f->p->count == NULL ? 1 : f->p->count[m]);
        f->f->job[rows] = (uint32_t)m;
        f->f->top[rows++] = top;
    }
    if (st == SHOAL_OK)
        st = num_share_rows_reserve(s->alloc, &s->rows, &s->rows_cap, s->kinds, rows);
    if (st == SHOAL_OK)
        *out_total = num_share_tree_gather(tree, f->p);
    return st;
}

static void scale_chunk(void *arg, size_t index)
{
    const struct fill *f = arg;
    struct num_share *s = f->s;
    const double *level = f->f->tree.level;
    double *speed = f->f->speed;
    size_t begin = index * SHARE_CHUNK,
           end = begin + SHARE_CHUNK < s->rows.count ? begin + SHARE_CHUNK : s->rows.count;

    for (size_t i = begin; i < end; i++) {
        double asked = level[f->f->job[i]] * f->unit[f->f->job[i]], top = f->f->top[i];
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

/* Rows as they are at budget B: scaled so that speed 1 is what each asks for. */
static shoal_status pour(struct fill *f, double budget)
{
    num_share_tree_pour(&f->f->tree, f->p, budget);
    return num_share_each(f->s, chunk_count(f->s->rows.count), scale_chunk, f);
}

/* ---- questions ---- */

struct pass {
    struct num_share *s;
    struct share_query query;
    uint8_t *code;
};

static void pass_chunk(void *arg, size_t index)
{
    const struct pass *a = arg;
    struct num_share *s = a->s;
    size_t at = index * SHARE_CHUNK, left = padded(s->rows.count) - at;

    s->ask(&s->rows, at, left < SHARE_CHUNK ? left : SHARE_CHUNK, &a->query, a->code, NULL, NULL,
           &s->chunks[index]);
}

static double way_cost(const struct way *w, const double *price)
{
    return price[w->edge.high] * w->high +
           (w->edge.low == SHARE_ORIGIN ? 0 : price[w->edge.low] * w->low);
}

/* The cheapest of the ways [at, *out_end) of one job: the first of several. */
static size_t cheapest(const struct fill *f, size_t at, const double *price, size_t *out_end)
{
    const struct way *w = f->f->way;
    size_t best = at, end = at + 1;
    double least = way_cost(&w[at], price);

    for (; end < f->ways && w[end].job == w[at].job; end++) {
        double cost = way_cost(&w[end], price);
        if (cost < least) {
            least = cost;
            best = end;
        }
    }
    *out_end = end;
    return best;
}

static double gpus_of(const struct fill *f, size_t m)
{
    return f->p->gpus[m] * (f->p->count == NULL ? 1 : f->p->count[m]);
}

static void add_use(const struct fill *f, const struct way *w, double part, double *use)
{
    double gpus = part * gpus_of(f, w->job);

    use[w->edge.high] += gpus * w->high;
    if (w->edge.low != SHARE_ORIGIN)
        use[w->edge.low] += gpus * w->low;
}

/* Asks everybody; `code` (padded rows; may be NULL) gets the edges of the rows. */
static shoal_status ask(struct fill *f, const double *price, uint8_t *code, struct reply *out)
{
    struct num_share *s = f->s;
    double rising[NUM_KINDS_MAX], cost = 0, worth = 0, scale = 0;
    size_t chunks = chunk_count(s->rows.count), end;
    struct pass a = {.s = s, .query = {.price = rising, .t = 1, .delta = 1}, .code = code};

    for (uint32_t k = 0; k < s->kinds; k++) {
        rising[k] = f->gone[k] ? 0 : price[k];
        worth += f->gone[k] ? 0 : price[k] * f->left[k];
        scale += fabs(price[k]) * s->capacity[k];
    }
    shoal_status st = num_share_each(s, chunks, pass_chunk, &a);
    if (st != SHOAL_OK)
        return st;
    *out = (struct reply){0};
    for (size_t i = 0; i < chunks; i++)
        for (uint32_t k = 0; k < s->kinds; k++)
            out->use[k] += s->chunks[i].use[k];
    for (size_t i = 0; i < f->ways; i = end)
        add_use(f, &f->f->way[cheapest(f, i, price, &end)], 1, out->use);
    for (uint32_t k = 0; k < s->kinds; k++)
        cost += price[k] * (out->use[k] - (f->gone[k] ? f->left[k] : 0));
    out->worth = worth;
    /* Prices of an earlier stage: all on kinds that are gone. */
    out->bound = worth > WORTH_MIN * scale ? cost / worth : -INFINITY;
    f->passes++;
    return SHOAL_OK;
}

/* ---- the game at a budget ---- */

/* Prices whose answers are worth having again: those in the mix, moved to the front. */
static void remember(struct fill *f)
{
    struct num_share *s = f->s;

    if (f->columns == 0)
        return;
    f->kept = 0;
    for (uint32_t i = 0; i < f->columns; i++)
        if (num_lp_value(s->master, i) > 0)
            memmove(s->col_price + (size_t)s->kinds * f->kept++,
                    s->col_price + (size_t)s->kinds * i, s->kinds * sizeof *s->col_price);
    f->columns = 0;
}

/* Rows of the master: kinds that are left, at most as much as there is; exhausted ones, exactly as
 * much; and one that keeps it bounded. */
static shoal_status make_master(struct fill *f)
{
    struct num_share *s = f->s;
    double b[NUM_KINDS_MAX + 1];
    bool equal[NUM_KINDS_MAX + 1] = {false};

    remember(f);
    f->row_count = 0;
    for (uint32_t k = 0; k < s->kinds; k++) {
        f->row_of[k] = f->implied[k] ? NO_ROW : f->row_count;
        if (f->implied[k])
            continue;
        b[f->row_count] = f->gone[k] ? 0 : 1;
        equal[f->row_count++] = f->gone[k];
    }
    b[f->row_count++] = 1;
    num_lp_free(s->master);
    s->master = NULL;
    s->master_rows = 0; /* not one that the others could go on with */
    return num_lp_new(s->alloc, f->row_count, b, equal, &s->master);
}

static void empty_master(struct fill *f)
{
    double b[NUM_KINDS_MAX + 1];

    remember(f);
    for (uint32_t k = 0; k < f->s->kinds; k++)
        if (f->row_of[k] != NO_ROW)
            b[f->row_of[k]] = f->gone[k] ? 0 : 1;
    b[f->row_count - 1] = 1;
    num_lp_reset(f->s->master, b);
    f->cost = -INFINITY;
}

/* Asks and adds the answer as a column; remembers the best prices. */
static shoal_status ask_column(struct fill *f, const double *price, bool *out_better)
{
    struct num_share *s = f->s;
    double column[NUM_KINDS_MAX + 1];
    struct reply r;
    uint32_t index;
    shoal_status st = num_share_col(s, f->columns, s->kinds, price);

    if (st == SHOAL_OK)
        st = ask(f, price, NULL, &r);
    if (st != SHOAL_OK)
        return st;
    for (uint32_t k = 0; k < s->kinds; k++) {
        double over = (r.use[k] - f->left[k]) / s->capacity[k];
        if (f->row_of[k] != NO_ROW)
            column[f->row_of[k]] = !f->gone[k]              ? fmax(r.use[k] / f->left[k], 0)
                                   : fabs(over) < ROOT_FINE ? 0
                                                            : over;
    }
    column[f->row_count - 1] = SUM_ROW;
    st = num_lp_add(s->master, 1, column, &index);
    if (st != SHOAL_OK)
        return st;
    f->columns++;
    *out_better = r.bound > f->cost;
    if (*out_better) {
        f->cost = r.bound;
        for (uint32_t k = 0; k < s->kinds; k++)
            f->price[k] = price[k] / r.worth;
    }
    return SHOAL_OK;
}

/* Prices the master proposes, scaled so that what is left costs 1; false: nothing has a price. */
static bool proposed(const struct fill *f, double *out_price)
{
    const struct num_share *s = f->s;
    const double *dual = num_lp_dual(s->master);
    double sum = 0;

    for (uint32_t k = 0; k < s->kinds; k++)
        if (!f->gone[k])
            sum += fmax(dual[f->row_of[k]], 0);
    for (uint32_t k = 0; k < s->kinds; k++)
        out_price[k] = f->row_of[k] == NO_ROW ? 0
                       : f->gone[k]           ? dual[f->row_of[k]] / s->capacity[k]
                                              : fmax(dual[f->row_of[k]], 0) / f->left[k];
    for (uint32_t k = 0; sum > 0 && k < s->kinds; k++)
        out_price[k] /= sum;
    return sum > 0;
}

/* Columns until value and bound meet, or are far enough from 1 to know on which side it is. */
static shoal_status play(struct fill *f)
{
    struct num_share *s = f->s;
    double slack = 0.02 * s->tolerance, last = INFINITY;
    uint32_t idle = 0;
    bool straight = true;

    while (f->columns < COLUMNS_MAX && idle < (last < 1e-10 ? 3 : IDLE_MAX * (s->kinds + 1))) {
        enum num_lp_outcome outcome;
        double price[NUM_KINDS_MAX];
        bool better;
        shoal_status st = num_lp_solve(s->master, PIVOTS_MAX, &outcome);
        if (st != SHOAL_OK)
            return st;
        double sum = num_lp_objective(s->master);
        /* No mix of these columns uses exactly what it must. */
        bool none = outcome == NUM_LP_INFEASIBLE || sum <= 0;
        f->value = none ? INFINITY : 1 / sum;
        double gap = f->value - f->cost, off = fmax(f->cost - 1, 1 - f->value);
        if (outcome == NUM_LP_STUCK || f->value <= 1 + 0.1 * s->tolerance || gap <= slack ||
            gap <= 0.02 * off)
            return SHOAL_OK;
        if (!proposed(f, price) && !none)
            return SHOAL_OK;
        for (uint32_t k = 0; !straight && k < s->kinds; k++)
            price[k] = 0.5 * (price[k] + f->price[k]);
        st = ask_column(f, price, &better);
        if (st != SHOAL_OK)
            return st;
        idle = better || gap < last ? 0 : idle + 1;
        /* A point between that did not move the bound: the next question is the master's own. */
        straight = none || !isfinite(f->cost) || (!straight && gap > 0.7 * last);
        last = gap;
    }
    return SHOAL_OK;
}

/* The game at budget B, from the prices of its last mix and the best ones. */
static shoal_status play_at(struct fill *f, double budget)
{
    struct num_share *s = f->s;
    double price[NUM_KINDS_MAX], at[NUM_KINDS_MAX];
    bool better;
    shoal_status st = pour(f, budget);

    memcpy(price, f->price, sizeof price);
    empty_master(f);
    for (uint32_t i = 0; st == SHOAL_OK && i <= f->kept; i++) { /* asking keeps their order */
        memcpy(at, i < f->kept ? s->col_price + (size_t)s->kinds * i : price,
               s->kinds * sizeof *at);
        st = ask_column(f, at, &better);
    }
    return st == SHOAL_OK ? play(f) : st;
}

/* ---- a stage ---- */

/* Cost at the best prices and another budget, less 1 and a hair: while some jobs rise, others may stand
 * at their caps and need all there is of a kind, exactly. */
static shoal_status excess(struct fill *f, double budget, double *out)
{
    struct reply r;
    shoal_status st = pour(f, budget);

    if (st == SHOAL_OK)
        st = ask(f, f->price, NULL, &r);
    *out = st == SHOAL_OK ? r.bound - 1 - ROOT_FINE : 0;
    return st;
}

/* The largest budget, or a little more, at which the best prices do not cost more than there is;
 * between `low`, which is feasible, and `high`, where they do. Regula falsi with the Illinois rule,
 * and halving where that is slow. */
static shoal_status root(struct fill *f, double low, double high, double *out)
{
    double now = f->cost - 1 - ROOT_FINE, at_high = now, at_low;
    double fine = fmax(ROOT_FINE, ROOT_PART * now), width = 2 * (high - low);
    int side = 0;
    shoal_status st = excess(f, low, &at_low);

    for (uint32_t step = 0; st == SHOAL_OK && step < ROOT_MAX && !(now > 0 && now <= fine);
         step++) {
        double at = high - at_high / (at_high - at_low) * (high - low);
        if (high - low > 0.5 * width || !(at > low && at < high))
            at = 0.5 * (low + high);
        width = high - low;
        if (!(at > low && at < high))
            break;
        st = excess(f, at, &now);
        if (now > 0) {
            high = at;
            at_high = now;
            at_low *= side < 0 ? 0.5 : 1;
            side = -1;
        } else {
            low = at;
            at_low = now;
            at_high *= side > 0 ? 0.5 : 1;
            side = 1;
            if (now > -0.5 * ROOT_FINE) {
                high = at;
                break;
            }
        }
    }
    *out = high;
    return st;
}

/* Plays at the highest feasible budget up to `total`, given that `low` is feasible. */
static shoal_status climb(struct fill *f, double low, double total, double *out_budget)
{
    double enough = 1 + 0.1 * f->s->tolerance, budget = total, next;

    for (uint32_t step = 0;; step++) {
        shoal_status st = play_at(f, budget);
        *out_budget = budget;
        if (st != SHOAL_OK || f->value <= enough)
            return st;
        if (step == DOWN_MAX || f->cost <= 1 + ROOT_FINE)
            break;
        st = root(f, low, budget, &next);
        if (st != SHOAL_OK)
            return st;
        if (next >= budget)
            break;
        budget = next;
    }
    shoal_status st = pour(f, budget); /* as near as rounding allows */
    f->exact = f->exact && f->value <= 1 + f->s->tolerance;
    return st;
}

/* The master's own prices where they prove as much as the best ones: kinds with room to spare then
 * cost nothing at all. Very small ones are rounding. */
static shoal_status final_prices(struct fill *f, double *out)
{
    struct num_share *s = f->s;
    struct reply r;

    if (!proposed(f, out))
        memcpy(out, f->price, sizeof f->price);
    shoal_status st = ask(f, out, NULL, &r);
    if (st == SHOAL_OK && r.bound < f->cost - s->tolerance)
        memcpy(out, f->price, sizeof f->price);
    for (uint32_t k = 0; k < s->kinds; k++)
        if (fabs(out[k]) * (f->gone[k] ? s->capacity[k] : f->left[k]) <= PRICED)
            out[k] = 0;
    return st;
}

/* ---- the end of a stage ---- */

/* Way of a row along an edge; false: the edge does not reach the row's speed, but for rounding. */
static bool way_of(const struct fill *f, size_t row, struct share_edge e, struct way *out)
{
    const struct share_rows *rows = &f->s->rows;
    double high = rows->a[(size_t)e.high * rows->stride + row];
    double low = e.low == SHARE_ORIGIN ? 0 : rows->a[(size_t)e.low * rows->stride + row];

    if (e.low == SHARE_ORIGIN ? high < 1 - AT_CAP
                              : low <= 0 || high <= 0 || (low < 1) == (high < 1))
        return false;
    *out = (struct way){.job = f->f->job[row], .edge = e};
    share_mix(rows, row, e, 1, &out->low, &out->high);
    out->high = out->high < 1 ? out->high : 1;
    return true;
}

static void add_shares(const struct fill *f, const struct way *w, double part)
{
    const struct num_share *s = f->s;
    double *x = s->x + w->job * (size_t)f->p->kind_count;

    x[s->kind_of[w->edge.high]] += part * w->high;
    if (w->edge.low != SHARE_ORIGIN)
        x[s->kind_of[w->edge.low]] += part * w->low;
}

/* The job has one way: its shares are final. */
static void settle(struct fill *f, const struct way *w)
{
    double use[NUM_KINDS_MAX] = {0};

    add_shares(f, w, 1);
    add_use(f, w, 1, use);
    for (uint32_t k = 0; k < f->s->kinds; k++)
        f->left[k] -= use[k];
}

/* Columns of the mix that is the answer. */
struct mix {
    uint32_t count, column[MIX_MAX];
    double part[MIX_MAX];
};

static void mix_of(const struct fill *f, struct mix *out)
{
    double sum = 0;

    out->count = 0;
    for (uint32_t i = 0; i < f->columns && out->count < MIX_MAX; i++)
        if (num_lp_value(f->s->master, i) > 0) {
            out->column[out->count] = i;
            out->part[out->count] = num_lp_value(f->s->master, i);
            sum += out->part[out->count++];
        }
    if (out->count == 0 && f->columns > 0) /* the master failed: the last question's answer */
        *out = (struct mix){.count = 1, .column = {f->columns - 1}, .part = {sum = 1}};
    for (uint32_t i = 0; i < out->count; i++)
        out->part[i] /= sum;
}

static const double *column_price(const struct fill *f, uint32_t column)
{
    return f->s->col_price + (size_t)f->s->kinds * column;
}

/* What the end of a stage works with. */
struct ending {
    const double *price;
    struct mix mix;
    double use[NUM_KINDS_MAX]; /* by the mix, of jobs that keep several ways */
};

/* Whether a way costs no more than `least`, but for this part of what it pays, or of everything. */
static bool cheap(const struct fill *f, const struct ending *e, const struct way *w, double least,
                  double part)
{
    double over = way_cost(w, e->price) - least;
    double paid = fabs(e->price[w->edge.high]) * w->high +
                  (w->edge.low == SHARE_ORIGIN ? 0 : fabs(e->price[w->edge.low]) * w->low);

    return over <= part * paid || over * gpus_of(f, w->job) <= CRUMB;
}

/* Of the ways of one stopped job keeps those that are cheapest, and those in the mix, `in_mix` for each
 * of its columns (`count`: none that counts). A way in the mix that is not cheap is there by rounding:
 * the cheapest takes its place. Returns how many are left, at the front; a single one is settled and
 * gone. */
static size_t choose_ways(struct fill *f, struct ending *e, struct way *way, size_t count,
                          const size_t *in_mix)
{
    size_t best = 0, kept = 0;
    double part[EDGES_MAX] = {0};

    for (size_t w = 1; w < count; w++)
        if (way_cost(&way[w], e->price) < way_cost(&way[best], e->price))
            best = w;
    double least = way_cost(&way[best], e->price);
    for (uint32_t c = 0; c < e->mix.count; c++) {
        size_t w = in_mix[c];
        part[w < count && cheap(f, e, &way[w], least, LOOSE) ? w : best] += e->mix.part[c];
    }
    size_t most = best;
    for (size_t w = 0; w < count; w++)
        most = part[w] > part[most] ? w : most;
    for (size_t w = 0; w < count; w++)
        if (part[w] < CRUMB) {
            part[most] += part[w];
            part[w] = 0;
        }
    for (size_t w = 0; w < count; w++) {
        if (part[w] <= 0 && !cheap(f, e, &way[w], least, TIE))
            continue;
        part[kept] = part[w];
        way[kept++] = way[w];
    }
    if (kept == 1) {
        settle(f, &way[0]);
        return 0;
    }
    for (size_t w = 0; w < kept; w++)
        add_use(f, &way[w], part[w], e->use);
    return kept;
}

/* Jobs that stopped before have fewer ways now. */
static void narrow(struct fill *f, struct ending *e)
{
    struct way *way = f->f->way;
    size_t kept = 0, end;

    for (size_t i = 0; i < f->ways; i = end) {
        size_t in_mix[MIX_MAX];
        struct way own[EDGES_MAX];
        (void)cheapest(f, i, e->price, &end);
        for (uint32_t c = 0; c < e->mix.count; c++)
            in_mix[c] = cheapest(f, i, column_price(f, e->mix.column[c]), &end) - i;
        memcpy(own, way + i, (end - i) * sizeof *own);
        size_t count = choose_ways(f, e, own, end - i, in_mix);
        memcpy(way + kept, own, count * sizeof *own);
        kept += count;
    }
    f->ways = kept;
}

/* The kind that a way is on alone, but for rounding; SHARE_ORIGIN: on two. */
static uint8_t alone_on(const struct way *w)
{
    if (w->edge.low == SHARE_ORIGIN)
        return SHARE_ORIGIN;
    return w->low <= AT_CAP ? w->edge.high : w->high <= AT_CAP ? w->edge.low : SHARE_ORIGIN;
}

/* A row that stops: its ways are all edges that reach its speed, then the cheap ones of them. */
static shoal_status stop_row(struct fill *f, struct ending *e, size_t row)
{
    struct num_share *s = f->s;
    uint32_t edges = s->kinds * (s->kinds + 1) / 2, count = 0;
    struct way way[EDGES_MAX];
    size_t at[EDGES_MAX], in_mix[MIX_MAX];

    for (uint32_t i = 0; i < edges; i++) { /* those from the origin, by kind, come first */
        at[i] = SIZE_MAX;
        if (!way_of(f, row, s->edges.edge[i], &way[count]))
            continue;
        /* At a corner the edges that meet there are the same: the first stands for all. */
        uint8_t kind = alone_on(&way[count]);
        at[i] = kind != SHARE_ORIGIN && at[kind] != SIZE_MAX ? at[kind] : count++;
    }
    for (uint32_t c = 0; c < e->mix.count; c++)
        in_mix[c] = at[f->f->code[c * padded(s->rows.count) + row]];
    f->f->stopped[f->f->job[row]] = true;
    if (count == 0)
        return SHOAL_OK;
    size_t kept = choose_ways(f, e, way, count, in_mix);
    if (base_reserve(s->alloc, (void **)&f->f->way, &f->f->way_cap, f->ways + kept,
                     sizeof *f->f->way) != 0)
        return SHOAL_E_NOMEM;
    memcpy(f->f->way + f->ways, way, kept * sizeof *way);
    f->ways += kept;
    return SHOAL_OK;
}

/* Whether a way needs a kind of which nothing is left. */
static bool barred(const struct fill *f, const struct way *w)
{
    return (f->gone[w->edge.high] && f->left[w->edge.high] <= 0) ||
           (w->edge.low != SHARE_ORIGIN && f->gone[w->edge.low] && f->left[w->edge.low] <= 0);
}

/* Drops barred ways, and settles who has a single one left; that may bar others. */
static void prune(struct fill *f)
{
    struct way *way = f->f->way;
    size_t before;

    do {
        size_t kept = 0, end;
        before = f->ways;
        for (size_t i = 0; i < before; i = end) {
            size_t from = kept;
            uint32_t job = way[i].job;
            for (end = i; end < before && way[end].job == job; end++)
                if (!barred(f, &way[end]))
                    way[kept++] = way[end];
            if (kept - from == 1) {
                settle(f, &way[from]);
                kept = from;
            }
        }
        f->ways = kept;
        for (uint32_t k = 0; k < f->s->kinds; k++)
            if (f->left[k] < EMPTY * f->s->capacity[k]) {
                f->gone[k] = true;
                f->left[k] = 0;
            }
    } while (f->ways < before);
}

/* Which kinds the stage exhausted, whether their equation is needed, and what is left: of exhausted
 * kinds what the mix has those use who keep several ways. */
static void take_kinds(struct fill *f, const bool *priced, uint32_t dearest, const double *use)
{
    const struct num_share *s = f->s;
    bool touched[NUM_KINDS_MAX] = {false};

    for (uint32_t k = 0; k < s->kinds; k++) {
        f->gone[k] = f->gone[k] || priced[k];
        f->left[k] = f->gone[k] ? use[k] : f->left[k];
    }
    prune(f);
    for (size_t w = 0; w < f->ways; w++) {
        touched[f->f->way[w].edge.high] = true;
        if (f->f->way[w].edge.low != SHARE_ORIGIN)
            touched[f->f->way[w].edge.low] = true;
    }
    for (uint32_t k = 0; k < s->kinds; k++)
        f->implied[k] = f->gone[k] && (f->implied[k] || k == dearest || !touched[k]);
}

/* At the highest feasible budget: stops whoever pays anything at these prices. */
static shoal_status stop(struct fill *f, const double *price)
{
    struct num_share *s = f->s;
    struct ending e = {.price = price};
    struct reply unused;
    bool priced[NUM_KINDS_MAX] = {false};
    uint32_t dearest = 0;
    double most = 0;
    size_t rows = s->rows.count;
    shoal_status st = SHOAL_OK;

    mix_of(f, &e.mix);
    for (uint32_t c = 0; st == SHOAL_OK && c < e.mix.count; c++)
        st = ask(f, column_price(f, e.mix.column[c]), f->f->code + c * padded(rows), &unused);
    for (uint32_t k = 0; k < s->kinds; k++) {
        priced[k] = !f->gone[k] && price[k] > 0;
        if (priced[k] && price[k] * f->left[k] > most) {
            most = price[k] * f->left[k];
            dearest = k;
        }
    }
    narrow(f, &e);
    for (size_t i = 0; st == SHOAL_OK && i < rows; i++) {
        double reach = 0;
        for (uint32_t k = 0; k < s->kinds; k++)
            if (!priced[k] && s->rows.a[k * s->rows.stride + i] > reach)
                reach = s->rows.a[k * s->rows.stride + i];
        if (s->rows.g[i] > 0 && reach < 1 - AT_CAP)
            st = stop_row(f, &e, i);
    }
    take_kinds(f, priced, dearest, e.use);
    return st;
}

/* Everybody has what they get: the mix gives shares to those that did not settle. */
static shoal_status finish(struct fill *f)
{
    struct num_share *s = f->s;
    struct mix mix;
    struct reply unused;
    shoal_status st = SHOAL_OK;

    mix_of(f, &mix);
    for (uint32_t c = 0; st == SHOAL_OK && c < mix.count; c++) {
        const double *price = column_price(f, mix.column[c]);
        size_t end;
        struct way w;
        st = ask(f, price, f->f->code, &unused);
        for (size_t i = 0; st == SHOAL_OK && i < s->rows.count; i++)
            if (s->rows.g[i] > 0 && way_of(f, i, s->edges.edge[f->f->code[i]], &w))
                add_shares(f, &w, mix.part[c]);
        for (size_t i = 0; i < f->ways; i = end)
            add_shares(f, &f->f->way[cheapest(f, i, price, &end)], mix.part[c]);
    }
    return st;
}

/* ---- prices of the first bottleneck ---- */

/* What a kind's GPU adds to the budget: its price over how fast the cost grows with the budget. */
static shoal_status price_budget(struct fill *f, const double *price, double budget, double total,
                                 struct num_share_result *out)
{
    struct num_share *s = f->s;
    double step = budget * (1 + 1e-6) < total ? 1e-6 * budget : -1e-6 * budget, base, moved;
    double keep[NUM_KINDS_MAX];

    memcpy(keep, f->price, sizeof keep);
    memcpy(f->price, price, sizeof keep);
    shoal_status st = excess(f, budget + step, &moved);
    if (st == SHOAL_OK)
        st = excess(f, budget, &base);
    memcpy(f->price, keep, sizeof keep);
    if (st != SHOAL_OK)
        return st;
    double per = (moved - base) / step;
    for (uint32_t k = 0; k < s->kinds; k++)
        out->price[s->kind_of[k]] = per > 0 ? price[k] / per : 0;
    struct reply unused;
    st = ask(f, price, f->f->code, &unused);
    for (size_t i = 0; st == SHOAL_OK && per > 0 && i < s->rows.count; i++) {
        struct share_edge e = s->edges.edge[f->f->code[i]];
        const double *rate = f->p->rate + f->f->job[i] * (size_t)f->p->kind_count;
        double low = e.low == SHARE_ORIGIN ? 0 : rate[s->kind_of[e.low]];
        double slope = (price[e.high] - (e.low == SHARE_ORIGIN ? 0 : price[e.low])) /
                       (rate[s->kind_of[e.high]] - low) * s->rows.g[i] / per;
        for (uint32_t j = 0; slope > 0 && j < f->p->kind_count; j++)
            if (f->p->capacity[j] == 0)
                out->price[j] = fmax(out->price[j],
                                     num_share_worth(s, rate, s->rows.g[i], slope, out->price, j));
    }
    return st;
}

static shoal_status stages(struct fill *f, struct num_share_result *out)
{
    struct num_share *s = f->s;
    double budget = 0;

    for (uint32_t stage = 0; stage <= s->kinds; stage++) {
        double total = 0, price[NUM_KINDS_MAX], low = budget, worth = 0;
        shoal_status st = line_up(f, &total);
        if (st == SHOAL_OK)
            st = make_master(f);
        if (st != SHOAL_OK)
            return st;
        for (uint32_t k = 0; k < s->kinds; k++)
            worth += f->gone[k] ? 0 : f->left[k];
        for (uint32_t k = 0; stage > 0 && k < s->kinds; k++)
            f->price[k] = f->gone[k] ? 0 : 1 / worth;
        st = climb(f, fmin(low, total), total, &budget);
        if (st != SHOAL_OK)
            return st;
        if (stage == 0)
            out->level = budget;
        if (budget == total)
            return finish(f);
        st = final_prices(f, price);
        if (st == SHOAL_OK && stage == 0) {
            if (!s->warm || s->warm_kinds != f->p->kind_count)
                s->warm_level = INFINITY; /* share_level.c begins at the top */
            s->warm = true;
            s->warm_kinds = f->p->kind_count;
            for (uint32_t k = 0; k < s->kinds; k++)
                s->warm_price[s->kind_of[k]] = price[k];
            st = price_budget(f, price, budget, total, out);
        }
        if (st == SHOAL_OK)
            st = stop(f, price);
        if (st != SHOAL_OK)
            return st;
    }
    f->exact = false;
    return finish(f);
}

/* Shares in use, and everything a hair smaller where rounding has gone over a capacity. */
static void trim(struct fill *f, struct num_share_result *out)
{
    const struct num_share *s = f->s;
    uint32_t kinds = f->p->kind_count;
    double scale = 1;

    for (size_t m = 0; m < f->p->job_count; m++)
        for (uint32_t k = 0; k < s->kinds; k++)
            out->used[s->kind_of[k]] += gpus_of(f, m) * s->x[m * kinds + s->kind_of[k]];
    for (uint32_t k = 0; k < s->kinds; k++)
        if (out->used[s->kind_of[k]] > s->capacity[k])
            scale = fmin(scale, s->capacity[k] / out->used[s->kind_of[k]]);
    f->exact = f->exact && scale >= 1 - s->tolerance;
    for (size_t i = 0; scale < 1 && i < f->p->job_count * kinds; i++)
        s->x[i] *= scale;
    for (uint32_t j = 0; j < kinds; j++)
        out->used[j] *= scale;
}

shoal_status num_share_fill(struct num_share *s, const struct num_share_problem *p,
                            const double *unit, const struct num_tree *tree,
                            struct num_share_result *out)
{
    size_t n = p->job_count;
    struct fill f = {.s = s, .p = p, .unit = unit, .exact = true};
    struct num_share_result found = {0};
    shoal_status st = reserve(s, n);

    if (st != SHOAL_OK)
        return st;
    f.f = s->filling;
    st = num_share_tree_set(s->alloc, &f.f->tree, tree, n, unit);
    for (size_t m = 0; m < n; m++)
        s->need[m] = 1;
    if (st == SHOAL_OK)
        st = num_share_prepare(s, p, s->need); /* checks the values */
    if (st == SHOAL_OK)
        st = num_share_nothing(s, p, 0, &found);
    if (st != SHOAL_OK)
        return st;
    if (s->kinds == 0) {
        *out = found;
        return SHOAL_OK;
    }
    num_share_edges(s->kinds, &s->edges);
    memset(f.f->stopped, 0, n * sizeof *f.f->stopped);
    double worth = 0;
    for (uint32_t k = 0; k < s->kinds; k++) {
        f.left[k] = s->capacity[k];
        f.price[k] = s->warm && s->warm_kinds == p->kind_count ? s->warm_price[s->kind_of[k]] : 1;
        worth += f.price[k] * f.left[k];
    }
    for (uint32_t k = 0; k < s->kinds; k++)
        f.price[k] = worth > 0 ? f.price[k] / worth : 1 / (f.left[k] * s->kinds);
    st = stages(&f, &found);
    if (st != SHOAL_OK)
        return st;
    trim(&f, &found);
    for (size_t m = 0; m < n; m++) {
        double top = 0;
        for (uint32_t k = 0; k < s->kinds; k++)
            top = fmax(top, p->rate[m * p->kind_count + s->kind_of[k]]);
        s->slope[m] = f.f->tree.level[m] * unit[m] < top * (1 - s->tolerance) ? 1 : 0;
    }
    found.bound = found.level;
    found.passes = f.passes;
    found.exact = f.exact;
    *out = found;
    return SHOAL_OK;
}
