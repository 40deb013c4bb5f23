/* profile.c - reads profile folders into the tables of sched/model_profile.h.
 *
 * Rows (cells.h) are grouped into columns of increasing batch size: one per measured placement, and
 * one per (nodes, gpus) that is the mean over the placements of that shape, to which the separate
 * scaling measurements are added where a shape was not measured before. */
#include "sim/profile.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "env/table.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PATH_SIZE = 1024, VALIDATED_MAX = 64, LOCAL_MAX = 1000000000 };
#define PLACEMENT_MAX \
    9007199254740991.0 /* the digits must be exact in a double: up to 15 nodes, or 16 of 8 */

/* What the files do not say. Epochs: the length of training in the published set-ups (Pollux, OSDI
 * 2021, simulator of the artefact). yolov3 has one measurement at batch 16 per GPU that the
 * published runs leave unused. */
static const struct {
    const char *app;
    uint32_t epochs, local_max;
} known_apps[] = {
    {"bert", 2, 0},      {"cifar10", 100, 0},    {"ncf", 10, 0},
    {"imagenet", 90, 0}, {"deepspeech2", 80, 0}, {"yolov3", 50, 8},
};

/* File suffixes and the kinds they were measured on. An unsuffixed file is a T4, as in Pollux. */
static const struct {
    const char *suffix, *kind;
} suffixes[] = {
    {"-aws", "t4"},     {"", "t4"},      {"-dgx-ext", "a100"}, {"-dgx", "dgx"},
    {"-azure", "v100"}, {"-rtx", "rtx"}, {"-quad", "quad"},
};

struct sim_profiles {
    shoal_env *env;
    const struct base_alloc *alloc;
    const struct sched_cluster *cluster;
    struct base_arena arena;
    struct base_map apps; /* name -> struct sched_profile * */
    char dir[PATH_SIZE];
};

/* ---- columns of step times ---- */

/* One measurement: of a placement, or of a shape when placement is 0. */
struct point {
    uint64_t placement;
    uint32_t nodes, gpus;
    double local, step_s, sync_s;
};

static int compare_points(const void *a, const void *b)
{
    const struct point *x = a, *y = b;

    if (x->placement != y->placement)
        return x->placement < y->placement ? -1 : 1;
    if (x->gpus != y->gpus)
        return x->gpus < y->gpus ? -1 : 1;
    if (x->nodes != y->nodes)
        return x->nodes < y->nodes ? -1 : 1;
    return (x->local > y->local) - (x->local < y->local);
}

static bool same_point(const struct point *a, const struct point *b)
{
    return a->placement == b->placement && a->gpus == b->gpus && a->nodes == b->nodes &&
           a->local == b->local;
}

static bool same_column(const struct point *a, const struct point *b)
{
    return a->placement == b->placement && a->gpus == b->gpus && a->nodes == b->nodes;
}

/* Sorts, and replaces equal points by their mean. Returns how many are left. */
static size_t merge_points(struct point *p, size_t count)
{
    size_t kept = 0;

    qsort(p, count, sizeof *p, compare_points);
    for (size_t i = 0; i < count;) {
        struct point sum = p[i];
        uint32_t n = 1;
        while (i + n < count && same_point(&p[i + n], &p[i])) {
            sum.step_s += p[i + n].step_s;
            sum.sync_s += p[i + n].sync_s;
            n++;
        }
        i += n;
        sum.step_s /= n;
        sum.sync_s /= n;
        p[kept++] = sum;
    }
    return kept;
}

static shoal_status fill_column(struct base_arena *arena, const struct point *p, uint32_t count,
                                struct sched_profile_column *out)
{
    double *values = base_arena_alloc(arena, 3 * count * sizeof *values);

