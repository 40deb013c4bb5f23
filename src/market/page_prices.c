/* page_prices.c - prices over time: those of the offers that were used, the cheapest there was, and
 * over them the path of the lead with its moves.
 *
 * Prices are those of all instances of the first job for an hour, times how much faster the unit
 * kind is: what an hour's work of that kind costs on each offer. Each line is a mean over each of
 * MARKET_PAGE_BINS pieces of the time, with gaps where nothing is offered. The axis ends above what
 * was paid and what staying costs; lines that go higher are cut there. */
#include "market/page_parts.h"

#include "market/date.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PLOT_PX = 280, AXIS_PX = 26, HOP_APART = 2, HOPS_TALL = 80, STAYS_DRAWN_MAX = 2000 };

struct plot {
    const struct market_page *page;
    double *price;    /* (places, bins); NAN: not offered */
    double *cheapest; /* by bin, over all offers that may be used */
    double top;
};

/* The mean of an offer's price over each bin. */
static void sample(const struct market_page *page, uint32_t offer, double *bins)
{
    const struct market_story *s = page->story;
    double step = page->span_s / MARKET_PAGE_BINS;
    size_t cursor = 0;

    for (size_t b = 0; b < MARKET_PAGE_BINS; b++) {
        double at = s->from_s + step * (double)b, end = at + step, sum = 0, known = 0;
        while (at < end) {
            double until;
            double usd = market_unit_price(s, 0, offer,
                                           market_price_at(s->prices, offer, at, &cursor, &until));
            until = fmin(until, end);
            if (!isnan(usd)) {
                sum += usd * (until - at);
                known += until - at;
            }
            at = until;
        }
        bins[b] = known > 0 ? sum / known * s->jobs[0].instances : (double)NAN;
    }
}

static double price_now(const struct market_page *page, uint32_t offer, double at_s)
{
    size_t cursor = 0;

    return market_unit_price(page->story, 0, offer,
                             market_price_at(page->story->prices, offer, at_s, &cursor, NULL)) *
           page->story->jobs[0].instances;
}

static shoal_status sample_all(struct plot *plot)
{
    const struct market_page *page = plot->page;
    const struct market_story *s = page->story;
    double one[MARKET_PAGE_BINS];

    plot->price = base_calloc(page->out->alloc, (MARKET_PAGE_PLACES + 1) * MARKET_PAGE_BINS,
                              sizeof *plot->price);
    if (plot->price == NULL)
        return SHOAL_E_NOMEM;
    plot->cheapest = plot->price + MARKET_PAGE_PLACES * MARKET_PAGE_BINS;
    for (size_t b = 0; b < MARKET_PAGE_BINS; b++)
        plot->cheapest[b] = NAN;
    for (size_t i = 0; i < page->place_count; i++)
        sample(page, page->places[i], plot->price + i * MARKET_PAGE_BINS);
    for (uint32_t o = 0; o < s->prices->offer_count; o++) {
        if (!s->allowed[o] || !(s->jobs[0].speed[s->prices->offers[o].kind] > 0))
            continue;
        sample(page, o, one);
        for (size_t b = 0; b < MARKET_PAGE_BINS; b++)
            plot->cheapest[b] = fmin(plot->cheapest[b], one[b]);
    }
    return SHOAL_OK;
}

/* Above what the lead pays, and what the fixed offer costs while somebody works. */
static double find_top(const struct plot *plot)
{
    const struct market_page *page = plot->page;
    const struct market_story *s = page->story;
    const struct market_result *lead = &s->runs[s->lead].result;
    double top = 0;

    for (size_t b = 0; b < MARKET_PAGE_BINS; b++)
        top = fmax(top, isnan(plot->cheapest[b]) ? 0 : plot->cheapest[b]);
    for (size_t i = 0; i < lead->jobs[0].stay_count; i++) {
        const struct market_stay *stay = &lead->jobs[0].stays[i];
        double usd = price_now(page, stay->offer, stay->from_s);
        top = fmax(top, isnan(usd) ? 0 : usd);
    }
    uint32_t fixed = s->fixed != SIZE_MAX ? market_run_first(&s->runs[s->fixed]) : MARKET_NONE;
    for (size_t i = 0; i < page->place_count; i++)
        for (size_t b = 0; b < MARKET_PAGE_BINS && page->places[i] == fixed; b++) {
            double usd = plot->price[i * MARKET_PAGE_BINS + b];
            top = fmax(top, isnan(usd) ? 0 : usd);
        }
    return top * 1.08;
}

static double height_of(const struct plot *plot, double usd)
{
    return fmax(PLOT_PX * (1 - usd / plot->top), 0);
}

