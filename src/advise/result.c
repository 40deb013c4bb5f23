/* result.c - the answer as records (see call.h): one, with a list of candidates and one of algorithms. A figure is a
 * row here and the line that computes it. */
#include "advise/call.h"

#include "base/assert.h"
#include "page/field.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS_MAX = 24, REMARKS_MAX = 96 };

/* ---- a candidate ---- */

struct candidate {
    const char *algorithm, *verdict, *remarks;
    struct advise_candidate c;
    double near_fastest, near_cheapest, in_time; /* NAN where that was not asked */
    /* For people, who see times or losses, and costs in one unit. */
    double time_s[3], loss[3], usd, machine_s;
};

#define ROW struct candidate
static const shoal_field candidate_fields[] = {
    FIELD(algorithm, "ALGORITHM", NONE, 0, 1, "its name", CUT),
    FIELD_NAMED(c.machines, "machines", "MACHINES", COUNT, 0, 1, "how many"),
    DATA(
        verdict, NONE, 0,
        "good, or why it is not advised: no-curve, diverged, one-count, too-far, never, unreached"),
    DATA_NAMED(c.p.measured, "measured", NONE, 0, "whether a run on so many machines got there"),
    COLUMN(time_s[0], "TIME", SECONDS, -1, 1, "predicted time to the loss, or measured", SPARSE),
    COLUMN(time_s[1], "5 %", SECONDS, 0, 2, "the time is shorter with a probability of 5 %",
           SPARSE),
    COLUMN(time_s[2], "95 %", SECONDS, 0, 2, "the time is shorter with a probability of 95 %",
           SPARSE),
    COLUMN(loss[0], "LOSS", VALUE, -1, 1, "predicted loss by the deadline", SPARSE),
    COLUMN(loss[1], "5 %", VALUE, 0, 2, "5th percentile of the predicted loss", SPARSE),
    COLUMN(loss[2], "95 %", VALUE, 0, 2, "95th percentile of the predicted loss", SPARSE),
    DATA_NAMED(c.seconds, "seconds", SECONDS, -1,
               "predicted time to the loss, or measured; the deadline where no loss was asked for"),
    DATA_NAMED(c.low_s, "low_s", SECONDS, -1, "it is less with a probability of 5 %"),
    DATA_NAMED(c.high_s, "high_s", SECONDS, -1, "it is less with a probability of 95 %"),
    DATA_NAMED(c.at_most_s, "at_most_s", SECONDS, -1,
               "the first measurement of its run, which was past the loss already", OPTIONAL),
    DATA_NAMED(c.p.steps, "iterations", COUNT, -1, "predicted iterations to the loss"),
    DATA_NAMED(c.p.step_s, "iteration_s", SECONDS, -1, "predicted time of an iteration"),
    COLUMN(usd, "COST", USD, -1, 1, "of all machines for that time", SPARSE),
    COLUMN(machine_s, "MACHINE TIME", SECONDS, -1, 1, "of all machines together", SPARSE),
    DATA_NAMED(c.cost, "cost", NONE, -1, "of that time, in cost_unit"),
    DATA_NAMED(c.low_cost, "low_cost", NONE, -1, "of low_s"),
    DATA_NAMED(c.high_cost, "high_cost", NONE, -1, "of high_s"),
    FIELD(near_fastest, "P(FASTEST)", SHARE, 1, 3, "probability of being within 5 % of the fastest",
          SPARSE),
    FIELD(near_cheapest, "P(CHEAPEST)", SHARE, 1, 3,
          "probability of being within 5 % of the cheapest", SPARSE),
    DATA(in_time, SHARE, 1, "probability of being there by the deadline"),
    DATA_NAMED(c.loss, "loss", VALUE, -1, "predicted by the deadline"),
    DATA_NAMED(c.low_loss, "low_loss", VALUE, -1, "it is lower with a probability of 5 %"),
    DATA_NAMED(c.high_loss, "high_loss", VALUE, -1, "it is lower with a probability of 95 %"),
    COLUMN(remarks, "REMARKS", NONE, 0, 1,
           "what it is best in; measured: a run on so many machines got there; at most: its run "
           "begins past the loss"),
};
#undef ROW
SCHEMA(candidate, "candidate", NULL, "An algorithm on some machines");

/* ---- changes on the way ---- */

struct leg {
    const char *algorithm;
    uint32_t machines;
    struct advise_leg leg;
    double usd, machine_s; /* for people */
};

