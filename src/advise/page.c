/* page.c - see page.h. Charts: seconds to the target against machines, both logarithmic, a line for
 * each algorithm in the area of its 90 % interval, dots where it was measured; losses over time,
 * measured (faint) and predicted to the target. Nothing here grows with the data: lines have a
 * maximum of points, charts of lines and dots, tables of rows. */
#include "advise/page.h"

#include "page/page.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    PLOT_PX = 260,
    LINES_MAX = 6,
    CURVE_POINTS = 60,
    RUNS_DRAWN = 40,
    DOTS_MAX = 400,
    ROWS_MAX = 24
};

static const char MORE[] =
    ".iv{stroke:none;fill-opacity:.13}.f0{fill:var(--k0)}.f1{fill:var(--k2)}.f2{fill:var(--k4)}\n"
    ".f3{fill:var(--k3)}.f4{fill:var(--k1)}.f5{fill:var(--k5)}.f6{fill:var(--k6)}\n"
    ".pt{fill:none;stroke-linecap:round;stroke-width:7}.pt.ring{stroke-width:7}\n"
    ".best td{font-weight:650}.lead b{font-weight:650}\n";

/* ---- words ---- */

static const char *cost_text(const struct advise_page *p, double cost, char *buf, size_t size)
{
    if (!isfinite(cost))
        snprintf(buf, size, "–");
    else if (p->question->usd_h > 0 && cost < 0.1)
        snprintf(buf, size, "$%.2g", cost);
    else if (p->question->usd_h > 0)
        page_usd(cost, buf, size);
    else if (cost < 1)
        snprintf(buf, size, "%.3g machine-s", cost * 3600);
    else
        snprintf(buf, size, "%.3g machine-h", cost);
    return buf;
}

static const char *name_of(const struct advise_page *p, const struct advise_candidate *c)
{
    return p->fit->algorithms[c->algorithm].name;
}

static void put_choice(struct base_buf *out, const struct advise_page *p,
                       const struct advise_candidate *c)
{
    page_name(out, name_of(p, c), PAGE_NAME_CHARS);
    base_buf_printf(out, " on %u machine%s", c->machines, c->machines == 1 ? "" : "s");
}

static void put_best(struct base_buf *out, const struct advise_page *p, const char *word,
                     uint32_t index, bool cheap)
{
    const struct advise_candidate *c = &p->choice->candidates[index];
    char text[4][48];

    base_buf_printf(out, "%s is <b>", word);
    put_choice(out, p, c);
    base_buf_printf(out, "</b>: %s (%s to %s), %s, ", page_duration(c->seconds, text[0], 48),
                    page_duration(c->low_s, text[1], 48), page_duration(c->high_s, text[2], 48),
                    cost_text(p, c->cost, text[3], 48));
    if (c->p.measured)
        base_buf_puts(out, "measured, ");
    if (isfinite(c->at_most_s))
        base_buf_printf(out, "not measured, at most %s, where its run begins, ",
                        page_duration(c->at_most_s, text[0], 48));
    if (p->choice->good == 1)
        base_buf_puts(out, "the only candidate. ");
    else
        base_buf_printf(out, "%.0f %% sure to be within 5 %% of the best. ",
                        fmin(100 * (cheap ? c->near_cheapest : c->near_fastest), 99));
}

static void put_next(struct base_buf *out, const struct advise_page *p)
{
    const struct advise_next *n = p->next;
    char text[48];

    if (n == NULL)
        return;
    base_buf_puts(out, "<p>The run that would help most: ");
    page_name(out, p->fit->algorithms[n->algorithm].name, PAGE_NAME_CHARS);
    base_buf_printf(out, " on %u machine%s, %s to %.0f iteration%s (%s).</p>\n", n->machines,
                    n->machines == 1 ? "" : "s", n->from > 0 ? "longer," : "new,", n->to,
                    n->to > 1 ? "s" : "", page_duration(n->seconds, text, sizeof text));
}