    if (values == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        values[i] = p[i].local;
        values[count + i] = p[i].step_s;
        values[2 * count + i] = p[i].sync_s;
    }
    *out = (struct sched_profile_column){
        .placement = p->placement,
        .nodes = p->nodes,
        .gpus = p->gpus,
        .count = count,
        .local = values,
        .step_s = values + count,
        .sync_s = values + 2 * count,
    };
    return SHOAL_OK;
}

static shoal_status build_columns(struct base_arena *arena, const struct point *p, size_t count,
                                  const struct sched_profile_column **out, uint32_t *out_count)
{
    struct sched_profile_column *columns = base_arena_calloc(arena, count, sizeof *columns);
    uint32_t n = 0;

    if (columns == NULL)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < count;) {
        uint32_t length = 1;
        while (i + length < count && same_column(&p[i + length], &p[i]))
            length++;
        if (fill_column(arena, p + i, length, &columns[n++]) != SHOAL_OK)
            return SHOAL_E_NOMEM;
        i += length;
    }
    *out = columns;
    *out_count = n;
    return SHOAL_OK;
}

static uint64_t smallest_rotation(uint64_t digits)
{
    uint64_t best = digits, top = 1;

    while (digits / top >= 10)
        top *= 10;
    for (uint64_t d = digits, r = top; r > 0; r /= 10) {
        d = d % top * 10 + d / top;
        best = d < best ? d : best;
    }
    return best;
}

/* ---- tables of numbers ---- */

enum { ROWS_MAX = 1000000, CELLS_COLUMNS_MAX = 5 };

/* A column: whole numbers from 1 to whole_max, or any above 0, or those and 0. */
struct wanted {
    const char *name;
    uint64_t whole_max; /* 0: not whole */
    bool zero;
};

struct cells {
    double *cells; /* (rows, columns) */
    size_t row_count, cap;
};

static void read_row(struct env_table *t, const struct wanted *wanted, size_t count,
                     struct cells *out)
{
    void *cells = out->cells;

    if (out->row_count == ROWS_MAX)
        env_table_bad(t, 0, "more than %d rows", ROWS_MAX);
    else if (base_reserve(t->in.alloc, &cells, &out->cap, out->row_count + 1,
                          count * sizeof *out->cells) != 0)
        env_table_nomem(t, "reading a profile");
    if (t->status != SHOAL_OK)
        return;
    out->cells = cells;
    for (size_t c = 0; c < count; c++) {
        const struct wanted *w = &wanted[c];
        struct env_cell cell = env_table_cell(t, c);
        double *to = &out->cells[out->row_count * count + c];
        if (w->whole_max > 0)
            *to = (double)env_table_whole(t, cell, 1, w->whole_max, w->name);
        else if (w->zero)
            *to = env_table_number(t, cell, 0, INFINITY, w->name);
        else
            *to = env_table_positive(t, cell, INFINITY, w->name);
    }
    out->row_count++;
}

/* The wanted columns of a file, in their order; at least a row. `out` is the caller's to free in any
 * case. */
static shoal_status read_cells(struct sim_profiles *ps, const char *path,
                               const struct wanted *wanted, size_t count, struct cells *out,
                               shoal_err *err)
{
    struct env_column columns[CELLS_COLUMNS_MAX];
    struct env_table t;

    for (size_t c = 0; c < count; c++)
        columns[c] = (struct env_column){wanted[c].name, true};
    if (env_table_open(ps->env, "profile", path, &t, err) != SHOAL_OK)
        return t.status;
    env_table_header(&t, NULL, columns, count, true);
    while (env_table_next(&t))
        read_row(&t, wanted, count, out);
    if (t.status == SHOAL_OK && t.in.line == 0)
        t.status = base_err(err, SHOAL_E_FORMAT, "cannot read profile '%s': it is empty", path);
    else if (out->row_count == 0)
        env_table_bad(&t, 0, "expected rows of numbers, found none");
    return env_table_close(&t);
}

/* Points of placements.csv under their placement, and once more under their shape. False for a bad
 * placement. */
