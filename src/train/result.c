/* result.c - see result.h. A figure is a row here and the line that computes it.
 *
 * The schema is made for each result: the application's lists come first, as they are what was asked for. Nothing
 * here grows with the job: a trail has a maximum of points. */
#include "train/result.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/event.h"
#include "base/text.h"
#include "train/options.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DRAWN_MAX = 200, TEXT_MAX = 1 << 20, LINES_MAX = 64 << 20, VALUE_DIGITS = 6 };
static const double LOG_FROM = 50; /* an axis is logarithmic where its ends differ by more */

/* ---- what records there are ---- */

struct point {
    uint64_t clock;
    double seconds, value, held_out, task_s;
};

#define AT(member) offsetof(struct point, member)
static const shoal_field point_fields[] = {
    {AT(clock), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 1, "clock", "CLOCK", .help = "clocks ended"},
    {AT(seconds), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 1, "seconds", "AFTER",
     .help = "since the work began"},
    {AT(value), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "value", "OBJECTIVE",
     .help = "as it was judged then"},
    {AT(held_out), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "held_out", "HELD OUT",
     .help = "the measure of data that is not trained on", .flags = SHOAL_FIELD_SPARSE},
    {AT(task_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 1, "task_s", "IN TASKS",
     .help = "in tasks by then, all threads together"},
};
#undef AT
static const shoal_schema point_schema = {"curve", "Curve", "The objective along the way",
                                          point_fields, BASE_COUNT(point_fields)};

struct setting {
    const char *option, *value, *from, *help;
};

#define AT(member) offsetof(struct setting, member)
static const shoal_field setting_fields[] = {
    {AT(option), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "option", "OPTION",
     .help = "of the application, or with -- of the command"},
    {AT(value), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "value", "VALUE",
     .help = "as it took effect; null: none"},
    {AT(from), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "from", "FROM",
     .help = "given, default, chosen: by the application; run: as it was started"},
    {AT(help), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "WHAT IT DOES",
     .help = "what the option means", .flags = SHOAL_FIELD_WRAP},
};
#undef AT
static const shoal_schema setting_schema = {"settings", "Settings", "An option as it took effect",
                                            setting_fields, BASE_COUNT(setting_fields)};

static const shoal_field line_fields[] = {
    {0, SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "WHAT IT SAYS",
     .help = "a line of the application"},
};
static const shoal_schema line_schema = {"said", "What the application says", "A line", line_fields,
                                         BASE_COUNT(line_fields)};

struct failure {
    const char *code, *message, *where, *hint, *action;
};

#define AT(member) offsetof(struct failure, member)
static const shoal_field failure_fields[] = {
    {AT(code), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "code", .help = "the status"},
    {AT(message), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "message", .help = "what failed"},
    {AT(where), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "where", .help = "file, line, column"},
    {AT(hint), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "hint", .help = "what to do about it"},
    {AT(action), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "action", .help = "what helps"},
};
#undef AT
static const shoal_schema failure_schema = {"error", NULL, "A failure", failure_fields,
                                            BASE_COUNT(failure_fields)};

/* Its fields are those lists that the application gives. */
static const shoal_schema learnt_schema = {"learnt", NULL, "Lists of the application", NULL, 0};

struct row {
    struct train_stats s;
    const char *app, *name, *objective, *converged, *stopped, *model, *report, *options, *algorithm,
        *curve;
    double seconds, load_seconds, cpu_s, units_per_s, iterations, max_pause_ms, task_s, blocked_s,
        size;
    uint32_t threads;
    shoal_numbers staleness;
    shoal_texts said;
    shoal_records settings;
    const void *learnt;           /* its lists, NULL: none */
    const struct failure *error;  /* NULL: nothing failed */
    struct failure model_failure; /* code NULL: none */
    struct failure page_failure;
    /* For people. */
    const char *what, *work, *crew, *checkpoints, *kept;
    shoal_records points, lines, lists[TRAIN_LISTS_MAX];
};

#define AT(member) offsetof(struct row, member)
#define S(member)  offsetof(struct row, s.member)
static const shoal_field fields[] = {
    {AT(what), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "Application", .flags = 0},
    {AT(app), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "app", .help = "what is trained"},
    {AT(name), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "name", "Job", .help = "the job's name"},
    {AT(objective), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "objective",
     .help = "what its value is"},
    {S(value), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, -1, 0, "value", .help = "the objective"},
    {S(held_out), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, -1, 0, "held_out",
     .help = "the application's measure of data that is not trained on"},
    {AT(converged), SHOAL_FIELD_JSON, SHOAL_UNIT_NONE, 0, 0, "converged",
     .help = "whether it converged; null: the application does not say"},
    {AT(stopped), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "stopped",
     .help = "why it stopped: tolerance, held_out (that error no longer falls), limit (of "
             "iterations), stalled (no step helps), schedule (all iterations are done)"},
    {S(gap), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, -1, 0, "gap",
     .help = "the minimum is at most this share of the objective lower, proven"},
    {AT(seconds), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 1, "seconds", "Time",
     .help = "of work, without reading data"},
    {AT(load_seconds), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 1, "load_seconds", "Reading data",
     .help = "of reading and planning"},
    {AT(cpu_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 1, "cpu_s", "CPU time",
     .help = "processor time of all processes here"},
    {AT(units_per_s), SHOAL_FIELD_F64, SHOAL_UNIT_NONE, 1, 0, "units_per_s",
     .help = "work done a second, over all of this run"},
    {AT(work), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "Work", .flags = 0},
    {AT(iterations), SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 1, "iterations", "Iterations",
     .help = "passes, epochs or steps, as the application counts them; null: it does not"},
    {S(units), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "units", .help = "work done"},
    {S(clocks), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 1, "clocks", "Clocks",
     .help = "rounds that all executors have ended"},
    {S(tasks), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 1, "tasks", "Tasks", .help = "that ran"},
    {S(tasks_redone), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, -1, 0, "tasks_redone",
     .help = "tasks begun again after a loss"},
    {S(moves), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "moves",
     .help = "how often an executor moved"},
    {S(checkpoints), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 0, "checkpoints", .help = "written"},
    {S(checkpoints_failed), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, -1, 0, "checkpoints_failed",
     .help = "those that could not be written"},
    {S(checkpoint_bytes), SHOAL_FIELD_U64, SHOAL_UNIT_BYTES, -1, 0, "checkpoint_bytes",
     .help = "size of the last"},
    {AT(checkpoints), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "Checkpoints", .flags = 0},
    {AT(max_pause_ms), SHOAL_FIELD_F64, SHOAL_UNIT_MS, -1, 0, "max_pause_ms",
     .help = "the longest that an executor waited for its move"},
    {AT(task_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 1, "task_s", "In tasks",
     .help = "all threads together"},
    {AT(blocked_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 1, "blocked_s", "Waiting",
     .help = "with no task to begin or waiting for tables, all threads together"},
    {S(workers), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 0, "workers",
     .help = "up when the work was done"},
    {S(workers_lost), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, -1, 0, "workers_lost",
     .help = "lost without notice"},
    {S(workers_stalled), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, -1, 0, "workers_stalled",
     .help = "of those, let go since they had work and ended none"},
    {AT(crew), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "Workers", .flags = 0},
    {S(executors), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 1, "executors", "Executors",
     .help = "parts of the data that work can be done on at once"},
    {AT(staleness), SHOAL_FIELD_NUMBERS, SHOAL_UNIT_COUNT, 0, 0, "staleness",
     .help = "how many tasks read tables 0, 1, 2, ... clocks behind; the last: or more"},
    {S(resumed), SHOAL_FIELD_BOOL, SHOAL_UNIT_NONE, 0, 0, "resumed",
     .help = "whether it went on from a checkpoint; clocks then count from the first on, seconds "
             "from where it went on"},
    {AT(model), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "model", .help = "the model's file"},
    {AT(kept), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "Model", .flags = 0},
    {AT(report), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "report", .help = "the page's file"},
    {AT(said), SHOAL_FIELD_TEXTS, SHOAL_UNIT_NONE, 0, 0, "said",
     .help = "lines in which the application says what it has learnt"},
    {AT(lines), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, NULL, "What the application says",
     .flags = SHOAL_FIELD_PAGE, .of = &line_schema},
    {S(workers), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 0, "machines",
     .help = "workers, for shoal advise"},
    {AT(threads), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 0, "threads", .help = "of each worker"},
    {AT(size), SHOAL_FIELD_F64, SHOAL_UNIT_BYTES, 0, 1, "size", "Data",
     .help = "bytes of its file; null: not a plain file"},
    {AT(options), SHOAL_FIELD_JSON, SHOAL_UNIT_NONE, 0, 0, "options",
     .help = "all options of the application, as text, as they were asked for"},
    {AT(algorithm), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "algorithm",
     .help = "the application with its option algorithm"},
    {AT(settings), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, "settings", "Settings",
     .help = "options as they took effect", .flags = SHOAL_FIELD_PAGE, .of = &setting_schema},
    {AT(curve), SHOAL_FIELD_JSON, SHOAL_UNIT_NONE, 0, 0, "curve",
     .help = "[clock, seconds, value, task_s] each: clocks ended, seconds since the work began, "
             "the objective then, seconds in tasks by then; at most 1,001 points"},
    {AT(points), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 0, NULL, "Curve",
     .flags = SHOAL_FIELD_CSV, .of = &point_schema},
    {AT(learnt), SHOAL_FIELD_RECORD, SHOAL_UNIT_NONE, 0, 0, "learnt",
     .help = "lists of the application, where a page was asked for: topics, weights",
     .flags = SHOAL_FIELD_OPTIONAL, .of = &learnt_schema},
    {AT(error), SHOAL_FIELD_RECORD, SHOAL_UNIT_NONE, 0, 0, "error",
     .help = "why the model or the page could not be written; the rest holds",
     .flags = SHOAL_FIELD_OPTIONAL, .of = &failure_schema},
};
#undef S

static const shoal_schema schema = {"train", NULL, "A training job that has ended", fields,
                                    BASE_COUNT(fields)};

const shoal_schema *shoal_train_schema(void)
{
    return &schema;
}

/* ---- words ---- */

void train_put_rate(struct base_buf *out, double rate, const char *units)
{
    static const char *const NAMES[] = {"", "k ", "M ", "G ", "T "};
    size_t i = 0;

    while (rate >= 999.5 && i + 1 < BASE_COUNT(NAMES)) {
        rate /= 1000;
        i++;
    }
    base_buf_printf(out, "%.3g %s%s/s", rate, NAMES[i], units);
}

const char *train_value_text(double value, int digits, char *out, size_t size)
{
    if (fabs(value) >= 1e5 && fabs(value) < 1e15)
        snprintf(out, size, "%.0f", value);
    else
        snprintf(out, size, "%.*g", digits, value);
    return out;
}

static const char *s_of(uint64_t count)
{
    return count == 1 ? "" : "s";
}

const char *train_steps_text(const struct train_stats *s, char *out, size_t size)
{
    bool known = s->iterations > 0;
    uint64_t count = known ? s->iterations : s->clocks;
    char text[32];

    snprintf(out, size, "%s %s%s", base_format_count(count, text, sizeof text),
             known ? "iteration" : "clock", s_of(count));
    return out;
}

/* By shoal_stop. */
static const struct {
    const char *name, *words;
} STOPS[] = {
    [SHOAL_STOP_TOLERANCE] = {"tolerance", "converged"},
    [SHOAL_STOP_HELD_OUT] = {"held_out", "the error on held-out data no longer falls"},
    [SHOAL_STOP_LIMIT] = {"limit", "not converged: the limit on iterations came first"},
    [SHOAL_STOP_STALLED] = {"stalled", "not converged: no step lowers the objective any more"},
    [SHOAL_STOP_SCHEDULE] = {"schedule", "all iterations are done"},
};

static bool not_converged(shoal_stop why)
{
    return why == SHOAL_STOP_LIMIT || why == SHOAL_STOP_STALLED;
}

void train_put_stopped(struct base_buf *out, const struct train_stats *s)
{
    double percent = 100 * s->gap;
    char text[32];

    if (STOPS[s->stopped].words == NULL)
        return;
    base_buf_puts(out, STOPS[s->stopped].words);
    if (isfinite(s->gap))
        base_buf_printf(out, ", the minimum is at most %s %% lower",
                        train_value_text(percent, percent < 99.5 ? 2 : 3, text, sizeof text));
}

/* ---- making it ---- */

struct making {
    const struct train_ended *ended;
    const struct train_job_opts *opts;
    const struct train_job_result *r;
    const struct train_stats *s;
    const shoal_app *app;
    struct train_learnt *learnt;
    struct page_made *made;
    const struct base_alloc *alloc;
    struct row *row;
    struct base_buf text; /* scratch */
};

/* What the scratch has, as a text of the result's. */
static const char *keep(struct making *m)
{
    const char *text = "";

    if (base_buf_status(&m->text) != SHOAL_OK && m->made != NULL)
        m->made->status = base_buf_status(&m->text);
    else if (m->text.size > 0)
        text = page_made_text(m->made, "%s", m->text.data);
    base_buf_clear(&m->text);
    return text;
}

static double rate_of(const struct making *m)
{
    return (double)(m->s->units - m->s->units_before) / m->r->seconds;
}

/* "mf: rmse 0.749788 after 6 iterations in 1.4s (1.6s CPU), 39.5 M ratings/s" */
static void say_end(struct making *m)
{
    char steps[48], took[32], cpu[32], value[32];

    page_made_say(m->made, "%s: ", m->app->name);
    if (isfinite(m->s->value)) {
        page_made_say(m->made, "%s %s", m->app->objective,
                      train_value_text(m->s->value, VALUE_DIGITS, value, sizeof value));
        if (m->app->held_out != NULL && isfinite(m->s->held_out))
            page_made_say(m->made, ", %s %s held out", m->app->held_out,
                          train_value_text(m->s->held_out, 5, value, sizeof value));
        page_made_say(m->made, " ");
    }
    train_put_rate(&m->text, rate_of(m), m->app->units);
    page_made_say(m->made, "after %s in %s (%s CPU), %s\n",
                  train_steps_text(m->s, steps, sizeof steps),
                  base_format_duration(m->r->seconds, took, sizeof took),
                  base_format_duration(m->ended->cpu_s, cpu, sizeof cpu), keep(m));
}

/* How it ended; what did not converge is a warning. */
static void say_stopped(struct making *m)
{
    train_put_stopped(&m->text, m->s);
    const char *words = keep(m);
    if (not_converged(m->s->stopped))
        page_made_note(m->made, SHOAL_NOTE_WARNING, "%s; 'shoal app show %s' lists its limits",
                       words, m->app->name);
    else if (words[0] != '\0')
        page_made_say(m->made, "%s\n", words);
}

/* What happened to the crew, when something did. */
static void say_changes(struct making *m)
{
    const struct train_stats *s = m->s;

    if (s->resumed)
        page_made_say(m->made, "it went on from a checkpoint: times are of this run alone\n");
    if (s->workers_stalled > 0)
        page_made_say(m->made, "%u worker%s dismissed: they had work and finished none of it\n",
                      s->workers_stalled, s_of(s->workers_stalled));
    if (s->workers_lost > 0)
        page_made_say(m->made, "%u worker%s lost, %" PRIu64 " task%s run again\n", s->workers_lost,
                      s_of(s->workers_lost), s->tasks_redone, s_of(s->tasks_redone));
    if (s->moves > 0)
        page_made_say(m->made, "%" PRIu64 " move%s, longest pause %.1f ms\n", s->moves,
                      s_of(s->moves), (double)s->max_pause_ns * 1e-6);
}

/* What the application says, and how its model is used, on a terminal. */
static void fill_lines(struct making *m)
{
    struct base_buf all;

    base_buf_init(&all, m->alloc, LINES_MAX);
    base_buf_puts(&all, "");
    for (size_t i = 0; i < m->learnt->said_count; i++)
        base_buf_printf(&all, "  %s\n", m->learnt->said[i]);
    if (m->row->model != NULL && m->app->score != NULL)
        base_buf_printf(&all, "model: %s    use it: shoal predict %s DATA\n", m->row->model,
                        m->row->model);
    else if (m->row->model != NULL)
        base_buf_printf(&all, "model: %s\n", m->row->model);
    if (base_buf_status(&all) == SHOAL_OK)
        m->made->result.lines = page_made_text(m->made, "%s", all.data);
    else
        m->made->status = base_buf_status(&all);
    base_buf_fini(&all);
}

/* ---- settings ---- */

static bool is_automatic(const shoal_opt *row, const char *value)
{
    return value[0] == '\0' && row->type != SHOAL_OPT_STR;
}

static void fill_setting(struct making *m, const shoal_opt *row, const void *values,
                         const void *usual, struct setting *out)
{
    const char *chosen = train_learnt_setting(m->learnt, row->name), *mine, *theirs;

    base_opt_format(row, values, &m->text);
    mine = keep(m);
    base_opt_format(row, usual, &m->text);
    theirs = keep(m);
    bool given = strcmp(mine, theirs) != 0;
    bool none = !given && row->fallback == NULL && row->type != SHOAL_OPT_FLAG;
    *out = (struct setting){
        .option = page_made_text(m->made, "%s", row->name),
        .value = chosen != NULL                                       ? chosen
                 : none || is_automatic(row, mine) || mine[0] == '\0' ? NULL
                                                                      : mine,
        .from = chosen != NULL ? "chosen"
                : given        ? "given"
                               : "default",
        .help = page_made_text(m->made, "%s", row->help),
    };
}

enum { RUN_SETTINGS = 4 };

static void fill_run_settings(struct making *m, struct setting *out)
{
    const struct train_job_opts *o = m->opts;

    out[0] = (struct setting){"--workers", page_made_text(m->made, "%u", o->workers), "run",
                              "worker processes that were started on this machine"};
    out[1] = (struct setting){"--threads", page_made_text(m->made, "%u", o->threads), "run",
                              "threads of each worker"};
    out[2] = (struct setting){"--staleness", page_made_text(m->made, "%u", m->r->staleness), "run",
                              "clocks a worker may be ahead of the slowest; 0: none, results equal "
                              "bit for bit"};
    out[3] = (struct setting){"--seed", page_made_text(m->made, "%" PRIu64, o->seed), "run",
                              "of everything drawn"};
}

/* As they took effect; and as they were asked for, as JSON, with the name that tells algorithms apart. */
static shoal_status fill_settings(struct making *m, shoal_err *err)
{
    const shoal_app *app = m->app;
    const char *settings = m->opts->settings != NULL ? m->opts->settings : "";
    struct setting *rows = page_made_alloc(m->made, app->opt_count + RUN_SETTINGS, sizeof *rows);
    void *values = NULL, *usual = NULL;
    struct base_buf json, algorithm;
    shoal_status st = train_options_new(m->alloc, app, settings, &values, err);

    if (st == SHOAL_OK)
        st = train_options_new(m->alloc, app, "", &usual, err);
    base_buf_init(&json, m->alloc, 8 * strlen(settings) + TEXT_MAX);
    base_buf_init(&algorithm, m->alloc, TEXT_MAX);
    base_buf_puts(&json, "{");
    base_buf_puts(&algorithm, app->name);
    for (size_t i = 0; i < app->opt_count && rows != NULL && st == SHOAL_OK; i++) {
        fill_setting(m, &app->opts[i], values, usual, &rows[i]);
        base_opt_format(&app->opts[i], values, &m->text);
        const char *value = keep(m);
        base_buf_puts(&json, i > 0 ? "," : "");
        base_buf_json_string(&json, app->opts[i].name);
        base_buf_puts(&json, ":");
        base_buf_json_string(&json, value);
        if (strcmp(app->opts[i].name, "algorithm") == 0)
            base_buf_printf(&algorithm, "-%s", value);
    }
    base_buf_puts(&json, "}");
    if (rows != NULL)
        fill_run_settings(m, rows + app->opt_count);
    if (st == SHOAL_OK && (base_buf_status(&json) != SHOAL_OK ||
                           base_buf_status(&algorithm) != SHOAL_OK || rows == NULL))
        st = base_err_nomem(err, "making a result");
    if (st == SHOAL_OK) {
        m->row->options = page_made_text(m->made, "%s", json.data);
        m->row->algorithm = page_made_text(m->made, "%s", algorithm.data);
        m->row->settings = (shoal_records){
            .first = rows, .stride = sizeof *rows, .count = app->opt_count + RUN_SETTINGS};
    }
    train_options_free(m->alloc, values);
    train_options_free(m->alloc, usual);
    base_buf_fini(&json);
    base_buf_fini(&algorithm);
    return st;
}

/* ---- the curve ---- */

static double seconds_of(const struct train_job_result *r, uint64_t at_ns)
{
    return at_ns > r->begun_ns ? fmin((double)(at_ns - r->begun_ns) * 1e-9, r->seconds) : 0;
}

/* Of reports in the same clock the last one. */
static void fill_curve(struct making *m)
{
    const struct train_trail *trail = &m->r->trail;
    struct point *points = page_made_alloc(m->made, trail->count, sizeof *points);
    struct base_buf json;
    size_t count = 0;

    base_buf_init(&json, m->alloc, TEXT_MAX);
    base_buf_puts(&json, "[");
    for (uint32_t i = 0; points != NULL && i < trail->count; i++) {
        const struct train_trail_value *v = &trail->value[i];
        if (i + 1 < trail->count && v[1].clock == v->clock)
            continue;
        struct point *p = &points[count++];
        *p = (struct point){v->clock, seconds_of(m->r, v->at_ns), v->value, v->held_out,
                            (double)v->task_ns * 1e-9};
        base_buf_printf(&json, "%s[%" PRIu64 ",", count > 1 ? "," : "", p->clock);
        base_json_f64(&json, p->seconds);
        base_buf_puts(&json, ",");
        base_json_f64(&json, p->value);
        base_buf_puts(&json, ",");
        base_json_f64(&json, p->task_s);
        base_buf_puts(&json, "]");
    }
    base_buf_puts(&json, "]");
    if (base_buf_status(&json) != SHOAL_OK)
        m->made->status = base_buf_status(&json);
    else
        m->row->curve = page_made_text(m->made, "%s", json.data);
    m->row->points = (shoal_records){.first = points, .stride = sizeof *points, .count = count};
    base_buf_fini(&json);
}

/* ---- pictures of the job ---- */

/* Behind the application's first list, or before all. */
static shoal_picture *add_picture(struct making *m, shoal_picture_type type, const char *name,
                                  const char *title, size_t points, shoal_series **out_series)
{
    shoal_picture *picture = page_picture(m->made, type, name, title, NULL, 1);

    *out_series = picture != NULL ? page_series(m->made, picture, title, 0, points) : NULL;
    if (*out_series == NULL)
        return NULL;
    picture->x = (shoal_axis){.title = "time", .unit = SHOAL_UNIT_SECONDS};
    picture->after = m->learnt->list_count > 0 ? m->learnt->list[0].schema->name : "";
    return picture;
}

static double value_at(const struct making *m, size_t i, bool held_out)
{
    const struct train_trail_value *v = &m->r->trail.value[i];

    return held_out ? v->held_out : v->value;
}

/* The objective over time, or what was measured on data held out. Of a long trail some points evenly apart with the
 * first and the last. */
static void draw_values(struct making *m, const char *name, const char *title, bool held_out)
{
    size_t finite = 0, seen = 0, count = 0;
    double low = INFINITY, high = -INFINITY;
    shoal_series *series;

    for (size_t i = 0; i < m->r->trail.count; i++)
        finite += isfinite(value_at(m, i, held_out)) ? 1 : 0;
    if (title == NULL || finite < 2 || !(m->r->seconds > 0))
        return;
    size_t drawn = finite < DRAWN_MAX ? finite : DRAWN_MAX;
    shoal_picture *picture = add_picture(m, SHOAL_PICTURE_LINES, name,
                                         page_made_text(m->made, "%s", title), drawn, &series);
    const char **texts = page_made_alloc(m->made, drawn, sizeof *texts);
    if (picture == NULL || texts == NULL)
        return;
    for (size_t i = 0; i < m->r->trail.count && count < drawn; i++) {
        double value = value_at(m, i, held_out);
        char clock[32];
        if (!isfinite(value) || seen++ != (drawn > 1 ? count * (finite - 1) / (drawn - 1) : 0))
            continue;
        page_point(series, seconds_of(m->r, m->r->trail.value[i].at_ns), value);
        texts[count++] =
            page_made_text(m->made, "clock %s",
                           base_format_count(m->r->trail.value[i].clock, clock, sizeof clock));
        low = fmin(low, value);
        high = fmax(high, value);
    }
    series->texts = texts;
    picture->note =
        held_out ? "on data held out, over time; less is better" : "over time; less is better";
    picture->y = (shoal_axis){.unit = SHOAL_UNIT_VALUE, .log = low > 0 && high > LOG_FROM * low};
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

static void draw_crew(struct making *m)
{
    const struct train_trail *trail = &m->r->trail;
    shoal_series *series;

    if (!(m->r->seconds > 0) || !crew_changed(trail))
        return;
    shoal_picture *picture = add_picture(m, SHOAL_PICTURE_STEPS, "workers", "Workers",
                                         trail->crews + (size_t)1, &series);
    shoal_mark *marks = page_made_alloc(m->made, trail->crews, sizeof *marks);
    if (picture == NULL || marks == NULL)
        return;
    for (uint32_t i = 0; i < trail->crews; i++) {
        page_point(series, seconds_of(m->r, trail->crew[i].at_ns), trail->crew[i].workers);
        if (i > 0 && trail->crew[i].lost > trail->crew[i - 1].lost)
            marks[picture->mark_count++] =
                (shoal_mark){seconds_of(m->r, trail->crew[i].at_ns), "lost"};
    }
    page_point(series, m->r->seconds, trail->crew[trail->crews - 1].workers);
    series->name = "workers";
    picture->marks = marks;
    picture->note = picture->mark_count > 0 ? "over time; dashed: one was lost" : "over time";
    picture->y = (shoal_axis){.unit = SHOAL_UNIT_COUNT};
}

/* ---- figures ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != 0 ? slash + 1 : path;
}

static shoal_numbers fill_staleness(struct making *m)
{
    size_t count = TRAIN_STALE_MAX;
    while (count > 1 && m->s->stale[count - 1] == 0)
        count--;
    double *values = page_made_alloc(m->made, count, sizeof *values);

    for (size_t i = 0; values != NULL && i < count; i++)
        values[i] = (double)m->s->stale[i];
    return (shoal_numbers){.values = values, .count = values == NULL ? 0 : count};
}

static struct failure fill_failure(struct page_made *made, const shoal_err *err)
{
    return (struct failure){
        .code = page_made_text(made, "%s", shoal_status_name(err->code)),
        .message = page_made_text(made, "%s", err->message),
        .where = page_made_text(made, "%s", err->where),
        .hint = page_made_text(made, "%s", err->hint),
        .action = page_made_text(made, "%s", shoal_action_text(shoal_status_action(err->code)))};
}

shoal_err train_result_model_error(const struct train_ended *ended)
{
    const struct train_checkpoint_opts *kept = &ended->opts->checkpoint;
    shoal_err err = ended->result->model_err;

    err.code = ended->result->model_status;
    if (err.code != SHOAL_OK && kept->dir != NULL &&
        (kept->resume || ended->result->stats.checkpoints > 0))
        base_err_hint(&err,
                      "the checkpoint in '%s' is kept: mend that and run it again with --resume",
                      kept->dir);
    return err;
}

static void fill_model(struct making *m)
{
    shoal_err failed = train_result_model_error(m->ended);

    if (failed.code != SHOAL_OK) {
        m->row->model_failure = fill_failure(m->made, &failed);
        m->row->error = &m->row->model_failure;
        m->row->kept = page_made_text(m->made, "not kept: %s", failed.message);
    } else if (m->opts->model != NULL) {
        m->row->kept = m->row->model = page_made_text(m->made, "%s", m->opts->model);
    } else {
        m->row->kept = "not kept";
    }
}

/* Of people's figures, several at once in words. */
static void fill_words(struct making *m)
{
    const struct train_stats *s = m->s;
    struct row *row = m->row;
    char text[2][32];

    row->what = m->app->summary != NULL
                    ? page_made_text(m->made, "%s: %s", m->app->name, m->app->summary)
                    : row->app;
    if (s->units > 0) {
        train_put_rate(&m->text, rate_of(m), m->app->units);
        row->work = page_made_text(m->made, "%s %s, %s",
                                   base_format_count(s->units, text[0], sizeof text[0]),
                                   m->app->units, keep(m));
    }
    row->crew = page_made_text(m->made, "%u, %s lost", s->workers > 0 ? s->workers : s->wanted,
                               s->workers_lost == 0
                                   ? "none"
                                   : base_format_count(s->workers_lost, text[0], sizeof text[0]));
    if (m->opts->checkpoint.dir != NULL)
        row->checkpoints =
            page_made_text(m->made, "%s written, the last of %s; %s failed",
                           base_format_count(s->checkpoints, text[0], sizeof text[0]),
                           base_format_bytes((double)s->checkpoint_bytes, text[1], sizeof text[1]),
                           s->checkpoints_failed == 0 ? "none" : "some");
}

static void fill_row(struct making *m)
{
    const struct train_stats *s = m->s;
    bool said = s->stopped != SHOAL_STOP_UNSAID && s->stopped != SHOAL_STOP_SCHEDULE;
    struct row *row = m->row;
    const char **lines = page_made_alloc(m->made, m->learnt->said_count, sizeof *lines);

    row->s = *s;
    row->app = page_made_text(m->made, "%s", m->app->name);
    row->name = m->opts->name != NULL ? page_made_text(m->made, "%s", m->opts->name) : NULL;
    row->objective = page_made_text(m->made, "%s", m->app->objective);
    row->converged = !said ? NULL : not_converged(s->stopped) ? "false" : "true";
    row->stopped = STOPS[s->stopped].name;
    row->seconds = m->r->seconds;
    row->load_seconds = m->r->load_seconds;
    row->cpu_s = m->ended->cpu_s;
    row->units_per_s = rate_of(m);
    row->iterations = s->iterations > 0 ? (double)s->iterations : (double)NAN;
    row->max_pause_ms = (double)s->max_pause_ns * 1e-6;
    row->task_s = (double)s->run_ns * 1e-9;
    row->blocked_s = (double)s->wait_ns * 1e-9;
    row->threads = m->opts->threads;
    row->size = m->ended->data_bytes;
    row->staleness = fill_staleness(m);
    for (size_t i = 0; lines != NULL && i < m->learnt->said_count; i++)
        lines[i] = m->learnt->said[i];
    row->said = (shoal_texts){lines, m->learnt->said_count};
    row->lines =
        (shoal_records){.first = lines, .stride = sizeof *lines, .count = m->learnt->said_count};
}

/* The application's lists before all others; below `learnt` for JSON. */
static void fill_lists(struct making *m)
{
    size_t count = m->learnt->list_count;
    shoal_field *all = page_made_alloc(m->made, count + BASE_COUNT(fields), sizeof *all);
    shoal_field *named = page_made_alloc(m->made, count, sizeof *named);
    shoal_schema *whole = page_made_alloc(m->made, 2, sizeof *whole);

    if (all == NULL || named == NULL || whole == NULL)
        return;
    for (size_t i = 0; i < count; i++) {
        const struct train_list *list = &m->learnt->list[i];
        m->row->lists[i] = list->records;
        all[i] = (shoal_field){.offset = AT(lists) + i * sizeof m->row->lists[0],
                               .type = SHOAL_FIELD_RECORDS,
                               .show = 1,
                               .title = list->schema->title,
                               .flags = SHOAL_FIELD_PAGE,
                               .of = list->schema};
        named[i] = all[i];
        named[i].offset = i * sizeof m->row->lists[0];
        named[i].name = list->schema->name;
    }
    memcpy(all + count, fields, sizeof fields);
    whole[0] = schema;
    whole[0].fields = all;
    whole[0].field_count = count + BASE_COUNT(fields);
    whole[1] = learnt_schema;
    whole[1].fields = named;
    whole[1].field_count = count;
    for (size_t i = count; i < whole[0].field_count; i++)
        if (all[i].of == &learnt_schema)
            all[i].of = &whole[1];
    m->row->learnt = count > 0 ? m->row->lists : NULL;
    m->made->result.schema = &whole[0];
}
#undef AT

static shoal_status make(struct making *m, shoal_err *err)
{
    m->row = page_made_alloc(m->made, 1, sizeof *m->row);
    if (m->row == NULL)
        return base_err_nomem(err, "making a result");
    fill_row(m);
    fill_model(m);
    fill_words(m);
    fill_lists(m);
    fill_curve(m);
    shoal_status st = fill_settings(m, err);
    draw_values(m, "objective", m->app->objective, false);
    draw_values(m, "held-out", m->app->held_out, true);
    draw_crew(m);
    say_end(m);
    say_stopped(m);
    say_changes(m);
    fill_lines(m);
    m->made->result.title =
        page_made_text(m->made, "%s on %s", m->app->name, base_name(m->opts->path));
    m->made->result.records =
        (shoal_records){.first = m->row, .stride = sizeof *m->row, .count = 1};
    return st;
}

shoal_status train_result_make(const struct train_ended *ended, struct train_learnt *learnt,
                               const shoal_result **out_result, shoal_err *err)
{
    struct making m = {.ended = ended,
                       .opts = ended->opts,
                       .r = ended->result,
                       .s = &ended->result->stats,
                       .app = ended->opts->app,
                       .learnt = learnt,
                       .made = learnt->made};
    shoal_status st;

    learnt->made = NULL;
    if (m.made == NULL)
        return base_err_nomem(err, "making a result");
    m.alloc = m.made->arena.alloc;
    base_buf_init(&m.text, m.alloc, TEXT_MAX);
    st = make(&m, err);
    base_buf_fini(&m.text);
    if (st == SHOAL_OK)
        return page_made_finish(m.made, out_result, err);
    page_made_free(m.made);
    return st;
}

void train_result_wrote(const shoal_result *result, const char *report, const shoal_err *failure)
{
    struct page_made *made = (struct page_made *)(uintptr_t)result;
    struct row *row = (struct row *)(uintptr_t)result->records.first;

    row->report = report == NULL ? NULL : page_made_text(made, "%s", report);
    if (failure != NULL && failure->code != SHOAL_OK) {
        row->page_failure = fill_failure(made, failure);
        if (row->error == NULL)
            row->error = &row->page_failure;
    }
}
