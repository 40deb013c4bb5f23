/* cmd_top.c - `shoal top [JOB]`: training jobs as they run, on the whole terminal.
 *
 * Each round asks the jobs, draws a frame and waits for a key, a change of the terminal's size or
 * the next round. The terminal gets its old picture and settings back on every way out; Ctrl-C is
 * one of them. Piped, it is one frame without bars. */
#include "cli/cli.h"

#include "base/assert.h"
#include "base/err.h"
#include "cli/report.h"
#include "cli/term.h"
#include "cli/top_show.h"
#include "shoal/jobs.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { OUT_MAX = 64 << 20, PLAIN_COLUMNS = 600, ESCAPE_MS = 30 };

struct values {
    double every_s;
};

static const shoal_opt rows[] = {
    {offsetof(struct values, every_s), SHOAL_OPT_DURATION, "every", 'e', "TIME", "1s",
     "between looks at the jobs", .min = 0.1, .max = 3600},
};

enum key { KEY_NONE, KEY_QUIT, KEY_UP, KEY_DOWN, KEY_ENTER, KEY_BACK, KEY_MORE, KEY_LESS };

struct top {
    struct cli_context *cx;
    const char *word; /* the job asked for; NULL: all */
    double every_s;
    struct cli_screen screen;
    char open[64]; /* the job that is shown alone; "": none */
    char chosen[64];
    char note[200];
    uint64_t note_ns; /* until when it is shown */
    struct train_listing *jobs;
    struct train_job_answer *answers;
    size_t count;
};

/* ---- what is there ---- */

static void drop(struct top *top)
{
    train_jobs_answers_free(top->cx->env, top->answers, top->count);
    base_free(env_alloc(top->cx->env), top->jobs);
    top->answers = NULL;
    top->jobs = NULL;
    top->count = 0;
}

/* With one job asked for, no other is looked at. */
static shoal_status look(struct top *top, shoal_err *err)
{
    struct train_listing *jobs, one;
    size_t count;
    shoal_status st;

    drop(top);
    if (top->word != NULL) {
        st = train_jobs_find(top->cx->env, top->word, &one, err);
        if (st != SHOAL_OK)
            return st;
        jobs = base_calloc(env_alloc(top->cx->env), 1, sizeof *jobs);
        if (jobs == NULL)
            return base_err_nomem(err, "looking at jobs");
        jobs[0] = one;
        count = 1;
    } else {
        st = train_jobs_all(top->cx->env, &jobs, &count, err);
        if (st != SHOAL_OK)
            return st;
    }
    st = train_jobs_ask_all(top->cx->env, jobs, count, &top->answers, err);
    if (st != SHOAL_OK) {
        base_free(env_alloc(top->cx->env), jobs);
        return st;
    }
    top->jobs = jobs;
    top->count = count;
    return SHOAL_OK;
}

/* Where the job of this name is, or `count`. */
static size_t place_of(const struct top *top, const char *name)
{
    size_t i = 0;

    while (i < top->count && strcmp(top->jobs[i].name, name) != 0)
        i++;
    return i;
}

static const char *why_silent(const struct train_listing *job)
{
    return train_jobs_loading(job) ? "reads its data" : "does not answer";
}

/* ---- a snapshot ---- */

static int print_plain(struct top *top)
{
    struct cli_top_look look = {.ascii = top->cx->screen.ascii, .plain = true, .clock = ""};
    struct base_buf out;
    int rc;

    if (top->count == 0) {
        fputs("no job runs here; start one: shoal train APP DATA\n", top->cx->err);
        return 0;
    }
    base_buf_init(&out, env_alloc(top->cx->env), OUT_MAX);
    for (size_t i = 0; i < top->count; i++) {
        const json_t *status = top->answers[i].status;
        if (i > 0)
            base_buf_puts(&out, "\n");
        cli_screen_begin(&top->screen, PLAIN_COLUMNS, cli_top_job_rows(status));
        cli_top_job(&top->screen, &look, &top->jobs[i], status, why_silent(&top->jobs[i]));
        cli_screen_plain(&top->screen, &out);
    }
    rc = cli_print(top->cx, &out);
    base_buf_fini(&out);
    return rc;
}

/* ---- the terminal ---- */

static struct termios settings_before;

static void on_resize(int number)
{
    (void)number; /* it wakes poll, which is all */
}

static bool take_terminal(FILE *out)
{
    struct termios settings;
    struct sigaction wake = {.sa_handler = on_resize};

    if (tcgetattr(STDIN_FILENO, &settings_before) != 0)
        return false;
    settings = settings_before;
    settings.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    settings.c_cc[VMIN] = 0;
    settings.c_cc[VTIME] = 0;
    settings.c_cc[VSUSP] = _POSIX_VDISABLE; /* a stopped one would leave its picture behind */
    if (tcsetattr(STDIN_FILENO, TCSANOW, &settings) != 0)
        return false;
    sigemptyset(&wake.sa_mask);
    (void)sigaction(SIGWINCH, &wake, NULL);
    fputs("\033[?1049h\033[?25l", out);
    return true;
}

