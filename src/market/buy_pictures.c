/* buy_pictures.c - what a page shows of buying beside the figures: what strategies trade of cost for time, prices
 * and the way of the first strategy through them, what was held when, and what was spent by when (see buy.h).
 *
 * Time is cut into BINS pieces: a price is the mean over a piece, and a lane with too many stays shows where most of
 * each piece was spent. So a page stays small whatever the number of jobs, offers and moves.
 * Tests: tests/unit/market/test_buy.c. */
#include "market/buy.h"
#include "base/assert.h"

#include <math.h>

enum {
    PLACES = 5, /* offers that have a colour of their own, and a line of prices */
    CHEAPEST_COLOUR = PLACES,
    BINS = 240,
    POINTS_ALL = 1500, /* of the lines of a picture */
    RECTS_ALL = 1500,
    LANES_MAX = 24
};

struct drawing {
    const struct market_buy *w;
    struct page_made *made;
    double span_s, bin_s;
    uint32_t places[PLACES]; /* offers, the most used first: of the lead, then of the others */
    size_t place_count;
    bool others; /* somebody was elsewhere */
    size_t mark_count;
    const shoal_mark *due; /* the deadline of the only job */
};

/* ---- parts ---- */

static shoal_picture *add_picture(const struct drawing *d, shoal_picture_type type,
                                  const char *name, const char *title, const char *note,
                                  size_t series)
{
    shoal_picture *picture = page_picture(d->made, type, name, title, note, series);

    if (picture == NULL)
        return NULL;
    picture->x = (shoal_axis){.title = "time",
                              .unit = SHOAL_UNIT_DATE,
                              .low = 0,
                              .high = d->span_s,
                              .from = d->w->from_s};
    picture->marks = d->due;
    picture->mark_count = d->mark_count;
    return picture;
}

/* A line of `count` points, at the ends of as many pieces of time; *out_y are its values. NULL when memory is
 * short. */
static shoal_series *add_line(const struct drawing *d, shoal_picture *picture, const char *name,
                              size_t colour, size_t count, float **out_y)
{
    shoal_series *line = page_series(d->made, picture, name, (uint32_t)colour, count);

    for (size_t i = 0; line != NULL && i < count; i++)
        page_point(line, d->span_s * (double)i / (double)(count - 1), 0);
    *out_y = line == NULL ? NULL : (float *)(uintptr_t)line->y;
    return line;
}

/* A stretch of time that lies within one bin. */
struct piece {
    size_t bin;
    double from_s, to_s;
};

/* The piece that begins where the last one ended; false at `to_s`. It begins with that of to_s = the start. */
static bool next_piece(const struct drawing *d, double to_s, struct piece *p)
{
    double start_s = d->w->from_s;
    double bin = fmin(fmax(floor((p->to_s - start_s) / d->bin_s), 0), BINS - 1);

    if (!(p->to_s < to_s))
        return false;
    if (start_s + d->bin_s * (bin + 1) <= p->to_s && bin < BINS - 1) /* rounded */
        bin++;
    p->from_s = p->to_s;
    p->bin = (size_t)bin;
    p->to_s = bin < BINS - 1 ? fmin(to_s, start_s + d->bin_s * (bin + 1)) : to_s;
    return true;
}

/* US dollars an hour times seconds that the first job's work costs on an offer; *known_s grows by how long it had a
 * price. */
static double price_over(const struct market_buy *w, uint32_t offer, double from_s, double to_s,
                         size_t *cursor, double *known_s)
{
    double sum = 0;

    while (from_s < to_s) {
        double until_s;
        double usd_h = market_buy_unit_price(
            w, 0, offer, market_price_at(w->prices, offer, from_s, cursor, &until_s));
        until_s = fmin(until_s, to_s);
        if (!isnan(usd_h)) {
            sum += usd_h * (until_s - from_s);
            *known_s += until_s - from_s;
        }
        from_s = until_s;
    }
    return sum;
}

/* ---- which places have a colour ---- */

