/* train_show.h - what `shoal train` shows: a line while it runs, words or JSON at the end.
 * Tests: tests/unit/cli/test_train_show.c. */
#ifndef CLI_TRAIN_SHOW_H
#define CLI_TRAIN_SHOW_H

#include "cli/cli.h"
#include "train/job.h"

/* Progress that comes in steps: from one to the next the time left counts down, to what would be said if
 * the next one, as large as the last, came now. */
struct cli_train_pace {
    double from;           /* where it began: not 0 after a resume */
    double progress, step; /* now, and what the last step was */
    double at_s;           /* when that came, since the beginning */
};

struct cli_train_line {
    const struct cli_context *cx;
    const shoal_app *app;
    uint64_t begun_ns; /* when tasks could run first; 0: not yet */
    struct cli_train_pace pace;
    double was_value; /* a few seconds ago, for the arrow */
    uint64_t was_ns, shown_ns;
    struct train_stats stats; /* at the last look */
    uint64_t told, told_ns;   /* strangers that were told of, and when */
    bool drawn;
};

/* On a terminal a first line appears at once: data are being read. */
void cli_train_line_start(struct cli_train_line *line, const struct cli_context *cx,
                          const shoal_app *app, const char *data);
/* Called ten times a second. */
void cli_train_line_draw(struct cli_train_line *line, const struct train_master *master);
/* A line about strangers that the job turned away, the first at once, more of them now and then. */
void cli_train_line_strangers(struct cli_train_line *line, const struct train_master *master);
void cli_train_line_end(struct cli_train_line *line); /* erases it */

/* What a line says. */
struct cli_train_look {
    const char *name, *objective, *units;
    double value, progress, rate; /* NAN or 0: not known */
    int trend;                    /* of the value: -1 falls, 1 rises */
    uint32_t workers;
    double stale, left_s; /* mean clocks behind; NAN: not known */
    const char *held_out; /* what is measured on data that is not trained on; NULL: nothing */
    double held_out_value;
};
enum cli_train_bar { CLI_TRAIN_PLAIN, CLI_TRAIN_ASCII, CLI_TRAIN_BLOCKS };
/* At most `width` columns: name, share done, bar, objective, rate, workers, staleness, time left.
 * What does not fit is left out, the least important first. */
void cli_train_line_format(const struct cli_train_look *look, enum cli_train_bar bar,
                           unsigned width, struct base_buf *out);
/* Seconds until the end, as progress went from `from` to `now` in elapsed_s; NAN: too early. */
double cli_train_left(double from, double now, double elapsed_s);
/* The same where progress comes in steps. */
double cli_train_pace_left(struct cli_train_pace *pace, double progress, double elapsed_s);

/* Parts for other views. */
void cli_train_put_bar(struct base_buf *out, double share, unsigned columns, bool ascii);
void cli_train_put_rate(struct base_buf *out, double rate, const char *units); /* 61.3 M tok/s */
/* An objective with so many digits, and more before it would get an exponent. Returns out. */
const char *cli_train_value(double value, int digits, char *out, size_t size);
/* Eight heights between the least and the greatest; the last `columns` values. */
void cli_train_put_spark(struct base_buf *out, const double *values, size_t count, size_t columns,
                         bool ascii);
double cli_train_mean_staleness(const uint64_t *counts, size_t count);

struct cli_trained {
    const shoal_app *app;
    const char *name, *model;
    const char *report; /* the page that was written; NULL: none */
    struct train_job_result result;
    struct base_buf said; /* by the application, lines */
    double cpu_s;
    const char *settings; /* of the application, "key=value" lines; NULL: none */
    uint32_t threads;     /* of each worker */
    double data_bytes;    /* NAN: the data is not a file */
    shoal_err error;      /* why the model or the page is not there; SHOAL_OK: nothing failed */
};
/* How it ended, a clause: "converged, the minimum is at most 0.002 % lower"; nothing if that is unsaid. */
void cli_train_put_stopped(struct base_buf *out, const struct train_stats *stats);
/* Warns on stderr if the job did not converge. */
void cli_train_warn(const struct cli_context *cx, const struct cli_trained *trained);
/* Words, or one JSON object with the error in it: in words that is told apart, by cli_fail. */
int cli_train_print(const struct cli_context *cx, const struct cli_trained *t);

#endif
