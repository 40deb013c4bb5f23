/* auction_apps.c - rho and bids of apps (see auction_apps.h).
 *
 * Cost of a decision: a sort of the jobs by app, the speed of each on each kind (one look at the
 * model, or one choice of batch a kind for jobs that adapt), and for bidders a table. */
#include "sched/auction_apps.h"

#include "sched/queue.h"
#include "sched/remain.h"
#include "sched/sizes.h"
#include <math.h>
#include <string.h>

enum { OPTIONS_EACH = 12 };            /* of an app of several jobs, by kind */
static const double SHORTEST_S = 1e-3; /* of work that is said to be left */

void auction_memory_fini(struct auction_memory *m, const struct base_alloc *alloc)
{
    base_free(alloc, m->rows);
    base_free(alloc, m->next);
}

/* ---- jobs ---- */

static uint32_t nodes_for(const struct sched_cluster *c, uint32_t kind, uint32_t gpus)
{
    uint32_t each = c->kinds[kind].node_gpus_max;

    return each > 0 ? (gpus + each - 1) / each : 1;
}

/* Progress a second of a job that adapts. */
static double goodput(const struct sched_job *j, const struct sched_cluster *c, uint32_t kind,
                      uint32_t gpus)
{
    return sched_adapt_choose(j->adapt, c->kind_count, kind, nodes_for(c, kind, gpus), gpus)
        .goodput;
}

/* Progress a second with its gang, by kind; 0 where it cannot run. */
static void speeds(const struct sched_job *j, const struct sched_cluster *c, double *out)
{
    memset(out, 0, c->kind_count * sizeof *out);
    double best_s = INFINITY;
    if (j->adapt == NULL && j->kind_count > 0)
        best_s = sched_model_ideal_s(&j->model, c, j->kind_rank[0], j->gpus, 0);
    for (uint32_t i = 0; i < j->kind_count; i++) {
        uint32_t k = j->kind_rank[i];
        if (j->adapt != NULL)
            out[k] = goodput(j, c, k, j->gpus);
        else
            out[k] = j->model.work / (best_s * (double)j->kind_slower[i]);
    }
}

/* Relative to the mix of its kinds, which is returned. */
static double relative(const struct sched_cluster *c, double *speed)
{
    double gpus = 0, sum = 0;

    for (uint32_t k = 0; k < c->kind_count; k++) {
        gpus += speed[k] > 0 ? c->kinds[k].gpus : 0;
        sum += speed[k] * c->kinds[k].gpus;
    }
    double mix = sum > 0 ? sum / gpus : 0;
    for (uint32_t k = 0; k < c->kind_count; k++)
        speed[k] = mix > 0 ? speed[k] / mix : 0;
    return mix;
}

static void look_at(const struct auction_view *v, uint32_t index, double *speed)
{
    const struct sched_job *j = v->snap->jobs[index];
    struct auction_job *out = &v->jobs[index];

    speeds(j, v->snap->cluster, speed);
    double mix = relative(v->snap->cluster, speed);
    double left = sched_remain_told(j->work_told, mix * v->lease_s, j->progress);
    *out = (struct auction_job){.speed = speed, .whole_s = v->lease_s, .left_s = v->lease_s};
    if (mix > 0) {
        out->whole_s = fmax((j->progress + left) / mix, SHORTEST_S);
        out->left_s = fmax(left / mix, SHORTEST_S);
        out->further_s = fmax(j->app_left, 0) / mix;
    }
}

/* ---- apps ---- */

/* GPUs of the kinds that some of its jobs may use. */
static double gpus_of(const struct auction_view *v, const struct auction_app *a)
{
    const struct sched_cluster *c = v->snap->cluster;
    double gpus = 0;
    uint32_t kinds = 0;

    for (uint32_t i = 0; i < a->job_count; i++)
        kinds |= v->snap->jobs[a->jobs[i]]->kinds;
    for (uint32_t k = 0; k < c->kind_count; k++)
        gpus += (kinds >> k & 1) != 0 ? c->kinds[k].gpus : 0;
    return fmax(gpus, 1);
}

/* Sums over the jobs of an app; what each was last time is in its first note. */
struct sums {
    double whole, further, left, known; /* areas */
    double longest_s, longest_left_s, since_s, weight;
};

static struct sums add_up(const struct auction_view *v, const struct auction_app *a)
{
    struct sums s = {.since_s = v->snap->now_s};

