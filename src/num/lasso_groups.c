/* lasso_groups.c - a working set in groups that are solved at once: the cut, and how moves are joined.
 *
 * The cut. Coordinates that move at once disturb each other by their correlation, so columns that are
 * strongly correlated (by theta and more) go into one group: STRADS's rule (Lee and others, 2014),
 * which takes only weakly correlated coordinates into a parallel batch, made once for a set in place
 * of once a batch. Pairs are joined by falling strength, as in single linkage, unless what they make
 * would exceed a group; so where all columns hang together, the weakest links are cut. What is left
 * is dealt out, the largest first, each to the lightest group. With theta above 1 nothing is joined
 * and neighbours are spread over all groups: Shotgun (Bradley and others, "Parallel coordinate
 * descent for L1-regularized loss minimization", 2011). A set that has grown keeps its groups, and
 * only pairs with what has come are looked at; when that has made one group half as large again as
 * the mean, all are made afresh.
 *
 * Correlations come from a sample of rows, evenly apart, in which a column has some SAMPLE entries:
 * all rows where columns are sparse. They are centred with an intercept; rows of weight 0 are not
 * there. Each column keeps the LINKS strongest.
 *
 * The join. Each group leaves a direction: new b of its columns and what that moves u by. u is affine
 * in b, so for shares a in [0, 1] of the groups' moves the objective is at most
 *
 *     a' H a / 2 + c' a + what it was,   H = moves' V^-1 moves,  c = moves' V^-1 u + penalties' change
 *
 * (at most, because the penalty is convex), which is minimised over the box. It falls whatever the
 * correlations are; where they are weak all shares are 1 and coefficients that became 0 are 0. Groups
 * join after every epoch, and joint points are accelerated as those of one descent are: then many
 * groups need about the visits of one. (Groups that went on alone for some rounds before they join
 * needed 5 to 10 times as many: with warm starts five epochs are most of a solution.)
 *
 * Cost: of the cut, entries of columns that have come x entries of the set in a row of the sample;
 * of a join, groups^2 x rows. */
#include "base/room.h"
#include "num/lasso_parts.h"

#include <stdlib.h>
#include <string.h>

enum { LINKS = 8, SAMPLE = 256, SWEEPS = 500 };
static const double BALANCE = 1.5; /* of the largest group against the mean: else made afresh */
#define NONE UINT32_MAX

/* ---- rows of the set ---- */

struct cutting {
    struct base_room room; /* of the arrays */
    const struct num_lasso *p;
    const struct num_lasso_set *set;
    double theta;
    uint32_t stride;          /* rows of the sample are so far apart */
    uint64_t entries, *start; /* (rows of the sample + 1); entries of the set in them */
    uint32_t *at;             /* which of the set */
    float *value;
    double *mean, *norm; /* by column of the set, over the sample */
    float *sum;          /* (set) scratch */
    struct link *link;
    uint32_t links;
    uint32_t *parent; /* union-find over the set */
    uint64_t *load;   /* entries of what hangs together */
    uint8_t *fixed;   /* the group of a root, if it has one */
    double rows;      /* of the sample */
};

struct link {
    float strength;
    uint32_t a, b;
};

static uint64_t column_size(const struct num_lasso *p, uint32_t column)
{
    return p->x.index != NULL ? p->x.start[column + 1] - p->x.start[column] : p->x.rows;
}

static bool in_sample(const struct cutting *c, uint64_t row)
{
    return row % c->stride == 0 && num_lasso_weight(c->p, (uint32_t)row) > 0;
}

/* Calls for each entry of the sample: counts it, or puts it where it goes. */
static void each_entry(struct cutting *c, uint64_t *place)
{
    const struct num_columns *x = &c->p->x;

    for (uint32_t i = 0; i < c->set->count; i++) {
        uint32_t j = c->set->column[i];
        uint64_t from = x->index != NULL ? x->start[j] : (uint64_t)j * x->rows;
        uint64_t count = column_size(c->p, j), step = x->index != NULL ? 1 : c->stride;
        for (uint64_t e = 0; e < count; e += step) {
            uint64_t row = x->index != NULL ? x->index[from + e] : e;
            if (!in_sample(c, row))
                continue;
            uint64_t to = place[row / c->stride]++;
            if (c->at != NULL) {
                c->at[to] = i;
                c->value[to] = x->value[from + e];
            }
        }
    }
}

