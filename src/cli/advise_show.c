/* advise_show.c - see advise_show.h: for people. */
#include "cli/advise_show.h"

#include "base/assert.h"
#include "base/text.h"
#include "cli/columns.h"
#include <math.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16, ROWS_MAX = 24 };

static const double WOBBLE_MAX = 0.2; /* of what losses fall */
static const double FAR_BELOW = 0.1;  /* of what losses fell so far */

/* Decimal places with which a number below 0.1 has two digits that say something. */
static int small_places(double v)
{
    int places = 3;

    for (double next = 0.0995; v < next / 10 && places < 7; next /= 10)
        places++;
    return places;
}

const char *cli_advise_cost(const struct advise_question *q, double cost, char *buf, size_t size)
{
    if (!(cost < 1e12))
        snprintf(buf, size, "-");
    else if (q->usd_h > 0)
        snprintf(buf, size, "$%.*f", cost < 0.1 ? small_places(cost) : 2, cost);
    else {
        double shown = cost < 1 ? cost * 3600 : cost;
        char number[32];
        snprintf(number, sizeof number, shown < 1000 ? "%.3g" : "%.0f", shown);
        snprintf(buf, size, "%s machine-%s%s", number, cost < 1 ? "second" : "hour",
                 strcmp(number, "1") == 0 ? "" : "s");
    }
    return buf;
}

static const char *name_of(const struct cli_advised *s, const struct advise_candidate *c)
{
    return s->fit->algorithms[c->algorithm].name;
}

/* "sdca on 8 machines" */
static void put_choice(struct base_buf *out, const struct cli_advised *s,
                       const struct advise_candidate *c)
{
    base_buf_printf(out, "%s on %u machine%s", name_of(s, c), c->machines,
                    c->machines == 1 ? "" : "s");
}

/* "3m10s (2m50s to 3m40s)" */
static void put_time(struct base_buf *out, double is, double low, double high)
{
    char text[3][32];

    base_buf_printf(out, "%s (%s to %s)", base_format_duration(is, text[0], 32),
                    base_format_duration(low, text[1], 32),
                    base_format_duration(high, text[2], 32));
}

static void put_sure(struct base_buf *out, const struct cli_advised *s, double share)
{
    if (s->choice->good == 1) /* certainty of a choice between one is no certainty */
        base_buf_puts(out, "the only candidate");
    else
        base_buf_printf(out, "%.0f%% sure to be within 5%% of the best", fmin(100 * share, 99));
}

static void put_best(struct base_buf *out, const struct cli_advised *s, const char *word,
                     uint32_t index, bool cheap)
{
    const struct advise_candidate *c = &s->choice->candidates[index];
    char cost[48], most[32];

    base_buf_printf(out, "%s: ", word);
    put_choice(out, s, c);
    base_buf_puts(out, ", ");
    put_time(out, c->seconds, c->low_s, c->high_s);
    base_buf_printf(out, ", %s; ", cli_advise_cost(s->question, c->cost, cost, sizeof cost));
    if (c->p.measured)
        base_buf_puts(out, "measured; ");
    if (isfinite(c->at_most_s))
        base_buf_printf(out, "not measured, at most %s, where its run begins; ",
                        base_format_duration(c->at_most_s, most, sizeof most));
    put_sure(out, s, cheap ? c->near_cheapest : c->near_fastest);
    base_buf_puts(out, "\n");
}

/* What `shoal train` can do of a path, where its runs say that it made them. */
static const char *how_to_change(const struct cli_advised *s, const struct advise_path *path)
{
    uint32_t first = s->choice->candidates[path->legs[0].candidate].algorithm;

    for (uint32_t i = 0; i < path->leg_count; i++) {
        uint32_t algorithm = s->choice->candidates[path->legs[i].candidate].algorithm;
        if (s->runs->sources[algorithm].app == NULL)
            return "";
        if (algorithm != first)
            return " ('shoal train' cannot change its algorithm on the way)";
    }
    return " ('shoal scale' changes the workers of a job that runs)";
}

static void put_path(struct base_buf *out, const struct cli_advised *s, const char *word,
                     const struct advise_path *path, bool cheap)
{
    char cost[48];

    if (path->leg_count < 2)
        return;
    base_buf_printf(out, "%s with changes: ", word);
    for (uint32_t i = 0; i < path->leg_count; i++) {
        const struct advise_leg *leg = &path->legs[i];
        base_buf_puts(out, i > 0 ? ", then " : "");
        put_choice(out, s, &s->choice->candidates[leg->candidate]);
        if (i + 1 < path->leg_count)
            base_buf_printf(out, " to loss %.6g", leg->to_loss);
    }
    base_buf_puts(out, ": ");
    put_time(out, path->seconds, path->low_s, path->high_s);
    base_buf_printf(out, ", %s; %.0f%% %s than without, if a model carries over as it is%s\n",
                    cli_advise_cost(s->question, path->cost, cost, sizeof cost), 100 * path->gain,
                    cheap ? "cheaper" : "faster", how_to_change(s, path));
}

