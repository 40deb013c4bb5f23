/* report_occupancy.c - who holds what: the cluster over time, one picture per result.
 *
 * Where the run recorded its segments and the cluster has at most ROWS_MAX GPUs, each GPU is a row,
 * rows stand by kind (a lane each) and node, and time is cut into columns. A cell belongs to the
 * job that held the GPU longest in it; it is idle when the GPU was free for most of it, and
 * "others" when no job held half of the busy part. Equal cells next to each other become one
 * rectangle, and all rectangles of a job one path with one tooltip. The picture must fit its share
 * of the page: with too many rectangles the columns get wider. Otherwise, or when even that is not
 * enough, lanes show the number of busy GPUs instead.
 *
 * Colours are the same for a job in every picture. They are chosen greedily, in the order of the
 * trace, so that jobs that touch in any picture differ where six colours allow it.
 *
 * Cost: segments x rows x columns touched; memory 12 bytes per cell. Tests:
 * tests/unit/sim/test_report.c. */
#include "sim/report_parts.h"

#include "base/assert.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_MAX = 512,
    COLUMNS_MAX = 1000,
    LANES_PX = 340, /* height of all lanes together, about */
    ROW_PX_MAX = 14,
    JOB_COLOURS = 6, /* the seventh, grey, is "others" */
    LABELS_MAX = 120,
    BYTES_ALL = 560 * 1024, /* of all pictures together */
    BYTES_ONE = 200 * 1024
};

static const uint32_t idle = UINT32_MAX, others = UINT32_MAX - 1;

struct cell {
    uint32_t job;
    float held, busy; /* parts of the cell: by that job, by any */
};

struct rect {
    uint32_t job;
    uint16_t column, columns, row, rows;
};

struct touch { /* two jobs side by side in some picture */
    uint32_t a, b;
};

/* The rows of a cluster and where they lie in the picture. */
struct layout {
    uint32_t rows;
    int height;
    int row_px;
    int lane_y[SCHED_KINDS_MAX], lane_px[SCHED_KINDS_MAX];
    uint16_t row_y[ROWS_MAX];
    uint32_t row_node[ROWS_MAX];
    uint16_t *node_row; /* first row of each node */
};

struct pictures {
    const struct sim_report_page *page;
    const struct base_alloc *alloc;
    struct layout layout;
    struct cell *cells; /* rows x columns */
    uint32_t columns;
    struct rect *rects;
    size_t rect_count, rect_cap;
    struct touch *touches;
    size_t touch_count, touch_cap;
    uint8_t *colour; /* per job */
    size_t *open_at; /* per column: the last rectangle that began there, +1 */
};

static bool has_segments(const struct sim_result *result)
{
    return !result->segments_cut && result->segment_count > 0 && result->segments != NULL;
}

/* ---- layout ---- */

static shoal_status make_layout(struct pictures *p)
{
    const struct sched_cluster *cluster = p->page->cluster;
    struct layout *l = &p->layout;
    l->node_row = base_calloc(p->alloc, cluster->node_count, sizeof *l->node_row);
    if (l->node_row == NULL)
        return SHOAL_E_NOMEM;
    l->row_px = LANES_PX / (int)cluster->gpus;
    l->row_px = l->row_px < 1 ? 1 : l->row_px > ROW_PX_MAX ? ROW_PX_MAX : l->row_px;
    int y = 0, node_gap = l->row_px >= 4 ? 1 : 0;
    for (uint32_t kind = 0; kind < cluster->kind_count; kind++) {
        l->lane_y[kind] = y;
        int first = y;
        for (uint32_t node = 0; node < cluster->node_count; node++) {
            if (cluster->nodes[node].kind != kind)
                continue;
            l->node_row[node] = (uint16_t)l->rows;
            y += y > first ? node_gap : 0;
            for (uint32_t gpu = 0; gpu < cluster->nodes[node].gpus; gpu++) {
                shoal_assert(l->rows < ROWS_MAX);
                l->row_node[l->rows] = node;
                l->row_y[l->rows++] = (uint16_t)y;
                y += l->row_px;
            }
        }
        l->lane_px[kind] = y - first;
        l->height = y;
        y += SIM_REPORT_LANE_GAP_PX +
             (y - first < SIM_REPORT_LANE_MIN_PX ? SIM_REPORT_LANE_MIN_PX - (y - first) : 0);
    }
    return SHOAL_OK;
}