static bool placement_points(const struct cells *t, struct point *p)
{
    for (size_t i = 0; i < t->row_count; i++) {
        const double *row = t->cells + 4 * i;
        struct point at = {.local = row[1], .step_s = row[2], .sync_s = row[3]};
        for (uint64_t d = (uint64_t)row[0]; d > 0; d /= 10) {
            at.nodes++;
            at.gpus += (uint32_t)(d % 10);
            if (d % 10 == 0)
                return false;
        }
        p[2 * i] = p[2 * i + 1] = at;
        p[2 * i].placement = smallest_rotation((uint64_t)row[0]);
    }
    return true;
}

static shoal_status build_kind(struct sim_profiles *ps, const struct cells *placements,
                               const struct cells *scaling, const char *path,
                               struct sched_profile_kind *out, shoal_err *err)
{
    size_t room = 2 * placements->row_count + scaling->row_count;
    struct point *p = base_calloc(ps->alloc, room, sizeof *p);
    shoal_status st = SHOAL_E_NOMEM;

    if (p == NULL)
        return base_err_nomem(err, "reading profiles");
    if (!placement_points(placements, p)) {
        base_free(ps->alloc, p);
        return base_err(
            err, SHOAL_E_FORMAT,
            "cannot read profile '%s': a placement is digits from 1 to 9, GPUs per node", path);
    }
    size_t count = merge_points(p, 2 * placements->row_count), shapes = 0;
    while (shapes < count && p[shapes].placement == 0)
        shapes++; /* shapes sort before placements */
    struct sched_profile_kind kind = {0};
    if (build_columns(&ps->arena, p + shapes, count - shapes, &kind.placements,
                      &kind.placement_count) != SHOAL_OK)
        goto out;

    size_t all = shapes;
    for (size_t i = 0; i < scaling->row_count; i++) {
        const double *row = scaling->cells + 5 * i;
        struct point at = {.nodes = (uint32_t)row[0],
                           .gpus = (uint32_t)row[1],
                           .local = row[2],
                           .step_s = row[3],
                           .sync_s = row[4]};
        if (bsearch(&at, p, shapes, sizeof *p, compare_points) == NULL)
            p[all++] = at;
    }
    all = merge_points(p, all);
    if (build_columns(&ps->arena, p, all, &kind.columns, &kind.column_count) != SHOAL_OK)
        goto out;
    for (size_t i = 0; i < all; i++)
        kind.nodes_max = p[i].nodes > kind.nodes_max ? p[i].nodes : kind.nodes_max;
    for (size_t i = 0; i < placements->row_count; i++) {
        uint32_t local = (uint32_t)placements->cells[4 * i + 1];
        kind.local_max = local > kind.local_max ? local : kind.local_max;
        kind.local_min = i == 0 || local < kind.local_min ? local : kind.local_min;
    }
    *out = kind;
    st = SHOAL_OK;
out:
    base_free(ps->alloc, p);
    return st == SHOAL_OK ? st : base_err_nomem(err, "reading profiles");
}

/* ---- an application ---- */

static bool has_name(const struct base_buf *names, const char *name)
{
    for (size_t at = 0; at < names->size; at += strlen(names->data + at) + 1)
        if (strcmp(names->data + at, name) == 0)
            return true;
    return false;
}

/* The profile of one kind of the cluster; none is not an error. */
static shoal_status read_kind(struct sim_profiles *ps, const char *dir,
                              const struct base_buf *names, const char *kind_name,
                              struct sched_profile_kind *out, shoal_err *err)
{
    static const struct wanted placement_columns[] = {{"placement", PLACEMENT_MAX, false},
                                                      {"local_bsz", LOCAL_MAX, false},
                                                      {"step_time", 0, false},
                                                      {"sync_time", 0, true}};
    static const struct wanted scaling_columns[] = {{"num_nodes", LOCAL_MAX, false},
                                                    {"num_replicas", LOCAL_MAX, false},
                                                    {"local_bsz", LOCAL_MAX, false},
                                                    {"step_time", 0, false},
                                                    {"sync_time", 0, true}};
    char file[80], path[2 * PATH_SIZE];