/* ---- correlations ---- */

/* Weights differ from 0 and 1 in no chain: the sample counts rows alike. */
static void find_norms(struct cutting *c)
{
    const struct num_lasso *p = c->p;
    double rows = 0;

    for (uint32_t r = 0; r < p->x.rows; r += c->stride)
        rows += in_sample(c, r);
    c->rows = fmax(rows, 1);
    for (uint64_t e = 0; e < c->entries; e++) {
        c->mean[c->at[e]] += (double)c->value[e];
        c->norm[c->at[e]] += (double)c->value[e] * (double)c->value[e];
    }
    for (uint32_t i = 0; i < c->set->count; i++) {
        double mean = p->intercept ? c->mean[i] / c->rows : 0;
        double square = c->norm[i] - c->rows * mean * mean;
        c->norm[i] = square > 1e-9 * c->norm[i] ? sqrt(square) : 0;
        c->mean[i] = mean;
    }
}

/* Products of column i with all of the set, over the sample. */
static void multiply(struct cutting *c, uint32_t i)
{
    const struct num_columns *x = &c->p->x;
    uint32_t j = c->set->column[i];
    uint64_t from = x->index != NULL ? x->start[j] : (uint64_t)j * x->rows;
    uint64_t count = column_size(c->p, j), step = x->index != NULL ? 1 : c->stride;

    memset(c->sum, 0, c->set->count * sizeof *c->sum);
    for (uint64_t e = 0; e < count; e += step) {
        uint64_t row = x->index != NULL ? x->index[from + e] : e;
        if (!in_sample(c, row))
            continue;
        float a = x->value[from + e];
        for (uint64_t k = c->start[row / c->stride]; k < c->start[row / c->stride + 1]; k++)
            c->sum[c->at[k]] += a * c->value[k];
    }
}

/* The strongest links of column i, of those of theta and more. */
static void link_column(struct cutting *c, uint32_t i)
{
    struct link *own = c->link + c->links;
    uint32_t found = 0;

    multiply(c, i);
    for (uint32_t k = 0; k < c->set->count; k++) {
        double scale = c->norm[i] * c->norm[k];
        double product = (double)c->sum[k] - c->rows * c->mean[i] * c->mean[k];
        if (k == i || !(scale > 0) || !(fabs(product) >= c->theta * scale))
            continue;
        struct link link = {(float)(fabs(product) / scale), i, k};
        uint32_t to = found < LINKS ? found++ : LINKS;
        for (; to > 0 && link.strength > own[to - 1].strength; to--)
            if (to < LINKS)
                own[to] = own[to - 1];
        if (to < LINKS)
            own[to] = link;
    }
    c->links += found;
}

static int stronger_first(const void *one, const void *two)
{
    const struct link *a = one, *b = two;

    if (a->strength != b->strength)
        return a->strength > b->strength ? -1 : 1;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    return (a->b > b->b) - (a->b < b->b);
}

/* ---- the cut ---- */

static uint32_t root(struct cutting *c, uint32_t i)
{
    while (c->parent[i] != i)
        i = c->parent[i] = c->parent[c->parent[i]];
    return i;
}

/* Joins two that hang together, unless that were more than `most` entries. */
static void join(struct cutting *c, uint32_t a, uint32_t b, uint64_t most)
{
    uint32_t one = root(c, a), two = root(c, b);

    if (one == two || c->load[one] + c->load[two] > most)
        return;
    if (c->fixed[two] != NUM_LASSO_NO_GROUP && c->fixed[one] != NUM_LASSO_NO_GROUP)
        return;
    if (c->fixed[two] != NUM_LASSO_NO_GROUP) {
        uint32_t kept = one;
        one = two;
        two = kept;
    }
    c->parent[two] = one;
    c->load[one] += c->load[two];
}

/* Columns that have a group hang together; the others are alone. */
static uint64_t begin_trees(struct cutting *c, const uint8_t *group, uint32_t groups)
{
    uint32_t first[NUM_LASSO_GROUPS_MAX];
    uint64_t all = 0;

    for (uint32_t g = 0; g < groups; g++)
        first[g] = NONE;
    for (uint32_t i = 0; i < c->set->count; i++) {
        uint64_t size = column_size(c->p, c->set->column[i]) + 1;
        uint8_t g = group[i];
        c->parent[i] = i;
        c->load[i] = size;
        c->fixed[i] = g;
        all += size;
        if (g == NUM_LASSO_NO_GROUP)
            continue;
        if (first[g] == NONE)
            first[g] = i;
        else {
            c->parent[i] = first[g];
            c->load[first[g]] += size;
        }
    }
    return all;
}

