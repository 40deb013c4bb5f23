/* pictures.c - what the page of a study shows beside the figures: what the time of jobs comes to, what each guideline
 * saves, why and how long jobs wait, on how many servers they run, what failures cost.
 *
 * Money where all kinds of the cluster have a price, GPU time where not. The size does not grow with the number
 * of jobs. Tests: tests/unit/study/test_pictures.c. */
#include "study/study.h"

#include "base/assert.h"
#include <math.h>

enum { WAIT_POINTS = 51 };

static const double WAIT_LEAST = 10; /* seconds, where the logarithmic axis begins */

/* "2-4 GPUs", "2-4 GPUs, all together" */
static const char *size_label(struct page_made *made, uint32_t size, enum study_run_id run)
{
    return page_made_text(made, "%s GPU%s%s%s", study_size_names[size], size == 0 ? "" : "s",
                          run == STUDY_BASE ? "" : ", ",
                          run == STUDY_BASE ? "" : study_guidelines[run].name);
}

/* ---- GPU time and money ---- */

/* What jobs hold comes to what it would save: bars of two runs differ by that. */
static void draw_held(struct page_made *made, const struct study *s)
{
    static const struct {
        const char *name;
        uint32_t colour;
    } parts[] = {{"useful", 5}, {"attempts that fail", 3}, {"slow places, restarts, trials", 2}};
    const enum study_run_id first = study_first_step(s);
    const enum study_run_id rows[] = {STUDY_BASE, first == STUDY_BASE ? STUDY_TOGETHER : first,
                                      STUDY_TOGETHER};
    size_t count = first == STUDY_BASE ? 2 : 3;
    bool money = !isnan(study_usd_gpu_h(s));
    double scale = money ? study_usd(s, 1) : 1;
    const char **labels = page_made_alloc(made, count, sizeof *labels);
    shoal_picture *picture =
        page_picture(made, SHOAL_PICTURE_BARS, "held",
                     money ? "What the GPU time of jobs costs" : "GPU time that jobs hold",
                     "all jobs of the trace, as it is and with guidelines", BASE_COUNT(parts));

    if (labels == NULL || picture == NULL)
        return;
    picture->y = (shoal_axis){.unit = money ? SHOAL_UNIT_USD : SHOAL_UNIT_HOURS};
    picture->labels = (shoal_texts){labels, count};
    for (size_t p = 0; p < BASE_COUNT(parts); p++) {
        float *y = page_values(made, picture, parts[p].name, parts[p].colour, count);
        for (size_t i = 0; y != NULL && i < count; i++) {
            const struct study_books *b = &s->runs[rows[i]].books;
            double held = s->runs[STUDY_BASE].tally.held_gpu_s - study_saved_gpu_s(s, rows[i]);
            double rest = fmax(0, held - b->useful_gpu_s - b->lost_gpu_s);
            y[i] = (float)(scale * (p == 0 ? b->useful_gpu_s : p == 1 ? b->lost_gpu_s : rest));
        }
    }
    for (size_t i = 0; i < count; i++)
        labels[i] = study_guidelines[rows[i]].name;
}

