/* runs.c - see runs.h: the set of runs, and what its numbers say about themselves. */
#include "advise/runs.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "env/table.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAMES_BLOCK = 4096, DIVERGED_MIN = 6 };

static const double NUMBER_MAX = 1e15;
static const double LATE = 1.5; /* times the way to its next point, so far a run begins late */

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

/* ---- what `shoal train --json` prints: one object for each run, one after the other ---- */

enum { TEXT_MAX = 256 << 20, SETTINGS_MAX = 16 * 1024, THREADS_MAX = 4096 };

struct object {
    const char *path;
    size_t index; /* of the object in its file, from 1 */
    const json_t *json;
};

static shoal_status bad(const struct object *o, shoal_err *err, const char *what)
{
    base_err(err, SHOAL_E_FORMAT, "cannot read runs '%.150s', object %zu: %s", o->path, o->index,
             what);
    base_err_where(err, "%.150s, object %zu", o->path, o->index);
    return SHOAL_E_FORMAT;
}

/* All that is left of the file. */
static shoal_status read_rest(struct env_lines *lines, struct base_buf *out, shoal_err *err)
{
    const char *bytes = NULL;
    size_t size = 0;
    shoal_status st;

    while ((st = env_lines_block(lines, &bytes, &size, err)) == SHOAL_OK &&
           base_buf_status(out) == SHOAL_OK)
        base_buf_append(out, bytes, size);
    if (st != SHOAL_OK && st != SHOAL_END)
        return st;
    if (base_buf_status(out) == SHOAL_E_LIMIT)
        return base_err(err, SHOAL_E_LIMIT, "cannot read runs '%.150s': more than %d MB",
                        lines->path, TEXT_MAX >> 20);
    return base_buf_status(out) == SHOAL_OK ? SHOAL_OK : base_err_nomem(err, "reading runs");
}

static shoal_status read_point(const struct object *o, const json_t *row, struct advise_point *out,
                               shoal_err *err)
{
    const json_t *iteration = json_array_get(row, 0), *seconds = json_array_get(row, 1);
    const json_t *loss = json_array_get(row, 2);

    if (!json_is_number(iteration) || !json_is_number(seconds) ||
        !(json_is_number(loss) || json_is_null(loss)))
        return bad(
            o, err,
            "a point of its curve is not [iteration, seconds, value]; the value may be null");
    out->iteration = json_number_value(iteration);
    out->time_s = json_number_value(seconds);
    out->loss = json_is_null(loss) ? (double)NAN : json_number_value(loss);
    if (fabs(out->loss) > NUMBER_MAX)
        out->loss = (double)INFINITY;
    if (!(out->iteration >= 0 && out->iteration <= NUMBER_MAX && out->time_s >= 0 &&
          out->time_s <= NUMBER_MAX))
        return bad(o, err, "a point of its curve has an iteration or a time out of range");
    return SHOAL_OK;
}

static shoal_status read_points(struct advise_runs *runs, const struct object *o,
                                const json_t *curve, struct advise_run *run, shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < json_array_size(curve) && st == SHOAL_OK; i++) {
        struct advise_point point;
        st = read_point(o, json_array_get(curve, i), &point, err);
        const char *why = st == SHOAL_OK ? advise_runs_order(run, &point) : NULL;
        if (why != NULL)
            st = bad(o, err, why);
        if (st == SHOAL_OK)
            st = advise_runs_add(runs, run, &point, err);
    }
    return st;
}

/* A job that was resumed counts its clocks from the first on and its seconds from where it went on.
 * Then the clocks before are taken to have been as long as those that came after, on as many
 * machines. Jobs say whether they were resumed; of one that does not, a first clock that is late and
 * came too soon tells. */