static void give_terminal_back(FILE *out)
{
    fputs("\033[0m\033[?25h\033[?1049l", out);
    fflush(out);
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &settings_before);
    (void)signal(SIGWINCH, SIG_DFL);
}

static bool readable(int timeout_ms)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

    return poll(&in, 1, timeout_ms) == 1 && (in.revents & POLLIN) != 0;
}

static enum key arrow(void)
{
    char bytes[2] = "";

    if (!readable(ESCAPE_MS) || read(STDIN_FILENO, bytes, 1) != 1)
        return KEY_BACK; /* the escape key itself */
    if ((bytes[0] != '[' && bytes[0] != 'O') || !readable(ESCAPE_MS) ||
        read(STDIN_FILENO, bytes + 1, 1) != 1)
        return KEY_NONE;
    return bytes[1] == 'A' ? KEY_UP : bytes[1] == 'B' ? KEY_DOWN : KEY_NONE;
}

/* Waits for a key; KEY_NONE when the time is over or the terminal has changed its size. */
static enum key read_key(int timeout_ms, bool *out_gone)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    char byte;

    if (poll(&in, 1, timeout_ms) != 1)
        return KEY_NONE;
    if (read(STDIN_FILENO, &byte, 1) != 1) {
        *out_gone = true;
        return KEY_NONE;
    }
    switch (byte) {
    case 'q': return KEY_QUIT;
    case 'k': return KEY_UP;
    case 'j': return KEY_DOWN;
    case '\n':
    case '\r': return KEY_ENTER;
    case '+':
    case '=': return KEY_MORE;
    case '-': return KEY_LESS;
    case 'b':
    case 127: return KEY_BACK;
    case '\033': return arrow();
    default: return KEY_NONE;
    }
}

/* ---- live ---- */

static void draw(struct top *top)
{
    time_t now = (time_t)env_wall_s(top->cx->env);
    struct tm local;
    char clock[16] = "";
    bool fresh = env_now_ns(top->cx->env) < top->note_ns;
    size_t open = top->count == 1 ? 0 : place_of(top, top->open);
    struct cli_top_look look = {.ascii = top->cx->screen.ascii,
                                .clock = clock,
                                .note = fresh ? top->note : NULL,
                                .selected = place_of(top, top->chosen),
                                .many = top->count > 1};
    struct base_buf out;

    if (localtime_r(&now, &local) != NULL)
        strftime(clock, sizeof clock, "%H:%M:%S", &local);
    if (look.selected == top->count)
        look.selected = 0;
    cli_screen_begin(&top->screen, cli_term_width(top->cx->out), cli_term_height(top->cx->out));
    if (open < top->count)
        cli_top_job(&top->screen, &look, &top->jobs[open], top->answers[open].status,
                    why_silent(&top->jobs[open]));
    else
        cli_top_all(&top->screen, &look, top->jobs, top->answers, top->count);
    base_buf_init(&out, env_alloc(top->cx->env), OUT_MAX);
    base_buf_puts(&out, "");
    cli_screen_update(&top->screen, &out);
    if (base_buf_status(&out) == SHOAL_OK && out.size > 0)
        fwrite(out.data, 1, out.size, top->cx->out);
    fflush(top->cx->out);
    base_buf_fini(&out);
}

/* One worker more or less for the job that is shown. */
static void scale(struct top *top, int by)
{
    static const uint64_t NOTE_NS = 4ull * 1000 * 1000 * 1000;
    size_t open = top->count == 1 ? 0 : place_of(top, top->open);
    shoal_err err = SHOAL_ERR_INIT;
    struct base_buf text;
    char line[64];

    if (open >= top->count || top->answers[open].status == NULL)
        return;
    double wanted = train_jobs_number(top->answers[open].status, "wanted") + by;
    snprintf(line, sizeof line, "scale %.0f", wanted);
    base_buf_init(&text, env_alloc(top->cx->env), OUT_MAX);
    json_t *answer = train_jobs_ask(top->cx->env, &top->jobs[open], line, &text, &err);
    if (answer != NULL)
        snprintf(top->note, sizeof top->note, "scaled to %.0f", wanted);
    else
        snprintf(top->note, sizeof top->note, "%.180s", err.message);
    top->note_ns = env_now_ns(top->cx->env) + NOTE_NS;
    json_decref(answer);
    base_buf_fini(&text);
}

