/* columns.h - a table for people: widths follow content, UTF-8 aware, bold and dim where colour is on.
 *
 *     struct page_columns table;
 *     page_columns_init(&table, screen, "lrx");           one letter per column, see below
 *     page_columns_cell(&table, PAGE_DIM, "policy");      cells row by row, the heading first
 *     ...
 *     st = page_columns_put(&table);
 *     page_columns_fini(&table);
 *
 * Letters: `l` left, `r` right, `x` left and cut with an ellipsis where a terminal is too narrow,
 * `w` (last column only) left and wrapped there. Nothing is cut or wrapped when the screen is not a
 * terminal. Owner thread only. Tests: tests/unit/page/test_columns.c. */
#ifndef PAGE_COLUMNS_H
#define PAGE_COLUMNS_H

#include "base/buf.h"
#include "shoal/result.h"

enum page_text_style { PAGE_PLAIN, PAGE_BOLD, PAGE_DIM };
enum { PAGE_COLUMNS_MAX = 64 };

/* Where text for people goes. */
struct page_screen {
    const struct base_alloc *alloc;
    shoal_put_fn put;
    void *ctx;
    unsigned width; /* of the terminal */
    bool terminal;  /* it is one: what is too wide is cut */
    bool color, ascii;
};

struct page_cell {
    size_t at; /* in text */
    size_t width;
    enum page_text_style style;
};

struct page_columns {
    const struct page_screen *screen;
    const char *aligns; /* borrowed; one letter per column */
    size_t column_count;
    struct base_buf text; /* cells one after the other, each ended by NUL */
    struct page_cell *cells;
    size_t count, cap;
    shoal_status status; /* the first failure sticks */
};

void page_columns_init(struct page_columns *table, const struct page_screen *screen,
                       const char *aligns);
void page_columns_fini(struct page_columns *table);
void page_columns_cell(struct page_columns *table, enum page_text_style style, const char *format,
                       ...) SHOAL_PRINTF(3, 4);
/* Terminal columns the widest row so far takes when nothing is cut. */
size_t page_columns_needs(const struct page_columns *table);
/* An unfinished last row is filled with empty cells. SHOAL_E_NOMEM or SHOAL_E_LIMIT when a cell had no
 * room, SHOAL_E_IO when the screen took no more. */
SHOAL_MUST_USE shoal_status page_columns_put(struct page_columns *table);

/* Terminal columns a UTF-8 text takes; a byte that is not UTF-8 counts as one. */
size_t page_columns_width(const char *text);
/* Bytes of the longest start of `text` that takes at most `width` columns, and the columns it
 * takes. */
size_t page_columns_fit(const char *text, size_t width, size_t *out_columns);

/* Writes text with a style, where the screen has colour. */
bool page_styled(const struct page_screen *screen, enum page_text_style style, const char *text);
/* Lines of text, each ended; on a terminal they are wrapped between words. */
bool page_lines(const struct page_screen *screen, const char *text);

#endif
