/* top_show.c - see top_show.h. */
#include "cli/top_show.h"

#include "base/assert.h"
#include "base/text.h"
#include "cli/train_show.h"
#include "train/result.h"
#include <math.h>
#include <string.h>

enum {
    LABEL = 1,  /* column of labels */
    VALUE = 12, /* column of what they say */
    BAR = 20,
    BUSY_BAR = 10,
    HEAD_ROWS = 12, /* of a job without its workers */
    VALUES_MAX = 64,
    CELLS_MAX = 16,
    TEXT_MAX = 512
};

/* ---- small parts ---- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

/* Right-aligned at the end of the row, when that is free. */
static void put_right(struct cli_screen *s, unsigned row, unsigned from, const char *text)
{
    unsigned width = (unsigned)page_columns_width(text);

    if (from + 2 + width + 1 <= s->columns)
        (void)cli_screen_put(s, row, s->columns - width - 1, PAGE_PLAIN, text);
}

/* Text cut to `width` columns, with an ellipsis; piped pictures are as wide as they need to be. */
static unsigned put_cut(struct cli_screen *s, unsigned row, unsigned column,
                        enum page_text_style style, const char *text, unsigned width, bool ascii)
{
    char cut[TEXT_MAX];
    const char *end = ascii ? "..." : "…";
    size_t columns, dots = ascii ? 3 : 1;

    if (page_columns_width(text) <= width)
        return cli_screen_put(s, row, column, style, text);
    if (width <= dots)
        return column;
    snprintf(cut, sizeof cut, "%.*s%s", (int)page_columns_fit(text, width - dots, &columns), text,
             end);
    return cli_screen_put(s, row, column, style, cut);
}

static const char *format_count(double n, char *out, size_t size)
{
    return n >= 0 && n < 1e18 ? base_format_count((uint64_t)n, out, size) : "?";
}

static const char *s_of(double n)
{
    return n == 1 ? "" : "s";
}

static void label(struct cli_screen *s, unsigned row, const char *text)
{
    (void)cli_screen_put(s, row, LABEL, PAGE_DIM, text);
}

/* ---- one job ---- */

static void put_head(struct cli_screen *s, const struct cli_top_look *look,
                     const struct train_listing *job, const json_t *status, const char *why)
{
    char right[TEXT_MAX], up[32];
    double up_s = train_jobs_number(status, "uptime_s");
    const char *dot = look->ascii ? "*" : "●", *state = status != NULL ? "live" : why;
    unsigned at = cli_screen_put(s, 0, LABEL, PAGE_BOLD, job->name), room;

    base_format_duration(isfinite(up_s) ? floor(up_s) : 0, up, sizeof up);
    if (look->plain)
        snprintf(right, sizeof right, "%s%s", status != NULL ? "up " : why,
                 status != NULL ? up : "");
    else if (status != NULL)
        snprintf(right, sizeof right, "up %s  %s  %s %s", up, look->clock, dot, state);
    else
        snprintf(right, sizeof right, "%s  %s %s", look->clock, dot, state);
    at = cli_screen_printf(s, 0, at + 2, PAGE_PLAIN, "%s on ", job->app);
    room = s->columns > at + 4 + page_columns_width(right)
               ? s->columns - at - 4 - (unsigned)page_columns_width(right)
               : 0;
    at = put_cut(s, 0, at, PAGE_PLAIN, job->data, look->plain ? TEXT_MAX : room, look->ascii);
    if (look->plain)
        (void)cli_screen_put(s, 0, at + 2, PAGE_PLAIN, right);
    else
        put_right(s, 0, at, right);
}