static void put_words(struct base_buf *out, const struct advise_page *p)
{
    const struct advise_question *q = p->question;
    char text[4][48];

    base_buf_puts(out, "<p class=\"lead\">");
    if (!isnan(q->target)) {
        base_buf_printf(out, "To a loss of %s", page_value(q->target, 6, text[0], 48));
        if (!isnan(p->within))
            base_buf_printf(out, ", within %g %% of the best (about %s)", 100 * p->within,
                            page_value(p->fit->best, 6, text[1], 48));
        if (q->target < p->fit->lowest)
            base_buf_printf(out, ", where no run has got: the lowest measured is %s",
                            page_value(p->fit->lowest, 6, text[1], 48));
        base_buf_puts(out, ": ");
        put_best(out, p, "fastest", p->choice->fastest, false);
        put_best(out, p, "Cheapest", p->choice->cheapest, true);
    }
    if (isfinite(q->deadline_s) && p->choice->by_deadline == UINT32_MAX) {
        base_buf_printf(out, "By %s nothing is done with 90 %% certainty. ",
                        page_duration(q->deadline_s, text[0], 48));
    } else if (isfinite(q->deadline_s)) {
        const struct advise_candidate *c = &p->choice->candidates[p->choice->by_deadline];
        base_buf_printf(out, "By %s, <b>", page_duration(q->deadline_s, text[0], 48));
        put_choice(out, p, c);
        if (isnan(q->target))
            base_buf_printf(out, "</b> gets to a loss of %s (%s to %s), the lowest.",
                            page_value(c->loss, 6, text[0], 48),
                            page_value(c->low_loss, 6, text[1], 48),
                            page_value(c->high_loss, 6, text[2], 48));
        else
            base_buf_printf(out, "</b> is the cheapest that is done, %s, %.0f %% sure.",
                            cost_text(p, c->cost, text[1], 48), fmin(100 * c->in_time, 99));
    }
    base_buf_puts(out, "</p>\n");
}

/* ---- time against machines ---- */

struct times {
    const struct advise_page *page;
    struct page_line lines[LINES_MAX];
    float low[LINES_MAX][PAGE_POINTS_MAX], high[LINES_MAX][PAGE_POINTS_MAX];
    uint32_t algorithm[LINES_MAX];
    size_t count;
    double x_lo, x_hi, y_lo, y_hi;
};

static double place(double v, double lo, double hi)
{
    return log(v / lo) / log(hi / lo);
}

static void times_range(struct times *t)
{
    const struct advise_choice *ch = t->page->choice;

    t->x_lo = t->y_lo = (double)INFINITY;
    t->x_hi = t->y_hi = 0;
    for (uint32_t i = 0; i < ch->count; i++) {
        const struct advise_candidate *c = &ch->candidates[i];
        if (c->p.verdict != ADVISE_GOOD)
            continue;
        t->x_lo = fmin(t->x_lo, c->machines);
        t->x_hi = fmax(t->x_hi, c->machines);
        /* intervals may be wide: ten times beyond the line is enough to see that */
        t->y_lo = fmin(t->y_lo, fmax(c->low_s, c->seconds / 10));
        t->y_hi = fmax(t->y_hi, fmin(c->high_s, c->seconds * 10));
    }
    t->x_lo *= 0.93;
    t->x_hi *= 1.07;
    t->y_lo *= 0.9;
    t->y_hi *= 1.1;
}

