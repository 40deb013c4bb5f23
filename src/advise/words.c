/* words.c - the answer in words (see call.h): what was asked and from what, who is fastest and cheapest and how sure
 * that is, or that evidence is not enough to say, and the run that would help most; and what the runs said about
 * themselves, as notes.
 *
 * One sentence per question, in a fixed order. Questions whose answer says nothing are left out. */
#include "advise/call.h"

#include <math.h>
#include <string.h>

static const double USD_LEAST = 0.001; /* less is not worth a figure in a sentence */
static const double WOBBLE_MAX = 0.2;  /* of what losses fall */
static const double FAR_BELOW = 0.1;   /* of what losses fell so far */

static const char *time_text(const struct advise_call *w, double seconds)
{
    return page_made_value(w->made, SHOAL_UNIT_SECONDS, seconds);
}

static const char *loss_text(const struct advise_call *w, double loss)
{
    return page_made_value(w->made, SHOAL_UNIT_VALUE, loss);
}

const char *advise_words_cost(const struct advise_call *w, double cost)
{
    if (!(w->question.usd_h > 0))
        return page_made_text(w->made, "%s of machine time", time_text(w, 3600 * cost));
    if (cost > 0 && cost < USD_LEAST)
        return "less than $0.001";
    return page_made_value(w->made, SHOAL_UNIT_USD, cost);
}

const char *advise_words_choice(const struct advise_call *w, const struct advise_candidate *c)
{
    return page_made_text(w->made, "%s on %u machine%s", w->fit->algorithms[c->algorithm].name,
                          c->machines, page_plural(c->machines));
}

/* Of probabilities that are shares of draws: none is certain. */
static double percent(double share)
{
    return fmin(100 * share, 99);
}

/* ---- what was asked ---- */

/* "1 to 16 machines" */
static const char *counts_text(const struct advise_call *w, uint32_t least, uint32_t most)
{
    return least == most ? page_made_text(w->made, "%u machine%s", most, page_plural(most))
                         : page_made_text(w->made, "%u to %u machines", least, most);
}

/* "to loss 0.2019, within 1 % of the best, about 0.1999: 0.198 to 0.2007, estimated from sdca" */
static void head_target(const struct advise_call *w)
{
    const struct advise_fit *fit = w->fit;

    page_made_head(w->made, "to loss %s", loss_text(w, w->question.target));
    if (!isnan(w->within)) {
        page_made_head(w->made, ", within %g %% of the best, ", 100 * w->within);
        if (w->v->best != NULL)
            page_made_head(w->made, "%s", loss_text(w, fit->best));
        else
            page_made_head(w->made, "about %s: %s to %s, estimated from %s",
                           loss_text(w, fit->best),
                           loss_text(w, fit->algorithms[fit->best_by].best_low),
                           loss_text(w, fit->algorithms[fit->best_by].best_high),
                           fit->algorithms[fit->best_by].name);
    }
    if (w->question.target < fit->lowest)
        page_made_head(w->made, "; no run has got there: the lowest measured is %s",
                       loss_text(w, fit->lowest));
    page_made_head(w->made, "\n");
}

/* "6 runs of sdca and sgd on 1 to 16 machines; candidates have 1 to 32" */
void advise_words_runs(const struct advise_call *w)
{
    const struct advise_runs *r = &w->runs;
    size_t count = r->count - r->copies;
    uint32_t least = UINT32_MAX, most = 0;

    for (size_t i = 0; i < r->count; i++) {
        least = r->runs[i].machines < least ? r->runs[i].machines : least;
        most = r->runs[i].machines > most ? r->runs[i].machines : most;
    }
    page_made_head(w->made, "from %zu run%s of ", count, page_plural(count));
    if (r->algorithm_count > 3)
        page_made_head(w->made, "%u algorithms", r->algorithm_count);
    for (uint32_t i = 0; i < r->algorithm_count && r->algorithm_count <= 3; i++)
        page_made_head(w->made, "%s%s",
                       i == 0                        ? ""
                       : i + 1 == r->algorithm_count ? " and "
                                                     : ", ",
                       r->algorithms[i]);
    page_made_head(w->made, " on %s; candidates have %s\n", counts_text(w, least, most),
                   counts_text(w, w->machines[0], w->machines[w->question.machine_count - 1]));
}

