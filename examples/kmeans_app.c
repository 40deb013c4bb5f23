/* kmeans_app.c - a whole application: clusters of points in the plane, by Lloyd's algorithm.
 *
 *     cc -shared -fPIC kmeans_app.c -o kmeans.so $(pkg-config --cflags --libs shoal)
 *     shoal train ./kmeans.so points.csv --set k=5 --workers 4 --output clusters.shoal
 *
 * DATA: a point a line, "x,y". Executors own points. Table 0 holds the centres, table 1 the sum and
 * count of the points of each, which executors add in a clock; then the driver moves the centres. */
#include <math.h>
#include <shoal/train.h>
#include <stdio.h>
#include <string.h>

enum { EXECUTORS = 16, CENTRES = 0, SUMS = 1 };

struct options {
    uint64_t k, clocks;
};
struct driver { /* plain data, as it is kept in checkpoints */
    uint64_t points, ended;
    double spread, last; /* sums of squared distances: this clock so far, the last one */
};

#define AT(member) offsetof(struct options, member)

static const shoal_opt OPTS[] = {
    {AT(k), SHOAL_OPT_U64, "k", 0, NULL, "8", "clusters", .min = 1, .max = 1000},
    {AT(clocks), SHOAL_OPT_U64, "clocks", 0, NULL, "20", "rounds", .min = 1, .max = 1e6},
};

/* Reads points, every EXECUTORS-th for each executor; a first pass counts them. */
static shoal_status read_points(shoal_driver *driver, shoal_err *err)
{
    struct driver *d = shoal_driver_state(driver);
    float x, y, *block[EXECUTORS] = {0}; /* points: x, y, x, y, ... */
    FILE *file = fopen(shoal_driver_path(driver), "r");

    if (file == NULL)
        return shoal_fail(err, SHOAL_E_NOTFOUND, "cannot open '%s'", shoal_driver_path(driver));
    while (fscanf(file, "%f,%f", &x, &y) == 2)
        d->points++;
    rewind(file);
    for (uint64_t i = 0; i < d->points && fscanf(file, "%f,%f", &x, &y) == 2; i++) {
        uint32_t e = (uint32_t)(i % EXECUTORS);
        uint64_t count = (d->points - e + EXECUTORS - 1) / EXECUTORS;
        if (i < EXECUTORS)
            block[e] = shoal_driver_block(driver, e, 2 * count * sizeof(float));
        if (block[e] == NULL)
            break;
        block[e][2 * (i / EXECUTORS)] = x;
        block[e][2 * (i / EXECUTORS) + 1] = y;
    }
    fclose(file);
    return block[EXECUTORS - 1] ? SHOAL_OK : shoal_fail(err, SHOAL_E_LIMIT, "too few points");
}

static shoal_status plan(shoal_driver *driver, shoal_err *err)
{
    uint64_t k = ((const struct options *)shoal_driver_options(driver))->k;
    shoal_table_opts centres = {
        .struct_size = sizeof centres, .name = "centres", .rows = k, .width = 2, .shards = 1};
    shoal_table_opts sums = {
        .struct_size = sizeof sums, .name = "sums", .rows = k, .width = 3, .shards = 1};
    shoal_status st = shoal_driver_executors(driver, EXECUTORS, err);

    if (st == SHOAL_OK)
        st = read_points(driver, err);
    if (st == SHOAL_OK)
        st = shoal_driver_table(driver, &centres, err);
    if (st == SHOAL_OK)
        st = shoal_driver_table(driver, &sums, err);
    for (uint64_t i = 0; st == SHOAL_OK && i < 2 * k; i++) /* on a line, to begin with */
        shoal_driver_rows(driver, CENTRES)[i] = (float)(i / 2) / (float)k;
    return st;
}

static shoal_status start(shoal_driver *driver, shoal_err *err)
{
    return shoal_driver_dispatch_all(driver, 0, 0, err);
}