#define ROW struct leg
static const shoal_field leg_fields[] = {
    FIELD(algorithm, "ALGORITHM", NONE, 0, 1, "its name"),
    FIELD(machines, "MACHINES", COUNT, 0, 1, "how many"),
    FIELD_NAMED(leg.from_loss, "from_loss", "FROM LOSS", VALUE, 0, 1, "where it begins"),
    FIELD_NAMED(leg.to_loss, "to_loss", "TO LOSS", VALUE, 0, 1, "where it ends"),
    FIELD_NAMED(leg.seconds, "seconds", "TIME", SECONDS, 0, 1, "predicted, with the change"),
    DATA_NAMED(leg.cost, "cost", NONE, 0, "in cost_unit"),
    COLUMN(usd, "COST", USD, 0, 1, "of all machines", SPARSE),
    COLUMN(machine_s, "MACHINE TIME", SECONDS, 0, 1, "of all machines together", SPARSE),
};
#undef ROW
SCHEMA(leg, "leg", NULL, "A part of the way");

struct path {
    shoal_records legs;
    struct advise_path p; /* but for its legs */
};

#define ROW struct path
static const shoal_field path_fields[] = {
    LIST(legs, "legs", NULL, 0, leg_schema, "in their order"),
    DATA_NAMED(p.seconds, "seconds", SECONDS, -1, "of all of it"),
    DATA_NAMED(p.low_s, "low_s", SECONDS, -1, "it is less with a probability of 5 %"),
    DATA_NAMED(p.high_s, "high_s", SECONDS, -1, "it is less with a probability of 95 %"),
    DATA_NAMED(p.cost, "cost", NONE, -1, "in cost_unit"),
    DATA_NAMED(p.gain, "gain", SHARE, 1, "of the time (or cost) without a change, what it saves"),
};
#undef ROW
SCHEMA(path, "path", NULL, "A way with changes");

/* ---- the run to make next ---- */

struct next {
    const char *algorithm;
    struct advise_next n;
};

#define ROW struct next
static const shoal_field next_fields[] = {
    DATA(algorithm, NONE, 0, "its name"),
    DATA_NAMED(n.machines, "machines", COUNT, 0, "how many"),
    DATA_NAMED(n.from, "from_iteration", COUNT, 0, "iterations that its run has; 0: there is none"),
    DATA_NAMED(n.to, "to_iteration", COUNT, 0, "iterations that it should have"),
    DATA_NAMED(n.seconds, "seconds", SECONDS, 0, "of the way from one to the other"),
    DATA_NAMED(n.cost, "machine_s", SECONDS, 0, "of all its machines together"),
    DATA_NAMED(n.chance, "chance", SHARE, 0, "probability that it is near the best"),
};
#undef ROW
SCHEMA(next, "next", NULL, "A run to make");

/* ---- what it rests on ---- */

struct algorithm {
    const char *name, *verdict, *form, *machines_text, *diverged_text;
    shoal_numbers machines, diverged, theta;
    double lowest, best, off_inside, off_outside, off_ahead;
};

#define ROW struct algorithm
static const shoal_field algorithm_fields[] = {
    FIELD_NAMED(name, "algorithm", "ALGORITHM", NONE, 0, 1, "its name"),
    DATA(verdict, NONE, 0, "good, or why it is not advised: no-curve, diverged, one-count"),
    FIELD(form, "FORM", NONE, 0, 1, "of its model of convergence: stretched or features"),
    DATA(machines, COUNT, 0, "counts it was measured on"),
    COLUMN(machines_text, "MEASURED ON", NONE, 0, 1, "machine counts"),
    DATA(diverged, COUNT, 0, "counts it diverged on"),
    COLUMN(diverged_text, "DIVERGED ON", NONE, 0, 1, "machine counts", SPARSE),
    FIELD(lowest, "LOWEST LOSS", VALUE, 0, 1, "measured"),
    FIELD(best, "BEST LOSS", VALUE, 0, 1, "estimate of the lowest that it can reach"),
    DATA(theta, NONE, 0,
         "an iteration on m machines over data of a size takes theta[0] + theta[1] size/m + "
         "theta[2] log m + theta[3] m seconds, the largest size measured being 1"),
    FIELD(off_inside, "OFF BETWEEN", SHARE, 0, 1,
          "how far off predicted iterations are between the counts measured, for each doubling of "
          "machines"),
    FIELD(off_outside, "OFF BEYOND", SHARE, 0, 1, "the same beyond them"),
    FIELD(off_ahead, "OFF AHEAD", SHARE, 0, 1,
          "how far off they are further on, for each doubling of iterations"),
};
#undef ROW
SCHEMA(algorithm, "algorithm", NULL, "An algorithm");