/* False: quit. */
static bool press(struct top *top, enum key key)
{
    size_t chosen = place_of(top, top->chosen);

    if (chosen == top->count)
        chosen = 0;
    if (key == KEY_QUIT)
        return false;
    if (key == KEY_MORE || key == KEY_LESS)
        scale(top, key == KEY_MORE ? 1 : -1);
    else if (key == KEY_BACK)
        top->open[0] = 0;
    else if (key == KEY_ENTER && chosen < top->count)
        strcpy(top->open, top->jobs[chosen].name);
    else if (top->open[0] == 0 && key == KEY_UP && chosen > 0)
        strcpy(top->chosen, top->jobs[chosen - 1].name);
    else if (top->open[0] == 0 && key == KEY_DOWN && chosen + 1 < top->count)
        strcpy(top->chosen, top->jobs[chosen + 1].name);
    return true;
}

static bool stopped(void)
{
    return atomic_load_explicit(cli_interrupt_flag(), memory_order_relaxed);
}

/* Until quit, Ctrl-C, or the end of the job that was asked for (or of all). */
static shoal_status watch(struct top *top, shoal_err *err)
{
    bool gone = false, more = true;
    shoal_status st = SHOAL_OK;

    while (more && !gone && !stopped() && st == SHOAL_OK && top->count > 0) {
        uint64_t next = env_now_ns(top->cx->env) + (uint64_t)(top->every_s * 1e9), now;
        bool pressed = false;
        draw(top);
        while (more && !gone && !stopped() && !pressed && (now = env_now_ns(top->cx->env)) < next) {
            enum key key = read_key((int)((next - now) / 1000000) + 1, &gone);
            more = press(top, key);
            pressed = key == KEY_MORE || key == KEY_LESS;
            if (more && !pressed)
                draw(top); /* another choice, or another size */
        }
        if (more && !gone && !stopped())
            st = look(top, err);
    }
    return st;
}

static int run_live(struct top *top)
{
    struct cli_context *cx = top->cx;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st;

    top->screen.color = cx->screen.color;
    if (!take_terminal(cx->out))
        return print_plain(top);
    cli_interrupt_start();
    st = watch(top, &err);
    cli_interrupt_stop();
    give_terminal_back(cx->out);
    if (st == SHOAL_E_NOTFOUND || (st == SHOAL_OK && top->count == 0)) {
        fputs(top->word != NULL ? "the job has ended\n" : "no job runs here any more\n", cx->err);
        st = SHOAL_OK;
    }
    cli_interrupt_raise();
    return st == SHOAL_OK ? 0 : cli_fail(cx, st, &err);
}

static int print_json(const struct cli_context *cx, const char *word)
{
    const shoal_result *result = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = shoal_jobs(cx->env, word, &result, &err);
    int rc = st == SHOAL_OK ? cli_show(cx, result) : cli_fail(cx, st, &err);

    shoal_result_free(result);
    return rc;
}

static int run(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count)
{
    const struct values *v = values;
    struct top top = {.cx = cx, .every_s = v->every_s};
    shoal_err err = SHOAL_ERR_INIT;
    char name[64];
    shoal_status st;
    int rc;

    top.word = arg_count > 0 ? args[0] : NULL;
    cli_screen_init(&top.screen, env_alloc(cx->env));
    if (cx->json)
        return print_json(cx, top.word);
    st = look(&top, &err);
    if (st == SHOAL_OK && top.word != NULL) {
        snprintf(name, sizeof name, "%s", top.jobs[0].name); /* 'last' is this one from now on */
        top.word = name;
    }
    if (st != SHOAL_OK)
        rc = cli_fail(cx, st, &err);
    else if (cx->screen.terminal && cli_term_moves() && isatty(STDIN_FILENO) == 1 && top.count > 0)
        rc = run_live(&top);
    else
        rc = print_plain(&top);
    drop(&top);
    cli_screen_fini(&top.screen);
    return rc;
}

const struct cli_command cli_cmd_top = {
    .name = "top",
    .usage = "[options] [JOB]",
    .summary = "Watch training jobs as they run.",
    .description = "Shows one job (a name of 'shoal jobs' or the beginning of one, a process "
                   "number, or 'last'), "
                   "or all that run here: objective and how it went, share done, rate, staleness, "
                   "workers with their state, executors and how busy "
                   "they are, moves and pauses, tables.\n\n"
                   "Keys: 'q' quits, '+' and '-' change the number of workers by one, the arrows "
                   "and Enter open "
                   "a job, Escape goes back. Piped, it prints one plain snapshot and ends.",
    .example = "top last",
    .opts = rows,
    .opt_count = BASE_COUNT(rows),
    .values_size = sizeof(struct values),
    .arg_max = 1,
    .arg_complete = "job",
    .json = true,
    .run = run,
};
