/* page_time.c - who was where and what it added up to: a lane for each strategy (or job of a
 * fleet), cost over time, the moves one by one, and a fleet's jobs. */
#include "market/page_parts.h"

#include "base/text.h"
#include "market/date.h"
#include <math.h>

enum {
    LANE_PX = 22,
    LANE_GAP_PX = 8,
    LANES_MAX = 24,
    STAYS_MAX = 1500, /* drawn in one lane */
    MOVES_MAX = 200,
    MOVES_OPEN = 24, /* more of them are shown when asked for */
    JOBS_MAX = 200,
    COST_PX = 220,
    AXIS_PX = 26
};

/* ---- who was where ---- */

struct lane {
    const char *name;
    const struct market_outcome *outcome;
};

static size_t make_lanes(const struct market_page *page, struct lane *lanes)
{
    const struct market_story *s = page->story;
    size_t count = 0;

    if (s->job_count == 1)
        for (size_t i = 0; i < s->run_count && count < LANES_MAX; i++)
            lanes[count++] = (struct lane){s->runs[i].label, &s->runs[i].result.jobs[0]};
    else
        for (size_t i = 0; i < s->job_count && count < LANES_MAX; i++)
            lanes[count++] = (struct lane){s->jobs[i].name, &s->runs[s->lead].result.jobs[i]};
    return count;
}

/* Stays on one offer with hardly a gap between them are one. */
static void draw_lane(const struct market_page *page, const struct lane *lane, int y)
{
    const struct market_outcome *o = lane->outcome;
    struct base_buf *out = page->out;
    double hair_s = page->span_s / PAGE_WIDTH / 2;
    size_t drawn = 0;

    base_buf_printf(out, "<path class=\"sunk\" d=\"M0 %dh%dv%dh-%dz\"/>", y, PAGE_WIDTH, LANE_PX,
                    PAGE_WIDTH);
    for (size_t i = 0; i < o->stay_count && drawn < STAYS_MAX;) {
        size_t last = i;
        while (last + 1 < o->stay_count && o->stays[last + 1].offer == o->stays[i].offer &&
               o->stays[last + 1].from_s - o->stays[last].to_s < hair_s)
            last++;
        double x0 = market_page_x(page, o->stays[i].from_s) * PAGE_WIDTH;
        double x1 = market_page_x(page, o->stays[last].to_s) * PAGE_WIDTH;
        char from[32], to[32];
        base_buf_printf(out, "<path class=\"stay c%u\" d=\"M%.1f %dH%.1fv%dH%.1fz\"><title>",
                        market_page_colour(page, o->stays[i].offer), x0, y, fmax(x1, x0 + 0.3),
                        LANE_PX, x0);
        market_page_place(out, page, o->stays[i].offer);
        base_buf_printf(
            out, ", %s to %s</title></path>",
            market_date_format(o->stays[i].from_s, MARKET_DATE_MINUTE, from, sizeof from),
            market_date_format(o->stays[last].to_s, MARKET_DATE_MINUTE, to, sizeof to));
        drawn++;
        i = last + 1;
    }
}

static void place_legend(const struct market_page *page)
{
    struct base_buf *out = page->out;

    base_buf_puts(out, "<ul class=\"legend\">");
    for (size_t i = 0; i < page->place_count; i++) {
        base_buf_printf(out,
                        "<li><svg width=\"12\" height=\"12\" class=\"c%zu\" aria-hidden=\"true\">%s"
                        "</svg>",
                        i, page_shapes[i]);
        market_page_place(out, page, page->places[i]);
        base_buf_puts(out, "</li>");
    }
    if (page->others)
        base_buf_printf(out,
                        "<li><svg width=\"12\" height=\"12\" class=\"c%d\" "
                        "aria-hidden=\"true\">%s</svg>others</li>",
                        PAGE_COLOURS - 1, page_shapes[PAGE_COLOURS - 1]);
    base_buf_puts(out, "</ul>");
}

