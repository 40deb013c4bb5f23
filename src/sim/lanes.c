/* lanes.c - who holds what: the cluster over time, a picture for each policy (see compare.h).
 *
 * Where the run recorded its segments and the cluster has at most GPUS_MAX GPUs, each GPU is a row of the lane
 * of its kind, rows stand by node, and time is cut into columns. A cell belongs to the job that held the GPU
 * longest in it; it is idle when the GPU was free for most of it, and nobody's in particular when no job held
 * a third of the busy part. Equal cells next to each other become one rectangle. With more bytes than a
 * picture may take on a page the columns get wider. Otherwise, or when even that is not enough, lines show the share of
 * GPUs held (pictures.c).
 *
 * Colours are the same for a job in every picture. They are chosen greedily, in the order of the trace, so that
 * jobs that touch in any picture differ where six colours allow it.
 *
 * Cost: segments x rows x columns touched; memory 12 bytes per cell. Tests: tests/unit/sim/test_pictures.c. */
#include "sim/compare.h"

#include "base/assert.h"
#include "base/text.h"
#include "page/make.h"
#include "page/show.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GPUS_MAX = 512,
    COLUMNS_MAX = 1000,
    COLOURS = SHOAL_GREY,  /* grey is nobody's in particular */
    BYTES_ALL = 250 << 10, /* of all pictures on a page, about */
    BYTES_ONE = 140 << 10,
    RECT_BYTES = 48
};

static const uint32_t idle = UINT32_MAX, others = UINT32_MAX - 1;

struct cell {
    uint32_t job;
    float held, busy; /* parts of the cell: by that job, by any */
};

struct touch { /* two jobs side by side in some picture */
    uint32_t a, b;
};

struct lanes {
    const struct sim_pictures *p;
    const struct sched_cluster *cluster;
    const struct sim_trace *trace;
    struct base_arena scratch;
    struct cell *cells; /* rows x columns */
    uint32_t columns;
    uint32_t *row_node;                 /* of each row */
    uint16_t *node_row;                 /* first row of each node */
    uint16_t kind_row[SCHED_KINDS_MAX]; /* likewise */
    struct touch *touches;
    size_t touch_count, touch_cap;
    uint8_t *colour;    /* of each job */
    const char **about; /* of each job, in this picture */
    uint32_t *told;     /* of each job: the number of columns with which it was last seen */
    size_t *open_at;    /* of each column: the last rectangle that began there, +1 */
    shoal_rect *rects;
    size_t rect_count, bytes, bytes_max;
    bool grey, brief;
};

/* ---- cells ---- */

static void lay_out(struct lanes *l)
{
    const struct sched_cluster *cluster = l->cluster;
    uint32_t rows = 0;

    for (uint32_t kind = 0; kind < cluster->kind_count; kind++) {
        l->kind_row[kind] = (uint16_t)rows;
        for (uint32_t node = 0; node < cluster->node_count; node++) {
            if (cluster->nodes[node].kind != kind)
                continue;
            l->node_row[node] = (uint16_t)rows;
            for (uint32_t gpu = 0; gpu < cluster->nodes[node].gpus; gpu++)
                l->row_node[rows++] = node;
        }
    }
    shoal_assert(rows == cluster->gpus);
}

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

