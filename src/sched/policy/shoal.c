/* shoal.c - our own: each job gets the kind and number of GPUs at which the cluster as a whole ends its
 * jobs soonest, by goodput, prices and what is left to do.
 *
 * What it maximises. Of every job, by size (a kind and a number of GPUs; sizes.h), its goodput over
 * that on one GPU of its best kind: its speedup s. The choice with the largest sum of c s is taken, one
 * size a job, no kind over-full. The weights c are those of heSRPT: were all speedups g^p, the mean
 * completion time would be least with c_i = (i^e - (i - 1)^e)^(1 - p), e = 1 / (1 - p), where i = 1 is
 * the job with the most left to do. Small jobs come first, but not with everything: what a large job
 * makes more of, it keeps. As real speedups are not g^p, only the weights are taken from there and the
 * choice is left to the measured goodputs.
 *
 * A change of size costs a restart: it counts for h / (h + restart), where h is the horizon over which
 * it pays, at most what is left of the job. Rigid jobs have one size on each kind they may use, with
 * their gang's GPUs as speedup on the best kind; jobs whose batch is fixed have sizes like the others.
 * Work left is what was told, as far as that is certain (remain.h), so that unknown work makes for
 * least attained service.
 *
 * The choice is made by prices (num/choose.h), with a proven bound: what is said of the gap is how far
 * any choice of sizes could be better. Places come after it (settle.h).
 *
 * Cost: sizes of jobs of which nothing new is known cost nothing; the rest is some passes over all
 * options. Well below a millisecond for a hundred jobs.
 *
 * Reference: Berg, Vesilo, Harchol-Balter, "heSRPT: Parallel scheduling to minimize mean slowdown",
 * Performance Evaluation 144, 2020; goodput as in Qiao et al., Pollux, OSDI 2021; a choice among sizes
 * on mixed kinds as in Jayaram Subramanya et al., Sia, SOSP 2023. */
#include "base/assert.h"
#include "num/choose.h"
#include "sched/fair.h"
#include "sched/queue.h"
#include "sched/remain.h"
#include "sched/settle.h"
#include "sched/sizes.h"
#include <float.h>
#include <math.h>
#include <string.h>

static const double GAP = 1e-3;       /* good enough, relative */
static const double GAP_LEAST = 1e-5; /* of all, with what is added for those who come first */
static const double UNKNOWN_S = 600;  /* that a job of unknown work is taken to need on one GPU */
static const double AHEAD = 2;        /* rounds that a job which can still wait must be able to */
static const double FIRST = 10;       /* times the largest value, for those who come first */
static const double MORE = 1.1; /* than the floor is wanted: speeds are known to some per cent */
static const double TURN = 10;  /* starts that the turn of a rigid job is as long as, at least */
static const double LATE = 4;   /* and so much more for those who are too late */
static const double HOLD = 0.5; /* of what is left: a rigid job that runs is due so much earlier */
static const double STRETCH = 10; /* times what is left is a long wait */

struct memory {
    double power, horizon_s, explore, rho, rigid, patience_s, proof;
    struct sched_fair fair;
    double plain; /* value of the last choice, without what was added to let jobs come first */
    struct sched_sizes *sizes;
    struct num_choose *choose;
    double *ranks; /* weight by rank, the largest first */
    size_t rank_count, rank_cap;
};

/* A job that is decided upon. */
struct item {
    uint32_t job;   /* index */
    uint32_t count; /* options */
    size_t first_option;
    double one;  /* progress a second on one GPU of its best kind; rigid: its gang's part */
    double left; /* work */
    double weight;
    double first; /* how much more than others it comes first; 0: it does not */
    double stay,
        move; /* speeds that keep it within rho, by sched_fair_speed: where it is, elsewhere */
    uint32_t floor_gpus;           /* that the floor is worth */
    const float *speed;            /* sched_fair_speed by size; NULL: rigid */
    struct sched_sizes_view sizes; /* count 0: rigid */
};

struct decision {
    struct memory *m;
    const struct sched_snapshot *snap;
    struct sched_plan *plan;
    struct item *items; /* by increasing index of the job */
    uint32_t *item_of;  /* by job: index + 1, 0: none */
    size_t item_count;
    struct sched_rank *order; /* items, by increasing work left in seconds of one GPU */
    struct num_choose_option *options;
    float *added;  /* (options) to their values, to let jobs come first */
    size_t *first; /* (items + 1) */
};

