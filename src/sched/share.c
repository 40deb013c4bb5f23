/* share.c - what sharing policies keep between decisions: shares wanted, time received, time owed.
 *
 * At each decision:
 *
 *   1. meet: jobs that left are dropped, new ones added; both lists are in order of id.
 *   2. account: what each job held since the last decision is taken off what it is owed, what its
 *      shares promised is added, in seconds per kind. Old debts fade (FADE_ROUNDS).
 *   3. solve (share_solve.c), when the jobs or the live nodes changed; where shares depend on how
 *      far jobs are, also every few rounds, less often with pairs, which cost more (on Gavel's
 *      workloads every eighth round does about as well as every round).
 *   4. set turns: a job's next turn is due when a whole round is owed to it, that is, in
 *      (round - owed) / share seconds. A turn once promised is not put off when shares shrink.
 *   5. share_round.c hands out GPUs, the turn that is due first.
 *
 * Gavel orders by the quotient share / time received instead and starts it afresh every 32 minutes,
 * since its solver is slow. With a solver that takes milliseconds shares follow every event, and a
 * difference survives that where a quotient does not. Where gangs do not fit together and shares
 * cannot all be kept, everybody ends up late by the same time, so with the same part of its share;
 * and a job with any share at all gets its turn, however many others arrive.
 *
 * Cost: O(jobs x kinds) a decision besides the solver and the sort in share_round.c.
 *
 * Reference: Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning
 * Workloads", OSDI 2020. */
#include "sched/share.h"

#include "base/assert.h"
#include "base/err.h"
#include "sched/share_parts.h"
#include <math.h>
#include <string.h>

/* Debts fade by 1/e in so many rounds: long enough to make up for a missed turn, short enough that
 * shares of another day do not decide. */
static const double FADE_ROUNDS = 100;
/* A running job is left alone until its turn is over by so many restarts: moving it costs one. */
static const double HOLD_RESTARTS = 20;
/* Rounds after which shares that depend on progress are solved for again; with pairs. */
enum { RENEW_ROUNDS = 2, RENEW_PAIRS_ROUNDS = 8 };

const char *const sched_sharing_names[] = {"none", "pairs", NULL};
const shoal_opt sched_share_rows[SCHED_SHARE_ROW_COUNT] = {SCHED_SHARE_ROWS};

shoal_status sched_share_check_prices(const char *policy, const struct sched_setting *setting,
                                      shoal_err *err)
{
    for (uint32_t k = 0; k < setting->cluster->kind_count; k++) {
        const struct sched_kind *kind = &setting->cluster->kinds[k];
        if (kind->usd_gpu_h > 0)
            continue;
        base_err(err, SHOAL_E_INVAL, "policy '%s' needs prices, and GPU kind '%s' has none above 0",
                 policy, kind->name);
        base_err_hint(err, "give one, such as --cluster 4x8:%s:usd=2.10", kind->name);
        return SHOAL_E_INVAL;
    }
    return SHOAL_OK;
}

/* ---- life ---- */

void sched_share_fini(void *memory, const struct base_alloc *alloc)
{
    struct sched_share_memory *m = memory;
    struct sched_share *s = m->kept;

    if (s == NULL)
        return;
    base_room_fini(&s->room);
    sched_objective_free(s->solver);
    sched_colocate_free(s->colocate);
    base_free(alloc, s);
    m->kept = NULL;
}

static shoal_status open_kept(struct sched_share_memory *m, const struct sched_snapshot *snap)
{
    if (m->kept != NULL)
        return SHOAL_OK;
    struct sched_share *s = base_calloc(snap->alloc, 1, sizeof *s);
    if (s == NULL)
        return SHOAL_E_NOMEM;
    m->kept = s;
    s->alloc = s->room.alloc = snap->alloc;
    s->kind_count = snap->cluster->kind_count;
    shoal_status st = sched_objective_new(s->alloc, NULL, &s->solver);
    if (st == SHOAL_OK && m->sharing == SCHED_SHARING_PAIRS)
        st = sched_colocate_new(s->alloc, m->measured, snap->seed, &s->colocate);
    return st;
}