static void write_head(const struct advise_call *w)
{
    w->made->result.title = "Which algorithm, on how many machines";
    if (isnan(w->question.target))
        page_made_head(w->made, "to the lowest loss by %s\n", time_text(w, w->question.deadline_s));
    else
        head_target(w);
    advise_words_runs(w);
}

/* ---- the answer ---- */

/* "sgd on 32 machines, 7s (5s to 24.8s) for $0.025." and what is special about that time. */
static void say_choice(const struct advise_call *w, const char *word, uint32_t index)
{
    const struct advise_candidate *c = &w->choice.candidates[index];

    page_made_say(w->made, "%s: %s, %s%s (%s to %s) for %s.", word, advise_words_choice(w, c),
                  c->p.measured ? "measured: " : "", time_text(w, c->seconds),
                  time_text(w, c->low_s), time_text(w, c->high_s), advise_words_cost(w, c->cost));
    if (isfinite(c->at_most_s))
        page_made_say(w->made,
                      " That is an estimate: the first measurement of its run, at %s, was past the "
                      "target already.",
                      time_text(w, c->at_most_s));
}

static void say_sure(const struct advise_call *w, const struct advise_asked *asked)
{
    if (w->choice.good == 1) /* certainty of a choice between one is no certainty */
        page_made_say(w->made, " It is the only candidate.");
    else
        page_made_say(w->made, " It is %.0f %% sure to be within 5 %% of the best.",
                      percent(asked->near));
}

/* "It costs 85 % less than the fastest and takes 4.8 times as long." */
static void say_trade(const struct advise_call *w)
{
    const struct advise_candidate *fast = &w->choice.candidates[w->fast.best];
    const struct advise_candidate *cheap = &w->choice.candidates[w->cheap.best];
    double less = 1 - cheap->cost / fast->cost, longer = cheap->seconds / fast->seconds;

    if (w->fast.enough && w->cheap.enough && less >= 0.005 && longer >= 1.005)
        page_made_say(w->made,
                      " It costs %.0f %% less than the fastest and takes %.*f times as long.",
                      fmin(100 * less, 99), longer < 9.95 ? longer < 1.95 ? 2 : 1 : 0, longer);
}

/* In place of a choice that would be a guess. */
static void say_guess(const struct advise_call *w, const char *word,
                      const struct advise_asked *asked)
{
    const struct advise_candidate *c = &w->choice.candidates[asked->likeliest];
    double near = asked == &w->cheap ? c->near_cheapest : c->near_fastest;

    page_made_say(w->made, "Not enough evidence to name the %s: ", word);
    if (asked->rivals > 1)
        page_made_say(w->made, "%u candidates may be it; ", asked->rivals);
    page_made_say(w->made, "the likeliest is %s, with %.0f %%.\n", advise_words_choice(w, c),
                  percent(near));
}

static void say_best(const struct advise_call *w)
{
    if (w->fast.best == w->cheap.best && w->fast.enough && w->cheap.enough) {
        say_choice(w, "Fastest and cheapest", w->fast.best);
        if (w->choice.good == 1)
            say_sure(w, &w->fast);
        else
            page_made_say(w->made,
                          " It is %.0f %% sure to be within 5 %% of the fastest, %.0f %% of the "
                          "cheapest.",
                          percent(w->fast.near), percent(w->cheap.near));
        page_made_say(w->made, "\n");
        return;
    }
    if (w->fast.enough) {
        say_choice(w, "Fastest", w->fast.best);
        say_sure(w, &w->fast);
        page_made_say(w->made, "\n");
    } else {
        say_guess(w, "fastest", &w->fast);
    }
    if (w->cheap.enough) {
        say_choice(w, "Cheapest", w->cheap.best);
        say_sure(w, &w->cheap);
        say_trade(w);
        page_made_say(w->made, "\n");
    } else {
        say_guess(w, "cheapest", &w->cheap);
    }
}

