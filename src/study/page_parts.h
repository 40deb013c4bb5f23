/* page_parts.h - the sections of a study's page, private to src/study/page*.c. All append to a
 * buffer whose first failure sticks. Owner thread only. */
#ifndef STUDY_PAGE_PARTS_H
#define STUDY_PAGE_PARTS_H

#include "page/page.h"
#include "study/advice.h"
#include "study/page.h"

/* The colour of a reason to wait, of the seven kinds; its name and meaning. */
struct study_page_reason {
    enum sim_wait why;
    unsigned colour;
    const char *name, *meaning;
};
extern const struct study_page_reason study_page_reasons[SIM_WAIT_COUNT];

/* Hours of so many seconds, with a no-break space before the unit: "1,234 h"; "–" when not
 * finite. */
const char *study_page_h(double seconds, char *buf, size_t size);
const char *study_page_hours(double seconds, char *buf, size_t size); /* without the unit */
/* A row of a horizontal stack of bars: name, pieces, and what is said at its end. */
struct study_page_piece {
    const char *name;
    unsigned colour;
    double value;
    const char *text; /* the value in words */
};
/* `half`: in a column of half the page. */
void study_page_bar(struct base_buf *out, const char *name, const struct study_page_piece *pieces,
                    size_t count, double most, const char *end, bool half);
void study_page_key(struct base_buf *out, unsigned colour, const char *name, const char *meaning);

void study_page_waiting(const struct study *study, struct base_buf *out); /* page_waiting.c */
SHOAL_MUST_USE shoal_status study_page_cdf(const struct study *study, struct base_buf *out);
void study_page_guidelines(const struct study *study, struct base_buf *out); /* page_table.c */
void study_page_locality(const struct study *study, struct base_buf *out);   /* page_locality.c */
void study_page_failures(const struct study *study, struct base_buf *out);   /* page_failures.c */

#endif