/* ---- what a job has left ---- */

static bool holds(const struct sched_job *job, uint32_t kind, uint32_t gpus)
{
    return job->alloc.place_count > 0 && job->alloc.kind == kind && job->alloc.gpus == gpus;
}

static double left_of(const struct sched_job *job, double one)
{
    double left = sched_remain(job->work_told, job->work_error, job->progress);

    return isnan(left) ? sched_remain_unknown(UNKNOWN_S * one, job->progress) : left;
}

/* Seconds a rigid job takes on its best kind for what lies between its progress and `work`. */
static double rigid_s(const struct sched_snapshot *snap, const struct sched_job *job, double work)
{
    struct sched_model m = job->model;

    m.work = work;
    return sched_model_ideal_s(&m, snap->cluster, job->kind_rank[0], job->gpus, job->progress);
}

static void look_at_rigid(const struct sched_snapshot *snap, struct item *item)
{
    const struct sched_job *job = snap->jobs[item->job];
    double unit_s = job->kind_count > 0 ? rigid_s(snap, job, job->progress + 1) : INFINITY;

    item->one = unit_s > 0 && isfinite(unit_s) ? 1 / unit_s / job->gpus : 0;
    item->left = left_of(job, item->one);
}

/* The best kind with one GPU; where it needs more, as if those shared alike. */
static void look_at_sizes(const struct sched_snapshot *snap, struct item *item)
{
    const struct sched_sizes_view *v = &item->sizes;

    item->one = 0;
    for (uint32_t i = 0; i < v->count; i++)
        if (v->size[i].gpus == 1 || item->one <= 0)
            item->one = fmax(item->one, sched_sizes_goodput(v, i) / v->size[i].gpus);
    item->left = left_of(snap->jobs[item->job], item->one);
}

/* In seconds of one GPU of its best kind; nothing while nothing was measured. */
static double size_s(const struct sched_snapshot *snap, const struct item *item)
{
    if (snap->jobs[item->job]->adapt != NULL && item->sizes.seen == 0)
        return 0;
    return item->one > 0 ? item->left / item->one : 0;
}

/* ---- who comes first ---- */

/* Who would fall behind its share if it waited comes first; of rigid jobs GPU for GPU, as they take or
 * leave their gang. */
static shoal_status look_at_share(const struct decision *d, struct item *item)
{
    const struct sched_snapshot *snap = d->snap;
    const struct sched_job *job = snap->jobs[item->job];
    struct sched_fair_alone alone;
    double rho = job->adapt != NULL ? d->m->rho : fmax(d->m->rho, d->m->rigid);

    if (job->adapt != NULL) {
        const struct sched_sizes_fair *fair = sched_sizes_fair(d->m->sizes, snap, job);
        if (fair == NULL)
            return SHOAL_E_NOMEM;
        alone = fair->alone;
        item->speed = fair->speed;
    } else {
        alone = sched_fair_alone(snap, job);
    }
    double ahead_s = snap->restart_s + AHEAD * snap->round_s;
    if (job->adapt == NULL && job->alloc.place_count > 0) /* or it would soon be back */
        ahead_s += HOLD * rigid_s(snap, job, job->model.work);
    if (!(sched_fair_floor(&d->m->fair, snap, job, &alone, rho, ahead_s).urgency >= 1))
        return SHOAL_OK;
    struct sched_fair_floor move =
        sched_fair_floor(&d->m->fair, snap, job, &alone, rho, snap->restart_s);
    item->first = fmin(fmax(move.urgency, 1), LATE) * (job->adapt == NULL ? job->gpus : 1);
    item->stay = MORE * sched_fair_floor(&d->m->fair, snap, job, &alone, rho, 0).floor_rate;
    item->move = MORE * move.floor_rate;
    item->floor_gpus = sched_fair_gpus(&d->m->fair, snap, job);
    return SHOAL_OK;
}

/* Of those who have waited too long one comes before all others, GPU for GPU, and so each in the end. Too
 * long is `patience`, and long beside what is left of the job, twice as long for each start that it had:
 * where everybody waits, jobs would do little but start if all of them were to come first. */
