/* replay_setup.c - a replay before its first instant and after its last: what is checked, which
 * offers are watched, room for decisions; and the outcome of each job. */
#include "base/err.h"
#include "market/assign.h"
#include "market/replay_state.h"

#include <math.h>

static bool may_use(const struct replay *r, const struct market_job *job, uint32_t offer)
{
    const struct market_offer *o = &r->prices->offers[offer];

    return (r->allowed == NULL || r->allowed[offer]) && job->speed[o->kind] > 0 && o->count > 0;
}

static shoal_status check_job(const struct market_job *job, shoal_err *err)
{
    const char *name = job->name == NULL ? "" : job->name;

    if (!(job->work > 0) || !isfinite(job->work))
        return base_err(err, SHOAL_E_INVAL, "job '%s': its work must be a number above 0", name);
    if (!isfinite(job->start_s) || isnan(job->deadline_s) || job->deadline_s < job->start_s)
        return base_err(err, SHOAL_E_INVAL, "job '%s': its deadline is before its start", name);
    if (!(job->budget_usd >= 0) || job->instances == 0 || !(job->checkpoint_gb >= 0))
        return base_err(err, SHOAL_E_INVAL,
                        "job '%s': budget and checkpoint cannot be negative, instances not 0",
                        name);
    return SHOAL_OK;
}

static shoal_status check_costs(const struct market_costs *c, double step_s, shoal_err *err)
{
    bool times =
        c->startup_s >= 0 && c->checkpoint_s >= 0 && c->checkpoint_every_s >= 1 && c->notice_s >= 0;
    bool rates = c->zone_gb_s > 0 && c->region_gb_s > 0 && c->cloud_gb_s > 0;
    bool usd = c->zone_usd_gb >= 0 && c->region_usd_gb >= 0 && c->cloud_usd_gb >= 0;

    if (times && rates && usd && step_s >= 1)
        return SHOAL_OK;
    return base_err(err, SHOAL_E_INVAL,
                    "costs of moving must not be negative, rates above 0, and steps and the time "
                    "between checkpoints at least a second");
}

/* Slots: every offer that some job may use. */
static shoal_status make_slots(struct replay *r, const struct market_job *jobs)
{
    size_t offers = r->prices->offer_count;

    r->slots = base_arena_calloc(&r->arena, offers + 1, sizeof *r->slots);
    r->slot_of = base_arena_alloc(&r->arena, (offers + 1) * sizeof *r->slot_of);
    r->usd_h = base_arena_calloc(&r->arena, offers + 1, sizeof *r->usd_h);
    r->up = base_arena_calloc(&r->arena, offers + 1, sizeof *r->up);
    r->seen = base_arena_calloc(&r->arena, offers + 1, sizeof *r->seen);
    if (r->slots == NULL || r->slot_of == NULL || r->usd_h == NULL || r->up == NULL ||
        r->seen == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t o = 0; o < offers; o++) {
        bool used = false;
        for (size_t i = 0; i < r->job_count && !used; i++)
            used = may_use(r, &jobs[i], o);
        r->slot_of[o] = used ? (uint32_t)r->slot_count : MARKET_NONE;
        if (used)
            r->slots[r->slot_count++] = (struct replay_slot){
                .offer = o, .on_demand = r->prices->offers[o].how == MARKET_ON_DEMAND};
    }
    return SHOAL_OK;
}

static shoal_status make_job(struct replay *r, const struct market_job *job, struct replay_job *j,
                             shoal_err *err)
{
    *j = (struct replay_job){.job = job,
                             .slot = MARKET_NONE,
                             .target = MARKET_NONE,
                             .last_offer = MARKET_NONE,
                             .checkpoint = MARKET_NONE,
                             .guard_s = -INFINITY,
                             .out.finish_s = NAN};
    j->candidates = base_arena_alloc(&r->arena, (r->slot_count + 1) * sizeof *j->candidates);
    j->slots = base_arena_alloc(&r->arena, (r->slot_count + 1) * sizeof *j->slots);
    j->speed = base_arena_alloc(&r->arena, (r->slot_count + 1) * sizeof *j->speed);
    j->rescue = base_arena_alloc(&r->arena, (r->slot_count + 1) * sizeof *j->rescue);
    j->note = base_arena_calloc(&r->arena, 1, r->opts->strategy->note_size + 1);
    if (j->candidates == NULL || j->slots == NULL || j->speed == NULL || j->rescue == NULL ||
        j->note == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t s = 0; s < r->slot_count; s++) {
        if (!may_use(r, job, r->slots[s].offer))
            continue;
        uint32_t kind = r->prices->offers[r->slots[s].offer].kind;
        j->candidates[j->candidate_count] = r->slots[s].offer;
        j->speed[j->candidate_count] = market_pace_mean(market_pace(r->costs, job->speed[kind]));
        j->slots[j->candidate_count++] = s;
        if (r->slots[s].on_demand)
            j->rescue[j->rescue_count++] = s;
    }
    if (j->candidate_count > 0)
        return SHOAL_OK;
    base_err(err, SHOAL_E_INVAL, "job '%s' can run on none of the offers",
             job->name == NULL ? "" : job->name);
    base_err_hint(err, "give its speed on a kind of instance that is sold and allowed");
    return SHOAL_E_INVAL;
}

