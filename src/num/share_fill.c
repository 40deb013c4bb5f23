/* share_fill.c - water filling: levels rise together until something stops a job, then the others go
 * on, through a tree of entities.
 *
 * Each job has a cap, at first its top speed in units of its own. A budget B at the root runs down
 * the tree: a fair node gives its members in proportion to weight, up to their caps (a node's cap is
 * the sum of its members'); a fifo node serves them in order. That makes the jobs' needs a function
 * of B alone, rising and concave; the largest feasible B is where the level solver's scale t(B) is 1.
 * log t is close to a line in log B, so a secant takes a handful of warm solves. There, jobs that
 * hold the others back (slope > 0) cannot rise while nobody falls: their caps become what they have.
 * The rest goes on with a larger B, until all are at their caps. Every stage stops at least one job;
 * nearly always a stage exhausts one more kind, so there are about K of them.
 *
 * No integer program decides who is a bottleneck, as in Gavel's water filling: a positive slope
 * proves it, and a tie that hides one shows up as the next stage, which raises B by nothing. */
#include "base/assert.h"
#include "num/share_core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 80, TRIES_MAX = 1500 };

static const double SLOPE_MIN = 1e-6; /* of the mean slope per level: less is rounding */
static const double ABOVE = 1e-9;     /* how far above a budget is just above it, relative */

/* A member of a node: a job or a node, with its weight and cap. */
struct member {
    double weight, cap;
    uint32_t index;
};

struct share_tree {
    const struct num_tree *shape;
    struct member *members; /* grouped by node, fair ones in order of cap / weight */
    size_t member_cap;
    size_t *first; /* (nodes + 1) first member of each node */
    size_t first_cap;
    double *node_cap, *budget; /* (nodes) */
    size_t node_cap_cap, budget_cap;
    double *cap, *level; /* (jobs) */
    size_t cap_cap, level_cap;
    bool *stopped; /* (jobs) by capacity */
    size_t stopped_cap;
};

void num_share_tree_free(struct num_share *s)
{
    struct share_tree *t = s->tree;

    if (t == NULL)
        return;
    base_free(s->alloc, t->members);
    base_free(s->alloc, t->first);
    base_free(s->alloc, t->node_cap);
    base_free(s->alloc, t->budget);
    base_free(s->alloc, t->cap);
    base_free(s->alloc, t->level);
    base_free(s->alloc, t->stopped);
    base_free(s->alloc, t);
}

static shoal_status reserve(struct num_share *s, size_t jobs, size_t nodes)
{
    if (s->tree == NULL)
        s->tree = base_calloc(s->alloc, 1, sizeof *s->tree);
    struct share_tree *t = s->tree;
    if (t == NULL ||
        base_reserve(s->alloc, (void **)&t->members, &t->member_cap, jobs + nodes + 1,
                     sizeof *t->members) != 0 ||
        base_reserve(s->alloc, (void **)&t->first, &t->first_cap, nodes + 2, sizeof *t->first) !=
            0 ||
        base_reserve(s->alloc, (void **)&t->node_cap, &t->node_cap_cap, nodes + 1,
                     sizeof *t->node_cap) != 0 ||
        base_reserve(s->alloc, (void **)&t->budget, &t->budget_cap, nodes + 1, sizeof *t->budget) !=
            0 ||
        base_reserve(s->alloc, (void **)&t->cap, &t->cap_cap, jobs + 1, sizeof *t->cap) != 0 ||
        base_reserve(s->alloc, (void **)&t->level, &t->level_cap, jobs + 1, sizeof *t->level) !=
            0 ||
        base_reserve(s->alloc, (void **)&t->stopped, &t->stopped_cap, jobs + 1,
                     sizeof *t->stopped) != 0 ||
        base_reserve(s->alloc, (void **)&s->need, &s->need_cap, jobs + 1, sizeof *s->need) != 0)
        return SHOAL_E_NOMEM;
    return SHOAL_OK;
}

static uint32_t node_of(const struct num_tree *tree, size_t job)
{
    return tree->job_node == NULL ? 0 : tree->job_node[job];
}

/* Rows that stand for several jobs have the weight, cap and budget of all of them. */
static double count_of(const struct num_share_problem *p, size_t job)
{
    return p->count == NULL ? 1 : p->count[job];
}

