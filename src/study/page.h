/* page.h - a study as one self-contained HTML page, for an operator to send on. See page/page.h. */
#ifndef STUDY_PAGE_H
#define STUDY_PAGE_H

#include "study/study.h"

struct study_page_opts {
    const char *command; /* the command line that repeats it */
    const char *cluster; /* its spec */
    bool cluster_chosen; /* by the rule of machines.h */
};

/* Appends the page to `out`. SHOAL_E_NOMEM or SHOAL_E_LIMIT from the buffer. */
SHOAL_MUST_USE shoal_status study_page(const struct study *study,
                                       const struct study_page_opts *opts, struct base_buf *out,
                                       shoal_err *err);

#endif