static void look_at_waiting(const struct decision *d)
{
    struct item *longest = NULL;
    double most = 1;

    for (size_t i = 0; d->m->patience_s > 0 && i < d->item_count; i++) {
        const struct sched_job *job = d->snap->jobs[d->items[i].job];
        double waited = job->alloc.place_count > 0 ? 0 : d->snap->now_s - job->wait_since_s;
        double least = fmax(d->m->patience_s, STRETCH * size_s(d->snap, &d->items[i]) / job->gpus);
        double part = waited / ldexp(least, (int)(job->starts < 20 ? job->starts : 20));
        if (part <= most)
            continue;
        most = part;
        longest = &d->items[i];
    }
    if (longest == NULL)
        return;
    const struct sched_job *job = d->snap->jobs[longest->job];
    longest->first = 4 * LATE * (job->adapt == NULL ? job->gpus : 1);
    longest->stay = longest->move = 0;
}

/* A rigid job that began its turn keeps it until that has paid for the start, or jobs that are all
 * behind would take turns that are little more than starts. Only who has waited too long comes
 * before. */
static void look_at_turn(const struct decision *d, struct item *item)
{
    const struct sched_job *job = d->snap->jobs[item->job];
    double since_s = d->snap->now_s - job->lease_until_s; /* its start, or the end of its lease */

    if (job->adapt != NULL || job->alloc.place_count == 0 || since_s >= TURN * d->snap->restart_s)
        return;
    item->first = fmax(item->first, 1.01 * LATE * job->gpus);
    item->stay = 0;
    item->move = INFINITY;
    item->floor_gpus = UINT32_MAX;
}

/* How much of what the floor asks for option i gives, 0 to 1. */
static double satisfied(const struct decision *d, const struct item *item, uint32_t i)
{
    const struct num_choose_option *o = &d->options[item->first_option + i];
    const struct sched_job *job = d->snap->jobs[item->job];
    double want = holds(job, o->kind, o->amount) ? item->stay : item->move, speed;

    if (!(want > 0))
        return 1;
    if (item->speed != NULL && item->count == item->sizes.count)
        speed = (double)item->speed[i];
    else
        speed = sched_fair_speed(d->snap, job, o->kind, o->amount);
    return fmin(1, speed / want);
}

/* Adds to the options of a job that comes first, by the root of how far they satisfy it: two that
 * cannot both have all share it. More GPUs than its share satisfy no better than that many. */
static void put_first(const struct decision *d, const struct item *item, double unit)
{
    struct num_choose_option *options = d->options + item->first_option;
    float *added = d->added + item->first_option;
    double most = 0;

    for (uint32_t i = 0; i < item->count; i++) {
        added[i] = (float)(unit * item->first * sqrt(satisfied(d, item, i)));
        if (item->move <= 0 || options[i].amount <= item->floor_gpus)
            most = fmax(most, (double)added[i]);
    }
    for (uint32_t i = 0; i < item->count; i++) {
        if (most > 0) /* else it can run on no so few */
            added[i] = (float)fmin(most, (double)added[i]);
        options[i].value = fminf(options[i].value + added[i], FLT_MAX);
    }
}

static void put_all_first(const struct decision *d, size_t option_count)
{
    double largest = 0;

    for (size_t i = 0; i < option_count; i++)
        largest = fmax(largest, (double)d->options[i].value);
    for (size_t i = 0; i < d->item_count; i++)
        if (d->items[i].first > 0)
            put_first(d, &d->items[i], FIRST * largest);
}

/* ---- weights ---- */

static shoal_status grow_ranks(struct memory *m, const struct base_alloc *alloc, size_t count)
{
    double e = 1 / (1 - m->power); /* INFINITY for power 1: weight i */

    if (base_reserve(alloc, (void **)&m->ranks, &m->rank_cap, count, sizeof *m->ranks) != 0)
        return SHOAL_E_NOMEM;
    for (; m->rank_count < count; m->rank_count++) {
        double i = (double)m->rank_count + 1; /* i^e would leave the range of numbers */
        m->ranks[m->rank_count] = i * pow(-expm1(e * log1p(-1 / i)), 1 - m->power);
    }
    return SHOAL_OK;
}

