/* answer.c - one line in, one JSON object out. */
#include "train/answer.h"

#include "base/err.h"
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void number(struct base_buf *out, const char *name, double value)
{
    if (isfinite(value))
        base_buf_printf(out, "\"%s\":%.9g,", name, value);
    else
        base_buf_printf(out, "\"%s\":null,", name);
}

void train_answer_status(const struct train_master *master, struct base_buf *out)
{
    struct train_stats s = train_master_stats(master);
    uint32_t last = TRAIN_STALE_MAX;

    number(out, "value", s.value);
    number(out, "held_out", s.held_out);
    number(out, "progress", s.progress);
    number(out, "iterations", s.iterations > 0 ? (double)s.iterations : (double)NAN);
    base_buf_printf(out,
                    "\"units\":%" PRIu64 ",\"clocks\":%" PRIu64 ",\"tasks\":%" PRIu64
                    ",\"tasks_redone\":%" PRIu64 ",\"moves\":%" PRIu64 ",",
                    s.units, s.clocks, s.tasks, s.tasks_redone, s.moves);
    base_buf_printf(
        out, "\"tasks_far\":%" PRIu64 ",\"commit_bytes\":%" PRIu64 ",\"row_bytes\":%" PRIu64 ",",
        s.tasks_far, s.commit_bytes, s.row_bytes);
    base_buf_printf(out,
                    "\"checkpoints\":%" PRIu64 ",\"checkpoints_failed\":%" PRIu64
                    ",\"checkpoint_bytes\":%" PRIu64 ",",
                    s.checkpoints, s.checkpoints_failed, s.checkpoint_bytes);
    number(out, "checkpoint_age_s",
           s.checkpoints > 0 ? (double)(s.up_ns - s.checkpoint_up_ns) / 1e9 : (double)NAN);
    number(out, "max_pause_ms", (double)s.max_pause_ns / 1e6);
    number(out, "task_s", (double)s.run_ns / 1e9);
    number(out, "blocked_s", (double)s.wait_ns / 1e9);
    base_buf_printf(out,
                    "\"workers\":%u,\"workers_lost\":%u,\"workers_stalled\":%u,"
                    "\"executors\":%u,\"refused\":%" PRIu64 ",\"checked\":%" PRIu64
                    ",\"violations\":%" PRIu64 ",\"staleness\":[",
                    s.workers, s.workers_lost, s.workers_stalled, s.executors, s.refused, s.checked,
                    s.violations);
    while (last > 1 && s.stale[last - 1] == 0)
        last--;
    for (uint32_t i = 0; i < last; i++)
        base_buf_printf(out, "%s%" PRIu64, i > 0 ? "," : "", s.stale[i]);
    base_buf_puts(out, "]");
}

/* What the job is; how it goes; what it holds. */
static void put_job(const struct train_master *master, struct base_buf *out)
{
    const struct train_master_opts *opts = train_master_asked(master);
    const struct train_history *history = train_master_history(master);
    struct train_stats s = train_master_stats(master);
    struct train_table_info table;

    base_buf_puts(out, ",\"app\":");
    base_buf_json_string(out, opts->app->name);
    base_buf_puts(out, ",\"objective\":");
    base_buf_json_string(out, opts->app->objective);
    base_buf_puts(out, ",\"unit\":");
    base_buf_json_string(out, opts->app->units);
    base_buf_printf(out, ",\"staleness_bound\":%u,\"wanted\":%u,", opts->staleness, s.wanted);
    number(out, "units_per_s", s.units_per_s);
    base_buf_printf(out, "\"uptime_s\":%.3f,\"history\":[", (double)s.up_ns / 1e9);
    for (uint32_t i = 0; i < history->count; i++)
        base_buf_printf(out, isfinite(history->value[i]) ? "%s%.6g" : "%snull", i > 0 ? "," : "",
                        history->value[i]);
    base_buf_puts(out, "],\"tables\":[");
    for (uint32_t i = 0; train_master_table(master, i, &table) == SHOAL_OK; i++) {
        base_buf_puts(out, i > 0 ? ",{\"name\":" : "{\"name\":");
        base_buf_json_string(out, table.name);
        base_buf_printf(out,
                        ",\"rows\":%" PRIu64 ",\"width\":%u,\"shards\":%u,\"held\":%s,"
                        "\"bytes\":%" PRIu64 "}",
                        table.rows, table.width, table.shards, table.held ? "true" : "false",
                        table.rows * table.width * sizeof(float));
    }
    base_buf_puts(out, "]");
}

static void put_crew(const struct train_master *master, struct base_buf *out)
{
    struct train_worker_info info;

    base_buf_puts(out, ",\"crew\":[");
    for (uint32_t i = 0; train_master_worker(master, i, &info) == SHOAL_OK; i++) {
        base_buf_printf(out,
                        "%s{\"worker\":%u,\"state\":\"%s\",\"threads\":%u,\"executors\":%u,"
                        "\"busy\":%.3f,\"oldest_s\":%.3f,\"away\":%s,",
                        i > 0 ? "," : "", info.worker, info.state, info.threads, info.executors,
                        info.busy, (double)info.oldest_ns / 1e9, info.away ? "true" : "false");
        number(out, "pid", info.pid > 0 ? (double)info.pid : (double)NAN); /* not known yet */
        base_buf_puts(out, "\"host\":");
        base_buf_json_string(out, info.host);
        base_buf_puts(out, "}");
    }
    base_buf_puts(out, "]");
}

void train_answer_error(const shoal_err *err, struct base_buf *out)
{
    base_buf_puts(out, "{\"v\":1,\"error\":{\"code\":");
    base_buf_json_string(out, shoal_status_name(err->code));
    base_buf_puts(out, ",\"message\":");
    base_buf_json_string(out, err->message);
    base_buf_puts(out, ",\"hint\":");
    base_buf_json_string(out, err->hint);
    base_buf_puts(out, "}}");
}

/* A whole number after the word; false: there is none. */
static bool argument(const char *line, uint32_t *out)
{
    const char *space = strchr(line, ' ');
    char *end;

    if (space == NULL || !isdigit((unsigned char)space[1]))
        return false;
    unsigned long value = strtoul(space + 1, &end, 10);
    *out = (uint32_t)value;
    return *end == 0 && value <= UINT32_MAX;
}

static bool is(const char *line, const char *word)
{
    size_t size = strlen(word);

    return strncmp(line, word, size) == 0 && (line[size] == 0 || line[size] == ' ');
}

void train_answer(struct train_master *master, const char *line, size_t size, struct base_buf *out)
{
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = SHOAL_OK;
    char text[64];
    uint32_t n = 0;

    snprintf(text, sizeof text, "%.*s", (int)(size < sizeof text ? size : sizeof text), line);
    if (is(text, "scale") && argument(text, &n))
        st = train_master_scale(master, n, &err);
    else if (is(text, "drain") && argument(text, &n))
        st = train_master_drain(master, n, &err);
    else if (is(text, "stop"))
        train_master_stop(master);
    else if (!is(text, "status"))
        st = base_err(&err, SHOAL_E_INVAL, "cannot do '%s'", text);
    if (st != SHOAL_OK)
        return train_answer_error(&err, out);
    base_buf_puts(out, "{\"v\":1,");
    train_answer_status(master, out);
    put_job(master, out);
    put_crew(master, out);
    base_buf_puts(out, "}");
}
