/* report.c - what a command does with a result: shows it (cli.h), and what report.h says. What results look like is
 * src/page's. */
#include "cli/report.h"

#include "base/buf.h"
#include "base/err.h"
#include "cli/progress.h"
#include "env/folder.h"
#include "env/system.h"
#include "page/show.h"
#include <ctype.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* ---- files that may be written ---- */

shoal_status cli_output_check(const struct cli_context *cx, const char *path,
                              const char *const *inputs, size_t count, shoal_err *err)
{
    return env_folder_spares(cx->env, path, inputs, count, err);
}

const char *cli_output_reason(int code, char *buf, size_t size)
{
    snprintf(buf, size, "%s", strerror(code));
    if (islower((unsigned char)buf[1]))
        buf[0] = (char)tolower((unsigned char)buf[0]);
    return buf;
}

bool cli_output_unread(FILE *out)
{
    struct pollfd end = {.fd = fileno(out), .events = POLLOUT};

    return end.fd >= 0 && poll(&end, 1, 0) == 1 && (end.revents & POLLERR) != 0;
}

/* ---- the command that repeats a run ---- */

enum { VALUE_MAX = 1 << 16 };

void cli_repeat_word(const char *word, struct base_buf *out)
{
    base_buf_puts(out, " ");
    base_buf_shell(out, word);
}

/* One that begins with a dash would be taken for the next option. */
static void repeat_value(const char *value, struct base_buf *out)
{
    base_buf_puts(out, value[0] == '-' ? "=" : " ");
    base_buf_shell(out, value);
}

static void repeat_list(const shoal_opt *row, const void *values, struct base_buf *out)
{
    const shoal_opt_list *list = (const void *)((const char *)values + row->offset);

    for (size_t i = 0; i < list->count; i++) {
        base_buf_printf(out, " --%s", row->name);
        repeat_value(list->items[i], out);
    }
}

/* Nothing when the value is the default's. `mine` and `usual` are scratch. */
static void repeat_option(const shoal_opt *row, const void *values, const void *defaults,
                          struct base_buf *mine, struct base_buf *usual, struct base_buf *out)
{
    base_buf_clear(mine);
    base_buf_clear(usual);
    base_opt_format(row, values, mine);
    base_opt_format(row, defaults, usual);
    if (mine->size == 0 ||
        (mine->size == usual->size && memcmp(mine->data, usual->data, mine->size) == 0))
        return;
    base_buf_printf(out, " --%s", row->name);
    if (row->type != SHOAL_OPT_FLAG)
        repeat_value(mine->data, out);
}

/* What would be taken for an option. */
static bool looks_like_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

static void repeat_options(const struct cli_command *command, const void *values,
                           const void *defaults, struct base_buf *out)
{
    struct base_buf mine, usual;
    size_t row_count;
    const shoal_opt *rows = cli_command_opts(command, &row_count);

    base_buf_init(&mine, out->alloc, VALUE_MAX);
    base_buf_init(&usual, out->alloc, VALUE_MAX);
    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].type == SHOAL_OPT_LIST)
            repeat_list(&rows[i], values, out);
        else
            repeat_option(&rows[i], values, defaults, &mine, &usual, out);
    }
    base_buf_fini(&mine);
    base_buf_fini(&usual);
}

void cli_repeat_command(const struct cli_command *command, const void *values,
                        const char *const *args, size_t arg_count, struct base_buf *out)
{
    void *defaults = base_calloc(out->alloc, 1, command->values_size);
    bool last = false; /* arguments, after all options */
    size_t row_count;
    const shoal_opt *rows = cli_command_opts(command, &row_count);

    if (defaults == NULL) {
        out->status = SHOAL_E_NOMEM;
        return;
    }
    for (size_t i = 0; i < arg_count; i++)
        last = last || looks_like_option(args[i]);
    base_opt_defaults(rows, row_count, defaults);
    base_buf_printf(out, "shoal %s", command->name);
    if (last) {
        repeat_options(command, values, defaults, out);
        base_buf_puts(out, " --");
    }
    for (size_t i = 0; i < arg_count; i++)
        cli_repeat_word(args[i], out);
    if (!last)
        repeat_options(command, values, defaults, out);
    base_free(out->alloc, defaults);
}

/* ---- ^C, and a disk that fails ---- */

static const int caught[] = {SIGINT, SIGTERM};
enum { SIGNALS = sizeof caught / sizeof caught[0] };

static struct sigaction before_us[SIGNALS];
static struct shoal_watch watch = {.what = ""};
static volatile sig_atomic_t came; /* which signal */

static void note_signal(int number)
{
    came = number;
    atomic_store(&watch.stop, true);
}

void cli_interrupt_start(void)
{
    struct sigaction mine = {.sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND};

    came = 0;
    atomic_store(&watch.stop, false);
    sigemptyset(&mine.sa_mask);
    for (int i = 0; i < SIGNALS; i++)
        if (sigaction(caught[i], NULL, &before_us[i]) == 0 && before_us[i].sa_handler != SIG_IGN)
            sigaction(caught[i], &mine, NULL);
}