static void fill_cells(struct lanes *l, const struct sim_result *result, uint32_t columns)
{
    const struct sched_cluster *cluster = l->cluster;
    double scale = columns / l->p->span_s;

    l->columns = columns;
    for (size_t i = 0; i < (size_t)cluster->gpus * columns; i++)
        l->cells[i] = (struct cell){idle, 0, 0};
    for (size_t s = 0; s < result->segment_count; s++) {
        const struct sim_segment *seg = &result->segments[s];
        if (seg->node >= cluster->node_count || seg->job >= l->trace->job_count)
            continue;
        double from = fmax(0, seg->from_s * scale), to = fmin(columns, seg->to_s * scale);
        if (!(from < to))
            continue;
        uint32_t last = (uint32_t)fmin(columns - 1, ceil(to) - 1);
        for (uint32_t gpu = 0; gpu < cluster->nodes[seg->node].gpus; gpu++) {
            if ((seg->rows >> gpu & 1) == 0)
                continue;
            struct cell *row = &l->cells[(size_t)(l->node_row[seg->node] + gpu) * columns];
            for (uint32_t c = (uint32_t)from; c <= last; c++)
                hold(&row[c], seg->job, (float)(fmin(to, c + 1.0) - fmax(from, c)));
        }
    }
    for (size_t i = 0; i < (size_t)cluster->gpus * columns; i++) {
        struct cell *cell = &l->cells[i];
        if (cell->busy < 0.5F)
            cell->job = idle;
        else if (cell->held < fminf(1, cell->busy) / 3)
            cell->job = others;
    }
}

/* ---- colours ---- */

static void add_touch(struct lanes *l, uint32_t a, uint32_t b, struct touch *last)
{
    void *touches = l->touches;

    if (a == b || a >= others || b >= others || (last->a == a && last->b == b))
        return;
    if (base_reserve(l->p->made->arena.alloc, &touches, &l->touch_cap, l->touch_count + 2,
                     sizeof *l->touches) != 0) {
        l->p->made->status = SHOAL_E_NOMEM;
        return;
    }
    l->touches = touches;
    l->touches[l->touch_count++] = (struct touch){a, b};
    l->touches[l->touch_count++] = (struct touch){b, a};
    *last = (struct touch){a, b};
}

static void find_touches(struct lanes *l)
{
    for (uint32_t row = 0; row < l->cluster->gpus; row++) {
        const struct cell *cells = &l->cells[(size_t)row * l->columns];
        struct touch beside = {idle, idle}, above = {idle, idle};
        for (uint32_t c = 0; c < l->columns; c++) {
            if (c > 0)
                add_touch(l, cells[c - 1].job, cells[c].job, &beside);
            if (row > 0)
                add_touch(l, (cells - l->columns)[c].job, cells[c].job, &above);
        }
    }
}

