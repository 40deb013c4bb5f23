/* market_show.c - what came of buying, for people: a line that says what was bought, the table, the
 * answer in sentences, and the moves one by one. */
#include "cli/market_work.h"

#include "base/assert.h"
#include "base/text.h"
#include "cli/columns.h"
#include "market/date.h"
#include <math.h>
#include <string.h>

enum { MOVES_MAX = 1000, CELL = 48 };

const char *cli_market_usd(double usd, char *buf, size_t size)
{
    char count[40];

    if (!isfinite(usd))
        snprintf(buf, size, "-");
    else if (usd < 99.995)
        snprintf(buf, size, "$%.2f", usd);
    else
        snprintf(buf, size, "$%s", base_format_count((uint64_t)(usd + 0.5), count, sizeof count));
    return buf;
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- the head ---- */

/* Names of the kinds in use, "p3.2xlarge, p3.8xlarge and 4 more". */
static void kinds_text(const struct cli_market *w, char *buf, size_t size)
{
    size_t used = 0, shown = 0, more = 0;

    buf[0] = '\0';
    for (uint32_t k = 0; k < w->prices->kinds.map.count; k++) {
        if (!w->kind_allowed[k] || !(w->jobs[0].speed[k] > 0))
            continue;
        if (shown == 3) {
            more++;
            continue;
        }
        int wrote = snprintf(buf + used, size - used, "%s%s", shown > 0 ? ", " : "",
                             market_names_get(&w->prices->kinds, k));
        used = wrote > 0 && used + (size_t)wrote < size ? used + (size_t)wrote : size - 1;
        shown++;
    }
    if (more > 0)
        snprintf(buf + used, size - used, " and %zu more", more);
}

/* "its budget of $20.00 is not enough in this time: no plan costs less than $96.10" */
static void say_poor(const struct cli_market *w)
{
    const struct market_story *s = &w->story;
    const struct market_job *job = &w->jobs[s->poor];
    char budget[CELL], least[CELL];

    if (s->poor_count == 0)
        return;
    cli_market_usd(job->budget_usd, budget, sizeof budget);
    cli_market_usd(s->poor_usd, least, sizeof least);
    if (w->job_count == 1)
        fprintf(w->cx->out, "its budget of %s is not enough", budget);
    else
        fprintf(w->cx->out, "the budget of '%s', %s, is not enough", job->name, budget);
    fprintf(w->cx->out, "%s: no plan costs less than %s",
            isfinite(job->deadline_s) ? " in this time" : "", least);
    if (s->poor_count == 2)
        fputs("; nor is that of one more job", w->cx->out);
    else if (s->poor_count > 2)
        fprintf(w->cx->out, "; nor are those of %zu more jobs", s->poor_count - 1);
    putc('\n', w->cx->out);
}

void cli_market_head(const struct cli_market *w)
{
    const struct market_story *s = &w->story;
    char kinds[200], from[32], until[32], count[32];
    FILE *out = w->cx->out;

    kinds_text(w, kinds, sizeof kinds);
    fprintf(out, "%s from %s", w->title,
            market_date_format(s->from_s, MARKET_DATE_MINUTE, from, sizeof from));
    if (w->job_count == 1 && isfinite(w->jobs[0].deadline_s))
        fprintf(out, ", due %s",
                market_date_format(w->jobs[0].deadline_s, MARKET_DATE_MINUTE, until, sizeof until));
    fprintf(out, "\n%s offer%s of %s in ", base_format_count(w->allowed_count, count, sizeof count),
            plural(w->allowed_count), kinds);
    if (w->zone_count > 0)
        fprintf(out, "%s zone%s of ", base_format_count(w->zone_count, count, sizeof count),
                plural(w->zone_count));
    fprintf(out, "%s region%s\n", base_format_count(w->region_count, count, sizeof count),
            plural(w->region_count));
    say_poor(w);
    putc('\n', out);
}

/* ---- the table ---- */

enum column {
    COLUMN_COST,
    COLUMN_AGAINST,
    COLUMN_FINISH,
    COLUMN_DONE,
    COLUMN_MOVES,
    COLUMN_INTERRUPTED,
    COLUMN_ON_DEMAND,
    COLUMN_MISSED,
    COLUMN_COUNT
};
static const char *const titles[COLUMN_COUNT] = {"COST",  "AGAINST STATIC", "FINISH",    "DONE",
                                                 "MOVES", "INTERRUPTED",    "ON DEMAND", "MISSED"};

static const char *cell(const struct cli_market *w, size_t run, enum column column, char *buf)
{
    const struct market_result *r = &w->runs[run].result;
    const struct market_story *s = &w->story;
    struct market_sums sums = market_run_sums(s, run);

    switch (column) {
    case COLUMN_COST: return cli_market_usd(sums.usd, buf, CELL);
    case COLUMN_AGAINST: {
        double times = s->fixed == run ? (double)NAN : market_run_times(s, run);
        if (isnan(times))
            snprintf(buf, CELL, "-");
        else if (fabs(times - 1) < 0.005)
            snprintf(buf, CELL, "the same");
        else
            snprintf(buf, CELL, "%.2fx %s", times > 1 ? times : 1 / times,
                     times > 1 ? "less" : "more");
        return buf;
    }
    case COLUMN_FINISH:
        if (isnan(sums.finish_s))
            snprintf(buf, CELL, "not done");
        else
            market_date_format(sums.finish_s, MARKET_DATE_MINUTE, buf, CELL);
        return buf;
    case COLUMN_DONE: snprintf(buf, CELL, "%zu/%zu", sums.finished, w->job_count); return buf;
    case COLUMN_MOVES: return base_format_count(r->moves, buf, CELL);
    case COLUMN_INTERRUPTED: return base_format_count(r->interruptions, buf, CELL);
    case COLUMN_ON_DEMAND:
        snprintf(buf, CELL, "%.0f %%", sums.run_s > 0 ? 100 * sums.on_demand_s / sums.run_s : 0);
        return buf;
    case COLUMN_MISSED: return base_format_count(r->missed, buf, CELL);
    case COLUMN_COUNT: break;
    }
    return "";
}

static void fill_table(const struct cli_market *w, struct cli_columns *table, uint32_t mask)
{
    char text[CELL];
    size_t best = market_run_cheapest(&w->story);

    cli_columns_cell(table, CLI_DIM, "STRATEGY");
    for (enum column c = 0; c < COLUMN_COUNT; c++)
        if ((mask >> c & 1) != 0)
            cli_columns_cell(table, CLI_DIM, "%s", titles[c]);
    for (size_t i = 0; i < w->run_count; i++) {
        cli_columns_cell(table, CLI_PLAIN, "%s", w->runs[i].label);
        for (enum column c = 0; c < COLUMN_COUNT; c++)
            if ((mask >> c & 1) != 0)
                cli_columns_cell(
                    table, c == COLUMN_COST && w->run_count > 1 && i == best ? CLI_BOLD : CLI_PLAIN,
                    "%s", cell(w, i, c, text));
    }
}

static uint32_t columns_of(const struct cli_market *w)
{
    uint32_t mask = (1u << COLUMN_COUNT) - 1, deadlines = 0, interruptions = 0;

    for (size_t i = 0; i < w->job_count; i++)
        deadlines += isfinite(w->jobs[i].deadline_s) ? 1 : 0;
    for (size_t i = 0; i < w->run_count; i++)
        interruptions += w->runs[i].result.interruptions;
    if (deadlines == 0)
        mask &= ~(1u << COLUMN_MISSED);
    if (w->avail == NULL && interruptions == 0)
        mask &= ~(1u << COLUMN_INTERRUPTED);
    if (w->spot_count == w->allowed_count)
        mask &= ~(1u << COLUMN_ON_DEMAND);
    if (w->job_count == 1)
        mask &= ~(1u << COLUMN_DONE);
    if (w->story.fixed == SIZE_MAX || w->run_count == 1)
        mask &= ~(1u << COLUMN_AGAINST);
    return mask;
}

int cli_market_table(const struct cli_market *w)
{
    static const enum column dispensable[] = {COLUMN_ON_DEMAND, COLUMN_INTERRUPTED, COLUMN_MOVES};
    uint32_t mask = columns_of(w);

    for (size_t dropped = 0;; dropped++) {
        struct cli_columns table;
        char letters[COLUMN_COUNT + 2] = "l";
        size_t columns = (size_t)__builtin_popcount(mask);
        memset(letters + 1, 'r', columns);
        letters[1 + columns] = '\0';
        cli_columns_init(&table, w->cx, letters);
        fill_table(w, &table, mask);
        bool print = !w->cx->out_terminal || cli_columns_needs(&table) <= w->cx->width ||
                     dropped == BASE_COUNT(dispensable);
        int rc = print ? cli_columns_print(&table) : 0;
        cli_columns_fini(&table);
        if (print)
            return rc;
        mask &= ~(1u << dispensable[dropped]);
    }
}

/* ---- the answer ---- */

static void say_over(FILE *out, const char *label, double times)
{
    if (times >= 2)
        fprintf(out, "; %s costs %.2f times that\n", label, times);
    else
        fprintf(out, "; %s is within %.1f %% of it\n", label, 100 * fmax(times - 1, 0));
}

/* "no plan can cost less than $255.10; shoal is within 3.1 % of it" */
static void say_bound(const struct cli_market *w)
{
    const struct market_story *s = &w->story;
    struct market_sums lead = market_run_sums(s, s->lead);
    FILE *out = w->cx->out;
    char text[CELL];

    if (isnan(s->bound_usd))
        return;
    if (isinf(s->bound_usd)) {
        fputs("no plan at all does the work in time, not even one that knows the future\n", out);
        return;
    }
    fprintf(out, "no plan can cost less than %s", cli_market_usd(s->bound_usd, text, sizeof text));
    if (lead.finished < w->job_count || !(s->bound_usd > 0))
        fputs(", not even one that knows the future\n", out);
    else
        say_over(out, w->runs[s->lead].label, lead.usd / s->bound_usd);
}

/* "static ran 62 % on demand to keep the deadline": what it is compared with was no plan. */
static void say_rescued(const struct cli_market *w)
{
    const struct market_story *s = &w->story;
    double share =
        s->fixed == SIZE_MAX || s->fixed == s->lead ? 0 : market_run_rescued(s, s->fixed);

    if (share >= 0.1)
        fprintf(w->cx->out, "static ran %.0f %% on demand to keep the deadline%s\n", 100 * share,
                plural(w->job_count));
}

static void say_unfinished(const struct cli_market *w, const struct market_sums *lead)
{
    const struct market_result *r = &w->runs[w->story.lead].result;
    const char *why = "prices end before the work is done";
    size_t left = w->job_count - lead->finished;

    if (r->jobs[0].stay_count == 0)
        why = "it waits until prices end and holds nothing";
    if (r->jobs[0].broke)
        why = "its budget is spent before the work is done";
    if (w->job_count == 1)
        fprintf(w->cx->out, "%s does not finish: %s\n", w->runs[w->story.lead].label, why);
    else
        fprintf(w->cx->out, "%s leaves %zu of %zu jobs unfinished\n", w->runs[w->story.lead].label,
                left, w->job_count);
}

void cli_market_answer(const struct cli_market *w)
{
    const struct market_story *s = &w->story;
    const struct market_run *lead = &w->runs[s->lead];
    struct market_sums sums = market_run_sums(s, s->lead);
    FILE *out = w->cx->out;
    char text[CELL], place[200];

    putc('\n', out);
    say_bound(w);
    if (sums.finished < w->job_count) {
        say_unfinished(w, &sums);
        return;
    }
    fprintf(out, "%s: %s", lead->label, cli_market_usd(sums.usd, text, sizeof text));
    if (s->fixed != s->lead && !isnan(market_run_times(s, s->lead))) {
        const struct market_run *fixed = &w->runs[s->fixed];
        double times = market_run_times(s, s->lead);
        uint32_t first = market_run_first(fixed);
        if (fabs(times - 1) < 0.005)
            fputs(", as much as", out);
        else
            fprintf(out, ", %.2f times %s than", times >= 1 ? times : 1 / times,
                    times >= 1 ? "less" : "more");
        if (w->job_count == 1 && first != MARKET_NONE)
            fprintf(out, " staying on %s",
                    market_offer_text(w->prices, first, place, sizeof place));
        else
            fputs(" staying where each job began", out);
    }
    fprintf(out, ", with %u move%s", lead->result.moves, plural(lead->result.moves));
    if (w->avail != NULL)
        fprintf(out, " and %u interruption%s", lead->result.interruptions,
                plural(lead->result.interruptions));
    fputs("\n", out);
    say_rescued(w);
    size_t best = market_run_cheapest(s);
    double least = market_run_sums(s, best).usd;
    if (best != s->lead && least < 0.99 * sums.usd)
        fprintf(out, "%s costs less here: %s\n", w->runs[best].label,
                cli_market_usd(least, text, sizeof text));
}

/* ---- the moves ---- */

static int job_moves(const struct cli_market *w, size_t job)
{
    const struct market_outcome *o = &w->runs[w->story.lead].result.jobs[job];
    struct cli_columns table;
    char when[32], took[32], usd[CELL], price[CELL], place[200];

    cli_columns_init(&table, w->cx, "lxrrrl");
    static const char *const heads[] = {"FROM", "PLACE", "FOR", "USD/H", "COST", "UNTIL"};
    for (size_t i = 0; i < BASE_COUNT(heads); i++)
        cli_columns_cell(&table, CLI_DIM, "%s", heads[i]);
    for (size_t i = 0; i < o->stay_count && i < MOVES_MAX; i++) {
        const struct market_stay *stay = &o->stays[i];
        double hours = (stay->to_s - stay->from_s) / 3600;
        cli_columns_cell(&table, CLI_PLAIN, "%s",
                         market_date_format(stay->from_s, MARKET_DATE_MINUTE, when, sizeof when));
        cli_columns_cell(&table, CLI_PLAIN, "%s",
                         market_place_text(&w->story, stay->offer, place, sizeof place));
        cli_columns_cell(&table, CLI_PLAIN, "%s",
                         market_duration_text(stay->to_s - stay->from_s, took, sizeof took));
        cli_columns_cell(
            &table, CLI_PLAIN, "%s",
            cli_market_usd(hours > 0 ? stay->usd / hours : (double)NAN, price, sizeof price));
        cli_columns_cell(&table, CLI_PLAIN, "%s",
                         cli_market_usd(stay->usd + stay->egress_usd, usd, sizeof usd));
        cli_columns_cell(&table, CLI_PLAIN, "%s", market_end_text(o, i));
    }
    int rc = cli_columns_print(&table);
    cli_columns_fini(&table);
    if (o->stay_count > MOVES_MAX)
        fprintf(w->cx->out, "and %zu more; --json has them all\n", o->stay_count - MOVES_MAX);
    return rc;
}

int cli_market_moves(const struct cli_market *w)
{
    int rc = 0;

    for (size_t i = 0; i < w->job_count && rc == 0; i++) {
        putc('\n', w->cx->out);
        char head[200];
        if (w->job_count > 1)
            snprintf(head, sizeof head, "%.100s, %s\n", w->jobs[i].name,
                     w->runs[w->story.lead].label);
        else
            snprintf(head, sizeof head, "where %s was\n", w->runs[w->story.lead].label);
        cli_styled(w->cx, CLI_BOLD, head);
        rc = job_moves(w, i);
    }
    return rc;
}