/* Time of every run on each offer; the lead's counts a hundredfold, so that its places come first. */
static void weigh(const struct market_buy *w, double *time_s)
{
    for (size_t r = 0; r < w->run_count; r++)
        for (size_t j = 0; j < w->job_count; j++) {
            const struct market_outcome *o = &w->runs[r].result.jobs[j];
            for (size_t i = 0; i < o->stay_count; i++)
                time_s[o->stays[i].offer] +=
                    (o->stays[i].to_s - o->stays[i].from_s) * (r == 0 ? 100 : 1);
        }
}

/* The offer the fixed run stays on has a colour in any case. */
static void choose_places(struct drawing *d)
{
    const struct market_buy *w = d->w;
    size_t count = w->prices->offer_count;
    double *time_s = page_made_alloc(d->made, count, sizeof *time_s);
    uint32_t kept = w->fixed != SIZE_MAX ? market_buy_first(&w->runs[w->fixed]) : MARKET_NONE;

    if (time_s == NULL)
        return;
    weigh(w, time_s);
    while (d->place_count < PLACES) {
        size_t best = count;
        for (size_t o = 0; o < count; o++)
            if (time_s[o] > 0 && (best == count || time_s[o] > time_s[best]))
                best = o;
        if (d->place_count + 1 == PLACES && kept != MARKET_NONE && time_s[kept] > 0)
            best = kept;
        if (best == count)
            break;
        d->places[d->place_count++] = (uint32_t)best;
        time_s[best] = 0;
    }
    for (size_t o = 0; o < count; o++)
        d->others = d->others || time_s[o] > 0;
}

/* Which colour an offer has: its place, or grey. */
static size_t colour_of(const struct drawing *d, uint32_t offer)
{
    size_t i = 0;

    while (i < d->place_count && d->places[i] != offer)
        i++;
    return i < d->place_count ? i : SHOAL_GREY;
}

/* ---- cost against time ---- */

/* A dot for each strategy that did all the work. */
static void draw_trade(const struct drawing *d)
{
    const struct market_buy *w = d->w;
    double first_s = INFINITY, last_s = -INFINITY;
    size_t count = 0;

    for (size_t i = 0; i < w->run_count; i++) {
        if (isnan(w->runs[i].sums.finish_s))
            continue;
        first_s = fmin(first_s, w->runs[i].sums.finish_s);
        last_s = fmax(last_s, w->runs[i].sums.finish_s);
        count++;
    }
    if (count < 2)
        return;
    shoal_picture *picture =
        add_picture(d, SHOAL_PICTURE_DOTS, "trade", "Cost against time",
                    "each strategy by what it costs and when it is done: lower is cheaper, further "
                    "left is sooner",
                    count);
    if (picture == NULL)
        return;
    for (size_t i = 0; i < d->mark_count; i++)
        last_s = fmax(last_s, w->from_s + d->due[i].x);
    double room_s = fmax(0.05 * (last_s - first_s), 3600);
    picture->x.title = "done";
    picture->x.low = first_s - room_s - w->from_s;
    picture->x.high = last_s + room_s - w->from_s;
    picture->y = (shoal_axis){.title = "cost", .unit = SHOAL_UNIT_USD};
    for (uint32_t i = 0; i < w->run_count; i++) {
        const struct market_run *run = &w->runs[i];
        shoal_series *dot =
            isnan(run->sums.finish_s)
                ? NULL
                : page_series(d->made, picture, page_made_text(d->made, "%s", run->label),
                              i % SHOAL_GREY, 1);
        if (dot != NULL)
            page_point(dot, run->sums.finish_s - w->from_s, run->sums.usd);
    }
}

/* ---- prices, and the way through them ---- */

/* The line of means, the last of which holds to the end. */
static void fill_means(float *y, const double *sum, const double *known_s)
{
    for (size_t b = 0; b < BINS; b++)
        y[b] = known_s[b] > 0 ? (float)(sum[b] / known_s[b]) : NAN;
    y[BINS] = y[BINS - 1];
}

static void sample_offer(const struct drawing *d, uint32_t offer, float *y)
{
    double sum[BINS] = {0}, known_s[BINS] = {0};
    struct piece p = {.to_s = d->w->from_s};
    size_t cursor = 0;

    while (next_piece(d, d->w->from_s + d->span_s, &p))
        sum[p.bin] += price_over(d->w, offer, p.from_s, p.to_s, &cursor, &known_s[p.bin]);
    fill_means(y, sum, known_s);
}