    for (uint32_t i = 0; i < a->job_count; i++) {
        struct sched_job *j = v->snap->jobs[a->jobs[i]];
        const struct auction_job *view = &v->jobs[a->jobs[i]];
        s.known += j->note[0].f;
        j->note[0].f = view->whole_s * j->gpus;
        s.whole += view->whole_s * j->gpus;
        s.further += view->further_s * j->gpus;
        s.left += (view->left_s + view->further_s) * j->gpus;
        s.longest_s = fmax(s.longest_s, view->whole_s);
        s.longest_left_s = fmax(s.longest_left_s, view->left_s);
        s.since_s = fmin(s.since_s, j->submit_s);
        s.weight = fmax(s.weight, j->weight);
    }
    return s;
}

/* The app's row, from last time or new. */
static void settle(const struct auction_view *v, const struct auction_memory *m,
                   const struct auction_row *before, const struct sums *s, struct auction_row *row)
{
    if (before != NULL) {
        *row = *before;
        row->ended = fmax(row->ended + row->live - s->known, 0);
        row->since_s = fmin(row->since_s, s->since_s);
    } else {
        /* it may have come between two decisions: as many as there are now were there since */
        *row = (struct auction_row){.since_s = s->since_s,
                                    .contention =
                                        m->integral - v->app_count * (v->snap->now_s - s->since_s)};
    }
    row->live = s->whole;
    row->longest_s = fmax(row->longest_s, s->longest_s);
}

static void judge(const struct auction_view *v, const struct auction_memory *m,
                  const struct auction_row *row, const struct sums *s, struct auction_app *a)
{
    double n = v->app_count, gpus = gpus_of(v, a), past_s = v->snap->now_s - row->since_s;
    double fair_s = fmax(s->longest_left_s, s->left * n / gpus);
    double mean = (m->integral - row->contention + n * fair_s) / (past_s + fair_s);
    double area = row->ended + s->whole + s->further;

    a->since_s = row->since_s;
    a->area = s->left;
    a->longest_s = s->longest_left_s;
    a->alone_s = v->snap->round_s / 2 + v->snap->restart_s +
                 fmax(row->longest_s, area * fmax(mean, 1) / gpus);
    double rest_s = fmax(a->longest_s, a->area / fmin(a->gpus, gpus));
    a->rho = s->weight * (past_s + v->lease_s + rest_s) / a->alone_s;
}

static const struct auction_row *find_row(const struct auction_memory *m, size_t *at, uint32_t app)
{
    while (*at < m->count && m->rows[*at].app < app)
        ++*at;
    return *at < m->count && m->rows[*at].app == app ? &m->rows[*at] : NULL;
}

/* ---- one decision ---- */

/* Jobs by app, those with most left first; how many apps. */
static uint32_t sort_jobs(const struct auction_view *v, struct sched_rank *order)
{
    size_t n = v->snap->job_count;
    uint32_t apps = 0;

    for (uint32_t i = 0; i < n; i++)
        order[i] = (struct sched_rank){-v->jobs[i].left_s, i};
    sched_rank_sort(order, order + n, n);
    for (size_t r = 0; r < n; r++)
        order[r].key = v->snap->jobs[order[r].job]->app;
    /* by app; inside one as they are now, which a stable sort by position keeps */
    uint32_t *by_place = base_arena_alloc(v->arena, (n + 1) * sizeof *by_place);
    if (by_place == NULL)
        return UINT32_MAX;
    for (uint32_t r = 0; r < n; r++) {
        by_place[r] = order[r].job;
        order[r].job = r;
    }
    sched_rank_sort(order, order + n, n);
    for (size_t r = 0; r < n; r++) {
        order[r].job = by_place[order[r].job];
        apps += r == 0 || order[r].key != order[r - 1].key;
    }
    return apps;
}

static shoal_status prepare(struct auction_view *v, struct sched_plan *plan,
                            struct sched_rank **out_order)
{
    const struct sched_snapshot *snap = v->snap;
    size_t n = snap->job_count, kinds = snap->cluster->kind_count;
    double *speed = base_arena_alloc(v->arena, (n * kinds + 1) * sizeof *speed);

    v->jobs = base_arena_alloc(v->arena, (n + 1) * sizeof *v->jobs);
    *out_order = sched_rank_alloc(plan, snap);
    if (speed == NULL || v->jobs == NULL || *out_order == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t i = 0; i < n; i++)
        look_at(v, i, speed + i * kinds);
    v->app_count = sort_jobs(v, *out_order);
    if (v->app_count == UINT32_MAX)
        return SHOAL_E_NOMEM;
    v->apps = base_arena_calloc(v->arena, (size_t)v->app_count + 1, sizeof *v->apps);
    return v->apps == NULL ? SHOAL_E_NOMEM : SHOAL_OK;
}

