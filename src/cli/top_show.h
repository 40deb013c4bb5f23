/* top_show.h - the picture of `shoal top`: one job, or a row for each.
 *
 * Pictures are drawn from what jobs answer (train/answer.h; unknown members are skipped, missing
 * ones are shown as not known), on a screen of any size; what does not fit is left out, tables of
 * workers and jobs from their end. Owner thread only. Tests: tests/unit/cli/test_top_show.c. */
#ifndef CLI_TOP_SHOW_H
#define CLI_TOP_SHOW_H

#include "train/listing.h"
#include "cli/screen.h"

struct cli_top_look {
    bool ascii;
    bool plain;        /* for a pipe: no bars, no keys */
    const char *clock; /* "12:40:07" */
    const char *note;  /* what a key press led to; NULL: nothing */
    size_t selected;   /* of all jobs */
    bool many;         /* there are others to go back to */
};

/* `why` says what is wrong when status is NULL. */
void cli_top_job(struct cli_screen *screen, const struct cli_top_look *look,
                 const struct train_listing *job, const json_t *status, const char *why);
void cli_top_all(struct cli_screen *screen, const struct cli_top_look *look,
                 const struct train_listing *jobs, const struct train_job_answer *answers,
                 size_t count);
/* Rows that the picture of a job needs when nothing is left out. */
unsigned cli_top_job_rows(const json_t *status);

#endif
