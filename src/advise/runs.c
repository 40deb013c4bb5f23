/* runs.c - see runs.h: the set of runs, and what its numbers say about themselves. */
#include "advise/runs_parts.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAMES_BLOCK = 4096, DIVERGED_MIN = 6 };

const double advise_runs_late = 1.5;

void advise_runs_init(struct advise_runs *runs, const struct base_alloc *alloc)
{
    *runs = (struct advise_runs){.alloc = alloc};
    base_arena_init(&runs->names, alloc, NAMES_BLOCK);
}

void advise_runs_fini(struct advise_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        base_free(runs->alloc, runs->runs[i].points);
    base_free(runs->alloc, runs->runs);
    base_arena_fini(&runs->names);
    runs->runs = NULL;
    runs->count = runs->cap = 0;
}

/* Its index, or algorithm_count when it is new. */
static uint32_t find_algorithm(const struct advise_runs *runs, const char *name)
{
    uint32_t at = 0;

    while (at < runs->algorithm_count && strcmp(runs->algorithms[at], name) != 0)
        at++;
    return at;
}

static bool add_algorithm(struct advise_runs *runs, const char *name, shoal_err *err)
{
    char *copy;

    if (runs->algorithm_count == ADVISE_ALGORITHMS_MAX) {
        base_err(err, SHOAL_E_LIMIT, "more than %d algorithms, found '%.63s'",
                 ADVISE_ALGORITHMS_MAX, name);
        base_err_hint(err, "leave some out: runs of one algorithm have the same name");
        return false;
    }
    copy = base_arena_strndup(&runs->names, name, strlen(name));
    if (copy == NULL) {
        base_err_nomem(err, "reading runs");
        return false;
    }
    runs->algorithms[runs->algorithm_count++] = copy;
    return true;
}

struct advise_run *advise_runs_find(struct advise_runs *runs, const char *algorithm,
                                    uint32_t machines, double size, const char *label,
                                    shoal_err *err)
{
    uint32_t index = find_algorithm(runs, algorithm);
    char *copy;

    /* the one of the row before is the likely one, and it is the last */
    for (size_t i = runs->count; i-- > 0;) {
        struct advise_run *r = &runs->runs[i];
        if (r->algorithm == index && r->machines == machines && r->size == size &&
            strcmp(r->label, label) == 0)
            return r;
    }
    if (runs->count == ADVISE_RUNS_MAX) {
        base_err(err, SHOAL_E_LIMIT, "more than %d runs", ADVISE_RUNS_MAX);
        return NULL;
    }
    if (index == runs->algorithm_count && !add_algorithm(runs, algorithm, err))
        return NULL;
    copy = base_arena_strndup(&runs->names, label, strlen(label));
    if (copy == NULL || base_reserve(runs->alloc, (void **)&runs->runs, &runs->cap, runs->count + 1,
                                     sizeof *runs->runs) != 0) {
        base_err_nomem(err, "reading runs");
        return NULL;
    }
    runs->runs[runs->count] =
        (struct advise_run){.algorithm = index, .machines = machines, .size = size, .label = copy};
    return &runs->runs[runs->count++];
}

static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool same_point(const struct advise_point *a, const struct advise_point *b)
{
    return same_number(a->iteration, b->iteration) && same_number(a->time_s, b->time_s) &&
           same_number(a->loss, b->loss);
}

const char *advise_runs_order(const struct advise_run *run, const struct advise_point *point)
{
    const struct advise_point *last = run->count > 0 ? &run->points[run->count - 1] : NULL;

    if (last == NULL || same_point(last, point))
        return NULL;
    if (point->iteration < last->iteration)
        return "iterations go backwards in this run; another run needs another name in 'run'";
    if (point->iteration == last->iteration)
        return "the same iteration of this run a second time, with other numbers; another run "
               "needs another name in 'run'";
    if (point->time_s < last->time_s)
        return "time goes backwards in this run; times are seconds since its start";
    return NULL;
}

