/* buy_fields.c - what buying came to, as records: the market, its strategies and jobs, and where each job was (see
 * buy.h). A metric is a row here and the line that computes it.
 *
 * The result keeps the outcomes of the runs, from which stays are made one at a time. Of offers it keeps the names
 * of those that were used. */
#include "market/buy.h"

#include "base/assert.h"
#include "base/date.h"
#include "base/text.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MOVES_MAX = 1000 }; /* of a job, on a terminal */

/* ---- where a job was ---- */

struct place {
    const char *cloud, *region, *zone, *kind, *market, *text;
};

struct stay {
    const char *job; /* NULL: the only one */
    uint64_t n;
    double from_s, to_s, took_s, usd_h, cost_usd, usd, egress_usd, steps;
    struct place at;
    const char *end, *until;
};

#define AT(member) offsetof(struct stay, member)
static const shoal_field stay_fields[] = {
    {AT(job), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "JOB", .help = "whose stay it is",
     .flags = SHOAL_FIELD_SPARSE},
    {AT(n), SHOAL_FIELD_U64, SHOAL_UNIT_NONE, 0, 0, "n", NULL, .help = "its number, from 0"},
    {AT(from_s), SHOAL_FIELD_F64, SHOAL_UNIT_DATE, 0, 1, "from", "FROM", .help = "when it began"},
    {AT(to_s), SHOAL_FIELD_F64, SHOAL_UNIT_DATE, 0, 0, "to", NULL, .help = "when it ended"},
    {AT(at.cloud), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "cloud", NULL, .help = "the offer's"},
    {AT(at.region), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "region", NULL, .help = "the offer's"},
    {AT(at.zone), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "zone", NULL, .help = "the offer's"},
    {AT(at.kind), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "kind", NULL, .help = "of instance"},
    {AT(at.market), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "market", NULL,
     .help = "spot or on-demand"},
    {AT(at.text), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "PLACE",
     .help = "what tells the offer from others", .flags = SHOAL_FIELD_CUT},
    {AT(took_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 1, NULL, "FOR", .help = "how long"},
    {AT(usd_h), SHOAL_FIELD_F64, SHOAL_UNIT_USD, 0, 1, NULL, "USD/H",
     .help = "mean price of an hour, of all instances"},
    {AT(usd), SHOAL_FIELD_F64, SHOAL_UNIT_USD, 0, 0, "usd", NULL,
     .help = "what it cost, with start-up"},
    {AT(egress_usd), SHOAL_FIELD_F64, SHOAL_UNIT_USD, 0, 0, "egress_usd", NULL,
     .help = "what it cost to bring the checkpoint there"},
    {AT(cost_usd), SHOAL_FIELD_F64, SHOAL_UNIT_USD, 0, 1, NULL, "COST", .help = "both together"},
    {AT(steps), SHOAL_FIELD_F64, SHOAL_UNIT_NONE, 0, 0, "steps", NULL,
     .help = "steps made and kept"},
    {AT(end), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "end", NULL,
     .help = "what ended it: done, moved, interrupted, guard, budget, history"},
    {AT(until), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "UNTIL",
     .help = "what ended it, in words"},
};
#undef AT
static const shoal_schema stay_schema = {"stay", "Stays", "A job in one place", stay_fields,
                                         BASE_COUNT(stay_fields)};

/* ---- a job under one strategy ---- */

struct outcome {
    const char *job;
    struct market_outcome o;
    shoal_records stays;
};

#define AT(member) offsetof(struct outcome, member)
#define O(member)  offsetof(struct outcome, o.member)
static const shoal_field outcome_fields[] = {
    {AT(job), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "job", "JOB", .help = "its name"},
    {O(usd), SHOAL_FIELD_F64, SHOAL_UNIT_USD, -1, 1, "usd", "COST", .help = "all that it cost"},
    {O(egress_usd), SHOAL_FIELD_F64, SHOAL_UNIT_USD, -1, 0, "egress_usd", NULL,
     .help = "of that, for egress"},
    {O(finish_s), SHOAL_FIELD_F64, SHOAL_UNIT_DATE, 0, 1, "finish", "FINISH",
     .help = "when it was done; not known: it was not"},
    {O(missed), SHOAL_FIELD_BOOL, SHOAL_UNIT_NONE, 0, 1, "missed", "MISSED",
     .help = "whether it missed its deadline"},
    {O(steps), SHOAL_FIELD_F64, SHOAL_UNIT_NONE, 0, 0, "steps", NULL, .help = "steps it made"},
    {O(lost_steps), SHOAL_FIELD_F64, SHOAL_UNIT_NONE, -1, 0, "lost_steps", NULL,
     .help = "steps that interruptions lost"},
    {O(spot_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "spot_s", NULL,
     .help = "time it ran on spot instances"},
    {O(on_demand_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "on_demand_s", NULL,
     .help = "time it ran on demand"},
    {O(starting_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 0, "starting_s", NULL,
     .help = "time between asking for an instance and its first step"},
    {O(idle_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "idle_s", NULL,
     .help = "time it held nothing"},
    {O(moves), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 2, "moves", "MOVES",
     .help = "stays on another offer than before"},
    {O(interruptions), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 3, "interruptions", "INTERRUPTED",
     .help = "times the cloud took the instances back"},
    {AT(stays), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 0, "stays", NULL,
     .help = "where it was, with --moves", .flags = SHOAL_FIELD_OPTIONAL, .of = &stay_schema},
};
#undef O
#undef AT
static const shoal_schema outcome_schema = {"outcome", "Jobs", "A job under one strategy",
                                            outcome_fields, BASE_COUNT(outcome_fields)};

/* ---- a strategy ---- */

struct strategy {
    const char *label, *against, *finish, *done;
    struct market_sums sums;
    double times, over_bound, on_demand_share, idle_share, took_s;
    double interrupted, on_demand, late; /* NAN: not shown */
    uint64_t finished, decisions;
    uint32_t missed, moves, interruptions;
    shoal_records jobs;
};

enum { COST_FIELD = 1 };

#define AT(member) offsetof(struct strategy, member)
static const shoal_field strategy_fields[] = {
    {AT(label), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "strategy", "STRATEGY",
     .help = "the strategy with its knobs"},
    [COST_FIELD] = {AT(sums.usd), SHOAL_FIELD_F64, SHOAL_UNIT_USD, -1, 1, "usd", "COST",
                    .help = "what all jobs cost"},
    {AT(times), SHOAL_FIELD_F64, SHOAL_UNIT_TIMES, 1, 0, "times_less_than_static", NULL,
     .help = "the cost of staying where it was cheapest at the start, over this"},
    {AT(against), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "AGAINST STATIC",
     .help = "the same in words", .flags = SHOAL_FIELD_SPARSE},
    {AT(over_bound), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, -1, 0, "over_bound", NULL,
     .help = "how far the cost is above the bound"},
    {AT(sums.finish_s), SHOAL_FIELD_F64, SHOAL_UNIT_DATE, 0, 0, "finish", NULL,
     .help = "when the last job was done; not known: one was not"},
    {AT(finish), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "FINISH",
     .help = "the same in words"},
    {AT(finished), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 1, 0, "finished", NULL,
     .help = "jobs that were done"},
    {AT(done), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "DONE",
     .help = "jobs that were done, of all", .flags = SHOAL_FIELD_SPARSE},
    {AT(moves), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 2, "moves", "MOVES",
     .help = "stays that begin on another offer than the one before"},
    {AT(interruptions), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 0, "interruptions", NULL,
     .help = "times the cloud took the instances back"},
    {AT(interrupted), SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 3, NULL, "INTERRUPTED",
     .help = "the same, where there can be any", .flags = SHOAL_FIELD_SPARSE},
    {AT(on_demand_share), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, 0, 0, "on_demand_share", NULL,
     .help = "share of running time on demand"},
    {AT(on_demand), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, 0, 4, NULL, "ON DEMAND",
     .help = "the same, where anything is on demand", .flags = SHOAL_FIELD_SPARSE},
    {AT(idle_share), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, 0, 1, NULL, "IDLE",
     .help = "share of the time in which nothing was held", .flags = SHOAL_FIELD_PAGE},
    {AT(sums.egress_usd), SHOAL_FIELD_F64, SHOAL_UNIT_USD, -1, 1, "egress_usd", "EGRESS",
     .help = "of the cost, for egress", .flags = SHOAL_FIELD_PAGE},
    {AT(missed), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, -1, 0, "missed", NULL,
     .help = "deadlines that were missed"},
    {AT(late), SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, -1, 1, NULL, "MISSED",
     .help = "the same, where a job has one", .flags = SHOAL_FIELD_SPARSE},
    {AT(sums.starting_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 0, "starting_s", NULL,
     .help = "time between asking for instances and their first step"},
    {AT(sums.idle_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "idle_s", NULL,
     .help = "time in which jobs held nothing"},
    {AT(sums.lost_share), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, -1, 0, "lost_share", NULL,
     .help = "share of steps that had to be made again"},
    {AT(decisions), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "decisions", NULL,
     .help = "looks at the market"},
    {AT(took_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "took_s", NULL,
     .help = "time the replay took"},
    {AT(jobs), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 0, "jobs", NULL,
     .help = "what came of each job", .of = &outcome_schema},
};
#undef AT
static const shoal_schema strategy_schema = {"strategy", "Strategies", "One strategy",
                                             strategy_fields, BASE_COUNT(strategy_fields)};

/* ---- a job ---- */

struct job {
    const char *name;
    double work, start_s, deadline_s, budget_usd, checkpoint_gb, bound_usd, plan_usd;
    uint32_t instances;
    struct market_outcome lead; /* what the first strategy made of it */
    const char *finish;
};

#define AT(member) offsetof(struct job, member)
static const shoal_field job_fields[] = {
    {AT(name), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "job", "JOB", .help = "its name"},
    {AT(lead.usd), SHOAL_FIELD_F64, SHOAL_UNIT_USD, 0, 1, NULL, "COST",
     .help = "what it cost under the first strategy"},
    {AT(finish), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "FINISH",
     .help = "when it was done there"},
    {AT(work), SHOAL_FIELD_F64, SHOAL_UNIT_NONE, 0, 0, "work", NULL, .help = "steps to make"},
    {AT(start_s), SHOAL_FIELD_F64, SHOAL_UNIT_DATE, 0, 0, "start", NULL, .help = "when it begins"},
    {AT(deadline_s), SHOAL_FIELD_F64, SHOAL_UNIT_DATE, 0, 1, "deadline", "DEADLINE",
     .help = "when it is due; not known: never", .flags = SHOAL_FIELD_SPARSE},
    {AT(lead.missed), SHOAL_FIELD_BOOL, SHOAL_UNIT_NONE, 0, 1, NULL, "MISSED",
     .help = "whether it was late there"},
    {AT(budget_usd), SHOAL_FIELD_F64, SHOAL_UNIT_USD, 0, 1, "budget_usd", "BUDGET",
     .help = "what may be spent; not known: anything", .flags = SHOAL_FIELD_SPARSE},
    {AT(instances), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 0, "instances", NULL,
     .help = "used at once"},
    {AT(checkpoint_gb), SHOAL_FIELD_F64, SHOAL_UNIT_NONE, 0, 0, "checkpoint_gb", NULL,
     .help = "what has to move with it"},
    {AT(bound_usd), SHOAL_FIELD_F64, SHOAL_UNIT_USD, 0, 1, "bound_usd", "BOUND",
     .help = "no plan can cost less", .flags = SHOAL_FIELD_SPARSE},
    {AT(plan_usd), SHOAL_FIELD_F64, SHOAL_UNIT_USD, 0, 0, "hindsight_usd", NULL,
     .help = "cost of a plan that knows all prices beforehand"},
    {AT(lead.moves), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 1, NULL, "MOVES",
     .help = "moves under the first strategy"},
    {AT(lead.interruptions), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 1, NULL, "INTERRUPTED",
     .help = "interruptions there"},
};
#undef AT
static const shoal_schema job_schema = {"job", "Jobs", "One job", job_fields,
                                        BASE_COUNT(job_fields)};

/* ---- the market ---- */

#define AT(member) offsetof(struct market_odd, member)
static const shoal_field odd_fields[] = {
    {AT(zero), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "zero", NULL,
     .help = "prices of zero: not offered"},
    {AT(same_instant), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "same_instant", NULL,
     .help = "two prices for one instant: the last holds"},
    {AT(repeated), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "repeated", NULL,
     .help = "the same price for the same instant again"},
    {AT(backwards), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "backwards", NULL,
     .help = "times that go backwards: sorted"},
    {AT(currencies), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "currencies", NULL,
     .help = "prices converted to US dollars"},
    {AT(products), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "products", NULL,
     .help = "prices of Windows and the like, left out"},
    {AT(bare), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "bare", NULL,
     .help = "offers of accelerators without their host"},
    {AT(retired), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "retired", NULL,
     .help = "spot offers of kinds that fell silent"},
    {AT(skipped), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "skipped", NULL,
     .help = "files in folders that are no prices"},
};
#undef AT
static const shoal_schema odd_schema = {"odd", NULL, "What was settled by a rule", odd_fields,
                                        BASE_COUNT(odd_fields)};

struct answer {
    double from_s, to_s, bound_usd, plan_usd, step_s;
    uint64_t offers, zones, regions, seed;
    const char *unit, *format, *input_hash, *read, *available, *moving, *egress;
    const struct market_odd *odd;
    shoal_records strategies, moves, fleet, jobs;
};

enum { STRATEGIES_FIELD, FLEET_FIELD, MOVES_FIELD };

#define AT(member) offsetof(struct answer, member)
static const shoal_field answer_fields[] = {
    [STRATEGIES_FIELD] = {AT(strategies), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, "strategies",
                          NULL, .help = "what each strategy came to", .of = &strategy_schema},
    [FLEET_FIELD] = {AT(fleet), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, NULL, "The jobs",
                     .help = "where there are several", .flags = SHOAL_FIELD_PAGE,
                     .of = &job_schema},
    [MOVES_FIELD] = {AT(moves), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, NULL,
                     "Where the first strategy was", .help = "its stays", .of = &stay_schema},
    {AT(from_s), SHOAL_FIELD_F64, SHOAL_UNIT_DATE, 0, 0, "from", NULL,
     .help = "start of the first job"},
    {AT(to_s), SHOAL_FIELD_F64, SHOAL_UNIT_DATE, 0, 0, "to", NULL,
     .help = "end of the last stay of any strategy"},
    {AT(offers), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "offers", NULL,
     .help = "offers that may be used"},
    {AT(zones), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "zones", NULL, .help = "their zones"},
    {AT(regions), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "regions", NULL,
     .help = "their regions"},
    {AT(unit), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "unit", NULL,
     .help = "the kind that times of work mean"},
    {AT(bound_usd), SHOAL_FIELD_F64, SHOAL_UNIT_USD, 0, 0, "bound_usd", NULL,
     .help = "no plan can cost less, all jobs together"},
    {AT(plan_usd), SHOAL_FIELD_F64, SHOAL_UNIT_USD, 0, 0, "hindsight_usd", NULL,
     .help = "cost of plans that know all prices beforehand"},
    {AT(odd), SHOAL_FIELD_RECORD, SHOAL_UNIT_NONE, 0, 0, "odd", NULL,
     .help = "what reading settled by a rule", .of = &odd_schema},
    {AT(read), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, NULL, "Prices", .help = "what was read"},
    {AT(format), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "format", NULL,
     .help = "format of the prices"},
    {AT(input_hash), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "input_hash", "Input hash",
     .help = "of all bytes of the prices"},
    {AT(step_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, NULL, "A look at the market every",
     .help = "--step"},
    {AT(available), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, NULL, "Availability",
     .help = "--availability, --interruptions"},
    {AT(moving), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, NULL, "Moving",
     .help = "--startup, --checkpoint-time, --checkpoint-every"},
    {AT(egress), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, NULL, "Egress", .help = "--egress"},
    {AT(seed), SHOAL_FIELD_U64, SHOAL_UNIT_NONE, 0, 0, "seed", "Seed", .help = "of what is drawn"},
    {AT(jobs), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 0, "jobs", NULL, .help = "the jobs",
     .of = &job_schema},
};
#undef AT
static const shoal_schema answer_schema = {"market", NULL, "Buying for work that can move",
                                           answer_fields, BASE_COUNT(answer_fields)};

const shoal_schema *shoal_market_schema(void)
{
    return &answer_schema;
}

/* ---- filling them ---- */

/* What lives as long as the result. */
struct kept {
    struct market_result results[MARKET_BUY_RUNS_MAX];
    size_t count;
};

static void free_kept(void *owned)
{
    struct kept *kept = owned;

    for (size_t i = 0; i < kept->count; i++)
        market_result_fini(&kept->results[i]);
}

/* What stays are made from. */
struct stays {
    const struct place *const *places; /* by offer, of those that were used */
    const char *const *names;          /* of jobs */
    const struct market_outcome *outcomes;
    size_t job, job_count;
    const uint32_t *which; /* of each stay of a list of all jobs: job, index */
};

/* Why a stay of a job ended, for people. */
static const char *end_text(const struct market_outcome *outcome, size_t stay)
{
    const struct market_stay *s = &outcome->stays[stay];
    bool last = stay + 1 == outcome->stay_count;

    switch ((enum market_end)s->end) {
    case MARKET_END_DONE: return "done";
    case MARKET_END_MOVED:
        return last || s[1].from_s > s->to_s + 60 ? "waits for less" : "cheaper elsewhere";
    case MARKET_END_INTERRUPTED: return "interrupted";
    case MARKET_END_GUARD: return "goes on demand in time";
    case MARKET_END_BUDGET: return "budget spent";
    case MARKET_END_HISTORY: return "prices end";
    case MARKET_END_COUNT: break;
    }
    return "";
}

static void fill_stay(const struct stays *s, size_t job, size_t index, struct stay *out)
{
    const struct market_outcome *o = &s->outcomes[job];
    const struct market_stay *stay = &o->stays[index];
    double hours = (stay->to_s - stay->from_s) / 3600;

    *out = (struct stay){
        .job = s->job_count > 1 ? s->names[job] : NULL,
        .n = index,
        .from_s = stay->from_s,
        .to_s = stay->to_s,
        .took_s = stay->to_s - stay->from_s,
        .usd_h = hours > 0 ? stay->usd / hours : (double)NAN,
        .cost_usd = stay->usd + stay->egress_usd,
        .usd = stay->usd,
        .egress_usd = stay->egress_usd,
        .steps = stay->steps,
        .at = *s->places[stay->offer],
        .end = market_end_names[stay->end],
        .until = end_text(o, index),
    };
}

static void fill_one_of_job(const void *ctx, size_t index, void *record)
{
    const struct stays *s = ctx;

    fill_stay(s, s->job, index, record);
}

static void fill_one_of_all(const void *ctx, size_t index, void *record)
{
    const struct stays *s = ctx;

    fill_stay(s, s->which[2 * index], s->which[2 * index + 1], record);
}

static const struct place *make_place(const struct market_buy *w, uint32_t offer)
{
    const struct market_prices *p = w->prices;
    const struct market_offer *of = &p->offers[offer];
    struct place *place = page_made_alloc(w->made, 1, sizeof *place);

    if (place != NULL)
        *place = (struct place){
            .cloud = page_made_text(w->made, "%s", market_names_get(&p->clouds, of->cloud)),
            .region = page_made_text(w->made, "%s", market_names_get(&p->regions, of->region)),
            .zone = page_made_text(w->made, "%s", market_names_get(&p->zones, of->zone)),
            .kind = page_made_text(w->made, "%s", market_names_get(&p->kinds, of->kind)),
            .market = market_how_names[of->how],
            .text = market_buy_place(w, offer),
        };
    return place;
}

/* By offer, those that some job was on; NULL when memory is short. */
static const struct place *const *make_places(const struct market_buy *w)
{
    const struct place **places =
        page_made_alloc(w->made, w->prices->offer_count, sizeof(const struct place *));

    for (size_t i = 0; places != NULL && i < w->run_count; i++)
        for (size_t j = 0; j < w->job_count; j++) {
            const struct market_outcome *o = &w->runs[i].result.jobs[j];
            for (size_t k = 0; k < o->stay_count; k++)
                if (places[o->stays[k].offer] == NULL)
                    places[o->stays[k].offer] = make_place(w, o->stays[k].offer);
        }
    return places;
}

static shoal_records stays_of(const struct market_buy *w, const struct stays *all, size_t job)
{
    struct stays *one = page_made_alloc(w->made, 1, sizeof *one);

    if (one == NULL)
        return (shoal_records){0};
    *one = *all;
    one->job = job;
    return (shoal_records){.fill = fill_one_of_job,
                           .ctx = one,
                           .stride = sizeof(struct stay),
                           .count = all->outcomes[job].stay_count};
}

/* Of all jobs under the first strategy, one after the other. */
static shoal_records stays_of_lead(const struct market_buy *w, const struct stays *all)
{
    struct stays *lead = page_made_alloc(w->made, 1, sizeof *lead);
    size_t count = 0, at = 0, shown = w->v->moves ? MOVES_MAX * w->job_count : 0;

    for (size_t j = 0; j < w->job_count; j++)
        count += all->outcomes[j].stay_count;
    uint32_t *which = page_made_alloc(w->made, count, 2 * sizeof *which);
    if (lead == NULL || which == NULL)
        return (shoal_records){0};
    for (uint32_t j = 0; j < w->job_count; j++)
        for (uint32_t i = 0; i < all->outcomes[j].stay_count; i++) {
            which[at++] = j;
            which[at++] = i;
        }
    *lead = *all;
    lead->which = which;
    return (shoal_records){.fill = fill_one_of_all,
                           .ctx = lead,
                           .stride = sizeof(struct stay),
                           .count = count,
                           .hidden = count > shown ? count - shown : 0};
}

static const char *against_text(const struct market_buy *w, size_t run)
{
    double times = w->fixed == run ? (double)NAN : w->runs[run].times;

    if (w->fixed == SIZE_MAX || w->run_count == 1)
        return NULL;
    if (isnan(times))
        return "-";
    if (fabs(times - 1) < 0.005)
        return "the same";
    return page_made_text(w->made, "%.2fx %s", times > 1 ? times : 1 / times,
                          times > 1 ? "less" : "more");
}

static const char *finish_text(const struct market_buy *w, double finish_s)
{
    char text[32];

    if (isnan(finish_s))
        return "not done";
    return page_made_text(w->made, "%s",
                          base_date_format(finish_s, BASE_DATE_MINUTE, text, sizeof text));
}

/* What of the table is worth a column. */
static void fill_columns(const struct market_buy *w, const struct market_result *r,
                         struct strategy *row)
{
    size_t deadlines = 0, interruptions = 0;

    for (size_t i = 0; i < w->job_count; i++)
        deadlines += isfinite(w->jobs[i].deadline_s) ? 1 : 0;
    for (size_t i = 0; i < w->run_count; i++)
        interruptions += w->runs[i].result.interruptions;
    row->late = deadlines > 0 ? r->missed : (double)NAN;
    row->interrupted = w->avail != NULL || interruptions > 0 ? r->interruptions : (double)NAN;
    row->on_demand = w->spot_count < w->allowed_count ? row->on_demand_share : (double)NAN;
    if (w->job_count > 1)
        row->done = page_made_text(w->made, "%zu/%zu", row->sums.finished, w->job_count);
}

static void fill_strategy(const struct market_buy *w, size_t run, const struct stays *all,
                          struct strategy *row)
{
    const struct market_result *r = &w->runs[run].result;
    struct outcome *jobs = page_made_alloc(w->made, w->job_count, sizeof *jobs);
    struct market_sums sums = w->runs[run].sums;
    double all_s = sums.run_s + sums.starting_s + sums.idle_s;
    bool done = sums.finished == w->job_count;
    struct stays of = *all;

    *row = (struct strategy){
        .label = page_made_text(w->made, "%s", w->runs[run].label),
        .against = against_text(w, run),
        .finish = finish_text(w, sums.finish_s),
        .sums = sums,
        .times = w->runs[run].times,
        .over_bound = done ? sums.usd / w->bound_usd - 1 : (double)NAN,
        .on_demand_share = sums.run_s > 0 ? sums.on_demand_s / sums.run_s : 0,
        .idle_share = all_s > 0 ? sums.idle_s / all_s : 0,
        .took_s = w->took_s[run],
        .finished = sums.finished,
        .decisions = r->decisions,
        .missed = r->missed,
        .moves = r->moves,
        .interruptions = r->interruptions,
        .jobs = {.first = jobs, .stride = sizeof *jobs, .count = w->job_count},
    };
    fill_columns(w, r, row);
    of.outcomes = r->jobs;
    for (size_t i = 0; jobs != NULL && i < w->job_count; i++) {
        jobs[i].job = all->names[i];
        jobs[i].o = r->jobs[i];
        if (w->v->moves)
            jobs[i].stays = stays_of(w, &of, i);
    }
}

static void fill_job(const struct market_buy *w, size_t index, const char *name, struct job *row)
{
    const struct market_job *job = &w->jobs[index];

    *row = (struct job){
        .name = name,
        .work = job->work,
        .start_s = job->start_s,
        .deadline_s = job->deadline_s,
        .budget_usd = job->budget_usd,
        .checkpoint_gb = job->checkpoint_gb,
        .bound_usd = w->bounds != NULL ? w->bounds[index].usd : (double)NAN,
        .plan_usd = w->bounds != NULL ? w->bounds[index].plan_usd : (double)NAN,
        .instances = job->instances,
        .lead = w->runs[0].result.jobs[index],
    };
    row->finish = finish_text(w, row->lead.finish_s);
}

/* What it takes to repeat the run, and to believe it. */
static void fill_settings(const struct market_buy *w, struct answer *a)
{
    const struct market_costs *c = &w->costs;
    char count[32], part[3][32];

    a->step_s = w->v->step_s;
    a->seed = w->v->seed;
    a->format = w->prices->format;
    a->input_hash = page_made_text(w->made, "%016" PRIx64, w->prices->input_hash);
    a->read = page_made_text(w->made, "%s changes of %zu offers, %s",
                             base_format_count(w->prices->point_count, count, sizeof count),
                             w->prices->offer_count, w->prices->format);
    a->available = w->avail != NULL ? "as said" : "all the time";
    a->moving = page_made_text(w->made, "%s to start, %s to write a checkpoint every %s",
                               market_buy_duration(c->startup_s, part[0], sizeof part[0]),
                               market_buy_duration(c->checkpoint_s, part[1], sizeof part[1]),
                               market_buy_duration(c->checkpoint_every_s, part[2], sizeof part[2]));
    a->egress = page_made_text(w->made, "%.3g, %.3g and %.3g $/GB to a zone, region, cloud",
                               c->zone_usd_gb, c->region_usd_gb, c->cloud_usd_gb);
}

static void fill_answer(const struct market_buy *w, const struct stays *all,
                        struct strategy *strategies, struct job *jobs, struct answer *a)
{
    struct market_odd *odd = page_made_alloc(w->made, 1, sizeof *odd);

    if (odd != NULL)
        *odd = w->prices->odd;
    a->odd = odd;
    a->from_s = w->from_s;
    a->to_s = w->to_s;
    a->bound_usd = w->bound_usd;
    a->plan_usd = w->plan_usd;
    a->offers = w->allowed_count;
    a->zones = w->zone_count;
    a->regions = w->region_count;
    a->unit = page_made_text(w->made, "%s", market_names_get(&w->prices->kinds, w->unit));
    fill_settings(w, a);
    for (size_t i = 0; i < w->run_count; i++)
        fill_strategy(w, i, all, &strategies[i]);
    for (size_t i = 0; i < w->job_count; i++)
        fill_job(w, i, all->names[i], &jobs[i]);
    a->strategies =
        (shoal_records){.first = strategies, .stride = sizeof *strategies, .count = w->run_count};
    a->jobs = (shoal_records){.first = jobs, .stride = sizeof *jobs, .count = w->job_count};
    if (w->job_count > 1)
        a->fleet = a->jobs;
    if (all->places != NULL)
        a->moves = stays_of_lead(w, all);
}

/* A schema of this result's own; NULL when memory is short. */
static shoal_field *copy_fields(struct page_made *made, const shoal_schema *from,
                                shoal_schema *copy)
{
    shoal_field *fields = page_made_alloc(made, from->field_count, sizeof *fields);

    *copy = *from;
    copy->fields = fields;
    if (fields != NULL)
        memcpy(fields, from->fields, from->field_count * sizeof *fields);
    return fields;
}

/* The list of stays is called by the strategy; and where one did not finish, the least cost is not the best. */
static void adapt_schema(struct market_buy *w)
{
    shoal_schema *schemas = page_made_alloc(w->made, 2, sizeof *schemas);
    bool done = true;

    if (schemas == NULL)
        return;
    shoal_field *fields = copy_fields(w->made, &answer_schema, &schemas[0]);
    shoal_field *of = copy_fields(w->made, &strategy_schema, &schemas[1]);
    if (fields == NULL || of == NULL)
        return;
    for (size_t i = 0; i < w->run_count; i++)
        done = done && w->runs[i].sums.finished == w->job_count;
    of[COST_FIELD].better = done ? -1 : 0;
    fields[STRATEGIES_FIELD].of = &schemas[1];
    fields[MOVES_FIELD].title = page_made_text(w->made, "Where %s was", w->runs[0].label);
    w->made->result.schema = &schemas[0];
}

void market_buy_fill(struct market_buy *w)
{
    struct page_made *made = w->made;
    struct answer *answer = page_made_alloc(made, 1, sizeof *answer);
    struct strategy *strategies = page_made_alloc(made, w->run_count, sizeof *strategies);
    struct job *jobs = page_made_alloc(made, w->job_count, sizeof *jobs);
    const char **names = page_made_alloc(made, w->job_count, sizeof *names);
    struct kept *kept = page_made_alloc(made, 1, sizeof *kept);

    made->result.schema = &answer_schema;
    if (answer == NULL || strategies == NULL || jobs == NULL || names == NULL || kept == NULL)
        return;
    for (size_t i = 0; i < w->job_count; i++)
        names[i] = page_made_text(made, "%s", w->jobs[i].name);
    struct stays all = {.places = w->v->moves || w->v->pictures ? make_places(w) : NULL,
                        .names = names,
                        .outcomes = w->runs[0].result.jobs,
                        .job_count = w->job_count};
    if (made->status == SHOAL_OK)
        fill_answer(w, &all, strategies, jobs, answer);
    adapt_schema(w);
    made->result.records = (shoal_records){.first = answer, .stride = sizeof *answer, .count = 1};
    for (size_t i = 0; i < w->run_count; i++)
        kept->results[kept->count++] = w->runs[i].result;
    w->kept = true;
    page_made_own(made, free_kept, kept);
}