/* ---- the answer ---- */

enum evidence { ENOUGH, TOO_LITTLE, NOT_ASKED };
static const char *const evidence_names[] = {"enough", "too little", NULL};

struct row {
    double target, deadline_s, size, lowest, best;
    const char *cost_unit, *saved, *input_hash;
    uint64_t runs, copies, same_rows, seed;
    uint32_t fast_evidence, cheap_evidence; /* enum evidence */
    const struct candidate *fastest, *cheapest, *by_deadline;
    const struct path *fast_path, *cheap_path;
    const struct next *fast_next, *cheap_next;
    shoal_records candidates, shown, algorithms, fast_legs, cheap_legs;
};

#define ROW struct row
static const shoal_field fields[] = {
    DATA(target, VALUE, 0, "the loss that was asked for"),
    DATA(deadline_s, SECONDS, 0, "that was asked for"),
    FIELD(size, "SIZE OF THE DATA", VALUE, 0, 0, "of the job's data, in the unit of the runs"),
    DATA(cost_unit, NONE, 0, "usd or machine-hours"),
    FIELD(lowest, "LOWEST LOSS MEASURED", VALUE, -1, 0, "the lowest loss measured"),
    FIELD(best, "BEST LOSS", VALUE, -1, 0,
          "the lowest that can be reached, as was given or estimated"),
    FIELD(runs, "RUNS", COUNT, 0, 0, "that were given"),
    FIELD(copies, "COPIES AMONG THEM", COUNT, 0, 0,
          "runs equal to another in every number, which count once"),
    DATA(same_rows, COUNT, 0, "rows equal to the one before, which were left out"),
    FIELD(input_hash, "INPUT HASH", NONE, 0, 0, "of all files of runs"),
    FIELD(seed, "SEED", NONE, 0, 0, "of the draws"),
    DATA(saved, NONE, 0, "where the fitted models went"),
    RECORD(fastest, "fastest", candidate_schema,
           "the candidate that is predicted to be the fastest"),
    RECORD(cheapest, "cheapest", candidate_schema, "and the cheapest"),
    DATA_AS(CHOICE, fast_evidence, "fastest_evidence", NONE, 0,
            "to choose it: enough or too little, when near_fastest is below 0.3",
            .choices = evidence_names),
    DATA_AS(CHOICE, cheap_evidence, "cheapest_evidence", NONE, 0, "the same of near_cheapest",
            .choices = evidence_names),
    RECORD(by_deadline, "by_deadline", candidate_schema,
           "the lowest loss by the deadline, or the cheapest that is done by then"),
    RECORD(fast_path, "fastest_path", path_schema, "a faster way with changes"),
    RECORD(cheap_path, "cheapest_path", path_schema, "a cheaper way with changes"),
    RECORD(fast_next, "next_fastest", next_schema,
           "the run that would help most to find the fastest"),
    RECORD(cheap_next, "next_cheapest", next_schema, "and the cheapest"),
    LIST(candidates, "candidates", NULL, 0, candidate_schema,
         "every algorithm on every machine count", .flags = SHOAL_FIELD_CSV),
    LIST(shown, NULL, "Candidates", 1, candidate_schema, "those that say something"),
    LIST(fast_legs, NULL, "Faster with changes", 1, leg_schema, "parts of the way"),
    LIST(cheap_legs, NULL, "Cheaper with changes", 1, leg_schema, "parts of the way"),
    LIST(algorithms, "algorithms", "What it rests on", 1, algorithm_schema,
         "what was measured of each algorithm, and how far off its fit is", PAGED),
};
#undef ROW
static const shoal_schema schema = SCHEMA_OF(
    "advise", NULL, "Which algorithm on how many machines is fastest and cheapest", fields);

const shoal_schema *shoal_advise_schema(void)
{
    return &schema;
}

/* ---- filling ---- */

/* The answer, or where evidence is not enough for one, the likeliest. */
static const char *mark_of(const struct advise_asked *asked, uint32_t i, const char *sure,
                           const char *unsure)
{
    if (asked->best == UINT32_MAX || i != (asked->enough ? asked->best : asked->likeliest))
        return NULL;
    return asked->enough ? sure : unsure;
}

