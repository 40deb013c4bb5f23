/* train_show.c - see train_show.h. Tests: tests/unit/cli/test_train_show.c. */
#include "cli/train_show.h"

#include "base/assert.h"
#include "base/event.h"
#include "base/text.h"
#include "page/columns.h"
#include "cli/json.h"
#include "cli/term.h"
#include "train/options.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { BAR_WIDTH = 20 };
static const uint64_t PLAIN_NS = 30ull * 1000 * 1000 * 1000; /* between lines that are not drawn */
static const uint64_t TREND_NS = 2ull * 1000 * 1000 * 1000;  /* over which the value is compared */

/* ---- parts ---- */

void cli_train_put_rate(struct base_buf *out, double rate, const char *units)
{
    static const char *const NAMES[] = {"", "k ", "M ", "G ", "T "};
    size_t i = 0;

    while (rate >= 999.5 && i + 1 < BASE_COUNT(NAMES)) {
        rate /= 1000;
        i++;
    }
    base_buf_printf(out, "%.3g %s%s/s", rate, NAMES[i], units);
}

const char *cli_train_value(double value, int digits, char *out, size_t size)
{
    if (fabs(value) >= 1e5 && fabs(value) < 1e15)
        snprintf(out, size, "%.0f", value);
    else
        snprintf(out, size, "%.*g", digits, value);
    return out;
}

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
                        cli_train_value(value, 5, text, sizeof text));
}