static void sample_cheapest(const struct drawing *d, float *y)
{
    const struct market_buy *w = d->w;
    float one[BINS + 1];

    for (size_t b = 0; b <= BINS; b++)
        y[b] = NAN;
    for (uint32_t o = 0; o < w->prices->offer_count; o++) {
        if (!w->allowed[o] || !(w->jobs[0].speed[w->prices->offers[o].kind] > 0))
            continue;
        sample_offer(d, o, one);
        for (size_t b = 0; b <= BINS; b++)
            y[b] = fminf(y[b], one[b]);
    }
}

/* What the lead pays for its first job while it holds something, and where that is for the most part. */
static void sample_way(const struct drawing *d, float *y, const char **texts)
{
    const struct market_outcome *o = &d->w->runs[0].result.jobs[0];
    double sum[BINS] = {0}, known_s[BINS] = {0}, longest_s[BINS] = {0};

    for (size_t i = 0; i < o->stay_count; i++) {
        const struct market_stay *stay = &o->stays[i];
        struct piece p = {.to_s = stay->from_s};
        size_t cursor = 0;
        while (next_piece(d, stay->to_s, &p)) {
            sum[p.bin] += price_over(d->w, stay->offer, p.from_s, p.to_s, &cursor, &known_s[p.bin]);
            if (p.to_s - p.from_s <= longest_s[p.bin])
                continue;
            longest_s[p.bin] = p.to_s - p.from_s;
            texts[p.bin] = market_buy_place(d->w, stay->offer);
        }
    }
    fill_means(y, sum, known_s);
    texts[BINS] = texts[BINS - 1];
}

static double highest(const float *y)
{
    double top = 0;

    for (size_t b = 0; b <= BINS; b++)
        top = isnan(y[b]) ? top : fmax(top, (double)y[b]);
    return top;
}

/* The axis ends above what was paid and what staying costs: an offer that nobody takes may cost anything. */
static void draw_prices(const struct drawing *d)
{
    const struct market_buy *w = d->w;
    const struct market_job *job = &w->jobs[0];
    uint32_t kept = w->fixed != SIZE_MAX ? market_buy_first(&w->runs[w->fixed]) : MARKET_NONE;
    const char **texts = page_made_alloc(d->made, BINS + 1, sizeof *texts),
               *lead = w->runs[0].label;
    shoal_picture *picture =
        add_picture(d, SHOAL_PICTURE_STEPS, "prices", "Prices, and the way through them", NULL,
                    d->place_count + 2);
    if (picture == NULL || texts == NULL)
        return;
    const char *many = job->instances > 1 ? page_made_text(d->made, "%u ", job->instances) : "";
    picture->note =
        page_made_text(d->made, "US dollars for the work that %s%s do%s in an hour", many,
                       w->unit != MARKET_NONE ? market_names_get(&w->prices->kinds, w->unit) : "it",
                       job->instances > 1 ? "" : "es");
    float *y, *cheapest;
    shoal_series *way = add_line(
        d, picture,
        page_made_text(d->made,
                       w->job_count > 1 ? "what %s pays for its first job" : "what %s pays", lead),
        SHOAL_GREY, BINS + 1, &y);
    if (way == NULL ||
        add_line(d, picture, "the cheapest there is", CHEAPEST_COLOUR, BINS + 1, &cheapest) == NULL)
        return;
    sample_way(d, y, texts);
    way->wide = way->dots = true;
    way->texts = texts;
    sample_cheapest(d, cheapest);
    double top = fmax(highest(y), highest(cheapest));
    for (size_t i = 0; i < d->place_count; i++) {
        if (add_line(d, picture, market_buy_place(w, d->places[i]), i, BINS + 1, &y) == NULL)
            return;
        sample_offer(d, d->places[i], y);
        if (d->places[i] == kept)
            top = fmax(top, highest(y));
    }
    picture->y =
        (shoal_axis){.title = "USD/h", .unit = SHOAL_UNIT_USD, .high = top > 0 ? 1.08 * top : 1};
}

/* ---- what was held when ---- */

struct lane {
    const char *name;
    const struct market_outcome *outcome;
};