static void put_progress(struct cli_screen *s, unsigned row, const struct cli_top_look *look,
                         const json_t *status)
{
    double progress = train_jobs_number(status, "progress");
    double left = cli_train_left(0, progress, train_jobs_number(status, "uptime_s"));
    char text[32];
    struct base_buf bar;
    unsigned at = VALUE;

    label(s, row, "done");
    if (!isfinite(progress)) {
        (void)cli_screen_put(s, row, at, PAGE_PLAIN, "not known");
        return;
    }
    at = cli_screen_printf(s, row, at, PAGE_PLAIN, "%.0f %%", floor(100 * progress));
    if (!look->plain) {
        base_buf_init(&bar, s->alloc, TEXT_MAX);
        cli_train_put_bar(&bar, progress, BAR, look->ascii);
        if (base_buf_status(&bar) == SHOAL_OK)
            at = cli_screen_put(s, row, VALUE + 6, PAGE_PLAIN, bar.data);
        base_buf_fini(&bar);
    }
    if (isfinite(left))
        (void)cli_screen_printf(s, row, at + 2, PAGE_PLAIN, "about %s left",
                                base_format_duration(ceil(left), text, sizeof text));
}

static void put_objective(struct cli_screen *s, unsigned row, const struct cli_top_look *look,
                          const json_t *status)
{
    const json_t *history = json_object_get(status, "history");
    double values[VALUES_MAX], value = train_jobs_number(status, "value");
    size_t count = json_array_size(history), from = count > VALUES_MAX ? count - VALUES_MAX : 0;
    struct base_buf spark;
    char text[32];
    unsigned at;

    label(s, row, "objective");
    at = isfinite(value)
             ? cli_screen_printf(s, row, VALUE, PAGE_PLAIN, "%s %s", text_of(status, "objective"),
                                 train_value_text(value, 6, text, sizeof text))
             : cli_screen_put(s, row, VALUE, PAGE_PLAIN, "not known yet");
    if (look->plain || count < 2 || at + 3 >= s->columns)
        return;
    for (size_t i = from; i < count; i++) {
        const json_t *item = json_array_get(history, i);
        values[i - from] = json_is_number(item) ? json_number_value(item) : (double)NAN;
    }
    base_buf_init(&spark, s->alloc, TEXT_MAX);
    cli_train_put_spark(&spark, values, count - from, s->columns - at - 3, look->ascii);
    if (base_buf_status(&spark) == SHOAL_OK)
        (void)cli_screen_put(s, row, at + 2, PAGE_PLAIN, spark.data);
    base_buf_fini(&spark);
}

static void put_rate(struct cli_screen *s, unsigned row, const json_t *status)
{
    char clocks[32], tasks[32], again[32];
    double rate = train_jobs_number(status, "units_per_s");
    double redone = train_jobs_number(status, "tasks_redone");
    struct base_buf text;

    label(s, row, "rate");
    base_buf_init(&text, s->alloc, TEXT_MAX);
    train_put_rate(&text, isfinite(rate) ? rate : 0, text_of(status, "unit"));
    if (base_buf_status(&text) == SHOAL_OK)
        (void)cli_screen_printf(
            s, row, VALUE, PAGE_PLAIN, "%s   clock %s   %s tasks, %s run again", text.data,
            format_count(train_jobs_number(status, "clocks"), clocks, sizeof clocks),
            format_count(train_jobs_number(status, "tasks"), tasks, sizeof tasks),
            format_count(redone, again, sizeof again));
    base_buf_fini(&text);
}

/* Shares of tasks that read tables 0, 1, 2, ... clocks behind. */
static void put_staleness(struct cli_screen *s, unsigned row, const struct cli_top_look *look,
                          const json_t *status)
{
    const json_t *counts = json_object_get(status, "staleness");
    double all = 0;
    unsigned at = VALUE;
    size_t i;
    const json_t *item;

    label(s, row, "staleness");
    json_array_foreach(counts, i, item) all += json_number_value(item);
    if (!(all > 0)) {
        (void)cli_screen_put(s, row, at, PAGE_PLAIN, "not known yet");
        return;
    }
    json_array_foreach(counts, i, item)
    {
        double share = json_number_value(item) / all;
        char text[40];
        snprintf(text, sizeof text, "%zu: %.*f %%", i, share < 0.1 ? 1 : 0, 100 * share);
        if (share == 0)
            continue;
        if (!look->plain && at + strlen(text) + 14 > s->columns)
            break;
        at = cli_screen_put(s, row, at, PAGE_PLAIN, text) + 3;
    }
    (void)cli_screen_printf(s, row, at, PAGE_DIM, "bound %.0f",
                            train_jobs_number(status, "staleness_bound"));
}

