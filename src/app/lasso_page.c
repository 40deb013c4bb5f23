/* lasso_page.c - the path of a sparse model as sections of the job's page: coefficients over lambda, how
 * many columns there are at each, held-out losses with their standard errors, and the columns of the
 * solution that predictions use.
 *
 * Lambda falls from left to right on a logarithmic axis, as the path goes. The NAMED columns whose
 * coefficients grow largest on the path have colours and names, some of the others are grey, and what is
 * not drawn is said. Numbers only: there is no text from data.
 * Tests: tests/cli/test_train_report.py. */
#include "app/lasso.h"

#include "base/err.h"
#include "base/text.h"
#include "base/top.h"
#include "page/page.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    NAMED = 18,
    GREY_MAX = 160,
    GREY_POINTS = 8000, /* of all grey lines */
    DRAWN_MAX = NAMED + GREY_MAX,
    TALL_PX = 340,
    PLOT_PX = 220,
    CHOSEN_ROWS = 100,
    TABLE_COLUMNS = 6
};

/* One column that is drawn. */
struct drawn {
    uint32_t name; /* as the path has it */
    float at[PAGE_POINTS_MAX];
};

struct path_page {
    const struct lasso_driver *d;
    const struct lasso_options *o;
    const struct lasso_data *data;
    const struct lasso_entry *path;
    struct base_buf *out;
    double *mean, *error; /* (lambdas): held-out; NAN without folds */
    uint32_t chosen;      /* which lambda */
    uint32_t points;      /* of a line */
    uint32_t columns;     /* that ever had a coefficient */
    uint32_t drawn_count;
    struct drawn *drawn;    /* the largest first */
    uint32_t *slot;         /* (columns of the table): of `drawn`, from 1; 0: none */
    struct page_line *line; /* (NAMED), scratch */
    double lo, hi;          /* of coefficients, ends of the axis */
};

/* ---- where things are ---- */

static uint64_t first_of(const struct path_page *p, uint32_t k)
{
    return k > 0 ? p->d->of[k - 1].end : 0;
}

/* As the data has it, from what the path has. */
static uint32_t number_of(const struct path_page *p, uint32_t name)
{
    return name + (p->o->index == DATA_SVM_FROM_ZERO ? 0 : 1);
}

/* Which lambda a point of a line is. */
static uint32_t step_of(const struct path_page *p, uint32_t point)
{
    return p->points > 1 ? (uint32_t)((uint64_t)point * (p->d->lambdas - 1) / (p->points - 1)) : 0;
}

static double x_of(const struct path_page *p, uint32_t k)
{
    const struct lasso_step *of = p->d->of;
    double span = log(of[0].lambda / of[p->d->lambdas - 1].lambda);

    return span > 0 ? log(of[0].lambda / of[k].lambda) / span : 0;
}

static void lambda_axis(const struct path_page *p, struct page_axis *axis)
{
    page_axis_log(axis, p->d->of[p->d->lambdas - 1].lambda, p->d->of[0].lambda);
    for (size_t i = 0; i < axis->count; i++)
        axis->ticks[i].at = 1 - axis->ticks[i].at;
}

/* ---- which columns are drawn ---- */

/* `most` (columns of the table): scratch, zeroed. */
static void choose_columns(struct path_page *p, float *most)
{
    uint64_t entries = p->d->of[p->d->lambdas - 1].end;
    uint32_t max = p->points > 0 && GREY_POINTS / p->points < GREY_MAX
                       ? NAMED + GREY_POINTS / p->points
                       : DRAWN_MAX;
    struct base_top top[DRAWN_MAX];
    size_t count = 0;

    for (uint64_t e = 0; e < entries; e++) {
        uint32_t j = lasso_column_of(p->data, p->path[e].column);
        most[j] = fmaxf(most[j], fabsf(p->path[e].value));
    }
    for (uint32_t j = 0; j < p->d->columns; j++)
        if (most[j] > 0) {
            p->columns++;
            count = base_top_offer(top, count, max, j, (double)most[j]);
        }
    p->drawn_count = (uint32_t)count;
    for (uint32_t i = 0; i < count; i++) {
        p->drawn[i].name = lasso_name_of(p->data, (uint32_t)top[i].item);
        p->slot[top[i].item] = i + 1;
    }
}

static void fill_columns(struct path_page *p)
{
    for (uint32_t point = 0; point < p->points; point++) {
        uint32_t k = step_of(p, point);
        for (uint64_t e = first_of(p, k); e < p->d->of[k].end; e++) {
            uint32_t slot = p->slot[lasso_column_of(p->data, p->path[e].column)];
            if (slot == 0)
                continue;
            p->drawn[slot - 1].at[point] = p->path[e].value;
            p->lo = fmin(p->lo, p->path[e].value);
            p->hi = fmax(p->hi, p->path[e].value);
        }
    }
}