/* A lane for each strategy, or for each job of a fleet under the lead. */
static size_t make_lanes(const struct drawing *d, struct lane *lanes)
{
    const struct market_buy *w = d->w;
    size_t count = w->job_count == 1 ? w->run_count : w->job_count;

    count = count < LANES_MAX ? count : LANES_MAX;
    for (size_t i = 0; i < count; i++)
        lanes[i] = w->job_count == 1 ? (struct lane){w->runs[i].label, &w->runs[i].result.jobs[0]}
                                     : (struct lane){w->jobs[i].name, &w->runs[0].result.jobs[i]};
    return count;
}

static void add_rect(shoal_picture *picture, size_t lane, double from_s, double to_s, size_t colour,
                     const char *text)
{
    shoal_rect *rects = (shoal_rect *)(uintptr_t)picture->rects;

    rects[picture->rect_count++] = (shoal_rect){.from = (float)from_s,
                                                .to = (float)to_s,
                                                .high = 1,
                                                .lane = (uint32_t)lane,
                                                .colour = (uint32_t)colour,
                                                .text = text};
}

/* The last of the stays from `i` on that are on one offer with hardly a gap between them. */
static size_t last_alike(const struct drawing *d, const struct market_outcome *o, size_t i)
{
    while (i + 1 < o->stay_count && o->stays[i + 1].offer == o->stays[i].offer &&
           o->stays[i + 1].from_s - o->stays[i].to_s < d->span_s / 10000)
        i++;
    return i;
}

/* Every stay of its own; false: they are too many. */
static bool draw_stays(const struct drawing *d, shoal_picture *picture, size_t lane,
                       const struct market_outcome *o, size_t room)
{
    size_t before = picture->rect_count;

    for (size_t i = 0; i < o->stay_count; i++) {
        const struct market_stay *stay = &o->stays[i];
        i = last_alike(d, o, i);
        if (picture->rect_count - before == room) {
            picture->rect_count = before;
            return false;
        }
        add_rect(picture, lane, stay->from_s - d->w->from_s, o->stays[i].to_s - d->w->from_s,
                 colour_of(d, stay->offer), market_buy_place(d->w, stay->offer));
    }
    return true;
}

/* Pieces of time, as wide as what was held in them, each in the colour of the most of it. */
static void draw_pieces(const struct drawing *d, shoal_picture *picture, size_t lane,
                        const struct market_outcome *o, size_t room)
{
    double held_s[BINS][PLACES + 1] = {{0}}; /* the last: elsewhere */
    size_t count = room < BINS ? room : BINS;

    for (size_t i = 0; i < o->stay_count; i++) {
        size_t colour = colour_of(d, o->stays[i].offer);
        struct piece p = {.to_s = o->stays[i].from_s};
        while (next_piece(d, o->stays[i].to_s, &p))
            held_s[p.bin * count / BINS][colour < PLACES ? colour : PLACES] += p.to_s - p.from_s;
    }
    for (size_t i = 0; i < count; i++) {
        double from_s = d->span_s * (double)i / (double)count, sum_s = 0;
        size_t best = 0;
        for (size_t k = 0; k <= PLACES; k++) {
            sum_s += held_s[i][k];
            best = held_s[i][k] > held_s[i][best] ? k : best;
        }
        if (sum_s > 0)
            add_rect(picture, lane, from_s, from_s + sum_s, best < PLACES ? best : SHOAL_GREY,
                     best < PLACES ? market_buy_place(d->w, d->places[best]) : NULL);
    }
}

static void draw_lanes(const struct drawing *d)
{
    const struct market_buy *w = d->w;
    struct lane lanes[LANES_MAX];
    size_t count = make_lanes(d, lanes);
    shoal_assert(count > 0);
    size_t room = RECTS_ALL / count;
    const char **labels = page_made_alloc(d->made, count, sizeof *labels);
    shoal_rect *rects = page_made_alloc(d->made, RECTS_ALL, sizeof *rects);
    shoal_picture *picture = add_picture(
        d, SHOAL_PICTURE_LANES, "places",
        w->job_count > 1 ? page_made_text(d->made, "What %s held when", w->runs[0].label)
                         : "Who held what when",
        w->job_count > count && w->job_count > 1
            ? page_made_text(d->made, "the first %zu jobs; where a lane is empty nothing is held",
                             count)
            : "where a lane is empty nothing is held",
        d->place_count + d->others);

    if (picture == NULL || labels == NULL || rects == NULL)
        return;
    picture->rects = rects;
    picture->labels = (shoal_texts){labels, count};
    for (uint32_t i = 0; i < d->place_count; i++)
        page_series(d->made, picture, market_buy_place(w, d->places[i]), i, 0);
    if (d->others)
        page_series(d->made, picture, "elsewhere", SHOAL_GREY, 0);
    for (size_t i = 0; i < count; i++) {
        labels[i] = page_made_text(d->made, "%s", lanes[i].name);
        if (!draw_stays(d, picture, i, lanes[i].outcome, room))
            draw_pieces(d, picture, i, lanes[i].outcome, room);
    }
}