static void put_crew_line(struct cli_screen *s, unsigned row, const json_t *status)
{
    double workers = train_jobs_number(status, "workers"),
           lost = train_jobs_number(status, "workers_lost");
    double threads = 0;
    size_t i;
    const json_t *item;
    char executors[32];

    json_array_foreach(json_object_get(status, "crew"), i, item) threads +=
        json_number_value(json_object_get(item, "threads"));
    label(s, row, "workers");
    (void)cli_screen_printf(
        s, row, VALUE, PAGE_PLAIN,
        "%.0f up, %.0f wanted here, %.0f thread%s, %s executors, %.0f lost", workers,
        train_jobs_number(status, "wanted"), threads, s_of(threads),
        format_count(train_jobs_number(status, "executors"), executors, sizeof executors), lost);
}

static void put_moves(struct cli_screen *s, unsigned row, const json_t *status)
{
    double moves = train_jobs_number(status, "moves");
    char text[32];

    label(s, row, "moves");
    (void)cli_screen_printf(s, row, VALUE, PAGE_PLAIN, "%s, longest pause %.1f ms",
                            format_count(moves, text, sizeof text),
                            train_jobs_number(status, "max_pause_ms"));
}

static bool has_checkpoints(const json_t *status)
{
    return train_jobs_number(status, "checkpoints") > 0 ||
           train_jobs_number(status, "checkpoints_failed") > 0;
}

static void put_saved(struct cli_screen *s, unsigned row, const json_t *status)
{
    double count = train_jobs_number(status, "checkpoints"),
           age = train_jobs_number(status, "checkpoint_age_s"),
           failed = train_jobs_number(status, "checkpoints_failed");
    char counted[32], ago[32], bytes[32];
    unsigned at = VALUE;

    label(s, row, "saved");
    at = cli_screen_printf(s, row, at, PAGE_PLAIN, "%s checkpoint%s",
                           format_count(count, counted, sizeof counted), s_of(count));
    if (isfinite(age))
        at = cli_screen_printf(
            s, row, at, PAGE_PLAIN, ", the last %s ago, %s",
            base_format_duration(floor(fmax(age, 0)), ago, sizeof ago),
            base_format_bytes(train_jobs_number(status, "checkpoint_bytes"), bytes, sizeof bytes));
    if (failed > 0)
        (void)cli_screen_printf(s, row, at, PAGE_BOLD, ", %s failed",
                                format_count(failed, counted, sizeof counted));
}

static void put_tables(struct cli_screen *s, unsigned row, const struct cli_top_look *look,
                       const json_t *status)
{
    unsigned at = VALUE;
    size_t i;
    const json_t *table;

    label(s, row, "tables");
    json_array_foreach(json_object_get(status, "tables"), i, table)
    {
        char text[TEXT_MAX], rows[32], bytes[32];
        double shards = train_jobs_number(table, "shards");
        snprintf(text, sizeof text, "%s %s x %.0f, %.0f shard%s, %s", text_of(table, "name"),
                 format_count(train_jobs_number(table, "rows"), rows, sizeof rows),
                 train_jobs_number(table, "width"), shards, s_of(shards),
                 base_format_bytes(train_jobs_number(table, "bytes"), bytes, sizeof bytes));
        if (!look->plain && i > 0 && at + page_columns_width(text) + 2 > s->columns) {
            (void)cli_screen_put(s, row, at, PAGE_DIM, look->ascii ? "..." : "…");
            return;
        }
        at = cli_screen_put(s, row, at, PAGE_PLAIN, text) + 3;
    }
    if (at == VALUE)
        (void)cli_screen_put(s, row, at, PAGE_PLAIN, "none");
}

/* ---- tables of rows ---- */

struct cells {
    char text[CELLS_MAX][80];
    unsigned width[CELLS_MAX];
};

static void widen(struct cells *widest, const struct cells *row, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned width = (unsigned)page_columns_width(row->text[i]);
        widest->width[i] = width > widest->width[i] ? width : widest->width[i];
    }
}

