/* buy_fields.c - what buying came to, as records: the market, its strategies and jobs, and where each job was (see
 * buy.h). A metric is a row here and the line that computes it.
 *
 * The result keeps the outcomes of the runs, from which stays are made one at a time. Of offers it keeps the names
 * of those that were used. */
#include "market/buy.h"

#include "base/assert.h"
#include "page/field.h"
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

#define ROW struct stay
static const shoal_field stay_fields[] = {
    COLUMN(job, "JOB", NONE, 0, 1, "whose stay it is", SPARSE),
    DATA(n, NONE, 0, "its number, from 0"),
    FIELD_NAMED(from_s, "from", "FROM", DATE, 0, 1, "when it began"),
    DATA_NAMED(to_s, "to", DATE, 0, "when it ended"),
    DATA_NAMED(at.cloud, "cloud", NONE, 0, "the offer's"),
    DATA_NAMED(at.region, "region", NONE, 0, "the offer's"),
    DATA_NAMED(at.zone, "zone", NONE, 0, "the offer's"),
    DATA_NAMED(at.kind, "kind", NONE, 0, "of instance"),
    DATA_NAMED(at.market, "market", NONE, 0, "spot or on-demand"),
    COLUMN(at.text, "PLACE", NONE, 0, 1, "what tells the offer from others", CUT),
    COLUMN(took_s, "FOR", SECONDS, 0, 1, "how long"),
    COLUMN(usd_h, "USD/H", USD, 0, 1, "mean price of an hour, of all instances"),
    DATA(usd, USD, 0, "what it cost, with start-up"),
    DATA(egress_usd, USD, 0, "what it cost to bring the checkpoint there"),
    COLUMN(cost_usd, "COST", USD, 0, 1, "both together"),
    DATA(steps, NONE, 0, "steps made and kept"),
    DATA(end, NONE, 0, "what ended it: done, moved, interrupted, guard, budget, history"),
    COLUMN(until, "UNTIL", NONE, 0, 1, "what ended it, in words"),
};
#undef ROW
SCHEMA(stay, "stay", "Stays", "A job in one place");

/* ---- a job under one strategy ---- */

struct outcome {
    const char *job;
    struct market_outcome o;
    shoal_records stays;
};

#define ROW struct outcome
static const shoal_field outcome_fields[] = {
    FIELD(job, "JOB", NONE, 0, 1, "its name"),
    FIELD_NAMED(o.usd, "usd", "COST", USD, -1, 1, "all that it cost"),
    DATA_NAMED(o.egress_usd, "egress_usd", USD, -1, "of that, for egress"),
    FIELD_NAMED(o.finish_s, "finish", "FINISH", DATE, 0, 1,
                "when it was done; not known: it was not"),
    FIELD_NAMED(o.missed, "missed", "MISSED", NONE, 0, 1, "whether it missed its deadline"),
    DATA_NAMED(o.steps, "steps", NONE, 0, "steps it made"),
    DATA_NAMED(o.lost_steps, "lost_steps", NONE, -1, "steps that interruptions lost"),
    DATA_NAMED(o.spot_s, "spot_s", SECONDS, 0, "time it ran on spot instances"),
    DATA_NAMED(o.on_demand_s, "on_demand_s", SECONDS, 0, "time it ran on demand"),
    DATA_NAMED(o.starting_s, "starting_s", SECONDS, -1,
               "time between asking for an instance and its first step"),
    DATA_NAMED(o.idle_s, "idle_s", SECONDS, 0, "time it held nothing"),
    FIELD_NAMED(o.moves, "moves", "MOVES", COUNT, 0, 2, "stays on another offer than before"),
    FIELD_NAMED(o.interruptions, "interruptions", "INTERRUPTED", COUNT, 0, 3,
                "times the cloud took the instances back"),
    LIST(stays, "stays", NULL, 0, stay_schema, "where it was, with --moves", OPTIONAL),
};
#undef ROW
SCHEMA(outcome, "outcome", "Jobs", "A job under one strategy");

/* ---- a strategy ---- */

struct strategy {
    const char *label, *against, *finish, *done;
    struct market_sums sums;
    struct market_result r; /* but for its jobs */
    double times, over_bound, on_demand_share, idle_share, took_s;
    double interrupted, on_demand, late; /* NAN: not shown */
    uint64_t finished;
    shoal_records jobs;
};

enum { COST_FIELD = 1 };