static shoal_status reserve(struct sched_share *s, size_t count)
{
    size_t cells = count * s->kind_count;

    BASE_ROOM(&s->room, s->jobs, count);
    BASE_ROOM(&s->room, s->rate, cells);
    BASE_ROOM(&s->room, s->share, cells);
    BASE_ROOM(&s->room, s->owed_s, cells);
    return base_room_status(&s->room);
}

/* ---- who is there ---- */

static void move_job(struct sched_share *s, size_t to, size_t from)
{
    size_t k = s->kind_count, bytes = k * sizeof *s->rate;

    if (to == from)
        return;
    s->jobs[to] = s->jobs[from];
    memcpy(s->rate + to * k, s->rate + from * k, bytes);
    memcpy(s->share + to * k, s->share + from * k, bytes);
    memcpy(s->owed_s + to * k, s->owed_s + from * k, bytes);
}

static bool same_rates(const double *a, const double *b, uint32_t kinds)
{
    for (uint32_t k = 0; k < kinds; k++)
        if (fabs(a[k] - b[k]) > 1e-9 * b[k]) /* rounding: rates are quotients of work and time */
            return false;
    return true;
}

/* The class of a job with these rates, made when it is new. Its rates become those of the class. */
static shoal_status find_class(struct sched_share *s, const struct sched_job *j, double *rate,
                               uint32_t *out)
{
    size_t at = 0, bytes = s->kind_count * sizeof *rate;

    for (; at < s->class_count; at++) {
        const struct sched_share_class *c = &s->classes[at];
        if (c->data == j->model.data && c->row == j->model.row && c->batch == j->model.batch &&
            c->gpus == j->gpus && same_rates(rate, c->rate, s->kind_count))
            break;
    }
    if (at == s->class_count) {
        BASE_ROOM(&s->room, s->classes, at + 1);
        if (base_room_status(&s->room) != SHOAL_OK)
            return SHOAL_E_NOMEM;
        s->classes[at] = (struct sched_share_class){
            .data = j->model.data, .row = j->model.row, .batch = j->model.batch, .gpus = j->gpus};
        memcpy(s->classes[at].rate, rate, bytes);
        s->class_count++;
    }
    memcpy(rate, s->classes[at].rate, bytes);
    *out = (uint32_t)at;
    return SHOAL_OK;
}

static shoal_status welcome(struct sched_share *s, const struct sched_snapshot *snap, size_t at)
{
    const struct sched_job *j = snap->jobs[at];
    double *rate = s->rate + at * s->kind_count;

    s->jobs[at] = (struct sched_share_job){.id = j->id,
                                           .gpus = j->gpus,
                                           .partner = SCHED_JOB_NONE,
                                           .kind = -1,
                                           .run_s = j->run_s,
                                           .progress = j->progress,
                                           .due_s = INFINITY};
    for (uint32_t k = 0; k < s->kind_count; k++) {
        double seconds = (j->kinds >> k & 1) != 0
                             ? sched_model_ideal_s(&j->model, snap->cluster, k, j->gpus, 0)
                             : INFINITY;
        rate[k] = isfinite(seconds) && seconds > 0 ? j->model.work / seconds : 0;
        s->share[at * s->kind_count + k] = s->owed_s[at * s->kind_count + k] = 0;
    }
    return s->colocate != NULL ? find_class(s, j, rate, &s->jobs[at].class) : SHOAL_OK;
}

/* After this, s->jobs and snap->jobs are the same jobs in the same order. */
static shoal_status meet(struct sched_share *s, const struct sched_snapshot *snap)
{
    size_t stay = 0, n = snap->job_count;

    for (size_t i = 0, at = 0; i < s->count; i++) {
        while (at < n && snap->jobs[at]->id < s->jobs[i].id)
            at++;
        if (at < n && snap->jobs[at]->id == s->jobs[i].id)
            move_job(s, stay++, i);
    }
    s->stale = s->stale || stay != s->count || stay != n;
    s->count = stay; /* in case memory is short */
    shoal_status st = reserve(s, n);
    for (size_t i = n; st == SHOAL_OK && i-- > 0;) {
        if (stay > 0 && s->jobs[stay - 1].id == snap->jobs[i]->id)
            move_job(s, i, --stay);
        else
            st = welcome(s, snap, i);
    }
    if (st == SHOAL_OK)
        s->count = n;
    return st;
}