static shoal_status weigh(struct decision *d)
{
    shoal_status st = grow_ranks(d->m, d->snap->alloc, d->item_count);

    if (st != SHOAL_OK)
        return st;
    for (uint32_t i = 0; i < d->item_count; i++)
        d->order[i] = (struct sched_rank){.key = size_s(d->snap, &d->items[i]), .job = i};
    sched_rank_sort(d->order, d->order + d->item_count, d->item_count);
    double heaviest = 0; /* weights count against each other alone */
    for (size_t i = 0; i < d->item_count; i++)
        heaviest = fmax(heaviest, d->snap->jobs[d->items[i].job]->weight);
    for (size_t i = 0; i < d->item_count; i++) {
        struct item *item = &d->items[d->order[i].job];
        item->weight =
            d->m->ranks[d->item_count - 1 - i] * (d->snap->jobs[item->job]->weight / heaviest);
    }
    return SHOAL_OK;
}

/* ---- options ---- */

/* What part of a speed is worth having on other places than now. A job that was moved often for its age
 * is rather left alone; still, a move is better than to wait. */
static double patience_for_moves(const struct sched_snapshot *snap, const struct sched_job *job)
{
    double age = snap->now_s - job->submit_s, restart = snap->restart_s;

    if (job->alloc.place_count == 0 || restart <= 0)
        return 1;
    return fmax((age - job->starts * restart) / (age + restart), 1e-3);
}

static void add_option(struct decision *d, struct item *item, uint32_t kind, uint32_t gpus,
                       double value)
{
    if (value > 0 && value < (double)FLT_MAX)
        d->options[item->first_option + item->count++] =
            (struct num_choose_option){.value = (float)value, .amount = gpus, .kind = kind};
}

/* The restart is spread over the horizon, or over what is left. */
static void add_options(struct decision *d, struct item *item)
{
    const struct sched_job *job = d->snap->jobs[item->job];
    bool fresh = job->adapt != NULL && item->sizes.seen == 0;
    double restart = fresh ? 0 : d->snap->restart_s, horizon = d->m->horizon_s, left = item->left;
    double one = item->one > 0 ? item->weight / item->one : 0;
    double moved = fresh ? one : one * patience_for_moves(d->snap, job);
    double far = moved * horizon / (horizon + restart);
    uint32_t count = job->adapt != NULL ? item->sizes.count : job->kind_count;

    for (uint32_t i = 0; i < count; i++) {
        bool rigid = job->adapt == NULL;
        uint32_t kind = rigid ? job->kind_rank[i] : item->sizes.size[i].kind;
        uint32_t gpus = rigid ? job->gpus : item->sizes.size[i].gpus;
        double rate = rigid ? item->one * gpus / (double)job->kind_slower[i]
                            : sched_sizes_goodput(&item->sizes, i);
        double part = holds(job, kind, gpus)  ? one
                      : left < rate * horizon ? moved * left / (left + rate * restart)
                                              : far;
        add_option(d, item, kind, gpus, rate * part);
    }
}

/* ---- the decision ---- */

static bool fill_memory(struct memory *m, const struct sched_snapshot *snap)
{
    if (m->sizes == NULL &&
        sched_sizes_new(snap->alloc, snap->cluster, m->explore, &m->sizes) != SHOAL_OK)
        return false;
    return m->choose != NULL || num_choose_new(snap->alloc, &m->choose) == SHOAL_OK;
}

static shoal_status begin(struct decision *d)
{
    struct base_arena *arena = sched_plan_arena(d->plan);
    size_t n = d->snap->job_count;

    d->items = base_arena_calloc(arena, n, sizeof *d->items);
    d->item_of = base_arena_calloc(arena, n, sizeof *d->item_of);
    d->order = sched_rank_alloc(d->plan, d->snap);
    d->first = base_arena_calloc(arena, n + 1, sizeof *d->first);
    if (d->items == NULL || d->item_of == NULL || d->order == NULL || d->first == NULL ||
        !fill_memory(d->m, d->snap))
        return SHOAL_E_NOMEM;
    return SHOAL_OK;
}