#define ROW struct strategy
static const shoal_field strategy_fields[] = {
    FIELD_NAMED(label, "strategy", "STRATEGY", NONE, 0, 1, "the strategy with its knobs"),
    [COST_FIELD] = FIELD_NAMED(sums.usd, "usd", "COST", USD, -1, 1, "what all jobs cost"),
    DATA_NAMED(times, "times_less_than_static", TIMES, 1,
               "the cost of staying where it was cheapest at the start, over this"),
    COLUMN(against, "AGAINST STATIC", NONE, 0, 1, "the same in words", SPARSE),
    DATA(over_bound, SHARE, -1, "how far the cost is above the bound"),
    DATA_NAMED(sums.finish_s, "finish", DATE, 0,
               "when the last job was done; not known: one was not"),
    COLUMN(finish, "FINISH", NONE, 0, 1, "the same in words"),
    DATA(finished, COUNT, 1, "jobs that were done"),
    COLUMN(done, "DONE", NONE, 0, 1, "jobs that were done, of all", SPARSE),
    FIELD_NAMED(r.moves, "moves", "MOVES", COUNT, 0, 2,
                "stays that begin on another offer than the one before"),
    DATA_NAMED(r.interruptions, "interruptions", COUNT, 0,
               "times the cloud took the instances back"),
    COLUMN(interrupted, "INTERRUPTED", COUNT, 0, 3, "the same, where there can be any", SPARSE),
    DATA(on_demand_share, SHARE, 0, "share of running time on demand"),
    COLUMN(on_demand, "ON DEMAND", SHARE, 0, 4, "the same, where anything is on demand", SPARSE),
    COLUMN(idle_share, "IDLE", SHARE, 0, 1, "share of the time in which nothing was held", PAGED),
    FIELD_NAMED(sums.egress_usd, "egress_usd", "EGRESS", USD, -1, 1, "of the cost, for egress",
                PAGED),
    DATA_NAMED(r.missed, "missed", COUNT, -1, "deadlines that were missed"),
    COLUMN(late, "MISSED", COUNT, -1, 1, "the same, where a job has one", SPARSE),
    DATA_NAMED(sums.starting_s, "starting_s", SECONDS, -1,
               "time between asking for instances and their first step"),
    DATA_NAMED(sums.idle_s, "idle_s", SECONDS, 0, "time in which jobs held nothing"),
    DATA_NAMED(sums.lost_share, "lost_share", SHARE, -1,
               "share of steps that had to be made again"),
    DATA_NAMED(r.decisions, "decisions", COUNT, 0, "looks at the market"),
    DATA(took_s, SECONDS, 0, "time the replay took"),
    LIST(jobs, "jobs", NULL, 0, outcome_schema, "what came of each job"),
};
#undef ROW
SCHEMA(strategy, "strategy", "Strategies", "One strategy");

/* ---- a job ---- */

struct job {
    const char *name;
    struct market_job j; /* but for its name and speeds */
    double bound_usd, plan_usd;
    struct market_outcome lead; /* what the first strategy made of it */
    const char *finish;
};

#define ROW struct job
static const shoal_field job_fields[] = {
    FIELD_NAMED(name, "job", "JOB", NONE, 0, 1, "its name"),
    COLUMN(lead.usd, "COST", USD, 0, 1, "what it cost under the first strategy"),
    COLUMN(finish, "FINISH", NONE, 0, 1, "when it was done there"),
    DATA_NAMED(j.work, "work", NONE, 0, "steps to make"),
    DATA_NAMED(j.start_s, "start", DATE, 0, "when it begins"),
    FIELD_NAMED(j.deadline_s, "deadline", "DEADLINE", DATE, 0, 1,
                "when it is due; not known: never", SPARSE),
    COLUMN(lead.missed, "MISSED", NONE, 0, 1, "whether it was late there"),
    FIELD_NAMED(j.budget_usd, "budget_usd", "BUDGET", USD, 0, 1,
                "what may be spent; not known: anything", SPARSE),
    DATA_NAMED(j.instances, "instances", COUNT, 0, "used at once"),
    DATA_NAMED(j.checkpoint_gb, "checkpoint_gb", NONE, 0, "what has to move with it"),
    FIELD(bound_usd, "BOUND", USD, 0, 1, "no plan can cost less", SPARSE),
    DATA_NAMED(plan_usd, "hindsight_usd", USD, 0,
               "cost of a plan that knows all prices beforehand"),
    COLUMN(lead.moves, "MOVES", COUNT, 0, 1, "moves under the first strategy"),
    COLUMN(lead.interruptions, "INTERRUPTED", COUNT, 0, 1, "interruptions there"),
};
#undef ROW
SCHEMA(job, "job", "Jobs", "One job");

/* ---- the market ---- */

#define ROW struct market_odd
static const shoal_field odd_fields[] = {
    DATA(zero, COUNT, 0, "prices of zero: not offered"),
    DATA(same_instant, COUNT, 0, "two prices for one instant: the last holds"),
    DATA(repeated, COUNT, 0, "the same price for the same instant again"),
    DATA(backwards, COUNT, 0, "times that go backwards: sorted"),
    DATA(currencies, COUNT, 0, "prices converted to US dollars"),
    DATA(products, COUNT, 0, "prices of Windows and the like, left out"),
    DATA(bare, COUNT, 0, "offers of accelerators without their host"),
    DATA(retired, COUNT, 0, "spot offers of kinds that fell silent"),
    DATA(skipped, COUNT, 0, "files in folders that are no prices"),
};
#undef ROW
SCHEMA(odd, "odd", NULL, "What was settled by a rule");