static bool matches(const struct market_limit *limit, const struct market_offer *o)
{
    return (limit->cloud == MARKET_NONE || limit->cloud == o->cloud) &&
           (limit->region == MARKET_NONE || limit->region == o->region) &&
           (limit->zone == MARKET_NONE || limit->zone == o->zone) &&
           (limit->kind == MARKET_NONE || limit->kind == o->kind);
}

/* Room for decisions about all jobs at once. */
static shoal_status make_room(struct replay *r)
{
    size_t jobs = r->job_count, slots = r->slot_count, limits = r->opts->limit_count;

    r->asked = base_arena_alloc(&r->arena, (jobs + 1) * sizeof *r->asked);
    r->pick = base_arena_alloc(&r->arena, (jobs + 1) * sizeof *r->pick);
    r->need = base_arena_alloc(&r->arena, (jobs + 1) * sizeof *r->need);
    r->idle = base_arena_alloc(&r->arena, (jobs + 1) * sizeof *r->idle);
    r->room = base_arena_alloc(&r->arena, (slots + 1) * sizeof *r->room);
    r->by_candidate = base_arena_alloc(&r->arena, (slots + 1) * sizeof *r->by_candidate);
    r->score = base_arena_alloc(&r->arena, (jobs * slots + 1) * sizeof *r->score);
    r->limits = base_arena_alloc(&r->arena, (limits + 1) * sizeof *r->limits);
    r->covers = base_arena_alloc(&r->arena, limits * slots + 1);
    if (r->asked == NULL || r->pick == NULL || r->need == NULL || r->idle == NULL ||
        r->room == NULL || r->by_candidate == NULL || r->score == NULL || r->limits == NULL ||
        r->covers == NULL)
        return SHOAL_E_NOMEM;
    for (size_t l = 0; l < limits; l++) {
        for (size_t s = 0; s < slots; s++)
            r->covers[l * slots + s] =
                matches(&r->opts->limits[l], &r->prices->offers[r->slots[s].offer]);
    }
    return SHOAL_OK;
}

/* When the replay begins: a number of whole steps before the first start where the strategy wants
 * to look on, no earlier than anything is known. */
static double first_look_s(const struct replay *r, double start_s)
{
    double known_s = fmax(r->prices->from_s, market_avail_from_s(r->avail));
    double watch_s = fmin(MARKET_WATCH_S, start_s - known_s);

    if (r->opts->strategy->watch == NULL || !(watch_s > 0))
        return start_s;
    return start_s - floor(watch_s / r->opts->step_s) * r->opts->step_s;
}

shoal_status replay_set_up(struct replay *r, const struct market_job *jobs, shoal_err *err)
{
    shoal_status st = check_costs(r->costs, r->opts->step_s, err);

    r->now_s = INFINITY;
    for (size_t i = 0; i < r->job_count && st == SHOAL_OK; i++) {
        st = check_job(&jobs[i], err);
        r->now_s = fmin(r->now_s, jobs[i].start_s);
    }
    if (st == SHOAL_OK)
        r->now_s = first_look_s(r, r->now_s);
    r->next_step_s = r->now_s;
    r->jobs = base_arena_calloc(&r->arena, r->job_count + 1, sizeof *r->jobs);
    if (st == SHOAL_OK)
        st = r->jobs == NULL ? SHOAL_E_NOMEM : make_slots(r, jobs);
    for (size_t i = 0; i < r->job_count && st == SHOAL_OK; i++)
        st = make_job(r, &jobs[i], &r->jobs[i], err);
    return st == SHOAL_OK ? make_room(r) : st;
}

static void sum_up(const struct market_job *job, struct market_outcome *o)
{
    o->idle_s = fmax(0, o->end_s - job->start_s - o->spot_s - o->on_demand_s - o->starting_s);
    o->missed =
        job->deadline_s < INFINITY && (isnan(o->finish_s) ? o->broke || o->end_s >= job->deadline_s
                                                          : o->finish_s > job->deadline_s);
}

/* The stays of each job beside each other, and the sums. */
shoal_status replay_collect(struct replay *r, struct market_result *out)
{
    struct market_stay *stays = base_calloc(r->alloc, r->past_count + 1, sizeof *stays);
    struct market_outcome *jobs = base_calloc(r->alloc, r->job_count + 1, sizeof *jobs);
    size_t at = 0;

    if (stays == NULL || jobs == NULL) {
        base_free(r->alloc, stays);
        base_free(r->alloc, jobs);
        return SHOAL_E_NOMEM;
    }
    *out = (struct market_result){.alloc = r->alloc,
                                  .jobs = jobs,
                                  .job_count = r->job_count,
                                  .decisions = r->decisions,
                                  .memory = stays};
    for (size_t i = 0; i < r->job_count; i++) {
        r->jobs[i].out.stays = stays + at;
        jobs[i] = r->jobs[i].out;
        jobs[i].usd = r->jobs[i].spent_usd;
        jobs[i].steps = r->jobs[i].kept;
        sum_up(r->jobs[i].job, &jobs[i]);
        for (size_t k = 0; k < r->past_count; k++) {
            if (r->past[k].job == i)
                stays[at + jobs[i].stay_count++] = r->past[k].stay;
        }
        at += jobs[i].stay_count;
        out->usd += jobs[i].usd;
        out->missed += jobs[i].missed ? 1 : 0;
        out->unfinished += isnan(jobs[i].finish_s) ? 1 : 0;
        out->moves += jobs[i].moves;
        out->interruptions += jobs[i].interruptions;
    }
    return SHOAL_OK;
}