static bool tree_valid(const struct num_tree *tree, size_t jobs, const double *unit)
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

static int rising(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    double p = x->cap * y->weight, q = y->cap * x->weight;

    if (p != q)
        return p < q ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Members of every node with their present caps; fair nodes sorted by when a member reaches its cap.
 */
static void gather(struct share_tree *t, const struct num_share_problem *p)
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
        double count = count_of(p, m);
        t->members[t->first[at + 1]++] =
            (struct member){.weight = count * (tree->job_weight == NULL ? 1 : tree->job_weight[m]),
                            .cap = count * t->cap[m],
                            .index = (uint32_t)m};
        t->node_cap[at] += count * t->cap[m];
    }
    for (uint32_t i = nodes; i-- > 1;) /* children come after their parents */
        t->node_cap[tree->nodes[i].parent] += t->node_cap[i];
    for (uint32_t i = 1; i < nodes; i++)
        t->members[t->first[tree->nodes[i].parent + 1]++] =
            (struct member){.weight = tree->nodes[i].weight, .cap = t->node_cap[i], .index = i};
    /* first[i + 1] has moved to the end of node i: it is the first of node i + 1. */
    for (uint32_t i = 0; i < nodes; i++)
        if (!tree->nodes[i].fifo)
            qsort(t->members + t->first[i], t->first[i + 1] - t->first[i], sizeof *t->members,
                  rising);
}

/* Runs budget B down the tree; level (jobs) gets what each may have. `leaf` says whether the members
 * of a node are jobs. */
static void pour(struct share_tree *t, double budget, const bool *leaf)
{
    const struct num_tree *tree = t->shape;

    t->budget[0] = budget;
    for (uint32_t i = 0; i < tree->node_count; i++) {
        struct member *m = t->members + t->first[i];
        size_t count = t->first[i + 1] - t->first[i];
        double left = t->budget[i], weight = 0;
        double *to = leaf[i] ? t->level : t->budget;
        for (size_t k = 0; k < count; k++)
            weight += m[k].weight;
        for (size_t k = 0; k < count; k++) {
            double part = tree->nodes[i].fifo ? left : left * (m[k].weight / weight);
            double got = fmin(m[k].cap, part);
            to[m[k].index] = got;
            left = fmax(left - got, 0);
            weight -= m[k].weight;
            if (k + 2 == count)
                weight = m[k + 1].weight; /* exactly: the last one gets all that is left */
        }
    }
}

struct fill {
    struct num_share *s;
    const struct num_share_problem *p;
    const double *unit;
    bool *leaf;
    uint32_t passes, tries; /* tries: level solves so far, at most tries_max */
    uint32_t tries_max;
    bool exact;
};

/* Levels of single jobs at budget B. */
static void pour_levels(struct fill *f, double budget)
{
    struct share_tree *t = f->s->tree;

    pour(t, budget, f->leaf);
    for (size_t m = 0; m < f->p->job_count; m++)
        t->level[m] = fmin(t->level[m] / count_of(f->p, m), t->cap[m]);
}

/* The scale at which budget B is just feasible. */
static shoal_status try_budget(struct fill *f, double budget, struct num_share_result *out)
{
    struct num_share *s = f->s;

    pour_levels(f, budget);
    for (size_t m = 0; m < f->p->job_count; m++)
        s->need[m] = s->tree->level[m] * f->unit[m];
    shoal_status st = num_share_level(s, f->p, s->need, out);
    f->tries++;
    if (st == SHOAL_OK) {
        f->passes += out->passes;
        /* The search works at a finer tolerance than is promised. */
        f->exact = f->exact && out->bound <= out->level * (1 + 20 * s->tolerance);
    }
    return st;
}

/* Below 0: too much is asked for; above: there is room. Where top speeds set the level, the room is
 * in the capacity. */
static double room(const struct num_share_result *r)
{
    return r->load < 1 ? -log(r->load) : log(r->level);
}

/* How much a job that still rises is held back: its part in the shortage, against its part of all
 * levels; 0 for the others. */
static double held_back(const struct fill *f, const struct num_share_result *r, size_t m)
{
    const struct share_tree *t = f->s->tree;

    if (t->stopped[m] || t->level[m] >= t->cap[m] || t->level[m] <= 0)
        return 0;
    return r->slope[m] * t->budget[0] / (t->level[m] * count_of(f->p, m));
}