struct answer {
    double from_s, to_s, bound_usd, plan_usd, step_s;
    uint64_t offers, zones, regions, seed;
    const char *unit, *format, *input_hash, *read, *available, *moving, *egress;
    const struct market_odd *odd;
    shoal_records strategies, moves, fleet, jobs;
};

enum { STRATEGIES_FIELD, FLEET_FIELD, MOVES_FIELD };

#define ROW struct answer
static const shoal_field answer_fields[] = {
    [STRATEGIES_FIELD] =
        LIST(strategies, "strategies", NULL, 1, strategy_schema, "what each strategy came to"),
    [FLEET_FIELD] = LIST(fleet, NULL, "The jobs", 1, job_schema, "where there are several", PAGED),
    [MOVES_FIELD] = LIST(moves, NULL, "Where the first strategy was", 1, stay_schema, "its stays"),
    DATA_NAMED(from_s, "from", DATE, 0, "start of the first job"),
    DATA_NAMED(to_s, "to", DATE, 0, "when the last strategy gives up its last instance"),
    DATA(offers, COUNT, 0, "offers that may be used"),
    DATA(zones, COUNT, 0, "their zones"),
    DATA(regions, COUNT, 0, "their regions"),
    DATA(unit, NONE, 0, "the kind that times of work mean"),
    DATA(bound_usd, USD, 0, "no plan can cost less, all jobs together"),
    DATA_NAMED(plan_usd, "hindsight_usd", USD, 0, "cost of plans that know all prices beforehand"),
    RECORD(odd, "odd", odd_schema, "what reading settled by a rule"),
    COLUMN(read, "Prices", NONE, 0, 0, "what was read"),
    DATA(format, NONE, 0, "format of the prices"),
    FIELD(input_hash, "Input hash", NONE, 0, 0, "of all bytes of the prices"),
    COLUMN(step_s, "A look at the market every", SECONDS, 0, 0, "--step"),
    COLUMN(available, "Availability", NONE, 0, 0, "--availability, --interruptions"),
    COLUMN(moving, "Moving", NONE, 0, 0, "--startup, --checkpoint-time, --checkpoint-every"),
    COLUMN(egress, "Egress", NONE, 0, 0, "--egress"),
    FIELD(seed, "Seed", NONE, 0, 0, "of what is drawn"),
    LIST(jobs, "jobs", NULL, 0, job_schema, "the jobs"),
};
#undef ROW
SCHEMA(answer, "market", NULL, "Buying for work that can move");

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
    return isnan(finish_s) ? "not done" : page_made_value(w->made, SHOAL_UNIT_DATE, finish_s);
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
        .r = *r,
        .times = w->runs[run].times,
        .over_bound = done ? sums.usd / w->bound_usd - 1 : (double)NAN,
        .on_demand_share = sums.run_s > 0 ? sums.on_demand_s / sums.run_s : 0,
        .idle_share = all_s > 0 ? sums.idle_s / all_s : 0,
        .took_s = w->took_s[run],
        .finished = sums.finished,
        .jobs = page_records(jobs, w->job_count),
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
    *row = (struct job){
        .name = name,
        .j = w->jobs[index],
        .bound_usd = w->bounds != NULL ? w->bounds[index].usd : (double)NAN,
        .plan_usd = w->bounds != NULL ? w->bounds[index].plan_usd : (double)NAN,
        .lead = w->runs[0].result.jobs[index],
    };
    row->finish = finish_text(w, row->lead.finish_s);
}

/* What it takes to repeat the run, and to believe it. */
static void fill_settings(const struct market_buy *w, struct answer *a)
{
    const struct market_costs *c = &w->costs;
    char part[3][32];

    a->step_s = w->v->step_s;
    a->seed = w->v->seed;
    a->format = w->prices->format;
    a->input_hash = page_made_text(w->made, "%016" PRIx64, w->prices->input_hash);
    a->read =
        page_made_text(w->made, "%s changes of %zu offers, %s",
                       page_made_value(w->made, SHOAL_UNIT_COUNT, (double)w->prices->point_count),
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
    a->strategies = page_records(strategies, w->run_count);
    a->jobs = page_records(jobs, w->job_count);
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
    made->result.records = page_records(answer, 1);
    for (size_t i = 0; i < w->run_count; i++)
        kept->results[kept->count++] = w->runs[i].result;
    w->kept = true;
    page_made_own(made, free_kept, kept);
}