/* What `shoal train` can do of a path, where its runs say that it made them. */
static const char *how_to_change(const struct advise_call *w, const struct advise_path *path)
{
    uint32_t first = w->choice.candidates[path->legs[0].candidate].algorithm;

    for (uint32_t i = 0; i < path->leg_count; i++) {
        uint32_t algorithm = w->choice.candidates[path->legs[i].candidate].algorithm;
        if (w->runs.sources[algorithm].app == NULL)
            return "";
        if (algorithm != first)
            return " ('shoal train' cannot change its algorithm on the way)";
    }
    return " ('shoal scale' changes the workers of a job that runs)";
}

/* Its parts are a table. */
static void say_path(const struct advise_call *w, const char *word,
                     const struct advise_asked *asked)
{
    const struct advise_path *path = asked->path;

    if (path->leg_count < 2 || !asked->enough)
        return;
    page_made_say(
        w->made,
        "%s with changes on the way: %s (%s to %s) for %s. That is %.0f %% %s than without, "
        "if a model carries over as it is%s.\n",
        word, time_text(w, path->seconds), time_text(w, path->low_s), time_text(w, path->high_s),
        advise_words_cost(w, path->cost), 100 * path->gain,
        asked == &w->cheap ? "cheaper" : "faster", how_to_change(w, path));
}

static void say_deadline(const struct advise_call *w)
{
    const struct advise_question *q = &w->question;
    const char *time = time_text(w, q->deadline_s);

    if (w->choice.by_deadline == UINT32_MAX) {
        page_made_say(w->made, "By %s: nothing is done by then with 90 %% certainty.\n", time);
        return;
    }
    const struct advise_candidate *c = &w->choice.candidates[w->choice.by_deadline];
    if (isnan(q->target))
        page_made_say(w->made, "By %s: %s gets lowest, to loss %s (%s to %s), for %s.\n", time,
                      advise_words_choice(w, c), loss_text(w, c->loss), loss_text(w, c->low_loss),
                      loss_text(w, c->high_loss), advise_words_cost(w, c->cost));
    else
        page_made_say(
            w->made,
            "By %s: %s is the cheapest that is done by then, for %s. It is %.0f %% sure to "
            "be in time.\n",
            time, advise_words_choice(w, c), advise_words_cost(w, c->cost), percent(c->in_time));
}

/* "sgd on 32 machines, 3 iterations (0.3s)", "sgd on 4 machines, 90 iterations in place of 60 (31s)" */
static void say_next(const struct advise_call *w, const char *before,
                     const struct advise_asked *asked)
{
    const struct advise_next *n = &asked->next;

    if (!asked->has_next)
        return;
    page_made_say(w->made, "%s: %s on %u machine%s, %.0f iteration%s", before,
                  w->fit->algorithms[n->algorithm].name, n->machines, page_plural(n->machines),
                  n->to, n->to == 1 ? "" : "s");
    if (n->from > 0)
        page_made_say(w->made, " in place of %.0f", n->from);
    page_made_say(w->made, " (%s).\n", time_text(w, n->seconds));
}

/* Of a question that evidence is not enough for, the run to make first; else the one that would help most. */
static void say_runs(const struct advise_call *w)
{
    const struct advise_next *fast = &w->fast.next, *cheap = &w->cheap.next;
    bool same = w->fast.has_next && w->cheap.has_next && fast->algorithm == cheap->algorithm &&
                fast->machines == cheap->machines && fast->to == cheap->to;

    if (w->fast.enough && w->cheap.enough) {
        say_next(w, "The run that would help most", &w->fast);
        return;
    }
    if (!w->fast.enough)
        say_next(w, "Make this run first, then ask again", &w->fast);
    if (!w->cheap.enough && (w->fast.enough || !same))
        say_next(w, w->fast.enough ? "Make this run first, then ask again" : "And for the cheapest",
                 &w->cheap);
    if ((!w->fast.enough && !w->fast.has_next) || (!w->cheap.enough && !w->cheap.has_next))
        page_made_say(w->made, "No single run would settle it; --plan says which would help.\n");
}