void market_page_places(const struct market_page *page)
{
    struct lane lanes[LANES_MAX];
    size_t count = make_lanes(page, lanes);
    int height = (int)count * (LANE_PX + LANE_GAP_PX) - LANE_GAP_PX;
    struct base_buf *out = page->out;
    struct page_axis axis;
    bool fleet = page->story->job_count > 1;

    market_page_dates(page, &axis);
    page_panel_open(out, "places", fleet ? "Which job was where" : "Who was where",
                    page->story->job_count > LANES_MAX ? "the first jobs; empty is holding nothing"
                                                       : "empty is holding nothing");
    place_legend(page);
    base_buf_puts(out, "<div class=\"plot lanes who\">");
    page_svg_open(out, height + AXIS_PX);
    base_buf_puts(out, fleet ? "One lane for each job" : "One lane for each strategy");
    base_buf_puts(out, ": the places it was in over time. The table of moves has them in words");
    page_svg_label_done(out);
    base_buf_printf(out, "<svg viewBox=\"0 0 %d %d\" height=\"%d\" preserveAspectRatio=\"none\">",
                    PAGE_WIDTH, height, height);
    for (size_t i = 0; i < count; i++)
        draw_lane(page, &lanes[i], (int)i * (LANE_PX + LANE_GAP_PX));
    base_buf_puts(out, "</svg>");
    for (size_t i = 0; i < count; i++) {
        base_buf_printf(out, "<text class=\"e on\" x=\"0\" dx=\"-8\" y=\"%d\">",
                        (int)i * (LANE_PX + LANE_GAP_PX) + 15);
        page_name(out, lanes[i].name, 13);
        base_buf_puts(out, "</text>");
    }
    page_svg_x_labels(out, &axis, height + 18);
    page_svg_close(out);
    base_buf_puts(out, "</div>");
    page_panel_close(out);
}

/* ---- cost over time ---- */

/* A stay as it was paid for: price after price, scaled to what it cost. */
static void spend_stay(const struct market_page *page, const struct market_stay *stay, double *bins)
{
    const struct market_prices *prices = page->story->prices;
    size_t cursor = 0;
    double all = 0;

    market_page_spend(page, bins, stay->from_s, stay->from_s, stay->egress_usd);
    for (int pass = 0; pass < 2; pass++) {
        double at = stay->from_s;
        while (at < stay->to_s) {
            double until, usd = market_price_at(prices, stay->offer, at, &cursor, &until);
            until = fmin(until, stay->to_s);
            usd = isnan(usd) ? 0 : usd * (until - at);
            if (pass == 0)
                all += usd;
            else if (all > 0)
                market_page_spend(page, bins, at, until, usd * stay->usd / all);
            at = until;
        }
    }
    if (!(all > 0))
        market_page_spend(page, bins, stay->from_s, stay->to_s, stay->usd);
}

static void cost_line(const struct market_page *page, size_t run, struct page_line *line)
{
    const struct market_story *s = page->story;
    const struct market_run *r = &s->runs[run];
    double bins[MARKET_PAGE_BINS] = {0}, sum = 0, end_s = s->from_s;

    for (size_t j = 0; j < s->job_count; j++)
        for (size_t i = 0; i < r->result.jobs[j].stay_count; i++) {
            spend_stay(page, &r->result.jobs[j].stays[i], bins);
            end_s = fmax(end_s, r->result.jobs[j].stays[i].to_s);
        }
    *line = (struct page_line){.name = r->label, .style = page_style_of(run)};
    for (size_t b = 0; b <= MARKET_PAGE_BINS; b++) {
        double x = (double)b / MARKET_PAGE_BINS, at = s->from_s + page->span_s * x;
        line->x[line->count] = (float)x;
        line->y[line->count++] = (float)sum;
        if (at >= end_s)
            break;
        sum += b < MARKET_PAGE_BINS ? bins[b] : 0;
    }
}

