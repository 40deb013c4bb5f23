/* replay_decide.c - one decision of a replay: the strategy scores offers for every job that is to
 * be asked, the assignment settles who gets what, and jobs are sent there. */
#include "market/assign.h"
#include "market/replay_state.h"

#include <math.h>
#include <string.h>

/* In place of an infinite score of holding nothing; offers scored higher are not taken. */
#define SCORE_MAX 1e12

static bool can_choose(const struct replay_job *j)
{
    return j->phase >= REPLAY_IDLE && j->phase <= REPLAY_RUNNING && !j->out.guarded;
}

/* Who is asked; returns how many. */
static size_t gather(struct replay *r)
{
    size_t count = 0;

    for (uint32_t i = 0; i < r->job_count; i++) {
        struct replay_job *j = &r->jobs[i];
        bool ask = j->ask || (r->wake && j->phase == REPLAY_IDLE);
        j->ask = false;
        if (ask && can_choose(j))
            r->asked[count++] = i;
    }
    return count;
}

static void set_room(struct replay *r, size_t slot, uint32_t room)
{
    r->room[slot] = room;
    r->up[r->slots[slot].offer] = room;
}

/* What is left for those who are asked: what they hold themselves is theirs to use again. */
static void count_room(struct replay *r, size_t asked)
{
    for (size_t s = 0; s < r->slot_count; s++) {
        const struct replay_slot *slot = &r->slots[s];
        set_room(r, s, slot->up == MARKET_UNLIMITED ? MARKET_UNLIMITED : slot->up - slot->held);
    }
    for (size_t i = 0; i < asked; i++) {
        const struct replay_job *j = &r->jobs[r->asked[i]];
        if (j->slot != MARKET_NONE && r->room[j->slot] != MARKET_UNLIMITED)
            set_room(r, j->slot, r->room[j->slot] + j->job->instances);
    }
    for (size_t i = 0; i < r->job_count; i++) {
        const struct replay_job *j = &r->jobs[i];
        if (j->phase != REPLAY_LEAVING || j->target == MARKET_NONE ||
            r->room[j->target] == MARKET_UNLIMITED)
            continue;
        uint32_t n = j->job->instances;
        set_room(r, j->target, r->room[j->target] > n ? r->room[j->target] - n : 0);
    }
}

/* What a job sees. */
static struct market_view view_of(const struct replay *r, const struct replay_job *j,
                                  double slack_s)
{
    bool there = j->phase == REPLAY_RUNNING;
    uint32_t held = j->slot == MARKET_NONE ? MARKET_NONE : r->slots[j->slot].offer;

    return (struct market_view){
        .prices = r->prices,
        .job = j->job,
        .costs = r->costs,
        .now_s = r->now_s,
        .step_s = r->opts->step_s,
        .steps = replay_made(r, j),
        .spent_usd = j->spent_usd,
        .held = held,
        .held_since_s = held == MARKET_NONE ? r->now_s : j->stay.from_s,
        .checkpoint = there ? held : j->checkpoint,
        .safe_until_s = r->now_s + slack_s,
        .usd_h = r->usd_h,
        .up = r->up,
        .seen = r->seen,
        .ages = &r->ages,
        .candidates = j->candidates,
        .speed = j->speed,
        .candidate_count = j->candidate_count,
    };
}

void replay_look_on(struct replay *r)
{
    bool counted = false;

    for (size_t i = 0; i < r->job_count; i++) {
        struct replay_job *j = &r->jobs[i];
        if (j->phase != REPLAY_WAITING || j->job->start_s - r->now_s > MARKET_WATCH_S)
            continue;
        if (!counted) { /* once for all of them */
            replay_watch_count(r);
            count_room(r, 0);
            counted = true;
        }
        struct market_view view = view_of(r, j, INFINITY);
        r->opts->strategy->watch(r->opts->knobs, j->note, &view);
    }
}