static void put_deadline(struct base_buf *out, const struct cli_advised *s)
{
    const struct advise_question *q = s->question;
    char time[32], cost[48];

    base_format_duration(q->deadline_s, time, sizeof time);
    if (s->choice->by_deadline == UINT32_MAX) {
        base_buf_printf(out, "by %s: nothing is done by then with 90%% certainty\n", time);
        return;
    }
    const struct advise_candidate *c = &s->choice->candidates[s->choice->by_deadline];
    base_buf_printf(out, "by %s: ", time);
    put_choice(out, s, c);
    if (isnan(q->target))
        base_buf_printf(out, ", loss %.6g (%.6g to %.6g), %s\n", c->loss, c->low_loss, c->high_loss,
                        cli_advise_cost(q, c->cost, cost, sizeof cost));
    else
        base_buf_printf(out, " is the cheapest that is done by then, %s; %.0f%% sure\n",
                        cli_advise_cost(q, c->cost, cost, sizeof cost), fmin(100 * c->in_time, 99));
}

static void put_next(struct base_buf *out, const struct cli_advised *s)
{
    const struct advise_next *n = &s->next_fast;
    char time[32];

    if (!s->has_next_fast)
        return;
    base_buf_printf(
        out, "the run that would help most: %s on %u machine%s, %s to %.0f iteration%s (%s)\n",
        s->fit->algorithms[n->algorithm].name, n->machines, n->machines == 1 ? "" : "s",
        n->from > 0 ? "longer," : "new,", n->to, n->to > 1 ? "s" : "",
        base_format_duration(n->seconds, time, sizeof time));
}

static void put_question(struct base_buf *out, const struct cli_advised *s)
{
    const struct advise_question *q = s->question;

    if (isnan(q->target))
        return;
    base_buf_printf(out, "to loss %.6g", q->target);
    if (!isnan(s->within)) {
        base_buf_printf(out, " (within %g%% of the best, ", 100 * s->within);
        if (s->best_given)
            base_buf_printf(out, "%.6g)", s->fit->best);
        else
            base_buf_printf(out, "about %.6g: %.6g to %.6g, estimated from %s)", s->fit->best,
                            s->fit->algorithms[s->fit->best_by].best_low,
                            s->fit->algorithms[s->fit->best_by].best_high,
                            s->fit->algorithms[s->fit->best_by].name);
    }
    if (q->target < s->fit->lowest)
        base_buf_printf(out, "; no run has got there: the lowest measured is %.6g", s->fit->lowest);
    base_buf_puts(out, "\n");
}

/* Candidates that say something: all good ones when few, else those near the best and measured. */
static bool is_shown(const struct cli_advised *s, uint32_t i, uint32_t good)
{
    const struct advise_choice *ch = s->choice;
    const struct advise_candidate *c = &ch->candidates[i];
    uint32_t m = c->machines;

    if (c->p.verdict != ADVISE_GOOD)
        return false;
    return good <= ROWS_MAX || i == ch->fastest || i == ch->cheapest || i == ch->by_deadline ||
           (m & (m - 1)) == 0;
}

/* What a row is the best in: all that was asked. */
static void put_mark(struct cli_columns *table, enum cli_style style, const struct cli_advised *s,
                     uint32_t i)
{
    const struct advise_choice *ch = s->choice;
    const char *const words[] = {
        i == ch->fastest ? "fastest" : NULL,
        i == ch->cheapest ? "cheapest" : NULL,
        i != ch->by_deadline         ? NULL
        : isnan(s->question->target) ? "lowest loss"
                                     : "cheapest by then",
        ch->candidates[i].p.measured ? "measured" : NULL,
        isfinite(ch->candidates[i].at_most_s) ? "at most" : NULL,
    };
    char text[64] = "";

    for (size_t k = 0; k < BASE_COUNT(words); k++)
        if (words[k] != NULL)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
                     text[0] != 0 ? ", " : "", words[k]);
    cli_columns_cell(table, style, "%s", text);
}

