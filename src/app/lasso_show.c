/* lasso_show.c - the path of a sparse model as lists and pictures: the solution that predictions use, coefficients
 * over lambda, held-out losses with their standard errors, how many columns there are at each lambda, and the columns
 * of the solution.
 *
 * Lambda falls from left to right on a logarithmic axis, as the path goes. The NAMED columns whose coefficients grow
 * largest on the path have colours and names, some of the others are grey, and what is not drawn is said.
 * Tests: tests/cli/test_train_report.py. */
#include "app/lasso.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "base/top.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    NAMED = 18,
    DRAWN_MAX = 80,
    POINTS_MAX = 100,  /* of a line */
    POINTS_ALL = 5000, /* of all lines of coefficients */
    CHOSEN_MAX = 10000
};

/* ---- what lists have ---- */

struct solution {
    double lambda, intercept, loss, held, error, gap;
    uint64_t columns;
    uint32_t of, number, lambdas, rows;
};

#define AT(member) offsetof(struct solution, member)
static const shoal_field solution_fields[] = {
    {AT(columns), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 1, "columns", "Columns",
     .help = "that have a coefficient"},
    {AT(of), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 1, "of", "Of columns",
     .help = "columns of the data"},
    {AT(held), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "held_out_loss", "Held-out loss",
     .help = "mean of the folds", .flags = SHOAL_FIELD_SPARSE},
    {AT(error), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "standard_error", "Its standard error",
     .help = "of the held-out loss", .flags = SHOAL_FIELD_SPARSE},
    {AT(loss), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "loss", "Loss",
     .help = "mean over rows, half the square or logistic"},
    {AT(lambda), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "lambda", "Lambda",
     .help = "the penalty"},
    {AT(number), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 1, "number", "Its number on the path",
     .help = "on the path, from 1"},
    {AT(lambdas), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 1, "lambdas", "Lambdas on the path",
     .help = "on the path"},
    {AT(intercept), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "intercept", "Intercept",
     .help = "what is predicted without columns"},
    {AT(rows), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 1, "rows", "Rows", .help = "of the data"},
    {AT(gap), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "path_gap", "Largest gap on the path",
     .help = "of any solution on the path, as a share of its objective"},
};
#undef AT
static const shoal_schema solution_schema = {"solution", "Solution that predictions use",
                                             "The solution", solution_fields,
                                             BASE_COUNT(solution_fields)};

struct chosen {
    uint32_t column;
    double coefficient, size;
};

#define AT(member) offsetof(struct chosen, member)
static const shoal_field chosen_fields[] = {
    {AT(column), SHOAL_FIELD_U32, SHOAL_UNIT_NONE, 0, 1, "column", "COLUMN",
     .help = "as the data calls it"},
    {AT(coefficient), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "coefficient", "COEFFICIENT",
     .help = "of the column in predictions"},
};
#undef AT
static const shoal_schema chosen_schema = {"chosen", "Chosen columns", "A column of the solution",
                                           chosen_fields, BASE_COUNT(chosen_fields)};

struct step {
    double lambda, loss, held, error, gap;
    uint64_t columns;
    const char *picked;
};

#define AT(member) offsetof(struct step, member)
static const shoal_field step_fields[] = {
    {AT(lambda), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "lambda", "LAMBDA",
     .help = "the penalty"},
    {AT(columns), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 1, "columns", "COLUMNS",
     .help = "that have a coefficient"},
    {AT(loss), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "loss", "LOSS", .help = "mean over rows"},
    {AT(held), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, -1, 1, "held_out_loss", "HELD-OUT LOSS",
     .help = "mean of the folds", .flags = SHOAL_FIELD_SPARSE},
    {AT(error), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "standard_error", "STANDARD ERROR",
     .help = "of the held-out loss", .flags = SHOAL_FIELD_SPARSE},
    {AT(gap), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "gap", "GAP",
     .help = "the minimum is at most this share of the objective lower"},
    {AT(picked), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "picked", "PICKED",
     .help = "what predictions use", .flags = SHOAL_FIELD_SPARSE},
};
#undef AT
static const shoal_schema step_schema = {"path", "By lambda", "A solution on the path", step_fields,
                                         BASE_COUNT(step_fields)};