/* ---- coefficients ---- */

static double y_of(const struct path_page *p, float value)
{
    return (value - p->lo) / (p->hi - p->lo);
}

static void put_grey(void *ctx, struct base_buf *out)
{
    const struct path_page *p = ctx;

    base_buf_printf(out, "<path class=\"gl\" d=\"M0 %.1fH%d\"/>", (1 - y_of(p, 0)) * TALL_PX,
                    PAGE_WIDTH);
    for (uint32_t i = NAMED; i < p->drawn_count; i++) {
        bool begun = false;
        base_buf_puts(out, "<path class=\"faint\" d=\"");
        for (uint32_t point = 0; point < p->points; point++) {
            const float *at = p->drawn[i].at;
            bool near = at[point] != 0 || (point + 1 < p->points && at[point + 1] != 0) || begun;
            if (!near)
                continue;
            base_buf_printf(out, "%s%.0f %.1f", begun ? "L" : "M",
                            x_of(p, step_of(p, point)) * PAGE_WIDTH,
                            (1 - y_of(p, at[point])) * TALL_PX);
            begun = true;
        }
        base_buf_puts(out, begun ? "\"/>" : "M0 0\"/>");
    }
}

static void coefficient_table(const struct path_page *p)
{
    uint32_t columns = p->drawn_count < TABLE_COLUMNS ? p->drawn_count : TABLE_COLUMNS;
    uint32_t rows = p->points < PAGE_TABLE_ROWS ? p->points : PAGE_TABLE_ROWS;
    char text[64];

    page_details_open(p->out);
    base_buf_puts(p->out, "<thead><tr><th scope=\"col\">lambda</th>");
    for (uint32_t i = 0; i < columns; i++)
        base_buf_printf(p->out, "<th scope=\"col\" class=\"r\">column %u</th>",
                        number_of(p, p->drawn[i].name));
    base_buf_puts(p->out, "</tr></thead><tbody>");
    for (uint32_t row = 0; row < rows; row++) {
        uint32_t point = rows > 1 ? row * (p->points - 1) / (rows - 1) : 0;
        base_buf_printf(p->out, "<tr><td>%s</td>",
                        page_value(p->d->of[step_of(p, point)].lambda, 4, text, sizeof text));
        for (uint32_t i = 0; i < columns; i++)
            base_buf_printf(p->out, "<td class=\"r\">%s</td>",
                            page_value((double)p->drawn[i].at[point], 4, text, sizeof text));
        base_buf_puts(p->out, "</tr>\n");
    }
    base_buf_puts(p->out, "</tbody>");
    page_details_close(p->out);
}

static void put_legend(const struct path_page *p, uint32_t named, char (*name)[16])
{
    base_buf_puts(p->out, "<ul class=\"legend\">");
    for (uint32_t i = 0; i < named; i++) {
        base_buf_puts(p->out, "<li>");
        page_legend_key(p->out, page_style_of(i));
        base_buf_printf(p->out, "<b>%s</b></li>", name[i]);
    }
    base_buf_puts(p->out, "</ul>\n");
}

/* What is in the picture, for a panel's head. */
static void say_drawn(const struct path_page *p, char *note, size_t size)
{
    char all[32];

    if (p->columns <= NAMED)
        snprintf(note, size, "over lambda, which falls from left to right; a line is a column");
    else if (p->columns == p->drawn_count)
        snprintf(note, size,
                 "over lambda, which falls from left to right; the %d largest of %s in colour",
                 NAMED, base_format_count(p->columns, all, sizeof all));
    else
        snprintf(note, size,
                 "over lambda, which falls from left to right; the %u largest of %s, %d in colour",
                 p->drawn_count, base_format_count(p->columns, all, sizeof all), NAMED);
}