/* Each app's jobs, a part of one array. */
static shoal_status gather(struct auction_view *v, const struct sched_rank *order)
{
    size_t n = v->snap->job_count;
    uint32_t *jobs = base_arena_alloc(v->arena, (n + 1) * sizeof *jobs);
    struct auction_app *a = v->apps;

    if (jobs == NULL)
        return SHOAL_E_NOMEM;
    for (size_t r = 0; r < n; r++) {
        if (r > 0 && order[r].key != order[r - 1].key)
            a++;
        jobs[r] = order[r].job;
        if (a->job_count++ == 0)
            a->jobs = jobs + r;
        a->gpus += v->snap->jobs[order[r].job]->gpus;
    }
    return SHOAL_OK;
}

shoal_status auction_look(struct auction_memory *m, const struct sched_snapshot *snap,
                          struct sched_plan *plan, double lease_s, struct auction_view *out)
{
    struct auction_view v = {.snap = snap, .arena = sched_plan_arena(plan), .lease_s = lease_s};
    struct sched_rank *order;
    size_t at = 0;

    shoal_status st = prepare(&v, plan, &order);
    if (st == SHOAL_OK)
        st = gather(&v, order);
    if (st == SHOAL_OK && base_reserve(snap->alloc, (void **)&m->next, &m->next_cap,
                                       v.app_count + 1, sizeof *m->next) != 0)
        st = SHOAL_E_NOMEM;
    if (st != SHOAL_OK)
        return st;
    m->integral += (double)m->count * (snap->now_s - m->since_s);
    m->since_s = snap->now_s;
    for (uint32_t i = 0; i < v.app_count; i++) {
        struct auction_app *a = &v.apps[i];
        uint32_t app = snap->jobs[a->jobs[0]]->app;
        const struct auction_row *before = find_row(m, &at, app);
        struct sums sums = add_up(&v, a);
        settle(&v, m, before, &sums, &m->next[i]);
        m->next[i].app = app;
        judge(&v, m, &m->next[i], &sums, a);
    }
    struct auction_row *rows = m->rows;
    size_t cap = m->cap;
    m->rows = m->next, m->cap = m->next_cap, m->count = v.app_count;
    m->next = rows, m->next_cap = cap;
    *out = v;
    return SHOAL_OK;
}

/* ---- bids ---- */

/* Twice as many GPUs as were measured: further than that nobody has looked. */
static uint32_t most_of(const struct sched_job *j, uint32_t kind_count)
{
    uint32_t seen = sched_adapt_seen(j->adapt, kind_count), most = seen > 0 ? 2 * seen : 1;

    return most < j->adapt->gpus_max ? most : j->adapt->gpus_max;
}

uint32_t auction_sizes(const struct sched_job *j, const struct sched_cluster *c, uint32_t kind,
                       uint32_t most, uint32_t *out)
{
    uint32_t each = c->kinds[kind].node_gpus_max, count = 0, limit = most_of(j, c->kind_count);

    limit = limit < most ? limit : most;
    for (uint32_t g = 1; g <= limit && count < AUCTION_SIZES_MAX;
         g = sched_size_next(g, each, UINT32_MAX))
        out[count++] = g;
    return count;
}

shoal_status auction_equal_share(const struct auction_view *v, uint32_t *out)
{
    uint32_t count = v->app_count, kinds = v->snap->cluster->kind_count;
    struct sched_rank *uses = base_arena_alloc(v->arena, 2 * (size_t)count * sizeof *uses + 1);
    double left = v->snap->cluster->gpus;

    if (uses == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t a = 0; a < count; a++) {
        const struct sched_job *j = v->snap->jobs[v->apps[a].jobs[0]];
        bool sized = v->apps[a].job_count == 1 && j->adapt != NULL;
        uses[a] = (struct sched_rank){sized ? most_of(j, kinds) : v->apps[a].gpus, a};
    }
    sched_rank_sort(uses, uses + count, count);
    *out = UINT32_MAX;
    for (uint32_t a = 0; a < count; a++) {
        double each = left / (count - a);
        if (uses[a].key > each) {
            *out = (uint32_t)fmax(ceil(each), 1);
            break;
        }
        left -= uses[a].key;
    }
    return SHOAL_OK;
}

/* Value of finishing so many seconds from now. */
static double value_in(const struct auction_view *v, const struct auction_app *a, double seconds)
{
    return a->alone_s / (v->snap->now_s - a->since_s + seconds);
}

static bool runs_on(const struct sched_job *j, uint32_t kind, uint32_t gpus)
{
    return j->alloc.place_count > 0 && j->alloc.kind == kind && j->alloc.gpus == gpus;
}