static void score(struct replay *r, struct replay_job *j, double *by_candidate, double *idle)
{
    uint32_t rescue;
    double slack = replay_guard_slack(r, j, &rescue);
    struct market_view view = view_of(r, j, slack);

    r->opts->strategy->score(r->opts->knobs, j->note, &view, by_candidate, idle);
    if (!(*idle < SCORE_MAX))
        *idle = SCORE_MAX;
    for (size_t c = 0; c < j->candidate_count; c++) {
        uint32_t s = j->slots[c];
        if (!(by_candidate[c] < SCORE_MAX) || s == j->slot) {
            by_candidate[c] = by_candidate[c] < SCORE_MAX ? by_candidate[c] : INFINITY;
            continue;
        }
        double egress =
            market_move_usd(r->prices, j->job, r->costs, view.checkpoint, j->candidates[c]);
        if (r->room[s] < j->job->instances || j->spent_usd + egress > j->job->budget_usd ||
            !replay_guard_allows(r, j, s, slack))
            by_candidate[c] = INFINITY;
    }
}

/* The only job: the best that it may have, no assignment needed. */
static uint32_t choose_alone(struct replay *r, struct replay_job *j)
{
    double best;
    uint32_t pick = MARKET_NONE;

    score(r, j, r->by_candidate, &best);
    for (size_t c = 0; c < j->candidate_count; c++) {
        if (r->by_candidate[c] < best) {
            best = r->by_candidate[c];
            pick = j->slots[c];
        }
    }
    return pick;
}

/* What each limit leaves to those who are asked. */
static void count_limits(struct replay *r, size_t asked)
{
    for (size_t l = 0; l < r->opts->limit_count; l++) {
        const bool *covers = r->covers + l * r->slot_count;
        uint64_t used = 0;
        for (size_t i = 0, next = 0; i < r->job_count; i++) {
            const struct replay_job *j = &r->jobs[i];
            if (next < asked && r->asked[next] == i) {
                next++;
                continue;
            }
            bool here = j->slot != MARKET_NONE && covers[j->slot];
            bool soon = j->phase == REPLAY_LEAVING && j->target != MARKET_NONE && covers[j->target];
            if (here || soon)
                used += j->job->instances;
        }
        uint32_t all = r->opts->limits[l].instances;
        r->limits[l] = (struct market_assign_limit){covers, used < all ? all - (uint32_t)used : 0};
    }
}

static shoal_status choose_together(struct replay *r, size_t asked)
{
    struct market_assigned assigned;

    for (size_t i = 0; i < asked; i++) {
        struct replay_job *j = &r->jobs[r->asked[i]];
        double *row = r->score + i * r->slot_count;
        for (size_t s = 0; s < r->slot_count; s++)
            row[s] = INFINITY;
        score(r, j, r->by_candidate, &r->idle[i]);
        for (size_t c = 0; c < j->candidate_count; c++)
            row[j->slots[c]] = r->by_candidate[c];
        r->need[i] = j->job->instances;
    }
    count_limits(r, asked);
    return market_assign(r->alloc,
                         &(struct market_assign){.job_count = asked,
                                                 .offer_count = r->slot_count,
                                                 .score = r->score,
                                                 .idle = r->idle,
                                                 .need = r->need,
                                                 .room = r->room,
                                                 .limits = r->limits,
                                                 .limit_count = r->opts->limit_count},
                         r->pick, &assigned);
}

/* First all who leave, then all who can begin at once; who finds no room yet (it is still being
 * left) is asked again when it is free. */
static void carry_out(struct replay *r, size_t asked)
{
    for (size_t i = 0; i < asked; i++) {
        struct replay_job *j = &r->jobs[r->asked[i]];
        if (j->slot != MARKET_NONE && j->slot != r->pick[i])
            replay_leave(r, j, r->pick[i], MARKET_END_MOVED);
    }
    for (size_t i = 0; i < asked; i++) {
        struct replay_job *j = &r->jobs[r->asked[i]];
        if (j->phase == REPLAY_IDLE && r->pick[i] != MARKET_NONE && replay_fits(r, j, r->pick[i]))
            replay_begin(r, j, r->pick[i]);
    }
}

void replay_decide(struct replay *r)
{
    size_t asked = gather(r);

    r->wake = false;
    if (asked == 0)
        return;
    replay_watch_count(r);
    count_room(r, asked);
    r->decisions += asked;
    if (asked == 1 && r->opts->limit_count == 0) {
        r->pick[0] = choose_alone(r, &r->jobs[r->asked[0]]);
    } else {
        shoal_status st = choose_together(r, asked);
        if (st != SHOAL_OK) {
            r->status = st;
            return;
        }
    }
    carry_out(r, asked);
}
