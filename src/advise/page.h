/* page.h - the advice as a page: the answer in words, times against machines with what was
 * measured, losses over time, changes on the way, how sure it is. page/page.h has the parts;
 * nothing is allocated but the buffer. Any thread. Tests: tests/unit/advise/test_choose.c. */
#ifndef ADVISE_PAGE_H
#define ADVISE_PAGE_H

#include "advise/next.h"
#include "base/buf.h"

struct advise_page {
    const struct advise_fit *fit;
    const struct advise_question *question;
    const struct advise_choice *choice;
    double within;                  /* NAN: the target was given */
    const struct advise_next *next; /* the run that would help most, or NULL */
    const char *command, *version;
};

void advise_page_write(struct base_buf *out, const struct advise_page *page);

#endif