static void put_coefficients(struct path_page *p)
{
    uint32_t named = p->drawn_count < NAMED ? p->drawn_count : NAMED;
    struct page_chart chart = {.height = TALL_PX,
                               .lines = p->line,
                               .line_count = named,
                               .mark = p->d->folds > 0 ? x_of(p, p->chosen) : -1,
                               .mark_text = "picked",
                               .mark_plain = true,
                               .end_names = true,
                               .behind = put_grey,
                               .ctx = p};
    char name[NAMED][16], note[160];

    page_axis_range(&chart.y, &p->lo, &p->hi);
    lambda_axis(p, &chart.x);
    for (uint32_t i = 0; i < named; i++) {
        snprintf(name[i], sizeof name[i], "%u", number_of(p, p->drawn[i].name));
        p->line[i] =
            (struct page_line){.name = name[i], .style = page_style_of(i), .count = p->points};
        for (uint32_t point = 0; point < p->points; point++) {
            p->line[i].x[point] = (float)x_of(p, step_of(p, point));
            p->line[i].y[point] = (float)y_of(p, p->drawn[i].at[point]);
        }
    }
    say_drawn(p, note, sizeof note);
    page_panel_open(p->out, "path", "Coefficients", note);
    put_legend(p, named, name);
    base_buf_puts(p->out, "<div class=\"plot ends\">");
    page_svg_open(p->out, TALL_PX + PAGE_AXIS_PX);
    base_buf_printf(p->out, "Coefficients of %u columns over lambda, one line per column",
                    p->drawn_count);
    page_svg_label_done(p->out);
    page_svg_chart(p->out, &chart);
    page_svg_close(p->out);
    base_buf_puts(p->out, "</div>");
    coefficient_table(p);
    page_panel_close(p->out);
}

/* ---- by lambda ---- */

/* A panel with one line over lambda. */
static void put_line_panel(const struct path_page *p, struct page_chart *chart, const char *id,
                           const char *title, const char *note)
{
    lambda_axis(p, &chart->x);
    page_panel_open(p->out, id, title, note);
    base_buf_puts(p->out, "<div class=\"plot\">");
    page_svg_open(p->out, PLOT_PX + PAGE_AXIS_PX);
    base_buf_printf(p->out, "%s over lambda; the numbers are in the table below", title);
    page_svg_label_done(p->out);
    page_svg_chart(p->out, chart);
    page_svg_close(p->out);
    base_buf_puts(p->out, "</div>");
    page_panel_close(p->out);
}

static struct page_chart chart_of(const struct path_page *p)
{
    return (struct page_chart){.height = PLOT_PX,
                               .lines = p->line,
                               .line_count = 1,
                               .mark = p->d->folds > 0 ? x_of(p, p->chosen) : -1,
                               .mark_text = "picked",
                               .mark_plain = true};
}

static void put_counts(struct path_page *p)
{
    struct page_chart chart = chart_of(p);
    uint64_t most = 0;

    p->line[0] = (struct page_line){.name = "columns", .count = p->points};
    for (uint32_t k = 0; k < p->d->lambdas; k++) {
        uint64_t count = p->d->of[k].end - first_of(p, k);
        most = count > most ? count : most;
    }
    double top = page_axis_count(&chart.y, (double)most);
    for (uint32_t point = 0; point < p->points; point++) {
        uint32_t k = step_of(p, point);
        p->line[0].x[point] = (float)x_of(p, k);
        p->line[0].y[point] = (float)((double)(p->d->of[k].end - first_of(p, k)) / top);
    }
    put_line_panel(p, &chart, "count", "Columns", "that have a coefficient, over lambda");
}

static double half_width(const struct path_page *p, uint32_t k)
{
    return isfinite(p->error[k]) ? p->error[k] : 0;
}

static void put_held(struct path_page *p)
{
    struct page_chart chart = chart_of(p);
    struct page_band band = {
        .count = p->points, .x = p->line[0].x, .low = p->line[1].x, .high = p->line[1].y};
    double lo = INFINITY, hi = -INFINITY;

    if (p->d->folds == 0)
        return;
    p->line[0] = (struct page_line){.name = "held-out loss", .count = p->points};
    for (uint32_t k = 0; k < p->d->lambdas; k++) {
        lo = fmin(lo, p->mean[k] - half_width(p, k));
        hi = fmax(hi, p->mean[k] + half_width(p, k));
    }
    page_axis_range(&chart.y, &lo, &hi);
    for (uint32_t point = 0; point < p->points; point++) {
        uint32_t k = step_of(p, point);
        double y = (p->mean[k] - lo) / (hi - lo), around = half_width(p, k) / (hi - lo);
        p->line[0].x[point] = (float)x_of(p, k);
        p->line[0].y[point] = (float)y;
        p->line[1].x[point] = (float)(y - around);
        p->line[1].y[point] = (float)(y + around);
    }
    chart.band = &band;
    put_line_panel(p, &chart, "held", "Held-out loss",
                   "mean of the folds and a standard error around it, over lambda");
}

