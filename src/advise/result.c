/* result.c - the answer as records (see call.h): one, with a list of candidates and one of algorithms. A figure is a
 * row here and the line that computes it. */
#include "advise/call.h"

#include "base/assert.h"
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

#define AT(member) offsetof(struct candidate, member)
#define C(member)  offsetof(struct candidate, c.member)
static const shoal_field candidate_fields[] = {
    {AT(algorithm), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "algorithm", "ALGORITHM",
     .help = "its name", .flags = SHOAL_FIELD_CUT},
    {C(machines), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 1, "machines", "MACHINES",
     .help = "how many"},
    {AT(verdict), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "verdict", NULL,
     .help = "good, or why it is not advised: no-curve, diverged, one-count, too-far, never, "
             "unreached"},
    {C(p.measured), SHOAL_FIELD_BOOL, SHOAL_UNIT_NONE, 0, 0, "measured", NULL,
     .help = "whether a run on so many machines got there"},
    {AT(time_s[0]), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 1, NULL, "TIME",
     .help = "predicted time to the loss, or measured", .flags = SHOAL_FIELD_SPARSE},
    {AT(time_s[1]), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 2, NULL, "5 %",
     .help = "the time is shorter with a probability of 5 %", .flags = SHOAL_FIELD_SPARSE},
    {AT(time_s[2]), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 2, NULL, "95 %",
     .help = "the time is shorter with a probability of 95 %", .flags = SHOAL_FIELD_SPARSE},
    {AT(loss[0]), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, -1, 1, NULL, "LOSS",
     .help = "predicted loss by the deadline", .flags = SHOAL_FIELD_SPARSE},
    {AT(loss[1]), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 2, NULL, "5 %",
     .help = "the loss is lower with a probability of 5 %", .flags = SHOAL_FIELD_SPARSE},
    {AT(loss[2]), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 2, NULL, "95 %",
     .help = "the loss is lower with a probability of 95 %", .flags = SHOAL_FIELD_SPARSE},
    {C(seconds), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 0, "seconds", NULL,
     .help = "predicted time to the loss, or measured; the deadline where no loss was asked for"},
    {C(low_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 0, "low_s", NULL,
     .help = "it is less with a probability of 5 %"},
    {C(high_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 0, "high_s", NULL,
     .help = "it is less with a probability of 95 %"},
    {C(at_most_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 0, "at_most_s", NULL,
     .help = "the first measurement of its run, which was past the loss already",
     .flags = SHOAL_FIELD_OPTIONAL},
    {C(p.steps), SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, -1, 0, "iterations", NULL,
     .help = "predicted iterations to the loss"},
    {C(p.step_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 0, "iteration_s", NULL,
     .help = "predicted time of an iteration"},
    {AT(usd), SHOAL_FIELD_F64, SHOAL_UNIT_USD, -1, 1, NULL, "COST",
     .help = "of all machines for that time", .flags = SHOAL_FIELD_SPARSE},
    {AT(machine_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 1, NULL, "MACHINE TIME",
     .help = "of all machines together", .flags = SHOAL_FIELD_SPARSE},
    {C(cost), SHOAL_FIELD_F64, SHOAL_UNIT_NONE, -1, 0, "cost", NULL,
     .help = "of that time, in cost_unit"},
    {C(low_cost), SHOAL_FIELD_F64, SHOAL_UNIT_NONE, -1, 0, "low_cost", NULL, .help = "of low_s"},
    {C(high_cost), SHOAL_FIELD_F64, SHOAL_UNIT_NONE, -1, 0, "high_cost", NULL, .help = "of high_s"},
    {AT(near_fastest), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, 1, 3, "near_fastest", "P(FASTEST)",
     .help = "probability of being within 5 % of the fastest", .flags = SHOAL_FIELD_SPARSE},
    {AT(near_cheapest), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, 1, 3, "near_cheapest", "P(CHEAPEST)",
     .help = "probability of being within 5 % of the cheapest", .flags = SHOAL_FIELD_SPARSE},
    {AT(in_time), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, 1, 0, "in_time", NULL,
     .help = "probability of being there by the deadline"},
    {C(loss), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, -1, 0, "loss", NULL,
     .help = "predicted by the deadline"},
    {C(low_loss), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, -1, 0, "low_loss", NULL,
     .help = "it is lower with a probability of 5 %"},
    {C(high_loss), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, -1, 0, "high_loss", NULL,
     .help = "it is lower with a probability of 95 %"},
    {AT(remarks), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "REMARKS",
     .help = "what it is best in; measured: a run on so many machines got there; at most: its run "
             "begins past the loss"},
};
#undef C
#undef AT
static const shoal_schema candidate_schema = {"candidate", NULL, "An algorithm on some machines",
                                              candidate_fields, BASE_COUNT(candidate_fields)};

/* ---- changes on the way ---- */

struct leg {
    const char *algorithm;
    uint32_t machines;
    struct advise_leg leg;
    double usd, machine_s; /* for people */
};

#define AT(member) offsetof(struct leg, member)
static const shoal_field leg_fields[] = {
    {AT(algorithm), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "algorithm", "ALGORITHM",
     .help = "its name"},
    {AT(machines), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 1, "machines", "MACHINES",
     .help = "how many"},
    {AT(leg.from_loss), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "from_loss", "FROM LOSS",
     .help = "where it begins"},
    {AT(leg.to_loss), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "to_loss", "TO LOSS",
     .help = "where it ends"},
    {AT(leg.seconds), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 1, "seconds", "TIME",
     .help = "predicted, with the change"},
    {AT(leg.cost), SHOAL_FIELD_F64, SHOAL_UNIT_NONE, 0, 0, "cost", NULL, .help = "in cost_unit"},
    {AT(usd), SHOAL_FIELD_F64, SHOAL_UNIT_USD, 0, 1, NULL, "COST", .help = "of all machines",
     .flags = SHOAL_FIELD_SPARSE},
    {AT(machine_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 1, NULL, "MACHINE TIME",
     .help = "of all machines together", .flags = SHOAL_FIELD_SPARSE},
};
#undef AT
static const shoal_schema leg_schema = {"leg", NULL, "A part of the way", leg_fields,
                                        BASE_COUNT(leg_fields)};

struct path {
    shoal_records legs;
    double seconds, low_s, high_s, cost, gain;
};

#define AT(member) offsetof(struct path, member)
static const shoal_field path_fields[] = {
    {AT(legs), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 0, "legs", NULL, .help = "in their order",
     .of = &leg_schema},
    {AT(seconds), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 0, "seconds", NULL,
     .help = "of all of it"},
    {AT(low_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 0, "low_s", NULL,
     .help = "it is less with a probability of 5 %"},
    {AT(high_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 0, "high_s", NULL,
     .help = "it is less with a probability of 95 %"},
    {AT(cost), SHOAL_FIELD_F64, SHOAL_UNIT_NONE, -1, 0, "cost", NULL, .help = "in cost_unit"},
    {AT(gain), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, 1, 0, "gain", NULL,
     .help = "of the time (or cost) without a change, what it saves"},
};
#undef AT
static const shoal_schema path_schema = {"path", NULL, "A way with changes", path_fields,
                                         BASE_COUNT(path_fields)};

/* ---- the run to make next ---- */

struct next {
    const char *algorithm;
    struct advise_next n;
};

#define AT(member) offsetof(struct next, member)
static const shoal_field next_fields[] = {
    {AT(algorithm), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "algorithm", NULL, .help = "its name"},
    {AT(n.machines), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 0, "machines", NULL, .help = "how many"},
    {AT(n.from), SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 0, "from_iteration", NULL,
     .help = "iterations that its run has; 0: there is none"},
    {AT(n.to), SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 0, "to_iteration", NULL,
     .help = "iterations that it should have"},
    {AT(n.seconds), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "seconds", NULL,
     .help = "of the way from one to the other"},
    {AT(n.cost), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "machine_s", NULL,
     .help = "of all its machines together"},
    {AT(n.chance), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, 0, 0, "chance", NULL,
     .help = "probability that it is near the best"},
};
#undef AT
static const shoal_schema next_schema = {"next", NULL, "A run to make", next_fields,
                                         BASE_COUNT(next_fields)};

/* ---- what it rests on ---- */

struct algorithm {
    const char *name, *verdict, *form, *machines_text, *diverged_text;
    shoal_numbers machines, diverged, theta;
    double lowest, best, off_inside, off_outside, off_ahead;
};

#define AT(member) offsetof(struct algorithm, member)
static const shoal_field algorithm_fields[] = {
    {AT(name), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "algorithm", "ALGORITHM",
     .help = "its name"},
    {AT(verdict), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "verdict", NULL,
     .help = "good, or why it is not advised: no-curve, diverged, one-count"},
    {AT(form), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "form", "FORM",
     .help = "of its model of convergence: stretched or features"},
    {AT(machines), SHOAL_FIELD_NUMBERS, SHOAL_UNIT_COUNT, 0, 0, "machines", NULL,
     .help = "counts it was measured on"},
    {AT(machines_text), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "MEASURED ON",
     .help = "machine counts"},
    {AT(diverged), SHOAL_FIELD_NUMBERS, SHOAL_UNIT_COUNT, 0, 0, "diverged", NULL,
     .help = "counts it diverged on"},
    {AT(diverged_text), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "DIVERGED ON",
     .help = "machine counts", .flags = SHOAL_FIELD_SPARSE},
    {AT(lowest), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "lowest", "LOWEST LOSS",
     .help = "measured"},
    {AT(best), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "best", "BEST LOSS",
     .help = "estimate of the lowest that it can reach"},
    {AT(theta), SHOAL_FIELD_NUMBERS, SHOAL_UNIT_NONE, 0, 0, "theta", NULL,
     .help = "an iteration on m machines over data of a size takes theta[0] + theta[1] size/m + "
             "theta[2] log m + theta[3] m seconds, the largest size measured being 1"},
    {AT(off_inside), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, 0, 1, "off_inside", "OFF BETWEEN",
     .help = "how far off predicted iterations are between the counts measured, for each doubling "
             "of machines"},
    {AT(off_outside), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, 0, 1, "off_outside", "OFF BEYOND",
     .help = "the same beyond them"},
    {AT(off_ahead), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, 0, 1, "off_ahead", "OFF AHEAD",
     .help = "how far off they are further on, for each doubling of iterations"},
};
#undef AT
static const shoal_schema algorithm_schema = {"algorithm", NULL, "An algorithm", algorithm_fields,
                                              BASE_COUNT(algorithm_fields)};

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

#define AT(member) offsetof(struct row, member)
static const shoal_field fields[] = {
    {AT(target), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 0, "target", NULL,
     .help = "the loss that was asked for"},
    {AT(deadline_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 0, "deadline_s", NULL,
     .help = "that was asked for"},
    {AT(size), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 0, "size", "SIZE OF THE DATA",
     .help = "of the job's data, in the unit of the runs"},
    {AT(cost_unit), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "cost_unit", NULL,
     .help = "usd or machine-hours"},
    {AT(lowest), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, -1, 0, "lowest", "LOWEST LOSS MEASURED",
     .help = "the lowest loss measured"},
    {AT(best), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, -1, 0, "best", "BEST LOSS",
     .help = "the lowest that can be reached, as was given or estimated"},
    {AT(runs), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "runs", "RUNS", .help = "that were given"},
    {AT(copies), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "copies", "COPIES AMONG THEM",
     .help = "runs equal to another in every number, which count once"},
    {AT(same_rows), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "same_rows", NULL,
     .help = "rows equal to the one before, which were left out"},
    {AT(input_hash), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "input_hash", "INPUT HASH",
     .help = "of all files of runs"},
    {AT(seed), SHOAL_FIELD_U64, SHOAL_UNIT_NONE, 0, 0, "seed", "SEED", .help = "of the draws"},
    {AT(saved), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "saved", NULL,
     .help = "where the fitted models went"},
    {AT(fastest), SHOAL_FIELD_RECORD, SHOAL_UNIT_NONE, 0, 0, "fastest", NULL,
     .help = "the candidate that is predicted to be the fastest", .of = &candidate_schema},
    {AT(cheapest), SHOAL_FIELD_RECORD, SHOAL_UNIT_NONE, 0, 0, "cheapest", NULL,
     .help = "and the cheapest", .of = &candidate_schema},
    {AT(fast_evidence), SHOAL_FIELD_CHOICE, SHOAL_UNIT_NONE, 0, 0, "fastest_evidence", NULL,
     .help = "to choose it: enough or too little, when near_fastest is below 0.3",
     .choices = evidence_names},
    {AT(cheap_evidence), SHOAL_FIELD_CHOICE, SHOAL_UNIT_NONE, 0, 0, "cheapest_evidence", NULL,
     .help = "the same of near_cheapest", .choices = evidence_names},
    {AT(by_deadline), SHOAL_FIELD_RECORD, SHOAL_UNIT_NONE, 0, 0, "by_deadline", NULL,
     .help = "the lowest loss by the deadline, or the cheapest that is done by then",
     .of = &candidate_schema},
    {AT(fast_path), SHOAL_FIELD_RECORD, SHOAL_UNIT_NONE, 0, 0, "fastest_path", NULL,
     .help = "a faster way with changes", .of = &path_schema},
    {AT(cheap_path), SHOAL_FIELD_RECORD, SHOAL_UNIT_NONE, 0, 0, "cheapest_path", NULL,
     .help = "a cheaper way with changes", .of = &path_schema},
    {AT(fast_next), SHOAL_FIELD_RECORD, SHOAL_UNIT_NONE, 0, 0, "next_fastest", NULL,
     .help = "the run that would help most to find the fastest", .of = &next_schema},
    {AT(cheap_next), SHOAL_FIELD_RECORD, SHOAL_UNIT_NONE, 0, 0, "next_cheapest", NULL,
     .help = "and the cheapest", .of = &next_schema},
    {AT(candidates), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 0, "candidates", NULL,
     .help = "every algorithm on every machine count", .flags = SHOAL_FIELD_CSV,
     .of = &candidate_schema},
    {AT(shown), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, NULL, "Candidates",
     .help = "those that say something", .of = &candidate_schema},
    {AT(fast_legs), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, NULL, "Faster with changes",
     .help = "parts of the way", .of = &leg_schema},
    {AT(cheap_legs), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, NULL, "Cheaper with changes",
     .help = "parts of the way", .of = &leg_schema},
    {AT(algorithms), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, "algorithms", "What it rests on",
     .help = "what was measured of each algorithm, and how far off its fit is",
     .flags = SHOAL_FIELD_PAGE, .of = &algorithm_schema},
};
#undef AT
static const shoal_schema schema = {"advise", NULL,
                                    "Which algorithm on how many machines is fastest and cheapest",
                                    fields, BASE_COUNT(fields)};

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
    row->candidates = (shoal_records){.first = all, .stride = sizeof *all, .count = ch->count};
    row->shown = (shoal_records){.first = shown, .stride = sizeof *shown, .count = count};
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
    *out = (struct path){.legs = all,
                         .seconds = path->seconds,
                         .low_s = path->low_s,
                         .high_s = path->high_s,
                         .cost = path->cost,
                         .gain = path->gain};
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
    return (shoal_records){
        .first = out, .stride = sizeof *out, .count = out == NULL ? 0 : fit->algorithm_count};
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
    w->made->result.records = (shoal_records){.first = row, .stride = sizeof *row, .count = 1};
}