static void add_time_before(struct advise_runs *runs, const json_t *said, struct advise_run *run)
{
    if (run->count < 2 || json_is_false(said))
        return;
    const struct advise_point *first = &run->points[0], *last = &run->points[run->count - 1];
    double apart = run->points[1].iteration - first->iteration;
    double step_s = (last->time_s - first->time_s) / (last->iteration - first->iteration);
    double before_s = first->iteration * step_s - first->time_s;
    bool seems = first->iteration > LATE * apart && before_s > first->time_s;
    if (!(json_is_true(said) || seems) || !(before_s > 0 && before_s <= NUMBER_MAX))
        return;
    for (size_t i = 0; i < run->count; i++)
        run->points[i].time_s += before_s;
    runs->resumed++;
}

/* A run of its own, whatever it is called: a name that is taken gets the run's number. */
static struct advise_run *new_run(struct advise_runs *runs, const char *algorithm,
                                  uint32_t machines, double size, const char *name, shoal_err *err)
{
    char label[ADVISE_NAME_MAX + 1];

    snprintf(label, sizeof label, "%s", name);
    for (size_t n = runs->count + 1; n <= 2 * ADVISE_RUNS_MAX + 2; n++) {
        struct advise_run *run = advise_runs_find(runs, algorithm, machines, size, label, err);
        if (run == NULL || run->count == 0)
            return run;
        snprintf(label, sizeof label, "%.40s #%zu", name, n);
    }
    return NULL;
}

/* "key=value" lines; false: they are none that could be given again. */
static bool put_settings(const json_t *options, struct base_buf *out)
{
    const char *key;
    json_t *value;

    base_buf_puts(out, "");
    json_object_foreach((json_t *)(uintptr_t)options, key, value)
    {
        const char *text = json_string_value(value);
        if (text == NULL || strpbrk(text, "\n\r") != NULL || strpbrk(key, "=\n\r") != NULL)
            return false;
        base_buf_printf(out, "%s=%s\n", key, text);
    }
    return true;
}

/* How it was run, where the object says so. */
static shoal_status read_source(struct advise_runs *runs, const struct object *o,
                                uint32_t algorithm, shoal_err *err)
{
    const json_t *options = json_object_get(o->json, "options");
    const json_t *threads = json_object_get(o->json, "threads");
    const char *app = json_string_value(json_object_get(o->json, "app"));
    struct advise_source source = {0};
    struct base_buf settings;

    if (app == NULL || app[0] == 0 || strlen(app) > ADVISE_NAME_MAX || !json_is_object(options))
        return SHOAL_OK;
    if (json_integer_value(threads) > 0 && json_integer_value(threads) <= THREADS_MAX)
        source.threads = (uint32_t)json_integer_value(threads);
    base_buf_init(&settings, runs->alloc, SETTINGS_MAX);
    bool good = put_settings(options, &settings);
    shoal_status st = base_buf_status(&settings);
    if (st == SHOAL_OK && good) {
        source.app = base_arena_strndup(&runs->names, app, strlen(app));
        source.settings = base_arena_strndup(&runs->names, settings.data, settings.size);
        const struct advise_source *before = &runs->sources[algorithm];
        if (before->app != NULL && before->threads != source.threads)
            source.threads = 0;
        if (source.app == NULL || source.settings == NULL)
            st = SHOAL_E_NOMEM;
        else
            runs->sources[algorithm] = source;
    }
    base_buf_fini(&settings);
    return st == SHOAL_E_NOMEM ? base_err_nomem(err, "reading runs") : SHOAL_OK;
}

static bool has_control(const char *name)
{
    for (; *name != '\0'; name++)
        if ((unsigned char)*name < 0x20 || *name == 0x7f)
            return true;
    return false;
}

