/* runs_json.c - what `shoal train --json` prints: one object for each run, one after the other. */
#include "advise/runs_parts.h"

#include "base/err.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 256 << 20, SETTINGS_MAX = 16 * 1024, THREADS_MAX = 4096 };

static const double NUMBER_MAX = 1e15;

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
    bool seems = first->iteration > advise_runs_late * apart && before_s > first->time_s;
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

shoal_status advise_runs_json(struct advise_runs *runs, struct env_lines *lines, shoal_err *err)
{
    struct base_buf text;

    base_buf_init(&text, runs->alloc, TEXT_MAX);
    shoal_status st = read_rest(lines, &text, err);
    if (st == SHOAL_OK)
        st = read_all(runs, lines->path, text.data, text.size, err);
    base_buf_fini(&text);
    return st;
}