/* ---- where things are ---- */

struct path {
    shoal_driver *driver;
    struct base_arena arena;
    const struct lasso_driver *d;
    const struct lasso_options *o;
    const struct lasso_data *data;
    const struct lasso_entry *entry;
    double *mean, *error; /* (lambdas): held-out; NAN without folds */
    uint32_t chosen;      /* which lambda */
    uint32_t points;      /* of a line */
    uint32_t columns;     /* that ever had a coefficient */
    uint32_t drawn;       /* of them, in the picture */
    float *lambda;        /* (points) */
    shoal_mark mark;
};

static uint64_t first_of(const struct path *p, uint32_t k)
{
    return k > 0 ? p->d->of[k - 1].end : 0;
}

static uint64_t count_of(const struct path *p, uint32_t k)
{
    return p->d->of[k].end - first_of(p, k);
}

/* As the data has it, from what the path has. */
static uint32_t number_of(const struct path *p, uint32_t name)
{
    return name + (p->o->index == DATA_SVM_FROM_ZERO ? 0 : 1);
}

/* Which lambda a point of a line is: the smallest first, as an axis has them. */
static uint32_t step_of(const struct path *p, uint32_t point)
{
    uint32_t last = p->d->lambdas - 1;

    return p->points > 1 ? last - (uint32_t)((uint64_t)point * last / (p->points - 1)) : 0;
}

static double gap_of(const struct path *p, uint32_t k)
{
    const struct lasso_step *of = &p->d->of[k];

    return of->objective > 0 ? of->gap / of->objective : 0;
}

/* ---- pictures ---- */

/* A picture over lambda with so many lines; NULL: no memory. */
static shoal_series *begin(struct path *p, shoal_picture *picture, size_t lines)
{
    shoal_series *series = base_arena_calloc(&p->arena, lines, sizeof *series);

    picture->type = SHOAL_PICTURE_LINES;
    picture->x =
        (shoal_axis){.title = "lambda", .unit = SHOAL_UNIT_VALUE, .log = true, .down = true};
    picture->y.unit = SHOAL_UNIT_VALUE;
    picture->series = series;
    picture->series_count = lines;
    picture->marks = &p->mark;
    picture->mark_count = p->d->folds > 0;
    for (size_t i = 0; series != NULL && i < lines; i++) {
        float *y = base_arena_calloc(&p->arena, p->points, sizeof *y);
        if (y == NULL)
            return NULL;
        series[i] = (shoal_series){.x = p->lambda, .y = y, .count = p->points};
    }
    return series;
}

static float *values_of(shoal_series *series)
{
    return (float *)(uintptr_t)series->y;
}

/* Those with the largest coefficients on the path, into slot: which line a column has, from 1. */
static void choose_columns(struct path *p, struct base_top *top, float *most, uint32_t *slot)
{
    uint64_t entries = p->d->of[p->d->lambdas - 1].end;
    uint32_t max = POINTS_ALL / p->points < DRAWN_MAX ? POINTS_ALL / p->points : DRAWN_MAX;
    size_t count = 0;

    for (uint64_t e = 0; e < entries; e++) {
        uint32_t j = lasso_column_of(p->data, p->entry[e].column);
        most[j] = fmaxf(most[j], fabsf(p->entry[e].value));
    }
    for (uint32_t j = 0; j < p->d->columns; j++)
        if (most[j] > 0) {
            p->columns++;
            count = base_top_offer(top, count, max, j, (double)most[j]);
        }
    p->drawn = (uint32_t)count;
    for (uint32_t i = 0; i < count; i++)
        slot[top[i].item] = i + 1;
}

static void fill_columns(const struct path *p, shoal_series *series, const uint32_t *slot)
{
    for (uint32_t point = 0; point < p->points; point++) {
        uint32_t k = step_of(p, point);
        for (uint64_t e = first_of(p, k); e < p->d->of[k].end; e++) {
            uint32_t line = slot[lasso_column_of(p->data, p->entry[e].column)];
            if (line > 0)
                values_of(&series[line - 1])[point] = p->entry[e].value;
        }
    }
}

