/* train_page.h - the HTML page of a training job: how it went, what the application says it has learnt,
 * its settings, and how to repeat it.
 * Tests: tests/unit/cli/test_train_page.c, tests/cli/test_train_report.py. */
#ifndef CLI_TRAIN_PAGE_H
#define CLI_TRAIN_PAGE_H

#include "cli/train_show.h"

enum { CLI_TRAIN_PAGE_MAX = 1000 * 1000 }; /* bytes of a page */

struct cli_train_page {
    const struct cli_trained *trained;
    const struct train_job_opts *opts; /* as the job had them */
    const char *command;               /* the command line that repeats it */
    const struct base_buf *sections;   /* of the application, HTML; may be empty */
};

/* Appends the page to `out`, of CLI_TRAIN_PAGE_MAX. SHOAL_E_NOMEM or SHOAL_E_LIMIT from the buffer. */
SHOAL_MUST_USE shoal_status cli_train_page(const struct cli_train_page *page, struct base_buf *out,
                                           shoal_err *err);

#endif