static void times_line(struct times *t, uint32_t algorithm)
{
    const struct advise_choice *ch = t->page->choice;
    struct page_line *line = &t->lines[t->count];

    *line = (struct page_line){.name = t->page->fit->algorithms[algorithm].name,
                               .style = page_style_of(t->count)};
    for (uint32_t i = 0; i < ch->count && line->count < PAGE_POINTS_MAX; i++) {
        const struct advise_candidate *c = &ch->candidates[i];
        if (c->algorithm != algorithm || c->p.verdict != ADVISE_GOOD)
            continue;
        line->x[line->count] = (float)place(c->machines, t->x_lo, t->x_hi);
        line->y[line->count] = (float)place(c->seconds, t->y_lo, t->y_hi);
        t->low[t->count][line->count] = (float)fmax(place(c->low_s, t->y_lo, t->y_hi), 0);
        t->high[t->count][line->count] = (float)fmin(place(c->high_s, t->y_lo, t->y_hi), 1);
        line->count++;
    }
    t->algorithm[t->count] = algorithm;
    t->count += line->count > 0;
}

/* Areas of the intervals, and dots at what was measured. */
static void times_behind(void *ctx, struct base_buf *out)
{
    const struct times *t = ctx;
    const struct advise_choice *ch = t->page->choice;
    int dots = 0;

    for (size_t k = 0; k < t->count; k++) {
        const struct page_line *line = &t->lines[k];
        base_buf_printf(out, "<path class=\"iv f%zu\" d=\"", line->style % PAGE_COLOURS);
        for (size_t i = 0; i < line->count; i++)
            base_buf_printf(out, "%s%.1f %.1f", i == 0 ? "M" : "L", (double)line->x[i] * PAGE_WIDTH,
                            (1 - (double)t->high[k][i]) * PLOT_PX);
        for (size_t i = line->count; i-- > 0;)
            base_buf_printf(out, "L%.1f %.1f", (double)line->x[i] * PAGE_WIDTH,
                            (1 - (double)t->low[k][i]) * PLOT_PX);
        base_buf_puts(out, "Z\"/>");
        for (uint32_t i = 0; i < ch->count && dots < DOTS_MAX; i++) {
            const struct advise_candidate *c = &ch->candidates[i];
            if (c->algorithm != t->algorithm[k] || !c->p.measured)
                continue;
            /* a point of no length with a round end: a dot whatever the stretch */
            base_buf_printf(out, "<path class=\"pt s%zu\" d=\"M%.1f %.1fh0\"/>",
                            line->style % PAGE_COLOURS,
                            place(c->machines, t->x_lo, t->x_hi) * PAGE_WIDTH,
                            (1 - place(c->seconds, t->y_lo, t->y_hi)) * PLOT_PX);
            dots++;
        }
    }
}

static void put_legend(struct base_buf *out, const struct page_line *lines, size_t count)
{
    base_buf_puts(out, "<p class=\"legend\">");
    for (size_t k = 0; k < count; k++) {
        base_buf_puts(out, "<span>");
        page_legend_key(out, lines[k].style);
        base_buf_puts(out, " ");
        page_name(out, lines[k].name, PAGE_NAME_CHARS);
        base_buf_puts(out, "</span>");
    }
    base_buf_puts(out, "</p>\n");
}

static void put_times(struct base_buf *out, const struct advise_page *p)
{
    struct times t = {.page = p};
    struct page_chart chart = {.height = PLOT_PX, .mark = -1, .behind = times_behind, .ctx = &t};

    times_range(&t);
    for (uint32_t a = 0; a < p->fit->algorithm_count && t.count < LINES_MAX; a++)
        times_line(&t, a);
    if (t.count == 0 || !(t.x_hi > t.x_lo))
        return;
    page_axis_log(&chart.x, t.x_lo, t.x_hi);
    page_axis_log_time(&chart.y, t.y_lo, t.y_hi);
    chart.lines = t.lines;
    chart.line_count = t.count;
    page_panel_open(out, "times",
                    isnan(p->question->target) ? "Time to the loss of the deadline"
                                               : "Time to the target",
                    "against machines; areas: 90 % intervals; dots: measured");
    base_buf_puts(out, "<div class=\"plot\">");
    page_svg_open(out, PLOT_PX + PAGE_AXIS_PX);
    base_buf_puts(out, "Predicted time against machines, a line for each algorithm");
    page_svg_label_done(out);
    page_svg_chart(out, &chart);
    page_svg_close(out);
    base_buf_puts(out, "</div>");
    if (t.count > 1)
        put_legend(out, t.lines, t.count);
    page_panel_close(out);
}