static void lambda_row(const struct path_page *p, uint32_t k)
{
    const struct lasso_step *of = &p->d->of[k];
    bool picked = k == p->chosen;
    char text[4][64];

    base_buf_printf(p->out, "<tr><td%s>%s%s</td><td class=\"r\">%s</td><td class=\"r\">%s</td>",
                    picked ? " class=\"best\"" : "",
                    page_value(of->lambda, 4, text[0], sizeof text[0]), picked ? ", picked" : "",
                    base_format_count(of->end - first_of(p, k), text[1], sizeof text[1]),
                    page_value(of->loss, 5, text[2], sizeof text[2]));
    if (p->d->folds > 0)
        base_buf_printf(p->out, "<td class=\"r\">%s \xc2\xb1 %s</td>",
                        page_value(p->mean[k], 5, text[0], sizeof text[0]),
                        page_value(p->error[k], 2, text[1], sizeof text[1]));
    base_buf_printf(
        p->out, "<td class=\"r\">%s</td></tr>\n",
        page_value(of->objective > 0 ? of->gap / of->objective : 0, 2, text[3], sizeof text[3]));
}

/* PAGE_TABLE_ROWS of the lambdas, evenly, and the picked one. */
static void put_lambdas(const struct path_page *p)
{
    uint32_t all = p->d->lambdas, rows = all < PAGE_TABLE_ROWS ? all : PAGE_TABLE_ROWS;
    char note[96];

    snprintf(note, sizeof note, "all %u", all);
    if (rows < all)
        snprintf(note, sizeof note, "%u of %u, and the picked one", rows, all);
    page_panel_open(p->out, "lambdas", "By lambda", note);
    base_buf_puts(
        p->out, "<table class=\"tight\"><thead><tr><th scope=\"col\">lambda</th><th scope=\"col\" "
                "class=\"r\">columns</th><th scope=\"col\" class=\"r\">loss</th>");
    if (p->d->folds > 0)
        base_buf_puts(p->out, "<th scope=\"col\" class=\"r\">held-out loss</th>");
    base_buf_puts(p->out, "<th scope=\"col\" class=\"r\">gap</th></tr></thead><tbody>\n");
    for (uint32_t row = 0, next = 0; row < rows; row++) {
        uint32_t k = rows > 1 ? (uint32_t)((uint64_t)row * (all - 1) / (rows - 1)) : 0;
        if (p->chosen >= next && p->chosen < k)
            lambda_row(p, p->chosen);
        lambda_row(p, k);
        next = k + 1;
    }
    base_buf_puts(p->out, "</tbody></table>\n");
    page_panel_close(p->out);
}

/* ---- the solution ---- */

static void chosen_row(const struct path_page *p, const struct lasso_entry *entry, double most)
{
    char text[64];

    base_buf_printf(p->out,
                    "<tr><td class=\"name\">%u</td><td class=\"r\">%s</td><td class=\"bars\"><span "
                    "class=\"bar\"><i class=\"%s\" style=\"width:%.1f%%\"></i></span></td></tr>\n",
                    number_of(p, entry->column),
                    page_value((double)entry->value, 5, text, sizeof text),
                    entry->value < 0 ? "neg" : "pos", 100 * fabs((double)entry->value) / most);
}

static void put_chosen(const struct path_page *p)
{
    const struct lasso_entry *entry = p->path + first_of(p, p->chosen);
    uint64_t count = p->d->of[p->chosen].end - first_of(p, p->chosen);
    struct base_top top[CHOSEN_ROWS];
    size_t rows = 0;
    char note[128], text[32];

    for (uint64_t e = 0; e < count; e++)
        rows = base_top_offer(top, rows, CHOSEN_ROWS, e, fabs((double)entry[e].value));
    snprintf(note, sizeof note, "of the solution that predictions use, the largest first");
    if (count > rows)
        snprintf(note, sizeof note, "the %zu largest of %s, of the solution that predictions use",
                 rows, base_format_count(count, text, sizeof text));
    page_panel_open(p->out, "chosen", "Chosen columns", note);
    if (rows == 0) {
        base_buf_puts(p->out, "<p>None: the intercept alone is the best guess.</p>\n");
    } else {
        base_buf_puts(
            p->out,
            "<table class=\"tight\"><thead><tr><th scope=\"col\">Column</th><th scope=\"col\" "
            "class=\"r\">coefficient</th><th scope=\"col\"></th></tr></thead>"
            "<tbody>\n");
        for (size_t i = 0; i < rows; i++)
            chosen_row(p, &entry[top[i].item], top[0].value);
        base_buf_puts(p->out, "</tbody></table>\n");
    }
    page_panel_close(p->out);
}