static shoal_status draw_path(struct path *p, shoal_err *err)
{
    struct base_top top[DRAWN_MAX] = {0};
    char note[160], all[32];
    float *most = base_arena_calloc(&p->arena, (size_t)p->d->columns + 1, sizeof *most);
    uint32_t *slot = base_arena_calloc(&p->arena, (size_t)p->d->columns + 1, sizeof *slot);

    if (most == NULL || slot == NULL)
        return base_err_nomem(err, "drawing a path");
    choose_columns(p, top, most, slot);
    if (p->drawn == 0)
        return SHOAL_OK;
    shoal_picture picture = {.name = "coefficients", .title = "Coefficients", .note = note};
    shoal_series *series = begin(p, &picture, p->drawn);
    if (series == NULL)
        return base_err_nomem(err, "drawing a path");
    for (uint32_t i = 0; i < p->drawn; i++) {
        char *name = base_arena_calloc(&p->arena, 1, 24);
        if (name == NULL)
            return base_err_nomem(err, "drawing a path");
        snprintf(name, 24, "column %u",
                 number_of(p, lasso_name_of(p->data, (uint32_t)top[i].item)));
        series[i].name = name;
        series[i].colour = i < NAMED ? i % (SHOAL_COLOURS - 1) : SHOAL_GREY;
    }
    fill_columns(p, series, slot);
    snprintf(note, sizeof note, "over lambda, which falls from left to right; %s%s columns",
             p->columns == p->drawn ? "all " : "the largest of ",
             base_format_count(p->columns, all, sizeof all));
    return shoal_driver_picture(p->driver, &picture, err);
}

static shoal_status draw_held(struct path *p, shoal_err *err)
{
    shoal_picture picture = {.name = "folds",
                             .title = "Held-out loss",
                             .note = "mean of the folds and a standard error around it; less is "
                                     "better"};
    float *low = base_arena_calloc(&p->arena, p->points, sizeof *low);
    float *high = base_arena_calloc(&p->arena, p->points, sizeof *high);

    if (p->d->folds == 0)
        return SHOAL_OK;
    shoal_series *series = begin(p, &picture, 1);
    if (series == NULL || low == NULL || high == NULL)
        return base_err_nomem(err, "drawing a path");
    for (uint32_t point = 0; point < p->points; point++) {
        uint32_t k = step_of(p, point);
        double around = isfinite(p->error[k]) ? p->error[k] : 0;
        values_of(series)[point] = (float)p->mean[k];
        low[point] = (float)(p->mean[k] - around);
        high[point] = (float)(p->mean[k] + around);
    }
    series->name = "held-out loss";
    series->low = low;
    series->high = high;
    return shoal_driver_picture(p->driver, &picture, err);
}

static shoal_status draw_counts(struct path *p, shoal_err *err)
{
    shoal_picture picture = {
        .name = "columns", .title = "Columns", .note = "that have a coefficient"};
    shoal_series *series = begin(p, &picture, 1);

    if (series == NULL)
        return base_err_nomem(err, "drawing a path");
    for (uint32_t point = 0; point < p->points; point++)
        values_of(series)[point] = (float)count_of(p, step_of(p, point));
    series->name = "columns";
    picture.y.unit = SHOAL_UNIT_COUNT;
    return shoal_driver_picture(p->driver, &picture, err);
}

/* ---- lists ---- */

static shoal_status list_solution(struct path *p, shoal_err *err)
{
    const struct lasso_step *of = &p->d->of[p->chosen];
    struct solution row = {.lambda = of->lambda,
                           .intercept = of->intercept,
                           .loss = of->loss,
                           .held = p->mean[p->chosen],
                           .error = p->error[p->chosen],
                           .columns = count_of(p, p->chosen),
                           .of = p->d->all_columns,
                           .number = p->chosen + 1,
                           .lambdas = p->d->lambdas,
                           .rows = p->d->rows};
    shoal_records all = {.first = &row, .stride = sizeof row, .count = 1};

    if (p->d->folds == 0)
        row.held = row.error = (double)NAN;
    for (uint32_t k = 0; k < p->d->lambdas; k++)
        row.gap = fmax(row.gap, gap_of(p, k));
    return shoal_driver_records(p->driver, &solution_schema, &all, err);
}