/* ---- losses over time ---- */

struct losses {
    const struct advise_page *page;
    struct page_line lines[LINES_MAX];
    uint32_t candidate[LINES_MAX];
    size_t count;
    double x_hi, y_lo, y_hi;
};

static void losses_pick(struct losses *l, uint32_t index)
{
    for (size_t k = 0; k < l->count; k++)
        if (l->candidate[k] == index)
            return;
    if (index != UINT32_MAX && l->count < LINES_MAX)
        l->candidate[l->count++] = index;
}

/* Sooner there; without a target: lower by the deadline. */
static bool better(const struct advise_page *p, const struct advise_candidate *a,
                   const struct advise_candidate *b)
{
    return isnan(p->question->target) ? a->loss < b->loss : a->seconds < b->seconds;
}

/* The fastest, the cheapest, that of the deadline, and the fastest of every other algorithm. */
static void losses_choose(struct losses *l)
{
    const struct advise_choice *ch = l->page->choice;

    if (!isnan(l->page->question->target)) {
        losses_pick(l, ch->fastest);
        losses_pick(l, ch->cheapest);
    }
    losses_pick(l, ch->by_deadline);
    for (uint32_t a = 0; a < l->page->fit->algorithm_count; a++) {
        uint32_t best = UINT32_MAX;
        if (l->count > 0 && ch->candidates[l->candidate[0]].algorithm == a)
            continue;
        for (uint32_t i = 0; i < ch->count; i++)
            if (ch->candidates[i].algorithm == a && ch->candidates[i].p.verdict == ADVISE_GOOD &&
                (best == UINT32_MAX || better(l->page, &ch->candidates[i], &ch->candidates[best])))
                best = i;
        losses_pick(l, best);
    }
}

static double losses_end(const struct losses *l)
{
    return isnan(l->page->question->target) ? l->page->question->deadline_s
                                            : l->page->choice->candidates[l->candidate[0]].high_s;
}

/* Losses from the first to the target at equal steps of the logarithm of the distance to the
 * best. */
static void losses_line(struct losses *l, size_t k)
{
    const struct advise_page *p = l->page;
    const struct advise_candidate *c = &p->choice->candidates[l->candidate[k]];
    const struct advise_algorithm *a = &p->fit->algorithms[c->algorithm];
    double target = isnan(p->question->target) ? c->loss : p->question->target;
    double best = fmin(a->best, target), far = log(a->first - best);
    double near = log(fmax(target - best, 1e-6 * (a->first - best)));
    struct page_line *line = &l->lines[k];

    *line = (struct page_line){.style = page_style_of(k)};
    for (int i = 0; i <= CURVE_POINTS; i++) {
        double loss =
            i == CURVE_POINTS ? target : best + exp(far + (near - far) * i / CURVE_POINTS);
        double at = advise_seconds(p->fit, c->algorithm, c->machines, loss);
        if (!isfinite(at) || at > l->x_hi)
            break;
        float x = (float)(at / l->x_hi), y = (float)((loss - l->y_lo) / (l->y_hi - l->y_lo));
        if (y < 0 || y > 1 || (line->count > 0 && x < line->x[line->count - 1]))
            continue;
        line->x[line->count] = x;
        line->y[line->count++] = y;
    }
}