/* Where to look next: on the line through two points on the far side, as log budget against room is
 * close to one and jobs that stopped long ago may leave no room on the near side; through a point with
 * room on the near side where there is one. */
struct bracket {
    double low, room_low;         /* feasible; room 0: not known or none */
    double high[2], room_high[2]; /* not feasible, the last two */
    int side;
};

static double propose(const struct bracket *k)
{
    double slope = -1;

    if (k->room_low > 0)
        return k->low * pow(k->high[0] / k->low, k->room_low / (k->room_low - k->room_high[0]));
    if (k->high[1] > k->high[0])
        slope = (k->room_high[0] - k->room_high[1]) / log(k->high[0] / k->high[1]);
    slope = fmax(fmin(slope, -1e-9), -1); /* needs are concave in the budget */
    return k->high[0] * exp(-k->room_high[0] / slope);
}

static void note_high(struct bracket *k, double at, double now)
{
    k->high[1] = k->high[0];
    k->room_high[1] = k->room_high[0];
    k->high[0] = at;
    k->room_high[0] = now;
    k->room_low *= k->side < 0 ? 0.5 : 1;
    k->side = -1;
}

static void note_low(struct bracket *k, double at, double now)
{
    k->low = at;
    k->room_low = fmax(now, 0);
    k->room_high[0] *= k->side > 0 && now > 0 ? 0.5 : 1;
    k->side = 1;
}

/* The largest feasible budget between `low`, which is, and `high`, which is not. The solve in *out is
 * one just above it: there it shows who is held back, while at the result itself those that stopped
 * before may take all the blame. */
static shoal_status search(struct fill *f, double low, double high, double room_high,
                           struct num_share_result *out, double *out_budget)
{
    struct bracket k = {.low = low, .high = {high, high}, .room_high = {room_high, room_high}};
    double slack = 0.5 * f->s->tolerance;

    for (uint32_t step = 0;
         step < STEPS_MAX && f->tries < f->tries_max && k.high[0] - k.low > ABOVE * k.high[0];
         step++) {
        double at = propose(&k);
        if (!(at > k.low && at < k.high[0]) || step % 8 == 7)
            at = k.low > 0 ? sqrt(k.low * k.high[0]) : 0.5 * k.high[0];
        shoal_status st = try_budget(f, at, out);
        if (st != SHOAL_OK)
            return st;
        double now = room(out);
        if (now < -slack) {
            note_high(&k, at, now);
            continue;
        }
        note_low(&k, at, now > slack ? now : 0);
        if (now > slack || at * (1 + ABOVE) >= k.high[0])
            continue;
        st = try_budget(f, at * (1 + ABOVE),
                        out); /* is this the end, or are only others at theirs? */
        if (st != SHOAL_OK)
            return st;
        now = room(out);
        if (now < -slack)
            note_high(&k, at * (1 + ABOVE), now);
        else
            note_low(&k, at * (1 + ABOVE), 0);
    }
    *out_budget = k.low > 0 ? k.low : k.high[0];
    return try_budget(f, k.high[0], out);
}

/* How the budget grows with the scale there: the budget's price is the level's times this. */
static shoal_status growth(struct fill *f, double budget, double *out)
{
    struct num_share_result more;
    shoal_status st = try_budget(f, budget * (1 + 1e-4), &more);

    if (st == SHOAL_OK)
        *out = more.level < 1 ? budget * 1e-4 / (1 - more.level) : 0;
    return st;
}

/* Those held back at *r are to stop; their caps follow once the stage is over. A job far less held
 * back than others may be so by rounding only: it shows in the next stage if it is not. False: nobody
 * was left to rise. */
static bool stop(struct fill *f, const struct num_share_result *r)
{
    struct share_tree *t = f->s->tree;
    double most = 0;
    bool any = false;

    for (size_t m = 0; m < f->p->job_count; m++)
        most = fmax(most, held_back(f, r, m));
    /* Where rounding hides who, those that rise at all stop; the next in a queue may still go on. */
    for (size_t m = 0; m < f->p->job_count; m++)
        if (most >= SLOPE_MIN ? held_back(f, r, m) > 0.1 * most
                              : !t->stopped[m] && t->level[m] > 0 && t->level[m] < t->cap[m])
            t->stopped[m] = any = true;
    for (size_t m = 0; !any && m < f->p->job_count; m++)
        if (!t->stopped[m] && t->level[m] < t->cap[m])
            t->stopped[m] = any = true;
    return any;
}