struct tree {
    uint64_t load;
    uint32_t root;
};

static int larger_first(const void *one, const void *two)
{
    const struct tree *a = one, *b = two;

    if (a->load != b->load)
        return a->load > b->load ? -1 : 1;
    return (a->root > b->root) - (a->root < b->root);
}

/* Trees without a group, the largest first, each to the lightest group; the largest group. */
static uint64_t deal(struct cutting *c, uint8_t *group, uint32_t groups, struct tree *tree)
{
    uint64_t sum[NUM_LASSO_GROUPS_MAX] = {0}, most = 0;
    uint32_t trees = 0;

    for (uint32_t i = 0; i < c->set->count; i++) {
        if (c->parent[i] != i)
            continue;
        if (c->fixed[i] != NUM_LASSO_NO_GROUP)
            sum[c->fixed[i]] += c->load[i];
        else
            tree[trees++] = (struct tree){c->load[i], i};
    }
    qsort(tree, trees, sizeof *tree, larger_first);
    for (uint32_t t = 0; t < trees; t++) {
        uint32_t to = 0;
        for (uint32_t g = 1; g < groups; g++)
            to = sum[g] < sum[to] ? g : to;
        sum[to] += tree[t].load;
        c->fixed[tree[t].root] = (uint8_t)to;
    }
    for (uint32_t i = 0; i < c->set->count; i++)
        group[i] = c->fixed[root(c, i)];
    for (uint32_t g = 0; g < groups; g++)
        most = sum[g] > most ? sum[g] : most;
    return most;
}

static bool begin_cut(struct cutting *c)
{
    size_t w = c->set->count + (size_t)1;
    uint64_t all = 0, rows;

    for (uint32_t i = 0; i < c->set->count; i++)
        all += column_size(c->p, c->set->column[i]);
    all = all / w / SAMPLE;
    c->stride = all > 1 ? (uint32_t)all : 1;
    rows = (c->p->x.rows + (uint64_t)c->stride - 1) / c->stride;
    BASE_ROOM_ZERO(&c->room, c->start, rows + 2);
    BASE_ROOM_ZERO(&c->room, c->mean, w);
    BASE_ROOM_ZERO(&c->room, c->norm, w);
    BASE_ROOM_ZERO(&c->room, c->load, w);
    BASE_ROOM_ZERO(&c->room, c->sum, w);
    BASE_ROOM_ZERO(&c->room, c->parent, w);
    BASE_ROOM_ZERO(&c->room, c->fixed, w);
    BASE_ROOM(&c->room, c->link, w * LINKS);
    if (base_room_status(&c->room) != SHOAL_OK)
        return false;
    each_entry(c, c->start + 2);
    for (uint64_t r = 0; r < rows; r++)
        c->start[r + 2] += c->start[r + 1];
    c->entries = c->start[rows + 1];
    BASE_ROOM(&c->room, c->at, c->entries + 1);
    BASE_ROOM(&c->room, c->value, c->entries + 1);
    if (base_room_status(&c->room) != SHOAL_OK)
        return false;
    each_entry(c, c->start + 1);
    find_norms(c);
    return true;
}

/* Groups for those that have none; the largest against the mean. */
static double cut(struct cutting *c, uint8_t *group, uint32_t groups)
{
    uint64_t all = begin_trees(c, group, groups), most = all / groups + 1;

    c->links = 0;
    for (uint32_t i = 0; i < c->set->count && c->theta <= 1; i++)
        if (group[i] == NUM_LASSO_NO_GROUP)
            link_column(c, i);
    qsort(c->link, c->links, sizeof *c->link, stronger_first);
    for (uint32_t l = 0; l < c->links; l++)
        join(c, c->link[l].a, c->link[l].b, most);
    struct tree *tree = (struct tree *)(void *)c->link; /* links are done with */
    return (double)deal(c, group, groups, tree) / (double)most;
}