void cli_interrupt_stop(void)
{
    for (int i = 0; i < SIGNALS; i++)
        sigaction(caught[i], &before_us[i], NULL);
}

const atomic_bool *cli_interrupt_flag(void)
{
    return &watch.stop;
}

shoal_watch *cli_interrupt_watch(void)
{
    return &watch;
}

void cli_interrupt_raise(void)
{
    if (came != 0)
        raise(came);
}

static char last_words[1024]; /* made before_us: a signal handler may only write them */
static size_t last_size;
static atomic_flag telling = ATOMIC_FLAG_INIT;

static void tell_of_disk(int number, siginfo_t *info, void *ctx)
{
    (void)ctx;
    if (info->si_code != BUS_ADRERR) { /* no page of a file: what it would be without us */
        (void)signal(number, SIG_DFL);
        (void)raise(number);
        return;
    }
    while (atomic_flag_test_and_set(&telling)) /* another thread tells, and ends us all */
        (void)pause();
    (void)!write(STDERR_FILENO, last_words, last_size);
    _exit(1);
}

void cli_memory_watch(const struct cli_context *cx, const char *folder)
{
    struct sigaction action = {.sa_sigaction = tell_of_disk, .sa_flags = SA_SIGINFO};
    struct cli_context to = *cx;
    shoal_err err = SHOAL_ERR_INIT;

    if (folder == NULL)
        return;
    to.err = fmemopen(last_words, sizeof last_words, "w");
    if (to.err == NULL)
        return;
    base_err(&err, SHOAL_E_IO, "cannot read or write memory spilled to '%.150s': I/O error",
             folder);
    base_err_hint(&err, "the system's log may say more");
    (void)cli_fail(&to, SHOAL_E_IO, &err);
    long size = ftell(to.err);
    (void)fclose(to.err);
    last_size = size > 0 ? (size_t)size : 0;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGBUS, &action, NULL);
}

/* ---- pages ---- */

enum { PAGE_MAX = 64 << 20 };