static void count_live(struct sched_share *s, const struct sched_snapshot *snap)
{
    if (s->begun && s->node_changes == snap->node_changes)
        return;
    memset(s->live, 0, sizeof s->live);
    for (uint32_t n = 0; n < snap->cluster->node_count; n++)
        if (snap->node_up[n])
            s->live[snap->cluster->nodes[n].kind] += snap->cluster->nodes[n].gpus;
    s->node_changes = snap->node_changes;
    s->stale = true;
}

/* ---- what they got ---- */

struct sched_share_pair *sched_share_find_pair(const struct sched_share *s, uint32_t a, uint32_t b,
                                               uint32_t kind)
{
    size_t lo = 0, hi = s->pair_count;

    if (a > b) {
        uint32_t t = a;
        a = b;
        b = t;
    }
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct sched_share_pair *p = &s->pairs[mid];
        if (p->a_id < a || (p->a_id == a && (p->b_id < b || (p->b_id == b && p->kind < kind))))
            lo = mid + 1;
        else
            hi = mid;
    }
    struct sched_share_pair *p = s->pairs + lo;
    return lo < s->pair_count && p->a_id == a && p->b_id == b && p->kind == kind ? p : NULL;
}

/* Time since the last decision: promised by the shares, received where it was granted. */
static void account(struct sched_share *s, const struct sched_snapshot *snap)
{
    double elapsed = s->begun ? snap->now_s - s->now_s : 0;
    double fade = exp(-elapsed / (FADE_ROUNDS * snap->round_s));

    for (size_t i = 0; i < s->pair_count; i++) {
        struct sched_share_pair *p = &s->pairs[i];
        p->owed_s = p->owed_s * fade + p->share * elapsed;
    }
    for (size_t i = 0; i < s->count; i++) {
        struct sched_share_job *j = &s->jobs[i];
        double *owed = s->owed_s + i * s->kind_count;
        const double *share = s->share + i * s->kind_count;
        for (uint32_t k = 0; k < s->kind_count; k++)
            owed[k] = owed[k] * fade + share[k] * elapsed;
        double got = snap->jobs[i]->run_s - j->run_s;
        double done = snap->jobs[i]->progress - j->progress;
        if (got > 0)
            j->due_s = INFINITY;
        struct sched_share_pair *p =
            j->kind >= 0 && j->partner != SCHED_JOB_NONE
                ? sched_share_find_pair(s, j->id, j->partner, (uint32_t)j->kind)
                : NULL;
        if (p != NULL)
            p->owed_s -= got / 2; /* its partner brings the other half */
        else if (j->kind >= 0)
            owed[j->kind] -= got;
        if (j->alone_rate > 0)
            j->alone_s = fmax(0, j->alone_s + done / j->alone_rate);
        j->run_s = snap->jobs[i]->run_s;
        j->progress = snap->jobs[i]->progress;
    }
    s->now_s = snap->now_s;
}

/* ---- whose turn it is ---- */

double sched_share_due_s(const struct sched_snapshot *snap, double share, double owed_s)
{
    return snap->now_s + (snap->round_s - owed_s) / share;
}

static void promise(struct sched_share_job *j, double due_s)
{
    j->next_s = fmin(j->next_s, due_s);
}

/* A turn once promised is not put off when shares shrink: how much it slipped counts. */
static void set_turns(struct sched_share *s, const struct sched_snapshot *snap)
{
    for (size_t i = 0; i < s->count; i++) {
        s->jobs[i].next_s = INFINITY;
        for (uint32_t k = 0; k < s->kind_count; k++) {
            double share = s->share[i * s->kind_count + k];
            if (share > 0)
                promise(&s->jobs[i],
                        sched_share_due_s(snap, share, s->owed_s[i * s->kind_count + k]));
        }
    }
    for (size_t p = 0; p < s->pair_count; p++) {
        double due_s = sched_share_due_s(snap, s->pairs[p].share, s->pairs[p].owed_s);
        promise(&s->jobs[s->pairs[p].a], due_s);
        promise(&s->jobs[s->pairs[p].b], due_s);
    }
    for (size_t i = 0; i < s->count; i++) {
        struct sched_share_job *j = &s->jobs[i];
        j->due_s = fmin(j->due_s, j->next_s);
        j->slip_s = isfinite(j->next_s) ? j->next_s - j->due_s : 0;
    }
}