    for (size_t i = 0; i < BASE_COUNT(suffixes); i++) {
        const char *suffix = suffixes[i].suffix;
        if (strcasecmp(kind_name, suffixes[i].kind) != 0 &&
            (suffix[0] == '\0' || strcasecmp(kind_name, suffix + 1) != 0))
            continue;
        snprintf(file, sizeof file, "placements%s.csv", suffix);
        if (!has_name(names, file))
            continue;
        struct cells placements = {0}, scaling = {0};
        snprintf(path, sizeof path, "%s/%s", dir, file);
        shoal_status st = read_cells(ps, path, placement_columns, 4, &placements, err);
        snprintf(file, sizeof file, "scalability%s.csv", suffix);
        if (st == SHOAL_OK && has_name(names, file)) {
            char scaling_path[2 * PATH_SIZE];
            snprintf(scaling_path, sizeof scaling_path, "%s/%s", dir, file);
            st = read_cells(ps, scaling_path, scaling_columns, 5, &scaling, err);
        }
        if (st == SHOAL_OK)
            st = build_kind(ps, &placements, &scaling, path, out, err);
        base_free(ps->alloc, placements.cells);
        base_free(ps->alloc, scaling.cells);
        return st;
    }
    return SHOAL_OK;
}

static uint32_t validated_batch(const char *name)
{
    uint64_t batch;
    size_t length = strlen(name);

    if (strncmp(name, "validation-", 11) != 0 || length < 16 ||
        strcmp(name + length - 4, ".csv") != 0 || !base_parse_u64(name + 11, length - 15, &batch) ||
        batch == 0 || batch > UINT32_MAX)
        return 0;
    return (uint32_t)batch;
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* One validation file into row v of the gradient tables, and the least progress per epoch. */
static shoal_status fill_epochs(struct sched_profile *p, double *progress, double *sqr, double *var,
                                uint32_t v, const struct cells *t)
{
    for (uint32_t e = 0; e < p->epochs; e++) {
        const double *row = t->cells + 3 * (size_t)e;
        progress[e] = v == 0 || row[0] < progress[e] ? row[0] : progress[e];
        sqr[(size_t)v * p->epochs + e] = row[1];
        var[(size_t)v * p->epochs + e] = row[2];
        if (row[1] <= 0 && row[2] <= 0)
            return SHOAL_E_FORMAT;
    }
    return SHOAL_OK;
}

static shoal_status read_epochs(struct sim_profiles *ps, const char *dir, struct sched_profile *p,
                                shoal_err *err)
{
    static const struct wanted columns[] = {
        {"progress", 0, false}, {"grad_sqr", 0, true}, {"grad_var", 0, true}};
    struct cells tables[VALIDATED_MAX] = {{0}};
    uint32_t n = p->validated_count, epochs = p->epochs;
    char path[2 * PATH_SIZE];
    shoal_status st = SHOAL_OK;

    for (uint32_t v = 0; v < n && st == SHOAL_OK; v++) {
        snprintf(path, sizeof path, "%s/validation-%u.csv", dir, p->validated[v]);
        st = read_cells(ps, path, columns, 3, &tables[v], err);
        if (st == SHOAL_OK && (epochs == 0 || tables[v].row_count < epochs))
            epochs = (uint32_t)tables[v].row_count;
    }
    p->epochs = epochs;
    double *progress = base_arena_calloc(&ps->arena, epochs, sizeof *progress);
    double *sqr = base_arena_calloc(&ps->arena, (size_t)n * epochs, sizeof *sqr);
    double *var = base_arena_calloc(&ps->arena, (size_t)n * epochs, sizeof *var);
    if (st == SHOAL_OK && (progress == NULL || sqr == NULL || var == NULL))
        st = base_err_nomem(err, "reading profiles");
    for (uint32_t v = 0; v < n && st == SHOAL_OK; v++)
        if (fill_epochs(p, progress, sqr, var, v, &tables[v]) != SHOAL_OK)
            st = base_err(err, SHOAL_E_FORMAT,
                          "cannot read profile '%s/validation-%u.csv': gradients are all 0", dir,
                          p->validated[v]);
    for (uint32_t e = 0; e < epochs && st == SHOAL_OK; e++)
        if (progress[e] <= (e > 0 ? progress[e - 1] : 0))
            st = base_err(err, SHOAL_E_FORMAT,
                          "cannot read profile '%s': progress must grow with every epoch", dir);
    for (uint32_t v = 0; v < n; v++)
        base_free(ps->alloc, tables[v].cells);
    p->progress_end = progress;
    p->grad_sqr = sqr;
    p->grad_var = var;
    return st;
}

static shoal_status list_validated(struct sim_profiles *ps, const char *dir,
                                   const struct base_buf *names, struct sched_profile *p,
                                   shoal_err *err)
{
    uint32_t *batches = base_arena_alloc(&ps->arena, VALIDATED_MAX * sizeof *batches);

    if (batches == NULL)
        return base_err_nomem(err, "reading profiles");
    for (size_t at = 0; at < names->size; at += strlen(names->data + at) + 1) {
        uint32_t batch = validated_batch(names->data + at);
        if (batch != 0 && p->validated_count == VALIDATED_MAX)
            return base_err(err, SHOAL_E_LIMIT,
                            "cannot read profile '%s': more than %d validation files", dir,
                            VALIDATED_MAX);
        if (batch != 0)
            batches[p->validated_count++] = batch;
    }
    if (p->validated_count == 0)
        return base_err(err, SHOAL_E_FORMAT,
                        "cannot read profile '%s': it has no validation-BATCH.csv", dir);
    qsort(batches, p->validated_count, sizeof *batches, compare_u32);
    p->validated = batches;
    p->batch_initial = batches[0];
    p->batch_max = batches[p->validated_count - 1];
    return SHOAL_OK;
}

static void take_limits(struct sched_profile *p, const struct sched_profile_kind *kind)
{
    if (kind->column_count == 0)
        return;
    uint32_t gpus = kind->columns[kind->column_count - 1].gpus; /* sorted by them */
    p->gpus_max = gpus > p->gpus_max ? gpus : p->gpus_max;
    if (p->local_min == 0 || kind->local_min < p->local_min)
        p->local_min = kind->local_min;
}

static shoal_status read_app(struct sim_profiles *ps, const char *app, struct sched_profile *p,
                             shoal_err *err)
{
    struct base_buf names;
    char dir[PATH_SIZE + 80];
    uint32_t local_max = 0, profiled = 0;

    snprintf(dir, sizeof dir, "%s/%.64s", ps->dir, app);
    for (size_t i = 0; i < BASE_COUNT(known_apps); i++)
        if (strcmp(app, known_apps[i].app) == 0) {
            p->epochs = known_apps[i].epochs;
            local_max = known_apps[i].local_max;
        }
    base_buf_init(&names, ps->alloc, 1 << 20);
    shoal_status st = env_list(ps->env, dir, &names, err);
    if (st == SHOAL_E_NOTFOUND) {
        base_err(err, st, "unknown model '%s': no folder '%s'", app, dir);
        base_err_hint(err, "give the folder of profiles with --profiles");
    }
    if (st == SHOAL_OK)
        st = list_validated(ps, dir, &names, p, err);
    if (st == SHOAL_OK)
        st = read_epochs(ps, dir, p, err);
    for (uint32_t k = 0; k < ps->cluster->kind_count && st == SHOAL_OK; k++) {
        st = read_kind(ps, dir, &names, ps->cluster->kinds[k].name, &p->kinds[k], err);
        profiled += p->kinds[k].column_count > 0;
        if (local_max != 0 && p->kinds[k].local_max > local_max)
            p->kinds[k].local_max = local_max;
        take_limits(p, &p->kinds[k]);
    }
    if (st == SHOAL_OK && profiled == 0) {
        st = base_err(err, SHOAL_E_NOTFOUND,
                      "profile '%s' has no step times for a GPU kind of this cluster", dir);
        base_err_hint(
            err, "placements.csv is for t4; others are placements-rtx.csv (rtx), -dgx-ext (a100), "
                 "-azure (v100), -quad (quad)");
    }
    base_buf_fini(&names);
    return st;
}

/* ---- the folder ---- */

shoal_status sim_profiles_open(shoal_env *env, const char *dir, const struct sched_cluster *cluster,
                               struct sim_profiles **out, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);

    if (strlen(dir) >= PATH_SIZE)
        return base_err(err, SHOAL_E_LIMIT, "the path of the profiles is longer than %d bytes",
                        PATH_SIZE - 1);
    struct sim_profiles *ps = base_calloc(alloc, 1, sizeof *ps);
    if (ps == NULL)
        return base_err_nomem(err, "reading profiles");
    ps->env = env;
    ps->alloc = alloc;
    ps->cluster = cluster;
    snprintf(ps->dir, sizeof ps->dir, "%s", dir);
    base_arena_init(&ps->arena, alloc, 1 << 16);
    base_map_init(&ps->apps, alloc);
    *out = ps;
    return SHOAL_OK;
}