static shoal_status run(shoal_task *task, shoal_err *err)
{
    const struct options *o = shoal_task_options(task);
    const float *centre = shoal_task_rows(task, CENTRES);
    float *sum = shoal_task_add_all(task, SUMS);
    double spread = 0;
    size_t size;
    const float *p = shoal_task_data(task, &size);

    if (sum == NULL)
        return shoal_fail(err, SHOAL_E_NOMEM, "out of memory");
    for (const float *end = p + size / sizeof *p; p < end; p += 2) {
        uint64_t best = 0;
        float least = INFINITY;
        for (uint64_t c = 0; c < o->k; c++) {
            float dx = p[0] - centre[2 * c], dy = p[1] - centre[2 * c + 1], d2 = dx * dx + dy * dy;
            best = d2 < least ? c : best;
            least = d2 < least ? d2 : least;
        }
        sum[3 * best] += p[0];
        sum[3 * best + 1] += p[1];
        sum[3 * best + 2] += 1;
        spread += (double)least;
    }
    shoal_task_result(task, &spread, sizeof spread);
    return SHOAL_OK;
}

static shoal_status done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    const struct options *o = shoal_driver_options(driver);
    struct driver *d = shoal_driver_state(driver);
    double spread;

    if (d->ended + 1 == EXECUTORS && shoal_driver_fresh(driver) != SHOAL_OK)
        return SHOAL_AGAIN; /* the sums are not all there yet */
    memcpy(&spread, done->result, sizeof spread);
    d->spread += spread;
    if (++d->ended < EXECUTORS)
        return SHOAL_OK;
    float *centre = shoal_driver_rows(driver, CENTRES), *sum = shoal_driver_rows(driver, SUMS);
    for (uint64_t c = 0; c < o->k; c++)
        for (uint64_t j = 0; j < 2 && sum[3 * c + 2] > 0; j++)
            centre[2 * c + j] = sum[3 * c + j] / sum[3 * c + 2];
    memset(sum, 0, 3 * o->k * sizeof *sum);
    shoal_driver_report(driver, d->spread / (double)d->points,
                        (double)(done->clock + 1) / (double)o->clocks, d->points);
    shoal_driver_iterations(driver, done->clock + 1);
    bool settled = done->clock > 0 && d->last - d->spread <= 1e-4 * d->last;
    *d = (struct driver){.points = d->points, .last = d->spread};
    if (done->clock + 1 < o->clocks)
        return shoal_driver_dispatch_all(driver, 0, done->clock + 1, err);
    shoal_driver_stopped(driver, settled ? SHOAL_STOP_TOLERANCE : SHOAL_STOP_LIMIT, NAN);
    shoal_driver_finish(driver);
    return SHOAL_OK;
}

static shoal_status save(shoal_driver *driver, shoal_model *model, shoal_err *err)
{
    const struct options *o = shoal_driver_options(driver);

    return shoal_model_put(model, "centres", shoal_driver_rows_read(driver, CENTRES),
                           2 * o->k * sizeof(float), err);
}

/* For `--report`: the centres, as a table. */
static const shoal_field CENTRE_FIELDS[] = {
    {0, SHOAL_FIELD_F32, SHOAL_UNIT_VALUE, 0, 1, "x", "X", .help = "of the centre"},
    {sizeof(float), SHOAL_FIELD_F32, SHOAL_UNIT_VALUE, 0, 1, "y", "Y", .help = "likewise"},
};
static const shoal_schema CENTRE = {"centres", "Centres", "A cluster's", CENTRE_FIELDS, 2};

static shoal_status show(shoal_driver *driver, shoal_err *err)
{
    shoal_records centres = {.first = shoal_driver_rows_read(driver, CENTRES),
                             .stride = 2 * sizeof(float),
                             .count = ((const struct options *)shoal_driver_options(driver))->k};

    return shoal_driver_records(driver, &CENTRE, &centres, err);
}

const shoal_app *shoal_app_export(void)
{
    /* clang-format off */
    static const shoal_app app = {
        .struct_size = sizeof app, .name = "kmeans", .summary = "clusters of points in the plane",
        .data = "a point a line: x,y", .objective = "mean squared distance", .units = "points",
        .opt_count = 2, .options_size = sizeof(struct options), .driver_size = sizeof(struct driver),
        .opts = OPTS, .plan = plan, .start = start, .done = done, .run = run, .save = save,
        .show = show};
    /* clang-format on */
    return &app;
}