static shoal_status stages(struct fill *f, struct num_share_result *out)
{
    struct share_tree *tree = f->s->tree;
    size_t n = f->p->job_count;
    double budget = 0, price[NUM_KINDS_MAX] = {0}, first = -1;
    bool done = false;

    for (size_t stage = 0; stage <= n + 1; stage++) {
        struct num_share_result r;
        gather(tree, f->p);
        double total = tree->node_cap[0];
        shoal_status st = try_budget(f, total, &r); /* everybody at the cap */
        if (st != SHOAL_OK)
            return st;
        if (r.level >= 1 - f->s->tolerance || done) {
            *out = r;
            out->level = first < 0 ? total : first;
            memcpy(out->price, price, sizeof price);
            return SHOAL_OK;
        }
        st = search(f, fmin(budget, total), total, room(&r), &r, &budget);
        if (st != SHOAL_OK)
            return st;
        if (f->tries >= f->tries_max) { /* out of patience: who rises stops here, and it is said */
            for (size_t m = 0; m < n; m++)
                tree->stopped[m] = tree->stopped[m] || tree->level[m] < tree->cap[m];
            f->exact = false;
        }
        done = !stop(f, &r); /* then the caps are out of reach by rounding only */
        if (first < 0) {
            double per = 0;
            first = budget;
            memcpy(price, r.price, sizeof price);
            st = growth(f, budget, &per);
            if (st != SHOAL_OK)
                return st;
            for (uint32_t j = 0; j < f->p->kind_count; j++)
                price[j] *= per;
        }
        pour_levels(f, budget);
        for (size_t m = 0; m < n; m++)
            if (tree->stopped[m]) /* a hair less: else rounding leaves no room for the others */
                tree->cap[m] = fmin(tree->cap[m], tree->level[m] * (1 - 4 * f->s->tolerance));
    }
    return SHOAL_E_INTERNAL;
}

shoal_status num_share_fill(struct num_share *s, const struct num_share_problem *p,
                            const double *unit, const struct num_tree *tree,
                            struct num_share_result *out)
{
    size_t n = p->job_count;
    struct fill f = {.s = s,
                     .p = p,
                     .unit = unit,
                     .tries_max = TRIES_MAX + (uint32_t)(n < TRIES_MAX ? n : TRIES_MAX) * 4,
                     .exact = true};
    double tolerance = s->tolerance;

    if (!tree_valid(tree, n, unit))
        return SHOAL_E_INVAL;
    shoal_status st = reserve(s, n, tree->node_count);
    if (st != SHOAL_OK)
        return st;
    for (size_t m = 0; m < n; m++)
        s->need[m] = 1;
    st = num_share_prepare(s, p, s->need); /* checks the values */
    if (st != SHOAL_OK)
        return st;
    struct share_tree *t = s->tree;
    t->shape = tree;
    for (size_t m = 0; m < n; m++) {
        double fastest = 0;
        for (uint32_t k = 0; k < s->kinds; k++)
            fastest = fmax(fastest, p->rate[m * p->kind_count + s->kind_of[k]]);
        t->cap[m] = fastest / unit[m];
        t->stopped[m] = false;
    }
    f.leaf = base_calloc(s->alloc, tree->node_count, sizeof *f.leaf);
    if (f.leaf == NULL)
        return SHOAL_E_NOMEM;
    bool mixed = false;
    for (size_t m = 0; m < n; m++)
        f.leaf[node_of(tree, m)] = true;
    for (uint32_t i = 1; i < tree->node_count; i++)
        mixed = mixed || f.leaf[tree->nodes[i].parent];
    s->tolerance = 0.1 * tolerance;
    s->blame_capacity = true;
    struct num_share_result found;
    st = mixed ? SHOAL_E_INVAL : stages(&f, &found);
    s->tolerance = tolerance;
    s->blame_capacity = false;
    base_free(s->alloc, f.leaf);
    if (st != SHOAL_OK)
        return st;
    *out = found;
    out->bound = out->level;
    out->passes = f.passes;
    out->exact = f.exact;
    for (size_t m = 0; m < n; m++)
        s->slope[m] = t->stopped[m] ? 1 : 0;
    return SHOAL_OK;
}