static void write_verdict(const struct advise_call *w)
{
    bool to_loss = !isnan(w->question.target);

    if (to_loss) {
        say_best(w);
        say_path(w, "Faster", &w->fast);
        say_path(w, "Cheaper", &w->cheap);
    }
    if (isfinite(w->question.deadline_s))
        say_deadline(w);
    if (to_loss)
        say_runs(w);
}

/* ---- what the runs said about themselves ---- */

static void note_algorithm(const struct advise_call *w, const struct advise_algorithm *a)
{
    for (uint32_t k = 0; k < a->diverged_count; k++)
        page_warn(w->made, "%s diverged on %u machine%s: it is not advised there%s", a->name,
                  a->diverged[k], page_plural(a->diverged[k]),
                  a->diverged[k] >= a->diverged_from ? ", nor on more" : "");
    if (a->verdict == ADVISE_ONE_COUNT)
        page_warn(w->made,
                  "%s was measured on %u machine%s only: nothing is said about other counts; a run "
                  "on another count would help",
                  a->name, a->machines[0], page_plural(a->machines[0]));
    if (a->verdict == ADVISE_NO_CURVE)
        page_warn(w->made, "%s has no losses at the largest size: it is left out", a->name);
    if (a->counts == 2)
        page_warn(w->made,
                  "%s was measured on two machine counts only: what lies between and beyond them "
                  "is a guess; a third would help",
                  a->name);
}

/* An algorithm that no candidate of is good, and nothing was said about: why not. */
static void note_left_out(const struct advise_call *w, uint32_t algorithm)
{
    const struct advise_algorithm *a = &w->fit->algorithms[algorithm];
    bool never = false, unreached = false;

    for (uint32_t k = 0; k < w->choice.count; k++) {
        const struct advise_candidate *c = &w->choice.candidates[k];
        if (c->algorithm == algorithm && c->p.verdict == ADVISE_GOOD)
            return;
        never = never || (c->algorithm == algorithm && c->p.verdict == ADVISE_NEVER);
        unreached = unreached || (c->algorithm == algorithm && c->p.verdict == ADVISE_UNREACHED);
    }
    if (unreached)
        page_warn(w->made,
                  "%s is left out: it got to %.6g, too far from there to say when it arrives; a "
                  "longer run would help",
                  a->name, a->lowest);
    else if (never)
        page_warn(w->made,
                  "%s is left out: it got to %.6g and does not arrive, as far as can be seen",
                  a->name, a->lowest);
}

/* How far losses lie above the lowest before them, of all that they fall: 0 when they only fall. */
static double wobble(const struct advise_run *run)
{
    double lowest = (double)INFINITY, first = (double)NAN, sum = 0;

    for (size_t i = 0; i < run->count; i++) {
        double loss = run->points[i].loss;
        if (!isfinite(loss))
            continue;
        first = isnan(first) ? loss : first;
        lowest = fmin(lowest, loss);
        sum += loss - lowest;
    }
    return run->losses > 0 && first > lowest ? sum / (double)run->losses / (first - lowest) : 0;
}