/* Jobs under a lease stay; what is known of all others. */
static shoal_status look(struct decision *d)
{
    shoal_status st = SHOAL_OK;

    sched_fair_begin(&d->m->fair, d->snap);
    sched_sizes_begin(d->m->sizes);
    for (uint32_t i = 0; st == SHOAL_OK && i < d->snap->job_count; i++) {
        const struct sched_job *job = d->snap->jobs[i];
        struct item *item = &d->items[d->item_count];
        *item = (struct item){.job = i};
        if (job->adapt != NULL)
            st = sched_sizes_of(d->m->sizes, job, &item->sizes);
        if (st != SHOAL_OK || (job->lease_until_s > d->snap->now_s && sched_plan_keep(d->plan, i)))
            continue;
        if (job->adapt != NULL)
            look_at_sizes(d->snap, item);
        else
            look_at_rigid(d->snap, item);
        if (d->m->rho > 0)
            st = look_at_share(d, item);
        look_at_turn(d, item);
        d->item_of[i] = (uint32_t)++d->item_count;
    }
    look_at_waiting(d);
    if (st == SHOAL_OK)
        sched_sizes_end(d->m->sizes);
    return st;
}

static shoal_status list_options(struct decision *d)
{
    size_t most = 0, at = 0;

    for (size_t i = 0; i < d->item_count; i++) {
        const struct sched_job *job = d->snap->jobs[d->items[i].job];
        most += job->adapt != NULL ? d->items[i].sizes.count : job->kind_count;
    }
    d->options = base_arena_alloc(sched_plan_arena(d->plan), (most + 1) * sizeof *d->options);
    d->added = base_arena_calloc(sched_plan_arena(d->plan), most + 1, sizeof *d->added);
    if (d->options == NULL || d->added == NULL)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < d->item_count; i++) {
        d->items[i].first_option = at;
        add_options(d, &d->items[i]);
        d->first[i] = at;
        at += d->items[i].count;
    }
    d->first[d->item_count] = at;
    put_all_first(d, at);
    return SHOAL_OK;
}

static double added_in_all(const struct decision *d, const uint32_t *pick)
{
    double added = 0;

    for (size_t i = 0; i < d->item_count; i++)
        if (d->items[i].first > 0 && d->items[i].count > 0 &&
            (pick == NULL || pick[i] != NUM_CHOOSE_NONE))
            added += (double)d->added[pick != NULL ? pick[i] : d->first[i]];
    return added;
}

/* The gap wanted is one of the value without what was added. */
static shoal_status choose(struct decision *d, struct num_choose_result *r)
{
    struct num_choose_problem p = {.kind_count = d->snap->cluster->kind_count,
                                   .job_count = (uint32_t)d->item_count,
                                   .first = d->first,
                                   .options = d->options,
                                   .gap = GAP};
    double added = d->m->plain > 0 ? added_in_all(d, NULL) : 0;

    if (added > 0)
        p.gap = fmax(p.gap * d->m->plain / (d->m->plain + added), GAP_LEAST);
    for (uint32_t k = 0; k < p.kind_count; k++)
        p.capacity[k] = sched_plan_free_gpus(d->plan, k);
    return num_choose_solve(d->m->choose, &p, r);
}

/* Jobs cannot be cut, so as many as there are kinds may cost what they are worth: a gap that this
 * explains is not told of, unless all are. */
static void report(const struct decision *d, const struct num_choose_result *r)
{
    double added = added_in_all(d, r->pick), plain = r->value - added, gap = r->bound - r->value;
    double largest = 0;

    for (size_t i = 0; d->m->proof > 0 && i < d->first[d->item_count]; i++)
        largest = fmax(largest, (double)d->options[i].value);
    d->m->plain = plain;
    sched_plan_set_prices(d->plan, r->price, "weighted speedup", false);
    sched_plan_set_solved(d->plan);
    if (gap > d->snap->cluster->kind_count * largest && gap > d->m->proof * (plain + gap))
        sched_plan_set_unproven(d->plan, gap / (plain + gap));
}

/* ---- places ---- */

/* The best option that there is room for. */
static bool resize(void *ctx, struct sched_seat *seat, const struct sched_room *room)
{
    const struct decision *d = ctx;
    const struct item *item = &d->items[d->item_of[seat->job] - 1];
    const struct num_choose_option *best = NULL;

    for (uint32_t i = 0; i < item->count; i++) {
        const struct num_choose_option *o = &d->options[item->first_option + i];
        uint32_t each = d->snap->cluster->kinds[o->kind].node_gpus_max;
        if (o->amount <= (o->amount <= each ? room->hole[o->kind] : room->free[o->kind]) &&
            (best == NULL || o->value > best->value))
            best = o;
    }
    if (best == NULL)
        return false;
    seat->kind = (uint16_t)best->kind;
    seat->gpus = best->amount;
    return true;
}

