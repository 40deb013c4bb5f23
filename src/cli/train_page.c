/* train_page.c - see train_page.h.
 *
 * A paragraph in words, numbers, the value over time (and what was measured
 * on data held out, and workers, where they changed), the
 * application's sections, settings, the command. Nothing here grows with the job: the trail has a
 * maximum of points, settings of rows, the application's part of bytes. Tests:
 * tests/unit/cli/test_train_page.c, tests/cli/test_train_report.py. */
#include "cli/train_page.h"

#include "base/err.h"
#include "base/text.h"
#include "page/page.h"
#include "shoal/version.h"
#include "train/options.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { PLOT_PX = 220, VALUE_DIGITS = 6, DRAWN_MAX = 200 };
_Static_assert((int)DRAWN_MAX < (int)PAGE_POINTS_MAX &&
                   (int)TRAIN_TRAIL_CREWS < (int)PAGE_POINTS_MAX,
               "lines");

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != 0 ? slash + 1 : path;
}

static const char *s_of(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void put_title(struct base_buf *out, const struct cli_train_page *p)
{
    page_name(out, p->trained->app->name, PAGE_NAME_CHARS);
    base_buf_puts(out, " on ");
    page_name(out, base_name(p->opts->path), 80);
}

/* ---- numbers ---- */

/* ", perplexity 4351.2 on data held out," */
static void put_held_out(struct base_buf *out, const struct cli_train_page *p)
{
    double value = p->trained->result.stats.held_out;
    char text[64];

    if (p->trained->app->held_out == NULL || !isfinite(value))
        return;
    base_buf_puts(out, ", ");
    page_name(out, p->trained->app->held_out, PAGE_NAME_CHARS);
    base_buf_printf(out, " %s on data held out,", page_value(value, 5, text, sizeof text));
}

/* "nll 9.49749 after 123 clocks in 3.5 s. 1 worker was lost on the way, and the 3 tasks ..." */
static void put_words(struct base_buf *out, const struct cli_train_page *p)
{
    const struct train_stats *s = &p->trained->result.stats;
    char text[2][64];

    base_buf_puts(out, "<p class=\"lead\">");
    if (isfinite(s->value)) {
        base_buf_puts(out, "<b>");
        page_name(out, p->trained->app->objective, PAGE_NAME_CHARS);
        base_buf_printf(out, " %s</b>",
                        page_value(s->value, VALUE_DIGITS, text[0], sizeof text[0]));
        put_held_out(out, p);
        base_buf_puts(out, " after ");
    } else {
        base_buf_puts(out, "Done after ");
    }
    base_buf_printf(out, "%s in %s. ", train_run_steps(s, text[0], sizeof text[0]),
                    page_duration(p->trained->result.seconds, text[1], sizeof text[1]));
    if (s->stopped != SHOAL_STOP_UNSAID) {
        base_buf_puts(out, "How it ended: ");
        cli_train_put_stopped(out, s);
        base_buf_puts(out, ". ");
    }
    if (s->resumed)
        base_buf_puts(out, "It went on from a checkpoint; times are of this run alone. ");
    if (s->workers_lost > 0)
        base_buf_printf(out,
                        "%u worker%s lost on the way, and the %" PRIu64
                        " task%s that %s begun ran again: each task took effect exactly once. ",
                        s->workers_lost, s->workers_lost == 1 ? " was" : "s were", s->tasks_redone,
                        s_of(s->tasks_redone), s->workers_lost == 1 ? "it had" : "they had");
    base_buf_puts(out, "</p>\n");
}

static void put_work_tile(struct base_buf *out, const struct cli_train_page *p)
{
    const struct train_stats *s = &p->trained->result.stats;
    struct base_buf rate;
    char count[64];

    if (s->units == 0)
        return;
    base_buf_puts(out, "<div><dt>Work, ");
    page_name(out, p->trained->app->units, PAGE_NAME_CHARS);
    base_buf_printf(out, "</dt><dd>%s<span class=\"dim small\">",
                    base_format_count(s->units, count, sizeof count));
    base_buf_init(&rate, out->alloc, 1 << 10);
    cli_train_put_rate(&rate, (double)(s->units - s->units_before) / p->trained->result.seconds,
                       p->trained->app->units);
    page_name(out, base_buf_status(&rate) == SHOAL_OK ? rate.data : "", PAGE_NAME_CHARS);
    base_buf_fini(&rate);
    base_buf_puts(out, "</span></dd></div>\n");
}

static void put_crew_tile(struct base_buf *out, const struct train_stats *s)
{
    char value[32], note[64] = "none was lost";

    snprintf(value, sizeof value, "%u", s->workers > 0 ? s->workers : s->wanted);
    if (s->workers_lost > 0)
        snprintf(note, sizeof note, "%u lost", s->workers_lost);
    page_tile(out, "Workers", value, note);
}

static void put_tiles(struct base_buf *out, const struct cli_train_page *p)
{
    const struct train_job_result *r = &p->trained->result;
    const struct train_stats *s = &r->stats;
    char value[80], note[160], text[64];

    base_buf_puts(out, "<dl class=\"tiles\">\n");
    snprintf(note, sizeof note, "and %s to read data",
             page_duration(r->load_seconds, text, sizeof text));
    page_tile(out, "Time", page_duration(r->seconds, value, sizeof value), note);
    page_tile(out, "CPU time", page_duration(p->trained->cpu_s, value, sizeof value), NULL);
    snprintf(note, sizeof note, "%s task%s", base_format_count(s->tasks, text, sizeof text),
             s_of(s->tasks));
    page_tile(out, "Clocks", base_format_count(s->clocks, value, sizeof value), note);
    put_work_tile(out, p);
    put_crew_tile(out, s);
    if (p->opts->checkpoint.dir != NULL) {
        snprintf(note, sizeof note, "%s each",
                 base_format_bytes((double)s->checkpoint_bytes, text, sizeof text));
        page_tile(out, "Checkpoints", base_format_count(s->checkpoints, value, sizeof value),
                  s->checkpoints > 0 ? note : NULL);
    }
    base_buf_puts(out, "</dl>\n");
}

/* ---- over time ---- */

static double seconds_of(const struct train_job_result *r, uint64_t at_ns)
{
    return at_ns > r->begun_ns ? fmin((double)(at_ns - r->begun_ns) * 1e-9, r->seconds) : 0;
}

/* What is drawn over time: the objective, or what was measured on data held out. */
struct series {
    const char *id, *name;
    bool held_out;
    uint64_t all; /* that there were */
};

static double value_at(const struct train_job_result *r, const struct series *s, size_t i)
{
    return s->held_out ? r->trail.value[i].held_out : r->trail.value[i].value;
}

static size_t count_finite(const struct train_job_result *r, const struct series *s)
{
    size_t finite = 0;

    for (size_t i = 0; i < r->trail.count; i++)
        finite += isfinite(value_at(r, s, i)) ? 1 : 0;
    return finite;
}

/* Points that are drawn, as places in the trail: finite ones, of a long trail some evenly apart with the
 * first and the last. */
static void fill_values(const struct train_job_result *r, const struct series *s,
                        struct page_line *line, double *lo, double *hi)
{
    size_t finite = count_finite(r, s), at = 0;
    size_t drawn = finite < DRAWN_MAX ? finite : DRAWN_MAX;
    *lo = INFINITY;
    *hi = -INFINITY;
    for (size_t i = 0; i < r->trail.count && line->count < drawn; i++) {
        double value = value_at(r, s, i);
        if (!isfinite(value))
            continue;
        size_t next = finite > DRAWN_MAX ? line->count * (finite - 1) / (DRAWN_MAX - 1) : at;
        if (at++ != next)
            continue;
        line->x[line->count] = (float)(seconds_of(r, r->trail.value[i].at_ns) / r->seconds);
        line->y[line->count++] = (float)i;
        *lo = fmin(*lo, value);
        *hi = fmax(*hi, value);
    }
}

static void value_table(struct base_buf *out, const struct train_job_result *r,
                        const struct series *s, const struct page_line *line)
{
    char text[3][64];

    page_details_open(out);
    base_buf_puts(out, "<thead><tr><th scope=\"col\">After</th><th scope=\"col\" "
                       "class=\"r\">clock</th><th scope=\"col\" class=\"r\">");
    page_name(out, s->name, PAGE_NAME_CHARS);
    base_buf_puts(out, "</th></tr></thead><tbody>");
    size_t rows = line->count < PAGE_TABLE_ROWS ? line->count : PAGE_TABLE_ROWS;
    for (size_t row = 0; row < rows; row++) {
        size_t at = rows > 1 ? row * (line->count - 1) / (rows - 1) : 0;
        const struct train_trail_value *v = &r->trail.value[(size_t)line->y[at]];
        base_buf_printf(
            out, "<tr><td>%s</td><td class=\"r\">%s</td><td class=\"r\">%s</td></tr>\n",
            page_duration(seconds_of(r, v->at_ns), text[0], sizeof text[0]),
            base_format_count(v->clock, text[1], sizeof text[1]),
            page_value(value_at(r, s, (size_t)line->y[at]), VALUE_DIGITS, text[2], sizeof text[2]));
    }
    base_buf_puts(out, "</tbody>");
    page_details_close(out);
    if (rows < s->all)
        base_buf_printf(out,
                        "<p class=\"dim small\">The table has %zu of %s values, from the first to "
                        "the last.</p>\n",
                        rows, base_format_count(s->all, text[0], sizeof text[0]));
}

/* A line has two points. */
static bool is_drawn(const struct train_job_result *r, const struct series *s)
{
    return s->name != NULL && r->seconds > 0 && count_finite(r, s) >= 2;
}

static void put_value_chart(struct base_buf *out, const struct cli_train_page *p, struct series *s)
{
    const struct train_job_result *r = &p->trained->result;
    struct page_line line = {.name = s->name}, table;
    struct page_chart chart = {.height = PLOT_PX, .lines = &line, .line_count = 1, .mark = -1};
    char text[2][64];
    double lo, hi;

    if (!is_drawn(r, s))
        return;
    fill_values(r, s, &line, &lo, &hi);
    s->all = s->held_out ? r->trail.held_seen : r->trail.seen;
    table = line;
    double first = value_at(r, s, (size_t)line.y[0]);
    double last = value_at(r, s, (size_t)line.y[line.count - 1]);
    page_axis_range(&chart.y, &lo, &hi);
    for (size_t i = 0; i < line.count; i++)
        line.y[i] = (float)((value_at(r, s, (size_t)table.y[i]) - lo) / (hi - lo));
    page_axis_time(&chart.x, r->seconds);
    base_buf_printf(out,
                    "<section class=\"panel\" aria-labelledby=\"h-%s\"><div class=\"head\">"
                    "<h2 id=\"h-%s\">",
                    s->id, s->id);
    page_name(out, s->name, PAGE_NAME_CHARS);
    base_buf_printf(out,
                    "</h2><span class=\"dim small\">%sover time; less is better</span></div>\n"
                    "<div class=\"plot\">",
                    s->held_out ? "on data held out, " : "");
    page_svg_open(out, PLOT_PX + PAGE_AXIS_PX);
    page_name(out, s->name, PAGE_NAME_CHARS);
    base_buf_printf(out, " over time, from %s to %s",
                    page_value(first, VALUE_DIGITS, text[0], sizeof text[0]),
                    page_value(last, VALUE_DIGITS, text[1], sizeof text[1]));
    page_svg_label_done(out);
    page_svg_chart(out, &chart);
    page_svg_close(out);
    base_buf_puts(out, "</div>");
    value_table(out, r, s, &table);
    page_panel_close(out);
}

/* Whether there is anything to see: more than workers that came at the start. */
static bool crew_changed(const struct train_trail *trail)
{
    bool down = false;

    for (uint32_t i = 1; i < trail->crews; i++) {
        down = down || trail->crew[i].workers < trail->crew[i - 1].workers;
        if (trail->crew[i].lost > trail->crew[0].lost ||
            (down && trail->crew[i].workers > trail->crew[i - 1].workers))
            return true;
    }
    for (uint32_t i = 1; i + 1 < trail->crews; i++)
        if (trail->crew[i + 1].at_ns - trail->crew[0].at_ns > UINT64_C(2000000000) &&
            trail->crew[i].workers > 0)
            return true;
    return false;
}

/* A dashed line for each moment at which a worker was lost. */
static void put_losses(void *ctx, struct base_buf *out)
{
    const struct train_job_result *r = ctx;

    for (uint32_t i = 1; i < r->trail.crews; i++)
        if (r->trail.crew[i].lost > r->trail.crew[i - 1].lost)
            base_buf_printf(out, "<path class=\"lost\" d=\"M%.1f 0V%d\"/>",
                            seconds_of(r, r->trail.crew[i].at_ns) / r->seconds * PAGE_WIDTH,
                            PLOT_PX);
}

static void crew_table(struct base_buf *out, const struct train_job_result *r)
{
    uint32_t first = r->trail.crews > PAGE_TABLE_ROWS ? r->trail.crews - PAGE_TABLE_ROWS : 0;
    char text[64];

    page_details_open(out);
    base_buf_puts(out, "<thead><tr><th scope=\"col\">From</th><th scope=\"col\" class=\"r\">workers"
                       "</th><th scope=\"col\" class=\"r\">lost so far</th></tr></thead><tbody>");
    for (uint32_t i = first; i < r->trail.crews; i++)
        base_buf_printf(out, "<tr><td>%s</td><td class=\"r\">%u</td><td class=\"r\">%u</td></tr>\n",
                        page_duration(seconds_of(r, r->trail.crew[i].at_ns), text, sizeof text),
                        r->trail.crew[i].workers, r->trail.crew[i].lost);
    base_buf_puts(out, "</tbody>");
    page_details_close(out);
    if (first > 0)
        base_buf_printf(out, "<p class=\"dim small\">The last %d of %u changes.</p>\n",
                        PAGE_TABLE_ROWS, r->trail.crews);
}

static void put_crew_chart(struct base_buf *out, const struct cli_train_page *p)
{
    const struct train_job_result *r = &p->trained->result;
    struct page_line line = {.name = "workers", .steps = true};
    struct page_chart chart = {.height = PLOT_PX,
                               .lines = &line,
                               .line_count = 1,
                               .mark = -1,
                               .behind = put_losses,
                               .ctx = (void *)(uintptr_t)r};
    uint32_t most = 0;

    for (uint32_t i = 0; i < r->trail.crews; i++)
        most = r->trail.crew[i].workers > most ? r->trail.crew[i].workers : most;
    double top = page_axis_count(&chart.y, most);
    for (uint32_t i = 0; i < r->trail.crews; i++) {
        line.x[i] = (float)(seconds_of(r, r->trail.crew[i].at_ns) / r->seconds);
        line.y[i] = (float)(r->trail.crew[i].workers / top);
    }
    line.count = r->trail.crews;
    if (line.count > 0) {
        line.x[line.count] = 1;
        line.y[line.count] = line.y[line.count - 1];
        line.count++;
    }
    page_axis_time(&chart.x, r->seconds);
    page_panel_open(out, "crew", "Workers",
                    r->stats.workers_lost > 0 ? "over time; dashed: one was lost" : "over time");
    base_buf_puts(out, "<div class=\"plot\">");
    page_svg_open(out, PLOT_PX + PAGE_AXIS_PX);
    base_buf_printf(out, "Workers over time, at most %u; %u lost", most, r->stats.workers_lost);
    page_svg_label_done(out);
    page_svg_chart(out, &chart);
    page_svg_close(out);
    base_buf_puts(out, "</div>");
    crew_table(out, r);
    page_panel_close(out);
}

static void put_charts(struct base_buf *out, const struct cli_train_page *p)
{
    bool crew = p->trained->result.seconds > 0 && crew_changed(&p->trained->result.trail);

    struct series value = {.id = "value", .name = p->trained->app->objective},
                  held = {.id = "held-out", .name = p->trained->app->held_out, .held_out = true};

    bool many = crew || is_drawn(&p->trained->result, &held);

    base_buf_puts(out, many ? "<div class=\"cols\">\n" : "");
    put_value_chart(out, p, &value);
    put_value_chart(out, p, &held);
    if (crew)
        put_crew_chart(out, p);
    base_buf_puts(out, many ? "</div>\n" : "");
}

/* ---- settings and the end ---- */

/* Lines that the application said, where it has nothing better for a page. */
static void put_said(struct base_buf *out, const struct cli_train_page *p)
{
    const struct base_buf *said = &p->trained->said;

    if (p->sections->size > 0 || said->size == 0)
        return;
    page_panel_open(out, "said", "What was learnt", NULL);
    base_buf_puts(out, "<p class=\"cmd mono\">");
    for (size_t at = 0; at < said->size;) {
        size_t size = strcspn(said->data + at, "\n");
        page_name_of(out, said->data + at, size, 200);
        base_buf_puts(out, "\n");
        at += size + 1;
    }
    base_buf_puts(out, "</p>\n");
    page_panel_close(out);
}

static void put_setting(struct base_buf *out, const shoal_opt *row, const void *values,
                        const void *usual, struct base_buf *scratch)
{
    char mine[200], theirs[200];

    base_buf_clear(scratch);
    base_opt_format(row, values, scratch);
    snprintf(mine, sizeof mine, "%s", scratch->size > 0 ? scratch->data : "");
    base_buf_clear(scratch);
    base_opt_format(row, usual, scratch);
    snprintf(theirs, sizeof theirs, "%s", scratch->size > 0 ? scratch->data : "");
    bool chosen = strcmp(mine, theirs) != 0;
    if (!chosen && row->fallback == NULL && row->type != SHOAL_OPT_FLAG)
        mine[0] = 0; /* not set: its 0 is no value */
    base_buf_printf(out, "<tr><td class=\"%s\">", chosen ? "name" : "");
    page_name(out, row->name, PAGE_NAME_CHARS);
    base_buf_printf(out, "</td><td class=\"%s\">", chosen ? "best" : "");
    page_name(out, mine[0] != 0 ? mine : "\xe2\x80\x93", 80);
    base_buf_puts(out, "</td><td class=\"dim hide\">");
    page_name(out, row->help, 200);
    base_buf_puts(out, "</td></tr>\n");
}

static shoal_status put_settings(struct base_buf *out, const struct cli_train_page *p,
                                 shoal_err *err)
{
    const shoal_app *app = p->opts->app;
    void *values = NULL, *usual = NULL;
    struct base_buf scratch;
    shoal_status st = train_options_new(out->alloc, app, p->opts->settings, &values, err);

    if (st == SHOAL_OK)
        st = train_options_new(out->alloc, app, "", &usual, err);
    if (st == SHOAL_OK && app->opt_count > 0) {
        base_buf_init(&scratch, out->alloc, 1 << 16);
        page_panel_open(out, "settings", "Settings",
                        "those that are not at their defaults in bold");
        base_buf_puts(out, "<table class=\"wordy\"><thead><tr><th scope=\"col\">Option</th><th "
                           "scope=\"col\">value</th><th scope=\"col\" class=\"hide\">what it does"
                           "</th></tr></thead><tbody>\n");
        for (size_t i = 0; i < app->opt_count; i++)
            put_setting(out, &app->opts[i], values, usual, &scratch);
        base_buf_puts(out, "</tbody></table>\n");
        page_panel_close(out);
        base_buf_fini(&scratch);
    }
    train_options_free(out->alloc, values);
    train_options_free(out->alloc, usual);
    return st;
}

static void put_repeat(struct base_buf *out, const struct cli_train_page *p)
{
    const struct train_job_opts *o = p->opts;

    page_panel_open(out, "repeat", "To repeat this", NULL);
    base_buf_puts(out, "<p class=\"cmd mono\">");
    base_buf_html(out, p->command);
    base_buf_puts(out, "</p><dl class=\"facts\">\n");
    page_fact_open(out, "Data");
    page_name(out, o->path, 200);
    page_fact_close(out);
    page_fact_open(out, "Model");
    if (p->trained->result.model_status != SHOAL_OK) {
        base_buf_puts(out, "not kept: ");
        page_name(out, p->trained->result.model_err.message, 300);
    } else {
        page_name(out, o->model != NULL ? o->model : "not kept", 200);
    }
    page_fact_close(out);
    page_fact_open(out, "Seed");
    base_buf_printf(out, "%" PRIu64, o->seed);
    page_fact_close(out);
    page_fact_open(out, "Workers");
    base_buf_printf(out, "%u, %u thread%s each", o->workers, o->threads, s_of(o->threads));
    page_fact_close(out);
    page_fact_open(out, "Executors");
    base_buf_printf(out, "%u", p->trained->result.stats.executors);
    page_fact_close(out);
    page_fact_open(out, "Version");
    base_buf_puts(out, "shoal " SHOAL_VERSION);
    page_fact_close(out);
    base_buf_puts(out, "</dl>\n");
    page_panel_close(out);
}

shoal_status cli_train_page(const struct cli_train_page *p, struct base_buf *out, shoal_err *err)
{
    page_head_open(out);
    put_title(out, p);
    page_head_close(out, page_style_more);
    page_top(out, "training report");
    base_buf_puts(out, "<div class=\"title\"><h1>");
    put_title(out, p);
    base_buf_puts(out, "</h1><span class=\"dim\">");
    page_name(out, p->trained->app->summary, 120);
    base_buf_puts(out, "</span></div>\n<section class=\"panel words\" aria-label=\"In words\">");
    put_words(out, p);
    put_tiles(out, p);
    base_buf_puts(out, "</section>\n");
    put_charts(out, p);
    base_buf_append(out, p->sections->data, p->sections->size);
    put_said(out, p);
    shoal_status st = put_settings(out, p, err);
    put_repeat(out, p);
    page_end(out);
    if (st != SHOAL_OK)
        return st;
    st = base_buf_status(out);
    if (st == SHOAL_E_LIMIT)
        return base_err(err, st, "cannot write the page: larger than %zu bytes", out->size_max);
    return st == SHOAL_OK ? st : base_err_nomem(err, "writing the page");
}
