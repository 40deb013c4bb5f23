/* pictures.c - the answer in pictures (see call.h): what more speed costs, times against machines with their intervals
 * and what was measured, losses over time. Nothing here grows with the data: lines have a maximum of points.
 * Tests: tests/unit/advise/test_run.c. */
#include "advise/call.h"

#include <math.h>

enum {
    COLOURS = SHOAL_GREY, /* grey is for what was measured, or asked for */
    LINES_MAX = 4,        /* of losses over time, each with what was measured of it */
    RUNS_DRAWN = 4,
    CURVE_POINTS = 60
};

static const double STEP_LEAST = 1.04; /* between two machine counts of a line */
static const double BAND_MOST = 30;    /* an interval is drawn to so many times its prediction */
static const double X_MOST = 8;        /* times the way of the fastest */

static shoal_axis time_axis(void)
{
    return (shoal_axis){.title = "time to the loss", .unit = SHOAL_UNIT_SECONDS, .log = true};
}

/* ---- what more speed costs ---- */

static bool is_good(const struct advise_candidate *c)
{
    return c->p.verdict == ADVISE_GOOD;
}

/* "fastest: " where the candidate is the answer to that, "" where it is to nothing. */
static const char *answer_of(const struct advise_call *w, uint32_t index)
{
    bool fast = index == w->fast.best && w->fast.enough;
    bool cheap = index == w->cheap.best && w->cheap.enough;

    return fast && cheap ? "fastest and cheapest: "
           : fast        ? "fastest: "
           : cheap       ? "cheapest: "
                         : "";
}

/* An answer, or a row of the table that no other beats in both. */
static bool is_trade(const struct advise_call *w, uint32_t index)
{
    const struct advise_candidate *c = &w->choice.candidates[index];

    if (answer_of(w, index)[0] != '\0')
        return true;
    for (uint32_t i = 0; i < w->choice.count; i++) {
        const struct advise_candidate *o = &w->choice.candidates[i];
        if (advise_result_shown(w, i) && o->seconds <= c->seconds && o->cost <= c->cost &&
            (o->seconds < c->seconds || o->cost < c->cost))
            return false;
    }
    return advise_result_shown(w, index);
}

static void draw_trade(const struct advise_call *w)
{
    bool usd = w->question.usd_h > 0;
    size_t count = 0;

    for (uint32_t i = 0; i < w->choice.count; i++)
        count += is_trade(w, i);
    shoal_picture *picture =
        count < 2
            ? NULL
            : page_picture(w->made, SHOAL_PICTURE_DOTS, "trade", "What more speed costs",
                           "the answers, and what no other row of the table beats in both time and "
                           "cost, as predicted",
                           count);
    for (uint32_t i = 0; picture != NULL && i < w->choice.count; i++) {
        const struct advise_candidate *c = &w->choice.candidates[i];
        if (!is_trade(w, i))
            continue;
        shoal_series *dot =
            page_series(w->made, picture,
                        page_made_text(w->made, "%s%s", answer_of(w, i), advise_words_choice(w, c)),
                        c->algorithm % COLOURS, 1);
        if (dot != NULL)
            page_point(dot, c->seconds, usd ? c->cost : 3600 * c->cost);
    }
    if (picture == NULL)
        return;
    picture->x = time_axis();
    picture->y = (shoal_axis){.title = usd ? "cost" : "machine time",
                              .unit = usd ? SHOAL_UNIT_USD : SHOAL_UNIT_SECONDS,
                              .log = true};
}

/* ---- times, or losses, against machines ---- */

/* A line over the machine counts of an algorithm, in the band of its intervals. */
static void add_algorithm(const struct advise_call *w, shoal_picture *picture, uint32_t algorithm)
{
    size_t room = w->question.machine_count;
    bool losses = isnan(w->question.target);
    float *low = page_made_alloc(w->made, room, sizeof *low);
    float *high = page_made_alloc(w->made, room, sizeof *high);
    shoal_series *line = page_series(
        w->made, picture, page_made_text(w->made, "%s", w->fit->algorithms[algorithm].name),
        algorithm % COLOURS, room);
    double last = 0;

    if (low == NULL || high == NULL || line == NULL)
        return;
    for (uint32_t i = 0; i < w->choice.count; i++) {
        const struct advise_candidate *c = &w->choice.candidates[i];
        bool end = i + 1 == w->choice.count || c[1].algorithm != algorithm;
        if (c->algorithm != algorithm || !is_good(c) || (losses && isnan(c->loss)) ||
            (c->machines < STEP_LEAST * last && !c->p.measured && !end))
            continue;
        low[line->count] = (float)(losses ? c->low_loss : fmax(c->low_s, c->seconds / BAND_MOST));
        high[line->count] =
            (float)(losses ? c->high_loss : fmin(c->high_s, c->seconds * BAND_MOST));
        page_point(line, c->machines, losses ? c->loss : c->seconds);
        last = c->machines;
    }
    line->low = low;
    line->high = high;
    if (line->count == 0)
        picture->series_count--;
}