static void cost_table(const struct market_page *page, const struct page_line *lines, double top)
{
    const struct market_story *s = page->story;
    struct base_buf *out = page->out;
    char text[64];

    page_details_open(out);
    base_buf_puts(out, "<thead><tr><th scope=\"col\">Until</th>");
    for (size_t i = 0; i < s->run_count; i++) {
        base_buf_puts(out, "<th scope=\"col\" class=\"r\">");
        market_page_strategy(out, &s->runs[i]);
        base_buf_puts(out, "</th>");
    }
    base_buf_puts(out, "</tr></thead><tbody>");
    for (size_t row = 1; row <= PAGE_TABLE_ROWS; row++) {
        size_t b = row * MARKET_PAGE_BINS / PAGE_TABLE_ROWS;
        double at = s->from_s + page->span_s * (double)b / MARKET_PAGE_BINS;
        base_buf_printf(out, "<tr><td>%s</td>",
                        market_date_format(at, MARKET_DATE_MINUTE, text, sizeof text));
        for (size_t i = 0; i < s->run_count; i++) {
            size_t p = b < lines[i].count ? b : lines[i].count - 1;
            base_buf_printf(out, "<td class=\"r\">%s</td>",
                            page_usd((double)lines[i].y[p] * top, text, sizeof text));
        }
        base_buf_puts(out, "</tr>");
    }
    base_buf_puts(out, "</tbody>");
    page_details_close(out);
}

shoal_status market_page_cost(const struct market_page *page)
{
    const struct market_story *s = page->story;
    struct base_buf *out = page->out;
    struct page_line *lines = base_calloc(out->alloc, s->run_count, sizeof *lines);
    double most = 0;

    if (lines == NULL)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < s->run_count; i++) {
        cost_line(page, i, &lines[i]);
        most = fmax(most, (double)lines[i].y[lines[i].count - 1]);
    }
    struct page_chart chart = {
        .height = COST_PX, .lines = lines, .line_count = s->run_count, .mark = -1};
    double top = page_axis_count(&chart.y, most > 0 ? most : 1);
    market_page_dollars(&chart.y);
    for (size_t i = 0; i < s->run_count; i++)
        for (size_t p = 0; p < lines[i].count; p++)
            lines[i].y[p] = (float)((double)lines[i].y[p] / top);
    market_page_dates(page, &chart.x);
    page_panel_open(out, "cost", "Cost over time", "US dollars spent so far, all jobs");
    base_buf_puts(out, "<ul class=\"legend\">");
    for (size_t i = 0; i < s->run_count; i++) {
        base_buf_puts(out, "<li>");
        page_legend_key(out, page_style_of(i));
        base_buf_puts(out, "<b>");
        market_page_strategy(out, &s->runs[i]);
        base_buf_puts(out, "</b></li>");
    }
    base_buf_puts(out, "</ul><div class=\"plot\">");
    page_svg_open(out, COST_PX + AXIS_PX);
    base_buf_puts(out, "US dollars spent over time, one line for each strategy");
    page_svg_label_done(out);
    page_svg_chart(out, &chart);
    page_svg_close(out);
    base_buf_puts(out, "</div>");
    cost_table(page, lines, top);
    page_panel_close(out);
    base_free(out->alloc, lines);
    return SHOAL_OK;
}

/* ---- the moves, the jobs ---- */