static shoal_status read_object(struct advise_runs *runs, const struct object *o, shoal_err *err)
{
    const char *algorithm = json_string_value(json_object_get(o->json, "algorithm"));
    const char *name = json_string_value(json_object_get(o->json, "name"));
    const json_t *machines = json_object_get(o->json, "machines");
    const json_t *curve = json_object_get(o->json, "curve");
    const json_t *sized = json_object_get(o->json, "size");

    /* one with a curve came to its end, and only its model or its page could not be written */
    if (curve == NULL && json_is_object(json_object_get(o->json, "error"))) {
        shoal_status st = bad(o, err, "it is of a run that failed or was stopped");
        base_err_hint(err, "leave that line out: only runs that end print their losses");
        return st;
    }
    if (algorithm == NULL)
        algorithm = json_string_value(json_object_get(o->json, "app"));
    if (machines == NULL)
        machines = json_object_get(o->json, "workers");
    if (algorithm == NULL || algorithm[0] == 0 || strlen(algorithm) > ADVISE_NAME_MAX)
        return bad(o, err,
                   "it says neither 'algorithm' nor 'app'; wanted is what 'shoal train "
                   "--json' prints");
    if (has_control(algorithm)) /* it is shown on terminals */
        return bad(o, err, "its algorithm's name has a control character");
    if (!json_is_integer(machines) || json_integer_value(machines) < 1 ||
        json_integer_value(machines) > ADVISE_MACHINES_MAX)
        return bad(o, err, "'machines' (or 'workers') is not a number from 1 to 100,000");
    if (!json_is_array(curve) || json_array_size(curve) == 0)
        return bad(o, err, "it has no 'curve': the losses on the way");
    double size = json_is_number(sized) ? json_number_value(sized) : 1;
    if (!(size > 0 && size <= NUMBER_MAX))
        return bad(o, err, "its 'size' is out of range");
    if (json_is_number(sized))
        runs->sized = true;
    else
        runs->unsized = true;
    struct advise_run *run = new_run(runs, algorithm, (uint32_t)json_integer_value(machines), size,
                                     name != NULL ? name : "", err);
    if (run == NULL)
        return err->code == SHOAL_E_LIMIT ? SHOAL_E_LIMIT : SHOAL_E_NOMEM;
    shoal_status st = read_points(runs, o, curve, run, err);
    if (st == SHOAL_OK)
        add_time_before(runs, json_object_get(o->json, "resumed"), run);
    return st == SHOAL_OK ? read_source(runs, o, run->algorithm, err) : st;
}

static shoal_status read_all(struct advise_runs *runs, const char *path, const char *text,
                             size_t size, shoal_err *err)
{
    struct object o = {.path = path};
    shoal_status st = SHOAL_OK;

    for (size_t at = 0; st == SHOAL_OK;) {
        json_error_t problem;
        while (at < size && strchr(" \t\r\n", text[at]) != NULL && text[at] != 0)
            at++;
        if (at == size)
            break;
        json_t *json = json_loadb(text + at, size - at,
                                  JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &problem);
        o.index++;
        o.json = json;
        if (json == NULL && json_error_code(&problem) == json_error_out_of_memory)
            st = base_err_nomem(err, "reading runs");
        else if (json == NULL)
            st = bad(&o, err, problem.text);
        else
            st = read_object(runs, &o, err);
        at += json != NULL ? (size_t)problem.position : 0;
        json_decref(json);
    }
    return st;
}

/* Goes on from where `lines` stands to the end of the input. */
static shoal_status read_json(struct advise_runs *runs, struct env_lines *lines, shoal_err *err)
{
    struct base_buf text;

    base_buf_init(&text, runs->alloc, TEXT_MAX);
    shoal_status st = read_rest(lines, &text, err);
    if (st == SHOAL_OK)
        st = read_all(runs, lines->path, text.data, text.size, err);
    base_buf_fini(&text);
    return st;
}

/* ---- Shoal's own CSV: a line for each measurement ---- */

enum { ALGORITHM, MACHINES, SIZE, RUN, ITERATION, TIME, LOSS, COLUMNS };

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
        t.status = read_json(runs, &t.in, err);
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
    return first > 1 && first > LATE * apart;
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