/* Dots where a run got there. */
static void add_measured(const struct advise_call *w, shoal_picture *picture)
{
    const struct advise_choice *ch = &w->choice;
    const char **texts = page_made_alloc(w->made, ch->count, sizeof *texts);
    shoal_series *dots = page_series(w->made, picture, "measured", SHOAL_GREY, ch->count);

    if (texts == NULL || dots == NULL)
        return;
    for (size_t m = 0; m < w->question.machine_count; m++)
        for (uint32_t i = 0; i < ch->count; i++) {
            const struct advise_candidate *c = &ch->candidates[i];
            if (c->machines != w->question.machines[m] || !c->p.measured)
                continue;
            texts[dots->count] = advise_words_choice(w, c);
            page_point(dots, c->machines, c->seconds);
        }
    dots->texts = texts;
    dots->apart = true;
    if (dots->count == 0)
        picture->series_count--;
}

/* Where the answer lies, if there is one. */
static void mark_answer(const struct advise_call *w, shoal_picture *picture)
{
    const struct advise_asked *asked[] = {&w->fast, &w->cheap};
    static const char *const words[] = {"fastest", "cheapest"};
    shoal_mark *marks = page_made_alloc(w->made, 2, sizeof *marks);

    for (size_t k = 0; marks != NULL && k < 2; k++) {
        if (asked[k]->best == UINT32_MAX || !asked[k]->enough)
            continue;
        double at = w->choice.candidates[asked[k]->best].machines;
        if (picture->mark_count > 0 && marks[0].x == at)
            marks[0].text = "fastest and cheapest";
        else
            marks[picture->mark_count++] = (shoal_mark){at, words[k]};
    }
    picture->marks = marks;
}

static void draw_machines(const struct advise_call *w)
{
    bool losses = isnan(w->question.target);
    shoal_picture *picture =
        w->question.machine_count < 2
            ? NULL
            : page_picture(w->made, SHOAL_PICTURE_LINES, losses ? "lowest" : "times",
                           losses ? "Loss by the deadline, by machines"
                                  : "Time to the loss, by machines",
                           losses ? "predicted, with 90 % intervals"
                                  : "predicted, with 90 % intervals; dots: measured",
                           w->fit->algorithm_count + 1);

    if (picture == NULL)
        return;
    for (uint32_t a = 0; a < w->fit->algorithm_count; a++)
        add_algorithm(w, picture, a);
    if (!losses)
        add_measured(w, picture);
    mark_answer(w, picture);
    picture->x = (shoal_axis){.title = "machines", .unit = SHOAL_UNIT_COUNT, .log = true};
    picture->y = losses ? (shoal_axis){.title = "loss", .unit = SHOAL_UNIT_VALUE} : time_axis();
}

/* ---- losses over time ---- */

struct drawn {
    uint32_t candidates[LINES_MAX], colours[LINES_MAX];
    size_t count;
    double end_s; /* of the axis */
};

static bool is_drawn(const uint32_t *values, size_t count, uint32_t value)
{
    for (size_t k = 0; k < count; k++)
        if (values[k] == value)
            return true;
    return false;
}

/* In the colour of its algorithm, or the next that is free: there are more colours than lines. */
static void pick(const struct advise_call *w, struct drawn *d, uint32_t index)
{
    if (index == UINT32_MAX || d->count == LINES_MAX || is_drawn(d->candidates, d->count, index))
        return;
    uint32_t colour = w->choice.candidates[index].algorithm % COLOURS;
    while (is_drawn(d->colours, d->count, colour))
        colour = (colour + 1) % COLOURS;
    d->candidates[d->count] = index;
    d->colours[d->count++] = colour;
}

