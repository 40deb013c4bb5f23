/* bound_plan.c - a plan with hindsight that does exactly the work: the path of a higher price of a
 * step up to some moment, that of a lower price from then on (or the other way round), the moment
 * being chosen so that the work is just done. Paths are of a simpler world than the replay's
 * (checkpoints spread evenly); here every leg is evaluated by the replay's own rules, so the plan
 * can be carried out and costs what is said. */
#include "market/bound_state.h"

#include <math.h>
#include <string.h>

enum { SPLICES = 40 };

struct legs {
    struct bound_leg *legs;
    size_t count;
};

static double usd_of(const struct bound *b, uint32_t offer, double from_s, double to_s)
{
    double usd = 0;
    size_t cursor = 0;

    while (from_s < to_s) {
        double until, usd_h = market_price_at(b->prices, offer, from_s, &cursor, &until);
        until = fmin(until, to_s);
        usd += usd_h * b->job->instances * (until - from_s) / 3600;
        from_s = until;
    }
    return usd;
}

/* The part of `a` before the moment, then that of `z` after it. `out` has room for both. */
static struct legs splice(struct legs a, struct legs z, double at_s, struct bound_leg *out)
{
    size_t n = 0;

    for (size_t i = 0; i < a.count && a.legs[i].from_s < at_s; i++) {
        out[n] = a.legs[i];
        out[n].to_s = fmin(out[n].to_s, at_s);
        n++;
    }
    for (size_t i = 0; i < z.count; i++) {
        if (z.legs[i].to_s <= at_s)
            continue;
        bool on = n > 0 && out[n - 1].slot == z.legs[i].slot && z.legs[i].from_s <= at_s &&
                  out[n - 1].to_s == at_s;
        if (on) { /* both are there at the moment: one stay */
            out[n - 1].to_s = z.legs[i].to_s;
            continue;
        }
        out[n] = z.legs[i];
        out[n].from_s = fmax(out[n].from_s, at_s);
        n++;
    }
    return (struct legs){out, n};
}

/* Carries the legs out; fills stays (NULL: not wanted). True when the work is done. */
static bool carry_out(const struct bound *b, struct legs l, struct market_bound *out,
                      struct market_stay *stays)
{
    uint32_t checkpoint = MARKET_NONE, last = MARKET_NONE;
    double kept = 0, usd = 0, checkpoint_s = b->costs->checkpoint_s;

    out->plan_count = 0;
    out->plan_moves = 0;
    for (size_t i = 0; i < l.count && kept < b->job->work; i++) {
        uint32_t offer = b->slots[l.legs[i].slot].offer;
        struct market_pace pace =
            market_pace(b->costs, b->job->speed[b->prices->offers[offer].kind]);
        double run_from =
            l.legs[i].from_s + market_move_s(b->prices, b->job, b->costs, checkpoint, offer);
        double done_s = run_from + market_pace_s(pace, b->job->work - kept), to_s = l.legs[i].to_s;
        bool done = done_s <= to_s;
        double gain =
            done ? b->job->work - kept : market_pace_made(pace, to_s - run_from - checkpoint_s);
        to_s = fmin(to_s, done_s);
        if (gain <= 0)
            continue; /* too short to be worth it */
        double egress = market_move_usd(b->prices, b->job, b->costs, checkpoint, offer);
        double cost = usd_of(b, offer, l.legs[i].from_s, to_s);
        usd += cost + egress;
        kept = done ? b->job->work : kept + gain;
        checkpoint = offer;
        out->plan_moves += last != MARKET_NONE && last != offer ? 1 : 0;
        last = offer;
        if (stays != NULL)
            stays[out->plan_count] = (struct market_stay){l.legs[i].from_s,
                                                          to_s,
                                                          offer,
                                                          done ? MARKET_END_DONE : MARKET_END_MOVED,
                                                          gain,
                                                          cost,
                                                          egress};
        out->plan_count++;
    }
    out->plan_usd = kept >= b->job->work ? usd : INFINITY;
    out->plan_steps = kept;
    return kept >= b->job->work;
}