shoal_status advise_runs_add(struct advise_runs *runs, struct advise_run *run,
                             const struct advise_point *point, shoal_err *err)
{
    if (run->count > 0 && same_point(&run->points[run->count - 1], point)) {
        runs->same_rows++;
        return SHOAL_OK;
    }
    if (runs->point_count == ADVISE_POINTS_MAX)
        return base_err(err, SHOAL_E_LIMIT, "more than %d rows", ADVISE_POINTS_MAX);
    if (base_reserve(runs->alloc, (void **)&run->points, &run->cap, run->count + 1,
                     sizeof *run->points) != 0)
        return base_err_nomem(err, "reading runs");
    run->points[run->count++] = *point;
    runs->point_count++;
    return SHOAL_OK;
}

/* ---- Shoal's own CSV: a line for each measurement ---- */

enum { ALGORITHM, MACHINES, SIZE, RUN, ITERATION, TIME, LOSS, COLUMNS };

static const double NUMBER_MAX = 1e15;
static const char MAGIC[] = "#shoal-runs";
static const struct env_column NAMED[COLUMNS] = {
    [ALGORITHM] = {"algorithm", true}, [MACHINES] = {"machines", true},
    [SIZE] = {"size", false},          [RUN] = {"run", false},
    [ITERATION] = {"iteration", true}, [TIME] = {"time_s", true},
    [LOSS] = {"loss", true},
};

static void read_name(struct env_table *t, struct env_cell cell, bool required,
                      char out[ADVISE_NAME_MAX + 1])
{
    if (cell.length > ADVISE_NAME_MAX || (cell.length == 0 && required))
        env_table_expected(t, cell, "a name of 1 to 63 bytes");
    else
        snprintf(out, ADVISE_NAME_MAX + 1, "%.*s", (int)cell.length, cell.text);
}

/* Empty: not measured. What is not a number any more is one kind of divergence to us: infinity. */
static double read_loss(struct env_table *t, struct env_cell cell)
{
    static const char *const GONE[] = {"nan", "-nan", "inf", "-inf", "infinity", "-infinity"};
    double loss = (double)NAN;

    if (cell.length == 0)
        return loss;
    for (size_t i = 0; i < BASE_COUNT(GONE); i++)
        if (env_cell_is(cell, GONE[i]))
            return (double)INFINITY;
    struct env_cell number = env_cell_trim(cell);
    if (!base_parse_f64(number.text, number.length, &loss))
        env_table_expected(t, cell, "a loss: a number, nan, inf, or nothing");
    return fabs(loss) > NUMBER_MAX ? (double)INFINITY : loss;
}

static void read_line(struct advise_runs *runs, struct env_table *t)
{
    char algorithm[ADVISE_NAME_MAX + 1] = "", label[ADVISE_NAME_MAX + 1] = "";
    struct env_cell stated = env_table_cell(t, SIZE);
    struct advise_point point = {0};
    double size = 1;

    read_name(t, env_table_cell(t, ALGORITHM), true, algorithm);
    read_name(t, env_table_cell(t, RUN), false, label);
    uint32_t machines = (uint32_t)env_table_whole(t, env_table_cell(t, MACHINES), 1,
                                                  ADVISE_MACHINES_MAX, "machines");
    if (stated.length > 0)
        size = env_table_number(t, stated, 1e-9, NUMBER_MAX, "a size");
    point.iteration =
        env_table_number(t, env_table_cell(t, ITERATION), 0, NUMBER_MAX, "iterations done so far");
    point.time_s =
        env_table_number(t, env_table_cell(t, TIME), 0, NUMBER_MAX, "seconds since the start");
    point.loss = read_loss(t, env_table_cell(t, LOSS));
    if (t->status != SHOAL_OK)
        return;
    runs->sized |= stated.length > 0;
    runs->unsized |= stated.length == 0;
    struct advise_run *run = advise_runs_find(runs, algorithm, machines, size, label, t->err);
    if (run == NULL) {
        t->status = t->err->code == SHOAL_E_LIMIT ? SHOAL_E_LIMIT : SHOAL_E_NOMEM;
        return;
    }
    const char *why = advise_runs_order(run, &point);
    if (why != NULL)
        env_table_bad(t, 0, "%s", why);
    else
        t->status = advise_runs_add(runs, run, &point, t->err);
}