/* Times to the loss; where there is none, losses by the deadline. */
static int print_table(const struct cli_context *cx, const struct cli_advised *s)
{
    const struct advise_choice *ch = s->choice;
    bool losses = isnan(s->question->target);
    struct cli_columns table;
    uint32_t hidden = ch->good;
    char text[32], cost[48];

    cli_columns_init(&table, cx, "lrrrrrl");
    const char *const head[] = {"ALGORITHM", "MACHINES", losses ? "LOSS" : "TIME", "5%", "95%",
                                "COST",      "BEST"};
    for (size_t i = 0; i < BASE_COUNT(head); i++)
        cli_columns_cell(&table, CLI_DIM, "%s", head[i]);
    for (uint32_t i = 0; i < ch->count; i++) {
        const struct advise_candidate *k = &ch->candidates[i];
        bool best = i == ch->fastest || i == ch->cheapest || i == ch->by_deadline;
        enum cli_style style = best ? CLI_BOLD : CLI_PLAIN;
        const double shown[] = {losses ? k->loss : k->seconds, losses ? k->low_loss : k->low_s,
                                losses ? k->high_loss : k->high_s};
        if (!is_shown(s, i, ch->good))
            continue;
        hidden--;
        cli_columns_cell(&table, style, "%s", name_of(s, k));
        cli_columns_cell(&table, style, "%u", k->machines);
        for (size_t n = 0; n < BASE_COUNT(shown); n++) {
            if (losses)
                snprintf(text, sizeof text, "%.6g", shown[n]);
            else
                base_format_duration(shown[n], text, sizeof text);
            cli_columns_cell(&table, style, "%s", text);
        }
        cli_columns_cell(&table, style, "%s",
                         cli_advise_cost(s->question, k->cost, cost, sizeof cost));
        put_mark(&table, style, s, i);
    }
    int rc = cli_columns_print(&table);
    cli_columns_fini(&table);
    if (rc == 0 && hidden > 0)
        base_log(&cx->log, BASE_LOG_INFO, "%u more candidate%s not shown: --json has all", hidden,
                 hidden == 1 ? " is" : "s are");
    return rc;
}

int cli_advise_text(const struct cli_context *cx, const struct cli_advised *s)
{
    struct base_buf out;
    int rc;

    base_buf_init(&out, env_alloc(cx->env), TEXT_MAX);
    put_question(&out, s);
    if (!isnan(s->question->target)) {
        put_best(&out, s, "fastest", s->choice->fastest, false);
        put_best(&out, s, "cheapest", s->choice->cheapest, true);
        put_path(&out, s, "fastest", &s->choice->fast, false);
        put_path(&out, s, "cheapest", &s->choice->cheap, true);
    }
    if (isfinite(s->question->deadline_s))
        put_deadline(&out, s);
    put_next(&out, s);
    base_buf_puts(&out, "\n");
    rc = cli_print(cx, &out);
    base_buf_fini(&out);
    return rc != 0 ? rc : print_table(cx, s);
}

/* ---- warnings ---- */

static void warn_algorithm(const struct cli_context *cx, const struct cli_advised *s, uint32_t i)
{
    const struct advise_algorithm *a = &s->fit->algorithms[i];
    const struct base_log *log = &cx->log;

    for (uint32_t k = 0; k < a->diverged_count; k++)
        base_log(log, BASE_LOG_WARN, "%s diverged on %u machine%s: it is not advised there%s",
                 a->name, a->diverged[k], a->diverged[k] == 1 ? "" : "s",
                 a->diverged[k] >= a->diverged_from ? ", nor on more" : "");
    if (a->verdict == ADVISE_ONE_COUNT)
        base_log(log, BASE_LOG_WARN,
                 "%s was measured on %u machine%s only: nothing is said about other counts; a run "
                 "on another count would help",
                 a->name, a->machines[0], a->machines[0] == 1 ? "" : "s");
    if (a->verdict == ADVISE_NO_CURVE)
        base_log(log, BASE_LOG_WARN, "%s has no losses at the largest size: it is left out",
                 a->name);
    if (a->counts == 2)
        base_log(log, BASE_LOG_WARN,
                 "%s was measured on two machine counts only: what lies between and beyond them is "
                 "a guess; a third would help",
                 a->name);
}

