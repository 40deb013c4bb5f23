/* progress.c - see progress.h. Tests: tests/unit/cli/test_progress.c. */
#include "cli/progress.h"

#include "base/text.h"
#include "page/columns.h"
#include "cli/term.h"
#include "cli/train_show.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum {
    REDRAW_MS = 100,
    SHOW_AFTER_MS = 1000,
    PLAIN_EVERY_MS = 30000,
    BAR_COLUMNS = 20,
    LINE_BYTES_MAX = 1024
};

struct cli_progress {
    const struct cli_context *cx;
    const shoal_watch *watch;
    bool live; /* a terminal that can erase a line */
    pthread_t thread;
    pthread_mutex_t stop_lock; /* guards stop */
    pthread_cond_t stop_cond;
    bool stop;
};

static void put_rate(uint64_t done, double elapsed_s, struct base_buf *out)
{
    double rate = elapsed_s > 0 ? (double)done / elapsed_s : 0;
    char text[40];

    if (rate >= 10)
        base_buf_printf(out, "   %s/s", base_format_count((uint64_t)rate, text, sizeof text));
    else
        base_buf_printf(out, "   %.1f/s", rate);
}

void cli_progress_format(const char *label, uint64_t done, uint64_t total, double elapsed_s,
                         enum cli_progress_bar bar, unsigned width, struct base_buf *out)
{
    char text[40];
    size_t keep, columns;

    base_buf_printf(out, "%s", label);
    if (total > 0) {
        double share = done >= total ? 1 : (double)done / (double)total;
        base_buf_printf(out, "  %3d%%", (int)(share * 100));
        if (bar != CLI_BAR_NONE) {
            base_buf_puts(out, " ");
            cli_train_put_bar(out, share, BAR_COLUMNS, bar == CLI_BAR_ASCII);
        }
    } else {
        base_buf_printf(out, "  %s done", base_format_count(done, text, sizeof text));
    }
    put_rate(done, elapsed_s, out);
    if (total > 0 && done > 0 && done < total) {
        double left_s = ceil(elapsed_s * ((double)total / (double)done - 1));
        base_buf_printf(out, "   %s left", base_format_duration(left_s, text, sizeof text));
    }
    if (base_buf_status(out) != SHOAL_OK)
        return;
    keep = page_columns_fit(out->data, width, &columns);
    out->size = keep;
    out->data[keep] = '\0';
}

static unsigned line_width(const struct cli_progress *progress)
{
    /* plain lines are never cut */
    return progress->live ? cli_term_width(progress->cx->err) - 1 : UINT32_MAX;
}

/* A log of plain lines has no use for a picture. */
static enum cli_progress_bar bar_of(const struct cli_progress *progress)
{
    if (!progress->live)
        return CLI_BAR_NONE;
    return progress->cx->screen.ascii ? CLI_BAR_ASCII : CLI_BAR_BLOCKS;
}

static void draw(const struct cli_progress *progress, double elapsed_s)
{
    struct base_buf line;
    shoal_progress look = shoal_watch_look(progress->watch);

    base_buf_init(&line, &base_alloc_libc, LINE_BYTES_MAX);
    cli_progress_format(look.what[0] == '\0' ? progress->cx->topic : look.what, look.done,
                        look.total, elapsed_s, bar_of(progress), line_width(progress), &line);
    if (base_buf_status(&line) == SHOAL_OK)
        fprintf(progress->cx->err, progress->live ? "\r\033[K%s" : "%s\n", line.data);
    fflush(progress->cx->err);
    base_buf_fini(&line);
}

static double seconds_between(const struct timespec *from, const struct timespec *to)
{
    return (double)(to->tv_sec - from->tv_sec) + 1e-9 * (double)(to->tv_nsec - from->tv_nsec);
}

static void add_ms(struct timespec *t, long ms)
{
    t->tv_sec += ms / 1000;
    t->tv_nsec += ms % 1000 * 1000000;
    if (t->tv_nsec >= 1000000000) {
        t->tv_nsec -= 1000000000;
        t->tv_sec++;
    }
}

static void *draw_until_stopped(void *ctx)
{
    struct cli_progress *progress = ctx;
    struct timespec start, next, now;
    bool shown = false;

    clock_gettime(CLOCK_MONOTONIC, &start);
    next = start;
    add_ms(&next, progress->live ? SHOW_AFTER_MS : PLAIN_EVERY_MS);
    pthread_mutex_lock(&progress->stop_lock);
    while (!progress->stop) {
        if (pthread_cond_timedwait(&progress->stop_cond, &progress->stop_lock, &next) == 0)
            continue; /* woken early: stop is looked at again */
        clock_gettime(CLOCK_MONOTONIC, &now);
        draw(progress, seconds_between(&start, &now));
        shown = true;
        next = now;
        add_ms(&next, progress->live ? REDRAW_MS : PLAIN_EVERY_MS);
    }
    pthread_mutex_unlock(&progress->stop_lock);
    if (shown && progress->live) {
        fputs("\r\033[K", progress->cx->err);
        fflush(progress->cx->err);
    }
    return NULL;
}

static bool start_thread(struct cli_progress *progress)
{
    pthread_condattr_t attr;
    bool ok;

    if (pthread_condattr_init(&attr) != 0)
        return false;
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    ok = pthread_cond_init(&progress->stop_cond, &attr) == 0;
    pthread_condattr_destroy(&attr);
    if (!ok)
        return false;
    pthread_mutex_init(&progress->stop_lock, NULL);
    if (pthread_create(&progress->thread, NULL, draw_until_stopped, progress) == 0)
        return true;
    pthread_mutex_destroy(&progress->stop_lock);
    pthread_cond_destroy(&progress->stop_cond);
    return false;
}

struct cli_progress *cli_progress_watch(const struct cli_context *cx, const shoal_watch *watch)
{
    struct cli_progress *progress;

    if (cx->json && !cx->terminal)
        return NULL;
    progress =
        calloc(1, sizeof *progress); /* not from env: its allocator belongs to the owner thread */
    if (progress == NULL)
        return NULL;
    *progress = (struct cli_progress){.cx = cx, .watch = watch, .live = cli_term_erases(cx)};
    if (!start_thread(progress)) {
        free(progress);
        return NULL;
    }
    return progress;
}

void cli_progress_stop(struct cli_progress *progress)
{
    if (progress == NULL)
        return;
    pthread_mutex_lock(&progress->stop_lock);
    progress->stop = true;
    pthread_cond_signal(&progress->stop_cond);
    pthread_mutex_unlock(&progress->stop_lock);
    pthread_join(progress->thread, NULL);
    pthread_mutex_destroy(&progress->stop_lock);
    pthread_cond_destroy(&progress->stop_cond);
    free(progress);
}