void sim_profiles_free(struct sim_profiles *profiles)
{
    if (profiles == NULL)
        return;
    base_map_fini(&profiles->apps);
    base_arena_fini(&profiles->arena);
    base_free(profiles->alloc, profiles);
}

static shoal_status find_app(struct sim_profiles *ps, const char *app,
                             const struct sched_profile **out, shoal_err *err)
{
    const struct base_map_entry *e = base_map_find(&ps->apps, app, strlen(app));

    if (e != NULL) {
        *out = (const struct sched_profile *)(uintptr_t)e->value;
        return SHOAL_OK;
    }
    if (app[0] == '\0' || app[0] == '.' || strchr(app, '/') != NULL || strlen(app) > 64)
        return base_err(err, SHOAL_E_NOTFOUND,
                        "unknown model '%.64s': a profile is named by its folder", app);
    struct sched_profile *p = base_arena_calloc(&ps->arena, 1, sizeof *p);
    if (p == NULL)
        return base_err_nomem(err, "reading profiles");
    shoal_status st = read_app(ps, app, p, err);
    if (st != SHOAL_OK)
        return st;
    if (base_map_add(&ps->apps, app, strlen(app), (uint64_t)(uintptr_t)p, NULL) != SHOAL_OK)
        return base_err_nomem(err, "reading profiles");
    *out = p;
    return SHOAL_OK;
}

shoal_status sim_profiles_bind(struct sim_profiles *profiles, const char *app, uint32_t gpus,
                               uint32_t batch, struct sched_model *out_model, uint32_t *out_kinds,
                               shoal_err *err)
{
    const struct sched_profile *p = NULL;
    shoal_status st = find_app(profiles, app, &p, err);

    if (st != SHOAL_OK)
        return st;
    struct sched_model model = sched_model_profile(p, batch);
    uint32_t kinds = 0;
    for (uint32_t k = 0; k < profiles->cluster->kind_count; k++)
        if (p->kinds[k].column_count > 0 && profiles->cluster->kinds[k].gpus >= gpus &&
            isfinite(sched_model_ideal_s(&model, profiles->cluster, k, gpus, 0)))
            kinds |= 1u << k;
    *out_model = model;
    *out_kinds = kinds;
    return SHOAL_OK;
}