static int compare_touches(const void *a, const void *b)
{
    const struct touch *x = a, *y = b;

    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static void choose_colours(struct lanes *l)
{
    for (size_t job = 0; job < l->trace->job_count; job++)
        l->colour[job] = (uint8_t)((job * 2654435761U >> 7) % COLOURS);
    if (l->touch_count > 0)
        qsort(l->touches, l->touch_count, sizeof *l->touches, compare_touches);
    for (size_t i = 0, end; i < l->touch_count; i = end) {
        uint32_t job = l->touches[i].a, taken[COLOURS] = {0};
        for (end = i; end < l->touch_count && l->touches[end].a == job; end++)
            if (l->touches[end].b < job) /* already has its colour */
                taken[l->colour[l->touches[end].b]]++;
        unsigned best = l->colour[job];
        for (unsigned k = 1; k < COLOURS; k++) {
            unsigned colour = (l->colour[job] + k) % COLOURS;
            if (taken[colour] < taken[best])
                best = colour;
        }
        l->colour[job] = (uint8_t)best;
    }
}

/* ---- rectangles ---- */

/* "mf-7: 4 GPUs, waited 12m, rho 1.20", or no more than "mf-7: 4 GPUs" */
static const char *tell_job(struct lanes *l, const struct sim_result *result, uint32_t job)
{
    const struct sim_job *asked = &result->trace->jobs[job];
    const struct sim_job_result *got = &result->jobs[job];
    char wait[32], rho[48] = "";

    if (l->about[job] == NULL) {
        (void)page_unit_text(SHOAL_UNIT_SECONDS, (double)got->wait_s, wait, sizeof wait);
        if (isfinite(got->rho))
            (void)snprintf(rho, sizeof rho, ", rho %.2f", (double)got->rho);
        l->about[job] = page_made_text(l->p->made, "%s: %u GPU%s%s%s%s", asked->name, asked->gpus,
                                       asked->gpus == 1 ? "" : "s", l->brief ? "" : ", waited ",
                                       l->brief ? "" : wait, l->brief ? "" : rho);
    }
    return l->about[job];
}

/* Adds the columns from `from` to `to` of a row, or grows the rectangle above; false when there are too many. */
static bool add_rect(struct lanes *l, const struct sim_result *result, uint32_t row, uint32_t from,
                     uint32_t to)
{
    const struct sched_cluster *cluster = l->cluster;
    uint32_t job = l->cells[(size_t)row * l->columns + from].job;
    uint32_t kind = cluster->nodes[l->row_node[row]].kind;
    double gpus = cluster->kinds[kind].gpus, column_s = l->p->span_s / l->columns;
    uint32_t in_lane = row - l->kind_row[kind];
    const char *text = job == others ? NULL : tell_job(l, result, job);
    shoal_rect rect = {.from = (float)(from * column_s),
                       .to = (float)(to * column_s),
                       .low = (float)(in_lane / gpus),
                       .high = (float)((in_lane + 1) / gpus),
                       .lane = kind,
                       .colour = job == others ? COLOURS : l->colour[job],
                       .text = text};
    shoal_rect *above = l->open_at[from] > 0 ? &l->rects[l->open_at[from] - 1] : NULL;

    l->grey |= job == others;
    if (above != NULL && row > 0 && l->row_node[row - 1] == l->row_node[row] &&
        above->text == text && above->from == rect.from && above->to == rect.to &&
        above->high == rect.low) {
        above->high = rect.high;
        return true;
    }
    l->bytes += RECT_BYTES;
    if (text != NULL && l->told[job] != l->columns) {
        l->told[job] = l->columns;
        l->bytes += strlen(text) + 3;
    }
    if (l->bytes > l->bytes_max)
        return false;
    shoal_assert(l->rects != NULL);
    l->rects[l->rect_count++] = rect;
    l->open_at[from] = l->rect_count;
    return true;
}

static bool make_rects(struct lanes *l, const struct sim_result *result, uint32_t columns)
{
    fill_cells(l, result, columns);
    l->rect_count = l->bytes = 0;
    l->grey = false;
    memset(l->open_at, 0, COLUMNS_MAX * sizeof *l->open_at);
    for (uint32_t row = 0; row < l->cluster->gpus; row++) {
        const struct cell *cells = &l->cells[(size_t)row * columns];
        for (uint32_t c = 0, end; c < columns; c = end) {
            for (end = c + 1; end < columns && cells[end].job == cells[c].job; end++)
                ;
            if (cells[c].job != idle && !add_rect(l, result, row, c, end))
                return false;
        }
    }
    return true;
}

/* ---- pictures ---- */

/* Rectangles as fine as may be, with all about each job or, where that takes too much, its name and size. */
static bool make_finest(struct lanes *l, const struct sim_result *result)
{
    static const uint32_t columns[] = {COLUMNS_MAX, 700, 500, 350, 240, 160, 100, 60};
    bool made = false;

    for (l->brief = false; !made; l->brief = true) {
        memset(l->about, 0, l->trace->job_count * sizeof *l->about);
        memset(l->told, 0, l->trace->job_count * sizeof *l->told);
        for (size_t i = 0; i < BASE_COUNT(columns) && !made; i++)
            made = make_rects(l, result, columns[i]);
        if (l->brief)
            break;
    }
    return made;
}

/* False when there are too many rectangles however coarse they are. */
static bool draw_one(struct lanes *l, size_t index)
{
    const struct sched_cluster *cluster = l->cluster;
    const struct sim_result *result = l->p->c->results[index];

    l->rects = page_made_alloc(l->p->made, l->bytes_max / RECT_BYTES, sizeof *l->rects);
    bool made = l->rects != NULL && make_finest(l, result);
    const char **kinds = page_made_alloc(l->p->made, cluster->kind_count, sizeof *kinds);
    double *gpus = page_made_alloc(l->p->made, cluster->kind_count, sizeof *gpus);
    shoal_picture *p =
        made && kinds != NULL && gpus != NULL
            ? sim_picture_of_cluster(l->p, index, "lanes", 0,
                                     "each GPU a row, by kind and node; a job has the same colour "
                                     "in every picture")
            : NULL;
    if (p == NULL)
        return l->rects == NULL || kinds == NULL || gpus == NULL || made;
    for (uint32_t k = 0; k < cluster->kind_count; k++) {
        gpus[k] = cluster->kinds[k].gpus;
        kinds[k] = page_made_text(l->p->made, "%s\n%u GPU%s", cluster->kinds[k].name,
                                  cluster->kinds[k].gpus, cluster->kinds[k].gpus == 1 ? "" : "s");
    }
    p->heights = gpus;
    p->type = SHOAL_PICTURE_LANES;
    if (l->grey)
        p->note = page_made_text(l->p->made, "%s; grey: short turns of several jobs", p->note);
    p->labels = (shoal_texts){.items = kinds, .count = cluster->kind_count};
    p->rects = l->rects;
    p->rect_count = l->rect_count;
    return true;
}

static bool has_segments(const struct sim_result *r)
{
    return !r->segments_cut && r->segment_count > 0 && r->segments != NULL;
}

static bool prepare(struct lanes *l)
{
    size_t jobs = l->trace->job_count + 1, gpus = l->cluster->gpus;

    l->row_node = base_arena_calloc(&l->scratch, gpus, sizeof *l->row_node);
    l->node_row = base_arena_calloc(&l->scratch, l->cluster->node_count, sizeof *l->node_row);
    l->cells = base_arena_calloc(&l->scratch, gpus * COLUMNS_MAX, sizeof *l->cells);
    l->open_at = base_arena_calloc(&l->scratch, COLUMNS_MAX, sizeof *l->open_at);
    l->colour = base_arena_calloc(&l->scratch, jobs, sizeof *l->colour);
    l->about = base_arena_calloc(&l->scratch, jobs, sizeof *l->about);
    l->told = base_arena_calloc(&l->scratch, jobs, sizeof *l->told);
    if (l->row_node == NULL || l->node_row == NULL || l->cells == NULL || l->open_at == NULL ||
        l->colour == NULL || l->about == NULL || l->told == NULL) {
        l->p->made->status = SHOAL_E_NOMEM;
        return false;
    }
    lay_out(l);
    for (size_t i = 0; i < l->p->c->count; i++)
        if (has_segments(l->p->c->results[i])) {
            fill_cells(l, l->p->c->results[i], COLUMNS_MAX);
            find_touches(l);
        }
    choose_colours(l);
    return true;
}

void sim_lanes_draw(const struct sim_pictures *p)
{
    const struct sim_compare *c = p->c;
    struct lanes l = {.p = p, .cluster = &c->sim->cluster, .trace = c->sim->trace};
    bool any = false, rows = false;

    for (size_t i = 0; i < c->count; i++)
        any |= has_segments(c->results[i]);
    base_arena_init(&l.scratch, p->made->arena.alloc, 1 << 16);
    if (any && l.cluster->gpus > 0 && l.cluster->gpus <= GPUS_MAX)
        rows = prepare(&l);
    shoal_assert(c->count > 0);
    l.bytes_max = BYTES_ALL / c->count < BYTES_ONE ? BYTES_ALL / c->count : BYTES_ONE;
    for (size_t i = 0; i < c->count; i++)
        if (!rows || !has_segments(c->results[i]) || !draw_one(&l, i))
            sim_picture_of_use(p, i);
    base_free(p->made->arena.alloc, l.touches);
    base_arena_fini(&l.scratch);
}