/* ---- cells and rectangles ---- */

static void hold(struct cell *cell, uint32_t job, float part)
{
    cell->busy += part;
    if (cell->job == job) {
        cell->held += part;
    } else if (part > cell->held) {
        cell->job = job;
        cell->held = part;
    }
}

static void fill_cells(struct pictures *p, const struct sim_result *result)
{
    const struct sched_cluster *cluster = p->page->cluster;
    for (size_t i = 0; i < (size_t)p->layout.rows * p->columns; i++)
        p->cells[i] = (struct cell){idle, 0, 0};
    double scale = p->columns / p->page->span_s;
    for (size_t s = 0; s < result->segment_count; s++) {
        const struct sim_segment *seg = &result->segments[s];
        if (seg->node >= cluster->node_count || seg->job >= p->page->trace->job_count)
            continue;
        double from = fmax(0, seg->from_s * scale), to = fmin(p->columns, seg->to_s * scale);
        if (!(from < to))
            continue;
        uint32_t last = (uint32_t)fmin(p->columns - 1, ceil(to) - 1);
        for (uint32_t gpu = 0; gpu < cluster->nodes[seg->node].gpus; gpu++) {
            if ((seg->rows >> gpu & 1) == 0)
                continue;
            struct cell *row =
                &p->cells[(size_t)(p->layout.node_row[seg->node] + gpu) * p->columns];
            for (uint32_t c = (uint32_t)from; c <= last; c++)
                hold(&row[c], seg->job, (float)(fmin(to, c + 1.0) - fmax(from, c)));
        }
    }
    for (size_t i = 0; i < (size_t)p->layout.rows * p->columns; i++) {
        struct cell *cell = &p->cells[i];
        if (cell->busy < 0.5F)
            cell->job = idle;
        else if (cell->held < fminf(1, cell->busy) / 3)
            cell->job = others;
    }
}

static shoal_status add_rect(struct pictures *p, uint32_t row, uint32_t column, uint32_t columns,
                             uint32_t job)
{
    size_t above = p->open_at[column];
    if (above > 0 && above <= p->rect_count) {
        struct rect *r = &p->rects[above - 1];
        if (r->job == job && r->column == column && r->columns == columns &&
            r->row + r->rows == row && p->layout.row_node[r->row] == p->layout.row_node[row]) {
            r->rows++;
            return SHOAL_OK;
        }
    }
    if (base_reserve(p->alloc, (void **)&p->rects, &p->rect_cap, p->rect_count + 1,
                     sizeof *p->rects) != 0)
        return SHOAL_E_NOMEM;
    p->rects[p->rect_count++] =
        (struct rect){job, (uint16_t)column, (uint16_t)columns, (uint16_t)row, 1};
    p->open_at[column] = p->rect_count;
    return SHOAL_OK;
}

static shoal_status make_rects(struct pictures *p)
{
    p->rect_count = 0;
    memset(p->open_at, 0, sizeof *p->open_at * COLUMNS_MAX);
    for (uint32_t row = 0; row < p->layout.rows; row++) {
        const struct cell *cells = &p->cells[(size_t)row * p->columns];
        for (uint32_t c = 0, end; c < p->columns; c = end) {
            for (end = c + 1; end < p->columns && cells[end].job == cells[c].job; end++)
                ;
            if (cells[c].job == idle)
                continue;
            shoal_status st = add_rect(p, row, c, end - c, cells[c].job);
            if (st != SHOAL_OK)
                return st;
        }
    }
    return SHOAL_OK;
}