shoal_status num_lasso_cut(const struct base_alloc *alloc, const struct num_lasso *p,
                           const struct num_lasso_set *set, uint32_t groups, double theta,
                           uint8_t *group)
{
    struct cutting c = {.room = {.alloc = alloc}, .p = p, .set = set, .theta = theta};
    shoal_status st = begin_cut(&c) ? SHOAL_OK : SHOAL_E_NOMEM;

    if (st == SHOAL_OK && cut(&c, group, groups) > BALANCE) {
        memset(group, NUM_LASSO_NO_GROUP, set->count);
        cut(&c, group, groups);
    }
    base_room_fini(&c.room);
    return st;
}

/* ---- the join ---- */

struct joining {
    const struct num_lasso *p;
    const struct num_lasso_moves *m;
    uint32_t groups;
    double h[NUM_LASSO_GROUPS_MAX][NUM_LASSO_GROUPS_MAX], c[NUM_LASSO_GROUPS_MAX];
    double a[NUM_LASSO_GROUPS_MAX];
};

/* The parabola in the shares. */
static void lay(struct joining *o, const struct num_lasso_set *set, const double *u)
{
    const struct num_lasso *p = o->p;
    double at[NUM_LASSO_GROUPS_MAX];

    for (uint32_t i = 0; i < p->x.rows; i++) {
        double weight = num_lasso_weight(p, i);
        if (!(weight > 0))
            continue;
        for (uint32_t g = 0; g < o->groups; g++) {
            at[g] = o->m->move[g][i] * p->total / weight;
            o->c[g] += at[g] * u[i];
            for (uint32_t k = 0; k <= g; k++)
                o->h[g][k] += at[g] * o->m->move[k][i];
        }
    }
    for (uint32_t g = 0; g < o->groups; g++)
        for (uint32_t k = 0; k < g; k++)
            o->h[k][g] = o->h[g][k];
    for (uint32_t i = 0; i < set->count; i++)
        if (o->m->next[i] != set->b[i])
            o->c[o->m->group[i]] +=
                num_lasso_penalty(p, &o->m->next[i], 1) - num_lasso_penalty(p, &set->b[i], 1);
}

/* What shares make of the parabola: less than 0, it falls. */
static double value_of(const struct joining *o)
{
    double sum = 0;

    for (uint32_t g = 0; g < o->groups; g++) {
        sum += o->c[g] * o->a[g];
        for (uint32_t k = 0; k < o->groups; k++)
            sum += o->h[g][k] * o->a[g] * o->a[k] / 2;
    }
    return sum;
}

/* The best share of one group, others as they are. */
static double best_share(const struct joining *o, uint32_t g)
{
    double slope = o->c[g];

    for (uint32_t k = 0; k < o->groups; k++)
        slope += k != g ? o->h[g][k] * o->a[k] : 0;
    return o->h[g][g] > 0 ? fmin(fmax(-slope / o->h[g][g], 0), 1) : 1;
}

/* The shares of the least value, coordinate by coordinate. */
static void find_shares(struct joining *o)
{
    double moved = 1;

    for (uint32_t g = 0; g < o->groups; g++)
        o->a[g] = 1;
    for (int sweep = 0; sweep < SWEEPS && moved > 1e-6; sweep++) {
        moved = 0;
        for (uint32_t g = 0; g < o->groups; g++) {
            double next = best_share(o, g);
            moved = fmax(moved, fabs(next - o->a[g]));
            o->a[g] = next;
        }
    }
    if (value_of(o) <= 0)
        return;
    for (uint32_t g = 0; g < o->groups; g++)
        o->a[g] = 1.0 / o->groups; /* never worse, since the objective is convex */
}

void num_lasso_join(const struct num_lasso *p, const struct num_lasso_moves *moves,
                    struct num_lasso_set *set, double *u)
{
    struct joining o = {.p = p, .m = moves, .groups = moves->groups};

    lay(&o, set, u);
    find_shares(&o);
    for (uint32_t g = 0; g < o.groups; g++)
        for (uint32_t i = 0; i < p->x.rows; i++)
            u[i] += o.a[g] * moves->move[g][i];
    for (uint32_t i = 0; i < set->count; i++) {
        double a = o.a[moves->group[i]], next = moves->next[i];
        set->b[i] = a < 1 ? set->b[i] + a * (next - set->b[i]) : next;
    }
}
