/* make.h - making a result: its records, words and notes live and die with it.
 *
 *     struct page_made *made = page_made_new(alloc);
 *     struct row *rows = page_made_alloc(made, count, sizeof *rows);      NULL when memory is short
 *     made->result.schema = &schema;
 *     made->result.records = (shoal_records){.first = rows, .stride = sizeof *rows, .count = count};
 *     page_made_say(made, "%s is best", page_made_text(made, "policy %u", 3u));
 *     page_made_note(made, SHOAL_NOTE_WARNING, "2 jobs were left out");
 *     st = page_made_finish(made, &result, err);                          takes `made` in any case
 *
 * The first failure sticks and is told at the end; a NULL `made` fails then, too. Owner thread until it is
 * finished. Tests: tests/unit/page/test_result.c. */
#ifndef PAGE_MAKE_H
#define PAGE_MAKE_H

#include "base/arena.h"
#include "base/buf.h"
#include "shoal/opt.h"
#include "shoal/result.h"

struct page_made {
    shoal_result result; /* first, since it is what is given away */
    struct base_arena arena;
    struct base_buf heading, verdict;
    shoal_note *notes;
    size_t note_cap;
    shoal_picture *pictures;
    size_t picture_cap;
    void (*release)(void *owned); /* NULL: it owns nothing besides */
    void *owned;
    shoal_status status;
};

struct page_made *page_made_new(const struct base_alloc *alloc);

/* What its records are made from lives as long as the result: release(owned) ends it, at once where `made` is
 * NULL. Once for each result. */
void page_made_own(struct page_made *made, void (*release)(void *owned), void *owned);

/* Zeroed memory of the result's; NULL when memory is short. */
void *page_made_alloc(struct page_made *made, size_t count, size_t size);
/* So many rows, one behind the other. */
#define page_records(rows, size) \
    ((shoal_records){.first = (rows), .stride = sizeof *(rows), .count = (size)})
/* Text of the result's; "" when memory is short, never NULL. */
const char *page_made_text(struct page_made *made, const char *format, ...) SHOAL_PRINTF(2, 3);
void page_made_head(struct page_made *made, const char *format, ...) SHOAL_PRINTF(2, 3);
void page_made_say(struct page_made *made, const char *format, ...) SHOAL_PRINTF(2, 3);
/* A number of this unit for people, a date to the minute, as text of the result's. */
const char *page_made_value(struct page_made *made, shoal_unit unit, double value);
const char *page_plural(uint64_t count); /* "", or "s" */
void page_made_note(struct page_made *made, shoal_note_level level, const char *format, ...)
    SHOAL_PRINTF(3, 4);
#define page_warn(made, ...) page_made_note(made, SHOAL_NOTE_WARNING, __VA_ARGS__)
#define page_info(made, ...) page_made_note(made, SHOAL_NOTE_INFO, __VA_ARGS__)

/* One picture more, with room for so many series; NULL when memory is short. Valid until the next. */
shoal_picture *page_picture(struct page_made *made, shoal_picture_type type, const char *name,
                            const char *title, const char *note, size_t series);
/* Its next series, without points, of which there is room for so many; NULL when memory is short. */
shoal_series *page_series(struct page_made *made, shoal_picture *picture, const char *name,
                          uint32_t colour, size_t points);
void page_point(shoal_series *series, double x, double y);
/* Its next series with so many values at 0, 1, 2, ..., which are 0 and to be changed; NULL as above. */
float *page_values(struct page_made *made, shoal_picture *picture, const char *name,
                   uint32_t colour, size_t count);

/* Option rows as records of page_option_schema, for listings; `common` is what they say of themselves. */
shoal_records page_made_options(struct page_made *made, const shoal_opt *rows, size_t count,
                                bool common);
extern const shoal_schema page_option_schema;

/* On success *out_result is the caller's, freed by shoal_result_free. On failure `made` is freed. */
SHOAL_MUST_USE shoal_status page_made_finish(struct page_made *made,
                                             const shoal_result **out_result, shoal_err *err);
void page_made_free(struct page_made *made);

#endif