/* Columns are left-aligned where `aligns` says l. Those that do not fit are left out. */
static unsigned put_cells(struct cli_screen *s, unsigned row, const struct cells *cells,
                          const struct cells *widest, const char *aligns,
                          enum page_text_style style, bool plain)
{
    unsigned at = 3;

    for (size_t i = 0; aligns[i] != 0; i++) {
        unsigned width = widest->width[i], used = (unsigned)page_columns_width(cells->text[i]);
        if (!plain && at + width > s->columns)
            break;
        (void)cli_screen_put(s, row, aligns[i] == 'r' ? at + width - used : at,
                             i == 0 && style == PAGE_PLAIN ? PAGE_BOLD : style, cells->text[i]);
        at += width + 2;
    }
    return at;
}

#define CELL(cells, i, ...) snprintf((cells).text[i], sizeof(cells).text[i], __VA_ARGS__)

static const char WORKER_ALIGNS[] = "rllrrrr";

static struct cells worker_cells(const json_t *worker)
{
    struct cells c;
    bool away = json_is_true(json_object_get(worker, "away"));

    memset(&c, 0, sizeof c);
    CELL(c, 0, "%.0f", train_jobs_number(worker, "worker"));
    CELL(c, 1, "%.30s", text_of(worker, "state"));
    CELL(c, 2, "%.40s%s", text_of(worker, "host"), away ? " (joined)" : "");
    if (json_is_number(json_object_get(worker, "pid"))) /* else it is starting */
        CELL(c, 3, "%.0f", train_jobs_number(worker, "pid"));
    CELL(c, 4, "%.0f", train_jobs_number(worker, "threads"));
    CELL(c, 5, "%.0f", train_jobs_number(worker, "executors"));
    CELL(c, 6, "%.0f %%", 100 * fmin(fmax(train_jobs_number(worker, "busy"), 0), 1));
    return c;
}

static void put_workers(struct cli_screen *s, unsigned row, unsigned end,
                        const struct cli_top_look *look, const json_t *status)
{
    static const struct cells HEAD = {
        {"WORKER", "STATE", "HOST", "PID", "THREADS", "EXECUTORS", "BUSY"}, {0}};
    const json_t *crew = json_object_get(status, "crew");
    struct cells widest = HEAD;
    size_t i, count = json_array_size(crew);
    const json_t *worker;

    widen(&widest, &HEAD, 7);
    json_array_foreach(crew, i, worker)
    {
        struct cells cells = worker_cells(worker);
        widen(&widest, &cells, 7);
    }
    (void)put_cells(s, row++, &HEAD, &widest, WORKER_ALIGNS, PAGE_DIM, look->plain);
    json_array_foreach(crew, i, worker)
    {
        struct cells cells = worker_cells(worker);
        struct base_buf bar;
        if (row + 1 >= end && i + 1 < count) {
            (void)cli_screen_printf(s, row, 3, PAGE_DIM, "%s %zu more", look->ascii ? "..." : "…",
                                    count - i);
            return;
        }
        unsigned at = put_cells(s, row, &cells, &widest, WORKER_ALIGNS, PAGE_PLAIN, look->plain);
        if (!look->plain && at + BUSY_BAR <= s->columns) {
            base_buf_init(&bar, s->alloc, TEXT_MAX);
            cli_train_put_bar(&bar, train_jobs_number(worker, "busy"), BUSY_BAR, look->ascii);
            if (base_buf_status(&bar) == SHOAL_OK)
                (void)cli_screen_put(s, row, at, PAGE_PLAIN, bar.data);
            base_buf_fini(&bar);
        }
        row++;
    }
}

static void put_keys(struct cli_screen *s, const struct cli_top_look *look, const char *keys)
{
    unsigned at;

    if (look->plain || s->rows < 2)
        return;
    at = cli_screen_put(s, s->rows - 1, LABEL, PAGE_DIM, keys);
    if (look->note != NULL)
        put_right(s, s->rows - 1, at, look->note);
}

unsigned cli_top_job_rows(const json_t *status)
{
    return HEAD_ROWS + has_checkpoints(status) +
           (unsigned)json_array_size(json_object_get(status, "crew"));
}