bool cli_report_to_stdout(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

shoal_status cli_report_check(const struct cli_context *cx, const void *values,
                              const char *const *args, size_t arg_count, shoal_err *err)
{
    size_t row_count;
    const shoal_opt *rows = cli_command_opts(cx->command, &row_count);

    if (cli_report_to_stdout(cx->report) && (cx->json || cx->csv))
        return base_err(err, SHOAL_E_INVAL,
                        "--report -: standard output has the %s already; use a file",
                        cx->json ? "JSON" : "CSV");
    if (cx->report == NULL || cli_report_to_stdout(cx->report))
        return SHOAL_OK;
    shoal_status st = cli_output_check(cx, cx->report, args, arg_count, err);
    for (size_t i = 0; i < row_count && st == SHOAL_OK; i++) {
        if (rows[i].type != SHOAL_OPT_STR || rows[i].complete == NULL ||
            strcmp(rows[i].complete, "file") != 0)
            continue;
        const char *other =
            *(const char *const *)(const void *)((const char *)values + rows[i].offset);
        if (other != NULL && env_same_place(cx->env, other, cx->report))
            st = base_err(err, SHOAL_E_INVAL, "--report and --%s name the same file '%s'",
                          rows[i].name, cx->report);
    }
    if (st != SHOAL_OK)
        return st;
    struct env_out *out; /* it must be writable before minutes are spent on it */
    st = env_create(cx->env, cx->report, &out, err);
    if (st == SHOAL_OK)
        env_discard(out);
    return st;
}

static bool append(void *ctx, const char *text, size_t size)
{
    base_buf_append(ctx, text, size);
    return base_buf_status(ctx) == SHOAL_OK;
}

shoal_status cli_report_write(const struct cli_report *report, const shoal_result *result,
                              shoal_err *err)
{
    const struct cli_context *cx = report->cx;
    struct base_buf page, command;

    base_buf_init(&page, env_alloc(cx->env), PAGE_MAX);
    base_buf_init(&command, env_alloc(cx->env), PAGE_MAX);
    cli_repeat_command(cx->command, report->values, report->args, report->arg_count, &command);
    if (cx->command->page) {
        base_buf_puts(&command, " --report");
        cli_repeat_word(report->path, &command);
    }
    shoal_status st = base_buf_status(&command) == SHOAL_OK
                          ? shoal_result_page(result, command.data, append, &page, err)
                          : base_err_nomem(err, "writing the report");
    if (st == SHOAL_OK && cli_report_to_stdout(report->path))
        (void)cli_put(cx, page.data, page.size);
    else if (st == SHOAL_OK)
        st = env_write_whole(cx->env, report->path, page.data, page.size, err);
    base_buf_fini(&page);
    base_buf_fini(&command);
    return st;
}

/* ---- what a command does with a result ---- */

bool cli_put_out(void *ctx, const char *text, size_t size)
{
    return cli_put(ctx, text, size);
}

void cli_screen_attach(struct cli_context *cx)
{
    cx->screen.alloc = env_alloc(cx->env);
    cx->screen.put = cli_put_out;
    cx->screen.ctx = cx;
}

static bool to_file(const struct cli_context *cx)
{
    return cx->output != NULL && strcmp(cx->output, "-") != 0;
}

static shoal_status show(const struct cli_context *cx, const struct page_screen *screen,
                         const shoal_result *result, shoal_err *err)
{
    if (cx->json)
        return shoal_result_json(result, screen->put, screen->ctx, err);
    if (cx->csv)
        return shoal_result_csv(result, screen->put, screen->ctx, err);
    return page_show(screen, result);
}

int cli_notes(const struct cli_context *cx, const shoal_result *result)
{
    if (cli_flush(cx)) /* so that notes come after the tables */
        for (size_t i = 0; i < result->note_count; i++) {
            shoal_note_level level = result->notes[i].level;
            if (level == SHOAL_NOTE_HINT && (cx->json || cx->csv))
                continue;
            base_log(&cx->log, level == SHOAL_NOTE_WARNING ? BASE_LOG_WARN : BASE_LOG_INFO, "%s",
                     result->notes[i].text);
        }
    return 0;
}

int cli_show(const struct cli_context *cx, const shoal_result *result)
{
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = to_file(cx) || cx->streams ? SHOAL_OK : show(cx, &cx->screen, result, &err);

    /* A reader that left is told of when the command ends. */
    if (st != SHOAL_OK && st != SHOAL_E_IO)
        return cli_fail(cx, st, &err);
    return cli_notes(cx, result);
}

struct file {
    struct env_out *out;
    shoal_err *err;
    shoal_status status;
};

static bool put_to_file(void *ctx, const char *text, size_t size)
{
    struct file *file = ctx;

    if (file->status == SHOAL_OK && base_watch_stopped(cli_interrupt_watch()))
        file->status = base_err(file->err, SHOAL_E_CANCELLED, "interrupted");
    if (file->status == SHOAL_OK)
        file->status = env_append(file->out, text, size, file->err);
    return file->status == SHOAL_OK;
}

/* What standard output would show, in a file that takes its name when it is whole. */
static shoal_status show_in_file(const struct cli_context *cx, const shoal_result *result,
                                 shoal_err *err)
{
    struct file file = {.err = err};
    struct page_screen screen = cx->screen;
    shoal_status st = env_create(cx->env, cx->output, &file.out, err);

    if (st != SHOAL_OK)
        return st;
    screen.put = put_to_file;
    screen.ctx = &file;
    screen.color = screen.terminal = false;
    st = show(cx, &screen, result, err);
    if (file.status != SHOAL_OK)
        st = file.status;
    if (st == SHOAL_OK)
        st = env_commit(file.out, err);
    else
        env_discard(file.out);
    if (st == SHOAL_OK)
        base_log(&cx->log, BASE_LOG_INFO, "result: %s", cx->output);
    return st;
}

shoal_watch *cli_watch(struct cli_context *cx)
{
    if (!cx->watched) {
        cx->watched = true;
        cli_interrupt_start();
        if (!cx->streams || !cx->screen.terminal)
            cx->progress = cli_progress_watch(cx, cli_interrupt_watch());
    }
    return cli_interrupt_watch();
}

static int finish(const struct cli_context *cx, shoal_status st, const shoal_result *result,
                  const struct cli_report *report, const shoal_err *failed)
{
    shoal_err err = SHOAL_ERR_INIT;

    if (st != SHOAL_OK && ferror(cx->out))
        return 1; /* told when the command ends, unless the reader left */
    if (st == SHOAL_E_IO && cx->streams && cli_output_unread(cx->out))
        return 1; /* the reader left, and knows it */
    if (st != SHOAL_OK)
        return cli_fail(cx, st, failed);
    if (cx->report != NULL)
        st = cli_report_write(report, result, &err);
    if (st == SHOAL_OK && cli_report_to_stdout(cx->report))
        return 0;
    if (st != SHOAL_OK) { /* tables are shown whatever became of the page */
        if (!cx->json && !cx->csv && !cli_report_to_stdout(cx->report))
            (void)cli_show(cx, result);
        return cli_fail(cx, st, &err);
    }
    int rc = cli_show(cx, result);
    if (rc == 0 && cx->report != NULL && !cx->json && !cx->csv && cli_flush(cx))
        base_log(&cx->log, BASE_LOG_INFO, "report: %s", cx->report);
    return rc;
}

int cli_finish(struct cli_context *cx, shoal_status st, const shoal_result *result,
               const void *values, const char *const *args, size_t arg_count, const shoal_err *err)
{
    struct cli_report report = {cx, cx->report, values, args, arg_count};
    bool watched = cx->watched;
    shoal_err own = SHOAL_ERR_INIT;

    cli_progress_stop(cx->progress);
    cx->progress = NULL;
    cx->watched = false;
    if (st == SHOAL_OK && to_file(cx)) {
        st = show_in_file(cx, result, &own);
        err = &own;
    }
    int rc = finish(cx, st, result, &report, err);
    shoal_result_free(result);
    if (watched)
        cli_interrupt_stop();
    if (st == SHOAL_E_CANCELLED && watched) {
        (void)fflush(cx->out);
        cli_interrupt_raise();
    }
    return rc;
}