/* The fastest, the cheapest, that of the deadline, and the best of every other algorithm. */
static void pick_all(const struct advise_call *w, struct drawn *d)
{
    const struct advise_choice *ch = &w->choice;
    bool losses = isnan(w->question.target);

    pick(w, d, ch->fastest);
    pick(w, d, ch->cheapest);
    pick(w, d, ch->by_deadline);
    for (uint32_t a = 0; a < w->fit->algorithm_count; a++) {
        uint32_t best = UINT32_MAX;
        bool there = false;
        for (size_t k = 0; k < d->count; k++)
            there = there || ch->candidates[d->candidates[k]].algorithm == a;
        for (uint32_t i = 0; i < ch->count && !there; i++) {
            const struct advise_candidate *c = &ch->candidates[i];
            const struct advise_candidate *was = best == UINT32_MAX ? NULL : &ch->candidates[best];
            if (c->algorithm == a && is_good(c) &&
                (was == NULL || (losses ? c->loss < was->loss : c->seconds < was->seconds)))
                best = i;
        }
        pick(w, d, best);
    }
    d->end_s = losses ? w->question.deadline_s : 0;
    for (size_t k = 0; k < d->count && !losses; k++)
        d->end_s = fmax(d->end_s, ch->candidates[d->candidates[k]].seconds);
    if (!losses && d->count > 0)
        d->end_s = 1.05 * fmin(d->end_s, X_MOST * ch->candidates[d->candidates[0]].seconds);
}

/* Losses from the first to the target at equal steps of the logarithm of the distance to the best. */
static void add_losses(const struct advise_call *w, shoal_picture *picture, const struct drawn *d,
                       size_t k)
{
    const struct advise_candidate *c = &w->choice.candidates[d->candidates[k]];
    const struct advise_algorithm *a = &w->fit->algorithms[c->algorithm];
    double target = isnan(w->question.target) ? c->loss : w->question.target;
    double best = fmin(a->best, target), far = log(a->first - best);
    double near = log(fmax(target - best, 1e-6 * (a->first - best))), last = -1;
    shoal_series *line =
        page_series(w->made, picture, advise_words_choice(w, c), d->colours[k], CURVE_POINTS + 1);

    for (int i = 0; line != NULL && i <= CURVE_POINTS; i++) {
        double loss =
            i == CURVE_POINTS ? target : best + exp(far + (near - far) * i / CURVE_POINTS);
        double at = advise_seconds(w->fit, c->algorithm, c->machines, loss);
        if (!isfinite(at) || at > d->end_s)
            break;
        if (!(at > last))
            continue;
        page_point(line, at, loss);
        last = at;
    }
    if (line != NULL && line->count < 2) {
        picture->series_count--;
        line->count = 0;
    }
}

/* What was measured of it: runs of the algorithm on so many machines, in order of time. */
static void add_measured_losses(const struct advise_call *w, shoal_picture *picture,
                                const struct drawn *d, size_t k)
{
    const struct advise_candidate *c = &w->choice.candidates[d->candidates[k]];
    const struct advise_algorithm *a = &w->fit->algorithms[c->algorithm];
    size_t runs = 0;

    for (size_t r = 0; r < a->curve_count && runs < RUNS_DRAWN; r++) {
        const struct advise_curve *curve = &a->curves[r];
        size_t step = curve->count / CURVE_POINTS + 1;
        if (curve->run->machines != c->machines)
            continue;
        shoal_series *dots = page_series(
            w->made, picture, page_made_text(w->made, "%s, measured", advise_words_choice(w, c)),
            d->colours[k], curve->count / step + 1);
        if (dots == NULL)
            return;
        runs++;
        dots->apart = true;
        for (size_t i = 0; i < curve->count; i += step)
            if (curve->time_s[i] <= d->end_s)
                page_point(dots, curve->time_s[i], curve->loss[i]);
        if (dots->count == 0)
            picture->series_count--;
    }
}

static void draw_losses(const struct advise_call *w)
{
    struct drawn d = {.count = 0};

    pick_all(w, &d);
    if (d.count == 0 || !(d.end_s > 0))
        return;
    shoal_picture *picture =
        page_picture(w->made, SHOAL_PICTURE_LINES, "losses", "Loss over time",
                     "lines: predicted; dots: measured", LINES_MAX * (1 + RUNS_DRAWN) + 1);
    if (picture == NULL)
        return;
    for (size_t k = 0; k < d.count; k++)
        add_losses(w, picture, &d, k);
    for (size_t k = 0; k < d.count; k++)
        add_measured_losses(w, picture, &d, k);
    shoal_series *target = isnan(w->question.target)
                               ? NULL
                               : page_series(w->made, picture, "loss asked for", SHOAL_GREY, 2);
    if (target != NULL) {
        page_point(target, 0, w->question.target);
        page_point(target, d.end_s, w->question.target);
    }
    picture->x =
        (shoal_axis){.title = "time", .unit = SHOAL_UNIT_SECONDS, .low = 0, .high = d.end_s};
    picture->y = (shoal_axis){.title = "loss", .unit = SHOAL_UNIT_VALUE};
}

void advise_pictures_draw(const struct advise_call *w)
{
    if (!isnan(w->question.target))
        draw_trade(w);
    draw_machines(w);
    draw_losses(w);
}