static void draw_line(const struct plot *plot, struct base_buf *out, const double *bins,
                      const char *class)
{
    double step = (double)PAGE_WIDTH / MARKET_PAGE_BINS, last = NAN;

    base_buf_printf(out, "<path class=\"%s\" d=\"", class);
    for (size_t b = 0; b < MARKET_PAGE_BINS; b++) {
        double x = step * (double)b;
        if (isnan(bins[b])) {
            if (!isnan(last))
                base_buf_printf(out, "H%.1f", x);
        } else {
            double y = height_of(plot, bins[b]);
            if (isnan(last))
                base_buf_printf(out, "M%.1f %.1f", x, y);
            else if (fabs(y - last) >= 0.05)
                base_buf_printf(out, "H%.1fV%.1f", x, y);
        }
        last = isnan(bins[b]) ? (double)NAN : height_of(plot, bins[b]);
    }
    if (!isnan(last))
        base_buf_printf(out, "H%d", PAGE_WIDTH);
    base_buf_puts(out, "\"/>");
}

/* The first job's way through the prices: each stay at its price, joined where it went on at
 * once. */
static void draw_path(const struct plot *plot, struct base_buf *out)
{
    const struct market_page *page = plot->page;
    const struct market_outcome *o = &page->story->runs[page->story->lead].result.jobs[0];
    double step_s = page->span_s / MARKET_PAGE_BINS, came_s = -INFINITY;

    base_buf_puts(out, "<path class=\"path\" d=\"");
    for (size_t i = 0; i < o->stay_count; i++) {
        const struct market_stay *stay = &o->stays[i];
        size_t cursor = 0;
        if (o->stay_count > STAYS_DRAWN_MAX && stay->to_s - stay->from_s < step_s / 4)
            continue; /* too short to be seen among so many */
        bool joined = stay->from_s - came_s < step_s;
        double first = floor((stay->from_s - page->story->from_s) / step_s);
        for (double at = stay->from_s; at < stay->to_s; first++) {
            double usd = market_unit_price(
                page->story, 0, stay->offer,
                market_price_at(page->story->prices, stay->offer, at, &cursor, NULL));
            double x = market_page_x(page, at) * PAGE_WIDTH;
            double y = height_of(plot, usd * page->story->jobs[0].instances);
            if (!isnan(usd))
                base_buf_printf(out, joined ? "H%.1fV%.1f" : "M%.1f %.1f", x, y);
            joined = joined || !isnan(usd);
            at = fmin(page->story->from_s + (first + 1) * step_s, stay->to_s);
        }
        base_buf_printf(out, joined ? "H%.1f" : "M%.1f 0",
                        market_page_x(page, stay->to_s) * PAGE_WIDTH);
        came_s = stay->to_s;
    }
    base_buf_puts(out, "\"/>");
}

/* A stroke where the first job changed its offer; of several in one place the first. */
static void draw_hops(const struct plot *plot, struct base_buf *out)
{
    const struct market_page *page = plot->page;
    const struct market_outcome *o = &page->story->runs[page->story->lead].result.jobs[0];
    bool many = o->stay_count > HOPS_TALL;
    double tall = many ? 6 : 14, last = -INFINITY;

    base_buf_printf(out, "<path class=\"hop%s\" d=\"", many ? " many" : "");
    for (size_t i = 1; i < o->stay_count; i++) {
        const struct market_stay *stay = &o->stays[i];
        double usd = price_now(page, stay->offer, stay->from_s);
        double x = market_page_x(page, stay->from_s) * PAGE_WIDTH;
        if (stay->offer == o->stays[i - 1].offer || isnan(usd) || x - last < HOP_APART)
            continue;
        base_buf_printf(out, "M%.1f %.1fv%.0f", x, height_of(plot, usd) - tall / 2, tall);
        last = x;
    }
    base_buf_puts(out, "\"/>");
}

static void draw(void *ctx, struct base_buf *out)
{
    const struct plot *plot = ctx;
    const struct market_page *page = plot->page;

    draw_path(plot, out);
    for (size_t i = page->place_count; i-- > 0;) {
        char class[64];
        snprintf(class, sizeof class, "ed c%zu d%zu", i, i);
        draw_line(plot, out, plot->price + i * MARKET_PAGE_BINS, class);
    }
    draw_line(plot, out, plot->cheapest, "low");
    draw_hops(plot, out);
}