void cli_top_job(struct cli_screen *s, const struct cli_top_look *look,
                 const struct train_listing *job, const json_t *status, const char *why)
{
    put_head(s, look, job, status, why);
    put_keys(s, look, look->many ? "q quit   + - workers   esc all jobs" : "q quit   + - workers");
    if (status == NULL)
        return;
    put_objective(s, 1, look, status);
    put_progress(s, 2, look, status);
    put_rate(s, 3, status);
    put_staleness(s, 4, look, status);
    put_crew_line(s, 5, status);
    put_moves(s, 6, status);
    put_tables(s, 7, look, status);
    unsigned saved = has_checkpoints(status);
    if (saved > 0)
        put_saved(s, 8, status);
    if (look->plain || s->rows > HEAD_ROWS + saved - 1)
        put_workers(s, 9 + saved, look->plain ? s->rows + 1 : s->rows - 1, look, status);
}

/* ---- all jobs ---- */

static const char JOB_ALIGNS[] = "lllrrrrl";

static struct cells job_cells(const struct train_listing *job,
                              const struct train_job_answer *answer)
{
    const json_t *status = answer->status;
    double progress = train_jobs_number(status, "progress"),
           value = train_jobs_number(status, "value");
    struct cells c;
    struct base_buf rate;

    memset(&c, 0, sizeof c);
    CELL(c, 0, "%.63s", job->name);
    CELL(c, 1, "%.63s", job->app);
    CELL(c, 2, "%s", train_jobs_state(job, answer));
    CELL(c, 7, "%.79s", job->data);
    for (int i = 3; i < 7; i++)
        CELL(c, i, "-");
    if (status == NULL)
        return c;
    CELL(c, 3, "%.0f", train_jobs_number(status, "workers"));
    if (isfinite(progress))
        CELL(c, 4, "%.0f %%", floor(100 * progress));
    if (isfinite(value))
        (void)train_value_text(value, 5, c.text[5], sizeof c.text[5]);
    base_buf_init(&rate, &base_alloc_libc, TEXT_MAX);
    train_put_rate(&rate, fmax(train_jobs_number(status, "units_per_s"), 0),
                   text_of(status, "unit"));
    if (base_buf_status(&rate) == SHOAL_OK)
        CELL(c, 6, "%.40s", rate.data);
    base_buf_fini(&rate);
    return c;
}

void cli_top_all(struct cli_screen *s, const struct cli_top_look *look,
                 const struct train_listing *jobs, const struct train_job_answer *answers,
                 size_t count)
{
    static const struct cells HEAD = {
        {"JOB", "APP", "STATE", "WORKERS", "DONE", "OBJECTIVE", "RATE", "DATA"}, {0}};
    struct cells widest = HEAD;
    unsigned row = 2, end = look->plain ? s->rows + 1 : s->rows - 1;
    unsigned at =
        cli_screen_printf(s, 0, LABEL, PAGE_BOLD, "%zu job%s", count, count == 1 ? "" : "s");

    if (!look->plain)
        put_right(s, 0, at, look->clock);
    put_keys(s, look, "q quit   up down choose   enter open");
    widen(&widest, &HEAD, 8);
    for (size_t i = 0; i < count; i++) {
        struct cells cells = job_cells(&jobs[i], &answers[i]);
        widen(&widest, &cells, 8);
    }
    (void)put_cells(s, row++, &HEAD, &widest, JOB_ALIGNS, PAGE_DIM, look->plain);
    /* the chosen one is always among those shown */
    size_t room = end > row + 1 ? end - row - 1 : 1;
    size_t first = look->selected >= room && !look->plain ? look->selected + 1 - room : 0;
    for (size_t i = first; i < count; i++, row++) {
        struct cells cells = job_cells(&jobs[i], &answers[i]);
        if (row >= end)
            break;
        if (!look->plain && i == look->selected)
            (void)cli_screen_put(s, row, LABEL, PAGE_BOLD, look->ascii ? ">" : "▸");
        (void)put_cells(s, row, &cells, &widest, JOB_ALIGNS, PAGE_PLAIN, look->plain);
    }
}