static shoal_status settle(struct decision *d, const uint32_t *pick)
{
    struct base_arena *arena = sched_plan_arena(d->plan);
    struct sched_seat *seats = base_arena_alloc(arena, (d->item_count + 1) * sizeof *seats);
    uint32_t *waiting = base_arena_alloc(arena, (d->item_count + 1) * sizeof *waiting);
    size_t seat_count = 0, waiting_count = 0;

    if (seats == NULL || waiting == NULL)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < d->item_count; i++) { /* those with least left first */
        uint32_t o = pick[d->order[i].job], job = d->items[d->order[i].job].job;
        const struct sched_alloc *held = &d->snap->jobs[job]->alloc;
        if (o == NUM_CHOOSE_NONE) {
            waiting[waiting_count++] = job;
            continue;
        }
        const struct num_choose_option *opt = &d->options[o];
        bool stays = held->place_count > 0 && held->kind == opt->kind && held->gpus == opt->amount;
        seats[seat_count++] = (struct sched_seat){job, opt->amount, (uint16_t)opt->kind, stays};
    }
    struct sched_settle s = {.plan = d->plan, .snap = d->snap, .resize = resize, .ctx = d};
    return sched_settle(&s, seats, seat_count, waiting, waiting_count);
}

static shoal_status decide(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    struct decision d = {.m = memory, .snap = snap, .plan = plan};
    struct num_choose_result r;
    shoal_status st = begin(&d);

    if (st == SHOAL_OK)
        st = look(&d);
    if (st == SHOAL_OK)
        st = weigh(&d);
    if (st == SHOAL_OK)
        st = list_options(&d);
    if (st == SHOAL_OK)
        st = choose(&d, &r);
    if (st != SHOAL_OK)
        return st;
    report(&d, &r);
    st = settle(&d, r.pick);
    if (st != SHOAL_OK)
        return st;
    sched_plan_wait_others(plan, SCHED_WHY_FAIR_SHARE, SCHED_JOB_NONE);
    return sched_plan_status(plan);
}

static void fini(void *memory, const struct base_alloc *alloc)
{
    struct memory *m = memory;

    sched_sizes_free(m->sizes);
    num_choose_free(m->choose);
    base_free(alloc, m->ranks);
}

#define AT(member) offsetof(struct memory, member)

static const shoal_opt opts[] = {
    {AT(power), SHOAL_OPT_F64, "power", 0, "P", "0.8",
     "speedup of g GPUs taken to be g^P in how much less weight jobs with more left have",
     .max = 1},
    {AT(horizon_s), SHOAL_OPT_DURATION, "horizon", 0, "TIME", "10m",
     "a change of size must pay for its restart within this time", .min = 1, .max = 1e9},
    {AT(explore), SHOAL_OPT_F64, "explore", 0, "TIMES", "4",
     "a job gets at most so many times the GPUs it was ever measured with", .min = 1, .max = 64},
    {AT(rho), SHOAL_OPT_F64, "rho", 0, "RHO", "1.1",
     "jobs that would take more than RHO times what their share takes come first; 0: none do",
     .max = 100},
    {AT(rigid), SHOAL_OPT_F64, "rigid", 0, "RHO", "1.25",
     "the same for jobs that cannot change their size, where it is more: their turns cost starts",
     .max = 100},
    {AT(patience_s), SHOAL_OPT_DURATION, "patience", 0, "TIME", "4h",
     "jobs that hold nothing for this long come first; 0: they wait on", .max = 1e9},
    {AT(proof), SHOAL_OPT_F64, "proof", 0, "SHARE", "0.05",
     "tell of choices not proven to be within SHARE of the best, but for what uncut jobs explain; "
     "0: of all",
     .max = 1},
};

const struct sched_policy sched_policy_shoal = {
    .name = "shoal",
    .summary =
        "sizes by goodput and prices: kind, number of GPUs and batch are chosen for each job",
    .optimises = "Average completion time of jobs that adapt, in size or in size and batch, and of "
                 "rigid ones beside them, on mixed kinds.",
    .paper = "ours; weights after Berg et al., heSRPT, Performance Evaluation 144, 2020",
    .opts = opts,
    .opt_count = BASE_COUNT(opts),
    .memory_size = sizeof(struct memory),
    .preempts = true,
    .work_conserving = true,
    .starvation_free = true,
    .decide = decide,
    .fini = fini,
};
