/* share_solve.c - live jobs as a problem of objective.h, and the answer as shares wanted.
 *
 * Rates are those on the fewest nodes, as kept since the job came; capacity is what is up. A job whose
 * gang is larger than what is up of a kind has no rate there. */
#include "sched/share_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SPREAD_PASSES = 50 };

static const double SPREAD_SLACK = 1e-3; /* how much more than there is may be wanted */

/* Speed on a 1/n share of every kind it can use, and no more than all of the time. */
static double alone_rate(const struct sched_share *s, size_t job, bool aware)
{
    const double *rate = s->rate + job * s->kind_count;
    double usable = 0, speed = 0, fastest = 0, asked = (double)s->count * s->jobs[job].gpus;

    for (uint32_t k = 0; k < s->kind_count; k++)
        fastest = fmax(fastest, rate[k]);
    for (uint32_t k = 0; k < s->kind_count; k++)
        if (rate[k] > 0) {
            usable += s->live[k];
            speed += s->live[k] * (aware ? rate[k] : fastest);
        }
    return usable > 0 ? speed / fmax(usable, asked) : 0;
}

/* Kinds without a price cost as much as the others on average; all the same when none has one. */
static void fill_prices(const struct sched_cluster *c, double *usd_h)
{
    double sum = 0, known = 0;

    for (uint32_t k = 0; k < c->kind_count; k++)
        if (c->kinds[k].usd_gpu_h > 0) {
            sum += c->kinds[k].usd_gpu_h;
            known++;
        }
    for (uint32_t k = 0; k < c->kind_count; k++)
        usd_h[k] = c->kinds[k].usd_gpu_h > 0 ? c->kinds[k].usd_gpu_h : known > 0 ? sum / known : 1;
}

/* A gang larger than what is up of a kind waits for repairs there. */
static bool usable(const struct sched_share *s, size_t job, uint32_t kind)
{
    return s->rate[job * s->kind_count + kind] > 0 && s->live[kind] >= s->jobs[job].gpus;
}

/* Arrays of the input that describe jobs. */
struct columns {
    double *rate, *gpus, *weight, *left, *since_s, *alone_s, *deadline_s, *usd_h;
};

static bool columns_init(struct columns *c, const struct sched_share *s, struct base_arena *arena)
{
    size_t n = s->count;
    double *all = base_arena_alloc(arena, (n * (s->kind_count + 6) + s->kind_count) * sizeof *all);

    if (all == NULL)
        return false;
    *c = (struct columns){.rate = all};
    c->gpus = c->rate + n * s->kind_count;
    c->weight = c->gpus + n;
    c->left = c->weight + n;
    c->since_s = c->left + n;
    c->alone_s = c->since_s + n;
    c->deadline_s = c->alone_s + n;
    c->usd_h = c->deadline_s + n;
    return true;
}

static void fill_columns(struct columns *c, struct sched_share *s,
                         const struct sched_snapshot *snap, bool aware)
{
    uint32_t kinds = s->kind_count;

    for (size_t i = 0; i < s->count; i++) {
        const struct sched_job *j = snap->jobs[i];
        double slack = j->deadline_s - snap->now_s;
        for (uint32_t k = 0; k < kinds; k++)
            c->rate[i * kinds + k] = usable(s, i, k) ? s->rate[i * kinds + k] : 0;
        s->jobs[i].alone_rate = alone_rate(s, i, aware);
        c->gpus[i] = j->gpus;
        c->weight[i] = j->weight;
        c->left[i] = fmax(j->model.work - j->progress, 1e-9 * j->model.work);
        c->since_s[i] = fmax(snap->now_s - j->submit_s, 0);
        c->alone_s[i] = s->jobs[i].alone_s;
        c->deadline_s[i] = slack > 0 ? slack : INFINITY; /* missed: nothing left to keep */
    }
    fill_prices(snap->cluster, c->usd_h);
}

/* Numbers the classes that are there, and asks for their speeds together. With more of them than the
 * solver takes nobody shares. */
static shoal_status fill_pairs(struct sched_share *s, const struct sched_snapshot *snap,
                               struct base_arena *arena, struct sched_objective_input *in)
{
    uint32_t *number = base_arena_calloc(arena, s->class_count + 1, sizeof *number);
    uint32_t *first = base_arena_alloc(arena, s->class_count * sizeof *first + 1);
    uint32_t *class_of = base_arena_alloc(arena, s->count * sizeof *class_of + 1);
    uint32_t count = 0;

    if (number == NULL || first == NULL || class_of == NULL)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < s->count; i++) {
        uint32_t c = s->jobs[i].class;
        if (number[c] == 0) {
            first[count] = (uint32_t)i;
            number[c] = ++count;
        }
        class_of[i] = number[c] - 1;
    }
    if (count > NUM_PAIRS_GROUPS_MAX)
        return SHOAL_OK;
    float *pair = base_arena_calloc(arena, (size_t)count * count * s->kind_count + 1, sizeof *pair);
    if (pair == NULL)
        return SHOAL_E_NOMEM;
    in->class_of = class_of;
    in->class_count = count;
    in->pair = pair;
    return sched_colocate_rates(s->colocate, snap, first, count, pair);
}