/* Whiskers from the least to the most of all draws. */
static void draw_saved(struct page_made *made, const struct study *s)
{
    bool money = !isnan(study_usd_gpu_h(s)), ranges = s->more_count > 0;
    double scale = money ? study_usd(s, 1) : 1;
    const char **labels = page_made_alloc(made, STUDY_RUNS, sizeof *labels);
    shoal_picture *picture = page_picture(
        made, SHOAL_PICTURE_BARS, "saved",
        money ? "What each guideline saves, in money" : "What each guideline saves, in GPU time",
        "less held than as it is, trials counted; ~ may be luck; lines reach from the least to "
        "the most of all draws",
        1);
    float *low = page_made_alloc(made, STUDY_RUNS, sizeof *low);
    float *high = page_made_alloc(made, STUDY_RUNS, sizeof *high), *y;
    size_t count = 0;

    if (labels == NULL || picture == NULL || low == NULL || high == NULL ||
        (y = page_values(made, picture, "saved", 0, STUDY_RUNS)) == NULL)
        return;
    for (enum study_run_id r = STUDY_BASE + 1; r < STUDY_RUNS; r++) {
        struct study_range range = study_saved_range(s, r);
        if (!s->runs[r].possible)
            continue;
        labels[count] = page_made_text(made, "%s%s", study_saved_is_luck(s, r) ? "~ " : "",
                                       study_guidelines[r].name);
        low[count] = (float)(range.least * scale);
        high[count] = (float)(range.most * scale);
        y[count++] = (float)(study_saved_gpu_s(s, r) * scale);
    }
    shoal_series *series = (shoal_series *)(uintptr_t)picture->series;
    series->low = ranges ? low : NULL;
    series->high = ranges ? high : NULL;
    series->count = count;
    picture->y = (shoal_axis){.unit = money ? SHOAL_UNIT_USD : SHOAL_UNIT_HOURS};
    picture->labels = (shoal_texts){labels, count};
}

/* ---- waiting ---- */

static void draw_waiting(struct page_made *made, const struct study *s)
{
    const struct study_tally *t = &s->runs[STUDY_BASE].tally;
    const char **labels = page_made_alloc(made, STUDY_SIZES, sizeof *labels);
    size_t count = 0;

    if (labels == NULL || !(t->delays[STUDY_ALL][STUDY_WAITS].total_s > 0))
        return;
    shoal_picture *picture = page_picture(
        made, SHOAL_PICTURE_BARS, "waiting", "Why jobs wait",
        "the cluster as it is: hours of all jobs of a size, by reason", SIM_WAIT_COUNT);
    if (picture == NULL)
        return;
    for (uint32_t size = 0; size < STUDY_SIZES; size++)
        if (s->jobs.sizes[size] > 0)
            labels[count++] = size_label(made, size, STUDY_BASE);
    for (size_t w = 0; w < SIM_WAIT_COUNT; w++) {
        const struct study_reason *why = &study_reasons[w];
        float *y = page_values(made, picture, why->name, why->colour, count);
        for (uint32_t size = 0; y != NULL && size < STUDY_SIZES; size++)
            if (s->jobs.sizes[size] > 0)
                *y++ = (float)t->delays[size][why->why].total_s;
    }
    picture->y = (shoal_axis){.unit = SHOAL_UNIT_HOURS};
    picture->labels = (shoal_texts){labels, count};
}

/* The share of the jobs of a size that waited at most so long. */
static void draw_waits(struct page_made *made, const struct study *s, enum study_run_id run)
{
    const struct study_tally *t = &s->runs[run].tally;
    shoal_picture *picture =
        page_picture(made, SHOAL_PICTURE_LINES, run == STUDY_BASE ? "waits" : "waits-all",
                     run == STUDY_BASE ? "How long jobs wait, as it is"
                                       : "How long jobs wait, with all guidelines",
                     "share of the jobs of a size that waited at most so long", STUDY_SIZES);

    if (picture == NULL)
        return;
    for (uint32_t size = 0; size < STUDY_SIZES; size++) {
        if (s->jobs.sizes[size] == 0 || isnan(t->waits_s[size][0]))
            continue;
        shoal_series *line =
            page_series(made, picture, size_label(made, size, STUDY_BASE), size, WAIT_POINTS);
        for (size_t i = 0; line != NULL && i < WAIT_POINTS; i++) {
            size_t point = i * (STUDY_POINTS - 1) / (WAIT_POINTS - 1);
            page_point(line, fmax((double)t->waits_s[size][point], WAIT_LEAST),
                       (double)point / (STUDY_POINTS - 1));
        }
    }
    picture->x = (shoal_axis){.title = "waited", .unit = SHOAL_UNIT_SECONDS, .log = true};
    picture->y = (shoal_axis){.title = "share of jobs", .unit = SHOAL_UNIT_SHARE, .high = 1};
}