/* An app that is one job: its gang on each kind, or each size of it. */
static uint32_t bid_alone(const struct auction_view *v, const struct sched_plan *plan,
                          const struct auction_app *a, const uint32_t *capacity, uint32_t most,
                          struct sched_auction_option *out)
{
    const struct sched_job *j = v->snap->jobs[a->jobs[0]];
    const struct auction_job *view = &v->jobs[a->jobs[0]];
    const struct sched_cluster *c = v->snap->cluster;
    uint32_t count = 0, sizes[AUCTION_SIZES_MAX];

    for (uint32_t k = 0; k < c->kind_count && !sched_plan_has(plan, a->jobs[0]); k++) {
        if (view->speed[k] <= 0)
            continue;
        uint32_t size_count = 1;
        sizes[0] = j->gpus;
        if (j->adapt != NULL)
            size_count = auction_sizes(j, c, k, capacity[k] < most ? capacity[k] : most, sizes);
        double with_gang = j->adapt != NULL ? goodput(j, c, k, j->gpus) : 0;
        for (uint32_t s = 0; s < size_count; s++) {
            if (sizes[s] > capacity[k])
                continue;
            double speed = view->speed[k];
            if (j->adapt != NULL)
                speed *= goodput(j, c, k, sizes[s]) / with_gang;
            double start_s = runs_on(j, k, sizes[s]) ? 0 : v->snap->restart_s;
            if (speed > 0)
                out[count++] = (struct sched_auction_option){
                    k, sizes[s], value_in(v, a, start_s + view->left_s / speed)};
        }
    }
    return count;
}

/* GPUs of the mix that those it holds amount to. */
static double power_held(const struct auction_view *v, const struct sched_plan *plan,
                         const struct auction_app *a)
{
    double power = 0;

    for (uint32_t i = 0; i < a->job_count; i++) {
        const struct sched_grant *g = sched_plan_grant(plan, a->jobs[i]);
        if (g != NULL)
            power += g->alloc.gpus * v->jobs[a->jobs[i]].speed[g->alloc.kind];
    }
    return power;
}

/* An app of several: those of its jobs that have nothing yet, those with most left first, on each
 * kind as many as fit; every number of them up to 4, then some. */
static uint32_t bid_together(const struct auction_view *v, const struct sched_plan *plan,
                             const struct auction_app *a, const uint32_t *capacity, double held,
                             struct sched_auction_option *out)
{
    uint32_t count = 0;

    for (uint32_t k = 0; k < v->snap->cluster->kind_count; k++) {
        uint32_t gpus = 0, jobs = 0, step = 1, each = 0;
        double power = held, longest_s = 0;
        for (uint32_t i = 0; i < a->job_count && each < OPTIONS_EACH; i++) {
            const struct sched_job *j = v->snap->jobs[a->jobs[i]];
            const struct auction_job *view = &v->jobs[a->jobs[i]];
            if (sched_plan_has(plan, a->jobs[i]) || view->speed[k] <= 0 ||
                gpus + j->gpus > capacity[k])
                continue;
            gpus += j->gpus;
            power += j->gpus * view->speed[k];
            longest_s = fmax(longest_s, view->left_s / view->speed[k]);
            if (++jobs % step != 0)
                continue;
            double rest_s = v->snap->restart_s + fmax(longest_s, a->area / power);
            out[count++] = (struct sched_auction_option){k, gpus, value_in(v, a, rest_s)};
            each++;
            step = jobs >= 4 * step ? 2 * step : step;
        }
    }
    return count;
}

shoal_status auction_bid(const struct auction_view *v, const struct sched_plan *plan, uint32_t app,
                         const uint32_t *capacity, uint32_t most, struct sched_auction_bid *out)
{
    const struct auction_app *a = &v->apps[app];
    size_t room = (size_t)v->snap->cluster->kind_count *
                  (a->job_count > 1 ? OPTIONS_EACH : AUCTION_SIZES_MAX);
    struct sched_auction_option *options = base_arena_alloc(v->arena, room * sizeof *options);
    double held = a->job_count > 1 ? power_held(v, plan, a) : 0;
    double rest_s = v->lease_s + fmax(a->longest_s, a->area / a->gpus);

    if (options == NULL)
        return SHOAL_E_NOMEM;
    if (held > 0)
        rest_s = fmin(rest_s, fmax(a->longest_s, a->area / held));
    *out = (struct sched_auction_bid){.options = options, .nothing = value_in(v, a, rest_s)};
    out->option_count = a->job_count > 1 ? bid_together(v, plan, a, capacity, held, options)
                                         : bid_alone(v, plan, a, capacity, most, options);
    return SHOAL_OK;
}
