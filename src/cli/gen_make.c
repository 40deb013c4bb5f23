/* gen_make.c - see gen_make.h. Tests: tests/cli/transcripts/gen.txt. */
#include "cli/gen_make.h"

#include "base/err.h"
#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include <string.h>

/* ---- where the text goes ---- */

struct output {
    struct cli_context *cx;
    struct env_out *file; /* NULL: to where results go */
    uint64_t bytes;
};

static shoal_status put(void *ctx, const char *text, size_t size, shoal_err *err)
{
    struct output *out = ctx;

    out->bytes += size;
    if (out->file != NULL)
        return env_append(out->file, text, size, err);
    if (cli_put(out->cx, text, size))
        return SHOAL_OK;
    return base_err(err, SHOAL_E_IO, "cannot write the data");
}

static shoal_status write_out(struct cli_context *cx, const struct cli_gen_task *task,
                              struct output *out, uint64_t *entries, shoal_err *err)
{
    atomic_uint_fast64_t done = 0;
    struct data_sink sink = {put, out};
    struct data_gen_run run = {
        .threads = (uint32_t)task->threads, .stop = cli_interrupt_flag(), .done = &done};
    struct cli_progress *progress =
        out->file != NULL ? cli_progress_start(cx, task->label, &done, task->total) : NULL;

    cli_interrupt_start();
    shoal_status st = task->write(cx, task->values, &run, &sink, entries, err);
    cli_interrupt_stop();
    cli_progress_stop(progress);
    return st;
}

int cli_gen_finish(struct cli_context *cx, shoal_status st, const shoal_err *err)
{
    if (ferror(cx->out))
        return 1; /* told when the command ends, unless the reader left */
    int rc = st == SHOAL_OK ? 0 : cli_fail(cx, st, err);
    if (st == SHOAL_E_CANCELLED) {
        fflush(cx->out);
        cli_interrupt_raise();
    }
    return rc;
}

int cli_gen_make(struct cli_context *cx, const struct cli_gen_task *task, uint64_t *out_entries,
                 uint64_t *out_bytes)
{
    struct output out = {.cx = cx};
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = SHOAL_OK;
    bool to_file = strcmp(task->path, "-") != 0;

    *out_bytes = 0;
    if (to_file)
        st = env_create(cx->env, task->path, &out.file, &err);
    if (st == SHOAL_OK)
        st = write_out(cx, task, &out, out_entries, &err);
    if (st == SHOAL_OK && to_file)
        st = env_commit(out.file, &err);
    else
        env_discard(out.file);
    if (st == SHOAL_OK && to_file)
        *out_bytes = out.bytes;
    return cli_gen_finish(cx, st, &err);
}

uint64_t cli_gen_usual(uint64_t asked, uint64_t usual, uint64_t most)
{
    return asked > 0 ? asked : usual < most ? usual : most;
}

const char *cli_gen_count(uint64_t count, const char *what, char *buf, size_t size)
{
    char number[32];

    snprintf(buf, size, "%s %s%s", base_format_count(count, number, sizeof number), what,
             count == 1 ? "" : "s");
    return buf;
}

shoal_status cli_gen_truth(struct cli_context *cx, const char *path,
                           shoal_status (*write)(const void *gen, const struct data_sink *sink,
                                                 shoal_err *err),
                           const void *gen, shoal_err *err)
{
    struct output out = {.cx = cx};
    struct data_sink sink = {put, &out};
    shoal_status st = env_create(cx->env, path, &out.file, err);

    if (st != SHOAL_OK)
        return st;
    st = write(gen, &sink, err);
    if (st == SHOAL_OK)
        return env_commit(out.file, err);
    env_discard(out.file);
    return st;
}