static shoal_status legs_at(struct bound *b, double lambda, struct legs *out)
{
    struct bound_path path;
    shoal_status st;

    base_free(b->alloc, out->legs);
    *out = (struct legs){NULL, 0};
    b->keep_legs = true;
    st = bound_path(b, lambda, &path);
    b->keep_legs = false;
    return st == SHOAL_OK ? bound_path_legs(b, &path, &out->legs, &out->count) : st;
}

/* The earliest moment to change from `rich` to `poor` (or the latest from poor to rich) at which
 * the work is still done; false when not even rich alone does it. */
static bool best_splice(const struct bound *b, struct legs rich, struct legs poor, bool rich_first,
                        struct bound_leg *room, struct market_bound *best, double *out_at_s)
{
    double good = rich_first ? b->to_s : b->from_s, bad = rich_first ? b->from_s : b->to_s;
    struct market_bound trial;
    bool found = false;

    best->plan_usd = INFINITY;
    for (int n = 0; n < SPLICES; n++) {
        double at = n == 0 ? good : (good + bad) / 2;
        struct legs l = rich_first ? splice(rich, poor, at, room) : splice(poor, rich, at, room);
        bool done = carry_out(b, l, &trial, NULL);
        if (n == 0 && !done)
            return false;
        if (done)
            good = at;
        else
            bad = at;
        if (done && trial.plan_usd < best->plan_usd) {
            *best = trial;
            *out_at_s = at;
            found = true;
        }
    }
    return found;
}

static shoal_status keep_plan(const struct bound *b, struct legs l, struct market_bound *out)
{
    struct market_bound plan;
    struct market_stay *stays = base_calloc(b->alloc, l.count + 1, sizeof *stays);

    if (stays == NULL)
        return SHOAL_E_NOMEM;
    (void)carry_out(b, l, &plan, stays);
    out->plan = stays;
    out->plan_count = plan.plan_count;
    out->plan_moves = plan.plan_moves;
    out->plan_usd = plan.plan_usd;
    out->plan_steps = plan.plan_steps;
    return SHOAL_OK;
}

static shoal_status try_both(struct bound *b, struct legs rich, struct legs poor, bool *out_found,
                             struct market_bound *out)
{
    struct market_bound first = {.plan_usd = INFINITY}, second = {.plan_usd = INFINITY};
    double first_at = 0, second_at = 0;
    shoal_status st = SHOAL_OK;
    struct bound_leg *room = base_calloc(b->alloc, rich.count + poor.count + 2, sizeof *room);

    if (room == NULL)
        return SHOAL_E_NOMEM;
    bool a = best_splice(b, rich, poor, true, room, &first, &first_at);
    bool z = best_splice(b, rich, poor, false, room, &second, &second_at);
    *out_found = a || z;
    if (a && (!z || first.plan_usd <= second.plan_usd))
        st = keep_plan(b, splice(rich, poor, first_at, room), out);
    else if (z)
        st = keep_plan(b, splice(poor, rich, second_at, room), out);
    base_free(b->alloc, room);
    return st;
}

shoal_status bound_plan(struct bound *b, double lambda, struct market_bound *out)
{
    static const double above[] = {1.002, 1.01, 1.05, 1.3, 3, 100, 1e5};
    struct legs rich = {NULL, 0}, poor = {NULL, 0};
    bool found = false;

    out->plan_usd = INFINITY;
    shoal_status st = legs_at(b, lambda * 0.998, &poor);
    for (size_t i = 0; i < sizeof above / sizeof above[0] && st == SHOAL_OK && !found; i++) {
        st = legs_at(b, lambda * above[i], &rich);
        if (st == SHOAL_OK)
            st = try_both(b, rich, poor, &found, out);
    }
    base_free(b->alloc, rich.legs);
    base_free(b->alloc, poor.legs);
    return st;
}