static int compare_rects(const void *a, const void *b)
{
    const struct rect *x = a, *y = b;
    if (x->job != y->job)
        return x->job < y->job ? -1 : 1;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

/* ---- colours ---- */

static shoal_status add_touch(struct pictures *p, uint32_t a, uint32_t b, struct touch *last)
{
    if (a == b || a >= others || b >= others || (last->a == a && last->b == b))
        return SHOAL_OK;
    if (base_reserve(p->alloc, (void **)&p->touches, &p->touch_cap, p->touch_count + 2,
                     sizeof *p->touches) != 0)
        return SHOAL_E_NOMEM;
    p->touches[p->touch_count++] = (struct touch){a, b};
    p->touches[p->touch_count++] = (struct touch){b, a};
    *last = (struct touch){a, b};
    return SHOAL_OK;
}

static shoal_status find_touches(struct pictures *p)
{
    shoal_status st = SHOAL_OK;
    for (uint32_t row = 0; row < p->layout.rows; row++) {
        const struct cell *cells = &p->cells[(size_t)row * p->columns];
        const struct cell *cells_above = row > 0 ? cells - p->columns : NULL;
        struct touch beside = {idle, idle}, above = {idle, idle};
        for (uint32_t c = 0; c < p->columns && st == SHOAL_OK; c++) {
            if (c > 0)
                st = add_touch(p, cells[c - 1].job, cells[c].job, &beside);
            if (st == SHOAL_OK && row > 0)
                st = add_touch(p, cells_above[c].job, cells[c].job, &above);
        }
    }
    return st;
}

static int compare_touches(const void *a, const void *b)
{
    const struct touch *x = a, *y = b;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static void choose_colours(struct pictures *p)
{
    for (size_t job = 0; job < p->page->trace->job_count; job++)
        p->colour[job] = (uint8_t)((job * 2654435761U >> 7) % JOB_COLOURS);
    if (p->touch_count == 0)
        return;
    qsort(p->touches, p->touch_count, sizeof *p->touches, compare_touches);
    for (size_t i = 0, end; i < p->touch_count; i = end) {
        uint32_t job = p->touches[i].a, taken[JOB_COLOURS] = {0};
        for (end = i; end < p->touch_count && p->touches[end].a == job; end++)
            if (p->touches[end].b < job) /* already has its colour */
                taken[p->colour[p->touches[end].b]]++;
        unsigned best = p->colour[job];
        for (unsigned k = 1; k < JOB_COLOURS; k++) {
            unsigned colour = (p->colour[job] + k) % JOB_COLOURS;
            if (taken[colour] < taken[best])
                best = colour;
        }
        p->colour[job] = (uint8_t)best;
    }
}

/* ---- writing one picture ---- */

static void write_lanes(struct base_buf *out, const struct pictures *p,
                        const struct page_axis *axis)
{
    const struct sched_cluster *cluster = p->page->cluster;
    const struct layout *l = &p->layout;
    for (uint32_t kind = 0; kind < cluster->kind_count; kind++)
        base_buf_printf(out, "<path class=\"sunk\" d=\"M0 %dh%uv%dh-%uz\"/>", l->lane_y[kind],
                        p->columns, l->lane_px[kind], p->columns);
    for (size_t i = 0; i < axis->count; i++)
        base_buf_printf(out, "<path class=\"gl\" d=\"M%.1f 0V%d\"/>",
                        axis->ticks[i].at * p->columns, l->height + 4);
}

static void write_tooltip(struct base_buf *out, const struct sim_result *result, uint32_t job)
{
    const struct sim_job *asked = &result->trace->jobs[job];
    const struct sim_job_result *row = &result->jobs[job];
    char text[64];
    base_buf_puts(out, "<title>");
    page_name(out, asked->name, PAGE_NAME_CHARS);
    base_buf_printf(out, ": %u GPU%s, waited %s", asked->gpus, asked->gpus == 1 ? "" : "s",
                    page_duration(row->wait_s, text, sizeof text));
    if (isfinite(row->rho))
        base_buf_printf(out, ", rho %.2f", (double)row->rho);
    base_buf_puts(out, "</title>");
}

/* Writes the rectangles of one job as one path; returns the largest of them, by width, that is tall
 * enough for text. */
static const struct rect *write_job(struct base_buf *out, const struct pictures *p,
                                    const struct rect *rects, size_t count)
{
    const struct rect *widest = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct rect *r = &rects[i];
        int px = r->rows * p->layout.row_px;
        base_buf_printf(out, "M%u %uh%uv%dh-%uz", r->column, p->layout.row_y[r->row], r->columns,
                        px, r->columns);
        if (px >= 13 && (widest == NULL || r->columns > widest->columns))
            widest = r;
    }
    return widest;
}

static void write_label(struct base_buf *out, const struct pictures *p, const struct rect *r,
                        const char *name)
{
    size_t chars = page_name_chars(name, 32);
    double share = (double)r->columns / p->columns;
    double needs_px = (6.4 * (double)chars + 6) / share;
    if (chars == 0 || chars >= 32 || needs_px > 1200)
        return;
    base_buf_printf(out, "<text class=\"on m%s\" x=\"%.2f%%\" y=\"%d\">",
                    needs_px < 300   ? ""
                    : needs_px < 620 ? " l2"
                                     : " l3",
                    (r->column + r->columns / 2.0) / p->columns * 100,
                    p->layout.row_y[r->row] + r->rows * p->layout.row_px / 2 + 4);
    page_name(out, name, 32);
    base_buf_puts(out, "</text>");
}

static void write_gantt(struct base_buf *out, const struct pictures *p,
                        const struct sim_result *result)
{
    struct page_axis axis;
    page_axis_time(&axis, p->page->span_s);
    int height = p->layout.height;
    base_buf_printf(out, "<svg%s viewBox=\"0 0 %u %d\" height=\"%d\" preserveAspectRatio=\"none\">",
                    p->layout.row_px < 4 ? " class=\"fine\"" : "", p->columns, height, height);
    write_lanes(out, p, &axis);
    const struct rect *labels[LABELS_MAX];
    size_t label_count = 0;
    for (size_t i = 0, end; i < p->rect_count; i = end) {
        uint32_t job = p->rects[i].job;
        for (end = i + 1; end < p->rect_count && p->rects[end].job == job; end++)
            ;
        base_buf_printf(out, "<path class=\"j c%u%s\" d=\"",
                        job == others ? JOB_COLOURS : p->colour[job], job == others ? " o" : "");
        const struct rect *widest = write_job(out, p, &p->rects[i], end - i);
        base_buf_puts(out, "\">");
        if (job == others) {
            base_buf_puts(out, "<title>several short pieces of work</title>");
        } else {
            write_tooltip(out, result, job);
            if (widest != NULL && widest->columns * 20U > p->columns && label_count < LABELS_MAX)
                labels[label_count++] = widest;
        }
        base_buf_puts(out, "</path>\n");
    }
    base_buf_puts(out, "</svg>");
    for (size_t i = 0; i < label_count; i++)
        write_label(out, p, labels[i], p->page->trace->jobs[labels[i]->job].name);
    sim_report_lane_names(out, p->page->cluster, p->layout.lane_y, p->layout.lane_px);
    page_svg_x_labels(out, &axis, height + 18);
}

/* Busy GPUs per kind, from the cells that are drawn. */
static void gantt_table(struct base_buf *out, const struct pictures *p)
{
    const struct sched_cluster *cluster = p->page->cluster;
    page_details_open(out);
    sim_report_kind_head(out, cluster);
    for (uint32_t i = 0; i < PAGE_TABLE_ROWS; i++) {
        uint32_t from = p->columns * i / PAGE_TABLE_ROWS,
                 to = p->columns * (i + 1) / PAGE_TABLE_ROWS;
        double busy[SCHED_KINDS_MAX] = {0};
        for (uint32_t row = 0; row < p->layout.rows; row++)
            for (uint32_t c = from; c < to; c++)
                busy[cluster->nodes[p->layout.row_node[row]].kind] +=
                    fminf(1, p->cells[(size_t)row * p->columns + c].busy);
        char text[64];
        base_buf_printf(out, "<tr><td>%s</td>",
                        page_duration(p->page->span_s * i / PAGE_TABLE_ROWS, text, sizeof text));
        for (uint32_t k = 0; k < cluster->kind_count; k++)
            base_buf_printf(out, "<td class=\"r\">%s</td>",
                            page_number(busy[k] / (to - from), text, sizeof text));
        base_buf_puts(out, "</tr>");
    }
    base_buf_puts(out, "</tbody>");
    page_details_close(out);
}

/* ---- the section ---- */

static shoal_status try_gantt(struct pictures *p, const struct sim_result *result, uint32_t columns,
                              struct base_buf *out)
{
    p->columns = columns;
    fill_cells(p, result);
    shoal_status st = make_rects(p);
    if (st != SHOAL_OK)
        return st;
    if (p->rect_count > 0)
        qsort(p->rects, p->rect_count, sizeof *p->rects, compare_rects);
    /* "others" sort last */
    bool grey = p->rect_count > 0 && p->rects[p->rect_count - 1].job == others;
    sim_report_picture_open(out, result, p->layout.height,
                            grey ? "; grey: short turns of several jobs" : "");
    write_gantt(out, p, result);
    sim_report_picture_close(out);
    gantt_table(out, p);
    base_buf_puts(out, "</div>\n");
    return base_buf_status(out);
}

/* The finest picture that fits; lanes of busy GPUs when none does. */
static shoal_status write_picture(struct pictures *p, const struct sim_result *result)
{
    static const uint32_t columns[] = {COLUMNS_MAX, 700, 500, 350, 240, 160, 100};
    size_t bytes = BYTES_ALL / p->page->count;
    struct base_buf scratch;
    base_buf_init(&scratch, p->alloc, bytes < BYTES_ONE ? bytes : BYTES_ONE);
    shoal_status st = SHOAL_E_LIMIT;
    for (size_t i = 0; i < sizeof columns / sizeof *columns && st == SHOAL_E_LIMIT; i++) {
        base_buf_clear(&scratch);
        st = try_gantt(p, result, columns[i], &scratch);
    }
    if (st == SHOAL_OK)
        base_buf_append(p->page->out, scratch.data, scratch.size);
    base_buf_fini(&scratch);
    if (st == SHOAL_E_LIMIT) {
        sim_report_area(p->page, result);
        st = SHOAL_OK;
    }
    return st;
}

static shoal_status write_rows(struct pictures *p)
{
    const struct sim_report_page *page = p->page;
    shoal_status st = make_layout(p);
    if (st != SHOAL_OK)
        return st;
    p->cells = base_calloc(p->alloc, (size_t)p->layout.rows * COLUMNS_MAX, sizeof *p->cells);
    p->open_at = base_calloc(p->alloc, COLUMNS_MAX, sizeof *p->open_at);
    p->colour = base_calloc(p->alloc, page->trace->job_count + 1, sizeof *p->colour);
    if (p->cells == NULL || p->open_at == NULL || p->colour == NULL)
        return SHOAL_E_NOMEM;
    p->columns = COLUMNS_MAX;
    for (size_t i = 0; i < page->count && st == SHOAL_OK; i++)
        if (has_segments(page->results[i])) {
            fill_cells(p, page->results[i]);
            st = find_touches(p);
        }
    if (st != SHOAL_OK)
        return st;
    choose_colours(p);
    for (size_t i = 0; i < page->count && st == SHOAL_OK; i++) {
        if (has_segments(page->results[i]))
            st = write_picture(p, page->results[i]);
        else if (page->results[i]->series.step_s > 0)
            sim_report_area(page, page->results[i]);
    }
    return st;
}

shoal_status sim_report_occupancy(const struct sim_report_page *page)
{
    bool segments = false, series = false;
    for (size_t i = 0; i < page->count; i++) {
        segments = segments || has_segments(page->results[i]);
        series =
            series || (page->results[i]->series.step_s > 0 && page->results[i]->series.count > 0);
    }
    bool rows = segments && page->cluster->gpus > 0 && page->cluster->gpus <= ROWS_MAX;
    if (!rows && !series)
        return SHOAL_OK;
    page_panel_open(
        page->out, "occ", "Who holds what",
        rows ? "one row per GPU, by kind and node; a colour is a job, the same in every picture"
             : "GPUs held, by kind; the height of a lane is all GPUs of the kind");
    shoal_status st = SHOAL_OK;
    if (rows) {
        struct pictures p = {.page = page, .alloc = page->out->alloc};
        st = write_rows(&p);
        base_free(p.alloc, p.layout.node_row);
        base_free(p.alloc, p.cells);
        base_free(p.alloc, p.open_at);
        base_free(p.alloc, p.colour);
        base_free(p.alloc, p.rects);
        base_free(p.alloc, p.touches);
    } else {
        for (size_t i = 0; i < page->count; i++)
            if (page->results[i]->series.step_s > 0)
                sim_report_area(page, page->results[i]);
    }
    page_panel_close(page->out);
    return st;
}