void market_page_moves(const struct market_page *page)
{
    const struct market_story *s = page->story;
    const struct market_outcome *o = &s->runs[s->lead].result.jobs[0];
    struct base_buf *out = page->out;
    char text[64];

    page_panel_open(out, "moves", "Where it was, stay by stay",
                    s->job_count > 1 ? "of the first job" : NULL);
    if (o->stay_count > MOVES_OPEN)
        base_buf_printf(out, "<details><summary>Show all %zu</summary>", o->stay_count);
    base_buf_puts(out, "<div class=\"scroll\"><table class=\"narrow\"><thead><tr><th "
                       "scope=\"col\">From</th><th scope=\"col\">Place</th><th scope=\"col\" "
                       "class=\"r\">For</th><th scope=\"col\" class=\"r\">$/h</th><th "
                       "scope=\"col\" class=\"r\">Cost</th><th scope=\"col\">Ended by</th></tr>"
                       "</thead><tbody>\n");
    for (size_t i = 0; i < o->stay_count && i < MOVES_MAX; i++) {
        const struct market_stay *stay = &o->stays[i];
        double hours = (stay->to_s - stay->from_s) / 3600;
        base_buf_printf(out, "<tr><td>%s</td><td>",
                        market_date_format(stay->from_s, MARKET_DATE_MINUTE, text, sizeof text));
        market_page_place(out, page, stay->offer);
        base_buf_printf(out, "</td><td class=\"r\">%s</td>",
                        page_duration(stay->to_s - stay->from_s, text, sizeof text));
        base_buf_printf(out, "<td class=\"r\">%s</td>",
                        page_usd(hours > 0 ? stay->usd / hours : (double)NAN, text, sizeof text));
        base_buf_printf(out, "<td class=\"r\">%s</td><td>%s</td></tr>\n",
                        page_usd(stay->usd + stay->egress_usd, text, sizeof text),
                        market_end_text(o, i));
    }
    base_buf_puts(out, "</tbody></table></div>");
    if (o->stay_count > MOVES_MAX)
        base_buf_printf(out, "<p class=\"dim small\">and %zu more; --json --moves has them all</p>",
                        o->stay_count - MOVES_MAX);
    if (o->stay_count > MOVES_OPEN)
        base_buf_puts(out, "</details>");
    page_panel_close(out);
}

void market_page_jobs(const struct market_page *page)
{
    const struct market_story *s = page->story;
    const struct market_result *r = &s->runs[s->lead].result;
    struct base_buf *out = page->out;
    char text[64];

    page_panel_open(out, "jobs", "The jobs", NULL);
    base_buf_puts(out, "<div class=\"scroll\"><table class=\"narrow\"><thead><tr><th "
                       "scope=\"col\">Job</th><th scope=\"col\" class=\"r\">Cost</th><th "
                       "scope=\"col\">Finish</th><th scope=\"col\">Deadline</th><th scope=\"col\" "
                       "class=\"r\">Moves</th><th scope=\"col\" class=\"r\">Interrupted</th></tr>"
                       "</thead><tbody>\n");
    for (size_t i = 0; i < s->job_count && i < JOBS_MAX; i++) {
        const struct market_outcome *o = &r->jobs[i];
        base_buf_puts(out, "<tr><td class=\"name\">");
        page_name(out, s->jobs[i].name, PAGE_NAME_CHARS);
        base_buf_printf(out, "</td><td class=\"r\">%s</td>", page_usd(o->usd, text, sizeof text));
        base_buf_printf(out, "<td>%s</td>",
                        isnan(o->finish_s) ? "not done"
                                           : market_date_format(o->finish_s, MARKET_DATE_MINUTE,
                                                                text, sizeof text));
        base_buf_printf(
            out, "<td>%s%s</td>",
            isfinite(s->jobs[i].deadline_s)
                ? market_date_format(s->jobs[i].deadline_s, MARKET_DATE_MINUTE, text, sizeof text)
                : "\xe2\x80\x93",
            o->missed ? ", missed" : "");
        base_buf_printf(out, "<td class=\"r\">%u</td><td class=\"r\">%u</td></tr>\n", o->moves,
                        o->interruptions);
    }
    base_buf_puts(out, "</tbody></table></div>");
    if (s->job_count > JOBS_MAX)
        base_buf_printf(out, "<p class=\"dim small\">and %zu more; --json has them all</p>",
                        s->job_count - JOBS_MAX);
    page_panel_close(out);
}
