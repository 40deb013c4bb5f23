/* columns.h - a table for people: widths follow content, UTF-8 aware, bold and dim where colour is
 * on.
 *
 *     struct cli_columns table;
 *     cli_columns_init(&table, cx, "lrx");           one letter per column, see below
 *     cli_columns_cell(&table, CLI_DIM, "policy");   cells row by row, the heading first
 *     ...
 *     rc = cli_columns_print(&table);                0, or what cli_fail returned
 *     cli_columns_fini(&table);
 *
 * Letters: `l` left, `r` right, `x` left and cut with an ellipsis where a terminal is too narrow,
 * `w` (last column only) left and wrapped there. Nothing is cut or wrapped when the output is not a
 * terminal. Owner thread only. */
#ifndef CLI_COLUMNS_H
#define CLI_COLUMNS_H

#include "cli/cli.h"

enum cli_style { CLI_PLAIN, CLI_BOLD, CLI_DIM };

struct cli_cell {
    size_t at; /* in text */
    size_t width;
    enum cli_style style;
};

struct cli_columns {
    const struct cli_context *cx;
    const char *aligns; /* borrowed; one letter per column */
    size_t column_count;
    struct base_buf text; /* cells one after the other, each ended by NUL */
    struct cli_cell *cells;
    size_t count, cap;
    shoal_status status; /* the first failure sticks */
};

void cli_columns_init(struct cli_columns *table, const struct cli_context *cx, const char *aligns);
void cli_columns_fini(struct cli_columns *table);
void cli_columns_cell(struct cli_columns *table, enum cli_style style, const char *format, ...)
    SHOAL_PRINTF(3, 4);
/* Terminal columns the widest row so far takes when nothing is cut. */
size_t cli_columns_needs(const struct cli_columns *table);
/* An unfinished last row is filled with empty cells. */
int cli_columns_print(struct cli_columns *table);

/* Terminal columns a UTF-8 text takes; a byte that is not UTF-8 counts as one. */
size_t cli_columns_width(const char *text);
/* Bytes of the longest start of `text` that takes at most `width` columns, and the columns it
 * takes. */
size_t cli_columns_fit(const char *text, size_t width, size_t *out_columns);

/* Writes text with a style, when cx->color. */
void cli_styled(const struct cli_context *cx, enum cli_style style, const char *text);

#endif