static void put_overview(const struct path_page *p)
{
    const struct lasso_step *of = &p->d->of[p->chosen];
    char text[64], note[96], other[64];
    double gap = 0;

    for (uint32_t k = 0; k < p->d->lambdas; k++)
        gap = fmax(gap, p->d->of[k].objective > 0 ? p->d->of[k].gap / p->d->of[k].objective : 0);
    page_panel_open(p->out, "solution", "Solution", "the one that predictions use");
    base_buf_puts(p->out, "<dl class=\"tiles\">\n");
    snprintf(note, sizeof note, "of %s", base_format_count(p->d->all_columns, other, sizeof other));
    page_tile(p->out, "Columns",
              base_format_count(of->end - first_of(p, p->chosen), text, sizeof text), note);
    snprintf(note, sizeof note, "number %u of %u", p->chosen + 1, p->d->lambdas);
    page_tile(p->out, "lambda", page_value(of->lambda, 4, text, sizeof text), note);
    page_tile(p->out, "Intercept", page_value(of->intercept, 4, text, sizeof text), NULL);
    page_tile(p->out, "Loss", page_value(of->loss, 5, text, sizeof text), "mean over rows");
    if (p->d->folds > 0) {
        snprintf(note, sizeof note, "\xc2\xb1 %s, %u folds",
                 page_value(p->error[p->chosen], 2, other, sizeof other), p->d->folds);
        page_tile(p->out, "Held-out loss", page_value(p->mean[p->chosen], 5, text, sizeof text),
                  note);
    }
    page_tile(p->out, "Rows", base_format_count(p->d->rows, text, sizeof text), NULL);
    page_tile(p->out, "Largest gap", page_value(gap, 2, text, sizeof text),
              "of any solution, against its objective");
    base_buf_puts(p->out, "</dl>\n");
    page_panel_close(p->out);
}

/* ---- all of it ---- */

static void write_sections(struct path_page *p)
{
    put_overview(p);
    if (p->d->lambdas > 1 && p->drawn_count > 0) {
        put_coefficients(p);
        base_buf_puts(p->out, p->d->folds > 0 ? "<div class=\"cols\">\n" : "");
        put_held(p);
        put_counts(p);
        base_buf_puts(p->out, p->d->folds > 0 ? "</div>\n" : "");
    }
    base_buf_puts(p->out, "<div class=\"cols\">\n");
    put_chosen(p);
    put_lambdas(p);
    base_buf_puts(p->out, "</div>\n");
}

static shoal_status make(struct path_page *p, shoal_driver *driver, float *most, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(shoal_driver_env(driver));
    struct base_buf out;

    lasso_folds(p->d, p->d->lambdas, p->mean, p->error);
    p->chosen = lasso_choose(p->d, p->d->lambdas, (enum lasso_pick)p->o->pick, p->mean, p->error);
    p->points = p->d->lambdas < PAGE_POINTS_MAX ? p->d->lambdas : PAGE_POINTS_MAX;
    choose_columns(p, most);
    fill_columns(p);
    base_buf_init(&out, alloc, SHOAL_PAGE_MAX);
    p->out = &out;
    write_sections(p);
    shoal_status st = base_buf_status(&out);
    if (st == SHOAL_OK)
        st = shoal_driver_page(driver, out.data, out.size);
    base_buf_fini(&out);
    p->out = NULL;
    return st == SHOAL_OK ? st : base_err(err, st, "cannot write the path into a page");
}

shoal_status lasso_page(shoal_driver *driver, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(shoal_driver_env(driver));
    struct path_page p = {.d = shoal_driver_state(driver),
                          .o = shoal_driver_options(driver),
                          .data = (const void *)shoal_driver_rows_read(driver, LASSO_DATA),
                          .path = (const void *)shoal_driver_rows_read(driver, LASSO_PATH)};
    double *held = base_calloc(alloc, 2 * (size_t)LASSO_LAMBDAS_MAX, sizeof *held);
    float *most = base_calloc(alloc, (size_t)p.d->columns + 1, sizeof *most);
    shoal_status st = SHOAL_E_NOMEM;

    p.slot = base_calloc(alloc, (size_t)p.d->columns + 1, sizeof *p.slot);
    p.drawn = base_calloc(alloc, DRAWN_MAX + 1, sizeof *p.drawn);
    p.line = base_calloc(alloc, NAMED, sizeof *p.line);
    if (held != NULL && most != NULL && p.slot != NULL && p.drawn != NULL && p.line != NULL) {
        p.mean = held;
        p.error = held + LASSO_LAMBDAS_MAX;
        st = make(&p, driver, most, err);
    } else {
        base_err_nomem(err, "writing the path into a page");
    }
    base_free(alloc, held);
    base_free(alloc, most);
    base_free(alloc, p.slot);
    base_free(alloc, p.drawn);
    base_free(alloc, p.line);
    return st;
}