static int by_ids(const void *x, const void *y)
{
    const struct sched_share_pair *a = x, *b = y;

    if (a->a_id != b->a_id)
        return a->a_id < b->a_id ? -1 : 1;
    if (a->b_id != b->b_id)
        return a->b_id < b->b_id ? -1 : 1;
    return a->kind < b->kind ? -1 : a->kind > b->kind;
}

/* The pairs of the result; those that were wanted before keep what they are owed. */
static shoal_status take_pairs(struct sched_share *s, const struct sched_objective_result *r,
                               struct base_arena *arena)
{
    struct sched_share_pair *fresh = base_arena_alloc(arena, r->pair_count * sizeof *fresh + 1);

    if (r->pair_count == 0) {
        s->pair_count = 0;
        return SHOAL_OK;
    }
    BASE_ROOM(&s->room, s->pairs, r->pair_count);
    if (fresh == NULL || base_room_status(&s->room) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < r->pair_count; i++) {
        const struct sched_pair_share *p = &r->pairs[i];
        uint32_t a = p->job < p->with ? p->job : p->with, b = p->job < p->with ? p->with : p->job;
        const struct sched_share_pair *known =
            sched_share_find_pair(s, s->jobs[a].id, s->jobs[b].id, p->kind);
        fresh[i] = (struct sched_share_pair){.a_id = s->jobs[a].id,
                                             .b_id = s->jobs[b].id,
                                             .kind = p->kind,
                                             .a = a,
                                             .b = b,
                                             .share = p->share,
                                             .owed_s = known != NULL ? known->owed_s : 0};
    }
    memcpy(s->pairs, fresh, r->pair_count * sizeof *fresh);
    s->pair_count = r->pair_count;
    qsort(s->pairs, s->pair_count, sizeof *s->pairs, by_ids);
    return SHOAL_OK;
}

/* How time is spread: in proportion to the size of kinds, each lowered by a factor. */
struct spreading {
    double room[SCHED_KINDS_MAX], lower[SCHED_KINDS_MAX]; /* lower: minus its logarithm */
    double used[SCHED_KINDS_MAX];
    double slope[SCHED_KINDS_MAX][SCHED_KINDS_MAX]; /* of used, as `lower` of another kind falls */
};

/* Spreads each job's time over the kinds it can use. */
static void spread_by(struct sched_share *s, struct spreading *p)
{
    uint32_t kinds = s->kind_count;
    double weight[SCHED_KINDS_MAX];

    memset(p->used, 0, sizeof p->used);
    memset(p->slope, 0, sizeof p->slope);
    for (uint32_t k = 0; k < kinds; k++)
        weight[k] = p->room[k] * exp(-p->lower[k]);
    for (size_t i = 0; i < s->count; i++) {
        double *share = s->share + i * kinds, time = 0, sum = 0;
        for (uint32_t k = 0; k < kinds; k++) {
            time += share[k];
            sum += usable(s, i, k) ? weight[k] : 0;
        }
        for (uint32_t k = 0; k < kinds && sum > 0; k++)
            share[k] = usable(s, i, k) ? time * weight[k] / sum : 0;
        for (uint32_t k = 0; k < kinds && sum > 0; k++) {
            double gpus = share[k] * s->jobs[i].gpus;
            p->used[k] += gpus;
            p->slope[k][k] += gpus;
            for (uint32_t l = 0; l < kinds && gpus > 0 && time > 0; l++)
                p->slope[k][l] -= gpus * share[l] / time;
        }
    }
}

/* One step of Newton's for the kinds that are lowered or should be: used up or less, nowhere more
 * than there is. Solves slope d = used - room by elimination, diagonal made to dominate a little, as
 * it is singular where nobody has a choice. False: there is nothing left to do. */
static bool spread_step(struct spreading *p, uint32_t kinds)
{
    uint32_t at[SCHED_KINDS_MAX], n = 0;
    double a[SCHED_KINDS_MAX][SCHED_KINDS_MAX], d[SCHED_KINDS_MAX];
    bool over = false;

    for (uint32_t k = 0; k < kinds; k++) {
        over = over || p->used[k] > p->room[k] * (1 + SPREAD_SLACK);
        if (p->used[k] > p->room[k] || p->lower[k] > 0)
            at[n++] = k;
    }
    for (uint32_t i = 0; i < n; i++) {
        d[i] = p->used[at[i]] - p->room[at[i]];
        for (uint32_t j = 0; j < n; j++)
            a[i][j] = p->slope[at[i]][at[j]];
        a[i][i] += 1e-4 * p->used[at[i]] + 1e-12;
    }
    for (uint32_t i = 0; i < n && over; i++) /* positive definite: no pivoting */
        for (uint32_t j = i + 1; j < n; j++) {
            double part = a[j][i] / a[i][i];
            for (uint32_t l = i; l < n; l++)
                a[j][l] -= part * a[i][l];
            d[j] -= part * d[i];
        }
    for (uint32_t i = n; over && i-- > 0;) {
        for (uint32_t j = i + 1; j < n; j++)
            d[i] -= a[i][j] * d[j];
        d[i] /= a[i][i];
    }
    for (uint32_t i = 0; i < n && over; i++)
        p->lower[at[i]] = fmax(0, p->lower[at[i]] + fmax(-3, fmin(3, d[i])));
    return over;
}