/* What was measured, thin. */
static void losses_behind(void *ctx, struct base_buf *out)
{
    const struct losses *l = ctx;
    int drawn = 0;

    for (size_t k = 0; k < l->count; k++) {
        const struct advise_candidate *c = &l->page->choice->candidates[l->candidate[k]];
        const struct advise_algorithm *a = &l->page->fit->algorithms[c->algorithm];
        for (size_t r = 0; r < a->curve_count && drawn < RUNS_DRAWN; r++) {
            const struct advise_curve *curve = &a->curves[r];
            size_t step = curve->count / CURVE_POINTS + 1, n = 0;
            if (curve->run->machines != c->machines)
                continue;
            drawn++;
            base_buf_printf(out, "<path class=\"pt s%zu\" d=\"", l->lines[k].style % PAGE_COLOURS);
            for (size_t i = 0; i < curve->count; i += step) {
                double x = curve->time_s[i] / l->x_hi;
                double y = (curve->loss[i] - l->y_lo) / (l->y_hi - l->y_lo);
                if (x > 1 || y > 1 || y < 0)
                    continue;
                base_buf_printf(out, "M%.1f %.1fh0", x * PAGE_WIDTH, (1 - y) * PLOT_PX);
                n++;
            }
            base_buf_puts(out, n == 0 ? "M0 0\"/>" : "\"/>");
        }
    }
}

static void put_losses(struct base_buf *out, const struct advise_page *p)
{
    struct losses l = {.page = p};
    struct page_chart chart = {.height = PLOT_PX, .mark = -1, .behind = losses_behind, .ctx = &l};
    char names[LINES_MAX][ADVISE_NAME_MAX + 24];

    losses_choose(&l);
    if (l.count == 0)
        return;
    l.x_hi = losses_end(&l);
    l.y_lo =
        isnan(p->question->target) ? p->fit->best_least : fmin(p->question->target, p->fit->lowest);
    l.y_hi = p->fit->first;
    if (!(l.x_hi > 0 && isfinite(l.x_hi) && l.y_hi > l.y_lo))
        return;
    page_axis_range(&chart.y, &l.y_lo, &l.y_hi);
    page_axis_time(&chart.x, l.x_hi);
    for (size_t k = 0; k < l.count; k++) {
        const struct advise_candidate *c = &p->choice->candidates[l.candidate[k]];
        losses_line(&l, k);
        snprintf(names[k], sizeof names[k], "%s on %u", name_of(p, c), c->machines);
        l.lines[k].name = names[k];
    }
    chart.lines = l.lines;
    chart.line_count = l.count;
    page_panel_open(out, "losses", "Loss over time", "lines: predicted; dots: measured");
    base_buf_puts(out, "<div class=\"plot\">");
    page_svg_open(out, PLOT_PX + PAGE_AXIS_PX);
    base_buf_puts(out, "Loss over time, predicted and measured, for the choices that matter");
    page_svg_label_done(out);
    page_svg_chart(out, &chart);
    page_svg_close(out);
    base_buf_puts(out, "</div>");
    put_legend(out, l.lines, l.count);
    page_panel_close(out);
}

/* ---- changes on the way ---- */

static void put_path(struct base_buf *out, const struct advise_page *p, const char *word,
                     const struct advise_path *path, bool cheap)
{
    char text[4][48];

    if (path->leg_count < 2)
        return;
    base_buf_printf(out,
                    "<p class=\"sub\">%s: %s (%s to %s), %s; %.0f %% %s than without a change.</p>"
                    "<table><thead><tr><th scope=\"col\">From loss</th><th scope=\"col\" "
                    "class=\"r\">to</th><th scope=\"col\">with</th><th scope=\"col\" class=\"r\">"
                    "time</th><th scope=\"col\" class=\"r\">cost</th></tr></thead><tbody>\n",
                    word, page_duration(path->seconds, text[0], 48),
                    page_duration(path->low_s, text[1], 48),
                    page_duration(path->high_s, text[2], 48), cost_text(p, path->cost, text[3], 48),
                    100 * path->gain, cheap ? "cheaper" : "faster");
    for (uint32_t i = 0; i < path->leg_count; i++) {
        const struct advise_leg *leg = &path->legs[i];
        base_buf_printf(out, "<tr><td>%s</td><td class=\"r\">%s</td><td>",
                        page_value(leg->from_loss, 6, text[0], 48),
                        page_value(leg->to_loss, 6, text[1], 48));
        put_choice(out, p, &p->choice->candidates[leg->candidate]);
        base_buf_printf(out, "</td><td class=\"r\">%s</td><td class=\"r\">%s</td></tr>\n",
                        page_duration(leg->seconds, text[0], 48),
                        cost_text(p, leg->cost, text[1], 48));
    }
    base_buf_puts(out, "</tbody></table>\n");
}