static void put_part(struct base_buf *out, enum part part, const struct cli_train_look *look,
                     bool ascii)
{
    char text[32];

    if (part == OBJECTIVE && isfinite(look->value)) {
        base_buf_printf(out, "%s %s", look->objective,
                        cli_train_value(look->value, 5, text, sizeof text));
        if (look->trend != 0 && !ascii)
            base_buf_puts(out, look->trend < 0 ? " ↓" : " ↑");
        put_held_out(out, look->held_out, look->held_out_value);
    } else if (part == RATE && look->rate > 0) {
        cli_train_put_rate(out, look->rate, look->units);
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

/* ---- the end ---- */

/* The application's lines, as strings of JSON or indented. */
static void put_said(struct base_buf *out, const struct base_buf *said, bool json)
{
    struct base_buf line;

    base_buf_init(&line, out->alloc, said->size + 1);
    for (size_t at = 0; at < said->size;) {
        size_t size = strcspn(said->data + at, "\n");
        base_buf_clear(&line);
        base_buf_append(&line, said->data + at, size);
        base_buf_puts(out, !json ? "  " : at > 0 ? "," : "");
        if (base_buf_status(&line) != SHOAL_OK)
            out->status = base_buf_status(&line);
        else if (json)
            base_buf_json_string(out, line.data);
        else
            base_buf_printf(out, "%s\n", line.data);
        at += size + 1;
    }
    base_buf_fini(&line);
}

/* Room for all that is printed: an escaped byte has six, a point of the curve four numbers. */
static size_t print_max(const struct cli_trained *t)
{
    return ((size_t)1 << 17) + 8 * t->said.size +
           (t->settings != NULL ? 8 * strlen(t->settings) : 0) +
           128 * (size_t)t->result.trail.count;
}

/* What tells runs apart: "algorithm" is the application and its option of that name, if it has one. */
static void put_options(struct base_buf *out, const struct cli_trained *t)
{
    const shoal_opt *rows = t->app->opts;
    struct base_buf value, algorithm;
    void *values = NULL;
    shoal_status st = train_options_new(out->alloc, t->app, t->settings != NULL ? t->settings : "",
                                        &values, NULL);

    base_buf_init(&value, out->alloc, out->size_max);
    base_buf_init(&algorithm, out->alloc, out->size_max);
    base_buf_puts(&algorithm, t->app->name);
    base_buf_puts(out, ",\"options\":{");
    for (size_t i = 0; i < t->app->opt_count && st == SHOAL_OK; i++) {
        base_buf_clear(&value);
        base_opt_format(&rows[i], values, &value);
        base_buf_puts(&value, "");
        st = base_buf_status(&value);
        if (st != SHOAL_OK)
            break;
        base_buf_puts(out, i > 0 ? "," : "");
        base_buf_json_string(out, rows[i].name);
        base_buf_puts(out, ":");
        base_buf_json_string(out, value.data);
        if (strcmp(rows[i].name, "algorithm") == 0)
            base_buf_printf(&algorithm, "-%s", value.data);
    }
    base_buf_puts(out, "},\"algorithm\":");
    if (st == SHOAL_OK)
        st = base_buf_status(&algorithm);
    if (st == SHOAL_OK)
        base_buf_json_string(out, algorithm.data);
    else
        out->status = st;
    train_options_free(out->alloc, values);
    base_buf_fini(&value);
    base_buf_fini(&algorithm);
}

/* The objective along the way: of reports in the same clock the last one. */
static void put_curve(struct base_buf *out, const struct train_job_result *r)
{
    const struct train_trail *trail = &r->trail;
    const char *between = "";

    base_buf_puts(out, ",\"curve\":[");
    for (uint32_t i = 0; i < trail->count; i++) {
        const struct train_trail_value *v = &trail->value[i];
        if (i + 1 < trail->count && v[1].clock == v->clock)
            continue;
        double at_s = v->at_ns > r->begun_ns ? (double)(v->at_ns - r->begun_ns) * 1e-9 : 0;
        base_buf_printf(out, "%s[%" PRIu64 ",", between, v->clock);
        base_json_f64(out, fmin(at_s, r->seconds));
        base_buf_puts(out, ",");
        base_json_f64(out, v->value);
        base_buf_puts(out, ",");
        base_json_f64(out, (double)v->task_ns * 1e-9);
        base_buf_puts(out, "]");
        between = ",";
    }
    base_buf_puts(out, "]");
}

/* By shoal_stop. */
static const struct {
    const char *name, *words;
} STOPS[] = {
    [SHOAL_STOP_TOLERANCE] = {"tolerance", "converged"},
    [SHOAL_STOP_HELD_OUT] = {"held_out", "the error on held-out data no longer falls"},
    [SHOAL_STOP_LIMIT] = {"limit", "not converged: the limit on iterations came first"},
    [SHOAL_STOP_STALLED] = {"stalled", "not converged: no step lowers the objective any more"},
    [SHOAL_STOP_SCHEDULE] = {"schedule", "all iterations are done"},
};

static bool not_converged(shoal_stop why)
{
    return why == SHOAL_STOP_LIMIT || why == SHOAL_STOP_STALLED;
}

void cli_train_put_stopped(struct base_buf *out, const struct train_stats *s)
{
    double percent = 100 * s->gap;
    char text[32];

    if (STOPS[s->stopped].words == NULL)
        return;
    base_buf_puts(out, STOPS[s->stopped].words);
    if (isfinite(s->gap))
        base_buf_printf(out, ", the minimum is at most %s %% lower",
                        cli_train_value(percent, percent < 99.5 ? 2 : 3, text, sizeof text));
}

void cli_train_warn(const struct cli_context *cx, const struct cli_trained *t)
{
    struct base_buf text;

    if (!not_converged(t->result.stats.stopped))
        return;
    base_buf_init(&text, env_alloc(cx->env), 1 << 10);
    cli_train_put_stopped(&text, &t->result.stats);
    if (base_buf_status(&text) == SHOAL_OK)
        base_log(&cx->log, BASE_LOG_WARN, "%s; 'shoal app show %s' lists its limits", text.data,
                 t->app->name);
    base_buf_fini(&text);
}

static void put_stopped(struct base_buf *out, const struct train_stats *s)
{
    bool known = s->stopped != SHOAL_STOP_UNSAID && s->stopped != SHOAL_STOP_SCHEDULE;

    base_buf_printf(out, ",\"converged\":%s,\"stopped\":",
                    !known                      ? "null"
                    : not_converged(s->stopped) ? "false"
                                                : "true");
    if (STOPS[s->stopped].name != NULL)
        base_buf_json_string(out, STOPS[s->stopped].name);
    else
        base_buf_puts(out, "null");
    cli_json_number(out, "gap", s->gap);
}

static int print_json(const struct cli_context *cx, const struct cli_trained *t)
{
    const struct train_stats *s = &t->result.stats;
    struct base_buf out;
    uint32_t last = TRAIN_STALE_MAX;
    int rc;

    base_buf_init(&out, env_alloc(cx->env), print_max(t));
    base_buf_puts(&out, "{\"v\":1,\"app\":");
    base_buf_json_string(&out, t->app->name);
    base_buf_puts(&out, ",\"name\":");
    base_buf_json_string(&out, t->name);
    base_buf_puts(&out, ",\"objective\":");
    base_buf_json_string(&out, t->app->objective);
    cli_json_number(&out, "value", s->value);
    cli_json_number(&out, "held_out", s->held_out);
    put_stopped(&out, s);
    cli_json_number(&out, "seconds", t->result.seconds);
    cli_json_number(&out, "load_seconds", t->result.load_seconds);
    cli_json_number(&out, "cpu_s", t->cpu_s);
    cli_json_number(&out, "units_per_s", (double)(s->units - s->units_before) / t->result.seconds);
    cli_json_number(&out, "iterations", s->iterations > 0 ? (double)s->iterations : (double)NAN);
    base_buf_printf(&out,
                    ",\"units\":%" PRIu64 ",\"clocks\":%" PRIu64 ",\"tasks\":%" PRIu64
                    ",\"tasks_redone\":%" PRIu64 ",\"moves\":%" PRIu64,
                    s->units, s->clocks, s->tasks, s->tasks_redone, s->moves);
    base_buf_printf(&out,
                    ",\"checkpoints\":%" PRIu64 ",\"checkpoints_failed\":%" PRIu64
                    ",\"checkpoint_bytes\":%" PRIu64,
                    s->checkpoints, s->checkpoints_failed, s->checkpoint_bytes);
    cli_json_number(&out, "max_pause_ms", (double)s->max_pause_ns * 1e-6);
    cli_json_number(&out, "task_s", (double)s->run_ns * 1e-9);
    cli_json_number(&out, "blocked_s", (double)s->wait_ns * 1e-9);
    base_buf_printf(&out,
                    ",\"workers\":%u,\"workers_lost\":%u,\"workers_stalled\":%u,\"executors\":%u,"
                    "\"staleness\":[",
                    s->workers, s->workers_lost, s->workers_stalled, s->executors);
    while (last > 1 && s->stale[last - 1] == 0)
        last--;
    for (uint32_t i = 0; i < last; i++)
        base_buf_printf(&out, "%s%" PRIu64, i > 0 ? "," : "", s->stale[i]);
    base_buf_printf(&out, "],\"resumed\":%s,\"model\":", s->resumed ? "true" : "false");
    if (t->model != NULL)
        base_buf_json_string(&out, t->model);
    else
        base_buf_puts(&out, "null");
    base_buf_puts(&out, ",\"report\":");
    if (t->report != NULL)
        base_buf_json_string(&out, t->report);
    else
        base_buf_puts(&out, "null");
    base_buf_puts(&out, ",\"said\":[");
    put_said(&out, &t->said, true);
    base_buf_puts(&out, "]");
    base_buf_printf(&out, ",\"machines\":%u,\"threads\":%u", s->workers, t->threads);
    cli_json_number(&out, "size", t->data_bytes);
    put_options(&out, t);
    put_curve(&out, &t->result);
    if (t->error.code != SHOAL_OK) {
        base_buf_puts(&out, ",\"error\":");
        cli_fail_json(&out, &t->error);
    }
    base_buf_puts(&out, "}\n");
    rc = cli_print(cx, &out);
    base_buf_fini(&out);
    return rc;
}

static const char *s_of(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* What happened to the crew, when something did. */
static void put_changes(struct base_buf *out, const struct train_stats *s)
{
    if (s->workers_stalled > 0)
        base_buf_printf(out, "%u worker%s dismissed: they had work and finished none of it\n",
                        s->workers_stalled, s_of(s->workers_stalled));
    if (s->workers_lost > 0)
        base_buf_printf(out, "%u worker%s lost, %" PRIu64 " task%s run again\n", s->workers_lost,
                        s_of(s->workers_lost), s->tasks_redone, s_of(s->tasks_redone));
    if (s->moves > 0)
        base_buf_printf(out, "%" PRIu64 " move%s, longest pause %.1f ms\n", s->moves,
                        s_of(s->moves), (double)s->max_pause_ns * 1e-6);
}

/* What went wrong is told on stderr, by cli_train_warn. */
static void put_stopped_line(struct base_buf *out, const struct train_stats *s)
{
    if (s->stopped == SHOAL_STOP_UNSAID || not_converged(s->stopped))
        return;
    cli_train_put_stopped(out, s);
    base_buf_puts(out, "\n");
}

int cli_train_print(const struct cli_context *cx, const struct cli_trained *t)
{
    const struct train_stats *s = &t->result.stats;
    char took[32], cpu[32], steps[48], value[32];
    struct base_buf out;
    int rc;

    if (cx->json)
        return print_json(cx, t);
    base_buf_init(&out, env_alloc(cx->env), print_max(t));
    base_buf_printf(&out, "%s: ", t->app->name);
    if (isfinite(s->value)) {
        base_buf_printf(&out, "%s %s", t->app->objective,
                        cli_train_value(s->value, 6, value, sizeof value));
        put_held_out(&out, t->app->held_out, s->held_out);
        base_buf_puts(&out, " ");
    }
    base_buf_printf(&out, "after %s in %s (%s CPU), ", train_run_steps(s, steps, sizeof steps),
                    base_format_duration(t->result.seconds, took, sizeof took),
                    base_format_duration(t->cpu_s, cpu, sizeof cpu));
    cli_train_put_rate(&out, (double)(s->units - s->units_before) / t->result.seconds,
                       t->app->units);
    base_buf_puts(&out, "\n");
    put_stopped_line(&out, s);
    put_changes(&out, s);
    put_said(&out, &t->said, false);
    if (t->model != NULL && t->app->score != NULL)
        base_buf_printf(&out, "model: %s    use it: shoal predict %s DATA\n", t->model, t->model);
    else if (t->model != NULL)
        base_buf_printf(&out, "model: %s\n", t->model);
    else if (t->app->save != NULL && cx->terminal && t->result.model_status == SHOAL_OK)
        base_buf_puts(&out, "no model was kept; --out FILE keeps one\n");
    if (t->report != NULL)
        base_buf_printf(&out, "report: %s\n", t->report);
    else if (t->app->page != NULL && cx->terminal)
        base_buf_puts(&out, "add --report out.html for a page about it\n");
    rc = cli_print(cx, &out);
    base_buf_fini(&out);
    return rc;
}