/* As much of the spreading as there is room for; the rest as it was solved for, which is possible. */
static void spread_less(struct sched_share *s, const double *solved, const struct spreading *p)
{
    uint32_t kinds = s->kind_count;
    double before[SCHED_KINDS_MAX] = {0}, part = 1;

    for (size_t i = 0; i < s->count; i++)
        for (uint32_t k = 0; k < kinds; k++)
            before[k] += solved[i * kinds + k] * s->jobs[i].gpus;
    for (uint32_t k = 0; k < kinds; k++)
        if (p->used[k] > p->room[k])
            part = fmin(part, fmax(0, p->room[k] - before[k]) / (p->used[k] - before[k]));
    for (size_t i = 0; i < s->count * kinds; i++)
        s->share[i] = part * s->share[i] + (1 - part) * solved[i];
}

/* Without regard to speed any kind is as good as another, and the solver names some. So that nobody
 * is left on a slow one, time alone is spread over the kinds: by their size, and less where jobs that
 * can use no other need the room. Money still tells kinds apart. */
static void spread(struct sched_share *s, const double *solved)
{
    struct spreading p = {0};
    bool over = true;

    memcpy(p.room, s->live, sizeof p.room);
    for (size_t i = 0; i < s->pair_count; i++)
        p.room[s->pairs[i].kind] -= s->pairs[i].share * s->jobs[s->pairs[i].a].gpus;
    for (uint32_t k = 0; k < s->kind_count; k++)
        p.room[k] = fmax(p.room[k], 0);
    for (int pass = 0; pass < SPREAD_PASSES && over; pass++) {
        spread_by(s, &p);
        over = spread_step(&p, s->kind_count);
    }
    if (over)
        spread_less(s, solved, &p);
}

static bool tells_kinds_apart(const struct sched_share_goal *goal, bool aware)
{
    return aware || goal->objective == SCHED_OBJECTIVE_COST ||
           goal->objective == SCHED_OBJECTIVE_COST_SLO;
}

shoal_status sched_share_solve(struct sched_share *s, const void *memory,
                               const struct sched_share_goal *goal,
                               const struct sched_snapshot *snap, struct base_arena *arena)
{
    const struct sched_share_memory *m = memory;
    struct sched_objective_input in = {.aware = m->aware};
    struct sched_objective_result r = {0};
    struct columns c;

    if (!columns_init(&c, s, arena))
        return SHOAL_E_NOMEM;
    fill_columns(&c, s, snap, m->aware);
    in.problem = (struct num_share_problem){
        .kind_count = s->kind_count, .job_count = s->count, .rate = c.rate, .gpus = c.gpus};
    memcpy(in.problem.capacity, s->live, sizeof in.problem.capacity);
    in.weight = c.weight;
    in.left = c.left;
    in.since_s = c.since_s;
    in.alone_s = c.alone_s;
    in.deadline_s = c.deadline_s;
    in.usd_h = c.usd_h;
    shoal_status st = s->colocate != NULL ? fill_pairs(s, snap, arena, &in) : SHOAL_OK;
    if (st == SHOAL_OK && goal->fill != NULL)
        st = goal->fill(memory, snap, arena, &in);
    if (st == SHOAL_OK)
        st = sched_objective_solve(s->solver, goal->objective, &in, &r, NULL);
    if (st != SHOAL_OK)
        return st;
    memcpy(s->share, r.x, s->count * s->kind_count * sizeof *s->share);
    memcpy(s->price, r.price, sizeof s->price);
    s->price_unit = r.priced_unit;
    s->price_next = r.priced_unit != sched_objectives[goal->objective].unit;
    for (size_t i = 0; i < s->count; i++)
        s->jobs[i].due = isfinite(c.deadline_s[i]) && (r.given_up == NULL || !r.given_up[i]);
    s->unproven = !r.exact;
    s->gap = sched_objective_gap(&r);
    s->stale = false;
    s->age = 0;
    st = take_pairs(s, &r, arena);
    if (st == SHOAL_OK && !tells_kinds_apart(goal, m->aware))
        spread(s, r.x);
    return st;
}