static void put_paths(struct base_buf *out, const struct advise_page *p)
{
    if (p->choice->fast.leg_count < 2 && p->choice->cheap.leg_count < 2)
        return;
    page_panel_open(out, "changes", "Changes on the way",
                    "what is carried over is the model at that loss");
    put_path(out, p, "Fastest", &p->choice->fast, false);
    put_path(out, p, "Cheapest", &p->choice->cheap, true);
    page_panel_close(out);
}

/* ---- tables ---- */

static const char *mark_of(const struct advise_candidate *c)
{
    return c->p.measured ? ", measured" : isfinite(c->at_most_s) ? ", at most" : "";
}

static void put_candidate(struct base_buf *out, const struct advise_page *p,
                          const struct advise_candidate *c)
{
    char text[4][48];

    if (isnan(p->question->target)) {
        base_buf_printf(out,
                        "</td><td class=\"r\">%u</td><td class=\"r\">%s%s</td><td class=\"r\">%s "
                        "to %s</td><td class=\"r\">%s</td></tr>\n",
                        c->machines, page_value(c->loss, 6, text[0], 48), mark_of(c),
                        page_value(c->low_loss, 6, text[1], 48),
                        page_value(c->high_loss, 6, text[2], 48),
                        cost_text(p, c->cost, text[3], 48));
        return;
    }
    base_buf_printf(out,
                    "</td><td class=\"r\">%u</td><td class=\"r\">%s%s</td><td class=\"r\">%s to "
                    "%s</td><td class=\"r\">%s</td><td class=\"r\">%.0f %%</td><td class=\"r\">"
                    "%.0f %%</td></tr>\n",
                    c->machines, page_duration(c->seconds, text[0], 48), mark_of(c),
                    page_duration(c->low_s, text[1], 48), page_duration(c->high_s, text[2], 48),
                    cost_text(p, c->cost, text[3], 48), fmin(100 * c->near_fastest, 99),
                    fmin(100 * c->near_cheapest, 99));
}

static void put_candidates(struct base_buf *out, const struct advise_page *p)
{
    const struct advise_choice *ch = p->choice;
    bool losses = isnan(p->question->target);

    page_panel_open(out, "candidates", "Candidates",
                    losses ? "losses by the deadline with 90 % intervals; machines run until then"
                           : "with 90 % intervals, and the probability of being within 5 % of the "
                             "best");
    base_buf_printf(out,
                    "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Algorithm</th>"
                    "<th scope=\"col\" class=\"r\">machines</th><th scope=\"col\" class=\"r\">"
                    "%s</th><th scope=\"col\" class=\"r\">5 %% to 95 %%</th><th scope=\"col\" "
                    "class=\"r\">cost</th>%s</tr></thead><tbody>\n",
                    losses ? "loss" : "time",
                    losses ? ""
                           : "<th scope=\"col\" class=\"r\">fastest</th>"
                             "<th scope=\"col\" class=\"r\">cheapest</th>");
    for (uint32_t i = 0; i < ch->count; i++) {
        const struct advise_candidate *c = &ch->candidates[i];
        bool best = i == ch->fastest || i == ch->cheapest || i == ch->by_deadline;
        if (c->p.verdict != ADVISE_GOOD ||
            !(best || ch->good <= ROWS_MAX || (c->machines & (c->machines - 1)) == 0))
            continue;
        base_buf_printf(out, "<tr%s><td>", best ? " class=\"best\"" : "");
        page_name(out, name_of(p, c), PAGE_NAME_CHARS);
        put_candidate(out, p, c);
    }
    base_buf_puts(out, "</tbody></table></div>\n");
    page_panel_close(out);
}