static void read_csv(struct advise_runs *runs, struct env_table *t)
{
    static const char HEADER[] = "algorithm,machines,iteration,time_s,loss";
    bool header = env_table_header(t, MAGIC, NAMED, COLUMNS, false);

    while (env_table_next(t))
        read_line(runs, t);
    if (t->status == SHOAL_OK && t->in.line == 0)
        t->status = base_err(t->err, SHOAL_E_FORMAT,
                             "cannot read runs '%s': it is empty; expected a header such as %s",
                             t->in.path, HEADER);
    else if (!header)
        env_table_bad(t, 0, "expected a header such as %s", HEADER);
}

shoal_status advise_runs_read(struct advise_runs *runs, shoal_env *env, const char *path,
                              shoal_err *err)
{
    struct env_table t;
    shoal_err own = SHOAL_ERR_INIT;
    const char *head = NULL;
    size_t before = runs->count, size = 0;

    err = err == NULL ? &own : err;
    if (env_table_open(env, "runs", path, &t, err) != SHOAL_OK)
        return t.status;
    t.status = env_lines_head(&t.in, &head, &size, err);
    if (t.status == SHOAL_OK && size > 0 && *head == '{')
        t.status = advise_runs_json(runs, &t.in, err);
    else if (t.status == SHOAL_OK)
        read_csv(runs, &t);
    if (t.status == SHOAL_E_LIMIT) { /* where in all that was read */
        shoal_err why = *err;
        base_err(err, t.status, "cannot read runs '%s', line %llu: %.200s", path,
                 (unsigned long long)t.in.line, why.message);
        base_err_hint(err, "%s", why.hint);
    }
    if (runs->count == before && runs->point_count == 0)
        env_table_bad(&t, 0, "it has no measurements");
    runs->hash = runs->hash * 0x100000001b3u ^ t.in.hash;
    env_table_note(&t, runs->ignored);
    return env_table_close(&t);
}

/* ---- judging ---- */

/* Not finite; or of DIVERGED_MIN losses or more all of the later half are above the first, and they
 * go on rising: their own later half is above their earlier one. */
static void judge_losses(struct advise_run *run)
{
    double first = (double)NAN, lowest = (double)INFINITY, sum[2] = {0}, n[2] = {0};
    size_t seen = 0;

    run->losses = 0;
    for (size_t i = 0; i < run->count; i++) {
        run->losses += isfinite(run->points[i].loss) ? 1 : 0;
        run->diverged = run->diverged || isinf(run->points[i].loss);
    }
    for (size_t i = 0; i < run->count; i++) {
        double loss = run->points[i].loss;
        if (!isfinite(loss))
            continue;
        first = seen == 0 ? loss : first;
        if (2 * seen++ < run->losses)
            continue;
        int late = 4 * (seen - 1) >= 3 * run->losses;
        lowest = fmin(lowest, loss);
        sum[late] += loss;
        n[late]++;
    }
    if (run->losses >= DIVERGED_MIN && lowest > first && sum[1] / n[1] > sum[0] / n[0])
        run->diverged = true;
}

/* The first loss is later than an iteration, and than losses are apart. Where there is but one, it
 * says nothing about what came before it either. */
static bool begins_late(const struct advise_run *run)
{
    double first = (double)NAN, apart = 0;

    for (size_t i = 0; i < run->count && !(apart > 0); i++) {
        if (!isfinite(run->points[i].loss))
            continue;
        if (isnan(first))
            first = run->points[i].iteration;
        else
            apart = run->points[i].iteration - first;
    }
    return first > 1 && first > advise_runs_late * apart;
}

static bool same_run(const struct advise_run *a, const struct advise_run *b)
{
    if (a->algorithm != b->algorithm || a->machines != b->machines || a->size != b->size ||
        a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!same_point(&a->points[i], &b->points[i]))
            return false;
    return true;
}

shoal_status advise_runs_finish(struct advise_runs *runs, shoal_err *err)
{
    if (runs->count == 0)
        return base_err(err, SHOAL_E_FORMAT, "no run in what was read");
    runs->copies = 0;
    for (size_t i = 0; i < runs->count; i++) {
        judge_losses(&runs->runs[i]);
        runs->runs[i].late = begins_late(&runs->runs[i]);
        for (size_t j = 0; j < i && !runs->runs[i].copy; j++)
            runs->runs[i].copy = !runs->runs[j].copy && same_run(&runs->runs[j], &runs->runs[i]);
        runs->copies += runs->runs[i].copy;
    }
    runs->sizes_missing = runs->sized && runs->unsized;
    return SHOAL_OK;
}
