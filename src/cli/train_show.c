/* train_show.c - see train_show.h. Tests: tests/unit/cli/test_train_show.c. */
#include "cli/train_show.h"

#include "base/assert.h"
#include "base/text.h"
#include "page/columns.h"
#include "cli/term.h"
#include "train/result.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { BAR_WIDTH = 20 };
static const uint64_t PLAIN_NS = 30ull * 1000 * 1000 * 1000; /* between lines that are not drawn */
static const uint64_t TREND_NS = 2ull * 1000 * 1000 * 1000;  /* over which the value is compared */

/* ---- parts ---- */

void cli_train_put_bar(struct base_buf *out, double share, unsigned columns, bool ascii)
{
    static const char *const EIGHTHS[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    unsigned steps = (unsigned)(fmin(fmax(share, 0), 1) * columns * 8);
    unsigned full = steps / 8, part = ascii ? 0 : steps % 8;

    for (unsigned i = 0; i < full; i++)
        base_buf_puts(out, ascii ? "#" : "█");
    base_buf_puts(out, EIGHTHS[part]);
    for (unsigned i = full + (part > 0); i < columns; i++)
        base_buf_puts(out, ascii ? "." : " ");
}

void cli_train_put_spark(struct base_buf *out, const double *values, size_t count, size_t columns,
                         bool ascii)
{
    static const char *const BLOCKS[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const LETTERS[] = {"_", "_", ".", "-", "-", "=", "^", "^"};
    double least = INFINITY, most = -INFINITY;
    size_t first = count > columns ? count - columns : 0;

    for (size_t i = first; i < count; i++) {
        least = isfinite(values[i]) ? fmin(least, values[i]) : least;
        most = isfinite(values[i]) ? fmax(most, values[i]) : most;
    }
    for (size_t i = first; i < count; i++) {
        double height = most > least ? (values[i] - least) / (most - least) : 0;
        size_t step = isfinite(height) ? (size_t)(height * 7.999) : 7;
        base_buf_puts(out, ascii ? LETTERS[step] : BLOCKS[step]);
    }
}

double cli_train_mean_staleness(const uint64_t *counts, size_t count)
{
    double sum = 0, all = 0;

    for (size_t i = 0; i < count; i++) {
        sum += (double)i * (double)counts[i];
        all += (double)counts[i];
    }
    return all > 0 ? sum / all : (double)NAN;
}

double cli_train_left(double from, double now, double elapsed_s)
{
    if (!isfinite(now) || !(now > from) || now >= 1 || elapsed_s < 1)
        return (double)NAN;
    return elapsed_s * (1 - now) / (now - from);
}

double cli_train_pace_left(struct cli_train_pace *pace, double progress, double elapsed_s)
{
    if (progress > pace->progress) {
        pace->step = progress - pace->progress;
        pace->progress = progress;
        pace->at_s = elapsed_s;
    }
    double then = cli_train_left(pace->from, progress, pace->at_s),
           next = cli_train_left(pace->from, progress + pace->step, elapsed_s);
    if (!isfinite(then))
        return cli_train_left(pace->from, progress, elapsed_s);
    return fmax(then - (elapsed_s - pace->at_s), isfinite(next) ? next : 0);
}

/* ---- the line ---- */

enum part { OBJECTIVE, RATE, WORKERS, STALE, LEFT, PARTS };

static void put_held_out(struct base_buf *out, const char *name, double value)
{
    char text[32];

    if (name != NULL && isfinite(value))
        base_buf_printf(out, ", %s %s held out", name,
                        train_value_text(value, 5, text, sizeof text));
}

static void put_part(struct base_buf *out, enum part part, const struct cli_train_look *look,
                     bool ascii)
{
    char text[32];

    if (part == OBJECTIVE && isfinite(look->value)) {
        base_buf_printf(out, "%s %s", look->objective,
                        train_value_text(look->value, 5, text, sizeof text));
        if (look->trend != 0 && !ascii)
            base_buf_puts(out, look->trend < 0 ? " ↓" : " ↑");
        put_held_out(out, look->held_out, look->held_out_value);
    } else if (part == RATE && look->rate > 0) {
        train_put_rate(out, look->rate, look->units);
    } else if (part == WORKERS) {
        base_buf_printf(out, "%u worker%s", look->workers, look->workers == 1 ? "" : "s");
    } else if (part == STALE && isfinite(look->stale)) {
        base_buf_printf(out, "stale %.1f", look->stale);
    } else if (part == LEFT && isfinite(look->left_s)) {
        base_buf_printf(out, "%s left",
                        base_format_duration(ceil(look->left_s), text, sizeof text));
    }
}

/* Writes the line with the parts of `wanted`, a bit each; BAR is one more. */
static void put_line(const struct cli_train_look *look, enum cli_train_bar bar, unsigned wanted,
                     struct base_buf *out)
{
    base_buf_clear(out);
    base_buf_puts(out, look->name);
    if (isfinite(look->progress))
        base_buf_printf(out, "  %3.0f%%", floor(100 * fmin(fmax(look->progress, 0), 1)));
    if (isfinite(look->progress) && bar != CLI_TRAIN_PLAIN && (wanted >> PARTS & 1) != 0) {
        base_buf_puts(out, " ");
        cli_train_put_bar(out, look->progress, BAR_WIDTH, bar == CLI_TRAIN_ASCII);
    }
    for (enum part part = 0; part < PARTS; part++) {
        size_t before = out->size;
        if ((wanted >> part & 1) == 0)
            continue;
        base_buf_puts(out, "   ");
        put_part(out, part, look, bar != CLI_TRAIN_BLOCKS);
        if (base_buf_status(out) == SHOAL_OK && out->size == before + 3)
            out->data[out->size = before] = 0; /* nothing to say */
    }
}

void cli_train_line_format(const struct cli_train_look *look, enum cli_train_bar bar,
                           unsigned width, struct base_buf *out)
{
    static const unsigned LEAST_FIRST[] = {STALE, WORKERS, RATE, PARTS, LEFT, OBJECTIVE};
    unsigned wanted = (2u << PARTS) - 1;
    size_t columns;

    put_line(look, bar, wanted, out);
    for (size_t i = 0; i < BASE_COUNT(LEAST_FIRST) && base_buf_status(out) == SHOAL_OK &&
                       page_columns_width(out->data) > width;
         i++) {
        wanted &= ~(1u << LEAST_FIRST[i]);
        put_line(look, bar, wanted, out);
    }
    for (size_t i = BASE_COUNT(LEAST_FIRST); i-- > 0 && base_buf_status(out) == SHOAL_OK;) {
        /* a short one may fit where a long one did not */
        unsigned more = wanted | 1u << LEAST_FIRST[i];
        put_line(look, bar, more, out);
        wanted = page_columns_width(out->data) <= width ? more : wanted;
    }
    put_line(look, bar, wanted, out);
    if (base_buf_status(out) != SHOAL_OK)
        return;
    out->size = page_columns_fit(out->data, width, &columns);
    out->data[out->size] = 0;
}

/* Room is left for the ^C that a terminal writes behind it, or that would begin another line. */
static unsigned line_width(const struct cli_context *cx)
{
    unsigned width = cli_term_width(cx->err);

    return width > 3 ? width - 3 : 1;
}

static void put_on_screen(struct cli_train_line *line, const char *text)
{
    fprintf(line->cx->err, cli_term_erases(line->cx) ? "\r\033[K%s" : "%s\n", text);
    fflush(line->cx->err);
    line->drawn = cli_term_erases(line->cx);
}

void cli_train_line_start(struct cli_train_line *line, const struct cli_context *cx,
                          const shoal_app *app, const char *data)
{
    char text[200];
    size_t columns;

    *line = (struct cli_train_line){.cx = cx, .app = app, .was_value = (double)NAN};
    if (!cli_term_erases(cx))
        return;
    snprintf(text, sizeof text, "%s  reading %s", app->name, data);
    text[page_columns_fit(text, line_width(cx), &columns)] = 0;
    put_on_screen(line, text);
}

static int trend_of(struct cli_train_line *line, uint64_t now)
{
    double value = line->stats.value;
    int trend = value < line->was_value ? -1 : value > line->was_value ? 1 : 0;

    if (now - line->was_ns >= TREND_NS || !isfinite(line->was_value)) {
        line->was_value = value;
        line->was_ns = now;
    }
    return trend;
}

static void draw(struct cli_train_line *line, uint64_t now)
{
    const struct cli_context *cx = line->cx;
    const struct train_stats *s = &line->stats;
    double elapsed_s = (double)(now - line->begun_ns) * 1e-9;
    bool erases = cli_term_erases(cx);
    struct cli_train_look look = {line->app->name,
                                  line->app->objective,
                                  line->app->units,
                                  s->value,
                                  s->progress,
                                  s->units_per_s > 0 ? s->units_per_s
                                                     : (double)(s->units - s->units_before) /
                                                           fmax(elapsed_s, 1e-3),
                                  trend_of(line, now),
                                  s->workers,
                                  cli_train_mean_staleness(s->stale, TRAIN_STALE_MAX),
                                  cli_train_pace_left(&line->pace, s->progress, elapsed_s),
                                  line->app->held_out,
                                  s->held_out};
    struct base_buf out;

    base_buf_init(&out, env_alloc(cx->env), 1 << 12);
    cli_train_line_format(&look,
                          !erases            ? CLI_TRAIN_PLAIN
                          : cx->screen.ascii ? CLI_TRAIN_ASCII
                                             : CLI_TRAIN_BLOCKS,
                          erases ? line_width(cx) : UINT32_MAX, &out);
    if (base_buf_status(&out) == SHOAL_OK)
        put_on_screen(line, out.data);
    line->shown_ns = now;
    base_buf_fini(&out);
}

void cli_train_line_draw(struct cli_train_line *line, const struct train_master *master)
{
    uint64_t now = env_now_ns(line->cx->env);

    line->stats = train_master_stats(master);
    if (line->begun_ns == 0) {
        line->begun_ns = line->shown_ns = now;
        line->told = line->stats.refused; /* by the run that this one goes on from */
        line->pace.from = isfinite(line->stats.progress) ? line->stats.progress : 0;
        line->pace.progress = line->pace.from;
    }
    if (cli_term_erases(line->cx) ? line->stats.tasks > 0
                                  : now - line->shown_ns >= PLAIN_NS && !line->cx->json)
        draw(line, now);
}

void cli_train_line_strangers(struct cli_train_line *line, const struct train_master *master)
{
    uint64_t now = env_now_ns(line->cx->env), count = line->stats.refused - line->told;

    if (count == 0 || (line->told_ns > 0 && now - line->told_ns < PLAIN_NS))
        return;
    cli_train_line_end(line);
    fprintf(line->cx->err, "shoal train: turned away %s", train_master_refusal(master));
    if (count > 1)
        fprintf(line->cx->err, " (and %" PRIu64 " more)", count - 1);
    fputc('\n', line->cx->err);
    line->told = line->stats.refused;
    line->told_ns = now;
}

void cli_train_line_end(struct cli_train_line *line)
{
    if (line->drawn)
        fputs("\r\033[K", line->cx->err);
    fflush(line->cx->err);
}
