/* screen.h - a terminal as cells: draw a whole frame, write only what is different from the last.
 *
 *     cli_screen_init(&screen, alloc);
 *     cli_screen_begin(&screen, columns, rows);          a blank frame of this size
 *     cli_screen_put(&screen, 0, 1, PAGE_BOLD, "name");   text that does not fit is cut
 *     cli_screen_update(&screen, &out);                  escape sequences for what changed
 *
 * A frame of another size is written whole. The same frame can be had as plain lines. Text is UTF-8
 * of one column a character; what would move the cursor becomes '?'. Owner thread only. Tests:
 * tests/unit/cli/test_screen.c. */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include "base/buf.h"
#include "page/columns.h"

struct cli_screen_cell {
    char text[5]; /* a character; empty: a space */
    unsigned char style;
};

struct cli_screen {
    const struct base_alloc *alloc;
    struct cli_screen_cell *now, *shown; /* rows x columns */
    unsigned columns, rows;
    unsigned shown_columns, shown_rows; /* 0: nothing is known to be there */
    bool color;
    shoal_status status; /* the first failure sticks */
};

void cli_screen_init(struct cli_screen *screen, const struct base_alloc *alloc);
void cli_screen_fini(struct cli_screen *screen);
void cli_screen_begin(struct cli_screen *screen, unsigned columns, unsigned rows);
/* Returns the column after the text. Rows and columns outside the frame are nowhere. */
unsigned cli_screen_put(struct cli_screen *screen, unsigned row, unsigned column,
                        enum page_text_style style, const char *text);
unsigned cli_screen_printf(struct cli_screen *screen, unsigned row, unsigned column,
                           enum page_text_style style, const char *format, ...) SHOAL_PRINTF(5, 6);
/* Appends what turns the terminal from the last frame into this one. */
void cli_screen_update(struct cli_screen *screen, struct base_buf *out);
void cli_screen_forget(struct cli_screen *screen); /* the terminal may hold anything now */
/* The frame as lines without trailing spaces and without empty lines at its end. */
void cli_screen_plain(const struct cli_screen *screen, struct base_buf *out);

#endif