/* All good ones when there are few, else the best of them and powers of two. */
bool advise_result_shown(const struct advise_call *w, uint32_t candidate)
{
    const struct advise_choice *ch = &w->choice;
    const struct advise_candidate *c = &ch->candidates[candidate];

    if (c->p.verdict != ADVISE_GOOD)
        return false;
    return ch->good <= ROWS_MAX || mark_of(&w->fast, candidate, "", "") != NULL ||
           mark_of(&w->cheap, candidate, "", "") != NULL || candidate == ch->by_deadline ||
           (c->machines & (c->machines - 1)) == 0;
}

/* What a row is the best in of all that was asked, and what its time rests on. */
static const char *remarks_of(const struct advise_call *w, uint32_t i)
{
    const struct advise_choice *ch = &w->choice;
    const char *const words[] = {
        mark_of(&w->fast, i, "fastest", "perhaps fastest"),
        mark_of(&w->cheap, i, "cheapest", "perhaps cheapest"),
        i != ch->by_deadline        ? NULL
        : isnan(w->question.target) ? "lowest loss"
                                    : "cheapest by then",
        ch->candidates[i].p.measured ? "measured" : NULL,
        isfinite(ch->candidates[i].at_most_s) ? "at most" : NULL,
    };
    char text[REMARKS_MAX] = "";

    for (size_t k = 0; k < BASE_COUNT(words); k++)
        if (words[k] != NULL)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
                     text[0] != 0 ? ", " : "", words[k]);
    return page_made_text(w->made, "%s", text);
}

static void fill_candidate(const struct advise_call *w, uint32_t i, struct candidate *out)
{
    const struct advise_candidate *c = &w->choice.candidates[i];
    bool asked = !isnan(w->question.target); /* by a deadline alone all end at it */
    const double times[] = {c->seconds, c->low_s, c->high_s};
    const double losses[] = {c->loss, c->low_loss, c->high_loss};

    out->algorithm = page_made_text(w->made, "%s", w->fit->algorithms[c->algorithm].name);
    out->verdict = advise_verdict_name(c->p.verdict);
    out->remarks = remarks_of(w, i);
    out->c = *c;
    out->near_fastest = asked ? c->near_fastest : (double)NAN;
    out->near_cheapest = asked ? c->near_cheapest : (double)NAN;
    out->in_time = asked && isfinite(w->question.deadline_s) ? c->in_time : (double)NAN;
    for (size_t k = 0; k < 3; k++) {
        out->time_s[k] = asked ? times[k] : (double)NAN;
        out->loss[k] = asked ? (double)NAN : losses[k];
    }
    out->usd = w->question.usd_h > 0 ? c->cost : (double)NAN;
    out->machine_s = w->question.usd_h > 0 ? (double)NAN : 3600 * c->cost;
}

static void fill_candidates(const struct advise_call *w, struct row *row)
{
    const struct advise_choice *ch = &w->choice;
    struct candidate *all = page_made_alloc(w->made, ch->count, sizeof *all);
    struct candidate *shown = page_made_alloc(w->made, ch->count, sizeof *shown);
    size_t count = 0;

    if (all == NULL || shown == NULL)
        return;
    for (uint32_t i = 0; i < ch->count; i++) {
        fill_candidate(w, i, &all[i]);
        if (advise_result_shown(w, i))
            shown[count++] = all[i];
    }
    row->candidates = page_records(all, ch->count);
    row->shown = page_records(shown, count);
    row->fastest = ch->fastest == UINT32_MAX ? NULL : &all[ch->fastest];
    row->cheapest = ch->cheapest == UINT32_MAX ? NULL : &all[ch->cheapest];
    row->by_deadline = ch->by_deadline == UINT32_MAX ? NULL : &all[ch->by_deadline];
}

/* A table has its parts where there is evidence for the answer it betters. */
static const struct path *fill_path(const struct advise_call *w, const struct advise_asked *asked,
                                    shoal_records *out_table)
{
    const struct advise_path *path = asked->path;
    struct path *out = page_made_alloc(w->made, 1, sizeof *out);
    struct leg *legs = page_made_alloc(w->made, path->leg_count, sizeof *legs);
    double usd = w->question.usd_h > 0 ? 1 : (double)NAN;

    if (out == NULL || legs == NULL || path->leg_count < 2)
        return NULL;
    for (uint32_t i = 0; i < path->leg_count; i++) {
        const struct advise_candidate *c = &w->choice.candidates[path->legs[i].candidate];
        legs[i] = (struct leg){
            .algorithm = page_made_text(w->made, "%s", w->fit->algorithms[c->algorithm].name),
            .machines = c->machines,
            .leg = path->legs[i],
            .usd = usd * path->legs[i].cost,
            .machine_s = isnan(usd) ? 3600 * path->legs[i].cost : (double)NAN};
    }
    shoal_records all = {.first = legs, .stride = sizeof *legs, .count = path->leg_count};
    if (asked->enough)
        *out_table = all;
    *out = (struct path){.legs = all, .p = *path};
    return out;
}