static void legend(const struct market_page *page)
{
    struct base_buf *out = page->out;

    base_buf_puts(out, "<ul class=\"legend\"><li><svg width=\"28\" height=\"8\" "
                       "aria-hidden=\"true\"><path class=\"path\" d=\"M0 4H28\"/></svg>what ");
    market_page_strategy(out, &page->story->runs[page->story->lead]);
    base_buf_puts(out, page->story->job_count == 1 ? " pays, a stroke at each move</li>"
                                                   : " pays for its first job</li>");
    base_buf_puts(out,
                  "<li><svg width=\"28\" height=\"8\" aria-hidden=\"true\"><path class=\"low\" "
                  "d=\"M0 4H28\"/></svg>the cheapest there is</li>");
    for (size_t i = 0; i < page->place_count; i++) {
        base_buf_printf(out,
                        "<li><svg width=\"28\" height=\"8\" aria-hidden=\"true\"><path class=\"ed "
                        "c%zu d%zu\" d=\"M0 4H28\"/></svg>",
                        i, i);
        market_page_place(out, page, page->places[i]);
        base_buf_puts(out, "</li>");
    }
    base_buf_puts(out, "</ul>");
}

static void table(const struct plot *plot)
{
    const struct market_page *page = plot->page;
    struct base_buf *out = page->out;
    char text[64];

    page_details_open(out);
    base_buf_puts(out, "<thead><tr><th scope=\"col\">From</th><th scope=\"col\" "
                       "class=\"r\">cheapest</th>");
    for (size_t i = 0; i < page->place_count; i++) {
        base_buf_puts(out, "<th scope=\"col\" class=\"r\">");
        market_page_place(out, page, page->places[i]);
        base_buf_puts(out, "</th>");
    }
    base_buf_puts(out, "</tr></thead><tbody>");
    for (size_t row = 0; row < PAGE_TABLE_ROWS; row++) {
        size_t b = row * MARKET_PAGE_BINS / PAGE_TABLE_ROWS;
        double at = page->story->from_s + page->span_s * (double)b / MARKET_PAGE_BINS;
        base_buf_printf(out, "<tr><td>%s</td><td class=\"r\">",
                        market_date_format(at, MARKET_DATE_MINUTE, text, sizeof text));
        base_buf_printf(out, "%s</td>", page_usd(plot->cheapest[b], text, sizeof text));
        for (size_t i = 0; i < page->place_count; i++)
            base_buf_printf(out, "<td class=\"r\">%s</td>",
                            page_usd(plot->price[i * MARKET_PAGE_BINS + b], text, sizeof text));
        base_buf_puts(out, "</tr>");
    }
    base_buf_puts(out, "</tbody>");
    page_details_close(out);
}

shoal_status market_page_prices(const struct market_page *page)
{
    const struct market_story *s = page->story;
    struct plot plot = {.page = page};
    struct base_buf *out = page->out;
    shoal_status st = sample_all(&plot);

    if (st != SHOAL_OK)
        return st;
    struct page_chart chart = {.height = PLOT_PX, .mark = -1, .behind = draw, .ctx = &plot};
    double top = find_top(&plot);
    if (s->job_count == 1 && s->jobs[0].deadline_s <= s->to_s) {
        chart.mark = market_page_x(page, s->jobs[0].deadline_s);
        chart.mark_text = "due";
        chart.mark_plain = true;
    }
    double low = 0;
    plot.top = top > 0 ? top : 1;
    page_axis_range(&chart.y, &low, &plot.top);
    market_page_dollars(&chart.y);
    market_page_dates(page, &chart.x);
    page_panel_open(out, "prices", "Prices, and the way through them", NULL);
    base_buf_puts(out, "<p class=\"dim small\">US dollars for the work that ");
    if (s->jobs[0].instances > 1)
        base_buf_printf(out, "%u ", s->jobs[0].instances);
    page_name(out, s->unit != MARKET_NONE ? market_names_get(&s->prices->kinds, s->unit) : "it",
              PAGE_NAME_CHARS);
    base_buf_puts(out, s->jobs[0].instances > 1 ? " do in an hour</p>" : " does in an hour</p>");
    legend(page);
    base_buf_puts(out, "<div class=\"plot\">");
    page_svg_open(out, PLOT_PX + AXIS_PX);
    base_buf_puts(out, "Prices over time of the offers used most, the cheapest one, and what ");
    market_page_strategy(out, &s->runs[s->lead]);
    base_buf_puts(out, " paid; the table has the numbers");
    page_svg_label_done(out);
    page_svg_chart(out, &chart);
    page_svg_close(out);
    base_buf_puts(out, "</div>");
    table(&plot);
    page_panel_close(out);
    base_free(out->alloc, plot.price);
    return SHOAL_OK;
}