static int larger_first(const void *a, const void *b)
{
    const struct chosen *x = a, *y = b;

    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

static shoal_status list_chosen(struct path *p, shoal_err *err)
{
    const struct lasso_entry *entry = p->entry + first_of(p, p->chosen);
    uint64_t count = count_of(p, p->chosen);
    struct chosen *rows = base_arena_calloc(&p->arena, count + 1, sizeof *rows);

    if (rows == NULL)
        return base_err_nomem(err, "listing columns");
    for (uint64_t i = 0; i < count; i++)
        rows[i] = (struct chosen){number_of(p, entry[i].column), (double)entry[i].value,
                                  fabs((double)entry[i].value)};
    qsort(rows, count, sizeof *rows, larger_first);
    shoal_records all = {
        .first = rows, .stride = sizeof *rows, .count = count < CHOSEN_MAX ? count : CHOSEN_MAX};
    return shoal_driver_records(p->driver, &chosen_schema, &all, err);
}

static shoal_status list_steps(struct path *p, shoal_err *err)
{
    struct step *rows = base_arena_calloc(&p->arena, p->d->lambdas, sizeof *rows);

    if (rows == NULL)
        return base_err_nomem(err, "listing solutions");
    for (uint32_t k = 0; k < p->d->lambdas; k++) {
        const struct lasso_step *of = &p->d->of[k];
        rows[k] = (struct step){.lambda = of->lambda,
                                .loss = of->loss,
                                .held = p->d->folds > 0 ? p->mean[k] : (double)NAN,
                                .error = p->d->folds > 0 ? p->error[k] : (double)NAN,
                                .gap = gap_of(p, k),
                                .columns = count_of(p, k),
                                .picked = k == p->chosen ? "picked" : NULL};
    }
    shoal_records all = {.first = rows, .stride = sizeof *rows, .count = p->d->lambdas};
    return shoal_driver_records(p->driver, &step_schema, &all, err);
}

/* ---- all of it ---- */

static shoal_status show(struct path *p, shoal_err *err)
{
    bool drawn = p->d->lambdas > 1;

    lasso_folds(p->d, p->d->lambdas, p->mean, p->error);
    p->chosen = lasso_choose(p->d, p->d->lambdas, (enum lasso_pick)p->o->pick, p->mean, p->error);
    p->mark = (shoal_mark){p->d->of[p->chosen].lambda, "picked"};
    for (uint32_t i = 0; i < p->points; i++)
        p->lambda[i] = (float)p->d->of[step_of(p, i)].lambda;
    shoal_status st = list_solution(p, err);
    if (st == SHOAL_OK && drawn)
        st = draw_path(p, err);
    if (st == SHOAL_OK && drawn)
        st = draw_held(p, err);
    if (st == SHOAL_OK && drawn)
        st = draw_counts(p, err);
    if (st == SHOAL_OK)
        st = list_chosen(p, err);
    return st == SHOAL_OK ? list_steps(p, err) : st;
}

shoal_status app_lasso_show(shoal_driver *driver, shoal_err *err)
{
    struct path p = {.driver = driver,
                     .d = shoal_driver_state(driver),
                     .o = shoal_driver_options(driver),
                     .data = (const void *)shoal_driver_rows_read(driver, LASSO_DATA),
                     .entry = (const void *)shoal_driver_rows_read(driver, LASSO_PATH)};

    base_arena_init(&p.arena, env_alloc(shoal_driver_env(driver)), 1 << 14);
    p.points = p.d->lambdas < POINTS_MAX ? p.d->lambdas : POINTS_MAX;
    p.mean = base_arena_calloc(&p.arena, LASSO_LAMBDAS_MAX, sizeof *p.mean);
    p.error = base_arena_calloc(&p.arena, LASSO_LAMBDAS_MAX, sizeof *p.error);
    p.lambda = base_arena_calloc(&p.arena, p.points, sizeof *p.lambda);
    bool fits = p.mean != NULL && p.error != NULL && p.lambda != NULL;
    shoal_status st = fits ? show(&p, err) : base_err_nomem(err, "showing a path");
    base_arena_fini(&p.arena);
    return st;
}