/* ---- places ---- */

static double held_s(const struct study_tally *t, uint32_t size)
{
    double sum = 0;

    for (uint32_t b = 0; b < SIM_SERVERS_COUNT; b++)
        sum += t->servers_gpu_s[size][b];
    return sum;
}

static void draw_places(struct page_made *made, const struct study *s)
{
    static const enum study_run_id runs[] = {STUDY_BASE, STUDY_TOGETHER};
    const char **labels = page_made_alloc(made, 2 * STUDY_SIZES, sizeof *labels);
    size_t count = 0;

    for (uint32_t size = 1; labels != NULL && size < STUDY_SIZES; size++)
        for (size_t r = 0; r < BASE_COUNT(runs); r++)
            if (held_s(&s->runs[runs[r]].tally, size) > 0)
                labels[count++] = size_label(made, size, runs[r]);
    shoal_picture *picture =
        count == 0
            ? NULL
            : page_picture(made, SHOAL_PICTURE_BARS, "places", "On how many servers jobs run",
                           "of the GPU time of jobs of a size, as it is and with all guidelines; "
                           "places are simulated",
                           SIM_SERVERS_COUNT);
    if (picture == NULL)
        return;
    for (uint32_t b = 0; b < SIM_SERVERS_COUNT; b++) {
        float *y = page_values(
            made, picture,
            page_made_text(made, "%s server%s", sim_servers_name(b), b == 0 ? "" : "s"), b, count);
        for (uint32_t size = 1; y != NULL && size < STUDY_SIZES; size++)
            for (size_t r = 0; r < BASE_COUNT(runs); r++) {
                const struct study_tally *t = &s->runs[runs[r]].tally;
                if (held_s(t, size) > 0)
                    *y++ = (float)(t->servers_gpu_s[size][b] / held_s(t, size));
            }
    }
    picture->y = (shoal_axis){.unit = SHOAL_UNIT_SHARE};
    picture->labels = (shoal_texts){labels, count};
}

/* ---- failures ---- */

static void draw_failures(struct page_made *made, const struct study *s)
{
    static const struct {
        enum study_cause cause;
        uint32_t colour;
    } causes[] = {{STUDY_USER, 0}, {STUDY_INFRASTRUCTURE, 3}, {STUDY_UNKNOWN, SHOAL_GREY}};
    const char **labels = page_made_alloc(made, STUDY_CLASSES, sizeof *labels);

    if (labels == NULL || !(s->runs[STUDY_BASE].books.lost_gpu_s > 0))
        return;
    shoal_picture *picture = page_picture(
        made, SHOAL_PICTURE_BARS, "failures", "What failures cost",
        "GPU time of attempts that failed, by class and cause; a model, as the trace does not "
        "say how its jobs ended",
        BASE_COUNT(causes));
    if (picture == NULL)
        return;
    for (size_t c = 0; c < STUDY_CLASSES; c++)
        labels[c] = study_classes[c].name;
    for (size_t i = 0; i < BASE_COUNT(causes); i++) {
        float *y = page_values(made, picture, study_cause_name(causes[i].cause), causes[i].colour,
                               STUDY_CLASSES);
        for (size_t c = 0; y != NULL && c < STUDY_CLASSES; c++)
            if (study_classes[c].cause == causes[i].cause)
                y[c] = (float)s->lost[c].lost_gpu_s;
    }
    picture->y = (shoal_axis){.unit = SHOAL_UNIT_HOURS};
    picture->labels = (shoal_texts){labels, STUDY_CLASSES};
}

void study_pictures(struct page_made *made, const struct study *study)
{
    draw_held(made, study);
    draw_saved(made, study);
    draw_waiting(made, study);
    draw_waits(made, study, STUDY_BASE);
    draw_waits(made, study, STUDY_TOGETHER);
    draw_places(made, study);
    draw_failures(made, study);
}