static const struct next *fill_next(const struct advise_call *w, const struct advise_asked *asked)
{
    struct next *out = asked->has_next ? page_made_alloc(w->made, 1, sizeof *out) : NULL;

    if (out != NULL)
        *out = (struct next){
            page_made_text(w->made, "%s", w->fit->algorithms[asked->next.algorithm].name),
            asked->next};
    return out;
}

static shoal_numbers fill_counts(const struct advise_call *w, const uint32_t *counts, uint32_t n,
                                 const char **out_text)
{
    double *values = page_made_alloc(w->made, n, sizeof *values);

    *out_text = n > 0 ? "" : NULL;
    for (uint32_t k = 0; values != NULL && k < n; k++) {
        values[k] = counts[k];
        *out_text = page_made_text(w->made, "%s%s%u", *out_text, k > 0 ? ", " : "", counts[k]);
    }
    return (shoal_numbers){.values = values, .count = values == NULL ? 0 : n};
}

static shoal_records fill_algorithms(const struct advise_call *w)
{
    const struct advise_fit *fit = w->fit;
    struct algorithm *out = page_made_alloc(w->made, fit->algorithm_count, sizeof *out);

    for (uint32_t i = 0; out != NULL && i < fit->algorithm_count; i++) {
        const struct advise_algorithm *a = &fit->algorithms[i];
        double *theta = page_made_alloc(w->made, 4, sizeof *theta);
        if (theta == NULL)
            break;
        memcpy(theta, a->model.time.theta, 4 * sizeof *theta);
        out[i].name = page_made_text(w->made, "%s", a->name);
        out[i].verdict = advise_verdict_name(a->verdict);
        out[i].form = a->model.form == ADVISE_FEATURES ? "features" : "stretched";
        out[i].machines = fill_counts(w, a->machines, a->counts, &out[i].machines_text);
        out[i].diverged = fill_counts(w, a->diverged, a->diverged_count, &out[i].diverged_text);
        out[i].lowest = a->curve_count > 0 ? a->lowest : (double)NAN;
        out[i].best = a->curve_count > 0 ? a->best : (double)NAN;
        out[i].theta = (shoal_numbers){.values = theta, .count = 4};
        out[i].off_inside = a->off_steps[0];
        out[i].off_outside = a->off_steps[1];
        out[i].off_ahead = a->off_ahead;
    }
    return page_records(out, out == NULL ? 0 : fit->algorithm_count);
}

static uint32_t evidence_of(const struct advise_asked *asked)
{
    return asked->best == UINT32_MAX ? NOT_ASKED : asked->enough ? ENOUGH : TOO_LITTLE;
}

void advise_result_make(const struct advise_call *w)
{
    const struct advise_fit *fit = w->fit;
    struct row *row = page_made_alloc(w->made, 1, sizeof *row);

    w->made->result.schema = &schema;
    if (row == NULL)
        return;
    row->target = w->question.target;
    row->deadline_s = w->question.deadline_s;
    row->size = fit->size;
    row->cost_unit = w->question.usd_h > 0 ? "usd" : "machine-hours";
    row->lowest = fit->lowest;
    row->best = fit->best_by == UINT32_MAX && w->v->best == NULL ? (double)NAN : fit->best;
    row->runs = w->runs.count;
    row->copies = w->runs.copies;
    row->same_rows = w->runs.same_rows;
    row->seed = w->question.seed;
    row->input_hash = page_made_text(w->made, "%016" PRIx64, w->runs.hash);
    row->saved = w->v->save == NULL ? NULL : page_made_text(w->made, "%s", w->v->save);
    row->fast_evidence = evidence_of(&w->fast);
    row->cheap_evidence = evidence_of(&w->cheap);
    fill_candidates(w, row);
    row->fast_path = fill_path(w, &w->fast, &row->fast_legs);
    row->cheap_path = fill_path(w, &w->cheap, &row->cheap_legs);
    row->fast_next = fill_next(w, &w->fast);
    row->cheap_next = fill_next(w, &w->cheap);
    row->algorithms = fill_algorithms(w);
    w->made->result.records = page_records(row, 1);
}