/* An algorithm that no row of the table has, and nothing was said about: why not. */
static void warn_left_out(const struct cli_context *cx, const struct cli_advised *s, uint32_t i)
{
    const struct advise_algorithm *a = &s->fit->algorithms[i];
    bool never = false, unreached = false;

    for (uint32_t k = 0; k < s->choice->count; k++) {
        const struct advise_candidate *c = &s->choice->candidates[k];
        if (c->algorithm == i && c->p.verdict == ADVISE_GOOD)
            return;
        never = never || (c->algorithm == i && c->p.verdict == ADVISE_NEVER);
        unreached = unreached || (c->algorithm == i && c->p.verdict == ADVISE_UNREACHED);
    }
    if (unreached)
        base_log(&cx->log, BASE_LOG_WARN,
                 "%s is left out: it got to %.6g, too far from there to say when it arrives; a "
                 "longer run would help",
                 a->name, a->lowest);
    else if (never)
        base_log(&cx->log, BASE_LOG_WARN,
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

static void warn_losses(const struct cli_context *cx, const struct cli_advised *s)
{
    const struct advise_runs *r = s->runs;
    const struct advise_fit *fit = s->fit;
    size_t wild = 0;

    for (size_t i = 0; i < r->count; i++)
        wild += !r->runs[i].copy && !r->runs[i].diverged && wobble(&r->runs[i]) > WOBBLE_MAX;
    if (wild > 0)
        base_log(&cx->log, BASE_LOG_WARN,
                 "the losses of %zu run%s go up and down: a loss counts as reached when it is seen "
                 "once, and how sure this is does not include it; smaller steps may converge",
                 wild, wild == 1 ? "" : "s");
    if (!isnan(s->within) && !s->best_given &&
        fit->lowest - fit->best > FAR_BELOW * (fit->first - fit->lowest))
        base_log(
            &cx->log, BASE_LOG_WARN,
            "the best loss is estimated at %.6g, far below the lowest measured, %.6g: a longer "
            "run of %s would say, or --best",
            fit->best, fit->lowest, fit->algorithms[fit->best_by].name);
    for (uint32_t i = 0; i < fit->algorithm_count; i++)
        if (fit->algorithms[i].curve_count > 0 &&
            fit->algorithms[i].most_points < ADVISE_EVIDENCE_POINTS)
            base_log(&cx->log, BASE_LOG_WARN,
                     "%s has no run with %d losses each lower than all before: nothing is said "
                     "about it beyond what was measured",
                     fit->algorithms[i].name, ADVISE_EVIDENCE_POINTS);
}

void cli_advise_warn(const struct cli_context *cx, const struct cli_advised *s)
{
    const struct advise_runs *r = s->runs;
    const struct base_log *log = &cx->log;
    uint32_t far = 0;

    if (r->copies > 0)
        base_log(log, BASE_LOG_WARN,
                 "%zu run%s equal to another in every number: counted once, since a copy tells "
                 "nothing new",
                 r->copies, r->copies == 1 ? " is" : "s are");
    if (r->same_rows > 0)
        base_log(log, BASE_LOG_WARN, "%zu row%s equal to the one before: left out", r->same_rows,
                 r->same_rows == 1 ? " is" : "s are");
    if (r->resumed > 0)
        base_log(log, BASE_LOG_WARN,
                 "%zu run%s resumed and do%s not say how long it took until then: as long, an "
                 "iteration, as from then on",
                 r->resumed, r->resumed == 1 ? " was" : "s were", r->resumed == 1 ? "es" : "");
    if (r->sizes_missing)
        base_log(log, BASE_LOG_WARN,
                 "some runs state a size and some do not: those count as size 1");
    for (uint32_t i = 0; i < s->fit->algorithm_count; i++) {
        warn_algorithm(cx, s, i);
        warn_left_out(cx, s, i);
    }
    warn_losses(cx, s);
    if (s->fit->size != s->fit->size_curves)
        base_log(
            log, BASE_LOG_WARN,
            "for data of size %.6g, iterations are taken to be as many as at %.6g, where losses "
            "were measured%s",
            s->fit->size, s->fit->size_curves,
            s->fit->sizes > 1 ? ""
                              : "; no other size was measured, so how times grow with it is a "
                                "guess: a run of a few iterations at that size would help");
    for (uint32_t i = 0; i < s->choice->count; i++)
        far += s->choice->candidates[i].p.verdict == ADVISE_TOO_FAR;
    if (far > 0)
        base_log(
            log, BASE_LOG_WARN,
            "%u of the candidates have more than %d times the machines measured (or fewer than "
            "a %dth): no advice is given that far",
            far, ADVISE_BEYOND, ADVISE_BEYOND);
    if (s->within_default)
        base_log(log, BASE_LOG_INFO,
                 "no --target, --within or --deadline was given: this is for --within 1%%");
}