static void note_losses(const struct advise_call *w)
{
    const struct advise_fit *fit = w->fit;
    size_t wild = 0;

    for (size_t i = 0; i < w->runs.count; i++)
        wild += !w->runs.runs[i].copy && !w->runs.runs[i].diverged &&
                wobble(&w->runs.runs[i]) > WOBBLE_MAX;
    if (wild > 0)
        page_warn(w->made,
                  "the losses of %zu run%s go up and down: a loss counts as reached when it is "
                  "seen once, and how sure this is does not include it; smaller steps may converge",
                  wild, page_plural(wild));
    if (!isnan(w->within) && w->v->best == NULL &&
        fit->lowest - fit->best > FAR_BELOW * (fit->first - fit->lowest))
        page_warn(w->made,
                  "the best loss is estimated at %.6g, far below the lowest measured, %.6g: a "
                  "longer run of %s would say, or --best",
                  fit->best, fit->lowest, fit->algorithms[fit->best_by].name);
    for (uint32_t i = 0; i < fit->algorithm_count; i++)
        if (fit->algorithms[i].curve_count > 0 &&
            fit->algorithms[i].most_points < ADVISE_EVIDENCE_POINTS)
            page_warn(w->made,
                      "%s has no run with %d losses each lower than all before: nothing is said "
                      "about it beyond what was measured",
                      fit->algorithms[i].name, ADVISE_EVIDENCE_POINTS);
}

static void note_runs(const struct advise_call *w)
{
    const struct advise_runs *r = &w->runs;

    if (r->ignored[0] != '\0')
        page_warn(w->made, ENV_TABLE_IGNORED, r->ignored);
    if (r->copies > 0)
        page_warn(w->made,
                  "%zu run%s equal to another in every number: counted once, since a copy tells "
                  "nothing new",
                  r->copies, r->copies == 1 ? " is" : "s are");
    if (r->same_rows > 0)
        page_warn(w->made, "%zu row%s equal to the one before: left out", r->same_rows,
                  r->same_rows == 1 ? " is" : "s are");
    if (r->resumed > 0)
        page_warn(w->made,
                  "%zu run%s resumed and do%s not say how long it took until then: as long, an "
                  "iteration, as from then on",
                  r->resumed, r->resumed == 1 ? " was" : "s were", r->resumed == 1 ? "es" : "");
    if (r->sizes_missing)
        page_warn(w->made, "some runs state a size and some do not: those count as size 1");
}

/* How far the question is from what was measured. */
static void note_far(const struct advise_call *w)
{
    uint32_t far = 0, hidden = 0;

    if (w->fit->size != w->fit->size_curves)
        page_warn(w->made,
                  "for data of size %.6g, iterations are taken to be as many as at %.6g, where "
                  "losses were measured%s",
                  w->fit->size, w->fit->size_curves,
                  w->fit->sizes > 1 ? ""
                                    : "; no other size was measured, so how times grow with it is "
                                      "a guess: a run of a few iterations at that size would help");
    for (uint32_t i = 0; i < w->choice.count; i++) {
        enum advise_verdict verdict = w->choice.candidates[i].p.verdict;
        far += verdict == ADVISE_TOO_FAR;
        hidden += verdict == ADVISE_GOOD && !advise_result_shown(w, i);
    }
    if (far > 0)
        page_warn(w->made,
                  "%u of the candidates have more than %d times the machines measured (or fewer "
                  "than a %dth): no advice is given that far",
                  far, ADVISE_BEYOND, ADVISE_BEYOND);
    if (hidden > 0)
        page_info(w->made, "%u more candidate%s not shown: --json and --csv have all", hidden,
                  hidden == 1 ? " is" : "s are");
}

void advise_words_say(const struct advise_call *w)
{
    write_head(w);
    write_verdict(w);
    note_runs(w);
    for (uint32_t i = 0; i < w->fit->algorithm_count; i++) {
        note_algorithm(w, &w->fit->algorithms[i]);
        note_left_out(w, i);
    }
    note_losses(w);
    note_far(w);
    if (w->within_default)
        page_info(w->made,
                  "no --target, --within or --deadline was given: this is for --within 1%%");
    if (w->v->save != NULL && strcmp(w->v->save, "-") != 0)
        page_made_note(w->made, SHOAL_NOTE_HINT, "model: %s; 'shoal sim --profiles %s' reads it",
                       w->v->save, w->v->save);
}