static void put_counts(struct base_buf *out, const uint32_t *counts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        base_buf_printf(out, "%s%u", i > 0 ? ", " : "", counts[i]);
    if (n == 0)
        base_buf_puts(out, "none");
}

static void put_fits(struct base_buf *out, const struct advise_page *p)
{
    char text[2][48];

    page_panel_open(
        out, "fits", "What it rests on",
        "how far off fits are at machine counts left out, for each doubling, and further "
        "on, for each doubling of iterations");
    base_buf_puts(out,
                  "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Algorithm</th><th "
                  "scope=\"col\">measured on</th><th scope=\"col\">diverged on</th><th "
                  "scope=\"col\" class=\"r\">lowest loss</th><th scope=\"col\" class=\"r\">best, "
                  "estimated</th><th scope=\"col\">form</th><th scope=\"col\" class=\"r\">off at "
                  "other counts</th><th scope=\"col\" class=\"r\">off ahead</th></tr></thead>"
                  "<tbody>\n");
    for (uint32_t i = 0; i < p->fit->algorithm_count; i++) {
        const struct advise_algorithm *a = &p->fit->algorithms[i];
        base_buf_puts(out, "<tr><td>");
        page_name(out, a->name, PAGE_NAME_CHARS);
        base_buf_puts(out, "</td><td>");
        put_counts(out, a->machines, a->counts);
        base_buf_puts(out, "</td><td>");
        put_counts(out, a->diverged, a->diverged_count);
        if (a->curve_count == 0) {
            base_buf_puts(out, "</td><td colspan=\"5\">nothing can be said</td></tr>\n");
            continue;
        }
        base_buf_printf(out,
                        "</td><td class=\"r\">%s</td><td class=\"r\">%s</td><td>%s</td><td "
                        "class=\"r\">%.0f %%</td><td class=\"r\">%.0f %%</td></tr>\n",
                        page_value(a->lowest, 6, text[0], 48), page_value(a->best, 6, text[1], 48),
                        a->model.form == ADVISE_FEATURES ? "features" : "stretched",
                        100 * a->off_steps[0], 100 * a->off_ahead);
    }
    base_buf_puts(out, "</tbody></table></div>\n");
    page_panel_close(out);
}

void advise_page_write(struct base_buf *out, const struct advise_page *p)
{
    page_head_open(out);
    base_buf_puts(out, "Advice from measured runs");
    page_head_close(out, MORE);
    page_top(out, "advice from measured runs");
    put_words(out, p);
    put_next(out, p);
    if (!isnan(p->question->target))
        put_times(out, p);
    put_losses(out, p);
    put_paths(out, p);
    put_candidates(out, p);
    put_fits(out, p);
    page_panel_open(out, "repeat", "To repeat this", NULL);
    base_buf_puts(out, "<p class=\"cmd mono\">");
    base_buf_html(out, p->command);
    base_buf_puts(out, "</p><dl class=\"facts\">\n");
    page_fact_open(out, "Runs");
    base_buf_printf(out, "%zu, %zu of them copies; hash %016llx", p->fit->runs->count,
                    p->fit->runs->copies, (unsigned long long)p->fit->runs->hash);
    page_fact_close(out);
    page_fact_open(out, "Version");
    base_buf_puts(out, "shoal ");
    base_buf_html(out, p->version);
    page_fact_close(out);
    base_buf_puts(out, "</dl>\n");
    page_panel_close(out);
    page_end(out);
}