/* ---- a decision ---- */

static bool by_progress(enum sched_objective objective)
{
    return objective == SCHED_OBJECTIVE_FTF || objective == SCHED_OBJECTIVE_MAKESPAN ||
           objective == SCHED_OBJECTIVE_COST_SLO;
}

static void tell(const struct sched_share *s, struct sched_plan *plan)
{
    float *want = sched_plan_want(plan);
    uint32_t kinds = s->kind_count;

    sched_plan_set_prices(plan, s->price, s->price_unit, s->price_next);
    if (want == NULL)
        return; /* the plan's status says so */
    for (size_t i = 0; i < s->count * kinds; i++)
        want[i] = (float)s->share[i];
    for (size_t i = 0; i < s->pair_count; i++) {
        const struct sched_share_pair *p = &s->pairs[i];
        want[p->a * kinds + p->kind] += (float)p->share;
        want[p->b * kinds + p->kind] += (float)p->share;
    }
}

static void remember_grants(struct sched_share *s, const struct sched_snapshot *snap,
                            const struct sched_plan *plan)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct sched_grant *g = sched_plan_grant(plan, i);
        s->jobs[i].kind = g != NULL ? g->alloc.kind : -1;
        s->jobs[i].partner =
            g != NULL && g->partner != SCHED_JOB_NONE ? snap->jobs[g->partner]->id : SCHED_JOB_NONE;
    }
}

/* Jobs that wait with a deadline to keep do so because it leaves time. A deadline that has passed
 * since shares were solved for leaves none. */
static void say_who_is_due(const struct sched_share *s, const struct sched_share_goal *goal,
                           const struct sched_snapshot *snap, struct sched_plan *plan)
{
    for (size_t i = 0; i < s->count && goal->due_waiting != SCHED_WHY_NONE; i++)
        if (s->jobs[i].due && snap->jobs[i]->deadline_s > snap->now_s &&
            sched_plan_reason(plan, i) == goal->waiting)
            sched_plan_wait(
                plan, i,
                (struct sched_why){.reason = (uint8_t)goal->due_waiting, .behind = SCHED_JOB_NONE});
}

shoal_status sched_share_decide(void *memory, const struct sched_share_goal *goal,
                                const struct sched_snapshot *snap, struct sched_plan *plan)
{
    struct sched_share_memory *m = memory;
    shoal_status st = open_kept(m, snap);

    sched_plan_wait_others(plan, goal->waiting, SCHED_JOB_NONE);
    if (goal->objective == SCHED_OBJECTIVE_COST || goal->objective == SCHED_OBJECTIVE_COST_SLO)
        sched_plan_upgrade_for_less(plan);
    if (st == SHOAL_OK)
        st = meet(m->kept, snap);
    if (st != SHOAL_OK)
        return st;
    count_live(m->kept, snap);
    account(m->kept, snap);
    m->kept->begun = true;
    if (by_progress(goal->objective) &&
        ++m->kept->age >= (m->kept->colocate != NULL ? RENEW_PAIRS_ROUNDS : RENEW_ROUNDS))
        m->kept->stale = true;
    if (m->kept->stale && snap->job_count > 0) {
        st = sched_share_solve(m->kept, memory, goal, snap, sched_plan_arena(plan));
        if (st == SHOAL_OK)
            sched_plan_set_solved(plan);
        if (st == SHOAL_OK && m->kept->unproven)
            sched_plan_set_unproven(plan, m->kept->gap);
    }
    if (st == SHOAL_OK) {
        double hold_s = fmax(HOLD_RESTARTS * snap->restart_s, goal->hold_rounds * snap->round_s);
        set_turns(m->kept, snap);
        st = sched_share_round(m->kept, hold_s, snap, plan);
    }
    if (st != SHOAL_OK)
        return st;
    say_who_is_due(m->kept, goal, snap, plan);
    tell(m->kept, plan);
    remember_grants(m->kept, snap, plan);
    return sched_plan_status(plan);
}