/* ---- what was spent by when ---- */

/* A stay as it was paid for: price after price, scaled to what it cost. */
static void spend_stay(const struct drawing *d, const struct market_stay *stay, double *bins)
{
    double known_s = 0, all;
    struct piece p = {.to_s = stay->from_s};
    size_t cursor = 0, before = 0;

    all = price_over(d->w, stay->offer, stay->from_s, stay->to_s, &cursor, &known_s);
    while (next_piece(d, stay->to_s, &p)) {
        double part = price_over(d->w, stay->offer, p.from_s, p.to_s, &before, &known_s) / all;
        if (!(all > 0))
            part = (p.to_s - p.from_s) / (stay->to_s - stay->from_s);
        bins[p.bin] += stay->usd * part;
    }
    p = (struct piece){.to_s = stay->from_s};
    if (next_piece(d, INFINITY, &p))
        bins[p.bin] += stay->egress_usd;
}

static void draw_spending(const struct drawing *d)
{
    const struct market_buy *w = d->w;
    size_t points = POINTS_ALL / w->run_count < BINS ? POINTS_ALL / w->run_count : BINS;
    bool bound = isfinite(w->bound_usd);
    shoal_picture *picture =
        add_picture(d, SHOAL_PICTURE_LINES, "cost", "Spent so far",
                    w->job_count > 1 ? "US dollars, all jobs" : "US dollars", w->run_count + bound);
    if (picture == NULL)
        return;
    picture->y = (shoal_axis){.title = "cost", .unit = SHOAL_UNIT_USD};
    for (size_t r = 0; r < w->run_count; r++) {
        double bins[BINS] = {0}, sum = 0, end_s = 0;
        float *y;
        shoal_series *line = add_line(d, picture, page_made_text(d->made, "%s", w->runs[r].label),
                                      r % SHOAL_GREY, points + 1, &y);
        for (size_t j = 0; j < w->job_count; j++)
            for (size_t i = 0; i < w->runs[r].result.jobs[j].stay_count; i++) {
                const struct market_stay *stay = &w->runs[r].result.jobs[j].stays[i];
                spend_stay(d, stay, bins);
                end_s = fmax(end_s, stay->to_s - w->from_s);
            }
        for (size_t p = 0, b = 0; line != NULL && p <= points; p++) {
            for (; b < p * BINS / points; b++)
                sum += bins[b];
            y[p] = (float)sum;
            line->count = p + 1;
            if (d->span_s * (double)p / (double)points >= end_s)
                break;
        }
    }
    float *y;
    if (bound && add_line(d, picture, "no plan costs less", SHOAL_GREY, 2, &y) != NULL)
        y[0] = y[1] = (float)w->bound_usd;
}

void market_buy_draw(const struct market_buy *w)
{
    struct drawing d = {.w = w, .made = w->made, .span_s = fmax(w->to_s - w->from_s, 1)};
    shoal_mark *due = page_made_alloc(w->made, 1, sizeof *due);

    d.bin_s = d.span_s / BINS;
    if (w->places == NULL || due == NULL)
        return;
    *due = (shoal_mark){w->jobs[0].deadline_s - w->from_s, "due"};
    d.due = due;
    d.mark_count = w->job_count == 1 && isfinite(w->jobs[0].deadline_s) ? 1 : 0;
    choose_places(&d);
    draw_trade(&d);
    draw_prices(&d);
    draw_lanes(&d);
    draw_spending(&d);
}
